/* After each iteration: computes the numbers of all vibes so far on the train rows, the surviving
 * vibes and the rows that model matching gets wrong, and decides whether to continue. The last step
 * asks the final vibes on the test rows. Every end has a reason, and a note with the reason.
 * Invariant: gates use only train rows, so the final vibes here are those that the results keep. */
#include "common/base/alloc.h"
#include "methods/vibecheck/steps/parts.h"

#include <math.h>

static enum vq_status look(struct vq_vibecheck_method *m, struct vq_error *err);

enum vq_status vq_iterate_rank(struct vq_vibecheck_method *m, struct vq_error *err)
{
    const char *name = vq_arena_printf(&m->memory, "rank %u", m->iteration + 1);
    uint32_t from = (uint32_t)m->vibes_count - m->iterations[m->iteration].evaluated;
    return name == NULL ? VQ_NOMEM
                        : vq_rank_begin(m, name, from, m->train_sorted, m->train_count, look, err);
}

/* ---- misclassified rows ---- */

/* Whether a row is misclassified: the row or its mirrored copy is wrong. A margin of 0 is wrong on
 * one of them, and a missing margin counts as wrong. */
static bool wrong(double margin)
{
    return !(margin >= VQ_LOGIT_TIE);
}

static bool is_misclassified(const struct vq_vibecheck_method *m,
                             const struct vq_vibecheck *numbers, uint32_t i)
{
    int8_t preference = m->rows[m->train_sorted[i]].preference;
    bool pp = m->in.config->vibecheck.misclassified == VQ_MISCLASSIFIED_MM_OR_PP &&
              preference != 0 && numbers->pp.status == VQ_FIT_OK;
    return wrong(numbers->mm_margin[i]) || (pp && wrong(preference * numbers->pp_margin[i]));
}

static void misclassified_fill(struct vq_vibecheck_method *m, const struct vq_vibecheck *numbers)
{
    m->misclassified_count = 0;
    for (uint32_t i = 0; i < m->train_count; i++) {
        if (is_misclassified(m, numbers, i)) {
            m->misclassified[m->misclassified_count++] = m->train_sorted[i];
        }
    }
}

/* ---- continue or stop ---- */

static enum vq_stop stop_rule(const struct vq_vibecheck_method *m)
{
    const struct vq_conf_vibecheck *c = &m->in.config->vibecheck;
    const struct vq_iteration *it = &m->iterations[m->iteration];
    uint32_t least = c->min_misclassified == 0 ? c->d : c->min_misclassified;
    if (m->iteration + 1 >= c->iterations) {
        return VQ_STOP_ITERATIONS;
    }
    if (c->mm_stop > 0 && it->mm_accuracy >= c->mm_stop) {
        return VQ_STOP_MM;
    }
    return it->misclassified <= least ? VQ_STOP_MISCLASSIFIED : VQ_STOP_NONE;
}

static enum vq_status final_begin(struct vq_vibecheck_method *m, struct vq_error *err);

static enum vq_status stop(struct vq_vibecheck_method *m, enum vq_stop why)
{
    m->result.stop = why;
    m->then = final_begin;
    return vq_vibecheck_method_note(m, "discovery stopped after iteration %u of %u: %s",
                                    m->iteration + 1, m->in.config->vibecheck.iterations,
                                    vq_stop_text(why));
}

enum vq_status vq_iterate_no_new(struct vq_vibecheck_method *m, struct vq_error *err)
{
    (void)err;
    struct vq_iteration *it = &m->iterations[m->iteration];
    it->mm_accuracy = it->pp_accuracy = NAN;
    it->misclassified = m->iteration == 0 ? m->train_count : m->misclassified_count;
    if (m->iteration > 0) { /* no change since the last iteration */
        it->mm_accuracy = it[-1].mm_accuracy;
        it->pp_accuracy = it[-1].pp_accuracy;
    }
    return stop(m, VQ_STOP_NO_NEW);
}

static void survivors_mark(struct vq_vibecheck_method *m, const struct vq_vibecheck *numbers)
{
    struct vq_iteration *it = &m->iterations[m->iteration];
    for (size_t v = 0; v < m->vibes_count; v++) {
        m->vibes[v].kept = numbers->vibe[v].kept;
        it->added += m->vibes[v].kept && m->vibes[v].provenance.iteration == m->iteration;
    }
}

static enum vq_status look(struct vq_vibecheck_method *m, struct vq_error *err)
{
    struct vq_iteration *it = &m->iterations[m->iteration];
    struct vq_vibecheck *numbers;
    if (m->misclassified == NULL) {
        VQ_TRY(VQ_ARENA_ALLOC(&m->memory, m->misclassified, m->train_count));
    }
    VQ_TRY(
        vq_vibecheck_method_compute(m, 0, m->train_sorted, m->train_count, false, &numbers, err));
    survivors_mark(m, numbers);
    misclassified_fill(m, numbers);
    it->misclassified = m->misclassified_count;
    it->mm_accuracy = numbers->mm.accuracy_train;
    it->pp_accuracy = numbers->pp.accuracy_train;
    uint32_t kept = numbers->kept_count;
    vq_vibecheck_destroy(&numbers);
    VQ_TRY(vq_vibecheck_method_note(
        m,
        "iteration %u: vibes that pass the gates: %u of %u new, %u in all; model matching is right "
        "on %.1f %% of the train rows, wrong or undecided: %u of %u",
        m->iteration + 1, it->added, it->evaluated, kept, it->mm_accuracy * 100, it->misclassified,
        m->train_count));
    enum vq_stop why = stop_rule(m);
    if (why != VQ_STOP_NONE) {
        return stop(m, why);
    }
    m->iteration++;
    m->then = vq_discover_begin;
    return VQ_OK;
}

/* ---- the end ---- */

enum vq_status vq_vibecheck_method_final(struct vq_vibecheck_method *m, uint32_t **ret_vibes,
                                         uint32_t *ret_count, struct vq_vibecheck **ret_numbers,
                                         struct vq_error *err)
{
    uint32_t *vibes;
    VQ_TRY(VQ_ARENA_ALLOC(&m->memory, vibes, m->vibes_count));
    VQ_TRY(
        vq_vibecheck_method_compute(m, 0, m->train_sorted, m->train_count, true, ret_numbers, err));
    uint32_t n = 0;
    for (uint32_t v = 0; v < m->vibes_count; v++) {
        if ((*ret_numbers)->vibe[v].kept) {
            vibes[n++] = v;
        }
    }
    *ret_vibes = vibes;
    *ret_count = n;
    return VQ_OK;
}

static enum vq_status final_begin(struct vq_vibecheck_method *m, struct vq_error *err)
{
    if (m->vibes_count == 0) {
        m->then = vq_walk_final;
        return vq_vibecheck_method_note(m, "no vibe was validated");
    }
    uint32_t *vibes, n;
    struct vq_vibecheck *numbers;
    VQ_TRY(vq_vibecheck_method_final(m, &vibes, &n, &numbers, err));
    vq_vibecheck_destroy(&numbers);
    VQ_TRY(vq_vibecheck_method_note(
        m, "final vibes: %u of %zu that were validated, to be scored on %u test rows", n,
        m->vibes_count, m->test_count));
    return vq_rank_some(m, "test", vibes, n, m->test_sorted, m->test_count, vq_walk_final, err);
}
