/* One {"custom_id", "method", "url", "body"} per line. The first problem of the file is stored: the
 * batch fails with it when its validation ends. Not its job: limits of a batch (openai.c). */
#include "common/text/json.h"
#include "common/text/json_load.h"
#include "offline/batch/openai.h"

#include <jansson.h>
#include <stdio.h>

#define LINE_DEPTH_MAX 64

static bool same_endpoint(const char *endpoint, const char *url)
{
    size_t skip = strncmp(endpoint, "/v1/", 4) == 0 ? 3 : 0;
    return strcmp(endpoint, url) == 0 || strcmp(endpoint + skip, url) == 0;
}

static enum vq_status read_object(const json_t *root, uint64_t line, struct vq_offline_batch *batch)
{
    const json_t *id = json_object_get(root, "custom_id");
    const char *method = json_string_value(json_object_get(root, "method"));
    const char *url = json_string_value(json_object_get(root, "url"));
    const json_t *body = json_object_get(root, "body");
    const char *model = json_string_value(json_object_get(body, "model"));
    if (!json_is_string(id) || method == NULL || url == NULL || !json_is_object(body)) {
        vq_offline_batch_set_problem(batch, "missing_required_parameter", line,
                                     "A line needs custom_id, method, url and body.");
        return VQ_OK;
    }
    if (json_string_length(id) == 0 || json_string_length(id) > VQ_BATCH_CUSTOM_ID_BYTES) {
        vq_offline_batch_set_problem(batch, "invalid_custom_id", line,
                                     "custom_id must have 1 to %u bytes.",
                                     VQ_BATCH_CUSTOM_ID_BYTES);
        return VQ_OK;
    }
    if (strcmp(method, "POST") != 0 || !same_endpoint(batch->endpoint, url)) {
        vq_offline_batch_set_problem(
            batch, "invalid_url", line,
            "The url and method of a line must be POST and the endpoint of the "
            "batch, %s.",
            batch->endpoint);
        return VQ_OK;
    }
    if (model == NULL || strlen(model) >= sizeof(batch->model)) {
        vq_offline_batch_set_problem(batch, "model_not_found", line, "The body names no model.");
        return VQ_OK;
    }
    if (batch->model[0] == '\0') {
        (void)snprintf(batch->model, sizeof(batch->model), "%s", model);
    } else if (strcmp(batch->model, model) != 0) {
        vq_offline_batch_set_problem(
            batch, "mismatched_model", line,
            "The requests of a batch must have one model: %.64s is not %.64s.", model,
            batch->model);
        return VQ_OK;
    }
    return vq_offline_batch_add_line(batch, vq_span(json_string_value(id), json_string_length(id)),
                                     body);
}

static enum vq_status read_line(struct vq_span text, uint64_t line, struct vq_offline_batch *batch)
{
    json_t *root = NULL;
    enum vq_status status =
        vq_json_exceeds(text, LINE_DEPTH_MAX, 0) ? VQ_INVALID : vq_json_load(text, 0, &root, NULL);
    if (status == VQ_OK && json_is_object(root)) {
        status = read_object(root, line, batch);
    } else if (status != VQ_NOMEM) {
        status = VQ_OK;
        vq_offline_batch_set_problem(batch, "invalid_json_line", line,
                                     "This line is not parseable as valid JSON.");
    }
    json_decref(root);
    return status;
}

enum vq_status vq_offline_batch_openai_read(struct vq_span file, struct vq_offline_batch *batch)
{
    const char *at = file.at;
    const char *end = file.at + file.bytes;
    uint64_t line = 0;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop == NULL ? end : stop;
        struct vq_span text = vq_span_trim(vq_span(at, (size_t)(stop - at)));
        line++;
        at = stop + 1;
        if (text.bytes == 0) {
            continue;
        }
        if (batch->course.lines == VQ_BATCH_OPENAI_REQUESTS_MAX) {
            vq_offline_batch_set_problem(batch, "too_many_tasks", line,
                                         "A batch has at most %u requests.",
                                         VQ_BATCH_OPENAI_REQUESTS_MAX);
            break;
        }
        VQ_TRY(read_line(text, line, batch));
    }
    if (batch->course.lines == 0) {
        vq_offline_batch_set_problem(batch, "empty_file", 0, "The input file has no requests.");
    }
    uint64_t twice = 0;
    VQ_TRY(vq_offline_batch_find_twice(batch, &twice));
    if (twice > 0) {
        vq_offline_batch_set_problem(batch, "duplicate_custom_id", twice,
                                     "The custom_id of this request is used by an earlier one.");
    }
    return VQ_OK;
}
