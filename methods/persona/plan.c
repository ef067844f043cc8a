/* The plan of a persona evaluation. Invariants: chains, prefixes, turns and answers are listed in
 * the order of their numbers; the formulas of the counts agree with the lists (tests compare them).
 * The plan owns its arrays and borrows the design's data sets. Not its job: texts, stages, answers
 * in the store. */
#include "methods/persona/plan.h"

#include "common/base/alloc.h"
#include "common/base/rng.h"

const char *vq_persona_kind_name(enum vq_persona_kind kind)
{
    return kind == VQ_PERSONA_DIRECTED ? "directed" : kind == VQ_PERSONA_GOAL ? "goal" : "?";
}

const char *vq_persona_reference_name(enum vq_persona_reference reference)
{
    static const char *const names[] = {"dataset", "zero", "previous"};
    return reference < VQ_PERSONA_REFERENCES ? names[reference] : "?";
}

static uint32_t script_rounds(const struct vq_persona_script *s)
{
    return s->questions + s->opening + s->closing;
}

/* ---- checks ---- */

static enum vq_status check_scripts(const struct vq_persona_design *d, struct vq_error *err)
{
    if (d->scripts_count < 1 || d->scripts_count > VQ_PERSONA_KINDS) {
        return vq_fail(err, VQ_INVALID, "a persona evaluation needs one or two lists of queries");
    }
    for (uint32_t i = 0; i < d->scripts_count; i++) {
        const struct vq_persona_script *s = &d->scripts[i];
        if (s->kind >= VQ_PERSONA_KINDS || (i > 0 && s->kind == d->scripts[0].kind)) {
            return vq_fail(err, VQ_INVALID, "two lists of queries are of the same kind");
        }
        if (s->questions > VQ_PERSONA_ROUNDS_MAX || script_rounds(s) != d->rounds) {
            return vq_fail(err, VQ_INVALID,
                           "the %s list gives dialogues of %u rounds, and %u are asked for",
                           vq_persona_kind_name(s->kind), script_rounds(s), d->rounds);
        }
    }
    return VQ_OK;
}

static enum vq_status check_set(const struct vq_persona_design *d, uint32_t number,
                                struct vq_error *err)
{
    const struct vq_persona_set *set = &d->sets[number];
    bool pairwise = set->rated && set->rating == VQ_RATING_PAIRWISE;
    bool referred = false;
    for (int r = 0; r < VQ_PERSONA_REFERENCES; r++) {
        referred |= set->references[r];
    }
    if (set->items_count < 1 || set->items_count > VQ_PERSONA_ITEMS_MAX ||
        set->questions > set->items_count) {
        return vq_fail(err, VQ_LIMIT, "data set %u has %u items; it may have 1 to %u", number + 1,
                       set->items_count, VQ_PERSONA_ITEMS_MAX);
    }
    if (pairwise != referred) {
        return vq_fail(err, VQ_INVALID, "data set %u: references go with pairwise judgements",
                       number + 1);
    }
    for (uint32_t i = 0; i < set->items_count; i++) {
        const struct vq_persona_item *item = &set->items[i];
        if (item->persona != VQ_PERSONA_ALL &&
            (item->persona >= d->personas || item->question >= set->questions)) {
            return vq_fail(err, VQ_INVALID, "data set %u, item %u belongs to no persona",
                           number + 1, i + 1);
        }
    }
    return VQ_OK;
}

static enum vq_status check(const struct vq_persona_design *d, struct vq_error *err)
{
    if (d->models < 1 || d->models > VQ_PERSONA_MODELS_MAX) {
        return vq_fail(err, VQ_LIMIT, "1 to %u subject models, not %u", VQ_PERSONA_MODELS_MAX,
                       d->models);
    }
    if (d->personas < 1 || d->personas > VQ_PERSONA_PERSONAS_MAX) {
        return vq_fail(err, VQ_LIMIT, "1 to %u personas, not %u", VQ_PERSONA_PERSONAS_MAX,
                       d->personas);
    }
    if (d->rounds < 1 || d->rounds > VQ_PERSONA_ROUNDS_MAX) {
        return vq_fail(err, VQ_LIMIT, "dialogues have 1 to %u rounds, not %u",
                       VQ_PERSONA_ROUNDS_MAX, d->rounds);
    }
    if (d->checkpoints > VQ_PERSONA_CHECKPOINTS_MAX || d->checkpoints > d->rounds + 1) {
        return vq_fail(err, VQ_LIMIT, "%u checkpoints are too many for %u rounds (at most %u)",
                       d->checkpoints, d->rounds,
                       d->rounds + 1 < VQ_PERSONA_CHECKPOINTS_MAX ? d->rounds + 1
                                                                  : VQ_PERSONA_CHECKPOINTS_MAX);
    }
    if (d->sets_count > VQ_PERSONA_SETS_MAX || (d->sets_count > 0 && d->checkpoints == 0)) {
        return vq_fail(err, VQ_LIMIT,
                       "%u data sets to be asked at %u checkpoints (at most %u sets)",
                       d->sets_count, d->checkpoints, VQ_PERSONA_SETS_MAX);
    }
    VQ_TRY(check_scripts(d, err));
    for (uint32_t i = 0; i < d->sets_count; i++) {
        VQ_TRY(check_set(d, i, err));
    }
    return VQ_OK;
}

/* ---- the plan ---- */

static void list_chains(struct vq_persona_plan *p)
{
    for (uint32_t i = 0; i < p->chains_count; i++) {
        uint32_t rest = i / p->orders;
        p->chains[i] =
            (struct vq_persona_chain){.order = (enum vq_persona_order)(i % p->orders),
                                      .script = rest % p->design.scripts_count,
                                      .persona = rest / p->design.scripts_count % p->askers,
                                      .model = rest / p->design.scripts_count / p->askers};
    }
}

static void list_prefixes(struct vq_persona_plan *p)
{
    const struct vq_persona_design *d = &p->design;
    for (uint32_t i = 0; i < d->checkpoints; i++) {
        p->checkpoints[i] = d->checkpoints == 1 ? 0 : i * d->rounds / (d->checkpoints - 1);
    }
    for (uint32_t i = 0; i < p->prefixes_count; i++) {
        uint32_t checkpoint = i % d->checkpoints, rest = i / d->checkpoints;
        struct vq_persona_prefix prefix = {.checkpoint = checkpoint,
                                           .rounds = p->checkpoints[checkpoint],
                                           .script = rest % d->scripts_count,
                                           .persona = rest / d->scripts_count % p->askers,
                                           .model = rest / d->scripts_count / p->askers};
        prefix.chain = vq_persona_chain_of(p, prefix.model, prefix.persona, prefix.script,
                                           VQ_PERSONA_ORIGINAL);
        prefix.twin = prefix.rounds > 0
                          ? i
                          : vq_persona_prefix_of(p, prefix.model, prefix.persona, 0, checkpoint);
        p->prefixes[i] = prefix;
    }
}

static void list_queries(struct vq_persona_plan *p)
{
    const struct vq_persona_design *d = &p->design;
    for (uint32_t s = 0; s < d->scripts_count; s++) {
        for (uint32_t order = 0; order < p->orders; order++) {
            uint32_t *turns = p->queries + (size_t)(s * p->orders + order) * d->rounds;
            for (uint32_t i = 0; i < d->rounds; i++) {
                turns[i] = i;
            }
            if (order == VQ_PERSONA_SHUFFLED) {
                struct vq_rng rng;
                vq_rng_seed(&rng, d->seed * UINT64_C(1000003) + d->scripts[s].kind);
                vq_rng_shuffle_u32(&rng, turns + d->scripts[s].opening, d->scripts[s].questions);
            }
        }
    }
}

static enum vq_status fill(struct vq_persona_plan *p)
{
    const struct vq_persona_design *d = &p->design;
    p->askers = d->personas + d->baseline;
    p->orders = d->shuffled ? 2 : 1;
    uint32_t dialogues = d->models * p->askers * d->scripts_count;
    p->chains_count = dialogues * p->orders;
    p->prefixes_count = dialogues * d->checkpoints;
    p->chains = vq_arena_alloc(&p->arena, p->chains_count, sizeof(*p->chains));
    p->prefixes = vq_arena_alloc(&p->arena, p->prefixes_count, sizeof(*p->prefixes));
    p->checkpoints = vq_arena_alloc(&p->arena, d->checkpoints, sizeof(*p->checkpoints));
    p->queries = vq_arena_alloc(&p->arena, (size_t)d->scripts_count * p->orders * d->rounds,
                                sizeof(*p->queries));
    VQ_TRY(vq_arena_status(&p->arena));
    list_chains(p);
    list_prefixes(p);
    list_queries(p);
    return VQ_OK;
}

enum vq_status vq_persona_plan_make(const struct vq_persona_design *design,
                                    struct vq_persona_plan **ret_plan, struct vq_error *err)
{
    VQ_TRY(check(design, err));
    struct vq_persona_plan *plan;
    VQ_TRY(VQ_ALLOC(plan, 1));
    plan->design = *design;
    enum vq_status status = fill(plan);
    if (status != VQ_OK) {
        vq_persona_plan_destroy(&plan);
        return status;
    }
    *ret_plan = plan;
    return VQ_OK;
}

void vq_persona_plan_destroy(struct vq_persona_plan **plan)
{
    if (*plan != NULL) {
        vq_arena_clear(&(*plan)->arena);
        vq_free(*plan);
        *plan = NULL;
    }
}

uint32_t vq_persona_chain_of(const struct vq_persona_plan *plan, uint32_t model, uint32_t persona,
                             uint32_t script, enum vq_persona_order order)
{
    return ((model * plan->askers + persona) * plan->design.scripts_count + script) * plan->orders +
           (uint32_t)order;
}

uint32_t vq_persona_prefix_of(const struct vq_persona_plan *plan, uint32_t model, uint32_t persona,
                              uint32_t script, uint32_t checkpoint)
{
    return ((model * plan->askers + persona) * plan->design.scripts_count + script) *
               plan->design.checkpoints +
           checkpoint;
}

bool vq_persona_is_baseline(const struct vq_persona_plan *plan, uint32_t persona)
{
    return persona == plan->design.personas;
}

/* ---- questions ---- */

uint32_t vq_persona_columns(const struct vq_persona_set *set)
{
    return set->items_count + set->questions;
}

uint32_t vq_persona_column(const struct vq_persona_set *set, uint32_t item, bool baseline)
{
    const struct vq_persona_item *it = &set->items[item];
    return baseline && it->persona != VQ_PERSONA_ALL ? set->items_count + it->question : item;
}

bool vq_persona_asks(const struct vq_persona_plan *plan, const struct vq_persona_set *set,
                     uint32_t prefix, uint32_t column)
{
    uint32_t persona = plan->prefixes[prefix].persona;
    bool baseline = vq_persona_is_baseline(plan, persona);
    if (column >= set->items_count) {
        return baseline;
    }
    uint32_t of = set->items[column].persona;
    return of == VQ_PERSONA_ALL || of == persona;
}

/* ---- lists of ratings ---- */

enum vq_status vq_persona_turns(const struct vq_persona_plan *plan,
                                struct vq_persona_turn **ret_turns, size_t *ret_count)
{
    struct vq_persona_counts counts;
    vq_persona_count(plan, &counts);
    uint64_t each = plan->design.criteria > 0 ? plan->design.criteria : 1;
    uint64_t rows = counts.turns_rated.planned / each;
    if (rows > VQ_PERSONA_ROWS_MAX) {
        return VQ_LIMIT;
    }
    struct vq_persona_turn *turns;
    VQ_TRY(VQ_ALLOC(turns, rows));
    size_t n = 0;
    for (uint32_t c = 0; rows > 0 && c < plan->chains_count; c++) {
        uint32_t persona = plan->chains[c].persona;
        bool baseline = vq_persona_is_baseline(plan, persona);
        uint32_t from = baseline ? 0 : persona;
        uint32_t until = baseline ? plan->design.personas : persona + 1;
        for (uint32_t turn = 0; turn < plan->design.rounds; turn++) {
            for (uint32_t as = from; as < until; as++) {
                turns[n++] = (struct vq_persona_turn){.chain = c, .as = as, .turn = turn};
            }
        }
    }
    VQ_ASSERT(n == rows);
    *ret_turns = turns;
    *ret_count = n;
    return VQ_OK;
}

static bool is_pairwise(const struct vq_persona_set *set)
{
    return set->rated && set->rating == VQ_RATING_PAIRWISE;
}

/* The personas as which an answer of the baseline is judged: [from, until). */
static void baseline_as(const struct vq_persona_plan *plan, const struct vq_persona_item *item,
                        uint32_t *ret_from, uint32_t *ret_until)
{
    bool all = item->persona == VQ_PERSONA_ALL;
    *ret_from = all ? 0 : item->persona;
    *ret_until = all ? plan->design.personas : item->persona + 1;
}

struct answers {
    const struct vq_persona_plan *plan;
    const struct vq_persona_set *set;
    enum vq_persona_reference reference;
    struct vq_persona_answer *rows; /* NULL: rows are only counted */
    size_t count;
};

static void add(struct answers *a, uint32_t prefix, uint32_t item, uint32_t as, uint32_t number)
{
    const struct vq_persona_prefix *at = &a->plan->prefixes[prefix];
    struct vq_persona_answer row = {.prefix = prefix,
                                    .item = item,
                                    .as = as,
                                    .other = VQ_PERSONA_NONE,
                                    .orders = VQ_CELL_ASKED};
    if (is_pairwise(a->set) && a->set->positions == VQ_PERSONA_ALTERNATE) {
        row.orders = number % 2 == 0 ? VQ_CELL_ORDER_0 : VQ_CELL_ORDER_1;
    }
    if (is_pairwise(a->set) && a->reference != VQ_PERSONA_DATASET) {
        row.other = a->reference == VQ_PERSONA_ZERO ? prefix - at->checkpoint : prefix - 1;
    }
    if (a->rows != NULL) {
        a->rows[a->count] = row;
    }
    a->count++;
}

/* Working memory: `numbers` has, for each persona, the number of its items so far. */
static void add_prefix(struct answers *a, uint32_t prefix, uint32_t *numbers)
{
    uint32_t persona = a->plan->prefixes[prefix].persona;
    bool baseline = vq_persona_is_baseline(a->plan, persona);
    for (uint32_t p = 0; p < a->plan->design.personas; p++) {
        numbers[p] = 0;
    }
    for (uint32_t i = 0; i < a->set->items_count; i++) {
        const struct vq_persona_item *item = &a->set->items[i];
        uint32_t from, until;
        baseline_as(a->plan, item, &from, &until);
        for (uint32_t as = from; as < until; as++) {
            uint32_t number = numbers[as]++;
            if (baseline ? is_pairwise(a->set) : as == persona) {
                add(a, prefix, i, as, number);
            }
        }
        if (baseline && !is_pairwise(a->set)) {
            add(a, prefix, i, VQ_PERSONA_NONE, 0);
        }
    }
}

static void walk(struct answers *a, uint32_t *numbers)
{
    a->count = 0;
    bool own = is_pairwise(a->set) && a->reference != VQ_PERSONA_DATASET;
    for (uint32_t i = 0; a->set->rated && i < a->plan->prefixes_count; i++) {
        if (!own || a->plan->prefixes[i].checkpoint > 0) {
            add_prefix(a, i, numbers);
        }
    }
}

enum vq_status vq_persona_answers(const struct vq_persona_plan *plan,
                                  const struct vq_persona_set *set,
                                  enum vq_persona_reference reference,
                                  struct vq_persona_answer **ret_rows, size_t *ret_count)
{
    struct answers a = {.plan = plan, .set = set, .reference = reference};
    uint32_t *numbers;
    VQ_TRY(VQ_ALLOC(numbers, plan->design.personas));
    walk(&a, numbers);
    enum vq_status status = a.count > VQ_PERSONA_ROWS_MAX ? VQ_LIMIT : VQ_OK;
    if (status == VQ_OK) {
        a.rows = vq_alloc(a.count, sizeof(*a.rows));
        status = a.rows == NULL ? VQ_NOMEM : VQ_OK;
    }
    if (status == VQ_OK) {
        walk(&a, numbers);
        *ret_rows = a.rows;
        *ret_count = a.count;
    }
    vq_free(numbers);
    return status;
}

/* ---- numbers of calls ---- */

/* Number of turns at the beginning of a dialogue that are the same in both orders. */
static uint32_t common_turns(const struct vq_persona_plan *p, uint32_t script)
{
    const uint32_t *original = p->queries + (size_t)script * p->orders * p->design.rounds;
    const uint32_t *shuffled = original + p->design.rounds;
    uint32_t n = 0;
    while (n < p->design.rounds && original[n] == shuffled[n]) {
        n++;
    }
    return n;
}

/* The calls at one checkpoint, over one prefix of each asker: answers, ratings, and different
 * requests among the ratings. */
static void per_checkpoint(const struct vq_persona_plan *p, const struct vq_persona_set *set,
                           uint64_t *ret_asked, uint64_t *ret_rated, uint64_t *ret_distinct)
{
    uint64_t all = 0, own = 0;
    for (uint32_t i = 0; i < set->items_count; i++) {
        all += set->items[i].persona == VQ_PERSONA_ALL;
        own += set->items[i].persona != VQ_PERSONA_ALL;
    }
    uint64_t personas = p->design.personas;
    bool baseline = p->design.baseline;
    *ret_asked = all * p->askers + own + (baseline ? set->questions : 0);
    if (is_pairwise(set)) {
        uint64_t calls = set->positions == VQ_PERSONA_BOTH ? 2 : 1;
        *ret_rated = (all * personas + own) * (baseline ? 2 : 1) * calls;
        *ret_distinct = *ret_rated;
    } else {
        *ret_rated = all * p->askers + own + (baseline ? own : 0);
        *ret_distinct = *ret_asked;
    }
}

static void count_set(const struct vq_persona_plan *p, const struct vq_persona_set *set,
                      struct vq_persona_set_calls *ret)
{
    const struct vq_persona_design *d = &p->design;
    uint64_t asked, rated, distinct;
    per_checkpoint(p, set, &asked, &rated, &distinct);
    uint64_t dialogues = (uint64_t)d->models * d->scripts_count; /* dialogues of one asker */
    uint64_t twins = (uint64_t)d->models * (d->scripts_count - 1);
    ret->asked = (struct vq_persona_calls){dialogues * d->checkpoints * asked, twins * asked};
    for (int r = 0; r < VQ_PERSONA_REFERENCES; r++) {
        bool own = r != VQ_PERSONA_DATASET;
        if (!set->rated || (is_pairwise(set) ? !set->references[r] : own)) {
            continue;
        }
        ret->rated[r].planned = dialogues * (d->checkpoints - own) * rated;
        ret->rated[r].shared =
            own ? 0 : ret->rated[r].planned - (dialogues * d->checkpoints - twins) * distinct;
        if (r == VQ_PERSONA_PREVIOUS && set->references[VQ_PERSONA_ZERO] && d->checkpoints > 1) {
            ret->rated[r].shared = dialogues * rated;
        }
    }
}

static void sum(struct vq_persona_calls *to, const struct vq_persona_calls *from)
{
    to->planned += from->planned;
    to->shared += from->shared;
}

void vq_persona_count(const struct vq_persona_plan *plan, struct vq_persona_counts *ret_counts)
{
    const struct vq_persona_design *d = &plan->design;
    struct vq_persona_counts n = {.chains = plan->chains_count, .depth = d->rounds};
    uint64_t views = d->baseline ? 2 * (uint64_t)d->personas : d->personas;
    for (uint32_t s = 0; s < d->scripts_count; s++) {
        uint64_t turns = (uint64_t)plan->orders * d->rounds;
        uint64_t alike = plan->orders > 1 ? common_turns(plan, s) : 0;
        sum(&n.turns, &(struct vq_persona_calls){d->models * plan->askers * turns,
                                                 d->models * plan->askers * alike});
        sum(&n.turns_rated, &(struct vq_persona_calls){d->models * views * turns * d->criteria,
                                                       d->models * views * alike * d->criteria});
    }
    sum(&n.generated, &n.turns);
    sum(&n.rated, &n.turns_rated);
    for (uint32_t i = 0; i < d->sets_count; i++) {
        count_set(plan, &d->sets[i], &n.sets[i]);
        sum(&n.generated, &n.sets[i].asked);
        for (int r = 0; r < VQ_PERSONA_REFERENCES; r++) {
            sum(&n.rated, &n.sets[i].rated[r]);
        }
    }
    *ret_counts = n;
}
