/* The run's authority over its pools: created from the configuration and from the spending in the
 * ledger, and informed of the wall clock, days and locks. Incidents of its pools are reported once
 * each, in the log and to the person. Not its job: slices (the core asks for them). */
#include "coordinator/run/parts.h"

#include "common/base/alloc.h"
#include "common/base/calendar.h"
#include "common/base/clock.h"
#include "common/text/log.h"
#include "coordinator/run/pool_lock.h"
#include "coordinator/store/calls/ledger.h"
#include "coordinator/store/rundir/advances.h"

#include <stdio.h>
#include <time.h>

#define RELEASE_MS  1000              /* for a shared Redis to get the news that keys are free */
#define UNSERVED_NS (5 * VQ_NS_PER_S) /* workers join one by one */
#define DAY_S       INT64_C(86400)
/* how unevenly a connection delivers sends that were even */
#define JITTER_NS   (100 * VQ_NS_PER_MS)
#define SEE_NS      (200 * VQ_NS_PER_MS)
#define STOPPED_MAX 3u /* pools named in one line */

/* The end of the day of a pool's quotas. */
static int64_t day_end_unix_s(const struct vq_conf_use *use, int64_t now_unix_s)
{
    return strcmp(use->dialect, "gemini") == 0 ? vq_calendar_pacific_midnight(now_unix_s)
                                               : vq_calendar_next_day(now_unix_s);
}

/* Spending before this process: of the run's money, and of each quota's day. */
static enum vq_status look_back(struct vq_run *run, struct vq_authority_pool *pools,
                                const struct vq_ledger_day *begun, uint64_t *ret_cost_nano,
                                struct vq_error *err)
{
    uint32_t count = run->source.pools->uses.count;
    struct vq_ledger_day *days = vq_alloc(count, sizeof(*days));
    struct vq_view *view = NULL;
    enum vq_status status = days == NULL ? VQ_NOMEM : vq_view_begin(run->calls, &view, err);
    if (status == VQ_OK) {
        memcpy(days, begun, count * sizeof(*days));
        status = vq_ledger_spent(view, &run->owner.uid, days, count, ret_cost_nano, err);
        vq_view_end(&view);
    }
    for (uint32_t i = 0; status == VQ_OK && i < count; i++) {
        pools[i].day_requests_spent = days[i].requests;
        pools[i].day_tokens_spent = days[i].tokens;
    }
    vq_free(days);
    return status;
}

static enum vq_status fill_pools(struct vq_run *run, struct vq_authority_params *params,
                                 struct vq_authority_pool *pools, struct vq_ledger_day *days,
                                 struct vq_error *err)
{
    const struct vq_conf_uses *uses = &run->source.pools->uses;
    int64_t now_unix_s = vq_clock_unix_ms() / 1000;
    for (uint32_t i = 0; i < uses->count; i++) {
        const struct vq_conf_use *use = &uses->uses[i];
        vq_run_pools_limits(use, &pools[i]);
        int64_t end_s = day_end_unix_s(use, now_unix_s);
        pools[i].day_ends_ns = vq_run_now() + (end_s - now_unix_s) * VQ_NS_PER_S;
        bool has_quota = pools[i].day_requests > 0 || pools[i].day_tokens > 0;
        days[i] = (struct vq_ledger_day){
            .pool = use->name, .since_unix_ms = has_quota ? (end_s - DAY_S) * 1000 : INT64_MAX};
        pools[i].locked = use->base_url != NULL; /* the built-in server belongs to this run only */
        if (use->batch != NULL) { /* gathering a call takes no time at the provider */
            pools[i].limit = (struct vq_limit){.concurrency = VQ_RUN_GATHERING};
        }
        if (use->base_url == NULL && pools[i].limit.concurrency == 0) {
            pools[i].limit.concurrency =
                VQ_MACHINE_CONCURRENCY; /* the built-in server has one thread */
        }
    }
    return look_back(run, pools, days, &params->spent_nano, err);
}

/* ---- locks ---- */

static void on_lock(void *ctx, uint32_t pool, bool ours, const char *sentence)
{
    struct vq_run *run = ctx;
    vq_authority_lock(run->limits.authority, pool, ours, sentence, vq_run_now());
}

static enum vq_status want_lock(struct vq_run *run, uint32_t p, uint64_t fingerprint)
{
    const struct vq_run_pools *pools = run->source.pools;
    return vq_pool_locks_want(run->limits.locks, p, pools->identities[p], fingerprint,
                              pools->uses.uses[p].limits.share);
}

/* Locks now the pools that need no key, by their provider only; the others are locked when a worker
 * reports its key. */
static enum vq_status open_locks(struct vq_run *run)
{
    struct vq_buf dir;
    vq_buf_init(&dir, VQ_RUN_PATH_BYTES_MAX);
    vq_buf_printf(&dir, "%s/pools", run->options->runs_dir);
    struct vq_pool_locks_options options = {
        .dir = dir.at,
        .run_name = vq_run_dir_name(run->dir),
        .run = run->owner.uid,
        .nonce = run->owner.nonce,
        .term_ms = run->source.config->term_ms,
        .redis = run->source.config->redis_url != NULL ? run->redis.client : NULL,
        .changed = on_lock,
        .ctx = run};
    enum vq_status status =
        dir.status == VQ_OK ? vq_pool_locks_create(&options, &run->limits.locks) : VQ_NOMEM;
    vq_buf_free(&dir);
    const struct vq_conf_uses *uses = &run->source.pools->uses;
    for (uint32_t p = 0; status == VQ_OK && p < uses->count; p++) {
        if (uses->uses[p].base_url != NULL && uses->uses[p].keys_count == 0) {
            status = want_lock(run, p, 0);
        }
    }
    if (status == VQ_OK) {
        vq_pool_locks_tick(run->limits.locks, vq_run_now());
    }
    return status;
}

/* Keys that workers have reported: their pools are locked by them. */
static void see_keys(struct vq_run *run)
{
    uint32_t p = 0;
    uint64_t fingerprint = 0;
    bool more = false;
    while (vq_authority_new_key(run->limits.authority, &p, &fingerprint)) {
        enum vq_status status = run->source.pools->uses.uses[p].base_url == NULL
                                    ? VQ_OK
                                    : want_lock(run, p, fingerprint);
        if (status != VQ_OK) {
            vq_run_fatal(run, status, "cannot lock the pools: %s", vq_status_text(status));
            return;
        }
        more = true;
    }
    if (more) {
        vq_pool_locks_tick(run->limits.locks, vq_run_now());
    }
}

/* ---- the authority ---- */

/* No call may start while a person paused the run, or while spools of an earlier process are not in
 * the store yet: their spending is not counted yet. */
static void hold(struct vq_run *run)
{
    bool left = !run->begun.first_start && !run->begun.was_clean && !run->children.strays_read;
    if (run->control.held != run->limits.sent_held) {
        run->limits.sent_held = run->control.held;
        vq_authority_hold(run->limits.authority, run->control.held, vq_run_now());
    }
    if (left != run->limits.sent_unread) {
        run->limits.sent_unread = left;
        vq_authority_unread(run->limits.authority, left, vq_run_now());
    }
}

enum vq_status vq_limits_open(struct vq_run *run, int64_t wait_ns, struct vq_error *err)
{
    uint32_t count = run->source.pools->uses.count;
    struct vq_authority_pool *pools = vq_alloc(count, sizeof(*pools));
    struct vq_ledger_day *days = vq_alloc(count, sizeof(*days));
    double budget = run->source.config->budget_usd;
    struct vq_advance *advances = NULL;
    struct vq_authority_params params = {
        .pools = pools,
        .pools_count = count,
        .term_ns = (int64_t)run->source.config->term_ms * VQ_NS_PER_MS,
        .jitter_ns = JITTER_NS,
        .budget_nano = budget > 0 ? (uint64_t)(budget * VQ_NANO_PER_USD) : VQ_AMOUNT_ANY,
        .wait_until_ns = vq_run_now() + wait_ns};
    enum vq_status status =
        pools == NULL || days == NULL ? VQ_NOMEM : fill_pools(run, &params, pools, days, err);
    if (status == VQ_OK) {
        status = vq_advances_read(run->dir, &advances, &params.advances_count, err);
        params.advances = advances;
    }
    if (status == VQ_OK) {
        status = vq_incidents_create(count, &run->limits.incidents);
    }
    if (status == VQ_OK) {
        status = vq_authority_create(&params, vq_run_now(), &run->limits.authority, err);
    }
    if (status == VQ_OK) {
        run->limits.clock_ns = vq_run_now();
        /* the first check comes after a shared Redis had time to answer for locks */
        run->limits.seen_ns = run->limits.clock_ns;
        vq_authority_clock(run->limits.authority, vq_clock_unix_ms() / 1000, run->limits.clock_ns);
        hold(run);
        vq_advances_report(run);
        vq_learned_open(run);
        status = open_locks(run);
    }
    vq_free(advances);
    vq_free(pools);
    vq_free(days);
    return status;
}

/* "at 09:00", or "at 09:00 on 2026-11-23"; empty if unknown. */
static void say_until(int64_t until_ns, char *text, size_t bytes)
{
    text[0] = '\0';
    int64_t left_ms = (until_ns - vq_run_now()) / VQ_NS_PER_MS;
    if (until_ns <= 0 || left_ms < 0) {
        return;
    }
    /* a day ends at a whole second, so round to it */
    time_t at = (time_t)((vq_clock_unix_ms() + left_ms + 500) / 1000);
    struct tm tm;
    if (localtime_r(&at, &tm) != NULL) {
        (void)strftime(
            text, bytes,
            left_ms < 12 * 3600 * INT64_C(1000) ? " until %H:%M" : " until %H:%M on %Y-%m-%d", &tm);
    }
}

static const char *advice_of(const struct vq_incident *i)
{
    if (i->key) {
        return "Replace the key, and start its worker again. The pool continues with its other "
               "keys.";
    }
    switch (i->state) {
    case VQ_AUTHORITY_OPEN:
        return "If the provider is down, wait: the pool continues when it answers. Else correct "
               "what "
               "the error names.";
    case VQ_AUTHORITY_PARKED:
        return "Other pools continue; this one continues when the time is over. vibeq ctl RUN "
               "unpark NAME sends calls to it at once.";
    case VQ_AUTHORITY_HELD: return "vibeq ctl RUN unpark NAME sends calls to it again.";
    case VQ_AUTHORITY_LOCKED:
        return "Wait for the end of the other run, or give each run a share of the pool.";
    case VQ_AUTHORITY_CLOSED:
        return "Correct the key, the account or the model, and start the workers again.";
    case VQ_AUTHORITY_NOBODY:
        return "Set what its keys name where the workers run, and start the workers again.";
    case VQ_AUTHORITY_PAUSED: break;
    }
    return "";
}

/* There is no notice of a pool that a person parked. */
static void notify_incident(struct vq_run *run, const struct vq_incident *i, const char *pool)
{
    const char *name = vq_run_dir_name(run->dir);
    const char *word = vq_incident_word(i);
    char action[VQ_NOTICE_TEXT_BYTES];
    if (i->state == VQ_AUTHORITY_HELD) {
        return;
    }
    if (i->over_ns != 0 && !i->key) {
        vq_alarms_over(run, word, pool, "Run %s: pool %s is no longer %s.", name, pool, word);
        return;
    }
    (void)snprintf(action, sizeof(action),
                   "Look at vibeq status %s; check the quota, the money and the keys of the pool.",
                   name);
    vq_alarms_begin(run, i->key ? "key" : word, pool, action, "Run %s: pool %s is %s%s%s", name,
                    pool, word, i->text[0] == '\0' ? "." : ": ", i->text);
}

static void say_incident(struct vq_run *run, const struct vq_incident *i, const char *name)
{
    char until[64];
    say_until(i->until_ns, until, sizeof(until));
    const char *word = vq_incident_word(i);
    if (i->over_ns == 0 || i->key) {
        vq_log(VQ_LOG_WARN, "pool", "name=%s state=%s text=%s", name, word, i->text);
        vq_run_message(run, "Pool %s is %s%s%s%s.", name, word, until,
                       i->text[0] == '\0' ? "" : ": ", i->text);
        (i->key ? vq_run_moment : vq_run_trouble)(run, VQ_TROUBLE_POOL, name, advice_of(i),
                                                  "Pool %s is %s%s%s%s.", name, word, until,
                                                  i->text[0] == '\0' ? "" : ": ", i->text);
        return;
    }
    char took[VQ_FMT_BYTES];
    vq_fmt_duration(i->over_ns - i->since_ns, took);
    vq_log(VQ_LOG_INFO, "pool", "name=%s state=%s over=true took_ms=%lld", name, word,
           (long long)((i->over_ns - i->since_ns) / VQ_NS_PER_MS));
    vq_run_message(run, "Pool %s is no longer %s, after %s.", name, word, took);
    vq_run_trouble_over(run, VQ_TROUBLE_POOL, name);
}

/* The built-in server is a pool of every configuration; if no judge needs it, it does not run. */
bool vq_limits_idle(const struct vq_run *run, uint32_t p)
{
    return run->children.offline == NULL && run->source.pools->uses.uses[p].base_url == NULL;
}

/* Reported once. A key that is missing on every worker only costs speed and fails nothing, so a
 * person would not look for it. */
static void see_unserved(struct vq_run *run, int64_t now)
{
    bool served = false;
    struct vq_authority_pool_status s;
    for (uint32_t p = 0; p < vq_authority_pools(run->limits.authority); p++) {
        vq_authority_status(run->limits.authority, p, now, &s);
        served = served || s.state == VQ_AUTHORITY_OPEN;
    }
    for (uint32_t p = 0; served && p < vq_authority_pools(run->limits.authority); p++) {
        vq_authority_status(run->limits.authority, p, now, &s);
        if (s.state != VQ_AUTHORITY_NOBODY || now - s.since_ns < UNSERVED_NS ||
            run->limits.unserved_reported[p] || vq_limits_idle(run, p)) {
            continue;
        }
        run->limits.unserved_reported[p] = true;
        vq_log(VQ_LOG_WARN, "pool", "name=%s state=unserved text=%s", s.name, s.text);
        vq_run_moment(run, VQ_TROUBLE_POOL, s.name,
                      "Set what its keys name where the workers run, and start the workers again.",
                      "Pool %s gets no calls: no worker has a key for it.", s.name);
        vq_run_message(
            run,
            "Pool %s gets no calls: no worker has a key for it. Set what its `keys` name "
            "where the workers run, and start them again; other pools continue meanwhile.",
            s.name);
    }
}

void vq_limits_see(struct vq_run *run)
{
    int64_t now = vq_run_now();
    run->limits.seen_ns = now;
    see_unserved(run, now);
    for (uint32_t p = 0; p < vq_authority_pools(run->limits.authority); p++) {
        if (vq_limits_idle(run, p)) {
            continue;
        }
        struct vq_authority_pool_status status;
        vq_authority_status(run->limits.authority, p, now, &status);
        const struct vq_incident *incident;
        while ((incident = vq_incidents_see(run->limits.incidents, p, &status, now)) != NULL) {
            say_incident(run, incident, status.name);
            notify_incident(run, incident, status.name);
        }
    }
    uint32_t p, q;
    while (vq_authority_same_account(run->limits.authority, &p, &q)) {
        const struct vq_conf_use *uses = run->source.pools->uses.uses;
        vq_log(VQ_LOG_WARN, "pool.same_account", "a=%s b=%s", uses[p].name, uses[q].name);
        vq_run_moment(run, VQ_TROUBLE_POOL, uses[p].name, "Make them one pool with both keys.",
                      "Pools %s and %s seem to be one account: they share a key or an "
                      "organisation, so the provider counts both against one limit.",
                      uses[p].name, uses[q].name);
        vq_run_message(
            run,
            "Pools %s and %s seem to be one account: they share a key or an organisation, so "
            "the provider counts both against one limit. Make them one pool with both keys.",
            uses[p].name, uses[q].name);
    }
}

static bool is_stopped(enum vq_authority_state state)
{
    return state != VQ_AUTHORITY_OPEN && state != VQ_AUTHORITY_PAUSED;
}

/* Writes the pools that take no calls, each with its reason. Returns whether there are no
 * others. */
bool vq_limits_stopped(struct vq_run *run, struct vq_buf *out)
{
    bool all = true;
    uint32_t count = 0;
    for (uint32_t p = 0;
         run->limits.authority != NULL && p < vq_authority_pools(run->limits.authority); p++) {
        struct vq_authority_pool_status s;
        vq_authority_status(run->limits.authority, p, vq_run_now(), &s);
        if (vq_limits_idle(run, p) || s.state == VQ_AUTHORITY_NOBODY) {
            continue;
        }
        if (!is_stopped(s.state)) {
            all = false;
        } else if (count++ < STOPPED_MAX) {
            char since[VQ_RUN_WHEN_BYTES], until[64];
            vq_watch_when(vq_clock_unix_ms() + (s.since_ns - vq_run_now()) / VQ_NS_PER_MS, since);
            say_until(s.until_ns, until, sizeof(until));
            vq_buf_printf(out, "%spool %s %s since %s%s", count == 1 ? "" : ", ", s.name,
                          vq_authority_state_word(s.state), since, until);
        }
    }
    if (count > STOPPED_MAX) {
        vq_buf_printf(out, " and %u more", count - STOPPED_MAX);
    }
    return all && count > 0;
}

void vq_limits_turn(struct vq_run *run)
{
    if (run->limits.authority != NULL && run->fatal == VQ_OK) {
        hold(run);
        see_keys(run);
    }
}

int64_t vq_limits_wake_ns(const struct vq_run *run)
{
    if (run->limits.authority == NULL || run->limits.locks == NULL || run->fatal != VQ_OK) {
        return INT64_MAX;
    }
    int64_t wake_ns = run->limits.clock_ns + VQ_RUN_LOOK_MS * VQ_NS_PER_MS;
    int64_t locks_ns = vq_pool_locks_wake_ns(run->limits.locks);
    int64_t advances_ns = vq_advances_wake_ns(&run->limits);
    wake_ns = locks_ns < wake_ns ? locks_ns : wake_ns;
    return advances_ns < wake_ns ? advances_ns : wake_ns;
}

void vq_limits_tick(struct vq_run *run)
{
    int64_t now = vq_run_now();
    if (run->limits.authority == NULL || run->fatal != VQ_OK) {
        return;
    }
    vq_pool_locks_tick(run->limits.locks, now);
    vq_advances_tick(run);
    if (now - run->limits.clock_ns >= VQ_RUN_LOOK_MS * VQ_NS_PER_MS) {
        run->limits.clock_ns = now;
        vq_authority_clock(run->limits.authority, vq_clock_unix_ms() / 1000, now);
    }
    if (now - run->limits.seen_ns >= SEE_NS) {
        vq_learned_tick(run);
        vq_limits_see(run);
    }
}

static bool is_heard(void *ctx)
{
    const struct vq_run *run = ctx;
    return !vq_redis_is_up(run->redis.client) || vq_redis_stats(run->redis.client).pending == 0;
}

void vq_limits_release(struct vq_run *run)
{
    if (run->limits.locks == NULL) {
        return;
    }
    vq_pool_locks_release(run->limits.locks);
    if (run->source.config->redis_url != NULL &&
        vq_loop_run_until(run->loop, is_heard, run, RELEASE_MS) != VQ_OK) {
        vq_log(VQ_LOG_INFO, "pool.lock", "text=%s",
               "the shared Redis did not get the report that the keys are free");
    }
}

void vq_limits_close(struct vq_run_limits *limits)
{
    vq_pool_locks_destroy(&limits->locks);
    vq_authority_destroy(&limits->authority);
    vq_incidents_destroy(&limits->incidents);
}
