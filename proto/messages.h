/* Every message between coordinator and worker as a struct. proto/messages.def describes the same
 * fields with types, bounds and direction; encode, decode, PROTOCOL.md and the fuzz corpus come
 * from that table. Spans and arrays of a decoded message point into the decoder's memory (see
 * wire.h for their life).
 *
 * A conversation: HELLO -> WELCOME [SPEC] -> HELD -> CREDIT, then SAMPLE LEASE -> RESULTS -> ACK,
 * with a HEARTBEAT and its echo at regular intervals; DRAIN and BYE end it. */
#pragma once

#include "common/base/limit.h"
#include "common/judge/stage.h"
#include "common/judge/verdict.h"
#include "proto/id.h"

#ifndef VQ_PROTOCOL_AHEAD /* for tests with programs of the next version */
#define VQ_PROTOCOL_AHEAD 0
#endif
#define VQ_PROTOCOL_VERSION (10 + VQ_PROTOCOL_AHEAD)
/* The oldest readable version of a stored RESULT; fields that it lacks are zero. */
#define VQ_RESULT_VERSION_MIN 7

enum vq_msg_type {
    VQ_MSG_HELLO = 1,
    VQ_MSG_WELCOME = 2,
    VQ_MSG_SPEC = 3,
    VQ_MSG_HELD = 4,
    VQ_MSG_CREDIT = 5,
    VQ_MSG_SAMPLE = 6,
    VQ_MSG_LEASE = 7,
    VQ_MSG_RESULTS = 8,
    VQ_MSG_ACK = 9,
    VQ_MSG_GRANT = 10,
    VQ_MSG_CANCEL = 11,
    VQ_MSG_HEARTBEAT = 12,
    VQ_MSG_DRAIN = 13,
    VQ_MSG_BYE = 14,
    VQ_MSG_BATCH = 15,
    VQ_MSG_COLLECT = 16,
};

/* worker -> coordinator. Opens a session, also after a lost connection. */
struct vq_msg_hello {
    struct vq_id worker; /* random per process */
    struct vq_id run;    /* of the join file; all zero: any run */
    int64_t stamp_ns;    /* the worker's clock when it sent this; echoed */
    struct vq_span name; /* for people */
    struct vq_span host;
    struct vq_span software; /* "vibeq 0.2.0" */
    struct vq_hash spec;     /* of the worker's SPEC; all zero: none */
    uint64_t pid;
    int64_t local; /* number of a local worker; -1: a remote worker */
    bool has_spool;
    /* the ended process whose spool this worker has taken over; all zero: none */
    struct vq_id before;
};

/* coordinator -> worker */
struct vq_msg_welcome {
    uint64_t session;
    uint64_t epoch;
    struct vq_id run;
    struct vq_span run_name;
    int64_t stamp_ns;    /* echo of the HELLO's */
    struct vq_hash spec; /* of the current SPEC, which follows if the worker has another one */
    uint32_t term_ms;
    uint32_t heartbeat_ms;
    uint32_t orphan_s;
};

/* coordinator -> worker. `body` is an encoded struct vq_spec (spec.h), `hash` its hash. */
struct vq_msg_spec {
    uint64_t session;
    struct vq_hash hash;
    struct vq_span body;
};

/* Shards and tasks are numbered per stage of the run, so each record with such a number has the
 * stage, too. */
struct vq_held_lease {
    uint64_t shard;
    struct vq_fence fence;
    uint32_t stage;
};

struct vq_held_call { /* sent and not ACKed: in flight or in the spool */
    struct vq_id call;
    uint64_t task;
    uint32_t stage;
};

/* worker -> coordinator: HELD once after WELCOME, HEARTBEAT every heartbeat_ms. coordinator ->
 * worker: an echo of each HEARTBEAT with the same stamp and empty lists. A lease's term counts from
 * the stamp of the echoed message. */
struct vq_msg_held {
    uint64_t session;
    int64_t stamp_ns;
    const struct vq_held_lease *leases;
    uint32_t leases_count;
    const struct vq_held_call *calls;
    uint32_t calls_count;
};

enum vq_pool_state {
    VQ_POOL_OPEN = 0,
    VQ_POOL_NO_KEY = 1,  /* the worker has no key for it */
    VQ_POOL_BAD_KEY = 2, /* 401, 403 */
    VQ_POOL_NO_MONEY = 3,
    VQ_POOL_NO_MODEL = 4, /* unknown model, or a wrong endpoint */
};

struct vq_credit {
    uint32_t judge;
    /* the number of tasks of this judge that the worker wants to hold in total */
    uint32_t tasks;
    uint8_t state; /* enum vq_pool_state: open if one of its pools is open; else `tasks` is 0 */
    struct vq_span text; /* the reason if it is closed, for people */
};

/* An amount that does not refill after it is spent: dollars, or a day's requests or tokens. `used`
 * only rises during the worker's process. */
struct vq_amount {
    uint64_t used; /* settled, plus reservations of calls in flight */
    uint64_t open; /* the part of `used` from calls without an ACK, in flight or ended */
    /* the limit in force: a call starts only if `used` plus its reservation is within it */
    uint64_t most;
    uint64_t unit; /* the largest reservation of one recent or waiting call */
};

/* A worker's report on one pool. The counts only rise during its process. */
struct vq_pool_report {
    uint32_t pool;
    uint8_t state;       /* enum vq_pool_state: open if one of its keys is open */
    struct vq_span text; /* the reason if it or one of its keys is closed, for people */
    /* fingerprints of its keys; none: the pool needs no key, or the worker has none */
    const uint64_t *keys;
    uint32_t keys_count;
    uint64_t organisation; /* hash of the organisation in the responses; 0: none */
    uint32_t in_flight;
    uint32_t waiting;  /* asks that could start now if the slice allowed it */
    uint64_t requests; /* started */
    uint64_t answered; /* ended with an answer */
    uint64_t refused;  /* refused because of a rate limit */
    uint64_t slowed;   /* the part of `refused` because of too fast growth */
    uint64_t timed;    /* the part of `refused` for which the provider gave a time to retry */
    uint64_t failed;   /* ends PROVIDER, NETWORK and LOST, from which another pool may not suffer */
    uint64_t input_tokens, cached_tokens, output_tokens; /* settled; input includes cached tokens */
    struct vq_rates unit; /* the largest reservation of one request */
    struct vq_rates said; /* limits from the headers of responses */
    /* the most calls in flight according to a refusal since the last report; 0: none */
    uint32_t cap;
    uint32_t pause_ms; /* the rest of the wait that a refusal demands */
    /* the time when a used-up daily or monthly quota is renewed; 0: none is used up */
    int64_t park_unix_s;
    struct vq_amount day_requests, day_tokens;
    uint32_t params_refused; /* bits of enum vq_param: parameters that its model refused */
};

/* worker -> coordinator: replaces the previous CREDIT. */
struct vq_msg_credit {
    uint64_t session;
    uint64_t granted_n;     /* the latest GRANT that is in force; 0: none in this session */
    struct vq_amount spend; /* nano-dollars, over all pools */
    const struct vq_credit *credits;
    uint32_t credits_count;
    const struct vq_pool_report *reports;
    uint32_t reports_count;
};

/* coordinator -> worker, before the first LEASE of that sample in this session, and again after the
 * worker has dropped it. The worker drops it when its last lease of the sample is closed (every ask
 * ACKed as final or cancelled). */
struct vq_msg_sample {
    uint64_t session;
    uint64_t sample;
    struct vq_span prompt;
    struct vq_span a;
    struct vq_span b;
    struct vq_span image;
};

struct vq_ask {
    uint64_t task;
    uint32_t vibe;
    uint32_t repeat;
    uint8_t order; /* 0: A's text is shown first */
    /* ask only if the other order of this vibe, which is listed before it, gave A, B or no vote */
    bool lazy;
    struct vq_span prior; /* a stored unparseable answer: continue with its repair; empty: ask */
};

/* coordinator -> worker */
struct vq_msg_lease {
    uint64_t session;
    uint32_t stage;
    uint64_t shard;
    struct vq_fence fence;
    /* the latest HELLO or HEARTBEAT of this session that the coordinator has read */
    int64_t stamp_ns;
    uint64_t sample;
    uint32_t judge;
    uint32_t answer_tokens; /* the longest answer of the judge in this stage so far; 0: none yet */
    const struct vq_ask *asks;
    uint32_t asks_count;
    /* of a chain: the answers to the turns before the first ask, in order; each at most
     * VQ_ANSWER_BYTES_MAX */
    const struct vq_span *turns;
    uint32_t turns_count;
};

enum vq_call_kind {
    VQ_CALL_ASK = 0,
    VQ_CALL_REPAIR = 1
};

enum vq_call_end {
#define VQ_CALL_END(name, number, word) VQ_END_##name = number,
#include "proto/call_end.def"
#undef VQ_CALL_END
    VQ_END__COUNT
};
/* the ends below it are of calls that have ended */
#define VQ_CALL_ENDS VQ_END_BATCHED
/* Its word in reports and metrics, "answer"; "?" for an unknown number. */
const char *vq_call_end_word(enum vq_call_end end);
/* Whether a record with the end `is` replaces an earlier record of the same call with the end
 * `was`. The first record is in force, except that UNKNOWN and BATCHED are replaced by a later
 * one. */
bool vq_call_end_replaces(enum vq_call_end was, enum vq_call_end is);

/* The call record: one call. Spool, wire and commit use the same struct. */
struct vq_result {
    struct vq_id call;
    uint32_t stage; /* the stage in which shard, task and judge are numbered */
    uint64_t shard;
    struct vq_fence fence;
    uint64_t task;
    struct vq_hash request;  /* of this call (of the repair, if kind is REPAIR) */
    struct vq_hash repaired; /* kind REPAIR: the request whose answer it repairs; else zero */
    uint32_t judge;
    uint32_t repeat;
    uint32_t tries; /* 1 for the first send of this task under this lease */
    uint8_t kind;   /* enum vq_call_kind */
    uint8_t end;    /* enum vq_call_end */
    /* enum vq_outcome: the worker's reading of the answer; if `final` and no answer, the failure */
    uint8_t outcome;
    bool final;           /* the last record of this task under this lease */
    bool refusal;         /* the provider marked the answer as refused or filtered */
    uint32_t http_status; /* 0: none */
    uint32_t latency_ms;
    int64_t started_unix_ms;
    uint64_t tokens_in;
    uint64_t tokens_cached;
    uint64_t tokens_out;
    uint64_t tokens_reserved; /* when it was sent */
    /* nano-dollars by the pool's prices; of a call without a result, the reserved cost */
    uint64_t cost_nano;
    uint64_t provider_nano; /* nano-dollars as the provider reported; 0: not reported */
    uint64_t prompt_chars;  /* characters of the prompt that was sent */
    /* usage of input or output is missing, or 0 where it cannot be 0; the reservation is charged
     * for it */
    bool unreported;
    struct vq_span pool;   /* the name of the pool */
    struct vq_span answer; /* raw text; VQ_ANSWER_BYTES_MAX */
    struct vq_span finish_reason;
    struct vq_span model;          /* as the provider reported it */
    struct vq_span fingerprint;    /* the provider's system fingerprint */
    struct vq_span label_logprobs; /* "A=-0.1 B=-2.4" */
    struct vq_span error;          /* for people; without request bytes and keys */
    uint64_t tokens_written;       /* the part of tokens_in that was written to a cache */
    /* the service tier as reported; of end RATE: the tier that had no capacity; empty: none */
    struct vq_span tier;
};

/* worker -> coordinator; repeated until ACKed */
struct vq_msg_results {
    uint64_t session;
    const struct vq_result *results;
    uint32_t results_count;
};

/* coordinator -> worker, after the commit */
struct vq_msg_ack {
    uint64_t session;
    const struct vq_id *calls;
    uint32_t calls_count;
    const struct vq_id *batched; /* calls that are part of a batch: their results follow */
    uint32_t batched_count;
};

/* What one worker may use of a pool (coordinator/pools/authority.h). It is in force from this GRANT
 * to the next, and only during the worker's term. Rates start empty: the first request waits until
 * the rate has accrued its amount. */
struct vq_slice {
    uint32_t pool;
    uint32_t concurrency; /* 0: no call may start */
    struct vq_rates rates;
    uint32_t pause_ms;                           /* no call may start for this time */
    uint64_t day_requests_most, day_tokens_most; /* for vq_amount.most; UINT64_MAX: no limit */
    bool noisy; /* refusals are random: only the refused call waits, other calls continue */
    /* bits of enum vq_param that any worker reported as refused: not sent */
    uint32_t params_refused;
};

/* A pool that a judge must not use, because its first calls there all failed the same way
 * (coordinator/queue/brake.h). */
struct vq_parked {
    uint32_t judge, pool;
};

/* coordinator -> worker; a pool that is not listed has an empty slice */
struct vq_msg_grant {
    uint64_t session;
    uint64_t n;          /* a later GRANT has a higher n */
    uint64_t spend_most; /* nano-dollars, for vq_amount.most; UINT64_MAX: no limit */
    const struct vq_slice *slices;
    uint32_t slices_count;
    const struct vq_parked *parked; /* all pairs of this stage */
    uint32_t parked_count;
};

enum vq_cancel_reason {
    VQ_CANCEL_STALE = 0,   /* the fence is not current */
    VQ_CANCEL_SETTLED = 1, /* a late answer settled these tasks */
    /* worker -> coordinator: it starts no more calls of this lease; results of calls in flight
     * still follow */
    VQ_CANCEL_RETURNED = 2,
    VQ_CANCEL_STOPPING = 3, /* the run stops */
};

/* both ways. No new call of these tasks of the shard starts; an empty list means all tasks. Calls
 * in flight continue. */
struct vq_msg_cancel {
    uint64_t session;
    uint64_t shard;
    struct vq_fence fence;
    uint8_t reason;
    const uint64_t *tasks;
    uint32_t tasks_count;
    uint32_t stage;
};

/* both ways. From a worker: it wants no more leases. From the coordinator: the worker must start no
 * more calls, finish and send BYE. */
struct vq_msg_drain {
    uint64_t session;
};

enum vq_batch_progress {
    VQ_BATCH_PROGRESS_GATHERS = 0,   /* calls are added to it */
    VQ_BATCH_PROGRESS_SUBMITTED = 1, /* the provider may have it */
    VQ_BATCH_PROGRESS_CREATED = 2,   /* the provider has it */
    VQ_BATCH_PROGRESS_OVER = 3       /* all of its calls have results */
};

/* worker -> coordinator: a report on a batch that the worker handles, after each change and each
 * WELCOME. A worker creates a batch only in the session in which all calls of the batch were
 * ACKed. */
struct vq_msg_batch {
    uint64_t session;
    struct vq_span name, pool;
    struct vq_span id; /* the provider's id; empty: unknown, or not created yet */
    uint8_t state;     /* enum vq_batch_progress */
    uint32_t calls;
    uint32_t ended; /* calls that the provider has processed */
};

/* coordinator -> worker: handle this batch, because its worker was lost; or cancel it. The worker
 * never creates it: it returns calls that the provider does not have as not sent. */
struct vq_msg_collect {
    uint64_t session;
    struct vq_span name, pool;
    struct vq_span id; /* empty: unknown; the worker searches the provider for the name */
    uint32_t calls;    /* calls in it when it was submitted; 0: it may not have been submitted */
    bool cancel;
    uint32_t before;                /* the number of drafts in earlier COLLECTs of this batch */
    bool more;                      /* another COLLECT of this batch follows */
    const struct vq_result *drafts; /* end BATCHED */
    uint32_t drafts_count;
};

enum vq_bye_code {
    VQ_BYE_DONE = 0,       /* the run is finished */
    VQ_BYE_LEAVING = 1,    /* worker: drained, every result ACKed */
    VQ_BYE_NO_SESSION = 2, /* coordinator: the worker must send HELLO */
    VQ_BYE_VERSION = 3,    /* the text names both versions */
    VQ_BYE_OTHER_RUN = 4,
    VQ_BYE_STOPPED = 5,  /* coordinator: stopped, resumable; the worker keeps the spool and ends */
    VQ_BYE_PROTOCOL = 6, /* a message breaks the rules; the text names it */
    /* coordinator: the stage is over; the worker keeps results without an ACK and sends HELLO
     * again */
    VQ_BYE_STAGE = 7,
};

/* both ways; ends the session */
struct vq_msg_bye {
    uint64_t session; /* 0: none */
    uint8_t code;
    struct vq_span text;
};

struct vq_msg {
    enum vq_msg_type type;
    union {
        struct vq_msg_hello hello;
        struct vq_msg_welcome welcome;
        struct vq_msg_spec spec;
        struct vq_msg_held held; /* HELD and HEARTBEAT */
        struct vq_msg_credit credit;
        struct vq_msg_sample sample;
        struct vq_msg_lease lease;
        struct vq_msg_results results;
        struct vq_msg_ack ack;
        struct vq_msg_grant grant;
        struct vq_msg_cancel cancel;
        struct vq_msg_drain drain;
        struct vq_msg_batch batch;
        struct vq_msg_collect collect;
        struct vq_msg_bye bye;
    } u;
};

/* The body of SPEC: all that workers need to make requests. Keys are references only. */
struct vq_spec_axis {
    struct vq_span name, low, high;
};

/* A judge: the parameters in its request hashes, and its pools, each of which may answer. */
struct vq_spec_judge {
    struct vq_span name, model, dialect, identity, max_tokens_field;
    double temperature;
    bool send_temperature;
    uint32_t max_tokens;
    int64_t seed;
    uint32_t tries_max;
    bool structured, logprobs;
    uint8_t system_role; /* enum vq_system_role */
    struct vq_span answer_field;
    const uint32_t *pools; /* indices, at least one */
    uint32_t pools_count;
};

/* A pool: the endpoint of a model and its parameters. The list is the same for all stages of a
 * run. */
struct vq_spec_pool {
    struct vq_span name; /* in the run */
    struct vq_span dialect, base_url;
    struct vq_span model;            /* the name that this provider uses */
    struct vq_span max_tokens_field; /* empty: the judge's */
    /* "env:NAME" or "file:PATH"; a worker may map them to its own keys. None: no key is sent */
    const struct vq_span *keys;
    uint32_t keys_count;
    bool allow_http;                        /* plain http to another machine is allowed */
    bool refuses_temperature, refuses_seed; /* the parameter is not sent */
    bool priced;
    double input_usd, cached_usd, written_usd, output_usd; /* per million tokens */
    uint32_t window_ms; /* over which the provider measures its limits */
    uint32_t connect_timeout_ms, first_byte_timeout_ms, total_timeout_ms;
    struct vq_span service_tier; /* as sent in requests; empty: not sent */
    double tier_price;           /* multiple of the prices above, in the tier */
    /* refusals for lack of capacity, after which a call goes to the ordinary tier */
    uint32_t tier_tries;
    /* the most calls of one batch; 0: not a batch pool */
    uint32_t batch_calls;
    uint64_t batch_bytes;
    uint32_t batch_wait_ms, batch_poll_ms;
};

struct vq_spec {
    uint8_t kind; /* enum vq_stage_kind */
    uint32_t stage;
    struct vq_span judge_template;
    struct vq_span repair_template; /* empty: no repair */
    bool truncate;
    bool lazy_swap;
    uint8_t prefix_cache; /* enum vq_prefix_cache */
    bool context_strict;  /* true: an answer to a prompt that the server cut is a failure */
    const struct vq_spec_axis *axes;
    uint32_t axes_count;
    const struct vq_spec_judge *judges;
    uint32_t judges_count;
    const struct vq_spec_pool *pools;
    uint32_t pools_count;
};
