/* The page of a persona evaluation: a figure a measure with its curves over the rounds, persona against baseline, one panel a kind of
 * dialogue, thin lines for the single cells; how the ratings stand; the dialogues with the ratings of each
 * turn. No script. Not its job: the numbers
 * (persona_numbers.c). */
#include "coordinator/report/html/parts.h"
#include "coordinator/report/json_persona.h"

#include <math.h>
#include <stdio.h>

#define WIDTH      300.0
#define HEIGHT     150.0
#define LEFT       34.0
#define BOTTOM     22.0
#define TOP        8.0
#define CELLS_MAX  24u /* drawn one by one */
#define TALKS_MAX  60u
#define TALK_BYTES ((size_t)12 << 20) /* of all dialogues shown, about */

struct page {
    struct vq_html h;
    const struct vq_report_persona_page *of;
    const struct vq_report_persona *r;
};

/* ---- curves ---- */

struct axes {
    double least, most; /* values */
    double last;        /* rounds */
};

static double x_of(const struct axes *a, double round)
{
    return LEFT + (a->last > 0 ? round / a->last : 0) * (WIDTH - LEFT - 8);
}

static double y_of(const struct axes *a, double value)
{
    return TOP + (a->most - value) / (a->most - a->least) * (HEIGHT - TOP - BOTTOM);
}

static void point(struct page *p, const struct axes *a, double round, double value, bool *open)
{
    vq_html_printf(&p->h, "%s%.1f %.1f", *open ? "L" : "M", x_of(a, round), y_of(a, value));
    *open = true;
}

/* One line, interrupted where a value is missing. `values` one a point. */
static void line(struct page *p, const struct axes *a, const struct vq_persona_panel *panel,
                 const double *values, const char *look)
{
    bool open = false;
    vq_html_printf(&p->h, "<path fill=\"none\" stroke=\"currentColor\" %s d=\"", look);
    for (uint32_t i = 0; i < panel->points; i++) {
        if (isnan(values[i])) {
            open = false;
        } else {
            point(p, a, panel->rounds[i], values[i], &open);
        }
    }
    vq_html_puts(&p->h, "\"/>");
}

static double held(const struct axes *a, double value)
{
    return fmin(a->most, fmax(a->least, value));
}

static void band(struct page *p, const struct axes *a, const struct vq_persona_panel *panel,
                 const struct vq_cells_mean *means)
{
    bool open = false;
    vq_html_puts(&p->h, "<path fill=\"currentColor\" fill-opacity=\".14\" stroke=\"none\" d=\"");
    for (uint32_t i = 0; i < panel->points; i++) {
        if (!isnan(means[i].ci95.hi)) {
            point(p, a, panel->rounds[i], held(a, means[i].ci95.hi), &open);
        }
    }
    for (uint32_t i = panel->points; i > 0 && open; i--) {
        if (!isnan(means[i - 1].ci95.lo)) {
            point(p, a, panel->rounds[i - 1], held(a, means[i - 1].ci95.lo), &open);
        }
    }
    vq_html_puts(&p->h, open ? "Z\"/>" : "\"/>");
}

static void ticks(struct page *p, const struct vq_persona_measure *m, const struct axes *a)
{
    uint32_t steps = m->unit == VQ_PERSONA_RATING ? 4 : 2;
    for (uint32_t i = 0; i <= steps; i++) {
        double value = a->least + (a->most - a->least) * i / steps, y = y_of(a, value);
        vq_html_printf(
            &p->h,
            "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" "
            "stroke=\"currentColor\" stroke-opacity=\".15\"/><text x=\"%.1f\" y=\"%.1f\" "
            "font-size=\"10\" text-anchor=\"end\" fill=\"currentColor\">%.0f</text>",
            LEFT, y, WIDTH - 8, y, LEFT - 5, y + 3,
            m->unit == VQ_PERSONA_RATING ? value : 100 * value);
    }
    const uint32_t *rounds = m->panel.rounds;
    for (uint32_t i = 0; i < m->panel.points; i++) {
        vq_html_printf(&p->h,
                       "<text x=\"%.1f\" y=\"%.1f\" font-size=\"10\" text-anchor=\"middle\" "
                       "fill=\"currentColor\">%u</text>",
                       x_of(a, rounds[i]), HEIGHT - 6, rounds[i]);
    }
}

/* Cells one by one, while they can be told apart. */
static void cells(struct page *p, const struct vq_persona_measure *m, const struct axes *a,
                  uint32_t script)
{
    const struct vq_persona_numbers *n = p->r->numbers;
    for (uint32_t c = 0; c < n->cells && n->cells > 1 && n->cells <= CELLS_MAX; c++) {
        line(p, a, &m->panel,
             m->panel.persona + ((size_t)c * n->scripts + script) * m->panel.points,
             "stroke-width=\"1\" stroke-opacity=\".35\"");
    }
}

static void curve(struct page *p, const struct vq_persona_measure *m, const struct axes *a,
                  uint32_t script, enum vq_persona_curve which)
{
    const struct vq_cells_mean *means = vq_persona_curve_at(p->r->numbers, m, which, script, 0);
    double values[VQ_PERSONA_CHECKPOINTS_MAX + 1];
    for (uint32_t i = 0; i < m->panel.points && i < VQ_COUNT(values); i++) {
        values[i] = means[i].mean;
    }
    bool persona = which == VQ_CURVE_PERSONA;
    vq_html_printf(&p->h, "<g class=\"curve %c\">", persona ? 'a' : 'b');
    band(p, a, &m->panel, means);
    line(p, a, &m->panel, values,
         persona ? "stroke-width=\"2.2\"" : "stroke-width=\"2.2\" stroke-dasharray=\"5 3\"");
    if (persona) {
        cells(p, m, a, script);
    }
    vq_html_puts(&p->h, "</g>");
}

static void panel(struct page *p, const struct vq_persona_measure *m, uint32_t script)
{
    struct vq_html *h = &p->h;
    bool rating = m->unit == VQ_PERSONA_RATING;
    struct axes a = {.least = rating ? 1 : 0,
                     .most = rating ? 5 : 1,
                     .last = m->panel.rounds[m->panel.points - 1]};
    const char *kind = vq_persona_kind_name(p->r->study->plan->design.scripts[script].kind);
    vq_html_printf(h,
                   "<figure><svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"%s dialogues: "
                   "curves over rounds\">",
                   WIDTH, HEIGHT, kind);
    ticks(p, m, &a);
    curve(p, m, &a, script, VQ_CURVE_BASELINE);
    curve(p, m, &a, script, VQ_CURVE_PERSONA);
    vq_html_printf(h, "</svg><figcaption>%s dialogues</figcaption></figure>\n", kind);
}

/* ---- numbers and statuses of a measure ---- */

static void mean_cell(struct page *p, const struct vq_persona_measure *m,
                      const struct vq_cells_mean *mean, bool with_sign)
{
    struct vq_html *h = &p->h;
    double by = m->unit == VQ_PERSONA_RATING ? 1 : 100;
    int digits = m->unit == VQ_PERSONA_RATING ? 2 : 1;
    struct vq_interval ci = {by * mean->ci95.lo, by * mean->ci95.hi};
    vq_html_puts(h, "<td>");
    if (with_sign) {
        vq_html_signed(h, by * mean->mean, digits);
    } else {
        vq_html_number(h, by * mean->mean, digits);
    }
    if (!isnan(ci.lo)) {
        vq_html_puts(h, " <span class=\"ci95\">");
        vq_html_interval(h, ci, digits, with_sign);
        vq_html_puts(h, "</span>");
    }
    vq_html_puts(h, "</td>");
}

static void numbers(struct page *p, const struct vq_persona_measure *m)
{
    struct vq_html *h = &p->h;
    const struct vq_persona_numbers *n = p->r->numbers;
    uint32_t last = m->panel.points - 1;
    vq_html_puts(h, "<div class=\"scroll\"><table class=\"plain\"><thead><tr><th>dialogues</th>"
                    "<th>first</th><th>last</th><th>change</th><th>baseline, last</th>"
                    "<th>points of 100 a round</th></tr></thead>\n<tbody>\n");
    for (uint32_t s = 0; s < n->scripts; s++) {
        vq_html_printf(h, "<tr><th scope=\"row\">%s</th>",
                       vq_persona_kind_name(p->r->study->plan->design.scripts[s].kind));
        mean_cell(p, m, vq_persona_curve_at(n, m, VQ_CURVE_PERSONA, s, 0), false);
        mean_cell(p, m, vq_persona_curve_at(n, m, VQ_CURVE_PERSONA, s, last), false);
        mean_cell(p, m, vq_persona_curve_at(n, m, VQ_CURVE_CHANGE, s, last), true);
        mean_cell(p, m, vq_persona_curve_at(n, m, VQ_CURVE_BASELINE, s, last), false);
        const struct vq_within *slope = &m->slopes[(size_t)n->models * n->scripts + s].length;
        vq_html_puts(h, "<td>");
        vq_html_signed(h, slope->slope, 2);
        vq_html_puts(h, " <span class=\"ci95\">");
        vq_html_interval(h, slope->ci95, 2, true);
        vq_html_puts(h, "</span></td></tr>\n");
    }
    vq_html_puts(h, "</tbody></table></div>\n");
}

static void statuses(struct page *p, const struct vq_persona_measure *m)
{
    struct vq_html *h = &p->h;
    for (uint32_t j = 0; m->statuses != NULL && m->things > 0 && j < p->r->study->judges; j++) {
        const char *before = " ";
        vq_html_puts(h, "<p class=\"hint\"><bdi>");
        vq_html_text(h, p->r->judges[j].name);
        vq_html_puts(h, "</bdi>:");
        for (unsigned s = 0; s < VQ_PERSONA_STATUSES; s++) {
            if (m->statuses[j][s] > 0) {
                vq_html_puts(h, before);
                vq_html_count(h, m->statuses[j][s]);
                vq_html_printf(h, " %s", vq_persona_status_name(s));
                before = ", ";
            }
        }
        vq_html_puts(h, "</p>\n");
    }
    if (m->ties > 0) {
        vq_html_puts(h, "<p class=\"hint\">Two orders that disagree, half a win each: ");
        vq_html_count(h, m->ties);
        vq_html_puts(h, "</p>\n");
    }
}

static void measure(struct page *p, const struct vq_persona_measure *m)
{
    struct vq_html *h = &p->h;
    if (m->panel.points == 0) {
        return;
    }
    vq_html_puts(h, "<section><h2><bdi>");
    vq_html_text(h, m->name);
    vq_html_printf(h, "</bdi> <span class=\"sub\">%s</span></h2>\n<div class=\"curves\">\n",
                   m->unit == VQ_PERSONA_RATING ? "1 to 5" : "percent");
    for (uint32_t s = 0; s < p->r->numbers->scripts; s++) {
        panel(p, m, s);
    }
    vq_html_puts(h, "</div>\n");
    numbers(p, m);
    statuses(p, m);
    vq_html_puts(h, "</section>\n");
}

/* ---- dialogues ---- */

static void rating(struct page *p, size_t thing)
{
    struct vq_html *h = &p->h;
    const struct vq_persona_study *s = p->r->study;
    const struct vq_persona_criterion *c = &s->criteria[s->rated[thing].criterion];
    for (uint32_t j = 0; j < s->judges; j++) {
        size_t at = thing * s->judges + j;
        struct vq_span reasoning;
        vq_html_puts(h, "<details><summary><bdi>");
        vq_html_text(h, c->name);
        vq_html_puts(h, "</bdi> ");
        if (isnan(s->values[at])) {
            vq_html_puts(h, vq_persona_status_name(s->statuses[at]));
        } else {
            vq_html_number(h, s->values[at], 0);
        }
        vq_html_puts(h, ", <bdi>");
        vq_html_text(h, p->r->judges[j].name);
        vq_html_puts(h, "</bdi></summary><p class=\"hint\">");
        if (p->of->reasoning != NULL && p->of->reasoning(p->of->ctx, thing, j, &reasoning)) {
            vq_html_span(h, reasoning, VQ_HTML_ANSWER_BYTES_MAX);
        }
        vq_html_puts(h, "</p></details>");
    }
}

/* Of a turn, as the persona that plays it (of a baseline: as the first). */
static void turn_ratings(struct page *p, uint32_t chain, uint32_t turn, size_t from, size_t until)
{
    const struct vq_persona_study *s = p->r->study;
    const struct vq_persona_chain *c = &s->plan->chains[chain];
    uint32_t as = vq_persona_is_baseline(s->plan, c->persona) ? 0 : c->persona;
    for (size_t i = from; i < until; i++) {
        const struct vq_persona_rated *t = &s->rated[i];
        if (s->criteria[t->criterion].use == VQ_PERSONA_OF_TURNS && t->point == turn &&
            t->model == c->model && t->persona == c->persona && t->script == c->script &&
            t->order == c->order && t->as == as) {
            rating(p, i);
        }
    }
}

static void talk(struct page *p, uint32_t chain)
{
    struct vq_html *h = &p->h;
    const struct vq_persona_plan *plan = p->r->study->plan;
    const struct vq_persona_chain *c = &plan->chains[chain];
    struct vq_persona_dialogue d;
    p->of->dialogue(p->of->ctx, chain, &d);
    vq_html_puts(h, "<details class=\"talk\"><summary><bdi>");
    vq_html_text(h, p->r->names.models[c->model]);
    vq_html_puts(h, "</bdi> as <bdi>");
    vq_html_text(h, vq_persona_is_baseline(plan, c->persona) ? "nobody (the baseline)"
                                                             : p->r->names.personas[c->persona]);
    vq_html_printf(h, "</bdi>, %s%s</summary>\n<ol>\n",
                   vq_persona_kind_name(plan->design.scripts[c->script].kind),
                   c->order == VQ_PERSONA_SHUFFLED ? ", shuffled" : "");
    for (uint32_t t = 0; t < d.turns; t++) {
        vq_html_puts(h, "<li><p class=\"said asked\">");
        vq_html_span(h, d.queries[t], VQ_HTML_TEXT_BYTES_MAX);
        vq_html_puts(h, "</p><p class=\"said\">");
        vq_html_span(h, d.answers[t], VQ_HTML_TEXT_BYTES_MAX);
        vq_html_puts(h, "</p>");
        turn_ratings(p, chain, t, 0, p->of->turns_rated);
        vq_html_puts(h, "</li>\n");
    }
    vq_html_puts(h, "</ol>\n");
    if (d.ended != NULL) {
        vq_html_printf(h, "<p class=\"hint\">It ended here: %s.</p>\n", d.ended);
    }
    vq_html_puts(h, "</details>\n");
}

static void talks(struct page *p)
{
    struct vq_html *h = &p->h;
    uint32_t chains = p->r->study->plan->chains_count, shown = 0;
    size_t from = h->out->bytes;
    vq_html_puts(
        h, "<section id=\"dialogues\"><h2>Dialogues</h2>\n<p class=\"sub\">Each turn with "
           "its ratings; a rating opens to what the judge said. A baseline\xe2\x80\x99s are those "
           "as the first persona.</p>\n");
    while (shown < chains && shown < TALKS_MAX && h->out->bytes - from < TALK_BYTES) {
        talk(p, shown++);
    }
    if (shown < chains) {
        vq_html_printf(h, "<p class=\"hint\">And %u more, all in dialogues.jsonl.</p>\n",
                       chains - shown);
    }
    vq_html_puts(h, "</section>\n");
}

/* ---- the page ---- */

static void top(struct page *p)
{
    struct vq_html *h = &p->h;
    const struct vq_persona_design *d = &p->r->study->plan->design;
    vq_html_puts(h, "<main>\n<div class=\"top\"><p class=\"brand\">vibeq \xc2\xb7 personas in long "
                    "dialogues</p></div>\n<h1>");
    for (uint32_t i = 0; i < d->models; i++) {
        vq_html_puts(h, i == 0 ? "<bdi>" : ", <bdi>");
        vq_html_text(h, p->r->names.models[i]);
        vq_html_puts(h, "</bdi>");
    }
    vq_html_puts(h, "</h1>\n");
    if (strcmp(p->r->judge_kind, "model") != 0) {
        vq_html_puts(h, "<p class=\"banner\" role=\"note\"><b>Made with the offline judge.</b> It "
                        "needs no model and knows none: this page shows that the plumbing works, "
                        "not what the models are worth.</p>\n");
    }
    vq_html_printf(h, "<p class=\"lede\">%u persona%s, %u dialogues of %u rounds.</p>\n",
                   d->personas, d->personas == 1 ? "" : "s", p->r->study->plan->chains_count,
                   d->rounds);
    vq_html_puts(h, "<p class=\"sub\"><span class=\"curve a\">\xe2\x80\x94 persona</span>, each "
                    "alone as a thin line; <span class=\"curve b\">- - the same model without a "
                    "persona</span>. Bands hold 95 % over models and personas.</p>\n");
    if (p->r->numbers->cells < VQ_CELLS_MIN) {
        vq_html_printf(h,
                       "<ul class=\"warnings\"><li>There are %u cells (a model with a persona "
                       "each); intervals need %u, so none are given.</li></ul>\n",
                       p->r->numbers->cells, VQ_CELLS_MIN);
    }
}

void vq_report_persona_html(const struct vq_report_persona_page *of, struct vq_buf *out)
{
    static const struct vq_report_story nothing;
    struct page p = {.h = {.out = out, .story = &nothing}, .of = of, .r = of->r};
    vq_html_head(&p.h, false);
    vq_html_puts(&p.h, "Personas in long dialogues");
    vq_html_head_end(&p.h);
    top(&p);
    for (uint32_t i = 0; i < p.r->numbers->measures_count; i++) {
        measure(&p, &p.r->numbers->measures[i]);
    }
    talks(&p);
    vq_html_foot(&p.h, false);
}
