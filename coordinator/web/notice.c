/* Invariants: for each kind and subject, a notice of the end follows a notice of the beginning
 * before the next beginning; memory and texts are bounded. */
#include "coordinator/web/notice.h"

#include "common/text/json.h"

#include <stdio.h>
#include <string.h>

/* Its index; `count`: it is not active. */
static uint32_t find(const struct vq_notices *n, const char *kind, const char *what)
{
    uint32_t i = 0;
    while (i < n->count &&
           (strcmp(n->active[i].kind, kind) != 0 || strcmp(n->active[i].what, what) != 0)) {
        i++;
    }
    return i;
}

bool vq_notices_begin(struct vq_notices *n, const char *kind, const char *what, const char *text,
                      const char *action, int64_t now_unix_ms, struct vq_notice *ret_notice)
{
    struct vq_notice notice = {
        .begins = true, .since_unix_ms = now_unix_ms, .at_unix_ms = now_unix_ms};
    (void)snprintf(notice.kind, sizeof(notice.kind), "%s", kind);
    (void)snprintf(notice.what, sizeof(notice.what), "%s", what);
    (void)snprintf(notice.text, sizeof(notice.text), "%s", text);
    (void)snprintf(notice.action, sizeof(notice.action), "%s", action);
    if (n->count == VQ_NOTICES_ACTIVE || find(n, notice.kind, notice.what) < n->count) {
        return false;
    }
    n->active[n->count++] = notice;
    *ret_notice = notice;
    return true;
}

bool vq_notices_end(struct vq_notices *n, const char *kind, const char *what, const char *text,
                    int64_t now_unix_ms, struct vq_notice *ret_notice)
{
    uint32_t i = find(n, kind, what);
    if (i == n->count) {
        return false;
    }
    struct vq_notice notice = n->active[i];
    n->active[i] = n->active[--n->count];
    notice.begins = false;
    notice.at_unix_ms = now_unix_ms;
    notice.action[0] = '\0';
    (void)snprintf(notice.text, sizeof(notice.text), "%s", text);
    *ret_notice = notice;
    return true;
}

void vq_notice_queue_put(struct vq_notice_queue *q, const struct vq_notice *notice)
{
    if (q->count == VQ_NOTICES_WAITING) {
        q->dropped++;
        return;
    }
    q->waiting[(q->first + q->count++) % VQ_NOTICES_WAITING] = *notice;
}

bool vq_notice_queue_take(struct vq_notice_queue *q, struct vq_notice *ret_notice)
{
    if (q->count == 0) {
        return false;
    }
    *ret_notice = q->waiting[q->first];
    q->first = (q->first + 1) % VQ_NOTICES_WAITING;
    q->count--;
    return true;
}

void vq_notice_json(const struct vq_notice *notice, const char *run, struct vq_buf *out)
{
    struct vq_json j;
    vq_json_open(&j, out, 2);
    vq_json_put_u64(&j, "format", 1);
    vq_json_put_str(&j, "run", run);
    vq_json_put_str(&j, "event", notice->begins ? "begin" : "end");
    vq_json_put_str(&j, "kind", notice->kind);
    vq_json_put_str(&j, "what", notice->what[0] == '\0' ? NULL : notice->what);
    vq_json_put_i64(&j, "since_unix_ms", notice->since_unix_ms);
    vq_json_put_i64(&j, "at_unix_ms", notice->at_unix_ms);
    vq_json_put_str(&j, "text", notice->text);
    vq_json_put_str(&j, "action", notice->action[0] == '\0' ? NULL : notice->action);
    vq_json_close(&j);
}
