/* Leases: order of asks, lazy swap, priors, samples, CANCEL both ways. */
#include "rig.h"

static struct rig rig;

static int setup(void **state)
{
    (void)state;
    rig_init(&rig, 1, 3);
    rig_create(&rig, (struct vq_work_options){.local = 0, .has_spool = true});
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    vq_work_destroy(&rig.w);
    return 0;
}

static uint64_t task(uint32_t vibe, uint32_t order)
{
    return rig_task(&rig, 0, vibe, order);
}

TEST_WITH(test_asks_go_in_order_shard_by_shard, setup, teardown)
{
    rig_open(&rig, 1);
    rig_lease(&rig, 0, 1, false);
    rig_lease(&rig, 1, 2, false);
    for (uint32_t i = 0; i < 12; i++) {
        assert_int_equal(rig.calls_count, 1);
        assert_int_equal(rig.calls[0].task, rig_task(&rig, i / 6, i % 6 / 2, i % 2));
        assert_int_equal(rig.calls[0].order, i % 2);
        rig_answer(&rig, 0, "Model: A");
    }
    assert_int_equal(rig.calls_count, 0);
    assert_int_equal(rig.calls_ever, 12);
}

TEST_WITH(test_lazy_swap_by_the_first_answer, setup, teardown)
{
    static const struct {
        const char *answer;
        bool swapped;
    } cases[] = {{"Model: A", true},
                 {"Model: B", true},
                 {"Model: equal", false},
                 {"Model: N/A", false},
                 {"Model: unsure", false}};
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        vq_work_destroy(&rig.w);
        (void)setup(NULL);
        rig_open(&rig, 8);
        struct vq_ask asks[] = {{.task = task(0, 1), .order = 1},
                                {.task = task(0, 0), .order = 0, .lazy = true}};
        rig_sample(&rig, 0);
        rig_lease_asks(&rig, 0, 1, asks, 2);
        assert_int_equal(rig.calls_count, 1);
        assert_int_equal(rig.calls[0].task, task(0, 1));
        rig_answer(&rig, 0, cases[i].answer);
        assert_int_equal(rig.calls_count, cases[i].swapped ? 1 : 0);
        assert_int_equal(rig_stats(&rig).asks_open, cases[i].swapped ? 2 : 1);
    }
}

TEST_WITH(test_lazy_swap_is_asked_when_the_first_gave_no_vote, setup, teardown)
{
    rig_open(&rig, 8);
    rig_lease(&rig, 0, 1, true);
    assert_int_equal(rig.calls_count, 3);
    rig_fail(&rig, 0, VQ_END_BAD_REQUEST, -1); /* failed */
    assert_int_equal(rig.calls_count, 3);
    assert_int_equal(rig.calls[2].task, task(0, 1));
    rig_end(&rig, 0,
            (struct vq_work_reply){.end = VQ_END_ANSWER,
                                   .refusal = true,
                                   .retry_after_ms = -1,
                                   .answer = vq_span_str("I cannot")}); /* refused */
    assert_int_equal(rig.calls[2].task, task(1, 1));
    rig_answer(&rig, 0,
               "nothing to be read here"); /* unparseable: goes back with its swapped order */
    assert_int_equal(rig.calls_count, 2);
    assert_int_equal(rig_stats(&rig).asks_open, 5);
}

TEST_WITH(test_a_lazy_ask_without_its_first_is_asked, setup, teardown)
{
    rig_open(&rig, 8);
    struct vq_ask asks[] = {{.task = task(1, 1), .vibe = 1, .order = 1, .lazy = true},
                            {.task = task(1, 0), .vibe = 1, .order = 0}};
    rig_sample(&rig, 0);
    rig_lease_asks(&rig, 0, 1, asks, 2);
    assert_int_equal(rig.calls_count, 2); /* listed before it, not after */
}

TEST_WITH(test_a_prior_goes_on_with_its_repair, setup, teardown)
{
    rig_open(&rig, 8);
    struct vq_ask ask = {.task = task(0, 0), .repeat = 2, .prior = vq_span_str("mumble")};
    rig_sample(&rig, 0);
    rig_lease_asks(&rig, 0, 1, &ask, 1);
    assert_int_equal(rig.calls_count, 1);
    assert_int_equal(rig.calls[0].kind, VQ_CALL_REPAIR);
    struct vq_hash zero = {{0}};
    assert_false(vq_hash_eq(&rig.calls[0].repaired, &zero));
    assert_false(vq_hash_eq(&rig.calls[0].request, &rig.calls[0].repaired));
    struct vq_hash repaired = rig.calls[0].repaired;
    rig_answer(&rig, 0, "Model: B");
    rig_wait(&rig, 10);
    assert_int_equal(rig.results[0].r.outcome, VQ_OUTCOME_SECOND);
    assert_true(rig.results[0].r.final);
    assert_true(vq_hash_eq(&rig.results[0].r.repaired, &repaired));
    /* the same hash as the ask itself would have */
    struct vq_ask plain = {.task = task(0, 0), .repeat = 2};
    rig_ack(&rig, 0, 1);
    rig_sample(&rig, 0);
    rig_lease_asks(&rig, 0, 2, &plain, 1);
    assert_true(vq_hash_eq(&rig.calls[0].request, &repaired));
}

TEST_WITH(test_what_cannot_be_done_is_given_back, setup, teardown)
{
    rig_open(&rig, 8);
    struct vq_ask ask = {.task = task(0, 0)};
    rig_lease_asks(&rig, 0, 1, &ask, 1); /* no sample */
    assert_int_equal(rig.returned_whole, 1);
    rig_sample(&rig, 0);
    ask.vibe = 3;
    rig_lease_asks(&rig, 0, 2, &ask, 1); /* no such vibe */
    assert_int_equal(rig.returned_whole, 2);
    ask.vibe = 0;
    rig.judges = 2;
    rig_lease_asks(&rig, 1, 3, &ask, 1); /* no such judge */
    rig.judges = 1;
    assert_int_equal(rig.returned_whole, 3);
    int64_t stamp = rig.last[VQ_MSG_HELLO].u.hello.stamp_ns;
    rig.last[VQ_MSG_HELLO].u.hello.stamp_ns = rig.now + RIG_MS;
    rig_lease_asks(&rig, 0, 4, &ask, 1); /* a stamp from the future */
    rig.last[VQ_MSG_HELLO].u.hello.stamp_ns = stamp;
    assert_int_equal(rig.returned_whole, 4);
    assert_int_equal(rig.calls_ever, 0);
    assert_int_equal(rig_stats(&rig).leases_refused, 4);
    rig_lease_asks(&rig, 0, 5, &ask, 1);
    assert_int_equal(rig.calls_ever, 1);
    assert_int_equal(rig_stats(&rig).leases_refused, 4);
}

/* It would be bought twice. */
TEST_WITH(test_a_lease_that_names_a_task_twice_is_given_back, setup, teardown)
{
    rig_open(&rig, 8);
    rig_sample(&rig, 0);
    struct vq_ask asks[] = {{.task = task(0, 0)},
                            {.task = task(1, 1), .vibe = 1, .order = 1},
                            {.task = task(0, 0), .repeat = 1}};
    rig_lease_asks(&rig, 0, 1, asks, 3);
    assert_int_equal(rig.returned_whole, 1);
    assert_non_null(strstr(rig.note, "it names a task twice"));
    asks[2] = (struct vq_ask){.task = task(0, 0), .vibe = 2}; /* two questions for one task */
    rig_lease_asks(&rig, 0, 2, asks, 3);
    assert_int_equal(rig.returned_whole, 2);
    assert_non_null(strstr(rig.note, "its tasks are not of one shard"));
    assert_int_equal(rig.calls_ever, 0);
    assert_int_equal(rig_stats(&rig).leases_refused, 2);
    assert_int_equal(rig_stats(&rig).asks_open, 0);
    rig_lease_asks(&rig, 0, 3, asks, 2);
    assert_int_equal(rig.calls_ever, 2);
}

TEST_WITH(test_a_repeated_lease_is_one_lease, setup, teardown)
{
    rig_open(&rig, 1);
    rig_lease(&rig, 0, 5, false);
    rig_lease(&rig, 0, 5, false);
    rig_lease(&rig, 0, 4, false);
    assert_int_equal(rig_stats(&rig).asks_open, 6);
    assert_int_equal(rig.calls_ever, 1);
    rig_lease(&rig, 0, 6, false); /* a newer fence takes its place */
    assert_int_equal(rig_stats(&rig).leases, 1);
    assert_int_equal(rig_stats(&rig).samples, 1);
    rig_answer(&rig, 0, "Model: A"); /* of the old fence: final for it */
    assert_int_equal(rig.calls[0].fence.n, 6);
    assert_int_equal(rig.calls[0].task, task(0, 0));
    rig_wait(&rig, 10);
    assert_int_equal(rig.results[0].r.fence.n, 5);
    assert_true(rig.results[0].r.final);
}

TEST_WITH(test_a_lease_closes_with_its_last_ack_and_takes_its_sample, setup, teardown)
{
    rig_open(&rig, 8);
    rig_lease(&rig, 0, 1, true);
    for (int i = 0; i < 3; i++) {
        rig_answer(&rig, 0, "Model: equal");
    }
    rig_wait(&rig, 10);
    assert_int_equal(rig.results_count, 3);
    rig_ack(&rig, 0, 2);
    assert_int_equal(rig_stats(&rig).leases, 1);
    assert_int_equal(rig_stats(&rig).samples, 1);
    rig_ack(&rig, 2, 1);
    assert_int_equal(rig_stats(&rig).leases, 0);
    assert_int_equal(rig_stats(&rig).samples, 0);
    assert_int_equal(rig_stats(&rig).asks_open, 0);
    assert_int_equal(rig.spool_acked, 3);
    rig_ack(&rig, 0, 3); /* again: nothing */
    assert_int_equal(rig.spool_acked, 3);
}

TEST_WITH(test_two_leases_share_a_sample, setup, teardown)
{
    vq_work_destroy(&rig.w);
    rig_init(&rig, 2, 1);
    rig_create(&rig, (struct vq_work_options){.local = 0});
    rig_open(&rig, 8);
    rig_lease(&rig, 10, 1, false); /* sample 5, both judges */
    rig_lease(&rig, 11, 2, false);
    assert_int_equal(rig_stats(&rig).samples, 1);
    rig_cancel(&rig, 10, 1, NULL, 0);
    assert_int_equal(rig_stats(&rig).samples, 1);
    rig_cancel(&rig, 11, 2, NULL, 0);
    assert_int_equal(rig_stats(&rig).samples, 0);
}

TEST_WITH(test_samples_without_a_lease_are_bounded, setup, teardown)
{
    rig_open(&rig, 8);
    for (uint64_t i = 0; i < 3 * VQ_WORK_SAMPLES_IDLE_MAX; i++) {
        rig_sample(&rig, i);
    }
    assert_true(rig_stats(&rig).samples <= VQ_WORK_SAMPLES_IDLE_MAX + 1);
    struct vq_ask ask = {.task = rig_task(&rig, 3 * VQ_WORK_SAMPLES_IDLE_MAX - 1, 0, 0)};
    rig_lease_asks(&rig, 3 * VQ_WORK_SAMPLES_IDLE_MAX - 1, 1, &ask, 1); /* the youngest is there */
    assert_int_equal(rig.calls_ever, 1);
}

TEST_WITH(test_cancel_of_a_lease, setup, teardown)
{
    rig_open(&rig, 2);
    rig_lease(&rig, 0, 7, false);
    rig_cancel(&rig, 0, 6, NULL, 0); /* another fence: not meant */
    assert_int_equal(rig_stats(&rig).leases, 1);
    rig_cancel(&rig, 0, 7, NULL, 0);
    assert_int_equal(rig_stats(&rig).leases, 0);
    rig_answer(&rig, 0, "Model: A"); /* in flight: goes on, is recorded, starts nothing */
    rig_fail(&rig, 0, VQ_END_PROVIDER, -1);
    rig_wait(&rig, 60000 - 1);
    assert_int_equal(rig.calls_ever, 2);
    assert_true(rig.results[0].r.final);
    assert_int_equal(rig.results[1].r.end, VQ_END_PROVIDER);
    assert_false(rig.results[1].r.final); /* a dead lease settles no failure */
}

TEST_WITH(test_cancel_of_tasks, setup, teardown)
{
    rig_open(&rig, 1);
    rig_lease(&rig, 0, 1, false);
    uint64_t tasks[] = {task(0, 1), task(2, 0), task(0, 0), 999};
    rig_cancel(&rig, 0, 1, tasks, 4);
    assert_int_equal(rig.calls[0].task, task(0, 0)); /* in flight, goes on */
    rig_fail(&rig, 0, VQ_END_PROVIDER, -1);          /* but is not retried */
    uint64_t order[] = {task(1, 0), task(1, 1), task(2, 1)};
    for (size_t i = 0; i < VQ_COUNT(order); i++) {
        assert_int_equal(rig.calls[0].task, order[i]);
        rig_answer(&rig, 0, "Model: A");
    }
    rig_wait(&rig, 20);
    assert_int_equal(rig.calls_ever, 4);
    assert_int_equal(rig_stats(&rig).asks_open, 3); /* those without an ACK */
    rig_ack(&rig, 0, rig.results_count);
    assert_int_equal(rig_stats(&rig).leases, 0);
}

TEST_WITH(test_cancel_of_all_tasks_by_name_closes_the_lease, setup, teardown)
{
    rig_open(&rig, 1);
    rig_lease(&rig, 0, 1, true);
    rig_answer(&rig, 0, "Model: A");
    uint64_t all[6];
    for (uint32_t i = 0; i < 6; i++) {
        all[i] = i;
    }
    rig_cancel(&rig, 0, 1, all, 6);
    rig_answer(&rig, 0, "Model: A");
    assert_int_equal(rig.calls_count, 0);
    assert_int_equal(rig_stats(&rig).leases, 0);
    assert_int_equal(rig_stats(&rig).asks_open, 0);
}

TEST_WITH(test_cancelled_first_order_frees_the_lazy_one, setup, teardown)
{
    rig_open(&rig, 1);
    rig_lease(&rig, 0, 1, true); /* (0,0) in flight; (1,0), (2,0) wait; swapped ones are lazy */
    uint64_t first = task(1, 0);
    rig_cancel(&rig, 0, 1, &first, 1); /* settled elsewhere; the swapped one was left to us */
    rig_answer(&rig, 0, "Model: equal");
    assert_int_equal(rig.calls[0].task, task(1, 1));
    uint64_t flying = task(1, 1);
    rig_cancel(&rig, 0, 1, &flying, 1);
    rig_answer(&rig, 0, "Model: A");
    assert_int_equal(rig.calls[0].task, task(2, 0));
}

TEST_WITH(test_returned_while_the_link_is_down_is_said_later, setup, teardown)
{
    rig_open(&rig, 1);
    rig_lease(&rig, 0, 1, false);
    rig_bye(&rig, VQ_BYE_NO_SESSION);
    rig_fail(&rig, 0, VQ_END_CLOSED, -1); /* closes the judge: the idle asks go back */
    assert_int_equal(rig.returned_count, 0);
    rig_forget(&rig);
    rig_welcome(&rig);
    assert_int_equal(rig.returned_count, 6);
    assert_int_equal(rig.log[0], 'h'); /* after HELD, after the results */
    assert_non_null(strchr(rig.log, 'R'));
    assert_true(strchr(rig.log, 'R') < strchr(rig.log, 'X'));
}
