/* Batches at providers: which calls wait in them, and who looks after them. Private to the core. */
#pragma once

#include "common/base/list.h"
#include "coordinator/queue/coord.h"
#include "coordinator/queue/limits.h"
#include "proto/limits.h"

struct vq_coord_call;
struct vq_coord_session;

struct vq_coord_acks { /* of one kind, that go with a session's next ACK */
    struct vq_id *calls;
    size_t count, cap;
};

struct vq_coord_api_batch { /* api_batch.c */
    struct vq_link link;
    char name[VQ_WIRE_BATCH_NAME_BYTES_MAX + 1];
    char pool[VQ_WIRE_NAME_BYTES_MAX + 1];
    char id[VQ_WIRE_NAME_BYTES_MAX + 1]; /* as the provider calls it; empty: not known */
    uint8_t state;                       /* enum vq_batch_progress */
    bool submitted;                      /* `calls` is known */
    bool cancelling;                     /* a worker was asked to cancel it */
    uint32_t calls, ended, waiting;
    uint64_t cost_nano;    /* the bounds of those that wait */
    int64_t since_unix_ms; /* when the last call was added */
    struct vq_id owner;    /* the worker that looks after it; zero: none */
    uint64_t session;      /* in which that has said so; 0: none */
    /* since when it has no session, or has not said so in it; 0: it has, or was not looked at */
    int64_t lost_ns;
    bool disputed; /* another worker reported on it, and this was noted */
};

struct vq_coord_api_batches {
    struct vq_link list;
    size_t count;
    size_t turn; /* of the sessions */
    int64_t look_ns;
};

void vq_coord_api_batches_free(struct vq_coord_api_batches *api);
/* The result of end BATCHED names a batch of the process that made the call, and there is room
 * for it. */
bool vq_coord_api_batch_named(const struct vq_coord *c, const struct vq_result *r);
/* The call, whose result BATCHED is committed, waits in its batch from now on. */
enum vq_status vq_coord_api_batch_add(struct vq_coord *c, struct vq_coord_call *call,
                                      const struct vq_result *r) VQ_WARN_UNUSED;
/* It waits no more. The batch goes with the last one. */
void vq_coord_api_batch_left(struct vq_coord *c, struct vq_coord_call *call);
/* The call is committed, which `s` brought (NULL: it is gone). If `s` made it, and no worker looks
 * after its batch, `s` gathers that. */
void vq_coord_api_batch_gathers(const struct vq_coord_call *call, const struct vq_coord_session *s);
/* BATCH of a worker: it counts only if this worker gathered the batch, or was sent COLLECT. */
enum vq_status vq_coord_api_batch_said(struct vq_coord *c, struct vq_coord_session *s,
                                       const struct vq_msg_batch *msg) VQ_WARN_UNUSED;
/* Batches whose worker is gone get another one. */
enum vq_status vq_coord_api_batches_look(struct vq_coord *c) VQ_WARN_UNUSED;
int64_t vq_coord_api_batches_wake(const struct vq_coord *c);
/* What COLLECT says of it; false: no call waits in it any more. */
bool vq_coord_api_batch_out(struct vq_coord *c, const char *name, struct vq_coord_collect *ret);
