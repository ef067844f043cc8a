/* The plan of a persona evaluation: the published call counts, lists that agree with the counts,
 * orders, references. */
#include "tests/unit/test.h"

#include "methods/persona/plan.h"

#include "common/base/alloc.h"

#define BIG_FIVE    44u
#define SAFETY      450u
#define INSTRUCTION 294u

static struct vq_persona_item everybody[SAFETY];

static struct vq_persona_set common_set(uint32_t items, bool rated, enum vq_rating_kind rating)
{
    for (uint32_t i = 0; i < items; i++) {
        everybody[i].persona = VQ_PERSONA_ALL;
    }
    return (struct vq_persona_set){
        .items = everybody, .items_count = items, .rated = rated, .rating = rating};
}

static struct vq_persona_plan *plan_of(const struct vq_persona_design *design)
{
    struct vq_persona_plan *plan = NULL;
    struct vq_error err = {""};
    if (vq_persona_plan_make(design, &plan, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    return plan;
}

static struct vq_persona_design published(void)
{
    return (struct vq_persona_design){
        .models = 7,
        .personas = 8,
        .baseline = true,
        .scripts_count = 2,
        .scripts = {{VQ_PERSONA_DIRECTED, 100, true, true}, {VQ_PERSONA_GOAL, 102, false, false}},
        .shuffled = true,
        .rounds = 102,
        .checkpoints = 10,
        .criteria = 3,
        .seed = 1};
}

/* The lists are as long as the counts say, and what they say is shared are equal rows. */
static void check_lists(const struct vq_persona_plan *plan)
{
    struct vq_persona_counts n;
    vq_persona_count(plan, &n);
    struct vq_persona_turn *turns;
    size_t count;
    assert_int_equal(vq_persona_turns(plan, &turns, &count), VQ_OK);
    assert_int_equal(count * plan->design.criteria, n.turns_rated.planned);
    vq_free(turns);
    for (uint32_t s = 0; s < plan->design.sets_count; s++) {
        const struct vq_persona_set *set = &plan->design.sets[s];
        uint64_t asked = 0, shared = 0;
        for (uint32_t i = 0; i < plan->prefixes_count; i++) {
            for (uint32_t c = 0; c < vq_persona_columns(set); c++) {
                bool asks = vq_persona_asks(plan, set, i, c);
                asked += asks;
                shared += asks && plan->prefixes[i].twin != i;
            }
        }
        assert_int_equal(asked, n.sets[s].asked.planned);
        assert_int_equal(shared, n.sets[s].asked.shared);
        for (int r = 0; r < VQ_PERSONA_REFERENCES; r++) {
            struct vq_persona_answer *rows;
            bool pairwise = set->rated && set->rating == VQ_RATING_PAIRWISE;
            if (pairwise ? !set->references[r] : r > 0) {
                assert_int_equal(n.sets[s].rated[r].planned, 0);
                continue;
            }
            assert_int_equal(
                vq_persona_answers(plan, set, (enum vq_persona_reference)r, &rows, &count), VQ_OK);
            uint64_t calls = 0;
            for (size_t i = 0; i < count; i++) {
                calls += pairwise && rows[i].orders == VQ_CELL_ASKED ? 2 : 1;
            }
            assert_int_equal(calls, n.sets[s].rated[r].planned);
            vq_free(rows);
        }
    }
}

TEST(the_published_counts)
{
    const struct vq_persona_set sets[] = {
        common_set(BIG_FIVE, true, VQ_RATING_LIKERT),
        common_set(SAFETY, true, VQ_RATING_BINARY),
        common_set(INSTRUCTION, false, VQ_RATING_LIKERT),
    };
    struct vq_persona_design design = published();
    design.sets = sets;
    design.sets_count = VQ_COUNT(sets);
    struct vq_persona_plan *plan = plan_of(&design);
    struct vq_persona_counts n;
    vq_persona_count(plan, &n);
    assert_int_equal(n.chains, 252);
    assert_int_equal(n.depth, 102);
    assert_int_equal(n.turns.planned, 25704);
    assert_int_equal(n.turns_rated.planned, 137088);
    assert_int_equal(n.sets[0].asked.planned + n.sets[1].asked.planned + n.sets[2].asked.planned,
                     992880);
    assert_int_equal(n.sets[0].rated[0].planned, 55440);
    assert_int_equal(n.sets[1].rated[0].planned, 567000);
    assert_int_equal(n.sets[2].rated[0].planned, 0);
    /* a cell of 20: the ten checkpoints of two kinds */
    assert_int_equal(n.sets[1].asked.shared * 20, n.sets[1].asked.planned);
    assert_int_equal(n.sets[1].rated[0].shared * 20, n.sets[1].rated[0].planned);
    assert_int_equal(n.generated.planned, 25704 + 992880);
    assert_int_equal(n.rated.planned, 137088 + 55440 + 567000);
    static const uint32_t checkpoints[] = {0, 11, 22, 34, 45, 56, 68, 79, 90, 102};
    assert_memory_equal(plan->checkpoints, checkpoints, sizeof(checkpoints));
    check_lists(plan);
    vq_persona_plan_destroy(&plan);
}

TEST(the_small_demo)
{
    const struct vq_persona_set sets[] = {common_set(BIG_FIVE, true, VQ_RATING_LIKERT)};
    struct vq_persona_design design = {
        .models = 1,
        .personas = 2,
        .baseline = true,
        .scripts_count = 2,
        .scripts = {{VQ_PERSONA_DIRECTED, 10, true, true}, {VQ_PERSONA_GOAL, 12, false, false}},
        .rounds = 12,
        .checkpoints = 3,
        .criteria = 3,
        .sets_count = 1,
        .sets = sets};
    struct vq_persona_plan *plan = plan_of(&design);
    struct vq_persona_counts n;
    vq_persona_count(plan, &n);
    assert_int_equal(n.chains, 6);
    assert_int_equal(n.turns.planned, 72);
    assert_int_equal(n.turns.shared, 0);
    assert_int_equal(n.turns_rated.planned, 288);
    assert_int_equal(n.sets[0].asked.planned, 792);
    assert_int_equal(n.sets[0].asked.shared, 132);
    assert_int_equal(n.sets[0].rated[0].planned, 792);
    assert_int_equal(n.sets[0].rated[0].shared, 132);
    static const uint32_t checkpoints[] = {0, 6, 12};
    assert_memory_equal(plan->checkpoints, checkpoints, sizeof(checkpoints));
    check_lists(plan);
    vq_persona_plan_destroy(&plan);
}

/* Three personas with 3, 2 and 4 items of their own, two of which are the same question; and three
 * items for all. */
static const struct vq_persona_item own_items[] = {
    {0, 0}, {1, 1}, {2, 2}, {0, 3}, {2, 4}, {2, 0}, {0, 5}, {1, 2}, {2, 6},
};
#define OWN       VQ_COUNT(own_items)
#define QUESTIONS 7u

static void check_joins(const struct vq_persona_plan *plan, const struct vq_persona_set *set)
{
    struct vq_persona_answer *rows;
    size_t count;
    assert_int_equal(vq_persona_answers(plan, set, VQ_PERSONA_PREVIOUS, &rows, &count), VQ_OK);
    uint32_t number = 0, prefix = UINT32_MAX;
    for (size_t i = 0; i < count; i++) {
        const struct vq_persona_prefix *at = &plan->prefixes[rows[i].prefix];
        const struct vq_persona_prefix *other = &plan->prefixes[rows[i].other];
        const struct vq_persona_item *item = &own_items[rows[i].item];
        bool baseline = vq_persona_is_baseline(plan, at->persona);
        assert_int_equal(other->chain, at->chain);
        assert_int_equal(other->checkpoint, at->checkpoint - 1);
        assert_int_equal(rows[i].as, item->persona);
        uint32_t column = vq_persona_column(set, rows[i].item, baseline);
        assert_int_equal(column, baseline ? OWN + item->question : rows[i].item);
        assert_true(vq_persona_asks(plan, set, rows[i].prefix, column));
        assert_true(vq_persona_asks(plan, set, rows[i].other, column));
        if (!baseline) {
            number = rows[i].prefix == prefix ? number + 1 : 0;
            prefix = rows[i].prefix;
            assert_int_equal(rows[i].orders, number % 2 == 0 ? VQ_CELL_ORDER_0 : VQ_CELL_ORDER_1);
        }
    }
    vq_free(rows);
    assert_int_equal(vq_persona_answers(plan, set, VQ_PERSONA_ZERO, &rows, &count), VQ_OK);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(plan->prefixes[rows[i].other].rounds, 0);
        assert_int_equal(plan->prefixes[rows[i].other].chain, plan->prefixes[rows[i].prefix].chain);
    }
    vq_free(rows);
}

TEST(pairs_and_references)
{
    struct vq_persona_set sets[] = {
        {own_items,
         OWN,
         QUESTIONS,
         true,
         VQ_RATING_PAIRWISE,
         {true, true, true},
         VQ_PERSONA_ALTERNATE},
        {own_items,
         OWN,
         QUESTIONS,
         true,
         VQ_RATING_PAIRWISE,
         {true, false, false},
         VQ_PERSONA_BOTH},
        common_set(3, true, VQ_RATING_PAIRWISE),
        {own_items, OWN, QUESTIONS, true, VQ_RATING_LIKERT, {false, false, false}, VQ_PERSONA_BOTH},
    };
    sets[2].references[VQ_PERSONA_PREVIOUS] = true;
    sets[2].positions = VQ_PERSONA_ALTERNATE;
    struct vq_persona_design design = published();
    design.models = 2;
    design.personas = 3;
    design.checkpoints = 4;
    design.sets = sets;
    design.sets_count = VQ_COUNT(sets);
    struct vq_persona_plan *plan = plan_of(&design);
    struct vq_persona_counts n;
    vq_persona_count(plan, &n);
    /* M K C (S + questions); M K C 2 S; M K (C - 1) 2 S each */
    assert_int_equal(n.sets[0].asked.planned, 2 * 2 * 4 * (OWN + QUESTIONS));
    assert_int_equal(n.sets[0].rated[VQ_PERSONA_DATASET].planned, 2 * 2 * 4 * 2 * OWN);
    assert_int_equal(n.sets[0].rated[VQ_PERSONA_DATASET].shared, 2 * 2 * OWN);
    assert_int_equal(n.sets[0].rated[VQ_PERSONA_ZERO].planned, 2 * 2 * 3 * 2 * OWN);
    assert_int_equal(n.sets[0].rated[VQ_PERSONA_PREVIOUS].planned, 2 * 2 * 3 * 2 * OWN);
    assert_int_equal(n.sets[0].rated[VQ_PERSONA_PREVIOUS].shared, 2 * 2 * 2 * OWN);
    assert_int_equal(n.sets[1].rated[VQ_PERSONA_DATASET].planned, 2 * 2 * 2 * 4 * 2 * OWN);
    assert_int_equal(n.sets[2].rated[VQ_PERSONA_PREVIOUS].planned, 2 * 2 * 3 * 3 * 3 * 2);
    assert_int_equal(n.sets[2].rated[VQ_PERSONA_PREVIOUS].shared, 0);
    check_lists(plan);
    check_joins(plan, &sets[0]);
    vq_persona_plan_destroy(&plan);
}

TEST(orders)
{
    struct vq_persona_design design = published();
    struct vq_persona_plan *plan = plan_of(&design), *again = plan_of(&design);
    struct vq_persona_counts n;
    vq_persona_count(plan, &n);
    for (uint32_t s = 0; s < 2; s++) {
        bool seen[102] = {false};
        uint32_t moved = 0;
        const uint32_t *original = plan->queries + (size_t)s * 2 * 102, *shuffled = original + 102;
        for (uint32_t i = 0; i < 102; i++) {
            assert_int_equal(original[i], i);
            assert_false(seen[shuffled[i]]);
            seen[shuffled[i]] = true;
            moved += shuffled[i] != i;
        }
        assert_true(moved > 80);
    }
    assert_int_equal(plan->queries[102], 0); /* the remarks stay */
    assert_int_equal(plan->queries[102 + 101], 101);
    /* the opening of an interview is asked once for both orders */
    assert_int_equal(n.turns.shared, 7 * 9);
    assert_int_equal(n.turns_rated.shared, 7 * 16 * 3);
    assert_memory_equal(plan->queries, again->queries, 4 * 102 * sizeof(uint32_t));
    vq_persona_plan_destroy(&again);
    design.seed = 2;
    again = plan_of(&design);
    assert_memory_not_equal(plan->queries, again->queries, 4 * 102 * sizeof(uint32_t));
    vq_persona_plan_destroy(&again);
    vq_persona_plan_destroy(&plan);
}

TEST(numbers_of_chains_and_prefixes)
{
    struct vq_persona_design design = published();
    struct vq_persona_plan *plan = plan_of(&design);
    assert_int_equal(plan->prefixes_count, 7 * 9 * 2 * 10);
    for (uint32_t i = 0; i < plan->chains_count; i++) {
        const struct vq_persona_chain *c = &plan->chains[i];
        assert_int_equal(vq_persona_chain_of(plan, c->model, c->persona, c->script, c->order), i);
        assert_true(c->model < 7 && c->persona < 9 && c->script < 2);
    }
    for (uint32_t i = 0; i < plan->prefixes_count; i++) {
        const struct vq_persona_prefix *p = &plan->prefixes[i];
        assert_int_equal(vq_persona_prefix_of(plan, p->model, p->persona, p->script, p->checkpoint),
                         i);
        assert_int_equal(plan->chains[p->chain].order, VQ_PERSONA_ORIGINAL);
        assert_int_equal(plan->chains[p->chain].persona, p->persona);
        assert_true(p->twin == i || (p->rounds == 0 && p->script == 1));
    }
    vq_persona_plan_destroy(&plan);
}

TEST(without_a_baseline_there_is_none)
{
    const struct vq_persona_set sets[] = {
        {own_items, OWN, QUESTIONS, true, VQ_RATING_PAIRWISE, {true}, VQ_PERSONA_BOTH}};
    struct vq_persona_design design = published();
    design.baseline = false;
    design.personas = 3;
    design.shuffled = false;
    design.sets = sets;
    design.sets_count = 1;
    struct vq_persona_plan *plan = plan_of(&design);
    struct vq_persona_counts n;
    vq_persona_count(plan, &n);
    assert_int_equal(n.turns.planned, 7 * 2 * 3 * 102);
    assert_int_equal(n.turns_rated.planned, 3 * n.turns.planned);
    assert_int_equal(n.sets[0].asked.planned, 7 * 2 * 10 * OWN);
    check_lists(plan);
    vq_persona_plan_destroy(&plan);
}

TEST(what_does_not_fit_is_refused)
{
    static const struct vq_persona_item nobodys[] = {{3, 0}};
    const struct vq_persona_set wrong[] = {
        {nobodys, 1, 1, false, VQ_RATING_LIKERT, {false}, VQ_PERSONA_BOTH},
        {own_items, OWN, QUESTIONS, true, VQ_RATING_PAIRWISE, {false}, VQ_PERSONA_BOTH},
        {own_items, OWN, QUESTIONS, true, VQ_RATING_BINARY, {true}, VQ_PERSONA_BOTH},
        {own_items, 0, 0, false, VQ_RATING_LIKERT, {false}, VQ_PERSONA_BOTH},
        {own_items, OWN, QUESTIONS - 1, false, VQ_RATING_LIKERT, {false}, VQ_PERSONA_BOTH},
    };
    struct vq_persona_plan *plan = NULL;
    struct vq_error err;
    for (size_t i = 0; i < VQ_COUNT(wrong); i++) {
        struct vq_persona_design design = published();
        design.personas = 3;
        design.sets = &wrong[i];
        design.sets_count = 1;
        err.text[0] = '\0';
        assert_int_not_equal(vq_persona_plan_make(&design, &plan, &err), VQ_OK);
        assert_true(err.text[0] != '\0' && plan == NULL);
    }
    struct vq_persona_design bad[8];
    for (size_t i = 0; i < VQ_COUNT(bad); i++) {
        bad[i] = published();
    }
    bad[0].models = 0;
    bad[1].personas = VQ_PERSONA_PERSONAS_MAX + 1;
    bad[2].rounds = 101;
    bad[3].scripts[1].kind = VQ_PERSONA_DIRECTED;
    bad[4].checkpoints = 104;
    bad[5].scripts_count = 3;
    bad[6].rounds = VQ_PERSONA_ROUNDS_MAX + 1;
    bad[7].sets_count = VQ_PERSONA_SETS_MAX + 1;
    for (size_t i = 0; i < VQ_COUNT(bad); i++) {
        err.text[0] = '\0';
        assert_int_not_equal(vq_persona_plan_make(&bad[i], &plan, &err), VQ_OK);
        assert_true(err.text[0] != '\0' && plan == NULL);
    }
}

TEST(without_memory)
{
    const struct vq_persona_set set = {own_items,          OWN,    QUESTIONS,      true,
                                       VQ_RATING_PAIRWISE, {true}, VQ_PERSONA_BOTH};
    struct vq_persona_design design = published();
    design.personas = 3;
    design.sets = &set;
    design.sets_count = 1;
    struct vq_persona_plan *plan = NULL;
    uint64_t failed = 0;
    enum vq_status status = VQ_NOMEM;
    while (status == VQ_NOMEM) {
        assert_null(plan);
        vq_alloc_fail_at(++failed);
        status = vq_persona_plan_make(&design, &plan, NULL);
        vq_alloc_fail_at(0);
    }
    assert_true(status == VQ_OK && failed == 7);
    struct vq_persona_turn *turns;
    struct vq_persona_answer *rows;
    size_t count;
    vq_alloc_fail_at(1);
    assert_int_equal(vq_persona_turns(plan, &turns, &count), VQ_NOMEM);
    for (uint64_t at = 1; at <= 2; at++) {
        vq_alloc_fail_at(at);
        assert_int_equal(vq_persona_answers(plan, &set, VQ_PERSONA_DATASET, &rows, &count),
                         VQ_NOMEM);
    }
    vq_alloc_fail_at(0);
    vq_persona_plan_destroy(&plan);
}
