/* The kinds of stages. A run is a sequence of stages; what an answer of one is decides how it is
 * asked and read. The numbers go over the wire (SPEC) and mean the same in every process. */
#pragma once

#include <stdbool.h>

#define VQ_ANSWER_FIELD_BYTES_MAX 63u /* a judge's answer_field */

enum vq_stage_kind {
    VQ_STAGE_RANK = 0, /* sample x judge x vibe x order: a verdict (judge.txt) */
    /* sample x judge x order: a verdict on the whole output (preference.txt) */
    VQ_STAGE_PREFER = 1,
    VQ_STAGE_TEXT = 2,  /* a prompt: any text */
    VQ_STAGE_EMBED = 3, /* a batch of texts: a vector each */
    /* A rubric judge's (likert.txt, binary.txt, pairwise.txt); a criterion stands where a vibe
     * does, its rubric as the low end. */
    VQ_STAGE_LIKERT = 4,   /* item x judge x criterion: 1 to 5 */
    VQ_STAGE_BINARY = 5,   /* item x judge x criterion: yes or no */
    VQ_STAGE_PAIRWISE = 6, /* item x judge x criterion x order: which response is better */
    /* Dialogues (common/judge/chain.h); docs/develop/chains.md. */
    /* chain x model x turn: any text, asked behind the turns before it; a shard is a chain */
    VQ_STAGE_CHAT = 7,
    VQ_STAGE_PROBE = 8, /* prefix x model x question: any text, asked behind the prefix */
    VQ_STAGE__COUNT
};

/* A rating by a rubric. */
static inline bool vq_stage_rates(enum vq_stage_kind kind)
{
    return kind == VQ_STAGE_LIKERT || kind == VQ_STAGE_BINARY || kind == VQ_STAGE_PAIRWISE;
}

/* Its samples are outputs that are looked at, not texts of the method's own making. */
static inline bool vq_stage_shows_outputs(enum vq_stage_kind kind)
{
    return kind == VQ_STAGE_RANK || kind == VQ_STAGE_PREFER || vq_stage_rates(kind);
}

/* Several vibes, criteria or questions are asked of one sample, whose prompts begin alike. */
static inline bool vq_stage_has_axes(enum vq_stage_kind kind)
{
    return kind == VQ_STAGE_RANK || kind == VQ_STAGE_PROBE || vq_stage_rates(kind);
}

/* What a task asks depends on the answers before it in its shard. */
static inline bool vq_stage_chains(enum vq_stage_kind kind)
{
    return kind == VQ_STAGE_CHAT;
}

/* A sample is a system part and packed texts of a dialogue. */
static inline bool vq_stage_talks(enum vq_stage_kind kind)
{
    return kind == VQ_STAGE_CHAT || kind == VQ_STAGE_PROBE;
}

/* Whether calls whose prompts begin alike go to one pool, the first one ahead of the others. The
 * numbers go over the wire. */
enum vq_prefix_cache {
    VQ_PREFIX_OFF = 0,
    VQ_PREFIX_AUTO = 1, /* where the common front is long enough for providers to cache it */
    VQ_PREFIX_ON = 2
};

/* As what the system part of a prompt is sent. The numbers go over the wire. */
enum vq_system_role {
    VQ_SYSTEM_ROLE_SYSTEM = 0,
    VQ_SYSTEM_ROLE_DEVELOPER = 1, /* where a dialect knows the difference */
    VQ_SYSTEM_ROLE_NONE = 2       /* as no message of its own: it begins the user's first one */
};

/* Which orders of a cell a stage asks; one byte a cell. */
enum vq_cell_asks {
    VQ_CELL_UNASKED = 0,
    VQ_CELL_ASKED = 1,   /* those that the stage asks */
    VQ_CELL_ORDER_0 = 2, /* this one alone */
    VQ_CELL_ORDER_1 = 3,
};

/* Stages of a run are numbered from 0. Later questions about a finished run have numbers from here
 * on, and separate accounting. */
#define VQ_STAGE_BESIDE 0x80000000u
