/* Private to the method machine: its state, and what its files give each other.
 *
 *     method.c   create, next, take, result; asking a stage
 *     walk.c     which part follows which
 *     prefer.c   preference labels by judges
 *     rank.c     asking vibes on rows
 *     looks.c    the same in looks, with early stopping
 *     joint.c    the same with several vibes in one call
 *     cascade.c  the same with one judge first, and the other one where it is needed
 *     discover.c rows to batches to prompts to proposals
 *     reduce.c   groups, summaries, simplification, at most K axes
 *     support.c  which reduced axis a proposal is nearest to; dedup; the new vibes
 *     numbers.c  the cells as a grid, and the numbers computed from it
 *     iterate.c  the numbers after each iteration, misclassified rows, stop rules
 *     extras.c   preset vibes beside the found ones, question types
 *     stability.c  the first round again from other seeds, and which vibes it finds again
 *     retest.c   a share of the cells once more
 *     prompts.c  rows, axes and templates as text */
#pragma once

#include "common/base/arena.h"
#include "common/base/rng.h"
#include "methods/vibecheck/method.h"
#include "methods/vibecheck/numbers/settle.h"

#define VQ_PROPOSALS_MAX ((size_t)20000)

/* A vibe that is or was ranked. */
struct vq_vibecheck_method_vibe {
    struct vq_axis axis;
    struct vq_provenance provenance;
    uint8_t *cells; /* [(row * judges + judge) * 2 + order] over all rows */
    uint8_t *why;   /* [row]: enum vq_cascade_why; NULL without a cascade */
    bool stopped_early;
    bool kept; /* survives, as of the last look at the numbers */
    const char *question_types;
};

/* Rows x vibes that are being asked, with early stopping or without. */
struct vq_vibecheck_method_ranking {
    const char *name;
    uint32_t rows_count;  /* all that shall be asked */
    uint32_t *asked_rows; /* of the stage that is out */
    uint32_t asked_rows_count;
    uint32_t *asked_vibes;
    uint32_t asked_vibes_count;
    uint32_t *order; /* with early stopping: the training rows as they are drawn */
    uint32_t drawn;  /* of them, so far */
    uint32_t ends[VQ_LOOKS_MAX], looks, look;
    enum vq_status (*then)(struct vq_vibecheck_method *m, struct vq_error *err);
};

/* What a ranking in joint calls showed; lives as long as the method, for who looks for the answers
 * later. */
struct vq_vibecheck_method_joint_asked {
    const uint32_t *rows;
    const struct vq_axis *axes; /* texts as those of the vibes */
    uint32_t rows_count, axes_count;
    struct vq_span *lists; /* one a group: its axes, numbered */
};

/* A ranking asked in joint calls (judging.vibes_per_call over 1). What it asks lives as long as the
 * method, the rest in `memory` until the next one begins. */
struct vq_vibecheck_method_joint {
    struct vq_arena memory;
    const char *name;
    const uint32_t *rows;
    const struct vq_axis *axes;
    uint32_t rows_count, axes_count;
    uint32_t orders;       /* 1 under pair_rule: forward */
    uint32_t groups;       /* of axes: as many as vibes_per_call, the last one what is left */
    struct vq_span *lists; /* one a group: its axes, numbered */
    uint64_t prompts, first, next; /* in all; of the stage that is out; of the one after it */
    uint8_t *outcomes;             /* as if it were a RANK stage */
    uint64_t unread;               /* cells without a verdict in a joint answer */
    uint32_t *again_rows,
        *again_axes; /* of the stage that asks those one by one: which of the above */
    uint32_t again_rows_count, again_axes_count;
    enum vq_status (*then)(struct vq_vibecheck_method *m, struct vq_error *err);
};

/* A ranking in a cascade; it lives in `memory` until the next one begins. */
struct vq_vibecheck_method_cascade {
    struct vq_arena memory;
    const char *name;
    const uint32_t *rows;
    const struct vq_axis *axes;
    uint32_t rows_count, axes_count;
    uint32_t first;          /* the judge that is asked everything */
    uint8_t *outcomes;       /* as if it were one RANK stage */
    uint8_t *why;            /* [row * axes + axis]: enum vq_cascade_why */
    uint32_t *escalated;     /* of the other judge's stage: which of the rows above */
    uint32_t *escalated_row; /* the same as rows of the data */
    uint32_t escalated_count;
    enum vq_status (*then)(struct vq_vibecheck_method *m, struct vq_error *err);
};

struct vq_vibecheck_method_batch {
    uint32_t *rows;
    uint32_t rows_count;
    bool flipped; /* B is shown as output 1 */
};

/* The round that is under way; it lives in `round_memory`. */
struct vq_vibecheck_method_round {
    struct vq_vibecheck_method_batch *batches;
    uint32_t batches_count;
    uint32_t *batch_of; /* prompt -> batch, where some batches are not asked again */
    uint32_t first_proposal, proposals_count;
    uint32_t asked; /* prompts of the stage before, where it is not all batches or groups */
    uint32_t nothing, failed, unread, rejected, over; /* answers and items that gave no proposal */
    const float *proposal_vectors;                    /* NULL: not embedded */
    uint32_t dims;
    bool embeds; /* there is an embedder, and it has not failed in this round */
    uint32_t *group_of;
    uint32_t groups_count;
    struct vq_axis **group_axes;
    uint32_t *group_counts;
    uint32_t *group_of_prompt;
    struct vq_span *summaries; /* one a group; .at NULL: none */
    struct vq_axis *axes;      /* the list that is being reduced */
    uint32_t axes_count;
    uint32_t tries;
    uint32_t *support; /* one an axis of `axes` */
    uint32_t *order;   /* of the axes, by support */
    uint32_t *nearest; /* proposal (from first_proposal) -> axis of `axes` */
    bool *dropped;     /* one an axis of `axes` */
};

/* The texts of the proposer or reducer that are asked for, while some of them are asked again
 * because they were cut. */
struct vq_vibecheck_method_lists {
    struct vq_arena memory; /* until the next such texts are asked for */
    const char *name;
    enum vq_role role;
    uint32_t count; /* prompts of the part that asked */
    uint32_t room;  /* of the stage that is out: 0, 1 ... VQ_LIST_RETRIES */
    struct vq_span *texts;
    uint8_t *ends;
    bool *cut;       /* also: has no answer since it was asked again */
    uint32_t *asked; /* which prompts are in the stage that is out, then: in the next one */
    uint32_t asked_count;
    struct vq_stage_prompt *prompts; /* of those */
    enum vq_status (*then)(struct vq_vibecheck_method *m, struct vq_error *err);
};

struct vq_vibecheck_method {
    struct vq_vibecheck_method_input in;
    struct vq_arena memory;         /* lives as long as the method */
    struct vq_arena round_memory;   /* an iteration */
    struct vq_arena stage_memory;   /* the questions */
    struct vq_arena answers_memory; /* what was answered last */

    enum vq_status (*then)(struct vq_vibecheck_method *m,
                           struct vq_error *err); /* NULL: nothing is left */
    bool asking;                                  /* `stage` is out */
    enum vq_status failed; /* what vq_vibecheck_method_next failed with, and will again */
    struct vq_error failure;
    struct vq_stage stage;
    uint32_t stages;

    const uint8_t *outcomes; /* the answers to the last stage */
    const struct vq_span *texts;
    const uint8_t *text_ends;    /* of texts that there are none of: enum vq_outcome */
    const uint8_t *text_endings; /* how they ended (enum vq_ending); NULL: all as usual */
    const bool *text_cuts;       /* of lists: which stayed cut at the token limit; else NULL */
    uint8_t *endings;            /* taken for the texts that follow; owned */
    size_t endings_count;
    const float *vectors; /* NULL: there are none */
    uint32_t dims;

    struct vq_row *rows; /* with the preferences that are used */
    uint32_t *train;     /* in seeded order, without excluded rows */
    uint32_t train_count;
    uint32_t *train_sorted, *test_sorted, *all_sorted; /* without excluded rows */
    uint32_t test_count, all_count;

    struct vq_vibecheck_method_vibe *vibes;
    size_t vibes_count, vibes_cap;
    struct vq_proposal *proposals;
    size_t proposals_count, proposals_cap;
    const char **notes;
    size_t notes_count, notes_cap;
    struct vq_iteration *iterations; /* as many as the configuration allows */
    uint32_t iteration;              /* the one under way */
    uint32_t *misclassified;         /* train rows after the last look */
    uint32_t misclassified_count;
    struct vq_vibecheck_method_ranking ranking;
    struct vq_vibecheck_method_joint joint;
    struct vq_vibecheck_method_cascade cascade;
    float *margins; /* taken for the outcomes that follow; owned */
    size_t margins_count;
    struct vq_vibecheck_method_lists lists;
    struct vq_vibecheck_method_joint_asked *joints; /* all that were asked */
    size_t joints_count, joints_cap;
    struct vq_vibecheck_method_round round;
    uint32_t *typed; /* the vibes that question types are asked for */
    uint32_t typed_count;
    bool lists_axes; /* of a repeat: it ends with its vibes before any is ranked */
    struct vq_vibecheck_method *repeat; /* under way; owned */
    struct vq_stability *stability;
    struct vq_vibecheck_method_result result;
};

/* ---- method.c ---- */

/* A line for log and report. */
enum vq_status vq_vibecheck_method_note(struct vq_vibecheck_method *m, const char *fmt, ...)
    VQ_PRINTF(2, 3) VQ_WARN_UNUSED;
/* `then` gets the answers. What the stage shows must live in `stage_memory` or longer; names are
 * copied. */
enum vq_status vq_vibecheck_method_ask(struct vq_vibecheck_method *m, const struct vq_stage *stage,
                                       enum vq_status (*then)(struct vq_vibecheck_method *m,
                                                              struct vq_error *err)) VQ_WARN_UNUSED;
/* Adds a vibe that is asked next. VQ_LIMIT at VQ_VIBES_MAX. */
enum vq_status vq_vibecheck_method_add_vibe(struct vq_vibecheck_method *m,
                                            const struct vq_axis *axis,
                                            const struct vq_provenance *provenance) VQ_WARN_UNUSED;

/* The same for texts to embed. */
enum vq_status vq_vibecheck_method_ask_vectors(
    struct vq_vibecheck_method *m, const char *name, const struct vq_span *texts, uint32_t count,
    enum vq_status (*then)(struct vq_vibecheck_method *m, struct vq_error *err)) VQ_WARN_UNUSED;
enum vq_status vq_vibecheck_method_axis_copy(struct vq_arena *arena, const struct vq_axis *axis,
                                             struct vq_axis *ret_axis) VQ_WARN_UNUSED;
/* Its one-line form, in the stage's memory. */
enum vq_status vq_vibecheck_method_axis_text(struct vq_vibecheck_method *m,
                                             const struct vq_axis *axis,
                                             struct vq_span *ret_text) VQ_WARN_UNUSED;

/* Each use of randomness has its own stream of the run's seed, and each iteration its own. */
enum vq_vibecheck_method_seed {
    VQ_VIBECHECK_SEED_SAMPLE = 1001,
    VQ_VIBECHECK_SEED_GROUPS,
    VQ_VIBECHECK_SEED_LOOKS,
    VQ_VIBECHECK_SEED__STEP = 16
};
void vq_vibecheck_method_rng(const struct vq_vibecheck_method *m, enum vq_vibecheck_method_seed use,
                             struct vq_rng *ret_rng);

/* ---- lists.c: texts of the proposer and the reducer ---- */

#define VQ_LIST_RETRIES 2u /* times that a cut text is asked again, each time with twice the room */

/* `name` lives until vq_lists_ask. */
void vq_lists_begin(struct vq_vibecheck_method *m, const char *name, enum vq_role role,
                    uint32_t count,
                    enum vq_status (*then)(struct vq_vibecheck_method *m, struct vq_error *err));
enum vq_status vq_lists_ask(struct vq_vibecheck_method *m,
                            const struct vq_stage *stage) VQ_WARN_UNUSED;
/* After m->texts were taken, while the stage's prompts are there. */
enum vq_status vq_lists_take(struct vq_vibecheck_method *m) VQ_WARN_UNUSED;
/* Text i without a last line that the cut may have touched. */
struct vq_span vq_lists_whole(const struct vq_vibecheck_method *m, uint32_t i);

/* ---- walk.c: each goes on with the next part ---- */

enum vq_status vq_walk_start(struct vq_vibecheck_method *m, struct vq_error *err) VQ_WARN_UNUSED;
enum vq_status vq_walk_labelled(struct vq_vibecheck_method *m, struct vq_error *err) VQ_WARN_UNUSED;
enum vq_status vq_walk_final(struct vq_vibecheck_method *m, struct vq_error *err) VQ_WARN_UNUSED;

enum vq_status vq_walk_end(struct vq_vibecheck_method *m, struct vq_error *err) VQ_WARN_UNUSED;

/* ---- the parts, each of which goes on by itself ---- */

enum vq_status vq_discover_begin(struct vq_vibecheck_method *m,
                                 struct vq_error *err) VQ_WARN_UNUSED;
/* The vibes that are carried into the next round, or (false) those that are not, as a list for a
 * prompt. */
enum vq_status vq_vibecheck_method_list(struct vq_vibecheck_method *m, bool carried,
                                        struct vq_span *ret_text) VQ_WARN_UNUSED;
enum vq_status vq_reduce_begin(struct vq_vibecheck_method *m, struct vq_error *err) VQ_WARN_UNUSED;
enum vq_status vq_support_begin(struct vq_vibecheck_method *m, struct vq_error *err) VQ_WARN_UNUSED;
enum vq_status vq_iterate_rank(struct vq_vibecheck_method *m, struct vq_error *err) VQ_WARN_UNUSED;
enum vq_status vq_iterate_no_new(struct vq_vibecheck_method *m,
                                 struct vq_error *err) VQ_WARN_UNUSED;
enum vq_status vq_presets_begin(struct vq_vibecheck_method *m, struct vq_error *err) VQ_WARN_UNUSED;

/* The vibes that the results will keep, and the numbers on train that say so, which the caller
 * destroys. */
enum vq_status vq_vibecheck_method_final(struct vq_vibecheck_method *m, uint32_t **ret_vibes,
                                         uint32_t *ret_count, struct vq_vibecheck **ret_numbers,
                                         struct vq_error *err) VQ_WARN_UNUSED;

/* stability.c; then the last part. */
enum vq_status vq_stability_begin(struct vq_vibecheck_method *m,
                                  struct vq_error *err) VQ_WARN_UNUSED;
enum vq_status vq_stability_next(struct vq_vibecheck_method *m,
                                 struct vq_error *err) VQ_WARN_UNUSED;

/* The last part. */
enum vq_status vq_retest_begin(struct vq_vibecheck_method *m, struct vq_error *err) VQ_WARN_UNUSED;

enum vq_status vq_prefer_begin(struct vq_vibecheck_method *m, struct vq_error *err) VQ_WARN_UNUSED;

/* Asks a RANK stage, in joint calls where the configuration says so; `then` finds m->outcomes in
 * the stage's grid either way. What the stage shows must live in `stage_memory` or longer. */
enum vq_status vq_rank_ask(struct vq_vibecheck_method *m, const struct vq_stage *stage,
                           enum vq_status (*then)(struct vq_vibecheck_method *m,
                                                  struct vq_error *err),
                           struct vq_error *err) VQ_WARN_UNUSED;
/* The same in a cascade: two stages of one judge each, the second one on some cells. */
enum vq_status vq_cascade_ask(struct vq_vibecheck_method *m, const struct vq_stage *stage,
                              enum vq_status (*then)(struct vq_vibecheck_method *m,
                                                     struct vq_error *err)) VQ_WARN_UNUSED;
/* Asks all vibes from `from` on over `rows`: all rows or the training rows, ascending, living as
 * long as the method; with early stopping in looks. */
enum vq_status vq_rank_begin(struct vq_vibecheck_method *m, const char *name, uint32_t from,
                             const uint32_t *rows, uint32_t rows_count,
                             enum vq_status (*then)(struct vq_vibecheck_method *m,
                                                    struct vq_error *err),
                             struct vq_error *err) VQ_WARN_UNUSED;
/* Asks the rows and vibes of m->ranking in one stage. */
enum vq_status vq_rank_stage(struct vq_vibecheck_method *m, const char *name,
                             enum vq_status (*then)(struct vq_vibecheck_method *m,
                                                    struct vq_error *err),
                             struct vq_error *err) VQ_WARN_UNUSED;
/* The answers of that stage into the vibes. */
void vq_rank_store(struct vq_vibecheck_method *m);
/* Both orders. */
uint8_t *vq_rank_cell(const struct vq_vibecheck_method *m, uint32_t vibe, uint32_t row,
                      uint32_t judge);
/* The same over the training rows with early stopping; then, if there are more rows than these, of
 * the given vibes those that are kept over the test rows (looks.c). `vibes` is taken. */
enum vq_status vq_looks_begin(struct vq_vibecheck_method *m, const char *name, uint32_t *vibes,
                              uint32_t vibes_count, uint32_t rows_count,
                              enum vq_status (*then)(struct vq_vibecheck_method *m,
                                                     struct vq_error *err),
                              struct vq_error *err) VQ_WARN_UNUSED;
/* Asks those of `vibes` over `rows` with no stopping. */
enum vq_status vq_rank_some(struct vq_vibecheck_method *m, const char *name, const uint32_t *vibes,
                            uint32_t vibes_count, const uint32_t *rows, uint32_t rows_count,
                            enum vq_status (*then)(struct vq_vibecheck_method *m,
                                                   struct vq_error *err),
                            struct vq_error *err) VQ_WARN_UNUSED;

/* The numbers of all vibes so far (or from `from` on) over `rows`, taken as train rows; no
 * intervals. */
enum vq_status vq_vibecheck_method_compute(const struct vq_vibecheck_method *m, uint32_t from,
                                           const uint32_t *rows, uint32_t rows_count,
                                           bool final_cap, struct vq_vibecheck **ret_result,
                                           struct vq_error *err) VQ_WARN_UNUSED;
/* The cells of a cascade, for the result; NULL: there is none. */
enum vq_status vq_vibecheck_method_why(struct vq_vibecheck_method *m,
                                       const uint8_t **ret_why) VQ_WARN_UNUSED;
/* Fills the grid of the result. */
enum vq_status vq_vibecheck_method_outcomes(struct vq_vibecheck_method *m,
                                            uint8_t **ret_outcomes) VQ_WARN_UNUSED;
