/* What the store knows of a shard's tasks. A stored verdict would only be a cache: raw answers
 * are parsed again, and states come from vq_task_state. */
#pragma once

#include "coordinator/queue/task_state.h"
#include "coordinator/store/calls/calls.h"
#include "coordinator/store/calls/plan.h"

/* Fills ret_known[vq_grid_shard_tasks()], index = task - first task of the shard. `run`: whose
 * failure rows count. `text` gets the priors appended; it is the caller's, and the priors are valid
 * until it changes. Of a chain (CHAT) the answers that stand are the priors, in the view's memory.
 * `view` NULL: as if nothing were stored. VQ_LIMIT: `text` is full. */
enum vq_status vq_lookup_shard(struct vq_view *view, const struct vq_plan *plan,
                               const struct vq_id *run, uint64_t shard, struct vq_known *ret_known,
                               struct vq_buf *text, struct vq_error *err) VQ_WARN_UNUSED;

/* The outcomes alone, one byte a task, for the columns of a rebuild. */
enum vq_status vq_lookup_outcomes(struct vq_view *view, const struct vq_plan *plan,
                                  const struct vq_id *run, uint64_t shard, uint8_t *ret_outcomes,
                                  struct vq_error *err) VQ_WARN_UNUSED;

/* CHAT: the answers of a chain, grid.vibes of them, in the view's memory; .at NULL where none
 * stands, .bytes then the enum vq_outcome; and what each took. */
enum vq_status vq_lookup_chain(struct vq_view *view, const struct vq_plan *plan,
                               const struct vq_id *run, uint64_t shard, struct vq_span *ret_turns,
                               struct vq_turn_tokens *ret_tokens,
                               struct vq_error *err) VQ_WARN_UNUSED;

/* One stored answer, for results and the command line. Spans are in the view's memory. */
struct vq_answer {
    struct vq_span answer;
    struct vq_span finish_reason;
    struct vq_span model;
    struct vq_span fingerprint;
    bool refusal;
    uint64_t tokens_in, tokens_cached, tokens_out;
    int64_t created_unix_ms;
    struct vq_id call; /* that bought it */
    struct vq_id run;  /* that bought it */
};
/* By request hash. VQ_NOT_FOUND. */
enum vq_status vq_lookup_answer(const struct vq_view *view, const struct vq_hash *request,
                                struct vq_answer *ret_answer, struct vq_error *err) VQ_WARN_UNUSED;

/* The answer that a task's vote (or non-vote) stands on: of the standing repeat, and of its
 * repair if that is what was read (*ret_repaired). VQ_NOT_FOUND: no answer stands. */
enum vq_status vq_lookup_standing(struct vq_view *view, const struct vq_plan *plan,
                                  const struct vq_id *run, uint64_t task,
                                  struct vq_answer *ret_answer, bool *ret_repaired,
                                  struct vq_error *err) VQ_WARN_UNUSED;

/* The log-probabilities of the labels in the answer of a call, as the ledger has them ("A=-0.1
 * B=-2.4"); empty: the provider sent none. VQ_NOT_FOUND: the ledger does not have the call. */
enum vq_status vq_lookup_logprobs(struct vq_view *view, const struct vq_id *run,
                                  const struct vq_id *call, struct vq_span *ret_text,
                                  struct vq_error *err) VQ_WARN_UNUSED;
