/* The dense grid of a stage: task = ((sample * judges + judge) * vibes + vibe) * 2 + order, and
 * shard = sample * judges + judge, so the tasks of a shard are neighbours. A task is only this
 * number. A stage of texts or vectors has one vibe and uses order 0 only: there a sample is a
 * prompt, or a batch of texts. */
#pragma once

#include "common/base/status.h"

struct vq_grid {
    uint32_t samples;
    uint32_t judges;
    uint32_t vibes;
};

#define VQ_TASK_NONE UINT64_MAX /* not a task of this stage */
/* Replaces the number of a stage if an earlier start, with other answers, gave that number to a
 * different grid */
#define VQ_STAGE_ELSEWHERE UINT32_MAX

struct vq_cell {
    uint32_t sample;
    uint32_t judge;
    uint32_t vibe;
    uint32_t order;
};

static inline uint64_t vq_grid_shards(const struct vq_grid *g)
{
    return (uint64_t)g->samples * g->judges;
}

static inline uint32_t vq_grid_shard_tasks(const struct vq_grid *g)
{
    return g->vibes * 2;
}

static inline uint64_t vq_grid_tasks(const struct vq_grid *g)
{
    return vq_grid_shards(g) * vq_grid_shard_tasks(g);
}

static inline uint64_t vq_grid_task(const struct vq_grid *g, struct vq_cell c)
{
    return (((uint64_t)c.sample * g->judges + c.judge) * g->vibes + c.vibe) * 2 + c.order;
}

static inline struct vq_cell vq_grid_cell(const struct vq_grid *g, uint64_t task)
{
    uint64_t vibe = task / 2;
    uint64_t shard = vibe / g->vibes;
    return (struct vq_cell){.sample = (uint32_t)(shard / g->judges),
                            .judge = (uint32_t)(shard % g->judges),
                            .vibe = (uint32_t)(vibe % g->vibes),
                            .order = (uint32_t)(task % 2)};
}
