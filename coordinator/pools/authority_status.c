/* The status of the authority: the state of each pool in words, money, pools that may share one
 * account, keys to lock.
 *
 * The state of a pool is derived only here; its text belongs to the pool and changes with the next
 * event. */
#include "common/base/alloc.h"
#include "coordinator/pools/authority_parts.h"

#include <stdio.h>
#include <string.h>

/* ---- states ---- */

static bool quota_used(const struct vq_auth_day *day)
{
    return (day->requests != NULL && vq_purse_empty(day->requests)) ||
           (day->tokens != NULL && vq_purse_empty(day->tokens));
}

static enum vq_authority_state state_of(const struct vq_authority *a, const struct vq_auth_pool *p,
                                        int64_t now_ns, int64_t *ret_until_ns)
{
    *ret_until_ns = 0;
    if (a->hold || p->park.by_hand) {
        return VQ_AUTHORITY_HELD;
    }
    if (p->lock.locked && !p->lock.ours && (p->lock.holder != NULL || p->members.keyed != 0)) {
        /* a run without a key cannot conflict with another run */
        return p->lock.holder != NULL ? VQ_AUTHORITY_LOCKED : VQ_AUTHORITY_PAUSED;
    }
    if (a->unread) {
        return VQ_AUTHORITY_PAUSED;
    }
    if (p->members.keyed == 0) {
        return VQ_AUTHORITY_NOBODY;
    }
    if (p->members.count == 0) {
        return VQ_AUTHORITY_CLOSED;
    }
    if (p->park.until_ns > now_ns) {
        *ret_until_ns = p->park.until_ns;
        return VQ_AUTHORITY_PARKED;
    }
    if (quota_used(&p->day)) {
        *ret_until_ns = p->day.ends_ns;
        return VQ_AUTHORITY_PARKED;
    }
    if (p->park.pause_ns > now_ns) {
        *ret_until_ns = p->park.pause_ns;
        return VQ_AUTHORITY_PAUSED;
    }
    if (now_ns < a->wait_until_ns) {
        *ret_until_ns = a->wait_until_ns;
        return VQ_AUTHORITY_PAUSED;
    }
    return VQ_AUTHORITY_OPEN;
}

static const char *why(const struct vq_authority *a, const struct vq_auth_pool *p, int64_t now_ns)
{
    switch (p->state.is) {
    case VQ_AUTHORITY_HELD:
        return a->hold ? "the run is paused by vibeq ctl" : "parked by vibeq ctl";
    case VQ_AUTHORITY_LOCKED: return p->lock.holder;
    case VQ_AUTHORITY_NOBODY: return "no worker has a key for it";
    case VQ_AUTHORITY_CLOSED:
        return p->keys.closed_why[0] != '\0' ? p->keys.closed_why
                                             : "closed on every worker that has a key for it";
    case VQ_AUTHORITY_PARKED:
        return quota_used(&p->day) ? "the day's quota is used" : "a quota is used";
    case VQ_AUTHORITY_PAUSED:
        return p->lock.locked && !p->lock.ours ? "its key is being locked"
               : a->unread                     ? "the spools of an earlier process are being read"
               : now_ns < a->wait_until_ns ? "slices of an earlier process may still be in force"
                                           : "a refusal asked to wait";
    case VQ_AUTHORITY_OPEN: break;
    }
    if (p->park.rests) {
        return "rests: the deadline needs the interactive pools";
    }
    return p->force.too_large ? "a single request is larger than the limit" : "";
}

void vq_auth_state(struct vq_authority *a, struct vq_auth_pool *p, int64_t now_ns)
{
    int64_t until_ns = 0;
    enum vq_authority_state state = state_of(a, p, now_ns, &until_ns);
    if (state != p->state.is) {
        p->state.is = state;
        p->state.since_ns = now_ns;
    }
    p->state.until_ns = until_ns;
    (void)snprintf(p->state.text, VQ_AUTHORITY_TEXT_BYTES, "%s", why(a, p, now_ns));
}

uint32_t vq_authority_pools(const struct vq_authority *a)
{
    return a->pools_count;
}

const char *vq_authority_pool_name(const struct vq_authority *a, uint32_t p)
{
    VQ_ASSERT(p < a->pools_count);
    return a->pools[p].name;
}

/* The use per minute over the last quarter of a window, and the sum of the slices. */
static void lately(const struct vq_authority *a, const struct vq_auth_pool *p, int64_t now_ns,
                   struct vq_authority_pool_status *ret)
{
    struct vq_auth_bucket used = vq_auth_used_lately(&p->used);
    double span = (double)(VQ_AUTH_BUCKETS / 4 - 1) / VQ_AUTH_BUCKETS +
                  (double)(now_ns - p->used.bucket_ns) / (double)p->window_ns;
    double age = (double)(now_ns - p->used.began_ns) / (double)p->window_ns;
    double minutes = fmax(fmin(span, age), 1.0 / VQ_AUTH_BUCKETS) * vq_auth_windows(p);
    ret->lately = (struct vq_rates){.requests = fmax(used.requests, 0) / minutes,
                                    .input_tokens = fmax(used.input, 0) / minutes,
                                    .output_tokens = fmax(used.output, 0) / minutes,
                                    .tokens = fmax(used.input + used.output, 0) / minutes};
    for (unsigned r = 0; r < VQ_RATE__COUNT; r++) {
        double sum = 0;
        for (uint32_t i = 0; i < p->holders.count; i++) {
            sum += a->workers[p->holders.list[i]]->seats[p->index].granted.rates.of[r];
        }
        ret->dealt.rates.of[r] = isfinite(sum) ? sum : 0;
    }
    uint64_t calls = 0;
    for (uint32_t i = 0; i < p->holders.count; i++) {
        calls += a->workers[p->holders.list[i]]->seats[p->index].granted.concurrency;
    }
    ret->dealt.concurrency = vq_auth_u32(calls);
    const struct vq_auth_bucket *before =
        &p->used.buckets[(p->used.bucket + VQ_AUTH_BUCKETS - 1) % VQ_AUTH_BUCKETS];
    double most = fmax(p->used.buckets[p->used.bucket].peak, before->peak);
    ret->in_flight_most = vq_auth_u32((uint64_t)fmax(most, (double)p->members.in_flight));
    ret->work_waits = p->members.keen != 0;
    double ended = p->used.sum.refused + p->used.sum.answered;
    ret->refused_part = ended >= 1 ? fmax(p->used.sum.refused, 0) / ended : 0;
}

void vq_authority_status(const struct vq_authority *a, uint32_t p, int64_t now_ns,
                         struct vq_authority_pool_status *ret_status)
{
    const struct vq_auth_pool *pool = &a->pools[p];
    double windows = fmin((double)(now_ns - pool->used.began_ns) / (double)pool->window_ns, 1);
    double minutes = fmax(windows, 1.0 / VQ_AUTH_BUCKETS) * vq_auth_windows(pool);
    *ret_status = (struct vq_authority_pool_status){
        .name = pool->name,
        .state = pool->state.is,
        .since_ns = pool->state.since_ns,
        .until_ns = pool->state.until_ns,
        .text = pool->state.text,
        .key_text = pool->keys.why,
        .keys_refused = pool->keys.refused,
        .limit = {.concurrency = pool->force.limit.concurrency},
        .concurrency_by = pool->force.concurrency_by,
        .configured = pool->named.limit,
        .noise = pool->doubt.noise,
        .tries = pool->trial.kind == VQ_AUTH_TRIES_LEVEL   ? VQ_AUTHORITY_TRIES_LEVEL
                 : pool->trial.kind == VQ_AUTH_TRIES_RATES ? VQ_AUTHORITY_TRIES_RATES
                                                           : VQ_AUTHORITY_TRIES_NOTHING,
        .rates_why = {pool->learn.why.at_ns, pool->learn.why.refused, pool->learn.why.per_minute},
        .level_why = {pool->find.why.at_ns, pool->find.why.refused, pool->find.why.per_minute},
        .in_flight = vq_auth_u32(pool->members.in_flight),
        .waiting = vq_auth_u32(pool->members.waiting),
        .workless = pool->workless,
        .noisy = vq_auth_noisy(pool),
        .requests_per_minute = fmax(pool->used.sum.requests, 0) / minutes,
        .input_per_minute = fmax(pool->used.sum.input, 0) / minutes,
        .output_per_minute = fmax(pool->used.sum.output, 0) / minutes,
        .requests = pool->totals.requests,
        .answered = pool->totals.answered,
        .refused = pool->totals.refused,
        .slowed = pool->totals.slowed,
        .failed = pool->totals.failed,
        .input_tokens = pool->totals.input_tokens,
        .cached_tokens = pool->totals.cached_tokens,
        .output_tokens = pool->totals.output_tokens,
        .day_ends_ns = pool->day.ends_ns,
        .cost_nano = pool->totals.cost_nano,
        .organisation = pool->keys.organisation,
        .params_refused = pool->word.params_refused};
    for (unsigned r = 0; r < VQ_RATE__COUNT; r++) {
        ret_status->limit.rates.of[r] =
            isfinite(pool->force.limit.rates.of[r]) ? pool->force.limit.rates.of[r] : 0;
        ret_status->rates_by[r] = pool->force.rates_by[r];
    }
    lately(a, pool, now_ns, ret_status);
    for (uint32_t i = 0; i < pool->holders.count; i++) {
        const struct vq_auth_seat *seat = &a->workers[pool->holders.list[i]]->seats[p];
        ret_status->workers += seat->held.concurrency != 0 || seat->next.concurrency != 0;
    }
    if (pool->day.requests != NULL) {
        ret_status->day_requests_spent = vq_purse_spent(pool->day.requests);
    }
    if (pool->day.tokens != NULL) {
        ret_status->day_tokens_spent = vq_purse_spent(pool->day.tokens);
    }
}

void vq_authority_money(const struct vq_authority *a, struct vq_authority_money *ret_money)
{
    *ret_money = (struct vq_authority_money){.budget_nano = vq_purse_limit(a->spend),
                                             .spent_nano = vq_purse_spent(a->spend),
                                             .out_nano = vq_purse_out(a->spend),
                                             .empty = vq_purse_empty(a->spend)};
}

bool vq_authority_when(const struct vq_authority *a, const uint32_t *pools, uint32_t count,
                       int64_t now_ns, int64_t *ret_when_ns)
{
    bool any = false;
    int64_t first_ns = INT64_MAX;
    for (uint32_t i = 0; i < count; i++) {
        int64_t until_ns = 0;
        enum vq_authority_state state = state_of(a, &a->pools[pools[i]], now_ns, &until_ns);
        if (state == VQ_AUTHORITY_CLOSED || state == VQ_AUTHORITY_NOBODY) {
            continue;
        }
        any = true;
        int64_t at_ns = state == VQ_AUTHORITY_OPEN ? now_ns : until_ns != 0 ? until_ns : INT64_MAX;
        first_ns = at_ns < first_ns ? at_ns : first_ns;
    }
    if (any) {
        *ret_when_ns = first_ns;
    }
    return any;
}

/* ---- keys and accounts ---- */

static bool has_key(const struct vq_auth_keyset *keys, uint64_t key)
{
    for (uint32_t i = 0; i < keys->count; i++) {
        if (keys->list[i] == key) {
            return true;
        }
    }
    return false;
}

enum vq_status vq_auth_keys(struct vq_authority *a, struct vq_auth_keyset *keys,
                            struct vq_auth_seat *seat, const struct vq_pool_report *report)
{
    uint64_t mix = report->keys_count;
    for (uint32_t i = 0; i < report->keys_count; i++) {
        mix = vq_index_mix(mix ^ report->keys[i]);
    }
    if (report->organisation != 0 && report->organisation != seat->organisation) {
        a->accounts_changed = a->accounts_changed || report->organisation != keys->organisation;
        keys->organisation = seat->organisation = report->organisation;
    }
    if (mix == seat->keys_mix) {
        return VQ_OK;
    }
    for (uint32_t i = 0; i < report->keys_count && keys->count < VQ_AUTH_KEYS_MAX; i++) {
        if (has_key(keys, report->keys[i])) {
            continue;
        }
        VQ_TRY(vq_grow((void **)&keys->list, &keys->cap, (size_t)keys->count + 1,
                       sizeof(*keys->list), VQ_AUTH_KEYS_MAX));
        keys->list[keys->count++] = report->keys[i];
        a->accounts_changed = true;
    }
    seat->keys_mix = mix;
    return VQ_OK;
}

static bool one_account(const struct vq_auth_pool *p, const struct vq_auth_pool *q)
{
    bool model = p->model == NULL || q->model == NULL || strcmp(p->model, q->model) == 0;
    if (!model || (p->account != NULL && p->account == q->account)) {
        return false;
    }
    bool common = p->keys.organisation != 0 && p->keys.organisation == q->keys.organisation;
    for (uint32_t i = 0; i < p->keys.count && !common; i++) {
        common = has_key(&q->keys, p->keys.list[i]);
    }
    return common;
}

bool vq_authority_same_account(struct vq_authority *a, uint32_t *ret_p, uint32_t *ret_q)
{
    for (uint32_t p = 0; a->accounts_changed && p < a->pools_count; p++) {
        for (uint32_t q = p + 1; q < a->pools_count; q++) {
            uint32_t bit = p * a->pools_count + q;
            uint8_t mask = (uint8_t)(1u << (bit % 8));
            if ((a->pairs_told[bit / 8] & mask) == 0 && one_account(&a->pools[p], &a->pools[q])) {
                a->pairs_told[bit / 8] |= mask;
                *ret_p = p;
                *ret_q = q;
                return true;
            }
        }
    }
    a->accounts_changed = false;
    return false;
}

bool vq_authority_new_key(struct vq_authority *a, uint32_t *ret_p, uint64_t *ret_fingerprint)
{
    for (uint32_t p = 0; p < a->pools_count; p++) {
        struct vq_auth_pool *pool = &a->pools[p];
        if (pool->keys.reported < pool->keys.count) {
            *ret_p = p;
            *ret_fingerprint = pool->keys.list[pool->keys.reported++];
            return true;
        }
    }
    return false;
}
