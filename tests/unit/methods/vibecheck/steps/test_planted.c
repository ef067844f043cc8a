/* Planted truth and null data through the whole method. The generator is this folder's own: tables
 * of signs by hash, no words, nothing of the offline server. Three of ten features differ between
 * the models; the proposer names all ten and some vibes that no judge can tell; judges err in one
 * case of ten. */
#include "tests/unit/methods/vibecheck/walker.h"

#include <inttypes.h>

#define ROWS   500u
#define NOISE  3u
#define PLANTS 3u

static const double shares[PLANTS] = {0.6, -0.5, 0.4};

static struct walk *world(uint64_t seed)
{
    static const char *const lines[WALK_FEATURES + NOISE] = {
        "Noise 0: Low: l; High: h",   "Feature 7: Low: l; High: h", "Feature 2: Low: l; High: h",
        "Feature 4: Low: l; High: h", "Noise 1: Low: l; High: h",   "Feature 0: Low: l; High: h",
        "Feature 9: Low: l; High: h", "Feature 3: Low: l; High: h", "Feature 8: Low: l; High: h",
        "Feature 1: Low: l; High: h", "Feature 5: Low: l; High: h", "Feature 6: Low: l; High: h",
        "Noise 2: Low: l; High: h"};
    struct walk *w = walk_create(ROWS, 2, seed);
    w->config.method = VQ_METHOD_DISCOVER;
    w->config.vibecheck.num_eval_vibes = 0;
    w->error = 0.1;
    for (unsigned f = 0; f < WALK_FEATURES; f++) {
        w->share[f] = f < PLANTS ? shares[f] : 0;
        w->plain[f] = f < PLANTS ? 0.2 : 1;
    }
    for (size_t i = 0; i < VQ_COUNT(lines); i++) {
        w->proposes[i] = lines[i];
    }
    return w;
}

TEST(three_of_ten_are_found_kept_and_first)
{
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct walk *w = world(seed);
        const struct vq_vibecheck_method_result *r = walk_run(w);
        assert_int_equal(r->axes_count, WALK_FEATURES + NOISE);
        assert_int_equal(walk_find(w, "test")->axes, PLANTS);
        struct vq_vibecheck *n = walk_numbers(w);
        assert_int_equal(n->kept_count, PLANTS);
        double least = 1;
        for (unsigned f = 0; f < PLANTS; f++) {
            char name[16];
            (void)snprintf(name, sizeof(name), "Feature %u", f);
            const struct vq_vibe_metrics *m = &n->vibe[walk_vibe(r, name)];
            assert_true(m->kept && m->distinguishable);
            assert_true(m->test.sep * shares[f] > 0 && m->mm.coef * shares[f] > 0);
            assert_int_equal(m->test.missing, 0);
            least = fmin(least, fabs(m->train.sep));
        }
        for (uint32_t v = 0; v < r->axes_count; v++) {
            const struct vq_vibe_metrics *m = &n->vibe[v];
            assert_true(m->kept || fabs(m->train.sep) < least);
            assert_true(m->kept || isnan(m->test.sep)); /* its test rows were not asked */
        }
        assert_true(n->mm.accuracy_test_ci95.lo > 0.5);
        vq_vibecheck_destroy(&n);
        walk_destroy(w);
    }
}

/* The cap takes the first of the order, whichever order that is, and the test rows of those alone
 * are asked. */
TEST(the_strongest_are_final)
{
    static const enum vq_final_order orders[3] = {VQ_FINAL_LARS, VQ_FINAL_SEPARABILITY,
                                                  VQ_FINAL_P_VALUE};
    for (size_t i = 0; i < VQ_COUNT(orders); i++) {
        for (uint32_t most = 1; most <= PLANTS; most++) {
            struct walk *w = world(5);
            w->config.vibecheck.num_final_vibes = most;
            w->config.vibecheck.final_order = orders[i];
            const struct vq_vibecheck_method_result *r = walk_run(w);
            struct vq_vibecheck *n = walk_numbers(w);
            assert_int_equal(n->kept_count, most);
            assert_int_equal(walk_find(w, "test")->axes, most);
            static const char *const names[PLANTS] = {"Feature 0", "Feature 1", "Feature 2"};
            for (uint32_t f = 0; f < PLANTS; f++) {
                const struct vq_vibe_metrics *m = &n->vibe[walk_vibe(r, names[f])];
                assert_int_equal(m->kept, f < most);
                assert_int_equal(m->reason, f < most ? VQ_DROP_NONE : VQ_DROP_NUM_FINAL);
            }
            vq_vibecheck_destroy(&n);
            walk_destroy(w);
        }
    }
}

/* Early stopping asks less about noise: exactly, the kept vibes have the same numbers to the bit;
 * with an alpha too, as long as all decisions are right, since kept vibes are asked in full. */
static void finds_the_same(double alpha, uint32_t most_percent)
{
    uint64_t full_calls = 0, calls = 0;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct walk *w = world(seed);
        (void)walk_run(w);
        full_calls += walk_calls(w, "rank");
        struct vq_vibecheck *full = walk_numbers(w);
        w->config.judging.early_stop = VQ_EARLY_STOP_EXACT;
        w->config.judging.early_stop_alpha = alpha;
        const struct vq_vibecheck_method_result *r = walk_run(w);
        struct vq_vibecheck *early = walk_numbers(w);
        for (uint32_t v = 0; v < r->axes_count; v++) {
            assert_int_equal(full->vibe[v].kept, early->vibe[v].kept);
            assert_int_equal(early->vibe[v].reason == VQ_DROP_EARLY_STOP, r->stopped_early[v]);
            if (early->vibe[v].kept) {
                walk_same_numbers(&early->vibe[v], &full->vibe[v]);
            }
        }
        assert_memory_equal(&full->mm.accuracy_test, &early->mm.accuracy_test, sizeof(double));
        assert_int_equal(r->early.exactly + r->early.alpha > 0, true);
        assert_true(alpha > 0 || r->early.alpha == 0);
        calls += walk_calls(w, "rank");
        vq_vibecheck_destroy(&full);
        vq_vibecheck_destroy(&early);
        walk_destroy(w);
    }
    print_message("alpha %g: %" PRIu64 " of %" PRIu64 " calls of validation saved\n", alpha,
                  full_calls - calls, full_calls);
    assert_true(calls * 100 < full_calls * most_percent);
}

TEST(exact_early_stopping_finds_the_same)
{
    finds_the_same(0, 100);
}

TEST(early_stopping_with_an_alpha_finds_the_same)
{
    finds_the_same(0.01, 90);
}

/* Decision 17: a difference only in rows that the first vibes get wrong. */
static bool only_where_the_others_fail(struct walk *w, const char *axis, uint32_t row,
                                       uint32_t judge, uint8_t both[2])
{
    (void)judge;
    if (strcmp(axis, "Feature 9") != 0) {
        return false;
    }
    walk_say(walk_truth(w, 0, row) > 0 ? 0 : 1, both);
    return true;
}

TEST(the_second_round_finds_what_the_first_left)
{
    struct walk *w = world(8);
    for (size_t i = 0; i < VQ_COUNT(w->proposes); i++) {
        w->proposes[i] = i == 0 ? "Feature 0: Low: l; High: h" : NULL;
    }
    w->proposes_again[0] = "Feature 9: Low: l; High: h";
    w->judge = only_where_the_others_fail;
    w->error = 0;
    w->config.vibecheck.iterations = 3;
    w->config.vibecheck.min_misclassified = 3;
    const struct vq_vibecheck_method_result *r = walk_run(w);
    assert_int_equal(r->stop, VQ_STOP_MISCLASSIFIED);
    assert_int_equal(r->iterations_count, 2);
    assert_int_equal(r->iterations[1].added, 1);
    assert_true(r->iterations[0].mm_accuracy < 0.9);
    assert_true(r->iterations[1].mm_accuracy > 0.99);
    for (uint32_t i = 0; i < r->proposals_count; i++) {
        const struct vq_proposal *p = &r->proposals[i];
        for (uint32_t k = 0; k < p->rows_count && p->iteration == 1; k++) {
            assert_true(walk_truth(w, 0, p->rows[k]) <= 0); /* only such rows were shown */
        }
    }
    assert_int_equal(walk_find(w, "test")->axes, 2);
    walk_destroy(w);
}

/* With mm_or_pp a row that preference prediction gets wrong is shown too. */
TEST(preference_may_say_what_is_wrong)
{
    uint32_t wrong[2];
    for (int pp = 0; pp < 2; pp++) {
        struct walk *w = world(9);
        for (uint32_t i = 0; i < ROWS; i++) { /* preferred: what is low on feature 1 */
            w->rows[i].preference = (int8_t)-walk_truth(w, 1, i);
        }
        w->in.has_preferences = true;
        w->config.vibecheck.misclassified = pp ? VQ_MISCLASSIFIED_MM_OR_PP : VQ_MISCLASSIFIED_MM;
        const struct vq_vibecheck_method_result *r = walk_run(w);
        wrong[pp] = r->iterations[0].misclassified;
        assert_true(r->iterations[0].pp_accuracy > 0.7);
        walk_destroy(w);
    }
    assert_true(wrong[1] > wrong[0]);
}

/* Decision 9. A and B exchangeable, judges who agree: with the interval gate at most one run in
 * twenty keeps a vibe. */
TEST(null_data_keep_nothing)
{
    uint32_t runs = 40, kept = 0;
    for (uint64_t seed = 100; seed < 100 + runs; seed++) {
        struct walk *w = world(seed);
        w->config.gates.separability = VQ_GATE_INTERVAL;
        for (unsigned f = 0; f < WALK_FEATURES; f++) {
            w->share[f] = w->plain[f] = 0;
        }
        const struct vq_vibecheck_method_result *r = walk_run(w);
        struct vq_vibecheck *n = walk_numbers(w);
        kept += n->kept_count > 0;
        if (n->kept_count == 0) {
            assert_null(walk_find(w, "test"));
            assert_int_equal(n->mm.status, VQ_FIT_NO_VIBES);
            assert_int_equal(r->iterations[0].misclassified, ROWS / 2);
        }
        vq_vibecheck_destroy(&n);
        walk_destroy(w);
    }
    assert_true(kept <= 5); /* mean 2 at most; more than 5 with a chance of 1 in 70 */
}

#define SHOWN_BEST 5u

/* A proposer that names what differs most in the rows that it is shown, whatever is true of all
 * rows. */
static bool names_what_it_sees(struct walk *w, const struct vq_stage *stage, uint32_t prompt,
                               struct vq_buf *to)
{
    static const char asked[] = "question ";
    if (!walk_wants(stage, prompt, "axes")) {
        return false;
    }
    int sum[WALK_FEATURES] = {0};
    for (const char *at = stage->prompts[prompt].user.at; (at = strstr(at, asked)) != NULL; at++) {
        unsigned row;
        for (unsigned f = 0;
             f < WALK_FEATURES && sscanf(at + strlen(asked), "%u", &row) == 1 && row < ROWS; f++) {
            sum[f] += walk_truth(w, f, row);
        }
    }
    for (unsigned k = 0; k < SHOWN_BEST; k++) {
        unsigned best = 0;
        for (unsigned f = 1; f < WALK_FEATURES; f++) {
            best = abs(sum[f]) > abs(sum[best]) ? f : best;
        }
        vq_buf_printf(to, "- Feature %u: Low: l; High: h\n", best);
        sum[best] = 0;
    }
    return true;
}

/* The share of null runs with any q of at most 0.05 on test. The point gate keeps what looks
 * different on train, and a batch is all 40 rows that are shown, so that the proposer selects as
 * hard as it can. */
TEST(null_data_are_null_on_test)
{
    uint32_t runs = 200, found = 0, on_train = 0, kept = 0;
    for (uint64_t seed = 3001; seed < 3001 + runs; seed++) {
        struct walk *w = world(seed);
        w->text = names_what_it_sees;
        w->config.vibecheck.d = w->config.vibecheck.batch = 40;
        for (unsigned f = 0; f < WALK_FEATURES; f++) {
            w->share[f] = w->plain[f] = 0;
        }
        (void)walk_run(w);
        struct vq_vibecheck *n = walk_numbers(w);
        bool test = false, train = false;
        for (uint32_t v = 0; v < n->vibes; v++) {
            test |= n->vibe[v].test.q <= 0.05;
            train |= n->vibe[v].train.q <= 0.05;
        }
        found += test;
        on_train += train;
        kept += n->kept_count;
        vq_vibecheck_destroy(&n);
        walk_destroy(w);
    }
    print_message(
        "  null data, seeds 3001 to 3200: %u runs of %u with a test q of at most 0.05, %u with a "
        "train q; %u vibes kept\n",
        found, runs, on_train, kept);
    assert_true(kept > runs); /* there was something to be wrong about */
    assert_true(found <= runs * 7 / 100);
    assert_true(on_train <= runs * 7 / 100); /* without the rows shown */
}

/* The opposite of feature 0, under names and ends of its own. */
static bool mirrors(struct walk *w, const char *axis, uint32_t row, uint32_t judge, uint8_t both[2])
{
    if (strncmp(axis, "Reserve", 7) != 0 && strncmp(axis, "Unfeature", 9) != 0) {
        return false;
    }
    bool errs = walk_draw(w, axis, row, judge) < 0.01;
    walk_say(errs ? walk_truth(w, 0, row) : -walk_truth(w, 0, row), both);
    return true;
}

/* Two features that are +1 in nine rows of ten, planted independently, and two that say the
 * opposite of the first. */
TEST(independent_vibes_stay_and_mirror_images_go)
{
    static const char *const lines[] = {"Feature 0: Low: cold; High: warm",
                                        "Feature 1: Low: long; High: short",
                                        "Unfeature 0: Low: warm; High: cold",
                                        "Reserve: Low: speaks as a friend; High: keeps a distance"};
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct walk *w = world(500 + seed);
        memset(w->proposes, 0, sizeof(w->proposes));
        for (size_t i = 0; i < VQ_COUNT(lines); i++) {
            w->proposes[i] = lines[(i + seed) % VQ_COUNT(lines)]; /* also with the opposite first */
        }
        w->config.gates.overlap = VQ_CONF_OVERLAP_PEARSON;
        w->judge = mirrors;
        w->error = 0.01;
        w->share[0] = w->share[1] = 0.8;
        w->plain[0] = w->plain[1] = 0;
        const struct vq_vibecheck_method_result *r = walk_run(w);
        assert_int_equal(r->axes_count, VQ_COUNT(lines));
        struct vq_vibecheck *n = walk_numbers(w);
        uint32_t alike = 0;
        for (uint32_t v = 0; v < n->vibes; v++) {
            const struct vq_vibe_metrics *m = &n->vibe[v];
            bool own = strcmp(r->axes[v].name, "Feature 1") == 0;
            assert_int_equal(m->reason, m->kept ? VQ_DROP_NONE : VQ_DROP_OVERLAP);
            assert_true(!own || m->kept);
            assert_true(m->kept || strcmp(r->axes[m->overlap_with].name, "Feature 1") != 0);
            alike += !own && m->kept;
        }
        assert_int_equal(alike, 1); /* one of the three that say the same */
        vq_vibecheck_destroy(&n);
        walk_destroy(w);
    }
}
