/* When days and months of quotas end: fixed cases, and every hour of six years against the C
 * library. */

#include "tests/unit/test.h"

#include "common/base/calendar.h"

#include <stdlib.h>
#include <time.h>

static int64_t utc(int year, int month, int day, int hour)
{
    struct tm tm = {.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day, .tm_hour = hour};
    return (int64_t)timegm(&tm);
}

TEST(test_pacific_midnight)
{
    assert_int_equal(vq_calendar_pacific_midnight(utc(2026, 1, 5, 7)), utc(2026, 1, 5, 8));
    assert_int_equal(vq_calendar_pacific_midnight(utc(2026, 1, 5, 8)), utc(2026, 1, 6, 8));
    assert_int_equal(vq_calendar_pacific_midnight(utc(2026, 7, 5, 7)), utc(2026, 7, 6, 7));
    assert_int_equal(vq_calendar_pacific_midnight(utc(2026, 3, 8, 7)), utc(2026, 3, 8, 8));
    assert_int_equal(vq_calendar_pacific_midnight(utc(2026, 3, 8, 8)), utc(2026, 3, 9, 7));
    assert_int_equal(vq_calendar_pacific_midnight(utc(2026, 11, 1, 6)), utc(2026, 11, 1, 7));
    assert_int_equal(vq_calendar_pacific_midnight(utc(2026, 11, 1, 7)), utc(2026, 11, 2, 8));
    assert_true(vq_calendar_pacific_midnight(INT64_MIN) > 0);
}

TEST(test_pacific_midnight_by_the_library)
{
    assert_int_equal(setenv("TZ", "PST8PDT,M3.2.0,M11.1.0", 1), 0);
    tzset();
    for (int64_t now = utc(2023, 1, 1, 0); now < utc(2029, 1, 1, 0); now += 3600) {
        time_t at = (time_t)now;
        struct tm tm;
        assert_non_null(localtime_r(&at, &tm));
        tm.tm_mday++;
        tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
        tm.tm_isdst = -1;
        assert_int_equal(vq_calendar_pacific_midnight(now), (int64_t)mktime(&tm));
    }
}

TEST(test_next_month)
{
    assert_int_equal(vq_calendar_next_month(utc(2026, 1, 1, 0)), utc(2026, 2, 1, 0));
    assert_int_equal(vq_calendar_next_month(utc(2026, 12, 31, 23)), utc(2027, 1, 1, 0));
    assert_int_equal(vq_calendar_next_month(utc(2024, 2, 29, 12)), utc(2024, 3, 1, 0));
    assert_int_equal(vq_calendar_next_month(-5), utc(1970, 2, 1, 0));
    for (int64_t now = utc(2023, 1, 1, 0); now < utc(2029, 1, 1, 0); now += 7 * 3600) {
        time_t at = (time_t)now;
        struct tm tm;
        assert_non_null(gmtime_r(&at, &tm));
        assert_int_equal(vq_calendar_next_month(now), utc(tm.tm_year + 1900, tm.tm_mon + 2, 1, 0));
    }
}

TEST(test_next_day)
{
    assert_int_equal(vq_calendar_next_day(utc(2026, 12, 31, 23)), utc(2027, 1, 1, 0));
    assert_int_equal(vq_calendar_next_day(utc(2026, 1, 1, 0)), utc(2026, 1, 2, 0));
    assert_int_equal(vq_calendar_next_day(-5), 86400);
}
