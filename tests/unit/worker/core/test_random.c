/* Random coordinators, endpoints and links, from seeds; what must hold is checked after each step.
 * Also: every allocation fails once. */
#include "rig.h"

#include "common/base/alloc.h"
#include "common/base/rng.h"

static struct rig rig;

/* What the coordinator of this test believes: which tasks it has leased, until when, and what
 * became of them. */
#define SHARDS 40
#define AXES   4
#define TASKS  (SHARDS * AXES * 2)

struct belief {
    uint64_t fence[SHARDS];         /* 0: not leased */
    uint64_t final_n[TASKS];        /* fence of the last final result, */
    struct vq_id final_call[TASKS]; /* and its call */
    uint64_t fence_n;
};

static struct belief belief;

static void check(void)
{
    struct vq_work_stats stats = rig_stats(&rig);
    assert_int_equal(stats.calls, rig.calls_count);
    assert_true(stats.calls_started == stats.calls_ended + stats.calls);
    assert_int_equal(rig.spool_sent, rig.calls_ever); /* each call was noted */
    assert_true(rig.spool_answer == stats.calls_ended);
    assert_true(stats.results ==
                rig.spool_answer - rig.spool_acked); /* kept until the ACK, not longer */
    if (stats.leases == 0) {
        assert_int_equal(stats.asks_open, 0);
    }
    for (uint32_t i = 0; i < rig.calls_count;
         i++) { /* no task has two calls in flight under one fence */
        for (uint32_t j = i + 1; j < rig.calls_count; j++) {
            assert_false(rig.calls[i].task == rig.calls[j].task &&
                         vq_fence_eq(rig.calls[i].fence, rig.calls[j].fence));
        }
    }
}

static void take_results(void)
{
    for (uint32_t i = 0; i < rig.results_count; i++) {
        const struct vq_result *r = &rig.results[i].r;
        assert_true(r->task < TASKS);
        if (r->final) {
            assert_int_not_equal(r->outcome, VQ_OUTCOME_NONE);
            assert_true(belief.final_n[r->task] != r->fence.n ||
                        vq_id_eq(&belief.final_call[r->task], &r->call)); /* one a lease */
            belief.final_n[r->task] = r->fence.n;
            belief.final_call[r->task] = r->call;
        }
        if (!r->final) {
            assert_false(vq_outcome_is_failed((enum vq_outcome)r->outcome));
        }
    }
}

/* ACKs what was sent so far; that step may send more. */
static void ack_all(void)
{
    uint32_t count = rig.results_count;
    take_results();
    rig_ack(&rig, 0, count);
    rig.results_count -= count;
    memmove(rig.results, rig.results + count, rig.results_count * sizeof(rig.results[0]));
    rig.returned_count = 0;
    rig.log_bytes = 0;
}

static void random_lease(struct vq_rng *rng)
{
    uint64_t shard = vq_rng_below(rng, SHARDS);
    struct vq_ask asks[AXES * 2];
    uint32_t count = 0;
    bool lazy = vq_rng_below(rng, 2) == 0;
    for (uint32_t v = 0; v < AXES; v++) {
        for (uint8_t o = 0; o < 2; o++) {
            if (vq_rng_below(rng, 5) > 0) {
                asks[count++] =
                    (struct vq_ask){.task = rig_task(&rig, shard, v, o),
                                    .vibe = v,
                                    .order = o,
                                    .lazy = lazy && o == 1,
                                    .prior = vq_span_str(vq_rng_below(rng, 9) == 0 ? "eh" : "")};
            }
        }
    }
    if (vq_rng_below(rng, 10) > 0) {
        rig_sample(&rig, shard);
    }
    belief.fence[shard] = ++belief.fence_n;
    rig_lease_asks(&rig, shard, belief.fence_n, asks, count);
}

static void random_end(struct vq_rng *rng)
{
    static const char *const answers[] = {"Model: A", "Model: B", "Model: equal", "N/A",
                                          "",         "what?",    "Model: unsure"};
    if (rig.calls_count == 0) {
        return;
    }
    uint32_t i = (uint32_t)vq_rng_below(rng, rig.calls_count);
    enum vq_call_end end =
        vq_rng_below(rng, 2) == 0 ? VQ_END_ANSWER : (enum vq_call_end)vq_rng_below(rng, 8);
    if (end == VQ_END_ANSWER) {
        rig_answer(&rig, i, answers[vq_rng_below(rng, VQ_COUNT(answers))]);
    } else {
        rig_fail(&rig, i, end, vq_rng_below(rng, 3) == 0 ? (int64_t)vq_rng_below(rng, 3000) : -1);
    }
}

/* Answers a HELLO that waits for it. */
static void welcome(void)
{
    if (rig_stats(&rig).session == 0) {
        rig_welcome(&rig);
    }
}

static void random_message(struct vq_rng *rng)
{
    uint64_t shard = vq_rng_below(rng, SHARDS);
    uint64_t tasks[3] = {rig_task(&rig, shard, 0, 0), rig_task(&rig, shard, 1, 1),
                         rig_task(&rig, shard, 2, 0)};
    switch (vq_rng_below(rng, 6)) {
    case 0:
        rig_cancel(&rig, shard, belief.fence[shard], tasks, (uint32_t)vq_rng_below(rng, 4));
        break;
    case 1:
        rig_bye(&rig, VQ_BYE_NO_SESSION);
        welcome();
        break;
    case 2:
        rig_bye(&rig, VQ_BYE_NO_SESSION); /* and nobody answers for a while */
        break;
    case 3:
        rig_grant(&rig, (uint32_t)vq_rng_below(rng, rig_pools(&rig)),
                  (uint32_t)vq_rng_below(rng, 12), vq_rng_below(rng, 2) == 0 ? 0 : 2000, 0);
        break;
    case 4:
        if (rig.sent[VQ_MSG_HEARTBEAT] > 0) {
            rig_echo(&rig);
        }
        break;
    default: welcome(); break;
    }
}

static void run_seed(uint64_t seed)
{
    struct vq_rng rng;
    vq_rng_seed(&rng, seed);
    rig_init(&rig, 1, AXES);
    rig.pools = 1 + (uint32_t)vq_rng_below(&rng, 3);
    rig.serves[0] = (1u << rig.pools) - 1;
    rig.prefix_cache = seed % 2 == 0 ? VQ_PREFIX_ON : VQ_PREFIX_OFF;
    rig_create(&rig, (struct vq_work_options){.local = 0, .has_spool = true, .seed = seed});
    memset(&belief, 0, sizeof(belief));
    rig_open(&rig, 1 + (uint32_t)vq_rng_below(&rng, 12));
    for (int step = 0; step < 400 && rig.exit_code < 0; step++) {
        uint64_t what = vq_rng_below(&rng, 10);
        if (what < 4) {
            random_end(&rng);
        } else if (what < 6) {
            random_lease(&rng);
        } else if (what < 7) {
            random_message(&rng);
        } else if (what < 8) {
            ack_all();
        } else {
            rig_wait(&rig, (int64_t)vq_rng_below(&rng, 200));
        }
        rig.log_bytes = 0;
        check();
    }
    /* healed: everything ends, nothing is left */
    rig_step(&rig, (struct vq_work_event){.type = VQ_WORK_DRAIN});
    for (int i = 0; i < 50 && rig.exit_code < 0; i++) {
        while (rig.calls_count > 0 && rig.exit_code < 0) {
            random_end(&rng);
        }
        welcome();
        rig_wait(&rig, 10);
        ack_all();
    }
    assert_int_equal(rig.exit_code, VQ_WORK_EXIT_DONE);
    assert_int_equal(rig.spool_acked, rig.calls_ever);
    vq_work_destroy(&rig.w);
}

TEST(test_random_runs)
{
    for (uint64_t seed = 1; seed <= 400; seed++) {
        run_seed(seed);
    }
}

/* The same events give the same actions. */
TEST(test_same_seed_same_actions)
{
    static char logs[2][RIG_MAX];
    for (int turn = 0; turn < 2; turn++) {
        struct vq_rng rng;
        vq_rng_seed(&rng, 99);
        rig_init(&rig, 1, AXES);
        rig_create(&rig, (struct vq_work_options){.local = 0, .has_spool = true, .seed = 4});
        memset(&belief, 0, sizeof(belief));
        rig_open(&rig, 6);
        for (int step = 0; step < 150; step++) {
            random_end(&rng);
            random_lease(&rng);
            rig_wait(&rig, 7);
        }
        memcpy(logs[turn], rig.log, sizeof(rig.log));
        vq_work_destroy(&rig.w);
    }
    assert_true(strlen(logs[0]) > 80);
    assert_string_equal(logs[0], logs[1]);
}

/* A short conversation in which the n-th allocation fails: the core says VQ_NOMEM and leaves
 * nothing behind. */
static bool torture(uint64_t n)
{
    struct vq_work_options options = {.local = 0, .has_spool = true, .name = "t"};
    struct vq_buf body;
    rig_init(&rig, 1, 2);
    rig_spec_body(&rig, &body);
    rig.slices[0].concurrency = 8;
    static const struct vq_ask asks[] = {
        {.task = 0, .prior = {"eh", 2}}, {.task = 1, .order = 1}, {.task = 2, .vibe = 1}};
    struct vq_msg messages[] = {
        {.type = VQ_MSG_WELCOME,
         .u.welcome = {.session = 1,
                       .epoch = 1,
                       .spec = rig.spec_hash,
                       .term_ms = 1000,
                       .heartbeat_ms = 100}},
        {.type = VQ_MSG_SPEC, .u.spec = {1, rig.spec_hash, vq_buf_span(&body)}},
        {.type = VQ_MSG_SAMPLE, .u.sample = {1, 0, {"p", 1}, {"a", 1}, {"b", 1}}},
        {.type = VQ_MSG_GRANT,
         .u.grant = {.session = 1,
                     .n = 1,
                     .spend_most = VQ_AMOUNT_ANY,
                     .slices = rig.slices,
                     .slices_count = 1}},
        {.type = VQ_MSG_LEASE,
         .u.lease = {.session = 1, .shard = 0, .fence = {1, 1}, .asks = asks, .asks_count = 3}}};
    vq_alloc_fail_at(n);
    struct vq_work *w = NULL;
    enum vq_status status = vq_work_create(&options, &w);
    int64_t now = 1;
    struct vq_id calls[8];
    uint32_t calls_count = 0;
    int64_t stamp = 0;
    for (size_t i = 0; i < 13 && status == VQ_OK; i++) {
        struct vq_work_event event = {.type = VQ_WORK_TICK};
        struct vq_work_reply reply = {
            .end = VQ_END_ANSWER, .answer = vq_span_str("hm"), .retry_after_ms = -1};
        struct vq_work_key key = {.pool = 0, .state = VQ_POOL_OPEN};
        if (i == 0) {
            event.type = VQ_WORK_CONNECTED;
        } else if (i <= VQ_COUNT(messages)) {
            messages[0].u.welcome.stamp_ns = stamp;
            event = (struct vq_work_event){.type = VQ_WORK_MESSAGE, .u.message = &messages[i - 1]};
        } else if (i == 6) {
            event = (struct vq_work_event){.type = VQ_WORK_KEY, .u.key = &key};
        } else if (i < 9 && calls_count > 0) {
            reply.call = calls[--calls_count];
            event = (struct vq_work_event){.type = VQ_WORK_REPLY, .u.reply = &reply};
        } else if (i == 10) {
            event.type = VQ_WORK_DRAIN;
        }
        now += 100 * RIG_MS;
        status = vq_work_step(w, now, &event);
        struct vq_work_action action;
        while (vq_work_next(w, &action)) {
            if (action.type == VQ_WORK_CALL && calls_count < 8) {
                calls[calls_count++] = action.u.call.id;
            } else if (action.type == VQ_WORK_SEND && action.u.message.type == VQ_MSG_HELLO) {
                stamp = action.u.message.u.hello.stamp_ns;
            }
        }
        status = vq_work_status(w);
    }
    vq_alloc_fail_at(0);
    vq_work_destroy(&w);
    vq_buf_free(&body);
    assert_true(status == VQ_OK || status == VQ_NOMEM);
    return status == VQ_OK;
}

TEST(test_every_allocation_fails_once)
{
    uint64_t n = 1;
    while (!torture(n)) {
        n++;
        assert_true(n < 5000);
    }
    assert_true(n > 30); /* the conversation really allocates */
}
