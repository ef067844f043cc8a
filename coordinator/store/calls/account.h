/* The numbers of accounting.json: a pure fold over a run's ledger rows and the final outcomes of
 * its stages. Two sums always hold, for each stage and for the run:
 *   planned = first_sends + from_store + saved_by_lazy_swap + not_asked
 *   sent    = first_sends + asked_again + retried + repairs
 * `not_asked` is 0 for a finished run without worker_lost failures. */
#pragma once

#include "common/judge/ending.h"
#include "coordinator/store/calls/bill.h"
#include "coordinator/store/calls/plan.h"
#include "proto/messages.h"

#define VQ_ACCOUNT_WORKERS_MAX 4096

/* One ledger row; its amounts: proto/pool.h. */
struct vq_call_row {
    /* As it came. Its texts of the answer, its shard and `repaired` are not recorded. `outcome`: as
     * the worker read it; `cost_nano`: 0 in rows without a pool; `pool`: empty: recorded before
     * there were pools, or only listed by a worker. */
    struct vq_result result;
    bool used;    /* its answer is in force in the store */
    bool foreign; /* its hash is not the task's */
    int64_t recorded_unix_ms;
    struct vq_span worker;
};

struct vq_ledger_price { /* of one judge, dollars per million tokens; negative: not set */
    double input_usd;
    double output_usd;
};

struct vq_account_sums {
    uint64_t sent;
    uint64_t answered;
    /* calls by end; answers, UNKNOWN, CANCELLED and BATCHED have separate counts */
    uint64_t failed[VQ_END__COUNT];
    uint64_t unknown;
    uint64_t cancelled;  /* with their batch: they are asked again and cost nothing */
    uint64_t in_batches; /* part of a batch at a provider; their cost is the maximum */
    uint64_t paid_unused;
    uint64_t tokens_in, tokens_cached, tokens_written, tokens_out;
    uint64_t latency_ms; /* sum over answered calls */
    double cost_usd; /* of pools with a price; for rows without a pool, of judges with a price */
};

void vq_account_sums_add(struct vq_account_sums *to, const struct vq_account_sums *s);

struct vq_account_worker {
    char name[65];
    struct vq_account_sums sums;
};

#define VQ_ACCOUNT_POOLS_MAX       4096
#define VQ_ACCOUNT_POOL_NAME_BYTES 257
struct vq_account_pool {
    char name[VQ_ACCOUNT_POOL_NAME_BYTES];
    struct vq_account_sums sums;
    struct vq_bill bill;
};

/* Answers whose ending word is not a normal end: none of them is a vote. */
#define VQ_ACCOUNT_ENDINGS_MAX 32u
struct vq_account_ending {
    char word[VQ_ENDING_WORD_BYTES_MAX + 1];
    uint64_t count;
};

/* One stage, or all stages together. */
struct vq_account_part {
    uint64_t planned;
    uint64_t first_sends; /* tasks that this run sent for the first time */
    /* Tasks that an answer of another run (or of an earlier asking) settled. Also tasks whose
     * question an earlier stage of this run asked: the request counts as sent there, and as from
     * the store here */
    uint64_t from_store;
    uint64_t saved_by_lazy_swap; /* orders that were not needed and not sent */
    uint64_t not_asked;
    uint64_t asked_again; /* --retry-failed: tasks x repeats above 0 */
    /* further sends of the same asking; also sends for tasks that the stage does not ask any
     * more */
    uint64_t retried;
    uint64_t repairs;
    uint64_t audit;    /* of first_sends: second orders that only the audit asked */
    uint64_t not_sent; /* ended before it was sent from this machine */
    uint64_t foreign;
    struct vq_account_sums sums;
};

struct vq_account_stage {
    struct vq_account_part part;
    struct vq_account_sums *judges; /* one per judge of the plan */
    uint32_t judges_count;
};

struct vq_account {
    /* calls of stages that are not in the list count as retried; but the run's own stages and those
     * of a script beside it do not count each other's calls */
    struct vq_account_part all;
    struct vq_account_stage *stages;
    uint32_t stages_count;
    struct vq_account_worker *workers; /* by name */
    size_t workers_count;
    struct vq_account_pool *pools; /* by name; calls without a pool are in none */
    size_t pools_count;
    uint64_t empty; /* answers without text, or with thinking only */
    struct vq_account_ending endings[VQ_ACCOUNT_ENDINGS_MAX]; /* by word */
    uint32_t endings_count;
    uint64_t endings_other; /* answers with further words */
    /* every judge with answers in rows without a pool has a price; the caller knows about pools */
    bool priced;
    int64_t first_unix_ms; /* 0: no call */
    int64_t last_unix_ms;
};

/* A stage with its questions; borrowed until finish. */
struct vq_account_plan {
    const struct vq_plan *plan;           /* plan->stage: its number in the ledger */
    const uint8_t *outcomes;              /* one byte per task */
    const struct vq_ledger_price *prices; /* one per judge; NULL: none */
};

/* A fold: create, then row for each ledger row in any order, then finish once. Stages ascend by
 * number; at most VQ_ACCOUNT_STAGES_MAX. */
#define VQ_ACCOUNT_STAGES_MAX 65536u
struct vq_accountant;
enum vq_status vq_accountant_create(const struct vq_account_plan *stages, uint32_t stages_count,
                                    struct vq_accountant **ret_accountant) VQ_WARN_UNUSED;
enum vq_status vq_accountant_row(struct vq_accountant *accountant,
                                 const struct vq_call_row *row) VQ_WARN_UNUSED;
enum vq_status vq_accountant_finish(struct vq_accountant *accountant,
                                    struct vq_account **ret_account) VQ_WARN_UNUSED;
void vq_accountant_destroy(struct vq_accountant **accountant);
void vq_account_destroy(struct vq_account **account);
