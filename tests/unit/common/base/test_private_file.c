/* Which files with a secret are private: every mode by itself, then real files and links. */
#include "tests/unit/test.h"

#include "common/base/private_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define USER 1000

static enum vq_private_verdict judge(uid_t owner, mode_t mode, bool in_group, bool credential)
{
    struct stat file = {.st_uid = owner, .st_mode = S_IFREG | mode};
    return vq_private_judge(&file, USER, in_group, credential);
}

TEST(test_every_mode_of_every_owner)
{
    for (mode_t mode = 0; mode <= 07777; mode++) {
        bool is_closed = (mode & 077) == 0;
        bool group_reads = (mode & 077) == 040;
        for (int i = 0; i < 4; i++) {
            bool in_group = (i & 1) != 0, credential = (i & 2) != 0;
            assert_int_equal(judge(USER + 1, mode, in_group, credential), VQ_PRIVATE_OTHER_OWNER);
            assert_int_equal(judge(USER, mode, in_group, credential),
                             is_closed ? VQ_PRIVATE_OK : VQ_PRIVATE_OPEN);
            enum vq_private_verdict of_root = is_closed      ? VQ_PRIVATE_OK
                                              : !group_reads ? VQ_PRIVATE_OPEN
                                              : i != 0       ? VQ_PRIVATE_OK
                                                             : VQ_PRIVATE_OPEN_GROUP;
            assert_int_equal(judge(0, mode, in_group, credential), of_root);
        }
    }
}

/* ---- real files ---- */

static char dir[] = "/tmp/vq_private_XXXXXX";
static char file[64], link_path[64];

static int make(void **state)
{
    (void)state;
    if (mkdtemp(dir) == NULL) {
        return -1;
    }
    (void)snprintf(file, sizeof(file), "%s/secret", dir);
    (void)snprintf(link_path, sizeof(link_path), "%s/link", dir);
    int fd = open(file, O_CREAT | O_WRONLY, 0600);
    return fd < 0 || close(fd) != 0 || symlink(file, link_path) != 0;
}

static int drop(void **state)
{
    (void)state;
    return unlink(link_path) != 0 || unlink(file) != 0 || rmdir(dir) != 0;
}

static enum vq_status opened(const char *path, struct vq_error *err)
{
    int fd = -1;
    err->text[0] = '\0';
    enum vq_status status = vq_private_open("key file", path, &fd, err);
    assert_int_equal(status == VQ_OK, fd >= 0);
    return status == VQ_OK && close(fd) == 0 ? VQ_OK : status;
}

TEST(test_a_link_is_followed_if_its_owner_is_trusted)
{
    struct vq_error err;
    assert_int_equal(opened(link_path, &err), VQ_OK);
    assert_int_equal(chmod(file, 0644), 0);
    assert_int_equal(opened(link_path, &err), VQ_DENIED);
    assert_int_equal(chmod(file, 0600), 0);
    if (geteuid() != 0) {
        skip();
    }
    assert_int_equal(lchown(link_path, USER, USER), 0);
    assert_int_equal(opened(link_path, &err), VQ_DENIED);
    assert_non_null(strstr(err.text, "symbolic link of another user"));
    assert_int_equal(lchown(link_path, 0, 0), 0);
}

TEST(test_groups_and_credentials_of_root)
{
    struct vq_error err;
    gid_t strange = 54321;
    if (geteuid() != 0) {
        skip();
    }
    assert_int_equal(chown(file, 0, strange), 0);
    assert_int_equal(chmod(file, 0440), 0);
    assert_int_equal(opened(file, &err), VQ_DENIED);
    assert_non_null(strstr(err.text, "group 54321, and this process is not in that group"));
    assert_int_equal(setenv("CREDENTIALS_DIRECTORY", dir, 1), 0);
    assert_int_equal(opened(file, &err), VQ_OK);
    assert_int_equal(setenv("CREDENTIALS_DIRECTORY", "/tmp/vq_private", 1),
                     0); /* no folder above */
    assert_int_equal(opened(file, &err), VQ_DENIED);
    assert_int_equal(unsetenv("CREDENTIALS_DIRECTORY"), 0);
    assert_int_equal(chown(file, 0, getegid()), 0);
    assert_int_equal(opened(file, &err), VQ_OK);
    assert_int_equal(chmod(file, 0460), 0);
    assert_int_equal(opened(file, &err), VQ_DENIED);
    assert_int_equal(chown(file, USER, getegid()), 0); /* of a user: no group was chosen by root */
    assert_int_equal(chmod(file, 0440), 0);
    assert_int_equal(opened(file, &err), VQ_DENIED);
    assert_int_equal(chown(file, 0, 0), 0);
    assert_int_equal(chmod(file, 0600), 0);
}

TEST_GROUP(make, drop)
