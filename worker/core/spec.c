/* A SPEC's body as the worker keeps it.
 *
 * The decoder's memory is borrowed for one call only, so every string is copied; `strings` owns them all. Templates are
 * parsed here, so that one that cannot be used is refused before a call depends on it. It does not look up keys, and does
 * not know dialects: the shell refuses what it cannot speak. */
#include "worker/core/spec.h"

#include "common/base/alloc.h"
#include "worker/core/limits.h"

#define AXES_MAX    65536u
#define STRINGS_MAX (8u * VQ_WORK_JUDGES_MAX + 3u * AXES_MAX)

/* Copies a string; on failure the status sticks and "" is returned. A NUL inside would cut what is hashed: refused. */
static const char *keep(struct vq_work_spec *spec, struct vq_span text, enum vq_status *status)
{
    if (*status != VQ_OK) {
        return "";
    }
    if (text.bytes > 0 && memchr(text.at, '\0', text.bytes) != NULL) {
        *status = VQ_INVALID;
        return "";
    }
    void *strings = spec->strings;
    *status =
        vq_grow(&strings, &spec->strings_cap, spec->strings_count + 1, sizeof(char *), STRINGS_MAX);
    if (*status != VQ_OK) {
        return "";
    }
    spec->strings = strings;
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
                                  .truncate = truncate};
    to->base_url = keep(spec, from->base_url, status);
    to->key = keep(spec, from->key, status);
    to->tries_max = from->tries_max == 0 ? VQ_WORK_TRIES_DEFAULT : from->tries_max;
    to->connect_timeout_ms = from->connect_timeout_ms;
    to->first_byte_timeout_ms = from->first_byte_timeout_ms;
    to->total_timeout_ms = from->total_timeout_ms;
}

static enum vq_status fill(struct vq_work_spec *spec, const struct vq_spec *from,
                           struct vq_error *err)
{
    if (from->judges_count == 0 || from->judges_count > VQ_WORK_JUDGES_MAX ||
        from->axes_count == 0 || from->axes_count > AXES_MAX) {
        return vq_fail(err, VQ_LIMIT,
                       "SPEC: %u judges and %u vibes; 1 to %u and 1 to %u can be used",
                       from->judges_count, from->axes_count, VQ_WORK_JUDGES_MAX, AXES_MAX);
    }
    static const enum vq_template_kind asked[VQ_STAGE__COUNT] = {
        [VQ_STAGE_RANK] = VQ_TEMPLATE_JUDGE,
        [VQ_STAGE_PREFER] = VQ_TEMPLATE_PREFERENCE,
        [VQ_STAGE_TEXT] = VQ_TEMPLATE_AS_IS,
        [VQ_STAGE_EMBED] = VQ_TEMPLATE_AS_IS,
    };
    VQ_ASSERT(from->kind < VQ_STAGE__COUNT); /* the decoder's bound */
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
    spec->judges = vq_alloc(from->judges_count, sizeof(*spec->judges));
    spec->axes = vq_alloc(from->axes_count, sizeof(*spec->axes));
    if (spec->judges == NULL || spec->axes == NULL) {
        return VQ_NOMEM;
    }
    enum vq_status status = VQ_OK;
    for (uint32_t i = 0; i < from->axes_count; i++) {
        spec->axes[i] = (struct vq_axis){.name = keep(spec, from->axes[i].name, &status),
                                         .low = keep(spec, from->axes[i].low, &status),
                                         .high = keep(spec, from->axes[i].high, &status)};
    }
    for (uint32_t i = 0; i < from->judges_count; i++) {
        fill_judge(spec, &from->judges[i], from->truncate, &spec->judges[i], &status);
    }
    if (status == VQ_INVALID) {
        return vq_fail(err, VQ_INVALID, "SPEC: a name or text contains a NUL byte");
    }
    VQ_TRY(status);
    spec->axes_count = from->axes_count;
    spec->judges_count = from->judges_count;
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
    vq_free((*spec)->judges);
    vq_free(*spec);
    *spec = NULL;
}
