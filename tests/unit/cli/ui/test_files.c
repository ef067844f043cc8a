/* Files of a folder that may be foreign: links, pipes, sizes, locks. */
#include "tests/unit/test.h"

#include "cli/ui/files.h"
#include "cli/ui/folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

struct place {
    char path[64];
    int fd;
};

static int setup(void **state)
{
    struct place *p = calloc(1, sizeof(*p));
    *state = p;
    (void)snprintf(p->path, sizeof(p->path), "/tmp/vq-ui-XXXXXX");
    assert_non_null(mkdtemp(p->path));
    p->fd = open(p->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return p->fd < 0;
}

static int teardown(void **state)
{
    struct place *p = *state;
    struct vq_error err;
    (void)close(p->fd);
    int failed = vq_folder_remove(p->path, &err) != VQ_OK;
    free(p);
    return failed;
}

static void put(const struct place *p, const char *file, const char *text)
{
    int fd = openat(p->fd, file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    (void)close(fd);
}

static enum vq_status reads(const struct place *p, const char *file, size_t most, const char *text)
{
    struct vq_buf out;
    struct stat st;
    vq_buf_init(&out, most);
    enum vq_status status = vq_ui_file_read(p->fd, file, &out, &st);
    if (status == VQ_OK) {
        assert_string_equal(out.at == NULL ? "" : out.at, text);
        assert_int_equal(st.st_size, strlen(text));
    }
    vq_buf_free(&out);
    return status;
}

TEST_WITH(plain_files_alone_are_read, setup, teardown)
{
    struct place *p = *state;
    put(p, "file", "words");
    put(p, "empty", "");
    assert_int_equal(symlinkat("file", p->fd, "link"), 0);
    assert_int_equal(mkfifoat(p->fd, "pipe", 0600), 0);
    assert_int_equal(mkdirat(p->fd, "folder", 0700), 0);
    assert_int_equal(reads(p, "file", 5, "words"), VQ_OK);
    assert_int_equal(reads(p, "empty", 5, ""), VQ_OK);
    assert_int_equal(reads(p, "file", 4, ""), VQ_LIMIT);
    assert_int_equal(reads(p, "link", 5, ""), VQ_NOT_FOUND);
    assert_int_equal(reads(p, "pipe", 5, ""), VQ_NOT_FOUND);
    assert_int_equal(reads(p, "folder", 5, ""), VQ_NOT_FOUND);
    assert_int_equal(reads(p, "none", 5, ""), VQ_NOT_FOUND);
}

TEST_WITH(files_of_an_inner_folder, setup, teardown)
{
    struct place *p = *state;
    struct vq_buf out;
    struct stat st;
    assert_int_equal(mkdirat(p->fd, "results", 0700), 0);
    put(p, "results/a", "words");
    assert_int_equal(symlinkat("results", p->fd, "link"), 0);
    assert_int_equal(symlinkat("a", p->fd, "results/b"), 0);
    vq_buf_init(&out, 100);
    assert_int_equal(vq_ui_file_read_in(p->fd, "results", "a", &out, NULL), VQ_OK);
    assert_string_equal(out.at, "words");
    vq_buf_free(&out);
    vq_buf_init(&out, 100);
    assert_int_equal(vq_ui_file_read_in(p->fd, "link", "a", &out, NULL), VQ_NOT_FOUND);
    assert_true(vq_ui_file_stat_in(p->fd, "results", "a", &st));
    assert_false(vq_ui_file_stat_in(p->fd, "results", "b", &st));
    assert_false(vq_ui_file_stat_in(p->fd, "link", "a", &st));
}

TEST_WITH(a_lock_is_held_or_not, setup, teardown)
{
    struct place *p = *state;
    bool held = true;
    assert_int_equal(vq_ui_lock_is_held(p->fd, "lock", &held), VQ_OK);
    assert_false(held);
    put(p, "lock", "");
    assert_int_equal(vq_ui_lock_is_held(p->fd, "lock", &held), VQ_OK);
    assert_false(held);
    int fd = openat(p->fd, "lock", O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    assert_int_equal(vq_ui_lock_is_held(p->fd, "lock", &held), VQ_OK);
    assert_true(held);
    (void)close(fd);
}

TEST_WITH(one_server_takes_the_folder_and_others_find_it, setup, teardown)
{
    struct place *p = *state;
    struct vq_ui_folder folder, second;
    struct vq_endpoint found, own = {.address = "http://127.0.0.1:1", .token = "t0ken", .pid = 7};
    struct vq_error err;
    struct stat st;
    char door[VQ_RUN_PATH_BYTES_MAX];
    assert_int_equal(vq_ui_folder_find(p->path, &found), VQ_NOT_FOUND);
    assert_int_equal(vq_ui_folder_take(p->path, &folder, &err), VQ_OK);
    assert_int_equal(vq_ui_folder_find(p->path, &found), VQ_NOT_FOUND);
    assert_int_equal(vq_ui_folder_publish(&folder, &own, &err), VQ_OK);
    assert_int_equal(vq_ui_folder_find(p->path, &found), VQ_OK);
    assert_string_equal(found.address, own.address);
    assert_string_equal(found.token, own.token);
    assert_int_equal(vq_ui_folder_take(p->path, &second, &err), VQ_LOCKED);
    assert_int_equal(vq_ui_folder_write_door(&folder, "http://127.0.0.1:1/#t", door, &err), VQ_OK);
    assert_int_equal(stat(door, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    (void)close(folder.lock_fd); /* it is killed: its file stays */
    assert_int_equal(vq_ui_folder_find(p->path, &found), VQ_NOT_FOUND);
    assert_int_equal(vq_ui_folder_take(p->path, &folder, &err), VQ_OK);
    assert_int_equal(vq_ui_folder_find(p->path, &found), VQ_NOT_FOUND);
    put(p, ".ui/endpoint.json", "{\"address\": \"x\"}");
    assert_int_equal(vq_ui_folder_find(p->path, &found), VQ_NOT_FOUND);
    vq_ui_folder_release(&folder);
    assert_int_not_equal(stat(door, &st), 0);
}
