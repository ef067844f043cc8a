/* Every message between coordinator and worker as a struct. proto/messages.def describes the same
 * fields with types, bounds and direction; encode, decode, PROTOCOL.md and the fuzz corpus come
 * from that table. Spans and arrays of a decoded message point into the decoder's memory and live
 * as long as it (see wire.h).
 *
 * A conversation: HELLO -> WELCOME [SPEC] -> HELD -> CREDIT, then SAMPLE LEASE -> RESULTS -> ACK,
 * with a HEARTBEAT and its echo all the while; DRAIN and BYE end it. */
#pragma once

#include "common/base/limit.h"
#include "common/judge/stage.h"
#include "common/judge/verdict.h"
#include "proto/id.h"

#ifndef VQ_PROTOCOL_AHEAD /* tests build programs of the next version */
#define VQ_PROTOCOL_AHEAD 0
#endif
#define VQ_PROTOCOL_VERSION (10 + VQ_PROTOCOL_AHEAD)
/* The oldest version of a stored RESULT that can be read; fields that it lacks are zero. */
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
    struct vq_id run;    /* of the join file; all zero: any */
    int64_t stamp_ns;    /* the worker's clock when it sent this; echoed */
    struct vq_span name; /* for people */
    struct vq_span host;
    struct vq_span software; /* "vibeq 0.2.0" */
    struct vq_hash spec;     /* the SPEC it has; all zero: none */
    uint64_t pid;
    int64_t local; /* k of a local worker; -1: remote */
    bool has_spool;
    struct vq_id before; /* the process whose spool it has taken over; all zero: none */
};

/* coordinator -> worker */
struct vq_msg_welcome {
    uint64_t session;
    uint64_t epoch;
    struct vq_id run;
    struct vq_span run_name;
    int64_t stamp_ns;    /* echo of the HELLO's */
    struct vq_hash spec; /* what the worker needs; a SPEC follows if it has another */
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

/* Shards and tasks are numbers of one stage of the run: each record that names one says which. */
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
 * worker: each HEARTBEAT is echoed with the same stamp and empty lists. A lease's term counts from
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
    VQ_POOL_NO_KEY = 1,  /* this worker has no key for it */
    VQ_POOL_BAD_KEY = 2, /* 401, 403 */
    VQ_POOL_NO_MONEY = 3,
    VQ_POOL_NO_MODEL = 4, /* unknown model, or an endpoint that is not one */
};

struct vq_credit {
    uint32_t judge;
    /* how many tasks of this judge the worker wants to hold altogether, not more of them */
    uint32_t tasks;
    uint8_t state; /* enum vq_pool_state: open when one of its pools is; not open: tasks is 0 */
    struct vq_span text; /* why it is closed, for people */
};

/* Something that is spent and does not come back: dollars, or a day's requests or tokens. It counts
 * up over the worker's process. */
struct vq_amount {
    uint64_t used; /* settled, or reserved by calls in flight */
    uint64_t open; /* of that: calls that the coordinator did not ACK, in flight or ended */
    /* what it goes by: a call starts only when `used` and its reservation stay within it */
    uint64_t most;
    uint64_t unit; /* the largest reservation of one call, lately and of what waits */
};

/* What a worker says of one pool. The counts rise over its process. */
struct vq_pool_report {
    uint32_t pool;
    uint8_t state;        /* enum vq_pool_state: of its keys, open while one is */
    struct vq_span text;  /* why it, or one of its keys, is closed, for people */
    const uint64_t *keys; /* fingerprints of the keys it holds; none: needs none or has none */
    uint32_t keys_count;
    uint64_t organisation; /* hash of the organisation that answers name; 0: none */
    uint32_t in_flight;
    uint32_t waiting;  /* asks that could start on it now, but for its slice */
    uint64_t requests; /* started */
    uint64_t answered; /* ended with an answer */
    uint64_t refused;  /* refused for their rate */
    uint64_t slowed;   /* of these: for growing too fast */
    uint64_t timed;    /* of the refused: the provider said when to ask again */
    uint64_t failed;   /* provider, network, lost: what another pool may not suffer from */
    uint64_t input_tokens, cached_tokens, output_tokens; /* settled; cached ones are input too */
    struct vq_rates unit;                                /* the most that one request reserved */
    struct vq_rates said; /* limits as the headers of answers gave them */
    /* calls in flight that a refusal since the last report named as the most; 0: none */
    uint32_t cap;
    uint32_t pause_ms; /* a refusal asks to wait so long yet */
    /* until then nothing is answered: a quota of a day or a month; 0: no such thing */
    int64_t park_unix_s;
    struct vq_amount day_requests, day_tokens;
    uint32_t params_refused; /* bits of enum vq_param that its model refused */
};

/* worker -> coordinator: replaces the previous CREDIT. */
struct vq_msg_credit {
    uint64_t session;
    uint64_t granted_n;     /* the latest GRANT that it goes by; 0: none in this session */
    struct vq_amount spend; /* nano-dollars, over all pools */
    const struct vq_credit *credits;
    uint32_t credits_count;
    const struct vq_pool_report *reports;
    uint32_t reports_count;
};

/* coordinator -> worker, before the first live LEASE of that sample in this session. The worker
 * drops it when its last lease of the sample is closed (every ask ACKed as final or cancelled). */
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
    /* ask only when the other order of this vibe, listed before it, gave A, B or no vote */
    bool lazy;
    struct vq_span prior; /* a stored unparseable answer: go on with its repair; empty: ask */
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
    /* of a chain: the answers to the turns before the first ask, in order; VQ_ANSWER_BYTES_MAX
     * each */
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
#define VQ_CALL_ENDS VQ_END_BATCHED /* of these, ends of calls that have ended: 0 .. - 1 */
/* Its word in reports and metrics, "answer"; "?" for an unknown number. */
const char *vq_call_end_word(enum vq_call_end end);
/* Whether a record that says `is` replaces an earlier one of the same call that says `was`. The
 * first one stands, except that UNKNOWN and BATCHED only wait for what follows. */
bool vq_call_end_replaces(enum vq_call_end was, enum vq_call_end is);

/* One call: the call record. The same struct goes through the spool, the wire and the commit. */
struct vq_result {
    struct vq_id call;
    uint32_t stage; /* that shard, task and judge are numbers of */
    uint64_t shard;
    struct vq_fence fence;
    uint64_t task;
    struct vq_hash request;  /* of this call (of the repair, when kind is repair) */
    struct vq_hash repaired; /* kind repair: the request whose answer it repairs; else zero */
    uint32_t judge;
    uint32_t repeat;
    uint32_t tries; /* 1 for the first send of this task under this lease */
    uint8_t kind;   /* enum vq_call_kind */
    uint8_t end;    /* enum vq_call_end */
    /* enum vq_outcome: what the worker reads in it; when `final` and not an answer, the failure */
    uint8_t outcome;
    bool final;           /* nothing more comes for this task from this lease */
    bool refusal;         /* the provider marked the answer as refused or filtered */
    uint32_t http_status; /* 0: none */
    uint32_t latency_ms;
    int64_t started_unix_ms;
    uint64_t tokens_in;
    uint64_t tokens_cached;
    uint64_t tokens_out;
    uint64_t tokens_reserved; /* when it was sent */
    /* nano-dollars by the pool's prices; of a call that never came back, what was reserved */
    uint64_t cost_nano;
    uint64_t provider_nano; /* nano-dollars as the provider itself says; 0: it says nothing */
    uint64_t prompt_chars;  /* characters of the prompt that was sent */
    /* usage is missing or 0 on a side that cannot be 0; what was reserved is charged there */
    bool unreported;
    struct vq_span pool;   /* the name of the pool that was asked */
    struct vq_span answer; /* raw text; VQ_ANSWER_BYTES_MAX */
    struct vq_span finish_reason;
    struct vq_span model;          /* as the provider returned it */
    struct vq_span fingerprint;    /* the provider's system fingerprint */
    struct vq_span label_logprobs; /* "A=-0.1 B=-2.4" */
    struct vq_span error;          /* for people; never request bytes, never a key */
    uint64_t tokens_written;       /* of tokens_in: written to a cache */
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
    const struct vq_id *batched; /* as part of a batch: their results follow */
    uint32_t batched_count;
};

/* What one worker may use of a pool (coordinator/pools/authority.h). It is in force from this GRANT
 * to the next, while the worker's term lasts. Rates begin empty: the first request waits until the
 * rate has earned it. */
struct vq_slice {
    uint32_t pool;
    uint32_t concurrency; /* 0: nothing is started */
    struct vq_rates rates;
    uint32_t pause_ms;                           /* nothing is started for so long */
    uint64_t day_requests_most, day_tokens_most; /* vq_amount.most; UINT64_MAX: no limit */
    bool noisy; /* refusals come at random: a refused call waits alone, the others go on */
    uint32_t params_refused; /* bits of enum vq_param, of all workers: not sent */
};

/* A pool that a judge shall not use: its first calls there all failed the same way
 * (coordinator/queue/brake.h). */
struct vq_parked {
    uint32_t judge, pool;
};

/* coordinator -> worker; a pool that is not listed has a slice of nothing */
struct vq_msg_grant {
    uint64_t session;
    uint64_t n;          /* later ones have a higher n */
    uint64_t spend_most; /* nano-dollars, as vq_amount.most; UINT64_MAX: no limit */
    const struct vq_slice *slices;
    uint32_t slices_count;
    const struct vq_parked *parked; /* all of this stage */
    uint32_t parked_count;
};

enum vq_cancel_reason {
    VQ_CANCEL_STALE = 0,   /* the fence is not current */
    VQ_CANCEL_SETTLED = 1, /* a late answer settled these tasks */
    /* worker -> coordinator: it starts no more calls of this lease; what is in flight is still
     * coming */
    VQ_CANCEL_RETURNED = 2,
    VQ_CANCEL_STOPPING = 3, /* the run stops */
};

/* both ways. No new call of these tasks of the shard starts; no tasks listed = all of it. Calls in
 * flight go on. */
struct vq_msg_cancel {
    uint64_t session;
    uint64_t shard;
    struct vq_fence fence;
    uint8_t reason;
    const uint64_t *tasks;
    uint32_t tasks_count;
    uint32_t stage;
};

/* both ways. From a worker: lease me nothing more. From the coordinator: start nothing more, finish
 * and say BYE. */
struct vq_msg_drain {
    uint64_t session;
};

enum vq_batch_progress {
    VQ_BATCH_PROGRESS_GATHERS = 0,   /* calls are added to it */
    VQ_BATCH_PROGRESS_SUBMITTED = 1, /* the provider may have it */
    VQ_BATCH_PROGRESS_CREATED = 2,   /* the provider has it */
    VQ_BATCH_PROGRESS_OVER = 3       /* each of its calls has its result */
};

/* worker -> coordinator: of a batch that it looks after, when something has changed and after each
 * WELCOME. A worker creates a batch only in the session in which all its calls were ACKed. */
struct vq_msg_batch {
    uint64_t session;
    struct vq_span name, pool;
    struct vq_span id; /* as the provider calls it; empty: not known, or it has none yet */
    uint8_t state;     /* enum vq_batch_progress */
    uint32_t calls;
    uint32_t ended; /* calls that the provider has worked on */
};

/* coordinator -> worker: look after this batch, because the worker that did is gone; or cancel it.
 * The worker never creates it: calls that the provider does not have are given back as not sent. */
struct vq_msg_collect {
    uint64_t session;
    struct vq_span name, pool;
    struct vq_span id; /* empty: find it by its name, if it is there */
    uint32_t calls;    /* that were in it when it was submitted; 0: it is not known that it was */
    bool cancel;
    uint32_t before;                /* drafts that earlier COLLECTs of it brought */
    bool more;                      /* another COLLECT of this batch follows with more drafts */
    const struct vq_result *drafts; /* end BATCHED */
    uint32_t drafts_count;
};

enum vq_bye_code {
    VQ_BYE_DONE = 0,       /* the run is finished */
    VQ_BYE_LEAVING = 1,    /* worker: drained, every result ACKed */
    VQ_BYE_NO_SESSION = 2, /* coordinator: say HELLO (again) */
    VQ_BYE_VERSION = 3,    /* both versions are named in the text */
    VQ_BYE_OTHER_RUN = 4,
    VQ_BYE_STOPPED = 5,  /* coordinator: stopped, resumable; keep the spool and leave */
    VQ_BYE_PROTOCOL = 6, /* a message that breaks the rules; the text says which */
    VQ_BYE_STAGE = 7, /* coordinator: the stage is over, say HELLO again; keep what is not ACKed */
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

/* What a run's workers need to ask: the body of SPEC. Keys are references only. */
struct vq_spec_axis {
    struct vq_span name, low, high;
};

/* A judge as its requests are hashed; any of its pools may answer. */
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

/* A pool: where to ask for a model and how. The list is the same for all stages of a run. */
struct vq_spec_pool {
    struct vq_span name; /* in the run */
    struct vq_span dialect, base_url;
    struct vq_span model;            /* as this provider calls it */
    struct vq_span max_tokens_field; /* empty: the judge's */
    /* "env:NAME" or "file:PATH" as hints; a worker may map them otherwise. None: no key is sent */
    const struct vq_span *keys;
    uint32_t keys_count;
    bool allow_http;                        /* plain http to another machine is wanted there */
    bool refuses_temperature, refuses_seed; /* it is not sent */
    bool priced;
    double input_usd, cached_usd, written_usd, output_usd; /* per million tokens */
    uint32_t window_ms; /* over which the provider looks at its limits */
    uint32_t connect_timeout_ms, first_byte_timeout_ms, total_timeout_ms;
    struct vq_span service_tier; /* that requests name; empty: none */
    double tier_price;           /* of the tier, times the prices above */
    /* refusals for lack of capacity, after which a call goes to the ordinary tier */
    uint32_t tier_tries;
    /* at most, in one batch of its calls; 0 calls: it is no batch pool */
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
    bool context_strict;  /* an answer to a prompt that the server cut is a failure */
    const struct vq_spec_axis *axes;
    uint32_t axes_count;
    const struct vq_spec_judge *judges;
    uint32_t judges_count;
    const struct vq_spec_pool *pools;
    uint32_t pools_count;
};
