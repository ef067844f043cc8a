/* Removes Markdown marks from a text. Invariant: the result is never longer than the text. The
 * rules are simple on purpose: a mark without a partner on its line counts as text and is not
 * removed. */
#include "methods/report/html/plain.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\0';
}

static char at(struct vq_span line, size_t i)
{
    return i < line.bytes ? line.at[i] : '\0';
}

/* The number of bytes of the mark that begins at `i`; 0: there is no mark. */
static size_t mark_bytes(struct vq_span line, size_t i)
{
    char c = at(line, i);
    if (c == '`') {
        return 1;
    }
    if (c != '*' && c != '_') {
        return 0;
    }
    size_t n = at(line, i + 1) == c ? 2 : 1;
    return c == '_' && n == 1 ? 0 : n; /* names have single underscores */
}

static bool is_same(struct vq_span line, size_t i, size_t k, size_t n)
{
    return k + n <= line.bytes && memcmp(line.at + i, line.at + k, n) == 0;
}

/* The position of the closing mark for the mark at `i`. A closing mark comes after a word, as an
 * opening mark comes before one. line.bytes: there is none. */
static size_t closing(struct vq_span line, size_t i, size_t n)
{
    bool code = line.at[i] == '`';
    if (!code && is_blank(at(line, i + n))) {
        return line.bytes;
    }
    for (size_t k = i + n + 1; k + n <= line.bytes; k++) {
        if (is_same(line, i, k, n) && (code || !is_blank(line.at[k - 1]))) {
            return k;
        }
    }
    return line.bytes;
}

static void put_line(struct vq_span line, struct vq_buf *out)
{
    size_t hashes = 0;
    while (at(line, hashes) == '#') {
        hashes++;
    }
    bool heading = hashes > 0 && hashes <= 6 && at(line, hashes) == ' ';
    size_t closes[8], bytes[8], open = 0;
    for (size_t i = heading ? hashes + 1 : 0; i < line.bytes;) {
        if (open > 0 && closes[open - 1] == i) {
            i += bytes[--open];
            continue;
        }
        size_t n = mark_bytes(line, i);
        size_t end = n > 0 && open < VQ_COUNT(closes) ? closing(line, i, n) : line.bytes;
        bool inside = open == 0 || end + n <= closes[open - 1];
        if (n > 0 && end < line.bytes && inside) {
            closes[open] = end;
            bytes[open++] = n;
            i += n;
            continue;
        }
        size_t step = n > 0 ? n : 1;
        vq_buf_append(out, line.at + i, step);
        i += step;
    }
}

void vq_plain_of_markdown(struct vq_span text, struct vq_buf *out)
{
    for (size_t from = 0; from < text.bytes;) {
        const char *end = memchr(text.at + from, '\n', text.bytes - from);
        size_t until = end == NULL ? text.bytes : (size_t)(end - text.at);
        struct vq_span line = vq_span(text.at + from, until - from);
        if (!(line.bytes >= 3 && memcmp(line.at, "```", 3) == 0)) {
            put_line(line, out);
            vq_buf_append(out, "\n", end == NULL ? 0 : 1);
        }
        from = until + 1;
    }
}
