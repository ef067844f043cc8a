/* Every bound of the coordinator's core, in one place. */
#pragma once

#define VQ_COORD_STAGE_BITS                                                                        \
    32u /* sessions and leases of a stage have numbers from stage << this on */
#define VQ_COORD_JUDGES_MAX   256u
#define VQ_COORD_VIBES_MAX    4096u
#define VQ_COORD_TASKS_MAX    UINT64_C(1000000000)
#define VQ_COORD_SESSIONS_MAX 4096u
#define VQ_COORD_LEAVING_MAX  256u   /* the last workers that were ordered to leave */
#define VQ_COORD_LEASES_MAX   65536u /* of one session */
/* in memory: being looked up, ready, leased or reserved */
#define VQ_COORD_SHARDS_MAX      (1u << 20)
#define VQ_COORD_API_BATCHES_MAX 4096u      /* batches at providers in which calls wait */
#define VQ_COORD_CALLS_MAX       (1u << 22) /* reserved calls of all workers together */
/* Listed calls of one worker. A worker that respects its own bounds (VQ_WORK_OUTBOX_MAX,
 * VQ_WORK_CONCURRENCY_MAX) lists fewer. */
#define VQ_COORD_SESSION_CALLS_MAX (1u << 18)
#define VQ_COORD_CREDIT_MAX        65536u /* tasks of one judge that a session may ask to hold */
#define VQ_COORD_LOOKUPS_MAX       64u    /* look-ups that are out at the same time */
#define VQ_COORD_ACTIONS_MAX       (1u << 22)
#define VQ_COORD_LOOKED_NS_MAX                                                                     \
    INT64_C(250000000)               /* a look-up older than this is repeated before the lease */
#define VQ_COORD_ACK_CALLS_MAX 4096u /* call ids in one ACK */

#define VQ_COORD_BATCH_RESULTS_DEFAULT                                                             \
    65536u /* also the most results that gather during a commit, and that may be leased */
#define VQ_COORD_BATCH_BYTES_DEFAULT (64u << 20)
#define VQ_COORD_BATCH_SETTLED_MAX                                                                 \
    (1u << 18) /* tasks settled by look-up in one batch; above it the scout waits */
#define VQ_COORD_REOPENED_MAX 4096u /* failed tasks that one batch opens again */
#define VQ_COORD_RECENT_CALLS                                                                      \
    65536u /* committed call ids that are remembered, so that a repeat is ACKed at once */
#define VQ_COORD_READY_DEFAULT 256u /* ready shards of all judges together */

#define VQ_COORD_PRIOR_BYTES_MAX                                                                   \
    (4u << 20) /* stored answers to repair, in one shard; the rest waits for the next lease */
#define VQ_COORD_LOST_DEFAULT                                                                      \
    3u /* leases lost with their worker before a shard is leased task by task */
#define VQ_COORD_PROBES_MAX                                                                        \
    3u /* tasks of a judge that may fail one after another before it counts as tried */
/* the run stops after this number of final results of a judge in a row that settle nothing */
#define VQ_COORD_UNSETTLED_MAX    16u
#define VQ_COORD_FRESH_HEARTBEATS 3 /* a session without a message for longer gets no new lease */
/* GRANT is sent again after this time, and its worker answers with CREDIT: either may be lost */
#define VQ_COORD_GRANT_HEARTBEATS 4u
#define VQ_COORD_POOLS_MAX        256u       /* of one judge; VQ_WIRE_POOLS_MAX */
#define VQ_COORD_LEFT_MAX         (1u << 16) /* lost workers whose spools are not read yet */
#define VQ_COORD_BROKE_HEARTBEATS                                                                  \
    2 /* the run stops if for this time only the budget prevents calls */
#define VQ_COORD_BROKE_TERMS                                                                       \
    3 /* ... and this time if lost workers may still bring some of it back */
/* terms to wait for calls that are still out after all tasks are settled */
#define VQ_COORD_LINGER_TERMS 1
#define VQ_COORD_KNOWN_MAX    4096u /* judges and pools that answered in earlier stages */
/* notes that wait to be taken; further ones are counted and dropped */
#define VQ_COORD_NOTES_MAX      64u
#define VQ_COORD_TEXT_BYTES_MAX 1000u
#define VQ_COORD_RATE_SECONDS   60u /* window of the rates in the status */
