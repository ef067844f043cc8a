/* Whole files: reading with a limit, replacing in one step, joining paths. */
#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "common/text/file.h"
#include "tests/tools/faulty.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/vq_file_XXXXXX";
static char path[64];

static int make_dir(void **state)
{
    (void)state;
    if (mkdtemp(dir) == NULL) {
        return 1;
    }
    (void)snprintf(path, sizeof(path), "%s/f", dir);
    return 0;
}

static int drop_dir(void **state)
{
    (void)state;
    (void)unlink(path);
    return rmdir(dir);
}

static unsigned files_in_dir(void)
{
    unsigned files = 0;
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (struct dirent *entry; (entry = readdir(d)) != NULL;) {
        files += entry->d_name[0] != '.';
    }
    (void)closedir(d);
    return files;
}

TEST(test_replace_and_read)
{
    struct vq_error err;
    struct vq_buf bytes;
    assert_int_equal(vq_file_replace(path, vq_span("a\0b", 3), 0600, &err), VQ_OK);
    assert_int_equal(vq_file_replace(path, vq_span("second", 6), 0640, &err), VQ_OK);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_int_equal(vq_file_read(path, 6, &bytes, &err), VQ_OK);
    assert_string_equal(bytes.at, "second");
    vq_buf_free(&bytes);
    assert_int_equal(vq_file_read(path, 5, &bytes, &err), VQ_LIMIT);
    assert_non_null(strstr(err.text, path));
    for (uint64_t n = 1;; n++) {
        vq_alloc_fail_at(n);
        enum vq_status status = vq_file_read(path, 100, &bytes, &err);
        vq_alloc_fail_at(0);
        if (status == VQ_OK) {
            break;
        }
        assert_int_equal(status, VQ_NOMEM);
    }
    vq_buf_free(&bytes);
}

static size_t files_in(const char *folder)
{
    size_t count = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        count += e->d_name[0] != '.';
    }
    (void)closedir(d);
    return count;
}

/* Nothing is to be seen of a file in the making, and nothing stays of one that was given up. */
TEST(test_what_is_no_file_is_not_replaced)
{
    struct vq_error err = {""};
    struct stat st;
    char folder[] = "/tmp/vq-test-file-XXXXXX", fifo[64];
    assert_non_null(mkdtemp(folder));
    (void)snprintf(fifo, sizeof(fifo), "%s/fifo", folder);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(vq_file_replace(fifo, vq_span("x", 1), 0600, &err), VQ_INVALID);
    assert_non_null(strstr(err.text, "not a regular file"));
    assert_true(stat(fifo, &st) == 0 && S_ISFIFO(st.st_mode));
    assert_int_equal(vq_file_replace(folder, vq_span("x", 1), 0600, &err), VQ_INVALID);
    assert_int_equal(unlink(fifo), 0);
    assert_int_equal(rmdir(folder), 0);
}

TEST(test_a_file_made_in_pieces)
{
    struct vq_error err;
    struct vq_buf bytes;
    struct vq_file_new *file = NULL;
    assert_int_equal(vq_file_replace(path, vq_span_str("old"), 0600, &err), VQ_OK);
    for (int keep = 0; keep < 2; keep++) {
        assert_int_equal(vq_file_new_begin(path, 0600, &file, &err), VQ_OK);
        assert_int_equal(vq_file_new_add(file, vq_span_str("one "), &err), VQ_OK);
        assert_int_equal(vq_file_new_add(file, vq_span_str("two"), &err), VQ_OK);
        assert_int_equal(vq_file_read(path, 100, &bytes, &err), VQ_OK);
        assert_string_equal(bytes.at, "old");
        vq_buf_free(&bytes);
        if (keep == 0) {
            vq_file_new_abandon(&file);
        } else {
            assert_int_equal(vq_file_new_commit(&file, &err), VQ_OK);
        }
        assert_null(file);
        assert_int_equal(files_in(dir), 1);
    }
    vq_file_new_abandon(&file);
    assert_int_equal(vq_file_read(path, 100, &bytes, &err), VQ_OK);
    assert_string_equal(bytes.at, "one two");
    vq_buf_free(&bytes);
}

/* A file that could not be written and synced takes nobody's place, and nothing of it is left
 * behind. */
TEST(test_a_disk_that_fails)
{
    static const struct {
        enum vq_faulty_calls calls;
        int error;
        enum vq_status status;
    } cases[] = {{VQ_FAULTY_WRITE, EIO, VQ_IO},
                 {VQ_FAULTY_WRITE, ENOSPC, VQ_FULL},
                 {VQ_FAULTY_TORN, ENOSPC, VQ_FULL},
                 {VQ_FAULTY_SYNC, EIO, VQ_IO},
                 {VQ_FAULTY_SYNC, ENOSPC, VQ_FULL}};
    struct vq_error err;
    struct vq_buf bytes;
    assert_int_equal(vq_file_replace(path, vq_span_str("before"), 0600, &err), VQ_OK);
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        vq_faulty_set(cases[i].calls, path, 1, cases[i].error, true);
        assert_int_equal(vq_file_replace(path, vq_span_str("after"), 0600, &err), cases[i].status);
        assert_int_not_equal(vq_faulty_failed(), 0);
        vq_faulty_set(cases[i].calls, NULL, 0, 0, false);
        assert_int_equal(vq_file_read(path, 100, &bytes, &err), VQ_OK);
        assert_string_equal(bytes.at, "before");
        vq_buf_free(&bytes);
        assert_int_equal(files_in_dir(), 1);
    }
}

TEST(test_what_cannot_be_read)
{
    struct vq_error err;
    struct vq_buf bytes;
    assert_int_equal(vq_file_read("/nonexistent/x", 10, &bytes, &err), VQ_NOT_FOUND);
    assert_non_null(strstr(err.text, "/nonexistent/x"));
    assert_int_equal(vq_file_read(dir, 10, &bytes, &err), VQ_INVALID);
    assert_int_equal(vq_file_replace("/nonexistent/x", vq_span("", 0), 0600, &err), VQ_NOT_FOUND);
    assert_int_equal(vq_file_read("/dev/zero", 10, &bytes, &err), VQ_LIMIT);
    assert_int_equal(vq_file_read("/dev/null", 10, &bytes, &err), VQ_OK);
    assert_int_equal(bytes.bytes, 0);
    vq_buf_free(&bytes);
}

TEST(test_join)
{
    static const char *const cases[][3] = {{"/a", "b", "/a/b"},
                                           {"/a/", "b", "/a/b"},
                                           {"/a", "/b", "/b"},
                                           {"", "b", "b"},
                                           {"/a", "../b", "/a/../b"}};
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        char *joined = NULL;
        assert_int_equal(vq_path_join(cases[i][0], cases[i][1], &joined), VQ_OK);
        assert_string_equal(joined, cases[i][2]);
        vq_free(joined);
    }
}

TEST(test_a_new_file_replaces_nothing)
{
    struct vq_error err;
    struct vq_buf bytes;
    (void)unlink(path);
    mode_t mask = umask(027);
    assert_int_equal(vq_file_create(path, vq_span("first", 5), 0666, &err), VQ_OK);
    (void)umask(mask);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_int_equal(vq_file_create(path, vq_span("second", 6), 0666, &err), VQ_EXISTS);
    assert_non_null(strstr(err.text, path));
    assert_int_equal(vq_file_read(path, 6, &bytes, &err), VQ_OK);
    assert_string_equal(bytes.at, "first");
    vq_buf_free(&bytes);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("nowhere", path), 0); /* leads to nothing, and is something */
    assert_int_equal(vq_file_create(path, vq_span("x", 1), 0666, &err), VQ_EXISTS);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(vq_file_create("/nowhere/x", vq_span("x", 1), 0666, &err), VQ_NOT_FOUND);
}

struct seen {
    char text[64];
    unsigned count;
};

static enum vq_status see(void *ctx, struct vq_span line, struct vq_error *err)
{
    struct seen *seen = ctx;
    size_t used = strlen(seen->text);
    (void)snprintf(seen->text + used, sizeof(seen->text) - used, "%.*s|", (int)line.bytes, line.at);
    seen->count++;
    return line.bytes > 0 && line.at[0] == '!' ? vq_fail(err, VQ_INVALID, "no") : VQ_OK;
}

TEST(test_lines)
{
    struct vq_error err = {0};
    struct seen seen = {.count = 0};
    struct vq_span text = vq_span_str("one\n\n # two\n \t\r\n#\n  three \nlast");
    assert_int_equal(vq_file_replace(path, text, 0600, &err), VQ_OK);
    assert_int_equal(vq_file_lines(path, 100, see, &seen, &err), VQ_OK);
    assert_string_equal(seen.text, "one|  three |last|");
    assert_int_equal(vq_file_replace(path, vq_span_str("#\nx\n!\ny"), 0600, &err), VQ_OK);
    seen = (struct seen){.count = 0};
    assert_int_equal(vq_file_lines(path, 100, see, &seen, &err), VQ_INVALID);
    assert_int_equal(seen.count, 2);
    assert_non_null(strstr(err.text, ", line 3: no"));
    assert_int_equal(vq_file_lines(path, 3, see, &seen, &err), VQ_LIMIT);
    assert_int_equal(vq_file_replace(path, vq_span_str(""), 0600, &err), VQ_OK);
    assert_int_equal(vq_file_lines(path, 3, see, &seen, &err), VQ_OK);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(vq_file_lines(path, 3, see, &seen, &err), VQ_NOT_FOUND);
}

TEST_GROUP(make_dir, drop_dir)
