/* LMDB's transactions: one way to write, one way to read.
 *
 * Invariants: the map is resized only while this process has no transaction (the exclusive side of
 * `map`). A write transaction begins only after the disk space that it may need is reserved. Begin
 * to commit is one call, in one thread. After a failed write or sync nothing more is written,
 * because the state of the kernel's pages is unknown. A reader never waits for a writer of this or
 * another process. The exclusive side is held only during one mmap. Not its job: the meaning of
 * keys and values. */
#include "coordinator/store/calls/env.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/crash.h"
#include "coordinator/store/calls/guard.h"

#include <errno.h>

enum vq_status vq_env_status(const struct vq_calls *calls, int rc, const char *doing,
                             struct vq_error *err)
{
    enum vq_status status = VQ_IO;
    const char *hint = "";
    switch (rc) {
    case MDB_SUCCESS: return VQ_OK;
    case MDB_NOTFOUND: return VQ_NOT_FOUND;
    case ENOMEM: status = VQ_NOMEM; break;
    case MDB_MAP_FULL:
    case MDB_TXN_FULL: status = VQ_LIMIT; break;
    case ENOSPC:
    case EDQUOT:
        status = VQ_FULL;
        hint = "; make room on that disk, then resume";
        break;
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_INVALID:
    case MDB_PANIC:
        status = VQ_CORRUPT;
        hint = "; put back a copy, or move the file away to begin a new store";
        break;
    case MDB_VERSION_MISMATCH:
    case MDB_INCOMPATIBLE: status = VQ_VERSION; break;
    case MDB_READERS_FULL:
        status = VQ_UNAVAILABLE;
        hint = "; too many processes read it";
        break;
    case EACCES:
    case EPERM:
    case EROFS: status = VQ_DENIED; break;
    case MDB_MAP_RESIZED:
    case EAGAIN: status = VQ_AGAIN; break;
    case EIO: hint = "; see to that disk, then resume"; break;
    default: break;
    }
    return vq_fail(err, status, "%s: %s: %s%s", calls->path, doing, mdb_strerror(rc), hint);
}

enum vq_status vq_env_bad_value(const struct vq_calls *calls, enum vq_status status,
                                const char *what, struct vq_span key, struct vq_error *err)
{
    char hex[VQ_HEX_BYTES(64)];
    vq_hex(key.at, key.bytes < 64 ? key.bytes : 64, hex);
    if (status == VQ_VERSION) {
        return vq_fail(err, status, "%s: %s %s was written by a later vibeq; use that one",
                       calls->path, what, hex);
    }
    return vq_fail(err, status,
                   "%s: %s %s is damaged (its checksum or shape is wrong); put back a copy, or "
                   "move the file away to begin a new store",
                   calls->path, what, hex);
}

/* ---- the map ---- */

/* Takes over the size that another process gave to the map (`bytes` 0), or makes it larger. Waits
 * for this process's transactions. */
static int map_set(struct vq_calls *calls, size_t bytes)
{
    (void)pthread_rwlock_wrlock(&calls->map);
    int rc = mdb_env_set_mapsize(calls->env, bytes);
    (void)pthread_rwlock_unlock(&calls->map);
    return rc;
}

static enum vq_status map_grow(struct vq_calls *calls, struct vq_error *err)
{
    MDB_envinfo info;
    int rc = mdb_env_info(calls->env, &info);
    if (rc == 0 && info.me_mapsize >= VQ_STORE_MAP_BYTES_MAX) {
        return vq_fail(err, VQ_FULL, "%s is at its largest size", calls->path);
    }
    if (rc == 0) {
        rc = map_set(calls, info.me_mapsize * 2);
    }
    return rc == 0 ? VQ_OK : vq_env_status(calls, rc, "growing the map", err);
}

static enum vq_status reserve(struct vq_calls *calls, uint64_t bytes, struct vq_error *err)
{
    MDB_envinfo info;
    int fd;
    int rc = mdb_env_info(calls->env, &info);
    if (rc == 0) {
        rc = mdb_env_get_fd(calls->env, &fd);
    }
    if (rc != 0) {
        return vq_env_status(calls, rc, "looking at the file", err);
    }
    uint64_t used = ((uint64_t)info.me_last_pgno + 1) * calls->page_bytes;
    return vq_guard_reserve(fd, calls->path, used + VQ_STORE_ROOM_BYTES + 2 * bytes,
                            calls->reserve_bytes, err);
}

/* ---- writing ---- */

enum write_end {
    WRITE_DONE,
    WRITE_RESIZED,
    WRITE_FULL,
};

static enum vq_status write_once(struct vq_calls *calls, vq_write_fn run, void *ctx,
                                 enum write_end *ret_end, struct vq_error *err)
{
    struct vq_write write = {.view = {.calls = calls}};
    *ret_end = WRITE_DONE;
    VQ_CRASH_POINT(store_begin_before);
    atomic_store(&calls->waiting_since_ns, vq_clock_mono_ns());
    int rc = mdb_txn_begin(calls->env, NULL, 0, &write.view.txn);
    atomic_store(&calls->waiting_since_ns, 0);
    if (rc == MDB_MAP_RESIZED) {
        *ret_end = WRITE_RESIZED;
        return VQ_OK;
    }
    if (rc != 0) {
        return vq_env_status(calls, rc, "beginning to write", err);
    }
    VQ_CRASH_POINT(store_begun);
    enum vq_status status = run(ctx, &write, err);
    if (status != VQ_OK) {
        mdb_txn_abort(write.view.txn);
        *ret_end = write.full ? WRITE_FULL : WRITE_DONE;
        return write.full ? VQ_OK : status;
    }
    VQ_CRASH_POINT(store_commit_before);
    rc = mdb_txn_commit(write.view.txn);
    VQ_CRASH_POINT(store_committed);
    if (rc == MDB_MAP_FULL) {
        *ret_end = WRITE_FULL;
        return VQ_OK;
    }
    if (rc != 0) {
        status = vq_env_status(calls, rc, "writing", err);
        /* also if the disk is full: a failed sync has dropped pages */
        atomic_store(&calls->broken, true);
    }
    return status;
}

enum vq_status vq_env_write(struct vq_calls *calls, uint64_t bytes, vq_write_fn run, void *ctx,
                            struct vq_error *err)
{
    for (int tries = 0; tries < VQ_STORE_TRIES_MAX; tries++) {
        if (atomic_load(&calls->broken)) {
            return vq_fail(err, VQ_IO, "%s: an earlier write failed; nothing more is written to it",
                           calls->path);
        }
        VQ_TRY(reserve(calls, bytes, err));
        enum write_end end;
        (void)pthread_rwlock_rdlock(&calls->map);
        enum vq_status status = write_once(calls, run, ctx, &end, err);
        (void)pthread_rwlock_unlock(&calls->map);
        if (status != VQ_OK || end == WRITE_DONE) {
            return status;
        }
        if (end == WRITE_FULL) {
            VQ_TRY(map_grow(calls, err));
        } else {
            int rc = map_set(calls, 0);
            if (rc != 0) {
                return vq_env_status(calls, rc, "taking over the map's size", err);
            }
        }
    }
    return vq_fail(err, VQ_UNAVAILABLE, "%s: its map is resized all the time", calls->path);
}

/* ---- reading ---- */

enum vq_status vq_view_begin(struct vq_calls *calls, struct vq_view **ret_view,
                             struct vq_error *err)
{
    struct vq_view *view;
    VQ_TRY(VQ_ALLOC(view, 1));
    view->calls = calls;
    (void)pthread_rwlock_rdlock(&calls->map);
    int rc = mdb_txn_begin(calls->env, NULL, MDB_RDONLY, &view->txn);
    if (rc == MDB_MAP_RESIZED) {
        (void)pthread_rwlock_unlock(&calls->map);
        /* Do not wait for it: a writer of this process may be waiting for another process's
         * lock. */
        if (pthread_rwlock_trywrlock(&calls->map) == 0) {
            rc = mdb_env_set_mapsize(calls->env, 0);
            (void)pthread_rwlock_unlock(&calls->map);
            (void)pthread_rwlock_rdlock(&calls->map);
            rc = rc == 0 ? mdb_txn_begin(calls->env, NULL, MDB_RDONLY, &view->txn) : rc;
        } else {
            (void)pthread_rwlock_rdlock(&calls->map);
        }
    }
    if (rc != 0) {
        (void)pthread_rwlock_unlock(&calls->map);
        vq_free(view);
        return vq_env_status(calls, rc, "beginning to read", err);
    }
    *ret_view = view;
    return VQ_OK;
}

void vq_view_end(struct vq_view **view)
{
    if (*view == NULL) {
        return;
    }
    mdb_txn_abort((*view)->txn);
    (void)pthread_rwlock_unlock(&(*view)->calls->map);
    vq_free(*view);
    *view = NULL;
}

enum vq_status vq_env_get(const struct vq_view *view, MDB_dbi table, struct vq_span key,
                          struct vq_span *ret_value, struct vq_error *err)
{
    MDB_val k = {.mv_size = key.bytes, .mv_data = (void *)(uintptr_t)key.at};
    MDB_val v;
    int rc = mdb_get(view->txn, table, &k, &v);
    if (rc == 0) {
        *ret_value = vq_env_span(v);
        return VQ_OK;
    }
    return rc == MDB_NOTFOUND ? VQ_NOT_FOUND : vq_env_status(view->calls, rc, "reading", err);
}

static bool begins(MDB_val key, struct vq_span prefix)
{
    return key.mv_size >= prefix.bytes &&
           (prefix.bytes == 0 || memcmp(key.mv_data, prefix.at, prefix.bytes) == 0);
}

enum vq_status vq_env_each(const struct vq_view *view, MDB_dbi table, struct vq_span prefix,
                           vq_env_row_fn each, void *ctx, struct vq_error *err)
{
    MDB_cursor *cursor;
    MDB_val k = {.mv_size = prefix.bytes, .mv_data = (void *)(uintptr_t)prefix.at};
    MDB_val v;
    enum vq_status status = VQ_OK;
    int rc = mdb_cursor_open(view->txn, table, &cursor);
    if (rc != 0) {
        return vq_env_status(view->calls, rc, "reading", err);
    }
    rc = mdb_cursor_get(cursor, &k, &v, prefix.bytes > 0 ? MDB_SET_RANGE : MDB_FIRST);
    while (rc == 0 && status == VQ_OK && begins(k, prefix)) {
        status = each(ctx, vq_env_span(k), vq_env_span(v), err);
        rc = status == VQ_OK ? mdb_cursor_get(cursor, &k, &v, MDB_NEXT) : rc;
    }
    mdb_cursor_close(cursor);
    return rc == 0 || rc == MDB_NOTFOUND ? status : vq_env_status(view->calls, rc, "reading", err);
}

static enum vq_status has_one(void *ctx, struct vq_span key, struct vq_span value,
                              struct vq_error *err)
{
    (void)key;
    (void)value;
    (void)err;
    *(bool *)ctx = true;
    return VQ_EXISTS; /* one is enough */
}

enum vq_status vq_env_has_prefix(const struct vq_view *view, MDB_dbi table, struct vq_span prefix,
                                 bool *ret_has, struct vq_error *err)
{
    *ret_has = false;
    enum vq_status status = vq_env_each(view, table, prefix, has_one, ret_has, err);
    return status == VQ_EXISTS ? VQ_OK : status;
}

enum vq_status vq_env_put(struct vq_write *write, MDB_dbi table, struct vq_span key,
                          struct vq_span value, bool replace, struct vq_error *err)
{
    MDB_val k = {.mv_size = key.bytes, .mv_data = (void *)(uintptr_t)key.at};
    MDB_val v = {.mv_size = value.bytes, .mv_data = (void *)(uintptr_t)value.at};
    int rc = mdb_put(write->view.txn, table, &k, &v, replace ? 0 : MDB_NOOVERWRITE);
    if (rc == MDB_KEYEXIST) {
        return VQ_EXISTS;
    }
    VQ_CRASH_POINT(store_put);
    write->full = write->full || rc == MDB_MAP_FULL;
    return rc == 0 ? VQ_OK : vq_env_status(write->view.calls, rc, "writing", err);
}
