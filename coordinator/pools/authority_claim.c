/* Bounds of the costs, amounts, rates and times that a worker can report (proto/claim.h has the
 * numbers, and the reason why they are generous). A message that exceeds one is refused as a whole,
 * before any of it counts.
 *
 * Results of an earlier start may have been made with other prices, data and answer lengths: their
 * bound is a hundred times as high. Not its job: the consequences for the worker (message.c). */
#include "coordinator/pools/authority_parts.h"
#include "proto/claim.h"

#include <stdio.h>
#include <string.h>

#define EARLIER_FACTOR 100.0
#define EARLIER_NANO   1e10 /* $10: the price may have been 0 */
/* of a reservation: an earlier start may have asked for longer answers */
#define UNIT_FACTOR 2.0
#define PER_USD     1e9

void vq_authority_asks(struct vq_authority *a, double request_bytes, double answer_tokens)
{
    double output = vq_claim_output_most(answer_tokens);
    a->input_most = fmax(a->input_most, vq_claim_input_most(request_bytes) + output); /* repairs */
    a->output_most = fmax(a->output_most, output);
}

static double nano_most(const struct vq_authority *a, const struct vq_auth_price *price)
{
    double input = VQ_CLAIM_WRITE_FACTOR * price->input_nano * a->input_most;
    return price->known
               ? fmin(input + price->output_nano * a->output_most, (double)VQ_CLAIM_NANO_MAX)
               : (double)VQ_CLAIM_NANO_MAX;
}

/* The price of the dearest pool if the name is not of this start. */
static double nano_most_of(const struct vq_authority *a, struct vq_span name)
{
    double most = 0;
    for (uint32_t i = 0; i < a->pools_count; i++) {
        const struct vq_auth_pool *p = &a->pools[i];
        if (strlen(p->name) == name.bytes && memcmp(p->name, name.at, name.bytes) == 0) {
            return nano_most(a, &p->price);
        }
        most = fmax(most, nano_most(a, &p->price));
    }
    return most;
}

uint64_t vq_authority_call_most(const struct vq_authority *a)
{
    return (uint64_t)nano_most_of(a, vq_span("", 0));
}

bool vq_authority_result_can_be(const struct vq_authority *a, const struct vq_result *r,
                                bool earlier, char *ret_text, size_t bytes)
{
    double most = nano_most_of(a, r->pool);
    most =
        earlier ? fmin(fmax(EARLIER_FACTOR * most, EARLIER_NANO), (double)VQ_CLAIM_NANO_MAX) : most;
    if ((double)r->cost_nano > most + 1) {
        (void)snprintf(ret_text, bytes,
                       "a call that cost $%.4f; the prices and the largest request allow $%.4f",
                       (double)r->cost_nano / PER_USD, most / PER_USD);
        return false;
    }
    if (r->provider_nano > VQ_CLAIM_NANO_MAX) {
        (void)snprintf(ret_text, bytes, "a call for which its provider charged $%.0f",
                       (double)r->provider_nano / PER_USD);
        return false;
    }
    const uint64_t tokens[] = {r->tokens_in, r->tokens_cached, r->tokens_written, r->tokens_out,
                               r->tokens_reserved};
    for (size_t i = 0; i < VQ_COUNT(tokens); i++) {
        if (tokens[i] > VQ_CLAIM_TOKENS_MAX) {
            (void)snprintf(ret_text, bytes, "a call of %llu tokens", (unsigned long long)tokens[i]);
            return false;
        }
    }
    return true;
}

static bool amount_can_be(const struct vq_amount *amount, uint64_t most, uint64_t unit_most)
{
    return amount->open <= amount->used && amount->used <= most && amount->unit <= unit_most;
}

static bool rates_can_be(const struct vq_rates *rates, double most)
{
    for (unsigned r = 0; r < VQ_RATE__COUNT; r++) {
        double rate = rates->of[r];
        if (!(rate >= 0 && rate <= most)) {
            return false;
        }
    }
    return true;
}

static bool counts_can_be(const struct vq_pool_report *r)
{
    const uint64_t counts[] = {r->requests,     r->answered,      r->refused,
                               r->slowed,       r->timed,         r->failed,
                               r->input_tokens, r->cached_tokens, r->output_tokens};
    for (size_t i = 0; i < VQ_COUNT(counts); i++) {
        if (counts[i] > VQ_CLAIM_COUNT_MAX) {
            return false;
        }
    }
    return r->in_flight <= VQ_CLAIM_FLIGHTS_MAX && r->waiting <= VQ_CLAIM_WAITING_MAX;
}

static bool park_can_be(const struct vq_authority *a, int64_t unix_s, int64_t now_ns)
{
    int64_t now_s = a->clock_unix_s + (now_ns - a->clock_ns) / VQ_AUTH_S;
    return unix_s >= 0 && (!a->clocked || unix_s <= now_s + VQ_CLAIM_PARK_S_MAX);
}

/* The field of the report that exceeds its bound; NULL: none. */
static const char *report_fault(const struct vq_authority *a, const struct vq_pool_report *r,
                                int64_t now_ns)
{
    double tokens = UNIT_FACTOR * (a->input_most + a->output_most);
    if (!counts_can_be(r)) {
        return "counts of calls or tokens";
    }
    if (!rates_can_be(&r->said, VQ_CLAIM_RATE_MAX)) {
        return "limits of its provider";
    }
    if (!rates_can_be(&r->unit, tokens) || r->unit.requests > 1) {
        return "a size of one request";
    }
    if (r->pause_ms > VQ_CLAIM_PAUSE_MS_MAX) {
        return "a pause";
    }
    if (!park_can_be(a, r->park_unix_s, now_ns)) {
        return "a time at which a quota begins again";
    }
    if (!amount_can_be(&r->day_requests, VQ_CLAIM_COUNT_MAX, 1) ||
        !amount_can_be(&r->day_tokens, VQ_CLAIM_COUNT_MAX, (uint64_t)tokens)) {
        return "amounts of a day's quota";
    }
    return NULL;
}

bool vq_authority_credit_can_be(const struct vq_authority *a, const struct vq_msg_credit *credit,
                                int64_t now_ns, char *ret_text, size_t bytes)
{
    double unit = EARLIER_FACTOR * (double)vq_authority_call_most(a);
    uint64_t unit_most = (uint64_t)fmin(fmax(unit, EARLIER_NANO), (double)VQ_CLAIM_NANO_MAX);
    if (!amount_can_be(&credit->spend, VQ_CLAIM_SPENT_MAX, unit_most)) {
        (void)snprintf(ret_text, bytes,
                       "$%.4f spent, $%.4f of it open, $%.4f for one call: these amounts cannot be",
                       (double)credit->spend.used / PER_USD, (double)credit->spend.open / PER_USD,
                       (double)credit->spend.unit / PER_USD);
        return false;
    }
    for (uint32_t i = 0; i < credit->reports_count; i++) {
        const struct vq_pool_report *report = &credit->reports[i];
        const char *fault =
            report->pool < a->pools_count ? report_fault(a, report, now_ns) : "a pool";
        if (fault != NULL) {
            (void)snprintf(ret_text, bytes, "%s that cannot be, of pool %.80s", fault,
                           report->pool < a->pools_count ? a->pools[report->pool].name : "?");
            return false;
        }
    }
    return true;
}
