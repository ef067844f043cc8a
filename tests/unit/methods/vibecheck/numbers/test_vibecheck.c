/* The numbers of a run on planted verdicts: the model-independent properties of the method, the
 * gates, what happens to missing answers, and what lazy swap may and may not change. The planted
 * judges share no code with the offline server. */
#include "tests/unit/test.h"

#include "methods/vibecheck/numbers/vibecheck.h"

#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "methods/stats/stats.h"

#include <math.h>
#include <string.h>

#define SAMPLES 200u
#define JUDGES  2u
#define VIBES   4u
#define TASKS   (SAMPLES * JUDGES * VIBES * 2u)

struct world {
    struct vq_config config;
    struct vq_row rows[SAMPLES];
    struct vq_axis axes[VIBES];
    uint8_t first[SAMPLES * JUDGES];
    uint8_t outcomes[TASKS];
    int8_t truth[SAMPLES][VIBES]; /* +1 A is higher */
    struct vq_vibecheck_input in;
};

static const struct vq_grid grid = {SAMPLES, JUDGES, VIBES};

static void world_init(struct world *w, uint64_t seed)
{
    memset(w, 0, sizeof(*w));
    w->config.seed = seed;
    w->config.judges_count = JUDGES;
    w->config.judging.lazy_swap = false;
    w->config.judging.audit_share = 0.1;
    w->config.gates.separability_min = 0.05;
    w->config.gates.kappa = true;
    w->config.gates.kappa_min = 0.2;
    w->config.gates.overlap = VQ_CONF_OVERLAP_OFF;
    w->config.gates.overlap_max = 0.8;
    w->config.regression.bootstrap_draws = 200;
    struct vq_rng rng;
    vq_rng_seed(&rng, seed);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        w->rows[i] = (struct vq_row){.group = i, .test = i % 2 == 1};
        w->rows[i].preference = vq_rng_unit(&rng) < 0.5 ? 1 : -1;
        for (uint32_t j = 0; j < JUDGES; j++) {
            w->first[i * JUDGES + j] = (uint8_t)vq_rng_below(&rng, 2);
        }
    }
    for (uint32_t v = 0; v < VIBES; v++) {
        w->axes[v] = (struct vq_axis){"name", "low", "high"};
    }
    w->in = (struct vq_vibecheck_input){.config = &w->config,
                                        .grid = grid,
                                        .outcomes = w->outcomes,
                                        .rows = w->rows,
                                        .axes = w->axes,
                                        .first_order = w->first};
}

static uint8_t *cell(struct world *w, uint32_t sample, uint32_t vibe, uint32_t judge)
{
    return w->outcomes + vq_grid_task(&grid, (struct vq_cell){sample, judge, vibe, 0});
}

static void say(struct world *w, uint32_t sample, uint32_t vibe, uint32_t judge, int score)
{
    uint8_t *both = cell(w, sample, vibe, judge);
    both[0] = score > 0 ? VQ_OUTCOME_FIRST : score < 0 ? VQ_OUTCOME_SECOND : VQ_OUTCOME_EQUAL;
    both[1] = score > 0 ? VQ_OUTCOME_SECOND : score < 0 ? VQ_OUTCOME_FIRST : VQ_OUTCOME_EQUAL;
}

/* vibe 0: A higher with p 0.8; vibe 1: B higher with p 0.7; vibe 2: coin; vibe 3: 0.6. Each judge
 * errs with p 0.05. */
static void plant(struct world *w, uint64_t seed)
{
    static const double p[VIBES] = {0.8, 0.3, 0.5, 0.6};
    struct vq_rng rng;
    vq_rng_seed(&rng, seed);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        for (uint32_t v = 0; v < VIBES; v++) {
            w->truth[i][v] = vq_rng_unit(&rng) < p[v] ? 1 : -1;
            for (uint32_t j = 0; j < JUDGES; j++) {
                bool errs = vq_rng_unit(&rng) < 0.05;
                say(w, i, v, j, errs ? -w->truth[i][v] : w->truth[i][v]);
            }
        }
        w->rows[i].preference = vq_rng_unit(&rng) < 0.85 ? w->truth[i][0] : (int8_t)-w->truth[i][0];
    }
}

static struct vq_vibecheck *compute(struct world *w)
{
    struct vq_vibecheck *r = NULL;
    struct vq_error err = {0};
    enum vq_status status = vq_vibecheck_compute(&w->in, &r, &err);
    if (status != VQ_OK) {
        print_error("%s: %s\n", vq_status_name(status), err.text);
    }
    assert_int_equal(status, VQ_OK);
    return r;
}

static void same(double a, double b)
{
    if (isnan(a) || isnan(b)) {
        assert_true(isnan(a) && isnan(b));
        return;
    }
    assert_true(fabs(a - b) <= 1e-9 * (1 + fabs(a)));
}

TEST(swapping_models_negates_and_keeps)
{
    struct world *w = vq_alloc(1, sizeof(*w)), *m = vq_alloc(1, sizeof(*m));
    assert_non_null(w);
    assert_non_null(m);
    world_init(w, 7);
    plant(w, 70);
    *cell(w, 4, 0, 1) = VQ_OUTCOME_REFUSED;
    world_init(m, 7);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        m->rows[i] = w->rows[i];
        m->rows[i].preference = (int8_t)-w->rows[i].preference;
        for (uint32_t j = 0; j < JUDGES; j++) {
            m->first[i * JUDGES + j] = 1 - w->first[i * JUDGES + j];
            for (uint32_t v = 0; v < VIBES; v++) {
                cell(m, i, v, j)[0] = cell(w, i, v, j)[1];
                cell(m, i, v, j)[1] = cell(w, i, v, j)[0];
            }
        }
    }
    struct vq_vibecheck *a = compute(w), *b = compute(m);
    for (uint32_t v = 0; v < VIBES; v++) {
        assert_int_equal(a->vibe[v].kept, b->vibe[v].kept);
        same(a->vibe[v].train.sep, -b->vibe[v].train.sep);
        same(a->vibe[v].test.sep, -b->vibe[v].test.sep);
        same(a->vibe[v].train.pref, b->vibe[v].train.pref);
        same(a->vibe[v].train.agreement.kappa, b->vibe[v].train.agreement.kappa);
        same(a->vibe[v].mm.coef, -b->vibe[v].mm.coef);
        same(a->vibe[v].pp.coef, b->vibe[v].pp.coef);
    }
    same(a->mm.accuracy_test, b->mm.accuracy_test);
    same(a->pp.accuracy_test, b->pp.accuracy_test);
    same(a->pp.majority_baseline, b->pp.majority_baseline);
    vq_vibecheck_destroy(&a);
    vq_vibecheck_destroy(&b);
    vq_free(w);
    vq_free(m);
}

TEST(a_judge_that_always_says_a_gives_zeros)
{
    struct world *w = vq_alloc(1, sizeof(*w));
    assert_non_null(w);
    world_init(w, 3);
    memset(w->outcomes, VQ_OUTCOME_FIRST, TASKS);
    struct vq_vibecheck *r = compute(w);
    for (uint32_t v = 0; v < VIBES; v++) {
        same(r->vibe[v].train.sep, 0);
        same(r->vibe[v].judges[0].position_bias_rate, 1);
        assert_false(r->vibe[v].kept);
    }
    assert_int_equal(r->mm.status, VQ_FIT_NO_VIBES);
    same(r->mm.accuracy_test, 0.5);
    same(r->audit.judges[0].order_effect, 1);
    vq_vibecheck_destroy(&r);
    vq_free(w);
}

TEST(a_perfect_oracle_on_one_vibe)
{
    struct world *w = vq_alloc(1, sizeof(*w));
    assert_non_null(w);
    world_init(w, 3);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        for (uint32_t j = 0; j < JUDGES; j++) {
            say(w, i, 0, j, 1);
            for (uint32_t v = 1; v < VIBES; v++) {
                say(w, i, v, j, 0);
            }
        }
    }
    struct vq_vibecheck *r = compute(w);
    same(r->vibe[0].train.sep, 1);
    assert_true(r->vibe[0].kept); /* kappa is 0/0 with full agreement: passes */
    assert_true(isnan(r->vibe[0].train.agreement.kappa));
    assert_int_equal(r->kept_count, 1);
    same(r->mm.accuracy_train, 1);
    same(r->mm.accuracy_test, 1);
    assert_int_equal(r->mm.mle_separation, VQ_LOGIT_COMPLETE);
    assert_true(isnan(r->vibe[0].mm.mle)); /* never a number near nothing */
    assert_true(isfinite(r->vibe[0].mm.coef));
    vq_vibecheck_destroy(&r);
    vq_free(w);
}

TEST(independent_random_judges_are_rejected)
{
    struct world *w = vq_alloc(1, sizeof(*w));
    assert_non_null(w);
    world_init(w, 3);
    struct vq_rng rng;
    vq_rng_seed(&rng, 99);
    for (uint32_t t = 0; t < TASKS; t += 2) {
        bool a = vq_rng_below(&rng, 2) == 0;
        w->outcomes[t] = a ? VQ_OUTCOME_FIRST : VQ_OUTCOME_SECOND;
        w->outcomes[t + 1] = a ? VQ_OUTCOME_SECOND : VQ_OUTCOME_FIRST;
    }
    struct vq_vibecheck *r = compute(w);
    for (uint32_t v = 0; v < VIBES; v++) {
        assert_true(fabs(r->vibe[v].train.sep) < 0.3);
        assert_true(fabs(r->vibe[v].train.agreement.kappa) < 0.3);
        assert_false(r->vibe[v].kept);
    }
    vq_vibecheck_destroy(&r);
    vq_free(w);
}

TEST(planted_vibes_are_found)
{
    struct world *w = vq_alloc(1, sizeof(*w));
    assert_non_null(w);
    world_init(w, 11);
    plant(w, 5);
    struct vq_vibecheck *r = compute(w);
    assert_true(r->vibe[0].kept && r->vibe[0].train.sep > 0.3 && r->vibe[0].distinguishable);
    assert_true(r->vibe[1].kept && r->vibe[1].train.sep < -0.1);
    assert_true(r->vibe[0].mm.coef > 0 && r->vibe[1].mm.coef < 0);
    assert_true(r->mm.accuracy_test > 0.7 && r->mm.accuracy_test < 1);
    assert_true(r->pp.status == VQ_FIT_OK && r->vibe[0].pp.coef > 0);
    assert_true(r->mm.accuracy_test_ci95.lo < r->mm.accuracy_test &&
                r->mm.accuracy_test_ci95.hi > r->mm.accuracy_test);
    vq_vibecheck_destroy(&r);
    vq_free(w);
}

/* Decision 1: bounds put every missing cell at -1, then at +1; fits impute 0 and say so. */
TEST(missing_answers_are_missing)
{
    struct world *w = vq_alloc(1, sizeof(*w));
    assert_non_null(w);
    world_init(w, 11);
    plant(w, 5);
    struct vq_vibecheck *full = compute(w);
    for (uint32_t i = 0; i < SAMPLES; i += 2) { /* train rows, vibe 2 is the coin */
        for (uint32_t j = 0; j < JUDGES && i < 40; j++) {
            cell(w, i, 2, j)[0] = VQ_OUTCOME_UNAVAILABLE;
        }
    }
    struct vq_vibecheck *r = compute(w);
    assert_int_equal(r->vibe[2].train.missing, 20);
    assert_int_equal(r->cells_missing, 40);
    assert_true(r->vibe[2].bounds.lo < r->vibe[2].train.sep &&
                r->vibe[2].train.sep < r->vibe[2].bounds.hi);
    same(r->vibe[2].bounds.hi - r->vibe[2].bounds.lo, 2.0 * 20 / 100);
    assert_true(r->vibe[2].gate_could_flip);
    assert_false(full->vibe[0].gate_could_flip);
    same(full->vibe[0].train.sep, r->vibe[0].train.sep);
    assert_int_equal(r->vibe[2].judges[0].missing, 20);
    uint64_t failed = 0;
    for (uint32_t i = 0; i < 40; i += 2) {
        failed += w->first[i * JUDGES] == 0;
    }
    assert_int_equal(r->vibe[2].judges[0].labels.failed, failed);
    vq_vibecheck_destroy(&full);
    vq_vibecheck_destroy(&r);
    vq_free(w);
}

/* What lazy swap leaves unasked changes nothing but the audit. */
TEST(lazy_swap_changes_no_score)
{
    struct world *w = vq_alloc(1, sizeof(*w));
    assert_non_null(w);
    world_init(w, 11);
    plant(w, 5);
    struct vq_rng rng;
    vq_rng_seed(&rng, 8);
    for (uint32_t t = 0; t < TASKS; t++) {
        if (vq_rng_unit(&rng) < 0.3) {
            w->outcomes[t] = VQ_OUTCOME_EQUAL;
        }
    }
    struct vq_vibecheck *full = compute(w);
    uint64_t saved = 0;
    for (uint32_t t = 0; t < TASKS; t += 2) {
        struct vq_cell c = vq_grid_cell(&grid, t);
        uint32_t first = w->first[c.sample * JUDGES + c.judge];
        if (vq_outcome_settles((enum vq_outcome)w->outcomes[t + first]) &&
            vq_rng_unit(&rng) >= 0.1) {
            w->outcomes[t + 1 - first] = VQ_OUTCOME_NOT_NEEDED;
            saved++;
        }
    }
    assert_true(saved > 0);
    w->config.judging.lazy_swap = true;
    struct vq_vibecheck *lazy = compute(w);
    for (uint32_t v = 0; v < VIBES; v++) {
        const struct vq_vibe_metrics *a = &full->vibe[v], *b = &lazy->vibe[v];
        same(a->train.sep, b->train.sep);
        same(a->train.agreement.kappa, b->train.agreement.kappa);
        same(a->mm.coef, b->mm.coef);
        same(a->train.sep_ci95.lo, b->train.sep_ci95.lo);
        assert_memory_equal(&a->judges[0].labels, &b->judges[0].labels,
                            sizeof(a->judges[0].labels));
        same(a->judges[0].position_bias_rate, b->judges[0].position_bias_rate);
    }
    same(full->mm.accuracy_test, lazy->mm.accuracy_test);
    /* and the audited tenth estimates what both orders would have said */
    assert_true(
        fabs(full->audit.judges[0].lenient_changed - lazy->audit.judges[0].lenient_changed) < 0.1);
    vq_vibecheck_destroy(&full);
    vq_vibecheck_destroy(&lazy);
    vq_free(w);
}

/* Plain kappa is 0 when one judge says +1 on every row and the other on all but one; mirrored kappa
 * is not. */
TEST(nearly_constant_judges_agree)
{
    struct world *w = vq_alloc(1, sizeof(*w));
    assert_non_null(w);
    world_init(w, 3);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        for (uint32_t v = 0; v < VIBES; v++) {
            say(w, i, v, 0, 1);
            say(w, i, v, 1, i == 0 ? 0 : 1);
        }
    }
    struct vq_vibecheck *r = compute(w);
    same(r->vibe[0].train.agreement.kappa, 0);
    assert_true(r->vibe[0].train.agreement.kappa_mirrored > 0.9);
    assert_true(r->vibe[0].kept);
    vq_vibecheck_destroy(&r);
    vq_free(w);
}

TEST(twins_overlap_and_the_later_goes)
{
    struct world *w = vq_alloc(1, sizeof(*w));
    assert_non_null(w);
    world_init(w, 11);
    plant(w, 5);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        for (uint32_t j = 0; j < JUDGES; j++) {
            memcpy(cell(w, i, 3, j), cell(w, i, 0, j), 2);
        }
    }
    w->config.gates.overlap = VQ_CONF_OVERLAP_COSINE;
    struct vq_vibecheck *r = compute(w);
    assert_true(r->vibe[0].kept);
    assert_int_equal(r->vibe[3].reason, VQ_DROP_OVERLAP);
    assert_int_equal(r->vibe[3].overlap_with, 0);
    vq_vibecheck_destroy(&r);
    w->config.gates.overlap = VQ_CONF_OVERLAP_OFF;
    r = compute(w);
    assert_true(r->vibe[3].kept);
    vq_vibecheck_destroy(&r);
    vq_free(w);
}

/* Vibe 0 tells the models apart, vibe 1 what is preferred, vibe 2 both, vibe 3 nothing. */
TEST(preference_may_open_or_close_the_gate)
{
    struct world *w = vq_alloc(1, sizeof(*w));
    assert_non_null(w);
    world_init(w, 11);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        int y = i / 2 % 2 == 0 ? 1 : -1;
        const int x[VIBES] = {1, y, y > 0, 0};
        w->rows[i].preference = (int8_t)y;
        for (uint32_t v = 0; v < VIBES; v++) {
            say(w, i, v, 0, x[v]);
            say(w, i, v, 1, x[v]);
        }
    }
    static const enum vq_drop_reason want[][VIBES] = {
        [VQ_GATE_SEP_ONLY] = {VQ_DROP_NONE, VQ_DROP_SEPARABILITY, VQ_DROP_NONE,
                              VQ_DROP_SEPARABILITY},
        [VQ_GATE_SEP_OR_PREF] = {VQ_DROP_NONE, VQ_DROP_NONE, VQ_DROP_NONE, VQ_DROP_SEPARABILITY},
        [VQ_GATE_SEP_AND_PREF] = {VQ_DROP_PREFERENCE, VQ_DROP_SEPARABILITY, VQ_DROP_NONE,
                                  VQ_DROP_SEPARABILITY}};
    for (size_t gate = 0; gate < VQ_COUNT(want); gate++) {
        w->config.gates.preference = (enum vq_gate_preference)gate;
        struct vq_vibecheck *r = compute(w);
        for (uint32_t v = 0; v < VIBES; v++) {
            assert_int_equal(r->vibe[v].reason, want[gate][v]);
        }
        vq_vibecheck_destroy(&r);
    }
    vq_free(w);
}

TEST(num_final_vibes_keeps_the_first_of_the_order)
{
    struct world *w = vq_alloc(1, sizeof(*w));
    assert_non_null(w);
    world_init(w, 11);
    plant(w, 5);
    for (uint32_t i = 0; i < SAMPLES; i += 4) { /* the second best vibe, clearly */
        say(w, i, 1, 0, 0);
        say(w, i, 1, 1, 0);
    }
    w->config.vibecheck.num_final_vibes = 1;
    struct vq_vibecheck *r = compute(w);
    assert_int_equal(r->kept_count, 1);
    assert_true(r->vibe[0].kept);
    assert_int_equal(r->vibe[1].reason, VQ_DROP_NUM_FINAL);
    vq_vibecheck_destroy(&r);
    vq_free(w);
}

TEST(no_labels_no_test_rows_no_fit)
{
    struct world *w = vq_alloc(1, sizeof(*w));
    assert_non_null(w);
    world_init(w, 11);
    plant(w, 5);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        w->rows[i].preference = 0;
        w->rows[i].test = false;
    }
    struct vq_vibecheck *r = compute(w);
    assert_int_equal(r->pp.status, VQ_FIT_NO_LABELS);
    assert_true(isnan(r->pp.accuracy_test) && isnan(r->vibe[0].pp.coef));
    assert_true(r->in_sample);
    assert_true(isnan(r->mm.accuracy_test) && r->mm.accuracy_train > 0.7);
    vq_vibecheck_destroy(&r);
    for (uint32_t i = 0; i < SAMPLES; i++) { /* in-sample, the baseline is that of train */
        w->rows[i].preference = i % 4 == 0 ? -1 : 1;
    }
    r = compute(w);
    same(r->pp.majority_baseline, 0.75);
    assert_true(isnan(r->pp.accuracy_test));
    vq_vibecheck_destroy(&r);
    vq_free(w);
}

/* judging.invalid: drop_row. The rows that lack a score are as good as never there; a vibe that was
 * stopped early drops none. */
TEST(rows_with_a_missing_score_are_dropped)
{
    struct world *w = vq_alloc(1, sizeof(*w));
    struct world *without = vq_alloc(1, sizeof(*without));
    assert_true(w != NULL && without != NULL);
    bool stopped[VIBES] = {[3] = true};
    struct world *worlds[] = {w, without};
    for (size_t k = 0; k < VQ_COUNT(worlds); k++) {
        world_init(worlds[k], 21);
        plant(worlds[k], 22);
        worlds[k]->in.stopped_early = stopped;
    }
    static const uint32_t lacking[] = {4, 9, 10, 11, 100};
    for (uint32_t k = 0; k < VQ_COUNT(lacking); k++) {
        cell(w, lacking[k], k % 3, k % JUDGES)[1] = VQ_OUTCOME_UNPARSEABLE;
        cell(w, lacking[k], k % 3, k % JUDGES)[0] = VQ_OUTCOME_FIRST;
        without->rows[lacking[k]].excluded = true;
    }
    cell(w, 50, 3, 0)[0] = cell(w, 50, 3, 0)[1] = VQ_OUTCOME_UNAVAILABLE; /* stopped early */
    memset(cell(w, 52, 2, 0), VQ_OUTCOME_NOT_NEEDED, 2);                  /* never asked */
    memset(cell(without, 52, 2, 0), VQ_OUTCOME_NOT_NEEDED, 2);
    struct vq_vibecheck *kept = compute(w);
    assert_null(kept->dropped);
    assert_true(kept->mm.rows_train == SAMPLES / 2);
    vq_vibecheck_destroy(&kept);
    w->config.judging.invalid = VQ_INVALID_DROP_ROW;
    struct vq_vibecheck *r = compute(w);
    struct vq_vibecheck *other = compute(without);
    assert_int_equal(r->rows_dropped_train, 3);
    assert_int_equal(r->rows_dropped_test, 2);
    assert_int_equal(r->cells_missing, VQ_COUNT(lacking) + 1);
    assert_true(r->dropped[4] && !r->dropped[50] && !r->dropped[52]);
    assert_int_equal(r->mm.rows_train, SAMPLES / 2 - 3);
    assert_int_equal(r->mm.rows_test, SAMPLES / 2 - 2);
    assert_int_equal(r->mm.cells_imputed_train, other->mm.cells_imputed_train);
    for (uint32_t v = 0; v < 3; v++) {
        assert_int_equal(r->vibe[v].train.missing + r->vibe[v].test.missing, 0);
        assert_memory_equal(&r->vibe[v].train.sep, &other->vibe[v].train.sep, sizeof(double));
        assert_memory_equal(&r->vibe[v].test.sep, &other->vibe[v].test.sep, sizeof(double));
        assert_memory_equal(&r->vibe[v].mm.coef, &other->vibe[v].mm.coef, sizeof(double));
        assert_memory_equal(&r->vibe[v].train.agreement.kappa,
                            &other->vibe[v].train.agreement.kappa, sizeof(double));
    }
    assert_memory_equal(&r->mm.accuracy_test, &other->mm.accuracy_test, sizeof(double));
    assert_memory_equal(&r->pp.accuracy_test, &other->pp.accuracy_test, sizeof(double));
    vq_vibecheck_destroy(&r);
    vq_vibecheck_destroy(&other);
    vq_free(w);
    vq_free(without);
}

/* Every allocation fails in turn: a status comes back, nothing leaks (the sanitizer round sees to
 * that). */
TEST(survives_every_failed_allocation)
{
    struct world *w = vq_alloc(1, sizeof(*w));
    assert_non_null(w);
    world_init(w, 11);
    plant(w, 5);
    w->config.regression.bootstrap_draws = 2;
    w->config.judging.invalid = VQ_INVALID_DROP_ROW;
    for (uint64_t n = 1;; n++) {
        struct vq_vibecheck *r = NULL;
        struct vq_error err = {0};
        vq_alloc_fail_at(n);
        enum vq_status status = vq_vibecheck_compute(&w->in, &r, &err);
        vq_alloc_fail_at(0);
        if (status == VQ_OK) {
            vq_vibecheck_destroy(&r);
            assert_true(n > 20);
            break;
        }
        assert_int_equal(status, VQ_NOMEM);
        assert_null(r);
    }
    vq_free(w);
}

static int setup(void **state)
{
    (void)state;
    vq_stats_init();
    return 0;
}

TEST_GROUP(setup, NULL)
