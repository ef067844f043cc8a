/* The call store `RUNS/calls.lmdb`: the only place of raw answers, shared by all runs of a runs
 * folder and by their processes. Two tables:
 *   answers  request hash -> answer record; the first one wins
 *   ledger   run uid, 'C', call id -> the end of that call;
 *            run uid, 'F', request hash -> a failure that settled a task;
 *            run uid, 'M' -> the run's meta row
 * and, in the file's main table, "format" and "starts" (of coordinators, for the order in which
 * they ask). Each value has a checksum over its key and itself (record.h).
 *
 * Threads: one handle per process. Every function here may be called from the loop thread and from
 * one thread-pool job at a time. A write waits for other processes' writes, so writes belong in the
 * thread pool.
 *
 * Statuses of all functions of the store that read or write: VQ_CORRUPT (err names the file and the
 * damage), VQ_FULL (the disk; nothing of the transaction was written), VQ_IO (err has the reason),
 * VQ_AGAIN (the map is being resized: in the loop thread, try in the next turn), VQ_NOMEM. After a
 * failed write or sync, also with VQ_FULL, the handle refuses all further writes. The only
 * exception: if no disk space could be reserved, no write began, and a later write may succeed. */
#pragma once

#include "proto/id.h"

#define VQ_STORE_FILE         "calls.lmdb"
#define VQ_STORE_LOCK_WAIT_MS 5000 /* a longer wait for the writer lock pauses the run */

struct vq_calls;

struct vq_calls_options {
    /* first size of the map, which can become larger; 0: 4 GiB of address space */
    size_t map_bytes;
    size_t reserve_bytes; /* disk space reserved ahead of the data; 0: 32 MiB */
    bool must_exist;      /* VQ_NOT_FOUND instead of a new store */
    bool read_only; /* the file does not change; implies must_exist, and every write is refused */
    bool any_value; /* damaged values are accepted: for vq_store_drop_damaged */
};

/* Opens or creates the store in `runs_dir`, which exists. `options` may be NULL. Installs a SIGBUS
 * handler that names the file and exits 1. VQ_DENIED: a network file system, or a file that others
 * may read. VQ_EXISTS: this process has a store open. VQ_CORRUPT: cut short, or not an LMDB
 * file. */
enum vq_status vq_calls_open(const char *runs_dir, const struct vq_calls_options *options,
                             struct vq_calls **ret_calls, struct vq_error *err) VQ_WARN_UNUSED;
void vq_calls_close(struct vq_calls **calls); /* no transaction may be open; NULL is fine */

const char *vq_calls_path(const struct vq_calls *calls);

/* For the loop, while a commit is in the thread pool: the time for which it has been waiting for
 * the writer lock; 0: it is not waiting. Above VQ_STORE_LOCK_WAIT_MS the run pauses and prints
 * vq_calls_lock_text. */
int64_t vq_calls_lock_wait_ns(const struct vq_calls *calls, int64_t now_ns);
void vq_calls_lock_text(const struct vq_calls *calls, struct vq_error *ret_text);

/* A run's meta row. */
struct vq_run_meta {
    uint64_t epoch;      /* raised at each start of a coordinator */
    uint64_t commit_n;   /* number of commits of the run; Redis must have the same */
    uint32_t generation; /* of --retry-failed */
    bool clean;          /* the last coordinator stopped while nothing was out */
    struct vq_id nonce;  /* of the start that raised the epoch */
    int64_t created_unix_ms;
    int64_t started_unix_ms; /* of this epoch */
    /* time of the last clean stop; no call is later while `clean` is set; 0: unknown */
    int64_t ended_unix_ms;
};

struct vq_run_begun {
    bool first_start;
    bool was_clean;
    uint64_t start_no;         /* number of this start among all starts on this store, from 1 */
    struct vq_run_meta now;    /* as stored from now on */
    struct vq_run_meta before; /* zero at a first start */
};

/* A coordinator's start: raises the epoch, clears the clean mark and makes both durable.
 * `retry_failed` raises the generation, too (and commit_n, so that Redis is rebuilt). VQ_LIMIT: the
 * generation is at VQ_GENERATION_MAX. */
enum vq_status vq_calls_begin_run(struct vq_calls *calls, const struct vq_id *uid,
                                  const struct vq_id *nonce, bool retry_failed, int64_t unix_ms,
                                  struct vq_run_begun *ret_begun,
                                  struct vq_error *err) VQ_WARN_UNUSED;
/* A clean stop: nothing is leased, in flight or in a spool. VQ_STALE: another coordinator raised
 * the epoch. */
enum vq_status vq_calls_end_run(struct vq_calls *calls, const struct vq_id *uid, uint64_t epoch,
                                int64_t unix_ms, struct vq_error *err) VQ_WARN_UNUSED;
/* VQ_NOT_FOUND: the run never started on this store. */
enum vq_status vq_calls_read_run(struct vq_calls *calls, const struct vq_id *uid,
                                 struct vq_run_meta *ret_meta, struct vq_error *err) VQ_WARN_UNUSED;

/* Reads a snapshot. It is cheap, but must be short: while a view is open, the file cannot reuse
 * space. A view belongs to one thread. */
struct vq_view;
enum vq_status vq_view_begin(struct vq_calls *calls, struct vq_view **ret_view,
                             struct vq_error *err) VQ_WARN_UNUSED;
void vq_view_end(struct vq_view **view);
