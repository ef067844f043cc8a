/* Private to this folder: one run's parts, and the job of each file. Data flows one way: frames ->
 * core -> actions -> commit -> actions.
 *
 *   run.c       start and stop, in order; the loop's turn, and when the next one is due
 *   begin.c     the start in the call store
 *   stages.c    from stage to stage of the method
 *   dispatch.c  frames in, the core's actions out
 *   listen.c    where workers connect to (its own header)
 *   gate.c      which workers are let in, and at which address
 *   distrust.c  workers that the run distrusts (its own header: for the table of commands)
 *   cert_folder.c  certificates and the list of allowed keys (its own header: `vibeq cert` uses it)
 *   commit.c    the commit point: store, then Redis, then the core
 *   redis.c     the private server, the connection, and rebuilding what it holds
 *   children.c  local workers and the built-in server
 *   programs.c  where our programs are, starting the built-in server (its own header: `vibeq check`
 *               uses it too)
 *   history_file.c  samples over time, in the run's folder (its own header)
 *   http_server.c  the HTTP server by its options (its own header)
 *   control.c   endpoint.json, the page, status and history, /metrics, ctl, status.json
 *   incidents_file.c  incidents.json
 *   looks.c     the last answers and the dead letters, with their texts
 *   ctl.c       the commands to an active run (its own header: `vibeq ctl` uses the table too)
 *   ctl_once.c  each command in time and once (its own header)
 *   ctl_settings.c  what these commands set, as a list (its own header)
 *   ctl_settings_run.c  keeps that list in the run's folder, and applies it to a resumed run
 *   metrics_run.c  what the run keeps for /metrics, counters.json, metrics.prom (its own header)
 *   process_metrics.c  process_* from /proc (the same header)
 *   alarms.c    alarm.command and alarm.webhook (its own header)
 *   watch.c     the alarms of a run without progress and of a slow pool
 *   progress.c  the line on the terminal
 *   deadline.c  a run with a deadline: what goes into batches, and when they are cancelled
 *   deadline_state.c  what these decisions see of the run
 *   deadline_say.c  what people see of it
 *   batch_watch.c  batches that come and go, and how long they took (with deadline.h)
 *   messages.c  a line for the person, and the one fatal reason
 *   learned.c   learned.json: parameters that pools refuse
 *   limits.c    the authority over the pools: opens it, informs it, reports its incidents
 *   bills.c     what the usage of calls shows about the bill, while the run is active
 *   finish.c    accounting.json
 *   trial.c     what the start needs, tried without a run
 */
#pragma once

#include "common/net/child.h"
#include "common/net/redis.h"
#include "common/net/zsock.h"
#include "common/text/fmt.h"
#include "coordinator/pools/incidents.h"
#include "coordinator/queue/alarm.h"
#include "coordinator/queue/coord.h"
#include "coordinator/queue/failures.h"
#include "coordinator/queue/limits.h"
#include "coordinator/run/alarms.h"
#include "coordinator/run/cert_folder.h"
#include "coordinator/run/ctl_once.h"
#include "coordinator/run/ctl_settings.h"
#include "coordinator/run/deadline.h"
#include "coordinator/run/distrust.h"
#include "coordinator/run/history_file.h"
#include "coordinator/run/http_server.h"
#include "coordinator/run/machine.h"
#include "coordinator/run/metrics_run.h"
#include "coordinator/run/programs.h"
#include "coordinator/run/run.h"
#include "coordinator/store/calls/commit.h"
#include "coordinator/store/calls/distrust.h"
#include "coordinator/store/calls/lookup.h"
#include "coordinator/store/rundir/spool_import.h"
#include "coordinator/store/state/redis_server.h"
#include "coordinator/store/state/run_state.h"
#include "coordinator/web/live.h"
#include "coordinator/web/recent.h"
#include "coordinator/web/status.h"
#include "coordinator/web/troubles.h"
#include "methods/grid/answers.h"
#include "methods/grid/work.h"
#include "proto/wire.h"

#include <sys/stat.h>

#define VQ_RUN_HEARTBEAT_SHARE      6     /* heartbeats in a term */
#define VQ_RUN_GATHERING            256u  /* calls that may be added to batches at once */
#define VQ_RUN_SAME_SIGNAL_MS       500   /* timeout(1) signals group and leader: one request */
#define VQ_RUN_DRAIN_MS             30000 /* Ctrl-C: calls in flight get so long */
#define VQ_RUN_STATUS_MS            5000  /* status.json */
#define VQ_RUN_WATCH_MS             250   /* looks for progress, while anything happens ... */
#define VQ_RUN_LOOK_MS              1000  /* ... and while nothing does; so with the wall clock */
#define VQ_RUN_DOOR_REPORT_MS       60000 /* between two log lines about refused peers */
#define VQ_RUN_LOCAL_ORPHAN_S       60
#define VQ_RUN_WORKER_RESTARTS_MAX  10 /* of one local worker, without a result in between */
#define VQ_RUN_REDIS_WAIT_MS        135000
#define VQ_RUN_SHARED_REDIS_WAIT_MS 15000 /* the run does not start a shared server itself */
/* All is answered, but workers elsewhere may hold answers that came late: for one that went silent
 * the end waits so long once, and a resume is up for so long at least. */
#define VQ_RUN_MISSED_MS  2000
#define VQ_RUN_COLLECT_MS 4000
#define VQ_RUN_STORED_MS                                                                           \
    10000 /* for what a resumed run has in the store, before its workers are heard */
#define VQ_RUN_GOODBYE_MS       10000 /* for workers to leave at the end */
#define VQ_RUN_LINGER_MS        1000  /* from then on, for workers elsewhere to hear it */
#define VQ_RUN_LINGER_LEAST_MS  200
#define VQ_RUN_LOOKUPS_PER_TURN 64
#define VQ_STAGES_MAX           4096 /* of a run */
#define VQ_RUN_WHEN_BYTES       32

struct vq_run;
struct vq_pool_locks;
struct vq_call_row;

/* The loop has no fixed tick. After each turn it sleeps until something happens, or until the
 * earliest of what the parts ask for: `X_turn` is called in every turn and does what an event has
 * made possible; `X_tick` is called when the wake timer fires, and each part then does what is due;
 * `X_wake_ns` is when the part needs the next tick at the latest, INT64_MAX if only an event can
 * change anything. A tick may come earlier. */

/* commit.c */
#define VQ_ODD_REPORTED_MAX 64u
struct vq_committer {
    bool busy;
    const struct vq_batch *from; /* the core's, until vq_coord_committed */
    struct vq_commit commit;
    bool stored; /* the store has it; Redis may not */
    enum vq_status status;
    struct vq_error err;
    struct vq_settled *merged; /* commit.standing, and what look-ups found */
    size_t merged_count;
    bool lock_warned;
    /* reported: pools and kinds of answers that are no votes */
    struct vq_hash odd[VQ_ODD_REPORTED_MAX];
    uint32_t odd_count;
};

/* redis.c */
enum vq_redis_phase {
    VQ_PHASE_DOWN,    /* no connection */
    VQ_PHASE_SYNCING, /* comparing, wiping, filling */
    VQ_PHASE_UP,      /* what Redis holds is what the store says */
};

struct vq_run_redis {
    struct vq_redis_server *server; /* NULL: a shared one */
    struct vq_redis_address address;
    struct vq_redis *client;
    struct vq_run_state *state;
    enum vq_redis_phase phase;
    uint64_t n;      /* commits that the store holds */
    bool first_done; /* compared with the store at least once in this process */
    bool was_level;  /* with the store, in this stage */
    bool reported;   /* that it is away */
    bool checking;   /* whether the run is still ours */
    int64_t checked_ns;
    uint64_t fill_at; /* next task of a rebuild */
    int64_t down_since_ns;
    uint64_t restarts;
    char why[256];
};

/* children.c */
struct vq_local_worker {
    struct vq_run *run;
    uint32_t k;
    struct vq_child *child;
    struct vq_timer *restart;
    struct vq_deferred reap;
    struct vq_spool_import *import; /* of the process that ended */
    size_t imported;                /* results of it that the core has taken */
    bool importing;
    uint32_t restarts;        /* in a row, without a result */
    struct vq_child_exit how; /* it ended last */
    bool spool_damaged;
    bool given_up; /* not started again */
    bool leaves;   /* a person sent it away */
};

/* stages.c */
enum vq_column {
    VQ_COLUMN_UNREAD,
    VQ_COLUMN_READING,
    VQ_COLUMN_READ,
};

struct vq_past_stage { /* what accounting needs of a stage that is over */
    struct vq_stage_grid *asking;
    uint8_t *outcomes;
    uint32_t *dead; /* failed tasks [judge][class]; NULL: none (looks.c) */
};

/* The walk through the method's stages. */
struct vq_run_stages {
    struct vq_script script;
    struct vq_stage_grid *asking; /* the present stage */
    struct vq_past_stage *past;
    uint32_t past_count;
    size_t past_cap;
    struct vq_answered answered;    /* the past stages, to read */
    struct vq_stage_reader answers; /* open while actions may send texts made of stored answers */
    struct vq_status_totals before; /* of the stages that are over */
    uint64_t firsts,
        settling;        /* answered first orders of stages that are over; those that settle */
    uint32_t notes_said; /* of the method */
    struct vq_expected_stage *expected; /* what may follow, in order, from the start */
    uint32_t expected_count;
    bool is_over; /* the core has finished its stage */
    enum vq_column column;
    uint8_t *outcomes;  /* of the stage that is over, as Redis gave them */
    bool recalled;      /* a core has got the calls of earlier processes */
    bool batches_taken; /* likewise what waits in batches */
};

/* distrust.c */
/* Reads who is distrusted, before the store is opened. */
enum vq_status vq_distrust_open(struct vq_run *run, struct vq_error *err) VQ_WARN_UNUSED;
void vq_distrust_close(struct vq_run *run);
/* In the thread pool, before the epoch is raised: throws away what is still there of them. */
enum vq_status vq_distrust_apply(struct vq_run *run, struct vq_distrust *ret_found,
                                 struct vq_error *err) VQ_WARN_UNUSED;
bool vq_distrust_refuses(const struct vq_run *run, struct vq_span name);
/* The run ends in order to start again, once nothing is out. */
void vq_distrust_turn(struct vq_run *run);
int64_t vq_distrust_wake_ns(const struct vq_run *run);

/* dispatch.c */
struct vq_door { /* what was logged of one of the router's counts */
    uint64_t reported;
    int64_t reported_ns;
};

/* The connections to the workers, and the look-ups that the core waits for. */
struct vq_run_links {
    struct vq_router *router;
    struct vq_door refused, dropped;
    struct vq_decoder *decoder;
    struct vq_buf frame;
    struct vq_buf spec_body;
    struct vq_hash spec_hash;
    char endpoint[VQ_ZSOCK_ENDPOINT_BYTES_MAX];
    char local_path[VQ_RUN_PATH_BYTES_MAX]; /* the certificate of local workers */
    uint64_t lookups[VQ_COORD_LOOKUPS_MAX]; /* shards without an answer yet, a ring */
    uint32_t lookups_head, lookups_count;
    struct vq_known *known;
    struct vq_buf priors;
    bool leased; /* a LEASE went out */
};

/* gate.c: who is let in. */
#define VQ_GATE_PEERS_MAX (2 * VQ_COORD_SESSIONS_MAX)
struct vq_gate_peer { /* of a session, until that is closed; the oldest first */
    uint64_t peer;
    char key[VQ_CURVE_KEY_CHARS + 1];
};

#define VQ_GATE_REVOKED        "the key of this worker was revoked"
#define VQ_GATE_NAME_BYTES_MAX 512

struct vq_run_gate {
    struct vq_allowed_list allowed;
    char local_key[VQ_CURVE_KEY_CHARS + 1]; /* of the local workers */
    struct stat seen;                       /* the file of the list, when it was read */
    struct vq_timer *timer;
    struct vq_gate_peer *peers;
    size_t peers_count, peers_cap;
};

/* children.c: the built-in server, the local workers, and the spools that were left. */
struct vq_run_children {
    struct vq_child *offline;
    int offline_log_fd;
    char offline_url[VQ_PROGRAM_URL_BYTES_MAX];
    bool offline_died;
    struct vq_local_worker *workers;
    uint32_t workers_count;
    char worker_path[VQ_RUN_PATH_BYTES_MAX];
    int workers_log_fd;
    struct vq_spool_import *import; /* of a spool found at the start or the end */
    size_t imported;
    uint32_t import_k;
    int64_t strays_ns; /* when to look again */
    bool strays_read;  /* all that was there at the start is in the store */
};

/* limits.c, advances.c, learned.c, bills.c: the authority over the pools, and what was reported
 * about them. */
struct vq_run_limits {
    struct vq_authority *authority; /* over all stages */
    struct vq_incidents *incidents;
    struct vq_pool_bill *bills; /* by pool; NULL until the first call */
    struct vq_pool_locks *locks;
    bool sent_held, sent_unread; /* the authority's present holds */
    int64_t clock_ns;            /* when the authority got the time of day */
    int64_t seen_ns;             /* when pools were looked at for incidents */
    int64_t advances_ns;         /* when the list of advances was written */
    bool unserved_reported[VQ_POOLS_MAX];
    uint32_t params_known[VQ_POOLS_MAX]; /* that a pool refuses: in learned.json, and reported */
};

/* control.c, looks.c, ctl.c, ctl_settings_run.c: what people read and command. */
struct vq_run_control {
    struct vq_http_server http;
    struct vq_history_file history;
    int64_t sampled_ns; /* when the last sample was taken */
    struct vq_ctl_once ctl_once;
    struct vq_ctl_settings settings;
    struct vq_live *live;
    struct vq_recent *recent;
    struct vq_troubles *troubles;
    struct vq_buf incidents; /* incidents.json as it was read or written last */
    char note[1024];         /* what the status says of the run */
    char uid_hex[VQ_HEX_BYTES(VQ_ID_BYTES)];
    bool idle[VQ_POOLS_MAX]; /* pools that the status leaves out */
    bool held;               /* paused by hand */
    int64_t held_since_unix_ms;
};

/* watch.c: the alarms. */
struct vq_run_watch {
    struct vq_alarm alarm;
    struct vq_slow slow[VQ_POOLS_MAX];
    struct vq_failures failures; /* of this process's calls */
    int64_t braked_unix_ms;      /* when the brake of a judge was seen first; 0: none */
    char brake_text[VQ_COORD_TEXT_BYTES_MAX];
    int64_t looked_ns; /* when the alarm was looked at last */
};

/* progress.c, messages.c: the terminal. */
struct vq_run_screen {
    struct vq_terminal terminal;
    bool was_tty; /* standard error or standard output was a terminal at the start */
    bool gone;
    bool line_open; /* the cursor is behind a progress line */
};

/* run.c */
struct vq_run_timers {
    struct vq_timer *wake, *status_timer, *progress_timer;
    int64_t wake_ns; /* the time that the wake timer is set to */
    struct vq_signal *sigint, *sigterm, *sighup, *sigusr1;
};

struct vq_run_stop {
    bool finished; /* the last stage is over */
    bool stopped, draining, done;
    bool clean;
    uint32_t interrupts;
    int signum; /* the last interrupt, and when */
    int64_t signal_ns;
    int64_t until_ns; /* draining: then it stops */
    enum vq_coord_stop kind;
    char text[VQ_ERROR_BYTES_MAX];
};

/* distrust.c */
struct vq_run_distrust {
    struct vq_buf names;    /* of workers, a line each, as in the file */
    bool again;             /* the run starts again in this process */
    bool is_clean, is_over; /* again: nothing was out; the loop has ended for it */
    int64_t until_ns;       /* again: at the latest */
};

/* One run. A part belongs to the file that its comment names; a function that needs one part alone
 * takes that part. */
struct vq_run {
    const struct vq_run_options *options;
    const struct vq_run_work *work;
    struct vq_grid_source source; /* the work's, with the generation of this start */
    struct vq_run_dir *dir;
    int log_fd;
    struct vq_calls *calls;
    struct vq_run_begun begun;
    struct vq_owner owner;
    struct vq_loop *loop;
    struct vq_coord *coord; /* of the present stage */
    struct vq_status_seen seen;
    struct vq_run_stages stages;
    struct vq_run_links links;
    struct vq_run_gate gate;
    struct vq_run_distrust distrust;
    struct vq_committer commit;
    struct vq_run_redis redis;
    struct vq_run_children children;
    struct vq_run_limits limits;
    struct vq_run_control control;
    struct vq_run_deadline deadline;
    struct vq_run_watch watch;
    struct vq_run_metrics metrics;
    struct vq_run_alarms alarms;
    struct vq_run_screen screen;
    struct vq_run_timers timers;
    struct vq_run_stop stop;
    int64_t started_ns;
    int64_t hears_ns; /* workers are heard from here on: there is a core, and Redis was up */
    int64_t goodbye_ns;
    int64_t started_unix_ms;
    enum vq_status fatal; /* not OK: the process cannot go on */
    struct vq_error err;
};

/* messages.c */
int64_t vq_run_now(void);
void vq_run_fatal(struct vq_run *run, enum vq_status status, const char *fmt, ...) VQ_PRINTF(3, 4);
void vq_run_message(struct vq_run *run, const char *fmt, ...)
    VQ_PRINTF(2, 3); /* a line for the person */
/* For GET /api/v1/incidents: one that goes on until its end, or a moment. advice: what to do. */
void vq_run_trouble(struct vq_run *run, enum vq_trouble_kind kind, const char *subject,
                    const char *advice, const char *fmt, ...) VQ_PRINTF(5, 6);
void vq_run_trouble_over(struct vq_run *run, enum vq_trouble_kind kind, const char *subject);
void vq_run_moment(struct vq_run *run, enum vq_trouble_kind kind, const char *subject,
                   const char *advice, const char *fmt, ...) VQ_PRINTF(5, 6);

/* begin.c */
enum vq_status vq_run_begin_store(struct vq_run *run, struct vq_error *err) VQ_WARN_UNUSED;

/* gate.c */
typedef void (*vq_gate_frame_fn)(void *ctx, uint64_t peer, struct vq_span frame);
/* The socket, at its address; local.cert and join.cert of the run are written. */
enum vq_status vq_gate_open(struct vq_run *run, vq_gate_frame_fn on_frame,
                            struct vq_error *err) VQ_WARN_UNUSED;
void vq_gate_close(struct vq_run_gate *gate); /* before the loop is destroyed */
/* Inside of on_frame. False: the key of its sender is not allowed any more. */
bool vq_gate_lets_in(struct vq_run *run, uint64_t peer, bool is_hello);
/* Inside of on_frame: the name of a worker, with that of its certificate before its own; it may
 * point into `text`. */
struct vq_span vq_gate_name(const struct vq_run *run, struct vq_span name,
                            char text[VQ_GATE_NAME_BYTES_MAX]);
bool vq_gate_is_local(
    const struct vq_run *run); /* likewise: whether its sender is a local worker */
void vq_gate_forget(struct vq_run_gate *gate, uint64_t peer); /* its session is closed */

/* dispatch.c */
enum vq_status vq_dispatch_open(struct vq_run *run, struct vq_error *err) VQ_WARN_UNUSED;
void vq_dispatch_close(struct vq_run_links *links);
/* Logs which peers were refused and how many frames were dropped. */
void vq_dispatch_watch(struct vq_run *run);
void vq_dispatch_pump(struct vq_run *run); /* carries out the core's actions until there are none */

/* commit.c */
void vq_committer_start(struct vq_run *run, const struct vq_batch *batch);
void vq_committer_redis_ready(
    struct vq_run *run); /* Redis is level with the store: apply what waits */
void vq_committer_watch(struct vq_run *run);
int64_t vq_committer_wake_ns(const struct vq_committer *c);
/* Asked to stop while a commit waits for Redis: the core stops without it; what is not in the store
 * is in a spool. Does nothing while the store is being written. */
void vq_committer_give_up(struct vq_run *run, const char *why);
bool vq_committer_is_dead(
    const struct vq_committer *commit); /* one failed: nothing is committed any more */
void vq_committer_free(struct vq_committer *commit);

/* redis.c */
enum vq_status vq_run_redis_open(struct vq_run *run, struct vq_error *err) VQ_WARN_UNUSED;
/* The columns of run->asking take the place of the last stage's. */
enum vq_status vq_run_redis_stage(struct vq_run *run, struct vq_error *err) VQ_WARN_UNUSED;
void vq_run_redis_close(struct vq_run_redis *r);
void vq_run_redis_tick(struct vq_run *run);
int64_t vq_run_redis_wake_ns(const struct vq_run *run);
void vq_run_redis_lost(struct vq_run *run, enum vq_status status, const char *text);
/* Whether `why`, of on_down, says that the server is there and does not let us in. */
bool vq_run_redis_denies(const char *why);
/* Messages of a start that fails because of Redis, here and in trial.c: the password is refused,
 * the private server does not start, nothing answers after waiting (`waited` is what the loop
 * returned). */
enum vq_status vq_run_redis_denied(const char *why, struct vq_error *err);
enum vq_status vq_run_redis_failed(const char *why, struct vq_error *err);
enum vq_status vq_run_redis_silent(bool shared, enum vq_status waited, const char *why,
                                   struct vq_error *err);

/* stages.c */
enum vq_status vq_stages_open(struct vq_run *run, struct vq_error *err) VQ_WARN_UNUSED;
enum vq_status vq_stages_open_core(struct vq_run *run, struct vq_error *err) VQ_WARN_UNUSED;
void vq_stages_turn(struct vq_run *run); /* the next stage, when this one is over */
void vq_stages_stop(struct vq_run *run); /* run->stage_over: there is nothing to drain */
void vq_stages_close(struct vq_run_stages *stages);

/* Of the expected stages, the number of those that have begun; all of them if that is unknown. */
uint32_t vq_stages_next_expected(const struct vq_run *run);

/* second_orders.c */
/* A stage is over: how often a first order settled the score. */
void vq_second_orders_learn(struct vq_run_stages *stages, const struct vq_stage_grid *asking,
                            const uint8_t *outcomes);
/* Whether second orders of the present stage wait for a batch of their own. */
bool vq_run_seconds_wait(const struct vq_run *run, uint32_t judge);

/* deadline.c */
enum vq_status vq_deadline_open(struct vq_run *run, struct vq_error *err) VQ_WARN_UNUSED;
void vq_deadline_close(struct vq_run_deadline *deadline);
void vq_deadline_turn(struct vq_run *run);
int64_t vq_deadline_wake_ns(const struct vq_run *run);

/* deadline_state.c */
struct vq_deadline_view { /* of a group, and the memory of its lists */
    struct vq_deadline_state state;
    struct vq_deadline_batch *batches;
    size_t *of; /* of each of these: its place in the run's list */
    uint64_t later[VQ_DEADLINE_STAGES_MAX];
    uint64_t blocked; /* second orders that wait for first ones in batches: among `later` */
    double *durations;
};
/* VQ_NOMEM; the view is freed in any case. */
enum vq_status vq_deadline_fill(struct vq_run *run, uint32_t group,
                                struct vq_deadline_view *view) VQ_WARN_UNUSED;
void vq_deadline_view_free(struct vq_deadline_view *view);
bool vq_deadline_serves(const struct vq_role_models *cast, uint32_t judge, uint32_t pool);
bool vq_deadline_in_group(const struct vq_run *run, uint32_t group, uint32_t pool);
bool vq_deadline_is_batch(const struct vq_run *run, uint32_t pool);

/* deadline_say.c */
void vq_deadline_say(struct vq_run *run); /* after a round */
/* "07:00", local time; with its date if that is another day. */
void vq_deadline_when(int64_t unix_s, char ret_text[VQ_RUN_WHEN_BYTES]);

/* batch_watch.c */
void vq_batch_watch_look(struct vq_run *run);

/* children.c */
enum vq_status vq_children_open(struct vq_run *run,
                                struct vq_error *err) VQ_WARN_UNUSED; /* paths, logs */
enum vq_status vq_children_offline(struct vq_run *run, struct vq_error *err) VQ_WARN_UNUSED;
enum vq_status vq_children_workers(struct vq_run *run, struct vq_error *err) VQ_WARN_UNUSED;
void vq_children_turn(struct vq_run *run); /* continues the imports of spools */
void vq_children_tick(struct vq_run *run);
int64_t vq_children_wake_ns(const struct vq_run *run);
bool vq_children_quiet(const struct vq_run_children *children); /* no spool is being read */
bool vq_children_gone(struct vq_run *run); /* every local worker has ended and its spool is in */
void vq_children_strays_again(
    struct vq_run_children *children); /* looks once more for spools without a worker */
void vq_children_stop(struct vq_run_children *children, int signum);
void vq_children_close(struct vq_run *run);

/* control.c */
enum vq_status vq_control_open(struct vq_run *run, struct vq_error *err) VQ_WARN_UNUSED;
void vq_control_close(struct vq_run *run);
void vq_control_write_status(struct vq_run *run);

/* incidents_file.c */
void vq_incidents_load(struct vq_run *run);  /* of the processes before; into control.troubles */
void vq_incidents_write(struct vq_run *run); /* if they have changed */

/* looks.c */
enum vq_status vq_looks_open(struct vq_run *run, struct vq_error *err) VQ_WARN_UNUSED;
/* Calls that are durable now: now and then one is kept, and those that made a task fail. */
void vq_looks_see(struct vq_run *run, const struct vq_result *results, size_t count);
/* A call of an earlier process: one that made a task fail is kept as well. */
void vq_looks_recall(struct vq_run *run, const struct vq_call_row *row);
/* The failed tasks of a stage that is over [judge][class]; the caller frees it. NULL: none. */
uint32_t *vq_looks_count_dead(const struct vq_stage_grid *asking, const uint8_t *outcomes);
void vq_looks_on_sample(void *ctx, const struct vq_httpd_request *request,
                        struct vq_httpd_response *response);
void vq_looks_on_dead(void *ctx, const struct vq_httpd_request *request,
                      struct vq_httpd_response *response);

/* ctl_settings_run.c */
/* A command was carried out: it is in the run's folder before its reply. What cannot be kept is
 * added to the reply. */
void vq_ctl_settings_keep(struct vq_run *run, const struct vq_ctl_asked *asked,
                          struct vq_buf *said);
void vq_ctl_settings_apply(struct vq_run *run); /* to a resumed run that has its core */

/* watch.c */
void vq_watch_open(struct vq_run *run);
void vq_watch_tick(struct vq_run *run);
int64_t vq_watch_wake_ns(const struct vq_run *run);

/* Calls that are durable now. */
void vq_bills_see(struct vq_run *run, const struct vq_result *results, size_t count);
void vq_bills_free(struct vq_run_limits *limits);
void vq_watch_brake(struct vq_run *run); /* notes the first judge whose brake is pulled */
int64_t vq_watch_since_unix_ms(const struct vq_run_watch *watch); /* 0: no alarm */
/* "2026-11-22 04:55:01", local time. */
void vq_watch_when(int64_t unix_ms, char ret_text[VQ_RUN_WHEN_BYTES]);

/* progress.c */
void vq_progress_line(struct vq_run *run);
void vq_progress_clear(struct vq_run_screen *screen);
void vq_progress_gone(struct vq_run_screen *screen); /* the terminal was closed: logged once */
void vq_progress_look(struct vq_run_screen *screen); /* whether it was, without a signal */

/* limits.c */
/* wait_ns: for so long workers of an earlier process may go by what they were granted. */
enum vq_status vq_limits_open(struct vq_run *run, int64_t wait_ns,
                              struct vq_error *err) VQ_WARN_UNUSED;
void vq_limits_turn(struct vq_run *run); /* holds, and keys that workers reported */
void vq_limits_tick(struct vq_run *run);
int64_t vq_limits_wake_ns(const struct vq_run *run);
/* Says what befell the pools since it looked last; so does a tick. */
void vq_limits_see(struct vq_run *run);
bool vq_limits_idle(const struct vq_run *run, uint32_t pool); /* no judge needs it */
/* Writes which pools are parked, closed, held or another run's; true: all are. */
bool vq_limits_stopped(struct vq_run *run, struct vq_buf *out);
void vq_limits_release(
    struct vq_run *run); /* nothing of this run is out: others may have its pools */
void vq_limits_close(struct vq_run_limits *limits);

/* learned.c */
void vq_learned_open(
    struct vq_run *run); /* what an earlier process learned; there is an authority */
void vq_learned_tick(struct vq_run *run); /* says and writes what is new */

/* advances.c */
/* Before a GRANT goes out. false: it must not; the run has failed. */
bool vq_advances_cover(struct vq_run *run);
void vq_advances_tick(struct vq_run *run);
int64_t vq_advances_wake_ns(const struct vq_run_limits *limits);
void vq_advances_end(struct vq_run *run);
void vq_advances_say(struct vq_run *run); /* to the person: what is missed from the time before */

/* finish.c */
enum vq_status vq_finish_accounting(struct vq_run *run, struct vq_error *err) VQ_WARN_UNUSED;
