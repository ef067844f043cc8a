/* Carries out the decisions of the worker's core.
 *
 * Everything happens on the loop's one thread. A frame, the end of a call, a timer or a signal
 * becomes one event; then the core's actions are carried out in their order, each at once. Only
 * calls that end in the same turn of the loop are collected first. Their actions are taken together
 * at the end of the turn, so that one write notes all of them, and another one the calls that
 * follow. Before the loop sleeps, its timer is set to the core's next tick. If a record of the
 * spool cannot be written, the worker starts no new calls (the core drains); results are still sent
 * to the coordinator.
 *
 * Invariants: a step is never taken inside another one (calls and frames reach the core only from
 * the loop); the parts of a pool that the HTTP client uses outlive its calls; keys leave the
 * keyring only to the HTTP client. */
#include "worker/shell/agent.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/crash.h"
#include "common/net/signals.h"
#include "common/net/zsock.h"
#include "common/text/log.h"
#include "proto/spool.h"
#include "worker/core/limits.h"
#include "worker/shell/batcher.h"
#include "worker/shell/caller.h"
#include "worker/shell/keyring.h"
#include "worker/shell/probe.h"
#include "worker/shell/spool_home.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FILES_RESERVED     128 /* descriptors for everything but calls */
#define FRAME_PREFIX_BYTES sizeof(size_t)
/* timeout(1) signals a group and its leader: this counts as one request */
#define SAME_SIGNAL_MS 500

struct agent {
    const struct vq_worker_options *options;
    struct vq_loop *loop;
    struct vq_timer *timer, *drain_timer;
    struct vq_signal *signals[3];
    struct vq_dealer *dealer;
    struct vq_decoder *decoder;
    struct vq_keyring *keys;
    struct vq_caller *caller;
    struct vq_batcher *batcher;
    struct vq_id worker; /* random per process */
    struct vq_spool *spool;
    struct vq_work *work;
    struct vq_buf frame;
    struct vq_buf later; /* frames to send after the reconnect, each after its length */
    struct vq_deferred reconnect;
    bool in_message; /* the dealer must not be replaced during a message */
    bool spool_failed, spool_said;
    bool replies; /* passed to the core in this turn; their actions are not yet taken */
    bool spool_default, run_over;
    bool draining; /* a second signal stops */
    int signum;    /* the last one, and its time */
    int64_t signal_ns;
    int64_t timer_ns;
    int exit_code;
    /* found by the probe; all zero: the certificate names a run, or any run will do */
    struct vq_id run;
    char server_key[VQ_CURVE_KEY_CHARS + 1]; /* of the run's coordinators */
    char name[VQ_WORKER_NAME_BYTES_MAX + 1];
    char host[VQ_WORKER_NAME_BYTES_MAX + 1];
    char spool_dir[VQ_SPOOL_PATH_BYTES_MAX]; /* "": none */
};

static void step(struct agent *a, struct vq_work_event event);
static void take_actions(struct agent *a);

static void give_up(struct agent *a, const char *what)
{
    vq_log(VQ_LOG_ERROR, "worker.fatal", "what=%s", what);
    a->exit_code = VQ_WORK_EXIT_FATAL;
    vq_loop_stop(a->loop);
}

/* ---- the link ---- */

static void frame_send(struct agent *a, struct vq_span frame)
{
    enum vq_status status = vq_dealer_send(a->dealer, frame);
    if (status != VQ_OK) { /* results are repeated; the next HELLO repeats the other messages */
        vq_log(VQ_LOG_WARN, "link.full", "status=%s", vq_status_name(status));
    }
}

/* A coordinator that was killed may have started again at another port, because its own port was
 * taken. It has the same key, and the join file has the new address. If the file is missing or
 * belongs to another run, nothing changes. */
static void find_coordinator(struct agent *a)
{
    struct vq_cert cert = {0};
    if (vq_cert_read(a->options->join, &cert, NULL) == VQ_OK && cert.endpoint[0] != '\0' &&
        strcmp(cert.server_key, a->server_key) == 0 && vq_dealer_move(a->dealer, cert.endpoint)) {
        vq_log(VQ_LOG_INFO, "link.moved", "coordinator=%s", cert.endpoint);
    }
    vq_cert_destroy(&cert);
}

static void reconnect(void *ctx)
{
    struct agent *a = ctx;
    struct vq_error err = {""};
    find_coordinator(a);
    enum vq_status status = vq_dealer_reconnect(a->dealer, &err);
    if (status != VQ_OK) {
        give_up(a, err.text);
        return;
    }
    for (size_t at = 0; at < a->later.bytes;) {
        size_t bytes;
        memcpy(&bytes, a->later.at + at, FRAME_PREFIX_BYTES);
        frame_send(a, vq_span(a->later.at + at + FRAME_PREFIX_BYTES, bytes));
        at += FRAME_PREFIX_BYTES + bytes;
    }
    vq_buf_clear(&a->later);
}

static void message_send(struct agent *a, const struct vq_msg *msg)
{
    vq_buf_clear(&a->frame);
    enum vq_status status = vq_msg_encode(msg, &a->frame);
    if (status != VQ_OK) {
        vq_log(VQ_LOG_ERROR, "link.encode", "message=%s status=%s", vq_msg_name(msg->type),
               vq_status_name(status));
        give_up(a, "a message of ours cannot be encoded");
        return;
    }
    if (!vq_linked(&a->reconnect.link)) {
        VQ_CRASH_POINT_OF(worker_send, vq_msg_name(msg->type));
        frame_send(a, vq_buf_span(&a->frame));
        VQ_CRASH_POINT_OF(worker_sent, vq_msg_name(msg->type));
        return;
    }
    if (vq_buf_reserve(&a->later, FRAME_PREFIX_BYTES + a->frame.bytes) == NULL) {
        give_up(a, "what is to be said after the reconnect has no room");
        return; /* no part of the frame is stored */
    }
    vq_buf_append(&a->later, &a->frame.bytes, FRAME_PREFIX_BYTES);
    vq_buf_append(&a->later, a->frame.at, a->frame.bytes);
}

static void on_frame(void *ctx, struct vq_span frame)
{
    struct agent *a = ctx;
    struct vq_msg msg;
    struct vq_error err = {""};
    enum vq_status status = vq_msg_decode(a->decoder, frame, VQ_TO_WORKER, &msg, &err);
    if (status == VQ_VERSION) {
        vq_log(VQ_LOG_ERROR, "link.version", "why=%s", err.text);
        a->exit_code = VQ_WORK_EXIT_USAGE;
        vq_loop_stop(a->loop);
        return;
    }
    if (status != VQ_OK) {
        vq_log(VQ_LOG_WARN, "link.bad_frame", "bytes=%zu why=%s", frame.bytes, err.text);
        return;
    }
    a->run_over |= msg.type == VQ_MSG_BYE && msg.u.bye.code == VQ_BYE_DONE;
    a->in_message = true;
    VQ_CRASH_POINT_OF(worker_got, vq_msg_name(msg.type));
    step(a, (struct vq_work_event){.type = VQ_WORK_MESSAGE, .u.message = &msg});
    a->in_message = false;
}

/* ---- calls and keys ---- */

/* The actions of this step are taken at the end of the turn. */
static void step_later(struct agent *a, struct vq_work_event event)
{
    a->replies = true;
    if (vq_work_step(a->work, vq_clock_mono_ns(), &event) != VQ_OK) {
        take_actions(a); /* no memory: the answer is noted now, from the reply itself */
    }
}

static void on_reply(void *ctx, const struct vq_work_reply *reply)
{
    step_later(ctx, (struct vq_work_event){.type = VQ_WORK_REPLY, .u.reply = reply});
}

static void on_collected(void *ctx, const struct vq_work_collected *collected)
{
    step_later(ctx, (struct vq_work_event){.type = VQ_WORK_COLLECTED, .u.collected = collected});
}

static void on_batch(void *ctx, const struct vq_msg_batch *batch)
{
    step_later(ctx, (struct vq_work_event){.type = VQ_WORK_BATCH, .u.batch = batch});
}

static void on_refused(void *ctx, const struct vq_work_refused *refused)
{
    step(ctx, (struct vq_work_event){.type = VQ_WORK_REFUSED, .u.refused = refused});
}

static void on_no_memory(void *ctx)
{
    give_up(ctx, "out of memory");
}

static void on_key(void *ctx, const struct vq_work_key *key)
{
    step(ctx, (struct vq_work_event){.type = VQ_WORK_KEY, .u.key = key});
}

/* Passes each pool's keys to the core, after the actions that requested it. */
static void keys_look_up(struct agent *a)
{
    const struct vq_work_spec *spec = vq_work_spec(a->work);
    size_t count = spec->judges_count + spec->pools_count;
    const char **names = vq_alloc(count, sizeof(*names));
    if (names == NULL) {
        give_up(a, "out of memory");
        return;
    }
    for (uint32_t i = 0; i < spec->judges_count; i++) {
        names[i] = spec->judges[i].judge.name;
    }
    for (uint32_t i = 0; i < spec->pools_count; i++) {
        names[spec->judges_count + i] = spec->pools[i].name;
    }
    const char *stray = vq_keyring_stray(a->keys, names, count);
    if (stray != NULL) {
        vq_log(VQ_LOG_WARN, "key.unused", "name=%s why=%s", stray,
               "the run has no pool and no judge of this name");
    }
    vq_free(names);
    if (vq_caller_pools(a->caller, spec) != VQ_OK) {
        give_up(a, "out of memory");
    }
}

static void call_start(struct agent *a, const struct vq_work_call *call, int64_t started_unix_ms)
{
    bool late = !a->spool_failed && vq_clock_mono_ns() >= call->until_ns;
    const char *why = a->spool_failed ? "the spool cannot be written"
                      : late
                          ? "this process was suspended until the lease's term was over; not sent"
                          : NULL;
    enum vq_status status = why != NULL
                                ? vq_caller_refuse(a->caller, call, started_unix_ms, why, late)
                                : vq_caller_start(a->caller, call, started_unix_ms);
    if (status != VQ_OK) {
        give_up(a, "out of memory");
    }
}

static void gather(struct agent *a, const struct vq_work_call *call, int64_t started_unix_ms)
{
    if (a->spool_failed) {
        call_start(a, call, started_unix_ms); /* this refuses the call */
    } else if (vq_batcher_gather(a->batcher, call, started_unix_ms) != VQ_OK) {
        give_up(a, "out of memory");
    }
}

static void collect(struct agent *a, const struct vq_msg_collect *message)
{
    if (vq_batcher_collect(a->batcher, message) != VQ_OK) {
        give_up(a, "out of memory");
    }
}

/* ---- the spool ---- */

static void spool_check(struct agent *a, enum vq_status status, const struct vq_error *err)
{
    if (status != VQ_OK && !a->spool_failed) {
        vq_log(VQ_LOG_ERROR, "spool.failed", "why=%s",
               err->text[0] != '\0' ? err->text : vq_status_text(status));
        a->spool_failed = true;
    }
}

static void spool_sent(struct agent *a, const struct vq_work_call *call, int64_t started_unix_ms)
{
    struct vq_result sent = vq_work_call_sent(call);
    sent.started_unix_ms = started_unix_ms;
    struct vq_error err = {""};
    if (!a->spool_failed) {
        VQ_CRASH_POINT(worker_sent_record_before);
        spool_check(a, vq_spool_sent(a->spool, &sent, &err), &err);
    }
}

/* ---- the core ---- */

static void act(struct agent *a, const struct vq_work_action *action, int64_t unix_ms, bool *keys)
{
    struct vq_error err = {""};
    switch (action->type) {
    case VQ_WORK_SEND: message_send(a, &action->u.message); break;
    case VQ_WORK_RECONNECT:
        if (a->in_message) {
            vq_loop_defer(a->loop, &a->reconnect);
        } else {
            reconnect(a);
        }
        break;
    case VQ_WORK_KEYS: *keys = true; break;
    case VQ_WORK_SPOOL_SENT: spool_sent(a, &action->u.call, unix_ms); break;
    case VQ_WORK_CALL:
        VQ_CRASH_POINT(worker_call_before);
        call_start(a, &action->u.call, unix_ms);
        VQ_CRASH_POINT(worker_call_handed_over);
        break;
    case VQ_WORK_GATHER: gather(a, &action->u.call, unix_ms); break;
    case VQ_WORK_GATHERED: vq_batcher_gathered(a->batcher, &action->u.id); break;
    case VQ_WORK_BATCHES_RESTART: vq_batcher_restart(a->batcher); break;
    case VQ_WORK_COLLECT: collect(a, action->u.collect); break;
    case VQ_WORK_SPOOL_ANSWER:
        VQ_CRASH_POINT(worker_answer_record_before);
        spool_check(a, vq_spool_answer(a->spool, action->u.result, &err), &err);
        break;
    case VQ_WORK_SPOOL_UNSENT:
        spool_check(a, vq_spool_unsent(a->spool, action->u.result, &err), &err);
        break;
    case VQ_WORK_SPOOL_WRITE:
        VQ_CRASH_POINT(worker_spool_write_before);
        spool_check(a, vq_spool_write(a->spool, &err), &err);
        VQ_CRASH_POINT(worker_spool_written);
        break;
    case VQ_WORK_SPOOL_ACKED:
        VQ_CRASH_POINT(worker_acked_record_before);
        spool_check(a, vq_spool_acked(a->spool, &action->u.id, &err), &err);
        break;
    case VQ_WORK_NOTE:
        vq_log(action->u.note.level == VQ_WORK_NOTE_WARN ? VQ_LOG_WARN : VQ_LOG_INFO, "worker",
               "text=%s", action->u.note.text);
        break;
    case VQ_WORK_EXIT:
        VQ_CRASH_POINT(worker_exit);
        a->exit_code = (int)action->u.exit_code;
        vq_loop_stop(a->loop);
        break;
    }
}

static void take_actions(struct agent *a)
{
    struct vq_work_action action;
    bool keys = false;
    int64_t unix_ms = vq_clock_unix_ms();
    a->replies = false;
    while (vq_work_next(a->work, &action)) {
        act(a, &action, unix_ms, &keys);
    }
    if (vq_work_status(a->work) != VQ_OK) {
        give_up(a, "out of memory");
        return;
    }
    if (keys) {
        keys_look_up(a);
    }
    if (a->spool_failed && !a->spool_said) {
        a->spool_said = true;
        step(a, (struct vq_work_event){.type = VQ_WORK_SPOOL_FAILED});
    }
}

static void step(struct agent *a, struct vq_work_event event)
{
    if (a->replies) {
        take_actions(a);
    }
    enum vq_status status = vq_work_step(a->work, vq_clock_mono_ns(), &event);
    take_actions(a);
    VQ_ASSERT(status == VQ_OK || vq_work_status(a->work) != VQ_OK); /* the failure was logged */
}

static void on_timer(void *ctx)
{
    struct agent *a = ctx;
    a->timer_ns = INT64_MAX;
    step(a, (struct vq_work_event){.type = VQ_WORK_TICK});
}

/* Before the loop sleeps: takes the actions that follow from the replies of this turn, and sets the
 * timer to the core's next tick. */
static void on_turn(void *ctx)
{
    struct agent *a = ctx;
    if (a->replies) {
        take_actions(a);
    }
    int64_t wake_ns = vq_work_wake_ns(a->work);
    if (wake_ns != a->timer_ns) {
        a->timer_ns = wake_ns;
        vq_timer_start_at(a->timer, wake_ns);
    }
}

static void on_drained_enough(void *ctx)
{
    vq_log(VQ_LOG_WARN, "worker.drain", "what=%s", "the time of --drain-s is over: stopping now");
    step(ctx, (struct vq_work_event){.type = VQ_WORK_STOP});
}

static void on_signal(void *ctx, int signum)
{
    struct agent *a = ctx;
    if (signum == SIGHUP) {
        return; /* the worker continues without its terminal */
    }
    int64_t now_ns = vq_clock_mono_ns();
    if (signum == a->signum && now_ns - a->signal_ns < SAME_SIGNAL_MS * VQ_NS_PER_MS) {
        return;
    }
    a->signum = signum;
    a->signal_ns = now_ns;
    vq_log(VQ_LOG_INFO, "worker.signal", "signal=%d what=%s", signum,
           a->draining ? "stopping now" : "draining");
    if (!a->draining && a->options->drain_s > 0) {
        vq_timer_start(a->drain_timer, (uint64_t)a->options->drain_s * 1000, 0);
    }
    step(a, (struct vq_work_event){.type = a->draining ? VQ_WORK_STOP : VQ_WORK_DRAIN});
    a->draining = true;
}

/* ---- start ---- */

static enum vq_status concurrency(const struct vq_worker_options *options, uint32_t *ret_calls,
                                  struct vq_error *err)
{
    uint64_t files = vq_loop_raise_files();
    uint64_t most = files > FILES_RESERVED ? files - FILES_RESERVED : 1;
    most = most > VQ_WORK_CONCURRENCY_MAX ? VQ_WORK_CONCURRENCY_MAX : most;
    if (options->concurrency > most) {
        return vq_fail(err, VQ_LIMIT,
                       "--concurrency %u needs more files than the system allows this process: at "
                       "most %llu calls with "
                       "%llu open files; raise the limit (ulimit -Hn) or lower the concurrency",
                       options->concurrency, (unsigned long long)most, (unsigned long long)files);
    }
    *ret_calls = options->concurrency == 0 ? (uint32_t)most : options->concurrency;
    return VQ_OK;
}

static void name_it(struct agent *a)
{
    if (gethostname(a->host, sizeof(a->host) - 1) != 0) {
        (void)snprintf(a->host, sizeof(a->host), "unknown");
    }
    if (a->options->name != NULL) {
        (void)snprintf(a->name, sizeof(a->name), "%s", a->options->name);
    } else {
        (void)snprintf(a->name, sizeof(a->name), "%.*s-%ld", VQ_WORKER_NAME_BYTES_MAX - 24, a->host,
                       (long)getpid());
    }
}

/* Opens the spool; its records are passed to the core. If no folder is named, a worker on another
 * machine has one in its user's home. */
static enum vq_status spool_open(struct agent *a, const struct vq_work_options *options,
                                 struct vq_spool_held **ret_held, struct vq_error *err)
{
    const char *dir = a->options->spool;
    if (dir == NULL) {
        a->spool_default = true;
        return vq_spool_home_open(&options->run, &options->worker, a->spool_dir, &a->spool,
                                  ret_held, err);
    }
    if (strlen(dir) >= sizeof(a->spool_dir)) {
        return vq_fail(err, VQ_LIMIT, "the path of the spool folder is too long: %.200s", dir);
    }
    (void)snprintf(a->spool_dir, sizeof(a->spool_dir), "%s", dir);
    return vq_spool_open(dir, &options->run, &options->worker, &a->spool, ret_held, err);
}

static void spool_take(struct agent *a, const struct vq_spool_held *held)
{
    size_t count = vq_spool_held_count(held);
    if (count > 0 || vq_spool_held_torn_bytes(held) > 0) {
        vq_log(VQ_LOG_INFO, "spool.found", "calls=%zu unknown=%zu torn_bytes=%llu", count,
               vq_spool_held_unknown(held), (unsigned long long)vq_spool_held_torn_bytes(held));
    }
    for (size_t i = 0; i < count; i++) {
        step(a, (struct vq_work_event){.type = VQ_WORK_SPOOLED,
                                       .u.result = vq_spool_held_at(held, i)});
    }
}

static enum vq_status core_create(struct agent *a, const struct vq_cert *cert, uint32_t calls,
                                  struct vq_error *err)
{
    static const struct vq_id any;
    struct vq_work_options options = {.name = a->name,
                                      .host = a->host,
                                      .software = "vibeq " VIBEQ_VERSION,
                                      .pid = (uint64_t)getpid(),
                                      .local = a->options->local,
                                      .concurrency_max = calls,
                                      .orphan_s = a->options->orphan_s};
    vq_random_bytes(&options.worker, sizeof(options.worker));
    a->worker = options.worker;
    vq_random_bytes(&options.seed, sizeof(options.seed));
    struct vq_span uid = vq_span_str(cert->run_uid);
    bool has_run = uid.bytes > 0 || !vq_id_eq(&a->run, &any);
    options.run = a->run;
    if (uid.bytes > 0 && vq_unhex(uid, options.run.b, VQ_ID_BYTES) != VQ_OK) {
        return vq_fail(err, VQ_INVALID, "%s: the run's uid is not %d hex digits", a->options->join,
                       VQ_ID_BYTES * 2);
    }
    if (a->options->spool != NULL && !has_run) {
        return vq_fail(err, VQ_INVALID,
                       "%s names no run, and a spool belongs to one: leave out --spool",
                       a->options->join);
    }
    options.has_spool =
        a->options->spool != NULL || (!a->options->no_spool && a->options->local < 0 && has_run);
    struct vq_spool_held *held = NULL;
    if (options.has_spool) {
        VQ_TRY(spool_open(a, &options, &held, err));
        options.before = vq_spool_held_worker(held);
    }
    enum vq_status status = vq_work_create(&options, &a->work);
    if (status == VQ_OK && held != NULL) {
        spool_take(a, held);
    }
    vq_spool_held_destroy(&held);
    return status;
}

static enum vq_status log_open(const char *path, struct vq_error *err)
{
    if (path == NULL) {
        return VQ_OK;
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0) {
        return vq_fail(err, VQ_IO, "cannot open the log %s: %s", path, strerror(errno));
    }
    vq_log_to(fd, VQ_LOG_INFO, VQ_LOG_AUTO); /* stays open until the process ends */
    return VQ_OK;
}

static enum vq_status loop_create(struct agent *a, struct vq_error *err)
{
    static const int signums[] = {SIGTERM, SIGINT, SIGHUP};
    VQ_TRY(vq_loop_create(&a->loop, err));
    VQ_TRY(vq_timer_create(a->loop, on_timer, a, &a->timer));
    VQ_TRY(vq_timer_create(a->loop, on_drained_enough, a, &a->drain_timer));
    for (size_t i = 0; i < VQ_COUNT(signums); i++) {
        VQ_TRY(vq_signal_create(a->loop, signums[i], on_signal, a, &a->signals[i]));
    }
    VQ_TRY(vq_decoder_create(&a->decoder));
    vq_loop_on_turn(a->loop, on_turn, a);
    return VQ_OK;
}

static enum vq_status start(struct agent *a, struct vq_cert *cert, struct vq_error *err)
{
    uint32_t calls = 0;
    VQ_TRY(concurrency(a->options, &calls, err));
    VQ_TRY(vq_keyring_create(a->options, &a->keys));
    VQ_TRY(vq_keyring_load(a->keys, err));
    VQ_TRY(vq_cert_read(a->options->join, cert, err));
    /* like a key, its variable is removed after it was read */
    if (vq_cert_variable(a->options->join) != NULL) {
        (void)unsetenv(vq_cert_variable(a->options->join));
    }
    if (cert->endpoint[0] == '\0' || cert->server_key[0] == '\0') {
        return vq_fail(err, VQ_INVALID, "%s is no join file: it names no coordinator",
                       a->options->join);
    }
    memcpy(a->server_key, cert->server_key, sizeof(a->server_key));
    name_it(a);
    VQ_TRY(loop_create(a, err));
    struct vq_caller_options caller = {.loop = a->loop,
                                       .keys = a->keys,
                                       .calls_max = calls,
                                       .announce_keys = a->options->local < 0,
                                       .reply = on_reply,
                                       .key = on_key,
                                       .ctx = a};
    VQ_TRY(vq_caller_create(&caller, &a->caller, err));
    struct vq_dealer_options dealer = {.endpoint = cert->endpoint,
                                       .server_key = cert->server_key,
                                       .keys = &cert->keys,
                                       .on_message = on_frame,
                                       .ctx = a};
    VQ_TRY(vq_dealer_create(a->loop, &dealer, &a->dealer, err));
    VQ_TRY(core_create(a, cert, calls, err));
    struct vq_batcher_options batcher = {.loop = a->loop,
                                         .pools = vq_caller_shell_pools(a->caller),
                                         .work = a->work,
                                         .worker = a->worker,
                                         .reply = on_reply,
                                         .collected = on_collected,
                                         .progress = on_batch,
                                         .refused = on_refused,
                                         .no_memory = on_no_memory,
                                         .ctx = a};
    VQ_TRY(vq_batcher_create(&batcher, &a->batcher, err));
    vq_log(VQ_LOG_INFO, "worker.start",
           "name=%s version=%s coordinator=%s run=%s calls_max=%u spool=%s", a->name, VIBEQ_VERSION,
           cert->endpoint, cert->run_name, calls, a->spool_dir[0] == '\0' ? "none" : a->spool_dir);
    return VQ_OK;
}

static void stop(struct agent *a)
{
    vq_batcher_destroy(&a->batcher);
    vq_caller_destroy(&a->caller);
    vq_dealer_destroy(&a->dealer);
    bool had_spool = a->spool != NULL;
    vq_spool_close(&a->spool);
    if (had_spool && a->spool_default && a->run_over) {
        vq_spool_home_remove(a->spool_dir);
    }
    vq_work_destroy(&a->work);
    vq_keyring_destroy(&a->keys);
    vq_decoder_destroy(&a->decoder);
    vq_buf_free(&a->frame);
    vq_buf_free(&a->later);
    if (a->loop == NULL) {
        return;
    }
    vq_deferred_cancel(&a->reconnect);
    for (size_t i = 0; i < VQ_COUNT(a->signals); i++) {
        vq_signal_destroy(&a->signals[i]);
    }
    vq_timer_destroy(&a->timer);
    vq_timer_destroy(&a->drain_timer);
    vq_loop_destroy(&a->loop);
}

/* For a certificate that names no run, the run must be found first, because a spool belongs to one
 * run. -1: the run is known or not needed; else the exit code. start() reports errors of the
 * certificate. */
static int find_run(const struct vq_worker_options *options, struct vq_id *ret_run)
{
    struct vq_cert cert = {0};
    int code = -1;
    if (!options->no_spool && options->spool == NULL && options->local < 0 &&
        vq_cert_read(options->join, &cert, NULL) == VQ_OK && cert.run_uid[0] == '\0' &&
        cert.endpoint[0] != '\0' && cert.server_key[0] != '\0') {
        struct agent named = {.options = options};
        name_it(&named);
        code = vq_probe_run(options, &cert, named.name, named.host, ret_run);
    }
    vq_cert_destroy(&cert);
    return code;
}

int vq_agent_run(const struct vq_worker_options *options)
{
    struct agent a = {.options = options, .timer_ns = INT64_MAX, .exit_code = VQ_WORK_EXIT_FATAL};
    a.reconnect = (struct vq_deferred){.fn = reconnect, .ctx = &a};
    vq_buf_init(&a.frame, VQ_FRAME_BYTES_MAX);
    vq_buf_init(&a.later, 8 * (size_t)VQ_FRAME_BYTES_MAX);
    struct vq_cert cert = {0};
    struct vq_error err = {""};
    enum vq_status status = log_open(options->log, &err);
    if (status == VQ_OK) {
        int code = find_run(options, &a.run);
        if (code != -1) {
            return code;
        }
        status = start(&a, &cert, &err);
    }
    if (status == VQ_OK) {
        step(&a, (struct vq_work_event){.type = VQ_WORK_CONNECTED});
        /* so that the hook that sets the timer also runs before the first sleep */
        vq_loop_again(a.loop);
        status = vq_loop_run(a.loop);
    }
    if (status != VQ_OK) {
        (void)fprintf(stderr, "vibeq-worker: %s\n",
                      err.text[0] != '\0' ? err.text : vq_status_text(status));
        bool ours =
            vq_status_class(status) == VQ_CLASS_FATAL || vq_status_class(status) == VQ_CLASS_BUG;
        a.exit_code = ours ? VQ_WORK_EXIT_FATAL : VQ_WORK_EXIT_USAGE;
    }
    struct vq_work_stats stats = {0};
    if (a.work != NULL) {
        vq_work_stats(a.work, &stats);
    }
    int64_t turn_ns = a.loop == NULL ? 0 : vq_loop_stats_take(a.loop).busy_ns_max;
    vq_log(VQ_LOG_INFO, "worker.exit", "code=%d calls=%llu results_left=%u turn_ms_max=%lld",
           a.exit_code, (unsigned long long)stats.calls_ended, stats.results,
           (long long)(turn_ns / VQ_NS_PER_MS));
    stop(&a);
    vq_cert_destroy(&cert);
    return a.exit_code;
}
