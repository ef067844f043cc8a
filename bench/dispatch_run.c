/* The coordinator of bench-dispatch: vq_run_carry_out, called as in `vibeq run --workers 0`,
 * complete and unchanged. The measurements are taken at a few of its calls, which the linker
 * (-Wl,--wrap) redirects through this file:
 *
 *   vq_coord_next      starts the clock at the first LEASE and stops it at FINISHED; counts actions
 *   vq_msg_decode, vq_router_send      frames and bytes in each direction
 *   vq_commit_run      time of the commit job; if the store is off, replaced by one that only
 *                      remembers outcomes
 *
 * It asks the method's first questions and does not evaluate the answers: another bench measures
 * the statistics. */
#include "bench/dispatch.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "coordinator/run/parts.h"
#include "methods/files/job_work.h"
#include "methods/vibecheck/files/job.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static struct {
    bool store;
    uint64_t tasks;
    int64_t begin_ns, end_ns;
    struct rusage begin, end, begin_loop, end_loop;
    uint64_t frames_out, bytes_out, frames_in, bytes_in;
    uint64_t leases, asks, samples, acks, lookups;
    uint64_t commits, results;
    int64_t commit_ns, commit_cpu_ns;
    uint8_t *outcomes; /* of a run without a store */
} seen;

/* ---- redirected calls ---- */

static void count(const struct vq_coord_action *action)
{
    const struct vq_msg *msg = &action->u.send.msg;
    if (action->type == VQ_COORD_SEND && msg->type == VQ_MSG_LEASE) {
        seen.leases++;
        seen.asks += msg->u.lease.asks_count;
    } else if (action->type == VQ_COORD_SEND && msg->type == VQ_MSG_ACK) {
        seen.acks++;
    } else if (action->type == VQ_COORD_SAMPLE) {
        seen.samples++;
    } else if (action->type == VQ_COORD_LOOKUP) {
        seen.lookups++;
    }
}

bool __real_vq_coord_next(struct vq_coord *c, int64_t now_ns, struct vq_coord_action *ret_action);
bool __wrap_vq_coord_next(struct vq_coord *c, int64_t now_ns, struct vq_coord_action *ret_action);
bool __wrap_vq_coord_next(struct vq_coord *c, int64_t now_ns, struct vq_coord_action *ret_action)
{
    bool got = __real_vq_coord_next(c, now_ns, ret_action);
    if (!got) {
        return false;
    }
    count(ret_action);
    if (seen.begin_ns == 0 && seen.leases > 0) {
        (void)getrusage(RUSAGE_SELF, &seen.begin);
        (void)getrusage(RUSAGE_THREAD, &seen.begin_loop);
        seen.begin_ns = vq_clock_mono_ns();
    } else if (ret_action->type == VQ_COORD_FINISHED) {
        seen.end_ns = vq_clock_mono_ns();
        (void)getrusage(RUSAGE_SELF, &seen.end);
        (void)getrusage(RUSAGE_THREAD, &seen.end_loop);
    }
    return true;
}

enum vq_status __real_vq_msg_decode(struct vq_decoder *decoder, struct vq_span frame,
                                    enum vq_direction direction, struct vq_msg *ret_msg,
                                    struct vq_error *err);
enum vq_status __wrap_vq_msg_decode(struct vq_decoder *decoder, struct vq_span frame,
                                    enum vq_direction direction, struct vq_msg *ret_msg,
                                    struct vq_error *err);
enum vq_status __wrap_vq_msg_decode(struct vq_decoder *decoder, struct vq_span frame,
                                    enum vq_direction direction, struct vq_msg *ret_msg,
                                    struct vq_error *err)
{
    seen.frames_in++;
    seen.bytes_in += frame.bytes;
    return __real_vq_msg_decode(decoder, frame, direction, ret_msg, err);
}

enum vq_status __real_vq_router_send(struct vq_router *router, uint64_t peer, struct vq_span frame);
enum vq_status __wrap_vq_router_send(struct vq_router *router, uint64_t peer, struct vq_span frame);
enum vq_status __wrap_vq_router_send(struct vq_router *router, uint64_t peer, struct vq_span frame)
{
    seen.frames_out++;
    seen.bytes_out += frame.bytes;
    return __real_vq_router_send(router, peer, frame);
}

static int64_t thread_cpu_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * VQ_NS_PER_S + t.tv_nsec;
}

static int by_task(const void *a, const void *b)
{
    const struct vq_settled *x = a;
    const struct vq_settled *y = b;
    return (x->task > y->task) - (x->task < y->task);
}

/* A commit that stores nothing. Every answer of this bench is a parsed A or B, so each outcome is
 * in force as it came. */
static enum vq_status commit_nowhere(const struct vq_batch *batch, struct vq_commit *ret_commit)
{
    static uint64_t n;
    size_t count = batch->results_count;
    struct vq_settled *standing = vq_alloc(2 * count, sizeof(*standing));
    if (standing == NULL) {
        return VQ_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        const struct vq_result *r = &batch->results[i];
        seen.outcomes[r->task] = r->outcome;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t first = batch->results[i].task & ~UINT64_C(1);
        standing[2 * i] = (struct vq_settled){first, seen.outcomes[first]};
        standing[2 * i + 1] = (struct vq_settled){first + 1, seen.outcomes[first + 1]};
    }
    qsort(standing, 2 * count, sizeof(*standing), by_task);
    size_t kept = 0;
    for (size_t i = 0; i < 2 * count; i++) {
        if (kept == 0 || standing[kept - 1].task != standing[i].task) {
            standing[kept++] = standing[i];
        }
    }
    *ret_commit = (struct vq_commit){.n = ++n, .standing = standing, .standing_count = kept};
    return VQ_OK;
}

enum vq_status __real_vq_commit_run(struct vq_calls *calls, const struct vq_plan *plan,
                                    const struct vq_id *run, uint64_t epoch,
                                    const struct vq_batch *batch, int64_t unix_ms,
                                    struct vq_commit *ret_commit, struct vq_error *err);
enum vq_status __wrap_vq_commit_run(struct vq_calls *calls, const struct vq_plan *plan,
                                    const struct vq_id *run, uint64_t epoch,
                                    const struct vq_batch *batch, int64_t unix_ms,
                                    struct vq_commit *ret_commit, struct vq_error *err);
enum vq_status __wrap_vq_commit_run(struct vq_calls *calls, const struct vq_plan *plan,
                                    const struct vq_id *run, uint64_t epoch,
                                    const struct vq_batch *batch, int64_t unix_ms,
                                    struct vq_commit *ret_commit, struct vq_error *err)
{
    int64_t begin_ns = vq_clock_mono_ns();
    int64_t begin_cpu_ns = thread_cpu_ns();
    enum vq_status status =
        seen.store ? __real_vq_commit_run(calls, plan, run, epoch, batch, unix_ms, ret_commit, err)
                   : commit_nowhere(batch, ret_commit);
    seen.commit_ns += vq_clock_mono_ns() - begin_ns;
    seen.commit_cpu_ns += thread_cpu_ns() - begin_cpu_ns;
    seen.commits++;
    seen.results += batch->results_count;
    return status;
}

enum vq_status __wrap_vq_finish_accounting(struct vq_run *run, struct vq_error *err);
enum vq_status __wrap_vq_finish_accounting(struct vq_run *run, struct vq_error *err)
{
    (void)run;
    (void)err;
    return VQ_OK;
}

/* ---- the run ---- */

static const char config_yaml[] = "data:\n"
                                  "  path: data.csv\n"
                                  "  prompt: question\n"
                                  "  near_duplicate: 0\n"
                                  "models: [left, right]\n"
                                  "method: preset\n"
                                  "workers: 0\n"
                                  "judges:\n"
                                  "  - {model: judge-a, base_url: 'http://127.0.0.1:9/v1', "
                                  "concurrency: 1024}\n"
                                  "  - {model: judge-b, base_url: 'http://127.0.0.1:9/v1', "
                                  "concurrency: 1024}\n";

static enum vq_status make_job(const char *dir, struct vq_job **ret_job, struct vq_error *err)
{
    struct vq_config *config;
    VQ_TRY(
        vq_config_parse(config_yaml, sizeof(config_yaml) - 1, "bench", dir, NULL, 0, &config, err));
    return vq_job_create(config, NULL, ret_job, err);
}

static double seconds(const struct timeval *t)
{
    return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

static double cpu_s(const struct rusage *u)
{
    return seconds(&u->ru_utime) + seconds(&u->ru_stime);
}

static void report(void)
{
    struct rusage children;
    (void)getrusage(RUSAGE_CHILDREN, &children);
    double loop = cpu_s(&seen.end_loop) - cpu_s(&seen.begin_loop);
    double commit = (double)seen.commit_cpu_ns / 1e9;
    double all = cpu_s(&seen.end) - cpu_s(&seen.begin);
    (void)printf("tasks=%llu seconds=%.4f loop_cpu_s=%.3f commit_cpu_s=%.3f io_cpu_s=%.3f "
                 "redis_cpu_s=%.3f commit_s=%.3f commits=%llu results=%llu leases=%llu asks=%llu "
                 "samples=%llu acks=%llu lookups=%llu "
                 "frames_out=%llu bytes_out=%llu frames_in=%llu bytes_in=%llu switches=%ld\n",
                 (unsigned long long)seen.tasks, (double)(seen.end_ns - seen.begin_ns) / 1e9, loop,
                 commit, all - loop - commit, cpu_s(&children), (double)seen.commit_ns / 1e9,
                 (unsigned long long)seen.commits, (unsigned long long)seen.results,
                 (unsigned long long)seen.leases, (unsigned long long)seen.asks,
                 (unsigned long long)seen.samples, (unsigned long long)seen.acks,
                 (unsigned long long)seen.lookups, (unsigned long long)seen.frames_out,
                 (unsigned long long)seen.bytes_out, (unsigned long long)seen.frames_in,
                 (unsigned long long)seen.bytes_in,
                 seen.end.ru_nvcsw + seen.end.ru_nivcsw - seen.begin.ru_nvcsw -
                     seen.begin.ru_nivcsw);
}

/* ---- the questions ---- */

struct first_stage {
    struct vq_script of;
    bool taken;
};

static enum vq_status first_next(void *ctx, const struct vq_stage **ret_stage, struct vq_error *err)
{
    struct first_stage *first = ctx;
    if (first->taken) {
        *ret_stage = NULL;
        return VQ_OK;
    }
    return first->of.ops->next(first->of.ctx, ret_stage, err);
}

static enum vq_status first_take(void *ctx, const uint8_t *outcomes, size_t count,
                                 struct vq_error *err)
{
    (void)outcomes;
    (void)count;
    (void)err;
    ((struct first_stage *)ctx)->taken = true;
    return VQ_OK;
}

static uint32_t first_notes(const void *ctx, const char *const **ret_notes)
{
    (void)ctx;
    *ret_notes = NULL;
    return 0;
}

static const struct vq_script_ops first_ops = {
    .next = first_next, .take_outcomes = first_take, .notes = first_notes};

static enum vq_status carry_out(const char *dir, struct vq_job *job,
                                struct vq_vibecheck_method *method, struct vq_error *err)
{
    char runs[4096];
    (void)snprintf(runs, sizeof(runs), "%s/runs", dir);
    struct vq_run_dir *run = NULL;
    struct first_stage first = {.of = vq_vibecheck_script(method)};
    struct vq_script script = {&first_ops, &first};
    struct vq_run_options options = {.runs_dir = runs, .quiet = true};
    struct vq_job_work work;
    vq_job_work_beside(job, &script, &work);
    enum vq_run_end end = VQ_RUN_FAILED;
    VQ_TRY(vq_run_dir_create(runs, BENCH_RUN, &run, err));
    enum vq_status status = vq_job_keep(job, run, err);
    if (status == VQ_OK) {
        status = vq_run_carry_out(&options, &work.work, run, &end, err);
    }
    if (status == VQ_OK && (end != VQ_RUN_DONE || seen.end_ns == 0)) {
        status = vq_fail(err, VQ_UNAVAILABLE, "the run did not come to its end");
    }
    vq_run_dir_close(&run);
    return status;
}

int bench_coordinator(const char *dir, int store)
{
    struct vq_job *job = NULL;
    struct vq_vibecheck_method *method = NULL;
    struct vq_error err = {0};
    seen.store = store != 0;
    enum vq_status status = make_job(dir, &job, &err);
    if (status == VQ_OK) {
        struct vq_vibecheck_method_input input;
        vq_vibecheck_job_input(job, &input);
        status = vq_vibecheck_method_create(&input, &method, &err);
    }
    if (status == VQ_OK) {
        seen.tasks = vq_grid_tasks(&job->given->plan.grid);
        seen.outcomes = vq_alloc(seen.tasks, 1);
        status = seen.outcomes == NULL ? VQ_NOMEM : carry_out(dir, job, method, &err);
    }
    if (status == VQ_OK) {
        report();
    } else {
        (void)fprintf(stderr, "bench-dispatch: %s\n",
                      err.text[0] != '\0' ? err.text : vq_status_text(status));
    }
    vq_vibecheck_method_destroy(&method);
    vq_job_destroy(&job);
    vq_free(seen.outcomes);
    return status == VQ_OK ? 0 : 1;
}
