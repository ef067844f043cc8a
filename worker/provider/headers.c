/* Response headers: how long to wait, and what the limits are. Providers write the same things in
 * many ways; what cannot be read is as if it were not there. No clock: a date is turned into a wait
 * by the caller's time or the server's own.
 * Not its job: to decide what a wait means. */
#include "worker/provider/provider.h"

#include "worker/provider/text.h"

#include <strings.h>

#define NUMBER_MAX                                                                                 \
    INT64_C(1000000000000000) /* larger numbers are this: no arithmetic below overflows */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static struct vq_span skip(struct vq_span s, size_t n)
{
    return vq_span(s.at + n, s.bytes - n);
}

static struct vq_span trim(struct vq_span s)
{
    while (s.bytes > 0 && (s.at[0] == ' ' || s.at[0] == '\t')) {
        s = skip(s, 1);
    }
    while (s.bytes > 0 && (s.at[s.bytes - 1] == ' ' || s.at[s.bytes - 1] == '\t')) {
        s.bytes--;
    }
    return s;
}

static bool is(struct vq_span s, const char *name)
{
    return s.bytes == strlen(name) && (s.bytes == 0 || strncasecmp(s.at, name, s.bytes) == 0);
}

static int64_t clamp(int64_t value)
{
    return value > NUMBER_MAX ? NUMBER_MAX : value;
}

/* Digits with or without a fraction at the front of *s, which is moved behind them, in thousandths;
 * -1 when there are none. */
static int64_t take_thousandths(struct vq_span *s)
{
    if (s->bytes == 0 || !is_digit(s->at[0])) {
        return -1;
    }
    int64_t value = 0;
    while (s->bytes > 0 && is_digit(s->at[0])) {
        value = clamp(value * 10 + (s->at[0] - '0'));
        *s = skip(*s, 1);
    }
    value = clamp(value * 1000);
    if (s->bytes > 0 && s->at[0] == '.') {
        *s = skip(*s, 1);
        for (int64_t unit = 100; s->bytes > 0 && is_digit(s->at[0]); unit /= 10) {
            value = clamp(value + unit * (s->at[0] - '0'));
            *s = skip(*s, 1);
        }
    }
    return value;
}

/* A whole number that fills the text; -1 otherwise. */
static int64_t read_number(struct vq_span s)
{
    int64_t value = take_thousandths(&s);
    return value < 0 || s.bytes > 0 ? -1 : value / 1000;
}

/* "12ms", "1.5s", "6m0s", "1h2m", "1d", or a plain number of seconds, in ms; -1 otherwise. */
static int64_t read_duration_ms(struct vq_span s)
{
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {{"ms", 1}, {"us", 0}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
    int64_t total_ms = 0;
    bool any = false;
    while (s.bytes > 0) {
        int64_t thousandths = take_thousandths(&s);
        if (thousandths < 0) {
            return -1;
        }
        if (s.bytes == 0) {
            return any ? -1 : thousandths;
        }
        size_t i = 0;
        for (; i < VQ_COUNT(units); i++) {
            size_t n = strlen(units[i].name);
            if (s.bytes >= n && memcmp(s.at, units[i].name, n) == 0 &&
                (s.bytes == n || is_digit(s.at[n]))) {
                s = skip(s, n);
                break;
            }
        }
        if (i == VQ_COUNT(units)) {
            return -1;
        }
        int64_t capped =
            thousandths / 1000 > NUMBER_MAX / 86400000 ? NUMBER_MAX / 86400000 * 1000 : thousandths;
        total_ms = clamp(total_ms + capped * units[i].ms / 1000);
        any = true;
    }
    return any ? total_ms : -1;
}

static int month_of(struct vq_span s)
{
    static const char *const names[] = {"jan", "feb", "mar", "apr", "may", "jun",
                                        "jul", "aug", "sep", "oct", "nov", "dec"};
    for (int i = 0; i < 12; i++) {
        if (is(s, names[i])) {
            return i + 1;
        }
    }
    return 0;
}

/* "08:49:37" as seconds of the day; -1 otherwise. A leap second counts as the one before. */
static int64_t read_clock_s(struct vq_span s)
{
    if (s.bytes != 8 || s.at[2] != ':' || s.at[5] != ':') {
        return -1;
    }
    int64_t h = read_number(vq_span(s.at, 2));
    int64_t m = read_number(vq_span(s.at + 3, 2));
    int64_t sec = read_number(vq_span(s.at + 6, 2));
    if (h < 0 || h > 23 || m < 0 || m > 59 || sec < 0 || sec > 60) {
        return -1;
    }
    return h * 3600 + m * 60 + (sec == 60 ? 59 : sec);
}

/* Days from 1970-01-01 in the proleptic Gregorian calendar, for years from 1970: whole years of 365
 * days that begin in March, so that the leap day is a year's last. */
static int64_t days_of(int64_t year, int month, int64_t day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t month_from_march = (month + 9) % 12;
    int64_t day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    return y * 365 + y / 4 - y / 100 + y / 400 + day_of_year - 719468;
}

static int64_t days_in_month(int64_t year, int month)
{
    return month == 12 ? 31 : days_of(year, month + 1, 1) - days_of(year, month, 1);
}

/* A date in any of the three forms of HTTP (RFC 9110, 5.6.7), in seconds since 1970; -1
 * otherwise. */
static int64_t read_date_unix_s(struct vq_span s)
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
        s = skip(s, n < s.bytes ? n + 1 : n);
        if (n == 0) {
            continue;
        }
        int64_t number = n <= 4 ? read_number(word) : -1;
        if (number >= 0 && day < 0) {
            day = number;
        } else if (number >= 0 && year < 0) {
            year = n == 2 ? number + (number < 70 ? 2000 : 1900) : number;
        } else if (month_of(word) > 0 && month == 0) {
            month = month_of(word);
        } else if (n == 8 && clock_s < 0 && is_digit(word.at[0])) {
            clock_s = read_clock_s(word);
        } else if (is_digit(word.at[0]) || word.at[0] == '+') {
            return -1;
        }
    }
    if (year < 1970 || month == 0 || clock_s < 0 || day < 1 || day > days_in_month(year, month)) {
        return -1;
    }
    return days_of(year, month, day) * 86400 + clock_s;
}

void vq_reply_headers_init(struct vq_reply_headers *headers)
{
    static const struct vq_ratelimit nothing = {-1, -1, -1};
    *headers = (struct vq_reply_headers){
        .retry_seconds_ms = -1,
        .retry_ms = -1,
        .retry_date_unix_s = -1,
        .date_unix_s = -1,
        .requests = nothing,
        .tokens = nothing,
    };
}

static void add_retry_after(struct vq_reply_headers *headers, struct vq_span value)
{
    struct vq_span rest = value;
    int64_t thousandths = take_thousandths(&rest);
    if (thousandths >= 0 && rest.bytes == 0) {
        headers->retry_seconds_ms = thousandths;
    } else {
        headers->retry_date_unix_s = read_date_unix_s(value);
    }
}

/* x-ratelimit-{limit,remaining,reset}-{requests,tokens} */
static void add_ratelimit(struct vq_reply_headers *headers, struct vq_span name,
                          struct vq_span value)
{
    static const struct {
        const char *what;
        size_t offset;
    } fields[] = {{"limit-", offsetof(struct vq_ratelimit, limit)},
                  {"remaining-", offsetof(struct vq_ratelimit, remaining)},
                  {"reset-", offsetof(struct vq_ratelimit, reset_ms)}};
    for (size_t i = 0; i < VQ_COUNT(fields); i++) {
        size_t n = strlen(fields[i].what);
        if (name.bytes <= n || !is(vq_span(name.at, n), fields[i].what)) {
            continue;
        }
        struct vq_span kind = skip(name, n);
        struct vq_ratelimit *limit = is(kind, "requests") ? &headers->requests
                                     : is(kind, "tokens") ? &headers->tokens
                                                          : NULL;
        bool is_reset = fields[i].offset == offsetof(struct vq_ratelimit, reset_ms);
        if (limit != NULL) {
            int64_t read = is_reset ? read_duration_ms(value) : read_number(value);
            memcpy((char *)limit + fields[i].offset, &read, sizeof(read));
        }
    }
}

void vq_reply_headers_add(struct vq_reply_headers *headers, struct vq_span name,
                          struct vq_span value)
{
    static const char limits[] = "x-ratelimit-";
    name = trim(name);
    value = trim(value);
    if (is(name, "retry-after")) {
        add_retry_after(headers, value);
    } else if (is(name, "retry-after-ms")) {
        struct vq_span rest = value;
        int64_t thousandths = take_thousandths(&rest);
        headers->retry_ms = thousandths >= 0 && rest.bytes == 0 ? thousandths / 1000 : -1;
    } else if (is(name, "date")) {
        headers->date_unix_s = read_date_unix_s(value);
    } else if (is(name, "x-request-id")) {
        vq_text_line(headers->request_id, sizeof(headers->request_id), value);
    } else if (name.bytes > sizeof(limits) - 1 &&
               is(vq_span(name.at, sizeof(limits) - 1), limits)) {
        add_ratelimit(headers, skip(name, sizeof(limits) - 1), value);
    }
}

int64_t vq_retry_after_ms(const struct vq_reply_headers *headers, int64_t now_unix_s)
{
    int64_t wait_ms = headers->retry_ms >= 0 ? headers->retry_ms : headers->retry_seconds_ms;
    if (wait_ms < 0 && headers->retry_date_unix_s >= 0) {
        int64_t now = headers->date_unix_s >= 0 ? headers->date_unix_s : now_unix_s;
        int64_t wait_s = headers->retry_date_unix_s - (now > 0 ? now : 0);
        wait_ms = wait_s > 0 ? clamp(wait_s) * 1000 : 0;
    }
    return wait_ms > VQ_RETRY_AFTER_MS_MAX ? VQ_RETRY_AFTER_MS_MAX : wait_ms;
}
