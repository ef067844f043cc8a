/* Connects this stage's sessions and the authority over the pools (authority.h): workers that join,
 * workers that were lost and their results, workers that get new slices, and the end of the budget.
 * The authority outlives the core and keeps all that the core reported to it.
 *
 * Invariants: the core reports each worker to the authority once as joined, and later once as left,
 * unless the next stage's core takes it over. The core reports "settled" only after every lost
 * worker is accounted for: its process has ended and its spool was read, or it has no spool and its
 * listed calls are given up, and all of this is committed; or the worker is back. At most one GRANT
 * waits per session; its contents are filled in when it is taken. Not its job: splitting limits
 * (the authority), spools (the shell). */
#include "common/base/alloc.h"
#include "coordinator/queue/internal.h"

#include <stdio.h>

/* ---- lost workers ---- */

static struct vq_coord_left *left_find(const struct vq_coord_left_ones *left,
                                       const struct vq_id *worker)
{
    for (size_t i = 0; i < left->count; i++) {
        if (vq_id_eq(&left->list[i].worker, worker)) {
            return &left->list[i];
        }
    }
    return NULL;
}

/* If the list is full, the reservations of the worker stay counted as spent. */
static enum vq_status left_add(struct vq_coord_left_ones *ones, const struct vq_coord_left *left)
{
    struct vq_coord_left *known = left_find(ones, &left->worker);
    if (known != NULL) {
        *known = *left;
        return VQ_OK;
    }
    ones->lost |= ones->count >= VQ_COORD_LEFT_MAX;
    if (ones->lost) {
        return VQ_OK;
    }
    VQ_TRY(VQ_GROW(ones->list, &ones->cap, ones->count + 1, VQ_COORD_LEFT_MAX));
    ones->list[ones->count++] = *left;
    return VQ_OK;
}

enum vq_status vq_coord_joined(struct vq_coord *c, const struct vq_coord_session *s)
{
    c->grants.check = true;
    return vq_authority_join(c->params.authority, &s->worker, s->has_spool, s->local < 0,
                             c->now_ns);
}

/* Whether another process is known to have its spool, and has reported its contents. */
static bool succeeded(const struct vq_coord_sessions *sessions, const struct vq_coord_session *s)
{
    for (size_t i = 0; i < sessions->count; i++) {
        const struct vq_coord_session *other = sessions->all[i];
        if (other->reported && vq_id_eq(&other->before, &s->worker)) {
            return true;
        }
    }
    return false;
}

enum vq_status vq_coord_gone(struct vq_coord *c, struct vq_coord_session *s,
                             enum vq_authority_end how, bool settled)
{
    if (s->gone) {
        return VQ_OK;
    }
    s->gone = true;
    if (how != VQ_AUTHORITY_LEFT) { /* providers may still work on its calls */
        vq_coord_clean_later(c);
    }
    c->left.any = true;
    c->grants.check = true;
    vq_authority_leave(c->params.authority, &s->worker, how, c->now_ns);
    bool known =
        settled || how == VQ_AUTHORITY_ENDED || !s->has_spool || succeeded(&c->sessions, s);
    struct vq_coord_left left = {
        .worker = s->worker, .local = s->local, .no = known ? c->batches.n : 0};
    return left_add(&c->left, &left);
}

static void left_end(struct vq_coord *c, struct vq_coord_left *left)
{
    vq_authority_leave(c->params.authority, &left->worker, VQ_AUTHORITY_ENDED, c->now_ns);
    left->no = c->batches.n;
    c->left.any = true;
    c->grants.check = true;
}

void vq_coord_left_ended(struct vq_coord *c, int64_t local)
{
    for (size_t i = 0; i < c->left.count; i++) {
        struct vq_coord_left *left = &c->left.list[i];
        if (left->local == local && left->no == 0) {
            left_end(c, left);
        }
    }
}

/* Some results of batch `no` or an earlier one are not committed yet. */
static bool outstanding(const struct vq_coord_batches *batches, uint64_t no)
{
    return (batches->n <= no && !vq_coord_gather_empty(batches)) ||
           (batches->in_flight != NULL && batches->in_flight->batch.no <= no);
}

static bool left_settled(const struct vq_coord *c, const struct vq_coord_left *left)
{
    return left->no != 0 && c->now_ns >= left->from_ns && !outstanding(&c->batches, left->no);
}

void vq_coord_left_settle(struct vq_coord *c)
{
    if (!c->left.any || c->left.lost) {
        return;
    }
    for (size_t i = 0; i < c->left.count; i++) {
        if (!left_settled(c, &c->left.list[i])) {
            return;
        }
    }
    if (vq_coord_calls_orphaned(&c->calls)) {
        return;
    }
    c->left.count = 0;
    c->left.any = false;
    c->grants.check = true;
    vq_authority_settle_left(c->params.authority);
}

bool vq_coord_left_missed(const struct vq_coord_left_ones *ones)
{
    for (size_t i = 0; i < ones->count; i++) {
        const struct vq_coord_left *left = &ones->list[i];
        if (left->no == 0 && left->local < 0 && !left->waited) {
            return true;
        }
    }
    return false;
}

void vq_coord_left_give_up(struct vq_coord_left_ones *left)
{
    for (size_t i = 0; i < left->count; i++) {
        left->list[i].waited = true;
    }
}

/* A worker that had a session and has not said HELLO to this stage counts as missing until it does,
 * or until its process is known to have ended. */
enum vq_status vq_coord_left_hand_over(const struct vq_coord *from, struct vq_coord *to)
{
    to->left.lost |= from->left.lost;
    /* no worker of this stage reserves anything for these calls */
    bool out = from->calls.listed_count > from->calls.holds_count;
    to->calls.gone_until_ns = out ? to->now_ns + to->params.term_ns : from->calls.gone_until_ns;
    to->left.any |= from->left.any;
    int64_t from_ns = to->now_ns + to->params.term_ns;
    for (size_t i = 0; i < from->left.count; i++) {
        struct vq_coord_left left = from->left.list[i];
        left.from_ns =
            left.no != 0 && outstanding(&from->batches, left.no) ? from_ns : left.from_ns;
        left.no = left.no == 0 ? 0 : to->batches.n;
        VQ_TRY(left_add(&to->left, &left));
    }
    for (size_t i = 0; i < from->sessions.count; i++) {
        const struct vq_coord_session *s = from->sessions.all[i];
        struct vq_coord_left left = {.worker = s->worker,
                                     .local = s->local,
                                     .no = s->has_spool ? 0 : to->batches.n,
                                     .from_ns = from_ns};
        if (!s->gone) {
            VQ_TRY(left_add(&to->left, &left));
        }
    }
    return VQ_OK;
}

/* ---- reports of workers, and their grants ---- */

enum vq_status vq_coord_reported(struct vq_coord *c, struct vq_coord_session *s,
                                 const struct vq_msg_credit *credit)
{
    bool first = !s->reported;
    const struct vq_id *both[] = {&s->worker, &s->before};
    for (size_t i = 0; first && i < VQ_COUNT(both); i++) {
        struct vq_coord_left *left = left_find(&c->left, both[i]);
        /* it is back, or its spool was taken over: its reservation is accounted for */
        if (left != NULL) {
            left->no = c->batches.n;
        }
    }
    s->reported = true;
    s->spend = credit->spend;
    s->in_flight = s->waiting = 0;
    for (uint32_t n = 0; n < credit->reports_count; n++) {
        s->in_flight += credit->reports[n].in_flight;
        s->waiting += credit->reports[n].waiting;
    }
    c->grants.check = true;
    VQ_TRY(vq_coord_keyless(c, s, credit));
    VQ_TRY(vq_authority_report(c->params.authority, &s->worker, credit, c->now_ns));
    if (first) {
        vq_authority_succeeded(c->params.authority, &s->before);
    }
    return VQ_OK;
}

enum vq_status vq_coord_send_grant(struct vq_coord_actions *actions, struct vq_coord_session *s)
{
    if (s->granting || !s->held || s->deaf) {
        return VQ_OK;
    }
    s->granting = true;
    return vq_coord_add_action(
        actions, (struct vq_coord_entry){.kind = ENTRY_GRANT, .peer = s->peer, .session = s->id});
}

enum vq_status vq_coord_send_grants(struct vq_coord *c)
{
    if (!c->grants.check) {
        return VQ_OK;
    }
    c->grants.check = false;
    for (size_t i = 0; i < c->sessions.count; i++) {
        struct vq_coord_session *s = c->sessions.all[i];
        if (s->reported && vq_authority_due(c->params.authority, &s->worker)) {
            VQ_TRY(vq_coord_send_grant(&c->actions, s));
        }
    }
    return VQ_OK;
}

/* ---- the budget ---- */

void vq_coord_report_work(struct vq_coord *c)
{
    for (uint32_t p = 0; p < vq_authority_pools(c->params.authority); p++) {
        vq_authority_work(c->params.authority, p, false);
    }
    for (uint32_t j = 0; j < c->params.grid.judges; j++) {
        const struct vq_coord_lane *lane = &c->lanes[j];
        for (uint32_t i = 0; lane->open > 0 && i < lane->pools_count; i++) {
            vq_authority_work(c->params.authority, lane->pools[i], true);
        }
    }
}

/* Tasks wait for a call, and nothing is known to be out that could still change the amount
 * spent. */
static bool waits_for_money(const struct vq_coord *c)
{
    if (c->tasks.open == 0 || c->scout.lookups > 0 || !vq_coord_is_active(c) ||
        !vq_coord_gather_empty(&c->batches) || c->batches.in_flight != NULL) {
        return false;
    }
    for (size_t i = 0; i < c->sessions.count; i++) {
        if (c->sessions.all[i]->in_flight > 0) {
            return false;
        }
    }
    bool work = c->leases.count > 0;
    for (uint32_t j = 0; j < c->params.grid.judges && !work; j++) {
        work = c->lanes[j].ready_count > 0;
    }
    return work;
}

/* Whether the pools of some judge with work let a call start. */
static bool is_askable(const struct vq_coord *c)
{
    for (uint32_t j = 0; j < c->params.grid.judges; j++) {
        const struct vq_coord_lane *lane = &c->lanes[j];
        int64_t when_ns;
        if ((lane->ready_count > 0 || lane->leased_count > 0) &&
            vq_authority_when(c->params.authority, lane->pools, lane->pools_count, c->now_ns,
                              &when_ns) &&
            when_ns <= c->now_ns) {
            return true;
        }
    }
    return false;
}

/* Nanoseconds without a call in flight after which the run counts as out of money; 0: it is not.
 * Part of the budget may be reserved for workers whose spending is unknown, and the rest may be in
 * slices that are too small for a call. */
static int64_t broke_after(const struct vq_coord *c, const struct vq_authority_money *money)
{
    if (money->empty) {
        return VQ_COORD_BROKE_HEARTBEATS * c->params.heartbeat_ns;
    }
    uint64_t taken = money->spent_nano + money->out_nano;
    uint64_t left = taken < money->budget_nano ? money->budget_nano - taken : 0;
    uint64_t unit = 0;
    bool starve = true;
    for (size_t i = 0; i < c->sessions.count; i++) {
        const struct vq_amount *spend = &c->sessions.all[i]->spend;
        bool room = spend->most >= spend->used && spend->most - spend->used >= spend->unit;
        starve = starve && (spend->unit == 0 || !room);
        unit = spend->unit > unit ? spend->unit : unit;
    }
    if (left >= unit || !is_askable(c)) {
        return 0;
    }
    return (starve ? VQ_COORD_BROKE_TERMS : 3 * VQ_COORD_BROKE_TERMS) * c->params.term_ns;
}

/* Stops the run only if it was out of money for some time: reports about calls in flight are a
 * little old, judges without cost may continue, and lost workers may release their reservations. */
enum vq_status vq_coord_money_tick(struct vq_coord *c)
{
    struct vq_authority_money money;
    vq_authority_money(c->params.authority, &money);
    int64_t wait_ns = money.budget_nano == VQ_AMOUNT_ANY ? 0 : broke_after(c, &money);
    if (wait_ns == 0 || !waits_for_money(c)) {
        c->grants.broke_ns = 0;
        return VQ_OK;
    }
    c->grants.broke_ns = c->grants.broke_ns == 0 ? c->now_ns : c->grants.broke_ns;
    if (c->now_ns - c->grants.broke_ns < wait_ns) {
        return VQ_OK;
    }
    char text[VQ_COORD_TEXT_BYTES_MAX];
    (void)snprintf(
        text, sizeof(text),
        "the budget of $%.4f allows no further call: $%.4f are spent%s. Nothing failed; vibeq "
        "resume %.128s --set budget.usd=N continues with more",
        (double)money.budget_nano / VQ_NANO_PER_USD, (double)money.spent_nano / VQ_NANO_PER_USD,
        money.out_nano > 0
            ? " and the rest is too small for a call, or reserved for calls whose end is unknown"
            : "",
        c->run_name);
    return vq_coord_begin_stop(c, VQ_COORD_STOP_BUDGET, c->now_ns + 2 * c->params.term_ns, text);
}
