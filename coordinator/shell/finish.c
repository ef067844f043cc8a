/* The end of a run: the finished column out of Redis into numbers, the numbers into files; and accounting.json out of the ledger.
 * Results first, written whole or not at all, so that an interrupted end can be done again by resume. */
#include "coordinator/shell/parts.h"

#include "common/base/alloc.h"
#include "common/text/file.h"
#include "common/text/json.h"
#include "common/text/log.h"
#include "coordinator/report/html.h"
#include "coordinator/stats/stats.h"
#include "coordinator/store/ledger.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ACCOUNT_BYTES_MAX (64u << 20)

struct column {
    struct vq_run *run;
    bool done;
    enum vq_status status;
    struct vq_error err;
};

static void on_column(void *ctx, enum vq_status status, const uint8_t *outcomes, uint64_t tasks,
                      const char *text)
{
    struct column *c = ctx;
    c->done = true;
    c->status = status;
    if (status != VQ_OK) {
        (void)vq_fail(&c->err, status, "cannot read the finished stage from Redis: %s", text);
        return;
    }
    c->run->outcomes = vq_alloc(tasks, 1);
    if (c->run->outcomes == NULL) {
        c->status = VQ_NOMEM;
        return;
    }
    memcpy(c->run->outcomes, outcomes, tasks);
}

static bool column_done(void *ctx)
{
    return ((struct column *)ctx)->done;
}

/* Redis says what stands; that it says the same as the core is our own check. */
static enum vq_status read_column(struct vq_run *run, struct vq_error *err)
{
    struct column c = {.run = run};
    vq_run_state_read(run->redis.state, run->redis.n, on_column, &c);
    enum vq_status status = vq_loop_run_until(run->loop, column_done, &c, VQ_RUN_REDIS_WAIT_MS);
    if (!c.done) {
        return vq_fail(err, status == VQ_OK ? VQ_TIMEOUT : status,
                       "Redis did not give the finished stage in time");
    }
    if (c.status != VQ_OK) {
        *err = c.err;
        return c.status;
    }
    uint64_t tasks = vq_grid_tasks(&run->job->plan.grid);
    for (uint64_t t = 0; t < tasks; t++) {
        if (run->outcomes[t] != (uint8_t)vq_coord_outcome(run->coord, t)) {
            return vq_fail(err, VQ_CORRUPT,
                           "Redis and the coordinator disagree about task %llu; resume rebuilds it",
                           (unsigned long long)t);
        }
    }
    return VQ_OK;
}

/* ---- what the providers called themselves ---- */

static void add_returned(struct vq_report_judge *judge, struct vq_span model)
{
    if (model.bytes == 0) {
        return;
    }
    uint32_t at = 0;
    while (at < judge->returned_count) {
        int order = strncmp(judge->returned[at], model.at, model.bytes);
        if (order == 0 && judge->returned[at][model.bytes] == '\0') {
            return;
        }
        if (order >= 0) {
            break;
        }
        at++;
    }
    if (judge->returned_count == VQ_RETURNED_MODELS_MAX) {
        return;
    }
    char *name = vq_strndup(model.at, model.bytes);
    if (name == NULL) {
        return; /* a name less in the settings */
    }
    memmove(judge->returned + at + 1, judge->returned + at,
            (judge->returned_count - at) * sizeof(*judge->returned));
    judge->returned[at] = name;
    judge->returned_count++;
}

static enum vq_status returned_of_task(struct vq_run *run, struct vq_view *view, uint64_t task,
                                       struct vq_report_judge *judge, struct vq_error *err)
{
    const struct vq_plan *plan = &run->job->plan;
    for (uint32_t repeat = 0; repeat <= plan->generation; repeat++) {
        struct vq_hash request;
        struct vq_answer answer;
        vq_plan_request(plan, task, repeat, &request);
        enum vq_status status = vq_lookup_answer(view, &request, &answer, err);
        if (status == VQ_OK) {
            add_returned(judge, answer.model);
        } else if (status != VQ_NOT_FOUND) {
            return status;
        }
    }
    return VQ_OK;
}

static enum vq_status collect_returned(struct vq_run *run, struct vq_report_judge *judges,
                                       struct vq_error *err)
{
    struct vq_view *view;
    VQ_TRY(vq_view_begin(run->calls, &view, err));
    uint64_t tasks = vq_grid_tasks(&run->job->plan.grid);
    enum vq_status status = VQ_OK;
    for (uint64_t t = 0; t < tasks && status == VQ_OK; t++) {
        if (vq_outcome_is_answered((enum vq_outcome)run->outcomes[t])) {
            uint32_t judge = vq_grid_cell(&run->job->plan.grid, t).judge;
            status = returned_of_task(run, view, t, &judges[judge], err);
        }
    }
    vq_view_end(&view);
    return status;
}

/* ---- files ---- */

#define PIECE_BYTES (1u << 20) /* of a file with rows for each sample, in memory at a time */

struct result_file {
    const char *path;
    void (*whole)(const struct vq_report_input *r, struct vq_buf *out); /* or: */
    void (*rows)(const struct vq_report_input *r, uint32_t from, uint32_t until,
                 struct vq_buf *out);
};

static const struct result_file files[] = {
    {"results/vibes.csv", .whole = vq_report_vibes_csv},
    {"results/scores.csv", .rows = vq_report_scores_csv},
    {"results/rows.csv", .rows = vq_report_rows_csv},
    {"results/results.json", .whole = vq_report_json}, /* last: it says that the others are there */
};

/* Onto standard output; a reader that has seen enough is no failure. */
static enum vq_status print(const struct vq_buf *out, struct vq_error *err)
{
    errno = 0;
    bool whole = fwrite(out->at, 1, out->bytes, stdout) == out->bytes && fflush(stdout) == 0;
    if (whole || errno == EPIPE) {
        return VQ_OK;
    }
    return vq_fail(err, errno == ENOSPC ? VQ_FULL : VQ_IO, "standard output: %s", strerror(errno));
}

static enum vq_status write_rows(const struct vq_report_input *r, const struct result_file *file,
                                 struct vq_file_new *to, struct vq_buf *out, struct vq_error *err)
{
    uint32_t samples = r->in->grid.samples;
    for (uint32_t i = 0; i < samples; i++) {
        file->rows(r, i, i + 1, out);
        VQ_TRY(out->status);
        if (out->bytes >= PIECE_BYTES || i + 1 == samples) {
            VQ_TRY(vq_file_new_add(to, vq_buf_span(out), err));
            vq_buf_clear(out);
        }
    }
    return VQ_OK;
}

/* What was written whole stays in `out`. */
static enum vq_status write_file(struct vq_run *run, const struct vq_report_input *r,
                                 const struct result_file *file, struct vq_buf *out,
                                 struct vq_error *err)
{
    if (file->whole != NULL) {
        file->whole(r, out);
        VQ_TRY(out->status);
        return vq_run_dir_write(run->dir, file->path, vq_buf_span(out), true, err);
    }
    struct vq_file_new *to = NULL;
    VQ_TRY(vq_run_dir_begin(run->dir, file->path, &to, err));
    enum vq_status status = write_rows(r, file, to, out, err);
    if (status != VQ_OK) {
        vq_file_new_abandon(&to);
        return status;
    }
    return vq_file_new_commit(&to, err);
}

static enum vq_status write_files(struct vq_run *run, const struct vq_report_input *r,
                                  struct vq_error *err)
{
    for (size_t i = 0; i < VQ_COUNT(files); i++) {
        struct vq_buf out;
        vq_buf_init(&out, VQ_REPORT_BYTES_MAX);
        enum vq_status status = write_file(run, r, &files[i], &out, err);
        if (status == VQ_OK && run->options->json && i + 1 == VQ_COUNT(files)) {
            status = print(&out, err);
        }
        vq_buf_free(&out);
        VQ_TRY(status);
    }
    return VQ_OK;
}

/* ---- the page ---- */

struct answers {
    const struct vq_run *run;
    struct vq_view *view;
};

static bool standing_answer(void *ctx, uint32_t sample, uint32_t vibe, uint32_t judge,
                            uint32_t order, struct vq_span *ret_text)
{
    const struct answers *a = ctx;
    const struct vq_plan *plan = &a->run->job->plan;
    uint64_t task = vq_grid_task(&plan->grid, (struct vq_cell){sample, judge, vibe, order});
    struct vq_answer answer;
    bool repaired;
    struct vq_error ignored = {0}; /* a page without an answer is still a page */
    if (vq_lookup_standing(a->view, plan, &a->run->owner.uid, task, &answer, &repaired, &ignored) !=
        VQ_OK) {
        return false;
    }
    *ret_text = answer.answer;
    return true;
}

static enum vq_status write_page(struct vq_run *run, const struct vq_report_input *r,
                                 struct vq_error *err)
{
    struct answers answers = {.run = run};
    VQ_TRY(vq_view_begin(run->calls, &answers.view, err));
    struct vq_report_story story = {.answer = standing_answer, .answer_ctx = &answers};
    struct vq_buf out;
    vq_buf_init(&out, VQ_HTML_BYTES_MAX);
    vq_report_html(r, &story, &out);
    enum vq_status status = out.status;
    if (status == VQ_OK) {
        status = vq_run_dir_write(run->dir, "results/report.html", vq_buf_span(&out), true, err);
    }
    vq_buf_free(&out);
    vq_view_end(&answers.view);
    return status;
}

static enum vq_status print_table(struct vq_run *run, const struct vq_report_input *r,
                                  struct vq_error *err)
{
    struct vq_terminal terminal;
    vq_terminal_of(STDOUT_FILENO, &terminal);
    struct vq_buf out;
    vq_buf_init(&out, 1u << 24);
    vq_report_table(r, &terminal, &out);
    vq_buf_printf(&out, "\n%s/results/report.html\n", vq_run_dir_path(run->dir));
    for (size_t i = VQ_COUNT(files); i > 0; i--) {
        vq_buf_printf(&out, "%s/%s\n", vq_run_dir_path(run->dir), files[i - 1].path);
    }
    enum vq_status status = out.status == VQ_OK ? print(&out, err) : out.status;
    vq_buf_free(&out);
    return status;
}

static enum vq_status report(struct vq_run *run, const struct vq_vibecheck_input *in,
                             const struct vq_vibecheck *result, struct vq_report_judge *judges,
                             struct vq_error *err)
{
    const struct vq_job *job = run->job;
    for (uint32_t i = 0; i < job->plan.grid.judges; i++) {
        judges[i].name = job->judges[i].name;
        judges[i].model = job->judges[i].model;
        judges[i].identity = job->identities[i];
    }
    VQ_TRY(collect_returned(run, judges, err));
    struct vq_report_input r = {
        .config = job->config,
        .dataset = job->dataset,
        .in = in,
        .result = result,
        .judges = judges,
        .judge_kind = job->judge_kind,
        .judge_template = vq_template_hash(job->templates[VQ_TEMPLATE_JUDGE]),
        .repair_template = job->templates[VQ_TEMPLATE_REPAIR] == NULL
                               ? NULL
                               : vq_template_hash(job->templates[VQ_TEMPLATE_REPAIR])};
    memcpy(r.data_hash, job->data_sha256, sizeof(r.data_hash));
    VQ_TRY(write_page(run, &r, err));
    VQ_TRY(write_files(run, &r, err));
    return run->options->json ? VQ_OK : print_table(run, &r, err);
}

enum vq_status vq_finish_results(struct vq_run *run, bool *ret_missing, struct vq_error *err)
{
    VQ_TRY(read_column(run, err));
    vq_stats_init();
    struct vq_vibecheck_input in = {.config = run->job->config,
                                    .grid = run->job->plan.grid,
                                    .outcomes = run->outcomes,
                                    .rows = run->job->rows,
                                    .axes = run->job->axes,
                                    .first_order = run->job->first_order};
    struct vq_vibecheck *result;
    VQ_TRY(vq_vibecheck_compute(&in, &result, err));
    uint32_t n = run->job->plan.grid.judges;
    struct vq_report_judge *judges = vq_alloc(n, sizeof(*judges));
    enum vq_status status = judges == NULL ? VQ_NOMEM : report(run, &in, result, judges, err);
    *ret_missing = result->cells_missing > 0;
    for (uint32_t i = 0; judges != NULL && i < n; i++) {
        for (uint32_t k = 0; k < judges[i].returned_count; k++) {
            char *name;
            memcpy(&name, &judges[i].returned[k], sizeof(name)); /* ours, though read-only there */
            vq_free(name);
        }
    }
    vq_free(judges);
    vq_vibecheck_destroy(&result);
    return status;
}

/* ---- accounting.json ---- */

static void count(struct vq_json *j, const char *key, uint64_t value)
{
    vq_json_key(j, key);
    vq_json_u64(j, value);
}

static void sums(struct vq_json *j, const struct vq_account_sums *s)
{
    count(j, "sent", s->sent);
    count(j, "answered", s->answered);
    vq_json_key(j, "failed");
    vq_json_object(j);
    for (int end = 0; end < VQ_END__COUNT; end++) {
        if (end != VQ_END_ANSWER &&
            end != VQ_END_UNKNOWN) { /* these two have counts of their own */
            count(j, vq_call_end_word((enum vq_call_end)end), s->failed[end]);
        }
    }
    vq_json_object_end(j);
    count(j, "unknown", s->unknown);
    count(j, "paid_unused", s->paid_unused);
    count(j, "tokens_in", s->tokens_in);
    count(j, "tokens_cached", s->tokens_cached);
    count(j, "tokens_out", s->tokens_out);
    count(j, "latency_ms", s->latency_ms);
}

static void account_json(const struct vq_run *run, const struct vq_account *a, uint64_t still_out,
                         struct vq_json *j)
{
    vq_json_object(j);
    count(j, "format", 1);
    vq_json_key(j, "run");
    vq_json_str(j, vq_run_dir_name(run->dir));
    vq_json_key(j, "calls");
    vq_json_object(j);
    count(j, "planned", a->all.planned);
    count(j, "first_sends", a->all.first_sends);
    count(j, "from_store", a->all.from_store);
    count(j, "saved_by_lazy_swap", a->all.saved_by_lazy_swap);
    count(j, "not_asked", a->all.not_asked);
    count(j, "retried", a->all.retried);
    count(j, "repairs", a->all.repairs);
    count(j, "asked_again", a->all.asked_again);
    count(j, "audit", a->all.audit);
    count(j, "not_sent", a->all.not_sent);
    count(j, "foreign", a->all.foreign);
    count(j, "still_out", still_out);
    sums(j, &a->all.sums);
    vq_json_object_end(j);
    vq_json_key(j, "cost_usd");
    if (a->priced) {
        vq_json_real(j, a->all.sums.cost_usd, 9);
    } else {
        vq_json_null(j);
    }
    vq_json_key(j, "models");
    vq_json_object(j);
    for (uint32_t i = 0; i < a->stages[0].judges_count; i++) {
        vq_json_key(j, run->job->judges[i].name);
        vq_json_object(j);
        sums(j, &a->stages[0].judges[i]);
        vq_json_object_end(j);
    }
    vq_json_object_end(j);
    vq_json_key(j, "workers");
    vq_json_object(j);
    for (size_t i = 0; i < a->workers_count; i++) {
        vq_json_key(j, a->workers[i].name);
        vq_json_object(j);
        sums(j, &a->workers[i].sums);
        vq_json_object_end(j);
    }
    vq_json_object_end(j);
    vq_json_key(j, "first_call_unix_ms");
    vq_json_i64(j, a->first_unix_ms);
    vq_json_key(j, "last_call_unix_ms");
    vq_json_i64(j, a->last_unix_ms);
    vq_json_object_end(j);
    vq_buf_putc(j->out, '\n');
}

static enum vq_status account(struct vq_run *run, struct vq_account **ret_account,
                              struct vq_error *err)
{
    uint32_t n = run->job->plan.grid.judges;
    uint64_t tasks = vq_grid_tasks(&run->job->plan.grid);
    struct vq_price *prices = vq_alloc(n, sizeof(*prices));
    uint8_t *outcomes = vq_alloc(tasks, 1);
    struct vq_view *view = NULL;
    enum vq_status status = prices == NULL || outcomes == NULL ? VQ_NOMEM : VQ_OK;
    for (uint64_t t = 0; status == VQ_OK && t < tasks; t++) {
        outcomes[t] = (uint8_t)vq_coord_outcome(run->coord, t);
    }
    for (uint32_t i = 0; status == VQ_OK && i < n; i++) {
        prices[i] = (struct vq_price){run->job->config->judges[i].price_input_usd,
                                      run->job->config->judges[i].price_output_usd};
    }
    if (status == VQ_OK) {
        status = vq_view_begin(run->calls, &view, err);
    }
    if (status == VQ_OK) {
        struct vq_account_plan stage = {&run->job->plan, outcomes, prices};
        status = vq_ledger_account(view, &run->owner.uid, &stage, 1, ret_account, err);
        vq_view_end(&view);
    }
    vq_free(prices);
    vq_free(outcomes);
    return status;
}

enum vq_status vq_finish_accounting(struct vq_run *run, struct vq_error *err)
{
    struct vq_account *a;
    VQ_TRY(account(run, &a, err));
    struct vq_coord_status status_now;
    vq_coord_status_fill(run->coord, vq_run_now(), &status_now);
    struct vq_buf out;
    struct vq_json json;
    vq_buf_init(&out, ACCOUNT_BYTES_MAX);
    vq_json_init(&json, &out, 2);
    account_json(run, a, status_now.calls_reserved, &json);
    vq_account_destroy(&a);
    enum vq_status status = out.status;
    if (status == VQ_OK) {
        status = vq_run_dir_write(run->dir, "accounting.json", vq_buf_span(&out), true, err);
    }
    vq_buf_free(&out);
    return status;
}
