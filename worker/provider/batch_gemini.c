/* Batches of the Gemini dialect: POST BASE/models/MODEL:batchGenerateContent has the display name
 * and all calls inline, or the name of a file that was uploaded. It returns an operation
 * "batches/ID", whose results are inline too, or in a file. A page of the list may contain the
 * results of its batches, so pages are short.
 *
 *   open       POST ORIGIN/upload/VERSION/files       x-goog-upload-url names the session
 *   upload     POST ORIGIN/upload/VERSION/files?upload_id=SESSION
 *   results    GET ORIGIN/download/VERSION/files/ID:download?alt=media
 *
 * A document consists of the lines of such a file, {"key","request"}; inline calls have another
 * form. Not its job: replies (gemini.c reads them). */
#include "worker/provider/batch_read.h"
#include "worker/provider/gemini.h"
#include "worker/provider/scan.h"
#include "worker/provider/url.h"

#include "common/text/json.h"

#include <inttypes.h>
#include <stdio.h>

#define CALLS_MAX      VQ_BATCH_CALLS_MAX
#define DOCUMENT_BYTES UINT64_C(200000000) /* our limit; a file may have 2 GB */
/* 20 MB are allowed; the form of inline calls is longer by 13 of at least 44 bytes per call */
#define INLINE_BYTES  UINT64_C(15000000)
#define FILE_TYPE     "application/jsonl"
#define SESSION_FIELD "upload_id"
#define STATUS_OK     200
#define STATUS_ERROR  500
#define PAGE          5u

static void add(const struct vq_batch_at *at, const char *call_id, struct vq_span body,
                struct vq_buf *document)
{
    struct vq_json json;
    (void)at;
    vq_json_init(&json, document, 0);
    vq_json_object(&json);
    vq_json_put_str(&json, "key", call_id);
    vq_json_key(&json, "request");
    vq_json_raw(&json, body);
    vq_json_object_end(&json);
}

/* The lines of a document as elements: {"key":K,"request":R} becomes
 * {"metadata":{"key":K},"request":R}. A key has no comma. */
static void put_inline(struct vq_span document, struct vq_buf *out)
{
    const char *end = document.at + document.bytes;
    for (const char *at = document.at; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop == NULL ? end : stop;
        const char *comma = memchr(at, ',', (size_t)(stop - at));
        VQ_ASSERT(comma != NULL);
        vq_buf_puts(out, out->bytes == 0 ? "{\"metadata\":" : ",{\"metadata\":");
        vq_buf_append(out, at, (size_t)(comma - at));
        vq_buf_putc(out, '}');
        vq_buf_append(out, comma, (size_t)(stop - comma));
        at = stop + 1;
    }
}

/* {"batch":{"displayName":NAME,"inputConfig":{"fileName":FILE}}}, or the calls instead of it:
 * "requests":{"requests":[...]} */
static enum vq_status create(const struct vq_batch_at *at, const char *name, const char *file,
                             struct vq_span document, struct vq_batch_request *request)
{
    VQ_ASSERT(vq_batch_name_ok(name));
    VQ_TRY(vq_batch_request_to(at->base_url, "", request));
    VQ_TRY(vq_gemini_url(at->model, at->base_url, ":batchGenerateContent", &request->url));
    request->method = VQ_BATCH_POST;
    (void)snprintf(request->content_type, sizeof(request->content_type), "application/json");
    struct vq_json json;
    vq_json_init(&json, &request->head, 0);
    vq_json_object(&json);
    vq_json_put_object(&json, "batch");
    vq_json_put_str(&json, "displayName", name);
    vq_json_put_object(&json, "inputConfig");
    if (file[0] != '\0') {
        vq_json_put_str(&json, "fileName", file);
        vq_json_object_end(&json);
        vq_json_object_end(&json);
        vq_json_object_end(&json);
    } else {
        vq_buf_puts(&request->head, "\"requests\":{\"requests\":[");
        put_inline(document, &request->own);
        request->document = vq_buf_span(&request->own);
        vq_buf_puts(&request->tail, "]}}}}");
    }
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

/* ORIGIN/KIND/VERSION/files FRONT ID BACK: the address for uploads and downloads. */
static enum vq_status to_bytes(const struct vq_batch_at *at, const char *kind, const char *front,
                               const char *id, const char *back, struct vq_batch_request *request)
{
    struct vq_span base = vq_url_base(at->base_url);
    size_t cut = base.bytes;
    while (cut > 0 && base.at[cut - 1] != '/') {
        cut--;
    }
    struct vq_buf url;
    vq_buf_init(&url, VQ_BATCH_URL_BYTES_MAX);
    vq_buf_append(&url, base.at, cut);
    vq_buf_puts(&url, kind);
    vq_buf_append(&url, base.at + cut, base.bytes - cut);
    vq_buf_puts(&url, at->base_url + strcspn(at->base_url, "?#"));
    enum vq_status status = url.status;
    if (status == VQ_OK) {
        status = vq_batch_request_id(url.at, front, id, back, request);
    }
    vq_buf_free(&url);
    return status;
}

static enum vq_status open_upload(const struct vq_batch_at *at, const char *name,
                                  uint64_t document_bytes, struct vq_batch_request *request)
{
    char bytes[24];
    VQ_ASSERT(vq_batch_name_ok(name));
    VQ_TRY(to_bytes(at, "upload/", "/files", "", "", request));
    request->method = VQ_BATCH_POST;
    (void)snprintf(request->content_type, sizeof(request->content_type), "application/json");
    (void)snprintf(bytes, sizeof(bytes), "%" PRIu64, document_bytes);
    vq_batch_request_header(request, "X-Goog-Upload-Protocol", "resumable");
    vq_batch_request_header(request, "X-Goog-Upload-Command", "start");
    vq_batch_request_header(request, "X-Goog-Upload-Header-Content-Length", bytes);
    vq_batch_request_header(request, "X-Goog-Upload-Header-Content-Type", FILE_TYPE);
    vq_buf_printf(&request->head, "{\"file\":{\"displayName\":\"%s\"}}", name);
    return vq_batch_request_status(request);
}

static enum vq_status upload(const struct vq_batch_at *at, const char *name, const char *session,
                             struct vq_span document, struct vq_batch_request *request)
{
    (void)name;
    VQ_TRY(to_bytes(at, "upload/", "/files?" SESSION_FIELD "=", session,
                    "&upload_protocol=resumable", request));
    request->method = VQ_BATCH_POST;
    request->document = document;
    (void)snprintf(request->content_type, sizeof(request->content_type), FILE_TYPE);
    vq_batch_request_header(request, "X-Goog-Upload-Command", "upload, finalize");
    vq_batch_request_header(request, "X-Goog-Upload-Offset", "0");
    return vq_batch_request_status(request);
}

/* The kind is part of a file's id ("files/123"), as in a batch's id. */
static enum vq_status download(const struct vq_batch_at *at, const char *file,
                               struct vq_batch_request *request)
{
    static const char kind[] = "files/";
    const char *own = strncmp(file, kind, strlen(kind)) == 0 ? file + strlen(kind) : file;
    return to_bytes(at, "download/", "/files/", own, ":download?alt=media", request);
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

static enum vq_status drop(const struct vq_batch_at *at, const char *file,
                           struct vq_batch_request *request)
{
    VQ_TRY(to(at, "files/", file, "", request));
    request->method = VQ_BATCH_DELETE;
    return VQ_OK;
}

static enum vq_batch_layout layout(const struct vq_batch_view *view)
{
    return view->output_file[0] != '\0' ? VQ_BATCH_JSONL : VQ_BATCH_INLINE;
}

/* ---- responses ---- */

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || vq_is_digit(c) ||
           (c != '\0' && strchr("-._~", c) != NULL);
}

/* The session in the URL of the response; the other parts of the URL are made from our data. */
static enum vq_status read_open(struct vq_span value, char ret_session[VQ_BATCH_SESSION_BYTES_MAX])
{
    static const char field[] = SESSION_FIELD "=";
    const char *end = value.at + value.bytes;
    const char *at = value.bytes == 0 ? NULL : memchr(value.at, '?', value.bytes);
    while (at != NULL &&
           ((size_t)(end - at) <= strlen(field) || memcmp(at + 1, field, strlen(field)) != 0)) {
        at = memchr(at + 1, '&', (size_t)(end - at - 1));
    }
    size_t bytes = 0;
    at = at == NULL ? end : at + 1 + strlen(field);
    while (at + bytes < end && is_plain(at[bytes])) {
        bytes++;
    }
    bool whole = at + bytes == end || at[bytes] == '&' || at[bytes] == '#';
    if (bytes == 0 || !whole || bytes >= VQ_BATCH_SESSION_BYTES_MAX) {
        return VQ_INVALID;
    }
    memcpy(ret_session, at, bytes);
    ret_session[bytes] = '\0';
    return VQ_OK;
}

/* {"file":{"name":"files/ID"}} */
static enum vq_status read_upload(struct vq_span body, char ret_file[VQ_BATCH_ID_BYTES_MAX])
{
    json_t *root = NULL;
    VQ_TRY(vq_body_load(body, VQ_BODY_VALUES_MAX, NULL, &root));
    vq_batch_take_id(vq_body_get(root, "file"), "name", ret_file, VQ_BATCH_ID_BYTES_MAX);
    json_decref(root);
    return ret_file[0] == '\0' ? VQ_INVALID : VQ_OK;
}

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
    vq_batch_take_id(vq_body_get(metadata, "inputConfig"), "fileName", view->input_file,
                     sizeof(view->input_file));
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
    .inline_bytes_max = INLINE_BYTES,
    .carries_name = true,
    .drops_results =
        false, /* the API refuses their names, because they are too long; the files expire */
    .separator = "\n",
    .add = add,
    .open = open_upload,
    .session_header = "x-goog-upload-url",
    .read_open = read_open,
    .upload = upload,
    .read_upload = read_upload,
    .create = create,
    .get = get,
    .list = list,
    .cancel = cancel,
    .results = results,
    .layout = layout,
    .drop = drop,
    .take_view = take_view,
    .page_items = "operations",
    .take_next = take_next,
    .take_line = take_line,
};
