/* Imports the spools of workers that have ended, one at a time.
 *
 * Invariants: a spool is read only under its lock, which is held until the import is finished or
 * abandoned, so that no new worker starts with the spool. Its file is removed only after the caller
 * reported that everything is committed. If the process dies in between, the next import reads the
 * spool again, and the store already knows its results. Not its job: the format (proto/spool.c),
 * the commit. */
#include "coordinator/store/rundir/spool_import.h"

#include "common/base/alloc.h"
#include "common/base/crash.h"
#include "proto/spool.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct vq_spool_import {
    char dir[VQ_SPOOL_PATH_BYTES_MAX];
    uint32_t k;
    int lock_fd;
    struct vq_spool_held *held;
};

static enum vq_status spool_dir(const char *run_dir, uint32_t k,
                                char ret_dir[VQ_SPOOL_PATH_BYTES_MAX], struct vq_error *err)
{
    int n = snprintf(ret_dir, VQ_SPOOL_PATH_BYTES_MAX, "%s/spool/%u", run_dir, k);
    if (n < 0 || n >= VQ_SPOOL_PATH_BYTES_MAX) {
        return vq_fail(err, VQ_LIMIT, "%s: the path is too long", run_dir);
    }
    return VQ_OK;
}

static enum vq_status read_locked(struct vq_spool_import *import, const struct vq_id *run,
                                  struct vq_error *err)
{
    VQ_TRY(vq_spool_read(import->dir, run, &import->held, err));
    if (vq_spool_held_count(import->held) > 0 || vq_spool_held_torn_bytes(import->held) > 0) {
        return VQ_OK;
    }
    /* Everything in it was ACKed. */
    VQ_TRY(vq_spool_remove(import->dir, err));
    return VQ_NOT_FOUND;
}

enum vq_status vq_spool_import_one(const char *run_dir, const struct vq_id *run, uint32_t k,
                                   struct vq_spool_import **ret_import, struct vq_error *err)
{
    struct vq_spool_import *import;
    VQ_TRY(VQ_ALLOC(import, 1));
    import->k = k;
    import->lock_fd = -1;
    enum vq_status status = spool_dir(run_dir, k, import->dir, err);
    if (status == VQ_OK) {
        status = vq_spool_lock(import->dir, false, &import->lock_fd, err);
    }
    if (status == VQ_OK) {
        status = read_locked(import, run, err);
    }
    VQ_CRASH_POINT(import_begun);
    if (status != VQ_OK) {
        vq_spool_import_abandon(&import);
        return status;
    }
    *ret_import = import;
    return VQ_OK;
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The numbers of the folders in RUN_DIR/spool that are at least `from`, ascending. */
static enum vq_status list_spools(const char *run_dir, uint32_t from, uint32_t **ret_ks,
                                  size_t *ret_count, struct vq_error *err)
{
    char path[VQ_SPOOL_PATH_BYTES_MAX];
    int n = snprintf(path, sizeof(path), "%s/spool", run_dir);
    if (n < 0 || (size_t)n >= sizeof(path)) {
        return vq_fail(err, VQ_LIMIT, "%s: the path is too long", run_dir);
    }
    DIR *dir = opendir(path);
    if (dir == NULL) {
        return errno == ENOENT ? VQ_NOT_FOUND
                               : vq_fail(err, VQ_IO, "%s: %s", path, strerror(errno));
    }
    uint32_t *ks = NULL;
    size_t count = 0, cap = 0;
    enum vq_status status = VQ_OK;
    for (struct dirent *entry; status == VQ_OK && (entry = readdir(dir)) != NULL;) {
        char *end;
        unsigned long k = strtoul(entry->d_name, &end, 10);
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9' || *end != '\0' || k < from ||
            k > UINT32_MAX - 1) {
            continue;
        }
        status = VQ_GROW(ks, &cap, count + 1, VQ_SPOOLS_MAX);
        if (status == VQ_OK) {
            ks[count++] = (uint32_t)k;
        }
    }
    (void)closedir(dir);
    if (status != VQ_OK) {
        vq_free(ks);
        return vq_fail(err, status, "%s: more than %d spools", path, VQ_SPOOLS_MAX);
    }
    if (count > 0) {
        qsort(ks, count, sizeof(*ks), by_number);
    }
    *ret_ks = ks;
    *ret_count = count;
    return VQ_OK;
}

enum vq_status vq_spool_import_next(const char *run_dir, const struct vq_id *run, uint32_t *k,
                                    struct vq_spool_import **ret_import, struct vq_error *err)
{
    uint32_t *ks = NULL;
    size_t count = 0;
    VQ_TRY(list_spools(run_dir, *k, &ks, &count, err));
    enum vq_status status = VQ_NOT_FOUND;
    for (size_t i = 0; i < count; i++) {
        *k = ks[i] + 1;
        status = vq_spool_import_one(run_dir, run, ks[i], ret_import, err);
        if (status != VQ_NOT_FOUND && status != VQ_LOCKED) {
            break;
        }
        status = VQ_NOT_FOUND;
    }
    vq_free(ks);
    return status;
}

uint32_t vq_spool_import_k(const struct vq_spool_import *import)
{
    return import->k;
}

size_t vq_spool_import_results(const struct vq_spool_import *import)
{
    return vq_spool_held_count(import->held);
}

size_t vq_spool_import_unknown(const struct vq_spool_import *import)
{
    return vq_spool_held_unknown(import->held);
}

uint64_t vq_spool_import_torn_bytes(const struct vq_spool_import *import)
{
    return vq_spool_held_torn_bytes(import->held);
}

const struct vq_result *vq_spool_import_at(const struct vq_spool_import *import, size_t i)
{
    return vq_spool_held_at(import->held, i);
}

enum vq_status vq_spool_import_finish(struct vq_spool_import **import, struct vq_error *err)
{
    VQ_CRASH_POINT(import_remove_before);
    enum vq_status status = vq_spool_remove((*import)->dir, err);
    VQ_CRASH_POINT(import_removed);
    vq_spool_import_abandon(import);
    return status;
}

void vq_spool_import_abandon(struct vq_spool_import **import)
{
    if (*import == NULL) {
        return;
    }
    vq_spool_held_destroy(&(*import)->held);
    if ((*import)->lock_fd >= 0) {
        (void)close((*import)->lock_fd);
    }
    vq_free(*import);
    *import = NULL;
}
