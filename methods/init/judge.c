/* The draft of method: judge. It has one column of outputs or two. A pair is found by its labels or
 * its names. Otherwise one column is found by its name or by its long texts, and a second one if
 * its texts are nearly as long. Invariant: a draft with an output loads, because people's choices
 * and topics are named only if all of them can be read. Not its job: the other columns (init.c). */
#include "common/base/alloc.h"
#include "common/text/intern.h"
#include "methods/data/human_label.h"
#include "methods/init/parts.h"
#include "methods/rubric/data.h"

/* a second column of outputs has at least this share of the longest texts' mean length */
#define ALIKE 0.25

static const char *const output_names[] = {"output",       "response",  "answer",
                                           "completion",   "reply",     "generation",
                                           "model_output", "assistant", "prediction"};

static void guess_outputs(const struct vq_table *table, struct vq_init_guess *g)
{
    uint32_t best[2];
    double length[2];
    if (g->models_by_label || g->models_by_name) {
        return;
    }
    g->model[0] = g->model[1] = VQ_INIT_NONE;
    vq_init_longest(table, g, best, length);
    for (size_t i = 0; i < VQ_COUNT(output_names); i++) {
        uint32_t column = vq_init_column(table, output_names[i]);
        if (column != VQ_INIT_NONE && !vq_init_taken(g, column)) {
            g->model[0] = column;
            return;
        }
    }
    bool two = best[1] != VQ_INIT_NONE && length[1] >= ALIKE * length[0];
    g->model[0] = two && best[1] < best[0] ? best[1] : best[0];
    g->model[1] = !two ? VQ_INIT_NONE : best[1] < best[0] ? best[0] : best[1];
}

static enum vq_status can_be_read(const struct vq_table *table, const struct vq_init_guess *g,
                                  uint32_t column, bool *ret_can)
{
    char *models[2];
    for (int m = 0; m < 2; m++) {
        struct vq_span name = table->columns[g->model[m]];
        models[m] = vq_strndup(name.at, name.bytes);
    }
    enum vq_status status = models[0] == NULL || models[1] == NULL ? VQ_NOMEM : VQ_OK;
    const char *const names[2] = {models[0], models[1]};
    bool any = false, all = true;
    for (uint32_t i = 0; status == VQ_OK && all && i < table->rows_count; i++) {
        struct vq_span label = vq_span_trim(vq_table_cell(table, i, column));
        double value;
        if (label.bytes > 0) {
            all = vq_human_label_read(VQ_RATING_PAIRWISE, names, label, &value);
            any = true;
        }
    }
    vq_free(models[0]);
    vq_free(models[1]);
    *ret_can = any && all;
    return status;
}

static enum vq_status check_group(const struct vq_table *table, struct vq_init_guess *g)
{
    struct vq_intern texts;
    enum vq_status status = VQ_OK;
    vq_intern_init(&texts);
    for (uint32_t i = 0; status == VQ_OK && g->group != VQ_INIT_NONE && i < table->rows_count;
         i++) {
        uint32_t id;
        status = vq_intern_add(&texts, vq_table_cell(table, i, g->group), &id);
        if (texts.count > VQ_RUBRIC_GROUPS_MAX) {
            g->group = VQ_INIT_NONE;
        }
    }
    vq_intern_free(&texts);
    return status;
}

enum vq_status vq_init_guess_rated(const struct vq_table *table, struct vq_init_guess *ret_guess)
{
    struct vq_init_guess g;
    vq_init_guess(table, &g);
    guess_outputs(table, &g);
    bool two = g.model[1] != VQ_INIT_NONE;
    g.preference = two ? vq_init_preferences(table) : VQ_INIT_NONE;
    bool can = g.preference != VQ_INIT_NONE && g.preference != g.model[0] &&
               g.preference != g.model[1] && g.preference != g.prompt;
    if (can) {
        VQ_TRY(can_be_read(table, &g, g.preference, &can));
    }
    g.preference = can ? g.preference : VQ_INIT_NONE;
    if (g.group == g.model[0] || g.group == g.model[1]) {
        g.group = VQ_INIT_NONE;
    }
    enum vq_status status = check_group(table, &g);
    if (status == VQ_OK) {
        *ret_guess = g;
    }
    return status;
}

/* ---- writing ---- */

static void put_outputs(const struct vq_table *table, const struct vq_init_guess *g,
                        struct vq_buf *out)
{
    vq_buf_puts(out, "\n# The columns that hold the outputs: one, or two that are compared.\n");
    if (g->model[0] == VQ_INIT_NONE) {
        vq_buf_puts(out, "# None could be guessed: put the name of a column here, or of two.\n"
                         "models: [\"COLUMN OF THE OUTPUTS\"]\n");
        return;
    }
    vq_buf_puts(out, g->models_by_label ? "# (named in the column of preferences)\nmodels:\n"
                                        : "# (a guess)\nmodels:\n");
    for (int m = 0; m < 2 && g->model[m] != VQ_INIT_NONE; m++) {
        vq_buf_puts(out, "- ");
        vq_init_put_text(out, table->columns[g->model[m]]);
        vq_buf_putc(out, '\n');
    }
}

static void put_criteria(const struct vq_table *table, const struct vq_init_guess *g,
                         struct vq_buf *out)
{
    vq_buf_puts(
        out,
        "\n# The criteria of the ratings. Built-in criteria by their names (vibeq prompts show "
        "criteria), your own with a kind\n"
        "# (likert: 1 to 5, binary: yes or no, pairwise: which of two) and a rubric, or as "
        "a file. `human` names the column\n"
        "# (for likert and binary: one column per output) with people's labels; vibeq computes the "
        "agreement with it.\n"
        "criteria:\n"
        "- refusal\n");
    if (g->model[1] != VQ_INIT_NONE) {
        vq_buf_puts(out, "- name: general     # which of the two is better\n");
    }
    if (g->preference != VQ_INIT_NONE) {
        vq_buf_puts(out, "  human: ");
        vq_init_put_text(out, table->columns[g->preference]);
        vq_buf_puts(out, "   # what people preferred (a guess)\n");
    }
    vq_buf_puts(out, "- name: helpfulness # an example: change it to your criterion\n"
                     "  kind: likert\n"
                     "  rubric: |\n"
                     "    How much does the response help the user?\n"
                     "\n"
                     "    1: not at all, or it does harm\n"
                     "    2: a little; most of what was asked for is missing\n"
                     "    3: in part\n"
                     "    4: mostly; something small is missing or wrong\n"
                     "    5: wholly; right, complete and to the point\n"
                     "# - {name: house, file: house.txt}\n");
}

void vq_init_judge_config(const struct vq_table *table, const char *data_path,
                          const struct vq_init_guess *guess, struct vq_buf *out)
{
    vq_init_put_head(table, out);
    vq_buf_puts(out, "method: judge   # outputs are rated by criteria: docs/method/judge.md\n\n");
    vq_init_put_data(table, data_path, guess, out);
    vq_init_put_column(out, table, "group", guess->group, "topics or sources, for means by group");
    vq_buf_puts(out, "  # limit: 50         # try a seeded sample first\n");
    put_outputs(table, guess, out);
    put_criteria(table, guess, out);
    vq_buf_puts(out,
                "\n"
                "# The judges. offline-a and offline-b are built in, need no key and cost nothing, "
                "but only count words: they\n"
                "# test the pipeline and say nothing about the outputs. For results, use one or "
                "two real models:\n"
                "judges: [offline-a, offline-b]\n");
    vq_init_put_model(out, "judges");
    vq_buf_puts(
        out, "\n"
             "rating:\n"
             "  repeats: 1         # more than 1: repeats each question, to measure how a judge "
             "agrees with itself\n"
             "  positions: both    # pairs in both orders; alternate: in one, at half the calls\n"
             "  policy: strict     # an answer without a clear value is asked once more, then "
             "missing\n");
    vq_init_put_end(out);
}
