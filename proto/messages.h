/* Every message between coordinator and worker as a struct. proto/messages.def describes the same fields with types,
 * bounds and direction; encode, decode, PROTOCOL.md and the fuzz corpus come from that table. Spans and arrays of a
 * decoded message point into the decoder's memory and live as long as it (see wire.h).
 *
 * A conversation: HELLO -> WELCOME [SPEC] -> HELD -> CREDIT, then SAMPLE LEASE -> RESULTS -> ACK, with a HEARTBEAT and
 * its echo all the while; DRAIN and BYE end it. */
#ifndef VQ_PROTO_MESSAGES_H
#define VQ_PROTO_MESSAGES_H

#include "common/judge/stage.h"
#include "common/judge/verdict.h"
#include "proto/id.h"

#define VQ_PROTOCOL_VERSION 2

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
};

/* worker -> coordinator. Opens a session, also after a lost connection. */
struct vq_msg_hello {
    struct vq_id worker; /* random per process */
    struct vq_id run;    /* of the join file; all zero: any */
    int64_t stamp_ns;    /* the worker's clock when it sent this; echoed */
    struct vq_span name; /* for people */
    struct vq_span host;
    struct vq_span software; /* "vibeq 0.1.0" */
    struct vq_hash spec;     /* the SPEC it has; all zero: none */
    uint64_t pid;
    int64_t local; /* k of a local worker; -1: remote */
    bool has_spool;
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

/* worker -> coordinator: HELD once after WELCOME, HEARTBEAT every heartbeat_ms. coordinator -> worker: each HEARTBEAT is
 * echoed with the same stamp and empty lists. A lease's term counts from the stamp of the echoed message. */
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
    uint32_t
        tasks; /* how many tasks of this judge the worker wants to hold altogether, not more of them */
    uint8_t state;              /* enum vq_pool_state; not open: tasks is 0 */
    struct vq_span fingerprint; /* of its key, 8 bytes, or empty */
    struct vq_span text;        /* why it is closed, for people */
};

/* worker -> coordinator: replaces what was said before. */
struct vq_msg_credit {
    uint64_t session;
    const struct vq_credit *credits;
    uint32_t credits_count;
};

/* coordinator -> worker, before the first live LEASE of that sample in this session. The worker drops it when its last
 * lease of the sample is closed (every ask ACKed as final or cancelled). */
struct vq_msg_sample {
    uint64_t session;
    uint64_t sample;
    struct vq_span prompt;
    struct vq_span a;
    struct vq_span b;
};

struct vq_ask {
    uint64_t task;
    uint32_t vibe;
    uint32_t repeat;
    uint8_t order; /* 0: A's text is shown first */
    bool
        lazy; /* ask only when the other order of this vibe, listed before it, gave A, B or no vote */
    struct vq_span prior; /* a stored unparseable answer: go on with its repair; empty: ask */
};

/* coordinator -> worker */
struct vq_msg_lease {
    uint64_t session;
    uint32_t stage;
    uint64_t shard;
    struct vq_fence fence;
    int64_t
        stamp_ns; /* the latest HELLO or HEARTBEAT of this session that the coordinator has read */
    uint64_t sample;
    uint32_t judge;
    const struct vq_ask *asks;
    uint32_t asks_count;
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
/* Its word in reports and metrics, "answer"; "?" for an unknown number. */
const char *vq_call_end_word(enum vq_call_end end);

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
    uint8_t
        outcome; /* enum vq_outcome: what the worker reads in it; when `final` and not an answer, the failure */
    bool final;           /* nothing more comes for this task from this lease */
    bool refusal;         /* the provider marked the answer as refused or filtered */
    uint32_t http_status; /* 0: none */
    uint32_t latency_ms;
    int64_t started_unix_ms;
    uint64_t tokens_in;
    uint64_t tokens_cached;
    uint64_t tokens_out;
    struct vq_span answer; /* raw text; VQ_ANSWER_BYTES_MAX */
    struct vq_span finish_reason;
    struct vq_span model;       /* as the provider returned it */
    struct vq_span fingerprint; /* the provider's system fingerprint */
    struct vq_span error;       /* for people; never request bytes, never a key */
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
};

struct vq_slice { /* what one worker may use of a judge's pool */
    uint32_t judge;
    uint32_t concurrency;
    double requests_per_minute; /* 0: unknown */
    double tokens_per_minute;   /* 0: unknown */
    uint64_t n;                 /* later slices have higher n */
};

/* coordinator -> worker */
struct vq_msg_grant {
    uint64_t session;
    const struct vq_slice *slices;
    uint32_t slices_count;
};

enum vq_cancel_reason {
    VQ_CANCEL_STALE = 0,   /* the fence is not current */
    VQ_CANCEL_SETTLED = 1, /* a late answer settled these tasks */
    VQ_CANCEL_RETURNED =
        2, /* worker -> coordinator: it starts no more calls of this lease; what is in flight is still coming */
    VQ_CANCEL_STOPPING = 3, /* the run stops */
};

/* both ways. No new call of these tasks of the shard starts; no tasks listed = all of it. Calls in flight go on. */
struct vq_msg_cancel {
    uint64_t session;
    uint64_t shard;
    struct vq_fence fence;
    uint8_t reason;
    const uint64_t *tasks;
    uint32_t tasks_count;
    uint32_t stage;
};

/* both ways. From a worker: lease me nothing more. From the coordinator: start nothing more, finish and say BYE. */
struct vq_msg_drain {
    uint64_t session;
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
        struct vq_msg_bye bye;
    } u;
};

/* What a run's workers need to ask: the body of SPEC. Keys are references only. */
struct vq_spec_axis {
    struct vq_span name, low, high;
};

struct vq_spec_judge {
    struct vq_span name, model, dialect, base_url, identity, max_tokens_field;
    struct vq_span
        key; /* "env:NAME" or "file:PATH" as a hint; a worker may map it otherwise. Empty: none */
    double temperature;
    bool send_temperature;
    uint32_t max_tokens;
    int64_t seed;
    uint32_t tries_max;
    uint32_t connect_timeout_ms, first_byte_timeout_ms, total_timeout_ms;
};

struct vq_spec {
    uint8_t kind; /* enum vq_stage_kind */
    uint32_t stage;
    struct vq_span judge_template;
    struct vq_span repair_template; /* empty: no repair */
    bool truncate;
    bool lazy_swap;
    const struct vq_spec_axis *axes;
    uint32_t axes_count;
    const struct vq_spec_judge *judges;
    uint32_t judges_count;
};

#endif
