/* The control is the same for all calls that are leased at one moment: they go into batches, or
 * they are asked interactively. So calls that will be bought while others go into batches are held
 * back until no other call is open. Not its job: the decision (deadline.c), and carrying it out. */
#include "coordinator/pools/deadline_round.h"

#include <math.h>

#define LATENCY_S     1.0  /* of a call without output, before any is measured */
#define TOKENS_S      50.0 /* of output, per second */
#define CONCURRENCY   8.0  /* of a pool that has not found its level */
#define DECISIONS_MAX 1024u

/* ---- a round ---- */

static void bought(struct vq_deadline_state *s, uint64_t calls)
{
    uint64_t back = calls < s->returned ? calls : s->returned;
    s->returned -= back;
    calls -= back;
    s->open -= calls < s->open ? calls : s->open;
    s->buying += back + calls;
}

static bool hurries(const struct vq_deadline_state *s)
{
    for (uint32_t i = 0; i < s->batches_count; i++) {
        if (s->batches[i].cancelling) {
            return true;
        }
    }
    return false;
}

void vq_deadline_round(struct vq_deadline_state *s, struct vq_deadline_batch *batches, bool follows,
                       struct vq_deadline_round *ret_round)
{
    struct vq_deadline_round round = {.direct = true, .at_s = s->now_s + 1};
    struct vq_deadline_action a;
    uint64_t buys = 0;
    for (uint32_t n = 0; n < DECISIONS_MAX; n++) {
        vq_deadline_decide(s, &a);
        /* a small difference, because the measured rate changes, is not worth a batch */
        bool few = a.what == VQ_DEADLINE_SUBMIT && buys > 0 && a.calls < VQ_DEADLINE_CALLS_MIN;
        if (a.what == VQ_DEADLINE_BUY || few) {
            buys += a.calls;
            bought(s, a.calls);
        } else if (a.what == VQ_DEADLINE_CANCEL) {
            batches[a.batch].cancelling = true;
            round.count++;
        } else {
            break;
        }
    }
    if (a.what == VQ_DEADLINE_SUBMIT) {
        round.direct = false;
        round.keep = buys + (s->rate > 0 ? s->returned : 0);
    } else if (a.what == VQ_DEADLINE_WAIT) {
        /* calls that a batch gives back in the meantime are bought */
        round.direct = s->rate > 0 && (!follows || buys > 0 || hurries(s));
        round.at_s = a.at_s;
    }
    *ret_round = round;
}

/* ---- rates ---- */

static double by_limits(const struct vq_limit *limit, const struct vq_rates *call, double latency_s)
{
    double rate = (limit->concurrency > 0 ? limit->concurrency : CONCURRENCY) / latency_s;
    for (int r = 0; r < VQ_RATE__COUNT; r++) {
        double allowed = limit->rates.of[r];
        if (allowed > 0 && isfinite(allowed) && call->of[r] > 0) {
            rate = fmin(rate, allowed / 60 / call->of[r]);
        }
    }
    return rate;
}

double vq_deadline_pool_rate(const struct vq_authority_pool_status *pool,
                             struct vq_deadline_tokens tokens, bool busy)
{
    if (pool->state != VQ_AUTHORITY_OPEN && pool->state != VQ_AUTHORITY_PAUSED) {
        return 0;
    }
    double lately = pool->lately.requests / 60;
    if (busy && lately > 0) {
        return lately;
    }
    struct vq_rates call = {.requests = 1,
                            .input_tokens = tokens.in,
                            .output_tokens = tokens.out,
                            .tokens = tokens.in + tokens.out};
    return by_limits(&pool->limit, &call, LATENCY_S + tokens.out / TOKENS_S);
}
