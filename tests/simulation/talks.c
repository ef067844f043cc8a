/* Dialogues in the simulated run: some runs have stages of kind chat, whose samples are chains. In
 * half of these runs some chains begin as another one does, and may be the same to the end. In
 * half, whether chains begin alike or not, the endpoint says the same whenever it is asked the
 * same, and then every turn that is ever asked must be the one of the undisturbed dialogue. In the
 * others two calls of one request may say different things, so that workers go astray. */
#include "tests/simulation/sim.h"

#include "common/base/alloc.h"

#include <stdio.h>

#define TEXT_BYTES  64
#define SAYINGS     64
#define TURNS_OF(i) (SIM_AXES_MAX - (i) % 3)

struct begins { /* a chain, as another one before it */
    uint32_t of, turns;
};

/* Which chain asks turn k of chain i: itself, or one that it begins like. */
static uint32_t asks_like(const struct begins *begins, uint32_t i, uint32_t k)
{
    while (k < begins[i].turns) {
        i = begins[i].of;
    }
    return i;
}

static void draw_begins(struct sim *s, struct begins begins[SIM_SAMPLES])
{
    struct vq_rng rng; /* of its own: other seeds stay as they are */
    vq_rng_seed(&rng, s->options.seed ^ UINT64_C(0x7b1d20c9e5a4f386));
    double p = s->options.small != NULL || vq_rng_unit(&rng) < 0.5 ? 0 : vq_rng_unit(&rng);
    for (uint32_t i = 0; i < SIM_SAMPLES; i++) {
        begins[i] = (struct begins){0, 0};
        if (i > 0 && vq_rng_unit(&rng) < p) {
            begins[i].of = (uint32_t)vq_rng_below(&rng, i);
            begins[i].turns = 1 + (uint32_t)vq_rng_below(&rng, TURNS_OF(begins[i].of));
        }
    }
    s->talks.chains = p > 0 ? 1 + (uint32_t)vq_rng_below(&rng, SIM_SAMPLES) : 0;
}

void sim_talks_make(struct sim *s)
{
    struct sim_talks *t = &s->talks;
    vq_rng_seed(&t->rng, s->options.seed ^ UINT64_C(0x51d7348a9be0c6f3));
    t->p = s->options.small != NULL || vq_rng_unit(&t->rng) < 0.6 ? 0 : vq_rng_unit(&t->rng);
    t->same = vq_rng_unit(&t->rng) < 0.5;
    t->turns = 1 + (uint32_t)vq_rng_below(&t->rng, SIM_AXES_MAX);
    t->p_bad = vq_rng_unit(&t->rng) < 0.5 ? 0 : 0.2 * vq_rng_unit(&t->rng);
    t->texts = vq_alloc(SIM_SAMPLES + SAYINGS, TEXT_BYTES);
    vq_buf_init(&t->packed, 1u << 16);
    VQ_ASSERT(t->texts != NULL);
    char *at = t->texts;
    size_t ends[SIM_SAMPLES];
    struct begins begins[SIM_SAMPLES];
    draw_begins(s, begins);
    for (uint32_t i = 0; i < SIM_SAMPLES; i++) {
        for (uint32_t k = 0; k < TURNS_OF(i) || k < begins[i].turns; k++) {
            (void)snprintf(at, TEXT_BYTES, "And question %u, of %u?", k,
                           asks_like(begins, i, k) / 2 * 2);
            vq_chain_pack(&t->packed, vq_span_str(at));
        }
        ends[i] = t->packed.bytes;
    }
    VQ_ASSERT(t->packed.status == VQ_OK);
    for (uint32_t i = 0; i < SIM_SAMPLES; i++) { /* two that ask the same differ in who is asked */
        size_t from = i == 0 ? 0 : ends[i - 1];
        uint32_t who = asks_like(begins, i, 0);
        if (who % 2 != 0) {
            (void)snprintf(at, TEXT_BYTES, "You are number %u.", who);
        }
        t->samples[i].a = vq_span_str(at);
        t->samples[i].prompt = vq_span(t->packed.at + from, ends[i] - from);
        vq_chain_identify(&t->samples[i], &t->ids[i]);
        at += TEXT_BYTES;
    }
    for (uint32_t i = 0; i < SAYINGS; i++) {
        (void)snprintf(at, TEXT_BYTES, "Well, %u.", i);
        t->sayings[i] = at;
        at += TEXT_BYTES;
    }
}

void sim_talks_free(struct sim *s)
{
    vq_free(s->talks.texts);
    vq_buf_free(&s->talks.packed);
}

bool sim_talks_stage(struct sim *s)
{
    return s->talks.p > 0 && vq_rng_unit(&s->talks.rng) < s->talks.p;
}

struct vq_chain_alike *sim_talks_alike(const struct sim_stage *st)
{
    uint32_t shards = (uint32_t)vq_grid_shards(&st->grid);
    struct vq_chain_asked *asked = vq_alloc(shards, sizeof(*asked));
    struct vq_chain_alike *alike = vq_alloc(shards, sizeof(*alike));
    bool any;
    VQ_ASSERT(asked != NULL && alike != NULL);
    for (uint32_t i = 0; i < shards; i++) {
        const struct vq_sample *chain = &st->samples[i / st->grid.judges];
        asked[i] = (struct vq_chain_asked){chain->a, chain->prompt, i % st->grid.judges};
    }
    VQ_ASSERT(vq_chains_alike(asked, shards, alike, &any) == VQ_OK);
    vq_free(asked);
    if (!any) {
        vq_free(alike);
        return NULL;
    }
    return alike;
}

/* ---- what is said ---- */

/* Of a request: what the endpoint says each time, if it always says the same. */
static const char *saying(const struct sim *s, const struct vq_hash *request, bool *ret_refusal)
{
    const struct sim_talks *t = &s->talks;
    *ret_refusal = request->b[12] < 255 * t->p_bad / 2;
    if (request->b[13] < 255 * t->p_bad / 2) {
        return " ";
    }
    return t->sayings[request->b[14] % SAYINGS];
}

const char *sim_talks_answer(struct sim *s, const struct vq_hash *request, bool *ret_refusal)
{
    struct vq_hash draw = *request;
    for (int i = 12; !s->talks.same && i < 15; i++) {
        draw.b[i] = (uint8_t)vq_rng_below(&s->talks.rng, 256);
    }
    return saying(s, &draw, ret_refusal);
}

/* ---- what must hold ---- */

/* A turn that another process of this worker, or somebody whose answer stands, did: it is in the
 * store, or in the worker's spool. */
static bool is_safe(struct sim *s, const struct sim_worker *w, uint64_t task, struct vq_span answer)
{
    struct vq_task_view view;
    sim_store_state(&s->store, task, &view);
    if (!w->has_spool || vq_outcome_is_good(view.outcome)) {
        return true;
    }
    for (size_t n = 0; n < w->spool.count; n++) {
        const struct sim_spooled *record = &w->spool.records[n];
        struct vq_result result;
        if (record->written_answer && record->sent.task == task && record->sent.stage == s->stage &&
            record->encoded != NULL &&
            vq_result_decode(s->decoder, vq_span(record->encoded, record->encoded_bytes), &result,
                             NULL) == VQ_OK &&
            vq_span_eq(result.answer, answer)) {
            return true;
        }
    }
    return false;
}

/* In order, without a hole, behind what is safe; and, where the endpoint says the same each time,
 * what an undisturbed run would say. */
void sim_talks_check(struct sim *s, uint32_t worker, const struct vq_work_call *call)
{
    const struct sim_stage *st = &s->stages[call->stage];
    struct vq_cell cell = vq_grid_cell(&st->grid, call->task);
    struct vq_span rest = call->sample->prompt;
    struct vq_span query;
    struct vq_chain_state state;
    struct vq_hash request;
    if (call->turns_count != cell.vibe || cell.order != 0) {
        sim_fail(s, "turn %u of a chain is asked behind %u answers", cell.vibe, call->turns_count);
        return;
    }
    VQ_ASSERT(vq_chain_unpack(&rest, &query));
    vq_chain_begin(call->sample->a, query, &state);
    for (uint32_t k = 0; k < call->turns_count; k++) {
        bool refusal;
        vq_chain_request(&st->askers[cell.judge], &state, 0, &request);
        uint64_t task = call->task - 2 * (uint64_t)(cell.vibe - k);
        if (s->talks.same && s->store.repeat_max == 0 &&
            !vq_span_eq(call->turns[k], vq_span_str(saying(s, &request, &refusal)))) {
            sim_fail(s, "worker %u asks behind an answer to turn %u that was never given", worker,
                     k);
        }
        if (call->stage == s->stage && !is_safe(s, &s->workers[worker], task, call->turns[k])) {
            sim_fail(s, "worker %u asks turn %u, and its answer to turn %u is not in its spool",
                     worker, cell.vibe, k);
        }
        VQ_ASSERT(vq_chain_unpack(&rest, &query));
        vq_chain_go_on(&state, call->turns[k], query);
    }
    vq_chain_request(&st->askers[cell.judge], &state, call->repeat, &request);
    if (!vq_hash_eq(&request, &call->request)) {
        sim_fail(s, "the request of turn %u is not what its dialogue says", cell.vibe);
    }
}

/* No hole: behind a turn without a good answer everything is blocked, and nothing else is. */
void sim_talks_check_end(struct sim *s)
{
    const struct vq_grid *g = &s->store.grid;
    for (uint64_t shard = 0; s->store.chains != NULL && shard < vq_grid_shards(g); shard++) {
        bool ended = false;
        for (uint32_t k = 0; k < g->vibes; k++) {
            struct vq_task_view view;
            sim_store_state(&s->store, (shard * g->vibes + k) * 2, &view);
            bool asked = view.outcome != VQ_OUTCOME_NOT_NEEDED;
            if (asked && (view.outcome == VQ_OUTCOME_BLOCKED) != ended) {
                sim_fail(s, "turn %u of chain %llu is %s", k, (unsigned long long)shard,
                         vq_outcome_name(view.outcome));
            }
            ended |= asked && !vq_outcome_is_good(view.outcome);
        }
    }
}
