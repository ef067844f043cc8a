/* A stage of a run as a state machine: sessions, shards, leases, reservations, batches to commit,
 * the tally, the end. A run is one core after the other, in one process and epoch; workers say
 * HELLO to each. What a worker still has of another stage is recorded and ACKed like anything it
 * brings (rule 3); it reserves, settles and counts nothing here. Pure: (state, event, now) ->
 * actions. It reads no clock, draws nothing, does no I/O; the shell (or the simulation) carries out
 * its actions and reports to it what happened.
 *
 *     vq_coord_message(c, peer, &msg, now)          every frame that is waiting, before ...
 *     vq_coord_tick(c, now)                         ... timers fire
 *     while (vq_coord_next(c, now, &action)) { carry it out, in this order }
 *     sleep until vq_coord_wake_ns(c), at the latest
 *
 * It remembers one byte a task (enum vq_outcome); everything else is bounded by what is in flight
 * (limits.h). An event may come between two vq_coord_next. What an action points to lives until
 * the next call of any function with this core, except a COMMIT's batch (below). now_ns is
 * monotonic and positive; an earlier one counts as the last one.
 *
 * Events return VQ_OK; VQ_NOMEM or VQ_LIMIT (a named bound of ours): the process cannot go on, end
 * it, nothing is lost; VQ_BUG: what the store said contradicts the state table. A peer's bytes
 * never cause any of them: what breaks a rule is counted, dropped and answered with BYE. */
#pragma once

#include "common/judge/alike.h"
#include "coordinator/pools/authority.h"
#include "coordinator/queue/attempts.h"
#include "coordinator/queue/batch.h"
#include "coordinator/queue/brake.h"
#include "coordinator/queue/task_state.h"
#include "proto/grid.h"
#include "proto/messages.h"

struct vq_coord;

struct vq_coord_judge {
    const char *name; /* for people; copied */
    /* any of them may answer for it: the authority's indices, as in the SPEC; copied */
    const uint32_t *pools;
    uint32_t pools_count; /* at least one */
    /* under lazy swap: a second order is leased only when the first one is answered, not with it */
    bool seconds_wait;
};

struct vq_coord_params {
    struct vq_id run;     /* uid */
    const char *run_name; /* copied */
    uint64_t epoch;       /* durable, higher at each start */
    /* its number in the run; rises in a process. Sessions and fences begin again above the last
     * stage's */
    uint32_t stage;
    /* other stages may follow: FINISHED ends the sessions with BYE "stage over" instead of
     * "done" */
    bool more;
    struct vq_grid grid;
    /* a shard is a chain: its tasks of order 0 are asked one behind the other. It is leased whole,
     * and counts as one task of credit */
    bool chains;
    /* CHAT: which chains begin alike, by shard; copied. NULL: no two. A turn in common is asked in
     * the first of them */
    const struct vq_chain_alike *alike;
    const struct vq_coord_judge *judges; /* grid.judges of them; copied */
    /* over the pools; borrowed. The same for all stages of the process */
    struct vq_authority *authority;
    struct vq_hash spec; /* of the SPEC body that the shell holds */
    bool repairs;        /* an answer without a verdict gets one repair call */
    /* how often a question without a readable answer is repeated unchanged: as in the plan of
     * its cell */
    uint32_t repeat_max;
    int64_t term_ns;
    int64_t heartbeat_ns; /* well below the term: a third or less */
    uint32_t orphan_s;    /* as WELCOME says it to local workers; remote ones get orphan_remote_s */
    uint32_t orphan_remote_s;
    /* for so long nothing unanswered is leased (rule 4): what is left of one term since workers can
     * be heard; 0: a first start, or one after a clean stop */
    int64_t wait_ns;
    /* workers may still join from elsewhere: NO_KEY everywhere does not stop the run */
    bool remote;
    /* all settled, but a worker from elsewhere went silent with a spool that may hold answers:
     * FINISHED waits so long for it; 0: not */
    int64_t missed_ns;
    /* FINISHED is not said before: workers may join to bring what came late */
    int64_t finish_from_ns;
    /* in which order samples are looked up: the number of this start among those on the store, from
     * 1 on; neighbours walk against each other. 0: as they are */
    uint64_t scout_no;
    uint32_t ready_shards_max;   /* 0: VQ_COORD_READY_DEFAULT */
    uint32_t commit_results_max; /* 0: VQ_COORD_BATCH_RESULTS_DEFAULT */
    size_t commit_bytes_max;     /* 0: VQ_COORD_BATCH_BYTES_DEFAULT */
    /* no request of the stage is larger, but for repairs; 0: VQ_CLAIM_REQUEST_BYTES_MAX */
    size_t request_bytes_max;
    uint32_t answer_tokens_max; /* the largest max_tokens of its judges */
    uint32_t worker_lost_max;   /* 0: VQ_COORD_LOST_DEFAULT */
    /* of its judges: an answer of a judge in another role says nothing of this one */
    uint32_t role;
    /* a judge's first calls on a pool: if this number of them all failed the same way, the pool is
     * parked for it; 0: never */
    uint32_t brake_calls;
    /* results read answers by a policy of their own: the brake looks at failed calls alone */
    bool any_answer_is_useful;
    /* of a task over all its leases in this process; it fails when it would be leased again */
    struct vq_attempt_caps attempts;
};

/* VQ_INVALID (err says which parameter), VQ_LIMIT, VQ_NOMEM. The first vq_coord_next brings the
 * first LOOKUPs. */
enum vq_status vq_coord_create(const struct vq_coord_params *params, int64_t now_ns,
                               struct vq_coord **ret_coord, struct vq_error *err) VQ_WARN_UNUSED;
void vq_coord_destroy(struct vq_coord **coord);

/* Between two stages: `to`, just made, takes over what `from` still has to wait for (rule 4, and
 * calls of later stages that workers listed when an earlier start had come further), and hears what
 * workers said to `from` since it was FINISHED (their HELLOs), so that none has to ask twice; and
 * it knows which judges were answered before: no brake is pulled for them. `from` was made with
 * params.more; destroy it after this, and only when no batch of it is in flight (spools may have
 * been imported after FINISHED). Answers to its look-ups fall away. What `to` says. */
enum vq_status vq_coord_hand_over(struct vq_coord *from, struct vq_coord *to,
                                  int64_t now_ns) VQ_WARN_UNUSED;

/* No stage follows after all. Each worker that was informed of the end of the stage, and each peer
 * that sends a frame later, gets BYE with `code`: VQ_BYE_DONE or VQ_BYE_STOPPED. After FINISHED,
 * with params.more. */
enum vq_status vq_coord_no_more(struct vq_coord *c, enum vq_bye_code code,
                                int64_t now_ns) VQ_WARN_UNUSED;

/* Of a run that is resumed, before the first event: what the store says of a shard, the outcome of
 * each of its tasks (NONE: open). They are settled, in no rate. A shard that is not given here is
 * looked up in its turn. */
enum vq_status vq_coord_stored(struct vq_coord *c, uint64_t shard,
                               const uint8_t *outcomes) VQ_WARN_UNUSED;

struct vq_coord_past_call { /* of this stage, by an earlier process of the run */
    uint64_t task;
    enum vq_call_kind kind;
    enum vq_call_end end;
    enum vq_outcome outcome;
    bool final;
    uint32_t http_status;
    struct vq_span pool, error;
};
/* Of a run that is resumed, before the first event: a brake counts on from the calls that the
 * ledger has. Whether more of them can show anything: not once each judge was answered by each of
 * its pools. */
bool vq_coord_recall(struct vq_coord *c, const struct vq_coord_past_call *call);

/* Of a run that is resumed, before the first event: the record of a call that waits in a batch at a
 * provider, and what is known of a batch (in this order). VQ_INVALID, VQ_LIMIT, VQ_NOMEM. */
enum vq_status vq_coord_batched(struct vq_coord *c, const struct vq_result *draft) VQ_WARN_UNUSED;
enum vq_status vq_coord_api_batch_store(struct vq_coord *c,
                                        const struct vq_batch_said *said) VQ_WARN_UNUSED;

/* ---- events ---- */

/* A decoded message of `peer`: the shell's handle of one connection (a routing id mapped to a
 * number), never reused within a process. Copies what it keeps. */
enum vq_status vq_coord_message(struct vq_coord *c, uint64_t peer, const struct vq_msg *msg,
                                int64_t now_ns) VQ_WARN_UNUSED;

/* Answers LOOKUP{shard}: what the store says of each of its tasks, in task order (grid.h: index =
 * vibe * 2 + order); 2 * vibes of them. Copies the priors; of a chain, prior is the answer of each
 * turn that has a good one. May come later than the action, also while a commit is in flight. */
enum vq_status vq_coord_looked_up(struct vq_coord *c, uint64_t shard, const struct vq_known *known,
                                  int64_t now_ns) VQ_WARN_UNUSED;

/* Results found in the spool of a worker that is gone: answers, and sent calls without one
 * (VQ_END_UNKNOWN). They join the next batch under the name `worker`. *ret_taken of them were
 * copied (the batch may be full: offer the rest after the next commit); the spool may go once
 * vq_coord_imported_no() as read after the last import is committed. VQ_INVALID: one of them cannot
 * be a result, none was taken. */
enum vq_status vq_coord_import(struct vq_coord *c, struct vq_span worker,
                               const struct vq_result *results, size_t count, int64_t now_ns,
                               size_t *ret_taken) VQ_WARN_UNUSED;
uint64_t vq_coord_imported_no(const struct vq_coord *c); /* 0: nothing imported */

/* Of the batch `no`, before it counts as committed: the results whose calls the ledger had
 * already. They are ACKed like any, and cost nothing again. VQ_NOMEM, VQ_BUG. */
enum vq_status vq_coord_repeated(struct vq_coord *c, uint64_t no, const size_t *results,
                                 size_t count) VQ_WARN_UNUSED;
/* The batch `no` is durable in the store and in the run state. `settled`: what stands now
 * (vq_task_state) of each task that a result, failure or reopened task of the batch names and of
 * its cell's other order, and of what these block or open in their chain; a task may come twice,
 * NONE says nothing. The batch's memory is the core's again. */
enum vq_status vq_coord_committed(struct vq_coord *c, uint64_t no, const struct vq_settled *settled,
                                  size_t count, int64_t now_ns) VQ_WARN_UNUSED;
/* The store is not to be reached for now (true), is back (false): the batch in flight stays in
 * flight and the shell goes on trying; nothing is leased meanwhile. */
enum vq_status vq_coord_commit_paused(struct vq_coord *c, bool paused,
                                      int64_t now_ns) VQ_WARN_UNUSED;
/* The batch in flight cannot be committed: STOPPED{STORE} follows, with `why`. Nothing was ACKed,
 * workers keep it. */
enum vq_status vq_coord_commit_failed(struct vq_coord *c, const char *why,
                                      int64_t now_ns) VQ_WARN_UNUSED;

/* The COLLECT of this batch could not be sent: it is given out again, a term later. */
void vq_coord_api_batch_again(struct vq_coord *c, const char *name);

/* Timers. At least every half heartbeat (see vq_coord_wake_ns); a longer gap than one heartbeat
 * between two events counts as a pause of our own loop: rule 4. */
enum vq_status vq_coord_tick(struct vq_coord *c, int64_t now_ns) VQ_WARN_UNUSED;

/* The process of local worker k (struct vq_msg_hello.local) is known to have ended (a child was
 * reaped), and its spool, if it had one, was imported and committed before this, also when its
 * session is over: what it left open of the budget counts as spent until then. All that had that
 * k. */
enum vq_status vq_coord_local_ended(struct vq_coord *c, int64_t local,
                                    int64_t now_ns) VQ_WARN_UNUSED;

/* Graceful stop: nothing more is leased, workers finish what is in flight; STOPPED{DRAINED} when
 * nothing is out or at the deadline (monotonic). */
enum vq_status vq_coord_drain(struct vq_coord *c, int64_t deadline_ns,
                              int64_t now_ns) VQ_WARN_UNUSED;
/* Stop now: what was received is still committed, then STOPPED{STOP}. */
enum vq_status vq_coord_stop(struct vq_coord *c, int64_t now_ns) VQ_WARN_UNUSED;

/* By hand: while `held` nothing is leased, and every worker's slices are none: it gives back what
 * it has not sent and starts no call; calls in flight end as always. `false`: on at once. A stage
 * that takes over from this one begins as this one was. */
enum vq_status vq_coord_hold(struct vq_coord *c, bool held, int64_t now_ns) VQ_WARN_UNUSED;

/* By hand: tasks of this stage that failed for one of these reasons (vq_outcome_failure_bit) are
 * opened and asked again. They go out with the next batches (`reopened`), and are open when those
 * are committed; a stage does not end before. Asked for again it does no harm. *ret_tasks: how many
 * there are now; 0 of a stage that is done or stopping. */
enum vq_status vq_coord_requeue(struct vq_coord *c, uint32_t failures, int64_t now_ns,
                                uint64_t *ret_tasks) VQ_WARN_UNUSED;

/* By hand: the workers of this name shall leave: they get no lease, end their calls, give the rest
 * back and say BYE; a stage that takes over from this one sends the order again. No order is sent
 * if no other worker stays. *ret_told: how many have the name; *ret_stay: how many others stay. */
enum vq_status vq_coord_drain_worker(struct vq_coord *c, const char *name, int64_t now_ns,
                                     uint32_t *ret_told, uint32_t *ret_stay) VQ_WARN_UNUSED;

/* By hand: the batch of this name (NULL: each one) is cancelled at its provider by the worker that
 * looks after it; what was answered counts, the rest is asked again. *ret_count: how many. */
enum vq_status vq_coord_api_batch_cancel(struct vq_coord *c, const char *name, int64_t now_ns,
                                         uint32_t *ret_count) VQ_WARN_UNUSED;

/* A deadline: `direct`: the judge's batch pools rest since now (vq_authority_rest), so that what is
 * leased from here on is asked interactively. Else `keep` of its open tasks are not leased. */
enum vq_status vq_coord_steer(struct vq_coord *c, uint32_t judge, bool direct, uint64_t keep,
                              int64_t now_ns) VQ_WARN_UNUSED;

/* `peer` is not let in any more: its session takes no further message, gets no lease, and gets
 * BYE with the reason `why`. Its leases end with their terms. Without a session nothing happens. */
enum vq_status vq_coord_expel(struct vq_coord *c, uint64_t peer, const char *why,
                              int64_t now_ns) VQ_WARN_UNUSED;
int64_t vq_coord_wake_ns(const struct vq_coord *c); /* when it wants a tick, at the latest */

/* ---- actions ---- */

enum vq_coord_action_type {
    VQ_COORD_SEND,   /* `send`: encode and send */
    VQ_COORD_SPEC,   /* `send.peer`: send a SPEC of send.session; the shell has the body */
    VQ_COORD_SAMPLE, /* `sample`: send a SAMPLE; the shell has the texts */
    VQ_COORD_LOOKUP, /* `shard`: look its tasks up, answer with vq_coord_looked_up */
    /* `batch`: commit it, answer with vq_coord_committed; the next COMMIT comes after that. The
     * batch is the core's memory, shared read-only until vq_coord_committed or vq_coord_destroy */
    VQ_COORD_COMMIT,
    /* `send.peer`: its session has ended; the peer may say HELLO again. If it was a local worker's
     * and no process holds its spool, import that now, before the next action: its tasks are about
     * to be looked up and leased again (rule 21) */
    VQ_COORD_CLOSE,
    /* `collect`: send COLLECT of this batch, with the records of the calls that wait in it, which
     * the store has; or without any, to cancel it */
    VQ_COORD_COLLECT,
    VQ_COORD_NOTE, /* `note`: a line for the log */
    /* the stage is done: every task terminal, every batch committed. Once. Spools may be imported
     * after it: they change no outcome, but are in the ledger */
    VQ_COORD_FINISHED,
    /* `stopped`: the run cannot or shall not go on; resumable. Once, and never after FINISHED */
    VQ_COORD_STOPPED,
};

enum vq_coord_stop {
    VQ_COORD_STOP_DRAINED, /* vq_coord_drain */
    VQ_COORD_STOP_NOW,     /* vq_coord_stop */
    /* no worker can call some judge: key, money or model; the text says which and why */
    VQ_COORD_STOP_POOL,
    VQ_COORD_STOP_STORE,   /* vq_coord_commit_failed */
    VQ_COORD_STOP_ANSWERS, /* workers' answers settle nothing: their request hashes are not ours */
    VQ_COORD_STOP_BUDGET, /* it allows no further call, and nothing is out that could change that */
};

enum vq_coord_note_level {
    VQ_COORD_NOTE_INFO,
    VQ_COORD_NOTE_WARN
};

struct vq_coord_collect { /* texts are borrowed until the next action */
    uint64_t peer, session;
    const char *name, *pool, *id;
    uint32_t calls; /* in it; 0: it is not known that it was submitted */
    bool cancel;
};

struct vq_coord_action {
    enum vq_coord_action_type type;
    union {
        struct {
            uint64_t peer;
            uint64_t session;
            struct vq_msg msg;
        } send;
        struct {
            uint64_t peer;
            uint64_t session;
            uint32_t sample;
        } sample;
        uint64_t shard;
        const struct vq_batch *batch;
        struct vq_coord_collect collect;
        struct {
            enum vq_coord_note_level level;
            const char *text;
        } note;
        struct {
            enum vq_coord_stop kind;
            bool clean;       /* nothing was out: the next start need not wait one term */
            const char *text; /* for people: what, and the next step */
        } stopped;
    } u;
};

/* The next action; false when there is none left for now. A COMMIT is made when everything else has
 * been taken, so that one loop turn's results share it. */
bool vq_coord_next(struct vq_coord *c, int64_t now_ns,
                   struct vq_coord_action *ret_action) VQ_WARN_UNUSED;
/* VQ_OK, or why the core had to give up while its actions were taken (VQ_NOMEM, VQ_LIMIT). Ask
 * after the last action. */
enum vq_status vq_coord_health(const struct vq_coord *c) VQ_WARN_UNUSED;

/* ---- looking in ---- */

/* Nothing of this run is out, as far as can be known: STOPPED says so, and who stops between two
 * stages asks. */
bool vq_coord_clean(const struct vq_coord *c);

enum vq_outcome vq_coord_outcome(const struct vq_coord *c, uint64_t task);

struct vq_coord_counts {
    uint64_t state[VQ_TASK_STATES]; /* tasks by state; their sum is `tasks` */
    uint64_t outcome[256];          /* tasks by outcome byte */
    uint64_t from_store;            /* found terminal by a look-up */
    uint64_t calls;                 /* results committed, of whatever end */
    uint64_t ends[VQ_END__COUNT];   /* the same by how the call ended */
};

enum vq_coord_stage {
    VQ_COORD_WAITING, /* rule 4: nothing is leased before one term has passed */
    VQ_COORD_RUNNING,
    VQ_COORD_PAUSED, /* the store is not to be reached */
    VQ_COORD_HELD,   /* vq_coord_hold */
    VQ_COORD_DRAINING,
    VQ_COORD_DONE, /* FINISHED or STOPPED was given */
};

struct vq_coord_status {
    enum vq_coord_stage stage;
    uint64_t tasks;
    struct vq_coord_counts all;
    uint64_t epoch;
    uint64_t batches;        /* committed */
    uint64_t received;       /* results gathered or in the commit in flight */
    uint64_t scouted_shards; /* looked up at least once */
    /* of which it is known what is stored: these, or those of vq_coord_stored */
    uint64_t known_shards;
    uint64_t shards;
    uint64_t ready_shards, leased_shards;
    uint64_t leases_lost; /* with their worker */
    /* listed by workers as sent and not ACKed, or received and not committed */
    uint64_t calls_reserved;
    uint64_t batched;   /* of these: part of a batch at a provider */
    uint64_t held_back; /* of them no calls: tasks that a worker with an old lease may be asking */
    uint64_t tokens_in, tokens_out;
    uint32_t sessions;
    double calls_per_s; /* results committed, over the last VQ_COORD_RATE_SECONDS */
    /* tasks that calls settled, the same window: those of the store are left out */
    double settled_per_s;
    uint64_t settled_lately;  /* how many that were */
    int64_t wait_until_ns;    /* WAITING: until when */
    uint64_t dropped_session; /* messages of another session */
    uint64_t dropped_unknown; /* of peers without one */
    uint64_t dropped_full;    /* results that found no room; their worker says them again */
    uint64_t repeated;        /* results of calls already received or committed */
    uint64_t late;            /* results of leases that were over */
    uint64_t elsewhere;       /* results of other stages; in no judge's counts */
    uint64_t broken;          /* messages that broke a rule */
    uint64_t pauses;          /* of our own loop */
    uint64_t notes_dropped;
};
void vq_coord_status_fill(const struct vq_coord *c, int64_t now_ns,
                          struct vq_coord_status *ret_status);

struct vq_coord_judge_status {
    const char *name;
    const uint32_t *pools; /* that may answer for it; borrowed */
    uint32_t pools_count;
    struct vq_coord_counts counts;
    uint64_t ready_shards, leased_shards;
    uint64_t open;           /* tasks without an outcome; of these: */
    uint64_t live;           /* leased */
    uint64_t batched;        /* part of a batch at a provider */
    uint64_t blocked;        /* at most: second orders whose first order is in a batch */
    uint64_t returned;       /* that a batch has given back, not leased since */
    bool answered;           /* past its probe */
    bool closed;             /* no worker can call it */
    const char *closed_text; /* why; "" */
    bool braked;             /* its first calls all failed the same way, on every pool of it */
    /* before that none of its pools lets a call start: all are parked or pause; INT64_MAX: it is
     * not known */
    int64_t when_ns;
};
void vq_coord_judge_fill(const struct vq_coord *c, uint32_t judge, int64_t now_ns,
                         struct vq_coord_judge_status *ret_judge);

struct vq_coord_worker_status {
    struct vq_id worker;
    const char *name, *host, *software;
    uint64_t peer, session, pid;
    int64_t local;
    int64_t heard_ns; /* when it was heard last */
    uint32_t leases;
    uint64_t tasks_held;         /* leased to it, no final result yet */
    uint64_t calls_out;          /* that it last listed as sent and not ACKed */
    uint64_t results;            /* received in this session */
    uint32_t in_flight, waiting; /* as it said last: calls, and asks that wait for a slice */
    bool draining;
    const char *keyless; /* "no key for team, lab: TEAM_KEY is not set"; "": a key for each pool */
};
/* The sessions, in no order: index 0 .. count - 1; valid until the next event. Returns false past
 * the end. */
bool vq_coord_worker_fill(const struct vq_coord *c, uint32_t index,
                          struct vq_coord_worker_status *ret_worker);

struct vq_coord_batch_status { /* of a batch at a provider; texts are borrowed */
    const char *name, *pool;
    const char *id; /* as the provider calls it; "": not known */
    uint8_t state;  /* enum vq_batch_progress */
    uint32_t calls, ended;
    uint32_t waiting;   /* calls without a result */
    uint64_t cost_nano; /* the most that those can cost */
    const char *worker; /* that looks after it; "": none is here */
    bool cancelling;
    int64_t since_unix_ms; /* when its last call was added, by that worker's clock */
};
/* Index 0 .. count - 1, oldest first; false past the end. */
bool vq_coord_api_batch_fill(const struct vq_coord *c, uint32_t index,
                             struct vq_coord_batch_status *ret_batch);

/* How often each pair of the state table was met, for the coverage test: [state][event]. */
const uint64_t (*vq_coord_moves(const struct vq_coord *c))[VQ_TASK_EVENTS];
