/* One stage, ready to be asked: its models, samples, request hashes and SPEC. The method defines
 * the questions; this module makes a task grid of them. */
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

/* The parts from which the stages of a run are made. Borrowed. */
struct vq_grid_source {
    const struct vq_config *config;
    const struct vq_run_pools *pools;
    const struct vq_role_models *roles;   /* VQ_ROLE__COUNT */
    struct vq_template *const *templates; /* VQ_TEMPLATE__COUNT; [REPAIR] NULL: repair off */
    /* the samples of RANK and PREFER; NULL: neither is asked */
    const struct vq_sample *samples;
    const struct vq_sample_id *sample_ids;
    uint32_t generation; /* of --retry-failed */
};

struct vq_stage_grid {
    uint32_t no;
    char name[VQ_STAGE_NAME_BYTES];
    enum vq_stage_kind kind;
    uint32_t role; /* enum vq_role; a preference judge counts as VQ_ROLE_JUDGE */
    const struct vq_config *config;
    const struct vq_role_models *cast;
    uint32_t first_model; /* number of the first model of `cast` among the role's models */
    /* The models of `cast` with more output tokens, or one of the role's models; conf and judges
     * are owned. Empty: `cast` is the job's */
    struct vq_role_models roomy;
    const struct vq_run_pools *pools;
    const struct vq_template *template; /* the template of the questions */
    const struct vq_template *repair;   /* NULL: none */
    struct vq_asker *askers;            /* one per judge */
    /* grid.samples; texts borrowed from job and stage. NULL after the grid is retired */
    struct vq_sample *samples;
    const struct vq_sample_id *ids; /* may belong to the stage */
    /* RANK, PREFER: which sample of the data each sample is. NULL: prompts of the method's own */
    uint32_t *rows;
    struct vq_axis *axes;
    uint8_t *first_order;         /* [sample * judges + judge] */
    uint8_t *cells;               /* which cells are asked; NULL: all */
    struct vq_chain_alike *alike; /* CHAT: by shard; NULL: no two chains begin alike */
    /* As in the stage: then the samples are empty, and each is made when it is sent. Else NULL */
    enum vq_status (*remake)(void *ctx, uint32_t item, const struct vq_reader *reader,
                             struct vq_sample *ret_item, struct vq_error *err);
    void *remake_ctx;
    bool margins; /* as in the stage */
    struct vq_plan plan;
    struct vq_buf texts;    /* texts that axes, the method's own prompts and chains point into */
    uint32_t texts_count;   /* EMBED: number of texts in all calls together */
    struct vq_arena memory; /* of everything that is owned but samples, texts and alike */
};

/* `stage` and the things that `from` points to are borrowed until the grid is retired; its item_ids
 * are borrowed as long as the grid lives. The caller destroys *ret_asking. VQ_NOMEM, VQ_LIMIT. */
enum vq_status vq_stage_grid_create(const struct vq_grid_source *from, const struct vq_stage *stage,
                                    struct vq_stage_grid **ret_asking,
                                    struct vq_error *err) VQ_WARN_UNUSED;
/* The template of the questions of a kind of stage. */
const struct vq_template *vq_stage_grid_template(const struct vq_grid_source *from,
                                                 enum vq_stage_kind kind);
void vq_stage_grid_destroy(struct vq_stage_grid **asking);
/* Frees everything except the inputs of request hashes, which accounting needs after the stage is
 * over. */
void vq_stage_grid_retire(struct vq_stage_grid *asking);

/* An upper bound of the bytes of any request of the stage, without the text that a repair quotes.
 * 0: the bound is not known in advance. */
size_t vq_stage_grid_request_bytes(const struct vq_stage_grid *asking);
/* The highest limit of output tokens among the judges of the stage. */
uint32_t vq_stage_grid_answer_tokens(const struct vq_stage_grid *asking);

/* The body of SPEC, and its hash. `offline_url`: base URL of the built-in server, or NULL. */
enum vq_status vq_stage_grid_spec(const struct vq_stage_grid *asking, const char *offline_url,
                                  struct vq_buf *ret_body, struct vq_hash *ret_hash) VQ_WARN_UNUSED;
