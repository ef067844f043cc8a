/* The worker's state, private to the files of this folder. Each file changes its own part:
 *   work.c     events in, actions out, and their order
 *   session.c  the connection, terms, the end
 *   lease.c    leases, their asks and the sample cache
 *   pool.c     a pool: its slice, pauses, keys, amounts
 *   call.c     calls, from the start to the classified answer
 *   judge.c    which pool gets a call, and what that pool can take
 *   outbox.c   results without an ACK
 *   gather.c   calls that are part of a batch, and what becomes of batches
 *   credit.c   the reports on judges and pools
 *   front.c    calls whose prompts begin alike
 *   chain.c    dialogues: a lease whose asks follow each other
 *
 * Pointers: a lease owns its asks; calls and results name their ask by (shard, fence, task) and
 * look it up, so that a lease may go at any time. A lease refers to its sample. Queued actions
 * refer to calls and results, which stay until the actions were taken. */
#pragma once

#include "common/base/list.h"
#include "common/base/rng.h"
#include "proto/pool.h"
#include "worker/core/heap.h"
#include "worker/core/limits.h"
#include "worker/core/pace.h"
#include "worker/core/work.h"

#define VQ_WORK_MS(ms) ((int64_t)(ms)*INT64_C(1000000))
#define VQ_WORK_S(s)   ((int64_t)(s)*INT64_C(1000000000))

#define VQ_WORK_KINDS (VQ_CALL_REPAIR + 1) /* of calls */

/* ---- leases ---- */

enum vq_work_ask_state {
    VQ_WORK_ASK_LAZY,    /* waits for the other order's answer, or for the turn before it */
    VQ_WORK_ASK_READY,   /* in its judge's queue, or in a pool's own */
    VQ_WORK_ASK_PARKED,  /* the lease's term is over: until it is renewed */
    VQ_WORK_ASK_DELAYED, /* backs off: in `delayed` */
    VQ_WORK_ASK_CALLING, /* its call is in flight or was just answered */
    VQ_WORK_ASK_DONE,    /* its final result waits for the ACK */
    VQ_WORK_ASK_CLOSED   /* ACKed, skipped, cancelled or returned */
};

struct vq_work_lease;

struct vq_work_ask {
    struct vq_work_node node; /* of a queue, or of `delayed` */
    struct vq_work_lease *lease;
    uint64_t task;
    struct vq_hash request; /* kind repair: of the answer that is repaired */
    char *answer;           /* kind repair: that answer, owned */
    size_t answer_bytes;
    size_t output_bytes_max; /* 0: not cut yet */
    uint32_t vibe, repeat;
    uint32_t tries;       /* sends under this lease */
    uint32_t kind_tries;  /* of this kind: what tries_max bounds */
    uint32_t swapped;     /* index + 1 of the lazy ask that waits for this one; 0: none */
    uint32_t failed_pool; /* the last one that failed, + 1; 0: none. Another one goes before it */
    uint32_t no_capacity; /* refusals by a service tier */
    uint32_t queue;       /* READY: the pool in whose queue it is, + 1; 0: its judge's */
    int64_t queued_ns;    /* since when */
    uint8_t order, kind, state;
    bool cancelled; /* while calling: no retry, no repair */
    bool follows;   /* DELAYED: until its leader ended */
    bool loose;     /* it waited for its leader's pool, in vain */
};

struct vq_work_sample {
    struct vq_link link; /* in `idle` when no lease needs it */
    struct vq_index_node by_index;
    uint64_t index;
    struct vq_sample text;
    struct vq_sample_id id;
    uint32_t leases;
    size_t bytes;
    char at[];
};

enum vq_work_front_state {
    VQ_WORK_FRONT_COLD,
    VQ_WORK_FRONT_LEADING, /* the first call is in flight */
    VQ_WORK_FRONT_WARM     /* it was answered, or its prompt must have been read */
};

struct vq_work_front { /* the calls of one order of a lease, whose prompts begin alike */
    size_t bytes;      /* of what they have in common; 0: nothing is made of it */
    uint64_t leader;   /* its task */
    int64_t until_ns;  /* LEADING: the others wait for it */
    int64_t at_ns;     /* the last call */
    uint32_t pool;     /* the leader's */
    uint8_t state;
};

struct vq_work_chain {     /* a dialogue as far as it has come here */
    struct vq_span *turns; /* the answers so far, owned */
    uint32_t turns_count;
    struct vq_span queries;      /* those behind the one that is asked; the sample's */
    struct vq_chain_state state; /* of the turn that is asked */
    size_t said_bytes;           /* of all that its prompt says */
    size_t bytes;                /* of the answers */
    uint32_t pool;               /* that was asked last, + 1 */
    bool done;                   /* nothing more is asked */
    bool left;                   /* another worker's answer to a turn is in force: no retries */
};

struct vq_work_lease {
    struct vq_link link; /* in `leases`, in order of arrival */
    struct vq_index_node by_shard;
    uint64_t shard, seq;
    struct vq_fence fence;
    int64_t until_ns;  /* end of its term */
    int64_t listed_ns; /* stamp of the first HELD or HEARTBEAT that listed it; 0: none yet */
    struct vq_work_sample *sample;
    uint32_t judge;
    uint32_t open;                  /* asks not CLOSED */
    uint32_t parked;                /* asks PARKED */
    struct vq_work_front fronts[2]; /* by order */
    struct vq_work_chain *chain;    /* owned; NULL: none */
    uint32_t asks_count;
    struct vq_work_ask asks[];
};

/* ---- calls and results ---- */

/* What a call takes of every limit: a reservation, then what it came to. */
struct vq_work_need {
    struct vq_rates rates;    /* requests and tokens, not a minute's */
    uint64_t tokens;          /* of a day's quota */
    uint64_t nano;            /* nano-dollars */
    double in_most, out_most; /* tokens, as nano is reckoned */
    double bytes;             /* of the prompt */
};

/* What an ended call, or one in flight, counts for in the amounts that do not come back. */
struct vq_work_charge {
    uint64_t nano, requests, tokens;
};

struct vq_work_flight { /* a call in flight */
    struct vq_link link;
    struct vq_index_node by_id;
    struct vq_work_call call; /* its pointers are good only while its action is taken */
    int64_t started_ns;
    struct vq_work_need need;      /* reserved */
    struct vq_price price;         /* of the ordinary tier */
    double tier_price;             /* times it, if the call's tier is the one that served */
    char tier[VQ_WORK_TIER_BYTES]; /* that the request named; empty: none */
    uint32_t pool;                 /* in the SPEC in force; UINT32_MAX: it is in it no more */
    char pool_name[VQ_WIRE_NAME_BYTES_MAX + 1];
};

enum vq_work_result_place {
    VQ_WORK_RESULT_UNREAD, /* in the spool; its answer was not read yet */
    VQ_WORK_RESULT_UNSENT,
    VQ_WORK_RESULT_SENT /* in this session */
};

struct vq_work_result { /* a result without an ACK */
    struct vq_link link;
    struct vq_index_node by_id;
    struct vq_result result;
    struct vq_work_charge charge;
    uint32_t pool; /* as of a flight */
    bool batch;    /* of a call that is part of a batch: the shell hears of its ACK */
    enum vq_work_result_place place;
    int64_t at_ns;    /* when it was read, or sent last */
    uint64_t sent_no; /* its place in the order of sending */
    size_t bytes;
    char at[]; /* its texts */
};

/* ---- pools and judges ---- */

struct vq_work_pool { /* a pool as this worker may use it */
    uint8_t state;    /* enum vq_pool_state */
    bool keyed;       /* the shell said which keys there are */
    /* its endpoint said something, ever; one that never did is closed, and fails no task */
    bool heard;
    char text[VQ_WORK_TEXT_BYTES_MAX]; /* why it, or one of its keys, is closed */
    uint64_t keys[VQ_WIRE_KEYS_MAX];   /* fingerprints */
    uint32_t keys_count;
    uint64_t organisation;
    uint32_t params_refused; /* enum vq_param: by its model, as any worker learned */
    /* the slice */
    struct vq_limit slice; /* concurrency 0: nothing is started */
    bool noisy;            /* a refused call waits alone */
    struct vq_gcra paces[VQ_RATE__COUNT];
    int64_t held_ns; /* nothing is started before, as the GRANT says ... */
    struct vq_amount day_requests, day_tokens;
    /* what refusals and failures taught */
    int64_t paused_ns; /* ... or as a refusal asked */
    struct vq_refusals refusals;
    uint32_t pauses;   /* growth of the pause after failures */
    uint32_t failures; /* in a row */
    int64_t park_unix_s;
    struct vq_rates said;
    uint32_t cap;
    /* what calls take */
    struct vq_ratio ratios[VQ_WORK_KINDS][VQ_STAGE__COUNT];
    struct vq_rates unit, unit_before; /* the most that one reserved, in this window and the last */
    struct vq_work_charge spends;      /* likewise, of amounts, in this stage */
    struct vq_rates mean;              /* reserved by one, about */
    double latency_ms;                 /* of an answer, about; 0: none came yet */
    struct vq_work_heap followers;     /* asks that wait for this pool, though others may answer */
    int64_t unit_ns;                   /* when this window began */
    /* counts, over the process */
    uint32_t in_flight;
    uint64_t requests, answered, refused, slowed, timed, failed;
    uint64_t input_tokens, cached_tokens, output_tokens;
    bool told; /* the last CREDIT said that it could use more */
};

struct vq_work_judging {       /* a judge as this worker works for it */
    struct vq_work_heap ready; /* asks by (lease, place in it) */
    struct vq_answers answers[VQ_WORK_KINDS];
    uint32_t asks_open;
    uint32_t asks_done; /* of these: final, not ACKed; the coordinator counts them on no credit */
    uint32_t following; /* of these: their leader is in flight */
    uint32_t closed;    /* asks closed since the last look */
    double per_s;       /* of them */
    uint32_t credited;  /* what the last CREDIT said */
    uint32_t surplus;   /* looks in a row at which it held far more than it wants */
    uint32_t broke;     /* looks in a row at which no pool could afford a call */
    bool parked;        /* the coordinator has parked the last pool of it */
};

/* ---- actions to take ---- */

enum vq_work_item_type {
    VQ_WORK_ITEM_RECONNECT,
    VQ_WORK_ITEM_HELLO,
    VQ_WORK_ITEM_HELD,
    VQ_WORK_ITEM_HEARTBEAT,
    VQ_WORK_ITEM_CREDIT,
    VQ_WORK_ITEM_KEYS,
    VQ_WORK_ITEM_CANCEL, /* `cancel` */
    VQ_WORK_ITEM_RESULTS,
    VQ_WORK_ITEM_DRAIN,
    VQ_WORK_ITEM_BYE,
    /* `flight`: the note (or word to the coordinator); its CALL follows */
    VQ_WORK_ITEM_SENT,
    VQ_WORK_ITEM_CALL,     /* `flight` */
    VQ_WORK_ITEM_GATHER,   /* `flight` */
    VQ_WORK_ITEM_GATHERED, /* `id` */
    VQ_WORK_ITEM_ANEW,
    VQ_WORK_ITEM_COLLECT, /* `collect` */
    VQ_WORK_ITEM_BATCH,   /* `news` */
    VQ_WORK_ITEM_ANSWER,  /* `read`: the note; its READ follows the write */
    VQ_WORK_ITEM_READ,    /* `read` */
    VQ_WORK_ITEM_ACKED,   /* `id` */
    VQ_WORK_ITEM_NOTE,    /* `note` */
    VQ_WORK_ITEM_EXIT
};

struct vq_work_read {
    struct vq_work_result *result;
    struct vq_work_flight *flight; /* owned; NULL: collected from a batch */
    uint8_t closed;                /* enum vq_pool_state */
    int64_t retry_after_ms;
    bool parks, late, no_capacity;
};

/* tasks given back; owned by its item, or by `returned` until there is a session */
struct vq_work_cancel {
    struct vq_link link;
    uint32_t stage;
    uint64_t shard;
    struct vq_fence fence;
    uint32_t tasks_count; /* 0: the whole lease */
    uint64_t tasks[];
};

/* what became of a batch; owned by its item */
struct vq_work_news {
    struct vq_msg_batch batch;
    char at[]; /* its texts */
};

struct vq_work_item {
    enum vq_work_item_type type;
    union {
        struct vq_work_flight *flight;
        struct vq_work_read read;
        struct vq_work_cancel *cancel;
        struct vq_work_news *news;
        const struct vq_msg_collect *collect; /* of the message of this step */
        struct vq_id id;
        uint32_t note;
    } u;
};

struct vq_work_note_slot {
    enum vq_work_note_level level;
    char text[VQ_WORK_TEXT_BYTES_MAX];
};

/* ---- all of it ---- */

enum vq_work_link_state {
    VQ_WORK_LINK_NEW,   /* no CONNECTED yet */
    VQ_WORK_LINK_HELLO, /* HELLO sent, no WELCOME */
    VQ_WORK_LINK_OPEN
};

/* The connection to the coordinator, and the session on it. */
struct vq_work_link {
    enum vq_work_link_state state;
    struct vq_id run;
    uint64_t session, epoch;
    int64_t stamp_ns; /* the last one given out; they rise */
    int64_t hello_ns; /* stamp of the last HELLO */
    int64_t hello_due_ns;
    uint32_t hellos;          /* since the last WELCOME */
    bool silence_told;        /* since the last WELCOME */
    bool hello_again;         /* the next one is the last one, on its connection */
    int64_t patient_until_ns; /* the connection is kept until then */
    int64_t heard_ns;         /* the last frame of the coordinator */
    int64_t heartbeat_due_ns;
    int64_t term_ns, heartbeat_ns, orphan_ns;
};

/* How and why this worker ends. */
struct vq_work_end {
    bool draining, drain_said, orphaned, spool_failed;
    int64_t over_ns; /* the run is finished: calls in flight may end until then; 0: it is active */
    bool over_stopped; /* that end is no end of the run */
    enum vq_work_exit exit_code;
    bool exit_due, exited;
};

struct vq_work_credit {
    bool due;        /* send it now */
    int64_t said_ns; /* last CREDIT */
    uint64_t sum;    /* of what it counted */
};

/* What the last GRANT allows. */
struct vq_work_slices {
    uint64_t granted_n;     /* 0: no GRANT in this session */
    uint64_t epoch;         /* whose GRANT they are of */
    int64_t until_ns;       /* nothing starts past it */
    int64_t heard_until_ns; /* a term from the latest stamp that this epoch echoed */
    struct vq_amount spend;
};

struct vq_work_leases {
    struct vq_link list;     /* in order of arrival */
    struct vq_link returned; /* tasks given back that the coordinator has not been sent yet */
    struct vq_index by_shard;
    uint32_t count, asks_open, asks_done;
    uint64_t seq;
    struct vq_work_heap delayed; /* asks by time */
    uint64_t refused;
};

struct vq_work_samples {
    struct vq_index by_index;
    struct vq_link idle;
    uint32_t count;
    uint64_t bytes;
};

struct vq_work_calls {
    struct vq_link flights;
    struct vq_index by_id;
    uint32_t count; /* of flights */
    uint64_t n;     /* of call ids given out */
    uint64_t started, ended;
};

/* Results without an ACK. */
struct vq_work_outbox {
    struct vq_link unread, unsent, sent; /* sent: in the order of sending */
    struct vq_index by_id;
    uint32_t count, unsent_count;
    uint64_t bytes, unsent_bytes;
    uint64_t sent_n; /* counts results sent */
    bool flush;      /* send all unsent ones now */
};

struct vq_work_actions {
    struct vq_work_item *items; /* a queue: head to count */
    size_t head, count, cap;
    bool replies;   /* nothing but replies came since the last action was taken */
    bool unwritten; /* notes were given out, and no write since */
    bool unheld;    /* no memory for a reply: it is to be noted from where it is ... */
    struct vq_result unheld_result; /* ... as this, whose texts are the reply's */
    char unheld_pool[VQ_WIRE_NAME_BYTES_MAX + 1];
    struct vq_work_cancel *cancel_out; /* given out, freed at the next call */
    struct vq_work_news *news_out;     /* likewise */
    struct vq_work_note_slot *notes;
    uint32_t notes_count;
    uint64_t notes_dropped;
    void *scratch; /* lists of the message given out */
    size_t scratch_cap;
    void *scratch2;
    size_t scratch2_cap;
};

/* One worker's state. A function that needs one part alone takes that part. */
struct vq_work {
    struct vq_work_options options;
    char *name, *host, *software;
    struct vq_rng rng;
    enum vq_status status; /* sticky */
    int64_t now_ns;

    struct vq_work_spec *spec; /* the SPEC in force */
    struct vq_hash spec_wanted;
    struct vq_work_judging *judges; /* spec->judges_count */
    struct vq_work_pool *pools;     /* spec->pools_count */
    uint32_t judge_turn, pool_turn;

    struct vq_work_link link;
    struct vq_work_end end;
    struct vq_work_credit credit;
    struct vq_work_slices slices;
    struct vq_work_leases leases;
    struct vq_work_samples samples;
    struct vq_work_calls calls;
    struct vq_work_outbox outbox;
    struct vq_work_actions actions;
};

/* Sticks the status; true when it was VQ_OK. */
bool vq_work_ok(struct vq_work *w, enum vq_status status);
/* Queues an action; a failure sticks. */
void vq_work_queue(struct vq_work *w, struct vq_work_item item);
/* Room for one more action, so that the next vq_work_queue does not fail; false: none, and that
 * sticks. */
bool vq_work_queue_room(struct vq_work *w);
void vq_work_note(struct vq_work *w, enum vq_work_note_level level, const char *fmt, ...)
    VQ_PRINTF(3, 4);
void vq_work_exit(struct vq_work *w, enum vq_work_exit code); /* the first one counts */

/* session.c */
void vq_work_on_connected(struct vq_work *w);
void vq_work_on_welcome(struct vq_work *w, const struct vq_msg_welcome *welcome);
void vq_work_on_spec(struct vq_work *w, const struct vq_msg_spec *spec);
void vq_work_on_echo(struct vq_work *w, const struct vq_msg_held *echo);
void vq_work_on_bye(struct vq_work *w, const struct vq_msg_bye *bye);
void vq_work_drain(struct vq_work *w, const char *why);
void vq_work_stop(struct vq_work *w);
void vq_work_session_pump(struct vq_work *w); /* HELLO, HEARTBEAT, orphan, leaving */
int64_t vq_work_session_wake(const struct vq_work *w);
int64_t vq_work_stamp(struct vq_work *w);
/* Sends a HEARTBEAT at once, unless one was sent at this moment: the coordinator gets the list of
 * held calls before the next message. */
void vq_work_list_now(struct vq_work *w);

/* lease.c */
void vq_work_on_sample(struct vq_work *w, const struct vq_msg_sample *sample);
void vq_work_on_lease(struct vq_work *w, const struct vq_msg_lease *lease);
void vq_work_on_cancel(struct vq_work *w, const struct vq_msg_cancel *cancel);
struct vq_work_sample *vq_work_sample_find(const struct vq_work_samples *samples, uint64_t index);
/* The ask of a call or result, or NULL when its lease has gone. */
struct vq_work_ask *vq_work_ask_find(struct vq_work_leases *leases, uint64_t shard,
                                     struct vq_fence fence, uint64_t task);
void vq_work_ask_ready(struct vq_work *w, struct vq_work_ask *ask);
void vq_work_ask_delay(struct vq_work *w, struct vq_work_ask *ask, int64_t until_ns);
void vq_work_ask_unqueue(struct vq_work *w, struct vq_work_ask *ask);
/* The first ask of a queue whose lease may still start calls; those before it are parked. NULL:
 * none. */
struct vq_work_ask *vq_work_queue_first(struct vq_work *w, const struct vq_work_heap *queue);
/* Nothing more is done for it; the last one of a lease closes the lease. `ask` may be gone
 * afterwards. */
void vq_work_ask_close(struct vq_work *w, struct vq_work_ask *ask);
/* Its answer is known (or that there will be none): the swapped order that waits for it is asked or
 * skipped. */
void vq_work_ask_decide(struct vq_work *w, struct vq_work_ask *ask, enum vq_outcome outcome);
/* Its answer has no verdict, and the repair is not asked under this lease: the swapped order that
 * waits for it goes back with it. */
void vq_work_ask_leave_undecided(struct vq_work *w, struct vq_work_ask *ask);
/* Gives back a task whose call has ended, and with it all idle ones of its lease; or all idle ones
 * of a judge (UINT32_MAX: of every judge). */
void vq_work_ask_return(struct vq_work *w, struct vq_work_ask *ask);
void vq_work_return_all(struct vq_work *w, uint32_t judge);
/* The newest idle asks of a judge, until no more than about `keep` of its asks are open. */
void vq_work_return_surplus(struct vq_work *w, uint32_t judge, uint32_t keep);
/* Something is left to ask: not all that is held only waits for its ACK. */
bool vq_work_leases_ask(const struct vq_work_leases *leases);
void vq_work_lease_renew(struct vq_work *w, struct vq_work_lease *lease, int64_t until_ns);
void vq_work_lease_drop(struct vq_work *w, struct vq_work_lease *lease);
void vq_work_samples_drop_idle(struct vq_work_samples *samples, uint32_t keep);
void vq_work_delayed_pump(struct vq_work *w);

/* Takes an ask out of every count; does not look at its lease. */
void vq_work_ask_take_out(struct vq_work *w, struct vq_work_ask *ask);

/* chain.c */
/* Why this lease of a chain, whose sample is here, cannot be carried out; NULL: it can. */
const char *vq_work_chain_refuse(const struct vq_work_samples *samples,
                                 const struct vq_msg_lease *msg);
enum vq_status vq_work_chain_create(struct vq_work_samples *samples, const struct vq_msg_lease *msg,
                                    struct vq_work_lease *lease) VQ_WARN_UNUSED;
void vq_work_chain_free(struct vq_work_samples *samples, struct vq_work_lease *lease);
/* Its last ask is closed: it counts no more. */
void vq_work_chain_counted(struct vq_work *w, const struct vq_work_lease *lease);
/* What stands of a turn is known, or that nothing will: the next one is asked, or none. */
void vq_work_chain_decide(struct vq_work *w, struct vq_work_ask *ask, enum vq_outcome outcome);
void vq_work_chain_settled(struct vq_work *w, struct vq_work_ask *ask, struct vq_span answer,
                           enum vq_outcome outcome);
/* Some of its asks were closed: it may be done now. */
void vq_work_chain_look(struct vq_work *w, struct vq_work_lease *lease);
bool vq_work_chain_asking(const struct vq_work_lease *lease); /* a call of it is in flight */
/* The pool that the chain stays on; UINT32_MAX: any. */
uint32_t vq_work_chain_pool(const struct vq_work *w, const struct vq_work_ask *ask);

/* pool.c */
/* After a new SPEC. What is granted, owed and learnt of a pool with the same name, address and
 * model goes on; so do its calls. `old` (nullable) has `old_pools`. false: no memory. */
bool vq_work_pools_reset(struct vq_work *w, const struct vq_work_spec *old,
                         const struct vq_work_pool *old_pools);
void vq_work_pools_free(struct vq_work_pool *pools, uint32_t count);
void vq_work_on_key(struct vq_work *w, const struct vq_work_key *key);
void vq_work_on_grant(struct vq_work *w, const struct vq_msg_grant *grant);
/* The coordinator has read the message of `stamp_ns`: its slices of this session are in force for a
 * term from there. Slices of an earlier session keep their end, because the coordinator may have
 * lowered them since. Slices whose term is over are lost until the next GRANT; true: it was
 * over. */
bool vq_work_slices_renew(struct vq_work *w, int64_t stamp_ns);
/* Those of an earlier coordinator are over now: nothing is started by them again. */
void vq_work_slices_forget(struct vq_work *w);
void vq_work_pool_close(struct vq_work *w, uint32_t pool, enum vq_pool_state state,
                        struct vq_span text);
/* Likewise by a call, with what to do about it. */
void vq_work_pool_pause(struct vq_work *w, uint32_t index, uint32_t ms);
void vq_work_pool_closed_by(struct vq_work *w, uint32_t pool, enum vq_pool_state state,
                            const struct vq_result *result);
/* Its model refused these parameters: they are left out from now on, and the coordinator hears of
 * it. */
void vq_work_pool_learn(struct vq_work *w, uint32_t pool, uint32_t params, struct vq_span error);
/* It said something, or nothing: what all its ends have in common. */
void vq_work_pool_heard(struct vq_work *w, uint32_t pool, int64_t started_ns, enum vq_call_end end);
/* Until when the refused call has to wait; now: only as long as its pool. */
int64_t vq_work_pool_refused(struct vq_work *w, uint32_t pool, int64_t started_ns,
                             int64_t retry_after_ms, bool parks);
/* Whether it may be asked at all: open, with a slice. */
bool vq_work_pool_usable(const struct vq_work *w, uint32_t pool);
/* Whether what is granted of dollars and of the day has room for the largest call of this stage. */
bool vq_work_pool_affords(const struct vq_work *w, uint32_t pool);
/* When the next call that takes so much may start: now, later, or INT64_MAX. */
int64_t vq_work_pool_when(const struct vq_work *w, uint32_t pool, const struct vq_work_need *need);
void vq_work_pool_spend(struct vq_work *w, uint32_t pool, const struct vq_work_need *need);
/* So much will be wanted at once: the coordinator is to know before it starts. */
void vq_work_pool_expect(struct vq_work *w, uint32_t pool, const struct vq_work_need *need);
/* The call of `flight` ended: what it took is settled, `result` gets its cost, *ret_charge what it
 * counts for until its ACK. */
void vq_work_pool_settle(struct vq_work *w, const struct vq_work_flight *flight,
                         const struct vq_work_reply *reply, struct vq_result *result,
                         struct vq_work_charge *ret_charge);
/* A call that an earlier process made counts too. */
void vq_work_charge_add(struct vq_work *w, uint32_t pool, const struct vq_work_charge *charge);
void vq_work_charge_acked(struct vq_work *w, uint32_t pool, const struct vq_work_charge *charge);
uint32_t vq_work_pool_find(const struct vq_work *w, struct vq_span name); /* UINT32_MAX: none */

/* judge.c */
bool vq_work_judges_reset(struct vq_work *w); /* false: no memory */
void vq_work_judges_free(struct vq_work_judging *judges, uint32_t count);
/* Open while one of its pools is; else the state and text of its first one. */
enum vq_pool_state vq_work_judge_state(const struct vq_work *w, uint32_t judge,
                                       const char **ret_text);
bool vq_work_judge_usable(const struct vq_work *w, uint32_t judge); /* one of its pools is */
/* The pool is left out for this judge, in this stage; unknown ones are ignored. */
void vq_work_judge_park(struct vq_work *w, uint32_t judge, uint32_t pool);
bool vq_work_judge_uses(const struct vq_work *w, uint32_t judge, uint32_t pool);
/* When the ask may go to this pool, and what it takes there. */
int64_t vq_work_judge_when(const struct vq_work *w, const struct vq_work_ask *ask, uint32_t pool,
                           struct vq_work_need *ret_need);
/* Reports the reservation of the ask to its pools. */
void vq_work_judge_expect(struct vq_work *w, const struct vq_work_ask *ask);
/* The ask goes into a batch: it may, and its judge has an open batch pool. */
bool vq_work_judge_gathers(const struct vq_work *w, const struct vq_work_ask *ask);
/* The pool that should be asked now and what that takes; false: none may be, before
 * *ret_when_ns. */
bool vq_work_judge_choose(const struct vq_work *w, const struct vq_work_ask *ask,
                          uint32_t *ret_pool, struct vq_work_need *ret_need, int64_t *ret_when_ns);

/* front.c */
void vq_work_front_find(const struct vq_work *w, struct vq_work_lease *lease); /* of a new lease */
/* Whether the ask, first in its judge's queue, has left it: to wait for its leader, or for its
 * leader's pool. */
bool vq_work_front_waits(struct vq_work *w, struct vq_work_ask *ask);
void vq_work_front_started(struct vq_work *w, const struct vq_work_ask *ask, uint32_t pool);
void vq_work_front_ended(struct vq_work *w, const struct vq_work_ask *ask, bool answered);
/* The pool that it should go to though others may answer; UINT32_MAX: none. */
uint32_t vq_work_front_pool(const struct vq_work *w, const struct vq_work_ask *ask);
void vq_work_fronts_pump(struct vq_work *w); /* starts what may start of the pools' own queues */
int64_t vq_work_fronts_wake(const struct vq_work *w);

/* credit.c */
bool vq_work_holds_enough(const struct vq_work *w); /* no more is wanted for now */
bool vq_work_credit_fill(struct vq_work *w, struct vq_msg_credit *credit);
void vq_work_credit_pump(struct vq_work *w);
/* RESULTS follow: the counts go first when these may be the last. */
void vq_work_credit_before_results(struct vq_work *w);
int64_t vq_work_credit_wake(const struct vq_work *w);

/* heard.c: the most tokens of a request of `bytes` */
double vq_work_input_most(const struct vq_work *w, enum vq_call_kind kind, double bytes,
                          uint32_t max_tokens);
void vq_work_heard_cut(const struct vq_work *w, const struct vq_work_flight *flight,
                       struct vq_work_reply *reply);

/* call.c */
void vq_work_calls_pump(struct vq_work *w);      /* starts what may start */
bool vq_work_may_start(const struct vq_work *w); /* but for pools */
void vq_work_call_start(struct vq_work *w, struct vq_work_ask *ask, uint32_t pool,
                        const struct vq_work_need *need);
int64_t vq_work_calls_wake(const struct vq_work *w);
void vq_work_on_reply(struct vq_work *w, const struct vq_work_reply *reply);
/* What `reply` says, into the record of its call; not its cost and its pool. */
void vq_work_result_fill(struct vq_result *result, enum vq_stage_kind kind,
                         const struct vq_work_reply *reply);
void vq_work_read(struct vq_work *w, const struct vq_work_read *read);

/* gather.c */
/* Whether asks of this stage may go there: a batch pool takes those that look at outputs. */
bool vq_work_pool_fits(const struct vq_work *w, uint32_t pool);
/* Its call is part of a batch: the lease waits for it no longer than for its ACK. */
void vq_work_gathered(struct vq_work *w, struct vq_work_ask *ask);
void vq_work_on_collected(struct vq_work *w, const struct vq_work_collected *collected);
void vq_work_on_refused(struct vq_work *w, const struct vq_work_refused *refused);
void vq_work_on_batch(struct vq_work *w, const struct vq_msg_batch *batch);

/* outbox.c */
/* A copy of the result, unread; NULL when there is no memory (sticks). */
struct vq_work_result *vq_work_outbox_add(struct vq_work *w, const struct vq_result *result,
                                          uint32_t pool, const struct vq_work_charge *charge);
/* There is no memory for it: its note is given out from where it is, as the next action, if there
 * is a spool. */
void vq_work_outbox_unheld(struct vq_work *w, const struct vq_result *result);
void vq_work_outbox_find_pools(struct vq_work *w);                         /* after a new SPEC */
void vq_work_outbox_send(struct vq_work *w, struct vq_work_result *entry); /* it was read */
void vq_work_on_spooled(struct vq_work *w, const struct vq_result *result);
/* Reads an answer whose ask is not here any more, and sends its result. false: no memory. */
bool vq_work_outbox_read(struct vq_work *w, struct vq_work_result *entry);
void vq_work_on_ack(struct vq_work *w, const struct vq_msg_ack *ack);
void vq_work_outbox_read_spooled(
    struct vq_work *w); /* the SPEC is known: what was spooled can be sent */
void vq_work_outbox_session(struct vq_work_outbox *outbox); /* a new session: everything again */
void vq_work_outbox_pump(struct vq_work *w);
int64_t vq_work_outbox_wake(const struct vq_work *w);
bool vq_work_outbox_fill(struct vq_work *w, struct vq_msg_results *results);
bool vq_work_outbox_full(const struct vq_work_outbox *outbox);
void vq_work_outbox_free(struct vq_work_outbox *outbox);
