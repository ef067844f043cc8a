/* Makes readings of the stored answers of a rubric run, numbers of the readings, and files of the
 * numbers. Answers are read again by the run's policy, so that one store always gives the same
 * bytes. Reads the store, never writes it. */
#include "methods/files/files.h"

#include "common/base/alloc.h"
#include "coordinator/store/calls/lookup.h"
#include "methods/report/html/html.h"
#include "methods/rubric/files/job.h"
#include "methods/rubric/report/report.h"

#include <math.h>
#include <unistd.h>

#define KINDS 3u

struct ratings {
    const struct vq_results *of;
    const struct vq_rubric *rubric;
    struct vq_stage_grid *askings
        [KINDS]; /* of the first stage of each kind; later stages differ only in their repeats */
    struct vq_view *view;
    struct vq_rubric_reading *readings; /* by slot */
    struct vq_report_judge *judges;
    struct vq_arena memory;
    struct vq_error *err;
};

static void json(const void *r, struct vq_buf *out)
{
    vq_rubric_report_json(r, out);
}

static void csv(const void *r, uint32_t from, uint32_t until, struct vq_buf *out)
{
    vq_rubric_report_csv(r, from, until, out);
}

static void items(const void *r, uint32_t from, uint32_t until, struct vq_buf *out)
{
    vq_rubric_report_items_csv(r, from, until, out);
}

static const struct vq_result_file files[] = {
    {"items.csv", .rows = items},
    {"ratings.csv", .rows = csv},
    {"results.json", .whole = json}, /* last: if it exists, all other files exist */
};

/* ---- reading ---- */

/* The plan by which a stage's requests are found in the store. */
static struct vq_plan plan_of(const struct ratings *w, const struct vq_stage *stage)
{
    struct vq_plan plan = w->askings[stage->kind - VQ_STAGE_LIKERT]->plan;
    plan.stage = stage->no;
    plan.repeat = stage->repeat * VQ_REPEAT_RETEST;
    return plan;
}

/* Reads the answer that is in force for a question. */
static enum vq_status read_answer(struct ratings *w, const struct vq_plan *plan, uint64_t task,
                                  const struct vq_rubric_place *place,
                                  struct vq_rubric_reading *ret_reading,
                                  struct vq_span *ret_reasoning, struct vq_error *err)
{
    struct vq_answer answer;
    bool repaired;
    VQ_TRY(vq_lookup_standing(w->view, plan, w->of->run, task, &answer, &repaired, err));
    vq_rubric_read(vq_rubric_input(w->rubric), place, w->of->job->config->seed, answer.answer,
                   answer.finish_reason, answer.refusal, ret_reading, ret_reasoning);
    vq_result_returned(&w->judges[place->judge], answer.model, &w->memory);
    return VQ_OK;
}

static enum vq_status read_stage(struct ratings *w, uint32_t stage)
{
    const struct vq_plan plan = plan_of(w, vq_rubric_stage(w->rubric, stage));
    uint64_t tasks = vq_grid_tasks(&plan.grid);
    for (uint64_t t = 0; t < tasks; t++) {
        struct vq_rubric_place place = vq_rubric_place(w->rubric, stage, t);
        size_t slot = vq_rubric_slot(w->rubric, &place);
        enum vq_outcome outcome = (enum vq_outcome)vq_rubric_outcomes(w->rubric)[slot];
        struct vq_span reasoning;
        if (!vq_plan_asks(&plan, t)) {
            w->readings[slot] = vq_rubric_unread(VQ_OUTCOME_NOT_NEEDED);
        } else if (vq_outcome_is_answered(outcome)) {
            VQ_TRY(read_answer(w, &plan, t, &place, &w->readings[slot], &reasoning, w->err));
        } else {
            w->readings[slot] = vq_rubric_unread(outcome);
        }
    }
    return VQ_OK;
}

static bool reasoning_of(void *ctx, const struct vq_rubric_place *place, struct vq_span *ret_text)
{
    struct ratings *w = ctx;
    struct vq_rubric_reading reading;
    struct vq_error ignored = {0}; /* the report shows the rating without its reasoning */
    uint32_t stage;
    uint64_t task = vq_rubric_task(w->rubric, place, &stage);
    size_t slot = vq_rubric_slot(w->rubric, place);
    struct vq_plan plan = plan_of(w, vq_rubric_stage(w->rubric, stage));
    return vq_outcome_is_answered((enum vq_outcome)vq_rubric_outcomes(w->rubric)[slot]) &&
           read_answer(w, &plan, task, place, &reading, ret_text, &ignored) == VQ_OK;
}

static enum vq_status open_ratings(struct ratings *w)
{
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, w->readings, vq_rubric_slots(w->rubric)));
    VQ_TRY(vq_result_judges(&w->of->job->cast[VQ_ROLE_JUDGE], &w->memory, &w->judges));
    for (size_t i = 0; i < vq_rubric_slots(w->rubric); i++) {
        w->readings[i] = vq_rubric_unread(VQ_OUTCOME_NOT_NEEDED);
    }
    VQ_TRY(vq_view_begin(w->of->calls, &w->view, w->err));
    for (uint32_t i = 0; i < vq_rubric_stages_count(w->rubric); i++) {
        const struct vq_stage *stage = vq_rubric_stage(w->rubric, i);
        struct vq_stage_grid **asking = &w->askings[stage->kind - VQ_STAGE_LIKERT];
        if (*asking == NULL) {
            struct vq_grid_source source = vq_job_source(w->of->job);
            VQ_TRY(vq_stage_grid_create(&source, stage, asking, w->err));
        }
        VQ_TRY(read_stage(w, i));
    }
    return VQ_OK;
}

static void close_ratings(struct ratings *w)
{
    vq_view_end(&w->view);
    for (uint32_t i = 0; i < KINDS; i++) {
        vq_stage_grid_destroy(&w->askings[i]);
    }
    vq_arena_clear(&w->memory);
}

/* ---- writing ---- */

static enum vq_status print_table(const struct vq_results *of, const struct vq_rubric_report *r,
                                  struct vq_error *err)
{
    struct vq_terminal terminal;
    vq_terminal_of(STDOUT_FILENO, &terminal);
    struct vq_buf out;
    vq_buf_init(&out, 1u << 24);
    vq_rubric_report_table(r, &terminal, &out);
    vq_buf_putc(&out, '\n');
    enum vq_status status = vq_result_files_print(of, files, VQ_COUNT(files), &out, err);
    vq_buf_free(&out);
    return status;
}

static enum vq_status write_page(const struct vq_results *of, const struct vq_rubric_report *r,
                                 struct vq_error *err)
{
    struct vq_buf out;
    vq_buf_init(&out, VQ_PAGE_BYTES_MAX);
    vq_rubric_report_html(r, &out);
    return vq_result_page(of, &out, err);
}

static enum vq_status write_all(struct ratings *w, const struct vq_rubric_numbers *numbers)
{
    const struct vq_job *job = w->of->job;
    struct vq_report_calls calls;
    bool counted = vq_result_calls(w->of, &calls);
    struct vq_rubric_report r = {.config = job->config,
                                 .rubric = w->rubric,
                                 .data = vq_rubric_job_of(job)->data,
                                 .numbers = numbers,
                                 .readings = w->readings,
                                 .judges = w->judges,
                                 .judge_kind = job->judge_kind,
                                 .data_hash = job->data_sha256[0],
                                 .reasoning = reasoning_of,
                                 .reasoning_ctx = w,
                                 .calls = counted ? &calls : NULL};
    for (uint32_t i = 0; i < KINDS; i++) {
        r.templates[i] = w->askings[i] == NULL ? NULL : vq_template_hash(w->askings[i]->template);
    }
    if (w->of->differs == NULL) {
        VQ_TRY(write_page(w->of, &r, w->err));
    }
    VQ_TRY(vq_result_files(w->of, files, VQ_COUNT(files), &r,
                           vq_rubric_job_of(job)->data->rows_count, w->err));
    return w->of->json || w->of->silent ? VQ_OK : print_table(w->of, &r, w->err);
}

enum vq_status vq_rubric_results_write(const struct vq_results *results, bool *ret_missing,
                                       struct vq_error *err)
{
    const struct vq_job *job = results->job;
    struct ratings w = {.of = results, .rubric = results->method->state, .err = err};
    struct vq_rubric_numbers *numbers = NULL;
    enum vq_status status = open_ratings(&w);
    if (status == VQ_OK) {
        struct vq_rubric_numbers_input input = {.rubric = w.rubric,
                                                .data = vq_rubric_job_of(job)->data,
                                                .readings = w.readings,
                                                .seed = job->config->seed,
                                                .draws = job->config->regression.bootstrap_draws};
        status = vq_rubric_compute(&input, &numbers, err);
    }
    if (status == VQ_OK) {
        status = write_all(&w, numbers);
    }
    if (status == VQ_OK) {
        *ret_missing = numbers->missing > 0;
    }
    vq_rubric_numbers_destroy(&numbers);
    close_ratings(&w);
    return status;
}
