/* One stage of a run as a state machine: sessions, shards, leases, reservations, commit batches,
 * the tally, the end. A run uses one core per stage, one after the other, in one process and one
 * epoch; the workers send HELLO to each core. A call or lease of another stage that a worker still
 * holds reserves, settles and counts nothing here; its result is recorded and ACKed like any other
 * (rule 3). The core is pure: (state, event, now) -> actions. It reads no clock, uses no randomness
 * and does no I/O. The shell (or the simulation) carries out its actions and reports the outcome.
 *
 *     vq_coord_message(c, peer, &msg, now)          for every waiting frame, before ...
 *     vq_coord_tick(c, now)                         ... timers fire
 *     while (vq_coord_next(c, now, &action)) { carry it out, in this order }
 *     sleep until vq_coord_wake_ns(c), at the latest
 *
 * The core stores one byte per task (enum vq_outcome). Everything else is bounded by the work in
 * flight (limits.h). An event may come between two calls of vq_coord_next. The pointers in an
 * action are valid until the next call of any function with this core, except those of a COMMIT's
 * batch (below). now_ns is monotonic and positive; an earlier value counts as the last one.
 *
 * Event functions return VQ_OK, or: VQ_NOMEM or VQ_LIMIT (one of our named bounds): the process
 * cannot continue, end it, nothing is lost; VQ_BUG: the store contradicts the state table. The
 * bytes of a peer never cause these errors: a message that breaks a rule is counted, dropped and
 * answered with BYE. */
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
    /* the pools that may answer for it: the authority's indices, as in the SPEC; copied */
    const uint32_t *pools;
    uint32_t pools_count; /* at least one */
    /* under lazy swap: a second order is leased only after the first one is answered, not with
     * it */
    bool seconds_wait;
};

struct vq_coord_params {
    struct vq_id run;     /* uid */
    const char *run_name; /* copied */
    uint64_t epoch;       /* durable, higher at each start */
    /* number of the stage in the run; rises within a process. Sessions and fences start above those
     * of the last stage */
    uint32_t stage;
    /* more stages may follow: FINISHED ends the sessions with BYE "stage over", not "done" */
    bool more;
    struct vq_grid grid;
    /* a shard is a chain: its tasks of order 0 are asked one after the other. It is leased whole
     * and counts as one task of credit */
    bool chains;
    /* CHAT: the chains that begin alike, by shard; copied. NULL: no two do. A shared turn is asked
     * in the first of its chains */
    const struct vq_chain_alike *alike;
    const struct vq_coord_judge *judges; /* one per judge of the grid; copied */
    /* over the pools; borrowed. All stages of the process use the same one */
    struct vq_authority *authority;
    struct vq_hash spec; /* hash of the SPEC body that the shell has */
    bool repairs;        /* an answer without a verdict gets one repair call */
    /* the maximum number of unchanged repeats of a question without a readable answer, as in the
     * plan of its cell */
    uint32_t repeat_max;
    int64_t term_ns;
    int64_t heartbeat_ns; /* well below the term: a third or less */
    uint32_t orphan_s;    /* sent in WELCOME to local workers; remote ones get orphan_remote_s */
    uint32_t orphan_remote_s;
    /* no task without a stored answer is leased for this time (rule 4): the rest of one term since
     * workers can connect; 0: a first start, or one after a clean stop */
    int64_t wait_ns;
    /* workers on other machines may still join: if every worker reports NO_KEY, the run
     * continues */
    bool remote;
    /* how long FINISHED waits for a worker on another machine that was lost with a spool that may
     * hold answers, after all tasks are settled; 0: it does not wait */
    int64_t missed_ns;
    /* FINISHED is not returned before this time: workers may join to bring late results */
    int64_t finish_from_ns;
    /* sets the order in which samples are looked up: the number of this start among all starts on
     * the store, from 1; starts with neighbouring numbers go in opposite directions. 0:
     * ascending */
    uint64_t scout_no;
    uint32_t ready_shards_max;   /* 0: VQ_COORD_READY_DEFAULT */
    uint32_t commit_results_max; /* 0: VQ_COORD_BATCH_RESULTS_DEFAULT */
    size_t commit_bytes_max;     /* 0: VQ_COORD_BATCH_BYTES_DEFAULT */
    /* the largest request of the stage, without repairs; 0: VQ_CLAIM_REQUEST_BYTES_MAX */
    size_t request_bytes_max;
    uint32_t answer_tokens_max; /* the largest max_tokens of its judges */
    uint32_t worker_lost_max;   /* 0: VQ_COORD_LOST_DEFAULT */
    /* role of its judges: an answer of a judge in another role proves nothing for this one */
    uint32_t role;
    /* if this number of first calls of a judge on a pool all failed the same way, the pool is
     * parked for the judge; 0: never */
    uint32_t brake_calls;
    /* the results read answers by their own policy: the brake counts failed calls only */
    bool any_answer_is_useful;
    /* limits per task over all its leases in this process; at a limit the task fails instead of
     * being leased again */
    struct vq_attempt_caps attempts;
};

/* Returns VQ_INVALID (err names the parameter), VQ_LIMIT or VQ_NOMEM. The first vq_coord_next
 * returns the first LOOKUPs. */
enum vq_status vq_coord_create(const struct vq_coord_params *params, int64_t now_ns,
                               struct vq_coord **ret_coord, struct vq_error *err) VQ_WARN_UNUSED;
void vq_coord_destroy(struct vq_coord **coord);

/* Between two stages: `to`, just created, takes over from `from`: the waits that are still due
 * (rule 4, and calls of later stages that workers listed after an earlier start had come further);
 * the HELLOs that workers sent to `from` after FINISHED, so that no worker has to send HELLO twice;
 * and which judges were already answered: their brakes are never pulled. `from` was created with
 * params.more. Destroy it after this call, and only when no batch of it is in flight (spools may
 * have been imported after FINISHED). Answers to its look-ups are dropped. Returns the status of
 * `to`. */
enum vq_status vq_coord_hand_over(struct vq_coord *from, struct vq_coord *to,
                                  int64_t now_ns) VQ_WARN_UNUSED;

/* No stage follows after all. Each worker that got the end of the stage, and each peer that sends a
 * frame later, gets BYE with `code`: VQ_BYE_DONE or VQ_BYE_STOPPED. Call it after FINISHED, with
 * params.more. */
enum vq_status vq_coord_no_more(struct vq_coord *c, enum vq_bye_code code,
                                int64_t now_ns) VQ_WARN_UNUSED;

/* For a resumed run, before the first event: the outcome that the store has for each task of a
 * shard (NONE: open). These tasks are settled, and no rate counts them. A shard that is not passed
 * here is looked up in its turn. */
enum vq_status vq_coord_stored(struct vq_coord *c, uint64_t shard,
                               const uint8_t *outcomes) VQ_WARN_UNUSED;

/* For a resumed run, before the first event: passes a call of this stage in the ledger to the
 * brakes, which continue their counts with it. Returns whether more calls can still change a brake:
 * false once every judge was answered by each of its pools. */
bool vq_coord_recall(struct vq_coord *c, const struct vq_result *call);

/* For a resumed run, before the first event: the record of a call that waits in a batch at a
 * provider, then what the store has about the batch (in this order). VQ_INVALID, VQ_LIMIT,
 * VQ_NOMEM. */
enum vq_status vq_coord_batched(struct vq_coord *c, const struct vq_result *draft) VQ_WARN_UNUSED;
enum vq_status vq_coord_api_batch_store(struct vq_coord *c,
                                        const struct vq_batch_report *said) VQ_WARN_UNUSED;

/* ---- events ---- */

/* A decoded message of `peer`, the shell's number for one connection (mapped from a routing id). A
 * number is never used again within a process. The core copies all that it needs of the message. */
enum vq_status vq_coord_message(struct vq_coord *c, uint64_t peer, const struct vq_msg *msg,
                                int64_t now_ns) VQ_WARN_UNUSED;

/* Answers LOOKUP{shard} with the stored state of each task of the shard, in task order (grid.h:
 * index = vibe * 2 + order): 2 * vibes entries. The priors are copied. For a chain, `prior` is the
 * answer of each turn that has a good one. The call may come later than the action, also while a
 * commit is in flight. */
enum vq_status vq_coord_looked_up(struct vq_coord *c, uint64_t shard, const struct vq_known *known,
                                  int64_t now_ns) VQ_WARN_UNUSED;

/* Results from the spool of a worker whose process has ended: answers, and sent calls without one
 * (VQ_END_UNKNOWN). They join the next batch under the name `worker`. The first *ret_taken of them
 * were copied (the batch may be full: offer the rest after the next commit). The spool may be
 * deleted after the batch vq_coord_imported_no(), read after the last import, is committed.
 * VQ_INVALID: one of them cannot be a result, and none was taken. */
enum vq_status vq_coord_import(struct vq_coord *c, struct vq_span worker,
                               const struct vq_result *results, size_t count, int64_t now_ns,
                               size_t *ret_taken) VQ_WARN_UNUSED;
uint64_t vq_coord_imported_no(const struct vq_coord *c); /* 0: nothing imported */

/* For the batch `no`, before vq_coord_committed: the results whose calls the ledger already had.
 * They are ACKed like any other and are not charged again. VQ_NOMEM, VQ_BUG. */
enum vq_status vq_coord_repeated(struct vq_coord *c, uint64_t no, const size_t *results,
                                 size_t count) VQ_WARN_UNUSED;
/* The batch `no` is durable in the store and in the run state. `settled` has the state in force
 * (vq_task_state) of each task that a result, failure or reopened task of the batch names, of the
 * other order of its cell, and of the tasks that these block or open in their chain. A task may
 * appear twice; an entry with NONE changes nothing. The core may change the batch's memory
 * again. */
enum vq_status vq_coord_committed(struct vq_coord *c, uint64_t no, const struct vq_settled *settled,
                                  size_t count, int64_t now_ns) VQ_WARN_UNUSED;
/* true: the store is unreachable for now. The batch in flight stays in flight, the shell retries
 * the commit, and nothing is leased. false: the store is reachable again. */
enum vq_status vq_coord_commit_paused(struct vq_coord *c, bool paused,
                                      int64_t now_ns) VQ_WARN_UNUSED;
/* The batch in flight cannot be committed: STOPPED{STORE} follows, with `why`. Nothing of it was
 * ACKed, so the workers still have its results. */
enum vq_status vq_coord_commit_failed(struct vq_coord *c, const char *why,
                                      int64_t now_ns) VQ_WARN_UNUSED;

/* The COLLECT of this batch could not be sent: the core assigns the batch again, one term later. */
void vq_coord_api_batch_again(struct vq_coord *c, const char *name);

/* Timers. Call it at least every half heartbeat (see vq_coord_wake_ns). A gap of more than one
 * heartbeat between two events counts as a pause of our own loop: rule 4. */
enum vq_status vq_coord_tick(struct vq_coord *c, int64_t now_ns) VQ_WARN_UNUSED;

/* The process of local worker k (struct vq_msg_hello.local) has ended (the child was reaped), and
 * its spool, if it had one, was imported and committed before this call. Call it also if its
 * session is over: until then the open part of its budget counts as spent. It applies to all
 * workers that had this k. */
enum vq_status vq_coord_local_ended(struct vq_coord *c, int64_t local,
                                    int64_t now_ns) VQ_WARN_UNUSED;

/* Graceful stop: nothing more is leased and workers finish their calls in flight. STOPPED{DRAINED}
 * follows when no lease or call is out, or at the deadline (monotonic). */
enum vq_status vq_coord_drain(struct vq_coord *c, int64_t deadline_ns,
                              int64_t now_ns) VQ_WARN_UNUSED;
/* Immediate stop: results received so far are still committed, then STOPPED{STOP} follows. */
enum vq_status vq_coord_stop(struct vq_coord *c, int64_t now_ns) VQ_WARN_UNUSED;

/* By command: while `held`, nothing is leased and every worker's slices are zero. Workers give back
 * the tasks that they have not sent and start no call; calls in flight end as always. `false`
 * continues at once. The next stage starts with the same setting. */
enum vq_status vq_coord_hold(struct vq_coord *c, bool held, int64_t now_ns) VQ_WARN_UNUSED;

/* By command: reopens the tasks of this stage that failed for one of these reasons
 * (vq_outcome_failure_bit). They are part of the next batches (`reopened`) and open after those are
 * committed; the stage does not end before. A repeated call does no harm. *ret_tasks: the number of
 * such tasks now; 0 if the stage is done or stopping. */
enum vq_status vq_coord_requeue(struct vq_coord *c, uint32_t failures, int64_t now_ns,
                                uint64_t *ret_tasks) VQ_WARN_UNUSED;

/* By command: sends the workers of this name the order to leave. They get no lease, finish their
 * calls, give the rest back and send BYE; the next stage sends the order again. No order is sent if
 * no other worker would stay. *ret_told: the number of workers with this name; *ret_stay: the
 * number of others that stay. */
enum vq_status vq_coord_drain_worker(struct vq_coord *c, const char *name, int64_t now_ns,
                                     uint32_t *ret_informed, uint32_t *ret_stay) VQ_WARN_UNUSED;

/* By command: the worker that owns the batch of this name (NULL: every batch) cancels it at its
 * provider. Its answers count, its other calls are asked again. *ret_count: the number of
 * batches. */
enum vq_status vq_coord_api_batch_cancel(struct vq_coord *c, const char *name, int64_t now_ns,
                                         uint32_t *ret_count) VQ_WARN_UNUSED;

/* For a run with a deadline. `direct`: the judge's batch pools rest from now on
 * (vq_authority_rest), so that tasks leased from now on are asked interactively. Otherwise `keep`
 * of its open tasks are not leased. */
enum vq_status vq_coord_steer(struct vq_coord *c, uint32_t judge, bool direct, uint64_t keep,
                              int64_t now_ns) VQ_WARN_UNUSED;

/* `peer` is not allowed any more: its session takes no further message, gets no lease, and gets BYE
 * with the reason `why`. Its leases end with their terms. Without a session this does nothing. */
enum vq_status vq_coord_expel(struct vq_coord *c, uint64_t peer, const char *why,
                              int64_t now_ns) VQ_WARN_UNUSED;
int64_t vq_coord_wake_ns(const struct vq_coord *c); /* the latest time of the next tick */

/* ---- actions ---- */

enum vq_coord_action_type {
    VQ_COORD_SEND,   /* `send`: encode and send */
    VQ_COORD_SPEC,   /* `send.peer`: send a SPEC of send.session; the shell has the body */
    VQ_COORD_SAMPLE, /* `sample`: send a SAMPLE; the shell has the texts */
    VQ_COORD_LOOKUP, /* `shard`: look up its tasks, answer with vq_coord_looked_up */
    /* `batch`: commit it, answer with vq_coord_committed; the next COMMIT comes after that. The
     * batch is the core's memory, shared read-only until vq_coord_committed or vq_coord_destroy */
    VQ_COORD_COMMIT,
    /* `send.peer`: its session has ended; the peer may send HELLO again. If it was a local worker
     * and no process holds its spool, import the spool now, before the next action: its tasks will
     * be looked up and leased again (rule 21) */
    VQ_COORD_CLOSE,
    /* `collect`: send COLLECT of this batch, with the stored records of its waiting calls; or
     * without records, to cancel it */
    VQ_COORD_COLLECT,
    VQ_COORD_NOTE, /* `note`: a line for the log */
    /* once: the stage is done, every task is terminal, every batch is committed. Spools may be
     * imported after it: they change no outcome, but the ledger records them */
    VQ_COORD_FINISHED,
    /* once, never after FINISHED: `stopped`: the run cannot or must not continue; it is
     * resumable */
    VQ_COORD_STOPPED,
};

enum vq_coord_stop {
    VQ_COORD_STOP_DRAINED, /* vq_coord_drain */
    VQ_COORD_STOP_NOW,     /* vq_coord_stop */
    /* no worker can call a judge: key, money or model; the text names the judge and the reason */
    VQ_COORD_STOP_POOL,
    VQ_COORD_STOP_STORE, /* vq_coord_commit_failed */
    /* workers' answers settle nothing: their request hashes differ from ours */
    VQ_COORD_STOP_ANSWERS,
    /* the budget allows no further call, and nothing is out that could change that */
    VQ_COORD_STOP_BUDGET,
};

enum vq_coord_note_level {
    VQ_COORD_NOTE_INFO,
    VQ_COORD_NOTE_WARN
};

struct vq_coord_collect { /* texts are borrowed until the next action */
    uint64_t peer, session;
    const char *name, *pool, *id;
    uint32_t calls; /* the number of calls in it; 0: unknown whether it was submitted */
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
            const char *text; /* for people: the cause and the next step */
        } stopped;
    } u;
};

/* The next action; false: there is none for now. A COMMIT is made only after all other actions were
 * taken, so that one commit has all results of a loop turn. */
bool vq_coord_next(struct vq_coord *c, int64_t now_ns,
                   struct vq_coord_action *ret_action) VQ_WARN_UNUSED;
/* VQ_OK, or the reason why the core failed while its actions were taken (VQ_NOMEM, VQ_LIMIT). Call
 * it after the last action. */
enum vq_status vq_coord_health(const struct vq_coord *c) VQ_WARN_UNUSED;

/* ---- status ---- */

/* As far as the core knows, no lease or call of this run is out. STOPPED reports the same; call
 * this for a stop between two stages. */
bool vq_coord_clean(const struct vq_coord *c);

enum vq_outcome vq_coord_outcome(const struct vq_coord *c, uint64_t task);

struct vq_coord_counts {
    uint64_t state[VQ_TASK_STATES]; /* number of tasks by state; the sum is `tasks` */
    uint64_t outcome[256];          /* tasks by outcome byte */
    uint64_t from_store;            /* found terminal by a look-up */
    uint64_t calls;                 /* results committed, whatever their end */
    uint64_t ends[VQ_END__COUNT];   /* the same, by the end of the call */
};

enum vq_coord_stage {
    VQ_COORD_WAITING, /* rule 4: nothing is leased before one term has passed */
    VQ_COORD_RUNNING,
    VQ_COORD_PAUSED, /* the store is unreachable */
    VQ_COORD_HELD,   /* vq_coord_hold */
    VQ_COORD_DRAINING,
    VQ_COORD_DONE, /* FINISHED or STOPPED was returned */
};

struct vq_coord_status {
    enum vq_coord_stage stage;
    uint64_t tasks;
    struct vq_coord_counts all;
    uint64_t epoch;
    uint64_t batches;        /* committed */
    uint64_t received;       /* results gathered or in the commit in flight */
    uint64_t scouted_shards; /* looked up at least once */
    /* shards whose stored state is known: scouted, or passed to vq_coord_stored */
    uint64_t known_shards;
    uint64_t shards;
    uint64_t ready_shards, leased_shards;
    uint64_t leases_lost; /* leases lost with their worker */
    /* listed by workers as sent and not ACKed, or received and not committed */
    uint64_t calls_reserved;
    uint64_t batched; /* of these: calls in batches at providers */
    /* of these: no calls, but tasks that a worker with an old lease may be asking */
    uint64_t held_back;
    uint64_t tokens_in, tokens_out;
    uint32_t sessions;
    double calls_per_s; /* results committed, over the last VQ_COORD_RATE_SECONDS */
    /* tasks settled by calls, in the same window; those settled by the store do not count */
    double settled_per_s;
    uint64_t settled_lately;  /* their number */
    int64_t wait_until_ns;    /* WAITING: the end of the wait */
    uint64_t dropped_session; /* messages of another session */
    uint64_t dropped_unknown; /* messages of peers without a session */
    uint64_t dropped_full;    /* results that found no room; their worker sends them again */
    uint64_t repeated;        /* results of calls already received or committed */
    uint64_t late;            /* results of leases that were over */
    uint64_t elsewhere;       /* results of other stages; no judge counts them */
    uint64_t broken;          /* messages that broke a rule */
    uint64_t pauses;          /* of our own loop */
    uint64_t notes_dropped;
};
void vq_coord_status_fill(const struct vq_coord *c, int64_t now_ns,
                          struct vq_coord_status *ret_status);

struct vq_coord_judge_status {
    const char *name;
    const uint32_t *pools; /* that may answer for the judge; borrowed */
    uint32_t pools_count;
    struct vq_coord_counts counts;
    uint64_t ready_shards, leased_shards;
    uint64_t open;     /* tasks without an outcome; of these: */
    uint64_t live;     /* leased */
    uint64_t batched;  /* part of a batch at a provider */
    uint64_t blocked;  /* at most this number: second orders whose first order is in a batch */
    uint64_t returned; /* given back by a batch, not leased since */
    bool answered;     /* past its probe */
    bool closed;       /* no worker can call it */
    const char *closed_text; /* why; "" */
    bool braked;             /* its first calls all failed the same way, on each of its pools */
    /* none of its pools lets a call start before this time: all are parked or pause; INT64_MAX:
     * unknown */
    int64_t when_ns;
};
void vq_coord_judge_fill(const struct vq_coord *c, uint32_t judge, int64_t now_ns,
                         struct vq_coord_judge_status *ret_judge);

struct vq_coord_worker_status {
    struct vq_id worker;
    const char *name, *host, *software;
    uint64_t peer, session, pid;
    int64_t local;
    int64_t heard_ns; /* when its last message came */
    uint32_t leases;
    uint64_t tasks_held;         /* leased to it, no final result yet */
    uint64_t calls_out;          /* in its last list: sent and not ACKed */
    uint64_t results;            /* received in this session */
    uint32_t in_flight, waiting; /* by its last CREDIT: calls, and asks that wait for a slice */
    bool draining;
    const char *keyless; /* "no key for team, lab: TEAM_KEY is not set"; "": a key for each pool */
};
/* Sessions in no order: index 0 .. count - 1, valid until the next event. Returns false past the
 * end. */
bool vq_coord_worker_fill(const struct vq_coord *c, uint32_t index,
                          struct vq_coord_worker_status *ret_worker);

struct vq_coord_batch_status { /* of a batch at a provider; texts are borrowed */
    const char *name, *pool;
    const char *id; /* the provider's id; "": unknown */
    uint8_t state;  /* enum vq_batch_progress */
    uint32_t calls, ended;
    uint32_t waiting;   /* calls without a result */
    uint64_t cost_nano; /* the most that these can cost */
    const char *worker; /* that owns it; "": it has no session */
    bool cancelling;
    int64_t since_unix_ms; /* when its last call was added, by that worker's clock */
};
/* Index 0 .. count - 1, oldest first; returns false past the end. */
bool vq_coord_api_batch_fill(const struct vq_coord *c, uint32_t index,
                             struct vq_coord_batch_status *ret_batch);

/* The number of times each pair of the state table occurred, for the coverage test:
 * [state][event]. */
const uint64_t (*vq_coord_moves(const struct vq_coord *c))[VQ_TASK_EVENTS];
