/* Private to the forecast: what is learned from stored calls, and a stage whose questions are
 * known. */
#pragma once

#include "coordinator/store/calls/calls.h"
#include "coordinator/store/calls/settling.h"
#include "methods/files/job.h"
#include "methods/plan/forecast.h"

/* ---- learn.c ---- */

/* Of one model in one role and kind of stage. The first part is from answers to the very questions
 * of this run, the second from any calls of that model in the store. */
struct vq_learned {
    double firsts, settled;    /* first orders that are answered; that settle the score */
    double looked, unreadable; /* answers looked at; that were repaired */
    double own_repair;         /* of these, by a call that repaired no other one of them */
    double answers, bytes, tokens_in, tokens_cached, out, out_sq; /* of rendered ones */
    double calls, latency_ms, call_out, call_out_sq, call_in, call_cached, call_written;
    struct vq_settling settling;
    double asks, repairs;
};

struct vq_learning {
    const struct vq_job *job;
    struct vq_learned by[VQ_ROLE__COUNT][VQ_JUDGES_MAX][VQ_STAGE__COUNT];
    unsigned assumed; /* enum vq_forecast_assumed, of what was asked for and not known */
};

/* Which model, doing what. */
struct vq_learn_of {
    enum vq_role role;
    uint32_t model;
    enum vq_stage_kind kind;
};

enum vq_status vq_learn_ledger(struct vq_learning *learning, struct vq_calls *calls,
                               struct vq_error *err) VQ_WARN_UNUSED;
struct vq_learned *vq_learn_at(struct vq_learning *learning, struct vq_learn_of of);
struct vq_range vq_learn_tokens_a_byte(struct vq_learning *learning, struct vq_learn_of of);
/* Of one answer; `items`: verdicts asked for in it. */
struct vq_range vq_learn_output(struct vq_learning *learning, struct vq_learn_of of, double items);
struct vq_range vq_learn_latency_s(struct vq_learning *learning, struct vq_learn_of of,
                                   struct vq_range output);
double vq_learn_settled(struct vq_learning *learning, struct vq_learn_of of);
/* Whether the run finds enough verdicts in the store to use their share from its first stage on. */
bool vq_learn_settled_by_run(struct vq_learning *learning, struct vq_learn_of of);
struct vq_range vq_learn_repaired(struct vq_learning *learning, struct vq_learn_of of);
double vq_learn_cached(const struct vq_learning *learning, struct vq_learn_of of);
double vq_learn_written(const struct vq_learning *learning, struct vq_learn_of of);

/* ---- limits.c: the one place that knows what calls are limited by ---- */

/* Allocates and fills limits and pools; indices are those of the job's pools. */
enum vq_status vq_forecast_fill_limits(const struct vq_job *job,
                                       struct vq_forecast *forecast) VQ_WARN_UNUSED;
/* Which of them may answer for a model; *ret_count of them, borrowed from the job. */
const uint32_t *vq_forecast_serving(const struct vq_job *job, enum vq_role role, uint32_t model,
                                    uint32_t *ret_count);

/* ---- known.c ---- */

struct vq_known_judge { /* tasks of one judge */
    uint64_t planned;
    uint64_t from_store;
    uint64_t saved;         /* not needed: the other order is stored and settles */
    uint64_t certain;       /* will be asked */
    uint64_t maybe;         /* will be asked unless the first order settles */
    uint64_t repairs;       /* a stored answer without a verdict, to be repaired */
    uint64_t repairs_texts; /* their different texts: each is repaired once */
    /* Of dialogues and probes, sums over the certain ones: bytes of what is sent, history and all;
     * and of the answers in that history those that are not there yet */
    double talk_bytes, unheard;
};

/* All tasks of an asking looked up. */
struct vq_known_stage {
    const struct vq_stage_grid *asking;
    struct vq_known_judge *judges; /* asking's judges */
    uint16_t *certain, *maybe;     /* by shard */
    uint8_t *outcomes;             /* by task */
    /* CHAT: bytes of what is sent, by task / 2, without answers that are not there; else NULL */
    uint32_t *sent;
    uint64_t open;
};

/* Looks every task up, and teaches `learning` what is stored. `view` NULL: nothing is. The caller
 * frees *ret_known. */
enum vq_status vq_known_stage_read(const struct vq_stage_grid *asking, enum vq_role role,
                                   struct vq_view *view, struct vq_learning *learning,
                                   struct vq_known_stage *ret_known,
                                   struct vq_error *err) VQ_WARN_UNUSED;
void vq_known_stage_free(struct vq_known_stage *known);

/* Mean bytes of a rendered prompt of one judge, over the samples by weight (one each): a sample
 * stratified by the length of the texts is rendered, and what rendering adds is carried over to the
 * rest. *ret_error: its standard error. 0 without any weight. */
enum vq_status vq_prompt_bytes(const struct vq_stage_grid *asking, uint32_t judge,
                               const float *weights, double *ret_bytes,
                               double *ret_error) VQ_WARN_UNUSED;
