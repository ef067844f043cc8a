/* Private to this folder: one comparison, and what it says.
 *
 *   verify.c   the order of things; the store, spools, tasks, results
 *   account.c  accounting.json against the ledger
 *   chat.c     the dialogues of `vibeq chat`, which are led beside the run
 *   redis.c    the columns in Redis against what the store makes of them */
#pragma once

#include "methods/files/replay.h"
#include "methods/verify/verify.h"

struct vq_verifying {
    const struct vq_verify_input *in;
    const struct vq_id *uid;
    struct vq_replay replay;
    bool walked;        /* replay is there */
    uint8_t **outcomes; /* of each of its stages, one byte a task */
    struct vq_verify *out;
    struct vq_error *err;
};

/* Something is wrong; cut at VQ_ERROR_BYTES_MAX. Memory that is missing makes it a count alone. */
void vq_verify_say(struct vq_verifying *v, const char *fmt, ...) VQ_PRINTF(2, 3);
void vq_verify_note(struct vq_verifying *v, const char *fmt, ...) VQ_PRINTF(2, 3);

/* Every task of the method, or of a script beside the run, in its state: into `replay`, `outcomes`
 * and the counts. The caller frees, also after a failure. */
enum vq_status vq_verify_tasks(struct vq_verifying *v,
                               const struct vq_script *script) VQ_WARN_UNUSED;
void vq_verify_tasks_free(struct vq_verifying *v);

bool vq_verify_is_there(const struct vq_verifying *v, const char *file);

/* `file` of the run's folder. */
enum vq_status vq_verify_account(struct vq_verifying *v, const char *file) VQ_WARN_UNUSED;
enum vq_status vq_verify_chat(struct vq_verifying *v) VQ_WARN_UNUSED;
enum vq_status vq_verify_redis(struct vq_verifying *v) VQ_WARN_UNUSED;
