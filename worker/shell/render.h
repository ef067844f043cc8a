/* Renders a call of the core into the body of its request. */
#pragma once

#include "common/base/buf.h"
#include "worker/core/work.h"
#include "worker/provider/provider.h"

/* Buffers that each call uses again. */
struct vq_render {
    struct vq_buf system, user, first; /* `first`: the first message with the system part in it */
    struct vq_span *said;              /* the texts of the dialogue */
    size_t said_cap;
};

struct vq_render_for {
    const struct vq_work_endpoint *at;
    const struct vq_provider *provider;
    bool embeds;      /* its stage embeds texts */
    bool shares;      /* its calls come in groups with a common prefix */
    uint32_t refused; /* enum vq_param: left out of the request */
};

struct vq_rendered {
    struct vq_buf body; /* owned by the caller; cleared first */
    uint32_t texts;     /* of a batch to embed */
    uint64_t prompt_chars;
    uint32_t params; /* enum vq_param: in the request, and a model may refuse them */
};

/* The judge, as this pool is called, without the parameters that its model refused. */
struct vq_judge vq_render_judge(const struct vq_judge *judge, const struct vq_work_endpoint *at,
                                uint32_t refused);
enum vq_status vq_render_call(struct vq_render *room, const struct vq_render_for *to,
                              const struct vq_work_call *call,
                              struct vq_rendered *out) VQ_WARN_UNUSED;
void vq_render_init(struct vq_render *room);
void vq_render_free(struct vq_render *room);
