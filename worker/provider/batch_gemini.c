/* Batches of the Gemini dialect: POST BASE/models/MODEL:batchGenerateContent carries all calls
 * inline (at most 20 MB) under the display name, and returns an operation "batches/ID". Its results
 * are inline in the operation, or in a file if the server chose one. A page of the list may contain
 * the results of its batches, so pages are short. Not its job: replies (gemini.c reads them),
 * uploaded input files. */
#include "worker/provider/batch_read.h"
#include "worker/provider/gemini.h"
#include "worker/provider/url.h"

#include "common/text/json.h"

#include <stdio.h>

#define CALLS_MAX      VQ_BATCH_CALLS_MAX /* the size limit is reached earlier */
#define DOCUMENT_BYTES (UINT64_C(20000000) - VQ_BATCH_FRAME_BYTES_MAX) /* 20 MB with its frame */
#define STATUS_OK      200
#define STATUS_ERROR   500
#define PAGE           5u

static void add(const struct vq_batch_at *at, const char *call_id, struct vq_span body,
                struct vq_buf *document)
{
    struct vq_json json;
    (void)at;
    vq_json_init(&json, document, 0);
    vq_json_object(&json);
    vq_json_key(&json, "request");
    vq_json_raw(&json, body);
    vq_json_put_object(&json, "metadata");
    vq_json_put_str(&json, "key", call_id);
    vq_json_object_end(&json);
    vq_json_object_end(&json);
}

/* {"batch":{"displayName":NAME,"inputConfig":{"requests":{"requests":[...]}}}} */
static enum vq_status create(const struct vq_batch_at *at, const char *name, const char *file,
                             struct vq_span document, struct vq_batch_request *request)
{
    (void)file;
    VQ_ASSERT(vq_batch_name_ok(name));
    VQ_TRY(vq_batch_request_to(at->base_url, "", request));
    VQ_TRY(vq_gemini_url(at->model, at->base_url, ":batchGenerateContent", &request->url));
    request->method = VQ_BATCH_POST;
    request->document = document;
    (void)snprintf(request->content_type, sizeof(request->content_type), "application/json");
    vq_buf_printf(
        &request->head,
        "{\"batch\":{\"displayName\":\"%s\",\"inputConfig\":{\"requests\":{\"requests\":[", name);
    vq_buf_puts(&request->tail, "]}}}}");
    return vq_batch_request_status(request);
}

/* BASE/batches/ID. The kind is part of an id ("batches/123"); only ids of this kind are
 * requested. */
static enum vq_status to(const struct vq_batch_at *at, const char *kind, const char *id,
                         const char *back, struct vq_batch_request *request)
{
    char front[32];
    size_t n = strlen(kind);
    (void)snprintf(front, sizeof(front), "/%s", kind);
    const char *own = strncmp(id, kind, n) == 0 ? id + n : id;
    return vq_batch_request_id(at->base_url, front, own, back, request);
}

static enum vq_status get(const struct vq_batch_at *at, const char *id,
                          struct vq_batch_request *request)
{
    return to(at, "batches/", id, "", request);
}

static enum vq_status list(const struct vq_batch_at *at, const char *cursor,
                           struct vq_batch_request *request)
{
    char front[64];
    (void)snprintf(front, sizeof(front), "/batches?pageSize=%u%s", PAGE,
                   cursor[0] == '\0' ? "" : "&pageToken=");
    return vq_batch_request_id(at->base_url, front, cursor, "", request);
}

static enum vq_status cancel(const struct vq_batch_at *at, const char *id,
                             struct vq_batch_request *request)
{
    VQ_TRY(to(at, "batches/", id, ":cancel", request));
    request->method = VQ_BATCH_POST;
    return VQ_OK;
}

/* The address of a file is ORIGIN/download/VERSION/files/ID:download. */
static enum vq_status download(const struct vq_batch_at *at, const char *file,
                               struct vq_batch_request *request)
{
    struct vq_span base = vq_url_base(at->base_url);
    size_t cut = base.bytes;
    while (cut > 0 && base.at[cut - 1] != '/') {
        cut--;
    }
    struct vq_buf url;
    vq_buf_init(&url, VQ_BATCH_URL_BYTES_MAX);
    vq_buf_append(&url, base.at, cut);
    vq_buf_puts(&url, "download/");
    vq_buf_append(&url, base.at + cut, base.bytes - cut);
    vq_buf_puts(&url, at->base_url + strcspn(at->base_url, "?#"));
    enum vq_status status = url.status;
    if (status == VQ_OK) {
        struct vq_batch_at from = {at->dialect, url.at, at->model};
        status = to(&from, "files/", file, ":download?alt=media", request);
    }
    vq_buf_free(&url);
    return status;
}

static enum vq_status results(const struct vq_batch_at *at, const struct vq_batch_view *view,
                              enum vq_batch_part part, struct vq_batch_request *request)
{
    if (part != VQ_BATCH_OUTPUT || !view->has_results) {
        return VQ_NOT_FOUND;
    }
    return view->output_file[0] != '\0' ? download(at, view->output_file, request)
                                        : to(at, "batches/", view->id, "", request);
}

static enum vq_batch_layout layout(const struct vq_batch_view *view)
{
    return view->output_file[0] != '\0' ? VQ_BATCH_JSONL : VQ_BATCH_INLINE;
}

/* ---- responses ---- */

static void take_output(const json_t *output, struct vq_batch_view *view)
{
    if (vq_body_get_string(output, "responsesFile").bytes > 0) {
        vq_batch_take_id(output, "responsesFile", view->output_file, sizeof(view->output_file));
    }
    view->has_results = view->has_results || view->output_file[0] != '\0' ||
                        vq_body_get(output, "inlinedResponses") != NULL;
}

static void take_view(const json_t *object, struct vq_batch_view *view)
{
    static const struct vq_batch_word words[] = {
        {"BATCH_STATE_PENDING", VQ_BATCH_VALIDATING},
        {"BATCH_STATE_RUNNING", VQ_BATCH_RUNNING},
        {"BATCH_STATE_SUCCEEDED", VQ_BATCH_ENDED},
        {"BATCH_STATE_FAILED", VQ_BATCH_FAILED},
        {"BATCH_STATE_CANCELLED", VQ_BATCH_CANCELLED},
        {"BATCH_STATE_EXPIRED", VQ_BATCH_EXPIRED},
        {"JOB_STATE_PENDING", VQ_BATCH_VALIDATING},
        {"JOB_STATE_QUEUED", VQ_BATCH_VALIDATING},
        {"JOB_STATE_RUNNING", VQ_BATCH_RUNNING},
        {"JOB_STATE_SUCCEEDED", VQ_BATCH_ENDED},
        {"JOB_STATE_FAILED", VQ_BATCH_FAILED},
        {"JOB_STATE_CANCELLING", VQ_BATCH_CANCELLING},
        {"JOB_STATE_CANCELLED", VQ_BATCH_CANCELLED},
        {"JOB_STATE_EXPIRED", VQ_BATCH_EXPIRED},
    };
    const json_t *metadata = vq_body_get(object, "metadata");
    const json_t *stats = vq_body_get(metadata, "batchStats");
    const json_t *error = vq_body_get(object, "error");
    vq_batch_take_id(object, "name", view->id, sizeof(view->id));
    vq_batch_take_name(metadata, "displayName", view);
    vq_batch_take_state(metadata, "state", words, VQ_COUNT(words), view);
    view->total = vq_batch_take_count(stats, "requestCount");
    view->succeeded = vq_batch_take_count(stats, "successfulRequestCount");
    view->errored = vq_batch_take_count(stats, "failedRequestCount");
    view->pending = vq_batch_take_count(stats, "pendingRequestCount");
    view->created_unix_s = vq_batch_take_date(metadata, "createTime");
    take_output(vq_body_get(metadata, "output"), view);
    take_output(vq_body_get(object, "response"), view);
    vq_read_text(vq_body_get(error, "message"), view->error, sizeof(view->error));
}

static void take_next(const json_t *root, struct vq_batch_page *page)
{
    vq_batch_take_id(root, "nextPageToken", page->next, sizeof(page->next));
}

/* The HTTP status of an error: its code is an HTTP status, or a value of google.rpc.Code. */
static int status_of(const json_t *error)
{
    static const int by_code[] = {200, 499, 500, 400, 504, 404, 409, 403, 429,
                                  400, 409, 400, 501, 500, 503, 500, 401};
    int64_t code = vq_body_get_count(error, "code", 0);
    if (code > 0 && code < (int64_t)VQ_COUNT(by_code)) {
        return by_code[code];
    }
    return code >= 400 && code <= 599 ? (int)code : STATUS_ERROR;
}

/* Inline: {"response" or "error", "metadata":{"key"}}; in a file: {"key", "response" or "error"} */
static enum vq_status take_line(const json_t *object, struct vq_batch_line *line,
                                struct vq_buf *reply)
{
    const json_t *response = vq_body_get(object, "response");
    const json_t *error = vq_body_get(object, "error");
    vq_batch_take_id(object, "key", line->custom_id, sizeof(line->custom_id));
    if (line->custom_id[0] == '\0') {
        vq_batch_take_id(vq_body_get(object, "metadata"), "key", line->custom_id,
                         sizeof(line->custom_id));
    }
    if (line->custom_id[0] == '\0') {
        vq_batch_damaged(line, "it has no usable key");
    } else if (json_is_object(response)) {
        return vq_batch_take_reply(response, STATUS_OK, line, reply);
    } else if (json_is_object(error)) {
        static const int cancelled = 1, too_late = 4; /* of google.rpc.Code */
        int64_t code = vq_body_get_count(error, "code", 0);
        if (code == cancelled) {
            line->outcome = VQ_BATCH_CALL_CANCELLED;
        } else if (code == too_late) {
            line->outcome = VQ_BATCH_CALL_EXPIRED;
        } else {
            return vq_batch_take_error(error, status_of(error), line, reply);
        }
    } else {
        vq_batch_damaged(line, "it has neither a response nor an error");
    }
    return VQ_OK;
}

const struct vq_batch_dialect vq_batch_gemini = {
    .dialect = "gemini",
    .headers = vq_batch_headers,
    .headers_count = VQ_BATCH_HEADERS,
    .calls_max = CALLS_MAX,
    .document_bytes_max = DOCUMENT_BYTES,
    .inline_bytes_max = DOCUMENT_BYTES,
    .carries_name = true,
    .separator = ",",
    .add = add,
    .create = create,
    .get = get,
    .list = list,
    .cancel = cancel,
    .results = results,
    .layout = layout,
    .take_view = take_view,
    .page_items = "operations",
    .take_next = take_next,
    .take_line = take_line,
};
