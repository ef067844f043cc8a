/* Answers to repairs. A repair's prompt is the text of an answer, so that equal texts have equal
 * prompts: what one was answered is kept under the text too, and is the answer of each later
 * one. */
#pragma once

#include "coordinator/store/calls/cell.h"

/* What the store has of the repair of `text`, which the request `of` of this task got: of that very
 * one, else of the first one of an equal text to the same judge. VQ_NOT_FOUND without a sentence.
 * The judge must have a repair. */
enum vq_status vq_repair_answer(const struct vq_view *view, const struct vq_plan *plan,
                                uint64_t task, const struct vq_hash *of, struct vq_span text,
                                struct vq_answer *ret_answer, struct vq_error *err) VQ_WARN_UNUSED;

/* The key under which `text` has the answer to its repair: of no sample. */
void vq_repair_key(const struct vq_plan *plan, uint64_t task, struct vq_span text,
                   struct vq_hash *ret_key);
/* Whether an answer's key is such a one. */
bool vq_repair_is_key(struct vq_span key);

/* Whether a repair of the text that `r` repairs is stored under the text: then `r` was paid for,
 * and is not used. */
enum vq_status vq_repair_is_known(const struct vq_view *view, const struct vq_plan *plan,
                                  const struct vq_result *r, bool *ret_known,
                                  struct vq_error *err) VQ_WARN_UNUSED;
/* Puts the answered repair `r` of the plan under its text, if it repairs the answer that the store
 * has. The first one wins. */
enum vq_status vq_repair_share(struct vq_write *w, const struct vq_plan *plan,
                               const struct vq_result *r, struct vq_error *err) VQ_WARN_UNUSED;
