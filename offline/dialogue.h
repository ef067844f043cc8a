/* The messages of a chat as turns. */
#pragma once

#include "offline/chat.h"
#include "offline/persona/subject.h"

struct vq_dialogue {
    struct vq_turn *turns; /* owned; texts point into the request, or into `joined` */
    size_t n;
    struct vq_buf joined; /* texts that came in parts */
};

/* Reads a parsed request, which must outlive the result. Unknown roles count as the user. If there
 * is no system message, a first message "... the role of NAME. ..." counts as one, up to its last
 * empty line. VQ_NOMEM, VQ_LIMIT: nothing to free. */
enum vq_status vq_dialogue_read(const struct vq_chat_request *request,
                                struct vq_dialogue *ret_dialogue) VQ_WARN_UNUSED;
void vq_dialogue_free(struct vq_dialogue *dialogue);
