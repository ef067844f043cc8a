/* Calls that are part of a batch at a provider: they are committed, reserve their tasks without a
 * lease and without a worker, and end with the result that follows. */
#include "proto/result.h"
#include "tests/unit/coordinator/queue/rig.h"

#define BATCH "vq-0100000000000055-1" /* of worker 1 */

static struct vq_result batched(struct rig *r, const struct rig_said *lease, uint64_t task)
{
    struct vq_result result = rig_failure(r, lease, task, VQ_END_BATCHED, false, VQ_OUTCOME_NONE);
    result.error = vq_span_str(BATCH " 0");
    result.pool = vq_span_str("ada");
    struct vq_id worker = rig_worker(1);
    memcpy(result.call.b, worker.b, sizeof(uint64_t));
    return result;
}

/* How often task 0 was leased since the last mark. */
static unsigned leased(struct rig *r, uint64_t peer)
{
    unsigned times = 0;
    for (unsigned i = 0; i < rig_count(r, peer, VQ_MSG_LEASE); i++) {
        for (uint32_t n = 0; n < rig_lease(r, i)->count; n++) {
            times += rig_lease(r, i)->tasks[n] == 0 ? 1 : 0;
        }
    }
    return times;
}

static uint64_t spent(const struct rig *r)
{
    struct vq_authority_money money;
    vq_authority_money(r->params.authority, &money);
    return money.spent_nano;
}

/* The session of worker 1, of which task 0 is in a batch that is committed. */
static uint64_t begin(struct rig *r, struct rig_said *ret_lease, struct vq_result *ret_result)
{
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 4);
    *ret_lease = *rig_lease(r, 0);
    *ret_result = batched(r, ret_lease, 0);
    rig_results(r, 7, session, ret_result, 1);
    rig_pull(r);
    assert_int_equal(rig_count(r, 7, VQ_MSG_ACK), 1);
    assert_int_equal(rig_status(r).batched, 1);
    return session;
}

TEST_WITH(a_batched_task_outlives_its_worker_and_its_term, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    struct rig_said lease;
    struct vq_result result;
    (void)begin(r, &lease, &result);
    assert_int_equal(rig_status(r).all.calls, 0);
    rig_mark(r);
    assert_int_equal(vq_coord_local_ended(r->c, 1, r->now_ns), VQ_OK);
    rig_pass(r, 10);
    (void)rig_join(r, 8, 2, 100);
    assert_int_equal(leased(r, 8), 0);
    assert_int_equal(rig_status(r).batched, 1);
    assert_int_equal(vq_coord_outcome(r->c, 0), VQ_OUTCOME_NONE);
}

TEST_WITH(any_worker_brings_its_result, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    struct rig_said lease;
    struct vq_result result;
    (void)begin(r, &lease, &result);
    uint64_t other = rig_join(r, 8, 2, 4);
    struct vq_result answer = rig_answer(r, &lease, 0, "Model: A");
    answer.call = result.call;
    rig_mark(r);
    rig_results(r, 8, other, &answer, 1);
    rig_pull(r);
    assert_int_equal(rig_count(r, 8, VQ_MSG_ACK), 1);
    assert_int_equal(vq_coord_outcome(r->c, 0), VQ_OUTCOME_FIRST);
    assert_int_equal(rig_status(r).batched, 0);
    assert_int_equal(rig_status(r).all.calls, 1);
    assert_int_equal(sim_store_row(&r->store, &result.call)->end, VQ_END_ANSWER);
}

TEST_WITH(a_line_without_an_answer_opens_its_task, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    struct rig_said lease;
    struct vq_result result;
    uint64_t session = begin(r, &lease, &result);
    struct vq_result none = rig_failure(r, &lease, 0, VQ_END_PROVIDER, false, VQ_OUTCOME_NONE);
    none.call = result.call;
    rig_mark(r);
    rig_results(r, 7, session, &none, 1);
    rig_pull(r);
    assert_int_equal(rig_status(r).batched, 0);
    assert_int_equal(vq_coord_local_ended(r->c, 1, r->now_ns), VQ_OK); /* the rest of its shard */
    (void)rig_join(r, 8, 2, 100);
    assert_int_equal(leased(r, 8), 1);
}

TEST_WITH(it_is_batched_once, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    struct rig_said lease;
    struct vq_result result;
    uint64_t session = begin(r, &lease, &result);
    rig_mark(r);
    rig_results(r, 7, session, &result, 1); /* its ACK was lost */
    rig_pull(r);
    assert_int_equal(rig_count(r, 7, VQ_MSG_ACK), 1);
    assert_int_equal(rig_status(r).batched, 1);
    struct vq_held_call held = {.call = result.call, .task = 0};
    rig_list(r, 7, session, VQ_MSG_HEARTBEAT, NULL, 0, &held, 1);
    assert_int_equal(rig_count(r, 7, VQ_MSG_ACK), 1); /* it may hold the result that follows */
    rig_pass(r, 10);
    assert_int_equal(rig_status(r).batched, 1);
}

TEST_WITH(its_result_may_come_before_it_is_committed, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 4);
    struct rig_said lease = *rig_lease(r, 0);
    r->hold_commits = true;
    struct vq_result result = batched(r, &lease, 0);
    struct vq_result answer = rig_answer(r, &lease, 0, "Model: A");
    answer.call = result.call;
    rig_results(r, 7, session, &result, 1);
    rig_results(r, 7, session, &answer, 1);
    rig_commit(r);
    rig_pull(r);
    assert_int_equal(rig_status(r).batched, 0);
    rig_commit(r);
    rig_pull(r);
    assert_int_equal(vq_coord_outcome(r->c, 0), VQ_OUTCOME_FIRST);
    assert_int_equal(rig_count(r, 7, VQ_MSG_ACK), 1);
}

TEST_WITH(a_batched_result_is_never_final, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 4);
    struct rig_said lease = *rig_lease(r, 0);
    struct vq_result result = batched(r, &lease, 0);
    result.final = true;
    rig_results(r, 7, session, &result, 1);
    rig_pull(r);
    assert_int_equal(rig_count(r, 7, VQ_MSG_BYE), 1);
    assert_int_equal(rig_status(r).broken, 1);
}

TEST_WITH(its_bound_is_spent_until_its_result_costs_less, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 4);
    struct rig_said lease = *rig_lease(r, 0);
    struct vq_result result = batched(r, &lease, 0);
    struct vq_result answer = rig_answer(r, &lease, 0, "Model: A");
    result.cost_nano = 900;
    answer.cost_nano = 300;
    answer.call = result.call;
    rig_results(r, 7, session, &result, 1);
    rig_pull(r);
    assert_int_equal(spent(r), 900);
    rig_results(r, 7, session, &answer, 1);
    rig_pull(r);
    assert_int_equal(spent(r), 300);
    rig_results(r, 7, session, &answer, 1);
    rig_pull(r);
    assert_int_equal(spent(r), 300);
}

/* ---- who looks after a batch ---- */

/* Until the peer is sent a COLLECT, but no longer than for three terms. */
static void wait_for_collect(struct rig *r, uint64_t peer, uint64_t session)
{
    for (int i = 0; i < 3 * RIG_TERM / RIG_HEARTBEAT && rig_count(r, peer, VQ_MSG_COLLECT) == 0;
         i++) {
        rig_pass(r, RIG_HEARTBEAT);
        rig_beat(r, peer, session, NULL);
        rig_pull(r);
    }
}

static void say_batch(struct rig *r, uint64_t peer, uint64_t session, const char *id, uint8_t state)
{
    struct vq_msg msg = {.type = VQ_MSG_BATCH,
                         .u.batch = {.session = session,
                                     .name = vq_span_str(BATCH),
                                     .pool = vq_span_str("ada"),
                                     .id = vq_span_str(id),
                                     .state = state,
                                     .calls = 3}};
    assert_int_equal(vq_coord_message(r->c, peer, &msg, r->now_ns), VQ_OK);
    rig_pull(r);
}

static struct vq_coord_batch_status only_batch(const struct rig *r)
{
    struct vq_coord_batch_status batch, second;
    assert_true(vq_coord_api_batch_fill(r->c, 0, &batch));
    assert_false(vq_coord_api_batch_fill(r->c, 1, &second));
    return batch;
}

TEST_WITH(a_batch_is_known_by_its_name, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    struct rig_said lease;
    struct vq_result result;
    uint64_t session = begin(r, &lease, &result);
    struct vq_coord_batch_status batch = only_batch(r);
    assert_string_equal(batch.name, BATCH);
    assert_string_equal(batch.id, "");
    assert_int_equal(batch.waiting, 1);
    assert_string_equal(batch.worker, "worker");
    say_batch(r, 7, session, "batch_5", VQ_BATCH_PROGRESS_CREATED);
    batch = only_batch(r);
    assert_string_equal(batch.id, "batch_5");
    assert_int_equal(batch.state, VQ_BATCH_PROGRESS_CREATED);
    assert_int_equal(batch.calls, 3);
    struct vq_result answer = rig_answer(r, &lease, 0, "Model: A");
    answer.call = result.call;
    rig_results(r, 7, session, &answer, 1);
    rig_pull(r);
    assert_false(vq_coord_api_batch_fill(r->c, 0, &batch));
}

TEST_WITH(another_worker_looks_after_it_when_its_own_is_gone, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    struct rig_said lease;
    struct vq_result result;
    uint64_t session = begin(r, &lease, &result);
    say_batch(r, 7, session, "batch_5", VQ_BATCH_PROGRESS_CREATED);
    uint64_t other = rig_join(r, 8, 2, 0);
    assert_int_equal(vq_coord_local_ended(r->c, 1, r->now_ns), VQ_OK);
    rig_mark(r);
    rig_pull(r);
    assert_int_equal(rig_count(r, 8, VQ_MSG_COLLECT), 0); /* it may come back within a term */
    wait_for_collect(r, 8, other);
    assert_int_equal(rig_count(r, 8, VQ_MSG_COLLECT), 1);
    rig_mark(r);
    wait_for_collect(r, 8, other);
    assert_int_equal(rig_count(r, 8, VQ_MSG_COLLECT), 1); /* it was lost, as far as is known */
    say_batch(r, 8, other, "batch_5", VQ_BATCH_PROGRESS_CREATED);
    rig_mark(r);
    wait_for_collect(r, 8, other);
    assert_int_equal(rig_count(r, 8, VQ_MSG_COLLECT), 0);
}

TEST_WITH(a_batch_of_an_earlier_process_is_given_to_a_worker, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    struct vq_result draft = {.call = {{9}}, .end = VQ_END_BATCHED, .cost_nano = 7};
    draft.error = vq_span_str(BATCH " 4");
    draft.pool = vq_span_str("ada");
    assert_int_equal(vq_coord_batched(r->c, &draft), VQ_OK);
    struct vq_batch_report said = {.about = {.name = vq_span_str(BATCH),
                                             .pool = vq_span_str("ada"),
                                             .id = vq_span_str("batch_5"),
                                             .state = VQ_BATCH_PROGRESS_CREATED,
                                             .calls = 9}};
    assert_int_equal(vq_coord_api_batch_store(r->c, &said), VQ_OK);
    assert_int_equal(only_batch(r).calls, 9);
    uint64_t session = rig_join(r, 7, 1, 4);
    assert_int_equal(leased(r, 7), 0); /* it is reserved */
    wait_for_collect(r, 7, session);
    assert_int_equal(rig_count(r, 7, VQ_MSG_COLLECT), 1);
}

TEST_WITH(a_batch_is_cancelled_by_who_looks_after_it, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    struct rig_said lease;
    struct vq_result result;
    uint32_t count;
    (void)begin(r, &lease, &result);
    assert_int_equal(vq_coord_api_batch_cancel(r->c, "no such", r->now_ns, &count), VQ_OK);
    assert_int_equal(count, 0);
    assert_int_equal(vq_coord_api_batch_cancel(r->c, BATCH, r->now_ns, &count), VQ_OK);
    assert_int_equal(count, 1);
    rig_pull(r);
    assert_int_equal(rig_count(r, 7, VQ_MSG_COLLECT), 1);
}

/* A worker that names a batch for each call never ends the run. */
TEST_WITH(too_many_batches_are_no_end, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    enum {
        FRAME = 3000
    };
    static struct vq_result results[FRAME];
    static char names[FRAME][VQ_RESULT_BATCH_BYTES];
    r->params.commit_results_max = 3 * FRAME;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 4);
    r->hold_commits = true;
    for (int frame = 0; frame < 2; frame++) {
        for (uint32_t i = 0; i < FRAME; i++) {
            struct vq_id call = rig_call(r);
            char front[VQ_BATCH_NAME_FRONT_BYTES];
            vq_batch_name_front(&call, front);
            (void)snprintf(names[i], sizeof(names[i]), "%s%d-%u 0", front, frame, i);
            results[i] = (struct vq_result){.call = call,
                                            .stage = r->params.stage + 1,
                                            .end = VQ_END_BATCHED,
                                            .pool = vq_span_str("ada"),
                                            .error = vq_span_str(names[i])};
        }
        rig_results(r, 7, session, results, FRAME);
    }
    rig_commit(r);
    rig_pull(r);
    rig_commit(r);
    rig_pull(r);
    assert_int_equal(vq_coord_health(r->c), VQ_OK);
    assert_true(rig_status(r).batched > VQ_COORD_API_BATCHES_MAX); /* all were taken together */
    results[0].call = rig_call(r);
    char front[VQ_BATCH_NAME_FRONT_BYTES], one_more[VQ_RESULT_BATCH_BYTES];
    vq_batch_name_front(&results[0].call, front);
    vq_result_batch_text(front, 0, one_more);
    results[0].error = vq_span_str(one_more);
    rig_mark(r);
    rig_results(r, 7, session, results, 1);
    assert_int_equal(rig_count(r, 7, VQ_MSG_BYE), 1);
}

/* ---- a worker that means harm ---- */

TEST_WITH(only_the_worker_that_looks_after_a_batch_is_heard, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    struct rig_said lease;
    struct vq_result result;
    uint64_t session = begin(r, &lease, &result);
    uint64_t other = rig_join(r, 8, 2, 0);
    say_batch(r, 8, other, "stolen", VQ_BATCH_PROGRESS_CREATED);
    assert_string_equal(only_batch(r).id, "");
    assert_int_equal(only_batch(r).state, VQ_BATCH_PROGRESS_GATHERS);
    say_batch(r, 7, session, "batch_5", VQ_BATCH_PROGRESS_CREATED);
    say_batch(r, 8, other, "batch_5", VQ_BATCH_PROGRESS_OVER);
    assert_string_equal(only_batch(r).id, "batch_5");
    assert_int_equal(rig_status(r).broken, 0); /* it may have been taken for gone */
    assert_int_equal(vq_coord_local_ended(r->c, 1, r->now_ns), VQ_OK);
    rig_mark(r);
    wait_for_collect(r, 8, other); /* its claim keeps nothing from being collected */
    assert_int_equal(rig_count(r, 8, VQ_MSG_COLLECT), 1);
}

TEST_WITH(a_batch_keeps_the_id_that_it_has, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    struct rig_said lease;
    struct vq_result result;
    uint64_t session = begin(r, &lease, &result);
    say_batch(r, 7, session, "batch_5", VQ_BATCH_PROGRESS_CREATED);
    say_batch(r, 7, session, "", VQ_BATCH_PROGRESS_SUBMITTED);
    assert_string_equal(only_batch(r).id, "batch_5");
    say_batch(r, 7, session, "another", VQ_BATCH_PROGRESS_CREATED);
    assert_string_equal(only_batch(r).id, "batch_5");
    assert_int_equal(rig_status(r).broken, 1);
}

TEST_WITH(a_batch_has_the_calls_of_one_process, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    struct rig_said lease;
    struct vq_result result;
    (void)begin(r, &lease, &result);
    uint64_t other = rig_join(r, 8, 2, 0);
    struct vq_result more = {.call = {{0xcc}},
                             .stage = r->params.stage + 1,
                             .end = VQ_END_BATCHED,
                             .pool = vq_span_str("ada"),
                             .error = vq_span_str(BATCH " 1")};
    rig_results(r, 8, other, &more, 1);
    rig_pull(r);
    assert_int_equal(rig_status(r).broken, 1);
    assert_int_equal(rig_status(r).batched, 1);
    assert_string_equal(only_batch(r).worker, "worker");
}

/* What the core takes of a batch, each worker that collects it takes, too. */
TEST_WITH(what_no_worker_could_collect_is_refused, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    const char *texts[] = {BATCH " 100000",
                           "vq-0100000000000055-/ 0",
                           " 0",
                           BATCH " ",
                           BATCH,
                           "vq-0100000000000055- 0",
                           "b-1 0",
                           "vq-0200000000000055-1 0",
                           "vq-0100000000000055-234567890123456789012345678901234567890123456 0"};
    rig_start(r);
    for (uint32_t i = 0; i < VQ_COUNT(texts); i++) {
        uint64_t session = rig_join(r, 20 + i, 1 + i, 0);
        struct vq_result result = {.call = rig_worker(1),
                                   .stage = r->params.stage + 1,
                                   .end = VQ_END_BATCHED,
                                   .pool = vq_span_str("ada"),
                                   .error = vq_span_str(texts[i])};
        rig_results(r, 20 + i, session, &result, 1);
        assert_int_equal(rig_status(r).broken, i + 1);
    }
}

TEST_WITH(a_batch_is_no_larger_than_a_worker_takes, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    struct rig_said lease;
    struct vq_result result;
    uint64_t session = begin(r, &lease, &result);
    struct vq_msg msg = {.type = VQ_MSG_BATCH,
                         .u.batch = {.session = session,
                                     .name = vq_span_str(BATCH),
                                     .pool = vq_span_str("ada"),
                                     .state = VQ_BATCH_PROGRESS_SUBMITTED,
                                     .calls = VQ_WIRE_BATCH_CALLS_MAX + 1}};
    assert_int_equal(vq_coord_message(r->c, 7, &msg, r->now_ns), VQ_OK);
    assert_int_equal(rig_status(r).broken, 1);
    assert_int_equal(only_batch(r).state, VQ_BATCH_PROGRESS_GATHERS);
}

/* After a restart the worker that looked after it goes on, and no other one. */
TEST_WITH(the_store_knows_which_worker_looks_after_it, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    struct vq_result draft = {.call = {{9}}, .end = VQ_END_BATCHED};
    draft.error = vq_span_str(BATCH " 0");
    draft.pool = vq_span_str("ada");
    assert_int_equal(vq_coord_batched(r->c, &draft), VQ_OK);
    struct vq_batch_report said = {.about = {.name = vq_span_str(BATCH),
                                             .pool = vq_span_str("ada"),
                                             .state = VQ_BATCH_PROGRESS_SUBMITTED,
                                             .calls = 1},
                                   .owner = rig_worker(1)};
    assert_int_equal(vq_coord_api_batch_store(r->c, &said), VQ_OK);
    uint64_t other = rig_join(r, 8, 2, 0), session = rig_join(r, 7, 1, 0);
    say_batch(r, 8, other, "stolen", VQ_BATCH_PROGRESS_CREATED);
    assert_string_equal(only_batch(r).id, "");
    say_batch(r, 7, session, "batch_5", VQ_BATCH_PROGRESS_CREATED);
    assert_string_equal(only_batch(r).id, "batch_5");
    rig_mark(r);
    for (int i = 0; i < 3 * RIG_TERM / RIG_HEARTBEAT; i++) {
        rig_pass(r, RIG_HEARTBEAT);
        rig_beat(r, 7, session, NULL);
        rig_beat(r, 8, other, NULL);
        rig_pull(r);
    }
    assert_int_equal(rig_count(r, 0, VQ_MSG_COLLECT), 0);
}

/* How many repairs were leased since the mark. */
static unsigned repairs_leased(struct rig *r, uint64_t peer)
{
    unsigned times = 0;
    for (unsigned i = 0; i < rig_count(r, peer, VQ_MSG_LEASE); i++) {
        const struct rig_said *lease = rig_lease(r, i);
        for (uint32_t n = 0; n < lease->count; n++) {
            times += lease->prior[n] > 0 ? 1 : 0;
        }
    }
    return times;
}

/* A batch takes hours: the others with this text wait for its repair, and do not buy it again. */
TEST_WITH(of_equal_texts_one_repair_is_in_a_batch, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    static const char text[] = "who knows";
    rig_end(r);
    rig_init(r, 2, 1, 1);
    r->params.repairs = true;
    r->store.swap = VQ_SWAP_NONE;
    rig_tried(r, 0, text);
    rig_tried(r, 2, text);
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 100);
    struct rig_said lease = *rig_leased(r, 0);
    assert_int_equal(repairs_leased(r, 7), 1);
    struct vq_result repair = batched(r, &lease, 0);
    repair.kind = VQ_CALL_REPAIR;
    rig_results(r, 7, session, &repair, 1);
    rig_pull(r);
    assert_int_equal(rig_status(r).batched, 1);
    rig_mark(r);
    (void)rig_join(r, 8, 2, 100);
    rig_pass(r, 10);
    rig_pull(r);
    assert_int_equal(repairs_leased(r, 7) + repairs_leased(r, 8), 0);
    struct vq_result answer = rig_answer(r, &lease, 0, "Model: A");
    answer.call = repair.call;
    answer.kind = VQ_CALL_REPAIR;
    answer.repaired = answer.request;
    rig_repair_of(NULL, 0, &answer.repaired, vq_span_str(text), &answer.request);
    rig_results(r, 7, session, &answer, 1);
    rig_pull(r);
    assert_int_equal(vq_coord_outcome(r->c, 0), VQ_OUTCOME_FIRST);
    assert_int_equal(vq_coord_outcome(r->c, 2), VQ_OUTCOME_FIRST);
    assert_int_equal(repairs_leased(r, 7) + repairs_leased(r, 8), 0);
}
