/* Private to the persona's script: its state, and who does what.
 *
 *   persona.c  created, walked from step to step, looked at
 *   talks.c    dialogues, and the questions after their beginnings: stages out, texts in
 *   rates.c    ratings: stages out, outcomes in */
#pragma once

#include "common/base/arena.h"
#include "common/judge/chain.h"
#include "common/text/intern.h"
#include "methods/persona/persona.h"

#define VQ_PERSONA_QUEUE_MAX 16u

/* A stage that waits to be asked, or is. */
struct vq_persona_pending {
    struct vq_stage stage;
    uint32_t part;        /* of ratings; else NONE */
    const uint32_t *from; /* PROBE: which prefix each item is */
    uint32_t column;      /* PROBE: which column its first question is */
    /* Ratings of stored answers: which row each item is, to make it again */
    const struct vq_persona_answer *rows;
    const uint32_t *row_of;
    uint32_t set;
};

struct vq_persona_ref { /* an answer: of which stage, and there which text */
    uint32_t stage;     /* NONE: there is no answer */
    uint32_t cell;
};

struct vq_persona_part {
    struct vq_stage stage; /* without items */
    uint8_t *outcomes;     /* NULL: not answered */
};

struct vq_persona {
    struct vq_persona_input in;
    struct vq_arena keep;     /* as long as this lives */
    struct vq_arena of_set;   /* answers of the data set that is at hand */
    struct vq_arena of_stage; /* items of the stages in the queue */
    struct vq_intern prompts; /* texts in of_stage that many of its items share */
    uint32_t step;            /* the next one to be laid out; see persona.c */
    uint32_t piece;           /* of that step: a set's first column, or reference, not laid out */
    uint32_t stages;          /* named so far */
    struct vq_persona_pending queue[VQ_PERSONA_QUEUE_MAX];
    uint32_t first, queued; /* queue[first .. queued) waits */
    /* Of dialogues, [chain * rounds + turn] */
    struct vq_span *queries, *answers;
    struct vq_span *systems;       /* [model * askers + persona] */
    uint32_t *turns;               /* [chain]: answered */
    uint8_t *why;                  /* [chain] */
    struct vq_turn_tokens *tokens; /* of dialogues, [chain * rounds + turn]; 0: not known */
    /* Of the data set at hand: [prefix * columns + column]. Either the answers, without .at where
     * there is none; or, where there is a store to read them from, where they are */
    struct vq_span *said;
    struct vq_persona_ref *refs;
    bool from_store;
    const struct vq_reader *reader; /* lent at the moment */
    uint32_t columns, pieces;       /* in all; laid out so far */
    struct vq_persona_part *parts;
    uint32_t parts_count;
    size_t parts_cap;
    struct vq_persona_rated *rated;
    struct vq_persona_place *places;
    size_t rated_count, rated_cap, places_cap;
};

/* A further stage behind the queue; numbered and copied. */
struct vq_persona_pending *vq_persona_enqueue(struct vq_persona *p, const struct vq_stage *stage);
/* Of every item whether one before it is the same; those that are not asked (`asked` 0) are like
 * none. */
enum vq_status vq_persona_twins(struct vq_persona *p, const struct vq_sample_id *ids,
                                const uint32_t *groups, const uint8_t *asked, uint32_t count,
                                uint8_t *ret_twin) VQ_WARN_UNUSED;

/* talks.c. Lays stages out; takes texts. */
enum vq_status vq_persona_lay_chat(struct vq_persona *p) VQ_WARN_UNUSED;
/* From column p->piece on, and moves that; at the number of columns all is laid out. */
enum vq_status vq_persona_lay_probe(struct vq_persona *p, uint32_t set) VQ_WARN_UNUSED;
void vq_persona_hear_tokens(struct vq_persona *p, const struct vq_turn_tokens *tokens);
enum vq_status vq_persona_hear_chat(struct vq_persona *p,
                                    const struct vq_span *texts) VQ_WARN_UNUSED;
enum vq_status vq_persona_hear_probe(struct vq_persona *p, const struct vq_persona_pending *pending,
                                     const struct vq_span *texts) VQ_WARN_UNUSED;

/* How the stage of a piece is called. */
void vq_persona_piece_name(const char *set, uint32_t piece, char ret_name[VQ_FORECAST_NAME_BYTES]);

/* rates.c. */
enum vq_status vq_persona_lay_turns(struct vq_persona *p) VQ_WARN_UNUSED;
/* Against reference p->piece, and moves that, up to VQ_PERSONA_REFERENCES. */
enum vq_status vq_persona_lay_answers(struct vq_persona *p, uint32_t set) VQ_WARN_UNUSED;
