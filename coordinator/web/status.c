/* Status as JSON and as Prometheus text, from the same counts, so that the two never disagree.
 * Names of metrics are part of the public interface: docs/use/metrics.md lists them. */
#include "common/base/sum.h"
#include "coordinator/web/status_parts.h"

#include "common/base/clock.h"

#include <math.h>

#define RATE_SIGMAS 2.0  /* of the number of tasks that were settled lately */
#define RATE_DRIFT  0.05 /* how much the rate changes by itself */

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

/* Tasks that are open and need a call, if the store has of the rest what it had of those that were
 * looked up. */
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
    return f->stands && left(s) > 0 ? -1 : vq_status_eta_s(s);
}

static void counts(struct vq_json *j, const struct vq_coord_counts *c)
{
    vq_json_key(j, "tasks");
    vq_json_object(j);
    for (int state = 0; state < VQ_TASK_STATES; state++) {
        vq_json_put_u64(j, vq_task_state_name((enum vq_task_states)state), c->state[state]);
    }
    vq_json_put_u64(j, "from_store", c->from_store);
    vq_json_object_end(j);
    vq_json_key(j, "outcomes");
    vq_json_object(j);
    for (int o = 1; o < 256; o++) {
        if (c->outcome[o] > 0) {
            vq_json_put_u64(j, vq_outcome_name((enum vq_outcome)o), c->outcome[o]);
        }
    }
    vq_json_object_end(j);
    vq_json_key(j, "calls");
    vq_json_object(j);
    vq_json_put_u64(j, "ended", c->calls);
    for (int end = 0; end < VQ_END__COUNT; end++) {
        vq_json_put_u64(j, vq_call_end_word((enum vq_call_end)end), c->ends[end]);
    }
    vq_json_object_end(j);
}

static void judges(struct vq_json *j, const struct vq_status_facts *f)
{
    vq_json_key(j, "judges");
    vq_json_array(j);
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
    vq_json_key(j, "workers");
    vq_json_array(j);
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
    vq_json_key(j, "refused_messages");
    vq_json_object(j);
    vq_json_put_u64(j, "unreadable", f->seen.unreadable);
    vq_json_put_u64(j, "broken", t.messages_broken);
    vq_json_put_u64(j, "other_session", t.other_session);
    vq_json_put_u64(j, "no_session", t.no_session);
    vq_json_object_end(j);
    vq_json_put_u64(j, "peers_refused", f->seen.peers_refused);
    vq_json_put_u64(j, "frames_dropped", f->seen.frames_dropped);
    vq_json_key(j, "odd_results");
    vq_json_object(j);
    vq_json_put_u64(j, "repeated", t.repeated);
    vq_json_put_u64(j, "late", t.late);
    vq_json_put_u64(j, "foreign", f->seen.foreign);
    vq_json_put_u64(j, "no_room", t.no_room);
    vq_json_object_end(j);
    vq_json_key(j, "recovered");
    vq_json_object(j);
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
    vq_json_put_u64(j, "leases_lost", s.leases_lost);
    vq_json_put_real(j, "calls_per_s", s.calls_per_s, 4);
    vq_json_put_real(j, "settled_per_s", s.settled_per_s, 4);
    double eta = eta_s(f, &s);
    struct vq_status_eta range = vq_status_eta_range(&s);
    bool none = eta < 0; /* nothing may be asked now, or nothing is known */
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

/* What keeps it from going on, besides what its state says. */
static void incidents(struct vq_json *j, const struct vq_status_facts *f)
{
    vq_json_key(j, "held_since_unix_ms");
    if (f->held_since_unix_ms == 0) {
        vq_json_null(j);
    } else {
        vq_json_i64(j, f->held_since_unix_ms);
    }
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
    vq_json_init(j, out, 2);
    vq_json_object(j);
    vq_json_put_u64(j, "format", 1);
    vq_json_put_str(j, "run", f->run);
    vq_json_put_str(j, "uid", f->uid_hex);
    vq_json_put_str(j, "state", f->state);
    vq_json_put_str(j, "note", f->note);
    vq_json_put_i64(j, "started_unix_ms", f->started_unix_ms);
    vq_json_put_i64(j, "written_unix_ms", f->now_unix_ms);
    vq_json_put_str(j, "redis", f->redis);
    incidents(j, f);
    if (f->coord != NULL) {
        core_part(j, f);
    }
    vq_json_object_end(j);
    vq_buf_putc(out, '\n');
}

void vq_status_head(struct vq_buf *out, const char *name, const char *type, const char *help)
{
    vq_buf_printf(out, "# HELP vibeq_%s %s\n# TYPE vibeq_%s %s\n", name, help, name, type);
}

void vq_status_label(struct vq_buf *out, const char *value)
{
    vq_buf_putc(out, '"');
    for (const char *at = value; *at != '\0'; at++) {
        if (*at == '"' || *at == '\\') {
            vq_buf_putc(out, '\\');
        }
        if (*at == '\n') {
            vq_buf_puts(out, "\\n");
        } else {
            vq_buf_putc(out, *at);
        }
    }
    vq_buf_putc(out, '"');
}

void vq_status_gauge(struct vq_buf *out, const char *name, const char *help, double value)
{
    vq_status_head(out, name, "gauge", help);
    char number[VQ_REAL_BYTES];
    vq_real_text(value, 15, number);
    vq_buf_printf(out, "vibeq_%s %s\n", name, number);
}

static void counter(struct vq_buf *out, const char *name, const char *help, uint64_t value)
{
    vq_status_head(out, name, "counter", help);
    vq_buf_printf(out, "vibeq_%s %llu\n", name, (unsigned long long)value);
}

static void judge_metrics(const struct vq_status_facts *f, struct vq_buf *out)
{
    vq_status_head(out, "tasks", "gauge", "Tasks of the stage by judge and state.");
    for (uint32_t i = 0; i < f->judges; i++) {
        struct vq_coord_judge_status judge;
        vq_coord_judge_fill(f->coord, i, f->now_ns, &judge);
        for (int state = 0; state < VQ_TASK_STATES; state++) {
            vq_buf_puts(out, "vibeq_tasks{stage=");
            vq_status_label(out, f->stage);
            vq_buf_puts(out, ",judge=");
            vq_status_label(out, judge.name);
            vq_buf_printf(out, ",state=\"%s\"} %llu\n",
                          vq_task_state_name((enum vq_task_states)state),
                          (unsigned long long)judge.counts.state[state]);
        }
    }
    vq_status_head(out, "calls_total", "counter",
                   "Calls of the stage by judge and how they ended.");
    for (uint32_t i = 0; i < f->judges; i++) {
        struct vq_coord_judge_status judge;
        vq_coord_judge_fill(f->coord, i, f->now_ns, &judge);
        for (int end = 0; end < VQ_END__COUNT; end++) {
            vq_buf_puts(out, "vibeq_calls_total{stage=");
            vq_status_label(out, f->stage);
            vq_buf_puts(out, ",judge=");
            vq_status_label(out, judge.name);
            vq_buf_printf(out, ",end=\"%s\"} %llu\n", vq_call_end_word((enum vq_call_end)end),
                          (unsigned long long)judge.counts.ends[end]);
        }
    }
}

static void worker_metrics(const struct vq_status_facts *f, struct vq_buf *out)
{
    vq_status_head(out, "worker_tasks_held", "gauge", "Tasks leased to a worker.");
    struct vq_coord_worker_status w;
    for (uint32_t i = 0; vq_coord_worker_fill(f->coord, i, &w); i++) {
        vq_buf_puts(out, "vibeq_worker_tasks_held{worker=");
        vq_status_label(out, w.name);
        vq_buf_printf(out, "} %llu\n", (unsigned long long)w.tasks_held);
    }
}

static void labelled(struct vq_buf *out, const char *name, const char *label, const char *value,
                     uint64_t count)
{
    vq_buf_printf(out, "vibeq_%s{%s=\"%s\"} %llu\n", name, label, value, (unsigned long long)count);
}

static void seen_metrics(const struct vq_status_totals *t, const struct vq_status_seen *seen,
                         struct vq_buf *out)
{
    vq_status_head(out, "messages_refused_total", "counter",
                   "Messages that were not taken, by reason.");
    labelled(out, "messages_refused_total", "why", "unreadable", seen->unreadable);
    labelled(out, "messages_refused_total", "why", "broken", t->messages_broken);
    labelled(out, "messages_refused_total", "why", "other_session", t->other_session);
    labelled(out, "messages_refused_total", "why", "no_session", t->no_session);
    counter(out, "peers_refused_total", "Handshakes with a key that nobody approved.",
            seen->peers_refused);
    counter(out, "frames_dropped_total",
            "Frames of peers that named themselves, or to peers that were gone.",
            seen->frames_dropped);
    vq_status_head(out, "results_odd_total", "counter",
                   "Results that came again, late, for no task, or found no room.");
    labelled(out, "results_odd_total", "what", "repeated", t->repeated);
    labelled(out, "results_odd_total", "what", "late", t->late);
    labelled(out, "results_odd_total", "what", "foreign", seen->foreign);
    labelled(out, "results_odd_total", "what", "no_room", t->no_room);
    counter(out, "redis_rebuilds_total", "Times that Redis was filled anew from the store.",
            seen->redis_rebuilds);
    counter(out, "spools_read_total", "Spools of dead workers that were read.", seen->spools);
    counter(out, "spools_torn_total", "Of them, with a record cut short at the end.",
            seen->spools_torn);
}

void vq_status_metrics(const struct vq_status_facts *f, struct vq_buf *out)
{
    vq_status_gauge(out, "redis_up", "1 when the run's columns in Redis are level with the store.",
                    strcmp(f->redis, "up") == 0);
    vq_status_gauge(out, "loop_busy_max_seconds",
                    "Longest turn of the event loop since the last read.",
                    (double)f->loop_busy_ns_max / 1e9);
    vq_status_gauge(out, "held", "1 while the run is paused by hand.", f->held_since_unix_ms != 0);
    vq_status_gauge(out, "alarm_idle",
                    "1 while nothing was answered for alarm.idle_s with tasks open.",
                    f->alarm_since_unix_ms != 0);
    vq_status_gauge(out, "alarm_brake",
                    "1 when the first calls of a judge all failed the same way.",
                    f->brake_since_unix_ms != 0);
    if (f->coord == NULL) {
        return;
    }
    struct vq_coord_status s;
    vq_coord_status_fill(f->coord, f->now_ns, &s);
    judge_metrics(f, out);
    worker_metrics(f, out);
    vq_status_pool_metrics(f, out);
    vq_status_gauge(out, "workers", "Workers in a session.", s.sessions);
    vq_status_gauge(out, "shards_ready", "Shards that wait for a worker.", (double)s.ready_shards);
    vq_status_gauge(out, "shards_leased", "Shards that a worker holds.", (double)s.leased_shards);
    vq_status_gauge(out, "calls_per_second", "Calls ended, over the last minute.", s.calls_per_s);
    vq_status_gauge(out, "eta_seconds",
                    "Until the open tasks are settled at the present rate; -1: unknown.",
                    eta_s(f, &s));
    struct vq_status_totals t = f->before;
    vq_status_add(&t, &s);
    counter(out, "commits_total", "Batches committed by this process.", t.commits);
    counter(out, "leases_lost_total", "Leases that ended with their worker.", t.leases_lost);
    counter(out, "tokens_in_total", "Input tokens that providers reported.", t.tokens_in);
    counter(out, "tokens_out_total", "Output tokens that providers reported.", t.tokens_out);
    counter(out, "messages_broken_total", "Messages of workers that broke a rule.",
            t.messages_broken);
    counter(out, "from_store_total", "Tasks settled by answers that were stored before.",
            t.from_store);
    seen_metrics(&t, &f->seen, out);
}
