/* Repeats HELLO until a WELCOME comes, on a separate loop. Each further HELLO uses a new
 * connection, after a wait that doubles and has jitter. Not its job: everything after the WELCOME
 * (agent.c). */
#include "worker/shell/probe.h"

#include "common/base/clock.h"
#include "common/base/rng.h"
#include "common/base/secret.h"
#include "common/net/signals.h"
#include "common/net/zsock.h"
#include "common/text/log.h"
#include "proto/wire.h"
#include "worker/core/work.h"

#include <signal.h>
#include <unistd.h>

#define HELLO_MS         100
#define HELLO_MS_MAX     2000
#define SILENT_REPORT_S  10
#define ORPHAN_S_DEFAULT 3600

struct probe {
    struct vq_loop *loop;
    struct vq_dealer *dealer;
    struct vq_decoder *decoder;
    struct vq_timer *timer;
    struct vq_signal *signals[3];
    struct vq_buf frame;
    struct vq_msg_hello hello;
    struct vq_rng rng;
    uint32_t hellos;
    int64_t started_ns, until_ns;
    bool silence_reported;
    struct vq_id run;
    int code; /* -1: the run is known */
};

static void end(struct probe *p, int code)
{
    p->code = code;
    vq_loop_stop(p->loop);
}

static void send_msg(struct probe *p, const struct vq_msg *msg)
{
    vq_buf_clear(&p->frame);
    enum vq_status status = vq_msg_encode(msg, &p->frame);
    if (status == VQ_OK) {
        status = vq_dealer_send(p->dealer, vq_buf_span(&p->frame));
    }
    if (status == VQ_NOMEM) {
        end(p, VQ_WORK_EXIT_FATAL);
    } /* otherwise HELLO is repeated */
}

static void say_hello(struct probe *p)
{
    p->hello.stamp_ns = vq_clock_mono_ns();
    struct vq_msg msg = {.type = VQ_MSG_HELLO, .u.hello = p->hello};
    uint32_t wait_ms = p->hellos > 4 ? HELLO_MS_MAX : (uint32_t)HELLO_MS << p->hellos;
    p->hellos++;
    send_msg(p, &msg);
    vq_timer_start(p->timer, wait_ms - wait_ms / 4 + vq_rng_below(&p->rng, wait_ms / 2 + 1), 0);
}

static void on_timer(void *ctx)
{
    struct probe *p = ctx;
    struct vq_error err = {""};
    int64_t now_ns = vq_clock_mono_ns();
    if (now_ns >= p->until_ns) {
        vq_log(VQ_LOG_WARN, "worker", "text=%s",
               "no coordinator answered in all this time: leaving");
        end(p, VQ_WORK_EXIT_STOPPED);
        return;
    }
    if (!p->silence_reported && now_ns - p->started_ns >= SILENT_REPORT_S * VQ_NS_PER_S) {
        p->silence_reported = true;
        vq_log(VQ_LOG_INFO, "worker", "text=%s",
               "no coordinator at this address yet, or it does not let this certificate in; the "
               "worker waits for one");
    }
    if (vq_dealer_reconnect(p->dealer, &err) != VQ_OK) {
        vq_log(VQ_LOG_ERROR, "worker.fatal", "what=%s", err.text);
        end(p, VQ_WORK_EXIT_FATAL);
        return;
    }
    say_hello(p);
}

static void on_bye(struct probe *p, const struct vq_msg_bye *bye)
{
    int code;
    switch ((enum vq_bye_code)bye->code) {
    case VQ_BYE_DONE: code = VQ_WORK_EXIT_DONE; break;
    case VQ_BYE_STOPPED: code = VQ_WORK_EXIT_STOPPED; break;
    case VQ_BYE_VERSION: code = VQ_WORK_EXIT_USAGE; break;
    case VQ_BYE_PROTOCOL: code = VQ_WORK_EXIT_FATAL; break;
    case VQ_BYE_NO_SESSION:
    case VQ_BYE_OTHER_RUN:
    case VQ_BYE_LEAVING:
    case VQ_BYE_STAGE: return; /* another HELLO follows */
    default: return;
    }
    vq_log(VQ_LOG_INFO, "probe.bye", "code=%u text=%.*s", bye->code, (int)bye->text.bytes,
           bye->text.at);
    end(p, code);
}

static void on_frame(void *ctx, struct vq_span frame)
{
    struct probe *p = ctx;
    struct vq_msg msg;
    struct vq_error err = {""};
    enum vq_status status = vq_msg_decode(p->decoder, frame, VQ_TO_WORKER, &msg, &err);
    if (status == VQ_VERSION) {
        vq_log(VQ_LOG_ERROR, "link.version", "why=%s", err.text);
        end(p, VQ_WORK_EXIT_USAGE);
    } else if (status == VQ_OK && msg.type == VQ_MSG_BYE) {
        on_bye(p, &msg.u.bye);
    } else if (status == VQ_OK && msg.type == VQ_MSG_WELCOME && p->code != -1) {
        struct vq_msg bye = {.type = VQ_MSG_BYE,
                             .u.bye = {.session = msg.u.welcome.session,
                                       .code = VQ_BYE_LEAVING,
                                       .text = vq_span_str("it asked for the run only")}};
        p->run = msg.u.welcome.run;
        end(p, -1);
        send_msg(p, &bye);
    }
}

static void on_signal(void *ctx, int signum)
{
    if (signum != SIGHUP) {
        end(ctx, VQ_WORK_EXIT_DONE); /* nothing needs to be closed */
    }
}

static enum vq_status open_all(struct probe *p, const struct vq_cert *cert, struct vq_error *err)
{
    static const int signums[] = {SIGTERM, SIGINT, SIGHUP};
    struct vq_dealer_options dealer = {.endpoint = cert->endpoint,
                                       .server_key = cert->server_key,
                                       .keys = &cert->keys,
                                       .on_message = on_frame,
                                       .ctx = p};
    VQ_TRY(vq_loop_create(&p->loop, err));
    VQ_TRY(vq_timer_create(p->loop, on_timer, p, &p->timer));
    for (size_t i = 0; i < VQ_COUNT(signums); i++) {
        VQ_TRY(vq_signal_create(p->loop, signums[i], on_signal, p, &p->signals[i]));
    }
    VQ_TRY(vq_decoder_create(&p->decoder));
    return vq_dealer_create(p->loop, &dealer, &p->dealer, err);
}

static void close_all(struct probe *p)
{
    vq_dealer_destroy(&p->dealer);
    vq_decoder_destroy(&p->decoder);
    vq_buf_free(&p->frame);
    for (size_t i = 0; i < VQ_COUNT(p->signals); i++) {
        vq_signal_destroy(&p->signals[i]);
    }
    vq_timer_destroy(&p->timer);
    if (p->loop != NULL) {
        vq_loop_destroy(&p->loop);
    }
}

int vq_probe_run(const struct vq_worker_options *options, const struct vq_cert *cert,
                 const char *name, const char *host, struct vq_id *ret_run)
{
    struct probe p = {.code = VQ_WORK_EXIT_FATAL};
    struct vq_error err = {""};
    uint64_t seed;
    uint32_t orphan_s = options->orphan_s > 0 ? options->orphan_s : ORPHAN_S_DEFAULT;
    vq_random_bytes(&seed, sizeof(seed));
    vq_rng_seed(&p.rng, seed);
    p.hello = (struct vq_msg_hello){.name = vq_span_str(name),
                                    .host = vq_span_str(host),
                                    .software = vq_span_str("vibeq " VIBEQ_VERSION),
                                    .pid = (uint64_t)getpid(),
                                    .local = -1};
    vq_random_bytes(&p.hello.worker, sizeof(p.hello.worker));
    vq_buf_init(&p.frame, VQ_FRAME_BYTES_MAX);
    p.started_ns = vq_clock_mono_ns();
    p.until_ns = p.started_ns + orphan_s * VQ_NS_PER_S;
    enum vq_status status = open_all(&p, cert, &err);
    if (status == VQ_OK) {
        say_hello(&p);
        status = vq_loop_run(p.loop);
    }
    if (status != VQ_OK) {
        vq_log(VQ_LOG_ERROR, "worker.fatal", "what=%s",
               err.text[0] != '\0' ? err.text : vq_status_text(status));
        p.code = VQ_WORK_EXIT_FATAL;
    }
    *ret_run = p.run;
    close_all(&p);
    return p.code;
}
