/* The methods section: every setting that changes a number, as plain text for a paper's
 * appendix. */
#include "methods/vibecheck/report/page_parts.h"
#include "methods/vibecheck/report/ranking.h"

#include <math.h>

#define PARAGRAPH_BYTES_MAX (1u << 16)

struct paragraph {
    const struct vq_vibes_page *page;
    struct vq_buf *out;
};

/* For a run with more than two models. */
static void on_models(const struct paragraph *m)
{
    if (m->page->r->result->ranking == NULL) {
        return;
    }
    struct vq_buf design;
    vq_buf_init(&design, 1u << 12);
    vq_ranking_design(m->page->r->config, &design);
    vq_buf_printf(m->out, "%u models were compared in pairs: ", m->page->r->config->models_count);
    vq_buf_append(m->out, design.at, design.bytes);
    vq_buf_free(&design);
    vq_buf_puts(
        m->out,
        ". A row is a comparison of two of them. Strengths are those of Davidson's model with "
        "ties (Bradley-Terry where there is none), centred on 0; their intervals are of the "
        "jackknife over prompts, and ranks of a Holm test of all pairs. Separability is half the "
        "distance between the highest and the lowest mean score of a model; its p flips the signs "
        "of whole prompts. Model matching is a multinomial regression that names the model of an "
        "output from its mean scores against the other outputs of its record. Its coefficients and "
        "their jackknife intervals are in results.json; no second fit holds length fixed, and a "
        "degenerate fit has no intervals.");
}

static void put_count(const struct paragraph *m, uint64_t n)
{
    char text[VQ_FMT_BYTES];
    vq_buf_puts(m->out, vq_fmt_count(n, text));
}

/* The source of preference labels, if the data has none. */
static void preferences(const struct paragraph *m)
{
    const struct vq_config *c = m->page->r->config;
    const struct vq_vibecheck_method_result *method = m->page->story->method;
    if (method == NULL || strcmp(method->preference_source, "judge") != 0) {
        return;
    }
    bool own = c->preference_judges_count > 0;
    uint32_t n = own ? c->preference_judges_count : c->judges_count;
    vq_buf_puts(m->out, "Preferences were labelled, in both orders, by ");
    for (uint32_t i = 0; i < n; i++) {
        const char *model = own ? c->preference_judges[i].model : c->judges[i].model;
        vq_buf_puts(m->out, i > 0 ? ", " : "");
        vq_buf_puts(m->out, model);
    }
    vq_buf_puts(m->out, ". ");
}

static void data(const struct paragraph *m)
{
    const struct vq_dataset *d = m->page->r->dataset;
    const struct vq_config *c = m->page->r->config;
    put_count(m, (uint64_t)d->records_read[0] + d->records_read[1]);
    vq_buf_printf(m->out, " record%s read, ",
                  vq_fmt_form((uint64_t)d->records_read[0] + d->records_read[1], " was", "s were"));
    put_count(m, vq_dataset_count(d));
    vq_buf_puts(m->out, " used");
    for (int why = 0; why < VQ_EXCLUSION__COUNT; why++) {
        if (d->excluded[why] > 0) {
            vq_buf_puts(m->out, "; left out ");
            put_count(m, d->excluded[why]);
            vq_buf_printf(m->out, ": %s", vq_exclusion_text((enum vq_exclusion)why));
        }
    }
    vq_buf_puts(m->out, ". They hold ");
    put_count(m, d->questions_count);
    vq_buf_printf(m->out, " different prompt%s. ", vq_fmt_plural(d->questions_count));
    if (d->tables[1] != NULL) {
        vq_buf_puts(m->out, "The test rows come from a file of their own. ");
    } else if (d->test_count > 0) {
        vq_buf_printf(m->out, "A share of %.3g was held out for testing, by %s. ",
                      c->data.test_share, d->split_by_row ? "row" : "prompt");
    }
    preferences(m);
    vq_buf_printf(m->out, "Ties were %s. The seed is %llu. SHA-256 of the data: ",
                  c->data.ties == VQ_TIES_KEEP ? "kept for all but preference prediction"
                                               : "left out",
                  (unsigned long long)c->seed);
    vq_buf_puts(m->out, m->page->r->data_hash[0]);
    if (m->page->r->data_hash[1][0] != '\0') {
        vq_buf_puts(m->out, ", of the test file: ");
        vq_buf_puts(m->out, m->page->r->data_hash[1]);
    }
    vq_buf_puts(m->out, ".");
}

static void hash(const struct paragraph *m, const char *what, const struct vq_hash *value)
{
    if (value == NULL) {
        return;
    }
    char hex[VQ_HEX_BYTES(VQ_HASH_BYTES)];
    vq_hex(value->b, VQ_HASH_BYTES, hex);
    vq_buf_printf(m->out, " %s: %.16s.", what, hex);
}

/* Which judge was asked about which cells, and the rows that the numbers are about. */
static void cascade(const struct paragraph *m)
{
    const struct vq_config *c = m->page->r->config;
    if (c->cascade == NULL) {
        vq_buf_puts(m->out, "A row's score on a vibe is the mean over the judges that have one. ");
        return;
    }
    const struct vq_conf_escalate *e = &c->cascade->escalate;
    vq_buf_puts(m->out, "One judge answered everything, and a second one only some cells: ");
    if (e->disagree) {
        vq_buf_puts(m->out, "those where the first one's orders disagree, ");
    }
    if (e->margin > 0) {
        vq_buf_printf(m->out, "those where its two likeliest labels are closer than %.3g, ",
                      e->margin);
    }
    vq_buf_printf(m->out,
                  "those where it has no score, and a share of %.3g of all cells, drawn by hash. A "
                  "row's score is the second judge's where it was asked, and the first one's "
                  "elsewhere. Separability is a prediction-powered estimate of what the second "
                  "judge would score on all rows (Angelopoulos et al. 2023), and its p is of "
                  "Student's t; the fits use the row scores. ",
                  c->cascade->audit);
}

/* The rule of early stopping, and its savings. */
static void early_stop(const struct paragraph *m)
{
    const struct vq_conf_judging *j = &m->page->r->config->judging;
    const struct vq_vibecheck_method_result *method = m->page->r->method;
    if (j->early_stop == VQ_EARLY_STOP_OFF) {
        return;
    }
    vq_buf_printf(m->out, "A vibe was not asked further once it was certain%s that it fails%s. ",
                  j->early_stop_alpha > 0 ? ", or shown with an error of at most alpha," : "",
                  j->early_stop == VQ_EARLY_STOP_FINAL ? " or passes its gates" : " its gates");
    if (j->early_stop_alpha > 0) {
        vq_buf_printf(m->out, "Alpha is %g per vibe. ", j->early_stop_alpha);
    }
    if (method != NULL) {
        vq_buf_puts(m->out, "In this run ");
        vq_early_text(&method->early, j, m->out);
        vq_buf_puts(m->out, ". ");
    }
}

static void judging(const struct paragraph *m)
{
    static const char *const rules[] = {
        "strict: a judge's score is +1 or \xe2\x88\x92"
        "1 only if both orders name the same output, 0 if an order says "
        "equal, not applicable or unsure or the two name the same position, and missing if an "
        "order has no answer",
        "lenient: the sign of the difference of the two orders", "forward: one order only"};
    const struct vq_conf_judging *j = &m->page->r->config->judging;
    vq_buf_printf(m->out, "Every judge sees both outputs in both orders. Rule: %s. ",
                  rules[j->pair_rule]);
    cascade(m);
    if (j->lazy_swap) {
        vq_buf_printf(
            m->out,
            "The second order was asked only where the first did not settle the score, and "
            "of %.3g of the others for the estimates that need both. ",
            j->audit_share);
    }
    vq_buf_puts(m->out, j->form == VQ_FORM_CLEAR
                            ? "Judges were asked for the output that is clearly further along. "
                            : "Judges were asked for the output that is further along, be it by "
                              "little. ");
    if (j->vibes_per_call > 1) {
        vq_buf_printf(m->out, "Up to %u vibes were asked in one call. ", j->vibes_per_call);
    }
    vq_buf_puts(m->out, j->repair ? "An answer without a verdict was asked for it once more. "
                                  : "Answers without a verdict were not asked again. ");
    vq_buf_puts(m->out, j->truncate
                            ? "Requests too long for a judge were cut, both outputs evenly. "
                            : "Requests too long for a judge count as failed. ");
    early_stop(m);
    if (j->retest > 0) {
        vq_buf_printf(
            m->out, "A share of %.3g of the cells was asked a second time; scores do not use it. ",
            j->retest);
    }
    if (j->invalid == VQ_INVALID_DROP_ROW) {
        vq_buf_puts(m->out, "Rows with a missing score were left out of all numbers. ");
    }
    hash(m, "Judge prompt", m->page->r->judge_template);
    hash(m, "Repair prompt", m->page->r->repair_template);
}

static void gates(const struct paragraph *m)
{
    static const char *const preference[] = {"", " or a preference alignment beyond the same",
                                             " and a preference alignment beyond the same"};
    const struct vq_conf_gates *g = &m->page->r->config->gates;
    vq_buf_printf(m->out, "On train, a vibe needs |separability| above %.3g%s%s",
                  g->separability_min, preference[g->preference],
                  g->separability == VQ_GATE_INTERVAL
                      ? ", and to differ from 0 at a false discovery rate of 0.05"
                      : "");
    bool cascade = m->page->r->config->cascade != NULL;
    if (g->kappa && m->page->r->config->judges_count > 1 && !cascade) {
        vq_buf_printf(m->out, "; Cohen's kappa, plain or mirrored, of at least %.3g", g->kappa_min);
    }
    if (g->overlap != VQ_CONF_OVERLAP_OFF) {
        vq_buf_printf(m->out, "; no overlap (%s) above %.3g with an earlier vibe",
                      g->overlap == VQ_CONF_OVERLAP_COSINE ? "cosine" : "Pearson", g->overlap_max);
    }
    uint32_t final = m->page->r->config->vibecheck.num_final_vibes;
    if (final > 0) {
        vq_buf_printf(m->out, "; at most %u vibes are kept", final);
    }
    vq_buf_printf(
        m->out,
        ". p is that of %s, on train without the rows that the "
        "proposer was shown; q corrects it (Benjamini-Hochberg), on train over all vibes and on "
        "test over the kept ones.",
        cascade ? "the estimate" : "sign flips of the prompts' mean scores");
}

static void regression(const struct paragraph *m)
{
    static const char *const estimators[] = {
        "L2-regularised logistic regression", "elastic-net logistic regression",
        "lasso logistic regression", "the legacy bootstrap of an elastic net"};
    static const char *const cv[] = {"held-out log-loss over 5 folds of prompts",
                                     "accuracy over contiguous folds, as published",
                                     "the folds of the published code"};
    const struct vq_conf_regression *g = &m->page->r->config->regression;
    const struct vq_vibecheck *r = m->page->r->result;
    vq_buf_printf(m->out,
                  "%s %s without intercept "
                  "on the mirrored rows, fitted on train%s; the regularisation is chosen by %s",
                  r->ranking != NULL ? "Preference prediction is"
                                     : "Model matching and preference prediction are",
                  estimators[g->estimator], g->standardise ? ", scores standardised" : "",
                  cv[g->cv]);
    if (!isnan(r->mm.c)) {
        vq_buf_printf(m->out, " (C %.3g for MM", r->mm.c);
        if (!isnan(r->pp.c)) {
            vq_buf_printf(m->out, ", %.3g for PP", r->pp.c);
        }
        vq_buf_puts(m->out, ")");
    }
    vq_buf_puts(m->out, ". A missing cell adds nothing to a prediction; ");
    put_count(m, r->mm.cells_imputed_train + r->mm.cells_imputed_test);
    vq_buf_printf(
        m->out,
        " cells were so. Intervals: Wilson for accuracies (by prompt if prompts repeat) and for "
        "scores "
        "that hardly vary, the profile likelihood for Firth's estimates, %u bootstrap draws over "
        "prompts "
        "for the rest, coefficients with C held fixed. They cover the choice of prompts, not that "
        "of judges or of vibes.",
        g->bootstrap_draws);
}

/* A role's model, or the model that replaces it. The endpoint is in the run's folder. */
static const char *player(const struct vq_conf_judge *own, const char *stand_in)
{
    return own != NULL && own->model != NULL ? own->model : stand_in;
}

static void role(const struct paragraph *m, const char *what, const char *model)
{
    vq_buf_printf(m->out, "%s ", what);
    vq_buf_puts(m->out, model);
}

static void roles(const struct paragraph *m)
{
    const struct vq_config *c = m->page->r->config;
    const char *proposer = player(c->proposer, player(&c->judges[0], ""));
    role(m, " Proposer:", proposer);
    role(m, ", reducer:", player(c->reducer, proposer));
    role(m, ", embedder:", player(c->embedder, VQ_EMBEDDER_BUILT_IN));
    vq_buf_puts(m->out, ".");
}

/* The settings for the step from one iteration to the next, and to the final vibes. */
static void iteration_rules(const struct paragraph *m)
{
    static const char *const orders[] = {"a lasso path", "|separability|",
                                         "the p of the sign flips"};
    const struct vq_conf_vibecheck *v = &m->page->r->config->vibecheck;
    vq_buf_printf(m->out, " The proposer was shown the %s vibes%s%s.",
                  v->carried == VQ_CARRIED_ALL ? "validated" : "surviving",
                  v->list_rejected ? " and the rejected ones" : "",
                  v->shuffle_outputs ? ", and the outputs of every second batch turned" : "");
    vq_buf_printf(m->out, " It continued while more than %u rows were misclassified",
                  v->min_misclassified == 0 ? v->d : v->min_misclassified);
    if (v->mm_stop > 0) {
        vq_buf_printf(m->out, " and model matching was right on less than %.3g of the train rows",
                      v->mm_stop);
    }
    vq_buf_printf(m->out, ". The final vibes are the first by %s.", orders[v->final_order]);
}

static void discovery(const struct paragraph *m)
{
    const struct vq_config *c = m->page->r->config;
    const struct vq_conf_vibecheck *v = &c->vibecheck;
    if (c->method != VQ_METHOD_DISCOVER) {
        vq_buf_puts(m->out, c->method == VQ_METHOD_PRESET ? "The preset list was used."
                                                          : "The list was given.");
        return;
    }
    vq_buf_printf(m->out,
                  "Discovered in at most %u iteration%s: a proposer saw %u training row%s, %u a "
                  "call, in %u call%s a "
                  "batch; its axes were clustered ",
                  v->iterations, vq_fmt_plural(v->iterations), v->d, vq_fmt_plural(v->d), v->batch,
                  v->discovery_calls, vq_fmt_plural(v->discovery_calls));
    if (v->clustering == VQ_CLUSTERING_AUTO) {
        vq_buf_printf(m->out, "from %u axes on", v->cluster_threshold);
    } else {
        vq_buf_puts(m->out, v->clustering == VQ_CLUSTERING_ALWAYS ? "always" : "never");
    }
    vq_buf_printf(m->out,
                  " (%u groups), summarised, and reduced to at most %u; at most %u new ones were "
                  "judged in an "
                  "iteration. Later iterations saw rows that %s still misclassified%s.",
                  v->clusters, v->k, v->num_eval_vibes,
                  v->misclassified == VQ_MISCLASSIFIED_MM ? "model matching" : "either regression",
                  v->dedup ? "; new axes that repeat a current one were dropped" : "");
    iteration_rules(m);
    roles(m);
    if (strcmp(v->preset == NULL ? "none" : v->preset, "none") != 0) {
        vq_buf_puts(m->out, " Settings of the preset ");
        vq_buf_puts(m->out, v->preset);
        vq_buf_puts(m->out, ".");
    }
}

void vq_vibes_page_methods(const struct vq_vibes_page *p, struct vq_json *j)
{
    static const struct {
        const char *head;
        void (*text)(const struct paragraph *m);
    } parts[] = {{"Data", data},   {"Vibes", discovery},  {"Judging", judging},
                 {"Gates", gates}, {"Models", on_models}, {"Regression", regression}};
    vq_json_put_array(j, "methods");
    for (size_t i = 0; i < VQ_COUNT(parts); i++) {
        struct vq_buf text;
        const struct paragraph m = {p, &text};
        vq_buf_init(&text, PARAGRAPH_BYTES_MAX);
        parts[i].text(&m);
        if (text.bytes > 0) {
            vq_json_object(j);
            vq_json_put_str(j, "head", parts[i].head);
            vq_json_put_span(j, "text", vq_buf_span(&text));
            vq_json_object_end(j);
        }
        vq_vibes_page_failed(j, text.status);
        vq_buf_free(&text);
    }
    vq_json_array_end(j);
}
