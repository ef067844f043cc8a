/* The result files for programs: vibes.csv, scores.csv, rows.csv. Invariant: a missing value is an
 * empty cell, never 0. Record numbers are those of the data file; rows of a test file are marked in
 * a column. */
#include "common/text/csv.h"

#include "common/base/alloc.h"
#include "methods/vibecheck/report/report.h"

#include <math.h>
#include <stdio.h>

static void real(struct vq_csv *csv, double value)
{
    vq_csv_real(csv, value, VQ_REPORT_DIGITS);
}

static void interval(struct vq_csv *csv, struct vq_interval ci)
{
    real(csv, ci.lo);
    real(csv, ci.hi);
}

static void header(struct vq_csv *csv, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        vq_csv_str(csv, names[i]);
    }
}

static void vibe_row(struct vq_csv *csv, const struct vq_report_input *r, uint32_t v)
{
    const struct vq_vibe_metrics *m = &r->result->vibe[v];
    uint64_t missing = 0;
    for (uint32_t j = 0; j < r->config->judges_count; j++) {
        missing += m->judges[j].missing;
    }
    vq_csv_i64(csv, v + 1);
    vq_csv_str(csv, r->in->axes[v].name);
    vq_csv_str(csv, r->in->axes[v].low);
    vq_csv_str(csv, r->in->axes[v].high);
    vq_csv_i64(csv, m->kept);
    vq_csv_str(csv, m->kept ? "" : vq_drop_reason_name(m->reason));
    real(csv, m->train.sep);
    real(csv, m->test.sep);
    interval(csv, m->test.sep_ci95);
    real(csv, m->train.p);
    real(csv, m->train.q);
    real(csv, m->test.p);
    real(csv, m->test.q);
    interval(csv, m->bounds);
    real(csv, m->train.agreement.kappa);
    real(csv, m->test.agreement.kappa);
    real(csv, m->train.pref);
    real(csv, m->test.pref);
    real(csv, m->mm.coef);
    interval(csv, m->mm.ci95);
    real(csv, m->pp.coef);
    interval(csv, m->pp.ci95);
    real(csv, m->mm.firth.value);
    interval(csv, m->mm.firth.ci95);
    real(csv, m->pp.firth.value);
    interval(csv, m->pp.firth.ci95);
    vq_csv_i64(csv, (int64_t)missing);
    vq_csv_i64(csv, m->gate_could_flip);
    vq_csv_end_row(csv);
}

void vq_report_vibes_csv(const struct vq_report_input *r, struct vq_buf *out)
{
    static const char *const names[] = {"vibe_id",
                                        "name",
                                        "low",
                                        "high",
                                        "kept",
                                        "reason",
                                        "sep_train",
                                        "sep_test",
                                        "sep_test_lo",
                                        "sep_test_hi",
                                        "p",
                                        "q",
                                        "p_test",
                                        "q_test",
                                        "bound_lo",
                                        "bound_hi",
                                        "kappa_train",
                                        "kappa_test",
                                        "pref_sep_train",
                                        "pref_sep_test",
                                        "mm_coefficient",
                                        "mm_lo",
                                        "mm_hi",
                                        "pp_coefficient",
                                        "pp_lo",
                                        "pp_hi",
                                        "mm_firth",
                                        "mm_firth_lo",
                                        "mm_firth_hi",
                                        "pp_firth",
                                        "pp_firth_lo",
                                        "pp_firth_hi",
                                        "cells_missing",
                                        "gate_could_flip"};
    struct vq_csv csv;
    vq_csv_init_safe(&csv, out);
    header(&csv, names, VQ_COUNT(names));
    vq_csv_end_row(&csv);
    uint32_t *order = vq_alloc(r->result->vibes, sizeof(*order));
    if (order == NULL) {
        out->status = VQ_NOMEM;
        return;
    }
    vq_report_order(r->result, order);
    for (uint32_t i = 0; i < r->result->vibes; i++) {
        vibe_row(&csv, r, order[i]);
    }
    vq_free(order);
}

static const char *split_name(const struct vq_data_row *row)
{
    return row->split == VQ_SPLIT_TEST ? "test" : "train";
}

static const char *const pair_names[] = {"model_a", "model_b"};

/* With more than two models, writes the two models that the row compares. */
static void pair(struct vq_csv *csv, const struct vq_report_input *r, const struct vq_data_row *row)
{
    for (int side = 0; vq_dataset_ranks(r->dataset) && side < 2; side++) {
        vq_csv_str(csv, r->config->models[row->model[side]]);
    }
}

static void pair_header(struct vq_csv *csv, const struct vq_report_input *r)
{
    if (vq_dataset_ranks(r->dataset)) {
        header(csv, pair_names, VQ_COUNT(pair_names));
    }
}

static void score_row(struct vq_csv *csv, const struct vq_report_input *r, uint32_t sample,
                      uint32_t vibe, uint32_t judge)
{
    const struct vq_data_row *row = &r->dataset->samples[sample];
    const uint8_t *both =
        r->in->outcomes + vq_grid_task(&r->in->grid, (struct vq_cell){sample, judge, vibe, 0});
    enum vq_outcome o0 = (enum vq_outcome)both[0];
    enum vq_outcome o1 = (enum vq_outcome)both[1];
    struct vq_cell_score score = vq_score_cell(r->config->judging.pair_rule, o0, o1);
    vq_csv_i64(csv, row->record);
    vq_csv_i64(csv, row->file);
    vq_csv_str(csv, split_name(row));
    pair(csv, r, row);
    vq_csv_i64(csv, vibe + 1);
    vq_csv_str(csv, r->judges[judge].name);
    vq_csv_str(csv, vq_outcome_name(o0));
    vq_csv_str(csv, vq_outcome_name(o1));
    if (score.score == VQ_SCORE_MISSING) {
        vq_csv_empty(csv);
    } else {
        vq_csv_i64(csv, score.score);
    }
    vq_csv_str(csv, vq_score_reason_name(score.reason));
    vq_csv_end_row(csv);
}

void vq_report_scores_csv(const struct vq_report_input *r, uint32_t from, uint32_t until,
                          struct vq_buf *out)
{
    static const char *const before[] = {"record", "file", "split"};
    static const char *const after[] = {"vibe_id",         "judge", "verdict_a_first",
                                        "verdict_b_first", "score", "status"};
    struct vq_csv csv;
    vq_csv_init_safe(&csv, out);
    if (from == 0) {
        header(&csv, before, VQ_COUNT(before));
        pair_header(&csv, r);
        header(&csv, after, VQ_COUNT(after));
        vq_csv_end_row(&csv);
    }
    for (uint32_t i = from; i < until; i++) {
        for (uint32_t v = 0; v < r->in->grid.vibes; v++) {
            for (uint32_t j = 0; j < r->in->grid.judges; j++) {
                score_row(&csv, r, i, v, j);
            }
        }
    }
}

static bool carried(const struct vq_dataset *d, uint32_t column)
{
    const struct vq_dataset_columns *c = &d->columns[0];
    bool model = false;
    uint32_t models = vq_dataset_ranks(d) ? d->models_count : 2;
    for (uint32_t m = 0; m < models; m++) {
        model = model || column == c->model[m];
    }
    return column != c->prompt && !model && column != c->preference;
}

/* The label that judges made; none if no judge has a score for the row. */
static int8_t judged_preference(const struct vq_report_input *r, uint32_t sample)
{
    const struct vq_config *c = r->config;
    uint32_t n = c->preference_judges_count > 0 ? c->preference_judges_count : c->judges_count;
    const uint8_t *both = r->method->preference_outcomes + (size_t)sample * n * 2;
    for (uint32_t j = 0; j < n; j++, both += 2) {
        if (vq_score_cell(VQ_PAIR_STRICT, (enum vq_outcome)both[0], (enum vq_outcome)both[1])
                .score != VQ_SCORE_MISSING) {
            return r->method->rows[sample].preference;
        }
    }
    return VQ_PREFER_NONE;
}

static const char *preference_word(const struct vq_report_input *r, uint32_t sample)
{
    bool judged = r->method != NULL && r->method->preference_outcomes != NULL;
    switch (judged ? judged_preference(r, sample) : r->dataset->samples[sample].preference) {
    case VQ_PREFER_A: return r->config->models[r->dataset->samples[sample].model[0]];
    case VQ_PREFER_B: return r->config->models[r->dataset->samples[sample].model[1]];
    case VQ_PREFER_TIE: return "tie";
    default: return "";
    }
}

static void data_row(struct vq_csv *csv, const struct vq_report_input *r, uint32_t sample)
{
    const struct vq_data_row *row = &r->dataset->samples[sample];
    const struct vq_table *first = r->dataset->tables[0];
    const struct vq_table *own = r->dataset->tables[row->file];
    vq_csv_i64(csv, row->record);
    vq_csv_i64(csv, row->file);
    vq_csv_str(csv, split_name(row));
    pair(csv, r, row);
    vq_csv_str(csv, preference_word(r, sample));
    for (uint32_t v = 0; v < r->result->vibes; v++) {
        real(csv, r->result->scores->x[(size_t)sample * r->result->vibes + v]);
    }
    double mm = r->result->mm_margin[sample];
    real(csv, mm);
    real(csv, isnan(mm) ? NAN : fabs(mm) < VQ_LOGIT_TIE ? 0.5 : mm > 0 ? 1.0 : 0.0);
    real(csv, r->result->pp_margin[sample]);
    for (uint32_t c = 0; c < first->columns_count; c++) {
        if (!carried(r->dataset, c)) {
            continue;
        }
        uint32_t at = row->file == 0 ? c : vq_table_column(own, first->columns[c]);
        vq_csv_span(csv,
                    at == UINT32_MAX ? vq_span("", 0) : vq_table_cell(own, vq_sample_row(row), at));
    }
    vq_csv_end_row(csv);
}

static void rows_header(struct vq_csv *csv, const struct vq_report_input *r)
{
    static const char *const before[] = {"record", "file", "split"};
    static const char *const after[] = {"mm_margin", "mm_correct", "pp_margin"};
    header(csv, before, VQ_COUNT(before));
    pair_header(csv, r);
    vq_csv_str(csv, "preference");
    for (uint32_t v = 0; v < r->result->vibes; v++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "x_%u", v + 1);
        vq_csv_str(csv, name);
    }
    header(csv, after, VQ_COUNT(after));
    const struct vq_table *first = r->dataset->tables[0];
    for (uint32_t c = 0; c < first->columns_count; c++) {
        if (carried(r->dataset, c)) {
            vq_csv_span(csv, first->columns[c]);
        }
    }
    vq_csv_end_row(csv);
}

void vq_report_rows_csv(const struct vq_report_input *r, uint32_t from, uint32_t until,
                        struct vq_buf *out)
{
    struct vq_csv csv;
    vq_csv_init_safe(&csv, out);
    if (from == 0) {
        rows_header(&csv, r);
    }
    for (uint32_t i = from; i < until; i++) {
        data_row(&csv, r, i);
    }
}
