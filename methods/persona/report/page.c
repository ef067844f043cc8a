/* The page of a persona evaluation: results.json without a change, and the parts that only the page
 * shows: uses of criteria, points in tokens, dialogues with the judges' reasoning. Invariant: the
 * page has at most VQ_PAGE_BYTES_MAX and reports what it leaves out. Not its job: the frame
 * (methods/report/html) and the markup (pages/persona.js). */
#include "common/base/alloc.h"
#include "methods/persona/report/page_parts.h"

#include <math.h>

#define TITLE_MODELS_MAX 3u

static void put_title(const struct vq_persona_page *p, struct vq_buf *out)
{
    const struct vq_persona_design *d = &p->r->study->plan->design;
    for (uint32_t i = 0; i < d->models && i < TITLE_MODELS_MAX; i++) {
        vq_buf_puts(out, i == 0 ? "" : ", ");
        vq_buf_puts(out, p->r->names.models[i]);
    }
    if (d->models > TITLE_MODELS_MAX) {
        vq_buf_printf(out, " and %u more", d->models - TITLE_MODELS_MAX);
    }
    vq_buf_puts(out, ": personas");
}

/* ---- criteria and measures ---- */

static const char *use_word(enum vq_persona_use use)
{
    static const char *const words[VQ_PERSONA_USES] = {"turns", "traits", "safety", "pairs",
                                                       "answers"};
    return words[use];
}

static void put_criteria(const struct vq_persona_page *p, struct vq_json *j)
{
    static const char *const kinds[] = {"likert", "binary", "pairwise"};
    const struct vq_persona_study *s = p->r->study;
    vq_json_put_array(j, "criteria");
    for (uint32_t i = 0; i < s->criteria_count; i++) {
        vq_json_object(j);
        vq_json_put_str(j, "name", s->criteria[i].name);
        vq_json_put_str(j, "kind", kinds[s->criteria[i].kind]);
        vq_json_put_str(j, "use", use_word(s->criteria[i].use));
        vq_json_object_end(j);
    }
    vq_json_array_end(j);
}

/* The tokens before each point: means over the cells whose length is known. False: no length is
 * known. */
static bool token_places(const struct vq_persona_page *p, const struct vq_persona_measure *m,
                         uint32_t script, bool baseline, uint32_t *ret_places)
{
    const struct vq_persona_numbers *n = p->r->numbers;
    for (uint32_t i = 0; i < m->panel.points; i++) {
        double sum = 0;
        uint32_t known = 0;
        for (uint32_t cell = 0; cell < n->cells; cell++) {
            uint32_t asker = baseline ? n->personas : cell % n->personas;
            double tokens = asker < n->askers ? vq_persona_length(n, m, cell / n->personas, asker,
                                                                  script, m->panel.rounds[i])
                                              : (double)NAN;
            sum += isnan(tokens) ? 0 : tokens;
            known += isnan(tokens) ? 0 : 1;
        }
        if (known == 0) {
            return false;
        }
        ret_places[i] = (uint32_t)fmin(UINT32_MAX, sum / known);
    }
    return m->panel.points > 0;
}

static void put_places(const struct vq_persona_page *p, const struct vq_persona_measure *m,
                       uint32_t script, bool baseline, uint32_t *places, struct vq_json *j)
{
    vq_json_key(j, baseline ? "baseline" : "persona");
    if (!token_places(p, m, script, baseline, places)) {
        vq_json_null(j);
        return;
    }
    vq_json_array(j);
    for (uint32_t i = 0; i < m->panel.points; i++) {
        vq_json_u64(j, places[i]);
    }
    vq_json_array_end(j);
}

/* The measures have the same order as in results.json. Each entry has the use of the measure's
 * ratings and, for each kind of dialogue, the tokens before each point. */
static void put_measure(const struct vq_persona_page *p, const struct vq_persona_measure *m,
                        uint32_t *places, struct vq_json *j)
{
    vq_json_object(j);
    vq_json_put_str(j, "use",
                    m->what == VQ_PERSONA_MEAN ? use_word(p->r->study->criteria[m->criterion].use)
                                               : NULL);
    vq_json_put_object(j, "tokens");
    for (uint32_t s = 0; s < p->r->numbers->scripts; s++) {
        vq_json_put_object(j, vq_persona_kind_name(p->r->study->plan->design.scripts[s].kind));
        put_places(p, m, s, false, places, j);
        put_places(p, m, s, true, places, j);
        vq_json_object_end(j);
    }
    vq_json_object_end(j);
    vq_json_object_end(j);
}

static void put_measures(const struct vq_persona_page *p, struct vq_json *j)
{
    const struct vq_persona_numbers *n = p->r->numbers;
    uint32_t points = 1;
    for (uint32_t i = 0; i < n->measures_count; i++) {
        points = n->measures[i].panel.points > points ? n->measures[i].panel.points : points;
    }
    uint32_t *places = vq_alloc(points, sizeof(*places));
    if (places == NULL) {
        j->out->status = VQ_NOMEM;
        return;
    }
    vq_json_put_array(j, "measures");
    for (uint32_t i = 0; i < n->measures_count; i++) {
        put_measure(p, &n->measures[i], places, j);
    }
    vq_json_array_end(j);
    vq_free(places);
}

static void put_missing(const struct vq_persona_page *p, struct vq_json *j)
{
    const struct vq_persona_study *s = p->r->study;
    uint64_t missing = 0;
    for (size_t i = 0; i < s->rated_count * s->judges; i++) {
        missing += isnan(s->values[i]) ? 1 : 0;
    }
    vq_json_put_u64(j, "ratings_missing", missing);
}

static void results_json(const void *report, struct vq_buf *out)
{
    vq_report_persona_json(report, out);
}

void vq_report_persona_html(const struct vq_report_persona_page *of, struct vq_buf *out)
{
    const struct vq_persona_page p = {of->r, of};
    struct vq_page page;
    struct vq_json j;
    vq_page_init(&page, &vq_page_persona_js);
    put_title(&p, &page.title);
    struct vq_report_persona table = *of->r;
    table.calls = NULL; /* the page must not depend on the calls that were sent */
    vq_report_persona_table(&table, &vq_page_terminal, &page.plain);
    vq_page_begin_json(&page, &j, results_json, of->r, NULL);
    vq_json_put_u64(&j, "cells", of->r->numbers->cells);
    vq_json_put_u64(&j, "cells_min", VQ_CELLS_MIN);
    put_missing(&p, &j);
    put_criteria(&p, &j);
    put_measures(&p, &j);
    vq_persona_page_talks(&p, &j);
    vq_json_object_end(&j);
    vq_page_finish(&page, out);
}
