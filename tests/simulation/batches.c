/* Batches at providers: what a worker's shell does for them (worker/batches decides), the providers
 * that carry them out, and what must hold: a batch comes to its provider once, after each of its
 * calls is committed, and not after they were given up; a call of it is asked nowhere else.
 *
 * In every fifth seed that has two pools or more, every second pool is a batch pool. Its chance has
 * a generator of its own: other seeds stay what they were. */
#include "tests/simulation/sim.h"

#include "common/base/alloc.h"
#include "proto/result.h"

#include <stdio.h>
#include <stdlib.h>

#define EVERY          5
#define STEERED_EVERY  20 /* and of these, a deadline says now and then where calls go */
#define CANCELS_OF     7  /* of STEERED_EVERY: in these, batches are cancelled by hand */
#define SETTLE_MS      3000
#define FOREIGN_MS     6000
#define ARRIVES_MS_MAX 1500 /* after a create was sent */
#define SHOWS_MS_MAX   1000 /* a list may lack a new batch for so long */
#define DOCUMENT_BYTES 100000u
#define TICK           UINT64_MAX

enum fate { /* of a call in a batch */
    FATE_ANSWERED,
    FATE_ERRORED,
    FATE_EXPIRED, /* not carried out */
    FATE_MISSING  /* no line says anything of it */
};

static bool calm(const struct sim *s)
{
    return s->healed;
}

static bool happens(struct sim *s, double p)
{
    return vq_rng_unit(&s->bulk.rng) < p;
}

static int64_t some_ms(struct sim *s, uint64_t low, uint64_t high)
{
    return (int64_t)(low + vq_rng_below(&s->bulk.rng, high - low + 1)) * VQ_NS_PER_MS;
}

static int64_t now_ms(const struct sim *s)
{
    return s->now_ns / VQ_NS_PER_MS;
}

void sim_bulk_make(struct sim *s)
{
    vq_rng_seed(&s->bulk.rng, s->options.seed ^ UINT64_C(0xba7c4));
    s->bulk.on = s->options.seed % EVERY == 2 && s->options.small == NULL && s->pools_count >= 2;
    for (uint32_t p = 1; s->bulk.on && p < s->pools_count; p += 2) {
        s->pools[p].requests = s->pools[p].tokens = 0;
        s->pools[p].concurrency = 0;
    }
    for (uint32_t j = 0; s->bulk.on && j < SIM_JUDGES_MAX; j++) {
        bool interactive = false;
        for (uint32_t i = 0; i < s->serves_count[j]; i++) {
            interactive |= s->serves[j][i] % 2 == 0;
        }
        if (!interactive) { /* for stages whose calls go into no batch */
            s->serves[j][s->serves_count[j]++] = 0;
        }
    }
}

bool sim_is_batch(const struct sim *s, uint32_t pool)
{
    return s->bulk.on && pool % 2 == 1;
}

void sim_bulk_free(struct sim *s)
{
    for (size_t i = 0; i < s->bulk.batches_count; i++) {
        vq_free(s->bulk.batches[i].items);
    }
    vq_free(s->bulk.batches);
    vq_free(s->bulk.items);
    vq_free(s->bulk.ops);
}

static void *room(void *array, size_t *cap, size_t count, size_t item_bytes)
{
    VQ_ASSERT(vq_grow(&array, cap, count + 1, item_bytes, 1u << 22) == VQ_OK);
    return array;
}

/* Every second pool opens its uploads first. */
static const struct vq_batch_dialect *dialect_of(uint32_t p)
{
    static struct vq_batch_dialect opens;
    opens = *vq_batch_find("gemini");
    opens.inline_bytes_max = 0;
    return p % 2 == 0 ? vq_batch_find("openai") : &opens;
}

static void pool_of(const struct sim *s, uint32_t p, struct vq_batches_pool *ret_pool)
{
    *ret_pool = (struct vq_batches_pool){
        .name = vq_span_str(s->pools[p].name),
        .at = {.dialect = dialect_of(p), .base_url = "http://127.0.0.1/v1", .model = "model"},
        .calls_max = 1 + (uint32_t)(s->options.seed / 7 % 9),
        .bytes_max = DOCUMENT_BYTES,
        .wait_ms = 4000,
        .poll_ms = 500};
}

/* ---- a deadline ---- */

void sim_bulk_steer(struct sim *s, bool over)
{
    struct sim_coord *co = &s->coord;
    if (!s->bulk.on || s->options.seed % STEERED_EVERY != 2 || co->core == NULL ||
        (over && !s->bulk.steered)) {
        return;
    }
    bool direct = !over && happens(s, 0.5);
    uint64_t keep = over ? 0 : vq_rng_below(&s->bulk.rng, 12);
    enum vq_status status = VQ_OK;
    s->bulk.steered = !over;
    sim_say(s, "calls are %s, %llu are kept", direct ? "asked interactively" : "put into batches",
            (unsigned long long)keep);
    for (uint32_t p = 0; p < s->pools_count; p++) {
        vq_authority_rest(co->authority, p, direct && sim_is_batch(s, p), s->now_ns);
    }
    for (uint32_t j = 0; status == VQ_OK && j < s->store.grid.judges; j++) {
        status = vq_coord_steer(co->core, j, direct, keep, s->now_ns);
    }
    sim_coord_told(s, status, "steer");
}

void sim_bulk_cancel(struct sim *s)
{
    struct sim_coord *co = &s->coord;
    uint32_t count;
    if (!s->bulk.on || s->options.seed % STEERED_EVERY != CANCELS_OF || co->core == NULL ||
        !happens(s, 0.3)) {
        return;
    }
    enum vq_status status = vq_coord_api_batch_cancel(co->core, NULL, s->now_ns, &count);
    sim_say(s, "%u batches are cancelled by hand", count);
    s->report->cancelled += count;
    sim_coord_told(s, status, "cancel");
}

/* ---- the worker's side ---- */

void sim_bulk_gather(struct sim *s, uint32_t i, const struct vq_work_call *call)
{
    struct sim_worker *w = &s->workers[i];
    struct vq_batches_pool pool;
    struct vq_result draft = vq_work_call_sent(call);
    char text[VQ_RESULT_BATCH_BYTES] = "";
    pool_of(s, call->pool, &pool);
    sim_check_call(s, i, call);
    s->reserved_most_nano =
        call->cost_nano > s->reserved_most_nano ? call->cost_nano : s->reserved_most_nano;
    enum vq_status status =
        vq_batches_add(w->batches, &pool, &draft, vq_span_str("{\"n\":1}"), now_ms(s), text);
    struct sim_gathered *g;
    s->bulk.items =
        room(s->bulk.items, &s->bulk.items_cap, s->bulk.items_count, sizeof(*s->bulk.items));
    g = &s->bulk.items[s->bulk.items_count++];
    *g = (struct sim_gathered){.call = call->id,
                               .request = call->request,
                               .stage = call->stage,
                               .task = call->task,
                               .stage_kind = call->stage_kind,
                               .kind = call->kind,
                               .tokens_reserved = call->tokens_reserved,
                               .cost_nano = call->cost_nano,
                               .worker = i,
                               .pool = call->pool,
                               .status = status};
    (void)snprintf(g->text, sizeof(g->text), "%s", text);
    sim_say(s, "worker %u gathers task %llu: %s", i, (unsigned long long)call->task, text);
    sim_push(s, s->now_ns, EV_GATHERED, i, s->bulk.items_count - 1, w->life);
}

void sim_bulk_gathered(struct sim *s, uint32_t i, size_t n)
{
    const struct sim_gathered *g = &s->bulk.items[n];
    bool added = g->status == VQ_OK;
    struct vq_work_reply reply = {.call = g->call,
                                  .end = added ? VQ_END_BATCHED : VQ_END_NETWORK,
                                  .retry_after_ms = -1,
                                  .error = vq_span_str(added ? g->text : "no room")};
    struct vq_work_event event = {.type = VQ_WORK_REPLY, .u.reply = &reply};
    sim_worker_step(s, i, &event);
}

static struct sim_gathered *item_of(struct sim *s, const struct vq_id *call)
{
    for (size_t n = s->bulk.items_count; n > 0; n--) {
        if (vq_id_eq(&s->bulk.items[n - 1].call, call)) {
            return &s->bulk.items[n - 1];
        }
    }
    return NULL;
}

static struct sim_call *call_of(struct sim *s, const struct vq_id *id)
{
    struct vq_hash key = sim_key_id(id);
    const uint64_t *at = sim_map_get(&s->calls_by_id, &key);
    return at == NULL ? NULL : &s->calls[*at];
}

static void collected(struct sim *s, uint32_t i, const struct vq_result *draft,
                      const struct vq_work_reply *reply)
{
    struct vq_work_collected collected = {.draft = draft, .reply = reply};
    struct vq_work_event event = {.type = VQ_WORK_COLLECTED, .u.collected = &collected};
    sim_worker_step(s, i, &event);
}

static void deliver(struct sim *s, uint32_t i, const struct vq_batches_action *a)
{
    struct sim_call *c = call_of(s, &a->draft->call);
    if (c == NULL) {
        sim_fail(s, "a line came of a call that was never made");
        return;
    }
    bool answered = a->line->outcome == VQ_BATCH_SUCCEEDED;
    if (!answered) {
        c->state = CALL_FAILED;
    } else if (!s->workers[i].has_spool) {
        c->state = CALL_ANSWERED;
    }
    c->answered_ns = s->now_ns;
    struct vq_work_reply reply = {.call = c->id,
                                  .end = answered ? VQ_END_ANSWER : VQ_END_BAD_REQUEST,
                                  .retry_after_ms = -1,
                                  .refusal = c->refusal,
                                  .http_status = answered ? 200 : 400,
                                  .tokens_in = answered ? c->tokens * 3 / 4 : 0,
                                  .tokens_out = answered ? c->tokens - c->tokens * 3 / 4 : 0,
                                  .answer = vq_span_str(answered ? c->answer : ""),
                                  .finish_reason = vq_span_str("stop"),
                                  .model = vq_span_str("model"),
                                  .error = vq_span_str(answered ? "" : "as drawn")};
    collected(s, i, a->draft, &reply);
}

static void give_up(struct sim *s, uint32_t i, const struct vq_batches_action *a)
{
    struct sim_call *c = call_of(s, &a->draft->call);
    struct sim_gathered *g = item_of(s, &a->draft->call);
    sim_say(s, "worker %u gives up task %llu: %s", i, (unsigned long long)a->draft->task, a->text);
    if (c != NULL && g->fate == FATE_ANSWERED && c->state == CALL_IN_BATCH) {
        sim_fail(s, "I2: the answer to task %llu is given up: %s",
                 (unsigned long long)a->draft->task, a->text);
    }
    if (c != NULL && c->state == CALL_IN_BATCH) {
        c->state = CALL_FAILED;
    }
    g->given_up = true;
    struct vq_work_reply reply = {.call = a->draft->call,
                                  .end = a->ordered ? VQ_END_CANCELLED : VQ_END_NETWORK,
                                  .retry_after_ms = -1,
                                  .error = vq_span_str(a->text)};
    collected(s, i, a->draft, &reply);
}

static size_t op_new(struct sim *s, const struct vq_batches_action *a, uint32_t i)
{
    s->bulk.ops = room(s->bulk.ops, &s->bulk.ops_cap, s->bulk.ops_count, sizeof(*s->bulk.ops));
    struct sim_op *op = &s->bulk.ops[s->bulk.ops_count];
    *op =
        (struct sim_op){.worker = i, .batch = a->batch, .step = a->step.type, .part = a->step.part};
    if (a->step.type == VQ_BATCH_DO_LIST && a->step.text != NULL) {
        op->from = (size_t)strtoul(a->step.text, NULL, 10);
    }
    const struct vq_batch_life *life = vq_batches_life(s->workers[i].batches, a->batch);
    (void)snprintf(op->name, sizeof(op->name), "%s", life->record.name);
    (void)snprintf(op->id, sizeof(op->id), "%s", life->record.id);
    return s->bulk.ops_count++;
}

static bool may_create(struct sim *s, uint32_t i, const struct vq_batches_action *a)
{
    const struct sim_worker *w = &s->workers[i];
    return !vq_batches_life(w->batches, a->batch)->rules.collects &&
           vq_work_create_until_ns(w->work) > sim_worker_clock(s, w);
}

static void carry_out(struct sim *s, uint32_t i, const struct vq_batches_action *a)
{
    struct sim_worker *w = &s->workers[i];
    int64_t reply_ns = some_ms(s, 1, 400);
    if (a->step.type == VQ_BATCH_DO_DROP) {
        return;
    }
    size_t n = op_new(s, a, i);
    struct sim_op *op = &s->bulk.ops[n];
    if (a->step.type == VQ_BATCH_DO_CREATE) {
        op->unsent = !may_create(s, i, a);
        op->refused = !op->unsent && !calm(s) && happens(s, 0.05);
        bool lost = !calm(s) && happens(s, 0.05);
        op->failed = lost || (!calm(s) && happens(s, 0.15)); /* its outcome is not known here */
        if (!op->unsent && !op->refused && !lost) {
            int64_t arrives_ns = some_ms(s, 1, ARRIVES_MS_MAX);
            sim_push(s, s->now_ns + arrives_ns, EV_CREATE, i, n, 0);
            reply_ns += arrives_ns;
        }
    } else {
        op->failed = !calm(s) && happens(s, 0.08);
    }
    sim_push(s, s->now_ns + reply_ns, EV_BATCH, i, n, w->life);
}

static void act(struct sim *s, uint32_t i, const struct vq_batches_action *a)
{
    struct vq_work_event event = {.type = VQ_WORK_BATCH, .u.batch = &a->progress};
    switch (a->type) {
    case VQ_BATCHES_DELIVER: deliver(s, i, a); break;
    case VQ_BATCHES_GIVE_UP: give_up(s, i, a); break;
    case VQ_BATCHES_TELL: sim_worker_step(s, i, &event); break;
    case VQ_BATCHES_NOTE: sim_say(s, "worker %u: %s", i, a->text); break;
    case VQ_BATCHES_DO: carry_out(s, i, a); break;
    }
}

void sim_bulk_take(struct sim *s, uint32_t i)
{
    struct sim_worker *w = &s->workers[i];
    uint64_t life = w->life;
    struct vq_batches_action action;
    if (w->batches == NULL || w->takes) {
        return;
    }
    w->takes = true;
    while (w->life == life && !s->report->failed && vq_batches_next(w->batches, &action)) {
        act(s, i, &action);
    }
    if (w->life != life) {
        return;
    }
    w->takes = false;
    int64_t wake_ms = vq_batches_wake_ms(w->batches);
    if (wake_ms != INT64_MAX && (wake_ms < w->batches_wake_ms || w->batches_wake_ms <= now_ms(s))) {
        w->batches_wake_ms = wake_ms <= now_ms(s) ? now_ms(s) + 1 : wake_ms;
        sim_push(s, w->batches_wake_ms * VQ_NS_PER_MS, EV_BATCH, i, TICK, w->life);
    }
}

/* The next COLLECT of this session. */
void sim_bulk_collect(struct sim *s, uint32_t i, const struct vq_msg_collect *collect)
{
    struct vq_batches_pool pool;
    for (uint32_t p = 0; p < s->pools_count; p++) {
        if (vq_span_eq(vq_span_str(s->pools[p].name), collect->pool)) {
            pool_of(s, p, &pool);
            enum vq_status status =
                vq_batches_collect(s->workers[i].batches, collect, &pool, now_ms(s));
            if (status != VQ_OK && status != VQ_AGAIN) {
                sim_fail(s, "worker %u cannot collect a batch: %s", i, vq_status_name(status));
            }
        }
    }
}

/* ---- the provider's side ---- */

static struct sim_api_batch *batch_of(struct sim *s, const char *id)
{
    for (size_t n = 0; n < s->bulk.batches_count; n++) {
        if (strcmp(s->bulk.batches[n].id, id) == 0) {
            return &s->bulk.batches[n];
        }
    }
    return NULL;
}

static void is_committed(struct sim *s, const struct sim_gathered *g, const char *name)
{
    const struct sim_ledger_row *row = sim_store_row(&s->store, &g->call);
    if (row == NULL || row->end != VQ_END_BATCHED) {
        sim_fail(s, "I2: batch %s comes to its provider, and its call of task %llu is %s", name,
                 (unsigned long long)g->task, row == NULL ? "not committed" : "over");
    }
    if (g->given_up) {
        sim_fail(s, "I2: batch %s comes to its provider after task %llu of it was given up", name,
                 (unsigned long long)g->task);
    }
}

static enum fate draw_fate(struct sim *s)
{
    double p = vq_rng_unit(&s->bulk.rng) / (calm(s) ? 0.05 : 1);
    return p < 0.03   ? FATE_EXPIRED
           : p < 0.05 ? FATE_MISSING
           : p < 0.08 ? FATE_ERRORED
                      : FATE_ANSWERED;
}

static void make_call(struct sim *s, struct sim_gathered *g, int64_t ends_ns)
{
    struct vq_work_call call = {.id = g->call,
                                .request = g->request,
                                .stage = g->stage,
                                .stage_kind = g->stage_kind,
                                .kind = g->kind,
                                .task = g->task,
                                .pool = g->pool,
                                .tokens_reserved = g->tokens_reserved,
                                .cost_nano = g->cost_nano};
    g->fate = (int)draw_fate(s);
    sim_call_batched(s, g->worker, &call, g->fate == FATE_ANSWERED, ends_ns);
}

/* A create arrives. Its worker may be gone by now. */
void sim_bulk_create(struct sim *s, size_t n)
{
    const struct sim_op *op = &s->bulk.ops[n];
    s->bulk.batches = room(s->bulk.batches, &s->bulk.batches_cap, s->bulk.batches_count,
                           sizeof(*s->bulk.batches));
    struct sim_api_batch *b = &s->bulk.batches[s->bulk.batches_count];
    *b = (struct sim_api_batch){.lost = !calm(s) && !op->failed && happens(s, 0.02)};
    (void)snprintf(b->name, sizeof(b->name), "%s", op->name);
    (void)snprintf(b->id, sizeof(b->id), "batch_%zu", ++s->bulk.batches_count);
    b->shows_ns = s->now_ns + some_ms(s, 0, SHOWS_MS_MAX);
    b->ends_ns = s->now_ns + some_ms(s, 100, calm(s) ? 4000 : happens(s, 0.2) ? 40000 : 8000);
    for (size_t i = 0; i + 1 < s->bulk.batches_count; i++) {
        if (strcmp(s->bulk.batches[i].name, b->name) == 0) {
            sim_fail(s, "I2: batch %s is created twice", b->name);
        }
    }
    for (size_t i = 0; i < s->bulk.items_count; i++) {
        struct sim_gathered *g = &s->bulk.items[i];
        size_t bytes = strlen(b->name);
        if (strncmp(g->text, b->name, bytes) != 0 || g->text[bytes] != ' ') {
            continue;
        }
        is_committed(s, g, b->name);
        make_call(s, g, b->ends_ns);
        b->items = room(b->items, &b->items_cap, b->items_count, sizeof(*b->items));
        b->items[b->items_count++] = i;
        if (b->lost && g->fate == FATE_ANSWERED) { /* and is not billed */
            g->fate = FATE_MISSING;
        }
    }
    sim_say(s, "batch %s is created as %s: %zu calls, until %.3f s", b->name, b->id, b->items_count,
            (double)b->ends_ns / 1e9);
}

static void view_of(const struct sim *s, const struct sim_api_batch *b,
                    struct vq_batch_view *ret_view)
{
    *ret_view = (struct vq_batch_view){.total = (int64_t)b->items_count,
                                       .succeeded = -1,
                                       .errored = -1,
                                       .cancelled = -1,
                                       .expired = -1,
                                       .pending = -1,
                                       .state = VQ_BATCH_RUNNING};
    (void)snprintf(ret_view->id, sizeof(ret_view->id), "%s", b->id);
    (void)snprintf(ret_view->name, sizeof(ret_view->name), "%s", b->name);
    if (b->ends_ns <= s->now_ns) {
        ret_view->state = b->cancelled ? VQ_BATCH_CANCELLED : VQ_BATCH_ENDED;
        ret_view->has_results = true;
        (void)snprintf(ret_view->output_file, sizeof(ret_view->output_file), "out-%.60s", b->id);
        (void)snprintf(ret_view->error_file, sizeof(ret_view->error_file), "err-%.60s", b->id);
    }
}

static void say(struct sim *s, const struct sim_op *op, const struct vq_batch_event *event)
{
    struct vq_batches *batches = s->workers[op->worker].batches;
    if (batches != NULL) { /* its process may have ended with the event before */
        vq_batches_event(batches, op->batch, event, now_ms(s));
        sim_bulk_take(s, op->worker);
    }
}

static void list(struct sim *s, const struct sim_op *op)
{
    struct vq_batch_view views[VQ_BATCH_PAGE];
    struct vq_batch_page page = {.at = views};
    size_t n = op->from;
    for (; n < s->bulk.batches_count && page.count < VQ_BATCH_PAGE; n++) {
        struct sim_api_batch *b = &s->bulk.batches[s->bulk.batches_count - 1 - n];
        if (b->shows_ns <= s->now_ns && !b->lost) {
            view_of(s, b, &views[page.count++]);
        }
    }
    if (n < s->bulk.batches_count) {
        (void)snprintf(page.next, sizeof(page.next), "%zu", n);
    }
    say(s, op, &(struct vq_batch_event){.type = VQ_BATCH_LIST_DONE, .page = &page});
}

/* One line, perhaps twice, perhaps with one of another batch before it. */
static void line(struct sim *s, const struct sim_op *op, struct sim_gathered *g, uint64_t number)
{
    struct vq_batch_line line = {.number = number,
                                 .outcome = g->fate == FATE_ANSWERED  ? VQ_BATCH_SUCCEEDED
                                            : g->fate == FATE_ERRORED ? VQ_BATCH_ERRORED
                                                                      : VQ_BATCH_CALL_EXPIRED,
                                 .status = g->fate == FATE_ANSWERED ? 200 : 400,
                                 .reply = vq_span_str("{}")};
    char id[VQ_BATCH_CALL_ID_BYTES];
    const char *space = strchr(g->text, ' ');
    vq_batch_call_id(op->name, (uint32_t)strtoul(space + 1, NULL, 10), id);
    (void)snprintf(line.custom_id, sizeof(line.custom_id), "%s", id);
    for (int times = happens(s, 0.05) ? 2 : 1; times > 0; times--) {
        say(s, op, &(struct vq_batch_event){.type = VQ_BATCH_RESULT, .line = &line});
    }
}

static void fetch(struct sim *s, const struct sim_op *op)
{
    const struct sim_api_batch *b = batch_of(s, op->id);
    uint64_t life = s->workers[op->worker].life;
    size_t first = b->items_count == 0 ? 0 : (size_t)vq_rng_below(&s->bulk.rng, b->items_count);
    bool breaks = !calm(s) && happens(s, 0.08);
    for (size_t n = 0; n < b->items_count && s->workers[op->worker].life == life; n++) {
        struct sim_gathered *g = &s->bulk.items[b->items[(first + n) % b->items_count]];
        bool here = (g->fate == FATE_ANSWERED) == (op->part == VQ_BATCH_OUTPUT);
        if (breaks && n == b->items_count / 2) {
            say(s, op, &(struct vq_batch_event){.type = VQ_BATCH_FETCH_FAILED});
            return;
        }
        if (here && g->fate != FATE_MISSING) {
            line(s, op, g, n + 1);
        }
    }
    if (s->workers[op->worker].life == life) {
        say(s, op, &(struct vq_batch_event){.type = VQ_BATCH_FETCH_DONE});
    }
}

static enum vq_batch_event_type failure_of(enum vq_batch_action_type step)
{
    switch (step) {
    case VQ_BATCH_DO_OPEN:
    case VQ_BATCH_DO_UPLOAD: return VQ_BATCH_UPLOAD_FAILED;
    case VQ_BATCH_DO_CREATE: return VQ_BATCH_CREATE_UNKNOWN;
    case VQ_BATCH_DO_LIST: return VQ_BATCH_LIST_FAILED;
    case VQ_BATCH_DO_GET: return VQ_BATCH_GET_FAILED;
    case VQ_BATCH_DO_FETCH: return VQ_BATCH_FETCH_FAILED;
    case VQ_BATCH_DO_CANCEL: return VQ_BATCH_CANCEL_FAILED;
    case VQ_BATCH_DO_PEEK: return VQ_BATCH_PEEK_FAILED;
    case VQ_BATCH_DO_WRITE:
    case VQ_BATCH_DO_DELIVER:
    case VQ_BATCH_DO_GIVE_UP:
    case VQ_BATCH_DO_SETTLE:
    case VQ_BATCH_DO_DROP:
    case VQ_BATCH_DO_FINISH: break;
    }
    VQ_ASSERT(false);
    return VQ_BATCH_TICK;
}

static struct sim_api_batch *named(struct sim *s, const char *name)
{
    for (size_t n = 0; n < s->bulk.batches_count; n++) {
        if (strcmp(s->bulk.batches[n].name, name) == 0) {
            return &s->bulk.batches[n];
        }
    }
    return NULL;
}

static void created(struct sim *s, const struct sim_op *op)
{
    struct vq_batch_view view;
    if (op->unsent || op->refused) {
        say(s, op,
            &(struct vq_batch_event){.type = op->unsent ? VQ_BATCH_CREATE_UNSENT
                                                        : VQ_BATCH_CREATE_REFUSED});
        return;
    }
    view_of(s, named(s, op->name), &view);
    say(s, op, &(struct vq_batch_event){.type = VQ_BATCH_CREATE_DONE, .view = &view});
}

/* Some of its calls were carried out before; the others are not billed. */
static void cancel(struct sim *s, struct sim_api_batch *b)
{
    b->cancelled = true;
    b->ends_ns = s->now_ns + some_ms(s, 10, 500);
    for (size_t i = 0; i < b->items_count; i++) {
        struct sim_gathered *g = &s->bulk.items[b->items[i]];
        struct sim_call *c = call_of(s, &g->call);
        if (g->fate == FATE_ANSWERED && c != NULL && c->state == CALL_IN_BATCH && happens(s, 0.5)) {
            g->fate = FATE_MISSING;
            s->spent_nano -= c->cost_nano;
        }
    }
}

static void got(struct sim *s, const struct sim_op *op, bool cancels)
{
    struct sim_api_batch *b = batch_of(s, op->id);
    struct vq_batch_view view;
    if (b == NULL || b->lost) {
        say(s, op,
            &(struct vq_batch_event){.type = cancels ? VQ_BATCH_CANCEL_FAILED : VQ_BATCH_GET_GONE});
        return;
    }
    if (cancels && b->ends_ns > s->now_ns) {
        cancel(s, b);
    }
    view_of(s, b, &view);
    say(s, op,
        &(struct vq_batch_event){.type = cancels ? VQ_BATCH_CANCEL_DONE : VQ_BATCH_GET_DONE,
                                 .view = &view});
}

static const char *step_text(enum vq_batch_action_type step)
{
    switch ((int)step) {
    case VQ_BATCH_DO_OPEN: return "open";
    case VQ_BATCH_DO_UPLOAD: return "upload";
    case VQ_BATCH_DO_CREATE: return "create";
    case VQ_BATCH_DO_LIST: return "list";
    case VQ_BATCH_DO_GET: return "get";
    case VQ_BATCH_DO_FETCH: return "fetch";
    case VQ_BATCH_DO_CANCEL: return "cancel";
    default: return "?";
    }
}

/* What became of an exchange, or time has passed. */
void sim_bulk_event(struct sim *s, uint32_t i, uint64_t n)
{
    if (n == TICK) {
        sim_bulk_take(s, i);
        if (s->workers[i].batches != NULL) {
            vq_batches_tick(s->workers[i].batches, now_ms(s));
            sim_bulk_take(s, i);
        }
        return;
    }
    const struct sim_op op = s->bulk.ops[n];
    sim_say(s, "worker %u: %s %s%s of batch %s", i, step_text(op.step),
            op.failed ? "failed" : "ended",
            op.refused  ? " (refused)"
            : op.unsent ? " (not sent)"
                        : "",
            op.name);
    if (op.failed && !op.unsent && !op.refused) {
        say(s, &op, &(struct vq_batch_event){.type = failure_of(op.step)});
        return;
    }
    switch ((int)op.step) {
    case VQ_BATCH_DO_OPEN:
        say(s, &op, &(struct vq_batch_event){.type = VQ_BATCH_OPEN_DONE, .text = "session-1"});
        break;
    case VQ_BATCH_DO_UPLOAD:
        say(s, &op, &(struct vq_batch_event){.type = VQ_BATCH_UPLOAD_DONE, .text = "file-1"});
        break;
    case VQ_BATCH_DO_CREATE: created(s, &op); break;
    case VQ_BATCH_DO_LIST: list(s, &op); break;
    case VQ_BATCH_DO_GET: got(s, &op, false); break;
    case VQ_BATCH_DO_CANCEL: got(s, &op, true); break;
    case VQ_BATCH_DO_FETCH: fetch(s, &op); break;
    default: VQ_ASSERT(false);
    }
}

void sim_bulk_start(struct sim *s, uint32_t i)
{
    struct sim_worker *w = &s->workers[i];
    struct vq_batches_options options = {
        .worker = w->id, .settle_ms = SETTLE_MS, .foreign_settle_ms = FOREIGN_MS};
    w->batches_wake_ms = INT64_MAX;
    VQ_ASSERT(!s->bulk.on || vq_batches_create(&options, &w->batches) == VQ_OK);
}

/* ---- the coordinator's side ---- */

void sim_bulk_send(struct sim *s, const struct vq_coord_collect *about)
{
    struct vq_msg msg = {.type = VQ_MSG_COLLECT,
                         .u.collect = {.session = about->session,
                                       .name = vq_span_str(about->name),
                                       .pool = vq_span_str(about->pool),
                                       .id = vq_span_str(about->id),
                                       .calls = about->calls,
                                       .cancel = about->cancel}};
    struct vq_msg_collect *collect = &msg.u.collect;
    for (size_t n = 0; !about->cancel && n < s->store.ledger_count; n++) {
        struct vq_result draft;
        struct vq_span name;
        uint32_t number;
        if (sim_store_draft(&s->store, n, s->decoder, &draft) &&
            vq_result_batch(&draft, &name, &number) && vq_span_eq(name, vq_span_str(about->name))) {
            collect->drafts = &draft;
            collect->drafts_count = 1;
            collect->more = true;
            sim_send_to_worker(s, about->peer, &msg);
            collect->before++;
        }
    }
    collect->drafts_count = 0;
    collect->more = false;
    sim_send_to_worker(s, about->peer, &msg);
}

/* Of the calls that wait in batches, those that the ledger has as such or with what followed. */
void sim_bulk_repeated(struct sim *s)
{
    const struct vq_batch *batch = s->coord.batch;
    size_t count = 0, *list = vq_alloc(batch->results_count + 1, sizeof(*list));
    VQ_ASSERT(list != NULL);
    for (size_t i = 0; i < batch->results_count; i++) {
        const struct vq_result *r = &batch->results[i];
        const struct sim_ledger_row *row = sim_store_row(&s->store, &r->call);
        bool known = row != NULL &&
                     !vq_call_end_replaces((enum vq_call_end)row->end, (enum vq_call_end)r->end);
        if (r->end == VQ_END_BATCHED && known) {
            list[count++] = i;
        }
    }
    VQ_ASSERT(vq_coord_repeated(s->coord.core, batch->no, list, count) == VQ_OK);
    vq_free(list);
}

void sim_bulk_take_stored(struct sim *s)
{
    for (size_t n = 0; n < s->store.ledger_count; n++) {
        struct vq_result draft;
        if (sim_store_draft(&s->store, n, s->decoder, &draft)) {
            VQ_ASSERT(vq_coord_batched(s->coord.core, &draft) == VQ_OK);
        }
    }
    for (size_t n = 0; n < s->store.said_count; n++) {
        const struct sim_said *said = &s->store.said[n];
        struct vq_batch_report batch = {.about = {.name = vq_span_str(said->name),
                                                  .pool = vq_span_str(said->pool),
                                                  .id = vq_span_str(said->id),
                                                  .state = said->state,
                                                  .calls = said->calls},
                                        .owner = said->owner};
        VQ_ASSERT(vq_coord_api_batch_store(s->coord.core, &batch) == VQ_OK);
    }
}

/* What a spool that was found after the end says of a batch that was never created waits for the
 * next resume. */
void sim_bulk_check_end(struct sim *s)
{
    for (size_t n = 0; n < s->store.ledger_count; n++) {
        const struct sim_ledger_row *row = &s->store.ledger[n];
        if (row->end == VQ_END_BATCHED && call_of(s, &row->call) != NULL) {
            sim_fail(s, "I2: a call of task %llu waits in a batch at the end",
                     (unsigned long long)s->store.ledger[n].task);
        }
    }
}
