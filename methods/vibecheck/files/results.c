/* Computes numbers from the method's result, and writes them to files. Invariant: each file is
 * written whole or not at all, results.json last, so that an interrupted end can be repeated. Reads
 * the store, never writes it. */
#include "methods/files/files.h"

#include "common/base/alloc.h"
#include "common/text/file.h"
#include "common/text/utf8.h"
#include "coordinator/store/calls/lookup.h"
#include "methods/report/html/html.h"
#include "methods/vibecheck/files/files.h"
#include "methods/vibecheck/files/job.h"
#include "methods/vibecheck/files/people.h"
#include "methods/vibecheck/forecast.h"
#include "methods/vibecheck/numbers/cascade.h"
#include "methods/vibecheck/report/report.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* All rankings as one grid, in which numbers and their stored answers are looked up. */
struct whole {
    const struct vq_results *of;
    const struct vq_vibecheck_method_result *method;
    struct vq_stage_grid *asking;
    struct vq_view *view;
    struct vq_arena memory;
    struct vq_buf joint[VQ_TEMPLATE_PART__COUNT]; /* the joint prompt that is looked for */
    /* people's labels of vibes that are not in the run */
    uint32_t labels_of_others;
};

static enum vq_status open_whole(struct whole *w, struct vq_error *err)
{
    const struct vq_job *job = w->of->job;
    uint32_t *rows;
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, rows, job->samples_count));
    for (uint32_t i = 0; i < job->samples_count; i++) {
        rows[i] = i;
    }
    w->method = vq_vibecheck_method_result(w->of->method->state);
    struct vq_stage stage = {.name = "results",
                             .kind = VQ_STAGE_RANK,
                             .role = VQ_ROLE_JUDGE,
                             .rows = rows,
                             .rows_count = job->samples_count,
                             .axes = w->method->axes,
                             .axes_count = w->method->axes_count};
    struct vq_grid_source source = vq_job_source(job);
    VQ_TRY(vq_stage_grid_create(&source, &stage, &w->asking, err));
    return vq_view_begin(w->of->calls, &w->view, err);
}

static void close_whole(struct whole *w)
{
    vq_buf_free(&w->joint[VQ_TEMPLATE_SYSTEM]);
    vq_buf_free(&w->joint[VQ_TEMPLATE_USER]);
    vq_view_end(&w->view);
    vq_stage_grid_destroy(&w->asking);
    vq_arena_clear(&w->memory);
}

/* ---- joint calls ---- */

/* The stored answer to the joint call that asked this vibe, and the vibe's number in it.
 * VQ_NOT_FOUND: there is none. */
static enum vq_status joint_answer(struct whole *w, const struct vq_cell *cell,
                                   struct vq_answer *ret_answer, uint32_t *ret_number,
                                   struct vq_error *err)
{
    static const struct vq_axis no_axis = {"", "", ""}; /* as every text is asked (stage_grid.c) */
    struct vq_buf *system = &w->joint[VQ_TEMPLATE_SYSTEM];
    struct vq_buf *user = &w->joint[VQ_TEMPLATE_USER];
    vq_buf_clear(system);
    vq_buf_clear(user);
    if (!vq_vibecheck_method_joint_prompt(w->of->method->state, cell->sample, cell->vibe,
                                          cell->order, system, user, ret_number)) {
        return VQ_NOT_FOUND;
    }
    struct vq_sample sample = {.prompt = vq_buf_span(user),
                               .a = vq_buf_span(system),
                               .image = w->of->job->samples[cell->sample].image};
    struct vq_sample_id id;
    struct vq_asker asker;
    vq_sample_identify(&sample, &id);
    vq_asker_init(&asker, &w->asking->cast->judges[cell->judge],
                  w->of->job->templates[VQ_TEMPLATE_AS_IS], NULL);
    enum vq_status status = VQ_NOT_FOUND;
    for (uint32_t r = 0; status == VQ_NOT_FOUND && r <= w->asking->plan.generation; r++) {
        struct vq_hash request;
        vq_request_hash(&asker, &id, &no_axis, 0, r, &request);
        status = vq_lookup_answer(w->view, &request, ret_answer, err);
    }
    return status;
}

/* ---- model names that the providers returned ---- */

static enum vq_status returned_of_task(struct whole *w, uint64_t task,
                                       struct vq_report_judge *judge, struct vq_error *err)
{
    const struct vq_plan *plan = &w->asking->plan;
    for (uint32_t repeat = 0; repeat <= plan->generation; repeat++) {
        struct vq_hash request;
        struct vq_answer answer;
        vq_plan_request(plan, task, repeat, &request);
        enum vq_status status = vq_lookup_answer(w->view, &request, &answer, err);
        if (status == VQ_OK) {
            vq_result_returned(judge, answer.model, &w->memory);
        } else if (status != VQ_NOT_FOUND) {
            return status;
        }
    }
    return VQ_OK;
}

/* Reads a joint call only for its first vibe. */
static enum vq_status returned_of_joint(struct whole *w, uint64_t task,
                                        struct vq_report_judge *judge, struct vq_error *err)
{
    struct vq_cell cell = vq_grid_cell(&w->asking->plan.grid, task);
    struct vq_answer answer;
    uint32_t number;
    bool first = vq_vibecheck_method_joint_prompt(w->of->method->state, cell.sample, cell.vibe,
                                                  cell.order, NULL, NULL, &number) &&
                 number == 1;
    enum vq_status status = first ? joint_answer(w, &cell, &answer, &number, err) : VQ_NOT_FOUND;
    if (status == VQ_OK) {
        vq_result_returned(judge, answer.model, &w->memory);
    }
    return status == VQ_NOT_FOUND ? VQ_OK : status;
}

static enum vq_status collect_returned(struct whole *w, struct vq_report_judge *judges,
                                       struct vq_error *err)
{
    const struct vq_grid *g = &w->asking->plan.grid;
    bool joint = w->of->job->config->judging.vibes_per_call > 1;
    uint64_t tasks = vq_grid_tasks(g);
    for (uint64_t t = 0; t < tasks; t++) {
        if (vq_outcome_is_answered((enum vq_outcome)w->method->outcomes[t])) {
            struct vq_report_judge *judge = &judges[vq_grid_cell(g, t).judge];
            VQ_TRY(returned_of_task(w, t, judge, err));
            if (joint) {
                VQ_TRY(returned_of_joint(w, t, judge, err));
            }
        }
    }
    return VQ_OK;
}

/* ---- files ---- */

static void vibes_csv(const void *r, struct vq_buf *out)
{
    vq_report_vibes_csv(r, out);
}

static void scores_csv(const void *r, uint32_t from, uint32_t until, struct vq_buf *out)
{
    vq_report_scores_csv(r, from, until, out);
}

static void rows_csv(const void *r, uint32_t from, uint32_t until, struct vq_buf *out)
{
    vq_report_rows_csv(r, from, until, out);
}

static void json(const void *r, struct vq_buf *out)
{
    vq_report_json(r, out);
}

static const struct vq_result_file files[] = {
    {"vibes.csv", .whole = vibes_csv},
    {"scores.csv", .rows = scores_csv},
    {"rows.csv", .rows = rows_csv},
    {"results.json", .whole = json}, /* last: if it exists, all other files exist */
};

/* ---- the page ---- */

static bool standing_answer(void *ctx, uint32_t sample, uint32_t vibe, uint32_t judge,
                            uint32_t order, struct vq_span *ret_text)
{
    struct whole *w = ctx;
    const struct vq_plan *plan = &w->asking->plan;
    struct vq_cell cell = {sample, judge, vibe, order};
    uint64_t task = vq_grid_task(&plan->grid, cell);
    struct vq_answer answer;
    bool repaired;
    struct vq_error ignored = {0}; /* the page shows the row without an answer */
    enum vq_status status =
        vq_lookup_standing(w->view, plan, w->of->run, task, &answer, &repaired, &ignored);
    if (status == VQ_NOT_FOUND && w->of->job->config->judging.vibes_per_call > 1) {
        uint32_t number; /* the whole joint answer is shown, with its numbered lines */
        status = joint_answer(w, &cell, &answer, &number, &ignored);
    }
    if (status == VQ_OK) {
        *ret_text = answer.answer;
    }
    return status == VQ_OK;
}

/* The numbers of the preset vibes, if they were scored beside the discovered ones; else
 * *ret_presets stays NULL. */
static enum vq_status compute_presets(const struct vq_vibecheck_method_result *method,
                                      const struct vq_report_input *r,
                                      struct vq_vibecheck **ret_presets, struct vq_error *err)
{
    if (method->preset_outcomes == NULL) {
        return VQ_OK;
    }
    struct vq_vibecheck_input in = *r->in;
    in.grid.vibes = method->preset_axes_count;
    in.axes = method->preset_axes;
    in.outcomes = method->preset_outcomes;
    in.people = NULL;
    in.stopped_early = NULL;
    return vq_vibecheck_compute(&in, ret_presets, err);
}

/* The price per call comes from the calls that the run sent. */
static struct vq_report_saved saved_of(const struct vq_results *of, const struct vq_report_input *r)
{
    struct vq_result_pair p;
    double everywhere = vq_cascade_everywhere(&r->result->cascade);
    bool known = r->in->cascade != NULL && vq_result_pair(of, VQ_SECOND_ENDING, &p) && p.sent > 0 &&
                 !isnan(everywhere);
    if (!known) {
        return (struct vq_report_saved){.known = false};
    }
    return (struct vq_report_saved){.known = true,
                                    .spent_usd = p.usd_before + p.usd,
                                    .everywhere_usd = p.usd / (double)p.sent * everywhere};
}

static enum vq_status write_page(struct whole *w, const struct vq_report_input *r,
                                 struct vq_error *err)
{
    struct vq_report_calls calls;
    struct vq_vibecheck *presets = NULL;
    VQ_TRY(compute_presets(w->method, r, &presets, err));
    bool counted = vq_result_calls(w->of, &calls);
    struct vq_report_story story = {.method = w->method,
                                    .presets = presets,
                                    .calls = counted ? &calls : NULL,
                                    .saved = saved_of(w->of, r),
                                    .answer = standing_answer,
                                    .answer_ctx = w};
    struct vq_buf out;
    vq_buf_init(&out, VQ_PAGE_BYTES_MAX);
    vq_report_html(r, &story, &out);
    enum vq_status status = vq_result_page(w->of, &out, err);
    vq_vibecheck_destroy(&presets);
    return status;
}

static enum vq_status print_table(const struct vq_results *of, const struct vq_report_input *r,
                                  struct vq_error *err)
{
    struct vq_terminal terminal;
    vq_terminal_of(STDOUT_FILENO, &terminal);
    struct vq_buf out;
    vq_buf_init(&out, 1u << 24);
    vq_report_table(r, &terminal, &out);
    struct vq_report_calls calls;
    struct vq_report_saved saved = saved_of(of, r);
    vq_report_saved_line(&saved, &out);
    if (vq_result_calls(of, &calls)) {
        vq_buf_puts(&out, calls.notes);
    }
    vq_buf_putc(&out, '\n');
    enum vq_status status = vq_result_files_print(of, files, VQ_COUNT(files), &out, err);
    vq_buf_free(&out);
    return status;
}

static enum vq_status report(struct whole *w, const struct vq_vibecheck_input *in,
                             const struct vq_vibecheck *result, struct vq_error *err)
{
    const struct vq_job *job = w->of->job;
    struct vq_report_judge *judges;
    VQ_TRY(vq_result_judges(w->asking->cast, &w->memory, &judges));
    VQ_TRY(collect_returned(w, judges, err));
    struct vq_report_input r = {
        .config = job->config,
        .dataset = job->dataset,
        .in = in,
        .result = result,
        .method = w->method,
        .judges = judges,
        .judge_kind = job->judge_kind,
        .judge_template = vq_template_hash(
            job->templates[job->config->judging.vibes_per_call > 1 ? VQ_TEMPLATE_JUDGE_MANY
                                                                   : VQ_TEMPLATE_JUDGE]),
        .repair_template = job->templates[VQ_TEMPLATE_REPAIR] == NULL
                               ? NULL
                               : vq_template_hash(job->templates[VQ_TEMPLATE_REPAIR]),
        .human_hash = job->config->human == NULL ? NULL : vq_vibecheck_job_of(job)->human.sha256,
        .labels_of_others = w->labels_of_others};
    memcpy(r.data_hash, job->data_sha256, sizeof(r.data_hash));
    if (w->of->differs == NULL) {
        VQ_TRY(write_page(w, &r, err));
    }
    VQ_TRY(vq_result_files(w->of, files, VQ_COUNT(files), &r, in->grid.samples, err));
    return w->of->json || w->of->silent ? VQ_OK : print_table(w->of, &r, err);
}

/* One per sample; in characters plus 1, so that an empty output has a ratio. */
static enum vq_status lengths(struct whole *w, uint32_t samples, const double **ret_lengths)
{
    const struct vq_job *job = w->of->job;
    double *out = NULL;
    if (job->config->regression.length) {
        VQ_TRY(VQ_ARENA_ALLOC(&w->memory, out, samples));
        for (uint32_t i = 0; i < samples; i++) {
            double a = (double)vq_utf8_count(job->samples[i].a) + 1.0;
            double b = (double)vq_utf8_count(job->samples[i].b) + 1.0;
            out[i] = log(a / b);
        }
    }
    *ret_lengths = out;
    return VQ_OK;
}

static enum vq_status results(struct whole *w, bool *ret_missing, struct vq_error *err)
{
    const struct vq_vibecheck_method_result *m = w->method;
    struct vq_vibecheck_input in = {.config = w->of->job->config,
                                    .grid = w->asking->plan.grid,
                                    .outcomes = m->outcomes,
                                    .cascade = m->cascade,
                                    .rows = m->rows,
                                    .axes = m->axes,
                                    .first_order = w->asking->first_order,
                                    .stopped_early = m->stopped_early};
    struct vq_vibecheck *result = NULL;
    struct vq_label_frame frame = vq_vibecheck_label_frame(w->of->job, m->axes, m->axes_count);
    int8_t *people;
    VQ_TRY(lengths(w, in.grid.samples, &in.lengths));
    VQ_TRY(vq_people_load(w->of->job, w->of->dir, &frame, &people, &w->labels_of_others, err));
    in.people = people;
    enum vq_status status = vq_vibecheck_compute(&in, &result, err);
    in.lengths = NULL; /* no function after the numbers uses them */
    if (status == VQ_OK) {
        *ret_missing = result->cells_missing > 0;
        status = report(w, &in, result, err);
    }
    vq_vibecheck_destroy(&result);
    vq_free(people);
    return status;
}

enum vq_status vq_vibecheck_results(const struct vq_results *of, bool *ret_missing,
                                    struct vq_error *err)
{
    struct whole w = {.of = of};
    vq_buf_init(&w.joint[VQ_TEMPLATE_SYSTEM], VQ_RENDER_BYTES_MAX);
    vq_buf_init(&w.joint[VQ_TEMPLATE_USER], VQ_RENDER_BYTES_MAX);
    enum vq_status status = open_whole(&w, err);
    if (status == VQ_OK) {
        status = results(&w, ret_missing, err);
    }
    close_whole(&w);
    return status;
}
