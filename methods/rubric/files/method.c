/* The registration of the rubric method (`method: judge`): its job, script and results, and the
 * lines that the terminal shows before anything is sent. Not its job: reading criteria (job.c),
 * results (results.c). */
#include "methods/files/method_type.h"

#include "common/base/alloc.h"
#include "common/text/fmt.h"
#include "methods/rubric/files/job.h"

/* ---- the job ---- */

const struct vq_rubric_job *vq_rubric_job_of(const struct vq_job *job)
{
    return job->method == &vq_rubric_method ? job->own : NULL;
}

static enum vq_status load(struct vq_job *job, const struct vq_run_dir *run, struct vq_error *err)
{
    struct vq_rubric_job *own;
    VQ_TRY(VQ_ALLOC(own, 1));
    job->own = own;
    VQ_TRY(vq_job_load_tables(job, run, err));
    VQ_TRY(vq_rubric_job_load(own, job->config, job->tables[0], run, err));
    for (uint32_t i = 0; i < own->data->rows_count; i++) {
        struct vq_rubric_row *row = &own->data->rows[i];
        VQ_TRY(vq_job_load_image(job, 0, row->record, &row->image, err));
    }
    return VQ_OK;
}

static enum vq_status make(const struct vq_job *job, struct vq_rubric **ret_rubric,
                           struct vq_error *err)
{
    return vq_rubric_job_make(vq_rubric_job_of(job), job->config, job->cast[VQ_ROLE_JUDGE].count,
                              ret_rubric, err);
}

enum vq_status vq_rubric_give(struct vq_job *job, uint32_t criterion, struct vq_error *err)
{
    struct vq_rubric *rubric;
    struct vq_stage_grid *given = NULL;
    VQ_TRY(make(job, &rubric, err));
    struct vq_grid_source source = vq_job_source(job);
    enum vq_status status =
        vq_stage_grid_create(&source, vq_rubric_stage_of(rubric, criterion), &given, err);
    vq_rubric_destroy(&rubric); /* the stage grid borrows texts of the table, not of the rubric */
    if (status == VQ_OK) {
        vq_stage_grid_destroy(&job->given);
        job->given = given;
    }
    return status;
}

static enum vq_status prepare(struct vq_job *job, struct vq_error *err)
{
    return vq_rubric_give(job, 0, err);
}

static enum vq_status keep(const struct vq_job *job, const struct vq_run_dir *run,
                           struct vq_error *err)
{
    return vq_rubric_job_keep(vq_rubric_job_of(job), job->config, run, err);
}

static void unload(struct vq_job *job)
{
    vq_rubric_job_free(job->own, job->config);
}

static int64_t record(const struct vq_job *job, const struct vq_stage_grid *grid, uint32_t sample)
{
    uint32_t outputs = grid->kind == VQ_STAGE_PAIRWISE ? 1 : job->config->models_count;
    return vq_stage_rates(grid->kind)
               ? (int64_t)vq_rubric_job_of(job)->data->rows[sample / outputs].record
               : -1;
}

static const char *output(const struct vq_job *job, const struct vq_stage_grid *grid,
                          uint32_t sample)
{
    bool one = vq_stage_rates(grid->kind) && grid->kind != VQ_STAGE_PAIRWISE;
    return one ? job->config->models[sample % job->config->models_count] : NULL;
}

/* ---- the script ---- */

static enum vq_status open_script(const struct vq_job *job, void **ret_state,
                                  struct vq_script *ret_script, struct vq_error *err)
{
    struct vq_rubric *rubric;
    VQ_TRY(make(job, &rubric, err));
    *ret_state = rubric;
    *ret_script = vq_rubric_script(rubric);
    return VQ_OK;
}

static void close_script(void *state)
{
    struct vq_rubric *rubric = state;
    vq_rubric_destroy(&rubric);
}

/* ---- what the terminal shows ---- */

static void show_size(const struct vq_job *job, struct vq_buf *out)
{
    uint32_t rows = vq_rubric_job_of(job)->data->rows_count;
    vq_buf_printf(out, "%u row%s", rows, vq_fmt_plural(rows));
}

static void show_size_json(const struct vq_job *job, struct vq_json *json)
{
    vq_json_put_u64(json, "rows", vq_rubric_job_of(job)->data->rows_count);
}

/* Some built-in criteria are about a character, so the prompt must name the character. */
static void show_characters(const struct vq_job *job, struct vq_buf *out)
{
    static const char *const about[] = {"knowledge", "style", "in_character", "role_specific"};
    const struct vq_rubric_data *d = vq_rubric_job_of(job)->data;
    uint32_t without = 0;
    for (uint32_t i = 0; i < d->rows_count; i++) {
        struct vq_span prompt = d->rows[i].prompt;
        without += prompt.bytes == 0 || memmem(prompt.at, prompt.bytes, "<role>", 6) == NULL;
    }
    for (uint32_t i = 0; without > 0 && i < job->config->criteria_count; i++) {
        const struct vq_conf_criterion *c = &job->config->criteria[i];
        for (size_t k = 0; k < VQ_COUNT(about); k++) {
            if (c->file == NULL && c->rubric == NULL && strcmp(c->name, about[k]) == 0) {
                vq_buf_printf(out,
                              "  warning: %s is about a character, and %u of %u prompts name none "
                              "(<role>); docs/method/judge.md says how\n",
                              c->name, without, d->rows_count);
            }
        }
    }
}

static void show_data(const struct vq_job *job, struct vq_buf *out)
{
    const struct vq_rubric_data *d = vq_rubric_job_of(job)->data;
    char n[VQ_FMT_BYTES];
    vq_buf_printf(out, "%s: %s record%s\n", job->config->data.path, vq_fmt_count(d->records, n),
                  vq_fmt_plural(d->records));
    if (d->rows_count < d->records) {
        vq_buf_printf(out, "  %-28s %6u -> %u\n", "limit", d->records, d->rows_count);
    }
    for (uint32_t o = 0; o < d->outputs_count; o++) {
        if (d->blank[o] > 0) {
            vq_buf_printf(out, "  warning: %s is empty in %u row%s not rated\n",
                          job->config->models[o], d->blank[o],
                          vq_fmt_form(d->blank[o], ", which is", "s, which are"));
        }
    }
    for (uint32_t i = 0; i < d->warnings_count; i++) {
        vq_buf_printf(out, "  warning: %s\n", d->warnings[i]);
    }
    show_characters(job, out);
    for (uint32_t i = 0; i < job->config->judges_count && job->config->rating.repeats > 1; i++) {
        const struct vq_conf_judge *judge = &job->config->judges[i];
        if (judge->send_temperature && judge->temperature <= 0) {
            vq_buf_printf(out,
                          "  note: %s gets each question %u times at temperature 0, and can give "
                          "the same answer each time\n",
                          judge->name, job->config->rating.repeats);
        }
    }
    for (uint32_t i = 0; i < job->config->criteria_count; i++) {
        if (job->config->criteria[i].human_count > 0) {
            vq_buf_printf(out, "  %s: %u labels by people\n", job->config->criteria[i].name,
                          d->labelled[i]);
        }
    }
}

static void show_calls(const struct vq_job *job, const struct vq_forecast *f, struct vq_buf *out)
{
    const struct vq_config *c = job->config;
    const struct vq_rubric_data *d = vq_rubric_job_of(job)->data;
    uint32_t of_kind[3] = {0}, judges = job->given->plan.grid.judges;
    char n[VQ_FMT_BYTES];
    for (uint32_t i = 0; i < c->criteria_count; i++) {
        of_kind[vq_rubric_job_of(job)->criteria[i].kind]++;
    }
    vq_forecast_show_total(f, out);
    uint32_t single = of_kind[VQ_RATING_LIKERT] + of_kind[VQ_RATING_BINARY];
    uint32_t pairs = of_kind[VQ_RATING_PAIRWISE];
    vq_buf_printf(out, "  %-10s %9s calls: %u row%s", "rating",
                  vq_fmt_count(vq_forecast_calls_of(f, VQ_ROLE_JUDGE), n), d->rows_count,
                  vq_fmt_plural(d->rows_count));
    if (single > 0) {
        vq_buf_printf(out, " x %u output%s x %u criteri%s", d->outputs_count,
                      vq_fmt_plural(d->outputs_count), single, vq_fmt_form(single, "on", "a"));
    }
    if (pairs > 0) {
        vq_buf_printf(out, "%s x %u pairwise criteri%s%s", single > 0 ? ", rows" : "", pairs,
                      vq_fmt_form(pairs, "on", "a"),
                      c->rating.positions == VQ_POSITIONS_BOTH ? " x 2 orders" : "");
    }
    vq_buf_printf(out, "; %u judge%s", judges, vq_fmt_plural(judges));
    if (c->rating.repeats > 1) {
        vq_buf_printf(out, ", %u times each", c->rating.repeats);
    }
    vq_buf_printf(out, "\n");
}

static const char *const tables[] = {"items", "ratings", NULL};

const struct vq_method_type vq_rubric_method = {
    .load = load,
    .prepare = prepare,
    .keep = keep,
    .unload = unload,
    .open = open_script,
    .close = close_script,
    .record = record,
    .output = output,
    .results = vq_rubric_results_write,
    .tables = tables,
    .show_size = show_size,
    .show_size_json = show_size_json,
    .show_data = show_data,
    .show_calls = show_calls,
    .no_vibes = "method: judge, which rates outputs by criteria and has none; its numbers are in "
                "results.json and report.html, its ratings in ratings.csv"};
