/* The methods paragraph: every setting that changes a number, in prose that a paper's appendix
 * could take over. */
#include "methods/vibecheck/report/page_parts.h"
#include "methods/vibecheck/report/ranking.h"

#include <math.h>

/* Who labelled the rows, where the data do not. */
static void preferences(struct vq_html *h)
{
    const struct vq_config *c = h->page->r->config;
    const struct vq_method_result *method = h->page->story->method;
    if (method == NULL || strcmp(method->preference_source, "judge") != 0) {
        return;
    }
    bool own = c->preference_judges_count > 0;
    uint32_t n = own ? c->preference_judges_count : c->judges_count;
    vq_html_puts(h, "Preferences were labelled, in both orders, by ");
    for (uint32_t i = 0; i < n; i++) {
        const char *model = own ? c->preference_judges[i].model : c->judges[i].model;
        vq_html_puts(h, i > 0 ? ", <bdi>" : "<bdi>");
        vq_html_text(h, model);
        vq_html_puts(h, "</bdi>");
    }
    vq_html_puts(h, ". ");
}

static void data(struct vq_html *h)
{
    const struct vq_dataset *d = h->page->r->dataset;
    const struct vq_config *c = h->page->r->config;
    vq_html_puts(h, "<p><b>Data.</b> ");
    vq_html_count(h, (uint64_t)d->records_read[0] + d->records_read[1]);
    vq_html_printf(
        h, " record%s read, ",
        vq_fmt_form((uint64_t)d->records_read[0] + d->records_read[1], " was", "s were"));
    vq_html_count(h, vq_dataset_count(d));
    vq_html_puts(h, " used");
    for (int why = 0; why < VQ_EXCLUSION__COUNT; why++) {
        if (d->excluded[why] > 0) {
            vq_html_puts(h, "; left out ");
            vq_html_count(h, d->excluded[why]);
            vq_html_printf(h, ": %s", vq_exclusion_text((enum vq_exclusion)why));
        }
    }
    vq_html_puts(h, ". They hold ");
    vq_html_count(h, d->questions_count);
    vq_html_printf(h, " different prompt%s. ", vq_fmt_plural(d->questions_count));
    if (d->tables[1] != NULL) {
        vq_html_puts(h, "The test rows come from a file of their own. ");
    } else if (d->test_count > 0) {
        vq_html_printf(h, "A share of %.3g was held out for testing, by %s. ", c->data.test_share,
                       d->split_by_row ? "row" : "prompt");
    }
    preferences(h);
    vq_html_printf(h, "Ties were %s. The seed is %llu. SHA-256 of the data: <code>",
                   c->data.ties == VQ_TIES_KEEP ? "kept for all but preference prediction"
                                                : "left out",
                   (unsigned long long)c->seed);
    vq_html_text(h, h->page->r->data_hash[0]);
    vq_html_puts(h, "</code>");
    if (h->page->r->data_hash[1][0] != '\0') {
        vq_html_puts(h, ", of the test file: <code>");
        vq_html_text(h, h->page->r->data_hash[1]);
        vq_html_puts(h, "</code>");
    }
    vq_html_puts(h, ".</p>\n");
}

static void hash(struct vq_html *h, const char *what, const struct vq_hash *value)
{
    if (value == NULL) {
        return;
    }
    char hex[VQ_HEX_BYTES(VQ_HASH_BYTES)];
    vq_hex(value->b, VQ_HASH_BYTES, hex);
    vq_html_printf(h, " %s: <code>%.16s</code>.", what, hex);
}

static void judging(struct vq_html *h)
{
    static const char *const rules[] = {
        "strict: a judge's score is +1 or \xe2\x88\x92"
        "1 only if both orders name the same output, 0 if an order says "
        "equal, not applicable or unsure or the two name the same position, and missing if an "
        "order has no answer",
        "lenient: the sign of the difference of the two orders", "forward: one order only"};
    const struct vq_conf_judging *j = &h->page->r->config->judging;
    vq_html_printf(
        h,
        "<p><b>Judging.</b> Every judge sees both outputs in both orders. Rule: %s. A row's "
        "score on a vibe is the mean over the judges that have one. ",
        rules[j->pair_rule]);
    if (j->lazy_swap) {
        vq_html_printf(
            h,
            "The second order was asked only where the first did not settle the score, and "
            "of %.3g of the others for the estimates that need both. ",
            j->audit_share);
    }
    vq_html_puts(h, j->form == VQ_FORM_CLEAR
                        ? "Judges were asked for the output that is clearly further along. "
                        : "Judges were asked for the output that is further along, be it by "
                          "little. ");
    if (j->vibes_per_call > 1) {
        vq_html_printf(h, "Up to %u vibes were asked in one call. ", j->vibes_per_call);
    }
    vq_html_puts(h, j->repair ? "An answer without a verdict was asked for it once more. "
                              : "Answers without a verdict were not asked again. ");
    vq_html_puts(h, j->truncate ? "Requests too long for a judge were cut, both outputs evenly. "
                                : "Requests too long for a judge count as failed. ");
    if (j->early_stop) {
        vq_html_printf(
            h,
            "A vibe that failed its gates on the first %u training row%s was not asked further. ",
            j->early_stop_rows, vq_fmt_plural(j->early_stop_rows));
    }
    if (j->retest > 0) {
        vq_html_printf(
            h, "A share of %.3g of the cells was asked a second time, never used in scores. ",
            j->retest);
    }
    if (j->invalid == VQ_INVALID_DROP_ROW) {
        vq_html_puts(h, "Rows with a missing score were left out of all numbers. ");
    }
    hash(h, "Judge prompt", h->page->r->judge_template);
    hash(h, "Repair prompt", h->page->r->repair_template);
    vq_html_puts(h, "</p>\n");
}

static void gates(struct vq_html *h)
{
    static const char *const preference[] = {"", " or a preference alignment beyond the same",
                                             " and a preference alignment beyond the same"};
    const struct vq_conf_gates *g = &h->page->r->config->gates;
    vq_html_printf(h, "<p><b>Gates.</b> On train, a vibe needs |separability| above %.3g%s%s",
                   g->separability_min, preference[g->preference],
                   g->separability == VQ_GATE_INTERVAL
                       ? ", and to differ from 0 at a false discovery rate of 0.05"
                       : "");
    if (g->kappa && h->page->r->config->judges_count > 1) {
        vq_html_printf(h, "; Cohen's kappa, plain or mirrored, of at least %.3g", g->kappa_min);
    }
    if (g->overlap != VQ_CONF_OVERLAP_OFF) {
        vq_html_printf(h, "; no overlap (%s) above %.3g with an earlier vibe",
                       g->overlap == VQ_CONF_OVERLAP_COSINE ? "cosine" : "Pearson", g->overlap_max);
    }
    uint32_t final = h->page->r->config->vibecheck.num_final_vibes;
    if (final > 0) {
        vq_html_printf(h, "; at most %u vibes are kept", final);
    }
    vq_html_puts(
        h,
        ". p is that of sign flips of the prompts' mean scores, on train without the rows that the "
        "proposer was shown; q corrects it (Benjamini-Hochberg), on train over all vibes and on "
        "test over the kept ones.</p>\n");
}

static void ranking(struct vq_html *h)
{
    struct vq_buf design;
    vq_buf_init(&design, 1u << 12);
    vq_ranking_design(h->page->r->config, &design);
    vq_html_printf(h, "<p><b>Models.</b> %u models were compared in pairs: ",
                   h->page->r->config->models_count);
    vq_html_span(h, vq_buf_span(&design), VQ_HTML_NAME_BYTES_MAX);
    vq_buf_free(&design);
    vq_html_puts(
        h,
        ". A row is a comparison of two of them. Strengths are those of Davidson's model with "
        "ties (Bradley-Terry where there is none), centred on 0; their intervals are of the "
        "jackknife over prompts, and ranks of a Holm test of all pairs. Separability is half the "
        "distance between the highest and the lowest mean score of a model; its p flips the signs "
        "of whole prompts. Model matching is a multinomial regression that names the model of an "
        "output from its mean scores against the other outputs of its record. Its coefficients and "
        "their "
        "jackknife intervals are in results.json; no second fit holds length fixed, and a "
        "degenerate fit has no intervals.</p>\n");
}

static void regression(struct vq_html *h)
{
    static const char *const estimators[] = {
        "L2-regularised logistic regression", "elastic-net logistic regression",
        "lasso logistic regression", "the legacy bootstrap of an elastic net"};
    static const char *const cv[] = {"held-out log-loss over 5 folds of prompts",
                                     "accuracy over contiguous folds, as published",
                                     "the folds of the published code"};
    const struct vq_conf_regression *g = &h->page->r->config->regression;
    const struct vq_vibecheck *r = h->page->r->result;
    if (r->ranking != NULL) {
        ranking(h);
    }
    vq_html_printf(h,
                   "<p><b>Regression.</b> %s %s without intercept "
                   "on the mirrored rows, fitted on train%s; the regularisation is chosen by %s",
                   r->ranking != NULL ? "Preference prediction is"
                                      : "Model matching and preference prediction are",
                   estimators[g->estimator], g->standardise ? ", scores standardised" : "",
                   cv[g->cv]);
    if (!isnan(r->mm.c)) {
        vq_html_printf(h, " (C %.3g for MM", r->mm.c);
        if (!isnan(r->pp.c)) {
            vq_html_printf(h, ", %.3g for PP", r->pp.c);
        }
        vq_html_puts(h, ")");
    }
    vq_html_puts(h, ". A missing cell adds nothing to a prediction; ");
    vq_html_count(h, r->mm.cells_imputed_train + r->mm.cells_imputed_test);
    vq_html_printf(
        h,
        " cells were so. Intervals: Wilson for accuracies (by prompt if prompts repeat) and for "
        "scores "
        "that hardly vary, the profile likelihood for Firth's estimates, %u bootstrap draws over "
        "prompts "
        "for the rest, coefficients with C held fixed. They cover the choice of prompts, not that "
        "of judges or of vibes.</p>\n",
        g->bootstrap_draws);
}

/* A role's model, or who plays it instead; the endpoint is that of the run's folder. */
static const char *player(const struct vq_conf_judge *own, const char *stand_in)
{
    return own != NULL && own->model != NULL ? own->model : stand_in;
}

static void role(struct vq_html *h, const char *what, const char *model)
{
    vq_html_printf(h, "%s <bdi>", what);
    vq_html_text(h, model);
    vq_html_puts(h, "</bdi>");
}

static void roles(struct vq_html *h)
{
    const struct vq_config *c = h->page->r->config;
    const char *proposer = player(c->proposer, player(&c->judges[0], ""));
    role(h, " Proposer:", proposer);
    role(h, ", reducer:", player(c->reducer, proposer));
    role(h, ", embedder:", player(c->embedder, VQ_EMBEDDER_BUILT_IN));
    vq_html_puts(h, ".");
}

/* What of the way from one iteration to the next, and to the final vibes, can be set. */
static void iteration_rules(struct vq_html *h)
{
    static const char *const orders[] = {"a lasso path", "|separability|",
                                         "the p of the sign flips"};
    const struct vq_conf_vibecheck *v = &h->page->r->config->vibecheck;
    vq_html_printf(h, " The proposer was shown the %s vibes%s%s.",
                   v->carried == VQ_CARRIED_ALL ? "validated" : "surviving",
                   v->list_rejected ? " and the rejected ones" : "",
                   v->shuffle_outputs ? ", and the outputs of every second batch turned" : "");
    vq_html_printf(h, " It went on while more than %u rows were misclassified",
                   v->min_misclassified == 0 ? v->d : v->min_misclassified);
    if (v->mm_stop > 0) {
        vq_html_printf(h, " and model matching was right on less than %.3g of the train rows",
                       v->mm_stop);
    }
    vq_html_printf(h, ". The final vibes are the first by %s.", orders[v->final_order]);
}

static void discovery(struct vq_html *h)
{
    const struct vq_config *c = h->page->r->config;
    const struct vq_conf_vibecheck *v = &c->vibecheck;
    vq_html_puts(h, "<p><b>Vibes.</b> ");
    if (c->method != VQ_METHOD_DISCOVER) {
        vq_html_puts(h, c->method == VQ_METHOD_PRESET ? "The preset list was used.</p>\n"
                                                      : "The list was given.</p>\n");
        return;
    }
    vq_html_printf(h,
                   "Discovered in at most %u iteration%s: a proposer saw %u training row%s, %u a "
                   "call, in %u call%s a "
                   "batch; its axes were clustered ",
                   v->iterations, vq_fmt_plural(v->iterations), v->d, vq_fmt_plural(v->d), v->batch,
                   v->discovery_calls, vq_fmt_plural(v->discovery_calls));
    if (v->clustering == VQ_CLUSTERING_AUTO) {
        vq_html_printf(h, "from %u axes on", v->cluster_threshold);
    } else {
        vq_html_puts(h, v->clustering == VQ_CLUSTERING_ALWAYS ? "always" : "never");
    }
    vq_html_printf(h,
                   " (%u groups), summarised, and reduced to at most %u; at most %u new ones were "
                   "judged in an "
                   "iteration. Later iterations saw rows that %s still misclassified%s.",
                   v->clusters, v->k, v->num_eval_vibes,
                   v->misclassified == VQ_MISCLASSIFIED_MM ? "model matching" : "either regression",
                   v->dedup ? "; new axes that repeat a current one were dropped" : "");
    iteration_rules(h);
    roles(h);
    if (strcmp(v->preset == NULL ? "none" : v->preset, "none") != 0) {
        vq_html_puts(h, " Settings of the preset <code>");
        vq_html_text(h, v->preset);
        vq_html_puts(h, "</code>.");
    }
    vq_html_puts(h, "</p>\n");
}

void vq_html_methods(struct vq_html *h)
{
    vq_html_puts(h, "<section id=\"methods\"><h2>Methods</h2>\n<div class=\"prose\">\n");
    data(h);
    discovery(h);
    judging(h);
    gates(h);
    regression(h);
    vq_html_puts(h, "</div></section>\n");
}
