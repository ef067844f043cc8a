/* Private to the persona's script: its state, and the sources that use it.
 *
 *   persona.c  creates the state, walks from step to step, answers queries about it
 *   talks.c    dialogues, and the questions after their beginnings: makes stages, takes texts
 *   rates.c    ratings: makes stages, takes outcomes */
#pragma once

#include "common/base/arena.h"
#include "common/judge/chain.h"
#include "common/text/intern.h"
#include "methods/persona/persona.h"

#define VQ_PERSONA_QUEUE_MAX 16u

/* A stage in the queue; the first one is being asked. */
struct vq_persona_pending {
    struct vq_stage stage;
    uint32_t part;        /* number of the part of the ratings; else NONE */
    const uint32_t *from; /* PROBE: the prefix of each item */
    uint32_t column;      /* PROBE: the column of its first question */
    /* Ratings of stored answers: the row of each item, from which the item is made again */
    const struct vq_persona_answer *rows;
    const uint32_t *row_of;
    uint32_t set;
};

struct vq_persona_ref { /* the place of an answer: a stage, and a text in it */
    uint32_t stage;     /* NONE: there is no answer */
    uint32_t cell;
};

struct vq_persona_part {
    struct vq_stage stage; /* without items */
    uint8_t *outcomes;     /* NULL: not answered yet */
};

struct vq_persona {
    struct vq_persona_input in;
    struct vq_arena keep;     /* memory that lives as long as this */
    struct vq_arena of_set;   /* answers to the current data set */
    struct vq_arena of_stage; /* items of the stages in the queue */
    struct vq_intern prompts; /* texts in of_stage that several items share */
    uint32_t step;            /* the next step to be planned; see persona.c */
    /* within the step: the first column, or reference, that is not planned */
    uint32_t piece;
    uint32_t stages; /* stages named so far */
    struct vq_persona_pending queue[VQ_PERSONA_QUEUE_MAX];
    uint32_t first, queued; /* queue[first .. queued) waits */
    /* Of dialogues, [chain * rounds + turn] */
    struct vq_span *queries, *answers;
    struct vq_span *systems;       /* [model * askers + persona] */
    uint32_t *turns;               /* [chain]: number of answered turns */
    uint8_t *why;                  /* [chain]: the enum vq_outcome that ended it early */
    struct vq_turn_tokens *tokens; /* of dialogues, [chain * rounds + turn]; 0: not known */
    /* Of the current data set: [prefix * columns + column]. `said` has the answers, without .at
     * where there is none. If there is a store to read answers from, `refs` has their places
     * instead */
    struct vq_span *said;
    struct vq_persona_ref *refs;
    bool from_store;
    const struct vq_reader *reader; /* lent during a call of `next` */
    uint32_t columns, pieces;       /* number of all columns; number of pieces planned so far */
    struct vq_persona_part *parts;
    uint32_t parts_count;
    size_t parts_cap;
    struct vq_persona_rated *rated;
    struct vq_persona_place *places;
    size_t rated_count, rated_cap, places_cap;
};

/* Adds a stage at the end of the queue; numbers and copies it. */
struct vq_persona_pending *vq_persona_enqueue(struct vq_persona *p, const struct vq_stage *stage);
/* For every item, whether an earlier item has the same id and group. Items that are not asked
 * (`asked` 0) are equal to no other item. */
enum vq_status vq_persona_twins(struct vq_persona *p, const struct vq_sample_id *ids,
                                const uint32_t *groups, const uint8_t *asked, uint32_t count,
                                uint8_t *ret_twin) VQ_WARN_UNUSED;

/* talks.c: plans stages, and takes texts. */
enum vq_status vq_persona_lay_chat(struct vq_persona *p) VQ_WARN_UNUSED;
/* Plans the piece from column p->piece on, and advances p->piece. When it reaches the number of
 * columns, the step is done. */
enum vq_status vq_persona_lay_probe(struct vq_persona *p, uint32_t set) VQ_WARN_UNUSED;
void vq_persona_hear_tokens(struct vq_persona *p, const struct vq_turn_tokens *tokens);
enum vq_status vq_persona_hear_chat(struct vq_persona *p,
                                    const struct vq_span *texts) VQ_WARN_UNUSED;
enum vq_status vq_persona_hear_probe(struct vq_persona *p, const struct vq_persona_pending *pending,
                                     const struct vq_span *texts) VQ_WARN_UNUSED;

/* The name of a piece's stage. */
void vq_persona_piece_name(const char *set, uint32_t piece, char ret_name[VQ_FORECAST_NAME_BYTES]);

/* rates.c. */
enum vq_status vq_persona_lay_turns(struct vq_persona *p) VQ_WARN_UNUSED;
/* Plans the ratings against reference p->piece, and advances p->piece up to
 * VQ_PERSONA_REFERENCES. */
enum vq_status vq_persona_lay_answers(struct vq_persona *p, uint32_t set) VQ_WARN_UNUSED;
