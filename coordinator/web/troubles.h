/* The last problems of a run, in plain words and with advice, in memory. A lasting problem begins
 * and ends; a moment does both at once. Pure. */
#pragma once

#include "common/base/buf.h"

#define VQ_INCIDENTS_FILE        "incidents.json" /* in the folder of the run */
#define VQ_TROUBLES_MAX          100u             /* the last ones; earlier ones are dropped */
#define VQ_TROUBLE_SUBJECT_BYTES 128u
#define VQ_TROUBLE_TEXT_BYTES    600u
#define VQ_TROUBLE_ADVICE_BYTES  300u
/* a moment that occurs again within this time is counted */
#define VQ_TROUBLE_SAME_MS INT64_C(60000)

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

/* The subject names a lasting problem together with its kind. "": the run. */
struct vq_trouble {
    enum vq_trouble_kind kind;
    const char *subject, *text, *advice; /* copied, cut if too long */
};

struct vq_troubles;
struct vq_troubles *vq_troubles_create(void); /* NULL: no memory */
void vq_troubles_destroy(struct vq_troubles **troubles);

/* An active one gets the new text. */
void vq_troubles_begin(struct vq_troubles *t, const struct vq_trouble *trouble, int64_t unix_ms);
/* Does nothing if it is not active. */
void vq_troubles_end(struct vq_troubles *t, enum vq_trouble_kind kind, const char *subject,
                     int64_t unix_ms);
void vq_troubles_moment(struct vq_troubles *t, const struct vq_trouble *trouble, int64_t unix_ms);

/* A finished one of an earlier process; call it for the oldest first. */
void vq_troubles_restore(struct vq_troubles *t, const struct vq_trouble *trouble,
                         int64_t since_unix_ms, int64_t over_unix_ms, uint64_t count);
/* The kind of its word in the JSON. false: unknown. */
bool vq_trouble_kind_of(const char *word, enum vq_trouble_kind *ret_kind);

/* {"format", "forgotten", "incidents": [...]}, the newest first. */
void vq_troubles_json(const struct vq_troubles *t, struct vq_buf *out);
