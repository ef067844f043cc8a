/* Estimates that calls reserve by. They need not be exact: a reservation is settled as soon as the
 * answer reports its usage. Too little costs a moment's excess, which the schedule makes up for;
 * too much costs throughput. Only money is bounded from above: for money the largest observed value
 * counts. */
#include "worker/core/reserve.h"

#include <math.h>

#define RATIO_FIRST      0.25
#define RATIO_FIRST_MOST (1.0 / 3.0)
#define RATIO_WEIGHT     0.05 /* of a new observation, after enough of them */
#define RATIO_SPREADS    2.0  /* mean deviations above the mean */
#define RATIO_KNOWN      8u
#define MOST_MARGIN      1.05
#define FRAME_TOKENS     16.0 /* at most, that a provider adds to a prompt */

#define ANSWER_SHARE     0.95 /* of answers that are not longer than the reservation */
#define ANSWERS_KNOWN    16u
#define ANSWERS_SOME     3u /* from this number on: twice the longest of them */
#define SOME_MARGIN      2.0
#define ANSWERS_HALVE_AT 512.0
#define STEPS_A_DOUBLING 4.0

#define NANO_MAX 1e18

double vq_ratio_tokens(const struct vq_ratio *ratio, double bytes)
{
    double by = ratio->count == 0 ? RATIO_FIRST : ratio->mean + RATIO_SPREADS * ratio->spread;
    by = ratio->count >= RATIO_KNOWN && by > ratio->most ? ratio->most : by;
    double tokens = bytes * by;
    return tokens < 1 ? 1 : tokens;
}

double vq_ratio_tokens_mean(const struct vq_ratio *ratio, double bytes)
{
    return bytes * (ratio->count == 0 ? RATIO_FIRST : ratio->all);
}

double vq_ratio_tokens_most(const struct vq_ratio *ratio, double bytes)
{
    double by = ratio->most * MOST_MARGIN;
    if (ratio->count < RATIO_KNOWN && by < RATIO_FIRST_MOST) {
        by = RATIO_FIRST_MOST;
    }
    return bytes * by + FRAME_TOKENS;
}

void vq_ratio_learn(struct vq_ratio *ratio, double tokens, double counted, double bytes)
{
    if (!(bytes > 0) || !(tokens > 0)) {
        return;
    }
    double all = tokens / bytes;
    double seen = (counted < tokens ? counted : tokens) / bytes;
    ratio->count += ratio->count < UINT32_MAX ? 1 : 0;
    double first = 1.0 / ratio->count;
    double weight = first > RATIO_WEIGHT ? first : RATIO_WEIGHT;
    double off = fabs(seen - ratio->mean);
    if (ratio->count == 1) {
        off = seen / 8; /* their spread is not known yet */
    }
    ratio->mean += weight * (seen - ratio->mean);
    ratio->spread += weight * (off - ratio->spread);
    ratio->all += weight * (all - ratio->all);
    ratio->most = all > ratio->most ? all : ratio->most;
}

static uint32_t bucket_of(uint64_t tokens)
{
    double step = tokens < 1 ? 0 : ceil(STEPS_A_DOUBLING * log2((double)tokens));
    return step > VQ_ANSWER_BUCKETS - 1 ? VQ_ANSWER_BUCKETS - 1 : (uint32_t)step;
}

double vq_answers_tokens(const struct vq_answers *answers, uint32_t max_tokens)
{
    if (answers->count < ANSWERS_KNOWN) {
        bool some = answers->count >= ANSWERS_SOME;
        double own = some ? SOME_MARGIN * answers->longest : max_tokens;
        double tokens = answers->prior > 0 ? fmax(answers->prior, answers->longest) : own;
        return tokens < max_tokens ? tokens : max_tokens;
    }
    double below = 0;
    for (uint32_t i = 0; i < VQ_ANSWER_BUCKETS; i++) {
        below += (double)answers->weight[i];
        if (below >= ANSWER_SHARE * answers->total) {
            double tokens = ceil(exp2(i / STEPS_A_DOUBLING));
            return tokens < max_tokens ? tokens : max_tokens;
        }
    }
    return max_tokens;
}

void vq_answers_learn(struct vq_answers *answers, uint64_t tokens)
{
    answers->longest = (double)tokens > answers->longest ? (double)tokens : answers->longest;
    answers->weight[bucket_of(tokens)] += 1;
    answers->total += 1;
    answers->count += answers->count < UINT32_MAX ? 1 : 0;
    if (answers->total < ANSWERS_HALVE_AT) {
        return;
    }
    answers->total = 0;
    for (uint32_t i = 0; i < VQ_ANSWER_BUCKETS; i++) {
        answers->weight[i] /= 2;
        answers->total += (double)answers->weight[i];
    }
}

uint64_t vq_price_of(const struct vq_price *price, const struct vq_usage *usage)
{
    double cached = usage->cached > usage->input ? usage->input : usage->cached;
    double rest = usage->input - cached;
    double written = usage->written > rest ? rest : usage->written;
    double hour = usage->written_long > written ? written : usage->written_long;
    double nano = (rest - written) * price->input + cached * price->cached +
                  (written - hour) * price->written + hour * price->written_long +
                  usage->output * price->output;
    return !(nano > 0) ? 0 : nano > NANO_MAX ? (uint64_t)NANO_MAX : (uint64_t)ceil(nano);
}
