/* Private to this folder: one comparison, and its findings.
 *
 *   verify.c   the order of the checks; the store, spools, tasks, results
 *   account.c  accounting.json against the ledger
 *   chat.c     the dialogues of `vibeq chat`, which are led beside the run
 *   redis.c    the columns in Redis against states that are computed from the store */
#pragma once

#include "methods/files/replay.h"
#include "methods/verify/verify.h"

struct vq_verifying {
    const struct vq_verify_input *in;
    const struct vq_id *uid;
    struct vq_replay replay;
    bool walked;        /* `replay` is valid */
    uint8_t **outcomes; /* [stage of `replay`]: one byte per task */
    struct vq_verify *out;
    struct vq_error *err;
};

/* Adds a difference, cut at VQ_ERROR_BYTES_MAX. Without memory it is only counted. */
void vq_verify_report(struct vq_verifying *v, const char *fmt, ...) VQ_PRINTF(2, 3);
void vq_verify_note(struct vq_verifying *v, const char *fmt, ...) VQ_PRINTF(2, 3);

/* Computes the state of every task of the method, or of a script beside the run, into `replay`,
 * `outcomes` and the counts. The caller frees them, also after a failure. */
enum vq_status vq_verify_tasks(struct vq_verifying *v,
                               const struct vq_script *script) VQ_WARN_UNUSED;
void vq_verify_tasks_free(struct vq_verifying *v);

bool vq_verify_is_there(const struct vq_verifying *v, const char *file);

/* `file` is a path in the run's folder. */
enum vq_status vq_verify_account(struct vq_verifying *v, const char *file) VQ_WARN_UNUSED;
enum vq_status vq_verify_chat(struct vq_verifying *v) VQ_WARN_UNUSED;
enum vq_status vq_verify_redis(struct vq_verifying *v) VQ_WARN_UNUSED;
