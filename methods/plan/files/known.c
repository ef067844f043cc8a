/* A stage whose questions are known: looks up each task in the call store, reads some of the stored
 * answers to learn from them, and estimates the size of prompts. Writes nothing. Not its job: the
 * use of the counts (forecast.c). */
#include "methods/plan/files/parts.h"

#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "common/judge/chain.h"
#include "coordinator/store/calls/lookup.h"
#include "coordinator/store/calls/repairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define READ_MAX         256u /* stored answers that are read, per judge */
#define STRATA           16u
#define RENDERED         16u /* samples that are rendered, per stratum */
#define PRIORS_BYTES_MAX ((size_t)64 << 20)
/* texts to repair that are compared; each further text counts as different */
#define TEXTS_MAX ((size_t)1 << 20)

static const struct vq_id no_run; /* with this run id, no failure counts */

/* A fair random draw of a judge's stored answers. */
struct reservoir {
    uint64_t tasks[READ_MAX];
    uint64_t seen;
};

struct unread { /* an answer without a verdict */
    uint32_t judge;
    struct vq_hash key; /* key of its text */
};

struct reading {
    const struct vq_stage_grid *asking;
    struct vq_view *view;
    struct vq_known_stage *known;
    struct vq_known *tasks; /* tasks of one shard */
    struct reservoir *stored;
    struct vq_rng rng;
    struct vq_buf priors;
    struct unread *texts; /* texts to repair */
    size_t texts_count, texts_cap;
    struct vq_learning *learning;
    enum vq_role role;
};

/* ---- counting ---- */

static void draw(struct reading *r, struct reservoir *into, uint64_t task)
{
    uint64_t at = into->seen < READ_MAX ? into->seen : vq_rng_below(&r->rng, into->seen + 1);
    into->seen++;
    if (at < READ_MAX) {
        into->tasks[at] = task;
    }
}

/* Bytes of the question and of the history before it. */
static double probe_bytes(const struct vq_stage_grid *a, uint64_t task)
{
    struct vq_cell cell = vq_grid_cell(&a->plan.grid, task);
    const struct vq_sample *prefix = &a->samples[cell.sample];
    return (double)(prefix->a.bytes + prefix->prompt.bytes + strlen(a->axes[cell.vibe].low));
}

/* Equal texts of one judge are repaired once. */
static enum vq_status count_repair(struct reading *r, uint64_t task, struct vq_span text,
                                   struct vq_known_judge *to)
{
    to->repairs++;
    if (r->texts_count == TEXTS_MAX) {
        to->repairs_texts++;
        return VQ_OK;
    }
    VQ_TRY(vq_grow((void **)&r->texts, &r->texts_cap, r->texts_count + 1, sizeof(*r->texts),
                   TEXTS_MAX));
    struct unread *t = &r->texts[r->texts_count++];
    t->judge = vq_grid_cell(&r->asking->plan.grid, task).judge;
    vq_repair_key(&r->asking->plan, task, text, &t->key);
    return VQ_OK;
}

static int by_text(const void *a, const void *b)
{
    const struct unread *x = a, *y = b;
    return x->judge != y->judge ? (x->judge > y->judge) - (x->judge < y->judge)
                                : memcmp(x->key.b, y->key.b, sizeof(x->key.b));
}

static void count_texts(struct reading *r)
{
    if (r->texts_count > 1) { /* without texts the pointer is NULL, which qsort does not allow */
        qsort(r->texts, r->texts_count, sizeof(*r->texts), by_text);
    }
    for (size_t i = 0; i < r->texts_count; i++) {
        bool first = i == 0 || by_text(&r->texts[i - 1], &r->texts[i]) != 0;
        r->known->judges[r->texts[i].judge].repairs_texts += first;
    }
}

/* `other`: the other order of the same cell. */
static enum vq_status count_task(struct reading *r, uint64_t shard, uint64_t task,
                                 const struct vq_known *k, const struct vq_known *other)
{
    const struct vq_plan *plan = &r->asking->plan;
    uint32_t judge = (uint32_t)(shard % plan->grid.judges);
    struct vq_known_judge *to = &r->known->judges[judge];
    struct vq_learned *learned =
        vq_learn_at(r->learning,
                    (struct vq_learn_of){r->role, r->asking->first_model + judge, r->asking->kind});
    r->known->outcomes[task] = (uint8_t)k->outcome;
    r->known->open += k->outcome == VQ_OUTCOME_NONE;
    if (!vq_plan_asks(plan, task)) {
        return VQ_OK;
    }
    to->planned++;
    if (k->outcome == VQ_OUTCOME_NOT_NEEDED) {
        to->saved++;
    } else if (k->outcome != VQ_OUTCOME_NONE) {
        to->from_store++;
        draw(r, &r->stored[judge], task);
        learned->firsts += !k->second;
        learned->settled += !k->second && vq_outcome_settles(k->outcome);
    } else if (k->prior.bytes > 0) {
        to->from_store++;
        return count_repair(r, task, k->prior, to);
    } else if (k->lazy && other->outcome == VQ_OUTCOME_NONE) {
        to->maybe++;
        r->known->maybe[shard]++;
    } else {
        to->certain++;
        r->known->certain[shard]++;
        to->talk_bytes += r->asking->kind == VQ_STAGE_PROBE ? probe_bytes(r->asking, task) : 0;
    }
    return VQ_OK;
}

/* Counts the texts of a dialogue's turns: each is sent with all earlier messages. */
static void count_chain(struct reading *r, uint64_t shard)
{
    const struct vq_plan *plan = &r->asking->plan;
    const struct vq_sample *chain = &r->asking->samples[shard / plan->grid.judges];
    struct vq_known_judge *to = &r->known->judges[shard % plan->grid.judges];
    struct vq_span rest = chain->prompt, query;
    double bytes = (double)chain->a.bytes, unheard = 0;
    for (uint32_t turn = 0; turn < plan->grid.vibes && vq_chain_unpack(&rest, &query); turn++) {
        const struct vq_known *k = &r->tasks[2 * turn];
        uint64_t task = (shard * plan->grid.vibes + turn) * 2;
        bytes += (double)query.bytes;
        r->known->sent[task / 2] = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
        if (vq_plan_asks(plan, task) && k->outcome == VQ_OUTCOME_NONE) {
            to->talk_bytes += bytes;
            to->unheard += unheard;
        }
        bytes += (double)k->prior.bytes;
        unheard += k->prior.at == NULL ? 1 : 0;
    }
}

static enum vq_status count_all(struct reading *r, struct vq_error *err)
{
    const struct vq_plan *plan = &r->asking->plan;
    uint32_t tasks = vq_grid_shard_tasks(&plan->grid);
    for (uint64_t shard = 0; shard < vq_grid_shards(&plan->grid); shard++) {
        vq_buf_clear(&r->priors);
        VQ_TRY(vq_lookup_shard(r->view, plan, &no_run, shard, r->tasks, &r->priors, err));
        for (uint32_t i = 0; i < tasks; i++) {
            VQ_TRY(count_task(r, shard, shard * tasks + i, &r->tasks[i], &r->tasks[i ^ 1u]));
        }
        if (vq_stage_chains(r->asking->kind)) {
            count_chain(r, shard);
        }
    }
    count_texts(r);
    return VQ_OK;
}

/* ---- reading stored answers ---- */

/* The calls that repaired answers of one judge, among the answers that are read. */
struct repairs {
    struct vq_id calls[READ_MAX];
    uint32_t count;
};

static uint32_t met_once(const struct repairs *repairs)
{
    uint32_t once = 0;
    for (uint32_t i = 0; i < repairs->count; i++) {
        uint32_t equal = 0;
        for (uint32_t k = 0; k < repairs->count; k++) {
            equal += vq_id_eq(&repairs->calls[i], &repairs->calls[k]);
        }
        once += equal == 1;
    }
    return once;
}

static enum vq_status learn_answer(struct reading *r, uint32_t judge, uint64_t task,
                                   struct vq_buf *system, struct vq_buf *user,
                                   struct repairs *repairs, struct vq_error *err)
{
    const struct vq_stage_grid *a = r->asking;
    struct vq_learned *to =
        vq_learn_at(r->learning, (struct vq_learn_of){r->role, a->first_model + judge, a->kind});
    struct vq_answer answer;
    bool repaired;
    VQ_TRY(vq_lookup_standing(r->view, &a->plan, &no_run, task, &answer, &repaired, err));
    to->looked++;
    if (repaired) {
        to->unreadable++;
        repairs->calls[repairs->count++] = answer.call;
    }
    /* the tokens are those of the repair, or there is no usage */
    if (repaired || answer.tokens_in == 0) {
        return VQ_OK;
    }
    struct vq_cell cell = vq_grid_cell(&a->plan.grid, task);
    double bytes = a->kind == VQ_STAGE_PROBE  ? probe_bytes(a, task)
                   : a->kind == VQ_STAGE_CHAT ? r->known->sent[task / 2]
                                              : 0;
    if (!vq_stage_talks(a->kind)) {
        VQ_TRY(vq_request_render(&a->askers[judge], &a->samples[cell.sample], &a->axes[cell.vibe],
                                 cell.order, 0, system, user));
        bytes = (double)(system->bytes + user->bytes);
    }
    double out = (double)answer.tokens_out;
    to->answers++;
    to->bytes += bytes;
    to->tokens_in += (double)answer.tokens_in;
    to->tokens_cached += (double)answer.tokens_cached;
    to->out += out;
    to->out_sq += out * out;
    return VQ_OK;
}

static enum vq_status learn_all(struct reading *r, struct vq_error *err)
{
    struct vq_buf system, user;
    vq_buf_init(&system, VQ_RENDER_BYTES_MAX);
    vq_buf_init(&user, VQ_RENDER_BYTES_MAX);
    enum vq_status status = VQ_OK;
    for (uint32_t j = 0; j < r->asking->plan.grid.judges; j++) {
        const struct reservoir *stored = &r->stored[j];
        uint64_t n = stored->seen < READ_MAX ? stored->seen : READ_MAX;
        struct repairs repairs = {.count = 0};
        for (uint64_t i = 0; i < n && status == VQ_OK; i++) {
            status = learn_answer(r, j, stored->tasks[i], &system, &user, &repairs, err);
        }
        struct vq_learn_of of = {r->role, r->asking->first_model + j, r->asking->kind};
        vq_learn_at(r->learning, of)->own_repair += met_once(&repairs);
    }
    vq_buf_free(&system);
    vq_buf_free(&user);
    return status;
}

static enum vq_status make_room(struct vq_known_stage *known, struct reading *r)
{
    const struct vq_grid *g = &known->asking->plan.grid;
    if (vq_stage_chains(known->asking->kind)) {
        VQ_TRY(VQ_ARENA_ALLOC(&known->memory, known->sent, vq_grid_tasks(g) / 2));
    }
    VQ_TRY(VQ_ARENA_ALLOC(&known->memory, known->judges, g->judges));
    VQ_TRY(VQ_ARENA_ALLOC(&known->memory, known->certain, vq_grid_shards(g)));
    VQ_TRY(VQ_ARENA_ALLOC(&known->memory, known->maybe, vq_grid_shards(g)));
    VQ_TRY(VQ_ARENA_ALLOC(&known->memory, known->outcomes, vq_grid_tasks(g)));
    VQ_TRY(VQ_ARENA_ALLOC(&known->memory, r->tasks, vq_grid_shard_tasks(g)));
    return VQ_ARENA_ALLOC(&known->memory, r->stored, g->judges);
}

enum vq_status vq_known_stage_read(const struct vq_stage_grid *asking, enum vq_role role,
                                   struct vq_view *view, struct vq_learning *learning,
                                   struct vq_known_stage *ret_known, struct vq_error *err)
{
    struct vq_known_stage known = {.asking = asking};
    struct reading r = {
        .asking = asking, .view = view, .known = &known, .learning = learning, .role = role};
    vq_rng_seed(&r.rng, asking->config->seed);
    vq_buf_init(&r.priors, PRIORS_BYTES_MAX);
    enum vq_status status = make_room(&known, &r);
    if (status == VQ_OK) {
        status = count_all(&r, err);
    }
    if (status == VQ_OK) {
        status = learn_all(&r, err);
    }
    vq_buf_free(&r.priors);
    vq_free(r.texts);
    if (status != VQ_OK) {
        vq_known_stage_free(&known);
        return status;
    }
    *ret_known = known;
    return VQ_OK;
}

void vq_known_stage_free(struct vq_known_stage *known)
{
    vq_arena_clear(&known->memory);
    *known = (struct vq_known_stage){.asking = NULL};
}

/* ---- sizes ---- */

struct sized {
    size_t bytes; /* bytes of the sample's texts */
    uint32_t sample;
    float weight;
};

static int by_bytes(const void *a, const void *b)
{
    const struct sized *x = a, *y = b;
    if (x->bytes != y->bytes) {
        return x->bytes < y->bytes ? -1 : 1;
    }
    return (x->sample > y->sample) - (x->sample < y->sample);
}

struct rendering {
    const struct vq_stage_grid *asking;
    uint32_t judge;
    uint32_t axis; /* the next axis; each call of render() takes another one */
    struct vq_buf system, user;
};

static enum vq_status render(struct rendering *r, const struct sized *s, double *ret_added)
{
    const struct vq_stage_grid *a = r->asking;
    VQ_TRY(vq_request_render(&a->askers[r->judge], &a->samples[s->sample], &a->axes[r->axis], 0, 0,
                             &r->system, &r->user));
    r->axis = (r->axis + 1) % a->plan.grid.vibes;
    size_t bytes = r->system.bytes + r->user.bytes + vq_sample_image_bytes(&a->samples[s->sample]);
    *ret_added = (double)bytes - (double)s->bytes;
    return VQ_OK;
}

/* Adds to *total the weight of a stratum times the mean bytes that rendering adds to the texts, and
 * to *variance the variance of this product. */
static enum vq_status stratum(struct rendering *r, const struct sized *s, uint32_t n, uint32_t take,
                              double *total, double *variance)
{
    double weight = 0, sum = 0, sum_sq = 0;
    for (uint32_t i = 0; i < n; i++) {
        weight += s[i].weight;
    }
    for (uint32_t i = 0; i < take; i++) {
        double added;
        VQ_TRY(render(r, &s[(uint64_t)(2 * i + 1) * n / (2 * take)], &added));
        sum += added;
        sum_sq += added * added;
    }
    double mean = sum / take;
    double spread = take > 1 ? fmax(0, sum_sq / take - mean * mean) / (take - 1) : 0;
    *total += weight * mean;
    *variance += weight * weight * spread;
    return VQ_OK;
}

static enum vq_status strata(struct rendering *r, struct sized *s, uint32_t n, double *ret_bytes,
                             double *ret_error)
{
    qsort(s, n, sizeof(*s), by_bytes);
    double total = 0, weight = 0, variance = 0;
    for (uint32_t i = 0; i < n; i++) {
        total += (double)s[i].bytes * s[i].weight;
        weight += s[i].weight;
    }
    bool all = n <= STRATA * RENDERED;
    for (uint32_t h = 0; h < STRATA; h++) {
        uint32_t from = (uint32_t)((uint64_t)h * n / STRATA);
        uint32_t count = (uint32_t)((uint64_t)(h + 1) * n / STRATA) - from;
        uint32_t take = all || count < RENDERED ? count : RENDERED;
        if (count > 0) {
            VQ_TRY(stratum(r, s + from, count, take, &total, &variance));
        }
    }
    *ret_bytes = weight > 0 ? total / weight : 0;
    *ret_error = weight > 0 ? sqrt(variance) / weight : 0;
    return VQ_OK;
}

enum vq_status vq_prompt_bytes(const struct vq_stage_grid *asking, uint32_t judge,
                               const float *weights, double *ret_bytes, double *ret_error)
{
    uint32_t n = 0;
    struct sized *s;
    VQ_TRY(VQ_ALLOC(s, asking->plan.grid.samples));
    for (uint32_t i = 0; i < asking->plan.grid.samples; i++) {
        const struct vq_sample *sample = &asking->samples[i];
        if (weights[i] > 0) {
            s[n++] = (struct sized){sample->prompt.bytes + sample->a.bytes + sample->b.bytes, i,
                                    weights[i]};
        }
    }
    struct rendering r = {.asking = asking, .judge = judge};
    vq_buf_init(&r.system, VQ_RENDER_BYTES_MAX);
    vq_buf_init(&r.user, VQ_RENDER_BYTES_MAX);
    enum vq_status status = strata(&r, s, n, ret_bytes, ret_error);
    vq_buf_free(&r.system);
    vq_buf_free(&r.user);
    vq_free(s);
    return status;
}
