/* What calls are limited by and cost: every judge of the configuration is a pool of its own; one that plays several roles is one pool.
 * Not its job: what follows from it (coordinator/pipeline/forecast.c). */
#include "common/base/alloc.h"
#include "common/net/http.h"
#include "coordinator/shell/forecast.h"
#include "coordinator/shell/forecast_parts.h"

#include <string.h>

#define MODELS_MAX (VQ_ROLE__COUNT * VQ_JUDGES_MAX)

static bool same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool same_judge(const struct vq_conf_judge *a, const struct vq_conf_judge *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->model, b->model) == 0 &&
           same_text(a->base_url, b->base_url);
}

static struct vq_forecast_limits limits_of(const struct vq_conf_judge *judge)
{
    return (struct vq_forecast_limits){.name = judge->name,
                                       .requests_per_minute = judge->requests_per_minute,
                                       .tokens_per_minute = judge->tokens_per_minute,
                                       .concurrency = judge->concurrency,
                                       .price_input_usd = judge->price_input_usd,
                                       .price_cached_usd = -1,
                                       .price_output_usd = judge->price_output_usd};
}

enum vq_status vq_forecast_fill_limits(const struct vq_job *job, struct vq_forecast *f)
{
    const struct vq_conf_judge *judges[MODELS_MAX];
    f->limits = vq_alloc(MODELS_MAX, sizeof(*f->limits));
    f->pools = vq_alloc(MODELS_MAX, sizeof(*f->pools));
    f->serving = vq_alloc(MODELS_MAX, sizeof(*f->serving));
    if (f->limits == NULL || f->pools == NULL || f->serving == NULL) {
        return VQ_NOMEM;
    }
    for (uint32_t role = 0; role < VQ_ROLE__COUNT; role++) {
        const struct vq_cast *cast = &job->cast[role];
        for (uint32_t m = 0; m < cast->count; m++) {
            uint32_t at = 0;
            while (at < f->limits_count && !same_judge(judges[at], &cast->conf[m])) {
                at++;
            }
            if (at == f->limits_count) {
                judges[at] = &cast->conf[m];
                f->limits[f->limits_count++] = limits_of(&cast->conf[m]);
            }
            f->serving[role * VQ_JUDGES_MAX + m] = at;
        }
    }
    return VQ_OK;
}

const uint32_t *vq_forecast_serving(const struct vq_job *job, const struct vq_forecast *f,
                                    enum vq_role role, uint32_t model, uint32_t *ret_count)
{
    (void)job;
    *ret_count = 1;
    return &f->serving[(uint32_t)role * VQ_JUDGES_MAX + model];
}

bool vq_forecast_is_remote(const struct vq_job *job, const struct vq_forecast *f)
{
    bool remote = false;
    for (uint32_t i = 0; i < f->lines_count; i++) {
        const struct vq_forecast_line *l = &f->lines[i];
        const char *url = job->cast[l->role].conf[l->model].base_url;
        remote |= url != NULL && !vq_http_url_is_local(url);
    }
    return remote;
}
