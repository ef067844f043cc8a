/* The page of a rubric run: for each criterion its numbers, distributions and statuses, then
 * agreement, positions, the items with their ratings and reasoning, and the settings. The script
 * only finds items. Not its job: the numbers (pipeline/rubric/numbers.c). */
#include "methods/rubric/report/page_parts.h"

#include <math.h>

static const char *const mean_words[] = {"mean", "share of yes", "win rate"};

void vq_rubric_page_output(struct vq_rubric_page *p, uint32_t output)
{
    struct vq_html *h = &p->h;
    if (p->in->outputs_count == 1) {
        vq_html_puts(h, "<bdi>");
        vq_html_text(h, p->r->config->models[0]);
        vq_html_puts(h, "</bdi>");
        return;
    }
    vq_html_printf(h, "<span class=\"model %c\"><b>%c</b> <bdi>", output == 0 ? 'a' : 'b',
                   output == 0 ? 'A' : 'B');
    vq_html_text(h, p->r->config->models[output]);
    vq_html_puts(h, "</bdi></span>");
}

static void title(struct vq_rubric_page *p)
{
    for (uint32_t o = 0; o < p->in->outputs_count; o++) {
        vq_html_puts(&p->h, o == 0 ? "" : " and ");
        vq_html_text(&p->h, p->r->config->models[o]);
    }
}

/* ---- top ---- */

/* What was answered, by reason. */
static void statuses(struct vq_rubric_page *p, const uint64_t *counts)
{
    struct vq_html *h = &p->h;
    const char *before = "";
    for (unsigned k = 0; k < VQ_RUBRIC_NOT_ASKED; k++) {
        if (counts[k] == 0) {
            continue;
        }
        vq_html_puts(h, before);
        vq_html_count(h, counts[k]);
        vq_html_printf(h, k == VQ_RATING_OK ? " %s" : " <b class=\"wrong\">%s</b>",
                       vq_rubric_status_name(k));
        before = ", ";
    }
}

static void cards(struct vq_rubric_page *p)
{
    struct vq_html *h = &p->h;
    uint64_t put = 0;
    for (unsigned k = 0; k < VQ_RUBRIC_NOT_ASKED; k++) {
        put += p->r->numbers->statuses[k];
    }
    vq_html_puts(h, "<section id=\"headline\" class=\"cards\" aria-label=\"In numbers\">\n");
    vq_html_card(h, "Ratings");
    vq_html_count(h, put - p->r->numbers->missing);
    vq_html_puts(h, "</p><p>of ");
    vq_html_count(h, put);
    vq_html_puts(h, " questions: ");
    statuses(p, p->r->numbers->statuses);
    vq_html_puts(h, "</p></div>\n");
    vq_html_calls(h, p->r->calls, NULL);
    vq_html_puts(h, "</section>\n");
}

static void warnings(struct vq_rubric_page *p)
{
    struct vq_html *h = &p->h;
    const struct vq_rubric_numbers *n = p->r->numbers;
    bool blank = p->r->data->blank[0] + p->r->data->blank[1] > 0;
    if (n->missing == 0 && !n->too_few && !blank && p->r->data->warnings_count == 0) {
        return;
    }
    vq_html_puts(h, "<ul class=\"warnings\">\n");
    if (n->missing > 0) {
        vq_html_puts(h, "<li>");
        vq_html_count(h, n->missing);
        vq_html_printf(h,
                       " question%s no rating. %s left out of every mean and rate, and counted by "
                       "reason beside it.</li>\n",
                       vq_fmt_form(n->missing, " has", "s have"),
                       vq_fmt_form(n->missing, "It is", "They are"));
    }
    for (uint32_t o = 0; o < p->in->outputs_count; o++) {
        if (p->r->data->blank[o] > 0) {
            vq_html_puts(h, "<li>");
            vq_rubric_page_output(p, o);
            vq_html_puts(h, " is empty in ");
            vq_html_count(h, p->r->data->blank[o]);
            vq_html_printf(h, " row%s not rated.</li>\n",
                           vq_fmt_form(p->r->data->blank[o], ", which was", "s, which were"));
        }
    }
    for (uint32_t i = 0; i < p->r->data->warnings_count; i++) {
        vq_html_puts(h, "<li>");
        vq_html_text(h, p->r->data->warnings[i]);
        vq_html_puts(h, "</li>\n");
    }
    if (n->too_few) {
        vq_html_printf(h,
                       "<li>There are %u different prompts; intervals need %u, so none are "
                       "given.</li>\n",
                       p->r->numbers->units, VQ_RUBRIC_UNITS_MIN);
    }
    vq_html_puts(h, "</ul>\n");
}

static void top(struct vq_rubric_page *p)
{
    struct vq_html *h = &p->h;
    vq_html_puts(h, "<main>\n<div class=\"top\"><p class=\"brand\">vibeq \xc2\xb7 ratings by "
                    "rubrics</p></div>\n<h1>");
    for (uint32_t o = 0; o < p->in->outputs_count; o++) {
        vq_html_puts(h, o == 0 ? "" : " <span class=\"vs\">and</span> ");
        vq_rubric_page_output(p, o);
    }
    vq_html_puts(h, "</h1>\n");
    if (strcmp(p->r->judge_kind, "model") != 0) {
        vq_html_puts(h, "<p class=\"banner\" role=\"note\"><b>Made with the offline judge.</b> It "
                        "needs no model and knows none: this page shows that the plumbing works, "
                        "not what the outputs are worth.</p>\n");
    }
    vq_html_puts(h, "<p class=\"lede\">");
    vq_html_count(h, p->in->rows_count);
    vq_html_printf(h, " row%s, %u output%s each, rated by %u criteri%s and %u judge%s",
                   vq_fmt_plural(p->in->rows_count), p->in->outputs_count,
                   vq_fmt_plural(p->in->outputs_count), p->in->criteria_count,
                   vq_fmt_form(p->in->criteria_count, "on", "a"), p->in->judges_count,
                   vq_fmt_plural(p->in->judges_count));
    if (p->in->rating.repeats > 1) {
        vq_html_printf(h, ", %u times each", p->in->rating.repeats);
    }
    vq_html_puts(h, ".</p>\n");
    cards(p);
    warnings(p);
}

/* ---- a criterion ---- */

/* Where a value lies between the least and the most it can be. */
static double placed(const struct vq_rubric_page *p, uint32_t c, double value)
{
    double at = p->in->criteria[c].kind == VQ_RATING_LIKERT
                    ? (value - VQ_RATING_LIKERT_MIN) / (VQ_RATING_LIKERT_MAX - VQ_RATING_LIKERT_MIN)
                    : value;
    return fmin(1, fmax(0, at)); /* the paper's policy knows no range */
}

static void value_cells(struct vq_rubric_page *p, uint32_t c, const struct vq_rubric_share *s)
{
    struct vq_html *h = &p->h;
    struct vq_interval ci = {NAN, NAN};
    bool pairwise = p->in->criteria[c].kind == VQ_RATING_PAIRWISE;
    if (!isnan(s->ci95.lo)) {
        ci = (struct vq_interval){placed(p, c, s->ci95.lo), placed(p, c, s->ci95.hi)};
    }
    vq_html_puts(h, "<td>");
    if (!isnan(s->mean)) {
        vq_html_scale(h, placed(p, c, s->mean), ci, pairwise ? 0.5 : NAN);
    }
    vq_html_puts(h, "<span class=\"value\">");
    vq_html_number(h, s->mean, 2);
    vq_html_puts(h, "</span></td><td><span class=\"ci95\">");
    vq_html_interval(h, s->ci95, 2, false);
    if (!isnan(s->ci95_clustered.lo)) {
        vq_html_puts(h, "<br>by prompts ");
        vq_html_interval(h, s->ci95_clustered, 2, false);
    }
    vq_html_puts(h, "</span></td><td>");
    vq_html_count(h, s->rated);
    vq_html_puts(h, " of ");
    vq_html_count(h, s->items);
    vq_html_puts(h, "</td>");
}

static void status_cell(struct vq_rubric_page *p, const struct vq_rubric_share *s)
{
    vq_html_puts(&p->h, "<td>");
    statuses(p, s->statuses);
    vq_html_puts(&p->h, "</td>");
}

static void counts_cell(struct vq_rubric_page *p, uint32_t c, const struct vq_rubric_share *s)
{
    static const char *const likert[] = {"1", "2", "3", "4", "5", NULL};
    static const char *const binary[] = {"no", "yes", NULL};
    static const char *const pairwise[] = {"B", "tie", "A", NULL};
    enum vq_rating_kind kind = p->in->criteria[c].kind;
    const char *const *names = kind == VQ_RATING_LIKERT   ? likert
                               : kind == VQ_RATING_BINARY ? binary
                                                          : pairwise;
    uint64_t most = 1;
    for (size_t i = 0; names[i] != NULL; i++) {
        most = s->counts[i] > most ? s->counts[i] : most;
    }
    vq_html_puts(&p->h, "<td>");
    for (size_t i = 0; names[i] != NULL; i++) {
        double wide = (double)s->counts[i] / (double)most * 60;
        vq_html_printf(&p->h,
                       "<svg class=\"bar coef\" viewBox=\"0 0 110 12\" role=\"img\" "
                       "aria-label=\"%s: %llu\"><rect class=\"track\" x=\"22\" y=\"1\" "
                       "width=\"60\" height=\"10\"/><rect class=\"pos\" x=\"22\" y=\"1\" "
                       "width=\"%.2f\" height=\"10\"/><text x=\"19\" y=\"10\" font-size=\"9\" "
                       "text-anchor=\"end\" fill=\"currentColor\">%s</text><text x=\"85\" "
                       "y=\"10\" font-size=\"9\" fill=\"currentColor\">%llu</text></svg>",
                       names[i], (unsigned long long)s->counts[i], wide, names[i],
                       (unsigned long long)s->counts[i]);
    }
    vq_html_puts(&p->h, "</td>");
}

static void share_row(struct vq_rubric_page *p, uint32_t c, uint32_t o, uint32_t judge)
{
    struct vq_html *h = &p->h;
    const struct vq_rubric_share *s = vq_rubric_share_of(p->r->numbers, c, o, judge);
    vq_html_puts(h, "<tr><th scope=\"row\">");
    vq_rubric_page_output(p, o);
    if (judge < p->in->judges_count) {
        vq_html_puts(h, " by <bdi>");
        vq_html_text(h, p->r->judges[judge].name);
        vq_html_puts(h, "</bdi>");
    }
    vq_html_puts(h, "</th>");
    value_cells(p, c, s);
    counts_cell(p, c, s);
    status_cell(p, s);
    vq_html_puts(h, "</tr>\n");
}

static void difference(struct vq_rubric_page *p, uint32_t c)
{
    struct vq_html *h = &p->h;
    const struct vq_rubric_difference *d = &p->r->numbers->criteria[c].difference;
    vq_html_puts(h, "<p>Difference, ");
    vq_rubric_page_output(p, 0);
    vq_html_puts(h, " minus ");
    vq_rubric_page_output(p, 1);
    vq_html_puts(h, ", paired by row: <b>");
    vq_html_signed(h, d->mean, 2);
    vq_html_puts(h, "</b> ");
    vq_html_interval(h, d->ci95, 2, true);
    vq_html_puts(h, " over ");
    vq_html_count(h, d->rows);
    vq_html_puts(h, " rows");
    bool apart = !isnan(d->ci95.lo) && (d->ci95.lo > 0 || d->ci95.hi < 0);
    vq_html_puts(h, isnan(d->ci95.lo) ? ".</p>\n"
                    : apart           ? "; the interval leaves out 0.</p>\n"
                                      : "; not distinguishable from 0.</p>\n");
}

/* ---- by the values of data.group ---- */

static void group_name(struct vq_rubric_page *p, uint32_t g)
{
    struct vq_span text = p->r->data->groups[g];
    vq_html_puts(&p->h, text.bytes == 0 ? "<span class=\"na\">(empty)</span>" : "<bdi>");
    vq_html_span(&p->h, text, VQ_HTML_NAME_BYTES_MAX);
    vq_html_puts(&p->h, text.bytes == 0 ? "" : "</bdi>");
}

static void group_rows(struct vq_rubric_page *p, uint32_t c, uint32_t g)
{
    struct vq_html *h = &p->h;
    const struct vq_rubric_criterion *n = &p->r->numbers->criteria[c];
    uint32_t outputs = vq_rubric_rated_outputs(p->in, c);
    for (uint32_t o = 0; o < outputs; o++) {
        const struct vq_rubric_share *s = &n->group_shares[(size_t)g * outputs + o];
        vq_html_puts(h, "<tr><th scope=\"row\">");
        group_name(p, g);
        vq_html_puts(h, "</th><td>");
        vq_rubric_page_output(p, o);
        vq_html_puts(h, "</td>");
        value_cells(p, c, s);
        status_cell(p, s);
        vq_html_puts(h, "</tr>\n");
    }
    if (outputs == 2) {
        const struct vq_rubric_difference *d = &n->group_differences[g];
        vq_html_puts(h, "<tr><th scope=\"row\">");
        group_name(p, g);
        vq_html_puts(h, "</th><td>A \xe2\x88\x92 B</td><td><span class=\"value\">");
        vq_html_signed(h, d->mean, 2);
        vq_html_puts(h, "</span></td><td><span class=\"ci95\">");
        vq_html_interval(h, d->ci95, 2, true);
        vq_html_puts(h, "</span></td><td>");
        vq_html_count(h, d->rows);
        vq_html_puts(h, "</td><td></td></tr>\n");
    }
}

static void groups(struct vq_rubric_page *p, uint32_t c)
{
    struct vq_html *h = &p->h;
    uint32_t all = p->r->data->groups_count;
    uint32_t shown = all < VQ_HTML_GROUPS_MAX ? all : VQ_HTML_GROUPS_MAX;
    if (all == 0) {
        return;
    }
    vq_html_puts(h, "<details class=\"fold\"><summary>By <bdi>");
    vq_html_text(h, p->r->config->data.group);
    vq_html_puts(h, "</bdi></summary>\n<div class=\"scroll\"><table class=\"plain parts\"><thead>"
                    "<tr><th>value</th><th>output</th>");
    vq_html_printf(h,
                   "<th>%s</th><th>95 %% interval</th><th>items with a value</th><th>answers</th>"
                   "</tr></thead>\n<tbody>\n",
                   mean_words[p->in->criteria[c].kind]);
    for (uint32_t g = 0; g < shown; g++) {
        group_rows(p, c, g);
    }
    vq_html_puts(h, "</tbody></table></div>\n");
    if (shown < all) {
        vq_html_printf(h, "<p class=\"sub\">The %u values with the most rows of %u.</p>\n", shown,
                       all);
    }
    vq_html_puts(h, "</details>\n");
}

/* ---- a criterion whole ---- */

/* The win rate with both outputs equally long, in a sentence. */
static void at_equal_length(struct vq_rubric_page *p, uint32_t c)
{
    struct vq_html *h = &p->h;
    const struct vq_length_controlled *lc = p->r->numbers->criteria[c].length_controlled;
    if (lc == NULL) {
        return;
    }
    lc += p->r->numbers->judges;
    vq_html_puts(h, "<p class=\"length-controlled\">");
    if (isnan(lc->win_rate)) {
        vq_html_printf(h, "There is no length-controlled win rate (%s).</p>\n",
                       vq_length_controlled_name(lc->status));
        return;
    }
    vq_html_puts(h, "Length-controlled win rate: if both outputs were equally long, ");
    vq_rubric_page_output(p, 0);
    vq_html_puts(h, " would win <span class=\"value\">");
    vq_html_number(h, lc->win_rate, 2);
    vq_html_puts(h, "</span> of the rows <span class=\"ci95\">");
    vq_html_interval(h, lc->ci95, 2, false);
    vq_html_puts(h, "</span>. The coefficient of length is ");
    vq_html_number(h, lc->coef, 2);
    vq_html_puts(h, " <span class=\"ci95\">");
    vq_html_interval(h, lc->coef_ci95, 2, true);
    vq_html_puts(h, "</span>; above 0, judges favour the longer output.</p>\n");
}

static void criterion(struct vq_rubric_page *p, uint32_t c)
{
    struct vq_html *h = &p->h;
    const struct vq_criterion *what = &p->in->criteria[c];
    uint32_t outputs = vq_rubric_rated_outputs(p->in, c);
    vq_html_printf(h, "<section id=\"c%u\"><h2><bdi>", c + 1);
    vq_html_text(h, what->name);
    vq_html_printf(h, "</bdi> <span class=\"mark\">%s</span></h2>\n<p class=\"sub\">",
                   vq_criterion_kind_name(what->kind));
    vq_html_text(h, what->about);
    if (what->kind == VQ_RATING_PAIRWISE) {
        vq_html_puts(h, "</p>\n<p class=\"sub\">The share of rows that ");
        vq_rubric_page_output(p, 0);
        vq_html_puts(h, " wins against ");
        vq_rubric_page_output(p, 1);
        vq_html_puts(h, "; a tie is half a win.");
    }
    vq_html_puts(h, "</p>\n<div class=\"scroll\"><table class=\"plain parts\"><thead><tr>"
                    "<th>output</th>");
    vq_html_printf(h,
                   "<th>%s</th><th>95 %% interval</th><th>items with a value</th><th>%s</th>"
                   "<th>answers</th></tr></thead>\n<tbody>\n",
                   mean_words[what->kind], what->kind == VQ_RATING_PAIRWISE ? "better" : "ratings");
    for (uint32_t o = 0; o < outputs; o++) {
        share_row(p, c, o, p->in->judges_count);
    }
    for (uint32_t o = 0; p->in->judges_count > 1 && o < outputs; o++) {
        for (uint32_t k = 0; k < p->in->judges_count; k++) {
            share_row(p, c, o, k);
        }
    }
    vq_html_puts(h, "</tbody></table></div>\n");
    at_equal_length(p, c);
    if (outputs == 2) {
        difference(p, c);
    }
    groups(p, c);
    vq_html_puts(h, "<details class=\"fold\"><summary>The rubric</summary><p class=\"text\">");
    vq_html_span(h, vq_span_str(what->rubric), VQ_CRITERION_BYTES_MAX);
    vq_html_puts(h, "</p></details>\n</section>\n");
}

/* ---- agreement and positions ---- */

static void agreement_row(struct vq_rubric_page *p, uint32_t c, const struct vq_rubric_pair *pair)
{
    struct vq_html *h = &p->h;
    const struct vq_ratings_agreement *a = &pair->agreement;
    const double cells[] = {a->exact, a->kappa.kappa, a->kappa.kappa_quadratic, a->absolute_error,
                            a->within_one};
    vq_html_puts(h, "<tr><th scope=\"row\"><bdi>");
    vq_html_text(h, p->in->criteria[c].name);
    vq_html_puts(h, "</bdi></th><td><bdi>");
    vq_html_text(h, p->r->judges[pair->a].name);
    vq_html_puts(h, "</bdi></td><td><bdi>");
    vq_html_text(h, pair->b == VQ_RUBRIC_HUMAN ? "people's labels"
                    : pair->b == pair->a       ? "itself, the second time"
                                               : p->r->judges[pair->b].name);
    vq_html_puts(h, "</bdi></td><td>");
    vq_html_count(h, a->rows);
    vq_html_puts(h, "</td>");
    for (size_t i = 0; i < VQ_COUNT(cells); i++) {
        vq_html_puts(h, "<td>");
        vq_html_number(h, cells[i], 2);
        vq_html_puts(h, "</td>");
    }
    vq_html_puts(h, "</tr>\n");
}

static void agreement(struct vq_rubric_page *p)
{
    struct vq_html *h = &p->h;
    uint32_t pairs = 0;
    for (uint32_t c = 0; c < p->in->criteria_count; c++) {
        pairs += p->r->numbers->criteria[c].pairs_count;
    }
    if (pairs == 0) {
        return;
    }
    vq_html_puts(h, "<section id=\"agreement\"><h2>Agreement</h2>\n<p class=\"sub\">Of single "
                    "ratings of the same output: equal ones, Cohen\xe2\x80\x99s kappa plain and "
                    "with quadratic weights, how far apart on average, and the share at most one "
                    "apart. Of pairs: first better, tie, second better.</p>\n"
                    "<div class=\"scroll\"><table class=\"plain\"><thead><tr><th>criterion</th>"
                    "<th>judge</th><th>with</th><th>n</th><th>equal</th><th>kappa</th>"
                    "<th>quadratic</th><th>apart</th><th>within 1</th></tr></thead>\n<tbody>\n");
    for (uint32_t c = 0; c < p->in->criteria_count; c++) {
        const struct vq_rubric_criterion *n = &p->r->numbers->criteria[c];
        for (uint32_t k = 0; k < n->pairs_count; k++) {
            agreement_row(p, c, &n->pairs[k]);
        }
    }
    vq_html_puts(h, "</tbody></table></div></section>\n");
}

static void position_rows(struct vq_rubric_page *p, uint32_t c)
{
    struct vq_html *h = &p->h;
    const struct vq_rubric_position *positions = p->r->numbers->criteria[c].positions;
    for (uint32_t k = 0; positions != NULL && k < p->in->judges_count; k++) {
        const struct vq_rubric_position *n = &positions[k];
        vq_html_puts(h, "<tr><th scope=\"row\"><bdi>");
        vq_html_text(h, p->in->criteria[c].name);
        vq_html_puts(h, "</bdi></th><td><bdi>");
        vq_html_text(h, p->r->judges[k].name);
        vq_html_puts(h, "</bdi></td><td>");
        vq_html_percent(h, n->answers > 0 ? (double)n->first / (double)n->answers : NAN);
        vq_html_puts(h, "</td><td>");
        vq_html_count(h, n->answers);
        vq_html_puts(h, "</td><td>");
        vq_html_percent(h, n->both > 0 ? (double)n->contradicted / (double)n->both : NAN);
        vq_html_puts(h, "</td></tr>\n");
    }
}

static void positions(struct vq_rubric_page *p)
{
    struct vq_html *h = &p->h;
    bool any = false;
    for (uint32_t c = 0; c < p->in->criteria_count; c++) {
        any |= p->in->criteria[c].kind == VQ_RATING_PAIRWISE;
    }
    if (!any) {
        return;
    }
    vq_html_puts(h, "<section id=\"positions\"><h2>Positions</h2>\n<p class=\"sub\">How often a "
                    "judge chose the response that it was shown first, and how often it named the "
                    "same position in both orders, which counts as a tie.</p>\n"
                    "<div class=\"scroll\"><table class=\"plain\"><thead><tr><th>criterion</th>"
                    "<th>judge</th><th>first chosen</th><th>answers</th><th>same position</th>"
                    "</tr></thead>\n<tbody>\n");
    for (uint32_t c = 0; c < p->in->criteria_count; c++) {
        position_rows(p, c);
    }
    vq_html_puts(h, "</tbody></table></div></section>\n");
}

/* ---- settings ---- */

static void settings(struct vq_rubric_page *p)
{
    struct vq_html *h = &p->h;
    const struct vq_config *c = p->r->config;
    vq_html_puts(h, "<section id=\"methods\"><h2>How it was done</h2>\n<div class=\"prose\"><p>");
    vq_html_puts(h, c->rating.policy == VQ_RATING_STRICT
                        ? "A rating counts when the answer states one value, whole, alone and in "
                          "range, behind <code>Result</code>. An answer without one was asked once "
                          "more; after that it is missing, and no mean or rate has it."
                        : "Answers were read as the code of the persona paper read them: the first "
                          "value that looks like one counts, out of range or not, and a pairwise "
                          "answer without any was given a drawn one.");
    vq_html_puts(h, "</p>\n<p>An item\xe2\x80\x99s score is the mean over the judges that rated it "
                    "(of each the mean over its repeats). Intervals hold 95 %: of means by the "
                    "percentile bootstrap over prompts, of rates and win rates by Wilson. They "
                    "cover the choice of prompts, not that of judges or rubrics.</p>\n<p>");
    vq_html_puts(h, c->rating.positions == VQ_POSITIONS_BOTH
                        ? "Pairs were shown in both orders; a judge that contradicts itself has "
                          "called a tie, and one whose answer lacks in either order has no say."
                        : "Pairs were shown once, in alternating order, so that positions balance "
                          "over the rows and not within each.");
    vq_html_printf(h,
                   "</p></div>\n<dl class=\"facts\"><dt>Bootstrap</dt><dd>%u draws, seed %llu</dd>",
                   c->regression.bootstrap_draws, (unsigned long long)c->seed);
    for (uint32_t k = 0; k < p->in->judges_count; k++) {
        vq_html_puts(h, "<dt>Judge</dt><dd><bdi>");
        vq_html_text(h, p->r->judges[k].name);
        vq_html_puts(h, "</bdi>: ");
        vq_html_text(h, p->r->judges[k].model);
        vq_html_puts(h, " at ");
        vq_html_text(h, p->r->judges[k].identity);
        if (c->judges[k].send_temperature) {
            vq_html_printf(h, ", temperature %g", c->judges[k].temperature);
        }
        vq_html_printf(h, ", at most %u tokens</dd>", c->judges[k].max_tokens);
    }
    vq_html_printf(h, "<dt>Data</dt><dd>SHA-256 <code>%.64s</code></dd></dl></section>\n",
                   p->r->data_hash);
}

void vq_rubric_report_html(const struct vq_rubric_report *r, struct vq_buf *out)
{
    struct vq_rubric_page p = {.h = {.out = out}, .r = r, .in = vq_rubric_input(r->rubric)};
    vq_html_head(&p.h, &vq_html_items_js);
    title(&p);
    vq_html_puts(&p.h, ": ratings");
    vq_html_head_end(&p.h);
    top(&p);
    for (uint32_t c = 0; c < p.in->criteria_count; c++) {
        criterion(&p, c);
    }
    agreement(&p);
    positions(&p);
    vq_rubric_page_items(&p);
    settings(&p);
    vq_html_foot(&p.h, &vq_html_items_js);
}
