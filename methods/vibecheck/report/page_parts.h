/* Private to VibeCheck's page: the parts of its JSON, one file each. */
#pragma once

#include "methods/report/html/html.h"
#include "methods/report/keys.h"
#include "methods/vibecheck/report/report.h"

struct vq_vibes_page {
    const struct vq_report_input *r;
    const struct vq_report_story *story;
    const uint32_t *order; /* vibes in the order of every output: kept vibes first */
    bool test;             /* the main split: test, or train if there is no test split */
};

/* page_table.c: the part that needs no script. */
void vq_vibes_page_table(const struct vq_vibes_page *p, struct vq_page *page);

/* Each of these writes keys into an open object, or nothing; failures stick in j->out->status. */
void vq_vibes_page_story(const struct vq_vibes_page *p, struct vq_json *j);   /* "story" */
void vq_vibes_page_methods(const struct vq_vibes_page *p, struct vq_json *j); /* "methods" */
/* Only with two models. */
void vq_vibes_page_presets(const struct vq_vibes_page *p, struct vq_json *j); /* "presets" */
void vq_vibes_page_groups(const struct vq_vibes_page *p, struct vq_json *j);  /* by_judge, groups */
void vq_vibes_page_overlap(const struct vq_vibes_page *p, struct vq_json *j); /* "overlap" */
/* Writes "rows", "examples", "answers". */
void vq_vibes_page_data(const struct vq_vibes_page *p, struct vq_json *j);

static inline void vq_vibes_page_failed(struct vq_json *j, enum vq_status status)
{
    j->out->status = j->out->status == VQ_OK ? status : j->out->status;
}
