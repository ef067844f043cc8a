/* A command of `vibeq ctl` is carried out once and in time. The front end puts a stamp before the
 * words: an id and a deadline. A command that arrives after its deadline is dropped, because the
 * person was already informed that its outcome is unknown. If its id was carried out before, it
 * gets the same reply again. Pure. */
#pragma once

#include "common/base/buf.h"

#define VQ_CTL_DEADLINE_MS                                                                         \
    4000u /* since the start of `vibeq ctl`, which waits a second longer for the reply */
#define VQ_CTL_REMEMBERED_MAX 64u /* replies that are stored */
#define VQ_CTL_ID_BYTES       16u
#define VQ_CTL_STAMP_BYTES    64u /* size of a stamp's text */

struct vq_ctl_stamp {
    char id[2 * VQ_CTL_ID_BYTES + 1]; /* hex; "": the command has no stamp */
    int64_t deadline_unix_ms;
};

struct vq_ctl_reply {
    char id[2 * VQ_CTL_ID_BYTES + 1];
    int http;
    char *text; /* owned */
};

/* All zero: no replies. */
struct vq_ctl_once {
    struct vq_ctl_reply replies[VQ_CTL_REMEMBERED_MAX];
    uint64_t count; /* of all replies so far; the oldest makes room */
};

/* "@ID DEADLINE\n" */
void vq_ctl_stamp_put(const struct vq_ctl_stamp *stamp, struct vq_buf *out);
/* Removes a stamp from the front of `body`; without a stamp *ret_stamp has no id. VQ_INVALID with a
 * sentence: a malformed stamp. */
enum vq_status vq_ctl_stamp_take(struct vq_span *body, struct vq_ctl_stamp *ret_stamp,
                                 struct vq_error *err) VQ_WARN_UNUSED;

/* The reply for this id; NULL: none, or it was dropped. Borrowed until the next call. */
const struct vq_ctl_reply *vq_ctl_once_find(const struct vq_ctl_once *once, const char *id);
/* Stores a reply; without an id or memory nothing is stored. */
void vq_ctl_once_keep(struct vq_ctl_once *once, const char *id, int http, const char *text);
void vq_ctl_once_free(struct vq_ctl_once *once);
