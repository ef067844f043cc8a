/* Turns that several chains share (common/judge/alike.h). Such a turn is asked in the first of
 * these chains only. The others are looked up and leased after it is settled, and use its outcome.
 * So no request of a stage is ever out twice.
 *
 * Invariants: a chain is not scouted, or is parked, while its shared turns are not settled in the
 * chain that asks them. Every change that settles or opens such a turn calls this file. Equal
 * requests have equal answers and equal failure rows, so a twin's outcome is always the same. Not
 * its job: finding the chains that begin alike. */
#include "common/base/alloc.h"
#include "coordinator/queue/internal.h"

#define NONE UINT32_MAX
#define LAST (UINT32_MAX - 1)

enum vq_status vq_coord_shared_turns_create(struct vq_coord *c, const struct vq_chain_alike *alike)
{
    uint64_t shards = vq_grid_shards(&c->params.grid);
    for (uint32_t j = 0; j < c->params.grid.judges; j++) {
        c->lanes[j].due_first = c->lanes[j].due_last = LAST;
    }
    if (alike == NULL) {
        return VQ_OK;
    }
    VQ_TRY(VQ_ALLOC(c->shared_turns, (size_t)shards));
    for (uint64_t no = 0; no < shards; no++) {
        uint32_t turns = alike[no].turns;
        turns = turns < c->params.grid.vibes ? turns : c->params.grid.vibes;
        c->shared_turns[no] = (struct vq_coord_shared_turn){
            .of = alike[no].of, .turns = turns, .first = NONE, .next = NONE, .due = NONE};
    }
    for (uint64_t no = 0; no < shards; no++) {
        struct vq_coord_shared_turn *twin = &c->shared_turns[no];
        if (twin->turns > 0) {
            VQ_ASSERT(twin->of < no);
            twin->next = c->shared_turns[twin->of].first;
            c->shared_turns[twin->of].first = (uint32_t)no;
        }
    }
    return VQ_OK;
}

uint32_t vq_coord_shared_turn_list(const struct vq_coord *c, uint64_t no)
{
    return c->shared_turns == NULL ? 0 : c->shared_turns[no].turns;
}

bool vq_coord_shared_turn_waits(const struct vq_coord *c, uint64_t no)
{
    if (vq_coord_shared_turn_list(c, no) == 0) {
        return false;
    }
    uint64_t last =
        c->shared_turns[no].of * (uint64_t)c->shard_tasks + 2 * (c->shared_turns[no].turns - 1);
    return c->tasks.outcome[last] == VQ_OUTCOME_NONE;
}

/* The chain is looked up: at once if it is in memory, otherwise when the scout has room. */
static void make_due(struct vq_coord *c, uint64_t no)
{
    struct vq_coord_shard *shard = vq_coord_shard_find(c, no);
    struct vq_coord_lane *lane = &c->lanes[no % c->params.grid.judges];
    if (shard != NULL && shard->scouted) {
        vq_coord_shard_stir(c, shard);
        return;
    }
    if (c->shared_turns[no].due != NONE) {
        return;
    }
    c->shared_turns[no].due = LAST;
    if (lane->due_first == LAST) {
        lane->due_first = (uint32_t)no;
    } else {
        c->shared_turns[lane->due_last].due = (uint32_t)no;
    }
    lane->due_last = (uint32_t)no;
}

void vq_coord_shared_turns_settled(struct vq_coord *c, uint64_t task)
{
    if (c->shared_turns == NULL) {
        return;
    }
    uint32_t turn = (uint32_t)(task % c->shard_tasks / 2);
    uint32_t no = c->shared_turns[vq_coord_shard_of(c, task)].first;
    for (; no != NONE; no = c->shared_turns[no].next) {
        if (c->shared_turns[no].turns == turn + 1) {
            make_due(c, no);
        }
    }
}

bool vq_coord_shared_turn_due(struct vq_coord *c, struct vq_coord_lane *lane, uint64_t *ret_no)
{
    if (lane->due_first == LAST) {
        return false;
    }
    *ret_no = lane->due_first;
    struct vq_coord_shared_turn *twin = &c->shared_turns[lane->due_first];
    lane->due_first = twin->due;
    twin->due = NONE;
    return true;
}

bool vq_coord_shared_turns_due(const struct vq_coord_lane *lane)
{
    return lane->due_first != LAST;
}

/* Walks the tree of chains that are `of` this one: first child, else next sibling, else up and next
 * sibling. Chains that do not share the turn are skipped with their subtrees. */
uint64_t vq_coord_shared_turn_next(const struct vq_coord *c, uint64_t no, uint32_t turn,
                                   uint64_t at)
{
    if (c->shared_turns == NULL) {
        return VQ_TASK_NONE;
    }
    uint32_t next = c->shared_turns[at].first;
    for (;;) {
        while (next != NONE && c->shared_turns[next].turns <= turn) {
            next = c->shared_turns[next].next;
        }
        if (next != NONE) {
            return next;
        }
        if (at == no) {
            return VQ_TASK_NONE;
        }
        next = c->shared_turns[at].next;
        at = c->shared_turns[at].of;
    }
}
