/* Dialogues as chains, beginnings of dialogues as prefixes. A chain is asked of its own model alone: the cells of the others are
 * masked. Answers stay as they were given; a turn without one ends its dialogue here,
 * and so does one behind more bytes than a dialogue may have (VQ_CHAIN_BYTES_MAX). */
#include "common/judge/chain.h"
#include "coordinator/pipeline/persona/script.h"

#include <math.h>

#define PACKED_BYTES_MAX ((size_t)64 << 20)

/* One byte a cell of a stage with `each` axes an item and model, all of the item's own model's as `set` says. */
static uint8_t *mask(struct vq_persona *p, uint32_t items, uint32_t each)
{
    return vq_arena_alloc(&p->of_stage, (size_t)items * p->in.plan->design.models * each, 1);
}

static struct vq_span system_of(const struct vq_persona *p, uint32_t model, uint32_t persona)
{
    return p->systems[(size_t)model * p->in.plan->askers + persona];
}

/* ---- dialogues ---- */

static enum vq_status pack_queries(struct vq_persona *p, uint32_t chain, struct vq_span *ret_packed)
{
    uint32_t rounds = p->in.plan->design.rounds;
    struct vq_buf packed;
    vq_buf_init(&packed, PACKED_BYTES_MAX);
    for (uint32_t i = 0; i < rounds; i++) {
        vq_chain_pack(&packed, p->queries[(size_t)chain * rounds + i]);
    }
    return vq_arena_take(&p->of_stage, &packed, ret_packed);
}

enum vq_status vq_persona_lay_chat(struct vq_persona *p)
{
    const struct vq_persona_plan *plan = p->in.plan;
    uint32_t rounds = plan->design.rounds, models = plan->design.models;
    struct vq_sample *items = vq_arena_alloc(&p->of_stage, plan->chains_count, sizeof(*items));
    uint8_t *cells = mask(p, plan->chains_count, rounds);
    if (items == NULL || cells == NULL) {
        return VQ_NOMEM;
    }
    for (uint32_t c = 0; c < plan->chains_count; c++) {
        const struct vq_persona_chain *chain = &plan->chains[c];
        items[c] = (struct vq_sample){.a = system_of(p, chain->model, chain->persona),
                                      .b = vq_span("", 0)};
        VQ_TRY(pack_queries(p, c, &items[c].prompt));
        memset(cells + ((size_t)c * models + chain->model) * rounds, VQ_CELL_ASKED, rounds);
    }
    struct vq_stage stage = {.name = "dialogues",
                             .kind = VQ_STAGE_CHAT,
                             .role = VQ_ROLE_SUBJECT,
                             .items = items,
                             .items_count = plan->chains_count,
                             .turns = rounds,
                             .cells = models > 1 ? cells : NULL};
    (void)vq_persona_enqueue(p, &stage);
    return VQ_OK;
}

void vq_persona_hear_tokens(struct vq_persona *p, const struct vq_turn_tokens *tokens)
{
    const struct vq_persona_plan *plan = p->in.plan;
    uint32_t rounds = plan->design.rounds, models = plan->design.models;
    for (uint32_t c = 0; c < plan->chains_count; c++) {
        memcpy(p->tokens + (size_t)c * rounds,
               tokens + ((size_t)c * models + plan->chains[c].model) * rounds,
               rounds * sizeof(*tokens));
    }
}

void vq_persona_tokens(const struct vq_persona *persona, uint32_t chain, double *ret_tokens)
{
    uint32_t rounds = persona->in.plan->design.rounds;
    const struct vq_turn_tokens *turns = persona->tokens + (size_t)chain * rounds;
    for (uint32_t r = 0; r <= rounds; r++) {
        const struct vq_turn_tokens *at = &turns[r < rounds ? r : rounds - 1];
        double length = (double)at->in + (r == rounds ? (double)at->out : 0);
        bool known = turns[0].in > 0 && at->in > 0 && (r < rounds || at->out > 0);
        ret_tokens[r] = known ? length - (double)turns[0].in : (double)NAN;
    }
}

enum vq_status vq_persona_hear_chat(struct vq_persona *p, const struct vq_span *texts)
{
    const struct vq_persona_plan *plan = p->in.plan;
    uint32_t rounds = plan->design.rounds, models = plan->design.models;
    for (uint32_t c = 0; c < plan->chains_count; c++) {
        const struct vq_span *from = texts + ((size_t)c * models + plan->chains[c].model) * rounds;
        uint32_t turn = 0;
        size_t bytes = 0;
        for (; turn < rounds && from[turn].at != NULL && bytes <= VQ_CHAIN_BYTES_MAX; turn++) {
            bytes += from[turn].bytes;
            char *text = vq_arena_text(&p->keep, from[turn]);
            if (text == NULL) {
                return VQ_NOMEM;
            }
            p->answers[(size_t)c * rounds + turn] = vq_span(text, from[turn].bytes);
        }
        p->turns[c] = turn;
        p->why[c] = turn == rounds          ? VQ_OUTCOME_NONE
                    : from[turn].at != NULL ? VQ_OUTCOME_TOO_LONG
                                            : (uint8_t)from[turn].bytes;
    }
    return VQ_OK;
}

/* ---- what is asked behind their beginnings ---- */

static enum vq_status pack_prefix(struct vq_persona *p, const struct vq_persona_prefix *prefix,
                                  struct vq_span *ret_packed)
{
    size_t first = (size_t)prefix->chain * p->in.plan->design.rounds;
    struct vq_buf packed;
    vq_buf_init(&packed, PACKED_BYTES_MAX);
    for (uint32_t i = 0; i < prefix->rounds; i++) {
        vq_chain_pack(&packed, p->queries[first + i]);
        vq_chain_pack(&packed, p->answers[first + i]);
    }
    return vq_arena_take(&p->of_stage, &packed, ret_packed);
}

static const struct vq_axis *questions_of(struct vq_persona *p, uint32_t set)
{
    const struct vq_persona_probe *probe = &p->in.probes[set];
    uint32_t n = vq_persona_columns(&p->in.plan->design.sets[set]);
    struct vq_axis *axes = vq_arena_alloc(&p->of_stage, n, sizeof(*axes));
    for (uint32_t i = 0; axes != NULL && i < n; i++) {
        const char *text = i < probe->bound->count
                               ? probe->file->items[probe->bound->source[i]].text
                               : probe->bound->questions[i - probe->bound->count];
        axes[i] = (struct vq_axis){"question", text, ""};
    }
    return axes;
}

/* Prefixes that are asked in one stage: those that have a twin before them, or those that have none. */
static enum vq_status lay_prefixes(struct vq_persona *p, uint32_t set, bool twins,
                                   const struct vq_axis *axes)
{
    const struct vq_persona_plan *plan = p->in.plan;
    const struct vq_persona_set *of = &plan->design.sets[set];
    uint32_t columns = vq_persona_columns(of), models = plan->design.models, n = 0;
    struct vq_sample *items = vq_arena_alloc(&p->of_stage, plan->prefixes_count, sizeof(*items));
    uint32_t *from = vq_arena_alloc(&p->of_stage, plan->prefixes_count, sizeof(*from));
    uint8_t *cells = mask(p, plan->prefixes_count, columns);
    if (items == NULL || from == NULL || cells == NULL) {
        return VQ_NOMEM;
    }
    for (uint32_t i = 0; i < plan->prefixes_count; i++) {
        const struct vq_persona_prefix *prefix = &plan->prefixes[i];
        if ((prefix->twin != i) != twins || prefix->rounds > p->turns[prefix->chain]) {
            continue;
        }
        uint8_t *own = cells + ((size_t)n * models + prefix->model) * columns;
        for (uint32_t k = 0; k < columns; k++) {
            own[k] = vq_persona_asks(plan, of, i, k) ? VQ_CELL_ASKED : VQ_CELL_UNASKED;
        }
        items[n] = (struct vq_sample){.a = system_of(p, prefix->model, prefix->persona),
                                      .b = vq_span("", 0)};
        VQ_TRY(pack_prefix(p, prefix, &items[n].prompt));
        from[n++] = i;
    }
    const char *name =
        vq_arena_printf(&p->of_stage, twins ? "%.40s, shared" : "%.40s", p->in.probes[set].name);
    if (name == NULL || n == 0) {
        return name == NULL ? VQ_NOMEM : VQ_OK;
    }
    struct vq_stage stage = {.name = name,
                             .kind = VQ_STAGE_PROBE,
                             .role = VQ_ROLE_SUBJECT,
                             .items = items,
                             .items_count = n,
                             .axes = axes,
                             .axes_count = columns,
                             .cells = cells};
    vq_persona_enqueue(p, &stage)->from = from;
    return VQ_OK;
}

enum vq_status vq_persona_lay_probe(struct vq_persona *p, uint32_t set)
{
    const struct vq_persona_plan *plan = p->in.plan;
    size_t cells = (size_t)plan->prefixes_count * vq_persona_columns(&plan->design.sets[set]);
    vq_arena_clear(&p->of_set);
    p->said = vq_arena_alloc(&p->of_set, cells, sizeof(*p->said));
    const struct vq_axis *axes = questions_of(p, set);
    if (p->said == NULL || axes == NULL) {
        return VQ_NOMEM;
    }
    VQ_TRY(lay_prefixes(p, set, false, axes));
    return lay_prefixes(p, set, true, axes);
}

enum vq_status vq_persona_hear_probe(struct vq_persona *p, const struct vq_persona_pending *pending,
                                     const struct vq_span *texts)
{
    uint32_t columns = pending->stage.axes_count, models = p->in.plan->design.models;
    for (uint32_t i = 0; i < pending->stage.items_count; i++) {
        uint32_t prefix = pending->from[i];
        const struct vq_span *from =
            texts + ((size_t)i * models + p->in.plan->prefixes[prefix].model) * columns;
        for (uint32_t k = 0; k < columns; k++) {
            char *text = from[k].at == NULL ? NULL : vq_arena_text(&p->of_set, from[k]);
            if (text == NULL && from[k].at != NULL) {
                return VQ_NOMEM;
            }
            p->said[(size_t)prefix * columns + k] = vq_span(text, text == NULL ? 0 : from[k].bytes);
        }
    }
    return VQ_OK;
}
