/* Which counts of tokens say that a server did not read a whole prompt: by characters, so that no
 * script is accused. */

#include "tests/unit/test.h"

#include "common/base/status.h"
#include "common/judge/context.h"

TEST(test_what_is_cut)
{
    static const struct {
        uint64_t chars, tokens;
        bool cut;
    } cases[] = {
        {94856, 2048, true},                              /* of the issue */
        {94856, 94856 / 4, false},                        /* English */
        {31618, 31618, false},     {31618, 21000, false}, /* the same bytes of Chinese */
        {40000, 5000, false},                             /* a table full of blanks */
        {40000, 3400, false},      {40000, 3300, true},
        {3999, 1, false},  /* short prompts say nothing */
        {94856, 0, false}, /* nothing is reported */
        {0, 100, false},   /* nor known here */
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        assert_int_equal(vq_context_is_cut(cases[i].chars, cases[i].tokens), cases[i].cut);
    }
}

TEST(test_shares_are_words)
{
    assert_string_equal(vq_context_share(94856, 2048), "a tenth");
    assert_string_equal(vq_context_share(8000, 1000), "half");
    assert_string_equal(vq_context_share(4000, 1000), "all");
    assert_string_equal(vq_context_share(400000, 1000), "a hundredth");
    assert_string_equal(vq_context_share(4000000, 0), "less than a hundredth");
}
