/* The kinds of stages. A run is a sequence of stages; the kind of a stage defines its tasks and how
 * its answers are read. The numbers are sent to workers (SPEC), so they never change. */
#pragma once

#include <stdbool.h>

#define VQ_ANSWER_FIELD_BYTES_MAX 63u /* a judge's answer_field */

enum vq_stage_kind {
    VQ_STAGE_RANK = 0, /* sample x judge x vibe x order: a verdict (judge.txt) */
    /* sample x judge x order: a verdict on the whole output (preference.txt) */
    VQ_STAGE_PREFER = 1,
    VQ_STAGE_TEXT = 2,  /* a prompt: any text */
    VQ_STAGE_EMBED = 3, /* a batch of texts: a vector each */
    /* Ratings by a rubric judge (likert.txt, binary.txt, pairwise.txt). A criterion takes the place
     * of a vibe, its rubric that of the low end. */
    VQ_STAGE_LIKERT = 4,   /* item x judge x criterion: 1 to 5 */
    VQ_STAGE_BINARY = 5,   /* item x judge x criterion: yes or no */
    VQ_STAGE_PAIRWISE = 6, /* item x judge x criterion x order: the better response */
    /* Dialogues (common/judge/chain.h); docs/develop/chains.md. */
    /* chain x model x turn: any text, asked after the earlier turns; a shard is a chain */
    VQ_STAGE_CHAT = 7,
    VQ_STAGE_PROBE = 8, /* prefix x model x question: any text, asked after the prefix */
    VQ_STAGE__COUNT
};

/* Whether the stage rates by a rubric. */
static inline bool vq_stage_rates(enum vq_stage_kind kind)
{
    return kind == VQ_STAGE_LIKERT || kind == VQ_STAGE_BINARY || kind == VQ_STAGE_PAIRWISE;
}

/* Whether its samples are outputs of the data, not texts that the method makes. */
static inline bool vq_stage_shows_outputs(enum vq_stage_kind kind)
{
    return kind == VQ_STAGE_RANK || kind == VQ_STAGE_PREFER || vq_stage_rates(kind);
}

/* Whether a sample has several vibes, criteria or questions, whose prompts begin alike. */
static inline bool vq_stage_has_axes(enum vq_stage_kind kind)
{
    return kind == VQ_STAGE_RANK || kind == VQ_STAGE_PROBE || vq_stage_rates(kind);
}

/* Whether the request of a task depends on the earlier answers in its shard. */
static inline bool vq_stage_chains(enum vq_stage_kind kind)
{
    return kind == VQ_STAGE_CHAT;
}

/* Whether a sample is a system part and packed texts of a dialogue. */
static inline bool vq_stage_talks(enum vq_stage_kind kind)
{
    return kind == VQ_STAGE_CHAT || kind == VQ_STAGE_PROBE;
}

/* Whether calls whose prompts begin alike go to one pool, the first call before the others. The
 * numbers are sent to workers. */
enum vq_prefix_cache {
    VQ_PREFIX_OFF = 0,
    VQ_PREFIX_AUTO = 1, /* if the common front is long enough for the providers' caches */
    VQ_PREFIX_ON = 2
};

/* The role in which the system part of a prompt is sent. The numbers are sent to workers. */
enum vq_system_role {
    VQ_SYSTEM_ROLE_SYSTEM = 0,
    VQ_SYSTEM_ROLE_DEVELOPER = 1, /* in dialects that have this role */
    VQ_SYSTEM_ROLE_NONE = 2       /* no separate message: it begins the first user message */
};

/* The orders of a cell that a stage asks; one byte per cell. */
enum vq_cell_asks {
    VQ_CELL_UNASKED = 0,
    VQ_CELL_ASKED = 1,   /* all orders of the stage */
    VQ_CELL_ORDER_0 = 2, /* only this order */
    VQ_CELL_ORDER_1 = 3,
};

/* Stages of a run are numbered from 0. Stages of later questions about a finished run have numbers
 * from here on, and separate accounting. */
#define VQ_STAGE_BESIDE 0x80000000u
