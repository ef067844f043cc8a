/* A worker's core under any sequence of events: bytes choose what the coordinator says, how calls
 * end, and when time passes. After each event: no assertion has failed, the core goes on, every
 * call was noted before it went out and ends once, each has a fence that was given for its shard
 * and never a twin (I2, I5), what was noted is kept until its ACK, and what is sent can be
 * encoded. */
#include "proto/pool.h"
#include "proto/wire.h"
#include "tests/fuzz/bytes.h"
#include "worker/core/limits.h"
#include "worker/core/work.h"

#include <string.h>

#define CALLS  64
#define LEASES 64
#define ASKS   8
#define POOLS  2
#define JUDGES 2
#define AXES   3
#define SHARDS 16

struct call {
    struct vq_id id;
    uint64_t task;
    struct vq_fence fence;
};

struct world {
    struct bytes in;
    struct vq_work *w;
    int64_t now_ns;
    bool connected, has_spool, keys, exited, spool_failed, chat;
    uint64_t session, fence_n;
    int64_t stamp_ns;
    struct vq_buf body, frame;
    struct vq_hash spec;
    struct {
        uint64_t shard;
        struct vq_fence fence;
    } leases[LEASES]; /* given, the latest */
    size_t leases_count;
    struct call calls[CALLS]; /* in flight */
    size_t calls_count;
    uint64_t noted, unwritten, started, answered, acked, spooled;
    struct vq_id sent[CALLS]; /* of the latest results */
    size_t sent_count;
};

/* A call into the core, and one that goes well; tests/unit puts others in their place. */
#ifndef core
#define core(call) (call)
#define must(call) VQ_ASSERT((call) == VQ_OK)
#endif

static void make_spec(struct world *w)
{
    static const uint32_t both[] = {0, 1};
    struct bytes *in = &w->in;
    uint8_t flags = take(in);
    struct vq_spec_axis axes[AXES];
    struct vq_spec_judge judges[JUDGES];
    struct vq_spec_pool pools[POOLS];
    for (uint32_t i = 0; i < AXES; i++) {
        axes[i] = (struct vq_spec_axis){{"tone", 4}, {"cold", 4}, {"warm", 4}};
    }
    for (uint32_t i = 0; i < JUDGES; i++) {
        judges[i] = (struct vq_spec_judge){.name = {i == 0 ? "a" : "b", 1},
                                           .model = {"m", 1},
                                           .dialect = {"openai", 6},
                                           .identity = {"x", 1},
                                           .max_tokens_field = {"max_tokens", 10},
                                           .max_tokens = 10,
                                           .seed = -1,
                                           .tries_max = 1 + take_below(in, 3),
                                           .pools = &both[i],
                                           .pools_count = 2 - i};
    }
    for (uint32_t i = 0; i < POOLS; i++) {
        pools[i] = (struct vq_spec_pool){.name = {i == 0 ? "p" : "q", 1},
                                         .dialect = {"openai", 6},
                                         .base_url = {"http://127.0.0.1:1/v1", 21},
                                         .model = {"m", 1},
                                         .priced = (flags & 4) != 0,
                                         .input_usd = 1,
                                         .output_usd = 1,
                                         .service_tier = {"flex", i == 0 ? 4u : 0u},
                                         .tier_price = 0.5,
                                         .tier_tries = 2};
    }
    bool text = (flags & 8) != 0;
    w->chat = text && (flags & 16) != 0;
    struct vq_spec spec = {.kind = w->chat ? VQ_STAGE_CHAT
                                   : text  ? VQ_STAGE_TEXT
                                           : VQ_STAGE_RANK,
                           .stage = flags >> 6,
                           .judge_template =
                               vq_template_builtin(text ? VQ_TEMPLATE_AS_IS : VQ_TEMPLATE_JUDGE),
                           .truncate = (flags & 16) != 0,
                           .lazy_swap = true,
                           .prefix_cache = (flags & 32) != 0 ? VQ_PREFIX_ON : VQ_PREFIX_OFF,
                           .axes = axes,
                           .axes_count = AXES,
                           .judges = judges,
                           .judges_count = JUDGES,
                           .pools = pools,
                           .pools_count = POOLS};
    if ((flags & 1) != 0) {
        spec.repair_template = vq_template_builtin(VQ_TEMPLATE_REPAIR);
    }
    vq_buf_clear(&w->body);
    w->spec = (struct vq_hash){{flags, 1}};
    VQ_ASSERT(vq_spec_encode(&spec, &w->body) == VQ_OK);
}

/* ---- the shell ---- */

static void started(struct world *w, const struct vq_work_call *call)
{
    bool given = false;
    for (size_t i = 0; i < LEASES; i++) {
        given |= w->leases[i].shard == call->shard && vq_fence_eq(w->leases[i].fence, call->fence);
    }
    VQ_ASSERT(given && w->unwritten == 0);
    for (size_t i = 0; i < w->calls_count; i++) {
        VQ_ASSERT(!vq_id_eq(&w->calls[i].id, &call->id));
        VQ_ASSERT(w->calls[i].task != call->task || !vq_fence_eq(w->calls[i].fence, call->fence));
    }
    VQ_ASSERT(w->calls_count < CALLS);
    w->calls[w->calls_count++] = (struct call){call->id, call->task, call->fence};
    w->started++;
}

static void sent(struct world *w, const struct vq_msg *msg)
{
    vq_buf_clear(&w->frame);
    VQ_ASSERT(vq_msg_encode(msg, &w->frame) == VQ_OK);
    if (msg->type == VQ_MSG_HELLO) {
        w->stamp_ns = msg->u.hello.stamp_ns;
    } else if (msg->type == VQ_MSG_HEARTBEAT) {
        w->stamp_ns = msg->u.held.stamp_ns;
    } else if (msg->type == VQ_MSG_RESULTS) {
        for (uint32_t i = 0; i < msg->u.results.results_count; i++) {
            w->sent[w->sent_count++ % CALLS] = msg->u.results.results[i].call;
        }
    }
}

static void act(struct world *w)
{
    struct vq_work_action a;
    while (core(vq_work_next(w->w, &a))) {
        VQ_ASSERT(!w->exited);
        switch (a.type) {
        case VQ_WORK_SEND: sent(w, &a.u.message); break;
        case VQ_WORK_KEYS: w->keys = true; break;
        case VQ_WORK_SPOOL_SENT:
            w->noted++;
            w->unwritten++;
            break;
        case VQ_WORK_SPOOL_UNSENT:
        case VQ_WORK_SPOOL_ANSWER:
            VQ_ASSERT(a.u.result->outcome == VQ_OUTCOME_NONE && !a.u.result->final);
            w->answered++;
            w->unwritten++;
            break;
        case VQ_WORK_SPOOL_WRITE: w->unwritten = 0; break;
        case VQ_WORK_CALL: started(w, &a.u.call); break;
        case VQ_WORK_SPOOL_ACKED: w->acked++; break;
        case VQ_WORK_NOTE: VQ_ASSERT(a.u.note.text[0] != '\0'); break;
        case VQ_WORK_EXIT: w->exited = true; break;
        case VQ_WORK_GATHER: started(w, &a.u.call); break;
        case VQ_WORK_COLLECT:
        case VQ_WORK_GATHERED:
        case VQ_WORK_BATCHES_RESTART:
        case VQ_WORK_RECONNECT: break;
        }
    }
    must(vq_work_status(w->w));
}

static void step(struct world *w, struct vq_work_event event)
{
    if (w->exited) {
        return;
    }
    must(vq_work_step(w->w, w->now_ns, &event));
    act(w);
}

/* ---- the coordinator ---- */

static void say(struct world *w, struct vq_msg msg)
{
    step(w, (struct vq_work_event){.type = VQ_WORK_MESSAGE, .u.message = &msg});
}

static void welcome(struct world *w)
{
    struct bytes *in = &w->in;
    w->session += take(in) > 250 ? take(in) + 1u : 1u;
    say(w, (struct vq_msg){.type = VQ_MSG_WELCOME,
                           .u.welcome = {.session = w->session,
                                         .epoch = 3,
                                         .run = {{take(in) == 255}},
                                         .run_name = {"r", 1},
                                         .stamp_ns = take(in) > 250 ? 1 : w->stamp_ns,
                                         .spec = w->spec,
                                         .term_ms = 3000,
                                         .heartbeat_ms = 500,
                                         .orphan_s = 2}});
}

static void grant(struct world *w, uint64_t session)
{
    struct bytes *in = &w->in;
    struct vq_slice slices[3];
    uint32_t n = take_below(in, 4);
    for (uint32_t i = 0; i < n; i++) {
        slices[i] =
            (struct vq_slice){.pool = (uint32_t)take_near(in, POOLS),
                              .concurrency = take_below(in, 8),
                              .rates = {.requests = take(in) * 10.0, .tokens = take(in) * 1000.0},
                              .pause_ms = take(in) > 240 ? take(in) : 0,
                              .day_requests_most = take(in) > 240 ? 3 : VQ_AMOUNT_ANY,
                              .day_tokens_most = take(in) > 240 ? 999 : VQ_AMOUNT_ANY};
    }
    say(w, (struct vq_msg){.type = VQ_MSG_GRANT,
                           .u.grant = {session, take_near(in, 40),
                                       take(in) > 240 ? take_near(in, 200) : VQ_AMOUNT_ANY, slices,
                                       n}});
}

static void sample(struct world *w, uint64_t session, uint64_t index)
{
    static const char queries[] = "\1\0\0\0a\0\0\0\0\2\0\0\0bc"; /* three of a chain */
    struct vq_span prompt =
        w->chat && take(&w->in) < 240 ? vq_span(queries, sizeof(queries) - 1) : vq_span("p", 1);
    say(w, (struct vq_msg){.type = VQ_MSG_SAMPLE,
                           .u.sample = {session, index, prompt, {"one", 3}, {"other", 5}}});
}

static void lease(struct world *w, uint64_t session)
{
    struct bytes *in = &w->in;
    struct vq_ask asks[ASKS];
    uint32_t n = take_below(in, ASKS + 1);
    uint64_t shard = take_near(in, SHARDS);
    uint32_t count = 0, used = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t vibe = (uint32_t)take_near(in, AXES);
        uint8_t order = take(in) & 1;
        uint32_t bit = vibe < AXES ? 1u << (vibe * 2 + order) : 0;
        if ((used & bit) != 0 && take(in) < 250) {
            continue; /* a coordinator names a task once, or its lease is given back */
        }
        used |= bit;
        asks[count++] = (struct vq_ask){.task = (shard * AXES + vibe) * 2 + order,
                                        .vibe = vibe,
                                        .order = order,
                                        .lazy = (take(in) & 1) != 0,
                                        .repeat = take(in) > 250 ? 1 : 0,
                                        .prior = {"eh", take(in) > 230 ? 2 : 0}};
    }
    static const struct vq_span answers[AXES] = {{"yes", 3}, {NULL, 0}};
    uint32_t turns = w->chat ? take_below(in, AXES) : 0;
    if (w->chat && take(in) < 230) { /* turns that follow each other */
        for (count = 0; count < n && turns + count < AXES; count++) {
            asks[count] =
                (struct vq_ask){.task = (shard * AXES + turns + count) * 2, .vibe = turns + count};
        }
    }
    struct vq_fence fence = {take(in) > 250 ? 2 : 3,
                             take(in) > 250 ? take_near(in, 20) : ++w->fence_n};
    if (take(in) < 240) {
        sample(w, session, shard / JUDGES);
    }
    size_t at = w->leases_count++ % LEASES;
    w->leases[at].shard = shard;
    w->leases[at].fence = fence;
    say(w, (struct vq_msg){.type = VQ_MSG_LEASE,
                           .u.lease = {.session = session,
                                       .stage = take(in) > 250 ? 3 : (uint32_t)w->spec.b[0] >> 6,
                                       .shard = shard,
                                       .fence = fence,
                                       .stamp_ns = take(in) > 250 ? 1 : w->stamp_ns,
                                       .sample = take(in) > 250 ? 9 : shard / JUDGES,
                                       .judge = (uint32_t)(shard % JUDGES),
                                       .answer_tokens = take(in),
                                       .asks = asks,
                                       .asks_count = count,
                                       .turns = answers,
                                       .turns_count = turns}});
}

static void ack(struct world *w, uint64_t session)
{
    struct vq_id ids[4];
    uint32_t n = 1 + take_below(&w->in, 4);
    for (uint32_t i = 0; i < n; i++) {
        ids[i] = w->sent[take_below(&w->in, CALLS)];
    }
    say(w, (struct vq_msg){.type = VQ_MSG_ACK, .u.ack = {session, ids, n}});
}

static void cancel(struct world *w, uint64_t session)
{
    struct bytes *in = &w->in;
    size_t at = take_below(in, LEASES);
    uint64_t tasks[3];
    uint32_t n = take_below(in, 4);
    for (uint32_t i = 0; i < n; i++) {
        tasks[i] = w->leases[at].shard * AXES * 2 + take_near(in, AXES * 2);
    }
    say(w, (struct vq_msg){.type = VQ_MSG_CANCEL,
                           .u.cancel = {.session = session,
                                        .shard = w->leases[at].shard,
                                        .fence = w->leases[at].fence,
                                        .reason = (uint8_t)take_below(in, 4),
                                        .tasks = tasks,
                                        .tasks_count = n,
                                        .stage = (uint32_t)w->spec.b[0] >> 6}});
}

static void message(struct world *w)
{
    struct bytes *in = &w->in;
    uint64_t session = take(in) > 245 ? take_near(in, 9) : w->session;
    switch (take_below(in, 16)) {
    case 0: welcome(w); break;
    case 1:
        if (take(in) > 220) {
            make_spec(w);
        }
        say(w, (struct vq_msg){.type = VQ_MSG_SPEC,
                               .u.spec = {session, w->spec, vq_buf_span(&w->body)}});
        break;
    case 2: sample(w, session, take_near(in, SHARDS / JUDGES)); break;
    case 3:
    case 4:
    case 5: ack(w, session); break;
    case 6:
    case 7: grant(w, session); break;
    case 8: cancel(w, session); break;
    case 9:
        say(w, (struct vq_msg){.type = VQ_MSG_HEARTBEAT,
                               .u.held = {.session = session, .stamp_ns = w->stamp_ns}});
        break;
    case 10:
        say(w, (struct vq_msg){.type = take(in) > 250 ? VQ_MSG_DRAIN : VQ_MSG_HEARTBEAT,
                               .u.drain.session = session});
        break;
    case 11: {
        uint8_t code = take(in) > 240 ? (uint8_t)take_below(in, 9) : VQ_BYE_NO_SESSION;
        say(w, (struct vq_msg){.type = VQ_MSG_BYE, .u.bye = {session, code, {"why", 3}}});
        break;
    }
    default: lease(w, session); break;
    }
}

/* ---- the endpoint, the keys, the machine ---- */

static void reply(struct world *w)
{
    static const char *const texts[] = {"Model: A", "Model: B", "Model: equal", "what?", ""};
    struct bytes *in = &w->in;
    if (w->calls_count == 0) {
        return;
    }
    size_t i = take_below(in, (uint32_t)w->calls_count);
    enum vq_call_end end = VQ_END_ANSWER;
    if (take(in) > 150) {
        end = (enum vq_call_end)take_below(in, VQ_END__COUNT);
        end = end == VQ_END_UNKNOWN || end == VQ_END_BATCHED ? VQ_END_LOST : end;
    }
    struct vq_work_reply r = {.call = w->calls[i].id,
                              .end = end,
                              .pool = (enum vq_pool_state)take_below(in, 5),
                              .retry_after_ms = take(in) > 200 ? (int64_t)take_u64(in) >> 40 : -1,
                              .parks = take(in) > 250,
                              .slowed = take(in) > 250,
                              /* from what is there: files of the corpus keep their meaning */
                              .no_capacity = w->calls_count % 2 == 0,
                              .tier = {"flex", w->calls_count % 3 == 0 ? 4u : 0u},
                              .park_unix_s = take(in) > 250 ? 1 : 0,
                              .said = {.requests = take(in) > 250 ? 100 : 0},
                              .cap = take(in) > 250 ? take(in) : 0,
                              .refusal = take(in) > 250,
                              .http_status = 200,
                              .tokens_in = take(in),
                              .tokens_out = take(in),
                              .tokens_uncounted = take(in) > 250 ? take(in) : 0,
                              .answer = vq_span_str(texts[take_below(in, VQ_COUNT(texts))]),
                              .error = {"it said no", 10}};
    w->calls[i] = w->calls[--w->calls_count];
    step(w, (struct vq_work_event){.type = VQ_WORK_REPLY, .u.reply = &r});
}

static void keys(struct world *w)
{
    uint64_t prints[] = {7, 8};
    for (uint32_t p = 0; w->keys && p < POOLS; p++) {
        uint8_t how = take(&w->in);
        struct vq_work_key key = {.pool = p,
                                  .state = how > 240   ? VQ_POOL_NO_KEY
                                           : how > 230 ? VQ_POOL_NO_MODEL
                                                       : VQ_POOL_OPEN,
                                  .keys = prints,
                                  .keys_count = how > 230 ? 0 : how % 3,
                                  .text = {"why", 3}};
        step(w, (struct vq_work_event){.type = VQ_WORK_KEY, .u.key = &key});
    }
}

/* What a session begins with, when all goes well. */
static void open_session(struct world *w)
{
    static const struct vq_slice slices[POOLS] = {{.pool = 0,
                                                   .concurrency = 9,
                                                   .day_requests_most = VQ_AMOUNT_ANY,
                                                   .day_tokens_most = VQ_AMOUNT_ANY},
                                                  {.pool = 1,
                                                   .concurrency = 9,
                                                   .rates = {.requests = 600},
                                                   .day_requests_most = VQ_AMOUNT_ANY,
                                                   .day_tokens_most = VQ_AMOUNT_ANY}};
    welcome(w);
    say(w, (struct vq_msg){.type = VQ_MSG_SPEC,
                           .u.spec = {w->session, w->spec, vq_buf_span(&w->body)}});
    keys(w);
    say(w, (struct vq_msg){.type = VQ_MSG_GRANT,
                           .u.grant = {w->session, 1, VQ_AMOUNT_ANY, slices, POOLS}});
}

static void spooled(struct world *w)
{
    uint32_t n = w->has_spool ? take_below(&w->in, 4) : 0;
    for (uint32_t i = 0; i < n; i++) {
        struct vq_result r = {.call = {{0xee, (uint8_t)i}},
                              .stage = take_below(&w->in, 4),
                              .shard = i,
                              .task = i * AXES * 2,
                              .fence = {2, i},
                              .kind = (uint8_t)take_below(&w->in, 2),
                              .end = (uint8_t)take_below(&w->in, VQ_END__COUNT),
                              .cost_nano = take(&w->in),
                              .pool = {"p", 1},
                              .answer = {"Model: A", 8}};
        w->spooled++;
        step(w, (struct vq_work_event){.type = VQ_WORK_SPOOLED, .u.result = &r});
    }
}

static void machine(struct world *w)
{
    switch (take_below(&w->in, 8)) {
    case 0: step(w, (struct vq_work_event){.type = VQ_WORK_CONNECTED}); break;
    case 4: open_session(w); break;
    case 1:
        if (take(&w->in) > 250) {
            step(w, (struct vq_work_event){.type = VQ_WORK_DRAIN});
        }
        break;
    case 2:
        if (take(&w->in) > 253) {
            step(w, (struct vq_work_event){.type = VQ_WORK_STOP});
        }
        break;
    case 3:
        if (take(&w->in) > 253 && w->has_spool) {
            step(w, (struct vq_work_event){.type = VQ_WORK_SPOOL_FAILED});
        }
        break;
    default: keys(w); break;
    }
}

static void check(const struct world *w)
{
    struct vq_work_stats s;
    vq_work_stats(w->w, &s);
    VQ_ASSERT(w->exited || s.calls == w->calls_count);
    VQ_ASSERT(s.calls_started == w->started && s.calls_started == s.calls_ended + s.calls);
    VQ_ASSERT(!w->has_spool || w->noted >= w->started);
    VQ_ASSERT(w->exited || !w->has_spool || s.results == w->spooled + w->answered - w->acked);
    VQ_ASSERT(s.leases > 0 || s.asks_open == 0);
}

static struct world world;

static void world_end(struct world *w)
{
    vq_work_destroy(&w->w);
    vq_buf_free(&w->body);
    vq_buf_free(&w->frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world *w = &world;
    memset(w, 0, sizeof(*w));
    w->in = (struct bytes){data, size};
    w->now_ns = 5000000000;
    w->session = 70;
    w->has_spool = (take(&w->in) & 1) == 0;
    vq_buf_init(&w->body, VQ_FRAME_BYTES_MAX);
    vq_buf_init(&w->frame, VQ_FRAME_BYTES_MAX);
    struct vq_work_options options = {.worker = {{0xab}},
                                      .seed = 5,
                                      .name = "w",
                                      .local = (take(&w->in) & 1) == 0 ? 0 : -1,
                                      .has_spool = w->has_spool,
                                      .concurrency_max = 1 + take_below(&w->in, 32)};
    must(vq_work_create(&options, &w->w));
    make_spec(w);
    spooled(w);
    step(w, (struct vq_work_event){.type = VQ_WORK_CONNECTED});
    if (take(&w->in) < 200) {
        open_session(w);
    }
    while (w->in.left > 0 && !w->exited) {
        uint32_t what = take_below(&w->in, 16);
        if (what < 8) {
            message(w);
        } else if (what < 12) {
            reply(w);
        } else if (what < 14) {
            w->now_ns += INT64_C(1000000) << take_below(&w->in, take(&w->in) > 240 ? 15 : 9);
            step(w, (struct vq_work_event){.type = VQ_WORK_TICK});
        } else {
            machine(w);
        }
        check(w);
    }
    world_end(w);
    return 0;
}
