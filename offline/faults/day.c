/* Ends of days. US Pacific time is UTC minus eight hours; minus seven from the second Sunday of
 * March to the first Sunday of November, each at two in the morning. Owns nothing, reads no zone
 * files. */
#include "offline/faults/day.h"

#include <time.h>

#define HOUR_S 3600
#define DAY_S  86400

/* UTC seconds of the n-th Sunday of a month (0 = January) at `hour`. */
static int64_t sunday_s(int year, int month, int nth, int hour)
{
    struct tm first = {.tm_year = year, .tm_mon = month, .tm_mday = 1, .tm_hour = hour};
    int64_t at_s = (int64_t)timegm(&first); /* also sets tm_wday */
    int64_t to_sunday = (7 - first.tm_wday) % 7;
    return at_s + (to_sunday + 7 * (int64_t)(nth - 1)) * DAY_S;
}

static int64_t pacific_offset_s(int64_t unix_s)
{
    struct tm utc = {0};
    time_t at = (time_t)unix_s;
    (void)gmtime_r(&at, &utc);
    int64_t begins_s = sunday_s(utc.tm_year, 2, 2, 10); /* 2:00 at -8 */
    int64_t ends_s = sunday_s(utc.tm_year, 10, 1, 9);   /* 2:00 at -7 */
    return (unix_s >= begins_s && unix_s < ends_s ? -7 : -8) * HOUR_S;
}

int64_t vq_day_end_ms(int64_t unix_ms, int64_t day_ms, bool pacific)
{
    if (day_ms > 0) {
        return (unix_ms / day_ms + 1) * day_ms;
    }
    int64_t unix_s = unix_ms / 1000;
    if (!pacific) {
        return (unix_s / DAY_S + 1) * DAY_S * 1000;
    }
    int64_t offset_s = pacific_offset_s(unix_s);
    int64_t midnight_s = ((unix_s + offset_s) / DAY_S + 1) * DAY_S;
    int64_t end_s = midnight_s - offset_s;
    return (midnight_s - pacific_offset_s(end_s)) * 1000; /* the clock may change before it */
}
