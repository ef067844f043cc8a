/* Private to the page of a rubric run. */
#pragma once

#include "methods/report/html/html.h"
#include "methods/rubric/report/report.h"

struct vq_rubric_page {
    const struct vq_rubric_report *r;
    const struct vq_rubric_input *in;
};

/* page_items.c: writes "items" into an open object. */
void vq_rubric_page_items(const struct vq_rubric_page *p, struct vq_json *j);
