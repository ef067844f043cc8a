/* How found vibes are matched with a reference list, by vectors and by answers. */

#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "common/judge/template.h"
#include "methods/vibecheck/recall.h"

#include <math.h>
#include <string.h>

#define NONE VQ_RECALL_NONE

static const struct vq_axis found[] = {
    {"Length", "short", "long"}, {"Warmth", "cold", "warm"}, {"Jargon", "plain", "technical"}};
static const struct vq_axis gold[] = {{"Friendly", "distant", "friendly"},
                                      {"Terse", "goes on", "says little"},
                                      {"Jokes", "none", "many"}};

static struct vq_template *match;

static struct vq_recall_input input(enum vq_recall_by by)
{
    return (struct vq_recall_input){.found = found,
                                    .found_count = 3,
                                    .kept_count = 2,
                                    .reference = gold,
                                    .reference_count = 3,
                                    .by = by,
                                    .threshold = 0.6,
                                    .match = match};
}

static struct vq_recall *make(enum vq_recall_by by, struct vq_script *ret_script,
                              const struct vq_stage **ret_stage)
{
    struct vq_recall_input in = input(by);
    struct vq_recall *r;
    assert_int_equal(vq_recall_create(&in, &r, NULL), VQ_OK);
    *ret_script = vq_recall_script(r);
    assert_int_equal(ret_script->ops->next(ret_script->ctx, ret_stage, NULL), VQ_OK);
    assert_non_null(*ret_stage);
    assert_true((*ret_stage)->no >= VQ_STAGE_BESIDE);
    return r;
}

static void is_over(const struct vq_script *script)
{
    const struct vq_stage *stage;
    const char *const *notes;
    assert_int_equal(script->ops->next(script->ctx, &stage, NULL), VQ_OK);
    assert_null(stage);
    assert_int_equal(script->ops->notes(script->ctx, &notes), 0);
}

static void check(const struct vq_recall_match *m, uint32_t of, bool matches, bool mirrored,
                  double similarity)
{
    assert_int_equal(m->found, of);
    assert_int_equal(m->matches, matches);
    assert_int_equal(m->mirrored, mirrored);
    if (isnan(similarity)) {
        assert_true(isnan(m->similarity));
    } else {
        assert_true(fabs(m->similarity - similarity) < 1e-6);
    }
}

TEST(vectors_say_which_are_near)
{
    struct vq_script script;
    const struct vq_stage *s;
    struct vq_recall *r = make(VQ_RECALL_BY_EMBEDDING, &script, &s);
    assert_int_equal(s->kind, VQ_STAGE_EMBED);
    assert_int_equal(s->role, VQ_ROLE_EMBEDDER);
    assert_int_equal(s->texts_count, 2 * (3 + 3));
    assert_string_equal(s->texts[2].at, "Warmth: warm");
    assert_string_equal(s->texts[3].at, "Warmth: cold");
    assert_string_equal(s->texts[6].at, "Friendly: friendly");
    static const float x[12][3] = {
        {1, 0, 0},
        {-1, 0, 0}, /* Length: long, short */
        {0, 1, 0},
        {0, -1, 0}, /* Warmth */
        {0, 0, 1},
        {0, 0, -1}, /* Jargon, not kept */
        {0, 2, 0},
        {0, -3, 0}, /* Friendly is Warmth */
        {-5, 0, 0},
        {1, 0, 0}, /* Terse is Length from the other end */
        {0.6F, 0, 0.8F},
        {-0.6F, 0, -0.8F} /* Jokes is nearer to Jargon, and near enough to Length */
    };
    assert_int_equal(script.ops->take_vectors(script.ctx, &x[0][0], 12, 3, NULL), VQ_OK);
    is_over(&script);
    const struct vq_recall_result *res = vq_recall_result(r);
    assert_true(res->answered);
    check(&res->kept[0], 1, true, false, 1);
    check(&res->kept[1], 0, true, true, 1);
    check(&res->kept[2], 0, true, false, 0.6);
    check(&res->all[2], 2, true, false, 0.8);
    assert_int_equal(res->kept_matches, 3);
    assert_int_equal(res->all_matches, 3);
    vq_recall_destroy(&r);
    assert_null(r);
}

TEST(below_the_threshold_it_is_only_nearest)
{
    struct vq_script script;
    const struct vq_stage *s;
    struct vq_recall *r = make(VQ_RECALL_BY_EMBEDDING, &script, &s);
    static const float x[12][2] = {{1, 0},         {1, 0},         {1, 0.1F}, {1, 0.1F},
                                   {0, 1},         {0, 1},         /* both ends alike */
                                   {0.5F, 0.866F}, {0.5F, 0.866F}, /* 60 and 30 degrees away */
                                   {-1, 0},        {-1, 0},        {0, 0},    {0, 0}};
    assert_int_equal(script.ops->take_vectors(script.ctx, &x[0][0], 12, 2, NULL), VQ_OK);
    const struct vq_recall_result *res = vq_recall_result(r);
    assert_int_equal(res->kept[0].found, 1);
    assert_false(res->kept[0].matches); /* (0.5 + 0.0866) / 1.005 */
    check(&res->all[0], 2, true, false, 0.866 / sqrt(0.25 + 0.866 * 0.866));
    assert_false(res->all[1].matches);
    check(&res->all[2], 0, false, false, 0); /* without direction: near to nothing */
    assert_int_equal(res->kept_matches, 0);
    assert_int_equal(res->all_matches, 1);
    vq_recall_destroy(&r);
}

TEST(without_vectors_nothing_is_answered)
{
    struct vq_script script;
    const struct vq_stage *s;
    float bad[12][1] = {{1}, {1}, {NAN}};
    for (int i = 0; i < 3; i++) {
        struct vq_recall *r = make(VQ_RECALL_BY_EMBEDDING, &script, &s);
        static const size_t counts[3] = {0, 12, 11};
        const float *given = i == 0 ? NULL : &bad[0][0];
        assert_int_equal(script.ops->take_vectors(script.ctx, given, counts[i], 1, NULL), VQ_OK);
        is_over(&script);
        assert_false(vq_recall_result(r)->answered);
        assert_int_equal(vq_recall_result(r)->all_matches, 0);
        vq_recall_destroy(&r);
    }
}

TEST(a_judge_names_the_match)
{
    struct vq_script script;
    const struct vq_stage *s;
    struct vq_recall *r = make(VQ_RECALL_BY_JUDGE, &script, &s);
    assert_int_equal(s->kind, VQ_STAGE_TEXT);
    assert_int_equal(s->role, VQ_ROLE_REDUCER);
    assert_int_equal(s->prompts_count, 3);
    assert_non_null(strstr(s->prompts[1].user.at, "Warmth: High: warm Low: cold"));
    assert_non_null(strstr(s->prompts[1].user.at, "2. Terse: High: says little Low: goes on"));
    assert_null(strstr(s->prompts[1].user.at, "Jargon"));
    const struct vq_span texts[3] = {vq_span_str("Analysis: the other way round.\nMatch: 2"),
                                     vq_span_str("Analysis: the same.\nMatch: 2"),
                                     vq_span_str("Analysis: yes.\nMatch: 3")};
    assert_int_equal(script.ops->take_texts(script.ctx, texts, 3, NULL), VQ_OK);
    is_over(&script);
    const struct vq_recall_result *res = vq_recall_result(r);
    assert_true(res->answered);
    check(&res->kept[0], NONE, false, false, NAN);
    check(&res->kept[1], 0, true, false, NAN); /* the first to say so */
    check(&res->kept[2], NONE, false, false, NAN);
    check(&res->all[2], 2, true, false, NAN);
    assert_int_equal(res->kept_matches, 1);
    assert_int_equal(res->all_matches, 2);
    assert_int_equal(res->unread, 0);
    vq_recall_destroy(&r);
}

TEST(answers_that_say_nothing_are_counted)
{
    struct vq_script script;
    const struct vq_stage *s;
    struct vq_recall *r = make(VQ_RECALL_BY_JUDGE, &script, &s);
    const struct vq_span texts[3] = {
        {NULL, 0}, vq_span_str("Match: 9"), vq_span_str("Match: none")};
    assert_int_equal(script.ops->take_texts(script.ctx, texts, 3, NULL), VQ_OK);
    assert_true(vq_recall_result(r)->answered);
    assert_int_equal(vq_recall_result(r)->unread, 2);
    assert_int_equal(vq_recall_result(r)->all_matches, 0);
    vq_recall_destroy(&r);
    r = make(VQ_RECALL_BY_JUDGE, &script, &s);
    const struct vq_span nothing[3] = {{NULL, 0}, {NULL, 0}, {NULL, 0}};
    assert_int_equal(script.ops->take_texts(script.ctx, nothing, 3, NULL), VQ_OK);
    assert_false(vq_recall_result(r)->answered);
    vq_recall_destroy(&r);
}

TEST(stages_have_numbers_of_what_they_ask)
{
    struct vq_script script;
    const struct vq_stage *s;
    struct vq_recall *a = make(VQ_RECALL_BY_JUDGE, &script, &s);
    uint32_t by_judge = s->no;
    struct vq_recall *b = make(VQ_RECALL_BY_JUDGE, &script, &s);
    assert_int_equal(s->no, by_judge);
    struct vq_recall *c = make(VQ_RECALL_BY_EMBEDDING, &script, &s);
    assert_int_not_equal(s->no, by_judge);
    vq_recall_destroy(&a);
    vq_recall_destroy(&b);
    vq_recall_destroy(&c);
    vq_recall_destroy(&c);
}

TEST(nothing_to_compare_is_refused)
{
    struct vq_recall *r = NULL;
    struct vq_error err = {0};
    struct vq_recall_input in = input(VQ_RECALL_BY_EMBEDDING);
    in.found_count = in.kept_count = 0;
    assert_int_equal(vq_recall_create(&in, &r, &err), VQ_INVALID);
    assert_non_null(strstr(err.text, "list of vibes is empty"));
    in = input(VQ_RECALL_BY_EMBEDDING);
    in.reference_count = 0;
    assert_int_equal(vq_recall_create(&in, &r, &err), VQ_INVALID);
    in.reference_count = VQ_RECALL_AXES_MAX + 1;
    assert_int_equal(vq_recall_create(&in, &r, &err), VQ_LIMIT);
    assert_null(r);
}

TEST(memory_may_run_out_anywhere)
{
    for (int by = 0; by < 2; by++) {
        bool done = false;
        for (uint64_t at = 1; !done; at++) {
            struct vq_recall_input in = input((enum vq_recall_by)by);
            struct vq_recall *r = NULL;
            vq_alloc_fail_at(at);
            enum vq_status status = vq_recall_create(&in, &r, NULL);
            vq_alloc_fail_at(0);
            done = status == VQ_OK;
            assert_true(done || (status == VQ_NOMEM && r == NULL));
            vq_recall_destroy(&r);
        }
    }
}

static int setup(void **state)
{
    (void)state;
    return vq_template_parse(VQ_TEMPLATE_MATCH, vq_template_builtin(VQ_TEMPLATE_MATCH), "match.txt",
                             &match, NULL) == VQ_OK
               ? 0
               : 1;
}

static int teardown(void **state)
{
    (void)state;
    vq_template_destroy(&match);
    return 0;
}

TEST_GROUP(setup, teardown)
