/* Repairs of equal texts: the key of a text. What is leased of them is in test_commit.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "coordinator/queue/internal.h"

static void the_key_is_of_judge_and_text(void **state)
{
    (void)state;
    uint64_t key = vq_coord_alike_key(1, vq_span_str("who knows"));
    assert_true(key == vq_coord_alike_key(1, vq_span_str("who knows")));
    assert_true(key != vq_coord_alike_key(2, vq_span_str("who knows")));
    assert_true(key != vq_coord_alike_key(1, vq_span_str("who knows?")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_key_is_of_judge_and_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
