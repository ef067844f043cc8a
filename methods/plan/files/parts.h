/* Private to the forecast: estimates from stored calls, and stages with known questions. */
#pragma once

#include "coordinator/store/calls/calls.h"
#include "coordinator/store/calls/settling.h"
#include "methods/files/job.h"
#include "methods/plan/forecast.h"

/* ---- learn.c ---- */

/* Observations of one model in one role and kind of stage. The first four lines are from answers to
 * this run's own questions, the other lines from all calls to the model in the store. */
struct vq_learned {
    double firsts, settled;    /* first orders with an answer; those that settle the score */
    double looked, unreadable; /* answers that were read; those that were repaired */
    double own_repair;         /* of `unreadable`, those whose repair call repaired no other one */
    /* of answers whose prompt was rendered */
    double answers, bytes, tokens_in, tokens_cached, out, out_sq;
    double calls, latency_ms, call_out, call_out_sq, call_in, call_cached, call_written;
    struct vq_settling settling;
    double asks, repairs;
};

struct vq_learning {
    const struct vq_job *job;
    struct vq_learned by[VQ_ROLE__COUNT][VQ_JUDGES_MAX][VQ_STAGE__COUNT];
    unsigned assumed; /* enum vq_forecast_assumed: assumptions that estimates needed */
};

/* A model, its role and the kind of stage. */
struct vq_learn_of {
    enum vq_role role;
    uint32_t model;
    enum vq_stage_kind kind;
};

enum vq_status vq_learn_ledger(struct vq_learning *learning, struct vq_calls *calls,
                               struct vq_error *err) VQ_WARN_UNUSED;
struct vq_learned *vq_learn_at(struct vq_learning *learning, struct vq_learn_of of);
struct vq_range vq_learn_tokens_a_byte(struct vq_learning *learning, struct vq_learn_of of);
/* Output tokens of one answer; `items`: number of verdicts in it. */
struct vq_range vq_learn_output(struct vq_learning *learning, struct vq_learn_of of, double items);
struct vq_range vq_learn_latency_s(struct vq_learning *learning, struct vq_learn_of of,
                                   struct vq_range output);
double vq_learn_settled(struct vq_learning *learning, struct vq_learn_of of);
/* Whether the store has enough verdicts for the run to use their share from its first stage on. */
bool vq_learn_settled_by_run(struct vq_learning *learning, struct vq_learn_of of);
struct vq_range vq_learn_repaired(struct vq_learning *learning, struct vq_learn_of of);
double vq_learn_cached(const struct vq_learning *learning, struct vq_learn_of of);
double vq_learn_written(const struct vq_learning *learning, struct vq_learn_of of);

/* ---- limits.c: the only place that knows the limits of calls ---- */

/* Allocates and fills limits and pools; indices are those of the job's pools. */
enum vq_status vq_forecast_fill_limits(const struct vq_job *job,
                                       struct vq_forecast *forecast) VQ_WARN_UNUSED;
/* The indices of the pools that may serve a model; *ret_count of them, borrowed from the job. */
const uint32_t *vq_forecast_serving(const struct vq_job *job, enum vq_role role, uint32_t model,
                                    uint32_t *ret_count);

/* ---- known.c ---- */

struct vq_known_judge { /* tasks of one judge */
    uint64_t planned;
    uint64_t from_store;
    uint64_t saved;         /* not needed: the other order is stored and settles the score */
    uint64_t certain;       /* will be asked */
    uint64_t maybe;         /* will be asked unless the first order settles */
    uint64_t repairs;       /* stored answers without a verdict, which need a repair */
    uint64_t repairs_texts; /* number of different texts among them: each is repaired once */
    /* For dialogues and probes, sums over the `certain` tasks: bytes sent, history and all; and the
     * number of answers in this history that do not exist yet */
    double talk_bytes, unheard;
};

/* All tasks of a stage grid, looked up. */
struct vq_known_stage {
    const struct vq_stage_grid *asking;
    struct vq_known_judge *judges; /* one per judge of the grid */
    uint16_t *certain, *maybe;     /* by shard */
    uint8_t *outcomes;             /* by task */
    /* CHAT: bytes sent, by task / 2, without answers that do not exist yet; else NULL */
    uint32_t *sent;
    uint64_t open;
    struct vq_arena memory;
};

/* Looks up every task, and adds stored answers to `learning`. `view` NULL: the store is empty. The
 * caller frees *ret_known. */
enum vq_status vq_known_stage_read(const struct vq_stage_grid *asking, enum vq_role role,
                                   struct vq_view *view, struct vq_learning *learning,
                                   struct vq_known_stage *ret_known,
                                   struct vq_error *err) VQ_WARN_UNUSED;
void vq_known_stage_free(struct vq_known_stage *known);

/* Mean bytes of a judge's rendered prompt, over the samples by weight (one each). Only a selection
 * of the samples, stratified by the length of their texts, is rendered; the bytes that rendering
 * adds are extrapolated to the others. *ret_error: standard error of the mean. Both are 0 if all
 * weights are 0. */
enum vq_status vq_prompt_bytes(const struct vq_stage_grid *asking, uint32_t judge,
                               const float *weights, double *ret_bytes,
                               double *ret_error) VQ_WARN_UNUSED;
