/* A response that has wholly come, and no memory to read it: what was kept for that is used, and
 * the answer is there all the same. The HTTP client is played here. */
#include "../core/rig.h"

#include "tests/unit/heap.h"
#include "tests/unit/worker/crowd.h"
#include "worker/shell/caller.h"

#define TEXTS_MAX 512

static struct vq_http_request sent;
static uint32_t started;

enum vq_status __real_vq_http_start(struct vq_http *http, const struct vq_http_request *request,
                                    struct vq_http_call **ret_call, struct vq_error *err);
enum vq_status __wrap_vq_http_start(struct vq_http *http, const struct vq_http_request *request,
                                    struct vq_http_call **ret_call, struct vq_error *err);
enum vq_status __wrap_vq_http_start(struct vq_http *http, const struct vq_http_request *request,
                                    struct vq_http_call **ret_call, struct vq_error *err)
{
    (void)http;
    (void)ret_call;
    (void)err;
    sent = *request;
    started++;
    return VQ_OK;
}

struct bench {
    struct vq_loop *loop;
    struct vq_keyring *keys;
    struct vq_caller *caller;
    struct vq_work_spec *spec;
    struct rig rig;
    /* the last reply */
    uint32_t replies;
    enum vq_call_end end;
    char answer[TEXTS_MAX], error[TEXTS_MAX];
    uint64_t tokens_in;
};

static void on_reply(void *ctx, const struct vq_work_reply *reply)
{
    struct bench *b = ctx;
    bool paused = heap.paused;
    heap.paused = true;
    b->replies++;
    b->end = reply->end;
    b->tokens_in = reply->tokens_in;
    (void)snprintf(b->answer, TEXTS_MAX, "%.*s", (int)reply->answer.bytes,
                   reply->answer.bytes == 0 ? "" : reply->answer.at);
    (void)snprintf(b->error, TEXTS_MAX, "%.*s", (int)reply->error.bytes, reply->error.at);
    heap.paused = paused;
}

static void on_key(void *ctx, const struct vq_work_key *key)
{
    (void)ctx;
    assert_int_equal(key->state, VQ_POOL_OPEN);
}

static int setup(void **state)
{
    static struct bench b;
    static const struct vq_worker_options none = {.local = 0};
    struct vq_buf body;
    memset(&b, 0, sizeof(b));
    rig_init(&b.rig, 1, 1);
    rig_spec_body(&b.rig, &body);
    assert_int_equal(vq_work_spec_create(vq_buf_span(&body), &b.rig.spec_hash, &b.spec, NULL),
                     VQ_OK);
    vq_buf_free(&body);
    assert_int_equal(vq_loop_create(&b.loop, NULL), VQ_OK);
    assert_int_equal(vq_keyring_create(&none, &b.keys), VQ_OK);
    struct vq_caller_options options = {.loop = b.loop,
                                        .keys = b.keys,
                                        .calls_max = 4,
                                        .reply = on_reply,
                                        .key = on_key,
                                        .ctx = &b};
    assert_int_equal(vq_caller_create(&options, &b.caller, NULL), VQ_OK);
    assert_int_equal(vq_caller_pools(b.caller, b.spec), VQ_OK);
    *state = &b;
    return 0;
}

static int teardown(void **state)
{
    struct bench *b = *state;
    heap_fail_at(0);
    heap.on = false;
    vq_caller_destroy(&b->caller);
    vq_keyring_destroy(&b->keys);
    vq_loop_destroy(&b->loop);
    vq_work_spec_destroy(&b->spec);
    return 0;
}

static struct vq_work_call call_of(const struct bench *b)
{
    static const struct vq_sample sample = {.prompt = {"p", 1}, .a = {"a", 1}, .b = {"b", 1}};
    return (struct vq_work_call){.id = {{7}},
                                 .stage_kind = VQ_STAGE_RANK,
                                 .kind = VQ_CALL_ASK,
                                 .until_ns = INT64_MAX,
                                 .asker = &b->spec->judges[0].asker,
                                 .sample = &sample,
                                 .axis = &b->spec->axes[0]};
}

static const char body[] =
    "{\"model\":\"m\",\"choices\":[{\"finish_reason\":\"stop\",\"message\":{\"role\":\"assistant\","
    "\"content\":\"Model: A, by \\u00e9clat\"}}],\"usage\":{\"prompt_tokens\":12,"
    "\"completion_tokens\":4}}";
static const struct vq_http_response good = {.transport = VQ_TRANSPORT_OK,
                                             .sent = true,
                                             .status = 200,
                                             .body = {body, sizeof(body) - 1},
                                             .error = ""};

TEST_WITH(each_allocation_of_reading_fails, setup, teardown)
{
    struct bench *b = *state;
    struct vq_work_call call = call_of(b);
    struct vq_http_response response = good;
    struct vq_buf crowded;
    crowd(good.body, &crowded);
    response.body = vq_buf_span(&crowded);
    uint32_t failed = 0;
    for (uint64_t n = 1;; n++) {
        assert_int_equal(vq_caller_start(b->caller, &call, 1), VQ_OK);
        heap_fail_at(n);
        sent.done(sent.ctx, &response);
        bool hit = heap.hit;
        heap_fail_at(0);
        assert_int_equal(b->replies, n);
        assert_int_equal(b->end, VQ_END_ANSWER);
        assert_string_equal(b->answer, "Model: A, by \xc3\xa9"
                                       "clat");
        assert_int_equal(b->tokens_in, 12);
        if (!hit) {
            break;
        }
        failed++;
    }
    vq_buf_free(&crowded);
    assert_true(failed > 5);
}

/* Nothing at all can be had, not even what was kept: lost, by its name, and counted as sent. */
TEST_WITH(where_not_even_that_helps, setup, teardown)
{
    struct bench *b = *state;
    struct vq_work_call call = call_of(b);
    assert_int_equal(vq_caller_start(b->caller, &call, 1), VQ_OK);
    heap_fail_at(1);
    heap.on = true;
    sent.done(sent.ctx, &good);
    heap_fail_at(0);
    heap.on = false;
    assert_int_equal(b->replies, 1);
    assert_int_equal(b->end, VQ_END_LOST);
    assert_non_null(strstr(b->error, "no memory to read the response"));
    /* and the next one is read again */
    assert_int_equal(vq_caller_start(b->caller, &call, 1), VQ_OK);
    sent.done(sent.ctx, &good);
    assert_int_equal(b->end, VQ_END_ANSWER);
}

/* No call goes out for which that memory is not there. */
TEST_WITH(nothing_is_sent_without_it, setup, teardown)
{
    struct bench *b = *state;
    struct vq_work_call call = call_of(b);
    bool hit = true;
    uint32_t before = started;
    for (uint64_t n = 1; hit; n++) {
        heap_fail_at(n);
        enum vq_status status = vq_caller_start(b->caller, &call, 1);
        hit = heap.hit;
        heap_fail_at(0);
        assert_int_equal(status, hit ? VQ_NOMEM : VQ_OK);
        assert_int_equal(started - before, hit ? 0 : 1);
    }
    sent.done(sent.ctx, &good);
    assert_int_equal(b->replies, 1);
    assert_int_equal(b->end, VQ_END_ANSWER);
}

static void is_sent(struct bench *b, const struct vq_work_call *call, const char *messages)
{
    assert_int_equal(vq_caller_start(b->caller, call, 1), VQ_OK);
    assert_non_null(memmem(sent.body.at, sent.body.bytes, messages, strlen(messages)));
    sent.done(sent.ctx, &good);
}

/* A turn is sent behind what was said; a probe behind its prefix, which does not change. */
TEST_WITH(dialogues_are_sent_in_turn, setup, teardown)
{
    struct bench *b = *state;
    struct vq_buf packed;
    vq_buf_init(&packed, 1000);
    const char *const texts[] = {"Who?", "I.", "Why?", "So."};
    for (size_t i = 0; i < VQ_COUNT(texts); i++) {
        vq_chain_pack(&packed, vq_span_str(texts[i]));
    }
    struct vq_sample said = {.prompt = vq_buf_span(&packed), .a = vq_span_str("be a king")};
    struct vq_span turns[] = {vq_span_str("Me."), vq_span_str("Long \"ago\".")};
    struct vq_work_call call = call_of(b);
    call.sample = &said;
    call.stage_kind = VQ_STAGE_CHAT;
    is_sent(b, &call,
            "\"messages\":[{\"role\":\"system\",\"content\":\"be a king\"},{\"role\":"
            "\"user\",\"content\":\"Who?\"}]");
    call.turns = turns;
    call.turns_count = 2;
    is_sent(b, &call,
            "{\"role\":\"user\",\"content\":\"Who?\"},{\"role\":\"assistant\",\"content\":\"Me.\"},"
            "{\"role\":\"user\",\"content\":\"I.\"},{\"role\":\"assistant\",\"content\":\"Long "
            "\\\"ago\\\".\"},{\"role\":\"user\",\"content\":\"Why?\"}]");
    const struct vq_axis question = {.name = "", .low = "And now?", .high = "probe"};
    call = call_of(b);
    call.sample = &said;
    call.stage_kind = VQ_STAGE_PROBE;
    call.axis = &question;
    is_sent(b, &call,
            "{\"role\":\"user\",\"content\":\"Who?\"},{\"role\":\"assistant\",\"content\":\"I.\"},"
            "{\"role\":\"user\",\"content\":\"Why?\"},{\"role\":\"assistant\",\"content\":\"So.\"},"
            "{\"role\":\"user\",\"content\":\"And now?\"}]");
    said = (struct vq_sample){.prompt = vq_span_str(""), .a = vq_span_str("")};
    is_sent(b, &call, "\"messages\":[{\"role\":\"user\",\"content\":\"And now?\"}]");
    vq_buf_free(&packed);
}
