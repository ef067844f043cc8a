/* Finds thinking blocks in an answer. Blocks do not nest: a block ends at the first closing mark of
 * its kind.
 *
 * The place of a mark decides its effect. An opening mark at the front of the answer or of a line
 * opens a block; inside a line it opens one only if it is closed on that line. A closing mark
 * without a block ends a block that began in the prompt, unless a sentence mentions it. Marks in
 * closed fences and between backticks are code. Each byte is read a bounded number of times,
 * because unclosed marks are remembered. Borrows its texts. Not its job: the list of marks
 * (thinking_marks.c). */
#include "common/judge/thinking.h"

#include "common/judge/label.h"
#include "common/judge/thinking_marks.h"

#define FENCE_BYTES_MIN 3u
#define FENCE_BYTES_MAX 8u /* longer fences count as this long */

static bool is_break(char c)
{
    return c == '\n' || c == '\r';
}

static size_t line_end(struct vq_span text, size_t at)
{
    while (at < text.bytes && !is_break(text.at[at])) {
        at++;
    }
    return at;
}

/* ---- code ---- */

/* Bytes of a fence: a run of ` or ~. */
static size_t fence_bytes(struct vq_span text, size_t at)
{
    size_t n = 0;
    while (at + n < text.bytes && text.at[at + n] == text.at[at]) {
        n++;
    }
    return n >= FENCE_BYTES_MIN ? n : 0;
}

/* Whether the line at `at` is only a fence that closes a fence of `n` of these signs. */
static bool closes_fence(struct vq_span text, size_t at, char sign, size_t n)
{
    while (at < text.bytes && vq_is_gap(text.at[at])) {
        at++;
    }
    if (at >= text.bytes || text.at[at] != sign || fence_bytes(text, at) < n) {
        return false;
    }
    at += fence_bytes(text, at);
    while (at < text.bytes && vq_is_gap(text.at[at])) {
        at++;
    }
    return at >= text.bytes || is_break(text.at[at]);
}

/* The index after the code that begins with the fence at `at`; `at` if it is not a fence, or not
 * closed. */
static size_t skip_fence(struct vq_thinking *t, size_t at)
{
    char sign = t->text.at[at];
    size_t *unclosed = &t->fences_unclosed[sign == '~'];
    size_t n = sign == '`' || sign == '~' ? fence_bytes(t->text, at) : 0;
    n = n > FENCE_BYTES_MAX ? FENCE_BYTES_MAX : n;
    if (n == 0 || (*unclosed > 0 && n >= *unclosed)) {
        return at;
    }
    size_t line = line_end(t->text, at);
    if (sign == '`' && memchr(t->text.at + at + fence_bytes(t->text, at), '`',
                              line - at - fence_bytes(t->text, at)) != NULL) {
        return at; /* ```code``` in a line */
    }
    while (line < t->text.bytes) {
        line++;
        if (closes_fence(t->text, line, sign, n)) {
            return line_end(t->text, line);
        }
        line = line_end(t->text, line);
    }
    *unclosed = n;
    return at;
}

/* ---- blocks ---- */

/* State of the scanned line. */
struct scan {
    size_t at;
    bool front;       /* only blanks so far */
    bool ticked;      /* an odd number of backticks so far */
    size_t last_tick; /* the index after the last backtick of the line; 0: unknown */
};

/* Whether s->at is between backticks of its line. */
static bool in_backticks(const struct vq_thinking *t, struct scan *s)
{
    if (s->ticked && s->last_tick == 0) {
        s->last_tick = 1;
        for (size_t i = s->at; i < t->text.bytes && !is_break(t->text.at[i]); i++) {
            s->last_tick = t->text.at[i] == '`' ? i + 1 : s->last_tick;
        }
    }
    return s->ticked && s->last_tick > s->at;
}

/* Whether a quote or bracket ends at `end`. */
static bool quote_before(struct vq_span text, size_t end)
{
    return memchr("\"'`(", text.at[end - 1], 4) != NULL ||
           (end >= 3 && (memcmp(text.at + end - 3, "\xE2\x80\x9C", 3) == 0 ||
                         memcmp(text.at + end - 3, "\xE2\x80\x98", 3) == 0));
}

static bool quote_after(struct vq_span text)
{
    return text.bytes > 0 && (memchr("\"'`)", text.at[0], 4) != NULL ||
                              (text.bytes >= 3 && memcmp(text.at, "\xE2\x80", 2) == 0));
}

/* Whether a sentence mentions the closing mark: "it leaves a stray </think> tag". */
static bool is_mentioned(const struct vq_thinking *t, struct scan *s, size_t bytes)
{
    if (s->front) {
        return false;
    }
    struct vq_span after = vq_span_after(t->text, s->at + bytes);
    if ((quote_before(t->text, s->at) && quote_after(after)) || in_backticks(t, s)) {
        return true;
    }
    struct vq_span next = after;
    while (next.bytes > 0 && vq_is_gap(next.at[0])) {
        next = vq_span_after(next, 1);
    }
    if (!vq_is_gap(t->text.at[s->at - 1]) || next.bytes == 0 || is_break(next.at[0])) {
        return false;
    }
    bool letter = next.at[0] >= 'a' && next.at[0] <= 'z';
    return (letter && next.bytes < after.bytes) || memchr(".,;:!?)", next.at[0], 7) != NULL;
}

/* The index after the first closing mark of the kind at or after *at; 0: none, and *at is the end
 * of the search. A mark between two backticks is code. */
static size_t find_close(struct vq_span text, uint32_t kind, bool on_line, size_t *at)
{
    size_t from = *at;
    for (; *at < text.bytes && !(on_line && is_break(text.at[*at])); (*at)++) {
        struct vq_thinking_mark mark;
        struct vq_span rest = vq_span_after(text, *at);
        if (vq_thinking_may_begin(rest) && vq_thinking_mark_at(rest, &mark) && mark.closes &&
            mark.kind == kind) {
            size_t end = *at + mark.bytes;
            bool code =
                *at > from && text.at[*at - 1] == '`' && end < text.bytes && text.at[end] == '`';
            if (!code) {
                return end;
            }
        }
    }
    return 0;
}

static bool take_block(struct vq_thinking *t, size_t from, size_t end, bool closes, bool open)
{
    t->has_block = true;
    t->block_at = from;
    t->block_end = end;
    t->closes = closes;
    t->stays_open = open;
    return true;
}

/* Takes a pair inside a line as a block. */
static bool take_inside(struct vq_thinking *t, size_t from, size_t end, uint32_t kind)
{
    uint64_t bit = UINT64_C(1) << kind;
    t->line_unclosed = from < t->line_searched ? t->line_unclosed : 0;
    if ((t->line_unclosed & bit) != 0) {
        return false;
    }
    size_t close = find_close(t->text, kind, true, &end);
    if (close == 0) {
        t->line_unclosed |= bit;
        t->line_searched = end;
    }
    return close > 0 && take_block(t, from, close, false, false);
}

/* Handles a mark: it begins or ends a block, or is skipped. */
static bool take_mark(struct vq_thinking *t, struct scan *s, const struct vq_thinking_mark *mark)
{
    size_t end = s->at + mark->bytes;
    uint64_t bit = UINT64_C(1) << mark->kind;
    if (mark->closes) {
        return !is_mentioned(t, s, mark->bytes) && take_block(t, s->at, end, true, false);
    }
    if (!s->front) {
        return take_inside(t, s->at, end, mark->kind);
    }
    if (mark->opens == VQ_THINKING_WHOLE && s->at > 0) {
        return false;
    }
    size_t close = (t->unclosed & bit) == 0 ? find_close(t->text, mark->kind, false, &end) : 0;
    if (close > 0) {
        return take_block(t, s->at, close, false, false);
    }
    t->unclosed |= bit;
    return mark->opens != VQ_THINKING_PAIR && take_block(t, s->at, t->text.bytes, false, true);
}

/* Whether the first byte can be skipped anywhere inside a line. */
static bool is_plain(struct vq_span text)
{
    return !is_break(text.at[0]) && text.at[0] != '`' && !vq_thinking_may_begin(text);
}

/* Finds the next block at or after t->at. */
static void find_block(struct vq_thinking *t)
{
    struct scan s = {.at = t->at, .front = true};
    while (s.at < t->text.bytes) {
        char c = t->text.at[s.at];
        struct vq_span rest = vq_span_after(t->text, s.at);
        if (!s.front && is_plain(rest)) {
            s.at++;
            continue;
        }
        struct vq_thinking_mark mark;
        if (is_break(c)) {
            s = (struct scan){.at = s.at + 1, .front = true};
            continue;
        }
        size_t code = s.front ? skip_fence(t, s.at) : s.at;
        if (code > s.at) {
            s.at = code;
        } else if (vq_thinking_mark_at(rest, &mark)) {
            if (take_mark(t, &s, &mark)) {
                return;
            }
            s.at += mark.bytes;
        } else {
            s.ticked ^= c == '`';
            s.at++;
        }
        s.front = s.front && vq_is_gap(c);
    }
    (void)take_block(t, t->text.bytes, t->text.bytes, false, false);
}

static bool is_blank_until(const struct vq_thinking *t, size_t end)
{
    for (size_t i = t->at; i < end; i++) {
        if (!vq_is_gap(t->text.at[i]) && !is_break(t->text.at[i])) {
            return false;
        }
    }
    return true;
}

/* As vq_thinking_rest; *ret_plain: it is the whole text, and has no block. */
static struct vq_span find_rest(struct vq_span text, bool *ret_plain)
{
    static const char byte_order_mark[] = "\xEF\xBB\xBF";
    if (vq_span_begins(text, byte_order_mark)) {
        text = vq_span_after(text, strlen(byte_order_mark));
    }
    struct vq_thinking t = {.text = text};
    size_t from = 0;
    *ret_plain = false;
    while (t.at < text.bytes) {
        find_block(&t);
        if (t.stays_open) {
            return vq_span(text.at + text.bytes, 0);
        }
        *ret_plain = t.at == 0 && t.block_at == text.bytes;
        if (t.closes ||
            (t.at == from && t.block_end > t.block_at && is_blank_until(&t, t.block_at))) {
            from = t.block_end;
        }
        t.at = t.block_end;
    }
    return vq_span_after(text, from);
}

struct vq_span vq_thinking_rest(struct vq_span text)
{
    bool plain;
    return find_rest(text, &plain);
}

void vq_thinking_begin(struct vq_span answer, struct vq_thinking *ret_lines)
{
    bool plain = false;
    struct vq_span text = answer.bytes == 0 ? vq_span_str("") : find_rest(answer, &plain);
    *ret_lines = (struct vq_thinking){.text = text};
    if (plain) { /* no second search */
        (void)take_block(ret_lines, text.bytes, text.bytes, false, false);
    }
}

bool vq_thinking_next_line(struct vq_thinking *t, struct vq_span *ret_line)
{
    if (t->ended) {
        return false;
    }
    if (!t->has_block) {
        find_block(t);
    }
    size_t from = t->at;
    size_t end = from;
    while (end < t->block_at && !is_break(t->text.at[end])) {
        end++;
    }
    *ret_line = vq_span(t->text.at + from, end - from);
    if (end < t->block_at) {
        t->at = end + 1;
        return true;
    }
    t->ended = t->block_at == t->text.bytes;
    t->has_block = false;
    t->at = t->block_end;
    return true;
}

bool vq_thinking_is_all(struct vq_span answer)
{
    struct vq_thinking lines;
    struct vq_span line;
    vq_thinking_begin(answer, &lines);
    while (vq_thinking_next_line(&lines, &line)) {
        for (size_t i = 0; i < line.bytes; i++) {
            if (memchr(" \t\f\v", line.at[i], 4) == NULL) {
                return false;
            }
        }
    }
    return true;
}

void vq_thinking_strip(struct vq_span text, struct vq_buf *buf)
{
    struct vq_thinking t;
    vq_thinking_begin(text, &t);
    while (t.at < t.text.bytes) {
        find_block(&t);
        vq_buf_append(buf, t.text.at + t.at, t.block_at - t.at);
        if (t.block_end > t.block_at) {
            vq_buf_putc(buf, '\n');
        }
        t.at = t.block_end;
    }
}
