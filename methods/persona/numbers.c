/* Computes the measures of a persona evaluation and the agreement of raters. First it checks the
 * ratings against the plan, so that no index below is out of bounds. Then it makes the measures in
 * a fixed order: criteria as given, fidelity, errors of traits, measured results. One arena owns
 * all of them. Invariant: the same study gives the same numbers, and the order of ratings of
 * different things has no influence (the two orders of one comparison must be neighbours). Not its
 * job: values by cell (panel.c), curves from them (curves.c), texts. */
#include "methods/persona/numbers.h"

#include "common/base/alloc.h"
#include "methods/persona/parts.h"

#include <math.h>

const char *vq_persona_trait_name(enum vq_persona_trait trait)
{
    static const char *const names[] = {"openness", "conscientiousness", "extraversion",
                                        "agreeableness", "neuroticism"};
    return trait < VQ_TRAITS ? names[trait] : "?";
}

const char *vq_persona_status_name(unsigned status)
{
    return status == VQ_PERSONA_FAILED    ? "failed"
           : status == VQ_PERSONA_BLOCKED ? "blocked"
                                          : vq_rating_status_name((enum vq_rating_status)status);
}

const char *vq_persona_curve_name(enum vq_persona_curve curve)
{
    static const char *const names[] = {"persona", "baseline", "change", "gap", "kinds"};
    return curve < VQ_CURVES ? names[curve] : "?";
}

double vq_persona_length(const struct vq_persona_numbers *numbers,
                         const struct vq_persona_measure *measure, uint32_t model, uint32_t asker,
                         uint32_t script, uint32_t round)
{
    const double *of = numbers->lengths[measure->turns.points > 0 ? 0 : 1];
    size_t dialogue = ((size_t)model * numbers->askers + asker) * numbers->scripts + script;
    return of == NULL ? (double)NAN : of[dialogue * (numbers->rounds + 1) + round];
}

double vq_persona_percent(enum vq_persona_unit unit, double value)
{
    return unit == VQ_PERSONA_RATING ? 100 * (value - VQ_RATING_LIKERT_MIN) /
                                           (VQ_RATING_LIKERT_MAX - VQ_RATING_LIKERT_MIN)
                                     : 100 * value;
}

/* ---- checks ---- */

static bool fits(const struct vq_persona_study *s, const struct vq_persona_rated *r)
{
    const struct vq_persona_design *d = &s->plan->design;
    if (r->criterion >= s->criteria_count || r->model >= d->models ||
        r->persona >= s->plan->askers || r->script >= d->scripts_count || r->position > 1 ||
        (uint32_t)r->order >= s->plan->orders || r->reference >= VQ_PERSONA_REFERENCES ||
        (r->as != VQ_PERSONA_NONE && r->as >= d->personas)) {
        return false;
    }
    bool turns = s->criteria[r->criterion].use == VQ_PERSONA_OF_TURNS;
    return r->point < (turns ? d->rounds : d->checkpoints);
}

static enum vq_status check_ratings(const struct vq_persona_study *s, struct vq_error *err)
{
    for (size_t i = 0; i < s->rated_count; i++) {
        if (!fits(s, &s->rated[i])) {
            return vq_fail(err, VQ_INVALID, "rating %zu is of nothing that was planned", i + 1);
        }
    }
    for (size_t i = 0; i < s->rated_count * s->judges; i++) {
        if (isinf(s->values[i]) || s->statuses[i] >= VQ_PERSONA_STATUSES) {
            return vq_fail(err, VQ_INVALID, "rating %zu has no value and no status",
                           i / s->judges + 1);
        }
    }
    return VQ_OK;
}

static enum vq_status check(const struct vq_persona_study *s, struct vq_error *err)
{
    const struct vq_persona_design *d = &s->plan->design;
    for (uint32_t c = 0; c < s->criteria_count; c++) {
        const struct vq_persona_criterion *one = &s->criteria[c];
        if (one->use >= VQ_PERSONA_USES || one->trait >= VQ_TRAITS) {
            return vq_fail(err, VQ_INVALID, "criterion %u has no use", c + 1);
        }
    }
    if (s->judges > VQ_PERSONA_JUDGES_MAX || (s->rated_count > 0 && s->judges == 0)) {
        return vq_fail(err, VQ_LIMIT, "%u judges (at most %u)", s->judges, VQ_PERSONA_JUDGES_MAX);
    }
    size_t lengths = (size_t)s->plan->chains_count * (d->rounds + 1);
    for (size_t i = 0; s->tokens != NULL && i < lengths; i++) {
        if (isinf(s->tokens[i])) {
            return vq_fail(err, VQ_INVALID, "a dialogue of endless tokens");
        }
    }
    for (size_t i = 0; i < s->measured_count; i++) {
        const struct vq_persona_measured *m = &s->measured[i];
        if (m->model >= d->models || m->persona >= s->plan->askers ||
            m->script >= d->scripts_count || m->checkpoint >= d->checkpoints ||
            !(m->correct >= 0) || !(m->total >= m->correct) || isinf(m->total)) {
            return vq_fail(err, VQ_INVALID, "result %zu is of nothing that was planned", i + 1);
        }
    }
    return check_ratings(s, err);
}

/* ---- measures ---- */

/* Starts the next measure. */
static enum vq_status begin(struct vq_persona_work *w, const char *name, const char *part,
                            enum vq_persona_what what, uint32_t criterion,
                            struct vq_persona_measure **ret_measure)
{
    if (w->out->measures_count >= VQ_PERSONA_MEASURES_MAX) {
        return vq_fail(w->err, VQ_LIMIT, "more than %u measures", VQ_PERSONA_MEASURES_MAX);
    }
    struct vq_persona_measure *m = &w->out->measures[w->out->measures_count];
    m->name = vq_arena_printf(w->arena, "%s%s%s", name, part[0] == '\0' ? "" : ": ", part);
    m->what = what;
    m->unit = VQ_PERSONA_SHARE;
    m->criterion = criterion;
    m->cells = w->out->cells;
    m->statuses = vq_arena_alloc(w->arena, w->study->judges, sizeof(*m->statuses));
    VQ_TRY(vq_arena_status(w->arena));
    *ret_measure = m;
    return VQ_OK;
}

static enum vq_status end(struct vq_persona_work *w, struct vq_persona_measure *m)
{
    VQ_TRY(vq_measure_finish(w, m));
    w->out->measures_count++;
    return VQ_OK;
}

static bool has_label(const struct vq_persona_work *w, uint32_t criterion)
{
    for (size_t i = 0; i < w->study->rated_count; i++) {
        if (w->study->rated[i].criterion == criterion &&
            w->study->rated[i].label != VQ_PERSONA_UNLABELLED) {
            return true;
        }
    }
    return false;
}

static bool has_reference(const struct vq_persona_work *w, uint32_t criterion,
                          enum vq_persona_reference reference)
{
    for (size_t i = 0; i < w->study->rated_count; i++) {
        if (w->study->rated[i].criterion == criterion &&
            w->study->rated[i].reference == reference) {
            return true;
        }
    }
    return false;
}

static enum vq_status one(struct vq_persona_work *w, uint32_t criterion, const char *part,
                          enum vq_persona_what what, enum vq_persona_reference reference)
{
    const struct vq_persona_criterion *c = &w->study->criteria[criterion];
    struct vq_persona_measure *m;
    VQ_TRY(begin(w, c->name, part, what, criterion, &m));
    m->reference = reference;
    m->unit = what == VQ_PERSONA_MEAN && c->kind == VQ_RATING_LIKERT ? VQ_PERSONA_RATING
                                                                     : VQ_PERSONA_SHARE;
    VQ_TRY(vq_panel_criterion(w, m));
    return end(w, m);
}

static enum vq_status criterion(struct vq_persona_work *w, uint32_t c)
{
    const struct vq_persona_criterion *of = &w->study->criteria[c];
    if (of->use == VQ_PERSONA_OF_PAIRS) {
        for (int r = 0; r < VQ_PERSONA_REFERENCES; r++) {
            enum vq_persona_reference reference = (enum vq_persona_reference)r;
            if (has_reference(w, c, reference)) {
                VQ_TRY(one(w, c, vq_persona_reference_name(reference), VQ_PERSONA_WINS, reference));
            }
        }
        return VQ_OK;
    }
    if (of->use == VQ_PERSONA_OF_SAFETY && has_label(w, c)) {
        VQ_TRY(one(w, c, "unsafe", VQ_PERSONA_REFUSAL, VQ_PERSONA_DATASET));
        return one(w, c, "safe", VQ_PERSONA_OVERREFUSAL, VQ_PERSONA_DATASET);
    }
    return one(w, c, "", VQ_PERSONA_MEAN, VQ_PERSONA_DATASET);
}

static enum vq_status fidelity(struct vq_persona_work *w)
{
    uint32_t of = 0;
    for (uint32_t i = 0; i < w->out->measures_count; i++) {
        of += vq_persona_in_fidelity(&w->out->measures[i]);
    }
    if (of < 2) {
        return VQ_OK;
    }
    struct vq_persona_measure *m;
    VQ_TRY(begin(w, "fidelity", "", VQ_PERSONA_FIDELITY, VQ_PERSONA_NONE, &m));
    m->unit = VQ_PERSONA_RATING;
    VQ_TRY(vq_panel_fidelity(w, m));
    return end(w, m);
}

static enum vq_status traits(struct vq_persona_work *w)
{
    const struct vq_persona_measure *of[VQ_TRAITS] = {NULL};
    for (uint32_t i = 0; i < w->out->measures_count; i++) {
        const struct vq_persona_measure *m = &w->out->measures[i];
        const struct vq_persona_criterion *c =
            m->criterion == VQ_PERSONA_NONE ? NULL : &w->study->criteria[m->criterion];
        if (c != NULL && c->use == VQ_PERSONA_OF_TRAITS) {
            of[c->trait] = m;
        }
    }
    for (int t = 0; t < VQ_TRAITS; t++) {
        if (of[t] == NULL) {
            return VQ_OK;
        }
    }
    struct vq_persona_measure *m;
    uint32_t labelled = 0;
    for (uint32_t p = 0; p < w->out->personas && w->study->labels != NULL; p++) {
        labelled += w->study->labels[p].known;
    }
    if (labelled > 0) {
        VQ_TRY(begin(w, "big five", "error", VQ_PERSONA_ERROR, VQ_PERSONA_NONE, &m));
        m->cells = labelled * w->out->models;
        VQ_TRY(vq_panel_traits(w, m, of));
        VQ_TRY(end(w, m));
    }
    if (!w->study->plan->design.baseline) {
        return VQ_OK;
    }
    VQ_TRY(begin(w, "big five", "distance", VQ_PERSONA_DISTANCE, VQ_PERSONA_NONE, &m));
    VQ_TRY(vq_panel_traits(w, m, of));
    return end(w, m);
}

static enum vq_status measured(struct vq_persona_work *w)
{
    if (w->study->measured_count == 0) {
        return VQ_OK;
    }
    struct vq_persona_measure *m;
    VQ_TRY(begin(w, w->study->measured_name, "", VQ_PERSONA_MEASURED, VQ_PERSONA_NONE, &m));
    VQ_TRY(vq_panel_measured(w, m));
    return end(w, m);
}

/* ---- agreement ---- */

/* One rater's values of a criterion's things. NaN for things of other criteria, and for values that
 * the kind does not allow. */
static void ratings_by(const struct vq_persona_study *s, uint32_t criterion, uint32_t judge,
                       double *ret_values)
{
    bool likert = s->criteria[criterion].kind == VQ_RATING_LIKERT;
    double least = likert ? VQ_RATING_LIKERT_MIN : 0, most = likert ? VQ_RATING_LIKERT_MAX : 1;
    for (size_t i = 0; i < s->rated_count; i++) {
        double value = s->rated[i].criterion != criterion ? NAN
                       : judge == VQ_PERSONA_HUMAN        ? s->human[i]
                                                          : s->values[i * s->judges + judge];
        bool known = value >= least && value <= most && value == floor(value);
        ret_values[i] = known ? value : NAN;
    }
}

static enum vq_status agree(struct vq_persona_work *w, uint32_t criterion, double *values)
{
    const struct vq_persona_study *s = w->study;
    bool likert = s->criteria[criterion].kind == VQ_RATING_LIKERT;
    uint32_t raters = s->judges + (s->human != NULL);
    double *a = values, *b = values + s->rated_count;
    for (uint32_t i = 0; i < s->judges; i++) {
        ratings_by(s, criterion, i, a);
        for (uint32_t j = i + 1; j < raters; j++) {
            struct vq_persona_agreement *one = &w->out->agreements[w->out->agreements_count];
            *one = (struct vq_persona_agreement){.criterion = criterion,
                                                 .judge_a = i,
                                                 .judge_b = j < s->judges ? j : VQ_PERSONA_HUMAN};
            ratings_by(s, criterion, one->judge_b, b);
            VQ_TRY(vq_ratings_agree(a, b, s->rated_count, likert ? VQ_RATING_LIKERT_MIN : 0,
                                    likert ? VQ_RATING_LIKERT_MAX : 1, &one->found));
            w->out->agreements_count += one->found.rows > 0;
        }
    }
    return VQ_OK;
}

static enum vq_status agreements(struct vq_persona_work *w)
{
    const struct vq_persona_study *s = w->study;
    uint32_t raters = s->judges + (s->human != NULL);
    size_t pairs = (size_t)s->criteria_count * raters * raters;
    double *values;
    VQ_TRY(VQ_ARENA_ALLOC(w->arena, w->out->agreements, pairs));
    VQ_TRY(VQ_ARENA_ALLOC(&w->space, values, 2 * s->rated_count));
    for (uint32_t c = 0; raters > 1 && c < s->criteria_count; c++) {
        VQ_TRY(agree(w, c, values));
    }
    return VQ_OK;
}

/* ---- all of it ---- */

static enum vq_status prepare(struct vq_persona_work *w)
{
    const struct vq_persona_plan *plan = w->study->plan;
    const struct vq_persona_design *d = &plan->design;
    w->out->models = d->models;
    w->out->personas = d->personas;
    w->out->scripts = d->scripts_count;
    w->out->cells = d->models * d->personas;
    VQ_TRY(VQ_ARENA_ALLOC(w->arena, w->out->measures, VQ_PERSONA_MEASURES_MAX));
    VQ_TRY(VQ_ARENA_ALLOC(w->arena, w->turns, d->rounds));
    VQ_TRY(VQ_ARENA_ALLOC(w->arena, w->edges, d->rounds));
    for (uint32_t i = 0; i < d->rounds; i++) {
        w->turns[i] = i;
    }
    if (d->checkpoints < 2) { /* there are no checkpoints to join at, so each turn is a point */
        for (uint32_t i = 0; i < d->rounds; i++) {
            w->edges[w->edges_count++] = i;
        }
    }
    for (uint32_t i = 0; d->checkpoints >= 2 && i < d->checkpoints; i++) {
        uint32_t turn = plan->checkpoints[i] < d->rounds ? plan->checkpoints[i] : d->rounds - 1;
        if (i == 0 || turn > w->edges[w->edges_count - 1]) {
            w->edges[w->edges_count++] = turn;
        }
    }
    return VQ_OK;
}

/* If only one order has a length at a position, this length counts, as for ratings. */
static enum vq_status lengths(struct vq_persona_work *w)
{
    const struct vq_persona_study *s = w->study;
    const struct vq_persona_plan *plan = s->plan;
    size_t points = (size_t)plan->design.rounds + 1;
    size_t n = (size_t)plan->design.models * plan->askers * plan->design.scripts_count * points;
    w->out->askers = plan->askers;
    w->out->rounds = plan->design.rounds;
    for (int k = 0; s->tokens != NULL && k < 2; k++) {
        VQ_TRY(VQ_ARENA_ALLOC(w->arena, w->out->lengths[k], n));
    }
    for (size_t i = 0; s->tokens != NULL && i < n; i++) {
        const double *first = s->tokens + i / points * plan->orders * points + i % points;
        double other = plan->orders > 1 ? first[points] : NAN;
        w->out->lengths[1][i] = first[0];
        w->out->lengths[0][i] = isnan(other)      ? first[0]
                                : isnan(first[0]) ? other
                                                  : (first[0] + other) / 2;
    }
    return VQ_OK;
}

static enum vq_status compute(struct vq_persona_work *w)
{
    VQ_TRY(prepare(w));
    VQ_TRY(lengths(w));
    for (uint32_t c = 0; c < w->study->criteria_count; c++) {
        VQ_TRY(criterion(w, c));
    }
    VQ_TRY(fidelity(w));
    VQ_TRY(traits(w));
    VQ_TRY(measured(w));
    return agreements(w);
}

enum vq_status vq_persona_numbers_compute(const struct vq_persona_study *study,
                                          struct vq_persona_numbers **ret_numbers,
                                          struct vq_error *err)
{
    VQ_TRY(check(study, err));
    struct vq_persona_numbers *out;
    VQ_TRY(VQ_ALLOC(out, 1));
    struct vq_persona_work w = {.study = study, .out = out, .arena = &out->arena, .err = err};
    enum vq_status status = compute(&w);
    vq_arena_clear(&w.space);
    if (status != VQ_OK) {
        vq_persona_numbers_destroy(&out);
        return status;
    }
    *ret_numbers = out;
    return VQ_OK;
}

void vq_persona_numbers_destroy(struct vq_persona_numbers **numbers)
{
    if (*numbers != NULL) {
        vq_arena_clear(&(*numbers)->arena);
        vq_free(*numbers);
        *numbers = NULL;
    }
}

const struct vq_cells_mean *vq_persona_curve_at(const struct vq_persona_numbers *numbers,
                                                const struct vq_persona_measure *measure,
                                                enum vq_persona_curve curve, uint32_t script,
                                                uint32_t point)
{
    VQ_ASSERT(curve < VQ_CURVES && script < numbers->scripts && point < measure->panel.points);
    return &measure->curves[((size_t)curve * numbers->scripts + script) * measure->panel.points +
                            point];
}
