/* The messages of a chat as turns. */
#pragma once

#include "offline/chat.h"
#include "offline/persona/subject.h"

struct vq_dialogue {
    struct vq_turn *turns; /* owned; texts point into the request, or into `joined` */
    size_t n;
    struct vq_buf joined; /* texts that came in parts */
};

/* Of a request that was parsed, which must outlive it. Roles that are not known count as the
 * user's. Without a system message, a first message "... the role of NAME. ..." up to its last
 * empty line is one. VQ_NOMEM, VQ_LIMIT; then nothing is to be freed. */
enum vq_status vq_dialogue_read(const struct vq_chat_request *request,
                                struct vq_dialogue *ret_dialogue) VQ_WARN_UNUSED;
void vq_dialogue_free(struct vq_dialogue *dialogue);
