/* Answers without content: the field that has the text instead, and the message for a person.
 * Servers of reasoning models put the whole text into that field when the tokens run out. Not its
 * job: reading that field (the dialect), verdicts. */
#include "worker/provider/answer.h"

#include "common/judge/ending.h"
#include "common/judge/thinking.h"
#include "worker/provider/text.h"

#include <stdio.h>

#define FIELD_BYTES_MAX 63 /* of a field's name in a message */
#define DEPTH_MAX       3  /* of lists of parts */

void vq_answer_ending(const json_t *object, const char *key, char *ret_line, size_t cap)
{
    static const char *const members[] = {"type", "reason", "name", "finish_reason"};
    const json_t *value = vq_body_get(object, key);
    if (value == NULL || json_is_null(value)) {
        return;
    }
    (void)snprintf(ret_line, cap, "%s",
                   json_is_true(value)     ? "true"
                   : json_is_false(value)  ? "false"
                   : json_is_object(value) ? "object"
                   : json_is_array(value)  ? "array"
                                           : "");
    vq_read_scalar(object, key, ret_line, cap);
    for (size_t i = 0; i < VQ_COUNT(members) && json_is_object(value); i++) {
        if (vq_body_get_string(value, members[i]).bytes > 0) {
            vq_read_scalar(value, members[i], ret_line, cap);
            return;
        }
    }
}

bool vq_answer_is_blank(const struct vq_reply *reply)
{
    return vq_span_is_blank(vq_buf_span(&reply->content));
}

static size_t characters(struct vq_span text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.bytes; i++) {
        n += ((unsigned char)text.at[i] & 0xC0u) != 0x80;
    }
    return n;
}

/* The number of characters of the texts in a value: a string, or a list of parts. */
static size_t text_of(const json_t *value, unsigned depth)
{
    static const char *const members[] = {"text", "thinking", "reasoning", "summary", "content"};
    if (json_is_string(value)) {
        struct vq_span text = vq_span(json_string_value(value), json_string_length(value));
        return vq_span_is_blank(text) ? 0 : characters(text);
    }
    size_t n = 0;
    for (size_t i = 0; depth < DEPTH_MAX && i < json_array_size(value); i++) {
        n += text_of(json_array_get(value, i), depth + 1);
    }
    for (size_t i = 0; depth < DEPTH_MAX && json_is_object(value) && i < VQ_COUNT(members); i++) {
        n += text_of(vq_body_get(value, members[i]), depth + 1);
    }
    return n;
}

static bool is_other(const char *key)
{
    static const char *const known[] = {"role",          "refusal", "name",   "id",
                                        "type",          "model",   "object", "stop_reason",
                                        "stop_sequence", "audio"};
    for (size_t i = 0; i < VQ_COUNT(known); i++) {
        if (strcmp(key, known[i]) == 0) {
            return false;
        }
    }
    return true;
}

void vq_answer_elsewhere(const json_t *message, bool readable, struct vq_reply *reply)
{
    const char *key, *best_key = NULL;
    json_t *value;
    size_t best = 0;
    bool text = false;
    json_object_foreach((json_t *)(uintptr_t)message, key, value)
    {
        size_t n = is_other(key) ? text_of(value, 0) : 0;
        if (n > best || (n == best && n > 0 && json_is_string(value) && !text)) {
            best = n;
            best_key = key;
            text = json_is_string(value);
        }
    }
    if (best_key == NULL) {
        (void)snprintf(reply->error_message, sizeof(reply->error_message), "the answer is empty");
        return;
    }
    char name[FIELD_BYTES_MAX + 1];
    vq_text_line(name, sizeof(name), vq_span_str(best_key));
    bool thinking = strcmp(best_key, "content") == 0 || strcmp(best_key, "parts") == 0;
    (void)snprintf(reply->error_message, sizeof(reply->error_message),
                   "the answer is empty; the server put %zu characters into `%s`%s%s%s", best,
                   thinking ? "thinking" : name, readable && text ? ": `answer_field: " : "",
                   readable && text ? name : "", readable && text ? "` reads them" : "");
}

void vq_answer_explain(struct vq_reply *reply)
{
    if (reply->refusal) {
        reply->error_message[0] = '\0';
    } else if (vq_ending_of(vq_span_str(reply->finish_reason), false) == VQ_ENDING_UNKNOWN) {
        vq_ending_explain(vq_span_str(reply->finish_reason), reply->error_message,
                          sizeof(reply->error_message));
    } else if (vq_answer_is_blank(reply)) {
        if (reply->error_message[0] == '\0') {
            (void)snprintf(reply->error_message, sizeof(reply->error_message),
                           "the answer is empty");
        }
    } else if (vq_thinking_is_all(vq_buf_span(&reply->content))) {
        (void)snprintf(reply->error_message, sizeof(reply->error_message),
                       "the answer is nothing but thinking");
    }
}
