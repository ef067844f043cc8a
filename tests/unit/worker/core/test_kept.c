/* No answer that arrived is lost for want of memory: whichever allocation of the core fails, once
 * or from then on, each reply is given out to be noted, with its texts, and the note's write behind
 * it; nothing else is done any more. */
#include "rig.h"
#include "tests/unit/heap.h"

#define CALLS 40

static struct rig rig;

/* A verdict, one in an object, one that is followed by a repair. */
static const char *const forms[][2] = {
    {"Model: A ", ""}, {"{\"model\": \"A\", \"n\": ", "}"}, {"hm ", ""}};

static struct {
    struct vq_id id;
    char answer[32];
    bool stepped, noted, written;
} calls[CALLS];

/* Only the core meets failed allocations. */
#define core(call)                                                                                 \
    __extension__({                                                                                \
        heap.paused = false;                                                                       \
        __typeof__(call) got_ = (call);                                                            \
        heap.paused = true;                                                                        \
        got_;                                                                                      \
    })

static uint32_t place_of(const struct vq_id *id)
{
    uint32_t at = 0;
    while (!vq_id_eq(&calls[at].id, id)) {
        at++;
        assert_true(at < CALLS);
    }
    return at;
}

static void take(void)
{
    struct vq_work_action action;
    while (core(vq_work_next(rig.w, &action))) {
        bool note = action.type == VQ_WORK_SPOOL_ANSWER;
        assert_true(vq_work_status(rig.w) == VQ_OK || note || action.type == VQ_WORK_SPOOL_WRITE);
        if (note) {
            uint32_t at = place_of(&action.u.result->call);
            assert_true(vq_span_eq(action.u.result->answer, vq_span_str(calls[at].answer)));
            assert_true(vq_span_eq(action.u.result->pool, vq_span_str("pool-0")));
            assert_true(action.u.result->end == VQ_END_ANSWER && !calls[at].noted);
            calls[at].noted = true;
        }
        for (uint32_t i = 0; i < CALLS && action.type == VQ_WORK_SPOOL_WRITE; i++) {
            calls[i].written = calls[i].noted;
        }
    }
}

/* As the agent does: the actions of replies wait for the end of the turn, unless there was no
 * memory. */
static void reply(uint32_t at)
{
    char answer[32], model[400];
    memcpy(answer, calls[at].answer, sizeof(answer));
    memset(model, 'm', sizeof(model)); /* longer than a name may be */
    struct vq_work_reply came = {.call = calls[at].id,
                                 .end = VQ_END_ANSWER,
                                 .retry_after_ms = -1,
                                 .http_status = 200,
                                 .tokens_in = 50,
                                 .tokens_out = 5,
                                 .model = vq_span(model, sizeof(model)),
                                 .answer = vq_span_str(answer)};
    struct vq_work_event event = {.type = VQ_WORK_REPLY, .u.reply = &came};
    calls[at].stepped = true;
    if (core(vq_work_step(rig.w, rig.now, &event)) != VQ_OK) {
        take();
        assert_true(calls[at].written);
    }
    memset(answer, '?', sizeof(answer));
}

/* Calls in flight; half of them end in one turn, the others each in its own. How the core ended. */
static enum vq_status life(uint64_t fail_at, bool on, bool has_spool)
{
    heap.paused = true;
    memset(calls, 0, sizeof(calls));
    rig_init(&rig, 1, 1);
    rig_create(&rig, (struct vq_work_options){.local = 0, .has_spool = has_spool});
    rig_open(&rig, CALLS);
    for (uint32_t i = 0; i < CALLS / 2; i++) {
        rig_lease(&rig, i, i + 1, false);
    }
    assert_int_equal(rig.calls_count, CALLS);
    for (uint32_t i = 0; i < CALLS; i++) {
        calls[i].id = rig.calls[i].id;
        const char *const *form = forms[i % VQ_COUNT(forms)];
        (void)snprintf(calls[i].answer, sizeof(calls[i].answer), "%s%u%s", form[0], i, form[1]);
    }
    heap_fail_at(fail_at);
    heap.on = on;
    for (uint32_t i = 0; i < CALLS / 2; i++) {
        reply(i);
    }
    take();
    for (uint32_t i = CALLS / 2; i < CALLS; i++) {
        reply(i);
        take();
    }
    enum vq_status status = vq_work_status(rig.w);
    if (status != VQ_OK) { /* it is over, and stays so */
        struct vq_work_event tick = {.type = VQ_WORK_TICK};
        assert_int_equal(core(vq_work_step(rig.w, rig.now, &tick)), status);
        take();
        assert_int_equal(vq_work_wake_ns(rig.w), INT64_MAX);
    }
    vq_work_destroy(&rig.w);
    return status;
}

static void each_allocation_fails(bool on)
{
    heap_fail_at(0);
    assert_int_equal(life(0, false, true), VQ_OK);
    uint64_t failed = 0;
    for (uint64_t at = 1;; at++) {
        int64_t before = heap.live;
        enum vq_status status = life(at, on, true);
        bool hit = heap.hit;
        heap_fail_at(0);
        heap.on = false;
        assert_int_equal(status, hit ? VQ_NOMEM : VQ_OK);
        assert_true(!HEAP_KNOWS_LEAKS || heap.live == before);
        for (uint32_t i = 0; i < CALLS; i++) {
            if (!calls[i].stepped || !calls[i].noted || !calls[i].written) {
                fail_msg("allocation %llu: answer %u is lost", (unsigned long long)at, i);
            }
        }
        if (!hit) {
            break;
        }
        failed++;
    }
    heap.paused = false;
    assert_true(failed > CALLS);
}

TEST(an_allocation_fails)
{
    each_allocation_fails(false);
}

TEST(no_memory_from_then_on)
{
    each_allocation_fails(true);
}

/* What is noted as sent goes out, or is not noted any more. */
TEST(a_lease_without_memory)
{
    struct vq_ask asks[CALLS];
    for (uint32_t i = 0; i < CALLS; i++) {
        asks[i] = (struct vq_ask){.task = i, .vibe = i / 2, .order = i % 2};
    }
    bool hit = true;
    for (uint64_t at = 1; hit; at++) {
        heap.paused = true;
        rig_init(&rig, 1, CALLS / 2);
        rig_create(&rig, (struct vq_work_options){.local = 0, .has_spool = true});
        rig_open(&rig, CALLS);
        rig_sample(&rig, 0);
        struct vq_msg lease = {.type = VQ_MSG_LEASE,
                               .u.lease = {.session = rig.session,
                                           .fence = {rig.epoch, 1},
                                           .stamp_ns = rig.last[VQ_MSG_HELLO].u.hello.stamp_ns,
                                           .asks = asks,
                                           .asks_count = CALLS}};
        struct vq_work_event event = {.type = VQ_WORK_MESSAGE, .u.message = &lease};
        struct vq_work_action action;
        uint32_t noted = 0, called = 0;
        heap_fail_at(at);
        enum vq_status status = core(vq_work_step(rig.w, rig.now, &event));
        while (core(vq_work_next(rig.w, &action))) {
            noted += action.type == VQ_WORK_SPOOL_SENT ? 1 : 0;
            called += action.type == VQ_WORK_CALL ? 1 : 0;
            assert_true(vq_work_status(rig.w) == VQ_OK || action.type == VQ_WORK_SPOOL_WRITE);
        }
        hit = heap.hit;
        heap_fail_at(0);
        assert_true(hit || (status == VQ_OK && noted == CALLS && called == CALLS));
        assert_true(!hit || (called < CALLS && noted < CALLS));
        vq_work_destroy(&rig.w);
        heap.paused = false;
    }
}

/* Where there is no spool nothing can be noted, and nothing is asked for. */
TEST(without_a_spool)
{
    heap_fail_at(0);
    for (uint64_t at = 1; at < 12; at++) {
        int64_t before = heap.live;
        heap.paused = true;
        rig_init(&rig, 1, 1);
        rig_create(&rig, (struct vq_work_options){.local = -1});
        rig_open(&rig, 1);
        rig_lease(&rig, 0, 1, false);
        struct vq_work_reply came = {
            .call = rig.calls[0].id, .end = VQ_END_ANSWER, .answer = vq_span_str("Model: A")};
        struct vq_work_event event = {.type = VQ_WORK_REPLY, .u.reply = &came};
        struct vq_work_action action;
        heap_fail_at(at);
        bool failed = core(vq_work_step(rig.w, rig.now, &event)) != VQ_OK;
        heap_fail_at(0);
        assert_true(!failed || !vq_work_next(rig.w, &action));
        vq_work_destroy(&rig.w);
        heap.paused = false;
        assert_true(!HEAP_KNOWS_LEAKS || heap.live == before);
        if (at == 1) {
            assert_true(failed);
        }
    }
}
