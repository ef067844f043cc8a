/* No window over its limit, whatever happens: random limits, units, workers, joins, crashes that
 * are known and that are not, GRANTs and CREDITs that are late or lost, coordinators that stall and
 * restart. Every window is summed up from the exact times of arrival. Then: what is used of a limit
 * when there is work enough. VQ_AUTHORITY_CASES sets the number of cases. */
#include "tests/unit/coordinator/pools/authority_world.h"

#define CASES 3000

static double between(struct vq_rng *rng, double low, double high)
{
    return low + (high - low) * vq_rng_unit(rng);
}

static bool chance(struct world *w, double p)
{
    return vq_rng_unit(&w->rng) < p;
}

/* Limits in windows of units: from less than two of them to thousands. */
static void random_limits(struct world *w)
{
    w->unit[VQ_RATE_REQUESTS] = 1;
    w->unit[VQ_RATE_INPUT] = floor(between(&w->rng, 10, 3000));
    w->unit[VQ_RATE_OUTPUT] = floor(between(&w->rng, 1, 500));
    w->unit[VQ_RATE_TOKENS] = w->unit[VQ_RATE_INPUT] + w->unit[VQ_RATE_OUTPUT];
    unsigned which = 1 + (unsigned)vq_rng_below(&w->rng, 15);
    double minutes = (double)w->window_ns / 60e9;
    for (uint32_t p = 0; p < w->pools_count; p++) {
        struct vq_authority_pool *pool = &w->pools[p];
        double units = exp(between(&w->rng, log(1.01), log(600)));
        for (unsigned r = 0; r < VQ_RATE__COUNT; r++) {
            double limit = w->unit[r] * units * between(&w->rng, 1, 1.5);
            limit = r == VQ_RATE_REQUESTS ? floor(limit) : limit;
            if (which & (1u << r)) {
                pool->limit.rates.of[r] = limit / minutes;
            }
        }
    }
}

static void random_world(struct world *w, uint64_t seed)
{
    memset(w, 0, sizeof(*w));
    vq_rng_seed(&w->rng, seed);
    w->now_ns = 1 + (int64_t)vq_rng_below(&w->rng, 1000000000);
    w->window_ns = (500 + (int64_t)vq_rng_below(&w->rng, 1500)) * WORLD_MS;
    w->jitter_ns = chance(w, 0.5) ? w->window_ns / 100
                                  : (int64_t)(between(&w->rng, 0.001, 0.05) * (double)w->window_ns);
    w->params.term_ns = (400 + (int64_t)vq_rng_below(&w->rng, 2000)) * WORLD_MS;
    w->delay_ns = (int64_t)vq_rng_below(&w->rng, chance(w, 0.2) ? 900 : 120) * WORLD_MS;
    w->latency_ns = (int64_t)vq_rng_below(&w->rng, (uint64_t)w->params.term_ns / 3);
    w->lost = chance(w, 0.5) ? 0 : between(&w->rng, 0, 0.2);
    w->even = chance(w, 0.2);
    w->pools_count = 1 + (uint32_t)vq_rng_below(&w->rng, 2);
    w->workers_count = chance(w, 0.3) ? 1 + (uint32_t)vq_rng_below(&w->rng, 2)
                                      : 1 + (uint32_t)vq_rng_below(&w->rng, WORLD_WORKERS);
    for (uint32_t p = 0; p < w->pools_count; p++) {
        w->pools[p] = (struct vq_authority_pool){
            .name = p == 0 ? "one" : "two",
            .window_ms = (uint32_t)(w->window_ns / WORLD_MS),
            .limit.concurrency = chance(w, 0.5) ? 200 : 1 + (uint32_t)vq_rng_below(&w->rng, 20)};
    }
    random_limits(w);
    world_authority(w, false);
}

/* Something happens to somebody. After a silent end calls may be at the provider yet that nobody
 * counts: `rough`. */
static void mishap(struct world *w)
{
    struct world_worker *k = &w->workers[vq_rng_below(&w->rng, w->workers_count)];
    int64_t for_ns = (int64_t)(between(&w->rng, 0.05, 2) * (double)w->params.term_ns);
    if (!k->alive && !k->known) {
        world_start(w, k);
        return;
    }
    uint64_t what = k->alive ? vq_rng_below(&w->rng, 9) : 9;
    w->rough = w->rough || what == 1 || what == 3 || what == 4;
    switch (what) {
    case 0: world_crash(w, k, true); break;
    case 1: world_crash(w, k, false); break;
    case 2: k->leaving = true; break;
    case 3: k->silent_ns = w->now_ns + for_ns; break;
    case 4: k->stopped_ns = w->now_ns + for_ns; break;
    case 5: world_hello(w, k); break;
    case 6:
    case 7:
        for (uint32_t p = 0; p < w->pools_count; p++) {
            k->uses[p].wants = chance(w, 0.6);
        }
        break;
    case 8:
        if (chance(w, 0.3)) {
            w->stalled_ns = w->now_ns + for_ns;
            w->rough = true;
            w->restart_ns = chance(w, 0.5) ? w->stalled_ns : 0;
        } else if (chance(w, 0.5)) { /* all but one go at once */
            for (uint32_t i = 0; i < w->workers_count; i++) {
                if (&w->workers[i] != k && w->workers[i].alive) {
                    world_crash(w, &w->workers[i], true);
                }
            }
        }
        break;
    default: break;
    }
}

static void check_case(struct world *w, uint64_t seed)
{
    for (uint32_t p = 0; p < w->pools_count; p++) {
        for (unsigned r = 0; r < VQ_RATE__COUNT; r++) {
            double limit = w->pools[p].limit.rates.of[r] * (double)w->window_ns / 60e9;
            double most = limit > 0 ? world_fullest(w, p, (enum vq_rate)r) : 0;
            if (most > limit * (1 + 1e-9)) {
                fail_msg("case %llu: a window of pool %u, rate %u had %.3f of %.3f",
                         (unsigned long long)seed, p, r, most, limit);
            }
        }
        uint32_t crowd = w->rough || w->lost > 0 ? 0 : world_crowd(w, p);
        if (crowd > w->pools[p].limit.concurrency) {
            fail_msg("case %llu: pool %u had %u calls at once, not %u", (unsigned long long)seed, p,
                     crowd, w->pools[p].limit.concurrency);
        }
    }
}

static uint64_t cases(void)
{
    const char *text = getenv("VQ_AUTHORITY_CASES");
    return text == NULL ? CASES : strtoull(text, NULL, 10);
}

static void no_window_is_over_its_limit(void **state)
{
    (void)state;
    static struct world w;
    const char *first = getenv("VQ_AUTHORITY_FIRST");
    uint64_t from = first == NULL ? 1 : strtoull(first, NULL, 10);
    size_t sent = 0;
    for (uint64_t seed = from; seed < from + cases(); seed++) {
        random_world(&w, seed);
        double mishaps = chance(&w, 0.2) ? 0 : between(&w.rng, 0, 0.03); /* each step */
        for (uint32_t i = 0; i < w.workers_count; i++) {
            if (chance(&w, 0.7)) {
                world_start(&w, &w.workers[i]);
            }
        }
        int64_t end_ns = w.now_ns + 3 * w.window_ns + w.params.term_ns;
        while (w.now_ns < end_ns) {
            if (w.restart_ns != 0 && w.now_ns >= w.restart_ns) {
                w.restart_ns = 0;
                world_authority(&w, true);
            }
            if (chance(&w, mishaps)) {
                mishap(&w);
            }
            world_step(&w);
        }
        check_case(&w, seed);
        sent += w.logs[0].count + w.logs[1].count;
        world_end(&w);
    }
    print_message("%llu cases, %zu requests\n", (unsigned long long)cases(), sent);
}

/* ---- what is used ---- */

struct plan {
    uint32_t pools, workers;
    double units;     /* requests a window */
    int64_t crash_ns; /* each so often; 0: never */
    int64_t windows;
};

/* The least part of its limit that a pool used, from the second window on. */
static double used_part(const struct plan *plan, uint64_t seed)
{
    static struct world w;
    memset(&w, 0, sizeof(w));
    vq_rng_seed(&w.rng, seed);
    w.now_ns = 1;
    w.window_ns = 10000 * WORLD_MS;
    w.jitter_ns = 50 * WORLD_MS;
    w.delay_ns = 4 * WORLD_MS;
    w.latency_ns = 300 * WORLD_MS;
    w.params.term_ns = 6000 * WORLD_MS;
    w.pools_count = plan->pools;
    w.workers_count = plan->workers;
    w.unit[VQ_RATE_INPUT] = 1000;
    w.unit[VQ_RATE_OUTPUT] = 100;
    w.unit[VQ_RATE_TOKENS] = 1100;
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    for (uint32_t p = 0; p < w.pools_count; p++) {
        w.pools[p] = (struct vq_authority_pool){
            .name = names[p], .window_ms = 10000, .limit.rates.requests = plan->units * 6};
    }
    world_authority(&w, false);
    for (uint32_t i = 0; i < w.workers_count; i++) {
        world_start(&w, &w.workers[i]);
    }
    int64_t begin_ns = w.now_ns + 2 * w.window_ns, end_ns = begin_ns + plan->windows * w.window_ns;
    int64_t crash_ns = plan->crash_ns;
    while (w.now_ns < end_ns) {
        if (plan->crash_ns != 0 && w.now_ns >= crash_ns) {
            crash_ns += plan->crash_ns;
            struct world_worker *k = &w.workers[vq_rng_below(&w.rng, w.workers_count)];
            if (k->alive) {
                world_crash(&w, k, chance(&w, 0.5));
            }
        }
        for (uint32_t i = 0; i < w.workers_count; i++) {
            struct world_worker *k = &w.workers[i];
            if (!k->alive && !k->known) {
                world_start(&w, k);
            }
        }
        world_step(&w);
    }
    double least = 1;
    for (uint32_t p = 0; p < w.pools_count; p++) {
        assert_true(world_fullest(&w, p, VQ_RATE_REQUESTS) <= plan->units);
        double used = world_used(&w, p, VQ_RATE_REQUESTS, begin_ns, end_ns, false);
        least = fmin(least, used / (double)plan->windows / plan->units);
    }
    world_end(&w);
    return least;
}

static void a_limit_is_used_to_the_full(void **state)
{
    (void)state;
    const struct plan plans[] = {{1, 1, 500, 0, 6},  {1, 16, 500, 0, 6},  {8, 16, 500, 0, 4},
                                 {1, 4, 2000, 0, 4}, {8, 16, 2000, 0, 4}, {1, 16, 2000, 0, 4}};
    for (size_t i = 0; i < VQ_COUNT(plans); i++) {
        double part = used_part(&plans[i], 1 + i);
        print_message("%u pools, %u workers, %.0f units: %.4f\n", plans[i].pools, plans[i].workers,
                      plans[i].units, part);
        /* what may be held back: a unit for each slice and one more, and jitter */
        double back = 50.0 / 10000;
        back += (plans[i].pools == 1 ? plans[i].workers + 1.0 : 3.0) / plans[i].units;
        assert_true(part >=
                    (plans[i].units < 2000 ? 0.95 : 0.99 - (back > 0.01 ? back - 0.005 : 0)));
    }
}

static void a_crash_a_minute_costs_little(void **state)
{
    (void)state;
    const struct plan plans[] = {{1, 4, 500, 60000 * WORLD_MS, 24},
                                 {2, 4, 500, 60000 * WORLD_MS, 24}};
    for (size_t i = 0; i < VQ_COUNT(plans); i++) {
        double part = used_part(&plans[i], 11 + i);
        print_message("%u pools, %u workers, a crash a minute: %.4f\n", plans[i].pools,
                      plans[i].workers, part);
        assert_true(part >= 0.8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_window_is_over_its_limit),
        cmocka_unit_test(a_limit_is_used_to_the_full),
        cmocka_unit_test(a_crash_a_minute_costs_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
