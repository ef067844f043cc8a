/* The metrics of every vibe: separability with its interval, test and bounds (the unit of each is
 * the prompt), agreement between judges, preference separability, label counts and position bias.
 * Invariant: a missing cell stays missing: it is left out pairwise for two columns, and never
 * counts as 0. */
#include "common/base/alloc.h"
#include "methods/stats/agreement/agreement.h"
#include "methods/stats/intervals/bootstrap.h"
#include "methods/stats/intervals/multiple.h"
#include "methods/stats/intervals/separability.h"
#include "methods/stats/intervals/sign_flip.h"
#include "methods/vibecheck/numbers/cascade.h"
#include "methods/vibecheck/numbers/ranking.h"

#include <math.h>

static struct vq_matrix split_matrix(const struct vq_vibecheck_work *w, const struct vq_split *s)
{
    return (struct vq_matrix){s->x, s->rows, w->in->grid.vibes};
}

static enum vq_status bootstrap(struct vq_vibecheck_work *w, const struct vq_split *s,
                                const double *factor, enum vq_seed_use use,
                                struct vq_bootstrap_mean *ret)
{
    struct vq_bootstrap_options options = {
        .draws = vq_draws(w), .level = 0.95, .seed = vq_seed(w, use)};
    return vq_bootstrap_means(split_matrix(w, s), factor, s->group, &options, ret, w->err);
}

static const struct vq_interval no_interval = {NAN, NAN};

/* The interval of the mean score, or of the mean of score times preference. If the scores hardly
 * vary, percentiles are not used. */
static enum vq_status interval_of(const struct vq_split *s, uint32_t vibes, uint32_t vibe,
                                  bool pref, struct vq_interval percentile, double *column,
                                  struct vq_interval *ret)
{
    for (size_t row = 0; row < s->rows; row++) {
        column[row] = s->x[row * vibes + vibe] * (pref ? s->pref[row] : 1.0);
    }
    return vq_separability_interval(column, s->rows, 1, s->group, percentile, ret);
}

static enum vq_status split_intervals(struct vq_vibecheck_work *w, const struct vq_split *s,
                                      bool test)
{
    uint32_t vibes = w->in->grid.vibes;
    struct vq_bootstrap_mean *means;
    double *column;
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, means, vibes));
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, column, s->rows));
    bool drawn = s->rows > 0 && vq_draws(w) > 0;
    for (int pref = 0; pref < 2; pref++) {
        if (drawn) {
            VQ_TRY(bootstrap(w, s, pref ? s->pref : NULL,
                             pref ? VQ_SEED_PREF : VQ_SEED_SEPARABILITY, means));
        }
        for (uint32_t v = 0; v < vibes; v++) {
            struct vq_vibe_metrics *m = &w->out->vibe[v];
            struct vq_interval ci = no_interval;
            bool wanted = drawn && !m->na_everywhere && (pref || !vq_config_ranks(w->in->config));
            if (wanted) {
                VQ_TRY(interval_of(s, vibes, v, pref, means[v].percentile, column, &ci));
            }
            struct vq_vibe_split *to = vq_vibe_on(m, test);
            *(pref ? &to->pref_ci95 : &to->sep_ci95) = ci;
        }
    }
    return VQ_OK;
}

/* Whether neither order of the cell was ever asked. */
static bool not_asked(const struct vq_vibecheck_work *w, uint32_t sample, uint32_t vibe,
                      uint32_t judge)
{
    const uint8_t *both =
        w->in->outcomes + vq_grid_task(&w->in->grid, (struct vq_cell){sample, judge, vibe, 0});
    return both[0] == VQ_OUTCOME_NOT_NEEDED && both[1] == VQ_OUTCOME_NOT_NEEDED;
}

/* Number of rows of the split on which no judge was asked about this vibe. */
static uint64_t rows_not_asked(const struct vq_vibecheck_work *w, const struct vq_split *s,
                               uint32_t vibe)
{
    uint64_t rows = 0;
    for (size_t row = 0; row < s->rows; row++) {
        bool asked = false;
        for (uint32_t j = 0; j < w->in->grid.judges && !asked; j++) {
            asked = !not_asked(w, s->sample[row], vibe, j);
        }
        rows += !asked;
    }
    return rows;
}

/* The mean with every missing judge score of train at -1, then at +1, over the asked cells. A row
 * with only some of its judges' scores is known only within bounds. Returns the number of missing
 * scores. */
static uint64_t judge_bounds(const struct vq_vibecheck_work *w, uint32_t vibe,
                             struct vq_interval *ret_bounds)
{
    uint64_t missing = 0, asked = 0;
    double sum = 0.0;
    uint32_t judges = w->in->grid.judges;
    for (size_t row = 0; row < w->train.rows; row++) {
        for (uint32_t j = 0; j < judges; j++) {
            if (not_asked(w, w->train.sample[row], vibe, j)) {
                continue;
            }
            int8_t score = vq_scores_at(w->out->scores, w->train.sample[row], vibe, j);
            asked++;
            missing += score == VQ_SCORE_MISSING;
            sum += score == VQ_SCORE_MISSING ? 0.0 : score;
        }
    }
    double cells = (double)asked;
    *ret_bounds = asked == 0 ? (struct vq_interval){NAN, NAN}
                             : (struct vq_interval){(sum - (double)missing) / cells,
                                                    (sum + (double)missing) / cells};
    return missing;
}

static bool is_na_everywhere(const struct vq_vibecheck_work *w, uint32_t vibe)
{
    const struct vq_grid *grid = &w->in->grid;
    bool na = false;
    for (uint32_t i = 0; i < grid->samples; i++) {
        for (uint32_t j = 0; j < grid->judges; j++) {
            const uint8_t *both =
                w->in->outcomes + vq_grid_task(grid, (struct vq_cell){i, j, vibe, 0});
            for (int order = 0; order < 2; order++) {
                if (vq_order_has_vote(both[order]) && both[order] != VQ_OUTCOME_NA) {
                    return false;
                }
                na |= both[order] == VQ_OUTCOME_NA;
            }
        }
    }
    return na;
}

static struct vq_separability split_separability(const struct vq_vibecheck_work *w, uint32_t vibe,
                                                 bool na, const struct vq_split *s,
                                                 struct vq_vibe_split *ret)
{
    struct vq_separability sep;
    vq_separability_column(s->x + vibe, s->rows, w->in->grid.vibes, s->pref, &sep);
    ret->sep = na ? NAN : sep.mean;
    ret->pref = na ? NAN : sep.pref_mean;
    ret->missing = sep.missing - rows_not_asked(w, s, vibe);
    return sep;
}

static void separability(struct vq_vibecheck_work *w)
{
    double min = w->in->config->gates.separability_min;
    for (uint32_t v = 0; v < w->in->grid.vibes; v++) {
        struct vq_vibe_metrics *m = &w->out->vibe[v];
        m->na_everywhere = is_na_everywhere(w, v);
        (void)split_separability(w, v, m->na_everywhere, &w->test, &m->test);
        struct vq_separability train =
            split_separability(w, v, m->na_everywhere, &w->train, &m->train);
        train.missing = judge_bounds(w, v, &train.bounds);
        m->bounds = train.bounds;
        m->gate_could_flip = vq_separability_gate_could_flip(&train, min);
    }
}

/* The p of every vibe on a split, without rows that the proposer saw. */
static enum vq_status sign_flips(struct vq_vibecheck_work *w, const struct vq_split *s,
                                 double *ret_p)
{
    uint32_t vibes = w->in->grid.vibes;
    if (vq_config_ranks(w->in->config)) {
        return vq_ranking_test(w, s, ret_p);
    }
    if (w->in->cascade != NULL) {
        return vq_cascade_test(w, s, ret_p);
    }
    double *column;
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, column, s->rows));
    for (uint32_t v = 0; v < vibes; v++) {
        for (size_t row = 0; row < s->rows; row++) {
            bool counts = !s->shown[row] && !w->out->vibe[v].na_everywhere;
            column[row] = counts ? s->x[row * vibes + v] : NAN;
        }
        struct vq_sign_flip flip;
        VQ_TRY(vq_sign_flip_test(column, s->rows, 1, s->group, vq_seed(w, VQ_SEED_SIGNS), &flip));
        ret_p[v] = flip.p;
    }
    return VQ_OK;
}

/* Computes q of the vibes that fail a gate of their own (`failing`), or of the other vibes. In the
 * family of the others, each vibe that fails counts with p = 1. This can only raise q. It also
 * means that early stopping, which leaves failing vibes without their p, does not change q of a
 * passing vibe. */
static enum vq_status adjust(struct vq_vibecheck_work *w, bool failing, double *family)
{
    uint32_t vibes = w->in->grid.vibes;
    for (uint32_t v = 0; v < vibes; v++) {
        const struct vq_vibe_metrics *m = &w->out->vibe[v];
        bool fails = vq_gate_stopped(w, v) || vq_gate_own(w, v, false) != VQ_DROP_NONE;
        family[v] = fails && !failing && !isnan(m->train.p) ? 1.0 : m->train.p;
    }
    VQ_TRY(vq_multiple_adjust(VQ_MULTIPLE_BH, family, vibes, family));
    for (uint32_t v = 0; v < vibes; v++) {
        struct vq_vibe_metrics *m = &w->out->vibe[v];
        bool fails = vq_gate_stopped(w, v) || vq_gate_own(w, v, false) != VQ_DROP_NONE;
        m->train.q = fails == failing ? family[v] : m->train.q;
        m->distinguishable = m->train.q <= 0.05;
    }
    return VQ_OK;
}

/* Runs after the numbers that the gates use. */
static enum vq_status adjust_p(struct vq_vibecheck_work *w)
{
    uint32_t vibes = w->in->grid.vibes;
    double *p;
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, p, vibes));
    VQ_TRY(sign_flips(w, &w->train, p));
    for (uint32_t v = 0; v < vibes; v++) {
        w->out->vibe[v].train.p = p[v];
    }
    VQ_TRY(adjust(w, true, p));
    return adjust(w, false, p);
}

/* In a cascade, only the audited cells are a fair sample of the cells with scores of both
 * judges. */
static bool is_compared(const struct vq_vibecheck_work *w, uint32_t sample, uint32_t vibe)
{
    const uint8_t *cascade = w->in->cascade;
    size_t at = (size_t)sample * w->in->grid.vibes + vibe;
    return cascade == NULL || (cascade[at] & VQ_CASCADE_AUDIT) != 0;
}

static enum vq_status agreement(struct vq_vibecheck_work *w, const struct vq_split *s,
                                uint32_t vibe, struct vq_agreement_pair *ret)
{
    *ret = (struct vq_agreement_pair){NAN, NAN, NAN, false};
    uint32_t judges = w->in->grid.judges;
    if (judges < 2 || s->rows == 0) {
        return VQ_OK;
    }
    double *ratings;
    VQ_TRY(VQ_ALLOC(ratings, s->rows * judges));
    for (size_t row = 0; row < s->rows; row++) {
        for (uint32_t j = 0; j < judges; j++) {
            int8_t score = vq_scores_at(w->out->scores, s->sample[row], vibe, j);
            bool counts = score != VQ_SCORE_MISSING && is_compared(w, s->sample[row], vibe);
            ratings[row * judges + j] = counts ? score : NAN;
        }
    }
    struct vq_kappa_pairs pairs;
    enum vq_status status =
        vq_agreement_pairs((struct vq_matrix){ratings, s->rows, judges}, &pairs);
    if (status == VQ_OK) {
        ret->kappa = pairs.mean_kappa;
        ret->kappa_mirrored = pairs.mean_kappa_mirrored;
        ret->alpha = pairs.alpha;
        ret->undefined_equal = pairs.pairs_equal > 0 && pairs.pairs_defined == 0;
    }
    vq_free(ratings);
    return status;
}

static void count_label(struct vq_label_counts *c, enum vq_outcome o, uint32_t order)
{
    switch (o) {
    case VQ_OUTCOME_FIRST: *(order == 0 ? &c->a : &c->b) += 1; break;
    case VQ_OUTCOME_SECOND: *(order == 0 ? &c->b : &c->a) += 1; break;
    case VQ_OUTCOME_EQUAL: c->equal++; break;
    case VQ_OUTCOME_NA: c->na++; break;
    case VQ_OUTCOME_UNSURE: c->unsure++; break;
    case VQ_OUTCOME_REFUSED: c->refused++; break;
    case VQ_OUTCOME_TRUNCATED: c->truncated++; break;
    case VQ_OUTCOME_EMPTY: /* there is no text to read */
    case VQ_OUTCOME_UNPARSEABLE: c->unparseable++; break;
    case VQ_OUTCOME_NONE:
    case VQ_OUTCOME_TEXT:
    case VQ_OUTCOME_RATED_1:
    case VQ_OUTCOME_RATED_2:
    case VQ_OUTCOME_RATED_3:
    case VQ_OUTCOME_RATED_4:
    case VQ_OUTCOME_RATED_5:
    case VQ_OUTCOME_YES:
    case VQ_OUTCOME_NO:
    case VQ_OUTCOME_NOT_NEEDED:
    case VQ_OUTCOME_BLOCKED:
    case VQ_OUTCOME_ERROR:
    case VQ_OUTCOME_TOO_LONG:
    case VQ_OUTCOME_UNAVAILABLE:
    case VQ_OUTCOME_BAD_RESPONSE:
    case VQ_OUTCOME_WORKER_LOST: c->failed++; break;
    }
}

static void judge_counts(struct vq_vibecheck_work *w, uint32_t vibe, uint32_t judge)
{
    const struct vq_grid *grid = &w->in->grid;
    struct vq_judge_metrics *m = &w->out->vibe[vibe].judges[judge];
    uint64_t biased = 0;
    uint64_t scored = 0;
    for (uint32_t i = 0; i < grid->samples; i++) {
        if (not_asked(w, i, vibe, judge)) {
            continue;
        }
        uint64_t task = vq_grid_task(grid, (struct vq_cell){i, judge, vibe, 0});
        const uint8_t *both = w->in->outcomes + task;
        uint32_t order = w->in->first_order[(size_t)i * grid->judges + judge];
        count_label(&m->labels, (enum vq_outcome)both[order], order);
        bool missing = vq_scores_at(w->out->scores, i, vibe, judge) == VQ_SCORE_MISSING;
        m->missing += missing;
        scored += !missing;
        biased +=
            both[0] == both[1] && (both[0] == VQ_OUTCOME_FIRST || both[0] == VQ_OUTCOME_SECOND);
    }
    w->out->cells_missing += m->missing;
    m->position_bias_rate = scored == 0 ? NAN : (double)biased / (double)scored;
}

/* The family is that of the kept vibes, because only they are tested on the test rows. */
enum vq_status vq_metrics_test(struct vq_vibecheck_work *w)
{
    uint32_t vibes = w->in->grid.vibes;
    double *p;
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, p, vibes));
    VQ_TRY(sign_flips(w, &w->test, p));
    for (uint32_t v = 0; v < vibes; v++) {
        p[v] = w->out->vibe[v].kept ? p[v] : NAN;
        w->out->vibe[v].test.p = p[v];
    }
    VQ_TRY(vq_multiple_adjust(VQ_MULTIPLE_BH, p, vibes, p));
    for (uint32_t v = 0; v < vibes; v++) {
        struct vq_vibe_metrics *m = &w->out->vibe[v];
        m->test.q = p[v];
        m->distinguishable = (m->kept && !w->out->in_sample ? m->test.q : m->train.q) <= 0.05;
    }
    return VQ_OK;
}

enum vq_status vq_metrics_compute(struct vq_vibecheck_work *w)
{
    separability(w);
    vq_ranking_separability(w);
    vq_at_random_compute(w);
    VQ_TRY(split_intervals(w, &w->train, false));
    VQ_TRY(split_intervals(w, &w->test, true));
    VQ_TRY(vq_cascade_compute(w));
    for (uint32_t v = 0; v < w->in->grid.vibes; v++) {
        VQ_TRY(agreement(w, &w->train, v, &w->out->vibe[v].train.agreement));
        VQ_TRY(agreement(w, &w->test, v, &w->out->vibe[v].test.agreement));
        for (uint32_t j = 0; j < w->in->grid.judges; j++) {
            judge_counts(w, v, j);
        }
    }
    return adjust_p(w);
}
