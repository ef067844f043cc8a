/* Guesses the roles of columns: first by name (lists below, the most reliable first), then by
 * content. Outputs are the two remaining columns of long, mostly different texts. A preference
 * column holds few values, and two of them name columns. Invariant: no column gets two roles, and
 * the draft loads. Not its job: reading the file, deciding; a person edits the result. */
#include "methods/init/parts.h"

#include "common/text/json.h"
#include "common/text/utf8.h"

#include <strings.h>

#define LABELS_MAX         6 /* distinct values of a column of labels or topics that has few rows */
#define GROUPS_MAX         50
#define COLUMNS_CONSIDERED 200u

static const char *const prompt_names[] = {"question",    "prompt", "instruction", "input", "query",
                                           "user_prompt", "user",   "request",     "task",  "text"};
static const char *const preference_names[] = {
    "preference", "preferred", "winner", "choice", "label", "vote", "better", "human_preference"};
static const char *const group_names[] = {"topic",           "category", "source",
                                          "group",           "domain",   "subject",
                                          "category_labels", "language", "dataset"};
static const char *const pair_names[][2] = {
    {"model_a", "model_b"},
    {"output_a", "output_b"},
    {"response_a", "response_b"},
    {"answer_a", "answer_b"},
    {"completion_a", "completion_b"},
    {"a", "b"},
    {"model_1", "model_2"},
    {"output_1", "output_2"},
    {"response_1", "response_2"},
    {"answer_1", "answer_2"},
    {"model1", "model2"},
    {"chosen", "rejected"},
};

/* Facts about a column, from its rows. */
struct look {
    double bytes_mean;
    uint32_t distinct;
    uint32_t filled;
};

/* A column with JSON objects or arrays does not hold prompts, outputs or labels. */
static bool holds_texts(const struct vq_table *table, uint32_t column)
{
    return vq_table_nested_line(table, column) == 0;
}

uint32_t vq_init_column(const struct vq_table *table, const char *name)
{
    for (uint32_t i = 0; i < table->columns_count; i++) {
        struct vq_span column = table->columns[i];
        if (column.bytes == strlen(name) && strncasecmp(column.at, name, column.bytes) == 0 &&
            holds_texts(table, i)) {
            return i;
        }
    }
    return VQ_INIT_NONE;
}

static uint32_t first_of(const struct vq_table *table, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t column = vq_init_column(table, names[i]);
        if (column != VQ_INIT_NONE) {
            return column;
        }
    }
    return VQ_INIT_NONE;
}

static uint32_t rows_looked_at(const struct vq_table *table)
{
    return table->rows_count < VQ_INIT_ROWS_MAX ? table->rows_count : VQ_INIT_ROWS_MAX;
}

/* Quadratic in at most VQ_INIT_ROWS_MAX rows, so it needs no memory. */
static struct look look_at(const struct vq_table *table, uint32_t column)
{
    struct look look = {.distinct = 0};
    uint32_t rows = rows_looked_at(table);
    double bytes = 0;
    for (uint32_t i = 0; i < rows; i++) {
        struct vq_span cell = vq_table_cell(table, i, column);
        bytes += (double)cell.bytes;
        look.filled += cell.bytes > 0;
        bool fresh = cell.bytes > 0;
        for (uint32_t j = 0; fresh && j < i; j++) {
            fresh = !vq_span_eq(cell, vq_table_cell(table, j, column));
        }
        look.distinct += fresh;
    }
    look.bytes_mean = bytes / rows;
    return look;
}

/* The two columns that the labels of `column` name, in column order. False if the number of named
 * columns is not two. */
static bool columns_named_by(const struct vq_table *table, uint32_t column, uint32_t ret_named[2])
{
    uint32_t found = 0;
    for (uint32_t c = 0; c < table->columns_count && found <= 2; c++) {
        bool named = false;
        for (uint32_t i = 0; !named && i < rows_looked_at(table); i++) {
            struct vq_span cell = vq_table_cell(table, i, column);
            named = c != column && cell.bytes > 0 && vq_span_eq(cell, table->columns[c]);
        }
        if (named && found < 2) {
            ret_named[found] = c;
        }
        found += named;
    }
    return found == 2;
}

uint32_t vq_init_preferences(const struct vq_table *table)
{
    return first_of(table, preference_names, VQ_COUNT(preference_names));
}

static void guess_preference(const struct vq_table *table, struct vq_init_guess *g)
{
    uint32_t considered =
        table->columns_count < COLUMNS_CONSIDERED ? table->columns_count : COLUMNS_CONSIDERED;
    uint32_t named[2];
    g->preference = vq_init_preferences(table);
    if (g->preference != VQ_INIT_NONE && columns_named_by(table, g->preference, named)) {
        g->models_by_label = true;
    }
    for (uint32_t c = 0; c < considered && !g->models_by_label; c++) {
        if (look_at(table, c).distinct <= LABELS_MAX && columns_named_by(table, c, named)) {
            g->preference = c;
            g->models_by_label = true;
        }
    }
    if (g->models_by_label) {
        g->model[0] = named[0];
        g->model[1] = named[1];
    } else if (g->preference != VQ_INIT_NONE && look_at(table, g->preference).filled > 0) {
        g->preference = VQ_INIT_NONE; /* its values name no columns, so loading would refuse it */
    }
}

bool vq_init_taken(const struct vq_init_guess *g, uint32_t column)
{
    return column == g->prompt || column == g->model[0] || column == g->model[1] ||
           column == g->preference;
}

void vq_init_longest(const struct vq_table *table, const struct vq_init_guess *g,
                     uint32_t ret_column[2], double ret_bytes_mean[2])
{
    uint32_t best[2] = {VQ_INIT_NONE, VQ_INIT_NONE};
    double length[2] = {0, 0};
    for (uint32_t c = 0; c < table->columns_count && c < COLUMNS_CONSIDERED; c++) {
        struct look look = look_at(table, c);
        if (vq_init_taken(g, c) || look.distinct * 2 < look.filled ||
            look.bytes_mean <= length[1] || !holds_texts(table, c)) {
            continue;
        }
        int at = look.bytes_mean > length[0] ? 0 : 1;
        best[1] = at == 0 ? best[0] : c;
        length[1] = at == 0 ? length[0] : look.bytes_mean;
        if (at == 0) {
            best[0] = c;
            length[0] = look.bytes_mean;
        }
    }
    memcpy(ret_column, best, sizeof(best));
    memcpy(ret_bytes_mean, length, sizeof(length));
}

static void guess_models(const struct vq_table *table, struct vq_init_guess *g)
{
    for (size_t i = 0; i < VQ_COUNT(pair_names); i++) {
        uint32_t a = vq_init_column(table, pair_names[i][0]);
        uint32_t b = vq_init_column(table, pair_names[i][1]);
        bool texts = a != VQ_INIT_NONE && b != VQ_INIT_NONE && !vq_init_taken(g, a) &&
                     !vq_init_taken(g, b) && look_at(table, a).distinct > 1 &&
                     look_at(table, b).distinct > 1;
        if (texts) {
            g->model[0] = a;
            g->model[1] = b;
            g->models_by_name = true;
            return;
        }
    }
    uint32_t best[2];
    double length[2];
    vq_init_longest(table, g, best, length);
    if (best[1] != VQ_INIT_NONE) {
        g->model[0] = best[0] < best[1] ? best[0] : best[1];
        g->model[1] = best[0] < best[1] ? best[1] : best[0];
    }
}

static void guess_group(const struct vq_table *table, struct vq_init_guess *g)
{
    uint32_t column = first_of(table, group_names, VQ_COUNT(group_names));
    if (column != VQ_INIT_NONE && !vq_init_taken(g, column)) {
        uint32_t distinct = look_at(table, column).distinct;
        g->group = distinct >= 2 && distinct <= GROUPS_MAX ? column : VQ_INIT_NONE;
    }
}

void vq_init_guess(const struct vq_table *table, struct vq_init_guess *ret_guess)
{
    struct vq_init_guess g = {.prompt = VQ_INIT_NONE,
                              .model = {VQ_INIT_NONE, VQ_INIT_NONE},
                              .preference = VQ_INIT_NONE,
                              .group = VQ_INIT_NONE};
    guess_preference(table, &g);
    uint32_t prompt = first_of(table, prompt_names, VQ_COUNT(prompt_names));
    if (prompt != VQ_INIT_NONE && !vq_init_taken(&g, prompt)) {
        g.prompt = prompt;
    }
    if (!g.models_by_label) {
        guess_models(table, &g);
    }
    guess_group(table, &g);
    *ret_guess = g;
}

/* A JSON string is also a YAML string, and both escape control characters in the same way. */
void vq_init_put_text(struct vq_buf *out, struct vq_span text)
{
    vq_json_string(out, text);
}

/* Cut, and escaped, so that a line end in a name does not end the comment. */
static void put_in_comment(struct vq_buf *out, struct vq_span text)
{
    vq_init_put_text(out, vq_utf8_cut(text, 60));
}

void vq_init_put_column(struct vq_buf *out, const struct vq_table *table, const char *key,
                        uint32_t column, const char *comment)
{
    if (column == VQ_INIT_NONE) {
        vq_buf_printf(out, "  # %s:   # %s\n", key, comment);
        return;
    }
    vq_buf_printf(out, "  %s: ", key);
    vq_init_put_text(out, table->columns[column]);
    vq_buf_printf(out, "   # %s\n", comment);
}

void vq_init_put_head(const struct vq_table *table, struct vq_buf *out)
{
    vq_buf_printf(
        out,
        "# A first configuration, guessed from the data. Read it, change it, then: vibeq run FILE\n"
        "# Every key with its default and meaning: docs/use/config.md\n"
        "#\n"
        "# %u records; the columns, with what the first record holds:\n",
        table->rows_count);
    for (uint32_t c = 0; c < table->columns_count && c < 40; c++) {
        vq_buf_puts(out, "#   ");
        put_in_comment(out, table->columns[c]);
        vq_buf_puts(out, ": ");
        put_in_comment(out, vq_table_cell(table, 0, c));
        vq_buf_putc(out, '\n');
    }
    if (table->columns_count > 40) {
        vq_buf_printf(out, "#   and %u more\n", table->columns_count - 40);
    }
    vq_buf_putc(out, '\n');
}

static void put_models(const struct vq_table *table, const struct vq_init_guess *g,
                       struct vq_buf *out)
{
    vq_buf_puts(out, "\n# The two columns that hold the outputs: model A, then model B. Everything "
                     "signed points to A.\n");
    if (g->model[0] == VQ_INIT_NONE) {
        vq_buf_puts(out, "# They could not be guessed: put the names of two columns here.\n"
                         "models: [\"COLUMN OF MODEL A\", \"COLUMN OF MODEL B\"]\n");
        return;
    }
    vq_buf_puts(out, g->models_by_label ? "# (named in the preference column)\n" : "# (a guess)\n");
    vq_buf_puts(out, "models:\n");
    for (int m = 0; m < 2; m++) {
        vq_buf_puts(out, "- ");
        vq_init_put_text(out, table->columns[g->model[m]]);
        vq_buf_putc(out, '\n');
    }
}

void vq_init_put_model(struct vq_buf *out, const char *key)
{
    vq_buf_printf(out,
                  "# %s:\n"
                  "# - model: NAME\n"
                  "#   base_url: https://api.example.com/v1\n"
                  "#   key: env:OPENAI_API_KEY       # where the key is, never the key\n"
                  "#   requests_per_minute: 500      # your limits, if you know them\n"
                  "#   tokens_per_minute: 200000\n"
                  "#   price_input_usd: 0.15         # per million tokens, for the estimate\n"
                  "#   price_output_usd: 0.60\n",
                  key);
}

void vq_init_put_end(struct vq_buf *out)
{
    vq_buf_puts(out, "\nseed: 42      # of the split, the order and the intervals\n"
                     "workers: 2    # processes on this machine\n");
}

static void put_rest(struct vq_buf *out)
{
    vq_buf_puts(out, "\n"
                     "# The judges. offline-a and offline-b are built in, need no key and cost "
                     "nothing, but only\n"
                     "# count words: they test the pipeline and say nothing about the models. For "
                     "results, use one or two real models:\n"
                     "judges: [offline-a, offline-b]\n");
    vq_init_put_model(out, "judges");
    vq_buf_puts(out,
                "\n"
                "# The vibes: the built-in ten, your own, or found in the data.\n"
                "method: preset\n"
                "# method: vibes\n"
                "# vibes:\n"
                "# - {name: Formality, low: \"casual words\", high: \"formal words\"}\n"
                "# - \"Warmth: High: friendly, kind. Low: cold, matter-of-fact.\"\n"
                "# method: discover\n"
                "# proposer:         # who proposes them; not set: the first judge\n"
                "#   model: NAME\n"
                "#   base_url: https://api.example.com/v1\n"
                "#   key: env:OPENAI_API_KEY\n"
                "# vibecheck:\n"
                "#   d: 20            # rows shown to it in an iteration\n"
                "#   iterations: 3    # the later ones on rows that are still misclassified\n");
    vq_init_put_end(out);
}

void vq_init_put_data(const struct vq_table *table, const char *path,
                      const struct vq_init_guess *guess, struct vq_buf *out)
{
    vq_buf_puts(out, "data:\n  path: ");
    vq_init_put_text(out, vq_span_str(path));
    vq_buf_putc(out, '\n');
    vq_init_put_column(out, table, "prompt", guess->prompt, "the column of the prompts");
}

void vq_init_config(const struct vq_table *table, const char *data_path,
                    const struct vq_init_guess *guess, struct vq_buf *out)
{
    vq_init_put_head(table, out);
    vq_init_put_data(table, data_path, guess, out);
    vq_init_put_column(out, table, "preference", guess->preference,
                       "names the preferred model, or equal, tie, N/A; empty is unlabelled");
    vq_init_put_column(out, table, "group", guess->group,
                       "topics or sources, for reports by group");
    vq_buf_puts(out, "  # limit: 50         # try a seeded sample first\n"
                     "  test_share: 0.5     # held out, whole prompts at a time\n"
                     "  near_duplicate: 80  # drop rows whose outputs are 80 % alike or more\n"
                     "  ties: keep\n");
    put_models(table, guess, out);
    put_rest(out);
}
