/* The VibeCheck method as a state machine over stages: it names the next stage, and interprets the
 * stage's answers. Pure: the coordinator (or replay, or a test with an oracle) runs each stage and
 * hands the answers back. Invariant: the same answers give the same stages, so a resumed run walks
 * through its finished stages again from the call store.
 *
 *     while (vq_vibecheck_method_next(m, &stage, err) == VQ_OK && stage != NULL) {
 *         run the stage; vq_vibecheck_method_take_...(m, ...)
 *     }
 *     vq_vibecheck_method_result(m)
 *
 * Preset and given vibes are one RANK stage over all rows (two with early stopping). Discovery has
 * these stages:
 *
 *     [prefer] -> discover [-> formalise] [-> embed] -> summarise -> formalise -> simplify
 *       -> reduce ... -> embed [-> dedup] -> rank train rows -> gates, fits, misclassified rows
 *       -> the next iteration -> rank test rows [-> question types]
 *
 * With a cascade each ranking is two stages, of one judge each ("rank", then "rank, second judge").
 * Both kinds may end with the retest of a share of the cells.
 *
 * Its notes (which vibes were proposed, merged, dropped; why it stopped) go to the log and the
 * report. Not its job: sockets, files, clocks, request hashes. */
#pragma once

#include "common/judge/template.h"
#include "common/judge/vectors.h"
#include "methods/script.h"
#include "methods/vibecheck/numbers/vibecheck.h"

/* The proposer's model: in the discovery itself (repeat 0) model 0; in repeat 1, 2 ... the models
 * of repeat_proposers, one after the other. */
static inline uint32_t vq_vibecheck_method_proposer(const struct vq_config *config, uint32_t repeat)
{
    uint32_t n = config->repeat_proposers_count;
    return repeat == 0 || n == 0 ? 0 : 1 + (repeat - 1) % n;
}

/* Borrowed. The caller must not change it while the method lives. rows[].preference is the
 * data's. */
struct vq_vibecheck_method_input {
    const struct vq_config *config;
    const struct vq_sample *samples;
    const struct vq_sample_id *sample_ids; /* only judging.retest and cascades use these two */
    const struct vq_judge *judges;
    const struct vq_row *rows; /* train rows in the seeded order come in the order of `train` */
    uint32_t rows_count;
    const uint32_t *topics; /* one per row, of data.group; NULL: none. Batches never mix topics */
    /* training samples in seeded random order (early stopping takes the first of them) */
    const uint32_t *train;
    uint32_t train_count;
    bool has_preferences;  /* the data has a preference column with at least one label */
    uint32_t judges_count; /* number of ranking judges */
    uint32_t preference_judges_count;
    const uint8_t *first_order; /* as in struct vq_vibecheck_input, over all rows */
    bool embedder;              /* the run has an embedder */
    /* VQ_TEMPLATE__COUNT; NULL if a template is not needed */
    const struct vq_template *const *templates;
};

struct vq_vibecheck_method;
enum vq_status vq_vibecheck_method_create(const struct vq_vibecheck_method_input *input,
                                          struct vq_vibecheck_method **ret_method,
                                          struct vq_error *err) VQ_WARN_UNUSED;
void vq_vibecheck_method_destroy(struct vq_vibecheck_method **method);

/* Returns the stage to ask now; the same one until its answers are taken. *ret_stage NULL: no stage
 * is left. The stage lives until the first vq_vibecheck_method_next after its answers were taken.
 * VQ_NOMEM, VQ_LIMIT; VQ_INVALID: the method cannot continue (for example, no answer had an axis);
 * the message names the cause and what to do. */
enum vq_status vq_vibecheck_method_next(struct vq_vibecheck_method *m,
                                        const struct vq_stage **ret_stage,
                                        struct vq_error *err) VQ_WARN_UNUSED;

/* RANK and PREFER, LIKERT, BINARY and PAIRWISE (items in the place of rows): one byte (enum
 * vq_outcome) per task, in grid order: ((row * judges + judge) * axes + axis) * 2 + order, where
 * row is an index of stage->rows, and PREFER has one axis. Copies. */
enum vq_status vq_vibecheck_method_take_outcomes(struct vq_vibecheck_method *m,
                                                 const uint8_t *outcomes, size_t count,
                                                 struct vq_error *err) VQ_WARN_UNUSED;
/* RANK with margins: before its outcomes and in their order. Copies. */
enum vq_status vq_vibecheck_method_take_margins(struct vq_vibecheck_method *m, const float *margins,
                                                size_t count, struct vq_error *err) VQ_WARN_UNUSED;
/* TEXT: before the texts and in their order: how each answer ended (enum vq_ending). If it is not
 * called, all count as ordinary. Copies. */
enum vq_status vq_vibecheck_method_take_endings(struct vq_vibecheck_method *m,
                                                const uint8_t *endings, size_t count,
                                                struct vq_error *err) VQ_WARN_UNUSED;
/* TEXT: one text per prompt and model (prompt * models + model; only the judge role has several
 * models). Without an answer .at is NULL and .bytes is the enum vq_outcome (0: unknown). Copies. */
enum vq_status vq_vibecheck_method_take_texts(struct vq_vibecheck_method *m,
                                              const struct vq_span *texts, size_t count,
                                              struct vq_error *err) VQ_WARN_UNUSED;
/* EMBED: `count` (texts_count) vectors of `dims` numbers, row-major. NULL: a call failed, so this
 * round has no embeddings; invalid vectors (not finite, no numbers) have the same effect.
 * Copies. */
enum vq_status vq_vibecheck_method_take_vectors(struct vq_vibecheck_method *m, const float *vectors,
                                                size_t count, uint32_t dims,
                                                struct vq_error *err) VQ_WARN_UNUSED;

/* ---- the result ---- */

struct vq_provenance {  /* the origin of an axis; all-zero for given vibes */
    uint32_t iteration; /* 0, 1, ... */
    uint32_t support;   /* number of proposals that are nearest to it */
    uint32_t proposals_count;
    const uint32_t *proposals; /* indices into struct vq_vibecheck_method_result.proposals */
};

struct vq_proposal { /* one axis in the proposer's words */
    struct vq_axis axis;
    uint32_t iteration, batch;
    const uint32_t *rows; /* samples of the batch */
    uint32_t rows_count;
};

enum vq_stop {
    VQ_STOP_NONE,          /* preset and given vibes */
    VQ_STOP_ITERATIONS,    /* the configured number of iterations is reached */
    VQ_STOP_MISCLASSIFIED, /* not enough misclassified rows */
    VQ_STOP_MM,            /* mm_stop reached */
    VQ_STOP_NO_NEW,        /* no new vibe survived reduction and dedup */
};
const char *vq_stop_text(enum vq_stop stop); /* the end of a sentence */

struct vq_iteration {
    uint32_t rows_shown; /* number of rows that the proposer saw */
    /* number of axes after each step; added: new vibes that survive */
    uint32_t proposed, reduced, deduplicated, evaluated, added;
    uint32_t misclassified;          /* number of train rows, after the iteration */
    double mm_accuracy, pp_accuracy; /* on train, with the vibes kept so far; NaN: none */
};

struct vq_retest {    /* of one judge, over the cells that were asked twice */
    uint64_t cells;   /* number of cells with a vote both times */
    uint64_t flips;   /* of these, the number with different votes */
    uint64_t missing; /* number of cells without a vote the second time */
};

struct vq_early { /* the savings of early stopping */
    /* number of vibes that were settled before all training rows were asked */
    uint32_t exactly, alpha;
    uint32_t untested; /* number of given vibes that were not asked on the test rows */
    /* number of (row, judge) that were not asked, of one or two calls each */
    uint64_t questions;
};

/* Appends "early stopping saved 12 calls: ...", without a full stop. */
void vq_early_text(const struct vq_early *early, const struct vq_conf_judging *judging,
                   struct vq_buf *out);

struct vq_cut_texts { /* texts of the proposer and the reducer that were cut at the token limit */
    uint32_t asked_again;
    uint32_t refused; /* number of texts that were cut in the last try too, and are not used */
    /* number of texts that were cut in the last try too, and are used up to the last whole line */
    uint32_t shortened;
};

struct vq_stability { /* repeated discovery (vibecheck.repeats) */
    uint32_t repeats, done;
    uint32_t vibes_count;
    /* the final vibes: indices into struct vq_vibecheck_method_result.axes */
    uint32_t *vibes;
    struct vq_axis **axes; /* [repeat]: a list of axes_count[repeat] axes */
    uint32_t *axes_count;
    bool matched; /* false: there is no embedder; then the two below are not set */
    /* [final vibe]: number of repeats with an axis of the same or the opposite meaning */
    uint32_t *found;
    /* [vibe * repeats + repeat]: similarity of the nearest axis; NaN: the repeat has no axis */
    double *nearest;
};

struct vq_vibecheck_method_result { /* the method owns everything in it */
    const struct vq_axis *axes;     /* every ranked vibe, in the order of ranking */
    const struct vq_provenance *provenance;
    const bool *stopped_early;         /* early stopping dropped the vibe */
    const char *const *question_types; /* one text per vibe; NULL: not asked */
    uint32_t axes_count;
    /* grid rows_count x judges x axes_count x 2; if both orders are VQ_OUTCOME_NOT_NEEDED, the cell
     * was never asked */
    const uint8_t *outcomes;
    /* [row * axes_count + axis]: enum vq_cascade_why; NULL: no cascade */
    const uint8_t *cascade;
    const struct vq_row *rows;     /* with the preferences that were used, and with ties excluded */
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
    const struct vq_retest *retest;       /* one per judge; NULL: judging.retest is 0 */
    const char *const *notes;             /* lines for log and report, in order */
    uint32_t notes_count;
    /* compare_presets: the preset vibes, ranked on all rows; else NULL */
    const struct vq_axis *preset_axes;
    uint32_t preset_axes_count;
    const uint8_t *preset_outcomes;
};
/* Valid after vq_vibecheck_method_next returned NULL. */
const struct vq_vibecheck_method_result *
vq_vibecheck_method_result(const struct vq_vibecheck_method *m);
/* Appends the joint prompt (judging.vibes_per_call over 1) that asked vibe `vibe` of the result on
 * this row in this order (`system` NULL: only the user part). *ret_number is the vibe's number in
 * it, from 1. False: there is none. VQ_LIMIT and VQ_NOMEM stick in the buffers. */
bool vq_vibecheck_method_joint_prompt(const struct vq_vibecheck_method *m, uint32_t row,
                                      uint32_t vibe, uint32_t order, struct vq_buf *system,
                                      struct vq_buf *user, uint32_t *ret_number);
/* The notes so far, and their number; for status. */
uint32_t vq_vibecheck_method_notes(const struct vq_vibecheck_method *m,
                                   const char *const **ret_notes);

/* The method as a script of methods/script.h. */
struct vq_script vq_vibecheck_script(struct vq_vibecheck_method *method);
