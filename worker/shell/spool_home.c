/* The default spool. K is the lowest free number. But spools that a killed process of this run left
 * with results without an ACK come first, so that the restarted worker sends these results.
 *
 * A lock file is removed only under its own lock, and a lock on a file that was removed meanwhile
 * does not count (vq_spool_lock): two processes never own one folder. Not its job: the contents of
 * a spool. */
#include "worker/shell/spool_home.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ADVICE "; name a folder with --spool DIR, or do without one: --no-spool"

/* Appends a folder to `path`, of which *bytes are used. */
static enum vq_status enter(char path[VQ_SPOOL_PATH_BYTES_MAX], size_t *bytes, const char *name,
                            struct vq_error *err)
{
    size_t room = VQ_SPOOL_PATH_BYTES_MAX - *bytes;
    int added = snprintf(path + *bytes, room, "%s", name);
    if (added < 0 || (size_t)added >= room) {
        return vq_fail(err, VQ_LIMIT, "the path of the spool is too long: %.200s%s", path, ADVICE);
    }
    *bytes += (size_t)added;
    if (mkdir(path, 0700) != 0 && errno != EEXIST) {
        return vq_fail(err, VQ_IO, "cannot make the folder %s for the spool: %s%s", path,
                       strerror(errno), ADVICE);
    }
    return VQ_OK;
}

static enum vq_status run_folder(const struct vq_id *run, char ret_path[VQ_SPOOL_PATH_BYTES_MAX],
                                 size_t *ret_bytes, struct vq_error *err)
{
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    char uid[VQ_HEX_BYTES(VQ_ID_BYTES) + 1] = "/";
    vq_hex(run->b, VQ_ID_BYTES, uid + 1);
    *ret_bytes = 0;
    if (state != NULL && state[0] == '/') { /* a relative path does not count */
        VQ_TRY(enter(ret_path, ret_bytes, state, err));
    } else if (home != NULL && home[0] == '/') {
        VQ_TRY(enter(ret_path, ret_bytes, home, err));
        VQ_TRY(enter(ret_path, ret_bytes, "/.local", err));
        VQ_TRY(enter(ret_path, ret_bytes, "/state", err));
    } else {
        return vq_fail(err, VQ_NOT_FOUND, "no home folder for the spool (HOME is not set)%s",
                       ADVICE);
    }
    VQ_TRY(enter(ret_path, ret_bytes, "/vibeq", err));
    VQ_TRY(enter(ret_path, ret_bytes, "/spool", err));
    return enter(ret_path, ret_bytes, uid, err);
}

static bool holds_something(const char *dir)
{
    char file[VQ_SPOOL_PATH_BYTES_MAX];
    struct stat st;
    int bytes = snprintf(file, sizeof(file), "%s/%s", dir, VQ_SPOOL_FILE);
    return bytes > 0 && (size_t)bytes < sizeof(file) && stat(file, &st) == 0 && st.st_size > 0;
}

/* With `left`, only spools that exist and are not empty. VQ_NOT_FOUND: none. */
static enum vq_status open_first(const struct vq_id *run, const struct vq_id *worker, bool left,
                                 char dir[VQ_SPOOL_PATH_BYTES_MAX], size_t base,
                                 struct vq_spool **ret_spool, struct vq_spool_held **ret_held,
                                 struct vq_error *err)
{
    for (unsigned k = 0; k < VQ_SPOOL_HOME_MAX; k++) {
        int added = snprintf(dir + base, VQ_SPOOL_PATH_BYTES_MAX - base, "/%u", k);
        if (added < 0 || (size_t)added >= VQ_SPOOL_PATH_BYTES_MAX - base) {
            return vq_fail(err, VQ_LIMIT, "the path of the spool is too long: %.200s", dir);
        }
        if (left && !holds_something(dir)) {
            continue;
        }
        enum vq_status status = vq_spool_open(dir, run, worker, ret_spool, ret_held, err);
        if (status != VQ_LOCKED) {
            return status;
        }
    }
    return VQ_NOT_FOUND;
}

enum vq_status vq_spool_home_open(const struct vq_id *run, const struct vq_id *worker,
                                  char ret_dir[VQ_SPOOL_PATH_BYTES_MAX],
                                  struct vq_spool **ret_spool, struct vq_spool_held **ret_held,
                                  struct vq_error *err)
{
    size_t base;
    VQ_TRY(run_folder(run, ret_dir, &base, err));
    enum vq_status status = open_first(run, worker, true, ret_dir, base, ret_spool, ret_held, err);
    if (status == VQ_NOT_FOUND) {
        status = open_first(run, worker, false, ret_dir, base, ret_spool, ret_held, err);
    }
    if (status == VQ_NOT_FOUND) {
        ret_dir[base] = '\0';
        return vq_fail(err, VQ_LIMIT, "all %u spools in %s are in use%s", VQ_SPOOL_HOME_MAX,
                       ret_dir, ADVICE);
    }
    return status;
}

void vq_spool_home_remove(const char *dir)
{
    char path[VQ_SPOOL_PATH_BYTES_MAX];
    int bytes = snprintf(path, sizeof(path), "%s/%s", dir, VQ_SPOOL_LOCK);
    int fd = -1;
    if (bytes < 0 || (size_t)bytes >= sizeof(path) || holds_something(dir) ||
        vq_spool_lock(dir, false, &fd, NULL) != VQ_OK) {
        return;
    }
    if (!holds_something(dir)) {
        (void)unlink(path);
        (void)rmdir(dir);
    }
    (void)close(fd);
    (void)snprintf(path, sizeof(path), "%s", dir);
    char *slash = strrchr(path, '/');
    if (slash != NULL && slash != path) {
        *slash = '\0';
        (void)rmdir(path); /* succeeds for the last one: then the run's folder is removed, too */
    }
}
