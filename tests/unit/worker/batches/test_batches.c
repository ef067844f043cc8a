/* All batches of a worker over random schedules, against a model of a provider: each call that was
 * added ends exactly once; no batch is created before all its calls are committed, in another
 * session than that of its calls, or twice. Then single rules, one by one. */
#include "tests/unit/test.h"

#include "common/base/rng.h"
#include "worker/batches/batches.h"

#include <stdio.h>
#include <string.h>

#define CALLS_MAX   400u
#define JOBS_MAX    256u
#define BATCHES_MAX 512u
#define SEEDS       300u
#define BODY        "{\"model\":\"m\",\"messages\":[]}"

struct call {
    char name[80]; /* of its batch */
    bool committed;
    uint32_t ends, acks_due, session;
};

struct job {
    uint64_t batch;
    enum vq_batch_action_type type;
    enum vq_batch_part part;
};

static struct {
    struct vq_batches *b;
    struct vq_rng rng;
    int64_t now_ms;
    struct call calls[CALLS_MAX];
    uint32_t calls_count, session;
    struct job jobs[JOBS_MAX];
    uint32_t jobs_count;
    struct {
        char name[VQ_BATCH_NAME_BYTES_MAX + 1];
        uint32_t calls;
    } made[BATCHES_MAX]; /* at the provider; the id is "b-INDEX" */
    uint32_t made_count;
    uint32_t told_over, given_up, ordered, delivered;
    bool interrupts; /* each end of a call begins a new session */
} w;

static struct vq_id id_of(uint32_t call)
{
    struct vq_id id = {{0}};
    memcpy(id.b, &call, sizeof(call));
    id.b[15] = 1;
    return id;
}

static bool chance(uint32_t percent)
{
    return vq_rng_below(&w.rng, 100) < percent;
}

static struct vq_batches_pool pool_of(uint32_t calls_max)
{
    return (struct vq_batches_pool){.name = vq_span_str("pool"),
                                    .at = {vq_batch_find("openai"), "http://127.0.0.1/v1", "m"},
                                    .calls_max = calls_max,
                                    .bytes_max = 1u << 20,
                                    .wait_ms = 5000,
                                    .poll_ms = 1000};
}

static void open_world(uint64_t seed)
{
    struct vq_batches_options options = {.worker = {{1, 2, 3}}, .settle_ms = 2000};
    memset(&w, 0, sizeof(w));
    vq_rng_seed(&w.rng, seed);
    w.now_ms = 1000;
    w.session = 1;
    assert_int_equal(vq_batches_create(&options, &w.b), VQ_OK);
}

static void add(void)
{
    char text[VQ_RESULT_BATCH_BYTES];
    struct vq_batches_pool pool = pool_of(5);
    struct vq_result draft = {.call = id_of(w.calls_count),
                              .task = w.calls_count,
                              .pool = pool.name,
                              .started_unix_ms = 1700000000000 + w.now_ms};
    assert_int_equal(vq_batches_add(w.b, &pool, &draft, vq_span_str(BODY), w.now_ms, text), VQ_OK);
    struct call *call = &w.calls[w.calls_count++];
    call->session = w.session;
    (void)snprintf(call->name, sizeof(call->name), "%.*s", (int)strcspn(text, " "), text);
}

static void check_create(const struct vq_batch_life *life)
{
    assert_false(life->rules.collects);
    for (uint32_t i = 0; i < w.made_count; i++) {
        assert_string_not_equal(w.made[i].name, life->record.name);
    }
    uint32_t calls = 0;
    for (uint32_t i = 0; i < w.calls_count; i++) {
        if (strcmp(w.calls[i].name, life->record.name) == 0) {
            assert_true(w.calls[i].committed);
            assert_int_equal(w.calls[i].ends, 0);
            assert_int_equal(w.calls[i].session, w.session);
            calls++;
        }
    }
    assert_int_equal(calls, life->record.calls);
}

/* Files are deleted only when the end of each call is committed. */
static void check_drop(const char *name)
{
    for (uint32_t i = 0; i < w.calls_count; i++) {
        if (strcmp(w.calls[i].name, name) == 0) {
            assert_int_equal(w.calls[i].ends, 1);
            assert_int_equal(w.calls[i].acks_due, 0);
        }
    }
}

static void take_all(void)
{
    struct vq_batches_action action;
    while (vq_batches_next(w.b, &action)) {
        if (action.type == VQ_BATCHES_DO && action.step.type == VQ_BATCH_DO_DROP) {
            check_drop(action.life->record.name);
        } else if (action.type == VQ_BATCHES_DO) {
            assert_true(w.jobs_count < JOBS_MAX);
            w.jobs[w.jobs_count++] = (struct job){action.batch, action.step.type, action.step.part};
        } else if (action.type == VQ_BATCHES_DELIVER || action.type == VQ_BATCHES_GIVE_UP) {
            struct call *call = &w.calls[action.draft->task];
            assert_int_equal(action.draft->end, VQ_END_BATCHED);
            call->ends++;
            call->acks_due++;
            assert_int_equal(call->ends, 1);
            w.delivered += action.type == VQ_BATCHES_DELIVER ? 1 : 0;
            w.given_up += action.type == VQ_BATCHES_GIVE_UP ? 1 : 0;
            w.ordered += action.type == VQ_BATCHES_GIVE_UP && action.ordered ? 1 : 0;
            if (w.interrupts) {
                vq_batches_restart(w.b, w.now_ms);
            }
        } else if (action.type == VQ_BATCHES_TELL) {
            w.told_over += action.progress.state == VQ_BATCH_PROGRESS_OVER ? 1 : 0;
        }
    }
}

static void give(const struct job *job, struct vq_batch_event event)
{
    vq_batches_event(w.b, job->batch, &event, w.now_ms);
    take_all();
}

/* ---- the provider ---- */

static struct vq_batch_view view_of(uint32_t made, bool ended)
{
    struct vq_batch_view view = {.total = w.made[made].calls,
                                 .succeeded = ended ? w.made[made].calls : 0,
                                 .state = ended ? VQ_BATCH_ENDED : VQ_BATCH_RUNNING,
                                 .has_results = ended,
                                 .created_unix_s = -1};
    (void)snprintf(view.id, sizeof(view.id), "b-%u", made);
    (void)snprintf(view.name, sizeof(view.name), "%s", w.made[made].name);
    (void)snprintf(view.output_file, sizeof(view.output_file), "%s", ended ? "out" : "");
    return view;
}

static uint32_t made_of(const struct vq_batch_life *life)
{
    for (uint32_t i = 0; i < w.made_count; i++) {
        if (strcmp(w.made[i].name, life->record.name) == 0) {
            return i;
        }
    }
    fail_msg("the provider has no batch %s", life->record.name);
    return 0;
}

static void make(const struct vq_batch_life *life)
{
    assert_true(w.made_count < BATCHES_MAX);
    (void)snprintf(w.made[w.made_count].name, sizeof(w.made[0].name), "%s", life->record.name);
    w.made[w.made_count++].calls = life->record.calls;
}

static void do_create(const struct job *job, const struct vq_batch_life *life)
{
    if (life->rules.collects || chance(5)) { /* or the term is over */
        give(job, (struct vq_batch_event){.type = VQ_BATCH_CREATE_UNSENT});
        return;
    }
    check_create(life);
    bool arrives = !chance(30), known = !chance(20);
    if (arrives) {
        make(life);
    }
    struct vq_batch_view view =
        arrives ? view_of(w.made_count - 1, false) : (struct vq_batch_view){.id = ""};
    give(job, (struct vq_batch_event){.type = !known    ? VQ_BATCH_CREATE_UNKNOWN
                                              : arrives ? VQ_BATCH_CREATE_DONE
                                                        : VQ_BATCH_CREATE_REFUSED,
                                      .view = &view});
}

static void do_list(const struct job *job)
{
    static struct vq_batch_view views[BATCHES_MAX];
    for (uint32_t i = 0; i < w.made_count; i++) {
        views[i] = view_of(i, false);
    }
    struct vq_batch_page page = {.at = views, .count = w.made_count};
    give(job, (struct vq_batch_event){.type = VQ_BATCH_LIST_DONE, .page = &page});
}

static void do_fetch(const struct job *job, const struct vq_batch_life *life)
{
    uint32_t made = made_of(life);
    char name[VQ_BATCH_NAME_BYTES_MAX + 1];
    (void)snprintf(name, sizeof(name), "%s", life->record.name);
    for (uint32_t i = 0; i < w.made[made].calls; i++) {
        struct vq_batch_line line = {.number = i + 1, .status = 200, .reply = vq_span_str("{}")};
        vq_batch_call_id(name, i, line.custom_id);
        line.outcome = chance(10) ? VQ_BATCH_CALL_EXPIRED : VQ_BATCH_SUCCEEDED;
        if (!chance(10)) {
            give(job, (struct vq_batch_event){.type = VQ_BATCH_RESULT, .line = &line});
        }
    }
    give(job,
         (struct vq_batch_event){.type = chance(20) ? VQ_BATCH_FETCH_FAILED : VQ_BATCH_FETCH_DONE});
}

static void do_job(uint32_t n)
{
    struct job job = w.jobs[n];
    w.jobs[n] = w.jobs[--w.jobs_count];
    const struct vq_batch_life *life = vq_batches_life(w.b, job.batch);
    if (life == NULL) {
        return;
    }
    bool fails = chance(15);
    struct vq_batch_view view;
    switch ((int)job.type) {
    case VQ_BATCH_DO_UPLOAD:
        assert_true(vq_batches_document(w.b, job.batch).bytes > 0);
        give(&job, (struct vq_batch_event){
                       .type = fails ? VQ_BATCH_UPLOAD_FAILED : VQ_BATCH_UPLOAD_DONE, .text = "f"});
        break;
    case VQ_BATCH_DO_CREATE: do_create(&job, life); break;
    case VQ_BATCH_DO_LIST: do_list(&job); break;
    case VQ_BATCH_DO_GET:
        view = view_of(made_of(life), chance(50));
        give(&job, (struct vq_batch_event){.type = fails ? VQ_BATCH_GET_FAILED : VQ_BATCH_GET_DONE,
                                           .view = &view});
        break;
    case VQ_BATCH_DO_FETCH: do_fetch(&job, life); break;
    default: fail_msg("action %d", (int)job.type);
    }
}

static void ack(uint32_t i)
{
    struct vq_id id = id_of(i);
    struct call *call = &w.calls[i];
    if (!call->committed || call->acks_due > 0) {
        call->acks_due -= call->acks_due > 0 ? 1 : 0;
        call->committed = true;
        vq_batches_gathered(w.b, &id, w.now_ms);
        take_all();
    }
}

static void step(bool adds)
{
    uint64_t what = vq_rng_below(&w.rng, 10);
    w.now_ms += (int64_t)vq_rng_below(&w.rng, 400);
    if (what < 3 && adds && w.calls_count < CALLS_MAX) {
        add();
        take_all();
    } else if (what < 6 && w.calls_count > 0) {
        ack((uint32_t)vq_rng_below(&w.rng, w.calls_count));
    } else if (what < 8 && w.jobs_count > 0) {
        do_job((uint32_t)vq_rng_below(&w.rng, w.jobs_count));
    } else if (what == 8 && adds && chance(5)) {
        w.session++;
        vq_batches_restart(w.b, w.now_ms);
        take_all();
    } else {
        vq_batches_tick(w.b, w.now_ms);
        take_all();
    }
}

TEST(test_each_call_ends_once_and_no_batch_is_created_twice)
{
    uint32_t delivered = 0, given_up = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        open_world(seed);
        for (uint32_t i = 0; i < 600; i++) {
            step(true);
        }
        for (uint32_t i = 0; i < 40000 && vq_batches_count(w.b) > 0; i++) {
            step(false);
        }
        assert_int_equal(vq_batches_count(w.b), 0);
        for (uint32_t i = 0; i < w.calls_count; i++) {
            assert_int_equal(w.calls[i].ends, 1);
        }
        assert_true(w.told_over > 0);
        delivered += w.delivered;
        given_up += w.given_up;
        vq_batches_destroy(&w.b);
    }
    assert_true(delivered > 0 && given_up > 0);
}

/* ---- single rules ---- */

/* Takes what is sent to it, and says that each batch was cancelled. */
static void cancelled_at_the_provider(void)
{
    while (w.jobs_count > 0) {
        struct job job = w.jobs[--w.jobs_count];
        const struct vq_batch_life *life = vq_batches_life(w.b, job.batch);
        struct vq_batch_view view;
        if (job.type == VQ_BATCH_DO_UPLOAD) {
            give(&job, (struct vq_batch_event){.type = VQ_BATCH_UPLOAD_DONE, .text = "f"});
        } else if (job.type == VQ_BATCH_DO_CREATE) {
            make(life);
            view = view_of(0, false);
            give(&job, (struct vq_batch_event){.type = VQ_BATCH_CREATE_DONE, .view = &view});
        } else if (job.type == VQ_BATCH_DO_GET) {
            view = view_of(0, false);
            view.state = VQ_BATCH_CANCELLED;
            give(&job, (struct vq_batch_event){.type = VQ_BATCH_GET_DONE, .view = &view});
        }
    }
}

TEST(test_a_batch_that_is_full_is_closed_and_the_next_one_opened)
{
    open_world(1);
    for (uint32_t i = 0; i < 6; i++) {
        add();
    }
    assert_string_equal(w.calls[0].name, w.calls[4].name);
    assert_string_not_equal(w.calls[4].name, w.calls[5].name);
    assert_true(vq_batch_name_ok(w.calls[5].name));
    vq_batches_destroy(&w.b);
}

/* The provider has the first batch, and cancelled it; the second one is gathered. */
TEST(test_only_a_cancel_of_the_coordinator_is_ordered)
{
    for (int ordered = 0; ordered < 2; ordered++) {
        open_world(1);
        add();
        ack(0);
        struct vq_msg_collect order = {.name = vq_span_str(w.calls[0].name), .cancel = true};
        if (ordered) {
            struct vq_batches_pool pool = pool_of(5);
            assert_int_equal(vq_batches_collect(w.b, &order, &pool, w.now_ms), VQ_OK);
            take_all();
        }
        for (uint32_t i = 0; w.given_up == 0 && i < 1000; i++) {
            w.now_ms += 1000;
            vq_batches_tick(w.b, w.now_ms);
            take_all();
            cancelled_at_the_provider();
        }
        assert_int_equal(w.given_up, 1);
        assert_int_equal(w.ordered, ordered);
        vq_batches_destroy(&w.b);
    }
}

/* What follows from the end of a call may be a new session, before the next call is given up. */
TEST(test_a_new_session_between_two_calls_that_are_given_up)
{
    open_world(1);
    w.interrupts = true;
    for (uint32_t i = 0; i < 2; i++) {
        add();
        ack(i);
    }
    for (uint32_t i = 0; w.given_up < 2 && i < 1000; i++) {
        w.now_ms += 1000;
        vq_batches_tick(w.b, w.now_ms);
        take_all();
        cancelled_at_the_provider();
    }
    assert_int_equal(w.given_up, 2);
    vq_batches_destroy(&w.b);
}

TEST(test_a_call_that_is_too_large_for_any_document)
{
    static char body[4096];
    char text[VQ_RESULT_BATCH_BYTES];
    struct vq_batches_pool pool = pool_of(5);
    struct vq_result draft = {.call = id_of(0)};
    open_world(1);
    memset(body, 'x', sizeof(body));
    pool.bytes_max = 2048;
    assert_int_equal(vq_batches_add(w.b, &pool, &draft, vq_span(body, sizeof(body)), 1000, text),
                     VQ_LIMIT);
    assert_int_equal(vq_batches_add(w.b, &pool, &draft, vq_span("a\nb", 3), 1000, text),
                     VQ_INVALID);
    assert_int_equal(vq_batches_count(w.b), 0);
    vq_batches_destroy(&w.b);
}

TEST(test_the_time_closes_a_batch_and_the_ack_submits_it)
{
    open_world(1);
    add();
    take_all();
    int64_t wake_ms = vq_batches_wake_ms(w.b);
    assert_int_equal(wake_ms, 1000 + VQ_BATCHES_IDLE_MS);
    w.now_ms = wake_ms;
    vq_batches_tick(w.b, w.now_ms);
    take_all();
    assert_int_equal(w.jobs_count, 0); /* it is closed, and its call is not committed */
    ack(0);
    assert_int_equal(w.jobs_count, 1);
    assert_int_equal(w.jobs[0].type, VQ_BATCH_DO_UPLOAD);
    vq_batches_destroy(&w.b);
}

TEST(test_messages_that_are_not_sound_change_nothing)
{
    open_world(1);
    struct vq_batches_pool pool = pool_of(5);
    struct vq_result draft = {.end = VQ_END_BATCHED, .error = vq_span_str("other 1")};
    struct vq_msg_collect message = {
        .name = vq_span_str("vq-1"), .pool = pool.name, .drafts = &draft, .drafts_count = 1};
    assert_int_equal(vq_batches_collect(w.b, &message, &pool, 1), VQ_INVALID);
    draft.error = vq_span_str("vq-1 100000");
    assert_int_equal(vq_batches_collect(w.b, &message, &pool, 1), VQ_INVALID);
    message.name = vq_span_str("a name");
    message.drafts_count = 0;
    assert_int_equal(vq_batches_collect(w.b, &message, &pool, 1), VQ_INVALID);
    assert_int_equal(vq_batches_count(w.b), 0);
    vq_batches_destroy(&w.b);
}

/* Part `from` to `to` of the drafts of a batch with three calls. */
static void collect_part(uint32_t from, uint32_t to)
{
    static const char *const names[] = {"vq-1 0", "vq-1 1", "vq-1 2"};
    struct vq_batches_pool pool = pool_of(5);
    struct vq_result drafts[3];
    for (uint32_t i = 0; i < 3; i++) {
        drafts[i] = (struct vq_result){.call = id_of(i),
                                       .end = VQ_END_BATCHED,
                                       .pool = pool.name,
                                       .error = vq_span_str(names[i])};
    }
    struct vq_msg_collect message = {.name = vq_span_str("vq-1"),
                                     .pool = pool.name,
                                     .id = vq_span_str("batch_1"),
                                     .calls = 3,
                                     .before = from,
                                     .more = to < 3,
                                     .drafts = drafts + from,
                                     .drafts_count = to - from};
    assert_int_equal(vq_batches_collect(w.b, &message, &pool, w.now_ms), VQ_OK);
}

TEST(test_without_a_lost_part_the_others_fall_away)
{
    open_world(1);
    w.calls_count = 3;
    collect_part(1, 2); /* the first part was lost */
    collect_part(2, 3);
    assert_int_equal(vq_batches_count(w.b), 0);
    collect_part(0, 1);
    collect_part(2, 3); /* the second part was lost */
    assert_int_equal(vq_batches_count(w.b), 0);
    collect_part(0, 1);
    collect_part(1, 2);
    collect_part(0, 1); /* the last part was lost, and all of it comes again */
    collect_part(1, 2);
    take_all();
    assert_int_equal(w.jobs_count, 0);
    collect_part(2, 3);
    take_all();
    assert_int_equal(w.jobs_count, 1);
    assert_int_equal(w.jobs[0].type, VQ_BATCH_DO_GET);
    vq_batches_destroy(&w.b);
}

/* It has no id, and the provider does not list it: whatever the time, it is only looked for. */
TEST(test_a_batch_of_another_worker_is_never_created)
{
    open_world(1);
    struct vq_batches_pool pool = pool_of(5);
    struct vq_result draft = {
        .call = id_of(0), .end = VQ_END_BATCHED, .pool = pool.name, .error = vq_span_str("vq-1 0")};
    struct vq_msg_collect message = {.name = vq_span_str("vq-1"),
                                     .pool = pool.name,
                                     .calls = 1,
                                     .drafts = &draft,
                                     .drafts_count = 1};
    w.calls_count = 1;
    assert_int_equal(vq_batches_collect(w.b, &message, &pool, w.now_ms), VQ_OK);
    take_all();
    for (int i = 0; i < 10000 && w.given_up == 0; i++) {
        if (w.jobs_count > 0) {
            assert_int_equal(w.jobs[0].type, VQ_BATCH_DO_LIST);
            do_job(0);
            continue;
        }
        w.now_ms = vq_batches_wake_ms(w.b);
        vq_batches_tick(w.b, w.now_ms);
        take_all();
    }
    assert_int_equal(w.given_up, 1);
    assert_true(w.now_ms > VQ_BATCH_FOREIGN_SETTLE_MS);
    vq_batches_destroy(&w.b);
}

/* ---- a limit of what may be enqueued ---- */

static void carry_out(enum vq_batch_action_type type, struct vq_batch_event event)
{
    assert_int_equal(w.jobs_count, 1);
    assert_int_equal(w.jobs[0].type, type);
    struct job job = w.jobs[--w.jobs_count];
    give(&job, event);
}

/* A batch of all calls that were added since: the provider fails it, or ends it without results. */
static uint32_t run_batch(uint32_t calls, bool limited)
{
    uint32_t first = w.calls_count;
    for (uint32_t i = 0; i < calls; i++) {
        add();
    }
    uint32_t in_first = 0;
    while (in_first < calls && strcmp(w.calls[first + in_first].name, w.calls[first].name) == 0) {
        in_first++;
    }
    for (uint32_t i = 0; i < in_first; i++) {
        ack(first + i);
    }
    w.now_ms += VQ_BATCHES_IDLE_MS;
    vq_batches_tick(w.b, w.now_ms);
    take_all();
    struct vq_batch_view view = {.id = "b", .state = VQ_BATCH_RUNNING};
    carry_out(VQ_BATCH_DO_UPLOAD,
              (struct vq_batch_event){.type = VQ_BATCH_UPLOAD_DONE, .text = "f"});
    carry_out(VQ_BATCH_DO_CREATE,
              (struct vq_batch_event){.type = VQ_BATCH_CREATE_DONE, .view = &view});
    if (w.jobs_count == 0) {
        w.now_ms = vq_batches_wake_ms(w.b);
        vq_batches_tick(w.b, w.now_ms);
        take_all();
    }
    view.state = limited ? VQ_BATCH_FAILED : VQ_BATCH_EXPIRED;
    view.is_limited = limited;
    carry_out(VQ_BATCH_DO_GET, (struct vq_batch_event){.type = VQ_BATCH_GET_DONE, .view = &view});
    for (uint32_t i = 0; i < in_first; i++) {
        assert_int_equal(w.calls[first + i].ends, 1);
        ack(first + i);
    }
    return in_first;
}

TEST(test_a_batch_over_the_limit_is_followed_by_smaller_ones)
{
    open_world(1);
    assert_int_equal(run_batch(5, true), 5);
    assert_int_equal(run_batch(2, true), 2);
    assert_int_equal(run_batch(1, true), 1);
    assert_int_equal(run_batch(1, false), 1);
    assert_int_equal(run_batch(2, false), 2);
    assert_int_equal(run_batch(4, false), 4);
    assert_int_equal(run_batch(5, false), 5);
    vq_batches_destroy(&w.b);
}
