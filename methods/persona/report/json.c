/* results.json of a persona evaluation: the plan and its calls; then for each measure the rated
 * things, the statuses of their ratings, curves with intervals, values by cell, slopes, bars,
 * sizes; then agreement. Owns nothing. Not its job: single ratings, dialogues (csv.c). */
#include "methods/persona/report/report.h"

#include "methods/report/keys.h"

static void real(struct vq_json *j, double value)
{
    vq_json_real(j, value, VQ_REPORT_DIGITS);
}

static const char *kind_of(const struct vq_report_persona *r, uint32_t script)
{
    return vq_persona_kind_name(r->study->plan->design.scripts[script].kind);
}

static void write_values(struct vq_json *j, const char *key, const double *values, uint32_t count)
{
    vq_json_put_array(j, key);
    for (uint32_t i = 0; i < count; i++) {
        real(j, values[i]);
    }
    vq_json_array_end(j);
}

/* ---- the plan ---- */

static void names(struct vq_json *j, const char *key, const char *const *of, uint32_t count)
{
    vq_json_put_array(j, key);
    for (uint32_t i = 0; i < count; i++) {
        vq_json_str(j, of[i]);
    }
    vq_json_array_end(j);
}

static void calls(struct vq_json *j, const char *key, const struct vq_persona_calls *n)
{
    vq_json_put_object(j, key);
    vq_json_put_u64(j, "planned", n->planned);
    vq_json_put_u64(j, "shared", n->shared);
    vq_json_object_end(j);
}

static void write_set(struct vq_json *j, const struct vq_report_persona *r, uint32_t number,
                      const struct vq_persona_set_calls *n)
{
    const struct vq_persona_set *set = &r->study->plan->design.sets[number];
    vq_json_object(j);
    vq_json_put_str(j, "name", r->sets[number]);
    vq_json_put_u64(j, "items", set->items_count);
    calls(j, "asked", &n->asked);
    for (int k = 0; k < VQ_PERSONA_REFERENCES; k++) {
        bool pairwise = set->rated && set->rating == VQ_RATING_PAIRWISE;
        if (n->rated[k].planned > 0) {
            calls(j, pairwise ? vq_persona_reference_name((enum vq_persona_reference)k) : "rated",
                  &n->rated[k]);
        }
    }
    vq_json_object_end(j);
}

static void write_calls(struct vq_json *j, const struct vq_report_persona *r)
{
    struct vq_persona_counts n;
    vq_persona_count(r->study->plan, &n);
    vq_json_put_object(j, "calls");
    vq_json_put_u64(j, "dialogues", n.chains);
    calls(j, "turns", &n.turns);
    calls(j, "turns_rated", &n.turns_rated);
    vq_json_put_array(j, "sets");
    for (uint32_t i = 0; i < r->study->plan->design.sets_count; i++) {
        write_set(j, r, i, &n.sets[i]);
    }
    vq_json_array_end(j);
    calls(j, "generated", &n.generated);
    calls(j, "rated", &n.rated);
    vq_json_object_end(j);
}

static void write_plan(struct vq_json *j, const struct vq_report_persona *r)
{
    const struct vq_persona_plan *plan = r->study->plan;
    const struct vq_persona_design *d = &plan->design;
    names(j, "subjects", r->names.models, d->models);
    names(j, "personas", r->names.personas, d->personas);
    vq_json_put_bool(j, "baseline", d->baseline);
    vq_json_put_array(j, "kinds");
    for (uint32_t s = 0; s < d->scripts_count; s++) {
        vq_json_str(j, kind_of(r, s));
    }
    vq_json_array_end(j);
    vq_json_put_bool(j, "both_orders", d->shuffled);
    vq_json_put_u64(j, "rounds", d->rounds);
    vq_json_put_array(j, "checkpoints");
    for (uint32_t i = 0; i < d->checkpoints; i++) {
        vq_json_u64(j, plan->checkpoints[i]);
    }
    vq_json_array_end(j);
    write_calls(j, r);
}

/* Tokens of the dialogues before each round, averaged over the orders. */
static void write_lengths(struct vq_json *j, const struct vq_report_persona *r)
{
    const struct vq_persona_numbers *n = r->numbers;
    vq_json_put_array(j, "dialogue_tokens");
    for (uint32_t i = 0; n->lengths[0] != NULL && i < n->models * n->askers * n->scripts; i++) {
        uint32_t persona = i / n->scripts % n->askers;
        vq_json_object(j);
        vq_json_put_str(j, "model", r->names.models[i / n->scripts / n->askers]);
        vq_json_put_str(j, "persona", persona < n->personas ? r->names.personas[persona] : NULL);
        vq_json_put_str(j, "kind", kind_of(r, i % n->scripts));
        write_values(j, "before_round", n->lengths[0] + (size_t)i * (n->rounds + 1), n->rounds + 1);
        vq_json_object_end(j);
    }
    vq_json_array_end(j);
}

static void write_judges(struct vq_json *j, const struct vq_report_persona *r)
{
    vq_report_put_judges(j, r->judges, r->study->judges, NULL, r->judge_kind,
                         "how the models keep a persona");
    vq_json_put_str(j, "policy", r->policy);
    vq_json_put_str(
        j, "intervals_note",
        "Intervals are over (model, persona) cells: they cover the choice of these, not that of "
        "questions or of judges. ci95 is Student's; percentile, the bootstrap that is published "
        "elsewhere, is too narrow over few cells (92 % at 16).");
}

/* ---- curves ---- */

static void write_point(struct vq_json *j, const struct vq_cells_mean *m, uint32_t round,
                        bool contrast)
{
    vq_json_object(j);
    vq_json_put_u64(j, "round", round);
    vq_report_key_real(j, "mean", m->mean);
    vq_json_put_u64(j, "cells", m->cells);
    vq_report_key_interval(j, "ci95", m->ci95);
    vq_report_key_interval(j, "percentile", m->percentile);
    if (m->status != VQ_CELLS_OK) {
        vq_json_put_str(j, "why_no_interval", vq_cells_status_name(m->status));
    } else if (contrast) {
        vq_json_put_bool(j, "excludes_0", vq_cells_excludes_0(m));
    }
    vq_json_object_end(j);
}

static void write_curve(struct vq_json *j, const char *key, const struct vq_cells_mean *points,
                        const struct vq_persona_panel *panel, bool contrast)
{
    vq_json_put_array(j, key);
    for (uint32_t i = 0; i < panel->points; i++) {
        write_point(j, &points[i], panel->rounds[i], contrast);
    }
    vq_json_array_end(j);
}

/* The first `count` curves of one panel, for each kind of dialogue. */
static void write_curves(struct vq_json *j, const struct vq_report_persona *r, const char *key,
                         const struct vq_persona_panel *panel, const struct vq_cells_mean *curves,
                         uint32_t count)
{
    vq_json_put_object(j, key);
    for (uint32_t s = 0; s < r->numbers->scripts; s++) {
        vq_json_put_object(j, kind_of(r, s));
        for (uint32_t c = 0; c < count && c < VQ_CURVE_KINDS; c++) {
            write_curve(j, vq_persona_curve_name((enum vq_persona_curve)c),
                        curves + ((size_t)c * r->numbers->scripts + s) * panel->points, panel,
                        c >= VQ_CURVE_CHANGE);
        }
        vq_json_object_end(j);
    }
    if (count > VQ_CURVE_KINDS && r->numbers->scripts > 1) {
        write_curve(j, "directed_minus_goal",
                    curves + (size_t)VQ_CURVE_KINDS * r->numbers->scripts * panel->points, panel,
                    true);
    }
    vq_json_object_end(j);
}

static void write_cells(struct vq_json *j, const struct vq_report_persona *r,
                        const struct vq_persona_measure *m)
{
    vq_json_put_array(j, "by_cell");
    for (uint32_t i = 0; i < r->numbers->cells * r->numbers->scripts; i++) {
        uint32_t cell = i / r->numbers->scripts;
        vq_json_object(j);
        vq_json_put_str(j, "model", r->names.models[cell / r->numbers->personas]);
        vq_json_put_str(j, "persona", r->names.personas[cell % r->numbers->personas]);
        vq_json_put_str(j, "kind", kind_of(r, i % r->numbers->scripts));
        write_values(j, "values", m->panel.persona + (size_t)i * m->panel.points, m->panel.points);
        write_values(j, "baseline", m->panel.baseline + (size_t)i * m->panel.points,
                     m->panel.points);
        vq_json_object_end(j);
    }
    vq_json_array_end(j);
}

/* ---- slopes, bars, sizes ---- */

static void write_within(struct vq_json *j, const char *key, const struct vq_within *w)
{
    vq_json_put_object(j, key);
    vq_json_put_u64(j, "rows", w->rows);
    vq_json_put_u64(j, "groups", w->groups);
    vq_report_key_real(j, "slope", w->slope);
    vq_report_key_real(j, "se", w->se);
    vq_report_key_real(j, "se_random", w->se_random);
    vq_report_key_interval(j, "ci95", w->ci95);
    vq_json_object_end(j);
}

static void write_slopes(struct vq_json *j, const struct vq_report_persona *r,
                         const struct vq_persona_measure *m)
{
    const struct vq_persona_numbers *n = r->numbers;
    vq_json_put_array(j, "slopes_percent");
    for (uint32_t i = 0; i < (n->models + 1) * n->scripts; i++) {
        uint32_t model = i / n->scripts;
        vq_json_object(j);
        vq_json_put_str(j, "model", model < n->models ? r->names.models[model] : NULL);
        vq_json_put_str(j, "kind", kind_of(r, i % n->scripts));
        write_within(j, "per_round", &m->slopes[i].length);
        if (r->study->tokens != NULL) {
            write_within(j, "per_1000_tokens", &m->slopes[i].tokens);
        }
        write_within(j, "cost_of_persona", &m->slopes[i].cost);
        vq_json_object_end(j);
    }
    vq_json_array_end(j);
}

static void write_bar(struct vq_json *j, const char *key, const struct vq_cells_mean *m)
{
    vq_json_put_object(j, key);
    vq_report_key_real(j, "mean", m->mean);
    vq_json_put_u64(j, "personas", m->cells);
    vq_report_key_interval(j, "ci95", m->ci95);
    vq_report_key_interval(j, "percentile", m->percentile);
    vq_json_object_end(j);
}

static void write_bars(struct vq_json *j, const struct vq_report_persona *r,
                       const struct vq_persona_measure *m)
{
    const struct vq_persona_numbers *n = r->numbers;
    vq_json_put_array(j, "by_model");
    for (uint32_t i = 0; i < n->models * n->scripts; i++) {
        vq_json_object(j);
        vq_json_put_str(j, "model", r->names.models[i / n->scripts]);
        vq_json_put_str(j, "kind", kind_of(r, i % n->scripts));
        write_bar(j, "level", &m->bars[i].level);
        write_bar(j, "change", &m->bars[i].change);
        write_bar(j, "gap", &m->bars[i].gap);
        vq_json_object_end(j);
    }
    vq_json_array_end(j);
}

static void write_sizes(struct vq_json *j, const struct vq_report_persona *r,
                        const struct vq_persona_measure *m)
{
    vq_json_put_array(j, "size_percent");
    for (uint32_t s = 0; m->sizes != NULL && s < r->numbers->scripts; s++) {
        vq_json_object(j);
        vq_json_put_str(j, "kind", kind_of(r, s));
        write_within(j, "change", &m->sizes[s].change);
        write_within(j, "gap_at_start", &m->sizes[s].gap);
        vq_json_object_end(j);
    }
    vq_json_array_end(j);
}

/* ---- measures ---- */

/* The statuses of the ratings that a measure is computed from. */
static void write_statuses(struct vq_json *j, const struct vq_report_persona *r,
                           const struct vq_persona_measure *m)
{
    vq_json_put_array(j, "statuses");
    for (uint32_t i = 0; i < r->study->judges; i++) {
        vq_json_object(j);
        vq_json_put_str(j, "judge", r->judges[i].name);
        for (unsigned s = 0; s < VQ_PERSONA_STATUSES; s++) {
            vq_json_put_u64(j, vq_persona_status_name(s), m->statuses[i][s]);
        }
        vq_json_object_end(j);
    }
    vq_json_array_end(j);
}

static void write_chosen(struct vq_json *j, const struct vq_persona_measure *m)
{
    static const char *const keys[2] = {"reference_first", "answer_first"};
    vq_json_put_u64(j, "ties", m->ties);
    vq_json_put_object(j, "chosen");
    for (int p = 0; p < 2; p++) {
        vq_json_put_object(j, keys[p]);
        vq_json_put_u64(j, "a", m->chosen[p][0]);
        vq_json_put_u64(j, "b", m->chosen[p][1]);
        vq_json_object_end(j);
    }
    vq_json_object_end(j);
}

static const char *what_word(enum vq_persona_what what)
{
    static const char *const words[] = {"mean",    "fidelity",     "error", "distance",
                                        "refusal", "over_refusal", "wins",  "measured"};
    return words[what];
}

static void write_measure(struct vq_json *j, const struct vq_report_persona *r,
                          const struct vq_persona_measure *m)
{
    vq_json_object(j);
    vq_json_put_str(j, "name", m->name);
    vq_json_put_str(j, "what", what_word(m->what));
    vq_json_put_str(j, "unit", m->unit == VQ_PERSONA_RATING ? "rating" : "share");
    vq_json_put_u64(j, "cells", m->cells);
    vq_json_put_u64(j, "rated", m->things);
    vq_json_put_u64(j, "missing", m->things_missing);
    write_statuses(j, r, m);
    if (m->turns.points > 0) {
        vq_json_put_u64(j, "one_order", m->one_order);
    }
    if (m->what == VQ_PERSONA_WINS) {
        vq_json_put_str(j, "reference", vq_persona_reference_name(m->reference));
        write_chosen(j, m);
    }
    write_curves(j, r, "curves", &m->panel, m->curves, VQ_CURVES);
    if (m->turns.points > 0) {
        write_curves(j, r, "turns", &m->turns, m->turn_curves, VQ_CURVE_BASELINE + 1);
    }
    write_slopes(j, r, m);
    write_bars(j, r, m);
    write_sizes(j, r, m);
    write_cells(j, r, m);
    vq_json_object_end(j);
}

static void write_agreement(struct vq_json *j, const struct vq_report_persona *r,
                            const struct vq_persona_agreement *a)
{
    bool human = a->judge_b == VQ_PERSONA_HUMAN;
    vq_json_object(j);
    vq_json_put_str(j, "criterion", r->study->criteria[a->criterion].name);
    vq_json_put_str(j, "a", r->judges[a->judge_a].name);
    vq_json_put_str(j, "b", human ? NULL : r->judges[a->judge_b].name);
    vq_json_put_bool(j, "b_is_human", human);
    vq_json_put_u64(j, "rows", a->found.rows);
    vq_report_key_real(j, "exact", a->found.exact);
    vq_report_key_real(j, "kappa", a->found.kappa.kappa);
    vq_report_key_interval(j, "kappa_ci95", a->found.kappa.ci95);
    vq_report_key_real(j, "kappa_quadratic", a->found.kappa.kappa_quadratic);
    vq_report_key_real(j, "absolute_error", a->found.absolute_error);
    vq_report_key_real(j, "within_one", a->found.within_one);
    vq_report_key_real(j, "mean_a", a->found.mean_a);
    vq_report_key_real(j, "mean_b", a->found.mean_b);
    vq_json_object_end(j);
}

void vq_report_persona_json(const struct vq_report_persona *r, struct vq_buf *out)
{
    struct vq_json json;
    struct vq_json *j = &json;
    vq_json_init(j, out, 2);
    vq_json_object(j);
    vq_json_put_u64(j, "format", VQ_REPORT_FORMAT);
    vq_json_put_str(j, "method", "persona");
    write_plan(j, r);
    write_lengths(j, r);
    write_judges(j, r);
    vq_json_put_array(j, "measures");
    for (uint32_t i = 0; i < r->numbers->measures_count; i++) {
        write_measure(j, r, &r->numbers->measures[i]);
    }
    vq_json_array_end(j);
    vq_json_put_object(j, "human");
    vq_json_put_u64(j, "labels", r->human_labels);
    vq_json_put_u64(j, "of_nothing_rated", r->human_unplaced);
    vq_json_object_end(j);
    vq_json_put_array(j, "agreement");
    for (uint32_t i = 0; i < r->numbers->agreements_count; i++) {
        write_agreement(j, r, &r->numbers->agreements[i]);
    }
    vq_json_array_end(j);
    vq_json_object_end(j);
    vq_buf_putc(out, '\n');
}
