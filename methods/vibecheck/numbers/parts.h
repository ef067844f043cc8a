/* Private to the pipeline: the steps of vq_vibecheck_compute, one file each. */
#pragma once

#include "methods/vibecheck/numbers/vibecheck.h"

/* One split of the rows as packed columns. */
struct vq_split {
    size_t rows;
    uint32_t *sample; /* row -> sample */
    uint32_t *group;
    double *x;    /* rows x vibes, NaN = missing */
    double *pref; /* +1, -1, NaN = no preference */
    bool *shown;  /* to the proposer */
};

struct vq_vibecheck_work {
    const struct vq_vibecheck_input *in;
    struct vq_vibecheck *out;
    struct vq_split train, test;
    struct vq_arena memory; /* work space until the result is there */
    struct vq_error *err;
};

/* Each use of randomness has its own stream of the run's seed. */
enum vq_seed_use {
    VQ_SEED_SEPARABILITY = 1,
    VQ_SEED_PREF,
    VQ_SEED_FOLDS,
    VQ_SEED_COEF,
    VQ_SEED_SIGNS,
    VQ_SEED_INCREMENT
};
static inline uint64_t vq_seed(const struct vq_vibecheck_work *w, enum vq_seed_use use)
{
    return w->in->config->seed * UINT64_C(1000003) + (uint64_t)use;
}

static inline uint32_t vq_draws(const struct vq_vibecheck_work *w)
{
    return w->in->no_intervals ? 0 : w->in->config->regression.bootstrap_draws;
}

/* The first of the gates of one vibe alone that it fails: separability, preference, kappa; without
 * `with_q`, before q is known, as if the interval gate were the point gate (gates.c). */
enum vq_drop_reason vq_gate_own(const struct vq_vibecheck_work *w, uint32_t vibe, bool with_q);

static inline bool vq_gate_stopped(const struct vq_vibecheck_work *w, uint32_t vibe)
{
    return w->in->stopped_early != NULL && w->in->stopped_early[vibe];
}

/* The two orders of a cell. A call that was asked and has no vote has failed. */
bool vq_order_has_vote(uint8_t outcome);

/* Separability as it would be if no call had failed, for failures at random; both splits of every
 * vibe (at_random.c). */
void vq_at_random_compute(struct vq_vibecheck_work *w);

enum vq_status vq_metrics_compute(struct vq_vibecheck_work *w)
    VQ_WARN_UNUSED; /* metrics.c: every vibe's metrics */
enum vq_status
vq_metrics_test(struct vq_vibecheck_work *w) VQ_WARN_UNUSED; /* after the gates: p and q on test */
enum vq_status
vq_gates_apply(struct vq_vibecheck_work *w) VQ_WARN_UNUSED; /* gates.c: kept or the reason */
enum vq_status vq_fits_compute(struct vq_vibecheck_work *w) VQ_WARN_UNUSED; /* fits.c: MM and PP */
enum vq_status
vq_audit_compute(struct vq_vibecheck_work *w) VQ_WARN_UNUSED; /* audit.c: what needs both orders */

/* cascade.c: puts the estimates in the places of separabilities and intervals, after those were
 * computed of the row scores; and the p of a split, without rows that the proposer was shown. */
enum vq_status vq_cascade_compute(struct vq_vibecheck_work *w) VQ_WARN_UNUSED;
enum vq_status vq_cascade_test(struct vq_vibecheck_work *w, const struct vq_split *s,
                               double *ret_p) VQ_WARN_UNUSED;

/* people.c: the judges against people, where there are labels. */
enum vq_status vq_people_compute(struct vq_vibecheck_work *w) VQ_WARN_UNUSED;
