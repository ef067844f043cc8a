/* The method over vibes that are given: what is asked of whom, early stopping, preference labels by
 * judges, what goes beside, and how the machine takes answers that are not what it asked for. */
#include "tests/unit/methods/vibecheck/walker.h"

static struct vq_conf_axis vibes[4] = {{(char *)"Feature 0", (char *)"low", (char *)"high"},
                                       {(char *)"Feature 1", (char *)"low", (char *)"high"},
                                       {(char *)"Coin", (char *)"low", (char *)"high"},
                                       {(char *)"Feature 2", (char *)"low", (char *)"high"}};

static struct walk *given(uint32_t rows, uint32_t judges)
{
    struct walk *w = walk_create(rows, judges, 7);
    w->config.method = VQ_METHOD_VIBES;
    w->config.vibes = vibes;
    w->config.vibes_count = 4;
    w->config.vibecheck.num_final_vibes = 0;
    w->share[0] = 0.8;
    w->share[1] = -0.6;
    w->plain[2] = 1; /* nobody ever differs on it */
    return w;
}

TEST(presets_are_one_stage_over_all_rows)
{
    struct walk *w = walk_create(60, 2, 7);
    w->config.method = VQ_METHOD_PRESET;
    const struct vq_vibecheck_method_result *r = walk_run(w);
    size_t presets;
    (void)vq_preset_axes(&presets);
    assert_int_equal(w->stages_count, 1);
    assert_int_equal(w->stages[0].calls, 60 * 2 * presets * 2);
    assert_int_equal(r->axes_count, presets);
    assert_int_equal(r->stop, VQ_STOP_NONE);
    assert_int_equal(r->iterations_count, 0);
    assert_string_equal(r->preference_source, "none");
    assert_null(r->preference_outcomes);
    assert_int_equal(r->provenance[0].support, 0);
    for (uint32_t i = 0; i < 60; i++) {
        for (uint32_t j = 0; j < 2; j++) {
            for (uint32_t v = 0; v < presets; v++) {
                uint8_t both[2];
                walk_cell(w, r->axes[v].name, i, j, both);
                assert_memory_equal(r->outcomes + ((i * 2 + j) * presets + v) * 2, both, 2);
            }
        }
    }
    walk_destroy(w);
}

/* Given vibes that are dropped are not asked on the test rows, and kept ones have the same numbers,
 * to the bit. */
TEST(early_stopping_keeps_the_same_numbers)
{
    struct walk *w = given(600, 2);
    const struct vq_vibecheck_method_result *r = walk_run(w);
    assert_int_equal(w->stages_count, 1);
    struct vq_vibecheck *full = walk_numbers(w);
    w->config.judging.early_stop = VQ_EARLY_STOP_EXACT;
    r = walk_run(w);
    /* the gate is 0.05 of 300 rows: looks with 10 and 5 rows left, then the rest, then the test */
    assert_int_equal(w->stages_count, 4);
    assert_int_equal(walk_find(w, "rank, look 1")->rows, 290);
    assert_int_equal(walk_find(w, "rank, look 2")->rows, 5);
    assert_int_equal(walk_find(w, "rank, look 3")->rows, 5);
    assert_int_equal(walk_find(w, "rank")->rows, 300);
    assert_int_equal(walk_find(w, "rank")->axes, 2);
    struct vq_vibecheck *early = walk_numbers(w);
    uint64_t questions = 0;
    for (uint32_t v = 0; v < 4; v++) {
        const struct vq_vibe_metrics *m = &early->vibe[v], *f = &full->vibe[v];
        assert_int_equal(m->kept, f->kept);
        assert_int_equal(m->train.missing + m->test.missing + m->judges[0].missing, 0);
        if (m->kept) {
            walk_same_numbers(m, f);
        } else {
            assert_int_equal(m->reason, r->stopped_early[v] ? VQ_DROP_EARLY_STOP : f->reason);
            assert_true(isnan(m->test.sep));
            questions += 300 * 2;
        }
    }
    assert_int_equal(early->kept_count, 2);
    assert_memory_equal(&early->mm.accuracy_test, &full->mm.accuracy_test, sizeof(double));
    assert_true(r->stopped_early[2]); /* all ties: settled at the first look */
    assert_true(walk_noted(r, "rank: \"Coin\" was settled after 290 of 300 training rows: it fails "
                              "its gates, decided exactly"));
    assert_int_equal(r->early.untested, 2);
    assert_true(r->early.exactly >= 1 && r->early.alpha == 0);
    assert_true(r->early.questions >= questions + 10 * 2);
    assert_int_equal(walk_calls(w, "rank"), 600 * 2 * 4 * 2 - r->early.questions * 2);
    assert_int_equal(early->cells_missing, 0);
    assert_string_equal(vq_drop_reason_name(VQ_DROP_EARLY_STOP), "early_stop");
    vq_vibecheck_destroy(&full);
    vq_vibecheck_destroy(&early);
    walk_destroy(w);
}

/* `final`: a vibe that surely passes is not asked on the remaining training rows, but on the test
 * rows it is. */
TEST(final_leaves_out_training_rows_of_vibes_that_pass)
{
    struct walk *w = given(400, 1);
    w->config.judging.early_stop = VQ_EARLY_STOP_FINAL;
    w->config.judging.early_stop_alpha = 0.01;
    const struct vq_vibecheck_method_result *r = walk_run(w);
    struct vq_vibecheck *numbers = walk_numbers(w);
    assert_int_equal(walk_find(w, "rank, look 1")->rows, 50);
    assert_int_equal(walk_find(w, "rank, look 1")->axes, 4);
    assert_true(walk_find(w, "rank, look 2")->axes < 4);
    assert_true(walk_noted(r, "\"Feature 0\" was settled after 50 of 200 training rows: it passes "
                              "its gates, decided with error at most 0.01"));
    assert_false(r->stopped_early[0]);
    assert_true(numbers->vibe[0].kept);
    assert_int_equal(numbers->vibe[0].train.missing + numbers->vibe[0].test.missing, 0);
    assert_int_equal(walk_find(w, "rank")->rows, 200);
    assert_int_equal(walk_find(w, "rank")->axes, numbers->kept_count);
    assert_true(r->early.alpha >= 2);
    vq_vibecheck_destroy(&numbers);
    walk_destroy(w);
}

/* An order of the training rows of its own, the same each time: not the first rows of the file, and
 * not those that were drawn for the proposer. */
TEST(early_stopping_takes_a_seeded_order)
{
    struct walk *w = given(100, 1);
    w->config.judging.early_stop = VQ_EARLY_STOP_EXACT;
    w->config.judging.early_stop_alpha = 0.01;
    w->config.judging.early_stop_rows = 10;
    uint32_t first[2][10], of_file = 0, of_set = 0;
    for (int run = 0; run < 2; run++) {
        struct vq_error err = {0};
        const struct vq_stage *stage;
        vq_vibecheck_method_destroy(&w->m);
        assert_int_equal(vq_vibecheck_method_create(&w->in, &w->m, &err), VQ_OK);
        assert_int_equal(vq_vibecheck_method_next(w->m, &stage, &err), VQ_OK);
        assert_int_equal(stage->rows_count, 10);
        memcpy(first[run], stage->rows, sizeof(first[run]));
    }
    assert_memory_equal(first[0], first[1], sizeof(first[0]));
    for (uint32_t i = 0; i < 10; i++) {
        assert_false(w->rows[first[0][i]].test);
        of_file += first[0][i] < 20;
        for (uint32_t k = 0; k < 10; k++) {
            of_set += w->train[k] == first[0][i];
        }
    }
    assert_true(of_file < 10 && of_set < 10);
    walk_destroy(w);
}

/* Decision 1: a failure is never a vote, against a vibe either. */
TEST(failures_stop_no_vibe)
{
    struct walk *w = given(300, 2);
    w->config.judging.early_stop = VQ_EARLY_STOP_FINAL;
    w->config.judging.early_stop_alpha = 0.1;
    w->fails_judging = true;
    const struct vq_vibecheck_method_result *r = walk_run(w);
    for (uint32_t v = 0; v < 4; v++) {
        assert_false(r->stopped_early[v]);
    }
    /* all training rows, and none of the test rows: without scores none is kept */
    assert_int_equal(walk_calls(w, "rank"), 150 * 2 * 4 * 2);
    struct vq_vibecheck *numbers = walk_numbers(w);
    assert_int_equal(numbers->vibe[0].train.missing, 150);
    assert_int_equal(numbers->kept_count, 0);
    vq_vibecheck_destroy(&numbers);
    walk_destroy(w);
}

/* Row i: judges say by i % 5: both A; both B; a tie; they contradict; no answer. */
static bool five_kinds(struct walk *w, const char *axis, uint32_t row, uint32_t judge,
                       uint8_t both[2])
{
    (void)w;
    if (strcmp(axis, "preference") != 0) {
        return false;
    }
    switch (row % 5) {
    case 0: walk_say(1, both); break;
    case 1: walk_say(-1, both); break;
    case 2: walk_say(0, both); break;
    case 3: walk_say(judge == 0 ? 1 : -1, both); break;
    default: both[0] = both[1] = VQ_OUTCOME_UNPARSEABLE; break;
    }
    return true;
}

TEST(judges_label_preferences)
{
    struct walk *w = given(100, 2);
    w->config.preference = VQ_PREFERENCE_JUDGE;
    w->judge = five_kinds;
    const struct vq_vibecheck_method_result *r = walk_run(w);
    assert_string_equal(w->stages[0].name, "prefer");
    assert_int_equal(w->stages[0].kind, VQ_STAGE_PREFER);
    assert_int_equal(w->stages[0].role, VQ_ROLE_PREFERENCE_JUDGE);
    assert_int_equal(w->stages[0].calls, 2 * 2 * 100);
    assert_string_equal(r->preference_source, "judge");
    static const int8_t label[5] = {1, -1, 0, 0, 0};
    for (uint32_t i = 0; i < 100; i++) {
        assert_int_equal(r->rows[i].preference, label[i % 5]);
        assert_false(r->rows[i].excluded);
        assert_int_equal(w->rows[i].preference, 0); /* what was given stays as it is */
    }
    assert_int_equal(r->preference_outcomes[0], VQ_OUTCOME_FIRST);
    assert_int_equal(r->preference_outcomes[4 * 4], VQ_OUTCOME_UNPARSEABLE);
    assert_true(walk_noted(r, "A in 20 rows, B in 20, ties 40, without an answer 20"));
    struct vq_vibecheck *numbers = walk_numbers(w);
    assert_int_equal(numbers->pp.rows_train, 20);
    assert_int_equal(numbers->mm.rows_train, 50);
    vq_vibecheck_destroy(&numbers);
    walk_destroy(w);
}

TEST(judged_ties_are_dropped_where_that_is_asked)
{
    struct walk *w = given(100, 2);
    w->config.preference = VQ_PREFERENCE_JUDGE;
    w->config.data.ties = VQ_TIES_DROP_ALL;
    w->judge = five_kinds;
    const struct vq_vibecheck_method_result *r = walk_run(w);
    assert_int_equal(walk_find(w, "rank")->rows, 60);
    assert_true(walk_noted(r, "tied rows left out (ties: drop_all): 40; 30 train and 30 test"));
    for (uint32_t i = 0; i < 100; i++) {
        bool tie = i % 5 == 2 || i % 5 == 3;
        assert_int_equal(r->rows[i].excluded, tie);
        assert_int_equal(r->outcomes[(size_t)i * 2 * 4 * 2] == VQ_OUTCOME_NOT_NEEDED, tie);
    }
    struct vq_vibecheck *numbers = walk_numbers(w);
    assert_int_equal(numbers->mm.rows_train, 30);
    assert_int_equal(numbers->mm.rows_test, 30);
    assert_int_equal(numbers->cells_missing, 0);
    assert_true(isnan(numbers->mm_margin[2]));
    vq_vibecheck_destroy(&numbers);
    walk_destroy(w);
}

static bool always_equal(struct walk *w, const char *axis, uint32_t row, uint32_t judge,
                         uint8_t both[2])
{
    (void)w;
    (void)axis;
    (void)row;
    (void)judge;
    walk_say(0, both);
    return true;
}

TEST(labels_that_leave_nothing_end_the_run)
{
    struct walk *w = given(20, 1);
    w->config.preference = VQ_PREFERENCE_JUDGE;
    w->config.data.ties = VQ_TIES_DROP_ALL;
    w->judge = always_equal;
    struct vq_error err = {0}, again = {0};
    assert_int_equal(walk_try(w, &err), VQ_INVALID);
    assert_non_null(strstr(err.text, "data.ties: keep"));
    const struct vq_stage *stage;
    assert_int_equal(vq_vibecheck_method_next(w->m, &stage, &again), VQ_INVALID);
    assert_string_equal(err.text, again.text);
    w->judge = NULL; /* nobody answers: no labels, and nothing is dropped */
    w->fails_judging = true;
    const struct vq_vibecheck_method_result *r = walk_run(w);
    assert_string_equal(r->preference_source, "none");
    assert_int_equal(walk_find(w, "rank")->rows, 20);
    walk_destroy(w);
}

/* The data's own labels are used as they are, and nobody is asked. */
TEST(labels_of_the_data_go_first)
{
    struct walk *w = given(20, 1);
    w->config.preference = VQ_PREFERENCE_JUDGE;
    w->in.has_preferences = true;
    w->rows[3].preference = -1;
    const struct vq_vibecheck_method_result *r = walk_run(w);
    assert_null(walk_find(w, "prefer"));
    assert_string_equal(r->preference_source, "data");
    assert_int_equal(r->rows[3].preference, -1);
    walk_destroy(w);
}

TEST(presets_stand_beside)
{
    struct walk *w = given(40, 1);
    w->config.vibecheck.compare_presets = true;
    const struct vq_vibecheck_method_result *r = walk_run(w);
    size_t presets;
    (void)vq_preset_axes(&presets);
    assert_int_equal(r->axes_count, 4);
    assert_int_equal(r->preset_axes_count, presets);
    assert_int_equal(walk_find(w, "presets")->calls, 2 * 40 * presets);
    for (uint32_t i = 0; i < 40; i++) {
        uint8_t both[2];
        walk_cell(w, r->preset_axes[presets - 1].name, i, 0, both);
        assert_memory_equal(r->preset_outcomes + ((i + 1) * presets - 1) * 2, both, 2);
    }
    w->config.method = VQ_METHOD_PRESET;
    r = walk_run(w);
    assert_null(r->preset_axes);
    assert_true(walk_noted(r, "nothing to compare"));
    walk_destroy(w);
}

TEST(question_types_are_asked_of_kept_vibes)
{
    struct walk *w = given(200, 2);
    w->config.vibecheck.question_types = true;
    const struct vq_vibecheck_method_result *r = walk_run(w);
    assert_int_equal(walk_find(w, "question types")->calls, 2); /* Feature 0 and 1 */
    assert_string_equal(r->question_types[0], "asks for a list; asks for advice");
    assert_string_equal(r->question_types[1], "asks for a list; asks for advice");
    assert_null(r->question_types[2]);
    uint32_t rows = 0;
    for (const char *at = w->transcript.at; (at = strstr(at, "<row>")) != NULL; at++) {
        rows++;
    }
    assert_int_equal(rows, 2 * 50);
    walk_destroy(w);
}

TEST(answers_must_fit_the_stage)
{
    struct walk *w = given(10, 1);
    struct vq_error err = {0};
    const struct vq_stage *stage;
    uint8_t outcomes[10 * 4 * 2] = {0};
    float x[4] = {0};
    assert_int_equal(vq_vibecheck_method_create(&w->in, &w->m, &err), VQ_OK);
    assert_int_equal(vq_vibecheck_method_take_outcomes(w->m, outcomes, sizeof(outcomes), &err),
                     VQ_BUG);
    assert_int_equal(vq_vibecheck_method_next(w->m, &stage, &err), VQ_OK);
    assert_int_equal(vq_vibecheck_method_take_outcomes(w->m, outcomes, sizeof(outcomes) - 1, &err),
                     VQ_BUG);
    assert_int_equal(vq_vibecheck_method_take_texts(w->m, NULL, 0, &err), VQ_BUG);
    assert_int_equal(vq_vibecheck_method_take_vectors(w->m, x, 1, 4, &err), VQ_BUG);
    assert_int_equal(vq_vibecheck_method_take_outcomes(w->m, outcomes, sizeof(outcomes), &err),
                     VQ_OK);
    assert_int_equal(vq_vibecheck_method_next(w->m, &stage, &err), VQ_OK);
    assert_null(stage);
    assert_int_equal(vq_vibecheck_method_take_outcomes(w->m, outcomes, sizeof(outcomes), &err),
                     VQ_BUG);
    walk_destroy(w);
}

TEST(train_must_be_the_train_rows)
{
    struct walk *w = given(10, 1);
    struct vq_error err = {0};
    uint32_t kept = w->train[0];
    w->train[0] = 1; /* a test row */
    assert_int_equal(vq_vibecheck_method_create(&w->in, &w->m, &err), VQ_BUG);
    assert_null(w->m);
    w->train[0] = kept;
    w->in.train_count--;
    assert_int_equal(vq_vibecheck_method_create(&w->in, &w->m, &err), VQ_BUG);
    walk_destroy(w);
}
