/* The VibeCheck method as a state machine over stages: which stage comes next, and what its answers
 * mean. Pure: the shell (or replay, or a test with an oracle) runs each stage and hands the answers
 * back; the same answers give the same stages, so a run that is resumed walks through its finished
 * stages again out of the call store.
 *
 *     while (vq_vibecheck_method_next(m, &stage, err) == VQ_OK && stage != NULL) {
 *         run the stage; vq_vibecheck_method_take_...(m, ...)
 *     }
 *     vq_vibecheck_method_result(m)
 *
 * Preset and given vibes are one RANK stage over all rows (two with early stopping). Discovery
 * walks
 *
 *     [prefer] -> discover [-> formalise] [-> embed] -> summarise -> formalise -> simplify
 *       -> reduce ... -> embed [-> dedup] -> rank train rows -> gates, fits, misclassified rows
 *       -> the next iteration -> rank test rows [-> question types]
 *
 * With a cascade each ranking is two stages, of one judge each ("rank", then "rank, second judge").
 * Either may end with the retest of a share of the cells.
 *
 * Its notes (what was proposed, merged, dropped; why it stopped) go to the log and the report. Not
 * its job: sockets, files, clocks, request hashes. */
#pragma once

#include "common/judge/template.h"
#include "common/judge/vectors.h"
#include "methods/script.h"
#include "methods/vibecheck/numbers/vibecheck.h"

/* Which of the role's models proposes: 0 in the discovery itself (repeat 0), and in repeat 1, 2 ...
 * those of repeat_proposers in turn. */
static inline uint32_t vq_vibecheck_method_proposer(const struct vq_config *config, uint32_t repeat)
{
    uint32_t n = config->repeat_proposers_count;
    return repeat == 0 || n == 0 ? 0 : 1 + (repeat - 1) % n;
}

/* Borrowed, and unchanged while the method lives; rows[].preference is the data's. */
struct vq_vibecheck_method_input {
    const struct vq_config *config;
    const struct vq_sample *samples;
    const struct vq_sample_id *sample_ids; /* these two: by judging.retest and cascade alone */
    const struct vq_judge *judges;
    const struct vq_row *rows; /* train rows in the seeded order come in the order of `train` */
    uint32_t rows_count;
    const uint32_t *topics; /* one a row, of data.group; NULL: none. Batches never mix topics */
    /* train samples in seeded random order (early stopping takes the first of them) */
    const uint32_t *train;
    uint32_t train_count;
    bool has_preferences;  /* the data has a preference column with at least one label */
    uint32_t judges_count; /* ranking */
    uint32_t preference_judges_count;
    const uint8_t *first_order;                 /* as in struct vq_vibecheck_input, over all rows */
    bool embedder;                              /* there is an embedder */
    const struct vq_template *const *templates; /* VQ_TEMPLATE__COUNT; NULL where not needed */
};

struct vq_vibecheck_method;
enum vq_status vq_vibecheck_method_create(const struct vq_vibecheck_method_input *input,
                                          struct vq_vibecheck_method **ret_method,
                                          struct vq_error *err) VQ_WARN_UNUSED;
void vq_vibecheck_method_destroy(struct vq_vibecheck_method **method);

/* The stage to ask now; the same one until its answers were taken. *ret_stage NULL: there is none
 * left. It lives until the next vq_vibecheck_method_next after its answers were taken. VQ_NOMEM,
 * VQ_LIMIT; VQ_INVALID with a sentence: the method cannot go on (such as: no axis could be read in
 * any answer), and what to do. */
enum vq_status vq_vibecheck_method_next(struct vq_vibecheck_method *m,
                                        const struct vq_stage **ret_stage,
                                        struct vq_error *err) VQ_WARN_UNUSED;

/* RANK and PREFER, LIKERT, BINARY and PAIRWISE (items in the place of rows): one byte (enum
 * vq_outcome) a task, in grid order: ((row * judges + judge) * axes + axis) * 2 + order, where row
 * counts stage->rows and PREFER has one axis. Copies. */
enum vq_status vq_vibecheck_method_take_outcomes(struct vq_vibecheck_method *m,
                                                 const uint8_t *outcomes, size_t count,
                                                 struct vq_error *err) VQ_WARN_UNUSED;
/* RANK that wants margins, before its outcomes and in their order. Copies. */
enum vq_status vq_vibecheck_method_take_margins(struct vq_vibecheck_method *m, const float *margins,
                                                size_t count, struct vq_error *err) VQ_WARN_UNUSED;
/* TEXT, before the texts and in their order: how each answer ended (enum vq_ending). Not taken: all
 * as usual. Copies. */
enum vq_status vq_vibecheck_method_take_endings(struct vq_vibecheck_method *m,
                                                const uint8_t *endings, size_t count,
                                                struct vq_error *err) VQ_WARN_UNUSED;
/* TEXT: one a prompt and model (prompt * models + model; only judges are several); .at NULL where
 * there is none, .bytes then the enum vq_outcome that says why (0: not known). Copies. */
enum vq_status vq_vibecheck_method_take_texts(struct vq_vibecheck_method *m,
                                              const struct vq_span *texts, size_t count,
                                              struct vq_error *err) VQ_WARN_UNUSED;
/* EMBED: `count` (texts_count) vectors of `dims` numbers, row-major; NULL: a call of it failed, so
 * this round has no embeddings; invalid vectors (not finite, no numbers) have the same effect.
 * Copies. */
enum vq_status vq_vibecheck_method_take_vectors(struct vq_vibecheck_method *m, const float *vectors,
                                                size_t count, uint32_t dims,
                                                struct vq_error *err) VQ_WARN_UNUSED;

/* ---- the result ---- */

struct vq_provenance {  /* where an axis comes from; zero-initialised for given vibes */
    uint32_t iteration; /* 0, 1, ... */
    uint32_t support;   /* proposals that are nearest to it */
    uint32_t proposals_count;
    const uint32_t *proposals; /* which: indices into struct vq_vibecheck_method_result.proposals */
};

struct vq_proposal { /* one axis as the proposer said it */
    struct vq_axis axis;
    uint32_t iteration, batch;
    const uint32_t *rows; /* the batch's samples */
    uint32_t rows_count;
};

enum vq_stop {
    VQ_STOP_NONE,          /* preset and given vibes */
    VQ_STOP_ITERATIONS,    /* as many as were asked for */
    VQ_STOP_MISCLASSIFIED, /* not enough misclassified rows */
    VQ_STOP_MM,            /* mm_stop reached */
    VQ_STOP_NO_NEW,        /* no new vibe survived reduction and dedup */
};
const char *vq_stop_text(enum vq_stop stop); /* a sentence's end */

struct vq_iteration {
    uint32_t rows_shown; /* to the proposer */
    uint32_t proposed, reduced, deduplicated, evaluated,
        added;                       /* axes after each step; added: that survive */
    uint32_t misclassified;          /* train rows, after it */
    double mm_accuracy, pp_accuracy; /* train, with the vibes kept so far; NaN: none */
};

struct vq_retest {    /* of one judge, over the cells that were asked a second time */
    uint64_t cells;   /* with a vote both times */
    uint64_t flips;   /* of them: the two votes do not say the same */
    uint64_t missing; /* without a vote the second time */
};

struct vq_early {            /* what early stopping left out */
    uint32_t exactly, alpha; /* vibes that were settled before all training rows were asked */
    uint32_t untested;       /* given vibes that were not asked on the test rows */
    uint64_t questions;      /* row x judge, of one or two calls each */
};

/* "early stopping saved 12 calls: ...", without a stop. */
void vq_early_text(const struct vq_early *early, const struct vq_conf_judging *judging,
                   struct vq_buf *out);

struct vq_cut_texts { /* of the proposer and the reducer, at the token limit */
    uint32_t asked_again;
    uint32_t refused;   /* cut in the last try too: not used */
    uint32_t shortened; /* the same: used up to the last whole line */
};

struct vq_stability { /* discovery done again (vibecheck.repeats) */
    uint32_t repeats, done;
    uint32_t vibes_count;
    uint32_t *vibes;       /* the final ones: indices into struct vq_vibecheck_method_result.axes */
    struct vq_axis **axes; /* one list a repeat, of axes_count[repeat] */
    uint32_t *axes_count;
    bool matched; /* false: no embedder is configured; the two below are not set */
    /* one a final vibe: in how many repeats an axis says the same, or the opposite */
    uint32_t *found;
    /* [vibe * repeats + repeat]: similarity of the nearest axis; NaN: there is none */
    double *nearest;
};

struct vq_vibecheck_method_result { /* all borrowed from the method */
    const struct vq_axis *axes;     /* every vibe that was ranked, in the order of ranking */
    const struct vq_provenance *provenance;
    const bool *stopped_early;         /* dropped by early stopping */
    const char *const *question_types; /* a text a vibe, NULL where not asked */
    uint32_t axes_count;
    /* grid rows_count x judges x axes_count x 2; both orders VQ_OUTCOME_NOT_NEEDED: never asked */
    const uint8_t *outcomes;
    /* [row * axes_count + axis]: enum vq_cascade_why; NULL: there is no cascade */
    const uint8_t *cascade;
    const struct vq_row *rows;     /* with the preferences that were used, and ties excluded */
    const char *preference_source; /* "data", "judge", "none" */
    /* [row * preference judges * 2 + judge * 2 + order]; NULL: not asked */
    const uint8_t *preference_outcomes;
    const struct vq_proposal *proposals;
    uint32_t proposals_count;
    const struct vq_iteration *iterations;
    uint32_t iterations_count;
    enum vq_stop stop;
    struct vq_cut_texts cut;
    struct vq_early early;
    const struct vq_stability *stability; /* NULL: vibecheck.repeats is 0, or no vibe was kept */
    const struct vq_retest *retest;       /* one a judge; NULL: judging.retest is 0 */
    const char *const *notes;             /* lines for log and report, in order */
    uint32_t notes_count;
    /* compare_presets: the preset vibes, ranked on all rows; NULL otherwise */
    const struct vq_axis *preset_axes;
    uint32_t preset_axes_count;
    const uint8_t *preset_outcomes;
};
/* Valid once vq_vibecheck_method_next gave NULL. */
const struct vq_vibecheck_method_result *
vq_vibecheck_method_result(const struct vq_vibecheck_method *m);
/* The joint prompt (judging.vibes_per_call over 1) by which vibe `vibe` of the result was asked on
 * this row in this order: its parts are appended (`system` NULL: they are not), and *ret_number is
 * the vibe's number in it, from 1. False: there is none. VQ_LIMIT and VQ_NOMEM stick in the
 * buffers. */
bool vq_vibecheck_method_joint_prompt(const struct vq_vibecheck_method *m, uint32_t row,
                                      uint32_t vibe, uint32_t order, struct vq_buf *system,
                                      struct vq_buf *user, uint32_t *ret_number);
/* The same so far, for status: how many stages were taken, and the notes. */
uint32_t vq_vibecheck_method_notes(const struct vq_vibecheck_method *m,
                                   const char *const **ret_notes);

/* The method as a script. */
struct vq_script vq_vibecheck_script(struct vq_vibecheck_method *method);
