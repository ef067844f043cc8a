/* The pools of the simulated run: their limits, the authority over them, which a start of the
 * coordinator makes anew, and the endpoint's own account of what came: I4 is checked there, call by
 * call. Limits are right: no window of a pool may ever be over.
 *
 * A pool may be known by any of its limits, or by none. Tokens are what the answer's usage says,
 * counted at the call's start, and never more than what was reserved. */
#include "tests/simulation/sim.h"

#include "common/base/alloc.h"

#include <stdio.h>

#define CALL_NANO_MOST                                                                             \
    4000 /* about what the dearest call reserves before its worker knows better */
#define UNIX_EPOCH_S INT64_C(1700000000) /* the wall clock at time 0 */

int64_t sim_unix_s(const struct sim *s)
{
    return UNIX_EPOCH_S + s->now_ns / VQ_NS_PER_S;
}

/* ---- making them ---- */

static void make_pool(struct sim *s, uint32_t p)
{
    struct sim_pool *pool = &s->pools[p];
    (void)snprintf(pool->name, sizeof(pool->name), "pool-%u", p);
    pool->window_ns = sim_between(s, 500, 3000) * VQ_NS_PER_MS;
    pool->requests = sim_chance(s, 0.5) ? (uint64_t)sim_between(s, 8, 80) : 0;
    pool->tokens = sim_chance(s, 0.4) ? (uint64_t)sim_between(s, 4000, 30000) : 0;
    pool->concurrency = sim_chance(s, 0.8) ? (uint32_t)sim_between(s, 1, 6) : 0;
    pool->nano_per_token = s->budget_nano != VQ_AMOUNT_ANY ? (uint64_t)sim_between(s, 1, 5) : 0;
}

static void serve(struct sim *s, uint32_t judge)
{
    for (uint32_t p = 0; p < s->pools_count; p++) {
        if (sim_chance(s, 0.6)) {
            s->serves[judge][s->serves_count[judge]++] = p;
        }
    }
    if (s->serves_count[judge] == 0) {
        s->serves[judge][s->serves_count[judge]++] =
            (uint32_t)sim_between(s, 0, (int64_t)s->pools_count - 1);
    }
}

void sim_pools_make(struct sim *s)
{
    s->budget_nano = sim_chance(s, 0.25) ? (uint64_t)sim_between(s, 3000, 60000) : VQ_AMOUNT_ANY;
    if (s->budget_nano == VQ_AMOUNT_ANY && s->trouble.p[SIM_AWAY] > 0) {
        s->budget_nano = 3000 + vq_rng_below(&s->more, 57000);
    }
    s->pools_count = sim_chance(s, 0.4) ? 1 : (uint32_t)sim_between(s, 2, SIM_POOLS_MAX);
    s->pools_count = s->options.small != NULL ? 1 : s->pools_count;
    for (uint32_t p = 0; p < s->pools_count; p++) {
        make_pool(s, p);
    }
    if (s->options.small != NULL) {
        s->pools[0].concurrency = 2;
    }
    for (uint32_t j = 0; j < SIM_JUDGES_MAX; j++) {
        serve(s, j);
    }
    sim_bulk_make(s);
}

void sim_pools_free(struct sim *s)
{
    for (uint32_t p = 0; p < s->pools_count; p++) {
        vq_free(s->pools[p].starts);
        vq_free(s->pools[p].flying);
    }
}

/* In every fourth seed every second pool has a service tier. Nothing is drawn for it: the seeds
 * without one stay what they were. */
static bool is_tiered(const struct sim *s, uint32_t pool)
{
    return s->options.seed % 4 == 0 && pool % 2 == 0;
}

uint32_t sim_pools_spec(const struct sim *s, struct vq_spec_pool *ret_pools)
{
    for (uint32_t p = 0; p < s->pools_count; p++) {
        const struct sim_pool *pool = &s->pools[p];
        double usd = (double)pool->nano_per_token / 1000; /* of a million */
        ret_pools[p] =
            (struct vq_spec_pool){.name = vq_span_str(pool->name),
                                  .dialect = vq_span_str("openai"),
                                  .base_url = vq_span_str("http://127.0.0.1/v1"),
                                  .model = vq_span_str("model"),
                                  .priced = pool->nano_per_token > 0,
                                  .input_usd = usd,
                                  .cached_usd = usd,
                                  .written_usd = usd,
                                  .output_usd = usd,
                                  .window_ms = (uint32_t)(pool->window_ns / VQ_NS_PER_MS),
                                  .connect_timeout_ms = 1000,
                                  .first_byte_timeout_ms = 10000,
                                  .total_timeout_ms = 60000,
                                  .service_tier = vq_span_str(is_tiered(s, p) ? "flex" : ""),
                                  .tier_price = 1,
                                  .tier_tries = 2,
                                  .batch_calls = sim_is_batch(s, p) ? 100 : 0};
    }
    return s->pools_count;
}

/* ---- the authority: as long as the coordinator's process ---- */

static uint64_t spent(const struct sim *s)
{
    uint64_t sum = 0;
    for (size_t n = 0; n < s->store.ledger_count; n++) {
        sum += s->store.ledger[n].cost_nano;
    }
    return sum;
}

/* The coordinator that runs now heard what this worker spent and may spend: all of it counts from
 * then on. */
static bool is_reported(const struct sim *s, const struct sim_worker *w)
{
    return w->reported_life == s->coord.life + 1;
}

/* Paid for by a worker of this machine, and neither the ledger nor that worker has told the
 * coordinator: nobody keeps it from being spent again. What those of other machines spend is kept
 * for them. */
static uint64_t untold(const struct sim *s)
{
    uint64_t sum = 0;
    for (size_t n = 0; n < s->calls_count; n++) {
        const struct sim_ledger_row *row = sim_store_row(&s->store, &s->calls[n].id);
        uint64_t known = row == NULL ? 0 : row->cost_nano;
        const struct sim_worker *w = &s->workers[s->calls[n].worker];
        bool more = s->calls[n].cost_nano > known && w->local >= 0 && !is_reported(s, w);
        sum += more ? s->calls[n].cost_nano - known : 0;
    }
    return sum;
}

static void see_untold(struct sim *s)
{
    uint64_t unseen_nano = s->budget_nano == VQ_AMOUNT_ANY ? 0 : untold(s);
    s->unseen_nano = unseen_nano > s->unseen_nano ? unseen_nano : s->unseen_nano;
}

/* Who outlived a coordinator and cannot reach the next one goes on with what it was granted, until
 * the term is over for which that one waits with grants of its own. */
static bool continues_unreported(const struct sim *s, const struct sim_worker *w)
{
    const struct sim_coord *co = &s->coord;
    return co->core != NULL && co->waits && s->now_ns - co->started_ns < s->term_ns &&
           !is_reported(s, w);
}

static void say_pools(const struct sim *s)
{
    for (uint32_t p = 0; p < s->pools_count; p++) {
        const struct sim_pool *pool = &s->pools[p];
        sim_say(s, "  %s: %llu requests and %llu tokens in %.3f s, %u calls", pool->name,
                (unsigned long long)pool->requests, (unsigned long long)pool->tokens,
                (double)pool->window_ns / 1e9, pool->concurrency);
    }
}

void sim_authority_make(struct sim *s, bool waits)
{
    struct vq_authority_pool pools[SIM_POOLS_MAX];
    for (uint32_t p = 0; p < s->pools_count; p++) {
        const struct sim_pool *pool = &s->pools[p];
        double windows = 60.0 * (double)VQ_NS_PER_S / (double)pool->window_ns; /* in a minute */
        pools[p] = (struct vq_authority_pool){
            .name = pool->name,
            .limit = {.rates = {.requests = (double)pool->requests * windows,
                                .tokens = (double)pool->tokens * windows},
                      .concurrency = sim_is_batch(s, p) ? 16 : pool->concurrency},
            .window_ms = (uint32_t)(pool->window_ns / VQ_NS_PER_MS),
            .account = pool,
        };
    }
    struct vq_authority_params params = {.pools = pools,
                                         .pools_count = s->pools_count,
                                         .term_ns = s->term_ns,
                                         .budget_nano = s->budget_nano,
                                         .spent_nano = spent(s),
                                         .advances = s->advances,
                                         .advances_count = s->advances_count,
                                         .wait_until_ns = waits ? s->now_ns + s->term_ns : 0};
    struct vq_error err = {""};
    if (vq_authority_create(&params, s->now_ns, &s->coord.authority, &err) != VQ_OK) {
        sim_fail(s, "cannot create the authority: %s", err.text);
        return;
    }
    say_pools(s);
    vq_authority_clock(s->coord.authority, sim_unix_s(s) + s->trouble.wall_shift_s, s->now_ns);
    s->params.authority = s->coord.authority;
    see_untold(s);
}

/* ---- what comes in (I4) ---- */

static void *room(void *array, size_t *cap, size_t count, size_t item_bytes)
{
    VQ_ASSERT(vq_grow(&array, cap, count + 1, item_bytes, 1u << 24) == VQ_OK);
    return array;
}

/* What a worker that was not heard for a whole term still has at the provider is nobody's any
 * more. */
bool sim_call_live(const struct sim *s, const struct sim_call *call)
{
    const struct sim_worker *w = &s->workers[call->worker];
    return call->ends_ns > s->now_ns && s->now_ns - w->spoke_ns < s->term_ns &&
           call->started_ns >= w->back_ns;
}

static void check_concurrency(struct sim *s, struct sim_pool *pool)
{
    uint32_t live = 0;
    size_t kept = 0;
    for (size_t i = 0; i < pool->flying_count; i++) {
        const struct sim_call *call = &s->calls[pool->flying[i]];
        if (call->ends_ns > s->now_ns) {
            pool->flying[kept++] = pool->flying[i];
            live += sim_call_live(s, call);
        }
    }
    pool->flying_count = kept;
    if (pool->concurrency > 0 && live > pool->concurrency) {
        sim_fail(s, "I4: %u calls of %s are in flight, its limit is %u", live, pool->name,
                 pool->concurrency);
    }
}

static void check_window(struct sim *s, struct sim_pool *pool)
{
    while (pool->starts[pool->starts_from].at_ns <= s->now_ns - pool->window_ns) {
        pool->in_window -= pool->starts[pool->starts_from++].tokens;
    }
    uint64_t requests = pool->starts_count - pool->starts_from;
    if (pool->requests > 0 && requests > pool->requests) {
        sim_fail(s, "I4: %llu requests on %s in a window of %.3f s, its limit is %llu",
                 (unsigned long long)requests, pool->name, (double)pool->window_ns / 1e9,
                 (unsigned long long)pool->requests);
    }
    if (pool->tokens > 0 && pool->in_window > pool->tokens) {
        sim_fail(s, "I4: %llu tokens on %s in a window of %.3f s, its limit is %llu",
                 (unsigned long long)pool->in_window, pool->name, (double)pool->window_ns / 1e9,
                 (unsigned long long)pool->tokens);
    }
}

void sim_pool_asked(struct sim *s, size_t n)
{
    struct sim_call *call = &s->calls[n];
    struct sim_pool *pool = &s->pools[call->pool_index];
    if (call->end == VQ_END_NETWORK) {
        return; /* it never came there */
    }
    pool->starts = room(pool->starts, &pool->starts_cap, pool->starts_count, sizeof(*pool->starts));
    pool->starts[pool->starts_count++] = (struct sim_start){s->now_ns, call->tokens};
    pool->in_window += call->tokens;
    pool->flying = room(pool->flying, &pool->flying_cap, pool->flying_count, sizeof(*pool->flying));
    pool->flying[pool->flying_count++] = n;
    check_window(s, pool);
    check_concurrency(s, pool);
    s->spent_nano += call->cost_nano;
    if (continues_unreported(s, &s->workers[call->worker])) {
        see_untold(s);
    }
    sim_check_budget(s);
}

/* What a worker goes by now, by GRANTs of this coordinator. A slice that is about to end by itself
 * may have come back already. */
static bool slice_of(const struct sim *s, const struct sim_worker *w, uint32_t p,
                     struct vq_limit *ret_slice)
{
    return w->work != NULL && w->granted_life == s->coord.life + 1 &&
           vq_work_slice(w->work, p, sim_worker_clock(s, w) + s->term_ns / 20, ret_slice);
}

static void check_slices(struct sim *s, uint32_t p)
{
    struct sim_pool *pool = &s->pools[p];
    double windows = (double)pool->window_ns / (60.0 * (double)VQ_NS_PER_S);
    double requests = 0, tokens = 0;
    uint64_t calls_sum = 0;
    uint32_t flying[SIM_WORKERS_MAX] = {0};
    for (size_t i = 0; i < pool->flying_count; i++) {
        const struct sim_call *call = &s->calls[pool->flying[i]];
        flying[call->worker] += sim_call_live(s, call);
    }
    for (uint32_t i = 0; i < s->workers_count; i++) {
        struct vq_limit slice = {.concurrency = 0};
        (void)slice_of(s, &s->workers[i], p, &slice);
        requests += slice.rates.requests * windows;
        tokens += slice.rates.tokens * windows;
        calls_sum += slice.concurrency > flying[i] ? slice.concurrency : flying[i];
    }
    if ((pool->requests > 0 && requests > (double)pool->requests) ||
        (pool->tokens > 0 && tokens > (double)pool->tokens)) {
        sim_fail(s, "I4: slices of %s sum to %.1f requests and %.1f tokens in a window", pool->name,
                 requests, tokens);
    }
    if (pool->concurrency > 0 && calls_sum > pool->concurrency) {
        sim_fail(s, "I4: slices and calls of %s sum to %llu, its limit is %u", pool->name,
                 (unsigned long long)calls_sum, pool->concurrency);
    }
}

void sim_check_slices(struct sim *s)
{
    for (uint32_t p = 0; p < s->pools_count; p++) {
        check_slices(s, p);
    }
}

/* ---- money ---- */

/* What was taken for calls that nobody can look up may be too little. */
static uint64_t guessed_short(const struct sim *s)
{
    uint64_t sum = 0;
    for (size_t n = 0; n < s->calls_count; n++) {
        const struct sim_ledger_row *row = sim_store_row(&s->store, &s->calls[n].id);
        bool guess = row != NULL && row->end == VQ_END_UNKNOWN;
        sum += guess && s->calls[n].cost_nano > row->cost_nano
                   ? s->calls[n].cost_nano - row->cost_nano
                   : 0;
    }
    return sum;
}

void sim_check_budget(struct sim *s)
{
    if (s->budget_nano == VQ_AMOUNT_ANY || s->spent_nano <= s->budget_nano + s->unseen_nano ||
        s->spent_nano <= s->budget_nano + s->unseen_nano + guessed_short(s)) {
        return;
    }
    sim_fail(s, "the budget is %llu, %llu are spent (%llu of them unseen after a crash)",
             (unsigned long long)s->budget_nano, (unsigned long long)s->spent_nano,
             (unsigned long long)s->unseen_nano);
}

void sim_advances_keep(struct sim *s, bool grant)
{
    enum vq_advances_due due = vq_authority_advances_due(s->coord.authority);
    bool now = due == VQ_ADVANCES_MORE
                   ? grant
                   : due == VQ_ADVANCES_LESS && s->now_ns - s->advances_ns >= VQ_NS_PER_S;
    if (now) {
        uint32_t max = (uint32_t)VQ_COUNT(s->advances);
        VQ_ASSERT(vq_authority_advances_count(s->coord.authority) <= max);
        s->advances_count = vq_authority_advances(s->coord.authority, s->advances, max);
        s->advances_ns = s->now_ns;
    }
}

void sim_budget_drain(struct sim *s)
{
    struct vq_authority_money money;
    struct vq_coord_status status;
    vq_coord_status_fill(s->coord.core, s->now_ns, &status);
    if (status.stage != VQ_COORD_DRAINING) { /* one worker leaves */
        return;
    }
    vq_authority_money(s->coord.authority, &money);
    uint64_t taken = money.spent_nano + money.out_nano;
    s->coord.taken_nano = taken > s->coord.taken_nano ? taken : s->coord.taken_nano;
}

/* The run stopped for want of money: more is given, in the end as much as it takes. */
void sim_budget_empty(struct sim *s)
{
    struct vq_authority_money money;
    vq_authority_money(s->coord.authority, &money);
    uint64_t taken = money.spent_nano + money.out_nano;
    uint64_t call_nano =
        s->reserved_most_nano > CALL_NANO_MOST ? s->reserved_most_nano : CALL_NANO_MOST;
    taken = taken > s->coord.taken_nano ? taken : s->coord.taken_nano; /* when it began to stop */
    if (s->budget_nano == VQ_AMOUNT_ANY || taken + call_nano < s->budget_nano) {
        sim_fail(s, "stopped for want of money: %llu of %llu are spent or out",
                 (unsigned long long)taken, (unsigned long long)s->budget_nano);
    }
    s->report->broke++;
    s->budget_stops++;
    s->budget_nano = s->budget_stops > 3 ? VQ_AMOUNT_ANY : 2 * s->budget_nano;
}
