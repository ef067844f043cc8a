/* The offline server's own names for axes, and the forms in which it writes lists of them. Pure. */
#pragma once

#include "offline/judge/axis.h"

struct vq_phrase {
    enum vq_topic topic;
    const char *name;
    const char *low;
    const char *high;
};

/* The phrases of a topic: two or three, at *ret_first. */
size_t vq_phrases_of(enum vq_topic topic, const struct vq_phrase **ret_first);
/* The phrase for a drawn number. */
const struct vq_phrase *vq_phrase_pick(enum vq_topic topic, uint64_t draw);

/* An axis to write. */
struct vq_axis_text {
    struct vq_span name;
    struct vq_span low;
    struct vq_span high;
};

/* The forms of a list. A well-behaved model would write the forms up to VQ_FORM_QUOTED; the later
 * forms are malformed and have the same axes. */
enum vq_axes_form {
    VQ_FORM_LOW_FIRST,  /* - Name: Low: l; High: h */
    VQ_FORM_HIGH_FIRST, /* - Name: High: h Low: l */
    VQ_FORM_HEADINGS,   /* **Name** and indented lines High: and Low: */
    VQ_FORM_NUMBERED,   /* 1. Name: and indented lines Low: and High: */
    VQ_FORM_QUOTED,     /* - "Name: High: h Low: l" */
    VQ_FORM_SUB_BULLETS,
    VQ_FORM_PREAMBLE,
    VQ_FORM_FENCE,
    VQ_FORM_JSON,
    VQ_FORM_BOLD,
    VQ_FORM__COUNT
};

#define VQ_FORMS_GOOD (VQ_FORM_QUOTED + 1)

/* A form's name for fault rules ("variant"): "sub_bullets", "preamble" ...; VQ_NOT_FOUND. */
enum vq_status vq_axes_form_find(const char *name, enum vq_axes_form *ret_form) VQ_WARN_UNUSED;

/* Without a line end after the last line. */
void vq_axes_write(const struct vq_axis_text *axes, size_t n, enum vq_axes_form form,
                   struct vq_buf *to);
/* Writes one "1. Name: High: h Low: l" per line. */
void vq_axes_write_numbered(const struct vq_axis_text *axes, size_t n, struct vq_buf *to);
