/* One stage of a run, as a method names it and the coordinator asks it: who is asked, about what,
 * and which cells of the grid. Plain data; the method owns it. */
#pragma once

#include "common/judge/axes.h"
#include "common/judge/request.h"
#include "common/judge/stage.h"

/* Who is asked. */
enum vq_role {
    VQ_ROLE_JUDGE,
    VQ_ROLE_PREFERENCE_JUDGE,
    VQ_ROLE_PROPOSER,
    VQ_ROLE_REDUCER,
    VQ_ROLE_EMBEDDER,
    VQ_ROLE_SUBJECT, /* plays personas */
    VQ_ROLE__COUNT
};

/* TEXT: one prompt, rendered. `again` separates a prompt from an equal earlier one, so that the
 * store does not answer it. */
struct vq_stage_prompt {
    struct vq_span system, user;
    uint32_t again;
    struct vq_span image; /* as of a sample; empty: none */
};

/* Reads what a finished stage was answered, out of the store: its texts in the order in which they
 * were taken. NULL, no bytes: none. A text lives as long as the reader. */
struct vq_reader {
    enum vq_status (*text)(void *ctx, uint32_t stage, uint32_t cell, struct vq_span *ret_text,
                           struct vq_error *err);
    void *ctx;
};

struct vq_stage {
    uint32_t no;      /* 0, 1, 2 ... in the run */
    const char *name; /* "discover 1", "rank 2", "test": for status, log and accounting */
    enum vq_stage_kind kind;
    enum vq_role role;
    const uint32_t *rows; /* RANK, PREFER: which samples, ascending */
    uint32_t rows_count;
    /* RANK: vibes. LIKERT, BINARY, PAIRWISE: criteria, with the rubric as `low` */
    const struct vq_axis *axes;
    uint32_t axes_count;
    /* RANK: enum vq_cell_asks, [(row * judges + judge) * axes + axis]; what is not asked stays not
     * needed. NULL: all are asked */
    const uint8_t *cells;
    /* RANK: was asked before, and is again under a number of its own: in the order asked first
     * alone */
    bool again;
    const struct vq_stage_prompt *prompts; /* TEXT: each is asked of every model of the role */
    uint32_t prompts_count;
    uint32_t room;               /* TEXT: how often the output tokens are doubled */
    uint32_t proposer;           /* of that role: which of its models is asked, it alone */
    const struct vq_span *texts; /* EMBED; call i holds texts i * VQ_EMBED_BATCH_MAX and on */
    uint32_t texts_count;
    /* LIKERT, BINARY (b is empty), PAIRWISE; cells as of RANK, over items */
    const struct vq_sample *items;
    uint32_t items_count;
    /* Rating and PROBE stages: the identities of the items, where the items themselves are missing
     * because they were asked before. They live as long as the script. NULL: the items are there */
    const struct vq_sample_id *item_ids;
    /* Rating stages whose items' texts are in the store alone, and `item_ids` here: makes an item
     * again when a worker is to have it. What it points to lives as long as the reader and the
     * stage. NULL: the items are there, or were asked before */
    enum vq_status (*remake)(void *ctx, uint32_t item, const struct vq_reader *reader,
                             struct vq_sample *ret_item, struct vq_error *err);
    void *remake_ctx;
    /* CHAT: chains in `items`, PROBE: prefixes, with questions in `axes` (as `low`); of either a is
     * the system part, prompt what is packed (common/judge/chain.h). Answers come as texts, in grid
     * order: (item * models + model) * turns + turn */
    uint32_t turns; /* CHAT: of the longest chain */
    /* RANK: the script wants to know how sure each vote is (take_margins of script.h) */
    bool margins;
    uint32_t repeat;  /* which repeat of the same question this is: 0, 1, 2 ... */
    uint32_t retries; /* how often a question without a readable answer is asked again, unchanged */
};
