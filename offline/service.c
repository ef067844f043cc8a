/* A call is checked in the order of a provider: path, key, size, JSON, then requested faults, the
 * model, the rate limit, and the answer. Invariants: a call has exactly one "request" and at most
 * one "answer" line, and the latter is in the file before its first byte is sent; a key is known
 * only by its fingerprint. */
#include "offline/service_inside.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "offline/chat.h"
#include "offline/dialect.h"
#include "offline/embed.h"
#include "offline/refusal.h"

#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

#define MODEL_OWNER        "vibeq-offline"
#define OUTPUT_ASSUMED     4096u /* assumed output tokens of a call without max_tokens */
#define ORGANISATION_BYTES (VQ_POOL_LABEL_BYTES + 4)

/* One call during the steps below. */
struct passage {
    const struct vq_call *call;
    struct vq_route route;
    int64_t now_ns;
    int64_t unix_ms;
    struct vq_hash hash; /* of the body */
    char key[VQ_FINGERPRINT_HEX];
    char model[VQ_CHAT_MODEL_BYTES];
    uint64_t nth_try;
    struct vq_chat_request chat;
    bool is_parsed;
    const struct vq_fault_rule *rule; /* NULL: no fault */
    struct vq_pool *pool;
    char label[VQ_POOL_LABEL_BYTES];
    char organisation[ORGANISATION_BYTES];
    struct vq_admission admission; /* all zeros: the limiter was not asked */
    bool counts_failed;            /* a fault made it fail, and it counts as a request */
};

const struct vq_subject *vq_service_find_subject(const struct vq_service *service,
                                                 const char *model)
{
    for (size_t i = 0; i < service->config.subjects_n; i++) {
        if (strcmp(service->config.subjects[i].name, model) == 0) {
            return &service->config.subjects[i];
        }
    }
    return NULL;
}

static void add_default_subject(struct vq_service *service)
{
    struct vq_subject subject;
    struct vq_service_config *config = &service->config;
    vq_subject_default(&subject);
    if (vq_service_find_subject(service, subject.name) == NULL &&
        config->subjects_n < VQ_SERVICE_SUBJECTS_MAX) {
        config->subjects[config->subjects_n++] = subject;
    }
}

enum vq_status vq_service_create(struct vq_service_config *take_config, int64_t now_ns,
                                 struct vq_service **ret_service, struct vq_error *err)
{
    struct vq_service *service;
    VQ_TRY(VQ_ALLOC(service, 1));
    service->config = *take_config;
    take_config->rules = (struct vq_fault_rules){0};
    take_config->pools = (struct vq_pools){.n = 0};
    service->config.rules.seed = service->config.seed;
    service->start_ns = now_ns;
    add_default_subject(service);
    service->log.fd = -1;
    vq_batching_start(service);
    enum vq_status status = vq_lexical_create(service->config.seed, &service->answerer.lexical);
    if (status == VQ_OK && service->config.faults_path != NULL) {
        status = vq_fault_rules_load(&service->config.rules, service->config.faults_path, err);
    }
    if (status == VQ_OK && service->config.oracle_path != NULL) {
        status = vq_oracle_load(service->config.oracle_path, service->config.seed, &service->oracle,
                                err);
        service->answerer.oracle = service->oracle;
    }
    if (status == VQ_OK) {
        status = vq_call_log_open(service->config.log_path, &service->log, err);
    }
    if (status != VQ_OK) {
        vq_service_destroy(&service);
        return status;
    }
    *ret_service = service;
    return VQ_OK;
}

void vq_service_destroy(struct vq_service **service)
{
    if (*service == NULL) {
        return;
    }
    struct vq_service *s = *service;
    vq_call_log_close(&s->log);
    vq_offline_batches_free(&s->batches);
    vq_tries_free(&s->tries);
    vq_pools_free(&s->config.pools);
    vq_oracle_destroy(&s->oracle);
    vq_lexical_destroy(&s->answerer.lexical);
    vq_fault_rules_free(&s->config.rules);
    vq_free(s);
    *service = NULL;
}

/* Making fingerprints is slow (they use guarded memory), so they are cached by a hash of the
 * header. */
enum vq_status vq_service_print_key(struct vq_service *service, const struct vq_route *route,
                                    const char *header, char *print)
{
    const char *prefix = "";
    (void)vq_route_key_header(route, &prefix);
    size_t skip = strlen(prefix);
    print[0] = '\0';
    if (header == NULL || strncasecmp(header, prefix, skip) != 0 || header[skip] == '\0') {
        return VQ_OK;
    }
    struct vq_hash hash;
    vq_hash_of("offline-header", vq_span_str(header + skip), &hash);
    struct vq_cached_key *slot = &service->keys[vq_hash_u64(&hash) % VQ_SERVICE_KEYS_CACHED];
    if (!slot->used || !vq_hash_eq(&slot->header, &hash)) {
        struct vq_secret *secret = NULL;
        enum vq_status status = vq_secret_from_bytes(vq_span_str(header + skip), &secret);
        if (status != VQ_OK) {
            return status == VQ_INVALID ? VQ_OK : status; /* too long: not a key */
        }
        uint8_t bytes[VQ_FINGERPRINT_BYTES];
        vq_secret_fingerprint(secret, bytes);
        vq_secret_destroy(&secret);
        vq_hex(bytes, sizeof(bytes), slot->print);
        slot->header = hash;
        slot->used = true;
    }
    memcpy(print, slot->print, VQ_FINGERPRINT_HEX);
    return VQ_OK;
}

bool vq_service_may_enter(const struct vq_service *service, const char *print)
{
    if (!service->config.require_key) {
        return true;
    }
    for (size_t i = 0; i < service->config.keys_n; i++) {
        if (strcmp(service->config.keys[i], print) == 0) {
            return true;
        }
    }
    return service->config.keys_n == 0 && print[0] != '\0';
}

enum vq_status vq_service_find_model(const struct vq_service *service, const char *model,
                                     enum vq_judge_kind *ret_kind)
{
    if (vq_lexical_find(model, ret_kind) == VQ_OK) {
        return VQ_OK;
    }
    *ret_kind = VQ_JUDGE_KIND_A;
    if (vq_service_find_subject(service, model) != NULL) {
        return VQ_OK;
    }
    for (size_t i = 0; i < service->config.models_n; i++) {
        if (strcmp(service->config.models[i], model) == 0) {
            return VQ_OK;
        }
    }
    bool named = service->oracle != NULL && vq_oracle_names_model(service->oracle, model);
    return named ? VQ_OK : VQ_NOT_FOUND;
}

/* The kind of the request: "judge", "repair", "discover", "embed" ...; NULL: it cannot be read. */
static const char *kind_of(const struct passage *p)
{
    if (p->route.kind == VQ_ROUTE_EMBED) {
        return "embed";
    }
    return p->is_parsed ? vq_wanted_log_name(p->chat.wanted) : NULL;
}

/* Logs whether the limits admitted the call; null: they were not asked. */
static void log_admission(struct vq_json *line, const struct passage *p)
{
    enum vq_limit_kind kind = p->admission.refused_by;
    const char *refused_by = kind == VQ_LIMIT_NONE ? NULL : vq_limit_name(kind);
    vq_json_put_str(line, "refused_by", p->counts_failed ? "fault" : refused_by);
    vq_json_key(line, "admitted");
    if (p->admission.hold.is_held || refused_by != NULL || p->counts_failed) {
        vq_json_bool(line, p->admission.hold.is_held);
    } else {
        vq_json_null(line);
    }
}

static void log_request(struct vq_service *service, const struct passage *p,
                        const struct vq_offline_reply *reply)
{
    char hash[VQ_HEX_BYTES(VQ_HASH_BYTES)];
    vq_hex(p->hash.b, sizeof(p->hash.b), hash);
    struct vq_json *line = vq_call_log_begin(&service->log, "request", reply->n, p->unix_ms);
    vq_json_put_str(line, "call", p->call->client_id);
    vq_json_put_str(line, "key", p->key[0] == '\0' ? NULL : p->key);
    vq_json_put_str(line, "model", p->model);
    vq_json_put_str(line, "path", p->call->path);
    vq_json_put_str(line, "kind", kind_of(p));
    bool tiered = p->is_parsed && p->chat.tier[0] != '\0';
    vq_json_put_str(line, "service_tier", tiered ? p->chat.tier : NULL);
    vq_json_put_str(line, "hash", hash);
    vq_json_put_u64(line, "try", p->nth_try);
    vq_json_put_u64(line, "bytes", p->call->body.bytes);
    vq_json_put_u64(line, "prompt_tokens", p->is_parsed ? p->chat.prompt_tokens : 0);
    vq_json_put_u64(line, "cached_tokens", p->is_parsed ? p->chat.cached_tokens : 0);
    vq_json_put_u64(line, "cache_written_tokens", p->is_parsed ? p->chat.cache_written_tokens : 0);
    vq_json_put_str(line, "dialect", vq_dialect_name(p->route.dialect));
    vq_json_put_str(line, "pool", p->label);
    log_admission(line, p);
    vq_json_put_u64(line, "asked_in", p->admission.asked_in);
    vq_json_put_u64(line, "asked_out", p->admission.asked_out);
    vq_json_put_i64(line, "mono_ns", p->now_ns);
    vq_call_log_end(&service->log);
}

/* Releases the reply's share of a pool; the final charge stays in the reply. */
static void end_hold(struct vq_offline_reply *reply)
{
    if (reply->hold.is_held) {
        reply->counted_out = reply->hold.settled_out;
        vq_limiter_done(reply->limiter, &reply->hold);
    }
}

enum vq_status vq_service_answered(struct vq_service *service, struct vq_offline_reply *reply,
                                   int64_t taken_ns, int64_t now_ns, struct vq_error *err)
{
    end_hold(reply);
    if (reply->n == 0) {
        return VQ_OK;
    }
    if (reply->is_of_batches) { /* its line is already there */
        return vq_call_log_flush(&service->log, err);
    }
    struct vq_json *line = vq_call_log_begin(&service->log, "answer", reply->n, vq_clock_unix_ms());
    vq_json_put_u64(line, "status", reply->status);
    vq_json_put_str(line, "outcome", reply->outcome);
    vq_json_put_str(line, "fault",
                    reply->fault == VQ_FAULT_NONE ? NULL : vq_fault_info(reply->fault)->name);
    vq_json_put_str(line, "verdict", reply->verdict);
    vq_json_put_str(line, "service_tier", reply->tier[0] == '\0' ? NULL : reply->tier);
    vq_json_put_bool(line, "paid", reply->paid);
    vq_json_put_u64(line, "prompt_tokens", reply->prompt_tokens);
    vq_json_put_u64(line, "completion_tokens", reply->completion_tokens);
    vq_json_put_u64(line, "counted_out", reply->counted_out);
    vq_json_put_i64(line, "mono_ns", now_ns);
    vq_json_put_i64(line, "took_us", (now_ns - taken_ns) / VQ_NS_PER_US);
    vq_call_log_end(&service->log);
    return vq_call_log_flush(&service->log, err);
}

enum vq_status vq_service_over(struct vq_service *service, struct vq_offline_reply *reply,
                               const char *why, int64_t now_ns, struct vq_error *err)
{
    end_hold(reply);
    if (reply->n == 0 || why == NULL) {
        return VQ_OK;
    }
    struct vq_json *line =
        vq_call_log_begin(&service->log, reply->is_of_batches ? "batch_call_lost" : "lost",
                          reply->n, vq_clock_unix_ms());
    vq_json_put_str(line, "why", why);
    vq_json_put_i64(line, "mono_ns", now_ns);
    vq_call_log_end(&service->log);
    return vq_call_log_flush(&service->log, err);
}

/* Finds the pool whose limits apply to the call, and the name of the account. */
static void find_pool(struct vq_service *service, struct passage *p, struct vq_offline_reply *reply)
{
    p->pool = vq_pools_find(&service->config.pools, p->key, p->model);
    vq_pool_label(p->pool, p->key, p->model, p->label);
    const char *owner = vq_pool_is_named(p->pool) ? p->pool->name : p->key;
    if (owner[0] != '\0') {
        (void)snprintf(p->organisation, sizeof(p->organisation), "org-%s", owner);
        bool is_anthropic = p->route.dialect == VQ_DIALECT_ANTHROPIC;
        if (p->route.dialect != VQ_DIALECT_GEMINI) {
            vq_offline_reply_header(
                reply, is_anthropic ? "anthropic-organization-id" : "openai-organization", "%s",
                p->organisation);
        }
    }
}

static uint64_t account_of(const struct passage *p)
{
    struct vq_hash account;
    vq_hash_of("offline-account", vq_span_str(p->label), &account);
    return vq_hash_u64(&account);
}

/* The call for the limiter. The reply is already made, so its tokens are known. */
static struct vq_limit_call limit_call_of(const struct passage *p,
                                          const struct vq_offline_reply *reply)
{
    uint64_t cached = p->is_parsed ? p->chat.cached_tokens : 0;
    uint64_t most = p->is_parsed && p->chat.tokens_max > 0 ? p->chat.tokens_max : OUTPUT_ASSUMED;
    bool is_chat = p->route.kind == VQ_ROUTE_CHAT;
    return (struct vq_limit_call){.account = account_of(p),
                                  .now_ns = p->now_ns,
                                  .unix_ms = p->unix_ms,
                                  .pacific = p->route.dialect == VQ_DIALECT_GEMINI,
                                  .input = reply->prompt_tokens - cached,
                                  .cached = cached,
                                  .written = p->is_parsed ? p->chat.cache_written_tokens : 0,
                                  .counts_cached = p->route.dialect != VQ_DIALECT_ANTHROPIC,
                                  .output = reply->completion_tokens,
                                  .output_max = is_chat ? most : 0};
}

/* False: a limit refused the call, and the reply is this refusal. */
static enum vq_status ask_limiter(struct passage *p, struct vq_offline_reply *reply,
                                  bool *ret_admitted)
{
    *ret_admitted = true;
    if (p->pool->limiter == NULL) {
        return VQ_OK;
    }
    const struct vq_limits *limits = &p->pool->limits;
    struct vq_limit_call call = limit_call_of(p, reply);
    VQ_TRY(vq_limiter_ask(p->pool->limiter, &call, &p->admission));
    *ret_admitted = p->admission.refused_by == VQ_LIMIT_NONE;
    reply->limiter = p->pool->limiter;
    reply->hold = p->admission.hold;
    if (!*ret_admitted) {
        vq_refusal_of_limit(reply, limits, &p->admission, p->model, p->organisation);
    }
    vq_refusal_add_limits(reply, limits, &p->admission);
    return VQ_OK;
}

static int64_t delay_of(const struct vq_service *service, const struct passage *p)
{
    const struct vq_latency *latency = NULL;
    for (size_t i = 0; i < service->config.latencies_n; i++) {
        const struct vq_model_latency *row = &service->config.latencies[i];
        if (row->model == NULL ? latency == NULL : strcmp(row->model, p->model) == 0) {
            latency = &row->latency;
        }
    }
    if (latency == NULL) {
        return 0;
    }
    uint64_t seed = service->config.seed;
    return vq_latency_draw_ns(latency,
                              vq_fault_draw(seed, "offline-delay", 0, &p->hash, p->nth_try),
                              vq_fault_draw(seed, "offline-delay", 1, &p->hash, p->nth_try));
}

/* Counts a call that a fault made fail, if the limits count such calls. */
static enum vq_status count_failed(struct passage *p, struct vq_offline_reply *reply)
{
    if (p->pool->limiter == NULL || !p->pool->limits.count_failed) {
        return VQ_OK;
    }
    struct vq_limit_call call = limit_call_of(p, reply);
    struct vq_admission admission;
    call.is_failed = true;
    VQ_TRY(vq_limiter_ask(p->pool->limiter, &call, &admission));
    p->counts_failed = true;
    vq_refusal_add_limits(reply, &p->pool->limits, &admission);
    return VQ_OK;
}

/* Looks for a fault. True: it is an error, and the reply is this error. */
static enum vq_status meet_fault(struct vq_service *service, struct passage *p,
                                 struct vq_offline_reply *reply, bool *ret_is_error)
{
    int64_t since_start_ms = (p->now_ns - service->start_ns) / VQ_NS_PER_MS;
    struct vq_fault_query query = {.model = p->model,
                                   .pool = p->pool->name,
                                   .key_hex = p->key,
                                   .body = p->call->body,
                                   .flex = p->is_parsed && strcmp(p->chat.tier, "flex") == 0,
                                   .hash = &p->hash,
                                   .nth_try = p->nth_try,
                                   .since_start_ms = since_start_ms};
    p->rule = vq_fault_rules_match(&service->config.rules, &query);
    *ret_is_error = p->rule != NULL && vq_fault_info(p->rule->fault)->stage == VQ_FAULT_STAGE_ERROR;
    reply->delay_ns = p->rule == NULL ? 0 : p->rule->delay_ms * VQ_NS_PER_MS;
    if (*ret_is_error) {
        vq_refusal_of_rule(reply, p->rule, since_start_ms, vq_clock_unix_ms());
        return count_failed(p, reply);
    }
    return VQ_OK;
}

/* Marks a finished reply as spoiled, and adds the time for making it. */
static void spoil(const struct vq_service *service, const struct passage *p,
                  struct vq_offline_reply *reply)
{
    reply->delay_ns += delay_of(service, p);
    if (p->rule != NULL) {
        reply->fault = p->rule->fault;
        reply->fault_bytes = p->rule->bytes;
        reply->fault_interval_ms = p->rule->interval_ms;
        reply->paid = reply->paid && vq_fault_info(p->rule->fault)->paid;
    }
}

/* Reads the account's cache. Only Anthropic charges for writing it, for marked prefixes. */
static void look_into_cache(const struct vq_service *service, struct passage *p)
{
    struct vq_chat_request *chat = &p->chat;
    chat->cached_tokens = vq_fronts_find(&service->fronts, chat, account_of(p), p->now_ns);
    bool writes = p->route.dialect == VQ_DIALECT_ANTHROPIC && chat->fronts_n > 0;
    chat->cache_written_tokens = writes && chat->cached_tokens == 0 ? chat->fronts[0].tokens : 0;
}

static enum vq_status answer_chat(struct vq_service *service, struct passage *p,
                                  enum vq_judge_kind kind, struct vq_offline_reply *reply)
{
    bool spoils_text =
        p->rule != NULL && vq_fault_info(p->rule->fault)->stage == VQ_FAULT_STAGE_TEXT;
    struct vq_answer_context context = {.kind = kind,
                                        .subject = vq_service_find_subject(service, p->model),
                                        .fault = spoils_text ? p->rule->fault : VQ_FAULT_NONE,
                                        .variant = spoils_text ? p->rule->variant : "",
                                        .nth_try = p->nth_try,
                                        .hash = &p->hash,
                                        .n = reply->n,
                                        .created_s = vq_clock_unix_ms() / 1000};
    struct vq_error why = {0};
    look_into_cache(service, p);
    enum vq_status status = vq_answer_make(&service->answerer, &p->chat, &context, reply, &why);
    if (status == VQ_NOT_FOUND) {
        vq_offline_reply_error(reply, 400, why.text, "invalid_request_error", "oracle_no_truth");
        return VQ_OK;
    }
    VQ_TRY(status);
    bool admitted = false;
    VQ_TRY(ask_limiter(p, reply, &admitted));
    if (admitted) {
        spoil(service, p, reply);
    }
    if (admitted) {
        vq_fronts_keep(&service->fronts, &p->chat, account_of(p), p->now_ns + reply->delay_ns);
    }
    return VQ_OK;
}

static enum vq_status after_parsing(struct vq_service *service, struct passage *p,
                                    struct vq_offline_reply *reply)
{
    bool is_error = false;
    VQ_TRY(meet_fault(service, p, reply, &is_error));
    if (is_error) {
        return VQ_OK;
    }
    enum vq_judge_kind kind = VQ_JUDGE_KIND_A;
    if (vq_service_find_model(service, p->model, &kind) != VQ_OK) {
        char message[256];
        (void)snprintf(message, sizeof(message), "The model `%s` does not exist on this server.",
                       p->model);
        vq_offline_reply_error(reply, 404, message, "invalid_request_error", "model_not_found");
        return VQ_OK;
    }
    return answer_chat(service, p, kind, reply);
}

static void refuse_key(struct vq_offline_reply *reply)
{
    vq_offline_reply_error(reply, 401, "Incorrect API key provided.", "invalid_request_error",
                           "invalid_api_key");
}

static enum vq_status take_chat(struct vq_service *service, struct passage *p,
                                struct vq_offline_reply *reply)
{
    struct vq_error why = {0};
    enum vq_status parsed =
        p->call->too_large ? VQ_LIMIT : vq_chat_parse(p->call->body, &p->route, &p->chat, &why);
    p->is_parsed = parsed == VQ_OK;
    if (p->is_parsed) {
        memcpy(p->model, p->chat.model, sizeof(p->model));
        bool is_method = vq_wanted_is_part(p->chat.wanted) || vq_wanted_is_rating(p->chat.wanted);
        if (!is_method && vq_service_find_subject(service, p->model) != NULL) {
            p->chat.wanted = VQ_WANTED_CHAT;
        }
    }
    find_pool(service, p, reply);
    if (!vq_service_may_enter(service, p->key)) {
        refuse_key(reply);
        return VQ_OK;
    }
    if (p->call->too_large) {
        vq_offline_reply_error(reply, 413, "The body is too large.", "invalid_request_error",
                               "request_too_large");
        return VQ_OK;
    }
    if (!p->is_parsed) {
        vq_offline_reply_error(reply, 400, why.text, "invalid_request_error", "invalid_value");
        return VQ_OK;
    }
    return after_parsing(service, p, reply);
}

bool vq_service_knows_model(const void *service, const char *model)
{
    enum vq_judge_kind kind;
    return vq_service_find_model(service, model, &kind) == VQ_OK;
}

/* Errors and faults of the wire affect embeddings, too; faults of an answer's text do not. */
static enum vq_status take_embeddings(struct vq_service *service, struct passage *p,
                                      struct vq_offline_reply *reply)
{
    enum vq_status status = VQ_OK;
    if (!vq_service_may_enter(service, p->key)) {
        refuse_key(reply);
    } else if (p->call->too_large) {
        vq_offline_reply_error(reply, 413, "The body is too large.", "invalid_request_error",
                               "request_too_large");
    } else {
        status = vq_embed_answer(&p->route, p->call->body, vq_service_knows_model, service, reply,
                                 p->model);
    }
    find_pool(service, p, reply);
    if (status != VQ_OK || reply->status != 200) {
        return status;
    }
    bool is_error = false;
    bool admitted = false;
    VQ_TRY(meet_fault(service, p, reply, &is_error));
    if (is_error) {
        return VQ_OK;
    }
    VQ_TRY(ask_limiter(p, reply, &admitted));
    if (!admitted) {
        return VQ_OK;
    }
    if (p->rule != NULL && vq_fault_info(p->rule->fault)->stage == VQ_FAULT_STAGE_TEXT) {
        p->rule = NULL;
    }
    spoil(service, p, reply);
    return VQ_OK;
}

static void list_models(const struct vq_service *service, struct vq_offline_reply *reply)
{
    struct vq_json json;
    vq_json_open(&json, &reply->body, 0);
    vq_json_put_str(&json, "object", "list");
    vq_json_put_array(&json, "data");
    const char *name = NULL;
    size_t built_in = 0;
    size_t extra = 0;
    size_t subjects = 0;
    size_t rated = 0;
    bool embed_listed = false;
    for (;;) {
        if (vq_lexical_judges[built_in] != NULL) {
            name = vq_lexical_judges[built_in++];
        } else if (!embed_listed) {
            embed_listed = true;
            name = VQ_EMBED_MODEL;
        } else if (subjects < service->config.subjects_n) {
            name = service->config.subjects[subjects++].name;
        } else if (extra < service->config.models_n) {
            name = service->config.models[extra++];
        } else if (service->oracle == NULL ||
                   (name = vq_oracle_model(service->oracle, rated++)) == NULL) {
            break;
        }
        vq_json_object(&json);
        vq_json_put_str(&json, "id", name);
        vq_json_put_str(&json, "object", "model");
        vq_json_put_u64(&json, "created", 0);
        vq_json_put_str(&json, "owned_by", MODEL_OWNER);
        vq_json_object_end(&json);
    }
    vq_json_array_end(&json);
    vq_json_object_end(&json);
}

static enum vq_status take_post(struct vq_service *service, const struct vq_call *call,
                                const struct vq_route *route, int64_t now_ns,
                                struct vq_offline_reply *reply)
{
    struct passage p = {
        .call = call, .route = *route, .now_ns = now_ns, .unix_ms = vq_clock_unix_ms()};
    reply->dialect = route->dialect;
    reply->n = ++service->calls;
    vq_hash_of("offline-body", call->body, &p.hash);
    p.nth_try = vq_tries_count(&service->tries, &p.hash);
    VQ_TRY(vq_service_print_key(service, route, call->authorization, p.key));
    vq_offline_reply_header(reply,
                            route->dialect == VQ_DIALECT_ANTHROPIC ? "request-id" : "x-request-id",
                            "req-%" PRIu64, reply->n);
    enum vq_status status = route->kind == VQ_ROUTE_CHAT ? take_chat(service, &p, reply)
                                                         : take_embeddings(service, &p, reply);
    if (status == VQ_OK) {
        log_request(service, &p, reply);
    }
    if (p.is_parsed) {
        vq_chat_request_free(&p.chat);
    }
    return status;
}

enum vq_status vq_service_take(struct vq_service *service, const struct vq_call *call,
                               int64_t now_ns, struct vq_offline_reply *ret_reply,
                               struct vq_error *err)
{
    vq_offline_reply_init(ret_reply);
    bool is_get = strcmp(call->method, "GET") == 0 || strcmp(call->method, "HEAD") == 0;
    struct vq_route route;
    vq_route_of(call->path, &route);
    bool is_post_path = (route.kind == VQ_ROUTE_CHAT || route.kind == VQ_ROUTE_EMBED) &&
                        (!route.needs_version || call->api_version != NULL);
    enum vq_status status = VQ_OK;
    if (route.kind == VQ_ROUTE_BATCH && (!route.needs_version || call->api_version != NULL)) {
        status = vq_batching_take(service, call, &route, now_ns, ret_reply);
        status = status == VQ_OK ? vq_call_log_flush(&service->log, err) : status;
    } else if (is_post_path && strcmp(call->method, "POST") == 0) {
        status = take_post(service, call, &route, now_ns, ret_reply);
        if (status == VQ_OK && ret_reply->delay_ns > 0) {
            status = vq_call_log_flush(&service->log, err);
        }
    } else if (is_get && strcmp(call->path, "/v1/models") == 0) {
        list_models(service, ret_reply);
    } else if (is_get && strcmp(call->path, "/healthz") == 0) {
        vq_buf_puts(&ret_reply->body, "{\"status\":\"ok\",\"judge_kind\":\"offline\"}");
    } else {
        bool known = is_post_path || strcmp(call->path, "/v1/models") == 0 ||
                     strcmp(call->path, "/healthz") == 0;
        vq_offline_reply_error(ret_reply, known ? 405 : 404,
                               "There is nothing at this path or method.", "invalid_request_error",
                               "unknown_url");
    }
    if (status != VQ_OK) {
        vq_offline_reply_free(ret_reply);
        vq_error_prefix(err, "cannot answer a call (%s)", vq_status_text(status));
    }
    return status;
}
