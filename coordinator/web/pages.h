/* The files of the page, as they are in coordinator/web/pages and common/pages, in the program. */
#pragma once

#include "common/base/buf.h"

struct vq_web_file {
    const char *path; /* "/pages/run.css"; the page itself is "/" */
    const char *type; /* of its content */
    struct vq_span body;
};

/* Made by coordinator/web/embed.cmake. */
extern const struct vq_web_file vq_web_files[];
extern const uint32_t vq_web_files_count;

/* NULL: there is no such file. */
const struct vq_web_file *vq_web_file_find(const char *path);
