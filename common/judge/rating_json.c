/* Finds the rating in a JSON object, in one pass over its tokens. A text that is not JSON gives no
 * value; its caller then reads it as a line. Not its job: the meaning of the value. */
#include "common/judge/rating_json.h"

#include "common/judge/label.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static size_t skip_blanks(struct vq_span text, size_t at)
{
    while (at < text.bytes && is_blank(text.at[at])) {
        at++;
    }
    return at;
}

/* The index after the closing quote of the string at `at`; 0: not closed. */
static size_t string_end(struct vq_span text, size_t at)
{
    for (size_t i = at + 1; i < text.bytes; i++) {
        if (text.at[i] == '\\') {
            i++;
        } else if (text.at[i] == '"') {
            return i + 1;
        }
    }
    return 0;
}

/* Takes a value that is a string, a number or a word. */
static bool take_value(struct vq_span text, size_t at, struct vq_span *ret_value, bool *ret_closed)
{
    if (at < text.bytes && text.at[at] == '"') {
        size_t end = string_end(text, at);
        *ret_value = vq_span(text.at + at + 1, end == 0 ? 0 : end - at - 2);
        *ret_closed = end > 0;
        return end > 0;
    }
    size_t end = at;
    while (end < text.bytes && memchr(",}]{[\"", text.at[end], 6) == NULL) {
        end++;
    }
    *ret_value = vq_span_trim(vq_span(text.at + at, end - at));
    *ret_closed = end < text.bytes;
    return ret_value->bytes > 0;
}

bool vq_rating_json(struct vq_span text, struct vq_span *ret_value, bool *ret_closed)
{
    static const char *const others[] = {"rating", "score", "answer", "verdict"};
    struct vq_span values[2];
    bool closed[2];
    unsigned counts[2] = {0, 0}; /* the number of members `result`, and of the others */
    text = vq_span_trim(text);
    if (text.bytes == 0 || text.at[0] != '{') {
        return false;
    }
    for (size_t at = 1; at < text.bytes;) {
        size_t end = text.at[at] == '"' ? string_end(text, at) : at + 1;
        if (end == 0) {
            break;
        }
        size_t colon = skip_blanks(text, end);
        struct vq_span name = vq_span(text.at + at + 1, end - at > 2 ? end - at - 2 : 0);
        bool is_name = text.at[at] == '"' && colon < text.bytes && text.at[colon] == ':';
        bool result = is_name && vq_label_word_is(name, "result");
        bool other = is_name && vq_label_word_is_any(name, others, VQ_COUNT(others));
        size_t k = result ? 0 : 1;
        if ((result || other) &&
            take_value(text, skip_blanks(text, colon + 1), &values[k], &closed[k])) {
            counts[k]++;
        }
        at = is_name ? colon + 1 : end;
    }
    size_t k = counts[0] > 0 ? 0 : 1;
    if (counts[k] != 1) {
        return false;
    }
    *ret_value = values[k];
    *ret_closed = closed[k];
    return true;
}
