/* A judge, as this worker works for it: whether the worker can do anything for it, and which pool
 * gets its next ask.
 *
 * Any pool of a judge may answer. If several pools may start a call now, the asks of one sample and
 * order go to the same pool as far as it can take them, so that a provider that caches the front of
 * a prompt finds it. Rendezvous hashing chooses the pool: each pool has a rank for each sample and
 * order, so adding or removing a pool moves only the asks of that pool. After a failure that
 * another pool may not have, the ask goes to another pool, if there is one: to the pool with the
 * fewest failures in a row. Otherwise a task could use up its tries at two pools that are down
 * while a third one works. A judge is open while one of its pools is.
 *
 * Not its job: limits of a pool (pool.c), the order of asks (lease.c). */
#include "common/base/alloc.h"
#include "worker/core/state.h"

#include <math.h>

bool vq_work_judges_reset(struct vq_work *w)
{
    struct vq_work_judging *judges = vq_alloc(w->spec->judges_count, sizeof(*judges));
    if (judges == NULL) {
        return vq_work_ok(w, VQ_NOMEM);
    }
    w->judges = judges;
    return true;
}

void vq_work_judges_free(struct vq_work_judging *judges, uint32_t count)
{
    for (uint32_t i = 0; judges != NULL && i < count; i++) {
        vq_heap_free(&judges[i].ready);
    }
    vq_free(judges);
}

enum vq_pool_state vq_work_judge_state(const struct vq_work *w, uint32_t judge,
                                       const char **ret_text)
{
    const struct vq_work_judge *j = &w->spec->judges[judge];
    const struct vq_work_pool *first = NULL;
    for (uint32_t i = 0; i < j->pools_count; i++) {
        const struct vq_work_pool *pool = &w->pools[j->pools[i]];
        bool fits = vq_work_pool_fits(w, j->pools[i]);
        if (fits && pool->state == VQ_POOL_OPEN) {
            *ret_text = "";
            return VQ_POOL_OPEN;
        }
        first = first == NULL && fits ? pool : first;
    }
    *ret_text =
        first == NULL ? "its pools are batch pools, for which this stage has no work" : first->text;
    return first == NULL ? VQ_POOL_NO_MODEL : (enum vq_pool_state)first->state;
}

bool vq_work_judge_usable(const struct vq_work *w, uint32_t judge)
{
    const struct vq_work_judge *j = &w->spec->judges[judge];
    for (uint32_t i = 0; !w->judges[judge].parked && i < j->pools_count; i++) {
        if (vq_work_pool_usable(w, j->pools[i])) {
            return true;
        }
    }
    return false;
}

void vq_work_judge_park(struct vq_work *w, uint32_t judge, uint32_t pool)
{
    struct vq_work_judge *j = &w->spec->judges[judge];
    for (uint32_t i = 0; i < j->pools_count; i++) {
        if (j->pools[i] != pool) {
            continue;
        }
        if (j->pools_count == 1) {
            w->judges[judge].parked = true;
        } else {
            memmove(&j->pools[i], &j->pools[i + 1], (j->pools_count - i - 1) * sizeof(j->pools[0]));
            j->pools_count--;
        }
        vq_work_note(w, VQ_WORK_NOTE_WARN, "pool %s is parked for judge %s by the coordinator",
                     w->spec->pools[pool].name, j->judge.name);
        return;
    }
}

bool vq_work_judge_uses(const struct vq_work *w, uint32_t judge, uint32_t pool)
{
    const struct vq_work_judge *j = &w->spec->judges[judge];
    for (uint32_t i = 0; i < j->pools_count; i++) {
        if (j->pools[i] == pool) {
            return true;
        }
    }
    return false;
}

/* ---- the cost of a call ---- */

static size_t cut(size_t bytes, size_t most)
{
    return most > 0 && bytes > most ? most : bytes;
}

/* Of the rendered texts, except the texts that the template repeats. */
static double prompt_bytes(const struct vq_work *w, const struct vq_work_ask *ask)
{
    if (ask->kind != VQ_CALL_ASK) {
        return (double)(ask->answer_bytes + vq_template_text(w->spec->repair).bytes);
    }
    if (ask->lease->chain != NULL) {
        return (double)ask->lease->chain->said_bytes;
    }
    const struct vq_sample *sample = &ask->lease->sample->text;
    const struct vq_axis *axis = &w->spec->axes[ask->vibe];
    size_t bytes = sample->prompt.bytes + cut(sample->a.bytes, ask->output_bytes_max) +
                   cut(sample->b.bytes, ask->output_bytes_max) + strlen(axis->name) +
                   strlen(axis->low) + strlen(axis->high) + vq_sample_image_bytes(sample);
    return (double)(bytes + vq_template_text(w->spec->ranker).bytes);
}

/* Whether the call may write a cache, at the price for that. */
static bool marks(const struct vq_work *w, const struct vq_work_ask *ask)
{
    if (ask->lease->chain != NULL) {
        return w->spec->prefix_cache != VQ_PREFIX_OFF;
    }
    return ask->lease->fronts[ask->order].bytes > 0 && ask->kind == VQ_CALL_ASK;
}

static struct vq_work_need need_of(const struct vq_work *w, const struct vq_work_ask *ask,
                                   uint32_t pool, double bytes)
{
    uint32_t judge = ask->lease->judge;
    uint32_t most = w->spec->kind == VQ_STAGE_EMBED ? 0 : w->spec->judges[judge].judge.max_tokens;
    const struct vq_ratio *ratio = &w->pools[pool].ratios[ask->kind][w->spec->kind];
    double can_be = vq_work_input_most(w, ask->kind, bytes, most);
    double in = fmin(vq_ratio_tokens(ratio, bytes), can_be);
    double out = vq_answers_tokens(&w->judges[judge].answers[ask->kind], most);
    double in_most = fmin(vq_ratio_tokens_most(ratio, bytes), can_be);
    /* a provider may bill thinking, which max_tokens does not limit */
    double out_most = fmax(most, w->judges[judge].answers[ask->kind].longest);
    const struct vq_price *price = &w->spec->pools[pool].price;
    bool written = marks(w, ask) && price->written > price->input;
    /* the ordinary tier may serve the call */
    double tier = fmax(w->spec->pools[pool].tier_price, 1);
    double nano = (double)vq_price_of(
        price,
        &(struct vq_usage){.input = in_most, .written = written ? in_most : 0, .output = out_most});
    return (struct vq_work_need){
        .rates = {.requests = 1, .input_tokens = in, .output_tokens = out, .tokens = in + out},
        .tokens = (uint64_t)(in_most + out_most),
        .nano = (uint64_t)ceil(nano * tier),
        .in_most = in_most,
        .out_most = out_most,
        .bytes = bytes,
    };
}

int64_t vq_work_judge_when(const struct vq_work *w, const struct vq_work_ask *ask, uint32_t pool,
                           struct vq_work_need *ret_need)
{
    *ret_need = need_of(w, ask, pool, prompt_bytes(w, ask));
    return vq_work_pool_when(w, pool, ret_need);
}

void vq_work_judge_expect(struct vq_work *w, const struct vq_work_ask *ask)
{
    const struct vq_work_judge *judge = &w->spec->judges[ask->lease->judge];
    double bytes = prompt_bytes(w, ask);
    for (uint32_t i = 0; i < judge->pools_count; i++) {
        struct vq_work_need need = need_of(w, ask, judge->pools[i], bytes);
        vq_work_pool_expect(w, judge->pools[i], &need);
    }
}

/* ---- which pool ---- */

static uint64_t mixed(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static uint64_t rank_of(const struct vq_work_ask *ask, uint32_t pool)
{
    uint64_t front = ask->lease->sample->index * 2 + ask->order;
    return mixed(mixed(front + UINT64_C(0x9e3779b97f4a7c15)) + pool);
}

/* Whether another pool than the one that failed may be called. */
static bool has_other(const struct vq_work *w, const struct vq_work_judge *judge, uint32_t failed)
{
    for (uint32_t i = 0; i < judge->pools_count; i++) {
        uint32_t pool = judge->pools[i];
        if (pool + 1 != failed && vq_work_pool_usable(w, pool) &&
            w->pools[pool].paused_ns <= w->now_ns) {
            return true;
        }
    }
    return false;
}

/* Whether pool `a` comes before pool `b`. */
static bool comes_first(const struct vq_work *w, const struct vq_work_ask *ask, uint32_t a,
                        uint32_t b)
{
    uint32_t failures[] = {w->pools[a].failures, w->pools[b].failures};
    if (ask->failed_pool != 0 && failures[0] != failures[1]) {
        return failures[0] < failures[1];
    }
    return rank_of(ask, a) > rank_of(ask, b);
}

bool vq_work_judge_gathers(const struct vq_work *w, const struct vq_work_ask *ask)
{
    const struct vq_work_judge *judge = &w->spec->judges[ask->lease->judge];
    bool avoid = ask->failed_pool != 0 && has_other(w, judge, ask->failed_pool);
    for (uint32_t i = 0; i < judge->pools_count; i++) {
        uint32_t pool = judge->pools[i];
        if ((!avoid || pool + 1 != ask->failed_pool) && vq_work_pool_usable(w, pool) &&
            w->spec->pools[pool].batch_calls > 0) {
            return true;
        }
    }
    return false;
}

bool vq_work_judge_choose(const struct vq_work *w, const struct vq_work_ask *ask,
                          uint32_t *ret_pool, struct vq_work_need *ret_need, int64_t *ret_when_ns)
{
    const struct vq_work_judge *judge = &w->spec->judges[ask->lease->judge];
    double bytes = prompt_bytes(w, ask);
    bool avoid = ask->failed_pool != 0 && has_other(w, judge, ask->failed_pool);
    bool found = false, gather = vq_work_judge_gathers(w, ask);
    *ret_when_ns = INT64_MAX;
    for (uint32_t i = 0; i < judge->pools_count; i++) {
        uint32_t pool = judge->pools[i];
        if ((avoid && pool + 1 == ask->failed_pool) || !vq_work_pool_usable(w, pool) ||
            (w->spec->pools[pool].batch_calls > 0) != gather) {
            continue;
        }
        struct vq_work_need need = need_of(w, ask, pool, bytes);
        int64_t when = vq_work_pool_when(w, pool, &need);
        *ret_when_ns = when < *ret_when_ns ? when : *ret_when_ns;
        if (when <= w->now_ns && (!found || comes_first(w, ask, pool, *ret_pool))) {
            found = true;
            *ret_pool = pool;
            *ret_need = need;
        }
    }
    return found;
}
