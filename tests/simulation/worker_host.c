/* A worker's process: the real core, its clock, its keys, its spool, and what its shell would do
 * with each action. A kill may fall between any two actions. The spool outlives the process. */
#include "tests/simulation/sim.h"

#include "common/base/alloc.h"

#include <stdio.h>

#define DRIFT_MOST 100e-6               /* of a crystal */
#define GATHER_NS  (200 * VQ_NS_PER_US) /* a turn of the shell's loop */

int64_t sim_worker_clock(const struct sim *s, const struct sim_worker *w)
{
    return s->now_ns + w->skew_ns + (int64_t)(w->drift * (double)s->now_ns);
}

static int64_t time_of(const struct sim_worker *w, int64_t clock_ns)
{
    int64_t without_drift_ns = clock_ns - w->skew_ns;
    return w->drift == 0 ? without_drift_ns /* rounded up: not before it is due */
                         : (int64_t)((double)without_drift_ns / (1 + w->drift)) + 1;
}

void sim_worker_free(struct sim_worker *w)
{
    vq_work_destroy(&w->work);
    vq_batches_destroy(&w->batches);
    for (size_t i = 0; i < w->spool.count; i++) {
        vq_free(w->spool.records[i].encoded);
    }
    vq_free(w->spool.records);
    sim_map_free(&w->spool.by_call);
    w->spool = (struct sim_spool){0};
}

/* ---- the spool ---- */

static struct sim_spooled *spooled(struct sim_worker *w, const struct vq_id *call, bool create)
{
    struct vq_hash key = sim_key_id(call);
    uint64_t *at = sim_map_get(&w->spool.by_call, &key);
    if (at != NULL) {
        return &w->spool.records[*at];
    }
    if (!create) {
        return NULL;
    }
    void *records = w->spool.records;
    VQ_ASSERT(vq_grow(&records, &w->spool.cap, w->spool.count + 1, sizeof(*w->spool.records),
                      1u << 20) == VQ_OK);
    w->spool.records = records;
    sim_map_put(&w->spool.by_call, &key, w->spool.count);
    struct sim_spooled *record = &w->spool.records[w->spool.count++];
    *record = (struct sim_spooled){.call = *call};
    return record;
}

/* A change of it waits for the next write. */
static void note(struct sim_worker *w, struct sim_spooled *record)
{
    if (!record->noted) {
        record->noted = true;
        record->noted_before = w->spool.noted;
        w->spool.noted = (size_t)(record - w->spool.records) + 1;
    }
}

static void spool_sent(struct sim *s, struct sim_worker *w, const struct vq_work_call *call)
{
    struct sim_spooled *record = spooled(w, &call->id, true);
    record->sent = vq_work_call_sent(call);
    record->sent.pool = vq_span_str(s->pools[call->pool].name);
    record->sent.end = VQ_END_UNKNOWN;
    note(w, record);
}

static void spool_answer(struct sim *s, struct sim_worker *w, const struct vq_result *result)
{
    struct sim_spooled *record = spooled(w, &result->call, true);
    vq_buf_clear(&s->frame);
    VQ_ASSERT(vq_result_encode(result, &s->frame) == VQ_OK);
    vq_free(record->encoded);
    record->encoded = vq_strndup(s->frame.at, s->frame.bytes);
    record->encoded_bytes = s->frame.bytes;
    VQ_ASSERT(record->encoded != NULL);
    record->ended = result->end;
    record->acked = record->written_ack = false; /* a call of a batch has two results */
    note(w, record);
}

static void spool_write(struct sim *s, struct sim_worker *w)
{
    while (w->spool.noted != 0) {
        struct sim_spooled *record = &w->spool.records[w->spool.noted - 1];
        w->spool.noted = record->noted_before;
        record->noted = false;
        record->written_sent = true;
        record->written_answer = record->encoded != NULL;
        record->written_ack = record->acked;
        struct vq_hash key = sim_key_id(&record->call);
        const uint64_t *n = sim_map_get(&s->calls_by_id, &key);
        if (n != NULL && record->encoded != NULL && record->ended == VQ_END_ANSWER) {
            s->calls[*n].state = CALL_ANSWERED;
        }
    }
}

/* What a kill does to notes that were not written yet. Within a write the first of them are
 * there. */
static void spool_lose(struct sim *s, struct sim_worker *w)
{
    int64_t notes = 0;
    for (size_t n = w->spool.noted; n != 0; n = w->spool.records[n - 1].noted_before) {
        notes++;
    }
    bool torn = notes > 0 && sim_more(s, SIM_TORN);
    for (int64_t lost = torn ? sim_between(s, 0, notes) : notes; lost > 0; lost--) {
        struct sim_spooled *record = &w->spool.records[w->spool.noted - 1];
        w->spool.noted = record->noted_before;
        record->noted = false;
        if (torn && record->acked && !record->written_ack) {
            record->acked = false;
        }
        if (!record->written_answer) {
            vq_free(record->encoded);
            record->encoded = NULL;
        }
        record->acked = record->acked || !record->written_sent; /* as if it had never been there */
    }
    spool_write(s, w);
}

bool sim_spool_result(struct sim *s, const struct sim_worker *w, size_t n,
                      struct vq_result *ret_result)
{
    const struct sim_spooled *record = &w->spool.records[n];
    if (record->acked) {
        return false;
    }
    if (record->encoded == NULL) {
        *ret_result = record->sent;
        return true;
    }
    VQ_ASSERT(vq_result_decode(s->decoder, vq_span(record->encoded, record->encoded_bytes),
                               ret_result, NULL) == VQ_OK);
    return true;
}

/* ---- the end of a process ---- */

static void worker_end(struct sim *s, uint32_t i)
{
    struct sim_worker *w = &s->workers[i];
    vq_work_destroy(&w->work);
    vq_batches_destroy(&w->batches);
    w->takes = false;
    w->life++;
    w->paused_until_ns = 0;
    sim_disconnect(s, i);
    for (size_t n = 0; n < s->calls_count; n++) {
        struct sim_call *call = &s->calls[n];
        bool without_spool = call->state == CALL_ANSWERED && !w->has_spool &&
                             sim_store_row(&s->store, &call->id) == NULL;
        if (call->worker == i && (call->state == CALL_FLYING || without_spool)) {
            call->state = CALL_UNKNOWN;
        }
    }
    if (w->child) {
        sim_push(s, s->now_ns + sim_between(s, 1, 30) * VQ_NS_PER_MS, EV_REAPED, i, 0,
                 s->coord.life);
    }
    if (w->local < 0 && sim_may_spawn(s) && !s->coord.finished) {
        sim_push(s, s->now_ns + sim_spread(s, 2 * VQ_NS_PER_S), EV_SPAWN, UINT32_MAX, 0, 0);
    }
}

void sim_worker_kill(struct sim *s, uint32_t i)
{
    struct sim_worker *w = &s->workers[i];
    sim_say(s, "worker %u is killed", i);
    s->report->kills++;
    w->killed = true;
    spool_lose(s, w);
    worker_end(s, i);
}

/* ---- actions ---- */

static void answer_keys(struct sim *s, uint32_t i)
{
    struct sim_worker *w = &s->workers[i];
    uint64_t life = w->life;
    for (uint32_t p = 0; p < s->pools_count && w->work != NULL && w->life == life; p++) {
        uint64_t fingerprint = 1000 + p;
        struct vq_work_key key = {.pool = p,
                                  .state = w->bad_key[p] ? VQ_POOL_NO_KEY : VQ_POOL_OPEN,
                                  .keys = &fingerprint,
                                  .keys_count = w->bad_key[p] ? 0 : 1,
                                  .text = vq_span_str(w->bad_key[p] ? "no key here" : "")};
        struct vq_work_event event = {.type = VQ_WORK_KEY, .u.key = &key};
        sim_worker_step(s, i, &event);
    }
}

/* Carries one action out; false when the process ended with it. */
static bool act(struct sim *s, uint32_t i, struct vq_work_action *action, bool *ret_keys)
{
    struct sim_worker *w = &s->workers[i];
    struct sim_spooled *record;
    switch (action->type) {
    case VQ_WORK_SEND: sim_send_to_coord(s, i, &action->u.message); return true;
    case VQ_WORK_RECONNECT:
        sim_say(s, "worker %u connects anew", i);
        sim_disconnect(s, i);
        sim_connect(s, i, s->now_ns, true);
        return true;
    case VQ_WORK_KEYS: *ret_keys = true; return true;
    case VQ_WORK_SPOOL_SENT:
        if (!w->spool_failed) {
            spool_sent(s, w, &action->u.call);
        }
        return true;
    case VQ_WORK_CALL: /* a process that stood still since may be past its lease's term */
        if (w->spool_failed || sim_worker_clock(s, w) >= action->u.call.until_ns) {
            sim_push_bytes(s, s->now_ns, EV_REFUSED, i, !w->spool_failed, w->life,
                           vq_span((const char *)&action->u.call.id, sizeof(struct vq_id)));
            return true;
        }
        sim_check_call(s, i, &action->u.call);
        sim_call_start(s, i, &action->u.call);
        return true;
    case VQ_WORK_GATHER: sim_bulk_gather(s, i, &action->u.call); return true;
    case VQ_WORK_GATHERED:
        if (w->batches != NULL) {
            vq_batches_gathered(w->batches, &action->u.id, s->now_ns / VQ_NS_PER_MS);
        }
        return true;
    case VQ_WORK_BATCHES_RESTART:
        if (w->batches != NULL) {
            vq_batches_restart(w->batches, s->now_ns / VQ_NS_PER_MS);
        }
        return true;
    case VQ_WORK_COLLECT: sim_bulk_collect(s, i, action->u.collect); return true;
    case VQ_WORK_SPOOL_UNSENT:
    case VQ_WORK_SPOOL_ANSWER: spool_answer(s, w, action->u.result); return true;
    case VQ_WORK_SPOOL_WRITE:
        if (w->spool_full_until_ns > s->now_ns) {
            w->spool_failed = true;
        } else {
            spool_write(s, w);
        }
        return true;
    case VQ_WORK_SPOOL_ACKED:
        record = spooled(w, &action->u.id, false);
        if (record != NULL) {
            record->acked = true;
            note(w, record);
        }
        return true;
    case VQ_WORK_NOTE: sim_say(s, "worker %u: %s", i, action->u.note.text); return true;
    case VQ_WORK_EXIT:
        sim_say(s, "worker %u exits with %d", i, (int)action->u.exit_code);
        if ((action->u.exit_code == VQ_WORK_EXIT_FATAL && !w->spool_failed && !w->expelled) ||
            action->u.exit_code == VQ_WORK_EXIT_USAGE) {
            sim_fail(s, "worker %u exits with %d", i, (int)action->u.exit_code);
        }
        w->exited = true;
        worker_end(s, i);
        return false;
    }
    return true;
}

/* All actions there are; false when the process ended with one. */
static bool take_actions(struct sim *s, uint32_t i)
{
    struct sim_worker *w = &s->workers[i];
    struct vq_work_action action;
    bool keys = false;
    w->gathers = false;
    while (vq_work_next(w->work, &action)) {
        if (w->die_in >= 0 && w->die_in-- == 0) {
            sim_worker_kill(s, i);
            return false;
        }
        if (!act(s, i, &action, &keys)) {
            return false;
        }
    }
    uint64_t life = w->life;
    if (keys) {
        answer_keys(s, i);
    }
    if (w->life == life && w->spool_failed && !w->spool_said) {
        struct vq_work_event event = {.type = VQ_WORK_SPOOL_FAILED};
        w->spool_said = true;
        sim_say(s, "the spool of worker %u failed", i);
        sim_worker_step(s, i, &event);
    }
    return w->work != NULL && w->life == life;
}

void sim_worker_step(struct sim *s, uint32_t i, const struct vq_work_event *event)
{
    struct sim_worker *w = &s->workers[i];
    uint64_t life = w->life;
    bool reply = event->type == VQ_WORK_REPLY;
    if (w->gathers && !reply && (!take_actions(s, i) || w->life != life)) {
        return;
    }
    if (vq_work_step(w->work, sim_worker_clock(s, w), event) != VQ_OK) {
        sim_fail(s, "worker %u: step failed", i);
        return;
    }
    if (reply && s->options.small == NULL &&
        s->now_ns % 2 == 0) { /* one half of them is taken together with what comes next */
        w->gathers = true;
        sim_push(s, s->now_ns + GATHER_NS, EV_WORKER_TICK, i, 0, w->life);
        return;
    }
    if (!take_actions(s, i) || w->life != life) {
        return;
    }
    sim_bulk_take(s, i);
    if (w->work == NULL || w->life != life) {
        return;
    }
    int64_t wake_ns = vq_work_wake_ns(w->work);
    wake_ns = wake_ns == INT64_MAX ? INT64_MAX : time_of(w, wake_ns);
    if (wake_ns < w->wake_ns) {
        w->wake_ns = wake_ns <= s->now_ns ? s->now_ns + VQ_NS_PER_US : wake_ns;
        sim_push(s, w->wake_ns, EV_WORKER_TICK, i, 0, w->life);
    }
}

void sim_worker_frame(struct sim *s, uint32_t i, struct vq_span bytes)
{
    struct vq_msg msg;
    struct vq_error err = {""};
    if (vq_msg_decode(s->decoder, bytes, VQ_TO_WORKER, &msg, &err) != VQ_OK) {
        sim_fail(s, "worker %u cannot decode: %s", i, err.text);
        return;
    }
    sim_say(s, "worker %u hears %s", i, vq_msg_name(msg.type));
    struct vq_work_event event = {.type = VQ_WORK_MESSAGE, .u.message = &msg};
    bool grant = msg.type == VQ_MSG_GRANT;
    sim_worker_step(s, i, &event);
    if (grant && s->coord.core != NULL) {
        s->workers[i].granted_life = s->coord.life + 1;
        sim_check_slices(s);
    }
}

/* ---- the start of a process ---- */

/* Who left a spool on a remote machine that worker i, a new process there, finds; NULL: nobody. */
static struct sim_worker *find_spool(struct sim *s, uint32_t i)
{
    const struct sim_worker *w = &s->workers[i];
    for (uint32_t o = 0; w->local < 0 && w->has_spool && o < i; o++) {
        struct sim_worker *old = &s->workers[o];
        if (old->work == NULL && old->local < 0 && old->has_spool && old->spool.count > 0 &&
            !old->spool_lost) {
            return old;
        }
    }
    return NULL;
}

static void take_over(struct sim *s, struct sim_worker *w, struct sim_worker *old)
{
    for (size_t n = 0; n < old->spool.count; n++) {
        struct vq_result result;
        if (!sim_spool_result(s, old, n, &result)) {
            continue;
        }
        struct sim_spooled *record = spooled(w, &result.call, true);
        record->sent = old->spool.records[n].sent;
        if (old->spool.records[n].encoded != NULL) {
            spool_answer(s, w, &result);
            (void)sim_spool_result(s, old, n, &result);
        }
        struct vq_work_event event = {.type = VQ_WORK_SPOOLED, .u.result = &result};
        VQ_ASSERT(vq_work_step(w->work, sim_worker_clock(s, w), &event) == VQ_OK);
    }
    spool_write(s, w); /* it goes on in a file that holds just that */
    sim_worker_free(old);
}

bool sim_may_spawn(const struct sim *s)
{
    return s->workers_count < SIM_WORKERS_MAX - (s->healed ? 0 : SIM_WORKERS_KEPT);
}

bool sim_spawn_waits(struct sim *s, uint32_t local)
{
    struct vq_coord_status status;
    vq_coord_status_fill(s->coord.core, s->now_ns, &status);
    if (status.stage == VQ_COORD_DRAINING) {
        sim_push(s, s->now_ns + VQ_NS_PER_S, EV_SPAWN, local, 0, s->coord.life);
    }
    return status.stage == VQ_COORD_DRAINING;
}

void sim_worker_spawn(struct sim *s, int64_t local)
{
    if (s->workers_count == SIM_WORKERS_MAX) {
        return;
    }
    uint32_t i = s->workers_count++;
    struct sim_worker *w = &s->workers[i];
    char name[32];
    (void)snprintf(name, sizeof(name), "w%u", i);
    *w = (struct sim_worker){.local = local,
                             .life = 1,
                             .has_spool = s->healed || !sim_chance(s, s->knobs.no_spool),
                             .child = local >= 0,
                             .skew_ns = sim_between(s, 0, 1000) * VQ_NS_PER_S,
                             .wake_ns = INT64_MAX,
                             .silent_ns = -1,
                             .heard_ns = s->now_ns,
                             .spoke_ns = s->now_ns,
                             .die_in = -1};
    w->drift = sim_more(s, SIM_DRIFT) ? (vq_rng_unit(&s->more) - 0.5) * 2 * DRIFT_MOST : 0;
    uint64_t random = vq_rng_u64(&s->rng);
    memcpy(w->id.b, &random, sizeof(random));
    w->id.b[8] = (uint8_t)i;
    for (uint32_t p = 0; p < SIM_POOLS_MAX; p++) {
        w->bad_key[p] = !s->healed && sim_chance(s, s->knobs.revoke);
        w->revoked_ns[p] = INT64_MAX;
    }
    struct vq_work_options options = {.worker = w->id,
                                      .seed = vq_rng_u64(&s->rng),
                                      .name = name,
                                      .host = "sim",
                                      .software = "vibeq sim",
                                      .pid = i + 1,
                                      .local = local,
                                      .has_spool = w->has_spool,
                                      .backoff_ms = 100,
                                      .backoff_ms_max = 3000,
                                      .retry_after_ms_max = 5000};
    struct sim_worker *old = find_spool(s, i);
    if (old != NULL) {
        options.before = old->id;
    }
    VQ_ASSERT(vq_work_create(&options, &w->work) == VQ_OK);
    sim_bulk_start(s, i);
    sim_say(s, "worker %u starts (%s %lld, %s)", i, local >= 0 ? "local" : "remote",
            (long long)local, w->has_spool ? "spool" : "no spool");
    if (old != NULL) {
        take_over(s, w, old);
    }
    sim_connect(s, i, s->now_ns + sim_between(s, 1, 50) * VQ_NS_PER_MS, true);
}
