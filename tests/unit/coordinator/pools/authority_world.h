/* A small world around the authority: model workers that send as fast as their slices allow, links
 * that delay, lose and break, a coordinator that stalls and restarts, and a log of what arrived
 * where and when. The workers' pacing is written here anew, from the rules in authority.h, not
 * taken from the worker. Time goes in steps; what is sent within a step has its exact time. */
#pragma once

#include "tests/unit/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/rng.h"
#include "coordinator/pools/authority.h"

#define WORLD_POOLS   8
#define WORLD_WORKERS 16
#define WORLD_QUEUE   128
#define WORLD_CALLS   1024
#define WORLD_ROW     4 /* refusals in a row: one call at a time finds out */
#define WORLD_MS      INT64_C(1000000)
#define WORLD_STEP    (5 * WORLD_MS)

enum world_kind {
    WORLD_HELLO,
    WORLD_BEAT,
    WORLD_CREDIT,
    WORLD_BYE,
    WORLD_ECHO,
    WORLD_GRANT
};

struct world_msg {
    int64_t at_ns, stamp_ns;
    enum world_kind kind;
    uint64_t session, n;
    uint32_t count;
    struct vq_slice slices[WORLD_POOLS];
    struct vq_pool_report reports[WORLD_POOLS];
};

struct world_queue {
    struct world_msg msgs[WORLD_QUEUE];
    uint32_t head, count;
    int64_t last_ns;
};

struct world_call {
    int64_t end_ns;
    bool refused, slowed;
    int64_t retry_ms;
    double input, output;
};

struct world_use { /* a worker at a pool */
    uint32_t concurrency;
    double rate[VQ_RATE__COUNT], owed[VQ_RATE__COUNT];
    int64_t at_ns, held_ns, paused_ns, cut_ns;
    uint32_t pauses, calls_count;
    bool noisy;
    uint32_t row; /* refusals since the last answer */
    struct world_call calls[WORLD_CALLS];
    double next[VQ_RATE__COUNT]; /* what its next request costs */
    bool wants;
    struct vq_pool_report report;
};

struct world_worker {
    bool alive, leaving, known; /* known: the coordinator counts it as here */
    struct vq_id id;
    uint64_t session, session_there; /* its own; the one the coordinator has */
    int64_t silent_ns, stopped_ns;   /* cut off, stopped: until */
    int64_t ends_ns;                 /* the end of its process becomes known; 0: never */
    int64_t beat_ns, credit_ns, heard_ns, term_ns;
    uint64_t slices_epoch, n;
    struct world_use uses[WORLD_POOLS];
    struct world_queue up, down;
};

struct world_arrival {
    int64_t at_ns, end_ns;
    float cost[VQ_RATE__COUNT];
    bool refused;
};

struct world_log {
    struct world_arrival *list;
    size_t count, cap;
};

struct world {
    struct vq_rng rng;
    struct vq_authority_pool pools[WORLD_POOLS];
    struct vq_authority_params params;
    struct vq_authority *authority;
    uint64_t epoch, ids;
    int64_t now_ns, stalled_ns, restart_ns; /* the coordinator stands still, is down: until */
    uint32_t pools_count, workers_count;
    int64_t window_ns, jitter_ns, delay_ns, latency_ns;
    double unit
        [VQ_RATE__COUNT]; /* of every pool: the largest request; the smallest has a quarter of it */
    bool rough;           /* somebody fell silent */
    bool even;            /* every request costs a unit */
    double lost;          /* of messages */
    struct world_worker workers[WORLD_WORKERS];
    struct world_log logs[WORLD_POOLS];
    /* a provider that looks at the request; NULL: takes all. true: refused */
    bool (*refuses)(struct world *w, uint32_t pool, const struct world_arrival *a,
                    struct world_call *call);
    struct vq_rates said; /* by headers, with the first answer; 0: nothing */
    void *provider;
    double refused_seen;
};

/* ---- links ---- */

static inline struct world_msg *world_push(struct world *w, struct world_queue *q,
                                           int64_t silent_ns)
{
    if (silent_ns > w->now_ns || q->count == WORLD_QUEUE || vq_rng_unit(&w->rng) < w->lost) {
        return NULL;
    }
    struct world_msg *m = &q->msgs[(q->head + q->count++) % WORLD_QUEUE];
    int64_t at_ns = w->now_ns + (int64_t)(vq_rng_unit(&w->rng) * (double)w->delay_ns);
    *m = (struct world_msg){.at_ns = at_ns > q->last_ns ? at_ns : q->last_ns};
    q->last_ns = m->at_ns;
    return m;
}

static inline struct world_msg *world_pop(struct world *w, struct world_queue *q)
{
    if (q->count == 0 || q->msgs[q->head].at_ns > w->now_ns) {
        return NULL;
    }
    struct world_msg *m = &q->msgs[q->head];
    q->head = (q->head + 1) % WORLD_QUEUE;
    q->count--;
    return m;
}

/* ---- workers ---- */

static inline void world_cost(struct world *w, struct world_use *u)
{
    double part = w->even ? 1 : 0.25 + 0.75 * vq_rng_unit(&w->rng);
    u->next[VQ_RATE_REQUESTS] = 1;
    u->next[VQ_RATE_INPUT] = w->unit[VQ_RATE_INPUT] * part;
    u->next[VQ_RATE_OUTPUT] =
        w->unit[VQ_RATE_OUTPUT] * (w->even ? 1 : 0.25 + 0.75 * vq_rng_unit(&w->rng));
    u->next[VQ_RATE_TOKENS] = u->next[VQ_RATE_INPUT] + u->next[VQ_RATE_OUTPUT];
}

static inline void world_drop_slices(struct world_worker *k, uint32_t pools)
{
    for (uint32_t p = 0; p < pools; p++) {
        k->uses[p].concurrency = 0;
    }
}

static inline void world_hello(struct world *w, struct world_worker *k)
{
    k->session = w->epoch * 1000000 + ++w->ids;
    k->n = 0;
    k->up.count = k->down.count = 0;
    k->beat_ns = w->now_ns;
    k->credit_ns = w->now_ns;
    struct world_msg *m = world_push(w, &k->up, k->silent_ns);
    if (m != NULL) {
        m->kind = WORLD_HELLO;
        m->session = k->session;
        m->stamp_ns = w->now_ns;
    }
}

static inline void world_start(struct world *w, struct world_worker *k)
{
    memset(k, 0, sizeof(*k));
    k->alive = true;
    k->term_ns = INT64_MIN;
    w->ids++;
    memcpy(k->id.b, &w->ids, sizeof(w->ids));
    for (uint32_t p = 0; p < w->pools_count; p++) {
        k->uses[p].wants = true;
        world_cost(w, &k->uses[p]);
        k->uses[p].report =
            (struct vq_pool_report){.pool = p,
                                    .unit = {.requests = 1,
                                             .input_tokens = w->unit[VQ_RATE_INPUT],
                                             .output_tokens = w->unit[VQ_RATE_OUTPUT],
                                             .tokens = w->unit[VQ_RATE_TOKENS]}};
    }
    world_hello(w, k);
}

static inline void world_settle(struct world *w, struct world_use *u, int64_t to_ns)
{
    for (unsigned r = 0; r < VQ_RATE__COUNT && to_ns > u->at_ns; r++) {
        u->owed[r] = fmax(u->owed[r] - u->rate[r] / 60e9 * (double)(to_ns - u->at_ns), 0);
    }
    u->at_ns = to_ns > u->at_ns ? to_ns : u->at_ns;
    (void)w;
}

static inline void world_take_grant(struct world *w, struct world_worker *k,
                                    const struct world_msg *m)
{
    if (m->n <= k->n || w->now_ns >= k->term_ns) {
        return; /* past its term nothing counts */
    }
    k->n = m->n;
    k->slices_epoch = k->session / 1000000;
    struct world_use *seen[WORLD_POOLS] = {NULL};
    for (uint32_t i = 0; i < m->count; i++) {
        const struct vq_slice *s = &m->slices[i];
        struct world_use *u = seen[s->pool] = &k->uses[s->pool];
        world_settle(w, u, w->now_ns);
        for (unsigned i2 = 0; i2 < VQ_RATE__COUNT; i2++) {
            double rate = s->rates.of[i2];
            bool begins = u->concurrency == 0 || !(u->rate[i2] > 0);
            u->rate[i2] = rate;
            if (rate > 0 && begins) {
                u->owed[i2] = fmax(u->owed[i2], w->unit[i2]);
            }
        }
        u->concurrency = s->concurrency;
        u->noisy = s->noisy;
        u->held_ns = w->now_ns + s->pause_ms * WORLD_MS;
    }
    for (uint32_t p = 0; p < w->pools_count; p++) {
        if (seen[p] == NULL) {
            k->uses[p].concurrency = 0;
        }
    }
    k->credit_ns = w->now_ns;
}

static inline void world_log_add(struct world_log *log, const struct world_arrival *a)
{
    if (log->count == log->cap) {
        log->cap = log->cap == 0 ? 1024 : 2 * log->cap;
        log->list = realloc(log->list, log->cap * sizeof(*log->list));
        assert_non_null(log->list);
    }
    log->list[log->count++] = *a;
}

static inline void world_ended(struct world *w, struct world_worker *k, struct world_use *u,
                               const struct world_call *c)
{
    u->report.in_flight--;
    if (!c->refused) {
        u->report.answered++;
        u->report.input_tokens += (uint64_t)c->input;
        u->report.output_tokens += (uint64_t)c->output;
        u->report.said = w->said;
        u->pauses = u->row = 0;
        return;
    }
    u->row++;
    u->report.refused++;
    u->report.slowed += c->slowed;
    if (u->noisy && u->row < WORLD_ROW) {
        return; /* that call waits, others go on */
    }
    int64_t pause_ms = c->retry_ms;
    if (pause_ms == 0 && u->cut_ns < w->now_ns - 200 * WORLD_MS) {
        double most = fmin(500 * exp2(u->pauses++), 20000);
        pause_ms = (int64_t)(most * (0.5 + 0.5 * vq_rng_unit(&w->rng)));
    }
    u->cut_ns = w->now_ns;
    int64_t until_ns = w->now_ns + pause_ms * WORLD_MS;
    u->paused_ns = until_ns > u->paused_ns ? until_ns : u->paused_ns;
    k->credit_ns = w->now_ns;
}

static inline void world_send(struct world *w, struct world_worker *k, uint32_t p, int64_t at_ns)
{
    struct world_use *u = &k->uses[p];
    world_settle(w, u, at_ns);
    struct world_arrival a = {
        .at_ns = at_ns + (int64_t)(vq_rng_unit(&w->rng) * 0.99 * (double)w->jitter_ns)};
    for (unsigned r = 0; r < VQ_RATE__COUNT; r++) {
        u->owed[r] += u->rate[r] > 0 ? u->next[r] : 0;
        a.cost[r] = (float)u->next[r];
    }
    double latency = (double)w->latency_ns * (0.5 + vq_rng_unit(&w->rng));
    struct world_call c = {.input = u->next[VQ_RATE_INPUT], .output = u->next[VQ_RATE_OUTPUT]};
    a.refused = c.refused = w->refuses != NULL && w->refuses(w, p, &a, &c);
    c.end_ns = a.at_ns + (c.refused ? 20 * WORLD_MS : (int64_t)latency);
    a.end_ns = c.end_ns;
    world_log_add(&w->logs[p], &a);
    u->calls[u->calls_count++] = c;
    u->report.in_flight++;
    u->report.requests++;
    world_cost(w, u);
}

static inline void world_work(struct world *w, struct world_worker *k, int64_t to_ns)
{
    for (uint32_t p = 0; p < w->pools_count; p++) {
        struct world_use *u = &k->uses[p];
        for (uint32_t i = u->calls_count; i > 0; i--) {
            if (u->calls[i - 1].end_ns <= w->now_ns) {
                struct world_call c = u->calls[i - 1];
                u->calls[i - 1] = u->calls[--u->calls_count];
                world_ended(w, k, u, &c);
            }
        }
        int64_t from_ns = u->held_ns > w->now_ns ? u->held_ns : w->now_ns;
        from_ns = u->paused_ns > from_ns ? u->paused_ns : from_ns;
        int64_t most_ns = to_ns < k->term_ns ? to_ns : k->term_ns;
        uint32_t slots = u->row >= WORLD_ROW && u->concurrency > 1 ? 1 : u->concurrency;
        while (u->wants && !k->leaving && u->calls_count < slots && u->calls_count < WORLD_CALLS) {
            int64_t at_ns = from_ns > u->at_ns ? from_ns : u->at_ns;
            for (unsigned r = 0; r < VQ_RATE__COUNT; r++) {
                if (u->rate[r] > 0) {
                    int64_t free_ns = u->at_ns + (int64_t)ceil(u->owed[r] / u->rate[r] * 60e9);
                    at_ns = free_ns > at_ns ? free_ns : at_ns;
                }
            }
            if (at_ns >= most_ns) {
                break;
            }
            world_send(w, k, p, at_ns);
        }
    }
}

static inline void world_say(struct world *w, struct world_worker *k)
{
    if (w->now_ns >= k->beat_ns) {
        struct world_msg *m = world_push(w, &k->up, k->silent_ns);
        k->beat_ns = w->now_ns + w->params.term_ns / 6;
        if (m != NULL) {
            *m = (struct world_msg){m->at_ns, .stamp_ns = w->now_ns, .kind = WORLD_BEAT,
                                    .session = k->session};
        }
    }
    if (w->now_ns >= k->credit_ns) {
        struct world_msg *m = world_push(w, &k->up, k->silent_ns);
        k->credit_ns = w->now_ns + 200 * WORLD_MS;
        if (m != NULL) {
            m->kind = WORLD_CREDIT;
            m->session = k->session;
            m->n = k->n;
            m->count = w->pools_count;
            for (uint32_t p = 0; p < w->pools_count; p++) {
                struct world_use *u = &k->uses[p];
                int64_t left_ns = u->paused_ns - w->now_ns;
                u->report.pause_ms = left_ns > 0 ? (uint32_t)(left_ns / WORLD_MS) : 0;
                u->report.waiting = u->wants ? 20 : 0;
                m->reports[p] = u->report;
            }
        }
    }
}

static inline void world_worker_step(struct world *w, struct world_worker *k)
{
    if (w->now_ns >= k->term_ns) {
        world_drop_slices(k, w->pools_count);
    }
    if (k->stopped_ns > w->now_ns) {
        return;
    }
    for (struct world_msg *m; (m = world_pop(w, &k->down)) != NULL;) {
        if (m->session != k->session) {
            continue;
        }
        if (m->kind == WORLD_ECHO && (k->slices_epoch == 0 || w->now_ns >= k->term_ns ||
                                      k->slices_epoch == k->session / 1000000)) {
            int64_t term_ns = m->stamp_ns + w->params.term_ns;
            k->term_ns = term_ns > k->term_ns ? term_ns : k->term_ns;
            k->slices_epoch = k->session / 1000000;
        } else if (m->kind == WORLD_GRANT) {
            world_take_grant(w, k, m);
        }
    }
    world_work(w, k, w->now_ns + WORLD_STEP);
    world_say(w, k);
    bool idle = true;
    for (uint32_t p = 0; p < w->pools_count; p++) {
        idle = idle && k->uses[p].calls_count == 0;
    }
    if (k->leaving && idle) {
        struct world_msg *m = world_push(w, &k->up, k->silent_ns);
        k->alive = false;
        if (m != NULL) {
            m->kind = WORLD_BYE;
            m->session = k->session;
        }
    }
}

/* ---- the coordinator ---- */

static inline void world_authority(struct world *w, bool again)
{
    vq_authority_destroy(&w->authority);
    w->epoch++;
    w->params.pools = w->pools;
    w->params.pools_count = w->pools_count;
    w->params.budget_nano = VQ_AMOUNT_ANY;
    w->params.jitter_ns = w->jitter_ns;
    w->params.wait_until_ns = again ? w->now_ns + w->params.term_ns : w->now_ns;
    assert_int_equal(vq_authority_create(&w->params, w->now_ns, &w->authority, NULL), VQ_OK);
    for (uint32_t i = 0; i < w->workers_count; i++) {
        struct world_worker *k = &w->workers[i];
        k->known = false;
        k->session_there = 0;
        if (again && k->alive) {
            world_hello(w, k);
        }
    }
}

static inline void world_hear(struct world *w, struct world_worker *k, const struct world_msg *m)
{
    if (m->kind == WORLD_HELLO) {
        k->session_there = m->session;
        k->known = true;
        assert_int_equal(vq_authority_join(w->authority, &k->id, true, false, w->now_ns), VQ_OK);
    }
    if (m->session != k->session_there) {
        return;
    }
    k->heard_ns = w->now_ns;
    vq_authority_heard(w->authority, &k->id, w->now_ns);
    if (m->kind == WORLD_HELLO || m->kind == WORLD_BEAT) {
        struct world_msg *echo = world_push(w, &k->down, k->silent_ns);
        if (echo != NULL) {
            echo->kind = WORLD_ECHO;
            echo->session = m->session;
            echo->stamp_ns = m->stamp_ns;
        }
    } else if (m->kind == WORLD_CREDIT) {
        struct vq_msg_credit credit = {
            .granted_n = m->n, .reports = m->reports, .reports_count = m->count};
        assert_int_equal(vq_authority_report(w->authority, &k->id, &credit, w->now_ns), VQ_OK);
    } else if (m->kind == WORLD_BYE) {
        vq_authority_leave(w->authority, &k->id, VQ_AUTHORITY_LEFT, w->now_ns);
        k->known = false;
    }
}

static inline void world_tell(struct world *w, struct world_worker *k)
{
    if (!k->known || !vq_authority_due(w->authority, &k->id)) {
        return;
    }
    static struct vq_slice slices[VQ_AUTHORITY_POOLS_MAX];
    struct vq_msg_grant grant;
    vq_authority_grant(w->authority, &k->id, w->now_ns, slices, &grant);
    struct world_msg *m = world_push(w, &k->down, k->silent_ns);
    if (m != NULL) {
        m->kind = WORLD_GRANT;
        m->session = k->session_there;
        m->n = grant.n;
        m->count = grant.slices_count;
        memcpy(m->slices, slices, grant.slices_count * sizeof(*slices));
    }
}

static inline void world_coordinate(struct world *w)
{
    if (w->stalled_ns > w->now_ns) {
        return;
    }
    for (uint32_t i = 0; i < w->workers_count; i++) {
        struct world_worker *k = &w->workers[i];
        for (struct world_msg *m; (m = world_pop(w, &k->up)) != NULL;) {
            struct world_msg copy = *m;
            world_hear(w, k, &copy);
        }
    }
    for (uint32_t i = 0; i < w->workers_count; i++) {
        struct world_worker *k = &w->workers[i];
        if (k->known && !k->alive && k->ends_ns != 0 && w->now_ns >= k->ends_ns) {
            vq_authority_leave(w->authority, &k->id, VQ_AUTHORITY_ENDED, w->now_ns);
            k->known = false;
        } else if (k->known && w->now_ns - k->heard_ns >= w->params.term_ns) {
            vq_authority_leave(w->authority, &k->id, VQ_AUTHORITY_SILENT, w->now_ns);
            k->known = false;
            if (k->alive) { /* once it is heard again it is told to say HELLO */
                world_hello(w, k);
            }
        }
    }
    if (vq_authority_wake_ns(w->authority) <= w->now_ns) {
        vq_authority_tick(w->authority, w->now_ns);
    }
    for (uint32_t i = 0; i < w->workers_count; i++) {
        world_tell(w, &w->workers[i]);
    }
}

static inline void world_step(struct world *w)
{
    world_coordinate(w);
    for (uint32_t i = 0; i < w->workers_count; i++) {
        if (w->workers[i].alive) {
            world_worker_step(w, &w->workers[i]);
        }
    }
    w->now_ns += WORLD_STEP;
}

static inline void world_crash(struct world *w, struct world_worker *k, bool known)
{
    k->alive = false;
    k->ends_ns = known ? w->now_ns + (int64_t)(vq_rng_unit(&w->rng) * 50e6) : 0;
}

static inline void world_end(struct world *w)
{
    vq_authority_destroy(&w->authority);
    for (uint32_t p = 0; p < WORLD_POOLS; p++) {
        free(w->logs[p].list);
    }
}

/* ---- what the log says ---- */

static inline int world_by_time(const void *a, const void *b)
{
    int64_t x = ((const struct world_arrival *)a)->at_ns,
            y = ((const struct world_arrival *)b)->at_ns;
    return x < y ? -1 : x > y;
}

static inline void world_sort(struct world_log *log)
{
    if (log->count > 0) { /* else there is no list */
        qsort(log->list, log->count, sizeof(*log->list), world_by_time);
    }
}

/* The most that any window [t, t + window) of the pool had of the rate. */
static inline double world_fullest(struct world *w, uint32_t p, enum vq_rate r)
{
    struct world_log *log = &w->logs[p];
    world_sort(log);
    double most = 0, sum = 0;
    size_t end = 0;
    for (size_t i = 0; i < log->count; i++) {
        for (; end < log->count && log->list[end].at_ns < log->list[i].at_ns + w->window_ns;
             end++) {
            sum += (double)log->list[end].cost[r];
        }
        most = fmax(most, sum);
        sum -= (double)log->list[i].cost[r];
    }
    return most;
}

static inline double world_used(const struct world *w, uint32_t p, enum vq_rate r, int64_t from_ns,
                                int64_t to_ns, bool refused)
{
    double sum = 0;
    for (size_t i = 0; i < w->logs[p].count; i++) {
        const struct world_arrival *a = &w->logs[p].list[i];
        if (a->at_ns >= from_ns && a->at_ns < to_ns && a->refused == refused) {
            sum += (double)a->cost[r];
        }
    }
    return sum;
}

/* The most calls that the pool's provider was at work on at once. */
static inline uint32_t world_crowd(struct world *w, uint32_t p)
{
    struct world_log *log = &w->logs[p];
    world_sort(log);
    uint32_t most = 0;
    for (size_t i = 0; i < log->count; i++) {
        uint32_t now = 0;
        for (size_t j = i + 1;
             j-- > 0 && log->list[j].at_ns > log->list[i].at_ns - 2 * w->latency_ns;) {
            now += log->list[j].end_ns > log->list[i].at_ns;
        }
        most = now > most ? now : most;
    }
    return most;
}
