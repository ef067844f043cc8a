/* The input of coordinator/pools/second_orders.h from a run, when a stage begins. Not its job:
 * which orders are leased (the core). */
#include "coordinator/pools/second_orders.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/text/log.h"
#include "coordinator/pools/prices.h"
#include "coordinator/run/parts.h"
#include "coordinator/store/calls/settling.h"

#include <math.h>

/* The prices of the judge's cheapest pools; 0: it has none. */
static void prices(const struct vq_run *run, uint32_t judge, struct vq_second_orders *state)
{
    const struct vq_role_models *cast = run->stages.asking->cast;
    const struct vq_conf_use *pools[VQ_POOLS_MAX];
    struct vq_pool_prices usd;
    for (uint32_t i = 0; i < cast->pools_count[judge]; i++) {
        pools[i] = &run->source.pools->uses.uses[cast->pools[judge][i]];
    }
    vq_pool_prices_of(pools, cast->pools_count[judge], VQ_DEADLINE_TOKENS_IN,
                      VQ_DEADLINE_TOKENS_OUT, &usd);
    state->interactive_usd = isinf(usd.interactive) ? 0 : usd.interactive;
    state->batch_usd = isinf(usd.batch) ? 0 : usd.batch;
}

static bool is_lazy(const struct vq_stage_grid *asking)
{
    return asking->plan.swap == VQ_SWAP_LAZY && vq_stage_shows_outputs(asking->kind);
}

void vq_second_orders_learn(struct vq_run_stages *stages, const struct vq_stage_grid *asking,
                            const uint8_t *outcomes)
{
    uint32_t shard_tasks = vq_grid_shard_tasks(&asking->plan.grid);
    for (uint64_t task = 0; is_lazy(asking) && task < vq_grid_tasks(&asking->plan.grid); task++) {
        enum vq_outcome outcome = (enum vq_outcome)outcomes[task];
        bool first = task % 2 == asking->plan.first_order[task / shard_tasks];
        if (first && vq_outcome_is_answered(outcome)) {
            stages->firsts++;
            stages->settling += vq_outcome_settles(outcome) ? 1 : 0;
        }
    }
}

/* The time until the deadline, and the durations of batches of the judge's model. Later stages and
 * the interactive pools need a part of this time, which the deadline's decision considers. */
static enum vq_status fill_time(const struct vq_run *run, uint32_t judge,
                                struct vq_second_orders *state, double **ret_memory)
{
    const struct vq_run_deadline *d = &run->deadline;
    const struct vq_role_models *cast = run->stages.asking->cast;
    state->left_s = INFINITY;
    if (d->at == 0) {
        return VQ_OK;
    }
    double left_s = (double)((int64_t)d->at * 1000 - vq_clock_unix_ms()) / 1000;
    state->left_s = left_s * d->speed - VQ_DEADLINE_MARGIN_S;
    for (uint32_t i = 0; i < cast->pools_count[judge]; i++) {
        const struct vq_conf_use *use = &run->source.pools->uses.uses[cast->pools[judge][i]];
        if (use->batch != NULL) {
            return vq_batch_times_of(&d->times, use, d->speed, &state->durations, ret_memory);
        }
    }
    return VQ_OK;
}

/* If the run has not measured a share, uses that of the model's verdicts in the store, like the
 * plan. */
static enum vq_status fill_settled(const struct vq_run *run, uint32_t judge,
                                   struct vq_second_orders *state)
{
    const struct vq_role_models *cast = run->stages.asking->cast;
    const char *names[VQ_POOLS_MAX + 1] = {cast->judges[judge].model};
    uint32_t count = cast->pools_count[judge];
    struct vq_settling stored = {.verdicts = 0};
    struct vq_error err = {.text = ""};
    struct vq_view *view;
    state->firsts = run->stages.firsts;
    state->settled = run->stages.settling;
    if (state->firsts >= VQ_SECOND_ORDERS_FIRSTS_MIN) {
        return VQ_OK;
    }
    for (uint32_t i = 0; i < count; i++) {
        names[i + 1] = run->source.pools->uses.uses[cast->pools[judge][i]].sent;
    }
    enum vq_status status = vq_view_begin(run->calls, &view, &err);
    if (status == VQ_OK) {
        status = vq_settling_of(view, names, count + 1, &stored, &err);
        vq_view_end(&view);
    }
    if (status != VQ_OK) {
        vq_log(VQ_LOG_WARN, "stage.second_orders", "why=%s", err.text);
    } else if (stored.verdicts >= VQ_SECOND_ORDERS_FIRSTS_MIN) {
        state->firsts = stored.verdicts;
        state->settled = stored.settled;
    }
    return status;
}

bool vq_run_seconds_wait(const struct vq_run *run, uint32_t judge)
{
    const struct vq_stage_grid *asking = run->stages.asking;
    struct vq_second_orders state = {.audited = run->source.config->judging.audit_share};
    double *memory = NULL;
    prices(run, judge, &state);
    if (!is_lazy(asking) || state.batch_usd <= 0) {
        return false;
    }
    bool wait = fill_settled(run, judge, &state) == VQ_OK &&
                fill_time(run, judge, &state, &memory) == VQ_OK && vq_second_orders_wait(&state);
    vq_free(memory);
    vq_log(VQ_LOG_INFO, "stage.second_orders", "judge=%s wait=%d settled=%llu of=%llu source=%s",
           asking->cast->conf[judge].name, wait, (unsigned long long)state.settled,
           (unsigned long long)state.firsts, state.firsts == run->stages.firsts ? "run" : "store");
    return wait;
}
