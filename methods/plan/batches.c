/* Computes a copy of the forecast again, with batch pools. If the run has no batch pools, each pool
 * whose provider has a batch API gets a batch pool with the same prices. Owns only the copy. Not
 * its job: the arithmetic (forecast.c). */
#include "methods/plan/batches.h"

#include "common/base/alloc.h"
#include "common/conf/batches.h"
#include <string.h>

struct copy {
    struct vq_forecast f;
    uint32_t *pools; /* pools of all lines, one line after the other */
};

static void copy_free(struct copy *c)
{
    vq_free(c->f.lines);
    vq_free(c->f.limits);
    vq_free(c->f.pools);
    vq_free(c->pools);
}

/* The copy has room for a second pool per pool. */
static enum vq_status copy_make(const struct vq_forecast *from, struct copy *ret_copy)
{
    uint32_t pools_count = 0;
    for (uint32_t i = 0; i < from->lines_count; i++) {
        pools_count += from->lines[i].pools_count;
    }
    struct copy c = {.f = *from};
    c.f.lines = vq_alloc(from->lines_count + 1, sizeof(*c.f.lines));
    c.f.limits = vq_alloc(2 * (size_t)from->limits_count + 1, sizeof(*c.f.limits));
    c.f.pools = vq_alloc(2 * (size_t)from->limits_count + 1, sizeof(*c.f.pools));
    c.pools = vq_alloc(2 * (size_t)pools_count + 1, sizeof(*c.pools));
    if (c.f.lines == NULL || c.f.limits == NULL || c.f.pools == NULL || c.pools == NULL) {
        copy_free(&c);
        return VQ_NOMEM;
    }
    memcpy(c.f.lines, from->lines, from->lines_count * sizeof(*c.f.lines));
    memcpy(c.f.limits, from->limits, from->limits_count * sizeof(*c.f.limits));
    c.f.way = VQ_WAY_BATCH;
    *ret_copy = c;
    return VQ_OK;
}

/* The batch pool of pool `p` has the number `count` + `p`. */
static void add_batch_pools(struct copy *c)
{
    uint32_t count = c->f.limits_count;
    for (uint32_t p = 0; p < count; p++) {
        struct vq_forecast_limits *beside = &c->f.limits[count + p];
        *beside = c->f.limits[p];
        beside->batch = true;
        beside->batch_price = VQ_CONF_BATCH_PRICE;
        beside->batch_price_assumed = true;
        beside->service_tier = NULL;
    }
    c->f.limits_count = 2 * count;
    uint32_t *at = c->pools;
    for (uint32_t i = 0; i < c->f.lines_count; i++) {
        struct vq_forecast_line *l = &c->f.lines[i];
        uint32_t *first = at;
        for (uint32_t k = 0; k < l->pools_count; k++) {
            *at++ = l->pools[k];
            if (c->f.limits[l->pools[k]].can_batch) {
                *at++ = count + l->pools[k];
            }
        }
        l->pools = first;
        l->pools_count = (uint32_t)(at - first);
    }
}

static bool has_batch_pool(const struct vq_forecast *f)
{
    bool has = false;
    for (uint32_t p = 0; p < f->limits_count; p++) {
        has = has || f->limits[p].batch;
    }
    return has;
}

enum vq_status vq_forecast_as_batches(const struct vq_forecast *f,
                                      struct vq_forecast_batches *ret_batches)
{
    struct copy c;
    struct vq_forecast_batches b = {.configured = has_batch_pool(f)};
    *ret_batches = (struct vq_forecast_batches){.possible = false};
    if (!b.configured && 2 * f->limits_count > VQ_FORECAST_POOLS_MAX) {
        return VQ_OK;
    }
    VQ_TRY(copy_make(f, &c));
    if (!b.configured) {
        add_batch_pools(&c);
    }
    vq_forecast_figure(&c.f);
    for (uint32_t p = 0; p < c.f.limits_count; p++) {
        const struct vq_forecast_limits *l = &c.f.limits[p];
        b.price_assumed =
            b.price_assumed || (l->batch_price_assumed && c.f.pools[p].calls.most > 0);
    }
    b.time_assumed = (c.f.assumed & VQ_ASSUMED_BATCH) != 0;
    b.in_sequence = c.f.batches;
    b.all = c.f.all;
    b.seconds = c.f.seconds;
    b.possible = c.f.batches > f->batches;
    if (b.possible) {
        *ret_batches = b;
    }
    copy_free(&c);
    return VQ_OK;
}
