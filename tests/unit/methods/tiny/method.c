/* A whole method in one file, as CONTRIBUTING.md ("Add a method") describes it: do the answers in
 * column A greet? One stage, one criterion, one number. Only a test links it, beside a list of
 * methods with one more row (CMakeLists.txt). */
#include "common/base/alloc.h"
#include "common/judge/verdict.h"
#include "methods/files/files.h"
#include "methods/files/method_type.h"

#include <string.h>

struct tiny { /* the script's state */
    struct vq_sample *items;
    uint32_t items_count;
    struct vq_stage stage;
    bool taken;
    uint32_t answers, greet;
};

/* ---- the job ---- */

static enum vq_status load(struct vq_job *job, const struct vq_run_dir *run, struct vq_error *err)
{
    VQ_TRY(vq_job_load_tables(job, run, err));
    return vq_table_column(job->tables[0], vq_span_str(job->config->models[0])) != VQ_COLUMN_NONE
               ? VQ_OK
               : vq_fail(err, VQ_INVALID, "%s has no column %s", job->config->data.path,
                         job->config->models[0]);
}

static enum vq_status keep(const struct vq_job *job, const struct vq_run_dir *run,
                           struct vq_error *err)
{
    (void)job; /* the data's copy is all there is, and the job makes it */
    (void)run;
    (void)err;
    return VQ_OK;
}

/* ---- the script ---- */

static enum vq_status next(void *ctx, const struct vq_stage **ret_stage, struct vq_error *err)
{
    const struct tiny *t = ctx;
    (void)err;
    *ret_stage = t->taken ? NULL : &t->stage;
    return VQ_OK;
}

static enum vq_status take_outcomes(void *ctx, const uint8_t *outcomes, size_t count,
                                    struct vq_error *err)
{
    struct tiny *t = ctx;
    (void)err;
    for (size_t i = 0; i < count; i++) {
        t->answers += vq_outcome_is_rating((enum vq_outcome)outcomes[i]) ? 1 : 0;
        t->greet += outcomes[i] == VQ_OUTCOME_YES ? 1 : 0;
    }
    t->taken = true;
    return VQ_OK;
}

static void close_script(void *state)
{
    struct tiny *t = state;
    vq_free(t->items);
    vq_free(t);
}

static enum vq_status open_script(const struct vq_job *job, void **ret_state,
                                  struct vq_script *ret_script, struct vq_error *err)
{
    static const struct vq_script_ops ops = {.next = next, .take_outcomes = take_outcomes};
    static const struct vq_axis criterion = {"greets", "Does the response greet the reader?", ""};
    const struct vq_table *table = job->tables[0];
    uint32_t column = vq_table_column(table, vq_span_str(job->config->models[0]));
    struct tiny *t = vq_alloc(1, sizeof(*t));
    struct vq_sample *items = vq_alloc(table->rows_count, sizeof(*items));
    if (t == NULL || items == NULL) {
        vq_free(t);
        vq_free(items);
        return vq_fail(err, VQ_NOMEM, "out of memory");
    }
    for (uint32_t i = 0; i < table->rows_count; i++) {
        items[i].a = vq_table_cell(table, i, column);
    }
    *t = (struct tiny){.items = items,
                       .stage = {.name = "greetings",
                                 .kind = VQ_STAGE_BINARY,
                                 .role = VQ_ROLE_JUDGE,
                                 .axes = &criterion,
                                 .axes_count = 1,
                                 .items = items,
                                 .items_count = table->rows_count}};
    *ret_state = t;
    *ret_script = (struct vq_script){&ops, t};
    return VQ_OK;
}

/* ---- the results ---- */

static void json(const void *of, struct vq_buf *out)
{
    const struct tiny *t = of;
    vq_buf_printf(out, "{\"answers\": %u, \"greet\": %u}\n", t->answers, t->greet);
}

static enum vq_status results(const struct vq_results *of, bool *ret_missing, struct vq_error *err)
{
    static const struct vq_result_file files[] = {{"results.json", .whole = json}};
    const struct tiny *t = of->method->state;
    *ret_missing = t->answers < t->items_count * of->job->cast[VQ_ROLE_JUDGE].count;
    return vq_result_files(of, files, VQ_COUNT(files), t, 0, err);
}

static const char *const tables[] = {NULL};

extern const struct vq_method_type vq_tiny_method;
const struct vq_method_type vq_tiny_method = {.load = load,
                                              .keep = keep,
                                              .open = open_script,
                                              .close = close_script,
                                              .results = results,
                                              .tables = tables,
                                              .no_rows = "method: tiny, which shows no prompts",
                                              .no_vibes = "method: tiny, which has none"};
