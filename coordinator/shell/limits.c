/* The run's authority over its pools: made of the configuration and of what the ledger says was spent, told the wall clock, days and
 * locks, and what befalls its pools is said once each, in the log and to the person. Not its job: slices (the core asks for them). */
#include "coordinator/shell/parts.h"

#include "common/base/alloc.h"
#include "common/base/calendar.h"
#include "common/base/clock.h"
#include "common/text/log.h"

#include <stdio.h>
#include <time.h>

#define CLOCK_NS VQ_NS_PER_S

/* When the day of a pool's quotas ends. */
static int64_t day_end_unix_s(const struct vq_conf_use *use, int64_t now_unix_s)
{
    return strcmp(use->dialect, "gemini") == 0 ? vq_calendar_pacific_midnight(now_unix_s)
                                               : vq_calendar_next_day(now_unix_s);
}

static enum vq_status fill_pools(struct vq_run *run, struct vq_authority_pool *pools,
                                 int64_t now_unix_s)
{
    const struct vq_conf_uses *uses = &run->job->pools.uses;
    for (uint32_t i = 0; i < uses->count; i++) {
        const struct vq_conf_use *use = &uses->uses[i];
        vq_run_pools_limits(use, &pools[i]);
        int64_t day_s = day_end_unix_s(use, now_unix_s) - now_unix_s;
        pools[i].day_ends_ns = vq_run_now() + day_s * VQ_NS_PER_S;
        if (use->base_url == NULL && pools[i].concurrency == 0) {
            pools[i].concurrency = VQ_MACHINE_CONCURRENCY; /* the built-in server has one thread */
        }
    }
    return VQ_OK;
}

enum vq_status vq_limits_open(struct vq_run *run, int64_t wait_ns, struct vq_error *err)
{
    uint32_t count = run->job->pools.uses.count;
    int64_t now_unix_s = vq_clock_unix_ms() / 1000;
    struct vq_authority_pool *pools = vq_alloc(count, sizeof(*pools));
    double budget = run->job->config->budget_usd;
    struct vq_authority_params params = {
        .pools = pools,
        .pools_count = count,
        .term_ns = (int64_t)run->job->config->term_ms * VQ_NS_PER_MS,
        .budget_nano = budget > 0 ? (uint64_t)(budget * VQ_NANO_PER_USD) : VQ_AMOUNT_ANY,
        .wait_until_ns = vq_run_now() + wait_ns};
    enum vq_status status = pools == NULL ? VQ_NOMEM : fill_pools(run, pools, now_unix_s);
    if (status == VQ_OK) {
        status = vq_incidents_create(count, &run->incidents);
    }
    if (status == VQ_OK) {
        status = vq_authority_create(&params, vq_run_now(), &run->authority, err);
    }
    if (status == VQ_OK) {
        vq_authority_clock(run->authority, now_unix_s, vq_run_now());
        run->clock_ns = vq_run_now();
    }
    vq_free(pools);
    return status;
}

/* "at 09:00", or "at 09:00 on 2026-11-23"; empty when nobody knows. */
static void say_until(int64_t until_ns, char *text, size_t bytes)
{
    text[0] = '\0';
    int64_t left_s = (until_ns - vq_run_now()) / VQ_NS_PER_S;
    if (until_ns <= 0 || left_s < 0) {
        return;
    }
    time_t at = (time_t)(vq_clock_unix_ms() / 1000 + left_s);
    struct tm tm;
    if (localtime_r(&at, &tm) != NULL) {
        (void)strftime(text, bytes,
                       left_s < 12 * 3600 ? " until %H:%M" : " until %H:%M on %Y-%m-%d", &tm);
    }
}

static void say_incident(struct vq_run *run, const struct vq_incident *i, const char *name)
{
    char until[64];
    say_until(i->until_ns, until, sizeof(until));
    const char *word = vq_incident_word(i);
    if (i->over_ns == 0) {
        vq_log(VQ_LOG_WARN, "pool", "name=%s state=%s text=%s", name, word, i->text);
        vq_run_say(run, "Pool %s is %s%s%s%s.", name, word, until, i->text[0] == '\0' ? "" : ": ",
                   i->text);
        return;
    }
    char took[VQ_FMT_BYTES];
    vq_fmt_duration(i->over_ns - i->since_ns, took);
    vq_log(VQ_LOG_INFO, "pool", "name=%s state=%s over=true took_ms=%lld", name, word,
           (long long)((i->over_ns - i->since_ns) / VQ_NS_PER_MS));
    vq_run_say(run, "Pool %s is no longer %s, after %s.", name, word, took);
}

static void see_pools(struct vq_run *run)
{
    int64_t now = vq_run_now();
    for (uint32_t p = 0; p < vq_authority_pools(run->authority); p++) {
        struct vq_authority_pool_status status;
        vq_authority_status(run->authority, p, now, &status);
        const struct vq_incident *incident;
        while ((incident = vq_incidents_see(run->incidents, p, &status, now)) != NULL) {
            say_incident(run, incident, status.name);
        }
    }
    uint32_t p, q;
    while (vq_authority_same_account(run->authority, &p, &q)) {
        const struct vq_conf_use *uses = run->job->pools.uses.uses;
        vq_log(VQ_LOG_WARN, "pool.same_account", "a=%s b=%s", uses[p].name, uses[q].name);
        vq_run_say(
            run,
            "Pools %s and %s seem to be one account: they share a key or an organisation, so "
            "the provider counts both against one limit. Make them one pool with both keys.",
            uses[p].name, uses[q].name);
    }
}

void vq_limits_tick(struct vq_run *run)
{
    int64_t now = vq_run_now();
    if (run->authority == NULL || now - run->clock_ns < CLOCK_NS) {
        return;
    }
    run->clock_ns = now;
    vq_authority_clock(run->authority, vq_clock_unix_ms() / 1000, now);
    see_pools(run);
}

void vq_limits_close(struct vq_run *run)
{
    vq_authority_destroy(&run->authority);
    vq_incidents_destroy(&run->incidents);
}
