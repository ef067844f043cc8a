/* Private to the store: LMDB's transactions. Includes lmdb.h, so no public header includes this. */
#pragma once

#include "coordinator/store/calls/calls.h"

#include <lmdb.h>
#include <pthread.h>
#include <stdatomic.h>

#define VQ_STORE_MAP_BYTES     (UINT64_C(4) << 30)
#define VQ_STORE_MAP_BYTES_MAX (UINT64_C(1) << 46)
#define VQ_STORE_RESERVE_BYTES (UINT64_C(32) << 20)
#define VQ_STORE_ROOM_BYTES    (UINT64_C(1) << 20) /* for the pages of a small transaction */
#define VQ_STORE_LOOK_BYTES                                                                        \
    (UINT64_C(1) << 30)       /* of larger files not all values are read at the opening */
#define VQ_STORE_TRIES_MAX 64 /* of a transaction, if maps are resized */

struct vq_calls {
    MDB_env *env;
    MDB_dbi main; /* values for the store as a whole */
    MDB_dbi answers;
    MDB_dbi ledger;
    char *path;
    size_t page_bytes;
    size_t reserve_bytes;
    /* Shared: a transaction is open in this process. Exclusive: the map is being resized. */
    pthread_rwlock_t map;
    _Atomic int64_t waiting_since_ns; /* 0: no thread waits for the writer lock */
    _Atomic bool broken;              /* a write failed: nothing more is written */
};

struct vq_view {
    struct vq_calls *calls;
    MDB_txn *txn;
};

/* The status of an LMDB return code, with a sentence that begins with the file. MDB_NOTFOUND
 * becomes VQ_NOT_FOUND. */
enum vq_status vq_env_status(const struct vq_calls *calls, int rc, const char *doing,
                             struct vq_error *err);

/* One write transaction. `run` may be called again from the start (after a map was resized): it
 * must change nothing except through `write`, or set it again. It returns VQ_OK to commit;
 * otherwise nothing is written. */
struct vq_write {
    struct vq_view view; /* also reads the writes of this transaction */
    bool full;           /* the map is full: it is made larger, then `run` is called again */
};
typedef enum vq_status (*vq_write_fn)(void *ctx, struct vq_write *write, struct vq_error *err);
/* `bytes`: the approximate size of the writes, for reserving space. */
enum vq_status vq_env_write(struct vq_calls *calls, uint64_t bytes, vq_write_fn run, void *ctx,
                            struct vq_error *err) VQ_WARN_UNUSED;

/* Values are valid until the next put of the transaction, or until the view's end. VQ_NOT_FOUND
 * without a sentence. */
enum vq_status vq_env_get(const struct vq_view *view, MDB_dbi table, struct vq_span key,
                          struct vq_span *ret_value, struct vq_error *err) VQ_WARN_UNUSED;
/* Calls `each` in order for every row whose key has this prefix, until it returns another status
 * than VQ_OK; returns that status. */
typedef enum vq_status (*vq_env_row_fn)(void *ctx, struct vq_span key, struct vq_span value,
                                        struct vq_error *err);
enum vq_status vq_env_each(const struct vq_view *view, MDB_dbi table, struct vq_span prefix,
                           vq_env_row_fn each, void *ctx, struct vq_error *err) VQ_WARN_UNUSED;
/* Whether any key of the table has this prefix. */
enum vq_status vq_env_has_prefix(const struct vq_view *view, MDB_dbi table, struct vq_span prefix,
                                 bool *ret_has, struct vq_error *err) VQ_WARN_UNUSED;
/* VQ_EXISTS without a sentence: the key exists and `replace` is false. */
enum vq_status vq_env_put(struct vq_write *write, MDB_dbi table, struct vq_span key,
                          struct vq_span value, bool replace, struct vq_error *err) VQ_WARN_UNUSED;

/* A run's meta row. VQ_NOT_FOUND without a sentence. In calls.c. */
enum vq_status vq_env_meta_get(const struct vq_view *view, const struct vq_id *uid,
                               struct vq_run_meta *ret_meta, struct vq_error *err) VQ_WARN_UNUSED;

/* Reads a run's meta row, lets `change` change it, and writes it back. `exists` is false for a run
 * without a row; its *meta is zero. If `change` returns another status than VQ_OK, it is returned
 * and nothing is written. In calls.c. */
typedef enum vq_status (*vq_meta_fn)(void *ctx, bool exists, struct vq_run_meta *meta,
                                     struct vq_error *err);
enum vq_status vq_env_meta(struct vq_write *write, const struct vq_id *uid, vq_meta_fn change,
                           void *ctx, struct vq_error *err) VQ_WARN_UNUSED;
/* Raises the run's commit number by one: the store is then newer than any state in Redis.
 * VQ_NOT_FOUND. In calls.c. */
enum vq_status vq_env_raise_commit(struct vq_write *write, const struct vq_id *uid,
                                   struct vq_error *err) VQ_WARN_UNUSED;

/* Makes a sentence with the file and the key for a failed decoding. */
enum vq_status vq_env_bad_value(const struct vq_calls *calls, enum vq_status status,
                                const char *what, struct vq_span key, struct vq_error *err);

static inline struct vq_span vq_env_span(MDB_val value)
{
    return vq_span(value.mv_data, value.mv_size);
}
