/* A worker's core on the bench: a coordinator, a shell and an endpoint that do as a test says, in
 * fake time. What the core did is kept: `log` has one letter an action, in order. */
#pragma once

#include "tests/unit/test.h"

#include "proto/pool.h"
#include "proto/wire.h"
#include "worker/core/limits.h"
#include "worker/core/work.h"

#include <stdio.h>
#include <string.h>

#define RIG_MAX     4096
#define RIG_TERM_MS 3000
#define RIG_BEAT_MS 500
#define RIG_MS      INT64_C(1000000)

struct rig_result {
    struct vq_result r; /* its texts are gone */
    char answer[64];
};

struct rig {
    struct vq_work *w;
    int64_t now;
    uint64_t session, epoch;
    uint32_t judges, axes;
    struct vq_hash spec_hash;
    enum vq_stage_kind kind;
    uint32_t stage;
    const char *model; /* of judge-0; NULL: m0 */
    struct vq_id run;
    bool repair, truncate;
    enum vq_prefix_cache prefix_cache;
    bool context_strict;
    size_t prompt_bytes; /* so long, at least */
    uint32_t tries_max;
    /* pools: one for each judge, unless the test says otherwise */
    uint32_t pools;     /* 0: as many as judges */
    uint32_t serves[8]; /* by judge, a bit for each pool; 0: the one with its index */
    double input_usd[8], cached_usd[8], output_usd[8]; /* by pool; all 0: not priced */
    const char *tier[8];                               /* by pool; NULL: none */
    uint32_t batch_calls[8];                           /* 0: it is no batch pool */
    double tier_price[8];
    enum vq_pool_state key_state[8]; /* by pool */
    uint32_t key_count[8];           /* by pool; 0: 1 */
    bool hold_keys;
    struct vq_slice slices[8]; /* of the last GRANT */
    uint64_t spend_most, grant_n;
    /* what it did */
    char log[RIG_MAX];
    size_t log_bytes;
    struct vq_msg last[16]; /* by type, without their lists */
    uint32_t sent[16];
    /* in flight, in the order of starting; pointers are stale */
    struct vq_work_call calls[RIG_MAX];
    uint32_t calls_count;
    uint32_t calls_ever;
    struct rig_result results[RIG_MAX]; /* sent, in order; resent ones again */
    uint32_t results_count;
    struct vq_held_lease leases[RIG_MAX]; /* of the last HELD or HEARTBEAT */
    struct vq_held_call held[RIG_MAX];
    struct vq_credit credits[8];
    struct vq_pool_report reports[8]; /* without their texts */
    uint64_t returned[RIG_MAX];       /* tasks given back by name */
    uint32_t returned_count;
    uint32_t returned_whole;
    uint32_t wanted_at_return; /* tasks of judge 0, as the CREDIT before the last CANCEL said */
    uint32_t spool_sent, spool_answer, spool_acked, keys, reconnects, notes;
    uint32_t anew, collects;
    char note[256];     /* the last one */
    uint32_t unwritten; /* notes since the last write */
    size_t last_system_bytes;
    int exit_code; /* -1: none */
};

static VQ_UNUSED void rig_step(struct rig *rig, struct vq_work_event event);

static VQ_UNUSED uint32_t rig_pools(const struct rig *rig)
{
    return rig->pools == 0 ? rig->judges : rig->pools;
}

static VQ_UNUSED void rig_key(struct rig *rig, uint32_t pool, const char *text)
{
    uint64_t keys[8];
    struct vq_work_key key = {
        .pool = pool, .state = rig->key_state[pool], .keys = keys, .text = vq_span_str(text)};
    while (key.state == VQ_POOL_OPEN && key.keys_count < rig->key_count[pool]) {
        keys[key.keys_count] = (pool + 1) * 100 + key.keys_count;
        key.keys_count++;
    }
    rig_step(rig, (struct vq_work_event){.type = VQ_WORK_KEY, .u.key = &key});
}

static VQ_UNUSED void rig_keys(struct rig *rig)
{
    for (uint32_t p = 0; p < rig_pools(rig); p++) {
        rig_key(rig, p, rig->key_state[p] == VQ_POOL_OPEN ? "" : "no key");
    }
}

static VQ_UNUSED void rig_sent(struct rig *rig, const struct vq_msg *msg)
{
    static const char letters[] = "?hwshcsLRaGX!dbBK"; /* by message type */
    /* every message it sends can be encoded and read back by the other side */
    struct vq_buf frame;
    vq_buf_init(&frame, VQ_FRAME_BYTES_MAX);
    assert_int_equal(vq_msg_encode(msg, &frame), VQ_OK);
    struct vq_decoder *decoder = NULL;
    struct vq_msg back;
    struct vq_error err = {""};
    assert_int_equal(vq_decoder_create(&decoder), VQ_OK);
    if (vq_msg_decode(decoder, vq_buf_span(&frame), VQ_TO_COORDINATOR, &back, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    vq_decoder_destroy(&decoder);
    vq_buf_free(&frame);

    rig->log[rig->log_bytes++] = msg->type == VQ_MSG_HELLO       ? 'H'
                                 : msg->type == VQ_MSG_HELD      ? 'h'
                                 : msg->type == VQ_MSG_HEARTBEAT ? '!'
                                                                 : letters[msg->type];
    rig->last[msg->type] = *msg;
    rig->sent[msg->type]++;
    if (msg->type == VQ_MSG_HELD || msg->type == VQ_MSG_HEARTBEAT) {
        assert_true(msg->u.held.leases_count < RIG_MAX && msg->u.held.calls_count < RIG_MAX);
        for (uint32_t i = 0; i < msg->u.held.leases_count; i++) {
            rig->leases[i] = msg->u.held.leases[i];
        }
        for (uint32_t i = 0; i < msg->u.held.calls_count; i++) {
            rig->held[i] = msg->u.held.calls[i];
        }
    } else if (msg->type == VQ_MSG_CREDIT) {
        for (uint32_t i = 0; i < msg->u.credit.credits_count && i < 8; i++) {
            rig->credits[i] = msg->u.credit.credits[i];
        }
        for (uint32_t i = 0; i < msg->u.credit.reports_count && i < 8; i++) {
            rig->reports[i] = msg->u.credit.reports[i];
        }
    } else if (msg->type == VQ_MSG_RESULTS) {
        for (uint32_t i = 0; i < msg->u.results.results_count; i++) {
            assert_true(rig->results_count < RIG_MAX);
            struct rig_result *keep = &rig->results[rig->results_count++];
            keep->r = msg->u.results.results[i];
            (void)snprintf(keep->answer, sizeof(keep->answer), "%.*s", (int)keep->r.answer.bytes,
                           keep->r.answer.at);
        }
    } else if (msg->type == VQ_MSG_CANCEL) {
        assert_int_equal(msg->u.cancel.reason, VQ_CANCEL_RETURNED);
        rig->returned_whole += msg->u.cancel.tasks_count == 0 ? 1 : 0;
        rig->wanted_at_return = rig->credits[0].tasks;
        for (uint32_t i = 0; i < msg->u.cancel.tasks_count; i++) {
            rig->returned[rig->returned_count++] = msg->u.cancel.tasks[i];
        }
    }
}

static VQ_UNUSED void rig_call(struct rig *rig, const struct vq_work_call *call)
{
    assert_true(rig->calls_count < RIG_MAX);
    /* it can be rendered while the action is taken */
    struct vq_buf system, user;
    vq_buf_init(&system, VQ_SAMPLE_BYTES_MAX);
    vq_buf_init(&user, VQ_SAMPLE_BYTES_MAX);
    if (call->kind == VQ_CALL_ASK) {
        assert_int_equal(vq_request_render(call->asker, call->sample, call->axis, call->order,
                                           call->output_bytes_max, &system, &user),
                         VQ_OK);
    } else {
        assert_int_equal(vq_repair_render(call->asker, call->answer, &system, &user), VQ_OK);
    }
    rig->last_system_bytes = user.bytes;
    vq_buf_free(&system);
    vq_buf_free(&user);
    rig->calls[rig->calls_count++] = *call;
    rig->calls_ever++;
}

static VQ_UNUSED void rig_take(struct rig *rig)
{
    struct vq_work_action action;
    bool keys = false;
    while (vq_work_next(rig->w, &action)) {
        assert_true(rig->log_bytes + 2 < sizeof(rig->log));
        assert_int_equal(rig->exit_code, -1); /* nothing after EXIT */
        switch (action.type) {
        case VQ_WORK_SEND: rig_sent(rig, &action.u.message); break;
        case VQ_WORK_RECONNECT:
            rig->reconnects++;
            rig->log[rig->log_bytes++] = '~';
            break;
        case VQ_WORK_KEYS:
            rig->keys++;
            keys = true;
            break;
        case VQ_WORK_SPOOL_SENT:
            rig->spool_sent++;
            rig->unwritten++;
            rig->log[rig->log_bytes++] = 's';
            break;
        case VQ_WORK_SPOOL_WRITE:
            assert_true(rig->unwritten > 0);
            rig->unwritten = 0;
            rig->log[rig->log_bytes++] = 'w';
            break;
        case VQ_WORK_CALL:
            assert_int_equal(rig->unwritten,
                             0); /* SENT stands in the spool before the call goes out */
            assert_true(action.u.call.until_ns > rig->now); /* and within its lease's term */
            rig_call(rig, &action.u.call);
            rig->log[rig->log_bytes++] = 'C';
            break;
        case VQ_WORK_GATHER: /* nothing goes out: no SENT, no term */
            rig_call(rig, &action.u.call);
            rig->log[rig->log_bytes++] = 'g';
            break;
        case VQ_WORK_GATHERED: rig->log[rig->log_bytes++] = 'G'; break;
        case VQ_WORK_BATCHES_RESTART: rig->anew++; break;
        case VQ_WORK_COLLECT:
            rig->collects++;
            (void)snprintf(rig->note, sizeof(rig->note), "%.*s", (int)action.u.collect->name.bytes,
                           action.u.collect->name.at);
            break;
        case VQ_WORK_SPOOL_UNSENT:
        case VQ_WORK_SPOOL_ANSWER:
            assert_int_equal(action.u.result->outcome, VQ_OUTCOME_NONE);
            assert_false(action.u.result->final);
            rig->spool_answer++;
            rig->unwritten++;
            rig->log[rig->log_bytes++] = 'n';
            break;
        case VQ_WORK_SPOOL_ACKED:
            rig->spool_acked++;
            rig->log[rig->log_bytes++] = 'k';
            break;
        case VQ_WORK_NOTE:
            assert_true(strlen(action.u.note.text) > 0);
            rig->notes++;
            (void)snprintf(rig->note, sizeof(rig->note), "%s", action.u.note.text);
            break;
        case VQ_WORK_EXIT:
            rig->exit_code = (int)action.u.exit_code;
            rig->log[rig->log_bytes++] = 'E';
            break;
        }
        rig->log[rig->log_bytes] = '\0';
    }
    if (keys && !rig->hold_keys) {
        rig_keys(rig);
    }
}

static VQ_UNUSED void rig_step(struct rig *rig, struct vq_work_event event)
{
    assert_int_equal(vq_work_step(rig->w, rig->now, &event), VQ_OK);
    rig_take(rig);
    assert_int_equal(vq_work_status(rig->w), VQ_OK);
}

static VQ_UNUSED void rig_forget(struct rig *rig)
{
    rig->log_bytes = 0;
    rig->log[0] = '\0';
    rig->results_count = 0;
    rig->returned_count = 0;
    rig->returned_whole = 0;
}

static VQ_UNUSED void rig_message(struct rig *rig, struct vq_msg msg)
{
    rig_step(rig, (struct vq_work_event){.type = VQ_WORK_MESSAGE, .u.message = &msg});
}

/* Lets time pass, with ticks when the core asks for them. */
static VQ_UNUSED void rig_wait(struct rig *rig, int64_t ms)
{
    int64_t until = rig->now + ms * RIG_MS;
    uint32_t ticks = 0;
    while (rig->exit_code < 0) {
        int64_t wake = vq_work_wake_ns(rig->w);
        if (wake > until) {
            break;
        }
        assert_true(++ticks < 200000); /* it never asks for ticks without end */
        rig->now = wake > rig->now ? wake : rig->now;
        rig_step(rig, (struct vq_work_event){.type = VQ_WORK_TICK});
    }
    rig->now = until;
}

static VQ_UNUSED void rig_init(struct rig *rig, uint32_t judges, uint32_t axes)
{
    memset(rig, 0, sizeof(*rig));
    rig->now = 5000 * RIG_MS;
    rig->session = 70;
    rig->epoch = 3;
    rig->judges = judges;
    rig->axes = axes;
    rig->repair = true;
    rig->tries_max = 3;
    rig->exit_code = -1;
    rig->spend_most = VQ_AMOUNT_ANY;
    for (uint32_t p = 0; p < 8; p++) {
        rig->key_count[p] = 1;
        rig->slices[p] = (struct vq_slice){
            .pool = p, .day_requests_most = VQ_AMOUNT_ANY, .day_tokens_most = VQ_AMOUNT_ANY};
    }
    memset(rig->run.b, 0x52, VQ_ID_BYTES);
    memset(rig->spec_hash.b, 0x11, VQ_HASH_BYTES);
}

static VQ_UNUSED void rig_create(struct rig *rig, struct vq_work_options options)
{
    memset(options.worker.b, 0xab, VQ_ID_BYTES);
    options.name = "rig";
    assert_int_equal(vq_work_create(&options, &rig->w), VQ_OK);
}

static VQ_UNUSED void rig_spec_pools(const struct rig *rig, struct vq_spec_pool pools[8])
{
    static const char *const names[] = {"pool-0", "pool-1", "pool-2", "pool-3",
                                        "pool-4", "pool-5", "pool-6", "pool-7"};
    for (uint32_t p = 0; p < rig_pools(rig); p++) {
        pools[p] = (struct vq_spec_pool){
            .name = vq_span_str(names[p]),
            .dialect = vq_span_str("openai"),
            .base_url = vq_span_str("http://127.0.0.1:1/v1"),
            .model = vq_span_str(rig->model != NULL ? rig->model : "m"),
            .priced = rig->input_usd[p] + rig->output_usd[p] > 0,
            .input_usd = rig->input_usd[p],
            .cached_usd = rig->cached_usd[p],
            .written_usd = rig->input_usd[p],
            .output_usd = rig->output_usd[p],
            .service_tier = vq_span_str(rig->tier[p] == NULL ? "" : rig->tier[p]),
            .tier_price = rig->tier_price[p],
            .tier_tries = 2,
            .batch_calls = rig->batch_calls[p],
            .batch_poll_ms = 60000};
    }
}

static VQ_UNUSED void rig_spec_body(const struct rig *rig, struct vq_buf *body)
{
    struct vq_spec_judge judges[8] = {{{0}}};
    struct vq_spec_axis axes[64] = {{{0}}};
    struct vq_spec_pool pools[8] = {{{0}}};
    uint32_t served[8][8];
    rig_spec_pools(rig, pools);
    for (uint32_t j = 0; j < rig->judges; j++) {
        judges[j] = (struct vq_spec_judge){.name = vq_span_str(j == 0 ? "judge-0" : "judge-1"),
                                           .model = vq_span_str(j > 0                ? "m1"
                                                                : rig->model != NULL ? rig->model
                                                                                     : "m0"),
                                           .dialect = vq_span_str("openai"),
                                           .identity = vq_span_str("127.0.0.1/v1"),
                                           .max_tokens_field = vq_span_str("max_tokens"),
                                           .max_tokens = 100,
                                           .seed = -1,
                                           .tries_max = rig->tries_max,
                                           .pools = served[j]};
        uint32_t serves = rig->serves[j] == 0 ? 1u << j : rig->serves[j];
        for (uint32_t p = 0; p < rig_pools(rig); p++) {
            if ((serves >> p & 1) != 0) {
                served[j][judges[j].pools_count++] = p;
            }
        }
    }
    for (uint32_t a = 0; a < rig->axes; a++) {
        axes[a] =
            (struct vq_spec_axis){vq_span_str("tone"), vq_span_str("cold"), vq_span_str("warm")};
    }
    enum vq_template_kind asked = rig->kind == VQ_STAGE_RANK     ? VQ_TEMPLATE_JUDGE
                                  : rig->kind == VQ_STAGE_PREFER ? VQ_TEMPLATE_PREFERENCE
                                                                 : VQ_TEMPLATE_AS_IS;
    struct vq_spec spec = {.kind = (uint8_t)rig->kind,
                           .stage = rig->stage,
                           .judge_template = vq_template_builtin(asked),
                           .truncate = rig->truncate,
                           .lazy_swap = true,
                           .prefix_cache = (uint8_t)rig->prefix_cache,
                           .context_strict = rig->context_strict,
                           .axes = axes,
                           .axes_count = rig->axes,
                           .judges = judges,
                           .judges_count = rig->judges,
                           .pools = pools,
                           .pools_count = rig_pools(rig)};
    if (rig->repair) {
        spec.repair_template = vq_template_builtin(VQ_TEMPLATE_REPAIR);
    }
    vq_buf_init(body, VQ_FRAME_BYTES_MAX);
    assert_int_equal(vq_spec_encode(&spec, body), VQ_OK);
}

static VQ_UNUSED void rig_welcome(struct rig *rig)
{
    rig->session++;
    rig_message(rig,
                (struct vq_msg){.type = VQ_MSG_WELCOME,
                                .u.welcome = {.session = rig->session,
                                              .epoch = rig->epoch,
                                              .run = rig->run,
                                              .run_name = vq_span_str("r"),
                                              .stamp_ns = rig->last[VQ_MSG_HELLO].u.hello.stamp_ns,
                                              .spec = rig->spec_hash,
                                              .term_ms = RIG_TERM_MS,
                                              .heartbeat_ms = RIG_BEAT_MS,
                                              .orphan_s = 60}});
}

static VQ_UNUSED void rig_spec(struct rig *rig)
{
    struct vq_buf body;
    rig_spec_body(rig, &body);
    rig_message(rig, (struct vq_msg){.type = VQ_MSG_SPEC,
                                     .u.spec = {rig->session, rig->spec_hash, vq_buf_span(&body)}});
    vq_buf_free(&body);
}

static VQ_UNUSED void rig_grant_n(struct rig *rig, uint64_t n)
{
    rig_message(rig, (struct vq_msg){.type = VQ_MSG_GRANT,
                                     .u.grant = {.session = rig->session,
                                                 .n = n,
                                                 .spend_most = rig->spend_most,
                                                 .slices = rig->slices,
                                                 .slices_count = rig_pools(rig)}});
}

/* The other pools' slices stay. */
static VQ_UNUSED void rig_grant(struct rig *rig, uint32_t pool, uint32_t concurrency, double rpm,
                                double tpm)
{
    rig->slices[pool].concurrency = concurrency;
    rig->slices[pool].rates = (struct vq_rates){.requests = rpm, .tokens = tpm};
    rig_grant_n(rig, ++rig->grant_n);
}

/* From nothing to CREDIT, each pool with this concurrency. */
static VQ_UNUSED void rig_open(struct rig *rig, uint32_t concurrency)
{
    rig_step(rig, (struct vq_work_event){.type = VQ_WORK_CONNECTED});
    rig_welcome(rig);
    rig_spec(rig);
    for (uint32_t p = 0; p < rig_pools(rig); p++) {
        rig->slices[p].concurrency = concurrency;
    }
    rig_grant_n(rig, ++rig->grant_n);
}

static VQ_UNUSED void rig_sample(struct rig *rig, uint64_t index)
{
    char prompt[8192];
    (void)snprintf(prompt, sizeof(prompt), "prompt %-*llu",
                   rig->prompt_bytes > 0 ? (int)rig->prompt_bytes : 1, (unsigned long long)index);
    rig_message(rig,
                (struct vq_msg){.type = VQ_MSG_SAMPLE,
                                .u.sample = {rig->session, index, vq_span_str(prompt),
                                             vq_span_str("one answer"), vq_span_str("another")}});
}

/* A lease of sample = shard / judges, judge = shard % judges, echoing the latest stamp; asks are
 * given. */
static VQ_UNUSED void rig_lease_asks(struct rig *rig, uint64_t shard, uint64_t n,
                                     const struct vq_ask *asks, uint32_t count)
{
    int64_t stamp = rig->last[VQ_MSG_HELLO].u.hello.stamp_ns;
    if (rig->sent[VQ_MSG_HEARTBEAT] > 0 && rig->last[VQ_MSG_HEARTBEAT].u.held.stamp_ns > stamp) {
        stamp = rig->last[VQ_MSG_HEARTBEAT].u.held.stamp_ns;
    }
    rig_message(rig, (struct vq_msg){.type = VQ_MSG_LEASE,
                                     .u.lease = {.session = rig->session,
                                                 .stage = rig->stage,
                                                 .shard = shard,
                                                 .fence = {rig->epoch, n},
                                                 .stamp_ns = stamp,
                                                 .sample = shard / rig->judges,
                                                 .judge = (uint32_t)(shard % rig->judges),
                                                 .asks = asks,
                                                 .asks_count = count}});
}

static VQ_UNUSED uint64_t rig_task(const struct rig *rig, uint64_t shard, uint32_t vibe,
                                   uint32_t order)
{
    return (shard * rig->axes + vibe) * 2 + order;
}

/* The sample and the whole shard: for each vibe order 0, then order 1 (lazily, if so). */
static VQ_UNUSED void rig_lease(struct rig *rig, uint64_t shard, uint64_t n, bool lazy)
{
    struct vq_ask asks[128];
    uint32_t count = 0;
    for (uint32_t v = 0; v < rig->axes; v++) {
        for (uint8_t o = 0; o < 2; o++) {
            asks[count++] = (struct vq_ask){
                .task = rig_task(rig, shard, v, o), .vibe = v, .order = o, .lazy = lazy && o == 1};
        }
    }
    rig_sample(rig, shard / rig->judges);
    rig_lease_asks(rig, shard, n, asks, count);
}

static VQ_UNUSED void rig_end(struct rig *rig, uint32_t i, struct vq_work_reply reply)
{
    assert_true(i < rig->calls_count);
    reply.call = rig->calls[i].id;
    memmove(&rig->calls[i], &rig->calls[i + 1], (rig->calls_count - i - 1) * sizeof(rig->calls[0]));
    rig->calls_count--;
    rig_step(rig, (struct vq_work_event){.type = VQ_WORK_REPLY, .u.reply = &reply});
}

static VQ_UNUSED void rig_answer(struct rig *rig, uint32_t i, const char *text)
{
    rig_end(rig, i,
            (struct vq_work_reply){.end = VQ_END_ANSWER,
                                   .retry_after_ms = -1,
                                   .http_status = 200,
                                   .tokens_in = 50,
                                   .tokens_out = 5,
                                   .answer = vq_span_str(text),
                                   .finish_reason = vq_span_str("stop")});
}

static VQ_UNUSED void rig_fail(struct rig *rig, uint32_t i, enum vq_call_end end,
                               int64_t retry_after_ms)
{
    rig_end(rig, i,
            (struct vq_work_reply){.end = end,
                                   .pool = VQ_POOL_BAD_KEY,
                                   .retry_after_ms = retry_after_ms,
                                   .http_status = 500,
                                   .error = vq_span_str("it said no")});
}

static VQ_UNUSED void rig_ack(struct rig *rig, uint32_t from, uint32_t count)
{
    struct vq_id ids[RIG_MAX];
    for (uint32_t i = 0; i < count; i++) {
        ids[i] = rig->results[from + i].r.call;
    }
    rig_message(rig, (struct vq_msg){.type = VQ_MSG_ACK, .u.ack = {rig->session, ids, count}});
}

static VQ_UNUSED void rig_echo(struct rig *rig)
{
    rig_message(
        rig, (struct vq_msg){.type = VQ_MSG_HEARTBEAT,
                             .u.held = {.session = rig->session,
                                        .stamp_ns = rig->last[VQ_MSG_HEARTBEAT].u.held.stamp_ns}});
}

static VQ_UNUSED void rig_cancel(struct rig *rig, uint64_t shard, uint64_t n, const uint64_t *tasks,
                                 uint32_t count)
{
    rig_message(rig, (struct vq_msg){
                         .type = VQ_MSG_CANCEL,
                         .u.cancel = {
                             rig->session, shard, {rig->epoch, n}, VQ_CANCEL_STALE, tasks, count}});
}

static VQ_UNUSED void rig_bye(struct rig *rig, enum vq_bye_code code)
{
    rig_message(rig,
                (struct vq_msg){.type = VQ_MSG_BYE,
                                .u.bye = {rig->session, (uint8_t)code, vq_span_str("because")}});
}

static VQ_UNUSED struct vq_work_stats rig_stats(const struct rig *rig)
{
    struct vq_work_stats stats;
    vq_work_stats(rig->w, &stats);
    return stats;
}
