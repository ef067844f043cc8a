/* The authority against simulated providers, an hour each: fixed windows, sliding windows and token
 * buckets; random refusals with and without a stated wait; bursts of refusals; limits that halve or
 * double; other users of the account; limits that are unknown; limits on calls in flight. The
 * authority's core decides, the worker's pace core paces and waits; the time is simulated.
 *
 * VQ_PROVIDER_HOURS, VQ_PROVIDER_SEED (this one only), VQ_PROVIDER_ONLY (part of a scene's name),
 * VQ_PROVIDER_SAY (a line each minute) change a run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/rng.h"
#include "coordinator/pools/authority.h"
#include "worker/core/pace.h"

#define MS     INT64_C(1000000)
#define S      (1000 * MS)
#define MINUTE (60 * S)
#define STEP   (25 * MS)
#define STEP_FLYING                                                                                \
    (5 * MS) /* where calls in flight are limited: a slot that is free waits for it */
#define REPORT      (200 * MS)
#define WORKERS     4 /* where the scene does not say */
#define WORKERS_MAX 16
#define CALLS_MAX   512
#define RING        16384
#define HALF_HOUR   (30 * MINUTE)
#define SEEDS       3 /* 1 to 10 hold, but for one: 0.943 five minutes after a limit halved */

enum kind {
    OPEN,
    FIXED,
    SLIDING,
    BUCKET
};

struct scene {
    const char *name;
    enum kind kind;
    double per_minute; /* the true limit */
    double named;      /* a minute; 0: unknown */
    double noise;
    int64_t asked_ms;     /* the wait that a random refusal states */
    uint32_t concurrency; /* the true limit of calls in flight; 0: none */
    int64_t window_s;     /* 0: 60 */
    double burst;         /* share that is refused for the minute at half past */
    double before, after; /* of the limit, until and from half past on; 0: all */
    int64_t others_min;   /* minutes with other users, who take 30 %, and without; 0: none */
    int64_t client_s;   /* another client asks for 30 % each other so long; refusals state a wait */
    bool exact;         /* ... in milliseconds, not in whole seconds */
    int64_t latency_ms; /* 0: 400 */
    uint32_t workers;   /* 0: WORKERS */
    size_t minutes;     /* 0: an hour, or as many as the environment asks */
    uint64_t seeds;     /* 0: SEEDS */
    double least;       /* share of the ideal */
    double refused;     /* above noise, at the most; 0: 0.01 */
};

struct call {
    int64_t start_ns, end_ns, asked_ms;
    bool refused;
};

struct worker {
    struct vq_id id;
    uint64_t granted_n;
    uint32_t limit;
    bool noisy;
    struct vq_rates rates;
    struct vq_gcra pace;
    struct vq_refusals refusals;
    int64_t paused_ns, held_ns, report_ns;
    struct call calls[CALLS_MAX];
    uint32_t calls_count;
    struct vq_pool_report report;
};

struct sim {
    const struct scene *scene;
    struct vq_rng rng;
    struct vq_authority *authority;
    int64_t now_ns, window_ns, step_ns;
    struct worker workers[WORKERS_MAX];
    uint32_t workers_count;
    /* the provider */
    int64_t ring[RING];
    uint32_t ring_from, ring_count;
    int64_t window_began_ns, filled_ns;
    double in_window, tokens, client_due, client_had;
    uint32_t in_flight;
    /* what came of it */
    double accepted[24 * 60], refused[24 * 60], ideal[24 * 60]; /* each minute */
};

static const char *setting(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value == NULL || value[0] == '\0' ? otherwise : value;
}

static double factor(const struct scene *scene, int64_t at_ns)
{
    double by = at_ns < HALF_HOUR ? scene->before : scene->after;
    by = by > 0 ? by : 1;
    bool here = scene->others_min > 0 && (at_ns / (scene->others_min * MINUTE)) % 2 == 1;
    return here ? 0.7 * by : by;
}

static bool bursts(const struct scene *scene, int64_t at_ns)
{
    return scene->burst > 0 && at_ns >= HALF_HOUR && at_ns < HALF_HOUR + MINUTE;
}

/* What the provider takes a minute at the most, by what is named too. */
static double ideal(const struct scene *scene, int64_t at_ns)
{
    double most = scene->kind == OPEN ? INFINITY : scene->per_minute * factor(scene, at_ns);
    most = scene->named > 0 ? fmin(most, scene->named) : most;
    int64_t latency_ms = scene->latency_ms == 0 ? 400 : scene->latency_ms;
    double flying = scene->concurrency == 0
                        ? (double)INFINITY
                        : (double)scene->concurrency * 60000 / (double)latency_ms;
    return fmin(most, flying);
}

static bool is_full(struct sim *s, int64_t at_ns)
{
    const struct scene *scene = s->scene;
    double by = factor(scene, at_ns);
    double limit = scene->per_minute * by * (double)s->window_ns / (double)MINUTE;
    switch (scene->kind) {
    case OPEN: return false;
    case FIXED:
        if (at_ns - s->window_began_ns >= s->window_ns) {
            s->window_began_ns += (at_ns - s->window_began_ns) / s->window_ns * s->window_ns;
            s->in_window = 0;
        }
        return s->in_window + 1 > limit;
    case SLIDING:
        while (s->ring_count > 0 && s->ring[s->ring_from] <= at_ns - s->window_ns) {
            s->ring_from = (s->ring_from + 1) % RING;
            s->ring_count--;
        }
        return s->ring_count + 1 > limit;
    case BUCKET:
        s->tokens = fmin(s->tokens + (double)(at_ns - s->filled_ns) * limit / (double)s->window_ns,
                         fmax(limit / 10, 1));
        s->filled_ns = at_ns;
        return s->tokens < 1;
    }
    return false;
}

static void take(struct sim *s, int64_t at_ns)
{
    s->in_window++;
    s->tokens--;
    assert_true(s->ring_count < RING);
    s->ring[(s->ring_from + s->ring_count++) % RING] = at_ns;
    if (s->scene->kind != SLIDING) {
        s->ring_count = 0;
    }
}

/* The other client of the account: at its own pace, whatever it is answered. */
static void client(struct sim *s)
{
    const struct scene *scene = s->scene;
    if (scene->client_s == 0 || (s->now_ns / (scene->client_s * S)) % 2 == 0) {
        return;
    }
    s->client_due += 0.3 * scene->per_minute * (double)s->step_ns / (double)MINUTE;
    while (s->client_due >= 1) {
        s->client_due -= 1;
        if (!is_full(s, s->now_ns)) {
            take(s, s->now_ns);
            s->client_had++;
        }
    }
}

static bool refuses(struct sim *s, int64_t at_ns, struct call *call)
{
    const struct scene *scene = s->scene;
    if (vq_rng_unit(&s->rng) < (bursts(scene, at_ns) ? scene->burst : scene->noise)) {
        call->asked_ms = scene->asked_ms;
        return true;
    }
    if (scene->concurrency != 0 && s->in_flight >= scene->concurrency) {
        return true;
    }
    if (is_full(s, at_ns)) {
        if (scene->client_s > 0) {
            int64_t free_ns = scene->kind == SLIDING ? s->ring[s->ring_from] : s->window_began_ns;
            int64_t wait_ns = free_ns + s->window_ns - at_ns;
            call->asked_ms = scene->exact ? wait_ns / MS + 1 : (wait_ns / S + 1) * 1000;
        }
        return true;
    }
    take(s, at_ns);
    s->in_flight++;
    return false;
}

/* ---- workers ---- */

static void send(struct sim *s, struct worker *k, int64_t at_ns)
{
    const struct scene *scene = s->scene;
    struct call *call = &k->calls[k->calls_count++];
    *call = (struct call){.start_ns = at_ns};
    vq_gcra_spend(&k->pace, 1, at_ns);
    call->refused = refuses(s, at_ns + 5 * MS, call);
    double latency = (double)(scene->latency_ms == 0 ? 400 : scene->latency_ms) * (double)MS;
    call->end_ns =
        at_ns + (call->refused ? 30 * MS : (int64_t)(latency * (0.5 + vq_rng_unit(&s->rng))));
    k->report.requests++;
    k->report.in_flight++;
    size_t minute = (size_t)(at_ns / MINUTE);
    *(call->refused ? &s->refused[minute] : &s->accepted[minute]) += 1;
}

static void ended(struct sim *s, struct worker *k, const struct call *call)
{
    struct vq_pause_bounds bounds = vq_refusal_bounds(&k->rates, s->window_ns / MS);
    k->report.in_flight--;
    if (!call->refused) {
        s->in_flight--;
        k->report.answered++;
        vq_refusals_over(&k->refusals, call->start_ns);
        return;
    }
    k->report.refused++;
    k->report.timed += call->asked_ms > 0;
    struct vq_refusal_wait wait = vq_refusal(&k->refusals, &s->rng, k->noisy, call->start_ns,
                                             call->asked_ms, s->now_ns, &bounds);
    if (wait.pool_ms > 0) {
        int64_t until_ns = s->now_ns + wait.pool_ms * MS;
        k->paused_ns = until_ns > k->paused_ns ? until_ns : k->paused_ns;
        k->report_ns = s->now_ns;
    }
}

static void work(struct sim *s, struct worker *k)
{
    for (uint32_t i = k->calls_count; i > 0; i--) {
        if (k->calls[i - 1].end_ns <= s->now_ns) {
            struct call call = k->calls[i - 1];
            k->calls[i - 1] = k->calls[--k->calls_count];
            ended(s, k, &call);
        }
    }
    int64_t from_ns = k->held_ns > k->paused_ns ? k->held_ns : k->paused_ns;
    from_ns = from_ns > s->now_ns ? from_ns : s->now_ns;
    bool doubtful = vq_refusals_doubt(&k->refusals, k->noisy);
    uint32_t limit = doubtful && k->limit > 1 ? 1 : k->limit;
    while (k->calls_count < limit && k->calls_count < CALLS_MAX) {
        int64_t at_ns = vq_gcra_when(&k->pace, 1, from_ns);
        if (at_ns >= s->now_ns + s->step_ns) {
            break;
        }
        send(s, k, at_ns);
    }
}

static void report(struct sim *s, struct worker *k)
{
    k->report_ns = s->now_ns + REPORT;
    int64_t left_ns = k->paused_ns - s->now_ns;
    k->report.pause_ms = left_ns > 0 ? (uint32_t)(left_ns / MS) : 0;
    k->report.waiting = 50;
    struct vq_msg_credit credit = {
        .granted_n = k->granted_n, .reports = &k->report, .reports_count = 1};
    assert_int_equal(vq_authority_report(s->authority, &k->id, &credit, s->now_ns), VQ_OK);
}

static void grant(struct sim *s, struct worker *k)
{
    static struct vq_slice slices[VQ_AUTHORITY_POOLS_MAX];
    struct vq_msg_grant grant;
    vq_authority_grant(s->authority, &k->id, s->now_ns, slices, &grant);
    k->granted_n = grant.n;
    bool had = k->limit > 0;
    k->limit = grant.slices_count == 0 ? 0 : slices[0].concurrency;
    k->report_ns = s->now_ns;
    if (grant.slices_count == 0) {
        return;
    }
    k->noisy = slices[0].noisy;
    k->rates = slices[0].rates;
    k->held_ns = s->now_ns + slices[0].pause_ms * MS;
    if (had) {
        vq_gcra_set(&k->pace, slices[0].rates.requests, s->now_ns);
    } else {
        vq_gcra_begin(&k->pace, slices[0].rates.requests, 10 * MS, s->now_ns);
    }
}

static void begin(struct sim *s, const struct scene *scene, uint64_t seed)
{
    memset(s, 0, sizeof(*s));
    s->scene = scene;
    s->window_ns = (scene->window_s == 0 ? 60 : scene->window_s) * S;
    s->step_ns = scene->concurrency == 0 ? STEP : STEP_FLYING;
    s->now_ns = s->step_ns;
    vq_rng_seed(&s->rng, seed);
    struct vq_authority_pool pool = {.name = "p",
                                     .limit.rates = {.requests = scene->named},
                                     .window_ms = (uint32_t)(s->window_ns / MS)};
    struct vq_authority_params params = {
        .pools = &pool, .pools_count = 1, .term_ns = 10 * S, .budget_nano = VQ_AMOUNT_ANY};
    assert_int_equal(vq_authority_create(&params, s->now_ns, &s->authority, NULL), VQ_OK);
    s->workers_count = scene->workers == 0 ? WORKERS : scene->workers;
    for (uint32_t i = 0; i < s->workers_count; i++) {
        struct worker *k = &s->workers[i];
        k->id.b[0] = (uint8_t)(i + 1);
        k->refusals.cut_ns = INT64_MIN;
        k->report_ns = s->now_ns + i * REPORT / s->workers_count;
        assert_int_equal(vq_authority_join(s->authority, &k->id, true, false, s->now_ns), VQ_OK);
    }
}

static void say(const struct sim *s, size_t minute)
{
    struct vq_authority_pool_status status;
    vq_authority_status(s->authority, 0, s->now_ns, &status);
    print_message("    %4zu: %6.0f accepted, %5.0f refused, ideal %6.0f; rate %6.0f, level %4u, "
                  "%s, noise %.4f, tries %d\n",
                  minute, s->accepted[minute], s->refused[minute], s->ideal[minute],
                  status.limit.rates.requests, status.limit.concurrency,
                  s->workers[0].noisy ? "noisy" : "quiet", status.noise, (int)status.tries);
}

static void play(struct sim *s, size_t minutes, bool says)
{
    for (size_t minute = 0; minute < minutes;) {
        double had = s->client_had;
        client(s);
        s->ideal[minute] +=
            ideal(s->scene, s->now_ns) / (double)(MINUTE / s->step_ns) - (s->client_had - had);
        for (uint32_t i = 0; i < s->workers_count; i++) {
            struct worker *k = &s->workers[i];
            work(s, k);
            if (s->now_ns >= k->report_ns) {
                report(s, k);
            }
        }
        if (vq_authority_wake_ns(s->authority) <= s->now_ns) {
            vq_authority_tick(s->authority, s->now_ns);
        }
        for (uint32_t i = 0; i < s->workers_count; i++) {
            if (vq_authority_due(s->authority, &s->workers[i].id)) {
                grant(s, &s->workers[i]);
            }
        }
        s->now_ns += s->step_ns;
        if ((size_t)(s->now_ns / MINUTE) > minute) {
            if (says) {
                say(s, minute);
            }
            minute++;
        }
    }
}

/* ---- what came of it ---- */

static double share(const struct sim *s, size_t from, size_t to)
{
    double accepted = 0, most = 0;
    for (size_t m = from; m < to; m++) {
        accepted += s->accepted[m];
        most += s->ideal[m];
    }
    return accepted / most;
}

/* Refusals that are neither random nor of a burst, of all calls. */
static double above_noise(const struct sim *s, size_t minutes)
{
    double refused = 0, all = 0;
    for (size_t m = 0; m < minutes; m++) {
        if (!bursts(s->scene, (int64_t)m * MINUTE)) {
            refused += s->refused[m] - s->scene->noise * (s->refused[m] + s->accepted[m]);
            all += s->refused[m] + s->accepted[m];
        }
    }
    return refused / all;
}

static bool disturbed(const struct scene *scene)
{
    return scene->burst > 0 || scene->before > 0 || scene->after > 0;
}

static bool is_good(const struct scene *scene, uint64_t seed, size_t minutes)
{
    static struct sim s;
    begin(&s, scene, seed);
    play(&s, minutes, setting("VQ_PROVIDER_SAY", "")[0] != '\0');
    double all = share(&s, 0, minutes), refused = above_noise(&s, minutes);
    double back = disturbed(scene) ? share(&s, 35, 40) : 1;
    bool good = all >= scene->least && refused <= (scene->refused > 0 ? scene->refused : 0.01) &&
                back >= 0.95;
    print_message("%-50s %.3f of the ideal, %+.4f refused above noise, %.3f after 5 minutes%s\n",
                  scene->name, all, refused, back, good ? "" : "   MISSED");
    vq_authority_destroy(&s.authority);
    return good;
}

static void run(const struct scene *scenes, size_t count)
{
    const char *only = setting("VQ_PROVIDER_ONLY", "");
    double hours = strtod(setting("VQ_PROVIDER_HOURS", "1"), NULL);
    uint64_t only_seed = strtoull(setting("VQ_PROVIDER_SEED", "0"), NULL, 10);
    size_t minutes = (size_t)fmin(fmax(hours * 60, 60), 24 * 60 - 1), missed = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t seeds = scenes[i].seeds > 0 ? scenes[i].seeds : SEEDS;
        uint64_t first = only_seed > 0 ? only_seed : 1, last = only_seed > 0 ? only_seed : seeds;
        for (uint64_t seed = first; seed <= last && strstr(scenes[i].name, only) != NULL; seed++) {
            missed +=
                !is_good(&scenes[i], seed, scenes[i].minutes > 0 ? scenes[i].minutes : minutes);
        }
    }
    assert_int_equal(missed, 0);
}

#define LIMIT .per_minute = 3600
#define NAMED .per_minute = 3600, .named = 3600
#define NOISES(title, ...)                                                                         \
    {title ", no refusals", __VA_ARGS__, .least = 0.95},                                           \
        {title ", 0.1 % at random", __VA_ARGS__, .noise = 0.001, .least = 0.95},                   \
        {title ", 1 % at random", __VA_ARGS__, .noise = 0.01, .least = 0.95},                      \
        {title ", 1 % stating 1 s", __VA_ARGS__, .noise = 0.01, .asked_ms = 1000, .least = 0.95},  \
        {title ", 5 % at random", __VA_ARGS__, .noise = 0.05, .least = 0.85},                      \
    {                                                                                              \
        title ", 20 % at random", __VA_ARGS__, .noise = 0.2, .least = 0.67, .seeds = 20            \
    }

static void random_refusals_do_not_lower_a_named_limit(void **state)
{
    (void)state;
    const struct scene scenes[] = {
        NOISES("named, fixed windows", .kind = FIXED, NAMED),
        NOISES("named, sliding windows", .kind = SLIDING, NAMED),
        NOISES("named, buckets", .kind = BUCKET, NAMED),
        NOISES("named, windows of 10 s", .kind = SLIDING, NAMED, .window_s = 10),
        {"named 300, 1 % at random", SLIDING, 300, 300, 0.01, .least = 0.95},
        {"named 300, 5 % stating 1 s", SLIDING, 300, 300, 0.05, 1000, .least = 0.85},
        {"named, 5 % stating 1 s", SLIDING, NAMED, .noise = 0.05, .asked_ms = 1000, .least = 0.85},
        {"named, long answers, 1 %", SLIDING, NAMED, .noise = 0.01, .latency_ms = 4000,
         .least = 0.95},
    };
    run(scenes, VQ_COUNT(scenes));
}

static void disturbances_pass(void **state)
{
    (void)state;
    const struct scene scenes[] = {
        {"burst, half refused", SLIDING, NAMED, .burst = 0.5, .least = 0.95},
        {"burst, all refused", SLIDING, NAMED, .burst = 1, .least = 0.95},
        {"burst, 30 % refused", SLIDING, NAMED, .burst = 0.3, .least = 0.95},
        {"burst, half refused, 1 %", SLIDING, NAMED, .noise = 0.01, .burst = 0.5, .least = 0.95},
        {"burst, half refused, 10 s", SLIDING, NAMED, .window_s = 10, .burst = 0.5, .least = 0.95},
        {"halves, fixed", FIXED, NAMED, .after = 0.5, .least = 0.95},
        {"halves, sliding", SLIDING, NAMED, .after = 0.5, .least = 0.95},
        {"halves, buckets", BUCKET, NAMED, .after = 0.5, .least = 0.95},
        {"halves, sliding, 1 %", SLIDING, NAMED, .noise = 0.01, .after = 0.5, .least = 0.95},
        {"doubles, fixed", FIXED, NAMED, .before = 0.5, .least = 0.95},
        {"doubles, sliding", SLIDING, NAMED, .before = 0.5, .least = 0.95},
        {"doubles, sliding, 1 %", SLIDING, NAMED, .noise = 0.01, .before = 0.5, .least = 0.94},
        {"doubles, unknown", SLIDING, LIMIT, .before = 0.5, .least = 0.92},
        {"others for 10 minutes, fixed", FIXED, NAMED, .others_min = 10, .minutes = 240,
         .least = 0.95},
        {"others for 10 minutes, sliding", SLIDING, NAMED, .others_min = 10, .minutes = 240,
         .least = 0.95},
        {"others for 10 minutes, sliding, 1 %", SLIDING, NAMED, .noise = 0.01, .others_min = 10,
         .minutes = 240, .least = 0.95},
        {"others for 30 minutes, fixed", FIXED, NAMED, .others_min = 30, .minutes = 240,
         .least = 0.95},
        {"others for 30 minutes, sliding", SLIDING, NAMED, .others_min = 30, .minutes = 240,
         .least = 0.95},
        {"others for 30 minutes, sliding, 1 %", SLIDING, NAMED, .noise = 0.01, .others_min = 30,
         .minutes = 240, .least = 0.95},
    };
    run(scenes, VQ_COUNT(scenes));
}

static void unknown_limits_are_found(void **state)
{
    (void)state;
    const struct scene scenes[] = {
        /* where nobody names a limit, finding it costs refusals: up to 1.4 % of the first hour */
        {"unknown, fixed windows", FIXED, LIMIT, .least = 0.95},
        {"unknown, sliding windows", SLIDING, LIMIT, .least = 0.95},
        {"unknown, buckets", BUCKET, LIMIT, .least = 0.95, .refused = 0.014},
        {"unknown, windows of 10 s", SLIDING, LIMIT, .window_s = 10, .least = 0.95},
        {"unknown, sliding, 1 %", SLIDING, LIMIT, .noise = 0.01, .least = 0.95, .refused = 0.014},
        {"unknown, long answers", SLIDING, LIMIT, .latency_ms = 4000, .least = 0.86,
         .refused = 0.014},
        {"unknown, long answers, 1 %", SLIDING, LIMIT, .noise = 0.01, .latency_ms = 4000,
         .least = 0.86, .refused = 0.014},
        {"twice the truth, sliding", SLIDING, 1800, 3600, .least = 0.95},
        {"twice the truth, buckets", BUCKET, 1800, 3600, .least = 0.95, .refused = 0.016},
        {"in flight 24, unknown", OPEN, .concurrency = 24, .least = 0.95},
        {"in flight 3, unknown", OPEN, .concurrency = 3, .least = 0.95},
        {"in flight 24, 1 %", OPEN, .concurrency = 24, .noise = 0.01, .least = 0.92},
        {"in flight 12, named", SLIDING, NAMED, .concurrency = 12, .least = 0.93},
    };
    run(scenes, VQ_COUNT(scenes));
}

/* As `make conformance` measures, from the first call on: what is learned is learned within it. */
static void short_runs_learn_soon(void **state)
{
    (void)state;
#define SHORT .per_minute = 3000, .window_s = 10, .latency_ms = 125, .workers = 16
    const struct scene scenes[] = {
        {"short, 1 %", SLIDING, SHORT, .named = 3000, .noise = 0.01, .minutes = 1, .least = 0.93},
        {"short, fixed, 1 %", FIXED, SHORT, .named = 3000, .noise = 0.01, .minutes = 1,
         .least = 0.93},
        {"short, client each 20 s", SLIDING, SHORT, .named = 3000, .client_s = 20, .minutes = 1,
         .least = 0.93, .refused = 0.03},
        /* 3 % of all calls in `make conformance`, where three pools of eight are shared */
        {"short, client each 20 s, exact", SLIDING, SHORT, .named = 3000, .client_s = 20,
         .exact = true, .minutes = 1, .least = 0.93, .refused = 0.08},
        {"short, client each 20 s, fixed", FIXED, SHORT, .named = 3000, .client_s = 20,
         .minutes = 1, .least = 0.93, .refused = 0.03},
        {"short, unknown, fixed", FIXED, SHORT, .minutes = 3, .least = 0.9, .refused = 0.05},
        {"short, unknown, sliding", SLIDING, SHORT, .minutes = 3, .least = 0.88, .refused = 0.025},
        {"short, unknown, buckets", BUCKET, SHORT, .minutes = 3, .least = 0.9, .refused = 0.025},
        {"short, unknown, 1 minute", SLIDING, SHORT, .minutes = 1, .least = 0.8, .refused = 0.06},
    };
    run(scenes, VQ_COUNT(scenes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_refusals_do_not_lower_a_named_limit),
        cmocka_unit_test(disturbances_pass),
        cmocka_unit_test(unknown_limits_are_found),
        cmocka_unit_test(short_runs_learn_soon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
