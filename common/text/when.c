/* Reads digits at fixed places; the C library's calendar computes the time. Not its job: the use of
 * the time. */
#include "common/text/when.h"

#include "common/base/calendar.h"

#include <ctype.h>
#include <string.h>

/* Reads a number with `digits` digits, from `least` to `most`, and moves *at after it. */
static bool number(const char **at, int digits, int least, int most, int *ret_number)
{
    int n = 0;
    for (int i = 0; i < digits; i++) {
        if (!isdigit((unsigned char)(*at)[i])) {
            return false;
        }
        n = n * 10 + (*at)[i] - '0';
    }
    *at += digits;
    *ret_number = n;
    return n >= least && n <= most;
}

static bool sign(const char **at, const char *signs)
{
    bool is = **at != '\0' && strchr(signs, **at) != NULL;
    *at += is ? 1 : 0;
    return is;
}

static bool clock_time(const char **at, struct tm *tm)
{
    if (!number(at, 2, 0, 23, &tm->tm_hour) || !sign(at, ":") ||
        !number(at, 2, 0, 59, &tm->tm_min)) {
        return false;
    }
    return **at != ':' || (sign(at, ":") && number(at, 2, 0, 59, &tm->tm_sec));
}

static bool date(const char **at, struct tm *tm)
{
    int year, month;
    if (!number(at, 4, 1970, 9999, &year) || !sign(at, "-") || !number(at, 2, 1, 12, &month) ||
        !sign(at, "-") || !number(at, 2, 1, (int)vq_days_in_month(year, month), &tm->tm_mday)) {
        return false;
    }
    tm->tm_year = year - 1900;
    tm->tm_mon = month - 1;
    return sign(at, "T ");
}

/* Computes the time from `tm` and the rest of the text: nothing, "Z", "+01:00" or "-08:00". */
static bool zoned(const char *at, struct tm *tm, time_t *ret_time)
{
    int hours = 0, minutes = 0;
    bool east = *at == '+';
    if (*at == '\0') {
        *ret_time = mktime(tm);
        return true;
    }
    if (!sign(&at, "Z") && (!sign(&at, "+-") || !number(&at, 2, 0, 14, &hours) || !sign(&at, ":") ||
                            !number(&at, 2, 0, 59, &minutes))) {
        return false;
    }
    time_t shift = (time_t)hours * 3600 + (time_t)minutes * 60;
    *ret_time = timegm(tm) - (east ? shift : -shift);
    return *at == '\0';
}

/* The next such time of day; local days do not always have 24 hours. */
static time_t next(const struct tm *of_day, time_t now)
{
    time_t found = now;
    for (int days = 0; found <= now && days <= 2; days++) {
        struct tm tm;
        (void)localtime_r(&now, &tm);
        tm.tm_mday += days;
        tm.tm_hour = of_day->tm_hour;
        tm.tm_min = of_day->tm_min;
        tm.tm_sec = of_day->tm_sec;
        tm.tm_isdst = -1;
        found = mktime(&tm);
    }
    return found;
}

enum vq_status vq_when_parse(const char *text, time_t now, time_t *ret_time, struct vq_error *err)
{
    const char *at = text;
    struct tm tm = {.tm_isdst = -1};
    time_t found = now;
    if (clock_time(&at, &tm) && *at == '\0') {
        *ret_time = next(&tm, now);
        return VQ_OK;
    }
    at = text;
    tm = (struct tm){.tm_isdst = -1};
    if (!date(&at, &tm) || !clock_time(&at, &tm) || !zoned(at, &tm, &found)) {
        return vq_fail(err, VQ_INVALID, "'%.40s' is not a time such as 07:00 or 2026-11-29T07:00",
                       text);
    }
    *ret_time = found;
    return VQ_OK;
}

enum vq_status vq_when_parse_ahead(const char *text, time_t now, time_t *ret_time,
                                   struct vq_error *err)
{
    time_t found;
    VQ_TRY(vq_when_parse(text, now, &found, err));
    if (found <= now) {
        return vq_fail(err, VQ_INVALID, "%.40s is in the past", text);
    }
    *ret_time = found;
    return VQ_OK;
}

const char *vq_when_write(time_t time, char ret_text[VQ_WHEN_BYTES])
{
    struct tm tm;
    (void)gmtime_r(&time, &tm);
    (void)strftime(ret_text, VQ_WHEN_BYTES, "%FT%TZ", &tm);
    return ret_text;
}
