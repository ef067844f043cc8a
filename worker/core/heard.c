/* Cuts a provider's report on a call to plausible values: usage, limits and waits are untrusted,
 * and the coordinator refuses a worker that passes on impossible ones (proto/claim.h). Not its job:
 * parsing (worker/provider). */
#include "proto/claim.h"
#include "worker/core/state.h"

static uint64_t cut(uint64_t tokens, double most)
{
    return (double)tokens > most ? (uint64_t)most : tokens;
}

/* A wait that is longer than any quota lasts is a mistake of the provider. */
static int64_t cut_time(int64_t time, int64_t most)
{
    return time > most ? most : time;
}

double vq_work_input_most(const struct vq_work *w, enum vq_call_kind kind, double bytes,
                          uint32_t max_tokens)
{
    return kind == VQ_CALL_REPAIR && w->spec->repair != NULL
               ? vq_claim_repair_most(bytes, (double)vq_template_text(w->spec->repair).bytes,
                                      max_tokens)
               : vq_claim_input_most(bytes);
}

void vq_work_heard_cut(const struct vq_work *w, const struct vq_work_flight *flight,
                       struct vq_work_reply *reply)
{
    const struct vq_work_call *call = &flight->call;
    bool here = call->stage == w->spec->stage && call->judge < w->spec->judges_count;
    uint32_t max_tokens = here ? w->spec->judges[call->judge].judge.max_tokens : 0;
    double input = vq_work_input_most(w, call->kind, flight->need.bytes, max_tokens);
    double output = vq_claim_output_most(max_tokens);
    reply->tokens_in = cut(reply->tokens_in, input);
    reply->tokens_cached = cut(reply->tokens_cached, input);
    reply->tokens_cache_written = cut(reply->tokens_cache_written, input);
    reply->tokens_cache_written_long = cut(reply->tokens_cache_written_long, input);
    reply->tokens_uncounted = cut(reply->tokens_uncounted, input);
    reply->provider_nano = cut(reply->provider_nano, (double)VQ_CLAIM_NANO_MAX);
    reply->tokens_out = cut(reply->tokens_out, output);
    for (int i = 0; i < VQ_RATE__COUNT; i++) {
        if (!(reply->said.of[i] <= VQ_CLAIM_RATE_MAX)) {
            reply->said.of[i] = 0; /* a value above this is not a limit */
        }
    }
    reply->retry_after_ms = cut_time(reply->retry_after_ms, VQ_CLAIM_WAIT_S * 1000);
    int64_t now_s = reply->started_unix_ms / 1000;
    reply->park_unix_s =
        now_s > 0 ? cut_time(reply->park_unix_s, now_s + VQ_CLAIM_WAIT_S) : reply->park_unix_s;
}
