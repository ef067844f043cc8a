/* The Gregorian calendar from 1970 on; leap seconds do not exist. */
#include "common/base/calendar.h"

#define DAY_S  INT64_C(86400)
#define HOUR_S INT64_C(3600)

int64_t vq_days_of(int64_t year, int month, int64_t day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t month_from_march = (month + 9) % 12;
    int64_t day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    return y * 365 + y / 4 - y / 100 + y / 400 + day_of_year - 719468;
}

int64_t vq_days_in_month(int64_t year, int month)
{
    return month == 12 ? 31 : vq_days_of(year, month + 1, 1) - vq_days_of(year, month, 1);
}

/* Year and month of a day since 1970. */
static void month_of_day(int64_t days, int64_t *ret_year, int *ret_month)
{
    int64_t year = 1970 + days / 366; /* never later than the day's year */
    while (vq_days_of(year + 1, 1, 1) <= days) {
        year++;
    }
    int month = 1;
    while (month < 12 && vq_days_of(year, month + 1, 1) <= days) {
        month++;
    }
    *ret_year = year;
    *ret_month = month;
}

int64_t vq_calendar_next_month(int64_t now_unix_s)
{
    int64_t year = 0;
    int month = 0;
    month_of_day((now_unix_s < 0 ? 0 : now_unix_s) / DAY_S, &year, &month);
    return (month == 12 ? vq_days_of(year + 1, 1, 1) : vq_days_of(year, month + 1, 1)) * DAY_S;
}

/* The day of the n-th Sunday of a month. 1970-01-01 was a Thursday. */
static int64_t nth_sunday(int64_t year, int month, int64_t n)
{
    int64_t first = vq_days_of(year, month, 1);
    return first + (10 - first % 7) % 7 + 7 * (n - 1);
}

/* The difference of UTC and Pacific time, in hours, at the midnight that begins the local day
 * `day`. */
static int64_t hours_behind(int64_t day)
{
    int64_t year = 0;
    int month = 0;
    month_of_day(day, &year, &month);
    return day > nth_sunday(year, 3, 2) && day <= nth_sunday(year, 11, 1) ? 7 : 8;
}

int64_t vq_calendar_pacific_midnight(int64_t now_unix_s)
{
    int64_t now_s = now_unix_s < DAY_S ? DAY_S : now_unix_s;
    /* the local day; in the last hour of a summer day, the day before */
    int64_t day = (now_s - 8 * HOUR_S) / DAY_S;
    int64_t midnight_s = 0;
    do {
        day++;
        midnight_s = day * DAY_S + hours_behind(day) * HOUR_S;
    } while (midnight_s <= now_s);
    return midnight_s;
}

int64_t vq_calendar_next_day(int64_t now_unix_s)
{
    return ((now_unix_s < 0 ? 0 : now_unix_s) / DAY_S + 1) * DAY_S;
}
