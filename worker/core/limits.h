/* Every bound of the worker's core, in one place. Some can be set through struct vq_work_options,
 * for tests. */
#ifndef VQ_WORKER_LIMITS_H
#define VQ_WORKER_LIMITS_H

/* What it may hold. Credit stays below half of VQ_WORK_ASKS_MAX asks (the other half is for those
 * whose result has no ACK yet); above VQ_WORK_SAMPLES_BYTES_SOFT no more is asked for, above
 * VQ_WORK_SAMPLES_BYTES_MAX a SAMPLE is not kept and its lease is given back. */
#define VQ_WORK_JUDGES_MAX         256u
#define VQ_WORK_ASKS_MAX           65536u
#define VQ_WORK_LEASES_MAX         50000u /* what one HEARTBEAT can list */
#define VQ_WORK_SAMPLES_MAX        65536u
#define VQ_WORK_SAMPLES_IDLE_MAX   256u /* in the cache, and no lease came for them yet */
#define VQ_WORK_SAMPLES_BYTES_SOFT (256u << 20)
#define VQ_WORK_SAMPLES_BYTES_MAX  (512u << 20)

/* Results without an ACK: above half of the count, or above the bytes, no call starts. One
 * HEARTBEAT lists them all. */
#define VQ_WORK_OUTBOX_MAX        180000u
#define VQ_WORK_OUTBOX_BYTES_SOFT (128u << 20)

/* Log lines a step (more are counted and dropped), and the text of one, or of a pool's reason. */
#define VQ_WORK_NOTES_MAX      64u
#define VQ_WORK_TEXT_BYTES_MAX 512u

#define VQ_WORK_CONCURRENCY_MAX 16384u /* calls in flight, of the process */
#define VQ_WORK_TRIES_DEFAULT   5u     /* where the SPEC gives 0 */

/* Full jitter over the first, doubled with each try up to the second. */
#define VQ_WORK_BACKOFF_MS     500u
#define VQ_WORK_BACKOFF_MS_MAX 30000u

/* A pool pauses after a refusal of capacity: for its Retry-After up to the last, else for the
 * first, doubled while refusals go on up to the second: longer ones would sleep over the beginning
 * of a new window of a minute. While it fails in other ways: up to the third. */
#define VQ_WORK_PAUSE_MS           1000u
#define VQ_WORK_REFUSED_MS_MAX     16000u
#define VQ_WORK_PAUSE_MS_MAX       60000u
#define VQ_WORK_RETRY_AFTER_MS_MAX 60000u

/* The window of a pool that names none. */
#define VQ_WORK_WINDOW_MS 60000u

/* How late a start may be without moving its schedule: a two-hundredth of the pool's window, at
 * most so much. */
#define VQ_WORK_LATE_PARTS  200
#define VQ_WORK_LATE_MS_MAX 10

/* After so many failures in a row a pool is tried by one call at a time, with a pause after each as
 * above. */
#define VQ_WORK_FAILURES_MAX 8u

/* What a provider may report, and where truncation stops. */
#define VQ_WORK_TOKENS_MAX       100000000u
#define VQ_WORK_OUTPUT_BYTES_MIN 256u

/* Until a WELCOME comes, HELLO again after the first, doubled up to the second; and HELLO again
 * after so many heartbeats without an echo. */
#define VQ_WORK_HELLO_MS     1000u
#define VQ_WORK_HELLO_MS_MAX 10000u
/* HELLOs on a new connection each, and from then on which of them are given so long. */
#define VQ_WORK_HELLOS_QUICK      6u
#define VQ_WORK_HELLO_PATIENT     3u
#define VQ_WORK_HELLO_PATIENT_MS  3000u
#define VQ_WORK_SILENT_HEARTBEATS 3

/* So long without a word from the coordinator, the log says so. */
#define VQ_WORK_SILENT_TELL_S 10u

/* Without a word from the coordinator it leaves; WELCOME may say otherwise. When it is leaving
 * anyway, earlier. */
#define VQ_WORK_ORPHAN_LOCAL_S  60u
#define VQ_WORK_ORPHAN_REMOTE_S 3600u
#define VQ_WORK_DRAIN_SILENT_S  10u
/* Grace for calls in flight after the run finished or stopped; the coordinator waits longer. */
#define VQ_WORK_OVER_S      5u
#define VQ_WORK_TERM_MS_MAX (3600u * 1000u)

/* A RESULTS frame goes when it has so many, so many bytes, or has waited so long; again when no ACK
 * came for a term, and never sooner than the last. */
#define VQ_WORK_BATCH_RESULTS 256u
#define VQ_WORK_BATCH_BYTES   (512u << 10)
#define VQ_WORK_BATCH_MS      3
#define VQ_WORK_RESEND_MS_MIN 2000

/* Credit: tasks for so many seconds by the speed seen, at least so many a slot, and at least a
 * shard; with known rates, not more than they allow in so many seconds. Said again not more often
 * than every VQ_WORK_CREDIT_MS. */
#define VQ_WORK_AHEAD_S       1.0
#define VQ_WORK_AHEAD_CALLS   4.0
#define VQ_WORK_AHEAD_PACED_S 5.0
/* A worker gives the rest back if it held twice what it wants, or more chains than slots, in this
 * number of looks in a row. */
#define VQ_WORK_SURPLUS_LOOKS 3
#define VQ_WORK_CREDIT_MS     200

/* Where prompts begin alike for at least so many tokens, the first call goes ahead: the others wait
 * for its end, at most twice the pool's latency and within these bounds. Then they wait for its
 * pool, longer while their judge has other things to do. A front that was not asked for so long is
 * taken for forgotten. */
#define VQ_WORK_FRONT_TOKENS_MIN      1024.0
#define VQ_WORK_FRONT_MS              2000
#define VQ_WORK_FRONT_MS_MAX          30000
#define VQ_WORK_FRONT_PATIENCE_MS     2000
#define VQ_WORK_FRONT_PATIENCE_MS_MAX 60000
#define VQ_WORK_FRONT_LIFE_S          240

/* Asks that a report counts as waiting, at most. */
#define VQ_WORK_WAITING_MAX 65536u

#endif
