/* What a person looks at while the run is active: answers as they come (GET /api/v1/sample), and
 * the tasks that failed, with examples (GET /api/v1/dead-letters). Invariant: a batch of results
 * costs one comparison, and one copy of one answer each VQ_LIVE_EVERY_NS. Not its job: all dead
 * letters (`vibeq dead` reads them out of the store). */
#include "coordinator/run/parts.h"

#include "common/base/clock.h"

#include <stdlib.h>

/* ---- the question of a task ---- */

/* The texts of a sample; `reader` is open until the caller ends it. */
static bool texts_of(struct vq_run *run, uint32_t sample, struct vq_stage_reader *reader,
                     struct vq_sample *ret)
{
    const struct vq_stage_grid *asking = run->stages.asking;
    struct vq_error err = {0};
    if (asking->remake == NULL) {
        *ret = asking->samples[sample];
        return true;
    }
    return vq_answers_begin(&run->stages.answered, reader, &err) == VQ_OK &&
           asking->remake(asking->remake_ctx, sample, &reader->reader, ret, &err) == VQ_OK;
}

/* What the page calls them depends on the stage: dialogues are packed, and have no plain text. */
static void question_of(struct vq_run *run, uint64_t task, struct vq_stage_reader *reader,
                        struct vq_live_question *ret)
{
    const struct vq_stage_grid *asking = run->stages.asking;
    struct vq_cell cell = vq_grid_cell(&asking->plan.grid, task);
    *ret = (struct vq_live_question){.stage = asking->name,
                                     .judge = asking->cast->judges[cell.judge].name,
                                     .record = -1,
                                     .order = cell.order};
    if (run->work->record != NULL) {
        ret->record = run->work->record(run->work->ctx, asking, cell.sample);
    }
    if (vq_stage_has_axes(asking->kind)) {
        ret->vibe = asking->axes[cell.vibe].name;
        ret->low = asking->axes[cell.vibe].low;
        ret->high = asking->axes[cell.vibe].high;
    }
    struct vq_sample sample;
    if (vq_stage_talks(asking->kind) || asking->kind == VQ_STAGE_EMBED ||
        !texts_of(run, cell.sample, reader, &sample)) {
        return;
    }
    ret->prompt = sample.prompt;
    if (vq_stage_shows_outputs(asking->kind)) {
        ret->a = sample.a;
        ret->b = sample.b;
    }
}

/* ---- what is kept ---- */

static bool is_of_stage(const struct vq_run *run, const struct vq_result *r)
{
    return r->stage == run->stages.asking->no &&
           r->task < vq_grid_tasks(&run->stages.asking->plan.grid);
}

static void keep(struct vq_run *run, const struct vq_result *r, int64_t now_ns)
{
    struct vq_stage_reader reader = {.view = NULL};
    struct vq_live_question question;
    question_of(run, r->task, &reader, &question);
    vq_live_answer(run->control.live, &question, r, vq_clock_unix_ms(), now_ns);
    vq_answers_end(&reader);
}

void vq_looks_see(struct vq_run *run, const struct vq_result *results, size_t count)
{
    int64_t now_ns = vq_run_now();
    bool due = run->stages.asking->kind != VQ_STAGE_EMBED && vq_live_due(run->control.live, now_ns);
    for (size_t i = 0; i < count; i++) {
        const struct vq_result *r = &results[i];
        if (due && r->end == VQ_END_ANSWER && is_of_stage(run, r)) {
            due = false;
            keep(run, r, now_ns);
        }
        if (r->final && vq_outcome_is_failed((enum vq_outcome)r->outcome)) {
            vq_live_failed(run->control.live, r, vq_clock_unix_ms());
        }
    }
}

/* ---- GET /api/v1/sample?after=NO ---- */

void vq_looks_on_sample(void *ctx, const struct vq_httpd_request *request,
                        struct vq_httpd_response *response)
{
    const struct vq_run *run = ctx;
    const char *given = vq_httpd_query(request, "after");
    char *end = NULL;
    unsigned long long after = given == NULL ? 0 : strtoull(given, &end, 10);
    if (given != NULL && (given[0] < '0' || given[0] > '9' || *end != '\0')) {
        response->status = 400;
        vq_buf_puts(response->body, "after: give the number of an answer\n");
        return;
    }
    response->content_type = "application/json";
    vq_live_answers_json(run->control.live, after, response->body);
}

/* ---- GET /api/v1/dead-letters ---- */

/* By class: how many tasks stand as failed, and how many examples are written. */
struct dead_count {
    uint64_t tasks;
    uint32_t shown;
};

static uint32_t class_of(enum vq_outcome outcome)
{
    return (uint32_t)outcome - VQ_OUTCOME_ERROR;
}

static uint64_t put_judges(struct vq_json *j, const struct vq_run *run, enum vq_outcome outcome)
{
    uint64_t tasks = 0;
    vq_json_put_array(j, "judges");
    for (uint32_t i = 0; i < run->stages.asking->plan.grid.judges; i++) {
        struct vq_coord_judge_status judge;
        vq_coord_judge_fill(run->coord, i, vq_run_now(), &judge);
        uint64_t count = judge.counts.outcome[outcome];
        if (count > 0) {
            vq_json_object(j);
            vq_json_put_str(j, "name", judge.name);
            vq_json_put_u64(j, "count", count);
            vq_json_object_end(j);
            tasks += count;
        }
    }
    vq_json_array_end(j);
    return tasks;
}

static void put_classes(struct vq_json *j, const struct vq_run *run,
                        struct dead_count counts[VQ_LIVE_CLASSES])
{
    struct vq_coord_status s;
    vq_coord_status_fill(run->coord, vq_run_now(), &s);
    vq_json_put_array(j, "classes");
    for (int o = VQ_OUTCOME_ERROR; o <= VQ_OUTCOME_WORKER_LOST; o++) {
        if (s.all.outcome[o] == 0) {
            continue;
        }
        vq_json_object(j);
        vq_json_put_str(j, "class", vq_outcome_name((enum vq_outcome)o));
        vq_json_put_u64(j, "count", s.all.outcome[o]);
        counts[class_of((enum vq_outcome)o)].tasks = put_judges(j, run, (enum vq_outcome)o);
        vq_json_object_end(j);
    }
    vq_json_array_end(j);
}

static void put_example(struct vq_json *j, struct vq_run *run, uint64_t task,
                        const struct vq_live_failure *failure, struct dead_count *count)
{
    struct vq_stage_reader reader = {.view = NULL};
    struct vq_live_question question;
    question_of(run, task, &reader, &question);
    vq_live_put_dead(j, task, vq_coord_outcome(run->coord, task), &question, failure);
    vq_answers_end(&reader);
    count->shown++;
}

/* Tasks that this process saw fail, and that stand as failed. */
static void put_seen(struct vq_json *j, struct vq_run *run,
                     struct dead_count counts[VQ_LIVE_CLASSES])
{
    uint32_t count;
    const struct vq_live_failure *f = vq_live_failures(run->control.live, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (f[i].outcome == VQ_OUTCOME_NONE || f[i].stage != run->stages.asking->no ||
            f[i].task >= vq_grid_tasks(&run->stages.asking->plan.grid) ||
            vq_coord_outcome(run->coord, f[i].task) != f[i].outcome) {
            continue;
        }
        struct dead_count *of = &counts[class_of(f[i].outcome)];
        if (of->shown < VQ_LIVE_EXAMPLES) {
            put_example(j, run, f[i].task, &f[i], of);
        }
    }
}

/* Of classes of which it saw none (they failed before a restart, or without a call): the first
 * tasks. */
static void put_others(struct vq_json *j, struct vq_run *run,
                       struct dead_count counts[VQ_LIVE_CLASSES])
{
    uint32_t wanted = 0;
    bool wants[VQ_LIVE_CLASSES];
    for (uint32_t i = 0; i < VQ_LIVE_CLASSES; i++) {
        wants[i] = counts[i].tasks > 0 && counts[i].shown == 0;
        wanted += wants[i];
    }
    uint64_t tasks = vq_grid_tasks(&run->stages.asking->plan.grid);
    for (uint64_t task = 0; wanted > 0 && task < tasks && task < VQ_LIVE_SCAN_TASKS; task++) {
        enum vq_outcome outcome = vq_coord_outcome(run->coord, task);
        if (!vq_outcome_is_failed(outcome) || !wants[class_of(outcome)]) {
            continue;
        }
        struct dead_count *of = &counts[class_of(outcome)];
        put_example(j, run, task, NULL, of);
        if (of->shown == VQ_LIVE_EXAMPLES || of->shown == of->tasks) {
            wants[class_of(outcome)] = false;
            wanted--;
        }
    }
}

void vq_looks_on_dead(void *ctx, const struct vq_httpd_request *request,
                      struct vq_httpd_response *response)
{
    (void)request;
    struct vq_run *run = ctx;
    struct dead_count counts[VQ_LIVE_CLASSES] = {{0}};
    struct vq_json json;
    struct vq_json *j = &json;
    response->content_type = "application/json";
    vq_json_init(j, response->body, 0);
    vq_json_object(j);
    vq_json_put_u64(j, "format", 1);
    vq_json_put_str(j, "stage", run->stages.asking->name);
    if (run->coord != NULL) {
        put_classes(j, run, counts);
        vq_json_put_array(j, "examples");
        put_seen(j, run, counts);
        put_others(j, run, counts);
        vq_json_array_end(j);
    }
    vq_json_object_end(j);
    vq_buf_putc(response->body, '\n');
}
