/* Reads SPEC, SAMPLE and LEASEs from a file, makes each LEASE's ask as one call, and prints its
 * result. Invariant: one line per LEASE, even if its call could not be sent. Everything that
 * vq_worker_check makes is freed when it returns. Not its job: the call (caller.c), verdicts (the
 * program that reads the lines has the answer), retries, limits, the spool. */
#include "worker/shell/check.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/text/file.h"
#include "common/text/json.h"
#include "worker/core/limits.h"
#include "worker/shell/caller.h"

#include <stdio.h>

#define LINE_BYTES_MAX   (8u << 20) /* an answer of VQ_ANSWER_BYTES_MAX, escaped */
#define FRAME_HEAD_BYTES 4u
#define LEFTOVER_MS      1000u /* after the last call's own deadline */
#define WAIT_MS_MAX      UINT64_C(3600000)

struct check {
    struct vq_decoder *decoder, *sample_decoder;
    struct vq_work_spec *spec;
    struct vq_sample sample; /* borrows from sample_decoder and the file's bytes */
    struct vq_work_call calls[VQ_WORK_JUDGES_MAX];
    uint32_t calls_count;
    enum vq_pool_state states[VQ_WIRE_POOLS_MAX];
    char why[VQ_WIRE_POOLS_MAX][VQ_ERROR_BYTES_MAX];
    struct vq_keyring *keyring;
    struct vq_loop *loop;
    struct vq_caller *caller;
    uint32_t open; /* calls in flight */
    enum vq_status status;
};

/* ---- the file ---- */

static bool take_frame(struct vq_span *rest, struct vq_span *ret_frame)
{
    if (rest->bytes < FRAME_HEAD_BYTES) {
        return false;
    }
    const unsigned char *head = (const unsigned char *)rest->at;
    size_t bytes =
        (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | (size_t)head[3];
    const char *frame = rest->at + FRAME_HEAD_BYTES;
    size_t left = rest->bytes - FRAME_HEAD_BYTES;
    if (bytes > left) {
        return false;
    }
    *ret_frame = vq_span(frame, bytes);
    *rest = vq_span(frame + bytes, left - bytes);
    return true;
}

static enum vq_status next_message(struct vq_span *rest, struct vq_decoder *decoder,
                                   enum vq_msg_type type, struct vq_msg *ret_msg,
                                   struct vq_error *err)
{
    struct vq_span frame;
    if (!take_frame(rest, &frame)) {
        return vq_fail(err, VQ_INVALID, "the file of the check ends too early");
    }
    VQ_TRY(vq_msg_decode(decoder, frame, VQ_TO_WORKER, ret_msg, err));
    if (ret_msg->type != type) {
        return vq_fail(err, VQ_INVALID, "the file of the check has %s where %s belongs",
                       vq_msg_name(ret_msg->type), vq_msg_name(type));
    }
    return VQ_OK;
}

/* The call's id contains its index, after random bytes. */
static void add_call(struct check *c, const struct vq_msg_lease *lease)
{
    const struct vq_ask *ask = &lease->asks[0];
    struct vq_work_call *call = &c->calls[c->calls_count];
    *call = (struct vq_work_call){.judge = lease->judge,
                                  .vibe = ask->vibe,
                                  .order = ask->order,
                                  .kind = VQ_CALL_ASK,
                                  .asker = &c->spec->judges[lease->judge].asker,
                                  .sample = &c->sample,
                                  .axis = &c->spec->axes[ask->vibe]};
    vq_random_bytes(call->id.b, sizeof(call->id.b));
    call->id.b[VQ_ID_BYTES - 2] = (uint8_t)(c->calls_count >> 8);
    call->id.b[VQ_ID_BYTES - 1] = (uint8_t)(c->calls_count & 0xFF);
    c->calls_count++;
}

static uint32_t index_of(const struct vq_id *id)
{
    return (uint32_t)id->b[VQ_ID_BYTES - 2] << 8 | id->b[VQ_ID_BYTES - 1];
}

static enum vq_status read_file(struct check *c, struct vq_span rest, struct vq_error *err)
{
    struct vq_msg msg;
    VQ_TRY(next_message(&rest, c->decoder, VQ_MSG_SPEC, &msg, err));
    VQ_TRY(vq_work_spec_create(msg.u.spec.body, &msg.u.spec.hash, &c->spec, err));
    VQ_TRY(next_message(&rest, c->sample_decoder, VQ_MSG_SAMPLE, &msg, err));
    c->sample = (struct vq_sample){.prompt = msg.u.sample.prompt,
                                   .a = msg.u.sample.a,
                                   .b = msg.u.sample.b,
                                   .image = msg.u.sample.image};
    while (rest.bytes > 0) {
        VQ_TRY(next_message(&rest, c->decoder, VQ_MSG_LEASE, &msg, err));
        const struct vq_msg_lease *lease = &msg.u.lease;
        if (c->calls_count == VQ_WORK_JUDGES_MAX || lease->judge >= c->spec->judges_count ||
            lease->asks_count != 1 || lease->asks[0].vibe >= c->spec->axes_count) {
            return vq_fail(err, VQ_INVALID,
                           "the file of the check asks for what its SPEC does not have");
        }
        add_call(c, lease);
    }
    return VQ_OK;
}

/* ---- one line of JSON ---- */

static const char *end_name(const struct vq_work_reply *reply)
{
    if (reply->end != VQ_END_CLOSED) {
        return vq_call_end_word(reply->end);
    }
    switch (reply->pool) {
    case VQ_POOL_NO_KEY: return "no_key";
    case VQ_POOL_BAD_KEY: return "bad_key";
    case VQ_POOL_NO_MONEY: return "no_money";
    case VQ_POOL_NO_MODEL: return "no_model";
    case VQ_POOL_OPEN: break;
    }
    return "closed";
}

/* 0: not reported */
static void put_count(struct vq_json *j, const char *key, uint64_t value)
{
    vq_json_put_known(j, key, value != 0, (int64_t)value);
}

static void put_text(struct vq_json *j, const char *key, struct vq_span text)
{
    vq_json_key(j, key);
    if (text.bytes == 0) {
        vq_json_null(j);
    } else {
        vq_json_span(j, text);
    }
}

static void write_line(const struct vq_work_reply *r, const struct vq_work_call *call,
                       struct vq_buf *out)
{
    struct vq_json json, *j = &json;
    vq_json_open(j, out, 0);
    vq_json_put_u64(j, "judge", call->judge);
    vq_json_put_span(j, "pool", call->pool_name);
    vq_json_put_str(j, "end", end_name(r));
    put_count(j, "http_status", r->http_status);
    vq_json_put_bool(j, "refusal", r->refusal);
    put_text(j, "answer", r->answer);
    put_text(j, "finish_reason", r->finish_reason);
    put_text(j, "model", r->model);
    put_count(j, "tokens_in", r->tokens_in);
    put_count(j, "tokens_out", r->tokens_out);
    vq_json_put_u64(j, "latency_ms", r->latency_ms);
    put_text(j, "error", r->error);
    vq_json_close(j);
}

static void say(struct check *c, const struct vq_work_reply *reply, const struct vq_work_call *call)
{
    struct vq_buf line;
    vq_buf_init(&line, LINE_BYTES_MAX);
    write_line(reply, call, &line);
    enum vq_status status = line.status;
    if (status == VQ_OK &&
        (fwrite(line.at, 1, line.bytes, stdout) != line.bytes || fflush(stdout) != 0)) {
        status = VQ_IO;
    }
    vq_buf_free(&line);
    c->status = c->status == VQ_OK ? status : c->status;
}

/* ---- the calls ---- */

static void on_key(void *ctx, const struct vq_work_key *key)
{
    struct check *c = ctx;
    c->states[key->pool] = key->state;
    (void)snprintf(c->why[key->pool], sizeof(c->why[key->pool]), "%.*s", (int)key->text.bytes,
                   key->text.bytes > 0 ? key->text.at : "");
}

static void on_reply(void *ctx, const struct vq_work_reply *reply)
{
    struct check *c = ctx;
    struct vq_work_call *call = &c->calls[index_of(&reply->call)];
    /* like a run: one more call without the parameter, one at a time */
    if (reply->params_refused != 0) {
        call->params_refused |= reply->params_refused;
        enum vq_status status = vq_caller_start(c->caller, call, vq_clock_unix_ms());
        c->status = c->status == VQ_OK ? status : c->status;
        return;
    }
    say(c, reply, call);
    c->open--;
}

/* The first open pool of the judge; if there is none, its first pool. */
static uint32_t pool_of(const struct check *c, uint32_t judge)
{
    const struct vq_work_judge *j = &c->spec->judges[judge];
    for (uint32_t i = 0; i < j->pools_count; i++) {
        if (c->states[j->pools[i]] == VQ_POOL_OPEN) {
            return j->pools[i];
        }
    }
    return j->pools[0];
}

static enum vq_status start_calls(struct check *c)
{
    for (uint32_t i = 0; i < c->calls_count; i++) {
        struct vq_work_call *call = &c->calls[i];
        call->pool = pool_of(c, call->judge);
        call->pool_name = vq_span_str(c->spec->pools[call->pool].name);
        call->tier = c->spec->pools[call->pool].service_tier;
        if (c->states[call->pool] != VQ_POOL_OPEN) {
            struct vq_work_reply closed = {.end = VQ_END_CLOSED,
                                           .pool = c->states[call->pool],
                                           .error = vq_span_str(c->why[call->pool])};
            say(c, &closed, call);
            continue;
        }
        VQ_TRY(vq_caller_start(c->caller, call, vq_clock_unix_ms()));
        c->open++;
    }
    return VQ_OK;
}

static bool all_ended(void *ctx)
{
    const struct check *c = ctx;
    return c->open == 0 || c->status != VQ_OK;
}

/* Each call has its deadline; no wait may be longer. */
static uint32_t wait_ms(const struct check *c)
{
    uint64_t longest = VQ_HTTP_TOTAL_MS;
    for (uint32_t i = 0; i < c->spec->pools_count; i++) {
        uint64_t ms = c->spec->pools[i].total_timeout_ms;
        longest = ms > longest ? ms : longest;
    }
    return (uint32_t)((longest < WAIT_MS_MAX ? longest : WAIT_MS_MAX) + LEFTOVER_MS);
}

static enum vq_status make_calls(struct check *c, struct vq_error *err)
{
    VQ_TRY(vq_loop_create(&c->loop, err));
    struct vq_caller_options options = {.loop = c->loop,
                                        .keys = c->keyring,
                                        .calls_max = VQ_WORK_JUDGES_MAX,
                                        .reply = on_reply,
                                        .key = on_key,
                                        .ctx = c};
    VQ_TRY(vq_caller_create(&options, &c->caller, err));
    VQ_TRY(vq_caller_pools(c->caller, c->spec));
    VQ_TRY(start_calls(c));
    VQ_TRY(vq_loop_run_until(c->loop, all_ended, c, wait_ms(c)));
    return c->status;
}

static void free_all(struct check *c)
{
    vq_caller_destroy(&c->caller);
    vq_loop_destroy(&c->loop);
    vq_keyring_destroy(&c->keyring);
    vq_work_spec_destroy(&c->spec);
    vq_decoder_destroy(&c->decoder);
    vq_decoder_destroy(&c->sample_decoder);
    vq_free(c);
}

enum vq_status vq_worker_check(const struct vq_worker_options *options, struct vq_error *err)
{
    struct vq_worker_options here = *options;
    here.local = 0;
    struct vq_buf bytes;
    VQ_TRY(vq_file_read(options->check, VQ_CHECK_FILE_BYTES_MAX, &bytes, err));
    struct check *c = vq_alloc(1, sizeof(*c));
    if (c == NULL) {
        vq_buf_free(&bytes);
        return VQ_NOMEM;
    }
    enum vq_status status = vq_decoder_create(&c->decoder);
    if (status == VQ_OK) {
        status = vq_decoder_create(&c->sample_decoder);
    }
    if (status == VQ_OK) {
        status = vq_keyring_create(&here, &c->keyring);
    }
    if (status == VQ_OK) {
        status = vq_keyring_load(c->keyring, err);
    }
    if (status == VQ_OK) {
        status = read_file(c, vq_buf_span(&bytes), err);
    }
    if (status == VQ_OK) {
        status = make_calls(c, err);
    }
    free_all(c);
    vq_buf_free(&bytes);
    return status;
}
