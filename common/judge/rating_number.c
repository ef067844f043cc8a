/* Reads the number that a short text states, and never guesses: two numbers of which none is the
 * scale give MANY. Not its job: the range of a rubric. */
#include "common/judge/rating_number.h"

#include "common/judge/label.h"

#define DIGITS_MAX        15u
#define LEADING_WORDS_MAX 10u
#define SCALE_LEAST       1
#define SCALE_MOST        5

static const char *const leading[] = {
    "a",      "an",     "the",   "score",   "rating", "value", "of",   "is",    "boxed", "text",
    "textbf", "mathbf", "final", "overall", "i",      "it",    "this", "give",  "rate",  "would",
    "likert", "level",  "grade", "point",   "result", "frac",  "bf",   "mathrm"};

struct number {
    int64_t value;
    bool whole;            /* only digits, perhaps with a point and zeros */
    bool negative;         /* a minus is joined to it */
    struct vq_span before; /* the word in front of it; empty: none */
    bool slash;            /* a slash is before it, perhaps with blanks between */
    bool points;           /* "-point", " points", "-star" follow */
};

static bool is_points(struct vq_span word)
{
    static const char *const words[] = {"point", "points", "star", "stars"};
    return vq_label_word_is_any(word, words, VQ_COUNT(words));
}

/* Removes the digits after a point or comma from *text; false: one of them is not zero. */
static bool take_fraction(struct vq_span *text)
{
    struct vq_span t = *text;
    if (t.bytes < 2 || (t.at[0] != '.' && t.at[0] != ',') || !vq_is_digit(t.at[1])) {
        return true;
    }
    bool zeros = true;
    for (t = vq_span_after(t, 1); t.bytes > 0 && vq_is_digit(t.at[0]); t = vq_span_after(t, 1)) {
        zeros = zeros && t.at[0] == '0';
    }
    *text = t;
    return zeros && vq_label_word(t).bytes == 0;
}

/* Whether the gap before a number contains a slash and only characters that may be between the
 * two. */
static bool has_slash(struct vq_span gap)
{
    for (size_t i = gap.bytes; i > 0; i--) {
        if (gap.at[i - 1] == '/') {
            return true;
        }
        if (gap.at[i - 1] != ' ') {
            return false;
        }
    }
    return false;
}

/* Finds the next word of *text that begins with a digit, and moves *text after it. False: none. */
static bool next_number(struct vq_span *text, struct number *ret_number)
{
    struct vq_span before = {0};
    for (;;) {
        struct vq_span at = vq_label_skip_punct(*text);
        struct vq_span word = vq_label_word(at);
        if (word.bytes == 0) {
            return false;
        }
        struct vq_span gap = vq_span(text->at, (size_t)(at.at - text->at));
        *text = vq_span_after(at, word.bytes);
        if (!vq_is_digit(word.at[0])) {
            before = word;
            continue;
        }
        struct number n = {.before = before, .whole = true};
        for (size_t i = 0; i < word.bytes; i++) {
            n.whole = n.whole && vq_is_digit(word.at[i]);
            n.value = i < DIGITS_MAX && n.whole ? n.value * 10 + (word.at[i] - '0') : INT64_MAX;
        }
        n.slash = has_slash(gap);
        n.negative = gap.bytes > 0 && gap.at[gap.bytes - 1] == '-';
        n.whole = take_fraction(text) && n.whole;
        n.points = is_points(vq_label_word(vq_label_skip_punct(*text)));
        *ret_number = n;
        return true;
    }
}

static bool is_plain(const struct number *n, int64_t value)
{
    return n->whole && n->value == value;
}

/* Whether the text after the rating has no other numbers than the same rating and the scale. */
static bool is_beside(struct vq_span text, int64_t value)
{
    struct number n, next;
    while (next_number(&text, &n)) {
        bool of = n.slash || n.points || vq_label_word_is(n.before, "of");
        struct vq_span after = text;
        if (is_plain(&n, SCALE_MOST) && of) {
            continue;
        }
        if (is_plain(&n, SCALE_LEAST) && !n.slash && !vq_label_word_is(n.before, "or") &&
            next_number(&after, &next) && is_plain(&next, SCALE_MOST) &&
            !vq_label_word_is(next.before, "or") && !next.slash) {
            text = after;
            continue;
        }
        bool same = is_plain(&n, value) && !n.negative && !n.slash;
        if (!same) {
            return false;
        }
    }
    return true;
}

static struct vq_span first_word(struct vq_span *text)
{
    *text = vq_label_skip_punct(*text);
    return vq_label_word(*text);
}

/* Skips "on a scale of 1 to 5," before a rating. */
static struct vq_span skip_scale_front(struct vq_span text)
{
    static const char *const fronts[] = {"on", "scale", "from", "using"};
    struct vq_span at = text;
    struct number least, most;
    bool begins = vq_label_word_is_any(first_word(&at), fronts, VQ_COUNT(fronts));
    bool both = begins && next_number(&at, &least) && next_number(&at, &most) &&
                is_plain(&least, SCALE_LEAST) && is_plain(&most, SCALE_MOST);
    return both ? at : text;
}

static bool has_number(struct vq_span text)
{
    struct number ignored;
    return next_number(&text, &ignored);
}

enum vq_rating_number vq_rating_number(struct vq_span text, int64_t *ret_value)
{
    struct vq_span at = skip_scale_front(text);
    struct vq_span word = first_word(&at);
    for (unsigned i = 0;
         i < LEADING_WORDS_MAX && vq_label_word_is_any(word, leading, VQ_COUNT(leading)); i++) {
        at = vq_span_after(at, word.bytes);
        word = first_word(&at);
    }
    if (word.bytes == 0 || !vq_is_digit(word.at[0])) {
        return has_number(text) ? VQ_RATING_NUMBER_MANY : VQ_RATING_NUMBER_NONE;
    }
    struct number n;
    bool negative = word.at > text.at && word.at[-1] == '-';
    (void)next_number(&at, &n);
    if (!n.whole || (n.value <= SCALE_MOST && !is_beside(at, n.value)) ||
        (n.value > SCALE_MOST && has_number(at))) {
        return VQ_RATING_NUMBER_MANY;
    }
    *ret_value = negative ? -n.value : n.value;
    return VQ_RATING_NUMBER_ONE;
}

bool vq_rating_is_bare(struct vq_span text)
{
    static const char *const beside[] = {"out", "of", "output", "response", "option", "assistant"};
    bool value = false; /* the last word is a value */
    for (struct vq_span word = first_word(&text); word.bytes > 0; word = first_word(&text)) {
        text = vq_span_after(text, word.bytes);
        bool label =
            word.bytes == 1 || vq_label_word_is(word, "yes") || vq_label_word_is(word, "no");
        if (!vq_is_digit(word.at[0]) && !vq_label_word_is_any(word, leading, VQ_COUNT(leading)) &&
            !vq_label_word_is_any(word, beside, VQ_COUNT(beside)) && !label) {
            return false;
        }
        value = label || vq_is_digit(word.at[0]);
        if (vq_is_digit(word.at[0])) {
            (void)take_fraction(&text);
        }
    }
    return value;
}
