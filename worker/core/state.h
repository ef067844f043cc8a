/* The worker's state, shared by the files of this folder and by nobody else. Who changes what:
 *   work.c     events in, actions out, the order of things     session.c  the link, terms, the end
 *   lease.c    leases, their asks and the sample cache          pool.c     a judge: limits, pauses, credit
 *   call.c     calls from their start to what follows           outbox.c   results without an ACK
 *
 * Pointers: a lease owns its asks; calls and results name their ask by (shard, fence, task) and look it up, so that a lease
 * may go at any time. A lease refers to its sample. Queued actions refer to calls and results, which stay until the
 * actions were taken. */
#ifndef VQ_WORKER_STATE_H
#define VQ_WORKER_STATE_H

#include "common/base/rng.h"
#include "worker/core/heap.h"
#include "worker/core/limits.h"
#include "worker/core/link.h"
#include "worker/core/pace.h"
#include "worker/core/table.h"
#include "worker/core/work.h"

#define VQ_WORK_MS(ms) ((int64_t)(ms)*INT64_C(1000000))
#define VQ_WORK_S(s)   ((int64_t)(s)*INT64_C(1000000000))

/* ---- leases ---- */

enum vq_work_ask_state {
    VQ_WORK_ASK_LAZY,    /* waits for the other order's answer */
    VQ_WORK_ASK_READY,   /* in its pool's queue */
    VQ_WORK_ASK_PARKED,  /* the lease's term is over: until it is renewed */
    VQ_WORK_ASK_DELAYED, /* backs off: in `delayed` */
    VQ_WORK_ASK_CALLING, /* its call is in flight or was just answered */
    VQ_WORK_ASK_DONE,    /* its final result waits for the ACK */
    VQ_WORK_ASK_CLOSED   /* ACKed, skipped, cancelled or returned */
};

struct vq_work_lease;

struct vq_work_ask {
    struct vq_work_node node; /* of the pool's queue, or of `delayed` */
    struct vq_work_lease *lease;
    uint64_t task;
    struct vq_hash request; /* kind repair: of the answer that is repaired */
    char *answer;           /* kind repair: that answer, owned */
    size_t answer_bytes;
    size_t output_bytes_max; /* 0: not cut yet */
    uint32_t vibe, repeat;
    uint32_t tries;      /* sends under this lease */
    uint32_t kind_tries; /* of this kind: what tries_max bounds */
    uint32_t swapped;    /* index + 1 of the lazy ask that waits for this one; 0: none */
    uint8_t order, kind, state;
    bool cancelled; /* while calling: no retry, no repair */
};

struct vq_work_sample {
    struct vq_work_link link; /* in `idle` when no lease needs it */
    uint64_t index;
    struct vq_sample text;
    struct vq_sample_id id;
    uint32_t leases;
    size_t bytes;
    char at[];
};

struct vq_work_lease {
    struct vq_work_link link; /* in `leases`, in order of arrival */
    uint64_t shard, seq;
    struct vq_fence fence;
    int64_t until_ns;  /* end of its term */
    int64_t listed_ns; /* stamp of the first HELD or HEARTBEAT that listed it; 0: none yet */
    struct vq_work_sample *sample;
    uint32_t judge;
    uint32_t open;   /* asks not CLOSED */
    uint32_t parked; /* asks PARKED */
    uint32_t asks_count;
    struct vq_work_ask asks[];
};

/* ---- calls and results ---- */

struct vq_work_flight { /* a call in flight */
    struct vq_work_link link;
    struct vq_work_call call; /* its pointers are good only while its action is taken */
    int64_t started_ns;
    double reserved; /* tokens */
    uint32_t pool;   /* in the SPEC in force; UINT32_MAX: its judge is in it no more */
};

enum vq_work_result_place {
    VQ_WORK_RESULT_UNREAD, /* in the spool; its answer was not read yet */
    VQ_WORK_RESULT_UNSENT,
    VQ_WORK_RESULT_SENT /* in this session */
};

struct vq_work_result { /* a result without an ACK */
    struct vq_work_link link;
    struct vq_result result;
    enum vq_work_result_place place;
    int64_t at_ns;    /* when it was read, or sent last */
    uint64_t sent_no; /* its place in the order of sending */
    size_t bytes;
    char at[]; /* its texts */
};

/* ---- pools ---- */

struct vq_work_pool { /* a judge as this worker may use it */
    uint8_t state;    /* enum vq_pool_state */
    bool keyed;       /* the shell said whether there is a key */
    bool granted;     /* a GRANT came in this session */
    bool
        heard; /* its endpoint said something, ever; one that never did is closed, and fails no task */
    uint64_t grant_n;
    uint8_t fingerprint[8];
    size_t fingerprint_bytes;
    char text[VQ_WORK_TEXT_BYTES_MAX];
    struct vq_work_heap ready; /* asks by (lease, place in it) */
    uint32_t in_flight;
    uint32_t limit; /* calls in flight it may have */
    double level;   /* calls in flight it thinks it can have, 1 to limit */
    int64_t cut_ns; /* refusals of calls that started before do not count again */
    int64_t paused_ns;
    uint32_t pauses; /* growth of the pause */
    double requests_per_minute;
    struct vq_gcra requests, tokens;
    uint32_t asks_open;
    uint32_t asks_done; /* of these: final, not ACKed; the coordinator counts them on no credit */
    uint32_t closed;    /* asks closed since the last look */
    double per_s;       /* of them */
    uint32_t credited;  /* what the last CREDIT said */
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
    VQ_WORK_ITEM_SENT, /* `flight`: the note (or word to the coordinator); its CALL comes behind it */
    VQ_WORK_ITEM_CALL,   /* `flight` */
    VQ_WORK_ITEM_ANSWER, /* `read`: the note; its READ comes behind the write */
    VQ_WORK_ITEM_READ,   /* `read` */
    VQ_WORK_ITEM_ACKED,  /* `id` */
    VQ_WORK_ITEM_NOTE,   /* `note` */
    VQ_WORK_ITEM_EXIT
};

struct vq_work_read {
    struct vq_work_result *result;
    struct vq_work_flight *flight; /* owned */
    uint8_t pool;
    int64_t retry_after_ms;
    bool parks;
};

struct
    vq_work_cancel { /* tasks given back; owned by its item, or by `returned` until there is a session */
    struct vq_work_link link;
    uint32_t stage;
    uint64_t shard;
    struct vq_fence fence;
    uint32_t tasks_count; /* 0: the whole lease */
    uint64_t tasks[];
};

struct vq_work_item {
    enum vq_work_item_type type;
    union {
        struct vq_work_flight *flight;
        struct vq_work_read read;
        struct vq_work_cancel *cancel;
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

struct vq_work {
    struct vq_work_options options;
    char *name, *host, *software;
    struct vq_rng rng;
    enum vq_status status; /* sticky */
    int64_t now_ns;

    /* the link */
    enum vq_work_link_state link;
    struct vq_id run;
    uint64_t session, epoch;
    int64_t stamp_ns; /* the last one given out; they rise */
    int64_t hello_ns; /* stamp of the last HELLO */
    int64_t hello_due_ns;
    uint32_t hellos;  /* since the last WELCOME */
    int64_t heard_ns; /* the last word of the coordinator */
    int64_t heartbeat_due_ns;
    int64_t term_ns, heartbeat_ns, orphan_ns;
    bool credit_due;   /* say it now */
    int64_t credit_ns; /* last CREDIT */
    bool draining, drain_said, orphaned, spool_failed;
    int64_t over_ns; /* the run is finished: until then calls in flight may end; 0: it goes on */
    enum vq_work_exit exit_code;
    bool exit_due, exited;

    /* what to ask */
    struct vq_work_spec *spec;
    struct vq_hash spec_wanted;
    struct vq_work_pool *pools; /* spec->judges_count */
    uint32_t pool_turn;

    /* leases */
    struct vq_work_link leases;
    struct vq_work_link returned; /* tasks given back that nobody was told of yet */
    struct vq_work_table leases_by_shard;
    uint32_t leases_count, asks_open, asks_done;
    uint64_t lease_seq;
    struct vq_work_heap delayed; /* asks by time */
    struct vq_work_table samples;
    struct vq_work_link idle;
    uint32_t samples_count;
    uint64_t samples_bytes;

    /* calls */
    struct vq_work_link flights;
    struct vq_work_table flights_by_id;
    uint32_t flights_count;
    uint64_t call_n;
    uint64_t calls_started, calls_ended;

    /* results without an ACK */
    struct vq_work_link unread, unsent, sent; /* sent: in the order of sending */
    struct vq_work_table results_by_id;
    uint32_t results_count, unsent_count;
    uint64_t results_bytes, unsent_bytes;
    uint64_t sent_n; /* counts results sent */
    bool flush;      /* send what is unsent, now */

    /* actions */
    struct vq_work_item *items; /* a queue: head to count */
    size_t items_head, items_count, items_cap;
    bool replies;   /* nothing but replies came since the last action was taken */
    bool unwritten; /* notes were given out, and no write since */
    struct vq_work_cancel *cancel_out; /* given out, freed at the next call */
    struct vq_work_note_slot *notes;
    uint32_t notes_count;
    uint64_t notes_dropped;
    void *scratch; /* lists of the message given out */
    size_t scratch_cap;
    void *scratch2;
    size_t scratch2_cap;
};

/* Sticks the status; true when it was VQ_OK. */
bool vq_work_ok(struct vq_work *w, enum vq_status status);
/* Queues an action; a failure sticks. */
void vq_work_queue(struct vq_work *w, struct vq_work_item item);
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

/* lease.c */
void vq_work_on_sample(struct vq_work *w, const struct vq_msg_sample *sample);
void vq_work_on_lease(struct vq_work *w, const struct vq_msg_lease *lease);
void vq_work_on_cancel(struct vq_work *w, const struct vq_msg_cancel *cancel);
struct vq_work_lease *vq_work_lease_find(struct vq_work *w, uint64_t shard, struct vq_fence fence);
/* The ask of a call or result, or NULL when its lease has gone. */
struct vq_work_ask *vq_work_ask_find(struct vq_work *w, uint64_t shard, struct vq_fence fence,
                                     uint64_t task);
void vq_work_ask_ready(struct vq_work *w, struct vq_work_ask *ask);
void vq_work_ask_delay(struct vq_work *w, struct vq_work_ask *ask, int64_t until_ns);
void vq_work_ask_park(struct vq_work *w, struct vq_work_ask *ask);
void vq_work_ask_unqueue(struct vq_work *w, struct vq_work_ask *ask);
/* Nothing more is done for it; the last one of a lease closes the lease. `ask` may be gone afterwards. */
void vq_work_ask_close(struct vq_work *w, struct vq_work_ask *ask);
/* Its answer is known (or that there will be none): the swapped order that waits for it is asked or skipped. */
void vq_work_ask_decide(struct vq_work *w, struct vq_work_ask *ask, enum vq_outcome outcome);
/* Gives back a task whose call has ended, and with it all idle ones of its lease; or all idle ones of a judge
 * (UINT32_MAX: of every judge). */
void vq_work_ask_return(struct vq_work *w, struct vq_work_ask *ask);
void vq_work_return_all(struct vq_work *w, uint32_t judge);
void vq_work_lease_renew(struct vq_work *w, struct vq_work_lease *lease, int64_t until_ns);
void vq_work_lease_drop(struct vq_work *w, struct vq_work_lease *lease);
void vq_work_samples_drop_idle(struct vq_work *w, uint32_t keep);
void vq_work_delayed_pump(struct vq_work *w);

/* pool.c */
/* After a new SPEC. What is owed and learnt of a judge with the same address, model and key goes on; so do its calls in flight.
 * `old` (nullable) has `old_pools`. false: no memory. */
bool vq_work_pools_reset(struct vq_work *w, const struct vq_work_spec *old,
                         const struct vq_work_pool *old_pools);
void vq_work_pools_free(struct vq_work *w, struct vq_work_pool *pools, uint32_t count);
void vq_work_on_key(struct vq_work *w, const struct vq_work_key *key);
void vq_work_on_grant(struct vq_work *w, const struct vq_msg_grant *grant);
void vq_work_pool_close(struct vq_work *w, uint32_t judge, enum vq_pool_state state,
                        struct vq_span text);
void vq_work_pool_heard(struct vq_work *w, uint32_t judge, enum vq_call_end end);
void vq_work_pool_refused(struct vq_work *w, uint32_t judge, int64_t started_ns,
                          int64_t retry_after_ms, bool parks);
void vq_work_pool_answered(struct vq_work *w, uint32_t judge);
/* When the next call of `tokens` may start: now, later, or INT64_MAX. */
int64_t vq_work_pool_when(const struct vq_work *w, const struct vq_work_pool *pool, double tokens);
bool vq_work_holds_enough(const struct vq_work *w); /* no more is wanted for now */
bool vq_work_credit_fill(struct vq_work *w, struct vq_msg_credit *credit);
void vq_work_credit_pump(struct vq_work *w);
int64_t vq_work_credit_wake(const struct vq_work *w);

/* call.c */
void vq_work_calls_pump(struct vq_work *w); /* starts what may start */
int64_t vq_work_calls_wake(const struct vq_work *w);
void vq_work_on_reply(struct vq_work *w, const struct vq_work_reply *reply);
void vq_work_read(struct vq_work *w, const struct vq_work_read *read);

/* outbox.c */
/* A copy of the result, unread; NULL when there is no memory (sticks). */
struct vq_work_result *vq_work_outbox_add(struct vq_work *w, const struct vq_result *result);
void vq_work_outbox_send(struct vq_work *w, struct vq_work_result *entry); /* it was read */
void vq_work_on_spooled(struct vq_work *w, const struct vq_result *result);
void vq_work_on_ack(struct vq_work *w, const struct vq_msg_ack *ack);
void vq_work_outbox_read_spooled(
    struct vq_work *w); /* the SPEC is known: what was spooled can be sent */
void vq_work_outbox_session(struct vq_work *w); /* a new session: everything again */
void vq_work_outbox_pump(struct vq_work *w);
int64_t vq_work_outbox_wake(const struct vq_work *w);
bool vq_work_outbox_fill(struct vq_work *w, struct vq_msg_results *results);
bool vq_work_outbox_full(const struct vq_work *w);
void vq_work_outbox_free(struct vq_work *w);

#endif
