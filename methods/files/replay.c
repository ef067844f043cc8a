/* Walks through a method without a queue. Reads the store, writes nothing. Invariant: the walk is
 * the same as in an active run, so the results of a finished run are the same, bit for bit. */
#include "methods/files/replay.h"

#include "common/base/alloc.h"
#include "coordinator/store/calls/lookup.h"
#include "methods/grid/answers.h"
#include "methods/stats/stats.h"

#include <stdio.h>
#include <string.h>

#define UNDECIDED_MAX ((size_t)1 << 28)
#define STAGES_MAX    4096

struct walk {
    const struct vq_job *job;
    struct vq_calls *calls;
    const struct vq_id *run;
    struct vq_replay *replay;
    struct vq_script script;
    struct vq_stage_grid *asking;
    uint8_t *outcomes;
    struct vq_error *err;
};

static enum vq_status read_column(struct walk *w)
{
    const struct vq_grid *g = &w->asking->plan.grid;
    struct vq_view *view;
    VQ_TRY(VQ_ALLOC(w->outcomes, vq_grid_tasks(g)));
    VQ_TRY(vq_view_begin(w->calls, &view, w->err));
    enum vq_status status = VQ_OK;
    for (uint64_t shard = 0; status == VQ_OK && shard < vq_grid_shards(g); shard++) {
        status = vq_lookup_outcomes(view, &w->asking->plan, w->run, shard,
                                    w->outcomes + shard * vq_grid_shard_tasks(g), w->err);
    }
    vq_view_end(&view);
    return status;
}

/* Stages name rows of the data, and stage grids count them from 0. So the record of a grid's sample
 * is looked up. */
static enum vq_status note_undecided(struct walk *w, const struct vq_stage *stage,
                                     const struct vq_cell *cell)
{
    struct vq_replay *r = w->replay;
    int64_t record = vq_job_record(w->job, w->asking, cell->sample);
    if (record < 0) { /* an answer of a subject, not a record of the data: it is only counted */
        return VQ_OK;
    }
    VQ_TRY(vq_grow((void **)&r->undecided, &r->undecided_cap, r->undecided_count + 1,
                   sizeof(*r->undecided), UNDECIDED_MAX));
    struct vq_undecided *u = &r->undecided[r->undecided_count++];
    u->record = record;
    u->judge = cell->judge;
    (void)snprintf(u->vibe, sizeof(u->vibe), "%s",
                   vq_stage_has_axes(stage->kind) ? stage->axes[cell->vibe].name : "preference");
    return VQ_OK;
}

static enum vq_status count_open(struct walk *w, const struct vq_stage *stage, uint64_t *ret_open)
{
    const struct vq_grid *g = &w->asking->plan.grid;
    bool rows = vq_stage_shows_outputs(stage->kind);
    uint64_t open = 0;
    for (uint64_t t = 0; t < vq_grid_tasks(g); t += 2) {
        uint64_t cell_open =
            (w->outcomes[t] == VQ_OUTCOME_NONE) + (uint64_t)(w->outcomes[t + 1] == VQ_OUTCOME_NONE);
        open += cell_open;
        if (cell_open > 0 && rows) {
            struct vq_cell cell = vq_grid_cell(g, t);
            VQ_TRY(note_undecided(w, stage, &cell));
        }
    }
    *ret_open = open;
    return VQ_OK;
}

static enum vq_status walk_stage(struct walk *w, const struct vq_stage *stage)
{
    struct vq_grid_source source = vq_job_source(w->job);
    VQ_TRY(vq_stage_grid_create(&source, stage, &w->asking, w->err));
    VQ_TRY(read_column(w));
    uint64_t open;
    VQ_TRY(count_open(w, stage, &open));
    if (w->replay->open == 0) {
        w->replay->open_first = open;
        w->replay->open_stage = stage->no;
    }
    w->replay->open += open;
    bool builds = stage->kind == VQ_STAGE_TEXT || stage->kind == VQ_STAGE_EMBED ||
                  vq_stage_talks(stage->kind);
    if (open > 0 && builds) {
        (void)snprintf(w->replay->stage, sizeof(w->replay->stage), "%s", stage->name);
        return VQ_OK;
    }
    return vq_answers_take(&w->script, w->asking, w->outcomes, w->calls, w->run, w->err);
}

static enum vq_status leave_stage(struct walk *w)
{
    struct vq_replay *r = w->replay;
    vq_free(w->outcomes);
    w->outcomes = NULL;
    if (w->asking == NULL) {
        return VQ_OK;
    }
    VQ_TRY(vq_grow((void **)&r->stages, &r->stages_cap, r->stages_count + 1, sizeof(*r->stages),
                   STAGES_MAX));
    vq_stage_grid_retire(w->asking);
    r->stages[r->stages_count++] = w->asking;
    w->asking = NULL;
    return VQ_OK;
}

static const struct vq_stage_grid *stage_of(const void *of, uint32_t no)
{
    const struct vq_replay *r = of;
    for (uint32_t i = r->stages_count; i > 0; i--) {
        if (r->stages[i - 1]->no == no) {
            return r->stages[i - 1];
        }
    }
    return NULL;
}

static enum vq_status walk_script(struct walk *w)
{
    const struct vq_answered from = {
        .stage = stage_of, .of = w->replay, .calls = w->calls, .run = w->run};
    enum vq_status status = VQ_OK;
    while (status == VQ_OK && w->replay->stage[0] == '\0') {
        const struct vq_stage *stage;
        status = vq_answers_next(&w->script, &from, &stage, w->err);
        if (status != VQ_OK || stage == NULL) {
            w->replay->whole = status == VQ_OK;
            break;
        }
        status = walk_stage(w, stage);
        enum vq_status left = leave_stage(w);
        status = status == VQ_OK ? left : status;
    }
    vq_stage_grid_destroy(&w->asking);
    return status;
}

enum vq_status vq_replay_walk(const struct vq_job *job, struct vq_calls *calls,
                              const struct vq_id *run, const struct vq_script *script,
                              struct vq_replay *ret_replay, struct vq_error *err)
{
    struct vq_replay replay = {.whole = false};
    struct walk w = {.job = job, .calls = calls, .run = run, .replay = &replay, .err = err};
    if (script != NULL) {
        w.script = *script;
    } else {
        vq_stats_init();
        VQ_TRY(vq_method_script_open(job, &replay.method, err));
        w.script = replay.method.script;
    }
    enum vq_status status = walk_script(&w);
    if (status != VQ_OK) {
        vq_replay_free(&replay);
        return status;
    }
    *ret_replay = replay;
    return VQ_OK;
}

void vq_replay_free(struct vq_replay *replay)
{
    vq_method_script_close(&replay->method);
    for (uint32_t i = 0; i < replay->stages_count; i++) {
        vq_stage_grid_destroy(&replay->stages[i]);
    }
    vq_free(replay->stages);
    vq_free(replay->undecided);
    *replay = (struct vq_replay){.whole = false};
}
