/* The tables of a persona page: every measure where it begins and ends, point by point, by model,
 * how ratings stand, who agrees. Not its job: charts. */
#include "methods/persona/report/page_parts.h"

#include <math.h>

void vq_persona_page_value(struct vq_persona_page *p, enum vq_persona_unit unit, double value,
                           bool with_sign)
{
    bool share = unit == VQ_PERSONA_SHARE;
    if (isnan(value)) {
        vq_html_puts(&p->h, "n/a");
        return;
    }
    (with_sign ? vq_html_signed : vq_html_number)(&p->h, share ? 100 * value : value,
                                                  share ? 1 : 2);
    vq_html_puts(&p->h, share ? "\xe2\x80\xaf%" : "");
}

static void put_interval(struct vq_persona_page *p, enum vq_persona_unit unit,
                         const struct vq_cells_mean *mean, bool with_sign)
{
    double by = unit == VQ_PERSONA_SHARE ? 100 : 1;
    struct vq_interval ci = {by * mean->ci95.lo, by * mean->ci95.hi};
    vq_html_puts(&p->h, "<span class=\"ci95\">");
    if (mean->status != VQ_CELLS_OK) {
        vq_html_printf(&p->h, "<span class=\"na\">%s</span>", vq_cells_status_name(mean->status));
    } else {
        vq_html_interval(&p->h, ci, unit == VQ_PERSONA_SHARE ? 1 : 2, with_sign);
    }
    vq_html_puts(&p->h, "</span>");
}

static const char *kind_of(const struct vq_persona_page *p, uint32_t script)
{
    return vq_persona_kind_name(p->r->study->plan->design.scripts[script].kind);
}

static void mean_cell(struct vq_persona_page *p, const struct vq_persona_measure *m,
                      const struct vq_cells_mean *mean, bool contrast)
{
    bool found = contrast && vq_cells_excludes_0(mean);
    vq_html_puts(&p->h, found ? "<td><b>" : "<td>");
    vq_persona_page_value(p, m->unit, mean->mean, contrast);
    vq_html_puts(&p->h, found ? "</b> " : " ");
    put_interval(p, m->unit, mean, contrast);
    vq_html_puts(&p->h, "</td>");
}

static void within_cell(struct vq_persona_page *p, const struct vq_within *w)
{
    vq_html_puts(&p->h, "<td>");
    vq_html_signed(&p->h, w->slope, 2);
    vq_html_puts(&p->h, " <span class=\"ci95\">");
    vq_html_interval(&p->h, w->ci95, 2, true);
    vq_html_puts(&p->h, "</span></td>");
}

/* ---- statuses ---- */

/* Whether a measure is made of another one's ratings; each is made of its own. */
static bool is_made_of(const struct vq_persona_page *p, const struct vq_persona_measure *m,
                       const struct vq_persona_measure *of)
{
    if (m == of) {
        return true;
    }
    if (of->what != VQ_PERSONA_MEAN || of->unit != VQ_PERSONA_RATING) {
        return false;
    }
    enum vq_persona_use use = p->r->study->criteria[of->criterion].use;
    return m->what == VQ_PERSONA_FIDELITY ? use == VQ_PERSONA_OF_TURNS
           : m->what == VQ_PERSONA_ERROR || m->what == VQ_PERSONA_DISTANCE
               ? use == VQ_PERSONA_OF_TRAITS
               : false;
}

struct standing {
    uint64_t things, missing, one_order;
    uint64_t statuses[VQ_PERSONA_JUDGES_MAX][VQ_PERSONA_STATUSES];
};

static struct standing standing_of(const struct vq_persona_page *p,
                                   const struct vq_persona_measure *m)
{
    struct standing sum = {.things = 0};
    VQ_ASSERT(p->r->study->judges <= VQ_PERSONA_JUDGES_MAX);
    for (uint32_t i = 0; i < p->r->numbers->measures_count; i++) {
        const struct vq_persona_measure *of = &p->r->numbers->measures[i];
        if (!is_made_of(p, m, of)) {
            continue;
        }
        sum.things += of->things;
        sum.missing += of->things_missing;
        sum.one_order += of->one_order;
        for (uint32_t j = 0; of->statuses != NULL && j < p->r->study->judges; j++) {
            for (unsigned s = 0; s < VQ_PERSONA_STATUSES; s++) {
                sum.statuses[j][s] += of->statuses[j][s];
            }
        }
    }
    return sum;
}

static void judge_statuses(struct vq_persona_page *p, uint32_t judge,
                           const uint64_t statuses[VQ_PERSONA_STATUSES])
{
    struct vq_html *h = &p->h;
    const char *before = ": ";
    vq_html_puts(h, " <bdi>");
    vq_html_text(h, p->r->judges[judge].name);
    vq_html_puts(h, "</bdi>");
    for (unsigned s = 0; s < VQ_PERSONA_STATUSES; s++) {
        if (statuses[s] > 0) {
            vq_html_puts(h, before);
            vq_html_count(h, statuses[s]);
            vq_html_printf(h, s == VQ_RATING_OK ? " %s" : " <b class=\"wrong\">%s</b>",
                           vq_persona_status_name(s));
            before = ", ";
        }
    }
    vq_html_puts(h, before[0] == ':' ? ": none." : ".");
}

void vq_persona_page_statuses(struct vq_persona_page *p, const struct vq_persona_measure *m)
{
    struct vq_html *h = &p->h;
    struct standing sum = standing_of(p, m);
    if (m->what == VQ_PERSONA_MEASURED) {
        return; /* nothing of it was rated */
    }
    vq_html_puts(h, "<p class=\"statuses\">");
    vq_html_count(h, sum.things);
    vq_html_puts(h, " rated, ");
    vq_html_count(h, sum.missing);
    vq_html_puts(h, " of them without a value.");
    for (uint32_t j = 0; j < p->r->study->judges; j++) {
        judge_statuses(p, j, sum.statuses[j]);
    }
    if (sum.one_order > 0) {
        vq_html_puts(h, " ");
        vq_html_count(h, sum.one_order);
        vq_html_printf(h, " position%s a value in one of two orders, which stands for both.",
                       vq_fmt_form(sum.one_order, " has", "s have"));
    }
    vq_html_puts(h, "</p>\n");
}

/* ---- all measures ---- */

static void summary_row(struct vq_persona_page *p, uint32_t i, uint32_t script)
{
    struct vq_html *h = &p->h;
    const struct vq_persona_numbers *n = p->r->numbers;
    const struct vq_persona_measure *m = &n->measures[i];
    uint32_t last = m->panel.points - 1;
    vq_html_puts(h, "<tr><th scope=\"row\">");
    if (script == 0) {
        vq_html_printf(h, "<a href=\"#m%u\"><bdi>", i + 1);
        vq_html_text(h, m->name);
        vq_html_puts(h, "</bdi></a>");
    }
    vq_html_printf(h, "</th><td>%s</td><td>", kind_of(p, script));
    vq_persona_page_value(p, m->unit, vq_persona_curve_at(n, m, VQ_CURVE_PERSONA, script, 0)->mean,
                          false);
    vq_html_puts(h, "</td><td>");
    vq_persona_page_value(p, m->unit,
                          vq_persona_curve_at(n, m, VQ_CURVE_PERSONA, script, last)->mean, false);
    vq_html_puts(h, "</td>");
    mean_cell(p, m, vq_persona_curve_at(n, m, VQ_CURVE_CHANGE, script, last), true);
    mean_cell(p, m, vq_persona_curve_at(n, m, VQ_CURVE_GAP, script, last), true);
    within_cell(p, &m->slopes[(size_t)n->models * n->scripts + script].length);
    vq_html_puts(h, "<td>");
    if (script == 0 && m->what != VQ_PERSONA_MEASURED) {
        struct standing sum = standing_of(p, m);
        vq_html_count(h, sum.things);
        vq_html_puts(h, ", ");
        vq_html_count(h, sum.missing);
        vq_html_puts(h, " missing");
    }
    vq_html_puts(h, "</td></tr>\n");
}

void vq_persona_page_summary(struct vq_persona_page *p)
{
    struct vq_html *h = &p->h;
    vq_html_puts(h, "<section id=\"measures\"><h2>Every measure</h2>\n<p class=\"sub\">Of the "
                    "personas at the first and the last point, the change between them, and how "
                    "far they are from the baseline at the end. Bold: the 95 % interval leaves "
                    "out 0. The slope is in points of 100 a round.</p>\n"
                    "<div class=\"scroll\"><table class=\"plain\"><thead><tr><th>measure</th>"
                    "<th>dialogue</th><th>first</th><th>last</th><th>change</th>"
                    "<th>against the baseline</th><th>slope</th><th>rated</th></tr></thead>\n"
                    "<tbody>\n");
    for (uint32_t i = 0; i < p->r->numbers->measures_count; i++) {
        for (uint32_t s = 0;
             p->r->numbers->measures[i].panel.points > 0 && s < p->r->numbers->scripts; s++) {
            summary_row(p, i, s);
        }
    }
    vq_html_puts(h, "</tbody></table></div></section>\n");
}

/* ---- one measure ---- */

void vq_persona_page_points(struct vq_persona_page *p, const struct vq_persona_measure *m)
{
    struct vq_html *h = &p->h;
    const struct vq_persona_numbers *n = p->r->numbers;
    vq_html_puts(h, "<details class=\"fold\"><summary>Point by point</summary>"
                    "<div class=\"scroll\"><table class=\"plain\"><thead><tr><th>dialogue</th>"
                    "<th>round</th><th>cells</th><th>persona</th><th>baseline</th><th>change</th>"
                    "<th>persona minus baseline</th>");
    vq_html_puts(h, n->scripts > 1 ? "<th>directed minus goal</th></tr></thead>\n<tbody>\n"
                                   : "</tr></thead>\n<tbody>\n");
    for (uint32_t s = 0; s < n->scripts; s++) {
        for (uint32_t i = 0; i < m->panel.points; i++) {
            vq_html_printf(h, "<tr><td>%s</td><th scope=\"row\">%u</th><td>%u</td>", kind_of(p, s),
                           m->panel.rounds[i],
                           vq_persona_curve_at(n, m, VQ_CURVE_PERSONA, s, i)->cells);
            for (unsigned c = 0; c < VQ_CURVE_KINDS; c++) {
                mean_cell(p, m, vq_persona_curve_at(n, m, (enum vq_persona_curve)c, s, i),
                          c >= VQ_CURVE_CHANGE);
            }
            if (s == 0 && n->scripts > 1) {
                mean_cell(p, m, vq_persona_curve_at(n, m, VQ_CURVE_KINDS, s, i), true);
            } else if (n->scripts > 1) {
                vq_html_puts(h, "<td></td>");
            }
            vq_html_puts(h, "</tr>\n");
        }
    }
    vq_html_puts(h, "</tbody></table></div></details>\n");
}

void vq_persona_page_models(struct vq_persona_page *p, const struct vq_persona_measure *m)
{
    struct vq_html *h = &p->h;
    const struct vq_persona_numbers *n = p->r->numbers;
    vq_html_puts(
        h,
        "<details class=\"fold\"><summary>Model by model</summary>"
        "<div class=\"scroll\"><table class=\"plain\"><thead><tr><th>model</th>"
        "<th>dialogue</th><th>mean of all points</th><th>last minus first</th>"
        "<th>persona minus baseline</th><th>slope a round, %</th>"
        "<th>slope per 1,000 tokens, %</th><th>cost of a persona, %</th></tr></thead>\n<tbody>\n");
    for (uint32_t i = 0; i < n->models * n->scripts; i++) {
        vq_html_puts(h, "<tr><th scope=\"row\"><bdi>");
        vq_html_text(h, p->r->names.models[i / n->scripts]);
        vq_html_printf(h, "</bdi></th><td>%s</td>", kind_of(p, i % n->scripts));
        mean_cell(p, m, &m->bars[i].level, false);
        mean_cell(p, m, &m->bars[i].change, true);
        mean_cell(p, m, &m->bars[i].gap, true);
        within_cell(p, &m->slopes[i].length);
        within_cell(p, &m->slopes[i].tokens);
        within_cell(p, &m->slopes[i].cost);
        vq_html_puts(h, "</tr>\n");
    }
    vq_html_puts(h, "</tbody></table></div></details>\n");
}

/* ---- agreement ---- */

static void agreement_row(struct vq_persona_page *p, const struct vq_persona_agreement *a)
{
    struct vq_html *h = &p->h;
    const double cells[] = {a->found.exact, a->found.kappa.kappa, a->found.kappa.kappa_quadratic,
                            a->found.absolute_error, a->found.within_one};
    vq_html_puts(h, "<tr><th scope=\"row\"><bdi>");
    vq_html_text(h, p->r->study->criteria[a->criterion].name);
    vq_html_puts(h, "</bdi></th><td><bdi>");
    vq_html_text(h, p->r->judges[a->judge_a].name);
    vq_html_puts(h, "</bdi></td><td><bdi>");
    vq_html_text(h, a->judge_b == VQ_PERSONA_HUMAN ? "people\xe2\x80\x99s labels"
                                                   : p->r->judges[a->judge_b].name);
    vq_html_puts(h, "</bdi></td><td>");
    vq_html_count(h, a->found.rows);
    vq_html_puts(h, "</td>");
    for (size_t i = 0; i < VQ_COUNT(cells); i++) {
        vq_html_puts(h, "<td>");
        vq_html_number(h, cells[i], 2);
        vq_html_puts(h, "</td>");
    }
    vq_html_puts(h, "</tr>\n");
}

void vq_persona_page_agreement(struct vq_persona_page *p)
{
    struct vq_html *h = &p->h;
    const struct vq_persona_numbers *n = p->r->numbers;
    vq_html_puts(h, "<section id=\"agreement\"><h2>Agreement of judges</h2>\n");
    if (n->agreements_count == 0) {
        vq_html_puts(h, "<p class=\"sub\">One judge, and no labels of people: nothing to compare."
                        "</p></section>\n");
        return;
    }
    vq_html_puts(h, "<p class=\"sub\">On the same things: equal ratings, Cohen\xe2\x80\x99s kappa "
                    "plain and with quadratic weights, how far apart on average, and the share at "
                    "most one apart.</p>\n<div class=\"scroll\"><table class=\"plain\"><thead><tr>"
                    "<th>criterion</th><th>judge</th><th>with</th><th>n</th><th>equal</th>"
                    "<th>kappa</th><th>quadratic</th><th>apart</th><th>within 1</th></tr></thead>\n"
                    "<tbody>\n");
    for (uint32_t i = 0; i < n->agreements_count; i++) {
        agreement_row(p, &n->agreements[i]);
    }
    vq_html_puts(h, "</tbody></table></div>\n");
    if (p->r->human_unplaced > 0) {
        vq_html_puts(h, "<p class=\"hint\">");
        vq_html_count(h, p->r->human_unplaced);
        vq_html_puts(h, " of ");
        vq_html_count(h, p->r->human_labels);
        vq_html_puts(h, " labels of people are of nothing that was rated.</p>\n");
    }
    vq_html_puts(h, "</section>\n");
}
