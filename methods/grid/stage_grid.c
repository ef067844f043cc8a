/* Makes a grid of a stage. Ranking and preference stages are rows x models x axes x orders. A text
 * or embedding stage is its prompts x models in one order. There each prompt is packed into a
 * sample: {{prompt}} is the user part, {{output_a}} the system part, and output B a number that
 * separates a prompt from an equal earlier one. Invariant: nothing here changes while the stage is
 * active, so that the thread pool may read it. */
#include "methods/grid/stage_grid.h"
#include "common/judge/vectors.h"

#include "common/base/alloc.h"
#include "common/judge/chain.h"
#include "common/text/json.h"
#include "coordinator/pools/deadline.h"
#include "methods/grid/role_models.h"
#include "proto/wire.h"

#include <stdio.h>
#include <string.h>

#define TEXTS_BYTES_MAX ((size_t)1 << 30)
/* A text that was cut is asked again with more output tokens, up to this number. */
#define ROOM_TOKENS_MAX 65536u

/* The name separates the request of an embedding from that of a text; no template shows it. */
static const struct vq_axis embedding_axis = {"embedding", "", ""};
static const struct vq_axis no_axis = {"", "", ""};

static uint32_t count_samples(const struct vq_stage *stage)
{
    switch (stage->kind) {
    case VQ_STAGE_RANK:
    case VQ_STAGE_PREFER: return stage->rows_count;
    case VQ_STAGE_TEXT: return stage->prompts_count;
    case VQ_STAGE_LIKERT:
    case VQ_STAGE_BINARY:
    case VQ_STAGE_PAIRWISE:
    case VQ_STAGE_CHAT:
    case VQ_STAGE_PROBE: return stage->items_count;
    case VQ_STAGE_EMBED: return (stage->texts_count + VQ_EMBED_BATCH_MAX - 1) / VQ_EMBED_BATCH_MAX;
    case VQ_STAGE__COUNT: break;
    }
    return 0;
}

static enum vq_swap swap_of(const struct vq_config *config, enum vq_stage_kind kind)
{
    if (kind == VQ_STAGE_PAIRWISE) { /* a rating never makes the other order unnecessary */
        return VQ_SWAP_BOTH;
    }
    if (kind != VQ_STAGE_RANK && kind != VQ_STAGE_PREFER) {
        return VQ_SWAP_NONE;
    }
    if (kind == VQ_STAGE_PREFER) { /* both orders, whatever judging.pair_rule is */
        return config->judging.lazy_swap ? VQ_SWAP_LAZY : VQ_SWAP_BOTH;
    }
    return config->judging.pair_rule == VQ_PAIR_FORWARD ? VQ_SWAP_NONE
           : config->judging.lazy_swap                  ? VQ_SWAP_LAZY
                                                        : VQ_SWAP_BOTH;
}

/* ---- samples ---- */

static enum vq_status take_rows(struct vq_stage_grid *a, const struct vq_grid_source *from,
                                const struct vq_stage *stage, struct vq_sample_id *ids)
{
    a->rows = vq_arena_copy(&a->memory, stage->rows, stage->rows_count, sizeof(*a->rows));
    VQ_TRY(vq_arena_status(&a->memory));
    for (uint32_t i = 0; i < stage->rows_count; i++) {
        a->samples[i] = from->samples[stage->rows[i]];
        ids[i] = from->sample_ids[stage->rows[i]];
    }
    return VQ_OK;
}

static enum vq_status take_prompts(struct vq_stage_grid *a, const struct vq_stage *stage)
{
    for (uint32_t i = 0; i < stage->prompts_count; i++) {
        if (stage->prompts[i].again > 0) {
            vq_buf_printf(&a->texts, "%10u", stage->prompts[i].again);
        }
    }
    VQ_TRY(a->texts.status);
    size_t at = 0;
    for (uint32_t i = 0; i < stage->prompts_count; i++) {
        const struct vq_stage_prompt *p = &stage->prompts[i];
        size_t bytes = p->again > 0 ? 10 : 0;
        a->samples[i] = (struct vq_sample){.prompt = p->user,
                                           .a = p->system,
                                           .b = vq_span(bytes > 0 ? a->texts.at + at : "", bytes),
                                           .image = p->image};
        at += bytes;
    }
    return VQ_OK;
}

static enum vq_status take_texts(struct vq_stage_grid *a, const struct vq_stage *stage)
{
    struct vq_json json;
    size_t *ends;
    VQ_TRY(VQ_ALLOC(ends, a->plan.grid.samples));
    for (uint32_t i = 0; i < a->plan.grid.samples; i++) {
        uint32_t first = i * VQ_EMBED_BATCH_MAX;
        vq_json_init(&json, &a->texts, 0);
        vq_json_array(&json);
        for (uint32_t k = first; k < stage->texts_count && k < first + VQ_EMBED_BATCH_MAX; k++) {
            vq_json_span(&json, stage->texts[k]);
        }
        vq_json_array_end(&json);
        ends[i] = a->texts.bytes;
    }
    for (uint32_t i = 0; a->texts.status == VQ_OK && i < a->plan.grid.samples; i++) {
        size_t from = i == 0 ? 0 : ends[i - 1];
        a->samples[i] = (struct vq_sample){.prompt = vq_span(a->texts.at + from, ends[i] - from)};
    }
    vq_free(ends);
    a->texts_count = stage->texts_count;
    return a->texts.status;
}

static enum vq_status take_items(struct vq_stage_grid *a, const struct vq_stage *stage)
{
    /* else an earlier stage asked them: ids are enough to look answers up */
    if (stage->items != NULL) {
        memcpy(a->samples, stage->items, stage->items_count * sizeof(*a->samples));
    }
    return VQ_OK;
}

/* Copies the texts: a chain's request hashes are made from them until accounting is done. */
static enum vq_status take_chains(struct vq_stage_grid *a, const struct vq_stage *stage,
                                  struct vq_sample_id *ids)
{
    for (uint32_t i = 0; i < stage->items_count; i++) {
        vq_buf_append(&a->texts, stage->items[i].a.at, stage->items[i].a.bytes);
        vq_buf_append(&a->texts, stage->items[i].prompt.at, stage->items[i].prompt.bytes);
    }
    VQ_TRY(a->texts.status);
    const char *at = a->texts.at;
    for (uint32_t i = 0; i < stage->items_count; i++) {
        size_t system = stage->items[i].a.bytes;
        size_t queries = stage->items[i].prompt.bytes;
        a->samples[i] = (struct vq_sample){
            .prompt = vq_span(at + system, queries), .a = vq_span(at, system), .b = vq_span("", 0)};
        at += system + queries;
        vq_chain_identify(&a->samples[i], &ids[i]);
    }
    a->plan.chains = a->samples;
    return vq_chain_memo_create(vq_grid_shards(&a->plan.grid), &a->plan.memo);
}

/* The first model whose requests have the same hashes as those of this one. */
static uint32_t asker_class(const struct vq_stage_grid *a, uint32_t judge)
{
    uint32_t first = 0;
    while (!vq_hash_eq(&a->askers[first].base, &a->askers[judge].base)) {
        first++;
    }
    return first;
}

/* Finds the chains that begin alike, among those that are asked. a->askers must be filled. */
static enum vq_status find_alike(struct vq_stage_grid *a)
{
    const struct vq_grid *g = &a->plan.grid;
    if (vq_grid_shards(g) >= UINT32_MAX / 2) {
        return VQ_LIMIT;
    }
    uint32_t shards = (uint32_t)vq_grid_shards(g);
    struct vq_chain_asked *asked = vq_alloc(shards, sizeof(*asked));
    bool any = false;
    enum vq_status status = VQ_NOMEM;
    a->alike = vq_alloc(shards, sizeof(*a->alike));
    if (asked == NULL || a->alike == NULL) {
        goto done;
    }
    for (uint32_t i = 0; i < shards; i++) {
        const struct vq_sample *chain = &a->samples[i / g->judges];
        bool is_asked = vq_plan_asks(&a->plan, (uint64_t)i * vq_grid_shard_tasks(g));
        asked[i] = (struct vq_chain_asked){.system = chain->a,
                                           .queries = is_asked ? chain->prompt : vq_span("", 0),
                                           .asker = asker_class(a, i % g->judges)};
    }
    status = vq_chains_alike(asked, shards, a->alike, &any);
done:
    if (!any) {
        vq_free(a->alike);
        a->alike = NULL;
    }
    vq_free(asked);
    return status;
}

static enum vq_status fill_samples(struct vq_stage_grid *a, const struct vq_grid_source *from,
                                   const struct vq_stage *stage)
{
    uint32_t n = a->plan.grid.samples;
    struct vq_sample_id *ids = NULL;
    VQ_TRY(VQ_ALLOC(a->samples, n));
    if (stage->item_ids == NULL) {
        VQ_TRY(VQ_ARENA_ALLOC(&a->memory, ids, n));
    }
    a->ids = ids == NULL ? stage->item_ids : ids;
    if (stage->kind == VQ_STAGE_RANK || stage->kind == VQ_STAGE_PREFER) {
        return take_rows(a, from, stage, ids);
    }
    if (vq_stage_chains(stage->kind)) {
        return take_chains(a, stage, ids);
    }
    bool items = vq_stage_rates(stage->kind) || stage->kind == VQ_STAGE_PROBE;
    VQ_TRY(items                          ? take_items(a, stage)
           : stage->kind == VQ_STAGE_TEXT ? take_prompts(a, stage)
                                          : take_texts(a, stage));
    for (uint32_t i = 0; i < n && ids != NULL; i++) {
        vq_sample_identify(&a->samples[i], &ids[i]);
    }
    return VQ_OK;
}

/* ---- axes, askers, orders ---- */

/* Copies the axes: request hashes are made from them until accounting is done. */
static enum vq_status fill_axes(struct vq_stage_grid *a, const struct vq_stage *stage)
{
    bool rank = vq_stage_has_axes(stage->kind);
    bool chat = vq_stage_chains(stage->kind);
    const struct vq_axis *axes = rank                            ? stage->axes
                                 : stage->kind == VQ_STAGE_EMBED ? &embedding_axis
                                                                 : &no_axis;
    uint32_t n = rank ? stage->axes_count : chat ? stage->turns : 1;
    VQ_TRY(VQ_ARENA_ALLOC(&a->memory, a->axes, n));
    for (uint32_t i = 0; i < n; i++) {
        const struct vq_axis *axis = rank ? &axes[i] : axes;
        a->axes[i].name = vq_arena_text(&a->memory, vq_span_str(axis->name));
        a->axes[i].low = vq_arena_text(&a->memory, vq_span_str(axis->low));
        a->axes[i].high = vq_arena_text(&a->memory, vq_span_str(axis->high));
    }
    a->plan.grid.vibes = n;
    return vq_arena_status(&a->memory);
}

/* Copies the mask of asked cells, because accounting needs it later. */
static enum vq_status fill_cells(struct vq_stage_grid *a, const struct vq_stage *stage)
{
    uint64_t cells = vq_grid_tasks(&a->plan.grid) / 2;
    if (stage->cells == NULL) {
        return VQ_OK;
    }
    a->plan.cells = a->cells = vq_arena_copy(&a->memory, stage->cells, cells, 1);
    return vq_arena_status(&a->memory);
}

/* `hashed`: the order asked first is drawn by hash; else it is 0. */
static enum vq_status fill_askers(struct vq_stage_grid *a, bool hashed)
{
    uint32_t judges = a->cast->count;
    uint32_t n = a->plan.grid.samples;
    VQ_TRY(VQ_ARENA_ALLOC(&a->memory, a->askers, judges));
    VQ_TRY(VQ_ARENA_ALLOC(&a->memory, a->first_order, (size_t)n * judges));
    for (uint32_t j = 0; j < judges; j++) {
        vq_asker_init(&a->askers[j], &a->cast->judges[j], a->template, a->repair);
    }
    for (size_t i = 0; hashed && i < n; i++) {
        for (uint32_t j = 0; j < judges; j++) {
            a->first_order[i * judges + j] =
                (uint8_t)vq_first_order(&a->ids[i], &a->cast->judges[j]);
        }
    }
    return VQ_OK;
}

const struct vq_template *vq_stage_grid_template(const struct vq_grid_source *from,
                                                 enum vq_stage_kind kind)
{
    switch (kind) {
    case VQ_STAGE_RANK: return from->templates[VQ_TEMPLATE_JUDGE];
    case VQ_STAGE_PREFER: return from->templates[VQ_TEMPLATE_PREFERENCE];
    case VQ_STAGE_LIKERT: return from->templates[VQ_TEMPLATE_LIKERT];
    case VQ_STAGE_BINARY: return from->templates[VQ_TEMPLATE_BINARY];
    case VQ_STAGE_PAIRWISE: return from->templates[VQ_TEMPLATE_PAIRWISE];
    case VQ_STAGE_TEXT:
    case VQ_STAGE_EMBED:
    case VQ_STAGE_CHAT:
    case VQ_STAGE_PROBE:
    case VQ_STAGE__COUNT: break;
    }
    return from->templates[VQ_TEMPLATE_AS_IS];
}

/* Copies `count` of the role's models, from the grid's first one on, with more output tokens. The
 * other arrays are the job's. */
static enum vq_status make_room(struct vq_stage_grid *a, const struct vq_role_models *cast,
                                uint32_t count, uint32_t doublings)
{
    uint32_t first = a->first_model;
    a->roomy = (struct vq_role_models){
        .conf = vq_arena_copy(&a->memory, cast->conf + first, count, sizeof(*cast->conf)),
        .judges = vq_arena_copy(&a->memory, cast->judges + first, count, sizeof(*cast->judges)),
        .identities = cast->identities + first,
        .pools = cast->pools + first,
        .pools_count = cast->pools_count + first,
        .count = count};
    a->cast = &a->roomy;
    VQ_TRY(vq_arena_status(&a->memory));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t tokens = a->roomy.conf[i].max_tokens;
        for (uint32_t k = 0; k < doublings && tokens <= ROOM_TOKENS_MAX / 2; k++) {
            tokens *= 2;
        }
        a->roomy.conf[i].max_tokens = a->roomy.judges[i].max_tokens = tokens;
    }
    return VQ_OK;
}

static enum vq_status build(struct vq_stage_grid *a, const struct vq_grid_source *from,
                            const struct vq_stage *stage)
{
    bool verdict = stage->kind == VQ_STAGE_RANK || stage->kind == VQ_STAGE_PREFER;
    a->no = stage->no;
    a->remake = stage->remake;
    a->remake_ctx = stage->remake_ctx;
    a->margins = stage->margins;
    a->plan.stage = stage->no;
    a->plan.kind = stage->kind;
    (void)snprintf(a->name, sizeof(a->name), "%s", stage->name);
    a->kind = stage->kind;
    a->role = (uint32_t)(stage->role == VQ_ROLE_PREFERENCE_JUDGE ? VQ_ROLE_JUDGE : stage->role);
    a->config = from->config;
    a->cast = &from->roles[stage->role];
    /* of several proposers, a stage asks one */
    bool one = stage->role == VQ_ROLE_PROPOSER && a->cast->count > 1;
    a->first_model = one ? stage->proposer : 0;
    VQ_TRY(stage->room > 0 || one ? make_room(a, a->cast, one ? 1 : a->cast->count, stage->room)
                                  : VQ_OK);
    a->pools = from->pools;
    VQ_ASSERT(a->cast->count > 0);
    a->template = vq_stage_grid_template(from, stage->kind);
    a->repair = verdict ? from->templates[VQ_TEMPLATE_REPAIR] : NULL;
    a->plan.grid.samples = count_samples(stage);
    a->plan.grid.judges = a->cast->count;
    enum vq_swap swap = swap_of(from->config, stage->kind);
    a->plan.swap = stage->again ? VQ_SWAP_NONE : swap;
    a->plan.repeat = (stage->again ? 1 : stage->repeat) * VQ_REPEAT_RETEST;
    a->plan.audit_share = stage->kind == VQ_STAGE_RANK ? from->config->judging.audit_share : 0;
    uint32_t generation = from->generation + stage->retries;
    a->plan.generation = generation < VQ_GENERATION_MAX ? generation : VQ_GENERATION_MAX;
    a->plan.retries = stage->retries;
    VQ_TRY(fill_samples(a, from, stage));
    VQ_TRY(fill_axes(a, stage));
    VQ_TRY(fill_cells(a, stage));
    VQ_TRY(fill_askers(a, swap != VQ_SWAP_NONE && !vq_stage_rates(stage->kind)));
    VQ_TRY(vq_stage_chains(stage->kind) ? find_alike(a) : VQ_OK);
    a->plan.samples = a->ids;
    a->plan.askers = a->askers;
    a->plan.axes = a->axes;
    a->plan.first_order = a->first_order;
    return VQ_OK;
}

enum vq_status vq_stage_grid_create(const struct vq_grid_source *from, const struct vq_stage *stage,
                                    struct vq_stage_grid **ret_asking, struct vq_error *err)
{
    struct vq_stage_grid *a;
    VQ_TRY(VQ_ALLOC(a, 1));
    vq_buf_init(&a->texts, TEXTS_BYTES_MAX);
    enum vq_status status = build(a, from, stage);
    if (status != VQ_OK) {
        vq_stage_grid_destroy(&a);
        return vq_fail(err, status, "stage \"%s\" cannot be made ready: %s", stage->name,
                       vq_status_text(status));
    }
    *ret_asking = a;
    return VQ_OK;
}

void vq_stage_grid_retire(struct vq_stage_grid *asking)
{
    if (vq_stage_chains(asking->kind)) {
        return;
    }
    vq_free(asking->samples);
    asking->samples = NULL;
    vq_buf_free(&asking->texts);
}

void vq_stage_grid_destroy(struct vq_stage_grid **asking)
{
    struct vq_stage_grid *a = *asking;
    if (a == NULL) {
        return;
    }
    vq_free(a->samples);
    vq_free(a->alike);
    vq_buf_free(&a->texts);
    vq_chain_memo_destroy(&a->plan.memo);
    vq_arena_clear(&a->memory);
    vq_free(a);
    *asking = NULL;
}

/* ---- SPEC ---- */

size_t vq_stage_grid_request_bytes(const struct vq_stage_grid *a)
{
    if (a->remake != NULL || vq_stage_chains(a->kind)) {
        return 0;
    }
    size_t texts = 0, axis = 0;
    for (uint32_t i = 0; i < a->plan.grid.samples; i++) {
        const struct vq_sample *s = &a->samples[i];
        size_t bytes = s->prompt.bytes + s->a.bytes + s->b.bytes + vq_sample_image_bytes(s);
        texts = bytes > texts ? bytes : texts;
    }
    for (uint32_t v = 0; v < a->plan.grid.vibes; v++) {
        const struct vq_axis *x = &a->axes[v];
        size_t bytes = strlen(x->name) + strlen(x->low) + strlen(x->high);
        axis = bytes > axis ? bytes : axis;
    }
    size_t repair = a->repair == NULL ? 0 : vq_template_text(a->repair).bytes;
    return texts + axis + vq_template_text(a->template).bytes + repair;
}

uint32_t vq_stage_grid_answer_tokens(const struct vq_stage_grid *a)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < a->cast->count; i++) {
        most = a->cast->conf[i].max_tokens > most ? a->cast->conf[i].max_tokens : most;
    }
    return most;
}

static struct vq_spec_judge spec_judge(const struct vq_stage_grid *a, uint32_t i)
{
    const struct vq_conf_judge *j = &a->cast->conf[i];
    return (struct vq_spec_judge){.name = vq_span_str(j->name),
                                  .model = vq_span_str(j->model),
                                  .dialect = vq_span_str(j->dialect),
                                  .identity = vq_span_str(a->cast->identities[i]),
                                  .max_tokens_field = vq_span_str(j->max_tokens_field),
                                  .temperature = j->temperature,
                                  .send_temperature = j->send_temperature,
                                  .max_tokens = j->max_tokens,
                                  .seed = j->seed,
                                  .tries_max = a->config->judging.tries_max,
                                  .system_role = (uint8_t)a->cast->judges[i].system_role,
                                  .structured = j->structured,
                                  .logprobs = j->logprobs,
                                  .answer_field =
                                      vq_span_str(j->answer_field == NULL ? "" : j->answer_field),
                                  .pools = a->cast->pools[i],
                                  .pools_count = a->cast->pools_count[i]};
}

/* A batch is cancelled as a whole. So with a deadline, the calls of a pool are split into several
 * batches. */
static void split_batches(const struct vq_stage_grid *asking, struct vq_spec_pool *pools)
{
    const struct vq_grid *g = &asking->plan.grid;
    uint64_t of_judge = g->judges == 0 ? 0 : vq_grid_tasks(g) / g->judges;
    for (uint32_t p = 0; asking->config->deadline != NULL && p < asking->pools->uses.count; p++) {
        uint64_t calls = 0;
        for (uint32_t i = 0; i < g->judges; i++) {
            for (uint32_t k = 0; k < asking->cast->pools_count[i]; k++) {
                calls += asking->cast->pools[i][k] == p ? of_judge : 0;
            }
        }
        uint64_t each = vq_deadline_each(calls);
        if (pools[p].batch_calls > each) {
            pools[p].batch_calls = (uint32_t)each;
        }
    }
}

enum vq_status vq_stage_grid_spec(const struct vq_stage_grid *asking, const char *offline_url,
                                  struct vq_buf *ret_body, struct vq_hash *ret_hash)
{
    static const uint8_t prefix_cache[] = {[VQ_CONF_PREFIX_AUTO] = VQ_PREFIX_AUTO,
                                           [VQ_CONF_PREFIX_ON] = VQ_PREFIX_ON,
                                           [VQ_CONF_PREFIX_OFF] = VQ_PREFIX_OFF};
    const struct vq_grid *g = &asking->plan.grid;
    struct vq_spec_axis *axes = vq_alloc(g->vibes, sizeof(*axes));
    struct vq_spec_judge *judges = vq_alloc(g->judges, sizeof(*judges));
    struct vq_spec_pool *pools = NULL;
    struct vq_span *keys = NULL;
    enum vq_status status = VQ_NOMEM;
    if (axes == NULL || judges == NULL) {
        goto done;
    }
    status = vq_run_pools_spec(asking->pools, offline_url, &pools, &keys);
    if (status != VQ_OK) {
        goto done;
    }
    split_batches(asking, pools);
    for (uint32_t v = 0; v < g->vibes; v++) {
        const struct vq_axis *axis = &asking->axes[v];
        axes[v] = (struct vq_spec_axis){vq_span_str(axis->name), vq_span_str(axis->low),
                                        vq_span_str(axis->high)};
    }
    for (uint32_t i = 0; i < g->judges; i++) {
        judges[i] = spec_judge(asking, i);
    }
    struct vq_spec spec = {
        .kind = (uint8_t)asking->kind,
        .stage = asking->no,
        .judge_template = vq_template_text(asking->template),
        .repair_template =
            asking->repair == NULL ? vq_span("", 0) : vq_template_text(asking->repair),
        .truncate = g->judges > 0 && asking->cast->judges[0].truncate,
        .lazy_swap = asking->plan.swap == VQ_SWAP_LAZY,
        .prefix_cache = prefix_cache[asking->config->judging.prefix_cache],
        .context_strict = asking->config->judging.context_check == VQ_CONTEXT_STRICT,
        .axes = axes,
        .axes_count = g->vibes,
        .judges = judges,
        .judges_count = g->judges,
        .pools = pools,
        .pools_count = asking->pools->uses.count};
    vq_buf_init(ret_body, VQ_STAGE_GRID_SPEC_BYTES_MAX);
    status = vq_spec_encode(&spec, ret_body);
    if (status == VQ_OK) {
        vq_hash_of("vq-spec", vq_buf_span(ret_body), ret_hash);
    } else {
        vq_buf_free(ret_body);
    }
done:
    vq_free(axes);
    vq_free(judges);
    vq_free(pools);
    vq_free(keys);
    return status;
}
