/* The judges that were answered, and by which pool, in earlier stages, and in this stage by an
 * earlier process. Each stage and each process has a new core, whose brakes have seen no call.
 * Without this list a judge that answered thousands of questions would count as one that never
 * answered, and each resume would pay for the failures that pull the brake. Two stages have the
 * same judge if name and role are equal. Invariant: each entry is unique. Not its job: what counts
 * as an answer (brake.c). */
#include "common/base/alloc.h"
#include "coordinator/queue/internal.h"

#include <string.h>

static bool knows(const struct vq_coord_knowledge *known, const char *name, uint32_t role,
                  uint32_t pool)
{
    for (size_t i = 0; i < known->count; i++) {
        const struct vq_coord_known *k = &known->list[i];
        if (k->role == role && k->pool == pool && strcmp(k->name, name) == 0) {
            return true;
        }
    }
    return false;
}

static enum vq_status learn(struct vq_coord_knowledge *known, const char *name, uint32_t role,
                            uint32_t pool)
{
    if (knows(known, name, role, pool) || known->count == VQ_COORD_KNOWN_MAX) {
        return VQ_OK; /* an entry without room is not known, and its brake stays active */
    }
    VQ_TRY(VQ_GROW(known->list, &known->cap, known->count + 1, VQ_COORD_KNOWN_MAX));
    char *copy;
    VQ_TRY(vq_copy(name, &copy));
    known->list[known->count++] = (struct vq_coord_known){copy, role, pool};
    return VQ_OK;
}

static void apply(struct vq_coord *c)
{
    for (uint32_t j = 0; j < c->params.grid.judges; j++) {
        struct vq_coord_lane *lane = &c->lanes[j];
        for (uint32_t i = 0; i < lane->pools_count; i++) {
            bool known = knows(&c->known, lane->name, c->params.role, lane->pools[i]);
            lane->brakes[i].answered = lane->brakes[i].answered || known;
            lane->answered_before = lane->answered_before || known;
        }
    }
}

enum vq_status vq_coord_known_hand_over(struct vq_coord *from, struct vq_coord *to)
{
    VQ_ASSERT(to->known.count == 0);
    to->known.list = from->known.list;
    to->known.count = from->known.count;
    to->known.cap = from->known.cap;
    from->known.list = NULL;
    from->known.count = from->known.cap = 0;
    for (uint32_t j = 0; j < from->params.grid.judges; j++) {
        const struct vq_coord_lane *lane = &from->lanes[j];
        for (uint32_t i = 0; i < lane->pools_count; i++) {
            if (lane->brakes[i].answered) {
                VQ_TRY(learn(&to->known, lane->name, from->params.role, lane->pools[i]));
            }
        }
    }
    apply(to);
    return VQ_OK;
}

static void recall(struct vq_coord *c, struct vq_coord_lane *lane, const struct vq_result *past)
{
    bool useful = c->params.any_answer_is_useful && past->end == VQ_END_ANSWER;
    bool repaired = c->params.repairs && past->kind == VQ_CALL_ASK && past->end == VQ_END_ANSWER &&
                    past->outcome == VQ_OUTCOME_UNPARSEABLE;
    struct vq_brake_call call = {.end = (enum vq_call_end)past->end,
                                 .outcome =
                                     useful ? VQ_OUTCOME_TEXT : (enum vq_outcome)past->outcome,
                                 .final = past->final && !repaired,
                                 .row = vq_grid_cell(&c->params.grid, past->task).sample,
                                 .http_status = past->http_status,
                                 .error = past->error};
    for (uint32_t i = 0; i < lane->pools_count; i++) {
        const char *pool = vq_authority_pool_name(c->params.authority, lane->pools[i]);
        if (vq_span_eq(vq_span_str(pool), past->pool)) {
            vq_brake_recall(&lane->brakes[i], c->params.brake_calls, &call);
            lane->answered_before = lane->answered_before || lane->brakes[i].answered;
        }
    }
}

bool vq_coord_recall(struct vq_coord *c, const struct vq_result *call)
{
    if (call->task < vq_grid_tasks(&c->params.grid)) {
        recall(c, &c->lanes[vq_grid_cell(&c->params.grid, call->task).judge], call);
    }
    for (uint32_t j = 0; j < c->params.grid.judges; j++) {
        for (uint32_t i = 0; i < c->lanes[j].pools_count; i++) {
            if (!c->lanes[j].brakes[i].answered) {
                return true;
            }
        }
    }
    return false;
}

void vq_coord_known_free(struct vq_coord_knowledge *known)
{
    for (size_t i = 0; i < known->count; i++) {
        vq_free(known->list[i].name);
    }
    vq_free(known->list);
}
