/* The life of one batch at the worker as a state machine. Pure: (state, event, now) -> actions.
 *
 *     vq_batch_life_init(life, &rules, &record, recovered, now);
 *     while (vq_batch_life_next(life, &action)) { carry it out, in this order }
 *     vq_batch_life_step(life, &event, now);      and take the actions again
 *     at vq_batch_life_wake_ms(life), at the latest: step with VQ_BATCH_TICK
 *
 * Rules:
 * - The record is durable (phase PLANNED) before anything is sent, and durable as CREATING before a
 *   create is sent. The caller sends WRITTEN only after the write is safe.
 * - After an upload that failed another one is opened. A file without a batch costs nothing: it is
 *   deleted at the end, or, after a crash, left to the provider.
 * - If the outcome of a create is unknown (a crash, a timeout, a 5xx, an unreadable 2xx), the list
 *   is read until the batch is found, by its name or its input file, before the batch is created
 *   again. Only a complete list that was started settle_ms after the create ended, or after the
 *   recovery, shows that the provider does not have the batch.
 * - A life that `collects` creates nothing: where it would create the batch, it gives up the calls
 *   that the provider does not have, as UNSENT.
 * - If the API carries no name, then every batch of this size that was created since the plan is a
 *   possible match: its results are peeked at when it has ended, and nothing is created before.
 * - A call is delivered or given up exactly once per process; the receiver ignores the repetition
 *   after a crash. Files are deleted only after SETTLED.
 * Time is monotonic, in milliseconds; only planned_unix_s is wall time. */
#pragma once

#include "worker/provider/batch_collect.h"

/* the first wait between two polls; each later wait is half as long again */
#define VQ_BATCH_POLL_MS     30000u
#define VQ_BATCH_POLL_MAX_MS 300000u /* the longest wait */
#define VQ_BATCH_SETTLE_MS   120000u /* for this time a list may lack a new batch */
/* Another worker's create may arrive until its HTTP exchange has timed out. After that, the list
 * may still lack the batch for some time. */
#define VQ_BATCH_CREATE_TIMEOUT_MS 600000u
#define VQ_BATCH_FOREIGN_SETTLE_MS 900000u
#define VQ_BATCH_SKEW_S            3600 /* between the provider's clock and ours */
#define VQ_BATCH_PAGES_MAX         1000u
#define VQ_BATCH_EXCLUDED_MAX      256u /* unnamed batches that are known to be others */

struct vq_batch_rules {
    uint32_t poll_ms, poll_max_ms, settle_ms; /* 0: the defaults above */
    bool uploads;                             /* its document goes into a file before the create */
    bool opens;                               /* an upload is opened first; of the dialect */
    bool drops, drops_results;                /* files are deleted; of the dialect */
    bool carries_name;                        /* of the dialect */
    bool collects;                            /* creates nothing: another worker made the batch */
    /* `calls` is only a lower bound of the number of its calls */
    bool size_unknown;
};
/* `document_bytes`: of a batch that may be created; 0: the batch is not created. */
struct vq_batch_rules vq_batch_rules_of(const struct vq_batch_dialect *dialect,
                                        size_t document_bytes);

enum vq_batch_phase {
    VQ_BATCH_PLANNED = 1, /* nothing was sent, except perhaps the file */
    VQ_BATCH_CREATING,    /* a create may have been sent */
    VQ_BATCH_CREATED,     /* the provider has the batch, as `id` */
    VQ_BATCH_DONE         /* all calls are settled */
};

/* The durable part of a batch, besides its calls. The caller writes it as a whole. */
struct vq_batch_record {
    enum vq_batch_phase phase;
    char name[VQ_BATCH_NAME_BYTES_MAX + 1];
    uint32_t calls;
    int64_t planned_unix_s;
    char file[VQ_BATCH_ID_BYTES_MAX]; /* the uploaded file */
    char id[VQ_BATCH_ID_BYTES_MAX];
};

enum vq_batch_event_type {
    VQ_BATCH_TICK,
    VQ_BATCH_WRITTEN,        /* the record of the last WRITE is durable */
    VQ_BATCH_OPEN_DONE,      /* text: the session of the upload */
    VQ_BATCH_UPLOAD_DONE,    /* text: the file's id */
    VQ_BATCH_UPLOAD_FAILED,  /* or it could not be opened. retry_after_ms; for_good: refused */
    VQ_BATCH_CREATE_DONE,    /* view */
    VQ_BATCH_CREATE_REFUSED, /* a 4xx: there is no batch. retry_after_ms; for_good: refused */
    VQ_BATCH_CREATE_UNKNOWN, /* any other end */
    /* the create must not be sent any more: from now on the life collects */
    VQ_BATCH_CREATE_UNSENT,
    VQ_BATCH_LIST_DONE,   /* page */
    VQ_BATCH_LIST_FAILED, /* retry_after_ms */
    VQ_BATCH_PEEK_DONE,   /* text: the custom_id of one result; empty: there is none */
    VQ_BATCH_PEEK_FAILED, /* retry_after_ms */
    VQ_BATCH_GET_DONE,    /* view */
    VQ_BATCH_GET_FAILED,  /* retry_after_ms */
    VQ_BATCH_GET_GONE,    /* a 404 */
    VQ_BATCH_RESULT,      /* line, of the part that is being fetched */
    VQ_BATCH_FETCH_DONE,  /* the part was read to its end, or the response was a 404 */
    /* the response broke off (also: vq_batch_lines_end returns VQ_INVALID), or was a 5xx;
     * retry_after_ms. The results are read again from the start. */
    VQ_BATCH_FETCH_FAILED,
    VQ_BATCH_SETTLED,      /* every delivered or given-up call is durable at the receiver */
    VQ_BATCH_CANCEL_ASKED, /* the coordinator asked for it */
    VQ_BATCH_CANCEL_DONE,
    VQ_BATCH_CANCEL_FAILED,
};

/* Pointers are borrowed for the step. */
struct vq_batch_event {
    enum vq_batch_event_type type;
    const char *text;
    const struct vq_batch_view *view;
    const struct vq_batch_page *page;
    const struct vq_batch_line *line;
    int64_t retry_after_ms; /* 0 or less: not given */
    bool for_good;
};

enum vq_batch_action_type {
    VQ_BATCH_DO_WRITE,   /* life->record, durably; then WRITTEN */
    VQ_BATCH_DO_OPEN,    /* then OPEN_DONE or UPLOAD_FAILED */
    VQ_BATCH_DO_UPLOAD,  /* into life->session; then UPLOAD_DONE or UPLOAD_FAILED */
    VQ_BATCH_DO_CREATE,  /* of life->record.file; then CREATE_... */
    VQ_BATCH_DO_LIST,    /* from the cursor `text`; then LIST_... */
    VQ_BATCH_DO_PEEK,    /* the results of the batch life->view, until one is readable */
    VQ_BATCH_DO_GET,     /* life->record.id; then GET_... */
    VQ_BATCH_DO_FETCH,   /* `part` of life->view; then RESULT for each, FETCH_... */
    VQ_BATCH_DO_DELIVER, /* `line` is the outcome of `call`: succeeded or errored */
    VQ_BATCH_DO_GIVE_UP, /* `call` has no answer, for the reason `why`: the call will be repeated */
    VQ_BATCH_DO_SETTLE,  /* nothing more will be delivered; then SETTLED */
    VQ_BATCH_DO_CANCEL,  /* life->record.id; then CANCEL_DONE or CANCEL_FAILED */
    VQ_BATCH_DO_DROP,    /* delete the file `text`; no event */
    VQ_BATCH_DO_FINISH   /* the last action */
};

enum vq_batch_why {
    VQ_BATCH_WHY_MISSING = 0, /* no result, or only a damaged one */
    VQ_BATCH_WHY_EXPIRED,
    VQ_BATCH_WHY_CANCELLED,
    VQ_BATCH_WHY_REFUSED, /* the provider refused the upload or the create */
    VQ_BATCH_WHY_FAILED,  /* the batch failed as a whole; life->view.error */
    VQ_BATCH_WHY_LIMITED, /* the same, or it is not created: too much is enqueued now */
    VQ_BATCH_WHY_LOST,    /* the provider does not know its id any more */
    VQ_BATCH_WHY_UNSENT   /* the batch was never created */
};
const char *vq_batch_why_name(enum vq_batch_why why); /* "missing" */

/* Pointers are valid until the next call of next or step. */
struct vq_batch_action {
    enum vq_batch_action_type type;
    const char *text;
    enum vq_batch_part part;
    uint32_t call;
    const struct vq_batch_line *line;
    enum vq_batch_why why;
};

#define VQ_BATCH_ACTIONS 8
/* After this number of refusals of a create in a row, for a time each, the batch may be too
 * large. */
#define VQ_BATCH_REFUSALS_MAX 8u

/* Members are for reading: record, session, view, collect; the rest is private. */
struct vq_batch_life {
    struct vq_batch_record record;
    char session[VQ_BATCH_SESSION_BYTES_MAX]; /* of the last opened upload */
    struct vq_batch_view view;                /* the last one from the provider */
    struct vq_batch_collect collect;
    struct vq_batch_rules rules;
    int step;
    int64_t now_ms, wake_ms, backoff_ms;
    uint32_t refusals;
    int64_t settle_from_ms;                /* until then, a create that was sent may have arrived */
    int64_t gone_since_ms, empty_since_ms; /* -1: not set */
    bool cancel, cancel_sent, reread;
    enum vq_batch_part part;
    enum vq_batch_why why; /* for the calls without a result */
    uint32_t give_up_from;
    struct {
        int64_t started_ms;
        uint32_t pages;
        bool possible;              /* there is an unnamed batch that still runs */
        struct vq_batch_view ended; /* a batch to peek at; id empty: none */
        char cursor[VQ_BATCH_ID_BYTES_MAX * 2];
    } list;
    uint64_t excluded[VQ_BATCH_EXCLUDED_MAX]; /* hashes of ids */
    uint32_t excluded_count;
    struct vq_batch_action queue[VQ_BATCH_ACTIONS];
    uint32_t queue_from, queue_count;
};

/* `record`: a new record with phase PLANNED (name, calls, planned_unix_s), or the durable one
 * (`recovered`). VQ_INVALID: the record is not valid; VQ_NOMEM. The first actions are ready. */
enum vq_status vq_batch_life_init(struct vq_batch_life *life, const struct vq_batch_rules *rules,
                                  const struct vq_batch_record *record, bool recovered,
                                  int64_t now_ms) VQ_WARN_UNUSED;
void vq_batch_life_free(struct vq_batch_life *life);

/* From now on the life collects: it follows a create that is under way, and sends none again. */
void vq_batch_life_collect_only(struct vq_batch_life *life, int64_t now_ms);

/* An event that does not fit the state (a late one) changes nothing. The caller must have taken all
 * actions of the last step. */
void vq_batch_life_step(struct vq_batch_life *life, const struct vq_batch_event *event,
                        int64_t now_ms);
/* The next action; false: none. */
bool vq_batch_life_next(struct vq_batch_life *life, struct vq_batch_action *ret_action);
/* When a TICK is due; INT64_MAX: no tick is needed before the next event, or the life is over. */
int64_t vq_batch_life_wake_ms(const struct vq_batch_life *life);
