/* One table says what can be limited, what it is called and how it is read. Invariant: after
 * vq_limits_finish a limit a minute that is set is at least one in a window.
 * Not its job: to count (limiter.c), whose limits they are (pools.c). */
#include "offline/faults/limits.h"

#include "common/base/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MINUTE_NS          (60 * VQ_NS_PER_S)
#define NANO               1e9
#define TOKENS_PER_PRICE   1e6
#define HINT_PERCENT_MAX   10000
#define RAMP_FLOOR_DEFAULT 60

enum unit {
    UNIT_NUMBER, /* to a uint64_t */
    UNIT_MS,     /* milliseconds, at least one, to nanoseconds in an int64_t */
    UNIT_DAY,    /* milliseconds in an int64_t */
    UNIT_USD,    /* dollars to billionths */
    UNIT_PRICE,  /* dollars a million tokens to billionths a token */
    UNIT_FLAG,   /* 0 or 1, on or off */
};

static const struct {
    const char *name;
    enum unit unit;
    size_t offset;
} fields[] = {
#define AT(member) offsetof(struct vq_limits, member)
    {"rpm", UNIT_NUMBER, AT(per_minute[VQ_LIMIT_REQUESTS])},
    {"itpm", UNIT_NUMBER, AT(per_minute[VQ_LIMIT_INPUT])},
    {"otpm", UNIT_NUMBER, AT(per_minute[VQ_LIMIT_OUTPUT])},
    {"tpm", UNIT_NUMBER, AT(per_minute[VQ_LIMIT_TOKENS])},
    {"window_ms", UNIT_MS, AT(window_ns)},
    {"concurrency", UNIT_NUMBER, AT(concurrency)},
    {"rpd", UNIT_NUMBER, AT(day_requests)},
    {"tpd", UNIT_NUMBER, AT(day_tokens)},
    {"day_ms", UNIT_DAY, AT(day_ms)},
    {"ramp", UNIT_NUMBER, AT(ramp_percent)},
    {"ramp_floor", UNIT_NUMBER, AT(ramp_floor)},
    {"ramp_ms", UNIT_MS, AT(ramp_ns)},
    {"usd", UNIT_USD, AT(nano_usd)},
    {"usd_in", UNIT_PRICE, AT(nano_usd_in)},
    {"usd_cached", UNIT_PRICE, AT(nano_usd_cached)},
    {"usd_out", UNIT_PRICE, AT(nano_usd_out)},
    {"count_refused", UNIT_FLAG, AT(count_refused)},
    {"count_failed", UNIT_FLAG, AT(count_failed)},
    {"headers", UNIT_FLAG, AT(headers)},
#undef AT
};

void vq_limits_init(struct vq_limits *limits)
{
    *limits = (struct vq_limits){.window_ns = MINUTE_NS,
                                 .ramp_floor = RAMP_FLOOR_DEFAULT,
                                 .per_key = true,
                                 .headers = true,
                                 .hint_percent = 100};
}

static bool parse_whole(const char *text, uint64_t max, uint64_t *ret_number)
{
    char *end = NULL;
    unsigned long long number = strtoull(text, &end, 10);
    *ret_number = number;
    return end != text && *end == '\0' && text[0] != '-' && number <= max;
}

/* Dollars, `scale` of which make one of what is kept. */
static bool parse_usd(const char *text, double scale, uint64_t *ret_number)
{
    char *end = NULL;
    double number = strtod(text, &end);
    if (end == text || *end != '\0' || !(number >= 0 && number <= 1e6)) {
        return false;
    }
    *ret_number = (uint64_t)llround(number * scale);
    return true;
}

static bool parse_flag(const char *text, bool *ret_flag)
{
    *ret_flag = strcmp(text, "1") == 0 || strcmp(text, "on") == 0;
    return *ret_flag || strcmp(text, "0") == 0 || strcmp(text, "off") == 0;
}

static bool set_field(struct vq_limits *limits, size_t i, const char *value)
{
    char *to = (char *)limits + fields[i].offset;
    uint64_t number = 0;
    bool flag = false;
    bool ok = false;
    switch (fields[i].unit) {
    case UNIT_FLAG:
        ok = parse_flag(value, &flag);
        memcpy(to, &flag, ok ? sizeof(flag) : 0);
        return ok;
    case UNIT_USD: ok = parse_usd(value, NANO, &number); break;
    case UNIT_PRICE: ok = parse_usd(value, NANO / TOKENS_PER_PRICE, &number); break;
    case UNIT_MS:
        ok = parse_whole(value, UINT32_MAX, &number) && number > 0;
        number *= (uint64_t)VQ_NS_PER_MS;
        break;
    case UNIT_NUMBER:
    case UNIT_DAY: ok = parse_whole(value, UINT32_MAX, &number); break;
    }
    memcpy(to, &number, ok ? sizeof(number) : 0); /* counts and times are 64 bits alike */
    return ok;
}

static bool set_per(struct vq_limits *limits, const char *value)
{
    limits->per_key = strcmp(value, "key") == 0 || strcmp(value, "both") == 0;
    limits->per_model = strcmp(value, "model") == 0 || strcmp(value, "both") == 0;
    return limits->per_key || limits->per_model || strcmp(value, "all") == 0;
}

static bool set_hint(struct vq_limits *limits, const char *value)
{
    uint64_t percent = 100;
    if (strcmp(value, "absent") == 0) {
        limits->hint_percent = -1;
        return true;
    }
    if (strcmp(value, "right") != 0 && !parse_whole(value, HINT_PERCENT_MAX, &percent)) {
        return false;
    }
    limits->hint_percent = (int64_t)percent;
    return true;
}

static bool set_count(struct vq_limits *limits, const char *value)
{
    static const char *const names[] = {[VQ_LIMIT_COUNT_ACTUAL] = "actual",
                                        [VQ_LIMIT_COUNT_MAX] = "max",
                                        [VQ_LIMIT_COUNT_SETTLE] = "settle"};
    for (size_t i = 0; i < VQ_COUNT(names); i++) {
        if (strcmp(names[i], value) == 0) {
            limits->count = (enum vq_limit_count)i;
            return true;
        }
    }
    return false;
}

enum vq_status vq_limits_set(struct vq_limits *limits, const char *name, const char *value)
{
    bool ok = false;
    if (strcmp(name, "per") == 0) {
        ok = set_per(limits, value);
    } else if (strcmp(name, "hint") == 0) {
        ok = set_hint(limits, value);
    } else if (strcmp(name, "count") == 0) {
        ok = set_count(limits, value);
    } else {
        size_t i = 0;
        while (i < VQ_COUNT(fields) && strcmp(fields[i].name, name) != 0) {
            i++;
        }
        ok = i < VQ_COUNT(fields) && set_field(limits, i, value);
    }
    return ok ? VQ_OK : VQ_INVALID;
}

/* Both are below 2^32: no overflow. */
static uint64_t of_minute(uint64_t per_minute, int64_t window_ns)
{
    uint64_t window_ms = (uint64_t)(window_ns / VQ_NS_PER_MS);
    return per_minute * window_ms / (uint64_t)(MINUTE_NS / VQ_NS_PER_MS);
}

enum vq_status vq_limits_finish(struct vq_limits *limits, struct vq_error *err)
{
    for (size_t kind = VQ_LIMIT_REQUESTS; kind < VQ_LIMIT_WINDOWED; kind++) {
        limits->per_window[kind] = of_minute(limits->per_minute[kind], limits->window_ns);
        if (limits->per_minute[kind] > 0 && limits->per_window[kind] == 0) {
            return vq_fail(err, VQ_INVALID,
                           "the limit of %s a minute is less than one in a window of %lld ms",
                           vq_limit_name((enum vq_limit_kind)kind),
                           (long long)(limits->window_ns / VQ_NS_PER_MS));
        }
    }
    if (limits->ramp_ns == 0) {
        limits->ramp_ns = limits->window_ns;
    }
    limits->ramp_free = of_minute(limits->ramp_floor, limits->ramp_ns);
    limits->ramp_free = limits->ramp_free == 0 ? 1 : limits->ramp_free;
    return VQ_OK;
}

bool vq_limits_any(const struct vq_limits *limits)
{
    uint64_t any = limits->concurrency | limits->day_requests | limits->day_tokens |
                   limits->ramp_percent | limits->nano_usd;
    for (size_t kind = VQ_LIMIT_REQUESTS; kind < VQ_LIMIT_WINDOWED; kind++) {
        any |= limits->per_window[kind];
    }
    return any != 0;
}

const char *vq_limit_name(enum vq_limit_kind kind)
{
    static const char *const names[VQ_LIMIT__COUNT] = {
        [VQ_LIMIT_NONE] = "none",
        [VQ_LIMIT_REQUESTS] = "requests",
        [VQ_LIMIT_INPUT] = "input_tokens",
        [VQ_LIMIT_OUTPUT] = "output_tokens",
        [VQ_LIMIT_TOKENS] = "tokens",
        [VQ_LIMIT_CONCURRENCY] = "concurrency",
        [VQ_LIMIT_RAMP] = "ramp",
        [VQ_LIMIT_DAY_REQUESTS] = "day_requests",
        [VQ_LIMIT_DAY_TOKENS] = "day_tokens",
        [VQ_LIMIT_MONEY] = "money",
    };
    return names[kind];
}
