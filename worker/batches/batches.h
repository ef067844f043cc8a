/* All batches of this worker as a state machine. Calls are added to a batch. The batch is closed,
 * submitted, followed at the provider (worker/provider/batch_life.h), and ends each of its calls
 * once. Pure: no sockets, no clock, no files.
 *
 *     vq_batches_add / _gathered / _anew / _collect / _event / _tick
 *     while (vq_batches_next(b, &action)) { carry it out, in this order }
 *     vq_batches_tick at vq_batches_wake_ms(b), at the latest
 *
 * Take all actions before the next vq_batches_event or _tick. The pointers of an action are valid
 * until the next call of any function.
 *
 * Rules:
 * - A batch is closed when it is full, batch_wait_ms after its first call, or VQ_BATCHES_IDLE_MS
 *   without a new call. It is submitted only after all its calls are committed.
 * - After vq_batches_restart, no batch is created whose calls were gathered before: its calls are
 *   given up. If the create is already under way, the batch is followed, and the create is not sent
 *   again.
 * - A batch of another worker is never created. Lines of calls without a draft are ignored: their
 *   results were delivered earlier.
 * - Each draft is delivered or given up exactly once. The files at the provider are deleted only
 *   after all results of the batch are committed.
 *
 * Time is monotonic, in milliseconds. */
#pragma once

#include "proto/limits.h"
#include "proto/result.h"
#include "worker/provider/batch_life.h"

#define VQ_BATCHES_MAX                 256u       /* of a worker */
#define VQ_BATCHES_DOCUMENTS_BYTES_MAX (1u << 30) /* of all documents that are not yet submitted */
#define VQ_BATCHES_IDLE_MS             3000
#define VQ_BATCHES_TELL_MS             1000 /* between two progress reports on one batch */

struct vq_batches;

/* A pool, as the SPEC describes it; borrowed for the call. */
struct vq_batches_pool {
    struct vq_span name;
    struct vq_batch_at at;
    uint32_t calls_max;
    uint64_t bytes_max;
    uint32_t wait_ms, poll_ms;
};

enum vq_batches_action_type {
    /* `step` of the life `life`: OPEN, UPLOAD, CREATE, LIST, PEEK, GET, FETCH, CANCEL, DROP; answer
     * it with vq_batches_event. Before a CREATE is sent, `life->rules.collects` must still be
     * false; else: CREATE_UNSENT */
    VQ_BATCHES_DO,
    VQ_BATCHES_DELIVER, /* the call `draft` ended as `line` */
    VQ_BATCHES_GIVE_UP, /* the call `draft` has no answer, because of `text` */
    VQ_BATCHES_TELL,    /* report `progress` to the coordinator; it has no session yet */
    VQ_BATCHES_NOTE     /* log `text`: the results are unexpected */
};

struct vq_batches_action {
    enum vq_batches_action_type type;
    uint64_t batch; /* its number, for vq_batches_event */
    struct vq_span pool;
    const struct vq_batch_dialect *dialect;
    const struct vq_batch_life *life;
    struct vq_batch_action step;
    const struct vq_result *draft;
    const struct vq_batch_line *line;
    const char *text;
    enum vq_batch_why why; /* of a GIVE_UP */
    bool ordered;          /* of a GIVE_UP with CANCELLED: the coordinator ordered the cancel */
    struct vq_msg_batch progress;
};

/* `worker`: its first 8 bytes begin the names of its batches. `settle_ms`, `foreign_settle_ms`: 0:
 * VQ_BATCH_SETTLE_MS, VQ_BATCH_FOREIGN_SETTLE_MS. VQ_NOMEM. */
struct vq_batches_options {
    struct vq_id worker;
    uint32_t settle_ms, foreign_settle_ms;
};
enum vq_status vq_batches_create(const struct vq_batches_options *options,
                                 struct vq_batches **ret_batches) VQ_WARN_UNUSED;
void vq_batches_destroy(struct vq_batches **batches);

/* Adds a call to the batch that its pool gathers. `draft` is its record when it is sent; it is
 * copied, with end BATCHED and *ret_text as its error. VQ_LIMIT: the call is too large for any
 * document; VQ_INVALID: the body is empty or has a line break; VQ_AGAIN: VQ_BATCHES_MAX or
 * VQ_BATCHES_DOCUMENTS_BYTES_MAX are reached; VQ_NOMEM. */
enum vq_status vq_batches_add(struct vq_batches *b, const struct vq_batches_pool *pool,
                              const struct vq_result *draft, struct vq_span body, int64_t now_ms,
                              char ret_text[VQ_RESULT_BATCH_BYTES]) VQ_WARN_UNUSED;

/* The last result of this call is committed: either that it is part of a batch, or how it ended. */
void vq_batches_gathered(struct vq_batches *b, const struct vq_id *call, int64_t now_ms);

/* A new session, or this worker leaves. */
void vq_batches_restart(struct vq_batches *b, int64_t now_ms);

/* Follow this batch, or cancel it. VQ_INVALID: the name or a draft is not valid; VQ_AGAIN:
 * VQ_BATCHES_MAX are reached; VQ_NOMEM. After a failure nothing has changed. */
enum vq_status vq_batches_collect(struct vq_batches *b, const struct vq_msg_collect *message,
                                  const struct vq_batches_pool *pool,
                                  int64_t now_ms) VQ_WARN_UNUSED;

/* The result of a VQ_BATCHES_DO. An event of a batch that is over is ignored. */
void vq_batches_event(struct vq_batches *b, uint64_t batch, const struct vq_batch_event *event,
                      int64_t now_ms);
void vq_batches_tick(struct vq_batches *b, int64_t now_ms);

bool vq_batches_next(struct vq_batches *b, struct vq_batches_action *ret_action);
/* When the next tick is due; INT64_MAX: no tick is needed before the next event. */
int64_t vq_batches_wake_ms(const struct vq_batches *b);

/* The life of a batch; NULL: it has none. */
const struct vq_batch_life *vq_batches_life(const struct vq_batches *b, uint64_t batch);
/* The document of a batch that is not yet at the provider; else empty. */
struct vq_span vq_batches_document(const struct vq_batches *b, uint64_t batch);
uint32_t vq_batches_count(const struct vq_batches *b);
