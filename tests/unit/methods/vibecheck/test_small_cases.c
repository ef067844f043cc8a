/* Small cases in which a number could look surer than it is: prompts that repeat, columns that do
 * not vary, fits without an estimate, no test split. Each prints what it measured; all are
 * seeded. */
#include "tests/unit/methods/vibecheck/planted.h"

static void all_judges_say(struct planted *w, uint32_t row, uint32_t vibe, int score)
{
    for (uint32_t j = 0; j < w->in.grid.judges; j++) {
        planted_say(w, row, vibe, j, score);
    }
}

/* ---- the unit is the prompt ---- */

/* Ten prompts of 20 identical copies, five of them in train, where four name A. */
TEST(ten_prompts_of_twenty_copies)
{
    struct planted *w = planted_create(200, 2, 1, 1);
    w->config.regression.bootstrap_draws = 500;
    for (uint32_t i = 0; i < 200; i++) {
        uint32_t prompt = i / 20;
        w->rows[i].group = prompt;
        w->rows[i].test = prompt >= 5;
        w->rows[i].preference = prompt % 2 == 0 ? 1 : -1;
        all_judges_say(w, i, 0, prompt % 5 == 4 ? -1 : 1);
    }
    struct vq_vibecheck *r = planted_compute(w);
    const struct vq_vibe_metrics *m = &r->vibe[0];
    assert_true(fabs(m->train.sep - 0.6) < 1e-12);
    assert_true(fabs(m->train.p - 0.375) < 1e-12 && fabs(m->train.q - 0.375) < 1e-12);
    assert_true(fabs(m->test.p - 0.375) < 1e-12 && !m->distinguishable);
    assert_true(m->train.sep_ci95.lo < 0 &&
                m->test.sep_ci95.lo < 0); /* five prompts, not 100 rows */
    assert_int_equal(r->mm.degenerate, VQ_FIT_FEW_PROMPTS);
    assert_true(r->mm.accuracy_test_ci95.lo < 0.5);
    assert_true(r->pp.rivals.chance_p > 0.05);
    vq_vibecheck_destroy(&r);
    planted_destroy(w);
}

/* 60 prompts of four copies that are the same in all: a null vibe passes the interval gate as
 * rarely as its level says. */
TEST(copies_open_no_gate)
{
    uint32_t runs = 300, kept = 0, told_apart = 0;
    for (uint64_t seed = 1; seed <= runs; seed++) {
        struct planted *w = planted_create(240, 2, 1, 7000 + seed);
        w->config.gates.separability = VQ_GATE_INTERVAL;
        w->in.no_intervals = true;
        for (uint32_t i = 0, score = 0; i < 240; i++) {
            score = i % 4 == 0 ? (uint32_t)vq_rng_below(&w->rng, 2) : score;
            w->rows[i].group = i / 4;
            w->rows[i].test = i / 4 % 2 == 1;
            all_judges_say(w, i, 0, score == 0 ? 1 : -1);
        }
        struct vq_vibecheck *r = planted_compute(w);
        kept += r->kept_count;
        told_apart += r->vibe[0].train.p <= 0.05;
        vq_vibecheck_destroy(&r);
        planted_destroy(w);
    }
    print_message("  60 prompts x 4 copies, seeds 7001 to 7300: kept in %u of %u null runs\n", kept,
                  runs);
    assert_int_equal(kept, told_apart);
    assert_true(kept <= 24); /* 15 expected at most; sd 3.8 */
}

/* Rows of a prompt that are alike in most cases: intervals of separability and of the accuracy hold
 * what is true over all prompts. */
TEST(intervals_by_prompt_cover)
{
    uint32_t runs = 400, separability = 0, accuracy = 0;
    const double share = 0.7; /* of prompts where A is higher; a row follows its prompt with 0.9 */
    double truth = (2 * share - 1) * 0.8, right = share * 0.9 + (1 - share) * 0.1;
    for (uint64_t seed = 1; seed <= runs; seed++) {
        struct planted *w = planted_create(600, 1, 1, 9000 + seed);
        w->config.gates.kappa = false;
        w->config.regression.bootstrap_draws = 200;
        for (uint32_t i = 0, up = 0; i < 600; i++) {
            up = i % 5 == 0 ? planted_chance(&w->rng, share) : up;
            w->rows[i].group = i / 5;
            w->rows[i].test = i / 5 % 2 == 1;
            bool follows = planted_chance(&w->rng, 0.9);
            all_judges_say(w, i, 0, (up != 0) == follows ? 1 : -1);
        }
        struct vq_vibecheck *r = planted_compute(w);
        struct vq_interval s = r->vibe[0].test.sep_ci95, a = r->mm.accuracy_test_ci95;
        separability += s.lo <= truth && truth <= s.hi;
        accuracy += a.lo <= right && right <= a.hi;
        vq_vibecheck_destroy(&r);
        planted_destroy(w);
    }
    print_message("  60 test prompts x 5 rows, seeds 9001 to 9400: separability %.3f, accuracy "
                  "%.3f\n",
                  (double)separability / runs, (double)accuracy / runs);
    assert_true(separability >= runs * 92 / 100 && accuracy >= runs * 92 / 100);
}

/* ---- degenerate fits ---- */

struct degenerate {
    const char *name;
    uint32_t train; /* rows; as many test */
    uint32_t prompts;
    uint32_t down; /* of ten train rows, those that name B */
    enum vq_fit_degenerate want;
};

/* Rows 0, 2, 4 ... are train. */
static struct planted *degenerate_world(const struct degenerate *d)
{
    struct planted *w = planted_create(2 * d->train, 2, 1, 3);
    w->config.regression.bootstrap_draws = 300;
    for (uint32_t i = 0; i < 2 * d->train; i++) {
        w->rows[i].group = i / 2 % d->prompts * 2 + i % 2;
        all_judges_say(w, i, 0, i / 2 % 10 < d->down ? -1 : 1);
    }
    return w;
}

TEST(degenerate_fits_say_so)
{
    static const struct degenerate cases[] = {
        {"30 rows, all +1", 30, 30, 0, VQ_FIT_SEPARATED},
        {"3 rows, all +1", 3, 3, 0, VQ_FIT_SEPARATED},
        {"3 rows, one -1", 3, 3, 1, VQ_FIT_FEW_PROMPTS},
        {"one prompt, 60 rows", 60, 1, 1, VQ_FIT_FEW_PROMPTS},
        {"7 prompts", 70, 7, 3, VQ_FIT_FEW_PROMPTS},
        {"40 rows, 24 +1, C at its least", 40, 40, 4, VQ_FIT_C_AT_EDGE},
    };
    for (size_t k = 0; k < VQ_COUNT(cases); k++) {
        struct planted *w = degenerate_world(&cases[k]);
        struct vq_vibecheck *r = planted_compute(w);
        const struct vq_vibe_metrics *m = &r->vibe[0];
        print_message("  %s: MM %.3f, %s; Firth %.3f [%.3f, %.3f] p %.3g\n", cases[k].name,
                      m->mm.coef, vq_fit_degenerate_name(r->mm.degenerate), m->mm.firth.value,
                      m->mm.firth.ci95.lo, m->mm.firth.ci95.hi, m->mm.firth.p);
        assert_true(m->kept);
        assert_int_equal(r->mm.degenerate, cases[k].want);
        assert_true(isnan(m->mm.ci95.lo) && isnan(m->mm.ci95.hi) && isnan(m->mm.p));
        assert_true(m->mm.firth.ci95.lo < m->mm.firth.value);
        assert_true(m->mm.firth.ci95.hi > m->mm.firth.value);
        assert_true(m->mm.firth.p > 0 && m->mm.firth.p < 1);
        assert_true(m->train.sep_ci95.lo < m->train.sep - 0.05); /* never [1, 1] */
        vq_vibecheck_destroy(&r);
        planted_destroy(w);
    }
}

/* Fewer than 8 prompts count as so many, however many rows each has: Firth's interval is that of
 * one row a prompt. */
TEST(one_prompt_is_one_row)
{
    struct vq_firth_coef got[2];
    for (uint32_t many = 0; many < 2; many++) {
        const struct degenerate d = {"", many ? 60 : 1, 1, 0, VQ_FIT_SEPARATED};
        struct planted *w = degenerate_world(&d);
        struct vq_vibecheck *r = planted_compute(w);
        got[many] = r->vibe[0].mm.firth;
        vq_vibecheck_destroy(&r);
        planted_destroy(w);
    }
    assert_true(fabs(got[0].value - got[1].value) < 1e-6 && fabs(got[0].value - log(3)) < 1e-6);
    assert_true(fabs(got[0].ci95.lo - got[1].ci95.lo) < 1e-5);
    assert_true(got[0].ci95.lo < 0 && got[0].p > 0.2);
}

/* Vibe 0 is the preference itself: PP is separated, and what it predicts looks no surer than its
 * rows allow. */
TEST(a_vibe_that_is_the_preference)
{
    struct planted *w = planted_create(60, 2, 1, 5);
    w->config.regression.bootstrap_draws = 300;
    for (uint32_t i = 0; i < 60; i++) {
        int score = i / 2 % 3 == 0 ? -1 : 1;
        w->rows[i].preference = (int8_t)score;
        all_judges_say(w, i, 0, score);
    }
    struct vq_vibecheck *r = planted_compute(w);
    const struct vq_vibe_metrics *m = &r->vibe[0];
    assert_int_equal(r->mm.degenerate, VQ_FIT_SOUND);
    assert_int_equal(r->pp.degenerate, VQ_FIT_SEPARATED);
    assert_true(isnan(m->pp.ci95.lo) && isnan(m->pp.p));
    assert_true(m->pp.firth.ci95.lo > 0 && m->pp.firth.ci95.hi > m->pp.firth.value);
    assert_true(fabs(m->test.pref - 1) < 1e-12);
    assert_true(m->test.pref_ci95.lo < 0.9 && m->train.pref_ci95.lo < 0.9); /* not [1, 1] */
    vq_vibecheck_destroy(&r);
    planted_destroy(w);
}

/* PP and the model's name are right in the same rows: their difference is 0, but not exactly so. */
TEST(a_difference_of_nothing_has_an_interval)
{
    struct planted *w = planted_create(60, 2, 1, 6);
    w->config.regression.bootstrap_draws = 300;
    for (uint32_t i = 0; i < 60; i++) {
        w->rows[i].preference = i / 2 % 10 == 0 ? -1 : 1;
        all_judges_say(w, i, 0, i / 2 % 5 < 2 ? -1 : 1);
    }
    struct vq_vibecheck *r = planted_compute(w);
    const struct vq_pp_rivals *rivals = &r->pp.rivals;
    assert_true(fabs(rivals->difference) < 1e-12);
    assert_true(rivals->difference_ci95.lo < -0.05 && rivals->difference_ci95.hi > 0.05);
    vq_vibecheck_destroy(&r);
    planted_destroy(w);
}

/* ---- what is not there is not shown ---- */

TEST(without_a_test_split_nothing_is_of_test)
{
    struct planted *w = planted_create(80, 2, 1, 8);
    w->config.regression.bootstrap_draws = 100;
    for (uint32_t i = 0; i < 80; i++) {
        w->rows[i].test = false;
        w->rows[i].preference = i % 3 == 0 ? -1 : 1;
        all_judges_say(w, i, 0, i % 4 == 0 ? -1 : 1);
    }
    struct vq_vibecheck *r = planted_compute(w);
    const struct vq_vibe_metrics *m = &r->vibe[0];
    assert_true(r->in_sample && m->kept && m->distinguishable);
    assert_true(m->train.sep_ci95.lo < m->train.sep && isfinite(m->train.q));
    assert_true(isnan(m->test.sep) && isnan(m->test.sep_ci95.lo) && isnan(m->test.sep_ci95.hi));
    assert_true(isnan(m->test.p) && isnan(m->test.q) && isnan(m->test.pref_ci95.lo));
    assert_true(isnan(r->mm.accuracy_test) && isnan(r->mm.accuracy_test_ci95.lo));
    assert_true(isnan(r->pp.rivals.chance_p) && isnan(r->pp.rivals.difference));
    vq_vibecheck_destroy(&r);
    planted_destroy(w);
}

TEST(what_never_applies_has_no_numbers)
{
    struct planted *w = planted_create(80, 2, 1, 9);
    w->config.regression.bootstrap_draws = 100;
    for (uint32_t i = 0; i < 80; i++) {
        w->rows[i].preference = i % 3 == 0 ? -1 : 1;
        for (uint32_t j = 0; j < 2; j++) {
            memset(planted_cell(w, i, 0, j), VQ_OUTCOME_NA, 2);
        }
    }
    struct vq_vibecheck *r = planted_compute(w);
    const struct vq_vibe_metrics *m = &r->vibe[0];
    assert_true(m->na_everywhere && !m->kept && isnan(m->train.sep) && isnan(m->test.sep));
    assert_true(isnan(m->train.sep_ci95.lo) && isnan(m->train.p) && isnan(m->train.q));
    assert_true(isnan(m->train.pref) && isnan(m->test.pref) && isnan(m->test.pref_ci95.lo));
    vq_vibecheck_destroy(&r);
    planted_destroy(w);
}

static int setup(void **state)
{
    (void)state;
    vq_stats_init();
    return 0;
}

TEST_GROUP(setup, NULL)
