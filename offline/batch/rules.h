/* The behaviour of the batches of a model: their duration, their faults, and the provider's limits.
 * The values of --batch are read here. Pure. */
#pragma once

#include "common/base/status.h"
#include "offline/faults/latency.h"

#define VQ_BATCH_MODEL_BYTES 128
#define VQ_BATCH_RULES_MAX   16

struct vq_offline_batch_rules {
    char model[VQ_BATCH_MODEL_BYTES]; /* "": every model without separate rules */
    struct vq_latency duration;       /* from the end of the validation to the last line */
    int64_t validate_ms;
    int64_t finalize_ms;
    int64_t cancel_ms;  /* from the cancel call to the end */
    int64_t expires_ms; /* from the creation */
    int64_t hide_ms;    /* for this time after the creation, lists do not show the batch */
    /* number of lines that are done when the batch expires; 0: it does not expire early */
    uint64_t expire_after;
    double never;   /* probability that a batch never ends */
    double errored; /* probability for each line ... */
    double expired;
    double damaged;        /* its custom_id is changed */
    double duplicate;      /* its result comes twice */
    double foreign;        /* a result of an unknown custom_id comes, too */
    double missing;        /* its result does not come */
    double torn;           /* its result is cut in half */
    bool reorder;          /* lines are done, and sent, in another order */
    uint64_t tokens;       /* that batches of one account may have enqueued; 0: any number */
    uint64_t requests_max; /* of one batch; 0: the limit of the dialect */
    uint64_t bytes_max;
};

/* All zeros is a set in which every batch completes at once. */
struct vq_offline_batch_rules_set {
    struct vq_offline_batch_rules rows[VQ_BATCH_RULES_MAX];
    size_t n;
};

/* "duration=2s,errored=0.1,..." for every model, "MODEL:duration=..." for one. VQ_INVALID with a
 * sentence. */
enum vq_status vq_offline_batch_rules_add(struct vq_offline_batch_rules_set *set, const char *text,
                                          struct vq_error *err) VQ_WARN_UNUSED;
/* Never NULL. */
const struct vq_offline_batch_rules *
vq_offline_batch_rules_find(const struct vq_offline_batch_rules_set *set, const char *model);
