/* JSON bodies within bounds. A body that has a key twice is refused, because the right value is
 * unknown. jansson does the parsing. Before it, one pass over the bytes counts depth and values;
 * after a failure, another pass repairs known mistakes of servers. Both passes are linear. Not its
 * job: the meaning of members. */
#include "worker/provider/body.h"

#include "common/text/json.h"
#include "common/text/json_mend.h"
#include "common/text/utf8.h"

static const char replacement[] = "\xEF\xBF\xBD"; /* U+FFFD */

static enum vq_status check_bounds(struct vq_span body, size_t values_max)
{
    return vq_json_exceeds(body, VQ_BODY_DEPTH_MAX, values_max) ? VQ_LIMIT : VQ_OK;
}

/* Repairs one escape at the front of `text`; returns the number of bytes it read. A backslash
 * without an escape means a backslash. */
static size_t mend_escape(struct vq_buf *out, struct vq_span text)
{
    int32_t unit = vq_json_code_unit(text, 0);
    bool high = unit >= 0xD800 && unit < 0xDC00;
    bool low = unit >= 0xDC00 && unit < 0xE000;
    int32_t next = high ? vq_json_code_unit(text, 6) : -1;
    if (next >= 0xDC00 && next < 0xE000) {
        vq_buf_append(out, text.at, 12);
        return 12;
    }
    if (high || low) {
        vq_buf_puts(out, replacement);
        return 6;
    }
    if (unit >= 0) {
        vq_buf_append(out, text.at, 6);
        return 6;
    }
    if (text.bytes >= 2 && memchr("\"\\/bfnrt", text.at[1], 8) != NULL) {
        vq_buf_append(out, text.at, 2);
        return 2;
    }
    vq_buf_puts(out, "\\\\");
    return 1;
}

/* Replaces a word outside of strings that is not JSON by null; returns the number of bytes it read,
 * or 0. */
static size_t mend_word(struct vq_buf *out, struct vq_span text)
{
    static const char *const words[] = {"NaN", "-NaN", "Infinity", "-Infinity"};
    for (size_t i = 0; i < VQ_COUNT(words); i++) {
        if (vq_span_begins(text, words[i])) {
            vq_buf_puts(out, "null");
            return strlen(words[i]);
        }
    }
    return 0;
}

static enum vq_status mend(struct vq_span body, struct vq_buf *out)
{
    bool in_string = false;
    size_t bad = vq_utf8_valid_bytes(body);
    for (size_t i = 0; i < body.bytes && out->status == VQ_OK;) {
        struct vq_span rest = vq_span(body.at + i, body.bytes - i);
        unsigned char c = (unsigned char)rest.at[0];
        size_t took = 0;
        if (i >= bad) {
            vq_buf_puts(out, replacement);
            took = 1;
            bad = i + 1 + vq_utf8_valid_bytes(vq_span(rest.at + 1, rest.bytes - 1));
        } else if (in_string && c == '\\') {
            took = mend_escape(out, rest);
        } else if (in_string && c < 0x20) {
            vq_buf_printf(out, "\\u%04x", c);
            took = 1;
        } else if (!in_string) {
            took = mend_word(out, rest);
        }
        if (took == 0) {
            in_string = c == '"' ? !in_string : in_string;
            vq_buf_append(out, rest.at, 1);
            took = 1;
        }
        i += took;
    }
    return out->status;
}

static enum vq_status parse(struct vq_span body, struct vq_json_room *room, json_t **ret_root)
{
    return vq_json_load_in(room, body,
                           JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL | JSON_REJECT_DUPLICATES,
                           ret_root, NULL);
}

enum vq_status vq_body_load(struct vq_span body, size_t values_max, struct vq_json_room *room,
                            json_t **ret_root)
{
    if (body.bytes == 0) {
        return VQ_INVALID;
    }
    VQ_TRY(check_bounds(body, values_max));
    enum vq_status status = parse(body, room, ret_root);
    if (status != VQ_INVALID) {
        return status;
    }
    struct vq_buf mended;
    vq_buf_init(&mended, 6 * body.bytes); /* a control character grows to six bytes */
    status = mend(body, &mended);
    if (status == VQ_OK) {
        status = check_bounds(vq_buf_span(&mended), values_max);
    }
    if (status == VQ_OK) {
        status = parse(vq_buf_span(&mended), room, ret_root);
    }
    vq_buf_free(&mended);
    return status;
}

json_t *vq_body_get(const json_t *object, const char *key)
{
    return json_object_get(object, key);
}

struct vq_span vq_body_get_string(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return vq_span(json_string_value(value), json_string_length(value));
}

int64_t vq_body_get_count(const json_t *object, const char *key, int64_t otherwise)
{
    const json_t *value = json_object_get(object, key);
    double number = json_is_number(value) ? json_number_value(value) : -1.0;
    return number >= 0.0 && number < 0x1p53 ? (int64_t)number : otherwise;
}
