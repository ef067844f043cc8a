/* Handles a peer's message: finds its session, checks the rules, and calls the file that handles
 * it. Invariant: no message fails an assertion or ends the run. A peer without a session gets BYE
 * NO_SESSION. Messages of another session are dropped and counted. A broken rule makes the session
 * deaf: it then ends like a silent one, and its tasks are not blamed. Not its job: decoding and its
 * bounds (proto/wire.h). */
#include "coordinator/queue/internal.h"

#define TEXT_SHOWN_MAX 200 /* bytes of the text of a worker's BYE that are logged */

enum vq_status vq_coord_refuse(struct vq_coord *c, struct vq_coord_session *s, const char *what)
{
    s->deaf = true;
    vq_authority_drop_report(c->params.authority, &s->worker, c->now_ns);
    vq_coord_hungry_all(c, s);
    return vq_coord_bye(&c->actions, s->peer, s->id, VQ_BYE_PROTOCOL, what);
}

enum vq_status vq_coord_broke(struct vq_coord *c, struct vq_coord_session *s, const char *what)
{
    c->tally.broken++;
    vq_coord_note(c, VQ_COORD_NOTE_WARN, "worker %s broke the protocol: %s", s->name, what);
    return vq_coord_refuse(c, s, what);
}

bool vq_coord_result_here(const struct vq_coord *c, const struct vq_result *r)
{
    return r->stage == c->params.stage && r->task < vq_grid_tasks(&c->params.grid) &&
           r->shard == vq_coord_shard_of(c, r->task) &&
           r->judge == r->shard % c->params.grid.judges;
}

/* A lease of an earlier start may be of another grid: that start may have had other answers, and so
 * other stages. */
bool vq_coord_result_valid(const struct vq_coord *c, const struct vq_result *r)
{
    bool fits = r->stage != c->params.stage || r->fence.epoch != c->params.epoch ||
                vq_coord_result_here(c, r);
    bool waits = r->end == VQ_END_BATCHED; /* its result follows */
    return fits && !(waits && (r->final || !vq_coord_api_batch_named(c, r))) &&
           r->kind <= VQ_CALL_REPAIR && r->end < VQ_END__COUNT &&
           r->answer.bytes <= VQ_ANSWER_BYTES_MAX && !vq_coord_call_is_placeholder(&r->call);
}

static enum vq_status say_stale(struct vq_coord_actions *actions, const struct vq_coord_session *s,
                                const struct vq_held_lease *listed)
{
    return vq_coord_add_action(actions, (struct vq_coord_entry){.kind = ENTRY_CANCEL,
                                                                .code = VQ_CANCEL_STALE,
                                                                .peer = s->peer,
                                                                .session = s->id,
                                                                .a = listed->shard,
                                                                .b = VQ_COORD_ALL,
                                                                .stage = listed->stage,
                                                                .fence = listed->fence});
}

/* The lease ended with an earlier session, start or stage: another worker may have its tasks. */
static bool is_over(const struct vq_coord *c, const struct vq_coord_session *s,
                    const struct vq_held_lease *listed)
{
    return listed->stage != c->params.stage || listed->fence.epoch != c->params.epoch ||
           listed->fence.n <= s->fence_from;
}

/* Rule: one worker cannot fill the memory, nor the store with calls that never return. No correct
 * worker has that many calls, so this list is ignored. */
static enum vq_status listed_too_much(struct vq_coord *c, struct vq_coord_session *s)
{
    vq_coord_calls_forget(c, s);
    return vq_coord_broke(c, s, "too many calls of one worker are not ACKed");
}

static bool lists_too_much(const struct vq_coord_session *s)
{
    return s->calls_count >= VQ_COORD_SESSION_CALLS_MAX;
}

/* A lease that is not current. Its worker gets a CANCEL, but may have started calls since it made
 * this list. So the open tasks of the shard are held back until a later list would name the
 * calls. */
static enum vq_status take_stale(struct vq_coord *c, struct vq_coord_session *s,
                                 const struct vq_held_lease *listed)
{
    for (uint32_t i = 0; i < c->shard_tasks; i++) {
        uint64_t task = listed->shard * c->shard_tasks + i;
        if (c->tasks.outcome[task] == VQ_OUTCOME_NONE) {
            if (lists_too_much(s)) {
                return listed_too_much(c, s);
            }
            VQ_TRY(vq_coord_call_hold(c, s, task));
        }
    }
    if (!is_over(c, s, listed) && listed->fence.n <= s->cut_n) {
        vq_coord_clean_later(c); /* the CANCEL may be lost, and then the echo renews the lease */
    }
    return say_stale(&c->actions, s, listed);
}

/* The new session continues this lease: the CANCELs of settled slots may have been lost with the
 * old session, so they are sent again. */
static enum vq_status say_settled(struct vq_coord *c, const struct vq_coord_shard *shard)
{
    for (uint32_t i = 0; i < c->shard_tasks; i++) {
        if (c->tasks.outcome[vq_coord_task_at(c, shard, i)] != VQ_OUTCOME_NONE) {
            VQ_TRY(vq_coord_send_settled(c, shard, i));
        }
    }
    return VQ_OK;
}

/* Bounds for the memory that one worker can use. */
static bool held_fits(const struct vq_coord *c, const struct vq_msg_held *held)
{
    uint64_t calls = held->calls_count + (uint64_t)held->leases_count * c->shard_tasks;
    return calls + vq_coord_calls_reserved(&c->calls) <= VQ_COORD_CALLS_MAX &&
           c->shards.count + held->calls_count + held->leases_count <= VQ_COORD_SHARDS_MAX / 2;
}

/* Calls of a later stage come from an earlier start that reached it: that stage waits until these
 * calls would have been listed again. A stop while calls of another stage are out is not clean. */
static void take_later(struct vq_coord *c, const struct vq_msg_held *held)
{
    for (uint32_t n = 0; n < held->calls_count; n++) {
        if (c->end.done || held->calls[n].stage != c->params.stage) {
            vq_coord_clean_later(c);
        }
        if (held->calls[n].stage > c->params.stage) {
            c->waits.later_until_ns = c->now_ns + c->params.term_ns;
        }
    }
}

/* Listed calls reserve their tasks; those of other stages have no task here. */
static enum vq_status take_calls(struct vq_coord *c, struct vq_coord_session *s,
                                 const struct vq_msg_held *held)
{
    uint64_t tasks = vq_grid_tasks(&c->params.grid);
    take_later(c, held);
    for (uint32_t n = 0; n < held->calls_count; n++) {
        const struct vq_held_call *listed = &held->calls[n];
        if (listed->stage != c->params.stage || listed->task >= tasks) {
            continue; /* of another grid: its result is recorded when it comes */
        }
        if (vq_coord_call_is_placeholder(&listed->call)) {
            return vq_coord_broke(c, s, "a call by an id that no worker gives");
        }
        if (lists_too_much(s)) {
            return listed_too_much(c, s);
        }
        VQ_TRY(vq_coord_call_list(c, s, listed));
    }
    return VQ_OK;
}

/* Calls that a worker without a spool will make, in addition to those of its last list (rule
 * 10). */
static enum vq_status take_more(struct vq_coord *c, struct vq_coord_session *s,
                                const struct vq_msg_held *held)
{
    if (!held_fits(c, held)) {
        return vq_coord_broke(c, s, "too many calls are not ACKed");
    }
    if (held->leases_count > 0) {
        return vq_coord_broke(c, s, "leases in a list that only adds calls");
    }
    s->calls_listed += held->calls_count;
    return take_calls(c, s, held);
}

/* HELD and HEARTBEAT (rule 5). *ret_over: it names a lease that is over. */
static enum vq_status take_held(struct vq_coord *c, struct vq_coord_session *s,
                                const struct vq_msg_held *held, bool *ret_over)
{
    uint64_t shards = vq_grid_shards(&c->params.grid);
    *ret_over = false;
    if (!held_fits(c, held)) {
        return vq_coord_broke(c, s, "too many calls are not ACKed");
    }
    for (uint32_t n = 0; n < held->leases_count; n++) {
        const struct vq_held_lease *listed = &held->leases[n];
        bool earlier = listed->fence.epoch != c->params.epoch;
        if (listed->stage != c->params.stage || (earlier && listed->shard >= shards)) {
            *ret_over = true;
            VQ_TRY(say_stale(&c->actions, s, listed));
            continue;
        }
        if (listed->shard >= shards) {
            return vq_coord_broke(c, s, "a lease of a shard that does not exist");
        }
        struct vq_coord_shard *shard = vq_coord_shard_find(c, listed->shard);
        if (vq_coord_lease_current(shard, listed->fence) && shard->holder == s) {
            bool moved = shard->limbo;
            shard->limbo = false;
            vq_coord_lease_renew(shard, held->stamp_ns);
            VQ_TRY(moved && !c->params.chains ? say_settled(c, shard)
                                              : vq_coord_lease_remind(c, shard));
            continue;
        }
        *ret_over |= is_over(c, s, listed);
        VQ_TRY(take_stale(c, s, listed));
        if (s->deaf) {
            return VQ_OK;
        }
    }
    VQ_TRY(take_calls(c, s, held));
    if (s->deaf) {
        return VQ_OK;
    }
    s->calls_listed = held->calls_count;
    s->listed_ns = c->now_ns;
    vq_coord_leases_unlisted(c, s, held->stamp_ns);
    return VQ_OK;
}

/* The first list of a session: the worker does not have any lease that it does not name. */
static void first_held(struct vq_coord *c, struct vq_coord_session *s)
{
    s->held = true;
    struct vq_link *link = s->leases.next;
    while (link != &s->leases) {
        struct vq_coord_shard *shard = VQ_CONTAINER_OF(link, struct vq_coord_shard, of_holder);
        link = link->next;
        if (shard->limbo) {
            vq_coord_lease_end(c, shard);
        }
    }
    vq_coord_hungry_all(c, s);
    c->grants.check = true;
}

static enum vq_status on_held(struct vq_coord *c, struct vq_coord_session *s,
                              const struct vq_msg *msg)
{
    if (msg->type == VQ_MSG_HELD && msg->u.held.stamp_ns == 0) {
        return take_more(c, s, &msg->u.held);
    }
    bool over;
    VQ_TRY(take_held(c, s, &msg->u.held, &over));
    if (s->deaf) {
        return VQ_OK;
    }
    if (!s->held) {
        first_held(c, s);
    }
    if (msg->type == VQ_MSG_HELD) {
        return VQ_OK;
    }
    s->stamp_ns = msg->u.held.stamp_ns;
    /* an echo would renew a lease that is over if its CANCEL is lost; the next list comes soon */
    if (!over) {
        VQ_TRY(
            vq_coord_add_action(&c->actions, (struct vq_coord_entry){.kind = ENTRY_ECHO,
                                                                     .peer = s->peer,
                                                                     .session = s->id,
                                                                     .a = (uint64_t)s->stamp_ns}));
    }
    s->heartbeats++;
    if (s->heartbeats % VQ_COORD_GRANT_HEARTBEATS == 0) {
        VQ_TRY(vq_coord_send_grant(&c->actions, s));
    }
    /* the first DRAIN may be lost */
    return c->stop.begun || vq_coord_leaves(&c->leaving, &s->worker)
               ? vq_coord_send_drain(&c->actions, s)
               : VQ_OK;
}

static enum vq_status on_results(struct vq_coord *c, struct vq_coord_session *s,
                                 const struct vq_msg_results *results)
{
    if (c->stop.now) {
        return VQ_OK; /* its worker still has them */
    }
    for (uint32_t n = 0; n < results->results_count; n++) {
        if (!vq_coord_result_valid(c, &results->results[n])) {
            return vq_coord_broke(c, s, "a result that fits no task");
        }
        char claim[VQ_COORD_TEXT_BYTES_MAX];
        if (!vq_authority_result_can_be(c->params.authority, &results->results[n],
                                        results->results[n].fence.epoch != c->params.epoch, claim,
                                        sizeof(claim))) {
            return vq_coord_broke(c, s, claim);
        }
    }
    if (vq_coord_calls_reserved(&c->calls) + results->results_count > VQ_COORD_CALLS_MAX ||
        c->shards.count + results->results_count > VQ_COORD_SHARDS_MAX) {
        c->tally.dropped_full += results->results_count;
        return VQ_OK;
    }
    size_t taken;
    return vq_coord_results(c, s, vq_span_str(s->name), results->results, results->results_count,
                            &taken);
}

static enum vq_status on_bye(struct vq_coord *c, struct vq_coord_session *s,
                             const struct vq_msg_bye *bye)
{
    int bytes = bye->text.bytes < TEXT_SHOWN_MAX ? (int)bye->text.bytes : TEXT_SHOWN_MAX;
    vq_coord_note(c, VQ_COORD_NOTE_INFO, "worker %s left%s%.*s", s->name, bytes > 0 ? ": " : "",
                  bytes, bytes > 0 ? bye->text.at : "");
    VQ_TRY(vq_coord_gone(c, s, VQ_AUTHORITY_LEFT, bye->code == VQ_BYE_LEAVING));
    return vq_coord_session_end(c, s, false); /* it starts no more calls */
}

/* The session that the message names; *ret_known is false for a HELLO. */
static uint64_t session_of(const struct vq_msg *msg, bool *ret_known)
{
    *ret_known = true;
    switch (msg->type) {
    case VQ_MSG_HELD:
    case VQ_MSG_HEARTBEAT: return msg->u.held.session;
    case VQ_MSG_CREDIT: return msg->u.credit.session;
    case VQ_MSG_RESULTS: return msg->u.results.session;
    case VQ_MSG_CANCEL: return msg->u.cancel.session;
    case VQ_MSG_DRAIN: return msg->u.drain.session;
    case VQ_MSG_BATCH: return msg->u.batch.session;
    case VQ_MSG_BYE: return msg->u.bye.session;
    case VQ_MSG_HELLO:
    case VQ_MSG_WELCOME:
    case VQ_MSG_SPEC:
    case VQ_MSG_SAMPLE:
    case VQ_MSG_LEASE:
    case VQ_MSG_ACK:
    case VQ_MSG_GRANT:
    case VQ_MSG_COLLECT:
    default: *ret_known = false; return 0;
    }
}

/* After the end only one thing is noted: calls of a later stage are out. A HELLO waits for the next
 * stage. It gets no answer, because the worker would answer BYE with another HELLO, in a loop. */
static enum vq_status after_end(struct vq_coord *c, uint64_t peer, const struct vq_msg *msg)
{
    if (msg->type == VQ_MSG_BYE) {
        return VQ_OK;
    }
    if (!c->end.finished) {
        return vq_coord_bye(&c->actions, peer, 0, VQ_BYE_STOPPED, "the run has stopped");
    }
    if (!c->params.more) {
        return vq_coord_bye(&c->actions, peer, 0, VQ_BYE_DONE, "the run is finished");
    }
    if (msg->type == VQ_MSG_HELD || msg->type == VQ_MSG_HEARTBEAT) {
        take_later(c, &msg->u.held);
    }
    return msg->type == VQ_MSG_HELLO
               ? vq_coord_wait(c, peer, &msg->u.hello)
               : vq_coord_bye(&c->actions, peer, 0, VQ_BYE_STAGE, "the stage is over");
}

static enum vq_status dispatch(struct vq_coord *c, struct vq_coord_session *s,
                               const struct vq_msg *msg)
{
    switch ((int)msg->type) {
    case VQ_MSG_HELD:
    case VQ_MSG_HEARTBEAT: return on_held(c, s, msg);
    case VQ_MSG_CREDIT: return vq_coord_credit(c, s, &msg->u.credit);
    case VQ_MSG_RESULTS: return on_results(c, s, &msg->u.results);
    case VQ_MSG_CANCEL:
        return msg->u.cancel.reason == VQ_CANCEL_RETURNED
                   ? vq_coord_returned(c, s, &msg->u.cancel)
                   : vq_coord_broke(c, s, "CANCEL for a reason that is not a worker's");
    case VQ_MSG_DRAIN:
        s->draining = true;
        vq_coord_hungry_all(c, s);
        return VQ_OK;
    case VQ_MSG_BATCH: return vq_coord_api_batch_report(c, s, &msg->u.batch);
    case VQ_MSG_BYE: return on_bye(c, s, &msg->u.bye);
    default: return VQ_OK;
    }
}

enum vq_status vq_coord_take_message(struct vq_coord *c, uint64_t peer, const struct vq_msg *msg)
{
    if (c->end.done) {
        return after_end(c, peer, msg);
    }
    if (msg->type == VQ_MSG_HELLO) {
        return vq_coord_hello(c, peer, &msg->u.hello);
    }
    struct vq_coord_session *s = vq_coord_session_find(&c->sessions, peer);
    bool known;
    uint64_t id = session_of(msg, &known);
    if (s == NULL) {
        c->tally.dropped_unknown++;
        return msg->type == VQ_MSG_BYE
                   ? VQ_OK
                   : vq_coord_bye(&c->actions, peer, 0, VQ_BYE_NO_SESSION, "say HELLO first");
    }
    if (!known) {
        return s->deaf ? VQ_OK : vq_coord_broke(c, s, "a message that goes the other way");
    }
    if (id != s->id) {
        c->tally.dropped_session++;
        return VQ_OK;
    }
    if (s->deaf) {
        return VQ_OK;
    }
    vq_coord_heard(c, s);
    return dispatch(c, s, msg);
}
