/* Private to this folder: shared by the files axes*.c. */
#pragma once

#include "common/judge/axes.h"

enum vq_axes_end {
    VQ_AXES_HIGH,
    VQ_AXES_LOW,
    VQ_AXES_END__COUNT
};

/* A text, split at its labels "High:" and "Low:". */
struct vq_axes_split {
    struct vq_span name;                     /* before the first label */
    struct vq_span ends[VQ_AXES_END__COUNT]; /* .at NULL: the text lacks this label */
};

/* False: the text has no label. A label counts if it is capitalised, at the front, or after
 * punctuation. With `weak`, any "high:" counts if the text has no such label. Linear. */
bool vq_axes_split(struct vq_span text, bool weak, struct vq_axes_split *ret_split);
/* Whether the text begins with a label, after decoration. */
bool vq_axes_begins_with_label(struct vq_span text);

/* The short form of a name: without "Axis 2:", "New Axes:", "Name:" or a bullet in front, and
 * without the description after its colon. */
struct vq_span vq_axes_short_name(struct vq_span text);

/* An item of an answer. It is an axis if it has all three parts; else it is rejected with the text
 * `raw`. VQ_NOMEM. */
struct vq_axes_found {
    struct vq_span name;
    struct vq_span ends[VQ_AXES_END__COUNT];
    struct vq_span raw;
};
enum vq_status vq_axes_take(struct vq_axes *axes, const struct vq_axes_found *found) VQ_WARN_UNUSED;

/* Appends the clean text, cut at bytes_max; nothing if it is empty or the list is full.
 * VQ_NOMEM. */
enum vq_status vq_lines_take(struct vq_lines *lines, struct vq_span text,
                             size_t bytes_max) VQ_WARN_UNUSED;

/* Read lists in lines (axes_text.c) and JSON or Python lists (axes_list.c); `text` has no thinking
 * blocks. vq_axes_read_list calls `item` for each string and object, with only `raw` for a string;
 * never if the text has no such list. */
enum vq_status vq_axes_read_text(struct vq_span text, struct vq_axes *axes) VQ_WARN_UNUSED;
typedef enum vq_status (*vq_axes_item_fn)(void *ctx, const struct vq_axes_found *found);
enum vq_status vq_axes_read_list(struct vq_span text, vq_axes_item_fn item,
                                 void *ctx) VQ_WARN_UNUSED;
