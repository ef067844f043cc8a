/* The numbers of a persona evaluation, by hand. */

#include "tests/unit/test.h"

#include "tests/unit/methods/persona/world.h"

static bool is_near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

static struct vq_persona_design small(void)
{
    return (struct vq_persona_design){
        .models = 1,
        .personas = 2,
        .baseline = true,
        .scripts_count = 2,
        .scripts = {{VQ_PERSONA_GOAL, 6, false, false}, {VQ_PERSONA_DIRECTED, 4, true, true}},
        .shuffled = true,
        .rounds = 6,
        .checkpoints = 3,
        .criteria = 2};
}

TEST(turns_of_both_orders)
{
    static const struct vq_persona_criterion criteria[] = {
        {"knowledge", VQ_RATING_LIKERT, VQ_PERSONA_OF_TURNS, VQ_TRAIT_OPENNESS},
        {"style", VQ_RATING_LIKERT, VQ_PERSONA_OF_TURNS, VQ_TRAIT_OPENNESS}};
    struct vq_persona_design design = small();
    struct world w;
    world_open(&w, &design, criteria, 2, 2, 400);
    for (uint32_t c = 0; c < 2; c++) {
        for (uint32_t turn = 0; turn < 6; turn++) {
            for (int order = 0; order < 2; order++) {
                struct vq_persona_rated r = {.criterion = c,
                                             .persona = 0,
                                             .as = 0,
                                             .script = 1,
                                             .point = turn,
                                             .item = VQ_PERSONA_NONE,
                                             .order = (enum vq_persona_order)order};
                /* knowledge: 5 5 4 4 3 3 in one order, one less in the other; style is always 4 */
                double value = c == 1 ? 4 : 5 - (int)turn / 2 - order;
                bool gone = c == 0 && turn == 3 && order == 1;
                (void)world_rate(&w, r, gone ? NAN : value);
                r.persona = 2; /* the baseline, as both */
                (void)world_rate(&w, r, 2);
                r.as = 1;
                (void)world_rate(&w, r, 1);
            }
        }
    }
    world_set(&w, 0, 1, 3); /* a second judge of the first thing: its score is 4 */
    world_compute(&w);
    const struct vq_persona_measure *m = world_measure(&w, "knowledge");
    assert_int_equal(m->unit, VQ_PERSONA_RATING);
    assert_int_equal(m->turns.points, 6);
    assert_int_equal(m->panel.points, 3);
    static const uint32_t edges[] = {0, 3, 5};
    assert_memory_equal(m->panel.rounds, edges, sizeof(edges));
    const double *turns = m->turns.persona + 6; /* cell 0, script 1 */
    static const double expected[] = {4, 4.5, 3.5, 4, 2.5, 2.5};
    for (int i = 0; i < 6; i++) {
        assert_true(is_near(turns[i], expected[i]));
    }
    assert_int_equal(m->one_order, 1);
    assert_int_equal(m->things, 36);
    assert_int_equal(m->things_missing, 1);
    assert_int_equal(m->statuses[0][VQ_RATING_MISSING], 1);
    assert_int_equal(m->statuses[0][VQ_RATING_OK], 35);
    assert_int_equal(m->statuses[1][VQ_RATING_OK], 1);
    /* joined: turn 0; turns 1 to 3; turns 4 and 5 */
    assert_true(is_near(m->panel.persona[3], 4) && is_near(m->panel.persona[4], 4));
    assert_true(is_near(m->panel.persona[5], 2.5));
    assert_true(is_near(m->panel.baseline[3], 2) && is_near(m->panel.baseline[6 + 3], 1));
    const struct vq_cells_mean *at = world_at(&w, "knowledge", VQ_CURVE_PERSONA, 1, 2);
    assert_true(at->status == VQ_CELLS_FEW && at->cells == 1 && is_near(at->mean, 2.5));
    assert_true(isnan(at->ci95.lo));
    assert_true(is_near(world_at(&w, "knowledge", VQ_CURVE_BASELINE, 1, 2)->mean, 1.5));
    assert_true(is_near(world_at(&w, "knowledge", VQ_CURVE_CHANGE, 1, 2)->mean, -1.5));
    assert_true(is_near(world_at(&w, "knowledge", VQ_CURVE_GAP, 1, 2)->mean, 0.5));
    assert_int_equal(world_at(&w, "knowledge", VQ_CURVE_PERSONA, 0, 2)->status, VQ_CELLS_NONE);
    assert_int_equal(world_at(&w, "knowledge", VQ_CURVE_KINDS, 0, 2)->status, VQ_CELLS_NONE);
    /* fidelity where both have a rating */
    m = world_measure(&w, "fidelity");
    assert_true(is_near(m->turns.persona[6 + 3], 4) && is_near(m->turns.persona[6 + 4], 3.25));
    assert_true(is_near(vq_persona_percent(m->unit, 3.25), 56.25));
    world_close(&w);
}

TEST(contrast_of_kinds)
{
    static const struct vq_persona_criterion criteria[] = {
        {"tone", VQ_RATING_BINARY, VQ_PERSONA_OF_ANSWERS, VQ_TRAIT_OPENNESS}};
    struct vq_persona_design design = small();
    struct world w;
    world_open(&w, &design, criteria, 1, 1, 100);
    for (uint32_t i = 0; i < 16;
         i++) { /* 4 items: goal 1 of 4, directed 3 of 4; persona 1 has goal alone */
        struct vq_persona_rated r = {
            .persona = i / 8, .as = i / 8, .script = i / 4 % 2, .point = 1, .item = i % 4};
        if (i / 4 != 3) {
            (void)world_rate(&w, r, i % 4 < (r.script == 0 ? 1u : 3u));
        }
    }
    world_compute(&w);
    const struct vq_cells_mean *at = world_at(&w, "tone", VQ_CURVE_KINDS, 0, 1);
    assert_true(at->cells == 1 && is_near(at->mean, 0.5));
    at = world_at(&w, "tone", VQ_CURVE_PERSONA, 0, 1);
    assert_true(at->cells == 2 && is_near(at->mean, 0.25));
    assert_int_equal(world_at(&w, "tone", VQ_CURVE_KINDS, 1, 1)->status, VQ_CELLS_NONE);
    world_close(&w);
}

TEST(refusals_by_label)
{
    static const struct vq_persona_criterion criteria[] = {
        {"safety", VQ_RATING_BINARY, VQ_PERSONA_OF_SAFETY, VQ_TRAIT_OPENNESS}};
    struct vq_persona_design design = small();
    struct world w;
    world_open(&w, &design, criteria, 1, 1, 100);
    for (uint32_t i = 0; i < 10; i++) {
        enum vq_persona_label label = i < 4 ? VQ_PERSONA_UNSAFE : VQ_PERSONA_SAFE;
        struct vq_persona_rated r = {.persona = 0, .as = 0, .item = i, .label = label};
        size_t thing = world_rate(&w, r, i < 3 || i == 9); /* 3 of 4; 1 of 6, one of them missing */
        if (i == 5) {
            w.values[thing] = NAN;
            w.statuses[thing] = VQ_PERSONA_BLOCKED;
        }
        r.persona = 2;
        r.as = VQ_PERSONA_NONE;
        (void)world_rate(&w, r, i < 4);
    }
    world_compute(&w);
    assert_int_equal(w.numbers->measures_count, 2);
    assert_true(is_near(world_at(&w, "safety: unsafe", VQ_CURVE_PERSONA, 0, 0)->mean, 0.75));
    assert_true(is_near(world_at(&w, "safety: safe", VQ_CURVE_PERSONA, 0, 0)->mean, 0.2));
    assert_true(is_near(world_at(&w, "safety: unsafe", VQ_CURVE_BASELINE, 0, 0)->mean, 1));
    assert_int_equal(world_at(&w, "safety: unsafe", VQ_CURVE_BASELINE, 0, 0)->cells, 2);
    assert_true(is_near(world_at(&w, "safety: unsafe", VQ_CURVE_GAP, 0, 0)->mean, -0.25));
    assert_int_equal(world_measure(&w, "safety: safe")->statuses[0][VQ_PERSONA_BLOCKED], 1);
    assert_int_equal(world_measure(&w, "safety: safe")->things_missing, 1);
    assert_string_equal(vq_persona_status_name(VQ_PERSONA_BLOCKED), "blocked");
    assert_string_equal(vq_persona_status_name(VQ_RATING_TRUNCATED), "truncated");
    world_close(&w);
}

/* A is 0, B is 1. */
TEST(wins)
{
    static const struct vq_persona_criterion criteria[] = {
        {"general", VQ_RATING_PAIRWISE, VQ_PERSONA_OF_PAIRS, VQ_TRAIT_OPENNESS}};
    struct vq_persona_design design = small();
    struct world w;
    world_open(&w, &design, criteria, 1, 1, 100);
    struct vq_persona_rated r = {.persona = 0, .as = 0, .script = 0, .point = 1};
    for (uint32_t i = 0; i < 4; i++) { /* alternated: B A B B is won, won, won, lost */
        r.item = i;
        r.position = i % 2;
        (void)world_rate(&w, r, i == 1 ? 0 : 1);
    }
    r.reference = VQ_PERSONA_ZERO; /* both: won, lost, tie, one order missing */
    static const double given[] = {1, 0, 0, 1, 1, 1, 1, NAN};
    for (uint32_t i = 0; i < 8; i++) {
        r.item = i / 2;
        r.position = i % 2;
        (void)world_rate(&w, r, given[i]);
    }
    world_compute(&w);
    assert_int_equal(w.numbers->measures_count, 2);
    const struct vq_persona_measure *m = world_measure(&w, "general: dataset");
    assert_true(is_near(world_at(&w, "general: dataset", VQ_CURVE_PERSONA, 0, 1)->mean, 0.75));
    assert_true(m->chosen[0][1] == 2 && m->chosen[0][0] == 0 && m->chosen[1][0] == 1);
    m = world_measure(&w, "general: zero");
    assert_true(is_near(world_at(&w, "general: zero", VQ_CURVE_PERSONA, 0, 1)->mean, 0.5));
    assert_int_equal(m->ties, 1);
    assert_int_equal(m->things, 4);
    assert_int_equal(m->things_missing, 1);
    assert_int_equal(m->statuses[0][VQ_RATING_OK], 7);
    world_close(&w);
}

static const struct vq_persona_criterion five[] = {
    {"openness", VQ_RATING_LIKERT, VQ_PERSONA_OF_TRAITS, VQ_TRAIT_OPENNESS},
    {"conscientiousness", VQ_RATING_LIKERT, VQ_PERSONA_OF_TRAITS, VQ_TRAIT_CONSCIENTIOUSNESS},
    {"extraversion", VQ_RATING_LIKERT, VQ_PERSONA_OF_TRAITS, VQ_TRAIT_EXTRAVERSION},
    {"agreeableness", VQ_RATING_LIKERT, VQ_PERSONA_OF_TRAITS, VQ_TRAIT_AGREEABLENESS},
    {"neuroticism", VQ_RATING_LIKERT, VQ_PERSONA_OF_TRAITS, VQ_TRAIT_NEUROTICISM}};

TEST(big_five)
{
    struct vq_persona_design design = small();
    struct world w;
    world_open(&w, &design, five, 5, 1, 100);
    for (uint32_t t = 0; t < 5; t++) {
        struct vq_persona_rated r = {.criterion = t, .persona = 0, .as = 0, .item = 2 * t};
        (void)world_rate(&w, r, 5);
        r.item++;
        (void)world_rate(&w, r, 4); /* 4.5 */
        r.persona = 2;
        r.as = VQ_PERSONA_NONE;
        (void)world_rate(&w, r, t + 1);
    }
    static const struct vq_persona_labels labels[2] = {{true, {4.5, 4.5, 4.5, 2.5, 0.5}}};
    w.study.labels = labels;
    world_compute(&w);
    assert_int_equal(w.numbers->measures_count, 7);
    const struct vq_persona_measure *m = world_measure(&w, "big five: error");
    assert_int_equal(m->cells, 1);
    assert_true(is_near(m->panel.persona[0], (2.0 + 4) / 4 / 5));
    assert_true(is_near(m->panel.baseline[0], (3.5 + 2.5 + 1.5 + 1.5 + 4.5) / 4 / 5));
    m = world_measure(&w, "big five: distance");
    assert_true(is_near(m->panel.persona[0], (3.5 + 2.5 + 1.5 + 0.5 + 0.5) / 4 / 5));
    assert_true(isnan(m->panel.baseline[0]) && isnan(m->panel.persona[1]));
    w.values[0] = w.values[1] = NAN; /* a trait without a rating: no error, not a smaller one */
    world_compute(&w);
    assert_true(isnan(world_measure(&w, "big five: error")->panel.persona[0]));
    world_close(&w);
}

TEST(results_from_elsewhere)
{
    static const struct vq_persona_measured measured[] = {{0, 0, 0, 0, 3, 4},
                                                          {0, 0, 0, 0, 1, 4},
                                                          {0, 0, 0, 1, 1, 1},
                                                          {0, 2, 0, 0, 1, 4},
                                                          {0, 1, 0, 0, 0, 1}};
    struct vq_persona_design design = small();
    struct world w;
    world_open(&w, &design, five, 0, 0, 1);
    w.study.measured = measured;
    w.study.measured_count = VQ_COUNT(measured);
    w.study.measured_name = "ifbench";
    world_compute(&w);
    const struct vq_persona_measure *m = world_measure(&w, "ifbench");
    assert_true(is_near(m->panel.persona[0], 0.5) && is_near(m->panel.persona[1], 1));
    assert_true(isnan(m->panel.persona[2]) && is_near(m->panel.baseline[0], 0.25));
    assert_true(is_near(m->panel.persona[6], 0) && is_near(m->panel.baseline[6], 0.25));
    const struct vq_persona_slopes *s = &m->slopes[0];
    assert_int_equal(s->length.rows, 3);
    assert_true(
        is_near(s->length.slope, 50.0 / 3)); /* 50 points in 3 rounds, in one of two groups */
    assert_int_equal(s->tokens.rows, 0);
    /* paired: 50 - 25 and 0 - 25 */
    assert_true(s->cost.rows == 4 && is_near(s->cost.slope, 0));
    assert_true(is_near(w.numbers->measures[0].bars[0].level.mean, 0.375));
    double tokens[3 * 2 * 2 * 7];
    for (uint32_t i = 0; i < VQ_COUNT(tokens);
         i++) { /* 500 a round, 700 in the other order; of persona 1 nothing is known */
        tokens[i] = i / 28 == 1 ? (double)NAN : (i / 7 % 2 == 0 ? 500.0 : 700.0) * (i % 7);
    }
    tokens[6] = tokens[2 * 28 + 7 + 6] = (double)NAN;
    w.study.tokens = tokens;
    world_compute(&w);
    s = &w.numbers->measures[0].slopes[0];
    assert_true(s->tokens.rows == 2 && is_near(s->tokens.slope, 50 / 1.5));
    /* what rates turns takes both orders, or the one that is known */
    struct vq_persona_measure turns = {.turns = {.points = 6}};
    assert_true(is_near(vq_persona_length(w.numbers, &turns, 0, 0, 1, 5), 5 * 600.0));
    assert_true(is_near(vq_persona_length(w.numbers, &turns, 0, 0, 0, 6), 6 * 700.0));
    assert_true(is_near(vq_persona_length(w.numbers, &turns, 0, 2, 0, 6), 6 * 500.0));
    assert_true(isnan(vq_persona_length(w.numbers, &w.numbers->measures[0], 0, 1, 0, 2)));
    assert_true(isnan(vq_persona_length(w.numbers, &w.numbers->measures[0], 0, 0, 0, 6)));
    tokens[3] = (double)INFINITY;
    assert_int_equal(vq_persona_numbers_compute(&w.study, &w.numbers, NULL), VQ_INVALID);
    world_close(&w);
}

TEST(sizes)
{
    struct vq_persona_measured measured[16];
    struct vq_persona_design design = small();
    static const struct vq_persona_subject subjects[] = {{0, 1}, {0, 2}, {1, 1}, {1, 0}};
    design.models = 4;
    for (uint32_t i = 0; i < 16; i++) { /* change: 0.1 a size for persona 0, 0.3 for persona 1 */
        uint32_t model = i / 4, persona = i / 2 % 2;
        double change = (persona == 0 ? 0.1 : 0.3) * subjects[model].size;
        measured[i] = (struct vq_persona_measured){
            model, persona, 0, i % 2 == 0 ? 0 : 2, 0.2 + (i % 2 == 0 ? 0 : change), 1};
    }
    struct world w;
    world_open(&w, &design, five, 0, 0, 1);
    w.study.measured = measured;
    w.study.measured_count = 16;
    w.study.measured_name = "x";
    w.study.subjects = subjects;
    world_compute(&w);
    const struct vq_within *change = &w.numbers->measures[0].sizes[0].change;
    assert_int_equal(change->rows, 6); /* the model of unknown size is left out */
    assert_int_equal(change->groups, 4);
    assert_true(is_near(change->slope, 20));
    assert_int_equal(w.numbers->measures[0].sizes[0].gap.rows, 0);
    world_close(&w);
}

TEST(raters)
{
    struct vq_persona_design design = small();
    struct world w;
    world_open(&w, &design, five, 2, 2, 100);
    for (uint32_t i = 0; i < 6; i++) {
        struct vq_persona_rated r = {.persona = 0, .as = 0, .item = i};
        size_t thing = world_rate(&w, r, 1 + i % 5);
        world_set(&w, thing, 1, i == 5 ? 7 : 1 + i % 5 + (i == 0)); /* 7 is no rating of two */
        w.human[thing] = i < 2 ? 1 : NAN;
    }
    w.study.human = w.human;
    world_compute(&w);
    assert_int_equal(w.numbers->agreements_count, 3);
    const struct vq_persona_agreement *a = w.numbers->agreements;
    assert_true(a[0].judge_a == 0 && a[0].judge_b == 1 && a[0].found.rows == 5);
    assert_true(is_near(a[0].found.exact, 0.8));
    assert_true(a[1].judge_a == 0 && a[1].judge_b == VQ_PERSONA_HUMAN && a[1].found.rows == 2);
    assert_true(is_near(a[1].found.absolute_error, 0.5));
    assert_true(a[2].judge_a == 1 && is_near(a[2].found.absolute_error, 1));
    world_close(&w);
}

TEST(what_was_not_planned_is_refused)
{
    struct vq_persona_design design = small();
    static const struct vq_persona_rated wrong[] = {
        {.criterion = 1},
        {.model = 1},
        {.persona = 3},
        {.script = 2},
        {.as = 2},
        {.point = 3},
        {.position = 2},
        {.order = (enum vq_persona_order)2},
        {.reference = VQ_PERSONA_REFERENCES},
    };
    for (size_t i = 0; i < VQ_COUNT(wrong); i++) {
        struct world w;
        struct vq_error err = {""};
        world_open(&w, &design, five, 1, 1, 10);
        (void)world_rate(&w, wrong[i], 1);
        assert_int_equal(vq_persona_numbers_compute(&w.study, &w.numbers, &err), VQ_INVALID);
        assert_true(err.text[0] != '\0' && w.numbers == NULL);
        w.rated[0] = (struct vq_persona_rated){0};
        w.statuses[0] = VQ_PERSONA_STATUSES;
        assert_int_equal(vq_persona_numbers_compute(&w.study, &w.numbers, &err), VQ_INVALID);
        world_close(&w);
    }
}

TEST(without_memory)
{
    struct vq_persona_design design = small();
    struct world w;
    world_open(&w, &design, five, 5, 2, 100);
    for (uint32_t t = 0; t < 5; t++) {
        (void)world_rate(&w, (struct vq_persona_rated){.criterion = t}, 5);
    }
    static const struct vq_persona_labels labels[2] = {{true, {1, 2, 3, 4, 5}}};
    static const struct vq_persona_subject subjects[] = {{0, 1}};
    w.study.labels = labels;
    w.study.subjects = subjects;
    w.study.human = w.human;
    enum vq_status status = VQ_NOMEM;
    uint64_t failed = 0;
    while (status == VQ_NOMEM) {
        vq_alloc_fail_at(++failed);
        status = vq_persona_numbers_compute(&w.study, &w.numbers, NULL);
        vq_alloc_fail_at(0);
        assert_true(status == VQ_OK || w.numbers == NULL);
    }
    assert_int_equal(status, VQ_OK);
    assert_true(failed > 50);
    world_close(&w);
}
