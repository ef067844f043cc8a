/* The browser of a persona page: dialogues turn by turn, beside each turn its ratings and what the
 * judges wrote, folded. As many as a page can hold: of every persona and kind the one that fell
 * most, then the next one of each; dialogues.jsonl and ratings.csv have all. */
#include "common/base/alloc.h"
#include "methods/persona/report/page_parts.h"

#include <math.h>
#include <stdlib.h>

struct talk {
    uint32_t chain, group; /* a group: who is talked to, in which kind of dialogue */
    uint32_t rank;         /* within it */
    double fall; /* of the mean rating, from the first half to the second; NaN: not known */
};

struct index {
    struct vq_persona_index turns; /* the things that rate them, by chain * rounds + turn */
    struct vq_persona_index probed;
    struct talk *talks;
};

static uint32_t rounds_of(const struct vq_persona_page *p)
{
    return p->r->study->plan->design.rounds;
}

/* Where a thing stands, or SIZE_MAX: it rates no turn. */
static size_t turn_of(const struct vq_persona_page *p, size_t thing)
{
    const struct vq_persona_study *s = p->r->study;
    const struct vq_persona_rated *t = &s->rated[thing];
    if (s->criteria[t->criterion].use != VQ_PERSONA_OF_TURNS) {
        return SIZE_MAX;
    }
    return (size_t)vq_persona_chain_of(s->plan, t->model, t->persona, t->script, t->order) *
               rounds_of(p) +
           t->point;
}

enum vq_status vq_persona_index_make(const struct vq_persona_page *p, size_t places,
                                     size_t (*place_of)(const struct vq_persona_page *p,
                                                        size_t thing),
                                     struct vq_persona_index *ret_index)
{
    size_t things = p->r->study->rated_count, sum = 0;
    struct vq_persona_index x = {.from = vq_alloc(places + 1, sizeof(*x.from)),
                                 .things = vq_alloc(things + 1, sizeof(*x.things))};
    if (x.from == NULL || x.things == NULL) {
        vq_persona_index_free(&x);
        return VQ_NOMEM;
    }
    for (size_t i = 0; i < things; i++) {
        size_t place = place_of(p, i);
        if (place != SIZE_MAX) {
            x.from[place]++;
        }
    }
    for (size_t k = 0; k <= places; k++) { /* where each ends */
        sum += x.from[k];
        x.from[k] = sum;
    }
    for (size_t i = things; i > 0; i--) { /* and now where it begins */
        size_t place = place_of(p, i - 1);
        if (place != SIZE_MAX) {
            x.things[--x.from[place]] = i - 1;
        }
    }
    *ret_index = x;
    return VQ_OK;
}

void vq_persona_index_free(struct vq_persona_index *index)
{
    vq_free(index->from);
    vq_free(index->things);
    *index = (struct vq_persona_index){.from = NULL};
}

static double mean_between(const struct vq_persona_page *p, const struct vq_persona_index *x,
                           size_t from, size_t until)
{
    const struct vq_persona_study *s = p->r->study;
    double sum = 0;
    size_t present = 0;
    for (size_t i = x->from[from]; i < x->from[until]; i++) {
        for (uint32_t j = 0; j < s->judges; j++) {
            double value = s->values[x->things[i] * s->judges + j];
            sum += isnan(value) ? 0 : value;
            present += isnan(value) ? 0 : 1;
        }
    }
    return present == 0 ? NAN : sum / (double)present;
}

/* ---- which ones ---- */

static int by_fall(const struct talk *x, const struct talk *y)
{
    if (isnan(x->fall) != isnan(y->fall)) { /* what is not known comes last */
        return isnan(x->fall) ? 1 : -1;
    }
    int c = isnan(x->fall) ? 0 : (x->fall < y->fall) - (x->fall > y->fall);
    return c != 0 ? c : (x->chain > y->chain) - (x->chain < y->chain);
}

static int within_groups(const void *a, const void *b)
{
    const struct talk *x = a;
    const struct talk *y = b;
    int c = (x->group > y->group) - (x->group < y->group);
    return c != 0 ? c : by_fall(x, y);
}

static int as_shown(const void *a, const void *b)
{
    const struct talk *x = a;
    const struct talk *y = b;
    int c = (x->rank > y->rank) - (x->rank < y->rank);
    return c != 0 ? c : by_fall(x, y);
}

static void choose(const struct vq_persona_page *p, struct index *x)
{
    const struct vq_persona_plan *plan = p->r->study->plan;
    uint32_t n = plan->chains_count, rounds = rounds_of(p);
    for (uint32_t i = 0; i < n; i++) {
        size_t first = (size_t)i * rounds;
        x->talks[i] = (struct talk){
            .chain = i,
            .group = plan->chains[i].persona * plan->design.scripts_count + plan->chains[i].script,
            .fall = mean_between(p, &x->turns, first, first + rounds / 2) -
                    mean_between(p, &x->turns, first + rounds / 2, first + rounds)};
    }
    qsort(x->talks, n, sizeof(*x->talks), within_groups);
    for (uint32_t i = 1; i < n; i++) {
        bool same = x->talks[i].group == x->talks[i - 1].group;
        x->talks[i].rank = same ? x->talks[i - 1].rank + 1 : 0;
    }
    qsort(x->talks, n, sizeof(*x->talks), as_shown);
}

/* ---- a turn ---- */

/* Of a pair: whether the answer won. */
static void value_of(struct vq_persona_page *p, const struct vq_persona_rated *t, double value)
{
    static const char *const words[2][2] = {{"no", "yes"}, {"loses", "wins"}};
    enum vq_rating_kind kind = p->r->study->criteria[t->criterion].kind;
    bool pairwise = kind == VQ_RATING_PAIRWISE;
    bool yes = pairwise && t->position == 1 ? value < 0.5 : value > 0.5;
    if (kind == VQ_RATING_LIKERT) {
        vq_html_printf(&p->h, "<span class=\"value\">%.0f</span>", value);
    } else {
        vq_html_printf(&p->h, "<span class=\"value\">%s</span>", words[pairwise][yes]);
    }
}

void vq_persona_page_rating(struct vq_persona_page *p, size_t thing, uint32_t judge, bool baseline,
                            bool with_reasoning)
{
    struct vq_html *h = &p->h;
    const struct vq_persona_study *s = p->r->study;
    const struct vq_persona_rated *t = &s->rated[thing];
    double value = s->values[thing * s->judges + judge];
    unsigned status = s->statuses[thing * s->judges + judge];
    struct vq_span text;
    vq_html_puts(h, "<div class=\"answer\"><h4><bdi>");
    vq_html_text(h, s->criteria[t->criterion].name);
    vq_html_puts(h, "</bdi>, <bdi>");
    vq_html_text(h, p->r->judges[judge].name);
    vq_html_puts(h, "</bdi>");
    if (baseline && t->as != VQ_PERSONA_NONE) {
        vq_html_puts(h, ", as <bdi>");
        vq_html_text(h, p->r->names.personas[t->as]);
        vq_html_puts(h, "</bdi>");
    }
    if (s->criteria[t->criterion].use == VQ_PERSONA_OF_PAIRS) {
        vq_html_printf(h, ", against %s, shown %s", vq_persona_reference_name(t->reference),
                       t->position == 0 ? "behind it" : "in front of it");
    }
    vq_html_puts(h, ": ");
    if (!isnan(value)) {
        value_of(p, t, value);
    }
    if (status != VQ_RATING_OK) {
        vq_html_printf(h, " <b class=\"wrong\">%s</b>", vq_persona_status_name(status));
    }
    if (s->human != NULL && !isnan(s->human[thing])) {
        vq_html_puts(h, ", people: ");
        value_of(p, t, s->human[thing]);
    }
    vq_html_puts(h, "</h4>");
    if (with_reasoning && p->of->reasoning != NULL &&
        p->of->reasoning(p->of->ctx, thing, judge, &text)) {
        vq_html_answer(h, text);
    }
    vq_html_puts(h, "</div>\n");
}

static void ratings(struct vq_persona_page *p, const struct vq_persona_index *x, size_t turn,
                    bool baseline)
{
    uint32_t judges = p->r->study->judges;
    size_t all = (x->from[turn + 1] - x->from[turn]) * judges, shown = 0;
    vq_html_puts(&p->h, "<div><div class=\"answers\">\n");
    while (shown < all && shown < VQ_HTML_RATINGS_MAX) {
        vq_persona_page_rating(p, x->things[x->from[turn] + shown / judges],
                               (uint32_t)(shown % judges), baseline, shown < VQ_HTML_REASONS_MAX);
        shown++;
    }
    vq_html_puts(&p->h, "</div>\n");
    if (shown > VQ_HTML_REASONS_MAX) {
        vq_html_puts(&p->h, "<p class=\"hint\">The reasoning of ");
        vq_html_count(&p->h, shown - VQ_HTML_REASONS_MAX);
        vq_html_printf(&p->h, " further rating%s is left out.</p>\n",
                       vq_fmt_plural(shown - VQ_HTML_REASONS_MAX));
    }
    if (all > shown) {
        vq_html_puts(&p->h, "<p class=\"hint\">And ");
        vq_html_count(&p->h, all - shown);
        vq_html_printf(&p->h, " more rating%s, in <code>ratings.csv</code>.</p>\n",
                       vq_fmt_plural(all - shown));
    }
    vq_html_puts(&p->h, "</div>\n");
}

void vq_persona_page_message(struct vq_persona_page *p, const char *what, const char *style,
                             struct vq_span text)
{
    vq_html_printf(&p->h, "<div class=\"%s\"><h3>%s</h3><p class=\"text\">", style, what);
    vq_html_span(&p->h, text, VQ_HTML_TEXT_BYTES_MAX);
    vq_html_puts(&p->h, "</p></div>\n");
}

/* ---- a dialogue ---- */

static void head(struct vq_persona_page *p, const struct talk *talk)
{
    struct vq_html *h = &p->h;
    const struct vq_persona_plan *plan = p->r->study->plan;
    const struct vq_persona_chain *chain = &plan->chains[talk->chain];
    bool baseline = vq_persona_is_baseline(plan, chain->persona);
    vq_html_puts(h, "<details class=\"row\"><summary><bdi>");
    vq_html_text(h, baseline ? "Baseline" : p->r->names.personas[chain->persona]);
    vq_html_puts(h, "</bdi> by <bdi>");
    vq_html_text(h, p->r->names.models[chain->model]);
    vq_html_printf(h, "</bdi>, %s, %s order",
                   vq_persona_kind_name(plan->design.scripts[chain->script].kind),
                   chain->order == VQ_PERSONA_ORIGINAL ? "original" : "shuffled");
    if (!isnan(talk->fall)) {
        vq_html_puts(h, " <span class=\"mark\">ratings ");
        vq_html_signed(h, -talk->fall, 2);
        vq_html_puts(h, " from half to half</span>");
    }
}

static void one(struct vq_persona_page *p, const struct index *x, const struct talk *talk)
{
    struct vq_html *h = &p->h;
    struct vq_persona_dialogue d = {.chain = talk->chain};
    size_t begin = h->out->bytes;
    bool baseline =
        vq_persona_is_baseline(p->r->study->plan, p->r->study->plan->chains[talk->chain].persona);
    uint32_t turn = 0;
    p->of->dialogue(p->of->ctx, talk->chain, &d);
    head(p, talk);
    if (d.ended != NULL) {
        vq_html_printf(h, " <b class=\"wrong\">ended after %u of %u rounds: ", d.turns,
                       rounds_of(p));
        vq_html_text(h, d.ended);
        vq_html_puts(h, "</b>");
    }
    vq_html_puts(h, "</summary>\n");
    if (d.system.at != NULL) {
        vq_persona_page_message(p, "System", "asked", d.system);
    }
    while (turn < d.turns && turn < rounds_of(p) &&
           h->out->bytes - begin < VQ_HTML_TALK_BYTES_MAX) {
        vq_persona_page_probes(p, &x->probed, talk->chain, turn, begin + VQ_HTML_TALK_BYTES_MAX);
        vq_html_puts(h, "<div class=\"turn\">\n");
        vq_html_printf(h, "<h3>Turn %u</h3>\n<div class=\"pair\"><div>\n", turn);
        vq_persona_page_message(p, "User", "asked", d.queries[turn]);
        vq_persona_page_message(p, "Answer", "said", d.answers[turn]);
        vq_html_puts(h, "</div>\n");
        ratings(p, &x->turns, (size_t)talk->chain * rounds_of(p) + turn, baseline);
        vq_html_puts(h, "</div></div>\n");
        turn++;
    }
    if (turn == d.turns) { /* at the end, or where it ended early */
        vq_persona_page_probes(p, &x->probed, talk->chain, turn, begin + VQ_HTML_TALK_BYTES_MAX);
    }
    if (turn < d.turns) {
        vq_html_printf(h,
                       "<p class=\"hint\">And %u more turns, in <code>dialogues.jsonl</code>."
                       "</p>\n",
                       d.turns - turn);
    }
    vq_html_puts(h, "</details>\n");
}

static void browser(struct vq_persona_page *p, const struct index *x)
{
    struct vq_html *h = &p->h;
    uint32_t shown = 0, all = p->r->study->plan->chains_count;
    size_t begin = h->out->bytes;
    vq_html_puts(h, "<section id=\"dialogues\"><h2>Dialogues</h2>\n<p class=\"sub\">Turn by turn, "
                    "with every rating and what the judges wrote; at the checkpoints, what "
                    "was asked behind the dialogue so far. Of each persona and kind of "
                    "dialogue the one whose ratings fell most comes first, then the next of each. "
                    "Turns count from 0; long texts are cut.</p>\n");
    while (shown < all && shown < VQ_HTML_TALKS_MAX &&
           h->out->bytes - begin < VQ_HTML_DATA_BYTES_MAX) {
        one(p, x, &x->talks[shown++]);
    }
    if (shown < all) {
        vq_html_puts(h, "<p class=\"hint\">And ");
        vq_html_count(h, all - shown);
        vq_html_puts(h, " more, which this page has no room for: <code>dialogues.jsonl</code> and "
                        "<code>ratings.csv</code> have all.</p>\n");
    }
    vq_html_puts(h, "</section>\n");
}

void vq_persona_page_talks(struct vq_persona_page *p)
{
    const struct vq_persona_plan *plan = p->r->study->plan;
    struct index x = {.talks = NULL};
    if (p->of->dialogue == NULL) {
        return;
    }
    x.talks = vq_alloc(plan->chains_count, sizeof(*x.talks));
    size_t turns = (size_t)plan->chains_count * rounds_of(p);
    if (x.talks != NULL && vq_persona_index_make(p, turns, turn_of, &x.turns) == VQ_OK &&
        vq_persona_probed_make(p, &x.probed) == VQ_OK) {
        choose(p, &x);
        browser(p, &x);
    } else {
        p->h.out->status = VQ_NOMEM;
    }
    vq_free(x.talks);
    vq_persona_index_free(&x.turns);
    vq_persona_index_free(&x.probed);
}
