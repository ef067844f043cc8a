/* Private to this folder: the parts of a run, and the job of each file. Data flows one way: frames
 * -> core -> actions -> commit -> actions.
 *
 *   run.c       start and stop, in order; the loop's turn, and the time of the next one
 *   begin.c     the start in the call store
 *   stages.c    from stage to stage of the method
 *   dispatch.c  frames in, the core's actions out
 *   listen.c    the addresses for workers (its own header)
 *   gate.c      which workers are let in, and at which address
 *   distrust.c  workers that the run distrusts (its own header: for the table of commands)
 *   cert_folder.c  certificates and the list of allowed keys (its own header: `vibeq cert` uses it)
 *   commit.c    the commit point: store, then Redis, then the core
 *   redis.c     the private server, the connection, and rebuilding its contents
 *   children.c  local workers and the built-in server
 *   programs.c  paths of our programs, start of the built-in server (its own header: `vibeq check`
 *               uses it too)
 *   history_file.c  samples over time, in the run's folder (its own header)
 *   http_server.c  the HTTP server by its options (its own header)
 *   control.c   endpoint.json, the page, status and history, /metrics, ctl, status.json
 *   incidents_file.c  incidents.json
 *   looks.c     the last answers and the dead letters, with their texts
 *   ctl.c       the commands to an active run (its own header: `vibeq ctl` uses the table too)
 *   ctl_once.c  each command in time and once (its own header)
 *   ctl_settings.c  the settings of these commands, as a list (its own header)
 *   ctl_settings_run.c  stores that list in the run's folder, and applies it to a resumed run
 *   metrics_run.c  the run's data for /metrics, counters.json, metrics.prom (its own header)
 *   process_metrics.c  process_* from /proc (the same header)
 *   alarms.c    alarm.command and alarm.webhook (its own header)
 *   watch.c     the alarms of a run without progress and of a slow pool
 *   progress.c  the line on the terminal
 *   deadline.c  a run with a deadline: which calls go into batches, and when these are cancelled
 *   deadline_state.c  the input of these decisions
 *   deadline_say.c  the messages about them
 *   batch_watch.c  batches that come and go, and their durations (with deadline.h)
 *   messages.c  a line for the person, and the one fatal reason
 *   learned.c   learned.json: parameters that pools refuse
 *   limits.c    the authority over the pools: opens it, informs it, reports its incidents
 *   bills.c     notices about usage and the bill, while the run is active
 *   finish.c    accounting.json
 *   trial.c     the start's needs, tried without a run */
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

#define VQ_RUN_HEARTBEAT_SHARE 6    /* heartbeats in a term */
#define VQ_RUN_GATHERING       256u /* calls that may be added to batches at once */
/* timeout(1) signals group and leader: this counts as one request */
#define VQ_RUN_SAME_SIGNAL_MS       500
#define VQ_RUN_DRAIN_MS             30000 /* Ctrl-C: the time that calls in flight get */
#define VQ_RUN_STATUS_MS            5000  /* status.json */
#define VQ_RUN_WATCH_MS             250   /* checks for progress, while events happen ... */
#define VQ_RUN_LOOK_MS              1000  /* ... and while none do; also checks of the wall clock */
#define VQ_RUN_DOOR_REPORT_MS       60000 /* between two log lines about refused peers */
#define VQ_RUN_LOCAL_ORPHAN_S       60
#define VQ_RUN_WORKER_RESTARTS_MAX  10 /* of one local worker, without a result in between */
#define VQ_RUN_REDIS_WAIT_MS        135000
#define VQ_RUN_SHARED_REDIS_WAIT_MS 15000 /* the run does not start a shared server itself */
/* All tasks are answered, but workers on other machines may hold late answers: the end waits once
 * for this time for a lost worker, and a resume stays up at least for this time. */
#define VQ_RUN_MISSED_MS  2000
#define VQ_RUN_COLLECT_MS 4000
#define VQ_RUN_STORED_MS                                                                           \
    10000 /* for reading a resumed run's stored answers, before its workers can connect */
#define VQ_RUN_GOODBYE_MS       10000 /* for workers to leave at the end */
#define VQ_RUN_LINGER_MS        1000  /* after the end, for workers on other machines to get BYE */
#define VQ_RUN_LINGER_LEAST_MS  200
#define VQ_RUN_LOOKUPS_PER_TURN 64
#define VQ_STAGES_MAX           4096 /* in a run */
#define VQ_RUN_WHEN_BYTES       32

struct vq_run;
struct vq_pool_locks;
struct vq_call_row;

/* The loop has no fixed tick. After each turn it sleeps until an event happens, or until the
 * earliest time that a part asks for. `X_turn` is called in every turn and does what an event made
 * possible. `X_tick` is called when the wake timer fires, and does the work that is due; it may
 * come early. `X_wake_ns` is the latest time of the part's next tick; INT64_MAX if only an event
 * can change anything. */

/* commit.c */
#define VQ_ODD_REPORTED_MAX 64u
struct vq_committer {
    bool busy;
    const struct vq_batch *from; /* owned by the core, until vq_coord_committed */
    struct vq_commit commit;
    bool stored; /* it is in the store, but maybe not in Redis */
    enum vq_status status;
    struct vq_error err;
    struct vq_settled *merged; /* commit.standing, and the tasks that look-ups settled */
    size_t merged_count;
    bool lock_warned;
    /* already reported: pools and kinds of answers that are no votes */
    struct vq_hash odd[VQ_ODD_REPORTED_MAX];
    uint32_t odd_count;
};

/* redis.c */
enum vq_redis_phase {
    VQ_PHASE_DOWN,    /* no connection */
    VQ_PHASE_SYNCING, /* comparing, wiping, filling */
    VQ_PHASE_UP,      /* Redis agrees with the store */
};

struct vq_run_redis {
    struct vq_redis_server *server; /* NULL: a shared one */
    struct vq_redis_address address;
    struct vq_redis *client;
    struct vq_run_state *state;
    enum vq_redis_phase phase;
    uint64_t n;      /* number of commits in the store */
    bool first_done; /* compared with the store at least once in this process */
    bool was_level;  /* it agreed with the store in this stage */
    bool reported;   /* that it is unreachable */
    bool checking;   /* whether the run is still ours: a check is in progress */
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
    size_t imported;                /* its results that the core has taken */
    bool importing;
    uint32_t restarts;        /* in a row, without a result */
    struct vq_child_exit how; /* of its last end */
    bool spool_damaged;
    bool given_up; /* not started again */
    bool leaves;   /* a person ordered it to leave */
};

/* stages.c */
enum vq_column {
    VQ_COLUMN_UNREAD,
    VQ_COLUMN_READING,
    VQ_COLUMN_READ,
};

struct vq_past_stage { /* a stage that is over, for accounting */
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
    struct vq_answered answered; /* access to the answers of past stages */
    /* open while actions may send texts that contain stored answers */
    struct vq_stage_reader answers;
    struct vq_status_totals before; /* of earlier stages */
    uint64_t firsts,
        settling; /* answered first orders of earlier stages; the number of those that settle */
    uint32_t notes_said;                /* notes of the method that were printed */
    struct vq_expected_stage *expected; /* expected stages, in order, from the start */
    uint32_t expected_count;
    bool is_over; /* the core has finished its stage */
    enum vq_column column;
    uint8_t *outcomes;  /* of the finished stage, as read from Redis */
    bool recalled;      /* a core got the calls of earlier processes */
    bool batches_taken; /* likewise the calls that wait in batches */
};

/* distrust.c */
/* Reads the list of distrusted workers, before the store is opened. */
enum vq_status vq_distrust_open(struct vq_run *run, struct vq_error *err) VQ_WARN_UNUSED;
void vq_distrust_close(struct vq_run *run);
/* In the thread pool, before the epoch is raised: throws away the rest of their answers. */
enum vq_status vq_distrust_apply(struct vq_run *run, struct vq_distrust *ret_found,
                                 struct vq_error *err) VQ_WARN_UNUSED;
bool vq_distrust_refuses(const struct vq_run *run, struct vq_span name);
/* Ends the run in order to start it again, once no call is out. */
void vq_distrust_turn(struct vq_run *run);
int64_t vq_distrust_wake_ns(const struct vq_run *run);

/* dispatch.c */
struct vq_door { /* the last log line about one of the router's counts */
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
    bool leased; /* a LEASE was sent */
};

/* gate.c: access of workers. */
#define VQ_GATE_PEERS_MAX (2 * VQ_COORD_SESSIONS_MAX)
struct vq_gate_peer { /* the peer of a session that is not closed; oldest first */
    uint64_t peer;
    char key[VQ_CURVE_KEY_CHARS + 1];
};

#define VQ_GATE_REVOKED        "the key of this worker was revoked"
#define VQ_GATE_NAME_BYTES_MAX 512

struct vq_run_gate {
    struct vq_allowed_list allowed;
    char local_key[VQ_CURVE_KEY_CHARS + 1]; /* key of the local workers */
    struct stat seen;                       /* the list's file, when it was read */
    struct vq_timer *timer;
    struct vq_gate_peer *peers;
    size_t peers_count, peers_cap;
};

/* children.c: the built-in server, the local workers, and spools without a worker. */
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
    int64_t strays_ns; /* time of the next search */
    bool strays_read;  /* all spools that existed at the start are in the store */
};

/* limits.c, advances.c, learned.c, bills.c: the authority over the pools, and reports about
 * them. */
struct vq_run_limits {
    struct vq_authority *authority; /* over all stages */
    struct vq_incidents *incidents;
    struct vq_pool_bill *bills; /* by pool; NULL until the first call */
    struct vq_pool_locks *locks;
    bool sent_held, sent_unread; /* the authority's present holds */
    int64_t clock_ns;            /* when the authority got the time of day */
    int64_t seen_ns;             /* time of the last check for incidents */
    int64_t advances_ns;         /* time when the list of advances was written */
    bool unserved_reported[VQ_POOLS_MAX];
    /* parameters that a pool refuses: in learned.json, and reported */
    uint32_t params_known[VQ_POOLS_MAX];
};

/* control.c, looks.c, ctl.c, ctl_settings_run.c: status for people, and their commands. */
struct vq_run_control {
    struct vq_http_server http;
    struct vq_history_file history;
    int64_t sampled_ns; /* time of the last sample */
    struct vq_ctl_once ctl_once;
    struct vq_ctl_settings settings;
    struct vq_live *live;
    struct vq_recent *recent;
    struct vq_troubles *troubles;
    struct vq_buf incidents; /* incidents.json as last read or written */
    char note[1024];         /* the status' note about the run */
    char uid_hex[VQ_HEX_BYTES(VQ_ID_BYTES)];
    bool idle[VQ_POOLS_MAX]; /* pools that the status leaves out */
    bool held;               /* paused by command */
    int64_t held_since_unix_ms;
};

/* watch.c: the alarms. */
struct vq_run_watch {
    struct vq_alarm alarm;
    struct vq_slow slow[VQ_POOLS_MAX];
    struct vq_failures failures; /* of this process's calls */
    int64_t braked_unix_ms;      /* when a judge's brake was first seen as pulled; 0: none */
    char brake_text[VQ_COORD_TEXT_BYTES_MAX];
    int64_t looked_ns; /* time of the last check for alarms */
};

/* progress.c, messages.c: the terminal. */
struct vq_run_screen {
    struct vq_terminal terminal;
    bool was_tty; /* standard error or standard output was a terminal at the start */
    bool gone;
    bool line_open; /* the cursor is after a progress line */
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
    int signum; /* the last interrupt, and its time */
    int64_t signal_ns;
    int64_t until_ns; /* draining: the run stops at this time */
    enum vq_coord_stop kind;
    char text[VQ_ERROR_BYTES_MAX];
};

/* distrust.c */
struct vq_run_distrust {
    struct vq_buf names;    /* names of workers, one per line, as in the file */
    bool again;             /* the run starts again in this process */
    bool is_clean, is_over; /* again: no call was out; the loop has ended for the restart */
    int64_t until_ns;       /* again: the latest time */
};

/* One run. Each part belongs to the file in its comment. A function that needs one part takes only
 * it. */
struct vq_run {
    const struct vq_run_options *options;
    const struct vq_run_work *work;
    struct vq_grid_source source; /* the work's source, with the generation of this start */
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
    int64_t hears_ns; /* workers can connect since then: there is a core, and Redis was up */
    int64_t goodbye_ns;
    int64_t started_unix_ms;
    enum vq_status fatal; /* not OK: the process cannot continue */
    struct vq_error err;
};

/* messages.c */
int64_t vq_run_now(void);
void vq_run_fatal(struct vq_run *run, enum vq_status status, const char *fmt, ...) VQ_PRINTF(3, 4);
/* fatal unless status is VQ_OK */
void vq_run_check_core(struct vq_run *run, enum vq_status status);
/* a line for the person */
void vq_run_message(struct vq_run *run, const char *fmt, ...) VQ_PRINTF(2, 3);
/* For GET /api/v1/incidents: an incident with an end, or a moment. advice: what to do. */
void vq_run_trouble(struct vq_run *run, enum vq_trouble_kind kind, const char *subject,
                    const char *advice, const char *fmt, ...) VQ_PRINTF(5, 6);
void vq_run_trouble_over(struct vq_run *run, enum vq_trouble_kind kind, const char *subject);
void vq_run_moment(struct vq_run *run, enum vq_trouble_kind kind, const char *subject,
                   const char *advice, const char *fmt, ...) VQ_PRINTF(5, 6);

/* begin.c */
enum vq_status vq_run_begin_store(struct vq_run *run, struct vq_error *err) VQ_WARN_UNUSED;

/* gate.c */
typedef void (*vq_gate_frame_fn)(void *ctx, uint64_t peer, struct vq_span frame);
/* Opens the socket at its address, and writes local.cert and join.cert of the run. */
enum vq_status vq_gate_open(struct vq_run *run, vq_gate_frame_fn on_frame,
                            struct vq_error *err) VQ_WARN_UNUSED;
void vq_gate_close(struct vq_run_gate *gate); /* before the loop is destroyed */
/* Inside of on_frame. false: the sender's key is not allowed any more. */
bool vq_gate_lets_in(struct vq_run *run, uint64_t peer, bool is_hello);
/* Inside of on_frame: the name of a worker, after the name of its certificate; it may point into
 * `text`. */
struct vq_span vq_gate_name(const struct vq_run *run, struct vq_span name,
                            char text[VQ_GATE_NAME_BYTES_MAX]);
/* likewise: whether the sender is a local worker */
bool vq_gate_is_local(const struct vq_run *run);
void vq_gate_forget(struct vq_run_gate *gate, uint64_t peer); /* its session is closed */

/* dispatch.c */
enum vq_status vq_dispatch_open(struct vq_run *run, struct vq_error *err) VQ_WARN_UNUSED;
void vq_dispatch_close(struct vq_run_links *links);
/* Logs refused peers and the number of dropped frames. */
void vq_dispatch_watch(struct vq_run *run);
void vq_dispatch_pump(struct vq_run *run); /* carries out all actions of the core */

/* commit.c */
void vq_committer_start(struct vq_run *run, const struct vq_batch *batch);
/* Redis agrees with the store: applies the waiting batch */
void vq_committer_redis_ready(struct vq_run *run);
void vq_committer_watch(struct vq_run *run);
int64_t vq_committer_wake_ns(const struct vq_committer *c);
/* For a stop while a commit waits for Redis: the core stops without it; results that are not in the
 * store are in a spool. Does nothing while the store is being written. */
void vq_committer_give_up(struct vq_run *run, const char *why);
/* a commit failed: nothing is committed any more */
bool vq_committer_is_dead(const struct vq_committer *commit);
void vq_committer_free(struct vq_committer *commit);

/* redis.c */
enum vq_status vq_run_redis_open(struct vq_run *run, struct vq_error *err) VQ_WARN_UNUSED;
/* Replaces the columns of the last stage by those of run->stages.asking. */
enum vq_status vq_run_redis_stage(struct vq_run *run, struct vq_error *err) VQ_WARN_UNUSED;
void vq_run_redis_close(struct vq_run_redis *r);
void vq_run_redis_tick(struct vq_run *run);
int64_t vq_run_redis_wake_ns(const struct vq_run *run);
void vq_run_redis_lost(struct vq_run *run, enum vq_status status, const char *text);
/* Whether `why`, of on_down, means that the server answers but refuses us. */
bool vq_run_redis_denies(const char *why);
/* Messages of a start that fails because of Redis, here and in trial.c: the password is refused,
 * the private server does not start, no server answers in time (`waited` is the status of the
 * loop). */
enum vq_status vq_run_redis_denied(const char *why, struct vq_error *err);
enum vq_status vq_run_redis_failed(const char *why, struct vq_error *err);
enum vq_status vq_run_redis_silent(bool shared, enum vq_status waited, const char *why,
                                   struct vq_error *err);

/* stages.c */
enum vq_status vq_stages_open(struct vq_run *run, struct vq_error *err) VQ_WARN_UNUSED;
enum vq_status vq_stages_open_core(struct vq_run *run, struct vq_error *err) VQ_WARN_UNUSED;
void vq_stages_turn(struct vq_run *run); /* starts the next stage if this one is over */
void vq_stages_stop(struct vq_run *run); /* if run->stages.is_over: there is nothing to drain */
void vq_stages_close(struct vq_run_stages *stages);

/* The number of expected stages that have begun; all of them if that is unknown. */
uint32_t vq_stages_next_expected(const struct vq_run *run);

/* second_orders.c */
/* A stage is over: counts its first orders that settled the score. */
void vq_second_orders_learn(struct vq_run_stages *stages, const struct vq_stage_grid *asking,
                            const uint8_t *outcomes);
/* Whether second orders of the present stage wait for a separate batch. */
bool vq_run_seconds_wait(const struct vq_run *run, uint32_t judge);

/* deadline.c */
enum vq_status vq_deadline_open(struct vq_run *run, struct vq_error *err) VQ_WARN_UNUSED;
void vq_deadline_close(struct vq_run_deadline *deadline);
void vq_deadline_turn(struct vq_run *run);
int64_t vq_deadline_wake_ns(const struct vq_run *run);

/* deadline_state.c */
struct vq_deadline_view { /* the state of a group, and the memory of its lists */
    struct vq_deadline_state state;
    struct vq_deadline_batch *batches;
    size_t *of; /* for each of these: its index in the run's list */
    uint64_t later[VQ_DEADLINE_STAGES_MAX];
    uint64_t blocked; /* second orders that wait for first ones in batches; included in `later` */
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
void vq_deadline_report(struct vq_run *run); /* after a round */
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
/* every local worker has ended, and its spool was imported */
bool vq_children_gone(struct vq_run *run);
/* searches again for spools without a worker */
void vq_children_strays_again(struct vq_run_children *children);
void vq_children_stop(struct vq_run_children *children, int signum);
void vq_children_close(struct vq_run *run);

/* control.c */
enum vq_status vq_control_open(struct vq_run *run, struct vq_error *err) VQ_WARN_UNUSED;
void vq_control_close(struct vq_run *run);
void vq_control_write_status(struct vq_run *run);

/* incidents_file.c */
void vq_incidents_load(struct vq_run *run);  /* of earlier processes; into control.troubles */
void vq_incidents_write(struct vq_run *run); /* if they have changed */

/* looks.c */
enum vq_status vq_looks_open(struct vq_run *run, struct vq_error *err) VQ_WARN_UNUSED;
/* Calls that are durable now: stores one of them from time to time, and those that made a task
 * fail. */
void vq_looks_see(struct vq_run *run, const struct vq_result *results, size_t count);
/* A call of an earlier process: also stored if it made a task fail. */
void vq_looks_recall(struct vq_run *run, const struct vq_call_row *row);
/* The failed tasks of a stage that is over [judge][class]; the caller frees it. NULL: none. */
uint32_t *vq_looks_count_dead(const struct vq_stage_grid *asking, const uint8_t *outcomes);
void vq_looks_on_sample(void *ctx, const struct vq_httpd_request *request,
                        struct vq_httpd_response *response);
void vq_looks_on_dead(void *ctx, const struct vq_httpd_request *request,
                      struct vq_httpd_response *response);

/* ctl_settings_run.c */
/* A command was carried out: stores its setting in the run's folder before the reply. A setting
 * that cannot be stored is named in the reply. */
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
/* checks whether it was closed without a signal */
void vq_progress_look(struct vq_run_screen *screen);

/* limits.c */
/* wait_ns: for this time workers of an earlier process may still use their grants. */
enum vq_status vq_limits_open(struct vq_run *run, int64_t wait_ns,
                              struct vq_error *err) VQ_WARN_UNUSED;
void vq_limits_turn(struct vq_run *run); /* holds, and keys that workers reported */
void vq_limits_tick(struct vq_run *run);
int64_t vq_limits_wake_ns(const struct vq_run *run);
/* Reports the pools' incidents since the last call; a tick does the same. */
void vq_limits_see(struct vq_run *run);
bool vq_limits_idle(const struct vq_run *run, uint32_t pool); /* no judge needs it */
/* Writes which pools are parked, closed, held or locked by another run; true: all of them are. */
bool vq_limits_stopped(struct vq_run *run, struct vq_buf *out);
/* no call of this run is out: other runs may have its pools */
void vq_limits_release(struct vq_run *run);
void vq_limits_close(struct vq_run_limits *limits);

/* learned.c */
/* loads parameters that an earlier process learned; needs an authority */
void vq_learned_open(struct vq_run *run);
void vq_learned_tick(struct vq_run *run); /* reports and stores new ones */

/* advances.c */
/* Call it before a GRANT is sent. false: do not send it; the run has failed. */
bool vq_advances_cover(struct vq_run *run);
void vq_advances_tick(struct vq_run *run);
int64_t vq_advances_wake_ns(const struct vq_run_limits *limits);
void vq_advances_end(struct vq_run *run);
/* prints the advances of earlier processes that are not settled */
void vq_advances_report(struct vq_run *run);

/* finish.c */
enum vq_status vq_finish_accounting(struct vq_run *run, struct vq_error *err) VQ_WARN_UNUSED;
