/* The words of a forecast: names of limits and verdicts, sentences about assumptions; and the value
 * of a limit. */
#include "methods/plan/forecast.h"

const char *vq_forecast_bound_word(enum vq_forecast_bound bound)
{
    static const char *const words[VQ_BOUND__COUNT] = {[VQ_BOUND_NONE] = "nothing",
                                                       [VQ_BOUND_REQUESTS] = "requests_per_minute",
                                                       [VQ_BOUND_INPUT] = "input_tokens_per_minute",
                                                       [VQ_BOUND_OUTPUT] =
                                                           "output_tokens_per_minute",
                                                       [VQ_BOUND_TOKENS] = "tokens_per_minute",
                                                       [VQ_BOUND_CONCURRENCY] = "concurrency",
                                                       [VQ_BOUND_DAY] = "day_quota",
                                                       [VQ_BOUND_BATCH] = "batch"};
    return bound < VQ_BOUND__COUNT ? words[bound] : "?";
}

const char *vq_forecast_verdict_word(enum vq_forecast_verdict verdict)
{
    switch (verdict) {
    case VQ_HOLDS_SURELY: return "yes";
    case VQ_HOLDS_LIKELY: return "likely";
    case VQ_HOLDS_NOT: return "no";
    case VQ_HOLDS_UNKNOWN: return "unknown";
    }
    return "?";
}

const char *vq_forecast_assumed_text(unsigned bit)
{
    static const char *const texts[VQ_ASSUMED_BITS] = {
        "input is taken as one token for 4 bytes (3 to 5): no answer of such a call is stored",
        "verdicts are taken as 120 tokens and other texts as 400, at most max_tokens: no answer of "
        "such a call is stored",
        "a call is taken to last 1 s and 1 s more for each 50 tokens of its answer: no call of "
        "that model is stored",
        "one first answer in twenty is taken to settle its score, which saves the second order "
        "(the "
        "interval goes from all to none): none is stored",
        "one answer in a hundred is taken to need a repair, at most ten: none is stored",
        "after an iteration of discovery another one is taken to follow in one case of two, with "
        "half as many new vibes; three vibes in five are taken to pass the gates",
        "the vibes that fail are taken to be settled evenly over the looks of early stopping",
        "rows that are judged ties will be left out, which makes later stages smaller",
        "16 calls are taken to be in flight at a time in a pool for which neither concurrency nor "
        "a "
        "limit per minute is set; the run finds out how many its provider takes",
        "a batch is taken to last 1 h, and at most 24 h: no batch of that model is recorded",
        "three cells in ten are taken to be escalated to the second judge (the interval goes from "
        "the audit share alone to all)",
    };
    return bit < VQ_ASSUMED_BITS ? texts[bit] : "?";
}

/* If a rate is set, the run raises an unset concurrency until the rate is reached. */
static bool names_a_rate(const struct vq_forecast_limits *l)
{
    bool names = false;
    for (unsigned r = 0; r < VQ_RATE__COUNT; r++) {
        names = names || l->rates.of[r] > 0;
    }
    return names;
}

bool vq_forecast_bound_assumed(const struct vq_forecast_limits *l, enum vq_forecast_bound bound)
{
    return bound == VQ_BOUND_CONCURRENCY && !(l->concurrency > 0);
}

double vq_forecast_bound_value(const struct vq_forecast_limits *l, enum vq_forecast_bound bound)
{
    switch (bound) {
    case VQ_BOUND_REQUESTS: return l->rates.requests;
    case VQ_BOUND_INPUT: return l->rates.input_tokens;
    case VQ_BOUND_OUTPUT: return l->rates.output_tokens;
    case VQ_BOUND_TOKENS: return l->rates.tokens;
    case VQ_BOUND_CONCURRENCY:
        return l->concurrency > 0 ? l->concurrency : names_a_rate(l) ? 0 : VQ_ASSUMED_CONCURRENCY;
    case VQ_BOUND_DAY: return l->requests_per_day > 0 ? l->requests_per_day : l->tokens_per_day;
    case VQ_BOUND_NONE:
    case VQ_BOUND_BATCH:
    case VQ_BOUND__COUNT: break;
    }
    return 0;
}
