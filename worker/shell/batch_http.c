/* One exchange per step of a batch. A job waits in a list until the loop starts it, since libcurl
 * must not be called from its own callbacks; it is freed when its exchange has ended. Invariants:
 * - A create is sent only while the session's term lasts and the batch may be created.
 * - Its outcome is "refused" only if the provider certainly has no batch: it was not sent, or the
 *   response is a 4xx that refuses it.
 * - Results are read as they arrive, so memory is bounded by one result. */
#include "worker/shell/batch_http.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/crash.h"
#include "common/text/log.h"
#include "worker/provider/batch_lines.h"
#include "worker/shell/reply.h"

#include <stdio.h>

#define HEADERS_MAX      8
#define TEXT_BYTES_MAX   (VQ_BATCH_ID_BYTES_MAX * 2) /* of a cursor or a file's id */
#define STATUS_NOT_FOUND 404
#define STATUS_TIMEOUT   408
#define STATUS_GONE      410
#define SLOW_BYTES_PER_S 1
#define SLOW_S           60

struct job {
    struct vq_batch_http *http;
    struct vq_link link;
    uint64_t batch;
    enum vq_batch_action_type type;
    enum vq_batch_part part;
    const struct vq_batch_dialect *dialect;
    struct vq_span name; /* of the pool; in `texts` */
    char texts[VQ_WIRE_NAME_BYTES_MAX + 1];
    char text[TEXT_BYTES_MAX];
    /* while the exchange is under way */
    struct vq_shell_pool *pool;
    const struct vq_secret *secret;
    struct vq_buf body;
    struct vq_batch_lines lines;
    enum vq_status lines_status;
    char peeked[VQ_REPLY_NAME_BYTES_MAX];
};

struct vq_batch_http {
    struct vq_batch_http_options options;
    struct vq_http *client;
    struct vq_link waiting, started;
    struct vq_deferred deferred;
    bool closing;
};

static void start_all(void *ctx);

enum vq_status vq_batch_http_create(const struct vq_batch_http_options *options,
                                    struct vq_batch_http **ret_http, struct vq_error *err)
{
    struct vq_batch_http *http;
    VQ_TRY(VQ_ALLOC(http, 1));
    http->options = *options;
    vq_list_init(&http->waiting);
    vq_list_init(&http->started);
    http->deferred = (struct vq_deferred){.fn = start_all, .ctx = http};
    struct vq_http_options client = {.calls_max = VQ_BATCH_HTTP_CALLS_MAX,
                                     .ca_file = vq_shell_ca_file(options->ca_file)};
    enum vq_status status = vq_http_create(options->loop, &client, &http->client, err);
    if (status != VQ_OK) {
        vq_free(http);
        return status;
    }
    *ret_http = http;
    return VQ_OK;
}

static void job_free(struct job *job)
{
    vq_unlink(&job->link);
    vq_buf_free(&job->body);
    vq_batch_lines_free(&job->lines);
    vq_free(job);
}

void vq_batch_http_destroy(struct vq_batch_http **http)
{
    struct vq_batch_http *h = *http;
    if (h == NULL) {
        return;
    }
    h->closing = true;
    vq_http_destroy(&h->client); /* ends the exchanges under way: their jobs are freed */
    vq_deferred_cancel(&h->deferred);
    while (!vq_list_empty(&h->waiting)) {
        job_free(VQ_CONTAINER_OF(h->waiting.next, struct job, link));
    }
    vq_free(h);
    *http = NULL;
}

enum vq_status vq_batch_http_do(struct vq_batch_http *http, const struct vq_batches_action *action)
{
    struct job *job;
    VQ_TRY(VQ_ALLOC(job, 1));
    job->http = http;
    job->batch = action->batch;
    job->type = action->step.type;
    job->part = action->step.part;
    (void)snprintf(job->texts, sizeof(job->texts), "%.*s", (int)action->pool.bytes,
                   action->pool.at);
    job->name = vq_span_str(job->texts);
    (void)snprintf(job->text, sizeof(job->text), "%s",
                   action->step.text == NULL ? "" : action->step.text);
    job->dialect = action->dialect;
    vq_buf_init(&job->body, job->dialect->document_bytes_max + 2 * VQ_BATCH_FRAME_BYTES_MAX);
    enum vq_batch_layout layout = job->type == VQ_BATCH_DO_FETCH || job->type == VQ_BATCH_DO_PEEK
                                      ? job->dialect->layout(&action->life->view)
                                      : VQ_BATCH_JSONL;
    vq_batch_lines_init(&job->lines, job->dialect, layout);
    vq_list_push(&http->waiting, &job->link);
    vq_loop_defer(http->options.loop, &http->deferred);
    return VQ_OK;
}

/* ---- events ---- */

static void pass(struct job *job, const struct vq_batch_event *event)
{
    struct vq_batch_http *http = job->http;
    vq_batches_event(http->options.batches, job->batch, event, vq_clock_mono_ns() / VQ_NS_PER_MS);
    http->options.changed(http->options.ctx);
}

/* The event if the exchange did not take place, or the provider refused it; false: this step has no
 * event. */
static bool failed_type(enum vq_batch_action_type type, enum vq_batch_event_type *ret_type)
{
    switch (type) {
    case VQ_BATCH_DO_OPEN:
    case VQ_BATCH_DO_UPLOAD: *ret_type = VQ_BATCH_UPLOAD_FAILED; return true;
    case VQ_BATCH_DO_CREATE: *ret_type = VQ_BATCH_CREATE_REFUSED; return true;
    case VQ_BATCH_DO_LIST: *ret_type = VQ_BATCH_LIST_FAILED; return true;
    case VQ_BATCH_DO_PEEK: *ret_type = VQ_BATCH_PEEK_FAILED; return true;
    case VQ_BATCH_DO_GET: *ret_type = VQ_BATCH_GET_FAILED; return true;
    case VQ_BATCH_DO_FETCH: *ret_type = VQ_BATCH_FETCH_FAILED; return true;
    case VQ_BATCH_DO_CANCEL: *ret_type = VQ_BATCH_CANCEL_FAILED; return true;
    case VQ_BATCH_DO_WRITE:
    case VQ_BATCH_DO_DELIVER:
    case VQ_BATCH_DO_GIVE_UP:
    case VQ_BATCH_DO_SETTLE:
    case VQ_BATCH_DO_DROP:
    case VQ_BATCH_DO_FINISH: break;
    }
    return false;
}

static const char *what_of(enum vq_batch_action_type type)
{
    static const char *const names[] = {
        [VQ_BATCH_DO_OPEN] = "open",       [VQ_BATCH_DO_UPLOAD] = "upload",
        [VQ_BATCH_DO_CREATE] = "create",   [VQ_BATCH_DO_LIST] = "list",
        [VQ_BATCH_DO_PEEK] = "peek",       [VQ_BATCH_DO_GET] = "get",
        [VQ_BATCH_DO_FETCH] = "results",   [VQ_BATCH_DO_CANCEL] = "cancel",
        [VQ_BATCH_DO_DROP] = "delete file"};
    return (size_t)type < VQ_COUNT(names) && names[type] != NULL ? names[type] : "?";
}

static void log_failure(const struct job *job, const char *why)
{
    const struct vq_batch_life *life = vq_batches_life(job->http->options.batches, job->batch);
    vq_log(VQ_LOG_WARN, "batch.failed", "what=%s batch=%s pool=%s why=%s", what_of(job->type),
           life == NULL ? "" : life->record.name, job->texts, why);
}

/* The request was not sent. */
static void not_sent(struct job *job, const char *why)
{
    struct vq_batch_event event = {.type = VQ_BATCH_TICK};
    log_failure(job, why);
    if (failed_type(job->type, &event.type)) {
        pass(job, &event);
    }
    job_free(job);
}

/* ---- results, as they arrive ---- */

static bool take_line(struct job *job, const struct vq_batch_line *line)
{
    if (job->type == VQ_BATCH_DO_FETCH) {
        struct vq_batch_event event = {.type = VQ_BATCH_RESULT, .line = line};
        pass(job, &event);
        return true;
    }
    memcpy(job->peeked, line->custom_id, sizeof(job->peeked));
    return job->peeked[0] == '\0'; /* one result is enough */
}

static bool on_piece(void *ctx, struct vq_span bytes)
{
    struct job *job = ctx;
    struct vq_batch_line line;
    if (job->http->closing) {
        return false;
    }
    while ((job->lines_status = vq_batch_lines_next(&job->lines, &bytes, &line)) == VQ_OK) {
        if (!take_line(job, &line)) {
            return false;
        }
    }
    return job->lines_status == VQ_AGAIN;
}

/* Reads the end of the results, after the last byte. */
static bool end_lines(struct job *job)
{
    struct vq_batch_line line;
    enum vq_status status = vq_batch_lines_end(&job->lines, &line);
    if (status == VQ_OK) {
        (void)take_line(job, &line);
    }
    return status == VQ_OK || status == VQ_AGAIN;
}

/* ---- the end of an exchange ---- */

static void read_view(struct job *job, struct vq_span body, enum vq_batch_event_type done,
                      enum vq_batch_event_type otherwise)
{
    static struct vq_batch_view view;
    enum vq_status status = vq_batch_read(job->dialect, body, &view);
    struct vq_batch_event event = {.type = status == VQ_OK ? done : otherwise, .view = &view};
    if (status != VQ_OK) {
        log_failure(job, "the response does not describe a batch");
    }
    pass(job, &event);
}

static void read_list(struct job *job, struct vq_span body)
{
    struct vq_batch_page page = {.at = NULL};
    enum vq_status status = vq_batch_read_page(job->dialect, body, &page);
    struct vq_batch_event event = {
        .type = status == VQ_OK ? VQ_BATCH_LIST_DONE : VQ_BATCH_LIST_FAILED, .page = &page};
    if (status != VQ_OK) {
        log_failure(job, "the response is no list of batches");
    }
    pass(job, &event);
    vq_batch_page_free(&page);
}

static void read_open(struct job *job, const struct vq_http_response *response)
{
    char session[VQ_BATCH_SESSION_BYTES_MAX];
    enum vq_status status = VQ_INVALID;
    for (uint32_t i = 0; i < response->headers_count && status != VQ_OK; i++) {
        const struct vq_http_header *header = &response->headers[i];
        if (vq_span_eq(header->name, vq_span_str(job->dialect->session_header))) {
            status = job->dialect->read_open(header->value, session);
        }
    }
    struct vq_batch_event event = {
        .type = status == VQ_OK ? VQ_BATCH_OPEN_DONE : VQ_BATCH_UPLOAD_FAILED, .text = session};
    VQ_CRASH_POINT(worker_batch_opened);
    if (status != VQ_OK) {
        log_failure(job, "the response names no upload");
    }
    pass(job, &event);
}

static void read_upload(struct job *job, struct vq_span body)
{
    char file[VQ_BATCH_ID_BYTES_MAX];
    enum vq_status status = job->dialect->read_upload(body, file);
    struct vq_batch_event event = {
        .type = status == VQ_OK ? VQ_BATCH_UPLOAD_DONE : VQ_BATCH_UPLOAD_FAILED, .text = file};
    VQ_CRASH_POINT(worker_batch_uploaded);
    if (status != VQ_OK) {
        log_failure(job, "the response names no file");
    }
    pass(job, &event);
}

/* A whole response with status 2xx; of results: every line was taken. */
static void succeeded(struct job *job, const struct vq_http_response *response)
{
    struct vq_batch_event event = {.text = job->peeked};
    struct vq_span body = response->body;
    switch (job->type) {
    case VQ_BATCH_DO_OPEN: read_open(job, response); return;
    case VQ_BATCH_DO_UPLOAD: read_upload(job, body); return;
    case VQ_BATCH_DO_CREATE:
        VQ_CRASH_POINT(worker_batch_created);
        read_view(job, body, VQ_BATCH_CREATE_DONE, VQ_BATCH_CREATE_UNKNOWN);
        return;
    case VQ_BATCH_DO_GET: read_view(job, body, VQ_BATCH_GET_DONE, VQ_BATCH_GET_FAILED); return;
    case VQ_BATCH_DO_LIST: read_list(job, body); return;
    case VQ_BATCH_DO_PEEK:
        event.type = end_lines(job) ? VQ_BATCH_PEEK_DONE : VQ_BATCH_PEEK_FAILED;
        break;
    case VQ_BATCH_DO_FETCH:
        event.type = end_lines(job) ? VQ_BATCH_FETCH_DONE : VQ_BATCH_FETCH_FAILED;
        VQ_CRASH_POINT(worker_batch_fetched);
        break;
    case VQ_BATCH_DO_CANCEL: event.type = VQ_BATCH_CANCEL_DONE; break;
    case VQ_BATCH_DO_WRITE:
    case VQ_BATCH_DO_DELIVER:
    case VQ_BATCH_DO_GIVE_UP:
    case VQ_BATCH_DO_SETTLE:
    case VQ_BATCH_DO_DROP:
    case VQ_BATCH_DO_FINISH: return;
    }
    pass(job, &event);
}

/* Reads an error with the chat dialect. VQ_NOMEM. */
static enum vq_status read_error(const struct job *job, const struct vq_http_response *response,
                                 struct vq_reply *reply)
{
    if (response->transport != VQ_TRANSPORT_OK) {
        vq_reply_from_transport(response->transport, response->sent, reply);
        vq_reply_explain(reply, response->error);
        return VQ_OK;
    }
    struct vq_reply_headers headers;
    vq_reply_headers_of(response, &headers);
    struct vq_response whole = {.status = response->status,
                                .headers = &headers,
                                .body = response->body,
                                .now_unix_s = vq_clock_unix_ms() / 1000};
    VQ_TRY(job->pool->provider->read(&whole, reply));
    return vq_reply_hide_secret(reply, job->secret);
}

/* Whether a repetition of this upload or create would end in the same way; then the core gets the
 * reason. */
static bool is_for_good(struct job *job, const struct vq_reply *reply, const char *why)
{
    switch ((int)reply->class) {
    case VQ_REPLY_KEY:
        if (vq_shell_pools_refused(job->http->options.pools, job->pool, job->secret, why)) {
            return false;
        }
        vq_shell_pools_report(job->http->options.pools, job->pool);
        return true;
    case VQ_REPLY_MONEY:
    case VQ_REPLY_MODEL:
    case VQ_REPLY_BLOCKED:
    case VQ_REPLY_TOO_LONG:
    case VQ_REPLY_BAD_REQUEST: return true;
    default: return false;
    }
}

static void say_refused(const struct job *job, const struct vq_reply *got, const char *why)
{
    struct vq_work_reply reply = vq_reply_for_core(got, why, false, UINT32_MAX);
    struct vq_work_refused refused = {.pool = vq_span_str(job->pool->name), .reply = &reply};
    job->http->options.refused(job->http->options.ctx, &refused);
}

/* A create certainly has no batch only if it was not sent, or after a definite 4xx. */
static bool may_be_created(const struct vq_http_response *response)
{
    if (response->transport != VQ_TRANSPORT_OK) {
        return response->sent;
    }
    return response->status < 400 || response->status >= 500 || response->status == STATUS_TIMEOUT;
}

/* The upload that was opened is not known any more: another one is opened. */
static bool is_session_lost(const struct job *job, const struct vq_http_response *response)
{
    return job->type == VQ_BATCH_DO_UPLOAD && job->dialect->open != NULL &&
           response->transport == VQ_TRANSPORT_OK &&
           (response->status == STATUS_NOT_FOUND || response->status == STATUS_GONE);
}

static bool sends(enum vq_batch_action_type type)
{
    return type == VQ_BATCH_DO_OPEN || type == VQ_BATCH_DO_UPLOAD || type == VQ_BATCH_DO_CREATE;
}

static void failed(struct job *job, const struct vq_http_response *response)
{
    struct vq_batch_event event = {.type = VQ_BATCH_TICK};
    char why[VQ_REPLY_ERROR_BYTES_MAX] = "no memory to read the response";
    struct vq_reply reply;
    vq_reply_init(&reply);
    bool has_event = failed_type(job->type, &event.type);
    bool whole = response->transport == VQ_TRANSPORT_OK;
    if (read_error(job, response, &reply) == VQ_OK) {
        vq_reply_error(&reply, job->pool->url.at, job->pool->model, why);
        event.retry_after_ms = reply.retry_after_ms;
        event.for_good = !is_session_lost(job, response) && is_for_good(job, &reply, why);
        if (event.for_good && sends(job->type)) {
            say_refused(job, &reply, why);
        }
    }
    vq_reply_free(&reply);
    log_failure(job, why);
    if (whole && response->status == STATUS_NOT_FOUND) {
        event.type = job->type == VQ_BATCH_DO_GET     ? VQ_BATCH_GET_GONE
                     : job->type == VQ_BATCH_DO_FETCH ? VQ_BATCH_FETCH_DONE
                                                      : event.type;
    }
    if (job->type == VQ_BATCH_DO_CREATE && may_be_created(response)) {
        event.type = VQ_BATCH_CREATE_UNKNOWN;
    }
    if (has_event) {
        pass(job, &event);
    }
}

static void on_done(void *ctx, const struct vq_http_response *response)
{
    struct job *job = ctx;
    bool good = response->transport == VQ_TRANSPORT_OK && response->status >= 200 &&
                response->status <= 299;
    if (job->http->closing) {
        job_free(job);
        return;
    }
    if (job->type == VQ_BATCH_DO_PEEK && job->peeked[0] != '\0') {
        struct vq_batch_event event = {.type = VQ_BATCH_PEEK_DONE, .text = job->peeked};
        pass(job, &event);
    } else if (good) {
        succeeded(job, response);
    } else {
        failed(job, response);
    }
    job_free(job);
}

/* ---- the start of an exchange ---- */

static enum vq_status make_request(const struct job *job, const struct vq_batch_life *life,
                                   struct vq_batch_request *request)
{
    const struct vq_batch_dialect *d = job->dialect;
    struct vq_batch_at at = {d, job->pool->at->base_url, job->pool->at->model};
    struct vq_span document = vq_batches_document(job->http->options.batches, job->batch);
    switch (job->type) {
    case VQ_BATCH_DO_OPEN: return d->open(&at, life->record.name, document.bytes, request);
    case VQ_BATCH_DO_UPLOAD:
        return d->upload(&at, life->record.name, life->session, document, request);
    case VQ_BATCH_DO_CREATE:
        return d->create(&at, life->record.name, life->record.file, document, request);
    case VQ_BATCH_DO_LIST: return d->list(&at, job->text, request);
    case VQ_BATCH_DO_GET: return d->get(&at, life->record.id, request);
    case VQ_BATCH_DO_CANCEL: return d->cancel(&at, life->record.id, request);
    case VQ_BATCH_DO_PEEK: return d->results(&at, &life->view, VQ_BATCH_OUTPUT, request);
    case VQ_BATCH_DO_FETCH: return d->results(&at, &life->view, job->part, request);
    case VQ_BATCH_DO_DROP: return d->drop == NULL ? VQ_NOT_FOUND : d->drop(&at, job->text, request);
    case VQ_BATCH_DO_WRITE:
    case VQ_BATCH_DO_DELIVER:
    case VQ_BATCH_DO_GIVE_UP:
    case VQ_BATCH_DO_SETTLE:
    case VQ_BATCH_DO_FINISH: break;
    }
    return VQ_NOT_FOUND;
}

static uint32_t headers_fill(const struct job *job, const struct vq_batch_request *made,
                             struct vq_http_header headers[HEADERS_MAX])
{
    uint32_t count = 0;
    VQ_ASSERT(job->dialect->headers_count + made->headers_count < HEADERS_MAX);
    for (size_t i = 0; i < job->dialect->headers_count; i++) {
        headers[count++] = (struct vq_http_header){vq_span_str(job->dialect->headers[i].name),
                                                   vq_span_str(job->dialect->headers[i].value)};
    }
    for (size_t i = 0; i < made->headers_count; i++) {
        headers[count++] = (struct vq_http_header){vq_span_str(made->headers[i].name),
                                                   vq_span_str(made->headers[i].value)};
    }
    if (made->content_type[0] != '\0') {
        headers[count++] =
            (struct vq_http_header){vq_span_str("Content-Type"), vq_span_str(made->content_type)};
    }
    return count;
}

static enum vq_status body_fill(struct job *job, const struct vq_batch_request *made)
{
    vq_buf_append(&job->body, made->head.at, made->head.bytes);
    vq_buf_append(&job->body, made->document.at, made->document.bytes);
    vq_buf_append(&job->body, made->tail.at, made->tail.bytes);
    return job->body.status;
}

static enum vq_status send_it(struct job *job, const struct vq_batch_request *made,
                              struct vq_error *err)
{
    struct vq_http_header headers[HEADERS_MAX];
    const struct vq_work_endpoint *at = job->pool->at;
    bool lines = job->type == VQ_BATCH_DO_FETCH || job->type == VQ_BATCH_DO_PEEK;
    VQ_TRY(body_fill(job, made));
    struct vq_http_request request = {.method = made->method == VQ_BATCH_GET    ? VQ_HTTP_GET
                                                : made->method == VQ_BATCH_POST ? VQ_HTTP_POST
                                                                                : VQ_HTTP_DELETE,
                                      .url = made->url.at,
                                      .allow_http = at->allow_http,
                                      .headers = headers,
                                      .headers_count = headers_fill(job, made, headers),
                                      .secret = job->secret,
                                      .secret_header = job->pool->provider->auth_header,
                                      .secret_prefix = job->pool->provider->auth_prefix,
                                      .body = vq_buf_span(&job->body),
                                      .connect_ms = at->connect_timeout_ms,
                                      .first_byte_ms = sends(job->type) ? VQ_BATCH_CREATE_TIMEOUT_MS
                                                                        : at->first_byte_timeout_ms,
                                      .total_ms = sends(job->type) ? VQ_BATCH_CREATE_TIMEOUT_MS
                                                  : lines          ? VQ_BATCH_HTTP_FETCH_MS
                                                                   : at->total_timeout_ms,
                                      .slow_bytes_per_s = SLOW_BYTES_PER_S,
                                      .slow_s = SLOW_S,
                                      .body_bytes_max = VQ_BATCH_STATE_BYTES_MAX,
                                      .piece = lines ? on_piece : NULL,
                                      .done = on_done,
                                      .ctx = job};
    return vq_http_start(job->http->client, &request, NULL, err);
}

/* Whether a create must not be sent: the session's term is over, or the batch is only collected. */
static bool is_too_late(const struct job *job, const struct vq_batch_life *life)
{
    const struct vq_batch_http_options *options = &job->http->options;
    return job->type == VQ_BATCH_DO_CREATE &&
           (life->rules.collects || vq_clock_mono_ns() >= options->create_until_ns(options->ctx));
}

static void start(struct job *job)
{
    struct vq_batch_http *http = job->http;
    const struct vq_batch_life *life = vq_batches_life(http->options.batches, job->batch);
    job->pool = vq_shell_pools_named(http->options.pools, job->name);
    if (life == NULL && job->type != VQ_BATCH_DO_DROP) {
        job_free(job);
        return;
    }
    if (is_too_late(job, life)) {
        struct vq_batch_event event = {.type = VQ_BATCH_CREATE_UNSENT};
        pass(job, &event);
        job_free(job);
        return;
    }
    if (job->pool == NULL || job->pool->provider == NULL ||
        strcmp(job->pool->at->dialect, job->dialect->dialect) != 0) {
        not_sent(job, "the pool is not open here");
        return;
    }
    if (!vq_shell_pool_key(job->pool, false, &job->secret)) {
        not_sent(job, "every key was refused");
        return;
    }
    struct vq_batch_request made;
    struct vq_error err = {"the request cannot be made"};
    vq_batch_request_init(&made);
    enum vq_status status = make_request(job, life, &made);
    VQ_CRASH_POINT_OF(worker_batch_before, what_of(job->type));
    status = status == VQ_OK ? send_it(job, &made, &err) : status;
    vq_batch_request_free(&made);
    if (status != VQ_OK) {
        not_sent(job, err.text);
    } else {
        vq_list_push(&http->started, &job->link);
    }
}

static void start_all(void *ctx)
{
    struct vq_batch_http *http = ctx;
    struct vq_link batch;
    vq_list_init(&batch);
    vq_list_prepend(&batch, &http->waiting); /* jobs that these start wait for the next turn */
    while (!vq_list_empty(&batch)) {
        start(VQ_CONTAINER_OF(batch.next, struct job, link));
    }
}
