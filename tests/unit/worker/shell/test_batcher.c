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
    d.samples = 8;
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
    return desk_lines(d.offline_log, "\"event\":\"batch_line\"");
}

static bool all_bought(void *ctx) /* the server writes its log late */
{
    (void)ctx;
    return bought() >= 32;
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
    assert_int_equal(count_of(VQ_END_BATCHED), 32);
    assert_int_equal(count_of(VQ_END_ANSWER), 32);
    desk_wait(&d, all_bought);
    assert_int_equal(bought(), 32);
    assert_int_equal(d.batches_count, 2);
    uint32_t calls = 0;
    for (uint32_t i = 0; i < d.batches_count; i++) {
        assert_true(d.batches[i].id[0] != '\0');
        assert_int_equal(d.batches[i].ended, d.batches[i].calls);
        calls += d.batches[i].calls;
    }
    assert_int_equal(calls, 32);
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
}

TEST_WITH(test_anthropic, setup, teardown)
{
    run_dialect("anthropic", "/v1");
}

TEST_WITH(test_gemini, setup, teardown)
{
    run_dialect("gemini", "/v1beta");
}

/* A result other than BATCHED for each call that was part of a batch, and only one. */
static void check_ends_once(void)
{
    for (uint32_t i = 0; i < d.results_count; i++) {
        uint32_t drafts = 0, ends = 0;
        for (uint32_t k = 0; k < d.results_count; k++) {
            if (vq_id_eq(&d.results[i].r.call, &d.results[k].r.call)) {
                drafts += d.results[k].r.end == VQ_END_BATCHED ? 1 : 0;
                ends += d.results[k].r.end == VQ_END_BATCHED ? 0 : 1;
            }
        }
        assert_true(drafts >= 1); /* one without an ACK is sent again */
        assert_int_equal(ends, 1);
    }
}

TEST_WITH(test_damaged_results_are_named_and_their_calls_asked_again, setup, teardown)
{
    const char *options[] = {
        "--batch", "duration=100ms,errored=0.1,missing=0.1,duplicate=0.2,foreign=0.2,torn=0.1",
        "--seed", "3", NULL};
    desk_offline(&d, options);
    desk_worker(&d, worker, env);
    desk_wait(&d, all_final);
    desk_wait(&d, all_over);
    check_ends_once();
    assert_int_equal(count_of(VQ_END_ANSWER), 32);
    assert_true(count_of(VQ_END_NETWORK) > 0);
    assert_true(desk_lines(d.log, "batch.results") > 0);
}

/* ---- another worker's batches ---- */

static bool all_created(void *ctx)
{
    uint32_t calls = 0;
    (void)ctx;
    for (uint32_t i = 0; i < d.batches_count; i++) {
        calls += d.batches[i].state == VQ_BATCH_PROGRESS_CREATED ? d.batches[i].calls : 0;
    }
    return calls == 32;
}

static bool all_batched(void *ctx)
{
    (void)ctx;
    return count_of(VQ_END_BATCHED) == 32;
}

static bool has_session_2(void *ctx)
{
    (void)ctx;
    return d.session == 2 && d.credits > 0;
}

static bool all_ended(void *ctx)
{
    (void)ctx;
    return d.results_count - count_of(VQ_END_BATCHED) == 32;
}

/* In two parts, where there are two drafts. */
static void send_collect(const struct desk_batch *batch, bool with_id, bool with_calls)
{
    static struct vq_result drafts[64];
    uint32_t count = 0;
    size_t name = strlen(batch->name);
    for (uint32_t i = 0; i < d.results_count; i++) {
        const struct desk_result *at = &d.results[i];
        if (at->r.end == VQ_END_BATCHED && strncmp(at->error, batch->name, name) == 0 &&
            at->error[name] == ' ') {
            drafts[count] = at->r;
            drafts[count].pool = vq_span_str("first");
            drafts[count].error = vq_span_str(at->error);
            drafts[count].answer = drafts[count].finish_reason = drafts[count].model =
                drafts[count].fingerprint = drafts[count].label_logprobs = drafts[count].tier =
                    vq_span("", 0);
            count++;
        }
    }
    for (uint32_t part = 0; part < 2; part++) {
        uint32_t from = part == 0 ? 0 : count / 2, to = part == 0 ? count / 2 : count;
        struct vq_msg msg = {.type = VQ_MSG_COLLECT,
                             .u.collect = {.session = d.session,
                                           .name = vq_span_str(batch->name),
                                           .pool = vq_span_str("first"),
                                           .id = vq_span_str(with_id ? batch->id : ""),
                                           .calls = with_calls ? batch->calls : 0,
                                           .before = from,
                                           .more = part == 0,
                                           .drafts = drafts + from,
                                           .drafts_count = to - from}};
        desk_send(&d, &msg);
    }
}

static void collect_by_another(bool with_id, bool with_calls)
{
    assert_int_equal(vq_child_kill(d.worker, SIGKILL, false), VQ_OK);
    desk_wait(&d, desk_ended);
    d.hold_leases = true;
    d.hold_acks = false;
    d.credits = 0;
    desk_worker(&d, worker, env);
    desk_wait(&d, has_session_2);
    uint32_t count = d.batches_count;
    for (uint32_t i = 0; i < count; i++) {
        send_collect(&d.batches[i], with_id, with_calls);
    }
    desk_wait(&d, all_ended);
    check_ends_once();
}

static void worker_is_killed(const char *dialect, const char *tail, bool with_id, bool with_calls)
{
    const char *options[] = {"--batch", "duration=2s,hide_ms=500", NULL};
    d.dialect = dialect;
    d.tail = tail;
    desk_offline(&d, options);
    desk_worker(&d, worker, env);
    desk_wait(&d, all_created);
    collect_by_another(with_id, with_calls);
    assert_int_equal(count_of(VQ_END_ANSWER), 32);
    desk_wait(&d, all_bought);
    assert_int_equal(bought(), 32);
}

TEST_WITH(test_another_worker_collects_by_the_id, setup, teardown)
{
    worker_is_killed("openai", "/v1", true, true);
}

TEST_WITH(test_another_worker_finds_a_batch_by_its_name, setup, teardown)
{
    worker_is_killed("openai", "/v1", false, false);
}

TEST_WITH(test_another_worker_finds_a_batch_without_a_name, setup, teardown)
{
    worker_is_killed("anthropic", "/v1", false, true);
}

TEST_WITH(test_a_batch_whose_calls_are_not_all_committed_is_not_created, setup, teardown)
{
    desk_offline(&d, NULL);
    d.hold_acks = true;
    desk_worker(&d, worker, env);
    desk_wait(&d, all_batched);
    desk_pause(&d, 1500);
    for (uint32_t i = 0; i < d.batches_count; i++) {
        assert_int_equal(d.batches[i].state, VQ_BATCH_PROGRESS_GATHERS);
    }
    collect_by_another(false, false);
    assert_int_equal(count_of(VQ_END_NETWORK), 32); /* never submitted */
    assert_int_equal(bought(), 0);
}
