/* Turns of a chat. Texts that came in parts are joined in one buffer, whose bytes move while it
 * grows: until all texts are read, such a turn stores an offset into it. A persona at the beginning
 * of the first message becomes a system turn. Not its job: checking messages, which chat.c has
 * done. */
#include "offline/dialogue.h"

#include "common/base/alloc.h"

#include "offline/persona/character.h"

#include <jansson.h>

#define JOINED_BYTES_MAX (64u << 20)

static enum vq_turn_role role_of(const json_t *message)
{
    const char *role = json_string_value(json_object_get(message, "role"));
    if (role != NULL && (strcmp(role, "system") == 0 || strcmp(role, "developer") == 0)) {
        return VQ_TURN_SYSTEM;
    }
    return role != NULL && strcmp(role, "assistant") == 0 ? VQ_TURN_ASSISTANT : VQ_TURN_USER;
}

static void join(const json_t *parts, struct vq_buf *to)
{
    for (size_t i = 0; i < json_array_size(parts); i++) {
        const json_t *text = json_object_get(json_array_get(parts, i), "text");
        if (json_is_string(text)) {
            vq_buf_append(to, json_string_value(text), json_string_length(text));
        }
    }
}

/* The end of the last empty line in a text; 0: there is none. */
static size_t after_gap(struct vq_span text)
{
    for (size_t i = text.bytes; i >= 2; i--) {
        if (text.at[i - 1] == '\n' && text.at[i - 2] == '\n') {
            return i;
        }
    }
    return 0;
}

/* Models without system messages get the system part before the first query: this function
 * separates it. `d->turns` has room for one more. */
static void split_first(struct vq_dialogue *d)
{
    size_t gap = d->n > 0 && d->turns[0].role == VQ_TURN_USER ? after_gap(d->turns[0].text) : 0;
    struct vq_character character = {.exists = false};
    if (gap > 0) {
        vq_character_of_system(vq_span(d->turns[0].text.at, gap - 2), &character);
    }
    if (!character.exists) {
        return;
    }
    memmove(d->turns + 1, d->turns, d->n * sizeof(*d->turns));
    d->n++;
    d->turns[0].role = VQ_TURN_SYSTEM;
    d->turns[0].text.bytes = gap - 2;
    d->turns[1].text = vq_span(d->turns[1].text.at + gap, d->turns[1].text.bytes - gap);
}

enum vq_status vq_dialogue_read(const struct vq_chat_request *request,
                                struct vq_dialogue *ret_dialogue)
{
    const json_t *messages = json_object_get(request->tree, "messages");
    struct vq_dialogue d = {.n = json_array_size(messages)};
    vq_buf_init(&d.joined, JOINED_BYTES_MAX);
    VQ_TRY(VQ_ALLOC(d.turns, d.n + 1));
    for (size_t i = 0; i < d.n; i++) {
        const json_t *message = json_array_get(messages, i);
        const json_t *content = json_object_get(message, "content");
        d.turns[i].role = role_of(message);
        if (json_is_string(content)) {
            d.turns[i].text = vq_span(json_string_value(content), json_string_length(content));
        } else {
            size_t from = d.joined.bytes;
            join(content, &d.joined);
            d.turns[i].text = vq_span(NULL, d.joined.bytes - from);
        }
    }
    enum vq_status status = d.joined.status;
    size_t from = 0;
    for (size_t i = 0; i < d.n && status == VQ_OK; i++) {
        if (d.turns[i].text.at == NULL) {
            size_t bytes = d.turns[i].text.bytes;
            d.turns[i].text = bytes == 0 ? vq_span("", 0) : vq_span(d.joined.at + from, bytes);
            from += bytes;
        }
    }
    if (status != VQ_OK) {
        vq_dialogue_free(&d);
        return status;
    }
    split_first(&d);
    *ret_dialogue = d;
    return VQ_OK;
}

void vq_dialogue_free(struct vq_dialogue *dialogue)
{
    vq_free(dialogue->turns);
    dialogue->turns = NULL;
    vq_buf_free(&dialogue->joined);
}
