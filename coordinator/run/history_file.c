/* history.bin. Invariant: no error of the file stops the run. A sample is one write of less than
 * 300 bytes, and is not synced. */
#include "coordinator/run/history_file.h"

#include "common/text/file.h"
#include "common/text/log.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define FILE_BYTES_MAX (VQ_HISTORY_HEAD_BYTES + (VQ_HISTORY_SAMPLES + 1) * VQ_HISTORY_RECORD_BYTES)

static bool write_at(int fd, const uint8_t *bytes, size_t n, uint64_t offset)
{
    ssize_t written = pwrite(fd, bytes, n, (off_t)offset);
    return written >= 0 && (size_t)written == n;
}

static void give_up(struct vq_history_file *file, const char *why)
{
    vq_log(VQ_LOG_WARN, "history.unwritten", "why=%s", why);
    if (file->fd >= 0) {
        (void)close(file->fd); /* its samples stay readable */
        file->fd = -1;
    }
}

static void load(struct vq_history_file *file, const char *path)
{
    struct vq_buf bytes;
    struct vq_error err = {0};
    uint8_t head[VQ_HISTORY_HEAD_BYTES];
    vq_buf_init(&bytes, FILE_BYTES_MAX);
    bool taken = vq_path_read(path, &bytes, &err) == VQ_OK &&
                 vq_history_load(file->history, vq_buf_span(&bytes));
    vq_buf_free(&bytes);
    if (taken) {
        return;
    }
    vq_history_head(head);
    if (ftruncate(file->fd, 0) != 0 || !write_at(file->fd, head, sizeof(head), 0)) {
        give_up(file, strerror(errno));
    }
}

enum vq_status vq_history_file_open(const struct vq_run_dir *run, struct vq_history_file *ret_file,
                                    struct vq_error *err)
{
    char path[VQ_RUN_PATH_BYTES_MAX];
    struct vq_history_file file = {.history = vq_history_create(), .fd = -1};
    if (file.history == NULL) {
        return vq_fail(err, VQ_NOMEM, "out of memory");
    }
    if (vq_run_dir_join(run, VQ_HISTORY_FILE, path) == VQ_OK) {
        file.fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    }
    if (file.fd < 0) {
        give_up(&file, strerror(errno));
    } else {
        load(&file, path);
    }
    *ret_file = file;
    return VQ_OK;
}

void vq_history_file_add(struct vq_history_file *file, const struct vq_history_sample *sample)
{
    uint8_t record[VQ_HISTORY_RECORD_BYTES];
    uint64_t offset;
    vq_history_add(file->history, sample, record, &offset);
    if (file->fd >= 0 && !write_at(file->fd, record, sizeof(record), offset)) {
        give_up(file, strerror(errno));
    }
}

void vq_history_file_close(struct vq_history_file *file)
{
    if (file->history == NULL) {
        return;
    }
    if (file->fd >= 0) {
        (void)close(file->fd); /* a late disk error costs some points of a chart */
    }
    vq_history_destroy(&file->history);
}
