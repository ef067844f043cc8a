/* People's labels in results.json and on the terminal. Not its job: the numbers
 * (numbers/people.c). */
#include "methods/vibecheck/report/people.h"

#include "methods/report/keys.h"

#include <math.h>
#include <stdio.h>

static double win(double separability)
{
    return (1 + separability) / 2;
}

void vq_report_people_json(struct vq_json *j, const struct vq_people_metrics *m)
{
    const struct vq_powered *s = &m->separability;
    if (s->labelled == 0) {
        return;
    }
    vq_json_put_object(j, "people");
    vq_json_put_u64(j, "rows", s->labelled);
    vq_report_key_estimate(j, "agreement", m->agreement, "agreement_ci95", m->agreement_ci95);
    vq_report_key_real(j, "kappa", m->kappa);
    vq_report_key_real(j, "separability_of_judges", s->judge);
    vq_report_key_estimate(j, "separability", s->mean, "ci95", s->ci95);
    vq_report_key_estimate(j, "win_rate", win(s->mean), "win_rate_ci95",
                           (struct vq_interval){win(s->ci95.lo), win(s->ci95.hi)});
    vq_report_key_real(j, "weight_of_judges", s->weight);
    vq_json_object_end(j);
}

static void put_interval(struct vq_buf *out, struct vq_interval ci, int digits, bool with_sign,
                         int width)
{
    char text[48] = "no interval";
    if (!isnan(ci.lo)) {
        (void)snprintf(text, sizeof(text), with_sign ? "[%+.*f, %+.*f]" : "[%.*f, %.*f]", digits,
                       ci.lo, digits, ci.hi);
    }
    vq_buf_printf(out, " %-*s", width, text);
}

static void row(const struct vq_report_input *r, uint32_t vibe, struct vq_buf *out)
{
    const struct vq_people_metrics *m = &r->result->vibe[vibe].people;
    const struct vq_powered *s = &m->separability;
    vq_buf_puts(out, "  ");
    vq_fmt_pad(out, vq_span_str(r->in->axes[vibe].name), 24);
    vq_buf_printf(out, "%6zu   %4.2f", s->labelled, m->agreement);
    put_interval(out, m->agreement_ci95, 2, false, 13);
    vq_buf_printf(out, "  %+.2f", s->mean);
    put_interval(out, s->ci95, 2, true, 0);
    vq_buf_putc(out, '\n');
}

void vq_report_people_table(const struct vq_report_input *r, const uint32_t *order,
                            struct vq_buf *out)
{
    bool any = false;
    for (uint32_t i = 0; i < r->result->vibes; i++) {
        if (r->result->vibe[order[i]].people.separability.labelled == 0) {
            continue;
        }
        if (!any) {
            vq_buf_printf(out, "\n  %-24s%6s   %-19s%s\n", "what people say", "rows",
                          "judges agree", "separability of people");
            any = true;
        }
        row(r, order[i], out);
    }
}
