/* The parts of a judge prompt, found in the text of a user message. Pure; borrows from the text. */
#pragma once

#include "common/base/buf.h"

struct vq_sections {
    struct vq_span prompt;
    struct vq_span output_a;
    struct vq_span output_b;
    struct vq_span axis_name;
    struct vq_span axis_low;
    struct vq_span axis_high;
    bool has_axis; /* false: a preference question */
};

/* There are two layouts. Tagged: <prompt>, <output_a>, <output_b>, <axis>, each from its first
 * opening tag (<axis>: its last) to the last closing tag before the next section. Labelled: lines
 * that begin with "Prompt:", "Output A:", "Output B:", "Axis:" (or "Vibe:", "Name:", "Property:"),
 * "Low:" and "High:". VQ_NOT_FOUND: there are no two outputs. */
enum vq_status vq_sections_find(struct vq_span text,
                                struct vq_sections *ret_sections) VQ_WARN_UNUSED;

/* The same for a tagged prompt that is known to have no axis: an <axis> in an output is part of its
 * text. */
enum vq_status vq_sections_find_outputs(struct vq_span text,
                                        struct vq_sections *ret_sections) VQ_WARN_UNUSED;

/* "Name: n / Low: l / High: h", on separate lines or on one line; the name may be without its
 * label. */
void vq_sections_read_axis(struct vq_span text, struct vq_sections *sections);
