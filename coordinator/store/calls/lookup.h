/* Reads the stored state of a shard's tasks. Verdicts are not stored, because they would only be a
 * cache: raw answers are parsed again, and vq_task_state gives the states. */
#pragma once

#include "coordinator/queue/task_state.h"
#include "coordinator/store/calls/calls.h"
#include "coordinator/store/calls/plan.h"

/* Fills ret_known[vq_grid_shard_tasks()], index = task - first task of the shard. `run`: the run
 * whose failure rows count. The priors are appended to `text`, which the caller owns; they are
 * valid until it changes. For a chain (CHAT) the priors are the answers in force, in the view's
 * memory. `view` NULL: as if the store were empty. VQ_LIMIT: `text` is full. */
enum vq_status vq_lookup_shard(struct vq_view *view, const struct vq_plan *plan,
                               const struct vq_id *run, uint64_t shard, struct vq_known *ret_known,
                               struct vq_buf *text, struct vq_error *err) VQ_WARN_UNUSED;

/* Only the outcomes, one byte per task, for the columns of a rebuild. */
enum vq_status vq_lookup_outcomes(struct vq_view *view, const struct vq_plan *plan,
                                  const struct vq_id *run, uint64_t shard, uint8_t *ret_outcomes,
                                  struct vq_error *err) VQ_WARN_UNUSED;

/* CHAT: the answers in force of a chain, grid.vibes of them, in the view's memory, and their
 * tokens. Without an answer in force .at is NULL and .bytes is the enum vq_outcome. */
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

/* The answer that gave a task's vote (or non-vote): of the repeat in force, or of its repair if the
 * vote was read there (*ret_repaired). VQ_NOT_FOUND: no answer is in force. */
enum vq_status vq_lookup_standing(struct vq_view *view, const struct vq_plan *plan,
                                  const struct vq_id *run, uint64_t task,
                                  struct vq_answer *ret_answer, bool *ret_repaired,
                                  struct vq_error *err) VQ_WARN_UNUSED;

/* The log-probabilities of the labels in the answer of a call, from the ledger ("A=-0.1 B=-2.4");
 * empty: the provider sent none. VQ_NOT_FOUND: the ledger does not have the call. */
enum vq_status vq_lookup_logprobs(struct vq_view *view, const struct vq_id *run,
                                  const struct vq_id *call, struct vq_span *ret_text,
                                  struct vq_error *err) VQ_WARN_UNUSED;
