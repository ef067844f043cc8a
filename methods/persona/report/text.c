/* The table of a persona evaluation on the terminal: for each measure and kind of dialogue, the
 * values at the first and the last point, beside the baseline. Not its job: intervals of every
 * point (results.json). */
#include "methods/persona/report/report.h"

#include <math.h>
#include <stdio.h>

#define NAME_COLUMNS 24u

static void value(struct vq_buf *out, const struct vq_persona_measure *m,
                  const struct vq_cells_mean *mean, bool sign)
{
    double x = mean->mean;
    char text[32] = "n/a";
    if (!isnan(x)) {
        bool share = m->unit == VQ_PERSONA_SHARE;
        (void)snprintf(text, sizeof(text), sign ? "%+.*f" : "%.*f", share ? 1 : 2,
                       share ? 100 * x : x);
    }
    vq_buf_printf(out, "%9s", text);
}

static void interval(struct vq_buf *out, const struct vq_persona_measure *m,
                     const struct vq_cells_mean *mean)
{
    char text[48] = "";
    double by = m->unit == VQ_PERSONA_SHARE ? 100 : 1;
    if (!isnan(mean->ci95.lo) && !isnan(mean->ci95.hi)) {
        (void)snprintf(text, sizeof(text), "[%.2f, %.2f]", by * mean->ci95.lo, by * mean->ci95.hi);
    }
    vq_buf_printf(out, "  %-16s", text);
}

static void measure_row(const struct vq_report_persona *r, const struct vq_persona_measure *m,
                        uint32_t script, const struct vq_terminal *t, struct vq_buf *out)
{
    uint32_t last = m->panel.points - 1;
    const struct vq_persona_slopes *slopes =
        &m->slopes[(size_t)r->numbers->models * r->numbers->scripts + script];
    vq_buf_puts(out, script == 0 ? vq_color(t, VQ_COLOR_BOLD) : "");
    vq_fmt_pad(out, vq_span_str(script == 0 ? m->name : ""), NAME_COLUMNS);
    vq_buf_puts(out, script == 0 ? vq_color(t, VQ_COLOR_RESET) : "");
    vq_buf_printf(out, " %-8s", vq_persona_kind_name(r->study->plan->design.scripts[script].kind));
    value(out, m, vq_persona_curve_at(r->numbers, m, VQ_CURVE_PERSONA, script, 0), false);
    value(out, m, vq_persona_curve_at(r->numbers, m, VQ_CURVE_PERSONA, script, last), false);
    const struct vq_cells_mean *change =
        vq_persona_curve_at(r->numbers, m, VQ_CURVE_CHANGE, script, last);
    value(out, m, change, true);
    interval(out, m, change);
    value(out, m, vq_persona_curve_at(r->numbers, m, VQ_CURVE_BASELINE, script, last), false);
    char slope[32] = "n/a";
    if (!isnan(slopes->length.slope)) {
        (void)snprintf(slope, sizeof(slope), "%+.2f", slopes->length.slope);
    }
    vq_buf_printf(out, "%9s\n", slope);
}

static void status_rows(const struct vq_report_persona *r, struct vq_buf *out)
{
    bool head = false;
    for (uint32_t i = 0; i < r->numbers->measures_count; i++) {
        const struct vq_persona_measure *m = &r->numbers->measures[i];
        for (uint32_t j = 0; m->statuses != NULL && j < r->study->judges; j++) {
            const char *before = "";
            for (unsigned s = VQ_RATING_OK + 1; s < VQ_PERSONA_STATUSES; s++) {
                if (m->statuses[j][s] == 0) {
                    continue;
                }
                if (before[0] == '\0') {
                    vq_buf_printf(out, "%s  %s, judge %s: ", head ? "" : "\nNot plainly rated:\n",
                                  m->name, r->judges[j].name);
                    head = true;
                }
                vq_buf_printf(out, "%s%llu %s", before, (unsigned long long)m->statuses[j][s],
                              vq_persona_status_name(s));
                before = ", ";
            }
            vq_buf_puts(out, before[0] == '\0' ? "" : "\n");
        }
    }
}

void vq_report_persona_table(const struct vq_report_persona *r, const struct vq_terminal *t,
                             struct vq_buf *out)
{
    const struct vq_persona_design *d = &r->study->plan->design;
    vq_buf_printf(out, "%u model%s, %u persona%s%s, %u round%s\n\n", d->models,
                  vq_fmt_plural(d->models), d->personas, vq_fmt_plural(d->personas),
                  d->baseline ? " and the baseline" : "", d->rounds, vq_fmt_plural(d->rounds));
    vq_buf_printf(out, "%s%-24s %-8s%9s%9s%9s  %-16s%9s%9s%s\n", vq_color(t, VQ_COLOR_BOLD),
                  "measure", "dialogue", "first", "last", "change", "95 % interval", "baseline",
                  "slope", vq_color(t, VQ_COLOR_RESET));
    for (uint32_t i = 0; i < r->numbers->measures_count; i++) {
        for (uint32_t s = 0; s < r->numbers->scripts; s++) {
            measure_row(r, &r->numbers->measures[i], s, t, out);
        }
    }
    vq_buf_puts(out, "\nRatings from 1 to 5, shares in percent; the slope is in points of 100 a "
                     "round.\n");
    status_rows(r, out);
    vq_buf_puts(out, r->calls == NULL ? "" : "\n");
    vq_report_calls_line(r->calls, out);
    if (r->numbers->cells < VQ_CELLS_MIN) {
        vq_buf_printf(
            out, "\nNo intervals: %u cell%s (a model with a persona each), and they need %u.\n",
            r->numbers->cells, vq_fmt_plural(r->numbers->cells), VQ_CELLS_MIN);
    }
    if (strcmp(r->judge_kind, "model") != 0) {
        vq_buf_printf(out,
                      "\n%sMade with the offline judge: this shows that the plumbing works, not "
                      "what the models are worth.%s\n",
                      vq_color(t, VQ_COLOR_YELLOW), vq_color(t, VQ_COLOR_RESET));
    }
}
