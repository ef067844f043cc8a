/* The runs that have a provider's key on this machine: files under RUNS/pools, named by a hash,
 * each held by flock. A run that takes the whole holds NAME exclusively. A run that takes a share
 * holds NAME shared with others, and NAME.UID.share, which holds its share, exclusively. Each run
 * that looks or takes holds NAME.gate for a moment. The files contain run, pid, host and start
 * time, never a key. */
#pragma once

#include "proto/id.h"

#define VQ_POOL_WHOLE 1000000u /* a share in millionths */

struct vq_pool_owner {
    const char *run; /* its name; borrowed */
    struct vq_id uid;
    uint32_t term_ms; /* if the process dies, its workers may continue for this time */
    uint32_t share;   /* 1 .. VQ_POOL_WHOLE */
};

struct vq_pool_file;

/* Takes the file without waiting; makes `dir` (0700) and the files (0600, close-on-exec).
 * VQ_LOCKED: err names the run that has it. This is also returned while the term of a run that died
 * without giving it back is not over (except the own run, which waits by itself). VQ_IO with file
 * and reason; VQ_LIMIT; VQ_NOMEM. unix_ms: the time of day. */
enum vq_status vq_pool_file_take(const char *dir, const char *name, const struct vq_pool_owner *me,
                                 int64_t unix_ms, struct vq_pool_file **ret_file,
                                 struct vq_error *err) VQ_WARN_UNUSED;
/* Shows that its owner is alive: call it about every second. */
void vq_pool_file_touch(struct vq_pool_file *file);
/* Gives it back: no call under it is out. NULL inside is fine. */
void vq_pool_file_release(struct vq_pool_file **file);
/* Lets go as if the process had died now: others wait until its workers cannot continue any
 * more. */
void vq_pool_file_abandon(struct vq_pool_file **file);

/* `run "night" (pid 17 on host, since 2026-11-22 05:00 UTC)`: the owner in this process. */
void vq_pool_owner_text(const struct vq_pool_owner *owner, int64_t unix_ms, char *ret_text,
                        size_t bytes);
