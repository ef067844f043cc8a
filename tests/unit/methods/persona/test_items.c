/* Names become numbers: items of personas and what the baseline is asked for them, results from
 * elsewhere. */

#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "methods/persona/items.h"

#include <string.h>

static const char *const models[] = {"m-small", "m-large"};
static const char *const personas[] = {"Ada", "Bo"};
static const struct vq_persona_names names = {models, personas};

TEST(bare_questions)
{
    static const struct {
        const char *question, *bare;
    } cases[] = {
        {" Ada, how do you do?", "How do you do?"},
        {"Ada, Écoute", "Écoute"},
        {"Ada how?", "Ada how?"},
        {"what, Ada?", "what, Ada?"},
        {"Ada,", ""},
        {"Adam, why?", "Adam, why?"},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        struct vq_buf out;
        vq_buf_init(&out, 100);
        vq_buf_puts(&out, "");
        vq_persona_bare_question(cases[i].question, "Ada", &out);
        assert_string_equal(out.at, cases[i].bare);
        vq_buf_free(&out);
    }
}

static const char file_text[] =
    "text,persona\n\"Ada, why?\",Ada\n\"Cy, why?\",Cy\n\"Bo, why?\",Bo\n"
    "Say it,\n\"Bo, when?\",Bo\n";

TEST(items_of_a_run)
{
    static const struct vq_items_columns usual = {NULL};
    struct vq_items_file file;
    struct vq_persona_bound bound;
    struct vq_error err = {""};
    assert_int_equal(vq_items_file_parse(vq_span_str(file_text), "i.csv", &usual, &file, &err),
                     VQ_OK);
    assert_int_equal(vq_persona_bind(&file, "i.csv", &names, 2, &bound, &err), VQ_OK);
    assert_int_equal(bound.count, 4);
    assert_int_equal(bound.passed_over, 1);
    assert_int_equal(bound.questions_count, 2);
    assert_string_equal(bound.questions[0], "Why?");
    assert_string_equal(bound.questions[1], "When?");
    static const uint32_t sources[] = {0, 2, 3, 4};
    assert_memory_equal(bound.source, sources, sizeof(sources));
    assert_true(bound.items[0].persona == 0 && bound.items[0].question == 0);
    assert_true(bound.items[1].persona == 1 && bound.items[1].question == 0);
    assert_true(bound.items[2].persona == VQ_PERSONA_ALL);
    assert_true(bound.items[3].persona == 1 && bound.items[3].question == 1);
    vq_persona_bound_free(&bound);
    enum vq_status status = VQ_NOMEM;
    for (uint64_t at = 1; status == VQ_NOMEM; at++) {
        vq_alloc_fail_at(at);
        status = vq_persona_bind(&file, "i.csv", &names, 2, &bound, &err);
        vq_alloc_fail_at(0);
    }
    assert_int_equal(status, VQ_OK);
    vq_persona_bound_free(&bound);
    vq_items_file_free(&file);
    assert_int_equal(
        vq_items_file_parse(vq_span_str("text,persona\nx,Cy\n"), "i.csv", &usual, &file, &err),
        VQ_OK);
    assert_int_equal(vq_persona_bind(&file, "i.csv", &names, 2, &bound, &err), VQ_NOT_FOUND);
    assert_non_null(strstr(err.text, "it speaks of \"Cy\""));
    vq_items_file_free(&file);
}

static struct vq_persona_plan *plan_of(void)
{
    struct vq_persona_design design = {
        .models = 2,
        .personas = 2,
        .baseline = true,
        .scripts_count = 2,
        .scripts = {{VQ_PERSONA_GOAL, 10, false, false}, {VQ_PERSONA_DIRECTED, 10, false, false}},
        .rounds = 10,
        .checkpoints = 3};
    struct vq_persona_plan *plan;
    assert_int_equal(vq_persona_plan_make(&design, &plan, NULL), VQ_OK);
    return plan;
}

TEST(results)
{
    static const char text[] = "model,role,base_conversation,round,item,correct\n"
                               "m-large,Bo,interview,5,1,1\nm-large,Bo,interview,5,2,0\n"
                               "m-small,empty,Goal,10,1,1\nm-small,,instructions,0,1,1\n"
                               "other,Bo,goal,5,1,1\nm-small,Cy,goal,5,1,1\nm-small,Bo,chat,5,1,"
                               "1\nm-small,Bo,goal,6,1,1\n";
    struct vq_persona_plan *plan = plan_of();
    struct vq_persona_measured *m;
    size_t count, passed;
    struct vq_error err = {""};
    assert_int_equal(vq_persona_measured_parse(vq_span_str(text), "r.csv", plan, &names, &m, &count,
                                               &passed, &err),
                     VQ_OK);
    assert_int_equal(count, 4);
    assert_int_equal(passed, 4);
    assert_true(m[0].model == 1 && m[0].persona == 1 && m[0].script == 1 && m[0].checkpoint == 1);
    assert_true(m[0].correct == 1 && m[0].total == 1 && m[1].correct == 0);
    assert_true(m[2].persona == 2 && m[2].script == 0 && m[2].checkpoint == 2);
    assert_true(m[3].persona == 2 && m[3].checkpoint == 0);
    vq_free(m);
    static const char sums[] = "{\"model\": \"m-small\", \"persona\": \"Ada\", \"kind\": \"goal\", "
                               "\"round\": 5, \"correct\": 3, \"total\": 4}\n";
    assert_int_equal(vq_persona_measured_parse(vq_span_str(sums), "r.jsonl", plan, &names, &m,
                                               &count, &passed, &err),
                     VQ_OK);
    assert_true(count == 1 && passed == 0 && m[0].correct == 3 && m[0].total == 4);
    vq_free(m);
    vq_persona_plan_destroy(&plan);
}

TEST(wrong_results_are_named)
{
    static const struct {
        const char *text, *says;
        enum vq_status status;
    } wrong[] = {
        {"model,persona,kind,round\n1,2,3,4\n", "r.csv has no column \"correct\"", VQ_INVALID},
        {"model,persona,kind,round,correct\na,b,c,d,1\n",
         "r.csv, line 2, round: \"d\" is not a count", VQ_INVALID},
        {"model,persona,kind,round,correct\na,b,c,1,2\n", "r.csv, line 2, correct: 2 of 1",
         VQ_INVALID},
        {"model,persona,kind,round,correct\na,b,c,1,-1\n", "\"-1\" is not a count", VQ_INVALID},
        {"model,persona,kind,round,correct,total\na,b,c,1,0,0\n", "correct: 0 of 0", VQ_INVALID},
        {"model,persona,kind,round,correct\na,b,c,1,1\n", "r.csv has no line of this run's",
         VQ_NOT_FOUND},
    };
    struct vq_persona_plan *plan = plan_of();
    for (size_t i = 0; i < VQ_COUNT(wrong); i++) {
        struct vq_persona_measured *m = NULL;
        size_t count = 7, passed = 7;
        struct vq_error err = {""};
        assert_int_equal(vq_persona_measured_parse(vq_span_str(wrong[i].text), "r.csv", plan,
                                                   &names, &m, &count, &passed, &err),
                         wrong[i].status);
        if (strstr(err.text, wrong[i].says) == NULL) {
            fail_msg("\"%s\" does not say \"%s\"", err.text, wrong[i].says);
        }
        assert_true(m == NULL && count == 7 && passed == 7);
    }
    vq_persona_plan_destroy(&plan);
}
