/* What went wrong in a run, in plain words and with what to do: the last ones, in memory. One that
 * lasts begins and ends; a moment does both at once. Pure. */
#pragma once

#include "common/base/buf.h"

#define VQ_INCIDENTS_FILE        "incidents.json" /* in the folder of the run */
#define VQ_TROUBLES_MAX          100u             /* the last ones; earlier ones are forgotten */
#define VQ_TROUBLE_SUBJECT_BYTES 128u
#define VQ_TROUBLE_TEXT_BYTES    600u
#define VQ_TROUBLE_ADVICE_BYTES  300u
#define VQ_TROUBLE_SAME_MS       INT64_C(60000) /* a moment that comes again is counted */

enum vq_trouble_kind {
    VQ_TROUBLE_POOL,
    VQ_TROUBLE_SLOW,  /* a pool */
    VQ_TROUBLE_IDLE,  /* the run makes no progress */
    VQ_TROUBLE_BRAKE, /* a judge's first calls failed */
    VQ_TROUBLE_REDIS,
    VQ_TROUBLE_WORKER,
    VQ_TROUBLE_QUEUE, /* the core's warnings */
    VQ_TROUBLE_DEADLINE
};

/* What it is about: with its kind it names a trouble that lasts. "": the run. */
struct vq_trouble {
    enum vq_trouble_kind kind;
    const char *subject, *text, *advice; /* copied, cut if too long */
};

struct vq_troubles;
struct vq_troubles *vq_troubles_create(void); /* NULL: no memory */
void vq_troubles_destroy(struct vq_troubles **troubles);

/* One that goes on already gets the new text. */
void vq_troubles_begin(struct vq_troubles *t, const struct vq_trouble *trouble, int64_t unix_ms);
/* Nothing happens if it does not go on. */
void vq_troubles_end(struct vq_troubles *t, enum vq_trouble_kind kind, const char *subject,
                     int64_t unix_ms);
void vq_troubles_moment(struct vq_troubles *t, const struct vq_trouble *trouble, int64_t unix_ms);

/* One of an earlier process, which is over; the oldest first. */
void vq_troubles_restore(struct vq_troubles *t, const struct vq_trouble *trouble,
                         int64_t since_unix_ms, int64_t over_unix_ms, uint64_t count);
/* By its word in the JSON. False: there is no such kind. */
bool vq_trouble_kind_of(const char *word, enum vq_trouble_kind *ret_kind);

/* {"format", "forgotten", "incidents": [...]}, the newest first. */
void vq_troubles_json(const struct vq_troubles *t, struct vq_buf *out);
