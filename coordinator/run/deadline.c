/* A run with a deadline: coordinator/pools/deadline.h decides by the state of the run. Its
 * decisions are carried out by means that a person has, too: pools rest, and batches are cancelled.
 * One decision is made for judges that share pools. There is a round when a stage begins, and then
 * one per second, because calls and batches end at any time.
 *
 * Invariant: a batch pool rests only while its judges have an interactive pool that takes calls.
 * Not its job: the decision, messages (deadline_say.c), durations of batches (batch_watch.c). */
#include "coordinator/run/parts.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/text/log.h"
#include "common/text/when.h"

#include <stdlib.h>
#include <string.h>

#define LOOK_NS      VQ_NS_PER_S
#define LOOK_FAST_NS (100 * VQ_NS_PER_MS) /* if a test makes time faster */
#define SPEED_MAX    10000.0

enum vq_status vq_deadline_open(struct vq_run *run, struct vq_error *err)
{
    struct vq_run_deadline *d = &run->deadline;
    const char *speed = getenv(VQ_DEADLINE_SPEED);
    d->speed = speed == NULL ? 1 : strtod(speed, NULL);
    d->speed = d->speed >= 1 && d->speed <= SPEED_MAX ? d->speed : 1;
    if (vq_batch_times_load(run->options->runs_dir, &d->times) != VQ_OK) {
        return vq_fail(err, VQ_NOMEM, "out of memory");
    }
    /* questions beside a run come after the run is over */
    return run->source.config->deadline == NULL || run->work->write == NULL
               ? VQ_OK
               : vq_when_parse(run->source.config->deadline, (time_t)(run->started_unix_ms / 1000),
                               &d->at, err);
}

void vq_deadline_close(struct vq_run_deadline *d)
{
    vq_free(d->groups);
    vq_free(d->group_of);
    vq_free(d->batches);
    vq_batch_times_free(&d->times);
}

/* ---- judges that share pools ---- */

/* Merges the groups of all judges that pool p serves. */
static void join(const struct vq_role_models *cast, uint32_t p, uint32_t *group_of)
{
    uint32_t to = UINT32_MAX;
    for (uint32_t j = 0; j < cast->count; j++) {
        if (!vq_deadline_serves(cast, j, p)) {
            continue;
        }
        to = to == UINT32_MAX ? group_of[j] : to;
        for (uint32_t k = 0, from = group_of[j]; k < cast->count; k++) {
            group_of[k] = group_of[k] == from ? to : group_of[k];
        }
    }
}

static enum vq_status group_judges(struct vq_run *run)
{
    struct vq_run_deadline *d = &run->deadline;
    const struct vq_role_models *cast = run->stages.asking->cast;
    vq_free(d->groups);
    vq_free(d->group_of);
    d->groups = vq_alloc(cast->count, sizeof(*d->groups));
    d->group_of = vq_alloc(cast->count, sizeof(*d->group_of));
    d->groups_count = 0;
    if (d->groups == NULL || d->group_of == NULL) {
        return VQ_NOMEM;
    }
    for (uint32_t j = 0; j < cast->count; j++) {
        d->group_of[j] = j;
    }
    uint32_t pools = run->source.pools->uses.count;
    for (uint32_t p = 0; p < pools; p++) {
        join(cast, p, d->group_of);
    }
    d->groups_count = cast->count; /* groups without judges have no work */
    for (uint32_t j = 0; j < cast->count; j++) {
        d->groups[d->group_of[j]].judges++;
    }
    for (uint32_t g = 0; g < d->groups_count; g++) {
        bool both[2] = {false, false};
        for (uint32_t p = 0; d->groups[g].judges > 0 && p < pools; p++) {
            both[vq_deadline_is_batch(run, p)] |= vq_deadline_in_group(run, g, p);
        }
        d->groups[g].steers =
            both[0] && both[1] && vq_stage_shows_outputs(run->stages.asking->kind);
    }
    d->stage_no = run->stages.asking->no + 1;
    d->stage_ns = vq_run_now();
    return VQ_OK;
}

/* ---- carrying out ---- */

static void cancel(struct vq_run *run, const struct vq_deadline_view *v)
{
    for (uint32_t i = 0; i < v->state.batches_count; i++) {
        struct vq_run_batch *b = &run->deadline.batches[v->of[i]];
        uint32_t count = 0;
        if (!v->batches[i].cancelling || b->cancelled_unix_ms != 0) {
            continue;
        }
        enum vq_status status =
            vq_coord_api_batch_cancel(run->coord, b->name, vq_run_now(), &count);
        if (status != VQ_OK) {
            vq_run_fatal(run, status, "the coordinator's core gave up: %s", vq_status_text(status));
            return;
        }
        if (count > 0) { /* otherwise it has no owner now: the next round cancels it again */
            b->cancelled_unix_ms = vq_clock_unix_ms();
            run->seen.batches_cancelled++;
            vq_log(VQ_LOG_INFO, "deadline.cancel", "batch=%s calls=%u", b->name, b->waiting);
        }
    }
}

static void steer(struct vq_run *run, uint32_t g, const struct vq_deadline_round *round)
{
    struct vq_run_group *group = &run->deadline.groups[g];
    uint64_t keep = round->direct ? 0 : round->keep;
    if (group->decided && group->direct == round->direct && group->keep == keep) {
        return;
    }
    bool changed = !group->decided || group->direct != round->direct;
    group->decided = true;
    group->direct = round->direct;
    group->keep = keep;
    for (uint32_t p = 0; p < run->source.pools->uses.count; p++) {
        if (vq_deadline_is_batch(run, p) && vq_deadline_in_group(run, g, p)) {
            vq_authority_rest(run->limits.authority, p, round->direct, vq_run_now());
        }
    }
    enum vq_status status = VQ_OK;
    for (uint32_t j = 0; status == VQ_OK && j < run->stages.asking->cast->count; j++) {
        struct vq_coord_judge_status judge;
        if (run->deadline.group_of[j] != g) {
            continue;
        }
        vq_coord_judge_fill(run->coord, j, vq_run_now(), &judge);
        uint64_t some = judge.open < keep ? judge.open : keep;
        keep -= some;
        status = vq_coord_steer(run->coord, j, round->direct, some, vq_run_now());
    }
    if (changed) {
        vq_log(VQ_LOG_INFO, "deadline.steer", "group=%u calls=%s keep=%llu rate=%.2f slack_s=%.0f",
               g, round->direct ? "interactive" : "batches", (unsigned long long)group->keep,
               group->rate, group->slack_s);
    }
    if (status == VQ_OK) {
        status = vq_coord_tick(run->coord, vq_run_now());
    }
    if (status != VQ_OK) {
        vq_run_fatal(run, status, "the coordinator's core gave up: %s", vq_status_text(status));
    }
    vq_loop_again(run->loop);
}

static enum vq_status play(struct vq_run *run, uint32_t g)
{
    struct vq_run_deadline *d = &run->deadline;
    struct vq_run_group *group = &d->groups[g];
    struct vq_deadline_round round;
    struct vq_deadline_view v;
    enum vq_status status = vq_deadline_fill(run, g, &v);
    if (status != VQ_OK) {
        vq_deadline_view_free(&v);
        return status;
    }
    uint64_t calls = v.state.open + v.state.returned + v.state.buying;
    for (uint32_t i = 0; i < v.state.batches_count; i++) {
        calls += v.batches[i].calls;
    }
    for (uint32_t i = 0; i < v.state.later_count; i++) {
        calls += v.later[i];
    }
    group->open = calls;
    group->slack_s = vq_deadline_slack(&v.state) / d->speed;
    group->need_s = group->rate > 0 ? (double)calls / group->rate : 0;
    if (group->steers) {
        vq_deadline_round(&v.state, v.batches, v.blocked > 0, &round);
        steer(run, g, &round);
        cancel(run, &v);
    }
    vq_deadline_view_free(&v);
    return VQ_OK;
}

/* Batch pools rest only for the stage that decided it. */
static enum vq_status begin_stage(struct vq_run *run)
{
    for (uint32_t p = 0; p < run->source.pools->uses.count; p++) {
        vq_authority_rest(run->limits.authority, p, false, vq_run_now());
    }
    return group_judges(run);
}

void vq_deadline_turn(struct vq_run *run)
{
    struct vq_run_deadline *d = &run->deadline;
    bool active = run->coord != NULL && run->limits.authority != NULL && run->fatal == VQ_OK &&
                  !run->stop.finished && !run->stop.stopped && !run->stop.draining;
    bool fresh = active && d->at != 0 && d->stage_no != run->stages.asking->no + 1;
    bool over = active && run->stages.is_over && d->batches_count > 0; /* the last batches ended */
    int64_t now = vq_run_now(), gap_ns = d->speed > 1 ? LOOK_FAST_NS : LOOK_NS;
    if (!active || (!fresh && !over && now - d->looked_ns < gap_ns)) {
        return;
    }
    d->looked_ns = now;
    vq_batch_watch_look(run);
    if (d->at == 0 || run->fatal != VQ_OK || run->stages.is_over) {
        return;
    }
    enum vq_status status = fresh ? begin_stage(run) : VQ_OK;
    for (uint32_t g = 0; status == VQ_OK && g < d->groups_count; g++) {
        status = d->groups[g].judges > 0 ? play(run, g) : VQ_OK;
    }
    if (status != VQ_OK) {
        vq_run_fatal(run, status, "out of memory for the deadline");
        return;
    }
    vq_deadline_report(run);
}

int64_t vq_deadline_wake_ns(const struct vq_run *run)
{
    const struct vq_run_deadline *d = &run->deadline;
    bool looks = run->coord != NULL && run->fatal == VQ_OK && (d->at != 0 || d->batches_count > 0);
    return looks ? d->looked_ns + (d->speed > 1 ? LOOK_FAST_NS : LOOK_NS) : INT64_MAX;
}
