/* The input of a decision about a deadline: numbers of calls, batches and durations of earlier
 * ones, rate and prices of the pools. Reads the core and the authority, and changes neither. */
#include "coordinator/pools/prices.h"
#include "coordinator/run/parts.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"

#include <math.h>

#define BUSY_NS (20 * VQ_NS_PER_S) /* the rate of a pool is measured over 15 seconds */

bool vq_deadline_serves(const struct vq_role_models *cast, uint32_t judge, uint32_t pool)
{
    for (uint32_t i = 0; i < cast->pools_count[judge]; i++) {
        if (cast->pools[judge][i] == pool) {
            return true;
        }
    }
    return false;
}

bool vq_deadline_in_group(const struct vq_run *run, uint32_t g, uint32_t pool)
{
    const struct vq_role_models *cast = run->stages.asking->cast;
    for (uint32_t j = 0; j < cast->count; j++) {
        if (run->deadline.group_of[j] == g && vq_deadline_serves(cast, j, pool)) {
            return true;
        }
    }
    return false;
}

bool vq_deadline_is_batch(const struct vq_run *run, uint32_t pool)
{
    return run->source.pools->uses.uses[pool].batch != NULL;
}

static int64_t decision_s(const struct vq_run_deadline *d, int64_t unix_ms)
{
    return (int64_t)floor((double)(unix_ms - (int64_t)d->at * 1000) / 1000 * d->speed);
}

static struct vq_deadline_tokens tokens_of(const struct vq_run *run)
{
    struct vq_coord_status s;
    vq_coord_status_fill(run->coord, vq_run_now(), &s);
    double answers = (double)s.all.ends[VQ_END_ANSWER];
    return answers < VQ_DEADLINE_CALLS
               ? (struct vq_deadline_tokens){VQ_DEADLINE_TOKENS_IN, VQ_DEADLINE_TOKENS_OUT}
               : (struct vq_deadline_tokens){(double)s.tokens_in / answers,
                                             (double)s.tokens_out / answers};
}

static bool is_rated(const struct vq_limit *limit)
{
    bool rated = false;
    for (int r = 0; r < VQ_RATE__COUNT; r++) {
        rated = rated || limit->rates.of[r] > 0;
    }
    return rated;
}

/* Before any worker has reported its keys, each pool counts as one that takes calls. */
static bool is_unheard(const struct vq_run *run)
{
    struct vq_authority_pool_status pool;
    for (uint32_t p = 0; p < run->source.pools->uses.count; p++) {
        vq_authority_status(run->limits.authority, p, vq_run_now(), &pool);
        if (pool.state != VQ_AUTHORITY_NOBODY) {
            return false;
        }
    }
    return true;
}

/* Calls per second of pool p now: by its limits, or less if it was measured. */
static double rate_of(struct vq_run_deadline *d, uint32_t p,
                      const struct vq_authority_pool_status *pool, struct vq_deadline_tokens tokens)
{
    int64_t now = vq_run_now();
    bool busy = pool->work_waits && pool->lately.requests > 0;
    d->busy_from_ns[p] = !busy ? 0 : d->busy_from_ns[p] == 0 ? now : d->busy_from_ns[p];
    busy = busy && now - d->busy_from_ns[p] >= BUSY_NS;
    double rate = vq_deadline_pool_rate(pool, tokens, busy);
    d->measured[p] = busy ? rate : d->measured[p];
    return d->measured[p] > 0 ? fmin(rate, d->measured[p]) : rate;
}

/* The rate of the interactive pools, and the lowest price of each kind. */
static void fill_pools(struct vq_run *run, uint32_t g, struct vq_deadline_state *s)
{
    struct vq_run_deadline *d = &run->deadline;
    const struct vq_conf_uses *uses = &run->source.pools->uses;
    struct vq_deadline_tokens tokens = tokens_of(run);
    const struct vq_conf_use *open[VQ_POOLS_MAX];
    struct vq_pool_prices usd;
    uint32_t open_count = 0;
    double rate = 0;
    bool known = true, unheard = is_unheard(run);
    for (uint32_t p = 0; p < uses->count; p++) {
        struct vq_authority_pool_status pool;
        if (!vq_deadline_in_group(run, g, p)) {
            continue;
        }
        vq_authority_status(run->limits.authority, p, vq_run_now(), &pool);
        pool.state = unheard ? VQ_AUTHORITY_OPEN : pool.state;
        double one = vq_deadline_is_batch(run, p) ? vq_deadline_pool_rate(&pool, tokens, false)
                                                  : rate_of(d, p, &pool, tokens);
        if (!vq_deadline_is_batch(run, p)) {
            known = known && (d->measured[p] > 0 || is_rated(&pool.limit) || one <= 0);
            rate += one;
        }
        if (one > 0) {
            open[open_count++] = &uses->uses[p];
        }
    }
    vq_pool_prices_of(open, open_count, tokens.in, tokens.out, &usd);
    s->interactive_usd = usd.interactive;
    s->batch_usd = usd.batch;
    s->rate = rate / d->speed;
    d->groups[g].rate = rate;
    d->groups[g].is_known = known && rate > 0;
}

/* Counts the calls. Calls in batches are not in `open` and `returned`. Leased calls count as bought
 * while the batch pools rest. */
static void fill_calls(struct vq_run *run, uint32_t g, struct vq_deadline_view *v)
{
    struct vq_deadline_state *s = &v->state;
    uint64_t open = 0, batched = 0, live = 0, returned = 0, blocked = 0;
    for (uint32_t j = 0; j < run->stages.asking->cast->count; j++) {
        struct vq_coord_judge_status judge;
        if (run->deadline.group_of[j] == g) {
            vq_coord_judge_fill(run->coord, j, vq_run_now(), &judge);
            open += judge.open;
            batched += judge.batched < judge.open ? judge.batched : judge.open;
            live += judge.live;
            returned += judge.returned;
            blocked += judge.blocked;
        }
    }
    uint64_t left = open - batched;
    bool direct = run->deadline.groups[g].decided && run->deadline.groups[g].direct;
    s->buying = !direct ? 0 : live < left ? live : left;
    left -= s->buying;
    s->returned = returned < left ? returned : left;
    left -= s->returned;
    v->blocked = blocked < left ? blocked : left;
    s->open = left - v->blocked;
    v->later[s->later_count++] = v->blocked;
}

static enum vq_status fill_batches(struct vq_run *run, uint32_t g, struct vq_deadline_view *v)
{
    struct vq_run_deadline *d = &run->deadline;
    v->batches = vq_alloc(d->batches_count + 1, sizeof(*v->batches));
    v->of = vq_alloc(d->batches_count + 1, sizeof(*v->of));
    if (v->batches == NULL || v->of == NULL) {
        return VQ_NOMEM;
    }
    for (size_t i = 0; i < d->batches_count; i++) {
        const struct vq_run_batch *b = &d->batches[i];
        if (b->pool == VQ_POOLS_MAX || !vq_deadline_in_group(run, g, b->pool)) {
            continue;
        }
        v->of[v->state.batches_count] = i;
        v->batches[v->state.batches_count++] =
            (struct vq_deadline_batch){.submitted_s = decision_s(d, b->since_unix_ms),
                                       .calls = b->waiting,
                                       .cancelling = b->cancelled_unix_ms != 0};
    }
    v->state.batches = v->batches;
    uint32_t pools = run->source.pools->uses.count;
    for (uint32_t p = 0; p < pools; p++) { /* usually one model of one provider */
        if (vq_deadline_is_batch(run, p) && vq_deadline_in_group(run, g, p)) {
            return vq_batch_times_of(&d->times, &run->source.pools->uses.uses[p], d->speed,
                                     &v->state.durations, &v->durations);
        }
    }
    return VQ_OK;
}

enum vq_status vq_deadline_fill(struct vq_run *run, uint32_t g, struct vq_deadline_view *v)
{
    *v = (struct vq_deadline_view){
        .state = {.now_s = decision_s(&run->deadline, vq_clock_unix_ms())}};
    fill_pools(run, g, &v->state);
    fill_calls(run, g, v);
    for (uint32_t i = vq_stages_next_expected(run);
         i < run->stages.expected_count && v->state.later_count < VQ_DEADLINE_STAGES_MAX; i++) {
        v->later[v->state.later_count++] =
            run->stages.expected[i].calls * run->deadline.groups[g].judges;
    }
    v->state.later = v->later;
    return fill_batches(run, g, v);
}

void vq_deadline_view_free(struct vq_deadline_view *v)
{
    vq_free(v->batches);
    vq_free(v->of);
    vq_free(v->durations);
}
