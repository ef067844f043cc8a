/* Encodes and decodes the store's values.
 *
 * Invariants: a value that a decoder accepts has a right checksum, a known version and kind, only
 * whole fields and nothing after them. A decoder reads no byte outside of its value. The key is
 * part of the checksum, so a value under a wrong key is damage, too. Not its job: reading the
 * store, and the meaning of a value. */
#include "coordinator/store/calls/record.h"

#include <pthread.h>

#define CRC_AT 4

static uint32_t crc_table[8][256];
static pthread_once_t crc_once = PTHREAD_ONCE_INIT;

static void crc_fill(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int bit = 0; bit < 8; bit++) {
            c = (c & 1) != 0 ? (c >> 1) ^ 0x82f63b78u : c >> 1;
        }
        crc_table[0][i] = c;
    }
    for (uint32_t i = 0; i < 256; i++) {
        for (int k = 1; k < 8; k++) {
            uint32_t c = crc_table[k - 1][i];
            crc_table[k][i] = (c >> 8) ^ crc_table[0][c & 255];
        }
    }
}

/* The checksum covers every byte of an answer at each write and read, so it uses the processor's
 * instruction for this polynomial, if there is one. */
#if defined(__x86_64__)
static bool crc_is_builtin(void)
{
    return __builtin_cpu_supports("sse4.2") != 0;
}

__attribute__((target("sse4.2"))) static uint32_t crc_builtin(uint32_t crc, const uint8_t *p,
                                                              size_t n)
{
    uint64_t state = crc;
    for (; n >= 8; n -= 8, p += 8) {
        uint64_t word;
        memcpy(&word, p, sizeof(word));
        state = __builtin_ia32_crc32di(state, word);
    }
    crc = (uint32_t)state;
    for (; n > 0; n--, p++) {
        crc = __builtin_ia32_crc32qi(crc, *p);
    }
    return crc;
}
#else
static bool crc_is_builtin(void)
{
    return false;
}

static uint32_t crc_builtin(uint32_t crc, const uint8_t *p, size_t n)
{
    (void)p;
    (void)n;
    return crc;
}
#endif

/* Eight bytes per step (Kounavis and Berry 2005). */
uint32_t vq_crc32c_plain(uint32_t crc, const void *bytes, size_t n)
{
    (void)pthread_once(&crc_once, crc_fill);
    const uint8_t *p = bytes;
    crc = ~crc;
    for (; n >= 8; n -= 8, p += 8) {
        crc ^= (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
        crc = crc_table[7][crc & 255] ^ crc_table[6][crc >> 8 & 255] ^
              crc_table[5][crc >> 16 & 255] ^ crc_table[4][crc >> 24] ^ crc_table[3][p[4]] ^
              crc_table[2][p[5]] ^ crc_table[1][p[6]] ^ crc_table[0][p[7]];
    }
    for (; n > 0; n--, p++) {
        crc = (crc >> 8) ^ crc_table[0][(crc ^ *p) & 255];
    }
    return ~crc;
}

uint32_t vq_crc32c(uint32_t crc, const void *bytes, size_t n)
{
    return crc_is_builtin() ? ~crc_builtin(~crc, bytes, n) : vq_crc32c_plain(crc, bytes, n);
}

/* ---- keys ---- */

static struct vq_ledger_key ledger_key(const struct vq_id *run, enum vq_record_kind kind,
                                       const void *rest, size_t rest_bytes)
{
    struct vq_ledger_key key = {.bytes = VQ_ID_BYTES + 1 + rest_bytes};
    memcpy(key.b, run->b, VQ_ID_BYTES);
    key.b[VQ_ID_BYTES] = (uint8_t)kind;
    if (rest_bytes > 0) {
        memcpy(key.b + VQ_ID_BYTES + 1, rest, rest_bytes);
    }
    return key;
}

struct vq_ledger_key vq_ledger_key_prefix(const struct vq_id *run, enum vq_record_kind kind)
{
    return ledger_key(run, kind, NULL, 0);
}

struct vq_ledger_key vq_ledger_key_call(const struct vq_id *run, const struct vq_id *call)
{
    return ledger_key(run, VQ_RECORD_CALL, call->b, sizeof(call->b));
}

struct vq_ledger_key vq_ledger_key_distrusted(const struct vq_id *run, const struct vq_id *call)
{
    return ledger_key(run, VQ_RECORD_DISTRUSTED, call->b, sizeof(call->b));
}

struct vq_ledger_key vq_ledger_key_failure(const struct vq_id *run, const struct vq_hash *request)
{
    return ledger_key(run, VQ_RECORD_FAILURE, request->b, sizeof(request->b));
}

struct vq_ledger_key vq_ledger_key_meta(const struct vq_id *run)
{
    return ledger_key(run, VQ_RECORD_META, NULL, 0);
}

struct vq_ledger_key vq_ledger_key_waiting(const struct vq_id *run, const struct vq_id *call)
{
    return ledger_key(run, VQ_RECORD_WAITING, call->b, sizeof(call->b));
}

struct vq_ledger_key vq_ledger_key_batch(const struct vq_id *run, const struct vq_hash *name)
{
    return ledger_key(run, VQ_RECORD_BATCH, name->b, sizeof(name->b));
}

enum vq_status vq_ledger_key_read(struct vq_span key, enum vq_record_kind *ret_kind,
                                  struct vq_id *ret_run)
{
    if (key.bytes <= VQ_ID_BYTES) {
        return VQ_CORRUPT;
    }
    size_t rest = key.bytes - VQ_ID_BYTES - 1;
    char kind = key.at[VQ_ID_BYTES];
    if (!(kind == VQ_RECORD_CALL && rest == VQ_ID_BYTES) &&
        !(kind == VQ_RECORD_WAITING && rest == VQ_ID_BYTES) &&
        !(kind == VQ_RECORD_BATCH && rest == VQ_HASH_BYTES) &&
        !(kind == VQ_RECORD_DISTRUSTED && rest == VQ_ID_BYTES) &&
        !(kind == VQ_RECORD_FAILURE && rest == VQ_HASH_BYTES) &&
        !(kind == VQ_RECORD_META && rest == 0)) {
        return VQ_CORRUPT;
    }
    *ret_kind = (enum vq_record_kind)kind;
    memcpy(ret_run->b, key.at, VQ_ID_BYTES);
    return VQ_OK;
}

/* ---- writing ---- */

static void put_number(struct vq_buf *out, uint64_t value, size_t bytes)
{
    uint8_t b[8];
    for (size_t i = 0; i < bytes; i++) {
        b[i] = (uint8_t)(value >> (8 * i));
    }
    vq_buf_append(out, b, bytes);
}

static void put_text(struct vq_buf *out, struct vq_span text, size_t bytes_max)
{
    size_t bytes = text.bytes < bytes_max ? text.bytes : bytes_max;
    put_number(out, bytes, 4);
    vq_buf_append(out, text.at, bytes);
}

static uint8_t version_of(enum vq_record_kind kind)
{
    switch (kind) {
    case VQ_RECORD_CALL: return VQ_RECORD_CALL_VERSION;
    case VQ_RECORD_META: return VQ_RECORD_META_VERSION;
    case VQ_RECORD_FAILURE: return VQ_RECORD_FAILURE_VERSION;
    case VQ_RECORD_BATCH: return VQ_RECORD_BATCH_VERSION;
    case VQ_RECORD_WAITING:
    case VQ_RECORD_DISTRUSTED:
    case VQ_RECORD_ANSWER: break;
    }
    return VQ_RECORD_VERSION;
}

static void begin(struct vq_buf *out, enum vq_record_kind kind)
{
    vq_buf_clear(out);
    put_number(out, version_of(kind), 1);
    put_number(out, (uint64_t)kind, 1);
    put_number(out, 0, 6);
}

static uint32_t checksum(struct vq_span key, const char *value, size_t bytes)
{
    uint32_t crc = vq_crc32c(0, key.at, key.bytes);
    crc = vq_crc32c(crc, value, CRC_AT);
    return vq_crc32c(crc, value + VQ_RECORD_HEAD_BYTES, bytes - VQ_RECORD_HEAD_BYTES);
}

static uint32_t crc_of(const char *value)
{
    uint32_t crc = 0;
    for (unsigned i = 0; i < 4; i++) {
        crc |= (uint32_t)(uint8_t)value[CRC_AT + i] << (8 * i);
    }
    return crc;
}

bool vq_record_is_whole(struct vq_span key, struct vq_span value)
{
    return value.bytes >= VQ_RECORD_HEAD_BYTES && value.bytes <= VQ_RECORD_BYTES_MAX &&
           crc_of(value.at) == checksum(key, value.at, value.bytes);
}

static void end(struct vq_buf *out, struct vq_span key)
{
    if (out->status != VQ_OK) {
        return;
    }
    uint32_t crc = checksum(key, out->at, out->bytes);
    for (int i = 0; i < 4; i++) {
        out->at[CRC_AT + i] = (char)(uint8_t)(crc >> (8 * i));
    }
}

void vq_record_answer(struct vq_buf *out, struct vq_span key, const struct vq_answer *answer)
{
    begin(out, VQ_RECORD_ANSWER);
    put_number(out, answer->refusal ? 1 : 0, 1);
    put_number(out, (uint64_t)answer->created_unix_ms, 8);
    put_number(out, answer->tokens_in, 8);
    put_number(out, answer->tokens_cached, 8);
    put_number(out, answer->tokens_out, 8);
    vq_buf_append(out, answer->call.b, VQ_ID_BYTES);
    vq_buf_append(out, answer->run.b, VQ_ID_BYTES);
    put_text(out, answer->finish_reason, VQ_RECORD_NAME_BYTES);
    put_text(out, answer->model, VQ_RECORD_NAME_BYTES);
    put_text(out, answer->fingerprint, VQ_RECORD_NAME_BYTES);
    put_text(out, answer->answer, VQ_ANSWER_BYTES_MAX);
    end(out, key);
}

enum call_flags {
    CALL_FINAL = 1,
    CALL_REFUSAL = 2,
    CALL_USED = 4,
    CALL_FOREIGN = 8,
    CALL_UNREPORTED = 16,
    CALL_FLAGS = 31
};

void vq_record_call(struct vq_buf *out, struct vq_span key, const struct vq_call_row *row)
{
    const struct vq_result *r = &row->result;
    begin(out, VQ_RECORD_CALL);
    put_number(out, r->kind, 1);
    put_number(out, r->end, 1);
    put_number(out, r->outcome, 1);
    put_number(out,
               (uint64_t)((r->final ? CALL_FINAL : 0) | (r->refusal ? CALL_REFUSAL : 0) |
                          (row->used ? CALL_USED : 0) | (row->foreign ? CALL_FOREIGN : 0) |
                          (r->unreported ? CALL_UNREPORTED : 0)),
               1);
    put_number(out, r->stage, 4);
    put_number(out, r->task, 8);
    put_number(out, r->fence.epoch, 8);
    put_number(out, r->fence.n, 8);
    put_number(out, r->judge, 4);
    put_number(out, r->repeat, 4);
    put_number(out, r->tries, 4);
    put_number(out, r->http_status, 4);
    put_number(out, r->latency_ms, 4);
    put_number(out, (uint64_t)r->started_unix_ms, 8);
    put_number(out, (uint64_t)row->recorded_unix_ms, 8);
    put_number(out, r->tokens_in, 8);
    put_number(out, r->tokens_cached, 8);
    put_number(out, r->tokens_out, 8);
    vq_buf_append(out, r->request.b, VQ_HASH_BYTES);
    put_text(out, row->worker, VQ_RECORD_NAME_BYTES);
    put_text(out, r->model, VQ_RECORD_NAME_BYTES);
    put_text(out, r->error, VQ_RECORD_NAME_BYTES);
    put_number(out, r->cost_nano, 8);
    put_number(out, r->tokens_reserved, 8);
    put_text(out, r->pool, VQ_RECORD_NAME_BYTES);
    put_text(out, r->label_logprobs, VQ_RECORD_NAME_BYTES);
    put_number(out, r->provider_nano, 8);
    put_number(out, r->prompt_chars, 8);
    put_number(out, r->tokens_written, 8);
    put_text(out, r->tier, VQ_RECORD_NAME_BYTES);
    end(out, key);
}

void vq_record_failure(struct vq_buf *out, struct vq_span key, const struct vq_failure_row *row)
{
    begin(out, VQ_RECORD_FAILURE);
    put_number(out, (uint64_t)row->outcome, 1);
    put_number(out, (uint64_t)row->unix_ms, 8);
    vq_buf_append(out, row->call.b, VQ_ID_BYTES);
    end(out, key);
}

void vq_record_meta(struct vq_buf *out, struct vq_span key, const struct vq_run_meta *meta)
{
    begin(out, VQ_RECORD_META);
    put_number(out, meta->epoch, 8);
    put_number(out, meta->commit_n, 8);
    put_number(out, meta->generation, 4);
    put_number(out, meta->clean ? 1 : 0, 1);
    vq_buf_append(out, meta->nonce.b, VQ_ID_BYTES);
    put_number(out, (uint64_t)meta->created_unix_ms, 8);
    put_number(out, (uint64_t)meta->started_unix_ms, 8);
    put_number(out, (uint64_t)meta->ended_unix_ms, 8);
    end(out, key);
}

void vq_record_waiting(struct vq_buf *out, struct vq_span key, struct vq_span result)
{
    begin(out, VQ_RECORD_WAITING);
    put_text(out, result, VQ_RECORD_BYTES_MAX);
    end(out, key);
}

void vq_record_batch(struct vq_buf *out, struct vq_span key, const struct vq_batch_report *said)
{
    const struct vq_msg_batch *batch = &said->about;
    begin(out, VQ_RECORD_BATCH);
    put_number(out, batch->state, 1);
    put_number(out, batch->calls, 4);
    put_number(out, batch->ended, 4);
    put_text(out, batch->name, VQ_RECORD_NAME_BYTES);
    put_text(out, batch->pool, VQ_RECORD_NAME_BYTES);
    put_text(out, batch->id, VQ_RECORD_NAME_BYTES);
    vq_buf_append(out, said->owner.b, VQ_ID_BYTES);
    end(out, key);
}

/* ---- reading ---- */

struct reader {
    const char *at;
    size_t left;
    bool bad;
};

static const char *take(struct reader *r, size_t bytes)
{
    if (r->bad || bytes > r->left) {
        r->bad = true;
        return NULL;
    }
    const char *at = r->at;
    r->at += bytes;
    r->left -= bytes;
    return at;
}

static uint64_t take_number(struct reader *r, size_t bytes)
{
    const char *at = take(r, bytes);
    uint64_t value = 0;
    for (size_t i = 0; at != NULL && i < bytes; i++) {
        value |= (uint64_t)(uint8_t)at[i] << (8 * i);
    }
    return value;
}

static void take_bytes(struct reader *r, void *ret_bytes, size_t bytes)
{
    const char *at = take(r, bytes);
    if (at != NULL) {
        memcpy(ret_bytes, at, bytes);
    }
}

static struct vq_span take_text(struct reader *r)
{
    size_t bytes = (size_t)take_number(r, 4);
    const char *at = take(r, bytes);
    return at == NULL ? vq_span(NULL, 0) : vq_span(at, bytes);
}

static enum vq_status open_value(struct vq_span key, struct vq_span value, enum vq_record_kind kind,
                                 struct reader *ret_reader)
{
    if (value.bytes < VQ_RECORD_HEAD_BYTES || value.at[1] != (char)kind) {
        return VQ_CORRUPT;
    }
    if (crc_of(value.at) != checksum(key, value.at, value.bytes)) {
        return VQ_CORRUPT;
    }
    if (value.at[0] < VQ_RECORD_VERSION || value.at[0] > (char)version_of(kind)) {
        return VQ_VERSION;
    }
    *ret_reader = (struct reader){.at = value.at + VQ_RECORD_HEAD_BYTES,
                                  .left = value.bytes - VQ_RECORD_HEAD_BYTES};
    return VQ_OK;
}

static enum vq_status close_value(const struct reader *r)
{
    return r->bad || r->left != 0 ? VQ_CORRUPT : VQ_OK;
}

enum vq_status vq_record_read_answer(struct vq_span key, struct vq_span value,
                                     struct vq_answer *ret_answer)
{
    struct reader r;
    VQ_TRY(open_value(key, value, VQ_RECORD_ANSWER, &r));
    struct vq_answer a = {.refusal = take_number(&r, 1) != 0};
    a.created_unix_ms = (int64_t)take_number(&r, 8);
    a.tokens_in = take_number(&r, 8);
    a.tokens_cached = take_number(&r, 8);
    a.tokens_out = take_number(&r, 8);
    take_bytes(&r, a.call.b, VQ_ID_BYTES);
    take_bytes(&r, a.run.b, VQ_ID_BYTES);
    a.finish_reason = take_text(&r);
    a.model = take_text(&r);
    a.fingerprint = take_text(&r);
    a.answer = take_text(&r);
    VQ_TRY(close_value(&r));
    *ret_answer = a;
    return VQ_OK;
}

enum vq_status vq_record_read_call(struct vq_span key, struct vq_span value,
                                   struct vq_call_row *ret_row)
{
    struct reader r;
    if (key.bytes != VQ_ID_BYTES + 1 + VQ_ID_BYTES) {
        return VQ_CORRUPT;
    }
    VQ_TRY(open_value(key, value, VQ_RECORD_CALL, &r));
    struct vq_call_row row = {0};
    struct vq_result *to = &row.result;
    to->kind = (uint8_t)take_number(&r, 1);
    memcpy(to->call.b, key.at + VQ_ID_BYTES + 1, VQ_ID_BYTES);
    to->end = (uint8_t)take_number(&r, 1);
    to->outcome = (uint8_t)take_number(&r, 1);
    unsigned flags = (unsigned)take_number(&r, 1);
    to->final = (flags & CALL_FINAL) != 0;
    to->refusal = (flags & CALL_REFUSAL) != 0;
    row.used = (flags & CALL_USED) != 0;
    row.foreign = (flags & CALL_FOREIGN) != 0;
    to->unreported = (flags & CALL_UNREPORTED) != 0;
    to->stage = value.at[0] >= 2 ? (uint32_t)take_number(&r, 4) : 0;
    to->task = take_number(&r, 8);
    to->fence.epoch = take_number(&r, 8);
    to->fence.n = take_number(&r, 8);
    to->judge = (uint32_t)take_number(&r, 4);
    to->repeat = (uint32_t)take_number(&r, 4);
    to->tries = (uint32_t)take_number(&r, 4);
    to->http_status = (uint32_t)take_number(&r, 4);
    to->latency_ms = (uint32_t)take_number(&r, 4);
    to->started_unix_ms = (int64_t)take_number(&r, 8);
    row.recorded_unix_ms = (int64_t)take_number(&r, 8);
    to->tokens_in = take_number(&r, 8);
    to->tokens_cached = take_number(&r, 8);
    to->tokens_out = take_number(&r, 8);
    take_bytes(&r, to->request.b, VQ_HASH_BYTES);
    row.worker = take_text(&r);
    to->model = take_text(&r);
    to->error = take_text(&r);
    if (value.at[0] >= 3) {
        to->cost_nano = take_number(&r, 8);
        to->tokens_reserved = take_number(&r, 8);
        to->pool = take_text(&r);
        to->label_logprobs = take_text(&r);
    }
    if (value.at[0] >= 4) {
        to->provider_nano = take_number(&r, 8);
        to->prompt_chars = take_number(&r, 8);
    }
    if (value.at[0] >= 5) {
        to->tokens_written = take_number(&r, 8);
        to->tier = take_text(&r);
    }
    VQ_TRY(close_value(&r));
    if (to->kind > VQ_CALL_REPAIR || to->end >= VQ_END__COUNT || flags > CALL_FLAGS) {
        return VQ_CORRUPT;
    }
    *ret_row = row;
    return VQ_OK;
}

enum vq_status vq_record_read_failure(struct vq_span key, struct vq_span value,
                                      struct vq_failure_row *ret_row)
{
    struct reader r;
    VQ_TRY(open_value(key, value, VQ_RECORD_FAILURE, &r));
    struct vq_failure_row row = {.outcome = (enum vq_outcome)take_number(&r, 1)};
    row.unix_ms = (int64_t)take_number(&r, 8);
    take_bytes(&r, row.call.b, VQ_ID_BYTES);
    VQ_TRY(close_value(&r));
    if (!vq_outcome_is_failed(row.outcome) && row.outcome != VQ_OUTCOME_NONE) {
        return VQ_CORRUPT;
    }
    *ret_row = row;
    return VQ_OK;
}

enum vq_status vq_record_read_meta(struct vq_span key, struct vq_span value,
                                   struct vq_run_meta *ret_meta)
{
    struct reader r;
    VQ_TRY(open_value(key, value, VQ_RECORD_META, &r));
    struct vq_run_meta meta = {.epoch = take_number(&r, 8)};
    meta.commit_n = take_number(&r, 8);
    meta.generation = (uint32_t)take_number(&r, 4);
    meta.clean = take_number(&r, 1) != 0;
    take_bytes(&r, meta.nonce.b, VQ_ID_BYTES);
    meta.created_unix_ms = (int64_t)take_number(&r, 8);
    meta.started_unix_ms = (int64_t)take_number(&r, 8);
    meta.ended_unix_ms = value.at[0] >= 2 ? (int64_t)take_number(&r, 8) : 0;
    VQ_TRY(close_value(&r));
    if (meta.generation > VQ_GENERATION_MAX) {
        return VQ_CORRUPT;
    }
    *ret_meta = meta;
    return VQ_OK;
}

enum vq_status vq_record_read_waiting(struct vq_span key, struct vq_span value,
                                      struct vq_span *ret_result)
{
    struct reader r;
    VQ_TRY(open_value(key, value, VQ_RECORD_WAITING, &r));
    *ret_result = take_text(&r);
    return close_value(&r);
}

enum vq_status vq_record_read_batch(struct vq_span key, struct vq_span value,
                                    struct vq_batch_report *ret_said)
{
    struct reader r;
    VQ_TRY(open_value(key, value, VQ_RECORD_BATCH, &r));
    *ret_said = (struct vq_batch_report){.about = {.state = (uint8_t)take_number(&r, 1),
                                                   .calls = (uint32_t)take_number(&r, 4),
                                                   .ended = (uint32_t)take_number(&r, 4)}};
    ret_said->about.name = take_text(&r);
    ret_said->about.pool = take_text(&r);
    ret_said->about.id = take_text(&r);
    if (value.at[0] >= VQ_RECORD_BATCH_VERSION) {
        take_bytes(&r, ret_said->owner.b, VQ_ID_BYTES);
    }
    return close_value(&r);
}
