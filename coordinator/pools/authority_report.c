/* Reports of workers: counts, demand, limits by headers, keys, spending, and confirmed GRANTs.
 *
 * Counts rise over a worker's process; the increase since its last report is added up. Demand
 * decides which worker is a member (could have a slice) and which is hungry. A pause counts only if
 * refusals asked for it again: the pause of a GRANT never comes back as a new pause.
 *
 * Not its job: the consequences for slices (authority_split.c) and for limits
 * (authority_learn.c). */
#include "common/base/alloc.h"
#include "common/base/sum.h"
#include "coordinator/pools/authority_parts.h"
#include "proto/params.h"

#include <string.h>

/* times the calls in flight and waiting: the amount wanted of a purse */
#define AHEAD_CALLS     4.0
#define AHEAD_CALLS_MIN 16.0
#define FAR_S           (INT64_C(10) * 366 * 24 * 3600) /* no clock reading is further off */

static enum vq_status seats_make(struct vq_authority *a, struct vq_auth_worker *w)
{
    if (w->seats != NULL || a->pools_count == 0) {
        return VQ_OK;
    }
    w->seats = vq_alloc(a->pools_count, sizeof(*w->seats));
    if (w->seats == NULL) {
        return VQ_NOMEM;
    }
    for (uint32_t i = 0; i < a->pools_count; i++) {
        w->seats[i].member = VQ_AUTH_NOBODY;
        w->seats[i].weight = 1;
    }
    return VQ_OK;
}

/* The first report of a pool. Its counts are the start, so that a process that outlived a
 * coordinator is not counted twice. */
static enum vq_status seat_open(struct vq_auth_pool *p, struct vq_auth_worker *w,
                                const struct vq_pool_report *report)
{
    struct vq_auth_seat *seat = &w->seats[p->index];
    if (!seat->known) {
        size_t need = (size_t)p->members.known + 1;
        VQ_TRY(vq_grow((void **)&p->members.list, &p->members.cap, need, sizeof(*p->members.list),
                       VQ_AUTHORITY_WORKERS_MAX));
        VQ_TRY(vq_grow((void **)&p->holders.list, &p->holders.cap, need, sizeof(*p->holders.list),
                       VQ_AUTHORITY_WORKERS_MAX));
    }
    if (!seat->day_joined) {
        if (p->day.requests != NULL) {
            VQ_TRY(vq_purse_join(p->day.requests, w->slot, &report->day_requests));
        }
        if (p->day.tokens != NULL) {
            enum vq_status status = vq_purse_join(p->day.tokens, w->slot, &report->day_tokens);
            if (status != VQ_OK) {
                if (p->day.requests != NULL) {
                    vq_purse_leave(p->day.requests, w->slot, VQ_PURSE_SETTLED);
                }
                return status;
            }
        }
        seat->day_joined = true;
    }
    if (!seat->known) {
        seat->known = true;
        seat->state = VQ_POOL_NO_KEY;
        seat->requests = report->requests;
        seat->answered = report->answered;
        seat->refused = report->refused;
        seat->slowed = report->slowed;
        seat->timed = report->timed;
        seat->failed = report->failed;
        seat->input_tokens = report->input_tokens;
        seat->cached_tokens = report->cached_tokens;
        seat->output_tokens = report->output_tokens;
        p->members.known++;
    }
    return VQ_OK;
}

static uint64_t rise(uint64_t *was, uint64_t is)
{
    uint64_t by = is > *was ? is - *was : 0;
    *was = is > *was ? is : *was;
    return by;
}

static void take_counts(struct vq_auth_pool *p, struct vq_auth_seat *seat,
                        const struct vq_pool_report *report, int64_t now_ns)
{
    uint64_t requests = rise(&seat->requests, report->requests);
    uint64_t answered = rise(&seat->answered, report->answered);
    uint64_t refused = rise(&seat->refused, report->refused);
    uint64_t slowed = rise(&seat->slowed, report->slowed);
    uint64_t failed = rise(&seat->failed, report->failed);
    struct vq_auth_bucket used = {.requests = (double)requests,
                                  .refused = (double)refused,
                                  .timed = (double)rise(&seat->timed, report->timed),
                                  .answered = (double)answered,
                                  .input = (double)rise(&seat->input_tokens, report->input_tokens),
                                  .output =
                                      (double)rise(&seat->output_tokens, report->output_tokens)};
    vq_sum_to(&p->totals.input_tokens, (uint64_t)used.input);
    vq_sum_to(&p->totals.cached_tokens, rise(&seat->cached_tokens, report->cached_tokens));
    vq_sum_to(&p->totals.output_tokens, (uint64_t)used.output);
    vq_sum_to(&p->totals.requests, requests);
    vq_sum_to(&p->totals.answered, answered);
    vq_sum_to(&p->totals.refused, refused);
    vq_sum_to(&p->totals.slowed, slowed);
    vq_sum_to(&p->totals.failed, failed);
    vq_sum_to(&p->totals.ended, answered + refused + failed);
    vq_auth_used(p, &used, now_ns);
    bool pauses = report->pause_ms != 0 && (refused + failed != 0 || seat->pause_ms == 0);
    seat->pause_ms = report->pause_ms;
    int64_t until_ns = now_ns + report->pause_ms * VQ_AUTH_MS;
    seat->paused_ns = pauses && until_ns > seat->paused_ns ? until_ns : seat->paused_ns;
    /* only the pause of its own refusals: no pause prolongs itself */
    if (pauses && until_ns > p->park.pause_ns) {
        p->park.pause_ns = until_ns;
    }
    seat->asked_ns = pauses && until_ns > seat->asked_ns ? until_ns : seat->asked_ns;
    if (slowed != 0) {
        vq_auth_learn_slowed(p, now_ns);
    }
    /* otherwise the refusals named another limit */
    bool rate = report->cap == 0 && report->park_unix_s == 0;
    if (refused > slowed && rate) {
        vq_auth_learn_refused(p, now_ns);
    }
}

int64_t vq_auth_mono_of(const struct vq_authority *a, int64_t unix_s)
{
    int64_t off_s = unix_s > a->clock_unix_s + FAR_S   ? FAR_S
                    : unix_s < a->clock_unix_s - FAR_S ? -FAR_S
                                                       : unix_s - a->clock_unix_s;
    return a->clock_ns + off_s * VQ_AUTH_S;
}

/* A worker's largest unit is smaller now. Its report covers its sends of the last window, too. So
 * the units of the other workers, and of those that left in that time, are the rest. */
static void unit_fell(const struct vq_authority *a, struct vq_auth_pool *p, enum vq_rate r)
{
    double most = fmax(p->word.unit_gone.of[r], p->word.unit_gone_before.of[r]);
    for (uint32_t i = 0; i < p->members.count; i++) {
        const struct vq_auth_seat *seat = &a->workers[p->members.list[i]]->seats[p->index];
        most = fmax(most, seat->unit.of[r]);
    }
    if (most > 0 && most < p->word.unit.of[r]) {
        p->word.unit.of[r] = p->word.unit_now.of[r] = most;
        p->deal.due = true;
    }
}

#define REQUESTS_LEAST 2.0 /* per minute: a lower number in a header has another meaning */

/* A limit below the use of accepted calls is wrong: it would stall the pool. */
static bool is_credible(const struct vq_auth_used *used, enum vq_rate r, double said)
{
    if (r == VQ_RATE_REQUESTS) {
        return said >= REQUESTS_LEAST;
    }
    double call = vq_auth_accepted_of(used, r, 1); /* the mean of the last window */
    return call < 0 || said >= call;
}

static void take_limits(struct vq_authority *a, struct vq_auth_pool *p, struct vq_auth_seat *seat,
                        const struct vq_pool_report *report)
{
    for (unsigned i = 0; i < VQ_RATE__COUNT; i++) {
        enum vq_rate r = (enum vq_rate)i;
        double said = report->said.of[r];
        double was = seat->said.of[r];
        /* the latest different report is right */
        if (said > 0 && (said < was || said > was) && is_credible(&p->used, r, said)) {
            p->deal.due = p->deal.due || said < p->word.said.of[r] || said > p->word.said.of[r];
            p->word.said.of[r] = said;
        }
        double unit = report->unit.of[r];
        double unit_was = seat->unit.of[r];
        seat->unit.of[r] = unit;
        if (r != VQ_RATE_REQUESTS && unit > p->word.unit_now.of[r]) {
            p->word.unit_now.of[r] = unit;
            p->deal.due = p->deal.due || unit > p->word.unit.of[r];
            p->word.unit.of[r] = fmax(p->word.unit.of[r], unit);
        } else if (r != VQ_RATE_REQUESTS && unit < unit_was && unit_was >= p->word.unit.of[r]) {
            unit_fell(a, p, r);
        }
    }
    seat->said = report->said;
    if (report->cap != 0 && report->cap != seat->cap && report->cap != p->word.cap) {
        p->word.cap = report->cap;
        p->deal.due = true;
    }
    seat->cap = report->cap;
    if (report->park_unix_s != seat->park_unix_s && report->park_unix_s != 0 && a->clocked) {
        if (p->park.until_unix_s < report->park_unix_s) {
            p->park.until_unix_s = report->park_unix_s;
            p->park.until_ns = vq_auth_mono_of(a, p->park.until_unix_s);
        }
        p->deal.due = true;
        seat->park_unix_s = report->park_unix_s;
    }
    if (report->park_unix_s == 0) {
        seat->park_unix_s = 0;
    }
}

static void copy_text(char *to, struct vq_span text)
{
    size_t bytes = text.bytes < VQ_AUTHORITY_TEXT_BYTES ? text.bytes : VQ_AUTHORITY_TEXT_BYTES - 1;
    if (bytes > 0) {
        memcpy(to, text.at, bytes);
    }
    to[bytes] = '\0';
}

static uint64_t known_keys(const struct vq_auth_keyset *keys, const struct vq_pool_report *report)
{
    uint64_t known = 0;
    for (uint32_t k = 0; k < keys->count && k < 64; k++) {
        for (uint32_t i = 0; i < report->keys_count; i++) {
            known |= report->keys[i] == keys->list[k] ? UINT64_C(1) << k : 0;
        }
    }
    return known;
}

/* Stores why the pool is closed, or which of its keys was refused. Each refused key counts once,
 * whichever worker reports it. */
static void take_text(struct vq_auth_keyset *keys, struct vq_auth_seat *seat,
                      const struct vq_pool_report *report)
{
    uint64_t has = known_keys(keys, report);
    uint64_t lost = seat->keys_had & ~has & ~keys->lost;
    seat->keys_had = has;
    if (report->state == VQ_POOL_OPEN && lost != 0) {
        keys->lost |= lost;
        keys->refused++;
        copy_text(keys->why, report->text);
    } else if (report->state != VQ_POOL_OPEN && report->state != VQ_POOL_NO_KEY) {
        copy_text(keys->closed_why, report->text);
    }
}

static void take_demand(struct vq_authority *a, struct vq_auth_pool *p, struct vq_auth_worker *w,
                        const struct vq_pool_report *report, int64_t now_ns)
{
    struct vq_auth_seat *seat = &w->seats[p->index];
    bool was = seat->waiting != 0, is = report->waiting != 0;
    bool was_keen = seat->waiting >= VQ_AUTH_KEEN, is_keen = report->waiting >= VQ_AUTH_KEEN;
    p->members.in_flight += report->in_flight;
    p->members.in_flight -= seat->in_flight;
    p->members.waiting += report->waiting;
    p->members.waiting -= seat->waiting;
    if (seat->member != VQ_AUTH_NOBODY) {
        p->members.hungry += is;
        p->members.hungry -= was;
        p->members.keen += is_keen;
        p->members.keen -= was_keen;
    }
    bool fewer = report->in_flight < seat->in_flight && seat->in_flight > seat->next.concurrency;
    seat->in_flight = report->in_flight;
    seat->waiting = report->waiting;
    if (report->in_flight != 0 || report->requests > seat->requests) {
        seat->used_ns = now_ns;
    }
    p->members.keyed += report->state != VQ_POOL_NO_KEY;
    p->members.keyed -= seat->state != VQ_POOL_NO_KEY;
    seat->state = report->state;
    vq_auth_member(a, p, w, report->state == VQ_POOL_OPEN);
    vq_auth_list(p, w);
    if (p->find.level.round_peak < p->members.in_flight) {
        p->find.level.round_peak = vq_auth_u32(p->members.in_flight);
    }
    bool other = was != is || was_keen != is_keen;
    if (other || (fewer && p->deal.due)) {
        vq_auth_touch(a, p, fewer ? now_ns : p->deal.at_ns);
    }
}

static uint64_t whole(double value)
{
    return value >= 9e18 ? UINT64_C(9000000000000000000) : value <= 0 ? 0 : (uint64_t)ceil(value);
}

/* The amount that the worker may soon want to start. It is 0 without a slice, so that money and
 * quotas follow the slices. It is 0 if the pool has no tasks left: otherwise the last amount would
 * lie there, and a worker that could use it would have none. */
static double calls_ahead(const struct vq_auth_pool *p, const struct vq_auth_seat *seat,
                          const struct vq_pool_report *report)
{
    if (!seat->holder || p->workless) {
        return 0;
    }
    double now = (double)report->in_flight + (double)report->waiting;
    return now < VQ_AUTH_KEEN ? now : fmax(AHEAD_CALLS * now, AHEAD_CALLS_MIN);
}

static void take_day(struct vq_auth_pool *p, struct vq_auth_worker *w,
                     const struct vq_pool_report *report, uint64_t granted_n)
{
    double calls = calls_ahead(p, &w->seats[p->index], report);
    if (p->day.requests != NULL) {
        vq_purse_report(p->day.requests, w->slot, &report->day_requests, granted_n, whole(calls),
                        1);
        w->due = w->due || vq_purse_due(p->day.requests, w->slot);
    }
    if (p->day.tokens != NULL) {
        double unit = fmax((double)report->day_tokens.unit, 1);
        vq_purse_report(p->day.tokens, w->slot, &report->day_tokens, granted_n, whole(calls * unit),
                        whole(unit));
        w->due = w->due || vq_purse_due(p->day.tokens, w->slot);
    }
}

/* The worker confirmed GRANTs up to n: slices that were lowered before are out of force. */
static void confirm(struct vq_authority *a, struct vq_auth_worker *w, uint64_t n, int64_t now_ns)
{
    if (n <= w->confirmed_n || n > w->granted_n) {
        return;
    }
    w->confirmed_n = n;
    for (uint32_t i = 0; i < a->pools_count; i++) {
        struct vq_auth_seat *seat = &w->seats[i];
        if (seat->granted_at_n != 0 && seat->granted_at_n <= n &&
            vq_auth_differs(&seat->held, &seat->granted)) {
            seat->held = seat->granted;
            vq_auth_touch(a, &a->pools[i], a->pools[i].deal.due ? now_ns : a->pools[i].deal.at_ns);
        }
    }
}

void vq_authority_params(struct vq_authority *a, uint32_t p, uint32_t params)
{
    VQ_ASSERT(p < a->pools_count);
    struct vq_auth_pool *pool = &a->pools[p];
    uint32_t known = pool->word.params_refused | (params & VQ_PARAMS_ALL);
    for (uint32_t i = 0; known != pool->word.params_refused && i < a->slots; i++) {
        if (a->workers[i] != NULL) {
            a->workers[i]->due = true;
        }
    }
    pool->word.params_refused = known;
}

enum vq_status vq_authority_report(struct vq_authority *a, const struct vq_id *worker,
                                   const struct vq_msg_credit *credit, int64_t now_ns)
{
    struct vq_auth_worker *w = vq_auth_find(a, worker);
    if (w == NULL || w->state != VQ_AUTH_HERE) {
        return VQ_OK;
    }
    VQ_TRY(seats_make(a, w));
    vq_authority_heard(a, worker, now_ns);
    w->said_ns = now_ns;
    if (!w->spend_joined) {
        VQ_TRY(vq_purse_join(a->spend, w->slot, &credit->spend));
        w->spend_joined = true;
        vq_authority_succeeded(a, worker); /* its own advance: it reports its spending itself */
    }
    if (w->seats != NULL) {
        confirm(a, w, credit->granted_n, now_ns);
    }
    double ahead = 0;
    for (uint32_t i = 0; i < credit->reports_count; i++) {
        const struct vq_pool_report *report = &credit->reports[i];
        if (report->pool >= a->pools_count) {
            continue;
        }
        struct vq_auth_pool *p = &a->pools[report->pool];
        struct vq_auth_seat *seat = &w->seats[report->pool];
        VQ_TRY(seat_open(p, w, report));
        VQ_TRY(vq_auth_keys(a, &p->keys, seat, report));
        take_limits(a, p, seat, report);
        vq_authority_params(a, report->pool, report->params_refused);
        take_text(&p->keys, seat, report);
        take_demand(a, p, w, report, now_ns);
        take_counts(p, seat, report, now_ns);
        take_day(p, w, report, credit->granted_n);
        ahead += calls_ahead(p, seat, report);
        if (p->deal.due && now_ns >= p->deal.at_ns) {
            vq_auth_deal(a, p, now_ns);
        }
    }
    uint64_t unit = credit->spend.unit > 1 ? credit->spend.unit : 1;
    vq_purse_report(a->spend, w->slot, &credit->spend, credit->granted_n,
                    whole(ahead * (double)unit), unit);
    w->due = w->due || vq_purse_due(a->spend, w->slot);
    return VQ_OK;
}
