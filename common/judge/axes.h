/* What proposers and reducers answer: lists of axes, of names, of lines, and the number of a match.
 * The forms that are understood are those of docs/use/axes.md; a model's bytes never fail but for
 * memory. All of it leaves thinking blocks out first; one that is not closed leaves nothing. */
#pragma once

#include "common/base/buf.h"
#include "common/judge/request.h"

#define VQ_AXES_MAX                1000u /* of one answer; what comes after them is only counted */
#define VQ_AXES_NAME_BYTES_MAX     256u  /* as a configured vibe's name */
#define VQ_AXES_TEXT_BYTES_MAX     4096u /* of low and of high, as a configured vibe's */
#define VQ_AXES_REJECTED_BYTES_MAX 240u  /* of one rejected item, for the log */
#define VQ_LINES_MAX               VQ_AXES_MAX
#define VQ_LINE_BYTES_MAX          1024u

/* Owned, NUL-terminated, well-formed UTF-8 without control characters, never empty. All-zero is an
 * empty list. */
struct vq_lines {
    char **items;
    size_t count;
    size_t cap;
};

/* The strings of `items` are owned by the list, well-formed UTF-8 without control characters, one
 * line each and never empty. All-zero is an empty list. */
struct vq_axes {
    struct vq_axis *items;
    size_t count;
    size_t cap;
    struct vq_lines rejected; /* items that lack a name, a low or a high, as they were written */
    size_t over;              /* axes left out because there are VQ_AXES_MAX already */
};

/* The axes of an answer, in order; exact repeats (same folded name, same texts) once. Texts longer
 * than the limits are cut between characters. No axis at all is VQ_OK with count 0. VQ_NOMEM:
 * *ret_axes is untouched. The caller frees *ret_axes with vq_axes_free. */
enum vq_status vq_axes_parse(struct vq_span answer, struct vq_axes *ret_axes) VQ_WARN_UNUSED;
/* Appends a copy, cleaned and cut as above. VQ_INVALID when a part is empty then, VQ_LIMIT at
 * VQ_AXES_MAX, VQ_NOMEM; the list is unchanged then. */
enum vq_status vq_axes_add(struct vq_axes *axes, struct vq_span name, struct vq_span low,
                           struct vq_span high) VQ_WARN_UNUSED;
void vq_axes_free(struct vq_axes *axes); /* leaves an empty list */

/* Whether the answer says that there are none: after trimming it begins with "No differences found"
 * in any case, or is more than 90 % alike to it (2 x LCS / total length, without regard to
 * case). */
bool vq_axes_none(struct vq_span answer);

/* Appends the name as names are compared: letters and digits of ASCII in lower case and everything
 * beyond ASCII that is no punctuation, words parted by one space. Out of room sticks in
 * buf->status. */
void vq_axes_name_fold(struct vq_span name, struct vq_buf *buf);

/* The names in an answer of one name a line: without bullets, numbers, quotes, markdown, and what
 * follows the name in "Name: High: ..". "none" alone gives no name. VQ_NOMEM. The caller frees with
 * vq_lines_free. */
enum vq_status vq_axes_names_parse(struct vq_span answer,
                                   struct vq_lines *ret_names) VQ_WARN_UNUSED;
/* The items of a bulleted or numbered list, without their bullets; if nothing has a bullet, every
 * line. "no pattern" or "none" alone gives none. VQ_NOMEM. */
enum vq_status vq_lines_parse(struct vq_span answer, struct vq_lines *ret_lines) VQ_WARN_UNUSED;
void vq_lines_free(struct vq_lines *lines);

/* Appends the canonical form, "Name: High: <high> Low: <low>", without a line end. */
void vq_axes_line(const struct vq_axis *axis, struct vq_buf *buf);
enum vq_axes_style {
    VQ_AXES_DASHED,  /* "- Name: High: .. Low: .." */
    VQ_AXES_NUMBERED /* "1. Name: High: .. Low: ..", from 1 */
};
/* Appends one line an axis, the last one without a line end. Out of room sticks in buf->status. */
void vq_axes_format(const struct vq_axis *axes, size_t count, enum vq_axes_style style,
                    struct vq_buf *buf);

/* The answer to match.txt over a list of `count` axes. True: *ret_number is 1 .. count, or 0 for
 * none. False: it says neither, or several. */
bool vq_match_parse(struct vq_span answer, uint32_t count, uint32_t *ret_number) VQ_WARN_UNUSED;
