/* Collects the tests of a program and runs them. Constructors of one source run in any order, so
 * tests are kept sorted by their line. */
#include "tests/unit/test.h"

#define TESTS_MAX 256

static struct CMUnitTest tests[TESTS_MAX];
static int lines[TESTS_MAX];
static size_t tests_count;
static CMFixtureFunction group_setup, group_teardown;
static void (*start)(void);

void test_add(const struct CMUnitTest *test, int line)
{
    VQ_ASSERT(tests_count < TESTS_MAX);
    size_t at = tests_count++;
    for (; at > 0 && lines[at - 1] > line; at--) {
        lines[at] = lines[at - 1];
        tests[at] = tests[at - 1];
    }
    lines[at] = line;
    tests[at] = *test;
}

void test_group(CMFixtureFunction setup, CMFixtureFunction teardown)
{
    group_setup = setup;
    group_teardown = teardown;
}

void test_start(void (*function)(void))
{
    start = function;
}

int test_run(void)
{
    VQ_ASSERT(tests_count > 0);
    if (start != NULL) {
        start();
    }
    return _cmocka_run_group_tests("tests", tests, tests_count, group_setup, group_teardown);
}
