/* A batch is validated; then its lines are done one after the other at an even pace. The work is
 * cut off by the earliest of its end, its expiry and its cancellation; then results are written.
 * Invariant: the phase is a function of the course and now, and only a cancellation changes a
 * course. Not its job: the answer of a line (store.c). */
#include "offline/batch/course.h"

#include "common/base/clock.h"
#include "offline/faults/rules.h"

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* When the n-th line, from 1, is done, unless the work is cut off. */
static int64_t line_ns(const struct vq_offline_batch_course *course, uint64_t n)
{
    double part = course->lines == 0 ? 1 : (double)n / (double)course->lines;
    double takes_ns = (double)(course->work_ns - course->valid_ns);
    return n >= course->lines ? course->work_ns : course->valid_ns + (int64_t)(takes_ns * part);
}

void vq_offline_batch_course_plan(const struct vq_offline_batch_rules *rules, uint64_t seed,
                                  const struct vq_hash *hash, uint64_t nth, uint64_t lines,
                                  int64_t now_ns, struct vq_offline_batch_course *ret_course)
{
    int64_t takes_ns =
        vq_latency_draw_ns(&rules->duration, vq_fault_draw(seed, "batch-takes", 0, hash, nth),
                           vq_fault_draw(seed, "batch-takes", 1, hash, nth));
    int64_t valid_ns = now_ns + rules->validate_ms * VQ_NS_PER_MS;
    struct vq_offline_batch_course course = {.lines = lines,
                                             .lines_done_max = lines,
                                             .created_ns = now_ns,
                                             .valid_ns = valid_ns,
                                             .work_ns = valid_ns + takes_ns,
                                             .expires_ns =
                                                 now_ns + rules->expires_ms * VQ_NS_PER_MS,
                                             .cancel_ns = VQ_BATCH_NEVER,
                                             .finalize_takes_ns = rules->finalize_ms * VQ_NS_PER_MS,
                                             .cancel_takes_ns = rules->cancel_ms * VQ_NS_PER_MS};
    if (lines > 0 && vq_fault_draw(seed, "batch-never", 0, hash, nth) < rules->never) {
        course.lines_done_max = lines - 1;
    }
    if (rules->expire_after > 0 && rules->expire_after < lines) {
        course.lines_done_max = rules->expire_after;
        course.expires_ns = earlier(course.expires_ns, line_ns(&course, rules->expire_after));
    }
    *ret_course = course;
}

/* When the last line is done; VQ_BATCH_NEVER. */
static int64_t complete_ns(const struct vq_offline_batch_course *course)
{
    return course->lines_done_max == course->lines ? course->work_ns : VQ_BATCH_NEVER;
}

int64_t vq_offline_batch_course_stop_ns(const struct vq_offline_batch_course *course)
{
    if (course->is_refused) {
        return earlier(course->valid_ns, course->cancel_ns);
    }
    return earlier(course->cancel_ns, earlier(course->expires_ns, complete_ns(course)));
}

int64_t vq_offline_batch_course_end_ns(const struct vq_offline_batch_course *course)
{
    int64_t stop_ns = vq_offline_batch_course_stop_ns(course);
    if (stop_ns == course->cancel_ns) {
        return stop_ns == VQ_BATCH_NEVER ? stop_ns : stop_ns + course->cancel_takes_ns;
    }
    return course->is_refused ? stop_ns : stop_ns + course->finalize_takes_ns;
}

enum vq_offline_batch_phase
vq_offline_batch_course_phase(const struct vq_offline_batch_course *course, int64_t now_ns)
{
    int64_t stop_ns = vq_offline_batch_course_stop_ns(course);
    bool is_over = now_ns >= vq_offline_batch_course_end_ns(course);
    if (now_ns < stop_ns) {
        return now_ns < course->valid_ns ? VQ_BATCH_VALIDATING : VQ_BATCH_RUNNING;
    }
    if (stop_ns == course->cancel_ns) {
        return is_over ? VQ_BATCH_CANCELLED : VQ_BATCH_CANCELLING;
    }
    if (course->is_refused) {
        return VQ_BATCH_FAILED;
    }
    if (!is_over) {
        return VQ_BATCH_FINALIZING;
    }
    return stop_ns == complete_ns(course) ? VQ_BATCH_COMPLETED : VQ_BATCH_EXPIRED;
}

bool vq_offline_batch_phase_is_last(enum vq_offline_batch_phase phase)
{
    return phase == VQ_BATCH_FAILED || phase >= VQ_BATCH_COMPLETED;
}

uint64_t vq_offline_batch_course_done(const struct vq_offline_batch_course *course, int64_t now_ns)
{
    int64_t until_ns = earlier(now_ns, vq_offline_batch_course_stop_ns(course));
    if (course->is_refused || until_ns < course->valid_ns) {
        return 0;
    }
    double takes_ns = (double)(course->work_ns - course->valid_ns);
    double part = takes_ns > 0 ? (double)(until_ns - course->valid_ns) / takes_ns : 1;
    uint64_t n = part >= 1 ? course->lines : (uint64_t)((double)course->lines * part);
    while (n < course->lines && line_ns(course, n + 1) <= until_ns) {
        n++;
    }
    while (n > 0 && line_ns(course, n) > until_ns) {
        n--;
    }
    return n < course->lines_done_max ? n : course->lines_done_max;
}

int64_t vq_offline_batch_course_next_ns(const struct vq_offline_batch_course *course,
                                        int64_t now_ns)
{
    int64_t stop_ns = vq_offline_batch_course_stop_ns(course);
    int64_t end_ns = vq_offline_batch_course_end_ns(course);
    if (now_ns >= stop_ns) {
        return now_ns < end_ns ? end_ns : VQ_BATCH_NEVER;
    }
    if (now_ns < course->valid_ns) {
        return earlier(course->valid_ns, stop_ns);
    }
    uint64_t done = vq_offline_batch_course_done(course, now_ns);
    return done < course->lines_done_max ? earlier(line_ns(course, done + 1), stop_ns) : stop_ns;
}

void vq_offline_batch_course_cancel(struct vq_offline_batch_course *course, int64_t now_ns)
{
    if (course->cancel_ns == VQ_BATCH_NEVER && now_ns < vq_offline_batch_course_stop_ns(course)) {
        course->cancel_ns = now_ns;
    }
}
