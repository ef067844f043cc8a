/* Dialogues as chains, beginnings of dialogues as prefixes. A chain is asked only of its own model:
 * the cells of other models are masked. Answers are stored unchanged. A dialogue ends before a turn
 * without an answer, and before a turn that follows more than VQ_CHAIN_BYTES_MAX bytes of
 * answers. */
#include "common/judge/chain.h"
#include "methods/persona/script.h"

#include <math.h>

#include <stdio.h>

#define PACKED_BYTES_MAX ((size_t)64 << 20)

/* Limits for the questions of one stage, because their texts go to every worker in its SPEC, and
 * each model has a task for each of them after every prefix, asked or not. */
#define PIECE_COLUMNS 1024u
#define PIECE_BYTES   ((size_t)4 << 20)

/* A mask with one byte per cell, all VQ_CELL_UNASKED, for a stage with `each` axes per item and
 * model. */
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
    VQ_TRY(vq_arena_status(&p->of_stage));
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
            VQ_TRY(vq_arena_status(&p->keep));
            p->answers[(size_t)c * rounds + turn] = vq_span(text, from[turn].bytes);
        }
        p->turns[c] = turn;
        p->why[c] = turn == rounds          ? VQ_OUTCOME_NONE
                    : from[turn].at != NULL ? VQ_OUTCOME_TOO_LONG
                                            : (uint8_t)from[turn].bytes;
    }
    return VQ_OK;
}

/* ---- questions after their beginnings ---- */

/* Packs the queries and answers of the first `rounds` rounds. */
static void pack_rounds(const struct vq_persona *p, uint32_t chain, uint32_t rounds,
                        struct vq_buf *out)
{
    size_t first = (size_t)chain * p->in.plan->design.rounds;
    for (uint32_t i = 0; i < rounds; i++) {
        vq_chain_pack(out, p->queries[first + i]);
        vq_chain_pack(out, p->answers[first + i]);
    }
}

/* A prefix is the beginning of its whole dialogue, which is packed once for all of its prefixes.
 * `whole`: [chain], with .at NULL if the dialogue is not packed yet. */
static enum vq_status pack_prefix(struct vq_persona *p, const struct vq_persona_prefix *prefix,
                                  struct vq_span *whole, struct vq_span *ret_packed)
{
    struct vq_span *of = &whole[prefix->chain];
    if (of->at == NULL) {
        struct vq_buf packed;
        vq_buf_init(&packed, PACKED_BYTES_MAX);
        pack_rounds(p, prefix->chain, p->turns[prefix->chain], &packed);
        VQ_TRY(vq_arena_take(&p->of_stage, &packed, of));
    }
    struct vq_span rest = *of, text;
    for (uint32_t i = 0; i < 2 * prefix->rounds; i++) {
        (void)vq_chain_unpack(&rest, &text);
    }
    *ret_packed = vq_span(of->at, of->bytes - rest.bytes);
    return VQ_OK;
}

const char *vq_persona_question(const struct vq_persona_probe *probe, uint32_t column)
{
    const struct vq_persona_bound *bound = probe->bound;
    return column < bound->count ? probe->file->items[bound->source[column]].text
                                 : bound->questions[column - bound->count];
}

uint32_t vq_persona_piece(const struct vq_persona_probe *probe, uint32_t columns, uint32_t from)
{
    uint32_t until = from;
    size_t bytes = 0;
    while (until < columns && until - from < PIECE_COLUMNS && bytes < PIECE_BYTES) {
        bytes += strlen(vq_persona_question(probe, until));
        until++;
    }
    return until;
}

static const struct vq_axis *questions_of(struct vq_persona *p, uint32_t set, uint32_t from,
                                          uint32_t until)
{
    struct vq_axis *axes = vq_arena_alloc(&p->of_stage, until - from, sizeof(*axes));
    for (uint32_t i = from; axes != NULL && i < until; i++) {
        axes[i - from] =
            (struct vq_axis){"question", vq_persona_question(&p->in.probes[set], i), ""};
    }
    return axes;
}

void vq_persona_piece_name(const char *set, uint32_t piece, char ret_name[VQ_FORECAST_NAME_BYTES])
{
    char number[24] = "";
    if (piece > 0) {
        (void)snprintf(number, sizeof(number), ", part %u", piece + 1);
    }
    (void)snprintf(ret_name, VQ_FORECAST_NAME_BYTES, "%.28s%s", set, number);
}

/* Questions [from, until) of a set. */
struct piece {
    uint32_t set, from, until;
    const struct vq_axis *axes;
    struct vq_span *whole; /* as in pack_prefix */
    const char *name;
};

static bool is_asked(const struct vq_persona *p, const struct piece *piece, uint32_t prefix)
{
    const struct vq_persona_plan *plan = p->in.plan;
    const struct vq_persona_set *of = &plan->design.sets[piece->set];
    if (plan->prefixes[prefix].rounds > p->turns[plan->prefixes[prefix].chain]) {
        return false;
    }
    for (uint32_t k = piece->from; k < piece->until; k++) {
        if (vq_persona_asks(plan, of, prefix, k)) {
            return true;
        }
    }
    return false;
}

/* Plans one stage: the prefixes with an earlier twin, or those without. */
static enum vq_status lay_prefixes(struct vq_persona *p, const struct piece *piece, bool twins)
{
    const struct vq_persona_plan *plan = p->in.plan;
    const struct vq_persona_set *of = &plan->design.sets[piece->set];
    uint32_t columns = piece->until - piece->from, models = plan->design.models, n = 0;
    uint32_t *from;
    VQ_TRY(VQ_ARENA_ALLOC(&p->of_stage, from, plan->prefixes_count));
    for (uint32_t i = 0; i < plan->prefixes_count; i++) {
        if ((plan->prefixes[i].twin != i) == twins && is_asked(p, piece, i)) {
            from[n++] = i;
        }
    }
    struct vq_sample *items = vq_arena_alloc(&p->of_stage, n, sizeof(*items));
    uint8_t *cells = mask(p, n, columns);
    const char *name = vq_arena_printf(&p->of_stage, twins ? "%s, shared" : "%s", piece->name);
    VQ_TRY(vq_arena_status(&p->of_stage));
    for (uint32_t i = 0; i < n; i++) {
        const struct vq_persona_prefix *prefix = &plan->prefixes[from[i]];
        uint8_t *own = cells + ((size_t)i * models + prefix->model) * columns;
        for (uint32_t k = 0; k < columns; k++) {
            bool asks = vq_persona_asks(plan, of, from[i], piece->from + k);
            own[k] = asks ? VQ_CELL_ASKED : VQ_CELL_UNASKED;
        }
        items[i] = (struct vq_sample){.a = system_of(p, prefix->model, prefix->persona),
                                      .b = vq_span("", 0)};
        VQ_TRY(pack_prefix(p, prefix, piece->whole, &items[i].prompt));
    }
    struct vq_stage stage = {.name = name,
                             .kind = VQ_STAGE_PROBE,
                             .role = VQ_ROLE_SUBJECT,
                             .items = items,
                             .items_count = n,
                             .axes = piece->axes,
                             .axes_count = columns,
                             .cells = cells};
    if (n > 0) {
        struct vq_persona_pending *pending = vq_persona_enqueue(p, &stage);
        pending->from = from;
        pending->column = piece->from;
    }
    return VQ_OK;
}

static enum vq_status make_said(struct vq_persona *p, size_t cells)
{
    p->said = NULL;
    p->refs = NULL;
    if (!p->from_store) {
        return VQ_ARENA_ALLOC(&p->of_set, p->said, cells);
    }
    VQ_TRY(VQ_ARENA_ALLOC(&p->of_set, p->refs, cells));
    for (size_t i = 0; i < cells; i++) {
        p->refs[i].stage = VQ_PERSONA_NONE;
    }
    return VQ_OK;
}

enum vq_status vq_persona_lay_probe(struct vq_persona *p, uint32_t set)
{
    const struct vq_persona_plan *plan = p->in.plan;
    uint32_t columns = vq_persona_columns(&plan->design.sets[set]);
    struct piece piece = {.set = set, .from = p->piece};
    char name[VQ_FORECAST_NAME_BYTES];
    if (p->piece == 0) {
        vq_arena_clear(&p->of_set);
        p->pieces = 0;
        p->columns = columns;
        VQ_TRY(make_said(p, (size_t)plan->prefixes_count * columns));
    }
    vq_persona_piece_name(p->in.probes[set].name, p->pieces++, name);
    piece.name = name;
    piece.until = vq_persona_piece(&p->in.probes[set], columns, p->piece);
    piece.axes = questions_of(p, set, piece.from, piece.until);
    piece.whole = vq_arena_alloc(&p->of_stage, plan->chains_count, sizeof(*piece.whole));
    VQ_TRY(vq_arena_status(&p->of_stage));
    p->piece = piece.until;
    VQ_TRY(lay_prefixes(p, &piece, false));
    return lay_prefixes(p, &piece, true);
}

/* Stores the answers to one prefix's questions, or their places in the store. `first`: the number
 * of texts[0] among the texts of the stage. */
static enum vq_status hear_prefix(struct vq_persona *p, const struct vq_persona_pending *pending,
                                  uint32_t prefix, const struct vq_span *texts, uint32_t first)
{
    size_t at = (size_t)prefix * p->columns + pending->column;
    for (uint32_t k = 0; k < pending->stage.axes_count; k++, at++) {
        if (texts[k].at == NULL) {
            continue;
        }
        if (p->from_store) {
            p->refs[at] = (struct vq_persona_ref){pending->stage.no, first + k};
            continue;
        }
        const char *text = vq_arena_text(&p->of_set, texts[k]);
        VQ_TRY(vq_arena_status(&p->of_set));
        p->said[at] = vq_span(text, texts[k].bytes);
    }
    return VQ_OK;
}

enum vq_status vq_persona_hear_probe(struct vq_persona *p, const struct vq_persona_pending *pending,
                                     const struct vq_span *texts)
{
    uint32_t models = p->in.plan->design.models;
    for (uint32_t i = 0; i < pending->stage.items_count; i++) {
        uint32_t prefix = pending->from[i];
        uint32_t first =
            (i * models + p->in.plan->prefixes[prefix].model) * pending->stage.axes_count;
        VQ_TRY(hear_prefix(p, pending, prefix, texts + first, first));
    }
    return VQ_OK;
}

bool vq_persona_beginning(const struct vq_persona *persona, uint32_t number, struct vq_buf *out,
                          struct vq_sample *ret_sample)
{
    const struct vq_persona_prefix *prefix = &persona->in.plan->prefixes[number];
    vq_buf_clear(out);
    if (prefix->rounds > persona->turns[prefix->chain]) {
        return false;
    }
    pack_rounds(persona, prefix->chain, prefix->rounds, out);
    *ret_sample = (struct vq_sample){.prompt = vq_buf_span(out),
                                     .a = system_of(persona, prefix->model, prefix->persona),
                                     .b = vq_span("", 0)};
    return true;
}
