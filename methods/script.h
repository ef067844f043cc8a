/* The interface between a run and its questions: a script names stages one after the other and
 * takes their answers. The coordinator's loop and the replay know a method only in this form. The
 * method VibeCheck is a script (methods/vibecheck/method.h, which explains the functions); smaller
 * scripts ask one or two further stages about a finished run. A function for a kind of stage that
 * the script never names is NULL. */
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
    /* CHAT, before take_texts and in the same order: the tokens of the turns. NULL: the script does
     * not need them. */
    enum vq_status (*take_tokens)(void *ctx, const struct vq_turn_tokens *tokens, size_t count,
                                  struct vq_error *err);
    /* TEXT, before take_texts and in the same order: how the answers ended (enum vq_ending). NULL:
     * the script does not need it. */
    enum vq_status (*take_endings)(void *ctx, const uint8_t *endings, size_t count,
                                   struct vq_error *err);
    /* RANK with vq_stage.margins, before take_outcomes and in the same order: how much more
     * probable the label of each vote is than the next label; NaN if that is not known. */
    enum vq_status (*take_margins)(void *ctx, const float *margins, size_t count,
                                   struct vq_error *err);
    /* Optional: lends a reader for the next call of `next`, and takes it back (NULL). A caller that
     * lends a reader once must lend it every time. The script then reads rated answers from the
     * store when it needs them, and holds no copy (vq_stage.remake). */
    void (*read_by)(void *ctx, const struct vq_reader *reader);
};

struct vq_script {
    const struct vq_script_ops *ops;
    void *ctx; /* borrowed */
};
