/* The VibeCheck method as a script: each function calls the method's function of the same name. */
#include "methods/script.h"
#include "methods/vibecheck/method.h"

static enum vq_status next(void *ctx, const struct vq_stage **ret_stage, struct vq_error *err)
{
    return vq_vibecheck_method_next(ctx, ret_stage, err);
}

static enum vq_status take_outcomes(void *ctx, const uint8_t *outcomes, size_t count,
                                    struct vq_error *err)
{
    return vq_vibecheck_method_take_outcomes(ctx, outcomes, count, err);
}

static enum vq_status take_margins(void *ctx, const float *margins, size_t count,
                                   struct vq_error *err)
{
    return vq_vibecheck_method_take_margins(ctx, margins, count, err);
}

static enum vq_status take_texts(void *ctx, const struct vq_span *texts, size_t count,
                                 struct vq_error *err)
{
    return vq_vibecheck_method_take_texts(ctx, texts, count, err);
}

static enum vq_status take_endings(void *ctx, const uint8_t *endings, size_t count,
                                   struct vq_error *err)
{
    return vq_vibecheck_method_take_endings(ctx, endings, count, err);
}

static enum vq_status take_vectors(void *ctx, const float *vectors, size_t count, uint32_t dims,
                                   struct vq_error *err)
{
    return vq_vibecheck_method_take_vectors(ctx, vectors, count, dims, err);
}

static uint32_t notes(const void *ctx, const char *const **ret_notes)
{
    return vq_vibecheck_method_notes(ctx, ret_notes);
}

struct vq_script vq_vibecheck_script(struct vq_vibecheck_method *method)
{
    static const struct vq_script_ops ops = {.next = next,
                                             .take_outcomes = take_outcomes,
                                             .take_margins = take_margins,
                                             .take_texts = take_texts,
                                             .take_vectors = take_vectors,
                                             .take_endings = take_endings,
                                             .notes = notes};
    return (struct vq_script){&ops, method};
}
