/* What a run asks, as the shell and replay see it: something that names stages one after the other
 * and takes their answers. The VibeCheck method is one (method.h); smaller ones ask a stage or two
 * about a run that is over. Functions as in method.h; a script that never asks a kind of stage
 * leaves its function NULL. */
#pragma once

#include "common/judge/chain.h"
#include "methods/stage.h"

struct vq_script_ops {
    enum vq_status (*next)(void *ctx, const struct vq_stage **ret_stage, struct vq_error *err);
    enum vq_status (*take_outcomes)(void *ctx, const uint8_t *outcomes, size_t count,
                                    struct vq_error *err);
    enum vq_status (*take_texts)(void *ctx, const struct vq_span *texts, size_t count,
                                 struct vq_error *err);
    enum vq_status (*take_vectors)(void *ctx, const float *vectors, size_t count, uint32_t dims,
                                   struct vq_error *err);
    uint32_t (*notes)(const void *ctx, const char *const **ret_notes);
    /* CHAT, before take_texts and in the same order: what the turns took. NULL: it is not asked
     * for. */
    enum vq_status (*take_tokens)(void *ctx, const struct vq_turn_tokens *tokens, size_t count,
                                  struct vq_error *err);
    /* TEXT, before take_texts and in the same order: how the answers ended (enum vq_ending). NULL:
     * it is not asked for. */
    enum vq_status (*take_endings)(void *ctx, const uint8_t *endings, size_t count,
                                   struct vq_error *err);
    /* RANK that wants them (vq_stage.margins), before take_outcomes and in the same order: how much
     * more probable the label of each vote is than the next one; NaN where that is not known. */
    enum vq_status (*take_margins)(void *ctx, const float *margins, size_t count,
                                   struct vq_error *err);
    /* Optional: lends a reader for the next call of `next`, and takes it back (NULL). A caller that
     * lends one must lend it every time; then rated stored answers are read when they are needed,
     * and not kept (vq_stage.remake) */
    void (*read_by)(void *ctx, const struct vq_reader *reader);
};

struct vq_script {
    const struct vq_script_ops *ops;
    void *ctx; /* borrowed */
};
