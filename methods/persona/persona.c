/* The walk of the script: dialogues, their ratings, then two steps per data set: its questions, and
 * the ratings of the answers. A step has pieces: the questions of one stage, or the ratings against
 * one reference. A piece plans its stages, which wait in a queue; when the queue is empty, the next
 * piece is planned. Texts of items live as long as their piece, answers to a data set until the
 * next set begins, dialogues as long as the persona. Not its job: the contents of stages (talks.c,
 * rates.c). */
#include "common/base/alloc.h"
#include "common/judge/chain.h"
#include "methods/persona/script.h"

#include <stdlib.h>

/* ---- creation ---- */

static enum vq_status fill_systems(struct vq_persona *p)
{
    const struct vq_persona_plan *plan = p->in.plan;
    VQ_TRY(VQ_ARENA_ALLOC(&p->keep, p->systems, (size_t)plan->design.models * plan->askers));
    for (uint32_t i = 0; i < plan->design.models * plan->askers; i++) {
        uint32_t persona = i % plan->askers;
        struct vq_buf text;
        vq_buf_init(&text, VQ_ARENA_TEXT_BYTES_MAX);
        enum vq_status status = vq_persona_system(
            p->in.template, &p->in.subjects[i / plan->askers],
            vq_persona_is_baseline(plan, persona) ? NULL : &p->in.personas[persona], &text);
        if (status != VQ_OK) {
            vq_buf_free(&text);
            return status;
        }
        VQ_TRY(vq_arena_take(&p->keep, &text, &p->systems[i]));
    }
    return VQ_OK;
}

static enum vq_status query_text(struct vq_persona *p, const struct vq_persona_chain *chain,
                                 uint32_t query, struct vq_span *ret_text)
{
    const struct vq_persona_script *script = &p->in.plan->design.scripts[chain->script];
    const char *text = vq_persona_query(script, &p->in.queries[chain->script], query);
    uint32_t last = p->in.plan->design.rounds - 1;
    bool remark = (script->opening && query == 0) || (script->closing && query == last);
    if (!remark) {
        *ret_text = vq_span_str(text);
        return VQ_OK;
    }
    const struct vq_conf_subject *subject = &p->in.subjects[chain->model];
    const char *role = !vq_persona_is_baseline(p->in.plan, chain->persona)
                           ? p->in.personas[chain->persona].name
                       : subject->called != NULL ? subject->called
                                                 : subject->judge.name;
    struct vq_buf out;
    vq_buf_init(&out, VQ_ARENA_TEXT_BYTES_MAX);
    vq_remark_render(text, vq_span_str(role), &out);
    return vq_arena_take(&p->keep, &out, ret_text);
}

static enum vq_status fill_queries(struct vq_persona *p)
{
    const struct vq_persona_plan *plan = p->in.plan;
    uint32_t rounds = plan->design.rounds;
    size_t n = (size_t)plan->chains_count * rounds;
    VQ_TRY(VQ_ARENA_ALLOC(&p->keep, p->queries, n));
    VQ_TRY(VQ_ARENA_ALLOC(&p->keep, p->answers, n));
    VQ_TRY(VQ_ARENA_ALLOC(&p->keep, p->turns, plan->chains_count));
    VQ_TRY(VQ_ARENA_ALLOC(&p->keep, p->why, plan->chains_count));
    VQ_TRY(VQ_ARENA_ALLOC(&p->keep, p->tokens, n));
    for (size_t i = 0; i < n; i++) {
        const struct vq_persona_chain *chain = &plan->chains[i / rounds];
        size_t row = (size_t)chain->script * plan->orders + chain->order;
        VQ_TRY(query_text(p, chain, plan->queries[row * rounds + i % rounds], &p->queries[i]));
    }
    return VQ_OK;
}

/* The limit holds because a worker gets the system part and all queries of a dialogue in one
 * message. */
static enum vq_status check_bytes(const struct vq_persona *p, struct vq_error *err)
{
    const struct vq_persona_plan *plan = p->in.plan;
    uint32_t rounds = plan->design.rounds;
    for (uint32_t i = 0; i < plan->chains_count; i++) {
        const struct vq_persona_chain *c = &plan->chains[i];
        size_t bytes = p->systems[(size_t)c->model * plan->askers + c->persona].bytes;
        for (uint32_t k = 0; k < rounds; k++) {
            bytes += p->queries[(size_t)i * rounds + k].bytes;
        }
        if (bytes > VQ_CHAIN_ASKED_BYTES_MAX) {
            enum vq_persona_kind kind = plan->design.scripts[c->script].kind;
            return vq_fail(err, VQ_LIMIT,
                           "dialogues.%s: a persona's text and the queries of %u rounds have %zu "
                           "bytes together; at most %u can be sent. Ask for fewer rounds, or "
                           "shorten the queries",
                           vq_persona_kind_name(kind), rounds, bytes, VQ_CHAIN_ASKED_BYTES_MAX);
        }
    }
    return VQ_OK;
}

enum vq_status vq_persona_create(const struct vq_persona_input *input,
                                 struct vq_persona **ret_persona, struct vq_error *err)
{
    struct vq_persona *p;
    VQ_TRY(VQ_ALLOC(p, 1));
    p->in = *input;
    enum vq_status status = fill_systems(p);
    if (status == VQ_OK) {
        status = fill_queries(p);
    }
    status = status == VQ_OK ? check_bytes(p, err)
                             : vq_fail(err, status, "the dialogues cannot be laid out: %s",
                                       vq_status_text(status));
    if (status != VQ_OK) {
        vq_persona_destroy(&p);
        return status;
    }
    *ret_persona = p;
    return VQ_OK;
}

void vq_persona_destroy(struct vq_persona **persona)
{
    struct vq_persona *p = *persona;
    if (p == NULL) {
        return;
    }
    vq_intern_free(&p->prompts);
    vq_arena_clear(&p->of_stage);
    vq_arena_clear(&p->of_set);
    vq_arena_clear(&p->keep);
    vq_free(p->parts);
    vq_free(p->rated);
    vq_free(p->places);
    vq_free(p);
    *persona = NULL;
}

/* ---- the queue ---- */

struct vq_persona_pending *vq_persona_enqueue(struct vq_persona *p, const struct vq_stage *stage)
{
    VQ_ASSERT(p->queued < VQ_PERSONA_QUEUE_MAX);
    struct vq_persona_pending *pending = &p->queue[p->queued++];
    *pending = (struct vq_persona_pending){.stage = *stage, .part = VQ_PERSONA_NONE};
    pending->stage.no = p->stages++;
    return pending;
}

struct twin {
    const struct vq_sample_id *id;
    uint32_t group, index;
};

static int compare_twins(const void *a, const void *b)
{
    const struct twin *x = a, *y = b;
    int order = memcmp(x->id->id.b, y->id->id.b, sizeof(x->id->id.b));
    if (order == 0) {
        order = (x->id->flipped > y->id->flipped) - (x->id->flipped < y->id->flipped);
    }
    if (order == 0) {
        order = (x->group > y->group) - (x->group < y->group);
    }
    return order != 0 ? order : (x->index > y->index) - (x->index < y->index);
}

enum vq_status vq_persona_twins(struct vq_persona *p, const struct vq_sample_id *ids,
                                const uint32_t *groups, const uint8_t *asked, uint32_t count,
                                uint8_t *ret_twin)
{
    struct twin *twins;
    VQ_TRY(VQ_ARENA_ALLOC(&p->of_stage, twins, count));
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++) {
        ret_twin[i] = 0;
        if (asked[i]) {
            twins[n++] = (struct twin){&ids[i], groups == NULL ? 0 : groups[i], i};
        }
    }
    qsort(twins, n, sizeof(*twins), compare_twins);
    for (uint32_t i = 1; i < n; i++) {
        const struct twin *before = &twins[i - 1], *at = &twins[i];
        ret_twin[at->index] = memcmp(before->id->id.b, at->id->id.b, sizeof(at->id->id.b)) == 0 &&
                              before->id->flipped == at->id->flipped && before->group == at->group;
    }
    return VQ_OK;
}

/* ---- the walk ---- */

/* Plans a step, or the next piece of it. */
static enum vq_status lay_step(struct vq_persona *p)
{
    uint32_t set = p->step < 2 ? 0 : (p->step - 2) / 2;
    uint32_t pieces = 0;
    enum vq_status status;
    if (p->step == 0) {
        status = vq_persona_lay_chat(p);
    } else if (p->step == 1) {
        status = p->in.turn_rubrics > 0 ? vq_persona_lay_turns(p) : VQ_OK;
    } else if (p->step % 2 == 0) {
        status = vq_persona_lay_probe(p, set);
        pieces = vq_persona_columns(&p->in.plan->design.sets[set]);
    } else {
        status = vq_persona_lay_answers(p, set);
        pieces = VQ_PERSONA_REFERENCES;
    }
    if (p->piece >= pieces) {
        p->step++;
        p->piece = 0;
    }
    return status;
}

static enum vq_status next(void *ctx, const struct vq_stage **ret_stage, struct vq_error *err)
{
    struct vq_persona *p = ctx;
    uint32_t steps = 2 + 2 * p->in.plan->design.sets_count;
    while (p->first == p->queued && p->step < steps) {
        p->first = p->queued = 0;
        vq_arena_clear(&p->of_stage);
        vq_intern_free(&p->prompts);
        enum vq_status status = lay_step(p);
        if (status != VQ_OK) {
            return vq_fail(err, status, "the next stage cannot be laid out: %s",
                           vq_status_text(status));
        }
    }
    *ret_stage = p->first < p->queued ? &p->queue[p->first].stage : NULL;
    return VQ_OK;
}

static enum vq_status take_texts(void *ctx, const struct vq_span *texts, size_t count,
                                 struct vq_error *err)
{
    (void)count;
    struct vq_persona *p = ctx;
    const struct vq_persona_pending *at = &p->queue[p->first];
    VQ_ASSERT(p->first < p->queued && vq_stage_talks(at->stage.kind));
    enum vq_status status = at->stage.kind == VQ_STAGE_CHAT ? vq_persona_hear_chat(p, texts)
                                                            : vq_persona_hear_probe(p, at, texts);
    p->first++;
    return status == VQ_OK ? VQ_OK : vq_fail(err, status, "%s", vq_status_text(status));
}

static enum vq_status take_tokens(void *ctx, const struct vq_turn_tokens *tokens, size_t count,
                                  struct vq_error *err)
{
    struct vq_persona *p = ctx;
    (void)err;
    VQ_ASSERT(p->first < p->queued && p->queue[p->first].stage.kind == VQ_STAGE_CHAT &&
              count == (size_t)p->in.plan->chains_count * p->in.plan->design.models *
                           p->in.plan->design.rounds);
    vq_persona_hear_tokens(p, tokens);
    return VQ_OK;
}

static enum vq_status take_outcomes(void *ctx, const uint8_t *outcomes, size_t count,
                                    struct vq_error *err)
{
    struct vq_persona *p = ctx;
    VQ_ASSERT(p->first < p->queued && p->queue[p->first].part != VQ_PERSONA_NONE);
    struct vq_persona_part *part = &p->parts[p->queue[p->first].part];
    part->outcomes = vq_arena_copy(&p->keep, outcomes, count, 1);
    p->first++;
    return part->outcomes == NULL ? vq_fail(err, VQ_NOMEM, "out of memory") : VQ_OK;
}

static void read_by(void *ctx, const struct vq_reader *reader)
{
    struct vq_persona *p = ctx;
    p->from_store = p->from_store || reader != NULL;
    p->reader = reader;
}

static uint32_t notes(const void *ctx, const char *const **ret_notes)
{
    (void)ctx;
    *ret_notes = NULL;
    return 0;
}

struct vq_script vq_persona_script(struct vq_persona *persona)
{
    static const struct vq_script_ops ops = {.next = next,
                                             .take_outcomes = take_outcomes,
                                             .take_texts = take_texts,
                                             .notes = notes,
                                             .take_tokens = take_tokens,
                                             .read_by = read_by};
    return (struct vq_script){&ops, persona};
}

/* ---- queries ---- */

const struct vq_persona_input *vq_persona_input(const struct vq_persona *persona)
{
    return &persona->in;
}

uint32_t vq_persona_parts_count(const struct vq_persona *persona)
{
    return persona->parts_count;
}

const struct vq_stage *vq_persona_part(const struct vq_persona *persona, uint32_t part)
{
    VQ_ASSERT(part < persona->parts_count);
    return &persona->parts[part].stage;
}

const uint8_t *vq_persona_outcomes(const struct vq_persona *persona, uint32_t part)
{
    VQ_ASSERT(part < persona->parts_count);
    return persona->parts[part].outcomes;
}

size_t vq_persona_rated_count(const struct vq_persona *persona)
{
    return persona->rated_count;
}

const struct vq_persona_rated *vq_persona_rated(const struct vq_persona *persona)
{
    return persona->rated;
}

const struct vq_persona_place *vq_persona_places(const struct vq_persona *persona)
{
    return persona->places;
}

void vq_persona_talk(const struct vq_persona *persona, uint32_t chain,
                     struct vq_persona_talk *ret_talk)
{
    const struct vq_persona_plan *plan = persona->in.plan;
    const struct vq_persona_chain *c = &plan->chains[chain];
    size_t first = (size_t)chain * plan->design.rounds;
    *ret_talk = (struct vq_persona_talk){
        .system = persona->systems[(size_t)c->model * plan->askers + c->persona],
        .queries = persona->queries + first,
        .answers = persona->answers + first,
        .turns = persona->turns[chain],
        .why = (enum vq_outcome)persona->why[chain]};
}
