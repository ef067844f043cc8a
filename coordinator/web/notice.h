/* Notices for people outside of the run: one when an alarm begins, and one when it ends. Pure. */
#pragma once

#include "common/base/buf.h"

#define VQ_NOTICE_KIND_BYTES 16
#define VQ_NOTICE_WHAT_BYTES 257 /* the name of a pool */
#define VQ_NOTICE_TEXT_BYTES 1024
#define VQ_NOTICES_ACTIVE    64u /* simultaneous alarms; further ones get no notice */
#define VQ_NOTICES_WAITING   32u /* per receiver; further ones are counted and dropped */

struct vq_notice {
    bool begins;                       /* false: it is over */
    char kind[VQ_NOTICE_KIND_BYTES];   /* "idle", "pool", ... */
    char what[VQ_NOTICE_WHAT_BYTES];   /* the pool; "" */
    int64_t since_unix_ms, at_unix_ms; /* start of the alarm; time of this notice */
    char text[VQ_NOTICE_TEXT_BYTES];   /* what happened */
    char action[VQ_NOTICE_TEXT_BYTES]; /* what to do; "" at the end */
};

/* The active alarms. */
struct vq_notices {
    struct vq_notice active[VQ_NOTICES_ACTIVE];
    uint32_t count;
};

/* The alarm `kind` about `what` begins. false: it is already active, or there is no room. */
bool vq_notices_begin(struct vq_notices *notices, const char *kind, const char *what,
                      const char *text, const char *action, int64_t now_unix_ms,
                      struct vq_notice *ret_notice);
/* The alarm is over. false: it was not active. */
bool vq_notices_end(struct vq_notices *notices, const char *kind, const char *what,
                    const char *text, int64_t now_unix_ms, struct vq_notice *ret_notice);

/* The notices that one receiver has not got yet, in order. */
struct vq_notice_queue {
    struct vq_notice waiting[VQ_NOTICES_WAITING];
    uint32_t first, count;
    uint64_t dropped;
};
void vq_notice_queue_put(struct vq_notice_queue *queue, const struct vq_notice *notice);
/* false: the queue is empty. */
bool vq_notice_queue_take(struct vq_notice_queue *queue, struct vq_notice *ret_notice);

/* One JSON object. */
void vq_notice_json(const struct vq_notice *notice, const char *run, struct vq_buf *out);
