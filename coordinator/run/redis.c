/* Redis for a run: the private server or a shared one, the connection, and its columns, which must
 * agree with the store. Invariant: nothing is written before owner and n were compared; any
 * difference leads to a rebuild. While Redis is unreachable or being rebuilt the core is paused:
 * nothing is leased, ACKed or dropped. */
#include "coordinator/run/parts.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/crash.h"
#include "common/text/log.h"

#include <stdio.h>
#include <string.h>

#define AWAY_SAID_AFTER_NS  (2 * VQ_NS_PER_S)
#define OWNER_CHECKS_A_TERM 4 /* so that no check is older than a third of a term */

static void sync_begin(struct vq_run *run);

static void set_phase(struct vq_run *run, enum vq_redis_phase phase)
{
    struct vq_run_redis *r = &run->redis;
    bool was_up = r->phase == VQ_PHASE_UP;
    bool is_up = phase == VQ_PHASE_UP;
    r->phase = phase;
    if (was_up && !is_up) {
        r->down_since_ns = vq_run_now();
        r->reported = false;
    }
    if (was_up == is_up || run->coord == NULL) {
        return;
    }
    vq_run_check_core(run, vq_coord_commit_paused(run->coord, !is_up, vq_run_now()));
    vq_loop_again(run->loop);
}

/* Handles a failed callback: wait for the connection, compare again, or stop. */
static void refused(struct vq_run *run, enum vq_status status, const char *text)
{
    struct vq_run_redis *r = &run->redis;
    vq_log(VQ_LOG_WARN, "redis.refused", "status=%s why=%s", vq_status_name(status), text);
    if (status == VQ_STALE) {
        vq_run_fatal(run, VQ_STALE, "%s", text);
        return;
    }
    set_phase(run, VQ_PHASE_DOWN);
    if (status == VQ_CORRUPT && vq_redis_is_up(r->client)) {
        sync_begin(run);
    } else if (vq_redis_is_up(r->client)) {
        vq_redis_drop(r->client, text); /* on_up follows */
    }
}

void vq_run_redis_lost(struct vq_run *run, enum vq_status status, const char *text)
{
    refused(run, status, text);
}

static void level(struct vq_run *run)
{
    struct vq_run_redis *r = &run->redis;
    r->first_done = r->was_level = true;
    if (r->reported) {
        vq_run_message(run, "Redis is back; the run continues.");
        vq_alarms_over(run, "redis", "", "Run %s: Redis is back.", vq_run_dir_name(run->dir));
        vq_run_trouble_over(run, VQ_TROUBLE_REDIS, "");
        r->reported = false;
    }
    set_phase(run, VQ_PHASE_UP);
    vq_committer_redis_ready(run);
}

static void on_filled_end(void *ctx, enum vq_status status, const char *text)
{
    struct vq_run *run = ctx;
    if (status != VQ_OK) {
        refused(run, status, text);
        return;
    }
    VQ_CRASH_POINT(redis_filled);
    level(run);
}

static void on_filled(void *ctx, enum vq_status status, const char *text);

static void fill_next(struct vq_run *run)
{
    struct vq_run_redis *r = &run->redis;
    uint64_t tasks = vq_grid_tasks(&run->stages.asking->plan.grid);
    if (run->coord == NULL || r->fill_at >= tasks) {
        uint64_t n = run->commit.stored ? r->n - 1 : r->n;
        vq_run_state_fill_end(r->state, n, on_filled_end, run);
        return;
    }
    uint32_t count =
        tasks - r->fill_at > VQ_STATE_FILL_MAX ? VQ_STATE_FILL_MAX : (uint32_t)(tasks - r->fill_at);
    uint8_t *outcomes = vq_alloc(count, 1);
    if (outcomes == NULL) {
        vq_run_fatal(run, VQ_NOMEM, "out of memory while rebuilding Redis");
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        outcomes[i] = (uint8_t)vq_coord_outcome(run->coord, r->fill_at + i);
    }
    uint64_t first = r->fill_at;
    r->fill_at += count;
    VQ_CRASH_POINT(redis_fill_before);
    vq_run_state_fill(r->state, first, outcomes, count, on_filled, run);
    vq_free(outcomes);
}

static void on_filled(void *ctx, enum vq_status status, const char *text)
{
    struct vq_run *run = ctx;
    if (status != VQ_OK) {
        refused(run, status, text);
        return;
    }
    fill_next(run);
}

static void on_wiped(void *ctx, enum vq_status status, const char *text)
{
    VQ_CRASH_POINT(redis_wiped);
    on_filled(ctx, status, text);
}

static void on_synced(void *ctx, enum vq_status status, enum vq_sync sync, const char *text)
{
    struct vq_run *run = ctx;
    struct vq_run_redis *r = &run->redis;
    if (status != VQ_OK) {
        refused(run, status, text);
        return;
    }
    VQ_CRASH_POINT(redis_begun);
    bool at_hand = sync == VQ_SYNC_BEHIND && run->commit.stored;
    if (sync == VQ_SYNC_EQUAL || at_hand) {
        level(run);
        return;
    }
    if (r->was_level) { /* otherwise these are the first columns of a stage, or of this process */
        run->seen.redis_rebuilds++;
        vq_run_message(
            run,
            "The data in Redis is not what this run wrote (%s); it is rebuilt from the call store.",
            text);
    }
    vq_log(r->was_level ? VQ_LOG_WARN : VQ_LOG_INFO, "redis.rebuild", "why=%s n=%llu", text,
           (unsigned long long)r->n);
    r->fill_at = 0;
    vq_run_state_wipe(r->state, on_wiped, run);
}

static void sync_begin(struct vq_run *run)
{
    struct vq_run_redis *r = &run->redis;
    set_phase(run, VQ_PHASE_SYNCING);
    struct vq_owner before = {
        .uid = run->owner.uid, .epoch = run->begun.before.epoch, .nonce = run->begun.before.nonce};
    bool has_before = !run->begun.first_start && !r->first_done;
    VQ_CRASH_POINT(redis_begin_before);
    vq_run_state_begin(r->state, has_before ? &before : NULL, r->n, on_synced, run);
}

static void on_up(void *ctx)
{
    sync_begin(ctx);
}

/* The server answers but refuses us: the address or the password is wrong, and waiting does not
 * help. */
bool vq_run_redis_denies(const char *why)
{
    static const char *const words[] = {"NOAUTH", "WRONGPASS", "NOPERM", "ERR AUTH", "ERR invalid"};
    const char *said = strstr(why, VQ_REDIS_REFUSES);
    bool refuses = false;
    for (size_t i = 0; said != NULL && i < VQ_COUNT(words); i++) {
        refuses |= strncmp(said + strlen(VQ_REDIS_REFUSES), words[i], strlen(words[i])) == 0;
    }
    return refuses;
}

enum vq_status vq_run_redis_denied(const char *why, struct vq_error *err)
{
    return vq_fail(err, VQ_UNAVAILABLE,
                   "Redis does not let us in with the user and password in redis.url: %s", why);
}

enum vq_status vq_run_redis_failed(const char *why, struct vq_error *err)
{
    return vq_fail(err, VQ_UNAVAILABLE, "the private Redis server: %s", why);
}

enum vq_status vq_run_redis_silent(bool shared, enum vq_status waited, const char *why,
                                   struct vq_error *err)
{
    return vq_fail(err, waited == VQ_OK ? VQ_AGAIN : VQ_UNAVAILABLE, "Redis does not answer%s: %s",
                   shared ? " at the address in redis.url" : "", why);
}

static void on_down(void *ctx, const char *why)
{
    struct vq_run *run = ctx;
    struct vq_error denied = {0};
    if (!run->redis.first_done && vq_run_redis_denies(why)) {
        vq_run_fatal(run, vq_run_redis_denied(why, &denied), "%s", denied.text);
    }
    (void)snprintf(run->redis.why, sizeof(run->redis.why), "%s", why);
    vq_log(VQ_LOG_WARN, "redis.down", "why=%s", why);
    set_phase(run, VQ_PHASE_DOWN);
}

static enum vq_status open_state(struct vq_run *run, struct vq_error *err)
{
    return vq_run_state_create(run->loop, run->redis.client, vq_run_dir_name(run->dir), &run->owner,
                               run->stages.asking->no,
                               vq_grid_tasks(&run->stages.asking->plan.grid), &run->redis.state,
                               err);
}

static enum vq_status connect_client(struct vq_run *run, struct vq_error *err)
{
    struct vq_run_redis *r = &run->redis;
    struct vq_redis_options options = {
        .address = &r->address, .on_up = on_up, .on_down = on_down, .ctx = run};
    VQ_TRY(vq_redis_create(run->loop, &options, &r->client, err));
    return open_state(run, err);
}

enum vq_status vq_run_redis_stage(struct vq_run *run, struct vq_error *err)
{
    struct vq_run_redis *r = &run->redis;
    /* the result of a check in progress does not count any more */
    set_phase(run, VQ_PHASE_SYNCING);
    r->was_level = false;
    vq_run_state_destroy(&r->state);
    VQ_TRY(open_state(run, err));
    if (vq_redis_is_up(r->client)) {
        sync_begin(run);
    }
    return VQ_OK;
}

static void on_server(void *ctx, enum vq_redis_server_state state, const char *text)
{
    struct vq_run *run = ctx;
    struct vq_run_redis *r = &run->redis;
    (void)snprintf(r->why, sizeof(r->why), "%s", text);
    vq_log(state == VQ_REDIS_SERVER_FAILED ? VQ_LOG_ERROR : VQ_LOG_INFO, "redis.server",
           "state=%d text=%s", (int)state, text);
    /* a restart, at a new path if its folder was removed */
    if (state == VQ_REDIS_SERVER_READY && r->server != NULL) {
        (void)snprintf(r->address.unix_path, sizeof(r->address.unix_path), "%s",
                       vq_redis_server_socket(r->server));
    }
    if (state == VQ_REDIS_SERVER_FAILED) {
        struct vq_error failed = {0};
        vq_run_fatal(run, vq_run_redis_failed(text, &failed), "%s", failed.text);
    } else if (state == VQ_REDIS_SERVER_READY && r->client == NULL) {
        enum vq_status status = connect_client(run, &run->err);
        if (status != VQ_OK) {
            run->fatal = status;
        }
    }
}

static enum vq_status start_server(struct vq_run *run, struct vq_error *err)
{
    struct vq_run_redis *r = &run->redis;
    struct vq_redis_server_options options = {.run_dir = vq_run_dir_path(run->dir),
                                              .uid = &run->owner.uid,
                                              .changed = on_server,
                                              .ctx = run};
    VQ_TRY(vq_redis_server_create(run->loop, &options, &r->server, err));
    (void)snprintf(r->address.unix_path, sizeof(r->address.unix_path), "%s",
                   vq_redis_server_socket(r->server));
    return VQ_OK;
}

static bool settled_start(void *ctx)
{
    struct vq_run *run = ctx;
    return run->fatal != VQ_OK || run->stop.interrupts > 0 || run->redis.phase == VQ_PHASE_UP;
}

enum vq_status vq_run_redis_open(struct vq_run *run, struct vq_error *err)
{
    struct vq_run_redis *r = &run->redis;
    const char *url = run->source.config->redis_url;
    r->n = run->begun.now.commit_n;
    if (url != NULL) {
        VQ_TRY(vq_redis_address_parse(url, run->source.config->redis_ca, &r->address, err));
        VQ_TRY(connect_client(run, err));
    } else {
        VQ_TRY(start_server(run, err));
    }
    enum vq_status status =
        vq_loop_run_until(run->loop, settled_start, run,
                          url != NULL ? VQ_RUN_SHARED_REDIS_WAIT_MS : VQ_RUN_REDIS_WAIT_MS);
    if (run->fatal != VQ_OK) {
        *err = run->err;
        return run->fatal;
    }
    if (run->stop.interrupts > 0) { /* also if Redis is up: there is no core yet that could drain */
        return vq_fail(err, VQ_AGAIN, "stopped before anything was sent; vibeq resume %s continues",
                       vq_run_dir_name(run->dir));
    }
    if (r->phase == VQ_PHASE_UP) {
        return VQ_OK;
    }
    return vq_run_redis_silent(url != NULL, status, r->why, err);
}

static void on_checked(void *ctx, enum vq_status status, const char *text)
{
    struct vq_run *run = ctx;
    struct vq_run_redis *r = &run->redis;
    r->checking = false;
    if (status != VQ_OK && r->phase == VQ_PHASE_UP) {
        refused(run, status, text);
    }
}

static int64_t check_due_ns(const struct vq_run *run)
{
    int64_t every_ns = (int64_t)run->source.config->term_ms * VQ_NS_PER_MS / OWNER_CHECKS_A_TERM;
    return run->redis.checked_ns + every_ns;
}

/* Each write checks the owner. Without this check, a time without writes could renew leases for a
 * run that another process has taken over. */
static void check_owner(struct vq_run *run)
{
    struct vq_run_redis *r = &run->redis;
    if (r->phase != VQ_PHASE_UP || r->checking || vq_run_now() < check_due_ns(run)) {
        return;
    }
    r->checking = true;
    r->checked_ns = vq_run_now();
    vq_run_state_check(r->state, on_checked, run);
}

void vq_run_redis_tick(struct vq_run *run)
{
    struct vq_run_redis *r = &run->redis;
    check_owner(run);
    if (r->phase != VQ_PHASE_UP && !r->reported &&
        vq_run_now() - r->down_since_ns >= AWAY_SAID_AFTER_NS) {
        vq_run_message(run, "Redis is away (%s); the run waits, nothing is lost.", r->why);
        vq_alarms_begin(run, "redis", "",
                        "Look at the Redis server and its log; the run continues when it is back.",
                        "Run %s: Redis is away (%s). The run waits; nothing is lost.",
                        vq_run_dir_name(run->dir), r->why);
        vq_run_trouble(run, VQ_TROUBLE_REDIS, "",
                       "A private server is started again by itself; start a shared one.",
                       "Redis is away (%s); the run waits, nothing is lost.", r->why);
        r->reported = true;
    }
}

int64_t vq_run_redis_wake_ns(const struct vq_run *run)
{
    const struct vq_run_redis *r = &run->redis;
    if (r->phase == VQ_PHASE_UP) {
        return r->checking ? INT64_MAX : check_due_ns(run);
    }
    return r->reported ? INT64_MAX : r->down_since_ns + AWAY_SAID_AFTER_NS;
}

void vq_run_redis_close(struct vq_run_redis *r)
{
    r->phase = VQ_PHASE_DOWN;
    vq_run_state_destroy(&r->state);
    vq_redis_destroy(&r->client);
    vq_redis_server_destroy(&r->server);
    vq_redis_address_destroy(&r->address);
}
