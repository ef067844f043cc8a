/* Numbers and durations, with or without fractions. Nothing overflows: larger values become the
 * maximum. Not its job: dates (dates.c), the meaning of a header. */
#include "worker/provider/scan.h"

#include <math.h>
#include <stdlib.h>
#include <strings.h>

#define REAL_BYTES_MAX 40

static int64_t clamp(int64_t value)
{
    return value > VQ_SCAN_NUMBER_MAX ? VQ_SCAN_NUMBER_MAX : value;
}

bool vq_scan_is(struct vq_span text, const char *word)
{
    return text.bytes == strlen(word) &&
           (text.bytes == 0 || strncasecmp(text.at, word, text.bytes) == 0);
}

int64_t vq_scan_thousandths(struct vq_span *s)
{
    if (s->bytes == 0 || !vq_is_digit(s->at[0])) {
        return -1;
    }
    int64_t value = 0;
    while (s->bytes > 0 && vq_is_digit(s->at[0])) {
        value = clamp(value * 10 + (s->at[0] - '0'));
        *s = vq_span_after(*s, 1);
    }
    value = clamp(value * 1000);
    if (s->bytes > 0 && s->at[0] == '.') {
        *s = vq_span_after(*s, 1);
        for (int64_t unit = 100; s->bytes > 0 && vq_is_digit(s->at[0]); unit /= 10) {
            value = clamp(value + unit * (s->at[0] - '0'));
            *s = vq_span_after(*s, 1);
        }
    }
    return value;
}

int64_t vq_scan_number(struct vq_span s)
{
    int64_t value = vq_scan_thousandths(&s);
    return value < 0 || s.bytes > 0 ? -1 : value / 1000;
}

double vq_scan_real(struct vq_span s)
{
    char text[REAL_BYTES_MAX];
    if (s.bytes == 0 || s.bytes >= sizeof(text)) {
        return -1;
    }
    memcpy(text, s.at, s.bytes);
    text[s.bytes] = '\0';
    char *end = text;
    double number = strtod(text, &end);
    bool any = end != text;
    end += strspn(end, " \t\r\n");
    return any && end == text + s.bytes && isfinite(number) ? number : -1;
}

int64_t vq_scan_duration_ms(struct vq_span s)
{
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {{"ms", 1}, {"us", 0}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
    int64_t total_ms = 0;
    bool any = false;
    while (s.bytes > 0) {
        int64_t thousandths = vq_scan_thousandths(&s);
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
                (s.bytes == n || vq_is_digit(s.at[n]))) {
                s = vq_span_after(s, n);
                break;
            }
        }
        if (i == VQ_COUNT(units)) {
            return -1;
        }
        int64_t capped = thousandths / 1000 > VQ_SCAN_NUMBER_MAX / 86400000
                             ? VQ_SCAN_NUMBER_MAX / 86400000 * 1000
                             : thousandths;
        total_ms = clamp(total_ms + capped * units[i].ms / 1000);
        any = true;
    }
    return any ? total_ms : -1;
}

uint32_t vq_scan_cap(const char *text)
{
    static const char *const about[] = {"at a time", "concurren", "simultaneous",
                                        "in flight", "in-flight", "parallel"};
    static const char front[] = "limit of ";
    bool fits = false;
    for (size_t i = 0; i < VQ_COUNT(about); i++) {
        fits = fits || strcasestr(text, about[i]) != NULL;
    }
    const char *at = fits ? strcasestr(text, front) : NULL;
    uint32_t cap = 0;
    for (at = at == NULL ? "" : at + strlen(front); vq_is_digit(*at); at++) {
        cap = cap * 10 + (uint32_t)(*at - '0');
        if (cap > VQ_SCAN_CAP_MAX) {
            return 0;
        }
    }
    return cap;
}
