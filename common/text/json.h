/* Writes JSON into a buffer: strings with everything escaped that must be, and a small writer that
 * puts the commas. */
#pragma once

#include "common/base/buf.h"

#define VQ_JSON_DEPTH_MAX 32

/* Appends a quoted string. Invalid UTF-8 becomes U+FFFD, so the output is always valid JSON; '/'
 * and non-ASCII text stay as they are. */
void vq_json_string(struct vq_buf *out, struct vq_span text);

/* A streaming writer. Mistakes in its use (a value without a key, an end too many, too deep) are
 * our bugs and assert; running out of room sticks in out->status, which the caller checks once at
 * the end. */
struct vq_json {
    struct vq_buf *out; /* borrowed */
    uint32_t indent;    /* spaces a level; 0 writes one line */
    uint32_t depth;
    bool has_items[VQ_JSON_DEPTH_MAX];
    bool is_object[VQ_JSON_DEPTH_MAX];
    bool after_key;
};

void vq_json_init(struct vq_json *json, struct vq_buf *out, uint32_t indent);
/* A document that is one object: begins it, and ends it with a line end. */
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
/* `digits` significant digits (1 to 17), without trailing zeros; -0 is written 0; NaN and
 * infinities as null. */
void vq_json_real(struct vq_json *json, double value, int digits);
/* Text that is JSON already, put in as a value. */
void vq_json_raw(struct vq_json *json, struct vq_span value);

/* A key and its value in one. */
void vq_json_put_str(struct vq_json *json, const char *key, const char *text);
void vq_json_put_span(struct vq_json *json, const char *key, struct vq_span text);
void vq_json_put_u64(struct vq_json *json, const char *key, uint64_t value);
void vq_json_put_i64(struct vq_json *json, const char *key, int64_t value);
/* null unless it is known */
void vq_json_put_known(struct vq_json *json, const char *key, bool is_known, int64_t value);
void vq_json_put_bool(struct vq_json *json, const char *key, bool value);
void vq_json_put_null(struct vq_json *json, const char *key);
void vq_json_put_real(struct vq_json *json, const char *key, double value, int digits);
void vq_json_put_object(struct vq_json *json, const char *key); /* opens it */
void vq_json_put_array(struct vq_json *json, const char *key);

/* The bare number of vq_json_real ("null" when it has no finite value); for CSV cells too. */
#define VQ_REAL_BYTES 32
void vq_real_text(double value, int digits, char ret_text[VQ_REAL_BYTES]);

/* ---- before reading ---- */

/* Whether a JSON text nests deeper than `depth_max`, or has more than `values_max` values
 * (elements, members, arrays, objects; 0: any number). One pass over bytes that need not be JSON:
 * jansson alone would recurse 2,048 deep and allocate for every bracket of a hostile text. */
bool vq_json_exceeds(struct vq_span text, size_t depth_max, size_t values_max);
