/* Invariants: a key of a text begins with zeros where other keys have their sample; its value says what that of the repair says.
 * Not its job: which repairs are leased (core/alike.c). */
#include "coordinator/store/repairs.h"

#include <string.h>

static const struct vq_hash no_request;

void vq_repair_key(const struct vq_plan *plan, uint64_t task, struct vq_span text,
                   struct vq_hash *ret_key)
{
    vq_plan_repair(plan, task, &no_request, text, ret_key);
}

bool vq_repair_is_key(struct vq_span key)
{
    return key.bytes == VQ_HASH_BYTES && memcmp(key.at, no_request.b, VQ_REQUEST_PREFIX_BYTES) == 0;
}

enum vq_status vq_repair_answer(const struct vq_view *view, const struct vq_plan *plan,
                                uint64_t task, const struct vq_hash *of, struct vq_span text,
                                struct vq_answer *ret_answer, struct vq_error *err)
{
    struct vq_hash key;
    vq_plan_repair(plan, task, of, text, &key);
    enum vq_status status = vq_cell_answer(view, &key, ret_answer, err);
    if (status == VQ_NOT_FOUND) {
        vq_repair_key(plan, task, text, &key);
        status = vq_cell_answer(view, &key, ret_answer, err);
    }
    return status;
}

/* Whether the store has the answer that `r` repairs, and it is that text. */
static enum vq_status repairs_stored(const struct vq_view *view, const struct vq_plan *plan,
                                     const struct vq_result *r, struct vq_answer *ret_answer,
                                     bool *ret_same, struct vq_error *err)
{
    struct vq_hash expected;
    *ret_same = false;
    enum vq_status status = vq_cell_answer(view, &r->repaired, ret_answer, err);
    if (status != VQ_OK) {
        return status == VQ_NOT_FOUND ? VQ_OK : status;
    }
    vq_plan_repair(plan, r->task, &r->repaired, ret_answer->answer, &expected);
    *ret_same = vq_hash_eq(&expected, &r->request);
    return VQ_OK;
}

enum vq_status vq_repair_share(struct vq_write *w, const struct vq_plan *plan,
                               const struct vq_result *r, struct vq_error *err)
{
    struct vq_answer answer;
    struct vq_hash key;
    bool same;
    bool repair = r->kind == VQ_CALL_REPAIR && r->end == VQ_END_ANSWER && r->stage == plan->stage &&
                  vq_plan_has(plan, r->task);
    if (!repair || plan->askers[vq_grid_cell(&plan->grid, r->task).judge].repair == NULL) {
        return VQ_OK;
    }
    VQ_TRY(repairs_stored(&w->view, plan, r, &answer, &same, err));
    if (!same) {
        return VQ_OK;
    }
    vq_repair_key(plan, r->task, answer.answer, &key);
    VQ_TRY(vq_cell_answer(&w->view, &r->request, &answer, err));
    struct vq_buf value;
    vq_buf_init(&value, VQ_RECORD_BYTES_MAX);
    vq_record_answer(&value, vq_hash_span(&key), &answer);
    enum vq_status status = value.status;
    if (status == VQ_OK) {
        status = vq_env_put(w, w->view.calls->answers, vq_hash_span(&key), vq_buf_span(&value),
                            false, err);
    }
    vq_buf_free(&value);
    return status == VQ_EXISTS ? VQ_OK : status;
}
