/* The stored outcomes of a resumed run, taken over before anything is leased: progress continues
 * from the earlier process, and no rate counts them.
 *
 * Invariants: a task settles here as it would after a look-up. The next batches carry these tasks
 * to the run state. One batch has room for VQ_COORD_BATCH_SETTLED_MAX of them, so a cursor walks
 * over the outcomes. Not its job: reading the store. */
#include "coordinator/queue/internal.h"

enum vq_status vq_coord_stored(struct vq_coord *c, uint64_t shard, const uint8_t *outcomes)
{
    struct vq_coord_lane *lane = &c->lanes[shard % c->params.grid.judges];
    VQ_ASSERT(shard < vq_grid_shards(&c->params.grid) && vq_coord_shard_find(c, shard) == NULL);
    c->stored.shards++;
    for (uint32_t i = 0; i < c->shard_tasks; i++) {
        uint64_t task = shard * c->shard_tasks + i;
        enum vq_outcome outcome = (enum vq_outcome)outcomes[i];
        if (outcome == VQ_OUTCOME_NONE || c->tasks.outcome[task] != VQ_OUTCOME_NONE) {
            continue;
        }
        VQ_TRY(vq_coord_settle(c, NULL, task, outcome));
        vq_coord_tally_stored(c);
        c->tasks.counts.from_store += outcome != VQ_OUTCOME_NOT_NEEDED;
        lane->counts.from_store += outcome != VQ_OUTCOME_NOT_NEEDED;
        lane->answered |= vq_outcome_is_answered(outcome);
        c->stored.end = task + 1 > c->stored.end ? task + 1 : c->stored.end;
    }
    return VQ_OK;
}

enum vq_status vq_coord_stored_gather(struct vq_coord *c)
{
    for (; c->stored.at < c->stored.end &&
           c->batches.gather->settled_count < VQ_COORD_BATCH_SETTLED_MAX;
         c->stored.at++) {
        enum vq_outcome outcome = (enum vq_outcome)c->tasks.outcome[c->stored.at];
        VQ_TRY(outcome == VQ_OUTCOME_NONE
                   ? VQ_OK
                   : vq_coord_gather_settled(&c->batches, c->stored.at, outcome));
    }
    return VQ_OK;
}
