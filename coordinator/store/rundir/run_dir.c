/* A run's folder: creating it, opening it under its lock, its files.
 *
 * Invariants: mkdir decides which process creates a run, and the lock decides which one takes over
 * a run that was never fully begun. No file of an existing run is read or written before its lock
 * is held. The lock is a flock on a descriptor that no child inherits, so it ends with this
 * process, in any case. Files are replaced whole. Not its job: the contents of the files. */
#include "coordinator/store/rundir/run_dir.h"

#include "common/base/alloc.h"
#include "common/base/crash.h"
#include "common/base/secret.h"
#include "common/text/file.h"
#include "common/text/json.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define UID_FILE           "uid"
#define INPUTS             "inputs"
#define LOCK_FILE          "lock"
#define ENDPOINT_FILE      "endpoint.json"
#define ENDPOINT_BYTES_MAX 4096

struct vq_run_dir {
    char *path;
    char *name;
    struct vq_id uid;
    int lock_fd;
};

/* ---- the runs folder ---- */

/* The status by errno: a path where no folder can be is the person's mistake; a full or failing
 * disk is not. */
static enum vq_status no_folder(const char *path, struct vq_error *err)
{
    if (errno == ENOSPC || errno == EDQUOT) {
        return vq_fail(err, VQ_FULL, "%s cannot be made: %s; make room on that disk", path,
                       strerror(errno));
    }
    bool fatal = errno == EIO || errno == ENOMEM;
    return vq_fail(err, fatal ? VQ_IO : VQ_DENIED,
                   "%s cannot be made: %s; choose another folder with --runs", path,
                   strerror(errno));
}

/* Makes `path` and its missing parents. */
static enum vq_status make_folders(char *path, struct vq_error *err)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int rc = mkdir(path, 0700);
        bool failed = rc != 0 && errno != EEXIST && access(path, F_OK) != 0;
        if (failed) {
            enum vq_status status = no_folder(path, err);
            *slash = '/';
            return status;
        }
        *slash = '/';
    }
    if (mkdir(path, 0700) != 0 && errno != EEXIST) {
        return no_folder(path, err);
    }
    return VQ_OK;
}

const char *vq_runs_dir_wanted(const char *option)
{
    const char *wanted = option != NULL ? option : getenv("VIBEQ_RUNS");
    return wanted == NULL || *wanted == '\0' ? "./runs" : wanted;
}

static enum vq_status absolute_folder(const char *path, char **ret_path, struct vq_error *err)
{
    char *real = realpath(path, NULL);
    struct stat st;
    if (real == NULL && errno == ENOENT) {
        return vq_fail(err, VQ_NOT_FOUND,
                       "there is no runs folder %s; --runs or VIBEQ_RUNS names another", path);
    }
    enum vq_status status = VQ_OK;
    if (real == NULL || stat(real, &st) != 0 || !S_ISDIR(st.st_mode)) {
        status = vq_fail(err, VQ_INVALID, "%s is not a folder", path);
    }
    if (status == VQ_OK) {
        *ret_path = vq_strdup(real);
        status = *ret_path == NULL ? VQ_NOMEM : VQ_OK;
    }
    free(real); /* allocated by realpath */
    return status;
}

enum vq_status vq_runs_dir(const char *option, char **ret_path, struct vq_error *err)
{
    char *path;
    VQ_TRY(vq_copy(vq_runs_dir_wanted(option), &path));
    enum vq_status status = make_folders(path, err);
    if (status == VQ_OK) {
        status = absolute_folder(path, ret_path, err);
    }
    vq_free(path);
    return status;
}

enum vq_status vq_runs_dir_find(const char *option, char **ret_path, struct vq_error *err)
{
    return absolute_folder(vq_runs_dir_wanted(option), ret_path, err);
}

enum vq_status vq_run_name_check(const char *name, struct vq_error *err)
{
    static const char *const taken[] = {"calls.lmdb",       "calls.lmdb-lock", "pools",
                                        "coordinator.cert", "join.cert",       "workers.allowed"};
    size_t bytes = strlen(name);
    bool good = bytes > 0 && bytes <= VQ_RUN_NAME_BYTES_MAX && vq_is_alnum(name[0]);
    for (size_t i = 0; i < bytes && good; i++) {
        good = vq_is_alnum(name[i]) || name[i] == '-' || name[i] == '_' || name[i] == '.';
    }
    if (!good) {
        return vq_fail(err, VQ_INVALID,
                       "'%.120s' cannot be a run's name: 1 to %d letters, digits, '-', '_' or '.', "
                       "beginning with a letter or digit",
                       name, VQ_RUN_NAME_BYTES_MAX);
    }
    for (size_t i = 0; i < VQ_COUNT(taken); i++) {
        if (strcmp(name, taken[i]) == 0) {
            return vq_fail(err, VQ_INVALID, "'%s' is used by the runs folder itself", name);
        }
    }
    return VQ_OK;
}

/* ---- opening ---- */

static enum vq_status handle_make(const char *runs_dir, const char *name,
                                  struct vq_run_dir **ret_run)
{
    struct vq_run_dir *run;
    VQ_TRY(VQ_ALLOC(run, 1));
    run->lock_fd = -1;
    size_t bytes = strlen(runs_dir) + strlen(name) + 2;
    run->name = vq_strdup(name);
    run->path = vq_alloc(bytes, 1);
    if (run->name == NULL || run->path == NULL) {
        vq_run_dir_close(&run);
        return VQ_NOMEM;
    }
    (void)snprintf(run->path, bytes, "%s/%s", runs_dir, name);
    *ret_run = run;
    return VQ_OK;
}

static enum vq_status take_lock(struct vq_run_dir *run, int flags, struct vq_error *err)
{
    char path[VQ_RUN_PATH_BYTES_MAX];
    VQ_TRY(vq_run_dir_join(run, LOCK_FILE, path));
    run->lock_fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
    if (run->lock_fd < 0) {
        return vq_fail(err, errno == ENOENT ? VQ_CORRUPT : VQ_IO, "%s: %s", path, strerror(errno));
    }
    for (int tries = 0; flock(run->lock_fd, LOCK_EX | LOCK_NB) != 0; tries++) {
        if (errno != EWOULDBLOCK && errno != EINTR) {
            return vq_fail(err, VQ_IO, "%s cannot be locked: %s", path, strerror(errno));
        }
        if (tries == VQ_RUN_LOCK_TRIES) {
            return vq_fail(err, VQ_LOCKED, "run %s is running already; see `vibeq status %s`",
                           run->name, run->name);
        }
        struct timespec wait = {.tv_nsec = VQ_RUN_LOCK_TRY_MS * 1000000L};
        (void)nanosleep(&wait, NULL);
    }
    return VQ_OK;
}

static enum vq_status make_uid(struct vq_run_dir *run, struct vq_error *err)
{
    char hex[VQ_HEX_BYTES(VQ_ID_BYTES) + 1];
    vq_random_bytes(run->uid.b, VQ_ID_BYTES);
    vq_hex(run->uid.b, VQ_ID_BYTES, hex);
    hex[2 * VQ_ID_BYTES] = '\n';
    return vq_run_dir_write(run, UID_FILE, vq_span(hex, 2 * VQ_ID_BYTES + 1), true, err);
}

static enum vq_status never_begun(const struct vq_run_dir *run, const char *file,
                                  enum vq_status status, struct vq_error *err)
{
    return vq_fail(
        err, status,
        "%s/%s is missing or damaged: the run was never fully begun, and nothing was sent; "
        "`vibeq rm %s` removes it, `vibeq run` with --name %s starts it again",
        run->path, file, run->name, run->name);
}

enum vq_status vq_run_dir_check_begun(const struct vq_run_dir *run, struct vq_error *err)
{
    char path[VQ_RUN_PATH_BYTES_MAX];
    VQ_TRY(vq_run_dir_join(run, VQ_RUN_BEGUN_FILE, path));
    return access(path, F_OK) == 0 || errno != ENOENT
               ? VQ_OK
               : never_begun(run, VQ_RUN_BEGUN_FILE, VQ_NOT_FOUND, err);
}

static enum vq_status read_uid(struct vq_run_dir *run, struct vq_error *err)
{
    struct vq_buf text;
    vq_buf_init(&text, 256);
    enum vq_status status = vq_run_dir_read(run, UID_FILE, &text, NULL);
    if (status == VQ_OK) {
        size_t bytes =
            text.bytes > 0 && text.at[text.bytes - 1] == '\n' ? text.bytes - 1 : text.bytes;
        status = vq_unhex(vq_span(text.at, bytes), run->uid.b, VQ_ID_BYTES);
    }
    vq_buf_free(&text);
    if (status == VQ_NOT_FOUND || status == VQ_INVALID || status == VQ_LIMIT) {
        return never_begun(run, UID_FILE, status == VQ_NOT_FOUND ? status : VQ_CORRUPT, err);
    }
    return status;
}

/* ---- making ---- */

static enum vq_status exists(const char *name, struct vq_error *err)
{
    return vq_fail(err, VQ_EXISTS,
                   "run %s exists; `vibeq resume %s` continues it, another --name starts a new one",
                   name, name);
}

/* Files that an interrupted start may have left, whole or partly written. */
static bool is_beginning(const char *entry)
{
    static const char *const files[] = {LOCK_FILE, UID_FILE, VQ_RUN_BEGUN_FILE};
    if (strcmp(entry, ".") == 0 || strcmp(entry, "..") == 0 || strcmp(entry, INPUTS) == 0) {
        return true;
    }
    for (size_t i = 0; i < VQ_COUNT(files); i++) {
        size_t bytes = strlen(files[i]);
        if (strncmp(entry, files[i], bytes) == 0 && (entry[bytes] == '\0' || entry[bytes] == '.')) {
            return true;
        }
    }
    return false;
}

/* A folder of ours that has only files of an interrupted start. */
static bool was_never_created(const struct vq_run_dir *run)
{
    struct stat st;
    char path[VQ_RUN_PATH_BYTES_MAX];
    if (lstat(run->path, &st) != 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
        vq_run_dir_join(run, VQ_RUN_BEGUN_FILE, path) != VQ_OK || lstat(path, &st) == 0) {
        return false;
    }
    DIR *dir = opendir(run->path);
    bool only = dir != NULL;
    const struct dirent *entry;
    while (only && (entry = readdir(dir)) != NULL) {
        only = is_beginning(entry->d_name);
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return only;
}

static enum vq_status take_over(struct vq_run_dir *run, struct vq_error *err)
{
    if (!was_never_created(run)) {
        return exists(run->name, err);
    }
    enum vq_status status = take_lock(run, O_CREAT, err);
    if (status == VQ_LOCKED || (status == VQ_OK && !was_never_created(run))) {
        return exists(run->name, err); /* its creator is alive, or has finished */
    }
    return status == VQ_OK ? vq_run_dir_forget_kept(run, err) : status;
}

enum vq_status vq_run_dir_create(const char *runs_dir, const char *name,
                                 struct vq_run_dir **ret_run, struct vq_error *err)
{
    VQ_TRY(vq_run_name_check(name, err));
    struct vq_run_dir *run = NULL;
    VQ_TRY(handle_make(runs_dir, name, &run));
    enum vq_status status;
    if (mkdir(run->path, 0700) == 0) {
        VQ_CRASH_POINT(run_folder_made);
        status = take_lock(run, O_CREAT, err);
    } else {
        status = errno == EEXIST ? take_over(run, err) : no_folder(run->path, err);
    }
    VQ_CRASH_POINT(run_folder_locked);
    if (status == VQ_OK) {
        status = make_uid(run, err);
    }
    VQ_CRASH_POINT(run_uid_written);
    if (status != VQ_OK) {
        vq_run_dir_close(&run);
        return status;
    }
    *ret_run = run;
    return VQ_OK;
}

static enum vq_status open_dir(const char *runs_dir, const char *name, bool lock,
                               struct vq_run_dir **ret_run, struct vq_error *err)
{
    VQ_TRY(vq_run_name_check(name, err));
    struct vq_run_dir *run = NULL;
    VQ_TRY(handle_make(runs_dir, name, &run));
    struct stat st;
    enum vq_status status = VQ_OK;
    if (lstat(run->path, &st) != 0 || !S_ISDIR(st.st_mode)) {
        status = vq_run_unknown(runs_dir, name, err);
    } else if (st.st_uid != geteuid()) {
        status = vq_fail(err, VQ_DENIED, "%s belongs to another user", run->path);
    }
    if (status == VQ_OK && lock) {
        status = take_lock(run, O_CREAT, err);
    }
    if (status == VQ_OK) {
        status = read_uid(run, err);
    }
    if (status != VQ_OK) {
        vq_run_dir_close(&run);
        return status;
    }
    *ret_run = run;
    return VQ_OK;
}

enum vq_status vq_run_dir_open(const char *runs_dir, const char *name, struct vq_run_dir **ret_run,
                               struct vq_error *err)
{
    return open_dir(runs_dir, name, true, ret_run, err);
}

enum vq_status vq_run_dir_look(const char *runs_dir, const char *name, struct vq_run_dir **ret_run,
                               struct vq_error *err)
{
    return open_dir(runs_dir, name, false, ret_run, err);
}

void vq_run_dir_close(struct vq_run_dir **run)
{
    if (*run == NULL) {
        return;
    }
    if ((*run)->lock_fd >= 0) {
        (void)close((*run)->lock_fd);
    }
    vq_free((*run)->path);
    vq_free((*run)->name);
    vq_free(*run);
    *run = NULL;
}

const char *vq_run_dir_path(const struct vq_run_dir *run)
{
    return run->path;
}

const char *vq_run_dir_name(const struct vq_run_dir *run)
{
    return run->name;
}

const struct vq_id *vq_run_dir_uid(const struct vq_run_dir *run)
{
    return &run->uid;
}

/* ---- files ---- */

enum vq_status vq_run_dir_join(const struct vq_run_dir *run, const char *file,
                               char ret_path[VQ_RUN_PATH_BYTES_MAX])
{
    size_t folder = strlen(run->path);
    size_t name = strlen(file);
    if (folder + name + 2 > VQ_RUN_PATH_BYTES_MAX) {
        return VQ_LIMIT;
    }
    memcpy(ret_path, run->path, folder);
    ret_path[folder] = '/';
    memcpy(ret_path + folder + 1, file, name + 1);
    return VQ_OK;
}

/* Without fsync: for files that are written every few seconds and read by people. */
static enum vq_status write_soft(const char *path, struct vq_span bytes, struct vq_error *err)
{
    char temp[VQ_RUN_PATH_BYTES_MAX + 8];
    (void)snprintf(temp, sizeof(temp), "%s.tmp", path);
    int fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    enum vq_status status = VQ_OK;
    for (size_t at = 0; fd >= 0 && at < bytes.bytes && status == VQ_OK;) {
        ssize_t n = write(fd, bytes.at + at, bytes.bytes - at);
        if (n > 0) {
            at += (size_t)n;
        } else if (n == 0 || errno != EINTR) {
            status = VQ_IO;
        }
    }
    if (fd < 0 || status != VQ_OK || rename(temp, path) != 0) {
        status = vq_fail(err, errno == ENOSPC ? VQ_FULL : VQ_IO, "%s: %s", path, strerror(errno));
        if (fd >= 0) {
            (void)unlink(temp); /* best effort: only the first failure counts */
        }
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return status;
}

/* The path of a file of the run; makes missing folders. */
static enum vq_status place_of(const struct vq_run_dir *run, const char *file,
                               char ret_path[VQ_RUN_PATH_BYTES_MAX], struct vq_error *err)
{
    if (vq_run_dir_join(run, file, ret_path) != VQ_OK) {
        return vq_fail(err, VQ_LIMIT, "%s: the path is too long", run->path);
    }
    char *slash = strrchr(ret_path, '/');
    if (strchr(file, '/') != NULL) {
        *slash = '\0';
        VQ_TRY(make_folders(ret_path, err));
        *slash = '/';
    }
    return VQ_OK;
}

enum vq_status vq_run_dir_begin(const struct vq_run_dir *run, const char *file,
                                struct vq_file_new **ret_file, struct vq_error *err)
{
    char path[VQ_RUN_PATH_BYTES_MAX];
    VQ_TRY(place_of(run, file, path, err));
    return vq_file_new_begin(path, 0600, ret_file, err);
}

enum vq_status vq_run_dir_write(const struct vq_run_dir *run, const char *file,
                                struct vq_span bytes, bool durable, struct vq_error *err)
{
    char path[VQ_RUN_PATH_BYTES_MAX];
    VQ_TRY(place_of(run, file, path, err));
    return durable ? vq_file_replace(path, bytes, 0600, err) : write_soft(path, bytes, err);
}

enum vq_status vq_run_dir_write_buf(const struct vq_run_dir *run, const char *file,
                                    struct vq_buf *take_text, bool durable, struct vq_error *err)
{
    enum vq_status status = take_text->status;
    if (status == VQ_OK) {
        status = vq_run_dir_write(run, file, vq_buf_span(take_text), durable, err);
    }
    vq_buf_free(take_text);
    return status;
}

enum vq_status vq_run_dir_read(const struct vq_run_dir *run, const char *file, struct vq_buf *out,
                               struct vq_error *err)
{
    char path[VQ_RUN_PATH_BYTES_MAX];
    if (vq_run_dir_join(run, file, path) != VQ_OK) {
        return vq_fail(err, VQ_LIMIT, "%s: the path is too long", run->path);
    }
    return vq_path_read(path, out, err);
}

void vq_endpoint_put(const struct vq_endpoint *endpoint, struct vq_buf *out)
{
    struct vq_json json;
    vq_json_open(&json, out, 2);
    vq_json_put_str(&json, "address", endpoint->address);
    vq_json_put_str(&json, "token", endpoint->token);
    vq_json_put_u64(&json, "pid", endpoint->pid);
    vq_json_close(&json);
}

enum vq_status vq_run_dir_write_endpoint(const struct vq_run_dir *run,
                                         const struct vq_endpoint *endpoint, struct vq_error *err)
{
    struct vq_buf text;
    vq_buf_init(&text, ENDPOINT_BYTES_MAX);
    vq_endpoint_put(endpoint, &text);
    enum vq_status status = text.status;
    if (status == VQ_OK) {
        status = vq_run_dir_write(run, ENDPOINT_FILE, vq_buf_span(&text), false, err);
    }
    if (text.at != NULL) {
        vq_wipe(text.at, text.bytes);
    }
    vq_buf_free(&text);
    return status;
}

void vq_run_dir_remove_endpoint(const struct vq_run_dir *run)
{
    char path[VQ_RUN_PATH_BYTES_MAX];
    if (vq_run_dir_join(run, ENDPOINT_FILE, path) == VQ_OK) {
        (void)unlink(path);
    }
}
