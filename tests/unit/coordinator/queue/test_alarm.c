/* The alarm of a run without progress: when it is raised, once, and what clears it. */
#include "tests/unit/test.h"

#include "coordinator/queue/alarm.h"

static struct vq_alarm_facts quiet(uint64_t answers)
{
    return (struct vq_alarm_facts){.answers = answers, .open = 5};
}

static enum vq_alarm_change look(struct vq_alarm *a, struct vq_alarm_facts facts, int64_t now_ns)
{
    return vq_alarm_look(a, &facts, now_ns);
}

TEST(it_is_raised_once_and_cleared_once)
{
    struct vq_alarm a;
    vq_alarm_init(&a, 100, 1000);
    assert_int_equal(look(&a, quiet(0), 1099), VQ_ALARM_SAME);
    assert_int_equal(look(&a, quiet(0), 1100), VQ_ALARM_RAISED);
    assert_int_equal(a.quiet_since_ns, 1000);
    assert_int_equal(look(&a, quiet(0), 5000), VQ_ALARM_SAME);
    assert_true(a.raised);
    assert_int_equal(look(&a, quiet(1), 5001), VQ_ALARM_CLEARED);
    assert_int_equal(look(&a, quiet(1), 5100), VQ_ALARM_SAME);
    assert_int_equal(look(&a, quiet(1), 5101), VQ_ALARM_RAISED);
    assert_int_equal(a.quiet_since_ns, 5001);
}

TEST(an_answer_begins_the_time_anew)
{
    struct vq_alarm a;
    vq_alarm_init(&a, 100, 0);
    for (uint64_t n = 1; n <= 50; n++) {
        assert_int_equal(look(&a, quiet(n), (int64_t)n * 99), VQ_ALARM_SAME);
    }
    assert_int_equal(look(&a, quiet(50), 50 * 99 + 100), VQ_ALARM_RAISED);
}

TEST(what_rests_or_is_done_is_not_quiet)
{
    struct vq_alarm a;
    struct vq_alarm_facts rests = {.answers = 1, .open = 5, .rests = true};
    struct vq_alarm_facts none = {.answers = 1};
    vq_alarm_init(&a, 100, 0);
    assert_int_equal(look(&a, rests, 500), VQ_ALARM_SAME);
    assert_int_equal(look(&a, quiet(1), 599), VQ_ALARM_SAME);
    assert_int_equal(look(&a, none, 700), VQ_ALARM_SAME);
    assert_int_equal(look(&a, quiet(1), 799), VQ_ALARM_SAME);
    assert_int_equal(look(&a, quiet(1), 800), VQ_ALARM_RAISED);
    assert_int_equal(look(&a, rests, 801), VQ_ALARM_CLEARED);
    assert_int_equal(look(&a, quiet(1), 900), VQ_ALARM_SAME);
    assert_int_equal(look(&a, quiet(1), 901), VQ_ALARM_RAISED);
    assert_int_equal(look(&a, none, 902), VQ_ALARM_CLEARED);
}

TEST(zero_is_off_and_a_clock_that_goes_back_does_no_harm)
{
    struct vq_alarm a;
    vq_alarm_init(&a, 0, 0);
    assert_int_equal(look(&a, quiet(0), INT64_C(1) << 60), VQ_ALARM_SAME);
    vq_alarm_init(&a, 100, 1000);
    assert_int_equal(look(&a, quiet(1), 500), VQ_ALARM_SAME);
    assert_int_equal(a.quiet_since_ns, 1000);
    assert_int_equal(look(&a, quiet(1), 1099), VQ_ALARM_SAME);
    assert_int_equal(look(&a, quiet(1), 1100), VQ_ALARM_RAISED);
}
