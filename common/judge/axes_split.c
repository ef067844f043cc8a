/* Finds labels in a text: "Name: High: h Low: l" and similar forms. A label is the word high or
 * low, perhaps followed by "end", and a colon; quotes and emphasis may be between them. At the
 * front and after punctuation, where a label is expected, a dash may replace the colon. Not its
 * job: the choice of lines. */
#include "common/judge/answer_lines.h"
#include "common/judge/axes_parts.h"
#include "common/judge/label.h"

#define PAREN_BYTES_MAX 6 /* "(+1)": the scale that some models add */

struct label {
    size_t begin; /* of the decoration in front of it */
    size_t end;   /* after its colon */
};

static size_t skip_decoration(struct vq_span text, size_t at)
{
    size_t bytes;
    while ((bytes = vq_answer_decoration_bytes(vq_span_after(text, at))) > 0) {
        at += bytes;
    }
    return at;
}

/* Whether the character before `at` is a part of a word; *ret_bytes is its length. */
static bool word_before(struct vq_span text, size_t at, size_t *ret_bytes)
{
    size_t from = at - 1;
    while (from > 0 && at - from < 4 && ((unsigned char)text.at[from] & 0xC0) == 0x80) {
        from--;
    }
    *ret_bytes = at - from;
    return vq_label_punct_bytes(vq_span(text.at + from, at - from)) != at - from;
}

/* Whether a label is expected at `at`: only decoration is between `at` and the front or the last
 * punctuation. */
static bool is_expected(struct vq_span text, size_t at)
{
    while (at > 0 && memchr(" \t*_`\"'", text.at[at - 1], 7) != NULL) {
        at--;
    }
    size_t bytes;
    return at == 0 || !word_before(text, at, &bytes);
}

/* Skips "(+1)" and similar. */
static size_t skip_scale(struct vq_span text, size_t at)
{
    size_t to = at;
    while (to < text.bytes && text.at[to] == ' ') {
        to++;
    }
    if (to >= text.bytes || text.at[to] != '(') {
        return at;
    }
    for (size_t i = to + 1; i < text.bytes && i - to < PAREN_BYTES_MAX; i++) {
        if (text.at[i] == ')') {
            return i + 1;
        }
        if (memchr("+-0123456789", text.at[i], 12) == NULL) {
            break;
        }
    }
    return at;
}

/* Skips "end" and similar words after the label's word: "High end:", "low-end:". */
static size_t skip_noun(struct vq_span text, size_t at)
{
    static const char *const nouns[] = {"end", "side", "pole", "extreme", "score", "description"};
    if (at + 1 >= text.bytes || memchr(" -_", text.at[at], 3) == NULL) {
        return at;
    }
    struct vq_span word = vq_label_word(vq_span_after(text, at + 1));
    for (size_t i = 0; i < VQ_COUNT(nouns); i++) {
        if (vq_label_word_is(word, nouns[i])) {
            return at + 1 + word.bytes;
        }
    }
    return at;
}

/* Bytes of a dash at `at` that is used like a colon. */
static size_t dash_bytes(struct vq_span text, size_t at)
{
    struct vq_span rest = vq_span_after(text, at);
    if (rest.bytes >= 3 &&
        (memcmp(rest.at, "\xE2\x80\x93", 3) == 0 || memcmp(rest.at, "\xE2\x80\x94", 3) == 0)) {
        return 3;
    }
    bool spaced =
        rest.bytes >= 2 && memcmp(rest.at, "- ", 2) == 0 && at > 0 && text.at[at - 1] == ' ';
    return spaced ? 2 : 0;
}

/* The trust in a found label, the highest first. */
enum trust {
    TRUST_COLON, /* capitalised or in an expected place, with a colon */
    TRUST_DASH,  /* in an expected place, with a dash */
    TRUST_WORD,  /* "high:" in the middle of a sentence */
    TRUST_NONE
};

/* The trust in a label `word` at `at`, and the end of the label. */
static enum trust label_at(struct vq_span text, size_t at, const char *word, size_t *ret_end)
{
    struct vq_span here = vq_label_word(vq_span_after(text, at));
    if (!vq_label_word_is(here, word)) {
        return TRUST_NONE;
    }
    bool expected = is_expected(text, at);
    size_t to = skip_noun(text, at + here.bytes);
    to = skip_decoration(text, skip_scale(text, skip_decoration(text, to)));
    struct vq_span rest = vq_span_after(text, to);
    size_t colon = vq_answer_colon_bytes(rest);
    if (colon == 0 && rest.bytes > 0 && rest.at[0] == '=') {
        colon = 1;
    }
    size_t dash = colon == 0 && expected ? dash_bytes(text, to) : 0;
    *ret_end = to + colon + dash;
    if (colon > 0) {
        return expected || here.at[0] != word[0] ? TRUST_COLON : TRUST_WORD;
    }
    return dash > 0 ? TRUST_DASH : TRUST_NONE;
}

/* Finds the label `word`: the first one with the highest trust. */
static bool find_label(struct vq_span text, const char *word, bool weak, struct label *ret_label)
{
    enum trust best = weak ? TRUST_NONE : TRUST_WORD; /* only a better one counts */
    bool found = false;
    size_t bytes;
    for (size_t at = 0; at < text.bytes && best != TRUST_COLON; at++) {
        if ((text.at[at] | 0x20) != word[0] || (at > 0 && word_before(text, at, &bytes))) {
            continue;
        }
        size_t end;
        enum trust trust = label_at(text, at, word, &end);
        if (trust >= best) {
            continue;
        }
        size_t begin = at;
        while (begin > 0 && memchr("*_`\"'{([", text.at[begin - 1], 8) != NULL) {
            begin--;
        }
        *ret_label = (struct label){.begin = begin, .end = end};
        best = trust;
        found = true;
    }
    return found;
}

/* The text without the dash or slash before the next label. */
static struct vq_span without_dash(struct vq_span text)
{
    text = vq_span_trim(text);
    while (text.bytes > 0 && memchr("-/", text.at[text.bytes - 1], 2) != NULL) {
        text.bytes--;
    }
    while (text.bytes >= 3 && dash_bytes(text, text.bytes - 3) == 3) {
        text.bytes -= 3;
    }
    return text;
}

bool vq_axes_split(struct vq_span text, bool weak, struct vq_axes_split *ret_split)
{
    static const char *const words[VQ_AXES_END__COUNT] = {"high", "low"};
    struct label labels[VQ_AXES_END__COUNT];
    bool has[VQ_AXES_END__COUNT];
    for (int i = 0; i < VQ_AXES_END__COUNT; i++) {
        has[i] = find_label(text, words[i], weak, &labels[i]);
    }
    if (!has[VQ_AXES_HIGH] && !has[VQ_AXES_LOW]) {
        return false;
    }
    struct vq_axes_split split = {.name = text};
    for (int i = 0; i < VQ_AXES_END__COUNT; i++) {
        const struct label *mine = &labels[i];
        const struct label *other = &labels[1 - i];
        if (!has[i]) {
            continue;
        }
        size_t end = has[1 - i] && other->end > mine->end ? other->begin : text.bytes;
        end = end < mine->end ? mine->end : end;
        split.ends[i] = vq_span(text.at + mine->end, end - mine->end);
        if (end < text.bytes) {
            split.ends[i] = without_dash(split.ends[i]);
        }
        split.name.bytes = mine->begin < split.name.bytes ? mine->begin : split.name.bytes;
    }
    *ret_split = split;
    return true;
}

bool vq_axes_begins_with_label(struct vq_span text)
{
    size_t at = skip_decoration(text, 0);
    size_t end;
    return label_at(text, at, "high", &end) != TRUST_NONE ||
           label_at(text, at, "low", &end) != TRUST_NONE;
}
