/* Private to this folder: alarm.command and alarm.webhook. */
#pragma once

#include "common/base/secret.h"
#include "common/net/child.h"
#include "common/net/http.h"
#include "coordinator/web/notice.h"

#define VQ_ALARM_COMMAND_MS 10000 /* after this time the command and its children are killed */
#define VQ_ALARM_WEBHOOK_MS 10000
#define VQ_ALARM_END_MS     3000 /* at the end of the run, for notices not yet sent */

/* At most one process and one request at a time. */
struct vq_run_alarms {
    struct vq_notices notices;
    struct vq_notice_queue commands, posts;
    struct vq_child *child;
    struct vq_timer *timer; /* of the child */
    bool has_exited;        /* the child; it is destroyed in the next turn */
    struct vq_secret *url;  /* NULL: no webhook */
    struct vq_http *http;
    struct vq_buf body; /* of the request in progress */
    bool posting;
};

struct vq_run;

/* VQ_INVALID, VQ_NOT_FOUND, VQ_DENIED: the configuration names no URL, or an unusable one. */
enum vq_status vq_alarms_open(struct vq_run *run, struct vq_error *err) VQ_WARN_UNUSED;
/* The alarm `kind` about `what` ("" or a pool) begins; `action` is what to do. It is sent once
 * until it is over. */
void vq_alarms_begin(struct vq_run *run, const char *kind, const char *what, const char *action,
                     const char *fmt, ...) VQ_PRINTF(5, 6);
void vq_alarms_over(struct vq_run *run, const char *kind, const char *what, const char *fmt, ...)
    VQ_PRINTF(4, 5);
void vq_alarms_turn(struct vq_run *run);
/* Ends all alarms with the run; if the run stopped by itself, that is the last alarm. Waits for the
 * receivers, at most VQ_ALARM_END_MS. */
void vq_alarms_end(struct vq_run *run);
void vq_alarms_close(struct vq_run_alarms *alarms);
