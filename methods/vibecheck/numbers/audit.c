/* Estimates that need both orders of a cell. Under lazy swap a settled first answer ends its cell,
 * except for an audited share that a hash chooses. Audited cells represent the other settled cells,
 * with the inverse of their share as weight. Without lazy swap every weight is 1. */
#include "common/base/alloc.h"
#include "methods/stats/agreement/agreement.h"
#include "methods/vibecheck/numbers/cascade.h"
#include "methods/vibecheck/numbers/parts.h"

#include <math.h>

static int raw(enum vq_outcome o)
{
    return o == VQ_OUTCOME_FIRST ? 1 : o == VQ_OUTCOME_SECOND ? -1 : 0;
}

/* The number of cells that the answer to `order` of this cell represents: 1 if the order is asked
 * in any case. */
static double weight(const struct vq_vibecheck_work *w, uint32_t sample, uint32_t judge,
                     const uint8_t *both, uint32_t order)
{
    const struct vq_conf_judging *j = &w->in->config->judging;
    uint32_t first = w->in->first_order[(size_t)sample * w->in->grid.judges + judge];
    bool certain =
        !j->lazy_swap || order == first || !vq_outcome_settles((enum vq_outcome)both[first]);
    return certain || j->audit_share <= 0 ? 1.0 : 1.0 / j->audit_share;
}

static void audit_judge(const struct vq_vibecheck_work *w, uint32_t judge, struct vq_audit_judge *a)
{
    const struct vq_grid *g = &w->in->grid;
    double total = 0, effect = 0, changed = 0;
    for (uint32_t i = 0; i < g->samples; i++) {
        uint32_t first = w->in->first_order[(size_t)i * g->judges + judge];
        for (uint32_t v = 0; v < g->vibes; v++) {
            const uint8_t *both =
                w->in->outcomes + vq_grid_task(g, (struct vq_cell){i, judge, v, 0});
            enum vq_outcome o0 = (enum vq_outcome)both[0];
            enum vq_outcome o1 = (enum vq_outcome)both[1];
            if (!vq_outcome_is_vote(o0) || !vq_outcome_is_vote(o1)) {
                continue;
            }
            double cells = weight(w, i, judge, both, 1 - first);
            a->cells_both++;
            a->cells_audited += vq_outcome_settles((enum vq_outcome)both[first]);
            total += cells;
            effect += cells * (raw(o0) + raw(o1)) / 2.0;
            changed += cells * (vq_score_cell(VQ_PAIR_LENIENT, o0, o1).score !=
                                vq_score_cell(VQ_PAIR_STRICT, o0, o1).score);
        }
    }
    a->order_effect = total > 0 ? effect / total : NAN;
    a->lenient_changed = total > 0 ? changed / total : NAN;
}

static enum vq_status kappa_of_order(const struct vq_vibecheck_work *w, uint32_t order,
                                     double *ret_kappa, uint64_t *ret_n)
{
    const struct vq_grid *g = &w->in->grid;
    double counts[9] = {0};
    uint64_t n = 0;
    for (uint32_t i = 0; i < g->samples; i++) {
        for (uint32_t v = 0; v < g->vibes; v++) {
            const uint8_t *a = w->in->outcomes + vq_grid_task(g, (struct vq_cell){i, 0, v, 0});
            const uint8_t *b = w->in->outcomes + vq_grid_task(g, (struct vq_cell){i, 1, v, 0});
            enum vq_outcome oa = (enum vq_outcome)a[order];
            enum vq_outcome ob = (enum vq_outcome)b[order];
            bool fair = w->in->cascade == NULL ||
                        (w->in->cascade[(size_t)i * g->vibes + v] & VQ_CASCADE_AUDIT) != 0;
            if (!vq_outcome_is_vote(oa) || !vq_outcome_is_vote(ob) || !fair) {
                continue;
            }
            counts[(raw(oa) + 1) * 3 + raw(ob) + 1] +=
                weight(w, i, 0, a, order) * weight(w, i, 1, b, order);
            n++;
        }
    }
    struct vq_kappa kappa;
    VQ_TRY(vq_agreement_cohen_counts(counts, 3, &kappa));
    *ret_kappa = n > 0 ? kappa.kappa : NAN;
    *ret_n = n;
    return VQ_OK;
}

enum vq_status vq_audit_compute(struct vq_vibecheck_work *w)
{
    struct vq_audit *audit = &w->out->audit;
    for (uint32_t j = 0; j < w->in->grid.judges; j++) {
        audit_judge(w, j, &audit->judges[j]);
    }
    audit->kappa_order[0] = audit->kappa_order[1] = NAN;
    if (w->in->grid.judges < 2) {
        return VQ_OK;
    }
    for (uint32_t order = 0; order < 2; order++) {
        VQ_TRY(kappa_of_order(w, order, &audit->kappa_order[order], &audit->kappa_order_n[order]));
    }
    return VQ_OK;
}
