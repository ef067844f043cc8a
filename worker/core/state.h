/* The worker's state, private to the files of this folder. Each file changes its own part:
 *   work.c     events in, actions out, and their order
 *   session.c  the connection, terms, the end
 *   lease.c    leases, their asks and the sample cache
 *   pool.c     a pool: its slice, pauses, keys, amounts
 *   call.c     calls, from the start to the classified answer
 *   judge.c    the choice of a pool for a call, and the cost of the call there
 *   outbox.c   results without an ACK
 *   gather.c   calls that are part of a batch, and the states of batches
 *   credit.c   the reports on judges and pools
 *   front.c    calls whose prompts begin alike
 *   chain.c    dialogues: a lease whose asks follow each other
 *
 * An ask is a leased task, as the worker carries it out.
 *
 * Pointers: a lease owns its asks; calls and results name their ask by (shard, fence, task) and
 * look it up, so a lease may be dropped at any time. A lease refers to its sample. Queued actions
 * refer to calls and results, which exist until the actions are taken. */
#pragma once

#include "common/base/heap.h"
#include "common/base/list.h"
#include "common/base/rng.h"
#include "proto/pool.h"
#include "worker/core/limits.h"
#include "worker/core/pace.h"
#include "worker/core/work.h"

#define VQ_WORK_MS(ms) ((int64_t)(ms)*INT64_C(1000000))
#define VQ_WORK_S(s)   ((int64_t)(s)*INT64_C(1000000000))

#define VQ_WORK_KINDS (VQ_CALL_REPAIR + 1) /* of calls */

/* ---- leases ---- */

enum vq_work_ask_state {
    VQ_WORK_ASK_LAZY,    /* waits for the other order's answer, or for the earlier turn */
    VQ_WORK_ASK_READY,   /* in its judge's queue, or in a pool's queue */
    VQ_WORK_ASK_PARKED,  /* the lease's term is over; waits until the lease is renewed */
    VQ_WORK_ASK_DELAYED, /* in `delayed`: waits before a retry */
    VQ_WORK_ASK_CALLING, /* its call is in flight or was just answered */
    VQ_WORK_ASK_DONE,    /* its final result waits for the ACK */
    VQ_WORK_ASK_CLOSED   /* ACKed, skipped, cancelled or returned */
};

struct vq_work_lease;

struct vq_work_ask {
    struct vq_heap_node node; /* of a queue, or of `delayed` */
    struct vq_work_lease *lease;
    uint64_t task;
    struct vq_hash request; /* kind repair: of the answer to repair */
    char *answer;           /* kind repair: the answer to repair, owned */
    size_t answer_bytes;
    size_t output_bytes_max; /* 0: not cut yet */
    uint32_t vibe, repeat;
    uint32_t tries;       /* sends under this lease */
    uint32_t kind_tries;  /* of this kind; tries_max is their bound */
    uint32_t swapped;     /* index + 1 of the lazy ask that waits for this one; 0: none */
    uint32_t failed_pool; /* the last one that failed, + 1; 0: none. Other pools come before it */
    uint32_t no_capacity; /* refusals because a service tier had no capacity */
    uint32_t queue;       /* READY: the pool in whose queue it is, + 1; 0: in its judge's queue */
    int64_t queued_ns;    /* since when */
    uint8_t order, kind, state;
    bool cancelled; /* while a call is in flight: no retry, no repair follows */
    bool follows;   /* DELAYED: waits until its leader has ended */
    bool loose;     /* it waited too long for its leader's pool: any pool may take it */
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
    VQ_WORK_FRONT_WARM     /* it was answered, or the provider must have read its prompt by now */
};

struct vq_work_front { /* the calls of one order of a lease, whose prompts begin alike */
    size_t bytes;      /* of the common prefix; 0: the worker makes no use of it */
    uint64_t leader;   /* its task */
    int64_t until_ns;  /* LEADING: the others wait until then */
    int64_t at_ns;     /* the last call */
    uint32_t pool;     /* of the leader */
    uint8_t state;
};

struct vq_work_chain {     /* a dialogue, as far as this worker has its answers */
    struct vq_span *turns; /* the answers so far, owned */
    uint32_t turns_count;
    struct vq_span queries;      /* the queries after the current turn; of the sample */
    struct vq_chain_state state; /* of the current turn */
    size_t said_bytes;           /* of all texts of its prompt */
    size_t bytes;                /* of the answers */
    uint32_t pool;               /* the pool of the last call, + 1 */
    bool done;                   /* no further turn is asked */
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

/* The cost of a call in each limit: first reserved, then settled. */
struct vq_work_need {
    struct vq_rates rates;    /* of this call, not per minute */
    uint64_t tokens;          /* of a day's quota */
    uint64_t nano;            /* nano-dollars */
    double in_most, out_most; /* tokens: the upper bounds that `nano` is computed from */
    double bytes;             /* of the prompt */
};

/* The share of an ended call, or of one in flight, in the amounts that do not come back. */
struct vq_work_charge {
    uint64_t nano, requests, tokens;
};

struct vq_work_flight { /* a call in flight */
    struct vq_link link;
    struct vq_index_node by_id;
    struct vq_work_call call; /* its pointers are valid only while its action is taken */
    int64_t started_ns;
    struct vq_work_need need; /* reserved */
    struct vq_price price;    /* of the ordinary tier */
    /* factor of `price`, if the tier that the call named served it */
    double tier_price;
    char tier[VQ_WORK_TIER_BYTES]; /* the tier that the request named; empty: none */
    uint32_t pool;                 /* in the SPEC in force; UINT32_MAX: not in it any more */
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
    uint32_t pool; /* as in vq_work_flight */
    bool batch;    /* of a call that is part of a batch: the shell is informed of its ACK */
    enum vq_work_result_place place;
    int64_t at_ns;    /* when it was read, or last sent */
    uint64_t sent_no; /* its place in the order of sending */
    size_t bytes;
    char at[]; /* its texts */
};

/* ---- pools and judges ---- */

struct vq_work_pool { /* a pool as this worker may use it */
    uint8_t state;    /* enum vq_pool_state */
    bool keyed;       /* the shell has reported its keys */
    /* its endpoint has answered at least once; one that never did is closed, and fails no task */
    bool heard;
    char text[VQ_WORK_TEXT_BYTES_MAX]; /* why the pool, or one of its keys, is closed */
    uint64_t keys[VQ_WIRE_KEYS_MAX];   /* fingerprints */
    uint32_t keys_count;
    uint64_t organisation;
    uint32_t params_refused; /* enum vq_param: refused by its model, as any worker learned */
    /* the slice */
    struct vq_limit slice; /* concurrency 0: no call starts */
    bool noisy;            /* it refuses calls at random: only the refused call waits */
    struct vq_gcra paces[VQ_RATE__COUNT];
    int64_t held_ns; /* no call starts before: set by a GRANT ... */
    struct vq_amount day_requests, day_tokens;
    /* learned from refusals and failures */
    int64_t paused_ns; /* ... or by a refusal */
    struct vq_refusals refusals;
    uint32_t pauses;   /* growth of the pause after failures */
    uint32_t failures; /* in a row */
    int64_t park_unix_s;
    struct vq_rates said;
    uint32_t cap;
    /* the cost of calls */
    struct vq_ratio ratios[VQ_WORK_KINDS][VQ_STAGE__COUNT];
    /* the largest reservation of one call, in this window and in the last one */
    struct vq_rates unit, unit_before;
    struct vq_work_charge spends; /* likewise, of amounts, in this stage */
    struct vq_rates mean;         /* the mean reservation of a call */
    double latency_ms;            /* mean time until an answer; 0: none came yet */
    /* asks that wait for this pool, although other pools may answer them */
    struct vq_heap followers;
    int64_t unit_ns; /* when this window started */
    /* counts, over the process */
    uint32_t in_flight;
    uint64_t requests, answered, refused, slowed, timed, failed;
    uint64_t input_tokens, cached_tokens, output_tokens;
    bool wants_more; /* the last CREDIT reported that it could use more */
};

struct vq_work_judging {  /* a judge, as this worker works for it */
    struct vq_heap ready; /* asks by (lease, place in it) */
    struct vq_answers answers[VQ_WORK_KINDS];
    uint32_t asks_open;
    /* of these: final, not ACKed; the coordinator does not count them as credit */
    uint32_t asks_done;
    uint32_t following; /* of these: their leader is in flight */
    uint32_t closed;    /* asks closed since the last measurement */
    double per_s;       /* asks closed per second */
    uint32_t credited;  /* the number of tasks that the last CREDIT wanted */
    uint32_t surplus;   /* looks in a row at which it held far more than it wanted */
    uint32_t broke;     /* looks in a row at which no pool could afford a call */
    bool parked;        /* the coordinator has parked the judge's last pool */
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
    /* `flight`: the note in the spool, or the report to the coordinator; its CALL follows */
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

/* tasks to give back; owned by its item, or by `returned` until there is a session */
struct vq_work_cancel {
    struct vq_link link;
    uint32_t stage;
    uint64_t shard;
    struct vq_fence fence;
    uint32_t tasks_count; /* 0: the whole lease */
    uint64_t tasks[];
};

/* the state of a batch; owned by its item */
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
        const struct vq_msg_collect *collect; /* from the message of this step */
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
    int64_t stamp_ns; /* the last stamp that was used; stamps rise */
    int64_t hello_ns; /* stamp of the last HELLO */
    int64_t hello_due_ns;
    uint32_t hellos;     /* since the last WELCOME */
    bool silence_logged; /* since the last WELCOME */
    /* the next HELLO is a repeat of the last one, on the same connection */
    bool hello_again;
    int64_t patient_until_ns; /* the connection stays open until then */
    int64_t heard_ns;         /* when the last frame of the coordinator came */
    int64_t heartbeat_due_ns;
    int64_t term_ns, heartbeat_ns, orphan_ns;
};

/* How and why this worker ends. */
struct vq_work_end {
    bool draining, drain_logged, orphaned, spool_failed;
    int64_t over_ns; /* the run is finished: calls in flight may end until then; 0: it is active */
    bool over_stopped; /* the run was stopped: it has not ended */
    enum vq_work_exit exit_code;
    bool exit_due, exited;
};

struct vq_work_credit {
    bool due;        /* send it now */
    int64_t said_ns; /* when the last CREDIT was sent */
    uint64_t sum;    /* of its counts */
};

/* What the last GRANT allows. */
struct vq_work_slices {
    uint64_t granted_n;     /* 0: no GRANT in this session */
    uint64_t epoch;         /* the epoch of this GRANT */
    int64_t until_ns;       /* no call starts after it */
    int64_t heard_until_ns; /* a term from the latest stamp that this epoch echoed */
    struct vq_amount spend;
};

struct vq_work_leases {
    struct vq_link list;     /* in order of arrival */
    struct vq_link returned; /* tasks to give back, not yet sent to the coordinator */
    struct vq_index by_shard;
    uint32_t count, asks_open, asks_done;
    uint64_t seq;
    struct vq_heap delayed; /* asks by time */
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
    uint64_t n;     /* call ids used so far */
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
    bool replies;   /* since the last action was taken, there were only replies */
    bool unwritten; /* notes were handed out, but no write after them */
    bool unheld;    /* there is no memory for a reply: its note must be taken from ... */
    struct vq_result unheld_result; /* ... this record, whose texts are the reply's */
    char unheld_pool[VQ_WIRE_NAME_BYTES_MAX + 1];
    struct vq_work_cancel *cancel_out; /* handed out, freed at the next call */
    struct vq_work_news *news_out;     /* likewise */
    struct vq_work_note_slot *notes;
    uint32_t notes_count;
    uint64_t notes_dropped;
    void *scratch; /* lists of the message that is handed out */
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

/* Keeps the first failure; true if there is none. */
bool vq_work_ok(struct vq_work *w, enum vq_status status);
/* Queues an action. Keeps a failure. */
void vq_work_queue(struct vq_work *w, struct vq_work_item item);
/* Makes room for one more action, so that the next vq_work_queue does not fail; false: no memory,
 * and the failure is kept. */
bool vq_work_queue_room(struct vq_work *w);
void vq_work_note(struct vq_work *w, enum vq_work_note_level level, const char *fmt, ...)
    VQ_PRINTF(3, 4);
void vq_work_exit(struct vq_work *w, enum vq_work_exit code); /* the first call counts */

/* session.c */
void vq_work_on_connected(struct vq_work *w);
void vq_work_on_welcome(struct vq_work *w, const struct vq_msg_welcome *welcome);
void vq_work_on_spec(struct vq_work *w, const struct vq_msg_spec *spec);
void vq_work_on_echo(struct vq_work *w, const struct vq_msg_held *echo);
void vq_work_on_bye(struct vq_work *w, const struct vq_msg_bye *bye);
void vq_work_drain(struct vq_work *w, const char *why);
void vq_work_stop(struct vq_work *w);
void vq_work_session_pump(struct vq_work *w); /* HELLO, HEARTBEAT, the orphan's end, leaving */
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
/* The ask of a call or result; NULL: its lease has ended. */
struct vq_work_ask *vq_work_ask_find(struct vq_work_leases *leases, uint64_t shard,
                                     struct vq_fence fence, uint64_t task);
void vq_work_ask_ready(struct vq_work *w, struct vq_work_ask *ask);
void vq_work_ask_delay(struct vq_work *w, struct vq_work_ask *ask, int64_t until_ns);
void vq_work_ask_unqueue(struct vq_work *w, struct vq_work_ask *ask);
/* The first ask of a queue whose lease may still start calls; parks the asks before it. NULL:
 * none. */
struct vq_work_ask *vq_work_queue_first(struct vq_work *w, const struct vq_heap *queue);
/* The ask is finished; the last ask of a lease closes the lease. `ask` may be freed afterwards. */
void vq_work_ask_close(struct vq_work *w, struct vq_work_ask *ask);
/* The answer of `ask` is known, or there will be none: asks or skips the swapped order that waits
 * for it. */
void vq_work_ask_decide(struct vq_work *w, struct vq_work_ask *ask, enum vq_outcome outcome);
/* The answer has no verdict, and the repair is not asked under this lease: the swapped order that
 * waits for it is given back, too. */
void vq_work_ask_leave_undecided(struct vq_work *w, struct vq_work_ask *ask);
/* Gives back a task whose call has ended, and with it all idle tasks of its lease.
 * vq_work_return_all gives back all idle tasks of a judge (UINT32_MAX: of every judge). */
void vq_work_ask_return(struct vq_work *w, struct vq_work_ask *ask);
void vq_work_return_all(struct vq_work *w, uint32_t judge);
/* Gives back the newest idle asks of a judge, until about `keep` of its asks are open. */
void vq_work_return_surplus(struct vq_work *w, uint32_t judge, uint32_t keep);
/* Whether any ask still needs a call, rather than only an ACK. */
bool vq_work_leases_ask(const struct vq_work_leases *leases);
void vq_work_lease_renew(struct vq_work *w, struct vq_work_lease *lease, int64_t until_ns);
void vq_work_lease_drop(struct vq_work *w, struct vq_work_lease *lease);
void vq_work_samples_drop_idle(struct vq_work_samples *samples, uint32_t keep);
void vq_work_delayed_pump(struct vq_work *w);

/* Removes an ask from every count; does not look at its lease. */
void vq_work_ask_take_out(struct vq_work *w, struct vq_work_ask *ask);

/* chain.c */
/* Why this lease of a chain, whose sample is in the cache, cannot be carried out; NULL: it can. */
const char *vq_work_chain_refuse(const struct vq_work_samples *samples,
                                 const struct vq_msg_lease *msg);
enum vq_status vq_work_chain_create(struct vq_work_samples *samples, const struct vq_msg_lease *msg,
                                    struct vq_work_lease *lease) VQ_WARN_UNUSED;
void vq_work_chain_free(struct vq_work_samples *samples, struct vq_work_lease *lease);
/* The chain's last ask is closed: it is removed from the counts. */
void vq_work_chain_counted(struct vq_work *w, const struct vq_work_lease *lease);
/* The answer in force of a turn is known, or there will be none: asks the next turn, or ends the
 * chain. */
void vq_work_chain_decide(struct vq_work *w, struct vq_work_ask *ask, enum vq_outcome outcome);
void vq_work_chain_settled(struct vq_work *w, struct vq_work_ask *ask, struct vq_span answer,
                           enum vq_outcome outcome);
/* Some of its asks were closed: checks whether the chain is done. */
void vq_work_chain_look(struct vq_work *w, struct vq_work_lease *lease);
bool vq_work_chain_asking(const struct vq_work_lease *lease); /* a call of it is in flight */
/* The pool that the chain stays on; UINT32_MAX: any. */
uint32_t vq_work_chain_pool(const struct vq_work *w, const struct vq_work_ask *ask);

/* pool.c */
/* After a new SPEC. A pool with the same name, address and model keeps its slices, its debts,
 * everything learned about it, and its calls. `old` (nullable) has `old_pools`. false: no
 * memory. */
bool vq_work_pools_reset(struct vq_work *w, const struct vq_work_spec *old,
                         const struct vq_work_pool *old_pools);
void vq_work_pools_free(struct vq_work_pool *pools, uint32_t count);
void vq_work_on_key(struct vq_work *w, const struct vq_work_key *key);
void vq_work_on_grant(struct vq_work *w, const struct vq_msg_grant *grant);
/* The coordinator has read the message of `stamp_ns`: the slices of this session are in force for
 * one term from then on. Slices of an earlier session keep their end, because the coordinator may
 * have lowered them since. Slices whose term is over are lost until the next GRANT; true: they were
 * lost. */
bool vq_work_slices_renew(struct vq_work *w, int64_t stamp_ns);
/* Ends the slices of an earlier coordinator now: no call starts with them any more. */
void vq_work_slices_forget(struct vq_work *w);
void vq_work_pool_close(struct vq_work *w, uint32_t pool, enum vq_pool_state state,
                        struct vq_span text);
void vq_work_pool_pause(struct vq_work *w, uint32_t index, uint32_t ms);
void vq_work_pool_closed_by(struct vq_work *w, uint32_t pool, enum vq_pool_state state,
                            const struct vq_result *result);
/* The pool's model refused these parameters: later requests leave them out, and the coordinator is
 * informed. */
void vq_work_pool_learn(struct vq_work *w, uint32_t pool, uint32_t params, struct vq_span error);
/* Records a call's end: whether the pool answered at all, and everything that all ends have in
 * common. */
void vq_work_pool_heard(struct vq_work *w, uint32_t pool, int64_t started_ns, enum vq_call_end end);
/* Until when the refused call must wait; now: it waits only for its pool. */
int64_t vq_work_pool_refused(struct vq_work *w, uint32_t pool, int64_t started_ns,
                             int64_t retry_after_ms, bool parks);
/* Whether the pool may be called at all: it is open and has a slice. */
bool vq_work_pool_usable(const struct vq_work *w, uint32_t pool);
/* Whether the granted dollars and daily quotas have room for the largest call of this stage. */
bool vq_work_pool_affords(const struct vq_work *w, uint32_t pool);
/* When the next call of this cost may start: now, later, or INT64_MAX. */
int64_t vq_work_pool_when(const struct vq_work *w, uint32_t pool, const struct vq_work_need *need);
void vq_work_pool_spend(struct vq_work *w, uint32_t pool, const struct vq_work_need *need);
/* A call of this cost waits: the coordinator must know its size before it starts. */
void vq_work_pool_expect(struct vq_work *w, uint32_t pool, const struct vq_work_need *need);
/* The call of `flight` ended: settles its cost. `result` gets the cost, *ret_charge the part that
 * counts until its ACK. */
void vq_work_pool_settle(struct vq_work *w, const struct vq_work_flight *flight,
                         const struct vq_work_reply *reply, struct vq_result *result,
                         struct vq_work_charge *ret_charge);
/* Counts a call that an earlier process made. */
void vq_work_charge_add(struct vq_work *w, uint32_t pool, const struct vq_work_charge *charge);
void vq_work_charge_acked(struct vq_work *w, uint32_t pool, const struct vq_work_charge *charge);
uint32_t vq_work_pool_find(const struct vq_work *w, struct vq_span name); /* UINT32_MAX: none */

/* judge.c */
bool vq_work_judges_reset(struct vq_work *w); /* false: no memory */
void vq_work_judges_free(struct vq_work_judging *judges, uint32_t count);
/* Open while one of its pools is open; else the state and text of its first pool. */
enum vq_pool_state vq_work_judge_state(const struct vq_work *w, uint32_t judge,
                                       const char **ret_text);
bool vq_work_judge_usable(const struct vq_work *w, uint32_t judge); /* one of its pools is usable */
/* Leaves the pool out for this judge, in this stage; ignores unknown ones. */
void vq_work_judge_park(struct vq_work *w, uint32_t judge, uint32_t pool);
bool vq_work_judge_uses(const struct vq_work *w, uint32_t judge, uint32_t pool);
/* When the ask may go to this pool, and its cost there. */
int64_t vq_work_judge_when(const struct vq_work *w, const struct vq_work_ask *ask, uint32_t pool,
                           struct vq_work_need *ret_need);
/* Reports the reservation of the ask to the pools of its judge. */
void vq_work_judge_expect(struct vq_work *w, const struct vq_work_ask *ask);
/* Whether the ask goes into a batch: it may, and its judge has an open batch pool. */
bool vq_work_judge_gathers(const struct vq_work *w, const struct vq_work_ask *ask);
/* The pool that should get the call now, and the cost there; false: no pool may be called before
 * *ret_when_ns. */
bool vq_work_judge_choose(const struct vq_work *w, const struct vq_work_ask *ask,
                          uint32_t *ret_pool, struct vq_work_need *ret_need, int64_t *ret_when_ns);

/* front.c */
void vq_work_front_find(const struct vq_work *w, struct vq_work_lease *lease); /* of a new lease */
/* Whether the ask, first in its judge's queue, has left the queue: it waits for its leader, or for
 * its leader's pool. */
bool vq_work_front_waits(struct vq_work *w, struct vq_work_ask *ask);
void vq_work_front_started(struct vq_work *w, const struct vq_work_ask *ask, uint32_t pool);
void vq_work_front_ended(struct vq_work *w, const struct vq_work_ask *ask, bool answered);
/* The pool that should get the ask, although others may answer it; UINT32_MAX: none. */
uint32_t vq_work_front_pool(const struct vq_work *w, const struct vq_work_ask *ask);
void vq_work_fronts_pump(struct vq_work *w); /* starts calls from the pools' own queues */
int64_t vq_work_fronts_wake(const struct vq_work *w);

/* credit.c */
bool vq_work_holds_enough(const struct vq_work *w); /* no further task is wanted for now */
bool vq_work_credit_fill(struct vq_work *w, struct vq_msg_credit *credit);
void vq_work_credit_pump(struct vq_work *w);
/* RESULTS follow: sends the counts first if these results may be the last. */
void vq_work_credit_before_results(struct vq_work *w);
int64_t vq_work_credit_wake(const struct vq_work *w);

/* heard.c: the most tokens of a request of `bytes` */
double vq_work_input_most(const struct vq_work *w, enum vq_call_kind kind, double bytes,
                          uint32_t max_tokens);
void vq_work_heard_cut(const struct vq_work *w, const struct vq_work_flight *flight,
                       struct vq_work_reply *reply);

/* call.c */
void vq_work_calls_pump(struct vq_work *w);      /* starts the calls that may start */
bool vq_work_may_start(const struct vq_work *w); /* except for limits of pools */
void vq_work_call_start(struct vq_work *w, struct vq_work_ask *ask, uint32_t pool,
                        const struct vq_work_need *need);
int64_t vq_work_calls_wake(const struct vq_work *w);
void vq_work_on_reply(struct vq_work *w, const struct vq_work_reply *reply);
/* Copies `reply` into the record of its call, except cost and pool. */
void vq_work_result_fill(struct vq_result *result, enum vq_stage_kind kind,
                         const struct vq_work_reply *reply);
void vq_work_read(struct vq_work *w, const struct vq_work_read *read);

/* gather.c */
/* Whether asks of this stage may go to the pool: a batch pool takes only stages that show
 * outputs. */
bool vq_work_pool_fits(const struct vq_work *w, uint32_t pool);
/* The ask's call is part of a batch: the lease only waits for the ACK of that. */
void vq_work_gathered(struct vq_work *w, struct vq_work_ask *ask);
void vq_work_on_collected(struct vq_work *w, const struct vq_work_collected *collected);
void vq_work_on_refused(struct vq_work *w, const struct vq_work_refused *refused);
void vq_work_on_batch(struct vq_work *w, const struct vq_msg_batch *batch);

/* outbox.c */
/* A copy of the result, unread; NULL: no memory (the failure is kept). */
struct vq_work_result *vq_work_outbox_add(struct vq_work *w, const struct vq_result *result,
                                          uint32_t pool, const struct vq_work_charge *charge);
/* There is no memory for a copy. If there is a spool, the next action is the note of this result
 * itself. */
void vq_work_outbox_unheld(struct vq_work *w, const struct vq_result *result);
void vq_work_outbox_find_pools(struct vq_work *w);                         /* after a new SPEC */
void vq_work_outbox_send(struct vq_work *w, struct vq_work_result *entry); /* it was read */
void vq_work_on_spooled(struct vq_work *w, const struct vq_result *result);
/* Reads an answer whose ask does not exist any more, and sends its result. false: no memory. */
bool vq_work_outbox_read(struct vq_work *w, struct vq_work_result *entry);
void vq_work_on_ack(struct vq_work *w, const struct vq_msg_ack *ack);
void vq_work_outbox_read_spooled(
    struct vq_work *w); /* the SPEC is known: results of the spool can be sent */
/* a new session: sends everything again */
void vq_work_outbox_session(struct vq_work_outbox *outbox);
void vq_work_outbox_pump(struct vq_work *w);
int64_t vq_work_outbox_wake(const struct vq_work *w);
bool vq_work_outbox_fill(struct vq_work *w, struct vq_msg_results *results);
bool vq_work_outbox_full(const struct vq_work_outbox *outbox);
void vq_work_outbox_free(struct vq_work_outbox *outbox);
