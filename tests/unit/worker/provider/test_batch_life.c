/* The life of a batch against a model of a provider, over every schedule of faults: a crash before
 * or after each action, replies that are lost, requests that arrive late, a list that lags, results
 * that break off. The provider never gets two creates of the batch, and every call ends. */
#include "tests/unit/test.h"

#include "worker/provider/batch_life.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME     "run-1.calls"
#define CALLS    3u
#define SECOND   INT64_C(1000)
#define LATE_MS  (50 * SECOND) /* a request that arrives after the crash of its sender */
#define LAG_MS   (60 * SECOND) /* of the list */
#define STEPS    4000
#define CHOICES  600
#define OTHER_ID "b-other"

/* ---- choices: an odometer over all schedules with at most `faults_max` faults ---- */

static struct {
    uint8_t at[CHOICES], options[CHOICES];
    uint32_t count, used, faults, faults_max;
} tape;

static uint32_t choose(uint32_t options)
{
    assert_true(tape.used < CHOICES);
    uint32_t n = tape.used++;
    if (n == tape.count) {
        tape.at[n] = 0;
        tape.count++;
    }
    tape.options[n] = (uint8_t)(tape.faults < tape.faults_max ? options : 1);
    tape.faults += tape.at[n] != 0 ? 1 : 0;
    return tape.at[n];
}

static bool next_schedule(void)
{
    tape.count = tape.used;
    while (tape.count > 0 && tape.at[tape.count - 1] + 1 >= tape.options[tape.count - 1]) {
        tape.count--;
    }
    if (tape.count > 0) {
        tape.at[tape.count - 1]++;
    }
    tape.used = 0;
    tape.faults = 0;
    return tape.count > 0;
}

/* ---- the world ---- */

static struct {
    struct vq_batch_rules rules;
    struct vq_batch_life life;
    struct vq_batch_record durable;
    bool has_durable, alive, finished, settled, other;
    int64_t now_ms, lag_ms;
    uint32_t creates, gets, opened;
    int64_t created_ms; /* the batch is at the provider from then on; -1: it is not */
    bool cancelled, delivered[CALLS], given_up[CALLS];
    enum vq_batch_outcome outcome; /* of the last call; the others succeed */
} w;

static void crash(void)
{
    vq_batch_life_free(&w.life);
    w.alive = false;
    w.now_ms += SECOND;
}

static void step(struct vq_batch_event event)
{
    vq_batch_life_step(&w.life, &event, w.now_ms);
}

static void start(void)
{
    struct vq_batch_record fresh = {
        .phase = VQ_BATCH_PLANNED, .calls = CALLS, .planned_unix_s = 1000000};
    (void)snprintf(fresh.name, sizeof(fresh.name), "%s", NAME);
    w.alive = true;
    assert_int_equal(vq_batch_life_init(&w.life, &w.rules, w.has_durable ? &w.durable : &fresh,
                                        w.has_durable, w.now_ms),
                     VQ_OK);
}

static struct vq_batch_view view_of_ours(void)
{
    struct vq_batch_view view = {
        .id = "b-1", .total = CALLS, .succeeded = -1, .created_unix_s = 1000010};
    if (w.rules.carries_name) {
        (void)snprintf(view.name, sizeof(view.name), "%s", NAME);
    }
    bool ended = w.gets >= 2 || w.now_ms > w.created_ms + 400 * SECOND;
    view.state = !ended ? VQ_BATCH_RUNNING : w.cancelled ? VQ_BATCH_CANCELLED : VQ_BATCH_ENDED;
    view.has_results = ended;
    (void)snprintf(view.output_file, sizeof(view.output_file), "%s",
                   ended && w.rules.uploads ? "f-out" : "");
    return view;
}

static struct vq_batch_view view_of_other(void)
{
    bool ended = w.now_ms > 300 * SECOND;
    return (struct vq_batch_view){.id = OTHER_ID,
                                  .total = CALLS,
                                  .state = ended ? VQ_BATCH_ENDED : VQ_BATCH_RUNNING,
                                  .has_results = ended,
                                  .succeeded = -1,
                                  .created_unix_s = 1000005};
}

static void arrive(int64_t at_ms)
{
    w.creates++;
    w.created_ms = at_ms;
}

/* ---- carrying out one action ---- */

static void do_write(void)
{
    uint32_t how = choose(3);
    if (how != 1) {
        w.durable = w.life.record;
        w.has_durable = true;
    }
    if (how != 0) {
        crash();
        return;
    }
    step((struct vq_batch_event){.type = VQ_BATCH_WRITTEN});
}

static void do_upload(void)
{
    char session[16] = "";
    if (w.rules.opens) {
        (void)snprintf(session, sizeof(session), "s-%u", w.opened);
    }
    assert_true(w.has_durable && w.rules.uploads);
    assert_string_equal(w.life.session, session);
    switch (choose(3)) {
    case 0: step((struct vq_batch_event){.type = VQ_BATCH_UPLOAD_DONE, .text = "f-in"}); return;
    case 1: step((struct vq_batch_event){.type = VQ_BATCH_UPLOAD_FAILED}); return;
    default: crash(); return;
    }
}

/* Each upload that was opened has a session of its own. */
static void do_open(void)
{
    char session[16];
    assert_true(w.has_durable && w.rules.uploads && w.rules.opens);
    (void)snprintf(session, sizeof(session), "s-%u", ++w.opened);
    switch (choose(3)) {
    case 0: step((struct vq_batch_event){.type = VQ_BATCH_OPEN_DONE, .text = session}); return;
    case 1: step((struct vq_batch_event){.type = VQ_BATCH_UPLOAD_FAILED}); return;
    default: crash(); return;
    }
}

static void do_create(void)
{
    assert_true(w.has_durable && w.durable.phase == VQ_BATCH_CREATING);
    assert_string_equal(w.durable.file, w.rules.uploads ? "f-in" : "");
    struct vq_batch_view view;
    switch (choose(7)) {
    case 0:
        arrive(w.now_ms);
        view = view_of_ours();
        step((struct vq_batch_event){.type = VQ_BATCH_CREATE_DONE, .view = &view});
        return;
    case 1: /* the reply is lost */
        arrive(w.now_ms);
        step((struct vq_batch_event){.type = VQ_BATCH_CREATE_UNKNOWN});
        return;
    case 2: step((struct vq_batch_event){.type = VQ_BATCH_CREATE_UNKNOWN}); return;
    case 3:
        step((struct vq_batch_event){.type = VQ_BATCH_CREATE_REFUSED, .retry_after_ms = 5});
        return;
    case 4: crash(); return;
    case 5:
        arrive(w.now_ms);
        crash();
        return;
    default:
        arrive(w.now_ms + LATE_MS);
        crash();
        return;
    }
}

static void do_list(const char *cursor)
{
    uint32_t how = choose(3);
    if (how == 1) {
        step((struct vq_batch_event){.type = VQ_BATCH_LIST_FAILED});
        return;
    }
    if (how == 2) {
        crash();
        return;
    }
    /* two pages: the other batch is on the first one */
    bool first = cursor[0] == '\0';
    bool ours = !first && w.created_ms >= 0 && w.now_ms >= w.created_ms + w.lag_ms;
    struct vq_batch_view view = first ? view_of_other() : view_of_ours();
    struct vq_batch_page page = {.at = &view, .count = first ? w.other : ours};
    (void)snprintf(page.next, sizeof(page.next), "%s", first ? "more" : "");
    step((struct vq_batch_event){.type = VQ_BATCH_LIST_DONE, .page = &page});
}

static void do_peek(void)
{
    char id[VQ_BATCH_CALL_ID_BYTES];
    bool ours = strcmp(w.life.view.id, OTHER_ID) != 0;
    vq_batch_call_id(ours ? NAME : "another", 2, id);
    switch (choose(3)) {
    case 0: step((struct vq_batch_event){.type = VQ_BATCH_PEEK_DONE, .text = id}); return;
    case 1: step((struct vq_batch_event){.type = VQ_BATCH_PEEK_FAILED}); return;
    default: crash(); return;
    }
}

static void do_get(void)
{
    assert_true(w.durable.phase == VQ_BATCH_CREATED && strcmp(w.durable.id, "b-1") == 0);
    struct vq_batch_view view = view_of_ours();
    switch (choose(3)) {
    case 0:
        w.gets++;
        step((struct vq_batch_event){.type = VQ_BATCH_GET_DONE, .view = &view});
        return;
    case 1: step((struct vq_batch_event){.type = VQ_BATCH_GET_FAILED}); return;
    default: crash(); return;
    }
}

static void take_line_actions(void)
{
    struct vq_batch_action action;
    while (vq_batch_life_next(&w.life, &action)) {
        assert_true(action.call < CALLS);
        if (action.type == VQ_BATCH_DO_DELIVER) {
            w.delivered[action.call] = true;
        } else {
            assert_int_equal(action.type, VQ_BATCH_DO_GIVE_UP);
            w.given_up[action.call] = true;
        }
    }
}

static void do_fetch(void)
{
    uint32_t how = choose(3); /* whole, broken off, crash inside */
    for (uint32_t i = 0; i < (how == 0 ? CALLS : CALLS - 1); i++) {
        uint32_t call = CALLS - 1 - i;
        struct vq_batch_line line = {
            .number = i + 1, .outcome = call == 0 ? w.outcome : VQ_BATCH_SUCCEEDED, .status = 200};
        vq_batch_call_id(NAME, call, line.custom_id);
        step((struct vq_batch_event){.type = VQ_BATCH_RESULT, .line = &line});
        take_line_actions();
    }
    if (how == 2) {
        crash();
        return;
    }
    step((struct vq_batch_event){.type = how == 0 ? VQ_BATCH_FETCH_DONE : VQ_BATCH_FETCH_FAILED});
}

static void carry_out(const struct vq_batch_action *action)
{
    switch ((int)action->type) {
    case VQ_BATCH_DO_WRITE: do_write(); return;
    case VQ_BATCH_DO_OPEN: do_open(); return;
    case VQ_BATCH_DO_UPLOAD: do_upload(); return;
    case VQ_BATCH_DO_CREATE: do_create(); return;
    case VQ_BATCH_DO_LIST: do_list(action->text); return;
    case VQ_BATCH_DO_PEEK: do_peek(); return;
    case VQ_BATCH_DO_GET: do_get(); return;
    case VQ_BATCH_DO_FETCH: do_fetch(); return;
    case VQ_BATCH_DO_GIVE_UP: w.given_up[action->call] = true; return;
    case VQ_BATCH_DO_SETTLE:
        if (choose(2) == 1) {
            crash();
            return;
        }
        w.settled = true;
        step((struct vq_batch_event){.type = VQ_BATCH_SETTLED});
        return;
    case VQ_BATCH_DO_CANCEL:
        w.cancelled = choose(2) == 0;
        step((struct vq_batch_event){.type = w.cancelled ? VQ_BATCH_CANCEL_DONE
                                                         : VQ_BATCH_CANCEL_FAILED});
        return;
    case VQ_BATCH_DO_DROP: assert_true(w.settled); return;
    case VQ_BATCH_DO_FINISH: w.finished = true; return;
    default: fail();
    }
}

/* One schedule to its end. `cancel_at`: the step at which a cancel is asked for. */
static void run_schedule(uint32_t cancel_at)
{
    for (uint32_t n = 0; n < STEPS && !w.finished; n++) {
        struct vq_batch_action action;
        if (!w.alive) {
            start();
        } else if (vq_batch_life_next(&w.life, &action)) {
            w.now_ms += SECOND / 10;
            carry_out(&action);
        } else {
            int64_t wake_ms = vq_batch_life_wake_ms(&w.life);
            assert_true(wake_ms != INT64_MAX);
            w.now_ms = wake_ms;
            enum vq_batch_event_type type = n >= cancel_at ? VQ_BATCH_CANCEL_ASKED : VQ_BATCH_TICK;
            cancel_at = n >= cancel_at ? UINT32_MAX : cancel_at;
            step((struct vq_batch_event){.type = type});
            if (type == VQ_BATCH_CANCEL_ASKED && !vq_batch_life_next(&w.life, &action)) {
                step((struct vq_batch_event){.type = VQ_BATCH_TICK});
            } else if (type == VQ_BATCH_CANCEL_ASKED) {
                carry_out(&action);
            }
        }
    }
    assert_true(w.finished);
    vq_batch_life_free(&w.life);
}

static void reset(uint32_t shape, int64_t settle_s)
{
    memset(&w, 0, sizeof(w));
    w.rules = (struct vq_batch_rules){.poll_ms = 30000,
                                      .poll_max_ms = 300000,
                                      .settle_ms = (uint32_t)(settle_s * SECOND),
                                      .uploads = (shape & 1) != 0,
                                      .drops = (shape & 1) != 0,
                                      .carries_name = (shape & 2) != 0,
                                      .opens = (shape & 32) != 0};
    w.other = (shape & 4) != 0;
    w.lag_ms = (shape & 8) != 0 ? LAG_MS : 0;
    w.outcome = (shape & 16) != 0 ? VQ_BATCH_CALL_EXPIRED : VQ_BATCH_SUCCEEDED;
    w.now_ms = SECOND;
    w.created_ms = -1;
}

/* All schedules of a shape; returns the most creates of one of them. */
static uint32_t all_schedules(uint32_t shape, uint32_t faults_max, int64_t settle_s,
                              uint32_t cancel_at, uint64_t *ret_count)
{
    uint32_t most = 0;
    memset(&tape, 0, sizeof(tape));
    tape.faults_max = faults_max;
    do {
        reset(shape, settle_s);
        run_schedule(cancel_at);
        most = w.creates > most ? w.creates : most;
        for (uint32_t i = 0; i < CALLS; i++) {
            assert_true(w.delivered[i] || w.given_up[i]);
            bool expired = i == 0 && w.outcome == VQ_BATCH_CALL_EXPIRED;
            assert_true(cancel_at != UINT32_MAX || w.delivered[i] == !expired);
        }
        (*ret_count)++;
    } while (next_schedule());
    return most;
}

TEST(test_never_created_twice)
{
    uint64_t count = 0;
    for (uint32_t shape = 0; shape < 32; shape++) {
        assert_int_equal(all_schedules(shape, 3, 120, UINT32_MAX, &count), 1);
    }
    for (uint32_t shape = 33; shape < 48; shape += 2) { /* an upload that is opened first */
        assert_int_equal(all_schedules(shape, 3, 120, UINT32_MAX, &count), 1);
    }
    print_message("%llu schedules\n", (unsigned long long)count);
    assert_true(count > 10000);
}

/* The model finds what it looks for: with a wait that is shorter than the list's lag there is a
 * schedule that creates twice. */
TEST(test_the_model_sees_a_second_create)
{
    uint64_t count = 0;
    assert_true(all_schedules(2 | 8, 1, 1, UINT32_MAX, &count) > 1);
}

TEST(test_cancel_at_every_wait)
{
    uint64_t count = 0;
    for (uint32_t at = 0; at < 40; at += 3) {
        for (uint32_t shape = 0; shape < 64; shape += (shape & 15) == 15 ? 17 : 1) {
            assert_true(all_schedules(shape, 1, 120, at, &count) <= 1);
        }
    }
}

/* ---- single rules ---- */

static struct vq_batch_life one;

static void begin_one(enum vq_batch_phase phase, bool recovered, bool uploads)
{
    struct vq_batch_rules rules = {.uploads = uploads, .carries_name = true};
    struct vq_batch_record record = {.phase = phase, .name = NAME, .calls = 2, .id = "b"};
    assert_int_equal(vq_batch_life_init(&one, &rules, &record, recovered, 0), VQ_OK);
}

static struct vq_batch_action expect(enum vq_batch_action_type type)
{
    struct vq_batch_action action;
    assert_true(vq_batch_life_next(&one, &action));
    assert_int_equal(action.type, type);
    return action;
}

static void expect_none(void)
{
    struct vq_batch_action action;
    assert_false(vq_batch_life_next(&one, &action));
}

static void give(struct vq_batch_event event, int64_t now_ms)
{
    vq_batch_life_step(&one, &event, now_ms);
}

TEST(test_polls_with_a_backoff_and_keeps_to_retry_after)
{
    begin_one(VQ_BATCH_CREATED, true, false);
    struct vq_batch_view view = {.id = "b", .state = VQ_BATCH_RUNNING, .succeeded = -1};
    static const int64_t waits_s[] = {30, 45, 67, 101, 151, 227, 300, 300};
    int64_t now_ms = 0;
    for (size_t i = 0; i < VQ_COUNT(waits_s); i++) {
        (void)expect(VQ_BATCH_DO_GET);
        give((struct vq_batch_event){.type = VQ_BATCH_GET_DONE, .view = &view}, now_ms);
        expect_none();
        assert_int_equal((vq_batch_life_wake_ms(&one) - now_ms) / 1000, waits_s[i]);
        now_ms = vq_batch_life_wake_ms(&one);
        give((struct vq_batch_event){.type = VQ_BATCH_TICK}, now_ms - 1);
        expect_none();
        give((struct vq_batch_event){.type = VQ_BATCH_TICK}, now_ms);
    }
    (void)expect(VQ_BATCH_DO_GET);
    give((struct vq_batch_event){.type = VQ_BATCH_GET_FAILED, .retry_after_ms = 900000}, now_ms);
    assert_int_equal(vq_batch_life_wake_ms(&one) - now_ms, 900000);
    vq_batch_life_free(&one);
}

TEST(test_refused_for_good_gives_every_call_up)
{
    begin_one(VQ_BATCH_PLANNED, false, true);
    (void)expect(VQ_BATCH_DO_WRITE);
    give((struct vq_batch_event){.type = VQ_BATCH_WRITTEN}, 1);
    (void)expect(VQ_BATCH_DO_UPLOAD);
    give((struct vq_batch_event){.type = VQ_BATCH_UPLOAD_FAILED, .for_good = true}, 2);
    for (uint32_t i = 0; i < 2; i++) {
        struct vq_batch_action action = expect(VQ_BATCH_DO_GIVE_UP);
        assert_int_equal(action.call, i);
        assert_int_equal(action.why, VQ_BATCH_WHY_REFUSED);
    }
    (void)expect(VQ_BATCH_DO_SETTLE);
    expect_none();
    vq_batch_life_free(&one);
}

/* The files that a life deletes at its end. */
static void check_drops(struct vq_batch_rules rules, const char *file, const char *const drops[],
                        size_t count)
{
    struct vq_batch_view view = {.id = "b",
                                 .state = VQ_BATCH_FAILED,
                                 .input_file = "f-in",
                                 .output_file = "",
                                 .error_file = "f-errors"};
    struct vq_batch_record record = {
        .phase = VQ_BATCH_CREATED, .name = NAME, .calls = 1, .id = "b"};
    (void)snprintf(record.file, sizeof(record.file), "%s", file);
    assert_int_equal(vq_batch_life_init(&one, &rules, &record, true, 0), VQ_OK);
    (void)expect(VQ_BATCH_DO_GET);
    give((struct vq_batch_event){.type = VQ_BATCH_GET_DONE, .view = &view}, 1);
    (void)expect(VQ_BATCH_DO_FETCH);
    give((struct vq_batch_event){.type = VQ_BATCH_FETCH_DONE}, 2);
    (void)expect(VQ_BATCH_DO_GIVE_UP);
    (void)expect(VQ_BATCH_DO_SETTLE);
    give((struct vq_batch_event){.type = VQ_BATCH_SETTLED}, 3);
    (void)expect(VQ_BATCH_DO_WRITE);
    give((struct vq_batch_event){.type = VQ_BATCH_WRITTEN}, 4);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(expect(VQ_BATCH_DO_DROP).text, drops[i]);
    }
    (void)expect(VQ_BATCH_DO_FINISH);
    vq_batch_life_free(&one);
}

/* A batch of another worker: the provider says which file it was made from. */
TEST(test_files_are_deleted_at_the_end)
{
    static const char *const all[] = {"f-own", "f-errors"}, *const others[] = {"f-in", "f-errors"};
    struct vq_batch_rules rules = {.drops = true, .drops_results = true, .carries_name = true};
    check_drops(rules, "f-own", all, 2);
    check_drops(rules, "", others, 2);
    rules.drops_results = false;
    check_drops(rules, "", others, 1);
    rules.drops = false;
    check_drops(rules, "f-own", all, 0);
}

/* Whether a document is uploaded is decided by its size. */
TEST(test_rules_of_the_dialects)
{
    static const char *const dialects[] = {"openai", "azure", "anthropic", "gemini"};
    for (size_t i = 0; i < VQ_COUNT(dialects); i++) {
        const struct vq_batch_dialect *d = vq_batch_find(dialects[i]);
        size_t most = (size_t)d->inline_bytes_max;
        bool gemini = strcmp(dialects[i], "gemini") == 0;
        bool anthropic = strcmp(dialects[i], "anthropic") == 0;
        struct vq_batch_rules rules = vq_batch_rules_of(d, most);
        assert_false(rules.uploads);
        assert_true(vq_batch_rules_of(d, most + 1).uploads);
        assert_int_equal(most == d->document_bytes_max, anthropic);
        assert_int_equal(most == 0, !anthropic && !gemini);
        assert_int_equal(rules.opens, gemini);
        assert_int_equal(rules.drops, !anthropic);
        assert_int_equal(rules.drops_results, !anthropic && !gemini);
    }
}

/* The session of an upload is used once: after a failure another one is opened. */
TEST(test_an_upload_is_opened_before_each_try)
{
    struct vq_batch_rules rules = {.uploads = true, .opens = true, .carries_name = true};
    struct vq_batch_record record = {.phase = VQ_BATCH_PLANNED, .name = NAME, .calls = 2};
    assert_int_equal(vq_batch_life_init(&one, &rules, &record, false, 0), VQ_OK);
    (void)expect(VQ_BATCH_DO_WRITE);
    give((struct vq_batch_event){.type = VQ_BATCH_WRITTEN}, 1);
    (void)expect(VQ_BATCH_DO_OPEN);
    give((struct vq_batch_event){.type = VQ_BATCH_UPLOAD_DONE, .text = "early"}, 2);
    expect_none();
    give((struct vq_batch_event){.type = VQ_BATCH_OPEN_DONE, .text = "first"}, 2);
    (void)expect(VQ_BATCH_DO_UPLOAD);
    assert_string_equal(one.session, "first");
    give((struct vq_batch_event){.type = VQ_BATCH_OPEN_DONE, .text = "late"}, 2);
    expect_none();
    give((struct vq_batch_event){.type = VQ_BATCH_UPLOAD_FAILED}, 2);
    expect_none();
    give((struct vq_batch_event){.type = VQ_BATCH_TICK}, vq_batch_life_wake_ms(&one));
    (void)expect(VQ_BATCH_DO_OPEN);
    give((struct vq_batch_event){.type = VQ_BATCH_OPEN_DONE, .text = "second"}, 40000);
    (void)expect(VQ_BATCH_DO_UPLOAD);
    assert_string_equal(one.session, "second");
    give((struct vq_batch_event){.type = VQ_BATCH_CANCEL_ASKED}, 40001);
    give((struct vq_batch_event){.type = VQ_BATCH_UPLOAD_DONE, .text = "f"}, 40002);
    (void)expect(VQ_BATCH_DO_WRITE);
    give((struct vq_batch_event){.type = VQ_BATCH_WRITTEN}, 40003);
    assert_int_equal(expect(VQ_BATCH_DO_GIVE_UP).why, VQ_BATCH_WHY_CANCELLED);
    vq_batch_life_free(&one);
}

static void expect_limited(void)
{
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(expect(VQ_BATCH_DO_GIVE_UP).why, VQ_BATCH_WHY_LIMITED);
    }
    (void)expect(VQ_BATCH_DO_SETTLE);
    vq_batch_life_free(&one);
}

TEST(test_a_limit_of_what_is_enqueued_is_no_failure)
{
    begin_one(VQ_BATCH_CREATED, true, true);
    (void)expect(VQ_BATCH_DO_GET);
    struct vq_batch_view view = {.id = "b", .state = VQ_BATCH_FAILED, .is_limited = true};
    give((struct vq_batch_event){.type = VQ_BATCH_GET_DONE, .view = &view}, 1);
    expect_limited();
}

/* The provider may have no room now, or never for a batch of this size. */
TEST(test_a_create_is_tried_a_bounded_number_of_times)
{
    begin_one(VQ_BATCH_PLANNED, false, false);
    (void)expect(VQ_BATCH_DO_WRITE);
    give((struct vq_batch_event){.type = VQ_BATCH_WRITTEN}, 1);
    (void)expect(VQ_BATCH_DO_WRITE);
    give((struct vq_batch_event){.type = VQ_BATCH_WRITTEN}, 1);
    for (uint32_t i = 0; i < VQ_BATCH_REFUSALS_MAX; i++) {
        (void)expect(VQ_BATCH_DO_CREATE);
        give((struct vq_batch_event){.type = VQ_BATCH_CREATE_REFUSED, .retry_after_ms = 10}, 2);
        if (i + 1 < VQ_BATCH_REFUSALS_MAX) {
            give((struct vq_batch_event){.type = VQ_BATCH_TICK}, vq_batch_life_wake_ms(&one));
        }
    }
    expect_limited();
}

TEST(test_an_id_that_is_gone_is_lost_after_a_while)
{
    begin_one(VQ_BATCH_CREATED, true, false);
    (void)expect(VQ_BATCH_DO_GET);
    int64_t now_ms = 1;
    uint32_t polls = 0;
    struct vq_batch_action action;
    for (;; polls++) {
        give((struct vq_batch_event){.type = VQ_BATCH_GET_GONE}, now_ms);
        if (vq_batch_life_next(&one, &action)) {
            break;
        }
        now_ms = vq_batch_life_wake_ms(&one);
        give((struct vq_batch_event){.type = VQ_BATCH_TICK}, now_ms);
        (void)expect(VQ_BATCH_DO_GET);
    }
    assert_int_equal(action.type, VQ_BATCH_DO_GIVE_UP);
    assert_int_equal(action.why, VQ_BATCH_WHY_LOST);
    assert_true(polls >= 2 && now_ms >= (int64_t)VQ_BATCH_SETTLE_MS);
    vq_batch_life_free(&one);
}

/* A damaged result: the results are read once more before its call is given up. */
TEST(test_a_damaged_result_is_read_again_once)
{
    begin_one(VQ_BATCH_CREATED, true, false);
    struct vq_batch_view view = {
        .id = "b", .state = VQ_BATCH_ENDED, .has_results = true, .succeeded = 2};
    struct vq_batch_line good = {.number = 1, .status = 200}, bad = {.number = 2, .damaged = true};
    vq_batch_call_id(NAME, 1, good.custom_id);
    (void)expect(VQ_BATCH_DO_GET);
    give((struct vq_batch_event){.type = VQ_BATCH_GET_DONE, .view = &view}, 1);
    for (int i = 0; i < 2; i++) {
        (void)expect(VQ_BATCH_DO_FETCH);
        give((struct vq_batch_event){.type = VQ_BATCH_RESULT, .line = &good}, 2);
        if (i == 0) {
            assert_int_equal(expect(VQ_BATCH_DO_DELIVER).call, 1);
        }
        expect_none();
        give((struct vq_batch_event){.type = VQ_BATCH_RESULT, .line = &bad}, 2);
        expect_none();
        give((struct vq_batch_event){.type = VQ_BATCH_FETCH_DONE}, 3);
        if (i == 0) {
            expect_none();
            give((struct vq_batch_event){.type = VQ_BATCH_TICK}, vq_batch_life_wake_ms(&one));
        }
    }
    struct vq_batch_action action = expect(VQ_BATCH_DO_GIVE_UP);
    assert_int_equal(action.call, 0);
    assert_int_equal(action.why, VQ_BATCH_WHY_MISSING);
    (void)expect(VQ_BATCH_DO_SETTLE);
    vq_batch_life_free(&one);
}

TEST(test_records_that_are_none)
{
    struct vq_batch_rules rules = {.uploads = false};
    struct vq_batch_record record = {.phase = VQ_BATCH_CREATED, .name = NAME, .calls = 1};
    assert_int_equal(vq_batch_life_init(&one, &rules, &record, true, 0), VQ_INVALID);
    record.phase = VQ_BATCH_CREATING;
    assert_int_equal(vq_batch_life_init(&one, &rules, &record, false, 0), VQ_INVALID);
    record.phase = VQ_BATCH_PLANNED;
    record.calls = 0;
    assert_int_equal(vq_batch_life_init(&one, &rules, &record, true, 0), VQ_INVALID);
    record.calls = 1;
    record.name[0] = '/';
    assert_int_equal(vq_batch_life_init(&one, &rules, &record, true, 0), VQ_INVALID);
}
