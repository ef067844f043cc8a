/* Every bound of the worker's core, in one place. Times are what a quiet run wants; tests pass their own through
 * struct vq_work_options where it says so. */
#ifndef VQ_WORKER_LIMITS_H
#define VQ_WORKER_LIMITS_H

/* what it may hold */
#define VQ_WORK_JUDGES_MAX         256u
#define VQ_WORK_ASKS_MAX           65536u /* open asks of all leases together; credit stays below */
#define VQ_WORK_LEASES_MAX         65536u /* never more leases than asks */
#define VQ_WORK_SAMPLES_MAX        65536u /* samples in the cache */
#define VQ_WORK_SAMPLES_BYTES_SOFT (256u << 20) /* above it no further credit is asked for */
#define VQ_WORK_SAMPLES_BYTES_MAX                                                                  \
    (512u << 20)                         /* above it a SAMPLE is not kept and its lease returned */
#define VQ_WORK_CALLS_MAX         65536u /* in flight */
#define VQ_WORK_OUTBOX_MAX        262144u /* results without an ACK; above half of it no call starts */
#define VQ_WORK_OUTBOX_BYTES_SOFT (128u << 20) /* above it no call starts */
#define VQ_WORK_NOTES_MAX         64u          /* log lines a step; more are counted and dropped */
#define VQ_WORK_TEXT_BYTES_MAX    512u         /* of a note, of a pool's reason */

/* calls */
#define VQ_WORK_CONCURRENCY_DEFAULT 16u    /* of a judge, until a GRANT says otherwise */
#define VQ_WORK_CONCURRENCY_MAX     16384u /* of one process */
#define VQ_WORK_TRIES_DEFAULT       5u     /* where the SPEC gives 0 */
#define VQ_WORK_BACKOFF_MS          500    /* full jitter over this, doubled with each try ... */
#define VQ_WORK_BACKOFF_MS_MAX      30000  /* ... up to this */
#define VQ_WORK_PAUSE_MS                                                                           \
    1000 /* a refusal of capacity without Retry-After, doubled while they go on ... */
#define VQ_WORK_PAUSE_MS_MAX       60000 /* ... up to this */
#define VQ_WORK_RETRY_AFTER_MS_MAX 60000 /* what a Retry-After may ask of us */
#define VQ_WORK_OUTPUT_BYTES_MIN   256u  /* truncation stops here: then it is too long */
#define VQ_WORK_BYTES_PER_TOKEN    4u    /* the estimate that the token limit reserves with */

/* the link */
#define VQ_WORK_HELLO_MS          500  /* until a WELCOME: again after this, doubled ... */
#define VQ_WORK_HELLO_MS_MAX      5000 /* ... up to this */
#define VQ_WORK_SILENT_HEARTBEATS 3u   /* unanswered: HELLO again */
#define VQ_WORK_ORPHAN_LOCAL_S                                                                     \
    60u /* without a word from the coordinator; WELCOME may say otherwise */
#define VQ_WORK_ORPHAN_REMOTE_S 3600u
#define VQ_WORK_ORPHAN_S_MAX    (7u * 24u * 3600u)
#define VQ_WORK_TERM_MS_MAX     (3600u * 1000u)
#define VQ_WORK_BATCH_RESULTS   256u         /* a RESULTS frame goes when it has this many, ... */
#define VQ_WORK_BATCH_BYTES     (512u << 10) /* ... or this many bytes, ... */
#define VQ_WORK_BATCH_MS        3            /* ... or waited this long */
#define VQ_WORK_RESEND_MS_MIN                                                                      \
    2000 /* without an ACK: again after a term, and never sooner than this */

/* credit */
#define VQ_WORK_AHEAD_S     3.0 /* work for this long, by the speed seen ... */
#define VQ_WORK_AHEAD_CALLS 4u  /* ... and at least this many tasks a slot, and a shard */
#define VQ_WORK_CREDIT_MS   200 /* not more often than this, unless a pool closes */

#endif
