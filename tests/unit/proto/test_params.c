/* The parameters that a pool may refuse: each bit has its words, and nothing else has any. */
#include "proto/params.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void each_bit_has_its_words(void **state)
{
    (void)state;
    for (uint32_t bit = 1; bit != 0; bit <<= 1) {
        assert_int_equal(vq_param_word(bit) != NULL, (bit & VQ_PARAMS_ALL) != 0);
        assert_int_equal(vq_param_instead(bit) != NULL, (bit & VQ_PARAMS_ALL) != 0);
    }
    assert_null(vq_param_word(0));
    assert_null(vq_param_word(VQ_PARAM_SEED | VQ_PARAM_SYSTEM));
    assert_string_equal(vq_param_word(VQ_PARAM_MAX_TOKENS), "max_tokens");
    assert_string_equal(vq_param_word(VQ_PARAM_SCHEMA), "response_format");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_bit_has_its_words)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
