/* Finds dead letters in two passes. The first pass finds the tasks that count as failed, by the
 * function that derives all outcomes. The second pass adds the ledger's facts about each. Not its
 * job: lifting a failure (store/failures.h), and showing the letters (cli/verbs/dead.c). */
#include "methods/files/dead.h"

#include "common/base/alloc.h"
#include "coordinator/store/calls/failures.h"
#include "coordinator/store/calls/lookup.h"
#include "methods/grid/stage_grid.h"

#include <stdlib.h>

#define DEAD_MAX ((size_t)1 << 28)

static enum vq_status note_any(void *ctx, const struct vq_hash *request,
                               const struct vq_failure_row *row)
{
    (void)request;
    *(bool *)ctx |= row->outcome != VQ_OUTCOME_NONE;
    return VQ_OK;
}

enum vq_status vq_dead_any(struct vq_view *view, const struct vq_id *run, bool *ret_any,
                           struct vq_error *err)
{
    *ret_any = false;
    return vq_failures_scan(view, run, note_any, ret_any, err);
}

/* ---- failed tasks ---- */

static enum vq_status add(struct vq_dead_list *list, uint32_t stage, uint64_t task,
                          enum vq_outcome reason)
{
    void *letters = list->letters;
    VQ_TRY(vq_grow(&letters, &list->cap, list->count + 1, sizeof(*list->letters), DEAD_MAX));
    list->letters = letters;
    list->letters[list->count++] =
        (struct vq_dead_letter){.stage = stage, .task = task, .reason = reason};
    return VQ_OK;
}

static enum vq_status find_in(const struct vq_stage_grid *asking, uint32_t stage,
                              struct vq_view *view, const struct vq_id *run,
                              struct vq_dead_list *list, struct vq_error *err)
{
    const struct vq_grid *g = &asking->plan.grid;
    uint32_t tasks = vq_grid_shard_tasks(g);
    uint8_t *outcomes = vq_alloc(tasks, 1);
    enum vq_status status = outcomes == NULL ? VQ_NOMEM : VQ_OK;
    for (uint64_t shard = 0; status == VQ_OK && shard < vq_grid_shards(g); shard++) {
        status = vq_lookup_outcomes(view, &asking->plan, run, shard, outcomes, err);
        for (uint32_t i = 0; status == VQ_OK && i < tasks; i++) {
            if (vq_outcome_is_failed((enum vq_outcome)outcomes[i])) {
                status = add(list, stage, shard * tasks + i, (enum vq_outcome)outcomes[i]);
            }
        }
    }
    vq_free(outcomes);
    return status;
}

/* ---- their causes ---- */

static int by_place(const void *a, const void *b)
{
    const struct vq_dead_letter *x = a;
    const struct vq_dead_letter *y = b;
    int c = (x->stage > y->stage) - (x->stage < y->stage);
    return c != 0 ? c : (x->task > y->task) - (x->task < y->task);
}

static enum vq_status take_call(void *ctx, const struct vq_call_row *row)
{
    struct vq_dead_list *list = ctx;
    struct vq_dead_letter key = {.stage = row->result.stage, .task = row->result.task};
    struct vq_dead_letter *letter =
        bsearch(&key, list->letters, list->count, sizeof(key), by_place);
    if (letter == NULL) {
        return VQ_OK;
    }
    letter->sends++;
    if (letter->sends == 1 || row->result.started_unix_ms >= letter->started_unix_ms) {
        letter->end = (enum vq_call_end)row->result.end;
        letter->http_status = row->result.http_status;
        letter->started_unix_ms = row->result.started_unix_ms;
        letter->error = row->result.error;
    }
    return VQ_OK;
}

enum vq_status vq_dead_find(const struct vq_replay *replay, struct vq_view *view,
                            const struct vq_id *run, struct vq_dead_list *ret_list,
                            struct vq_error *err)
{
    struct vq_dead_list list = {.letters = NULL};
    enum vq_status status = VQ_OK;
    for (uint32_t i = 0; status == VQ_OK && i < replay->stages_count; i++) {
        status = find_in(replay->stages[i], i, view, run, &list, err);
    }
    if (status == VQ_OK && list.count > 0) {
        status = vq_ledger_scan(view, run, take_call, &list, err);
    }
    if (status != VQ_OK) {
        vq_dead_free(&list);
        return status;
    }
    *ret_list = list;
    return VQ_OK;
}

void vq_dead_free(struct vq_dead_list *list)
{
    vq_free(list->letters);
    *list = (struct vq_dead_list){.letters = NULL};
}
