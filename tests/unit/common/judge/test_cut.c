/* Values at the end of a cut answer; docs/method/verdicts.md has whole answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/judge/cut.h"

static void test_a_value_is_whole(void **state)
{
    (void)state;
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

static void test_a_line_takes_back(void **state)
{
    (void)state;
    assert_true(vq_cut_takes_back(vq_span_str("but B is warmer")));
    assert_true(vq_cut_takes_back(vq_span_str("**Wait**")));
    assert_true(vq_cut_takes_back(vq_span_str("A is warm. However, B")));
    assert_true(vq_cut_takes_back(vq_span_str("B, actually")));
    assert_false(vq_cut_takes_back(vq_span_str("Analysis: A is warm but dull")));
    assert_false(vq_cut_takes_back(vq_span_str("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_value_is_whole),
        cmocka_unit_test(test_a_line_takes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
