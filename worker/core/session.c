/* The link to the coordinator: HELLO until a WELCOME, HEARTBEATs and the terms that their echoes
 * renew, and every way to leave.
 *
 * Stamps rise with every HELLO, HELD and HEARTBEAT, so an echo names one of them. A term counts
 * from the stamp of the echoed message, for the leases that this message listed and for the slices
 * of pools: the coordinator cannot have read it before it was sent. After VQ_WORK_SILENT_HEARTBEATS
 * heartbeats without an echo the worker reconnects and sends HELLO again; it keeps its leases and
 * results. After a longer silence it starts no call (the terms have ended), keeps the results, and
 * leaves. */
#include "worker/core/state.h"

#include <stdio.h>

#define HELLOS_A_TERM 4

int64_t vq_work_stamp(struct vq_work *w)
{
    w->link.stamp_ns = w->now_ns > w->link.stamp_ns ? w->now_ns : w->link.stamp_ns + 1;
    return w->link.stamp_ns;
}

/* A coordinator that was started again leases nothing for one term. Within this term, it must
 * receive the list of what this worker holds (rule 4). */
static uint64_t hello_ms_max(const struct vq_work_link *link)
{
    uint64_t part_ms = (uint64_t)(link->term_ns / VQ_WORK_MS(HELLOS_A_TERM));
    bool known = link->term_ns > 0 && part_ms < VQ_WORK_HELLO_MS_MAX;
    return !known ? VQ_WORK_HELLO_MS_MAX : part_ms < 1 ? 1 : part_ms;
}

/* If the last connection is lost, a new one is the fastest way to the coordinator. But on a slow
 * network a connection would never be ready within a short term. So, after the first HELLOs, each
 * VQ_WORK_HELLO_PATIENT-th connection stays open longer, and the HELLO is repeated on it. */
static bool keeps_connection(struct vq_work *w)
{
    if (w->now_ns < w->link.patient_until_ns) {
        return true;
    }
    if (w->link.hellos >= VQ_WORK_HELLOS_QUICK && w->link.hellos % VQ_WORK_HELLO_PATIENT == 0) {
        w->link.patient_until_ns = w->now_ns + VQ_WORK_MS(VQ_WORK_HELLO_PATIENT_MS);
    }
    return false;
}

/* Logs the silence, so that the person who started the worker sees whether the coordinator is
 * stopped or its address is wrong. */
static void log_silence(struct vq_work *w)
{
    int64_t silent_ns = w->now_ns - w->link.heard_ns;
    if (w->link.silence_logged || w->link.state == VQ_WORK_LINK_NEW ||
        silent_ns < VQ_WORK_S(VQ_WORK_SILENT_TELL_S)) {
        return;
    }
    w->link.silence_logged = true;
    vq_work_note(w, VQ_WORK_NOTE_WARN,
                 "no word from the coordinator for %lld s: it is stopped, or does not let this "
                 "join file in, or its address there cannot be reached from here; tried on until "
                 "%lld s are over",
                 (long long)(silent_ns / VQ_WORK_S(1)),
                 (long long)(w->link.orphan_ns / VQ_WORK_S(1)));
}

static void say_hello(struct vq_work *w, bool reconnect)
{
    uint64_t wait_ms = (uint64_t)VQ_WORK_HELLO_MS << (w->link.hellos > 8 ? 8 : w->link.hellos);
    uint64_t max_ms = hello_ms_max(&w->link);
    wait_ms = wait_ms > max_ms ? max_ms : wait_ms;
    wait_ms = wait_ms - wait_ms / 4 +
              vq_rng_below(&w->rng, wait_ms / 2 + 1); /* so that workers do not all retry at once */
    w->link.hellos++;
    log_silence(w);
    w->link.state = VQ_WORK_LINK_HELLO;
    w->link.hello_due_ns = w->now_ns + VQ_WORK_MS(wait_ms);
    w->link.hello_again = reconnect && keeps_connection(w);
    if (reconnect && !w->link.hello_again) {
        vq_work_queue(w, (struct vq_work_item){.type = VQ_WORK_ITEM_RECONNECT});
    }
    vq_work_queue(w, (struct vq_work_item){.type = VQ_WORK_ITEM_HELLO});
}

void vq_work_on_connected(struct vq_work *w)
{
    if (w->link.state == VQ_WORK_LINK_NEW) {
        w->link.heard_ns = w->now_ns;
    }
    say_hello(w, false);
}

static void heartbeat(struct vq_work *w, enum vq_work_item_type type)
{
    w->link.heartbeat_due_ns = w->now_ns + w->link.heartbeat_ns;
    vq_work_queue(w, (struct vq_work_item){.type = type});
}

void vq_work_list_now(struct vq_work *w)
{
    if (w->link.state == VQ_WORK_LINK_OPEN &&
        w->link.heartbeat_due_ns != w->now_ns + w->link.heartbeat_ns) {
        heartbeat(w, VQ_WORK_ITEM_HEARTBEAT);
    }
}

/* ---- WELCOME and SPEC ---- */

static void take_terms(struct vq_work *w, const struct vq_msg_welcome *welcome)
{
    uint32_t term_ms = welcome->term_ms < 1 ? 1 : welcome->term_ms;
    term_ms = term_ms > VQ_WORK_TERM_MS_MAX ? VQ_WORK_TERM_MS_MAX : term_ms;
    uint32_t beat_ms = welcome->heartbeat_ms < 1 ? 1 : welcome->heartbeat_ms;
    w->link.term_ns = VQ_WORK_MS(term_ms);
    w->link.heartbeat_ns = VQ_WORK_MS(beat_ms > term_ms ? term_ms : beat_ms);
    if (w->options.orphan_s == 0 && welcome->orphan_s > 0) {
        w->link.orphan_ns = VQ_WORK_S(welcome->orphan_s);
    }
}

static void drop_leases(struct vq_work *w)
{
    while (!vq_list_empty(&w->leases.list)) {
        vq_work_lease_drop(w, VQ_CONTAINER_OF(w->leases.list.next, struct vq_work_lease, link));
    }
}

void vq_work_on_welcome(struct vq_work *w, const struct vq_msg_welcome *welcome)
{
    static const struct vq_id any;
    if (w->link.state != VQ_WORK_LINK_HELLO || welcome->stamp_ns != w->link.hello_ns ||
        welcome->epoch < w->link.epoch) {
        return;
    }
    if (!vq_id_eq(&w->link.run, &any) && !vq_id_eq(&w->link.run, &welcome->run)) {
        vq_work_note(w, VQ_WORK_NOTE_WARN, "the coordinator has another run: %.*s",
                     (int)welcome->run_name.bytes, welcome->run_name.at);
        vq_work_exit(w, VQ_WORK_EXIT_USAGE);
        return;
    }
    w->link.run = welcome->run;
    w->link.session = welcome->session;
    w->link.epoch = welcome->epoch;
    w->link.state = VQ_WORK_LINK_OPEN;
    w->link.hellos = 0;
    w->link.silence_logged = false;
    w->link.patient_until_ns = 0;
    w->end.drain_logged = false;
    take_terms(w, welcome);
    vq_work_samples_drop_idle(&w->samples, 0);
    w->end.orphaned = false;
    w->slices.granted_n = 0;
    (void)vq_work_slices_renew(w, welcome->stamp_ns);
    w->spec_wanted = welcome->spec;
    if (w->spec == NULL || !vq_hash_eq(&w->spec->hash, &welcome->spec)) {
        drop_leases(w); /* other questions follow; HELD does not list these leases */
    }
    if (w->calls.count == 0 && !vq_work_leases_ask(&w->leases)) {
        /* a coordinator that stopped cleanly does not count these slices */
        vq_work_slices_forget(w);
    }
    vq_work_note(w, VQ_WORK_NOTE_INFO,
                 "session %llu of run %.*s: %u leases, %u calls in flight, %u results held",
                 (unsigned long long)w->link.session, (int)welcome->run_name.bytes,
                 welcome->run_name.at, w->leases.count, w->calls.count, w->outbox.count);
    vq_work_queue(w, (struct vq_work_item){.type = VQ_WORK_ITEM_ANEW});
    heartbeat(w, VQ_WORK_ITEM_HELD);
    if (w->leases.count > 0) {
        heartbeat(w, VQ_WORK_ITEM_HEARTBEAT); /* its echo renews the leases */
    }
    vq_work_outbox_session(&w->outbox);
    while (!vq_list_empty(&w->leases.returned)) {
        struct vq_work_cancel *cancel =
            VQ_CONTAINER_OF(w->leases.returned.next, struct vq_work_cancel, link);
        vq_unlink(&cancel->link);
        vq_work_queue(w, (struct vq_work_item){.type = VQ_WORK_ITEM_CANCEL, .u.cancel = cancel});
    }
    w->credit.due = true;
}

void vq_work_on_spec(struct vq_work *w, const struct vq_msg_spec *msg)
{
    bool have = w->spec != NULL && vq_hash_eq(&w->spec->hash, &msg->hash);
    if (have || !vq_hash_eq(&msg->hash, &w->spec_wanted)) {
        return;
    }
    struct vq_work_spec *spec = NULL;
    struct vq_error err = {""};
    enum vq_status status = vq_work_spec_create(msg->body, &msg->hash, &spec, &err);
    if (status == VQ_NOMEM) {
        (void)vq_work_ok(w, status);
        return;
    }
    if (status != VQ_OK) {
        vq_work_note(w, VQ_WORK_NOTE_WARN, "cannot use the run's SPEC: %s", err.text);
        vq_work_exit(w, VQ_WORK_EXIT_FATAL);
        return;
    }
    drop_leases(w);
    struct vq_work_spec *old = w->spec;
    struct vq_work_pool *old_pools = w->pools;
    struct vq_work_judging *old_judges = w->judges;
    w->spec = spec;
    if (!vq_work_judges_reset(w)) {
        w->spec = old;
        vq_work_spec_destroy(&spec);
        return;
    }
    if (!vq_work_pools_reset(w, old, old_pools)) {
        vq_work_judges_free(w->judges, spec->judges_count);
        w->judges = old_judges;
        w->spec = old;
        vq_work_spec_destroy(&spec);
        return;
    }
    vq_work_judges_free(old_judges, old == NULL ? 0 : old->judges_count);
    vq_work_pools_free(old_pools, old == NULL ? 0 : old->pools_count);
    vq_work_spec_destroy(&old);
    vq_work_outbox_find_pools(w);
    vq_work_outbox_read_spooled(w);
    vq_work_queue(w, (struct vq_work_item){.type = VQ_WORK_ITEM_KEYS});
}

void vq_work_on_echo(struct vq_work *w, const struct vq_msg_held *echo)
{
    if (echo->stamp_ns > w->link.stamp_ns || echo->stamp_ns <= 0) {
        return; /* this stamp was never sent */
    }
    if (w->spec == NULL || !vq_hash_eq(&w->spec->hash, &w->spec_wanted)) {
        vq_work_note(w, VQ_WORK_NOTE_WARN, "the run's SPEC got lost on its way; asking again");
        say_hello(w, false); /* HELLO was sent before this echo */
        return;
    }
    if (vq_work_slices_renew(w, echo->stamp_ns) && w->slices.granted_n > 0) {
        say_hello(w, false); /* so that the coordinator knows that these slices are lost */
    }
    for (struct vq_link *at = w->leases.list.next; at != &w->leases.list; at = at->next) {
        struct vq_work_lease *lease = VQ_CONTAINER_OF(at, struct vq_work_lease, link);
        if (lease->listed_ns != 0 && lease->listed_ns <= echo->stamp_ns) {
            vq_work_lease_renew(w, lease, echo->stamp_ns + w->link.term_ns);
        }
    }
}

/* ---- leaving ---- */

void vq_work_drain(struct vq_work *w, const char *why)
{
    if (w->end.draining) {
        return;
    }
    w->end.draining = true;
    vq_work_note(w, VQ_WORK_NOTE_INFO, "%s: %u calls in flight are finished, the rest goes back",
                 why, w->calls.count);
    vq_work_queue(w, (struct vq_work_item){.type = VQ_WORK_ITEM_ANEW});
    vq_work_return_all(w, UINT32_MAX);
}

static bool holds_nothing(const struct vq_work *w)
{
    return w->calls.count == 0 && w->outbox.count == 0;
}

void vq_work_stop(struct vq_work *w)
{
    bool done = holds_nothing(w) && !w->end.over_stopped;
    vq_work_exit(w, done ? VQ_WORK_EXIT_DONE : VQ_WORK_EXIT_STOPPED);
}

/* The coordinator takes no results any more. A call in flight may be paid for: the worker waits a
 * moment until its answer is in the spool, from which it is collected later. */
static void on_over(struct vq_work *w, const char *why)
{
    if (w->calls.count == 0 || !w->options.has_spool || w->end.spool_failed) {
        vq_work_stop(w);
    } else {
        w->end.over_ns = w->now_ns + VQ_WORK_S(VQ_WORK_OVER_S);
        w->link.state = VQ_WORK_LINK_NEW; /* no message is sent or read any more */
        vq_work_drain(w, why);
    }
}

void vq_work_on_bye(struct vq_work *w, const struct vq_msg_bye *bye)
{
    if (bye->code != VQ_BYE_NO_SESSION && bye->code != VQ_BYE_LEAVING &&
        bye->code != VQ_BYE_STAGE) {
        vq_work_note(w, bye->code == VQ_BYE_DONE ? VQ_WORK_NOTE_INFO : VQ_WORK_NOTE_WARN,
                     "the coordinator ends the session: %.*s", (int)bye->text.bytes, bye->text.at);
    }
    switch ((enum vq_bye_code)bye->code) {
    case VQ_BYE_DONE: on_over(w, "the run is finished"); break;
    case VQ_BYE_STOPPED:
        w->end.over_stopped = true;
        on_over(w, "the run has stopped");
        break;
    case VQ_BYE_NO_SESSION:
        if (w->link.state == VQ_WORK_LINK_OPEN) {
            say_hello(w, false);
        }
        break;
    case VQ_BYE_STAGE:
        if (w->link.state == VQ_WORK_LINK_OPEN) {
            drop_leases(w); /* all of them are settled */
            say_hello(w, false);
        }
        break;
    case VQ_BYE_VERSION:
    case VQ_BYE_OTHER_RUN: vq_work_exit(w, VQ_WORK_EXIT_USAGE); break;
    case VQ_BYE_PROTOCOL: vq_work_exit(w, VQ_WORK_EXIT_FATAL); break;
    case VQ_BYE_LEAVING: break;
    }
}

/* Draining: sends DRAIN, waits for the calls and for all ACKs, then sends BYE. */
static void leave(struct vq_work *w)
{
    bool open = w->link.state == VQ_WORK_LINK_OPEN;
    if (open && !w->end.drain_logged) {
        w->end.drain_logged = true;
        vq_work_queue(w, (struct vq_work_item){.type = VQ_WORK_ITEM_DRAIN});
    }
    if (w->calls.count > 0) {
        return;
    }
    bool silent = w->now_ns - w->link.heard_ns >= VQ_WORK_S(VQ_WORK_DRAIN_SILENT_S);
    if (w->outbox.count > 0 && (w->link.session != 0 || w->link.state != VQ_WORK_LINK_NEW) &&
        !silent) {
        return;
    }
    if (open) {
        vq_work_queue(w, (struct vq_work_item){.type = VQ_WORK_ITEM_BYE});
    }
    enum vq_work_exit code = w->outbox.count == 0 ? VQ_WORK_EXIT_DONE : VQ_WORK_EXIT_STOPPED;
    vq_work_exit(w, w->end.spool_failed ? VQ_WORK_EXIT_FATAL : code);
}

void vq_work_session_pump(struct vq_work *w)
{
    if (w->end.over_ns != 0) {
        if (w->calls.count == 0 || w->now_ns >= w->end.over_ns) {
            vq_work_stop(w);
        }
        return;
    }
    if (w->link.state == VQ_WORK_LINK_OPEN && w->now_ns >= w->link.heartbeat_due_ns) {
        heartbeat(w, VQ_WORK_ITEM_HEARTBEAT);
    }
    if (w->link.state == VQ_WORK_LINK_OPEN &&
        w->now_ns - w->link.heard_ns >= VQ_WORK_SILENT_HEARTBEATS * w->link.heartbeat_ns) {
        vq_work_note(w, VQ_WORK_NOTE_WARN, "the coordinator is silent; reconnecting");
        say_hello(w, true);
    } else if (w->link.state == VQ_WORK_LINK_HELLO && w->now_ns >= w->link.hello_due_ns) {
        say_hello(w, true);
    }
    if (w->end.draining) {
        leave(w);
    }
    if (w->link.state != VQ_WORK_LINK_NEW && w->now_ns - w->link.heard_ns >= w->link.orphan_ns) {
        if (!w->end.orphaned) {
            vq_work_note(w, VQ_WORK_NOTE_WARN, "no word from the coordinator for %lld s: leaving",
                         (long long)(w->link.orphan_ns / VQ_WORK_S(1)));
        }
        w->end.orphaned = true;
        if (w->calls.count == 0) {
            vq_work_exit(w, VQ_WORK_EXIT_STOPPED);
        }
    }
}

int64_t vq_work_session_wake(const struct vq_work *w)
{
    if (w->end.over_ns != 0) {
        return w->end.over_ns;
    }
    if (w->link.state == VQ_WORK_LINK_NEW) {
        return INT64_MAX;
    }
    int64_t wake = w->link.heard_ns + w->link.orphan_ns;
    if (w->end.orphaned) {
        wake = INT64_MAX; /* until the calls in flight end by themselves */
    }
    int64_t link =
        w->link.state == VQ_WORK_LINK_HELLO ? w->link.hello_due_ns : w->link.heartbeat_due_ns;
    if (w->link.state == VQ_WORK_LINK_OPEN &&
        w->link.heard_ns + VQ_WORK_SILENT_HEARTBEATS * w->link.heartbeat_ns < link) {
        link = w->link.heard_ns + VQ_WORK_SILENT_HEARTBEATS * w->link.heartbeat_ns;
    }
    wake = link < wake ? link : wake;
    if (w->end.draining && w->calls.count == 0) {
        int64_t silent = w->link.heard_ns + VQ_WORK_S(VQ_WORK_DRAIN_SILENT_S);
        wake = silent < wake ? silent : wake;
    }
    return wake;
}
