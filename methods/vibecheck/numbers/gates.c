/* The gates, all on train: separability (strict inequality; interval: q as well), preference, kappa
 * (plain or mirrored), overlap with an earlier kept vibe, and the cap on final vibes in their order
 * (LARS, separability or p). The reason of a dropped vibe is the first gate that it fails. */
#include "common/base/alloc.h"
#include "methods/stats/intervals/separability.h"
#include "methods/stats/logit/lars.h"
#include "methods/vibecheck/numbers/parts.h"

#include <math.h>

static bool separable(const struct vq_conf_gates *g, const struct vq_vibe_metrics *m)
{
    return fabs(m->train.sep) > g->separability_min; /* false for NaN */
}

static enum vq_drop_reason separability_gate(const struct vq_conf_gates *g,
                                             const struct vq_vibe_metrics *m, bool sep)
{
    bool pref = fabs(m->train.pref) > g->separability_min;
    switch (g->preference) {
    case VQ_GATE_SEP_ONLY: return sep ? VQ_DROP_NONE : VQ_DROP_SEPARABILITY;
    case VQ_GATE_SEP_OR_PREF: return sep || pref ? VQ_DROP_NONE : VQ_DROP_SEPARABILITY;
    case VQ_GATE_SEP_AND_PREF:
        return !sep ? VQ_DROP_SEPARABILITY : pref ? VQ_DROP_NONE : VQ_DROP_PREFERENCE;
    }
    return VQ_DROP_SEPARABILITY;
}

static bool agreed(const struct vq_conf_gates *g, uint32_t judges,
                   const struct vq_agreement_pair *a)
{
    if (!g->kappa || judges < 2) {
        return true;
    }
    if (a->undefined_equal) {
        return true;
    }
    return a->kappa >= g->kappa_min || a->kappa_mirrored >= g->kappa_min;
}

enum vq_drop_reason vq_gate_own(const struct vq_vibecheck_work *w, uint32_t vibe, bool with_q)
{
    const struct vq_conf_gates *g = &w->in->config->gates;
    const struct vq_vibe_metrics *m = &w->out->vibe[vibe];
    bool interval = with_q && g->separability == VQ_GATE_INTERVAL;
    enum vq_drop_reason reason =
        separability_gate(g, m, separable(g, m) && (!interval || m->train.q <= 0.05));
    /* the numbers of a cascade are those of its second judge alone */
    uint32_t judges = w->in->cascade != NULL ? 1 : w->in->grid.judges;
    bool disagree = reason == VQ_DROP_NONE && !agreed(g, judges, &m->train.agreement);
    return disagree ? VQ_DROP_KAPPA : reason;
}

static bool nearly_constant(struct vq_matrix x, uint32_t col)
{
    return vq_separability_nearly_constant(x.at + col, x.rows, x.cols);
}

/* A mirror image has the same meaning, so the size of the overlap counts, not its sign. */
static void overlap_gate(struct vq_vibecheck_work *w)
{
    const struct vq_conf_gates *g = &w->in->config->gates;
    if (g->overlap == VQ_CONF_OVERLAP_OFF) {
        return;
    }
    enum vq_overlap_kind kind =
        g->overlap == VQ_CONF_OVERLAP_PEARSON ? VQ_OVERLAP_PEARSON : VQ_OVERLAP_COSINE;
    struct vq_matrix x = {w->train.x, w->train.rows, w->in->grid.vibes};
    for (uint32_t v = 0; v < x.cols; v++) {
        struct vq_vibe_metrics *m = &w->out->vibe[v];
        for (uint32_t earlier = 0; earlier < v && m->reason == VQ_DROP_NONE; earlier++) {
            if (w->out->vibe[earlier].reason != VQ_DROP_NONE) {
                continue;
            }
            double r = vq_separability_overlap(x, earlier, v, kind);
            if (kind == VQ_OVERLAP_PEARSON && nearly_constant(x, earlier) &&
                nearly_constant(x, v)) {
                m->overlap_unjudged = true;
            } else if (fabs(r) > g->overlap_max) {
                m->reason = VQ_DROP_OVERLAP;
                m->overlap_with = earlier;
                m->overlap = r;
            }
        }
    }
}

static uint32_t passing(const struct vq_vibecheck_work *w, uint32_t *ret_index)
{
    uint32_t n = 0;
    for (uint32_t v = 0; v < w->in->grid.vibes; v++) {
        if (w->out->vibe[v].reason == VQ_DROP_NONE) {
            ret_index[n++] = v;
        }
    }
    return n;
}

/* The order of the columns `index` of train on the lasso path. */
static enum vq_status lars_order(struct vq_vibecheck_work *w, const uint32_t *index, uint32_t n,
                                 size_t *ret_order)
{
    size_t rows = w->train.rows;
    double *x, *target, *sep;
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, x, rows * n));
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, target, rows));
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, sep, n));
    for (size_t row = 0; row < rows; row++) {
        target[row] = 1.0;
        for (uint32_t k = 0; k < n; k++) {
            x[row * n + k] = w->train.x[row * w->in->grid.vibes + index[k]];
        }
    }
    for (uint32_t k = 0; k < n; k++) {
        sep[k] = fabs(w->out->vibe[index[k]].train.sep);
    }
    return vq_lars_order((struct vq_matrix){x, rows, n}, target, sep, ret_order, NULL, w->err);
}

static bool goes_before(const struct vq_vibe_metrics *a, const struct vq_vibe_metrics *b,
                        enum vq_final_order order)
{
    if (order == VQ_FINAL_P_VALUE && (a->train.p < b->train.p || b->train.p < a->train.p)) {
        return a->train.p < b->train.p;
    }
    return fabs(a->train.sep) > fabs(b->train.sep);
}

/* Insertion sort, so that ties keep their order. */
static void plain_order(const struct vq_vibecheck_work *w, const uint32_t *index, uint32_t n,
                        enum vq_final_order order, size_t *ret_order)
{
    for (uint32_t k = 0; k < n; k++) {
        uint32_t at = k;
        while (at > 0 && goes_before(&w->out->vibe[index[k]],
                                     &w->out->vibe[index[ret_order[at - 1]]], order)) {
            ret_order[at] = ret_order[at - 1];
            at--;
        }
        ret_order[at] = k;
    }
}

static enum vq_status drop_after(struct vq_vibecheck_work *w, const uint32_t *index, uint32_t n,
                                 uint32_t final)
{
    enum vq_final_order by = w->in->config->vibecheck.final_order;
    size_t *order;
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, order, n));
    if (by == VQ_FINAL_LARS && !vq_config_ranks(w->in->config)) {
        VQ_TRY(lars_order(w, index, n, order));
    } else {
        plain_order(w, index, n, by, order);
    }
    for (uint32_t k = final; k < n; k++) {
        w->out->vibe[index[order[k]]].reason = VQ_DROP_NUM_FINAL;
    }
    return VQ_OK;
}

static enum vq_status final_gate(struct vq_vibecheck_work *w)
{
    uint32_t final = w->in->no_final_cap ? 0 : w->in->config->vibecheck.num_final_vibes;
    uint32_t *index;
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, index, w->in->grid.vibes));
    uint32_t n = passing(w, index);
    return final > 0 && n > final ? drop_after(w, index, n, final) : VQ_OK;
}

enum vq_status vq_gates_apply(struct vq_vibecheck_work *w)
{
    for (uint32_t v = 0; v < w->in->grid.vibes; v++) {
        w->out->vibe[v].reason =
            vq_gate_stopped(w, v) ? VQ_DROP_EARLY_STOP : vq_gate_own(w, v, true);
    }
    overlap_gate(w);
    VQ_TRY(final_gate(w));
    for (uint32_t v = 0; v < w->in->grid.vibes; v++) {
        struct vq_vibe_metrics *m = &w->out->vibe[v];
        m->kept = m->reason == VQ_DROP_NONE;
        w->out->kept_count += m->kept;
    }
    return VQ_OK;
}
