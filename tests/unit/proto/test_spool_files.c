/* Files that no worker of this version left behind: another version, records that are whole and
 * mean nothing, too much of everything, things that are no files, paths that are too long. Each is
 * refused by name, and nothing of it is used. */

#include "tests/unit/test.h"

#include "common/base/hash.h"
#include "proto/spool.h"
#include "proto/spool_format.h"
#include "proto/wire.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[128];
static char path[200];
static struct vq_buf file;
static const struct vq_id run = {{1, 2, 3}};
static const struct vq_id worker = {{9}};

static int setup(void **state)
{
    (void)state;
    vq_buf_init(&file, 64u << 20);
    vq_spool_put_head(&file, &run, &worker);
    (void)snprintf(dir, sizeof(dir), "/tmp/vq-spool-XXXXXX");
    if (mkdtemp(dir) == NULL) {
        return -1;
    }
    (void)snprintf(path, sizeof(path), "%s/%s", dir, VQ_SPOOL_FILE);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    char lock[200];
    vq_buf_free(&file);
    (void)snprintf(lock, sizeof(lock), "%s/%s", dir, VQ_SPOOL_LOCK);
    (void)unlink(lock);
    (void)unlink(path);
    return rmdir(dir);
}

static void store(void)
{
    assert_int_equal(file.status, VQ_OK);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(file.at, 1, file.bytes, f), file.bytes);
    assert_int_equal(fclose(f), 0);
}

/* Reading says so, with the file and these words, whoever asks for the sentence; and so does a
 * worker that starts. */
static void is_refused(enum vq_status wanted, const char *words)
{
    struct vq_spool_held *held = NULL;
    struct vq_spool *spool = NULL;
    struct vq_error err = {""};
    assert_int_equal(vq_spool_read(dir, NULL, &held, NULL), wanted);
    assert_int_equal(vq_spool_read(dir, &run, &held, &err), wanted);
    if (strstr(err.text, path) == NULL || strstr(err.text, words) == NULL) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(vq_spool_open(dir, &run, &worker, &spool, &held, &err), wanted);
    assert_true(held == NULL && spool == NULL);
}

static void put(enum vq_spool_type type, uint8_t call, struct vq_span body)
{
    vq_spool_put_record(&file, type, &(struct vq_id){{call}}, body);
}

static void put_as(enum vq_spool_type type, uint8_t call, const struct vq_result *result)
{
    struct vq_buf body;
    vq_buf_init(&body, VQ_SPOOL_RECORD_BYTES_MAX);
    assert_int_equal(vq_result_encode(result, &body), VQ_OK);
    put(type, call, vq_buf_span(&body));
    vq_buf_free(&body);
}

static void put_result(uint8_t call, const struct vq_result *result)
{
    put_as(VQ_SPOOL_ANSWER, call, result);
}

/* The check over the first 44 bytes again, for a head that was changed. */
static void head_again(void)
{
    struct vq_hasher hasher;
    struct vq_hash hash;
    vq_hasher_init(&hasher, "vibeq spool");
    vq_hasher_bytes(&hasher, file.at, VQ_SPOOL_HEAD_BYTES - 8);
    vq_hasher_final(&hasher, &hash);
    memcpy(file.at + VQ_SPOOL_HEAD_BYTES - 8, hash.b, 8);
}

TEST_WITH(another_version, setup, teardown)
{
    head_again();
    store();
    struct vq_spool_held *held = NULL;
    struct vq_error err = {""};
    assert_int_equal(vq_spool_read(dir, &run, &held, &err), VQ_OK); /* its head is as ours */
    vq_spool_held_destroy(&held);
    file.at[8] = VQ_SPOOL_VERSION + 1;
    head_again();
    store();
    is_refused(VQ_VERSION, "has version 4; this program reads version 3");
}

/* Types that are none and lengths that cannot be are not whole records, however right their check
 * is. */
TEST_WITH(records_that_are_none, setup, teardown)
{
    struct vq_spool_record record;
    static char text[VQ_SPOOL_RECORD_BYTES_MAX];
    for (unsigned type = 0; type < 256; type++) {
        vq_buf_clear(&file);
        put((enum vq_spool_type)type, 1, vq_span("body", 4));
        bool whole = vq_spool_get_record(vq_buf_span(&file), &record);
        assert_int_equal(whole, type >= VQ_SPOOL_SENT && type <= VQ_SPOOL_ACKED);
    }
    vq_buf_clear(&file);
    put(VQ_SPOOL_SENT, 1, vq_span(text, VQ_SPOOL_RECORD_BYTES_MAX - VQ_ID_BYTES));
    assert_true(vq_spool_get_record(vq_buf_span(&file), &record));
    assert_int_equal(record.bytes, file.bytes);
    vq_buf_clear(&file);
    put(VQ_SPOOL_SENT, 1, vq_span(text, VQ_SPOOL_RECORD_BYTES_MAX - VQ_ID_BYTES + 1));
    assert_false(vq_spool_get_record(vq_buf_span(&file), &record));
    for (unsigned rest = 0; rest < VQ_ID_BYTES; rest++) { /* shorter than a call's id */
        vq_buf_clear(&file);
        put(VQ_SPOOL_ACKED, 1, vq_span("", 0));
        file.at[4] = (char)rest;
        struct vq_hasher hasher;
        struct vq_hash hash;
        vq_hasher_init(&hasher, "vibeq spool");
        vq_hasher_bytes(&hasher, file.at, 8);
        vq_hasher_bytes(&hasher, file.at + VQ_SPOOL_FRONT_BYTES, rest);
        vq_hasher_final(&hasher, &hash);
        memcpy(file.at + 8, hash.b, 8);
        assert_false(vq_spool_get_record(vq_buf_span(&file), &record));
    }
}

TEST_WITH(whole_records_without_a_meaning, setup, teardown)
{
    struct vq_result result = {.call = {{2}}, .end = VQ_END_ANSWER};
    put_result(2, &result);
    size_t first = file.bytes;
    put(VQ_SPOOL_ANSWER, 1, vq_span("no result", 9));
    store();
    char place[32];
    (void)snprintf(place, sizeof(place), "damaged at byte %zu", first);
    is_refused(VQ_CORRUPT, place);
    is_refused(VQ_CORRUPT, "mv '");

    file.bytes = first;
    put_result(1, &result);
    store();
    is_refused(VQ_CORRUPT, "names another call");

    file.bytes = first;
    put(VQ_SPOOL_ANSWER, 1, vq_span("\x92\x01\x02", 3)); /* of an older protocol */
    store();
    is_refused(VQ_VERSION, "protocol version 1");

    file.bytes = first; /* one that is ACKed is not looked into */
    put(VQ_SPOOL_ANSWER, 1, vq_span("no result", 9));
    put(VQ_SPOOL_ACKED, 1, vq_span("", 0));
    store();
    struct vq_spool_held *held = NULL;
    struct vq_error err = {""};
    assert_int_equal(vq_spool_read(dir, &run, &held, &err), VQ_OK);
    assert_int_equal(vq_spool_held_count(held), 1);
    vq_spool_held_destroy(&held);
}

/* An ACK that is found before its SENT, an answer without its SENT, each twice: the call
 * counts once. */
TEST_WITH(records_in_any_order, setup, teardown)
{
    struct vq_result one = {.call = {{1}}, .end = VQ_END_UNKNOWN};
    struct vq_result two = {.call = {{2}}, .end = VQ_END_ANSWER, .answer = vq_span_str("A")};
    put(VQ_SPOOL_ACKED, 1, vq_span("", 0));
    put_result(2, &two);
    put_as(VQ_SPOOL_SENT, 1, &one);
    put_result(2, &two);
    store();
    struct vq_spool_held *held = NULL;
    struct vq_error err = {""};
    assert_int_equal(vq_spool_read(dir, &run, &held, &err), VQ_OK);
    assert_int_equal(vq_spool_held_count(held), 1);
    assert_true(vq_span_eq(vq_spool_held_at(held, 0)->answer, two.answer));
    vq_spool_held_destroy(&held);
}

TEST_WITH(too_many_calls, setup, teardown)
{
    for (uint32_t i = 0; i <= VQ_SPOOL_RESULTS_MAX; i++) {
        struct vq_id call = {{1}};
        memcpy(call.b + 4, &i, sizeof(i));
        vq_spool_put_record(&file, VQ_SPOOL_SENT, &call, vq_span("", 0));
    }
    store();
    struct vq_spool_held *held = NULL;
    struct vq_error err = {""};
    assert_int_equal(vq_spool_read(dir, &run, &held, &err), VQ_LIMIT);
    assert_non_null(strstr(err.text, "holds 1048577 calls"));
    assert_null(held);
}

TEST_WITH(what_is_no_file, setup, teardown)
{
    char other[200];
    assert_int_equal(mkdir(path, 0700), 0);
    is_refused(VQ_IO, "is not a file");
    assert_int_equal(rmdir(path), 0);
    (void)snprintf(other, sizeof(other), "%s/elsewhere", dir);
    store();
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(symlink(other, path), 0); /* nobody leads it to another file */
    is_refused(VQ_IO, "cannot open the spool");
    assert_int_equal(unlink(other), 0);
}

TEST_WITH(a_file_that_is_too_long, setup, teardown)
{
    store();
    assert_int_equal(truncate(path, (off_t)VQ_SPOOL_BYTES_MAX + 1),
                     0); /* nearly all of it a hole */
    is_refused(VQ_LIMIT, "is over 1073741824 bytes");
}

/* As long as the system's paths may be, and a byte more, up to where nothing of it is looked at. */
TEST_WITH(paths_that_are_too_long, setup, teardown)
{
    static char far[VQ_SPOOL_PATH_BYTES_MAX + 8];
    size_t bytes = strlen(dir);
    memcpy(far, dir, bytes);
    memset(far + bytes, '/', sizeof(far) - bytes); /* the same folder */
    unsigned opened = 0, read = 0, locked = 0;
    for (size_t n = VQ_SPOOL_PATH_BYTES_MAX - 16; n < sizeof(far); n++) {
        struct vq_spool *spool = NULL;
        struct vq_spool_held *held = NULL;
        struct vq_error err = {""};
        int fd = -1;
        far[n] = '\0';
        enum vq_status status = vq_spool_open(far, &run, &worker, &spool, &held, &err);
        assert_int_equal(status,
                         n + strlen("/spool.new") < VQ_SPOOL_PATH_BYTES_MAX ? VQ_OK : VQ_LIMIT);
        assert_true(status == VQ_OK || strstr(err.text, "too long") != NULL);
        opened += status == VQ_OK ? 1 : 0;
        vq_spool_held_destroy(&held);
        vq_spool_close(&spool);
        status = vq_spool_read(far, &run, &held, &err);
        assert_int_equal(status, n + strlen("/spool") < VQ_SPOOL_PATH_BYTES_MAX ? VQ_OK : VQ_LIMIT);
        assert_int_equal(vq_spool_remove(far, &err), status);
        read += status == VQ_OK ? 1 : 0;
        vq_spool_held_destroy(&held);
        status = vq_spool_lock(far, true, &fd, &err);
        assert_int_equal(status, n + strlen("/lock") < VQ_SPOOL_PATH_BYTES_MAX ? VQ_OK : VQ_LIMIT);
        locked += status == VQ_OK ? 1 : 0;
        assert_true(status != VQ_OK || close(fd) == 0);
        far[n] = '/';
    }
    assert_true(opened == 6 && read == 10 && locked == 11);
}
