/* The numbers of a run: from outcomes and rows to the metrics of each vibe, the gates, and the two
 * regressions (model matching MM, preference prediction PP). Pure: the same inputs give the same
 * bits. Signed numbers are positive toward A = models[0]; a positive PP coefficient means that the
 * output that is higher on the axis is preferred.
 *
 * Sources: the VibeCheck method (metrics, gates, mirrored L2 regression) and our decisions on
 * missing answers, folds, intervals and the order of final vibes, see docs/method/method.md. NaN
 * means that a number does not exist. */
#pragma once

#include "common/base/arena.h"
#include "common/judge/request.h"
#include "methods/stats/intervals/powered.h"
#include "methods/stats/logit/logit.h"
#include "methods/vibecheck/numbers/scores.h"

struct vq_row {
    uint32_t group;    /* rows of one question share it: the unit of resampling and of folds */
    int8_t preference; /* +1 A, -1 B, 0 tie or unlabelled */
    bool test;
    bool excluded; /* neither train nor test: it is in no number */
    bool shown;    /* the proposer saw it, so it is left out of the test on train */
    /* With more than two models: A and B, and the record, whose rows have the same outputs. */
    uint8_t model[2];
    uint32_t record;
};

#define VQ_LABEL_NONE 2

struct vq_vibecheck_input {
    const struct vq_config *config;
    struct vq_grid grid;
    /* One byte per task, in grid order. If both orders of a cell are VQ_OUTCOME_NOT_NEEDED, it was
     * never asked: it has no score and is not missing. */
    const uint8_t *outcomes;
    const uint8_t *cascade;     /* [sample * vibes + vibe]: enum vq_cascade_why; NULL: no cascade */
    const struct vq_row *rows;  /* one per sample */
    const struct vq_axis *axes; /* one per vibe */
    const uint8_t *first_order; /* [sample * judges + judge]: the order that is asked first */
    const bool *stopped_early;  /* one per vibe: early stopping dropped it; NULL: none */
    /* [sample * vibes + vibe]: a person's label: +1 A is higher, -1 B, 0 equal, or VQ_LABEL_NONE.
     * NULL: there are no labels */
    const int8_t *people;
    /* one per sample: log of output A's length over output B's; NULL: no fit uses lengths */
    const double *lengths;
    /* Between iterations of the method: */
    bool no_intervals; /* no bootstrap draws */
    bool no_final_cap; /* num_final_vibes is not applied */
};

enum vq_drop_reason {
    VQ_DROP_NONE,
    VQ_DROP_SEPARABILITY,
    VQ_DROP_PREFERENCE,
    VQ_DROP_KAPPA,
    VQ_DROP_OVERLAP,
    VQ_DROP_NUM_FINAL,  /* passed the gates, but later in the order than num_final_vibes */
    VQ_DROP_EARLY_STOP, /* failed on the first train rows, and the other rows were not asked */
};
const char *vq_drop_reason_name(enum vq_drop_reason reason);

/* One answer per cell (in the order asked first). A and B are models, not positions. */
struct vq_label_counts {
    uint64_t a, b, equal, na, unsure, refused, truncated, unparseable, failed;
};

struct vq_judge_metrics {
    struct vq_label_counts labels;
    uint64_t missing; /* number of cells without a score */
    /* share of scored cells in which both orders name the same position */
    double position_bias_rate;
};

struct vq_agreement_pair {
    double kappa, kappa_mirrored, alpha;
    bool undefined_equal; /* 0/0: in every pair both judges are constant and equal */
};

/* Firth's penalised estimate, if the fit is degenerate; else all NaN. */
struct vq_firth_coef {
    double value;
    struct vq_interval ci95; /* from the profile penalised likelihood */
    double p;
};

/* The judges compared with people, on the test rows, or on train if there is no test split. All NaN
 * and 0 without labels. */
struct vq_people_metrics {
    /* share of labelled rows in which the sign of the row's score equals the label */
    double agreement;
    struct vq_interval agreement_ci95; /* Wilson; by prompt if prompts repeat */
    double kappa;                      /* Cohen's, of sign and label */
    /* of people's labels, estimated from judges' scores and the labels */
    struct vq_powered separability;
};

/* A coefficient if length is a column beside the vibes; all NaN without such a fit. */
struct vq_length_coef {
    double value;
    struct vq_interval ci95;
    double p;
    bool explained; /* the interval excludes 0 without length, and contains 0 with length */
};

enum vq_length_status {
    VQ_LENGTH_NONE,  /* no fit: there are no lengths, or all are equal */
    VQ_LENGTH_OK,    /* the same estimator as without length */
    VQ_LENGTH_FIRTH, /* Firth's estimate, because percentile intervals would not be valid */
};

/* A fit with length beside the vibes. */
struct vq_fit_length {
    enum vq_length_status status;
    double coef; /* of the log ratio divided by `rms` */
    struct vq_interval ci95;
    double p;
    double rms; /* root mean square of the log ratio over the training rows */
    double c;   /* NaN with Firth's estimate */
    double accuracy_train, accuracy_test;
};

/* One vibe on one split of a cascade. The estimates replace the plain numbers. */
struct vq_cascade_split {
    double uncorrected; /* mean row score */
    /* computed as if every row score were the second judge's */
    struct vq_interval uncorrected_ci95;
    struct vq_interval rows_ci95; /* of the second judge's mean score on exactly these rows */
    double p;                     /* Student's t of the estimate */
    double weight;                /* weight of the first judge's scores */
    uint64_t escalated, rest;     /* number of rows with a score */
    uint64_t audited;             /* number of audited rows among `rest` */
};

/* Counts over all ranked cells; a cell can have several reasons. All 0 without a cascade. */
struct vq_cascade_counts {
    uint64_t cells, asked; /* number of cells of the first judge, of the second judge */
    uint64_t margin, disagree, no_score, audit, audit_alone;
    uint64_t margin_unknown;
    uint64_t first_calls, second_calls; /* answers and failures, without repairs and retries */
    uint64_t audit_calls;               /* calls of the second judge on the audited cells */
    /* audited cells with two scores, and those with different scores; then the same without the
     * escalated cells */
    uint64_t compared, differ, compared_rest, differ_rest;
    /* of differ / compared, by prompt; NaN: too few cells */
    struct vq_interval differ_ci95, differ_rest_ci95;
};

/* One vibe on one split. */
struct vq_vibe_split {
    /* With more than two models: half the distance between the highest and the lowest mean score of
     * a model, without an interval; p and q are then those of "no model differs" */
    double sep;
    /* at_random.c; NaN if no call failed, or the pair rule has no such estimate */
    double sep_at_random;
    struct vq_interval sep_ci95;
    uint64_t missing; /* number of rows that were asked and have no row score */
    /* p: sign flips of prompt means, without the rows that the proposer saw. q: Benjamini-Hochberg,
     * on train over all vibes, on test over the kept ones; NaN for other vibes and without test
     * rows */
    double p, q;
    struct vq_agreement_pair agreement;
    double pref;
    struct vq_interval pref_ci95;
    struct vq_cascade_split cascade;
};

/* The numbers of one vibe in a regression; NaN if it is dropped or not fitted. */
struct vq_vibe_coef {
    double coef;
    struct vq_interval ci95;
    double p; /* two-sided, by regression.p_values; with the legacy estimator, its own number */
    struct vq_firth_coef firth;
    struct vq_length_coef length;
    double mle, mle_se; /* unregularised; NaN if they do not exist */
};

struct vq_vibe_metrics {
    bool kept;
    enum vq_drop_reason reason;
    uint32_t overlap_with; /* with VQ_DROP_OVERLAP: the earlier vibe */
    double overlap;        /* negative: the opposite of the earlier vibe */
    /* this vibe and an earlier kept one are nearly constant: their overlap cannot be judged */
    bool overlap_unjudged;
    struct vq_vibe_split train, test;
    struct vq_interval bounds; /* of train.sep: with its missing judge scores at -1, then at +1 */
    bool gate_could_flip;
    /* every vote is N/A: the vibe has no separability and belongs to no family of tests */
    bool na_everywhere;
    bool distinguishable;            /* test.q <= 0.05; without a test, train.q <= 0.05 */
    struct vq_judge_metrics *judges; /* one per judge */
    struct vq_people_metrics people;
    struct vq_vibe_coef mm, pp;
};

static inline struct vq_vibe_split *vq_vibe_on(struct vq_vibe_metrics *vibe, bool test)
{
    return test ? &vibe->test : &vibe->train;
}

enum vq_fit_status {
    VQ_FIT_OK,
    VQ_FIT_NO_VIBES,  /* no vibe is kept: accuracy 0.5, no coefficients */
    VQ_FIT_NO_ROWS,   /* no train rows */
    VQ_FIT_NO_LABELS, /* PP: no preferences */
};
const char *vq_fit_status_name(enum vq_fit_status status);

/* The reason why percentile intervals and their p are not valid. */
enum vq_fit_degenerate {
    VQ_FIT_SOUND,
    /* no maximum-likelihood estimate exists: the penalty determines the coefficients */
    VQ_FIT_SEPARATED,
    VQ_FIT_C_AT_EDGE,   /* C is the smallest or the largest value of the grid */
    VQ_FIT_FEW_PROMPTS, /* fewer than VQ_FIT_PROMPTS_MIN in train */
    /* with more than two models: there are too many coefficients or rows to check for separation */
    VQ_FIT_TOO_LARGE,
};
#define VQ_FIT_PROMPTS_MIN 8u
const char *vq_fit_degenerate_name(enum vq_fit_degenerate degenerate);

/* Preference prediction compared with two rivals, on the test rows; NaN without a test split or a
 * fit. */
struct vq_pp_rivals {
    double chance_p; /* by sign flips, by prompt, of (right - 1/2) */
    /* A fit with an intercept knows which model wrote which output. Its baseline always chooses the
     * model that train prefers. */
    double identity_accuracy, identity_baseline;
    /* identity_accuracy - identity_baseline: the gain from the vibes if the model's name is
     * known */
    double difference;
    struct vq_interval difference_ci95;
    double difference_p; /* by sign flips, by prompt */
    /* all labels name one model: PP equals MM, and the intercept explains everything */
    bool one_class;
};

struct vq_fit_metrics {
    enum vq_fit_status status;
    enum vq_fit_degenerate degenerate;
    uint64_t prompts_train;
    uint64_t rows_train, rows_test;
    double c;
    double accuracy_train, accuracy_test;
    struct vq_interval accuracy_test_ci95; /* Wilson; by prompt if prompts repeat */
    double accuracy_test_complete;         /* over rows without missing cells */
    double accuracy_train_complete;
    uint64_t cells_imputed_train, cells_imputed_test;
    bool missing_warning;       /* complete-case accuracy differs by more than 0.01 */
    double majority_baseline;   /* PP */
    struct vq_pp_rivals rivals; /* PP */
    struct vq_fit_length length;
    double coef_abs_max;
    /* in-sample, over the draws; NaN with other estimators */
    double legacy_accuracy, legacy_accuracy_sd;
    struct vq_interval legacy_accuracy_ci95;
    enum vq_logit_status mle_status;
    enum vq_logit_separation mle_separation;
};

/* Estimates that need both orders. Audited cells represent the settled cells whose other order lazy
 * swap did not ask. */
struct vq_audit_judge {
    uint64_t cells_both; /* number of cells in which both orders have a vote */
    /* of these, the settled ones whose other order was asked for the audit */
    uint64_t cells_audited;
    /* weighted mean of (s0 + s1) / 2: the pull toward the output shown first */
    double order_effect;
    /* weighted share of cells that would have another score under the lenient rule */
    double lenient_changed;
};

struct vq_audit {
    struct vq_audit_judge *judges;
    /* between the first two judges, on the raw verdicts of one order, weighted */
    double kappa_order[2];
    uint64_t kappa_order_n[2];
};

struct vq_vibecheck {
    uint32_t vibes, judges, samples;
    struct vq_ranking *ranking; /* with more than two models (ranking.h); else NULL */
    struct vq_scores *scores;
    struct vq_vibe_metrics *vibe; /* one per vibe */
    uint32_t kept_count;
    struct vq_fit_metrics mm, pp;
    struct vq_audit audit;
    struct vq_cascade_counts cascade;
    double *mm_margin, *pp_margin; /* one per sample: w.x over the kept vibes; NaN without a fit */
    bool in_sample;                /* there is no test split */
    bool questions_repeat;
    uint64_t cells_missing; /* number of (sample, vibe, judge) without a score */
    /* invalid: drop_row: rows that lack a score on some vibe that was not stopped early. They are
     * in no metric and no fit, but have a margin. NULL with every other setting. */
    bool *dropped;
    uint64_t rows_dropped_train, rows_dropped_test;
    struct vq_arena memory; /* of everything here but the scores */
};

/* Whether the row counts in the numbers of that split. */
static inline bool vq_vibecheck_uses(const struct vq_vibecheck_input *in,
                                     const struct vq_vibecheck *result, uint32_t sample, bool test)
{
    return !in->rows[sample].excluded && in->rows[sample].test == test &&
           !(result->dropped != NULL && result->dropped[sample]);
}

/* The numbers of the main split: test, or train if there is no test split. */
static inline const struct vq_vibe_split *vq_vibe_lead(const struct vq_vibecheck *result,
                                                       const struct vq_vibe_metrics *vibe)
{
    return result->in_sample ? &vibe->train : &vibe->test;
}

/* VQ_OK, VQ_NOMEM, VQ_LIMIT, VQ_BUG (with the reason in err). The caller destroys *ret_result. */
enum vq_status vq_vibecheck_compute(const struct vq_vibecheck_input *input,
                                    struct vq_vibecheck **ret_result,
                                    struct vq_error *err) VQ_WARN_UNUSED;
void vq_vibecheck_destroy(struct vq_vibecheck **result);
