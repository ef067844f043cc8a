/* Batches as a part of the service: access, faults of calls, and the answers of lines. The code for
 * interactive calls makes these answers. Invariants: a call has exactly one line in the log,
 * written before its first byte is sent; lines of batches have no rate limit. Not its job: the
 * forms of dialects (offline/batch), the states of a batch (offline/batch/store.c). */
#include "common/base/clock.h"
#include "offline/batch/http.h"
#include "offline/chat.h"
#include "offline/embed.h"
#include "offline/refusal.h"
#include "offline/service_inside.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- lines ---- */

/* The route of the batch's requests if they were single calls. */
static struct vq_route route_of_lines(const struct vq_offline_batch *batch)
{
    struct vq_route route = {.kind = VQ_ROUTE_CHAT, .dialect = batch->dialect};
    if (vq_span_ends_with(vq_span_str(batch->endpoint), "/embeddings")) {
        route.kind = VQ_ROUTE_EMBED;
    }
    if (batch->dialect == VQ_DIALECT_GEMINI) {
        (void)snprintf(route.model, sizeof(route.model), "%s", batch->model);
    }
    return route;
}

static void refuse_line(struct vq_offline_reply *reply, const struct vq_fault_info *info)
{
    char message[256];
    (void)snprintf(message, sizeof(message), "Made on purpose by vibeq-offline: %s.", info->text);
    vq_offline_reply_error(reply, info->status, message, info->type, info->code);
}

/* The fault of a rule for this line; only errors and bad texts can affect a line. */
static const struct vq_fault_rule *fault_of_line(struct vq_service *service,
                                                 const struct vq_offline_batch *batch,
                                                 const char *model, struct vq_span body,
                                                 const struct vq_hash *hash, uint64_t nth_try)
{
    struct vq_fault_query query = {.model = model,
                                   .pool = "",
                                   .key_hex = batch->key,
                                   .body = body,
                                   .hash = hash,
                                   .nth_try = nth_try,
                                   .since_start_ms =
                                       (vq_clock_mono_ns() - service->start_ns) / VQ_NS_PER_MS};
    const struct vq_fault_rule *rule = vq_fault_rules_match(&service->config.rules, &query);
    enum vq_fault_stage stage =
        rule == NULL ? VQ_FAULT_STAGE_NONE : vq_fault_info(rule->fault)->stage;
    return stage == VQ_FAULT_STAGE_ERROR || stage == VQ_FAULT_STAGE_TEXT ? rule : NULL;
}

static enum vq_status answer_chat(struct vq_service *service, const struct vq_offline_batch *batch,
                                  struct vq_chat_request *chat, struct vq_span body,
                                  struct vq_offline_reply *reply)
{
    struct vq_hash hash;
    enum vq_judge_kind kind;
    vq_hash_of("offline-body", body, &hash);
    uint64_t nth_try = vq_tries_count(&service->tries, &hash);
    if (vq_service_find_model(service, chat->model, &kind) != VQ_OK) {
        vq_offline_batch_http_refuse(reply, 404, "model_not_found",
                                     "The model `%s` does not exist on this server.", chat->model);
        return VQ_OK;
    }
    const struct vq_fault_rule *rule =
        fault_of_line(service, batch, chat->model, body, &hash, nth_try);
    if (rule != NULL && vq_fault_info(rule->fault)->stage == VQ_FAULT_STAGE_ERROR) {
        refuse_line(reply, vq_fault_info(rule->fault));
        return VQ_OK;
    }
    const struct vq_subject *subject = vq_service_find_subject(service, chat->model);
    bool is_method = vq_wanted_is_part(chat->wanted) || vq_wanted_is_rating(chat->wanted);
    if (!is_method && subject != NULL) {
        chat->wanted = VQ_WANTED_CHAT;
    }
    struct vq_answer_context context = {.kind = kind,
                                        .subject = subject,
                                        .fault = rule == NULL ? VQ_FAULT_NONE : rule->fault,
                                        .variant = rule == NULL ? "" : rule->variant,
                                        .nth_try = nth_try,
                                        .hash = &hash,
                                        .n = ++service->calls,
                                        .created_s = vq_clock_unix_ms() / 1000};
    struct vq_error why = {0};
    enum vq_status status = vq_answer_make(&service->answerer, chat, &context, reply, &why);
    if (status == VQ_NOT_FOUND) {
        vq_offline_reply_error(reply, 400, why.text, "invalid_request_error", "oracle_no_truth");
        return VQ_OK;
    }
    return status;
}

static enum vq_status answer_line(void *context, const struct vq_offline_batch *batch,
                                  struct vq_span body, bool is_errored,
                                  struct vq_offline_reply *ret_reply)
{
    struct vq_service *service = context;
    struct vq_route route = route_of_lines(batch);
    ret_reply->dialect = batch->dialect;
    if (is_errored) {
        refuse_line(ret_reply, vq_fault_info(VQ_FAULT_SERVER_ERROR));
        return VQ_OK;
    }
    if (route.kind == VQ_ROUTE_EMBED) {
        char model[VQ_CHAT_MODEL_BYTES] = "";
        return vq_embed_answer(&route, body, vq_service_knows_model, service, ret_reply, model);
    }
    struct vq_chat_request chat;
    struct vq_error why = {0};
    enum vq_status status = vq_chat_parse(body, &route, &chat, &why);
    if (status == VQ_NOMEM) {
        return status;
    }
    if (status != VQ_OK) {
        vq_offline_batch_http_refuse(ret_reply, 400, "invalid_value", "%s", why.text);
        return VQ_OK;
    }
    status = answer_chat(service, batch, &chat, body, ret_reply);
    vq_chat_request_free(&chat);
    return status;
}

void vq_batching_start(struct vq_service *service)
{
    service->batches.seed = service->config.seed;
    service->batches.rules = service->config.batches;
    service->batches.log = &service->log;
    service->batches.answer = answer_line;
    service->batches.context = service;
}

enum vq_status vq_service_turn(struct vq_service *service, int64_t now_ns, struct vq_error *err)
{
    if (vq_offline_batches_next_ns(&service->batches, now_ns) > now_ns) {
        return VQ_OK;
    }
    enum vq_status status = vq_offline_batches_turn(&service->batches, now_ns, vq_clock_unix_ms());
    if (status != VQ_OK) {
        return vq_fail(err, status, "cannot continue a batch (%s)", vq_status_text(status));
    }
    return vq_call_log_flush(&service->log, err);
}

int64_t vq_service_next_ns(const struct vq_service *service, int64_t now_ns)
{
    return vq_offline_batches_next_ns(&service->batches, now_ns);
}

/* ---- calls ---- */

/* The account of batches and files: the pool that names the key, or the key itself. */
static const char *account_of(const struct vq_service *service, const char *key)
{
    const struct vq_pools *pools = &service->config.pools;
    for (size_t i = 0; i < pools->n; i++) {
        for (size_t k = 0; k < pools->list[i]->keys_n; k++) {
            if (strcmp(pools->list[i]->keys[k], key) == 0) {
                return pools->list[i]->name;
            }
        }
    }
    return key;
}

/* True: the fault is an error, and the reply is this error. Faults of an answer's bytes come after
 * the call was carried out. */
static bool meet_fault(struct vq_service *service, const struct vq_offline_batch_http *http,
                       struct vq_offline_reply *reply, const struct vq_fault_rule **ret_rule)
{
    char call[512];
    struct vq_hash hash;
    (void)snprintf(call, sizeof(call), "%s %s", http->call->method, http->call->path);
    vq_hash_of("offline-body", http->call->body, &hash);
    int64_t since_start_ms = (http->now_ns - service->start_ns) / VQ_NS_PER_MS;
    struct vq_fault_query query = {.model = "",
                                   .pool = http->account,
                                   .key_hex = http->key,
                                   .batch_call = call,
                                   .body = http->call->body,
                                   .hash = &hash,
                                   .nth_try = vq_tries_count(&service->tries, &hash),
                                   .since_start_ms = since_start_ms};
    const struct vq_fault_rule *rule = vq_fault_rules_match(&service->config.rules, &query);
    enum vq_fault_stage stage =
        rule == NULL ? VQ_FAULT_STAGE_NONE : vq_fault_info(rule->fault)->stage;
    *ret_rule = stage == VQ_FAULT_STAGE_TEXT ? NULL : rule;
    if (stage == VQ_FAULT_STAGE_ERROR) {
        vq_refusal_of_rule(reply, rule, since_start_ms, http->now_ms);
    }
    return stage == VQ_FAULT_STAGE_ERROR;
}

static void log_call(struct vq_service *service, const struct vq_offline_batch_http *http,
                     const struct vq_offline_reply *reply)
{
    struct vq_json *line = vq_call_log_begin(&service->log, "batch_call", reply->n, http->now_ms);
    vq_json_put_i64(line, "mono_ns", http->now_ns);
    vq_json_put_str(line, "method", http->call->method);
    vq_json_put_str(line, "path", http->call->path);
    vq_json_put_str(line, "dialect", vq_dialect_name(http->dialect));
    vq_json_put_str(line, "key", http->key[0] == '\0' ? NULL : http->key);
    vq_json_put_str(line, "pool", http->account);
    vq_json_put_u64(line, "bytes", http->call->body.bytes);
    vq_json_put_str(line, "batch", http->batch[0] == '\0' ? NULL : http->batch);
    vq_json_put_u64(line, "status", reply->status);
    vq_json_put_str(line, "fault",
                    reply->fault == VQ_FAULT_NONE ? NULL : vq_fault_info(reply->fault)->name);
    vq_call_log_end(&service->log);
}

static enum vq_status dispatch(struct vq_service *service, struct vq_offline_batch_http *http,
                               struct vq_offline_reply *reply)
{
    const struct vq_fault_rule *rule = NULL;
    const char *uploader = vq_offline_batch_upload_account(http->batches, http->call);
    if (uploader == NULL && !vq_service_may_enter(service, http->key)) {
        vq_offline_reply_error(reply, 401, "Incorrect API key provided.", "invalid_request_error",
                               "invalid_api_key");
        return VQ_OK;
    }
    if (meet_fault(service, http, reply, &rule)) {
        return VQ_OK;
    }
    if (http->call->too_large) {
        vq_offline_reply_error(reply, 413, "The body is too large.", "invalid_request_error",
                               "request_too_large");
        return VQ_OK;
    }
    VQ_TRY(vq_offline_batches_turn(http->batches, http->now_ns, http->now_ms));
    switch (http->dialect) {
    case VQ_DIALECT_OPENAI:
    case VQ_DIALECT_AZURE: VQ_TRY(vq_offline_batch_openai_take(http, reply)); break;
    case VQ_DIALECT_ANTHROPIC: VQ_TRY(vq_offline_batch_anthropic_take(http, reply)); break;
    case VQ_DIALECT_GEMINI: VQ_TRY(vq_offline_batch_gemini_take(http, reply)); break;
    }
    if (rule != NULL) {
        reply->fault = rule->fault;
        reply->fault_bytes = rule->bytes;
        reply->fault_interval_ms = rule->interval_ms;
        reply->delay_ns = rule->delay_ms * VQ_NS_PER_MS;
    }
    return reply->body.status;
}

enum vq_status vq_batching_take(struct vq_service *service, const struct vq_call *call,
                                const struct vq_route *route, int64_t now_ns,
                                struct vq_offline_reply *reply)
{
    char key[VQ_FINGERPRINT_HEX];
    VQ_TRY(vq_service_print_key(service, route, call->authorization, key));
    struct vq_offline_batch_http http = {.batches = &service->batches,
                                         .call = call,
                                         .dialect = route->dialect,
                                         .account = account_of(service, key),
                                         .key = key,
                                         .knows_model = vq_service_knows_model,
                                         .context = service,
                                         .now_ns = now_ns,
                                         .now_ms = vq_clock_unix_ms()};
    reply->dialect = route->dialect;
    reply->n = ++service->calls;
    reply->is_of_batches = true;
    VQ_TRY(dispatch(service, &http, reply));
    vq_offline_reply_header(reply,
                            route->dialect == VQ_DIALECT_ANTHROPIC ? "request-id" : "x-request-id",
                            "req-%" PRIu64, reply->n);
    log_call(service, &http, reply);
    return VQ_OK;
}
