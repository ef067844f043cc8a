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
 * vq_spool_write writes records without fsync: they survive a crash of the process, not of the
 * machine. An incomplete record at the end of the file is dropped and counted; a damaged record
 * before complete ones is refused. */
#pragma once

#include "proto/messages.h"

#define VQ_SPOOL_FILE             "spool"
#define VQ_SPOOL_LOCK             "lock"
#define VQ_SPOOL_VERSION          3
#define VQ_SPOOL_HEAD_BYTES       52
#define VQ_SPOOL_RECORD_BYTES_MAX (2u << 20)
#define VQ_SPOOL_BYTES_MAX        (1u << 30) /* a longer file is refused */
#define VQ_SPOOL_RESULTS_MAX      (1u << 20) /* without an ACK, of one file */
#ifdef VQ_CRASH_POINTS /* builds with crash points reach rare branches often */
#define VQ_SPOOL_EMPTY_BYTES   64u
#define VQ_SPOOL_REWRITE_BYTES (16u << 10)
#else
#define VQ_SPOOL_EMPTY_BYTES   (256u << 10) /* a larger spool whose calls are all ACKed is cut */
#define VQ_SPOOL_REWRITE_BYTES (32u << 20) /* a larger spool is rewritten without its ACKed calls */
#endif
#define VQ_SPOOL_CALL_BYTES (4u << 10) /* of disk space that a SENT reserves for its answer */
/* of disk space that are reserved at a time, if the disk has them */
#define VQ_SPOOL_AHEAD_BYTES    (1u << 20)
#define VQ_SPOOL_PATH_BYTES_MAX 4096

enum vq_spool_type {
    VQ_SPOOL_SENT = 1,
    VQ_SPOOL_ANSWER = 2,
    VQ_SPOOL_ACKED = 3
};

/* Takes the lock of the spool in `dir`; with `create`, creates the folder and the lock file. The
 * lock is held while *ret_fd is open; the descriptor is close-on-exec. VQ_LOCKED: its owner is
 * alive; VQ_NOT_FOUND: no spool; VQ_IO with file and reason. */
enum vq_status vq_spool_lock(const char *dir, bool create, int *ret_fd,
                             struct vq_error *err) VQ_WARN_UNUSED;

/* ---- reading ---- */

struct vq_spool_held; /* the calls of a spool without an ACK */

/* Reads the whole file; the caller holds the lock. A missing or empty file gives VQ_OK and no
 * calls. VQ_INVALID: the spool of another run (`run` NULL: any run); VQ_VERSION; VQ_CORRUPT:
 * damaged in the middle (the error names file and place); VQ_LIMIT; VQ_IO; VQ_NOMEM. The caller
 * owns *ret_held. */
enum vq_status vq_spool_read(const char *dir, const struct vq_id *run,
                             struct vq_spool_held **ret_held, struct vq_error *err) VQ_WARN_UNUSED;
void vq_spool_held_destroy(struct vq_spool_held **held);

/* Calls without an ACK in the order of sending, with their end, or VQ_END_UNKNOWN without a
 * recorded answer. Answers are not parsed yet: outcome is NONE, final is false. Borrowed from
 * `held`. */
size_t vq_spool_held_count(const struct vq_spool_held *held);
const struct vq_result *vq_spool_held_at(const struct vq_spool_held *held, size_t i);
/* The last worker process that wrote the spool; all zero: there was no file. */
struct vq_id vq_spool_held_worker(const struct vq_spool_held *held);
size_t vq_spool_held_unknown(const struct vq_spool_held *held); /* the calls with VQ_END_UNKNOWN */
uint64_t
vq_spool_held_torn_bytes(const struct vq_spool_held *held); /* dropped at the end of the file */
/* of the file, without the dropped bytes */
uint64_t vq_spool_held_bytes(const struct vq_spool_held *held);

/* ---- writing ---- */

struct vq_spool;

/* Makes the folder if it is missing, takes its lock, reads the spool (as vq_spool_read; the caller
 * owns *ret_held) and continues with a file that contains only these calls. VQ_LOCKED, and the
 * errors of vq_spool_read. */
enum vq_status vq_spool_open(const char *dir, const struct vq_id *run, const struct vq_id *worker,
                             struct vq_spool **ret_spool, struct vq_spool_held **ret_held,
                             struct vq_error *err) VQ_WARN_UNUSED;
/* Adds a record. It is in the file after vq_spool_write, or earlier if many records wait.
 * vq_spool_sent takes the call part of `result` only, with its pool and its reservation (an unknown
 * call counts as its reservation). It also reserves disk space for the record and its answer;
 * VQ_FULL then means that there is no space, no record was added, and the call must not be sent.
 * vq_spool_answer: VQ_FULL and VQ_IO mean that the record could not be written yet, see
 * vq_spool_write. VQ_LIMIT: the record was not added. Both use memory that vq_spool_open has
 * allocated. */
enum vq_status vq_spool_sent(struct vq_spool *spool, const struct vq_result *result,
                             struct vq_error *err) VQ_WARN_UNUSED;
enum vq_status vq_spool_answer(struct vq_spool *spool, const struct vq_result *result,
                               struct vq_error *err) VQ_WARN_UNUSED;
/* The same for a result without an earlier vq_spool_sent: a call in a batch has two results. It
 * reserves disk space for the record: VQ_FULL. */
enum vq_status vq_spool_unsent(struct vq_spool *spool, const struct vq_result *result,
                               struct vq_error *err) VQ_WARN_UNUSED;
/* Writes the waiting records. VQ_FULL, VQ_IO: the file is complete and unchanged, and the records
 * wait for the next write. */
enum vq_status vq_spool_write(struct vq_spool *spool, struct vq_error *err) VQ_WARN_UNUSED;
/* Adds an ACK, which may wait in memory for a later write. If much of the file is ACKed, the file
 * is cut or rewritten: VQ_NOMEM. */
enum vq_status vq_spool_acked(struct vq_spool *spool, const struct vq_id *call,
                              struct vq_error *err) VQ_WARN_UNUSED;
uint64_t vq_spool_bytes(const struct vq_spool *spool);
/* Releases the lock, and removes the file of an empty spool. NULL is fine. */
void vq_spool_close(struct vq_spool **spool);

/* Removes a spool file after all of its calls are committed. The caller holds the lock of the
 * folder. VQ_IO. */
enum vq_status vq_spool_remove(const char *dir, struct vq_error *err) VQ_WARN_UNUSED;
