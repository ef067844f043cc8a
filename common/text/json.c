/* Writes JSON, and checks the bounds of JSON texts. Invariant: the output is valid UTF-8 and, after
 * all objects and arrays are ended, one valid JSON value. Not its job: reading JSON (jansson, after
 * vq_json_exceeds), files. */
#include "common/text/json.h"

#include "common/text/utf8.h"

#include <math.h>
#include <stdio.h>

#define BLOCK_BYTES 16u

/* Whether a block can be copied unchanged. The loop has no branch, so that it compiles to vector
 * instructions. */
static bool block_is_plain(const char *at)
{
    unsigned char escaped = 0;
    for (size_t i = 0; i < BLOCK_BYTES; i++) {
        unsigned char c = (unsigned char)at[i];
        bool outside = (unsigned char)(c - 0x20) >= 0x7F - 0x20;
        escaped |= (unsigned char)(outside | (c == '"') | (c == '\\'));
    }
    return escaped == 0;
}

/* The number of bytes at the front of `text` that can be copied unchanged: no control byte, quote,
 * backslash or non-ASCII byte. */
static size_t plain_bytes(struct vq_span text)
{
    size_t n = 0;
    while (n + BLOCK_BYTES <= text.bytes && block_is_plain(text.at + n)) {
        n += BLOCK_BYTES;
    }
    while (n < text.bytes) {
        unsigned char c = (unsigned char)text.at[n];
        if (c < 0x20 || c == '"' || c == '\\' || c >= 0x7F) {
            break;
        }
        n++;
    }
    return n;
}

/* The JSON may be part of a page or of YAML. Line and paragraph separators end a line in scripts
 * and in YAML, and so does U+0085 in YAML. YAML accepts other control characters, the byte order
 * mark and noncharacters only escaped. */
static bool must_be_escaped(uint32_t point)
{
    return point < 0x20 || (point >= 0x7F && point < 0xA0) || point == 0x2028 || point == 0x2029 ||
           point == 0xFEFF || point == 0xFFFE || point == 0xFFFF;
}

static void put_escaped(struct vq_buf *out, uint32_t point)
{
    static const char letters[] = "\bb\ff\nn\rr\tt\"\"\\\\";
    for (size_t i = 0; i + 1 < sizeof(letters); i += 2) {
        if (point == (uint32_t)letters[i]) {
            char pair[2] = {'\\', letters[i + 1]};
            vq_buf_append(out, pair, 2);
            return;
        }
    }
    if (must_be_escaped(point)) {
        vq_buf_printf(out, "\\u%04x", point);
        return;
    }
    char bytes[VQ_UTF8_BYTES_MAX];
    vq_buf_append(out, bytes, vq_utf8_put(point, bytes));
}

void vq_json_string(struct vq_buf *out, struct vq_span text)
{
    vq_buf_putc(out, '"');
    size_t pos = 0;
    while (pos < text.bytes && out->status == VQ_OK) {
        size_t n = plain_bytes(vq_span(text.at + pos, text.bytes - pos));
        vq_buf_append(out, text.at + pos, n);
        pos += n;
        if (pos < text.bytes) {
            put_escaped(out, vq_utf8_next(text, &pos));
        }
    }
    vq_buf_putc(out, '"');
}

void vq_json_init(struct vq_json *json, struct vq_buf *out, uint32_t indent)
{
    *json = (struct vq_json){.out = out, .indent = indent};
}

static void new_line(struct vq_json *json)
{
    if (json->indent == 0) {
        return;
    }
    vq_buf_putc(json->out, '\n');
    for (uint32_t i = 0; i < json->indent * json->depth; i++) {
        vq_buf_putc(json->out, ' ');
    }
}

static void before_item(struct vq_json *json)
{
    if (json->depth == 0) {
        return;
    }
    bool *has_items = &json->has_items[json->depth - 1];
    if (*has_items) {
        vq_buf_putc(json->out, ',');
    }
    *has_items = true;
    new_line(json);
}

static void before_value(struct vq_json *json)
{
    if (json->after_key) {
        json->after_key = false;
        return;
    }
    VQ_ASSERT(json->depth == 0 || !json->is_object[json->depth - 1]);
    before_item(json);
}

static void begin(struct vq_json *json, bool is_object)
{
    before_value(json);
    VQ_ASSERT(json->depth < VQ_JSON_DEPTH_MAX);
    vq_buf_putc(json->out, is_object ? '{' : '[');
    json->has_items[json->depth] = false;
    json->is_object[json->depth] = is_object;
    json->depth++;
}

static void end(struct vq_json *json, bool is_object)
{
    VQ_ASSERT(json->depth > 0 && json->is_object[json->depth - 1] == is_object && !json->after_key);
    json->depth--;
    if (json->has_items[json->depth]) {
        new_line(json);
    }
    vq_buf_putc(json->out, is_object ? '}' : ']');
}

void vq_json_object(struct vq_json *json)
{
    begin(json, true);
}

void vq_json_object_end(struct vq_json *json)
{
    end(json, true);
}

void vq_json_array(struct vq_json *json)
{
    begin(json, false);
}

void vq_json_array_end(struct vq_json *json)
{
    end(json, false);
}

void vq_json_open(struct vq_json *json, struct vq_buf *out, uint32_t indent)
{
    vq_json_init(json, out, indent);
    vq_json_object(json);
}

void vq_json_close(struct vq_json *json)
{
    vq_json_object_end(json);
    vq_buf_putc(json->out, '\n');
}

void vq_json_key_span(struct vq_json *json, struct vq_span key)
{
    VQ_ASSERT(json->depth > 0 && json->is_object[json->depth - 1] && !json->after_key);
    before_item(json);
    vq_json_string(json->out, key);
    vq_buf_puts(json->out, json->indent == 0 ? ":" : ": ");
    json->after_key = true;
}

void vq_json_key(struct vq_json *json, const char *key)
{
    vq_json_key_span(json, vq_span_str(key));
}

void vq_json_raw(struct vq_json *json, struct vq_span value)
{
    before_value(json);
    vq_buf_append(json->out, value.at, value.bytes);
}

void vq_json_span(struct vq_json *json, struct vq_span text)
{
    before_value(json);
    vq_json_string(json->out, text);
}

void vq_json_null(struct vq_json *json)
{
    vq_json_raw(json, vq_span_str("null"));
}

void vq_json_str(struct vq_json *json, const char *text)
{
    if (text == NULL) {
        vq_json_null(json);
        return;
    }
    vq_json_span(json, vq_span_str(text));
}

void vq_json_i64(struct vq_json *json, int64_t value)
{
    before_value(json);
    vq_buf_printf(json->out, "%lld", (long long)value);
}

void vq_json_u64(struct vq_json *json, uint64_t value)
{
    before_value(json);
    vq_buf_printf(json->out, "%llu", (unsigned long long)value);
}

void vq_json_bool(struct vq_json *json, bool value)
{
    vq_json_raw(json, vq_span_str(value ? "true" : "false"));
}

void vq_json_put_str(struct vq_json *json, const char *key, const char *text)
{
    vq_json_key(json, key);
    vq_json_str(json, text);
}

void vq_json_put_span(struct vq_json *json, const char *key, struct vq_span text)
{
    vq_json_key(json, key);
    vq_json_span(json, text);
}

void vq_json_put_u64(struct vq_json *json, const char *key, uint64_t value)
{
    vq_json_key(json, key);
    vq_json_u64(json, value);
}

void vq_json_put_bool(struct vq_json *json, const char *key, bool value)
{
    vq_json_key(json, key);
    vq_json_bool(json, value);
}

void vq_json_put_i64(struct vq_json *json, const char *key, int64_t value)
{
    vq_json_key(json, key);
    vq_json_i64(json, value);
}

void vq_json_put_known(struct vq_json *json, const char *key, bool is_known, int64_t value)
{
    if (is_known) {
        vq_json_put_i64(json, key, value);
    } else {
        vq_json_put_null(json, key);
    }
}

void vq_json_put_null(struct vq_json *json, const char *key)
{
    vq_json_key(json, key);
    vq_json_null(json);
}

void vq_json_put_object(struct vq_json *json, const char *key)
{
    vq_json_key(json, key);
    vq_json_object(json);
}

void vq_json_put_array(struct vq_json *json, const char *key)
{
    vq_json_key(json, key);
    vq_json_array(json);
}

void vq_real_text(double value, int digits, char ret_text[VQ_REAL_BYTES])
{
    VQ_ASSERT(digits >= 1 && digits <= 17);
    if (!isfinite(value)) {
        memcpy(ret_text, "null", sizeof("null"));
        return;
    }
    (void)snprintf(ret_text, VQ_REAL_BYTES, "%.*g", digits, value == 0 ? 0.0 : value);
}

void vq_json_real(struct vq_json *json, double value, int digits)
{
    char text[VQ_REAL_BYTES];
    vq_real_text(value, digits, text);
    vq_json_raw(json, vq_span_str(text));
}

void vq_json_put_real(struct vq_json *json, const char *key, double value, int digits)
{
    vq_json_key(json, key);
    vq_json_real(json, value, digits);
}

/* The index of the quote that ends the string; text.bytes or more if there is none. */
static size_t string_end(struct vq_span text, size_t at)
{
    while (at < text.bytes && text.at[at] != '"') {
        at += text.at[at] == '\\' ? 2 : 1;
    }
    return at;
}

bool vq_json_exceeds(struct vq_span text, size_t depth_max, size_t values_max)
{
    size_t depth = 0, values = 0;
    for (size_t i = 0; i < text.bytes; i++) {
        char c = text.at[i];
        if (c == '"') {
            i = string_end(text, i + 1);
        } else if (c == '[' || c == '{') {
            depth++;
            values++;
        } else if (c == ',') {
            values++;
        } else if ((c == ']' || c == '}') && depth > 0) {
            depth--;
        }
        if (depth > depth_max || (values_max > 0 && values > values_max)) {
            return true;
        }
    }
    return false;
}
