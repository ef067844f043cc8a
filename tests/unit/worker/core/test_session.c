/* The link: who says what in which order, what a term counts from, and every way to leave. */
#include "rig.h"

static struct rig rig;

static int teardown(void **state)
{
    (void)state;
    vq_work_destroy(&rig.w);
    return 0;
}

static void begin(struct vq_work_options options)
{
    rig_init(&rig, 1, 2);
    rig_create(&rig, options);
}

TEST_WITH(test_conversation_in_order, NULL, teardown)
{
    begin((struct vq_work_options){.local = 4, .pid = 77, .has_spool = true});
    rig_step(&rig, (struct vq_work_event){.type = VQ_WORK_CONNECTED});
    assert_string_equal(rig.log, "H");
    const struct vq_msg_hello *hello = &rig.last[VQ_MSG_HELLO].u.hello;
    assert_int_equal(hello->local, 4);
    assert_int_equal(hello->pid, 77);
    assert_true(hello->has_spool);
    assert_int_equal(hello->stamp_ns, rig.now);
    rig_welcome(&rig);
    assert_string_equal(rig.log, "Hh"); /* HELD at once, CREDIT not before the SPEC */
    rig_spec(&rig);
    assert_string_equal(rig.log, "Hhc");
    assert_int_equal(rig.keys, 1);
    assert_int_equal(rig.reports[0].keys_count, 1);
    assert_int_equal(rig.credits[0].tasks, 0); /* not before there is a slice */
    rig_grant(&rig, 0, 1, 0, 0);
    assert_string_equal(rig.log, "Hhcc");
    assert_true(rig.credits[0].tasks >= 4); /* a shard */
}

TEST_WITH(test_hello_again_until_welcomed, NULL, teardown)
{
    begin((struct vq_work_options){.local = -1});
    rig_step(&rig, (struct vq_work_event){.type = VQ_WORK_CONNECTED});
    struct vq_msg_hello first = rig.last[VQ_MSG_HELLO].u.hello;
    rig_wait(&rig, 1500);
    assert_int_equal(rig.sent[VQ_MSG_HELLO], 2);
    assert_int_equal(rig.reconnects, 1);
    rig_wait(&rig, 60000);
    assert_true(rig.sent[VQ_MSG_HELLO] >= 6 && rig.sent[VQ_MSG_HELLO] <= 16); /* it slows down */
    /* an answer to an older HELLO is not taken */
    struct vq_msg old = {
        .type = VQ_MSG_WELCOME,
        .u.welcome = {
            .session = 5, .epoch = 3, .stamp_ns = first.stamp_ns, .term_ms = 1, .heartbeat_ms = 1}};
    rig_message(&rig, old);
    assert_int_equal(rig_stats(&rig).session, 0);
    rig_welcome(&rig);
    assert_int_equal(rig_stats(&rig).session, rig.session);
}

/* With a short term there is little time between two HELLOs: on a slow link no connection would be
 * ready in it. */
TEST_WITH(test_some_connections_get_the_time_that_they_need, NULL, teardown)
{
    begin((struct vq_work_options){.local = -1});
    rig_open(&rig, 1);
    uint32_t made = rig.reconnects;
    int64_t made_ns = rig.now, stamp_ns = 0;
    uint32_t quick = 0, patient = 0;
    for (int i = 0; i < 3000 && quick + patient < 20; i++) {
        rig_wait(&rig, 10);
        const struct vq_msg_hello *hello = &rig.last[VQ_MSG_HELLO].u.hello;
        /* what is said on a connection is one HELLO: an answer to it is taken whenever it comes */
        if (rig.reconnects == made) {
            assert_true(made == 0 || hello->stamp_ns == stamp_ns);
            continue;
        }
        bool long_one = rig.now - made_ns > 2500 * RIG_MS;
        patient += long_one;
        quick += !long_one;
        assert_true(patient == 0 || quick >= 5); /* those who are soon back lose nothing */
        made = rig.reconnects;
        made_ns = rig.now;
        stamp_ns = hello->stamp_ns;
    }
    assert_true(patient >= 3);
    assert_true(quick > patient);
    rig_wait(&rig, 2000);
    rig_welcome(&rig);
    assert_int_equal(rig_stats(&rig).session, rig.session);
}

TEST_WITH(test_other_run_is_refused, NULL, teardown)
{
    struct vq_work_options options = {.local = -1};
    memset(options.run.b, 9, VQ_ID_BYTES);
    begin(options);
    rig_step(&rig, (struct vq_work_event){.type = VQ_WORK_CONNECTED});
    rig_welcome(&rig);
    assert_int_equal(rig.exit_code, VQ_WORK_EXIT_USAGE);
}

TEST_WITH(test_lower_epoch_and_other_session_dropped, NULL, teardown)
{
    begin((struct vq_work_options){.local = 0});
    rig_open(&rig, 4);
    rig.epoch = 2;
    rig_lease(&rig, 0, 1, false); /* a fence of an older coordinator */
    assert_int_equal(rig.calls_ever, 0);
    assert_int_equal(rig_stats(&rig).leases, 0);
    rig.epoch = 3;
    rig.session--;
    rig_lease(&rig, 0, 2, false);
    assert_int_equal(rig_stats(&rig).leases, 0);
    rig_bye(&rig, VQ_BYE_DONE);
    assert_int_equal(rig.exit_code, -1);
    rig.session++;
    rig_bye(&rig, VQ_BYE_NO_SESSION);
    rig.epoch = 2;
    rig_welcome(&rig);
    assert_int_equal(rig_stats(&rig).session, 0); /* a WELCOME of a lower epoch opens nothing */
}

static void come_to_the_next_coordinator(void)
{
    rig_bye(&rig, VQ_BYE_NO_SESSION);
    rig.epoch++;
    rig_welcome(&rig);
}

/* A call ends: the next one starts by new slices, not by the old ones. */
static void go_on_with_a_grant_only(void)
{
    uint32_t calls = rig.calls_ever;
    rig_answer(&rig, 0, "Model: A");
    assert_int_equal(rig.calls_ever, calls);
    rig_grant_n(&rig, ++rig.grant_n);
    assert_int_equal(rig.calls_ever, calls + 1);
}

/* Whoever has work goes on with it; a coordinator that stopped cleanly knows of no slice. */
TEST_WITH(test_slices_of_an_earlier_coordinator_stay_only_for_work, NULL, teardown)
{
    begin((struct vq_work_options){.local = 0});
    rig_open(&rig, 2);
    come_to_the_next_coordinator();
    rig_lease(&rig, 0, 1, false);
    assert_int_equal(rig.calls_ever, 0);
    rig_grant_n(&rig, ++rig.grant_n);
    rig_lease(&rig, 1, 2, false);
    assert_int_equal(rig.calls_ever, 2);
    come_to_the_next_coordinator();
    rig_answer(&rig, 0, "Model: A");
    assert_int_equal(rig.calls_ever, 3);
}

/* What only waits for its ACK is no work; and beside old work nothing new is asked by old
 * slices. */
TEST_WITH(test_what_a_new_coordinator_leases_waits_for_its_slices, NULL, teardown)
{
    begin((struct vq_work_options){.local = 0});
    rig_open(&rig, 1);
    struct vq_ask ask = {.task = rig_task(&rig, 0, 0, 0)};
    rig_sample(&rig, 0);
    rig_lease_asks(&rig, 0, 1, &ask, 1);
    rig_answer(&rig, 0, "Model: A");
    come_to_the_next_coordinator();
    assert_int_equal(rig_stats(&rig).leases, 1);
    struct vq_limit slice;
    assert_false(vq_work_slice(rig.w, 0, rig.now, &slice));
    rig_grant_n(&rig, ++rig.grant_n);
    rig_lease(&rig, 1, 2, false);
    assert_int_equal(rig.calls_ever, 2);
    come_to_the_next_coordinator();
    rig_answer(&rig, 0, "Model: A");
    assert_int_equal(rig.calls_ever, 3);
    rig_lease(&rig, 2, 1, false);
    go_on_with_a_grant_only();
    assert_int_equal(rig.calls_ever, 4);
}

/* What was granted meanwhile got lost with the link each time: a pause by hand, say. A WELCOME or
 * an echo does not make up for it. */
TEST_WITH(test_slices_of_an_earlier_session_end_with_their_term, NULL, teardown)
{
    begin((struct vq_work_options){.local = 0});
    rig_open(&rig, 1);
    int64_t until_ns = rig.now + RIG_TERM_MS * RIG_MS;
    struct vq_limit slice;
    for (int n = 0; n < 2; n++) {
        rig.now = until_ns - (2 - n) * RIG_MS;
        rig_bye(&rig, VQ_BYE_NO_SESSION);
        rig_welcome(&rig);
        assert_true(vq_work_slice(rig.w, 0, rig.now, &slice));
        rig_lease(&rig, (uint64_t)n, (uint64_t)n + 1, false);
        rig_echo(&rig);
    }
    rig.now = until_ns;
    assert_int_equal(rig.calls_ever, 1);
    assert_false(vq_work_slice(rig.w, 0, rig.now, &slice));
    go_on_with_a_grant_only();
}

TEST_WITH(test_heartbeats_list_what_is_held, NULL, teardown)
{
    begin((struct vq_work_options){.local = 0});
    rig_open(&rig, 2);
    rig_lease(&rig, 6, 40, false);
    rig_answer(&rig, 0, "Model: A");
    rig_wait(&rig, RIG_BEAT_MS);
    const struct vq_msg_held *held = &rig.last[VQ_MSG_HEARTBEAT].u.held;
    assert_int_equal(rig.sent[VQ_MSG_HEARTBEAT], 1);
    assert_int_equal(held->leases_count, 1);
    assert_int_equal(rig.leases[0].shard, 6);
    assert_int_equal(rig.leases[0].fence.n, 40);
    assert_int_equal(held->calls_count, 3); /* two in flight, one answered and not ACKed */
    rig_wait(&rig, 4 * RIG_BEAT_MS);
    assert_true(rig.sent[VQ_MSG_HELLO] >= 2); /* nobody answered: HELLO again */
}

/* One that was started again leases nothing for a term: it must hear within it of what is held,
 * however long it was away. */
TEST_WITH(test_a_coordinator_that_comes_back_hears_of_it_within_a_term, NULL, teardown)
{
    begin((struct vq_work_options){.local = 0});
    rig_open(&rig, 2);
    rig_lease(&rig, 0, 1, false);
    rig_wait(&rig, 20 * RIG_TERM_MS);
    unsigned before = rig.sent[VQ_MSG_HELLO];
    for (unsigned n = 0; n < 10; n++) {
        rig_wait(&rig, RIG_TERM_MS / 3 + 1);
        assert_true(rig.sent[VQ_MSG_HELLO] > before);
        before = rig.sent[VQ_MSG_HELLO];
    }
}

TEST_WITH(test_term_counts_from_the_stamp_that_is_echoed, NULL, teardown)
{
    begin((struct vq_work_options){.local = 0});
    rig_open(&rig, 1);
    int64_t hello_ns = rig.now;
    rig_wait(&rig, 400);
    rig_lease(&rig, 0, 1, false); /* echoes the HELLO of 400 ms ago */
    assert_int_equal(rig.calls_ever, 1);
    rig.now = hello_ns + (RIG_TERM_MS - 1) * RIG_MS;
    rig_answer(&rig, 0, "Model: A");
    assert_int_equal(rig.calls_ever, 2); /* 1 ms before the end */
    rig.now = hello_ns + RIG_TERM_MS * RIG_MS;
    rig_answer(&rig, 0, "Model: A");
    assert_int_equal(rig.calls_ever, 2); /* the term is over */
}

TEST_WITH(test_echo_renews_only_what_was_listed, NULL, teardown)
{
    begin((struct vq_work_options){.local = 0});
    rig_open(&rig, 1);
    rig_wait(&rig, RIG_BEAT_MS); /* a heartbeat with an empty list */
    int64_t beat_ns = rig.last[VQ_MSG_HEARTBEAT].u.held.stamp_ns;
    struct vq_msg echo = {.type = VQ_MSG_HEARTBEAT,
                          .u.held = {.session = rig.session, .stamp_ns = beat_ns}};
    /* this lease echoes the HELLO; the heartbeat was sent before it came, so its echo renews
     * nothing of it */
    rig.sent[VQ_MSG_HEARTBEAT] = 0;
    rig_lease(&rig, 0, 1, false);
    rig_message(&rig, echo);
    int64_t hello_ns = rig.last[VQ_MSG_HELLO].u.hello.stamp_ns;
    rig.now = hello_ns + 1900 * RIG_MS;
    rig_grant(&rig, 0, 1, 0, 0); /* a sign of life; that step sends a heartbeat that lists it */
    int64_t listed_ns = rig.last[VQ_MSG_HEARTBEAT].u.held.stamp_ns;
    rig.now = hello_ns + RIG_TERM_MS * RIG_MS - 1;
    rig_answer(&rig, 0, "Model: A");
    assert_int_equal(rig.calls_ever, 2);
    assert_true(listed_ns > beat_ns);
    rig.now = hello_ns + RIG_TERM_MS * RIG_MS;
    rig_answer(&rig, 0, "Model: A");
    assert_int_equal(rig.calls_ever, 2); /* over: waits for a renewal */
    echo.u.held.stamp_ns = rig.now + 1;  /* a stamp that was never sent renews nothing */
    rig_message(&rig, echo);
    assert_int_equal(rig.calls_ever, 2);
    echo.u.held.stamp_ns = listed_ns;
    rig_message(&rig, echo);
    assert_int_equal(rig.calls_ever, 3); /* renewed: goes on where it stopped */
    rig.now = listed_ns + RIG_TERM_MS * RIG_MS;
    rig_answer(&rig, 0, "Model: A");
    assert_int_equal(rig.calls_ever, 3);
}

TEST_WITH(test_no_session_says_hello_and_keeps_everything, NULL, teardown)
{
    begin((struct vq_work_options){.local = 0, .has_spool = true});
    rig_open(&rig, 2);
    rig_lease(&rig, 0, 1, false);
    rig_answer(&rig, 0, "Model: A");
    rig_wait(&rig, 10);
    assert_int_equal(rig.results_count, 1);
    rig_bye(&rig, VQ_BYE_NO_SESSION);
    assert_int_equal(rig.sent[VQ_MSG_HELLO], 2);
    assert_true(vq_hash_eq(&rig.last[VQ_MSG_HELLO].u.hello.spec, &rig.spec_hash));
    rig_bye(&rig, VQ_BYE_NO_SESSION);
    assert_int_equal(rig.sent[VQ_MSG_HELLO], 2); /* one is under way */
    uint32_t calls = rig.calls_ever;
    rig_answer(&rig, 0, "Model: B");
    assert_int_equal(rig.calls_ever, calls + 1); /* goes on with what it holds */
    rig_forget(&rig);
    rig_welcome(&rig); /* no SPEC needed */
    assert_string_equal(rig.log, "h!Rc");
    assert_int_equal(rig.results_count, 2); /* both again, in order */
    assert_string_equal(rig.results[0].answer, "Model: A");
    assert_int_equal(rig.last[VQ_MSG_HELD].u.held.leases_count, 1);
    assert_int_equal(rig.last[VQ_MSG_HELD].u.held.calls_count, 4);
}

TEST_WITH(test_a_new_spec_drops_leases_not_answers, NULL, teardown)
{
    begin((struct vq_work_options){.local = 0});
    rig_open(&rig, 2);
    rig_lease(&rig, 0, 1, false);
    rig_bye(&rig, VQ_BYE_NO_SESSION);
    memset(rig.spec_hash.b, 0x22, VQ_HASH_BYTES);
    rig_welcome(&rig);
    assert_int_equal(rig.last[VQ_MSG_HELD].u.held.leases_count, 0);
    assert_int_equal(rig.last[VQ_MSG_HELD].u.held.calls_count, 2);
    rig_lease(&rig, 1, 2, false); /* before the SPEC: given back */
    assert_int_equal(rig.returned_whole, 1);
    rig_spec(&rig);
    rig_answer(&rig, 0, "Model: A"); /* of the old one: still recorded */
    rig_wait(&rig, 10);
    assert_int_equal(rig.results_count, 1);
    assert_true(rig.results[0].r.final);
    assert_int_equal(rig.results[0].r.outcome, VQ_OUTCOME_FIRST);
    rig_grant(&rig, 0, 2, 0, 0);
    rig_lease(&rig, 1, 3, false);
    assert_int_equal(rig.calls_count, 2); /* one of the old is still in flight and counts */
}

TEST_WITH(test_silence_connects_anew_then_orphan, NULL, teardown)
{
    begin((struct vq_work_options){.local = 0});
    rig_open(&rig, 2);
    rig_lease(&rig, 0, 1, false);
    rig_wait(&rig, 3 * RIG_BEAT_MS + 1);
    assert_int_equal(rig.reconnects, 1);
    assert_int_equal(rig.sent[VQ_MSG_HELLO], 2);
    rig_wait(&rig, 59000);
    assert_int_equal(rig.exit_code, -1); /* two calls are in flight: they are waited for */
    assert_int_equal(rig.calls_ever, 2); /* past the term nothing started */
    rig_answer(&rig, 0, "Model: A");
    assert_int_equal(rig.exit_code, -1);
    rig_answer(&rig, 0, "Model: A");
    assert_int_equal(rig.exit_code, VQ_WORK_EXIT_STOPPED);
    assert_int_equal(rig.calls_ever, 2);
}

TEST_WITH(test_orphan_option_stands_over_welcome, NULL, teardown)
{
    begin((struct vq_work_options){.local = 0, .orphan_s = 3});
    rig_open(&rig, 2);
    rig_wait(&rig, 2900);
    assert_int_equal(rig.exit_code, -1);
    rig_wait(&rig, 200);
    assert_int_equal(rig.exit_code, VQ_WORK_EXIT_STOPPED);
}

TEST_WITH(test_never_welcomed_is_an_orphan_too, NULL, teardown)
{
    begin((struct vq_work_options){.local = 0});
    rig_step(&rig, (struct vq_work_event){.type = VQ_WORK_CONNECTED});
    rig_wait(&rig, 61000);
    assert_int_equal(rig.exit_code, VQ_WORK_EXIT_STOPPED);
}

TEST_WITH(test_silence_is_said_once, NULL, teardown)
{
    begin((struct vq_work_options){.local = -1});
    rig_step(&rig, (struct vq_work_event){.type = VQ_WORK_CONNECTED});
    rig_wait(&rig, 9000);
    assert_int_equal(rig.notes, 0);
    rig_wait(&rig, 20000);
    assert_int_equal(rig.notes, 1);
    assert_non_null(strstr(rig.note, "no word from the coordinator"));
    rig_wait(&rig, 600000);
    assert_int_equal(rig.notes, 1);
    assert_int_equal(rig.exit_code, -1);
}

TEST_WITH(test_drain_finishes_returns_and_leaves, NULL, teardown)
{
    begin((struct vq_work_options){.local = 0, .has_spool = true});
    rig_open(&rig, 1);
    rig_lease(&rig, 0, 1, true); /* two vibes: one call in flight, three asks idle */
    rig_forget(&rig);
    rig_step(&rig, (struct vq_work_event){.type = VQ_WORK_DRAIN});
    assert_int_equal(rig.returned_count, 3);
    assert_int_equal(rig.sent[VQ_MSG_DRAIN], 1);
    rig_lease(&rig, 1, 2, false); /* too late */
    assert_int_equal(rig.returned_whole, 1);
    rig_answer(&rig, 0, "Model: A");
    rig_wait(&rig, 10);
    assert_int_equal(rig.results_count, 1);
    assert_int_equal(rig.exit_code, -1); /* waits for the ACK */
    rig_ack(&rig, 0, 1);
    assert_int_equal(rig.exit_code, VQ_WORK_EXIT_DONE);
    assert_int_equal(rig.last[VQ_MSG_BYE].u.bye.code, VQ_BYE_LEAVING);
    assert_int_equal(rig.calls_ever, 1);
}

TEST_WITH(test_coordinators_drain_is_the_same, NULL, teardown)
{
    begin((struct vq_work_options){.local = 0});
    rig_open(&rig, 1);
    rig_message(&rig, (struct vq_msg){.type = VQ_MSG_DRAIN, .u.drain = {rig.session}});
    assert_int_equal(rig.exit_code, VQ_WORK_EXIT_DONE);
    assert_int_equal(rig.sent[VQ_MSG_BYE], 1);
}

TEST_WITH(test_drain_without_a_coordinator_keeps_results, NULL, teardown)
{
    begin((struct vq_work_options){.local = -1, .has_spool = true});
    rig_open(&rig, 1);
    rig_lease(&rig, 0, 1, false);
    rig_step(&rig, (struct vq_work_event){.type = VQ_WORK_DRAIN});
    rig_answer(&rig, 0, "Model: A");
    rig_wait(&rig, 12000); /* silent all the while */
    assert_int_equal(rig.exit_code, VQ_WORK_EXIT_STOPPED);
}

TEST_WITH(test_a_failed_call_is_not_retried_while_draining, NULL, teardown)
{
    begin((struct vq_work_options){.local = 0});
    rig_open(&rig, 1);
    rig_lease(&rig, 0, 1, true);
    rig_step(&rig, (struct vq_work_event){.type = VQ_WORK_DRAIN});
    uint64_t task = rig.calls[0].task;
    rig_forget(&rig);
    rig_fail(&rig, 0, VQ_END_PROVIDER, -1);
    assert_int_equal(rig.results_count, 1);
    assert_false(rig.results[0].r.final); /* not failed: given back */
    assert_int_equal(rig.returned_count, 1);
    assert_int_equal(rig.returned[0], task);
    assert_string_equal(rig.log, "RX"); /* the result first */
}

TEST_WITH(test_stop_leaves_now, NULL, teardown)
{
    begin((struct vq_work_options){.local = 0});
    rig_open(&rig, 1);
    rig_lease(&rig, 0, 1, false);
    rig_step(&rig, (struct vq_work_event){.type = VQ_WORK_STOP});
    assert_int_equal(rig.exit_code, VQ_WORK_EXIT_STOPPED);
    struct vq_work_action action;
    assert_false(vq_work_next(rig.w, &action));
    assert_int_equal(vq_work_wake_ns(rig.w), INT64_MAX);
}

TEST_WITH(test_good_byes, NULL, teardown)
{
    static const struct {
        enum vq_bye_code code;
        int exit_code;
    } byes[] = {{VQ_BYE_DONE, VQ_WORK_EXIT_DONE},      {VQ_BYE_STOPPED, VQ_WORK_EXIT_STOPPED},
                {VQ_BYE_VERSION, VQ_WORK_EXIT_USAGE},  {VQ_BYE_OTHER_RUN, VQ_WORK_EXIT_USAGE},
                {VQ_BYE_PROTOCOL, VQ_WORK_EXIT_FATAL}, {VQ_BYE_LEAVING, -1}};
    for (size_t i = 0; i < VQ_COUNT(byes); i++) {
        begin((struct vq_work_options){.local = 0});
        rig_open(&rig, 1);
        rig_bye(&rig, byes[i].code);
        assert_int_equal(rig.exit_code, byes[i].exit_code);
        vq_work_destroy(&rig.w);
    }
    begin((struct vq_work_options){.local = 0});
    rig_open(&rig, 1);
    rig_lease(&rig, 0, 1, false);
    rig_answer(&rig, 0, "Model: A");
    rig_bye(&rig, VQ_BYE_DONE); /* but something was not ACKed */
    assert_int_equal(rig.exit_code, VQ_WORK_EXIT_STOPPED);
}

/* What is in flight at the end is paid for: its answer reaches the spool before the worker
 * leaves. */
TEST_WITH(test_the_end_of_the_run_waits_for_the_calls_in_flight, NULL, teardown)
{
    begin((struct vq_work_options){.local = 0, .has_spool = true});
    rig_open(&rig, 1);
    rig_lease(&rig, 0, 1, false);
    assert_int_equal(rig.calls_ever, 1);
    rig_forget(&rig);
    rig_bye(&rig, VQ_BYE_DONE);
    assert_int_equal(rig.exit_code, -1);
    rig_wait(&rig, 1000);
    rig_bye(&rig, VQ_BYE_DONE); /* told twice */
    assert_string_equal(rig.log, "");
    rig_step(&rig, (struct vq_work_event){.type = VQ_WORK_DRAIN}); /* the coordinator's goodbye */
    assert_int_equal(rig.exit_code, -1);
    rig_answer(&rig, 0, "Model: A");
    assert_int_equal(rig.calls_ever, 1);
    assert_string_equal(rig.log, "nwE"); /* noted and written; nobody would take a RESULTS */
    assert_int_equal(rig.exit_code, VQ_WORK_EXIT_STOPPED);
}

/* So is what is in flight when the coordinator cannot go on: a full disk, say. */
TEST_WITH(test_a_stopped_run_waits_for_the_calls_in_flight, NULL, teardown)
{
    begin((struct vq_work_options){.local = 0, .has_spool = true});
    rig_open(&rig, 1);
    rig_lease(&rig, 0, 1, false);
    rig_forget(&rig);
    rig_bye(&rig, VQ_BYE_STOPPED);
    assert_int_equal(rig.exit_code, -1);
    rig_answer(&rig, 0, "Model: A");
    assert_string_equal(rig.log, "nwE");
    assert_int_equal(rig.exit_code, VQ_WORK_EXIT_STOPPED);
}

TEST_WITH(test_the_end_of_the_run_does_not_wait_for_long, NULL, teardown)
{
    begin((struct vq_work_options){.local = 0, .has_spool = true});
    rig_open(&rig, 1);
    rig_lease(&rig, 0, 1, false);
    rig_bye(&rig, VQ_BYE_DONE);
    rig_wait(&rig, 4900);
    assert_int_equal(rig.exit_code, -1);
    rig_wait(&rig, 200);
    assert_int_equal(rig.exit_code, VQ_WORK_EXIT_STOPPED);
    vq_work_destroy(&rig.w);
    begin((struct vq_work_options){.local = -1}); /* its answer could not be kept */
    rig_open(&rig, 1);
    rig_lease(&rig, 0, 1, false);
    rig_bye(&rig, VQ_BYE_DONE);
    assert_int_equal(rig.exit_code, VQ_WORK_EXIT_STOPPED);
}

TEST_WITH(test_a_bye_without_session_refuses_the_hello, NULL, teardown)
{
    begin((struct vq_work_options){.local = 0});
    rig_step(&rig, (struct vq_work_event){.type = VQ_WORK_CONNECTED});
    rig.session = 0;
    rig_bye(&rig, VQ_BYE_VERSION);
    assert_int_equal(rig.exit_code, VQ_WORK_EXIT_USAGE);
}

TEST_WITH(test_a_spool_that_cannot_be_written_ends_it, NULL, teardown)
{
    begin((struct vq_work_options){.local = 0, .has_spool = true});
    rig_open(&rig, 1);
    rig_lease(&rig, 0, 1, false);
    rig_fail(&rig, 0, VQ_END_NETWORK, -1); /* what the shell says when it could not note the send */
    rig_fail(&rig, 0, VQ_END_NETWORK, -1);
    rig_fail(&rig, 0, VQ_END_NETWORK, -1);
    rig_fail(&rig, 0, VQ_END_NETWORK, -1);
    rig_step(&rig, (struct vq_work_event){.type = VQ_WORK_SPOOL_FAILED});
    rig_wait(&rig, 10);
    assert_int_equal(rig.exit_code, -1);
    rig_ack(&rig, 0, rig.results_count);
    assert_int_equal(rig.exit_code, VQ_WORK_EXIT_FATAL);
}

TEST_WITH(test_an_unusable_spec_ends_it_with_a_reason, NULL, teardown)
{
    begin((struct vq_work_options){.local = 0});
    rig_step(&rig, (struct vq_work_event){.type = VQ_WORK_CONNECTED});
    rig_welcome(&rig);
    rig_message(&rig,
                (struct vq_msg){.type = VQ_MSG_SPEC,
                                .u.spec = {rig.session, rig.spec_hash, vq_span_str("nonsense")}});
    assert_int_equal(rig.exit_code, VQ_WORK_EXIT_FATAL);
    assert_true(rig.notes >= 1);
}

TEST_WITH(test_a_spec_that_got_lost_is_asked_for_again, NULL, teardown)
{
    begin((struct vq_work_options){.local = 0});
    rig_step(&rig, (struct vq_work_event){.type = VQ_WORK_CONNECTED});
    rig_welcome(&rig);
    rig_wait(&rig, RIG_BEAT_MS);
    struct vq_msg echo = {
        .type = VQ_MSG_HEARTBEAT,
        .u.held = {.session = rig.session, .stamp_ns = rig.last[VQ_MSG_HEARTBEAT].u.held.stamp_ns}};
    assert_int_equal(rig.sent[VQ_MSG_HELLO], 1);
    rig_message(&rig, echo); /* the SPEC was sent before it */
    assert_int_equal(rig.sent[VQ_MSG_HELLO], 2);
    rig_welcome(&rig);
    rig_spec(&rig);
    assert_int_equal(rig.keys, 1);
    rig_wait(&rig, RIG_BEAT_MS);
    echo.u.held.session = rig.session;
    echo.u.held.stamp_ns = rig.last[VQ_MSG_HEARTBEAT].u.held.stamp_ns;
    rig_message(&rig, echo);
    assert_int_equal(rig.sent[VQ_MSG_HELLO], 2);
}
