/* Calls: which one starts next, and the consequences of its end.
 *
 * A call starts only inside its lease's term, a pool's slice and the worker's own limits. SENT is
 * in the spool before the call is sent, and its result before the answer is read: start and
 * vq_work_on_reply queue the note. The core queues the call or the reading (vq_work_read) after the
 * shell has taken the note, and so after the write that all notes share. Each call gives exactly
 * one result. A result is final if its lease produces no further result for the task. A failure is
 * final only if this worker settled it, never because a lease ended or the worker leaves. */
#include "common/base/alloc.h"
#include "common/judge/context.h"
#include "worker/core/state.h"

#include <stdio.h>

/* ---- starting ---- */

static void put_id(struct vq_work *w, struct vq_id *ret_id)
{
    *ret_id = w->options.worker;
    uint64_t n = ++w->calls.n;
    for (int i = VQ_ID_BYTES - 1; i >= VQ_ID_BYTES - 8; i--) {
        ret_id->b[i] = (uint8_t)n;
        n >>= 8;
    }
}

/* The service tier that the call names at this pool: none after enough refusals. */
static const char *tier_of(const struct vq_work *w, const struct vq_work_ask *ask, uint32_t pool)
{
    const struct vq_work_endpoint *at = &w->spec->pools[pool];
    bool named = w->spec->kind != VQ_STAGE_EMBED && ask->no_capacity < at->tier_tries;
    return named ? at->service_tier : "";
}

static void fill_call(struct vq_work *w, struct vq_work_ask *ask, uint32_t pool,
                      const struct vq_work_need *need, struct vq_work_call *call)
{
    const struct vq_work_lease *lease = ask->lease;
    const struct vq_asker *asker = &w->spec->judges[lease->judge].asker;
    *call = (struct vq_work_call){.stage_kind = w->spec->kind,
                                  .stage = w->spec->stage,
                                  .shard = lease->shard,
                                  .fence = lease->fence,
                                  .until_ns = lease->until_ns,
                                  .task = ask->task,
                                  .judge = lease->judge,
                                  .pool = pool,
                                  .params_refused = w->pools[pool].params_refused,
                                  .tier = tier_of(w, ask, pool),
                                  .pool_name = vq_span_str(w->spec->pools[pool].name),
                                  .tokens_reserved = need->tokens,
                                  .cost_nano = need->nano,
                                  .vibe = ask->vibe,
                                  .order = ask->order,
                                  .repeat = ask->repeat,
                                  .tries = ++ask->tries,
                                  .kind = ask->kind == VQ_CALL_ASK ? VQ_CALL_ASK : VQ_CALL_REPAIR,
                                  .output_bytes_max = ask->output_bytes_max,
                                  .asker = asker,
                                  .sample = &lease->sample->text,
                                  .axis = &w->spec->axes[ask->vibe],
                                  .answer = vq_span(ask->answer, ask->answer_bytes)};
    if (lease->chain != NULL) {
        call->turns = lease->chain->turns;
        call->turns_count = lease->chain->turns_count;
    }
    ask->kind_tries++;
    put_id(w, &call->id);
    if (lease->chain != NULL) {
        vq_chain_request(asker, &lease->chain->state, ask->repeat, &call->request);
    } else if (call->kind == VQ_CALL_ASK) {
        vq_request_hash(asker, &lease->sample->id, call->axis, ask->order, ask->repeat,
                        &call->request);
    } else {
        call->repaired = ask->request;
        vq_repair_hash(asker, &ask->request, call->answer, &call->request);
    }
}

void vq_work_call_start(struct vq_work *w, struct vq_work_ask *ask, uint32_t pool,
                        const struct vq_work_need *need)
{
    struct vq_work_flight *flight = vq_alloc(1, sizeof(*flight));
    if (flight == NULL) {
        (void)vq_work_ok(w, VQ_NOMEM);
        return;
    }
    fill_call(w, ask, pool, need, &flight->call);
    flight->started_ns = w->now_ns;
    flight->need = *need;
    flight->price = w->spec->pools[pool].price;
    flight->tier_price = w->spec->pools[pool].tier_price;
    (void)snprintf(flight->tier, sizeof(flight->tier), "%s", flight->call.tier);
    flight->pool = pool;
    (void)snprintf(flight->pool_name, sizeof(flight->pool_name), "%s", w->spec->pools[pool].name);
    if (!vq_work_ok(w,
                    vq_index_add(&w->calls.by_id, &flight->by_id, vq_id_hash(&flight->call.id)))) {
        vq_free(flight);
        return;
    }
    vq_list_push(&w->calls.flights, &flight->link);
    w->calls.count++;
    w->calls.started++;
    vq_work_ask_unqueue(w, ask);
    ask->state = VQ_WORK_ASK_CALLING;
    vq_work_front_started(w, ask, pool);
    if (ask->lease->chain != NULL) {
        ask->lease->chain->pool = pool + 1;
    }
    vq_work_pool_spend(w, pool, need);
    bool gather = w->spec->pools[pool].batch_calls > 0; /* a batch pool: the call is sent later */
    vq_work_queue(w, (struct vq_work_item){.type = gather ? VQ_WORK_ITEM_GATHER : VQ_WORK_ITEM_SENT,
                                           .u.flight = flight});
}

bool vq_work_may_start(const struct vq_work *w)
{
    return w->status == VQ_OK && w->spec != NULL && !w->end.draining && !w->end.orphaned &&
           w->calls.count < w->options.concurrency_max && !vq_work_outbox_full(&w->outbox);
}

void vq_work_calls_pump(struct vq_work *w)
{
    uint32_t idle = 0; /* judges in a row that could not start a call */
    bool moved = false;
    vq_work_fronts_pump(w);
    while (vq_work_may_start(w) && idle < w->spec->judges_count) {
        uint32_t judge = w->judge_turn++ % w->spec->judges_count;
        struct vq_work_ask *ask =
            vq_work_judge_usable(w, judge) ? vq_work_queue_first(w, &w->judges[judge].ready) : NULL;
        uint32_t pool;
        struct vq_work_need need;
        int64_t when;
        if (ask != NULL && vq_work_front_waits(w, ask)) {
            idle = 0;
            moved = true;
            continue;
        }
        if (ask == NULL || !vq_work_judge_choose(w, ask, &pool, &need, &when)) {
            idle++;
            continue;
        }
        idle = 0;
        vq_work_call_start(w, ask, pool, &need);
    }
    if (moved) {
        vq_work_fronts_pump(w);
    }
}

int64_t vq_work_calls_wake(const struct vq_work *w)
{
    int64_t wake = INT64_MAX;
    const struct vq_heap_node *delayed = vq_heap_peek(&w->leases.delayed);
    if (delayed != NULL) {
        wake = delayed->first;
    }
    if (vq_work_may_start(w)) {
        int64_t followers = vq_work_fronts_wake(w);
        wake = followers < wake ? followers : wake;
    }
    for (uint32_t j = 0; vq_work_may_start(w) && j < w->spec->judges_count; j++) {
        const struct vq_heap_node *node = vq_heap_peek(&w->judges[j].ready);
        if (node != NULL) {
            const struct vq_work_ask *ask = VQ_CONTAINER_OF(node, const struct vq_work_ask, node);
            uint32_t pool;
            struct vq_work_need need;
            int64_t when;
            (void)vq_work_judge_choose(w, ask, &pool, &need, &when);
            wake = when < wake ? when : wake;
        }
    }
    return wake;
}

/* ---- ending ---- */

static uint64_t bounded(uint64_t tokens)
{
    return tokens > VQ_WORK_TOKENS_MAX ? VQ_WORK_TOKENS_MAX : tokens;
}

struct vq_result vq_work_call_sent(const struct vq_work_call *call)
{
    return (struct vq_result){.call = call->id,
                              .stage = call->stage,
                              .shard = call->shard,
                              .fence = call->fence,
                              .task = call->task,
                              .request = call->request,
                              .repaired = call->repaired,
                              .judge = call->judge,
                              .repeat = call->repeat,
                              .tries = call->tries,
                              .kind = (uint8_t)call->kind,
                              .tokens_reserved = call->tokens_reserved,
                              .cost_nano = call->cost_nano,
                              .pool = call->pool_name};
}

/* Under `judging.context_check: strict` an answer to a part of the prompt is not an answer. It is
 * not retried, because the server would cut the prompt again. */
static struct vq_work_reply checked(const struct vq_work *w, const struct vq_work_reply *reply,
                                    char text[VQ_ERROR_BYTES_MAX])
{
    struct vq_work_reply as = *reply;
    if (reply->end == VQ_END_ANSWER && w->spec != NULL && w->spec->context_strict &&
        vq_context_is_cut(reply->prompt_chars, reply->tokens_in)) {
        (void)snprintf(text, VQ_ERROR_BYTES_MAX,
                       "the server read %llu tokens, about %s of a prompt of %llu characters; its "
                       "context is too short",
                       (unsigned long long)reply->tokens_in,
                       vq_context_share(reply->prompt_chars, reply->tokens_in),
                       (unsigned long long)reply->prompt_chars);
        as.end = VQ_END_TOO_LONG;
        as.answer = vq_span(NULL, 0);
        as.error = vq_span_str(text);
    }
    return as;
}

/* Whether the usage is missing, or is 0 for a side of an answer that cannot be 0. */
static bool is_unreported(enum vq_stage_kind kind, const struct vq_work_reply *reply)
{
    bool embeds = kind == VQ_STAGE_EMBED;
    return reply->end == VQ_END_ANSWER &&
           (reply->tokens_in == 0 ||
            (reply->tokens_out == 0 && reply->answer.bytes > 0 && !embeds));
}

void vq_work_result_fill(struct vq_result *result, enum vq_stage_kind kind,
                         const struct vq_work_reply *reply)
{
    result->end = (uint8_t)reply->end;
    result->refusal = reply->refusal;
    result->http_status = reply->http_status > 999 ? 999 : reply->http_status;
    result->latency_ms = reply->latency_ms;
    result->started_unix_ms = reply->started_unix_ms;
    result->tokens_in = bounded(reply->tokens_in);
    result->tokens_cached = bounded(reply->tokens_cached);
    result->tokens_written = bounded(reply->tokens_cache_written);
    result->tokens_out = bounded(reply->tokens_out);
    result->provider_nano = reply->provider_nano;
    result->prompt_chars = reply->prompt_chars;
    result->unreported = is_unreported(kind, reply);
    result->answer = reply->answer;
    result->finish_reason = reply->finish_reason;
    result->model = reply->model;
    result->fingerprint = reply->fingerprint;
    result->label_logprobs = reply->label_logprobs;
    result->error = reply->error;
    result->tier = reply->tier;
}

static struct vq_work_flight *flight_of(const struct vq_work_calls *calls, const struct vq_id *id)
{
    struct vq_index_node *node = vq_index_find(&calls->by_id, vq_id_hash(id));
    for (; node != NULL; node = vq_index_again(node)) {
        struct vq_work_flight *flight = VQ_CONTAINER_OF(node, struct vq_work_flight, by_id);
        if (vq_id_eq(&flight->call.id, id)) {
            return flight;
        }
    }
    return NULL;
}

void vq_work_on_reply(struct vq_work *w, const struct vq_work_reply *got)
{
    char text[VQ_ERROR_BYTES_MAX];
    struct vq_work_reply as = checked(w, got, text), *reply = &as;
    struct vq_work_flight *flight = flight_of(&w->calls, &reply->call);
    if (flight == NULL) {
        return;
    }
    vq_index_remove(&w->calls.by_id, &flight->by_id);
    vq_unlink(&flight->link);
    w->calls.count--;
    w->calls.ended++;
    vq_work_heard_cut(w, flight, reply);
    reply->no_capacity = reply->no_capacity && flight->tier[0] != '\0';
    reply->end = reply->no_capacity ? VQ_END_RATE : reply->end;
    const struct vq_work_call *call = &flight->call;
    struct vq_result result = vq_work_call_sent(call);
    vq_work_result_fill(&result, call->stage_kind, reply);
    result.tokens_reserved = flight->need.tokens;
    result.pool = vq_span_str(flight->pool_name);
    result.tier = reply->no_capacity ? vq_span_str(flight->tier) : reply->tier;
    vq_work_pool_learn(w, flight->pool, reply->params_refused, reply->error);
    struct vq_work_charge charge;
    vq_work_pool_settle(w, flight, reply, &result, &charge);
    struct vq_work_result *entry =
        vq_work_queue_room(w) ? vq_work_outbox_add(w, &result, flight->pool, &charge) : NULL;
    if (entry == NULL) {
        vq_work_outbox_unheld(w, &result);
        vq_free(flight);
        return;
    }
    struct vq_work_read read = {.result = entry,
                                .flight = flight,
                                .closed = (uint8_t)reply->pool,
                                .retry_after_ms = reply->retry_after_ms,
                                .parks = reply->parks,
                                .no_capacity = reply->no_capacity,
                                .late = reply->late};
    vq_work_queue(w, (struct vq_work_item){.type = w->options.has_spool ? VQ_WORK_ITEM_ANSWER
                                                                        : VQ_WORK_ITEM_READ,
                                           .u.read = read});
}

/* ---- the consequences of an end ---- */

/* Retries the ask if its lease allows that; else returns it to the coordinator. */
static void again(struct vq_work *w, struct vq_work_ask *ask, int64_t until_ns)
{
    if (ask->cancelled) {
        vq_work_ask_decide(w, ask, VQ_OUTCOME_NONE);
        vq_work_ask_close(w, ask);
    } else if (w->end.draining || w->end.orphaned || !vq_work_judge_usable(w, ask->lease->judge) ||
               (ask->lease->chain != NULL && ask->lease->chain->left)) {
        vq_work_ask_return(w, ask);
    } else if (until_ns > w->now_ns) {
        vq_work_ask_delay(w, ask, until_ns);
    } else {
        vq_work_ask_ready(w, ask);
    }
}

/* This lease produces no further result for the task. */
static void settle_as(struct vq_work *w, struct vq_work_ask *ask, struct vq_result *result,
                      enum vq_outcome outcome, bool repaired_elsewhere)
{
    result->outcome = (uint8_t)outcome;
    result->final = true;
    vq_free(ask->answer);
    ask->answer = NULL;
    ask->answer_bytes = 0;
    ask->state = VQ_WORK_ASK_DONE;
    bool held_enough = vq_work_holds_enough(w);
    if (ask->lease->chain != NULL) {
        vq_work_chain_settled(w, ask, result->answer, outcome);
    } else {
        w->leases.asks_done++;
        w->judges[ask->lease->judge].asks_done++;
        if (repaired_elsewhere) {
            vq_work_ask_leave_undecided(w, ask);
        } else {
            vq_work_ask_decide(w, ask, outcome);
        }
    }
    w->credit.due |=
        !held_enough && vq_work_holds_enough(w); /* before it gets more than it may hold */
    if (ask->cancelled) {
        vq_work_ask_close(w, ask); /* it needs no ACK */
    }
}

static void settle(struct vq_work *w, struct vq_work_ask *ask, struct vq_result *result,
                   enum vq_outcome outcome)
{
    settle_as(w, ask, result, outcome, false);
}

/* An answer without a verdict ends the ask under this lease: the coordinator looks for a repair of
 * the same text in the store, and leases the repair only if there is none. */
static void read_answer(struct vq_work *w, struct vq_work_ask *ask, struct vq_result *result,
                        const struct vq_work_flight *flight)
{
    enum vq_outcome outcome = vq_verdict_of(flight->call.stage_kind, result->answer,
                                            result->finish_reason, result->refusal);
    if (outcome == VQ_OUTCOME_NONE) {
        (void)vq_work_ok(w, VQ_NOMEM); /* its spool has the answer */
        return;
    }
    result->outcome = (uint8_t)outcome;
    result->final = true;
    if (ask != NULL) {
        bool repair = outcome == VQ_OUTCOME_UNPARSEABLE && result->kind == VQ_CALL_ASK &&
                      result->stage == w->spec->stage && w->spec->repair != NULL;
        settle_as(w, ask, result, outcome, repair && !ask->cancelled);
    }
}

/* This pool never answered. It is closed after the number of failures that a task has tries, of
 * this task or of others: a task that tried several pools shows little about the last one. These
 * tries show nothing about the other pools, so the task's tries start from 0 again. */
static void never_spoke(struct vq_work *w, struct vq_work_ask *ask, uint32_t pool,
                        const struct vq_result *result, int64_t wait_ms)
{
    bool enough = w->pools[pool].failures >= w->spec->judges[ask->lease->judge].tries_max;
    if (enough) {
        vq_work_pool_close(w, pool, VQ_POOL_NO_MODEL, result->error);
    }
    ask->kind_tries = 0;
    again(w, ask, enough ? w->now_ns : w->now_ns + VQ_WORK_MS(wait_ms));
}

/* `pool` failed. The next try goes to another pool, if there is one. */
static void retry(struct vq_work *w, struct vq_work_ask *ask, uint32_t pool,
                  struct vq_result *result, int64_t retry_after_ms)
{
    uint32_t judge = ask->lease->judge;
    bool last = ask->kind_tries >= w->spec->judges[judge].tries_max && !ask->cancelled;
    ask->failed_pool = pool == UINT32_MAX ? 0 : pool + 1;
    int64_t wait_ms =
        vq_backoff_ms(&w->rng, ask->kind_tries, w->options.backoff_ms, w->options.backoff_ms_max);
    if (last && result->end == VQ_END_NETWORK && pool != UINT32_MAX && !w->pools[pool].heard) {
        never_spoke(w, ask, pool, result, wait_ms);
        return;
    }
    if (last) {
        settle(w, ask, result,
               result->end == VQ_END_BAD_RESPONSE ? VQ_OUTCOME_BAD_RESPONSE
                                                  : VQ_OUTCOME_UNAVAILABLE);
        return;
    }
    int64_t most = w->options.retry_after_ms_max;
    int64_t asked = retry_after_ms > most ? most : retry_after_ms;
    again(w, ask, w->now_ns + VQ_WORK_MS(asked > wait_ms ? asked : wait_ms));
}

/* If the run allows it, cuts the outputs to half of the bytes that were sent, and retries. */
static void too_long(struct vq_work *w, struct vq_work_ask *ask, struct vq_result *result)
{
    const struct vq_sample *sample = &ask->lease->sample->text;
    size_t longest = sample->a.bytes > sample->b.bytes ? sample->a.bytes : sample->b.bytes;
    size_t sent = ask->output_bytes_max > 0 ? ask->output_bytes_max : longest;
    bool has_outputs = vq_stage_shows_outputs(w->spec->kind);
    bool answered = result->tokens_in > 0; /* the server cut the prompt by itself */
    if (answered || !w->spec->truncate || !has_outputs || ask->kind != VQ_CALL_ASK ||
        sent / 2 < VQ_WORK_OUTPUT_BYTES_MIN) {
        settle(w, ask, result, VQ_OUTCOME_TOO_LONG);
        return;
    }
    ask->output_bytes_max = sent / 2;
    again(w, ask, w->now_ns);
}

static void again_for_free(struct vq_work *w, struct vq_work_ask *ask, int64_t until_ns)
{
    if (ask != NULL) {
        ask->tries--; /* uses up no try */
        ask->kind_tries--;
        again(w, ask, until_ns);
    }
}

/* The service tier has no room for the call. This is no limit of the pool: only the call waits, and
 * it uses up no try. After enough refusals another pool is called, if there is one, else the
 * ordinary tier. Returns the end of the wait. */
static int64_t no_capacity(struct vq_work *w, struct vq_work_ask *ask, uint32_t pool,
                           int64_t retry_after_ms)
{
    if (ask == NULL || pool == UINT32_MAX) {
        return w->now_ns;
    }
    if (++ask->no_capacity >= w->spec->pools[pool].tier_tries) {
        ask->failed_pool = pool + 1;
        return w->now_ns;
    }
    int64_t most = w->options.retry_after_ms_max;
    int64_t asked = retry_after_ms > most ? most : retry_after_ms;
    int64_t wait_ms =
        vq_backoff_ms(&w->rng, ask->no_capacity, w->options.backoff_ms, w->options.backoff_ms_max);
    return w->now_ns + VQ_WORK_MS(asked > wait_ms ? asked : wait_ms);
}

void vq_work_read(struct vq_work *w, const struct vq_work_read *read)
{
    struct vq_result *result = &read->result->result;
    if (read->flight == NULL) { /* collected from a batch */
        uint32_t of = w->spec == NULL ? UINT32_MAX : vq_work_pool_find(w, result->pool);
        if (result->end == VQ_END_CLOSED && read->closed != VQ_POOL_OPEN && of != UINT32_MAX) {
            vq_work_pool_closed_by(w, of, read->closed, result);
        }
        (void)vq_work_outbox_read(w, read->result);
        return;
    }
    struct vq_work_ask *ask =
        vq_work_ask_find(&w->leases, result->shard, result->fence, result->task);
    ask = ask != NULL && ask->state == VQ_WORK_ASK_CALLING ? ask : NULL;
    vq_work_outbox_send(w, read->result);
    if (ask != NULL) {
        vq_work_front_ended(w, ask, result->end == VQ_END_ANSWER);
    }
    uint32_t pool = read->flight->pool;
    if (read->late) { /* it waits until its lease is renewed or dropped */
        again_for_free(w, ask, w->now_ns);
        vq_free(read->flight);
        return;
    }
    int64_t until_ns = w->now_ns;
    vq_work_pool_heard(w, pool, read->flight->started_ns, (enum vq_call_end)result->end);
    if (read->no_capacity) {
        until_ns = no_capacity(w, ask, pool, read->retry_after_ms);
    } else if (result->end == VQ_END_RATE) {
        until_ns = vq_work_pool_refused(w, pool, read->flight->started_ns, read->retry_after_ms,
                                        read->parks);
    } else if (result->end == VQ_END_CLOSED && read->closed != VQ_POOL_OPEN) {
        vq_work_pool_closed_by(w, pool, read->closed, result);
    }
    switch ((enum vq_call_end)result->end) {
    case VQ_END_ANSWER: read_answer(w, ask, result, read->flight); break;
    case VQ_END_RATE:
    case VQ_END_CLOSED: again_for_free(w, ask, until_ns); break;
    case VQ_END_PROVIDER:
    case VQ_END_NETWORK:
    case VQ_END_LOST:
    case VQ_END_BAD_RESPONSE:
        if (ask != NULL) {
            retry(w, ask, pool, result, read->retry_after_ms);
        }
        break;
    case VQ_END_TOO_LONG:
        if (ask != NULL) {
            too_long(w, ask, result);
        }
        break;
    case VQ_END_BAD_REQUEST:
        if (ask != NULL) {
            settle(w, ask, result, VQ_OUTCOME_ERROR);
        }
        break;
    case VQ_END_BATCHED:
        if (ask != NULL) {
            vq_work_gathered(w, ask);
        }
        break;
    case VQ_END_UNKNOWN:
    case VQ_END_CANCELLED: /* only of calls that were in a batch */
    case VQ_END__COUNT: break;
    }
    vq_free(read->flight);
}
