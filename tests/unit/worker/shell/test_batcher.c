/* Batches of the program vibeq-worker at the real vibeq-offline, in each dialect: from the first
 * call to the last result, with partial ends, a worker that is killed, and one that is too late. */
#include "desk.h"

#define KEY "T_KEY"

static struct desk d;
static const char *const env[] = {KEY "=sk-test-batch-0001", "VIBEQ_BATCH_SETTLE_MS=1500", NULL};
static const char *const worker[] = {"--key", "first=env:" KEY, NULL};

static int setup(void **state)
{
    (void)state;
    desk_open(&d);
    d.batch_calls = 16;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    desk_close(&d);
    return 0;
}

static bool all_final(void *ctx)
{
    (void)ctx;
    return d.finals == d.samples * d.judges * d.axes * 2;
}

static bool all_over(void *ctx)
{
    bool over = d.batches_count > 0;
    (void)ctx;
    for (uint32_t i = 0; i < d.batches_count; i++) {
        over = over && d.batches[i].state == VQ_BATCH_PROGRESS_OVER;
    }
    return over;
}

static uint32_t count_of(enum vq_call_end end)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < d.results_count; i++) {
        count += d.results[i].r.end == end ? 1 : 0;
    }
    return count;
}

/* Lines of the server's log for calls that it carried out, and was paid for. */
static uint32_t bought(void)
{
    return desk_lines(d.offline_log, "\"event\":\"batch_call\"");
}

static void run_dialect(const char *dialect, const char *tail)
{
    const char *options[] = {"--batch", "duration=300ms,reorder=on", NULL};
    d.dialect = dialect;
    d.tail = tail;
    desk_offline(&d, options);
    desk_worker(&d, worker, env);
    desk_wait(&d, all_final);
    desk_wait(&d, all_over);
    assert_int_equal(count_of(VQ_END_BATCHED), 40);
    assert_int_equal(count_of(VQ_END_ANSWER), 40);
    assert_int_equal(bought(), 40);
    assert_int_equal(d.batches_count, 3); /* of 16, 16 and 8 calls */
    uint32_t calls = 0;
    for (uint32_t i = 0; i < d.batches_count; i++) {
        assert_true(d.batches[i].id[0] != '\0');
        assert_int_equal(d.batches[i].ended, d.batches[i].calls);
        calls += d.batches[i].calls;
    }
    assert_int_equal(calls, 40);
    for (uint32_t i = 0; i < d.results_count; i++) {
        const struct vq_result *r = &d.results[i].r;
        assert_true(r->prompt_chars > 50 && r->started_unix_ms > 1600000000000);
        assert_true(r->end == VQ_END_BATCHED || vq_outcome_is_vote((enum vq_outcome)r->outcome));
        assert_true(r->end == VQ_END_BATCHED ||
                    r->cost_nano == r->tokens_in * 2000 + r->tokens_out * 8000);
    }
    desk_bye(&d, VQ_BYE_DONE);
    desk_wait(&d, desk_ended);
    assert_int_equal(d.worker_exit.code, 0);
}

TEST_WITH(test_openai_from_the_first_call_to_the_last_result, setup, teardown)
{
    run_dialect("openai", "/v1");
    assert_int_equal(desk_lines(d.offline_log, "DELETE"), 0);
}

TEST_WITH(test_anthropic, setup, teardown)
{
    run_dialect("anthropic", "/v1");
}

TEST_WITH(test_gemini, setup, teardown)
{
    run_dialect("gemini", "/v1beta");
}

