/* Batches at providers: the calls that wait in each, and the worker that owns it, that is, the
 * worker that submits and collects it. Private to the core. */
#pragma once

#include "common/base/list.h"
#include "coordinator/queue/coord.h"
#include "coordinator/queue/limits.h"
#include "proto/limits.h"

struct vq_coord_call;
struct vq_coord_session;

struct vq_coord_acks { /* call ids of one kind for a session's next ACK */
    struct vq_id *calls;
    size_t count, cap;
};

struct vq_coord_api_batch { /* api_batch.c */
    struct vq_link link;
    char name[VQ_WIRE_BATCH_NAME_BYTES_MAX + 1];
    char pool[VQ_WIRE_NAME_BYTES_MAX + 1];
    char id[VQ_WIRE_NAME_BYTES_MAX + 1]; /* the provider's id; empty: unknown */
    uint8_t state;                       /* enum vq_batch_progress */
    bool submitted;                      /* `calls` is known */
    bool cancelling;                     /* a worker was asked to cancel it */
    uint32_t calls, ended, waiting;
    uint64_t cost_nano;    /* sum of the bounds of the waiting calls */
    int64_t since_unix_ms; /* when the last call was added */
    struct vq_id owner;    /* the worker that owns it; zero: none */
    uint64_t session;      /* the session in which the owner reported on it; 0: none */
    /* since when the owner has no session, or has not reported in it; 0: it has, or this was not
     * checked yet */
    int64_t lost_ns;
    bool disputed; /* another worker reported on it, and this was logged */
};

struct vq_coord_api_batches {
    struct vq_link list;
    size_t count;
    size_t turn; /* the next session to try */
    int64_t look_ns;
};

void vq_coord_api_batches_free(struct vq_coord_api_batches *api);
/* The result of end BATCHED names a batch of the process that made the call, and there is room for
 * it. */
bool vq_coord_api_batch_named(const struct vq_coord *c, const struct vq_result *r);
/* The BATCHED result of the call is committed: the call waits in its batch from now on. */
enum vq_status vq_coord_api_batch_add(struct vq_coord *c, struct vq_coord_call *call,
                                      const struct vq_result *r) VQ_WARN_UNUSED;
/* The call waits no more. The batch is freed with its last call. */
void vq_coord_api_batch_left(struct vq_coord *c, struct vq_coord_call *call);
/* A call that `s` brought is committed (NULL: the session has ended). If `s` made the call and the
 * batch has no owner, `s` becomes the owner: it gathers the batch. */
void vq_coord_api_batch_gathers(const struct vq_coord_call *call, const struct vq_coord_session *s);
/* BATCH of a worker: it counts only if this worker gathered the batch or was sent COLLECT. */
enum vq_status vq_coord_api_batch_report(struct vq_coord *c, struct vq_coord_session *s,
                                         const struct vq_msg_batch *msg) VQ_WARN_UNUSED;
/* Batches whose owner was lost get another one. */
enum vq_status vq_coord_api_batches_look(struct vq_coord *c) VQ_WARN_UNUSED;
int64_t vq_coord_api_batches_wake(const struct vq_coord *c);
/* The fields of its COLLECT; false: no call waits in it any more. */
bool vq_coord_api_batch_out(struct vq_coord *c, const char *name, struct vq_coord_collect *ret);
