/* Answers to repairs. A repair's prompt is the text of an answer, so equal texts have equal
 * prompts. The answer to the first repair of a text is also stored under the text, and is the
 * answer to each later one. */
#pragma once

#include "coordinator/store/calls/cell.h"

/* The stored answer to the repair of `text`, which the request `of` of this task got: to this very
 * repair, or else to the first repair of an equal text by the same judge. VQ_NOT_FOUND without a
 * sentence. The judge must have a repair. */
enum vq_status vq_repair_answer(const struct vq_view *view, const struct vq_plan *plan,
                                uint64_t task, const struct vq_hash *of, struct vq_span text,
                                struct vq_answer *ret_answer, struct vq_error *err) VQ_WARN_UNUSED;

/* The key of the answer to the repair of `text`, which belongs to no sample. */
void vq_repair_key(const struct vq_plan *plan, uint64_t task, struct vq_span text,
                   struct vq_hash *ret_key);
/* Whether an answer's key is of this kind. */
bool vq_repair_is_key(struct vq_span key);

/* Whether the store already has a repair under the text that `r` repairs: then `r` was charged, and
 * is not used. */
enum vq_status vq_repair_is_known(const struct vq_view *view, const struct vq_plan *plan,
                                  const struct vq_result *r, bool *ret_known,
                                  struct vq_error *err) VQ_WARN_UNUSED;
/* Stores the answered repair `r` of the plan under its text, if it repairs the answer in the store.
 * The first one wins. */
enum vq_status vq_repair_share(struct vq_write *w, const struct vq_plan *plan,
                               const struct vq_result *r, struct vq_error *err) VQ_WARN_UNUSED;
