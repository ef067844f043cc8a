/* A worker's spool: an append-only file of the calls that it sent and the answers that it received,
 * until the coordinator has committed them. The worker writes it; after the worker's death the
 * coordinator, or another worker, reads it.
 *
 * A spool is a folder (0700) with two files: `lock`, held by flock by its one owner, and `spool`
 * (0600):
 *   head    8 bytes "vqspool\n", u32 version, 16 bytes run uid, 16 bytes worker id, 8 bytes check
 *   record  u32 mark and type, u32 length of the rest, 8 bytes check (of type, length and rest), 16
 *           bytes call id, body
 * Numbers are little-endian; a check is the beginning of a BLAKE2b hash. The body of SENT and
 * ANSWER is an encoded struct vq_result (wire.h): of SENT with VQ_END_UNKNOWN, of ANSWER as it
 * ended, without a verdict yet. ACKED has no body.
 *
 * Records are written by vq_spool_write without fsync: they outlive the process, not the machine. A
 * record that was cut short at the end of the file is dropped and counted; damage with whole
 * records after it is refused. */
#pragma once

#include "proto/messages.h"

#define VQ_SPOOL_FILE             "spool"
#define VQ_SPOOL_LOCK             "lock"
#define VQ_SPOOL_VERSION          3
#define VQ_SPOOL_HEAD_BYTES       52
#define VQ_SPOOL_RECORD_BYTES_MAX (2u << 20)
#define VQ_SPOOL_BYTES_MAX        (1u << 30) /* a longer file is refused */
#define VQ_SPOOL_RESULTS_MAX      (1u << 20) /* without an ACK, of one file */
#ifdef VQ_CRASH_POINTS /* what is rare is frequent in builds that are killed on purpose */
#define VQ_SPOOL_EMPTY_BYTES   64u
#define VQ_SPOOL_REWRITE_BYTES (16u << 10)
#else
#define VQ_SPOOL_EMPTY_BYTES   (256u << 10) /* above it, a spool whose calls are all ACKed is cut */
#define VQ_SPOOL_REWRITE_BYTES (32u << 20)  /* above it, what is ACKED is left out in a new file */
#endif
#define VQ_SPOOL_CALL_BYTES (4u << 10) /* of disk that a SENT books for its answer */
/* of disk that are booked at a time, if they can be had */
#define VQ_SPOOL_AHEAD_BYTES    (1u << 20)
#define VQ_SPOOL_PATH_BYTES_MAX 4096

enum vq_spool_type {
    VQ_SPOOL_SENT = 1,
    VQ_SPOOL_ANSWER = 2,
    VQ_SPOOL_ACKED = 3
};

/* The lock of the spool in `dir`; with `create`, folder and lock are made. The lock lasts as long
 * as *ret_fd is open; the descriptor is close-on-exec. VQ_LOCKED: its owner lives; VQ_NOT_FOUND:
 * there is none; VQ_IO with file and reason. */
enum vq_status vq_spool_lock(const char *dir, bool create, int *ret_fd,
                             struct vq_error *err) VQ_WARN_UNUSED;

/* ---- reading ---- */

struct vq_spool_held; /* what a spool holds without an ACK */

/* Reads the whole file; the caller holds the lock. No file, or an empty one: VQ_OK and no calls.
 * VQ_INVALID: the spool of another run (`run` NULL: any run); VQ_VERSION; VQ_CORRUPT: damaged in
 * the middle, with file and place; VQ_LIMIT; VQ_IO; VQ_NOMEM. The caller owns *ret_held. */
enum vq_status vq_spool_read(const char *dir, const struct vq_id *run,
                             struct vq_spool_held **ret_held, struct vq_error *err) VQ_WARN_UNUSED;
void vq_spool_held_destroy(struct vq_spool_held **held);

/* Calls without an ACK in the order of sending: with their end, or VQ_END_UNKNOWN if no answer was
 * noted. Answers are not parsed yet: outcome is NONE, final is false. Borrowed from `held`. */
size_t vq_spool_held_count(const struct vq_spool_held *held);
const struct vq_result *vq_spool_held_at(const struct vq_spool_held *held, size_t i);
/* The worker process that wrote it last; all zero: there was no file. */
struct vq_id vq_spool_held_worker(const struct vq_spool_held *held);
size_t vq_spool_held_unknown(const struct vq_spool_held *held); /* of them VQ_END_UNKNOWN */
uint64_t
vq_spool_held_torn_bytes(const struct vq_spool_held *held);     /* dropped at the end of the file */
uint64_t vq_spool_held_bytes(const struct vq_spool_held *held); /* of the file, without them */

/* ---- writing ---- */

struct vq_spool;

/* Makes the folder if it is missing, takes its lock, reads the spool (as vq_spool_read; the caller
 * owns *ret_held) and continues in a file that holds only these calls. VQ_LOCKED, and the errors of
 * vq_spool_read. */
enum vq_status vq_spool_open(const char *dir, const struct vq_id *run, const struct vq_id *worker,
                             struct vq_spool **ret_spool, struct vq_spool_held **ret_held,
                             struct vq_error *err) VQ_WARN_UNUSED;
/* Notes a record. It is in the file after vq_spool_write, or earlier if many records wait.
 * vq_spool_sent takes the call part of `result` only, with its pool and its reservation (an unknown
 * call counts as its reservation). It also books disk space for the record and its answer; VQ_FULL
 * then means: there is no space, nothing was noted, and the call must not be sent. vq_spool_answer:
 * VQ_FULL, VQ_IO: could not be written now, see vq_spool_write. VQ_LIMIT: was not noted. Neither
 * allocates: vq_spool_open did. */
enum vq_status vq_spool_sent(struct vq_spool *spool, const struct vq_result *result,
                             struct vq_error *err) VQ_WARN_UNUSED;
enum vq_status vq_spool_answer(struct vq_spool *spool, const struct vq_result *result,
                               struct vq_error *err) VQ_WARN_UNUSED;
/* The same for a result that no vq_spool_sent came before: of a call that is part of a batch, which
 * has two results. Books its disk space: VQ_FULL. */
enum vq_status vq_spool_unsent(struct vq_spool *spool, const struct vq_result *result,
                               struct vq_error *err) VQ_WARN_UNUSED;
/* Writes the noted records. VQ_FULL, VQ_IO: the file is whole and unchanged, and the records wait
 * for the next write. */
enum vq_status vq_spool_write(struct vq_spool *spool, struct vq_error *err) VQ_WARN_UNUSED;
/* Notes an ACK, which may wait in memory for a later write. If much of the file is ACKed, cuts or
 * rewrites it: VQ_NOMEM. */
enum vq_status vq_spool_acked(struct vq_spool *spool, const struct vq_id *call,
                              struct vq_error *err) VQ_WARN_UNUSED;
uint64_t vq_spool_bytes(const struct vq_spool *spool);
/* Releases the lock, and removes the file of an empty spool. NULL is fine. */
void vq_spool_close(struct vq_spool **spool);

/* Removes the spool file in a folder whose lock the caller holds: everything in it is committed.
 * VQ_IO. */
enum vq_status vq_spool_remove(const char *dir, struct vq_error *err) VQ_WARN_UNUSED;
