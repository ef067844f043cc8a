/* The server's own record of every call, as JSON lines: what tests take for the truth. A line is
 * handed to the kernel with write() before its answer leaves, so that killing the server loses
 * none. Never holds a key. */
#pragma once

#include "common/text/json.h"

struct vq_call_log {
    int fd;              /* -1: no log is kept */
    struct vq_buf lines; /* not yet written */
    struct vq_json line; /* the one that is being made, into `lines` */
};

/* Appends to an existing file; created 0600, because it shows who asked what and when. No path: no
 * log. */
enum vq_status vq_call_log_open(const char *path, struct vq_call_log *ret_log,
                                struct vq_error *err) VQ_WARN_UNUSED;
void vq_call_log_close(struct vq_call_log *log);

/* Begins a line with its event, number and wall time; the caller writes more keys and values, then
 * ends it. */
struct vq_json *vq_call_log_begin(struct vq_call_log *log, const char *event, uint64_t n,
                                  int64_t unix_ms);
void vq_call_log_end(struct vq_call_log *log);

/* Writes what was gathered. VQ_IO when the file does not take it: the server must stop, its log
 * would lie. */
enum vq_status vq_call_log_flush(struct vq_call_log *log, struct vq_error *err) VQ_WARN_UNUSED;
