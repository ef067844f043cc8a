/* Batches of the Anthropic dialect. POST BASE/messages/batches carries all calls. The results are
 * JSON lines, one per call, in any order. The API has no field for a name: a batch is recognised by
 * the custom_ids of its results (batch_life.h waits for them before it creates a batch again).
 * `results_url` only shows that there are results: the address is made from the id, because the key
 * must not be sent to an address from a response. Not its job: replies (anthropic.c reads them). */
#include "worker/provider/batch_read.h"

#include "common/text/json.h"

#include <stdio.h>

#define CALLS_MAX      100000u
#define DOCUMENT_BYTES (UINT64_C(256000000) - VQ_BATCH_FRAME_BYTES_MAX) /* 256 MB with its frame */
#define STATUS_OK      200
#define STATUS_ERROR   500 /* of an error whose type is not in the table */

static void add(const struct vq_batch_at *at, const char *call_id, struct vq_span body,
                struct vq_buf *document)
{
    struct vq_json json;
    (void)at;
    vq_json_init(&json, document, 0);
    vq_json_object(&json);
    vq_json_put_str(&json, "custom_id", call_id);
    vq_json_key(&json, "params");
    vq_json_raw(&json, body);
    vq_json_object_end(&json);
}

static enum vq_status create(const struct vq_batch_at *at, const char *name, const char *file,
                             struct vq_span document, struct vq_batch_request *request)
{
    (void)name;
    (void)file;
    VQ_TRY(vq_batch_request_to(at->base_url, "/messages/batches", request));
    request->method = VQ_BATCH_POST;
    request->document = document;
    (void)snprintf(request->content_type, sizeof(request->content_type), "application/json");
    vq_buf_puts(&request->head, "{\"requests\":[");
    vq_buf_puts(&request->tail, "]}");
    return vq_batch_request_status(request);
}

static enum vq_status get(const struct vq_batch_at *at, const char *id,
                          struct vq_batch_request *request)
{
    return vq_batch_request_id(at->base_url, "/messages/batches/", id, "", request);
}

static enum vq_status list(const struct vq_batch_at *at, const char *cursor,
                           struct vq_batch_request *request)
{
    char front[64];
    (void)snprintf(front, sizeof(front), "/messages/batches?limit=%u%s", VQ_BATCH_PAGE,
                   cursor[0] == '\0' ? "" : "&after_id=");
    return vq_batch_request_id(at->base_url, front, cursor, "", request);
}

static enum vq_status cancel(const struct vq_batch_at *at, const char *id,
                             struct vq_batch_request *request)
{
    VQ_TRY(vq_batch_request_id(at->base_url, "/messages/batches/", id, "/cancel", request));
    request->method = VQ_BATCH_POST;
    return VQ_OK;
}

static enum vq_status results(const struct vq_batch_at *at, const struct vq_batch_view *view,
                              enum vq_batch_part part, struct vq_batch_request *request)
{
    if (part != VQ_BATCH_OUTPUT || !view->has_results) {
        return VQ_NOT_FOUND;
    }
    return vq_batch_request_id(at->base_url, "/messages/batches/", view->id, "/results", request);
}

static enum vq_batch_layout layout(const struct vq_batch_view *view)
{
    (void)view;
    return VQ_BATCH_JSONL;
}

/* ---- responses ---- */

static int64_t sum(int64_t total, int64_t part)
{
    return total < 0 || part < 0 ? -1 : total + part;
}

/* The counts always add up to the number of calls. */
static void take_view(const json_t *object, struct vq_batch_view *view)
{
    static const struct vq_batch_word words[] = {
        {"in_progress", VQ_BATCH_RUNNING},
        {"canceling", VQ_BATCH_CANCELLING},
        {"ended", VQ_BATCH_ENDED},
    };
    vq_batch_take_state(object, "processing_status", words, VQ_COUNT(words), view);
    vq_batch_take_id(object, "id", view->id, sizeof(view->id));
    const json_t *counts = vq_body_get(object, "request_counts");
    view->succeeded = vq_batch_take_count(counts, "succeeded");
    view->errored = vq_batch_take_count(counts, "errored");
    view->cancelled = vq_batch_take_count(counts, "canceled");
    view->expired = vq_batch_take_count(counts, "expired");
    view->pending = vq_batch_take_count(counts, "processing");
    view->total = sum(sum(sum(sum(view->succeeded, view->errored), view->cancelled), view->expired),
                      view->pending);
    view->has_results = vq_body_get_string(object, "results_url").bytes > 0;
    view->created_unix_s = vq_batch_take_date(object, "created_at");
    view->expires_unix_s = vq_batch_take_date(object, "expires_at");
    bool archived = vq_body_get_string(object, "archived_at").bytes > 0;
    (void)snprintf(view->error, sizeof(view->error), "%s",
                   archived ? "the batch is archived: its results are no longer available" : "");
}

static void take_next(const json_t *root, struct vq_batch_page *page)
{
    if (json_is_true(vq_body_get(root, "has_more"))) {
        vq_batch_take_id(root, "last_id", page->next, sizeof(page->next));
    }
}

/* The HTTP status that a response with this error would have. */
static int status_of(const json_t *error)
{
    static const struct {
        const char *type;
        int status;
    } types[] = {
        {"invalid_request_error", 400}, {"authentication_error", 401},
        {"billing_error", 402},         {"permission_error", 403},
        {"not_found_error", 404},       {"request_too_large", 413},
        {"rate_limit_error", 429},      {"api_error", 500},
        {"timeout_error", 504},         {"overloaded_error", 529},
    };
    struct vq_span said = vq_body_get_string(vq_body_get(error, "error"), "type");
    for (size_t i = 0; i < VQ_COUNT(types); i++) {
        if (vq_span_eq(said, vq_span_str(types[i].type))) {
            return types[i].status;
        }
    }
    return STATUS_ERROR;
}

/* {"custom_id","result":{"type":"succeeded","message"}}, or "errored" with "error", "canceled",
 * "expired" */
static enum vq_status take_line(const json_t *object, struct vq_batch_line *line,
                                struct vq_buf *reply)
{
    const json_t *result = vq_body_get(object, "result");
    struct vq_span type = vq_body_get_string(result, "type");
    vq_batch_take_id(object, "custom_id", line->custom_id, sizeof(line->custom_id));
    if (line->custom_id[0] == '\0') {
        vq_batch_damaged(line, "it has no usable custom_id");
    } else if (vq_span_eq(type, vq_span_str("succeeded"))) {
        return vq_batch_take_reply(vq_body_get(result, "message"), STATUS_OK, line, reply);
    } else if (vq_span_eq(type, vq_span_str("errored"))) {
        const json_t *error = vq_body_get(result, "error");
        return vq_batch_take_reply(error, status_of(error), line, reply);
    } else if (vq_span_eq(type, vq_span_str("expired"))) {
        line->outcome = VQ_BATCH_CALL_EXPIRED;
    } else if (vq_span_eq(type, vq_span_str("canceled"))) {
        line->outcome = VQ_BATCH_CALL_CANCELLED;
    } else {
        vq_batch_damaged(line, "its result has no type that is known");
    }
    return VQ_OK;
}

static const struct vq_provider_header headers[] = {
    {"Accept", "application/json"},
    {"anthropic-version", "2023-06-01"},
};

const struct vq_batch_dialect vq_batch_anthropic = {
    .dialect = "anthropic",
    .headers = headers,
    .headers_count = VQ_COUNT(headers),
    .calls_max = CALLS_MAX,
    .document_bytes_max = DOCUMENT_BYTES,
    .inline_bytes_max = DOCUMENT_BYTES,
    .carries_name = false,
    .separator = ",",
    .add = add,
    .create = create,
    .get = get,
    .list = list,
    .cancel = cancel,
    .results = results,
    .layout = layout,
    .take_view = take_view,
    .page_items = "data",
    .take_next = take_next,
    .take_line = take_line,
};
