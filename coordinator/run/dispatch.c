/* Frames from workers into the core, and the core's actions out. Actions are carried out in their
 * order. Not its job: any decision. A frame that cannot be decoded is answered with BYE and
 * counted. */
#include "coordinator/run/parts.h"
#include "coordinator/store/calls/batched.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/crash.h"
#include "common/text/log.h"
#include "proto/result.h"

#include <stdio.h>
#include <string.h>

#define COLLECT_DRAFTS 1024u /* in one message */

static void send_msg(struct vq_run *run, uint64_t peer, const struct vq_msg *msg)
{
    vq_buf_clear(&run->links.frame);
    enum vq_status status = vq_msg_encode(msg, &run->links.frame);
    if (status != VQ_OK) {
        vq_run_fatal(run, status, "cannot encode %s: %s", vq_msg_name(msg->type),
                     vq_status_text(status));
        return;
    }
    VQ_CRASH_POINT_OF(send, vq_msg_name(msg->type));
    status = vq_router_send(run->links.router, peer, vq_buf_span(&run->links.frame));
    VQ_CRASH_POINT_OF(sent, vq_msg_name(msg->type));
    if (status == VQ_NOMEM) {
        vq_run_fatal(run, status, "out of memory while sending");
    } else if (status != VQ_OK) {
        /* It is disconnected, or does not read: its silence ends its leases. */
        vq_log(VQ_LOG_DEBUG, "send.dropped", "type=%s peer=%llu status=%s", vq_msg_name(msg->type),
               (unsigned long long)peer, vq_status_name(status));
    }
}

static void say_bye(struct vq_run *run, uint64_t peer, enum vq_bye_code code, const char *text)
{
    struct vq_msg bye = {.type = VQ_MSG_BYE,
                         .u.bye = {.code = (uint8_t)code, .text = vq_span_str(text)}};
    send_msg(run, peer, &bye);
}

static void on_frame(void *ctx, uint64_t peer, struct vq_span frame)
{
    struct vq_run *run = ctx;
    if (run->coord == NULL || run->fatal != VQ_OK) {
        return;
    }
    struct vq_msg msg;
    struct vq_error err = {0};
    enum vq_status status = vq_msg_decode(run->links.decoder, frame, VQ_TO_COORDINATOR, &msg, &err);
    if (status == VQ_NOMEM) {
        vq_run_fatal(run, status, "out of memory while reading a message");
        return;
    }
    if (status != VQ_OK) {
        run->seen.unreadable++;
        vq_log(VQ_LOG_WARN, "message.refused", "peer=%llu why=%s", (unsigned long long)peer,
               err.text);
        say_bye(run, peer, status == VQ_VERSION ? VQ_BYE_VERSION : VQ_BYE_PROTOCOL, err.text);
        return;
    }
    if (!vq_gate_lets_in(run, peer, msg.type == VQ_MSG_HELLO)) {
        say_bye(run, peer, VQ_BYE_PROTOCOL, VQ_GATE_REVOKED);
        return;
    }
    char name[VQ_GATE_NAME_BYTES_MAX];
    if (msg.type == VQ_MSG_HELLO) {
        msg.u.hello.name = vq_gate_name(run, msg.u.hello.name, name);
    }
    if (msg.type == VQ_MSG_HELLO && !vq_gate_is_local(run) &&
        vq_distrust_refuses(run, msg.u.hello.name)) {
        say_bye(run, peer, VQ_BYE_PROTOCOL, VQ_DISTRUST_WHY);
        return;
    }
    VQ_CRASH_POINT_OF(got, vq_msg_name(msg.type));
    status = vq_coord_message(run->coord, peer, &msg, vq_run_now());
    if (status != VQ_OK) {
        vq_run_fatal(run, status, "the coordinator's core gave up on a %s: %s",
                     vq_msg_name(msg.type), vq_status_text(status));
    }
}

static void send_spec(struct vq_run *run, uint64_t peer, uint64_t session)
{
    struct vq_msg msg = {.type = VQ_MSG_SPEC,
                         .u.spec = {.session = session,
                                    .hash = run->links.spec_hash,
                                    .body = vq_buf_span(&run->links.spec_body)}};
    send_msg(run, peer, &msg);
}

static void send_sample(struct vq_run *run, uint64_t peer, uint64_t session, uint32_t sample)
{
    const struct vq_sample *s = &run->stages.asking->samples[sample];
    struct vq_sample made;
    if (run->stages.asking->remake != NULL) {
        struct vq_error err = {0};
        enum vq_status status = run->stages.asking->remake(
            run->stages.asking->remake_ctx, sample, &run->stages.answers.reader, &made, &err);
        if (status != VQ_OK) {
            vq_run_fatal(run, status, "%s", err.text);
            return;
        }
        s = &made;
    }
    struct vq_msg msg = {.type = VQ_MSG_SAMPLE,
                         .u.sample = {.session = session,
                                      .sample = sample,
                                      .prompt = s->prompt,
                                      .a = s->a,
                                      .b = s->b,
                                      .image = s->image}};
    send_msg(run, peer, &msg);
}

struct collect {
    struct vq_run *run;
    const struct vq_coord_collect *about;
    struct vq_result *drafts; /* COLLECT_DRAFTS */
    char **texts;             /* one per draft, owned */
    uint32_t count, sent;
};

static void collect_send(struct collect *c, bool more)
{
    const struct vq_coord_collect *about = c->about;
    struct vq_msg msg = {.type = VQ_MSG_COLLECT,
                         .u.collect = {.session = about->session,
                                       .name = vq_span_str(about->name),
                                       .pool = vq_span_str(about->pool),
                                       .id = vq_span_str(about->id),
                                       .calls = about->calls,
                                       .cancel = about->cancel,
                                       .before = c->sent,
                                       .more = more,
                                       .drafts = c->drafts,
                                       .drafts_count = c->count}};
    send_msg(c->run, about->peer, &msg);
    c->sent += c->count;
    while (c->count > 0) {
        vq_free(c->texts[--c->count]);
    }
}

static enum vq_status collect_take(void *ctx, const struct vq_result *draft)
{
    struct collect *c = ctx;
    if (c->count == COLLECT_DRAFTS) {
        collect_send(c, true);
    }
    char *texts = vq_alloc(1, vq_result_texts_bytes(draft) + 1);
    if (texts == NULL) {
        return VQ_NOMEM;
    }
    c->drafts[c->count] = *draft;
    vq_result_texts_move(&c->drafts[c->count], texts);
    c->texts[c->count++] = texts;
    return VQ_OK;
}

/* Sends the records of all calls that wait in the batch to the worker; without records, the worker
 * cancels a batch that it owns. */
static void send_collect(struct vq_run *run, const struct vq_coord_collect *about)
{
    struct collect c = {.run = run, .about = about};
    struct vq_view *view = NULL;
    struct vq_error err = {0};
    c.drafts = vq_alloc(COLLECT_DRAFTS, sizeof(*c.drafts));
    c.texts = vq_alloc(COLLECT_DRAFTS, sizeof(*c.texts));
    enum vq_status status = c.drafts == NULL || c.texts == NULL ? VQ_NOMEM : VQ_OK;
    if (status == VQ_OK && !about->cancel) {
        status = vq_view_begin(run->calls, &view, &err);
        if (status == VQ_OK) {
            status = vq_batched_each(view, &run->owner.uid, about->name, collect_take, &c, &err);
            vq_view_end(&view);
        }
    }
    if (status == VQ_OK) {
        collect_send(&c, false);
    } else if (status == VQ_AGAIN) { /* the map is being resized */
        vq_coord_api_batch_again(run->coord, about->name);
    } else {
        vq_run_fatal(run, status, "cannot read the calls of batch %s: %s", about->name, err.text);
    }
    while (c.count > 0) {
        vq_free(c.texts[--c.count]);
    }
    vq_free(c.drafts);
    vq_free(c.texts);
}

static void queue_lookup(struct vq_run_links *links, uint64_t shard)
{
    VQ_ASSERT(links->lookups_count < VQ_COORD_LOOKUPS_MAX);
    uint32_t at = (links->lookups_head + links->lookups_count++) % VQ_COORD_LOOKUPS_MAX;
    links->lookups[at] = shard;
}

static void answer_lookup(struct vq_run *run, struct vq_view *view)
{
    uint64_t shard = run->links.lookups[run->links.lookups_head];
    struct vq_error err = {0};
    vq_buf_clear(&run->links.priors);
    enum vq_status status = vq_lookup_shard(view, &run->stages.asking->plan, &run->owner.uid, shard,
                                            run->links.known, &run->links.priors, &err);
    if (status != VQ_OK) {
        vq_run_fatal(run, status, "cannot look up what is stored: %s", err.text);
        return;
    }
    run->links.lookups_head = (run->links.lookups_head + 1) % VQ_COORD_LOOKUPS_MAX;
    run->links.lookups_count--;
    status = vq_coord_looked_up(run->coord, shard, run->links.known, vq_run_now());
    if (status != VQ_OK) {
        vq_run_fatal(run, status, "the coordinator's core gave up on a look-up: %s",
                     vq_status_text(status));
    }
}

/* One snapshot for all waiting look-ups. If the map is being resized, they wait for the next
 * turn. */
static bool answer_lookups(struct vq_run *run)
{
    if (run->links.lookups_count == 0 || run->fatal != VQ_OK) {
        return false;
    }
    struct vq_view *view;
    struct vq_error err = {0};
    enum vq_status status = vq_view_begin(run->calls, &view, &err);
    if (status == VQ_AGAIN) {
        vq_loop_again(run->loop);
        return false;
    }
    if (status != VQ_OK) {
        vq_run_fatal(run, status, "cannot read the call store: %s", err.text);
        return false;
    }
    while (run->links.lookups_count > 0 && run->fatal == VQ_OK) {
        answer_lookup(run, view);
    }
    vq_view_end(&view);
    return true;
}

static void note(struct vq_run *run, enum vq_coord_note_level level, const char *text)
{
    if (level == VQ_COORD_NOTE_WARN) {
        vq_run_moment(run, VQ_TROUBLE_QUEUE, text, "The log has more: vibeq log RUN.", "%s", text);
    }
    vq_log(level == VQ_COORD_NOTE_WARN ? VQ_LOG_WARN : VQ_LOG_INFO, "core", "text=%s", text);
}

/* The time between a start and its first lease: bench/resume.py reads it. */
static void first_lease(struct vq_run *run)
{
    run->links.leased = true;
    vq_log(VQ_LOG_INFO, "lease.first", "epoch=%llu after_ms=%lld",
           (unsigned long long)run->owner.epoch,
           (long long)((vq_run_now() - run->started_ns) / VQ_NS_PER_MS));
}

static void carry_out(struct vq_run *run, const struct vq_coord_action *a)
{
    switch (a->type) {
    case VQ_COORD_SEND:
        if (a->u.send.msg.type == VQ_MSG_GRANT && !vq_advances_cover(run)) {
            break;
        }
        send_msg(run, a->u.send.peer, &a->u.send.msg);
        if (a->u.send.msg.type == VQ_MSG_LEASE && !run->links.leased) {
            first_lease(run);
        }
        break;
    case VQ_COORD_COLLECT: send_collect(run, &a->u.collect); break;
    case VQ_COORD_SPEC: send_spec(run, a->u.send.peer, a->u.send.session); break;
    case VQ_COORD_SAMPLE:
        send_sample(run, a->u.sample.peer, a->u.sample.session, a->u.sample.sample);
        break;
    case VQ_COORD_LOOKUP: queue_lookup(&run->links, a->u.shard); break;
    case VQ_COORD_COMMIT: vq_committer_start(run, a->u.batch); break;
    case VQ_COORD_CLOSE:
        vq_log(VQ_LOG_INFO, "session.closed", "peer=%llu", (unsigned long long)a->u.send.peer);
        vq_gate_forget(&run->gate, a->u.send.peer);
        break;
    case VQ_COORD_NOTE: note(run, a->u.note.level, a->u.note.text); break;
    case VQ_COORD_FINISHED:
        run->stages.is_over = true;
        vq_limits_see(run); /* the workers are still connected */
        break;
    case VQ_COORD_STOPPED:
        run->stop.stopped = true;
        run->stop.kind = a->u.stopped.kind;
        run->stop.clean = a->u.stopped.clean;
        (void)snprintf(run->stop.text, sizeof(run->stop.text), "%s", a->u.stopped.text);
        break;
    }
}

/* Carries out all actions of the core; false: not now. If samples contain stored answers, one
 * snapshot serves them all. */
static bool carry_out_all(struct vq_run *run)
{
    struct vq_coord_action action;
    struct vq_error err = {0};
    if (run->stages.asking->remake != NULL) {
        enum vq_status status = vq_answers_begin(&run->stages.answered, &run->stages.answers, &err);
        if (status == VQ_AGAIN) {
            vq_loop_again(run->loop);
            return false;
        }
        if (status != VQ_OK) {
            vq_run_fatal(run, status, "cannot read the call store: %s", err.text);
            return false;
        }
    }
    while (run->fatal == VQ_OK && vq_coord_next(run->coord, vq_run_now(), &action)) {
        carry_out(run, &action);
    }
    vq_answers_end(&run->stages.answers);
    return true;
}

void vq_dispatch_pump(struct vq_run *run)
{
    if (run->coord == NULL) {
        return;
    }
    for (uint32_t rounds = 0; run->fatal == VQ_OK; rounds++) {
        if (!carry_out_all(run)) {
            break;
        }
        if (rounds >= VQ_RUN_LOOKUPS_PER_TURN) { /* let sockets and timers have their turn */
            vq_loop_again(run->loop);
            break;
        }
        if (!answer_lookups(run)) {
            break;
        }
    }
    vq_run_check_core(run, vq_coord_health(run->coord));
}

/* Logs the first one, and later the count. */
static void report(struct vq_door *door, uint64_t count, const char *event, const char *why)
{
    int64_t now_ns = vq_run_now();
    if (count == door->reported ||
        (door->reported > 0 && now_ns - door->reported_ns < VQ_RUN_DOOR_REPORT_MS * VQ_NS_PER_MS)) {
        return;
    }
    *door = (struct vq_door){.reported = count, .reported_ns = now_ns};
    vq_log(VQ_LOG_WARN, event, "count=%llu why=%s", (unsigned long long)count, why);
}

void vq_dispatch_watch(struct vq_run *run)
{
    struct vq_zsock_stats s = vq_router_stats(run->links.router);
    run->seen.peers_refused = s.peers_refused;
    run->seen.frames_dropped = s.frames_dropped;
    report(&run->links.refused, s.peers_refused, "peers.refused", "a key that is not approved");
    report(&run->links.dropped, s.frames_dropped, "frames.dropped",
           "of a peer that chose its own name, or to a peer that has disconnected");
}

enum vq_status vq_dispatch_open(struct vq_run *run, struct vq_error *err)
{
    vq_buf_init(&run->links.frame, VQ_FRAME_BYTES_MAX);
    vq_buf_init(&run->links.priors, VQ_COORD_PRIOR_BYTES_MAX * 4);
    VQ_TRY(vq_decoder_create(&run->links.decoder));
    return vq_gate_open(run, on_frame, err);
}

void vq_dispatch_close(struct vq_run_links *links)
{
    vq_router_destroy(&links->router);
    vq_decoder_destroy(&links->decoder);
    vq_free(links->known);
    vq_buf_free(&links->frame);
    vq_buf_free(&links->priors);
}
