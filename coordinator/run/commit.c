/* The commit point. One commit at a time: the batch goes to the store in the thread pool (durable),
 * then to Redis in one script, and only then to the core, which sends the ACKs. Every step can be
 * repeated: the store knows call ids, Redis knows n. While Redis is unreachable, the batch is in
 * the store and waits until Redis agrees with the store again (redis.c). */
#include "coordinator/run/parts.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/crash.h"
#include "common/base/hash.h"
#include "common/judge/ending.h"
#include "common/text/log.h"

#include <stdlib.h>
#include <string.h>

static void reset(struct vq_committer *c)
{
    vq_commit_free(&c->commit);
    memset(&c->commit, 0, sizeof(c->commit));
    vq_free(c->merged);
    c->merged = NULL;
    c->merged_count = 0;
    c->busy = c->stored = false;
    c->from = NULL;
}

static int by_task(const void *a, const void *b)
{
    const struct vq_settled *x = a;
    const struct vq_settled *y = b;
    return (x->task > y->task) - (x->task < y->task);
}

/* Merges the results of the commit and the tasks that look-ups settled before: each task once, with
 * the state from the commit. */
static enum vq_status merge(struct vq_committer *c)
{
    size_t n = c->commit.standing_count + c->from->settled_count;
    VQ_TRY(VQ_ALLOC(c->merged, n));
    size_t at = 0;
    for (size_t i = 0; i < c->from->settled_count; i++) {
        const struct vq_settled *s = &c->from->settled[i];
        struct vq_settled key = {.task = s->task};
        if (c->commit.standing_count > 0 &&
            bsearch(&key, c->commit.standing, c->commit.standing_count, sizeof(key), by_task) !=
                NULL) {
            continue;
        }
        c->merged[at++] = *s;
    }
    if (c->commit.standing_count > 0) {
        memcpy(c->merged + at, c->commit.standing, c->commit.standing_count * sizeof(*c->merged));
    }
    c->merged_count = at + c->commit.standing_count;
    qsort(c->merged, c->merged_count, sizeof(*c->merged), by_task);
    return VQ_OK;
}

/* Whether this kind was not reported about the pool before; kinds beyond the limit are not
 * reported. */
static bool is_new_odd(struct vq_committer *commit, struct vq_span pool, struct vq_span kind)
{
    struct vq_hasher h;
    struct vq_hash hash;
    vq_hasher_init(&h, "vq.odd");
    vq_hasher_field(&h, pool);
    vq_hasher_field(&h, kind);
    vq_hasher_final(&h, &hash);
    for (uint32_t i = 0; i < commit->odd_count; i++) {
        if (vq_hash_eq(&commit->odd[i], &hash)) {
            return false;
        }
    }
    if (commit->odd_count == VQ_ODD_REPORTED_MAX) {
        return false;
    }
    commit->odd[commit->odd_count++] = hash;
    return true;
}

/* Reports answers that cannot be votes, each kind once per pool: people can set a key, or ask for
 * more tokens, before they pay for the rest. */
static void report_odd(struct vq_run *run, const struct vq_batch *batch)
{
    for (size_t i = 0; i < batch->results_count; i++) {
        const struct vq_result *r = &batch->results[i];
        struct vq_span word = vq_span_str("");
        if (r->end != VQ_END_ANSWER || r->error.bytes == 0) {
            continue;
        }
        if ((!vq_ending_explained(r->error, &word) && r->outcome != VQ_OUTCOME_EMPTY) ||
            !is_new_odd(&run->commit, r->pool, word)) {
            continue;
        }
        vq_log(VQ_LOG_WARN, "answer", "pool=%.*s text=%.*s", (int)r->pool.bytes, r->pool.at,
               (int)r->error.bytes, r->error.at);
        vq_run_message(run,
                       "Pool %.*s: %.*s. Such an answer is no vote; accounting.json counts them.",
                       (int)r->pool.bytes, r->pool.at, (int)r->error.bytes, r->error.at);
    }
}

static void inform_core(struct vq_run *run)
{
    struct vq_committer *c = &run->commit;
    struct vq_settled *settled = c->merged;
    size_t n = c->merged_count;
    c->merged = NULL;
    report_odd(run, c->from);
    for (size_t i = 0; i < c->from->results_count; i++) {
        vq_failures_see(&run->watch.failures, &c->from->results[i]);
    }
    vq_looks_see(run, c->from->results, c->from->results_count);
    uint64_t no = c->from->no;
    enum vq_status status =
        vq_coord_repeated(run->coord, no, c->commit.repeated, c->commit.repeated_count);
    reset(c);
    status =
        status != VQ_OK ? status : vq_coord_committed(run->coord, no, settled, n, vq_run_now());
    vq_free(settled);
    if (status != VQ_OK) {
        vq_run_fatal(run, status, "the coordinator's core gave up after a commit: %s",
                     vq_status_text(status));
    }
}

static void on_applied(void *ctx, enum vq_status status, const char *text)
{
    struct vq_run *run = ctx;
    if (run->fatal != VQ_OK || !run->commit.stored) {
        return;
    }
    if (status != VQ_OK) {
        vq_run_redis_lost(run, status, text);
        return;
    }
    VQ_CRASH_POINT(commit_applied);
    inform_core(run);
    VQ_CRASH_POINT(commit_told);
    vq_loop_again(run->loop);
}

void vq_committer_redis_ready(struct vq_run *run)
{
    struct vq_committer *c = &run->commit;
    if (c->stored && run->redis.phase == VQ_PHASE_UP) {
        vq_run_state_apply(run->redis.state, c->commit.n, c->merged, c->merged_count, on_applied,
                           run);
        VQ_CRASH_POINT(commit_apply_sent);
    }
}

static void work(void *ctx)
{
    struct vq_run *run = ctx;
    struct vq_committer *c = &run->commit;
    c->status = vq_commit_run(run->calls, &run->stages.asking->plan, &run->owner.uid,
                              run->owner.epoch, c->from, vq_clock_unix_ms(), &c->commit, &c->err);
}

static void give_up(struct vq_run *run, const char *why)
{
    reset(&run->commit);
    run->commit.busy = true; /* nothing is committed any more */
    enum vq_status status = vq_coord_commit_failed(run->coord, why, vq_run_now());
    if (status != VQ_OK) {
        vq_run_fatal(run, status, "%s", why);
    }
}

void vq_committer_give_up(struct vq_run *run, const char *why)
{
    const struct vq_committer *c = &run->commit;
    if (c->busy && !c->stored) {
        return;
    }
    give_up(run, why);
    vq_loop_again(run->loop);
}

static void failed(struct vq_run *run)
{
    struct vq_committer *c = &run->commit;
    if (c->status == VQ_STALE) {
        (void)vq_fail(&c->err, VQ_STALE,
                      "another coordinator has taken this run over; this one stops");
    }
    vq_log(VQ_LOG_ERROR, "commit.failed", "status=%s why=%s", vq_status_name(c->status),
           c->err.text);
    struct vq_error err = c->err;
    give_up(run, err.text);
}

static void done(void *ctx)
{
    struct vq_run *run = ctx;
    struct vq_committer *c = &run->commit;
    if (run->fatal != VQ_OK) {
        return;
    }
    if (c->status != VQ_OK) {
        failed(run);
        return;
    }
    if (c->commit.foreign > 0) {
        run->seen.foreign += c->commit.foreign;
        vq_log(VQ_LOG_WARN, "answer.foreign", "count=%zu task=%llu", c->commit.foreign,
               (unsigned long long)c->commit.foreign_task);
    }
    vq_bills_see(run, c->from->results, c->from->results_count);
    vq_metrics_see(run, c->from->results, c->from->results_count, c->commit.repeated,
                   c->commit.repeated_count);
    enum vq_status status = merge(c);
    if (status != VQ_OK) {
        vq_run_fatal(run, status, "out of memory after a commit");
        return;
    }
    VQ_CRASH_POINT(commit_stored);
    c->stored = true;
    run->redis.n = c->commit.n;
    vq_committer_redis_ready(run);
    vq_loop_again(run->loop);
}

void vq_committer_start(struct vq_run *run, const struct vq_batch *batch)
{
    struct vq_committer *c = &run->commit;
    VQ_ASSERT(!c->busy);
    c->busy = true;
    c->from = batch;
    c->err.text[0] = '\0';
    c->lock_warned = false;
    VQ_CRASH_POINT(commit_handed_over);
    enum vq_status status = vq_loop_work(run->loop, work, done, run);
    if (status != VQ_OK) {
        vq_run_fatal(run, status, "cannot begin a commit: %s", vq_status_text(status));
    }
}

bool vq_committer_is_dead(const struct vq_committer *commit)
{
    return commit->busy && commit->from == NULL;
}

void vq_committer_watch(struct vq_run *run)
{
    struct vq_committer *c = &run->commit;
    bool waits =
        c->busy && !c->stored &&
        vq_calls_lock_wait_ns(run->calls, vq_run_now()) > VQ_STORE_LOCK_WAIT_MS * VQ_NS_PER_MS;
    if (waits && !c->lock_warned) {
        struct vq_error text = {0};
        vq_calls_lock_text(run->calls, &text);
        vq_run_message(run, "%s", text.text);
        c->lock_warned = true;
    }
}

/* Another thread waits for the store's lock, so there is no event: poll. */
int64_t vq_committer_wake_ns(const struct vq_committer *c)
{
    bool writes = c->busy && !c->stored && !c->lock_warned;
    return writes ? vq_run_now() + VQ_RUN_LOOK_MS * VQ_NS_PER_MS : INT64_MAX;
}

void vq_committer_free(struct vq_committer *commit)
{
    reset(commit);
}
