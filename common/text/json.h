/* Writes JSON into a buffer: escaped strings, and a small writer that sets the commas. */
#pragma once

#include "common/base/buf.h"

#define VQ_JSON_DEPTH_MAX 32

/* Appends a quoted string. Invalid UTF-8 becomes U+FFFD, so the output is always valid JSON; '/'
 * and non-ASCII text stay as they are. */
void vq_json_string(struct vq_buf *out, struct vq_span text);

/* A streaming writer. Wrong use (a value without a key, one end too many, too deep nesting) is a
 * bug of vibeq and fails an assertion. If `out` is full, its `status` is set; the caller checks it
 * once at the end. */
struct vq_json {
    struct vq_buf *out; /* borrowed */
    uint32_t indent;    /* spaces per level; 0: all in one line */
    uint32_t depth;
    bool has_items[VQ_JSON_DEPTH_MAX];
    bool is_object[VQ_JSON_DEPTH_MAX];
    bool after_key;
};

void vq_json_init(struct vq_json *json, struct vq_buf *out, uint32_t indent);
/* Begin and end a document that is one object; the end appends a line end. */
void vq_json_open(struct vq_json *json, struct vq_buf *out, uint32_t indent);
void vq_json_close(struct vq_json *json);
void vq_json_object(struct vq_json *json);
void vq_json_object_end(struct vq_json *json);
void vq_json_array(struct vq_json *json);
void vq_json_array_end(struct vq_json *json);
void vq_json_key(struct vq_json *json, const char *key);
void vq_json_key_span(struct vq_json *json, struct vq_span key);
void vq_json_str(struct vq_json *json, const char *text); /* NULL writes null */
void vq_json_span(struct vq_json *json, struct vq_span text);
void vq_json_i64(struct vq_json *json, int64_t value);
void vq_json_u64(struct vq_json *json, uint64_t value);
void vq_json_bool(struct vq_json *json, bool value);
void vq_json_null(struct vq_json *json);
/* `digits` significant digits (1 to 17), without trailing zeros; -0 is written as 0, NaN and
 * infinities as null. */
void vq_json_real(struct vq_json *json, double value, int digits);
/* Appends a text that is already JSON as a value. */
void vq_json_raw(struct vq_json *json, struct vq_span value);

/* A key and its value in one call. */
void vq_json_put_str(struct vq_json *json, const char *key, const char *text);
void vq_json_put_span(struct vq_json *json, const char *key, struct vq_span text);
void vq_json_put_u64(struct vq_json *json, const char *key, uint64_t value);
void vq_json_put_i64(struct vq_json *json, const char *key, int64_t value);
/* writes null if the value is not known */
void vq_json_put_known(struct vq_json *json, const char *key, bool is_known, int64_t value);
void vq_json_put_bool(struct vq_json *json, const char *key, bool value);
void vq_json_put_null(struct vq_json *json, const char *key);
void vq_json_put_real(struct vq_json *json, const char *key, double value, int digits);
void vq_json_put_object(struct vq_json *json, const char *key); /* opens the object */
void vq_json_put_array(struct vq_json *json, const char *key);

/* The number as vq_json_real writes it ("null" if it is not finite); also for CSV cells. */
#define VQ_REAL_BYTES 32
void vq_real_text(double value, int digits, char ret_text[VQ_REAL_BYTES]);

/* ---- checks before parsing ---- */

/* Whether a JSON text nests deeper than `depth_max`, or has more than `values_max` values
 * (elements, members, arrays, objects; 0: any number). One pass; `text` may be any bytes. Without
 * this check jansson recurses up to 2,048 levels and allocates for every bracket of a hostile
 * text. */
bool vq_json_exceeds(struct vq_span text, size_t depth_max, size_t values_max);
