/* A coordinator's start in the call store: raises the epoch, durably. This write may have to wait
 * for another process, so it runs in the thread pool while the loop reports the reason of the wait.
 * If the store knows nothing of a run that has run before, the store was replaced: continuing would
 * buy every answer again, so the start is refused. */
#include "coordinator/run/parts.h"
#include "coordinator/store/calls/failures.h"

#include "common/base/clock.h"
#include "common/base/crash.h"

#include <unistd.h>

#define LOOK_MS 250

struct begin {
    struct vq_run *run;
    bool done;
    bool said;
    size_t lifted; /* failures whose tasks are asked again */
    struct vq_distrust distrusted;
    enum vq_status status;
    struct vq_error err;
};

static void work(void *ctx)
{
    struct begin *b = ctx;
    struct vq_run *run = b->run;
    bool all = run->options->retry_failed && run->options->failures == 0;
    b->status = vq_distrust_apply(run, &b->distrusted, &b->err);
    if (b->status == VQ_OK && run->options->retry_failed && !all) {
        b->status = vq_failures_lift(run->calls, &run->owner.uid, run->options->failures,
                                     run->started_unix_ms, &b->lifted, &b->err);
    }
    VQ_CRASH_POINT(epoch_before);
    if (b->status == VQ_OK) {
        b->status = vq_calls_begin_run(run->calls, &run->owner.uid, &run->owner.nonce, all,
                                       run->started_unix_ms, &run->begun, &b->err);
    }
    VQ_CRASH_POINT(epoch_raised);
}

static void finished(void *ctx)
{
    ((struct begin *)ctx)->done = true;
}

static bool is_done(void *ctx)
{
    return ((struct begin *)ctx)->done;
}

static void look(void *ctx)
{
    struct begin *b = ctx;
    bool long_wait =
        vq_calls_lock_wait_ns(b->run->calls, vq_run_now()) > VQ_STORE_LOCK_WAIT_MS * VQ_NS_PER_MS;
    if (long_wait && !b->said) {
        struct vq_error text = {0};
        vq_calls_lock_text(b->run->calls, &text);
        vq_run_message(b->run, "%s", text.text);
        b->said = true;
    }
}

static enum vq_status begin_run(struct vq_run *run, struct vq_error *err)
{
    struct begin b = {.run = run};
    struct vq_timer *timer;
    VQ_TRY(vq_timer_create(run->loop, look, &b, &timer));
    vq_timer_start(timer, LOOK_MS, LOOK_MS);
    enum vq_status status = vq_loop_work(run->loop, work, finished, &b);
    /* the work cannot be cancelled, so the only choice is to wait */
    while (status == VQ_OK && !b.done) {
        enum vq_status turned = vq_loop_run_until(run->loop, is_done, &b, VQ_STORE_LOCK_WAIT_MS);
        if (turned != VQ_OK && run->stop.interrupts > 1) {
            _exit(4); /* a second request to stop; nothing was sent */
        }
    }
    vq_timer_destroy(&timer);
    if (status == VQ_OK && b.status != VQ_OK) {
        *err = b.err;
        status = b.status;
    }
    if (status == VQ_OK && run->options->retry_failed && run->options->failures != 0) {
        vq_run_message(run, "%zu failed tasks are retried.", b.lifted);
    }
    if (status == VQ_OK && b.distrusted.answers + b.distrusted.failures > 0) {
        vq_run_message(run,
                       "%llu answers and %llu failures of distrusted workers are thrown away; "
                       "their questions are asked again.",
                       (unsigned long long)b.distrusted.answers,
                       (unsigned long long)b.distrusted.failures);
    }
    vq_distrust_free(&b.distrusted);
    return status;
}

static bool has_run_before(const struct vq_run *run)
{
    char path[VQ_RUN_PATH_BYTES_MAX];
    return vq_run_dir_join(run->dir, "status.json", path) == VQ_OK && access(path, F_OK) == 0;
}

enum vq_status vq_run_begin_store(struct vq_run *run, struct vq_error *err)
{
    VQ_TRY(vq_calls_open(run->options->runs_dir, NULL, &run->calls, err));
    vq_random_bytes(run->owner.nonce.b, sizeof(run->owner.nonce.b));
    struct vq_run_meta meta;
    if (run->options->resumed && has_run_before(run) &&
        vq_calls_read_run(run->calls, &run->owner.uid, &meta, err) == VQ_NOT_FOUND) {
        return vq_fail(
            err, VQ_CORRUPT,
            "%s has no data of this run, so the file was replaced or emptied; continuing would buy "
            "every answer again. Put the old file back, or start a new run",
            vq_calls_path(run->calls));
    }
    VQ_TRY(begin_run(run, err));
    run->owner.epoch = run->begun.now.epoch;
    run->source.generation = run->begun.now.generation;
    return VQ_OK;
}
