/* Reads a body of multipart/form-data: the parts of an upload. Pure. */
#pragma once

#include "common/base/buf.h"

struct vq_offline_multipart {
    struct vq_span purpose;
    struct vq_span file;
    struct vq_span file_name;
    bool has_file;
};

/* All spans point into `body`. VQ_INVALID with a sentence for the client. */
enum vq_status vq_offline_multipart_read(const char *content_type, struct vq_span body,
                                         struct vq_offline_multipart *ret_parts,
                                         struct vq_error *err) VQ_WARN_UNUSED;
