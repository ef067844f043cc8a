/* A cascade in results.json and on the terminal. Not its job: the numbers (numbers/cascade.c);
 * dollars, which results.json never contains, because they depend on earlier stored answers. */
#include "methods/vibecheck/report/cascade.h"

#include "methods/report/keys.h"
#include "methods/vibecheck/numbers/cascade.h"

#include <stdio.h>

static double share(uint64_t of, uint64_t all)
{
    return all > 0 ? (double)of / (double)all : NAN;
}

/* ---- results.json ---- */

static void split_json(struct vq_json *j, const char *key, const struct vq_cascade_split *s)
{
    vq_json_put_object(j, key);
    vq_report_key_estimate(j, "uncorrected", s->uncorrected, "uncorrected_ci95",
                           s->uncorrected_ci95);
    vq_report_key_interval(j, "rows_ci95", s->rows_ci95);
    vq_report_key_real(j, "weight_of_first", s->weight);
    vq_json_put_u64(j, "escalated", s->escalated);
    vq_json_put_u64(j, "not_escalated", s->rest);
    vq_json_put_u64(j, "audited", s->audited);
    vq_json_object_end(j);
}

void vq_report_cascade_vibe_json(struct vq_json *j, const struct vq_report_input *r,
                                 const struct vq_vibe_metrics *m)
{
    if (r->in->cascade == NULL) {
        return;
    }
    vq_json_put_object(j, "cascade");
    split_json(j, "train", &m->train.cascade);
    split_json(j, "test", &m->test.cascade);
    vq_json_object_end(j);
}

static void rate_json(struct vq_json *j, const char *key, uint64_t cells, uint64_t differ,
                      struct vq_interval ci)
{
    vq_json_put_object(j, key);
    vq_json_put_u64(j, "cells", cells);
    vq_json_put_u64(j, "differ", differ);
    vq_report_key_estimate(j, "disagreement", share(differ, cells), "ci95", ci);
    vq_json_object_end(j);
}

static void calls_json(struct vq_json *j, const struct vq_cascade_counts *n)
{
    double everywhere = vq_cascade_everywhere(n);
    vq_json_put_object(j, "calls");
    vq_json_put_u64(j, "first", n->first_calls);
    vq_json_put_u64(j, "second", n->second_calls);
    vq_report_key_real(j, "second_everywhere", everywhere);
    vq_report_key_real(j, "second_saved", everywhere - (double)n->second_calls);
    vq_json_object_end(j);
}

void vq_report_cascade_json(struct vq_json *j, const struct vq_report_input *r)
{
    if (r->in->cascade == NULL) {
        return;
    }
    const struct vq_conf_cascade *c = r->config->cascade;
    const struct vq_cascade_counts *n = &r->result->cascade;
    uint32_t first = vq_config_first_judge(r->config);
    vq_json_put_object(j, "cascade");
    vq_json_put_str(j, "first", r->judges[first].name);
    vq_json_put_str(j, "second", r->judges[1 - first].name);
    vq_report_key_real(j, "margin", c->escalate.margin);
    vq_json_put_bool(j, "disagree", c->escalate.disagree);
    vq_report_key_real(j, "audit", c->audit);
    vq_json_put_object(j, "cells");
    vq_json_put_u64(j, "first", n->cells);
    vq_json_put_u64(j, "second", n->asked);
    vq_json_object_end(j);
    vq_json_put_object(j, "reasons");
    vq_json_put_u64(j, "margin", n->margin);
    vq_json_put_u64(j, "disagreement", n->disagree);
    vq_json_put_u64(j, "no_score", n->no_score);
    vq_json_put_u64(j, "audit", n->audit);
    vq_json_put_u64(j, "audit_alone", n->audit_alone);
    vq_json_object_end(j);
    vq_json_put_u64(j, "margin_unknown", n->margin_unknown);
    rate_json(j, "audited", n->compared, n->differ, n->differ_ci95);
    rate_json(j, "audited_not_escalated", n->compared_rest, n->differ_rest, n->differ_rest_ci95);
    calls_json(j, n);
    vq_json_object_end(j);
}

/* ---- the terminal ---- */

static void reasons(const struct vq_report_input *r, struct vq_buf *out)
{
    const struct vq_cascade_counts *n = &r->result->cascade;
    const struct {
        const char *word;
        uint64_t cells;
    } rows[] = {{"orders that disagree", n->disagree},
                {"a small margin", n->margin},
                {"no score", n->no_score},
                {"the audit alone", n->audit_alone}};
    char text[VQ_FMT_BYTES];
    const char *before = " (";
    for (size_t i = 0; i < VQ_COUNT(rows); i++) {
        if (rows[i].cells > 0) {
            vq_buf_printf(out, "%s%s: %s", before, rows[i].word, vq_fmt_count(rows[i].cells, text));
            before = ", ";
        }
    }
    vq_buf_puts(out, n->asked > 0 ? ")\n" : "\n");
}

static void put_rate(const char *what, uint64_t cells, uint64_t differ, struct vq_interval ci,
                     struct vq_buf *out)
{
    char text[VQ_FMT_BYTES];
    vq_buf_printf(out, "  the judges differ on %.1f %% of %s %s", 100 * share(differ, cells),
                  vq_fmt_count(cells, text), what);
    if (!isnan(ci.lo)) {
        vq_buf_printf(out, " [%.1f, %.1f]", 100 * ci.lo, 100 * ci.hi);
    }
    vq_buf_putc(out, '\n');
}

static void vibe(const struct vq_report_input *r, uint32_t v, struct vq_buf *out)
{
    const struct vq_vibe_metrics *m = &r->result->vibe[v];
    const struct vq_vibe_split *lead = vq_vibe_lead(r->result, m);
    double value = lead->sep;
    struct vq_interval ci = lead->sep_ci95;
    vq_buf_puts(out, "  ");
    vq_fmt_pad(out, vq_span_str(r->in->axes[v].name), 24);
    if (isnan(value)) {
        vq_buf_puts(out, "   n/a, too few audited rows");
    } else if (isnan(ci.lo)) {
        vq_buf_printf(out, " %+.2f no interval   ", value);
    } else {
        vq_buf_printf(out, " %+.2f [%+.2f, %+.2f]", value, ci.lo, ci.hi);
    }
    vq_buf_printf(out, "   %+.2f\n", lead->cascade.uncorrected);
}

void vq_report_cascade_table(const struct vq_report_input *r, const uint32_t *order,
                             struct vq_buf *out)
{
    if (r->in->cascade == NULL) {
        return;
    }
    const struct vq_cascade_counts *n = &r->result->cascade;
    uint32_t first = vq_config_first_judge(r->config);
    const char *second = r->judges[1 - first].name;
    char one[VQ_FMT_BYTES], two[VQ_FMT_BYTES];
    vq_buf_printf(out, "\n  %-24s %-22s  %s\n", "cascade", "separability [95 %]", "uncorrected");
    for (uint32_t i = 0; i < r->result->vibes; i++) {
        if (!r->result->vibe[order[i]].na_everywhere) {
            vibe(r, order[i], out);
        }
    }
    vq_buf_printf(out, "  %s answered %s cell%s, %s %s of them", r->judges[first].name,
                  vq_fmt_count(n->cells, one), vq_fmt_plural(n->cells), second,
                  vq_fmt_count(n->asked, two));
    reasons(r, out);
    put_rate("audited cells", n->compared, n->differ, n->differ_ci95, out);
    put_rate("of them that were not escalated", n->compared_rest, n->differ_rest,
             n->differ_rest_ci95, out);
    double everywhere = vq_cascade_everywhere(n);
    if (!isnan(everywhere)) {
        vq_buf_printf(out,
                      "  calls: %s of %s and %s of %s, in place of about %.0f of %s everywhere\n",
                      vq_fmt_count(n->first_calls, one), r->judges[first].name,
                      vq_fmt_count(n->second_calls, two), second, everywhere, second);
    }
}

void vq_report_saved_line(const struct vq_report_saved *saved, struct vq_buf *out)
{
    char spent[VQ_FMT_BYTES], everywhere[VQ_FMT_BYTES];
    if (saved->known) {
        vq_buf_printf(out,
                      "The cascade cost %s; the second judge everywhere would cost about %s.\n",
                      vq_fmt_dollars(saved->spent_usd, spent),
                      vq_fmt_dollars(saved->everywhere_usd, everywhere));
    }
}
