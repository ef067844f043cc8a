/* The number that a short text states; docs/method/verdicts.md has whole answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/judge/rating_number.h"

static void test_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum vq_rating_number said;
        int64_t value;
    } rows[] = {
        {"4", VQ_RATING_NUMBER_ONE, 4},
        {" 4.000 ", VQ_RATING_NUMBER_ONE, 4},
        {"a rating of 4", VQ_RATING_NUMBER_ONE, 4},
        {"-4", VQ_RATING_NUMBER_ONE, -4},
        {"7", VQ_RATING_NUMBER_ONE, 7},
        {"99999999999999999999", VQ_RATING_NUMBER_ONE, INT64_MAX},
        {"4 from 1 to 5", VQ_RATING_NUMBER_ONE, 4},
        {"1 (1 to 5)", VQ_RATING_NUMBER_ONE, 1},
        {"5/5", VQ_RATING_NUMBER_ONE, 5},
        {"4.1", VQ_RATING_NUMBER_MANY, 0},
        {"4.0x", VQ_RATING_NUMBER_MANY, 0},
        {"4/4", VQ_RATING_NUMBER_MANY, 0},
        {"4 5", VQ_RATING_NUMBER_MANY, 0},
        {"4, -4", VQ_RATING_NUMBER_MANY, 0},
        {"7 of 10", VQ_RATING_NUMBER_MANY, 0},
        {"on a scale of 1 to 5", VQ_RATING_NUMBER_MANY, 0},
        {"about 4", VQ_RATING_NUMBER_MANY, 0},
        {"four", VQ_RATING_NUMBER_NONE, 0},
        {"", VQ_RATING_NUMBER_NONE, 0},
    };
    for (size_t i = 0; i < VQ_COUNT(rows); i++) {
        int64_t value = 0;
        enum vq_rating_number said = vq_rating_number(vq_span_str(rows[i].text), &value);
        if (said != rows[i].said || (said == VQ_RATING_NUMBER_ONE && value != rows[i].value)) {
            fail_msg("`%s`: %d, %lld", rows[i].text, (int)said, (long long)value);
        }
    }
}

static void test_bare_values(void **state)
{
    (void)state;
    assert_true(vq_rating_is_bare(vq_span_str(" 4.0/5")));
    assert_true(vq_rating_is_bare(vq_span_str("Response A")));
    assert_true(vq_rating_is_bare(vq_span_str("Yes.")));
    assert_false(vq_rating_is_bare(vq_span_str("4 out of")));
    assert_false(vq_rating_is_bare(vq_span_str("4 because")));
    assert_false(vq_rating_is_bare(vq_span_str("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_bare_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
