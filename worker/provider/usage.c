/* Usage, by a table of fields (usage_fields.def). Providers and gateways use many names for the
 * same numbers, and count differently: cached tokens are part of the input or are added to it,
 * reasoning is part of the output or is added to it. Invariant: a part is never larger than its
 * whole, and of two readings the one with the larger bill counts, so a budget never counts less
 * than the charge. Not its job: prices (worker/core/reserve.c), missing usage
 * (worker/core/pool.c). */
#include "worker/provider/usage.h"

#include "worker/provider/scan.h"

#include <math.h>

#define COUNT_MAX 0x1p53

enum kind {
    INPUT,
    INPUT_REST,
    INPUT_MORE,
    CACHED,
    CACHED_BESIDE,
    WRITTEN,
    WRITTEN_BESIDE,
    WRITTEN_SHORT,
    WRITTEN_LONG,
    OUTPUT,
    REASONING,
    REASONING_BESIDE,
    TOTAL,
    COST,
    COST_UPSTREAM,
    KINDS
};

static const char *const places[] = {
#define VQ_USAGE_PLACE(path) path,
#define VQ_USAGE_FIELD(kind, path, meaning)
#include "worker/provider/usage_fields.def"
#undef VQ_USAGE_PLACE
#undef VQ_USAGE_FIELD
};

static const struct {
    enum kind kind;
    const char *path;
} fields[] = {
#define VQ_USAGE_PLACE(path)
#define VQ_USAGE_FIELD(kind, path, meaning) {kind, path},
#include "worker/provider/usage_fields.def"
#undef VQ_USAGE_PLACE
#undef VQ_USAGE_FIELD
};

/* ---- one field ---- */

static const json_t *member(const json_t *of, struct vq_span name)
{
    if (json_is_array(of)) {
        int64_t index = vq_scan_number(name);
        return index < 0 ? NULL : json_array_get(of, (size_t)index);
    }
    return json_object_getn(of, name.at, name.bytes);
}

static const json_t *follow(const json_t *from, const char *path)
{
    const json_t *at = from;
    while (at != NULL && *path != '\0') {
        size_t n = strcspn(path, ".");
        at = member(at, vq_span(path, n));
        path += path[n] == '.' ? n + 1 : n;
    }
    return at;
}

/* A number, or a string that is only a number. Negative: none. */
static double number_of(const json_t *value)
{
    double number = json_is_number(value) ? json_number_value(value) : -1;
    if (json_is_string(value)) {
        number = vq_scan_real(vq_span(json_string_value(value), json_string_length(value)));
    }
    return isfinite(number) ? number : -1;
}

/* ---- all fields ---- */

/* Of each kind the largest reported value; of INPUT, INPUT_REST and OUTPUT the first one above 0.
 * -1: none. */
struct usage {
    double of[KINDS];
};

static bool is_first_of(enum kind kind)
{
    return kind == INPUT || kind == INPUT_REST || kind == OUTPUT;
}

static void collect(const json_t *object, struct usage *u)
{
    for (int k = 0; k < KINDS; k++) {
        u->of[k] = -1;
    }
    for (size_t i = 0; i < VQ_COUNT(fields); i++) {
        double number = number_of(follow(object, fields[i].path));
        double *to = &u->of[fields[i].kind];
        bool taken = is_first_of(fields[i].kind) && *to > 0;
        if (number < COUNT_MAX && number > *to && !taken) {
            *to = fields[i].kind < COST ? floor(number) : number;
        }
    }
}

static double at_least_0(double count)
{
    return count > 0 ? count : 0;
}

static int64_t count_of(double count)
{
    return count < 0 ? -1 : count < COUNT_MAX ? (int64_t)count : (int64_t)COUNT_MAX;
}

/* -1 if neither is reported. */
static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* The tokens that were written to a cache, by the sum and by its two parts. */
static double written_of(const struct usage *u)
{
    double parts = at_least_0(u->of[WRITTEN_SHORT]) + at_least_0(u->of[WRITTEN_LONG]);
    double whole = larger(u->of[WRITTEN], u->of[WRITTEN_BESIDE]);
    return parts > 0 ? larger(whole, parts) : whole;
}

/* Whether cached and written tokens are added to the input: if the field's name shows it, if they
 * are more than the input, or if the total is the sum of exactly all of them. */
static bool are_beside(const struct usage *u, double input, double parts)
{
    bool named = u->of[INPUT] <= 0 && u->of[INPUT_REST] >= 0 &&
                 (u->of[CACHED_BESIDE] > 0 || u->of[WRITTEN_BESIDE] > 0);
    bool total =
        u->of[TOTAL] > 0 && u->of[OUTPUT] >= 0 && u->of[TOTAL] == input + u->of[OUTPUT] + parts;
    return parts > 0 && (named || parts > input || total);
}

static double output_of(const struct usage *u, double input)
{
    double beside = u->of[REASONING_BESIDE], reasoning = u->of[REASONING];
    double output = u->of[OUTPUT];
    if (beside >= 0) {
        output = at_least_0(output) + beside;
    } else if (reasoning > output) {
        output = at_least_0(output) + reasoning;
    }
    double by_total = u->of[TOTAL] - input;
    return input > 0 && by_total > at_least_0(output) ? by_total : output;
}

static void take_cost(const json_t *object, const struct usage *u, struct vq_reply *reply)
{
    double cost = u->of[COST];
    if (json_is_true(vq_body_get(object, "is_byok"))) {
        cost = at_least_0(cost) + at_least_0(u->of[COST_UPSTREAM]);
    }
    if (cost > 0 && cost < VQ_REPLY_COST_USD_MAX) {
        reply->cost_usd = cost;
    }
}

void vq_usage_take(const json_t *root, struct vq_reply *reply)
{
    const json_t *object = NULL;
    for (size_t i = 0; i < VQ_COUNT(places) && !json_is_object(object); i++) {
        object = follow(root, places[i]);
    }
    if (!json_is_object(object)) {
        return;
    }
    struct usage u;
    collect(object, &u);
    double cached = larger(u.of[CACHED], u.of[CACHED_BESIDE]);
    double written = written_of(&u);
    double parts = at_least_0(cached) + at_least_0(written);
    double input = u.of[INPUT] > 0 || u.of[INPUT_REST] < 0 ? u.of[INPUT] : u.of[INPUT_REST];
    if (input < 0 && u.of[TOTAL] > 0) {
        input = at_least_0(u.of[TOTAL] - at_least_0(u.of[OUTPUT]));
    }
    input += input >= 0 ? at_least_0(u.of[INPUT_MORE]) : 0;
    if (are_beside(&u, at_least_0(input), parts)) {
        input = at_least_0(input) + parts;
    }
    reply->tokens_in = count_of(input);
    reply->tokens_cached = count_of(cached);
    reply->tokens_cache_written = count_of(written);
    reply->tokens_cache_written_long = count_of(u.of[WRITTEN_LONG]);
    reply->tokens_out = count_of(output_of(&u, input));
    reply->tokens_reasoning = count_of(larger(u.of[REASONING], u.of[REASONING_BESIDE]));
    take_cost(object, &u, reply);
}
