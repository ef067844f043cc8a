/* Behind which beginning of a dialogue what was asked, the answers, and their ratings: folded, by
 * data set, the first questions of each. Not its job: turns (persona_talks.c). */
#include "methods/persona/report/page_parts.h"

/* ---- which things are of which beginning ---- */

/* The prefix that a thing's answer was asked behind; SIZE_MAX: it rates a turn. */
static size_t prefix_of(const struct vq_persona_page *p, size_t thing)
{
    const struct vq_persona_study *s = p->r->study;
    const struct vq_persona_rated *t = &s->rated[thing];
    return s->criteria[t->criterion].use == VQ_PERSONA_OF_TURNS
               ? SIZE_MAX
               : vq_persona_prefix_of(s->plan, t->model, t->persona, t->script, t->point);
}

enum vq_status vq_persona_probed_make(const struct vq_persona_page *p,
                                      struct vq_persona_index *ret_probed)
{
    return vq_persona_index_make(p, p->r->study->plan->prefixes_count, prefix_of, ret_probed);
}

/* ---- one question ---- */

struct place {
    const struct vq_persona_index *probed;
    uint32_t prefix, set;
    bool baseline;
    size_t bytes_max;
};

/* Every rating of the answer in a column. */
static void ratings(struct vq_persona_page *p, const struct place *at, uint32_t column)
{
    const struct vq_persona_study *s = p->r->study;
    const struct vq_persona_set *set = &s->plan->design.sets[at->set];
    uint32_t shown = 0, all = 0;
    vq_html_puts(&p->h, "<div><div class=\"answers\">\n");
    for (size_t i = at->probed->from[at->prefix]; i < at->probed->from[at->prefix + 1]; i++) {
        size_t thing = at->probed->things[i];
        const struct vq_persona_rated *t = &s->rated[thing];
        if (p->of->sets[t->criterion] != at->set ||
            vq_persona_column(set, t->item, at->baseline) != column) {
            continue;
        }
        for (uint32_t j = 0; j < s->judges; j++, all++) {
            if (all < VQ_HTML_RATINGS_MAX) {
                vq_persona_page_rating(p, thing, j, at->baseline, all < VQ_HTML_REASONS_MAX);
                shown++;
            }
        }
    }
    vq_html_puts(&p->h, "</div>\n");
    if (all > shown) {
        vq_html_printf(&p->h,
                       "<p class=\"hint\">And %u more ratings, in <code>ratings.csv</code>.</p>\n",
                       all - shown);
    }
    vq_html_puts(&p->h, "</div>\n");
}

static void one(struct vq_persona_page *p, const struct place *at, uint32_t column)
{
    const char *question = "";
    struct vq_span answer = vq_span(NULL, 0);
    p->of->probe(p->of->ctx, at->set, at->prefix, column, &question, &answer);
    vq_html_puts(&p->h, "<div class=\"probe\"><div class=\"pair\"><div>\n");
    vq_persona_page_message(p, "Question", "asked", vq_span_str(question));
    if (answer.at != NULL) {
        vq_persona_page_message(p, "Reply", "said", answer);
    } else {
        vq_html_puts(&p->h, "<p><b class=\"wrong\">no answer</b></p>\n");
    }
    vq_html_puts(&p->h, "</div>\n");
    ratings(p, at, column);
    vq_html_puts(&p->h, "</div></div>\n");
}

/* ---- a data set ---- */

static void of_set(struct vq_persona_page *p, const struct place *at, uint32_t rounds)
{
    struct vq_html *h = &p->h;
    const struct vq_persona_plan *plan = p->r->study->plan;
    const struct vq_persona_set *set = &plan->design.sets[at->set];
    uint32_t asked = 0, shown = 0;
    for (uint32_t c = 0; c < vq_persona_columns(set); c++) {
        asked += vq_persona_asks(plan, set, at->prefix, c);
    }
    if (asked == 0) {
        return;
    }
    vq_html_printf(h, "<details class=\"fold\"><summary>Asked after %u round%s: <bdi>", rounds,
                   vq_fmt_plural(rounds));
    vq_html_text(h, p->r->sets[at->set]);
    vq_html_printf(h, "</bdi>, %u question%s</summary>\n", asked, vq_fmt_plural(asked));
    for (uint32_t c = 0;
         shown < asked && shown < VQ_HTML_PROBES_MAX && h->out->bytes < at->bytes_max; c++) {
        if (vq_persona_asks(plan, set, at->prefix, c)) {
            one(p, at, c);
            shown++;
        }
    }
    if (shown < asked) {
        vq_html_printf(h,
                       "<p class=\"hint\">And %u more, whose ratings are in <code>ratings.csv"
                       "</code> and whose answers in <code>vibeq export RUN calls</code>.</p>\n",
                       asked - shown);
    }
    vq_html_puts(h, "</details>\n");
}

void vq_persona_page_probes(struct vq_persona_page *p, const struct vq_persona_index *probed,
                            uint32_t chain, uint32_t rounds, size_t bytes_max)
{
    const struct vq_persona_plan *plan = p->r->study->plan;
    const struct vq_persona_chain *of = &plan->chains[chain];
    if (p->of->probe == NULL || of->order != VQ_PERSONA_ORIGINAL) {
        return;
    }
    for (uint32_t i = 0; i < plan->design.checkpoints; i++) {
        if (plan->checkpoints[i] != rounds) {
            continue;
        }
        struct place at = {.probed = probed,
                           .prefix =
                               vq_persona_prefix_of(plan, of->model, of->persona, of->script, i),
                           .baseline = vq_persona_is_baseline(plan, of->persona),
                           .bytes_max = bytes_max};
        for (at.set = 0; at.set < plan->design.sets_count; at.set++) {
            of_set(p, &at, rounds);
        }
    }
}
