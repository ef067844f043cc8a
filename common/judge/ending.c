/* The finish reasons of providers. Not its job: the content of the answer. */
#include "common/judge/ending.h"

#include "common/judge/label.h"
#include "common/text/utf8.h"

#include <stdio.h>

static const struct {
    const char *word;
    enum vq_ending ending;
} endings[] = {
#define VQ_ENDING(word, ending, who) {word, VQ_ENDING_##ending},
#include "common/judge/endings.def"
#undef VQ_ENDING
};

static bool is_joint(char c)
{
    return c == '_' || c == '-' || c == '.' || c == ' ';
}

/* Whether the text begins with the word, ignoring `_`, `-`, `.` and blanks; *ret_rest is the text
 * after it. */
static bool begins(struct vq_span text, const char *word, struct vq_span *ret_rest)
{
    size_t at = 0;
    for (; *word != '\0'; word++) {
        if (is_joint(*word)) {
            continue;
        }
        while (at < text.bytes && is_joint(text.at[at])) {
            at++;
        }
        if (at >= text.bytes || vq_lower(text.at[at]) != *word) {
            return false;
        }
        at++;
    }
    *ret_rest = vq_span_after(text, at);
    return true;
}

enum vq_ending vq_ending_of(struct vq_span finish_reason, bool refusal)
{
    if (refusal) {
        return VQ_ENDING_REFUSED;
    }
    struct vq_span word = vq_span_trim(finish_reason), rest;
    if (word.bytes == 0) {
        return VQ_ENDING_ORDINARY;
    }
    if (begins(word, "finish_reason", &rest) || begins(word, "stop_reason", &rest)) {
        word = rest; /* such as FinishReason.STOP, an enum as text */
    }
    for (size_t i = 0; i < VQ_COUNT(endings); i++) {
        if (begins(word, endings[i].word, &rest) && vq_span_trim(rest).bytes == 0) {
            return endings[i].ending;
        }
    }
    return VQ_ENDING_UNKNOWN;
}

static const char front[] = "the server ended the answer with \"";
static const char back[] = "\", which is no ordinary ending (docs/use/providers.md)";

void vq_ending_explain(struct vq_span word, char *ret_line, size_t cap)
{
    word = vq_utf8_cut(word, VQ_ENDING_WORD_BYTES_MAX);
    (void)snprintf(ret_line, cap, "%s%.*s%s", front, (int)word.bytes,
                   word.bytes == 0 ? "" : word.at, back);
}

bool vq_ending_explained(struct vq_span line, struct vq_span *ret_word)
{
    size_t f = sizeof(front) - 1, b = sizeof(back) - 1;
    bool is = line.bytes >= f + b && memcmp(line.at, front, f) == 0 &&
              memcmp(line.at + line.bytes - b, back, b) == 0;
    if (is) {
        *ret_word = vq_span(line.at + f, line.bytes - f - b);
    }
    return is;
}
