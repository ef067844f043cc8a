/* A pool, as this worker may use it: its slice of the limits, the amounts that do not come back,
 * the waits that refusals asked for, its keys.
 *
 * Invariants: a call starts only with a slice in force, on an open pool, if every rate has earned
 * it, and if every amount has room for the most that it may cost. A GRANT replaces all slices: a
 * pool that it does not list has a slice of zero. Like a lease, a slice is in force for one term,
 * counted from the latest message that its coordinator is known to have read. After the term it is
 * lost for good, because the coordinator gives it to other workers. A GRANT that is read after its
 * term does not count either. A new rate starts empty (pace.h).
 *
 * Amounts count up over the process: `used` is reserved when a call starts and settled when it
 * ends; `open` is the part whose result has no ACK. A closed pool stays closed for this process:
 * its reason needs a person. Pools are independent of each other. While one pool of a judge is
 * open, judge.c decides where its asks go.
 *
 * Not its job: choosing the pool of an ask (judge.c, call.c), finding the limits (the
 * coordinator). */
#include "common/base/alloc.h"
#include "proto/hint.h"
#include "proto/params.h"
#include "worker/core/state.h"

#include <math.h>
#include <stdio.h>

#define LATENCY_WEIGHT 16

static struct vq_work_pool *pool_of(const struct vq_work *w, uint32_t pool)
{
    return w->spec != NULL && pool < w->spec->pools_count ? &w->pools[pool] : NULL;
}

/* ---- a new SPEC ---- */

static bool same_pool(const struct vq_work_endpoint *a, const struct vq_work_endpoint *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->base_url, b->base_url) == 0 &&
           strcmp(a->model, b->model) == 0;
}

static uint32_t was_pool(const struct vq_work *w, const struct vq_work_spec *old, uint32_t i)
{
    for (uint32_t j = 0; old != NULL && j < old->pools_count; j++) {
        if (same_pool(&w->spec->pools[i], &old->pools[j])) {
            return j;
        }
    }
    return UINT32_MAX;
}

/* Copies the state of a pool, except the keys, which the shell reports again, and except the reason
 * for a closed pool if its use has changed. */
static void carry_over(struct vq_work_pool *pool, const struct vq_work_pool *was, bool same_use)
{
    *pool = *was;
    pool->keyed = false;
    pool->keys_count = 0;
    pool->spends = (struct vq_work_charge){0};
    pool->followers = (struct vq_heap){0}; /* empty: the leases have ended */
    if (!same_use || was->state == VQ_POOL_NO_KEY) {
        pool->state = VQ_POOL_OPEN;
        pool->text[0] = '\0';
    }
}

static uint32_t moved(const uint32_t *now, uint32_t count, uint32_t pool)
{
    return pool < count ? now[pool] : UINT32_MAX;
}

static void calls_carry_over(struct vq_work *w, const uint32_t *now, uint32_t count)
{
    for (struct vq_link *at = w->calls.flights.next; at != &w->calls.flights; at = at->next) {
        struct vq_work_flight *flight = VQ_CONTAINER_OF(at, struct vq_work_flight, link);
        flight->pool = moved(now, count, flight->pool);
    }
    struct vq_link *lists[] = {&w->outbox.unread, &w->outbox.unsent, &w->outbox.sent};
    for (size_t i = 0; i < VQ_COUNT(lists); i++) {
        for (struct vq_link *at = lists[i]->next; at != lists[i]; at = at->next) {
            struct vq_work_result *entry = VQ_CONTAINER_OF(at, struct vq_work_result, link);
            entry->pool = moved(now, count, entry->pool);
        }
    }
}

bool vq_work_pools_reset(struct vq_work *w, const struct vq_work_spec *old,
                         const struct vq_work_pool *old_pools)
{
    uint32_t old_count = old == NULL ? 0 : old->pools_count;
    /* the new index of each pool of the old SPEC */
    uint32_t *now = vq_alloc(old_count, sizeof(*now));
    struct vq_work_pool *pools = vq_alloc(w->spec->pools_count, sizeof(*pools));
    if (pools == NULL || now == NULL) {
        vq_free(pools);
        vq_free(now);
        return vq_work_ok(w, VQ_NOMEM);
    }
    for (uint32_t j = 0; j < old_count; j++) {
        now[j] = UINT32_MAX;
    }
    for (uint32_t i = 0; i < w->spec->pools_count; i++) {
        uint32_t was = was_pool(w, old, i);
        pools[i].held_ns = INT64_MIN;
        pools[i].paused_ns = INT64_MIN;
        pools[i].refusals.cut_ns = INT64_MIN;
        if (was != UINT32_MAX && now[was] == UINT32_MAX) {
            bool embeds = w->spec->kind == VQ_STAGE_EMBED;
            carry_over(&pools[i], &old_pools[was], embeds == (old->kind == VQ_STAGE_EMBED));
            now[was] = i;
        }
    }
    calls_carry_over(w, now, old_count);
    vq_free(now);
    w->pools = pools;
    return true;
}

void vq_work_pools_free(struct vq_work_pool *pools, uint32_t count)
{
    for (uint32_t i = 0; pools != NULL && i < count; i++) {
        vq_heap_free(&pools[i].followers);
    }
    vq_free(pools);
}

uint32_t vq_work_pool_find(const struct vq_work *w, struct vq_span name)
{
    for (uint32_t i = 0; i < w->spec->pools_count; i++) {
        if (vq_span_eq(vq_span_str(w->spec->pools[i].name), name)) {
            return i;
        }
    }
    return UINT32_MAX;
}

/* ---- keys, closing ---- */

static void set_text(struct vq_work_pool *pool, struct vq_span text)
{
    int bytes = (int)(text.bytes < sizeof(pool->text) ? text.bytes : sizeof(pool->text) - 1);
    (void)snprintf(pool->text, sizeof(pool->text), "%.*s", bytes, bytes == 0 ? "" : text.at);
}

void vq_work_on_key(struct vq_work *w, const struct vq_work_key *key)
{
    struct vq_work_pool *pool = pool_of(w, key->pool);
    if (pool == NULL) {
        return;
    }
    bool fewer = pool->keyed && key->keys_count < pool->keys_count;
    pool->keyed = true;
    pool->keys_count =
        key->keys_count < VQ_WIRE_KEYS_MAX ? key->keys_count : (uint32_t)VQ_WIRE_KEYS_MAX;
    if (pool->keys_count > 0) {
        memcpy(pool->keys, key->keys, pool->keys_count * sizeof(pool->keys[0]));
    }
    w->credit.due = true;
    if (key->state != VQ_POOL_OPEN) {
        vq_work_pool_close(w, key->pool, key->state, key->text);
    } else if (pool->state == VQ_POOL_OPEN) {
        set_text(pool, key->text);
        if (fewer) {
            vq_work_note(w, VQ_WORK_NOTE_WARN, "pool %s continues with %u keys: %s",
                         w->spec->pools[key->pool].name, pool->keys_count, pool->text);
        }
    }
}

/* Returns the asks of judges without a usable pool. */
static void return_stranded(struct vq_work *w)
{
    for (uint32_t j = 0; j < w->spec->judges_count; j++) {
        if (!vq_work_judge_usable(w, j)) {
            vq_work_return_all(w, j);
        }
    }
}

void vq_work_pool_close(struct vq_work *w, uint32_t index, enum vq_pool_state state,
                        struct vq_span text)
{
    struct vq_work_pool *pool = pool_of(w, index);
    if (pool == NULL || pool->state != VQ_POOL_OPEN) {
        return;
    }
    VQ_ASSERT(state != VQ_POOL_OPEN);
    pool->state = (uint8_t)state;
    set_text(pool, text);
    if (pool->text[0] != '\0') {
        vq_work_note(w, VQ_WORK_NOTE_WARN, "pool %s is closed here: %s", w->spec->pools[index].name,
                     pool->text);
    }
    return_stranded(w);
    w->credit.due = true;
}

void vq_work_pool_closed_by(struct vq_work *w, uint32_t index, enum vq_pool_state state,
                            const struct vq_result *result)
{
    char text[VQ_WORK_TEXT_BYTES_MAX];
    const char *advice =
        vq_hint_of((enum vq_call_end)result->end, result->http_status, result->error);
    int bytes =
        (int)(result->error.bytes < sizeof(text) / 2 ? result->error.bytes : sizeof(text) / 2);
    (void)snprintf(text, sizeof(text), "%.*s%s%s", bytes, bytes == 0 ? "" : result->error.at,
                   advice == NULL ? "" : ". ", advice == NULL ? "" : advice);
    vq_work_pool_close(w, index, state, vq_span_str(text));
}

void vq_work_pool_learn(struct vq_work *w, uint32_t index, uint32_t params, struct vq_span error)
{
    struct vq_work_pool *pool = pool_of(w, index);
    uint32_t fresh = pool == NULL ? 0 : params & VQ_PARAMS_ALL & ~pool->params_refused;
    for (uint32_t bit = 1; bit <= VQ_PARAMS_ALL; bit <<= 1) {
        if ((fresh & bit) != 0) {
            vq_work_note(w, VQ_WORK_NOTE_WARN, "pool %s refuses the parameter %s; %s (%.*s)",
                         w->spec->pools[index].name, vq_param_word(bit), vq_param_instead(bit),
                         (int)(error.bytes < 200 ? error.bytes : 200),
                         error.bytes == 0 ? "" : error.at);
        }
    }
    if (fresh != 0) {
        pool->params_refused |= fresh;
        w->credit.due = true;
    }
}

/* ---- slices ---- */

static int64_t window_ns(const struct vq_work *w, uint32_t index)
{
    uint32_t ms = w->spec->pools[index].window_ms;
    return VQ_WORK_MS(ms > 0 ? ms : VQ_WORK_WINDOW_MS);
}

static void slice_take(struct vq_work *w, uint32_t index, const struct vq_slice *slice)
{
    struct vq_work_pool *pool = &w->pools[index];
    bool had = pool->slice.concurrency > 0;
    int64_t late_ns = window_ns(w, index) / VQ_WORK_LATE_PARTS;
    late_ns = late_ns > VQ_WORK_MS(VQ_WORK_LATE_MS_MAX) ? VQ_WORK_MS(VQ_WORK_LATE_MS_MAX) : late_ns;
    pool->slice.concurrency =
        slice->concurrency > VQ_WORK_CONCURRENCY_MAX ? VQ_WORK_CONCURRENCY_MAX : slice->concurrency;
    pool->slice.rates = slice->rates;
    pool->noisy = slice->noisy;
    pool->held_ns = w->now_ns + VQ_WORK_MS(slice->pause_ms);
    pool->day_requests.most = slice->day_requests_most;
    pool->day_tokens.most = slice->day_tokens_most;
    pool->params_refused |= slice->params_refused & VQ_PARAMS_ALL;
    for (int r = 0; r < VQ_RATE__COUNT; r++) {
        double rate = slice->rates.of[r];
        if (pool->slice.concurrency > 0 && had) {
            vq_gcra_set(&pool->paces[r], rate, w->now_ns);
        } else if (pool->slice.concurrency > 0) {
            vq_gcra_begin(&pool->paces[r], rate, late_ns, w->now_ns);
        }
    }
}

static void slice_none(struct vq_work_pool *pool)
{
    pool->slice.concurrency = 0;
    pool->day_requests.most = pool->day_requests.used;
    pool->day_tokens.most = pool->day_tokens.used;
}

static bool slices_stand(const struct vq_work *w)
{
    return w->now_ns < w->slices.until_ns;
}

bool vq_work_slice(const struct vq_work *work, uint32_t p, int64_t now_ns,
                   struct vq_limit *ret_slice)
{
    bool known = work->spec != NULL && p < work->spec->pools_count;
    if (!known || now_ns >= work->slices.until_ns || work->pools[p].slice.concurrency == 0) {
        return false;
    }
    *ret_slice = work->pools[p].slice;
    return true;
}

/* Drops slices whose term is over, for good. True: it was over. */
static bool slices_lapse(struct vq_work *w)
{
    if (slices_stand(w)) {
        return false;
    }
    for (uint32_t p = 0; w->spec != NULL && p < w->spec->pools_count; p++) {
        slice_none(&w->pools[p]);
    }
    w->slices.spend.most = w->slices.spend.used;
    return true;
}

void vq_work_slices_forget(struct vq_work *w)
{
    if (w->slices.epoch == w->link.epoch) {
        return;
    }
    if (slices_stand(w)) {
        w->slices.until_ns = w->now_ns;
    }
    (void)slices_lapse(w);
}

bool vq_work_slices_renew(struct vq_work *w, int64_t stamp_ns)
{
    bool lapsed = slices_lapse(w);
    int64_t until_ns = stamp_ns + w->link.term_ns;
    w->slices.heard_until_ns =
        until_ns > w->slices.heard_until_ns ? until_ns : w->slices.heard_until_ns;
    if (!lapsed && w->slices.granted_n > 0) {
        w->slices.until_ns = w->slices.heard_until_ns;
    }
    return lapsed;
}

void vq_work_on_grant(struct vq_work *w, const struct vq_msg_grant *grant)
{
    if (w->spec == NULL || grant->n <= w->slices.granted_n ||
        w->now_ns >= w->slices.heard_until_ns) {
        return;
    }
    (void)slices_lapse(w); /* so that rates that start then start empty */
    w->slices.epoch = w->link.epoch;
    w->slices.until_ns = w->slices.heard_until_ns;
    w->slices.granted_n = grant->n;
    w->slices.spend.most = grant->spend_most;
    for (uint32_t p = 0; p < w->spec->pools_count; p++) {
        const struct vq_slice *slice = NULL;
        for (uint32_t i = 0; i < grant->slices_count; i++) {
            slice = grant->slices[i].pool == p ? &grant->slices[i] : slice;
        }
        if (slice == NULL) {
            slice_none(&w->pools[p]);
        } else {
            slice_take(w, p, slice);
        }
    }
    for (uint32_t i = 0; i < grant->parked_count; i++) {
        const struct vq_parked *parked = &grant->parked[i];
        if (parked->judge < w->spec->judges_count && parked->pool < w->spec->pools_count &&
            !w->judges[parked->judge].parked) {
            vq_work_judge_park(w, parked->judge, parked->pool);
        }
    }
    return_stranded(w);
    w->credit.due = true;
}

/* ---- refusals and failures ---- */

/* No call starts for this time. */
static void pause_for(struct vq_work *w, struct vq_work_pool *pool, int64_t ms)
{
    int64_t until_ns = w->now_ns + VQ_WORK_MS(ms);
    pool->paused_ns = until_ns > pool->paused_ns ? until_ns : pool->paused_ns;
    w->credit.due = true; /* the coordinator may give the slice to others */
}

void vq_work_pool_pause(struct vq_work *w, uint32_t index, uint32_t ms)
{
    struct vq_work_pool *pool = pool_of(w, index);
    if (pool != NULL) {
        pause_for(w, pool, ms);
    }
}

void vq_work_pool_heard(struct vq_work *w, uint32_t index, int64_t started_ns, enum vq_call_end end)
{
    struct vq_work_pool *pool = pool_of(w, index);
    if (pool == NULL) {
        return;
    }
    pool->heard = pool->heard || end != VQ_END_NETWORK;
    bool failed = end == VQ_END_PROVIDER || end == VQ_END_NETWORK || end == VQ_END_LOST;
    if (!failed) {
        pool->failures = 0;
        pool->pauses = end == VQ_END_RATE ? pool->pauses : 0;
        if (end != VQ_END_RATE) {
            vq_refusals_over(&pool->refusals, started_ns);
        }
    } else if (++pool->failures >= VQ_WORK_FAILURES_MAX && pool->in_flight == 0) {
        pause_for(w, pool,
                  vq_pause_ms(&w->rng, pool->pauses++, VQ_WORK_PAUSE_MS, VQ_WORK_PAUSE_MS_MAX));
    }
}

int64_t vq_work_pool_refused(struct vq_work *w, uint32_t index, int64_t started_ns,
                             int64_t retry_after_ms, bool parks)
{
    struct vq_work_pool *pool = pool_of(w, index);
    if (pool == NULL) {
        return w->now_ns;
    }
    const struct vq_pause_bounds bounds =
        vq_refusal_bounds(&pool->slice.rates, window_ns(w, index) / VQ_WORK_MS(1));
    int64_t most = w->options.retry_after_ms_max;
    int64_t asked = retry_after_ms > most && !parks ? most : retry_after_ms;
    struct vq_refusal_wait wait = vq_refusal(&pool->refusals, &w->rng, pool->noisy && !parks,
                                             started_ns, asked, w->now_ns, &bounds);
    if (wait.pool_ms > 0) {
        pause_for(w, pool, wait.pool_ms);
    }
    return w->now_ns + VQ_WORK_MS(wait.call_ms);
}

/* ---- amounts ---- */

static void amount_add(struct vq_amount *amount, uint64_t cost)
{
    amount->used += cost;
    amount->open += cost;
}

static void amount_take_off(struct vq_amount *amount, uint64_t reserved, uint64_t cost)
{
    amount->used -= reserved < amount->used ? reserved : amount->used;
    amount->open -= reserved < amount->open ? reserved : amount->open;
    amount_add(amount, cost);
}

static void amount_acked(struct vq_amount *amount, uint64_t cost)
{
    amount->open -= cost < amount->open ? cost : amount->open;
}

static bool has_room(const struct vq_amount *amount, uint64_t cost)
{
    return amount->most == VQ_AMOUNT_ANY ||
           (amount->used <= amount->most && cost <= amount->most - amount->used);
}

void vq_work_charge_add(struct vq_work *w, uint32_t index, const struct vq_work_charge *charge)
{
    struct vq_work_pool *pool = pool_of(w, index);
    amount_add(&w->slices.spend, charge->nano);
    if (pool != NULL) {
        amount_add(&pool->day_requests, charge->requests);
        amount_add(&pool->day_tokens, charge->tokens);
    }
}

void vq_work_charge_acked(struct vq_work *w, uint32_t index, const struct vq_work_charge *charge)
{
    struct vq_work_pool *pool = pool_of(w, index);
    amount_acked(&w->slices.spend, charge->nano);
    if (pool != NULL) {
        amount_acked(&pool->day_requests, charge->requests);
        amount_acked(&pool->day_tokens, charge->tokens);
    }
}

/* ---- a call ---- */

bool vq_work_pool_usable(const struct vq_work *w, uint32_t index)
{
    return w->pools[index].state == VQ_POOL_OPEN && w->pools[index].slice.concurrency > 0 &&
           vq_work_pool_fits(w, index);
}

bool vq_work_pool_affords(const struct vq_work *w, uint32_t index)
{
    const struct vq_work_pool *pool = &w->pools[index];
    return has_room(&w->slices.spend, pool->spends.nano) && has_room(&pool->day_requests, 1) &&
           has_room(&pool->day_tokens, pool->spends.tokens);
}

int64_t vq_work_pool_when(const struct vq_work *w, uint32_t index, const struct vq_work_need *need)
{
    const struct vq_work_pool *pool = &w->pools[index];
    bool doubtful =
        pool->failures >= VQ_WORK_FAILURES_MAX || vq_refusals_doubt(&pool->refusals, pool->noisy);
    uint32_t limit = doubtful ? 1 : pool->slice.concurrency; /* one call at a time tests the pool */
    if (!vq_work_pool_usable(w, index) || !slices_stand(w) || pool->in_flight >= limit ||
        !has_room(&w->slices.spend, need->nano) || !has_room(&pool->day_requests, 1) ||
        !has_room(&pool->day_tokens, need->tokens)) {
        return INT64_MAX;
    }
    int64_t when = pool->paused_ns > pool->held_ns ? pool->paused_ns : pool->held_ns;
    when = when > w->now_ns ? when : w->now_ns;
    for (int r = 0; r < VQ_RATE__COUNT; r++) {
        int64_t earned = vq_gcra_when(&pool->paces[r], need->rates.of[r], w->now_ns);
        when = earned > when ? earned : when;
    }
    return when;
}

/* Tracks the largest reservations of this window and of the last one. */
void vq_work_pool_expect(struct vq_work *w, uint32_t index, const struct vq_work_need *need)
{
    struct vq_work_pool *pool = &w->pools[index];
    int64_t past_ns = w->now_ns - pool->unit_ns;
    if (past_ns >= window_ns(w, index)) {
        bool next = past_ns < 2 * window_ns(w, index);
        pool->unit_before = next ? pool->unit : (struct vq_rates){0};
        pool->unit = (struct vq_rates){0};
        pool->unit_ns = w->now_ns;
    }
    struct vq_work_charge *spends = &pool->spends;
    spends->nano = need->nano > spends->nano ? need->nano : spends->nano;
    spends->tokens = need->tokens > spends->tokens ? need->tokens : spends->tokens;
    for (int i = 0; i < VQ_RATE__COUNT; i++) {
        double cost = need->rates.of[i];
        if (cost > pool->unit.of[i]) {
            pool->unit.of[i] = cost;
        }
    }
}

static void note_mean(struct vq_work_pool *pool, const struct vq_rates *rates)
{
    for (int i = 0; i < VQ_RATE__COUNT; i++) {
        double cost = rates->of[i];
        double mean = pool->mean.of[i];
        pool->mean.of[i] = mean == 0 ? cost : mean + (cost - mean) / 16;
    }
}

void vq_work_pool_spend(struct vq_work *w, uint32_t index, const struct vq_work_need *need)
{
    struct vq_work_pool *pool = &w->pools[index];
    struct vq_work_charge charge = {need->nano, 1, need->tokens};
    pool->in_flight++;
    pool->requests++;
    vq_work_pool_expect(w, index, need);
    note_mean(pool, &need->rates);
    for (int r = 0; r < VQ_RATE__COUNT; r++) {
        vq_gcra_spend(&pool->paces[r], need->rates.of[r], w->now_ns);
    }
    vq_work_charge_add(w, index, &charge);
}

static uint64_t bounded(uint64_t tokens)
{
    return tokens > VQ_WORK_TOKENS_MAX ? VQ_WORK_TOKENS_MAX : tokens;
}

static void count_end(struct vq_work_credit *credit, struct vq_work_pool *pool,
                      const struct vq_work_reply *reply)
{
    pool->in_flight--;
    pool->input_tokens += bounded(reply->tokens_in);
    pool->cached_tokens += bounded(reply->tokens_cached);
    pool->output_tokens += bounded(reply->tokens_out);
    pool->organisation = reply->organisation != 0 ? reply->organisation : pool->organisation;
    for (int i = 0; i < VQ_RATE__COUNT; i++) {
        double said = reply->said.of[i];
        if (said > 0) {
            pool->said.of[i] = said;
        }
    }
    if (reply->end == VQ_END_ANSWER) {
        double off = reply->latency_ms - pool->latency_ms;
        pool->latency_ms += pool->answered == 0 ? off : off / LATENCY_WEIGHT;
        pool->answered++;
        pool->park_unix_s = 0;
    } else if (reply->end == VQ_END_RATE && !reply->no_capacity) {
        pool->refused++;
        pool->slowed += reply->slowed ? 1 : 0;
        pool->timed += reply->retry_after_ms > 0 ? 1 : 0;
    } else if (reply->end == VQ_END_PROVIDER || (reply->end == VQ_END_NETWORK && !reply->late) ||
               reply->end == VQ_END_LOST) {
        pool->failed++;
    }
    pool->cap = reply->cap > 0 ? reply->cap : pool->cap;
    if (reply->park_unix_s > 0) {
        pool->park_unix_s = reply->park_unix_s;
        credit->due = true;
    }
}

/* The part of the input that rate limits count. */
static double counted_input(const struct vq_work_reply *reply)
{
    uint64_t in = bounded(reply->tokens_in), off = bounded(reply->tokens_uncounted);
    return off < in ? (double)(in - off) : 0;
}

/* The part of the reserved output that a call would not reserve today. It does not come back: calls
 * that started before any answer was known reserve far too much. If their surplus came back, later
 * calls would spend it in windows to which those calls do not belong. */
static double outdated(const struct vq_work *w, const struct vq_work_flight *flight,
                       double output_tokens)
{
    const struct vq_work_call *call = &flight->call;
    if (call->stage != w->spec->stage) {
        return 0;
    }
    double now = vq_answers_tokens(&w->judges[call->judge].answers[call->kind],
                                   w->spec->judges[call->judge].judge.max_tokens);
    return fmax(flight->need.rates.output_tokens - fmax(now, output_tokens), 0);
}

/* Settles the rates by the reported usage, or by the reservation if there is none. A request is
 * never given back, even if it was not sent: another one in its place would come later. */
static void settle_paces(const struct vq_work *w, struct vq_work_pool *pool,
                         const struct vq_work_flight *flight, const struct vq_work_reply *reply)
{
    double in = counted_input(reply), out = (double)bounded(reply->tokens_out);
    bool known = reply->tokens_in > 0 || reply->tokens_out > 0 || reply->no_capacity;
    double lost = known ? outdated(w, flight, out) : 0;
    const struct vq_rates used = {
        .requests = 1, .input_tokens = in, .output_tokens = out, .tokens = in + out};
    struct vq_rates reserved = flight->need.rates;
    reserved.output_tokens -= lost;
    reserved.tokens -= lost;
    for (int r = 0; r < VQ_RATE__COUNT && known; r++) {
        vq_gcra_settle(&pool->paces[r], reserved.of[r], used.of[r], flight->started_ns);
    }
}

#define ANEW_FIRST 16u
#define ANEW_LAST  256u

static bool uses_pool(const struct vq_work_judge *judge, uint32_t index)
{
    bool uses = false;
    for (uint32_t i = 0; i < judge->pools_count; i++) {
        uses = uses || judge->pools[i] == index;
    }
    return uses;
}

/* The longest answer that the next calls, the calls in flight and the answers so far may have. */
static double answers_most(const struct vq_work *w, uint32_t index)
{
    double most = 0;
    for (const struct vq_link *at = w->calls.flights.next; at != &w->calls.flights; at = at->next) {
        const struct vq_work_flight *flight =
            VQ_CONTAINER_OF(at, const struct vq_work_flight, link);
        most = flight->pool == index ? fmax(most, flight->need.rates.output_tokens) : most;
    }
    for (uint32_t j = 0; j < w->spec->judges_count; j++) {
        if (!uses_pool(&w->spec->judges[j], index)) {
            continue;
        }
        for (uint32_t kind = 0; kind < VQ_WORK_KINDS; kind++) {
            const struct vq_answers *answers = &w->judges[j].answers[kind];
            double next = vq_answers_tokens(answers, w->spec->judges[j].judge.max_tokens);
            bool asked = kind == VQ_CALL_ASK || answers->count > 0;
            most = asked ? fmax(most, fmax(next, answers->longest)) : most;
        }
    }
    return most;
}

/* The first calls reserve the longest possible answers. Once the length of answers is known, the
 * largest unit is smaller. Without this update the coordinator would hold back that part of the
 * limit for two windows. */
static void unit_again(struct vq_work *w, uint32_t index)
{
    struct vq_work_pool *pool = &w->pools[index];
    double most = answers_most(w, index);
    struct vq_rates *units[] = {&pool->unit, &pool->unit_before};
    for (size_t i = 0; i < VQ_COUNT(units); i++) {
        units[i]->output_tokens = fmin(units[i]->output_tokens, most);
        units[i]->tokens = fmin(units[i]->tokens, units[i]->input_tokens + most);
    }
}

static void learn_answer(struct vq_work *w, uint32_t j, unsigned kind, uint64_t tokens)
{
    struct vq_answers *answers = &w->judges[j].answers[kind];
    vq_answers_learn(answers, tokens);
    uint32_t count = answers->count;
    bool again = count >= ANEW_FIRST && count <= ANEW_LAST && (count & (count - 1)) == 0;
    const struct vq_work_judge *judge = &w->spec->judges[j];
    for (uint32_t i = 0; again && i < judge->pools_count; i++) {
        unit_again(w, judge->pools[i]);
    }
}

static void learn(struct vq_work *w, const struct vq_work_flight *flight,
                  const struct vq_work_reply *reply)
{
    const struct vq_work_call *call = &flight->call;
    if (reply->end != VQ_END_ANSWER) {
        return;
    }
    if (flight->pool != UINT32_MAX) {
        vq_ratio_learn(&w->pools[flight->pool].ratios[call->kind][call->stage_kind],
                       (double)bounded(reply->tokens_in), counted_input(reply), flight->need.bytes);
    }
    if (call->stage == w->spec->stage && reply->tokens_out > 0) {
        learn_answer(w, call->judge, call->kind, bounded(reply->tokens_out));
    }
}

/* If another tier served the call than the one that it named, it costs the ordinary price. */
static double tier_factor(const struct vq_work_flight *flight, const struct vq_work_reply *reply)
{
    bool other = reply->tier.bytes > 0 && !vq_span_eq(reply->tier, vq_span_str(flight->tier));
    return flight->tier[0] == '\0' || other ? 1 : flight->tier_price;
}

/* The cost by the reported usage. If no usage was reported, or 0 for a side of an answer, the
 * reservation is charged for it. */
static uint64_t cost_of(const struct vq_work_flight *flight, const struct vq_work_reply *reply,
                        const struct vq_result *result)
{
    double in = (double)bounded(reply->tokens_in), out = (double)bounded(reply->tokens_out);
    bool answered = reply->end == VQ_END_ANSWER && reply->answer.bytes > 0;
    if (in + out == 0) {
        return vq_result_may_be_billed(result) ? flight->need.nano : 0;
    }
    struct vq_usage usage = {.input = in == 0 && answered ? flight->need.in_most : in,
                             .cached = (double)bounded(reply->tokens_cached),
                             .written = (double)bounded(reply->tokens_cache_written),
                             .written_long = (double)bounded(reply->tokens_cache_written_long),
                             .output = out == 0 && answered ? flight->need.out_most : out};
    return (uint64_t)ceil((double)vq_price_of(&flight->price, &usage) * tier_factor(flight, reply));
}

void vq_work_pool_settle(struct vq_work *w, const struct vq_work_flight *flight,
                         const struct vq_work_reply *reply, struct vq_result *result,
                         struct vq_work_charge *ret_charge)
{
    struct vq_work_pool *pool = pool_of(w, flight->pool);
    result->cost_nano = cost_of(flight, reply, result);
    *ret_charge = (struct vq_work_charge){result->cost_nano, vq_result_requests(result),
                                          vq_result_tokens(result)};
    amount_take_off(&w->slices.spend, flight->need.nano, ret_charge->nano);
    learn(w, flight, reply);
    if (pool == NULL) {
        return;
    }
    count_end(&w->credit, pool, reply);
    settle_paces(w, pool, flight, reply);
    amount_take_off(&pool->day_requests, 1, ret_charge->requests);
    amount_take_off(&pool->day_tokens, flight->need.tokens, ret_charge->tokens);
}
