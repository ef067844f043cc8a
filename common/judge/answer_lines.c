/* Lines of an answer. All functions borrow the text and read each byte a bounded number of times,
 * so the cost is linear in the answer, even for hostile answers. Not its job: the meaning of
 * lines. */
#include "common/judge/answer_lines.h"

#include "common/judge/label.h"
#include "common/text/utf8.h"

#define BARE_ROUNDS_MAX  8 /* layers of quotes and brackets around one text */
#define MARK_ROUNDS_MAX  3 /* "- 1. **Name**" */
#define NUMBER_BYTES_MAX 4
#define TAB_COLUMNS      4
#define STARTS(s, text)                                                                            \
    ((s).bytes >= sizeof(text) - 1 && memcmp((s).at, text, sizeof(text) - 1) == 0)

static char last_of(struct vq_span text)
{
    return text.at[text.bytes - 1];
}

size_t vq_answer_decoration_bytes(struct vq_span text)
{
    if (text.bytes == 0) {
        return 0;
    }
    if (memchr(" \t*_`\"'", text.at[0], 7) != NULL) {
        return 1;
    }
    bool quote = text.bytes >= 3 && memcmp(text.at, "\xE2\x80", 2) == 0 &&
                 (unsigned char)text.at[2] >= 0x98 && (unsigned char)text.at[2] <= 0x9F;
    return quote ? 3 : 0; /* U+2018 to U+201F */
}

size_t vq_answer_colon_bytes(struct vq_span text)
{
    if (text.bytes > 0 && text.at[0] == ':') {
        return 1;
    }
    return STARTS(text, "\xEF\xBC\x9A") ? 3 : 0;
}

/* ---- marks ---- */

static bool ends_mark(struct vq_span text, size_t at)
{
    return at >= text.bytes || vq_is_blank(text.at[at]) || text.at[at] == '*' || text.at[at] == '"';
}

static size_t number_mark_bytes(struct vq_span text)
{
    size_t open = text.bytes > 0 && text.at[0] == '(' ? 1 : 0;
    size_t at = open;
    while (at < text.bytes && at - open < NUMBER_BYTES_MAX && text.at[at] >= '0' &&
           text.at[at] <= '9') {
        at++;
    }
    if (at == open || at >= text.bytes ||
        (text.at[at] != ')' && (open > 0 || text.at[at] != '.'))) {
        return 0;
    }
    return ends_mark(text, at + 1) ? at + 1 : 0;
}

static size_t bullet_bytes(struct vq_span text)
{
    static const char *const signs[] = {
        "\xE2\x80\xA2", "\xE2\x80\x93", "\xE2\x80\x94", /* bullet, dashes */
        "\xE2\x97\xA6", "\xE2\x96\xAA", "\xC2\xB7",     /* white and square bullet, middle dot */
    };
    if (text.bytes == 0) {
        return 0;
    }
    if (text.at[0] == '-') {
        return text.bytes == 1 || text.at[1] != '-' ? 1 : 0;
    }
    if (text.at[0] == '*' || text.at[0] == '+') {
        return text.bytes == 1 || vq_is_blank(text.at[1]) ? 1 : 0;
    }
    for (size_t i = 0; i < VQ_COUNT(signs); i++) {
        size_t bytes = strlen(signs[i]);
        if (text.bytes >= bytes && memcmp(text.at, signs[i], bytes) == 0) {
            return bytes;
        }
    }
    return number_mark_bytes(text);
}

struct vq_span vq_answer_skip_mark(struct vq_span text)
{
    text = vq_span_trim(text);
    for (int i = 0; i < MARK_ROUNDS_MAX; i++) {
        size_t bytes = bullet_bytes(text);
        if (bytes == 0) {
            break;
        }
        text = vq_span_trim(vq_span_after(text, bytes));
    }
    return text;
}

static size_t hashes(struct vq_span text)
{
    size_t n = 0;
    while (n < text.bytes && text.at[n] == '#') {
        n++;
    }
    return n >= 1 && n <= 6 && n < text.bytes && vq_is_blank(text.at[n]) ? n : 0;
}

/* Whether all of the text is bold, except a colon at the end; *ret_inner is the text without the
 * stars. */
static bool is_bold(struct vq_span text, struct vq_span *ret_inner)
{
    if (text.bytes < 5 || !STARTS(text, "**")) {
        return false;
    }
    const char *close = memmem(text.at + 2, text.bytes - 2, "**", 2);
    if (close == NULL) {
        return false;
    }
    struct vq_span rest = vq_span_after(text, (size_t)(close - text.at) + 2);
    size_t colon = vq_answer_colon_bytes(rest);
    *ret_inner = vq_span(text.at + 2, (size_t)(close - text.at) - 2);
    return colon == rest.bytes;
}

static bool is_fence_or_rule(struct vq_span text)
{
    if (STARTS(text, "```") || STARTS(text, "~~~")) {
        return true;
    }
    size_t marks = 0;
    for (size_t i = 0; i < text.bytes; i++) {
        if (memchr("-*_= ", text.at[i], 5) == NULL) {
            return false;
        }
        marks += text.at[i] != ' ' ? 1 : 0;
    }
    return marks >= 3;
}

static void read_mark(struct vq_answer_line *line)
{
    struct vq_span inner;
    size_t n = hashes(line->text);
    if (n > 0) {
        line->mark = VQ_LINE_HEADING;
        line->text = vq_span_trim(vq_span_after(line->text, n));
    } else if (bullet_bytes(line->text) > 0) {
        line->mark = VQ_LINE_BULLET;
    } else if (is_bold(line->text, &inner)) {
        line->mark = VQ_LINE_HEADING;
        line->text = inner;
    }
    line->text = vq_answer_skip_mark(line->text);
}

bool vq_answer_next_line(struct vq_span *text, struct vq_answer_line *ret_line)
{
    if (text->bytes == 0) {
        return false;
    }
    const char *end = memchr(text->at, '\n', text->bytes);
    size_t bytes = end == NULL ? text->bytes : (size_t)(end - text->at);
    struct vq_span raw = vq_span(text->at, bytes);
    *text = vq_span_after(*text, end == NULL ? bytes : bytes + 1);
    struct vq_answer_line line = {.mark = VQ_LINE_PLAIN};
    while (raw.bytes > 0 && (vq_is_blank(raw.at[0]) || raw.at[0] == '>')) {
        line.indent += raw.at[0] == '\t' ? TAB_COLUMNS : 1;
        raw = vq_span_after(raw, 1);
    }
    line.text = vq_span_trim(raw);
    if (is_fence_or_rule(line.text)) {
        line.text.bytes = 0;
    } else {
        read_mark(&line);
    }
    *ret_line = line;
    return true;
}

/* ---- bare texts ---- */

static size_t count_of(struct vq_span text, char c)
{
    size_t count = 0;
    for (size_t i = 0; i < text.bytes; i++) {
        count += text.at[i] == c ? 1 : 0;
    }
    return count;
}

/* Removes one layer of quotes: a pair without the same quotes inside, or a single double quote. */
static struct vq_span unquote(struct vq_span text)
{
    if (text.bytes >= 6 && memcmp(text.at, "\xE2\x80\x9C", 3) == 0 &&
        memcmp(text.at + text.bytes - 3, "\xE2\x80\x9D", 3) == 0) {
        return vq_span(text.at + 3, text.bytes - 6);
    }
    static const char quotes[] = {'"', '\'', '`', '_'};
    for (size_t i = 0; i < sizeof(quotes); i++) {
        bool front = text.at[0] == quotes[i];
        bool back = last_of(text) == quotes[i];
        if (!front && !back) {
            continue;
        }
        size_t count = count_of(text, quotes[i]);
        if (front && back && count == 2) {
            return vq_span(text.at + 1, text.bytes - 2);
        }
        if (count == 1 && (quotes[i] == '"' || quotes[i] == '`')) {
            return front ? vq_span_after(text, 1) : vq_span(text.at, text.bytes - 1);
        }
    }
    return text;
}

/* Removes a bracket at an end if its partner is not in the text. */
static struct vq_span unbracket(struct vq_span text)
{
    static const char pairs[][2] = {{'{', '}'}, {'(', ')'}, {'[', ']'}};
    for (size_t i = 0; i < VQ_COUNT(pairs) && text.bytes > 0; i++) {
        if (last_of(text) == pairs[i][1] &&
            count_of(text, pairs[i][0]) < count_of(text, pairs[i][1])) {
            text.bytes--;
        } else if (text.at[0] == pairs[i][0] &&
                   count_of(text, pairs[i][0]) > count_of(text, pairs[i][1])) {
            text = vq_span_after(text, 1);
        }
    }
    return text;
}

static struct vq_span unseparate(struct vq_span text)
{
    while (text.bytes > 0 && memchr(",;|*", text.at[0], 4) != NULL) {
        text = vq_span_after(text, 1);
    }
    while (text.bytes > 0 && memchr(",;|*", last_of(text), 4) != NULL) {
        text.bytes--;
    }
    return vq_span_after(text, vq_answer_colon_bytes(text));
}

struct vq_span vq_answer_bare(struct vq_span text)
{
    for (int i = 0; i < BARE_ROUNDS_MAX; i++) {
        struct vq_span before = text;
        text = unseparate(vq_span_trim(text));
        if (text.bytes > 0) {
            text = unbracket(unquote(text));
        }
        if (text.bytes == before.bytes) {
            break;
        }
    }
    return text;
}

static bool is_word_byte(struct vq_span text, size_t at)
{
    return at < text.bytes && ((unsigned char)text.at[at] >= 0x80 ||
                               vq_label_punct_bytes(vq_span(text.at + at, 1)) == 0);
}

/* Bytes of the emphasis mark at `at`: two stars or more, or one with a word on one side only. */
static size_t emphasis_bytes(struct vq_span text, size_t at)
{
    size_t n = 0;
    while (at + n < text.bytes && text.at[at + n] == '*') {
        n++;
    }
    if (n == 1 && (at > 0 && is_word_byte(text, at - 1)) == is_word_byte(text, at + 1)) {
        return 0;
    }
    return n;
}

void vq_answer_clean(struct vq_span text, size_t bytes_max, struct vq_buf *out)
{
    text = vq_answer_bare(text);
    size_t used = 0;
    bool space = false;
    for (size_t at = 0; at < text.bytes;) {
        size_t emphasis = emphasis_bytes(text, at);
        if (emphasis > 0) {
            at += emphasis;
            continue;
        }
        uint32_t point = vq_utf8_next(text, &at);
        if (point <= ' ' || (point >= 0x7F && point <= 0xA0) || point == 0x2028 ||
            point == 0x2029) {
            space = used > 0;
            continue;
        }
        char bytes[1 + VQ_UTF8_BYTES_MAX] = {' '};
        size_t n = 1 + vq_utf8_put(point, bytes + 1);
        size_t skip = space ? 0 : 1;
        if (used + n - skip > bytes_max) {
            break;
        }
        vq_buf_append(out, bytes + skip, n - skip);
        used += n - skip;
        space = false;
    }
}
