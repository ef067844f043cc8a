/* The number that a short text states; docs/method/verdicts.md has whole answers. */

#include "tests/unit/test.h"

#include "common/judge/rating_number.h"

TEST(test_numbers)
{
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

TEST(test_bare_values)
{
    assert_true(vq_rating_is_bare(vq_span_str(" 4.0/5")));
    assert_true(vq_rating_is_bare(vq_span_str("Response A")));
    assert_true(vq_rating_is_bare(vq_span_str("Yes.")));
    assert_false(vq_rating_is_bare(vq_span_str("4 out of")));
    assert_false(vq_rating_is_bare(vq_span_str("4 because")));
    assert_false(vq_rating_is_bare(vq_span_str("")));
}
