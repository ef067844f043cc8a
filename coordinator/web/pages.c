/* Finds a file of the page by its path. */
#include "coordinator/web/pages.h"

const struct vq_web_file *vq_web_file_find(const char *path)
{
    for (uint32_t i = 0; i < vq_web_files_count; i++) {
        if (strcmp(vq_web_files[i].path, path) == 0) {
            return &vq_web_files[i];
        }
    }
    return NULL;
}
