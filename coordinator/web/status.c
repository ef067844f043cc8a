/* Status as JSON. */
#include "common/base/sum.h"
#include "coordinator/web/status_parts.h"

#include "common/base/clock.h"

#include <math.h>

#define RATE_SIGMAS 2.0  /* of the number of tasks that were settled lately */
#define RATE_DRIFT  0.05 /* the change of the rate over time */

const char *vq_status_stage_name(enum vq_coord_stage stage)
{
    switch (stage) {
    case VQ_COORD_WAITING: return "waiting";
    case VQ_COORD_RUNNING: return "running";
    case VQ_COORD_PAUSED: return "paused";
    case VQ_COORD_HELD: return "held";
    case VQ_COORD_DRAINING: return "draining";
    case VQ_COORD_DONE: return "done";
    }
    return "?";
}

void vq_status_add(struct vq_status_totals *totals, const struct vq_coord_status *of)
{
    totals->commits += of->batches;
    totals->leases_lost += of->leases_lost;
    vq_sum_to(&totals->tokens_in, of->tokens_in);
    vq_sum_to(&totals->tokens_out, of->tokens_out);
    totals->messages_broken += of->broken;
    totals->from_store += of->all.from_store;
    totals->answers += of->all.ends[VQ_END_ANSWER];
    totals->other_session += of->dropped_session;
    totals->no_session += of->dropped_unknown;
    totals->no_room += of->dropped_full;
    totals->repeated += of->repeated;
    totals->late += of->late;
}

static uint64_t left(const struct vq_coord_status *s)
{
    return s->all.state[VQ_TASK_OPEN] + s->all.state[VQ_TASK_LEASED];
}

double vq_status_eta_s(const struct vq_coord_status *s)
{
    if (left(s) == 0) {
        return 0;
    }
    return s->settled_per_s > 0 ? (double)left(s) / s->settled_per_s : -1;
}

/* Open tasks that need a call, if the store has answers for the rest as often as for the tasks that
 * were looked up. */
static double left_at_least(const struct vq_coord_status *s)
{
    double scouted = s->shards == 0 ? 1 : (double)s->known_shards / (double)s->shards;
    double looked_up = scouted * (double)s->tasks;
    if (looked_up < 1 || s->all.from_store == 0) {
        return (double)left(s);
    }
    double share = fmin((double)s->all.from_store / looked_up, 1);
    return fmax((double)left(s) - share * ((double)s->tasks - looked_up), 0);
}

struct vq_status_eta vq_status_eta_range(const struct vq_coord_status *s)
{
    if (left(s) == 0) {
        return (struct vq_status_eta){0, 0};
    }
    if (s->settled_per_s <= 0 || s->settled_lately == 0) {
        return (struct vq_status_eta){-1, -1};
    }
    double apart = RATE_SIGMAS / sqrt((double)s->settled_lately) + RATE_DRIFT;
    struct vq_status_eta range = {left_at_least(s) / (s->settled_per_s * (1 + apart)), -1};
    if (apart < 1) {
        range.high_s = (double)left(s) / (s->settled_per_s * (1 - apart));
    }
    return range;
}

static double eta_s(const struct vq_status_facts *f, const struct vq_coord_status *s)
{
    return f->blocked && left(s) > 0 ? -1 : vq_status_eta_s(s);
}

static void counts(struct vq_json *j, const struct vq_coord_counts *c)
{
    vq_json_put_object(j, "tasks");
    for (int state = 0; state < VQ_TASK_STATES; state++) {
        vq_json_put_u64(j, vq_task_state_name((enum vq_task_states)state), c->state[state]);
    }
    vq_json_put_u64(j, "from_store", c->from_store);
    vq_json_object_end(j);
    vq_json_put_object(j, "outcomes");
    for (int o = 1; o < 256; o++) {
        if (c->outcome[o] > 0) {
            vq_json_put_u64(j, vq_outcome_name((enum vq_outcome)o), c->outcome[o]);
        }
    }
    vq_json_object_end(j);
    vq_json_put_object(j, "calls");
    vq_json_put_u64(j, "ended", c->calls);
    for (int end = 0; end < VQ_CALL_ENDS; end++) {
        vq_json_put_u64(j, vq_call_end_word((enum vq_call_end)end), c->ends[end]);
    }
    vq_json_object_end(j);
}

static void judges(struct vq_json *j, const struct vq_status_facts *f)
{
    vq_json_put_array(j, "judges");
    for (uint32_t i = 0; i < f->judges; i++) {
        struct vq_coord_judge_status judge;
        vq_coord_judge_fill(f->coord, i, f->now_ns, &judge);
        vq_json_object(j);
        vq_json_put_str(j, "name", judge.name);
        counts(j, &judge.counts);
        vq_json_put_u64(j, "ready_shards", judge.ready_shards);
        vq_json_put_u64(j, "leased_shards", judge.leased_shards);
        vq_json_put_str(j, "closed", judge.closed ? judge.closed_text : NULL);
        vq_json_object_end(j);
    }
    vq_json_array_end(j);
}

void vq_status_worker_fields(struct vq_json *j, const struct vq_status_facts *f,
                             const struct vq_coord_worker_status *w)
{
    vq_json_put_str(j, "name", w->name);
    vq_json_put_str(j, "host", w->host);
    vq_json_put_str(j, "software", w->software);
    vq_json_put_u64(j, "pid", w->pid);
    vq_json_put_bool(j, "local", w->local >= 0);
    vq_json_put_u64(j, "leases", w->leases);
    vq_json_put_u64(j, "tasks_held", w->tasks_held);
    vq_json_put_u64(j, "calls_out", w->calls_out);
    vq_json_put_u64(j, "results", w->results);
    vq_json_put_i64(j, "heard_ms_ago", (f->now_ns - w->heard_ns) / VQ_NS_PER_MS);
    vq_json_put_bool(j, "draining", w->draining);
    vq_json_put_str(j, "keys", w->keyless);
}

static void workers(struct vq_json *j, const struct vq_status_facts *f)
{
    vq_json_put_array(j, "workers");
    struct vq_coord_worker_status w;
    for (uint32_t i = 0; vq_coord_worker_fill(f->coord, i, &w); i++) {
        vq_json_object(j);
        vq_status_worker_fields(j, f, &w);
        vq_json_object_end(j);
    }
    vq_json_array_end(j);
}

/* Over all stages of this process. */
static void seen(struct vq_json *j, const struct vq_status_facts *f,
                 const struct vq_coord_status *s)
{
    struct vq_status_totals t = f->before;
    vq_status_add(&t, s);
    vq_json_put_object(j, "refused_messages");
    vq_json_put_u64(j, "unreadable", f->seen.unreadable);
    vq_json_put_u64(j, "broken", t.messages_broken);
    vq_json_put_u64(j, "other_session", t.other_session);
    vq_json_put_u64(j, "no_session", t.no_session);
    vq_json_object_end(j);
    vq_json_put_u64(j, "peers_refused", f->seen.peers_refused);
    vq_json_put_u64(j, "frames_dropped", f->seen.frames_dropped);
    vq_json_put_object(j, "odd_results");
    vq_json_put_u64(j, "repeated", t.repeated);
    vq_json_put_u64(j, "late", t.late);
    vq_json_put_u64(j, "foreign", f->seen.foreign);
    vq_json_put_u64(j, "no_room", t.no_room);
    vq_json_object_end(j);
    vq_json_put_object(j, "recovered");
    vq_json_put_u64(j, "redis_rebuilds", f->seen.redis_rebuilds);
    vq_json_put_u64(j, "spools", f->seen.spools);
    vq_json_put_u64(j, "spools_torn", f->seen.spools_torn);
    vq_json_put_u64(j, "spool_results", f->seen.spool_results);
    vq_json_put_u64(j, "spool_unknown", f->seen.spool_unknown);
    vq_json_object_end(j);
}

static void core_part(struct vq_json *j, const struct vq_status_facts *f)
{
    struct vq_coord_status s;
    vq_coord_status_fill(f->coord, f->now_ns, &s);
    vq_json_put_array(j, "stages_before");
    for (uint32_t i = 0; i < f->stages_before_count; i++) {
        vq_json_str(j, f->stages_before[i]);
    }
    vq_json_array_end(j);
    vq_json_put_array(j, "stages_after");
    for (uint32_t i = 0; i < f->stages_after_count; i++) {
        vq_json_str(j, f->stages_after[i]);
    }
    vq_json_array_end(j);
    vq_json_put_str(j, "stage", f->stage);
    vq_json_put_u64(j, "stage_no", f->stage_no);
    vq_json_put_str(j, "stage_state", vq_status_stage_name(s.stage));
    vq_json_put_u64(j, "tasks_total", s.tasks);
    counts(j, &s.all);
    vq_json_put_u64(j, "epoch", s.epoch);
    vq_json_put_u64(j, "commits", s.batches);
    vq_json_put_u64(j, "results_waiting", s.received);
    vq_json_put_u64(j, "shards", s.shards);
    vq_json_put_u64(j, "shards_scouted", s.scouted_shards);
    vq_json_put_u64(j, "shards_ready", s.ready_shards);
    vq_json_put_u64(j, "shards_leased", s.leased_shards);
    vq_json_put_u64(j, "calls_out", s.calls_reserved - s.held_back);
    vq_json_put_u64(j, "in_batches", s.batched);
    vq_json_put_u64(j, "leases_lost", s.leases_lost);
    vq_json_put_real(j, "calls_per_s", s.calls_per_s, 4);
    vq_json_put_real(j, "settled_per_s", s.settled_per_s, 4);
    double eta = eta_s(f, &s);
    struct vq_status_eta range = vq_status_eta_range(&s);
    bool none = eta < 0; /* no call may be sent now, or nothing is known */
    vq_json_put_real(j, "eta_s", none ? NAN : eta, 4);
    vq_json_put_real(j, "eta_low_s", none || range.low_s < 0 ? NAN : range.low_s, 4);
    vq_json_put_real(j, "eta_high_s", none || range.high_s < 0 ? NAN : range.high_s, 4);
    vq_json_put_u64(j, "tokens_in", s.tokens_in);
    vq_json_put_u64(j, "tokens_out", s.tokens_out);
    seen(j, f, &s);
    judges(j, f);
    workers(j, f);
    vq_status_pools(j, f);
}

const char *vq_status_deadline_word(enum vq_status_deadline_state state)
{
    switch (state) {
    case VQ_DEADLINE_STATE_UNKNOWN: return "unknown";
    case VQ_DEADLINE_STATE_BATCHES: return "batches";
    case VQ_DEADLINE_STATE_INTERACTIVE: return "interactive";
    case VQ_DEADLINE_STATE_LATE: return "late";
    case VQ_DEADLINE_STATE_PASSED: return "passed";
    }
    return "?";
}

static void put_time(struct vq_json *j, const char *key, int64_t unix_s)
{
    vq_json_put_known(j, key, unix_s != 0, unix_s * 1000);
}

static void deadline(struct vq_json *j, const struct vq_status_deadline *d)
{
    vq_json_key(j, "deadline");
    if (d == NULL || d->unix_s == 0) {
        vq_json_null(j);
        return;
    }
    vq_json_object(j);
    put_time(j, "unix_ms", d->unix_s);
    vq_json_put_str(j, "state", vq_status_deadline_word(d->state));
    put_time(j, "ends_unix_ms", d->ends_unix_s);
    put_time(j, "batches_until_unix_ms", d->batches_until_unix_s);
    vq_json_object_end(j);
}

/* The obstacles of the run, in addition to its state. */
static void incidents(struct vq_json *j, const struct vq_status_facts *f)
{
    vq_json_put_known(j, "held_since_unix_ms", f->held_since_unix_ms != 0, f->held_since_unix_ms);
    vq_json_key(j, "alarm");
    if (f->brake_since_unix_ms != 0) {
        vq_json_object(j);
        vq_json_put_str(j, "kind", "brake");
        vq_json_put_i64(j, "since_unix_ms", f->brake_since_unix_ms);
        vq_json_put_str(j, "text", f->brake_text);
        vq_json_object_end(j);
        return;
    }
    if (f->alarm_since_unix_ms == 0) {
        vq_status_slow_alarm(j, f);
        return;
    }
    vq_json_object(j);
    vq_json_put_str(j, "kind", "idle");
    vq_json_put_i64(j, "since_unix_ms", f->alarm_since_unix_ms);
    vq_json_put_u64(j, "idle_s", f->alarm_idle_s);
    vq_json_object_end(j);
}

void vq_status_json(const struct vq_status_facts *f, struct vq_buf *out)
{
    struct vq_json json;
    struct vq_json *j = &json;
    vq_json_open(j, out, 2);
    vq_json_put_u64(j, "format", 1);
    vq_json_put_str(j, "run", f->run);
    vq_json_put_str(j, "uid", f->uid_hex);
    vq_json_put_str(j, "state", f->state);
    vq_json_put_str(j, "note", f->note);
    vq_json_put_i64(j, "started_unix_ms", f->started_unix_ms);
    vq_json_put_i64(j, "written_unix_ms", f->now_unix_ms);
    vq_json_put_str(j, "redis", f->redis);
    incidents(j, f);
    deadline(j, f->deadline);
    if (f->coord != NULL) {
        core_part(j, f);
    }
    vq_json_close(j);
}
