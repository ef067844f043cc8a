/* JSON lines to one file descriptor. Invariant: only whole lines are written, in order, each in one
 * write() as far as the kernel takes it. Not its job: the contents of a line (service.c). */
#include "offline/call_log.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define LINES_BYTES_MAX (256u << 20) /* the lines of a large batch that expires */

enum vq_status vq_call_log_open(const char *path, struct vq_call_log *ret_log, struct vq_error *err)
{
    int fd = -1;
    if (path != NULL) {
        fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (fd < 0) {
            return vq_fail(err, VQ_INVALID, "cannot open the log %s: %s", path, strerror(errno));
        }
    }
    ret_log->fd = fd;
    vq_buf_init(&ret_log->lines, LINES_BYTES_MAX);
    return VQ_OK;
}

void vq_call_log_close(struct vq_call_log *log)
{
    if (log->fd >= 0) {
        (void)close(log->fd); /* every line is already written */
        log->fd = -1;
    }
    vq_buf_free(&log->lines);
}

struct vq_json *vq_call_log_begin(struct vq_call_log *log, const char *event, uint64_t n,
                                  int64_t unix_ms)
{
    struct vq_json *line = &log->line;
    vq_json_open(line, &log->lines, 0);
    vq_json_put_str(line, "event", event);
    vq_json_put_u64(line, "n", n);
    vq_json_put_i64(line, "unix_ms", unix_ms);
    return line;
}

void vq_call_log_end(struct vq_call_log *log)
{
    vq_json_close(&log->line);
    if (log->fd < 0) {
        vq_buf_clear(&log->lines);
    }
}

enum vq_status vq_call_log_flush(struct vq_call_log *log, struct vq_error *err)
{
    if (log->lines.status != VQ_OK) {
        return vq_fail(err, log->lines.status, "the call log has no room for its lines");
    }
    size_t done = 0;
    while (done < log->lines.bytes) {
        ssize_t n = write(log->fd, log->lines.at + done, log->lines.bytes - done);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return vq_fail(err, VQ_IO, "cannot write the call log: %s", strerror(errno));
        }
        done += (size_t)n;
    }
    vq_buf_clear(&log->lines);
    return VQ_OK;
}
