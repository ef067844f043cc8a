/* The call store `RUNS/calls.lmdb`: the only place where a raw answer lives, shared by all runs of
 * a runs folder and by their processes. Two tables:
 *   answers  request hash -> answer record; the first one wins
 *   ledger   run uid, 'C', call id -> how that call ended;
 *            run uid, 'F', request hash -> a failure that settled a task;
 *            run uid, 'M' -> the run's meta row
 * and, in the file's main table, "format" and "starts" (of coordinators, for the order in which
 * they ask). Each value carries a checksum over its key and itself (record.h).
 *
 * Threads: one handle a process; every function here may be called from the loop thread and from
 * one thread-pool job at a time. A write waits for other processes' writes, so writes belong in the
 * thread pool.
 *
 * Statuses of all functions of the store that read or write: VQ_CORRUPT (err names the file and
 * what is damaged), VQ_FULL (the disk; nothing of the transaction was written), VQ_IO (err says
 * what), VQ_AGAIN (the map is being resized: in the loop thread, try in the next turn), VQ_NOMEM.
 * After a write or sync that failed, with VQ_FULL too, the handle refuses all further writes; only
 * where no room could be booked beforehand nothing was begun, and a later one may go well. */
#pragma once

#include "proto/id.h"

#define VQ_STORE_FILE         "calls.lmdb"
#define VQ_STORE_LOCK_WAIT_MS 5000 /* a longer wait for the writer lock pauses the run */

struct vq_calls;

struct vq_calls_options {
    size_t map_bytes;     /* first size of the map, which grows; 0: 4 GiB of address space */
    size_t reserve_bytes; /* disk space booked ahead of the data; 0: 32 MiB */
    bool must_exist;      /* VQ_NOT_FOUND rather than a new store */
    bool read_only; /* the file stays as it is; implies must_exist, and every write is refused */
    bool any_value; /* damaged values are let through: for vq_store_drop_damaged */
};

/* Opens or creates the store in `runs_dir`, which exists. `options` may be NULL. Installs a
 * SIGBUS handler that names the file and exits 1. VQ_DENIED: a network file system, or a file
 * that others may read. VQ_EXISTS: this process has a store open. VQ_CORRUPT: cut short, or no
 * LMDB file. */
enum vq_status vq_calls_open(const char *runs_dir, const struct vq_calls_options *options,
                             struct vq_calls **ret_calls, struct vq_error *err) VQ_WARN_UNUSED;
void vq_calls_close(struct vq_calls **calls); /* no transaction may be open; NULL is fine */

const char *vq_calls_path(const struct vq_calls *calls);

/* For the loop's watch over a commit in the thread pool: for how long it has been waiting for
 * the writer lock, 0 when it is not. Above VQ_STORE_LOCK_WAIT_MS the run pauses and says
 * vq_calls_lock_text. */
int64_t vq_calls_lock_wait_ns(const struct vq_calls *calls, int64_t now_ns);
void vq_calls_lock_text(const struct vq_calls *calls, struct vq_error *ret_text);

/* A run's meta row. */
struct vq_run_meta {
    uint64_t epoch;      /* raised at each start of a coordinator */
    uint64_t commit_n;   /* commits since the run began; what Redis must agree with */
    uint32_t generation; /* of --retry-failed */
    bool clean;          /* the last coordinator stopped with nothing out */
    struct vq_id nonce;  /* of the start that raised the epoch */
    int64_t created_unix_ms;
    int64_t started_unix_ms; /* of this epoch */
    /* of the last clean stop, no later call before `clean` goes; 0: unknown */
    int64_t ended_unix_ms;
};

struct vq_run_begun {
    bool first_start;
    bool was_clean;
    uint64_t start_no;      /* this is the n-th start on this store, of whatever run; from 1 on */
    struct vq_run_meta now; /* as it stands in the store from now on */
    struct vq_run_meta before; /* zero at a first start */
};

/* A coordinator's start: raises the epoch, clears the clean mark and makes both durable.
 * `retry_failed` raises the generation too (and commit_n, so that Redis is rebuilt). VQ_LIMIT:
 * the generation is at VQ_GENERATION_MAX. */
enum vq_status vq_calls_begin_run(struct vq_calls *calls, const struct vq_id *uid,
                                  const struct vq_id *nonce, bool retry_failed, int64_t unix_ms,
                                  struct vq_run_begun *ret_begun,
                                  struct vq_error *err) VQ_WARN_UNUSED;
/* A clean stop: nothing is leased, in flight or in a spool. VQ_STALE when the epoch is no longer
 * mine. */
enum vq_status vq_calls_end_run(struct vq_calls *calls, const struct vq_id *uid, uint64_t epoch,
                                int64_t unix_ms, struct vq_error *err) VQ_WARN_UNUSED;
/* VQ_NOT_FOUND: the run never started on this store. */
enum vq_status vq_calls_read_run(struct vq_calls *calls, const struct vq_id *uid,
                                 struct vq_run_meta *ret_meta, struct vq_error *err) VQ_WARN_UNUSED;

/* Reads a snapshot. Cheap; short-lived: a view that stays open keeps the file from reusing
 * space. Views belong to one thread. */
struct vq_view;
enum vq_status vq_view_begin(struct vq_calls *calls, struct vq_view **ret_view,
                             struct vq_error *err) VQ_WARN_UNUSED;
void vq_view_end(struct vq_view **view);
