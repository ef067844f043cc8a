/* Where thinking blocks begin and end. Blocks do not nest: a block ends at the first closing tag of its
 * kind. Borrows its texts; keeps nothing. */
#include "common/judge/thinking.h"

#include "common/judge/label.h"

static const struct {
    const char *open;
    const char *close;
} tags[] = {
    {"<think>", "</think>"},
    {"<thinking>", "</thinking>"},
    {"[think]", "[/think]"},
};

/* Whether `text` begins with the tag, in any case. */
static bool begins_with(struct vq_span text, const char *tag)
{
    size_t bytes = strlen(tag);
    return text.bytes >= bytes && vq_label_word_is(vq_span(text.at, bytes), tag);
}

static bool may_begin(struct vq_span text)
{
    return text.bytes > 0 && (text.at[0] == '<' || text.at[0] == '[');
}

/* The kind of the opening tag at the front of `text`; VQ_COUNT(tags) when there is none. */
static size_t open_kind(struct vq_span text)
{
    size_t kind = 0;
    while (kind < VQ_COUNT(tags) && !begins_with(text, tags[kind].open)) {
        kind++;
    }
    return kind;
}

static size_t close_bytes(struct vq_span text)
{
    for (size_t kind = 0; kind < VQ_COUNT(tags); kind++) {
        if (begins_with(text, tags[kind].close)) {
            return strlen(tags[kind].close);
        }
    }
    return 0;
}

size_t vq_thinking_block_bytes(struct vq_span text)
{
    size_t kind = may_begin(text) ? open_kind(text) : VQ_COUNT(tags);
    if (kind == VQ_COUNT(tags)) {
        return 0;
    }
    for (size_t at = strlen(tags[kind].open); at < text.bytes; at++) {
        if (may_begin(vq_span_after(text, at)) &&
            begins_with(vq_span_after(text, at), tags[kind].close)) {
            return at + strlen(tags[kind].close);
        }
    }
    return 0;
}

struct vq_span vq_thinking_rest(struct vq_span text)
{
    size_t from = 0;
    for (size_t i = 0; i < text.bytes;) {
        struct vq_span rest = vq_span_after(text, i);
        if (!may_begin(rest)) {
            i++;
            continue;
        }
        size_t block = vq_thinking_block_bytes(rest);
        size_t close = close_bytes(rest);
        if (block == 0 && open_kind(rest) < VQ_COUNT(tags)) {
            return vq_span(text.at + text.bytes, 0);
        }
        if (close > 0) {
            from = i + close;
        }
        i += block + close > 0 ? block + close : 1;
    }
    return vq_span_after(text, from);
}

bool vq_thinking_next_line(struct vq_span *text, struct vq_span *ret_line)
{
    if (text->at == NULL) {
        return false;
    }
    for (size_t at = 0; at < text->bytes; at++) {
        char c = text->at[at];
        size_t skip =
            c == '\n' || c == '\r' ? 1 : vq_thinking_block_bytes(vq_span_after(*text, at));
        if (skip > 0) {
            *ret_line = vq_span(text->at, at);
            *text = vq_span_after(*text, at + skip);
            return true;
        }
    }
    *ret_line = *text;
    *text = vq_span(NULL, 0);
    return true;
}

void vq_thinking_strip(struct vq_span text, struct vq_buf *buf)
{
    text = vq_thinking_rest(text);
    size_t from = 0;
    for (size_t i = 0; i < text.bytes;) {
        size_t block = vq_thinking_block_bytes(vq_span_after(text, i));
        if (block > 0) {
            vq_buf_append(buf, text.at + from, i - from);
            vq_buf_putc(buf, '\n');
            from = i + block;
        }
        i += block > 0 ? block : 1;
    }
    vq_buf_append(buf, text.at + from, text.bytes - from);
}
