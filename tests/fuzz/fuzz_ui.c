/* What the page of runs reads: the path of a request, status.json, results.json and endpoint.json
 * of any bytes. A name that is let through stays inside the runs folder, a row is JSON, and a
 * sentence is one line. */
#include "cli/ui/entry.h"
#include "cli/ui/headline.h"
#include "cli/ui/path.h"

#include <jansson.h>
#include <stdlib.h>

#define OUT_BYTES_MAX (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_path(const char *text)
{
    struct vq_ui_path path;
    if (vq_ui_path_parse("/api/v1/runs/", text, &path)) {
        VQ_ASSERT(path.name[0] != '.' && strchr(path.name, '/') == NULL);
        VQ_ASSERT(strchr(path.rest, '.') == NULL && path.rest[0] != '/');
    }
}

static void check_row(struct vq_span text)
{
    json_t *status = NULL;
    struct vq_buf out;
    struct vq_json j;
    enum vq_status read = vq_ui_status_load(text, &status);
    for (int active = 0; active < 2; active++) {
        struct vq_ui_facts facts = {.name = "r",
                                    .is_readable = true,
                                    .is_active = active != 0,
                                    .status = read == VQ_OK ? status : NULL};
        vq_buf_init(&out, OUT_BYTES_MAX);
        vq_json_init(&j, &out, 0);
        vq_ui_entry(&facts, &j);
        json_t *row = out.status == VQ_OK ? json_loadb(out.at, out.bytes, 0, NULL) : NULL;
        VQ_ASSERT(out.status != VQ_OK || json_is_object(row));
        json_decref(row);
        vq_buf_free(&out);
    }
    json_decref(status);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vq_span bytes = vq_span((const char *)data, size);
    char *text = malloc(size + 1);
    VQ_ASSERT(text != NULL);
    if (size > 0) {
        memcpy(text, data, size);
    }
    text[size] = '\0';
    check_path(text);
    free(text);
    check_row(bytes);
    struct vq_buf out;
    vq_buf_init(&out, OUT_BYTES_MAX);
    (void)!vq_ui_headline(bytes, &out);
    VQ_ASSERT(out.at == NULL || strchr(out.at, '\n') == NULL);
    vq_buf_free(&out);
    struct vq_endpoint endpoint;
    if (vq_endpoint_parse(bytes, &endpoint) == VQ_OK) {
        VQ_ASSERT(strlen(endpoint.token) < sizeof(endpoint.token) && endpoint.pid > 0);
    }
    return 0;
}
