/* A SPEC message, decoded, checked and owned: judges, axes, parsed templates, and one asker a judge. */
#ifndef VQ_WORKER_SPEC_H
#define VQ_WORKER_SPEC_H

#include "common/judge/request.h"
#include "common/judge/template.h"
#include "proto/wire.h"

/* A judge as the worker calls it. Strings are owned by the spec and NUL-terminated. */
struct vq_work_judge {
    struct vq_judge judge;
    const char *base_url;
    const char *key; /* "env:NAME", "file:PATH" or "": a hint */
    uint32_t tries_max;
    uint32_t connect_timeout_ms, first_byte_timeout_ms, total_timeout_ms;
    struct vq_asker asker;
};

struct vq_work_spec {
    struct vq_hash hash;
    enum vq_stage_kind kind;
    uint32_t stage;
    struct vq_template *ranker; /* what is asked: judge, preference, or as it is */
    struct vq_template *repair; /* NULL: repair off */
    bool truncate;
    bool lazy_swap;
    struct vq_axis *axes;
    uint32_t axes_count;
    struct vq_work_judge *judges;
    uint32_t judges_count;
    char **strings; /* owned; what the rest points to */
    size_t strings_count, strings_cap;
};

/* Decodes and checks the body of a SPEC message. VQ_INVALID, VQ_LIMIT, VQ_NOMEM; err names what. Caller owns. */
enum vq_status vq_work_spec_create(struct vq_span body, const struct vq_hash *hash,
                                   struct vq_work_spec **ret_spec,
                                   struct vq_error *err) VQ_WARN_UNUSED;
void vq_work_spec_destroy(struct vq_work_spec **spec);

#endif
