/* Private to VibeCheck's page: the parts of its JSON, one file each. */
#ifndef VQ_METHODS_VIBECHECK_REPORT_PAGE_PARTS_H
#define VQ_METHODS_VIBECHECK_REPORT_PAGE_PARTS_H

#include "methods/report/keys.h"
#include "methods/report/pages/page.h"
#include "methods/vibecheck/report/report.h"

struct vq_vibes_page {
    const struct vq_report_input *r;
    const struct vq_report_story *story;
    const uint32_t *order; /* vibes in the order of every output: kept ones first */
    bool test;             /* the split that leads: test, or train without one */
};

/* Each writes keys into an open object; failures stick in j->out->status. */

/* page_parts.c: "by_judge", "groups" (if a column is named), and "overlap" (of two vibes or
 * more). */
void vq_vibes_page_parts(const struct vq_vibes_page *p, struct vq_json *j);
/* page_story.c: "preferred", "presets", "question_types" and "story" where there are any. */
void vq_vibes_page_story(const struct vq_vibes_page *p, struct vq_json *j);
/* page_methods.c: "methods", paragraphs with a head and a text. */
void vq_vibes_page_methods(const struct vq_vibes_page *p, struct vq_json *j);
/* page_rows.c: "rows", "examples", "answers". */
void vq_vibes_page_rows(const struct vq_vibes_page *p, struct vq_json *j);

static inline void vq_vibes_page_failed(struct vq_json *j, enum vq_status status)
{
    j->out->status = j->out->status == VQ_OK ? status : j->out->status;
}

#endif
