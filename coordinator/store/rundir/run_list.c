/* Access to runs from outside: the list, the files of one run, its endpoint, and its removal.
 *
 * Invariants: a probe takes the run lock shared and only for a moment. A folder that is being
 * removed is first renamed to a name that no run can have, so that no process sees a part of it.
 * Not its job: the store; the caller drops a removed run's ledger (tools.h). */
#include "coordinator/store/rundir/run_list.h"

#include "common/base/alloc.h"
#include "common/base/secret.h"
#include "common/text/file.h"
#include "common/text/intern.h"
#include "common/text/json.h"
#include "common/text/json_load.h"
#include "coordinator/store/rundir/spool_import.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENDPOINT_BYTES_MAX 4096
#define ENDPOINT_DEPTH_MAX 4
#define OPEN_FOLDERS_MAX   16

static enum vq_status path_of(const char *runs_dir, const char *name, const char *file,
                              char ret_path[VQ_RUN_PATH_BYTES_MAX])
{
    int n = snprintf(ret_path, VQ_RUN_PATH_BYTES_MAX, "%s/%s%s%s", runs_dir, name,
                     *file == '\0' ? "" : "/", file);
    return n < 0 || n >= VQ_RUN_PATH_BYTES_MAX ? VQ_LIMIT : VQ_OK;
}

enum vq_status vq_path_read(const char *path, struct vq_buf *out, struct vq_error *err)
{
    struct vq_buf read;
    VQ_TRY(vq_file_read(path, out->bytes_max, &read, err));
    vq_buf_free(out);
    *out = read;
    return VQ_OK;
}

/* ---- one run ---- */

static bool has(const char *runs_dir, const char *name, const char *file, int64_t *ret_unix_ms)
{
    char path[VQ_RUN_PATH_BYTES_MAX];
    struct stat st;
    if (path_of(runs_dir, name, file, path) != VQ_OK || stat(path, &st) != 0) {
        return false;
    }
    *ret_unix_ms = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
    return true;
}

static bool is_running(const char *runs_dir, const char *name)
{
    char path[VQ_RUN_PATH_BYTES_MAX];
    if (path_of(runs_dir, name, "lock", path) != VQ_OK) {
        return false;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    bool running = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    (void)close(fd);
    return running;
}

/* VQ_NOT_FOUND: never fully begun. VQ_CORRUPT, VQ_DENIED, VQ_IO, VQ_NOMEM: its uid is unknown. */
static enum vq_status read_uid(const char *runs_dir, const char *name, struct vq_id *ret_uid,
                               struct vq_error *err)
{
    char path[VQ_RUN_PATH_BYTES_MAX];
    struct vq_buf text;
    struct vq_id uid;
    vq_buf_init(&text, 256);
    enum vq_status status = path_of(runs_dir, name, "uid", path);
    if (status == VQ_OK) {
        status = vq_path_read(path, &text, err);
    }
    if (status == VQ_LIMIT || (status == VQ_OK && (text.bytes < 2 * VQ_ID_BYTES ||
                                                   vq_unhex(vq_span(text.at, 2 * VQ_ID_BYTES),
                                                            uid.b, VQ_ID_BYTES) != VQ_OK))) {
        status = vq_fail(err, VQ_CORRUPT, "%s is damaged: the run that it belongs to is not known",
                         path);
    }
    vq_buf_free(&text);
    if (status == VQ_OK) {
        *ret_uid = uid;
    }
    return status;
}

static bool info_fill(const char *runs_dir, const char *name, struct vq_run_info *ret_info)
{
    struct vq_run_info info = {0};
    int64_t unused;
    if (vq_run_name_check(name, NULL) != VQ_OK || !has(runs_dir, name, "", &info.changed_unix_ms) ||
        (!has(runs_dir, name, "lock", &unused) && !has(runs_dir, name, "uid", &unused))) {
        return false;
    }
    (void)snprintf(info.name, sizeof(info.name), "%s", name);
    info.running = is_running(runs_dir, name);
    info.has_status = has(runs_dir, name, "status.json", &info.changed_unix_ms);
    info.has_results = has(runs_dir, name, "results/results.json", &unused);
    *ret_info = info;
    return true;
}

enum vq_status vq_run_info_read(const char *runs_dir, const char *name,
                                struct vq_run_info *ret_info, struct vq_error *err)
{
    VQ_TRY(vq_run_name_check(name, err));
    return info_fill(runs_dir, name, ret_info) ? VQ_OK : vq_run_unknown(runs_dir, name, err);
}

/* ---- all runs ---- */

static int by_name(const void *a, const void *b)
{
    const struct vq_run_info *x = a;
    const struct vq_run_info *y = b;
    return strcmp(x->name, y->name);
}

enum vq_status vq_runs_list(const char *runs_dir, struct vq_run_info **ret_runs, size_t *ret_count,
                            struct vq_error *err)
{
    DIR *dir = opendir(runs_dir);
    if (dir == NULL) {
        return vq_fail(err, errno == ENOENT ? VQ_NOT_FOUND : VQ_IO, "%s: %s", runs_dir,
                       strerror(errno));
    }
    struct vq_run_info *runs = NULL;
    size_t count = 0, cap = 0;
    enum vq_status status = VQ_OK;
    for (struct dirent *entry; status == VQ_OK && (entry = readdir(dir)) != NULL;) {
        struct vq_run_info info;
        if (!info_fill(runs_dir, entry->d_name, &info)) {
            continue;
        }
        status = VQ_GROW(runs, &cap, count + 1, VQ_RUNS_LISTED_MAX);
        if (status == VQ_OK) {
            runs[count++] = info;
        }
    }
    (void)closedir(dir);
    if (status != VQ_OK) {
        vq_free(runs);
        return status != VQ_LIMIT ? status
                                  : vq_fail(err, status, "%s holds more than %d runs", runs_dir,
                                            VQ_RUNS_LISTED_MAX);
    }
    if (count > 0) {
        qsort(runs, count, sizeof(*runs), by_name);
    }
    *ret_runs = runs;
    *ret_count = count;
    return VQ_OK;
}

enum vq_status vq_runs_uids(const char *runs_dir, struct vq_id **ret_uids, size_t *ret_count,
                            struct vq_error *err)
{
    struct vq_run_info *runs;
    size_t count, known = 0;
    VQ_TRY(vq_runs_list(runs_dir, &runs, &count, err));
    struct vq_id *uids = vq_alloc(count, sizeof(*uids));
    enum vq_status status = uids == NULL ? VQ_NOMEM : VQ_OK;
    for (size_t i = 0; status == VQ_OK && i < count; i++) {
        status = read_uid(runs_dir, runs[i].name, &uids[known], err);
        known += status == VQ_OK ? 1 : 0;
        status = status == VQ_NOT_FOUND ? VQ_OK : status; /* it never sent anything */
    }
    vq_free(runs);
    if (status != VQ_OK) {
        vq_free(uids);
        return status;
    }
    *ret_uids = uids;
    *ret_count = known;
    return VQ_OK;
}

enum vq_status vq_run_unknown(const char *runs_dir, const char *name, struct vq_error *err)
{
    struct vq_run_info *runs = NULL;
    size_t count = 0;
    struct vq_span *names = NULL;
    uint32_t near = VQ_INTERN_NONE;
    if (vq_runs_list(runs_dir, &runs, &count, NULL) == VQ_OK &&
        (names = vq_alloc(count, sizeof(*names))) != NULL) {
        for (size_t i = 0; i < count; i++) {
            names[i] = vq_span_str(runs[i].name);
        }
        near = vq_nearest_name(vq_span_str(name), names, (uint32_t)count);
    }
    enum vq_status status =
        near != VQ_INTERN_NONE
            ? vq_fail(err, VQ_NOT_FOUND, "there is no run %s in %s; did you mean %s?", name,
                      runs_dir, runs[near].name)
            : vq_fail(err, VQ_NOT_FOUND, "there is no run %s in %s; `vibeq list` shows all", name,
                      runs_dir);
    vq_free(names);
    vq_free(runs);
    return status;
}

enum vq_status vq_run_file_read(const char *runs_dir, const char *name, const char *file,
                                struct vq_buf *out, struct vq_error *err)
{
    char path[VQ_RUN_PATH_BYTES_MAX];
    VQ_TRY(vq_run_name_check(name, err));
    if (path_of(runs_dir, name, file, path) != VQ_OK) {
        return vq_fail(err, VQ_LIMIT, "%s: the path is too long", runs_dir);
    }
    return vq_path_read(path, out, err);
}

/* ---- the endpoint ---- */

static bool copy_string(const json_t *object, const char *key, char *ret_text, size_t room)
{
    const char *text = json_string_value(json_object_get(object, key));
    if (text == NULL || strlen(text) >= room) {
        return false;
    }
    memcpy(ret_text, text, strlen(text) + 1);
    return true;
}

enum vq_status vq_endpoint_parse(struct vq_span text, struct vq_endpoint *ret_endpoint)
{
    json_t *json = NULL;
    struct vq_endpoint endpoint = {0};
    enum vq_status status = vq_json_exceeds(text, ENDPOINT_DEPTH_MAX, 0)
                                ? VQ_INVALID
                                : vq_json_load(text, JSON_REJECT_DUPLICATES, &json, NULL);
    if (status != VQ_OK) {
        return status == VQ_INVALID ? VQ_CORRUPT : status;
    }
    json_int_t pid = json_integer_value(json_object_get(json, "pid"));
    bool good = copy_string(json, "address", endpoint.address, sizeof(endpoint.address)) &&
                copy_string(json, "token", endpoint.token, sizeof(endpoint.token)) && pid > 0;
    endpoint.pid = good ? (uint64_t)pid : 0;
    json_decref(json);
    if (good) {
        *ret_endpoint = endpoint;
    }
    vq_wipe(&endpoint, sizeof(endpoint));
    return good ? VQ_OK : VQ_CORRUPT;
}

enum vq_status vq_run_endpoint_read(const char *runs_dir, const char *name,
                                    struct vq_endpoint *ret_endpoint, struct vq_error *err)
{
    struct vq_buf text;
    vq_buf_init(&text, ENDPOINT_BYTES_MAX);
    enum vq_status status = vq_run_file_read(runs_dir, name, "endpoint.json", &text, err);
    if (status == VQ_OK) {
        status = vq_endpoint_parse(vq_buf_span(&text), ret_endpoint);
        if (status == VQ_CORRUPT) {
            status = vq_fail(err, status, "%s/%s/endpoint.json is damaged", runs_dir, name);
        }
    }
    vq_buf_free(&text);
    return status;
}

/* ---- removal ---- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

enum vq_status vq_folder_remove(const char *path, struct vq_error *err)
{
    return nftw(path, remove_one, OPEN_FOLDERS_MAX, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) == 0
               ? VQ_OK
               : vq_fail(err, VQ_IO, "%s cannot be removed: %s", path, strerror(errno));
}

/* Under the lock: first renames the folder, then removes it. */
static enum vq_status remove_locked(const char *runs_dir, const char *name, const char *path,
                                    struct vq_error *err)
{
    char gone[VQ_RUN_PATH_BYTES_MAX];
    int n = snprintf(gone, sizeof(gone), "%s/.removed-%s-%ld", runs_dir, name, (long)getpid());
    if (n < 0 || (size_t)n >= sizeof(gone)) {
        return vq_fail(err, VQ_LIMIT, "%s: the path is too long", runs_dir);
    }
    if (rename(path, gone) != 0) {
        return vq_fail(err, VQ_IO, "%s cannot be removed: %s", path, strerror(errno));
    }
    return vq_folder_remove(gone, err);
}

/* Answers in spools are not in the store yet: removing the folder would lose paid answers. */
static enum vq_status nothing_spooled(const char *path, const char *name, const struct vq_id *uid,
                                      struct vq_error *err)
{
    size_t answers = 0;
    for (uint32_t k = 0; k < VQ_SPOOLS_MAX; k++) {
        struct vq_spool_import *import;
        enum vq_status status = vq_spool_import_one(path, uid, k, &import, err);
        if (status == VQ_LOCKED) {
            return vq_fail(err, VQ_LOCKED,
                           "local worker %u of %s is still running; vibeq resume %s imports its "
                           "spool, or wait until it has ended",
                           (unsigned)k, name, name);
        }
        if (status == VQ_NOT_FOUND) {
            continue;
        }
        VQ_TRY(status);
        answers += vq_spool_import_results(import) - vq_spool_import_unknown(import);
        vq_spool_import_abandon(&import);
    }
    if (answers == 0) {
        return VQ_OK;
    }
    return vq_fail(err, VQ_EXISTS,
                   "the spools of %s hold %zu answered calls that are not in the store yet: vibeq "
                   "resume %s collects them; vibeq rm --force %s deletes them",
                   name, answers, name, name);
}

enum vq_status vq_run_remove(const char *runs_dir, const char *name, bool force,
                             struct vq_id *ret_uid, struct vq_error *err)
{
    struct vq_run_info info;
    struct vq_id uid = {0};
    char path[VQ_RUN_PATH_BYTES_MAX];
    char lock[VQ_RUN_PATH_BYTES_MAX];
    VQ_TRY(vq_run_info_read(runs_dir, name, &info, err));
    VQ_TRY(path_of(runs_dir, name, "", path));
    VQ_TRY(path_of(runs_dir, name, "lock", lock));
    int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return vq_fail(err, VQ_IO, "%s: %s", lock, strerror(errno));
    }
    enum vq_status status;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        status = vq_fail(err, VQ_LOCKED, "run %s is running; stop it first", name);
    } else {
        status = read_uid(runs_dir, name, &uid, err);
        if (status == VQ_OK && !force) {
            status = nothing_spooled(path, name, &uid, err);
        } else if (status == VQ_NOT_FOUND || status == VQ_CORRUPT) {
            status = VQ_OK;
        }
        status = status == VQ_OK ? remove_locked(runs_dir, name, path, err) : status;
    }
    (void)close(fd);
    if (status == VQ_OK) {
        *ret_uid = uid;
    }
    return status;
}
