/* Message batches of Anthropic (platform.claude.com/docs/en/api/messages/batches). Not its job: the
 * lines of the results (results.c). */
#include "common/text/json.h"
#include "offline/batch/http.h"
#include "offline/batch/results.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#define REQUESTS_MAX   100000u
#define BYTES_MAX      (256u * 1000 * 1000)
#define CUSTOM_ID_MAX  64u
#define LIST_DEFAULT   20u
#define LIST_MAX       1000u
#define HOST_BYTES_MAX 200

static const char *status_of(enum vq_offline_batch_phase phase)
{
    if (vq_offline_batch_phase_is_last(phase)) {
        return "ended";
    }
    return phase == VQ_BATCH_CANCELLING ? "canceling" : "in_progress";
}

static void put_date(struct vq_json *json, const char *name, bool happened, int64_t unix_ms)
{
    char date[VQ_BATCH_DATE_BYTES];
    vq_offline_batch_date(unix_ms, date);
    vq_json_put_str(json, name, happened ? date : NULL);
}

/* Counts are shown only after the batch has ended, as the provider does. */
static void write_counts(struct vq_json *json, const struct vq_offline_batch *batch, bool is_over)
{
    vq_json_put_object(json, "request_counts");
    vq_json_put_u64(json, "processing", is_over ? 0 : batch->course.lines);
    for (int i = VQ_BATCH_LINE_SUCCEEDED; i < VQ_BATCH_LINE__COUNT; i++) {
        vq_json_put_u64(json, vq_offline_batch_result_name((enum vq_offline_batch_result)i),
                        is_over ? batch->counts[i] : 0);
    }
    vq_json_object_end(json);
}

static void write_batch(struct vq_json *json, const struct vq_offline_batch_http *http,
                        const struct vq_offline_batch *batch)
{
    char url[HOST_BYTES_MAX + 128];
    enum vq_offline_batch_phase phase = vq_offline_batch_phase_of(batch, http->now_ns);
    bool is_over = vq_offline_batch_phase_is_last(phase);
    const struct vq_offline_batch_course *course = &batch->course;
    const char *host = vq_call_header(http->call, "Host");
    (void)snprintf(url, sizeof(url), "http://%.*s/v1/messages/batches/%s/results", HOST_BYTES_MAX,
                   host == NULL ? "" : host, batch->id);
    vq_json_object(json);
    vq_json_put_str(json, "id", batch->id);
    vq_json_put_str(json, "type", "message_batch");
    vq_json_put_str(json, "processing_status", status_of(phase));
    write_counts(json, batch, is_over);
    put_date(json, "ended_at", is_over,
             is_over ? vq_offline_batch_wall_ms(batch, vq_offline_batch_course_end_ns(course)) : 0);
    put_date(json, "created_at", true, batch->created_ms);
    put_date(json, "expires_at", true, batch->created_ms + batch->rules.expires_ms);
    put_date(json, "archived_at", false, 0);
    bool was_cancelled = course->cancel_ns != VQ_BATCH_NEVER;
    put_date(json, "cancel_initiated_at", was_cancelled,
             was_cancelled ? vq_offline_batch_wall_ms(batch, course->cancel_ns) : 0);
    vq_json_put_str(json, "results_url", is_over ? url : NULL);
    vq_json_object_end(json);
}

static bool is_custom_id(const json_t *id)
{
    const char *text = json_string_value(id);
    size_t n = json_string_length(id);
    return text != NULL && n > 0 && n <= CUSTOM_ID_MAX &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == n;
}

/* Reads the requests into the batch. False: the reply has the problem. */
static enum vq_status read_requests(const json_t *root, struct vq_offline_batch *batch,
                                    struct vq_offline_reply *reply, bool *ret_good)
{
    const json_t *requests = json_object_get(root, "requests");
    size_t n = json_array_size(requests);
    *ret_good = false;
    if (n == 0 || n > REQUESTS_MAX) {
        vq_offline_batch_http_refuse(reply, 400, NULL, "requests: a list of 1 to %u requests",
                                     REQUESTS_MAX);
        return VQ_OK;
    }
    for (size_t i = 0; i < n; i++) {
        const json_t *request = json_array_get(requests, i);
        const json_t *id = json_object_get(request, "custom_id");
        const json_t *params = json_object_get(request, "params");
        const char *model = json_string_value(json_object_get(params, "model"));
        if (!is_custom_id(id) || model == NULL) {
            vq_offline_batch_http_refuse(
                reply, 400, NULL,
                "requests.%zu: needs params with a model, and a custom_id of 1 to %u letters, "
                "digits, _ and -",
                i, CUSTOM_ID_MAX);
            return VQ_OK;
        }
        if (i == 0) {
            (void)snprintf(batch->model, sizeof(batch->model), "%.*s", VQ_CHAT_MODEL_BYTES - 1,
                           model);
        }
        VQ_TRY(vq_offline_batch_add_line(
            batch, vq_span(json_string_value(id), json_string_length(id)), params));
    }
    uint64_t twice = 0;
    VQ_TRY(vq_offline_batch_find_twice(batch, &twice));
    if (twice > 0) {
        vq_offline_batch_http_refuse(reply, 400, NULL,
                                     "requests.%" PRIu64 ".custom_id: custom_id must be unique",
                                     twice - 1);
    }
    *ret_good = twice == 0;
    return VQ_OK;
}

static bool is_over_limit(const struct vq_offline_batch_http *http,
                          const struct vq_offline_batch *batch, struct vq_offline_reply *reply)
{
    const struct vq_offline_batch_rules *rules =
        vq_offline_batch_rules_find(&http->batches->rules, batch->model);
    if ((rules->requests_max > 0 && batch->course.lines > rules->requests_max) ||
        (rules->bytes_max > 0 && batch->texts.bytes > rules->bytes_max)) {
        vq_offline_batch_http_refuse(reply, 413, "request_too_large",
                                     "The batch has too many requests or bytes for this model.");
        return true;
    }
    if (vq_offline_batches_over_tokens(http->batches, batch)) {
        vq_offline_batch_http_refuse(reply, 429, "rate_limit_exceeded",
                                     "The requests in the processing queue would exceed the limit "
                                     "of %" PRIu64 " tokens for %.64s.",
                                     rules->tokens, batch->model);
        return true;
    }
    return false;
}

static enum vq_status create(struct vq_offline_batch_http *http, struct vq_offline_reply *reply)
{
    json_t *root = NULL;
    if (http->call->body.bytes > BYTES_MAX) {
        vq_offline_batch_http_refuse(reply, 413, "request_too_large",
                                     "A batch has at most %u bytes.", BYTES_MAX);
        return VQ_OK;
    }
    VQ_TRY(vq_offline_batch_http_object(http, reply, &root));
    if (root == NULL) {
        return VQ_OK;
    }
    struct vq_offline_batch *batch = vq_offline_batch_http_new(http);
    bool is_good = false;
    enum vq_status status = batch == NULL ? VQ_NOMEM : read_requests(root, batch, reply, &is_good);
    json_decref(root);
    if (status == VQ_LIMIT) {
        vq_offline_batch_http_refuse(reply, 413, "request_too_large", "The batch is too large.");
        status = VQ_OK;
        is_good = false;
    }
    if (status != VQ_OK || !is_good || is_over_limit(http, batch, reply)) {
        vq_offline_batch_free(batch);
        return status;
    }
    bool is_added = false;
    VQ_TRY(vq_offline_batch_http_add(http, "msgbatch_", batch, reply, &is_added));
    if (is_added) {
        struct vq_json json;
        vq_json_init(&json, &reply->body, 0);
        write_batch(&json, http, batch);
    }
    return VQ_OK;
}

static bool is_listed(const struct vq_offline_batch_http *http,
                      const struct vq_offline_batch *batch)
{
    return batch->dialect == VQ_DIALECT_ANTHROPIC && strcmp(batch->account, http->account) == 0 &&
           vq_offline_batch_is_shown(batch, http->now_ns);
}

/* The newest batch first. `after_id` starts after a batch; `before_id` ends before one. */
static void list_batches(struct vq_offline_batch_http *http, struct vq_offline_reply *reply)
{
    const struct vq_offline_batches *batches = http->batches;
    size_t limit = vq_offline_batch_http_limit(http, "limit", LIST_DEFAULT, LIST_MAX);
    const char *after = vq_call_query(http->call, "after_id");
    const char *before = vq_call_query(http->call, "before_id");
    size_t begin = batches->n; /* from begin down to end, both excluded ... */
    size_t end = 0;
    for (size_t i = 0; i < batches->n; i++) {
        begin = after != NULL && strcmp(batches->list[i]->id, after) == 0 ? i : begin;
        end = before != NULL && strcmp(batches->list[i]->id, before) == 0 ? i + 1 : end;
    }
    if (before != NULL) { /* ... the `limit` nearest to it */
        size_t room = limit;
        for (begin = end; begin < batches->n && room > 0; begin++) {
            room -= is_listed(http, batches->list[begin]) ? 1 : 0;
        }
    }
    const struct vq_offline_batch *first = NULL;
    const struct vq_offline_batch *last = NULL;
    bool has_more = false;
    struct vq_json json;
    vq_json_init(&json, &reply->body, 0);
    vq_json_object(&json);
    vq_json_put_array(&json, "data");
    for (size_t i = begin; i > end; i--) {
        const struct vq_offline_batch *batch = batches->list[i - 1];
        if (!is_listed(http, batch)) {
            continue;
        }
        if (limit == 0) {
            has_more = true;
            break;
        }
        write_batch(&json, http, batch);
        first = first == NULL ? batch : first;
        last = batch;
        limit--;
    }
    for (size_t i = begin; before != NULL && i < batches->n; i++) {
        has_more = has_more || is_listed(http, batches->list[i]);
    }
    vq_json_array_end(&json);
    vq_json_put_bool(&json, "has_more", has_more);
    vq_json_put_str(&json, "first_id", first == NULL ? NULL : first->id);
    vq_json_put_str(&json, "last_id", last == NULL ? NULL : last->id);
    vq_json_object_end(&json);
}

enum action {
    ACTION_SHOW,
    ACTION_CANCEL,
    ACTION_RESULTS
};

static void use_batch(struct vq_offline_batch_http *http, const char *id, enum action action,
                      struct vq_offline_reply *reply)
{
    struct vq_offline_batch *batch = vq_offline_batch_http_find(http, id);
    if (batch == NULL) {
        vq_offline_batch_http_refuse(reply, 404, NULL, "There is no batch %s.", id);
        return;
    }
    bool is_over = vq_offline_batch_phase_is_last(vq_offline_batch_phase_of(batch, http->now_ns));
    if (action == ACTION_RESULTS) {
        if (!is_over) {
            vq_offline_batch_http_refuse(reply, 404, NULL,
                                         "The batch %s has no results yet: it has not ended.", id);
            return;
        }
        reply->content_type = "application/x-jsonl";
        vq_offline_batch_results_lines(http->batches, batch, VQ_BATCH_PART_ALL, &reply->body);
        return;
    }
    if (action == ACTION_CANCEL && is_over) {
        vq_offline_batch_http_refuse(reply, 400, NULL, "The batch %s has ended already.", id);
        return;
    }
    if (action == ACTION_CANCEL) {
        vq_offline_batch_course_cancel(&batch->course, http->now_ns);
    }
    struct vq_json json;
    vq_json_init(&json, &reply->body, 0);
    write_batch(&json, http, batch);
}

enum vq_status vq_offline_batch_anthropic_take(struct vq_offline_batch_http *http,
                                               struct vq_offline_reply *reply)
{
    static const char front[] = "/v1/messages/batches/";
    char id[VQ_BATCH_ID_BYTES];
    const char *path = http->call->path;
    bool is_get = vq_offline_batch_http_is(http, "GET");
    bool is_post = vq_offline_batch_http_is(http, "POST");
    if (is_post && strcmp(path, "/v1/messages/batches") == 0) {
        return create(http, reply);
    }
    if (is_get && strcmp(path, "/v1/messages/batches") == 0) {
        list_batches(http, reply);
    } else if (is_post && vq_offline_batch_path_id(path, front, "/cancel", id)) {
        use_batch(http, id, ACTION_CANCEL, reply);
    } else if (is_get && vq_offline_batch_path_id(path, front, "/results", id)) {
        use_batch(http, id, ACTION_RESULTS, reply);
    } else if (is_get && vq_offline_batch_path_id(path, front, "", id)) {
        use_batch(http, id, ACTION_SHOW, reply);
    } else {
        vq_offline_batch_http_refuse(reply, 404, "unknown_url",
                                     "There is nothing at this path or method.");
    }
    return VQ_OK;
}
