/* Batches of Gemini (ai.google.dev/api/batch-api): a batch is a long-running operation. Not its
 * job: files (gemini_files.c), the lines of the results (results.c). */
#include "offline/batch/gemini.h"

#include "common/text/json.h"
#include "common/text/json_load.h"
#include "offline/batch/results.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#define INLINE_BYTES_MAX (20u * 1000 * 1000)
#define LIST_DEFAULT     50u
#define LIST_MAX         100u
#define LINE_DEPTH_MAX   64u

/* ---- the operation ---- */

static const char *state_of(enum vq_offline_batch_phase phase)
{
    static const char *const names[] = {[VQ_BATCH_VALIDATING] = "BATCH_STATE_PENDING",
                                        [VQ_BATCH_FAILED] = "BATCH_STATE_FAILED",
                                        [VQ_BATCH_RUNNING] = "BATCH_STATE_RUNNING",
                                        [VQ_BATCH_FINALIZING] = "BATCH_STATE_RUNNING",
                                        [VQ_BATCH_CANCELLING] = "BATCH_STATE_RUNNING",
                                        [VQ_BATCH_COMPLETED] = "BATCH_STATE_SUCCEEDED",
                                        [VQ_BATCH_EXPIRED] = "BATCH_STATE_EXPIRED",
                                        [VQ_BATCH_CANCELLED] = "BATCH_STATE_CANCELLED"};
    return names[phase];
}

static void put_count(struct vq_json *json, const char *name, uint64_t n)
{
    char text[24];
    (void)snprintf(text, sizeof(text), "%" PRIu64, n);
    vq_json_put_str(json, name, text);
}

static void put_date(struct vq_json *json, const char *name, int64_t unix_ms)
{
    char date[VQ_BATCH_DATE_BYTES];
    vq_offline_batch_date(unix_ms, date);
    vq_json_put_str(json, name, date);
}

/* Writes the results of a batch as member `name`. */
static void write_output(struct vq_json *json, const struct vq_offline_batch_http *http,
                         const struct vq_offline_batch *batch, const char *name)
{
    vq_json_put_object(json, name);
    if (batch->input_file[0] != '\0') {
        vq_json_put_str(json, "responsesFile", batch->output_file);
    } else {
        vq_json_put_object(json, "inlinedResponses");
        vq_json_put_array(json, "inlinedResponses");
        vq_offline_batch_results_items(http->batches, batch, json);
        vq_json_array_end(json);
        vq_json_object_end(json);
    }
    vq_json_object_end(json);
}

static void write_metadata(struct vq_json *json, const struct vq_offline_batch_http *http,
                           const struct vq_offline_batch *batch, bool has_output)
{
    char model[VQ_CHAT_MODEL_BYTES + 8];
    enum vq_offline_batch_phase phase = vq_offline_batch_phase_of(batch, http->now_ns);
    bool is_over = vq_offline_batch_phase_is_last(phase);
    uint64_t good = batch->counts[VQ_BATCH_LINE_SUCCEEDED];
    (void)snprintf(model, sizeof(model), "models/%s", batch->model);
    vq_json_put_object(json, "metadata");
    vq_json_put_str(json, "@type",
                    "type.googleapis.com/google.ai.generativelanguage.v1main.GenerateContentBatch");
    vq_json_put_str(json, "model", model);
    vq_json_put_str(json, "displayName", batch->display_name);
    if (batch->input_file[0] != '\0') {
        vq_json_put_object(json, "inputConfig");
        vq_json_put_str(json, "fileName", batch->input_file);
        vq_json_object_end(json);
    }
    if (has_output) {
        write_output(json, http, batch, "output");
    }
    put_date(json, "createTime", batch->created_ms);
    put_date(json, "updateTime", batch->created_ms);
    if (is_over) {
        put_date(json, "endTime",
                 vq_offline_batch_wall_ms(batch, vq_offline_batch_course_end_ns(&batch->course)));
    }
    vq_json_put_object(json, "batchStats");
    put_count(json, "requestCount", batch->course.lines);
    put_count(json, "successfulRequestCount", is_over ? good : 0);
    put_count(json, "failedRequestCount", is_over ? batch->course.lines - good : 0);
    put_count(json, "pendingRequestCount", is_over ? 0 : batch->course.lines);
    vq_json_object_end(json);
    vq_json_put_str(json, "state", state_of(phase));
    vq_json_put_str(json, "name", batch->id);
    vq_json_object_end(json);
}

static void write_error(struct vq_json *json, uint64_t code, const char *message)
{
    vq_json_put_object(json, "error");
    vq_json_put_u64(json, "code", code);
    vq_json_put_str(json, "message", message);
    vq_json_object_end(json);
}

static void write_operation(struct vq_json *json, const struct vq_offline_batch_http *http,
                            const struct vq_offline_batch *batch, bool is_brief)
{
    enum vq_offline_batch_phase phase = vq_offline_batch_phase_of(batch, http->now_ns);
    bool has_output = phase == VQ_BATCH_COMPLETED && !is_brief;
    vq_json_object(json);
    vq_json_put_str(json, "name", batch->id);
    write_metadata(json, http, batch, has_output);
    if (vq_offline_batch_phase_is_last(phase)) {
        vq_json_put_bool(json, "done", true);
    }
    if (has_output) {
        write_output(json, http, batch, "response");
    } else if (phase == VQ_BATCH_FAILED) {
        write_error(json, 3, batch->problem.text);
    } else if (phase == VQ_BATCH_EXPIRED) {
        write_error(json, 4, "The batch expired; it has no results.");
    } else if (phase == VQ_BATCH_CANCELLED) {
        write_error(json, 1, "The batch was cancelled; it has no results.");
    }
    vq_json_object_end(json);
}

/* ---- creating ---- */

static const json_t *either(const json_t *object, const char *camel, const char *snake)
{
    const json_t *value = json_object_get(object, camel);
    return value == NULL ? json_object_get(object, snake) : value;
}

/* Adds one request with its key, which may be missing. */
static enum vq_status add_request(struct vq_offline_batch *batch, const json_t *key,
                                  const json_t *request, uint64_t line)
{
    if (!json_is_object(request)) {
        vq_offline_batch_set_problem(batch, "invalid_request", line,
                                     "Request %" PRIu64 " has no object `request`.", line);
        return VQ_OK;
    }
    return vq_offline_batch_add_line(
        batch, vq_span(json_is_string(key) ? json_string_value(key) : "", json_string_length(key)),
        request);
}

static enum vq_status read_inline(const json_t *requests, struct vq_offline_batch *batch)
{
    for (size_t i = 0; i < json_array_size(requests); i++) {
        const json_t *item = json_array_get(requests, i);
        const json_t *key = json_object_get(json_object_get(item, "metadata"), "key");
        VQ_TRY(add_request(batch, key, json_object_get(item, "request"), i + 1));
    }
    return VQ_OK;
}

static enum vq_status read_line(struct vq_span text, uint64_t line, struct vq_offline_batch *batch)
{
    json_t *root = NULL;
    enum vq_status status =
        vq_json_exceeds(text, LINE_DEPTH_MAX, 0) ? VQ_INVALID : vq_json_load(text, 0, &root, NULL);
    if (status == VQ_OK) {
        status = add_request(batch, json_object_get(root, "key"), json_object_get(root, "request"),
                             line);
    } else if (status != VQ_NOMEM) {
        status = VQ_OK;
        vq_offline_batch_set_problem(batch, "invalid_json", line,
                                     "Line %" PRIu64 " of the file is not JSON.", line);
    }
    json_decref(root);
    return status;
}

static enum vq_status read_file(struct vq_span file, struct vq_offline_batch *batch)
{
    const char *at = file.at;
    const char *end = file.at + file.bytes;
    for (uint64_t line = 1; at < end; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop == NULL ? end : stop;
        struct vq_span text = vq_span_trim(vq_span(at, (size_t)(stop - at)));
        at = stop + 1;
        if (text.bytes > 0) {
            VQ_TRY(read_line(text, line, batch));
        }
    }
    return VQ_OK;
}

/* Reads the request into the batch. False: the reply has the problem. */
static enum vq_status read_create(struct vq_offline_batch_http *http, const json_t *root,
                                  struct vq_offline_batch *batch, struct vq_offline_reply *reply,
                                  bool *ret_good)
{
    const json_t *asked = json_object_get(root, "batch");
    const json_t *input = either(asked, "inputConfig", "input_config");
    const json_t *file_name = either(input, "fileName", "file_name");
    const json_t *requests = json_object_get(json_object_get(input, "requests"), "requests");
    const char *name = json_string_value(either(asked, "displayName", "display_name"));
    *ret_good = false;
    (void)snprintf(batch->display_name, sizeof(batch->display_name), "%s",
                   name == NULL ? "" : name);
    if (json_is_string(file_name)) {
        const struct vq_offline_batch_file *file = vq_offline_batch_files_find(
            &http->batches->files, json_string_value(file_name), http->account);
        if (file == NULL) {
            vq_offline_batch_http_refuse(reply, 404, NULL, "There is no file %.64s.",
                                         json_string_value(file_name));
            return VQ_OK;
        }
        memcpy(batch->input_file, file->id, sizeof(batch->input_file));
        VQ_TRY(read_file(vq_buf_span(&file->bytes), batch));
    } else if (http->call->body.bytes > INLINE_BYTES_MAX) {
        vq_offline_batch_http_refuse(reply, 400, NULL,
                                     "Inline requests have at most %u bytes; upload a file.",
                                     INLINE_BYTES_MAX);
        return VQ_OK;
    } else {
        VQ_TRY(read_inline(requests, batch));
    }
    if (batch->course.lines == 0 && batch->problem.code == NULL) {
        vq_offline_batch_http_refuse(reply, 400, NULL,
                                     "batch.inputConfig needs requests or the name of a file.");
        return VQ_OK;
    }
    *ret_good = true;
    return VQ_OK;
}

static bool is_over_limit(const struct vq_offline_batch_http *http,
                          const struct vq_offline_batch *batch, struct vq_offline_reply *reply)
{
    const struct vq_offline_batch_rules *rules =
        vq_offline_batch_rules_find(&http->batches->rules, batch->model);
    if ((rules->requests_max > 0 && batch->course.lines > rules->requests_max) ||
        (rules->bytes_max > 0 && batch->texts.bytes > rules->bytes_max)) {
        vq_offline_batch_http_refuse(reply, 400, NULL,
                                     "The batch has too many requests or bytes for this model.");
        return true;
    }
    if (vq_offline_batches_over_tokens(http->batches, batch)) {
        vq_offline_batch_http_refuse(reply, 429, "rate_limit_exceeded",
                                     "Resource has been exhausted: %" PRIu64
                                     " enqueued tokens for %.64s.",
                                     rules->tokens, batch->model);
        return true;
    }
    return false;
}

static enum vq_status create(struct vq_offline_batch_http *http, const char *model,
                             struct vq_offline_reply *reply)
{
    json_t *root = NULL;
    if (!http->knows_model(http->context, model)) {
        vq_offline_batch_http_refuse(reply, 404, "model_not_found",
                                     "models/%s is not found on this server.", model);
        return VQ_OK;
    }
    VQ_TRY(vq_offline_batch_http_object(http, reply, &root));
    if (root == NULL) {
        return VQ_OK;
    }
    struct vq_offline_batch *batch = vq_offline_batch_http_new(http);
    bool is_good = false;
    enum vq_status status = VQ_NOMEM;
    if (batch != NULL) {
        (void)snprintf(batch->model, sizeof(batch->model), "%s", model);
        status = read_create(http, root, batch, reply, &is_good);
    }
    json_decref(root);
    if (status == VQ_LIMIT) {
        vq_offline_batch_http_refuse(reply, 400, NULL, "The batch is too large.");
        status = VQ_OK;
        is_good = false;
    }
    if (status != VQ_OK || !is_good || is_over_limit(http, batch, reply)) {
        vq_offline_batch_free(batch);
        return status;
    }
    VQ_TRY(vq_offline_batch_http_add(http, "batches/", batch, reply, &is_good));
    if (is_good) {
        struct vq_json json;
        vq_json_init(&json, &reply->body, 0);
        write_operation(&json, http, batch, false);
    }
    return VQ_OK;
}

/* ---- the other calls ---- */

/* The newest batch first; the token of a page is the number of its first batch. Results are left
 * out. */
static void list_batches(struct vq_offline_batch_http *http, struct vq_offline_reply *reply)
{
    const struct vq_offline_batches *batches = http->batches;
    size_t limit = vq_offline_batch_http_limit(http, "pageSize", LIST_DEFAULT, LIST_MAX);
    size_t from = vq_offline_batch_http_limit(http, "pageToken", batches->n, batches->n);
    size_t next = 0;
    struct vq_json json;
    vq_json_init(&json, &reply->body, 0);
    vq_json_object(&json);
    vq_json_put_array(&json, "operations");
    for (size_t i = from; i > 0 && next == 0; i--) {
        const struct vq_offline_batch *batch = batches->list[i - 1];
        if (strcmp(batch->account, http->account) != 0 || batch->dialect != VQ_DIALECT_GEMINI ||
            !vq_offline_batch_is_shown(batch, http->now_ns)) {
            continue;
        }
        if (limit == 0) {
            next = i;
        } else {
            write_operation(&json, http, batch, true);
            limit--;
        }
    }
    vq_json_array_end(&json);
    if (next > 0) {
        put_count(&json, "nextPageToken", next);
    }
    vq_json_object_end(&json);
}

static void use_batch(struct vq_offline_batch_http *http, const char *name, bool cancels,
                      struct vq_offline_reply *reply)
{
    char id[VQ_BATCH_ID_BYTES + 8];
    (void)snprintf(id, sizeof(id), "batches/%s", name);
    struct vq_offline_batch *batch = vq_offline_batch_http_find(http, id);
    if (batch == NULL) {
        vq_offline_batch_http_refuse(reply, 404, NULL, "There is no batch %s.", id);
        return;
    }
    if (cancels) { /* if the batch is over, it does nothing, like every operation */
        vq_offline_batch_course_cancel(&batch->course, http->now_ns);
        vq_buf_puts(&reply->body, "{}");
        return;
    }
    struct vq_json json;
    vq_json_init(&json, &reply->body, 0);
    write_operation(&json, http, batch, false);
}

/* "/v1beta/models/MODEL:batchGenerateContent" */
static bool is_create(const char *path, char model[VQ_BATCH_MODEL_BYTES])
{
    static const char front[] = "/v1beta/models/";
    static const char tail[] = ":batchGenerateContent";
    size_t n = strlen(path);
    size_t rest = sizeof(front) + sizeof(tail) - 2;
    if (n <= rest || n - rest >= VQ_BATCH_MODEL_BYTES ||
        strncmp(path, front, sizeof(front) - 1) != 0 ||
        !vq_span_ends_with(vq_span_str(path), tail)) {
        return false;
    }
    (void)snprintf(model, VQ_BATCH_MODEL_BYTES, "%.*s", (int)(n - rest), path + sizeof(front) - 1);
    return true;
}

enum vq_status vq_offline_batch_gemini_take(struct vq_offline_batch_http *http,
                                            struct vq_offline_reply *reply)
{
    static const char front[] = "/v1beta/batches/";
    char model[VQ_BATCH_MODEL_BYTES];
    char id[VQ_BATCH_ID_BYTES];
    const char *path = http->call->path;
    bool is_get = vq_offline_batch_http_is(http, "GET");
    bool is_post = vq_offline_batch_http_is(http, "POST");
    if (is_post && is_create(path, model)) {
        return create(http, model, reply);
    }
    if (is_get && strcmp(path, "/v1beta/batches") == 0) {
        list_batches(http, reply);
    } else if (is_post && vq_offline_batch_path_id(path, front, ":cancel", id)) {
        use_batch(http, id, true, reply);
    } else if (is_get && vq_offline_batch_path_id(path, front, "", id)) {
        use_batch(http, id, false, reply);
    } else {
        return vq_offline_batch_gemini_files(http, reply);
    }
    return VQ_OK;
}
