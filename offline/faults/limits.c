/* One table defines the limits, their names and their reading. Invariant: after vq_limits_finish a
 * limit per minute that is set is at least one per window. Not its job: counting (limiter.c), the
 * pools of limits (pools.c). */
#include "offline/faults/limits.h"

#include "common/base/clock.h"
#include "offline/faults/settings.h"

#include <string.h>

#define MINUTE_NS          (60 * VQ_NS_PER_S)
#define USD_MAX            1e6
#define HINT_PERCENT_MAX   10000
#define RAMP_FLOOR_DEFAULT 60

#define AT(member) offsetof(struct vq_limits, member)
static const struct vq_setting settings[] = {
    {"rpm", VQ_SETTING_COUNT, AT(per_minute[VQ_LIMIT_REQUESTS]), UINT32_MAX},
    {"itpm", VQ_SETTING_COUNT, AT(per_minute[VQ_LIMIT_INPUT]), UINT32_MAX},
    {"otpm", VQ_SETTING_COUNT, AT(per_minute[VQ_LIMIT_OUTPUT]), UINT32_MAX},
    {"tpm", VQ_SETTING_COUNT, AT(per_minute[VQ_LIMIT_TOKENS]), UINT32_MAX},
    {"window_ms", VQ_SETTING_NS, AT(window_ns), UINT32_MAX},
    {"concurrency", VQ_SETTING_COUNT, AT(concurrency), UINT32_MAX},
    {"rpd", VQ_SETTING_COUNT, AT(day_requests), UINT32_MAX},
    {"tpd", VQ_SETTING_COUNT, AT(day_tokens), UINT32_MAX},
    {"day_ms", VQ_SETTING_COUNT, AT(day_ms), UINT32_MAX},
    {"ramp", VQ_SETTING_COUNT, AT(ramp_percent), UINT32_MAX},
    {"ramp_floor", VQ_SETTING_COUNT, AT(ramp_floor), UINT32_MAX},
    {"ramp_ms", VQ_SETTING_NS, AT(ramp_ns), UINT32_MAX},
    {"usd", VQ_SETTING_USD, AT(nano_usd), USD_MAX},
    {"usd_in", VQ_SETTING_PRICE, AT(nano_usd_in), USD_MAX},
    {"usd_cached", VQ_SETTING_PRICE, AT(nano_usd_cached), USD_MAX},
    {"usd_out", VQ_SETTING_PRICE, AT(nano_usd_out), USD_MAX},
    {"count_refused", VQ_SETTING_FLAG, AT(count_refused), 0},
    {"count_failed", VQ_SETTING_FLAG, AT(count_failed), 0},
    {"headers", VQ_SETTING_FLAG, AT(headers), 0},
    {"hint", VQ_SETTING_COUNT, AT(hint_percent), HINT_PERCENT_MAX},
    {0},
};
#undef AT

void vq_limits_init(struct vq_limits *limits)
{
    *limits = (struct vq_limits){.window_ns = MINUTE_NS,
                                 .ramp_floor = RAMP_FLOOR_DEFAULT,
                                 .per_key = true,
                                 .headers = true,
                                 .hint_percent = 100};
}

static bool set_per(struct vq_limits *limits, const char *value)
{
    limits->per_key = strcmp(value, "key") == 0 || strcmp(value, "both") == 0;
    limits->per_model = strcmp(value, "model") == 0 || strcmp(value, "both") == 0;
    return limits->per_key || limits->per_model || strcmp(value, "all") == 0;
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
    if (strcmp(name, "per") == 0) {
        return set_per(limits, value) ? VQ_OK : VQ_INVALID;
    }
    if (strcmp(name, "count") == 0) {
        return set_count(limits, value) ? VQ_OK : VQ_INVALID;
    }
    bool is_absent = strcmp(value, "absent") == 0;
    if (strcmp(name, "hint") == 0 && (is_absent || strcmp(value, "right") == 0)) {
        limits->hint_percent = is_absent ? -1 : 100;
        return VQ_OK;
    }
    return vq_setting_read(settings, limits, name, value, NULL);
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
