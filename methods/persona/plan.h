/* The plan of a persona evaluation: the dialogues, the checkpoints at which their beginnings are
 * kept, the questions after such a beginning, the ratings and their references; and the number of
 * calls. It works on numbers only: the pipeline has the texts. Pure. Source: the evaluation of Luz
 * de Araujo et al. 2025 (arXiv 2512.12775). */
#pragma once

#include "common/base/arena.h"
#include "common/judge/rating.h"
#include "common/judge/stage.h"

#define VQ_PERSONA_MODELS_MAX      64u
#define VQ_PERSONA_PERSONAS_MAX    256u
#define VQ_PERSONA_ROUNDS_MAX      1000u
#define VQ_PERSONA_CHECKPOINTS_MAX 101u
#define VQ_PERSONA_SETS_MAX        32u
#define VQ_PERSONA_ITEMS_MAX       100000u    /* of a data set */
#define VQ_PERSONA_ROWS_MAX        (1u << 28) /* of one list below */
#define VQ_PERSONA_ALL             UINT32_MAX /* an item for every persona */
#define VQ_PERSONA_NONE            UINT32_MAX

enum vq_persona_kind {
    VQ_PERSONA_DIRECTED, /* an interview of the persona */
    VQ_PERSONA_GOAL,     /* requests that any user could have */
    VQ_PERSONA_KINDS
};
const char *vq_persona_kind_name(enum vq_persona_kind kind); /* "directed", "goal" */

enum vq_persona_order {
    VQ_PERSONA_ORIGINAL,
    VQ_PERSONA_SHUFFLED,
    VQ_PERSONA_ORDERS
};

/* Against what an answer is compared. */
enum vq_persona_reference {
    VQ_PERSONA_DATASET,  /* what the data set gives */
    VQ_PERSONA_ZERO,     /* the same asker's own answer before the dialogue */
    VQ_PERSONA_PREVIOUS, /* its answer at the checkpoint before */
    VQ_PERSONA_REFERENCES
};
const char *vq_persona_reference_name(enum vq_persona_reference reference);

/* One list of queries as a dialogue goes through it. */
struct vq_persona_script {
    enum vq_persona_kind kind;
    uint32_t questions;    /* without the remarks */
    bool opening, closing; /* remarks: first and last in every order */
};

struct vq_persona_item {
    uint32_t persona; /* the persona of the item, or VQ_PERSONA_ALL */
    /* The question that the baseline gets instead, 0 to questions - 1; items of several personas
     * may share one. Unused with VQ_PERSONA_ALL: then the baseline gets the item itself */
    uint32_t question;
};

enum vq_persona_positions {
    VQ_PERSONA_BOTH, /* two calls; one that says the other is a tie */
    /* one call; the reference is shown first for a persona's items 0, 2, 4 ... */
    VQ_PERSONA_ALTERNATE
};

struct vq_persona_set {
    const struct vq_persona_item *items; /* borrowed */
    uint32_t items_count;
    uint32_t questions; /* distinct ones of the items that belong to a persona */
    bool rated;         /* by a rubric judge; else answers are only asked for */
    enum vq_rating_kind rating;
    bool references[VQ_PERSONA_REFERENCES]; /* of a pairwise one */
    enum vq_persona_positions positions;
};

struct vq_persona_design {
    uint32_t models;
    uint32_t personas; /* without the baseline */
    bool baseline;     /* a further one behind them, without a persona */
    uint32_t scripts_count;
    struct vq_persona_script scripts[VQ_PERSONA_KINDS]; /* of different kinds */
    bool shuffled;        /* each dialogue is held in shuffled order too */
    uint32_t rounds;      /* of a dialogue: what every script comes to */
    uint32_t checkpoints; /* 0: nothing is asked behind dialogues */
    uint32_t criteria;    /* by which every turn is rated */
    uint32_t sets_count;
    const struct vq_persona_set *sets; /* borrowed */
    uint64_t seed;                     /* of the shuffles */
};

/* ---- what follows from it ---- */

/* A dialogue. Numbered densely: model, then persona, kind, order, the last one fastest. `persona`
 * is design.personas for the baseline; `script` is an index of design.scripts. */
struct vq_persona_chain {
    uint32_t model, persona, script;
    enum vq_persona_order order;
};

/* The beginning of a dialogue in original order, 2 x `rounds` messages. Numbered: model, persona,
 * script, checkpoint. */
struct vq_persona_prefix {
    uint32_t model, persona, script, checkpoint;
    uint32_t rounds;
    uint32_t chain;
    /* the first one with the same messages: at 0 rounds that of the first script; else itself */
    uint32_t twin;
};

struct vq_persona_plan {
    struct vq_arena arena;           /* owns the lists */
    struct vq_persona_design design; /* with what it borrows */
    uint32_t askers;                 /* personas and the baseline */
    uint32_t orders;
    uint32_t chains_count, prefixes_count;
    struct vq_persona_chain *chains;
    struct vq_persona_prefix *prefixes;
    uint32_t *checkpoints; /* rounds before each: floor(i R / (c - 1)) */
    /* Which query is asked in a turn: [(script x orders + order) x rounds + turn]. With an opening
     * remark it is query 0, the questions follow, a closing remark is the last */
    uint32_t *queries;
};

/* VQ_OK, VQ_INVALID (what does not fit together: names it), VQ_LIMIT, VQ_NOMEM. The caller destroys
 * *ret_plan. */
enum vq_status vq_persona_plan_make(const struct vq_persona_design *design,
                                    struct vq_persona_plan **ret_plan,
                                    struct vq_error *err) VQ_WARN_UNUSED;
void vq_persona_plan_destroy(struct vq_persona_plan **plan);

uint32_t vq_persona_chain_of(const struct vq_persona_plan *plan, uint32_t model, uint32_t persona,
                             uint32_t script, enum vq_persona_order order);
uint32_t vq_persona_prefix_of(const struct vq_persona_plan *plan, uint32_t model, uint32_t persona,
                              uint32_t script, uint32_t checkpoint);
bool vq_persona_is_baseline(const struct vq_persona_plan *plan, uint32_t persona);

/* The questions after a prefix: a column per item, and then one for each question of the
 * baseline. */
uint32_t vq_persona_columns(const struct vq_persona_set *set);
/* The column with the answer of a persona, or of the baseline, to an item. */
uint32_t vq_persona_column(const struct vq_persona_set *set, uint32_t item, bool baseline);
bool vq_persona_asks(const struct vq_persona_plan *plan, const struct vq_persona_set *set,
                     uint32_t prefix, uint32_t column);

/* ---- what is rated ---- */

/* A turn, by all criteria. `as` is the persona whose description the judge sees: a persona's own; a
 * baseline's dialogue is rated as each of them in turn. */
struct vq_persona_turn {
    uint32_t chain, as, turn;
};

/* The caller frees *ret_turns (vq_free). VQ_OK, VQ_LIMIT, VQ_NOMEM. */
enum vq_status vq_persona_turns(const struct vq_persona_plan *plan,
                                struct vq_persona_turn **ret_turns,
                                size_t *ret_count) VQ_WARN_UNUSED;

/* The answer to an item behind a prefix, against a reference if it is a pairwise set. */
struct vq_persona_answer {
    uint32_t prefix, item;
    /* of a pairwise set: the persona it is judged as; else the asker's own, VQ_PERSONA_NONE for the
     * baseline */
    uint32_t as;
    /* references zero and previous: the prefix whose answer to the same item is the reference; else
     * NONE */
    uint32_t other;
    /* Pairwise: ORDER_0 shows the reference first, ORDER_1 the answer; ASKED is both. Else ASKED */
    enum vq_cell_asks orders;
};

/* By prefix, item, as. Of a set that is not pairwise the reference means nothing; against zero and
 * previous there is no row at checkpoint 0. The caller frees *ret_rows (vq_free). VQ_OK, VQ_LIMIT,
 * VQ_NOMEM. */
enum vq_status vq_persona_answers(const struct vq_persona_plan *plan,
                                  const struct vq_persona_set *set,
                                  enum vq_persona_reference reference,
                                  struct vq_persona_answer **ret_rows,
                                  size_t *ret_count) VQ_WARN_UNUSED;

/* ---- how much that is ---- */

struct vq_persona_calls {
    uint64_t planned;
    /* of them, those whose request is the same as another's, and which the store therefore
     * answers */
    uint64_t shared;
};

struct vq_persona_set_calls {
    struct vq_persona_calls asked;
    struct vq_persona_calls rated[VQ_PERSONA_REFERENCES]; /* not pairwise: the first one alone */
};

/* Planned calls, by one judge, without retries. Shared: the turns before two orders of a dialogue
 * differ; the questions at checkpoint 0 after dialogues of a second kind; at checkpoint 1,
 * `previous` where `zero` is asked too. */
struct vq_persona_counts {
    uint32_t chains, depth; /* dialogues, turns of each */
    struct vq_persona_calls turns, turns_rated;
    struct vq_persona_set_calls sets[VQ_PERSONA_SETS_MAX];
    struct vq_persona_calls generated, rated; /* sums */
};
void vq_persona_count(const struct vq_persona_plan *plan, struct vq_persona_counts *ret_counts);
