/* Writes a spool, and takes its lock.
 *
 * The lock is a separate file, so that a rename can replace the spool. Records wait in memory until
 * vq_spool_write, which writes all of them with one write(). If the disk is full, a partial write
 * is cut off again, so the file stays complete, and the records continue to wait. ACKs wait longer,
 * for the next write or for many other ACKs; an ACK that is lost in a crash costs only a repeated
 * result. The file is rewritten when it is opened, and when much of it is ACKed: the live records
 * are written to `spool.new`, which is then renamed. After a crash at any point, one complete file
 * is there, the old or the new one. Disk space after the end of the file is reserved before a call
 * is recorded as sent, for its record and for all answers that are still missing, so a paid answer
 * always has space. Memory for the longest record is allocated when the spool is opened (pages that
 * are not used cost nothing), so a record never fails for lack of memory. Not its job: the choice
 * and time of records (the worker's core). */
#include "proto/spool.h"

#include "common/base/alloc.h"
#include "common/base/crash.h"
#include "proto/spool_format.h"
#include "proto/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define SPOOL_NEW      "spool.new"
#define WAIT_BYTES_MAX 32768 /* if more bytes wait, they are written at once */

struct vq_spool {
    char *dir;
    struct vq_id run, worker;
    int lock_fd, fd;
    uint64_t bytes;
    uint64_t rewrite_bytes; /* a larger file is rewritten */
    size_t live;
    size_t unanswered;    /* calls of this process with SENT, but without ANSWER */
    uint64_t booked;      /* disk space is reserved up to this offset */
    struct vq_buf record; /* the records that wait for the next write */
    struct vq_buf body;
};

enum vq_status vq_spool_path(const char *dir, const char *name, char *ret_path,
                             struct vq_error *err)
{
    int bytes = snprintf(ret_path, VQ_SPOOL_PATH_BYTES_MAX, "%s/%s", dir, name);
    if ((size_t)bytes >= VQ_SPOOL_PATH_BYTES_MAX) {
        return vq_fail(err, VQ_LIMIT, "the path of the spool folder is too long: %.200s", dir);
    }
    return VQ_OK;
}

enum vq_status vq_spool_lock(const char *dir, bool create, int *ret_fd, struct vq_error *err)
{
    char path[VQ_SPOOL_PATH_BYTES_MAX];
    VQ_TRY(vq_spool_path(dir, VQ_SPOOL_LOCK, path, err));
    if (create && mkdir(dir, 0700) != 0 && errno != EEXIST) {
        return vq_fail(err, VQ_IO, "cannot make the spool folder %s: %s", dir, strerror(errno));
    }
    int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | (create ? O_CREAT : 0);
    int fd = open(path, flags, 0600);
    if (fd < 0) {
        enum vq_status status = errno == ENOENT ? VQ_NOT_FOUND : VQ_IO;
        return vq_fail(err, status, "cannot open %s: %s", path, strerror(errno));
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        int reason = errno;
        (void)close(fd);
        return reason == EWOULDBLOCK
                   ? vq_fail(err, VQ_LOCKED,
                             "the spool %s is in use by another worker (%s is locked)", dir, path)
                   : vq_fail(err, VQ_IO, "cannot lock %s: %s", path, strerror(reason));
    }
    struct stat st = {.st_nlink = 0};
    if (fstat(fd, &st) != 0) {
        int reason = errno;
        (void)close(fd);
        return vq_fail(err, VQ_IO, "cannot look at %s: %s", path, strerror(reason));
    }
    if (st.st_nlink == 0) { /* its owner removed it before the lock was taken */
        (void)close(fd);
        return vq_fail(err, VQ_LOCKED, "the spool %s is just being removed", dir);
    }
    *ret_fd = fd;
    return VQ_OK;
}

/* The path in the folder of an open spool, which has checked that every name is short enough. */
static void path_in(const struct vq_spool *spool, const char *name, char *ret_path)
{
    enum vq_status status = vq_spool_path(spool->dir, name, ret_path, NULL);
    VQ_ASSERT(status == VQ_OK);
}

static enum vq_status status_of(int reason)
{
    return reason == ENOSPC || reason == EDQUOT || reason == EFBIG ? VQ_FULL : VQ_IO;
}

/* Appends all of the bytes or none: a partial write is cut off again. */
static enum vq_status file_append(int fd, uint64_t end, struct vq_span bytes, const char *dir,
                                  struct vq_error *err)
{
    size_t done = 0;
    while (done < bytes.bytes) {
        ssize_t put = write(fd, bytes.at + done, bytes.bytes - done);
        if (put > 0) {
            done += (size_t)put;
        } else if (put == 0 || errno != EINTR) {
            int reason = put == 0 ? ENOSPC : errno;
            if (ftruncate(fd, (off_t)end) != 0) {
                reason = reason == ENOSPC ? reason : errno; /* readers drop the partial record */
            }
            return vq_fail(err, status_of(reason), "cannot write the spool in %s: %s", dir,
                           strerror(reason));
        }
    }
    return VQ_OK;
}

/* Writes the waiting records; on failure they stay in `record`. */
static enum vq_status flush(struct vq_spool *spool, struct vq_error *err)
{
    enum vq_status status =
        file_append(spool->fd, spool->bytes, vq_buf_span(&spool->record), spool->dir, err);
    if (status != VQ_OK) {
        spool->booked = 0; /* the cut released the space that was reserved after the end */
        return status;
    }
    spool->bytes += spool->record.bytes;
    vq_buf_clear(&spool->record);
    return VQ_OK;
}

/* Reserves disk space up to `end`, and some more if possible. A file system without reservation
 * counts as VQ_OK. */
static enum vq_status book(struct vq_spool *spool, uint64_t end, struct vq_error *err)
{
    if (end <= spool->booked) {
        return VQ_OK;
    }
    int rc = -1;
    uint64_t ahead = end + VQ_SPOOL_AHEAD_BYTES;
    for (int tries = 0; tries < 2 && rc != 0; tries++) {
        do {
            rc = fallocate(spool->fd, FALLOC_FL_KEEP_SIZE, (off_t)spool->bytes,
                           (off_t)(ahead - spool->bytes));
        } while (rc != 0 && errno == EINTR);
        ahead = rc != 0 ? end : ahead;
    }
    if (rc != 0 && errno != EOPNOTSUPP && errno != ENOSYS) {
        return vq_fail(err, status_of(errno),
                       "no room for the spool in %s (%s); make room on that disk", spool->dir,
                       strerror(errno));
    }
    spool->booked = rc == 0 ? ahead : UINT64_MAX;
    return VQ_OK;
}

static enum vq_status record_make(struct vq_spool *spool, struct vq_buf *out,
                                  enum vq_spool_type type, const struct vq_result *result)
{
    vq_buf_clear(&spool->body);
    VQ_TRY(vq_result_encode(result, &spool->body));
    vq_spool_put_record(out, type, &result->call, vq_buf_span(&spool->body));
    return out->status;
}

/* ---- rewriting the file ---- */

static enum vq_status new_fill(struct vq_spool *spool, const struct vq_spool_held *held, int fd,
                               uint64_t *bytes, struct vq_error *err)
{
    struct vq_buf *out = &spool->record;
    vq_buf_clear(out);
    vq_spool_put_head(out, &spool->run, &spool->worker);
    for (size_t i = 0; i < vq_spool_held_count(held) && out->status == VQ_OK; i++) {
        const struct vq_result *result = vq_spool_held_at(held, i);
        bool sent = result->end == VQ_END_UNKNOWN;
        VQ_TRY(record_make(spool, out, sent ? VQ_SPOOL_SENT : VQ_SPOOL_ANSWER, result));
        VQ_TRY(file_append(fd, *bytes, vq_buf_span(out), spool->dir, err));
        *bytes += out->bytes;
        vq_buf_clear(out);
    }
    VQ_TRY(out->status);
    VQ_TRY(file_append(fd, *bytes, vq_buf_span(out), spool->dir, err));
    *bytes += out->bytes;
    return VQ_OK;
}

/* Replaces the file by one with only the calls of `held`; on failure nothing changes. */
static enum vq_status renew(struct vq_spool *spool, const struct vq_spool_held *held,
                            struct vq_error *err)
{
    char now[VQ_SPOOL_PATH_BYTES_MAX], path[VQ_SPOOL_PATH_BYTES_MAX];
    path_in(spool, VQ_SPOOL_FILE, now);
    path_in(spool, SPOOL_NEW, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return vq_fail(err, VQ_IO, "cannot make %s: %s", path, strerror(errno));
    }
    uint64_t bytes = 0;
    enum vq_status status = new_fill(spool, held, fd, &bytes, err);
    vq_buf_clear(&spool->record);
    VQ_CRASH_POINT(spool_new_written);
    if (status == VQ_OK && rename(path, now) != 0) {
        status = vq_fail(err, VQ_IO, "cannot rename %s: %s", path, strerror(errno));
    }
    if (status != VQ_OK) {
        (void)close(fd);
        (void)unlink(path);
        return status;
    }
    VQ_CRASH_POINT(spool_renamed);
    if (spool->fd >= 0) {
        (void)close(spool->fd);
    }
    spool->fd = fd;
    spool->bytes = bytes;
    spool->booked = 0;
    spool->live = vq_spool_held_count(held);
    spool->rewrite_bytes = bytes * 2 > VQ_SPOOL_REWRITE_BYTES ? bytes * 2 : VQ_SPOOL_REWRITE_BYTES;
    return VQ_OK;
}

/* Whether the file itself has no call without an ACK. The counters alone must not decide that a
 * file is removed. */
static bool nothing_left(const struct vq_spool *spool)
{
    struct vq_spool_held *held = NULL;
    if (spool->live > 0 || vq_spool_read(spool->dir, &spool->run, &held, NULL) != VQ_OK) {
        return false;
    }
    bool nothing = vq_spool_held_count(held) == 0;
    vq_spool_held_destroy(&held);
    return nothing;
}

static enum vq_status compact(struct vq_spool *spool, struct vq_error *err)
{
    if (spool->bytes > VQ_SPOOL_EMPTY_BYTES && nothing_left(spool)) {
        if (ftruncate(spool->fd, VQ_SPOOL_HEAD_BYTES) == 0) {
            VQ_CRASH_POINT(spool_cut);
            spool->bytes = VQ_SPOOL_HEAD_BYTES;
            spool->booked = 0;
        }
        return VQ_OK; /* a failed cut does no harm yet */
    }
    if (spool->bytes <= spool->rewrite_bytes) {
        return VQ_OK;
    }
    struct vq_spool_held *held = NULL;
    VQ_TRY(flush(spool, err));
    VQ_TRY(vq_spool_read(spool->dir, &spool->run, &held, err));
    enum vq_status status = renew(spool, held, err);
    /* no space for a second file: continue with this one, and retry later */
    if (status == VQ_FULL) {
        spool->rewrite_bytes *= 2;
        status = VQ_OK;
    }
    vq_spool_held_destroy(&held);
    return status;
}

/* ---- the spool ---- */

enum vq_status vq_spool_open(const char *dir, const struct vq_id *run, const struct vq_id *worker,
                             struct vq_spool **ret_spool, struct vq_spool_held **ret_held,
                             struct vq_error *err)
{
    char longest[VQ_SPOOL_PATH_BYTES_MAX];
    VQ_TRY(vq_spool_path(dir, SPOOL_NEW, longest, err));
    struct vq_spool_held *held = NULL;
    struct vq_spool *spool;
    VQ_TRY(VQ_ALLOC(spool, 1));
    spool->lock_fd = -1;
    spool->fd = -1;
    spool->run = *run;
    spool->worker = *worker;
    vq_buf_init(&spool->record, VQ_SPOOL_RECORD_BYTES_MAX + 2 * WAIT_BYTES_MAX);
    vq_buf_init(&spool->body, VQ_SPOOL_RECORD_BYTES_MAX);
    spool->dir = vq_strdup(dir);
    enum vq_status status =
        spool->dir == NULL ? VQ_NOMEM : vq_spool_lock(dir, true, &spool->lock_fd, err);
    if (status == VQ_OK) {
        status = vq_spool_read(dir, run, &held, err);
    }
    if (status == VQ_OK) {
        status = renew(spool, held, err);
    }
    vq_buf_clear(&spool->body);
    if (status == VQ_OK && (vq_buf_reserve(&spool->record, spool->record.bytes_max) == NULL ||
                            vq_buf_reserve(&spool->body, spool->body.bytes_max) == NULL)) {
        status = VQ_NOMEM;
    }
    if (status != VQ_OK) {
        vq_spool_held_destroy(&held);
        vq_spool_close(&spool);
        return status;
    }
    *ret_spool = spool;
    *ret_held = held;
    return VQ_OK;
}

/* Removes a record that did not fit; the records before it continue to wait. */
static void drop_last(struct vq_spool *spool, size_t waiting)
{
    spool->record.status = VQ_OK;
    spool->record.bytes = waiting;
    spool->record.at[waiting] = '\0'; /* `at` is allocated: it contained the head of the file */
}

/* Adds a waiting record. */
static enum vq_status append(struct vq_spool *spool, enum vq_spool_type type,
                             const struct vq_result *result, struct vq_error *err)
{
    size_t waiting = spool->record.bytes;
    enum vq_status status = record_make(spool, &spool->record, type, result);
    if (status != VQ_OK) {
        drop_last(spool, waiting);
        return status;
    }
    return spool->record.bytes > WAIT_BYTES_MAX ? flush(spool, err) : VQ_OK;
}

enum vq_status vq_spool_write(struct vq_spool *spool, struct vq_error *err)
{
    return flush(spool, err);
}

enum vq_status vq_spool_sent(struct vq_spool *spool, const struct vq_result *result,
                             struct vq_error *err)
{
    struct vq_result sent = {.call = result->call,
                             .stage = result->stage,
                             .shard = result->shard,
                             .fence = result->fence,
                             .task = result->task,
                             .request = result->request,
                             .repaired = result->repaired,
                             .judge = result->judge,
                             .repeat = result->repeat,
                             .tries = result->tries,
                             .kind = result->kind,
                             .end = VQ_END_UNKNOWN,
                             .started_unix_ms = result->started_unix_ms,
                             .tokens_reserved = result->tokens_reserved,
                             .cost_nano = result->cost_nano,
                             .pool = result->pool};
    uint64_t waiting = spool->bytes + spool->record.bytes;
    VQ_TRY(book(spool, waiting + (spool->unanswered + 1) * VQ_SPOOL_CALL_BYTES, err));
    VQ_TRY(append(spool, VQ_SPOOL_SENT, &sent, err));
    spool->live++;
    spool->unanswered++;
    return VQ_OK;
}

enum vq_status vq_spool_answer(struct vq_spool *spool, const struct vq_result *result,
                               struct vq_error *err)
{
    struct vq_result raw = *result;
    raw.outcome = VQ_OUTCOME_NONE;
    raw.final = false;
    spool->unanswered -= spool->unanswered > 0 ? 1 : 0;
    return append(spool, VQ_SPOOL_ANSWER, &raw, err);
}

enum vq_status vq_spool_unsent(struct vq_spool *spool, const struct vq_result *result,
                               struct vq_error *err)
{
    uint64_t waiting = spool->bytes + spool->record.bytes;
    VQ_TRY(book(spool, waiting + (spool->unanswered + 1) * VQ_SPOOL_CALL_BYTES, err));
    spool->unanswered++;
    spool->live++;
    return vq_spool_answer(spool, result, err);
}

enum vq_status vq_spool_acked(struct vq_spool *spool, const struct vq_id *call,
                              struct vq_error *err)
{
    size_t waiting = spool->record.bytes;
    vq_spool_put_record(&spool->record, VQ_SPOOL_ACKED, call, vq_span("", 0));
    enum vq_status status = spool->record.status;
    if (status != VQ_OK) {
        drop_last(spool, waiting);
        return status;
    }
    spool->live -= spool->live > 0 ? 1 : 0;
    if (spool->live == 0 || spool->record.bytes > WAIT_BYTES_MAX) {
        VQ_TRY(flush(spool, err));
    }
    return compact(spool, err);
}

uint64_t vq_spool_bytes(const struct vq_spool *spool)
{
    return spool->bytes;
}

void vq_spool_close(struct vq_spool **spool)
{
    struct vq_spool *s = *spool;
    if (s == NULL) {
        return;
    }
    char path[VQ_SPOOL_PATH_BYTES_MAX];
    if (s->fd >= 0 && flush(s, NULL) == VQ_OK && nothing_left(s)) {
        path_in(s, VQ_SPOOL_FILE, path);
        VQ_CRASH_POINT(spool_unlink_before);
        (void)unlink(path); /* a file that stays does no harm */
    }
    if (s->fd >= 0) {
        (void)close(s->fd);
    }
    if (s->lock_fd >= 0) {
        (void)close(s->lock_fd);
    }
    vq_buf_free(&s->record);
    vq_buf_free(&s->body);
    vq_free(s->dir);
    vq_free(s);
    *spool = NULL;
}

enum vq_status vq_spool_remove(const char *dir, struct vq_error *err)
{
    char path[VQ_SPOOL_PATH_BYTES_MAX];
    VQ_TRY(vq_spool_path(dir, VQ_SPOOL_FILE, path, err));
    if (unlink(path) != 0 && errno != ENOENT) {
        return vq_fail(err, VQ_IO, "cannot remove %s: %s", path, strerror(errno));
    }
    return VQ_OK;
}
