/* `vibeq compare RUN --gold FILE|hc3`: the share of a reference list that a run has found. The
 * calls form one stage beside the run, and their answers go to its store: so the command is
 * resumable and each call is paid once. The results and the accounting of the run do not change. */
#include "cli/open_run.h"
#include "cli/results_reader.h"
#include "cli/verbs.h"
#include "common/judge/template.h"
#include "common/text/file.h"
#include "common/text/fmt.h"
#include "common/text/json.h"
#include "methods/vibecheck/recall.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMPARE_FOLDER "compare"
#define COMPARE_FILE   COMPARE_FOLDER "/compare.json"
#define GOLD_HC3       "hc3"
#define JSON_BYTES_MAX ((size_t)64 << 20)
#define DIGITS         9
#define NAME_COLUMNS   30

struct compare_words {
    struct vq_open_run_words kept;
    const char *gold, *by, *threshold;
    bool json, quiet;
};

#define AT(field) offsetof(struct compare_words, field)

const struct vq_opt vq_compare_opts[] = {
    {"gold", VQ_OPT_TEXT, AT(gold), "FILE|hc3",
     "the reference list: YAML or JSON with name, low and high; hc3: the differences that people "
     "found on HC3"},
    {"by", VQ_OPT_TEXT, AT(by), "embedding|judge",
     "how axes are matched: by the embedder's vectors (default), or by a question to the reducer"},
    {"threshold", VQ_OPT_TEXT, AT(threshold), "COSINE",
     "by embedding: the smallest cosine at which two axes count as one; default 0.6"},
    {"set", VQ_OPT_LIST, AT(kept.set), "A.B=VALUE",
     "overrides a key of the run's configuration, such as embedder.model (repeatable)"},
    {"json", VQ_OPT_FLAG, AT(json), NULL, "compare.json on standard output instead of the table"},
    {"quiet", VQ_OPT_FLAG, AT(quiet), NULL, "no progress"},
    {"runs", VQ_OPT_TEXT, AT(kept.runs), "DIR", "runs folder; default VIBEQ_RUNS, then ./runs"},
    {0},
};

struct comparison {
    const struct compare_words *words;
    enum vq_recall_by by;
    double threshold;
    struct vq_open_run kept;
    struct vq_results_reader found;
    struct vq_axes_file gold_file; /* empty: a built-in list */
    const struct vq_axis *gold;
    uint32_t gold_count;
    struct vq_recall *recall;
};

/* ---- the two lists ---- */

static enum vq_status read_gold(struct comparison *c, struct vq_error *err)
{
    if (strcmp(c->words->gold, GOLD_HC3) == 0) {
        size_t n;
        c->gold = vq_gold_hc3_axes(&n);
        c->gold_count = (uint32_t)n;
        return VQ_OK;
    }
    struct vq_buf text;
    VQ_TRY(vq_file_read(c->words->gold, VQ_CONFIG_BYTES_MAX, &text, err));
    enum vq_status status =
        vq_axes_file_parse(vq_buf_span(&text), c->words->gold, &c->gold_file, err);
    vq_buf_free(&text);
    VQ_TRY(status);
    c->gold = c->gold_file.axes;
    c->gold_count = c->gold_file.count;
    return VQ_OK;
}

static enum vq_status check_embedder(const struct vq_job *job, struct vq_error *err)
{
    const struct vq_conf_judge *e = job->config->embedder;
    if (e != NULL && strcmp(e->model, VQ_EMBEDDER_NONE) == 0) {
        return vq_fail(err, VQ_INVALID,
                       "this run has no embedder (embedder: none); use --by judge, or name one "
                       "with --set embedder.model=MODEL");
    }
    return VQ_OK;
}

/* ---- the results ---- */

static void put_match(struct vq_json *j, const struct comparison *c, const char *key,
                      const struct vq_recall_match *m)
{
    vq_json_key(j, key);
    if (m->found == VQ_RECALL_NONE) {
        vq_json_null(j);
        return;
    }
    vq_json_object(j);
    vq_json_put_str(j, "vibe", c->found.list.axes[m->found].name);
    vq_json_put_bool(j, "matches", m->matches);
    vq_json_put_real(j, "similarity", m->similarity, DIGITS);
    vq_json_key(j, "mirrored");
    if (c->by == VQ_RECALL_BY_JUDGE) {
        vq_json_null(j); /* the judge does not decide this */
    } else {
        vq_json_bool(j, m->mirrored);
    }
    vq_json_object_end(j);
}

static void put_side(struct vq_json *j, const struct comparison *c, const char *key, uint32_t vibes,
                     uint32_t matches)
{
    vq_json_put_object(j, key);
    vq_json_put_u64(j, "vibes", vibes);
    vq_json_put_u64(j, "matched", matches);
    vq_json_put_real(j, "recall", (double)matches / c->gold_count, DIGITS);
    vq_json_object_end(j);
}

static void put_json(const struct comparison *c, const struct vq_recall_result *r,
                     struct vq_buf *out)
{
    struct vq_json json, *j = &json;
    bool judge = c->by == VQ_RECALL_BY_JUDGE;
    const struct vq_role_models *cast =
        &c->kept.job->cast[judge ? VQ_ROLE_REDUCER : VQ_ROLE_EMBEDDER];
    vq_json_init(j, out, 2);
    vq_json_object(j);
    vq_json_put_u64(j, "format", 1);
    vq_json_put_str(j, "run", vq_run_dir_name(c->kept.run));
    vq_json_put_str(j, "gold", c->words->gold);
    vq_json_put_str(j, "by", judge ? "judge" : "embedding");
    vq_json_put_str(j, "model", cast->judges[0].model);
    vq_json_put_real(j, "threshold", judge ? NAN : c->threshold, DIGITS);
    vq_json_put_u64(j, "references", c->gold_count);
    put_side(j, c, "kept", c->found.kept_count, r->kept_matches);
    put_side(j, c, "ranked", c->found.list.count, r->all_matches);
    vq_json_put_u64(j, "unread", r->unread);
    vq_json_put_array(j, "matches");
    for (uint32_t i = 0; i < c->gold_count; i++) {
        vq_json_object(j);
        vq_json_put_str(j, "reference", c->gold[i].name);
        put_match(j, c, "kept", &r->kept[i]);
        put_match(j, c, "ranked", &r->all[i]);
        vq_json_object_end(j);
    }
    vq_json_array_end(j);
    vq_json_object_end(j);
    vq_buf_putc(out, '\n');
}

/* Prints the kept vibe that matches, else the dropped one, else the nearest one. */
static void put_row(const struct comparison *c, const struct vq_recall_result *r, uint32_t i,
                    struct vq_buf *out)
{
    const struct vq_recall_match *m = r->kept[i].matches ? &r->kept[i] : &r->all[i];
    vq_buf_puts(out, "  ");
    vq_fmt_pad(out, vq_span_str(c->gold[i].name), NAME_COLUMNS);
    if (m->found == VQ_RECALL_NONE) {
        vq_buf_puts(out, "  -\n");
        return;
    }
    vq_buf_puts(out, m->matches ? "  " : "  -  nearest: ");
    vq_buf_puts(out, c->found.list.axes[m->found].name);
    if (m->matches && m->found >= c->found.kept_count) {
        vq_buf_puts(out, " [dropped]");
    }
    if (m->matches && m->mirrored) {
        vq_buf_puts(out, " (mirrored)");
    }
    if (!isnan(m->similarity)) {
        vq_buf_printf(out, "  %.2f", m->similarity);
    }
    vq_buf_putc(out, '\n');
}

static void put_table(const struct comparison *c, const struct vq_recall_result *r,
                      struct vq_buf *out)
{
    vq_buf_printf(out, "%u of %u references found by the %u kept vibes: recall %.2f\n",
                  r->kept_matches, c->gold_count, c->found.kept_count,
                  (double)r->kept_matches / c->gold_count);
    vq_buf_printf(out, "%u of %u by all %u that were ranked: recall %.2f\n\n", r->all_matches,
                  c->gold_count, c->found.list.count, (double)r->all_matches / c->gold_count);
    for (uint32_t i = 0; i < c->gold_count; i++) {
        put_row(c, r, i, out);
    }
    if (r->unread > 0) {
        vq_buf_printf(out, "\nwarning: %u vibes have no answer that names a reference or none\n",
                      r->unread);
    }
    vq_buf_printf(out, "\n%s/" COMPARE_FILE "\n", vq_run_dir_path(c->kept.run));
}

static enum vq_status write_all(const struct comparison *c, const struct vq_recall_result *r,
                                struct vq_error *err)
{
    struct vq_buf json, table;
    vq_buf_init(&json, JSON_BYTES_MAX);
    vq_buf_init(&table, JSON_BYTES_MAX);
    put_json(c, r, &json);
    put_table(c, r, &table);
    enum vq_status status = json.status != VQ_OK ? json.status : table.status;
    if (status == VQ_OK) {
        status = vq_run_dir_write(c->kept.run, COMPARE_FILE, vq_buf_span(&json), true, err);
    }
    if (status == VQ_OK) {
        status = vq_cli_print(c->words->json ? &json : &table, err);
    }
    vq_buf_free(&json);
    vq_buf_free(&table);
    return status;
}

/* ---- the verb ---- */

static enum vq_status prepare(struct comparison *c, const char *name, struct vq_error *err)
{
    VQ_TRY(vq_open_run_begin(&c->words->kept, name, &c->kept, err));
    VQ_TRY(vq_job_needs_vibes(c->kept.job, "vibeq compare", err));
    VQ_TRY(read_gold(c, err));
    VQ_TRY(vq_results_reader_read(c->kept.runs_dir, name, &c->found, err));
    if (c->by == VQ_RECALL_BY_EMBEDDING) {
        VQ_TRY(check_embedder(c->kept.job, err));
    }
    struct vq_recall_input input = {.found = c->found.list.axes,
                                    .found_count = c->found.list.count,
                                    .kept_count = c->found.kept_count,
                                    .reference = c->gold,
                                    .reference_count = c->gold_count,
                                    .by = c->by,
                                    .threshold = c->threshold,
                                    .match = c->kept.job->templates[VQ_TEMPLATE_MATCH]};
    return vq_recall_create(&input, &c->recall, err);
}

static enum vq_status carry_out(struct comparison *c, int *ret_code, struct vq_error *err)
{
    enum vq_run_end end;
    struct vq_script script = vq_recall_script(c->recall);
    VQ_TRY(vq_open_run_ask(&c->kept, &script, COMPARE_FOLDER, c->words->quiet, &end, err));
    *ret_code = vq_cli_exit_of(end);
    if (end != VQ_RUN_DONE) {
        return VQ_OK; /* the reason was printed */
    }
    const struct vq_recall_result *r = vq_recall_result(c->recall);
    if (!r->answered) {
        return vq_fail(err, VQ_UNAVAILABLE,
                       "no call had an answer that could be used; " COMPARE_FOLDER
                       "/accounting.json in %s counts them",
                       vq_run_dir_path(c->kept.run));
    }
    *ret_code = r->unread > 0 ? VQ_EXIT_MISSING : VQ_EXIT_DONE;
    return write_all(c, r, err);
}

static int take_words(const struct compare_words *w, int words, struct comparison *c)
{
    if (words != 1) {
        return vq_cli_usage("compare", "name one run; vibeq list shows them");
    }
    if (w->gold == NULL) {
        return vq_cli_usage("compare", "name a reference list: --gold FILE, or --gold " GOLD_HC3);
    }
    c->by = VQ_RECALL_BY_EMBEDDING;
    if (w->by != NULL && strcmp(w->by, "judge") == 0) {
        c->by = VQ_RECALL_BY_JUDGE;
    } else if (w->by != NULL && strcmp(w->by, "embedding") != 0) {
        return vq_cli_usage("compare", "--by is embedding or judge, not '%.40s'", w->by);
    }
    c->threshold = VQ_RECALL_THRESHOLD;
    if (w->threshold != NULL) {
        char *end;
        c->threshold = strtod(w->threshold, &end);
        if (c->by == VQ_RECALL_BY_JUDGE) {
            return vq_cli_usage("compare", "--threshold is for --by embedding; a judge has none");
        }
        if (*end != '\0' || end == w->threshold || !(c->threshold >= 0 && c->threshold <= 1)) {
            return vq_cli_usage("compare", "--threshold is a cosine from 0 to 1, not '%.40s'",
                                w->threshold);
        }
    }
    return VQ_EXIT_DONE;
}

int vq_verb_compare(int argc, char **argv)
{
    struct compare_words w = {.json = false};
    struct comparison c = {.words = &w};
    struct vq_error err = {0};
    int words;
    if (vq_opts_parse(vq_compare_opts, argc, argv, &w, &words, &err) != VQ_OK) {
        return vq_cli_usage("compare", "%s", err.text);
    }
    int code = take_words(&w, words, &c);
    if (code != VQ_EXIT_DONE) {
        return code;
    }
    enum vq_status status = prepare(&c, argv[0], &err);
    if (status == VQ_OK) {
        status = carry_out(&c, &code, &err);
    }
    if (status != VQ_OK) {
        code = vq_cli_fail(status, &err);
    }
    vq_recall_destroy(&c.recall);
    vq_axes_file_free(&c.gold_file);
    vq_results_reader_free(&c.found);
    vq_open_run_close(&c.kept);
    return code;
}
