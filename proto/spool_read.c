/* Reads a spool: its records, and the calls without an ACK.
 *
 * The whole file is checked before any record is used. An incomplete record is the end of the file
 * if no complete record follows (its process was killed while it wrote); else the file is damaged,
 * and none of it is used. Results are decoded one by one and copied, so they are valid as long as
 * `held`. Not its job: locks, and the content of an answer. */
#include "common/base/alloc.h"
#include "proto/result.h"
#include "proto/spool_format.h"
#include "proto/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC        "vqspool\n"
#define MAGIC_BYTES  8
#define CHECK_BYTES  8
#define CHECK_DOMAIN "vibeq spool"
#define RECORDS_MAX  (1u << 25)
#define ADVICE                                                                                     \
    "Put back a copy, or continue without it: mv '%s' '%s.damaged' (answers that it alone holds "  \
    "are "                                                                                         \
    "asked again, and are missing in the accounting)"

struct entry {
    struct vq_id call;
    uint32_t type;
    uint64_t at; /* offset in the file: the order of writing */
    struct vq_span body;
};

struct vq_spool_held {
    struct vq_result *results;
    char **texts; /* of the results, owned */
    size_t count, unknown;
    uint64_t torn_bytes, bytes;
    struct vq_id worker;
};

/* ---- bytes ---- */

static void put_u32(char *at, uint32_t value)
{
    for (int i = 0; i < 4; i++) {
        at[i] = (char)(value >> (8 * i));
    }
}

static uint32_t get_u32(const char *at)
{
    uint32_t value = 0;
    for (int i = 3; i >= 0; i--) {
        value = value << 8 | (unsigned char)at[i];
    }
    return value;
}

static void check_of(struct vq_span first, struct vq_span rest, char ret_check[CHECK_BYTES])
{
    struct vq_hasher hasher;
    struct vq_hash hash;
    vq_hasher_init(&hasher, CHECK_DOMAIN);
    vq_hasher_bytes(&hasher, first.at, first.bytes);
    vq_hasher_bytes(&hasher, rest.at, rest.bytes);
    vq_hasher_final(&hasher, &hash);
    memcpy(ret_check, hash.b, CHECK_BYTES);
}

void vq_spool_put_head(struct vq_buf *out, const struct vq_id *run, const struct vq_id *worker)
{
    char head[VQ_SPOOL_HEAD_BYTES] = MAGIC;
    put_u32(head + MAGIC_BYTES, VQ_SPOOL_VERSION);
    memcpy(head + 12, run->b, VQ_ID_BYTES);
    memcpy(head + 28, worker->b, VQ_ID_BYTES);
    check_of(vq_span(head, 44), vq_span("", 0), head + 44);
    vq_buf_append(out, head, sizeof(head));
}

/* False: the VQ_SPOOL_HEAD_BYTES at `bytes` are not a valid head. */
static bool get_head(const char *bytes, struct vq_spool_head *ret_head)
{
    char check[CHECK_BYTES];
    check_of(vq_span(bytes, 44), vq_span("", 0), check);
    if (memcmp(bytes, MAGIC, MAGIC_BYTES) != 0 || memcmp(bytes + 44, check, CHECK_BYTES) != 0) {
        return false;
    }
    ret_head->version = get_u32(bytes + MAGIC_BYTES);
    memcpy(ret_head->run.b, bytes + 12, VQ_ID_BYTES);
    memcpy(ret_head->worker.b, bytes + 28, VQ_ID_BYTES);
    return true;
}

void vq_spool_put_record(struct vq_buf *out, enum vq_spool_type type, const struct vq_id *call,
                         struct vq_span body)
{
    size_t from = out->bytes;
    char front[VQ_SPOOL_FRONT_BYTES] = {0};
    put_u32(front, VQ_SPOOL_MARK | (uint32_t)type);
    put_u32(front + 4, (uint32_t)(VQ_ID_BYTES + body.bytes));
    vq_buf_append(out, front, sizeof(front));
    vq_buf_append(out, call->b, VQ_ID_BYTES);
    vq_buf_append(out, body.at, body.bytes);
    if (out->status == VQ_OK) {
        char *at = out->at + from;
        check_of(vq_span(at, 8), vq_span(at + VQ_SPOOL_FRONT_BYTES, VQ_ID_BYTES + body.bytes),
                 at + 8);
    }
}

bool vq_spool_get_record(struct vq_span bytes, struct vq_spool_record *ret_record)
{
    if (bytes.bytes < VQ_SPOOL_FRONT_BYTES + VQ_ID_BYTES) {
        return false;
    }
    uint32_t type = get_u32(bytes.at) & 0xff;
    size_t rest = get_u32(bytes.at + 4);
    if (get_u32(bytes.at) != (VQ_SPOOL_MARK | type) || type < VQ_SPOOL_SENT ||
        type > VQ_SPOOL_ACKED || rest < VQ_ID_BYTES || rest > VQ_SPOOL_RECORD_BYTES_MAX ||
        rest > bytes.bytes - VQ_SPOOL_FRONT_BYTES) {
        return false;
    }
    char check[CHECK_BYTES];
    const char *at = bytes.at + VQ_SPOOL_FRONT_BYTES;
    check_of(vq_span(bytes.at, 8), vq_span(at, rest), check);
    if (memcmp(bytes.at + 8, check, CHECK_BYTES) != 0) {
        return false;
    }
    ret_record->type = (enum vq_spool_type)type;
    memcpy(ret_record->call.b, at, VQ_ID_BYTES);
    ret_record->body = vq_span(at + VQ_ID_BYTES, rest - VQ_ID_BYTES);
    ret_record->bytes = VQ_SPOOL_FRONT_BYTES + rest;
    return true;
}

/* ---- the file ---- */

/* Reads all bytes of an open file. */
static enum vq_status bytes_read(int fd, const char *path, struct vq_buf *bytes,
                                 struct vq_error *err)
{
    struct stat st = {.st_size = 0};
    if (fstat(fd, &st) != 0) {
        return vq_fail(err, VQ_IO, "cannot look at the spool %s: %s", path, strerror(errno));
    }
    if (!S_ISREG(st.st_mode)) {
        return vq_fail(err, VQ_IO, "the spool %s is not a file", path);
    }
    if (st.st_size > VQ_SPOOL_BYTES_MAX) {
        return vq_fail(err, VQ_LIMIT, "the spool %s is over %u bytes", path, VQ_SPOOL_BYTES_MAX);
    }
    size_t all = (size_t)st.st_size; /* the caller has its lock, so it does not grow */
    char *at = vq_buf_reserve(bytes, all);
    if (at == NULL) {
        return VQ_NOMEM;
    }
    ssize_t got = 1;
    while (got != 0 && bytes->bytes < all) {
        got = read(fd, at + bytes->bytes, all - bytes->bytes);
        if (got > 0) {
            bytes->bytes += (size_t)got;
        } else if (got < 0 && errno != EINTR) {
            return vq_fail(err, VQ_IO, "cannot read the spool %s: %s", path, strerror(errno));
        }
    }
    return VQ_OK;
}

static enum vq_status file_read(const char *path, struct vq_buf *bytes, struct vq_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return errno == ENOENT
                   ? VQ_OK /* no spool: no calls */
                   : vq_fail(err, VQ_IO, "cannot open the spool %s: %s", path, strerror(errno));
    }
    enum vq_status status = bytes_read(fd, path, bytes, err);
    (void)close(fd);
    return status;
}

static enum vq_status head_check(const char *path, struct vq_span bytes, const struct vq_id *run,
                                 struct vq_id *ret_worker, struct vq_error *err)
{
    struct vq_spool_head head;
    if (!get_head(bytes.at, &head)) {
        return vq_fail(err, VQ_CORRUPT,
                       "%s is not a spool, or its first %d bytes are damaged. " ADVICE, path,
                       VQ_SPOOL_HEAD_BYTES, path, path);
    }
    if (head.version != VQ_SPOOL_VERSION) {
        return vq_fail(err, VQ_VERSION,
                       "the spool %s has version %u; this program reads version %d", path,
                       head.version, VQ_SPOOL_VERSION);
    }
    if (run != NULL && !vq_id_eq(run, &head.run)) {
        char theirs[VQ_HEX_BYTES(VQ_ID_BYTES)], ours[VQ_HEX_BYTES(VQ_ID_BYTES)];
        vq_hex(head.run.b, VQ_ID_BYTES, theirs);
        vq_hex(run->b, VQ_ID_BYTES, ours);
        return vq_fail(
            err, VQ_INVALID,
            "the spool %s holds answers of run %s, this is run %s; resume that run first, or use "
            "another folder",
            path, theirs, ours);
    }
    *ret_worker = head.worker;
    return VQ_OK;
}

/* Whether a complete record begins anywhere after `at`. */
static bool whole_after(struct vq_span bytes, size_t at)
{
    struct vq_spool_record record;
    for (at++; at + VQ_SPOOL_FRONT_BYTES <= bytes.bytes; at++) {
        if (vq_spool_get_record(vq_span(bytes.at + at, bytes.bytes - at), &record)) {
            return true;
        }
    }
    return false;
}

/* Finds all records, in order; sets the sizes in `held`. */
static enum vq_status records_find(const char *path, struct vq_span bytes,
                                   struct vq_spool_held *held, struct entry **ret_entries,
                                   size_t *ret_count, struct vq_error *err)
{
    struct entry *entries = NULL;
    size_t count = 0, cap = 0, at = VQ_SPOOL_HEAD_BYTES;
    struct vq_spool_record record;
    enum vq_status status = VQ_OK;
    while (status == VQ_OK &&
           vq_spool_get_record(vq_span(bytes.at + at, bytes.bytes - at), &record)) {
        status = VQ_GROW(entries, &cap, count + 1, RECORDS_MAX);
        if (status == VQ_OK) {
            entries[count++] = (struct entry){record.call, record.type, at, record.body};
            at += record.bytes;
        }
    }
    if (status == VQ_OK && whole_after(bytes, at)) {
        status = vq_fail(
            err, VQ_CORRUPT,
            "the spool %s is damaged at byte %zu of %zu, with whole records after it; nothing of "
            "it was used. " ADVICE,
            path, at, bytes.bytes, path, path);
    }
    if (status != VQ_OK) {
        vq_free(entries);
        return status;
    }
    held->bytes = at;
    held->torn_bytes = bytes.bytes - at;
    *ret_entries = entries;
    *ret_count = count;
    return VQ_OK;
}

/* ---- calls without an ACK ---- */

static int by_call(const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;
    int order = memcmp(x->call.b, y->call.b, VQ_ID_BYTES);
    return order != 0 ? order : (x->at > y->at) - (x->at < y->at);
}

static int by_place(const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

/* Keeps one entry per call without an ACK: its last answer, else its send, at the place of its
 * first entry. A call in a batch has two results, and may be ACKed before its second result is
 * recorded. Returns the number of entries. */
static size_t entries_live(struct entry *entries, size_t count)
{
    size_t live = 0;
    if (count == 0) {
        return 0;
    }
    qsort(entries, count, sizeof(*entries), by_call);
    for (size_t i = 0, end; i < count; i = end) {
        struct entry best = entries[i];
        bool acked = false;
        for (end = i; end < count && vq_id_eq(&entries[end].call, &entries[i].call); end++) {
            if (entries[end].type == VQ_SPOOL_ACKED) {
                acked = true;
            } else if (entries[end].type == VQ_SPOOL_ANSWER) {
                best.type = VQ_SPOOL_ANSWER;
                best.body = entries[end].body;
                acked = false;
            }
        }
        if (!acked) {
            entries[live++] = best;
        }
    }
    qsort(entries, live, sizeof(*entries), by_place);
    return live;
}

static enum vq_status result_keep(struct vq_spool_held *held, const struct vq_result *from)
{
    char *texts = vq_alloc(1, vq_result_texts_bytes(from));
    if (texts == NULL) {
        return VQ_NOMEM;
    }
    struct vq_result *to = &held->results[held->count];
    *to = *from;
    vq_result_texts_move(to, texts);
    held->texts[held->count++] = texts;
    held->unknown += to->end == VQ_END_UNKNOWN ? 1 : 0;
    return VQ_OK;
}

/* The error of a record whose check is right, but whose content is invalid. */
static enum vq_status bad_record(const char *path, const struct entry *entry, enum vq_status status,
                                 struct vq_error *err)
{
    struct vq_error why = {""};
    if (err != NULL) {
        why = *err;
    }
    if (status == VQ_VERSION) {
        return vq_fail(err, VQ_VERSION, "the spool %s, byte %llu: %.200s", path,
                       (unsigned long long)entry->at, why.text);
    }
    return vq_fail(err, VQ_CORRUPT, "the spool %s is damaged at byte %llu (%.200s). " ADVICE, path,
                   (unsigned long long)entry->at, why.text, path, path);
}

static enum vq_status results_decode(const char *path, const struct entry *entries, size_t count,
                                     struct vq_spool_held *held, struct vq_error *err)
{
    struct vq_decoder *decoder = NULL;
    if (count > VQ_SPOOL_RESULTS_MAX) {
        return vq_fail(err, VQ_LIMIT, "the spool %s holds %zu calls; %u can be read", path, count,
                       VQ_SPOOL_RESULTS_MAX);
    }
    VQ_TRY(VQ_ALLOC(held->results, count));
    VQ_TRY(VQ_ALLOC(held->texts, count));
    VQ_TRY(vq_decoder_create(&decoder));
    enum vq_status status = VQ_OK;
    for (size_t i = 0; i < count && status == VQ_OK; i++) {
        struct vq_result result;
        status = vq_result_decode(decoder, entries[i].body, &result, err);
        if (status == VQ_OK && !vq_id_eq(&result.call, &entries[i].call)) {
            status = vq_fail(err, VQ_CORRUPT, "its record names another call");
        }
        if (status != VQ_OK && status != VQ_NOMEM) {
            status = bad_record(path, &entries[i], status, err);
        }
        if (status == VQ_OK) {
            status = result_keep(held, &result);
        }
    }
    vq_decoder_destroy(&decoder);
    return status;
}

enum vq_status vq_spool_read(const char *dir, const struct vq_id *run,
                             struct vq_spool_held **ret_held, struct vq_error *err)
{
    char path[VQ_SPOOL_PATH_BYTES_MAX];
    VQ_TRY(vq_spool_path(dir, VQ_SPOOL_FILE, path, err));
    struct vq_spool_held *held;
    VQ_TRY(VQ_ALLOC(held, 1));
    struct vq_buf bytes;
    vq_buf_init(&bytes, VQ_SPOOL_BYTES_MAX);
    struct entry *entries = NULL;
    size_t count = 0;
    enum vq_status status = file_read(path, &bytes, err);
    if (status == VQ_OK && bytes.bytes < VQ_SPOOL_HEAD_BYTES) {
        /* the process was killed while it created the file: no call was sent yet */
        held->torn_bytes = bytes.bytes;
    } else if (status == VQ_OK) {
        status = head_check(path, vq_buf_span(&bytes), run, &held->worker, err);
        if (status == VQ_OK) {
            status = records_find(path, vq_buf_span(&bytes), held, &entries, &count, err);
        }
        if (status == VQ_OK) {
            status = results_decode(path, entries, entries_live(entries, count), held, err);
        }
    }
    vq_free(entries);
    vq_buf_free(&bytes);
    if (status != VQ_OK) {
        vq_spool_held_destroy(&held);
        return status;
    }
    *ret_held = held;
    return VQ_OK;
}

void vq_spool_held_destroy(struct vq_spool_held **held)
{
    if (*held == NULL) {
        return;
    }
    for (size_t i = 0; i < (*held)->count; i++) {
        vq_free((*held)->texts[i]);
    }
    vq_free((*held)->texts);
    vq_free((*held)->results);
    vq_free(*held);
    *held = NULL;
}

size_t vq_spool_held_count(const struct vq_spool_held *held)
{
    return held->count;
}

const struct vq_result *vq_spool_held_at(const struct vq_spool_held *held, size_t i)
{
    VQ_ASSERT(i < held->count);
    return &held->results[i];
}

size_t vq_spool_held_unknown(const struct vq_spool_held *held)
{
    return held->unknown;
}

struct vq_id vq_spool_held_worker(const struct vq_spool_held *held)
{
    return held->worker;
}

uint64_t vq_spool_held_torn_bytes(const struct vq_spool_held *held)
{
    return held->torn_bytes;
}

uint64_t vq_spool_held_bytes(const struct vq_spool_held *held)
{
    return held->bytes;
}
