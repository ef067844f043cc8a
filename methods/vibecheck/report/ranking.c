/* Rankings as JSON and on the terminal. The matrix in results.json is long: one entry per vibe and
 * model, which any tool can sort by any key. On the terminal a vibe has two lines: the distance of
 * its models, and the models from high to low. Between neighbours, ">" means that they differ
 * significantly, "~" that they do not. */
#include "methods/vibecheck/report/ranking.h"

#include "methods/report/keys.h"

#include <math.h>
#include <stdio.h>

#define WIDTH 78u

void vq_ranking_order(const struct vq_ranking *ranking, uint32_t vibe, uint32_t *ret_order)
{
    for (uint32_t k = 0; k < ranking->models; k++) {
        ret_order[ranking->vibe[vibe].model[k].place.rank - 1] = k;
    }
}

bool vq_ranking_apart(const struct vq_ranking *ranking, uint32_t vibe, uint32_t better,
                      uint32_t worse)
{
    const struct vq_ranking_model *m = ranking->vibe[vibe].model;
    return ranking->vibe[vibe].status == VQ_DAVIDSON_OK &&
           m[better].place.rank_to < m[worse].place.rank_from;
}

void vq_ranking_design(const struct vq_config *config, struct vq_buf *out)
{
    enum vq_pairs_design design = config->pairs == NULL ? VQ_PAIRS_ALL : config->pairs->design;
    switch (design) {
    case VQ_PAIRS_ALL: vq_buf_puts(out, "all pairs"); break;
    case VQ_PAIRS_BASELINE:
        vq_buf_printf(out, "each model against %s", config->pairs->baseline);
        break;
    case VQ_PAIRS_INCOMPLETE: vq_buf_puts(out, "a balanced incomplete design"); break;
    }
}

/* ---- results.json ---- */

void vq_ranking_json_pairs(struct vq_json *j, const struct vq_report_input *r)
{
    static const char *const designs[] = {"all", "baseline", "incomplete"};
    const struct vq_conf_pairs *conf = r->config->pairs;
    const struct vq_pairs *pairs = r->dataset->pairs;
    if (pairs == NULL) {
        return;
    }
    vq_json_put_object(j, "pairs");
    vq_json_put_str(j, "design", designs[conf == NULL ? VQ_PAIRS_ALL : conf->design]);
    if (conf != NULL && conf->baseline != NULL) {
        vq_json_put_str(j, "baseline", conf->baseline);
    }
    if (conf != NULL && conf->design == VQ_PAIRS_INCOMPLETE) {
        vq_json_put_u64(j, "per_prompt", conf->per_prompt);
        vq_json_put_u64(j, "calls", conf->calls);
    }
    vq_json_put_array(j, "compared");
    for (uint32_t p = 0; p < pairs->count; p++) {
        uint64_t rows = 0;
        for (uint32_t i = 0; i < vq_dataset_count(r->dataset); i++) {
            const uint8_t *model = r->dataset->samples[i].model;
            rows += model[0] == pairs->pair[p].a && model[1] == pairs->pair[p].b;
        }
        vq_json_object(j);
        vq_json_put_str(j, "a", r->config->models[pairs->pair[p].a]);
        vq_json_put_str(j, "b", r->config->models[pairs->pair[p].b]);
        vq_json_put_u64(j, "rows", rows);
        vq_json_object_end(j);
    }
    vq_json_array_end(j);
    vq_json_object_end(j);
}

static void write_cell(struct vq_json *j, const struct vq_report_input *r, uint32_t v, uint32_t k)
{
    const struct vq_ranking_model *m = &r->result->ranking->vibe[v].model[k];
    vq_json_object(j);
    vq_json_put_u64(j, "vibe", v + 1);
    vq_json_put_str(j, "model", r->config->models[k]);
    vq_json_put_u64(j, "rank", m->place.rank);
    vq_json_put_u64(j, "rank_from", m->place.rank_from);
    vq_json_put_u64(j, "rank_to", m->place.rank_to);
    vq_report_key_estimate(j, "strength", m->strength, "strength_ci95", m->place.ci95);
    vq_report_key_real(j, "score", m->score);
    vq_json_put_u64(j, "comparisons", m->comparisons);
    vq_report_key_estimate(j, "mm_coefficient", m->mm_coef, "mm_coefficient_ci95", m->mm_ci95);
    vq_json_object_end(j);
}

static void write_vibe(struct vq_json *j, const struct vq_ranking_vibe *vibe, uint32_t v)
{
    vq_json_object(j);
    vq_json_put_u64(j, "vibe", v + 1);
    vq_json_put_str(j, "status", vq_davidson_status_name(vibe->status));
    vq_json_put_u64(j, "prompts", vibe->prompts);
    vq_report_key_real(j, "tie_share", vibe->tie_share);
    vq_report_key_real(j, "log_tie", vibe->log_tie);
    vq_json_object_end(j);
}

void vq_ranking_json(struct vq_json *j, const struct vq_report_input *r)
{
    const struct vq_ranking *ranking = r->result->ranking;
    if (ranking == NULL) {
        return;
    }
    vq_json_put_object(j, "ranking");
    vq_json_put_str(j, "split", r->result->in_sample ? "train" : "test");
    vq_json_put_str(j, "model_of_ties", "davidson");
    vq_json_put_array(j, "vibes");
    for (uint32_t v = 0; v < r->result->vibes; v++) {
        write_vibe(j, &ranking->vibe[v], v);
    }
    vq_json_array_end(j);
    vq_json_put_array(j, "matrix");
    for (uint32_t v = 0; v < r->result->vibes; v++) {
        for (uint32_t k = 0; k < ranking->models; k++) {
            write_cell(j, r, v, k);
        }
    }
    vq_json_array_end(j);
    vq_json_put_object(j, "multinomial");
    vq_json_put_u64(j, "outputs_train", ranking->mm_outputs_train);
    vq_json_put_u64(j, "outputs_test", ranking->mm_outputs_test);
    vq_report_key_real(j, "chance", ranking->mm_chance);
    if (r->result->mm.status == VQ_FIT_OK) {
        vq_json_put_str(j, "degenerate", vq_fit_degenerate_name(r->result->mm.degenerate));
        vq_json_put_u64(j, "prompts_train", r->result->mm.prompts_train);
    }
    vq_json_object_end(j);
    vq_json_object_end(j);
}

/* ---- the terminal ---- */

void vq_ranking_table_head(const struct vq_report_input *r, struct vq_buf *out)
{
    const struct vq_dataset *d = r->dataset;
    vq_buf_printf(out, "\n%u models, ", r->config->models_count);
    vq_ranking_design(r->config, out);
    vq_buf_printf(out, ": %u train and %u test comparison%s of %u prompt%s\n", d->train_count,
                  d->test_count, vq_fmt_plural(d->test_count), d->questions_count,
                  vq_fmt_plural(d->questions_count));
    vq_buf_printf(out,
                  "Models from high to low, with their log strength. > apart beyond chance, ~ "
                  "not.%s\n\n",
                  r->result->in_sample ? " In-sample." : "");
    vq_buf_printf(out, "  %-32s %7s %7s %7s %7s\n", "vibe", "spread", "q", "ties", "PP");
}

static void number(struct vq_buf *out, double value, int digits)
{
    char text[32] = "n/a";
    if (!isnan(value)) {
        (void)snprintf(text, sizeof(text), "%.*f", digits, value);
    }
    vq_buf_printf(out, " %7s", text);
}

/* The number of bytes that begin a character, which is about the number of columns. */
static uint32_t columns_of(const char *text)
{
    uint32_t columns = 0;
    for (; *text != '\0'; text++) {
        columns += ((unsigned char)*text & 0xc0u) != 0x80u;
    }
    return columns;
}

static void models_line(const struct vq_report_input *r, uint32_t v, struct vq_buf *out)
{
    const struct vq_ranking *ranking = r->result->ranking;
    uint32_t order[VQ_MODELS_MAX], column = 4;
    vq_ranking_order(ranking, v, order);
    vq_buf_puts(out, "    ");
    for (uint32_t k = 0; k < ranking->models; k++) {
        const char *name = r->config->models[order[k]];
        double strength = ranking->vibe[v].model[order[k]].strength;
        char value[32] = "";
        if (!isnan(strength)) {
            (void)snprintf(value, sizeof(value), " %+.2f", strength);
        }
        const char *sign = k == 0                                                 ? ""
                           : vq_ranking_apart(ranking, v, order[k - 1], order[k]) ? "> "
                                                                                  : "~ ";
        uint32_t columns = columns_of(name) + (uint32_t)strlen(value) + (uint32_t)strlen(sign) + 1;
        if (column + columns > WIDTH && column > 4) {
            vq_buf_puts(out, "\n      ");
            column = 6;
        }
        vq_buf_printf(out, "%s%s%s%s", sign, name, value, k + 1 < ranking->models ? " " : "");
        column += columns;
    }
    vq_buf_putc(out, '\n');
}

void vq_ranking_table_row(const struct vq_report_input *r, uint32_t vibe,
                          const struct vq_terminal *t, struct vq_buf *out)
{
    const struct vq_vibe_metrics *m = &r->result->vibe[vibe];
    const struct vq_vibe_split *lead = vq_vibe_lead(r->result, m);
    vq_buf_printf(out, "%s%s ", vq_color(t, VQ_COLOR_BOLD), m->distinguishable ? " " : "~");
    vq_fmt_pad(out, vq_span_str(r->in->axes[vibe].name), 32);
    vq_buf_puts(out, vq_color(t, VQ_COLOR_RESET));
    number(out, lead->sep, 2);
    number(out, lead->q, 3);
    number(out, r->result->ranking->vibe[vibe].tie_share, 2);
    number(out, isnan(m->pp.firth.value) ? m->pp.coef : m->pp.firth.value, 2);
    vq_buf_putc(out, '\n');
    models_line(r, vibe, out);
}
