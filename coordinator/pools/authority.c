/* The events of the authority, and the GRANTs that follow from them.
 *
 * Ownership: it owns the workers (one slot each, found by id) and the pools. A worker's slot is
 * used again when nothing of the worker counts any more: at once if it left or was silent, a term
 * later if its process ended. Its seats, one per pool, are created with its first report.
 *
 * An event costs O(pools it names). Dealing costs O(workers that could have a slice of the pool),
 * at most every VQ_AUTH_DEAL_NS, or sooner if something is free for which workers wait.
 *
 * Not its job: the size of each slice (authority_split.c), unknown limits (authority_learn.c), the
 * status (authority_status.c). */
#include "common/base/alloc.h"
#include "common/base/sum.h"
#include "coordinator/pools/authority_parts.h"

#include <stdio.h>
#include <string.h>

#define JITTER         0.01 /* of a window, if it is not configured */
#define DAY_NS         (24 * 3600 * VQ_AUTH_S)
#define CLOCK_JUMP_NS  (2 * VQ_AUTH_S) /* a larger step means that the wall clock was set */
#define PAUSE_SLACK_NS (50 * VQ_AUTH_MS)

/* ---- create ---- */

static enum vq_status pool_fill(struct vq_auth_pool *p, const struct vq_authority_pool *from,
                                uint32_t index, int64_t jitter_ns, int64_t now_ns)
{
    p->index = index;
    p->account = from->account;
    p->name = vq_strdup(from->name);
    p->model = from->model == NULL ? NULL : vq_strdup(from->model);
    p->state.text = vq_alloc(VQ_AUTHORITY_TEXT_BYTES, 1);
    p->keys.closed_why = vq_alloc(VQ_AUTHORITY_TEXT_BYTES, 1);
    p->keys.why = vq_alloc(VQ_AUTHORITY_TEXT_BYTES, 1);
    if (p->name == NULL || p->state.text == NULL || p->keys.closed_why == NULL ||
        p->keys.why == NULL || (from->model != NULL && p->model == NULL)) {
        return VQ_NOMEM;
    }
    p->named.share = from->share > 0 ? from->share : 1;
    p->named.limit = from->limit;
    p->window_ns = (from->window_ms == 0 ? VQ_AUTH_WINDOW_MS : from->window_ms) * VQ_AUTH_MS;
    p->jitter_ns = jitter_ns != 0 ? jitter_ns : (int64_t)((double)p->window_ns * JITTER);
    p->lock.locked = from->locked;
    p->holders.past_unknown = from->locked;
    p->day.ends_ns = from->day_ends_ns;
    p->price.known = from->priced;
    p->price.input_nano = from->input_nano;
    p->price.output_nano = from->output_nano;
    p->state.is = VQ_AUTHORITY_NOBODY;
    p->state.since_ns = p->deal.at_ns = p->holders.peak_ns = p->used.began_ns = now_ns;
    p->holders.moved_ns = now_ns;
    for (unsigned r = 0; r < VQ_RATE__COUNT; r++) {
        p->force.limit.rates.of[r] = 0;
    }
    if (from->day_requests != 0) {
        VQ_TRY(vq_purse_create(from->day_requests, from->day_requests_spent, &p->day.requests));
    }
    if (from->day_tokens != 0) {
        VQ_TRY(vq_purse_create(from->day_tokens, from->day_tokens_spent, &p->day.tokens));
    }
    vq_auth_learn_init(p, now_ns);
    vq_auth_limits(p);
    p->force.fell = false;
    return VQ_OK;
}

static enum vq_status check(const struct vq_authority_params *params, struct vq_error *err)
{
    VQ_ASSERT(params->advances_count <= VQ_AUTHORITY_ADVANCES_MAX + VQ_AUTHORITY_WORKERS_MAX);
    if (params->pools_count > VQ_AUTHORITY_POOLS_MAX || params->term_ns <= 0 ||
        params->jitter_ns < 0) {
        return vq_fail(err, VQ_INVALID, "a run has at most %u pools, and a term above 0",
                       VQ_AUTHORITY_POOLS_MAX);
    }
    for (uint32_t i = 0; i < params->pools_count; i++) {
        const struct vq_authority_pool *pool = &params->pools[i];
        bool bad = pool->name == NULL || !(pool->share >= 0 && pool->share <= 1);
        for (unsigned r = 0; r < VQ_RATE__COUNT; r++) {
            double rate = pool->limit.rates.of[r];
            bad = bad || !isfinite(rate) || rate < 0;
        }
        if (bad) {
            return vq_fail(err, VQ_INVALID, "pool %s: its limits are not numbers of 0 or more",
                           pool->name == NULL ? "?" : pool->name);
        }
    }
    return VQ_OK;
}

enum vq_status vq_authority_create(const struct vq_authority_params *params, int64_t now_ns,
                                   struct vq_authority **ret_authority, struct vq_error *err)
{
    VQ_TRY(check(params, err));
    enum vq_status status = VQ_NOMEM;
    struct vq_authority *a = vq_alloc(1, sizeof(*a));
    if (a == NULL) {
        return VQ_NOMEM;
    }
    a->pools = vq_alloc(params->pools_count, sizeof(*a->pools));
    a->pairs_told = vq_alloc((size_t)params->pools_count * params->pools_count / 8 + 1, 1);
    if (a->pools == NULL || a->pairs_told == NULL) {
        goto out;
    }
    a->pools_count = params->pools_count;
    a->term_ns = params->term_ns;
    a->wait_until_ns = a->wait_ns = params->wait_until_ns;
    vq_authority_asks(a, 0, 0);
    a->now_ns = a->tick_ns = a->wake_ns = now_ns;
    for (uint32_t i = 0; i < a->pools_count; i++) {
        status = pool_fill(&a->pools[i], &params->pools[i], i, params->jitter_ns, now_ns);
        if (status != VQ_OK) {
            goto out;
        }
        a->pools[i].holders.past_unknown |= params->wait_until_ns > now_ns;
    }
    status = vq_purse_create(params->budget_nano, params->spent_nano, &a->spend);
    if (status == VQ_OK) {
        status = vq_auth_owed_begin(a, params);
    }
    if (status == VQ_OK) {
        *ret_authority = a;
        return VQ_OK;
    }
out:
    vq_authority_destroy(&a);
    return status;
}

static void worker_free(struct vq_authority *a, struct vq_auth_worker *w)
{
    a->workers[w->slot] = NULL;
    vq_index_remove(&a->ids, &w->node);
    vq_free(w->seats);
    vq_free(w);
}

void vq_authority_destroy(struct vq_authority **authority)
{
    struct vq_authority *a = *authority;
    if (a == NULL) {
        return;
    }
    for (uint32_t i = 0; i < a->slots; i++) {
        if (a->workers[i] != NULL) {
            worker_free(a, a->workers[i]);
        }
    }
    for (uint32_t i = 0; i < a->pools_count; i++) {
        struct vq_auth_pool *p = &a->pools[i];
        vq_free(p->name);
        vq_free(p->model);
        vq_free(p->lock.holder);
        vq_free(p->state.text);
        vq_free(p->keys.closed_why);
        vq_free(p->keys.why);
        vq_free(p->members.list);
        vq_free(p->holders.list);
        vq_free(p->keys.list);
        vq_purse_destroy(&p->day.requests);
        vq_purse_destroy(&p->day.tokens);
    }
    vq_purse_destroy(&a->spend);
    vq_index_free(&a->ids);
    vq_free(a->pools);
    vq_free(a->pairs_told);
    vq_free(a->owed);
    vq_free(a);
    *authority = NULL;
}

/* ---- workers ---- */

struct vq_auth_worker *vq_auth_find(const struct vq_authority *a, const struct vq_id *id)
{
    struct vq_index_node *node = vq_index_find(&a->ids, vq_id_hash(id));
    for (; node != NULL; node = vq_index_again(node)) {
        struct vq_auth_worker *w = VQ_CONTAINER_OF(node, struct vq_auth_worker, node);
        if (vq_id_eq(&w->id, id)) {
            return w;
        }
    }
    return NULL;
}

void vq_auth_touch(struct vq_authority *a, struct vq_auth_pool *p, int64_t when_ns)
{
    p->deal.due = true;
    if (when_ns < p->deal.at_ns) {
        int64_t soonest_ns = p->deal.last_ns + VQ_AUTH_DEAL_SOON_NS;
        p->deal.at_ns = when_ns > soonest_ns ? when_ns : soonest_ns;
    }
    a->wake_ns = p->deal.at_ns < a->wake_ns ? p->deal.at_ns : a->wake_ns;
}

static void deal_all(struct vq_authority *a, int64_t now_ns)
{
    for (uint32_t i = 0; i < a->pools_count; i++) {
        vq_auth_deal(a, &a->pools[i], now_ns);
        vq_auth_state(a, &a->pools[i], now_ns);
    }
}

enum vq_status vq_authority_join(struct vq_authority *a, const struct vq_id *worker, bool noted,
                                 bool remote, int64_t now_ns)
{
    struct vq_auth_worker *w = vq_auth_find(a, worker);
    if (w != NULL) {
        if (w->state == VQ_AUTH_HERE) {
            vq_authority_heard(a, worker, now_ns);
            w->due = w->urgent = w->granted_n != 0; /* the last GRANT may be lost */
            w->spend_joined = false;
            for (uint32_t i = 0; w->seats != NULL && i < a->pools_count; i++) {
                w->seats[i].day_joined = false;
            }
        }
        return VQ_OK;
    }
    uint32_t slot = 0;
    while (slot < a->slots && a->workers[slot] != NULL) {
        slot++;
    }
    if (slot == VQ_AUTHORITY_WORKERS_MAX) {
        return VQ_LIMIT;
    }
    VQ_TRY(vq_auth_owed_room(a, (size_t)a->slots + 1));
    w = vq_alloc(1, sizeof(*w));
    if (w == NULL) {
        return VQ_NOMEM;
    }
    *w = (struct vq_auth_worker){
        .id = *worker, .slot = slot, .noted = noted, .remote = remote, .heard_ns = now_ns};
    enum vq_status status = vq_index_add(&a->ids, &w->node, vq_id_hash(worker));
    if (status != VQ_OK) {
        vq_free(w);
        return status;
    }
    a->workers[slot] = w;
    a->slots = slot == a->slots ? slot + 1 : a->slots;
    return VQ_OK;
}

static void purses_silent(struct vq_authority *a, const struct vq_auth_worker *w)
{
    vq_purse_silent(a->spend, w->slot);
    for (uint32_t i = 0; w->seats != NULL && i < a->pools_count; i++) {
        if (a->pools[i].day.requests != NULL) {
            vq_purse_silent(a->pools[i].day.requests, w->slot);
        }
        if (a->pools[i].day.tokens != NULL) {
            vq_purse_silent(a->pools[i].day.tokens, w->slot);
        }
    }
}

/* Its term is over: all its slices have ended at the worker, too. */
static void lapse(struct vq_authority *a, struct vq_auth_worker *w, int64_t now_ns)
{
    if (!w->lapsed && now_ns - w->heard_ns >= a->term_ns) {
        w->lapsed = true;
        purses_silent(a, w);
        vq_auth_void(a, w, false, now_ns);
    }
}

void vq_authority_heard(struct vq_authority *a, const struct vq_id *worker, int64_t now_ns)
{
    struct vq_auth_worker *w = vq_auth_find(a, worker);
    if (w == NULL || w->state != VQ_AUTH_HERE) {
        return;
    }
    lapse(a, w, now_ns);
    w->heard_ns = now_ns;
    if (w->lapsed) {
        w->lapsed = false;
        w->due = true;
        for (uint32_t i = 0; w->seats != NULL && i < a->pools_count; i++) {
            if (w->seats[i].member != VQ_AUTH_NOBODY) {
                vq_auth_touch(a, &a->pools[i], now_ns);
            }
        }
    }
}

static void purses_leave(struct vq_authority *a, struct vq_auth_worker *w, bool settled)
{
    vq_auth_owed_leave(a, w, settled);
    enum vq_purse_end how = settled ? VQ_PURSE_SETTLED : w->noted ? VQ_PURSE_LEFT : VQ_PURSE_LOST;
    vq_purse_leave(a->spend, w->slot, how);
    for (uint32_t i = 0; w->seats != NULL && i < a->pools_count; i++) {
        if (a->pools[i].day.requests != NULL) {
            vq_purse_leave(a->pools[i].day.requests, w->slot, how);
        }
        if (a->pools[i].day.tokens != NULL) {
            vq_purse_leave(a->pools[i].day.tokens, w->slot, how);
        }
        w->seats[i].day_joined = false;
    }
    w->spend_joined = false;
}

static void gone(struct vq_authority *a, struct vq_auth_worker *w, int64_t now_ns)
{
    for (uint32_t i = 0; w->seats != NULL && i < a->pools_count; i++) {
        if (w->seats[i].known) {
            if (w->seats[i].listed) {
                vq_auth_touch(a, &a->pools[i], now_ns);
            }
            vq_auth_forget(a, &a->pools[i], w);
            a->pools[i].members.known--;
        }
    }
    worker_free(a, w);
}

/* Its calls at providers are unknown: it may use slices of an earlier process until they end,
 * unless it has confirmed a GRANT. */
static bool has_unreported_grant(const struct vq_authority *a, const struct vq_auth_worker *w)
{
    return w->seats == NULL || (w->confirmed_n == 0 && w->said_ns < a->wait_ns);
}

void vq_authority_leave(struct vq_authority *a, const struct vq_id *worker,
                        enum vq_authority_end how, int64_t now_ns)
{
    struct vq_auth_worker *w = vq_auth_find(a, worker);
    if (w == NULL || w->state != VQ_AUTH_HERE) {
        return;
    }
    purses_leave(a, w, how == VQ_AUTHORITY_LEFT);
    vq_auth_word_left(a, w, VQ_AUTH_WORD_NS, now_ns);
    vq_auth_void(a, w, how == VQ_AUTHORITY_ENDED, now_ns);
    for (uint32_t i = 0; w->seats != NULL && i < a->pools_count; i++) {
        struct vq_auth_seat *seat = &w->seats[i];
        if (seat->known) {
            vq_auth_member(a, &a->pools[i], w, false);
            a->pools[i].members.keyed -= seat->state != VQ_POOL_NO_KEY;
            a->pools[i].members.waiting -= seat->waiting;
        }
    }
    if (how == VQ_AUTHORITY_ENDED && has_unreported_grant(a, w)) {
        a->unreported_ns = now_ns + a->term_ns;
    }
    if (how != VQ_AUTHORITY_ENDED || w->seats == NULL) {
        gone(a, w, now_ns);
        return;
    }
    w->state = VQ_AUTH_OVER;
    w->over_ns = now_ns + a->term_ns;
}

void vq_authority_over(struct vq_authority *a, int64_t now_ns)
{
    for (uint32_t i = 0; i < a->slots; i++) {
        if (a->workers[i] != NULL && a->workers[i]->state == VQ_AUTH_HERE) {
            struct vq_id worker = a->workers[i]->id;
            vq_authority_leave(a, &worker, VQ_AUTHORITY_LEFT, now_ns);
        }
    }
}

/* ---- committed calls ---- */

static struct vq_auth_pool *pool_of(struct vq_authority *a, const struct vq_result *result)
{
    for (uint32_t i = 0; i < a->pools_count; i++) {
        if (vq_span_eq(vq_span_str(a->pools[i].name), result->pool)) {
            return &a->pools[i];
        }
    }
    return NULL;
}

void vq_authority_committed(struct vq_authority *a, const struct vq_result *result, int64_t now_ns)
{
    (void)now_ns;
    if (result->cost_nano != 0) {
        vq_purse_committed(a->spend, result->cost_nano);
    }
    struct vq_auth_pool *p = pool_of(a, result);
    if (p == NULL) {
        return;
    }
    vq_sum_to(&p->totals.cost_nano, result->cost_nano);
    if (p->day.requests != NULL) {
        vq_purse_committed(p->day.requests, vq_result_requests(result));
    }
    if (p->day.tokens != NULL) {
        vq_purse_committed(p->day.tokens, vq_result_tokens(result));
    }
}

struct vq_authority_bound vq_authority_bound_of(const struct vq_result *result)
{
    return (struct vq_authority_bound){.cost_nano = result->cost_nano,
                                       .requests = vq_result_requests(result),
                                       .tokens = vq_result_tokens(result)};
}

void vq_authority_corrected(struct vq_authority *a, const struct vq_result *result,
                            const struct vq_authority_bound *bound)
{
    vq_purse_corrected(a->spend, bound->cost_nano, result->cost_nano);
    struct vq_auth_pool *p = pool_of(a, result);
    if (p == NULL) {
        return;
    }
    p->totals.cost_nano -=
        bound->cost_nano < p->totals.cost_nano ? bound->cost_nano : p->totals.cost_nano;
    vq_sum_to(&p->totals.cost_nano, result->cost_nano);
    if (p->day.requests != NULL) {
        vq_purse_corrected(p->day.requests, bound->requests, vq_result_requests(result));
    }
    if (p->day.tokens != NULL) {
        vq_purse_corrected(p->day.tokens, bound->tokens, vq_result_tokens(result));
    }
}

void vq_authority_settle_left(struct vq_authority *a)
{
    vq_purse_settle_left(a->spend);
    vq_auth_owed_settle(a);
    for (uint32_t i = 0; i < a->pools_count; i++) {
        if (a->pools[i].day.requests != NULL) {
            vq_purse_settle_left(a->pools[i].day.requests);
        }
        if (a->pools[i].day.tokens != NULL) {
            vq_purse_settle_left(a->pools[i].day.tokens);
        }
    }
}

/* ---- input from the shell and from people ---- */

void vq_authority_lock(struct vq_authority *a, uint32_t p, bool ours, const char *holder,
                       int64_t now_ns)
{
    struct vq_auth_pool *pool = &a->pools[p];
    VQ_ASSERT(pool->lock.locked);
    pool->lock.ours = ours;
    vq_free(pool->lock.holder);
    pool->lock.holder = ours ? NULL : vq_strdup(holder); /* without memory: no name */
    vq_auth_deal(a, pool, now_ns);
    vq_auth_state(a, pool, now_ns);
}

static void deal_and_grant(struct vq_authority *a, int64_t now_ns)
{
    deal_all(a, now_ns);
    for (uint32_t i = 0; i < a->slots;
         i++) { /* also workers that have not confirmed their last GRANT */
        struct vq_auth_worker *w = a->workers[i];
        if (w != NULL) {
            w->urgent = w->urgent || w->due;
        }
    }
}

void vq_authority_hold(struct vq_authority *a, bool hold, int64_t now_ns)
{
    a->hold = hold;
    deal_and_grant(a, now_ns);
}

void vq_authority_unread(struct vq_authority *a, bool unread, int64_t now_ns)
{
    a->unread = unread;
    deal_and_grant(a, now_ns);
}

void vq_authority_park(struct vq_authority *a, uint32_t p, bool park, int64_t now_ns)
{
    a->pools[p].park.by_hand = park;
    if (!park) {
        a->pools[p].park.until_ns = a->pools[p].park.until_unix_s = 0;
    }
    vq_auth_deal(a, &a->pools[p], now_ns);
    vq_auth_state(a, &a->pools[p], now_ns);
}

void vq_authority_rest(struct vq_authority *a, uint32_t p, bool rest, int64_t now_ns)
{
    if (a->pools[p].park.rests != rest) {
        a->pools[p].park.rests = rest;
        vq_auth_deal(a, &a->pools[p], now_ns);
        vq_auth_state(a, &a->pools[p], now_ns);
    }
}

void vq_authority_work(struct vq_authority *a, uint32_t p, bool work)
{
    a->pools[p].workless = !work;
}

void vq_authority_set_rates(struct vq_authority *a, uint32_t p, const struct vq_rates *rates,
                            int64_t now_ns)
{
    for (unsigned r = 0; r < VQ_RATE__COUNT; r++) {
        double rate = rates->of[r];
        if (rate > 0 && isfinite(rate)) {
            a->pools[p].named.limit.rates.of[r] = rate;
            a->pools[p].named.by_hand[r] = true;
        }
    }
    vq_auth_learn_forget(&a->pools[p], now_ns);
    vq_auth_touch(a, &a->pools[p], now_ns);
}

void vq_authority_set_concurrency(struct vq_authority *a, uint32_t p, uint32_t concurrency,
                                  int64_t now_ns)
{
    a->pools[p].named.limit.concurrency = concurrency;
    a->pools[p].named.concurrency_by_hand = concurrency != 0;
    a->pools[p].word.cap = 0;
    if (a->pools[p].trial.kind == VQ_AUTH_TRIES_LEVEL) {
        a->pools[p].trial.kind = VQ_AUTH_TRIES_NOTHING;
    }
    vq_auth_level_init(&a->pools[p], now_ns);
    vq_auth_touch(a, &a->pools[p], now_ns);
}

void vq_authority_set_budget(struct vq_authority *a, uint64_t budget_nano, int64_t now_ns)
{
    vq_purse_set_limit(a->spend, budget_nano);
    a->wake_ns = now_ns;
}

void vq_authority_clock(struct vq_authority *a, int64_t unix_s, int64_t mono_ns)
{
    int64_t jump_ns = a->clocked ? vq_auth_mono_of(a, unix_s) - mono_ns : 0;
    a->clock_unix_s = unix_s;
    a->clock_ns = mono_ns;
    a->clocked = true;
    if (jump_ns > CLOCK_JUMP_NS || jump_ns < -CLOCK_JUMP_NS) {
        for (uint32_t i = 0; i < a->pools_count; i++) {
            struct vq_auth_pool *p = &a->pools[i];
            p->park.until_ns =
                p->park.until_unix_s != 0 ? vq_auth_mono_of(a, p->park.until_unix_s) : 0;
            p->deal.due = true;
        }
    }
}

/* ---- output ---- */

static bool purses_due(const struct vq_authority *a, const struct vq_auth_worker *w)
{
    bool due = w->spend_joined && vq_purse_due(a->spend, w->slot);
    for (uint32_t i = 0; w->seats != NULL && i < a->pools_count && !due; i++) {
        const struct vq_auth_pool *p = &a->pools[i];
        due = w->seats[i].day_joined &&
              ((p->day.requests != NULL && vq_purse_due(p->day.requests, w->slot)) ||
               (p->day.tokens != NULL && vq_purse_due(p->day.tokens, w->slot)));
    }
    return due;
}

static void tick_workers(struct vq_authority *a, int64_t now_ns)
{
    for (uint32_t i = 0; i < a->slots; i++) {
        struct vq_auth_worker *w = a->workers[i];
        if (w == NULL) {
            continue;
        }
        if (w->state == VQ_AUTH_OVER) {
            if (now_ns >= w->over_ns) {
                gone(a, w, now_ns);
            }
            continue;
        }
        lapse(a, w, now_ns);
        w->due = w->due || purses_due(a, w);
        if (w->granted_n > w->confirmed_n && now_ns - w->granted_ns >= VQ_AUTH_UNANSWERED_NS) {
            w->due = w->urgent = true;
        }
    }
    while (a->slots > 0 && a->workers[a->slots - 1] == NULL) {
        a->slots--;
    }
}

/* Sends to the other holders the pause that one worker's refusals asked for, and to all holders how
 * to treat refusals. */
static void report_pause(struct vq_authority *a, struct vq_auth_pool *p, int64_t now_ns)
{
    bool noisy = vq_auth_noisy(p);
    for (uint32_t i = 0; i < p->holders.count; i++) {
        struct vq_auth_worker *w = a->workers[p->holders.list[i]];
        struct vq_auth_seat *seat = &w->seats[p->index];
        if (seat->granted_noisy != noisy && seat->granted.concurrency != 0) {
            w->due = true;
        }
        if (!noisy && p->park.pause_ns > now_ns &&
            seat->paused_ns + PAUSE_SLACK_NS < p->park.pause_ns && seat->granted.concurrency != 0) {
            w->due = w->urgent = true;
        }
    }
}

static void tick_pool(struct vq_authority *a, struct vq_auth_pool *p, bool slow, int64_t now_ns)
{
    if (p->day.ends_ns != 0 && now_ns >= p->day.ends_ns) {
        int64_t days = (now_ns - p->day.ends_ns) / DAY_NS + 1;
        p->day.ends_ns += days * DAY_NS;
        if (p->day.requests != NULL) {
            vq_purse_restart(p->day.requests);
        }
        if (p->day.tokens != NULL) {
            vq_purse_restart(p->day.tokens);
        }
    }
    vq_auth_word_tick(a, p, now_ns);
    if (slow) {
        bool changed = vq_auth_learn_tick(p, now_ns);
        bool peaked =
            p->holders.peak_before > p->holders.peak || p->holders.peak > p->holders.count;
        p->deal.due = p->deal.due || changed || peaked || p->members.hungry != 0 ||
                      p->members.in_flight != 0 ||
                      (p->members.count != 0 && p->holders.count == 0) ||
                      !vq_auth_startable(a, p, now_ns);
    }
    report_pause(a, p, now_ns);
    if (p->deal.due && now_ns >= p->deal.at_ns) {
        vq_auth_deal(a, p, now_ns);
    }
    if (slow) {
        vq_auth_state(a, p, now_ns);
    }
    if (p->deal.due && p->deal.at_ns < a->wake_ns) {
        a->wake_ns = p->deal.at_ns;
    }
}

/* The wait after a start lasts up to a term longer for a worker that sent a message during it and
 * has not yet reported all calls that an earlier process allowed (a killed worker never will). */
static int64_t wait_ends(const struct vq_authority *a)
{
    int64_t until_ns = a->wait_ns > a->unreported_ns ? a->wait_ns : a->unreported_ns;
    for (uint32_t i = 0; i < a->slots; i++) {
        const struct vq_auth_worker *w = a->workers[i];
        if (w != NULL && w->state == VQ_AUTH_HERE && has_unreported_grant(a, w) &&
            w->heard_ns + a->term_ns > until_ns) {
            until_ns = w->heard_ns + a->term_ns;
        }
    }
    int64_t most_ns = a->wait_ns + a->term_ns;
    return until_ns < most_ns ? until_ns : most_ns;
}

/* The slices of an earlier process have ended: each worker without a report gets a GRANT, and its
 * answer reports the rest. */
static void ask_unreported(struct vq_authority *a)
{
    for (uint32_t i = 0; i < a->slots; i++) {
        struct vq_auth_worker *w = a->workers[i];
        if (w != NULL && w->state == VQ_AUTH_HERE && has_unreported_grant(a, w)) {
            w->due = w->urgent = true;
        }
    }
}

void vq_authority_tick(struct vq_authority *a, int64_t now_ns)
{
    bool slow = now_ns - a->tick_ns >= VQ_AUTH_TICK_NS;
    a->now_ns = now_ns;
    if (!a->waited && a->wait_ns > 0) {
        if (!a->asked && now_ns >= a->wait_ns) {
            a->asked = true;
            ask_unreported(a);
        }
        a->wait_until_ns = wait_ends(a);
    }
    if (!a->waited && now_ns >= a->wait_until_ns) {
        a->waited = true;
        deal_all(a, now_ns);
    }
    if (slow) {
        a->tick_ns = now_ns;
        tick_workers(a, now_ns);
    }
    a->wake_ns = a->tick_ns + VQ_AUTH_TICK_NS;
    for (uint32_t i = 0; i < a->pools_count; i++) {
        tick_pool(a, &a->pools[i], slow, now_ns);
    }
}

int64_t vq_authority_wake_ns(const struct vq_authority *a)
{
    return a->wake_ns;
}

bool vq_authority_due(const struct vq_authority *a, const struct vq_id *worker)
{
    const struct vq_auth_worker *w = vq_auth_find(a, worker);
    return w != NULL && w->state == VQ_AUTH_HERE && !w->lapsed && w->seats != NULL && w->due &&
           (w->urgent || w->granted_n == w->confirmed_n);
}

static void slice_more(struct vq_limit *most, const struct vq_limit *other)
{
    most->concurrency =
        other->concurrency > most->concurrency ? other->concurrency : most->concurrency;
    for (unsigned r = 0; r < VQ_RATE__COUNT; r++) {
        most->rates.of[r] = fmax(most->rates.of[r], other->rates.of[r]);
    }
}

static void slice_say(const struct vq_auth_pool *p, struct vq_auth_seat *seat, uint32_t slot,
                      uint64_t n, int64_t now_ns, struct vq_slice *ret_slice)
{
    *ret_slice = (struct vq_slice){.pool = p->index,
                                   .concurrency = seat->next.concurrency,
                                   .noisy = vq_auth_noisy(p),
                                   .day_requests_most = VQ_AMOUNT_ANY,
                                   .day_tokens_most = VQ_AMOUNT_ANY,
                                   .params_refused = p->word.params_refused};
    for (unsigned r = 0; r < VQ_RATE__COUNT; r++) {
        double rate = seat->next.rates.of[r];
        ret_slice->rates.of[r] = isfinite(rate) ? rate : 0;
    }
    /* in a noisy pool each worker finds out itself */
    if (p->park.pause_ns > now_ns && !ret_slice->noisy) {
        ret_slice->pause_ms = (uint32_t)((p->park.pause_ns - now_ns + VQ_AUTH_MS - 1) / VQ_AUTH_MS);
        seat->paused_ns = p->park.pause_ns;
    }
    if (p->day.requests != NULL) {
        ret_slice->day_requests_most = vq_purse_grant(p->day.requests, slot, n);
    }
    if (p->day.tokens != NULL) {
        ret_slice->day_tokens_most = vq_purse_grant(p->day.tokens, slot, n);
    }
}

void vq_authority_grant(struct vq_authority *a, const struct vq_id *worker, int64_t now_ns,
                        struct vq_slice *slices, struct vq_msg_grant *ret_grant)
{
    *ret_grant = (struct vq_msg_grant){.slices = slices};
    struct vq_auth_worker *w = vq_auth_find(a, worker);
    if (w == NULL || w->state != VQ_AUTH_HERE) {
        return;
    }
    w->granted_n++;
    w->granted_ns = now_ns;
    w->due = w->urgent = false;
    ret_grant->n = w->granted_n;
    ret_grant->spend_most = w->spend_joined ? vq_purse_grant(a->spend, w->slot, w->granted_n) : 0;
    vq_auth_granted(a, w);
    for (uint32_t i = 0; w->seats != NULL && i < a->pools_count; i++) {
        struct vq_auth_pool *p = &a->pools[i];
        struct vq_auth_seat *seat = &w->seats[i];
        if (!seat->known) {
            continue;
        }
        if (vq_auth_differs(&seat->next, &seat->granted)) {
            seat->granted = seat->next;
            seat->granted_at_n = w->granted_n;
            slice_more(&seat->held, &seat->granted);
        }
        seat->granted_noisy = vq_auth_noisy(p);
        if (seat->next.concurrency != 0 || seat->day_joined) {
            slice_say(p, seat, w->slot, w->granted_n, now_ns, &slices[ret_grant->slices_count]);
            bool quota = p->day.requests != NULL || p->day.tokens != NULL;
            ret_grant->slices_count += seat->next.concurrency != 0 || quota;
        }
    }
}
