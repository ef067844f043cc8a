/* Lists of axes in prompts. Pure. */
#pragma once

#include "offline/judge/phrases.h"

#define VQ_AXIS_LIST_MAX 1000u

struct vq_listed_axis {
    struct vq_axis_text text; /* borrowed; low and high are empty if the line has none */
    uint64_t number;          /* the number before it, else its position from 1 */
    struct vq_axis_reading reading;
};

struct vq_axis_list {
    struct vq_listed_axis *axes; /* owned */
    size_t n;
    size_t cap;
};

/* One axis per line, "Name: High: h Low: l" with or without bullet or number; lines that begin with
 * High: or Low: belong to the axis above them. Axes after VQ_AXIS_LIST_MAX are left out. VQ_NOMEM
 * leaves an empty list. The list borrows from `text`. */
enum vq_status vq_axis_list_read(enum vq_judge_kind kind, struct vq_span text,
                                 struct vq_axis_list *ret_list) VQ_WARN_UNUSED;
void vq_axis_list_free(struct vq_axis_list *list);

/* Whether two axes mean the same: the same feature; or the same name, if one of them is not
 * understood. */
bool vq_listed_same(const struct vq_listed_axis *a, const struct vq_listed_axis *b);

/* The first axis with the same meaning as `axis` among the first `limit` of the list; NULL:
 * none. */
const struct vq_listed_axis *vq_axis_list_find(const struct vq_axis_list *list, size_t limit,
                                               const struct vq_listed_axis *axis);
