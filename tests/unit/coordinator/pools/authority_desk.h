/* A desk of the authority: workers that report what a test puts in `said` and take their GRANTs at
 * once. Brings cmocka with it. */
#pragma once

#include "tests/unit/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "coordinator/pools/authority.h"

#define S  INT64_C(1000000000)
#define MS INT64_C(1000000)

static struct vq_slice slices[VQ_AUTHORITY_POOLS_MAX];

struct desk { /* an authority and workers that say what is put in `said` */
    struct vq_authority *a;
    int64_t now_ns;
    uint32_t pools, workers;
    struct vq_pool_report said[20][4];
    uint64_t n[20];
    struct vq_slice has[20][4];
    struct vq_msg_grant grant[20];
    uint32_t grants;
    struct vq_amount spend[20];
};

static inline struct vq_id id_of(uint32_t worker)
{
    struct vq_id id = {{0}};
    worker++;
    memcpy(id.b, &worker, sizeof(worker));
    return id;
}

static inline void open_desk(struct desk *d, const struct vq_authority_pool *pools, uint32_t count,
                             uint64_t budget_nano, uint32_t workers)
{
    memset(d, 0, sizeof(*d));
    d->now_ns = S;
    d->pools = count;
    d->workers = workers;
    struct vq_authority_params params = {
        .pools = pools, .pools_count = count, .term_ns = 10 * S, .budget_nano = budget_nano};
    assert_int_equal(vq_authority_create(&params, d->now_ns, &d->a, NULL), VQ_OK);
    vq_authority_clock(d->a, 1000000, d->now_ns);
    for (uint32_t w = 0; w < workers; w++) {
        struct vq_id id = id_of(w);
        assert_int_equal(vq_authority_join(d->a, &id, true, false, d->now_ns), VQ_OK);
        for (uint32_t p = 0; p < count; p++) {
            d->said[w][p] = (struct vq_pool_report){.pool = p, .waiting = 5};
        }
    }
}

static inline void say(struct desk *d, uint32_t w)
{
    struct vq_id id = id_of(w);
    struct vq_msg_credit credit = {.granted_n = d->n[w],
                                   .spend = d->spend[w],
                                   .reports = d->said[w],
                                   .reports_count = d->pools};
    assert_int_equal(vq_authority_report(d->a, &id, &credit, d->now_ns), VQ_OK);
}

/* Everybody reports each 100 ms and takes every GRANT at once. */
static inline void pass(struct desk *d, int64_t for_ns)
{
    for (int64_t end_ns = d->now_ns + for_ns; d->now_ns < end_ns; d->now_ns += 100 * MS) {
        for (uint32_t w = 0; w < d->workers; w++) {
            say(d, w);
        }
        vq_authority_tick(d->a, d->now_ns);
        for (uint32_t w = 0; w < d->workers; w++) {
            struct vq_id id = id_of(w);
            if (!vq_authority_due(d->a, &id)) {
                continue;
            }
            vq_authority_grant(d->a, &id, d->now_ns, slices, &d->grant[w]);
            memset(d->has[w], 0, sizeof(d->has[w]));
            for (uint32_t i = 0; i < d->grant[w].slices_count; i++) {
                d->has[w][slices[i].pool] = slices[i];
            }
            d->n[w] = d->grant[w].n;
            d->spend[w].most = d->grant[w].spend_most;
            d->grants++;
            say(d, w);
        }
    }
}

/* The same; who has a slice starts one request and ends it. */
static inline void work(struct desk *d, int64_t for_ns)
{
    for (int64_t end_ns = d->now_ns + for_ns; d->now_ns < end_ns;) {
        for (uint32_t w = 0; w < d->workers; w++) {
            for (uint32_t p = 0; p < d->pools; p++) {
                d->said[w][p].requests += d->has[w][p].concurrency != 0;
                d->said[w][p].answered = d->said[w][p].requests;
            }
        }
        pass(d, 100 * MS);
    }
}

static inline uint32_t calls_of(const struct desk *d, uint32_t p, uint32_t *ret_holders)
{
    uint32_t sum = 0;
    *ret_holders = 0;
    for (uint32_t w = 0; w < d->workers; w++) {
        sum += d->has[w][p].concurrency;
        *ret_holders += d->has[w][p].concurrency != 0;
    }
    return sum;
}

static inline struct vq_authority_pool_status status_of(const struct desk *d, uint32_t p)
{
    struct vq_authority_pool_status status;
    vq_authority_status(d->a, p, d->now_ns, &status);
    return status;
}
