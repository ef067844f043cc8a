/* Leases (rules 1, 2, 4, 5, 6, 25): which worker may start calls of which tasks, and until when.
 *
 * A chain is leased whole, from its first open turn on, and counts as one task. The worker that
 * holds it asks its turns one after the other.
 *
 * Invariants: a shard has one lease at a time. A slot is live (OUT, DONE or SKIPPED) only under it.
 * The `held` count of an offer and `out` of a shard count the slots OUT. A lease ends: when no slot
 * of it is live; when its holder's lists do not name it for a term of its own clock; with its
 * session; or when a new session does not list it. A task is leased only if it is open and not
 * reserved, and its first order is decided or in the same lease. Not its job: the meaning of
 * results (batch.c), the choice of ready shards (shard.c). */
#include "common/base/alloc.h"
#include "coordinator/queue/internal.h"

bool vq_coord_lease_current(const struct vq_coord_shard *shard, struct vq_fence fence)
{
    return shard != NULL && shard->state == SHARD_LEASED && vq_fence_eq(shard->fence, fence);
}

void vq_coord_lease_renew(struct vq_coord_shard *shard, int64_t stamp_ns)
{
    shard->stamp_ns = stamp_ns;
    vq_list_push(&shard->holder->leases, &shard->of_holder);
}

/* All times are in the worker's own clock, so delays in transit do not matter. The worker does not
 * have a lease that a list does not name if the list was made a term after the last one that did:
 * it never got the lease, or has given it up. If the LEASE arrives later, its term is over. */
void vq_coord_leases_unlisted(struct vq_coord *c, struct vq_coord_session *s, int64_t stamp_ns)
{
    struct vq_link *link;
    while ((link = vq_list_first(&s->leases)) != NULL) {
        struct vq_coord_shard *shard = VQ_CONTAINER_OF(link, struct vq_coord_shard, of_holder);
        int64_t since_ns; /* stamps come from a peer: any two values may come */
        if (__builtin_sub_overflow(stamp_ns, shard->stamp_ns, &since_ns)) {
            since_ns = stamp_ns > shard->stamp_ns ? INT64_MAX : INT64_MIN;
        }
        if (since_ns < c->params.term_ns) {
            break;
        }
        vq_coord_lease_end(c, shard);
    }
}

enum vq_status vq_coord_send_settled(struct vq_coord *c, const struct vq_coord_shard *shard,
                                     uint32_t i)
{
    return vq_coord_add_action(&c->actions,
                               (struct vq_coord_entry){.kind = ENTRY_CANCEL,
                                                       .code = VQ_CANCEL_SETTLED,
                                                       .peer = shard->holder->peer,
                                                       .session = shard->holder->id,
                                                       .a = shard->no,
                                                       .b = vq_coord_task_at(c, shard, i),
                                                       .stage = c->params.stage,
                                                       .fence = shard->fence});
}

enum vq_status vq_coord_lease_remind(struct vq_coord *c, struct vq_coord_shard *shard)
{
    if (shard->diverged > 0) {
        return vq_coord_send_settled(c, shard, shard->diverged - 1);
    }
    for (uint32_t i = 0; shard->cut && i < c->shard_tasks; i++) {
        if (shard->slots[i].cancelled) {
            VQ_TRY(vq_coord_send_settled(c, shard, i));
        }
    }
    return VQ_OK;
}

/* ---- samples in sessions ---- */

static struct vq_coord_use *use_find(const struct vq_coord_leases *leases,
                                     const struct vq_coord_session *s, uint32_t sample)
{
    struct vq_index_node *node = vq_index_find(&leases->uses, vq_index_mix(sample));
    for (; node != NULL; node = vq_index_again(node)) {
        struct vq_coord_use *use = VQ_CONTAINER_OF(node, struct vq_coord_use, by_sample);
        if (use->session == s) { /* the hash is a bijection, so it is this sample */
            return use;
        }
    }
    return NULL;
}

static enum vq_status use_take(struct vq_coord_leases *leases, struct vq_coord_session *s,
                               uint32_t sample, struct vq_coord_use **ret_use)
{
    struct vq_coord_use *use = use_find(leases, s, sample);
    if (use == NULL) {
        use = vq_alloc(1, sizeof(*use));
        if (use == NULL ||
            vq_index_add(&leases->uses, &use->by_sample, vq_index_mix(sample)) != VQ_OK) {
            vq_free(use);
            return VQ_NOMEM;
        }
        use->session = s;
        use->sample = sample;
    }
    use->leases++;
    *ret_use = use;
    return VQ_OK;
}

static void use_drop(struct vq_coord_leases *leases, const struct vq_coord_session *s,
                     uint32_t sample)
{
    struct vq_coord_use *use = use_find(leases, s, sample);
    VQ_ASSERT(use != NULL && use->leases > 0);
    use->leases--;
    if (use->leases == 0) {
        vq_index_remove(&leases->uses, &use->by_sample);
        vq_free(use);
    }
}

/* ---- slots ---- */

/* The count of `out` slots of one shard, for credit and for work that is out. */
static uint32_t counted(const struct vq_coord *c, uint32_t out)
{
    return c->params.chains ? out > 0 : out;
}

static void out_less(struct vq_coord *c, struct vq_coord_shard *shard)
{
    struct vq_coord_offer *offer = &shard->holder->offers[shard->judge];
    uint32_t less = counted(c, shard->out) - counted(c, shard->out - 1);
    shard->out--;
    c->leases.out -= less;
    offer->held -= less;
    vq_coord_hungry_update(c, offer);
}

static void slot_clear(struct vq_coord *c, struct vq_coord_shard *shard, struct vq_coord_slot *slot)
{
    VQ_ASSERT(slot->state != SLOT_FREE && shard->live > 0);
    if (slot->state == SLOT_OUT) {
        out_less(c, shard);
    }
    slot->state = SLOT_FREE;
    shard->live--;
    c->lanes[shard->judge].live--;
    if (slot->reserved == 0) { /* otherwise it ends with its last call */
        vq_coord_alike_end(c, shard, slot);
    }
}

void vq_coord_slot_settled(struct vq_coord *c, struct vq_coord_shard *shard, uint32_t i)
{
    slot_clear(c, shard, &shard->slots[i]);
}

void vq_coord_slot_return(struct vq_coord *c, struct vq_coord_shard *shard, uint32_t i)
{
    enum vq_task_states next;
    enum vq_task_rule rule = vq_task_next(VQ_TASK_LEASED, VQ_TASK_ON_RETURN, &next, NULL);
    VQ_ASSERT(c->tasks.outcome[shard->no * c->shard_tasks + i] == VQ_OUTCOME_NONE);
    VQ_ASSERT(rule == VQ_TASK_MOVES && next == VQ_TASK_OPEN);
    c->tasks.moves[VQ_TASK_LEASED][VQ_TASK_ON_RETURN]++;
    slot_clear(c, shard, &shard->slots[i]);
}

/* From OUT to DONE or SKIPPED: still live until the commit, but not on the holder's credit. */
static void slot_in(struct vq_coord *c, struct vq_coord_shard *shard, struct vq_coord_slot *slot,
                    enum slot_state state)
{
    slot->state = (uint8_t)state;
    out_less(c, shard);
}

void vq_coord_slot_done(struct vq_coord *c, struct vq_coord_shard *shard, uint32_t i,
                        enum vq_outcome outcome, bool wants_repair)
{
    struct vq_coord_slot *slot = &shard->slots[i];
    if (slot->state != SLOT_OUT) {
        return;
    }
    slot_in(c, shard, slot, SLOT_DONE);
    if (c->params.chains) {
        for (i += 2; !vq_outcome_is_good(outcome) && i < c->shard_tasks; i += 2) {
            if (shard->slots[i].state == SLOT_OUT) {
                slot_in(c, shard, &shard->slots[i], SLOT_SKIPPED);
            }
        }
        return;
    }
    struct vq_coord_slot *other = &shard->slots[i ^ 1u];
    bool skips = wants_repair || vq_outcome_settles(outcome);
    if (other->state == SLOT_OUT && other->ask_lazy && skips) {
        slot_in(c, shard, other, SLOT_SKIPPED);
    }
}

/* ---- the end of a lease ---- */

static void lease_close(struct vq_coord *c, struct vq_coord_shard *shard)
{
    VQ_ASSERT(shard->live == 0 && shard->out == 0);
    struct vq_coord_session *s = shard->holder;
    if (shard->cut) {
        s->cut_n = shard->fence.n > s->cut_n ? shard->fence.n : s->cut_n;
        vq_coord_clean_later(c);
    }
    c->leases.count--;
    vq_unlink(&shard->of_holder);
    s->leases_count--;
    c->lanes[shard->judge].leased_count--;
    use_drop(&c->leases, s, shard->sample);
    shard->holder = NULL;
    shard->limbo = false;
    for (uint32_t i = 0; shard->cut && i < c->shard_tasks; i++) {
        shard->slots[i].cancelled = false;
    }
    shard->cut = false;
    shard->diverged = 0;
    shard->state = SHARD_IDLE;
    vq_coord_shard_stir(c, shard);
}

void vq_coord_lease_check(struct vq_coord *c, struct vq_coord_shard *shard)
{
    if (shard->live == 0) {
        lease_close(c, shard);
    }
}

/* Rule 6: counts the loss; after the last allowed one, the single task that was out fails. */
enum vq_status vq_coord_lease_lost(struct vq_coord *c, struct vq_coord_shard *shard)
{
    if (shard->out == 0 || (shard->calls == 0 && !shard->unknown)) {
        return VQ_OK; /* no call of it was out */
    }
    c->tally.leases_lost++;
    bool alone = shard->lost >= c->params.worker_lost_max;
    VQ_ASSERT(!alone || shard->live == 1);
    if (shard->lost < c->params.worker_lost_max) {
        shard->lost++;
        if (shard->lost == c->params.worker_lost_max) {
            vq_coord_note(
                c, VQ_COORD_NOTE_WARN,
                "shard %llu (sample %u, judge %s) was lost with its worker %u times: it is "
                "tried task by task",
                (unsigned long long)shard->no, shard->sample, c->lanes[shard->judge].name,
                (unsigned)shard->lost);
        }
    }
    for (uint32_t i = 0; alone && i < c->shard_tasks; i++) {
        struct vq_coord_slot *slot = &shard->slots[i];
        if (slot->state == SLOT_OUT) {
            slot->failing = true;
            VQ_TRY(vq_coord_gather_failure(&c->batches, vq_coord_task_at(c, shard, i), slot->repeat,
                                           VQ_OUTCOME_WORKER_LOST));
        }
    }
    return VQ_OK;
}

void vq_coord_lease_end(struct vq_coord *c, struct vq_coord_shard *shard)
{
    for (uint32_t i = 0; shard->live > 0; i++) {
        if (shard->slots[i].state != SLOT_FREE) {
            vq_coord_slot_return(c, shard, i);
        }
    }
    lease_close(c, shard);
}

enum vq_status vq_coord_lease_diverged(struct vq_coord *c, struct vq_coord_shard *shard, uint32_t i)
{
    if (shard->diverged > 0) {
        return VQ_OK;
    }
    shard->diverged = i + 1;
    return vq_coord_send_settled(c, shard, i);
}

enum vq_status vq_coord_returned(struct vq_coord *c, struct vq_coord_session *s,
                                 const struct vq_msg_cancel *cancel)
{
    struct vq_coord_shard *shard = vq_coord_shard_find(c, cancel->shard);
    if (cancel->stage != c->params.stage) {
        return VQ_OK;
    }
    if (!vq_coord_lease_current(shard, cancel->fence) || shard->holder != s) {
        return VQ_OK;
    }
    struct vq_coord_use *use = use_find(&c->leases, s, shard->sample);
    /* the worker may give it back because it lacks the texts: they are sent again next time */
    use->sent = false;
    for (uint32_t n = 0; n < cancel->tasks_count; n++) {
        uint64_t task = cancel->tasks[n];
        if (vq_coord_shard_of(c, task) != shard->no) {
            return vq_coord_broke(c, s, "CANCEL names a task of another shard");
        }
        uint32_t i = (uint32_t)(task % c->shard_tasks);
        if (shard->slots[i].state == SLOT_OUT) {
            vq_coord_slot_return(c, shard, i);
        }
    }
    for (uint32_t i = 0; cancel->tasks_count == 0 && i < c->shard_tasks; i++) {
        if (shard->slots[i].state == SLOT_OUT) {
            vq_coord_slot_return(c, shard, i);
        }
    }
    vq_coord_lease_check(c, shard);
    return VQ_OK;
}

enum vq_status vq_coord_lease_move(struct vq_coord *c, struct vq_coord_session *from,
                                   struct vq_coord_session *to)
{
    struct vq_link *link;
    while ((link = vq_list_first(&from->leases)) != NULL) {
        struct vq_coord_shard *shard = VQ_CONTAINER_OF(link, struct vq_coord_shard, of_holder);
        struct vq_coord_use *use;
        VQ_TRY(use_take(&c->leases, to, shard->sample, &use));
        use_drop(&c->leases, from, shard->sample);
        vq_list_push(&to->leases, link);
        from->leases_count--;
        to->leases_count++;
        from->offers[shard->judge].held -= counted(c, shard->out);
        to->offers[shard->judge].held += counted(c, shard->out);
        shard->holder = to;
        shard->limbo = true;
    }
    while ((link = vq_list_first(&from->calls)) != NULL) {
        vq_coord_call_give(VQ_CONTAINER_OF(link, struct vq_coord_call, mine), to);
    }
    return VQ_OK;
}

/* ---- granting ---- */

/* A hungry worker: one that has the sample's texts, or else the one that waited longest. NULL:
 * none. */
static struct vq_coord_offer *lease_offer(struct vq_coord *c, struct vq_coord_lane *lane,
                                          const struct vq_coord_shard *shard)
{
    struct vq_index_node *node = vq_index_find(&c->leases.uses, vq_index_mix(shard->sample));
    struct vq_coord_offer *home = NULL;
    for (; node != NULL && home == NULL; node = vq_index_again(node)) {
        struct vq_coord_use *use = VQ_CONTAINER_OF(node, struct vq_coord_use, by_sample);
        struct vq_coord_offer *offer = &use->session->offers[shard->judge];
        home = vq_linked(&offer->hungry) ? offer : NULL;
    }
    int64_t fresh_ns = VQ_COORD_FRESH_HEARTBEATS * c->params.heartbeat_ns;
    for (;;) {
        struct vq_link *link = vq_list_first(&lane->hungry);
        if (home == NULL && link == NULL) {
            return NULL;
        }
        struct vq_coord_offer *offer =
            home != NULL ? home : VQ_CONTAINER_OF(link, struct vq_coord_offer, hungry);
        home = NULL;
        if (c->now_ns - offer->session->heard_ns <= fresh_ns) {
            return offer;
        }
        offer->session->stale = true;
        vq_coord_hungry_all(c, offer->session);
    }
}

/* Whether slot i can be in this lease, and whether as lazy. */
static bool slot_fits(const struct vq_coord *c, const struct vq_coord_shard *shard, uint32_t i,
                      bool *ret_lazy)
{
    const struct vq_coord_slot *slot = &shard->slots[i];
    *ret_lazy = false;
    if (!vq_coord_slot_free(c, shard, i) || vq_coord_alike_out(c, slot)) {
        return false;
    }
    uint32_t first = vq_coord_slot_first(shard, i);
    if (!slot->lazy || c->tasks.outcome[vq_coord_task_at(c, shard, first)] != VQ_OUTCOME_NONE) {
        return true;
    }
    *ret_lazy = true; /* only the first order's answer shows whether it is needed */
    return shard->slots[first].state == SLOT_OUT && !c->lanes[shard->judge].seconds_wait;
}

/* Marks up to `room` slots as out, each cell's first order before its second. */
static uint32_t lease_slots(struct vq_coord *c, struct vq_coord_shard *shard, uint32_t room)
{
    uint32_t taken = 0;
    for (uint32_t n = 0; n < c->shard_tasks && taken < room; n++) {
        uint32_t i = shard->slots[n & ~1u].second ? n ^ 1u : n;
        bool lazy;
        if (slot_fits(c, shard, i, &lazy)) {
            shard->slots[i].state = SLOT_OUT;
            shard->slots[i].ask_lazy = lazy;
            vq_coord_alike_begin(c, &shard->slots[i]);
            taken++;
        }
    }
    return taken;
}

/* Leases a chain's open turns, up to `room`, but not a turn that has a stored answer or later ones:
 * after the turns before it are answered, the next look-up shows whether that answer is valid. */
static uint32_t lease_turns(struct vq_coord *c, struct vq_coord_shard *shard, uint32_t room)
{
    uint32_t taken = 0;
    uint32_t i;
    for (bool open = vq_coord_chain_free(c, shard, &i);
         open && i < c->shard_tasks && taken < room && !shard->slots[i].ahead; i += 2) {
        if (c->tasks.outcome[vq_coord_task_at(c, shard, i)] == VQ_OUTCOME_NONE) {
            shard->slots[i].state = SLOT_OUT;
            shard->slots[i].ask_lazy = false;
            taken++;
        }
    }
    return taken;
}

static enum vq_status lease_say(struct vq_coord *c, struct vq_coord_shard *shard)
{
    struct vq_coord_session *s = shard->holder;
    struct vq_coord_use *use;
    VQ_TRY(use_take(&c->leases, s, shard->sample, &use));
    struct vq_coord_entry entry = {.peer = s->peer, .session = s->id};
    if (!use->sent) {
        use->sent = true;
        entry.kind = ENTRY_SAMPLE;
        entry.a = shard->sample;
        VQ_TRY(vq_coord_add_action(&c->actions, entry));
    }
    entry.kind = ENTRY_LEASE;
    entry.a = shard->no;
    entry.fence = shard->fence;
    return vq_coord_add_action(&c->actions, entry);
}

/* Tasks that may be leased, without those reserved for interactive pools. A batched task is open,
 * too. If another run's answer settles it, the true number is higher. */
static uint64_t leasable(const struct vq_coord_lane *lane)
{
    uint64_t taken = lane->live + lane->batched + lane->keep;
    return lane->open > taken ? lane->open - taken : 0;
}

static enum vq_status lease_grant(struct vq_coord *c, struct vq_coord_lane *lane,
                                  struct vq_coord_shard *shard, struct vq_coord_offer *offer)
{
    uint32_t room = c->params.chains ? c->shard_tasks : offer->credit - offer->held;
    if (!lane->answered || shard->lost >= c->params.worker_lost_max) {
        room = 1; /* a probe, or a shard whose workers were lost */
    }
    if (lane->keep > 0 && leasable(lane) < room) {
        room = (uint32_t)leasable(lane);
    }
    uint32_t taken = c->params.chains ? lease_turns(c, shard, room) : lease_slots(c, shard, room);
    vq_coord_shard_unready(c, shard);
    if (taken == 0) {
        shard->state = SHARD_PARKED;
        vq_coord_alike_wait(c, shard);
        return VQ_OK;
    }
    struct vq_coord_session *s = offer->session;
    shard->state = SHARD_LEASED;
    shard->holder = s;
    shard->fence = (struct vq_fence){c->params.epoch, ++c->leases.fence_n};
    shard->unknown = shard->moved = false;
    shard->live = shard->out = taken;
    vq_coord_lease_renew(shard, s->stamp_ns);
    c->leases.count++;
    c->leases.out += counted(c, taken);
    s->leases_count++;
    lane->leased_count++;
    lane->live += taken;
    offer->held += counted(c, taken);
    if (lane->direct) {
        lane->returned -= taken < lane->returned ? taken : lane->returned;
    }
    c->tasks.moves[VQ_TASK_OPEN][VQ_TASK_ON_LEASE] += taken;
    vq_unlink(&offer->hungry); /* to the end of the queue, if the worker is still hungry */
    vq_coord_hungry_update(c, offer);
    return lease_say(c, shard);
}

/* The next shard. While all calls of a judge fail alike, it is one of a row that did not fail yet,
 * because that shows more. */
static struct vq_link *lease_next(const struct vq_coord *c, const struct vq_coord_lane *lane)
{
    struct vq_link *first = vq_list_first(&lane->ready);
    bool looks = first != NULL && c->params.brake_calls > 0 && vq_coord_lane_suspect(c, lane);
    for (struct vq_link *at = first; looks && at != &lane->ready; at = at->next) {
        uint32_t sample = VQ_CONTAINER_OF(at, struct vq_coord_shard, queue)->sample;
        bool asked = false;
        for (uint32_t i = 0; i < lane->pools_count; i++) {
            asked = asked || vq_brake_saw(&lane->brakes[i], sample);
        }
        if (!asked) {
            return at;
        }
    }
    return first;
}

/* The GRANT goes before the LEASEs: until it comes, a worker puts its calls into batches. */
enum vq_status vq_coord_steer(struct vq_coord *c, uint32_t judge, bool direct, uint64_t keep,
                              int64_t now_ns)
{
    VQ_ASSERT(judge < c->params.grid.judges);
    vq_coord_enter(c, now_ns);
    c->lanes[judge].direct = direct;
    c->lanes[judge].keep = direct ? 0 : keep;
    c->grants.check = true;
    return vq_coord_send_grants(c);
}

enum vq_status vq_coord_lease_all(struct vq_coord *c)
{
    /* so that all judges get a share if room is short */
    c->leases.turn = (c->leases.turn + 1) % c->params.grid.judges;
    for (uint32_t j = 0; j < c->params.grid.judges; j++) {
        struct vq_coord_lane *lane = &c->lanes[(c->leases.turn + j) % c->params.grid.judges];
        struct vq_link *link;
        while (!vq_coord_gather_busy(c) && !lane->braked &&
               (lane->keep == 0 || leasable(lane) > 0) &&
               (lane->answered || (lane->live == 0 && !vq_coord_lane_refused(c, lane))) &&
               (link = lease_next(c, lane)) != NULL) {
            struct vq_coord_shard *shard = VQ_CONTAINER_OF(link, struct vq_coord_shard, queue);
            struct vq_coord_offer *offer = lease_offer(c, lane, shard);
            if (offer == NULL) {
                break;
            }
            bool fresh, wait;
            VQ_TRY(vq_coord_shard_fresh(c, shard, offer->credit - offer->held, &fresh, &wait));
            if (wait) {
                break;
            }
            if (!fresh) {
                continue;
            }
            VQ_TRY(lease_grant(c, lane, shard, offer));
        }
    }
    return VQ_OK;
}
