/* What else may go wrong: faults.def. Its dice are its own: a seed without any of it is as it was
 * before there was any. What a fault does once it is there may draw from the world's generator. */
#include "tests/simulation/sim.h"

#include "common/base/alloc.h"

#include <stdio.h>

#define PEACEFUL 0.5 /* of the seeds */
#define HTTP_NS  (60 * VQ_NS_PER_S)
#define ABSENT   0.5  /* a fault, in one that is not */
#define APART    0.12 /* of the seeds have a fault that is drawn apart, peaceful or not */

bool sim_more(struct sim *s, enum sim_fault fault)
{
    double p = s->trouble.p[fault];
    bool comes = p > 0 && vq_rng_unit(&s->more) < p;
    s->report->faults[fault] += comes;
    return comes;
}

/* What came later than the seeds that are kept: drawn by other dice, so that most of these stay as
 * they are. */
static void draw_apart(struct sim *s, const double *most)
{
    struct vq_rng apart;
    vq_rng_seed(&apart, s->options.seed ^ UINT64_C(0x1f83d9abfb41bd6b));
    for (int f = SIM_DROP_CANCEL; f < SIM_FAULTS; f++) {
        bool comes = vq_rng_unit(&apart) < APART;
        double p = most[f] * vq_rng_unit(&apart);
        s->trouble.p[f] = comes || s->options.with[f] ? p : 0;
    }
    if (s->trouble.p[SIM_DROP_CANCEL] > 0) {
        /* Who was away for a term lists leases that are over. */
        s->knobs.block = s->knobs.block > 0.6 ? s->knobs.block : 0.6;
    }
}

/* What the coordinator says, and what happens just then. */
void sim_trouble_said(struct sim *s, uint32_t worker, const struct vq_msg *msg)
{
    if (msg->type == VQ_MSG_LEASE && sim_more(s, SIM_RACE)) {
        uint64_t at = vq_rng_below(&s->more, msg->u.lease.asks_count);
        sim_foreign_answer_to(s, msg->u.lease.asks[at].task);
    } else if (msg->type == VQ_MSG_CANCEL && sim_more(s, SIM_CUT_CANCEL)) {
        struct sim_worker *w = &s->workers[worker];
        int64_t until_ns = s->now_ns + sim_between(s, s->term_ns / 2, s->term_ns * 5 / 4);
        sim_say(s, "worker %u is cut off until %.3f s", worker, (double)until_ns / 1e9);
        w->blocked_until_ns[0] = w->blocked_until_ns[1] = until_ns;
    } else if (msg->type == VQ_MSG_CANCEL && sim_more(s, SIM_DRAIN_CANCEL)) {
        sim_push(s, s->now_ns, EV_DRAIN, 0, 0, s->coord.life);
    }
}

/* What they have spent is told long after the next coordinator began to spend. */
void sim_trouble_crashed(struct sim *s)
{
    sim_say(s, "coordinator is killed");
    s->report->coord_kills++;
    for (uint32_t i = 0; i < s->workers_count; i++) {
        struct sim_worker *w = &s->workers[i];
        if (w->work != NULL && w->local < 0 && sim_more(s, SIM_AWAY)) {
            int64_t until_ns = s->now_ns + sim_between(s, 2, 100) * s->term_ns;
            sim_say(s, "worker %u is away until %.3f s", i, (double)until_ns / 1e9);
            w->blocked_until_ns[0] = w->blocked_until_ns[1] = until_ns;
        }
    }
}

void sim_trouble_make(struct sim *s)
{
    static const double most[SIM_FAULTS] = {
#define SIM_FAULT(name, most, text) most,
#include "tests/simulation/faults.def"
#undef SIM_FAULT
    };
    vq_rng_seed(&s->more, s->options.seed ^ UINT64_C(0x7c5ac3b1f2e99d47));
    bool peaceful = vq_rng_unit(&s->more) < PEACEFUL;
    draw_apart(s, most);
    for (int f = 0; f < SIM_DROP_CANCEL; f++) {
        bool absent = vq_rng_unit(&s->more) < ABSENT;
        double p = most[f] * vq_rng_unit(&s->more);
        s->trouble.p[f] = (peaceful || absent) && !s->options.with[f] ? 0 : p;
    }
    if (s->trouble.p[SIM_AGAIN] > 0.4) { /* something must have failed */
        s->knobs.p_bad_request = 0.4 * vq_rng_unit(&s->more);
        s->knobs.requeue = 1;
    }
    double chains = 2 * vq_rng_unit(&s->more) - 1;
    s->trouble.missed_terms = peaceful ? 0 : (int64_t)vq_rng_below(&s->more, 4);
    s->trouble.chains = peaceful || chains < 0 ? 0 : chains;
}

void sim_trouble_free(struct sim *s)
{
    vq_free(s->trouble.tail);
}

/* ---- network ---- */

/* Frames that a block held back, and whatever was in flight, are lost; the peers find each other
 * again. */
void sim_reset(struct sim *s, uint32_t worker)
{
    struct sim_worker *w = &s->workers[worker];
    if (s->healed || w->work == NULL || !w->up) {
        return;
    }
    double late = s->knobs.late_frames;
    s->knobs.late_frames = 0;
    w->blocked_until_ns[0] = w->blocked_until_ns[1] = 0;
    sim_cut(s, worker);
    s->knobs.late_frames = late;
}

void sim_trouble_blocked(struct sim *s, uint32_t worker, int64_t until_ns)
{
    if (sim_more(s, SIM_RESET)) {
        sim_push(s, until_ns - 1, EV_RESET, worker, 0, s->workers[worker].life);
    }
}

static void storm(struct sim *s)
{
    sim_say(s, "all links break");
    for (uint32_t i = 0; i < s->workers_count; i++) {
        if (s->workers[i].work != NULL) {
            sim_cut(s, i);
        }
    }
}

/* ---- Redis ---- */

static void keep_tail(struct sim *s)
{
    size_t tasks = (size_t)vq_grid_tasks(&s->store.grid);
    vq_free(s->trouble.tail);
    s->trouble.tail = (uint8_t *)vq_strndup((const char *)s->store.column, tasks);
    VQ_ASSERT(s->trouble.tail != NULL);
    s->trouble.tail_commits = s->store.column_commits;
    s->trouble.tail_stage = s->stage;
}

void sim_trouble_redis(struct sim *s)
{
    if (s->trouble.p[SIM_TAIL] > 0 && vq_rng_unit(&s->more) < 0.3) {
        keep_tail(s);
    }
}

static void lose_tail(struct sim *s)
{
    const struct sim_trouble *t = &s->trouble;
    sim_say(s, "Redis loses its tail: it is back at commit %llu",
            (unsigned long long)t->tail_commits);
    if (t->tail_stage == s->stage) {
        memcpy(s->store.column, t->tail, (size_t)vq_grid_tasks(&s->store.grid));
        s->store.column_commits = t->tail_commits;
    } else {
        s->store.column_commits = UINT64_MAX; /* it says which stage */
    }
}

static void redis_trouble(struct sim *s)
{
    if (s->coord.redis_away) {
        return;
    }
    if (sim_more(s, SIM_STALL)) {
        sim_say(s, "Redis stalls");
        sim_redis_away(s, sim_between(s, VQ_NS_PER_MS, 3 * s->term_ns));
    } else if (s->trouble.tail != NULL && sim_more(s, SIM_TAIL)) {
        lose_tail(s);
        sim_redis_away(s, sim_spread(s, VQ_NS_PER_S));
    } else if (sim_more(s, SIM_REDIS_WHOLE)) {
        sim_say(s, "Redis starts again");
        sim_redis_away(s, sim_spread(s, VQ_NS_PER_S / 2));
    }
}

void sim_trouble_start(struct sim *s)
{
    if (!s->coord.redis_away && sim_more(s, SIM_STALL)) {
        sim_say(s, "Redis starts with it, and takes long");
        sim_redis_away(s, sim_between(s, VQ_NS_PER_MS, 2 * s->term_ns));
    }
}

/* ---- machines ---- */

/* Calls over a connection that slept are mostly lost; some of their answers wait in a buffer. */
static void lose_calls(struct sim *s, uint32_t worker)
{
    for (size_t n = 0; n < s->calls_count; n++) {
        struct sim_call *call = &s->calls[n];
        if (call->worker == worker && call->state == CALL_FLYING && call->end == VQ_END_ANSWER &&
            sim_chance(s, 0.5)) {
            call->end = VQ_END_LOST;
        }
    }
}

static void suspend(struct sim *s)
{
    int64_t until_ns = s->now_ns + sim_between(s, s->term_ns / 10, 5 * s->term_ns);
    sim_say(s, "the machine is suspended for %.2f s", (double)(until_ns - s->now_ns) / 1e9);
    for (uint32_t i = 0; i < s->workers_count; i++) {
        if (s->workers[i].work != NULL && s->workers[i].local >= 0) {
            s->workers[i].paused_until_ns = until_ns;
            lose_calls(s, i);
        }
    }
    if (s->coord.core != NULL) {
        sim_coord_pause(s, until_ns);
    }
}

static void jump(struct sim *s)
{
    static const int64_t shifts_s[] = {-86400, -3600, 0, 3600, 86400, 500000000};
    s->trouble.wall_shift_s = shifts_s[sim_between(s, 0, (int64_t)VQ_COUNT(shifts_s) - 1)];
    sim_say(s, "the wall clock jumps: %lld s", (long long)s->trouble.wall_shift_s);
    sim_push(s, s->now_ns + sim_between(s, 0, VQ_NS_PER_S), EV_CLOCK, 0, 0, s->coord.life);
}

static void new_keys(struct sim *s, uint32_t i)
{
    struct sim_worker *w = &s->workers[i];
    uint64_t life = w->life;
    sim_say(s, "worker %u gets new keys", i);
    for (uint32_t p = 0; p < s->pools_count && w->work != NULL && w->life == life; p++) {
        uint64_t fingerprint = 2000 + p;
        w->bad_key[p] = false;
        w->revoked_ns[p] = INT64_MAX;
        struct vq_work_key key = {.pool = p,
                                  .state = VQ_POOL_OPEN,
                                  .keys = &fingerprint,
                                  .keys_count = 1,
                                  .text = vq_span_str("")};
        struct vq_work_event event = {.type = VQ_WORK_KEY, .u.key = &key};
        sim_worker_step(s, i, &event);
    }
}

static void worker_trouble(struct sim *s, uint32_t i)
{
    struct sim_worker *w = &s->workers[i];
    if (w->has_spool && sim_more(s, SIM_SPOOL)) {
        w->spool_full_until_ns = s->now_ns + sim_some_time(s);
        sim_say(s, "the spool of worker %u cannot be written for %.2f s", i,
                (double)(w->spool_full_until_ns - s->now_ns) / 1e9);
    }
    if (w->paused_until_ns <= s->now_ns && vq_work_spec(w->work) != NULL &&
        sim_more(s, SIM_NEW_KEYS)) {
        new_keys(s, i);
    }
}

/* ---- the endpoint ---- */

static void said(struct sim *s, struct sim_call *call)
{
    static const double parts[] = {1, 1, 0.5, 3};
    const struct sim_pool *pool = &s->pools[call->pool_index];
    double a_minute =
        parts[sim_between(s, 0, 3)] * 60.0 * (double)VQ_NS_PER_S / (double)pool->window_ns;
    call->said = (struct vq_rates){.requests = (double)pool->requests * a_minute,
                                   .tokens = (double)pool->tokens * a_minute};
    call->cap = call->end == VQ_END_RATE && sim_chance(s, 0.5) ? pool->concurrency : 0;
    call->organisation = sim_chance(s, 0.5) ? 77 : 0;
}

static void absurd(struct sim *s, struct sim_call *call)
{
    static const int64_t waits_ms[] = {0, 1, INT64_C(1000000000000), INT64_MAX};
    call->retry_after_ms = waits_ms[sim_between(s, 0, 3)];
    call->park_unix_s =
        sim_chance(s, 0.2) ? sim_unix_s(s) - sim_between(s, 1, 100000) : call->park_unix_s;
    if (sim_chance(s, 0.2)) {
        call->parks = true;
        call->retry_after_ms = sim_between(s, 1, 2 * s->term_ns / VQ_NS_PER_MS);
    }
}

void sim_trouble_call(struct sim *s, struct sim_call *call, int64_t *latency_ns)
{
    struct sim_trouble *t = &s->trouble;
    if (call->end == VQ_END_CLOSED) {
        if (sim_more(s, SIM_OTHER_KEY)) {
            call->pool = sim_chance(s, 0.5) ? VQ_POOL_OPEN : VQ_POOL_NO_MODEL;
        }
        return;
    }
    if (s->healed) {
        return;
    }
    if (s->now_ns < t->refuse_until_ns) {
        call->end = VQ_END_RATE;
        call->retry_after_ms = sim_chance(s, 0.5) ? sim_between(s, 0, 3000) : -1;
        call->answer = NULL;
    }
    if (s->now_ns < t->slow_until_ns) {
        *latency_ns = sim_spread(s, t->slow_ns);
        if (*latency_ns > HTTP_NS) { /* its worker waits no longer */
            *latency_ns = HTTP_NS;
            call->end = VQ_END_LOST;
        }
    }
    if (call->end == VQ_END_RATE && sim_more(s, SIM_ABSURD)) {
        absurd(s, call);
    }
    if (call->end != VQ_END_NETWORK && call->end != VQ_END_LOST && sim_more(s, SIM_HEADERS)) {
        said(s, call);
    }
}

static void endpoint_trouble(struct sim *s)
{
    struct sim_trouble *t = &s->trouble;
    if (sim_more(s, SIM_SLOW)) {
        t->slow_ns = sim_between(s, 1, 60) * VQ_NS_PER_S;
        t->slow_until_ns = s->now_ns + sim_some_time(s);
        sim_say(s, "answers take %.0f s now", (double)t->slow_ns / 1e9);
    }
    if (sim_more(s, SIM_REFUSALS)) {
        t->refuse_until_ns = s->now_ns + sim_some_time(s);
        sim_say(s, "everything is refused now");
    }
}

/* ---- all of it ---- */

/* A person tells a worker to leave. */
static void leave(struct sim *s, uint32_t worker)
{
    char name[32];
    uint32_t told = 0, stay = 0;
    (void)snprintf(name, sizeof(name), "w%u", worker);
    enum vq_status status = vq_coord_drain_worker(s->coord.core, name, s->now_ns, &told, &stay);
    if (told > 0 && stay > 0) {
        sim_say(s, "worker %u is told to leave", worker);
        s->workers[worker].leaves_life = s->coord.life + 1;
    }
    sim_coord_told(s, status, "leave");
}

/* A person revokes the key of a worker. */
static void expel(struct sim *s, uint32_t worker)
{
    struct sim_worker *w = &s->workers[worker];
    if (w->work == NULL || w->expelled) {
        return;
    }
    sim_say(s, "the key of worker %u is revoked", worker);
    w->expelled = true;
    struct vq_coord_worker_status status;
    for (uint32_t i = 0; vq_coord_worker_fill(s->coord.core, i, &status); i++) {
        if (status.peer == w->peer) {
            w->expelled_life = s->coord.life + 1;
            w->expelled_session = status.session;
        }
    }
    sim_coord_told(s, vq_coord_expel(s->coord.core, w->peer, "its key was revoked", s->now_ns),
                   "expel");
}

void sim_trouble(struct sim *s)
{
    uint32_t worker;
    redis_trouble(s);
    endpoint_trouble(s);
    if (sim_more(s, SIM_STORM)) {
        storm(s);
    }
    if (s->coord.paused_until_ns <= s->now_ns && sim_more(s, SIM_SUSPEND)) {
        suspend(s);
    }
    if (s->coord.core != NULL && s->coord.paused_until_ns <= s->now_ns && s->stale.core == NULL &&
        sim_more(s, SIM_USURP)) {
        sim_coord_usurp(s, s->now_ns + sim_between(s, 0, 4) * s->term_ns + VQ_NS_PER_MS);
    }
    if (sim_more(s, SIM_JUMP)) {
        jump(s);
    }
    if (sim_pick(s, &worker)) {
        worker_trouble(s, worker);
    }
    if (s->coord.core != NULL && s->coord.paused_until_ns <= s->now_ns && sim_may_spawn(s) &&
        s->workers_count > 0 && sim_more(s, SIM_LEAVE)) {
        leave(s, (uint32_t)vq_rng_below(&s->more, s->workers_count));
    }
    if (s->coord.core != NULL && s->coord.paused_until_ns <= s->now_ns && sim_may_spawn(s) &&
        s->workers_count > 0 && sim_more(s, SIM_EXPEL)) {
        expel(s, (uint32_t)vq_rng_below(&s->more, s->workers_count));
    }
}

void sim_trouble_heal(struct sim *s)
{
    struct sim_trouble *t = &s->trouble;
    for (int f = 0; f < SIM_FAULTS; f++) {
        t->p[f] = 0;
    }
    if (t->wall_shift_s != 0) {
        t->wall_shift_s = 0;
        sim_push(s, s->now_ns + VQ_NS_PER_S, EV_CLOCK, 0, 0, s->coord.life);
    }
    t->slow_until_ns = t->refuse_until_ns = 0;
    for (uint32_t i = 0; i < s->workers_count; i++) {
        s->workers[i].spool_full_until_ns = 0;
    }
}
