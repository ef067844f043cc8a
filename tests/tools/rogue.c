/* A worker that is let in and keeps no rule: `vq-rogue JOIN_CERT SHARD_TASKS
 * [stranger|forge|cost|spent|park|list|batch NAME]`. It speaks without a session, for other
 * sessions, of tasks that it does not hold, again and again, of other stages and epochs, in frames
 * that are no messages, a hundred thousand times with its heart, and at last of a task that does
 * not exist. Its answers carry the word "canary". With "stranger" it has a key pair that is not
 * approved. With "forge" it only forges results. With "cost", "spent", "park" or "list" it says
 * one thing that cannot be, and nothing else. With "batch" it claims the batch NAME of another
 * worker, and then that a call of its own is part of it. Prints what it sent and what came back,
 * as one line of JSON. For tests/integration/test_hostile.py and test_distrust.py, which look at
 * the run beside it. */
#include "common/base/clock.h"
#include "common/base/hash.h"
#include "common/net/cert.h"
#include "common/net/loop.h"
#include "common/net/zsock.h"
#include "proto/pool.h"
#include "proto/result.h"
#include "proto/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TICK_MS        5
#define HEARTBEATS     100000
#define A_TICK         1000
#define STRAYS         50
#define FORGED         100
#define REPLAYS        4
#define GARBAGE        100
#define QUIET_TICKS    200
#define STRANGER_TICKS 300
#define LIE_TICKS      3000

struct rogue {
    struct vq_loop *loop;
    struct vq_dealer *dealer;
    struct vq_decoder *decoder;
    struct vq_timer *timer;
    struct vq_buf frame;
    uint64_t shard_tasks, session, epoch;
    unsigned ticks, beats, quiet;
    unsigned acks, byes, echoes, dropped, canceled;
    bool welcome, attacked, broke;
    const char *lie; /* NULL: none */
    const char *batch;
};

static void must(enum vq_status status, const char *what)
{
    if (status != VQ_OK) {
        (void)fprintf(stderr, "rogue: %s: %s\n", what, vq_status_text(status));
        exit(1);
    }
}

static void send(struct rogue *r, const struct vq_msg *msg)
{
    vq_buf_clear(&r->frame);
    must(vq_msg_encode(msg, &r->frame), "encode");
    r->dropped += vq_dealer_send(r->dealer, vq_buf_span(&r->frame)) == VQ_OK ? 0 : 1;
}

static void beat(struct rogue *r, uint64_t session)
{
    struct vq_msg msg = {.type = VQ_MSG_HEARTBEAT,
                         .u.held = {.session = session, .stamp_ns = vq_clock_mono_ns()}};
    send(r, &msg);
}

static struct vq_result forged(const struct rogue *r, uint64_t n)
{
    struct vq_result result = {.call = {.b = {0xca, 0x4a}},
                               .shard = n / r->shard_tasks,
                               .fence = {r->epoch, n % 3},
                               .task = n,
                               .tries = 1,
                               .end = VQ_END_ANSWER,
                               .final = true,
                               .http_status = 200,
                               .answer = vq_span_str("canary\nModel: A"),
                               .finish_reason = vq_span_str("stop")};
    memcpy(result.call.b + 8, &n, sizeof(n));
    vq_hash_of("rogue", vq_span((const char *)&n, sizeof(n)), &result.request);
    return result;
}

static void say(struct rogue *r, uint64_t session, const struct vq_result *result)
{
    struct vq_msg msg = {.type = VQ_MSG_RESULTS,
                         .u.results = {.session = session, .results = result, .results_count = 1}};
    send(r, &msg);
}

/* In the name of others: each is refused. */
static void impersonate(struct rogue *r)
{
    for (uint64_t i = 0; i < STRAYS; i++) {
        uint64_t other = i % 10 == r->session ? r->session + 77 : i % 10;
        struct vq_result result = forged(r, 5000 + i);
        say(r, other, &result);
        beat(r, other);
        struct vq_msg bye = {.type = VQ_MSG_BYE,
                             .u.bye = {.session = other, .code = VQ_BYE_LEAVING}};
        send(r, &bye);
        struct vq_msg back = {
            .type = VQ_MSG_CANCEL,
            .u.cancel = {.session = other, .shard = i, .reason = VQ_CANCEL_RETURNED}};
        send(r, &back);
    }
}

static void forge(struct rogue *r)
{
    for (unsigned again = 0; again <= REPLAYS; again++) {
        for (uint64_t i = 0; i < FORGED; i++) {
            struct vq_result result = forged(r, i);
            result.stage = i % 10 == 9 ? 7 : 0; /* a stage that is not this one */
            result.fence.epoch -= i % 10 == 8 && r->epoch > 0 ? 1 : 0;
            say(r, r->session, &result);
        }
    }
}

/* Claims calls of tasks that others hold, once. */
static void claim(struct rogue *r)
{
    struct vq_held_call calls[20];
    struct vq_held_lease leases[4];
    for (uint64_t i = 0; i < VQ_COUNT(calls); i++) {
        calls[i] = (struct vq_held_call){.call = {.b = {0xcb, (uint8_t)i}}, .task = i};
    }
    for (uint64_t i = 0; i < VQ_COUNT(leases); i++) {
        leases[i] = (struct vq_held_lease){.shard = i, .fence = {r->epoch, i + 1}};
    }
    struct vq_msg msg = {.type = VQ_MSG_HELD,
                         .u.held = {.session = r->session,
                                    .stamp_ns = vq_clock_mono_ns(),
                                    .leases = leases,
                                    .leases_count = VQ_COUNT(leases),
                                    .calls = calls,
                                    .calls_count = VQ_COUNT(calls)}};
    send(r, &msg);
}

static void rave(struct rogue *r)
{
    for (unsigned i = 0; i < GARBAGE; i++) {
        char bytes[200];
        memset(bytes, (int)(i * 7), sizeof(bytes));
        r->dropped += vq_dealer_send(r->dealer, vq_span(bytes, 1 + i)) == VQ_OK ? 0 : 1;
    }
}

#define LIST_CALLS  150000
#define LIST_FRAMES 4

/* More calls than any worker can have, all of them in flight, it says. */
static void list(struct rogue *r)
{
    static struct vq_held_call calls[LIST_CALLS];
    for (unsigned round = 0; round < LIST_FRAMES; round++) {
        for (uint32_t i = 0; i < LIST_CALLS; i++) {
            calls[i] = (struct vq_held_call){.call = {.b = {0xcc, (uint8_t)round}}, .task = i % 60};
            memcpy(calls[i].call.b + 8, &i, sizeof(i));
        }
        struct vq_msg msg = {
            .type = VQ_MSG_HELD,
            .u.held = {.session = r->session, .calls = calls, .calls_count = LIST_CALLS}};
        send(r, &msg);
    }
}

static void claim_batch(struct rogue *r)
{
    struct vq_msg msg = {.type = VQ_MSG_BATCH,
                         .u.batch = {.session = r->session,
                                     .name = vq_span_str(r->batch),
                                     .id = vq_span_str("stolen"),
                                     .state = VQ_BATCH_PROGRESS_CREATED,
                                     .calls = 1}};
    send(r, &msg);
    char text[VQ_RESULT_BATCH_BYTES];
    vq_result_batch_text(r->batch, 0, text);
    struct vq_result result = forged(r, 7);
    result.end = VQ_END_BATCHED;
    result.final = false;
    result.error = vq_span_str(text);
    say(r, r->session, &result);
}

static void lie(struct rogue *r)
{
    struct vq_pool_report report = {.unit.requests = 1};
    struct vq_msg msg = {.type = VQ_MSG_CREDIT,
                         .u.credit = {.session = r->session,
                                      .spend.most = VQ_AMOUNT_ANY,
                                      .reports = &report,
                                      .reports_count = 1}};
    struct vq_result result = forged(r, 7);
    result.cost_nano = UINT64_MAX / 4;
    if (strcmp(r->lie, "forge") == 0) {
        forge(r);
    } else if (strcmp(r->lie, "cost") == 0) {
        say(r, r->session, &result);
    } else if (strcmp(r->lie, "list") == 0) {
        list(r);
    } else if (strcmp(r->lie, "batch") == 0) {
        claim_batch(r);
    } else {
        bool park = strcmp(r->lie, "park") == 0;
        report.park_unix_s = park ? INT64_MAX : 0;
        msg.u.credit.spend.used = msg.u.credit.spend.open = park ? 0 : UINT64_MAX;
        send(r, &msg);
    }
}

static void report(struct rogue *r)
{
    printf(
        "{\"welcome\":%s,\"session\":%llu,\"heartbeats\":%u,\"echoes\":%u,\"acks\":%u,\"byes\":%u,"
        "\"canceled\":%u,\"dropped\":%u}\n",
        r->welcome ? "true" : "false", (unsigned long long)r->session, r->beats, r->echoes, r->acks,
        r->byes, r->canceled, r->dropped);
    vq_loop_stop(r->loop);
}

static void on_tick(void *ctx)
{
    struct rogue *r = ctx;
    r->ticks++;
    if (!r->welcome) {
        if (r->ticks > STRANGER_TICKS) {
            report(r);
        }
        return;
    }
    if (r->lie != NULL) {
        if (!r->attacked) {
            r->attacked = true;
            lie(r);
        }
        if (r->byes > 0 || r->acks >= FORGED || ++r->quiet > LIE_TICKS) {
            report(r);
        }
        return;
    }
    if (!r->attacked) {
        r->attacked = true;
        claim(r);
        impersonate(r);
        forge(r);
        rave(r);
        return;
    }
    for (unsigned i = 0; i < A_TICK && r->beats < HEARTBEATS; i++, r->beats++) {
        beat(r, r->session);
    }
    r->quiet = r->beats < HEARTBEATS ? 0 : r->quiet + 1;
    if (r->quiet > 0) {
        beat(r, r->session); /* not silent for a term: its session would end */
    }
    if (r->quiet == QUIET_TICKS && !r->broke) {
        r->broke = true;
        struct vq_result result = forged(r, UINT64_C(1) << 40);
        say(r, r->session, &result);
        say(r, r->session, &result); /* nobody listens any more */
    }
    if (r->quiet > 2 * QUIET_TICKS) {
        report(r);
    }
}

static void on_message(void *ctx, struct vq_span frame)
{
    struct rogue *r = ctx;
    struct vq_msg msg;
    struct vq_error err = {""};
    if (vq_msg_decode(r->decoder, frame, VQ_TO_WORKER, &msg, &err) != VQ_OK) {
        return;
    }
    switch ((int)msg.type) {
    case VQ_MSG_WELCOME:
        r->welcome = true;
        r->session = msg.u.welcome.session;
        r->epoch = msg.u.welcome.epoch;
        break;
    case VQ_MSG_ACK: r->acks += msg.u.ack.calls_count; break;
    case VQ_MSG_BYE: r->byes++; break;
    case VQ_MSG_HEARTBEAT: r->echoes++; break;
    case VQ_MSG_CANCEL: r->canceled++; break;
    default: break;
    }
}

static void hello(struct rogue *r)
{
    for (unsigned i = 0; i < STRAYS && r->lie == NULL; i++) {
        beat(r, 1); /* before any session */
    }
    struct vq_msg msg = {.type = VQ_MSG_HELLO,
                         .u.hello = {.worker = {.b = {0xee}},
                                     .stamp_ns = vq_clock_mono_ns(),
                                     .name = vq_span_str("rogue"),
                                     .host = vq_span_str("nowhere"),
                                     .software = vq_span_str("rogue"),
                                     .local = -1,
                                     .has_spool = true}};
    send(r, &msg);
}

int main(int argc, char **argv)
{
    struct rogue r = {0};
    struct vq_cert cert = {0};
    struct vq_error err = {""};
    if (argc < 3) {
        (void)fprintf(stderr, "usage: vq-rogue JOIN_CERT SHARD_TASKS "
                              "[stranger|forge|cost|spent|park|list|batch NAME]\n");
        return 2;
    }
    r.shard_tasks = strtoull(argv[2], NULL, 10);
    vq_buf_init(&r.frame, VQ_FRAME_BYTES_MAX);
    must(vq_cert_read(argv[1], &cert, &err), err.text);
    bool stranger = argc > 3 && strcmp(argv[3], "stranger") == 0;
    r.lie = argc > 3 && !stranger ? argv[3] : NULL;
    r.batch = argc > 4 ? argv[4] : "vq-0000000000000000-1";
    if (stranger) {
        must(vq_keypair_create(&cert.keys), "a key pair");
    }
    must(vq_loop_create(&r.loop, &err), err.text);
    must(vq_decoder_create(&r.decoder), "a decoder");
    must(vq_timer_create(r.loop, on_tick, &r, &r.timer), "a timer");
    struct vq_dealer_options options = {.endpoint = cert.endpoint,
                                        .server_key = cert.server_key,
                                        .keys = &cert.keys,
                                        .on_message = on_message,
                                        .ctx = &r};
    must(vq_dealer_create(r.loop, &options, &r.dealer, &err), err.text);
    hello(&r);
    vq_timer_start(r.timer, TICK_MS, TICK_MS);
    must(vq_loop_run(r.loop), "the loop");
    vq_dealer_destroy(&r.dealer);
    vq_timer_destroy(&r.timer);
    vq_decoder_destroy(&r.decoder);
    vq_loop_destroy(&r.loop);
    vq_cert_destroy(&cert);
    vq_buf_free(&r.frame);
    return 0;
}
