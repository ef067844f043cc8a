/* The common part of all batch dialects: names and custom_ids, requests, the parts of responses.
 * Invariant: an id that does not fit or has control characters is dropped, never cut. A request
 * owns its URL and the texts around the document. Not its job: anything that is particular to one
 * provider. */
#include "worker/provider/batch.h"

#include "worker/provider/batch_read.h"
#include "worker/provider/scan.h"
#include "worker/provider/url.h"

#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "common/text/utf8.h"

#include <stdio.h>

#define HASH_BYTES     8 /* of the name's hash in a custom_id */
#define CALL_DIGITS    9
#define PAGE_VALUES    1000000u /* JSON values of a page */
#define PAGE_ITEMS_MAX 10000u

static const struct vq_batch_dialect *const dialects[] = {&vq_batch_openai, &vq_batch_azure,
                                                          &vq_batch_anthropic, &vq_batch_gemini};

const struct vq_batch_dialect *vq_batch_find(const char *dialect)
{
    for (size_t i = 0; i < VQ_COUNT(dialects); i++) {
        if (strcmp(dialects[i]->dialect, dialect) == 0) {
            return dialects[i];
        }
    }
    return NULL;
}

const struct vq_provider_header vq_batch_headers[VQ_BATCH_HEADERS] = {
    {"Accept", "application/json"},
};

const char *vq_batch_state_name(enum vq_batch_state state)
{
    static const char *const names[VQ_BATCH_STATE__COUNT] = {
        "unknown", "validating", "running",    "finishing", "ended",
        "failed",  "expired",    "cancelling", "cancelled"};
    VQ_ASSERT(state < VQ_BATCH_STATE__COUNT);
    return names[state];
}

bool vq_batch_state_is_final(enum vq_batch_state state)
{
    return state == VQ_BATCH_ENDED || state == VQ_BATCH_FAILED || state == VQ_BATCH_EXPIRED ||
           state == VQ_BATCH_CANCELLED;
}

const char *vq_batch_outcome_name(enum vq_batch_outcome outcome)
{
    static const char *const names[] = {"succeeded", "errored", "expired", "cancelled"};
    VQ_ASSERT((size_t)outcome < VQ_COUNT(names));
    return names[outcome];
}

/* ---- names ---- */

bool vq_batch_name_ok(const char *name)
{
    return vq_batch_name_fits(vq_span_str(name));
}

/* "vq-HASH-" */
static void call_id_front(const char *name, char front[VQ_BATCH_CALL_ID_BYTES])
{
    struct vq_hash hash;
    char hex[VQ_HEX_BYTES(HASH_BYTES)];
    vq_hash_of("batch-name", vq_span_str(name), &hash);
    vq_hex(hash.b, HASH_BYTES, hex);
    (void)snprintf(front, VQ_BATCH_CALL_ID_BYTES, "vq-%s-", hex);
}

void vq_batch_call_id(const char *name, uint32_t call, char ret_id[VQ_BATCH_CALL_ID_BYTES])
{
    VQ_ASSERT(vq_batch_name_ok(name) && call < VQ_BATCH_CALLS_MAX);
    call_id_front(name, ret_id);
    size_t n = strlen(ret_id);
    (void)snprintf(ret_id + n, VQ_BATCH_CALL_ID_BYTES - n, "%u", (unsigned)call);
}

static bool is_hex(char c)
{
    return vq_is_digit(c) || (c >= 'a' && c <= 'f');
}

/* Whether the id has our form; *ret_call: its number, without leading zeros. */
static bool has_form(struct vq_span id, size_t front, uint64_t *ret_call)
{
    bool good = id.bytes > front && id.bytes <= front + CALL_DIGITS &&
                memcmp(id.at, "vq-", 3) == 0 && id.at[front - 1] == '-' &&
                (id.at[front] != '0' || id.bytes == front + 1);
    for (size_t i = 3; good && i < front - 1; i++) {
        good = is_hex(id.at[i]);
    }
    *ret_call = 0;
    for (size_t i = front; good && i < id.bytes; i++) {
        good = vq_is_digit(id.at[i]);
        *ret_call = *ret_call * 10 + (uint64_t)(id.at[i] - '0');
    }
    return good;
}

enum vq_batch_call_id_kind vq_batch_call_id_parse(const char *name, uint32_t calls,
                                                  struct vq_span id, uint32_t *ret_call)
{
    char front[VQ_BATCH_CALL_ID_BYTES];
    uint64_t call = 0;
    call_id_front(name, front);
    size_t n = strlen(front);
    if (!has_form(id, n, &call)) {
        return VQ_BATCH_ID_FOREIGN;
    }
    if (memcmp(id.at, front, n) != 0) {
        return VQ_BATCH_ID_OTHER_BATCH;
    }
    if (call >= calls) {
        return VQ_BATCH_ID_OUT_OF_RANGE;
    }
    *ret_call = (uint32_t)call;
    return VQ_BATCH_ID_OURS;
}

/* ---- requests ---- */

void vq_batch_request_init(struct vq_batch_request *request)
{
    *request = (struct vq_batch_request){.method = VQ_BATCH_GET};
    vq_buf_init(&request->url, VQ_BATCH_URL_BYTES_MAX);
    vq_buf_init(&request->head, VQ_BATCH_FRAME_BYTES_MAX);
    vq_buf_init(&request->tail, VQ_BATCH_FRAME_BYTES_MAX);
    vq_buf_init(&request->own, VQ_BATCH_INLINE_BYTES_MAX);
}

void vq_batch_request_free(struct vq_batch_request *request)
{
    vq_buf_free(&request->url);
    vq_buf_free(&request->head);
    vq_buf_free(&request->tail);
    vq_buf_free(&request->own);
    vq_batch_request_init(request);
}

enum vq_status vq_batch_request_to(const char *base_url, const char *path,
                                   struct vq_batch_request *request)
{
    request->method = VQ_BATCH_GET;
    request->document = vq_span(NULL, 0);
    request->content_type[0] = '\0';
    request->headers_count = 0;
    vq_buf_clear(&request->head);
    vq_buf_clear(&request->tail);
    vq_buf_free(&request->own);
    size_t bytes = strcspn(path, "?");
    const char *query = path + bytes;
    char *own = vq_strndup(path, bytes);
    if (own == NULL) {
        return VQ_NOMEM;
    }
    enum vq_status status = vq_url_join(base_url, own, &request->url);
    vq_free(own);
    VQ_TRY(status);
    if (*query != '\0') {
        bool has = memchr(request->url.at, '?', request->url.bytes) != NULL;
        vq_buf_putc(&request->url, has ? '&' : '?');
        vq_buf_puts(&request->url, query + 1);
    }
    return request->url.status;
}

enum vq_status vq_batch_request_id(const char *base_url, const char *front, const char *id,
                                   const char *back, struct vq_batch_request *request)
{
    struct vq_buf path;
    vq_buf_init(&path, VQ_BATCH_URL_BYTES_MAX);
    vq_buf_puts(&path, front);
    vq_buf_put_percent(&path, id);
    vq_buf_puts(&path, back);
    enum vq_status status = path.status;
    if (status == VQ_OK) {
        status = vq_batch_request_to(base_url, path.at, request);
    }
    vq_buf_free(&path);
    return status;
}

enum vq_status vq_batch_request_status(const struct vq_batch_request *request)
{
    VQ_TRY(request->url.status);
    VQ_TRY(request->head.status);
    VQ_TRY(request->own.status);
    return request->tail.status;
}

void vq_batch_request_header(struct vq_batch_request *request, const char *name, const char *value)
{
    VQ_ASSERT(request->headers_count < VQ_BATCH_REQUEST_HEADERS_MAX);
    struct vq_batch_header *header = &request->headers[request->headers_count++];
    VQ_ASSERT(strlen(value) < sizeof(header->value));
    header->name = name;
    (void)snprintf(header->value, sizeof(header->value), "%s", value);
}

enum vq_status vq_batch_add(const struct vq_batch_at *at, const char *name, uint32_t call,
                            struct vq_span body, struct vq_buf *document)
{
    const struct vq_batch_dialect *dialect = at->dialect;
    if (body.bytes == 0 || memchr(body.at, '\n', body.bytes) != NULL) {
        return VQ_INVALID;
    }
    if (call >= dialect->calls_max) {
        return VQ_LIMIT;
    }
    char id[VQ_BATCH_CALL_ID_BYTES];
    size_t before = document->bytes;
    vq_batch_call_id(name, call, id);
    if (before > 0) {
        vq_buf_puts(document, dialect->separator);
    }
    dialect->add(at, id, body, document);
    enum vq_status status = document->status;
    if (status == VQ_OK && document->bytes > dialect->document_bytes_max) {
        status = VQ_LIMIT;
    }
    if (status != VQ_OK) {
        document->bytes = before;
        document->status = VQ_OK;
    }
    if (status != VQ_OK && document->at != NULL) {
        document->at[before] = '\0';
    }
    return status;
}

/* ---- responses ---- */

void vq_batch_take_state(const json_t *object, const char *key, const struct vq_batch_word *words,
                         size_t count, struct vq_batch_view *view)
{
    vq_read_scalar(object, key, view->said, sizeof(view->said));
    for (size_t i = 0; i < count; i++) {
        if (strcmp(words[i].said, view->said) == 0) {
            view->state = words[i].state;
        }
    }
}

void vq_batch_take_id(const json_t *object, const char *key, char *ret_id, size_t cap)
{
    struct vq_span id = vq_body_get_string(object, key);
    ret_id[0] = '\0';
    if (id.bytes >= cap || vq_utf8_valid_bytes(id) != id.bytes) {
        return;
    }
    for (size_t i = 0; i < id.bytes; i++) {
        if ((unsigned char)id.at[i] <= ' ' || id.at[i] == 0x7F) {
            return;
        }
    }
    if (id.bytes > 0) {
        memcpy(ret_id, id.at, id.bytes);
        ret_id[id.bytes] = '\0';
    }
}

void vq_batch_take_name(const json_t *object, const char *key, struct vq_batch_view *view)
{
    vq_batch_take_id(object, key, view->name, sizeof(view->name));
    if (!vq_batch_name_ok(view->name)) {
        view->name[0] = '\0';
    }
}

int64_t vq_batch_take_count(const json_t *object, const char *key)
{
    struct vq_span digits = vq_body_get_string(object, key);
    return digits.bytes > 0 ? vq_scan_number(digits) : vq_body_get_count(object, key, -1);
}

int64_t vq_batch_take_date(const json_t *object, const char *key)
{
    struct vq_span date = vq_body_get_string(object, key);
    return date.bytes > 0 ? vq_scan_rfc3339_unix_s(date) : -1;
}

static void view_of(const struct vq_batch_dialect *dialect, const json_t *object,
                    struct vq_batch_view *view)
{
    *view = (struct vq_batch_view){.total = -1,
                                   .succeeded = -1,
                                   .errored = -1,
                                   .cancelled = -1,
                                   .expired = -1,
                                   .pending = -1,
                                   .created_unix_s = -1,
                                   .expires_unix_s = -1};
    dialect->take_view(object, view);
}

/* Parses a document without its inline results. */
static enum vq_status load(struct vq_span body, json_t **ret_root)
{
    if (body.bytes > VQ_BATCH_STATE_BYTES_MAX) {
        return VQ_LIMIT;
    }
    struct vq_buf rest;
    vq_buf_init(&rest, VQ_BATCH_STATE_BYTES_MAX);
    enum vq_status status = vq_batch_without_results(body, &rest);
    if (status == VQ_OK) {
        status = vq_body_load(vq_buf_span(&rest), PAGE_VALUES, NULL, ret_root);
    }
    vq_buf_free(&rest);
    return status;
}

enum vq_status vq_batch_read(const struct vq_batch_dialect *dialect, struct vq_span body,
                             struct vq_batch_view *ret_view)
{
    json_t *root = NULL;
    VQ_TRY(load(body, &root));
    view_of(dialect, root, ret_view);
    json_decref(root);
    return ret_view->id[0] == '\0' ? VQ_INVALID : VQ_OK;
}

void vq_batch_page_free(struct vq_batch_page *page)
{
    vq_free(page->at);
    *page = (struct vq_batch_page){.at = NULL};
}

static enum vq_status take_page(const struct vq_batch_dialect *dialect, const json_t *root,
                                struct vq_batch_page *page)
{
    const json_t *items = vq_body_get(root, dialect->page_items);
    if (!json_is_object(root) || (items != NULL && !json_is_array(items))) {
        return VQ_INVALID;
    }
    size_t count = json_array_size(items);
    if (count > PAGE_ITEMS_MAX) {
        return VQ_LIMIT;
    }
    void *at = NULL;
    VQ_TRY(count == 0 ? VQ_OK : vq_grow(&at, &page->cap, count, sizeof(*page->at), PAGE_ITEMS_MAX));
    page->at = at;
    for (size_t i = 0; i < count; i++) {
        struct vq_batch_view *view = &page->at[page->count];
        view_of(dialect, json_array_get(items, i), view);
        page->count += view->id[0] != '\0' ? 1 : 0;
    }
    dialect->take_next(root, page);
    return VQ_OK;
}

enum vq_status vq_batch_read_page(const struct vq_batch_dialect *dialect, struct vq_span body,
                                  struct vq_batch_page *page)
{
    json_t *root = NULL;
    vq_batch_page_free(page);
    VQ_TRY(load(body, &root));
    enum vq_status status = take_page(dialect, root, page);
    json_decref(root);
    return status;
}

/* ---- results ---- */

void vq_batch_damaged(struct vq_batch_line *line, const char *why)
{
    line->damaged = true;
    line->reply = vq_span(NULL, 0);
    (void)snprintf(line->why, sizeof(line->why), "%s", why);
}

enum vq_status vq_batch_take_reply(const json_t *value, int status, struct vq_batch_line *line,
                                   struct vq_buf *reply)
{
    if (!json_is_object(value)) {
        vq_batch_damaged(line, "its reply is not a JSON object");
        return VQ_OK;
    }
    line->status = status;
    line->outcome = status >= 200 && status <= 299 ? VQ_BATCH_SUCCEEDED : VQ_BATCH_ERRORED;
    return vq_json_dump(value, reply);
}

enum vq_status vq_batch_take_error(const json_t *value, int status, struct vq_batch_line *line,
                                   struct vq_buf *reply)
{
    vq_buf_puts(reply, "{\"error\":");
    VQ_TRY(vq_batch_take_reply(value, status, line, reply));
    vq_buf_putc(reply, '}');
    return reply->status;
}

enum vq_status vq_batch_reply(const struct vq_batch_dialect *dialect,
                              const struct vq_batch_line *line, int64_t now_unix_s,
                              const char *answer_field, struct vq_reply *reply)
{
    VQ_ASSERT(!line->damaged && line->status != 0);
    struct vq_reply_headers headers;
    vq_reply_headers_init(&headers);
    struct vq_response response = {.status = line->status,
                                   .headers = &headers,
                                   .body = line->reply,
                                   .now_unix_s = now_unix_s,
                                   .answer_field = answer_field};
    return vq_provider_find(dialect->dialect)->read(&response, reply);
}
