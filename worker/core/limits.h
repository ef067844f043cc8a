/* All limits of the worker's core. Tests set some of them through struct vq_work_options. */
#pragma once

/* The most that a worker may hold. It gives credit for less than half of VQ_WORK_ASKS_MAX asks: the
 * other half is for asks whose result has no ACK yet. Above VQ_WORK_SAMPLES_BYTES_SOFT it gives no
 * credit; above VQ_WORK_SAMPLES_BYTES_MAX it drops a SAMPLE and returns its lease. */
#define VQ_WORK_JUDGES_MAX         256u
#define VQ_WORK_ASKS_MAX           65536u
#define VQ_WORK_LEASES_MAX         50000u /* the most that one HEARTBEAT can list */
#define VQ_WORK_SAMPLES_MAX        65536u
#define VQ_WORK_SAMPLES_IDLE_MAX   256u /* in the cache without a lease yet */
#define VQ_WORK_SAMPLES_BYTES_SOFT (256u << 20)
#define VQ_WORK_SAMPLES_BYTES_MAX  (512u << 20)

/* Results without an ACK. Above half of the count, or above the bytes, the worker starts no call.
 * One HEARTBEAT lists all of them. */
#define VQ_WORK_OUTBOX_MAX        180000u
#define VQ_WORK_OUTBOX_BYTES_SOFT (128u << 20)

/* Log lines per step (further ones are counted and dropped), and the bytes of a line or of a pool's
 * reason. */
#define VQ_WORK_NOTES_MAX      64u
#define VQ_WORK_TEXT_BYTES_MAX 512u

#define VQ_WORK_TIER_BYTES      32u    /* of a service tier's name */
#define VQ_WORK_CONCURRENCY_MAX 16384u /* calls in flight, of the process */
#define VQ_WORK_TRIES_DEFAULT   5u     /* if the SPEC has 0 */

/* The wait before a retry, with full jitter: the first value, doubled with each try up to the
 * second. */
#define VQ_WORK_BACKOFF_MS     500u
#define VQ_WORK_BACKOFF_MS_MAX 30000u

/* A pool pauses after a refusal of capacity: for the Retry-After of the refusal, up to
 * RETRY_AFTER_MS_MAX; without one for PAUSE_MS, doubled with each further refusal up to
 * REFUSED_MS_MAX: a longer pause would miss the start of a new window of a minute. Where a rate
 * already slows the pool down, up to one of PACED_PARTS of the window of its limits, or
 * PACED_MS_MAX if that is less. After other failures it pauses for up to PAUSE_MS_MAX. */
#define VQ_WORK_PAUSE_MS           1000u
#define VQ_WORK_REFUSED_MS_MAX     16000u
#define VQ_WORK_PACED_PARTS        6
#define VQ_WORK_PACED_MS_MAX       10000u
#define VQ_WORK_PAUSE_MS_MAX       60000u
#define VQ_WORK_RETRY_AFTER_MS_MAX 60000u

/* The window of a pool without a configured one. */
#define VQ_WORK_WINDOW_MS 60000u

/* A start may be late by a 200th of the pool's window, at most VQ_WORK_LATE_MS_MAX, without moving
 * its schedule. */
#define VQ_WORK_LATE_PARTS  200
#define VQ_WORK_LATE_MS_MAX 10

/* After this number of failures in a row the worker tries a pool with one call at a time, and
 * pauses after each as above. */
#define VQ_WORK_FAILURES_MAX 8u

/* The most tokens that a provider may report, and the fewest bytes that truncation leaves. */
#define VQ_WORK_TOKENS_MAX       100000000u
#define VQ_WORK_OUTPUT_BYTES_MIN 256u

/* Until a WELCOME comes, the worker repeats HELLO after HELLO_MS, doubled up to HELLO_MS_MAX. After
 * VQ_WORK_SILENT_HEARTBEATS heartbeats without an echo it starts with HELLO again. */
#define VQ_WORK_HELLO_MS     1000u
#define VQ_WORK_HELLO_MS_MAX 10000u
/* The first HELLOS_QUICK HELLOs each open a new connection. Later, each HELLO_PATIENT-th one keeps
 * its connection for HELLO_PATIENT_MS. */
#define VQ_WORK_HELLOS_QUICK      6u
#define VQ_WORK_HELLO_PATIENT     3u
#define VQ_WORK_HELLO_PATIENT_MS  3000u
#define VQ_WORK_SILENT_HEARTBEATS 3

/* After this time without a message from the coordinator the worker logs the silence. */
#define VQ_WORK_SILENT_TELL_S 10u

/* A worker leaves after this time without a message from the coordinator; WELCOME may set another
 * time. While it drains, the last value applies. */
#define VQ_WORK_ORPHAN_LOCAL_S  60u
#define VQ_WORK_ORPHAN_REMOTE_S 3600u
#define VQ_WORK_DRAIN_SILENT_S  10u
/* Grace for calls in flight after the run finished or stopped; the coordinator waits longer. */
#define VQ_WORK_OVER_S      5u
#define VQ_WORK_TERM_MS_MAX (3600u * 1000u)

/* The worker sends a RESULTS frame when it reaches the first of these: BATCH_RESULTS, BATCH_BYTES,
 * BATCH_MS. It repeats a frame if no ACK came for a term, but never sooner than RESEND_MS_MIN. */
#define VQ_WORK_BATCH_RESULTS 256u
#define VQ_WORK_BATCH_BYTES   (512u << 10)
#define VQ_WORK_BATCH_MS      3
#define VQ_WORK_RESEND_MS_MIN 2000

/* Credit is the number of tasks for AHEAD_S seconds at the measured speed, but at least AHEAD_CALLS
 * per slot and at least one shard; with known rates, at most what they allow in AHEAD_PACED_S. The
 * worker sends CREDIT at most every CREDIT_MS. */
#define VQ_WORK_AHEAD_S       1.0
#define VQ_WORK_AHEAD_CALLS   4.0
#define VQ_WORK_AHEAD_PACED_S 5.0
/* If a worker held twice the number of tasks that it wants, or more chains than slots, in this
 * number of looks in a row, it gives the rest back. */
#define VQ_WORK_SURPLUS_LOOKS 3
#define VQ_WORK_CREDIT_MS     200

/* If prompts share a prefix of at least FRONT_TOKENS_MIN tokens, the first call goes ahead. The
 * others wait for its end: at most twice the pool's latency, between FRONT_MS and FRONT_MS_MAX.
 * Then they wait for its pool: FRONT_PATIENCE_MS, up to the maximum while their judge has other
 * work. The provider's cache is taken to have dropped a prefix that was not used for
 * FRONT_LIFE_S. */
#define VQ_WORK_FRONT_TOKENS_MIN      1024.0
#define VQ_WORK_FRONT_MS              2000
#define VQ_WORK_FRONT_MS_MAX          30000
#define VQ_WORK_FRONT_PATIENCE_MS     2000
#define VQ_WORK_FRONT_PATIENCE_MS_MAX 60000
#define VQ_WORK_FRONT_LIFE_S          240

/* The largest number of waiting asks that a report counts. */
#define VQ_WORK_WAITING_MAX 65536u
