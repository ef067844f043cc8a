/* Values near the end of a cut answer. If in doubt, a value is not complete, because a wrong vote
 * is worse than a missing one. */
#include "common/judge/cut.h"

#include "common/judge/label.h"

static const char *const closers[] = {
    " ",
    "\t",
    "\r",
    "\n",
    "*",
    "_",
    "`",
    "\"",
    "'",
    ")",
    "]",
    "}",
    ">",
    "$",
    "!",
    "\xE2\x80\x99",
    "\xE2\x80\x9D",
    "\xC2\xBB",
    "\xE3\x80\x8D",
    "\xE3\x80\x82", /* quotes, full stop */
};

static bool take_end(struct vq_span *text, const char *end)
{
    bool ends = vq_span_ends_with(*text, end);
    text->bytes -= ends ? strlen(end) : 0;
    return ends;
}

/* Removes closing characters from the end of a value. */
static struct vq_span without_closers(struct vq_span text)
{
    bool stopped = false, taken = true;
    while (taken) {
        taken = false;
        for (size_t i = 0; i < VQ_COUNT(closers) && !taken; i++) {
            taken = take_end(&text, closers[i]);
        }
        if (!taken && !stopped && take_end(&text, ".")) {
            taken = stopped = true;
        }
    }
    return text;
}

static size_t count_of(struct vq_span text, char c)
{
    size_t n = 0;
    for (size_t i = 0; i < text.bytes; i++) {
        n += text.at[i] == c;
    }
    return n;
}

static bool is_closed(struct vq_span text)
{
    static const char pairs[][2] = {{'(', ')'}, {'[', ']'}, {'{', '}'}};
    for (size_t i = 0; i < VQ_COUNT(pairs); i++) {
        if (count_of(text, pairs[i][0]) > count_of(text, pairs[i][1])) {
            return false;
        }
    }
    size_t stars = 0; /* stars that open: no blank follows */
    while (stars < text.bytes && text.at[stars] == '*') {
        stars++;
    }
    bool starred = stars > 0 && stars < text.bytes && text.at[stars] != ' ';
    return count_of(text, '"') % 2 == 0 && count_of(text, '`') % 2 == 0 &&
           (!starred || text.at[text.bytes - 1] == '*');
}

/* Whether the text ends in a letter or digit. */
static bool ends_in_word(struct vq_span text)
{
    size_t at = text.bytes;
    while (at > 0 && ((unsigned char)text.at[at - 1] & 0xC0u) == 0x80) {
        at--;
    }
    return at > 0 && vq_label_punct_bytes(vq_span_after(text, at - 1)) == 0;
}

bool vq_cut_is_whole(struct vq_span value)
{
    value = vq_span_trim(value);
    return ends_in_word(without_closers(value)) && is_closed(value) &&
           memchr(value.at, '?', value.bytes) == NULL;
}

bool vq_cut_takes_back(struct vq_span line)
{
    static const char *const fronts[] = {"but",    "however", "no",  "or",      "yet",  "although",
                                         "though", "still",   "not", "instead", "then", "let"};
    static const char *const anywhere[] = {"wait",       "hmm",           "hm",   "actually",
                                           "reconsider", "reconsidering", "draft"};
    bool front = true;
    for (;;) {
        line = vq_label_skip_punct(line);
        struct vq_span word = vq_label_word(line);
        if (word.bytes == 0) {
            return false;
        }
        if (vq_label_word_is_any(word, anywhere, VQ_COUNT(anywhere)) ||
            (front && vq_label_word_is_any(word, fronts, VQ_COUNT(fronts)))) {
            return true;
        }
        line = vq_span_after(line, word.bytes);
        front = line.bytes > 0 && line.at[0] == '.';
    }
}
