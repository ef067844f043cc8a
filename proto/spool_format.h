/* The bytes of a spool, for spool.c and spool_read.c only. */
#pragma once

#include "common/base/buf.h"
#include "proto/spool.h"

#define VQ_SPOOL_FRONT_BYTES 16                   /* mark, length, check */
#define VQ_SPOOL_MARK        UINT32_C(0x71760000) /* with the type in the low byte */

/* A record in a file. */
struct vq_spool_record {
    enum vq_spool_type type;
    struct vq_id call;
    struct vq_span body;
    size_t bytes; /* of the whole record */
};

void vq_spool_put_head(struct vq_buf *out, const struct vq_id *run, const struct vq_id *worker);
/* Appends one record. A failure sets out->status. */
void vq_spool_put_record(struct vq_buf *out, enum vq_spool_type type, const struct vq_id *call,
                         struct vq_span body);
/* Reads the record at the front of `bytes`; false: incomplete, or not a record. */
bool vq_spool_get_record(struct vq_span bytes, struct vq_spool_record *ret_record);

struct vq_spool_head {
    uint32_t version;
    struct vq_id run, worker;
};

/* "DIR/NAME" into VQ_SPOOL_PATH_BYTES_MAX bytes; VQ_LIMIT. */
enum vq_status vq_spool_path(const char *dir, const char *name, char *ret_path,
                             struct vq_error *err) VQ_WARN_UNUSED;
