/* Dates in the forms that headers use. Leap seconds are not counted. */
#include "worker/provider/scan.h"

#include "common/base/calendar.h"

#define DAY_S  INT64_C(86400)
#define HOUR_S INT64_C(3600)

static int month_of(struct vq_span s)
{
    static const char *const names[] = {"jan", "feb", "mar", "apr", "may", "jun",
                                        "jul", "aug", "sep", "oct", "nov", "dec"};
    for (int i = 0; i < 12; i++) {
        if (vq_scan_is(s, names[i])) {
            return i + 1;
        }
    }
    return 0;
}

/* "08:49:37" as seconds of the day; -1: not a time. A leap second counts as the second before
 * it. */
static int64_t read_clock_s(struct vq_span s)
{
    if (s.bytes != 8 || s.at[2] != ':' || s.at[5] != ':') {
        return -1;
    }
    int64_t h = vq_scan_number(vq_span(s.at, 2));
    int64_t m = vq_scan_number(vq_span(s.at + 3, 2));
    int64_t sec = vq_scan_number(vq_span(s.at + 6, 2));
    if (h < 0 || h > 23 || m < 0 || m > 59 || sec < 0 || sec > 60) {
        return -1;
    }
    return h * 3600 + m * 60 + (sec == 60 ? 59 : sec);
}

int64_t vq_scan_http_date_unix_s(struct vq_span s)
{
    int64_t day = -1;
    int64_t year = -1;
    int64_t clock_s = -1;
    int month = 0;
    while (s.bytes > 0) {
        size_t n = 0;
        while (n < s.bytes && s.at[n] != ' ' && s.at[n] != ',' && s.at[n] != '-') {
            n++;
        }
        struct vq_span word = vq_span(s.at, n);
        s = vq_span_after(s, n < s.bytes ? n + 1 : n);
        if (n == 0) {
            continue;
        }
        int64_t number = n <= 4 ? vq_scan_number(word) : -1;
        if (number >= 0 && day < 0) {
            day = number;
        } else if (number >= 0 && year < 0) {
            year = n == 2 ? number + (number < 70 ? 2000 : 1900) : number;
        } else if (month_of(word) > 0 && month == 0) {
            month = month_of(word);
        } else if (n == 8 && clock_s < 0 && vq_is_digit(word.at[0])) {
            clock_s = read_clock_s(word);
        } else if (vq_is_digit(word.at[0]) || word.at[0] == '+') {
            return -1;
        }
    }
    if (year < 1970 || month == 0 || clock_s < 0 || day < 1 ||
        day > vq_days_in_month(year, month)) {
        return -1;
    }
    return vq_days_of(year, month, day) * 86400 + clock_s;
}

/* "+01:00", "-0800", "Z" in seconds east of UTC; false: not a zone. */
static bool read_zone(struct vq_span s, int64_t *ret_east_s)
{
    if (vq_scan_is(s, "z")) {
        *ret_east_s = 0;
        return true;
    }
    if (s.bytes != 6 || (s.at[0] != '+' && s.at[0] != '-') || s.at[3] != ':') {
        return false;
    }
    int64_t h = vq_scan_number(vq_span(s.at + 1, 2));
    int64_t m = vq_scan_number(vq_span(s.at + 4, 2));
    if (h < 0 || h > 23 || m < 0 || m > 59) {
        return false;
    }
    *ret_east_s = (h * HOUR_S + m * 60) * (s.at[0] == '-' ? -1 : 1);
    return true;
}

int64_t vq_scan_rfc3339_unix_s(struct vq_span text)
{
    if (text.bytes < sizeof("2026-03-01T08:49:37Z") - 1 || text.at[4] != '-' || text.at[7] != '-' ||
        (text.at[10] != 'T' && text.at[10] != 't' && text.at[10] != ' ')) {
        return -1;
    }
    int64_t year = vq_scan_number(vq_span(text.at, 4));
    int64_t month = vq_scan_number(vq_span(text.at + 5, 2));
    int64_t day = vq_scan_number(vq_span(text.at + 8, 2));
    int64_t clock_s = read_clock_s(vq_span(text.at + 11, 8));
    struct vq_span rest = vq_span_after(text, 19);
    if (rest.at[0] == '.') {
        rest = vq_span_after(rest, 1);
        while (rest.bytes > 0 && vq_is_digit(rest.at[0])) {
            rest = vq_span_after(rest, 1);
        }
    }
    int64_t east_s = 0;
    if (year < 1970 || month < 1 || month > 12 || day < 1 || clock_s < 0 ||
        day > vq_days_in_month(year, (int)month) || !read_zone(rest, &east_s)) {
        return -1;
    }
    int64_t at_s = vq_days_of(year, (int)month, day) * DAY_S + clock_s - east_s;
    return at_s < 0 ? -1 : at_s;
}
