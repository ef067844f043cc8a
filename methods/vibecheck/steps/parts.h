/* Private to the method machine: its state, and the functions that its files share.
 *
 *     method.c   create, next, take, result; asking a stage
 *     walk.c     the order of the parts
 *     prefer.c   preference labels by judges
 *     rank.c     asking vibes on rows
 *     looks.c    the same in looks, with early stopping
 *     joint.c    the same with several vibes in one call
 *     cascade.c  the same with a first judge, and a second judge for some cells
 *     discover.c rows to batches to prompts to proposals
 *     lists.c    asking again for texts that were cut
 *     reduce.c   groups, summaries, simplification, at most K axes
 *     support.c  the nearest reduced axis of each proposal; dedup; the new vibes
 *     numbers.c  the cells as a grid, and the numbers computed from it
 *     iterate.c  the numbers after each iteration, misclassified rows, stop rules
 *     extras.c   preset vibes beside the found ones, question types
 *     stability.c  repeats of the first round with other seeds, and the vibes that they find again
 *     retest.c   asking a share of the cells a second time
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
    bool kept; /* it survived the last computation of the numbers */
    const char *question_types;
};

/* The rows and vibes of the current ranking, with or without early stopping. */
struct vq_vibecheck_method_ranking {
    const char *name;
    uint32_t rows_count;  /* number of rows to ask in all */
    uint32_t *asked_rows; /* rows of the current stage */
    uint32_t asked_rows_count;
    uint32_t *asked_vibes;
    uint32_t asked_vibes_count;
    uint32_t *order; /* with early stopping: the training rows in the order of the draw */
    uint32_t drawn;  /* number of rows of `order` that were asked */
    uint32_t ends[VQ_LOOKS_MAX], looks, look;
    enum vq_status (*then)(struct vq_vibecheck_method *m, struct vq_error *err);
};

/* The contents of a ranking in joint calls. They live as long as the method, so that its answers
 * can be looked up later. */
struct vq_vibecheck_method_joint_asked {
    const uint32_t *rows;
    const struct vq_axis *axes; /* their texts are those of the vibes */
    uint32_t rows_count, axes_count;
    struct vq_span *lists; /* one per group: its axes, numbered */
};

/* The current ranking in joint calls (judging.vibes_per_call over 1). `rows`, `axes` and `lists`
 * live as long as the method, the other members in `memory` until the next ranking begins. */
struct vq_vibecheck_method_joint {
    struct vq_arena memory;
    const char *name;
    const uint32_t *rows;
    const struct vq_axis *axes;
    uint32_t rows_count, axes_count;
    uint32_t orders; /* number of orders: 1 under pair_rule: forward */
    /* number of groups of axes: vibes_per_call axes each, the last group has the rest */
    uint32_t groups;
    struct vq_span *lists; /* one per group: its axes, numbered */
    /* number of all prompts; first prompt of the current stage; first prompt of the next one */
    uint64_t prompts, first, next;
    uint8_t *outcomes; /* in the form of a RANK stage */
    uint64_t unread;   /* number of cells without a verdict in a joint answer */
    /* rows and axes of the stage that asks these cells one by one: indices of the arrays
     * above */
    uint32_t *again_rows, *again_axes;
    uint32_t again_rows_count, again_axes_count;
    enum vq_status (*then)(struct vq_vibecheck_method *m, struct vq_error *err);
};

/* The current ranking in a cascade; it lives in `memory` until the next ranking begins. */
struct vq_vibecheck_method_cascade {
    struct vq_arena memory;
    const char *name;
    const uint32_t *rows;
    const struct vq_axis *axes;
    uint32_t rows_count, axes_count;
    uint32_t first;          /* number of the judge that is asked everything */
    uint8_t *outcomes;       /* in the form of one RANK stage */
    uint8_t *why;            /* [row * axes + axis]: enum vq_cascade_why */
    uint32_t *escalated;     /* rows of the second judge's stage: indices of `rows` */
    uint32_t *escalated_row; /* the same rows, as rows of the data */
    uint32_t escalated_count;
    enum vq_status (*then)(struct vq_vibecheck_method *m, struct vq_error *err);
};

struct vq_vibecheck_method_batch {
    uint32_t *rows;
    uint32_t rows_count;
    bool flipped; /* output 1 is B's */
};

/* The current round; it lives in `round_memory`. */
struct vq_vibecheck_method_round {
    struct vq_vibecheck_method_batch *batches;
    uint32_t batches_count;
    uint32_t *batch_of; /* prompt -> batch, if only some batches are asked again */
    uint32_t first_proposal, proposals_count;
    uint32_t asked; /* prompts of the stage before, if it does not have all batches or groups */
    /* number of answers and items without a proposal */
    uint32_t nothing, failed, unread, rejected, over;
    const float *proposal_vectors; /* NULL: not embedded */
    uint32_t dims;
    bool embeds; /* there is an embedder, and no embedding has failed in this round */
    uint32_t *group_of;
    uint32_t groups_count;
    struct vq_axis **group_axes;
    uint32_t *group_counts;
    uint32_t *group_of_prompt;
    struct vq_span *summaries; /* one per group; .at NULL: none */
    struct vq_axis *axes;      /* the list that is being reduced */
    uint32_t axes_count;
    uint32_t tries;
    uint32_t *support; /* one per axis of `axes` */
    uint32_t *order;   /* the axes, ordered by support */
    uint32_t *nearest; /* proposal (from first_proposal) -> axis of `axes` */
    bool *dropped;     /* one per axis of `axes` */
};

/* The requested texts of the proposer or reducer, while those that were cut are asked again. */
struct vq_vibecheck_method_lists {
    struct vq_arena memory; /* lives until the next texts are requested */
    const char *name;
    enum vq_role role;
    uint32_t count; /* number of prompts of the part that requested them */
    uint32_t room;  /* `room` of the current stage: 0, 1 ... VQ_LIST_RETRIES */
    struct vq_span *texts;
    uint8_t *ends;
    bool *cut; /* cut, or without an answer since it was asked again */
    /* the prompts of the current stage; after its answers, those of the next stage */
    uint32_t *asked;
    uint32_t asked_count;
    struct vq_stage_prompt *prompts; /* the prompts of `asked` */
    enum vq_status (*then)(struct vq_vibecheck_method *m, struct vq_error *err);
};

struct vq_vibecheck_method {
    struct vq_vibecheck_method_input in;
    struct vq_arena memory;         /* lives as long as the method */
    struct vq_arena round_memory;   /* lives for an iteration */
    struct vq_arena stage_memory;   /* the questions of the current stage */
    struct vq_arena answers_memory; /* the answers to the last stage */

    enum vq_status (*then)(struct vq_vibecheck_method *m,
                           struct vq_error *err); /* NULL: the method is at its end */
    bool asking;                                  /* `stage` is being asked */
    /* status of a failed vq_vibecheck_method_next, which every further call returns */
    enum vq_status failed;
    struct vq_error failure;
    struct vq_stage stage;
    uint32_t stages;

    const uint8_t *outcomes; /* the answers to the last stage */
    const struct vq_span *texts;
    const uint8_t *text_ends;    /* enum vq_outcome of texts without an answer */
    const uint8_t *text_endings; /* how the texts ended (enum vq_ending); NULL: all ordinary */
    /* of lists: texts that are still cut at the token limit; else NULL */
    const bool *text_cuts;
    uint8_t *endings; /* endings of the texts to come; owned */
    size_t endings_count;
    const float *vectors; /* NULL: no vectors */
    uint32_t dims;

    struct vq_row *rows; /* with the preferences that are used */
    uint32_t *train;     /* in seeded order, without excluded rows */
    uint32_t train_count;
    uint32_t *train_sorted, *test_sorted, *all_sorted; /* ascending, without excluded rows */
    uint32_t test_count, all_count;

    struct vq_vibecheck_method_vibe *vibes;
    size_t vibes_count, vibes_cap;
    struct vq_proposal *proposals;
    size_t proposals_count, proposals_cap;
    const char **notes;
    size_t notes_count, notes_cap;
    struct vq_iteration *iterations; /* has room for the configured number of iterations */
    uint32_t iteration;              /* number of the current iteration */
    uint32_t *misclassified;         /* train rows that the last numbers classify wrongly */
    uint32_t misclassified_count;
    struct vq_vibecheck_method_ranking ranking;
    struct vq_vibecheck_method_joint joint;
    struct vq_vibecheck_method_cascade cascade;
    float *margins; /* margins of the outcomes to come; owned */
    size_t margins_count;
    struct vq_vibecheck_method_lists lists;
    struct vq_vibecheck_method_joint_asked *joints; /* all rankings in joint calls so far */
    size_t joints_count, joints_cap;
    struct vq_vibecheck_method_round round;
    uint32_t *typed; /* the vibes that the question-types stage asks about */
    uint32_t typed_count;
    bool lists_axes; /* in a repeat: it ends with its vibes, before any is ranked */
    struct vq_vibecheck_method *repeat; /* the current repeat; owned */
    struct vq_stability *stability;
    struct vq_vibecheck_method_result result;
};

/* ---- method.c ---- */

/* Adds a line for log and report. */
enum vq_status vq_vibecheck_method_note(struct vq_vibecheck_method *m, const char *fmt, ...)
    VQ_PRINTF(2, 3) VQ_WARN_UNUSED;
/* Asks a stage; `then` is called when its answers are taken. The contents of the stage must live in
 * `stage_memory` or longer; names are copied. */
enum vq_status vq_vibecheck_method_ask(struct vq_vibecheck_method *m, const struct vq_stage *stage,
                                       enum vq_status (*then)(struct vq_vibecheck_method *m,
                                                              struct vq_error *err)) VQ_WARN_UNUSED;
/* Adds a vibe to be asked next. VQ_LIMIT at VQ_VIBES_MAX. */
enum vq_status vq_vibecheck_method_add_vibe(struct vq_vibecheck_method *m,
                                            const struct vq_axis *axis,
                                            const struct vq_provenance *provenance) VQ_WARN_UNUSED;

/* As vq_vibecheck_method_ask, for texts to embed. */
enum vq_status vq_vibecheck_method_ask_vectors(
    struct vq_vibecheck_method *m, const char *name, const struct vq_span *texts, uint32_t count,
    enum vq_status (*then)(struct vq_vibecheck_method *m, struct vq_error *err)) VQ_WARN_UNUSED;
enum vq_status vq_vibecheck_method_axis_copy(struct vq_arena *arena, const struct vq_axis *axis,
                                             struct vq_axis *ret_axis) VQ_WARN_UNUSED;
/* The one-line form of an axis, in stage_memory. */
enum vq_status vq_vibecheck_method_axis_text(struct vq_vibecheck_method *m,
                                             const struct vq_axis *axis,
                                             struct vq_span *ret_text) VQ_WARN_UNUSED;

/* Each use of randomness has its own stream of the run's seed, and so has each iteration. */
enum vq_vibecheck_method_seed {
    VQ_VIBECHECK_SEED_SAMPLE = 1001,
    VQ_VIBECHECK_SEED_GROUPS,
    VQ_VIBECHECK_SEED_LOOKS,
    VQ_VIBECHECK_SEED__STEP = 16
};
void vq_vibecheck_method_rng(const struct vq_vibecheck_method *m, enum vq_vibecheck_method_seed use,
                             struct vq_rng *ret_rng);

/* ---- lists.c: texts of the proposer and the reducer ---- */

/* how often a cut text is asked again, each time with twice the output tokens */
#define VQ_LIST_RETRIES 2u

/* `name` must live until vq_lists_ask. */
void vq_lists_begin(struct vq_vibecheck_method *m, const char *name, enum vq_role role,
                    uint32_t count,
                    enum vq_status (*then)(struct vq_vibecheck_method *m, struct vq_error *err));
enum vq_status vq_lists_ask(struct vq_vibecheck_method *m,
                            const struct vq_stage *stage) VQ_WARN_UNUSED;
/* Call it after m->texts were taken, while the stage's prompts exist. */
enum vq_status vq_lists_take(struct vq_vibecheck_method *m) VQ_WARN_UNUSED;
/* Text i without a last line that may be cut. */
struct vq_span vq_lists_whole(const struct vq_vibecheck_method *m, uint32_t i);

/* ---- walk.c: each continues with the next part ---- */

enum vq_status vq_walk_start(struct vq_vibecheck_method *m, struct vq_error *err) VQ_WARN_UNUSED;
enum vq_status vq_walk_labelled(struct vq_vibecheck_method *m, struct vq_error *err) VQ_WARN_UNUSED;
enum vq_status vq_walk_final(struct vq_vibecheck_method *m, struct vq_error *err) VQ_WARN_UNUSED;

enum vq_status vq_walk_end(struct vq_vibecheck_method *m, struct vq_error *err) VQ_WARN_UNUSED;

/* ---- the parts; each continues on its own until the next part ---- */

enum vq_status vq_discover_begin(struct vq_vibecheck_method *m,
                                 struct vq_error *err) VQ_WARN_UNUSED;
/* A list for a prompt: the vibes that the next round keeps, or (`carried` false) the other
 * vibes. */
enum vq_status vq_vibecheck_method_list(struct vq_vibecheck_method *m, bool carried,
                                        struct vq_span *ret_text) VQ_WARN_UNUSED;
enum vq_status vq_reduce_begin(struct vq_vibecheck_method *m, struct vq_error *err) VQ_WARN_UNUSED;
enum vq_status vq_support_begin(struct vq_vibecheck_method *m, struct vq_error *err) VQ_WARN_UNUSED;
enum vq_status vq_iterate_rank(struct vq_vibecheck_method *m, struct vq_error *err) VQ_WARN_UNUSED;
enum vq_status vq_iterate_no_new(struct vq_vibecheck_method *m,
                                 struct vq_error *err) VQ_WARN_UNUSED;
enum vq_status vq_presets_begin(struct vq_vibecheck_method *m, struct vq_error *err) VQ_WARN_UNUSED;

/* The vibes that the results will keep, and the numbers on train that decide this; the caller
 * destroys *ret_numbers. */
enum vq_status vq_vibecheck_method_final(struct vq_vibecheck_method *m, uint32_t **ret_vibes,
                                         uint32_t *ret_count, struct vq_vibecheck **ret_numbers,
                                         struct vq_error *err) VQ_WARN_UNUSED;

/* stability.c; vq_retest_begin follows. */
enum vq_status vq_stability_begin(struct vq_vibecheck_method *m,
                                  struct vq_error *err) VQ_WARN_UNUSED;
enum vq_status vq_stability_next(struct vq_vibecheck_method *m,
                                 struct vq_error *err) VQ_WARN_UNUSED;

/* The last part. */
enum vq_status vq_retest_begin(struct vq_vibecheck_method *m, struct vq_error *err) VQ_WARN_UNUSED;

enum vq_status vq_prefer_begin(struct vq_vibecheck_method *m, struct vq_error *err) VQ_WARN_UNUSED;

/* Asks a RANK stage, in joint calls or in a cascade if the configuration says so; in each case
 * `then` finds m->outcomes in the stage's grid. The contents of the stage must live in
 * `stage_memory` or longer. */
enum vq_status vq_rank_ask(struct vq_vibecheck_method *m, const struct vq_stage *stage,
                           enum vq_status (*then)(struct vq_vibecheck_method *m,
                                                  struct vq_error *err),
                           struct vq_error *err) VQ_WARN_UNUSED;
/* As vq_rank_ask, in a cascade: two stages of one judge each, the second one on some cells. */
enum vq_status vq_cascade_ask(struct vq_vibecheck_method *m, const struct vq_stage *stage,
                              enum vq_status (*then)(struct vq_vibecheck_method *m,
                                                     struct vq_error *err)) VQ_WARN_UNUSED;
/* Asks all vibes from number `from` on, over `rows`: all rows or the training rows, ascending,
 * which live as long as the method; with early stopping, in looks. */
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
/* Stores the answers of that stage in the vibes. */
void vq_rank_store(struct vq_vibecheck_method *m);
/* The cell of a vibe, row and judge: two bytes, one per order. */
uint8_t *vq_rank_cell(const struct vq_vibecheck_method *m, uint32_t vibe, uint32_t row,
                      uint32_t judge);
/* As vq_rank_begin, over the training rows with early stopping. If rows_count is larger than their
 * number, the kept given vibes are then asked on the test rows (looks.c). Takes ownership of
 * `vibes`. */
enum vq_status vq_looks_begin(struct vq_vibecheck_method *m, const char *name, uint32_t *vibes,
                              uint32_t vibes_count, uint32_t rows_count,
                              enum vq_status (*then)(struct vq_vibecheck_method *m,
                                                     struct vq_error *err),
                              struct vq_error *err) VQ_WARN_UNUSED;
/* Asks `vibes` over `rows`, without early stopping. */
enum vq_status vq_rank_some(struct vq_vibecheck_method *m, const char *name, const uint32_t *vibes,
                            uint32_t vibes_count, const uint32_t *rows, uint32_t rows_count,
                            enum vq_status (*then)(struct vq_vibecheck_method *m,
                                                   struct vq_error *err),
                            struct vq_error *err) VQ_WARN_UNUSED;

/* Computes the numbers of all vibes so far (or from number `from` on) over `rows`, which count as
 * train rows; without intervals. */
enum vq_status vq_vibecheck_method_compute(const struct vq_vibecheck_method *m, uint32_t from,
                                           const uint32_t *rows, uint32_t rows_count,
                                           bool final_cap, struct vq_vibecheck **ret_result,
                                           struct vq_error *err) VQ_WARN_UNUSED;
/* The reasons of a cascade's cells, for the result; NULL: no cascade. */
enum vq_status vq_vibecheck_method_why(struct vq_vibecheck_method *m,
                                       const uint8_t **ret_why) VQ_WARN_UNUSED;
/* Fills the grid of the result. */
enum vq_status vq_vibecheck_method_outcomes(struct vq_vibecheck_method *m,
                                            uint8_t **ret_outcomes) VQ_WARN_UNUSED;
