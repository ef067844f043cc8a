/* The parameters that a pool may refuse: each bit has its words, and nothing else has any. */
#include "tests/unit/test.h"

#include "proto/params.h"

TEST(each_bit_has_its_words)
{
    for (uint32_t bit = 1; bit != 0; bit <<= 1) {
        assert_int_equal(vq_param_word(bit) != NULL, (bit & VQ_PARAMS_ALL) != 0);
        assert_int_equal(vq_param_instead(bit) != NULL, (bit & VQ_PARAMS_ALL) != 0);
    }
    assert_null(vq_param_word(0));
    assert_null(vq_param_word(VQ_PARAM_SEED | VQ_PARAM_SYSTEM));
    assert_string_equal(vq_param_word(VQ_PARAM_MAX_TOKENS), "max_tokens");
    assert_string_equal(vq_param_word(VQ_PARAM_SCHEMA), "response_format");
}
