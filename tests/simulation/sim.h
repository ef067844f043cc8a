/* The simulated cluster: one real coordinator core, real worker cores, and models of network,
 * store, spools, processes and endpoint, in one thread, from one seed. Everything that happens is
 * an event with a time; the next one is drawn from a heap.
 *
 *     sim.c          the world: making it from a seed, the heap, the run
 *     net.c          links: delay, order, loss, duplication, partitions, new connections
 *     endpoint.c     judges: latency, refusals of capacity, faults, answers; the truth about calls
 *     pools.c        the pools: limits, the authority over them, what came in
 *     worker_host.c  a worker's process: core, spool, its actions
 *     coord_host.c   the coordinator's process: core, store, commits, imports, its actions
 *     stages.c       the stages of the run, and going on from one to the next
 *     talks.c        dialogues, in some of the runs
 *     faults.c       what goes wrong, when
 *     trouble.c      what else may: half of the seeds have none of it (faults.def)
 *     batches.c      batches at providers, in some of the runs
 *     check.c        what must hold, after every step and at the end
 *     store.c, map.c the model of the store
 */
#pragma once

#include "common/base/clock.h"
#include "common/base/rng.h"
#include "common/judge/chain.h"
#include "common/judge/template.h"
#include "coordinator/queue/coord.h"
#include "proto/wire.h"
#include "tests/simulation/map.h"
#include "tests/simulation/store.h"
#include "worker/batches/batches.h"
#include "worker/core/work.h"

#define SIM_WORKERS_MAX 240 /* processes, over the whole run */
#define SIM_WORKERS_KEPT                                                                           \
    48 /* of them for the time after healing: questions that kill their worker still do */
#define SIM_WHY_MAX    512
#define SIM_STAGES_MAX 3
#define SIM_JUDGES_MAX 3
#define SIM_POOLS_MAX  4
#define SIM_SAMPLES    12
#define SIM_AXES_MAX   8 /* and one that says nothing */

enum sim_fault { /* each is counted */
#define SIM_FAULT(name, most, text) SIM_##name,
#include "tests/simulation/faults.def"
#undef SIM_FAULT
    SIM_FAULTS
};

/* A world without chance: what its seed would decide is asked of whoever explores it
 * (exhaust.c). */
struct sim_small {
    uint32_t samples, locals,
        remotes; /* a sample x one judge x one vibe; local and remote workers */
    enum vq_swap swap;
    bool settles; /* answers settle the score: the second order is not needed */
};

struct sim_options {
    uint64_t seed;
    bool verbose;
    bool with[SIM_FAULTS];         /* these may come in every seed */
    const struct sim_small *small; /* NULL: drawn from the seed */
};

struct sim_report {
    bool failed;
    char why[SIM_WHY_MAX];
    uint64_t trace; /* hash of all that happened */
    uint64_t steps, calls, asked_twice, unknown, tasks;
    uint64_t broke;       /* stopped for want of money */
    uint64_t no_capacity; /* calls that a service tier refused */
    uint64_t kills, coord_kills, redis_kills, breaks, pauses, partitions, restarts, stages,
        reopened, cancelled;
    uint64_t faults[SIM_FAULTS];
    uint64_t moves[VQ_TASK_STATES][VQ_TASK_EVENTS];
    double seconds; /* simulated */
};

void sim_run(const struct sim_options *options, struct sim_report *ret_report);

/* ---- inside ---- */

enum sim_event_kind {
    EV_TO_COORD,  /* a frame arrives; a: link, b: connection */
    EV_TO_WORKER, /* a frame arrives; a: worker, b: connection */
    EV_CONNECTED, /* a: worker, b: connection */
    EV_REPLY,     /* a: worker, b: call */
    EV_LOOKED_UP, /* a: stage, b: shard */
    EV_LMDB,      /* the transaction is durable */
    EV_REDIS,     /* the run state is written */
    EV_REAPED,    /* the coordinator notices that a child ended; a: worker */
    EV_IMPORT,    /* a: worker whose spool is imported */
    EV_COORD_START,
    EV_SPAWN, /* a: slot (local k), or SIM_REMOTE */
    EV_FAULT,
    EV_BLOCK, /* the link of worker a is blocked */
    EV_HEAL,
    EV_STAGE, /* the next one begins; a: its number */
    EV_OVER,  /* some time after FINISHED: everybody has left */
    EV_REDIS_BACK,
    EV_TICK,        /* of the coordinator; timers: after everything else of the same time */
    EV_WORKER_TICK, /* a: worker */
    EV_RESET,       /* the link of worker a is reset, and what a block held back is lost */
    EV_REFUSED,     /* a: worker whose shell did not send a call; b: it was late; bytes: its id */
    EV_CLOCK,       /* the coordinator's shell tells its wall clock */
    EV_DRAIN,       /* a person stops the run */
    EV_AGAIN,       /* a person who asked for what failed asks once more */
    EV_GATHERED,    /* a: worker; b: the item that was added to a batch */
    EV_BATCH,       /* a: worker; b: its exchange with a batch API has ended, or UINT64_MAX: time */
    EV_CREATE,      /* b: the exchange whose batch arrives at its provider */
    EV_USURPED,     /* the coordinator that was taken for dead goes on */
};

struct sim_event {
    int64_t at_ns;
    uint64_t seq;
    enum sim_event_kind kind;
    uint32_t a;
    uint64_t b;
    uint64_t life; /* of the process it is for: a dead one's events fall away */
    char *bytes;
    size_t count;
};

/* ---- endpoint: one row a call that was sent ---- */

enum sim_call_state {
    CALL_FLYING,   /* at the endpoint */
    CALL_ANSWERED, /* the answer reached its worker */
    CALL_FAILED,   /* its worker knows that it gave no answer */
    CALL_UNKNOWN,  /* its worker was killed: sent, never answered */
    CALL_IN_BATCH, /* part of a batch at its provider */
};

struct sim_call {
    struct vq_id id;
    struct vq_hash request;
    uint32_t stage;
    uint64_t task;
    uint32_t worker;
    int64_t started_ns;
    int64_t answered_ns;
    int64_t ends_ns; /* at the endpoint */
    uint32_t pool_index;
    uint64_t tokens;    /* as the usage says, whether it arrives or not */
    uint64_t cost_nano; /* the truth */
    enum sim_call_state state;
    uint64_t heard_life; /* of the coordinator that last heard of it, plus 1; 0: none */
    int64_t listed_ns;   /* when that one last read it in a list; 0: never */
    int64_t next_same;   /* the call before it of the same request; -1 */
    /* the reply to come */
    enum vq_call_end end;
    enum vq_pool_state pool;
    int64_t retry_after_ms, park_unix_s;
    struct vq_rates said;
    uint32_t cap;
    uint64_t organisation;
    bool refusal, slowed, parks, no_capacity;
    const char *answer, *finish_reason;
};

/* ---- processes ---- */

struct sim_spooled {
    struct vq_id call;
    struct vq_result sent; /* what SENT knows */
    char *encoded;         /* the answer's result; NULL: only SENT */
    size_t encoded_bytes;
    enum vq_call_end ended; /* with `encoded` */
    bool acked;
    bool written_sent, written_answer, written_ack;
    bool noted; /* changed since the last write: lost with the process */
    size_t noted_before;
};

struct sim_spool {
    struct sim_spooled *records;
    size_t count, cap;
    size_t noted; /* the last that waits for the write, + 1; 0: none */
    struct sim_map by_call;
};

struct sim_worker {
    struct vq_work *work;       /* NULL: the process has ended */
    struct vq_batches *batches; /* NULL: the run has no batch pools */
    bool takes;                 /* their actions are being taken */
    int64_t batches_wake_ms;
    struct vq_id id;
    uint64_t life;
    int64_t local;         /* k; -1: remote */
    bool gathers;          /* replies were told to its core whose actions were not taken */
    bool has_spool, child; /* child: of the coordinator that runs now */
    struct sim_spool spool;
    bool found;         /* its spool was, at this coordinator's start */
    bool imported;      /* its spool was offered to the core entirely */
    size_t import_at;   /* next record to offer */
    uint64_t import_no; /* commit that ends the import; 0: none yet */
    int64_t skew_ns;    /* its clock */
    double drift;       /* its clock's, as a part */
    int64_t spool_full_until_ns;
    bool spool_failed, spool_said; /* a record of it could not be written, its core was told */
    int64_t paused_until_ns;
    int64_t wake_ns;
    bool bad_key[SIM_POOLS_MAX];
    /* from then on the endpoint refuses its key; INT64_MAX: never */
    int64_t revoked_ns[SIM_POOLS_MAX];
    bool spool_lost; /* its machine is gone: nobody will ever see its spool */
    bool killed, exited;
    int64_t die_in; /* killed when so many more actions are carried out; -1: no */
    /* link */
    uint64_t peer;
    uint64_t connection; /* rises with every new one */
    bool up;
    bool told;                   /* once, that it is connected: it says nothing before */
    int64_t blocked_until_ns[2]; /* 0: to the coordinator, 1: to the worker */
    int64_t last_ns[2];
    /* what the coordinator heard of it */
    bool expelled;          /* its key was revoked; a worker that is started instead has another */
    uint64_t expelled_life; /* the coordinator's life in which it was, plus 1; 0: none */
    uint64_t expelled_session; /* its session then */
    uint64_t leaves_life;      /* the coordinator's life in which it was drained, plus 1; 0: none */
    uint64_t granted_life;     /* of the coordinator whose GRANT it heard last, plus 1; 0: none */
    uint64_t reported_life;    /* of the coordinator that read its last CREDIT, plus 1; 0: none */
    int64_t heard_ns;          /* its last HELD or HEARTBEAT of a session */
    int64_t spoke_ns;          /* its last word of a session */
    int64_t back_ns;           /* when it spoke again after a whole term of silence; 0: never */
    int64_t silent_ns;         /* when it last had been silent for a whole term; -1: never */
};

struct sim_coord {
    struct vq_coord *core; /* NULL: not running */
    struct vq_authority *authority;
    bool holds; /* nothing is started before the spools that were found are in the ledger */
    uint64_t life;
    uint64_t epoch;
    uint32_t stage;   /* stale: which it was at */
    uint64_t fence_n; /* of the last lease */
    bool clean;       /* the durable mark of a clean stop */
    bool ever;
    int64_t paused_until_ns, running_since_ns, wake_ns;
    int64_t started_ns;           /* the process */
    bool waits;                   /* after its start, for a term */
    const struct vq_batch *batch; /* in flight */
    bool batch_lmdb;              /* its transaction is durable */
    bool redis_away;
    bool paused; /* the core was told so */
    bool held;   /* by hand */
    int64_t held_since_ns;
    uint64_t taken_nano; /* of the budget, when it told its workers to leave */
    bool finished, store_failed;
    int64_t die_in;             /* as a worker's */
    struct vq_settled *settled; /* of the batch, when its transaction is durable */
    size_t settled_count;
};

/* ---- pools ---- */

struct sim_start {
    int64_t at_ns;
    uint64_t tokens;
};

struct sim_pool {
    char name[16];
    int64_t window_ns;
    uint64_t requests, tokens; /* in a window; 0: no limit */
    uint32_t concurrency;      /* 0: no limit */
    uint64_t nano_per_token;
    struct sim_start *starts;
    size_t starts_count, starts_cap, starts_from; /* from: the first in the window */
    uint64_t in_window;                           /* tokens */
    size_t *flying; /* calls at the endpoint, and some that have ended */
    size_t flying_count, flying_cap;
};

struct sim_knobs {
    double duplicate, same_peer, report_connected, late_frames;
    int64_t delay_ns, jitter_ns;
    double p_park;
    double p_rate, p_provider, p_lost, p_refuse, p_unparseable, p_bad_request, p_hang;
    double p_settle; /* equal, N/A or unsure */
    int64_t latency_ns;
    int64_t commit_ns, lookup_ns;
    int64_t fault_every_ns;
    double kill, kill_coord, kill_redis, cut, block, pause, pause_coord, revoke, drain, foreign;
    double no_spool;
    double requeue; /* a person wants what failed asked again */
    double hold;    /* a person pauses the run, or lets it go on */
};

/* Of the faults in faults.def: how likely each is when it may come. */
struct sim_trouble {
    double p[SIM_FAULTS];
    int64_t slow_until_ns, slow_ns; /* the endpoint's latency has shifted */
    int64_t refuse_until_ns;        /* it refuses all */
    int64_t wall_shift_s;           /* the coordinator's wall clock is wrong by so much */
    int64_t missed_terms;           /* FINISHED waits so long for who is missed */
    double chains; /* tasks of a later stage that depend on one of the stage before */
    uint8_t *tail; /* an older state of Redis, to come back as; NULL: none */
    uint64_t tail_commits;
    uint32_t tail_stage;
};

struct sim_talks {
    struct vq_rng rng;
    double p;     /* a stage is one of dialogues */
    bool same;    /* the endpoint says the same when it is asked the same */
    double p_bad; /* it refuses, or says nothing */
    /* in all stages: what one opens again, and what that blocked, it settles for the others */
    uint32_t turns;
    uint32_t chains; /* where some begin alike, in all stages, for the same reason; 0: any number */
    struct vq_sample samples[SIM_SAMPLES];
    struct vq_sample_id ids[SIM_SAMPLES];
    struct vq_buf packed;
    char *texts;
    const char *sayings[64];
};

/* ---- batches ---- */

struct sim_gathered { /* a call that was added to a batch */
    struct vq_id call;
    struct vq_hash request;
    uint32_t stage, worker, pool;
    uint64_t task, tokens_reserved, cost_nano;
    enum vq_stage_kind stage_kind;
    enum vq_call_kind kind;
    enum vq_status status; /* of adding it */
    char text[VQ_RESULT_BATCH_BYTES];
    int fate;
    bool given_up;
};

struct sim_op { /* an exchange with a batch API */
    uint32_t worker;
    uint64_t batch;
    enum vq_batch_action_type step;
    enum vq_batch_part part;
    char name[VQ_BATCH_NAME_BYTES_MAX + 1], id[80];
    size_t from; /* of a list */
    bool failed, refused, unsent;
};

struct sim_api_batch { /* at its provider */
    char name[VQ_BATCH_NAME_BYTES_MAX + 1], id[80];
    size_t *items;
    size_t items_count, items_cap;
    int64_t shows_ns, ends_ns;
    bool cancelled, lost;
};

struct sim_bulk {
    bool on;
    bool steered;
    struct vq_rng rng;
    struct sim_gathered *items;
    size_t items_count, items_cap;
    struct sim_op *ops;
    size_t ops_count, ops_cap;
    struct sim_api_batch *batches;
    size_t batches_count, batches_cap;
};

struct sim_stage {
    const struct vq_sample *samples;
    const struct vq_sample_id *ids;
    enum vq_stage_kind kind;
    enum vq_swap swap;
    bool repair;
    struct vq_grid grid;
    const struct vq_axis *axes;
    struct vq_asker askers[SIM_JUDGES_MAX];
    struct vq_coord_judge judges[SIM_JUDGES_MAX];
    struct vq_template *asked, *repairer;
    struct vq_buf spec;
    struct vq_hash spec_hash;
    uint8_t *audited, *first;
    bool *blocked; /* by task, of a chain's later turns: known when the stage before is over */
    struct vq_fence *leased; /* by task: the last fence it was leased under */
    int64_t *looked_ns;      /* by shard: when the core was last told what the store says of it */
    int64_t *settled_ns;     /* by task: when it was settled in this core's life; 0: not yet */
    bool *poison;            /* by task: its call kills its worker */
    struct vq_chain_alike *alike; /* by shard, of dialogues; NULL: no two begin alike */
};

struct sim {
    struct sim_options options;
    struct sim_report *report;
    struct vq_rng rng;
    struct vq_rng hands; /* of what a person does: seeds without one stay as they are */
    struct vq_rng more;  /* of trouble: likewise */
    struct sim_knobs knobs;
    struct sim_trouble trouble;
    struct sim_talks talks;
    struct sim_bulk bulk;
    int64_t now_ns, term_ns, heartbeat_ns, heal_ns;
    bool healed, over;
    struct sim_event *heap;
    size_t heap_count, heap_cap;
    uint64_t seq;

    struct sim_stage stages[SIM_STAGES_MAX];
    uint32_t stages_count, stage; /* stage: the one that goes on */
    enum vq_swap swap;
    bool repair;
    uint8_t draw;    /* of the audit */
    uint32_t locals; /* local workers */
    struct vq_sample *samples;
    struct vq_sample_id *ids;
    struct vq_axis axes[SIM_AXES_MAX + 1];
    struct vq_judge judges[SIM_JUDGES_MAX];
    char *texts; /* of samples and names */
    struct vq_coord_params params;
    struct vq_decoder *decoder;
    struct vq_buf frame;

    struct sim_store store;
    struct sim_coord coord;
    struct sim_coord stale; /* stopped, and taken for dead: coord is another one; or no core */
    bool is_stale;          /* it is the one whose event is being dealt with */
    struct sim_worker workers[SIM_WORKERS_MAX];
    uint32_t workers_count;
    uint64_t peers;

    struct sim_pool pools[SIM_POOLS_MAX];
    uint32_t pools_count;
    uint32_t serves[SIM_JUDGES_MAX][SIM_POOLS_MAX], serves_count[SIM_JUDGES_MAX];
    uint64_t budget_nano; /* VQ_AMOUNT_ANY: none */
    uint32_t budget_stops;
    uint64_t spent_nano;  /* the truth */
    uint64_t unseen_nano; /* at most, of it, that a coordinator could not know of after its start */
    struct vq_advance advances[2 * SIM_WORKERS_MAX + 64]; /* durable */
    uint32_t advances_count;
    int64_t advances_ns;
    uint64_t reserved_most_nano; /* by a call */
    uint64_t clean_epoch;        /* the last one that ended cleanly; 0: none */

    struct sim_call *calls;
    size_t calls_count, calls_cap;
    struct sim_map calls_by_id, calls_by_request; /* the latest of a request */
};

/* sim.c */
void sim_make(struct sim *s, const struct sim_options *options, struct sim_report *report);
void sim_free(struct sim *s);
bool sim_goes_on(const struct sim *s);
void sim_take(struct sim *s, size_t at);  /* the event at this place of the heap; 0: the next one */
void sim_twice(struct sim *s, size_t at); /* it comes once more, right behind itself */
void sim_push(struct sim *s, int64_t at_ns, enum sim_event_kind kind, uint32_t a, uint64_t b,
              uint64_t life);
void sim_push_bytes(struct sim *s, int64_t at_ns, enum sim_event_kind kind, uint32_t a, uint64_t b,
                    uint64_t life, struct vq_span bytes);
void sim_fail(struct sim *s, const char *fmt, ...) VQ_PRINTF(2, 3);
void sim_say(const struct sim *s, const char *fmt, ...) VQ_PRINTF(2, 3);
void sim_trace(struct sim *s, uint64_t a, uint64_t b);
bool sim_chance(struct sim *s, double p);
int64_t sim_between(struct sim *s, int64_t low, int64_t high); /* inclusive */
int64_t sim_spread(struct sim *s, int64_t mean_ns);            /* mostly near, sometimes far */

/* talks.c */
void sim_talks_make(struct sim *s);
void sim_talks_free(struct sim *s);
bool sim_talks_stage(struct sim *s); /* draws whether a stage is one of dialogues */
struct vq_chain_alike *sim_talks_alike(const struct sim_stage *st); /* the caller frees it */
const char *sim_talks_answer(struct sim *s, const struct vq_hash *request, bool *ret_refusal);
void sim_talks_check(struct sim *s, uint32_t worker, const struct vq_work_call *call);
void sim_talks_check_end(struct sim *s); /* of the stage that is looked at */

/* stages.c */
void sim_stages_make(struct sim *s);
void sim_stages_free(struct sim *s);
void sim_stage_look(struct sim *s, uint32_t n); /* the store's view becomes that stage's */
void sim_take_stored(struct sim *s);
void sim_stage_enter(struct sim *s, uint32_t n); /* it is the next that a core is made for */
void sim_request_of(const struct sim *s, uint32_t stage, uint64_t task, uint32_t repeat,
                    struct vq_hash *ret_hash);

/* net.c */
void sim_send_to_worker(struct sim *s, uint64_t peer, const struct vq_msg *msg);
void sim_send_to_coord(struct sim *s, uint32_t worker, const struct vq_msg *msg);
void sim_connect(struct sim *s, uint32_t worker, int64_t at_ns, bool new_peer);
void sim_disconnect(struct sim *s, uint32_t worker);
bool sim_peer_worker(const struct sim *s, uint64_t peer, uint32_t *ret_worker);

/* pools.c */
void sim_pools_make(struct sim *s);
void sim_pools_free(struct sim *s);
uint32_t sim_pools_spec(const struct sim *s, struct vq_spec_pool *ret_pools);
void sim_authority_make(struct sim *s, bool waits);
int64_t sim_unix_s(const struct sim *s); /* the truth */
void sim_check_slices(struct sim *s);
bool sim_call_live(const struct sim *s, const struct sim_call *call); /* at its provider */
void sim_pool_asked(struct sim *s, size_t call); /* it has just come to its provider */
void sim_check_budget(struct sim *s);
void sim_budget_empty(struct sim *s);
void sim_budget_drain(struct sim *s);
void sim_advances_keep(struct sim *s,
                       bool grant); /* before a message of the coordinator goes out */

/* batches.c */
void sim_bulk_make(struct sim *s);
void sim_bulk_free(struct sim *s);
bool sim_is_batch(const struct sim *s, uint32_t pool);
void sim_bulk_steer(struct sim *s, bool over); /* over: all calls as if there were no deadline */
void sim_bulk_cancel(struct sim *s);           /* by hand, now and then */
void sim_bulk_start(struct sim *s, uint32_t worker); /* of its process */
void sim_bulk_gather(struct sim *s, uint32_t worker, const struct vq_work_call *call);
void sim_bulk_gathered(struct sim *s, uint32_t worker, size_t item);
void sim_bulk_collect(struct sim *s, uint32_t worker, const struct vq_msg_collect *collect);
void sim_bulk_take(struct sim *s, uint32_t worker); /* what its batches want done */
void sim_bulk_event(struct sim *s, uint32_t worker, uint64_t op);
void sim_bulk_create(struct sim *s, size_t op);
void sim_bulk_send(struct sim *s, const struct vq_coord_collect *about);
void sim_bulk_repeated(struct sim *s); /* of the batch in flight, before it is stored */
void sim_bulk_take_stored(struct sim *s);
void sim_bulk_check_end(struct sim *s);

/* endpoint.c */
/* A call that comes in a batch: it will be answered (and paid for), or not. */
void sim_call_batched(struct sim *s, uint32_t worker, const struct vq_work_call *call,
                      bool answered, int64_t ends_ns);
void sim_call_start(struct sim *s, uint32_t worker, const struct vq_work_call *call);
void sim_call_reply(struct sim *s, uint32_t worker, size_t call);
void sim_foreign_answer(struct sim *s);
void sim_foreign_answer_to(struct sim *s, uint64_t task);

/* worker_host.c */
void sim_worker_spawn(struct sim *s, int64_t local);
void sim_worker_kill(struct sim *s, uint32_t worker);
bool sim_may_spawn(const struct sim *s);
bool sim_spawn_waits(struct sim *s, uint32_t local); /* no local one starts in a drain: later */
int64_t sim_worker_clock(const struct sim *s, const struct sim_worker *w); /* what it shows now */
void sim_worker_step(struct sim *s, uint32_t worker, const struct vq_work_event *event);
void sim_worker_frame(struct sim *s, uint32_t worker, struct vq_span bytes);
void sim_worker_free(struct sim_worker *w);

/* coord_host.c */
void sim_coord_start(struct sim *s);
void sim_coord_kill(struct sim *s);
void sim_coord_pause(struct sim *s, int64_t until_ns);
void sim_redis_kill(struct sim *s);
void sim_redis_away(struct sim *s, int64_t for_ns); /* and keeps what it has */
void sim_coord_drain(struct sim *s);
void sim_coord_usurp(struct sim *s, int64_t until_ns); /* stopped until then; another one starts */
void sim_coord_hold(struct sim *s, bool held);         /* by hand */
void sim_coord_requeue(struct sim *s);
void sim_coord_told(struct sim *s, enum vq_status status, const char *what); /* then its turn */
void sim_check_leaves(struct sim *s, uint64_t peer, uint64_t session);
/* Results of a spool, decoded; false when there is no n-th that is not ACKed. */
bool sim_spool_result(struct sim *s, const struct sim_worker *w, size_t n,
                      struct vq_result *ret_result);
void sim_coord_event(struct sim *s, const struct sim_event *event);

/* faults.c */
void sim_fault(struct sim *s);
void sim_cut(struct sim *s, uint32_t worker);
int64_t sim_some_time(struct sim *s);
bool sim_pick(struct sim *s, uint32_t *ret_worker); /* one that lives */
void sim_block(struct sim *s, uint32_t worker);
void sim_boundary(struct sim *s); /* what may go wrong just when a stage ends or begins */
void sim_heal(struct sim *s);

/* trouble.c */
void sim_trouble_make(struct sim *s);
void sim_trouble_heal(struct sim *s);
void sim_trouble_free(struct sim *s);
bool sim_more(struct sim *s, enum sim_fault fault); /* it comes now; counts it */
void sim_trouble_crashed(struct sim *s);            /* the coordinator is killed */
void sim_trouble(struct sim *s);                    /* some of what may go wrong at any time */
void sim_trouble_blocked(struct sim *s, uint32_t worker, int64_t until_ns);
void sim_trouble_call(struct sim *s, struct sim_call *call, int64_t *latency_ns);
void sim_trouble_redis(struct sim *s); /* it was written */
void sim_trouble_start(struct sim *s); /* of the coordinator */
void sim_trouble_said(struct sim *s, uint32_t worker, const struct vq_msg *msg);
void sim_reset(struct sim *s, uint32_t worker);

/* check.c */
void sim_check_call(struct sim *s, uint32_t worker, const struct vq_work_call *call);
void sim_check_twice(struct sim *s, uint32_t worker, const struct vq_work_call *call);
void sim_check_ack(struct sim *s, const struct vq_id *call);
void sim_listed(struct sim *s, const struct vq_msg_held *held); /* the core has read it */
void sim_listed_anew(struct sim *s);                            /* another process */
void sim_check_handed_over(struct sim *s);
void sim_check_lease(struct sim *s, const struct vq_msg_lease *lease);
void sim_check_grant(struct sim *s, const struct vq_msg_grant *grant);
void sim_check_settled(struct sim *s, const struct vq_settled *settled, size_t count);
void sim_check_silence(struct sim *s);
void sim_check_lost(struct sim *s, const struct vq_msg *msg); /* on its way to a worker */
void sim_check_unknown(struct sim *s);
void sim_check_step(struct sim *s);
void sim_check_end(struct sim *s);
void sim_say_state(const struct sim *s);
void sim_say_credit(const struct sim *s, const struct vq_msg_credit *credit);
