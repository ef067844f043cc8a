/* The starts of days, months and quota periods. Pure; times are seconds since 1970. */
#pragma once

#include <stdint.h>

/* Days from 1970-01-01 in the proleptic Gregorian calendar, for years from 1970: it counts whole
 * years that begin in March, so that the leap day is the last day of a year. */
int64_t vq_days_of(int64_t year, int month, int64_t day);
int64_t vq_days_in_month(int64_t year, int month);

/* The next 00:00 of US Pacific time after `now_unix_s`: UTC-8, and UTC-7 from the second Sunday of
 * March to the first Sunday of November, each from 2:00 on: the law since 2007. */
int64_t vq_calendar_pacific_midnight(int64_t now_unix_s);
int64_t vq_calendar_next_day(int64_t now_unix_s);   /* the next 00:00 UTC */
int64_t vq_calendar_next_month(int64_t now_unix_s); /* the first day of the next month, 00:00 UTC */
