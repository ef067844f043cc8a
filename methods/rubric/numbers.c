/* Computes numbers from readings, one criterion after the other: cells (one judge, one repeat, one
 * item), scores, intervals over all columns from the same draws, agreement. Invariant: the order in
 * which answers arrived has no influence. Not its job: reading answers from the store
 * (methods/rubric/files/results.c), files. */
#include "methods/rubric/numbers.h"

#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "common/text/utf8.h"
#include "methods/stats/intervals/bootstrap.h"
#include "methods/stats/intervals/proportions.h"

#include <math.h>

#define LEVEL    0.95
#define COLS_MAX (VQ_RUBRIC_OUTPUTS_MAX * (VQ_JUDGES_MAX + 1) + 1)

const char *vq_rubric_status_name(unsigned status)
{
    switch (status) {
    case VQ_RUBRIC_FAILED: return "failed";
    case VQ_RUBRIC_OPEN: return "open";
    case VQ_RUBRIC_NOT_ASKED: return "not_asked";
    default: return vq_rating_status_name((enum vq_rating_status)status);
    }
}

/* ---- reading ---- */

/* The paper's criteria of a dialogue, for which its code accepts a second form of a rating. */
static bool is_dialogue_criterion(const char *name)
{
    return strcmp(name, "knowledge") == 0 || strcmp(name, "style") == 0 ||
           strcmp(name, "in_character") == 0;
}

/* One number per question, which does not depend on the order of asking. */
static uint64_t draw_seed(uint64_t seed, const struct vq_rubric_place *place)
{
    const uint32_t parts[] = {place->criterion, place->row,    place->output,
                              place->judge,     place->repeat, place->order};
    struct vq_rng rng;
    for (size_t i = 0; i < VQ_COUNT(parts); i++) {
        vq_rng_seed(&rng, seed + parts[i]);
        seed = vq_rng_u64(&rng);
    }
    return seed;
}

void vq_rubric_read(const struct vq_rubric_input *in, const struct vq_rubric_place *place,
                    uint64_t seed, struct vq_span answer, struct vq_span finish_reason,
                    bool refusal, struct vq_rubric_reading *ret_reading,
                    struct vq_span *ret_reasoning)
{
    const struct vq_criterion *c = &in->criteria[place->criterion];
    struct vq_rating_reader reader = {.kind = c->kind,
                                      .policy = in->rating.policy,
                                      .score_of = is_dialogue_criterion(c->name),
                                      .seed = draw_seed(seed, place)};
    struct vq_rating rating;
    vq_rating_read(&reader, answer, finish_reason, refusal, &rating);
    double value = (double)rating.value;
    if (c->kind == VQ_RATING_PAIRWISE) { /* 0: the response shown first */
        value = (rating.value == 0) == (place->order == 0);
    }
    *ret_reading = (struct vq_rubric_reading){.value = rating.has_value ? value : NAN,
                                              .status = (uint8_t)rating.status};
    *ret_reasoning = rating.reasoning;
}

struct vq_rubric_reading vq_rubric_unread(enum vq_outcome outcome)
{
    uint8_t status = outcome == VQ_OUTCOME_NONE         ? VQ_RUBRIC_OPEN
                     : outcome == VQ_OUTCOME_NOT_NEEDED ? VQ_RUBRIC_NOT_ASKED
                                                        : VQ_RUBRIC_FAILED;
    return (struct vq_rubric_reading){.value = NAN, .status = status};
}

/* ---- work on one criterion ---- */

struct work {
    const struct vq_rubric_numbers_input *in;
    const struct vq_rubric_input *what;
    struct vq_rubric_numbers *out;
    uint32_t criterion;
    uint32_t outputs; /* number of outputs that the criterion rates */
    bool pairwise;
    struct vq_rubric_criterion *to;
    double *scores; /* rows x cols: outputs x (judges + 1), then the difference */
    size_t cols;
    uint32_t *units;       /* of each row */
    struct vq_arena space; /* until the numbers are there */
    struct vq_error *err;
};

static const struct vq_rubric_reading *reading(const struct work *w,
                                               const struct vq_rubric_place *place)
{
    return &w->in->readings[vq_rubric_slot(w->in->rubric, place)];
}

/* A judge's value of an item at one repeat; NaN: none. */
static double cell(const struct work *w, const struct vq_rubric_place *at)
{
    struct vq_rubric_place place = *at;
    place.order = 0;
    const struct vq_rubric_reading *r0 = reading(w, &place);
    if (!w->pairwise) {
        return r0->value;
    }
    place.order = 1;
    const struct vq_rubric_reading *r1 = reading(w, &place);
    if (r0->status == VQ_RUBRIC_NOT_ASKED) {
        return r1->value;
    }
    return r1->status == VQ_RUBRIC_NOT_ASKED ? r0->value : (r0->value + r1->value) / 2;
}

static void count_value(struct vq_rubric_share *share, enum vq_rating_kind kind, double value)
{
    if (isnan(value)) {
        return;
    }
    double at = kind == VQ_RATING_LIKERT     ? value - VQ_RATING_LIKERT_MIN
                : kind == VQ_RATING_PAIRWISE ? value * 2
                                             : value;
    /* under the paper's policy a value may be out of range */
    if (at >= 0 && at < VQ_RATING_LIKERT_MAX) {
        share->counts[(size_t)at]++;
    }
}

static void count_statuses(struct work *w, const struct vq_rubric_place *at,
                           struct vq_rubric_share *const *of, size_t count)
{
    struct vq_rubric_place place = *at;
    for (place.order = 0; place.order < (w->pairwise ? 2u : 1u); place.order++) {
        const struct vq_rubric_reading *r = reading(w, &place);
        for (size_t i = 0; i < count; i++) {
            of[i]->statuses[r->status]++;
        }
        w->out->statuses[r->status]++;
        w->out->missing += isnan(r->value) && r->status != VQ_RUBRIC_NOT_ASKED;
    }
}

static void count_positions(struct work *w, const struct vq_rubric_place *at)
{
    struct vq_rubric_position *p = &w->to->positions[at->judge];
    struct vq_rubric_place place = *at;
    double first[2]; /* 1: the judge chose the response shown first */
    for (place.order = 0; place.order < 2; place.order++) {
        double value = reading(w, &place)->value;
        first[place.order] = place.order == 0 ? value : 1 - value;
        if (!isnan(value)) {
            p->answers++;
            p->first += first[place.order] > 0;
        }
    }
    if (!isnan(first[0]) && !isnan(first[1])) {
        p->both++;
        p->contradicted += first[0] == first[1];
    }
}

/* The share of the row's group; NULL: there are no groups. */
static struct vq_rubric_share *group_share(const struct work *w, const struct vq_rubric_place *at)
{
    size_t group = w->what->rows[at->row].group;
    return w->to->group_shares == NULL ? NULL
                                       : &w->to->group_shares[group * w->outputs + at->output];
}

/* One judge's score of one item: the mean over its repeats. */
static double judge_score(struct work *w, struct vq_rubric_place at, bool *ret_asked)
{
    enum vq_rating_kind kind = w->what->criteria[w->criterion].kind;
    struct vq_rubric_share *shares = &w->to->shares[(size_t)at.output * (w->out->judges + 1)];
    struct vq_rubric_share *of[] = {&shares[at.judge], &shares[w->out->judges],
                                    group_share(w, &at)};
    size_t count = of[2] == NULL ? 2 : 3;
    double sum = 0, n = 0;
    bool asked = false;
    for (at.repeat = 0; at.repeat < w->what->rating.repeats; at.repeat++) {
        double value = cell(w, &at);
        for (size_t i = 0; i < count; i++) {
            count_value(of[i], kind, value);
        }
        count_statuses(w, &at, of, count);
        if (w->pairwise) {
            count_positions(w, &at);
        }
        struct vq_rubric_place order = at;
        for (order.order = 0; order.order < 2; order.order++) {
            asked |= reading(w, &order)->status != VQ_RUBRIC_NOT_ASKED;
        }
        sum += isnan(value) ? 0 : value;
        n += !isnan(value);
    }
    *ret_asked |= asked;
    shares[at.judge].items += asked;
    shares[at.judge].rated += n > 0;
    return n > 0 ? sum / n : NAN;
}

static void score_item(struct work *w, uint32_t row, uint32_t output)
{
    uint32_t judges = w->out->judges;
    struct vq_rubric_share *all = &w->to->shares[(size_t)output * (judges + 1) + judges];
    double *to = w->scores + (size_t)row * w->cols + (size_t)output * (judges + 1);
    struct vq_rubric_place at = {.criterion = w->criterion, .row = row, .output = output};
    double sum = 0, n = 0;
    bool asked = false;
    for (at.judge = 0; at.judge < judges; at.judge++) {
        double score = judge_score(w, at, &asked);
        to[at.judge] = score;
        sum += isnan(score) ? 0 : score;
        n += !isnan(score);
    }
    to[judges] = n > 0 ? sum / n : NAN;
    w->to->items[(size_t)row * w->outputs + output] =
        (struct vq_rubric_item){.score = to[judges], .judges = (uint32_t)n, .asked = asked};
    all->items += asked;
    all->rated += n > 0;
    struct vq_rubric_share *group = group_share(w, &at);
    if (group != NULL) {
        group->items += asked;
        group->rated += n > 0;
    }
}

static void score_rows(struct work *w)
{
    uint32_t judges = w->out->judges;
    for (uint32_t row = 0; row < w->what->rows_count; row++) {
        for (uint32_t o = 0; o < w->outputs; o++) {
            score_item(w, row, o);
        }
        if (w->outputs == 2) {
            double *at = w->scores + (size_t)row * w->cols;
            double difference = at[judges] - at[2 * judges + 1];
            at[w->cols - 1] = difference;
            w->to->difference.rows += isnan(difference) ? 0 : 1;
        }
    }
}

/* ---- intervals ---- */

/* The rows of a result: all rows, or the rows of a group. */
struct part {
    struct vq_matrix scores;
    const uint32_t *units; /* of each row */
    bool too_few, units_repeat;
};

static void plain_means(const struct part *part, struct vq_bootstrap_mean *ret)
{
    for (size_t c = 0; c < part->scores.cols; c++) {
        double sum = 0, n = 0;
        for (size_t row = 0; row < part->scores.rows; row++) {
            double score = part->scores.at[row * part->scores.cols + c];
            sum += isnan(score) ? 0 : score;
            n += !isnan(score);
        }
        ret[c] = (struct vq_bootstrap_mean){
            .mean = n > 0 ? sum / n : NAN, .se = NAN, .percentile = {NAN, NAN}};
    }
}

static enum vq_status means_of(const struct work *w, const struct part *part,
                               struct vq_bootstrap_mean *ret)
{
    if (w->in->draws == 0 || part->too_few) {
        plain_means(part, ret);
        return VQ_OK;
    }
    struct vq_bootstrap_options options = {w->in->draws, LEVEL, w->in->seed};
    return vq_bootstrap_means(part->scores, NULL, part->units, &options, ret, w->err);
}

/* An interval needs VQ_RUBRIC_UNITS_MIN units with a score in this column; rows without a score do
 * not count. */
static bool has_units(const struct part *part, size_t column)
{
    uint32_t seen[VQ_RUBRIC_UNITS_MIN], count = 0;
    for (size_t row = 0; row < part->scores.rows && count < VQ_RUBRIC_UNITS_MIN; row++) {
        uint32_t i = isnan(part->scores.at[row * part->scores.cols + column]) ? UINT32_MAX : 0;
        while (i < count && seen[i] != part->units[row]) {
            i++;
        }
        if (i == count) {
            seen[count++] = part->units[row];
        }
    }
    return count == VQ_RUBRIC_UNITS_MIN;
}

static void fill_share(const struct work *w, const struct part *part, size_t column,
                       const struct vq_bootstrap_mean *mean, struct vq_rubric_share *share)
{
    static const struct vq_interval none = {NAN, NAN};
    share->mean = mean->mean;
    share->ci95 = share->ci95_clustered = none;
    if (!has_units(part, column)) {
        return;
    }
    if (w->what->criteria[w->criterion].kind == VQ_RATING_LIKERT) {
        share->ci95 = mean->percentile;
        return;
    }
    double rated = (double)share->rated;
    share->ci95 =
        vq_proportion_interval(VQ_PROPORTION_WILSON, fmin(rated, mean->mean * rated), rated, LEVEL);
    if (part->units_repeat) {
        share->ci95_clustered = mean->percentile;
    }
}

/* Fills the difference from the last column, which exists if there are two outputs. */
static void fill_difference(const struct work *w, const struct part *part,
                            const struct vq_bootstrap_mean *means,
                            struct vq_rubric_difference *difference)
{
    size_t column = part->scores.cols - 1;
    bool has = w->outputs == 2 && has_units(part, column);
    difference->mean = w->outputs == 2 ? means[column].mean : NAN;
    difference->ci95 = has ? means[column].percentile : (struct vq_interval){NAN, NAN};
}

static enum vq_status fill_means(struct work *w)
{
    struct vq_bootstrap_mean means[COLS_MAX];
    struct part all = {.scores = {w->scores, w->what->rows_count, w->cols},
                       .units = w->units,
                       .too_few = w->out->too_few,
                       .units_repeat = w->out->units_repeat};
    VQ_ASSERT(w->cols <= VQ_COUNT(means));
    VQ_TRY(means_of(w, &all, means));
    for (size_t c = 0; c < (size_t)w->outputs * (w->out->judges + 1); c++) {
        fill_share(w, &all, c, &means[c], &w->to->shares[c]);
    }
    fill_difference(w, &all, means, &w->to->difference);
    return VQ_OK;
}

/* ---- length ---- */

/* Characters of the first output minus those of the second. */
static void length_differences(const struct work *w, double *ret)
{
    for (uint32_t row = 0; row < w->what->rows_count; row++) {
        const struct vq_span *outputs = w->what->rows[row].outputs;
        ret[row] = (double)vq_utf8_count(outputs[0]) - (double)vq_utf8_count(outputs[1]);
    }
}

static enum vq_status fill_length_controlled(struct work *w)
{
    uint32_t rows = w->what->rows_count;
    if (!w->pairwise) {
        return VQ_OK;
    }
    double *wins, *difference;
    VQ_TRY(VQ_ARENA_ALLOC(&w->space, wins, rows));
    VQ_TRY(VQ_ARENA_ALLOC(&w->space, difference, rows));
    VQ_TRY(VQ_ARENA_ALLOC(&w->out->arena, w->to->length_controlled, w->cols));
    length_differences(w, difference);
    for (size_t c = 0; c < w->cols; c++) {
        for (uint32_t row = 0; row < rows; row++) {
            wins[row] = w->scores[row * w->cols + c];
        }
        VQ_TRY(vq_length_controlled(wins, difference, rows, w->units, &w->to->length_controlled[c],
                                    w->err));
    }
    return VQ_OK;
}

/* ---- groups ---- */

/* Gathers a group's rows: scores by all judges, their difference, and units. `seen` has the last
 * group of each unit, plus 1. */
static void gather(const struct work *w, uint32_t group, double *scores, uint32_t *units,
                   uint32_t *seen, struct part *ret_part)
{
    size_t judges = w->out->judges, cols = w->outputs + (w->outputs == 2 ? 1 : 0), n = 0;
    uint32_t distinct = 0;
    for (uint32_t row = 0; row < w->what->rows_count; row++) {
        if (w->what->rows[row].group != group) {
            continue;
        }
        const double *from = w->scores + (size_t)row * w->cols;
        for (size_t c = 0; c < cols; c++) {
            scores[n * cols + c] =
                c < w->outputs ? from[c * (judges + 1) + judges] : from[w->cols - 1];
        }
        units[n++] = w->units[row];
        distinct += seen[w->units[row]] != group + 1;
        seen[w->units[row]] = group + 1;
    }
    *ret_part = (struct part){.scores = {scores, n, cols},
                              .units = units,
                              .too_few = distinct < VQ_RUBRIC_UNITS_MIN,
                              .units_repeat = distinct < n};
}

static enum vq_status fill_group(struct work *w, uint32_t group, const struct part *part)
{
    struct vq_bootstrap_mean means[VQ_RUBRIC_OUTPUTS_MAX + 1];
    struct vq_rubric_difference *difference = &w->to->group_differences[group];
    VQ_TRY(means_of(w, part, means));
    for (uint32_t o = 0; o < w->outputs; o++) {
        fill_share(w, part, o, &means[o], &w->to->group_shares[(size_t)group * w->outputs + o]);
    }
    for (size_t row = 0; w->outputs == 2 && row < part->scores.rows; row++) {
        difference->rows += isnan(part->scores.at[row * part->scores.cols + 2]) ? 0 : 1;
    }
    fill_difference(w, part, means, difference);
    return VQ_OK;
}

static enum vq_status fill_groups(struct work *w)
{
    if (w->in->data->groups_count == 0) {
        return VQ_OK;
    }
    uint32_t rows = w->what->rows_count;
    double *scores;
    uint32_t *units, *seen;
    VQ_TRY(VQ_ARENA_ALLOC(&w->space, scores, (size_t)rows * (VQ_RUBRIC_OUTPUTS_MAX + 1)));
    VQ_TRY(VQ_ARENA_ALLOC(&w->space, units, rows));
    VQ_TRY(VQ_ARENA_ALLOC(&w->space, seen, rows));
    for (uint32_t g = 0; g < w->in->data->groups_count; g++) {
        struct part part;
        gather(w, g, scores, units, seen, &part);
        VQ_TRY(fill_group(w, g, &part));
    }
    return VQ_OK;
}

/* ---- agreement ---- */

struct range {
    int least, most;
};

static struct range range_of(enum vq_rating_kind kind)
{
    switch (kind) {
    case VQ_RATING_LIKERT: return (struct range){VQ_RATING_LIKERT_MIN, VQ_RATING_LIKERT_MAX};
    case VQ_RATING_BINARY: return (struct range){0, 1};
    case VQ_RATING_PAIRWISE: break;
    }
    return (struct range){-1, 1};
}

/* A judge's values at a repeat, over all items; pairwise as -1, 0, 1. */
static void ratings_of(const struct work *w, uint32_t judge, uint32_t repeat, double *ret_ratings)
{
    struct range range = range_of(w->what->criteria[w->criterion].kind);
    for (uint32_t row = 0; row < w->what->rows_count; row++) {
        for (uint32_t o = 0; o < w->outputs; o++) {
            struct vq_rubric_place at = {.criterion = w->criterion,
                                         .row = row,
                                         .output = o,
                                         .judge = judge,
                                         .repeat = repeat};
            double value = cell(w, &at);
            value = w->pairwise ? value * 2 - 1 : value;
            bool within = value >= range.least && value <= range.most;
            *ret_ratings++ = within ? value : NAN;
        }
    }
}

static void labels_of(const struct work *w, double *ret_ratings)
{
    for (uint32_t row = 0; row < w->what->rows_count; row++) {
        for (uint32_t o = 0; o < w->outputs; o++) {
            *ret_ratings++ = vq_rubric_human(w->in->data, w->criterion, o, row);
        }
    }
}

static enum vq_status add_pair(struct work *w, uint32_t a, uint32_t b, const double *of_a,
                               const double *of_b)
{
    struct range range = range_of(w->what->criteria[w->criterion].kind);
    struct vq_rubric_pair *pair = &w->to->pairs[w->to->pairs_count++];
    pair->a = a;
    pair->b = b;
    return vq_ratings_agree(of_a, of_b, (size_t)w->what->rows_count * w->outputs, range.least,
                            range.most, &pair->agreement);
}

/* Compares each judge with people, with itself, and with the judges after it. */
static enum vq_status agree(struct work *w, double *of_a, double *of_b)
{
    for (uint32_t a = 0; a < w->out->judges; a++) {
        ratings_of(w, a, 0, of_a);
        if (w->in->data->labelled[w->criterion] > 0) {
            labels_of(w, of_b);
            VQ_TRY(add_pair(w, a, VQ_RUBRIC_HUMAN, of_a, of_b));
        }
        if (w->what->rating.repeats > 1) {
            ratings_of(w, a, 1, of_b);
            VQ_TRY(add_pair(w, a, a, of_a, of_b));
        }
        for (uint32_t b = a + 1; b < w->out->judges; b++) {
            ratings_of(w, b, 0, of_b);
            VQ_TRY(add_pair(w, a, b, of_a, of_b));
        }
    }
    return VQ_OK;
}

static enum vq_status fill_agreement(struct work *w)
{
    uint32_t judges = w->out->judges;
    size_t items = (size_t)w->what->rows_count * w->outputs;
    size_t pairs = (size_t)judges * 2 + (size_t)judges * (judges - 1) / 2;
    double *of_a, *of_b;
    VQ_TRY(VQ_ARENA_ALLOC(&w->space, of_a, items));
    VQ_TRY(VQ_ARENA_ALLOC(&w->space, of_b, items));
    VQ_TRY(VQ_ARENA_ALLOC(&w->out->arena, w->to->pairs, pairs));
    return agree(w, of_a, of_b);
}

/* ---- all criteria ---- */

static enum vq_status make_groups(struct work *w)
{
    size_t groups = w->in->data->groups_count;
    if (groups == 0) {
        return VQ_OK;
    }
    w->to->group_shares =
        vq_arena_alloc(&w->out->arena, groups * w->outputs, sizeof(*w->to->group_shares));
    w->to->group_differences =
        vq_arena_alloc(&w->out->arena, groups, sizeof(*w->to->group_differences));
    return vq_arena_status(&w->out->arena);
}

static enum vq_status compute_criterion(struct work *w)
{
    uint32_t judges = w->out->judges;
    w->pairwise = w->what->criteria[w->criterion].kind == VQ_RATING_PAIRWISE;
    w->outputs = vq_rubric_rated_outputs(w->what, w->criterion);
    w->to = &w->out->criteria[w->criterion];
    w->cols = (size_t)w->outputs * (judges + 1) + (w->outputs == 2 ? 1 : 0);
    VQ_TRY(VQ_ARENA_ALLOC(&w->space, w->scores, w->what->rows_count * w->cols));
    w->to->shares =
        vq_arena_alloc(&w->out->arena, (size_t)w->outputs * (judges + 1), sizeof(*w->to->shares));
    w->to->positions =
        w->pairwise ? vq_arena_alloc(&w->out->arena, judges, sizeof(*w->to->positions)) : NULL;
    w->to->items = vq_arena_alloc(&w->out->arena, (size_t)w->what->rows_count * w->outputs,
                                  sizeof(*w->to->items));
    VQ_TRY(vq_arena_status(&w->out->arena));
    VQ_TRY(make_groups(w));
    score_rows(w);
    VQ_TRY(fill_means(w));
    VQ_TRY(fill_length_controlled(w));
    VQ_TRY(fill_groups(w));
    return fill_agreement(w);
}

static enum vq_status compute(struct work *w)
{
    const struct vq_rubric_input *what = w->what;
    struct vq_rubric_numbers *n = w->out;
    n->judges = what->judges_count;
    n->outputs = what->outputs_count;
    n->criteria_count = what->criteria_count;
    bool one_prompt = w->in->data->questions_count == 1;
    n->units = one_prompt ? what->rows_count : w->in->data->questions_count;
    n->units_repeat = n->units < what->rows_count;
    n->too_few = n->units < VQ_RUBRIC_UNITS_MIN;
    VQ_TRY(VQ_ARENA_ALLOC(&n->arena, n->criteria, what->criteria_count));
    VQ_TRY(VQ_ARENA_ALLOC(&w->space, w->units, what->rows_count));
    for (uint32_t i = 0; i < what->rows_count; i++) {
        w->units[i] = one_prompt ? i : what->rows[i].question;
    }
    for (w->criterion = 0; w->criterion < what->criteria_count; w->criterion++) {
        VQ_TRY(compute_criterion(w));
    }
    return VQ_OK;
}

enum vq_status vq_rubric_compute(const struct vq_rubric_numbers_input *input,
                                 struct vq_rubric_numbers **ret_numbers, struct vq_error *err)
{
    struct work w = {.in = input, .what = vq_rubric_input(input->rubric), .err = err};
    VQ_TRY(VQ_ALLOC(w.out, 1));
    enum vq_status status = compute(&w);
    vq_arena_clear(&w.space);
    if (status != VQ_OK) {
        vq_rubric_numbers_destroy(&w.out);
        return status;
    }
    *ret_numbers = w.out;
    return VQ_OK;
}

void vq_rubric_numbers_destroy(struct vq_rubric_numbers **numbers)
{
    if (*numbers != NULL) {
        vq_arena_clear(&(*numbers)->arena);
        vq_free(*numbers);
        *numbers = NULL;
    }
}
