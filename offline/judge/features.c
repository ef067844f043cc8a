/* For each feature, the rows' differences give a t value. Its variance is moved towards a prior,
 * since batches are small. The strongest feature is taken and claims its measures; the others are
 * computed again without these measures, until none remains. Invariant: exchanging the outputs of
 * all rows changes the sign of every mean and nothing else. Not its job: words for the features
 * (discover.c). */
#include "offline/judge/features.h"

#include <math.h>

/* Minimum difference in standard errors: 2.2 from five rows on; less in smaller batches, which
 * could not show any difference otherwise. */
#define STRENGTH_MIN   2.2
#define STRENGTH_FIRST 1.2
#define STRENGTH_A_ROW 0.2
#define MEAN_MIN       0.08
#define SAME_SHARE_MIN 0.6 /* of the rows have the sign of the mean ... */
/* ... and at most this share the opposite one; or, in large batches, ... */
#define OPPOSED_MAX  0.25
#define SIGN_Z_MIN   3.0  /* ... the signs differ from balance by this number of standard errors */
#define CLEAR        0.03 /* a row's difference below this has no sign */
#define PRIOR_SPREAD 0.25
#define PRIOR_ROWS   2.0
#define CLAIM_SHARE  0.5 /* a feature claims measures of at least this part of its top weight */
#define LEFT_MIN     0.5 /* part of a feature's weight that must be unclaimed */

struct search {
    enum vq_judge_kind kind;
    const struct vq_row_measures *rows;
    size_t n;
    bool claimed[VQ_MEASURE__COUNT];
    bool done[VQ_TOPIC__COUNT];
};

static void claim(struct search *search, const struct vq_axis_weights *weights)
{
    double top = 0;
    for (size_t m = 0; m < VQ_MEASURE__COUNT; m++) {
        top = fmax(top, fabs(weights->at[m]));
    }
    for (size_t m = 0; m < VQ_MEASURE__COUNT && top > 0; m++) {
        if (fabs(weights->at[m]) >= CLAIM_SHARE * top) {
            search->claimed[m] = true;
        }
    }
}

static void reading_of_topic(enum vq_judge_kind kind, enum vq_topic topic,
                             struct vq_axis_reading *ret_reading)
{
    *ret_reading = (struct vq_axis_reading){.main = topic};
    ret_reading->topics[topic] = 1;
    vq_topic_weights(kind, topic, &ret_reading->weights);
}

static void leave_out(struct search *search, const struct vq_axis_reading *known)
{
    for (size_t t = 0; t < VQ_TOPIC__COUNT; t++) {
        struct vq_axis_reading topic;
        reading_of_topic(search->kind, (enum vq_topic)t, &topic);
        search->done[t] = search->done[t] || vq_axis_same(&topic, known);
    }
}

/* The weights of a feature without claimed measures; false: too little of it remains. */
static bool unclaimed(const struct search *search, enum vq_topic topic,
                      struct vq_axis_weights *ret_weights)
{
    vq_topic_weights(search->kind, topic, ret_weights);
    double whole = 0;
    double left = 0;
    for (size_t m = 0; m < VQ_MEASURE__COUNT; m++) {
        whole += fabs(ret_weights->at[m]);
        ret_weights->at[m] = search->claimed[m] ? 0 : ret_weights->at[m];
        left += fabs(ret_weights->at[m]);
    }
    return left > 0 && left >= LEFT_MIN * whole;
}

static bool weigh(const struct search *search, enum vq_topic topic, struct vq_feature *ret_feature)
{
    struct vq_axis_weights weights;
    if (search->n == 0 || !unclaimed(search, topic, &weights)) {
        return false;
    }
    double sum = 0;
    double squares = 0;
    size_t ups = 0;
    size_t downs = 0;
    for (size_t i = 0; i < search->n; i++) {
        const struct vq_row_measures *row = &search->rows[i];
        double d = vq_lexical_difference(&weights, &row->outputs[0], &row->outputs[1]);
        sum += d;
        squares += d * d;
        ups += d > CLEAR;
        downs += d < -CLEAR;
    }
    double n = (double)search->n;
    double mean = sum / n;
    double spread2 = fmax(squares - n * mean * mean, 0) + PRIOR_ROWS * PRIOR_SPREAD * PRIOR_SPREAD;
    double error = sqrt(spread2 / (n - 1 + PRIOR_ROWS) / n);
    double same = (double)(mean > 0 ? ups : downs);
    double opposed = (double)(mean > 0 ? downs : ups);
    *ret_feature =
        (struct vq_feature){.topic = topic, .mean = mean, .strength = fabs(mean) / error};
    double needed = fmin(STRENGTH_MIN, STRENGTH_FIRST + STRENGTH_A_ROW * n);
    bool is_steady = same >= SAME_SHARE_MIN * n && opposed <= OPPOSED_MAX * n;
    bool is_unbalanced = same - opposed >= SIGN_Z_MIN * sqrt(same + opposed) && same > opposed;
    return fabs(mean) >= MEAN_MIN && ret_feature->strength >= needed &&
           (is_steady || is_unbalanced);
}

static bool strongest(const struct search *search, struct vq_feature *ret_feature)
{
    struct vq_feature best = {.strength = 0};
    for (size_t t = 0; t < VQ_TOPIC__COUNT; t++) {
        struct vq_feature next;
        if (!search->done[t] && weigh(search, (enum vq_topic)t, &next) &&
            next.strength > best.strength) {
            best = next;
        }
    }
    *ret_feature = best;
    return best.strength > 0;
}

size_t vq_features_find(enum vq_judge_kind kind, const struct vq_row_measures *rows, size_t n,
                        const struct vq_axis_list *current, const struct vq_axis_list *rejected,
                        struct vq_feature ret_features[VQ_FEATURES_MAX])
{
    struct search search = {.kind = kind, .rows = rows, .n = n};
    for (size_t i = 0; current != NULL && i < current->n; i++) {
        leave_out(&search, &current->axes[i].reading);
        claim(&search, &current->axes[i].reading.weights);
        search.claimed[VQ_MEASURE_VARIETY] |= search.claimed[VQ_MEASURE_WORDS];
    }
    for (size_t i = 0; rejected != NULL && i < rejected->n; i++) {
        leave_out(&search, &rejected->axes[i].reading);
    }
    struct vq_feature length;
    if (weigh(&search, VQ_TOPIC_LENGTH, &length)) { /* a longer text has more different words */
        search.claimed[VQ_MEASURE_VARIETY] = true;
    }
    size_t found = 0;
    while (found < VQ_FEATURES_MAX && strongest(&search, &ret_features[found])) {
        struct vq_axis_reading reading;
        reading_of_topic(kind, ret_features[found].topic, &reading);
        leave_out(&search, &reading);
        claim(&search, &reading.weights);
        found++;
    }
    return found;
}
