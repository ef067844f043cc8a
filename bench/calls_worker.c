/* A worker's whole path without a coordinator on the wire: core, rendering, request hash, HTTP
 * client, reading the response, verdict, and with SPOOL_DIR the spool. A substitute for the
 * coordinator in the same process leases and ACKs at once. usage: calls-worker URL IN_FLIGHT
 * SECONDS [SPOOL_DIR] */
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/judge/template.h"
#include "proto/spool.h"
#include "proto/wire.h"
#include "worker/core/work.h"
#include "worker/shell/caller.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define AXES       10u
#define TEXT_BYTES 600

struct bench {
    struct vq_loop *loop;
    struct vq_timer *timer, *end;
    struct vq_caller *caller;
    struct vq_keyring *keys;
    struct vq_work *work;
    struct vq_spool *spool;
    const char *url;
    uint32_t in_flight;
    uint64_t session, shard, credit, calls, failed;
    int64_t stamp_ns, timer_ns;
    struct vq_id acks[1024];
    uint32_t acks_count;
    bool credit_came, replies;
};

static void step(struct bench *b, struct vq_work_event event);

static void die(const char *what)
{
    (void)fprintf(stderr, "calls-worker: %s\n", what);
    exit(1);
}

static void need(enum vq_status status, const char *what)
{
    if (status != VQ_OK) {
        die(what);
    }
}

static void message(struct bench *b, struct vq_msg msg)
{
    step(b, (struct vq_work_event){.type = VQ_WORK_MESSAGE, .u.message = &msg});
}

static void welcome(struct bench *b)
{
    struct vq_spec_axis axes[AXES];
    for (uint32_t i = 0; i < AXES; i++) {
        axes[i] =
            (struct vq_spec_axis){vq_span_str("length"), vq_span_str("short"), vq_span_str("long")};
    }
    static const uint32_t pool_index;
    struct vq_spec_judge judge = {.name = vq_span_str("bench"),
                                  .model = vq_span_str("bench"),
                                  .dialect = vq_span_str("openai"),
                                  .identity = vq_span_str("bench"),
                                  .max_tokens_field = vq_span_str("max_tokens"),
                                  .max_tokens = 200,
                                  .seed = -1,
                                  .tries_max = 5,
                                  .pools = &pool_index,
                                  .pools_count = 1};
    struct vq_spec_pool pool = {.name = vq_span_str("bench"),
                                .dialect = vq_span_str("openai"),
                                .base_url = vq_span_str(b->url),
                                .model = vq_span_str("bench"),
                                .window_ms = 60000};
    struct vq_spec spec = {.judge_template = vq_template_builtin(VQ_TEMPLATE_JUDGE),
                           .axes = axes,
                           .axes_count = AXES,
                           .judges = &judge,
                           .judges_count = 1,
                           .pools = &pool,
                           .pools_count = 1};
    struct vq_buf body;
    struct vq_hash hash = {{1}};
    vq_buf_init(&body, VQ_FRAME_BYTES_MAX);
    need(vq_spec_encode(&spec, &body), "no memory");
    message(b, (struct vq_msg){.type = VQ_MSG_WELCOME,
                               .u.welcome = {.session = 1,
                                             .epoch = 1,
                                             .stamp_ns = b->stamp_ns,
                                             .spec = hash,
                                             .term_ms = 3600000,
                                             .heartbeat_ms = 600000}});
    message(b, (struct vq_msg){.type = VQ_MSG_SPEC, .u.spec = {1, hash, vq_buf_span(&body)}});
    vq_buf_free(&body);
    struct vq_slice slice = {.concurrency = b->in_flight,
                             .day_requests_most = UINT64_MAX,
                             .day_tokens_most = UINT64_MAX};
    message(b, (struct vq_msg){.type = VQ_MSG_GRANT,
                               .u.grant = {.session = 1,
                                           .n = 1,
                                           .spend_most = UINT64_MAX,
                                           .slices = &slice,
                                           .slices_count = 1}});
}

/* Leases whole shards while the worker's credit lasts. */
static void lease(struct bench *b)
{
    static char text[TEXT_BYTES];
    memset(text, 'w', sizeof(text));
    for (size_t i = 5; i < sizeof(text); i += 6) {
        text[i] = ' ';
    }
    struct vq_work_stats stats;
    vq_work_stats(b->work, &stats);
    while (stats.asks_open + 2 * AXES <= b->credit) {
        struct vq_ask asks[2 * AXES];
        for (uint32_t i = 0; i < 2 * AXES; i++) {
            asks[i] = (struct vq_ask){
                .task = b->shard * 2 * AXES + i, .vibe = i / 2, .order = (uint8_t)(i % 2)};
        }
        message(b, (struct vq_msg){.type = VQ_MSG_SAMPLE,
                                   .u.sample = {1, b->shard, vq_span(text, 60),
                                                vq_span(text, sizeof(text)),
                                                vq_span(text, sizeof(text))}});
        message(b, (struct vq_msg){.type = VQ_MSG_LEASE,
                                   .u.lease = {.session = 1,
                                               .shard = b->shard,
                                               .fence = {1, b->shard + 1},
                                               .stamp_ns = b->stamp_ns,
                                               .sample = b->shard,
                                               .asks = asks,
                                               .asks_count = 2 * AXES}});
        b->shard++;
        vq_work_stats(b->work, &stats);
    }
}

static void sent(struct bench *b, const struct vq_msg *msg)
{
    if (msg->type == VQ_MSG_HELLO) {
        b->stamp_ns = msg->u.hello.stamp_ns;
    } else if (msg->type == VQ_MSG_CREDIT) {
        b->credit = msg->u.credit.credits[0].tasks;
        b->credit_came = true;
        if (msg->u.credit.credits[0].state != VQ_POOL_OPEN) {
            die("the judge was closed");
        }
    } else if (msg->type == VQ_MSG_RESULTS) {
        for (uint32_t i = 0; i < msg->u.results.results_count; i++) {
            const struct vq_result *r = &msg->u.results.results[i];
            b->calls++;
            b->failed += r->end == VQ_END_ANSWER && r->outcome == VQ_OUTCOME_FIRST ? 0 : 1;
            b->acks[b->acks_count++] = r->call;
        }
    }
}

static void on_key(void *ctx, const struct vq_work_key *key)
{
    step(ctx, (struct vq_work_event){.type = VQ_WORK_KEY, .u.key = key});
}

static void act(struct bench *b, const struct vq_work_action *action, bool *keys)
{
    struct vq_error err = {""};
    const struct vq_work_call *call = &action->u.call;
    if (action->type == VQ_WORK_SEND) {
        sent(b, &action->u.message);
    } else if (action->type == VQ_WORK_KEYS) {
        *keys = true;
    } else if (action->type == VQ_WORK_CALL) {
        need(vq_caller_start(b->caller, call, vq_clock_unix_ms()), "a call does not start");
    } else if (action->type == VQ_WORK_SPOOL_SENT) {
        struct vq_result result = {.call = call->id,
                                   .shard = call->shard,
                                   .fence = call->fence,
                                   .task = call->task,
                                   .request = call->request,
                                   .tries = call->tries};
        need(vq_spool_sent(b->spool, &result, &err), err.text);
    } else if (action->type == VQ_WORK_SPOOL_ANSWER) {
        need(vq_spool_answer(b->spool, action->u.result, &err), err.text);
    } else if (action->type == VQ_WORK_SPOOL_WRITE) {
        need(vq_spool_write(b->spool, &err), err.text);
    } else if (action->type == VQ_WORK_SPOOL_ACKED) {
        need(vq_spool_acked(b->spool, &action->u.id, &err), err.text);
    } else if (action->type == VQ_WORK_EXIT) {
        die("the core left");
    }
}

static void take_actions(struct bench *b)
{
    struct vq_work_action action;
    bool keys = false;
    b->replies = false;
    while (vq_work_next(b->work, &action)) {
        act(b, &action, &keys);
    }
    if (keys) {
        need(vq_caller_pools(b->caller, vq_work_spec(b->work)), "no memory");
    }
    while (b->acks_count > 0) {
        struct vq_msg ack = {.type = VQ_MSG_ACK, .u.ack = {1, b->acks, b->acks_count}};
        b->acks_count = 0;
        message(b, ack);
    }
}

static void step(struct bench *b, struct vq_work_event event)
{
    if (b->replies) {
        take_actions(b);
    }
    need(vq_work_step(b->work, vq_clock_mono_ns(), &event), "no memory");
    take_actions(b);
}

/* Like the worker: the replies of a turn are processed together. */
static void on_reply(void *ctx, const struct vq_work_reply *reply)
{
    struct bench *b = ctx;
    struct vq_work_event event = {.type = VQ_WORK_REPLY, .u.reply = reply};
    need(vq_work_step(b->work, vq_clock_mono_ns(), &event), "no memory");
    b->replies = true;
}

static void on_timer(void *ctx)
{
    ((struct bench *)ctx)->timer_ns = 0;
    step(ctx, (struct vq_work_event){.type = VQ_WORK_TICK});
}

static void on_turn(void *ctx)
{
    struct bench *b = ctx;
    if (b->replies) {
        take_actions(b);
    }
    if (b->credit_came) {
        lease(b);
    }
    int64_t wake = vq_work_wake_ns(b->work);
    if (wake == INT64_MAX || wake == b->timer_ns) {
        return;
    }
    b->timer_ns = wake;
    int64_t left = wake - vq_clock_mono_ns();
    vq_timer_start(b->timer, left <= 0 ? 0 : (uint64_t)(left / VQ_NS_PER_MS) + 1, 0);
}

static void on_end(void *ctx)
{
    vq_loop_stop(((struct bench *)ctx)->loop);
}

int main(int argc, char **argv)
{
    static struct bench b;
    static struct vq_worker_options options = {.local = -1};
    struct vq_error err = {""};
    if (argc < 4) {
        (void)fprintf(stderr, "usage: calls-worker URL IN_FLIGHT SECONDS [SPOOL_DIR]\n");
        return 2;
    }
    b.url = argv[1];
    b.in_flight = (uint32_t)atoi(argv[2]);
    (void)vq_loop_raise_files();
    struct vq_work_options work = {.worker = {{1}}, .local = -1, .has_spool = argc > 4};
    need(vq_work_create(&work, &b.work), "no memory");
    if (argc > 4) {
        struct vq_spool_held *held = NULL;
        need(vq_spool_open(argv[4], &work.worker, &work.worker, &b.spool, &held, &err), err.text);
        vq_spool_held_destroy(&held);
    }
    need(vq_loop_create(&b.loop, &err), err.text);
    need(vq_timer_create(b.loop, on_timer, &b, &b.timer), "no memory");
    need(vq_timer_create(b.loop, on_end, &b, &b.end), "no memory");
    need(vq_keyring_create(&options, &b.keys), "no memory");
    struct vq_caller_options caller = {.loop = b.loop,
                                       .keys = b.keys,
                                       .calls_max = b.in_flight,
                                       .reply = on_reply,
                                       .key = on_key,
                                       .ctx = &b};
    need(vq_caller_create(&caller, &b.caller, &err), err.text);
    vq_loop_on_turn(b.loop, on_turn, &b);
    step(&b, (struct vq_work_event){.type = VQ_WORK_CONNECTED});
    int64_t from = vq_clock_mono_ns();
    welcome(&b);
    vq_timer_start(b.end, (uint64_t)(atof(argv[3]) * 1000), 0);
    vq_loop_again(b.loop);
    need(vq_loop_run(b.loop), "the loop failed");
    double seconds = (double)(vq_clock_mono_ns() - from) / 1e9;
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    double cpu = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                 (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    (void)printf("%.0f %.2f %llu\n", (double)b.calls / seconds,
                 cpu * 1e6 / (double)(b.calls > 0 ? b.calls : 1), (unsigned long long)b.failed);
    return 0; /* the system frees the rest */
}
