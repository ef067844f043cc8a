/* What is looked at around LMDB's file. */
#include "fixture.h"

#include "coordinator/store/calls/guard.h"

#include <fcntl.h>

TEST(test_network_names)
{
    assert_string_equal(vq_guard_network_name(0x6969, NULL), "NFS");
    assert_string_equal(vq_guard_network_name(0xff534d42, ""), "CIFS");
    assert_string_equal(vq_guard_network_name(0x65735546, "fuse.sshfs"), "fuse.sshfs");
    assert_null(vq_guard_network_name(0x65735546, "fuseblk"));
    assert_null(vq_guard_network_name(0x65735546, NULL));
    assert_null(vq_guard_network_name(0xef53, NULL));     /* ext4 */
    assert_null(vq_guard_network_name(0x1021994, NULL));  /* tmpfs */
    assert_null(vq_guard_network_name(0x58465342, NULL)); /* XFS */
    assert_null(vq_guard_network_name(0x9123683e, NULL)); /* Btrfs */
}

TEST(test_folder)
{
    struct vq_error err;
    assert_int_equal(vq_guard_file_system("/nowhere/at/all", &err), VQ_NOT_FOUND);
    assert_non_null(strstr(err.text, "/nowhere/at/all"));
}

TEST(test_file)
{
    char dir[64], path[128], other[128];
    struct vq_error err;
    fx_folder(dir);
    (void)snprintf(path, sizeof(path), "%s/file", dir);
    (void)snprintf(other, sizeof(other), "%s/link", dir);
    assert_int_equal(vq_guard_file(path, &err), VQ_NOT_FOUND);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(vq_guard_file(path, &err), VQ_OK);
    assert_int_equal(symlink(path, other), 0);
    assert_int_equal(vq_guard_file(other, &err), VQ_DENIED);
    assert_int_equal(vq_guard_file(dir, &err), VQ_DENIED);
    assert_int_equal(fchmod(fd, 0604), 0);
    assert_int_equal(vq_guard_file(path, &err), VQ_DENIED);

    struct stat st;
    assert_int_equal(vq_guard_length(fd, path, 0, &err), VQ_OK);
    assert_int_equal(vq_guard_length(fd, path, 1, &err), VQ_CORRUPT);
    assert_int_equal(vq_guard_reserve(fd, path, 5000, 3000, &err), VQ_OK);
    assert_int_equal(fstat(fd, &st), 0);
    assert_true(st.st_size == 8000 || st.st_size == 0); /* a file system that cannot reserve */
    assert_int_equal(vq_guard_reserve(fd, path, 5000, 1u << 20, &err), VQ_OK);
    off_t before = st.st_size;
    assert_int_equal(fstat(fd, &st), 0);
    assert_true(st.st_size == before || before == 0);
    (void)close(fd);
    fx_remove(dir);
}

TEST(test_a_small_disk_is_not_taken_whole)
{
    assert_int_equal(vq_guard_ahead(UINT64_MAX, 32 << 20), 32 << 20);
    assert_int_equal(vq_guard_ahead(200 << 20, 32 << 20), 32 << 20);
    assert_int_equal(vq_guard_ahead(12 << 20, 32 << 20), 3 << 20);
    assert_int_equal(vq_guard_ahead(0, 32 << 20), 0);
}
