/* One stage of a run: its models, its questions, and the cells of its grid. A method makes it and
 * the coordinator asks its questions. Plain data; the method owns it. */
#pragma once

#include "common/judge/axes.h"
#include "common/judge/request.h"
#include "common/judge/stage.h"

/* The role of a model in a run. */
enum vq_role {
    VQ_ROLE_JUDGE,
    VQ_ROLE_PREFERENCE_JUDGE,
    VQ_ROLE_PROPOSER,
    VQ_ROLE_REDUCER,
    VQ_ROLE_EMBEDDER,
    VQ_ROLE_SUBJECT, /* plays personas */
    VQ_ROLE__COUNT
};

/* TEXT: one rendered prompt. `again` separates a prompt from an equal earlier one, so that the
 * store does not answer it. */
struct vq_stage_prompt {
    struct vq_span system, user;
    uint32_t again;
    struct vq_span image; /* as in struct vq_sample; empty: none */
};

/* Reads the answers of a finished stage from the store: its texts, in the order in which the script
 * took them. *ret_text is NULL with no bytes if there is no answer. A text lives as long as the
 * reader. */
struct vq_reader {
    enum vq_status (*text)(void *ctx, uint32_t stage, uint32_t cell, struct vq_span *ret_text,
                           struct vq_error *err);
    void *ctx;
};

struct vq_stage {
    uint32_t no;      /* number in the run: 0, 1, 2 ... */
    const char *name; /* "discover 1", "rank 2", "test": for status, log and accounting */
    enum vq_stage_kind kind;
    enum vq_role role;
    const uint32_t *rows; /* RANK, PREFER: numbers of samples, ascending */
    uint32_t rows_count;
    /* RANK: vibes. LIKERT, BINARY, PAIRWISE: criteria, with the rubric as `low` */
    const struct vq_axis *axes;
    uint32_t axes_count;
    /* RANK: enum vq_cell_asks at [(row * judges + judge) * axes + axis]. A cell that is not asked
     * is not needed. NULL: all cells are asked */
    const uint8_t *cells;
    /* RANK: an earlier stage asked these questions. They are asked again under new request numbers,
     * and only in the order that is asked first */
    bool again;
    const struct vq_stage_prompt *prompts; /* TEXT: each is asked of every model of the role */
    uint32_t prompts_count;
    uint32_t room;               /* TEXT: number of times that the output tokens are doubled */
    uint32_t proposer;           /* PROPOSER: number of the one proposer that this stage asks */
    const struct vq_span *texts; /* EMBED; call i holds the texts from i * VQ_EMBED_BATCH_MAX on */
    uint32_t texts_count;
    /* LIKERT, BINARY (b is empty), PAIRWISE: the rated items; `cells` are as for RANK, with items
     * in the place of rows */
    const struct vq_sample *items;
    uint32_t items_count;
    /* Rating and PROBE stages: the identities of the items, if the items themselves are missing
     * because an earlier stage asked them. They live as long as the script. NULL: `items` has the
     * items */
    const struct vq_sample_id *item_ids;
    /* Rating stages whose items' texts are only in the store, and whose identities are in
     * `item_ids`: makes an item again when a worker needs it. The texts of *ret_item live as long
     * as the reader and the stage. NULL: `items` has the items, or an earlier stage asked them */
    enum vq_status (*remake)(void *ctx, uint32_t item, const struct vq_reader *reader,
                             struct vq_sample *ret_item, struct vq_error *err);
    void *remake_ctx;
    /* CHAT: `items` are chains. PROBE: `items` are prefixes, and `axes` are questions (as `low`).
     * In both, `a` is the system part and `prompt` the packed texts (common/judge/chain.h). Answers
     * come as texts in grid order: (item * models + model) * turns + turn */
    uint32_t turns; /* CHAT: turns of the longest chain */
    /* RANK: the script needs the certainty of each vote (take_margins of script.h) */
    bool margins;
    uint32_t repeat;  /* number of this repeat of the same questions: 0, 1, 2 ... */
    uint32_t retries; /* how often a question without a readable answer is asked again, unchanged */
};
