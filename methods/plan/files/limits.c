/* Limits and prices of calls: the pools of the configuration, with the run's share of each. Several
 * pools may serve one model, and one pool may serve several models. The part of a daily quota that
 * is already used is not considered. Not its job: times and costs (methods/plan/forecast.c). */
#include "common/base/alloc.h"
#include "common/conf/batches.h"
#include "common/conf/tiers.h"
#include "common/net/http.h"
#include "coordinator/store/rundir/batch_times.h"
#include "methods/plan/files/forecast.h"
#include "methods/plan/files/parts.h"

#include <math.h>

static struct vq_forecast_limits limits_of(const struct vq_conf_use *use)
{
    const struct vq_conf_limits *l = &use->limits;
    struct vq_conf_batch_limits ignored;
    bool remote = use->base_url != NULL && !vq_http_url_is_local(use->base_url);
    return (struct vq_forecast_limits){
        .name = use->name,
        .rates = vq_rates_part(&l->limit.rates, l->share),
        .requests_per_day = (double)l->requests_per_day * l->share,
        .tokens_per_day = (double)l->tokens_per_day * l->share,
        .concurrency = l->limit.concurrency * l->share,
        .price_input_usd = l->price_input_usd,
        .price_cached_usd = l->price_cached_usd,
        .price_output_usd = l->price_output_usd,
        .price_written_usd = vq_run_pool_written_usd(use),
        .service_tier = l->service_tier,
        .tier_price = vq_tier_price(l),
        .tier_price_assumed = l->service_tier_price < 0,
        .batch = use->batch != NULL,
        .batch_price = vq_conf_batch_price(use->batch),
        .batch_price_assumed = use->batch != NULL && use->batch->price < 0,
        .can_batch = remote && vq_conf_batch_provider(use->dialect, &ignored)};
}

enum vq_status vq_forecast_fill_limits(const struct vq_job *job, struct vq_forecast *f)
{
    const struct vq_conf_uses *uses = &job->pools.uses;
    VQ_TRY(VQ_ALLOC(f->limits, uses->count));
    VQ_TRY(VQ_ALLOC(f->pools, uses->count));
    for (uint32_t i = 0; i < uses->count; i++) {
        f->limits[f->limits_count++] = limits_of(&uses->uses[i]);
    }
    return VQ_OK;
}

static enum vq_status recorded(const struct vq_batch_times *times, const struct vq_conf_use *use,
                               struct vq_forecast_limits *l)
{
    struct vq_durations d;
    double *memory = NULL;
    VQ_TRY(vq_batch_times_of(times, use, 1, &d, &memory));
    double half_s = vq_durations_within(&d, 0.5);
    if (isfinite(half_s)) {
        l->batch_times = d.count + d.cancelled_count + d.expired;
        l->batch_s = (struct vq_range){d.ended[0], half_s, VQ_ASSUMED_BATCH_MOST_S};
    }
    vq_free(memory);
    return VQ_OK;
}

enum vq_status vq_forecast_batch_times(const char *runs_dir, const struct vq_job *job,
                                       struct vq_forecast *f)
{
    struct vq_batch_times times;
    VQ_TRY(vq_batch_times_load(runs_dir, &times));
    enum vq_status status = VQ_OK;
    for (uint32_t i = 0; status == VQ_OK && i < f->limits_count; i++) {
        status = recorded(&times, &job->pools.uses.uses[i], &f->limits[i]);
    }
    vq_batch_times_free(&times);
    if (status == VQ_OK) {
        vq_forecast_figure(f);
    }
    return status;
}

const uint32_t *vq_forecast_serving(const struct vq_job *job, enum vq_role role, uint32_t model,
                                    uint32_t *ret_count)
{
    *ret_count = job->cast[role].pools_count[model];
    return job->cast[role].pools[model];
}

bool vq_forecast_is_remote(const struct vq_job *job, const struct vq_forecast *f)
{
    bool remote = false;
    for (uint32_t i = 0; i < f->lines_count; i++) {
        const struct vq_forecast_line *l = &f->lines[i];
        for (uint32_t k = 0; k < l->pools_count; k++) {
            const char *url = job->pools.uses.uses[l->pools[k]].base_url;
            remote |= url != NULL && !vq_http_url_is_local(url);
        }
    }
    return remote;
}
