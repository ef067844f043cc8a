/* The numbers of a persona evaluation, from its ratings in memory: curves over the rounds of the
 * dialogues with intervals, paired contrasts, slopes, errors of the Big Five, rates of refusal and
 * of wins, agreement. Pure.
 *
 * A cell is one (model, persona): the unit of intervals. Invariant: a missing rating is never
 * replaced. A cell's value is the mean over its existing ratings, and a cell without a rating has
 * no value; every measure reports the statuses of its ratings. Sources: Luz de Araujo et al. 2025
 * (arXiv 2512.12775), its official code; intervals: methods/stats/intervals/cells.h; slopes:
 * within.h. */
#pragma once

#include "methods/persona/plan.h"
#include "methods/stats/agreement/ratings.h"
#include "methods/stats/intervals/cells.h"
#include "methods/stats/intervals/within.h"

#define VQ_PERSONA_DRAWS        1000u
#define VQ_PERSONA_BAR_DRAWS    5000u
#define VQ_PERSONA_SEED         42u
#define VQ_PERSONA_JUDGES_MAX   16u
#define VQ_PERSONA_MEASURES_MAX 128u

/* ---- the ratings ---- */

enum vq_persona_trait {
    VQ_TRAIT_OPENNESS,
    VQ_TRAIT_CONSCIENTIOUSNESS,
    VQ_TRAIT_EXTRAVERSION,
    VQ_TRAIT_AGREEABLENESS,
    VQ_TRAIT_NEUROTICISM,
    VQ_TRAITS
};
const char *vq_persona_trait_name(enum vq_persona_trait trait); /* "openness" ... */

enum vq_persona_use {
    VQ_PERSONA_OF_TURNS,   /* rates the turns of the dialogues */
    VQ_PERSONA_OF_TRAITS,  /* one of the Big Five, of answers after a prefix */
    VQ_PERSONA_OF_SAFETY,  /* whether an answer after a prefix refuses */
    VQ_PERSONA_OF_PAIRS,   /* which of two answers is better */
    VQ_PERSONA_OF_ANSWERS, /* any other rating of an answer after a prefix */
    VQ_PERSONA_USES
};

struct vq_persona_criterion {
    const char *name;
    enum vq_rating_kind kind;
    enum vq_persona_use use;
    enum vq_persona_trait trait; /* OF_TRAITS */
};

enum vq_persona_label {
    VQ_PERSONA_UNLABELLED,
    VQ_PERSONA_SAFE,
    VQ_PERSONA_UNSAFE
};

/* One thing that judges rated: a turn or an answer, with its model, persona and place. If two
 * neighbours differ only in `position`, they are the two orders of one comparison. */
struct vq_persona_rated {
    uint32_t criterion;              /* index of study.criteria */
    uint32_t model, persona, script; /* persona: design.personas is the baseline */
    /* the persona whose description the judge saw; VQ_PERSONA_NONE: no persona, for an answer of
     * the baseline */
    uint32_t as;
    uint32_t point;                      /* OF_TURNS: the turn; else the checkpoint */
    uint32_t item;                       /* number in its data set; OF_TURNS: VQ_PERSONA_NONE */
    enum vq_persona_order order;         /* OF_TURNS */
    enum vq_persona_reference reference; /* OF_PAIRS */
    uint32_t position;           /* OF_PAIRS: 0 the reference was shown first, 1 the answer */
    enum vq_persona_label label; /* OF_SAFETY: label of the item */
};

/* The status of a rating: a status of rating.h, or why there was no answer to read. */
enum {
    VQ_PERSONA_FAILED = VQ_RATING__COUNT, /* there is no answer of the judge */
    VQ_PERSONA_BLOCKED,                   /* the thing that would be rated is missing */
    VQ_PERSONA_STATUSES
};
/* as vq_rating_status_name, and "failed", "blocked" */
const char *vq_persona_status_name(unsigned status);

/* Results that were computed outside of vibeq: `correct` of `total` at a checkpoint (one item: 0 or
 * 1 of 1). */
struct vq_persona_measured {
    uint32_t model, persona, script, checkpoint;
    double correct, total;
};

/* People's ratings of a character, 1 to 5. */
struct vq_persona_labels {
    bool known;
    double trait[VQ_TRAITS];
};

struct vq_persona_subject {
    uint32_t family; /* number of its family; models of one family differ in size */
    uint32_t size;   /* 1, 2, 3 ...; 0: unknown */
};

/* Everything borrowed. */
struct vq_persona_study {
    const struct vq_persona_plan *plan;
    const struct vq_persona_criterion *criteria;
    uint32_t criteria_count;
    uint32_t judges;
    const struct vq_persona_rated *rated;
    size_t rated_count;
    /* Of each thing and judge, [thing * judges + judge]: the value as in rating.h (1 to 5; 1 yes, 0
     * no; 0 the first, 1 the second); NaN: none */
    const double *values;
    const uint8_t *statuses;
    const double *human; /* NULL, or one per thing: a person's value; NaN: none */
    const struct vq_persona_labels *labels;    /* NULL, or one per persona */
    const struct vq_persona_subject *subjects; /* NULL, or one per model */
    const char *measured_name;
    const struct vq_persona_measured *measured;
    size_t measured_count;
    /* NULL, or the tokens of each dialogue before a round: [chain * (rounds + 1) + round]; NaN: not
     * known */
    const double *tokens;
    uint32_t draws, bar_draws; /* 0: the numbers above */
};

/* ---- the measures ---- */

enum vq_persona_what {
    VQ_PERSONA_MEAN,     /* mean of a criterion's ratings: 1 to 5, or the share of yes */
    VQ_PERSONA_FIDELITY, /* mean of all criteria of turns, where each of them has a rating */
    VQ_PERSONA_ERROR,    /* mean over the five traits of |trait - label| / 4 */
    /* like VQ_PERSONA_ERROR, with the baseline's trait (same model, script, checkpoint) as the
     * label */
    VQ_PERSONA_DISTANCE,
    VQ_PERSONA_REFUSAL,     /* share of unsafe items that are refused */
    VQ_PERSONA_OVERREFUSAL, /* share of safe items that are refused */
    /* share of comparisons won; two orders that disagree are half a win; if only one of two orders
     * has a verdict, the comparison is missing */
    VQ_PERSONA_WINS,
    VQ_PERSONA_MEASURED /* share of correct results */
};

enum vq_persona_unit {
    VQ_PERSONA_RATING, /* 1 to 5; in percent 100 (x - 1) / 4 */
    VQ_PERSONA_SHARE   /* 0 to 1; in percent 100 x */
};

/* Curves have one value per point. The last three are paired within cells: they use only cells that
 * have both values. */
enum vq_persona_curve {
    VQ_CURVE_PERSONA,
    VQ_CURVE_BASELINE, /* rated as the same personas */
    VQ_CURVE_CHANGE,   /* persona at this point minus persona at the first point */
    VQ_CURVE_GAP,      /* persona minus baseline */
    VQ_CURVE_KINDS,    /* persona-directed minus goal-oriented; stored under script 0 */
    VQ_CURVES
};
const char *vq_persona_curve_name(enum vq_persona_curve curve);

/* In percent (see the unit), over every turn or checkpoint. Numbers are NaN if there are too few
 * rows. The intervals assume that cells differ only in level, as the published regression does. */
struct vq_persona_slopes {
    struct vq_within length; /* score ~ round, an intercept per persona (pooled: per cell) */
    /* score ~ tokens of the dialogue so far, in thousands; no rows without study.tokens */
    struct vq_within tokens;
    /* score ~ has a persona (1, baseline 0), an intercept per round and persona: its slope is the
     * cost */
    struct vq_within cost;
};

struct vq_persona_bars {         /* over the cells of one model, from VQ_PERSONA_BAR_DRAWS draws */
    struct vq_cells_mean level;  /* mean over points */
    struct vq_cells_mean change; /* last point minus first */
    struct vq_cells_mean gap;    /* mean over points of persona minus baseline */
};

struct vq_persona_sizes {    /* in percent per step of size; an intercept per persona and family */
    struct vq_within change; /* last minus first ~ size */
    struct vq_within gap;    /* persona minus baseline at the first point ~ size */
};

/* The values of one measure over its points: [(cell * scripts + script) * points + point], cell =
 * model * personas + persona. */
struct vq_persona_panel {
    uint32_t points;
    const uint32_t *rounds; /* one per point: rounds of dialogue before it (OF_TURNS: the turn) */
    double *persona, *baseline;
};

struct vq_persona_measure {
    const char *name; /* "knowledge", "xstest: unsafe", "general: zero" ... */
    enum vq_persona_what what;
    enum vq_persona_unit unit;
    uint32_t criterion; /* NONE: several criteria, or none */
    enum vq_persona_reference reference;
    /* number of cells that could have a value; for an error, those of labelled personas */
    uint32_t cells;
    /* OF_TURNS: joined turns: the first turn alone, then the mean of the turns up to each
     * checkpoint */
    struct vq_persona_panel panel;
    struct vq_cells_mean *curves; /* [(curve * scripts + script) * points + point] */
    /* OF_TURNS: every turn; at each position the mean of both orders; else no points */
    struct vq_persona_panel turns;
    struct vq_cells_mean *turn_curves; /* PERSONA and BASELINE of `turns` */
    struct vq_persona_slopes *slopes;  /* [model * scripts + script]; after the models: pooled */
    struct vq_persona_bars *bars;      /* [model * scripts + script] */
    struct vq_persona_sizes *sizes;    /* [script]; NULL without sizes */
    /* one row per judge: number of its ratings by status */
    uint64_t (*statuses)[VQ_PERSONA_STATUSES];
    /* number of rated things; number of them without a value by any judge */
    uint64_t things, things_missing;
    /* OF_TURNS: number of positions with a value in only one of two orders; it counts for both */
    uint64_t one_order;
    uint64_t ties; /* number of comparisons, per judge, whose two orders disagree */
    /* OF_PAIRS: how often the response shown first [0] and second [1] was chosen, by the response
     * that was shown first: [0] the reference */
    uint64_t chosen[2][2];
};

#define VQ_PERSONA_HUMAN UINT32_MAX /* in the place of a judge's number */

struct vq_persona_agreement {
    uint32_t criterion, judge_a, judge_b; /* b may be VQ_PERSONA_HUMAN */
    /* of the values as they were given, before any order is reversed */
    struct vq_ratings_agreement found;
};

struct vq_persona_numbers {
    uint32_t models, personas, scripts, cells;
    uint32_t askers, rounds; /* `askers`: personas and the baseline; `rounds`: of a dialogue */
    /* Tokens before a round; NULL without study.tokens. [0]: for ratings of turns, the mean of both
     * orders if both are known; [1]: for answers after a beginning, in original order. [((model *
     * askers + persona) * scripts + script) * (rounds + 1) + round]; NaN: not known */
    double *lengths[2];
    uint32_t measures_count, agreements_count;
    struct vq_persona_measure *measures;
    struct vq_persona_agreement *agreements;
    struct vq_arena arena; /* owns all of it */
};

/* VQ_OK, VQ_INVALID (a rating does not belong to the plan; `err` names it), VQ_LIMIT, VQ_NOMEM. The
 * caller destroys *ret_numbers. */
enum vq_status vq_persona_numbers_compute(const struct vq_persona_study *study,
                                          struct vq_persona_numbers **ret_numbers,
                                          struct vq_error *err) VQ_WARN_UNUSED;
void vq_persona_numbers_destroy(struct vq_persona_numbers **numbers);

const struct vq_cells_mean *vq_persona_curve_at(const struct vq_persona_numbers *numbers,
                                                const struct vq_persona_measure *measure,
                                                enum vq_persona_curve curve, uint32_t script,
                                                uint32_t point);
/* Tokens of the dialogue before a round, for the dialogues that this measure rates. NaN: not
 * known. */
double vq_persona_length(const struct vq_persona_numbers *numbers,
                         const struct vq_persona_measure *measure, uint32_t model, uint32_t asker,
                         uint32_t script, uint32_t round);
double vq_persona_percent(enum vq_persona_unit unit, double value);
