/* A model of the store: LMDB (answers, ledger, failure rows) and the run state in Redis (a column
 * of outcomes and the number of the last commit). States come from vq_task_state, verdicts from
 * vq_verdict_of, as in the real one. Which request a hash is of is asked of the world. For the
 * simulation and the unit tests of the coordinator's core. */
#pragma once

#include "common/judge/chain.h"
#include "coordinator/queue/coord.h"
#include "proto/result.h"
#include "proto/wire.h"
#include "tests/simulation/map.h"

#define SIM_REPEATS_MAX 4

struct sim_answer {
    char *text;
    size_t bytes;
    char *finish_reason;
    bool refusal;
};

struct sim_ledger_row {
    struct vq_id call;
    uint32_t stage;
    uint64_t task;
    uint8_t end;
    uint32_t times; /* committed so often */
    uint64_t cost_nano;
    char *draft; /* end BATCHED: its record; owned */
    size_t draft_bytes;
};

struct sim_said { /* of a batch */
    char name[VQ_RESULT_BATCH_BYTES], pool[16], id[80];
    struct vq_id owner;
    uint8_t state;
    uint32_t calls;
};

/* `stage` to `first`, and the run state's column, are of the stage that goes on. */
struct sim_store {
    enum vq_stage_kind kind;
    uint32_t stage;
    struct vq_grid grid;
    enum vq_swap swap;
    bool repair;
    uint32_t repeat_max;
    const uint8_t *audited;         /* by cell = task / 2 */
    const uint8_t *first;           /* by shard */
    const bool *blocked;            /* by task: what it depends on failed; NULL: none */
    const struct vq_sample *chains; /* of a stage of chains: by sample; NULL: it is none */
    const struct vq_asker *askers;  /* then: by judge */
    void *ctx;
    void (*request_of)(void *ctx, uint64_t task, uint32_t repeat, struct vq_hash *ret_hash);
    void (*repair_of)(void *ctx, uint64_t task, const struct vq_hash *of, struct vq_span answer,
                      struct vq_hash *ret_hash);

    struct sim_map answers_by_hash, ledger_by_call;
    struct sim_answer *answers;
    size_t answers_count, answers_cap;
    struct sim_ledger_row *ledger;
    size_t ledger_count, ledger_cap;
    struct sim_said *said;
    size_t said_count, said_cap;
    struct sim_map failures; /* by request: an outcome */
    uint64_t commits;        /* n in LMDB */

    uint8_t *column; /* Redis: by task; tasks_max of them */
    uint64_t column_commits;

    uint64_t foreign; /* results whose hash was not the task's */
};

void sim_store_init(struct sim_store *store, uint64_t tasks_max);
void sim_store_free(struct sim_store *store);

/* The request of a task; false: it is a turn that is not known yet, because the one before it has
 * no good answer. */
bool sim_store_request(const struct sim_store *store, uint64_t task, uint32_t repeat,
                       struct vq_hash *ret_hash);
/* First one wins; false when there was one. */
bool sim_store_put(struct sim_store *store, const struct vq_hash *request, struct vq_span text,
                   struct vq_span finish_reason, bool refusal);
const struct sim_ledger_row *sim_store_row(const struct sim_store *store, const struct vq_id *call);
void sim_store_state(const struct sim_store *store, uint64_t task, struct vq_task_view *ret_view);
/* What a look-up says of the shard's tasks; priors point into the store. */
void sim_store_known(const struct sim_store *store, uint64_t shard, struct vq_known *ret_known);

/* The two halves of a commit. */
void sim_store_commit_lmdb(struct sim_store *store, const struct vq_batch *batch);
void sim_store_commit_redis(struct sim_store *store, const struct vq_batch *batch);
void sim_store_rebuild_redis(struct sim_store *store);
/* What stands now of every cell that the batch touched; the caller frees *ret_settled. */
size_t sim_store_settled(const struct sim_store *store, const struct vq_batch *batch,
                         struct vq_settled **ret_settled);
/* The same for one result that is recorded without a coordinator, from a spool found after the
 * end. */
/* The record of a call that waits in a batch; false: row n is none. Valid until the next one. */
bool sim_store_draft(const struct sim_store *store, size_t n, struct vq_decoder *decoder,
                     struct vq_result *ret_draft);
void sim_store_record(struct sim_store *store, const struct vq_result *result);
