/* results.json, format 1. Invariant: it depends only on data, configuration, seed and answers, so
 * the bytes do not depend on the order of arrival, the number of workers or crashes in between.
 * Only `audit` contains the setting of lazy swap and the results of both orders. Not its job:
 * times, costs, calls (accounting.json). */
#include "common/base/alloc.h"
#include "methods/stats/intervals/power.h"
#include "methods/vibecheck/report/cascade.h"
#include "methods/vibecheck/report/json_method.h"
#include "methods/vibecheck/report/people.h"
#include "methods/vibecheck/report/ranking.h"
#include "methods/vibecheck/report/warnings.h"

#include <math.h>
#include <stdlib.h>

static void write_judges(struct vq_json *j, const struct vq_report_input *r)
{
    vq_report_put_judges(j, r->judges, r->config->judges_count, NULL, r->judge_kind,
                         "how the models differ");
    vq_json_put_str(
        j, "intervals_note",
        "95 % intervals cover the choice of prompts, not that of judges or of vibes; those of "
        "coefficients hold C fixed.");
}

/* Writes them only if the data has no labels. */
static void write_preference_judges(struct vq_json *j, const struct vq_report_input *r)
{
    if (r->method == NULL || strcmp(r->method->preference_source, "judge") != 0) {
        return;
    }
    const struct vq_config *c = r->config;
    bool own = c->preference_judges_count > 0;
    uint32_t n = own ? c->preference_judges_count : c->judges_count;
    vq_json_put_str(j, "preference_source", "judge");
    vq_json_put_array(j, "preference_judges");
    for (uint32_t i = 0; i < n; i++) {
        vq_json_str(j, own ? c->preference_judges[i].model : c->judges[i].model);
    }
    vq_json_array_end(j);
}

static void write_data(struct vq_json *j, const struct vq_report_input *r)
{
    const struct vq_dataset *d = r->dataset;
    vq_json_put_object(j, "data");
    vq_json_put_u64(j, "rows", (uint64_t)d->records_read[0] + d->records_read[1]);
    vq_json_put_u64(j, "used", vq_dataset_count(d));
    vq_json_put_u64(j, "train", d->train_count);
    vq_json_put_u64(j, "test", d->test_count);
    vq_json_put_object(j, "excluded");
    for (int why = 0; why < VQ_EXCLUSION__COUNT; why++) {
        vq_json_put_u64(j, vq_exclusion_word((enum vq_exclusion)why), d->excluded[why]);
    }
    vq_json_object_end(j);
    vq_json_put_u64(j, "questions", d->questions_count);
    vq_json_put_bool(j, "split_by_row", d->split_by_row);
    vq_json_put_bool(j, "in_sample", d->test_count == 0);
    vq_json_put_bool(j, "has_preference", d->has_preference);
    write_preference_judges(j, r);
    vq_json_put_object(j, "preferred");
    static const char *const words[4] = {"b", "tie", "a", "unlabelled"};
    for (int split = 0; split < 2; split++) {
        vq_json_put_object(j, split == VQ_SPLIT_TRAIN ? "train" : "test");
        for (int p = 0; p < 4; p++) {
            vq_json_put_u64(j, words[p], d->preferred[split][p]);
        }
        vq_json_object_end(j);
    }
    vq_json_object_end(j);
    vq_json_put_str(j, "sha256", r->data_hash[0]);
    vq_json_put_str(j, "test_sha256", r->data_hash[1][0] == '\0' ? NULL : r->data_hash[1]);
    if (r->human_hash != NULL) {
        vq_json_put_str(j, "human_sha256", r->human_hash);
    }
    vq_json_put_array(j, "warnings");
    for (uint32_t i = 0; i < d->warnings_count; i++) {
        vq_json_str(j, d->warnings[i]);
    }
    vq_json_array_end(j);
    vq_json_object_end(j);
}

static void write_judge_settings(struct vq_json *j, const struct vq_report_input *r)
{
    vq_json_put_array(j, "judges");
    for (uint32_t i = 0; i < r->config->judges_count; i++) {
        const struct vq_conf_judge *c = &r->config->judges[i];
        vq_json_object(j);
        vq_json_put_str(j, "name", c->name);
        vq_report_key_real(j, "temperature", c->send_temperature ? c->temperature : NAN);
        vq_json_put_u64(j, "max_tokens", c->max_tokens);
        vq_json_put_known(j, "seed", c->seed >= 0, c->seed);
        vq_json_object_end(j);
    }
    vq_json_array_end(j);
}

static void write_settings(struct vq_json *j, const struct vq_report_input *r)
{
    static const char *const rules[] = {"strict", "lenient", "forward"};
    static const char *const gates[] = {"point", "interval"};
    static const char *const preference[] = {"separability", "or", "and"};
    static const char *const overlap[] = {"cosine", "pearson", "off"};
    static const char *const cv[] = {"log_loss", "paper", "sklearn_folds"};
    static const char *const estimators[] = {"l2", "elasticnet", "lasso", "legacy_bootstrap"};
    static const char *const p_values[] = {"bootstrap", "wald_approximate"};
    static const char *const methods[] = {[VQ_METHOD_PRESET] = "preset",
                                          [VQ_METHOD_VIBES] = "vibes",
                                          [VQ_METHOD_DISCOVER] = "discover"};
    const struct vq_config *c = r->config;
    vq_json_put_object(j, "settings");
    vq_json_put_str(j, "method", methods[c->method]);
    vq_json_put_u64(j, "seed", c->seed);
    vq_json_put_str(j, "pair_rule", rules[c->judging.pair_rule]);
    vq_json_put_str(j, "form", c->judging.form == VQ_FORM_CLEAR ? "clear" : "choose");
    vq_json_put_bool(j, "repair", c->judging.repair);
    if (c->judging.structured) {
        vq_json_put_bool(j, "structured", true);
    }
    if (c->judging.logprobs) {
        vq_json_put_bool(j, "logprobs", true);
    }
    if (c->judging.vibes_per_call > 1) {
        vq_json_put_u64(j, "vibes_per_call", c->judging.vibes_per_call);
    }
    if (c->judging.invalid == VQ_INVALID_DROP_ROW) {
        vq_json_put_str(j, "invalid", "drop_row");
    }
    vq_json_put_bool(j, "truncate", c->judging.truncate);
    vq_json_put_str(j, "separability_gate", gates[c->gates.separability]);
    vq_report_key_real(j, "separability_min", c->gates.separability_min);
    vq_json_put_str(j, "preference_gate", preference[c->gates.preference]);
    vq_json_put_bool(j, "kappa_gate", c->gates.kappa && c->judges_count > 1 && c->cascade == NULL);
    vq_report_key_real(j, "kappa_min", c->gates.kappa_min);
    vq_json_put_str(j, "overlap", overlap[c->gates.overlap]);
    vq_report_key_real(j, "overlap_max", c->gates.overlap_max);
    vq_json_put_str(j, "cv", cv[c->regression.cv]);
    vq_json_put_str(j, "estimator", estimators[c->regression.estimator]);
    bool legacy = c->regression.estimator == VQ_ESTIMATOR_LEGACY_BOOTSTRAP;
    vq_json_put_bool(j, "standardise", c->regression.standardise || legacy);
    vq_json_put_str(j, "p_values",
                    legacy ? "legacy_share_of_zeros" : p_values[c->regression.p_values]);
    vq_json_put_u64(j, "bootstrap_draws", c->regression.bootstrap_draws);
    vq_json_put_u64(j, "num_final_vibes", c->vibecheck.num_final_vibes);
    vq_report_key_real(j, "test_share", c->data.test_share);
    vq_json_put_u64(j, "near_duplicate", c->data.near_duplicate);
    vq_json_put_str(j, "ties", c->data.ties == VQ_TIES_KEEP ? "keep" : "drop_all");
    vq_report_key_hash(j, "judge_template", r->judge_template);
    vq_report_key_hash(j, "repair_template", r->repair_template);
    write_judge_settings(j, r);
    vq_json_object_end(j);
}

static void write_labels(struct vq_json *j, const struct vq_report_input *r,
                         const struct vq_vibe_metrics *m)
{
    vq_json_put_object(j, "label_counts");
    for (uint32_t i = 0; i < r->config->judges_count; i++) {
        const struct vq_label_counts *c = &m->judges[i].labels;
        vq_json_put_object(j, r->judges[i].name);
        vq_json_put_u64(j, "a", c->a);
        vq_json_put_u64(j, "b", c->b);
        vq_json_put_u64(j, "equal", c->equal);
        vq_json_put_u64(j, "na", c->na);
        vq_json_put_u64(j, "unsure", c->unsure);
        vq_json_put_u64(j, "refused", c->refused);
        vq_json_put_u64(j, "truncated", c->truncated);
        vq_json_put_u64(j, "unparseable", c->unparseable);
        vq_json_put_u64(j, "failed", c->failed);
        vq_json_object_end(j);
    }
    vq_json_object_end(j);
    vq_json_put_object(j, "position_bias_rate");
    for (uint32_t i = 0; i < r->config->judges_count; i++) {
        vq_report_key_real(j, r->judges[i].name, m->judges[i].position_bias_rate);
    }
    vq_json_object_end(j);
    vq_json_put_object(j, "missing");
    for (uint32_t i = 0; i < r->config->judges_count; i++) {
        vq_json_put_u64(j, r->judges[i].name, m->judges[i].missing);
    }
    vq_json_object_end(j);
}

static void write_agreement(struct vq_json *j, const char *key, double train, double test)
{
    vq_json_put_object(j, key);
    vq_report_key_real(j, "train", train);
    vq_report_key_real(j, "test", test);
    vq_json_object_end(j);
}

static void write_estimate(struct vq_json *j, const char *key, double value, struct vq_interval ci,
                           double p)
{
    vq_report_key_estimate(j, key, value, "ci95", ci);
    vq_report_key_real(j, "p", p);
}

static void write_coefficient(struct vq_json *j, const char *key, const struct vq_vibe_coef *c)
{
    if (isnan(c->coef)) {
        vq_json_put_null(j, key);
        return;
    }
    vq_json_put_object(j, key);
    write_estimate(j, "value", c->coef, c->ci95, c->p);
    if (!isnan(c->firth.value)) {
        vq_json_put_object(j, "firth");
        write_estimate(j, "value", c->firth.value, c->firth.ci95, c->firth.p);
        vq_json_object_end(j);
    }
    if (!isnan(c->length.value)) {
        vq_json_put_object(j, "length_held");
        write_estimate(j, "value", c->length.value, c->length.ci95, c->length.p);
        vq_json_put_bool(j, "explained_by_length", c->length.explained);
        vq_json_object_end(j);
    }
    vq_report_key_real(j, "unregularised", c->mle);
    vq_report_key_real(j, "unregularised_se", c->mle_se);
    vq_json_object_end(j);
}

static void write_separability(struct vq_json *j, const struct vq_vibe_metrics *m)
{
    vq_json_put_object(j, "separability");
    vq_report_key_real(j, "train", m->train.sep);
    vq_report_key_estimate(j, "test", m->test.sep, "ci95", m->test.sep_ci95);
    vq_report_key_interval(j, "ci95_train", m->train.sep_ci95);
    vq_report_key_real(j, "p", m->train.p);
    vq_report_key_real(j, "q", m->train.q);
    vq_report_key_real(j, "p_test", m->test.p);
    vq_report_key_real(j, "q_test", m->test.q);
    if (!isnan(m->train.sep_at_random) || !isnan(m->test.sep_at_random)) {
        vq_report_key_real(j, "train_at_random", m->train.sep_at_random);
        vq_report_key_real(j, "test_at_random", m->test.sep_at_random);
    }
    vq_report_key_interval(j, "bounds", m->bounds);
    vq_json_object_end(j);
}

static void write_vibe(struct vq_json *j, const struct vq_report_input *r, uint32_t v)
{
    const struct vq_vibe_metrics *m = &r->result->vibe[v];
    const struct vq_agreement_pair *train = &m->train.agreement, *test = &m->test.agreement;
    vq_json_object(j);
    vq_json_put_u64(j, "id", v + 1);
    vq_json_put_str(j, "name", r->in->axes[v].name);
    vq_json_put_str(j, "low", r->in->axes[v].low);
    vq_json_put_str(j, "high", r->in->axes[v].high);
    vq_json_put_bool(j, "kept", m->kept);
    vq_json_put_str(j, "reason", m->kept ? NULL : vq_drop_reason_name(m->reason));
    if (m->reason == VQ_DROP_OVERLAP) {
        vq_json_put_u64(j, "overlap_with", m->overlap_with + 1);
        vq_report_key_real(j, "overlap", m->overlap);
    }
    if (m->overlap_unjudged) {
        vq_json_put_bool(j, "overlap_not_judged", true);
    }
    if (m->na_everywhere) {
        vq_json_put_bool(j, "not_applicable_everywhere", true);
    }
    vq_json_put_bool(j, "distinguishable", m->distinguishable);
    write_separability(j, m);
    write_agreement(j, "kappa", train->kappa, test->kappa);
    write_agreement(j, "kappa_mirrored", train->kappa_mirrored, test->kappa_mirrored);
    write_agreement(j, "alpha", train->alpha, test->alpha);
    write_labels(j, r, m);
    vq_report_people_json(j, &m->people);
    vq_report_cascade_vibe_json(j, r, m);
    vq_json_put_u64(j, "rows_missing", m->train.missing + m->test.missing);
    vq_json_put_bool(j, "gate_could_flip", m->gate_could_flip);
    vq_json_put_object(j, "pref_separability");
    vq_report_key_real(j, "train", m->train.pref);
    vq_report_key_estimate(j, "test", m->test.pref, "ci95", m->test.pref_ci95);
    vq_report_key_interval(j, "ci95_train", m->train.pref_ci95);
    vq_json_object_end(j);
    write_coefficient(j, "mm_coefficient", &m->mm);
    write_coefficient(j, "pp_coefficient", &m->pp);
    vq_json_object_end(j);
}

static void write_rivals(struct vq_json *j, const struct vq_pp_rivals *rivals)
{
    vq_json_put_bool(j, "same_as_mm", rivals->one_class);
    vq_json_put_object(j, "against_chance");
    vq_report_key_real(j, "p", rivals->chance_p);
    vq_json_object_end(j);
    vq_json_put_object(j, "against_identity");
    vq_report_key_real(j, "accuracy_identity_and_vibes", rivals->identity_accuracy);
    vq_report_key_real(j, "accuracy_identity", rivals->identity_baseline);
    write_estimate(j, "difference", rivals->difference, rivals->difference_ci95,
                   rivals->difference_p);
    vq_json_object_end(j);
}

static void write_length(struct vq_json *j, const struct vq_fit_length *l)
{
    if (l->status == VQ_LENGTH_NONE) {
        return;
    }
    vq_json_put_object(j, "with_length");
    vq_json_put_str(j, "estimate", l->status == VQ_LENGTH_FIRTH ? "firth" : "as_without");
    write_estimate(j, "coefficient", l->coef, l->ci95, l->p);
    vq_report_key_real(j, "log_ratio_rms", l->rms);
    vq_report_key_real(j, "C", l->c);
    vq_report_key_real(j, "accuracy_train", l->accuracy_train);
    vq_report_key_real(j, "accuracy_test", l->accuracy_test);
    vq_json_object_end(j);
}

static void write_fit(struct vq_json *j, const char *key, const char *c_key,
                      const struct vq_fit_metrics *m, bool pp, bool logit)
{
    vq_json_put_object(j, key);
    vq_json_put_str(j, "status", vq_fit_status_name(m->status));
    vq_json_put_u64(j, "rows_train", m->rows_train);
    vq_json_put_u64(j, "rows_test", m->rows_test);
    vq_report_key_real(j, "accuracy_train", m->accuracy_train);
    vq_report_key_estimate(j, "accuracy_test", m->accuracy_test, "accuracy_test_ci95",
                           m->accuracy_test_ci95);
    vq_report_key_real(j, "accuracy_train_complete", m->accuracy_train_complete);
    vq_report_key_real(j, "accuracy_test_complete", m->accuracy_test_complete);
    vq_json_put_u64(j, "cells_imputed", m->cells_imputed_train + m->cells_imputed_test);
    if (pp) {
        vq_report_key_real(j, "majority_baseline", m->majority_baseline);
        write_rivals(j, &m->rivals);
    }
    write_length(j, &m->length);
    vq_report_key_real(j, c_key, m->c);
    if (!isnan(m->legacy_accuracy)) {
        vq_report_key_real(j, "legacy_accuracy_in_sample", m->legacy_accuracy);
        vq_report_key_real(j, "legacy_accuracy_sd", m->legacy_accuracy_sd);
        vq_report_key_interval(j, "legacy_accuracy_ci95", m->legacy_accuracy_ci95);
    }
    if (m->status == VQ_FIT_OK && logit) {
        vq_json_put_str(j, "unregularised_status", vq_logit_status_name(m->mle_status));
        vq_json_put_str(j, "separation", vq_logit_separation_name(m->mle_separation));
        vq_json_put_str(j, "degenerate", vq_fit_degenerate_name(m->degenerate));
        vq_json_put_u64(j, "prompts_train", m->prompts_train);
    }
    vq_json_object_end(j);
}

static void write_audit(struct vq_json *j, const struct vq_report_input *r)
{
    const struct vq_audit *a = &r->result->audit;
    vq_json_put_object(j, "audit");
    vq_json_put_bool(j, "lazy_swap", r->config->judging.lazy_swap);
    vq_report_key_real(j, "audit_share", r->config->judging.audit_share);
    vq_json_put_array(j, "judges");
    for (uint32_t i = 0; i < r->config->judges_count; i++) {
        vq_json_object(j);
        vq_json_put_str(j, "name", r->judges[i].name);
        vq_json_put_u64(j, "cells_both", a->judges[i].cells_both);
        vq_json_put_u64(j, "cells_audited", a->judges[i].cells_audited);
        vq_report_key_real(j, "order_effect", a->judges[i].order_effect);
        vq_report_key_real(j, "lenient_changed", a->judges[i].lenient_changed);
        vq_json_object_end(j);
    }
    vq_json_array_end(j);
    vq_json_put_array(j, "kappa_by_order");
    for (int order = 0; order < 2; order++) {
        vq_json_object(j);
        vq_report_key_real(j, "kappa", a->kappa_order[order]);
        vq_json_put_u64(j, "n", a->kappa_order_n[order]);
        vq_json_object_end(j);
    }
    vq_json_array_end(j);
    vq_json_object_end(j);
}

static void write_vibes(struct vq_json *j, const struct vq_report_input *r)
{
    uint32_t *order = vq_alloc(r->result->vibes, sizeof(*order));
    if (order == NULL) {
        j->out->status = VQ_NOMEM;
        return;
    }
    vq_report_order(r->result, order);
    vq_json_put_array(j, "vibes");
    for (uint32_t i = 0; i < r->result->vibes; i++) {
        write_vibe(j, r, order[i]);
    }
    vq_json_array_end(j);
    vq_free(order);
}

/* How often each judge contradicts itself. It is written only if the configuration asks for it, and
 * has no influence on any score. */
static void write_retest(struct vq_json *j, const struct vq_report_input *r)
{
    const struct vq_retest *retest = r->method == NULL ? NULL : r->method->retest;
    if (retest == NULL) {
        return;
    }
    vq_json_put_object(j, "retest");
    vq_report_key_real(j, "share", r->config->judging.retest);
    vq_json_put_array(j, "judges");
    for (uint32_t i = 0; i < r->config->judges_count; i++) {
        const struct vq_retest *t = &retest[i];
        vq_json_object(j);
        vq_json_put_str(j, "name", r->judges[i].name);
        vq_json_put_u64(j, "cells", t->cells);
        vq_json_put_u64(j, "flips", t->flips);
        vq_report_key_real(j, "flip_rate",
                           t->cells > 0 ? (double)t->flips / (double)t->cells : NAN);
        vq_json_put_u64(j, "missing", t->missing);
        vq_json_object_end(j);
    }
    vq_json_array_end(j);
    vq_json_object_end(j);
}

/* The smallest separability of the kept vibes that the used rows can distinguish from 0. */
static void write_power(struct vq_json *j, const struct vq_report_input *r)
{
    const struct vq_vibecheck *result = r->result;
    uint32_t *groups = vq_alloc(result->samples, sizeof(*groups));
    size_t n = 0;
    for (uint32_t i = 0; groups != NULL && i < result->samples; i++) {
        if (vq_vibecheck_uses(r->in, result, i, !result->in_sample)) {
            groups[n++] = r->in->rows[i].group;
        }
    }
    size_t units = groups == NULL ? SIZE_MAX : vq_power_units(groups, n);
    vq_free(groups);
    if (units == SIZE_MAX) {
        j->out->status = VQ_NOMEM;
        return;
    }
    struct vq_power power = vq_power_plan(units, result->kept_count);
    vq_json_put_object(j, "power");
    vq_json_put_u64(j, "prompts", power.units);
    vq_json_put_u64(j, "vibes", power.tests);
    vq_report_key_real(j, "smallest_separability", power.smallest);
    vq_json_object_end(j);
}

static void write_warnings(struct vq_json *j, const struct vq_report_input *r)
{
    struct vq_warnings *list = NULL;
    if (vq_warnings_create(r, &list) != VQ_OK) {
        j->out->status = VQ_NOMEM;
        return;
    }
    vq_json_put_array(j, "warnings");
    for (uint32_t i = 0; i < list->count; i++) {
        const struct vq_warning *w = &list->at[i];
        vq_json_object(j);
        vq_json_put_str(j, "code", w->code);
        vq_json_put_str(j, "text", w->text);
        if (w->vibes_count > 0) {
            vq_json_put_array(j, "vibes");
            for (uint32_t k = 0; k < w->vibes_count; k++) {
                vq_json_i64(j, (int64_t)w->vibes[k] + 1);
            }
            vq_json_array_end(j);
        }
        vq_json_object_end(j);
    }
    vq_json_array_end(j);
    vq_warnings_destroy(&list);
}

void vq_report_json(const struct vq_report_input *r, struct vq_buf *out)
{
    struct vq_json json;
    struct vq_json *j = &json;
    vq_json_init(j, out, 2);
    vq_json_object(j);
    vq_json_put_u64(j, "format", VQ_REPORT_FORMAT);
    vq_report_put_models(j, r->config);
    vq_ranking_json_pairs(j, r);
    write_judges(j, r);
    write_data(j, r);
    write_settings(j, r);
    write_vibes(j, r);
    write_fit(j, "mm", "C_mm", &r->result->mm, false, r->result->ranking == NULL);
    write_fit(j, "pp", "C_pp", &r->result->pp, true, true);
    vq_json_put_u64(j, "cells_missing", r->result->cells_missing);
    if (r->result->dropped != NULL) {
        vq_json_put_object(j, "rows_dropped");
        vq_json_put_u64(j, "train", r->result->rows_dropped_train);
        vq_json_put_u64(j, "test", r->result->rows_dropped_test);
        vq_json_object_end(j);
    }
    vq_ranking_json(j, r);
    if (r->result->ranking == NULL) {
        write_power(j, r);
    }
    write_warnings(j, r);
    write_audit(j, r);
    write_retest(j, r);
    vq_report_cascade_json(j, r);
    vq_report_json_method(j, r);
    vq_json_object_end(j);
    vq_buf_putc(out, '\n');
}
