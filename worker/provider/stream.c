/* Reads server-sent events. Invariant: the result has the shape of an unstreamed response of the
 * same dialect, so that all later code reads one shape. The texts of all events are joined in their
 * order; of usage, model and finish reason the last one counts. An unfinished stream never counts
 * as a whole answer. Not its job: the meaning of the answer. */
#include "worker/provider/stream.h"

#include <string.h>

#define STREAM_TEXT_BYTES_MAX (4u << 20)

struct stream {
    struct vq_buf text, reasoning, event;
    json_t *last;  /* a chunk with choices: model, fingerprint, ... */
    json_t *usage; /* of OpenAI's shape; or of Anthropic's, merged */
    json_t *message, *error;
    json_t *logprobs; /* tokens of all chunks */
    char finish[64];
    bool over; /* the end was sent */
    size_t values_max;
};

static struct vq_span line_next(struct vq_span *rest)
{
    size_t n = 0;
    while (n < rest->bytes && rest->at[n] != '\n' && rest->at[n] != '\r') {
        n++;
    }
    struct vq_span line = vq_span(rest->at, n);
    bool crlf = n + 1 < rest->bytes && rest->at[n] == '\r' && rest->at[n + 1] == '\n';
    size_t skip = n == rest->bytes ? n : n + (crlf ? 2 : 1);
    *rest = vq_span(rest->at + skip, rest->bytes - skip);
    return line;
}

/* The value of a field; false: the line has another field. */
static bool field(struct vq_span line, const char *name, struct vq_span *ret_value)
{
    size_t n = strlen(name);
    if (line.bytes <= n || memcmp(line.at, name, n) != 0 || line.at[n] != ':') {
        return false;
    }
    size_t skip = n + 1;
    skip += skip < line.bytes && line.at[skip] == ' ' ? 1 : 0;
    *ret_value = vq_span(line.at + skip, line.bytes - skip);
    return true;
}

bool vq_stream_is(struct vq_span body)
{
    static const char *const names[] = {"data", "event", "id", "retry", ""};
    struct vq_span value;
    if (body.bytes >= 3 && memcmp(body.at, "\xef\xbb\xbf", 3) == 0) {
        body = vq_span(body.at + 3, body.bytes - 3);
    }
    while (body.bytes > 0 && (body.at[0] == '\n' || body.at[0] == '\r')) {
        body = vq_span(body.at + 1, body.bytes - 1);
    }
    for (size_t i = 0; i < VQ_COUNT(names); i++) {
        if (field(body, names[i], &value)) {
            return true;
        }
    }
    return false;
}

static void keep(json_t **place, json_t *value)
{
    if (value != NULL && !json_is_null(value)) {
        json_decref(*place);
        *place = json_incref(value);
    }
}

static void add_text(struct vq_buf *to, const json_t *object, const char *key)
{
    struct vq_span text = vq_body_get_string(object, key);
    vq_buf_append(to, text.at, text.bytes);
}

static void take_finish(struct stream *s, struct vq_span reason)
{
    if (reason.bytes > 0 && reason.bytes < sizeof(s->finish)) {
        memcpy(s->finish, reason.at, reason.bytes);
        s->finish[reason.bytes] = '\0';
        s->over = true;
    }
}

/* A chunk of a chat completion; some servers put a whole message in the last one. */
static enum vq_status take_chunk(struct stream *s, json_t *chunk)
{
    keep(&s->usage, vq_body_get(chunk, "usage"));
    const json_t *choice = json_array_get(vq_body_get(chunk, "choices"), 0);
    if (choice == NULL) {
        return VQ_OK;
    }
    keep(&s->last, chunk);
    const json_t *delta = vq_body_get(choice, "delta");
    const json_t *message = vq_body_get(choice, "message");
    if (!json_is_object(delta) && json_is_object(message)) {
        vq_buf_clear(&s->text);
        delta = message;
    }
    add_text(&s->text, delta, "content");
    add_text(&s->text, delta, "refusal");
    add_text(&s->reasoning, delta, "reasoning_content");
    add_text(&s->reasoning, delta, "reasoning");
    take_finish(s, vq_body_get_string(choice, "finish_reason"));
    json_t *tokens = vq_body_get(vq_body_get(choice, "logprobs"), "content");
    if (json_is_array(tokens)) {
        s->logprobs = s->logprobs == NULL ? json_array() : s->logprobs;
        if (s->logprobs == NULL || json_array_extend(s->logprobs, tokens) != 0) {
            return VQ_NOMEM;
        }
    }
    return VQ_OK;
}

static enum vq_status merge_usage(struct stream *s, const json_t *usage)
{
    if (!json_is_object(usage)) {
        return VQ_OK;
    }
    s->usage = s->usage == NULL ? json_object() : s->usage;
    return s->usage == NULL || json_object_update(s->usage, (json_t *)usage) != 0 ? VQ_NOMEM
                                                                                  : VQ_OK;
}

/* An event of the Anthropic dialect. */
static enum vq_status take_event(struct stream *s, json_t *event, struct vq_span type)
{
    if (vq_span_eq(type, vq_span_str("message_start"))) {
        keep(&s->message, vq_body_get(event, "message"));
        return merge_usage(s, vq_body_get(s->message, "usage"));
    }
    if (vq_span_eq(type, vq_span_str("content_block_start"))) {
        add_text(&s->text, vq_body_get(event, "content_block"), "text");
    } else if (vq_span_eq(type, vq_span_str("content_block_delta"))) {
        add_text(&s->text, vq_body_get(event, "delta"), "text");
    } else if (vq_span_eq(type, vq_span_str("message_delta"))) {
        take_finish(s, vq_body_get_string(vq_body_get(event, "delta"), "stop_reason"));
        return merge_usage(s, vq_body_get(event, "usage"));
    } else if (vq_span_eq(type, vq_span_str("message_stop"))) {
        s->over = true;
    }
    return VQ_OK;
}

/* Reads the complete data of one event. */
static enum vq_status take_data(struct stream *s)
{
    struct vq_span data = vq_buf_span(&s->event);
    if (data.bytes == 0) {
        return VQ_OK;
    }
    if (vq_span_eq(data, vq_span_str("[DONE]"))) {
        s->over = true;
        vq_buf_clear(&s->event);
        return VQ_OK;
    }
    json_t *event = NULL;
    enum vq_status status = vq_body_load(data, s->values_max, NULL, &event);
    vq_buf_clear(&s->event);
    if (status != VQ_OK) {
        return status;
    }
    const json_t *error = vq_body_get(event, "error");
    struct vq_span type = vq_body_get_string(event, "type");
    if (json_is_object(error) || json_is_string(error)) {
        keep(&s->error, event);
    } else if (type.bytes > 0 && vq_body_get(event, "choices") == NULL) {
        status = take_event(s, event, type);
    } else {
        status = take_chunk(s, event);
    }
    json_decref(event);
    return status;
}

static enum vq_status take_all(struct stream *s, struct vq_span body)
{
    if (body.bytes >= 3 && memcmp(body.at, "\xef\xbb\xbf", 3) == 0) {
        body = vq_span(body.at + 3, body.bytes - 3);
    }
    while (body.bytes > 0) {
        struct vq_span line = line_next(&body), value;
        if (line.bytes == 0) {
            VQ_TRY(take_data(s));
        } else if (field(line, "data", &value)) {
            if (s->event.bytes > 0) { /* the server left out the empty line between two events */
                json_t *whole = NULL;
                enum vq_status status =
                    vq_body_load(vq_buf_span(&s->event), s->values_max, NULL, &whole);
                json_decref(whole);
                if (status == VQ_OK) {
                    VQ_TRY(take_data(s));
                } else if (status == VQ_NOMEM) {
                    return status;
                } else {
                    vq_buf_putc(&s->event, '\n');
                }
            }
            vq_buf_append(&s->event, value.at, value.bytes);
        }
    }
    return take_data(s);
}

static json_t *text_json(const struct vq_buf *text)
{
    return text->bytes == 0 ? json_string("") : json_stringn_nocheck(text->at, text->bytes);
}

/* The reported finish reason; if the stream broke off, the answer is only a part. */
static const char *finish_of(const struct stream *s, const char *cut)
{
    return s->over ? s->finish : cut;
}

/* {"model", "system_fingerprint", "choices": [{"message": {"content"}, "finish_reason",
 * "logprobs"}], "usage"} */
static json_t *completion(const struct stream *s)
{
    json_t *root = json_object(), *choices = json_array(), *choice = json_object();
    json_t *message = json_object();
    bool bad = root == NULL || choices == NULL || choice == NULL || message == NULL;
    bad = bad || json_object_set_new(message, "content", text_json(&s->text)) != 0;
    if (!bad && s->reasoning.bytes > 0) {
        bad = json_object_set_new(message, "reasoning_content", text_json(&s->reasoning)) != 0;
    }
    const char *finish = finish_of(s, "length");
    if (!bad && finish[0] != '\0') {
        bad = json_object_set_new(choice, "finish_reason", json_string(finish)) != 0;
    }
    if (!bad && s->logprobs != NULL) {
        json_t *logprobs = json_object();
        bad = logprobs == NULL || json_object_set(logprobs, "content", s->logprobs) != 0 ||
              json_object_set(choice, "logprobs", logprobs) != 0;
        json_decref(logprobs);
    }
    static const char *const same[] = {"id", "model", "system_fingerprint"};
    for (size_t i = 0; !bad && i < VQ_COUNT(same); i++) {
        json_t *value = vq_body_get(s->last, same[i]);
        bad = value != NULL && json_object_set(root, same[i], value) != 0;
    }
    bad = bad || (s->usage != NULL && json_object_set(root, "usage", s->usage) != 0) ||
          json_object_set(choice, "message", message) != 0 ||
          json_array_append(choices, choice) != 0 || json_object_set(root, "choices", choices) != 0;
    json_decref(choices);
    json_decref(choice);
    json_decref(message);
    if (bad) {
        json_decref(root);
        return NULL;
    }
    return root;
}

/* {"model", "content": [{"type": "text", "text"}], "stop_reason", "usage"} */
static json_t *message_of(const struct stream *s)
{
    json_t *root = json_copy(s->message), *content = json_array(), *block = json_object();
    bool bad =
        root == NULL || content == NULL || block == NULL ||
        json_object_set_new(block, "type", json_string("text")) != 0 ||
        json_object_set_new(block, "text", text_json(&s->text)) != 0 ||
        json_array_append(content, block) != 0 || json_object_set(root, "content", content) != 0 ||
        json_object_set_new(root, "stop_reason", json_string(finish_of(s, "max_tokens"))) != 0 ||
        (s->usage != NULL && json_object_set(root, "usage", s->usage) != 0);
    json_decref(content);
    json_decref(block);
    if (bad) {
        json_decref(root);
        return NULL;
    }
    return root;
}

enum vq_status vq_stream_load(struct vq_span body, size_t values_max, json_t **ret_root)
{
    struct stream s = {.values_max = values_max};
    vq_buf_init(&s.text, STREAM_TEXT_BYTES_MAX);
    vq_buf_init(&s.reasoning, STREAM_TEXT_BYTES_MAX);
    vq_buf_init(&s.event, STREAM_TEXT_BYTES_MAX);
    enum vq_status status = take_all(&s, body);
    struct vq_buf *bufs[] = {&s.text, &s.reasoning, &s.event};
    for (size_t i = 0; i < VQ_COUNT(bufs); i++) {
        status = status == VQ_OK ? bufs[i]->status : status;
    }
    json_t *root = NULL;
    if (status == VQ_OK && s.error == NULL && s.last == NULL && s.message == NULL) {
        status = VQ_INVALID;
    } else if (status == VQ_OK) {
        root = s.error != NULL     ? json_incref(s.error)
               : s.message != NULL ? message_of(&s)
                                   : completion(&s);
        status = root == NULL ? VQ_NOMEM : VQ_OK;
    }
    for (size_t i = 0; i < VQ_COUNT(bufs); i++) {
        vq_buf_free(bufs[i]);
    }
    json_t *all[] = {s.last, s.usage, s.message, s.error, s.logprobs};
    for (size_t i = 0; i < VQ_COUNT(all); i++) {
        json_decref(all[i]);
    }
    if (status == VQ_OK) {
        *ret_root = root;
    }
    return status;
}
