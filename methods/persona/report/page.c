/* The page of a persona evaluation: what was held, every measure over the rounds with its
 * contrasts, agreement, the dialogues with their ratings, the settings. No script. Invariant: the
 * page stays within VQ_HTML_BYTES_MAX, and says what it leaves out. Not its job: the numbers
 * (pipeline/persona/numbers.c). */
#include "methods/persona/report/page_parts.h"

/* ---- top ---- */

static void title(struct vq_persona_page *p)
{
    const struct vq_persona_design *d = &p->r->study->plan->design;
    for (uint32_t i = 0; i < d->models && i < 3; i++) {
        vq_html_puts(&p->h, i == 0 ? "" : ", ");
        vq_html_text(&p->h, p->r->names.models[i]);
    }
    if (d->models > 3) {
        vq_html_printf(&p->h, " and %u more", d->models - 3);
    }
}

static void warnings(struct vq_persona_page *p)
{
    struct vq_html *h = &p->h;
    const struct vq_persona_study *s = p->r->study;
    const struct vq_persona_numbers *n = p->r->numbers;
    uint64_t missing = 0;
    for (size_t i = 0; i < s->rated_count * s->judges; i++) {
        missing += s->values[i] != s->values[i] ? 1 : 0;
    }
    if (missing == 0 && n->cells >= VQ_CELLS_MIN) {
        return;
    }
    vq_html_puts(h, "<ul class=\"warnings\">\n");
    if (missing > 0) {
        vq_html_puts(h, "<li>");
        vq_html_count(h, missing);
        vq_html_printf(h,
                       " rating%s missing. %s in no mean and no rate, and counted by reason beside "
                       "each.</li>\n",
                       vq_fmt_form(missing, " is", "s are"),
                       vq_fmt_form(missing, "It is", "They are"));
    }
    if (n->cells < VQ_CELLS_MIN) {
        vq_html_printf(h,
                       "<li>No intervals: there are %u cells, a model with a persona each, and an "
                       "interval over cells takes %u.</li>\n",
                       n->cells, VQ_CELLS_MIN);
    }
    vq_html_puts(h, "</ul>\n");
}

static void top(struct vq_persona_page *p)
{
    struct vq_html *h = &p->h;
    const struct vq_persona_plan *plan = p->r->study->plan;
    const struct vq_persona_design *d = &plan->design;
    vq_html_puts(h, "<main>\n<div class=\"top\"><p class=\"brand\">vibeq \xc2\xb7 personas over "
                    "long dialogues</p></div>\n<h1>");
    title(p);
    vq_html_puts(h, "</h1>\n");
    if (strcmp(p->r->judge_kind, "model") != 0) {
        vq_html_puts(h, "<p class=\"banner\" role=\"note\"><b>Made with the offline judge.</b> It "
                        "needs no model and knows none: this page shows that the plumbing works, "
                        "not how the models keep a persona.</p>\n");
    }
    vq_html_printf(
        h, "<p class=\"lede\">%u dialogue%s of %u rounds%s: %u model%s, %u persona%s%s.</p>\n",
        plan->chains_count, vq_fmt_plural(plan->chains_count), d->rounds,
        d->shuffled ? ", in two orders each" : "", d->models, vq_fmt_plural(d->models), d->personas,
        vq_fmt_plural(d->personas), d->baseline ? " and the baseline without one" : "");
    warnings(p);
    vq_html_puts(h, "<p class=\"key\"><b class=\"persona\">Blue</b>: the model with a persona. "
                    "<b class=\"baseline\">Orange, dashed</b>: the same model without one. Bars "
                    "are 95 % intervals over cells; a gap in a line is a missing value.");
    uint32_t models = p->r->numbers->models;
    vq_html_puts(h, models > 1 && models <= VQ_HTML_MODELS_MAX
                        ? " Persona by persona, the thin lines are single models.</p>\n"
                        : "</p>\n");
}

/* ---- measures, by what they are of ---- */

enum group {
    TURNS,
    TRAITS,
    SAFETY,
    WINS,
    REST,
    GROUPS
};

static enum group group_of(const struct vq_persona_page *p, const struct vq_persona_measure *m)
{
    switch (m->what) {
    case VQ_PERSONA_ERROR:
    case VQ_PERSONA_DISTANCE: return TRAITS;
    case VQ_PERSONA_REFUSAL:
    case VQ_PERSONA_OVERREFUSAL: return SAFETY;
    case VQ_PERSONA_WINS: return WINS;
    case VQ_PERSONA_FIDELITY: return TURNS;
    case VQ_PERSONA_MEAN:
        if (p->r->study->criteria[m->criterion].use == VQ_PERSONA_OF_TRAITS) {
            return TRAITS;
        }
        return m->turns.points > 0 ? TURNS : REST;
    case VQ_PERSONA_MEASURED: break;
    }
    return REST;
}

static void measures(struct vq_persona_page *p)
{
    static const char *const heads[GROUPS][2] = {{"turns", "In the dialogues"},
                                                 {"traits", "The Big Five"},
                                                 {"safety", "Safety"},
                                                 {"wins", "Win rates"},
                                                 {"rest", "Other measures"}};
    struct vq_html *h = &p->h;
    size_t begin = h->out->bytes;
    uint32_t left_out = 0;
    for (unsigned g = 0; g < GROUPS; g++) {
        bool open = false;
        for (uint32_t i = 0; i < p->r->numbers->measures_count; i++) {
            if (group_of(p, &p->r->numbers->measures[i]) != g) {
                continue;
            }
            if (h->out->bytes - begin >= VQ_HTML_CHARTS_BYTES_MAX) {
                left_out++;
                continue;
            }
            if (!open) {
                vq_html_printf(h, "<section id=\"%s\"><h2>%s</h2>\n", heads[g][0], heads[g][1]);
            }
            open = true;
            vq_persona_page_measure(p, i);
        }
        vq_html_puts(h, open ? "</section>\n" : "");
    }
    if (left_out > 0) {
        vq_html_printf(h,
                       "<p class=\"hint\">And %u more measures, which this page has no room for; "
                       "all are in <code>results.json</code>.</p>\n",
                       left_out);
    }
}

/* ---- settings ---- */

static void judges(struct vq_persona_page *p)
{
    struct vq_html *h = &p->h;
    for (uint32_t k = 0; k < p->r->study->judges; k++) {
        const struct vq_report_judge *judge = &p->r->judges[k];
        vq_html_puts(h, "<dt>Judge</dt><dd><bdi>");
        vq_html_text(h, judge->name);
        vq_html_puts(h, "</bdi>: ");
        vq_html_text(h, judge->model);
        vq_html_puts(h, " at ");
        vq_html_text(h, judge->identity);
        for (uint32_t i = 0; i < judge->returned_count; i++) {
            vq_html_puts(h, i == 0 ? ", which called itself " : ", ");
            vq_html_text(h, judge->returned[i]);
        }
        vq_html_puts(h, "</dd>");
    }
}

static void settings(struct vq_persona_page *p)
{
    struct vq_html *h = &p->h;
    const struct vq_persona_plan *plan = p->r->study->plan;
    vq_html_puts(h, "<section id=\"methods\"><h2>How it was done</h2>\n<div class=\"prose\"><p>");
    vq_html_puts(h, strcmp(p->r->policy, "strict") == 0
                        ? "A rating counts when the answer states one value, whole, alone and in "
                          "range, behind <code>Result</code>; else it is missing, and no mean or "
                          "rate has it."
                        : "Answers were read as the code of the persona paper read them: the first "
                          "value that looks like one counts, out of range or not, and a pairwise "
                          "answer without any was given a drawn one.");
    vq_html_puts(h, "</p>\n<p>A cell is one model with one persona: its value is the mean over the "
                    "judges, then over the items, of turns over the orders of the dialogue. Curves "
                    "are means over cells; contrasts are paired within cells, so that only those "
                    "with both sides count. Intervals are Student\xe2\x80\x99s, over cells, and "
                    "there are none over fewer than 6. They cover the choice of models and "
                    "personas, not that of questions or of judges. The percentile bootstrap, which "
                    "is published elsewhere and is too narrow over few cells, is in "
                    "<code>results.json</code>.</p>\n<p>Slopes are least squares within cells, in "
                    "points of 100 a round; they take cells to differ in level alone. Where "
                    "personas fade at different speeds the change is the one to read.</p></div>\n"
                    "<dl class=\"facts\"><dt>Checkpoints</dt><dd>after ");
    for (uint32_t i = 0; i < plan->design.checkpoints; i++) {
        vq_html_printf(h, i == 0 ? "%u" : ", %u", plan->checkpoints[i]);
    }
    vq_html_puts(h, plan->design.checkpoints == 0 ? "none</dd>" : " rounds</dd>");
    judges(p);
    vq_html_puts(h, "</dl></section>\n");
}

void vq_report_persona_html(const struct vq_report_persona_page *of, struct vq_buf *out)
{
    struct vq_persona_page p = {.h = {.out = out}, .r = of->r, .of = of};
    vq_html_head(&p.h, NULL);
    title(&p);
    vq_html_puts(&p.h, ": personas");
    vq_html_head_end(&p.h);
    top(&p);
    vq_persona_page_summary(&p);
    measures(&p);
    vq_persona_page_agreement(&p);
    vq_persona_page_talks(&p);
    settings(&p);
    vq_html_foot(&p.h, NULL);
}
