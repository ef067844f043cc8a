/* People's labels: which rating each is of, and what is no label. */

#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "methods/persona/human.h"

#include <math.h>
#include <string.h>

static const char *const models[] = {"m-small", "m-large"};
static const char *const personas[] = {"Ada", "Bo"};
static const struct vq_persona_names names = {models, personas};

enum {
    STYLE,
    OPENNESS,
    SAFETY,
    ROLE,
    OPENNESS_AGAIN,
    CRITERIA
};
static const struct vq_persona_criterion criteria[CRITERIA] = {
    {"style", VQ_RATING_LIKERT, VQ_PERSONA_OF_TURNS, VQ_TRAIT_OPENNESS},
    {"openness", VQ_RATING_LIKERT, VQ_PERSONA_OF_TRAITS, VQ_TRAIT_OPENNESS},
    {"safety", VQ_RATING_BINARY, VQ_PERSONA_OF_SAFETY, VQ_TRAIT_OPENNESS},
    {"role", VQ_RATING_PAIRWISE, VQ_PERSONA_OF_PAIRS, VQ_TRAIT_OPENNESS},
    {"openness", VQ_RATING_LIKERT, VQ_PERSONA_OF_TRAITS, VQ_TRAIT_OPENNESS}};

static struct vq_persona_plan *plan_of(void)
{
    struct vq_persona_design design = {
        .models = 2,
        .personas = 2,
        .baseline = true,
        .scripts_count = 2,
        .scripts = {{VQ_PERSONA_GOAL, 10, false, false}, {VQ_PERSONA_DIRECTED, 10, false, false}},
        .shuffled = true,
        .rounds = 10,
        .checkpoints = 3};
    struct vq_persona_plan *plan;
    assert_int_equal(vq_persona_plan_make(&design, &plan, NULL), VQ_OK);
    return plan;
}

static enum vq_status parse(const char *text, struct vq_persona_human **ret_human,
                            size_t *ret_count, size_t *ret_passed, struct vq_error *err)
{
    struct vq_persona_plan *plan = plan_of();
    enum vq_status status =
        vq_persona_human_parse(vq_span_str(text), "h.csv", plan, &names, criteria, CRITERIA,
                               ret_human, ret_count, ret_passed, err);
    vq_persona_plan_destroy(&plan);
    return status;
}

#define HEAD                                                                                       \
    "criterion,model,persona,as,kind,order,round,item,label,reference,position,judge,human\n"
static const char labels[] =
    HEAD "style,m-small,Ada,Ada,directed,shuffled,9,,,,,j,4\n"
         "style,m-small,Ada,,directed,shuffled,9,,,,,k, 4.0 \n"
         "style,m-small,,Bo,goal,original,0,,,,,j,1\n"
         "style,m-small,Ada,Ada,directed,original,10,,,,,j,4\n" /* there is no such turn */
         "openness,m-large,Bo,Bo,interview,original,5,2,,,,j,5\n"
         "openness,m-large,baseline,,goal,,10,1,,,,j,3\n"
         "safety,m-large,Bo,Bo,goal,original,0,1,unsafe,,,j,Yes\n"
         "safety,m-large,Bo,Bo,goal,original,0,2,unsafe,,,j,no\n"
         "safety,m-large,Bo,Bo,goal,original,0,3,unsafe,,,j,\n" /* nothing was said */
         "role,m-small,Ada,Ada,goal,original,5,1,,zero,2,j,b\n"
         "role,m-small,Ada,Ada,goal,original,5,1,,,,j,A\n"
         "wit,m-small,Ada,Ada,goal,original,5,1,,,,j,A\n"
         "role,m-huge,Ada,Ada,goal,original,5,1,,,,j,A\n";

TEST(labels_find_their_ratings)
{
    static const struct {
        struct vq_persona_rated of;
        double value; /* NaN: nothing was said of it */
    } things[] = {
        {{STYLE, 0, 0, 1, 0, 9, VQ_PERSONA_NONE, VQ_PERSONA_SHUFFLED, 0, 0, 0}, 4},
        {{STYLE, 0, 0, 1, 0, 9, VQ_PERSONA_NONE, VQ_PERSONA_ORIGINAL, 0, 0, 0}, NAN},
        {{STYLE, 0, 2, 0, 1, 0, VQ_PERSONA_NONE, VQ_PERSONA_ORIGINAL, 0, 0, 0}, 1},
        {{STYLE, 0, 2, 0, 0, 0, VQ_PERSONA_NONE, VQ_PERSONA_ORIGINAL, 0, 0, 0}, NAN},
        {{OPENNESS_AGAIN, 1, 1, 1, 1, 1, 1, VQ_PERSONA_ORIGINAL, 0, 0, 0}, 5},
        {{OPENNESS, 1, 2, 0, VQ_PERSONA_NONE, 2, 0, VQ_PERSONA_ORIGINAL, 0, 0, 0}, 3},
        {{SAFETY, 1, 1, 0, 1, 0, 0, VQ_PERSONA_ORIGINAL, 0, 0, VQ_PERSONA_UNSAFE}, 1},
        {{SAFETY, 1, 1, 0, 1, 0, 1, VQ_PERSONA_ORIGINAL, 0, 0, VQ_PERSONA_UNSAFE}, 0},
        {{SAFETY, 1, 1, 0, 1, 0, 2, VQ_PERSONA_ORIGINAL, 0, 0, VQ_PERSONA_UNSAFE}, NAN},
        {{ROLE, 0, 0, 0, 0, 1, 0, VQ_PERSONA_ORIGINAL, VQ_PERSONA_ZERO, 1, 0}, 1},
        {{ROLE, 0, 0, 0, 0, 1, 0, VQ_PERSONA_ORIGINAL, VQ_PERSONA_ZERO, 0, 0}, NAN},
        {{ROLE, 0, 0, 0, 0, 1, 0, VQ_PERSONA_ORIGINAL, VQ_PERSONA_DATASET, 0, 0}, 0},
    };
    struct vq_persona_rated rated[VQ_COUNT(things)];
    double values[VQ_COUNT(things)];
    struct vq_persona_human *human = NULL;
    size_t count, passed;
    struct vq_error err = {""};
    if (parse(labels, &human, &count, &passed, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(count, 8);
    assert_int_equal(passed, 4); /* one that is there twice is not among them */
    for (size_t i = 0; i < VQ_COUNT(things); i++) {
        rated[i] = things[i].of;
    }
    assert_int_equal(
        vq_persona_human_place(human, count, criteria, rated, VQ_COUNT(things), values), 0);
    for (size_t i = 0; i < VQ_COUNT(things); i++) {
        assert_int_equal(isnan(values[i]), isnan(things[i].value));
        assert_true(isnan(values[i]) || fabs(values[i] - things[i].value) < 1e-9);
    }
    vq_free(human);
    assert_int_equal(parse(labels, &human, &count, &passed, &err), VQ_OK);
    assert_int_equal(vq_persona_human_place(human, count, criteria, rated, 2, values), 7);
    vq_free(human);
}

TEST(few_columns_are_enough)
{
    struct vq_persona_human *human = NULL;
    size_t count, passed;
    struct vq_error err = {""};
    assert_int_equal(parse("criterion,model,persona,kind,round,value\nstyle,m-small,Bo,goal,3,2\n",
                           &human, &count, &passed, &err),
                     VQ_OK);
    assert_true(count == 1 && human[0].of.as == 1 && human[0].of.point == 3);
    assert_true(human[0].of.order == VQ_PERSONA_ORIGINAL && human[0].of.item == VQ_PERSONA_NONE);
    vq_free(human);
}

TEST(wrong_labels_are_named)
{
    static const struct {
        const char *text, *says;
        enum vq_status status;
    } wrong[] = {
        {"criterion,model,persona,kind,round\na,b,c,d,1\n", "h.csv has no column \"human\"",
         VQ_INVALID},
        {HEAD "style,m-small,Ada,Ada,goal,,1,,,,,j,6\n",
         "h.csv, line 2, human: \"6\" is not a whole number from 1 to 5", VQ_INVALID},
        {HEAD "safety,m-small,Ada,Ada,goal,,5,1,,,,j,perhaps\n", "is not yes or no", VQ_INVALID},
        {HEAD "role,m-small,Ada,Ada,goal,,5,1,,,,j,tie\n", "is not A or B", VQ_INVALID},
        {HEAD "role,m-small,Ada,Ada,goal,,5,0,,,,j,A\n", "item: \"0\" is not a number from 1",
         VQ_INVALID},
        {HEAD "role,m-small,Ada,Ada,goal,,5,1,,best,,j,A\n", "is not dataset, zero or previous",
         VQ_INVALID},
        {HEAD "style,m-small,Ada,Ada,goal,odd,5,,,,,j,3\n", "is not original or shuffled",
         VQ_INVALID},
        {HEAD "style,m-small,Ada,Ada,goal,,x,,,,,j,3\n", "round: \"x\" is not a count", VQ_INVALID},
        {HEAD "style,m-small,Ada,Ada,goal,,1.5,,,,,j,3\n", "round: \"1.5\" is not a whole number",
         VQ_INVALID},
        {HEAD "style,m-small,Ada,Ada,goal,,1,,,,,j,3\nstyle,m-small,Ada,Ada,goal,,1,,,,,k,4\n",
         "two labels by \"style\" for one answer (round 1) that differ", VQ_INVALID},
        {HEAD "style,m-huge,Ada,Ada,goal,,1,,,,,j,3\n", "has no label of this run's", VQ_NOT_FOUND},
    };
    for (size_t i = 0; i < VQ_COUNT(wrong); i++) {
        struct vq_persona_human *human = NULL;
        size_t count, passed;
        struct vq_error err = {""};
        assert_int_equal(parse(wrong[i].text, &human, &count, &passed, &err), wrong[i].status);
        if (strstr(err.text, wrong[i].says) == NULL) {
            fail_msg("\"%s\" without \"%s\"", err.text, wrong[i].says);
        }
        assert_null(human);
    }
}

TEST(without_memory)
{
    struct vq_persona_plan *plan = plan_of();
    size_t count, passed;
    uint64_t calls = 1, failed = 0;
    for (uint64_t at = 0; at <= calls; at++) { /* 0: none fails. One whose failure is borne may */
        struct vq_persona_human *human = NULL;
        uint64_t before = vq_alloc_count();
        vq_alloc_fail_at(at);
        enum vq_status status =
            vq_persona_human_parse(vq_span_str(labels), "h.csv", plan, &names, criteria, CRITERIA,
                                   &human, &count, &passed, NULL);
        vq_alloc_fail_at(0);
        calls = at == 0 ? vq_alloc_count() - before : calls;
        assert_true(status == VQ_OK || (at > 0 && status == VQ_NOMEM && human == NULL));
        failed += status == VQ_NOMEM;
        vq_free(human);
    }
    assert_true(failed > 2);
    vq_persona_plan_destroy(&plan);
}
