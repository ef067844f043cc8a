/* The server's log of every call, as JSON lines; tests use it as the truth. A line is passed to the
 * kernel with write() before its answer is sent, so killing the server loses no line. The log never
 * has a key. */
#pragma once

#include "common/text/json.h"

struct vq_call_log {
    int fd;              /* -1: no log */
    struct vq_buf lines; /* not yet written */
    struct vq_json line; /* the current line, written into `lines` */
};

/* Appends to an existing file. A new file has mode 0600, because it shows which client sent what
 * and when. No path: no log. */
enum vq_status vq_call_log_open(const char *path, struct vq_call_log *ret_log,
                                struct vq_error *err) VQ_WARN_UNUSED;
void vq_call_log_close(struct vq_call_log *log);

/* Starts a line with its event, number and wall time; the caller writes more keys and values, then
 * ends it. */
struct vq_json *vq_call_log_begin(struct vq_call_log *log, const char *event, uint64_t n,
                                  int64_t unix_ms);
void vq_call_log_end(struct vq_call_log *log);

/* Writes the collected lines. VQ_IO: the file does not take them. Then the server must stop,
 * because its log would be wrong. */
enum vq_status vq_call_log_flush(struct vq_call_log *log, struct vq_error *err) VQ_WARN_UNUSED;
