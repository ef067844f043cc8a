/* A model's list of questions: what is taken off lines, what is passed over, and that what is
 * written is read back. */
#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "methods/persona/interview.h"

static const char plain[] = "Welcome, {role}!\nWho are you?\nWhat \"now\"?\nThank you, {role}.\n";

TEST(test_plain)
{
    struct vq_queries_file f;
    assert_int_equal(vq_interview_parse(vq_span_str(plain), 100, &f), VQ_OK);
    assert_int_equal(f.count, 2);
    assert_string_equal(f.opening, "Welcome, {role}!");
    assert_string_equal(f.questions[1], "What \"now\"?");
    assert_string_equal(f.closing, "Thank you, {role}.");
    struct vq_buf out;
    struct vq_queries_file again;
    struct vq_error err = {.text = ""};
    vq_buf_init(&out, 1u << 16);
    vq_interview_write(&f, &out);
    if (vq_queries_file_parse(vq_buf_span(&out), "q.yaml", &again, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(again.count, 2);
    assert_string_equal(again.opening, f.opening);
    assert_string_equal(again.closing, f.closing);
    assert_string_equal(again.questions[0], f.questions[0]);
    assert_string_equal(again.questions[1], f.questions[1]);
    vq_queries_file_free(&again);
    vq_queries_file_free(&f);
    vq_buf_free(&out);
}

TEST(test_what_models_add)
{
    static const char answer[] =
        "<think>\nWhat about {role}?\n1. no\n</think>\nHere are your questions:\n\n# Opening\n"
        "1. \"Hello {role}.\"\r\n2) Who?\n- What?\n* where?\n12: Why?\n```\nwho?\n3 lions?\n"
        "- Bye {role}, bye\nGood bye {role}\n";
    static const char *const wanted[] = {"Who?", "What?", "where?", "Why?", "3 lions?"};
    struct vq_queries_file f;
    assert_int_equal(vq_interview_parse(vq_span_str(answer), 100, &f), VQ_OK);
    assert_int_equal(f.count, VQ_COUNT(wanted));
    for (size_t i = 0; i < VQ_COUNT(wanted); i++) {
        assert_string_equal(f.questions[i], wanted[i]);
    }
    assert_string_equal(f.opening, "Hello {role}.");
    assert_string_equal(f.closing, "Good bye {role}");
    vq_queries_file_free(&f);
}

TEST(test_too_many_and_none)
{
    struct vq_queries_file f;
    assert_int_equal(vq_interview_parse(vq_span_str(plain), 1, &f), VQ_OK);
    assert_int_equal(f.count, 1);
    assert_non_null(f.closing);
    vq_queries_file_free(&f);
    assert_int_equal(vq_interview_parse(vq_span_str("Hello {role}\n"), 5, &f), VQ_NOT_FOUND);
    assert_int_equal(vq_interview_parse(vq_span("", 0), 5, &f), VQ_NOT_FOUND);
    assert_int_equal(vq_interview_parse(vq_span_str("<think>a?"), 5, &f), VQ_NOT_FOUND);
}
