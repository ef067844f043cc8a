/* The common part of reading a response: headers, the body within bounds, an error object or status
 * by the table, and responses that are not valid. A dialect knows the places of its errors and
 * answers. Not its job: the shapes of one provider. */
#include "worker/provider/read.h"

#include "common/base/calendar.h"
#include "worker/provider/answer.h"
#include "worker/provider/errors.h"
#include "worker/provider/params.h"
#include "worker/provider/scan.h"
#include "worker/provider/stream.h"
#include "worker/provider/text.h"

#include "common/text/utf8.h"

#include <stdio.h>

#define SHOWN_BYTES_MAX     120 /* of a body that is not JSON */
#define TEN_MINUTES_MS      INT64_C(600000)
#define STATUS_SERVER_ERROR 500

void vq_read_scalar(const json_t *object, const char *key, char *ret_line, size_t cap)
{
    const json_t *value = vq_body_get(object, key);
    if (json_is_string(value)) {
        vq_text_line(ret_line, cap, vq_body_get_string(object, key));
    } else if (json_is_number(value)) {
        (void)snprintf(ret_line, cap, "%.0f", json_number_value(value));
    }
}

void vq_read_text(const json_t *value, char *ret_line, size_t cap)
{
    if (json_is_string(value)) {
        vq_text_line(ret_line, cap, vq_span(json_string_value(value), json_string_length(value)));
    } else if (json_is_object(value) || json_is_array(value)) {
        char line[VQ_REPLY_MESSAGE_BYTES_MAX];
        size_t bytes = json_dumpb(value, line, sizeof(line), JSON_COMPACT);
        struct vq_span text = vq_span(line, bytes < sizeof(line) ? bytes : sizeof(line));
        vq_text_line(ret_line, cap, vq_utf8_cut(text, text.bytes));
    }
}

bool vq_read_has_error(const json_t *object)
{
    const json_t *error = vq_body_get(object, "error");
    return json_is_object(error) || vq_body_get_string(object, "error").bytes > 0;
}

void vq_read_bad(struct vq_reply *reply, const char *what)
{
    vq_buf_clear(&reply->content);
    reply->class = VQ_REPLY_BAD_RESPONSE;
    reply->maybe_billed = true;
    (void)snprintf(reply->error_message, sizeof(reply->error_message), "%s", what);
}

enum vq_status vq_read_answer(struct vq_reply *reply)
{
    if (reply->content.status == VQ_LIMIT) {
        vq_read_bad(reply, "the answer is over the size limit");
        return VQ_OK;
    }
    if (reply->content.status == VQ_OK) {
        reply->class = VQ_REPLY_ANSWER;
        vq_answer_explain(reply);
    }
    return reply->content.status;
}

static const struct {
    const char *dialect, *said, *means;
    bool refusal;
} finish_reasons[] = {
#define VQ_FINISH_REASON(dialect, said, means, refusal) {dialect, said, means, refusal},
#include "worker/provider/finish_reasons.def"
#undef VQ_FINISH_REASON
};

void vq_read_finish(const char *dialect, struct vq_span said, struct vq_reply *reply)
{
    for (size_t i = 0; i < VQ_COUNT(finish_reasons); i++) {
        if (strcmp(finish_reasons[i].dialect, dialect) == 0 &&
            vq_scan_is(said, finish_reasons[i].said)) {
            (void)snprintf(reply->finish_reason, sizeof(reply->finish_reason), "%s",
                           finish_reasons[i].means);
            reply->refusal = reply->refusal || finish_reasons[i].refusal;
            return;
        }
    }
    vq_text_line(reply->finish_reason, sizeof(reply->finish_reason), said);
    for (char *c = reply->finish_reason; *c != '\0'; c++) {
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c | 0x20) : *c;
    }
}

/* ---- errors ---- */

/* The server's time if the response has it, so that a wrong local clock does no harm. */
static int64_t now_of(const struct vq_response *response)
{
    int64_t date = response->headers->date_unix_s;
    int64_t now = date >= 0 ? date : response->now_unix_s;
    return now > 0 ? now : 0;
}

/* The wait by the row. A wait of a day or a month is done in steps of at most an hour. */
static void wait_by_row(const struct vq_error_rule *rule, int64_t now_unix_s,
                        struct vq_reply *reply)
{
    switch (rule->wait) {
    case VQ_ERROR_WAIT_SAID:
        if (rule->class == VQ_REPLY_QUOTA && reply->retry_after_ms > 0) {
            reply->parks = true;
            reply->park_until_unix_s = now_unix_s + (reply->retry_after_ms + 999) / 1000;
        }
        return;
    case VQ_ERROR_WAIT_TEN_MINUTES:
        reply->parks = true;
        reply->retry_after_ms =
            reply->retry_after_ms > TEN_MINUTES_MS ? reply->retry_after_ms : TEN_MINUTES_MS;
        return;
    case VQ_ERROR_WAIT_DAY:
        reply->park_until_unix_s = vq_calendar_pacific_midnight(now_unix_s);
        break;
    case VQ_ERROR_WAIT_MONTH: reply->park_until_unix_s = vq_calendar_next_month(now_unix_s); break;
    }
    reply->parks = true;
    int64_t left_s = reply->park_until_unix_s - now_unix_s;
    int64_t most_s = VQ_RETRY_AFTER_MS_MAX / 1000;
    reply->retry_after_ms = (left_s < most_s ? left_s : most_s) * 1000;
}

static void decide(const struct vq_reading *reading, int status, struct vq_reply *reply)
{
    const struct vq_error_rule *rule = vq_error_decide(reading->dialect, status, reply->error_code,
                                                       reply->error_type, reply->error_message);
    reply->class = rule->class;
    if (rule->class == VQ_REPLY_REFUSED) { /* the text of the refusal is stored as the answer */
        reply->refusal = true;
        (void)snprintf(reply->finish_reason, sizeof(reply->finish_reason), "content_filter");
        vq_buf_clear(&reply->content);
        vq_buf_puts(&reply->content, reply->error_message);
    }
    if (rule->class == VQ_REPLY_BAD_REQUEST) {
        reply->params_refused = vq_params_refused(reading->dialect, reply->error_param,
                                                  reply->error_code, reply->error_message);
    }
    if (vq_reply_end(reply) == VQ_END_RATE && reply->class != VQ_REPLY_CAPACITY) {
        reply->cap = vq_scan_cap(reply->error_message);
    }
    wait_by_row(rule, now_of(reading->response), reply);
    if (status >= 300 && status <= 399) {
        (void)snprintf(reply->error_message, sizeof(reply->error_message),
                       "HTTP status %d: redirects are not followed; name the address itself",
                       reply->status);
    } else if (reply->error_message[0] == '\0') {
        (void)snprintf(reply->error_message, sizeof(reply->error_message),
                       "HTTP status %d without a message", reply->status);
    }
}

static int status_of_error(const struct vq_reply *reply)
{
    int code = 0;
    int end = 0;
    bool numeric =
        sscanf(reply->error_code, "%3d%n", &code, &end) == 1 && reply->error_code[end] == '\0';
    return numeric && code >= 400 && code <= 599 ? code : STATUS_SERVER_ERROR;
}

void vq_read_error(const struct vq_reading *reading, const json_t *object, struct vq_reply *reply)
{
    reading->take_error(object, reply);
    decide(reading, status_of_error(reply), reply);
}

/* ---- the response ---- */

static struct vq_ratelimit limit_from_now(struct vq_ratelimit limit, int64_t now_unix_s)
{
    if (limit.reset_unix_s >= 0) {
        int64_t left_s = limit.reset_unix_s - now_unix_s;
        limit.reset_ms = left_s > 0 ? left_s * 1000 : 0;
    }
    return limit;
}

static void take_headers(const struct vq_response *response, struct vq_reply *reply)
{
    const struct vq_reply_headers *headers = response->headers;
    int64_t now = now_of(response);
    reply->status = response->status;
    reply->retry_after_ms = vq_retry_after_ms(headers, response->now_unix_s);
    reply->requests = limit_from_now(headers->requests, now);
    reply->tokens = limit_from_now(headers->tokens, now);
    reply->input_tokens = limit_from_now(headers->input_tokens, now);
    reply->output_tokens = limit_from_now(headers->output_tokens, now);
    reply->organisation = headers->organisation;
    reply->cost_usd = headers->cost_usd;
    memcpy(reply->request_id, headers->request_id, sizeof(reply->request_id));
    memcpy(reply->service_tier, headers->service_tier, sizeof(reply->service_tier));
}

enum vq_status vq_read_response(const struct vq_reading *reading, struct vq_reply *reply)
{
    const struct vq_response *response = reading->response;
    vq_reply_free(reply);
    take_headers(response, reply);
    bool success = response->status >= 200 && response->status <= 299;
    struct vq_json_room room;
    room.used = 0;
    json_t *root = NULL;
    bool streamed = vq_stream_is(response->body);
    enum vq_status status = streamed
                                ? vq_stream_load(response->body, reading->values_max, &root)
                                : vq_body_load(response->body, reading->values_max, &room, &root);
    if (status == VQ_NOMEM) {
        return status;
    }
    const json_t *object = json_is_array(root) ? json_array_get(root, 0) : root;
    if (success && status == VQ_LIMIT) {
        vq_read_bad(reply, "the response's JSON is over the limits of depth or size");
    } else if (success && !json_is_object(object)) {
        char what[160];
        (void)snprintf(what, sizeof(what),
                       "the response is %s; is this the address of a server that speaks the "
                       "dialect \"%s\"?",
                       streamed ? "an event stream without an answer" : "not a JSON object",
                       reading->dialect);
        vq_read_bad(reply, what);
    } else if (success) {
        status = reading->success(reading, object, reply);
    } else {
        reading->take_error(object, reply);
        if (root == NULL) {
            struct vq_span front = vq_utf8_cut(response->body, SHOWN_BYTES_MAX);
            vq_text_line(reply->error_message, sizeof(reply->error_message), front);
        }
        decide(reading, response->status, reply);
    }
    json_decref(root);
    return status == VQ_NOMEM ? VQ_NOMEM : VQ_OK;
}
