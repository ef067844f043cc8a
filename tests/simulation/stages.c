/* The stages of the simulated run: each with its own questions, grid, judges and SPEC, over one
 * store. Later stages share questions with earlier ones, as a vibe that is ranked again does. Going
 * on from one to the next, and back to the first after a start of the coordinator. */
#include "tests/simulation/sim.h"

#include "common/base/alloc.h"

#include <stdio.h>

static const struct {
    enum vq_template_kind asked;
    bool repairs;
} kinds[VQ_STAGE__COUNT] = {
    [VQ_STAGE_RANK] = {VQ_TEMPLATE_JUDGE, true},
    [VQ_STAGE_PREFER] = {VQ_TEMPLATE_PREFERENCE, true},
    [VQ_STAGE_TEXT] = {VQ_TEMPLATE_AS_IS, false},
    [VQ_STAGE_EMBED] = {VQ_TEMPLATE_AS_IS, false},
    [VQ_STAGE_CHAT] = {VQ_TEMPLATE_AS_IS, false},
};

/* ---- questions ---- */

void sim_request_of(const struct sim *s, uint32_t stage, uint64_t task, uint32_t repeat,
                    struct vq_hash *ret_hash)
{
    const struct sim_stage *st = &s->stages[stage];
    struct vq_cell cell = vq_grid_cell(&st->grid, task);
    vq_request_hash(&st->askers[cell.judge], &st->ids[cell.sample], &st->axes[cell.vibe],
                    cell.order, repeat, ret_hash);
}

static void request_of(void *ctx, uint64_t task, uint32_t repeat, struct vq_hash *ret_hash)
{
    const struct sim *s = ctx;
    sim_request_of(s, s->stage, task, repeat, ret_hash);
}

static void repair_of(void *ctx, uint64_t task, const struct vq_hash *of, struct vq_span answer,
                      struct vq_hash *ret_hash)
{
    const struct sim *s = ctx;
    const struct sim_stage *st = &s->stages[s->stage];
    struct vq_cell cell = vq_grid_cell(&st->grid, task);
    if (st->repairer == NULL) {
        *ret_hash = (struct vq_hash){{1}};
        return;
    }
    vq_repair_hash(&st->askers[cell.judge], of, answer, ret_hash);
}

/* ---- making them ---- */

/* In every second run with a batch pool, for the judges that it serves. */
static bool seconds_wait(const struct sim *s, uint32_t judge)
{
    bool batch = false;
    for (uint32_t i = 0; i < s->serves_count[judge]; i++) {
        batch = batch || sim_is_batch(s, s->serves[judge][i]);
    }
    return batch && (s->draw & 1) != 0;
}

static void make_spec(struct sim *s, struct sim_stage *st)
{
    struct vq_span asked = vq_template_builtin(kinds[st->kind].asked);
    struct vq_span repair = st->repair ? vq_template_builtin(VQ_TEMPLATE_REPAIR) : vq_span("", 0);
    VQ_ASSERT(vq_template_parse(kinds[st->kind].asked, asked, "asked", &st->asked, NULL) == VQ_OK);
    VQ_ASSERT(!st->repair || vq_template_parse(VQ_TEMPLATE_REPAIR, repair, "repair", &st->repairer,
                                               NULL) == VQ_OK);
    struct vq_spec_judge judges[SIM_JUDGES_MAX];
    struct vq_spec_axis axes[SIM_AXES_MAX];
    for (uint32_t i = 0; i < st->grid.judges; i++) {
        const struct vq_judge *j = &s->judges[i];
        vq_asker_init(&st->askers[i], j, st->asked, st->repairer);
        judges[i] = (struct vq_spec_judge){.name = vq_span_str(j->name),
                                           .model = vq_span_str(j->model),
                                           .dialect = vq_span_str(j->dialect),
                                           .identity = vq_span_str(j->identity),
                                           .max_tokens_field = vq_span_str(j->max_tokens_field),
                                           .max_tokens = j->max_tokens,
                                           .seed = j->seed,
                                           .tries_max = 4,
                                           .pools = s->serves[i],
                                           .pools_count = s->serves_count[i]};
        st->judges[i] = (struct vq_coord_judge){.name = j->name,
                                                .pools = s->serves[i],
                                                .pools_count = s->serves_count[i],
                                                .seconds_wait = seconds_wait(s, i)};
    }
    for (uint32_t i = 0; i < st->grid.vibes; i++) {
        axes[i] = (struct vq_spec_axis){vq_span_str(st->axes[i].name), vq_span_str(st->axes[i].low),
                                        vq_span_str(st->axes[i].high)};
    }
    struct vq_spec_pool pools[SIM_POOLS_MAX];
    struct vq_spec spec = {.kind = (uint8_t)st->kind,
                           .stage = (uint32_t)(st - s->stages),
                           .judge_template = asked,
                           .repair_template = repair,
                           .lazy_swap = st->swap == VQ_SWAP_LAZY,
                           .axes = axes,
                           .axes_count = st->grid.vibes,
                           .judges = judges,
                           .judges_count = st->grid.judges,
                           .pools = pools,
                           .pools_count = sim_pools_spec(s, pools)};
    vq_buf_init(&st->spec, 1u << 20);
    VQ_ASSERT(vq_spec_encode(&spec, &st->spec) == VQ_OK);
    vq_hash_of("vq-spec", vq_buf_span(&st->spec), &st->spec_hash);
}

/* Draws that are functions of the question, as in the store: the same question is audited, and
 * first, in each stage. */
static void make_plan(struct sim *s, struct sim_stage *st)
{
    uint32_t stage = (uint32_t)(st - s->stages);
    uint64_t tasks = vq_grid_tasks(&st->grid);
    st->audited = vq_alloc((size_t)tasks / 2, 1);
    st->first = vq_alloc((size_t)vq_grid_shards(&st->grid), 1);
    st->leased = vq_alloc((size_t)tasks, sizeof(*st->leased));
    st->settled_ns = vq_alloc((size_t)tasks, sizeof(*st->settled_ns));
    st->looked_ns = vq_alloc((size_t)vq_grid_shards(&st->grid), sizeof(*st->looked_ns));
    st->blocked = vq_alloc((size_t)tasks, sizeof(*st->blocked));
    st->poison = vq_alloc((size_t)tasks, sizeof(*st->poison));
    VQ_ASSERT(st->audited != NULL && st->first != NULL && st->leased != NULL &&
              st->settled_ns != NULL && st->looked_ns != NULL && st->poison != NULL &&
              st->blocked != NULL);
    for (uint64_t cell = 0; cell < tasks / 2; cell++) {
        struct vq_hash hash;
        sim_request_of(s, stage, 2 * cell, 0, &hash);
        st->audited[cell] = st->swap == VQ_SWAP_LAZY && (uint8_t)(hash.b[20] ^ s->draw) < 38;
    }
    for (uint64_t shard = 0; shard < vq_grid_shards(&st->grid); shard++) {
        uint64_t sample = shard / st->grid.judges;
        const struct vq_judge *judge = &s->judges[shard % st->grid.judges];
        st->first[shard] =
            st->swap == VQ_SWAP_NONE ? 0 : (uint8_t)vq_first_order(&st->ids[sample], judge);
    }
    for (int64_t n = sim_chance(s, 0.15) ? sim_between(s, 1, 2) : 0; n > 0; n--) {
        st->poison[vq_rng_below(&s->rng, tasks)] = true;
    }
}

static void make_stage(struct sim *s, uint32_t n)
{
    struct sim_stage *st = &s->stages[n];
    double kind = vq_rng_unit(&s->rng);
    st->kind = n == 0 || kind < 0.5 ? VQ_STAGE_RANK : kind < 0.7 ? VQ_STAGE_PREFER : VQ_STAGE_TEXT;
    bool vibes = st->kind == VQ_STAGE_RANK;
    st->grid = (struct vq_grid){.samples = (uint32_t)sim_between(s, 1, n == 0 ? 12 : 6),
                                .judges = (uint32_t)sim_between(s, 1, 3),
                                .vibes = vibes ? (uint32_t)sim_between(s, 1, 4) : 1};
    if (s->options.small != NULL) {
        st->grid.samples = s->options.small->samples;
    }
    bool talks = sim_talks_stage(s);
    st->samples = talks ? s->talks.samples : s->samples;
    st->ids = talks ? s->talks.ids : s->ids;
    st->axes = &s->axes[!vibes ? SIM_AXES_MAX : n == 0 ? 0 : sim_between(s, 0, 4)];
    st->swap = st->kind == VQ_STAGE_TEXT ? VQ_SWAP_NONE : s->swap;
    if (talks) {
        st->kind = VQ_STAGE_CHAT;
        st->axes = s->axes;
        st->grid.vibes = s->talks.turns;
        st->grid.samples = s->talks.chains > 0 ? s->talks.chains : st->grid.samples;
        st->swap = VQ_SWAP_NONE;
    }
    st->repair = s->repair && kinds[st->kind].repairs;
    st->alike = talks ? sim_talks_alike(st) : NULL;
    make_spec(s, st);
    make_plan(s, st);
}

void sim_stages_make(struct sim *s)
{
    uint64_t tasks_max = 0;
    s->stages_count = sim_chance(s, 0.5) || s->options.small != NULL
                          ? 1
                          : (uint32_t)sim_between(s, 2, SIM_STAGES_MAX);
    for (uint32_t n = 0; n < s->stages_count; n++) {
        make_stage(s, n);
        uint64_t tasks = vq_grid_tasks(&s->stages[n].grid);
        tasks_max = tasks > tasks_max ? tasks : tasks_max;
    }
    s->store.repeat_max = sim_chance(s, 0.2) ? 1 : 0;
    s->store.ctx = s;
    s->store.request_of = request_of;
    s->store.repair_of = repair_of;
    sim_store_init(&s->store, tasks_max);
    sim_stage_enter(s, 0);
}

void sim_stages_free(struct sim *s)
{
    for (uint32_t n = 0; n < s->stages_count; n++) {
        struct sim_stage *st = &s->stages[n];
        vq_template_destroy(&st->asked);
        vq_template_destroy(&st->repairer);
        vq_buf_free(&st->spec);
        vq_free(st->audited);
        vq_free(st->first);
        vq_free(st->leased);
        vq_free(st->settled_ns);
        vq_free(st->looked_ns);
        vq_free(st->poison);
        vq_free(st->blocked);
        vq_free(st->alike);
    }
}

/* ---- going on ---- */

void sim_stage_look(struct sim *s, uint32_t n)
{
    const struct sim_stage *st = &s->stages[n];
    s->stage = n;
    s->store.kind = st->kind;
    s->store.stage = n;
    s->store.grid = st->grid;
    s->store.swap = st->swap;
    s->store.repair = st->repair;
    s->store.audited = st->audited;
    s->store.first = st->first;
    s->store.blocked = st->blocked;
    s->store.chains = vq_stage_chains(st->kind) ? st->samples : NULL;
    s->store.askers = st->askers;
}

/* A chain's next turn is a task of the next stage: what failed before it, or was blocked, blocks
 * it. */
static void block(struct sim *s, uint32_t n)
{
    struct sim_stage *st = &s->stages[n];
    uint64_t before = n == 0 ? 0 : vq_grid_tasks(&s->stages[n - 1].grid);
    if (n == 0 || s->trouble.chains <= 0 || vq_stage_chains(st->kind)) {
        return;
    }
    sim_stage_look(s, n - 1);
    for (uint64_t task = 0; task < vq_grid_tasks(&st->grid) && task < before; task++) {
        struct vq_task_view view;
        struct vq_hash hash;
        /* where one order says whether the other is needed: both, or none */
        uint64_t turn = st->swap == VQ_SWAP_LAZY ? task & ~UINT64_C(1) : task;
        sim_request_of(s, n, turn, 0, &hash);
        sim_store_state(&s->store, turn, &view);
        st->blocked[task] =
            hash.b[21] < 255 * s->trouble.chains &&
            (vq_outcome_is_failed(view.outcome) || view.outcome == VQ_OUTCOME_BLOCKED);
    }
}

void sim_stage_enter(struct sim *s, uint32_t n)
{
    struct sim_stage *st = &s->stages[n];
    block(s, n);
    sim_stage_look(s, n);
    s->params.stage = n;
    s->params.more = n + 1 < s->stages_count;
    s->params.grid = st->grid;
    s->params.chains = vq_stage_chains(st->kind);
    s->params.alike = st->alike;
    s->params.judges = st->judges;
    s->params.spec = st->spec_hash;
    s->params.repeat_max = s->store.repeat_max;
    s->params.repairs = s->store.repair;
    memset(st->settled_ns, 0, (size_t)vq_grid_tasks(&st->grid) * sizeof(*st->settled_ns));
    if (s->coord.redis_away) {
        s->store.column_commits = UINT64_MAX; /* rebuilt with the first commit */
    } else {
        sim_store_rebuild_redis(&s->store);
    }
}

/* Every other start takes over what the store has before anything is looked up. */
void sim_take_stored(struct sim *s)
{
    uint32_t tasks = vq_grid_shard_tasks(&s->params.grid);
    uint8_t outcomes[64];
    VQ_ASSERT(tasks <= sizeof(outcomes));
    for (uint64_t shard = 0; s->params.epoch % 2 == 0 && shard < vq_grid_shards(&s->params.grid);
         shard++) {
        for (uint32_t i = 0; i < tasks; i++) {
            struct vq_task_view view;
            sim_store_state(&s->store, shard * tasks + i, &view);
            outcomes[i] = (uint8_t)view.outcome;
        }
        VQ_ASSERT(vq_coord_stored(s->coord.core, shard, outcomes) == VQ_OK);
    }
}
