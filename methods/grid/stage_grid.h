/* One stage made ready to be asked: its models, samples, request hashes and SPEC. The method says
 * what is to be asked; here it becomes a task grid. */
#pragma once

#include "common/base/arena.h"
#include "common/judge/alike.h"
#include "common/judge/template.h"
#include "coordinator/pools/run_pools.h"
#include "coordinator/store/calls/plan.h"
#include "methods/grid/role_models.h"
#include "methods/stage.h"

#define VQ_STAGE_NAME_BYTES          64
#define VQ_STAGE_GRID_SPEC_BYTES_MAX (8u << 20)

/* What the stages of a run are made of. Borrowed. */
struct vq_grid_source {
    const struct vq_config *config;
    const struct vq_run_pools *pools;
    const struct vq_role_models *roles;   /* VQ_ROLE__COUNT */
    struct vq_template *const *templates; /* VQ_TEMPLATE__COUNT; [REPAIR] NULL: repair off */
    const struct vq_sample *samples;      /* RANK and PREFER ask these; NULL: neither is asked */
    const struct vq_sample_id *sample_ids;
    uint32_t generation; /* of --retry-failed */
};

struct vq_stage_grid {
    uint32_t no;
    char name[VQ_STAGE_NAME_BYTES];
    enum vq_stage_kind kind;
    uint32_t role; /* enum vq_role; one of all who judge */
    const struct vq_config *config;
    const struct vq_role_models *cast;
    uint32_t first_model; /* of the role's models: the one that `cast` begins with */
    /* `cast` with more output tokens, or one of its models. Empty: it is the job's */
    struct vq_role_models roomy;
    const struct vq_run_pools *pools;
    const struct vq_template *template; /* of the question */
    const struct vq_template *repair;   /* NULL: none */
    struct vq_asker *askers;            /* one a judge */
    /* grid.samples; texts borrowed from job and stage. NULL once retired */
    struct vq_sample *samples;
    const struct vq_sample_id *ids; /* may be the stage's */
    /* RANK, PREFER: which sample of the data each sample is. NULL: prompts of the method's own */
    uint32_t *rows;
    struct vq_axis *axes;
    uint8_t *first_order;         /* [sample * judges + judge] */
    uint8_t *cells;               /* which are asked; NULL: all */
    struct vq_chain_alike *alike; /* CHAT: by shard; NULL: no two chains begin alike */
    /* As of the stage: samples are empty then, and made when they are sent. Else NULL */
    enum vq_status (*remake)(void *ctx, uint32_t item, const struct vq_reader *reader,
                             struct vq_sample *ret_item, struct vq_error *err);
    void *remake_ctx;
    bool margins; /* as of the stage */
    struct vq_plan plan;
    struct vq_buf texts;    /* what axes, prompts of our own making and chains point into */
    uint32_t texts_count;   /* EMBED: over all calls */
    struct vq_arena memory; /* of everything that is owned but samples, texts and alike */
};

/* `stage` and what `from` points to are borrowed while the asking is not retired, its item_ids as
 * long as the asking lives. The caller destroys *ret_asking. VQ_NOMEM, VQ_LIMIT. */
enum vq_status vq_stage_grid_create(const struct vq_grid_source *from, const struct vq_stage *stage,
                                    struct vq_stage_grid **ret_asking,
                                    struct vq_error *err) VQ_WARN_UNUSED;
/* By which its questions are put. */
const struct vq_template *vq_stage_grid_template(const struct vq_grid_source *from,
                                                 enum vq_stage_kind kind);
void vq_stage_grid_destroy(struct vq_stage_grid **asking);
/* Lets go of everything but what request hashes are made of: what accounting needs of a stage that
 * is over. */
void vq_stage_grid_retire(struct vq_stage_grid *asking);

/* No request of the stage has more bytes, but for what it repairs; 0: that is not known
 * beforehand. */
size_t vq_stage_grid_request_bytes(const struct vq_stage_grid *asking);
/* The most tokens that a judge of it may answer with. */
uint32_t vq_stage_grid_answer_tokens(const struct vq_stage_grid *asking);

/* The body of SPEC. `offline_url`: base URL of the built-in server, or NULL. Its hash goes to
 * *ret_hash. */
enum vq_status vq_stage_grid_spec(const struct vq_stage_grid *asking, const char *offline_url,
                                  struct vq_buf *ret_body, struct vq_hash *ret_hash) VQ_WARN_UNUSED;
