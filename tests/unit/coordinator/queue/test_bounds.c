/* The named bounds of the core (limits.h) that a test can come to, and what happens at each:
 * something waits, is dropped and counted, or is refused, and the run goes on. */
#include "proto/claim.h"
#include "tests/unit/coordinator/queue/rig.h"

#define MIB (1u << 20)

/* A message without looking at what is said. */
static void tell(struct rig *r, uint64_t peer, const struct vq_msg *msg)
{
    assert_int_equal(vq_coord_message(r->c, peer, msg, r->now_ns), VQ_OK);
}

static void hello(struct rig *r, uint64_t peer, int64_t stamp_ns)
{
    struct vq_msg msg = {.type = VQ_MSG_HELLO,
                         .u.hello = {.worker = rig_worker(peer),
                                     .stamp_ns = stamp_ns,
                                     .spec = r->params.spec,
                                     .name = vq_span_str("w"),
                                     .local = -1}};
    tell(r, peer, &msg);
}

TEST_WITH(workers, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    for (uint64_t peer = 1; peer <= VQ_COORD_SESSIONS_MAX; peer++) {
        hello(r, peer, 1);
        rig_pull(r);
    }
    assert_int_equal(rig_status(r).sessions, VQ_COORD_SESSIONS_MAX);
    rig_mark(r);
    hello(r, VQ_COORD_SESSIONS_MAX + 1, 1);
    rig_pull(r);
    assert_int_equal(rig_last(r, VQ_COORD_SESSIONS_MAX + 1, VQ_MSG_BYE)->code, VQ_BYE_PROTOCOL);
    assert_int_equal(rig_status(r).sessions, VQ_COORD_SESSIONS_MAX);
    hello(r, 17, 2); /* who is here may say it again */
    rig_pull(r);
    assert_int_equal(rig_count(r, 17, VQ_MSG_WELCOME), 1);
    r->mark = r->said_count = 0;
    struct vq_msg bye = {.type = VQ_MSG_BYE,
                         .u.bye = {.session = 5, .code = VQ_BYE_LEAVING, .text = {"x", 1}}};
    tell(r, 5, &bye); /* the fifth came fifth */
    hello(r, VQ_COORD_SESSIONS_MAX + 1, 1);
    rig_pull(r);
    assert_int_equal(rig_count(r, VQ_COORD_SESSIONS_MAX + 1, VQ_MSG_WELCOME), 1);
}

TEST_WITH(hellos_between_two_stages, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    for (uint64_t task = 0; task < 16; task++) {
        rig_tried(r, task, "Model: A");
    }
    r->params.more = true;
    rig_start(r);
    assert_int_equal(r->finished, 1);
    for (uint64_t peer = 1; peer <= VQ_COORD_SESSIONS_MAX + 1; peer++) {
        hello(r, peer, 1);
    }
    struct vq_coord *before = r->c;
    r->params.stage = r->store.stage = 1;
    struct vq_error err = {""};
    assert_int_equal(vq_coord_create(&r->params, r->now_ns, &r->c, &err), VQ_OK);
    assert_int_equal(vq_coord_hand_over(before, r->c, r->now_ns), VQ_OK);
    vq_coord_destroy(&before);
    assert_int_equal(rig_status(r).sessions, VQ_COORD_SESSIONS_MAX);
}

TEST_WITH(committed_calls, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 0);
    const struct rig_said lease = {.fence = {4, 1}};
    static struct vq_result results[4096];
    struct vq_result first, last;
    uint64_t count = 0;
    for (size_t round = 0; round <= VQ_COORD_RECENT_CALLS / VQ_COUNT(results); round++) {
        for (size_t i = 0; i < VQ_COUNT(results); i++) {
            results[i] = rig_answer(r, &lease, 0, "Model: A");
            results[i].stage = 9;
        }
        first = round == 0 ? results[0] : first;
        rig_results(r, 7, session, results, VQ_COUNT(results));
        count += VQ_COUNT(results);
    }
    last = results[VQ_COUNT(results) - 1];
    assert_int_equal(rig_status(r).all.calls, count);
    uint64_t batches = rig_status(r).batches;
    rig_mark(r);
    rig_results(r, 7, session, &last, 1);
    assert_int_equal(rig_count(r, 7, VQ_MSG_ACK), 1);
    assert_int_equal(rig_status(r).batches, batches); /* it is remembered */
    assert_int_equal(rig_status(r).repeated, 1);
    rig_results(r, 7, session, &first, 1);
    assert_int_equal(rig_count(r, 7, VQ_MSG_ACK), 2);
    assert_int_equal(rig_status(r).batches, batches + 1); /* the ledger knows it */
    assert_int_equal(sim_store_row(&r->store, &first.call)->times, 2);
    assert_int_equal(rig_status(r).repeated, 1);
}

TEST_WITH(notes, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    unsigned before = r->notes;
    for (uint64_t peer = 1; peer <= VQ_COORD_NOTES_MAX + 30; peer++) {
        hello(r, peer, 1); /* one each: it joined */
    }
    rig_pull(r);
    assert_int_equal(r->notes - before, VQ_COORD_NOTES_MAX);
    assert_int_equal(rig_status(r).notes_dropped, 30);
    assert_int_equal(rig_status(r).sessions, VQ_COORD_NOTES_MAX + 30);
    hello(r, 1000, 1);
    rig_pull(r);
    assert_int_equal(r->notes - before, VQ_COORD_NOTES_MAX + 1); /* there is room again */
}

/* What is ready and was looked up long ago waits when so many look-ups are out that no other may
 * go. */
TEST_WITH(look_ups, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_end(r);
    rig_init(r, 200, 1, 1);
    rig_tried(r, 0, "Model: A"); /* past the probe */
    r->hold_lookups = true;
    rig_start(r);
    assert_int_equal(r->lookups_count, VQ_COORD_LOOKUPS_MAX);
    for (uint64_t shard = 0; shard < 10; shard++) {
        rig_look_up(r, shard);
    }
    rig_pull(r);
    assert_int_equal(r->lookups_count, VQ_COORD_LOOKUPS_MAX);
    rig_pass(r, VQ_COORD_LOOKED_NS_MAX / VQ_NS_PER_MS + 50);
    (void)rig_join(r, 7, 1, 1000);
    assert_int_equal(rig_count(r, 7, VQ_MSG_LEASE), 0);
    assert_int_equal(r->lookups_most, VQ_COORD_LOOKUPS_MAX);
    r->hold_lookups = false;
    rig_pull(r);
    assert_true(rig_count(r, 7, VQ_MSG_LEASE) > 10);
    assert_int_equal(rig_lease(r, 0)->tasks[0], 1);
    assert_int_equal(r->lookups_most, VQ_COORD_LOOKUPS_MAX);
}

/* Stored answers to repair go along with a lease up to a bound; the others wait for the next
 * one. */
TEST_WITH(answers_to_repair, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_end(r);
    rig_init(r, 2, 1, 5);
    rig_tried(r, 10, "Model: A"); /* past the probe */
    char *odd = vq_alloc(MIB + 1, 1);
    assert_non_null(odd);
    memset(odd, 'x', MIB);
    for (uint64_t task = 0; task < 10; task += 2) { /* no two alike */
        odd[0] = (char)('a' + task);
        rig_tried(r, task, odd);
    }
    vq_free(odd);
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 100);
    const struct rig_said lease = *rig_lease(r, 0);
    assert_int_equal(lease.shard, 0);
    assert_int_equal(lease.count,
                     8); /* without the last vibe, whose second order goes by the first */
    for (uint32_t i = 0; i < lease.count; i++) {
        assert_int_equal(lease.tasks[i], i);
        assert_int_equal(lease.prior[i], i % 2 == 0 ? MIB : 0);
    }
    rig_mark(r);
    for (uint32_t i = 0; i < lease.count; i += 2) {
        struct vq_result result = rig_answer(r, &lease, i, "Model: equal");
        result.kind = VQ_CALL_REPAIR;
        result.repaired = result.request;
        rig_repair_of(NULL, i, &result.repaired, result.answer, &result.request);
        rig_results(r, 7, session, &result, 1);
    }
    assert_int_equal(rig_status(r).all.outcome[VQ_OUTCOME_EQUAL], 4);
    const struct rig_said *next = NULL;
    for (unsigned n = 0; next == NULL; n++) {
        next = rig_lease(r, n)->shard == 0 ? rig_lease(r, n) : NULL;
    }
    assert_int_equal(next->tasks[0], 8);
    assert_int_equal(next->prior[0], MIB);
}

/* Long answers of one batch lie in memory of their own; nothing of them changes, in this batch or
 * in the next. */
TEST_WITH(long_answers, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 0);
    const struct rig_said lease = {.fence = {4, 1}};
    static const size_t bytes[] = {200000, 100, 0, 900000, 150000, 1};
    static struct vq_result results[240];
    char *text = vq_alloc(MIB, 1);
    assert_non_null(text);
    for (size_t i = 0; i < MIB; i++) {
        text[i] = (char)('a' + i % 23);
    }
    for (size_t i = 0; i < VQ_COUNT(results); i++) {
        results[i] = rig_answer(r, &lease, 0, "");
        results[i].stage = 9;
        results[i].answer = vq_span(text + i, bytes[i % VQ_COUNT(bytes)]);
        results[i].model = vq_span_str("some-model");
    }
    r->hold_commits = true;
    for (size_t at = 0; at < VQ_COUNT(results); at += VQ_COUNT(results) / 2) {
        rig_results(r, 7, session, &results[at], VQ_COUNT(results) / 2);
        assert_int_equal(r->batch->results_count, VQ_COUNT(results) / 2);
        for (size_t i = 0; i < r->batch->results_count; i++) {
            const struct vq_result *is = &r->batch->results[i], *was = &results[at + i];
            assert_true(is->answer.at != was->answer.at || was->answer.bytes == 0);
            assert_int_equal(is->answer.bytes, was->answer.bytes);
            assert_memory_equal(is->answer.at, was->answer.at, was->answer.bytes);
            assert_memory_equal(is->model.at, "some-model", 10);
            assert_memory_equal(r->batch->workers[i].at, "worker", 6);
        }
        rig_commit(r);
        rig_pull(r);
    }
    vq_free(text);
}

/* A list that no worker can have. */
TEST_WITH(lists, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    const struct vq_msg_held lists[] = {
        {.stamp_ns = 5, .calls_count = VQ_COORD_CALLS_MAX + 1},
        {.stamp_ns = 5, .leases_count = VQ_COORD_SHARDS_MAX / 2 + 1},
        {.stamp_ns = 5, .calls_count = VQ_COORD_SHARDS_MAX / 2 + 1},
        {.stamp_ns = 0, .calls_count = VQ_COORD_CALLS_MAX + 1}, /* it only adds calls */
    };
    for (size_t i = 0; i < VQ_COUNT(lists); i++) {
        struct vq_msg msg = {.type = VQ_MSG_HELD, .u.held = lists[i]};
        msg.u.held.session = rig_hello(r, 7, 1);
        rig_tell(r, 7, &msg);
        assert_int_equal(rig_last(r, 7, VQ_MSG_BYE)->code, VQ_BYE_PROTOCOL);
        assert_int_equal(rig_status(r).broken, i + 1);
        assert_int_equal(rig_status(r).calls_reserved, 0);
        rig_pass(r, 1);
    }
}

/* Calls that nobody can look up are known as unknown when the run ends, more of them than a batch
 * has room for. */
TEST_WITH(calls_that_end_unknown, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    r->params.commit_results_max = 2;
    r->params.remote = true;
    rig_start(r);
    struct vq_msg_hello without_spool = {
        .worker = rig_worker(1), .stamp_ns = 1, .spec = r->params.spec, .local = -1};
    uint64_t session = rig_hello_as(r, 7, without_spool);
    struct vq_held_call calls[5];
    for (uint8_t i = 0; i < VQ_COUNT(calls); i++) {
        calls[i] = (struct vq_held_call){.call = {{1, i}}, .task = i};
    }
    rig_list(r, 7, session, VQ_MSG_HELD, NULL, 0, calls, VQ_COUNT(calls));
    assert_int_equal(rig_status(r).calls_reserved, 5);
    assert_int_equal(vq_coord_stop(r->c, r->now_ns), VQ_OK);
    rig_pull(r);
    assert_int_equal(r->stopped, 1);
    assert_false(r->stop_clean);
    assert_int_equal(rig_status(r).all.ends[VQ_END_UNKNOWN], 5);
    for (size_t i = 0; i < VQ_COUNT(calls); i++) {
        assert_int_equal(sim_store_row(&r->store, &calls[i].call)->end, VQ_END_UNKNOWN);
    }
    assert_true(rig_status(r).batches >= 3);
}

TEST_WITH(tokens_of_an_answer, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 4);
    const struct rig_said lease = *rig_lease(r, 0);
    struct vq_result result = rig_answer(r, &lease, lease.tasks[0], "Model: A");
    result.tokens_out = VQ_CLAIM_TOKENS_MAX;
    rig_mark(r);
    rig_results(r, 7, session, &result, 1);
    for (uint32_t i = 1; i < lease.count; i++) {
        rig_say_answer(r, 7, session, &lease, lease.tasks[i], "Model: A");
    }
    assert_int_equal(rig_lease(r, 0)->answer_tokens, VQ_CLAIM_TOKENS_MAX);
    assert_true(rig_status(r).tokens_out >= result.tokens_out);
}
