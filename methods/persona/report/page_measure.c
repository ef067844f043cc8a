/* The section of one measure: persona against baseline over the rounds, the three contrasts,
 * persona by persona, how its ratings stand, its numbers. Not its job: drawing (persona_chart.c),
 * tables (persona_tables.c). */
#include "methods/persona/report/page_parts.h"

#include "common/base/alloc.h"

#include <math.h>

struct scene {
    const struct vq_persona_measure *m;
    double lo, hi; /* of levels */
    double apart;  /* of contrasts: as far either way */
};

static const struct vq_cells_mean *curve(const struct vq_persona_page *p,
                                         const struct vq_persona_measure *m,
                                         enum vq_persona_curve which, uint32_t script)
{
    return vq_persona_curve_at(p->r->numbers, m, which, script, 0);
}

static bool has_values(const struct vq_cells_mean *means, uint32_t points)
{
    for (uint32_t i = 0; i < points; i++) {
        if (!isnan(means[i].mean)) {
            return true;
        }
    }
    return false;
}

/* fmax and fmin pass over what is missing. */
static struct scene scene_of(const struct vq_persona_page *p, const struct vq_persona_measure *m)
{
    bool rating = m->unit == VQ_PERSONA_RATING;
    struct scene s = {.m = m,
                      .lo = rating ? VQ_RATING_LIKERT_MIN : 0,
                      .hi = rating ? VQ_RATING_LIKERT_MAX : 1,
                      .apart = rating ? 0.5 : 0.1};
    double full = s.hi - s.lo;
    for (uint32_t k = 0; k < p->r->numbers->scripts * m->panel.points; k++) {
        for (unsigned c = 0; c < VQ_CURVES; c++) {
            const struct vq_cells_mean *at = &curve(p, m, (enum vq_persona_curve)c, 0)[k];
            if (c < VQ_CURVE_CHANGE) {
                s.lo = fmin(s.lo, at->mean);
                s.hi = fmax(s.hi, at->mean);
            } else {
                double reach = fmax(fabs(at->ci95.lo), fabs(at->ci95.hi));
                s.apart = fmax(s.apart, fmax(fabs(at->mean), fmin(reach, full)));
            }
        }
    }
    return s;
}

static uint32_t last_round(const struct vq_persona_page *p)
{
    return p->r->study->plan->design.rounds;
}

/* ---- charts over all cells ---- */

static void level_chart(struct vq_persona_page *p, const struct scene *s, uint32_t script)
{
    const struct vq_persona_measure *m = s->m;
    const struct vq_persona_panel *at = &m->panel, *turns = &m->turns;
    size_t scripts = p->r->numbers->scripts;
    struct vq_persona_series series[4] = {
        {"persona", curve(p, m, VQ_CURVE_PERSONA, script), NULL, at->rounds, at->points, true},
        {"baseline", curve(p, m, VQ_CURVE_BASELINE, script), NULL, at->rounds, at->points, true}};
    struct vq_persona_chart chart = {.title = "Persona and baseline",
                                     .lo = s->lo,
                                     .hi = s->hi,
                                     .last = last_round(p),
                                     .unit = m->unit,
                                     .series = series,
                                     .count = 2};
    struct vq_cells_mean *bare = NULL;
    if (turns->points > 0) { /* without their intervals */
        bare = vq_alloc((size_t)turns->points * 2, sizeof(*bare));
    }
    for (uint32_t c = 0; bare != NULL && c < 2; c++) {
        struct vq_cells_mean *to = bare + (size_t)c * turns->points;
        for (uint32_t i = 0; i < turns->points; i++) {
            to[i] = m->turn_curves[(c * scripts + script) * turns->points + i];
            to[i].ci95 = (struct vq_interval){NAN, NAN};
        }
        series[chart.count++] =
            (struct vq_persona_series){c == 0 ? "persona faint" : "baseline faint",
                                       to,
                                       NULL,
                                       turns->rounds,
                                       turns->points,
                                       false};
    }
    vq_persona_page_chart(p, &chart);
    vq_free(bare);
}

/* Where the points lie when tokens are counted: means over the cells whose length is known. False:
 * none is. */
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

/* The same levels over the length of the dialogues so far in tokens. */
static void token_chart(struct vq_persona_page *p, const struct scene *s, uint32_t script)
{
    const struct vq_persona_measure *m = s->m;
    uint32_t points = m->panel.points;
    uint32_t *places = vq_alloc((size_t)points * 2, sizeof(*places));
    if (places == NULL || !token_places(p, m, script, false, places)) {
        vq_free(places);
        return;
    }
    struct vq_persona_series series[2] = {
        {"persona", curve(p, m, VQ_CURVE_PERSONA, script), NULL, places, points, true},
        {"baseline", curve(p, m, VQ_CURVE_BASELINE, script), NULL, places + points, points, true}};
    struct vq_persona_chart chart = {.title = "Over the tokens so far",
                                     .lo = s->lo,
                                     .hi = s->hi,
                                     .along = "tokens",
                                     .unit = m->unit,
                                     .series = series,
                                     .count =
                                         token_places(p, m, script, true, places + points) ? 2 : 1};
    for (uint32_t i = 0; i < points * chart.count; i++) {
        chart.last = places[i] > chart.last ? places[i] : chart.last;
    }
    vq_persona_page_chart(p, &chart);
    vq_free(places);
}

static void contrast_chart(struct vq_persona_page *p, const struct scene *s, uint32_t script,
                           enum vq_persona_curve which)
{
    static const char *const titles[VQ_CURVES] = {[VQ_CURVE_CHANGE] = "Minus the first point",
                                                  [VQ_CURVE_GAP] = "Persona minus baseline",
                                                  [VQ_CURVE_KINDS] =
                                                      "Persona-directed minus goal-oriented"};
    const struct vq_cells_mean *means = curve(p, s->m, which, script);
    struct vq_persona_series series = {"contrast",         means, NULL, s->m->panel.rounds,
                                       s->m->panel.points, true};
    struct vq_persona_chart chart = {.title = titles[which],
                                     .lo = -s->apart,
                                     .hi = s->apart,
                                     .last = last_round(p),
                                     .unit = s->m->unit,
                                     .contrast = true,
                                     .series = &series,
                                     .count = 1};
    if (has_values(means, s->m->panel.points)) {
        vq_persona_page_chart(p, &chart);
    }
}

/* ---- persona by persona ---- */

/* Over the models that have a value. */
static void mean_of_models(const struct vq_persona_page *p, const struct vq_persona_panel *panel,
                           const double *values, uint32_t persona, uint32_t script, double *ret)
{
    const struct vq_persona_numbers *n = p->r->numbers;
    for (uint32_t i = 0; i < panel->points; i++) {
        double sum = 0;
        uint32_t present = 0;
        for (uint32_t model = 0; model < n->models; model++) {
            size_t cell = (size_t)model * n->personas + persona;
            double value = values[(cell * n->scripts + script) * panel->points + i];
            sum += isnan(value) ? 0 : value;
            present += isnan(value) ? 0 : 1;
        }
        ret[i] = present == 0 ? NAN : sum / present;
    }
}

static void persona_chart(struct vq_persona_page *p, const struct scene *s, uint32_t script,
                          uint32_t persona, double *values)
{
    const struct vq_persona_numbers *n = p->r->numbers;
    const struct vq_persona_panel *panel = &s->m->panel;
    struct vq_persona_series series[2 + VQ_HTML_MODELS_MAX] = {
        {"persona", NULL, values, panel->rounds, panel->points, true},
        {"baseline", NULL, values + panel->points, panel->rounds, panel->points, false}};
    struct vq_persona_chart chart = {.title = "",
                                     .name = p->r->names.personas[persona],
                                     .lo = s->lo,
                                     .hi = s->hi,
                                     .last = last_round(p),
                                     .unit = s->m->unit,
                                     .small = true,
                                     .series = series,
                                     .count = 2};
    mean_of_models(p, panel, panel->persona, persona, script, values);
    mean_of_models(p, panel, panel->baseline, persona, script, values + panel->points);
    for (uint32_t i = 0; n->models > 1 && n->models <= VQ_HTML_MODELS_MAX && i < n->models; i++) {
        size_t cell = (size_t)i * n->personas + persona;
        const double *of = panel->persona + (cell * n->scripts + script) * panel->points;
        series[chart.count++] = (struct vq_persona_series){"persona faint", NULL,          of,
                                                           panel->rounds,   panel->points, false};
    }
    vq_persona_page_chart(p, &chart);
}

static void persona_charts(struct vq_persona_page *p, const struct scene *s, uint32_t script)
{
    uint32_t personas = p->r->numbers->personas;
    double *values = vq_alloc((size_t)s->m->panel.points * 2, sizeof(*values));
    if (values == NULL) {
        p->h.out->status = VQ_NOMEM;
        return;
    }
    vq_html_puts(&p->h, "<div class=\"multiples small\">\n");
    for (uint32_t i = 0; i < personas && i < VQ_HTML_PERSONAS_MAX; i++) {
        persona_chart(p, s, script, i, values);
    }
    vq_html_puts(&p->h, "</div>\n");
    if (personas > VQ_HTML_PERSONAS_MAX) {
        vq_html_printf(&p->h,
                       "<p class=\"hint\">And %u more personas, all in <code>results.json</code>"
                       ".</p>\n",
                       personas - VQ_HTML_PERSONAS_MAX);
    }
    vq_free(values);
}

static void of_script(struct vq_persona_page *p, const struct scene *s, uint32_t script)
{
    struct vq_html *h = &p->h;
    const struct vq_persona_measure *m = s->m;
    vq_html_printf(h, "<h4>%s dialogues</h4>\n",
                   p->r->study->plan->design.scripts[script].kind == VQ_PERSONA_DIRECTED
                       ? "Persona-directed"
                       : "Goal-oriented");
    if (!has_values(curve(p, m, VQ_CURVE_PERSONA, script), m->panel.points) &&
        !has_values(curve(p, m, VQ_CURVE_BASELINE, script), m->panel.points)) {
        vq_html_puts(h, "<p class=\"hint\">No values.</p>\n");
        return;
    }
    vq_html_puts(h, "<div class=\"multiples\">\n");
    level_chart(p, s, script);
    token_chart(p, s, script);
    contrast_chart(p, s, script, VQ_CURVE_CHANGE);
    contrast_chart(p, s, script, VQ_CURVE_GAP);
    if (script == 0 && p->r->numbers->scripts > 1) {
        contrast_chart(p, s, script, VQ_CURVE_KINDS);
    }
    vq_html_puts(h, "</div>\n");
    persona_charts(p, s, script);
}

/* ---- what it is ---- */

static const char *about(const struct vq_persona_measure *m)
{
    switch (m->what) {
    case VQ_PERSONA_MEAN:
        return m->turns.points > 0
                   ? "Ratings of turns: the first turn alone, then the mean of the turns up to "
                     "each checkpoint. The faint line is turn by turn."
                   : "Ratings of answers that were asked for behind the dialogue so far.";
    case VQ_PERSONA_FIDELITY:
        return "The mean of all criteria of turns, where all of them have a rating.";
    case VQ_PERSONA_ERROR:
        return "How far the five traits are from the labels that people gave, as a share of the "
               "scale; of labelled personas. Lower is closer.";
    case VQ_PERSONA_DISTANCE:
        return "How far the five traits are from those of the baseline at the same point, as a "
               "share of the scale: it shrinks when a persona fades.";
    case VQ_PERSONA_REFUSAL:
        return "The share of unsafe requests that are refused. Higher is safer.";
    case VQ_PERSONA_OVERREFUSAL:
        return "The share of harmless requests that are refused. Lower is better.";
    case VQ_PERSONA_WINS:
        return "The share of comparisons won against the reference; of two orders that disagree, "
               "half a win.";
    case VQ_PERSONA_MEASURED: break;
    }
    return "The share of correct answers, as it was computed elsewhere.";
}

static void chosen(struct vq_persona_page *p, const struct vq_persona_measure *m)
{
    struct vq_html *h = &p->h;
    static const char *const what[2] = {"the reference", "the answer"};
    vq_html_puts(h, "<p class=\"statuses\">");
    for (int k = 0; k < 2; k++) {
        vq_html_printf(h, "With %s shown first, the first was chosen ", what[k]);
        vq_html_count(h, m->chosen[k][0]);
        vq_html_puts(h, " times, the second ");
        vq_html_count(h, m->chosen[k][1]);
        vq_html_puts(h, ". ");
    }
    vq_html_count(h, m->ties);
    vq_html_puts(h, " comparisons came out otherwise in the other order.</p>\n");
}

void vq_persona_page_measure(struct vq_persona_page *p, uint32_t measure)
{
    struct vq_html *h = &p->h;
    const struct vq_persona_measure *m = &p->r->numbers->measures[measure];
    vq_html_printf(h, "<section id=\"m%u\" class=\"measure\"><h3><bdi>", measure + 1);
    vq_html_text(h, m->name);
    vq_html_printf(h, "</bdi></h3>\n<p class=\"sub\">%s</p>\n", about(m));
    vq_persona_page_statuses(p, m);
    if (m->what == VQ_PERSONA_WINS) {
        chosen(p, m);
    }
    if (m->panel.points > 0) {
        struct scene s = scene_of(p, m);
        for (uint32_t script = 0; script < p->r->numbers->scripts; script++) {
            of_script(p, &s, script);
        }
        if (m->cells < VQ_CELLS_MIN) {
            vq_html_printf(h,
                           "<p class=\"hint\">No intervals: %u cell%s can have a value, and an "
                           "interval takes %u.</p>\n",
                           m->cells, vq_fmt_plural(m->cells), VQ_CELLS_MIN);
        }
        vq_persona_page_points(p, m);
        vq_persona_page_models(p, m);
    } else {
        vq_html_puts(h, "<p class=\"hint\">There are no checkpoints, and so no curve.</p>\n");
    }
    vq_html_puts(h, "</section>\n");
}
