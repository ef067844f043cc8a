/* Estimates for a call before it is sent: tokens per byte of a prompt, tokens of an answer,
 * dollars. Pure numbers, learned from the usage that answers report. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Tokens per byte of one kind of prompt on one model: an exponentially weighted mean and mean
 * deviation of the tokens that rate limits count, a mean of all tokens, and the largest value ever
 * seen. Zeroed: nothing is known. */
struct vq_ratio {
    double mean, spread, all, most;
    uint32_t count;
};

/* Input tokens to reserve of a rate: slightly more than expected. Without any answer: a quarter of
 * the bytes. At least 1. */
double vq_ratio_tokens(const struct vq_ratio *ratio, double bytes);
/* Input tokens to reserve of money: an upper bound, from all answers so far. With few answers: at
 * least a third of the bytes. */
double vq_ratio_tokens_most(const struct vq_ratio *ratio, double bytes);
/* The expected input tokens, including those that limits do not count. */
double vq_ratio_tokens_mean(const struct vq_ratio *ratio, double bytes);
/* `counted`: the part of the tokens that rate limits count. */
void vq_ratio_learn(struct vq_ratio *ratio, double tokens, double counted, double bytes);

/* Tokens of answers, as a histogram by powers of 2^(1/4). The weight of old answers decreases.
 * Zeroed: nothing is known. */
#define VQ_ANSWER_BUCKETS 96

struct vq_answers {
    float weight[VQ_ANSWER_BUCKETS];
    double total, longest;
    double prior; /* the longest answer of other workers; 0: unknown */
    uint32_t count;
};

/* Output tokens to reserve of a rate: few answers are longer; never above max_tokens. After few
 * answers: the longest answer of any worker, or twice the longest of this one. Without any answer:
 * max_tokens. */
double vq_answers_tokens(const struct vq_answers *answers, uint32_t max_tokens);
void vq_answers_learn(struct vq_answers *answers, uint64_t tokens);

/* Prices in nano-dollars per token: of input, of input read from a cache, of input written to a
 * cache for minutes or for an hour, and of output. */
struct vq_price {
    double input, cached, written, written_long, output;
};

/* Tokens. `cached` and `written` are parts of `input`; `written_long` is a part of `written`. */
struct vq_usage {
    double input, cached, written, written_long, output;
};

/* Nano-dollars, rounded up. */
uint64_t vq_price_of(const struct vq_price *price, const struct vq_usage *usage);
