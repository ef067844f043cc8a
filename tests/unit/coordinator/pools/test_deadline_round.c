/* Decisions of a deadline as the queue carries them out: one lever for all open calls, batches to
 * cancel, and the rate of the interactive pools. The nights are in test_deadline.c. */
#include "tests/unit/test.h"

#include "coordinator/pools/deadline_round.h"

#include <math.h>

static struct vq_deadline_state hour(uint64_t open)
{
    return (struct vq_deadline_state){.now_s = 1000,
                                      .deadline_s = 1000 + 3600,
                                      .rate = 1,
                                      .interactive_usd = 2,
                                      .batch_usd = 1,
                                      .open = open};
}

static struct vq_deadline_round played(struct vq_deadline_state s)
{
    struct vq_deadline_round round;
    vq_deadline_round(&s, NULL, false, &round);
    return round;
}

TEST(with_slack_all_open_calls_go_into_batches)
{
    struct vq_deadline_round round = played(hour(1600));
    assert_true(!round.direct && round.keep == 0 && round.count == 0);
}

TEST(what_a_batch_gave_back_is_kept_for_the_interactive_pools)
{
    struct vq_deadline_state s = hour(1600);
    s.returned = 30;
    struct vq_deadline_round round = played(s);
    assert_true(!round.direct && round.keep == 30);
    s.open = 0;
    assert_true(played(s).direct);
}

/* Until its calls are open, no one can see that they came from a batch. */
TEST(while_nothing_is_open_the_lever_is_set_for_what_comes_back)
{
    assert_true(played(hour(0)).direct);
    struct vq_deadline_state s = hour(0);
    s.rate = 0; /* no interactive pool takes calls */
    assert_false(played(s).direct);
}

TEST(without_slack_some_calls_are_kept_and_the_others_go_into_batches)
{
    struct vq_deadline_round round = played(hour(10000));
    assert_true(!round.direct && round.keep == 2 * VQ_DEADLINE_LEAD_S);
    assert_true(played(hour(2 * VQ_DEADLINE_LEAD_S)).direct || played(hour(480)).keep == 0);
    struct vq_deadline_state s = hour(2 * VQ_DEADLINE_LEAD_S + 20);
    s.now_s = s.deadline_s - 600;
    assert_true(played(s).direct); /* 20 calls are no batch */
}

/* Second orders that wait for the first ones, which are in a batch. */
TEST(what_answers_will_open_may_go_into_batches)
{
    struct vq_deadline_batch batch = {.submitted_s = 900, .calls = 100};
    struct vq_deadline_state s = hour(0);
    struct vq_deadline_round round;
    s.batches = &batch;
    s.batches_count = 1;
    vq_deadline_round(&s, &batch, true, &round);
    assert_false(round.direct);
    s.now_s = s.deadline_s - 400;
    vq_deadline_round(&s, &batch, true, &round);
    assert_true(round.direct && batch.cancelling); /* its calls are bought when they come back */
}

TEST(batches_are_cancelled_until_the_interactive_pools_have_enough)
{
    struct vq_deadline_batch batches[] = {{.submitted_s = 0, .calls = 100},
                                          {.submitted_s = 0, .calls = 100},
                                          {.submitted_s = 0, .calls = 100},
                                          {.submitted_s = 0, .calls = 100}};
    struct vq_deadline_state s = hour(0);
    s.now_s = s.deadline_s - 400;
    s.batches = batches;
    s.batches_count = 4;
    struct vq_deadline_round round;
    vq_deadline_round(&s, batches, false, &round);
    assert_true(round.direct && round.count == 3); /* 300 calls are more than 240 seconds */
    uint32_t cancelling = 0;
    for (int i = 0; i < 4; i++) {
        cancelling += batches[i].cancelling;
    }
    assert_int_equal(cancelling, 3);
    assert_int_equal(round.at_s, s.now_s + 300 - VQ_DEADLINE_LEAD_S);
}

TEST(after_the_deadline_everything_is_asked_interactively)
{
    struct vq_deadline_state s = hour(10000);
    s.now_s = s.deadline_s + 60;
    assert_true(played(s).direct);
}

/* ---- rates ---- */

TEST(a_pool_is_as_fast_as_its_lowest_limit)
{
    struct vq_deadline_tokens tokens = {.in = 1000, .out = 50};
    struct vq_authority_pool_status p = {.state = VQ_AUTHORITY_OPEN, .limit = {.concurrency = 8}};
    assert_true(fabs(vq_deadline_pool_rate(&p, tokens, false) - 4) < 1e-9); /* 2 seconds a call */
    p.limit.rates.requests = 120;
    assert_true(fabs(vq_deadline_pool_rate(&p, tokens, false) - 2) < 1e-9);
    p.limit.rates.input_tokens = 60000;
    assert_true(fabs(vq_deadline_pool_rate(&p, tokens, false) - 1) < 1e-9);
    p.limit.rates.tokens = 31500;
    assert_true(fabs(vq_deadline_pool_rate(&p, tokens, false) - 0.5) < 1e-9);
    p.lately.requests = 90;
    assert_true(fabs(vq_deadline_pool_rate(&p, tokens, true) - 1.5) < 1e-9); /* it was measured */
    p.state = VQ_AUTHORITY_HELD;
    assert_true(vq_deadline_pool_rate(&p, tokens, true) == 0);
}
