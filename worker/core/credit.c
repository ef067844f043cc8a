/* CREDIT: the number of tasks of each judge that this worker wants to hold, and its report on each
 * pool.
 *
 * The worker wants the number of tasks of a judge that its pools' slices can be expected to carry:
 * by the measured speed, and with known rates by the calls that they allow in
 * VQ_WORK_AHEAD_PACED_S. Without any slice it wants none and returns the tasks that it holds
 * (pool.c). Then no ask waits at this worker, and the coordinator would not know that the worker
 * could use a slice. So, while the worker takes work at all, every open pool of a judge counts at
 * least one ask as waiting. `waiting` is demand, not a queue; an ask counts for each pool that may
 * answer it.
 *
 * A worker that cannot afford a call any more (dollars, a day's quota) wants no more tasks. After a
 * moment it returns the tasks that it holds, so that another worker may use the remaining amount.
 * `waiting` reports that it could use some.
 *
 * CREDIT is sent at once in these cases:
 * - after every GRANT: only the echo of its number ends a lowered slice;
 * - when a pool pauses, parks or closes;
 * - before RESULTS after which this worker has nothing more to ask. Otherwise it is sent every
 *   VQ_WORK_CREDIT_MS if something changed.
 *
 * Not its job: deciding the slices of a worker (the coordinator). */
#include "common/base/alloc.h"
#include "worker/core/state.h"

bool vq_work_holds_enough(const struct vq_work *w)
{
    return w->samples.bytes > VQ_WORK_SAMPLES_BYTES_SOFT || vq_work_outbox_full(&w->outbox) ||
           w->leases.asks_done > VQ_WORK_ASKS_MAX / 4;
}

static bool takes_work(const struct vq_work_end *end)
{
    return !end->draining && !end->orphaned;
}

/* ---- tasks ---- */

/* Calls that the granted rates allow in VQ_WORK_AHEAD_PACED_S; negative: no rate is granted. */
static double paced_calls(const struct vq_work_pool *pool)
{
    double calls = -1;
    for (int i = 0; i < VQ_RATE__COUNT; i++) {
        double rate = pool->slice.rates.of[i];
        double mean = i == VQ_RATE_REQUESTS ? 1 : pool->mean.of[i];
        if (rate > 0 && mean > 0) {
            double allowed = rate / 60 * VQ_WORK_AHEAD_PACED_S / mean;
            calls = calls < 0 || allowed < calls ? allowed : calls;
        }
    }
    return calls;
}

/* Whether a usable pool of the judge could pay for a call. */
static bool affords(const struct vq_work *w, uint32_t j)
{
    const struct vq_work_judge *judge = &w->spec->judges[j];
    for (uint32_t i = 0; i < judge->pools_count; i++) {
        if (vq_work_pool_usable(w, judge->pools[i]) && vq_work_pool_affords(w, judge->pools[i])) {
            return true;
        }
    }
    return false;
}

/* Calls that this worker may have in flight at the judge's pools. */
static double slots_of(const struct vq_work *w, uint32_t j)
{
    const struct vq_work_judge *judge = &w->spec->judges[j];
    double slots = 0;
    for (uint32_t i = 0; i < judge->pools_count; i++) {
        if (vq_work_pool_usable(w, judge->pools[i])) {
            slots += w->pools[judge->pools[i]].slice.concurrency;
        }
    }
    return slots > w->options.concurrency_max ? w->options.concurrency_max : slots;
}

static uint32_t want(const struct vq_work *w, uint32_t j)
{
    const struct vq_work_judge *judge = &w->spec->judges[j];
    const struct vq_work_judging *at = &w->judges[j];
    if (!takes_work(&w->end) || !vq_work_judge_usable(w, j)) {
        return 0;
    }
    if (vq_work_holds_enough(w) || !affords(w, j)) {
        uint32_t held = at->asks_open - at->asks_done; /* no more for now */
        return at->broke >= VQ_WORK_SURPLUS_LOOKS ? 0 : held;
    }
    double paced = 0, slots = slots_of(w, j);
    bool is_paced = true;
    for (uint32_t i = 0; i < judge->pools_count; i++) {
        const struct vq_work_pool *pool = &w->pools[judge->pools[i]];
        if (!vq_work_pool_usable(w, judge->pools[i])) {
            continue;
        }
        double calls = paced_calls(pool);
        is_paced = is_paced && calls >= 0;
        paced += calls;
    }
    bool chains = vq_stage_chains(w->spec->kind);
    double shard = chains ? 1 : 2.0 * w->spec->axes_count;
    /* the rest is for finished asks */
    double most = VQ_WORK_ASKS_MAX / 2.0 / w->spec->judges_count;
    double tasks = slots * VQ_WORK_AHEAD_CALLS;
    double ahead = slots + at->per_s * VQ_WORK_AHEAD_S;
    tasks = ahead > tasks ? ahead : tasks;
    tasks = chains ? slots : tasks;
    tasks = is_paced && tasks > paced ? paced : tasks;
    tasks = tasks > most ? most : tasks;
    return (uint32_t)(tasks < shard ? shard : tasks);
}

/* ---- the message ---- */

/* Asks of the judges that pool p serves that are ready, or will be once their leader has ended, and
 * asks that wait for p alone. */
static uint32_t waiting(const struct vq_work *w, uint32_t p)
{
    uint64_t count = 0;
    bool serves = false;
    for (uint32_t j = 0; j < w->spec->judges_count; j++) {
        const struct vq_work_judge *judge = &w->spec->judges[j];
        for (uint32_t i = 0; i < judge->pools_count; i++) {
            if (judge->pools[i] == p) {
                count += w->judges[j].ready.count + w->judges[j].following;
                serves = true;
                break;
            }
        }
    }
    if (w->pools[p].state != VQ_POOL_OPEN || !takes_work(&w->end)) {
        return 0;
    }
    count += w->pools[p].followers.count;
    count = count == 0 && serves ? 1 : count;
    return count > VQ_WORK_WAITING_MAX ? VQ_WORK_WAITING_MAX : (uint32_t)count;
}

static uint64_t higher(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Reports the waiting asks as wanted, however long they have waited. */
static void expect_ready(struct vq_work *w)
{
    uint32_t judges = w->spec->judges_count;
    for (uint32_t i = 0; i < judges + w->spec->pools_count; i++) {
        const struct vq_heap_node *node =
            vq_heap_peek(i < judges ? &w->judges[i].ready : &w->pools[i - judges].followers);
        if (node != NULL) {
            vq_work_judge_expect(w, VQ_CONTAINER_OF(node, const struct vq_work_ask, node));
        }
    }
}

static void fill_report(const struct vq_work *w, uint32_t p, struct vq_pool_report *report)
{
    const struct vq_work_pool *pool = &w->pools[p];
    int64_t pause_ms =
        pool->paused_ns > w->now_ns ? (pool->paused_ns - w->now_ns) / VQ_WORK_MS(1) : 0;
    *report =
        (struct vq_pool_report){.pool = p,
                                .state = pool->state,
                                .text = vq_span_str(pool->text),
                                .keys = pool->keys,
                                .keys_count = pool->keys_count,
                                .organisation = pool->organisation,
                                .in_flight = pool->in_flight,
                                .waiting = waiting(w, p),
                                .requests = pool->requests,
                                .answered = pool->answered,
                                .refused = pool->refused,
                                .slowed = pool->slowed,
                                .timed = pool->timed,
                                .failed = pool->failed,
                                .input_tokens = pool->input_tokens,
                                .cached_tokens = pool->cached_tokens,
                                .output_tokens = pool->output_tokens,
                                .unit = vq_rates_larger(&pool->unit, &pool->unit_before),
                                .said = pool->said,
                                .cap = pool->cap,
                                .pause_ms = pause_ms > UINT32_MAX ? UINT32_MAX : (uint32_t)pause_ms,
                                .park_unix_s = pool->park_unix_s,
                                .day_requests = pool->day_requests,
                                .day_tokens = pool->day_tokens,
                                .params_refused = pool->params_refused};
    report->day_requests.unit = 1;
    report->day_tokens.unit = pool->spends.tokens;
}

/* One number that sums up everything that may have changed since the last CREDIT. */
static uint64_t counted(const struct vq_work *w)
{
    uint64_t sum = w->calls.started + w->calls.ended + w->slices.spend.used - w->slices.spend.open;
    for (uint32_t p = 0; p < w->spec->pools_count; p++) {
        sum += w->pools[p].refused + (w->pools[p].day_tokens.used - w->pools[p].day_tokens.open);
    }
    return sum;
}

bool vq_work_credit_fill(struct vq_work *w, struct vq_msg_credit *ret_credit)
{
    void *list = w->actions.scratch, *list2 = w->actions.scratch2;
    if (!vq_work_ok(w,
                    vq_grow(&list, &w->actions.scratch_cap,
                            w->spec->judges_count * sizeof(struct vq_credit), 1, SIZE_MAX / 2))) {
        return false;
    }
    w->actions.scratch = list;
    if (!vq_work_ok(w, vq_grow(&list2, &w->actions.scratch2_cap,
                               w->spec->pools_count * sizeof(struct vq_pool_report), 1,
                               SIZE_MAX / 2))) {
        return false;
    }
    w->actions.scratch2 = list2;
    struct vq_credit *credits = list;
    struct vq_pool_report *reports = list2;
    for (uint32_t j = 0; j < w->spec->judges_count; j++) {
        const char *text;
        enum vq_pool_state state = vq_work_judge_state(w, j, &text);
        w->judges[j].credited = want(w, j);
        credits[j] = (struct vq_credit){.judge = j,
                                        .tasks = w->judges[j].credited,
                                        .state = (uint8_t)state,
                                        .text = vq_span_str(text)};
    }
    expect_ready(w);
    w->slices.spend.unit = 0;
    for (uint32_t p = 0; p < w->spec->pools_count; p++) {
        const struct vq_work_pool *pool = &w->pools[p];
        w->slices.spend.unit = higher(w->slices.spend.unit, pool->spends.nano);
        fill_report(w, p, &reports[p]);
        w->pools[p].cap = 0;
        w->pools[p].wants_more = reports[p].waiting > 1;
    }
    w->credit.sum = counted(w);
    *ret_credit = (struct vq_msg_credit){.session = w->link.session,
                                         .granted_n = w->slices.granted_n,
                                         .spend = w->slices.spend,
                                         .credits = credits,
                                         .credits_count = w->spec->judges_count,
                                         .reports = reports,
                                         .reports_count = w->spec->pools_count};
    return true;
}

/* ---- when ---- */

static bool keys_known(const struct vq_work *w)
{
    for (uint32_t i = 0; i < w->spec->pools_count; i++) {
        if (!w->pools[i].keyed) {
            return false;
        }
    }
    return true;
}

static bool credit_ready(const struct vq_work *w)
{
    return w->link.state == VQ_WORK_LINK_OPEN && w->spec != NULL &&
           vq_hash_eq(&w->spec->hash, &w->spec_wanted) && keys_known(w);
}

/* Whether calls were made or committed, a pool's demand has started or ended, or a wanted number
 * changed by a quarter. */
static bool moved(const struct vq_work *w)
{
    bool changed = counted(w) != w->credit.sum;
    for (uint32_t j = 0; j < w->spec->judges_count && !changed; j++) {
        double now = want(w, j);
        double then = w->judges[j].credited;
        changed = now > then * 1.25 || now < then * 0.75;
    }
    for (uint32_t p = 0; p < w->spec->pools_count && !changed; p++) {
        changed = (waiting(w, p) > 1) != w->pools[p].wants_more;
    }
    return changed;
}

/* Measures the speeds since the last look. */
static void look_at_speeds(struct vq_work *w)
{
    double seconds = (double)(w->now_ns - w->credit.said_ns) / 1e9;
    for (uint32_t i = 0; i < w->spec->judges_count; i++) {
        struct vq_work_judging *judge = &w->judges[i];
        judge->per_s = 0.5 * judge->per_s + 0.5 * (double)judge->closed / seconds;
        judge->closed = 0;
    }
    w->credit.said_ns = w->now_ns;
}

/* Slices move to other workers. Tasks that were taken for those slices would wait at this worker
 * for a long time, while other workers have none. A chain that waits for a slot waits until another
 * chain ends. */
static void look_at_surplus(struct vq_work *w)
{
    for (uint32_t j = 0; j < w->spec->judges_count; j++) {
        struct vq_work_judging *at = &w->judges[j];
        uint32_t wanted = want(w, j);
        uint64_t most = 2 * ((uint64_t)wanted + 2 * w->spec->axes_count);
        if (vq_stage_chains(w->spec->kind)) {
            double slots = slots_of(w, j);
            most = slots < 1 ? 1 : (uint64_t)slots;
            wanted = wanted < most ? (uint32_t)most : wanted;
        }
        at->surplus = at->asks_open - at->asks_done > most ? at->surplus + 1 : 0;
        if (at->surplus >= VQ_WORK_SURPLUS_LOOKS && takes_work(&w->end)) {
            at->surplus = 0;
            vq_work_return_surplus(w, j, wanted);
        }
    }
}

/* The money that a call in flight returns may be enough for the next call; without calls in flight
 * the worker cannot get any. It first reports that it wants no tasks, and returns its work one look
 * later: otherwise the coordinator would lease the work to it again, instead of to a worker that
 * can pay for it. */
static void look_at_means(struct vq_work *w)
{
    for (uint32_t j = 0; j < w->spec->judges_count; j++) {
        struct vq_work_judging *at = &w->judges[j];
        bool broke = w->calls.count == 0 && at->ready.count > 0 && !affords(w, j);
        at->broke = broke ? at->broke + 1 : 0;
        if (at->broke > VQ_WORK_SURPLUS_LOOKS) {
            at->broke = 0;
            vq_work_return_all(w, j);
        }
    }
}

void vq_work_credit_pump(struct vq_work *w)
{
    if (!credit_ready(w)) {
        return;
    }
    bool look = w->now_ns - w->credit.said_ns >= VQ_WORK_MS(VQ_WORK_CREDIT_MS);
    if (look) {
        look_at_speeds(w);
        look_at_surplus(w);
        look_at_means(w);
    }
    if (w->credit.due || (look && moved(w))) {
        w->credit.due = false;
        vq_work_queue(w, (struct vq_work_item){.type = VQ_WORK_ITEM_CREDIT});
    }
}

/* No call is in flight and none waits: the results may be the last ones of the stage, and the
 * coordinator reads no counts after the last one. */
static bool idle(const struct vq_work *w)
{
    bool none = w->calls.count == 0;
    for (uint32_t j = 0; j < w->spec->judges_count; j++) {
        none = none && w->judges[j].asks_open == w->judges[j].asks_done;
    }
    return none;
}

void vq_work_credit_before_results(struct vq_work *w)
{
    if (credit_ready(w) && idle(w) && counted(w) != w->credit.sum) {
        vq_work_queue(w, (struct vq_work_item){.type = VQ_WORK_ITEM_CREDIT});
    }
}

int64_t vq_work_credit_wake(const struct vq_work *w)
{
    if (!credit_ready(w) || (w->leases.asks_open == 0 && !moved(w))) {
        return INT64_MAX;
    }
    return w->credit.said_ns + VQ_WORK_MS(VQ_WORK_CREDIT_MS);
}
