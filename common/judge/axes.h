/* Reads the answers of proposers and reducers: lists of axes, names and lines, and the number of a
 * match. docs/use/axes.md defines the accepted forms. No bytes of a model cause an error, except
 * VQ_NOMEM. Thinking blocks are removed first; an answer with an unclosed block counts as empty. */
#pragma once

#include "common/base/buf.h"
#include "common/judge/request.h"

#define VQ_AXES_MAX            1000u /* of one answer; further axes are only counted */
#define VQ_AXES_NAME_BYTES_MAX 256u  /* the limit of a vibe's name in the configuration */
/* of low and of high each: the limit in the configuration */
#define VQ_AXES_TEXT_BYTES_MAX     4096u
#define VQ_AXES_REJECTED_BYTES_MAX 240u /* of one rejected item, for the log */
#define VQ_LINES_MAX               VQ_AXES_MAX
#define VQ_LINE_BYTES_MAX          1024u

/* Owned, NUL-terminated, well-formed UTF-8 without control characters, never empty. A zeroed struct
 * is an empty list. */
struct vq_lines {
    char **items;
    size_t count;
    size_t cap;
};

/* The strings of `items` are owned by the list, well-formed UTF-8 without control characters, one
 * line each and never empty. A zeroed struct is an empty list. */
struct vq_axes {
    struct vq_axis *items;
    size_t count;
    size_t cap;
    struct vq_lines rejected; /* items without name, low or high, as written in the answer */
    size_t over;              /* the number of axes beyond VQ_AXES_MAX, which are dropped */
};

/* The axes of an answer, in order; an exact repeat (same folded name, same texts) is dropped. Texts
 * longer than the limits are cut between characters. No axis: VQ_OK with count 0. VQ_NOMEM:
 * *ret_axes is untouched. The caller frees *ret_axes with vq_axes_free. */
enum vq_status vq_axes_parse(struct vq_span answer, struct vq_axes *ret_axes) VQ_WARN_UNUSED;
/* Appends a copy, cleaned and cut as above. VQ_INVALID: a part is empty after that; VQ_LIMIT at
 * VQ_AXES_MAX; VQ_NOMEM. On failure the list is unchanged. */
enum vq_status vq_axes_add(struct vq_axes *axes, struct vq_span name, struct vq_span low,
                           struct vq_span high) VQ_WARN_UNUSED;
void vq_axes_free(struct vq_axes *axes); /* leaves an empty list */

/* Whether the answer states that there are no axes: in any case of letters, the trimmed text begins
 * with "No differences found", or is more than 90 % similar to it (2 x LCS / total length). */
bool vq_axes_none(struct vq_span answer);

/* Appends the folded form, in which names are compared: ASCII letters in lower case, digits, and
 * all non-ASCII characters except punctuation; one space between words. A failure sets
 * buf->status. */
void vq_axes_name_fold(struct vq_span name, struct vq_buf *buf);

/* The names in an answer with one name per line, without bullets, numbers, quotes, markdown and the
 * text after the name in "Name: High: ..". The answer "none" gives no name. VQ_NOMEM. The caller
 * frees with vq_lines_free. */
enum vq_status vq_axes_names_parse(struct vq_span answer,
                                   struct vq_lines *ret_names) VQ_WARN_UNUSED;
/* The items of a bulleted or numbered list, without their bullets; if nothing has a bullet, every
 * line. The answers "no pattern" and "none" give no item. VQ_NOMEM. */
enum vq_status vq_lines_parse(struct vq_span answer, struct vq_lines *ret_lines) VQ_WARN_UNUSED;
void vq_lines_free(struct vq_lines *lines);

/* Appends the canonical form, "Name: High: <high> Low: <low>", without a line end. */
void vq_axes_line(const struct vq_axis *axis, struct vq_buf *buf);
enum vq_axes_style {
    VQ_AXES_DASHED,  /* "- Name: High: .. Low: .." */
    VQ_AXES_NUMBERED /* "1. Name: High: .. Low: ..", from 1 */
};
/* Appends one line per axis, the last one without a line end. A failure sets buf->status. */
void vq_axes_format(const struct vq_axis *axes, size_t count, enum vq_axes_style style,
                    struct vq_buf *buf);

/* Reads the answer to match.txt over a list of `count` axes. True: *ret_number is 1 .. count, or 0
 * for no match. False: the answer states no number, or several. */
bool vq_match_parse(struct vq_span answer, uint32_t count, uint32_t *ret_number) VQ_WARN_UNUSED;
