/* A SPEC's body, as the worker stores it.
 *
 * The decoder's memory is borrowed for one call only, so every string is copied; `strings` owns
 * them all. Templates are parsed here, so that an unusable one is refused before a call depends on
 * it. Not its job: keys and dialects. The shell refuses dialects that it does not know. */
#include "worker/core/spec.h"

#include "common/base/alloc.h"
#include "worker/core/limits.h"

#define STRINGS_MAX                                                                                \
    (5u * VQ_WORK_JUDGES_MAX + (5u + VQ_WIRE_KEYS_MAX) * VQ_WIRE_POOLS_MAX + 3u * VQ_WIRE_AXES_MAX)
#define NANO_PER_TOKEN 1000.0 /* of a dollar per million */
#define CACHE_HOUR_FACTOR                                                                          \
    1.6 /* of the price of a cache of five minutes: 2 and 1.25 times the input */

/* Copies a string; on failure the status sticks and "" is returned. A string with a NUL is refused,
 * because the NUL would cut the hashed text. */
static const char *keep(struct vq_work_spec *spec, struct vq_span text, enum vq_status *status)
{
    if (*status != VQ_OK) {
        return "";
    }
    if (text.bytes > 0 && memchr(text.at, '\0', text.bytes) != NULL) {
        *status = VQ_INVALID;
        return "";
    }
    *status = VQ_GROW(spec->strings, &spec->strings_cap, spec->strings_count + 1, STRINGS_MAX);
    if (*status != VQ_OK) {
        return "";
    }
    char *copy = vq_strndup(text.bytes == 0 ? "" : text.at, text.bytes);
    if (copy == NULL) {
        *status = VQ_NOMEM;
        return "";
    }
    spec->strings[spec->strings_count++] = copy;
    return copy;
}

static void fill_judge(struct vq_work_spec *spec, const struct vq_spec_judge *from, bool truncate,
                       struct vq_work_judge *to, enum vq_status *status)
{
    to->judge = (struct vq_judge){.name = keep(spec, from->name, status),
                                  .model = keep(spec, from->model, status),
                                  .dialect = keep(spec, from->dialect, status),
                                  .identity = keep(spec, from->identity, status),
                                  .temperature = from->temperature,
                                  .send_temperature = from->send_temperature,
                                  .max_tokens = from->max_tokens,
                                  .max_tokens_field = keep(spec, from->max_tokens_field, status),
                                  .seed = from->seed,
                                  .truncate = truncate,
                                  .system_role = (enum vq_system_role)from->system_role,
                                  .structured = from->structured,
                                  .logprobs = from->logprobs,
                                  .answer_field = keep(spec, from->answer_field, status)};
    to->tries_max = from->tries_max == 0 ? VQ_WORK_TRIES_DEFAULT : from->tries_max;
    to->pools = vq_alloc(from->pools_count, sizeof(*to->pools));
    if (to->pools == NULL) {
        *status = VQ_NOMEM;
        return;
    }
    to->pools_count = from->pools_count;
    memcpy(to->pools, from->pools, from->pools_count * sizeof(*to->pools));
}

static void fill_pool(struct vq_work_spec *spec, const struct vq_spec_pool *from,
                      struct vq_work_endpoint *to, enum vq_status *status)
{
    *to = (struct vq_work_endpoint){
        .name = keep(spec, from->name, status),
        .dialect = keep(spec, from->dialect, status),
        .base_url = keep(spec, from->base_url, status),
        .model = keep(spec, from->model, status),
        .max_tokens_field = keep(spec, from->max_tokens_field, status),
        .keys_count = from->keys_count,
        .allow_http = from->allow_http,
        .refuses_temperature = from->refuses_temperature,
        .refuses_seed = from->refuses_seed,
        .window_ms = from->window_ms,
        .connect_timeout_ms = from->connect_timeout_ms,
        .first_byte_timeout_ms = from->first_byte_timeout_ms,
        .total_timeout_ms = from->total_timeout_ms,
        .service_tier = keep(spec, from->service_tier, status),
        .tier_price = from->tier_price,
        .tier_tries = from->tier_tries,
        .batch_calls = from->batch_calls,
        .batch_bytes = from->batch_bytes,
        .batch_wait_ms = from->batch_wait_ms,
        .batch_poll_ms = from->batch_poll_ms,
    };
    bool anthropic = strcmp(to->dialect, "anthropic") == 0;
    if (from->priced) {
        to->price = (struct vq_price){.input = from->input_usd * NANO_PER_TOKEN,
                                      .cached = from->cached_usd * NANO_PER_TOKEN,
                                      .written = from->written_usd * NANO_PER_TOKEN,
                                      .written_long = from->written_usd * NANO_PER_TOKEN *
                                                      (anthropic ? CACHE_HOUR_FACTOR : 1),
                                      .output = from->output_usd * NANO_PER_TOKEN};
    }
    for (uint32_t i = 0; i < from->keys_count; i++) {
        to->keys[i] = keep(spec, from->keys[i], status);
    }
}

/* Checks counts and references. */
static enum vq_status check(const struct vq_spec *from, struct vq_error *err)
{
    if (from->judges_count == 0 || from->judges_count > VQ_WORK_JUDGES_MAX ||
        from->axes_count == 0) { /* the decoder bounds their number */
        return vq_fail(err, VQ_LIMIT,
                       "SPEC: %u judges and %u vibes; 1 to %u and 1 to %u can be used",
                       from->judges_count, from->axes_count, VQ_WORK_JUDGES_MAX, VQ_WIRE_AXES_MAX);
    }
    for (uint32_t i = 0; i < from->judges_count; i++) {
        const struct vq_spec_judge *judge = &from->judges[i];
        bool good = judge->pools_count > 0;
        for (uint32_t p = 0; p < judge->pools_count; p++) {
            good = good && judge->pools[p] < from->pools_count;
        }
        if (!good) {
            return vq_fail(err, VQ_INVALID, "SPEC: judge %u has no pool, or one that is not listed",
                           i);
        }
    }
    return VQ_OK;
}

static enum vq_status fill_lists(struct vq_work_spec *spec, const struct vq_spec *from,
                                 struct vq_error *err)
{
    VQ_TRY(VQ_ALLOC(spec->judges, from->judges_count));
    VQ_TRY(VQ_ALLOC(spec->pools, from->pools_count));
    VQ_TRY(VQ_ALLOC(spec->axes, from->axes_count));
    spec->axes_count = from->axes_count;
    spec->judges_count = from->judges_count;
    spec->pools_count = from->pools_count;
    enum vq_status status = VQ_OK;
    for (uint32_t i = 0; i < from->axes_count; i++) {
        spec->axes[i] = (struct vq_axis){.name = keep(spec, from->axes[i].name, &status),
                                         .low = keep(spec, from->axes[i].low, &status),
                                         .high = keep(spec, from->axes[i].high, &status)};
    }
    for (uint32_t i = 0; i < from->pools_count; i++) {
        fill_pool(spec, &from->pools[i], &spec->pools[i], &status);
    }
    for (uint32_t i = 0; i < from->judges_count; i++) {
        fill_judge(spec, &from->judges[i], from->truncate, &spec->judges[i], &status);
    }
    if (status == VQ_INVALID) {
        return vq_fail(err, VQ_INVALID, "SPEC: a name or text contains a NUL byte");
    }
    return status;
}

static enum vq_status fill(struct vq_work_spec *spec, const struct vq_spec *from,
                           struct vq_error *err)
{
    VQ_TRY(check(from, err));
    static const enum vq_template_kind asked[VQ_STAGE__COUNT] = {
        [VQ_STAGE_RANK] = VQ_TEMPLATE_JUDGE,        [VQ_STAGE_PREFER] = VQ_TEMPLATE_PREFERENCE,
        [VQ_STAGE_TEXT] = VQ_TEMPLATE_AS_IS,        [VQ_STAGE_EMBED] = VQ_TEMPLATE_AS_IS,
        [VQ_STAGE_LIKERT] = VQ_TEMPLATE_LIKERT,     [VQ_STAGE_BINARY] = VQ_TEMPLATE_BINARY,
        [VQ_STAGE_PAIRWISE] = VQ_TEMPLATE_PAIRWISE, [VQ_STAGE_CHAT] = VQ_TEMPLATE_AS_IS,
        [VQ_STAGE_PROBE] = VQ_TEMPLATE_AS_IS,
    };
    VQ_ASSERT(from->kind < VQ_STAGE__COUNT); /* the decoder bounds it */
    spec->kind = (enum vq_stage_kind)from->kind;
    spec->stage = from->stage;
    VQ_TRY(vq_template_parse(asked[spec->kind], from->judge_template, "judge template of the run",
                             &spec->ranker, err));
    if (from->repair_template.bytes > 0) {
        VQ_TRY(vq_template_parse(VQ_TEMPLATE_REPAIR, from->repair_template,
                                 "repair template of the run", &spec->repair, err));
    }
    spec->truncate = from->truncate;
    spec->lazy_swap = from->lazy_swap;
    spec->prefix_cache = (enum vq_prefix_cache)from->prefix_cache;
    spec->context_strict = from->context_strict;
    VQ_TRY(fill_lists(spec, from, err));
    for (uint32_t i = 0; i < spec->judges_count; i++) {
        vq_asker_init(&spec->judges[i].asker, &spec->judges[i].judge, spec->ranker, spec->repair);
    }
    return VQ_OK;
}

enum vq_status vq_work_spec_create(struct vq_span body, const struct vq_hash *hash,
                                   struct vq_work_spec **ret_spec, struct vq_error *err)
{
    struct vq_decoder *decoder = NULL;
    struct vq_spec wire;
    struct vq_work_spec *spec = vq_alloc(1, sizeof(*spec));
    enum vq_status status = spec == NULL ? VQ_NOMEM : vq_decoder_create(&decoder);
    if (status == VQ_OK) {
        status = vq_spec_decode(decoder, body, &wire, err);
    }
    if (status == VQ_OK) {
        spec->hash = *hash;
        status = fill(spec, &wire, err);
    }
    vq_decoder_destroy(&decoder);
    if (status != VQ_OK) {
        vq_work_spec_destroy(&spec);
        return status;
    }
    *ret_spec = spec;
    return VQ_OK;
}

void vq_work_spec_destroy(struct vq_work_spec **spec)
{
    if (*spec == NULL) {
        return;
    }
    vq_template_destroy(&(*spec)->ranker);
    vq_template_destroy(&(*spec)->repair);
    for (size_t i = 0; i < (*spec)->strings_count; i++) {
        vq_free((*spec)->strings[i]);
    }
    vq_free((*spec)->strings);
    vq_free((*spec)->axes);
    vq_free((*spec)->pools);
    for (uint32_t i = 0; i < (*spec)->judges_count; i++) {
        vq_free((*spec)->judges[i].pools);
    }
    vq_free((*spec)->judges);
    vq_free(*spec);
    *spec = NULL;
}
