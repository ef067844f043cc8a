/* results.json of method: judge, format 1. Invariant: it depends only on data, configuration, seed
 * and answers, so its bytes do not depend on the order of arrival. Each mean and rate has the
 * statuses of its ratings beside it. Not its job: times, costs, calls (accounting.json). */
#include "methods/report/keys.h"
#include "methods/rubric/report/report.h"

#include <math.h>
#include <stdio.h>

static enum vq_rating_kind kind_of(const struct vq_rubric_report *r, uint32_t criterion)
{
    return vq_rubric_input(r->rubric)->criteria[criterion].kind;
}

static void statuses(struct vq_json *j, const uint64_t *counts)
{
    vq_json_put_object(j, "statuses");
    for (unsigned s = 0; s < VQ_RUBRIC_STATUS__COUNT; s++) {
        vq_json_put_u64(j, vq_rubric_status_name(s), counts[s]);
    }
    vq_json_object_end(j);
}

/* ---- head ---- */

static void judges(struct vq_json *j, const struct vq_rubric_report *r)
{
    vq_report_put_judges(j, r->judges, r->config->judges_count, r->config->judges, r->judge_kind,
                         "what the outputs are worth");
    vq_json_put_str(j, "intervals_note",
                    "95 % intervals cover the choice of prompts, not that of judges or rubrics.");
}

static void data(struct vq_json *j, const struct vq_rubric_report *r)
{
    const struct vq_rubric_data *d = r->data;
    vq_json_put_object(j, "data");
    vq_json_put_u64(j, "records", d->records);
    vq_json_put_u64(j, "rows", d->rows_count);
    vq_json_put_u64(j, "questions", d->questions_count);
    vq_json_put_array(j, "without_output");
    for (uint32_t o = 0; o < d->outputs_count; o++) {
        vq_json_u64(j, d->blank[o]);
    }
    vq_json_array_end(j);
    if (d->warnings_count > 0) {
        vq_json_put_array(j, "warnings");
        for (uint32_t i = 0; i < d->warnings_count; i++) {
            vq_json_str(j, d->warnings[i]);
        }
        vq_json_array_end(j);
    }
    if (r->config->data.group != NULL) {
        vq_json_put_str(j, "group", r->config->data.group);
        vq_json_put_u64(j, "groups", d->groups_count);
    }
    vq_json_put_str(j, "sha256", r->data_hash);
    vq_json_object_end(j);
}

static void settings(struct vq_json *j, const struct vq_rubric_report *r)
{
    static const char *const keys[] = {"likert_template", "binary_template", "pairwise_template"};
    const struct vq_config *c = r->config;
    vq_json_put_object(j, "settings");
    vq_json_put_str(j, "method", "judge");
    vq_json_put_u64(j, "seed", c->seed);
    vq_json_put_u64(j, "repeats", c->rating.repeats);
    vq_json_put_str(j, "positions",
                    c->rating.positions == VQ_POSITIONS_BOTH ? "both" : "alternate");
    vq_json_put_str(j, "policy", c->rating.policy == VQ_RATING_STRICT ? "strict" : "paper");
    vq_json_put_bool(j, "truncate", c->judging.truncate);
    vq_json_put_u64(j, "bootstrap_draws", c->regression.bootstrap_draws);
    for (size_t k = 0; k < VQ_COUNT(keys); k++) {
        if (r->templates[k] != NULL) {
            vq_report_key_hash(j, keys[k], r->templates[k]);
        }
    }
    vq_json_object_end(j);
}

/* ---- one criterion ---- */

static void counts(struct vq_json *j, const struct vq_rubric_report *r, uint32_t criterion,
                   const struct vq_rubric_share *s)
{
    static const char *const likert[] = {"1", "2", "3", "4", "5", NULL};
    static const char *const binary[] = {"no", "yes", NULL};
    static const char *const pairwise[] = {"lost", "tied", "won", NULL};
    enum vq_rating_kind kind = kind_of(r, criterion);
    const char *const *names = kind == VQ_RATING_LIKERT   ? likert
                               : kind == VQ_RATING_BINARY ? binary
                                                          : pairwise;
    vq_json_put_object(j, "counts");
    for (size_t i = 0; names[i] != NULL; i++) {
        vq_json_put_u64(j, names[i], s->counts[i]);
    }
    vq_json_object_end(j);
}

static void share(struct vq_json *j, const struct vq_rubric_report *r, uint32_t criterion,
                  const struct vq_rubric_share *s, bool clustered)
{
    static const char *const means[] = {"mean", "rate", "win_rate"};
    enum vq_rating_kind kind = kind_of(r, criterion);
    vq_json_put_u64(j, "items", s->items);
    vq_json_put_u64(j, "rated", s->rated);
    vq_report_key_real(j, means[kind], s->mean);
    vq_report_key_interval(j, "ci95", s->ci95);
    if (kind != VQ_RATING_LIKERT && clustered) {
        vq_report_key_interval(j, "ci95_clustered", s->ci95_clustered);
    }
    counts(j, r, criterion, s);
    statuses(j, s->statuses);
}

static void models(struct vq_json *j, const struct vq_rubric_report *r, uint32_t criterion,
                   uint32_t o)
{
    vq_json_put_str(j, "model", r->config->models[o]);
    if (kind_of(r, criterion) == VQ_RATING_PAIRWISE) {
        vq_json_put_str(j, "against", r->config->models[1]);
    }
}

/* For a pairwise criterion, for one judge or over all judges. */
static void length_controlled(struct vq_json *j, const struct vq_rubric_report *r,
                              uint32_t criterion, uint32_t judge)
{
    const struct vq_length_controlled *all = r->numbers->criteria[criterion].length_controlled;
    if (all == NULL) {
        return;
    }
    const struct vq_length_controlled *lc = &all[judge];
    vq_json_put_object(j, "length_controlled");
    vq_json_put_str(j, "status", vq_length_controlled_name(lc->status));
    vq_json_put_u64(j, "rows", lc->rows);
    vq_report_key_estimate(j, "win_rate", lc->win_rate, "ci95", lc->ci95);
    vq_report_key_estimate(j, "length_coefficient", lc->coef, "length_coefficient_ci95",
                           lc->coef_ci95);
    vq_report_key_real(j, "length_sd_characters", lc->sd);
    vq_json_object_end(j);
}

static void output(struct vq_json *j, const struct vq_rubric_report *r, uint32_t criterion,
                   uint32_t o)
{
    const struct vq_rubric_numbers *n = r->numbers;
    vq_json_object(j);
    models(j, r, criterion, o);
    share(j, r, criterion, vq_rubric_share_of(n, criterion, o, n->judges), n->units_repeat);
    length_controlled(j, r, criterion, n->judges);
    vq_json_put_array(j, "judges");
    for (uint32_t k = 0; k < n->judges; k++) {
        vq_json_object(j);
        vq_json_put_str(j, "name", r->judges[k].name);
        share(j, r, criterion, vq_rubric_share_of(n, criterion, o, k), n->units_repeat);
        length_controlled(j, r, criterion, k);
        vq_json_object_end(j);
    }
    vq_json_array_end(j);
    vq_json_object_end(j);
}

static void difference(struct vq_json *j, const struct vq_rubric_report *r, uint32_t criterion,
                       const struct vq_rubric_difference *d)
{
    if (kind_of(r, criterion) == VQ_RATING_PAIRWISE || r->data->outputs_count < 2) {
        return;
    }
    vq_json_key(j, "difference"); /* first model minus second */
    vq_json_object(j);
    vq_json_put_u64(j, "rows", d->rows);
    vq_report_key_estimate(j, "mean", d->mean, "ci95", d->ci95);
    vq_json_object_end(j);
}

/* Writes the numbers for each value of data.group, over all judges. */
static void groups(struct vq_json *j, const struct vq_rubric_report *r, uint32_t criterion)
{
    const struct vq_rubric_criterion *n = &r->numbers->criteria[criterion];
    uint32_t outputs = vq_rubric_rated_outputs(vq_rubric_input(r->rubric), criterion);
    if (n->group_shares == NULL) {
        return;
    }
    vq_json_put_array(j, "groups");
    for (uint32_t g = 0; g < r->data->groups_count; g++) {
        vq_json_object(j);
        vq_json_put_span(j, "group", r->data->groups[g]);
        vq_json_put_array(j, "outputs");
        for (uint32_t o = 0; o < outputs; o++) {
            const struct vq_rubric_share *s = &n->group_shares[(size_t)g * outputs + o];
            vq_json_object(j);
            models(j, r, criterion, o);
            share(j, r, criterion, s, !isnan(s->ci95_clustered.lo));
            vq_json_object_end(j);
        }
        vq_json_array_end(j);
        difference(j, r, criterion, &n->group_differences[g]);
        vq_json_object_end(j);
    }
    vq_json_array_end(j);
}

static void pair(struct vq_json *j, const struct vq_rubric_report *r,
                 const struct vq_rubric_pair *p)
{
    const struct vq_ratings_agreement *a = &p->agreement;
    vq_json_object(j);
    vq_json_put_str(j, "judge", r->judges[p->a].name);
    vq_json_put_str(j, "with",
                    p->b == VQ_RUBRIC_HUMAN ? "human"
                    : p->b == p->a          ? "itself"
                                            : r->judges[p->b].name);
    vq_json_put_u64(j, "rows", a->rows);
    vq_report_key_real(j, "exact", a->exact);
    vq_report_key_real(j, "kappa", a->kappa.kappa);
    vq_report_key_real(j, "kappa_quadratic", a->kappa.kappa_quadratic);
    vq_report_key_real(j, "absolute_error", a->absolute_error);
    vq_report_key_real(j, "within_one", a->within_one);
    vq_report_key_real(j, "mean", a->mean_a);
    vq_report_key_real(j, "mean_with", a->mean_b);
    vq_json_object_end(j);
}

static void positions(struct vq_json *j, const struct vq_rubric_report *r,
                      const struct vq_rubric_criterion *c)
{
    if (c->positions == NULL) {
        return;
    }
    vq_json_put_array(j, "positions");
    for (uint32_t k = 0; k < r->numbers->judges; k++) {
        const struct vq_rubric_position *p = &c->positions[k];
        vq_json_object(j);
        vq_json_put_str(j, "judge", r->judges[k].name);
        vq_json_put_u64(j, "answers", p->answers);
        vq_json_put_u64(j, "first_chosen", p->first);
        vq_report_key_real(j, "first_rate",
                           p->answers > 0 ? (double)p->first / (double)p->answers : NAN);
        vq_json_put_u64(j, "in_both_orders", p->both);
        vq_json_put_u64(j, "same_position", p->contradicted);
        vq_json_object_end(j);
    }
    vq_json_array_end(j);
}

static void criterion(struct vq_json *j, const struct vq_rubric_report *r, uint32_t i)
{
    const struct vq_rubric_input *in = vq_rubric_input(r->rubric);
    const struct vq_criterion *c = &in->criteria[i];
    const struct vq_rubric_criterion *n = &r->numbers->criteria[i];
    struct vq_hash rubric;
    vq_hash_of("rubric", vq_span_str(c->rubric), &rubric);
    vq_json_object(j);
    vq_json_put_str(j, "name", c->name);
    vq_json_put_str(j, "kind", vq_criterion_kind_name(c->kind));
    vq_report_key_hash(j, "rubric_hash", &rubric);
    vq_json_put_array(j, "outputs");
    for (uint32_t o = 0; o < vq_rubric_rated_outputs(in, i); o++) {
        output(j, r, i, o);
    }
    vq_json_array_end(j);
    difference(j, r, i, &n->difference);
    groups(j, r, i);
    vq_json_put_array(j, "agreement");
    for (uint32_t k = 0; k < n->pairs_count; k++) {
        pair(j, r, &n->pairs[k]);
    }
    vq_json_array_end(j);
    positions(j, r, n);
    vq_json_object_end(j);
}

void vq_rubric_report_json(const struct vq_rubric_report *r, struct vq_buf *out)
{
    struct vq_json json;
    struct vq_json *j = &json;
    vq_json_init(j, out, 2);
    vq_json_object(j);
    vq_json_put_u64(j, "format", VQ_REPORT_FORMAT);
    vq_json_put_str(j, "kind", "judge");
    vq_report_put_models(j, r->config);
    judges(j, r);
    data(j, r);
    settings(j, r);
    vq_json_key(j, "no_intervals_because");
    if (r->numbers->too_few) {
        char why[80];
        (void)snprintf(why, sizeof(why), "%u different prompts; intervals need %u",
                       r->numbers->units, VQ_RUBRIC_UNITS_MIN);
        vq_json_str(j, why);
    } else {
        vq_json_null(j);
    }
    vq_json_put_array(j, "criteria");
    for (uint32_t i = 0; i < r->numbers->criteria_count; i++) {
        criterion(j, r, i);
    }
    vq_json_array_end(j);
    statuses(j, r->numbers->statuses);
    vq_json_put_u64(j, "answers_missing", r->numbers->missing);
    vq_json_object_end(j);
    vq_buf_putc(out, '\n');
}
