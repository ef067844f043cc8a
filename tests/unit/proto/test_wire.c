/* The codec: golden bytes, random round trips, every field with a wrong type or over its bound,
 * cut and damaged frames. */

#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "random_message.h"

#include <math.h>
#include <msgpack.h>
#include <stdio.h>

#define ROUNDS 3000

static struct vq_decoder *decoder;
static struct vq_buf frame;
static struct random_memory memory;

static int setup(void **state)
{
    (void)state;
    vq_buf_init(&frame, 64u << 20);
    return vq_decoder_create(&decoder) == VQ_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    vq_decoder_destroy(&decoder);
    vq_buf_free(&frame);
    random_free(&memory);
    return 0;
}

static void assert_status_is(enum vq_status got, enum vq_status expected, const char *text)
{
    if (got != expected) {
        fail_msg("%s, expected %s: %s", vq_status_name(got), vq_status_name(expected), text);
    }
}

static enum vq_direction direction_of(const struct vq_wire_message *m)
{
    return (m->directions & VQ_TO_WORKER) != 0 ? VQ_TO_WORKER : VQ_TO_COORDINATOR;
}

static void assert_contains(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("\"%s\" does not contain \"%s\"", text, part);
    }
}

/* ---- bytes that stand for ever ---- */

static void assert_frame_is(const char *hex)
{
    char *got = calloc(1, VQ_HEX_BYTES(frame.bytes));
    vq_hex(frame.at, frame.bytes, got);
    assert_string_equal(got, hex);
    free(got);
}

TEST_WITH(test_golden_frames, setup, teardown)
{
    struct vq_msg drain = {.type = VQ_MSG_DRAIN, .u.drain = {.session = 5}};
    assert_int_equal(vq_msg_encode(&drain, &frame), VQ_OK);
    assert_frame_is("930a0d05");
    vq_buf_clear(&frame);
    struct vq_msg bye = {
        .type = VQ_MSG_BYE,
        .u.bye = {.session = 300, .code = VQ_BYE_STOPPED, .text = vq_span_str("hi")}};
    assert_int_equal(vq_msg_encode(&bye, &frame), VQ_OK);
    assert_frame_is("950a0ecd012c05a26869");
    vq_buf_clear(&frame);
    struct vq_held_lease lease = {.stage = 3, .shard = 7, .fence = {.epoch = 2, .n = 9}};
    struct vq_held_call call = {.call = {.b = {1, 2, 3}}, .stage = 4, .task = 256};
    struct vq_msg held = {.type = VQ_MSG_HEARTBEAT,
                          .u.held = {.session = 1,
                                     .stamp_ns = -1,
                                     .leases = &lease,
                                     .leases_count = 1,
                                     .calls = &call,
                                     .calls_count = 1}};
    assert_int_equal(vq_msg_encode(&held, &frame), VQ_OK);
    assert_frame_is("960a0c01ff"
                    "9193030792"
                    "0209"
                    "9193c4100102030000000000000000000000000004cd0100");
    vq_buf_clear(&frame);
    const uint64_t tasks[] = {1, 70000};
    struct vq_msg cancel = {.type = VQ_MSG_CANCEL,
                            .u.cancel = {.session = 1,
                                         .stage = 5,
                                         .shard = 2,
                                         .fence = {3, 4},
                                         .reason = VQ_CANCEL_RETURNED,
                                         .tasks = tasks,
                                         .tasks_count = 2}};
    assert_int_equal(vq_msg_encode(&cancel, &frame), VQ_OK);
    assert_frame_is("980a0b0105029203040292"
                    "01ce00011170");
}

/* The table's shape belongs to a version: whoever changes it raises VQ_PROTOCOL_VERSION, and
 * then this hash. */
TEST_WITH(test_table_belongs_to_its_version, setup, teardown)
{
    struct vq_hasher hasher;
    struct vq_hash hash;
    vq_hasher_init(&hasher, "wire-table");
    for (uint32_t i = 0; i < vq_wire_messages_count; i++) {
        const struct vq_wire_message *m = &vq_wire_messages[i];
        vq_hasher_u64(&hasher, m->type);
        vq_hasher_u64(&hasher, m->directions);
        for (uint32_t k = 0; k < m->record->fields_count; k++) {
            const struct vq_wire_field *f = &m->record->fields[k];
            vq_hasher_field(&hasher, vq_span_str(f->name));
            vq_hasher_u64(&hasher, f->type);
            for (uint32_t j = 0; f->record != NULL && j < f->record->fields_count; j++) {
                vq_hasher_field(&hasher, vq_span_str(f->record->fields[j].name));
                vq_hasher_u64(&hasher, f->record->fields[j].type);
            }
        }
    }
    vq_hasher_final(&hasher, &hash);
    assert_int_equal(VQ_PROTOCOL_VERSION, 10);
    char hex[VQ_HEX_BYTES(8)];
    vq_hex(hash.b, 8, hex);
    assert_string_equal(hex, "3fca65b47c6de177");
}

/* ---- round trips ---- */

TEST_WITH(test_random_messages_come_back, setup, teardown)
{
    struct vq_rng rng;
    vq_rng_seed(&rng, 20260101);
    for (int round = 0; round < ROUNDS; round++) {
        const struct vq_wire_message *m =
            &vq_wire_messages[vq_rng_below(&rng, vq_wire_messages_count)];
        if (m->directions == 0) {
            continue;
        }
        struct vq_msg msg = {.type = (enum vq_msg_type)m->type};
        struct vq_msg back;
        struct vq_error err = {""};
        random_record(&rng, m->record, (char *)&msg.u, &memory);
        vq_buf_clear(&frame);
        assert_status_is(vq_msg_encode(&msg, &frame), VQ_OK, m->name);
        assert_status_is(vq_msg_decode(decoder, vq_buf_span(&frame), direction_of(m), &back, &err),
                         VQ_OK, err.text);
        assert_int_equal(back.type, msg.type);
        assert_true(same_record(m->record, (char *)&msg.u, (char *)&back.u));
        /* the other way only when the table says so */
        enum vq_direction other =
            direction_of(m) == VQ_TO_WORKER ? VQ_TO_COORDINATOR : VQ_TO_WORKER;
        assert_int_equal(vq_msg_decode(decoder, vq_buf_span(&frame), other, &back, &err),
                         (m->directions & (uint32_t)other) != 0 ? VQ_OK : VQ_INVALID);
        random_free(&memory);
    }
}

TEST_WITH(test_random_results_and_specs_come_back, setup, teardown)
{
    struct vq_rng rng;
    vq_rng_seed(&rng, 4);
    const struct vq_wire_record *result_record = vq_wire_standalone("RESULT")->record;
    const struct vq_wire_record *spec_record = vq_wire_standalone("SPEC_BODY")->record;
    for (int round = 0; round < 500; round++) {
        struct vq_result result = {.task = 0}, result_back;
        struct vq_spec spec = {.axes_count = 0}, spec_back;
        random_record(&rng, result_record, (char *)&result, &memory);
        random_record(&rng, spec_record, (char *)&spec, &memory);
        vq_buf_clear(&frame);
        assert_int_equal(vq_result_encode(&result, &frame), VQ_OK);
        assert_int_equal(vq_result_decode(decoder, vq_buf_span(&frame), &result_back, NULL), VQ_OK);
        assert_true(same_record(result_record, (char *)&result, (char *)&result_back));
        assert_int_equal(vq_spec_decode(decoder, vq_buf_span(&frame), &spec_back, NULL),
                         VQ_INVALID); /* of another kind */
        vq_buf_clear(&frame);
        assert_int_equal(vq_spec_encode(&spec, &frame), VQ_OK);
        assert_int_equal(vq_spec_decode(decoder, vq_buf_span(&frame), &spec_back, NULL), VQ_OK);
        assert_true(same_record(spec_record, (char *)&spec, (char *)&spec_back));
        assert_int_equal(vq_result_decode(decoder, vq_buf_span(&frame), &result_back, NULL),
                         VQ_INVALID);
        random_free(&memory);
    }
    struct vq_result result;
    struct vq_error err = {""};
    const char no_type[] = {'\x92', VQ_PROTOCOL_VERSION, '\xc0'};
    assert_int_equal(vq_result_decode(decoder, vq_span(no_type, 3), &result, &err), VQ_INVALID);
    assert_contains(err.text, "these bytes are no RESULT"); /* whose type is no number */
}

/* A spool of the version before: its results lack the last two fields. */
TEST_WITH(test_a_result_of_an_earlier_version, setup, teardown)
{
    struct vq_result result = {.tokens_in = 7, .prompt_chars = 9, .error = vq_span_str("e")};
    struct vq_result back = {.tokens_written = 1};
    struct vq_error err = {""};
    assert_int_equal(vq_result_encode(&result, &frame), VQ_OK);
    assert_int_equal((uint8_t)frame.at[0], 0xdc); /* an array, its length in the next two bytes */
    assert_int_equal(frame.at[3], VQ_PROTOCOL_VERSION);
    frame.at[3] = VQ_RESULT_VERSION_MIN;
    assert_int_equal(vq_result_decode(decoder, vq_buf_span(&frame), &back, &err), VQ_INVALID);
    assert_contains(err.text, "fields wanted");
    frame.at[2] = (char)(frame.at[2] - 2);
    struct vq_span old = vq_span(frame.at, frame.bytes - 2); /* a 0 and an empty text */
    assert_int_equal(vq_result_decode(decoder, old, &back, NULL), VQ_OK);
    assert_true(back.tokens_in == 7 && back.prompt_chars == 9 &&
                vq_span_eq(back.error, result.error));
    assert_true(back.tokens_written == 0 && back.tier.bytes == 0);
    const char versions[] = {VQ_RESULT_VERSION_MIN - 1, VQ_PROTOCOL_VERSION + 1};
    for (size_t i = 0; i < VQ_COUNT(versions); i++) {
        frame.at[3] = versions[i];
        assert_int_equal(vq_result_decode(decoder, old, &back, NULL), VQ_VERSION);
    }
}

/* A RESULTS as large as a worker may send: 500 results, and the largest answer. */
TEST_WITH(test_large_frames, setup, teardown)
{
    struct vq_rng rng;
    vq_rng_seed(&rng, 5);
    struct vq_result *results = calloc(500, sizeof(*results));
    for (int i = 0; i < 500; i++) {
        random_record(&rng, vq_wire_standalone("RESULT")->record, (char *)&results[i], &memory);
    }
    char *answer = calloc(1, VQ_ANSWER_BYTES_MAX + 1);
    results[250].answer = vq_span(answer, VQ_ANSWER_BYTES_MAX);
    struct vq_msg msg = {.type = VQ_MSG_RESULTS,
                         .u.results = {.session = 1, .results = results, .results_count = 500}};
    struct vq_msg back;
    assert_int_equal(vq_msg_encode(&msg, &frame), VQ_OK);
    assert_int_equal(vq_msg_decode(decoder, vq_buf_span(&frame), VQ_TO_COORDINATOR, &back, NULL),
                     VQ_OK);
    assert_int_equal(back.u.results.results_count, 500);
    for (int i = 0; i < 500; i++) {
        assert_true(same_record(vq_wire_standalone("RESULT")->record, (char *)&results[i],
                                (const char *)&back.u.results.results[i]));
    }
    results[250].answer.bytes++;
    vq_buf_clear(&frame);
    assert_int_equal(vq_msg_encode(&msg, &frame), VQ_LIMIT);
    /* each within its bound, and the frame over its own */
    for (int i = 0; i < 17; i++) {
        results[i].answer = vq_span(answer, VQ_ANSWER_BYTES_MAX);
    }
    results[250].answer.bytes--;
    assert_int_equal(vq_msg_encode(&msg, &frame), VQ_LIMIT);
    assert_int_equal(frame.bytes, 0);
    free(results);
    free(answer);
}

/* ---- what encode refuses ---- */

TEST_WITH(test_failed_encode_leaves_the_buffer_as_it_was, setup, teardown)
{
    vq_buf_puts(&frame, "before");
    char *long_text = calloc(1, 5000);
    memset(long_text, 'x', 4999);
    struct vq_msg bye = {.type = VQ_MSG_BYE, .u.bye = {.text = vq_span_str(long_text)}};
    assert_int_equal(vq_msg_encode(&bye, &frame), VQ_LIMIT);
    assert_string_equal(frame.at, "before");
    struct vq_buf small;
    vq_buf_init(&small, 8);
    bye.u.bye.text.bytes = 100;
    assert_int_equal(vq_msg_encode(&bye, &small), VQ_LIMIT);
    assert_int_equal(small.bytes, 0);
    struct vq_msg drain = {.type = VQ_MSG_DRAIN};
    assert_int_equal(vq_msg_encode(&drain, &small), VQ_OK); /* the failure does not stick */
    vq_buf_puts(&small, "more than eight");
    assert_int_equal(small.status, VQ_LIMIT);
    assert_int_equal(vq_msg_encode(&drain, &small), VQ_LIMIT); /* but one from before does */
    vq_buf_free(&small);
    free(long_text);
}

TEST_WITH(test_values_that_decode_would_refuse_are_not_encoded, setup, teardown)
{
    struct vq_slice slice = {.rates = {.requests = 1}};
    struct vq_msg grant = {.type = VQ_MSG_GRANT, .u.grant = {.slices = &slice, .slices_count = 1}};
    const double bad[] = {NAN, INFINITY, -INFINITY, -1};
    for (size_t i = 0; i < VQ_COUNT(bad); i++) {
        slice.rates.tokens = bad[i];
        assert_int_equal(vq_msg_encode(&grant, &frame), VQ_LIMIT);
    }
    struct vq_msg bye = {.type = VQ_MSG_BYE, .u.bye = {.code = VQ_BYE_STAGE + 1}};
    assert_int_equal(vq_msg_encode(&bye, &frame), VQ_LIMIT);
    struct vq_msg hello = {.type = VQ_MSG_HELLO, .u.hello = {.local = -2}};
    assert_int_equal(vq_msg_encode(&hello, &frame), VQ_LIMIT);
    hello.u.hello.local = 65536;
    assert_int_equal(vq_msg_encode(&hello, &frame), VQ_LIMIT);
    struct vq_msg ack = {.type = VQ_MSG_ACK, .u.ack = {.calls_count = 10000000}};
    assert_int_equal(vq_msg_encode(&ack, &frame), VQ_LIMIT);
    assert_int_equal(frame.bytes, 0);
}

/* ---- what decode refuses: each field of each message in turn ---- */

/* One more than the field's bound, of whatever it counts; nil where it has none. */
static void pack_over(msgpack_packer *p, const struct vq_wire_field *f)
{
    static const char bytes[14u << 20];
    bool number = f->type == VQ_WIRE_U64 || f->type == VQ_WIRE_U32 || f->type == VQ_WIRE_ENUM ||
                  f->type == VQ_WIRE_INDEX;
    if (number && f->bound > 0) {
        (void)msgpack_pack_uint64(p, f->bound + 1);
    } else if (f->type == VQ_WIRE_TEXT) {
        (void)msgpack_pack_str_with_body(p, bytes, f->bound + 1);
    } else if (f->type == VQ_WIRE_BYTES) {
        (void)msgpack_pack_bin_with_body(p, bytes, f->bound + 1);
    } else if (f->type == VQ_WIRE_LIST) {
        (void)msgpack_pack_array(p, f->bound + 1);
        for (uint64_t i = 0; i <= f->bound; i++) {
            (void)msgpack_pack_nil(p);
        }
    } else {
        (void)msgpack_pack_nil(p);
    }
}

static void pack_wrong(msgpack_packer *p, const struct vq_wire_field *f, int kind)
{
    switch (kind) {
    case 0: (void)msgpack_pack_nil(p); break;
    case 1: (void)msgpack_pack_true(p); break;
    case 2: (void)msgpack_pack_uint64(p, 3); break;
    case 3: (void)msgpack_pack_int64(p, -3); break;
    case 4: (void)msgpack_pack_double(p, 0.5); break;
    case 5: (void)msgpack_pack_str_with_body(p, "abc", 3); break;
    case 6: (void)msgpack_pack_bin_with_body(p, "abc", 3); break;
    case 7: (void)msgpack_pack_array(p, 0); break;
    case 8: (void)msgpack_pack_double(p, NAN); break;
    case 9: (void)msgpack_pack_double(p, -0.5); break;
    case 10: (void)msgpack_pack_uint64(p, UINT64_MAX); break;
    case 11: (void)msgpack_pack_float(p, 0.5F); break;
    case 12: (void)msgpack_pack_double(p, INFINITY); break;
    case 13: pack_over(p, f); break;
    default: abort();
    }
}
#define WRONG_KINDS 14

static bool may_be(const struct vq_wire_field *f, int kind)
{
    switch (f->type) {
    case VQ_WIRE_ID:
    case VQ_WIRE_HASH: return false; /* three bytes are none */
    case VQ_WIRE_U64: return kind == 2 || (kind == 10 && f->bound == 0);
    case VQ_WIRE_U32:
    case VQ_WIRE_ENUM: return kind == 2 && (f->bound == 0 || f->bound >= 3);
    case VQ_WIRE_I64: return kind == 2 || kind == 3;
    case VQ_WIRE_INDEX: return kind == 2;
    case VQ_WIRE_BOOL: return kind == 1;
    case VQ_WIRE_REAL: return kind == 4 || kind == 11;
    case VQ_WIRE_TEXT: return kind == 5;
    case VQ_WIRE_BYTES: return kind == 6;
    case VQ_WIRE_INSIDE: return false;
    case VQ_WIRE_LIST: return kind == 7;
    }
    return false;
}

static int write_to_buf(void *data, const char *bytes, size_t n)
{
    vq_buf_append(data, bytes, n);
    return 0;
}

/* `object` with the value at path[0], path[1] ... replaced. */
static void pack_with_wrong(msgpack_packer *p, const msgpack_object *object, const uint32_t *path,
                            size_t depth, const struct vq_wire_field *f, int kind)
{
    if (depth == 0) {
        pack_wrong(p, f, kind);
        return;
    }
    (void)msgpack_pack_array(p, object->via.array.size);
    for (uint32_t i = 0; i < object->via.array.size; i++) {
        if (i == path[0]) {
            pack_with_wrong(p, &object->via.array.ptr[i], path + 1, depth - 1, f, kind);
        } else {
            (void)msgpack_pack_object(p, object->via.array.ptr[i]);
        }
    }
}

static void try_wrong(const struct vq_wire_message *m, const msgpack_object *object,
                      const struct vq_wire_field *f, const uint32_t *path, size_t depth)
{
    for (int kind = 0; kind < WRONG_KINDS; kind++) {
        struct vq_buf wrong;
        struct vq_msg back = {.type = VQ_MSG_BYE};
        struct vq_error err = {""};
        msgpack_packer p;
        vq_buf_init(&wrong, 64u << 20);
        msgpack_packer_init(&p, &wrong, write_to_buf);
        pack_with_wrong(&p, object, path, depth, f, kind);
        enum vq_status status =
            vq_msg_decode(decoder, vq_buf_span(&wrong), direction_of(m), &back, &err);
        bool large = kind == 13 && status == VQ_LIMIT; /* for any frame */
        assert_status_is(status, large ? VQ_LIMIT : may_be(f, kind) ? VQ_OK : VQ_INVALID, f->name);
        assert_int_equal(vq_msg_decode(decoder, vq_buf_span(&wrong), direction_of(m), &back, NULL),
                         status);
        if (status == VQ_INVALID) {
            assert_contains(err.text, m->name);
            assert_contains(err.text, f->name);
            assert_int_equal(back.type, VQ_MSG_BYE); /* untouched */
        }
        vq_buf_free(&wrong);
    }
}

/* Every field of a record, and of the records in it; of lists the first item. Its values are in
 * `at`, from `first` on. */
static void try_record(const struct vq_wire_message *m, const msgpack_object *frame_of,
                       const struct vq_wire_record *record, const msgpack_object *at,
                       uint32_t first, uint32_t *path, size_t depth)
{
    for (uint32_t k = 0; k < record->fields_count; k++) {
        const struct vq_wire_field *f = &record->fields[k];
        const msgpack_object *value = &at->via.array.ptr[k + first];
        path[depth] = k + first;
        try_wrong(m, frame_of, f, path, depth + 1);
        if (f->type == VQ_WIRE_INSIDE) {
            try_record(m, frame_of, f->record, value, 0, path, depth + 1);
        } else if (f->type == VQ_WIRE_LIST && value->via.array.size > 0) {
            path[depth + 1] = 0;
            if (f->record->bare) {
                try_wrong(m, frame_of, &f->record->fields[0], path, depth + 2);
            } else {
                try_record(m, frame_of, f->record, &value->via.array.ptr[0], 0, path, depth + 2);
            }
        }
    }
}

TEST_WITH(test_wrong_types_name_message_and_field, setup, teardown)
{
    struct vq_rng rng;
    vq_rng_seed(&rng, 77);
    for (uint32_t i = 0; i < vq_wire_messages_count; i++) {
        const struct vq_wire_message *m = &vq_wire_messages[i];
        if (m->directions == 0) {
            continue;
        }
        struct vq_msg msg = {.type = (enum vq_msg_type)m->type};
        bool lists_filled = false;
        while (!lists_filled) { /* every list has an item to put a wrong value into */
            random_record(&rng, m->record, (char *)&msg.u, &memory);
            lists_filled = true;
            for (uint32_t k = 0; k < m->record->fields_count; k++) {
                uint32_t n = 1;
                if (m->record->fields[k].type == VQ_WIRE_LIST) {
                    memcpy(&n, (char *)&msg.u + m->record->fields[k].count_offset, sizeof(n));
                }
                lists_filled = lists_filled && n > 0;
            }
        }
        vq_buf_clear(&frame);
        assert_int_equal(vq_msg_encode(&msg, &frame), VQ_OK);
        msgpack_unpacked unpacked;
        msgpack_unpacked_init(&unpacked);
        size_t at = 0;
        assert_int_equal(msgpack_unpack_next(&unpacked, frame.at, frame.bytes, &at),
                         MSGPACK_UNPACK_SUCCESS);
        assert_int_equal(unpacked.data.via.array.size, m->record->fields_count + 2);
        uint32_t path[VQ_FRAME_DEPTH_MAX];
        try_record(m, &unpacked.data, m->record, &unpacked.data, 2, path, 0);
        msgpack_unpacked_destroy(&unpacked);
        random_free(&memory);
    }
}

static enum vq_status decode_hex(const char *hex, enum vq_direction direction, struct vq_error *err)
{
    uint8_t bytes[256];
    size_t n = strlen(hex) / 2;
    struct vq_msg msg;
    assert_true(n <= sizeof(bytes));
    assert_int_equal(vq_unhex(vq_span_str(hex), bytes, n), VQ_OK);
    return vq_msg_decode(decoder, vq_span((char *)bytes, n), direction, &msg, err);
}

TEST_WITH(test_versions, setup, teardown)
{
    struct vq_error err = {""};
    assert_int_equal(decode_hex("93010d05", VQ_TO_WORKER, &err), VQ_VERSION);
    assert_contains(err.text, "version 10");
    assert_contains(err.text, "version 1");
    assert_int_equal(decode_hex("93cd01000d05", VQ_TO_WORKER, &err), VQ_VERSION);
    assert_contains(err.text, "version 256");
    /* whatever the rest is: a map, an extension, cut off */
    assert_int_equal(decode_hex("920180", VQ_TO_WORKER, &err), VQ_VERSION);
    assert_int_equal(decode_hex("92cfffffffffffffffffd4", VQ_TO_WORKER, &err), VQ_VERSION);
    assert_int_equal(decode_hex("9200", VQ_TO_WORKER, &err), VQ_VERSION);
    const char *const none[] = {"",   "90", "91",   "c0",     "92c0", "92a101",
                                "80", "01", "92ff", "92cd01", "dd"};
    for (size_t i = 0; i < VQ_COUNT(none); i++) {
        assert_status_is(decode_hex(none[i], VQ_TO_WORKER, &err), VQ_INVALID, none[i]);
    }
}

TEST_WITH(test_types_and_field_counts, setup, teardown)
{
    struct vq_error err = {""};
    assert_int_equal(decode_hex("930a0d05", VQ_TO_WORKER, &err), VQ_OK);
    assert_int_equal(decode_hex("930a0005", VQ_TO_WORKER, &err), VQ_INVALID);
    assert_int_equal(decode_hex("930a1405", VQ_TO_WORKER, &err), VQ_INVALID);
    assert_int_equal(decode_hex("930ac005", VQ_TO_WORKER, &err), VQ_INVALID);
    assert_int_equal(decode_hex("910a", VQ_TO_WORKER, &err), VQ_INVALID);
    assert_int_equal(decode_hex("930a40c0", VQ_TO_WORKER, &err), VQ_INVALID); /* standalone */
    assert_int_equal(decode_hex("920a0d", VQ_TO_WORKER, &err), VQ_INVALID);
    assert_contains(err.text, "DRAIN: 1 fields wanted, 0 came");
    assert_int_equal(decode_hex("940a0d0506", VQ_TO_WORKER, &err), VQ_INVALID);
    assert_contains(err.text, "DRAIN: 1 fields wanted, 2 came");
    assert_int_equal(decode_hex("930a0d0505", VQ_TO_WORKER, &err), VQ_INVALID); /* bytes behind */
    assert_int_equal(decode_hex("930a0d05", VQ_TO_WORKER, NULL), VQ_OK);
    assert_int_equal(decode_hex("930a0d", VQ_TO_WORKER, NULL), VQ_INVALID);
}

TEST_WITH(test_error_names_the_item, setup, teardown)
{
    struct vq_error err = {""};
    /* ACK with its second call too short */
    assert_int_equal(
        decode_hex("950a090192c41000000000000000000000000000000000c4010190", VQ_TO_WORKER, &err),
        VQ_INVALID);
    assert_contains(err.text, "ACK.calls[1]");
    assert_contains(err.text, "16 bytes wanted, 1 came");
}

/* ---- damage ---- */

TEST_WITH(test_cut_and_damaged_frames, setup, teardown)
{
    struct vq_rng rng;
    vq_rng_seed(&rng, 99);
    for (uint32_t i = 0; i < vq_wire_messages_count; i++) {
        const struct vq_wire_message *m = &vq_wire_messages[i];
        if (m->directions == 0) {
            continue;
        }
        struct vq_msg msg = {.type = (enum vq_msg_type)m->type}, back;
        struct vq_error err;
        random_record(&rng, m->record, (char *)&msg.u, &memory);
        vq_buf_clear(&frame);
        assert_int_equal(vq_msg_encode(&msg, &frame), VQ_OK);
        for (size_t cut = 0; cut < frame.bytes; cut += 1 + cut / 64) {
            char *copy = malloc(cut + 1); /* so that a read beyond the end is seen */
            memcpy(copy, frame.at, cut);
            enum vq_status status =
                vq_msg_decode(decoder, vq_span(copy, cut), direction_of(m), &back, &err);
            assert_int_equal(status, VQ_INVALID);
            free(copy);
        }
        for (int round = 0; round < 2000; round++) {
            char *copy = malloc(frame.bytes);
            memcpy(copy, frame.at, frame.bytes);
            for (uint64_t k = 0; k <= vq_rng_below(&rng, 3); k++) {
                copy[vq_rng_below(&rng, frame.bytes < 200 ? frame.bytes : 200)] =
                    (char)vq_rng_u64(&rng);
            }
            struct vq_span span = vq_span(copy, frame.bytes);
            if (vq_msg_decode(decoder, span, direction_of(m), &back, &err) == VQ_OK) {
                struct vq_buf again; /* what was accepted can be said again */
                vq_buf_init(&again, 64u << 20);
                assert_int_equal(vq_msg_encode(&back, &again), VQ_OK);
                vq_buf_free(&again);
            }
            free(copy);
        }
        random_free(&memory);
    }
}

TEST_WITH(test_no_memory, setup, teardown)
{
    struct vq_id calls[10000];
    memset(calls, 7, sizeof(calls));
    struct vq_msg msg = {.type = VQ_MSG_ACK, .u.ack = {.calls = calls, .calls_count = 10000}}, back;
    struct vq_error err = {""};
    assert_int_equal(vq_msg_encode(&msg, &frame), VQ_OK);
    vq_alloc_fail_at(1);
    assert_int_equal(vq_msg_decode(decoder, vq_buf_span(&frame), VQ_TO_WORKER, &back, &err),
                     VQ_NOMEM);
    vq_alloc_fail_at(0);
    assert_int_equal(vq_msg_decode(decoder, vq_buf_span(&frame), VQ_TO_WORKER, &back, &err), VQ_OK);
    char nil[16];
    (void)snprintf(nil, sizeof(nil), "93%02x0dc0", VQ_PROTOCOL_VERSION);
    for (uint64_t n = 1; n <= 3;
         n++) { /* what is refused is refused, also where no memory is left to say where */
        vq_alloc_fail_at(n);
        assert_int_equal(decode_hex(nil, VQ_TO_WORKER, &err), VQ_INVALID);
        vq_alloc_fail_at(0);
        assert_contains(err.text, "DRAIN");
        assert_contains(err.text, "a non-negative integer wanted, nil came");
    }
    uint64_t before = vq_alloc_count();
    for (int i = 0; i < 100; i++) {
        assert_int_equal(vq_msg_decode(decoder, vq_buf_span(&frame), VQ_TO_WORKER, &back, &err),
                         VQ_OK);
    }
    assert_int_equal(vq_alloc_count(), before); /* the decoder's memory is used again */
    struct vq_decoder *none = NULL;
    vq_alloc_fail_at(1);
    assert_int_equal(vq_decoder_create(&none), VQ_NOMEM);
    assert_null(none);
}

TEST_WITH(test_names, setup, teardown)
{
    assert_string_equal(vq_msg_name(VQ_MSG_HELLO), "HELLO");
    assert_string_equal(vq_msg_name(VQ_MSG_BYE), "BYE");
    assert_string_equal(vq_msg_name((enum vq_msg_type)0), "?");
    assert_string_equal(vq_msg_name((enum vq_msg_type)64), "?"); /* a standalone is no message */
}
