/* Published data of others, for tests that read it: it is not part of this repository. Without the
 * folder (VQ_SHARED, else ../shared beside the checkout) such a test skips and says so, and with
 * VQ_REQUIRE_SHARED=1 that is a failure. After cmocka. */
#pragma once

#include "common/text/file.h"
#include "common/text/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FILE_MAX (1u << 24)

static char folder[512];

static struct vq_table *table_of(const char *file)
{
    char path[1024];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, file);
    struct vq_buf bytes;
    struct vq_error err;
    struct vq_table *table = NULL;
    if (vq_file_read(path, FILE_MAX, &bytes, &err) != VQ_OK ||
        vq_table_parse(vq_buf_span(&bytes), VQ_TABLE_CSV, file, &table, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    vq_buf_free(&bytes);
    return table;
}

/* Whether the folder is there; else *ret_code is what main returns. */
static bool published(const char *name, int *ret_code)
{
    const char *shared = getenv("VQ_SHARED");
    (void)snprintf(folder, sizeof(folder), "%s/data/%s",
                   shared != NULL ? shared : VQ_SOURCE_DIR "/../shared", name);
    if (access(folder, R_OK) == 0) {
        return true;
    }
    const char *required = getenv("VQ_REQUIRE_SHARED");
    fprintf(stderr, "SKIP: no published data at %s; nothing was tested here\n", folder);
    *ret_code = required != NULL && required[0] == '1';
    return false;
}
