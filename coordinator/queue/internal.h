/* The shared state of the coordinator's core, and the functions between its files. Private to the
 * core.
 *
 *     coord.c    create, destroy, the public events, timers
 *     message.c  a peer's message -> the right function; broken rules
 *     session.c  sessions, credit, judges that no worker can call
 *     pools.c    the authority over the pools: workers that come and go, GRANTs, the budget
 *     shard.c    shards in memory, the scout, look-ups, ready shards
 *     shared_turns.c  turns that several chains share
 *     lease.c    leases: choice of the worker, renewal, the end
 *     call.c     calls: reserved, received, committed
 *     api_batch.c  batches at providers and their owners
 *     batch.c    gathering for the next commit; settling after a commit
 *     requeue.c  failed tasks that a person wants asked again
 *     action.c   the queue of actions and their messages
 *     tally.c    counts and the status
 *     wait.c     HELLOs between two stages
 *
 * Ownership: a session owns the links of its leases and calls, not the shards and calls; the tables
 * own shards, calls, sessions. A shard exists while it is being looked up, ready, leased, or while
 * a call of it is reserved. */
#pragma once

#include "common/base/index.h"
#include "coordinator/queue/api_batch.h"
#include "coordinator/queue/coord.h"
#include "coordinator/queue/limits.h"
#include "proto/limits.h"

/* ---- calls (rule 5): reserve tasks until the commit, or a term after the last list ---- */

enum call_state {
    CALL_LISTED,    /* by HELD or HEARTBEAT: sent, not ACKed */
    CALL_RECEIVED,  /* its result gathers or is in the commit in flight */
    CALL_BATCHED,   /* part of a batch at the provider, and this is committed; its result follows */
    CALL_COMMITTED, /* only remembered, so that a repeat is ACKed at once */
};

struct vq_coord_call {
    struct vq_index_node by_id;
    struct vq_link order;            /* listed: by listed_ns; committed: by age */
    struct vq_link mine;             /* listed: in the list of its session */
    struct vq_coord_session *lister; /* NULL: its session has ended */
    struct vq_id id;
    uint64_t task;                /* VQ_TASK_NONE: of another stage, which reserves nothing here */
    struct vq_coord_shard *shard; /* NULL if committed or of another stage */
    uint64_t peer, session;       /* received: its ACK goes there; 0: no ACK */
    int64_t listed_ns;
    enum call_state state;
    uint8_t gathered; /* received: the number of its results that are not committed yet */
    bool given_up;    /* received: only the report that it never came back */
    /* received: only the report that it joined a batch; its result came from a batch */
    bool batched, was_batched;
    bool blocks;                          /* batched: the other order waits for it */
    struct vq_authority_bound bound;      /* batched: counts as spent until its result comes */
    struct vq_coord_api_batch *api_batch; /* batched: the batch that has it */
};

/* ---- shards ---- */

enum slot_state {
    SLOT_FREE,
    SLOT_OUT,     /* the lease holder may start calls of it */
    SLOT_DONE,    /* the holder's final result was received, not committed yet */
    SLOT_SKIPPED, /* the holder skips it: its answer to the first order settled the score */
};

struct vq_coord_slot {
    uint32_t repeat;
    uint32_t reserved; /* calls listed or received */
    uint32_t prior_at, prior_bytes;
    uint64_t prior_key;           /* key of the prior: vq_coord_alike_key */
    struct vq_coord_alike *alike; /* the repair of its prior; NULL: none is leased */
    uint8_t state;                /* enum slot_state */
    bool second, lazy;
    bool ask_lazy;  /* leased as lazy: asked only if the first order does not settle */
    bool failing;   /* its failure gathers or is being committed */
    bool wait;      /* no room for its prior in this lease */
    bool ahead;     /* of a chain: its answer is stored, but a turn before it is open */
    bool cancelled; /* another worker's answer settled it under the present lease */
    /* counts committed calls; once scouted, a shard with open tasks stays in memory */
    struct vq_attempts attempts;
};

enum shard_state {
    SHARD_IDLE,   /* not scouted yet; or all is settled, and it stays for its calls */
    SHARD_AGAIN,  /* waits for a look-up */
    SHARD_LOOKUP, /* being looked up */
    SHARD_READY,  /* waits for a worker */
    SHARD_PARKED, /* all its open tasks are reserved */
    SHARD_LEASED,
};

struct vq_coord_shard {
    struct vq_index_node by_no;
    struct vq_link queue; /* AGAIN, READY: in the list of its judge */
    uint64_t no;
    uint32_t sample, judge;
    enum shard_state state;
    uint64_t turn; /* scouted: its position among the shards of its judge */
    int64_t looked_ns;
    uint64_t looked_alike; /* alike_ended at its last look-up */
    bool scouted;          /* the cursor has passed it */
    bool dirty;            /* LOOKUP: something changed since the request */
    bool outdated;  /* LOOKUP: a task was reopened since: failures that it reports may be lifted */
    uint8_t lost;   /* leases lost with their worker while a call of them was out */
    bool unknown;   /* a call of the present lease was sent and never came back */
    bool moved;     /* a task of the present lease was settled */
    bool ahead;     /* true for some slot */
    bool cut;       /* another worker's answer settled a task; the holder may not know yet */
    uint32_t open;  /* tasks not terminal */
    uint32_t calls; /* listed or received */
    struct vq_coord_slot *slots;
    struct vq_buf priors;
    /* LEASED */
    struct vq_coord_session *holder;
    struct vq_fence fence;
    /* in the holder's clock: of the last message that listed the shard, or that its LEASE echoes */
    int64_t stamp_ns;
    struct vq_link of_holder;
    bool limbo; /* of a replaced session: the lease ends unless the new session's HELD lists it */
    uint32_t live; /* slots OUT, DONE or SKIPPED */
    uint32_t out;  /* slots OUT */
    /* of a chain: 1 + the slot after which it builds on an answer that is not in force; 0: none */
    uint32_t diverged;
};

struct vq_coord_use { /* a sample that a session uses */
    struct vq_index_node by_sample;
    struct vq_coord_session *session;
    uint32_t sample;
    uint32_t leases;
    bool sent;
};

/* ---- sessions ---- */

struct vq_coord_offer {    /* a worker's credit and state for one judge */
    struct vq_link hungry; /* in its judge's list while it can take a lease */
    uint32_t credit, held;
    uint8_t state; /* enum vq_pool_state: open while one of the judge's pools is */
    bool said;
    char *text; /* owned; NULL: none */
    uint32_t judge;
    struct vq_coord_session *session;
};

struct vq_coord_session {
    struct vq_index_node by_peer, by_worker;
    struct vq_link order; /* by heard_ns, oldest first */
    uint64_t id, peer;
    uint32_t index; /* in c->sessions.all */
    struct vq_id worker;
    struct vq_id before; /* the worker whose spool it has taken over; all zero: none */
    char *name, *host, *software;
    char *keyless; /* pools for which it has no key, and why; NULL: none */
    uint64_t pid;
    int64_t local;
    int64_t hello_stamp_ns, stamp_ns;
    int64_t heard_ns;
    bool has_spool;
    bool held; /* its first HELD came: it may get leases */
    bool draining;
    bool deaf;  /* it broke a rule: its messages are dropped until its next HELLO */
    bool stale; /* no message for some heartbeats: it gets no new lease */
    /* listed leases up to this number that are not current are older than this session */
    uint64_t fence_from;
    /* the last lease of this session that ended before its worker could know; 0: none */
    uint64_t cut_n;
    struct vq_link leases; /* shards, by their stamps */
    uint32_t leases_count;
    struct vq_link calls; /* listed */
    uint32_t calls_listed;
    uint32_t calls_count; /* entries in its list of calls */
    int64_t listed_ns;    /* time of its last list */
    uint64_t results;
    uint64_t heartbeats;
    uint64_t open_pools[VQ_WIRE_POOLS_MAX / 64]; /* one bit each, by its last CREDIT */
    struct vq_amount spend;             /* nano-dollars, by its last CREDIT; so with the next two */
    uint32_t in_flight, waiting;        /* on all pools */
    bool reported;                      /* since its HELLO; until then, its slices are unknown */
    bool granting;                      /* a GRANT waits to be taken */
    bool gone;                          /* the authority has the report that it left */
    struct vq_coord_acks acks, batched; /* for its next ACK */
    struct vq_coord_offer *offers;      /* one per judge */
};

struct vq_coord_shared_turn { /* of a chain: its first turns that it shares with another chain */
    uint32_t of, turns;
    uint32_t first, next; /* the chains whose `of` is this one; the next one with the same `of` */
    uint32_t due;         /* the next one in the lane's list */
};

struct vq_coord_known { /* a judge that a pool has answered */
    char *name;
    uint32_t role, pool;
};

struct vq_coord_lane { /* a judge */
    char *name;
    uint32_t *pools; /* owned */
    uint32_t pools_count;
    bool seconds_wait;
    uint32_t cursor;              /* number of samples that the scout has passed */
    uint32_t due_first, due_last; /* chains that waited for turns of another chain */
    struct vq_link again, ready, hungry;
    uint32_t ready_count, leased_count, lookups;
    uint64_t open;                             /* tasks not terminal */
    uint64_t live;                             /* slots OUT, DONE or SKIPPED */
    uint64_t batched, blocked, returned, keep; /* vq_coord_judge_status, vq_coord_steer */
    bool direct;                               /* likewise */
    uint32_t answer_tokens;  /* of the longest answer to a question (repairs do not count) */
    bool answered;           /* rule 25: past its probe */
    bool answered_before;    /* in an earlier stage of this process */
    struct vq_brake *brakes; /* one per pool; owned */
    bool braked;             /* all of them are pulled */
    uint32_t probes_failed;
    uint32_t unsettled; /* final results in a row that settled nothing */
    /* unreadable answers and failures after which the question is repeated */
    uint64_t put_again;
    /* numbers of sessions; offers_closed does not include offers_no_key */
    uint32_t offers_open, offers_closed, offers_no_key;
    bool closed;
    char closed_text[VQ_COORD_TEXT_BYTES_MAX];
    struct vq_coord_counts counts;
};

/* ---- batches ---- */

struct vq_coord_chunk {
    struct vq_coord_chunk *next;
    size_t bytes, cap;
    char at[];
};

struct vq_coord_gather {
    struct vq_batch batch; /* for the shell; filled in when it is committed */
    struct vq_result *results;
    struct vq_span *workers;
    size_t results_count, results_cap, workers_cap;
    struct vq_batch_failure *failures;
    size_t failures_count, failures_cap;
    struct vq_settled *settled;
    size_t settled_count, settled_cap;
    uint64_t *reopened;
    size_t reopened_count, reopened_cap;
    struct vq_batch_report *said;
    size_t said_count, said_cap;
    struct vq_coord_chunk *chunks; /* bytes of the results' spans */
    struct vq_coord_chunk *spares; /* empty ones */
    uint32_t spares_count;
    size_t bytes;
};

/* ---- actions ---- */

struct vq_coord_entry {
    uint8_t kind;
    uint8_t code;
    uint64_t peer, session;
    uint64_t a; /* shard, sample, task or stamp, by kind */
    uint64_t b;
    struct vq_fence fence;
    uint32_t stage; /* CANCEL */
    char *text;     /* owned; NULL: none */
};

struct vq_coord_queue {
    struct vq_coord_entry *ring; /* cap is a power of two */
    size_t cap, head, count;
};

struct vq_coord_waiting { /* a HELLO for the next stage */
    uint64_t peer;
    struct vq_msg_hello hello;
    char *texts; /* owned; the bytes of its spans */
};

struct vq_coord_left { /* a worker that was lost, or did not yet join this stage */
    struct vq_id worker;
    int64_t local;   /* k; -1: remote */
    uint64_t no;     /* all its results are in batches up to this one; 0: unknown */
    int64_t from_ns; /* ... and from this time on this is certain */
    bool waited;     /* the end of a stage has already waited for it */
};

struct vq_coord_rate {
    int64_t second;
    int64_t first_ns; /* the first result; 0: none yet */
    uint32_t calls[VQ_COORD_RATE_SECONDS + 1], settled[VQ_COORD_RATE_SECONDS + 1];
};

/* ---- the parts of the core's state: each belongs to the file that its comment names ---- */

struct vq_coord_tasks { /* tally.c */
    uint8_t *outcome;   /* one byte per task */
    uint64_t open;      /* tasks not terminal */
    struct vq_coord_counts counts;
    uint64_t moves[VQ_TASK_STATES][VQ_TASK_EVENTS];
    struct vq_coord_rate rate;
};

struct vq_coord_settled_before { /* stored.c: tasks that vq_coord_stored settled */
    uint64_t shards;
    /* The outcomes of the tasks from `at` to `end` are not in the run state yet. */
    uint64_t at, end;
};

/* shard.c: the scout visits the samples in a circle, from `first`, in steps of `step`. */
struct vq_coord_scouting {
    uint32_t lookups; /* in progress */
    uint64_t passed;
    uint32_t first, step;
};

struct vq_coord_repairs {    /* alike.c */
    struct vq_index by_text; /* texts of which a repair is leased */
    uint64_t ended;          /* number of such repairs whose lease has ended */
};

struct vq_coord_leases { /* lease.c */
    size_t count;
    uint64_t out;  /* slots OUT of all shards: each may bring a result; a chain counts once */
    uint32_t turn; /* the judge that is served first next time */
    uint64_t fence_n;
    struct vq_index uses; /* samples in sessions */
};

struct vq_coord_calls { /* call.c */
    struct vq_index by_id;
    struct vq_link listed; /* by the time of their last list */
    struct vq_link recent; /* committed calls, oldest first */
    size_t listed_count, received_count, recent_count, batched_count;
    size_t holds_count; /* those of the listed calls that vq_coord_call_hold made */
    /* Until then unlisted calls may be in flight or start: of a worker whose process has ended, of
     * other stages, or of leases that ended before their holder could know. */
    int64_t gone_until_ns;
};

struct vq_coord_sessions { /* session.c */
    struct vq_coord_session **all;
    size_t count, cap;
    struct vq_index by_peer, by_worker;
    struct vq_link heard; /* by the time of their last message */
    uint64_t n;
};

struct vq_coord_grants { /* pools.c: GRANTs and the budget */
    bool check;          /* a session may need a GRANT */
    struct vq_slice *slices;
    struct vq_parked *parked; /* pools that a judge must not use: the brake */
    size_t parked_count, parked_cap;
    /* The highest cost of one call, and the highest reservation in tokens, so far. */
    uint64_t cost_most_nano, reserved_most;
    int64_t broke_ns; /* since then the run waits only for the budget; 0: it does not */
};

struct vq_coord_left_ones { /* pools.c: lost workers */
    struct vq_coord_left *list;
    size_t count, cap;
    bool lost; /* some did not fit into the list */
    /* lost workers' reservations are not all settled, though the workers may all be back */
    bool any;
};

struct vq_coord_batches { /* batch.c */
    struct vq_coord_gather gathers[2];
    struct vq_coord_gather *gather, *in_flight; /* in_flight: NULL or the other one */
    bool *repeated; /* of each result in flight: the ledger already had it; NULL: none */
    uint64_t n;     /* the number that `gather` will have */
    uint64_t imported_no;
    bool paused;
};

/* action.c: the queue, and memory for the action that was returned last */
struct vq_coord_actions {
    struct vq_coord_queue queue;
    struct vq_id *ack_ids;
    struct vq_ask *asks;
    struct vq_span *turns; /* of a chain's LEASE; NULL: no chains */
    char *text;            /* of the last action */
    uint64_t cancel_task;  /* of the last action */
    size_t notes_queued;
};

struct vq_coord_knowledge {      /* known.c */
    struct vq_coord_known *list; /* judges that were answered in earlier stages; owned */
    size_t count, cap;
};

struct vq_coord_waits { /* coord.c: nothing is leased before these times */
    int64_t until_ns;   /* rule 4 */
    /* Sessions that were handed over: their lists are awaited until then (hand_over). */
    int64_t unheard_until_ns;
    /* A worker listed calls of a later stage: that stage waits until then, and so does this one. */
    int64_t later_until_ns;
    bool held_by_hand; /* vq_coord_hold: slices are zero, no lease */
};

struct vq_coord_requeue {  /* requeue.c: failed tasks that a person wants asked again */
    uint32_t failures;     /* their reasons; 0: no search is active */
    uint64_t at;           /* the next task to look at */
    uint32_t judge;        /* of this judge only; UINT32_MAX: of all */
    int64_t failed_out_ns; /* last time that a task failed while another worker held it; 0: never */
};

struct vq_coord_stopping { /* coord.c: drain or stop */
    bool begun;
    bool said; /* STOPPED is queued; only once */
    bool now;
    bool dirty; /* calls were out at the end */
    enum vq_coord_stop kind;
    char text[VQ_COORD_TEXT_BYTES_MAX];
    int64_t deadline_ns;
};

struct vq_coord_ending {     /* coord.c: all tasks are settled */
    int64_t missed_until_ns; /* until then the stage waits for missed workers; 0: not set yet */
    int64_t linger_until_ns; /* until then it waits for late answers; 0: not set yet */
    bool done, finished;
};

struct vq_coord_leaving { /* leave.c: workers that were ordered to leave, a ring */
    struct vq_id workers[VQ_COORD_LEAVING_MAX];
    uint32_t count; /* number of orders so far */
};

struct vq_coord_hellos { /* wait.c: HELLOs after FINISHED; one per peer */
    struct vq_coord_waiting *list;
    size_t count, cap;
};

/* The state of one stage. A function that needs only one part takes only that part. */
struct vq_coord {
    struct vq_coord_params params;
    char *run_name;
    uint32_t shard_tasks;
    int64_t now_ns, started_ns;
    enum vq_status health;

    struct vq_coord_lane *lanes;
    struct vq_coord_shared_turn *shared_turns; /* by shard; NULL: no two chains begin alike */
    struct vq_index shards;                    /* in memory, by number */

    struct vq_coord_tasks tasks;
    struct vq_coord_settled_before stored;
    struct vq_coord_scouting scout;
    struct vq_coord_repairs repairs;
    struct vq_coord_leases leases;
    struct vq_coord_calls calls;
    struct vq_coord_api_batches api;
    struct vq_coord_sessions sessions;
    struct vq_coord_grants grants;
    struct vq_coord_left_ones left;
    struct vq_coord_batches batches;
    struct vq_coord_actions actions;
    struct vq_coord_knowledge known;
    struct vq_coord_waits waits;
    struct vq_coord_requeue requeue;
    struct vq_coord_stopping stop;
    struct vq_coord_ending end;
    struct vq_coord_hellos hellos;
    struct vq_coord_leaving leaving;

    /* the plain counters of the status; vq_coord_status_fill computes the rest */
    struct vq_coord_status tally;
};

static inline uint64_t vq_coord_shard_of(const struct vq_coord *c, uint64_t task)
{
    return task / c->shard_tasks;
}

/* The credit that a whole shard takes. */
static inline uint32_t vq_coord_shard_credit(const struct vq_coord *c)
{
    return c->params.chains ? 1 : c->shard_tasks;
}

static inline uint64_t vq_coord_task_at(const struct vq_coord *c,
                                        const struct vq_coord_shard *shard, uint32_t slot)
{
    return shard->no * c->shard_tasks + slot;
}

/* leave.c */
bool vq_coord_leaves(const struct vq_coord_leaving *leaving, const struct vq_id *worker);

/* action.c */
enum vq_coord_entry_kind {
    ENTRY_WELCOME,
    ENTRY_SPEC,
    ENTRY_ECHO,   /* a: stamp */
    ENTRY_SAMPLE, /* a: sample */
    ENTRY_LEASE,  /* a: shard, fence */
    ENTRY_ACK,
    ENTRY_GRANT,
    ENTRY_CANCEL, /* code: reason, a: shard, fence, b: task or VQ_COORD_ALL */
    ENTRY_DRAIN,
    ENTRY_COLLECT, /* text: the batch; code: 1 to cancel it */
    ENTRY_BYE,     /* code, text */
    ENTRY_CLOSE,
    ENTRY_LOOKUP, /* a: shard */
    ENTRY_NOTE,   /* code: level, text */
    ENTRY_FINISHED,
    ENTRY_STOPPED, /* a: clean */
};
#define VQ_COORD_ALL UINT64_MAX
enum vq_status vq_coord_add_action(struct vq_coord_actions *actions,
                                   struct vq_coord_entry entry) VQ_WARN_UNUSED;
/* A line for the log; dropped and counted if too many wait. */
void vq_coord_note(struct vq_coord *c, enum vq_coord_note_level level, const char *fmt, ...)
    VQ_PRINTF(3, 4);
enum vq_status vq_coord_bye(struct vq_coord_actions *actions, uint64_t peer, uint64_t session,
                            enum vq_bye_code code, const char *text) VQ_WARN_UNUSED;
/* `batched`: the commit recorded that the call is part of a batch. */
enum vq_status vq_coord_ack(struct vq_coord_actions *actions, struct vq_coord_session *s,
                            const struct vq_id *call, bool batched) VQ_WARN_UNUSED;
void vq_coord_actions_free(struct vq_coord_actions *actions);

/* session.c */
/* By worker process; NULL: none. */
struct vq_coord_session *vq_coord_session_of(const struct vq_coord_sessions *sessions,
                                             const struct vq_id *worker);
struct vq_coord_session *vq_coord_session_find(const struct vq_coord_sessions *sessions,
                                               uint64_t peer);
/* The session of the peer, if it is still this one. */
struct vq_coord_session *vq_coord_session_get(const struct vq_coord_sessions *sessions,
                                              uint64_t peer, uint64_t id);
enum vq_status vq_coord_hello(struct vq_coord *c, uint64_t peer,
                              const struct vq_msg_hello *hello) VQ_WARN_UNUSED;
enum vq_status vq_coord_credit(struct vq_coord *c, struct vq_coord_session *s,
                               const struct vq_msg_credit *credit) VQ_WARN_UNUSED;
void vq_coord_heard(struct vq_coord *c, struct vq_coord_session *s);
void vq_coord_hungry_update(struct vq_coord *c, struct vq_coord_offer *offer);
void vq_coord_hungry_all(struct vq_coord *c, struct vq_coord_session *s);
enum vq_status vq_coord_send_drain(struct vq_coord_actions *actions,
                                   struct vq_coord_session *s) VQ_WARN_UNUSED;
/* Ends the session and its leases; `lost`: together with its worker (rule 6). Its listed calls stay
 * reserved. Call vq_coord_gone first. */
enum vq_status vq_coord_session_end(struct vq_coord *c, struct vq_coord_session *s,
                                    bool lost) VQ_WARN_UNUSED;
void vq_coord_session_free(struct vq_coord_session *s, uint32_t judges);
/* Stops the run if no worker can call a judge that is needed. */
enum vq_status vq_coord_pools_check(struct vq_coord *c) VQ_WARN_UNUSED;
bool vq_coord_lane_refused(const struct vq_coord *c, const struct vq_coord_lane *lane);

/* pools.c */
enum vq_status vq_coord_joined(struct vq_coord *c, const struct vq_coord_session *s) VQ_WARN_UNUSED;
/* `settled`: everything that the worker received was ACKed. ENDED: its spool was imported. */
enum vq_status vq_coord_gone(struct vq_coord *c, struct vq_coord_session *s,
                             enum vq_authority_end how, bool settled) VQ_WARN_UNUSED;
/* The process of local worker k has ended and its spool was imported; also for ended sessions. */
void vq_coord_left_ended(struct vq_coord *c, int64_t local);
/* Reports to the authority when all results of lost workers are committed. */
void vq_coord_left_settle(struct vq_coord *c);
/* Some lost workers on other machines may come back with answers. After give_up they are no longer
 * missed. */
bool vq_coord_left_missed(const struct vq_coord_left_ones *ones);
void vq_coord_left_give_up(struct vq_coord_left_ones *left);
/* known.c: the pools that answered each judge, carried from stage to stage: from `from` to `to`. */
enum vq_status vq_coord_known_hand_over(struct vq_coord *from, struct vq_coord *to) VQ_WARN_UNUSED;
void vq_coord_known_free(struct vq_coord_knowledge *known);

enum vq_status vq_coord_left_hand_over(const struct vq_coord *from,
                                       struct vq_coord *to) VQ_WARN_UNUSED;
enum vq_status vq_coord_reported(struct vq_coord *c, struct vq_coord_session *s,
                                 const struct vq_msg_credit *credit) VQ_WARN_UNUSED;
/* Queues a GRANT for this session; for all sessions that need one. */
enum vq_status vq_coord_send_grant(struct vq_coord_actions *actions,
                                   struct vq_coord_session *s) VQ_WARN_UNUSED;
enum vq_status vq_coord_send_grants(struct vq_coord *c) VQ_WARN_UNUSED;
/* Reports to the authority which pools still have open tasks. */
void vq_coord_report_work(struct vq_coord *c);
/* Stops the run when its budget is spent. */
enum vq_status vq_coord_money_tick(struct vq_coord *c) VQ_WARN_UNUSED;

/* shard.c */
struct vq_coord_shard *vq_coord_shard_find(const struct vq_coord *c, uint64_t no);
enum vq_status vq_coord_shard_get(struct vq_coord *c, uint64_t no,
                                  struct vq_coord_shard **ret_shard) VQ_WARN_UNUSED;
/* Something about a shard that is not leased changed: look it up again, park it or drop it. It may
 * be freed. */
void vq_coord_shard_stir(struct vq_coord *c, struct vq_coord_shard *shard);
void vq_coord_shard_unready(struct vq_coord *c, struct vq_coord_shard *shard);
void vq_coord_shard_free(struct vq_coord_shard *shard);
enum vq_status vq_coord_scout(struct vq_coord *c) VQ_WARN_UNUSED;
void vq_coord_scout_init(struct vq_coord *c);
/* Whether the last look-up of a ready shard is recent enough to lease it. If not, it is looked up
 * again (unless look-ups are already in progress for `room` tasks): another run may have bought its
 * answers since (rule 16). */
enum vq_status vq_coord_shard_fresh(struct vq_coord *c, struct vq_coord_shard *shard, uint32_t room,
                                    bool *ret_fresh, bool *ret_wait) VQ_WARN_UNUSED;
/* VQ_BUG: this look-up was not requested. */
enum vq_status vq_coord_take_lookup(struct vq_coord *c, uint64_t no,
                                    const struct vq_known *known) VQ_WARN_UNUSED;
bool vq_coord_slot_free(const struct vq_coord *c, const struct vq_coord_shard *shard, uint32_t i);
/* Of a chain: the slot of its first open turn; false: all is settled, or a call of it may be in
 * progress. */
bool vq_coord_chain_free(const struct vq_coord *c, const struct vq_coord_shard *shard,
                         uint32_t *ret_first);
/* The slot of the cell's first order; `i` itself if it is that. */
uint32_t vq_coord_slot_first(const struct vq_coord_shard *shard, uint32_t i);

/* shared_turns.c */
/* `alike`: by shard; NULL: none. */
enum vq_status vq_coord_shared_turns_create(struct vq_coord *c,
                                            const struct vq_chain_alike *alike) VQ_WARN_UNUSED;
/* The number of its first turns that are asked in other chains. */
uint32_t vq_coord_shared_turn_list(const struct vq_coord *c, uint64_t shard);
/* These turns are not settled there. */
bool vq_coord_shared_turn_waits(const struct vq_coord *c, uint64_t shard);
/* The task is settled: the chains that wait for it are looked up, now or when there is room. */
void vq_coord_shared_turns_settled(struct vq_coord *c, uint64_t task);
bool vq_coord_shared_turns_due(const struct vq_coord_lane *lane);
/* Takes a due chain that is not in memory or was not scouted; false: there is none. */
bool vq_coord_shared_turn_due(struct vq_coord *c, struct vq_coord_lane *lane, uint64_t *ret_shard);
/* Iterates over the chains that share turn `turn` of chain `shard`: the one after `at` (`shard`
 * itself: the first of them); VQ_TASK_NONE: no more. */
uint64_t vq_coord_shared_turn_next(const struct vq_coord *c, uint64_t shard, uint32_t turn,
                                   uint64_t at);

/* stored.c */
enum vq_status vq_coord_stored_gather(struct vq_coord *c) VQ_WARN_UNUSED;

/* alike.c */
uint64_t vq_coord_alike_key(uint32_t judge, struct vq_span prior);
/* Whether a repair of the slot's prior is leased, in any slot. */
bool vq_coord_alike_out(const struct vq_coord *c, const struct vq_coord_slot *slot);
/* begin: the slot is leased. end: the slot is free and no call reserves it: this stirs the shards
 * that wait for it, except the slot's `own`, which the caller stirs. */
void vq_coord_alike_begin(struct vq_coord *c, struct vq_coord_slot *slot);
void vq_coord_alike_end(struct vq_coord *c, const struct vq_coord_shard *own,
                        struct vq_coord_slot *slot);
/* A parked shard waits for a leased repair that it needs; if there is none, for nothing. */
void vq_coord_alike_wait(struct vq_coord *c, struct vq_coord_shard *shard);
void vq_coord_alike_free(struct vq_index_node *node);

/* lease.c */
/* Sends the holder a CANCEL of slot i, which is settled. */
enum vq_status vq_coord_send_settled(struct vq_coord *c, const struct vq_coord_shard *shard,
                                     uint32_t i) VQ_WARN_UNUSED;
/* The same for all slots that another worker's answer settled, with each list that renews the
 * lease: no message acknowledges a CANCEL. */
enum vq_status vq_coord_lease_remind(struct vq_coord *c,
                                     struct vq_coord_shard *shard) VQ_WARN_UNUSED;
enum vq_status vq_coord_lease_all(struct vq_coord *c) VQ_WARN_UNUSED;
bool vq_coord_lease_current(const struct vq_coord_shard *shard, struct vq_fence fence);
void vq_coord_lease_renew(struct vq_coord_shard *shard, int64_t stamp_ns);
/* Ends the leases that the holder's list with this stamp no longer names (rule 2). */
void vq_coord_leases_unlisted(struct vq_coord *c, struct vq_coord_session *s, int64_t stamp_ns);
/* Takes a live slot out of its lease: it is settled, or open again. */
void vq_coord_slot_settled(struct vq_coord *c, struct vq_coord_shard *shard, uint32_t i);
void vq_coord_slot_return(struct vq_coord *c, struct vq_coord_shard *shard, uint32_t i);
/* The holder's final result for slot i came, with `outcome`. `wants_repair`: the holder skips the
 * second order and the repair. */
void vq_coord_slot_done(struct vq_coord *c, struct vq_coord_shard *shard, uint32_t i,
                        enum vq_outcome outcome, bool wants_repair);
/* For a leased shard: ends the lease if no slot is live, and stirs the shard (it may be freed). */
void vq_coord_lease_check(struct vq_coord *c, struct vq_coord_shard *shard);
/* The lease is lost with its worker. Call it before vq_coord_lease_end. */
enum vq_status vq_coord_lease_lost(struct vq_coord *c, struct vq_coord_shard *shard) VQ_WARN_UNUSED;
/* A chain's holder continues from an answer to slot i that is not in force, or asks a turn that is
 * not needed. It gets a CANCEL and gives back the turns that it is not asking. Until then it may
 * start the turns after slot i, so it keeps the lease. */
enum vq_status vq_coord_lease_diverged(struct vq_coord *c, struct vq_coord_shard *shard,
                                       uint32_t i) VQ_WARN_UNUSED;
/* Ends the lease and frees its live slots. The shard may be freed. */
void vq_coord_lease_end(struct vq_coord *c, struct vq_coord_shard *shard);
enum vq_status vq_coord_returned(struct vq_coord *c, struct vq_coord_session *s,
                                 const struct vq_msg_cancel *cancel) VQ_WARN_UNUSED;
/* Moves the leases and calls of a replaced session to the new one, in limbo. */
enum vq_status vq_coord_lease_move(struct vq_coord *c, struct vq_coord_session *from,
                                   struct vq_coord_session *to) VQ_WARN_UNUSED;

/* call.c */
/* The id was made by vq_coord_call_hold, not by a worker. */
bool vq_coord_call_is_placeholder(const struct vq_id *id);
struct vq_coord_call *vq_coord_call_find(const struct vq_coord_calls *calls,
                                         const struct vq_id *id);
static inline size_t vq_coord_calls_reserved(const struct vq_coord_calls *calls)
{
    return calls->listed_count + calls->received_count + calls->batched_count;
}
enum vq_status vq_coord_call_list(struct vq_coord *c, struct vq_coord_session *s,
                                  const struct vq_held_call *held) VQ_WARN_UNUSED;
/* Reserves a task for a term, as if `s` (nullable) listed a call of it now. */
enum vq_status vq_coord_call_hold(struct vq_coord *c, struct vq_coord_session *s,
                                  uint64_t task) VQ_WARN_UNUSED;
/* *ret_new is false if the result is already known (then it is ACKed if it is committed). */
enum vq_status vq_coord_call_receive(struct vq_coord *c, struct vq_coord_session *s,
                                     const struct vq_result *result, bool *ret_new) VQ_WARN_UNUSED;
/* One result of the call is committed. Returns false if another one still gathers. */
bool vq_coord_call_commit(struct vq_coord *c, struct vq_coord_call *call);
/* The process of `s` has ended: its listed calls that never returned become unknown (rule 10). */
enum vq_status vq_coord_calls_lost(struct vq_coord *c, struct vq_coord_session *s) VQ_WARN_UNUSED;
/* Before the end: the same for all calls that no spool stores for the next start. */
enum vq_status vq_coord_calls_end(struct vq_coord *c) VQ_WARN_UNUSED;
enum vq_status vq_coord_calls_expire(struct vq_coord *c) VQ_WARN_UNUSED;
/* A lost worker listed a call, and this call is not given up yet. */
bool vq_coord_calls_orphaned(const struct vq_coord_calls *calls);
/* The session's listed calls were never sent: forgets them, except holds. */
void vq_coord_calls_forget(struct vq_coord *c, struct vq_coord_session *s);
/* Moves the call to the list of `s`; NULL: to no session's. */
void vq_coord_call_give(struct vq_coord_call *call, struct vq_coord_session *s);

/* batch.c */
/* The result is an answer to a question without a verdict. Its repair is asked under its own lease,
 * if the store has no answer to it. */
bool vq_coord_wants_repair(const struct vq_coord *c, const struct vq_result *r);
bool vq_coord_gather_full(const struct vq_coord *c, const struct vq_result *next);
/* no room for all results that are out: nothing more is leased */
bool vq_coord_gather_busy(const struct vq_coord *c);
bool vq_coord_gather_empty(const struct vq_coord_batches *batches);
enum vq_status vq_coord_gather_result(struct vq_coord *c, const struct vq_result *result,
                                      struct vq_span worker) VQ_WARN_UNUSED;
enum vq_status vq_coord_gather_name(struct vq_coord_batches *batches, struct vq_span name,
                                    struct vq_span *ret_copy) VQ_WARN_UNUSED;
enum vq_status vq_coord_gather_report(struct vq_coord_batches *batches,
                                      const struct vq_coord_api_batch *b) VQ_WARN_UNUSED;
enum vq_status vq_coord_gather_failure(struct vq_coord_batches *batches, uint64_t task,
                                       uint32_t repeat, enum vq_outcome outcome) VQ_WARN_UNUSED;
enum vq_status vq_coord_gather_settled(struct vq_coord_batches *batches, uint64_t task,
                                       enum vq_outcome outcome) VQ_WARN_UNUSED;
/* *ret_full: the batch has no room. */
enum vq_status vq_coord_gather_reopened(struct vq_coord_batches *batches, uint64_t task,
                                        bool *ret_full) VQ_WARN_UNUSED;
const struct vq_batch *vq_coord_gather_commit(struct vq_coord *c); /* NULL: nothing to commit */
void vq_coord_gather_free(struct vq_coord_gather *gather);
/* Results of a session (NULL: imported). Takes as many as fit. */
enum vq_status vq_coord_results(struct vq_coord *c, struct vq_coord_session *s,
                                struct vq_span worker, const struct vq_result *results,
                                size_t count, size_t *ret_taken) VQ_WARN_UNUSED;
/* Sets the state of a task from the store. VQ_BUG: the table refuses it. */
enum vq_status vq_coord_settle(struct vq_coord *c, struct vq_coord_shard *shard, uint64_t task,
                               enum vq_outcome outcome) VQ_WARN_UNUSED;
enum vq_status vq_coord_take_commit(struct vq_coord *c, uint64_t no,
                                    const struct vq_settled *settled, size_t count) VQ_WARN_UNUSED;

/* session.c: the brake */
enum vq_status vq_coord_brake_see(struct vq_coord *c, const struct vq_coord_shard *shard,
                                  const struct vq_result *r) VQ_WARN_UNUSED;
/* All calls on its pools so far failed the same way. */
bool vq_coord_lane_suspect(const struct vq_coord *c, const struct vq_coord_lane *lane);

/* requeue.c */
/* the next batch's worth */
enum vq_status vq_coord_requeue_gather(struct vq_coord *c) VQ_WARN_UNUSED;
/* Requeues tasks of one judge, if its pools turned out to be the cause. */
void vq_coord_requeue_judge(struct vq_coord *c, uint32_t judge, uint32_t failures);
/* The batch that lifts the task's failure row is committed. No effect on other tasks. */
enum vq_status vq_coord_reopened(struct vq_coord *c, uint64_t task) VQ_WARN_UNUSED;

/* keyless.c */
/* Stores, for people, the pools for which the worker has no key, by its reports. */
enum vq_status vq_coord_keyless(struct vq_coord *c, struct vq_coord_session *s,
                                const struct vq_msg_credit *credit) VQ_WARN_UNUSED;

/* message.c */
/* Makes the session deaf and sends BYE with the reason. */
enum vq_status vq_coord_refuse(struct vq_coord *c, struct vq_coord_session *s,
                               const char *what) VQ_WARN_UNUSED;
enum vq_status vq_coord_broke(struct vq_coord *c, struct vq_coord_session *s,
                              const char *what) VQ_WARN_UNUSED;
/* It names a task of this stage's grid. */
bool vq_coord_result_here(const struct vq_coord *c, const struct vq_result *r);
bool vq_coord_result_valid(const struct vq_coord *c, const struct vq_result *result);
enum vq_status vq_coord_take_message(struct vq_coord *c, uint64_t peer,
                                     const struct vq_msg *msg) VQ_WARN_UNUSED;

/* wait.c */
enum vq_status vq_coord_wait(struct vq_coord *c, uint64_t peer,
                             const struct vq_msg_hello *hello) VQ_WARN_UNUSED;
void vq_coord_waiting_free(struct vq_coord_hellos *hellos);

/* coord.c */
void vq_coord_enter(struct vq_coord *c, int64_t now_ns);
/* The end of the waits of rule 4, and of those for listed calls of a later stage, which may ask the
 * same. */
int64_t vq_coord_waits_until(const struct vq_coord_waits *waits);
/* For one term, unknown calls may be in flight or start: a stop before its
 * end is not a clean one. */
void vq_coord_clean_later(struct vq_coord *c);
/* only work and limits decide now: no stop, no wait */
bool vq_coord_is_active(const struct vq_coord *c);
enum vq_status vq_coord_begin_stop(struct vq_coord *c, enum vq_coord_stop kind, int64_t deadline_ns,
                                   const char *text) VQ_WARN_UNUSED;
enum vq_status vq_coord_turn(struct vq_coord *c) VQ_WARN_UNUSED;

/* tally.c */
void vq_coord_tally_move(struct vq_coord *c, uint64_t task, enum vq_outcome from,
                         enum vq_outcome to);
/* The store settled the last settled task: the rate of settled tasks does not count it. */
void vq_coord_tally_stored(struct vq_coord *c);
void vq_coord_tally_result(struct vq_coord *c, const struct vq_result *result);
