/* Private to this folder: the steps of vq_vibecheck_compute, one file each. */
#pragma once

#include "methods/vibecheck/numbers/vibecheck.h"

/* One split of the rows as packed columns. */
struct vq_split {
    size_t rows;
    uint32_t *sample; /* [row]: number of its sample */
    uint32_t *group;
    double *x;    /* rows x vibes, NaN: missing */
    double *pref; /* +1, -1, NaN: no preference */
    bool *shown;  /* the proposer saw the row */
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

/* The first of its own gates that a vibe fails: separability, preference, kappa. Without `with_q`,
 * q is not known yet, and the interval gate counts as the point gate (gates.c). */
enum vq_drop_reason vq_gate_own(const struct vq_vibecheck_work *w, uint32_t vibe, bool with_q);

static inline bool vq_gate_stopped(const struct vq_vibecheck_work *w, uint32_t vibe)
{
    return w->in->stopped_early != NULL && w->in->stopped_early[vibe];
}

/* Whether an order of a cell has a vote. A call that was asked and has no vote has failed. */
bool vq_order_has_vote(uint8_t outcome);

/* at_random.c: separability as it would be if no call had failed, assuming that calls fail at
 * random; both splits of every vibe. */
void vq_at_random_compute(struct vq_vibecheck_work *w);

/* metrics.c: the metrics of every vibe */
enum vq_status vq_metrics_compute(struct vq_vibecheck_work *w) VQ_WARN_UNUSED;
/* after the gates: p and q on test */
enum vq_status vq_metrics_test(struct vq_vibecheck_work *w) VQ_WARN_UNUSED;
/* gates.c: whether a vibe is kept, or the reason why not */
enum vq_status vq_gates_apply(struct vq_vibecheck_work *w) VQ_WARN_UNUSED;
enum vq_status vq_fits_compute(struct vq_vibecheck_work *w) VQ_WARN_UNUSED; /* fits.c: MM and PP */
/* audit.c: estimates that need both orders */
enum vq_status vq_audit_compute(struct vq_vibecheck_work *w) VQ_WARN_UNUSED;

/* cascade.c: vq_cascade_compute replaces the separabilities and intervals of row scores by the
 * estimates. vq_cascade_test computes the p of a split, without rows that the proposer saw. */
enum vq_status vq_cascade_compute(struct vq_vibecheck_work *w) VQ_WARN_UNUSED;
enum vq_status vq_cascade_test(struct vq_vibecheck_work *w, const struct vq_split *s,
                               double *ret_p) VQ_WARN_UNUSED;

/* people.c: compares the judges with people, if there are labels. */
enum vq_status vq_people_compute(struct vq_vibecheck_work *w) VQ_WARN_UNUSED;
