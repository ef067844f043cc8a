/* The walk over a frame's headers: length bombs, depth, items, and every marker. */

#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "proto/table.h"

#include <msgpack.h>
#include <stdlib.h>

static enum vq_status walk_hex(const char *hex)
{
    size_t n = strlen(hex) / 2;
    uint8_t *bytes = malloc(n + (n == 0)); /* exactly: a read beyond it is seen */
    assert_int_equal(vq_unhex(vq_span_str(hex), bytes, n), VQ_OK);
    uint64_t before = vq_alloc_count();
    enum vq_status status = vq_wire_walk(vq_span((char *)bytes, n), NULL);
    assert_int_equal(vq_alloc_count(), before);
    free(bytes);
    return status;
}

TEST(test_length_bombs)
{
    const char *const bombs[] = {
        "dd03ffffff",         /* array32 of 67 million: 2 GiB in msgpack-c */
        "ddffffffff",         /* array32 of 4 billion */
        "dcffff",             /* array16 */
        "dfffffffff",         /* map32 */
        "deffff",             /* map16 */
        "91c6ffffffff",       /* bin32 of 4 GiB in an array */
        "91dbffffffff",       /* str32 */
        "91c9ffffffff01",     /* ext32 */
        "91c8ffff01",         /* ext16 */
        "91ddffffffff",       /* array32 in an array */
        "91dd00000002c0",     /* two items claimed, one there */
        "92c0",               /* the same, short */
        "91c405aabb",         /* bin8 of five, two there */
        "91a5616263",         /* fixstr */
        "91cf00000000000000", /* uint64 cut off */
        "91ca0000",           /* float32 cut off */
        "91cb00000000",       /* float64 cut off */
        "91d9",               /* length cut off */
        "91dd000000",         /* length cut off */
        "",                   /* nothing */
    };
    for (size_t i = 0; i < VQ_COUNT(bombs); i++) {
        assert_int_equal(walk_hex(bombs[i]), VQ_INVALID);
    }
}

TEST(test_only_arrays_and_plain_values)
{
    const char *const fine[] = {"90",
                                "91c0",
                                "91c2",
                                "91c3",
                                "9101",
                                "91ff",
                                "91a0",
                                "91a161",
                                "91c400",
                                "91ccff",
                                "91cdffff",
                                "91ceffffffff",
                                "91cfffffffffffffffff",
                                "91d0ff",
                                "91d1ffff",
                                "91d2ffffffff",
                                "91d3ffffffffffffffff",
                                "91ca00000000",
                                "91cb0000000000000000",
                                "91c50001aa",
                                "91c600000001aa",
                                "91d901aa",
                                "91da0001aa",
                                "91db00000001aa",
                                "dc000101",
                                "dd0000000101",
                                "929090",
                                "9190"};
    for (size_t i = 0; i < VQ_COUNT(fine); i++) {
        assert_int_equal(walk_hex(fine[i]), VQ_OK);
    }
    const char *const refused[] = {
        "c0",   "01",       "a0",       "80",         "9180",           "918101c0",
        "91c1", "91c70001", "91d40100", "91d5010000", "91d60100000000", "91de0000",
        "9090", "91c0c0"};
    for (size_t i = 0; i < VQ_COUNT(refused); i++) {
        assert_int_equal(walk_hex(refused[i]), VQ_INVALID);
    }
}

TEST(test_depth)
{
    char frame[64];
    memset(frame, (char)0x91, sizeof(frame));
    frame[VQ_FRAME_DEPTH_MAX] = 1;
    assert_int_equal(vq_wire_walk(vq_span(frame, VQ_FRAME_DEPTH_MAX + 1), NULL), VQ_OK);
    frame[VQ_FRAME_DEPTH_MAX] = (char)0x91;
    frame[VQ_FRAME_DEPTH_MAX + 1] = 1;
    assert_int_equal(vq_wire_walk(vq_span(frame, VQ_FRAME_DEPTH_MAX + 2), NULL), VQ_LIMIT);
    size_t deep = 1000000;
    char *hole = malloc(deep);
    memset(hole, (char)0x91, deep);
    assert_int_equal(vq_wire_walk(vq_span(hole, deep), NULL), VQ_LIMIT);
    free(hole);
}

TEST(test_items_and_bytes)
{
    size_t bytes = 5 + VQ_FRAME_ITEMS_MAX + 1;
    char *frame = calloc(1, bytes);
    uint32_t n = VQ_FRAME_ITEMS_MAX;
    frame[0] = (char)0xdd;
    frame[1] = (char)(n >> 24);
    frame[2] = (char)(n >> 16);
    frame[3] = (char)(n >> 8);
    frame[4] = (char)n;
    assert_int_equal(vq_wire_walk(vq_span(frame, bytes - 1), NULL), VQ_OK);
    frame[4]++;
    assert_int_equal(vq_wire_walk(vq_span(frame, bytes), NULL), VQ_LIMIT);
    free(frame);
    frame = calloc(1, VQ_FRAME_BYTES_MAX + 1);
    assert_int_equal(vq_wire_walk(vq_span(frame, VQ_FRAME_BYTES_MAX + 1), NULL), VQ_LIMIT);
    free(frame);
}

/* Whatever the walk accepts, msgpack-c accepts, to the same end. */
TEST(test_agrees_with_msgpack_c)
{
    struct vq_rng rng;
    vq_rng_seed(&rng, 31);
    int accepted = 0;
    static const uint8_t likely[] = {0x90, 0x91, 0x92, 0x93, 0x95, 0xc0, 0xc2, 0xc4, 0xca,
                                     0xcb, 0xcc, 0xcd, 0xce, 0xcf, 0xd0, 0xd3, 0xd9, 0xdc,
                                     0xdd, 0xa1, 0x00, 0x01, 0x02, 0x05, 0xff};
    for (int round = 0; round < 300000; round++) {
        uint8_t bytes[24];
        size_t n = 1 + vq_rng_below(&rng, sizeof(bytes));
        for (size_t i = 0; i < n; i++) {
            bytes[i] = vq_rng_below(&rng, 8) == 0 ? (uint8_t)vq_rng_u64(&rng)
                                                  : likely[vq_rng_below(&rng, sizeof(likely))];
        }
        if (vq_wire_walk(vq_span((char *)bytes, n), NULL) == VQ_OK) {
            msgpack_unpacked unpacked;
            size_t at = 0;
            msgpack_unpacked_init(&unpacked);
            assert_int_equal(msgpack_unpack_next(&unpacked, (char *)bytes, n, &at),
                             MSGPACK_UNPACK_SUCCESS);
            assert_int_equal(at, n);
            msgpack_unpacked_destroy(&unpacked);
            accepted++;
        }
    }
    assert_true(accepted > 1000);
}
