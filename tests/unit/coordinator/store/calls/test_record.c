/* The store's values: what goes in comes out, and no changed byte is believed. */
#include "fixture.h"

#include "coordinator/store/calls/record.h"

static const struct vq_span key = {"0123456789abcdefC0123456789abcdef", 33};

static struct vq_call_row sample_row(void)
{
    struct vq_result result = {.stage = 70000,
                               .task = UINT64_C(1) << 40,
                               .fence = {3, 4},
                               .judge = 1,
                               .repeat = 2,
                               .tries = 3,
                               .kind = VQ_CALL_REPAIR,
                               .end = VQ_END_LOST,
                               .outcome = VQ_OUTCOME_UNAVAILABLE,
                               .final = true,
                               .http_status = 503,
                               .latency_ms = 77,
                               .started_unix_ms = -5,
                               .tokens_in = 1,
                               .tokens_cached = 2,
                               .tokens_written = 40,
                               .tier = vq_span_str("flex"),
                               .label_logprobs = {"A=-0.25 B=-1.5", 14},
                               .tokens_out = UINT64_MAX,
                               .tokens_reserved = 900,
                               .cost_nano = UINT64_C(1) << 50,
                               .provider_nano = 51,
                               .prompt_chars = 94856,
                               .unreported = true,
                               .pool = vq_span_str("account/model"),
                               .model = vq_span_str("m"),
                               .error = vq_span_str("e: \xff")};
    struct vq_call_row row = {
        .result = result, .used = true, .recorded_unix_ms = 6, .worker = vq_span_str("w")};
    memcpy(row.result.call.b, key.at + 17, VQ_ID_BYTES);
    memset(row.result.request.b, 0x5a, VQ_HASH_BYTES);
    return row;
}

TEST(test_crc)
{
    /* The check value of CRC-32C, and pieces against the whole. */
    assert_int_equal(vq_crc32c(0, "123456789", 9), 0xe3069283u);
    assert_int_equal(vq_crc32c(vq_crc32c(0, "12345", 5), "6789", 4), 0xe3069283u);
    assert_int_equal(vq_crc32c(0, "", 0), 0);
    /* With and without the processor's help, at every length and alignment. */
    char bytes[64];
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (char)(i * 37 + 11);
    }
    for (size_t at = 0; at < 8; at++) {
        for (size_t n = 0; n + at <= sizeof(bytes); n++) {
            assert_int_equal(vq_crc32c(7, bytes + at, n), vq_crc32c_plain(7, bytes + at, n));
        }
    }
}

static void set_version(struct vq_buf *out, char version)
{
    out->at[0] = version;
    uint32_t crc = vq_crc32c(0, key.at, key.bytes);
    crc = vq_crc32c(crc, out->at, 4);
    crc = vq_crc32c(crc, out->at + VQ_RECORD_HEAD_BYTES, out->bytes - VQ_RECORD_HEAD_BYTES);
    for (int i = 0; i < 4; i++) {
        out->at[4 + i] = (char)(uint8_t)(crc >> (8 * i));
    }
}

/* A ledger row as it was written before there were pools. */
TEST(test_a_row_without_a_pool)
{
    struct vq_buf out;
    vq_buf_init(&out, VQ_RECORD_BYTES_MAX);
    struct vq_call_row row = sample_row(), back;
    vq_record_call(&out, key, &row);
    /* cost, reserved, pool, labels, the provider's cost, the prompt, written to a cache, tier */
    out.bytes -= 8 + 8 + 4 + row.result.pool.bytes + 4 + row.result.label_logprobs.bytes + 16 + 12 +
                 row.result.tier.bytes;
    for (char version = 0; version < 7; version++) {
        set_version(&out, version);
        enum vq_status status = vq_record_read_call(key, vq_buf_span(&out), &back);
        assert_int_equal(status, version == 2                   ? VQ_OK
                                 : version == 0 || version == 6 ? VQ_VERSION
                                                                : VQ_CORRUPT);
    }
    assert_true(back.result.stage == row.result.stage &&
                vq_span_eq(back.result.error, row.result.error));
    assert_true(back.result.cost_nano == 0 && back.result.tokens_reserved == 0 &&
                back.result.pool.bytes == 0);
    vq_buf_free(&out);
}

/* A ledger row as it was written before providers' own costs were kept. */
TEST(test_a_row_without_the_providers_cost)
{
    struct vq_buf out;
    vq_buf_init(&out, VQ_RECORD_BYTES_MAX);
    struct vq_call_row row = sample_row(), back;
    row.result.unreported = false;
    vq_record_call(&out, key, &row);
    out.bytes -= 16 + 12 + row.result.tier.bytes;
    set_version(&out, 3);
    assert_int_equal(vq_record_read_call(key, vq_buf_span(&out), &back), VQ_OK);
    assert_true(back.result.cost_nano == row.result.cost_nano &&
                vq_span_eq(back.result.pool, row.result.pool));
    assert_true(back.result.provider_nano == 0 && back.result.prompt_chars == 0 &&
                !back.result.unreported);
    vq_buf_free(&out);
}

/* A ledger row as it was written before tiers and writes to caches were kept. */
TEST(test_a_row_without_a_tier)
{
    struct vq_buf out;
    vq_buf_init(&out, VQ_RECORD_BYTES_MAX);
    struct vq_call_row row = sample_row(), back;
    vq_record_call(&out, key, &row);
    assert_int_equal(vq_record_read_call(key, vq_buf_span(&out), &back), VQ_OK);
    assert_true(back.result.tokens_written == 40 &&
                vq_span_eq(back.result.tier, vq_span_str("flex")));
    out.bytes -= 12 + row.result.tier.bytes;
    set_version(&out, 4);
    assert_int_equal(vq_record_read_call(key, vq_buf_span(&out), &back), VQ_OK);
    assert_true(back.result.prompt_chars == row.result.prompt_chars &&
                back.result.provider_nano == row.result.provider_nano);
    assert_true(back.result.tokens_written == 0 && back.result.tier.bytes == 0);
    vq_buf_free(&out);
}

/* A meta row that does not say when its run ended. */
TEST(test_a_meta_row_without_an_end)
{
    struct vq_buf out;
    vq_buf_init(&out, VQ_RECORD_BYTES_MAX);
    struct vq_run_meta meta = {.epoch = 3, .clean = true, .started_unix_ms = 7, .ended_unix_ms = 8};
    struct vq_run_meta back;
    vq_record_meta(&out, key, &meta);
    out.bytes -= 8;
    for (char version = 0; version < 4; version++) {
        set_version(&out, version);
        enum vq_status status = vq_record_read_meta(key, vq_buf_span(&out), &back);
        assert_int_equal(status, version == 1 ? VQ_OK : version == 2 ? VQ_CORRUPT : VQ_VERSION);
    }
    assert_true(back.epoch == 3 && back.clean && back.started_unix_ms == 7);
    assert_int_equal(back.ended_unix_ms, 0);
    vq_buf_free(&out);
}

/* A ledger row as it was written before runs had stages. */
TEST(test_a_row_without_a_stage)
{
    struct vq_buf out;
    vq_buf_init(&out, VQ_RECORD_BYTES_MAX);
    struct vq_call_row row = sample_row(), back;
    vq_record_call(&out, key, &row);
    size_t at = VQ_RECORD_HEAD_BYTES + 4; /* kind, end, outcome, flags; then the stage */
    memmove(out.at + at, out.at + at + 4, out.bytes - at - 4);
    out.bytes -= 4 + 8 + 8 + 4 + row.result.pool.bytes + 4 + row.result.label_logprobs.bytes + 16 +
                 12 + row.result.tier.bytes; /* nor were there pools */
    for (char version = 0; version < 7; version++) {
        set_version(&out, version);
        enum vq_status status = vq_record_read_call(key, vq_buf_span(&out), &back);
        assert_int_equal(status, version == 1                   ? VQ_OK
                                 : version == 0 || version == 6 ? VQ_VERSION
                                                                : VQ_CORRUPT);
    }
    assert_int_equal(back.result.stage, 0);
    assert_true(back.result.task == row.result.task &&
                vq_span_eq(back.result.error, row.result.error));
    vq_buf_free(&out);
}

TEST(test_round_trip)
{
    struct vq_buf out;
    vq_buf_init(&out, VQ_RECORD_BYTES_MAX);
    struct vq_call_row row = sample_row(), back;
    vq_record_call(&out, key, &row);
    assert_int_equal(out.status, VQ_OK);
    assert_int_equal(vq_record_read_call(key, vq_buf_span(&out), &back), VQ_OK);
    assert_true(vq_id_eq(&back.result.call, &row.result.call));
    assert_true(vq_hash_eq(&back.result.request, &row.result.request));
    assert_int_equal(back.result.stage, 70000);
    assert_true(back.result.task == row.result.task && back.result.fence.epoch == 3 &&
                back.result.fence.n == 4);
    assert_true(back.result.judge == 1 && back.result.repeat == 2 && back.result.tries == 3);
    assert_true(back.result.kind == row.result.kind && back.result.end == row.result.end &&
                back.result.outcome == row.result.outcome);
    assert_true(back.result.final && back.used && !back.result.refusal && !back.foreign);
    assert_true(back.result.http_status == 503 && back.result.latency_ms == 77);
    assert_true(back.result.started_unix_ms == -5 && back.recorded_unix_ms == 6);
    assert_true(back.result.tokens_in == 1 && back.result.tokens_cached == 2 &&
                vq_span_eq(back.result.label_logprobs, row.result.label_logprobs) &&
                back.result.tokens_out == UINT64_MAX);
    assert_true(vq_span_eq(back.worker, row.worker) &&
                vq_span_eq(back.result.model, row.result.model));
    assert_true(vq_span_eq(back.result.error, row.result.error) &&
                vq_span_eq(back.result.pool, row.result.pool));
    assert_true(back.result.cost_nano == row.result.cost_nano &&
                back.result.tokens_reserved == 900);
    assert_true(back.result.provider_nano == 51 && back.result.prompt_chars == 94856 &&
                back.result.unreported);

    struct vq_run_meta meta = {.epoch = 9,
                               .commit_n = 8,
                               .generation = 7,
                               .clean = true,
                               .created_unix_ms = 6,
                               .started_unix_ms = 5,
                               .ended_unix_ms = 77},
                       meta_back;
    meta.nonce.b[15] = 4;
    vq_record_meta(&out, key, &meta);
    assert_int_equal(vq_record_read_meta(key, vq_buf_span(&out), &meta_back), VQ_OK);
    assert_memory_equal(&meta_back.nonce, &meta.nonce, sizeof(meta.nonce));
    assert_true(meta_back.epoch == 9 && meta_back.commit_n == 8 && meta_back.generation == 7 &&
                meta_back.clean && meta_back.created_unix_ms == 6 &&
                meta_back.started_unix_ms == 5 && meta_back.ended_unix_ms == 77);

    struct vq_failure_row failure = {.outcome = VQ_OUTCOME_TOO_LONG, .unix_ms = 3}, failure_back;
    vq_record_failure(&out, key, &failure);
    assert_int_equal(vq_record_read_failure(key, vq_buf_span(&out), &failure_back), VQ_OK);
    assert_int_equal(failure_back.outcome, VQ_OUTCOME_TOO_LONG);
    failure.outcome = VQ_OUTCOME_NONE; /* lifted */
    vq_record_failure(&out, key, &failure);
    assert_int_equal(vq_record_read_failure(key, vq_buf_span(&out), &failure_back), VQ_OK);
    assert_int_equal(failure_back.outcome, VQ_OUTCOME_NONE);
    failure.outcome = VQ_OUTCOME_FIRST; /* no failure */
    vq_record_failure(&out, key, &failure);
    assert_int_equal(vq_record_read_failure(key, vq_buf_span(&out), &failure_back), VQ_CORRUPT);
    vq_buf_free(&out);
}

TEST(test_long_names_are_cut)
{
    char name[1000];
    memset(name, 'n', sizeof(name));
    struct vq_buf out;
    vq_buf_init(&out, VQ_RECORD_BYTES_MAX);
    struct vq_answer answer = {.answer = vq_span("", 0), .model = vq_span(name, sizeof(name))},
                     back;
    vq_record_answer(&out, key, &answer);
    assert_int_equal(vq_record_read_answer(key, vq_buf_span(&out), &back), VQ_OK);
    assert_int_equal(back.model.bytes, VQ_RECORD_NAME_BYTES);
    vq_buf_free(&out);
}

/* Every bit of the value and of the key, and every length. */
TEST(test_damage_is_seen)
{
    struct vq_buf out;
    vq_buf_init(&out, VQ_RECORD_BYTES_MAX);
    struct vq_call_row row = sample_row(), back;
    vq_record_call(&out, key, &row);
    for (size_t bit = 0; bit < out.bytes * 8; bit++) {
        out.at[bit / 8] = (char)(out.at[bit / 8] ^ (1 << bit % 8));
        assert_int_equal(vq_record_read_call(key, vq_buf_span(&out), &back), VQ_CORRUPT);
        out.at[bit / 8] = (char)(out.at[bit / 8] ^ (1 << bit % 8));
    }
    for (size_t bytes = 0; bytes < out.bytes; bytes++) {
        /* In its own block, so that a read past the end is seen. */
        char *cut = vq_alloc(bytes, 1);
        memcpy(cut, out.at, bytes);
        assert_int_equal(vq_record_read_call(key, vq_span(cut, bytes), &back), VQ_CORRUPT);
        vq_free(cut);
    }
    char other[33];
    for (size_t bit = 0; bit < sizeof(other) * 8; bit++) {
        memcpy(other, key.at, sizeof(other));
        other[bit / 8] = (char)(other[bit / 8] ^ (1 << bit % 8));
        assert_int_equal(
            vq_record_read_call(vq_span(other, sizeof(other)), vq_buf_span(&out), &back),
            VQ_CORRUPT);
    }
    /* A value of one kind is none of another. */
    struct vq_answer answer;
    assert_int_equal(vq_record_read_answer(key, vq_buf_span(&out), &answer), VQ_CORRUPT);
    vq_buf_free(&out);
}

/* A later version with a right checksum is not called damage. */
TEST(test_later_version)
{
    struct vq_buf out;
    vq_buf_init(&out, VQ_RECORD_BYTES_MAX);
    struct vq_failure_row row = {.outcome = VQ_OUTCOME_ERROR}, back;
    vq_record_failure(&out, key, &row);
    out.at[0] = VQ_RECORD_FAILURE_VERSION + 1;
    uint32_t crc = vq_crc32c(0, key.at, key.bytes);
    crc = vq_crc32c(crc, out.at, 4);
    crc = vq_crc32c(crc, out.at + 8, out.bytes - 8);
    for (int i = 0; i < 4; i++) {
        out.at[4 + i] = (char)(uint8_t)(crc >> (8 * i));
    }
    assert_int_equal(vq_record_read_failure(key, vq_buf_span(&out), &back), VQ_VERSION);
    vq_buf_free(&out);
}

TEST(test_ledger_keys)
{
    struct vq_id run = {.b = {1, 2, 3}}, call = {.b = {9}}, back;
    struct vq_hash request = {.b = {8}};
    enum vq_record_kind kind;
    struct vq_ledger_key keys[] = {vq_ledger_key_call(&run, &call),
                                   vq_ledger_key_failure(&run, &request), vq_ledger_key_meta(&run)};
    const enum vq_record_kind kinds[] = {VQ_RECORD_CALL, VQ_RECORD_FAILURE, VQ_RECORD_META};
    for (size_t i = 0; i < VQ_COUNT(keys); i++) {
        struct vq_span span = vq_span((const char *)keys[i].b, keys[i].bytes);
        assert_int_equal(vq_ledger_key_read(span, &kind, &back), VQ_OK);
        assert_int_equal(kind, kinds[i]);
        assert_true(vq_id_eq(&back, &run));
        span.bytes--;
        assert_int_equal(vq_ledger_key_read(span, &kind, &back), VQ_CORRUPT);
    }
    keys[0].b[VQ_ID_BYTES] = 'X';
    assert_int_equal(
        vq_ledger_key_read(vq_span((const char *)keys[0].b, keys[0].bytes), &kind, &back),
        VQ_CORRUPT);
}
