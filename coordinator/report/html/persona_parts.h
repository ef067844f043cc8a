/* Private to the page of a persona evaluation. */
#ifndef VQ_REPORT_HTML_PERSONA_PARTS_H
#define VQ_REPORT_HTML_PERSONA_PARTS_H

#include "coordinator/report/html/parts.h"
#include "coordinator/report/json_persona.h"

struct vq_persona_page {
    struct vq_html h; /* the writer alone: h.r is NULL */
    const struct vq_report_persona *r;
    const struct vq_report_persona_page *of;
};

/* ---- persona_chart.c ---- */

/* A line over rounds; a value that is missing is a gap. */
struct vq_persona_series {
    const char *style;                 /* class of its path */
    const struct vq_cells_mean *means; /* with their intervals, or: */
    const double *values;
    const uint32_t *rounds;
    uint32_t points;
    bool dots;
};

struct vq_persona_chart {
    const char *title; /* ours */
    const char *name;  /* of others, behind the title; may be NULL */
    double lo, hi;     /* of the axis; what lies beyond is drawn at its end */
    uint32_t last;     /* round at the right end */
    const char *along; /* what stands for "round"; NULL: that */
    enum vq_persona_unit unit;
    bool contrast; /* a line at 0, numbers with a sign */
    bool small;
    const struct vq_persona_series *series; /* the first one is read out */
    uint32_t count;
};
void vq_persona_page_chart(struct vq_persona_page *p, const struct vq_persona_chart *chart);

/* ---- persona_measure.c ---- */

/* With its charts, tables and statuses. */
void vq_persona_page_measure(struct vq_persona_page *p, uint32_t measure);

/* ---- persona_tables.c ---- */

/* As the unit is spoken of: a rating, or percent. */
void vq_persona_page_value(struct vq_persona_page *p, enum vq_persona_unit unit, double value,
                           bool with_sign);
void vq_persona_page_interval(struct vq_persona_page *p, enum vq_persona_unit unit,
                              const struct vq_cells_mean *mean, bool with_sign);
void vq_persona_page_statuses(struct vq_persona_page *p, const struct vq_persona_measure *m);
void vq_persona_page_summary(struct vq_persona_page *p);
void vq_persona_page_points(struct vq_persona_page *p, const struct vq_persona_measure *m);
void vq_persona_page_models(struct vq_persona_page *p, const struct vq_persona_measure *m);
void vq_persona_page_agreement(struct vq_persona_page *p);

/* ---- persona_talks.c: the browser of dialogues ---- */

void vq_persona_page_talks(struct vq_persona_page *p);

#endif
