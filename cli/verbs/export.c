/* `vibeq export RUN calls|scores|vibes|rows|ratings|items`: the data of a run, as CSV or as JSON
 * lines on standard output. Calls come from the ledger, each with its raw answer; the others are
 * the files of results/. */
#include "cli/open_run.h"
#include "cli/verbs.h"
#include "common/judge/vectors.h"
#include "common/text/csv.h"
#include "common/text/json.h"
#include "common/text/table.h"
#include "coordinator/store/calls/ledger.h"
#include "coordinator/store/calls/lookup.h"
#include "methods/files/method_type.h"
#include "methods/files/replay.h"
#include "methods/vibecheck/report/paper.h"
#include "proto/pool.h"

#include <stdio.h>
#include <string.h>

#define LINE_BYTES_MAX ((size_t)16 << 20)
#define FILE_BYTES_MAX ((size_t)1 << 34)

struct export_words {
    struct vq_open_run_words kept;
    const char *format;
    bool raw;
};

const struct vq_opt vq_export_opts[] = {
    {"format", VQ_OPT_TEXT, offsetof(struct export_words, format), "csv|jsonl|latex|md",
     "csv (default), one JSON object per line, or a table in LaTeX or Markdown"},
    {"raw", VQ_OPT_FLAG, offsetof(struct export_words, raw), NULL,
     "CSV with every text unchanged, even if a spreadsheet would run it as a formula"},
    {"runs", VQ_OPT_TEXT, offsetof(struct export_words, kept.runs), "DIR",
     "runs folder; default VIBEQ_RUNS, then ./runs"},
    {0},
};

/* ---- one line, in either form ---- */

struct line {
    struct vq_error *err;
    bool jsonl, raw;
    struct vq_buf out;
    struct vq_csv csv;
    struct vq_json json;
};

static void line_begin(struct line *l)
{
    vq_buf_clear(&l->out);
    if (l->raw) {
        vq_csv_init(&l->csv, &l->out);
    } else {
        vq_csv_init_safe(&l->csv, &l->out);
    }
    vq_json_init(&l->json, &l->out, 0);
    if (l->jsonl) {
        vq_json_object(&l->json);
    }
}

static void line_text(struct line *l, const char *key, struct vq_span text)
{
    if (l->jsonl) {
        vq_json_put_span(&l->json, key, text);
    } else {
        vq_csv_span(&l->csv, text);
    }
}

static void line_none(struct line *l, const char *key)
{
    if (l->jsonl) {
        vq_json_put_null(&l->json, key);
    } else {
        vq_csv_empty(&l->csv);
    }
}

static void line_count(struct line *l, const char *key, int64_t value)
{
    if (l->jsonl) {
        vq_json_put_i64(&l->json, key, value);
    } else {
        vq_csv_i64(&l->csv, value);
    }
}

static void line_usd(struct line *l, const char *key, uint64_t nano)
{
    double usd = (double)nano / VQ_NANO_PER_USD;
    if (l->jsonl) {
        vq_json_put_real(&l->json, key, usd, 9);
    } else {
        vq_csv_real(&l->csv, usd, 9);
    }
}

static enum vq_status line_end(struct line *l)
{
    if (l->jsonl) {
        vq_json_object_end(&l->json);
        vq_buf_putc(&l->out, '\n');
    } else {
        vq_csv_end_row(&l->csv);
    }
    VQ_TRY(l->out.status);
    return vq_cli_write(vq_buf_span(&l->out), l->err);
}

/* ---- calls ---- */

struct calls {
    const struct vq_open_run *kept;
    const struct vq_replay *replay;
    struct vq_view *view;
    struct line line;
};

static const char *const call_columns[] = {
    "call",           "stage",          "judge",      "record",  "vibe",     "order",
    "repeat",         "kind",           "end",        "verdict", "used",     "http_status",
    "started_ms",     "latency_ms",     "worker",     "pool",    "cost_usd", "tokens_in",
    "tokens_cached",  "tokens_written", "tokens_out", "tier",    "model",    "finish_reason",
    "label_logprobs", "error",          "answer"};

/* The place of the task: stage, judge, record, vibe and order. Values of a stage that these
 * settings do not reach are empty. */
static void put_place(struct calls *c, const struct vq_call_row *row)
{
    struct line *l = &c->line;
    const struct vq_stage_grid *a =
        row->result.stage < c->replay->stages_count ? c->replay->stages[row->result.stage] : NULL;
    if (a == NULL || !vq_plan_has(&a->plan, row->result.task)) {
        if (row->result.stage >= VQ_STAGE_BESIDE) { /* of a verb such as compare */
            line_text(l, "stage", vq_span_str("beside the run"));
        } else {
            line_count(l, "stage", row->result.stage);
        }
        static const char *const keys[] = {"judge", "record", "vibe", "order"};
        for (size_t i = 0; i < VQ_COUNT(keys); i++) {
            line_none(l, keys[i]);
        }
        return;
    }
    struct vq_cell cell = vq_grid_cell(&a->plan.grid, row->result.task);
    line_text(l, "stage", vq_span_str(a->name));
    line_text(l, "judge", vq_span_str(a->cast->judges[cell.judge].name));
    int64_t record = vq_job_record(c->kept->job, a, cell.sample);
    if (record >= 0) {
        line_count(l, "record", record);
        line_text(l, "vibe", vq_span_str(a->axes[cell.vibe].name));
        line_count(l, "order", cell.order);
    } else {
        line_none(l, "record");
        line_none(l, "vibe");
        line_none(l, "order");
    }
}

static enum vq_status put_call(void *ctx, const struct vq_call_row *row)
{
    struct calls *c = ctx;
    struct line *l = &c->line;
    char id[VQ_HEX_BYTES(VQ_ID_BYTES)];
    vq_hex(row->result.call.b, VQ_ID_BYTES, id);
    struct vq_answer answer = {.created_unix_ms = 0};
    struct vq_error ignored = {0};
    bool has =
        row->used && vq_lookup_answer(c->view, &row->result.request, &answer, &ignored) == VQ_OK;
    line_begin(l);
    line_text(l, "call", vq_span_str(id));
    put_place(c, row);
    line_count(l, "repeat", row->result.repeat);
    line_text(l, "kind", vq_span_str(row->result.kind == VQ_CALL_REPAIR ? "repair" : "ask"));
    line_text(l, "end", vq_span_str(vq_call_end_word((enum vq_call_end)row->result.end)));
    line_text(l, "verdict", vq_span_str(vq_outcome_name((enum vq_outcome)row->result.outcome)));
    line_count(l, "used", row->used);
    line_count(l, "http_status", row->result.http_status);
    line_count(l, "started_ms", row->result.started_unix_ms);
    line_count(l, "latency_ms", row->result.latency_ms);
    line_text(l, "worker", row->worker);
    line_text(l, "pool", row->result.pool);
    line_usd(l, "cost_usd", row->result.cost_nano);
    line_count(l, "tokens_in", (int64_t)row->result.tokens_in);
    line_count(l, "tokens_cached", (int64_t)row->result.tokens_cached);
    line_count(l, "tokens_written", (int64_t)row->result.tokens_written);
    line_count(l, "tokens_out", (int64_t)row->result.tokens_out);
    line_text(l, "tier", row->result.tier);
    line_text(l, "model", row->result.model);
    if (has) {
        line_text(l, "finish_reason", answer.finish_reason);
    } else {
        line_none(l, "finish_reason");
    }
    if (row->result.label_logprobs.bytes > 0) {
        line_text(l, "label_logprobs", row->result.label_logprobs);
    } else {
        line_none(l, "label_logprobs");
    }
    line_text(l, "error", row->result.error);
    if (has && !vq_vectors_packed(answer.answer)) { /* vectors are not a text */
        line_text(l, "answer", answer.answer);
    } else {
        line_none(l, "answer");
    }
    return line_end(l);
}

static enum vq_status export_calls(const struct vq_open_run *kept, bool jsonl, bool raw,
                                   struct vq_error *err)
{
    struct vq_replay replay;
    const struct vq_id *uid = vq_run_dir_uid(kept->run);
    VQ_TRY(vq_replay_walk(kept->job, kept->calls, uid, NULL, &replay, err));
    struct calls c = {
        .kept = kept, .replay = &replay, .line = {.err = err, .jsonl = jsonl, .raw = raw}};
    vq_buf_init(&c.line.out, LINE_BYTES_MAX);
    enum vq_status status = vq_view_begin(kept->calls, &c.view, err);
    if (status == VQ_OK && !jsonl) {
        line_begin(&c.line);
        for (size_t i = 0; i < VQ_COUNT(call_columns); i++) {
            vq_csv_str(&c.line.csv, call_columns[i]);
        }
        status = line_end(&c.line);
    }
    if (status == VQ_OK) {
        status = vq_ledger_scan(c.view, uid, put_call, &c, err);
    }
    vq_view_end(&c.view);
    vq_buf_free(&c.line.out);
    vq_replay_free(&replay);
    return status;
}

/* ---- files of results/ ---- */

enum form {
    FORM_CSV,
    FORM_JSONL,
    FORM_LATEX,
    FORM_MARKDOWN,
};

static const char *const form_names[] = {"csv", "jsonl", "latex", "md", NULL};

static enum vq_status put_paper(const struct vq_open_run *kept, const struct vq_table *table,
                                const char *what, enum form form, struct vq_error *err)
{
    enum vq_paper_format format = form == FORM_LATEX ? VQ_PAPER_LATEX : VQ_PAPER_MARKDOWN;
    const struct vq_config *c = kept->job->config;
    struct vq_buf out;
    vq_buf_init(&out, FILE_BYTES_MAX);
    if (strcmp(what, "vibes") == 0) {
        VQ_TRY(vq_job_needs_two(c, "the table of a paper", err));
        vq_paper_vibes(table, c->models[0], c->models[1], format, &out);
    } else {
        vq_paper_table(table, format, &out);
    }
    return vq_cli_print(&out, err);
}

/* Prints rows. The files are written for spreadsheets; here each text has its original form. */
static enum vq_status put_rows(const struct vq_table *table, bool jsonl, struct vq_error *err)
{
    struct line l = {.err = err, .jsonl = jsonl, .raw = true};
    vq_buf_init(&l.out, LINE_BYTES_MAX);
    enum vq_status status = VQ_OK;
    if (!jsonl) {
        line_begin(&l);
        for (uint32_t c = 0; c < table->columns_count; c++) {
            vq_csv_span(&l.csv, vq_csv_unsafe(table->columns[c]));
        }
        status = line_end(&l);
    }
    for (uint32_t r = 0; status == VQ_OK && r < table->rows_count; r++) {
        line_begin(&l);
        for (uint32_t c = 0; c < table->columns_count; c++) {
            struct vq_span cell = vq_csv_unsafe(vq_table_cell(table, r, c));
            if (!jsonl) {
                vq_csv_span(&l.csv, cell);
                continue;
            }
            vq_json_key_span(&l.json, vq_csv_unsafe(table->columns[c]));
            if (cell.bytes == 0) {
                vq_json_null(&l.json);
            } else {
                vq_json_span(&l.json, cell);
            }
        }
        status = line_end(&l);
    }
    vq_buf_free(&l.out);
    return status;
}

static bool has_table(const struct vq_open_run *kept, const char *what)
{
    const char *const *table = kept->job->method->tables;
    while (*table != NULL && strcmp(*table, what) != 0) {
        table++;
    }
    return *table != NULL;
}

static enum vq_status export_file(const struct vq_open_run *kept, const char *what, enum form form,
                                  bool raw, struct vq_error *err)
{
    char file[64], verb[64];
    (void)snprintf(verb, sizeof(verb), "vibeq export RUN %s", what);
    if (strcmp(what, "items") == 0 && !has_table(kept, what)) {
        return vq_fail(err, VQ_INVALID, "only runs of method: judge have items");
    }
    if (strcmp(what, "ratings") != 0 && strcmp(what, "items") != 0) {
        VQ_TRY(vq_job_needs_vibes(kept->job, verb, err));
    } else if (!has_table(kept, what)) {
        return vq_fail(err, VQ_INVALID,
                       "only runs of method: judge and method: persona have ratings; this one has "
                       "scores, vibes, rows "
                       "and calls");
    }
    (void)snprintf(file, sizeof(file), "results/%s.csv", what);
    struct vq_buf text;
    vq_buf_init(&text, FILE_BYTES_MAX);
    enum vq_status status = vq_run_dir_read(kept->run, file, &text, err);
    if (status == VQ_NOT_FOUND) {
        (void)vq_fail(err, status, "%s has no results yet; vibeq resume %s continues it",
                      vq_run_dir_name(kept->run), vq_run_dir_name(kept->run));
    }
    if (status == VQ_OK && form == FORM_CSV && !raw) {
        status = vq_cli_print(&text, err);
    } else if (status == VQ_OK) {
        struct vq_table *table;
        status = vq_table_parse(vq_buf_span(&text), VQ_TABLE_CSV, file, &table, err);
        if (status == VQ_OK) {
            bool rows = form == FORM_CSV || form == FORM_JSONL;
            status = rows ? put_rows(table, form == FORM_JSONL, err)
                          : put_paper(kept, table, what, form, err);
            vq_table_destroy(&table);
        }
    }
    vq_buf_free(&text);
    return status;
}

/* The word's index in form_names; -1: none. */
static int form_of(const char *word)
{
    int form = word == NULL ? 0 : -1;
    for (int i = 0; word != NULL && form_names[i] != NULL; i++) {
        form = strcmp(word, form_names[i]) == 0 ? i : form;
    }
    return form;
}

static enum vq_status export_from(const struct export_words *w, const char *run, const char *what,
                                  enum form form, struct vq_error *err)
{
    struct vq_open_run kept;
    VQ_TRY(vq_open_run_begin(&w->kept, run, &kept, err));
    what = what == NULL ? kept.job->method->tables[0] : what;
    enum vq_status status = strcmp(what, "calls") == 0
                                ? export_calls(&kept, form == FORM_JSONL, w->raw, err)
                                : export_file(&kept, what, form, w->raw, err);
    vq_open_run_close(&kept);
    return status;
}

int vq_verb_export(int argc, char **argv)
{
    struct export_words w = {0};
    struct vq_error err = {0};
    int words;
    static const char *const known[] = {"calls",   "scores", "vibes", "rows",
                                        "ratings", "items",  NULL};
    if (vq_opts_parse(vq_export_opts, argc, argv, &w, &words, &err) != VQ_OK) {
        return vq_cli_usage("export", "%s", err.text);
    }
    if (words == 0 || words > 2) {
        return vq_cli_usage("export", "name one run and what of it; vibeq list shows the runs");
    }
    int form = form_of(w.format);
    if (form < 0) {
        return vq_cli_usage("export", "--format is csv, jsonl, latex or md, not '%.40s'", w.format);
    }
    bool paper = form == FORM_LATEX || form == FORM_MARKDOWN, found = words == 1 && paper;
    for (size_t i = 0; words == 2 && known[i] != NULL; i++) {
        found |= strcmp(argv[1], known[i]) == 0;
    }
    if (!found) {
        return vq_cli_unknown_word("export", words == 2 ? argv[1] : NULL, known);
    }
    if (words == 2 && paper && strcmp(argv[1], "calls") == 0) {
        return vq_cli_usage("export", "calls are printed as csv or jsonl");
    }
    enum vq_status status =
        export_from(&w, argv[0], words == 2 ? argv[1] : NULL, (enum form)form, &err);
    return status == VQ_OK ? VQ_EXIT_DONE : vq_cli_fail(status, &err);
}
