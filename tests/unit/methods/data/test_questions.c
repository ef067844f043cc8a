/* Numbers of what is asked, with images and without. */

#include "tests/unit/test.h"

#include "methods/data/questions.h"

static uint32_t number(struct vq_questions *q, const char *prompt, const char *image)
{
    uint32_t n = UINT32_MAX;
    assert_int_equal(vq_questions_add(q, vq_span_str(prompt), vq_span_str(image), &n), VQ_OK);
    return n;
}

TEST(test_a_prompt_with_another_image_is_another_question)
{
    struct vq_questions q;
    assert_int_equal(vq_questions_init(&q, 7), VQ_OK);
    assert_int_equal(number(&q, "describe", "1.png"), 0);
    assert_int_equal(number(&q, "describe", "2.png"), 1);
    assert_int_equal(number(&q, "describe", "1.png"), 0);
    assert_int_equal(number(&q, "describe", ""), 2);
    assert_int_equal(number(&q, "name", "2.png"), 3);
    assert_int_equal(number(&q, "describe", ""), 2);
    assert_int_equal(number(&q, "2.png", "describe"), 4);
    assert_int_equal(vq_questions_count(&q), 5);
    vq_questions_free(&q);
    vq_questions_free(&q);
}
