/* Private to this folder: the state of all batches. */
#pragma once

#include "common/base/index.h"
#include "worker/batches/batches.h"

enum vq_draft_state {
    VQ_DRAFT_ADDED = 1, /* it is not committed yet that the call is part of the batch */
    VQ_DRAFT_COMMITTED,
    VQ_DRAFT_COLLECTED, /* delivered or given up */
    VQ_DRAFT_SETTLED    /* and this result is committed */
};

struct vq_draft {
    struct vq_index_node node; /* by call id */
    struct vq_batches_entry *batch;
    enum vq_draft_state state;
    struct vq_result result;
    char texts[];
};

enum vq_batches_entry_state {
    VQ_ENTRY_GATHERS = 1,
    VQ_ENTRY_CLOSED,    /* waits until all its calls are committed */
    VQ_ENTRY_INCOMING,  /* another worker's: more drafts follow */
    VQ_ENTRY_LIVES,     /* `life` decides */
    VQ_ENTRY_ABANDONED, /* it was not submitted: its calls are given up */
    VQ_ENTRY_SETTLES,   /* each call is delivered or given up; waits until this is committed */
    VQ_ENTRY_OVER       /* the coordinator gets a last report; then it is freed */
};

struct vq_batches_entry {
    struct vq_link link;
    uint64_t no;
    enum vq_batches_entry_state state;
    char name[VQ_BATCH_NAME_BYTES_MAX + 1];
    char pool[VQ_WIRE_NAME_BYTES_MAX + 1];
    const struct vq_batch_dialect *dialect;
    struct vq_buf document;
    struct vq_draft **drafts; /* by number; NULL: no draft */
    size_t drafts_cap;
    uint32_t calls;            /* their numbers are smaller than this */
    uint32_t incoming;         /* VQ_ENTRY_INCOMING: drafts that COLLECT messages have brought */
    uint32_t added, unsettled; /* drafts in the state ADDED; in the state COLLECTED */
    int64_t first_ms, last_ms;
    uint32_t calls_max, wait_ms, poll_ms;
    uint64_t bytes_max;
    struct vq_batch_life life; /* from VQ_ENTRY_LIVES on, if `lives` */
    bool lives, is_limited;
    bool cancel, ordered;  /* it must be cancelled; the coordinator ordered that */
    enum vq_batch_why why; /* of VQ_ENTRY_ABANDONED */
    uint32_t give_up_from;
    struct { /* the last report to the coordinator */
        bool any;
        uint8_t state;
        uint32_t calls, ended;
        int64_t at_ms;
    } reported;
};

/* The number of calls that a batch of a pool may have, learned from a limit of the provider. */
struct vq_batches_size {
    char pool[VQ_WIRE_NAME_BYTES_MAX + 1];
    uint32_t calls; /* 0: no limit is known */
};

struct vq_batches {
    struct vq_batches_options options;
    struct vq_link list;
    uint32_t count;
    uint64_t last_no, last_name;
    struct vq_index by_call;
    struct vq_batches_size *sizes;
    size_t sizes_count, sizes_cap;
    int64_t now_ms;
    char text[VQ_REPLY_MESSAGE_BYTES_MAX + 256];
    struct vq_buf note;
};

/* batches.c */
struct vq_batches_entry *vq_entry_open(struct vq_batches *b, const char *name,
                                       const struct vq_batches_pool *pool);
void vq_entry_free(struct vq_batches *b, struct vq_batches_entry *entry);
/* Adds call `number` to the batch; copies its texts. VQ_NOMEM. */
enum vq_status vq_entry_draft(struct vq_batches *b, struct vq_batches_entry *entry, uint32_t number,
                              const struct vq_result *result,
                              enum vq_draft_state state) VQ_WARN_UNUSED;
/* The last call of the batch is delivered or given up: learns its size limit. */
void vq_entry_learn_size(struct vq_batches *b, const struct vq_batches_entry *entry);
void vq_batches_now(struct vq_batches *b, int64_t now_ms);
/* Starts the batch's life. VQ_NOMEM. */
enum vq_status vq_entry_begin(struct vq_batches *b, struct vq_batches_entry *entry,
                              const struct vq_batch_record *record,
                              const struct vq_batch_rules *rules, bool recovered) VQ_WARN_UNUSED;
/* The earliest start of the batch's calls. */
int64_t vq_entry_planned_unix_s(const struct vq_batches_entry *entry);
void vq_entry_abandon(struct vq_batches_entry *entry, enum vq_batch_why why);

/* progress.c: whether a report on the batch is due now, and the report. */
bool vq_entry_report(struct vq_batches_entry *entry, int64_t now_ms,
                     struct vq_msg_batch *ret_progress);
int64_t vq_entry_wake_ms(const struct vq_batches_entry *entry, int64_t now_ms);
