/* Lists of axes as they stand in prompts. Pure. */
#pragma once

#include "offline/judge/phrases.h"

#define VQ_AXIS_LIST_MAX 1000u

struct vq_listed_axis {
    struct vq_axis_text text; /* borrowed; low and high are empty where the line has none */
    uint64_t number;          /* as written in front of it, else its place from 1 */
    struct vq_axis_reading reading;
};

struct vq_axis_list {
    struct vq_listed_axis *axes; /* owned */
    size_t n;
    size_t cap;
};

/* One axis a line, "Name: High: h Low: l" with or without bullet or number; lines that begin with
 * High: or Low: belong to the axis above them. What comes after VQ_AXIS_LIST_MAX axes is left out.
 * VQ_NOMEM leaves an empty list. The list borrows from `text`. */
enum vq_status vq_axis_list_read(enum vq_judge_kind kind, struct vq_span text,
                                 struct vq_axis_list *ret_list) VQ_WARN_UNUSED;
void vq_axis_list_free(struct vq_axis_list *list);

/* Whether an axis says the same as another: the same feature; or the same name when one of the two
 * is not understood. */
bool vq_listed_same(const struct vq_listed_axis *a, const struct vq_listed_axis *b);

/* The first `limit` of the list that says the same as `axis`; NULL if none does. */
const struct vq_listed_axis *vq_axis_list_find(const struct vq_axis_list *list, size_t limit,
                                               const struct vq_listed_axis *axis);
