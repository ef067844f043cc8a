/* Upper bounds of the amounts that a worker can report for one call, one pool and one process. A
 * worker cuts the numbers of a provider to these bounds; the coordinator refuses a message that
 * exceeds one. They are generous, so an honest worker never exceeds them. */
#pragma once

#include <stdint.h>

/* A byte of a request never has more than two tokens; chat formats, schemas and the provider's own
 * instructions add some thousands. */
#define VQ_CLAIM_TOKENS_A_BYTE 2u
#define VQ_CLAIM_INPUT_EXTRA   65536u
/* No model reads a longer request, so further bytes do not count. */
#define VQ_CLAIM_REQUEST_BYTES_MAX ((double)(4u << 20))
/* Some providers do not count hidden reasoning against max_tokens, so the longest answer of any
 * model is allowed. */
#define VQ_CLAIM_OUTPUT_FACTOR 4u
#define VQ_CLAIM_OUTPUT_LEAST  262144u
/* Tokens that are written to a provider's cache cost up to twice the price of input. */
#define VQ_CLAIM_WRITE_FACTOR 2.0

#define VQ_CLAIM_TOKENS_MAX  UINT64_C(200000000)          /* of one call, of each kind */
#define VQ_CLAIM_NANO_MAX    UINT64_C(1000000000000)      /* of one call: $1,000 */
#define VQ_CLAIM_SPENT_MAX   UINT64_C(100000000000000000) /* of one process: $100 million */
#define VQ_CLAIM_COUNT_MAX   UINT64_C(1000000000000000)   /* calls or tokens of one process */
#define VQ_CLAIM_RATE_MAX    1e12                         /* per minute */
#define VQ_CLAIM_FLIGHTS_MAX 65536u                       /* calls in flight of one worker */
#define VQ_CLAIM_WAITING_MAX (1u << 20) /* asks of one worker that wait for one pool */
/* A monthly quota is renewed within VQ_CLAIM_WAIT_S. A worker's pause is up to a tenth longer, and
 * clocks differ. */
#define VQ_CLAIM_WAIT_S       (INT64_C(32) * 24 * 3600)
#define VQ_CLAIM_PAUSE_MS_MAX (40u * 24u * 3600u * 1000u)
#define VQ_CLAIM_PARK_S_MAX   (INT64_C(400) * 24 * 3600)

static inline double vq_claim_input_most(double request_bytes)
{
    double bytes =
        request_bytes < VQ_CLAIM_REQUEST_BYTES_MAX ? request_bytes : VQ_CLAIM_REQUEST_BYTES_MAX;
    return VQ_CLAIM_TOKENS_A_BYTE * bytes + VQ_CLAIM_INPUT_EXTRA;
}

static inline double vq_claim_output_most(double max_tokens)
{
    double most = VQ_CLAIM_OUTPUT_FACTOR * max_tokens;
    return most > VQ_CLAIM_OUTPUT_LEAST ? most : VQ_CLAIM_OUTPUT_LEAST;
}

/* The most input tokens of a repair: its request is the template and one answer, so it also has no
 * more tokens than the template and the longest answer. */
static inline double vq_claim_repair_most(double request_bytes, double template_bytes,
                                          double max_tokens)
{
    double by_bytes = vq_claim_input_most(request_bytes);
    double by_tokens = vq_claim_input_most(template_bytes) + vq_claim_output_most(max_tokens);
    return by_bytes < by_tokens ? by_bytes : by_tokens;
}
