/* The simulated world: made from a seed, run event by event until the stage is finished and
 * everybody has left. Whatever is random is drawn from one generator in the order of events, so a
 * seed replays exactly; the trace hash says so. */
#include "tests/simulation/sim.h"

#include "common/base/alloc.h"

#include <stdio.h>

#define BRAKE_CALLS  4u
#define STEPS_MAX    UINT64_C(3000000)
#define TEXT_BYTES   96
#define FINISH_TERMS 200 /* after the last fault everything must be done within so many terms */

/* ---- small tools ---- */

void sim_fail(struct sim *s, const char *fmt, ...)
{
    if (s->report->failed) {
        return;
    }
    s->report->failed = true;
    va_list args;
    va_start(args, fmt);
    int n =
        snprintf(s->report->why, sizeof(s->report->why), "at %.3f s: ", (double)s->now_ns / 1e9);
    (void)vsnprintf(s->report->why + n, sizeof(s->report->why) - (size_t)n, fmt, args);
    va_end(args);
    sim_say(s, "FAILED %s", s->report->why);
}

void sim_say(const struct sim *s, const char *fmt, ...)
{
    if (!s->options.verbose) {
        return;
    }
    printf("%10.4f  ", (double)s->now_ns / 1e9);
    va_list args;
    va_start(args, fmt);
    (void)vprintf(fmt, args);
    va_end(args);
    printf("\n");
}

void sim_trace(struct sim *s, uint64_t a, uint64_t b)
{
    uint64_t h = s->report->trace;
    h = (h ^ a) * UINT64_C(0x100000001b3);
    h = (h ^ b ^ (h >> 31)) * UINT64_C(0x9e3779b97f4a7c15);
    s->report->trace = h;
}

bool sim_chance(struct sim *s, double p)
{
    if (s->options.small != NULL) {
        return p >= 1;
    }
    return p > 0 && vq_rng_unit(&s->rng) < p;
}

int64_t sim_between(struct sim *s, int64_t low, int64_t high)
{
    return high <= low || s->options.small != NULL
               ? low
               : low + (int64_t)vq_rng_below(&s->rng, (uint64_t)(high - low) + 1);
}

int64_t sim_spread(struct sim *s, int64_t mean_ns)
{
    int64_t at = sim_between(s, mean_ns / 4, mean_ns * 2);
    return sim_chance(s, 0.03) ? at * sim_between(s, 2, 20) : at;
}

/* ---- the heap: by time, then timers after the rest, then first in first out ---- */

static bool is_timer(enum sim_event_kind kind)
{
    return kind == EV_TICK || kind == EV_WORKER_TICK;
}

static bool before(const struct sim_event *a, const struct sim_event *b)
{
    if (a->at_ns != b->at_ns) {
        return a->at_ns < b->at_ns;
    }
    if (is_timer(a->kind) != is_timer(b->kind)) {
        return is_timer(b->kind);
    }
    return a->seq < b->seq;
}

static void heap_lift(struct sim *s, size_t i, struct sim_event event)
{
    while (i > 0 && before(&event, &s->heap[(i - 1) / 2])) {
        s->heap[i] = s->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    s->heap[i] = event;
}

static void heap_push(struct sim *s, struct sim_event event)
{
    void *heap = s->heap;
    VQ_ASSERT(vq_grow(&heap, &s->heap_cap, s->heap_count + 1, sizeof(*s->heap), 1u << 24) == VQ_OK);
    s->heap = heap;
    heap_lift(s, s->heap_count++, event);
}

static struct sim_event heap_pop(struct sim *s)
{
    struct sim_event top = s->heap[0];
    struct sim_event last = s->heap[--s->heap_count];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= s->heap_count) {
            break;
        }
        if (child + 1 < s->heap_count && before(&s->heap[child + 1], &s->heap[child])) {
            child++;
        }
        if (!before(&s->heap[child], &last)) {
            break;
        }
        s->heap[i] = s->heap[child];
        i = child;
    }
    s->heap[i] = last;
    return top;
}

void sim_push_bytes(struct sim *s, int64_t at_ns, enum sim_event_kind kind, uint32_t a, uint64_t b,
                    uint64_t life, struct vq_span bytes)
{
    struct sim_event event = {.at_ns = at_ns < s->now_ns ? s->now_ns : at_ns,
                              .seq = ++s->seq,
                              .kind = kind,
                              .a = a,
                              .b = b,
                              .life = life,
                              .count = bytes.bytes};
    if (bytes.bytes > 0) {
        event.bytes = vq_strndup(bytes.at, bytes.bytes);
        VQ_ASSERT(event.bytes != NULL);
    }
    heap_push(s, event);
}

void sim_push(struct sim *s, int64_t at_ns, enum sim_event_kind kind, uint32_t a, uint64_t b,
              uint64_t life)
{
    sim_push_bytes(s, at_ns, kind, a, b, life, vq_span(NULL, 0));
}

/* ---- making the world ---- */

static double amount(struct sim *s, double most)
{
    return sim_chance(s, 0.4) ? 0 : most * vq_rng_unit(&s->rng);
}

static void make_knobs(struct sim *s)
{
    struct sim_knobs *k = &s->knobs;
    int64_t ms = VQ_NS_PER_MS;
    k->delay_ns = sim_between(s, 1, 40) * ms / 4;
    k->jitter_ns = sim_between(s, 0, 100) * ms / 4;
    k->late_frames = amount(s, 0.5);
    k->duplicate = amount(s, 0.05);
    k->same_peer = amount(s, 1);
    k->report_connected = amount(s, 1.6);
    k->p_rate = amount(s, 0.15);
    k->p_park = amount(s, 0.02);
    k->p_provider = amount(s, 0.2);
    k->p_lost = amount(s, 0.08);
    k->p_refuse = amount(s, 0.1);
    k->p_unparseable = amount(s, 0.3);
    k->p_bad_request = amount(s, 0.05);
    k->p_hang = amount(s, 0.03);
    k->p_settle = 0.6 * vq_rng_unit(&s->rng);
    k->latency_ns = sim_between(s, 5, 400) * ms;
    k->commit_ns = sim_between(s, 1, sim_chance(s, 0.2) ? 2000 : 30) * ms;
    k->lookup_ns = sim_between(s, 0, sim_chance(s, 0.2) ? 500 : 3) * ms;
    k->fault_every_ns = sim_between(s, 300, 8000) * ms;
    k->kill = amount(s, 1);
    k->kill_coord = amount(s, 0.7);
    k->kill_redis = amount(s, 0.4);
    k->cut = amount(s, 1);
    k->block = amount(s, 1);
    k->pause = amount(s, 0.6);
    k->pause_coord = amount(s, 0.4);
    k->revoke = amount(s, 0.15);
    k->drain = amount(s, 0.2);
    k->foreign = amount(s, 0.5);
    k->no_spool = sim_chance(s, 0.7) ? 0 : vq_rng_unit(&s->rng);
}

static VQ_PRINTF(3, 4) char *text_new(struct sim *s, size_t *at, const char *fmt, ...)
{
    char *text = s->texts + *at;
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, TEXT_BYTES, fmt, args);
    va_end(args);
    *at += (size_t)n + 1;
    return text;
}

static void make_texts(struct sim *s)
{
    size_t count = (size_t)SIM_SAMPLES * 3 + SIM_AXES_MAX * 3 + SIM_JUDGES_MAX * 2;
    s->texts = vq_alloc(count, TEXT_BYTES);
    s->samples = vq_alloc(SIM_SAMPLES, sizeof(*s->samples));
    s->ids = vq_alloc(SIM_SAMPLES, sizeof(*s->ids));
    VQ_ASSERT(s->texts != NULL && s->samples != NULL && s->ids != NULL);
    size_t at = 0;
    for (uint32_t i = 0; i < SIM_SAMPLES; i++) {
        s->samples[i].prompt = vq_span_str(text_new(s, &at, "What is %u times %u?", i, i + 1));
        s->samples[i].a = vq_span_str(text_new(s, &at, "It is %u, as far as I know. %u", i, i));
        s->samples[i].b = vq_span_str(text_new(s, &at, "%u! %u!", i * (i + 1), i));
        vq_sample_identify(&s->samples[i], &s->ids[i]);
    }
    for (uint32_t i = 0; i < SIM_AXES_MAX; i++) {
        s->axes[i] = (struct vq_axis){.name = text_new(s, &at, "vibe %u", i),
                                      .low = text_new(s, &at, "little of %u", i),
                                      .high = text_new(s, &at, "much of %u", i)};
    }
    s->axes[SIM_AXES_MAX] = (struct vq_axis){"", "", ""};
    for (uint32_t i = 0; i < SIM_JUDGES_MAX; i++) {
        s->judges[i] = (struct vq_judge){.name = text_new(s, &at, "judge-%u", i),
                                         .model = "model",
                                         .dialect = "openai",
                                         .identity = text_new(s, &at, "http://127.0.0.1:%u/v1", i),
                                         .max_tokens = 100,
                                         .max_tokens_field = "max_tokens",
                                         .seed = -1};
    }
}

static void bought_before(struct sim *s)
{
    int64_t tasks = (int64_t)vq_grid_tasks(&s->stages[s->stage].grid);
    int64_t before_us = sim_chance(s, 0.5) ? sim_between(s, 0, tasks) : 0;
    for (int64_t i = 0; i < before_us; i++) {
        sim_foreign_answer(s);
    }
}

static void make_params(struct sim *s)
{
    struct vq_coord_params *p = &s->params;
    p->run.b[0] = 7;
    p->run_name = "sim";
    p->remote = true;
    p->term_ns = s->term_ns;
    p->heartbeat_ns = s->heartbeat_ns;
    p->orphan_s = 30;
    p->orphan_remote_s = 60;
    p->scout_no = sim_chance(s, 0.5) ? vq_rng_u64(&s->rng) : 0;
    p->ready_shards_max = (uint32_t)sim_between(s, 1, 12);
    p->commit_results_max = sim_chance(s, 0.3) ? (uint32_t)sim_between(s, 2, 12) : 0;
    p->commit_bytes_max = sim_chance(s, 0.2) ? (size_t)sim_between(s, 50, 500) : 0;
    p->worker_lost_max = (uint32_t)sim_between(s, 1, 3);
    p->missed_ns = s->trouble.missed_terms * s->term_ns;
    p->brake_calls = BRAKE_CALLS; /* a judge that is stopped goes on after the restart */
}

static void small_make(struct sim *s, const struct sim_small *small)
{
    s->term_ns = 3 * s->heartbeat_ns;
    s->heal_ns = s->now_ns;
    s->locals = small->locals;
    s->swap = small->swap;
    s->knobs = (struct sim_knobs){.p_settle = small->settles ? 1 : 0};
    s->params.attempts = (struct vq_attempt_caps){0};
}

static void begin(struct sim *s)
{
    sim_push(s, s->now_ns, EV_COORD_START, 0, 0, 0);
    for (uint32_t k = 0; k < s->locals; k++) {
        sim_push(s, s->now_ns + sim_between(s, 0, VQ_NS_PER_S), EV_SPAWN, k, 0, 0);
    }
    int64_t remotes = sim_between(s, s->locals == 0 ? 1 : 0, 2);
    remotes = s->options.small == NULL ? remotes : s->options.small->remotes;
    for (int64_t i = 0; i < remotes; i++) {
        sim_push(s, s->now_ns + sim_between(s, 0, 3 * VQ_NS_PER_S), EV_SPAWN, UINT32_MAX, 0, 0);
    }
    if (s->options.small != NULL) {
        return;
    }
    sim_push(s, s->now_ns + sim_spread(s, s->knobs.fault_every_ns), EV_FAULT, 0, 0, 0);
    sim_push(s, s->heal_ns, EV_HEAL, 0, 0, 0);
}

static void world_make(struct sim *s)
{
    vq_rng_seed(&s->rng, s->options.seed);
    s->now_ns = VQ_NS_PER_S;
    s->swap = sim_chance(s, 0.7) ? VQ_SWAP_LAZY : sim_chance(s, 0.7) ? VQ_SWAP_BOTH : VQ_SWAP_NONE;
    s->repair = sim_chance(s, 0.8);
    s->draw = (uint8_t)sim_between(s, 0, 255);
    s->heartbeat_ns = sim_between(s, 300, 1500) * VQ_NS_PER_MS;
    s->term_ns = s->heartbeat_ns * sim_between(s, 5, 8);
    s->heal_ns = s->now_ns + sim_between(s, 2, 60) * VQ_NS_PER_S;
    s->locals = (uint32_t)sim_between(s, 0, 4);
    VQ_ASSERT(vq_decoder_create(&s->decoder) == VQ_OK);
    vq_buf_init(&s->frame, VQ_FRAME_BYTES_MAX);
    make_knobs(s);
    vq_rng_seed(&s->hands, ~s->options.seed);
    s->knobs.hold = vq_rng_unit(&s->hands) < 0.7 ? 0 : 0.3 * vq_rng_unit(&s->hands);
    bool caps = vq_rng_unit(&s->hands) < 0.3;
    s->params.attempts.all = caps ? 1 + (uint32_t)vq_rng_below(&s->hands, 12) : 0;
    for (int i = 0; caps && i < VQ_ATTEMPT__COUNT; i++) {
        s->params.attempts.of[i] = (uint32_t)vq_rng_below(&s->hands, 6);
    }
    s->knobs.requeue = vq_rng_unit(&s->hands) < 0.5 ? 0 : vq_rng_unit(&s->hands);
    sim_trouble_make(s);
    if (s->options.small != NULL) {
        small_make(s, s->options.small);
        s->trouble = (struct sim_trouble){{0}};
    }
    make_texts(s);
    sim_talks_make(s);
    make_params(s);
    sim_pools_make(s);
    sim_stages_make(s);
    bought_before(s);
    begin(s);
}

static void world_free(struct sim *s)
{
    for (uint32_t i = 0; i < s->workers_count; i++) {
        sim_worker_free(&s->workers[i]);
    }
    vq_coord_destroy(&s->coord.core);
    vq_authority_destroy(&s->coord.authority);
    vq_coord_destroy(&s->stale.core);
    vq_authority_destroy(&s->stale.authority);
    vq_free(s->stale.settled);
    sim_pools_free(s);
    sim_bulk_free(s);
    sim_trouble_free(s);
    sim_talks_free(s);
    vq_free(s->coord.settled);
    while (s->heap_count > 0) {
        struct sim_event event = heap_pop(s);
        vq_free(event.bytes);
    }
    vq_free(s->heap);
    vq_free(s->calls);
    sim_map_free(&s->calls_by_id);
    sim_map_free(&s->calls_by_request);
    sim_store_free(&s->store);
    sim_stages_free(s);
    vq_free(s->texts);
    vq_free(s->samples);
    vq_free(s->ids);
    vq_buf_free(&s->frame);
    vq_decoder_destroy(&s->decoder);
}

/* ---- the run ---- */

/* A stopped (SIGSTOP) process gets its events when it goes on; timers only after the rest. */
static bool wait_for_process(struct sim *s, struct sim_event *event)
{
    int64_t until_ns = 0;
    switch ((int)event->kind) {
    case EV_TO_COORD:
    case EV_LOOKED_UP:
    case EV_REDIS:
    case EV_REAPED:
    case EV_IMPORT:
    case EV_STAGE:
    case EV_CLOCK:
    case EV_AGAIN:
    case EV_DRAIN:
    case EV_TICK:
        until_ns = s->stale.core != NULL && event->life == s->stale.life ? s->stale.paused_until_ns
                                                                         : s->coord.paused_until_ns;
        break;
    case EV_TO_WORKER:
    case EV_CONNECTED:
    case EV_REPLY:
    case EV_REFUSED:
    case EV_GATHERED:
    case EV_BATCH:
    case EV_WORKER_TICK: until_ns = s->workers[event->a].paused_until_ns; break;
    default: break;
    }
    if (until_ns <= s->now_ns) {
        return false;
    }
    event->at_ns = until_ns;
    heap_push(s, *event);
    return true;
}

static void not_sent(struct sim *s, const struct sim_event *event)
{
    struct vq_work_reply reply = {.end = VQ_END_NETWORK,
                                  .late = event->b != 0,
                                  .retry_after_ms = -1,
                                  .error = vq_span_str("not sent")};
    memcpy(&reply.call, event->bytes, sizeof(reply.call));
    struct vq_work_event step = {.type = VQ_WORK_REPLY, .u.reply = &reply};
    sim_worker_step(s, event->a, &step);
}

static void for_worker(struct sim *s, const struct sim_event *event)
{
    struct sim_worker *w = &s->workers[event->a];
    if (w->work == NULL || event->life != w->life) {
        return;
    }
    struct vq_work_event tick = {.type = VQ_WORK_TICK};
    struct vq_work_event connected = {.type = VQ_WORK_CONNECTED};
    const struct sim_call *call;
    switch ((int)event->kind) {
    case EV_TO_WORKER:
        if (event->b == w->connection && w->up) {
            sim_worker_frame(s, event->a, vq_span(event->bytes, event->count));
        }
        break;
    case EV_CONNECTED:
        if (event->b == w->connection && w->up) {
            w->told = true;
            sim_worker_step(s, event->a, &connected);
        }
        break;
    case EV_REFUSED: not_sent(s, event); break;
    case EV_GATHERED: sim_bulk_gathered(s, event->a, (size_t)event->b); break;
    case EV_BATCH: sim_bulk_event(s, event->a, event->b); break;
    case EV_REPLY:
        call = &s->calls[event->b];
        if (s->stages[call->stage].poison[call->task] && call->end == VQ_END_ANSWER) {
            sim_worker_kill(s, event->a); /* as a bug in reading this answer would */
        } else {
            sim_call_reply(s, event->a, (size_t)event->b);
        }
        break;
    case EV_WORKER_TICK:
        w->wake_ns = w->wake_ns <= s->now_ns ? INT64_MAX : w->wake_ns;
        sim_worker_step(s, event->a, &tick);
        break;
    default: break;
    }
}

static void reset(struct sim *s, const struct sim_event *event)
{
    if (event->life == s->workers[event->a].life) {
        sim_reset(s, event->a);
    }
}

static void dispatch(struct sim *s, const struct sim_event *event)
{
    switch (event->kind) {
    case EV_TO_WORKER:
    case EV_CONNECTED:
    case EV_REPLY:
    case EV_REFUSED:
    case EV_GATHERED:
    case EV_BATCH:
    case EV_WORKER_TICK: for_worker(s, event); return;
    case EV_CREATE: sim_bulk_create(s, (size_t)event->b); return;
    case EV_FAULT: sim_fault(s); return;
    case EV_BLOCK: sim_block(s, event->a); return;
    case EV_HEAL: sim_heal(s); return;
    case EV_RESET: reset(s, event); return;
    case EV_OVER: s->over = s->coord.finished; return; /* not by one that another took over from */
    case EV_SPAWN:
    case EV_COORD_START:
    case EV_TO_COORD:
    case EV_LOOKED_UP:
    case EV_LMDB:
    case EV_REDIS:
    case EV_REAPED:
    case EV_IMPORT:
    case EV_REDIS_BACK:
    case EV_STAGE:
    case EV_CLOCK:
    case EV_AGAIN:
    case EV_DRAIN:
    case EV_USURPED:
    case EV_TICK: sim_coord_event(s, event); return;
    }
}

static struct sim_event heap_take(struct sim *s, size_t at)
{
    struct sim_event event = s->heap[at];
    for (size_t i = at; i > 0; i = (i - 1) / 2) { /* to the top, then off it */
        s->heap[i] = s->heap[(i - 1) / 2];
    }
    s->heap[0] = event;
    return heap_pop(s);
}

void sim_twice(struct sim *s, size_t at)
{
    struct sim_event event = s->heap[at];
    event.bytes = vq_strndup(event.bytes, event.count);
    VQ_ASSERT(event.bytes != NULL);
    heap_push(s, event);
}

bool sim_goes_on(const struct sim *s)
{
    return s->heap_count > 0 && !s->over && !s->report->failed;
}

void sim_take(struct sim *s, size_t at)
{
    struct sim_event event = heap_take(s, at);
    s->now_ns = event.at_ns > s->now_ns ? event.at_ns : s->now_ns;
    if (wait_for_process(s, &event)) {
        return;
    }
    sim_trace(s, (uint64_t)event.at_ns,
              ((uint64_t)event.kind << 56) ^ ((uint64_t)event.a << 40) ^ event.b ^
                  (event.count << 20));
    dispatch(s, &event);
    vq_free(event.bytes);
    s->report->steps++;
    sim_check_step(s);
}

static void run(struct sim *s)
{
    while (sim_goes_on(s)) {
        sim_take(s, 0);
        if (s->report->steps > STEPS_MAX) {
            sim_fail(s, "no end after %llu steps", (unsigned long long)s->report->steps);
        }
        if (s->now_ns > s->heal_ns + FINISH_TERMS * s->term_ns + 600 * VQ_NS_PER_S) {
            sim_say_state(s);
            sim_fail(s, "healed long ago and not finished");
        }
    }
    if (!s->report->failed && !s->coord.finished) {
        sim_fail(s, "nothing happens any more and the run is not finished");
    }
}

void sim_make(struct sim *s, const struct sim_options *options, struct sim_report *report)
{
    *report = (struct sim_report){.trace = UINT64_C(0xcbf29ce484222325)};
    s->options = *options;
    s->report = report;
    world_make(s);
}

void sim_free(struct sim *s)
{
    world_free(s);
}

void sim_run(const struct sim_options *options, struct sim_report *ret_report)
{
    struct sim *s = vq_alloc(1, sizeof(*s));
    VQ_ASSERT(s != NULL);
    sim_make(s, options, ret_report);
    run(s);
    if (!ret_report->failed) {
        sim_check_end(s);
    }
    for (uint32_t n = 0; n < s->stages_count; n++) {
        ret_report->tasks += vq_grid_tasks(&s->stages[n].grid);
    }
    ret_report->calls = s->calls_count;
    ret_report->seconds = (double)s->now_ns / 1e9;
    world_free(s);
    vq_free(s);
}
