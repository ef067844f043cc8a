/* Private to the page of a persona evaluation. */
#ifndef VQ_METHODS_PERSONA_REPORT_PAGE_PARTS_H
#define VQ_METHODS_PERSONA_REPORT_PAGE_PARTS_H

#include "methods/persona/report/report.h"
#include "methods/report/html/html.h"

/* What a page holds at most. */
#define VQ_HTML_CHARTS_BYTES_MAX ((size_t)20 << 20) /* of the sections of measures */
#define VQ_HTML_PERSONAS_MAX     24u                /* with a chart of their own in each */
#define VQ_HTML_MODELS_MAX       8u                 /* with a thin line of their own in these */
#define VQ_HTML_TALKS_MAX        200u               /* dialogues that can be read */
#define VQ_HTML_TALK_BYTES_MAX   ((size_t)3 << 20)  /* of one */
#define VQ_HTML_RATINGS_MAX      400u               /* of a turn */
#define VQ_HTML_REASONS_MAX      18u                /* of them, with their reasoning */
#define VQ_HTML_PROBES_MAX       12u                /* of a data set, behind one beginning */

struct vq_persona_page {
    struct vq_html h; /* the writer alone: h.page is NULL */
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
void vq_persona_page_statuses(struct vq_persona_page *p, const struct vq_persona_measure *m);
void vq_persona_page_summary(struct vq_persona_page *p);
void vq_persona_page_points(struct vq_persona_page *p, const struct vq_persona_measure *m);
void vq_persona_page_models(struct vq_persona_page *p, const struct vq_persona_measure *m);
void vq_persona_page_agreement(struct vq_persona_page *p);

/* ---- persona_talks.c: the browser of dialogues ---- */

void vq_persona_page_talks(struct vq_persona_page *p);
/* Things by their places, in each in their order. */
struct vq_persona_index {
    size_t *from; /* [place], and the end */
    size_t *things;
};
/* `place_of`: below `places`, or SIZE_MAX: the thing has none. VQ_NOMEM: then there is nothing to
 * free. */
enum vq_status vq_persona_index_make(const struct vq_persona_page *p, size_t places,
                                     size_t (*place_of)(const struct vq_persona_page *p,
                                                        size_t thing),
                                     struct vq_persona_index *ret_index) VQ_WARN_UNUSED;
void vq_persona_index_free(struct vq_persona_index *index);
/* A message in its box; a rating with what its judge wrote. */
void vq_persona_page_message(struct vq_persona_page *p, const char *what, const char *style,
                             struct vq_span text);
void vq_persona_page_rating(struct vq_persona_page *p, size_t thing, uint32_t judge, bool baseline,
                            bool with_reasoning);

/* ---- persona_probes.c: what was asked behind beginnings, and how it is rated ---- */

/* By prefix, the things that rate answers. As vq_persona_index_make. */
enum vq_status vq_persona_probed_make(const struct vq_persona_page *p,
                                      struct vq_persona_index *ret_probed) VQ_WARN_UNUSED;
/* What was asked of this dialogue after so many rounds; nothing where that is no checkpoint, or its
 * order not the original one. No more begins once the page has `bytes_max`. */
void vq_persona_page_probes(struct vq_persona_page *p, const struct vq_persona_index *probed,
                            uint32_t chain, uint32_t rounds, size_t bytes_max);

#endif
