/* Makes the core's reply from the dialect's reply. Not its job: the exchange. */
#include "worker/shell/reply.h"

#include "proto/params.h"
#include "proto/pool.h"

#include <stdio.h>
#include <string.h>

#define STATUS_UNAVAILABLE 503

void vq_reply_headers_of(const struct vq_http_response *response,
                         struct vq_reply_headers *ret_headers)
{
    vq_reply_headers_init(ret_headers);
    for (uint32_t i = 0; i < response->headers_count; i++) {
        vq_reply_headers_add(ret_headers, response->headers[i].name, response->headers[i].value);
    }
}

void vq_reply_explain(struct vq_reply *reply, const char *why)
{
    size_t said = strlen(reply->error_message);
    if (why[0] != '\0') {
        (void)snprintf(reply->error_message + said, sizeof(reply->error_message) - said, ": %s",
                       why);
    }
}

static enum vq_status hide(void *ctx, struct vq_span key)
{
    vq_reply_hide(ctx, key);
    return VQ_OK;
}

enum vq_status vq_reply_hide_secret(struct vq_reply *reply, const struct vq_secret *secret)
{
    return secret == NULL ? VQ_OK : vq_secret_expose(secret, hide, reply);
}

void vq_reply_error(const struct vq_reply *got, const char *url, const char *model,
                    char ret_text[VQ_REPLY_ERROR_BYTES_MAX])
{
    const char *shown = got->error_message;
    if (vq_reply_end(got) == VQ_END_ANSWER) {
        (void)snprintf(ret_text, VQ_REPLY_ERROR_BYTES_MAX, "%s", shown);
        return;
    }
    bool code = got->error_code[0] != '\0';
    (void)snprintf(ret_text, VQ_REPLY_ERROR_BYTES_MAX, "%s%s%s%s",
                   shown[0] != '\0' ? shown : "no answer", code ? " (" : "", got->error_code,
                   code ? ")" : "");
    bool of_model = got->class == VQ_REPLY_MODEL;
    if (of_model || got->class == VQ_REPLY_BLOCKED || got->class == VQ_REPLY_BAD_RESPONSE) {
        size_t said = strlen(ret_text);
        (void)snprintf(ret_text + said, VQ_REPLY_ERROR_BYTES_MAX - said, " (asked: %.400s%s%.100s)",
                       url, of_model ? ", model " : "", of_model ? model : "");
    }
}

static uint64_t tokens(int64_t reported)
{
    return reported < 0 ? 0 : (uint64_t)reported;
}

/* Gemini reports it with the status of an overloaded server. */
static bool says_no_capacity(const struct vq_reply *got)
{
    return got->class == VQ_REPLY_CAPACITY ||
           (got->class == VQ_REPLY_PROVIDER && got->status == STATUS_UNAVAILABLE);
}

struct vq_work_reply vq_reply_for_core(const struct vq_reply *got, const char *error, bool others,
                                       uint32_t params)
{
    enum vq_call_end end = vq_reply_end(got);
    uint32_t learned = end == VQ_END_BAD_REQUEST ? got->params_refused & params : 0;
    if (learned != 0) { /* it will be retried without the parameter: the pool is fine */
        end = VQ_END_CLOSED;
        others = true;
    }
    return (struct vq_work_reply){
        .end = end,
        .pool = others ? VQ_POOL_OPEN : vq_reply_pool(got),
        .params_refused = learned,
        .retry_after_ms = got->retry_after_ms,
        .parks = got->parks,
        .slowed = got->class == VQ_REPLY_SLOW_DOWN,
        .no_capacity = says_no_capacity(got),
        .park_unix_s = got->park_until_unix_s > 0 ? got->park_until_unix_s : 0,
        .said = vq_reply_rates(got),
        .cap = got->cap,
        .organisation = got->organisation,
        .refusal = got->refusal,
        .http_status = got->status > 0 ? (uint32_t)got->status : 0,
        .tokens_in = tokens(got->tokens_in),
        .tokens_cached = tokens(got->tokens_cached),
        .tokens_cache_written = tokens(got->tokens_cache_written),
        .tokens_cache_written_long = tokens(got->tokens_cache_written_long),
        .tokens_uncounted = tokens(got->tokens_uncounted),
        .tokens_out = tokens(got->tokens_out),
        .provider_nano = (uint64_t)(got->cost_usd * VQ_NANO_PER_USD),
        .answer = end == VQ_END_ANSWER ? vq_buf_span(&got->content) : vq_span(NULL, 0),
        .finish_reason = vq_span_str(got->finish_reason),
        .model = vq_span_str(got->model),
        .fingerprint = vq_span_str(got->system_fingerprint),
        .label_logprobs = vq_span_str(got->label_logprobs),
        .tier = vq_span_str(got->service_tier),
        .error = vq_span_str(error)};
}
