/* Makers of models, by words of their names. */
#include "coordinator/report/family.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void words_tell(void **state)
{
    (void)state;
    assert_string_equal(vq_model_family("gpt-4o"), "OpenAI");
    assert_string_equal(vq_model_family("ChatGPT_answer"), "OpenAI");
    assert_string_equal(vq_model_family("anthropic/claude-3"), "Anthropic");
    assert_string_equal(vq_model_family("o3"), "OpenAI");
    assert_null(vq_model_family("egpt")); /* not at the beginning of a word */
    assert_null(vq_model_family("o3x"));
    assert_null(vq_model_family(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(words_tell)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
