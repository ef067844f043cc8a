/* Reads SPEC, SAMPLE and LEASEs from a file, makes each LEASE's first ask as one call, prints what came of it. Invariants: one line
 * a LEASE, also when its call could not be sent; a key reaches the HTTP layer and nothing else, and is blotted out of whatever
 * the provider says. Owns everything it makes, for the length of vq_worker_check. Not its job: verdicts (the caller reads the
 * answer), retries, limits, the spool. */
#include "worker/shell/check.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/hash.h"
#include "common/net/http.h"
#include "common/text/file.h"
#include "common/text/json.h"
#include "worker/core/spec.h"
#include "worker/provider/provider.h"
#include "worker/shell/keyring.h"

#include <stdio.h>
#include <string.h>

#define LINE_BYTES_MAX    (8u << 20) /* an answer of VQ_ANSWER_BYTES_MAX, escaped */
#define HEADERS_MAX       8u
#define FRAME_HEAD_BYTES  4u
#define LEFTOVER_MS       1000u /* over the last call's own deadline */
#define CALL_ID_BYTES     16u
#define LEASES_MAX        256u
#define TOTAL_TIMEOUT_MAX UINT64_C(3600000)

struct check;

struct check_call {
    struct check *check;
    uint32_t judge;
    uint32_t vibe;
    unsigned order;
    const struct vq_provider *provider;
    const struct vq_secret *key; /* the ring's */
    struct vq_buf system, user, url, body;
    struct vq_reply reply;
    char why[VQ_ERROR_BYTES_MAX]; /* it was not sent */
};

struct check {
    struct vq_decoder *decoder, *sample_decoder;
    struct vq_work_spec *spec;
    struct vq_sample sample; /* in sample_decoder and the file's bytes */
    struct check_call *calls;
    uint32_t calls_count;
    struct vq_keyring *keys;
    struct vq_loop *loop;
    struct vq_http *http;
    uint32_t open; /* calls in flight */
    enum vq_status status;
};

/* ---- the file ---- */

static bool take_frame(struct vq_span *rest, struct vq_span *ret_frame)
{
    if (rest->bytes < FRAME_HEAD_BYTES) {
        return false;
    }
    const unsigned char *head = (const unsigned char *)rest->at;
    size_t bytes =
        (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | (size_t)head[3];
    if (bytes > rest->bytes - FRAME_HEAD_BYTES) {
        return false;
    }
    *ret_frame = vq_span(rest->at + FRAME_HEAD_BYTES, bytes);
    *rest = vq_span(rest->at + FRAME_HEAD_BYTES + bytes, rest->bytes - FRAME_HEAD_BYTES - bytes);
    return true;
}

static enum vq_status next_message(struct vq_span *rest, struct vq_decoder *decoder,
                                   enum vq_msg_type type, struct vq_msg *ret_msg,
                                   struct vq_error *err)
{
    struct vq_span frame;
    if (!take_frame(rest, &frame)) {
        return vq_fail(err, VQ_INVALID, "the file of the check ends too early");
    }
    VQ_TRY(vq_msg_decode(decoder, frame, VQ_TO_WORKER, ret_msg, err));
    if (ret_msg->type != type) {
        return vq_fail(err, VQ_INVALID, "the file of the check has %s where %s belongs",
                       vq_msg_name(ret_msg->type), vq_msg_name(type));
    }
    return VQ_OK;
}

static enum vq_status read_leases(struct check *c, struct vq_span rest, struct vq_error *err)
{
    while (rest.bytes > 0) {
        struct vq_msg msg;
        VQ_TRY(next_message(&rest, c->decoder, VQ_MSG_LEASE, &msg, err));
        const struct vq_msg_lease *lease = &msg.u.lease;
        if (c->calls_count == LEASES_MAX || lease->judge >= c->spec->judges_count ||
            lease->asks_count != 1 || lease->asks[0].vibe >= c->spec->axes_count) {
            return vq_fail(err, VQ_INVALID,
                           "the file of the check asks for what its SPEC does not have");
        }
        c->calls[c->calls_count++] = (struct check_call){.check = c,
                                                         .judge = lease->judge,
                                                         .vibe = lease->asks[0].vibe,
                                                         .order = lease->asks[0].order};
    }
    return VQ_OK;
}

static enum vq_status read_file(struct check *c, struct vq_span bytes, struct vq_error *err)
{
    struct vq_msg msg;
    struct vq_span rest = bytes;
    VQ_TRY(next_message(&rest, c->decoder, VQ_MSG_SPEC, &msg, err));
    VQ_TRY(vq_work_spec_create(msg.u.spec.body, &msg.u.spec.hash, &c->spec, err));
    VQ_TRY(next_message(&rest, c->sample_decoder, VQ_MSG_SAMPLE, &msg, err));
    c->sample = (struct vq_sample){msg.u.sample.prompt, msg.u.sample.a, msg.u.sample.b};
    return read_leases(c, rest, err);
}

/* ---- one line of JSON ---- */

static void put_i64(struct vq_json *j, const char *key, int64_t value)
{
    vq_json_key(j, key);
    if (value < 0) {
        vq_json_null(j);
    } else {
        vq_json_i64(j, value);
    }
}

static void put_text(struct vq_json *j, const char *key, const char *text)
{
    vq_json_key(j, key);
    vq_json_str(j, text == NULL || text[0] == '\0' ? NULL : text);
}

static void print_line(struct check_call *call, bool sent, int64_t latency_ms)
{
    const struct vq_reply *r = &call->reply;
    struct vq_buf line;
    struct vq_json json, *j = &json;
    vq_buf_init(&line, LINE_BYTES_MAX);
    vq_json_init(j, &line, 0);
    vq_json_object(j);
    put_i64(j, "judge", call->judge);
    vq_json_key(j, "sent");
    vq_json_bool(j, sent);
    put_text(j, "class", sent ? vq_reply_class_name(r->class) : NULL);
    put_i64(j, "http_status", r->status);
    vq_json_key(j, "refusal");
    vq_json_bool(j, r->refusal);
    vq_json_key(j, "answer");
    if (sent && r->class == VQ_REPLY_ANSWER) {
        vq_json_span(j, vq_buf_span(&r->content));
    } else {
        vq_json_null(j);
    }
    put_text(j, "finish_reason", r->finish_reason);
    put_text(j, "model", r->model);
    put_i64(j, "tokens_in", r->tokens_in);
    put_i64(j, "tokens_cached", r->tokens_cached);
    put_i64(j, "tokens_out", r->tokens_out);
    put_i64(j, "latency_ms", latency_ms);
    put_text(j, "error", sent ? r->error_message : call->why);
    vq_json_object_end(j);
    vq_buf_putc(&line, '\n');
    enum vq_status status = line.status;
    if (status == VQ_OK &&
        (fwrite(line.at, 1, line.bytes, stdout) != line.bytes || fflush(stdout) != 0)) {
        status = VQ_IO;
    }
    vq_buf_free(&line);
    if (status != VQ_OK && call->check->status == VQ_OK) {
        call->check->status = status;
    }
}

/* ---- the calls ---- */

static enum vq_status hide(void *ctx, struct vq_span key)
{
    vq_reply_hide(ctx, key);
    return VQ_OK;
}

static void on_done(void *ctx, const struct vq_http_response *response)
{
    struct check_call *call = ctx;
    enum vq_status status = VQ_OK;
    if (response->transport == VQ_TRANSPORT_OK) {
        struct vq_reply_headers headers;
        vq_reply_headers_init(&headers);
        for (uint32_t i = 0; i < response->headers_count; i++) {
            vq_reply_headers_add(&headers, response->headers[i].name, response->headers[i].value);
        }
        struct vq_response whole = {.status = response->status,
                                    .headers = &headers,
                                    .body = response->body,
                                    .now_unix_s = vq_clock_unix_ms() / 1000};
        status = call->provider->read(&whole, &call->reply);
    } else {
        vq_reply_from_transport(response->transport, response->sent, &call->reply);
        if (response->error != NULL && response->error[0] != '\0') {
            (void)snprintf(call->reply.error_message, sizeof(call->reply.error_message), "%s: %s",
                           vq_transport_text(response->transport), response->error);
        }
    }
    if (call->key != NULL && status == VQ_OK) {
        status = vq_secret_expose(call->key, hide, &call->reply);
    }
    if (status == VQ_OK) {
        print_line(call, true, response->total_ns / VQ_NS_PER_MS);
    } else if (call->check->status == VQ_OK) {
        call->check->status = status;
    }
    call->check->open--;
}

static enum vq_status render(struct check_call *call, const struct vq_work_judge *judge,
                             struct vq_error *err)
{
    struct check *c = call->check;
    enum vq_status status = vq_request_render(&judge->asker, &c->sample, &c->spec->axes[call->vibe],
                                              call->order, 0, &call->system, &call->user);
    if (status == VQ_OK) {
        status = call->provider->url(judge->base_url, &call->url);
    }
    if (status == VQ_OK) {
        status = call->provider->body(&judge->judge, vq_buf_span(&call->system),
                                      vq_buf_span(&call->user), &call->body);
    }
    return status == VQ_OK
               ? VQ_OK
               : vq_fail(err, status, "the request cannot be made: %s", vq_status_text(status));
}

static enum vq_status send_call(struct check_call *call, struct vq_error *err)
{
    struct check *c = call->check;
    const struct vq_work_judge *judge = &c->spec->judges[call->judge];
    call->provider = vq_provider_find(judge->judge.dialect);
    if (call->provider == NULL) {
        return vq_fail(err, VQ_INVALID, "this worker does not speak the dialect \"%.64s\"",
                       judge->judge.dialect);
    }
    VQ_TRY(vq_keyring_find(c->keys, judge->judge.name, judge->key, &call->key, err));
    VQ_TRY(render(call, judge, err));
    uint8_t random[CALL_ID_BYTES];
    char id[VQ_HEX_BYTES(CALL_ID_BYTES)];
    vq_random_bytes(random, sizeof(random));
    vq_hex(random, sizeof(random), id);
    struct vq_http_header headers[HEADERS_MAX];
    uint32_t n = 0;
    for (size_t i = 0; i < call->provider->headers_count && n < HEADERS_MAX - 1; i++) {
        const struct vq_provider_header *h = &call->provider->headers[i];
        headers[n++] = (struct vq_http_header){vq_span_str(h->name), vq_span_str(h->value)};
    }
    headers[n++] =
        (struct vq_http_header){vq_span_str(call->provider->call_id_header), vq_span_str(id)};
    struct vq_http_request request = {.url = call->url.at,
                                      .headers = headers,
                                      .headers_count = n,
                                      .secret = call->key,
                                      .secret_header = call->provider->auth_header,
                                      .secret_prefix = call->provider->auth_prefix,
                                      .body = vq_buf_span(&call->body),
                                      .connect_ms = judge->connect_timeout_ms,
                                      .first_byte_ms = judge->first_byte_timeout_ms,
                                      .total_ms = judge->total_timeout_ms,
                                      .body_bytes_max = VQ_RESPONSE_BODY_BYTES_MAX,
                                      .done = on_done,
                                      .ctx = call};
    VQ_TRY(vq_http_start(c->http, &request, NULL, err));
    c->open++;
    return VQ_OK;
}

static void open_call(struct check_call *call)
{
    vq_reply_init(&call->reply);
    vq_buf_init(&call->system, VQ_RENDER_BYTES_MAX);
    vq_buf_init(&call->user, VQ_RENDER_BYTES_MAX);
    vq_buf_init(&call->url, VQ_HTTP_URL_BYTES_MAX);
    vq_buf_init(&call->body, VQ_REQUEST_BODY_BYTES_MAX);
    struct vq_error err = {0};
    enum vq_status status = send_call(call, &err);
    if (status != VQ_OK) {
        (void)snprintf(call->why, sizeof(call->why), "%s",
                       err.text[0] != '\0' ? err.text : vq_status_text(status));
        print_line(call, false, -1);
    }
}

static void close_call(struct check_call *call)
{
    vq_reply_free(&call->reply);
    vq_buf_free(&call->system);
    vq_buf_free(&call->user);
    vq_buf_free(&call->url);
    vq_buf_free(&call->body);
}

static bool all_ended(void *ctx)
{
    const struct check *c = ctx;
    return c->open == 0 || c->status != VQ_OK;
}

/* Each call has its deadline; nothing here may wait longer. */
static uint32_t longest_ms(const struct check *c)
{
    uint64_t longest = VQ_HTTP_TOTAL_MS;
    for (uint32_t i = 0; i < c->spec->judges_count; i++) {
        uint64_t ms = c->spec->judges[i].total_timeout_ms;
        longest = ms > longest ? ms : longest;
    }
    return (uint32_t)((longest < TOTAL_TIMEOUT_MAX ? longest : TOTAL_TIMEOUT_MAX) + LEFTOVER_MS);
}

static enum vq_status make_calls(struct check *c, struct vq_error *err)
{
    VQ_TRY(vq_loop_create(&c->loop, err));
    VQ_TRY(vq_http_create(c->loop, NULL, &c->http, err));
    for (uint32_t i = 0; i < c->calls_count; i++) {
        open_call(&c->calls[i]);
    }
    VQ_TRY(vq_loop_run_until(c->loop, all_ended, c, longest_ms(c)));
    return c->status;
}

static void close_all(struct check *c)
{
    vq_http_destroy(&c->http);
    vq_loop_destroy(&c->loop);
    for (uint32_t i = 0; i < c->calls_count; i++) {
        close_call(&c->calls[i]);
    }
    vq_free(c->calls);
    vq_keyring_destroy(&c->keys);
    vq_work_spec_destroy(&c->spec);
    vq_decoder_destroy(&c->decoder);
    vq_decoder_destroy(&c->sample_decoder);
}

enum vq_status vq_worker_check(const char *path, struct vq_error *err)
{
    static const struct vq_worker_options here = {
        .local = 0}; /* a file may hold a key, as for local workers */
    struct check c = {.status = VQ_OK};
    struct vq_buf bytes;
    VQ_TRY(vq_file_read(path, VQ_CHECK_FILE_BYTES_MAX, &bytes, err));
    c.calls = vq_alloc(LEASES_MAX, sizeof(*c.calls));
    enum vq_status status = c.calls == NULL ? VQ_NOMEM : vq_decoder_create(&c.decoder);
    if (status == VQ_OK) {
        status = vq_decoder_create(&c.sample_decoder);
    }
    if (status == VQ_OK) {
        status = vq_keyring_create(&here, &c.keys);
    }
    if (status == VQ_OK) {
        status = read_file(&c, vq_buf_span(&bytes), err);
    }
    if (status == VQ_OK) {
        status = make_calls(&c, err);
    }
    close_all(&c);
    vq_buf_free(&bytes);
    return status;
}
