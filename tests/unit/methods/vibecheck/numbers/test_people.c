/* Judges against people: who agrees, and an estimate that a biased judge does not lead astray. */
#include "../planted.h"

enum {
    ROWS = 2000, /* half of them test */
    LABELLED = 300
};

/* People: A is higher in 60 % of rows. The judge says so too, but calls a fifth of the rest A as
 * well. */
static struct planted *world(int8_t *people, double *ret_truth)
{
    struct planted *w = planted_create(ROWS, 1, 1, 5);
    uint32_t labelled = 0;
    *ret_truth = 0;
    for (uint32_t i = 0; i < ROWS; i++) {
        int label = planted_chance(&w->rng, 0.6) ? 1 : -1;
        int score = label < 0 && planted_chance(&w->rng, 0.4) ? 1 : label;
        planted_say(w, i, 0, 0, score);
        *ret_truth += w->rows[i].test ? 2.0 * label / ROWS : 0;
        bool asked = w->rows[i].test && labelled < LABELLED;
        people[i] = asked ? (int8_t)label : VQ_LABEL_NONE;
        labelled += asked;
    }
    return w;
}

TEST(labels_correct_the_judge)
{
    static int8_t people[ROWS];
    double truth;
    struct planted *w = world(people, &truth);
    w->in.people = people;
    struct vq_vibecheck *r = planted_compute(w);
    const struct vq_people_metrics *m = &r->vibe[0].people;
    print_message("  judge %.3f, people %.3f [%.3f, %.3f], truth %.3f, agreement %.3f\n",
                  m->separability.judge, m->separability.mean, m->separability.ci95.lo,
                  m->separability.ci95.hi, truth, m->agreement);
    assert_int_equal(m->separability.labelled, LABELLED);
    assert_int_equal(m->separability.scored, ROWS / 2);
    assert_true(m->separability.judge > truth + 0.2);
    assert_true(m->separability.ci95.lo < truth && truth < m->separability.ci95.hi);
    assert_true(m->separability.ci95.hi < m->separability.judge);
    assert_true(fabs(m->agreement - 0.84) < 0.06);
    assert_true(m->agreement_ci95.lo < 0.84 && 0.84 < m->agreement_ci95.hi);
    assert_true(m->kappa > 0.5 && m->kappa < m->agreement);
    vq_vibecheck_destroy(&r);
    planted_destroy(w);
}

TEST(nobody_was_asked)
{
    static int8_t people[ROWS];
    double truth;
    struct planted *w = world(people, &truth);
    struct vq_vibecheck *r = planted_compute(w);
    assert_int_equal(r->vibe[0].people.separability.labelled, 0);
    assert_true(isnan(r->vibe[0].people.agreement));
    vq_vibecheck_destroy(&r);
    memset(people, VQ_LABEL_NONE, sizeof(people));
    w->in.people = people;
    r = planted_compute(w);
    assert_int_equal(r->vibe[0].people.separability.labelled, 0);
    assert_true(isnan(r->vibe[0].people.separability.mean));
    vq_vibecheck_destroy(&r);
    planted_destroy(w);
}
