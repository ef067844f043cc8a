/* Every unit test includes this file first: it includes cmocka after the headers that cmocka needs,
 * and its macros let a test register itself. The tests of a program run in the order of its
 * source. */
#pragma once

#include "common/base/status.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* TEST(name) { ... } is a test. It reaches what its setup made by `state`; NULL: none. */
#define TEST(name) TEST_WITH(name, NULL, NULL)
#define TEST_WITH(name, setup, teardown)                                                           \
    static void name(void **state);                                                                \
    __attribute__((constructor)) static void register_##name(void)                                 \
    {                                                                                              \
        test_add(&(struct CMUnitTest){#name, name, setup, teardown, NULL}, __LINE__);              \
    }                                                                                              \
    static void name(void **state VQ_UNUSED)

/* Run before the first test and after the last one. */
#define TEST_GROUP(setup, teardown)                                                                \
    __attribute__((constructor)) static void register_group(void)                                  \
    {                                                                                              \
        test_group(setup, teardown);                                                               \
    }

/* Called by main before the tests, not in one. */
#define TEST_START(function)                                                                       \
    __attribute__((constructor)) static void register_start(void)                                  \
    {                                                                                              \
        test_start(function);                                                                      \
    }

void test_add(const struct CMUnitTest *test, int line);
void test_group(CMFixtureFunction setup, CMFixtureFunction teardown);
void test_start(void (*function)(void));
int test_run(void); /* what main returns; a program needs no main of its own */
