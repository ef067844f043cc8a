/* Reads the label that a short text states. The label must be the first word, after quotes,
 * brackets, markdown and a noun such as "Output". The rest must not revoke it with the other label,
 * a negation, or a second kind of label; such a text is ambiguous and needs a repair call. If in
 * doubt, a text is ambiguous, because a wrong vote costs more than a call. Not its job: finding the
 * text in an answer. */
#include "common/judge/label.h"

size_t vq_label_punct_bytes(struct vq_span text)
{
    if (text.bytes == 0) {
        return 0;
    }
    const unsigned char *at = (const unsigned char *)text.at;
    if (at[0] < 0x80) {
        return vq_is_alnum(text.at[0]) ? 0 : 1;
    }
    if (text.bytes >= 2 && at[0] == 0xC2 && at[1] >= 0xA0) {
        return 2; /* U+00A0 to U+00BF: no-break space, guillemets */
    }
    if (text.bytes < 3) {
        return 0;
    }
    bool general = at[0] == 0xE2 && at[1] == 0x80; /* U+2000 to U+203F: quotes, dashes, spaces */
    bool cjk = at[0] == 0xE3 && at[1] == 0x80 && at[2] < 0xA0; /* U+3000 to U+301F */
    bool wide = at[0] == 0xEF && at[1] == 0xBC &&              /* U+FF01 to U+FF1F but digits */
                (at[2] < 0x90 || (at[2] >= 0x9A && at[2] < 0xA0));
    bool mark = at[0] == 0xEF && at[1] == 0xBB && at[2] == 0xBF; /* byte order mark */
    return general || cjk || wide || mark ? 3 : 0;
}

/* These two functions read every byte of every answer several times, so they decide ASCII, the most
 * common case, without a call. */
struct vq_span vq_label_skip_punct(struct vq_span text)
{
    size_t at = 0;
    while (at < text.bytes && !vq_is_alnum(text.at[at])) {
        size_t n = (unsigned char)text.at[at] < 0x80
                       ? 1
                       : vq_label_punct_bytes(vq_span(text.at + at, text.bytes - at));
        if (n == 0) {
            break;
        }
        at += n;
    }
    return vq_span_after(text, at);
}

struct vq_span vq_label_word(struct vq_span text)
{
    size_t bytes = 0;
    while (bytes < text.bytes &&
           (vq_is_alnum(text.at[bytes]) ||
            ((unsigned char)text.at[bytes] >= 0x80 &&
             vq_label_punct_bytes(vq_span(text.at + bytes, text.bytes - bytes)) == 0))) {
        bytes++;
    }
    return vq_span(text.at, bytes);
}

bool vq_label_skip_separator(struct vq_span *text)
{
    struct vq_span s = *text;
    while (s.bytes > 0 && memchr(" \t*_`\"'#", s.at[0], 8) != NULL) {
        s = vq_span_after(s, 1);
    }
    size_t n = s.bytes > 0 && (s.at[0] == ':' || s.at[0] == '=') ? 1 : 0;
    if (s.bytes >= 3 && memcmp(s.at, "\xEF\xBC\x9A", 3) == 0) {
        n = 3; /* the wide colon of Chinese text */
    }
    if (n > 0) {
        *text = vq_span_after(s, n);
    }
    return n > 0;
}

bool vq_label_word_is(struct vq_span word, const char *lower)
{
    for (size_t i = 0; i < word.bytes; i++) {
        char c = word.at[i];
        char folded = vq_lower(c);
        if (lower[i] == '\0' || folded != lower[i]) {
            return false;
        }
    }
    return lower[word.bytes] == '\0';
}

bool vq_label_word_is_any(struct vq_span word, const char *const *lower, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (vq_label_word_is(word, lower[i])) {
            return true;
        }
    }
    return false;
}

struct vq_span vq_label_next_word(struct vq_span *text)
{
    *text = vq_label_skip_punct(*text);
    struct vq_span word = vq_label_word(*text);
    *text = vq_span_after(*text, word.bytes);
    return word;
}

static bool starts_with_na(struct vq_span text)
{
    return text.bytes >= 3 && vq_label_word_is(vq_span(text.at, 1), "n") &&
           (text.at[1] == '/' || text.at[1] == '.') &&
           vq_label_word_is(vq_label_word(vq_span_after(text, 2)), "a");
}

struct label {
    enum vq_outcome outcome; /* NONE: the text does not begin with a label */
    bool lower;              /* `a` or `b`, which are words too */
    struct vq_span rest;     /* after the label */
};

/* Whether the "a" before `rest` is an article as in "a tie"; *ret_after is the text after the
 * noun. */
static bool is_article(struct vq_span rest, struct vq_span *ret_after)
{
    struct vq_span word = rest;
    while (word.bytes > 0 && (word.at[0] == ' ' || word.at[0] == '\t')) {
        word = vq_span_after(word, 1);
    }
    struct vq_span tie = vq_label_word(word);
    bool yes =
        word.bytes < rest.bytes && (vq_label_word_is(tie, "tie") || vq_label_word_is(tie, "draw"));
    if (yes) {
        *ret_after = vq_span_after(word, tie.bytes);
    }
    return yes;
}

static struct label label_at(struct vq_span text)
{
    static const char *const equal[] = {"equal", "equally", "tie",  "tied",
                                        "both",  "neither", "same", "draw"};
    static const char *const unsure[] = {"unsure"};
    static const char *const na[] = {"na", "none"};
    struct label label = {.outcome = VQ_OUTCOME_NONE};
    if (starts_with_na(text)) {
        label.outcome = VQ_OUTCOME_NA;
        label.rest = vq_span_after(text, 3);
        return label;
    }
    struct vq_span word = vq_label_word(text);
    label.rest = vq_span_after(text, word.bytes);
    if (label.rest.bytes >= 2 && (label.rest.at[0] == '-' || label.rest.at[0] == '_') &&
        vq_is_alnum(label.rest.at[1])) {
        return label; /* A-level, b_2: the word continues */
    }
    if (vq_label_word_is(word, "a") && is_article(label.rest, &label.rest)) {
        label.outcome = VQ_OUTCOME_EQUAL;
    } else if (vq_label_word_is(word, "a") || vq_label_word_is(word, "b")) {
        label.lower = word.at[0] >= 'a';
        label.outcome = vq_label_word_is(word, "a") ? VQ_OUTCOME_FIRST : VQ_OUTCOME_SECOND;
    } else if (vq_label_word_is_any(word, equal, VQ_COUNT(equal))) {
        label.outcome = VQ_OUTCOME_EQUAL;
    } else if (vq_label_word_is_any(word, unsure, VQ_COUNT(unsure))) {
        label.outcome = VQ_OUTCOME_UNSURE;
    } else if (vq_label_word_is_any(word, na, VQ_COUNT(na))) {
        label.outcome = VQ_OUTCOME_NA;
    } else if (vq_label_word_is(word, "not")) {
        struct vq_span after = label.rest;
        if (vq_label_word_is(vq_label_next_word(&after), "applicable")) {
            label.outcome = VQ_OUTCOME_NA;
            label.rest = after;
        }
    }
    return label;
}

/* What a text mentions besides its first label. */
struct mentions {
    bool a;
    bool b;
    bool negation;
    bool equal;
    bool na;
    bool unsure;
};

static bool is_negation(struct vq_span word, struct vq_span after)
{
    static const char *const words[] = {"not", "cannot", "neither", "nor"};
    if (vq_label_word_is_any(word, words, VQ_COUNT(words))) {
        return true;
    }
    if (!vq_label_word_is(vq_span(word.at + word.bytes - 1, 1), "n")) {
        return false;
    }
    size_t quote = after.bytes >= 1 && after.at[0] == '\'' ? 1 : 0;
    if (after.bytes >= 3 && memcmp(after.at, "\xE2\x80\x99", 3) == 0) {
        quote = 3;
    }
    return quote > 0 && vq_label_word_is(vq_label_word(vq_span_after(after, quote)), "t");
}

static struct mentions mentions_in(struct vq_span text)
{
    struct mentions m = {false};
    for (;;) {
        text = vq_label_skip_punct(text);
        if (text.bytes == 0) {
            return m;
        }
        if (starts_with_na(text)) {
            m.na = true;
            text = vq_span_after(text, 3);
            continue;
        }
        struct vq_span word = vq_label_next_word(&text);
        m.a = m.a || (word.bytes == 1 && word.at[0] == 'A');
        m.b = m.b || (word.bytes == 1 && word.at[0] == 'B');
        m.negation = m.negation || is_negation(word, text);
        m.equal = m.equal || vq_label_word_is(word, "equal") || vq_label_word_is(word, "tie") ||
                  vq_label_word_is(word, "tied");
        m.unsure = m.unsure || vq_label_word_is(word, "unsure");
    }
}

/* Whether the text after the label does not revoke it. */
static bool is_verdict(enum vq_outcome label, const struct mentions *m)
{
    switch ((int)label) {
    case VQ_OUTCOME_FIRST: return !(m->b || m->negation || m->equal || m->na || m->unsure);
    case VQ_OUTCOME_SECOND: return !(m->a || m->negation || m->equal || m->na || m->unsure);
    case VQ_OUTCOME_EQUAL: return m->a == m->b && !m->na && !m->unsure;
    case VQ_OUTCOME_NA: return m->a == m->b && !m->equal && !m->unsure;
    default: return !(m->a || m->b || m->negation || m->equal || m->na);
    }
}

/* Skips quotes, brackets, markdown, and nouns: Output A, the assistant's B, \boxed{\text{A}}. */
static struct vq_span skip_to_label(struct vq_span text)
{
    static const char *const nouns[] = {"output", "response", "assistant", "model",
                                        "answer", "option",   "text",      "boxed"};
    text = vq_label_skip_punct(text);
    for (int i = 0; i < 2; i++) {
        struct vq_span word = vq_label_word(text);
        struct vq_span after = vq_label_skip_punct(vq_span_after(text, word.bytes));
        if (!vq_label_word_is_any(word, nouns, VQ_COUNT(nouns))) {
            break;
        }
        text = after;
    }
    return text;
}

enum vq_outcome vq_label_read(struct vq_span text)
{
    struct label label = label_at(skip_to_label(text));
    bool nothing_follows = vq_label_skip_punct(label.rest).bytes == 0;
    if (label.outcome == VQ_OUTCOME_NONE || (label.lower && !nothing_follows)) {
        struct mentions m = mentions_in(text);
        return m.a || m.b || m.equal || m.na || m.unsure ? VQ_OUTCOME_UNPARSEABLE : VQ_OUTCOME_NONE;
    }
    struct mentions m = mentions_in(label.rest);
    return is_verdict(label.outcome, &m) ? label.outcome : VQ_OUTCOME_UNPARSEABLE;
}

enum vq_outcome vq_label_alone(struct vq_span text)
{
    struct label label = label_at(skip_to_label(text));
    bool nothing_follows = vq_label_skip_punct(label.rest).bytes == 0;
    return nothing_follows ? label.outcome : VQ_OUTCOME_NONE;
}
