/* Batches of the OpenAI dialect, and of Azure, whose addresses differ. A file with one call per
 * line is uploaded (purpose "batch"), then POST /batches names it. Results are an output file and
 * an error file, both in any order. The batch's name is the value of metadata "vibeq", which the
 * list shows.
 *
 *   OpenAI                  BASE/files, BASE/batches; lines for /v1/chat/completions
 *   Azure with a version    BASE/openai/files?api-version=V, ...; lines for /chat/completions
 *   Azure .../openai/v1     as OpenAI
 *
 * Not its job: replies (openai.c reads them). */
#include "worker/provider/batch_read.h"
#include "worker/provider/url.h"

#include "common/text/json.h"

#include <stdio.h>

#define METADATA_KEY      "vibeq"
#define COMPLETION_WINDOW "24h"
#define CALLS_MAX         50000u
#define DOCUMENT_BYTES    UINT64_C(200000000) /* 200 MB, taken as decimal */
#define ENDPOINT          "/v1/chat/completions"
#define ENDPOINT_AZURE    "/chat/completions" /* with an api-version */
#define STATUS_ERROR      500                 /* of an error line without a status */
#define LIMITED_CODE      "token_limit_exceeded"

/* ---- addresses ---- */

static bool azure_is_v1(const struct vq_batch_at *at)
{
    return vq_span_ends_with(vq_url_base(at->base_url), "/openai/v1");
}

/* Files and batches belong to the resource: a deployment in the base URL is left out. */
static enum vq_status azure_to(const struct vq_batch_at *at, const char *front, const char *id,
                               const char *back, struct vq_batch_request *request)
{
    struct vq_span base = vq_url_base(at->base_url);
    const char *query = at->base_url + strcspn(at->base_url, "?#");
    const char *deployments = memmem(base.at, base.bytes, "/openai/deployments/", 20);
    size_t bytes = deployments == NULL ? base.bytes : (size_t)(deployments - base.at);
    bool whole = azure_is_v1(at) || vq_span_ends_with(vq_span(base.at, bytes), "/openai");
    struct vq_buf url;
    vq_buf_init(&url, VQ_BATCH_URL_BYTES_MAX);
    vq_buf_append(&url, base.at, bytes);
    vq_buf_puts(&url, whole ? "" : "/openai");
    vq_buf_puts(&url, query);
    enum vq_status status = url.status;
    if (status == VQ_OK) {
        status = vq_batch_request_id(url.at, front, id, back, request);
    }
    vq_buf_free(&url);
    return status;
}

static enum vq_status to(const struct vq_batch_at *at, const char *front, const char *id,
                         const char *back, struct vq_batch_request *request)
{
    return at->dialect == &vq_batch_azure
               ? azure_to(at, front, id, back, request)
               : vq_batch_request_id(at->base_url, front, id, back, request);
}

static const char *endpoint_of(const struct vq_batch_at *at)
{
    return at->dialect == &vq_batch_azure && !azure_is_v1(at) ? ENDPOINT_AZURE : ENDPOINT;
}

/* ---- requests ---- */

static void add(const struct vq_batch_at *at, const char *call_id, struct vq_span body,
                struct vq_buf *document)
{
    struct vq_json json;
    vq_json_init(&json, document, 0);
    vq_json_object(&json);
    vq_json_put_str(&json, "custom_id", call_id);
    vq_json_put_str(&json, "method", "POST");
    vq_json_put_str(&json, "url", endpoint_of(at));
    vq_json_key(&json, "body");
    vq_json_raw(&json, body);
    vq_json_object_end(&json);
}

/* multipart/form-data. The boundary never occurs in the document: a call's text is JSON, in which
 * line breaks are escaped, and each of our lines begins with "{". */
static enum vq_status upload(const struct vq_batch_at *at, const char *name, const char *session,
                             struct vq_span document, struct vq_batch_request *request)
{
    (void)session;
    VQ_ASSERT(vq_batch_name_ok(name));
    VQ_TRY(to(at, "/files", "", "", request));
    request->method = VQ_BATCH_POST;
    request->document = document;
    (void)snprintf(request->content_type, sizeof(request->content_type),
                   "multipart/form-data; boundary=vibeq-batch-document");
    vq_buf_puts(&request->head, "--vibeq-batch-document\r\n"
                                "Content-Disposition: form-data; name=\"purpose\"\r\n\r\n"
                                "batch\r\n"
                                "--vibeq-batch-document\r\n");
    vq_buf_printf(&request->head,
                  "Content-Disposition: form-data; name=\"file\"; filename=\"%s.jsonl\"\r\n"
                  "Content-Type: application/jsonl\r\n\r\n",
                  name);
    vq_buf_puts(&request->tail, "\n\r\n--vibeq-batch-document--\r\n");
    return vq_batch_request_status(request);
}

static enum vq_status create(const struct vq_batch_at *at, const char *name, const char *file,
                             struct vq_span document, struct vq_batch_request *request)
{
    (void)document;
    VQ_ASSERT(vq_batch_name_ok(name));
    VQ_TRY(to(at, "/batches", "", "", request));
    request->method = VQ_BATCH_POST;
    (void)snprintf(request->content_type, sizeof(request->content_type), "application/json");
    struct vq_json json;
    vq_json_init(&json, &request->head, 0);
    vq_json_object(&json);
    vq_json_put_str(&json, "input_file_id", file);
    vq_json_put_str(&json, "endpoint", endpoint_of(at));
    vq_json_put_str(&json, "completion_window", COMPLETION_WINDOW);
    vq_json_put_object(&json, "metadata");
    vq_json_put_str(&json, METADATA_KEY, name);
    vq_json_object_end(&json);
    vq_json_object_end(&json);
    return vq_batch_request_status(request);
}

static enum vq_status get(const struct vq_batch_at *at, const char *id,
                          struct vq_batch_request *request)
{
    return to(at, "/batches/", id, "", request);
}

static enum vq_status list(const struct vq_batch_at *at, const char *cursor,
                           struct vq_batch_request *request)
{
    char front[64];
    (void)snprintf(front, sizeof(front), "/batches?limit=%u%s", VQ_BATCH_PAGE,
                   cursor[0] == '\0' ? "" : "&after=");
    return to(at, front, cursor, "", request);
}

static enum vq_status cancel(const struct vq_batch_at *at, const char *id,
                             struct vq_batch_request *request)
{
    VQ_TRY(to(at, "/batches/", id, "/cancel", request));
    request->method = VQ_BATCH_POST;
    return VQ_OK;
}

static enum vq_status results(const struct vq_batch_at *at, const struct vq_batch_view *view,
                              enum vq_batch_part part, struct vq_batch_request *request)
{
    const char *file = part == VQ_BATCH_OUTPUT ? view->output_file : view->error_file;
    return file[0] == '\0' ? VQ_NOT_FOUND : to(at, "/files/", file, "/content", request);
}

static enum vq_status drop(const struct vq_batch_at *at, const char *file,
                           struct vq_batch_request *request)
{
    VQ_TRY(to(at, "/files/", file, "", request));
    request->method = VQ_BATCH_DELETE;
    return VQ_OK;
}

/* ---- responses ---- */

static enum vq_status read_upload(struct vq_span body, char ret_file[VQ_BATCH_ID_BYTES_MAX])
{
    json_t *root = NULL;
    VQ_TRY(vq_body_load(body, VQ_BODY_VALUES_MAX, NULL, &root));
    vq_batch_take_id(root, "id", ret_file, VQ_BATCH_ID_BYTES_MAX);
    json_decref(root);
    return ret_file[0] == '\0' ? VQ_INVALID : VQ_OK;
}

/* The first error of a refused batch, with its line. */
static void take_errors(const json_t *object, struct vq_batch_view *view)
{
    const json_t *error = json_array_get(vq_body_get(vq_body_get(object, "errors"), "data"), 0);
    vq_read_text(vq_body_get(error, "message"), view->error, sizeof(view->error));
    view->is_limited = vq_span_eq(vq_body_get_string(error, "code"), vq_span_str(LIMITED_CODE));
    int64_t line = vq_body_get_count(error, "line", -1);
    size_t n = strlen(view->error);
    if (line >= 0 && n > 0) {
        (void)snprintf(view->error + n, sizeof(view->error) - n, " (line %lld)", (long long)line);
    }
}

static void take_view(const json_t *object, struct vq_batch_view *view)
{
    static const struct vq_batch_word words[] = {
        {"validating", VQ_BATCH_VALIDATING}, {"in_progress", VQ_BATCH_RUNNING},
        {"finalizing", VQ_BATCH_FINISHING},  {"completed", VQ_BATCH_ENDED},
        {"failed", VQ_BATCH_FAILED},         {"expired", VQ_BATCH_EXPIRED},
        {"cancelling", VQ_BATCH_CANCELLING}, {"cancelled", VQ_BATCH_CANCELLED},
    };
    vq_batch_take_state(object, "status", words, VQ_COUNT(words), view);
    vq_batch_take_id(object, "id", view->id, sizeof(view->id));
    vq_batch_take_name(vq_body_get(object, "metadata"), METADATA_KEY, view);
    const json_t *counts = vq_body_get(object, "request_counts");
    view->total = vq_batch_take_count(counts, "total");
    view->succeeded = vq_batch_take_count(counts, "completed");
    view->errored = vq_batch_take_count(counts, "failed");
    vq_batch_take_id(object, "input_file_id", view->input_file, sizeof(view->input_file));
    vq_batch_take_id(object, "output_file_id", view->output_file, sizeof(view->output_file));
    vq_batch_take_id(object, "error_file_id", view->error_file, sizeof(view->error_file));
    view->has_results = view->output_file[0] != '\0' || view->error_file[0] != '\0';
    view->created_unix_s = vq_body_get_count(object, "created_at", -1);
    view->expires_unix_s = vq_body_get_count(object, "expires_at", -1);
    take_errors(object, view);
}

/* Some servers send `last_id`; the id of the last batch means the same. */
static void take_next(const json_t *root, struct vq_batch_page *page)
{
    if (json_is_true(vq_body_get(root, "has_more"))) {
        const json_t *items = vq_body_get(root, "data");
        const json_t *last = json_array_get(items, json_array_size(items) - 1);
        vq_batch_take_id(root, "last_id", page->next, sizeof(page->next));
        if (page->next[0] == '\0') {
            vq_batch_take_id(last, "id", page->next, sizeof(page->next));
        }
    }
}

/* {"custom_id","response":{"status_code","body"},"error":null or {"code","message"}} */
static enum vq_status take_line(const json_t *object, struct vq_batch_line *line,
                                struct vq_buf *reply)
{
    const json_t *response = vq_body_get(object, "response");
    const json_t *error = vq_body_get(object, "error");
    vq_batch_take_id(object, "custom_id", line->custom_id, sizeof(line->custom_id));
    if (line->custom_id[0] == '\0') {
        vq_batch_damaged(line, "it has no usable custom_id");
        return VQ_OK;
    }
    if (json_is_object(response)) {
        int64_t status = vq_body_get_count(response, "status_code", 0);
        if (status < 100 || status > 599) {
            vq_batch_damaged(line, "its response has no HTTP status");
            return VQ_OK;
        }
        return vq_batch_take_reply(vq_body_get(response, "body"), (int)status, line, reply);
    }
    struct vq_span code = vq_body_get_string(error, "code");
    if (vq_span_eq(code, vq_span_str("batch_expired"))) {
        line->outcome = VQ_BATCH_CALL_EXPIRED;
    } else if (vq_span_eq(code, vq_span_str("batch_cancelled"))) {
        line->outcome = VQ_BATCH_CALL_CANCELLED;
    } else if (json_is_object(error)) {
        return vq_batch_take_error(error, STATUS_ERROR, line, reply);
    } else {
        vq_batch_damaged(line, "it has neither a response nor an error");
    }
    return VQ_OK;
}

static enum vq_batch_layout layout(const struct vq_batch_view *view)
{
    (void)view;
    return VQ_BATCH_JSONL;
}

/* ---- the two dialects ---- */

#define OPENAI_LIKE(name)                                                                          \
    {                                                                                              \
        .dialect = name, .headers = vq_batch_headers, .headers_count = VQ_BATCH_HEADERS,           \
        .calls_max = CALLS_MAX, .document_bytes_max = DOCUMENT_BYTES, .carries_name = true,        \
        .drops_results = true, .separator = "\n", .add = add, .upload = upload,                    \
        .read_upload = read_upload, .create = create, .get = get, .list = list, .cancel = cancel,  \
        .results = results, .layout = layout, .drop = drop, .take_view = take_view,                \
        .page_items = "data", .take_next = take_next, .take_line = take_line                       \
    }

const struct vq_batch_dialect vq_batch_openai = OPENAI_LIKE("openai");
const struct vq_batch_dialect vq_batch_azure = OPENAI_LIKE("azure");
