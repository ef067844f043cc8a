/* Hands the answers of a finished stage to the script: verdicts from the column, texts and vectors
 * from the call store. Invariant: a task without an answer is handed over as such; the script
 * decides what to do about it. */
#include "methods/grid/answers.h"

#include "common/base/alloc.h"
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
};

/* `task` is the task's first order, because the stage asks no other. */
static enum vq_status text_of(const struct of *o, struct vq_view *view, uint64_t task,
                              struct vq_span *ret_text, struct vq_error *err)
{
    const struct vq_plan *plan = &o->asking->plan;
    struct vq_answer answer;
    bool repaired;
    if (o->outcomes[task] != VQ_OUTCOME_TEXT) {
        *ret_text = vq_span(NULL, o->outcomes[task]);
        return VQ_OK;
    }
    enum vq_status status = vq_lookup_standing(view, plan, o->run, task, &answer, &repaired, err);
    if (status == VQ_OK) {
        *ret_text = answer.answer;
    }
    return status;
}

/* One per sample and model; in a stage of dialogues one per turn or question. */
static size_t texts_count(const struct vq_stage_grid *asking)
{
    return (size_t)(vq_grid_tasks(&asking->plan.grid) / 2);
}

/* How an answer ended: as a text, empty, or with thinking only. */
static enum vq_status ending_of(const struct of *o, struct vq_view *view, uint64_t task,
                                uint8_t *ret_ending, struct vq_error *err)
{
    uint8_t outcome = o->outcomes[task];
    struct vq_answer answer;
    bool repaired;
    *ret_ending = VQ_ENDING_ORDINARY;
    if (!vq_outcome_is_answered(outcome) || outcome == VQ_OUTCOME_REFUSED) {
        return VQ_OK;
    }
    enum vq_status status =
        vq_lookup_standing(view, &o->asking->plan, o->run, task, &answer, &repaired, err);
    if (status == VQ_OK) {
        *ret_ending = (uint8_t)vq_ending_of(answer.finish_reason, answer.refusal);
    }
    return status;
}

static enum vq_status take_endings(const struct of *o, struct vq_view *view, size_t count,
                                   struct vq_error *err)
{
    const struct vq_script_ops *ops = o->script->ops;
    if (o->asking->kind != VQ_STAGE_TEXT || ops->take_endings == NULL) {
        return VQ_OK;
    }
    uint8_t *endings = vq_alloc(count, 1);
    enum vq_status status = endings == NULL ? VQ_NOMEM : VQ_OK;
    for (size_t i = 0; status == VQ_OK && i < count; i++) {
        status = ending_of(o, view, 2 * i, &endings[i], err);
    }
    if (status == VQ_OK) {
        status = ops->take_endings(o->script->ctx, endings, count, err);
    }
    vq_free(endings);
    return status;
}

/* Reads each chain in one walk. The first turn without an answer has the outcome that ended the
 * chain. */
static enum vq_status chains_of(const struct of *o, struct vq_view *view, struct vq_span *texts,
                                struct vq_error *err)
{
    const struct vq_plan *plan = &o->asking->plan;
    const struct vq_script_ops *ops = o->script->ops;
    size_t n = texts_count(o->asking);
    struct vq_turn_tokens *tokens = vq_alloc(n, sizeof(*tokens));
    enum vq_status status = tokens == NULL ? VQ_NOMEM : VQ_OK;
    for (uint64_t shard = 0; status == VQ_OK && shard < vq_grid_shards(&plan->grid); shard++) {
        size_t first = shard * plan->grid.vibes;
        status = vq_lookup_chain(view, plan, o->run, shard, texts + first, tokens + first, err);
    }
    if (status == VQ_OK && ops->take_tokens != NULL) {
        status = ops->take_tokens(o->script->ctx, tokens, n, err);
    }
    vq_free(tokens);
    return status;
}

static enum vq_status texts_of(const struct of *o, struct vq_view *view, struct vq_span **ret_texts,
                               struct vq_error *err)
{
    size_t n = texts_count(o->asking);
    struct vq_span *texts = vq_alloc(n, sizeof(*texts));
    enum vq_status status = texts == NULL ? VQ_NOMEM : VQ_OK;
    bool chains = vq_stage_chains(o->asking->kind);
    if (status == VQ_OK && chains) {
        status = chains_of(o, view, texts, err);
    }
    for (size_t i = 0; status == VQ_OK && !chains && i < n; i++) {
        status = text_of(o, view, 2 * i, &texts[i], err);
    }
    if (status != VQ_OK) {
        vq_free(texts);
        return status;
    }
    *ret_texts = texts;
    return VQ_OK;
}

/* All calls' vectors as one matrix. If one call has no answer, or vectors of another width, there
 * is no matrix. */
static enum vq_status take_vectors(const struct of *o, const struct vq_span *texts,
                                   struct vq_error *err)
{
    uint32_t calls = o->asking->plan.grid.samples;
    uint32_t dims = 0, rows = 0;
    float *all = NULL;
    enum vq_status status = VQ_OK;
    for (uint32_t i = 0; status == VQ_OK && i < calls; i++) {
        float *part;
        uint32_t part_rows, part_dims;
        if (texts[i].at == NULL ||
            vq_vectors_decode(texts[i], &part, &part_rows, &part_dims) != VQ_OK) {
            break;
        }
        if (all == NULL) {
            dims = part_dims;
            all = vq_alloc((size_t)o->asking->texts_count * dims, sizeof(*all));
            status = all == NULL ? VQ_NOMEM : VQ_OK;
        }
        bool fits = part_dims == dims && rows + part_rows <= o->asking->texts_count;
        if (status == VQ_OK && fits) {
            memcpy(all + (size_t)rows * dims, part, (size_t)part_rows * dims * sizeof(*all));
            rows += part_rows;
        }
        vq_free(part);
    }
    bool whole = all != NULL && rows == o->asking->texts_count;
    if (status == VQ_OK) {
        status = o->script->ops->take_vectors(o->script->ctx, whole ? all : NULL, whole ? rows : 0,
                                              dims, err);
    }
    vq_free(all);
    return status;
}

/* ---- verdicts ---- */

/* NaN: the task has no vote, or its provider sent no probabilities. */
static enum vq_status margin_of(const struct of *o, struct vq_view *view, uint64_t task,
                                float *ret_margin, struct vq_error *err)
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
        vq_lookup_standing(view, &o->asking->plan, o->run, task, &answer, &repaired, err);
    if (status == VQ_OK) {
        status = vq_lookup_logprobs(view, &answer.run, &answer.call, &text, err);
    }
    if (status == VQ_OK && vq_label_margin(text, &margin)) {
        *ret_margin = (float)margin;
    }
    return status == VQ_NOT_FOUND ? VQ_OK : status;
}

static enum vq_status take_margins(const struct of *o, struct vq_calls *calls, struct vq_error *err)
{
    uint64_t tasks = vq_grid_tasks(&o->asking->plan.grid);
    struct vq_view *view;
    float *margins;
    VQ_TRY(VQ_ALLOC(margins, tasks));
    enum vq_status status = vq_view_begin(calls, &view, err);
    if (status == VQ_OK) {
        for (uint64_t t = 0; status == VQ_OK && t < tasks; t++) {
            status = margin_of(o, view, t, &margins[t], err);
        }
        vq_view_end(&view);
    }
    if (status == VQ_OK) {
        status = o->script->ops->take_margins(o->script->ctx, margins, tasks, err);
    }
    vq_free(margins);
    return status;
}

enum vq_status vq_answers_take(const struct vq_script *script, const struct vq_stage_grid *asking,
                               const uint8_t *outcomes, struct vq_calls *calls,
                               const struct vq_id *run, struct vq_error *err)
{
    const struct of o = {script, asking, outcomes, run};
    if (vq_stage_shows_outputs(asking->kind)) {
        VQ_TRY(asking->margins ? take_margins(&o, calls, err) : VQ_OK);
        return script->ops->take_outcomes(script->ctx, outcomes, vq_grid_tasks(&asking->plan.grid),
                                          err);
    }
    struct vq_view *view;
    VQ_TRY(vq_view_begin(calls, &view, err));
    struct vq_span *texts = NULL;
    enum vq_status status = texts_of(&o, view, &texts, err);
    if (status == VQ_OK) {
        status = take_endings(&o, view, texts_count(asking), err);
    }
    if (status == VQ_OK && asking->kind != VQ_STAGE_EMBED) {
        status = script->ops->take_texts(script->ctx, texts, texts_count(asking), err);
    } else if (status == VQ_OK) {
        status = take_vectors(&o, texts, err);
    }
    vq_free(texts);
    vq_view_end(&view);
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
