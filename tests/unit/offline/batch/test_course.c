/* The course of a batch as a function of now. */

#include "tests/unit/test.h"

#include "common/base/clock.h"
#include "offline/batch/course.h"

#define MS VQ_NS_PER_MS

static struct vq_offline_batch_course plan(const char *options, uint64_t lines)
{
    struct vq_offline_batch_rules_set set = {.n = 0};
    struct vq_error err = {0};
    struct vq_hash hash = {{0}};
    struct vq_offline_batch_course course;
    if (vq_offline_batch_rules_add(&set, options, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    vq_offline_batch_course_plan(vq_offline_batch_rules_find(&set, "m"), 7, &hash, 1, lines,
                                 1000 * MS, &course);
    return course;
}

static void at(const struct vq_offline_batch_course *course, int64_t ms,
               enum vq_offline_batch_phase phase, uint64_t done)
{
    assert_int_equal(vq_offline_batch_course_phase(course, ms * MS), phase);
    assert_int_equal(vq_offline_batch_course_done(course, ms * MS), done);
}

TEST(goes_through_its_phases)
{
    struct vq_offline_batch_course course = plan("duration=100ms,validate_ms=10,finalize_ms=5", 10);
    at(&course, 1000, VQ_BATCH_VALIDATING, 0);
    at(&course, 1009, VQ_BATCH_VALIDATING, 0);
    at(&course, 1010, VQ_BATCH_RUNNING, 0);
    at(&course, 1020, VQ_BATCH_RUNNING, 1);
    at(&course, 1109, VQ_BATCH_RUNNING, 9);
    at(&course, 1110, VQ_BATCH_FINALIZING, 10);
    at(&course, 1115, VQ_BATCH_COMPLETED, 10);
    assert_int_equal(vq_offline_batch_course_end_ns(&course), 1115 * MS);
}

TEST(a_batch_without_rules_is_done_at_once)
{
    struct vq_offline_batch_course course = plan("reorder=off", 3);
    at(&course, 1000, VQ_BATCH_COMPLETED, 3);
    assert_int_equal(vq_offline_batch_course_next_ns(&course, 1000 * MS), VQ_BATCH_NEVER);
}

TEST(is_refused_when_its_validation_ends)
{
    struct vq_offline_batch_course course = plan("validate_ms=10,duration=5ms", 3);
    course.is_refused = true;
    at(&course, 1009, VQ_BATCH_VALIDATING, 0);
    at(&course, 1010, VQ_BATCH_FAILED, 0);
    at(&course, 9999, VQ_BATCH_FAILED, 0);
}

TEST(cancelling_keeps_what_is_done)
{
    struct vq_offline_batch_course course = plan("duration=100ms,cancel_ms=20", 10);
    vq_offline_batch_course_cancel(&course, 1035 * MS);
    vq_offline_batch_course_cancel(&course, 1090 * MS); /* a second time */
    at(&course, 1034, VQ_BATCH_RUNNING, 3);
    at(&course, 1035, VQ_BATCH_CANCELLING, 3);
    at(&course, 1055, VQ_BATCH_CANCELLED, 3);
    at(&course, 5000, VQ_BATCH_CANCELLED, 3);

    course = plan("duration=100ms,validate_ms=50", 10);
    vq_offline_batch_course_cancel(&course, 1010 * MS);
    at(&course, 1010, VQ_BATCH_CANCELLED, 0);

    course = plan("duration=100ms", 10);
    vq_offline_batch_course_cancel(&course, 1100 * MS); /* too late */
    at(&course, 1100, VQ_BATCH_COMPLETED, 10);
}

TEST(expires_in_time_or_after_some_lines)
{
    struct vq_offline_batch_course course = plan("duration=100ms,expires_ms=55,finalize_ms=5", 10);
    at(&course, 1054, VQ_BATCH_RUNNING, 5);
    at(&course, 1055, VQ_BATCH_FINALIZING, 5);
    at(&course, 1060, VQ_BATCH_EXPIRED, 5);

    course = plan("duration=100ms,expire_after=7", 10);
    at(&course, 1069, VQ_BATCH_RUNNING, 6);
    at(&course, 1070, VQ_BATCH_EXPIRED, 7);

    course = plan("expire_after=4", 10); /* without a duration too */
    at(&course, 1000, VQ_BATCH_EXPIRED, 4);

    course = plan("expire_after=10", 10);
    at(&course, 1000, VQ_BATCH_COMPLETED, 10);
}

TEST(may_never_end)
{
    struct vq_offline_batch_course course = plan("duration=100ms,never=1", 10);
    at(&course, 1099, VQ_BATCH_RUNNING, 9);
    at(&course, 3600 * 1000, VQ_BATCH_RUNNING, 9);
    vq_offline_batch_course_cancel(&course, 3600 * 1000 * MS);
    at(&course, 3600 * 1000, VQ_BATCH_CANCELLED, 9);
}

/* From each time to the next, at most one more line is done; the last time is the end. */
TEST(the_next_time_skips_nothing)
{
    struct vq_offline_batch_course course = plan("duration=97ms,validate_ms=3,finalize_ms=2", 13);
    int64_t now = 1000 * MS;
    uint64_t done = 0;
    size_t steps = 0;
    for (;;) {
        int64_t next = vq_offline_batch_course_next_ns(&course, now);
        if (next == VQ_BATCH_NEVER) {
            break;
        }
        assert_true(next > now);
        assert_int_equal(vq_offline_batch_course_done(&course, next - 1), done);
        now = next;
        uint64_t then = vq_offline_batch_course_done(&course, now);
        assert_true(then <= done + 1);
        done = then;
        assert_true(++steps < 20);
    }
    assert_int_equal(done, 13);
    assert_int_equal(now, vq_offline_batch_course_end_ns(&course));
}

TEST(a_range_of_durations_is_drawn_by_seed)
{
    struct vq_offline_batch_rules_set set = {.n = 0};
    struct vq_hash hash = {{1}};
    struct vq_offline_batch_course a;
    struct vq_offline_batch_course b;
    assert_int_equal(vq_offline_batch_rules_add(&set, "duration=uniform:1s:9s", NULL), VQ_OK);
    const struct vq_offline_batch_rules *rules = vq_offline_batch_rules_find(&set, "m");
    int64_t least = INT64_MAX;
    int64_t most = 0;
    for (uint64_t nth = 1; nth <= 100; nth++) {
        vq_offline_batch_course_plan(rules, 7, &hash, nth, 10, 0, &a);
        vq_offline_batch_course_plan(rules, 7, &hash, nth, 10, 0, &b);
        assert_int_equal(a.work_ns, b.work_ns);
        least = a.work_ns < least ? a.work_ns : least;
        most = a.work_ns > most ? a.work_ns : most;
    }
    assert_true(least >= VQ_NS_PER_S && least < 2 * VQ_NS_PER_S);
    assert_true(most <= 9 * VQ_NS_PER_S && most > 8 * VQ_NS_PER_S);
}
