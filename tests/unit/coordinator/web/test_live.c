/* The last answers: a few per second, the newest ones, bounded, as valid JSON whatever the texts
 * are; and the calls that made tasks fail, by class. */
#include "tests/unit/test.h"

#include "coordinator/web/live.h"

#include "common/base/clock.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const struct vq_live_question question = {
    .stage = "rank", .judge = "j", .record = 7, .vibe = "warm", .low = "cold", .high = "warm"};

static json_t *json_of(const struct vq_live *live, uint64_t after)
{
    struct vq_buf out;
    vq_buf_init(&out, 8u << 20);
    vq_live_answers_json(live, after, &out);
    json_t *json = json_loadb(out.at, out.bytes, 0, NULL);
    assert_non_null(json);
    vq_buf_free(&out);
    return json;
}

static void answer(struct vq_live *live, const struct vq_live_question *q, struct vq_span text,
                   enum vq_outcome outcome)
{
    struct vq_result r = {.end = VQ_END_ANSWER, .outcome = (uint8_t)outcome, .answer = text};
    vq_live_answer(live, q, &r, 1000, VQ_NS_PER_S);
}

TEST(an_answer_is_due_some_time_after_the_last_one)
{
    struct vq_live *live = vq_live_create();
    assert_true(vq_live_due(live, 1));
    answer(live, &question, vq_span_str("A"), VQ_OUTCOME_FIRST);
    assert_false(vq_live_due(live, VQ_NS_PER_S + VQ_LIVE_EVERY_NS - 1));
    assert_true(vq_live_due(live, VQ_NS_PER_S + VQ_LIVE_EVERY_NS));
    vq_live_destroy(&live);
}

TEST(only_the_newest_answers_are_kept_and_only_later_ones_are_written)
{
    struct vq_live *live = vq_live_create();
    for (uint32_t i = 0; i < VQ_LIVE_ANSWERS + 3; i++) {
        answer(live, &question, vq_span_str("A"), VQ_OUTCOME_FIRST);
    }
    json_t *all = json_of(live, 0), *some = json_of(live, VQ_LIVE_ANSWERS + 1);
    json_t *answers = json_object_get(all, "answers");
    assert_int_equal(json_array_size(answers), VQ_LIVE_ANSWERS);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(answers, 0), "no")), 4);
    assert_int_equal(json_array_size(json_object_get(some, "answers")), 2);
    assert_int_equal(json_integer_value(json_object_get(some, "last")), VQ_LIVE_ANSWERS + 3);
    json_decref(all);
    json_decref(some);
    vq_live_destroy(&live);
}

/* The judge names a place; the person wants to know which output was there. */
TEST(which_output_is_higher_depends_on_the_order)
{
    struct vq_live *live = vq_live_create();
    static const struct {
        enum vq_outcome outcome;
        uint32_t order;
        const char *higher;
    } cases[] = {{VQ_OUTCOME_FIRST, 0, "A"},  {VQ_OUTCOME_FIRST, 1, "B"},
                 {VQ_OUTCOME_SECOND, 0, "B"}, {VQ_OUTCOME_SECOND, 1, "A"},
                 {VQ_OUTCOME_EQUAL, 0, NULL}, {VQ_OUTCOME_UNPARSEABLE, 0, NULL}};
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        struct vq_live_question q = question;
        q.order = cases[i].order;
        answer(live, &q, vq_span_str("A"), cases[i].outcome);
        json_t *json = json_of(live, i);
        json_t *higher =
            json_object_get(json_array_get(json_object_get(json, "answers"), 0), "higher");
        if (cases[i].higher == NULL) {
            assert_true(json_is_null(higher));
        } else {
            assert_string_equal(json_string_value(higher), cases[i].higher);
        }
        json_decref(json);
    }
    vq_live_destroy(&live);
}

/* The worst texts: control characters, which take six bytes each. What finds no room is left
 * out. */
TEST(long_texts_are_cut)
{
    struct vq_live *live = vq_live_create();
    static char text[100000];
    memset(text, 1, sizeof(text));
    struct vq_live_question q = question;
    q.prompt = q.a = q.b = vq_span(text, sizeof(text));
    answer(live, &q, vq_span(text, sizeof(text)), VQ_OUTCOME_UNPARSEABLE);
    memset(text, 'x', sizeof(text));
    answer(live, &q, vq_span("<img src=x>\xff", 12), VQ_OUTCOME_UNPARSEABLE);
    json_t *json = json_of(live, 0);
    json_t *answers = json_object_get(json, "answers");
    json_t *last = json_array_get(answers, json_array_size(answers) - 1);
    json_t *prompt = json_object_get(last, "prompt");
    assert_int_equal(strlen(json_string_value(json_array_get(prompt, 0))), VQ_LIVE_TEXT_BYTES);
    assert_int_equal(json_integer_value(json_array_get(prompt, 1)), sizeof(text));
    assert_string_equal(json_string_value(json_object_get(last, "answer")),
                        "<img src=x>\xEF\xBF\xBD");
    json_decref(json);
    vq_live_destroy(&live);
}

TEST(the_last_failures_of_each_class_are_kept)
{
    struct vq_live *live = vq_live_create();
    uint32_t count, errors = 0, lost = 0;
    struct vq_result r = {.outcome = VQ_OUTCOME_ERROR, .error = vq_span_str("no such model")};
    for (uint64_t i = 0; i < 2 * VQ_LIVE_FAILURES; i++) {
        r.task = i * 3 % (2 * VQ_LIVE_FAILURES); /* not in their order, as the ledger has them */
        vq_live_failed(live, &r, 5 + (int64_t)r.task);
    }
    r.task = 2 * VQ_LIVE_FAILURES - 1; /* once more: it has one place */
    vq_live_failed(live, &r, 100);
    r.outcome = VQ_OUTCOME_WORKER_LOST;
    vq_live_failed(live, &r, 5);
    r.outcome = VQ_OUTCOME_FIRST; /* is none */
    vq_live_failed(live, &r, 5);
    const struct vq_live_failure *f = vq_live_failures(live, &count);
    for (uint32_t i = 0; i < count; i++) {
        errors += f[i].outcome == VQ_OUTCOME_ERROR && f[i].task >= VQ_LIVE_FAILURES;
        lost += f[i].outcome == VQ_OUTCOME_WORKER_LOST;
    }
    assert_int_equal(errors, VQ_LIVE_FAILURES);
    assert_int_equal(lost, 1);
    vq_live_destroy(&live);
}

TEST(a_dead_letter_has_its_question_and_what_was_wrong)
{
    struct vq_buf out;
    struct vq_json j;
    struct vq_live_failure f = {
        .end = VQ_END_PROVIDER, .http_status = 500, .pool = "lab", .error = "down"};
    vq_buf_init(&out, 1u << 20);
    vq_json_init(&j, &out, 0);
    vq_json_array(&j);
    vq_live_put_dead(&j, 12, VQ_OUTCOME_UNAVAILABLE, &question, &f);
    vq_live_put_dead(&j, 13, VQ_OUTCOME_ERROR, &question, NULL);
    vq_json_array_end(&j);
    json_t *json = json_loadb(out.at, out.bytes, 0, NULL);
    json_t *seen = json_array_get(json, 0), *unseen = json_array_get(json, 1);
    assert_string_equal(json_string_value(json_object_get(seen, "class")), "unavailable");
    assert_string_equal(json_string_value(json_object_get(seen, "error")), "down");
    assert_string_equal(json_string_value(json_object_get(seen, "vibe")), "warm");
    assert_int_equal(json_integer_value(json_object_get(seen, "http_status")), 500);
    assert_null(json_object_get(unseen, "error"));
    json_decref(json);
    vq_buf_free(&out);
}
