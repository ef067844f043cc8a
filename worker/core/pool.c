/* A judge as this worker may use it: its slice of the limits, what refusals taught, whether it is closed, and how much
 * work to ask for.
 *
 * Invariants: 1 <= level <= limit, unless limit is 0; a closed pool has no idle asks and a credit of 0. Until the first GRANT
 * a pool has a small concurrency and no known rates; grants of one session rise in n. A refusal of capacity halves the
 * level once for all calls that were in flight together, an answer raises it by 1/level: one more for each round of
 * answers (AIMD). A closed pool stays closed for this process: its reason needs a person.
 *
 * Not its job: which ask is next (lease.c), what a refusal does to its ask (call.c). */
#include "common/base/alloc.h"
#include "worker/core/state.h"

#include <stdio.h>

static void set_limit(struct vq_work_pool *pool, uint32_t limit)
{
    bool at_limit = pool->level >= pool->limit;
    pool->limit = limit > VQ_WORK_CONCURRENCY_MAX ? VQ_WORK_CONCURRENCY_MAX : limit;
    if (at_limit || pool->level > pool->limit) {
        pool->level = pool->limit;
    }
    if (pool->level < 1) {
        pool->level = 1;
    }
}

static bool same_judge(const struct vq_work_judge *a, const struct vq_work_judge *b)
{
    return strcmp(a->base_url, b->base_url) == 0 && strcmp(a->judge.model, b->judge.model) == 0 &&
           strcmp(a->key, b->key) == 0;
}

/* The judge of `old` that judge i of the SPEC in force was: of the same name if there is one. UINT32_MAX: none. */
static uint32_t was_judge(const struct vq_work *w, const struct vq_work_spec *old, uint32_t i)
{
    uint32_t found = UINT32_MAX;
    const struct vq_work_judge *judge = &w->spec->judges[i];
    for (uint32_t j = 0; old != NULL && j < old->judges_count; j++) {
        if (!same_judge(judge, &old->judges[j])) {
            continue;
        }
        if (strcmp(judge->judge.name, old->judges[j].judge.name) == 0) {
            return j;
        }
        found = found == UINT32_MAX ? j : found;
    }
    return found;
}

/* The schedule and what refusals taught; not what was asked or said in the session before. */
static void carry_over(struct vq_work_pool *pool, const struct vq_work_pool *was, bool same_use)
{
    *pool = (struct vq_work_pool){.heard = was->heard,
                                  .limit = was->limit,
                                  .level = was->level,
                                  .cut_ns = was->cut_ns,
                                  .paused_ns = was->paused_ns,
                                  .pauses = was->pauses,
                                  .requests_per_minute = was->requests_per_minute,
                                  .requests = was->requests,
                                  .tokens = was->tokens};
    if (same_use && was->state != VQ_POOL_OPEN && was->state != VQ_POOL_NO_KEY) {
        pool->state = was->state; /* its reason still needs a person */
        memcpy(pool->text, was->text, sizeof(pool->text));
    }
}

static void flights_carry_over(struct vq_work *w, struct vq_work_pool *pools, const uint32_t *now,
                               uint32_t count)
{
    for (struct vq_work_link *at = w->flights.next; at != &w->flights; at = at->next) {
        struct vq_work_flight *flight = VQ_WORK_ITEM(at, struct vq_work_flight, link);
        flight->pool = flight->pool < count ? now[flight->pool] : UINT32_MAX;
        if (flight->pool != UINT32_MAX) {
            pools[flight->pool].in_flight++;
        }
    }
}

bool vq_work_pools_reset(struct vq_work *w, const struct vq_work_spec *old,
                         const struct vq_work_pool *old_pools)
{
    uint32_t old_count = old == NULL ? 0 : old->judges_count;
    uint32_t *now = vq_alloc(old_count, sizeof(*now)); /* where a judge of the old SPEC is now */
    struct vq_work_pool *pools = vq_alloc(w->spec->judges_count, sizeof(*pools));
    if (pools == NULL || now == NULL) {
        vq_free(pools);
        vq_free(now);
        return vq_work_ok(w, VQ_NOMEM);
    }
    for (uint32_t j = 0; j < old_count; j++) {
        now[j] = UINT32_MAX;
    }
    for (uint32_t i = 0; i < w->spec->judges_count; i++) {
        uint32_t was = was_judge(w, old, i);
        pools[i].cut_ns = INT64_MIN;
        pools[i].paused_ns = INT64_MIN;
        if (was == UINT32_MAX) {
            set_limit(&pools[i], VQ_WORK_CONCURRENCY_DEFAULT);
            continue;
        }
        bool embeds = w->spec->kind == VQ_STAGE_EMBED;
        carry_over(&pools[i], &old_pools[was], embeds == (old->kind == VQ_STAGE_EMBED));
        now[was] = now[was] == UINT32_MAX ? i : now[was];
    }
    flights_carry_over(w, pools, now, old_count);
    vq_free(now);
    w->pools = pools;
    return true;
}

void vq_work_pools_free(struct vq_work *w, struct vq_work_pool *pools, uint32_t count)
{
    (void)w;
    for (uint32_t i = 0; pools != NULL && i < count; i++) {
        vq_work_heap_free(&pools[i].ready);
    }
    vq_free(pools);
}

static struct vq_work_pool *pool_of(struct vq_work *w, uint32_t judge)
{
    return w->spec != NULL && judge < w->spec->judges_count ? &w->pools[judge] : NULL;
}

static void set_text(struct vq_work_pool *pool, struct vq_span text)
{
    int bytes = (int)(text.bytes < sizeof(pool->text) ? text.bytes : sizeof(pool->text) - 1);
    (void)snprintf(pool->text, sizeof(pool->text), "%.*s", bytes, bytes == 0 ? "" : text.at);
}

void vq_work_on_key(struct vq_work *w, const struct vq_work_key *key)
{
    struct vq_work_pool *pool = pool_of(w, key->judge);
    if (pool == NULL) {
        return;
    }
    pool->keyed = true;
    pool->fingerprint_bytes = key->has_fingerprint ? sizeof(pool->fingerprint) : 0;
    memcpy(pool->fingerprint, key->fingerprint, sizeof(pool->fingerprint));
    if (key->state != VQ_POOL_OPEN) {
        vq_work_pool_close(w, key->judge, key->state, key->text);
    }
    w->credit_due = true;
}

void vq_work_on_grant(struct vq_work *w, const struct vq_msg_grant *grant)
{
    for (uint32_t i = 0; i < grant->slices_count; i++) {
        const struct vq_slice *slice = &grant->slices[i];
        struct vq_work_pool *pool = pool_of(w, slice->judge);
        if (pool == NULL || (pool->granted && slice->n <= pool->grant_n)) {
            continue;
        }
        pool->granted = true;
        pool->grant_n = slice->n;
        pool->requests_per_minute = slice->requests_per_minute;
        set_limit(pool, slice->concurrency);
        if (slice->concurrency == 0) { /* for others; what is in flight goes on */
            vq_work_return_all(w, slice->judge);
        }
        vq_gcra_set(&pool->requests, slice->requests_per_minute, VQ_WORK_REQUEST_BURST_S);
        vq_gcra_set(&pool->tokens, slice->tokens_per_minute, VQ_WORK_TOKEN_BURST_S);
        w->credit_due = true;
    }
}

void vq_work_pool_close(struct vq_work *w, uint32_t judge, enum vq_pool_state state,
                        struct vq_span text)
{
    struct vq_work_pool *pool = pool_of(w, judge);
    if (pool == NULL || pool->state != VQ_POOL_OPEN) {
        return;
    }
    pool->state = (uint8_t)(state == VQ_POOL_OPEN ? VQ_POOL_BAD_KEY : state);
    set_text(pool, text);
    vq_work_note(w, VQ_WORK_NOTE_WARN, "judge %s is closed here: %s",
                 w->spec->judges[judge].judge.name, pool->text);
    vq_work_return_all(w, judge);
    w->credit_due = true;
}

void vq_work_pool_heard(struct vq_work *w, uint32_t judge, enum vq_call_end end)
{
    struct vq_work_pool *pool = pool_of(w, judge);
    if (pool != NULL && end != VQ_END_NETWORK) {
        pool->heard = true;
    }
}

void vq_work_pool_refused(struct vq_work *w, uint32_t judge, int64_t started_ns,
                          int64_t retry_after_ms, bool parks)
{
    struct vq_work_pool *pool = pool_of(w, judge);
    if (pool == NULL) {
        return;
    }
    bool fresh = started_ns > pool->cut_ns;
    if (fresh) {
        pool->level = pool->level / 2 < 1 ? 1 : pool->level / 2;
        pool->cut_ns = w->now_ns;
    }
    int64_t pause_ms = 0;
    if (retry_after_ms > 0) {
        int64_t most = w->options.retry_after_ms_max;
        pause_ms = retry_after_ms > most && !parks ? most : retry_after_ms;
        pause_ms +=
            (int64_t)vq_rng_below(&w->rng, (uint64_t)pause_ms / 10 + 1); /* not all at once */
    } else if (fresh) {
        pause_ms = vq_pause_ms(&w->rng, pool->pauses, VQ_WORK_PAUSE_MS, VQ_WORK_PAUSE_MS_MAX);
        pool->pauses++;
    }
    int64_t until_ns = w->now_ns + VQ_WORK_MS(pause_ms);
    pool->paused_ns = until_ns > pool->paused_ns ? until_ns : pool->paused_ns;
}

void vq_work_pool_answered(struct vq_work *w, uint32_t judge)
{
    struct vq_work_pool *pool = pool_of(w, judge);
    if (pool == NULL) {
        return;
    }
    pool->level += 1 / pool->level;
    if (pool->level > pool->limit) {
        pool->level = pool->limit < 1 ? 1 : pool->limit;
    }
    pool->pauses = 0;
}

int64_t vq_work_pool_when(const struct vq_work *w, const struct vq_work_pool *pool, double tokens)
{
    if (pool->limit == 0 || pool->state != VQ_POOL_OPEN ||
        pool->in_flight >= (uint32_t)pool->level) {
        return INT64_MAX;
    }
    int64_t when = pool->paused_ns > w->now_ns ? pool->paused_ns : w->now_ns;
    int64_t requests = vq_gcra_when(&pool->requests, 1, w->now_ns);
    int64_t reserve = vq_gcra_when(&pool->tokens, tokens, w->now_ns);
    when = requests > when ? requests : when;
    return reserve > when ? reserve : when;
}

/* ---- credit ---- */

bool vq_work_holds_enough(const struct vq_work *w)
{
    return w->samples_bytes > VQ_WORK_SAMPLES_BYTES_SOFT || vq_work_outbox_full(w) ||
           w->asks_done > VQ_WORK_ASKS_MAX / 4;
}

static uint32_t want(const struct vq_work *w, const struct vq_work_pool *pool)
{
    if (w->draining || w->orphaned || !pool->keyed || pool->state != VQ_POOL_OPEN ||
        pool->limit == 0) {
        return 0;
    }
    if (vq_work_holds_enough(w)) {
        return pool->asks_open - pool->asks_done; /* what it has, no more for now */
    }
    double shard = 2.0 * w->spec->axes_count;
    double most = VQ_WORK_ASKS_MAX / 2.0 / w->spec->judges_count; /* the rest is for what is done */
    double tasks = pool->level * VQ_WORK_AHEAD_CALLS;
    double ahead = pool->level + pool->per_s * VQ_WORK_AHEAD_S;
    tasks = ahead > tasks ? ahead : tasks;
    if (pool->requests_per_minute > 0) {
        double paced = pool->requests_per_minute / 60 * VQ_WORK_AHEAD_PACED_S;
        tasks = tasks > paced ? paced : tasks;
    }
    tasks = tasks > most ? most : tasks;
    return (uint32_t)(tasks < shard ? shard : tasks);
}

bool vq_work_credit_fill(struct vq_work *w, struct vq_msg_credit *ret_credit)
{
    uint32_t count = w->spec->judges_count;
    void *list = w->scratch;
    if (!vq_work_ok(w, vq_grow(&list, &w->scratch_cap, count * sizeof(struct vq_credit), 1,
                               SIZE_MAX / 2))) {
        return false;
    }
    w->scratch = list;
    struct vq_credit *credits = list;
    for (uint32_t i = 0; i < count; i++) {
        struct vq_work_pool *pool = &w->pools[i];
        pool->credited = want(w, pool);
        credits[i] = (struct vq_credit){
            .judge = i,
            .tasks = pool->credited,
            .state = pool->state,
            .fingerprint = vq_span((const char *)pool->fingerprint, pool->fingerprint_bytes),
            .text = vq_span_str(pool->text)};
    }
    *ret_credit =
        (struct vq_msg_credit){.session = w->session, .credits = credits, .credits_count = count};
    return true;
}

static bool keys_known(const struct vq_work *w)
{
    for (uint32_t i = 0; i < w->spec->judges_count; i++) {
        if (!w->pools[i].keyed) {
            return false;
        }
    }
    return true;
}

static bool credit_ready(const struct vq_work *w)
{
    return w->link == VQ_WORK_LINK_OPEN && w->spec != NULL &&
           vq_hash_eq(&w->spec->hash, &w->spec_wanted) && keys_known(w);
}

/* Whether some wish is off by a quarter from what the last CREDIT said. */
static bool wish_moved(const struct vq_work *w)
{
    bool changed = false;
    for (uint32_t i = 0; i < w->spec->judges_count; i++) {
        double now = want(w, &w->pools[i]);
        double then = w->pools[i].credited;
        changed = changed || now > then * 1.25 || now < then * 0.75;
    }
    return changed;
}

/* Speeds since the last look. */
static void look_at_speeds(struct vq_work *w)
{
    double seconds = (double)(w->now_ns - w->credit_ns) / 1e9;
    for (uint32_t i = 0; i < w->spec->judges_count; i++) {
        struct vq_work_pool *pool = &w->pools[i];
        pool->per_s = 0.5 * pool->per_s + 0.5 * (double)pool->closed / seconds;
        pool->closed = 0;
    }
    w->credit_ns = w->now_ns;
}

void vq_work_credit_pump(struct vq_work *w)
{
    if (!credit_ready(w)) {
        return;
    }
    bool look = w->now_ns - w->credit_ns >= VQ_WORK_MS(VQ_WORK_CREDIT_MS);
    if (look) {
        look_at_speeds(w);
    }
    if (w->credit_due || (look && wish_moved(w))) {
        w->credit_due = false;
        vq_work_queue(w, (struct vq_work_item){.type = VQ_WORK_ITEM_CREDIT});
    }
}

int64_t vq_work_credit_wake(const struct vq_work *w)
{
    if (!credit_ready(w) || (w->asks_open == 0 && !wish_moved(w))) {
        return INT64_MAX;
    }
    return w->credit_ns + VQ_WORK_MS(VQ_WORK_CREDIT_MS);
}
