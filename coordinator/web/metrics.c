/* Invariants: every sample has the label `run`. The samples of a family follow its head. An unknown
 * number has no sample. Names, types and labels are part of the public interface. */
#include "coordinator/web/metrics.h"

#include "common/base/clock.h"
#include "common/text/json.h"
#include "coordinator/pools/incidents.h"
#include "coordinator/web/wanted.h"

#include <math.h>
#include <string.h>

#define MINUTE_S    60.0
#define OTHER_POOLS "(other)" /* calls of pools that are no longer in the configuration */

struct label {
    const char *name, *value;
};

struct writer {
    const struct vq_metrics_facts *facts;
    const struct vq_status_facts *f;
    struct vq_buf *out;
};

/* ---- lines ---- */

static void head(struct writer *w, const char *name, const char *type, const char *help)
{
    vq_buf_printf(w->out, "# HELP vibeq_%s %s\n# TYPE vibeq_%s %s\n", name, help, name, type);
}

static void put_value(struct vq_buf *out, const char *value)
{
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
}

static void put(struct writer *w, const char *name, const struct label *labels, size_t count,
                double value)
{
    char number[VQ_REAL_BYTES];
    vq_buf_printf(w->out, "vibeq_%s{run=\"", name);
    put_value(w->out, w->f->run);
    for (size_t i = 0; i < count; i++) {
        vq_buf_printf(w->out, "\",%s=\"", labels[i].name);
        put_value(w->out, labels[i].value);
    }
    vq_real_text(value, 15, number);
    vq_buf_printf(w->out, "\"} %s\n", number);
}

static void gauge(struct writer *w, const char *name, const char *help, double value)
{
    head(w, name, "gauge", help);
    put(w, name, NULL, 0, value);
}

/* ---- tasks and workers ---- */

static void put_tasks(struct writer *w)
{
    head(w, "tasks", "gauge", "Tasks of the present stage by judge and state.");
    for (uint32_t i = 0; i < w->f->judges; i++) {
        struct vq_coord_judge_status judge;
        vq_coord_judge_fill(w->f->coord, i, w->f->now_ns, &judge);
        for (int state = 0; state < VQ_TASK_STATES; state++) {
            const struct label labels[] = {
                {"stage", w->f->stage},
                {"judge", judge.name},
                {"state", vq_task_state_name((enum vq_task_states)state)}};
            put(w, "tasks", labels, VQ_COUNT(labels), (double)judge.counts.state[state]);
        }
    }
}

static void put_workers(struct writer *w)
{
    static const char *const names[][2] = {
        {"worker_tasks", "Tasks that are leased to a worker."},
        {"worker_calls_in_flight", "Calls in flight that the worker last reported."},
        {"worker_heard_timestamp_seconds", "Time of the last message from the worker."},
    };
    for (size_t m = 0; m < VQ_COUNT(names); m++) {
        struct vq_coord_worker_status s;
        head(w, names[m][0], "gauge", names[m][1]);
        for (uint32_t i = 0; vq_coord_worker_fill(w->f->coord, i, &s); i++) {
            double ago_s = (double)(w->f->now_ns - s.heard_ns) / (double)VQ_NS_PER_S;
            const double values[] = {(double)s.tasks_held, s.in_flight,
                                     (double)w->f->now_unix_ms / 1000 - ago_s};
            put(w, names[m][0], &(struct label){"worker", s.name}, 1, values[m]);
        }
    }
}

/* ---- pools ---- */

/* By enum vq_rate. */
static const char *const rate_kinds[VQ_RATE__COUNT] = {
    [VQ_RATE_INPUT] = "input", [VQ_RATE_OUTPUT] = "output", [VQ_RATE_TOKENS] = "any"};

static void put_rates(struct writer *w, const char *name, bool limits, bool tokens,
                      const struct vq_authority_pool_status *s)
{
    for (int r = 0; r < VQ_RATE__COUNT; r++) {
        double most = s->limit.rates.of[r];
        double value = limits ? most : vq_status_used(s, (enum vq_rate)r);
        const struct label labels[] = {{"pool", s->name}, {"kind", rate_kinds[r]}};
        if ((r != VQ_RATE_REQUESTS) == tokens && (!limits || most > 0)) {
            put(w, name, labels, tokens ? 2 : 1, value / MINUTE_S);
        }
    }
}

enum pool_family {
    POOL_STATE,
    POOL_LIMITED,
    POOL_SLOW,
    POOL_CALLS,
    POOL_WAITING,
    POOL_CALLS_LIMIT,
    POOL_REQUESTS,
    POOL_REQUESTS_LIMIT,
    POOL_TOKENS,
    POOL_TOKENS_LIMIT,
    POOL_FAMILIES
};

static const char *const pool_families[POOL_FAMILIES][2] = {
    [POOL_STATE] = {"pool_state", "1 for the state that the pool is in."},
    [POOL_LIMITED] = {"pool_limited", "1 for what limits the pool now."},
    [POOL_SLOW] = {"pool_slow",
                   "1 while the pool runs under a quarter of its configured rate for alarm.slow_s, "
                   "with work waiting and hardly a refusal."},
    [POOL_CALLS] = {"pool_calls_in_flight", "Calls in flight, as the workers last reported."},
    [POOL_WAITING] = {"pool_calls_waiting", "Calls that wait in a worker for the pool's limits."},
    [POOL_CALLS_LIMIT] = {"pool_calls_in_flight_limit",
                          "Limit in force; no sample if it is unknown."},
    [POOL_REQUESTS] = {"pool_requests_per_second", "Requests, over the last window."},
    [POOL_REQUESTS_LIMIT] = {"pool_requests_per_second_limit",
                             "Limit in force; no sample if it is unknown."},
    [POOL_TOKENS] = {"pool_tokens_per_second", "Tokens by kind, over the last window."},
    [POOL_TOKENS_LIMIT] = {"pool_tokens_per_second_limit",
                           "Limit in force by kind; no sample if it is unknown."},
};

static void put_pool(struct writer *w, enum pool_family family, uint32_t p,
                     const struct vq_authority_pool_status *s)
{
    const char *name = pool_families[family][0];
    struct label labels[2] = {{"pool", s->name}, {NULL, NULL}};
    switch (family) {
    case POOL_STATE:
        labels[1] = (struct label){"state", vq_authority_state_word(s->state)};
        put(w, name, labels, 2, 1);
        break;
    case POOL_LIMITED:
        labels[1] = (struct label){"by", vq_limited_word(vq_limited_of(s).by)};
        put(w, name, labels, 2, 1);
        break;
    case POOL_SLOW: put(w, name, labels, 1, w->f->slow != NULL && w->f->slow[p].raised); break;
    case POOL_CALLS: put(w, name, labels, 1, s->in_flight); break;
    case POOL_WAITING: put(w, name, labels, 1, s->waiting); break;
    case POOL_CALLS_LIMIT:
        if (s->limit.concurrency > 0) {
            put(w, name, labels, 1, s->limit.concurrency);
        }
        break;
    case POOL_REQUESTS:
    case POOL_REQUESTS_LIMIT: put_rates(w, name, family == POOL_REQUESTS_LIMIT, false, s); break;
    case POOL_TOKENS:
    case POOL_TOKENS_LIMIT: put_rates(w, name, family == POOL_TOKENS_LIMIT, true, s); break;
    case POOL_FAMILIES: break;
    }
}

static bool is_idle(const struct writer *w, uint32_t p)
{
    return w->f->idle != NULL && w->f->idle[p];
}

static void put_pools(struct writer *w)
{
    for (int family = 0; family < POOL_FAMILIES; family++) {
        head(w, pool_families[family][0], "gauge", pool_families[family][1]);
        for (uint32_t p = 0; p < vq_authority_pools(w->f->authority); p++) {
            struct vq_authority_pool_status s;
            if (!is_idle(w, p)) {
                vq_authority_status(w->f->authority, p, w->f->now_ns, &s);
                put_pool(w, (enum pool_family)family, p, &s);
            }
        }
    }
}

static double dollars(uint64_t nano)
{
    return (double)nano / VQ_NANO_PER_USD;
}

static void put_money(struct writer *w)
{
    struct vq_authority_money money;
    vq_authority_money(w->f->authority, &money);
    gauge(w, "spent_dollars", "Price of the calls of the run, as the budget counts it.",
          dollars(money.spent_nano));
    bool over = strcmp(w->f->state, "finished") == 0; /* advances are not spent any more */
    gauge(w, "reserved_dollars", "Price that calls in flight and advances may reach.",
          over ? 0 : dollars(money.out_nano));
    if (money.budget_nano != VQ_AMOUNT_ANY) {
        gauge(w, "budget_dollars", "The most that the run may cost.", dollars(money.budget_nano));
    }
}

/* ---- calls ---- */

static void put_histogram(struct writer *w, const char *pool, const struct vq_tally_pool *p)
{
    uint64_t up_to = 0;
    for (size_t b = 0; b <= VQ_TALLY_BUCKETS; b++) {
        char bound[VQ_REAL_BYTES] = "+Inf";
        if (b < VQ_TALLY_BUCKETS) {
            vq_real_text(vq_tally_bounds_ms[b] / 1000.0, 6, bound);
        }
        up_to += p->buckets[b];
        const struct label labels[] = {{"pool", pool}, {"le", bound}};
        put(w, "call_duration_seconds_bucket", labels, 2, (double)up_to);
    }
    const struct label label = {"pool", pool};
    put(w, "call_duration_seconds_sum", &label, 1, (double)p->timed_ms / 1000);
    put(w, "call_duration_seconds_count", &label, 1, (double)p->timed);
}

enum call_family {
    CALL_ENDS,
    CALL_DURATION,
    CALL_INPUT,
    CALL_CACHED,
    CALL_OUTPUT,
    CALL_COST,
    CALL_FAMILIES
};

static const char *const call_families[CALL_FAMILIES][3] = {
    [CALL_ENDS] = {"calls_total", "counter", "Calls of the run that ended, by pool and end."},
    [CALL_DURATION] = {"call_duration_seconds", "histogram",
                       "Duration of the calls that were sent and ended."},
    [CALL_INPUT] = {"input_tokens_total", "counter", "Input tokens that providers reported."},
    [CALL_CACHED] = {"cached_input_tokens_total", "counter",
                     "Of the input tokens, those that a provider read from its cache."},
    [CALL_OUTPUT] = {"output_tokens_total", "counter", "Output tokens that providers reported."},
    [CALL_COST] = {"cost_dollars_total", "counter", "Price of the calls, by the pools' prices."},
};

static void put_call_family(struct writer *w, enum call_family family, const char *pool,
                            const struct vq_tally_pool *p)
{
    const char *name = call_families[family][0];
    struct label labels[2] = {{"pool", pool}, {"end", NULL}};
    const double sums[CALL_FAMILIES] = {[CALL_INPUT] = (double)p->tokens_in,
                                        [CALL_CACHED] = (double)p->tokens_cached,
                                        [CALL_OUTPUT] = (double)p->tokens_out,
                                        [CALL_COST] = dollars(p->cost_nano)};
    if (family == CALL_ENDS) {
        for (int end = 0; end < VQ_CALL_ENDS; end++) {
            labels[1].value = vq_call_end_word((enum vq_call_end)end);
            put(w, name, labels, 2, (double)p->ends[end]);
        }
    } else if (family == CALL_DURATION) {
        put_histogram(w, pool, p);
    } else {
        put(w, name, labels, 1, sums[family]);
    }
}

static bool any_call(const struct vq_tally_pool *p)
{
    uint64_t calls = 0;
    for (int end = 0; end < VQ_CALL_ENDS; end++) {
        calls += p->ends[end];
    }
    return calls > 0;
}

static void put_calls(struct writer *w)
{
    const struct vq_call_tally *t = w->facts->calls;
    for (int family = 0; family < CALL_FAMILIES; family++) {
        head(w, call_families[family][0], call_families[family][1], call_families[family][2]);
        for (uint32_t p = 0; p <= t->pools; p++) {
            bool other = p == t->pools;
            if (other ? any_call(&t->pool[p]) : !is_idle(w, p) || any_call(&t->pool[p])) {
                put_call_family(w, (enum call_family)family,
                                other ? OTHER_POOLS : vq_authority_pool_name(w->f->authority, p),
                                &t->pool[p]);
            }
        }
    }
}

/* ---- counters of events ---- */

static const struct {
    const char *metric, *label, *value, *help, *key;
} counters[VQ_COUNTER__COUNT] = {
#define VQ_COUNTER_ROW(name, metric, label, value, help)                                           \
    [VQ_COUNTER_##name] = {metric, label, value, help, metric "." value},
    VQ_COUNTERS(VQ_COUNTER_ROW)
#undef VQ_COUNTER_ROW
};

const char *vq_counter_key(enum vq_counter counter)
{
    return counters[counter].label[0] == '\0' ? counters[counter].metric : counters[counter].key;
}

void vq_counters_of(const struct vq_status_facts *f, struct vq_counters *ret_counters)
{
    struct vq_status_totals t = f->before;
    if (f->coord != NULL) {
        struct vq_coord_status s;
        vq_coord_status_fill(f->coord, f->now_ns, &s);
        vq_status_add(&t, &s);
    }
    *ret_counters =
        (struct vq_counters){{[VQ_COUNTER_COMMITS] = t.commits,
                              [VQ_COUNTER_LEASES_LOST] = t.leases_lost,
                              [VQ_COUNTER_UNREADABLE] = f->seen.unreadable,
                              [VQ_COUNTER_BROKEN] = t.messages_broken,
                              [VQ_COUNTER_OTHER_SESSION] = t.other_session,
                              [VQ_COUNTER_NO_SESSION] = t.no_session,
                              [VQ_COUNTER_PEERS_REFUSED] = f->seen.peers_refused,
                              [VQ_COUNTER_FRAMES_DROPPED] = f->seen.frames_dropped,
                              [VQ_COUNTER_REPEATED] = t.repeated,
                              [VQ_COUNTER_LATE] = t.late,
                              [VQ_COUNTER_FOREIGN] = f->seen.foreign,
                              [VQ_COUNTER_NO_ROOM] = t.no_room,
                              [VQ_COUNTER_REDIS_REBUILDS] = f->seen.redis_rebuilds,
                              [VQ_COUNTER_SPOOLS] = f->seen.spools,
                              [VQ_COUNTER_SPOOLS_TORN] = f->seen.spools_torn,
                              [VQ_COUNTER_BATCHES_CANCELLED] = f->seen.batches_cancelled}};
}

static void put_counters(struct writer *w)
{
    for (int c = 0; c < VQ_COUNTER__COUNT; c++) {
        if (c == 0 || strcmp(counters[c].metric, counters[c - 1].metric) != 0) {
            head(w, counters[c].metric, "counter", counters[c].help);
        }
        const struct label label = {counters[c].label, counters[c].value};
        put(w, counters[c].metric, &label, label.name[0] == '\0' ? 0 : 1,
            (double)w->facts->counters->n[c]);
    }
}

/* ---- the deadline ---- */

static void put_deadline(struct writer *w)
{
    const struct vq_status_deadline *d = w->f->deadline;
    bool any = d != NULL && d->unix_s != 0;
    double now_s = (double)w->f->now_unix_ms / 1000;
    head(w, "deadline_seconds", "gauge",
         "Time until the deadline, negative after it; no sample without a deadline.");
    if (any) {
        put(w, "deadline_seconds", NULL, 0, (double)d->unix_s - now_s);
    }
    head(w, "deadline_end_seconds", "gauge",
         "Time until the run is expected to be over; no sample if it is unknown.");
    if (any && d->ends_unix_s != 0) {
        put(w, "deadline_end_seconds", NULL, 0, (double)d->ends_unix_s - now_s);
    }
    head(w, "deadline_met", "gauge",
         "1 if the deadline is expected to be met, 0 if not; no sample if it is unknown.");
    if (any && d->state != VQ_DEADLINE_STATE_UNKNOWN) {
        put(w, "deadline_met", NULL, 0,
            d->state == VQ_DEADLINE_STATE_BATCHES || d->state == VQ_DEADLINE_STATE_INTERACTIVE);
    }
}

/* ---- all ---- */

/* The room of each pool; a pool that takes no calls has none. */
static void fill_room(const struct vq_metrics_facts *facts, double room[VQ_POOLS_MAX])
{
    const struct vq_status_facts *f = facts->status;
    for (uint32_t p = 0; p < vq_authority_pools(f->authority); p++) {
        struct vq_authority_pool_status pool;
        const struct vq_tally_pool *t = &facts->calls->pool[p];
        vq_authority_status(f->authority, p, f->now_ns, &pool);
        double calls = t->timed > 0 ? (double)t->timed : 1;
        double answers = t->ends[VQ_END_ANSWER] > 0 ? (double)t->ends[VQ_END_ANSWER] : 1;
        bool open = pool.state == VQ_AUTHORITY_OPEN || pool.state == VQ_AUTHORITY_PAUSED ||
                    pool.state == VQ_AUTHORITY_NOBODY;
        room[p] = open ? vq_wanted_room(&(struct vq_wanted_pool){
                             .limit = pool.limit,
                             .call_s = (double)t->timed_ms / 1000 / calls,
                             .tokens_in = (double)t->tokens_in / answers,
                             .tokens_out = (double)t->tokens_out / answers})
                       : 0;
    }
}

uint32_t vq_metrics_workers_wanted(const struct vq_metrics_facts *facts)
{
    const struct vq_status_facts *f = facts->status;
    double room[VQ_POOLS_MAX] = {0}, calls = 0;
    struct vq_coord_status s;
    vq_coord_status_fill(f->coord, f->now_ns, &s);
    fill_room(facts, room);
    for (uint32_t j = 0; j < f->judges; j++) {
        struct vq_coord_judge_status judge;
        vq_coord_judge_fill(f->coord, j, f->now_ns, &judge);
        uint64_t open = judge.counts.state[VQ_TASK_OPEN] + judge.counts.state[VQ_TASK_LEASED];
        calls += vq_wanted_take(open, judge.pools, judge.pools_count, room);
    }
    bool asks =
        s.stage == VQ_COORD_WAITING || s.stage == VQ_COORD_RUNNING || s.stage == VQ_COORD_PAUSED;
    return asks ? vq_workers_wanted(calls, facts->carried) : 0;
}

static void put_core(struct writer *w)
{
    struct vq_coord_status s;
    vq_coord_status_fill(w->f->coord, w->f->now_ns, &s);
    put_tasks(w);
    gauge(w, "tasks_from_store", "Tasks of the present stage that stored answers settled.",
          (double)s.all.from_store);
    gauge(w, "shards_ready", "Shards that wait for a worker.", (double)s.ready_shards);
    gauge(w, "shards_leased", "Shards that a worker holds.", (double)s.leased_shards);
    gauge(w, "calls_per_second", "Calls that ended, over the last minute.", s.calls_per_s);
    head(w, "eta_seconds", "gauge",
         "Time until all tasks of the stage are settled, at the present rate; no sample if it is "
         "unknown.");
    uint64_t left = s.all.state[VQ_TASK_OPEN] + s.all.state[VQ_TASK_LEASED];
    double eta_s = w->f->blocked && left > 0 ? -1 : vq_status_eta_s(&s);
    if (eta_s >= 0) {
        put(w, "eta_seconds", NULL, 0, eta_s);
    }
    gauge(w, "workers", "Workers in a session.", s.sessions);
    gauge(w, "workers_wanted", "Workers that the open tasks and the limits of the pools can use.",
          vq_metrics_workers_wanted(w->facts));
    put_workers(w);
    put_pools(w);
    put_money(w);
    put_calls(w);
}

void vq_metrics_put(const struct vq_metrics_facts *facts, struct vq_buf *out)
{
    struct writer writer = {facts, facts->status, out};
    struct writer *w = &writer;
    head(w, "build_info", "gauge", "The version of vibeq.");
    put(w, "build_info", &(struct label){"version", VIBEQ_VERSION}, 1, 1);
    head(w, "state", "gauge", "1 for the state of the run.");
    put(w, "state", &(struct label){"state", w->f->state}, 1, 1);
    gauge(w, "redis_up", "1 if the run's columns in Redis agree with the store.",
          strcmp(w->f->redis, "up") == 0);
    gauge(w, "loop_turn_max_seconds", "Longest turn of the event loop in the last two minutes.",
          (double)facts->turn_ns_max / (double)VQ_NS_PER_S);
    gauge(w, "held", "1 while the run is paused by vibeq ctl.", w->f->held_since_unix_ms != 0);
    gauge(w, "alarm_idle", "1 if no answer arrived for alarm.idle_s while tasks are open.",
          w->f->alarm_since_unix_ms != 0);
    gauge(w, "alarm_brake", "1 if the first calls of a judge all failed in the same way.",
          w->f->brake_since_unix_ms != 0);
    if (facts->disk_bytes > 0) {
        gauge(w, "disk_size_bytes", "Size of the file system of the runs folder.",
              (double)facts->disk_bytes);
        gauge(w, "disk_free_bytes", "Space on it that the run may use.",
              (double)facts->disk_free_bytes);
    }
    put_counters(w);
    put_deadline(w);
    if (w->f->coord != NULL) {
        put_core(w);
    }
}
