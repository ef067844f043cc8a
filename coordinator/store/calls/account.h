/* The numbers of accounting.json: a pure fold over a run's ledger rows and the final outcomes of
 * its stages. Two sums always hold, of each stage and of the run:
 *   planned = first_sends + from_store + saved_by_lazy_swap + not_asked
 *   sent    = first_sends + asked_again + retried + repairs
 * `not_asked` is 0 for a finished run without worker_lost failures. */
#pragma once

#include "common/judge/ending.h"
#include "coordinator/store/calls/bill.h"
#include "coordinator/store/calls/plan.h"
#include "proto/messages.h"

#define VQ_ACCOUNT_WORKERS_MAX 4096

/* One ledger row. */
struct vq_call_row {
    struct vq_id call;
    struct vq_hash request;
    uint32_t stage; /* that task and judge are numbers of */
    uint64_t task;
    struct vq_fence fence;
    uint32_t judge;
    uint32_t repeat;
    uint32_t tries;
    uint8_t kind;    /* enum vq_call_kind */
    uint8_t end;     /* enum vq_call_end */
    uint8_t outcome; /* enum vq_outcome, as the worker read it */
    bool final;
    bool refusal;
    bool used;    /* its answer is the one that stands in the store */
    bool foreign; /* its hash was not the task's */
    uint32_t http_status;
    uint32_t latency_ms;
    int64_t started_unix_ms;
    int64_t recorded_unix_ms;
    uint64_t tokens_in, tokens_cached, tokens_out;
    uint64_t tokens_reserved; /* when it was sent */
    uint64_t cost_nano; /* nano-dollars, by the pool's prices; 0 where there was no pool yet */
    uint64_t provider_nano, prompt_chars, tokens_written; /* as in vq_result */
    struct vq_span tier;                                  /* likewise */
    bool unreported;
    struct vq_span pool; /* its name; empty: recorded before there were pools, or only heard of */
    struct vq_span label_logprobs; /* as in vq_result */
    struct vq_span worker;
    struct vq_span model; /* as the provider returned it */
    struct vq_span error;
};

/* Whether anything of it left this machine; a provider counts it then, however it ended. */
bool vq_call_row_sent(const struct vq_call_row *row);
/* What it took of a quota of tokens: as used; where its provider did not say and may have counted
 * it, as reserved. */
uint64_t vq_call_row_tokens(const struct vq_call_row *row);

struct vq_ledger_price { /* of one judge, dollars per million tokens; negative: not set */
    double input_usd;
    double output_usd;
};

struct vq_account_sums {
    uint64_t sent;
    uint64_t answered;
    /* by how they ended; an answer, UNKNOWN, CANCELLED and BATCHED have counts of their own */
    uint64_t failed[VQ_END__COUNT];
    uint64_t unknown;
    uint64_t cancelled;  /* with their batch: they are asked again, and cost nothing */
    uint64_t in_batches; /* part of a batch at a provider; their cost is what they may cost */
    uint64_t paid_unused;
    uint64_t tokens_in, tokens_cached, tokens_written, tokens_out;
    uint64_t latency_ms; /* sum over answered calls */
    double cost_usd; /* of pools with a price; where there was no pool yet, of judges with one */
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

/* Answers that ended with a word that is no ordinary ending: none of them is a vote. */
#define VQ_ACCOUNT_ENDINGS_MAX 32u
struct vq_account_ending {
    char word[VQ_ENDING_WORD_BYTES_MAX + 1];
    uint64_t count;
};

/* One stage, or all of them together. */
struct vq_account_part {
    uint64_t planned;
    uint64_t first_sends; /* tasks whose first asking this run sent */
    /* Tasks that another run's (or an earlier asking's) answer settled; also one of an earlier
     * stage that asked the same: the request counts as sent there, and here as from the store */
    uint64_t from_store;
    uint64_t saved_by_lazy_swap; /* orders that were not needed, and not sent */
    uint64_t not_asked;
    uint64_t asked_again; /* --retry-failed: tasks x repeats above 0 */
    /* further sends of the same asking; also of what the stage asked once, and does not now */
    uint64_t retried;
    uint64_t repairs;
    uint64_t audit;    /* of first_sends: swapped orders that only the audit asked for */
    uint64_t not_sent; /* ended before anything left this machine */
    uint64_t foreign;
    struct vq_account_sums sums;
};

struct vq_account_stage {
    struct vq_account_part part;
    struct vq_account_sums *judges; /* grid.judges of its plan */
    uint32_t judges_count;
};

struct vq_account {
    /* calls of stages that are not in the list count as retried; between a run's own stages and
     * those beside it, neither knows of the other's */
    struct vq_account_part all;
    struct vq_account_stage *stages;
    uint32_t stages_count;
    struct vq_account_worker *workers; /* by name */
    size_t workers_count;
    struct vq_account_pool *pools; /* by name; calls that name none are in none */
    size_t pools_count;
    uint64_t empty; /* answers without text, or with nothing but thinking */
    struct vq_account_ending endings[VQ_ACCOUNT_ENDINGS_MAX]; /* by word */
    uint32_t endings_count;
    uint64_t endings_other; /* with words beyond that many */
    /* every judge that answered without naming a pool has a price; of pools the caller knows */
    bool priced;
    int64_t first_unix_ms; /* 0: no call */
    int64_t last_unix_ms;
};

/* A stage as it was asked; borrowed until finish. */
struct vq_account_plan {
    const struct vq_plan *plan;           /* plan->stage: its number in the ledger */
    const uint8_t *outcomes;              /* one byte a task */
    const struct vq_ledger_price *prices; /* a judge each; NULL: none */
};

/* A fold: create, row for each ledger row in any order, finish once. Stages ascend by number; at
 * most VQ_ACCOUNT_STAGES_MAX. */
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
