/* A worker that answers at once: it has the product's worker core and DEALER, and a prepared answer
 * of 200 bytes instead of a call. It has no HTTP, no spool (it only reports one) and no rendering,
 * so it measures only the protocol. It passes a reply to the core after it has taken the actions of
 * the step that started the call, as the core requires. */
#include "bench/dispatch.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/net/zsock.h"
#include "proto/wire.h"
#include "worker/core/work.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct joined {
    struct vq_loop *loop;
    struct vq_dealer *dealer;
    struct vq_decoder *decoder;
    struct vq_work *work;
    struct vq_timer *timer;
    struct vq_buf frame;
    struct vq_id *calls; /* started, not yet answered */
    size_t calls_count, calls_cap;
    char answers[2][BENCH_ANSWER_BYTES];
    bool keys_wanted, reconnect;
    int exit_code; /* -1: the worker continues */
};

static void must(enum vq_status status, const char *what)
{
    if (status != VQ_OK) {
        (void)fprintf(stderr, "bench worker: %s: %s\n", what, vq_status_text(status));
        exit(1);
    }
}

static void act(struct joined *j, const struct vq_work_action *action)
{
    switch (action->type) {
    case VQ_WORK_SEND:
        vq_buf_clear(&j->frame);
        must(vq_msg_encode(&action->u.message, &j->frame), "encode");
        must(vq_dealer_send(j->dealer, vq_buf_span(&j->frame)), "send");
        break;
    case VQ_WORK_CALL: {
        void *calls = j->calls;
        must(vq_grow(&calls, &j->calls_cap, j->calls_count + 1, sizeof(*j->calls), 1u << 20),
             "calls");
        j->calls = calls;
        j->calls[j->calls_count++] = action->u.call.id;
        break;
    }
    case VQ_WORK_KEYS: j->keys_wanted = true; break;
    case VQ_WORK_RECONNECT: j->reconnect = true; break;
    case VQ_WORK_EXIT: j->exit_code = (int)action->u.exit_code; break;
    case VQ_WORK_GATHER:
    case VQ_WORK_GATHERED:
    case VQ_WORK_BATCHES_RESTART:
    case VQ_WORK_COLLECT:
    case VQ_WORK_NOTE:
        if (action->u.note.level == VQ_WORK_NOTE_WARN) { /* does not happen in a successful run */
            (void)fprintf(stderr, "bench worker: %s\n", action->u.note.text);
        }
        break;
    case VQ_WORK_SPOOL_SENT:
    case VQ_WORK_SPOOL_ANSWER:
    case VQ_WORK_SPOOL_UNSENT:
    case VQ_WORK_SPOOL_WRITE:
    case VQ_WORK_SPOOL_ACKED: break;
    }
}

static void step(struct joined *j, const struct vq_work_event *event)
{
    struct vq_work_action action;
    must(vq_work_step(j->work, vq_clock_mono_ns(), event), "step");
    while (vq_work_next(j->work, &action)) {
        act(j, &action);
    }
    must(vq_work_status(j->work), "actions");
}

static void answer_keys(struct joined *j)
{
    j->keys_wanted = false;
    const struct vq_work_spec *spec = vq_work_spec(j->work);
    for (uint32_t i = 0; i < spec->pools_count; i++) {
        struct vq_work_key key = {.pool = i, .state = VQ_POOL_OPEN};
        step(j, &(struct vq_work_event){.type = VQ_WORK_KEY, .u.key = &key});
    }
}

static void answer_call(struct joined *j, const struct vq_id *call)
{
    struct vq_work_reply reply = {
        .call = *call,
        .end = VQ_END_ANSWER,
        .retry_after_ms = -1,
        .http_status = 200,
        .latency_ms = 1,
        .started_unix_ms = 1,
        .tokens_in = 1000,
        .tokens_out = 50,
        .answer = vq_span(j->answers[call->b[VQ_ID_BYTES - 1] & 1], BENCH_ANSWER_BYTES),
        .finish_reason = vq_span_str("stop"),
        .model = vq_span_str("bench-judge")};
    step(j, &(struct vq_work_event){.type = VQ_WORK_REPLY, .u.reply = &reply});
}

/* Answers until there is nothing more to do now. */
static void settle(struct joined *j)
{
    while (j->exit_code < 0 && (j->keys_wanted || j->calls_count > 0)) {
        if (j->keys_wanted) {
            answer_keys(j);
        }
        size_t count = j->calls_count; /* each answer starts more calls */
        for (size_t i = 0; i < count && j->exit_code < 0; i++) {
            struct vq_id call = j->calls[i];
            answer_call(j, &call);
        }
        if (count == 0) {
            continue;
        }
        memmove(j->calls, j->calls + count, (j->calls_count - count) * sizeof(*j->calls));
        j->calls_count -= count;
    }
}

static void on_message(void *ctx, struct vq_span frame)
{
    struct joined *j = ctx;
    struct vq_msg msg;
    struct vq_error err = {0};
    enum vq_status status = vq_msg_decode(j->decoder, frame, VQ_TO_WORKER, &msg, &err);
    if (status != VQ_OK) {
        (void)fprintf(stderr, "bench worker: %s\n", err.text);
        exit(1);
    }
    if (j->exit_code < 0) {
        step(j, &(struct vq_work_event){.type = VQ_WORK_MESSAGE, .u.message = &msg});
        settle(j);
    }
}

static void on_tick(void *ctx)
{
    struct joined *j = ctx;
    if (j->exit_code < 0) {
        step(j, &(struct vq_work_event){.type = VQ_WORK_TICK});
        settle(j);
    }
}

static void on_turn(void *ctx)
{
    struct joined *j = ctx;
    if (j->exit_code >= 0) {
        vq_loop_stop(j->loop);
        return;
    }
    if (j->reconnect) {
        j->reconnect = false;
        must(vq_dealer_reconnect(j->dealer, NULL), "reconnect");
        step(j, &(struct vq_work_event){.type = VQ_WORK_CONNECTED});
        settle(j);
    }
    int64_t wait_ns = vq_work_wake_ns(j->work) - vq_clock_mono_ns();
    if (wait_ns <= 0) {
        on_tick(j);
        vq_loop_again(j->loop);
    } else if (wait_ns < INT64_MAX / 2) {
        vq_timer_start(j->timer, (uint64_t)((wait_ns + VQ_NS_PER_MS - 1) / VQ_NS_PER_MS), 0);
    } else {
        vq_timer_stop(j->timer);
    }
}

static void open_all(struct joined *j, const struct vq_cert *cert)
{
    struct vq_dealer_options dealer = {.endpoint = cert->endpoint,
                                       .server_key = cert->server_key,
                                       .keys = &cert->keys,
                                       .on_message = on_message,
                                       .ctx = j};
    struct vq_work_options options = {.seed = 1,
                                      .name = "bench",
                                      .host = "localhost",
                                      .software = "vibeq bench",
                                      .pid = (uint64_t)getpid(),
                                      .local = -1,
                                      .has_spool =
                                          true, /* the usual case; notes for it are dropped */
                                      .concurrency_max = 1024};
    vq_random_bytes(options.worker.b, sizeof(options.worker.b));
    must(vq_loop_create(&j->loop, NULL), "loop");
    must(vq_decoder_create(&j->decoder), "decoder");
    must(vq_dealer_create(j->loop, &dealer, &j->dealer, NULL), "connect");
    must(vq_work_create(&options, &j->work), "core");
    must(vq_timer_create(j->loop, on_tick, j, &j->timer), "timer");
    vq_buf_init(&j->frame, VQ_FRAME_BYTES_MAX);
}

static void fill_answer(char answer[BENCH_ANSWER_BYTES], char label)
{
    char end[] = "\nModel: ?";
    end[sizeof(end) - 2] = label;
    memset(answer, 'a', BENCH_ANSWER_BYTES);
    for (size_t i = 7; i < BENCH_ANSWER_BYTES; i += 8) {
        answer[i] = ' ';
    }
    memcpy(answer + BENCH_ANSWER_BYTES - (sizeof(end) - 1), end, sizeof(end) - 1);
}

int bench_worker(const char *cert_path)
{
    struct joined j = {.exit_code = -1};
    struct vq_cert cert = {0};
    struct vq_error err = {0};
    enum vq_status status = vq_cert_read(cert_path, &cert, &err);
    if (status != VQ_OK) {
        (void)fprintf(stderr, "bench worker: %s\n", err.text);
        return 1;
    }
    fill_answer(j.answers[0], 'A');
    fill_answer(j.answers[1], 'B');
    open_all(&j, &cert);
    step(&j, &(struct vq_work_event){.type = VQ_WORK_CONNECTED});
    vq_loop_on_turn(j.loop, on_turn, &j);
    must(vq_loop_run(j.loop), "loop");
    vq_timer_destroy(&j.timer);
    vq_dealer_destroy(&j.dealer);
    vq_work_destroy(&j.work);
    vq_decoder_destroy(&j.decoder);
    vq_buf_free(&j.frame);
    vq_free(j.calls);
    vq_loop_destroy(&j.loop);
    vq_cert_destroy(&cert);
    return j.exit_code;
}
