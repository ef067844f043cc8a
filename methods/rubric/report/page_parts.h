/* Private to the page of a rubric run. */
#ifndef VQ_METHODS_RUBRIC_REPORT_PAGE_PARTS_H
#define VQ_METHODS_RUBRIC_REPORT_PAGE_PARTS_H

#include "methods/report/html/html.h"
#include "methods/rubric/report/report.h"

struct vq_rubric_page {
    struct vq_html h; /* the writer alone: h.page is NULL */
    const struct vq_rubric_report *r;
    const struct vq_rubric_input *in;
};

/* The output's name with its colour; with a single one the name alone. */
void vq_rubric_page_output(struct vq_rubric_page *p, uint32_t output);
void vq_rubric_page_items(struct vq_rubric_page *p); /* rubric_items.c: the browser of items */

#endif
