/* A judge's pool: slices, pacing, pauses, AIMD, closing, credit. */
#include "rig.h"

static struct rig rig;

static int teardown(void **state)
{
    (void)state;
    vq_work_destroy(&rig.w);
    return 0;
}

static void begin(uint32_t judges, uint32_t axes, struct vq_work_options options)
{
    rig_init(&rig, judges, axes);
    rig_create(&rig, options);
}

/* Keeps the session alive while time passes. */
static void live(int64_t ms)
{
    for (int64_t t = 0; t < ms; t += 100) {
        rig_wait(&rig, 100);
        if (rig.sent[VQ_MSG_HEARTBEAT] > 0) {
            rig_echo(&rig);
        }
    }
}

static void test_concurrency_is_the_slice(void **state)
{
    (void)state;
    begin(1, 8, (struct vq_work_options){.local = 0});
    rig_open(&rig, 3);
    rig_lease(&rig, 0, 1, false);
    assert_int_equal(rig.calls_count, 3);
    rig_grant(&rig, 0, 5, 0, 0, 2);
    assert_int_equal(rig.calls_count, 5);
    rig_grant(&rig, 0, 9, 0, 0, 1); /* an older slice */
    assert_int_equal(rig.calls_count, 5);
    rig_grant(&rig, 0, 2, 0, 0, 3); /* less: no new ones until there is room */
    for (int i = 0; i < 3; i++) {
        rig_answer(&rig, 0, "Model: A");
    }
    assert_int_equal(rig.calls_count, 2);
    rig_answer(&rig, 0, "Model: A");
    assert_int_equal(rig.calls_count, 2);
    rig_grant(&rig, 0, 0, 0, 0, 4);
    rig_answer(&rig, 0, "Model: A");
    rig_answer(&rig, 0, "Model: A");
    assert_int_equal(rig.calls_count, 0);
    assert_int_equal(rig.credits[0].tasks, 0);
    assert_int_equal(rig.credits[0].state, VQ_POOL_OPEN);
}

static void test_the_process_has_a_bound_too(void **state)
{
    (void)state;
    begin(2, 8, (struct vq_work_options){.local = 0, .concurrency_max = 5});
    rig_open(&rig, 8);
    rig_lease(&rig, 0, 1, false);
    rig_lease(&rig, 1, 2, false);
    assert_int_equal(rig.calls_count, 5);
    for (int i = 0; i < 20; i++) {
        rig_answer(&rig, 0, "Model: A");
        assert_int_equal(rig.calls_count, 5);
    }
    uint32_t of[2] = {0, 0};
    for (uint32_t i = 0; i < 5; i++) {
        of[rig.calls[i].judge]++;
    }
    assert_true(of[0] > 0 && of[1] > 0); /* the judges take turns */
    struct vq_work *none = NULL;
    struct vq_work_options much = {.concurrency_max = VQ_WORK_CONCURRENCY_MAX + 1};
    assert_int_equal(vq_work_create(&much, &none), VQ_LIMIT);
}

static void test_requests_a_minute(void **state)
{
    (void)state;
    begin(1, 64, (struct vq_work_options){.local = 0});
    rig_open(&rig, 100);
    rig_grant(&rig, 0, 100, 120, 0, 2);
    rig_lease(&rig, 0, 1, false);
    rig_lease(&rig, 1, 2, false);
    uint32_t minutes[2] = {0, 0};
    uint32_t most = 0;
    int64_t sent_at[512];
    for (int64_t ms = 0; ms < 120000; ms += 10) {
        rig_wait(&rig, 10);
        if (ms % 500 == 0) {
            rig_echo(&rig);
            rig_ack(&rig, 0, rig.results_count);
            rig_forget(&rig);
        }
        while (rig.calls_count > 0) {
            sent_at[minutes[0] + minutes[1]] = rig.now;
            minutes[ms / 60000]++;
            rig_answer(&rig, 0, "Model: A");
        }
    }
    for (uint32_t i = 0; i < minutes[0] + minutes[1]; i++) { /* any window of a minute */
        uint32_t window = 0;
        while (i + window < minutes[0] + minutes[1] &&
               sent_at[i + window] - sent_at[i] < 59990 * RIG_MS) {
            window++;
        }
        most = window > most ? window : most;
    }
    assert_in_range(minutes[0], 114, 120);
    assert_in_range(minutes[1], 114, 121);
    assert_in_range(most, 114, 120);
}

static void test_tokens_are_reserved_and_settled(void **state)
{
    (void)state;
    begin(1, 64, (struct vq_work_options){.local = 0});
    rig_open(&rig, 100);
    rig_grant(&rig, 0, 100, 0, 6000, 2); /* 200 at once, then about 100 a second */
    rig_lease(&rig, 0, 1, false);
    assert_int_equal(rig.calls_count,
                     1); /* a call reserves its texts / 4 + 100 tokens: more than the burst */
    live(1000);
    assert_int_equal(rig.calls_count, 1);
    rig_answer(&rig, 0, "Model: A"); /* used 55 only: the rest may be spent at once */
    assert_int_equal(rig.calls_count, 1);
    assert_int_equal(rig.calls_ever, 2);
    uint32_t from = rig.calls_ever;
    for (int i = 0; i < 600; i++) { /* a minute, answers of 55 tokens */
        live(100);
        while (rig.calls_count > 0) {
            rig_answer(&rig, 0, "Model: A");
        }
    }
    assert_in_range(rig.calls_ever - from, 85, 6000 / 55 + 4);
}

static void test_a_refusal_pauses_halves_and_grows_back(void **state)
{
    (void)state;
    begin(1, 64, (struct vq_work_options){.local = 0});
    rig_open(&rig, 16);
    rig_lease(&rig, 0, 1, false);
    rig_lease(&rig, 1, 2, false);
    assert_int_equal(rig.calls_count, 16);
    rig_fail(&rig, 0, VQ_END_RATE, 2000);
    rig_fail(&rig, 0, VQ_END_RATE, 2000); /* of the same round: halves once */
    for (int i = 0; i < 14; i++) {
        rig_answer(&rig, 0, "Model: N/A");
    }
    assert_int_equal(rig.calls_count, 0); /* paused */
    live(1900);
    assert_int_equal(rig.calls_count, 0);
    live(400);
    assert_in_range(rig.calls_count, 8, 10); /* halved, and 14 answers of growth */
    uint32_t rounds = 0;
    while (rig.calls_count < 16 && rounds < 12 && rig.calls_ever < 200) {
        for (uint32_t n = rig.calls_count; n > 0; n--) {
            rig_answer(&rig, 0, "Model: A");
        }
        rounds++;
    }
    assert_int_equal(rig.calls_count, 16);
    assert_in_range(rounds, 4, 9); /* one more a round */
}

static void test_pauses_without_retry_after_grow(void **state)
{
    (void)state;
    begin(1, 4, (struct vq_work_options){.local = 0, .seed = 5});
    rig_open(&rig, 1);
    rig_lease(&rig, 0, 1, false);
    int64_t waits[10];
    for (int i = 0; i < 10; i++) {
        rig_fail(&rig, 0, VQ_END_RATE, -1);
        int64_t from = rig.now;
        while (rig.calls_count == 0) {
            live(100);
            assert_true(rig.now - from < 70000 * RIG_MS);
        }
        waits[i] = (rig.now - from) / RIG_MS;
    }
    assert_in_range(waits[0], VQ_WORK_PAUSE_MS / 2, VQ_WORK_PAUSE_MS + 100);
    assert_in_range(waits[3], VQ_WORK_PAUSE_MS * 4, VQ_WORK_PAUSE_MS * 8 + 100);
    assert_in_range(waits[9], VQ_WORK_PAUSE_MS_MAX / 2, VQ_WORK_PAUSE_MS_MAX + 100);
    rig_answer(&rig, 0, "Model: A"); /* and begin anew after an answer */
    rig_fail(&rig, 0, VQ_END_RATE, -1);
    live(VQ_WORK_PAUSE_MS + 100);
    assert_int_equal(rig.calls_count, 1);
}

static void test_an_absurd_retry_after_is_bounded(void **state)
{
    (void)state;
    static const int64_t asked[] = {INT64_MAX / 2, 1000000000000, 0, -7};
    for (size_t i = 0; i < VQ_COUNT(asked); i++) {
        begin(1, 4, (struct vq_work_options){.local = 0});
        rig_open(&rig, 1);
        rig_lease(&rig, 0, 1, false);
        rig_fail(&rig, 0, VQ_END_RATE, asked[i]);
        live(400);
        assert_int_equal(rig.calls_count, 0); /* none or a wrong one: our own pause */
        live(VQ_WORK_RETRY_AFTER_MS_MAX * 11 / 10);
        assert_int_equal(rig.calls_count, 1);
        vq_work_destroy(&rig.w);
    }
    begin(1, 4, (struct vq_work_options){.local = 0});
}

/* A wait that follows from what is known of a limit is kept to, also when it is longer than we would believe a response. */
static void test_a_parked_pool_waits_to_the_end(void **state)
{
    (void)state;
    const int64_t wait_ms = 5 * (int64_t)VQ_WORK_RETRY_AFTER_MS_MAX;
    begin(1, 4, (struct vq_work_options){.local = 0});
    rig_open(&rig, 1);
    rig_lease(&rig, 0, 1, false);
    rig_end(&rig, 0,
            (struct vq_work_reply){.end = VQ_END_RATE, .retry_after_ms = wait_ms, .parks = true});
    live(wait_ms - 1000);
    assert_int_equal(rig.calls_count, 0);
    live(1000 + wait_ms / 10 + 1000);
    assert_int_equal(rig.calls_count, 1);
}

static void test_a_closed_pool_gives_back_and_says_so(void **state)
{
    (void)state;
    begin(2, 3, (struct vq_work_options){.local = 0});
    rig_open(&rig, 2);
    rig_lease(&rig, 0, 1, false);
    rig_lease(&rig, 1, 2, false);
    rig_forget(&rig);
    uint32_t credits = rig.sent[VQ_MSG_CREDIT];
    assert_int_equal(rig.calls[0].judge, 0);
    uint64_t task = rig.calls[0].task;
    rig_fail(&rig, 0, VQ_END_CLOSED, -1);
    assert_int_equal(rig.sent[VQ_MSG_CREDIT], credits + 1);
    assert_int_equal(rig.credits[0].state, VQ_POOL_BAD_KEY);
    assert_int_equal(rig.credits[0].tasks, 0);
    assert_int_equal(rig.credits[0].text.bytes, strlen("it said no"));
    assert_int_equal(rig.credits[1].state, VQ_POOL_OPEN);
    assert_true(rig.credits[1].tasks > 0);
    assert_int_equal(rig.returned_count, 5); /* 4 idle ones and the refused; one is in flight */
    bool found = false;
    for (uint32_t i = 0; i < 5; i++) {
        found = found || rig.returned[i] == task;
    }
    assert_true(found);
    assert_false(rig.results[0].r.final); /* given back, not failed */
    uint32_t other = 0;
    while (rig.calls[other].judge != 0) {
        other++;
    }
    rig_answer(&rig, other, "Model: A"); /* was in flight: still counts */
    rig_wait(&rig, 10);
    assert_int_equal(rig.results[rig.results_count - 1].r.outcome, VQ_OUTCOME_FIRST);
    rig_lease(&rig, 2, 9, false); /* nothing of it is taken any more */
    assert_int_equal(rig.returned_whole, 1);
    assert_int_equal(rig.calls_count, 2); /* the other judge goes on */
}

static void test_no_key_is_a_closed_pool(void **state)
{
    (void)state;
    begin(2, 3, (struct vq_work_options){.local = 0});
    rig.key_state[1] = VQ_POOL_NO_KEY;
    rig_open(&rig, 2);
    assert_int_equal(rig.credits[1].state, VQ_POOL_NO_KEY);
    assert_int_equal(rig.credits[1].tasks, 0);
    assert_true(rig.credits[0].tasks > 0);
}

static void test_no_credit_before_all_keys_are_known(void **state)
{
    (void)state;
    begin(2, 3, (struct vq_work_options){.local = 0});
    rig.hold_keys = true;
    rig_open(&rig, 2);
    rig_wait(&rig, 400);
    assert_int_equal(rig.sent[VQ_MSG_CREDIT], 0);
    rig_keys(&rig);
    assert_int_equal(rig.sent[VQ_MSG_CREDIT], 1);
}

static void test_credit_follows_the_speed(void **state)
{
    (void)state;
    begin(1, 10, (struct vq_work_options){.local = 0});
    rig_open(&rig, 4);
    uint32_t first = rig.credits[0].tasks;
    assert_int_equal(first, 20); /* a shard: more than 4 slots need */
    uint64_t shard = 0;
    for (int i = 0; i < 400; i++) { /* 10 ms a call, 4 at once: 400 tasks a second */
        while (rig_stats(&rig).asks_open + 20 <= rig.credits[0].tasks) {
            rig_lease(&rig, shard, shard + 1, false);
            shard++;
        }
        for (uint32_t n = rig.calls_count; n > 0; n--) {
            rig_answer(&rig, 0, "Model: A");
        }
        rig_wait(&rig, 10);
        if (rig.results_count > 0) {
            rig_ack(&rig, 0, rig.results_count);
            rig_forget(&rig);
        }
        if (i % 10 == 0 && rig.sent[VQ_MSG_HEARTBEAT] > 0) {
            rig_echo(&rig);
        }
    }
    assert_in_range(rig.credits[0].tasks, 200, 800); /* about a second ahead */
    rig_grant(&rig, 0, 4, 60, 0, 2);                 /* a known limit of one a second bounds it */
    assert_in_range(rig.credits[0].tasks, 20, 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_concurrency_is_the_slice, teardown),
        cmocka_unit_test_teardown(test_the_process_has_a_bound_too, teardown),
        cmocka_unit_test_teardown(test_requests_a_minute, teardown),
        cmocka_unit_test_teardown(test_tokens_are_reserved_and_settled, teardown),
        cmocka_unit_test_teardown(test_a_refusal_pauses_halves_and_grows_back, teardown),
        cmocka_unit_test_teardown(test_pauses_without_retry_after_grow, teardown),
        cmocka_unit_test_teardown(test_an_absurd_retry_after_is_bounded, teardown),
        cmocka_unit_test_teardown(test_a_parked_pool_waits_to_the_end, teardown),
        cmocka_unit_test_teardown(test_a_closed_pool_gives_back_and_says_so, teardown),
        cmocka_unit_test_teardown(test_no_key_is_a_closed_pool, teardown),
        cmocka_unit_test_teardown(test_no_credit_before_all_keys_are_known, teardown),
        cmocka_unit_test_teardown(test_credit_follows_the_speed, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
