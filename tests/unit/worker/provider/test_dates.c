/* Dates with a zone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "worker/provider/scan.h"

static void test_rfc3339(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t unix_s;
    } cases[] = {
        {"1994-11-06T08:49:37Z", 784111777},
        {"1994-11-06t08:49:37.123456z", 784111777},
        {"1994-11-06 09:49:37+01:00", 784111777},
        {"1994-11-06T00:49:37-08:00", 784111777},
        {"1970-01-01T00:00:00Z", 0},
        {"2024-02-29T00:00:00Z", 1709164800},
        {"2023-02-29T00:00:00Z", -1},
        {"1969-12-31T23:59:59Z", -1},
        {"1970-01-01T00:00:00+01:00", -1},
        {"1994-11-06T08:49:37", -1},
        {"1994-11-06T08:49:37+0100", -1},
        {"1994-11-06T24:00:00Z", -1},
        {"1994-13-06T08:49:37Z", -1},
        {"1994-11-06T08:49:37Zulu", -1},
        {"94-11-06T08:49:37Z....", -1},
        {"", -1},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        if (vq_scan_rfc3339_unix_s(vq_span_str(cases[i].text)) != cases[i].unix_s) {
            fail_msg("%s", cases[i].text);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rfc3339),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
