/* The results of one batch, matched to its calls in any order. Pure. The first valid outcome of a
 * call counts. Results that match no call are counted and named; nothing is matched by position. */
#pragma once

#include "worker/provider/batch.h"

#define VQ_BATCH_ODD_MAX 16u /* results that are named; the rest are only counted */

enum vq_batch_match {
    VQ_BATCH_FIRST = 0, /* the call's outcome: it counts */
    VQ_BATCH_AGAIN,     /* repeats a result of an earlier reading, which counted */
    VQ_BATCH_DUPLICATE, /* the second one in this reading: it does not count */
    /* it has no custom_id of this batch, or a number that the batch does not have */
    VQ_BATCH_FOREIGN,
    VQ_BATCH_DAMAGED, /* unreadable */
    VQ_BATCH_MATCH__COUNT
};
const char *vq_batch_match_name(enum vq_batch_match match); /* "duplicate" */

struct vq_batch_odd {
    enum vq_batch_match match;
    uint64_t line;
    char custom_id[VQ_REPLY_NAME_BYTES_MAX]; /* empty: unreadable */
    char why[VQ_REPLY_NAME_BYTES_MAX];       /* of a damaged result */
};

struct vq_batch_collect {
    char name[VQ_BATCH_NAME_BYTES_MAX + 1];
    uint32_t calls;
    uint32_t counted;                     /* calls with an outcome */
    uint64_t seen[VQ_BATCH_MATCH__COUNT]; /* results of this reading */
    uint32_t odd_count;                   /* at most VQ_BATCH_ODD_MAX */
    struct vq_batch_odd odd[VQ_BATCH_ODD_MAX];
    uint8_t *marks; /* a byte for each call; owned */
};

/* VQ_NOMEM; VQ_INVALID: the name is not one of ours, or `calls` is not 1 .. VQ_BATCH_CALLS_MAX. */
enum vq_status vq_batch_collect_init(struct vq_batch_collect *c, const char *name,
                                     uint32_t calls) VQ_WARN_UNUSED;
void vq_batch_collect_free(struct vq_batch_collect *c);

/* The results are read from the start again: outcomes that counted are kept, everything else is
 * cleared. */
void vq_batch_collect_again(struct vq_batch_collect *c);

/* Matches one result. *ret_call is the call for FIRST, AGAIN and DUPLICATE. */
enum vq_batch_match vq_batch_collect_take(struct vq_batch_collect *c,
                                          const struct vq_batch_line *line, uint32_t *ret_call);

/* The first call from `from` on that has no outcome; `calls`: there is none. */
uint32_t vq_batch_collect_missing(const struct vq_batch_collect *c, uint32_t from);

/* For a person: "990 of 1000 calls have a result; 1 duplicate (line 4: vq-..-3); ...". Empty if
 * nothing is wrong. */
void vq_batch_collect_report(const struct vq_batch_collect *c, struct vq_buf *out);
