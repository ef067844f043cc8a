/* Makes the warnings from the result and the settings. Invariants: a warning never hides a number;
 * a code never changes its meaning. Not its job: escaping and wrapping (the writer that shows the
 * text does both). */
#include "methods/vibecheck/report/warnings.h"

#include "common/base/alloc.h"
#include "methods/vibecheck/numbers/ranking.h"
#include "methods/vibecheck/report/family.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define COEF_ABS_MAX      20.0 /* a larger coefficient means that the fit is nearly separable */
#define ROWS_PER_VIBE_MIN 10u
#define AT_RANDOM_APART   0.02
#define PP_LEVEL          0.05

struct maker {
    const struct vq_report_input *r;
    struct vq_warnings *list;
    uint32_t *order;
    enum vq_status status;
};

static struct vq_warning *next(struct maker *m, const char *code)
{
    if (m->list->count == VQ_WARNINGS_MAX) {
        return NULL;
    }
    struct vq_warning *w = &m->list->at[m->list->count++];
    w->code = code;
    return w;
}

static void VQ_PRINTF(3, 4) say(struct maker *m, const char *code, const char *fmt, ...)
{
    struct vq_warning *w = next(m, code);
    if (w == NULL) {
        return;
    }
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(w->text, sizeof(w->text), fmt, args);
    va_end(args);
}

static void append(struct vq_warning *w, const char *text)
{
    size_t used = strlen(w->text);
    (void)snprintf(w->text + used, sizeof(w->text) - used, "%s", text);
}

/* ---- judges and preferences ---- */

static void cascade(struct maker *m)
{
    const struct vq_cascade_counts *n = &m->r->result->cascade;
    if (m->r->in->cascade == NULL) {
        return;
    }
    if (n->margin_unknown > 0) {
        say(m, "cascade_margin_unknown",
            "The first judge's answers have no log-probabilities in %llu of %llu cells: there "
            "the margin escalated nothing.",
            (unsigned long long)n->margin_unknown, (unsigned long long)n->cells);
    }
    say(m, "cascade_fits_uncorrected",
        "In this cascade separabilities, their intervals and p are estimates for the second judge. "
        "The fits and the overlaps use the row scores, which are the first judge's where the "
        "second one was not asked.");
}

static void same_family(struct maker *m)
{
    for (uint32_t j = 0; j < m->r->config->judges_count; j++) {
        const char *judge = vq_model_family(m->r->judges[j].model);
        for (uint32_t k = 0; judge != NULL && k < VQ_MODELS_MAX && m->r->config->models[k] != NULL;
             k++) {
            const char *model = vq_model_family(m->r->config->models[k]);
            if (model != NULL && strcmp(model, judge) == 0) {
                say(m, "judge_of_same_family",
                    "By their names, judge %s and %s are of one family (%s): a judge may favour "
                    "its "
                    "own kind.",
                    m->r->judges[j].name, m->r->config->models[k], judge);
            }
        }
    }
}

static const char *judge_model(const struct vq_conf_judge *judge)
{
    return judge->model == NULL ? "" : judge->model;
}

static void preference_judges(struct maker *m)
{
    const struct vq_config *c = m->r->config;
    if (m->r->method == NULL || strcmp(m->r->method->preference_source, "judge") != 0) {
        return;
    }
    bool same = c->preference_judges_count == 0;
    for (uint32_t i = 0; i < c->preference_judges_count; i++) {
        for (uint32_t j = 0; j < c->judges_count; j++) {
            same |= strcmp(judge_model(&c->preference_judges[i]), judge_model(&c->judges[j])) == 0;
        }
    }
    if (same) {
        say(m, "preferences_by_ranking_judge",
            "The preferences were made by a model that also ranks the vibes: preference prediction "
            "then measures how consistent that model is with itself.");
    } else {
        say(m, "preferences_by_judge", "The preferences were made by models, not by people.");
    }
}

static void judges(struct maker *m)
{
    if (strcmp(m->r->judge_kind, "model") != 0) {
        say(m, "offline_judge",
            "The judge is vibeq's offline judge: this shows that the plumbing works, not how the "
            "models differ.");
    }
    if (m->r->config->judges_count == 1) {
        say(m, "one_judge",
            "There is one judge: how far another would agree is unknown, and there is no kappa.");
    }
    cascade(m);
    same_family(m);
    preference_judges(m);
}

/* ---- vibes ---- */

typedef bool (*vibe_test)(const struct vq_report_input *r, const struct vq_vibe_metrics *vibe);

static bool is_indistinct(const struct vq_report_input *r, const struct vq_vibe_metrics *v)
{
    (void)r;
    return v->kept && !v->distinguishable;
}

static bool could_flip(const struct vq_report_input *r, const struct vq_vibe_metrics *v)
{
    (void)r;
    return v->gate_could_flip;
}

/* Whether a cascade has no interval for the vibe, although the split has rows. */
static bool has_few_audited(const struct vq_report_input *r, const struct vq_vibe_metrics *v)
{
    const struct vq_cascade_split *s = &vq_vibe_lead(r->result, v)->cascade;
    if (r->in->cascade == NULL || v->na_everywhere) {
        return false;
    }
    return isnan(v->train.cascade.rows_ci95.lo) ||
           (v->kept && s->escalated + s->rest > 0 && isnan(s->rows_ci95.lo));
}

static bool agrees_little(const struct vq_report_input *r, const struct vq_vibe_metrics *v)
{
    double kappa = vq_vibe_lead(r->result, v)->agreement.kappa;
    return v->kept && kappa < r->config->gates.kappa_min; /* false if kappa is NaN */
}

static bool overlap_unjudged(const struct vq_report_input *r, const struct vq_vibe_metrics *v)
{
    (void)r;
    return v->kept && v->overlap_unjudged;
}

static bool shrinks(const struct vq_report_input *r, const struct vq_vibe_metrics *v)
{
    const struct vq_vibe_split *lead = vq_vibe_lead(r->result, v);
    return v->kept && fabs(lead->sep - lead->sep_at_random) > AT_RANDOM_APART;
}

static bool mm_is_length(const struct vq_report_input *r, const struct vq_vibe_metrics *v)
{
    (void)r;
    return v->kept && v->mm.length.explained;
}

static bool pp_is_length(const struct vq_report_input *r, const struct vq_vibe_metrics *v)
{
    (void)r;
    return v->kept && v->pp.length.explained;
}

static bool never_scored(const struct vq_report_input *r, const struct vq_vibe_metrics *v)
{
    (void)r;
    return isnan(v->train.sep) && v->reason != VQ_DROP_EARLY_STOP;
}

static bool always_na(const struct vq_report_input *r, const struct vq_vibe_metrics *v)
{
    return v->na_everywhere && r->result->judges > 0;
}

static enum vq_davidson_status ranking_status(const struct vq_report_input *r,
                                              const struct vq_vibe_metrics *v)
{
    return r->result->ranking == NULL || !v->kept
               ? VQ_DAVIDSON_OK
               : r->result->ranking->vibe[v - r->result->vibe].status;
}

static bool ranking_separated(const struct vq_report_input *r, const struct vq_vibe_metrics *v)
{
    return ranking_status(r, v) == VQ_DAVIDSON_SEPARATED;
}

static bool ranking_has_few(const struct vq_report_input *r, const struct vq_vibe_metrics *v)
{
    return ranking_status(r, v) == VQ_DAVIDSON_FEW_CLUSTERS;
}

static bool ranking_unconnected(const struct vq_report_input *r, const struct vq_vibe_metrics *v)
{
    return ranking_status(r, v) == VQ_DAVIDSON_UNCONNECTED;
}

static void about_vibes(struct maker *m, const char *code, vibe_test test, const char *sentence)
{
    const struct vq_vibecheck *result = m->r->result;
    uint32_t n = 0;
    for (uint32_t v = 0; v < result->vibes; v++) {
        n += test(m->r, &result->vibe[v]);
    }
    struct vq_warning *w = n == 0 ? NULL : next(m, code);
    if (w == NULL) {
        return;
    }
    w->vibes = vq_alloc(n, sizeof(*w->vibes));
    if (w->vibes == NULL) {
        m->status = VQ_NOMEM;
        return;
    }
    append(w, sentence);
    for (uint32_t i = 0; i < result->vibes; i++) {
        uint32_t v = m->order[i];
        if (!test(m->r, &result->vibe[v])) {
            continue;
        }
        if (w->vibes_count < VQ_WARNING_NAMES_MAX && strlen(w->text) < sizeof(w->text) * 3 / 4) {
            append(w, w->vibes_count > 0 ? ", " : ": ");
            append(w, m->r->in->axes[v].name);
        } else if (w->vibes_count + 1 == n) {
            append(w, " and more");
        }
        w->vibes[w->vibes_count++] = v;
    }
    append(w, ".");
}

static void vibes(struct maker *m)
{
    about_vibes(m, "not_distinguishable", is_indistinct,
                m->r->result->in_sample
                    ? "Kept, but not distinguishable from 0 (q above 0.05)"
                    : "Kept, but on test not distinguishable from 0 (q above 0.05)");
    about_vibes(m, "gate_could_flip", could_flip,
                "Answers are missing that could move a vibe over its gate");
    about_vibes(m, "cascade_few_audited", has_few_audited,
                "The second judge answered too few audited rows for an interval; set a larger "
                "cascade.audit");
    about_vibes(m, "low_kappa", agrees_little,
                "Kept, but the judges agree less than the gate asks on these rows");
    about_vibes(m, "overlap_not_judged", overlap_unjudged,
                "Nearly constant, as is an earlier kept vibe: their overlap is not judged");
    about_vibes(m, "failures_shrink_separability", shrinks,
                "Failed calls pull separability toward 0 by more than 0.02 (separability at random "
                "shows how far)");
    about_vibes(m, "mm_explained_by_length", mm_is_length,
                "Once the length of the outputs is held fixed, their model matching coefficient is "
                "not distinguishable from 0");
    about_vibes(m, "pp_explained_by_length", pp_is_length,
                "Once the length of the outputs is held fixed, their preference prediction "
                "coefficient is not distinguishable from 0");
    about_vibes(m, "not_applicable_everywhere", always_na,
                "In every answer the vibe does not apply");
    about_vibes(m, "never_scored", never_scored, "No answer on train could be scored");
    about_vibes(
        m, "ranking_separated", ranking_separated,
        "The comparisons leave no maximum-likelihood ranking (a model always wins, or never). "
        "Strengths are shown with half a win more for each side of each pair, without "
        "intervals");
    about_vibes(m, "ranking_few_prompts", ranking_has_few,
                "Fewer than 8 prompts were compared: strengths have no intervals");
    about_vibes(m, "ranking_not_connected", ranking_unconnected,
                "Some models were never compared with the others, so there is no ranking");
}

/* ---- fits ---- */

static void degenerate(struct maker *m, const char *what, const struct vq_fit_metrics *fit)
{
    static const char *const codes[] = {NULL, "fit_separated", "fit_c_at_edge", "fit_few_prompts",
                                        "fit_too_large"};
    static const char *const reasons[] = {
        NULL, "the vibes separate the training rows, so no maximum-likelihood estimate exists",
        "C is at the end of the values that were tried", "there are fewer than 8 training prompts",
        "there are too many coefficients or rows to look for separation"};
    if (fit->status == VQ_FIT_OK && fit->degenerate != VQ_FIT_SOUND) {
        say(m, codes[fit->degenerate], "%s: %s. Its coefficients have no %s.", what,
            reasons[fit->degenerate],
            m->r->result->ranking != NULL && fit == &m->r->result->mm
                ? "intervals"
                : "percentile interval and no p; Firth's estimates with their profile intervals "
                  "are "
                  "shown instead");
    }
}

static void preferences(struct maker *m)
{
    const struct vq_vibecheck *r = m->r->result;
    const struct vq_pp_rivals *rivals = &r->pp.rivals;
    if (r->pp.status != VQ_FIT_OK) {
        return;
    }
    if (rivals->one_class) {
        say(m, "pp_is_mm",
            "All preferences name one model: preference prediction is then the same as model "
            "matching and says nothing about preferences.");
        return;
    }
    double accuracy = r->in_sample ? r->pp.accuracy_train : r->pp.accuracy_test;
    if (accuracy <= 0.5 || rivals->chance_p > PP_LEVEL) {
        say(m, "pp_not_above_chance",
            "Preference prediction is not distinguishable from chance: the vibes do not predict "
            "what is preferred here.");
    } else if (rivals->difference <= 0 || rivals->difference_p > PP_LEVEL) {
        say(m, "pp_adds_nothing_to_identity",
            "The vibes predict preferences better than chance, but add nothing measurable to "
            "knowing which model wrote the output (%+.3f accuracy over always choosing one model).",
            rivals->difference);
    }
}

static void fits(struct maker *m)
{
    const struct vq_vibecheck *r = m->r->result;
    degenerate(m, "Model matching", &r->mm);
    degenerate(m, "Preference prediction", &r->pp);
    if (fmax(r->mm.coef_abs_max, r->pp.coef_abs_max) > COEF_ABS_MAX) {
        say(m, "large_coefficient",
            "A coefficient is above 20: the rows are nearly separable, and the sizes of "
            "coefficients say little.");
    }
    preferences(m);
    if (r->kept_count > 0 && r->mm.rows_train < (uint64_t)ROWS_PER_VIBE_MIN * r->kept_count) {
        say(m, "few_rows_per_vibe",
            "There are fewer than 10 training rows per vibe: the fits are fragile.");
    }
    if (r->mm.missing_warning || r->pp.missing_warning) {
        say(m, "complete_rows_differ",
            "Over complete rows alone an accuracy differs by more than 0.01.");
    }
    if (r->in_sample) {
        say(m, "in_sample", "There is no test split: all numbers are in-sample and too good.");
    }
}

/* ---- data ---- */

static void data(struct maker *m)
{
    const struct vq_dataset *d = m->r->dataset;
    const struct vq_vibecheck *r = m->r->result;
    for (uint32_t i = 0; i < d->warnings_count; i++) {
        say(m, "data", "%s.", d->warnings[i]);
    }
    char cells[VQ_FMT_BYTES], rows[VQ_FMT_BYTES];
    const char *are = vq_fmt_form(r->cells_missing, " is", "s are");
    if (r->cells_missing > 0 && r->dropped == NULL) {
        say(m, "missing_scores", "%s judge score%s missing. %s left out, not counted as 0.",
            vq_fmt_count(r->cells_missing, cells), are,
            vq_fmt_form(r->cells_missing, "It is", "They are"));
    } else if (r->cells_missing > 0) {
        say(m, "missing_scores",
            "%s judge score%s missing. Rows left out of all numbers for it (judging.invalid): "
            "%s.",
            vq_fmt_count(r->cells_missing, cells), are,
            vq_fmt_count(r->rows_dropped_train + r->rows_dropped_test, rows));
    }
    if (m->r->labels_of_others > 0) {
        say(m, "labels_of_other_vibes",
            "People's labels in the file of `human` that name a vibe which this run does not have: "
            "%s. They are not used.",
            vq_fmt_count(m->r->labels_of_others, cells));
    }
    const struct vq_vibecheck_method_result *method = m->r->method;
    if (method != NULL && method->cut.refused + method->cut.shortened > 0) {
        say(m, "list_cut",
            "Answers of the reducer or the proposer were cut at the token limit, even with 4 times "
            "the output tokens. Not used: %u; used up to their last whole line: %u. Set a larger "
            "max_tokens for the reducer or the proposer.",
            method->cut.refused, method->cut.shortened);
    }
    if (m->r->config->judging.truncate) {
        say(m, "inputs_may_be_cut",
            "Requests too long for a judge were allowed to be cut (judging.truncate).");
    }
}

enum vq_status vq_warnings_create(const struct vq_report_input *r,
                                  struct vq_warnings **ret_warnings)
{
    struct maker m = {.r = r,
                      .list = vq_alloc(1, sizeof(*m.list)),
                      .order = vq_alloc(r->result->vibes, sizeof(*m.order))};
    if (m.list == NULL || m.order == NULL) {
        m.status = VQ_NOMEM;
    } else {
        vq_report_order(r->result, m.order);
        judges(&m);
        vibes(&m);
        fits(&m);
        data(&m);
    }
    vq_free(m.order);
    if (m.status != VQ_OK) {
        vq_warnings_destroy(&m.list);
        return m.status;
    }
    *ret_warnings = m.list;
    return VQ_OK;
}

void vq_warnings_destroy(struct vq_warnings **warnings)
{
    for (uint32_t i = 0; *warnings != NULL && i < (*warnings)->count; i++) {
        vq_free((*warnings)->at[i].vibes);
    }
    vq_free(*warnings);
    *warnings = NULL;
}
