/* The runs that have a provider's key on this machine: files under RUNS/pools, named by a hash,
 * each held by flock. A run that takes all of it holds NAME alone; one that takes a share holds
 * NAME together with others, and NAME.UID.share alone, which holds its share. NAME.gate is held for
 * a moment by each run that looks and takes. The files say run, pid, host and since when, never a
 * key. */
#pragma once

#include "proto/id.h"

#define VQ_POOL_WHOLE 1000000u /* a share in millionths */

struct vq_pool_owner {
    const char *run; /* its name; borrowed */
    struct vq_id uid;
    uint32_t term_ms; /* should it die, its workers may go on for so long */
    uint32_t share;   /* 1 .. VQ_POOL_WHOLE */
};

struct vq_pool_file;

/* Takes it without waiting; makes `dir` (0700) and the files (0600, close-on-exec). VQ_LOCKED: err
 * says in a sentence which run has it; also while the term of one that died without giving it back
 * is not over (one's own run excepted: it waits by itself). VQ_IO with file and reason; VQ_LIMIT;
 * VQ_NOMEM. unix_ms: the time of day. */
enum vq_status vq_pool_file_take(const char *dir, const char *name, const struct vq_pool_owner *me,
                                 int64_t unix_ms, struct vq_pool_file **ret_file,
                                 struct vq_error *err) VQ_WARN_UNUSED;
/* Says that its owner lives: every second or so. */
void vq_pool_file_touch(struct vq_pool_file *file);
/* Gives it back: nothing of it is in use any more. NULL inside is fine. */
void vq_pool_file_release(struct vq_pool_file **file);
/* Lets go as if the process had died here: others wait until its workers cannot go on any more. */
void vq_pool_file_abandon(struct vq_pool_file **file);

/* `run "night" (pid 17 on host, since 2026-11-22 05:00 UTC)`: the owner in this process. */
void vq_pool_owner_text(const struct vq_pool_owner *owner, int64_t unix_ms, char *ret_text,
                        size_t bytes);
