/* The numbers of a rubric run: means and rates with their intervals, win rates, statuses, and how
 * far judges agree with each other, with themselves and with people. Pure: the same readings give
 * the same bits. NaN means that a number does not exist.
 *
 * The score of an item (an output of a row) is the mean over the judges that have one of the mean
 * over their repeats; a reading without a value is left out and never a value. Of a pairwise
 * criterion the score of a row is the share of wins of the first of the models: 1, 0, or 0.5 where
 * a judge named the same position in both orders; a judge of whom one order has no value has no
 * score. */
#pragma once

#include "common/base/arena.h"
#include "common/judge/verdict.h"
#include "methods/rubric/rubric.h"
#include "methods/stats/agreement/ratings.h"
#include "methods/stats/logit/length_controlled.h"

#define VQ_RUBRIC_UNITS_MIN 6u /* fewer units give no interval */

enum vq_rubric_status { /* the first ones are enum vq_rating_status: the answer was read */
    VQ_RUBRIC_FAILED = VQ_RATING__COUNT, /* no answer came */
    VQ_RUBRIC_OPEN,                      /* not asked yet, or not answered yet */
    VQ_RUBRIC_NOT_ASKED, /* nothing was to be asked: no output, or the order left out */
    VQ_RUBRIC_STATUS__COUNT
};
/* "ok", ..., "failed", "open", "not_asked". */
const char *vq_rubric_status_name(unsigned status);

/* What one question's answer says. Likert: the number (`paper`: any); binary: 1 yes, 0 no;
 * pairwise: 1 when the first of the models was chosen, else 0, in whichever order. */
struct vq_rubric_reading {
    double value;   /* NaN: none */
    uint8_t status; /* enum vq_rubric_status */
};

/* Reads one stored answer by the run's policy. `place` seeds the draw of the paper's policy. */
void vq_rubric_read(const struct vq_rubric_input *in, const struct vq_rubric_place *place,
                    uint64_t seed, struct vq_span answer, struct vq_span finish_reason,
                    bool refusal, struct vq_rubric_reading *ret_reading,
                    struct vq_span *ret_reasoning);
/* Of a question without an answer to read. */
struct vq_rubric_reading vq_rubric_unread(enum vq_outcome outcome);

/* One criterion and output, by all judges or by one. */
struct vq_rubric_share {
    uint64_t items; /* that were to be rated */
    uint64_t rated; /* with a score */
    double mean;    /* of the scores: a rating, a rate, a win rate of the first of the models */
    struct vq_interval ci95;           /* likert: bootstrap by units; else Wilson */
    struct vq_interval ci95_clustered; /* binary, pairwise, where units repeat: bootstrap */
    /* Of single ratings: 1 to 5; no, yes; of cells in a pairwise one: second wins, ties, first
     * wins. */
    uint64_t counts[VQ_RATING_LIKERT_MAX];
    uint64_t statuses[VQ_RUBRIC_STATUS__COUNT];
};

/* Of the two models on a likert or binary criterion: first minus second, paired by row. */
struct vq_rubric_difference {
    uint64_t rows; /* with both scores */
    double mean;
    struct vq_interval ci95; /* bootstrap by prompts */
};

#define VQ_RUBRIC_HUMAN UINT32_MAX
struct vq_rubric_pair {
    uint32_t a, b; /* judges; b VQ_RUBRIC_HUMAN: the data's labels; b == a: its second time */
    struct vq_ratings_agreement agreement; /* of first repeats; pairwise: -1, 0, 1 */
};

struct vq_rubric_position { /* of one judge on a pairwise criterion */
    uint64_t answers;       /* with a value */
    uint64_t first;         /* of them: those that chose the response shown first */
    uint64_t both;          /* cells with a value in both orders */
    uint64_t contradicted;  /* of them: the same position in both */
};

/* One output of one row (pairwise: the row), by all judges. */
struct vq_rubric_item {
    double score;    /* NaN: none */
    uint32_t judges; /* that have a score of it */
    bool asked;      /* it was to be rated */
};

struct vq_rubric_criterion {
    struct vq_rubric_item *items;   /* [row * rated outputs + output] */
    struct vq_rubric_share *shares; /* [output * (judges + 1) + judge]; judge == judges: all */
    struct vq_rubric_difference difference; /* rows 0: there are no two outputs to compare */
    /* By all judges, over the rows of one value of data.group; NULL without it. */
    struct vq_rubric_share *group_shares;           /* [group * rated outputs + output] */
    struct vq_rubric_difference *group_differences; /* [group] */
    struct vq_rubric_pair *pairs;
    uint32_t pairs_count;
    struct vq_rubric_position *positions; /* one a judge; NULL: not pairwise */
    /* Win rates if both outputs were equally long, by judge, then by all judges; lengths in
     * characters. NULL: not pairwise. */
    struct vq_length_controlled *length_controlled;
};

struct vq_rubric_numbers {
    uint32_t judges, outputs, criteria_count;
    struct vq_rubric_criterion *criteria;
    struct vq_arena arena; /* owns the criteria and all that they point to */
    uint32_t units;    /* of resampling: prompts; rows, where all prompts are one (decisions 6) */
    bool units_repeat; /* a unit has several rows */
    bool too_few;      /* units for intervals; a group may have too few of them by itself */
    uint64_t missing;  /* questions that were put and have no value */
    uint64_t statuses[VQ_RUBRIC_STATUS__COUNT];
};

struct vq_rubric_numbers_input { /* borrowed */
    const struct vq_rubric *rubric;
    const struct vq_rubric_data *data;
    const struct vq_rubric_reading *readings; /* by slot */
    uint64_t seed;
    size_t draws; /* 0: no bootstrap */
};

/* VQ_OK, VQ_NOMEM, VQ_LIMIT, VQ_BUG. The caller destroys *ret_numbers. */
enum vq_status vq_rubric_compute(const struct vq_rubric_numbers_input *input,
                                 struct vq_rubric_numbers **ret_numbers,
                                 struct vq_error *err) VQ_WARN_UNUSED;
void vq_rubric_numbers_destroy(struct vq_rubric_numbers **numbers);

static inline const struct vq_rubric_share *vq_rubric_share_of(const struct vq_rubric_numbers *n,
                                                               uint32_t criterion, uint32_t output,
                                                               uint32_t judge)
{
    return &n->criteria[criterion].shares[(size_t)output * (n->judges + 1) + judge];
}
