/* The judges' endpoint and its own log, the truth about calls: what was asked, when, by whom, how
 * it ended. An answer is drawn at random for each call, so that two calls of one request may say
 * different things: only the first may count. */
#include "tests/simulation/sim.h"

#include "common/base/alloc.h"

#define NO_CAPACITY 0.3 /* of calls that name a service tier */

static const char *draw_answer(struct sim *s, enum vq_stage_kind stage, enum vq_call_kind kind,
                               bool *ret_refusal)
{
    static const char *const votes[] = {"Model: A", "Model: B"};
    static const char *const settling[] = {"Model: equal", "Model: N/A", "Model: unsure"};
    static const char *const texts[] = {"- warmth: cold to warm", "", "Model: A", " \n"};
    const struct sim_knobs *k = &s->knobs;
    *ret_refusal = false;
    if (sim_chance(s, k->p_refuse)) {
        *ret_refusal = true;
        return "I cannot help with that.";
    }
    if (stage == VQ_STAGE_TEXT) {
        return texts[sim_between(s, 0, 3)];
    }
    if (sim_chance(s, kind == VQ_CALL_REPAIR ? k->p_unparseable / 2 : k->p_unparseable)) {
        return sim_chance(s, 0.5) ? "Both texts are nice." : "It was a dark and stormy night.";
    }
    bool settles = sim_chance(s, k->p_settle);
    if (settles && stage == VQ_STAGE_PREFER) {
        return "Model: tie";
    }
    return settles ? settling[sim_between(s, 0, 2)] : votes[sim_between(s, 0, 1)];
}

/* How the call will end and when. */
static int64_t draw_end(struct sim *s, const struct sim_worker *w, struct sim_call *call,
                        const struct vq_work_call *work)
{
    const struct sim_knobs *k = &s->knobs;
    int64_t latency_ns = sim_spread(s, k->latency_ns);
    call->end = VQ_END_ANSWER;
    call->retry_after_ms = -1;
    call->finish_reason = "stop";
    if (w->revoked_ns[work->pool] <= s->now_ns) {
        call->end = VQ_END_CLOSED;
        call->pool = sim_chance(s, 0.5) ? VQ_POOL_BAD_KEY : VQ_POOL_NO_MONEY;
        return latency_ns / 4;
    }
    bool calm = s->healed;
    if (!calm && sim_chance(s, k->p_rate)) {
        call->end = VQ_END_RATE;
        call->retry_after_ms = sim_chance(s, 0.5) ? sim_between(s, 0, 3000) : -1;
        call->slowed = sim_chance(s, 0.1);
        return latency_ns / 4;
    }
    if (!calm && work->tier[0] != '\0' && sim_chance(s, NO_CAPACITY)) {
        call->end = sim_chance(s, 0.7) ? VQ_END_RATE : VQ_END_PROVIDER;
        call->no_capacity = true;
        s->report->no_capacity++;
        call->retry_after_ms = sim_chance(s, 0.2) ? sim_between(s, 0, 3000) : -1;
        return latency_ns / 4;
    }
    if (!calm && sim_chance(s, k->p_park)) {
        call->end = VQ_END_RATE;
        call->park_unix_s = sim_unix_s(s) + sim_between(s, 1, 20);
        return latency_ns / 4;
    }
    if (!calm && sim_chance(s, k->p_provider)) {
        call->end = sim_chance(s, 0.6)   ? VQ_END_PROVIDER
                    : sim_chance(s, 0.5) ? VQ_END_NETWORK
                                         : VQ_END_BAD_RESPONSE;
        return latency_ns;
    }
    if (!calm && sim_chance(s, k->p_lost)) {
        call->end = VQ_END_LOST;
        return latency_ns;
    }
    if (sim_chance(s, k->p_bad_request)) {
        call->end = sim_chance(s, 0.5) ? VQ_END_BAD_REQUEST : VQ_END_TOO_LONG;
        return latency_ns;
    }
    call->answer = work->stage_kind == VQ_STAGE_CHAT
                       ? sim_talks_answer(s, &work->request, &call->refusal)
                       : draw_answer(s, work->stage_kind, work->kind, &call->refusal);
    if (!calm && sim_chance(s, k->p_hang)) {
        latency_ns += sim_between(s, 1, 4) * s->term_ns;
    }
    return latency_ns;
}

/* Usage, never more than what was reserved for it; refusals and most failures cost nothing. */
static void draw_usage(struct sim *s, struct sim_call *call, const struct vq_work_call *work)
{
    uint64_t tokens = (uint64_t)sim_between(s, 20, 90);
    tokens = tokens < work->tokens_reserved ? tokens : work->tokens_reserved;
    bool billed =
        call->end == VQ_END_ANSWER || call->end == VQ_END_LOST || call->end == VQ_END_BAD_RESPONSE;
    call->tokens = billed ? tokens : 0;
    call->cost_nano = call->tokens * s->pools[work->pool].nano_per_token;
    if (call->cost_nano > work->cost_nano) {
        sim_fail(s, "a call may cost %llu, %llu were reserved", (unsigned long long)call->cost_nano,
                 (unsigned long long)work->cost_nano);
    }
    s->reserved_most_nano =
        work->cost_nano > s->reserved_most_nano ? work->cost_nano : s->reserved_most_nano;
}

/* Its row of the log. */
static size_t call_new(struct sim *s, uint32_t worker, const struct vq_work_call *call)
{
    void *calls = s->calls;
    VQ_ASSERT(vq_grow(&calls, &s->calls_cap, s->calls_count + 1, sizeof(*s->calls), 1u << 24) ==
              VQ_OK);
    s->calls = calls;
    size_t n = s->calls_count++;
    struct sim_call *c = &s->calls[n];
    *c = (struct sim_call){.id = call->id,
                           .request = call->request,
                           .stage = call->stage,
                           .task = call->task,
                           .worker = worker,
                           .pool_index = call->pool,
                           .started_ns = s->now_ns,
                           .state = CALL_FLYING,
                           .next_same = -1};
    const uint64_t *before = sim_map_get(&s->calls_by_request, &call->request);
    if (before != NULL) {
        c->next_same = (int64_t)*before;
    }
    struct vq_hash key = sim_key_id(&call->id);
    if (sim_map_get(&s->calls_by_id, &key) != NULL) {
        sim_fail(s, "a call id came twice");
    }
    sim_map_put(&s->calls_by_id, &key, n);
    sim_map_put(&s->calls_by_request, &call->request, n);
    return n;
}

void sim_call_batched(struct sim *s, uint32_t worker, const struct vq_work_call *call,
                      bool answered, int64_t ends_ns)
{
    sim_check_twice(s, worker, call);
    size_t n = call_new(s, worker, call);
    struct sim_call *c = &s->calls[n];
    c->state = CALL_IN_BATCH;
    c->ends_ns = ends_ns;
    c->end = answered ? VQ_END_ANSWER : VQ_END_BAD_REQUEST;
    c->finish_reason = "stop";
    c->answer = draw_answer(s, call->stage_kind, call->kind, &c->refusal);
    draw_usage(s, c, call);
    s->spent_nano += c->cost_nano;
    sim_check_budget(s);
}

void sim_call_start(struct sim *s, uint32_t worker, const struct vq_work_call *call)
{
    size_t n = call_new(s, worker, call);
    struct sim_call *c = &s->calls[n];
    int64_t latency_ns = draw_end(s, &s->workers[worker], c, call);
    sim_trouble_call(s, c, &latency_ns);
    c->ends_ns = s->now_ns + latency_ns;
    draw_usage(s, c, call);
    sim_say(s, "worker %u calls %s, task %llu %s (fence %llu.%llu): will be %d in %.3f s", worker,
            s->pools[call->pool].name, (unsigned long long)call->task,
            call->kind == VQ_CALL_REPAIR ? "repair" : "ask", (unsigned long long)call->fence.epoch,
            (unsigned long long)call->fence.n, (int)c->end, (double)latency_ns / 1e9);
    sim_push(s, s->now_ns + latency_ns, EV_REPLY, worker, n, s->workers[worker].life);
    sim_pool_asked(s, n);
}

void sim_call_reply(struct sim *s, uint32_t worker, size_t n)
{
    struct sim_call *c = &s->calls[n];
    if (c->end != VQ_END_ANSWER) {
        c->state = CALL_FAILED;
    } else if (!s->workers[worker].has_spool) {
        c->state = CALL_ANSWERED; /* with a spool: when it is noted there */
    }
    c->answered_ns = s->now_ns;
    struct vq_work_reply reply = {
        .call = c->id,
        .end = c->end,
        .pool = c->pool,
        .retry_after_ms = c->retry_after_ms,
        .park_unix_s = c->park_unix_s,
        .parks = c->parks,
        .slowed = c->slowed,
        .no_capacity = c->no_capacity,
        .said = c->said,
        .cap = c->cap,
        .organisation = c->organisation,
        .refusal = c->refusal,
        .http_status = c->end == VQ_END_ANSWER ? 200 : 0,
        .latency_ms = (uint32_t)((s->now_ns - c->started_ns) / VQ_NS_PER_MS),
        .tokens_in = c->end == VQ_END_ANSWER ? c->tokens * 3 / 4 : 0,
        .tokens_out = c->end == VQ_END_ANSWER ? c->tokens - c->tokens * 3 / 4 : 0,
        .answer = vq_span_str(c->answer),
        .finish_reason = vq_span_str(c->finish_reason),
        .model = vq_span_str("model"),
        .error = vq_span_str(c->end == VQ_END_ANSWER ? "" : "as drawn")};
    struct vq_work_event event = {.type = VQ_WORK_REPLY, .u.reply = &reply};
    sim_worker_step(s, worker, &event);
}

/* Another run on the same store bought an answer. */
void sim_foreign_answer(struct sim *s)
{
    sim_foreign_answer_to(s, vq_rng_below(&s->rng, vq_grid_tasks(&s->store.grid)));
}

void sim_foreign_answer_to(struct sim *s, uint64_t task)
{
    struct vq_hash request;
    if (!sim_store_request(&s->store, task, 0, &request)) {
        return; /* nobody could ask it yet */
    }
    bool refusal;
    const char *answer = s->store.kind == VQ_STAGE_CHAT
                             ? sim_talks_answer(s, &request, &refusal)
                             : draw_answer(s, s->store.kind, VQ_CALL_ASK, &refusal);
    if (sim_store_put(&s->store, &request, vq_span_str(answer), vq_span_str("stop"), refusal)) {
        sim_say(s, "another run answered task %llu: %s", (unsigned long long)task, answer);
    }
}
