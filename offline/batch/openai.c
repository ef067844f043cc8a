/* The files and batches of OpenAI and Azure (platform.openai.com/docs/api-reference/batch). Not its
 * job: the lines of an input file (openai_input.c), of an output file (results.c). */
#include "offline/batch/openai.h"

#include "common/text/json.h"
#include "common/text/json_load.h"
#include "offline/batch/http.h"
#include "offline/batch/multipart.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#define LIST_DEFAULT   20u
#define LIST_MAX       100u
#define FILES_LIST_MAX 10000u
#define METADATA_MAX   16u
#define METADATA_KEY   64u
#define METADATA_VALUE 512u

/* ---- files ---- */

static void write_file(struct vq_json *json, const struct vq_offline_batch_file *file)
{
    vq_json_object(json);
    vq_json_put_str(json, "id", file->id);
    vq_json_put_str(json, "object", "file");
    vq_json_put_u64(json, "bytes", file->bytes.bytes);
    vq_json_put_i64(json, "created_at", file->created_ms / 1000);
    vq_json_put_str(json, "filename", file->name);
    vq_json_put_str(json, "purpose", file->purpose);
    vq_json_put_str(json, "status", "processed");
    vq_json_object_end(json);
}

static enum vq_status upload(struct vq_offline_batch_http *http, struct vq_offline_reply *reply)
{
    struct vq_offline_multipart parts;
    struct vq_error why = {0};
    const char *type = vq_call_header(http->call, "Content-Type");
    if (vq_offline_multipart_read(type == NULL ? "" : type, http->call->body, &parts, &why) !=
        VQ_OK) {
        vq_offline_batch_http_refuse(reply, 400, "invalid_value", "%s", why.text);
        return VQ_OK;
    }
    if (!parts.has_file || !vq_span_eq(parts.purpose, vq_span_str("batch"))) {
        vq_offline_batch_http_refuse(
            reply, 400, "invalid_value",
            "The upload needs a file and the purpose 'batch', the only one of "
            "this server.");
        return VQ_OK;
    }
    if (parts.file.bytes > VQ_BATCH_OPENAI_BYTES_MAX) {
        vq_offline_batch_http_refuse(reply, 413, "file_too_large", "A file has at most %u bytes.",
                                     VQ_BATCH_OPENAI_BYTES_MAX);
        return VQ_OK;
    }
    struct vq_buf bytes;
    vq_buf_init(&bytes, VQ_BATCH_FILE_BYTES_MAX);
    vq_buf_append(&bytes, parts.file.at, parts.file.bytes);
    if (bytes.status != VQ_OK) {
        return bytes.status;
    }
    struct vq_offline_batch_file_new as = {.dialect = http->dialect,
                                           .account = http->account,
                                           .purpose = "batch",
                                           .name = parts.file_name,
                                           .mime = "application/jsonl",
                                           .now_ms = http->now_ms};
    struct vq_offline_batch_file *file = NULL;
    enum vq_status status = vq_offline_batch_files_add(&http->batches->files, &as, &bytes, &file);
    if (status == VQ_LIMIT) {
        vq_offline_batch_http_refuse(reply, 400, "storage_limit_exceeded",
                                     "This server has no room for more files; delete some.");
        return VQ_OK;
    }
    VQ_TRY(status);
    struct vq_json json;
    vq_json_init(&json, &reply->body, 0);
    write_file(&json, file);
    return VQ_OK;
}

static void list_files(struct vq_offline_batch_http *http, struct vq_offline_reply *reply)
{
    size_t limit = vq_offline_batch_http_limit(http, "limit", FILES_LIST_MAX, FILES_LIST_MAX);
    const char *after = vq_call_query(http->call, "after");
    const char *purpose = vq_call_query(http->call, "purpose");
    bool is_on = after == NULL;
    bool has_more = false;
    struct vq_json json;
    vq_json_init(&json, &reply->body, 0);
    vq_json_object(&json);
    vq_json_put_str(&json, "object", "list");
    vq_json_put_array(&json, "data");
    for (size_t i = http->batches->files.n; i > 0; i--) {
        const struct vq_offline_batch_file *file = http->batches->files.list[i - 1];
        bool fits = strcmp(file->account, http->account) == 0 &&
                    file->dialect != VQ_DIALECT_GEMINI &&
                    (purpose == NULL || strcmp(purpose, file->purpose) == 0);
        if (fits && is_on && limit == 0) {
            has_more = true;
        } else if (fits && is_on) {
            write_file(&json, file);
            limit--;
        }
        is_on = is_on || strcmp(file->id, after) == 0;
    }
    vq_json_array_end(&json);
    vq_json_put_bool(&json, "has_more", has_more);
    vq_json_object_end(&json);
}

enum file_action {
    FILE_SHOW,
    FILE_CONTENT,
    FILE_DELETE
};

static enum vq_status use_file(struct vq_offline_batch_http *http, const char *id,
                               enum file_action action, struct vq_offline_reply *reply)
{
    struct vq_offline_batch_file *file =
        vq_offline_batch_files_find(&http->batches->files, id, http->account);
    struct vq_json json;
    vq_json_init(&json, &reply->body, 0);
    if (file == NULL) {
        vq_offline_batch_http_refuse(reply, 404, NULL, "No such File object: %s", id);
        return VQ_OK;
    }
    if (action == FILE_SHOW) {
        write_file(&json, file);
    } else if (action == FILE_CONTENT) {
        reply->content_type = "application/octet-stream";
        vq_buf_append(&reply->body, file->bytes.at, file->bytes.bytes);
    } else {
        vq_offline_batch_files_remove(&http->batches->files, file);
        vq_json_object(&json);
        vq_json_put_str(&json, "id", id);
        vq_json_put_str(&json, "object", "file");
        vq_json_put_bool(&json, "deleted", true);
        vq_json_object_end(&json);
    }
    return reply->body.status;
}

/* ---- batches ---- */

static const char *status_of(const struct vq_offline_batch *batch,
                             enum vq_offline_batch_phase phase)
{
    static const char *const names[] = {
        [VQ_BATCH_VALIDATING] = "validating", [VQ_BATCH_FAILED] = "failed",
        [VQ_BATCH_RUNNING] = "in_progress",   [VQ_BATCH_FINALIZING] = "finalizing",
        [VQ_BATCH_CANCELLING] = "cancelling", [VQ_BATCH_COMPLETED] = "completed",
        [VQ_BATCH_EXPIRED] = "expired",       [VQ_BATCH_CANCELLED] = "cancelled"};
    bool has_expired = batch->counts[VQ_BATCH_LINE_EXPIRED] > 0;
    return names[phase == VQ_BATCH_COMPLETED && has_expired ? VQ_BATCH_EXPIRED : phase];
}

static void put_at(struct vq_json *json, const struct vq_offline_batch *batch, const char *name,
                   bool happened, int64_t at_ns)
{
    if (happened) {
        vq_json_put_i64(json, name, vq_offline_batch_wall_ms(batch, at_ns) / 1000);
    } else {
        vq_json_put_null(json, name);
    }
}

static void write_times(struct vq_json *json, const struct vq_offline_batch *batch, int64_t now_ns)
{
    const struct vq_offline_batch_course *course = &batch->course;
    enum vq_offline_batch_phase phase = vq_offline_batch_phase_of(batch, now_ns);
    const char *status = status_of(batch, phase);
    int64_t stop_ns = vq_offline_batch_course_stop_ns(course);
    int64_t end_ns = vq_offline_batch_course_end_ns(course);
    bool was_cancelled = course->cancel_ns != VQ_BATCH_NEVER;
    bool ran =
        phase != VQ_BATCH_VALIDATING && phase != VQ_BATCH_FAILED && stop_ns >= course->valid_ns;
    vq_json_put_i64(json, "created_at", batch->created_ms / 1000);
    put_at(json, batch, "in_progress_at", ran, course->valid_ns);
    put_at(json, batch, "expires_at", true, course->created_ns + batch->rules.expires_ms * 1000000);
    put_at(json, batch, "finalizing_at", ran && !was_cancelled && now_ns >= stop_ns, stop_ns);
    put_at(json, batch, "completed_at", strcmp(status, "completed") == 0, end_ns);
    put_at(json, batch, "failed_at", phase == VQ_BATCH_FAILED, end_ns);
    put_at(json, batch, "expired_at", strcmp(status, "expired") == 0, end_ns);
    put_at(json, batch, "cancelling_at", was_cancelled, course->cancel_ns);
    put_at(json, batch, "cancelled_at", phase == VQ_BATCH_CANCELLED, end_ns);
}

static void write_errors(struct vq_json *json, const struct vq_offline_batch *batch,
                         enum vq_offline_batch_phase phase)
{
    if (phase != VQ_BATCH_FAILED) {
        vq_json_put_null(json, "errors");
        return;
    }
    vq_json_put_object(json, "errors");
    vq_json_put_str(json, "object", "list");
    vq_json_put_array(json, "data");
    vq_json_object(json);
    vq_json_put_str(json, "code", batch->problem.code);
    vq_json_put_str(json, "message", batch->problem.text);
    vq_json_put_null(json, "param");
    if (batch->problem.line > 0) {
        vq_json_put_u64(json, "line", batch->problem.line);
    } else {
        vq_json_put_null(json, "line");
    }
    vq_json_object_end(json);
    vq_json_array_end(json);
    vq_json_object_end(json);
}

static void write_batch(struct vq_json *json, const struct vq_offline_batch *batch, int64_t now_ns)
{
    enum vq_offline_batch_phase phase = vq_offline_batch_phase_of(batch, now_ns);
    uint64_t good = batch->counts[VQ_BATCH_LINE_SUCCEEDED];
    vq_json_object(json);
    vq_json_put_str(json, "id", batch->id);
    vq_json_put_str(json, "object", "batch");
    vq_json_put_str(json, "endpoint", batch->endpoint);
    vq_json_put_str(json, "model", batch->model[0] == '\0' ? NULL : batch->model);
    write_errors(json, batch, phase);
    vq_json_put_str(json, "input_file_id", batch->input_file);
    vq_json_put_str(json, "completion_window", "24h");
    vq_json_put_str(json, "status", status_of(batch, phase));
    vq_json_put_str(json, "output_file_id",
                    batch->output_file[0] == '\0' ? NULL : batch->output_file);
    vq_json_put_str(json, "error_file_id", batch->error_file[0] == '\0' ? NULL : batch->error_file);
    write_times(json, batch, now_ns);
    vq_json_put_object(json, "request_counts");
    vq_json_put_u64(json, "total", phase == VQ_BATCH_FAILED ? 0 : batch->course.lines);
    vq_json_put_u64(json, "completed", good);
    vq_json_put_u64(json, "failed",
                    batch->counts[VQ_BATCH_LINE_ERRORED] + batch->counts[VQ_BATCH_LINE_EXPIRED]);
    vq_json_object_end(json);
    if (batch->is_over && !batch->course.is_refused) {
        vq_json_put_object(json, "usage");
        vq_json_put_u64(json, "input_tokens", batch->prompt_tokens);
        vq_json_put_u64(json, "output_tokens", batch->completion_tokens);
        vq_json_put_u64(json, "total_tokens", batch->prompt_tokens + batch->completion_tokens);
        vq_json_put_object(json, "input_tokens_details");
        vq_json_put_u64(json, "cached_tokens", 0);
        vq_json_object_end(json);
        vq_json_put_object(json, "output_tokens_details");
        vq_json_put_u64(json, "reasoning_tokens", 0);
        vq_json_object_end(json);
        vq_json_object_end(json);
    }
    vq_json_key(json, "metadata");
    if (batch->metadata.bytes > 0) {
        vq_json_raw(json, vq_buf_span(&batch->metadata));
    } else {
        vq_json_null(json);
    }
    vq_json_object_end(json);
}

static bool metadata_fits(const json_t *metadata)
{
    const char *key = NULL;
    json_t *value = NULL;
    if (metadata == NULL || json_is_null(metadata)) {
        return true;
    }
    json_object_foreach((json_t *)(uintptr_t)metadata, key, value)
    {
        if (strlen(key) > METADATA_KEY || !json_is_string(value) ||
            json_string_length(value) > METADATA_VALUE) {
            return false;
        }
    }
    return json_is_object(metadata) && json_object_size(metadata) <= METADATA_MAX;
}

/* The input file of a request to create a batch; NULL: the reply has the problem. */
static const struct vq_offline_batch_file *read_create(struct vq_offline_batch_http *http,
                                                       const json_t *root,
                                                       struct vq_offline_batch *batch,
                                                       struct vq_offline_reply *reply)
{
    static const char *const endpoints[] = {"/v1/chat/completions", "/v1/embeddings",
                                            "/chat/completions", "/embeddings"};
    const char *endpoint = json_string_value(json_object_get(root, "endpoint"));
    const char *window = json_string_value(json_object_get(root, "completion_window"));
    const char *id = json_string_value(json_object_get(root, "input_file_id"));
    bool known = false;
    size_t n = http->dialect == VQ_DIALECT_AZURE ? VQ_COUNT(endpoints) : 2;
    for (size_t i = 0; endpoint != NULL && i < n; i++) {
        known = known || strcmp(endpoints[i], endpoint) == 0;
    }
    if (!known) {
        vq_offline_batch_http_refuse(reply, 400, "invalid_value",
                                     "endpoint must be /v1/chat/completions or /v1/embeddings.");
        return NULL;
    }
    if (window == NULL || strcmp(window, "24h") != 0) {
        vq_offline_batch_http_refuse(reply, 400, "invalid_value", "completion_window must be 24h.");
        return NULL;
    }
    if (!metadata_fits(json_object_get(root, "metadata"))) {
        vq_offline_batch_http_refuse(
            reply, 400, "invalid_value",
            "metadata has at most %u keys of %u bytes, and texts of %u bytes.", METADATA_MAX,
            METADATA_KEY, METADATA_VALUE);
        return NULL;
    }
    const struct vq_offline_batch_file *file =
        id == NULL ? NULL : vq_offline_batch_files_find(&http->batches->files, id, http->account);
    if (file == NULL || strcmp(file->purpose, "batch") != 0) {
        vq_offline_batch_http_refuse(reply, 400, "invalid_value", "There is no batch file %.64s.",
                                     id == NULL ? "without an id" : id);
        return NULL;
    }
    (void)snprintf(batch->endpoint, sizeof(batch->endpoint), "%s", endpoint);
    memcpy(batch->input_file, file->id, sizeof(batch->input_file));
    return file;
}

/* Checks the batch by the limits and the models of this server. */
static void validate(const struct vq_offline_batch_http *http, struct vq_offline_batch *batch)
{
    const struct vq_offline_batch_rules *rules =
        vq_offline_batch_rules_find(&http->batches->rules, batch->model);
    if (batch->model[0] != '\0' && !http->knows_model(http->context, batch->model)) {
        vq_offline_batch_set_problem(
            batch, "model_not_found", 1,
            "The provided model '%.64s' is not supported by the Batch API.", batch->model);
    }
    if (rules->requests_max > 0 && batch->course.lines > rules->requests_max) {
        vq_offline_batch_set_problem(batch, "too_many_tasks", 0,
                                     "A batch for this model has at most %" PRIu64 " requests.",
                                     rules->requests_max);
    }
    if (rules->bytes_max > 0 && batch->texts.bytes > rules->bytes_max) {
        vq_offline_batch_set_problem(batch, "file_too_large", 0,
                                     "A batch for this model has at most %" PRIu64 " bytes.",
                                     rules->bytes_max);
    }
    if (vq_offline_batches_over_tokens(http->batches, batch)) {
        vq_offline_batch_set_problem(
            batch, "token_limit_exceeded", 0,
            "Enqueued token limit reached for %.64s in organization org-%s. Limit: "
            "%" PRIu64 " enqueued tokens. Please try again once some in_progress "
            "batches have been completed.",
            batch->model, batch->account, rules->tokens);
    }
}

static enum vq_status fill(struct vq_offline_batch_http *http, const json_t *root,
                           struct vq_offline_batch *batch, struct vq_offline_reply *reply,
                           bool *ret_good)
{
    const struct vq_offline_batch_file *file = read_create(http, root, batch, reply);
    *ret_good = file != NULL;
    if (file == NULL) {
        return VQ_OK;
    }
    const json_t *metadata = json_object_get(root, "metadata");
    if (json_is_object(metadata)) {
        VQ_TRY(vq_json_dump(metadata, &batch->metadata));
    }
    enum vq_status status = vq_offline_batch_openai_read(vq_buf_span(&file->bytes), batch);
    if (status == VQ_LIMIT) {
        vq_offline_batch_set_problem(batch, "file_too_large", 0, "The input file is too large.");
        status = VQ_OK;
    }
    validate(http, batch);
    return status;
}

static enum vq_status create(struct vq_offline_batch_http *http, struct vq_offline_reply *reply)
{
    json_t *root = NULL;
    VQ_TRY(vq_offline_batch_http_object(http, reply, &root));
    if (root == NULL) {
        return VQ_OK;
    }
    struct vq_offline_batch *batch = vq_offline_batch_http_new(http);
    bool is_good = false;
    enum vq_status status = batch == NULL ? VQ_NOMEM : fill(http, root, batch, reply, &is_good);
    json_decref(root);
    if (status != VQ_OK || !is_good) {
        vq_offline_batch_free(batch);
        return status;
    }
    VQ_TRY(vq_offline_batch_http_add(http, "batch_", batch, reply, &is_good));
    if (is_good) {
        struct vq_json json;
        vq_json_init(&json, &reply->body, 0);
        write_batch(&json, batch, http->now_ns);
    }
    return VQ_OK;
}

static void list_batches(struct vq_offline_batch_http *http, struct vq_offline_reply *reply)
{
    const struct vq_offline_batches *batches = http->batches;
    size_t limit = vq_offline_batch_http_limit(http, "limit", LIST_DEFAULT, LIST_MAX);
    const char *after = vq_call_query(http->call, "after");
    const struct vq_offline_batch *first = NULL;
    const struct vq_offline_batch *last = NULL;
    bool is_on = after == NULL;
    bool has_more = false;
    struct vq_json json;
    vq_json_init(&json, &reply->body, 0);
    vq_json_object(&json);
    vq_json_put_str(&json, "object", "list");
    vq_json_put_array(&json, "data");
    for (size_t i = batches->n; i > 0; i--) {
        const struct vq_offline_batch *batch = batches->list[i - 1];
        bool fits = strcmp(batch->account, http->account) == 0 && batch->dialect == http->dialect &&
                    vq_offline_batch_is_shown(batch, http->now_ns);
        if (fits && is_on && limit == 0) {
            has_more = true;
        } else if (fits && is_on) {
            write_batch(&json, batch, http->now_ns);
            first = first == NULL ? batch : first;
            last = batch;
            limit--;
        }
        is_on = is_on || strcmp(batch->id, after) == 0;
    }
    vq_json_array_end(&json);
    vq_json_put_str(&json, "first_id", first == NULL ? NULL : first->id);
    vq_json_put_str(&json, "last_id", last == NULL ? NULL : last->id);
    vq_json_put_bool(&json, "has_more", has_more);
    vq_json_object_end(&json);
}

static void use_batch(struct vq_offline_batch_http *http, const char *id, bool cancels,
                      struct vq_offline_reply *reply)
{
    struct vq_offline_batch *batch = vq_offline_batch_http_find(http, id);
    if (batch == NULL) {
        vq_offline_batch_http_refuse(reply, 404, NULL, "No batch found with id '%s'.", id);
        return;
    }
    if (cancels && vq_offline_batch_phase_is_last(vq_offline_batch_phase_of(batch, http->now_ns))) {
        vq_offline_batch_http_refuse(
            reply, 409, NULL, "Cannot cancel a batch with status '%s'.",
            status_of(batch, vq_offline_batch_phase_of(batch, http->now_ns)));
        return;
    }
    if (cancels) {
        vq_offline_batch_course_cancel(&batch->course, http->now_ns);
    }
    struct vq_json json;
    vq_json_init(&json, &reply->body, 0);
    write_batch(&json, batch, http->now_ns);
}

enum vq_status vq_offline_batch_openai_take(struct vq_offline_batch_http *http,
                                            struct vq_offline_reply *reply)
{
    static const char azure[] = "/openai";
    char id[VQ_BATCH_ID_BYTES];
    const char *path = http->call->path;
    path += strncmp(path, azure, sizeof(azure) - 1) == 0 ? sizeof(azure) - 1 : 0;
    path += strncmp(path, "/v1/", 4) == 0 ? 3 : 0;
    bool is_get = vq_offline_batch_http_is(http, "GET");
    bool is_post = vq_offline_batch_http_is(http, "POST");
    if (is_post && strcmp(path, "/files") == 0) {
        return upload(http, reply);
    }
    if (is_get && strcmp(path, "/files") == 0) {
        list_files(http, reply);
        return VQ_OK;
    }
    if (is_get && vq_offline_batch_path_id(path, "/files/", "/content", id)) {
        return use_file(http, id, FILE_CONTENT, reply);
    }
    if (is_get && vq_offline_batch_path_id(path, "/files/", "", id)) {
        return use_file(http, id, FILE_SHOW, reply);
    }
    if (vq_offline_batch_http_is(http, "DELETE") &&
        vq_offline_batch_path_id(path, "/files/", "", id)) {
        return use_file(http, id, FILE_DELETE, reply);
    }
    if (is_post && strcmp(path, "/batches") == 0) {
        return create(http, reply);
    }
    if (is_get && strcmp(path, "/batches") == 0) {
        list_batches(http, reply);
    } else if (is_post && vq_offline_batch_path_id(path, "/batches/", "/cancel", id)) {
        use_batch(http, id, true, reply);
    } else if (is_get && vq_offline_batch_path_id(path, "/batches/", "", id)) {
        use_batch(http, id, false, reply);
    } else {
        vq_offline_batch_http_refuse(reply, 404, "unknown_url",
                                     "There is nothing at this path or method.");
    }
    return VQ_OK;
}
