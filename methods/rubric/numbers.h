/* The numbers of a rubric run: means and rates with their intervals, win rates, statuses, and the
 * agreement of judges with each other, with themselves and with people. Pure: the same readings
 * give the same bits. NaN means that a number does not exist.
 *
 * A judge's score of an item (an output of a row) is the mean over its repeats. The item's score is
 * the mean over the judges that have a score. A reading without a value is left out; it never
 * counts as a value. For a pairwise criterion the score of a row is the share of wins of the first
 * model: 1, 0, or 0.5 if a judge chose the same position in both orders. If one of two orders has
 * no value, the judge has no score. */
#pragma once

#include "common/base/arena.h"
#include "common/judge/verdict.h"
#include "methods/rubric/rubric.h"
#include "methods/stats/agreement/ratings.h"
#include "methods/stats/logit/length_controlled.h"

#define VQ_RUBRIC_UNITS_MIN 6u /* with fewer units there is no interval */

enum vq_rubric_status { /* the first ones are enum vq_rating_status: the answer was read */
    VQ_RUBRIC_FAILED = VQ_RATING__COUNT, /* there is no answer */
    VQ_RUBRIC_OPEN,                      /* not asked yet, or not answered yet */
    VQ_RUBRIC_NOT_ASKED, /* not to be asked: there is no output, or the order is left out */
    VQ_RUBRIC_STATUS__COUNT
};
/* "ok", ..., "failed", "open", "not_asked". */
const char *vq_rubric_status_name(unsigned status);

/* The value of one answer. Likert: the number (`paper`: any); binary: 1 yes, 0 no; pairwise: 1 if
 * the judge chose the first model, else 0, in either order. */
struct vq_rubric_reading {
    double value;   /* NaN: none */
    uint8_t status; /* enum vq_rubric_status */
};

/* Reads one stored answer by the run's policy. `place` seeds the draw of the paper's policy. */
void vq_rubric_read(const struct vq_rubric_input *in, const struct vq_rubric_place *place,
                    uint64_t seed, struct vq_span answer, struct vq_span finish_reason,
                    bool refusal, struct vq_rubric_reading *ret_reading,
                    struct vq_span *ret_reasoning);
/* The reading of a question without an answer to read. */
struct vq_rubric_reading vq_rubric_unread(enum vq_outcome outcome);

/* One criterion and output, over all judges or for one judge. */
struct vq_rubric_share {
    uint64_t items;          /* number of items to rate */
    uint64_t rated;          /* number of items with a score */
    double mean;             /* of the scores: a rating, a rate, a win rate of the first model */
    struct vq_interval ci95; /* likert: bootstrap by units; else Wilson */
    struct vq_interval ci95_clustered; /* binary, pairwise, if units repeat: bootstrap */
    /* Of single ratings: 1 to 5; no, yes. Of cells of a pairwise criterion: second wins, ties,
     * first wins. */
    uint64_t counts[VQ_RATING_LIKERT_MAX];
    uint64_t statuses[VQ_RUBRIC_STATUS__COUNT];
};

/* The two models on a likert or binary criterion: first minus second, paired by row. */
struct vq_rubric_difference {
    uint64_t rows; /* number of rows with both scores */
    double mean;
    struct vq_interval ci95; /* bootstrap by prompts */
};

#define VQ_RUBRIC_HUMAN UINT32_MAX
struct vq_rubric_pair {
    uint32_t a, b; /* judges; b VQ_RUBRIC_HUMAN: the data's labels; b == a: its second repeat */
    struct vq_ratings_agreement agreement; /* of first repeats; pairwise: -1, 0, 1 */
};

struct vq_rubric_position { /* of one judge on a pairwise criterion */
    uint64_t answers;       /* number of answers with a value */
    uint64_t first;         /* of these: the judge chose the response shown first */
    uint64_t both;          /* number of cells with a value in both orders */
    uint64_t contradicted;  /* of these: the judge chose the same position in both orders */
};

/* One output of one row (pairwise: the row), over all judges. */
struct vq_rubric_item {
    double score;    /* NaN: none */
    uint32_t judges; /* number of judges with a score */
    bool asked;      /* the item was to be rated */
};

struct vq_rubric_criterion {
    struct vq_rubric_item *items; /* [row * rated outputs + output] */
    /* [output * (judges + 1) + judge]; judge == judges: all judges */
    struct vq_rubric_share *shares;
    struct vq_rubric_difference difference; /* rows 0: there are no two outputs to compare */
    /* Over all judges and the rows of one value of data.group; NULL without data.group. */
    struct vq_rubric_share *group_shares;           /* [group * rated outputs + output] */
    struct vq_rubric_difference *group_differences; /* [group] */
    struct vq_rubric_pair *pairs;
    uint32_t pairs_count;
    struct vq_rubric_position *positions; /* one per judge; NULL: not pairwise */
    /* Win rates if both outputs had the same length, by judge, then over all judges; lengths are in
     * characters. NULL: not pairwise. */
    struct vq_length_controlled *length_controlled;
};

struct vq_rubric_numbers {
    uint32_t judges, outputs, criteria_count;
    struct vq_rubric_criterion *criteria;
    struct vq_arena arena; /* owns the criteria and everything that they point to */
    /* number of units of resampling: prompts; rows, if all prompts are equal (decisions 6) */
    uint32_t units;
    bool units_repeat; /* some unit has several rows */
    /* there are too few units for intervals; a group may have too few of its own */
    bool too_few;
    uint64_t missing; /* number of questions that were asked and have no value */
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
