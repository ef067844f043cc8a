/* Finds marks of thinking at one place of a text: tags, by the words in their names, and pairs of
 * other forms. Reads at most MARK_BYTES_MAX bytes. Not its job: whether a mark counts at its place
 * (thinking.c). */
#include "common/judge/thinking_marks.h"

#include "common/judge/label.h"

#define BLANKS_MAX       4u  /* in a row, inside a mark */
#define NAME_BYTES_MAX   40u /* of a tag */
#define PARTS_MAX        5u  /* of its name */
#define SPACED_PARTS_MAX 2u  /* if blanks are between them, unless the last part is the word */
#define REST_BYTES_MAX   64u /* attributes */
#define SUFFIX_BYTES                                                                               \
    5u /* a part that ends in a word of this many letters or more contains it: antthinking */

static const char *const words[] = {
#define VQ_THINKING_WORD(word) word,
#include "common/judge/thinking_marks.def"
#undef VQ_THINKING_WORD
};

static const struct {
    const char *front, *back;
    bool alone;
} brackets[] = {
#define VQ_THINKING_BRACKETS(front, back, alone) {front, back, alone},
#include "common/judge/thinking_marks.def"
#undef VQ_THINKING_BRACKETS
};

static const struct {
    const char *open, *close;
    enum vq_thinking_opens opens;
} marks[] = {
#define VQ_THINKING_MARK(family, open, close, opens) {open, close, VQ_THINKING_##opens},
#include "common/judge/thinking_marks.def"
#undef VQ_THINKING_MARK
};

_Static_assert(VQ_COUNT(words) + VQ_COUNT(marks) <= VQ_THINKING_KINDS_MAX, "kinds fit in a set");

static size_t skip_blanks(struct vq_span text, size_t at)
{
    for (size_t n = 0; n < BLANKS_MAX && at < text.bytes && vq_is_gap(text.at[at]); n++) {
        at++;
    }
    return at;
}

static size_t match_all(struct vq_span text, const char *mark)
{
    size_t at = 0;
    for (const char *p = mark; *p != '\0'; p++) {
        if (*p == '_') {
            at += at < text.bytes && strchr("_- ", text.at[at]) != NULL && text.at[at] != '\0';
            continue;
        }
        if (*p == ' ') {
            size_t after = skip_blanks(text, at);
            if (after == at) {
                return 0;
            }
            at = after;
            continue;
        }
        if (p > mark && !(vq_is_alnum(*p) && vq_is_alnum(p[-1]))) {
            at = skip_blanks(text, at);
        }
        if (at >= text.bytes || vq_lower(text.at[at]) != vq_lower(*p)) {
            return 0;
        }
        at++;
    }
    return at;
}

/* Bytes of the mark at the front of the text; 0: the text does not begin with it. In most cases the
 * first byte decides that. */
static inline size_t match(struct vq_span text, const char *mark)
{
    bool may = text.bytes > 0 && ((text.at[0] ^ mark[0]) & ~0x20) == 0;
    return may ? match_all(text, mark) : 0;
}

/* ---- pairs ---- */

/* Rows with the same closing mark are of one kind. */
static uint32_t kind_of(size_t row)
{
    size_t first = 0;
    while (strcmp(marks[first].close, marks[row].close) != 0) {
        first++;
    }
    return (uint32_t)(VQ_COUNT(words) + first);
}

static bool pair_at(struct vq_span text, struct vq_thinking_mark *ret_mark)
{
    struct vq_thinking_mark best = {.bytes = 0};
    for (size_t row = 0; row < VQ_COUNT(marks); row++) {
        size_t close = match(text, marks[row].close);
        size_t open = match(text, marks[row].open);
        if (marks[row].opens == VQ_THINKING_WHOLE && open > 0) {
            bool joined = open < text.bytes && text.at[open] >= 'A' && text.at[open] <= 'Z';
            open = joined && text.at[0] >= 'a' ? open : 0;
        }
        if (close > best.bytes) {
            best = (struct vq_thinking_mark){close, kind_of(row), true, marks[row].opens};
        }
        if (open > best.bytes) {
            best = (struct vq_thinking_mark){open, kind_of(row), false, marks[row].opens};
        }
    }
    *ret_mark = best;
    return best.bytes > 0;
}

/* ---- tags ---- */

static bool is_name(char c)
{
    return vq_is_alnum(c) || vq_is_gap(c) || memchr("_-:.", c, 4) != NULL;
}

/* The next part of a name, which moves after it: inner, then Monologue, of innerMonologue. */
static struct vq_span next_part(struct vq_span *name)
{
    while (name->bytes > 0 && !vq_is_alnum(name->at[0])) {
        *name = vq_span_after(*name, 1);
    }
    size_t n = 0;
    while (n < name->bytes && vq_is_alnum(name->at[n])) {
        bool hump = n > 0 && name->at[n] >= 'A' && name->at[n] <= 'Z' && name->at[n - 1] >= 'a';
        if (hump) {
            break;
        }
        n++;
    }
    struct vq_span part = vq_span(name->at, n);
    *name = vq_span_after(*name, n);
    return part;
}

static bool is_word(struct vq_span part, const char *word)
{
    size_t n = strlen(word);
    if (part.bytes > n && n >= SUFFIX_BYTES) {
        part = vq_span_after(part, part.bytes - n);
    }
    return vq_label_word_is(part, word);
}

/* Finds the word in the name, and whether the name marks the end of thinking: end_of_thought. */
static bool read_name(struct vq_span name, struct vq_thinking_mark *mark)
{
    static const char *const ends[] = {"end", "stop", "finish", "close", "done"};
    bool spaced = memchr(name.at, ' ', name.bytes) != NULL;
    bool found = false;
    bool last = false; /* the last part is the word */
    for (unsigned i = 0; i < PARTS_MAX; i++) {
        struct vq_span part = next_part(&name);
        if (part.bytes == 0) {
            return found && (last || !spaced || i <= SPACED_PARTS_MAX);
        }
        last = false;
        mark->closes |= vq_label_word_is_any(part, ends, VQ_COUNT(ends));
        for (uint32_t w = 0; w < VQ_COUNT(words) && !found; w++) {
            if (is_word(part, words[w])) {
                mark->kind = w;
                found = last = true;
            }
        }
    }
    return false; /* a sentence, not a name */
}

/* Finds a tag in these brackets whose name contains one of the words. */
static bool tag_in(struct vq_span text, size_t row, struct vq_thinking_mark *mark)
{
    size_t at = match(text, brackets[row].front);
    if (at == 0) {
        return false;
    }
    at = skip_blanks(text, at);
    mark->closes = at < text.bytes && text.at[at] == '/';
    at = skip_blanks(text, mark->closes ? at + 1 : at);
    size_t from = at;
    while (at < text.bytes && at - from < NAME_BYTES_MAX && is_name(text.at[at])) {
        at++;
    }
    struct vq_span name = vq_span(text.at + from, at - from);
    if (at < text.bytes && text.at[at] == '=') { /* an attribute: the name ends before it */
        size_t first = 0;
        while (first < name.bytes && !vq_is_gap(name.at[first])) {
            first++;
        }
        name.bytes = first;
        for (size_t n = 0; n < REST_BYTES_MAX && at < text.bytes && text.at[at] != '>' &&
                           text.at[at] != '<' && text.at[at] != '\n';
             n++) {
            at++;
        }
    }
    size_t back = match(vq_span_after(text, at), brackets[row].back);
    if (name.bytes == 0 || back == 0 || !read_name(name, mark)) {
        return false;
    }
    mark->bytes = at + back;
    mark->opens = brackets[row].alone ? VQ_THINKING_ALONE : VQ_THINKING_PAIR;
    return true;
}

bool vq_thinking_mark_at(struct vq_span text, struct vq_thinking_mark *ret_mark)
{
    struct vq_thinking_mark mark;
    if (text.bytes == 0 || !vq_thinking_may_begin(text)) {
        return false;
    }
    if (pair_at(text, &mark)) {
        *ret_mark = mark;
        return true;
    }
    for (size_t row = 0; row < VQ_COUNT(brackets); row++) {
        mark = (struct vq_thinking_mark){.bytes = 0};
        if (tag_in(text, row, &mark)) {
            *ret_mark = mark;
            return true;
        }
    }
    return false;
}
