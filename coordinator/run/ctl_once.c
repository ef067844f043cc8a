/* Stamps and the ring of replies. Invariant: a ring entry has an id and a text, or neither. */
#include "coordinator/run/ctl_once.h"

#include "common/base/alloc.h"

#include <stdio.h>
#include <stdlib.h>

void vq_ctl_stamp_put(const struct vq_ctl_stamp *stamp, struct vq_buf *out)
{
    vq_buf_printf(out, "@%s %lld\n", stamp->id, (long long)stamp->deadline_unix_ms);
}

enum vq_status vq_ctl_stamp_take(struct vq_span *body, struct vq_ctl_stamp *ret_stamp,
                                 struct vq_error *err)
{
    struct vq_ctl_stamp stamp = {.id = ""};
    if (body->bytes == 0 || body->at[0] != '@') {
        *ret_stamp = stamp;
        return VQ_OK;
    }
    size_t id_bytes = sizeof(stamp.id) - 1;
    const char *end = memchr(body->at, '\n', body->bytes);
    size_t bytes = end == NULL ? 0 : (size_t)(end - body->at);
    char line[VQ_CTL_STAMP_BYTES];
    bool good = bytes > id_bytes + 2 && bytes < sizeof(line);
    if (good) {
        memcpy(line, body->at, bytes);
        line[bytes] = '\0';
        good = strspn(line + 1, "0123456789abcdef") == id_bytes && line[id_bytes + 1] == ' ' &&
               strspn(line + id_bytes + 2, "0123456789") == bytes - id_bytes - 2 &&
               bytes - id_bytes - 2 <= 18;
    }
    if (!good) {
        return vq_fail(err, VQ_INVALID, "a command's first line begins with @ but is no stamp");
    }
    memcpy(stamp.id, line + 1, id_bytes);
    stamp.deadline_unix_ms = strtoll(line + id_bytes + 2, NULL, 10);
    body->at += bytes + 1;
    body->bytes -= bytes + 1;
    *ret_stamp = stamp;
    return VQ_OK;
}

const struct vq_ctl_reply *vq_ctl_once_find(const struct vq_ctl_once *once, const char *id)
{
    for (size_t i = 0; id[0] != '\0' && i < VQ_CTL_REMEMBERED_MAX; i++) {
        if (strcmp(once->replies[i].id, id) == 0) {
            return &once->replies[i];
        }
    }
    return NULL;
}

void vq_ctl_once_keep(struct vq_ctl_once *once, const char *id, int http, const char *text)
{
    char *copy = id[0] == '\0' ? NULL : vq_strdup(text);
    if (copy == NULL) {
        return;
    }
    struct vq_ctl_reply *reply = &once->replies[once->count++ % VQ_CTL_REMEMBERED_MAX];
    vq_free(reply->text);
    (void)snprintf(reply->id, sizeof(reply->id), "%s", id);
    reply->http = http;
    reply->text = copy;
}

void vq_ctl_once_free(struct vq_ctl_once *once)
{
    for (size_t i = 0; i < VQ_CTL_REMEMBERED_MAX; i++) {
        vq_free(once->replies[i].text);
    }
    *once = (struct vq_ctl_once){.count = 0};
}
