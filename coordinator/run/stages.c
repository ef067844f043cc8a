/* The walk through the stages of a script (the method). For each stage: it is prepared
 * (stage_grid.h), a new core asks it, its finished column is read from Redis, the script gets the
 * answers, and it names the next stage. Between two stages nothing is in flight: every batch is
 * committed, and every spool that was being read is imported. Invariant: run->coord always belongs
 * to run->stages.asking. */
#include "coordinator/run/parts.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/crash.h"
#include "common/text/log.h"
#include "coordinator/store/calls/batched.h"
#include "coordinator/store/calls/ledger.h"
#include "methods/grid/answers.h"

#include <stdio.h>
#include <string.h>

/* ---- a stage begins ---- */

/* The rest of the term after `from_ns`. */
static int64_t wait_left_ns(const struct vq_run *run, int64_t from_ns)
{
    if (run->begun.first_start || run->begun.was_clean) {
        return 0;
    }
    int64_t term_ns = (int64_t)run->source.config->term_ms * VQ_NS_PER_MS;
    int64_t left_ns = from_ns + term_ns - vq_run_now();
    return left_ns > 0 ? left_ns : 0;
}

/* Limits of attempts over all leases; one lease may always make all its sends. */
static struct vq_attempt_caps attempt_caps(const struct vq_config *config)
{
    const struct vq_conf_attempts *a = &config->attempts;
    const uint32_t of[VQ_ATTEMPT__COUNT] = {
#define VQ_ATTEMPT(name, key, end, outcome) [VQ_ATTEMPT_##name] = a->key,
#include "coordinator/queue/attempts.def"
#undef VQ_ATTEMPT
    };
    uint32_t least = 2 * config->judging.tries_max;
    struct vq_attempt_caps caps = {.all = a->max == 0 || a->max > least ? a->max : least};
    for (int i = 0; i < VQ_ATTEMPT__COUNT; i++) {
        caps.of[i] = of[i] == 0 || of[i] > least ? of[i] : least;
    }
    return caps;
}

/* Settles the run's stored answers before the stage is asked, so that its progress continues from
 * the earlier process. Shards that do not fit into the time limit are looked up in their turn. */
static enum vq_status take_stored(struct vq_run *run, struct vq_error *err)
{
    const struct vq_plan *plan = &run->stages.asking->plan;
    uint64_t shards = vq_grid_shards(&plan->grid), shard = 0;
    int64_t until_ns = vq_run_now() + VQ_RUN_STORED_MS * VQ_NS_PER_MS;
    struct vq_view *view = NULL;
    uint8_t *outcomes = vq_alloc(vq_grid_shard_tasks(&plan->grid), 1);
    if (outcomes == NULL) {
        return vq_fail(err, VQ_NOMEM, "out of memory");
    }
    enum vq_status status = vq_view_begin(run->calls, &view, err);
    for (; status == VQ_OK && shard < shards && vq_run_now() < until_ns; shard++) {
        status = vq_lookup_outcomes(view, plan, &run->owner.uid, shard, outcomes, err);
        if (status == VQ_OK) {
            status = vq_coord_stored(run->coord, shard, outcomes);
        }
    }
    if (view != NULL) {
        vq_view_end(&view);
    }
    vq_free(outcomes);
    vq_log(VQ_LOG_INFO, "stage.stored", "shards=%llu of=%llu", (unsigned long long)shard,
           (unsigned long long)shards);
    return status == VQ_AGAIN ? VQ_OK : status;
}

struct recall {
    struct vq_run *run;
    int64_t until_ns;
};

static enum vq_status recall_row(void *ctx, const struct vq_call_row *row)
{
    const struct recall *r = ctx;
    if (vq_run_now() > r->until_ns) {
        return VQ_AGAIN;
    }
    if (row->result.stage != r->run->stages.asking->no) {
        return VQ_OK;
    }
    return vq_coord_recall(r->run->coord, &row->result) ? VQ_OK : VQ_AGAIN;
}

/* Passes the calls of earlier processes to the core, for the first stage with open tasks, which is
 * where the last process stopped. */
static enum vq_status take_calls(struct vq_run *run, struct vq_error *err)
{
    struct vq_coord_status s;
    vq_coord_status_fill(run->coord, vq_run_now(), &s);
    if (run->stages.recalled || s.all.state[VQ_TASK_OPEN] == 0) {
        return VQ_OK;
    }
    run->stages.recalled = true;
    struct recall r = {run, vq_run_now() + VQ_RUN_STORED_MS * VQ_NS_PER_MS};
    struct vq_view *view = NULL;
    VQ_TRY(vq_view_begin(run->calls, &view, err));
    enum vq_status status = vq_ledger_scan(view, &run->owner.uid, recall_row, &r, err);
    vq_view_end(&view);
    return status == VQ_AGAIN ? VQ_OK : status;
}

static enum vq_status take_draft(void *ctx, const struct vq_result *draft)
{
    return vq_coord_batched(((struct vq_run *)ctx)->coord, draft);
}

static enum vq_status take_batch(void *ctx, const struct vq_batch_report *said)
{
    return vq_coord_api_batch_store(((struct vq_run *)ctx)->coord, said);
}

/* Passes the calls that wait in batches at providers to the first core of this process. No stage
 * ends before all of them have their results. */
static enum vq_status take_batches(struct vq_run *run, struct vq_error *err)
{
    if (run->stages.batches_taken) {
        return VQ_OK;
    }
    run->stages.batches_taken = true;
    struct vq_view *view = NULL;
    VQ_TRY(vq_view_begin(run->calls, &view, err));
    enum vq_status status = vq_batched_each(view, &run->owner.uid, NULL, take_draft, run, err);
    if (status == VQ_OK) {
        status = vq_batched_each_batch(view, &run->owner.uid, take_batch, run, err);
    }
    vq_view_end(&view);
    return status;
}

enum vq_status vq_stages_open_core(struct vq_run *run, struct vq_error *err)
{
    if (run->hears_ns == 0) {
        run->hears_ns = vq_run_now();
    }
    if (run->limits.authority == NULL) {
        VQ_TRY(vq_limits_open(run, wait_left_ns(run, run->started_ns), err));
    }
    const struct vq_role_models *cast = run->stages.asking->cast;
    struct vq_coord_judge *judges = vq_alloc(cast->count, sizeof(*judges));
    if (judges == NULL) {
        return vq_fail(err, VQ_NOMEM, "out of memory");
    }
    for (uint32_t i = 0; i < cast->count; i++) {
        judges[i] = (struct vq_coord_judge){.name = cast->conf[i].name,
                                            .pools = cast->pools[i],
                                            .pools_count = cast->pools_count[i],
                                            .seconds_wait = vq_run_seconds_wait(run, i)};
    }
    int64_t term_ns = (int64_t)run->source.config->term_ms * VQ_NS_PER_MS;
    bool remote = run->options->listen != NULL || run->options->workers == 0;
    bool collects = remote && !run->begun.first_start;
    struct vq_coord_params params = {
        .run = run->owner.uid,
        .run_name = vq_run_dir_name(run->dir),
        .epoch = run->owner.epoch,
        .stage = run->stages.asking->no,
        .more = true, /* only the method knows, and only after this stage */
        .grid = run->stages.asking->plan.grid,
        .chains = vq_stage_chains(run->stages.asking->kind),
        .alike = run->stages.asking->alike,
        .request_bytes_max = vq_stage_grid_request_bytes(run->stages.asking),
        .answer_tokens_max = vq_stage_grid_answer_tokens(run->stages.asking),
        .judges = judges,
        .authority = run->limits.authority,
        .spec = run->links.spec_hash,
        .repairs = run->stages.asking->repair != NULL,
        .repeat_max = run->stages.asking->plan.generation,
        .scout_no = run->begun.start_no, /* so that two runs at once buy few answers twice */
        .term_ns = term_ns,
        .heartbeat_ns = term_ns / VQ_RUN_HEARTBEAT_SHARE,
        .orphan_s = VQ_RUN_LOCAL_ORPHAN_S,
        .attempts = attempt_caps(run->source.config),
        .role = run->stages.asking->role,
        .brake_calls = run->source.config->judging.brake,
        .any_answer_is_useful = run->source.config->rating.policy != VQ_RATING_STRICT,
        .orphan_remote_s = run->source.config->orphan_s,
        .wait_ns = wait_left_ns(run, run->hears_ns),
        .remote = remote,
        .missed_ns = remote ? VQ_RUN_MISSED_MS * VQ_NS_PER_MS : 0,
        .finish_from_ns = collects ? run->started_ns + VQ_RUN_COLLECT_MS * VQ_NS_PER_MS : 0};
    enum vq_status status = vq_coord_create(&params, vq_run_now(), &run->coord, err);
    vq_free(judges);
    if (status == VQ_OK && !run->begun.first_start) {
        status = take_stored(run, err);
    }
    if (status == VQ_OK && !run->begun.first_start) {
        status = take_batches(run, err);
    }
    if (status == VQ_OK && !run->begun.first_start) {
        status = take_calls(run, err);
    }
    if (status == VQ_OK && run->redis.phase != VQ_PHASE_UP) {
        status = vq_coord_commit_paused(run->coord, true, vq_run_now());
    }
    return status;
}

/* Prepares the next stage of the method; *ret_more is false if there is none. */
static enum vq_status next_asking(struct vq_run *run, bool *ret_more, struct vq_error *err)
{
    const struct vq_stage *stage;
    VQ_TRY(vq_answers_next(&run->stages.script, &run->stages.answered, &stage, err));
    *ret_more = stage != NULL;
    if (stage == NULL) {
        return VQ_OK;
    }
    VQ_TRY(vq_stage_grid_create(&run->source, stage, &run->stages.asking, err));
    vq_buf_free(&run->links.spec_body);
    VQ_TRY(vq_stage_grid_spec(run->stages.asking, run->children.offline_url, &run->links.spec_body,
                              &run->links.spec_hash));
    vq_free(run->links.known);
    run->links.known =
        vq_alloc(vq_grid_shard_tasks(&run->stages.asking->plan.grid), sizeof(*run->links.known));
    if (run->links.known == NULL) {
        return vq_fail(err, VQ_NOMEM, "out of memory");
    }
    vq_log(VQ_LOG_INFO, "stage", "no=%u name=%s tasks=%llu", run->stages.asking->no,
           run->stages.asking->name,
           (unsigned long long)vq_grid_tasks(&run->stages.asking->plan.grid));
    return VQ_OK;
}

static void say_notes(struct vq_run *run)
{
    const char *const *notes;
    uint32_t count = run->stages.script.ops->notes(run->stages.script.ctx, &notes);
    for (; run->stages.notes_said < count; run->stages.notes_said++) {
        vq_run_message(run, "%s", notes[run->stages.notes_said]);
    }
}

static const struct vq_stage_grid *past_stage(const void *of, uint32_t no)
{
    const struct vq_run *run = of;
    for (uint32_t i = run->stages.past_count; i > 0; i--) {
        if (run->stages.past[i - 1].asking->no == no) {
            return run->stages.past[i - 1].asking;
        }
    }
    return NULL;
}

static enum vq_status open_expected(struct vq_run *run, struct vq_error *err)
{
    if (run->work->expected == NULL) {
        return VQ_OK;
    }
    run->stages.expected = vq_alloc(VQ_EXPECTED_MAX, sizeof(*run->stages.expected));
    if (run->stages.expected == NULL) {
        return vq_fail(err, VQ_NOMEM, "out of memory");
    }
    run->stages.expected_count = run->work->expected(run->work->ctx, run->stages.expected);
    return VQ_OK;
}

enum vq_status vq_stages_open(struct vq_run *run, struct vq_error *err)
{
    run->stages.answered = (struct vq_answered){
        .stage = past_stage, .of = run, .calls = run->calls, .run = &run->owner.uid};
    run->source.generation = run->begun.now.generation;
    run->stages.script = run->work->script;
    VQ_TRY(open_expected(run, err));
    bool more;
    VQ_TRY(next_asking(run, &more, err));
    say_notes(run);
    VQ_ASSERT(more);
    return VQ_OK;
}

/* Expected stages up to the last one of this name. */
static uint32_t begun_until(const struct vq_run_stages *stages, const char *name)
{
    uint32_t n = stages->expected_count;
    while (n > 0 && strcmp(stages->expected[n - 1].name, name) != 0) {
        n--;
    }
    return n;
}

/* A script may name unexpected stages: then those after the last expected one may follow. */
uint32_t vq_stages_next_expected(const struct vq_run *run)
{
    uint32_t next = begun_until(&run->stages, run->stages.asking->name);
    for (uint32_t i = run->stages.past_count; next == 0 && i > 0; i--) {
        next = begun_until(&run->stages, run->stages.past[i - 1].asking->name);
    }
    return next == 0 ? run->stages.expected_count : next;
}

/* ---- a stage ends ---- */

static bool is_quiet(const struct vq_run *run)
{
    bool idle = run->stages.is_over && !run->commit.busy && run->links.lookups_count == 0 &&
                run->redis.phase == VQ_PHASE_UP && vq_children_quiet(&run->children);
    if (!idle) {
        return false;
    }
    struct vq_coord_status status;
    vq_coord_status_fill(run->coord, vq_run_now(), &status);
    return status.received == 0;
}

static void on_column(void *ctx, enum vq_status status, const uint8_t *outcomes, uint64_t tasks,
                      const char *text)
{
    struct vq_run *run = ctx;
    run->stages.column = VQ_COLUMN_UNREAD;
    if (run->fatal != VQ_OK) {
        return;
    }
    if (status != VQ_OK) { /* it is read again when the connection is back */
        vq_run_redis_lost(run, status, text);
        return;
    }
    run->stages.outcomes = vq_alloc(tasks, 1);
    if (run->stages.outcomes == NULL) {
        vq_run_fatal(run, VQ_NOMEM, "out of memory after a stage");
        return;
    }
    memcpy(run->stages.outcomes, outcomes, tasks);
    run->stages.column = VQ_COLUMN_READ;
    VQ_CRASH_POINT(stage_read);
    vq_loop_again(run->loop);
}

/* The column in Redis counts; the comparison with the core only checks our own code. */
static bool column_agrees(struct vq_run *run)
{
    uint64_t tasks = vq_grid_tasks(&run->stages.asking->plan.grid);
    for (uint64_t t = 0; t < tasks; t++) {
        if (run->stages.outcomes[t] != (uint8_t)vq_coord_outcome(run->coord, t)) {
            vq_run_fatal(run, VQ_CORRUPT,
                         "Redis and the coordinator disagree about task %llu of stage %s; resume "
                         "rebuilds it",
                         (unsigned long long)t, run->stages.asking->name);
            return false;
        }
    }
    return true;
}

/* Stores the stage for accounting. */
static enum vq_status keep_past(struct vq_run_stages *stages)
{
    VQ_TRY(VQ_GROW(stages->past, &stages->past_cap, stages->past_count + 1, VQ_STAGES_MAX));
    stages->past[stages->past_count++] =
        (struct vq_past_stage){.asking = stages->asking,
                               .outcomes = stages->outcomes,
                               .dead = vq_looks_count_dead(stages->asking, stages->outcomes)};
    vq_second_orders_learn(stages, stages->asking, stages->outcomes);
    stages->asking = NULL;
    stages->outcomes = NULL;
    return VQ_OK;
}

void vq_stages_stop(struct vq_run *run)
{
    run->stop.stopped = true;
    run->stop.clean = vq_coord_clean(run->coord);
    run->stop.kind = VQ_COORD_STOP_DRAINED;
    (void)snprintf(run->stop.text, sizeof(run->stop.text), "stopped");
    vq_run_check_core(run, vq_coord_no_more(run->coord, VQ_BYE_STOPPED, vq_run_now()));
}

static enum vq_status finish(struct vq_run *run)
{
    run->stop.finished = true;
    return vq_coord_no_more(run->coord, VQ_BYE_DONE, vq_run_now());
}

/* Replaces the core of the last stage by the one of the next stage, which takes over its
 * workers. */
static enum vq_status change_core(struct vq_run *run, struct vq_error *err)
{
    struct vq_coord *over = run->coord;
    struct vq_coord_status last;
    vq_coord_status_fill(over, vq_run_now(), &last);
    run->coord = NULL;
    run->stages.is_over = false;
    VQ_CRASH_POINT(stage_hand_over_before);
    enum vq_status status = vq_run_redis_stage(run, err);
    if (status == VQ_OK) {
        status = vq_stages_open_core(run, err);
    }
    if (status == VQ_OK) {
        status = vq_coord_hand_over(over, run->coord, vq_run_now());
    }
    VQ_CRASH_POINT(stage_handed_over);
    if (run->coord == NULL) { /* the end still reads both */
        run->coord = over;
        vq_stage_grid_destroy(&run->stages.asking);
        run->stages.asking = run->stages.past[run->stages.past_count - 1].asking;
        return status;
    }
    vq_status_add(&run->stages.before, &last);
    vq_coord_destroy(&over);
    return status;
}

/* Passes the answers to the script and prepares its next stage. If no stage follows,
 * run->stages.asking stays that of the last core. */
static enum vq_status step(struct vq_run *run, struct vq_error *err)
{
    VQ_TRY(vq_answers_take(&run->stages.script, run->stages.asking, run->stages.outcomes,
                           run->calls, &run->owner.uid, err));
    struct vq_stage_grid *over = run->stages.asking;
    VQ_TRY(keep_past(&run->stages));
    bool more = false;
    enum vq_status status = run->stop.interrupts > 0 ? VQ_OK : next_asking(run, &more, err);
    say_notes(run);
    if (status != VQ_OK || !more) {
        vq_stage_grid_destroy(&run->stages.asking);
        run->stages.asking = over;
        VQ_TRY(status);
        if (run->stop.interrupts > 0) {
            vq_stages_stop(run);
            return VQ_OK;
        }
        return finish(run);
    }
    vq_stage_grid_retire(over);
    return change_core(run, err);
}

void vq_stages_turn(struct vq_run *run)
{
    if (run->stop.finished || run->stop.stopped || run->distrust.again || run->fatal != VQ_OK ||
        !is_quiet(run)) {
        return;
    }
    if (run->stages.column == VQ_COLUMN_UNREAD) {
        run->stages.column = VQ_COLUMN_READING;
        vq_run_state_read(run->redis.state, run->redis.n, on_column, run);
        return;
    }
    if (run->stages.column == VQ_COLUMN_READING || !column_agrees(run)) {
        return;
    }
    run->stages.column = VQ_COLUMN_UNREAD;
    struct vq_error err = {0};
    enum vq_status status = step(run, &err);
    if (status != VQ_OK) {
        vq_run_fatal(run, status, "%s", err.text[0] != '\0' ? err.text : vq_status_text(status));
    }
    vq_loop_again(run->loop);
}

void vq_stages_close(struct vq_run_stages *stages)
{
    bool kept =
        stages->past_count > 0 && stages->past[stages->past_count - 1].asking == stages->asking;
    if (!kept) {
        vq_stage_grid_destroy(&stages->asking);
    }
    for (uint32_t i = 0; i < stages->past_count; i++) {
        vq_stage_grid_destroy(&stages->past[i].asking);
        vq_free(stages->past[i].outcomes);
        vq_free(stages->past[i].dead);
    }
    vq_free(stages->past);
    vq_free(stages->expected);
    vq_free(stages->outcomes);
}
