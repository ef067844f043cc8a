/* What the store's tests share: a folder that goes away, a small plan made of real templates and
 * hashes, results and batches. */
#pragma once

#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "common/judge/template.h"
#include "coordinator/store/calls/commit.h"
#include "coordinator/store/calls/lookup.h"
#include "coordinator/store/calls/tools.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FX_SAMPLES 6
#define FX_JUDGES  2
#define FX_VIBES   3

#define assert_ok(call, error)                                                                     \
    do {                                                                                           \
        enum vq_status fx_status_ = (call);                                                        \
        if (fx_status_ != VQ_OK) {                                                                 \
            fail_msg("%s: %s: %s", #call, vq_status_name(fx_status_), (error)->text);              \
        }                                                                                          \
    } while (0)

struct fx_text {
    struct fx_text *next;
    char at[];
};

struct fx {
    char dir[64];
    struct vq_error err;
    struct vq_calls *calls;
    struct vq_template *templates[VQ_TEMPLATE__COUNT];
    struct vq_judge judges[FX_JUDGES];
    struct vq_asker askers[FX_JUDGES];
    struct vq_sample_id samples[FX_SAMPLES];
    struct vq_axis axes[FX_VIBES];
    struct vq_plan plan;
    struct vq_id run;
    uint64_t epoch;
    uint64_t call_n;       /* of the last result made */
    struct vq_batch batch; /* of the arrays here */
    struct vq_batch_failure failures[64];
    uint64_t reopened[64];
    struct vq_result *results; /* lent to it, one by one, with texts of their own */
    struct vq_span *workers;
    struct fx_text *texts;
    size_t results_cap, workers_cap;
};

static VQ_UNUSED int fx_remove_one(const char *path, const struct stat *st, int type,
                                   struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static VQ_UNUSED void fx_folder(char ret_dir[64])
{
    (void)snprintf(ret_dir, 64, "/tmp/vq-store-XXXXXX");
    assert_non_null(mkdtemp(ret_dir));
}

static VQ_UNUSED void fx_remove(const char *dir)
{
    (void)nftw(dir, fx_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static VQ_UNUSED void fx_plan(struct fx *fx)
{
    static const char *const names[FX_JUDGES] = {"judge-a", "judge-b"};
    static const char *const vibes[FX_VIBES] = {"length", "warmth", "hedging"};
    for (int k = 0; k < VQ_TEMPLATE__COUNT; k++) {
        enum vq_template_kind kind = (enum vq_template_kind)k;
        assert_ok(vq_template_parse(kind, vq_template_builtin(kind), vq_template_file(kind),
                                    &fx->templates[k], &fx->err),
                  &fx->err);
    }
    for (int j = 0; j < FX_JUDGES; j++) {
        fx->judges[j] = (struct vq_judge){.name = names[j],
                                          .model = names[j],
                                          .dialect = "openai",
                                          .identity = "test/1",
                                          .max_tokens = 600,
                                          .max_tokens_field = "max_tokens",
                                          .seed = -1};
        vq_asker_init(&fx->askers[j], &fx->judges[j], fx->templates[VQ_TEMPLATE_JUDGE],
                      fx->templates[VQ_TEMPLATE_REPAIR]);
    }
    for (int i = 0; i < FX_SAMPLES; i++) {
        char texts[3][32];
        (void)snprintf(texts[0], 32, "prompt %d", i);
        (void)snprintf(texts[1], 32, "output a %d", i);
        (void)snprintf(texts[2], 32, "output b %d", i);
        struct vq_sample sample = {vq_span_str(texts[0]), vq_span_str(texts[1]),
                                   vq_span_str(texts[2])};
        vq_sample_identify(&sample, &fx->samples[i]);
    }
    for (int v = 0; v < FX_VIBES; v++) {
        fx->axes[v] = (struct vq_axis){.name = vibes[v], .low = "little", .high = "much"};
    }
    fx->plan = (struct vq_plan){.grid = {FX_SAMPLES, FX_JUDGES, FX_VIBES},
                                .samples = fx->samples,
                                .askers = fx->askers,
                                .axes = fx->axes,
                                .swap = VQ_SWAP_LAZY};
}

/* Tests that need small transactions and little disk. */
static const struct vq_calls_options fx_options = {.map_bytes = 64u << 20,
                                                   .reserve_bytes = 1u << 20};

static VQ_UNUSED void fx_begin_run(struct fx *fx, bool retry_failed)
{
    struct vq_run_begun begun;
    struct vq_id nonce = {.b = {7}};
    assert_ok(vq_calls_begin_run(fx->calls, &fx->run, &nonce, retry_failed, 1000, &begun, &fx->err),
              &fx->err);
    fx->epoch = begun.now.epoch;
    fx->plan.generation = begun.now.generation;
}

static VQ_UNUSED int fx_setup(void **state)
{
    struct fx *fx = vq_alloc(1, sizeof(*fx));
    assert_non_null(fx);
    fx_folder(fx->dir);
    fx_plan(fx);
    fx->run = (struct vq_id){.b = {0xaa, 1}};
    assert_ok(vq_calls_open(fx->dir, &fx_options, &fx->calls, &fx->err), &fx->err);
    fx_begin_run(fx, false);
    *state = fx;
    return 0;
}

static VQ_UNUSED void fx_drop_texts(struct fx *fx)
{
    while (fx->texts != NULL) {
        struct fx_text *next = fx->texts->next;
        vq_free(fx->texts);
        fx->texts = next;
    }
}

static VQ_UNUSED int fx_teardown(void **state)
{
    struct fx *fx = *state;
    vq_alloc_fail_at(0);
    fx_drop_texts(fx);
    vq_free(fx->results);
    vq_free(fx->workers);
    vq_calls_close(&fx->calls);
    for (int k = 0; k < VQ_TEMPLATE__COUNT; k++) {
        vq_template_destroy(&fx->templates[k]);
    }
    fx_remove(fx->dir);
    vq_free(fx);
    return 0;
}

static VQ_UNUSED uint64_t fx_task(const struct fx *fx, uint32_t sample, uint32_t judge,
                                  uint32_t vibe, uint32_t order)
{
    return vq_grid_task(&fx->plan.grid, (struct vq_cell){sample, judge, vibe, order});
}

static VQ_UNUSED struct vq_result fx_result(struct fx *fx, uint64_t task, uint32_t repeat)
{
    struct vq_result r = {.shard = task / vq_grid_shard_tasks(&fx->plan.grid),
                          .fence = {fx->epoch, 1},
                          .task = task,
                          .judge = vq_grid_cell(&fx->plan.grid, task).judge,
                          .repeat = repeat,
                          .tries = 1,
                          .http_status = 200,
                          .latency_ms = 20,
                          .started_unix_ms = 5000,
                          .finish_reason = vq_span_str("stop"),
                          .model = vq_span_str("judge-x-2024")};
    fx->call_n++;
    r.call.b[0] = 0xc0;
    for (int i = 0; i < 8; i++) {
        r.call.b[8 + i] = (uint8_t)(fx->call_n >> (56 - 8 * i));
    }
    vq_plan_request(&fx->plan, task, repeat, &r.request);
    return r;
}

/* An answer's text stays borrowed: give constants. */
static VQ_UNUSED struct vq_result fx_answer(struct fx *fx, uint64_t task, const char *text)
{
    struct vq_result r = fx_result(fx, task, 0);
    r.end = VQ_END_ANSWER;
    r.answer = vq_span_str(text);
    r.outcome = (uint8_t)vq_verdict_ranker(r.answer, r.finish_reason, false);
    r.final = true;
    r.tokens_in = 100;
    r.tokens_out = 10;
    return r;
}

static VQ_UNUSED struct vq_result fx_failure(struct fx *fx, uint64_t task, uint32_t repeat,
                                             enum vq_call_end end, enum vq_outcome outcome)
{
    struct vq_result r = fx_result(fx, task, repeat);
    r.end = (uint8_t)end;
    r.outcome = (uint8_t)outcome;
    r.final = true;
    r.http_status = 500;
    return r;
}

static VQ_UNUSED struct vq_result fx_repair(struct fx *fx, uint64_t task, const char *of,
                                            const char *text)
{
    struct vq_result r = fx_answer(fx, task, text);
    r.kind = VQ_CALL_REPAIR;
    r.repaired = r.request;
    vq_plan_repair(&fx->plan, task, &r.repaired, vq_span_str(of), &r.request);
    return r;
}

static VQ_UNUSED void fx_keep(struct fx *fx, struct vq_span *text)
{
    struct fx_text *kept = vq_alloc(1, sizeof(*kept) + text->bytes);
    assert_non_null(kept);
    if (text->bytes > 0) {
        memcpy(kept->at, text->at, text->bytes);
    }
    kept->next = fx->texts;
    fx->texts = kept;
    text->at = kept->at;
}

/* One more result in the batch, copied: the batch is lent all of them anew. */
static VQ_UNUSED void fx_add_of(struct fx *fx, const struct vq_result *r, const char *worker)
{
    size_t n = fx->batch.results_count;
    void *results = fx->results;
    void *workers = fx->workers;
    if (n == 0) {
        fx_drop_texts(fx);
    }
    assert_int_equal(
        vq_grow(&results, &fx->results_cap, n + 1, sizeof(*fx->results), VQ_BATCH_RESULTS_MAX),
        VQ_OK);
    fx->results = results;
    assert_int_equal(
        vq_grow(&workers, &fx->workers_cap, n + 1, sizeof(*fx->workers), VQ_BATCH_RESULTS_MAX),
        VQ_OK);
    fx->workers = workers;
    struct vq_result *kept = &fx->results[n];
    *kept = *r;
    fx->workers[n] = vq_span_str(worker);
    struct vq_span *texts[] = {&kept->pool,           &kept->answer,      &kept->finish_reason,
                               &kept->model,          &kept->fingerprint, &kept->error,
                               &kept->label_logprobs, &fx->workers[n]};
    for (size_t i = 0; i < VQ_COUNT(texts); i++) {
        fx_keep(fx, texts[i]);
    }
    fx->batch.results = fx->results;
    fx->batch.workers = fx->workers;
    fx->batch.results_count = n + 1;
}

static VQ_UNUSED void fx_add(struct fx *fx, const struct vq_result *r)
{
    fx_add_of(fx, r, "worker-1");
}

static VQ_UNUSED void fx_fail(struct fx *fx, uint64_t task, enum vq_outcome failure)
{
    size_t n = fx->batch.failures_count;
    assert_true(n < VQ_COUNT(fx->failures));
    fx->failures[n] = (struct vq_batch_failure){.task = task, .outcome = failure};
    fx->batch.failures = fx->failures;
    fx->batch.failures_count = n + 1;
}

static VQ_UNUSED void fx_reopen(struct fx *fx, uint64_t task)
{
    size_t n = fx->batch.reopened_count;
    assert_true(n < VQ_COUNT(fx->reopened));
    fx->reopened[n] = task;
    fx->batch.reopened = fx->reopened;
    fx->batch.reopened_count = n + 1;
}

static VQ_UNUSED void fx_clear(struct fx *fx)
{
    fx->batch = (struct vq_batch){0};
}

/* Commits and clears the batch. The caller frees *ret_commit. */
static VQ_UNUSED void fx_commit(struct fx *fx, struct vq_commit *ret_commit)
{
    assert_ok(vq_commit_run(fx->calls, &fx->plan, &fx->run, fx->epoch, &fx->batch, 9000, ret_commit,
                            &fx->err),
              &fx->err);
    fx_clear(fx);
}

static VQ_UNUSED void fx_commit_one(struct fx *fx, const struct vq_result *r)
{
    struct vq_commit commit;
    fx_add(fx, r);
    fx_commit(fx, &commit);
    vq_commit_free(&commit);
}

/* The state of a task as a look-up sees it. */
static VQ_UNUSED struct vq_known fx_known(struct fx *fx, uint64_t task)
{
    struct vq_view *view = NULL;
    struct vq_known known[2 * FX_VIBES];
    struct vq_buf text;
    uint32_t tasks = vq_grid_shard_tasks(&fx->plan.grid);
    vq_buf_init(&text, 1u << 20);
    assert_ok(vq_view_begin(fx->calls, &view, &fx->err), &fx->err);
    assert_ok(vq_lookup_shard(view, &fx->plan, &fx->run, task / tasks, known, &text, &fx->err),
              &fx->err);
    vq_view_end(&view);
    struct vq_known one = known[task % tasks];
    static char prior[4096];
    if (one.prior.bytes > 0) {
        assert_true(one.prior.bytes < sizeof(prior));
        memcpy(prior, one.prior.at, one.prior.bytes);
        one.prior.at = prior;
    }
    vq_buf_free(&text);
    return one;
}

static VQ_UNUSED enum vq_outcome fx_outcome(struct fx *fx, uint64_t task)
{
    return fx_known(fx, task).outcome;
}

/* A cell whose second order is (or is not) audited at share 0.5; its first task. */
static VQ_UNUSED uint64_t fx_cell(const struct fx *fx, bool audited)
{
    for (uint64_t task = 0; task < vq_grid_tasks(&fx->plan.grid); task += 2) {
        struct vq_task_plan cell;
        vq_plan_cell(&fx->plan, task, &cell);
        if (cell.audited == audited) {
            return task;
        }
    }
    fail_msg("no such cell");
    return 0;
}

static VQ_UNUSED unsigned fx_first(const struct fx *fx, uint64_t task)
{
    struct vq_task_plan cell;
    vq_plan_cell(&fx->plan, task, &cell);
    return cell.first;
}
