/* Values at the end of a cut answer; docs/method/verdicts.md has whole answers. */

#include "tests/unit/test.h"

#include "common/judge/cut.h"

TEST(test_a_value_is_whole)
{
    static const char *const whole[] = {"A",   " A.",    "**A**", "** A", "(A)",           "\"A\"",
                                        "A**", "\"A\"}", "4/5",   "$4$",  "A\xE2\x80\x9D", "A!",
                                        "[A]", "N/A"};
    static const char *const open[] = {
        "",    " ",   "A,", "A?", "A/", "A (",           "(A",  "\"A", "{A",
        "**A", "A..", "A:", "A-", "A;", "A\xE2\x80\xA6", "...", "`A"};
    for (size_t i = 0; i < VQ_COUNT(whole); i++) {
        if (!vq_cut_is_whole(vq_span_str(whole[i]))) {
            fail_msg("`%s` is not whole", whole[i]);
        }
    }
    for (size_t i = 0; i < VQ_COUNT(open); i++) {
        if (vq_cut_is_whole(vq_span_str(open[i]))) {
            fail_msg("`%s` is whole", open[i]);
        }
    }
}

TEST(test_a_line_takes_back)
{
    assert_true(vq_cut_takes_back(vq_span_str("but B is warmer")));
    assert_true(vq_cut_takes_back(vq_span_str("**Wait**")));
    assert_true(vq_cut_takes_back(vq_span_str("A is warm. However, B")));
    assert_true(vq_cut_takes_back(vq_span_str("B, actually")));
    assert_false(vq_cut_takes_back(vq_span_str("Analysis: A is warm but dull")));
    assert_false(vq_cut_takes_back(vq_span_str("")));
}
