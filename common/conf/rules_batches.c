/* Rules of batch pools: the limits of the provider's batch API, settings that exclude batches, and
 * models that need an interactive pool. docs/use/providers.md has pages and dates. */
#include "common/conf/batches.h"
#include "common/conf/rules_parts.h"

#include <stdio.h>
#include <string.h>

/* The name of a limit of interactive calls that is set; NULL: none. */
static const char *interactive_limit(const struct vq_conf_limits *l)
{
    static const char *const rates[VQ_RATE__COUNT] = {
        [VQ_RATE_REQUESTS] = "requests_per_minute",
        [VQ_RATE_INPUT] = "input_tokens_per_minute",
        [VQ_RATE_OUTPUT] = "output_tokens_per_minute",
        [VQ_RATE_TOKENS] = "tokens_per_minute",
    };
    for (unsigned i = 0; i < VQ_RATE__COUNT; i++) {
        if (l->limit.rates.of[i] > 0) {
            return rates[i];
        }
    }
    return l->limit.concurrency > 0 ? "concurrency" : NULL;
}

enum vq_status vq_rules_batch(const struct vq_rules *r, const struct vq_conf_pool_model *m,
                              const char *dialect, const char *place)
{
    struct vq_conf_batch_limits most;
    if (!vq_conf_model_is_batch(m)) {
        return VQ_OK;
    }
    const struct vq_conf_batch *b = m->batch;
    if (!vq_conf_batch_provider(dialect, &most)) {
        return vq_rules_broken_at(r, place, "batch",
                                  "the dialect %s has no batch API; leave this out", dialect);
    }
    if (m->limits.service_tier != NULL) {
        return vq_rules_broken_at(
            r, place, "service_tier",
            "calls in a batch have no service tier; leave out service_tier or "
            "batch, or make two entries of the model");
    }
    const char *limit = interactive_limit(&m->limits);
    if (limit != NULL) {
        return vq_rules_broken_at(
            r, place, limit,
            "this limit is of single calls, and a batch does not count in it; "
            "leave it out");
    }
    if (b->max_requests > most.requests) {
        return vq_rules_broken_at(r, place, "batch.max_requests",
                                  "a batch of the dialect %s has at most %u requests", dialect,
                                  most.requests);
    }
    if (b->max_bytes > most.bytes || (b->max_bytes > 0 && b->max_bytes < VQ_CONF_BATCH_BYTES_MIN)) {
        return vq_rules_broken_at(
            r, place, "batch.max_bytes", "a batch of the dialect %s has %llu to %llu bytes",
            dialect, (unsigned long long)VQ_CONF_BATCH_BYTES_MIN, (unsigned long long)most.bytes);
    }
    return VQ_OK;
}

static enum vq_status check_role(const struct vq_rules *r, const struct vq_conf_uses *uses,
                                 const struct vq_conf_judge *judge, const char *place,
                                 const char *why)
{
    return vq_conf_uses_interactive(uses, judge)
               ? VQ_OK
               : vq_rules_broken_at(
                     r, place, "model",
                     "all pools of \"%.80s\" are batches, and %s; add an entry of the "
                     "model without batch to a pool",
                     judge->model, why);
}

/* Discovery needs interactive pools, since each call depends on the answer before it. */
static enum vq_status check_discovery(const struct vq_rules *r, const struct vq_conf_uses *uses)
{
    const struct vq_config *c = r->config;
    static const char why[] = "discovery asks one text after the other";
    bool named = c->proposer != NULL;
    if (c->method != VQ_METHOD_DISCOVER || c->judges_count == 0) {
        return VQ_OK;
    }
    VQ_TRY(check_role(r, uses, named ? c->proposer : &c->judges[0],
                      named ? "proposer" : "judges[0]", why));
    for (uint32_t i = 0; i < c->repeat_proposers_count; i++) {
        char place[VQ_RULES_PATH_BYTES / 2];
        (void)snprintf(place, sizeof(place), "repeat_proposers[%u]", i);
        VQ_TRY(check_role(r, uses, &c->repeat_proposers[i], place, why));
    }
    return c->reducer == NULL ? VQ_OK : check_role(r, uses, c->reducer, "reducer", why);
}

enum vq_status vq_rules_interactive(const struct vq_rules *r)
{
    const struct vq_config *c = r->config;
    struct vq_conf_uses uses;
    VQ_TRY(vq_conf_uses_of(c, &uses, r->err));
    enum vq_status status = VQ_OK;
    for (uint32_t i = 0; status == VQ_OK && i < c->subjects_count; i++) {
        char place[VQ_RULES_PATH_BYTES / 2];
        (void)snprintf(place, sizeof(place), "subjects[%u]", i);
        status = check_role(r, &uses, &c->subjects[i].judge, place,
                            "each turn of a dialogue needs the answer to the turn before");
    }
    if (status == VQ_OK && c->embedder != NULL &&
        strcmp(c->embedder->model, VQ_EMBEDDER_NONE) != 0) {
        status = check_role(r, &uses, c->embedder, "embedder",
                            "vibeq does not ask for embeddings in batches");
    }
    if (status == VQ_OK) {
        status = check_discovery(r, &uses);
    }
    vq_conf_uses_free(&uses);
    return status;
}
