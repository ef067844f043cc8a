/* The inputs of a run, stored in its folder with hashes, and compared at a resume. Invariant:
 * HASHES is written after the copy that it names, so a line always has its file. Not its job: which
 * files are inputs. */
#include "coordinator/store/rundir/run_inputs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HASHES_FILE    "inputs/HASHES"
#define HASH_DOMAIN    "run input"
#define READ_BYTES     (64u << 10)
#define INPUT_PATH_MAX (VQ_RUN_PATH_BYTES_MAX / 2)

static enum vq_status read_hashes(const struct vq_run_dir *run, struct vq_buf *text,
                                  struct vq_error *err)
{
    enum vq_status status = vq_run_dir_read(run, HASHES_FILE, text, err);
    return status == VQ_NOT_FOUND ? VQ_OK : status;
}

enum vq_status vq_run_dir_keep(const struct vq_run_dir *run, const char *name, struct vq_span bytes,
                               const char *came_from, struct vq_error *err)
{
    char file[INPUT_PATH_MAX];
    char hex[VQ_HEX_BYTES(VQ_HASH_BYTES)];
    struct vq_hash hash;
    struct vq_buf text;
    if (strpbrk(name, "/ \n") != NULL || strchr(came_from, '\n') != NULL) {
        return vq_fail(err, VQ_INVALID, "'%s' cannot be kept: a line break in its name", came_from);
    }
    (void)snprintf(file, sizeof(file), "inputs/%s", name);
    VQ_TRY(vq_run_dir_write(run, file, bytes, true, err));
    vq_hash_of(HASH_DOMAIN, bytes, &hash);
    vq_hex(hash.b, VQ_HASH_BYTES, hex);
    vq_buf_init(&text, VQ_RUN_INPUTS_BYTES_MAX);
    enum vq_status status = read_hashes(run, &text, err);
    if (status != VQ_OK) {
        vq_buf_free(&text);
        return status;
    }
    vq_buf_printf(&text, "%s %s %s\n", hex, name, came_from);
    return vq_run_dir_write_buf(run, HASHES_FILE, &text, true, err);
}

enum vq_status vq_run_dir_forget_kept(const struct vq_run_dir *run, struct vq_error *err)
{
    char path[VQ_RUN_PATH_BYTES_MAX];
    VQ_TRY(vq_run_dir_join(run, HASHES_FILE, path));
    return unlink(path) == 0 || errno == ENOENT
               ? VQ_OK
               : vq_fail(err, VQ_IO, "%s: %s", path, strerror(errno));
}

/* The same hash as vq_hash_of over the file's bytes, computed in pieces. */
static enum vq_status hash_file(const char *path, struct vq_hash *ret_hash)
{
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) { /* a pipe can be read only once */
        return VQ_NOT_FOUND;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT || errno == ENOTDIR ? VQ_NOT_FOUND : VQ_IO;
    }
    struct vq_hasher hasher;
    char piece[READ_BYTES];
    ssize_t n;
    vq_hasher_init(&hasher, HASH_DOMAIN);
    while ((n = read(fd, piece, sizeof(piece))) != 0) {
        if (n > 0) {
            vq_hasher_bytes(&hasher, piece, (size_t)n);
        } else if (errno != EINTR) {
            break;
        }
    }
    (void)close(fd);
    vq_hasher_final(&hasher, ret_hash);
    return n == 0 ? VQ_OK : VQ_IO;
}

/* One line of HASHES: "HEX NAME PATH". */
static enum vq_status check_line(const struct vq_run_dir *run, char *line, struct vq_error *err)
{
    struct vq_hash kept, now;
    char path[VQ_RUN_PATH_BYTES_MAX];
    char file[INPUT_PATH_MAX];
    char *name = strchr(line, ' ');
    char *original = name == NULL ? NULL : strchr(name + 1, ' ');
    if (original == NULL ||
        vq_unhex(vq_span(line, (size_t)(name - line)), kept.b, VQ_HASH_BYTES) != VQ_OK) {
        return vq_fail(err, VQ_CORRUPT, "%s/%s is damaged", vq_run_dir_path(run), HASHES_FILE);
    }
    *original++ = '\0';
    (void)snprintf(file, sizeof(file), "inputs/%s", name + 1);
    VQ_TRY(vq_run_dir_join(run, file, path));
    if (hash_file(path, &now) != VQ_OK || !vq_hash_eq(&kept, &now)) {
        return vq_fail(err, VQ_CORRUPT,
                       "%s is missing or was changed: it is the run's own copy of its input; put "
                       "it back, or start a new run, which finds the stored answers",
                       path);
    }
    enum vq_status status = *original == '\0' ? VQ_NOT_FOUND : hash_file(original, &now);
    if (status == VQ_OK && !vq_hash_eq(&kept, &now)) {
        return vq_fail(err, VQ_INVALID,
                       "%s has changed since run %s began; put it back (the run's copy is %s) or "
                       "begin a new run",
                       original, vq_run_dir_name(run), path);
    }
    return VQ_OK;
}

enum vq_status vq_run_dir_check_kept(const struct vq_run_dir *run, struct vq_error *err)
{
    struct vq_buf text;
    vq_buf_init(&text, VQ_RUN_INPUTS_BYTES_MAX);
    enum vq_status status = read_hashes(run, &text, err);
    char *line = text.at;
    while (status == VQ_OK && line != NULL && *line != '\0') {
        char *end = strchr(line, '\n');
        if (end == NULL) {
            status =
                vq_fail(err, VQ_CORRUPT, "%s/%s is damaged", vq_run_dir_path(run), HASHES_FILE);
            break;
        }
        *end = '\0';
        status = check_line(run, line, err);
        line = end + 1;
    }
    vq_buf_free(&text);
    return status;
}
