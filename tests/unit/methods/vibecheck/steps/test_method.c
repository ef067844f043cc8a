/* Decisions on method where they show in the numbers of a whole run: what missing answers do to a
 * fit, how audited cells stand for the others, what unlabelled rows are for, questions as the unit,
 * agreement among several judges, overlap, the choice of C, and what is said when there is nothing
 * to say. */
#include "tests/unit/methods/vibecheck/planted.h"

static const struct lens good = {.error = 0.05};

/* Every vibe: truth +1 with its chance of `p`, seen by all judges through `lens`. */
static void tell(struct planted *w, const double *p, const struct lens *lens)
{
    for (uint32_t i = 0; i < w->in.grid.samples; i++) {
        for (uint32_t v = 0; v < w->in.grid.vibes; v++) {
            int truth = planted_chance(&w->rng, p[v]) ? 1 : -1;
            for (uint32_t j = 0; j < w->in.grid.judges; j++) {
                planted_ask(&w->rng, lens, truth, planted_cell(w, i, v, j));
            }
            if (v == 0) {
                w->rows[i].preference = (int8_t)(planted_chance(&w->rng, 0.15) ? -truth : truth);
            }
        }
    }
}

static void assert_same(double a, double b)
{
    if (!(fabs(a - b) <= 1e-9 * (1 + fabs(a)) || (isnan(a) && isnan(b)))) {
        fail_msg("%.12g is not %.12g", a, b);
    }
}

/* Decision 1. A missing cell weighs nothing in the fit, is counted, and the complete rows are
 * looked at by themselves. */
TEST(missing_cells_are_imputed_counted_and_warned_of)
{
    static const double p[2] = {0.7, 0.6};
    struct planted *w = planted_create(200, 1, 2, 3);
    tell(w, p, &(struct lens){0});
    uint64_t gone_train = 0, gone_test = 0;
    for (uint32_t i = 0; i < 200;
         i++) { /* the rows that speak against A on vibe 0 lose that answer */
        uint8_t *both = planted_cell(w, i, 0, 0);
        if (both[0] == VQ_OUTCOME_SECOND) {
            both[1] = VQ_OUTCOME_BAD_RESPONSE;
            *(i % 2 == 0 ? &gone_train : &gone_test) += 1;
        }
    }
    assert_true(gone_train > 0 && gone_test > 0);
    struct vq_vibecheck *r = planted_compute(w);
    assert_int_equal(r->mm.cells_imputed_train, gone_train);
    assert_int_equal(r->mm.cells_imputed_test, gone_test);
    assert_int_equal(r->cells_missing, gone_train + gone_test);
    assert_true(r->mm.accuracy_test_complete > r->mm.accuracy_test + 0.01);
    assert_true(r->mm.missing_warning);
    double known = 0;
    for (uint32_t i = 0; i < 200; i++) { /* neutral: the margin is that of the other vibe alone */
        bool gone = isnan(r->scores->x[i * 2]);
        double alone = r->vibe[1].mm.coef * r->scores->x[i * 2 + 1];
        known += gone;
        if (gone) {
            assert_same(r->mm_margin[i], alone);
        }
    }
    assert_true(known > 0);
    assert_same(r->vibe[0].train.sep, 1); /* of the cells there are */
    vq_vibecheck_destroy(&r);
    planted_destroy(w);
}

/* Decision 1. One judge's failure leaves the row to the other judge; kappa takes the rows that both
 * judged. */
TEST(a_row_keeps_the_judges_it_has)
{
    static const double p[1] = {0.7};
    struct planted *w = planted_create(200, 2, 1, 5);
    tell(w, p, &good);
    struct vq_vibecheck *full = planted_compute(w);
    for (uint32_t i = 0; i < 60; i++) {
        planted_cell(w, i, 0, 1)[i % 2] = VQ_OUTCOME_REFUSED;
    }
    struct vq_vibecheck *r = planted_compute(w);
    for (uint32_t i = 0; i < 60; i++) {
        assert_same(r->scores->x[i], vq_scores_at(full->scores, i, 0, 0));
    }
    assert_int_equal(r->vibe[0].train.missing + r->vibe[0].test.missing, 0);
    assert_int_equal(r->vibe[0].judges[1].missing, 60);
    /* 30 of the 200 train scores: what they are not known to be is in the bounds */
    assert_same(r->vibe[0].bounds.hi - r->vibe[0].bounds.lo, 2.0 * 30 / 200);
    assert_true(r->vibe[0].bounds.lo < r->vibe[0].train.sep &&
                r->vibe[0].train.sep < r->vibe[0].bounds.hi);
    assert_false(r->vibe[0].gate_could_flip);
    assert_same(full->vibe[0].bounds.lo, full->vibe[0].bounds.hi);
    assert_same(full->vibe[0].bounds.lo, full->vibe[0].train.sep);
    for (uint32_t i = 0; i < 60; i++) { /* what the other judge says there changes no agreement */
        planted_say(w, i, 0, 0, i % 3 == 0 ? 0 : 1);
    }
    struct vq_vibecheck *other = planted_compute(w);
    assert_same(other->vibe[0].train.agreement.kappa, r->vibe[0].train.agreement.kappa);
    assert_true(fabs(other->vibe[0].train.sep - r->vibe[0].train.sep) > 0.01);
    vq_vibecheck_destroy(&full);
    vq_vibecheck_destroy(&r);
    vq_vibecheck_destroy(&other);
    planted_destroy(w);
}

/* Decision 3. Of the settled cells a tenth is swapped all the same; each stands for ten, so that
 * estimates which need both orders agree with those of asking everything. The n beside them are the
 * cells that were really asked. */
TEST(audited_cells_stand_for_ten)
{
    enum {
        ROWS = 20000
    };
    struct planted *w = planted_create(ROWS, 2, 1, 7);
    /* a judge drawn to equal, and otherwise to what is shown first: order effects that only both
     * orders show */
    for (uint32_t i = 0; i < ROWS; i++) {
        for (uint32_t j = 0; j < 2; j++) {
            uint8_t *both = planted_cell(w, i, 0, j);
            for (uint32_t order = 0; order < 2; order++) {
                both[order] = planted_chance(&w->rng, 0.4)   ? VQ_OUTCOME_EQUAL
                              : planted_chance(&w->rng, 0.7) ? VQ_OUTCOME_FIRST
                                                             : VQ_OUTCOME_SECOND;
            }
        }
    }
    struct vq_vibecheck *full = planted_compute(w);
    uint64_t audited = 0, settled = 0;
    for (uint32_t i = 0; i < ROWS; i++) {
        uint32_t first = w->first[(size_t)i * 2];
        uint8_t *both = planted_cell(w, i, 0, 0);
        if (both[first] == VQ_OUTCOME_EQUAL) {
            bool audit = planted_chance(&w->rng, 0.1);
            settled++;
            audited += audit;
            both[1 - first] = audit ? both[1 - first] : (uint8_t)VQ_OUTCOME_NOT_NEEDED;
        }
    }
    w->config.judging.lazy_swap = true;
    struct vq_vibecheck *lazy = planted_compute(w);
    const struct vq_audit_judge *a = &full->audit.judges[0], *b = &lazy->audit.judges[0];
    assert_int_equal(b->cells_audited, audited);
    assert_int_equal(b->cells_both, ROWS - settled + audited);
    assert_int_equal(a->cells_both, ROWS);
    assert_true(fabs(a->order_effect - b->order_effect) < 0.02);
    assert_true(fabs(a->lenient_changed - b->lenient_changed) < 0.02);
    assert_true(a->lenient_changed > 0.3); /* there is something to miss */
    for (int order = 0; order < 2; order++) {
        assert_true(fabs(full->audit.kappa_order[order] - lazy->audit.kappa_order[order]) < 0.03);
        assert_true(lazy->audit.kappa_order_n[order] < full->audit.kappa_order_n[order]);
    }
    vq_vibecheck_destroy(&full);
    vq_vibecheck_destroy(&lazy);
    planted_destroy(w);
}

/* Decision 4. Without a label a row counts for all but preference prediction. */
TEST(unlabelled_rows_count_for_all_but_preference)
{
    static const double p[2] = {0.8, 0.3};
    struct planted *w = planted_create(200, 2, 2, 9);
    tell(w, p, &good);
    struct vq_vibecheck *full = planted_compute(w);
    uint64_t labelled_train = 0, labelled_test = 0;
    for (uint32_t i = 0; i < 200; i++) {
        if (i % 5 == 0) {
            w->rows[i].preference = 0;
        } else {
            *(w->rows[i].test ? &labelled_test : &labelled_train) += 1;
        }
    }
    struct vq_vibecheck *r = planted_compute(w);
    assert_int_equal(r->mm.rows_train, 100);
    assert_int_equal(r->pp.rows_train, labelled_train);
    assert_int_equal(r->pp.rows_test, labelled_test);
    assert_same(r->mm.accuracy_test, full->mm.accuracy_test);
    for (uint32_t v = 0; v < 2; v++) {
        assert_same(r->vibe[v].train.sep, full->vibe[v].train.sep);
        assert_same(r->vibe[v].train.agreement.kappa, full->vibe[v].train.agreement.kappa);
        assert_same(r->vibe[v].mm.coef, full->vibe[v].mm.coef);
    }
    assert_true(fabs(r->vibe[0].train.pref - full->vibe[0].train.pref) > 0);
    assert_true(isfinite(r->pp_margin[0])); /* and is still predicted */
    vq_vibecheck_destroy(&full);
    vq_vibecheck_destroy(&r);
    planted_destroy(w);
}

static double width(struct vq_interval ci)
{
    return ci.hi - ci.lo;
}

/* Decision 6. Repeats of a question are no new evidence: intervals are as wide as without them, and
 * folds keep them together. */
TEST(repeated_questions_narrow_no_interval)
{
    enum {
        QUESTIONS = 120,
        REPEATS = 4
    };
    static const double p[1] = {0.65};
    struct planted *once = planted_create(QUESTIONS, 2, 1, 11);
    once->config.regression.bootstrap_draws = 1000;
    tell(once, p, &good);
    struct planted *often = planted_create(QUESTIONS * REPEATS, 2, 1, 11);
    often->config.regression.bootstrap_draws = 1000;
    for (uint32_t i = 0; i < QUESTIONS * REPEATS; i++) {
        uint32_t q = i / REPEATS;
        often->rows[i] = once->rows[q];
        for (uint32_t j = 0; j < 2; j++) {
            memcpy(planted_cell(often, i, 0, j), planted_cell(once, q, 0, j), 2);
            often->first[(size_t)i * 2 + j] = once->first[(size_t)q * 2 + j];
        }
    }
    struct vq_vibecheck *a = planted_compute(once), *b = planted_compute(often);
    for (uint32_t i = 0; i < QUESTIONS * REPEATS; i++) {
        often->rows[i].group = i; /* as if each were a question of its own */
    }
    struct vq_vibecheck *careless = planted_compute(often);
    const struct vq_vibe_metrics *one = &a->vibe[0], *four = &b->vibe[0], *bad = &careless->vibe[0];
    assert_false(a->questions_repeat);
    assert_true(b->questions_repeat);
    assert_same(one->test.sep, four->test.sep);
    assert_true(fabs(width(four->test.sep_ci95) / width(one->test.sep_ci95) - 1) < 0.1);
    assert_true(width(bad->test.sep_ci95) < 0.6 * width(one->test.sep_ci95));
    assert_true(b->mm.c < careless->mm.c); /* no repeat of a held-out row in the fit */
    assert_true(width(b->mm.accuracy_test_ci95) > 1.5 * width(careless->mm.accuracy_test_ci95));
    assert_true(bad->train.p < four->train.p);
    assert_same(one->train.p, four->train.p);
    assert_same(one->test.p, four->test.p);
    vq_vibecheck_destroy(&a);
    vq_vibecheck_destroy(&b);
    vq_vibecheck_destroy(&careless);
    planted_destroy(once);
    planted_destroy(often);
}

/* Decision 7. Three judges: the mean over the pairs; one judge: no agreement, and the gate lets
 * pass. */
TEST(agreement_of_three_judges_and_of_one)
{
    static const struct lens lenses[3] = {{.error = 0.02}, {.error = 0.1}, {.error = 0.35}};
    struct planted *three = planted_create(300, 3, 1, 13);
    for (uint32_t i = 0; i < 300; i++) {
        int truth = planted_chance(&three->rng, 0.7) ? 1 : -1;
        for (uint32_t j = 0; j < 3; j++) {
            planted_ask(&three->rng, &lenses[j], truth, planted_cell(three, i, 0, j));
        }
    }
    struct vq_vibecheck *r = planted_compute(three);
    double kappa = 0, mirrored = 0;
    static const uint32_t pairs[3][2] = {{0, 1}, {0, 2}, {1, 2}};
    for (size_t k = 0; k < 3; k++) {
        struct planted *two = planted_create(300, 2, 1, 13);
        for (uint32_t i = 0; i < 300; i++) {
            memcpy(planted_cell(two, i, 0, 0), planted_cell(three, i, 0, pairs[k][0]), 2);
            memcpy(planted_cell(two, i, 0, 1), planted_cell(three, i, 0, pairs[k][1]), 2);
        }
        struct vq_vibecheck *pair = planted_compute(two);
        kappa += pair->vibe[0].train.agreement.kappa / 3;
        mirrored += pair->vibe[0].train.agreement.kappa_mirrored / 3;
        vq_vibecheck_destroy(&pair);
        planted_destroy(two);
    }
    assert_same(r->vibe[0].train.agreement.kappa, kappa);
    assert_same(r->vibe[0].train.agreement.kappa_mirrored, mirrored);
    assert_true(isfinite(r->vibe[0].train.agreement.alpha) && r->vibe[0].train.agreement.alpha < 1);
    vq_vibecheck_destroy(&r);
    planted_destroy(three);
    struct planted *one = planted_create(100, 1, 1, 13);
    tell(one, (const double[]){0.8}, &good);
    r = planted_compute(one);
    assert_true(isnan(r->vibe[0].train.agreement.kappa) && isnan(r->vibe[0].train.agreement.alpha));
    assert_true(r->vibe[0].kept);
    vq_vibecheck_destroy(&r);
    planted_destroy(one);
}

/* Decision 8. Two vibes that are +1 on nearly every row say the same; Pearson cannot see it. */
TEST(near_constant_twins_overlap)
{
    struct planted *w = planted_create(100, 2, 2, 15);
    for (uint32_t i = 0; i < 100; i++) {
        for (uint32_t j = 0; j < 2; j++) {
            planted_say(w, i, 0, j, i == 0 ? 0 : 1);
            planted_say(w, i, 1, j, i == 2 ? 0 : 1);
        }
    }
    w->config.gates.overlap = VQ_CONF_OVERLAP_COSINE;
    struct vq_vibecheck *r = planted_compute(w);
    assert_int_equal(r->vibe[1].reason, VQ_DROP_OVERLAP);
    assert_true(r->vibe[1].overlap > 0.9);
    vq_vibecheck_destroy(&r);
    w->config.gates.overlap = VQ_CONF_OVERLAP_PEARSON;
    r = planted_compute(w);
    assert_int_equal(r->kept_count, 2);
    assert_true(r->vibe[1].overlap_unjudged && !r->vibe[0].overlap_unjudged);
    vq_vibecheck_destroy(&r);
    planted_destroy(w);
}

/* Decision 10. On data that one vibe separates, held-out loss asks for a coefficient that says so;
 * accuracy with the smallest C on ties gives one near nothing. The unregularised estimate does not
 * exist there, and none is given. */
TEST(separable_data_get_a_coefficient_that_says_so)
{
    struct planted *w = planted_create(200, 2, 1, 17);
    for (uint32_t i = 0; i < 200; i++) {
        planted_say(w, i, 0, 0, 1);
        planted_say(w, i, 0, 1, 1);
    }
    struct vq_vibecheck *r = planted_compute(w);
    double c = r->mm.c;
    double coef = r->vibe[0].mm.coef;
    assert_true(isnan(r->vibe[0].mm.mle) && isnan(r->vibe[0].mm.mle_se));
    assert_int_equal(r->mm.mle_separation, VQ_LOGIT_COMPLETE);
    vq_vibecheck_destroy(&r);
    w->config.regression.cv = VQ_CV_PAPER;
    r = planted_compute(w);
    assert_true(r->mm.c < c);
    assert_true(r->vibe[0].mm.coef < 0.05);
    assert_true(coef > 1);
    assert_true(coef > 20 * r->vibe[0].mm.coef);
    vq_vibecheck_destroy(&r);
    planted_destroy(w);
}

/* Decision 11, 12 and 13. Vibes are chosen on train, so that test is another number; the baseline
 * is that of train's majority; nothing kept is one half and a status, not an error. */
TEST(train_chooses_and_test_tells)
{
    struct planted *w = planted_create(200, 2, 2, 19);
    for (uint32_t i = 0; i < 200; i++) {
        bool test = w->rows[i].test;
        bool rare = i % 20 < 2; /* one row in ten */
        for (uint32_t j = 0; j < 2; j++) {
            planted_say(w, i, 0, j, test ? (i % 4 == 1 ? -1 : 1) : (rare ? -1 : 1));
            planted_say(w, i, 1, j, test ? 1 : (i % 4 == 0 ? 1 : -1)); /* nothing on train */
        }
        w->rows[i].preference = (int8_t)(test ? -1 : rare ? -1 : 1);
    }
    struct vq_vibecheck *r = planted_compute(w);
    assert_same(r->vibe[0].train.sep, 0.8);
    assert_same(r->vibe[0].test.sep, 0);
    assert_true(r->vibe[0].kept);
    assert_same(r->vibe[1].train.sep, 0);
    assert_same(r->vibe[1].test.sep, 1);
    assert_int_equal(r->vibe[1].reason, VQ_DROP_SEPARABILITY);
    assert_same(r->mm.accuracy_test, 0.5);
    assert_same(r->pp.majority_baseline, 0); /* train prefers A, test never does */
    vq_vibecheck_destroy(&r);
    w->config.gates.separability_min = 0.9;
    w->config.regression.bootstrap_draws = 50;
    r = planted_compute(w);
    assert_int_equal(r->mm.status, VQ_FIT_NO_VIBES);
    assert_int_equal(r->pp.status, VQ_FIT_NO_VIBES);
    assert_same(r->mm.accuracy_train, 0.5);
    assert_same(r->mm.accuracy_test, 0.5);
    assert_true(isnan(r->mm.c) && isnan(r->vibe[0].mm.coef) && isnan(r->vibe[0].mm.ci95.lo));
    vq_vibecheck_destroy(&r);
    planted_destroy(w);
}

/* 0 draws: every figure, and no interval that was drawn. */
TEST(no_draws_no_intervals)
{
    static const double p[2] = {0.8, 0.3};
    struct planted *w = planted_create(120, 2, 2, 21);
    tell(w, p, &good);
    for (uint32_t i = 0; i < 120; i++) {
        w->rows[i].group = i / 2 * 2 + i % 2; /* repeats, within a side */
    }
    w->rows[2].group = 0;
    struct vq_vibecheck *none = planted_compute(w);
    w->config.regression.bootstrap_draws = 100;
    struct vq_vibecheck *some = planted_compute(w);
    for (uint32_t v = 0; v < 2; v++) {
        assert_true(isnan(none->vibe[v].test.sep_ci95.lo) && isnan(none->vibe[v].mm.ci95.lo));
        assert_true(isnan(none->vibe[v].train.pref_ci95.hi) && isnan(none->vibe[v].pp.ci95.hi));
        assert_true(isfinite(some->vibe[v].test.sep_ci95.lo) && isfinite(some->vibe[v].mm.ci95.lo));
        assert_same(none->vibe[v].mm.coef, some->vibe[v].mm.coef);
    }
    assert_true(isfinite(none->mm.accuracy_test_ci95.lo));
    vq_vibecheck_destroy(&none);
    vq_vibecheck_destroy(&some);
    planted_destroy(w);
}

static int setup(void **state)
{
    (void)state;
    vq_stats_init();
    return 0;
}

TEST_GROUP(setup, NULL)
