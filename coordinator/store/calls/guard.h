/* Checks outside of LMDB, which trusts its file: the file system, modes, the file's length, and
 * SIGBUS. */
#pragma once

#include "common/base/status.h"

#include <sys/types.h>

/* VQ_DENIED: the folder is on a network file system, where memory maps and locks do not work across
 * machines. */
enum vq_status vq_guard_file_system(const char *folder, struct vq_error *err) VQ_WARN_UNUSED;
/* The name of a network file system by its magic number (statfs) and, for FUSE, its type in
 * /proc/self/mountinfo; NULL: a local one. `fuse_type` may be NULL. */
const char *vq_guard_network_name(uint64_t magic, const char *fuse_type);

/* VQ_NOT_FOUND, VQ_DENIED (others may read it, it is not ours, or it is not a regular file). */
enum vq_status vq_guard_file(const char *path, struct vq_error *err) VQ_WARN_UNUSED;
/* VQ_CORRUPT: the file is shorter than `bytes`. */
enum vq_status vq_guard_length(int fd, const char *path, uint64_t bytes,
                               struct vq_error *err) VQ_WARN_UNUSED;

/* From now on a SIGBUS (a mapped file lost its end, or a disk fails) prints `path` on standard
 * error and exits 1. */
enum vq_status vq_guard_sigbus(const char *path, struct vq_error *err) VQ_WARN_UNUSED;
void vq_guard_sigbus_end(void);

/* The part of `ahead` bytes to reserve on a disk with `room` bytes free: only a share of the
 * room. */
uint64_t vq_guard_ahead(uint64_t room, uint64_t ahead);

/* Makes sure that the disk has room up to `end` bytes of the file, and up to `ahead` more if there
 * is plenty: the file becomes longer, never shorter. VQ_FULL. A file system that cannot reserve
 * space is fine. */
enum vq_status vq_guard_reserve(int fd, const char *path, uint64_t end, uint64_t ahead,
                                struct vq_error *err) VQ_WARN_UNUSED;
