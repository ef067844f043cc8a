/* The numbers of a cascade. Let M be the second judge's score of a row, S the first judge's, E
 * whether the row is escalated (by S alone), and A whether it is audited (by a hash, independent of
 * S and M). M is known if E or A. The target is the mean of M over all rows: the second judge's
 * result if it were asked everywhere. The mean row score (M if it is known, else S) is biased by
 * the mean of M - S over the rows that were not asked. So the estimate uses the escalated rows with
 * weight 1 (auditing them adds nothing). Over the other rows it uses the prediction-powered mean of
 * S with the audited M, which are a random sample of these rows (vq_powered_known has formula,
 * sources and variance). Scores times preference are estimated the same way.
 *
 * Invariant: if the second judge was not asked, a row score never counts as M, except in
 * `uncorrected`, the fits and the overlaps. */
#include "methods/vibecheck/numbers/cascade.h"

#include "common/base/alloc.h"
#include "methods/stats/intervals/proportions.h"
#include "methods/stats/special.h"
#include "methods/vibecheck/numbers/parts.h"

#include <math.h>

/* ---- when to ask ---- */

static int side(uint8_t vote)
{
    return vote == VQ_OUTCOME_FIRST ? 1 : vote == VQ_OUTCOME_SECOND ? -1 : 0;
}

uint8_t vq_cascade_escalates(const struct vq_conf_escalate *conf, enum vq_pair_rule rule,
                             const uint8_t both[2], const double margins[2])
{
    unsigned why = 0;
    bool votes[2] = {vq_order_has_vote(both[0]), vq_order_has_vote(both[1])};
    struct vq_cell_score score =
        vq_score_cell(rule, (enum vq_outcome)both[0], (enum vq_outcome)both[1]);
    if (score.score == VQ_SCORE_MISSING) {
        why |= VQ_CASCADE_NO_SCORE;
    }
    /* the other order exchanges the outputs, so the same model has the other position */
    if (conf->disagree && votes[0] && votes[1] && side(both[0]) != -side(both[1])) {
        why |= VQ_CASCADE_DISAGREE;
    }
    for (int order = 0; order < 2 && conf->margin > 0; order++) {
        if (votes[order] && isnan(margins[order])) {
            why |= VQ_CASCADE_UNKNOWN;
        } else if (votes[order] && margins[order] < conf->margin) {
            why |= VQ_CASCADE_MARGIN;
        }
    }
    return (uint8_t)why;
}

/* ---- scores ---- */

static double score_at(const struct vq_scores *s, uint32_t sample, uint32_t vibe, uint32_t judge)
{
    int8_t score = vq_scores_at(s, sample, vibe, judge);
    return score == VQ_SCORE_MISSING ? NAN : score;
}

void vq_cascade_scores(const struct vq_vibecheck_input *in, struct vq_scores *scores)
{
    if (in->cascade == NULL) {
        return;
    }
    uint32_t first = vq_config_first_judge(in->config);
    for (uint32_t i = 0; i < in->grid.samples; i++) {
        for (uint32_t v = 0; v < in->grid.vibes; v++) {
            size_t at = (size_t)i * in->grid.vibes + v;
            double second = score_at(scores, i, v, 1 - first);
            bool falls_back = isnan(second) && !vq_cascade_is_escalated(in->cascade[at]);
            scores->x[at] = falls_back ? score_at(scores, i, v, first) : second;
        }
    }
}

/* ---- estimates ---- */

struct columns {
    double *score, *label;
    bool *known;
};

/* Fills scores times preference if `pref`; leaves out rows that the proposer saw if `unseen`. */
static void fill(const struct vq_vibecheck_work *w, const struct vq_split *s, uint32_t vibe,
                 bool pref, bool unseen, struct columns *c)
{
    uint32_t first = vq_config_first_judge(w->in->config);
    for (size_t row = 0; row < s->rows; row++) {
        uint32_t sample = s->sample[row];
        uint8_t why = w->in->cascade[(size_t)sample * w->in->grid.vibes + vibe];
        double factor = unseen && s->shown[row] ? NAN : pref ? s->pref[row] : 1.0;
        double second = score_at(w->out->scores, sample, vibe, 1 - first) * factor;
        c->known[row] = vq_cascade_is_escalated(why);
        c->label[row] = second;
        c->score[row] = score_at(w->out->scores, sample, vibe, first) * factor;
    }
}

static enum vq_status columns_make(struct vq_arena *memory, size_t rows, struct columns *c)
{
    VQ_TRY(VQ_ARENA_ALLOC(memory, c->score, rows));
    VQ_TRY(VQ_ARENA_ALLOC(memory, c->label, rows));
    return VQ_ARENA_ALLOC(memory, c->known, rows);
}

static enum vq_status estimate(const struct vq_vibecheck_work *w, const struct vq_split *s,
                               uint32_t vibe, bool pref, bool unseen, struct columns *c,
                               struct vq_powered *ret)
{
    fill(w, s, vibe, pref, unseen, c);
    return vq_powered_known(c->score, c->label, c->known, s->rows, s->group, ret);
}

static double p_of(const struct vq_powered *of)
{
    return of->se > 0 ? vq_student_two_sided(of->mean / of->se, of->df) : NAN;
}

static void replace(const struct vq_vibecheck_work *w, struct vq_vibe_metrics *m, bool test,
                    const struct vq_powered *sep, const struct vq_powered *pref)
{
    static const struct vq_interval none = {NAN, NAN};
    struct vq_vibe_split *to = vq_vibe_on(m, test);
    bool wanted = !w->in->no_intervals;
    to->cascade = (struct vq_cascade_split){.uncorrected = to->sep,
                                            .uncorrected_ci95 = to->sep_ci95,
                                            .rows_ci95 = m->na_everywhere ? none : sep->rows_ci95,
                                            .p = p_of(sep),
                                            .weight = sep->weight,
                                            .escalated = sep->known,
                                            .rest = sep->scored - sep->known,
                                            .audited = sep->labelled};
    if (!m->na_everywhere) {
        to->sep = sep->mean;
        to->sep_ci95 = wanted ? sep->ci95 : none;
        to->pref = pref->mean;
        to->pref_ci95 = wanted ? pref->ci95 : none;
    }
}

/* The estimate with the rows without a score at -1, then at +1. */
static void bounds(struct vq_vibe_metrics *m, double gate)
{
    double missing = (double)m->train.missing;
    double scored = (double)(m->train.cascade.escalated + m->train.cascade.rest);
    double share = missing > 0 ? missing / (missing + scored) : 0;
    double mean = m->train.sep * (1 - share);
    m->bounds = (struct vq_interval){mean - share, mean + share};
    bool passes = fabs(m->train.sep) > gate;
    double most = fmax(fabs(m->bounds.lo), fabs(m->bounds.hi));
    double least =
        m->bounds.lo <= 0 && m->bounds.hi >= 0 ? 0 : fmin(fabs(m->bounds.lo), fabs(m->bounds.hi));
    m->gate_could_flip = missing > 0 && (passes ? least <= gate : most > gate);
}

static enum vq_status split_compute(struct vq_vibecheck_work *w, const struct vq_split *s,
                                    bool test)
{
    struct columns c;
    VQ_TRY(columns_make(&w->memory, s->rows, &c));
    for (uint32_t v = 0; v < w->in->grid.vibes; v++) {
        struct vq_powered sep, pref;
        VQ_TRY(estimate(w, s, v, false, false, &c, &sep));
        VQ_TRY(estimate(w, s, v, true, false, &c, &pref));
        replace(w, &w->out->vibe[v], test, &sep, &pref);
    }
    return VQ_OK;
}

/* ---- counts ---- */

static unsigned calls_of(const uint8_t both[2])
{
    return (unsigned)(both[0] != VQ_OUTCOME_NOT_NEEDED) + (both[1] != VQ_OUTCOME_NOT_NEEDED);
}

/* Audited cells with two scores: whether the scores differ. */
struct compared {
    double *differ, *differ_rest;
    uint32_t *group, *group_rest;
};

static void count_cell(const struct vq_vibecheck_work *w, uint32_t sample, uint32_t vibe,
                       struct compared *c)
{
    struct vq_cascade_counts *n = &w->out->cascade;
    const struct vq_grid *g = &w->in->grid;
    uint32_t first = vq_config_first_judge(w->in->config);
    uint8_t why = w->in->cascade[(size_t)sample * g->vibes + vibe];
    const uint8_t *both[2];
    double score[2];
    for (uint32_t k = 0; k < 2; k++) {
        uint32_t judge = k == 0 ? first : 1 - first;
        both[k] = w->in->outcomes + vq_grid_task(g, (struct vq_cell){sample, judge, vibe, 0});
        score[k] = score_at(w->out->scores, sample, vibe, judge);
    }
    bool audited = (why & VQ_CASCADE_AUDIT) != 0, escalated = vq_cascade_is_escalated(why);
    unsigned second = calls_of(both[1]);
    bool compared = audited && !isnan(score[0]) && !isnan(score[1]);
    bool differ = compared && (score[0] < score[1] || score[0] > score[1]);
    n->cells += calls_of(both[0]) > 0;
    n->asked += second > 0;
    n->first_calls += calls_of(both[0]);
    n->second_calls += second;
    n->margin += (why & VQ_CASCADE_MARGIN) != 0;
    n->disagree += (why & VQ_CASCADE_DISAGREE) != 0;
    n->no_score += (why & VQ_CASCADE_NO_SCORE) != 0;
    n->margin_unknown += (why & VQ_CASCADE_UNKNOWN) != 0;
    n->audit += audited;
    n->audit_alone += audited && !escalated;
    n->audit_calls += audited ? second : 0;
    if (compared) {
        c->group[n->compared] = w->in->rows[sample].group;
        c->differ[n->compared++] = differ;
        n->differ += differ;
    }
    if (compared && !escalated) {
        c->group_rest[n->compared_rest] = w->in->rows[sample].group;
        c->differ_rest[n->compared_rest++] = differ;
        n->differ_rest += differ;
    }
}

static enum vq_status count(struct vq_vibecheck_work *w)
{
    struct vq_cascade_counts *n = &w->out->cascade;
    size_t cells = (size_t)w->in->grid.samples * w->in->grid.vibes;
    struct compared c;
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, c.differ, cells));
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, c.differ_rest, cells));
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, c.group, cells));
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, c.group_rest, cells));
    for (uint32_t i = 0; i < w->in->grid.samples; i++) {
        for (uint32_t v = 0; v < w->in->grid.vibes; v++) {
            count_cell(w, i, v, &c);
        }
    }
    VQ_TRY(vq_proportion_clustered(c.differ, n->compared, c.group, 0.95, &n->differ_ci95));
    return vq_proportion_clustered(c.differ_rest, n->compared_rest, c.group_rest, 0.95,
                                   &n->differ_rest_ci95);
}

enum vq_status vq_cascade_compute(struct vq_vibecheck_work *w)
{
    if (w->in->cascade == NULL) {
        return VQ_OK;
    }
    VQ_TRY(split_compute(w, &w->train, false));
    VQ_TRY(split_compute(w, &w->test, true));
    for (uint32_t v = 0; v < w->in->grid.vibes; v++) {
        bounds(&w->out->vibe[v], w->in->config->gates.separability_min);
    }
    return count(w);
}

enum vq_status vq_cascade_test(struct vq_vibecheck_work *w, const struct vq_split *s, double *ret_p)
{
    struct columns c;
    VQ_TRY(columns_make(&w->memory, s->rows, &c));
    for (uint32_t v = 0; v < w->in->grid.vibes; v++) {
        struct vq_powered sep;
        VQ_TRY(estimate(w, s, v, false, true, &c, &sep));
        ret_p[v] = w->out->vibe[v].na_everywhere ? NAN : p_of(&sep);
    }
    return VQ_OK;
}
