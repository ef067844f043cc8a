/* The plan of a persona evaluation: the dialogues, the checkpoints after whose rounds questions are
 * asked, these questions, the ratings and their references; and the number of calls. It contains
 * numbers only, no texts. Pure. Source: the evaluation of Luz de Araujo et al. 2025 (arXiv
 * 2512.12775). */
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
#define VQ_PERSONA_ROWS_MAX        (1u << 28) /* of one of the lists below */
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

/* The reference that an answer is compared with. */
enum vq_persona_reference {
    VQ_PERSONA_DATASET,  /* the reference text of the item */
    VQ_PERSONA_ZERO,     /* the answer of the same persona before the dialogue */
    VQ_PERSONA_PREVIOUS, /* the answer of the same persona at the checkpoint before */
    VQ_PERSONA_REFERENCES
};
const char *vq_persona_reference_name(enum vq_persona_reference reference);

/* A list of queries that a dialogue goes through. */
struct vq_persona_script {
    enum vq_persona_kind kind;
    uint32_t questions;    /* number of questions, without the remarks */
    bool opening, closing; /* remarks: first and last in every order */
};

struct vq_persona_item {
    uint32_t persona; /* the persona of the item, or VQ_PERSONA_ALL */
    /* Number of the question that the baseline gets instead, 0 to questions - 1; items of several
     * personas may share one. Unused with VQ_PERSONA_ALL: then the baseline gets the item itself */
    uint32_t question;
};

enum vq_persona_positions {
    VQ_PERSONA_BOTH, /* two calls; if their verdicts disagree, the comparison is a tie */
    /* one call; for a persona's items 0, 2, 4 ... the reference is shown first */
    VQ_PERSONA_ALTERNATE
};

struct vq_persona_set {
    const struct vq_persona_item *items; /* borrowed */
    uint32_t items_count;
    uint32_t questions; /* number of distinct questions among the items that belong to a persona */
    bool rated;         /* a rubric judge rates the answers; else they are only collected */
    enum vq_rating_kind rating;
    bool references[VQ_PERSONA_REFERENCES]; /* of a pairwise set: which references it uses */
    enum vq_persona_positions positions;
};

struct vq_persona_design {
    uint32_t models;
    uint32_t personas; /* number of personas without the baseline */
    bool baseline;     /* one more asker after the personas, which has no persona */
    uint32_t scripts_count;
    struct vq_persona_script scripts[VQ_PERSONA_KINDS]; /* of different kinds */
    bool shuffled;        /* each dialogue also takes place in shuffled order */
    uint32_t rounds;      /* of a dialogue: number of queries that every script gives */
    uint32_t checkpoints; /* number of checkpoints; 0: no questions after dialogues */
    uint32_t criteria;    /* number of criteria that rate every turn */
    uint32_t sets_count;
    const struct vq_persona_set *sets; /* borrowed */
    uint64_t seed;                     /* seed of the shuffles */
};

/* ---- lists that follow from the design ---- */

/* A dialogue. Dialogues have dense numbers: model, then persona, kind, order; the last one varies
 * fastest. `persona` is design.personas for the baseline; `script` is an index of
 * design.scripts. */
struct vq_persona_chain {
    uint32_t model, persona, script;
    enum vq_persona_order order;
};

/* The beginning of a dialogue in original order, 2 x `rounds` messages. Numbers are in the order:
 * model, persona, script, checkpoint. */
struct vq_persona_prefix {
    uint32_t model, persona, script, checkpoint;
    uint32_t rounds;
    uint32_t chain;
    /* the first prefix with the same messages: at 0 rounds that of the first script; else itself */
    uint32_t twin;
};

struct vq_persona_plan {
    struct vq_arena arena;           /* owns the lists */
    struct vq_persona_design design; /* the arrays in it are borrowed */
    uint32_t askers;                 /* number of personas, plus 1 with a baseline */
    uint32_t orders;
    uint32_t chains_count, prefixes_count;
    struct vq_persona_chain *chains;
    struct vq_persona_prefix *prefixes;
    uint32_t *checkpoints; /* rounds before each: floor(i R / (c - 1)) */
    /* The query of each turn: [(script x orders + order) x rounds + turn]. An opening remark is
     * query 0, the questions follow, a closing remark is the last */
    uint32_t *queries;
};

/* VQ_OK, VQ_INVALID (the message names the values that do not fit together), VQ_LIMIT, VQ_NOMEM.
 * The caller destroys *ret_plan. */
enum vq_status vq_persona_plan_make(const struct vq_persona_design *design,
                                    struct vq_persona_plan **ret_plan,
                                    struct vq_error *err) VQ_WARN_UNUSED;
void vq_persona_plan_destroy(struct vq_persona_plan **plan);

uint32_t vq_persona_chain_of(const struct vq_persona_plan *plan, uint32_t model, uint32_t persona,
                             uint32_t script, enum vq_persona_order order);
uint32_t vq_persona_prefix_of(const struct vq_persona_plan *plan, uint32_t model, uint32_t persona,
                              uint32_t script, uint32_t checkpoint);
bool vq_persona_is_baseline(const struct vq_persona_plan *plan, uint32_t persona);

/* The number of questions after a prefix: a column per item, then a column per question of the
 * baseline. */
uint32_t vq_persona_columns(const struct vq_persona_set *set);
/* The column with the answer of a persona, or of the baseline, to an item. */
uint32_t vq_persona_column(const struct vq_persona_set *set, uint32_t item, bool baseline);
bool vq_persona_asks(const struct vq_persona_plan *plan, const struct vq_persona_set *set,
                     uint32_t prefix, uint32_t column);

/* ---- lists of ratings ---- */

/* A turn, rated by all criteria. `as` is the persona whose description the judge sees. A persona's
 * turn is rated as its own; a baseline's turn is rated once as each persona. */
struct vq_persona_turn {
    uint32_t chain, as, turn;
};

/* The caller frees *ret_turns (vq_free). VQ_OK, VQ_LIMIT, VQ_NOMEM. */
enum vq_status vq_persona_turns(const struct vq_persona_plan *plan,
                                struct vq_persona_turn **ret_turns,
                                size_t *ret_count) VQ_WARN_UNUSED;

/* The answer to an item after a prefix; of a pairwise set, compared with a reference. */
struct vq_persona_answer {
    uint32_t prefix, item;
    /* of a pairwise set: the persona that the judge sees; else the asker's own persona,
     * VQ_PERSONA_NONE for the baseline */
    uint32_t as;
    /* references zero and previous: the prefix whose answer to the same item is the reference; else
     * NONE */
    uint32_t other;
    /* Pairwise: ORDER_0 shows the reference first, ORDER_1 the answer; ASKED is both. Else ASKED */
    enum vq_cell_asks orders;
};

/* The answers of a set that are rated, sorted by prefix, item, as. If the set is not pairwise,
 * `reference` has no effect; with references zero and previous there is no row at checkpoint 0. The
 * caller frees *ret_rows (vq_free). VQ_OK, VQ_LIMIT, VQ_NOMEM. */
enum vq_status vq_persona_answers(const struct vq_persona_plan *plan,
                                  const struct vq_persona_set *set,
                                  enum vq_persona_reference reference,
                                  struct vq_persona_answer **ret_rows,
                                  size_t *ret_count) VQ_WARN_UNUSED;

/* ---- numbers of calls ---- */

struct vq_persona_calls {
    uint64_t planned;
    /* of `planned`, the calls that the store answers, because another call has the same request */
    uint64_t shared;
};

struct vq_persona_set_calls {
    struct vq_persona_calls asked;
    struct vq_persona_calls rated[VQ_PERSONA_REFERENCES]; /* not pairwise: only the first entry */
};

/* Planned calls, for one judge, without retries. These calls are shared: the turns before the two
 * orders of a dialogue differ; the questions at checkpoint 0 after dialogues of the second kind; at
 * checkpoint 1, `previous` if `zero` is also used. */
struct vq_persona_counts {
    uint32_t chains, depth; /* number of dialogues, turns of each */
    struct vq_persona_calls turns, turns_rated;
    struct vq_persona_set_calls sets[VQ_PERSONA_SETS_MAX];
    struct vq_persona_calls generated, rated; /* sums */
};
void vq_persona_count(const struct vq_persona_plan *plan, struct vq_persona_counts *ret_counts);
