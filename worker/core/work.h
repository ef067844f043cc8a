/* The worker as a state machine: sessions, leases, samples, calls, pacing, retries, results without
 * an ACK, credit, the end. Pure: (state, event, now) -> actions. It reads no clock, draws random
 * numbers from a seed and does no I/O: the shell (or the simulation) carries out its actions and
 * passes events to it.
 *
 *     vq_work_step(w, now, &event);
 *     while (vq_work_next(w, &action)) { carry it out, now, in this order }
 *     sleep until vq_work_wake_ns(w), at the latest, then step with VQ_WORK_TICK
 *
 * The caller takes all actions of a step before the next step. Only VQ_WORK_REPLY,
 * VQ_WORK_COLLECTED and VQ_WORK_BATCH steps may follow each other directly, so that the notes of
 * calls that end together share one write. The pointers of an action are valid until the next call
 * of vq_work_next or vq_work_step. now_ns is monotonic and positive; a value smaller than the last
 * one counts as the last one. */
#pragma once

#include "proto/messages.h"
#include "worker/core/spec.h"

struct vq_work;

struct vq_work_options {
    struct vq_id worker; /* random per process; its first 8 bytes begin every call id */
    struct vq_id run;    /* all zero: any run of the coordinator */
    uint64_t seed;       /* of the jitter */
    const char *name, *host, *software; /* for people; copied; NULL: empty */
    uint64_t pid;
    int64_t local; /* k of a local worker; -1: remote */
    bool has_spool;
    /* the process whose spool this worker took over; all zero: none */
    struct vq_id before;
    /* calls in flight of all pools together; 0: VQ_WORK_CONCURRENCY_MAX */
    uint32_t concurrency_max;
    uint32_t orphan_s;           /* not 0: used instead of the value in WELCOME */
    uint32_t retry_after_ms_max; /* 0: VQ_WORK_RETRY_AFTER_MS_MAX */
    uint32_t backoff_ms;         /* 0: VQ_WORK_BACKOFF_MS */
    uint32_t backoff_ms_max;
};

enum vq_work_event_type {
    /* `result`: found without an ACK in the spool of an earlier process. Comes before all other
     * events. */
    VQ_WORK_SPOOLED,
    VQ_WORK_CONNECTED, /* connected or reconnected; the first one starts the conversation */
    VQ_WORK_MESSAGE,   /* `message`, decoded; borrowed for the step */
    /* `key`: answers VQ_WORK_KEYS, one per pool; later: the keys of a pool have changed */
    VQ_WORK_KEY,
    /* `reply`: a call ended. Each VQ_WORK_CALL or VQ_WORK_GATHER gets exactly one. */
    VQ_WORK_REPLY,
    VQ_WORK_COLLECTED,    /* `collected`: the result of a call that was part of a batch */
    VQ_WORK_BATCH,        /* `batch`: the new state of a batch that the shell follows */
    VQ_WORK_REFUSED,      /* `refused`: the provider refuses a batch of a pool as a whole */
    VQ_WORK_TICK,         /* time has passed */
    VQ_WORK_DRAIN,        /* finish the calls in flight, give the rest back, leave */
    VQ_WORK_STOP,         /* leave now; calls in flight count as unknown */
    VQ_WORK_SPOOL_FAILED, /* the spool cannot be written: drain, exit with VQ_WORK_EXIT_FATAL */
};

/* How a call ended, independent of the HTTP library. The shell fills it by the error table of
 * worker/provider. */
struct vq_work_reply {
    struct vq_id call;
    /* never VQ_END_UNKNOWN; BATCHED ends a VQ_WORK_GATHER, with vq_result_batch_text as `error` */
    enum vq_call_end end;
    /* if end is CLOSED: the new state; OPEN: only this key is bad, and the pool has others */
    enum vq_pool_state pool;
    int64_t retry_after_ms; /* the wait that the provider asked for; -1: none */
    /* the wait is known from the limit itself: the pool waits for all of it, without a bound */
    bool parks;
    /* if end is NETWORK: this process was suspended until the call must not be sent any more. It
     * uses up no try and is no failure of the pool. */
    bool late;
    bool slowed;           /* if end is RATE: refused because the rate grew too fast */
    int64_t park_unix_s;   /* when a daily or monthly quota is renewed; 0: no such refusal */
    struct vq_rates said;  /* limits in the response headers; 0: not given */
    uint32_t cap;          /* the concurrency limit that a refusal names; 0: none */
    uint64_t organisation; /* hash of the organisation in the response; 0: none */
    /* enum vq_param: end is CLOSED, and a retry without them may succeed */
    uint32_t params_refused;
    /* if end is RATE or PROVIDER: the service tier that the call named has no capacity */
    bool no_capacity;
    bool refusal;
    uint32_t http_status; /* 0: none */
    uint32_t latency_ms;
    int64_t started_unix_ms;
    uint64_t tokens_in, tokens_cached, tokens_cache_written, tokens_cache_written_long,
        tokens_out;            /* 0: not reported */
    uint64_t provider_nano;    /* the price that the provider reports; 0: none */
    uint64_t prompt_chars;     /* of the prompt that was sent */
    uint64_t tokens_uncounted; /* of tokens_in: the provider's rate limits do not count them */
    struct vq_span answer, finish_reason, model, fingerprint, label_logprobs, tier,
        error; /* borrowed for the step; cut at their bounds */
};

struct vq_work_key { /* borrowed for the step */
    uint32_t pool;
    enum vq_pool_state state; /* OPEN, or NO_KEY, NO_MODEL with a text */
    const uint64_t *keys;     /* fingerprints of the good keys; at most VQ_WIRE_KEYS_MAX */
    uint32_t keys_count;      /* 0 and OPEN: the pool needs no key */
    struct vq_span text;      /* why the pool, or one of its keys, is closed */
};

/* The end of a call that was part of a batch; borrowed for the step. `draft`: its record of end
 * BATCHED. A call that the provider did not carry out ends as NETWORK, and is retried. */
struct vq_work_collected {
    const struct vq_result *draft;
    const struct vq_work_reply *reply;
};

/* `reply`: like the reply to a call, but there was no call. Borrowed for the step. */
struct vq_work_refused {
    struct vq_span pool; /* its name */
    const struct vq_work_reply *reply;
};

struct vq_work_event {
    enum vq_work_event_type type;
    union {
        const struct vq_msg *message;
        const struct vq_result *result;
        const struct vq_work_reply *reply;
        const struct vq_work_key *key;
        const struct vq_work_collected *collected;
        const struct vq_msg_batch *batch; /* without its session */
        const struct vq_work_refused *refused;
    } u;
};

enum vq_work_action_type {
    VQ_WORK_SEND, /* `message` */
    /* Drop the unsent frames and reconnect; a HELLO follows. */
    VQ_WORK_RECONNECT,
    /* A new SPEC is in force: look up each pool's keys, answer with VQ_WORK_KEY events, as the next
     * steps. */
    VQ_WORK_KEYS,
    /* Note `call` as sent; a VQ_WORK_SPOOL_WRITE and its VQ_WORK_CALL follow. */
    VQ_WORK_SPOOL_SENT,
    /* Note `result`. Its answer is parsed after the write, so outcome and final are not set yet. */
    VQ_WORK_SPOOL_ANSWER,
    VQ_WORK_SPOOL_UNSENT, /* the same for a call that is part of a batch: it has no SENT note */
    /* Write the notes. If the write or a note fails, do not send the calls that follow: reply to
     * them with VQ_END_NETWORK and step VQ_WORK_SPOOL_FAILED. */
    VQ_WORK_SPOOL_WRITE,
    VQ_WORK_CALL, /* render and send `call`; end it with one VQ_WORK_REPLY in a later step */
    /* Render `call` and add it to the batch that its pool gathers; end it with one VQ_WORK_REPLY in
     * a later step. The batch is submitted only after VQ_WORK_GATHERED came for all its calls. */
    VQ_WORK_GATHER,
    VQ_WORK_GATHERED, /* it is committed that call `id` is part of its batch */
    /* A new session, or this worker leaves: create no batch any more that is not yet submitted;
     * collect its calls as not sent. Step VQ_WORK_BATCH for each of the other batches. */
    VQ_WORK_BATCHES_RESTART,
    VQ_WORK_COLLECT,     /* `collect`: follow this batch too, or cancel it */
    VQ_WORK_SPOOL_ACKED, /* `id` is committed: forget it */
    VQ_WORK_NOTE,        /* `note`: a line for the log */
    VQ_WORK_EXIT,        /* the last action: end the process with `exit_code` */
};

enum vq_work_exit {
    VQ_WORK_EXIT_DONE = 0, /* the run is finished, or this worker left with nothing un-ACKed */
    /* no memory, no room for the spool, or the coordinator reports that this worker breaks the
     * protocol */
    VQ_WORK_EXIT_FATAL = 1,
    VQ_WORK_EXIT_USAGE = 2,  /* refused: other version, other run */
    VQ_WORK_EXIT_STOPPED = 4 /* stopped or orphaned: the spool may hold answers */
};

/* A call to send. The core owns everything that it points to. */
struct vq_work_call {
    struct vq_id id;
    /* EMBED: the user part is a JSON array of texts, the answer packed vectors */
    enum vq_stage_kind stage_kind;
    uint32_t stage;
    uint64_t shard;
    struct vq_fence fence;
    /* end of the lease's term: the shell must not send the call after it */
    int64_t until_ns;
    uint64_t task;
    struct vq_hash request;
    struct vq_hash repaired; /* kind repair; else zero */
    uint32_t judge;
    uint32_t pool;           /* the pool that is called */
    uint32_t params_refused; /* enum vq_param: the request must not name them */
    const char *tier;        /* the service tier that the request names; "": none */
    struct vq_span pool_name;
    uint64_t tokens_reserved, cost_nano; /* its reservation: an upper estimate */
    uint32_t vibe;
    uint32_t order;
    uint32_t repeat;
    uint32_t tries;
    enum vq_call_kind kind;
    size_t output_bytes_max;        /* for vq_request_render; 0: not cut */
    const struct vq_asker *asker;   /* with `sample` and `axis` for vq_request_render ... */
    const struct vq_sample *sample; /* ... kind ask */
    const struct vq_axis *axis;
    struct vq_span answer; /* kind repair: for vq_repair_render */
    /* of a chain: the answers to the earlier turns; `sample` has system part and queries */
    const struct vq_span *turns;
    uint32_t turns_count;
};

/* The record of a call at the moment of sending, without its end. Borrows the pool's name. */
struct vq_result vq_work_call_sent(const struct vq_work_call *call);

enum vq_work_note_level {
    VQ_WORK_NOTE_INFO,
    VQ_WORK_NOTE_WARN
};

struct vq_work_note {
    enum vq_work_note_level level;
    const char *text;
};

struct vq_work_action {
    enum vq_work_action_type type;
    union {
        struct vq_msg message;
        struct vq_work_call call;
        const struct vq_result *result;
        struct vq_id id;
        const struct vq_msg_collect *collect;
        struct vq_work_note note;
        enum vq_work_exit exit_code;
    } u;
};

struct vq_work_stats {
    uint64_t session;
    uint32_t leases;
    uint32_t samples;
    uint64_t samples_bytes;
    uint32_t asks_open; /* not yet ACKed as final, cancelled, skipped or returned */
    uint32_t calls;     /* in flight */
    uint32_t results;   /* without an ACK */
    uint64_t results_bytes;
    uint64_t calls_started, calls_ended;
    uint64_t notes_dropped;
    uint64_t leases_refused; /* returned at once because they could not be carried out */
    bool draining;
};

/* VQ_NOMEM, VQ_LIMIT (concurrency_max over VQ_WORK_CONCURRENCY_MAX). */
enum vq_status vq_work_create(const struct vq_work_options *options,
                              struct vq_work **ret_work) VQ_WARN_UNUSED;
void vq_work_destroy(struct vq_work **work);

/* Takes one event. It handles any message of a peer: it drops messages of wrong sessions and
 * returns impossible leases. After VQ_NOMEM the process must exit with VQ_WORK_EXIT_FATAL; its
 * spool is whole. Answers must still be noted: take the actions at once (those of a VQ_WORK_REPLY
 * while the texts of its step exist), and step all further replies. */
enum vq_status vq_work_step(struct vq_work *work, int64_t now_ns,
                            const struct vq_work_event *event) VQ_WARN_UNUSED;

/* The next action of the last step; false: there is none. After VQ_WORK_EXIT there is no action.
 * After VQ_NOMEM there are only VQ_WORK_SPOOL_ANSWER and VQ_WORK_SPOOL_WRITE. */
bool vq_work_next(struct vq_work *work, struct vq_work_action *ret_action) VQ_WARN_UNUSED;

/* VQ_OK, or VQ_NOMEM if the core had to give up while its actions were taken. Call it after the
 * last action. */
enum vq_status vq_work_status(const struct vq_work *work);

/* The latest time of the next VQ_WORK_TICK; INT64_MAX: no tick is needed before the next event. */
int64_t vq_work_wake_ns(const struct vq_work *work);

/* Until when the shell may send the create of a batch: the end of the session's term; 0: not now.
 * The coordinator lets another worker follow the batch only after this time. */
int64_t vq_work_create_until_ns(const struct vq_work *work);

/* The SPEC in force; NULL before the first. Valid until the next VQ_WORK_KEYS action. */
const struct vq_work_spec *vq_work_spec(const struct vq_work *work);

void vq_work_stats(const struct vq_work *work, struct vq_work_stats *ret_stats);

/* The slice of pool p that is in force at now_ns; a rate of 0 is not limited. False: no slice, or
 * the pool does not exist. */
bool vq_work_slice(const struct vq_work *work, uint32_t p, int64_t now_ns,
                   struct vq_limit *ret_slice);
