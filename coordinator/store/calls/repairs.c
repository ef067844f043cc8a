/* Invariants: a key of a text begins with zeros where other keys have their sample. Its value is
 * the answer to the first repair of this text, and is never replaced. A task that it settled stays
 * settled: a later repair is not stored. Not its job: which repairs are leased
 * (coordinator/queue/alike.c). */
#include "coordinator/store/calls/repairs.h"

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
    enum vq_status status = vq_lookup_answer(view, &key, ret_answer, err);
    if (status == VQ_NOT_FOUND) {
        vq_repair_key(plan, task, text, &key);
        status = vq_lookup_answer(view, &key, ret_answer, err);
    }
    return status;
}

/* The key of the text that `r` repairs, if `r` is an answered repair of this plan and the store has
 * that text as the answer. */
static enum vq_status key_of(const struct vq_view *view, const struct vq_plan *plan,
                             const struct vq_result *r, struct vq_hash *ret_key, bool *ret_has,
                             struct vq_error *err)
{
    struct vq_hash expected;
    struct vq_answer answer;
    *ret_has = false;
    bool repair = r->kind == VQ_CALL_REPAIR && r->end == VQ_END_ANSWER && r->stage == plan->stage &&
                  vq_plan_has(plan, r->task);
    if (!repair || plan->askers[vq_grid_cell(&plan->grid, r->task).judge].repair == NULL) {
        return VQ_OK;
    }
    enum vq_status status = vq_lookup_answer(view, &r->repaired, &answer, err);
    if (status != VQ_OK) {
        return status == VQ_NOT_FOUND ? VQ_OK : status;
    }
    vq_plan_repair(plan, r->task, &r->repaired, answer.answer, &expected);
    *ret_has = vq_hash_eq(&expected, &r->request);
    vq_repair_key(plan, r->task, answer.answer, ret_key);
    return VQ_OK;
}

enum vq_status vq_repair_is_known(const struct vq_view *view, const struct vq_plan *plan,
                                  const struct vq_result *r, bool *ret_known, struct vq_error *err)
{
    struct vq_hash key;
    struct vq_answer answer;
    bool has;
    *ret_known = false;
    VQ_TRY(key_of(view, plan, r, &key, &has, err));
    enum vq_status status = has ? vq_lookup_answer(view, &key, &answer, err) : VQ_NOT_FOUND;
    *ret_known = status == VQ_OK;
    return status == VQ_NOT_FOUND ? VQ_OK : status;
}

enum vq_status vq_repair_share(struct vq_write *w, const struct vq_plan *plan,
                               const struct vq_result *r, struct vq_error *err)
{
    struct vq_answer answer;
    struct vq_hash key;
    bool has;
    VQ_TRY(key_of(&w->view, plan, r, &key, &has, err));
    if (!has) {
        return VQ_OK;
    }
    enum vq_status status = vq_lookup_answer(&w->view, &r->request, &answer, err);
    if (status != VQ_OK) {
        return status == VQ_NOT_FOUND ? VQ_OK : status; /* an equal text has one */
    }
    struct vq_buf value;
    vq_buf_init(&value, VQ_RECORD_BYTES_MAX);
    vq_record_answer(&value, vq_hash_span(&key), &answer);
    status = value.status;
    if (status == VQ_OK) {
        status = vq_env_put(w, w->view.calls->answers, vq_hash_span(&key), vq_buf_span(&value),
                            false, err);
    }
    vq_buf_free(&value);
    return status == VQ_EXISTS ? VQ_OK : status;
}
