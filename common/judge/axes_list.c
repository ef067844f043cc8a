/* JSON and Python lists as models write them: with fences around them, either kind of quotes,
 * unescaped quotes inside, an extra comma, a missing end. A JSON parser refuses most of these, so
 * this reader takes all items up to the first place that it cannot read.
 *
 * One pass, with the depth bounded by DEPTH_MAX. Items are: a string in a list; an object with a
 * high or a low; a member whose value is such an object or a text with both labels (its key is the
 * name). Not its job: lines (axes_text.c); the use of the items. */
#include "common/judge/axes_parts.h"
#include "common/judge/label.h"
#include "common/text/json_mend.h"
#include "common/text/utf8.h"
#define DEPTH_MAX        16
#define STRING_BYTES_MAX (4 * VQ_AXES_TEXT_BYTES_MAX)
#define KEY_BYTES_MAX    VQ_AXES_NAME_BYTES_MAX

struct scan {
    struct vq_span text;
    size_t at;
    unsigned depth;
    vq_axes_item_fn item;
    void *ctx;
    enum vq_status status; /* of the last item */
};

static bool read_value(struct scan *s, struct vq_span name);

static char peek(const struct scan *s)
{
    return s->at < s->text.bytes ? s->text.at[s->at] : '\0';
}

static size_t skip_blank(struct vq_span text, size_t at)
{
    while (at < text.bytes && memchr(" \t\r\n", text.at[at], 4) != NULL) {
        at++;
    }
    return at;
}

/* Skips blanks, and then `c`; true: `c` was there. */
static bool accept(struct scan *s, char c)
{
    s->at = skip_blank(s->text, s->at);
    if (peek(s) != c || s->at >= s->text.bytes) {
        return false;
    }
    s->at++;
    return true;
}

static bool is_quote(char c)
{
    return c == '"' || c == '\'';
}

static void put(struct vq_buf *buf, const char *bytes, size_t n)
{
    if (buf->status == VQ_OK && buf->bytes + n <= buf->bytes_max) {
        vq_buf_append(buf, bytes, n);
    }
}

/* Reads the escape after a backslash. */
static void read_escape(struct scan *s, struct vq_buf *buf)
{
    char c = peek(s);
    int32_t point = vq_json_code_unit(s->text, s->at - 1);
    if (point >= 0) {
        s->at += 5;
        int32_t low = vq_json_code_unit(s->text, s->at);
        if (point >= 0xD800 && point < 0xDC00 && low >= 0xDC00 && low < 0xE000) {
            point = 0x10000 + (point - 0xD800) * 0x400 + (low - 0xDC00);
            s->at += 6;
        }
        char bytes[VQ_UTF8_BYTES_MAX];
        put(buf, bytes, vq_utf8_put((uint32_t)point, bytes));
        return;
    }
    if (s->at < s->text.bytes) {
        s->at++;
        put(buf, c == 'n' ? "\n" : c == 't' || c == 'r' ? " " : &c, 1);
    }
}

/* Reads a string in quotes. A quote ends it only before one of `after` or the end, because of texts
 * such as "it's". False: not closed. */
static bool read_string(struct scan *s, const char *after, struct vq_buf *buf)
{
    char quote = peek(s);
    vq_buf_clear(buf);
    s->at++;
    while (s->at < s->text.bytes) {
        char c = s->text.at[s->at++];
        if (c == '\\') {
            read_escape(s, buf);
            continue;
        }
        if (c == quote) {
            size_t next = skip_blank(s->text, s->at);
            if (next >= s->text.bytes || strchr(after, s->text.at[next]) != NULL) {
                return buf->status != VQ_NOMEM;
            }
        }
        put(buf, &c, 1);
    }
    return false;
}

/* Skips a number, true, null, or a word without quotes. */
static bool skip_bare(struct scan *s)
{
    size_t from = s->at;
    while (s->at < s->text.bytes && memchr(",]}\n", s->text.at[s->at], 4) == NULL) {
        s->at++;
    }
    return s->at > from;
}

static bool give(struct scan *s, const struct vq_axes_found *found)
{
    s->status = s->item(s->ctx, found);
    return s->status == VQ_OK;
}

/* ---- objects ---- */

enum member {
    MEMBER_NAME,
    MEMBER_HIGH,
    MEMBER_LOW,
    MEMBER_OTHER,
    MEMBER__COUNT
};

struct object {
    struct vq_buf key;
    struct vq_buf values[MEMBER__COUNT];
    size_t from; /* its beginning, for a rejected object */
};

static enum member member_of(struct vq_span key)
{
    static const struct {
        const char *word;
        enum member member;
    } words[] = {
        {"high", MEMBER_HIGH},  {"low", MEMBER_LOW},       {"name", MEMBER_NAME},
        {"axis", MEMBER_NAME},  {"vibe", MEMBER_NAME},     {"title", MEMBER_NAME},
        {"trait", MEMBER_NAME}, {"property", MEMBER_NAME}, {"dimension", MEMBER_NAME},
    };
    struct vq_span word = vq_label_word(vq_label_skip_punct(key));
    while (word.bytes > 0 && memchr(word.at, '_', word.bytes) != NULL) {
        word.bytes--;
    }
    for (size_t i = 0; i < VQ_COUNT(words); i++) {
        if (vq_label_word_is(word, words[i].word)) {
            return words[i].member;
        }
    }
    return MEMBER_OTHER;
}

/* Takes a string member. A member that is an axis in one text becomes an item at once, with its key
 * as the name. */
static bool take_member(struct scan *s, struct object *o, struct vq_buf *value)
{
    enum member member = member_of(vq_buf_span(&o->key));
    struct vq_axes_split split;
    if (member == MEMBER_OTHER) {
        if (!vq_axes_split(vq_buf_span(value), false, &split) ||
            split.ends[VQ_AXES_HIGH].at == NULL || split.ends[VQ_AXES_LOW].at == NULL) {
            return true;
        }
        struct vq_axes_found found = {
            .name = vq_buf_span(&o->key),
            .ends = {split.ends[VQ_AXES_HIGH], split.ends[VQ_AXES_LOW]},
            .raw = vq_buf_span(value),
        };
        return give(s, &found);
    }
    vq_buf_clear(&o->values[member]);
    put(&o->values[member], value->at == NULL ? "" : value->at, value->bytes);
    return o->values[member].status != VQ_NOMEM;
}

static bool read_key(struct scan *s, struct object *o)
{
    if (is_quote(peek(s))) {
        return read_string(s, ":", &o->key) && accept(s, ':');
    }
    size_t from = s->at;
    while (s->at < s->text.bytes && memchr(":,{}[]\n", s->text.at[s->at], 7) == NULL) {
        s->at++;
    }
    vq_buf_clear(&o->key);
    put(&o->key, s->text.at + from, s->at - from);
    return s->at > from && o->key.status != VQ_NOMEM && accept(s, ':');
}

static bool read_members(struct scan *s, struct object *o)
{
    for (;;) {
        while (accept(s, ',')) {
        }
        if (accept(s, '}')) {
            return true;
        }
        if (s->at >= s->text.bytes || !read_key(s, o)) {
            return false;
        }
        s->at = skip_blank(s->text, s->at);
        if (!is_quote(peek(s))) {
            if (!read_value(s, vq_buf_span(&o->key))) {
                return false;
            }
        } else if (!read_string(s, ",}", &o->values[MEMBER_OTHER]) ||
                   !take_member(s, o, &o->values[MEMBER_OTHER])) {
            return false;
        }
    }
}

static bool give_object(struct scan *s, const struct object *o, struct vq_span name)
{
    const struct vq_buf *values = o->values;
    struct vq_axes_found found = {
        .name = values[MEMBER_NAME].bytes > 0 ? vq_buf_span(&values[MEMBER_NAME]) : name,
        .ends = {vq_buf_span(&values[MEMBER_HIGH]), vq_buf_span(&values[MEMBER_LOW])},
        .raw = vq_span(s->text.at + o->from, s->at - o->from),
    };
    if (found.ends[VQ_AXES_HIGH].bytes > 0 || found.ends[VQ_AXES_LOW].bytes > 0) {
        return give(s, &found);
    }
    if (values[MEMBER_NAME].bytes > 0) {
        found = (struct vq_axes_found){.raw = found.name};
        return give(s, &found);
    }
    return true;
}

static bool read_object(struct scan *s, struct vq_span name)
{
    struct object o = {.from = s->at};
    vq_buf_init(&o.key, KEY_BYTES_MAX);
    for (int i = 0; i < MEMBER__COUNT; i++) {
        vq_buf_init(&o.values[i], STRING_BYTES_MAX);
    }
    s->at++;
    bool closed = read_members(s, &o);
    bool done = closed && give_object(s, &o, name);
    if (o.key.status == VQ_NOMEM) {
        s->status = VQ_NOMEM;
    }
    vq_buf_free(&o.key);
    for (int i = 0; i < MEMBER__COUNT; i++) {
        s->status = o.values[i].status == VQ_NOMEM ? VQ_NOMEM : s->status;
        vq_buf_free(&o.values[i]);
    }
    return done && s->status == VQ_OK;
}

/* ---- lists ---- */

static bool read_items(struct scan *s)
{
    struct vq_buf text;
    vq_buf_init(&text, STRING_BYTES_MAX);
    bool going = true;
    while (going) {
        while (accept(s, ',')) {
        }
        if (accept(s, ']')) {
            break;
        }
        if (s->at >= s->text.bytes) {
            going = false;
        } else if (!is_quote(peek(s))) {
            going = read_value(s, vq_span_str(""));
        } else if (read_string(s, ",]", &text)) {
            struct vq_axes_found found = {.raw = vq_buf_span(&text)};
            going = give(s, &found);
        } else {
            going = false;
        }
    }
    s->status = text.status == VQ_NOMEM ? VQ_NOMEM : s->status;
    vq_buf_free(&text);
    return going;
}

/* Reads a list or an object, or skips another value. False: it is not complete. */
static bool read_value(struct scan *s, struct vq_span name)
{
    char c = peek(s);
    if ((c != '[' && c != '{') || s->depth == DEPTH_MAX) {
        return skip_bare(s);
    }
    s->depth++;
    bool done;
    if (c == '{') {
        done = read_object(s, name);
    } else {
        s->at++;
        done = read_items(s);
    }
    s->depth--;
    return done;
}

/* Whether a list may begin at `at`: a bracket, then a quote or another bracket. */
static bool begins_list(struct vq_span text, size_t at)
{
    size_t next = skip_blank(text, at + 1);
    return (text.at[at] == '[' || text.at[at] == '{') && next < text.bytes &&
           (is_quote(text.at[next]) || text.at[next] == '[' || text.at[next] == '{' ||
            (text.at[at] == '{' &&
             member_of(vq_span(text.at + next, text.bytes - next)) != MEMBER_OTHER));
}

/* Finds the beginning of the first list: at the front of a line, or after "axes =" or "Axes:". */
static bool find_list(struct vq_span text, size_t *ret_at)
{
    bool front = true; /* only blanks on this line so far, or after an "=" or ":" */
    for (size_t at = 0; at < text.bytes; at++) {
        char c = text.at[at];
        if (front && (c == '[' || c == '{')) {
            if (begins_list(text, at)) {
                *ret_at = at;
                return true;
            }
        }
        if (c == '\n' || c == '=' || c == ':') {
            front = true;
        } else if (c != ' ' && c != '\t' && c != '\r') {
            front = false;
        }
    }
    return false;
}

enum vq_status vq_axes_read_list(struct vq_span text, vq_axes_item_fn item, void *ctx)
{
    struct scan s = {.text = text, .item = item, .ctx = ctx, .status = VQ_OK};
    if (!find_list(text, &s.at)) {
        return VQ_OK;
    }
    do { /* one object per line is a list, too */
        if (!read_value(&s, vq_span_str(""))) {
            break;
        }
        (void)accept(&s, ',');
        s.at = skip_blank(text, s.at);
    } while (s.at < text.bytes && begins_list(text, s.at));
    return s.status;
}
