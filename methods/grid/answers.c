/* Hands the answers of a finished stage to the script: verdicts from the column, texts and vectors
 * from the call store. Invariant: a task without an answer is handed over as such; the script
 * decides what to do about it. */
#include "methods/grid/answers.h"

#include "common/base/alloc.h"
#include "common/base/arena.h"
#include "common/judge/ending.h"
#include "common/judge/margin.h"
#include "common/judge/vectors.h"
#include "coordinator/store/calls/lookup.h"

#include <math.h>
#include <string.h>

struct of {
    const struct vq_script *script;
    const struct vq_stage_grid *asking;
    const uint8_t *outcomes;
    const struct vq_id *run;
    struct vq_view *view;
    struct vq_arena memory; /* until the script has the answers */
};

/* `task` is the task's first order, because the stage asks no other. */
static enum vq_status text_of(const struct of *o, uint64_t task, struct vq_span *ret_text,
                              struct vq_error *err)
{
    const struct vq_plan *plan = &o->asking->plan;
    struct vq_answer answer;
    bool repaired;
    if (o->outcomes[task] != VQ_OUTCOME_TEXT) {
        *ret_text = vq_span(NULL, o->outcomes[task]);
        return VQ_OK;
    }
    VQ_TRY(vq_lookup_standing(o->view, plan, o->run, task, &answer, &repaired, err));
    *ret_text = answer.answer;
    return VQ_OK;
}

/* One per sample and model; in a stage of dialogues one per turn or question. */
static size_t texts_count(const struct vq_stage_grid *asking)
{
    return (size_t)(vq_grid_tasks(&asking->plan.grid) / 2);
}

/* How an answer ended: as a text, empty, or with thinking only. */
static enum vq_status ending_of(const struct of *o, uint64_t task, uint8_t *ret_ending,
                                struct vq_error *err)
{
    uint8_t outcome = o->outcomes[task];
    struct vq_answer answer;
    bool repaired;
    *ret_ending = VQ_ENDING_ORDINARY;
    if (!vq_outcome_is_answered(outcome) || outcome == VQ_OUTCOME_REFUSED) {
        return VQ_OK;
    }
    VQ_TRY(vq_lookup_standing(o->view, &o->asking->plan, o->run, task, &answer, &repaired, err));
    *ret_ending = (uint8_t)vq_ending_of(answer.finish_reason, answer.refusal);
    return VQ_OK;
}

static enum vq_status take_endings(struct of *o, size_t count, struct vq_error *err)
{
    const struct vq_script_ops *ops = o->script->ops;
    uint8_t *endings;
    if (o->asking->kind != VQ_STAGE_TEXT || ops->take_endings == NULL) {
        return VQ_OK;
    }
    VQ_TRY(VQ_ARENA_ALLOC(&o->memory, endings, count));
    for (size_t i = 0; i < count; i++) {
        VQ_TRY(ending_of(o, 2 * i, &endings[i], err));
    }
    return ops->take_endings(o->script->ctx, endings, count, err);
}

/* Reads each chain in one walk. The first turn without an answer has the outcome that ended the
 * chain. */
static enum vq_status chains_of(struct of *o, struct vq_span *texts, size_t count,
                                struct vq_error *err)
{
    const struct vq_plan *plan = &o->asking->plan;
    const struct vq_script_ops *ops = o->script->ops;
    struct vq_turn_tokens *tokens;
    VQ_TRY(VQ_ARENA_ALLOC(&o->memory, tokens, count));
    for (uint64_t shard = 0; shard < vq_grid_shards(&plan->grid); shard++) {
        size_t first = shard * plan->grid.vibes;
        VQ_TRY(vq_lookup_chain(o->view, plan, o->run, shard, texts + first, tokens + first, err));
    }
    return ops->take_tokens == NULL ? VQ_OK : ops->take_tokens(o->script->ctx, tokens, count, err);
}

/* All calls' vectors as one matrix. If one call has no answer, or vectors of another width, there
 * is no matrix. */
static enum vq_status take_vectors(struct of *o, const struct vq_span *texts, struct vq_error *err)
{
    uint32_t calls = o->asking->plan.grid.samples;
    uint32_t dims = 0, rows = 0;
    float *all = NULL, *part;
    for (uint32_t i = 0; i < calls; i++) {
        uint32_t part_rows, part_dims;
        if (texts[i].at == NULL ||
            vq_vectors_decode(texts[i], &part, &part_rows, &part_dims) != VQ_OK) {
            break;
        }
        if (all == NULL) {
            dims = part_dims;
            all = vq_arena_alloc(&o->memory, (size_t)o->asking->texts_count * dims, sizeof(*all));
        }
        bool fits = part_dims == dims && rows + part_rows <= o->asking->texts_count;
        if (all != NULL && fits) {
            memcpy(all + (size_t)rows * dims, part, (size_t)part_rows * dims * sizeof(*all));
            rows += part_rows;
        }
        vq_free(part);
        VQ_TRY(vq_arena_status(&o->memory));
    }
    bool whole = all != NULL && rows == o->asking->texts_count;
    return o->script->ops->take_vectors(o->script->ctx, whole ? all : NULL, whole ? rows : 0, dims,
                                        err);
}

/* ---- verdicts ---- */

/* NaN: the task has no vote, or its provider sent no probabilities. */
static enum vq_status margin_of(const struct of *o, uint64_t task, float *ret_margin,
                                struct vq_error *err)
{
    struct vq_answer answer;
    struct vq_span text;
    bool repaired;
    double margin;
    *ret_margin = NAN;
    if (!vq_outcome_is_vote((enum vq_outcome)o->outcomes[task])) {
        return VQ_OK;
    }
    enum vq_status status =
        vq_lookup_standing(o->view, &o->asking->plan, o->run, task, &answer, &repaired, err);
    if (status == VQ_OK) {
        status = vq_lookup_logprobs(o->view, &answer.run, &answer.call, &text, err);
    }
    if (status == VQ_OK && vq_label_margin(text, &margin)) {
        *ret_margin = (float)margin;
    }
    return status == VQ_NOT_FOUND ? VQ_OK : status;
}

static enum vq_status take_verdicts(struct of *o, struct vq_error *err)
{
    uint64_t tasks = vq_grid_tasks(&o->asking->plan.grid);
    float *margins;
    if (o->asking->margins) {
        VQ_TRY(VQ_ARENA_ALLOC(&o->memory, margins, tasks));
        for (uint64_t t = 0; t < tasks; t++) {
            VQ_TRY(margin_of(o, t, &margins[t], err));
        }
        VQ_TRY(o->script->ops->take_margins(o->script->ctx, margins, tasks, err));
    }
    return o->script->ops->take_outcomes(o->script->ctx, o->outcomes, tasks, err);
}

static enum vq_status take_all(struct of *o, struct vq_error *err)
{
    if (vq_stage_shows_outputs(o->asking->kind)) {
        return take_verdicts(o, err);
    }
    size_t count = texts_count(o->asking);
    struct vq_span *texts;
    VQ_TRY(VQ_ARENA_ALLOC(&o->memory, texts, count));
    if (vq_stage_chains(o->asking->kind)) {
        VQ_TRY(chains_of(o, texts, count, err));
    } else {
        for (size_t i = 0; i < count; i++) {
            VQ_TRY(text_of(o, 2 * i, &texts[i], err));
        }
    }
    VQ_TRY(take_endings(o, count, err));
    return o->asking->kind == VQ_STAGE_EMBED
               ? take_vectors(o, texts, err)
               : o->script->ops->take_texts(o->script->ctx, texts, count, err);
}

enum vq_status vq_answers_take(const struct vq_script *script, const struct vq_stage_grid *asking,
                               const uint8_t *outcomes, struct vq_calls *calls,
                               const struct vq_id *run, struct vq_error *err)
{
    struct of o = {script, asking, outcomes, run, NULL, {0}};
    if (asking->margins || !vq_stage_shows_outputs(asking->kind)) { /* else there may be no store */
        VQ_TRY(vq_view_begin(calls, &o.view, err));
    }
    enum vq_status status = take_all(&o, err);
    vq_arena_clear(&o.memory);
    vq_view_end(&o.view);
    return status;
}

/* ---- reading stored answers again ---- */

static enum vq_status read_text(void *ctx, uint32_t stage, uint32_t cell, struct vq_span *ret_text,
                                struct vq_error *err)
{
    const struct vq_stage_reader *a = ctx;
    const struct vq_stage_grid *asking = a->from->stage(a->from->of, stage);
    VQ_ASSERT(asking != NULL);
    struct vq_answer answer;
    bool repaired;
    VQ_TRY(vq_lookup_standing(a->view, &asking->plan, a->from->run, 2 * (uint64_t)cell, &answer,
                              &repaired, err));
    *ret_text = answer.answer;
    return VQ_OK;
}

enum vq_status vq_answers_begin(const struct vq_answered *from, struct vq_stage_reader *ret_answers,
                                struct vq_error *err)
{
    struct vq_view *view;
    VQ_TRY(vq_view_begin(from->calls, &view, err));
    *ret_answers =
        (struct vq_stage_reader){.reader = {read_text, ret_answers}, .from = from, .view = view};
    return VQ_OK;
}

void vq_answers_end(struct vq_stage_reader *answers)
{
    vq_view_end(&answers->view);
}

enum vq_status vq_answers_next(const struct vq_script *script, const struct vq_answered *from,
                               const struct vq_stage **ret_stage, struct vq_error *err)
{
    struct vq_stage_reader answers = {.view = NULL};
    if (script->ops->read_by == NULL) {
        return script->ops->next(script->ctx, ret_stage, err);
    }
    VQ_TRY(vq_answers_begin(from, &answers, err));
    script->ops->read_by(script->ctx, &answers.reader);
    enum vq_status status = script->ops->next(script->ctx, ret_stage, err);
    script->ops->read_by(script->ctx, NULL);
    vq_answers_end(&answers);
    return status;
}
