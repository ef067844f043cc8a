/* Calls whose prompts begin alike: one leads, the others follow to its pool. */
#include "rig.h"

#include "common/base/rng.h"

static struct rig rig;

static int teardown(void **state)
{
    (void)state;
    vq_work_destroy(&rig.w);
    return 0;
}

/* One judge. */
static void begin(uint32_t pools, uint32_t axes, enum vq_prefix_cache prefix_cache)
{
    rig_init(&rig, 1, axes);
    rig.pools = pools;
    rig.serves[0] = (1u << pools) - 1;
    rig.prefix_cache = prefix_cache;
    rig_create(&rig, (struct vq_work_options){.local = 0});
}

static void live(int64_t ms)
{
    for (int64_t t = 0; t < ms; t += 100) {
        rig_wait(&rig, 100);
        if (rig.sent[VQ_MSG_HEARTBEAT] > 0) {
            rig_echo(&rig);
        }
    }
}

static uint32_t calls_on(uint32_t pool)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < rig.calls_count; i++) {
        count += rig.calls[i].pool == pool ? 1 : 0;
    }
    return count;
}

static uint32_t find_order(uint32_t order)
{
    uint32_t i = 0;
    while (i < rig.calls_count && rig.calls[i].order != order) {
        i++;
    }
    assert_true(i < rig.calls_count);
    return i;
}

TEST_WITH(test_one_leads_and_the_others_follow, NULL, teardown)
{
    begin(1, 8, VQ_PREFIX_ON);
    rig_open(&rig, 100);
    rig_lease(&rig, 0, 1, false);
    assert_int_equal(rig.calls_count, 2); /* one in each order */
    assert_int_not_equal(rig.calls[0].order, rig.calls[1].order);
    rig_lease(&rig, 1, 2, false); /* others are not kept waiting */
    assert_int_equal(rig.calls_count, 4);
    assert_int_equal(rig.calls[2].shard, 1);
    rig_wait(&rig, 300);
    assert_int_equal(rig.reports[0].waiting, 28); /* they will be wanted at once */
    uint32_t order = rig.calls[0].order;
    rig_answer(&rig, 0, "Model: A");
    assert_int_equal(rig.calls_count, 3 + 7);
    for (uint32_t i = 3; i < 10; i++) {
        assert_int_equal(rig.calls[i].shard, 0);
        assert_int_equal(rig.calls[i].order, order);
    }
    rig_answer(&rig, 0, "Model: A");
    assert_int_equal(rig.calls_count, 2 + 7 + 7);
    live(10000); /* that of the other sample is silent: theirs go after a while, and only then */
    assert_int_equal(rig.calls_count, 32 - 2);
    assert_int_equal(rig.calls_ever, 32);
}

TEST_WITH(test_a_silent_leader_holds_nobody_for_long, NULL, teardown)
{
    begin(1, 8, VQ_PREFIX_ON);
    rig_open(&rig, 100);
    rig_lease(&rig, 0, 1, false);
    rig_wait(&rig, VQ_WORK_FRONT_MS - 100);
    assert_int_equal(rig.calls_count, 2);
    rig_wait(&rig, 200);
    assert_int_equal(rig.calls_count, 16);
    rig_answer(&rig, 0, "Model: A"); /* too late to matter */
    assert_int_equal(rig.calls_count, 15);
}

TEST_WITH(test_a_slow_pools_leader_is_waited_for_longer, NULL, teardown)
{
    begin(1, 8, VQ_PREFIX_ON);
    rig_open(&rig, 100);
    rig_lease(&rig, 0, 1, false);
    rig_end(&rig, 0,
            (struct vq_work_reply){.end = VQ_END_ANSWER,
                                   .retry_after_ms = -1,
                                   .latency_ms = 3000,
                                   .answer = vq_span_str("Model: A")});
    rig_lease(&rig, 1, 2, false);
    uint32_t calls = rig.calls_count;
    /* of the first sample the other order goes on at 2 s: it began when nothing was known */
    live(4000);
    assert_int_equal(rig.calls_count, calls + 7);
    live(2500);
    assert_int_equal(rig.calls_count, calls + 7 + 14);
}

TEST_WITH(test_who_follows_a_failed_leader_leads, NULL, teardown)
{
    static const enum vq_call_end ends[] = {VQ_END_PROVIDER, VQ_END_NETWORK, VQ_END_BAD_REQUEST,
                                            VQ_END_LOST};
    begin(1, 8, VQ_PREFIX_ON);
    rig_open(&rig, 100);
    rig_lease(&rig, 0, 1, false);
    for (size_t i = 0; i < VQ_COUNT(ends); i++) {
        uint32_t at = find_order(1);
        uint64_t task = rig.calls[at].task;
        rig_fail(&rig, at, ends[i], -1);
        assert_int_equal(rig.calls_count, 2); /* one again */
        assert_int_not_equal(rig.calls[find_order(1)].task, task);
    }
    rig_answer(&rig, find_order(1), "Model: A");
    assert_int_equal(rig.calls_count, 1 + 3); /* those that failed back off yet */
    live(10000);
    assert_int_equal(rig_stats(&rig).asks_open, 16);
    assert_int_equal(rig.calls_count, 16 - 1 - 1); /* all but the answered and the refused one */
}

TEST_WITH(test_only_where_the_front_is_long, NULL, teardown)
{
    static const struct {
        enum vq_prefix_cache prefix_cache;
        size_t bytes;
        uint32_t axes;
        bool leads;
    } cases[] = {{VQ_PREFIX_AUTO, 100, 4, false}, {VQ_PREFIX_AUTO, 3000, 4, false},
                 {VQ_PREFIX_AUTO, 4100, 4, true}, {VQ_PREFIX_OFF, 4100, 4, false},
                 {VQ_PREFIX_ON, 100, 4, true},    {VQ_PREFIX_ON, 4100, 1, false}};
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        begin(1, cases[i].axes, cases[i].prefix_cache);
        rig.prompt_bytes = cases[i].bytes;
        rig_open(&rig, 100);
        rig_lease(&rig, 0, 1, false);
        assert_int_equal(rig.calls_count, cases[i].leads ? 2 : 2 * cases[i].axes);
        vq_work_destroy(&rig.w);
    }
    begin(1, 4, VQ_PREFIX_ON); /* for teardown */
}

TEST_WITH(test_what_a_front_is_worth_is_learned, NULL, teardown)
{
    begin(1, 4, VQ_PREFIX_AUTO);
    rig.prompt_bytes = 4100;
    rig_open(&rig, 100);
    for (uint64_t sample = 0; sample < 8; sample++) { /* few tokens for so many bytes */
        rig_lease(&rig, sample, sample + 1, false);
        while (rig.calls_count > 0) {
            rig_answer(&rig, 0, "Model: A");
        }
    }
    rig_lease(&rig, 8, 9, false);
    assert_int_equal(rig.calls_count, 8);
}

TEST_WITH(test_the_others_wait_for_the_leaders_pool, NULL, teardown)
{
    begin(2, 8, VQ_PREFIX_ON);
    rig_open(&rig, 3);
    struct vq_ask asks[8];
    for (uint32_t v = 0; v < 8; v++) {
        asks[v] = (struct vq_ask){.task = 2 * v, .vibe = v};
    }
    rig_sample(&rig, 0);
    rig_lease_asks(&rig, 0, 1, asks, 8);
    assert_int_equal(rig.calls_count, 1);
    uint32_t pool = rig.calls[0].pool;
    rig_answer(&rig, 0, "Model: A");
    assert_int_equal(calls_on(pool), 3);
    assert_int_equal(calls_on(1 - pool), 0); /* though it could take three */
    rig_wait(&rig, 300);
    assert_int_equal(rig.reports[pool].waiting, 4);
    assert_int_equal(rig.reports[1 - pool].waiting, 1);
    rig_answer(&rig, 0, "Model: A");
    assert_int_equal(calls_on(pool), 3);
    assert_int_equal(calls_on(1 - pool), 0);
    live(VQ_WORK_FRONT_PATIENCE_MS); /* nothing else is there to do */
    assert_int_equal(calls_on(pool), 3);
    assert_int_equal(calls_on(1 - pool), 3);
}

TEST_WITH(test_they_go_elsewhere_when_it_is_closed_or_away, NULL, teardown)
{
    for (int way = 0; way < 3; way++) {
        begin(2, 8, VQ_PREFIX_ON);
        rig_open(&rig, 3);
        rig_lease(&rig, 0, 1, false);
        uint32_t pool = rig.calls[0].pool;
        assert_int_equal(rig.calls_count, 2);
        rig_answer(&rig, 0, "Model: A");
        while (calls_on(1 - pool) > 0) { /* the other order's leader, if it went there */
            uint32_t i = 0;
            while (rig.calls[i].pool == pool) {
                i++;
            }
            rig_fail(&rig, i, VQ_END_BAD_REQUEST, -1);
        }
        assert_int_equal(calls_on(pool), 3);
        if (way == 0) {
            rig_fail(&rig, 0, VQ_END_CLOSED, -1);
        } else if (way == 1) {
            rig_fail(&rig, 0, VQ_END_RATE, 20000);
        } else {
            rig_grant(&rig, pool, 0, 0, 0);
        }
        assert_true(calls_on(1 - pool) >= 1);
        vq_work_destroy(&rig.w);
    }
    begin(2, 8, VQ_PREFIX_ON); /* for teardown */
}

TEST_WITH(test_a_forgotten_front_is_led_again, NULL, teardown)
{
    begin(1, 8, VQ_PREFIX_ON);
    rig_open(&rig, 1);
    struct vq_ask asks[8];
    for (uint32_t v = 0; v < 8; v++) {
        asks[v] = (struct vq_ask){.task = 2 * v, .vibe = v};
    }
    rig_sample(&rig, 0);
    rig_lease_asks(&rig, 0, 1, asks, 8);
    rig_fail(&rig, 0, VQ_END_RATE, -1);
    live(2000);
    assert_int_equal(rig.calls_count, 1);
    rig_answer(&rig, 0, "Model: A");
    assert_int_equal(rig.calls_count, 1);
    live((VQ_WORK_FRONT_LIFE_S + 1) * 1000); /* its one slot is taken all that time */
    rig_grant(&rig, 0, 100, 0, 0);
    assert_int_equal(rig.calls_count, 2);
    rig_answer(&rig, 1, "Model: A");
    assert_int_equal(rig.calls_count, 6);
}

/* ---- the whole of it: pools with rates, and caches that hold what was answered ---- */

#define AXES    10
#define SAMPLES 40
#define POOLS   4

struct outcome {
    uint32_t hits;
    int64_t ms;
};

static uint64_t front_key(const struct vq_work_call *call)
{
    return call->shard * 2 + call->order;
}

static struct outcome play(enum vq_prefix_cache prefix_cache)
{
    static bool warm[SAMPLES * 2][POOLS];
    static int64_t due[RIG_MAX];
    struct outcome outcome = {0};
    struct vq_rng rng;
    uint32_t seen = 0;
    memset(warm, 0, sizeof(warm));
    vq_rng_seed(&rng, 7);
    begin(POOLS, AXES, prefix_cache);
    rig_open(&rig, 20);
    for (uint32_t p = 0; p < POOLS; p++) {
        rig_grant(&rig, p, 20, 300, 0);
    }
    uint64_t leased = 0;
    int64_t begun = rig.now;
    while (rig.calls_ever < SAMPLES * AXES * 2 || rig.calls_count > 0) {
        for (; seen < rig.calls_count; seen++) {
            outcome.hits += warm[front_key(&rig.calls[seen])][rig.calls[seen].pool] ? 1 : 0;
            due[seen] = rig.now + (200 + (int64_t)vq_rng_below(&rng, 600)) * RIG_MS;
        }
        for (uint32_t i = 0; i < seen;) {
            if (due[i] > rig.now) {
                i++;
                continue;
            }
            warm[front_key(&rig.calls[i])][rig.calls[i].pool] = true;
            memmove(&due[i], &due[i + 1], (seen - i - 1) * sizeof(due[0]));
            seen--;
            rig_answer(&rig, i, "Model: A"); /* new calls stand at the end */
        }
        if (seen == rig.calls_count) {
            live(100);
            rig_ack(&rig, 0, rig.results_count);
            rig_forget(&rig);
            while (leased < SAMPLES && rig_stats(&rig).asks_open < rig.credits[0].tasks) {
                rig_lease(&rig, leased, leased + 1, false);
                leased++;
            }
            assert_true(rig.now - begun < INT64_C(600000) * RIG_MS);
        }
    }
    outcome.ms = (rig.now - begun) / RIG_MS;
    vq_work_destroy(&rig.w);
    return outcome;
}

TEST_WITH(test_caches_are_hit_and_nothing_is_lost, NULL, teardown)
{
    struct outcome off = play(VQ_PREFIX_OFF);
    struct outcome on = play(VQ_PREFIX_ON);
    uint32_t most = SAMPLES * 2 * (AXES - 1);
    print_message("off: %u of %u in %lld ms; on: %u in %lld ms\n", off.hits, most,
                  (long long)off.ms, on.hits, (long long)on.ms);
    assert_true(off.hits < most * 6 / 10);
    assert_true(on.hits > most * 9 / 10);
    assert_true(on.ms < off.ms * 105 / 100);
    begin(1, 1, VQ_PREFIX_ON); /* for teardown */
}
