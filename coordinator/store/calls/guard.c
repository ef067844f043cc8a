/* Checks around LMDB's file. LMDB maps the file and trusts it: a file that was cut short leads to a
 * SIGBUS on a later read, a network file system leads to silent damage, and a full disk shows up in
 * the middle of a transaction. So all three are checked beforehand.
 *
 * Space is reserved by making the file longer (fallocate without KEEP_SIZE): LMDB may count a page
 * as used that it never wrote, so the length check could otherwise refuse a sound file. Not its
 * job: the contents of the file. */
#include "coordinator/store/calls/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#define ROOM_SHARE 4 /* at most 1 / ROOM_SHARE of the free room is reserved ahead */
#define FUSE_MAGIC UINT64_C(0x65735546)

static const struct {
    uint64_t magic;
    const char *name;
} network_magics[] = {
    {0x6969, "NFS"},     {0x517b, "SMB"},       {0xff534d42, "CIFS"},   {0xfe534d42, "SMB2"},
    {0xc36400, "Ceph"},  {0x5346414f, "AFS"},   {0x73757245, "Coda"},   {0x564c, "NCP"},
    {0x1021997, "9P"},   {0xbd00bd0, "Lustre"}, {0x47504653, "GPFS"},   {0x7461636f, "OCFS2"},
    {0x1161970, "GFS2"}, {0xaad7aaea, "PanFS"}, {0x19830326, "BeeGFS"}, {0x6b414653, "kAFS"},
};

static const char *const network_fuse[] = {
    "fuse.sshfs", "fuse.glusterfs", "fuse.s3fs",      "fuse.rclone",   "fuse.gcsfuse",
    "fuse.ceph",  "fuse.davfs",     "fuse.curlftpfs", "fuse.juicefs",  "fuse.moosefs",
    "fuse.mfs",   "fuse.hdfs",      "fuse.blobfuse2", "fuse.mount-s3", "fuse.goofys",
};

const char *vq_guard_network_name(uint64_t magic, const char *fuse_type)
{
    for (size_t i = 0; i < VQ_COUNT(network_magics); i++) {
        if (network_magics[i].magic == magic) {
            return network_magics[i].name;
        }
    }
    for (size_t i = 0; magic == FUSE_MAGIC && fuse_type != NULL && i < VQ_COUNT(network_fuse);
         i++) {
        if (strcmp(network_fuse[i], fuse_type) == 0) {
            return network_fuse[i];
        }
    }
    return NULL;
}

/* The mount's type, "fuse.sshfs"; "": unknown. mountinfo: id parent major:minor root point options
 * ... - type */
static void fuse_type_of(const char *folder, char ret_type[64])
{
    ret_type[0] = '\0';
    struct stat st;
    FILE *mounts = fopen("/proc/self/mountinfo", "re");
    if (mounts == NULL || stat(folder, &st) != 0) {
        if (mounts != NULL) {
            (void)fclose(mounts);
        }
        return;
    }
    char line[4096];
    while (fgets(line, sizeof(line), mounts) != NULL) {
        unsigned major_n, minor_n;
        if (sscanf(line, "%*d %*d %u:%u", &major_n, &minor_n) != 2 ||
            makedev(major_n, minor_n) != st.st_dev) {
            continue;
        }
        const char *dash = strstr(line, " - ");
        if (dash != NULL) {
            (void)sscanf(dash, " - %63s", ret_type);
        }
    }
    (void)fclose(mounts);
}

enum vq_status vq_guard_file_system(const char *folder, struct vq_error *err)
{
    struct statfs fs;
    int rc;
    do {
        rc = statfs(folder, &fs);
    } while (rc != 0 && errno == EINTR);
    if (rc != 0) {
        return vq_fail(err, errno == ENOENT ? VQ_NOT_FOUND : VQ_IO,
                       "%s: the folder cannot be looked at: %s", folder, strerror(errno));
    }
    uint64_t magic = (uint64_t)fs.f_type & UINT64_C(0xffffffff);
    char type[64] = "";
    if (magic == FUSE_MAGIC) {
        fuse_type_of(folder, type);
    }
    const char *name = vq_guard_network_name(magic, type);
    if (name == NULL) {
        return VQ_OK;
    }
    return vq_fail(err, VQ_DENIED,
                   "%s is on a network file system (%s), where the call store would be damaged; "
                   "choose a folder on a local disk with --runs or VIBEQ_RUNS",
                   folder, name);
}

enum vq_status vq_guard_file(const char *path, struct vq_error *err)
{
    struct stat st;
    if (lstat(path, &st) != 0) {
        return vq_fail(err, errno == ENOENT ? VQ_NOT_FOUND : VQ_IO, "%s: %s", path,
                       strerror(errno));
    }
    if (!S_ISREG(st.st_mode)) {
        return vq_fail(err, VQ_DENIED, "%s is not a regular file", path);
    }
    if (st.st_uid != geteuid()) {
        return vq_fail(err, VQ_DENIED, "%s belongs to another user (uid %lu); use your own --runs",
                       path, (unsigned long)st.st_uid);
    }
    if ((st.st_mode & 077) != 0) {
        return vq_fail(err, VQ_DENIED,
                       "%s holds prompts and answers, and other users may open it (mode %03o); "
                       "run: chmod 600 '%s'",
                       path, (unsigned)(st.st_mode & 0777), path);
    }
    return VQ_OK;
}

enum vq_status vq_guard_length(int fd, const char *path, uint64_t bytes, struct vq_error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return vq_fail(err, VQ_IO, "%s: %s", path, strerror(errno));
    }
    if ((uint64_t)st.st_size >= bytes) {
        return VQ_OK;
    }
    return vq_fail(err, VQ_CORRUPT,
                   "%s was cut short: %llu bytes are there and %llu are in use; "
                   "put back a copy, or move the file away to begin a new store",
                   path, (unsigned long long)st.st_size, (unsigned long long)bytes);
}

/* ---- SIGBUS ---- */

static char sigbus_text[1024];
static size_t sigbus_bytes;
static struct sigaction sigbus_before;
static bool sigbus_on;

static void sigbus_caught(int signum)
{
    (void)signum;
    ssize_t rc = write(STDERR_FILENO, sigbus_text, sigbus_bytes);
    (void)rc;
    _exit(1);
}

enum vq_status vq_guard_sigbus(const char *path, struct vq_error *err)
{
    int n =
        snprintf(sigbus_text, sizeof(sigbus_text),
                 "vibeq: %s: a part of this file cannot be read any more (SIGBUS): it was cut "
                 "short while in use, or its disk fails. What was committed before is on disk.\n",
                 path);
    sigbus_bytes = n < 0 ? 0 : (size_t)n;
    if (sigbus_bytes >= sizeof(sigbus_text)) {
        sigbus_bytes = sizeof(sigbus_text) - 1;
    }
    struct sigaction action = {.sa_handler = sigbus_caught};
    (void)sigemptyset(&action.sa_mask);
    if (sigbus_on) {
        return VQ_OK;
    }
    if (sigaction(SIGBUS, &action, &sigbus_before) != 0) {
        return vq_fail(err, VQ_IO, "a handler for SIGBUS cannot be set: %s", strerror(errno));
    }
    sigbus_on = true;
    return VQ_OK;
}

void vq_guard_sigbus_end(void)
{
    if (sigbus_on) {
        (void)sigaction(SIGBUS, &sigbus_before, NULL);
        sigbus_on = false;
    }
}

/* ---- space ---- */

static int extend(int fd, uint64_t from, uint64_t to)
{
    int rc;
    do {
        rc = fallocate(fd, 0, (off_t)from, (off_t)(to - from));
    } while (rc != 0 && errno == EINTR);
    return rc == 0 ? 0 : errno;
}

uint64_t vq_guard_ahead(uint64_t room, uint64_t ahead)
{
    return ahead < room / ROOM_SHARE ? ahead : room / ROOM_SHARE;
}

/* On some file systems (ext4), space that was allocated before a failure stays allocated. So the
 * store must not even try to reserve more than there is: it would take the whole disk, and the log,
 * Redis and the results would have no space. */
static uint64_t affordable(int fd, uint64_t ahead)
{
    struct statvfs fs;
    if (fstatvfs(fd, &fs) != 0) {
        return 0;
    }
    return vq_guard_ahead((uint64_t)fs.f_bavail * fs.f_frsize, ahead);
}

enum vq_status vq_guard_reserve(int fd, const char *path, uint64_t end, uint64_t ahead,
                                struct vq_error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return vq_fail(err, VQ_IO, "%s: %s", path, strerror(errno));
    }
    uint64_t now = (uint64_t)st.st_size;
    if (now >= end) {
        return VQ_OK;
    }
    int failed = extend(fd, now, end + affordable(fd, ahead));
    if (failed != 0) {
        failed = extend(fd, now, end);
    }
    if (failed == 0 || failed == EOPNOTSUPP || failed == ENOSYS) {
        return VQ_OK;
    }
    enum vq_status status =
        failed == ENOSPC || failed == EDQUOT || failed == EFBIG ? VQ_FULL : VQ_IO;
    return vq_fail(err, status,
                   "%s: no room for %llu more bytes (%s); make room on that disk, then resume",
                   path, (unsigned long long)(end - now), strerror(failed));
}
