/* From a call that the core wants made to the body of its request. */
#pragma once

#include "common/base/buf.h"
#include "worker/core/work.h"
#include "worker/provider/provider.h"

/* Buffers that are used again. */
struct vq_render {
    struct vq_buf system, user, first; /* `first`: the first message with the system part in it */
    struct vq_span *said;              /* of the dialogue that is rendered */
    size_t said_cap;
};

struct vq_render_for {
    const struct vq_work_endpoint *at;
    const struct vq_provider *provider;
    bool embeds;      /* its stage is one of vectors */
    bool shares;      /* its calls come in groups with a common front */
    uint32_t refused; /* enum vq_param: what is left out */
};

struct vq_rendered {
    struct vq_buf body; /* the caller's, emptied before */
    uint32_t texts;     /* of a batch to be embedded */
    uint64_t prompt_chars;
    uint32_t params; /* enum vq_param: what the request has that a model may refuse */
};

/* The judge as this pool is asked, without what its model refused. */
struct vq_judge vq_render_judge(const struct vq_judge *judge, const struct vq_work_endpoint *at,
                                uint32_t refused);
enum vq_status vq_render_call(struct vq_render *room, const struct vq_render_for *to,
                              const struct vq_work_call *call,
                              struct vq_rendered *out) VQ_WARN_UNUSED;
void vq_render_init(struct vq_render *room);
void vq_render_free(struct vq_render *room);
