/* Hashes against values computed by an independent BLAKE2b, and the random sequence against one
 * written from the published algorithm in another language: neither may ever change, stored answers
 * and seeded splits depend on them. */
#include "tests/unit/test.h"

#include "common/base/hash.h"
#include "common/base/rng.h"

static void assert_hex(const struct vq_hash *hash, const char *expected)
{
    char hex[VQ_HEX_BYTES(VQ_HASH_BYTES)];
    vq_hex(hash->b, VQ_HASH_BYTES, hex);
    assert_string_equal(hex, expected);
}

TEST(test_hash_vectors)
{
    struct vq_hash hash;
    vq_hash_of("vq-test", vq_span_str("abc"), &hash);
    assert_hex(&hash, "5e222c5fcb8460d96ea1f154570584165e72bfb18863dff5f784bf3fff508c2a");
    assert_true(vq_hash_u64(&hash) == UINT64_C(0x5e222c5fcb8460d9));
    vq_hash_of("a-domain-name-longer-than-16", vq_span("", 0), &hash);
    assert_hex(&hash, "4787af28631288b5aa223fc5af91049d8c60089931db8af0783ef5c854d7cda9");
    struct vq_hasher hasher;
    vq_hasher_init(&hasher, "vq-test");
    vq_hasher_field(&hasher, vq_span_str("ab"));
    vq_hasher_field(&hasher, vq_span_str("c"));
    vq_hasher_u64(&hasher, 7);
    vq_hasher_final(&hasher, &hash);
    assert_hex(&hash, "358b07707f8ac7b95a206d87377955814cb6932f4e07b94dddd7b5351949a794");
}

TEST(test_hashes_keep_things_apart)
{
    struct vq_hash a, b;
    vq_hash_of("one", vq_span_str("x"), &a);
    vq_hash_of("two", vq_span_str("x"), &b);
    assert_false(vq_hash_eq(&a, &b));
    assert_int_equal(vq_hash_cmp(&a, &b) < 0, vq_hash_cmp(&b, &a) > 0);
    struct vq_hasher h, fork;
    vq_hasher_init(&h, "d");
    vq_hasher_field(&h, vq_span_str("ab"));
    fork = h;
    vq_hasher_field(&h, vq_span_str("c"));
    vq_hasher_final(&h, &a);
    vq_hasher_bytes(&fork, "", 0);
    vq_hasher_field(&fork, vq_span_str("c"));
    vq_hasher_final(&fork, &b);
    assert_true(vq_hash_eq(&a, &b)); /* a copied state goes on like the original */
    vq_hasher_init(&h, "d");
    vq_hasher_field(&h, vq_span_str("a"));
    vq_hasher_field(&h, vq_span_str("bc"));
    vq_hasher_final(&h, &b);
    assert_false(vq_hash_eq(&a, &b));
}

TEST(test_hex)
{
    unsigned char bytes[3] = {9, 9, 9};
    assert_int_equal(vq_unhex(vq_span_str("00a1ff"), bytes, 3), VQ_OK);
    assert_memory_equal(bytes, "\x00\xa1\xff", 3);
    assert_int_equal(vq_unhex(vq_span_str("00a1f"), bytes, 3), VQ_INVALID);
    assert_int_equal(vq_unhex(vq_span_str("00A1ff"), bytes, 3), VQ_INVALID);
    assert_int_equal(vq_unhex(vq_span_str("1234zz"), bytes, 3), VQ_INVALID);
    assert_memory_equal(bytes, "\x00\xa1\xff", 3); /* untouched by failures */
}

TEST(test_random_sequence_is_fixed)
{
    struct vq_rng rng;
    static const uint64_t of_42[] = {UINT64_C(0x15780b2e0c2ec716), UINT64_C(0x6104d9866d113a7e),
                                     UINT64_C(0xae17533239e499a1), UINT64_C(0xecb8ad4703b360a1)};
    vq_rng_seed(&rng, 42);
    for (size_t i = 0; i < VQ_COUNT(of_42); i++) {
        assert_true(vq_rng_u64(&rng) == of_42[i]);
    }
    vq_rng_seed(&rng, 0);
    assert_true(vq_rng_u64(&rng) == UINT64_C(0x99ec5f36cb75f2b4));
    assert_true(vq_rng_u64(&rng) == UINT64_C(0xbf6e1f784956452a));
    static const uint64_t below_10[] = {0, 3, 6, 9, 9, 7, 7, 8, 7, 5};
    vq_rng_seed(&rng, 42);
    for (size_t i = 0; i < VQ_COUNT(below_10); i++) {
        assert_int_equal(vq_rng_below(&rng, 10), below_10[i]);
    }
    static const uint32_t shuffled[] = {7, 1, 6, 3, 5, 4, 2, 0};
    uint32_t items[] = {0, 1, 2, 3, 4, 5, 6, 7};
    vq_rng_seed(&rng, 42);
    vq_rng_shuffle_u32(&rng, items, VQ_COUNT(items));
    assert_memory_equal(items, shuffled, sizeof(items));
    vq_rng_seed(&rng, 42);
    assert_true(vq_rng_unit(&rng) == 0.08386297105988216);
}

TEST(test_draws_are_uniform)
{
    struct vq_rng rng;
    vq_rng_seed(&rng, 1);
    enum {
        DRAWS = 60000,
        SIDES = 6
    };
    uint32_t counts[SIDES] = {0};
    double sum = 0;
    for (int i = 0; i < DRAWS; i++) {
        counts[vq_rng_below(&rng, SIDES)]++;
        double unit = vq_rng_unit(&rng);
        assert_true(unit >= 0 && unit < 1);
        sum += unit;
    }
    for (int i = 0; i < SIDES; i++) {
        assert_in_range(counts[i], 9600, 10400); /* over four standard deviations each way */
    }
    assert_true(sum / DRAWS > 0.494 && sum / DRAWS < 0.506);
    assert_int_equal(vq_rng_below(&rng, 1), 0);
    vq_rng_shuffle_u32(&rng, NULL, 0);
}
