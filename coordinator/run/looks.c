/* Data for a person while the run is active: answers as they come (GET /api/v1/sample), and the
 * failed tasks, with examples (GET /api/v1/dead-letters). Invariant: a batch of results costs one
 * comparison, and one copy of one answer per VQ_LIVE_EVERY_NS. Not its job: all dead letters
 * (`vibeq dead` reads them from the store). */
#include "coordinator/run/parts.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "coordinator/store/calls/ledger.h"

#include <stdlib.h>

/* ---- the question of a task ---- */

/* The texts of a sample; the caller ends `reader`. */
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

/* The texts of a question for the page, by the kind of its stage. Dialogues are packed and have no
 * plain text. A finished stage has no texts any more. */
static void question_of(struct vq_run *run, const struct vq_stage_grid *asking, uint64_t task,
                        struct vq_stage_reader *reader, struct vq_live_question *ret)
{
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
    if (asking != run->stages.asking || vq_stage_talks(asking->kind) ||
        asking->kind == VQ_STAGE_EMBED || !texts_of(run, cell.sample, reader, &sample)) {
        return;
    }
    ret->prompt = sample.prompt;
    if (vq_stage_shows_outputs(asking->kind)) {
        ret->a = sample.a;
        ret->b = sample.b;
    }
}

/* ---- stored answers and failures ---- */

static bool is_of_stage(const struct vq_run *run, const struct vq_result *r)
{
    return r->stage == run->stages.asking->no &&
           r->task < vq_grid_tasks(&run->stages.asking->plan.grid);
}

static void keep(struct vq_run *run, const struct vq_result *r, int64_t now_ns)
{
    struct vq_stage_reader reader = {.view = NULL};
    struct vq_live_question question;
    question_of(run, run->stages.asking, r->task, &reader, &question);
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

enum vq_status vq_looks_open(struct vq_run *run, struct vq_error *err)
{
    run->control.live = vq_live_create();
    return run->control.live != NULL ? VQ_OK : vq_fail(err, VQ_NOMEM, "out of memory");
}

void vq_looks_recall(struct vq_run *run, const struct vq_call_row *row)
{
    if (row->result.final && vq_outcome_is_failed((enum vq_outcome)row->result.outcome)) {
        vq_live_failed(run->control.live, &row->result, row->recorded_unix_ms);
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

/* By class: the number of failed tasks, and of examples that are written. */
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

static void put_example(struct vq_json *j, struct vq_run *run, const struct vq_stage_grid *asking,
                        uint64_t task, enum vq_outcome outcome,
                        const struct vq_live_failure *failure, struct dead_count *count)
{
    struct vq_stage_reader reader = {.view = NULL};
    struct vq_live_question question;
    question_of(run, asking, task, &reader, &question);
    vq_live_put_dead(j, task, outcome, &question, failure);
    vq_answers_end(&reader);
    count->shown++;
}

/* The stage of a failed call if its task is still failed, otherwise NULL. */
static const struct vq_stage_grid *stage_of(const struct vq_run *run,
                                            const struct vq_live_failure *f)
{
    const struct vq_stage_grid *asking = run->stages.asking;
    if (f->outcome == VQ_OUTCOME_NONE) {
        return NULL;
    }
    if (f->stage == asking->no) {
        bool is_dead = f->task < vq_grid_tasks(&asking->plan.grid) &&
                       vq_coord_outcome(run->coord, f->task) == f->outcome;
        return is_dead ? asking : NULL;
    }
    for (uint32_t i = run->stages.past_count; i > 0; i--) {
        const struct vq_past_stage *past = &run->stages.past[i - 1];
        if (past->asking->no == f->stage) {
            bool is_dead = f->task < vq_grid_tasks(&past->asking->plan.grid) &&
                           past->outcomes[f->task] == (uint8_t)f->outcome;
            return is_dead ? past->asking : NULL;
        }
    }
    return NULL;
}

/* Tasks whose failed call is known; first those of the present stage. */
static void put_seen(struct vq_json *j, struct vq_run *run, bool present,
                     struct dead_count counts[VQ_LIVE_CLASSES])
{
    uint32_t count;
    const struct vq_live_failure *f = vq_live_failures(run->control.live, &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct vq_stage_grid *asking = stage_of(run, &f[i]);
        if (asking == NULL || (asking == run->stages.asking) != present) {
            continue;
        }
        struct dead_count *of = &counts[class_of(f[i].outcome)];
        if (of->shown < VQ_LIVE_EXAMPLES) {
            put_example(j, run, asking, f[i].task, f[i].outcome, &f[i], of);
        }
    }
}

/* Classes without a known failed call (they failed without a call): the first tasks. */
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
        put_example(j, run, run->stages.asking, task, outcome, NULL, of);
        if (of->shown == VQ_LIVE_EXAMPLES || of->shown == of->tasks) {
            wants[class_of(outcome)] = false;
            wanted--;
        }
    }
}

/* ---- stages that are over ---- */

uint32_t *vq_looks_count_dead(const struct vq_stage_grid *asking, const uint8_t *outcomes)
{
    const struct vq_grid *grid = &asking->plan.grid;
    uint32_t *counts = NULL;
    for (uint64_t task = 0; task < vq_grid_tasks(grid); task++) {
        enum vq_outcome outcome = (enum vq_outcome)outcomes[task];
        if (!vq_outcome_is_failed(outcome)) {
            continue;
        }
        if (counts == NULL &&
            (counts = vq_alloc((size_t)grid->judges * VQ_LIVE_CLASSES, sizeof(*counts))) == NULL) {
            return NULL; /* the page shows less */
        }
        counts[vq_grid_cell(grid, task).judge * VQ_LIVE_CLASSES + class_of(outcome)]++;
    }
    return counts;
}

static void put_past_class(struct vq_json *j, const struct vq_past_stage *past, uint32_t class)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < past->asking->plan.grid.judges; i++) {
        sum += past->dead[i * VQ_LIVE_CLASSES + class];
    }
    if (sum == 0) {
        return;
    }
    vq_json_object(j);
    vq_json_put_str(j, "class", vq_outcome_name((enum vq_outcome)(class + VQ_OUTCOME_ERROR)));
    vq_json_put_u64(j, "count", sum);
    vq_json_put_array(j, "judges");
    for (uint32_t i = 0; i < past->asking->plan.grid.judges; i++) {
        uint32_t count = past->dead[i * VQ_LIVE_CLASSES + class];
        if (count > 0) {
            vq_json_object(j);
            vq_json_put_str(j, "name", past->asking->cast->judges[i].name);
            vq_json_put_u64(j, "count", count);
            vq_json_object_end(j);
        }
    }
    vq_json_array_end(j);
    vq_json_object_end(j);
}

static void put_past(struct vq_json *j, const struct vq_run *run)
{
    vq_json_put_array(j, "earlier");
    for (uint32_t i = 0; i < run->stages.past_count; i++) {
        const struct vq_past_stage *past = &run->stages.past[i];
        if (past->dead == NULL || past->asking == run->stages.asking) {
            continue;
        }
        vq_json_object(j);
        vq_json_put_str(j, "stage", past->asking->name);
        vq_json_put_array(j, "classes");
        for (uint32_t class = 0; class < VQ_LIVE_CLASSES; class ++) {
            put_past_class(j, past, class);
        }
        vq_json_array_end(j);
        vq_json_object_end(j);
    }
    vq_json_array_end(j);
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
    vq_json_open(j, response->body, 0);
    vq_json_put_u64(j, "format", 1);
    vq_json_put_str(j, "stage", run->stages.asking->name);
    if (run->coord != NULL) {
        put_classes(j, run, counts);
        vq_json_put_array(j, "examples");
        put_seen(j, run, true, counts);
        put_others(j, run, counts);
        put_seen(j, run, false, counts);
        vq_json_array_end(j);
        put_past(j, run);
    }
    vq_json_close(j);
}
