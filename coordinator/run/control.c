/* Access for other programs: endpoint.json with an address and a token; the HTTP server with
 * status, history, /metrics, /healthz and /readyz; status.json every few seconds, for the time
 * after this process has ended. Also commands of a person: POST /api/v1/ctl (ctl.c). */
#include "coordinator/run/parts.h"

#include "common/base/clock.h"
#include "common/text/log.h"
#include "coordinator/run/ctl.h"
#include "coordinator/web/pages.h"
#include "coordinator/web/status.h"

#include <stdio.h>
#include <string.h>

#define STATUS_BYTES_MAX  (16u << 20)
#define STRANGERS_PERCENT 1 /* of the loop's time, for clients without the token */

static const char *state_name(const struct vq_run *run)
{
    if (run->stop.stopped || run->fatal != VQ_OK) {
        return "stopped";
    }
    if (run->stop.finished) {
        return "finished";
    }
    if (run->coord == NULL) {
        return "starting";
    }
    if (run->watch.alarm.raised) {
        return "stalled";
    }
    struct vq_coord_status status;
    vq_coord_status_fill(run->coord, vq_run_now(), &status);
    return vq_status_stage_name(status.stage);
}

static const char *note(struct vq_run *run)
{
    if (run->stop.stopped) {
        return run->stop.text;
    }
    if (run->fatal != VQ_OK) {
        return run->err.text;
    }
    char since[VQ_RUN_WHEN_BYTES];
    run->control.note[0] = '\0';
    if (run->redis.phase != VQ_PHASE_UP) {
        if (run->redis.why[0] != '\0') {
            (void)snprintf(run->control.note, sizeof(run->control.note),
                           "Redis is away (%s); the run waits, nothing is lost", run->redis.why);
        }
        return run->control.note;
    }
    if (run->control.held) {
        vq_watch_when(run->control.held_since_unix_ms, since);
        (void)snprintf(run->control.note, sizeof(run->control.note),
                       "paused by vibeq ctl since %s; vibeq ctl %s resume", since,
                       vq_run_dir_name(run->dir));
        return run->control.note;
    }
    struct vq_buf stopped;
    vq_buf_init(&stopped, 3 * sizeof(run->control.note) / 4);
    bool all = run->coord != NULL && vq_limits_stopped(run, &stopped);
    if (run->watch.alarm.raised) {
        vq_watch_when(vq_watch_since_unix_ms(&run->watch), since);
        (void)snprintf(run->control.note, sizeof(run->control.note),
                       "no answer arrived since %s%s%s", since,
                       all ? "; no pool takes calls: " : "", all ? stopped.at : "");
    } else if (all) {
        struct vq_authority_money money;
        vq_authority_money(run->limits.authority, &money);
        char spent[64] = "";
        if (money.spent_nano > 0) {
            (void)snprintf(spent, sizeof(spent), "; $%.4f spent so far",
                           (double)money.spent_nano / VQ_NANO_PER_USD);
        }
        (void)snprintf(run->control.note, sizeof(run->control.note), "no pool takes calls: %s%s",
                       stopped.at, spent);
    }
    vq_buf_free(&stopped);
    return run->control.note;
}

/* The rate of the last minute means nothing for a run that cannot send calls now. */
static bool is_blocked(struct vq_run *run)
{
    struct vq_buf stopped;
    vq_buf_init(&stopped, sizeof(run->control.note));
    bool all = run->coord != NULL && vq_limits_stopped(run, &stopped);
    vq_buf_free(&stopped);
    return all || run->control.held || run->redis.phase != VQ_PHASE_UP;
}

static void fill_after(const struct vq_run *run, struct vq_status_facts *f)
{
    for (uint32_t next = vq_stages_next_expected(run);
         next < run->stages.expected_count && !run->stop.finished &&
         f->stages_after_count < VQ_STATUS_STAGES;
         next++) {
        f->stages_after[f->stages_after_count++] = run->stages.expected[next].name;
    }
}

/* The input of the status; its texts belong to the run. */
static struct vq_status_facts facts(struct vq_run *run)
{
    vq_hex(run->owner.uid.b, VQ_ID_BYTES, run->control.uid_hex);
    for (uint32_t p = 0; p < run->source.pools->uses.count; p++) {
        run->control.idle[p] = vq_limits_idle(run, p);
    }
    vq_watch_brake(run);
    struct vq_status_facts f = {.run = vq_run_dir_name(run->dir),
                                .uid_hex = run->control.uid_hex,
                                .state = state_name(run),
                                .note = note(run),
                                .held_since_unix_ms =
                                    run->control.held ? run->control.held_since_unix_ms : 0,
                                .alarm_since_unix_ms = vq_watch_since_unix_ms(&run->watch),
                                .alarm_idle_s = run->source.config->alarm.idle_s,
                                .brake_since_unix_ms = run->watch.braked_unix_ms,
                                .brake_text = run->watch.brake_text,
                                .slow = run->watch.slow,
                                .started_unix_ms = run->started_unix_ms,
                                .now_unix_ms = vq_clock_unix_ms(),
                                .now_ns = vq_run_now(),
                                .redis = run->redis.phase == VQ_PHASE_UP        ? "up"
                                         : run->redis.phase == VQ_PHASE_SYNCING ? "syncing"
                                                                                : "away",
                                .coord = run->coord,
                                .authority = run->limits.authority,
                                .deadline = &run->deadline.shown,
                                .blocked = is_blocked(run),
                                .idle = run->control.idle,
                                .before = run->stages.before,
                                .seen = run->seen,
                                .stage = run->stages.asking->name,
                                .stage_no = run->stages.asking->no,
                                .judges = run->stages.asking->plan.grid.judges};
    uint32_t past = run->stages.past_count;
    for (uint32_t i = past > VQ_STATUS_STAGES ? past - VQ_STATUS_STAGES : 0; i < past; i++) {
        f.stages_before[f.stages_before_count++] = run->stages.past[i].asking->name;
    }
    fill_after(run, &f);
    return f;
}

static void on_status(void *ctx, const struct vq_httpd_request *request,
                      struct vq_httpd_response *response)
{
    (void)request;
    struct vq_status_facts f = facts(ctx);
    response->content_type = "application/json";
    vq_status_json(&f, response->body);
}

static void on_pools(void *ctx, const struct vq_httpd_request *request,
                     struct vq_httpd_response *response)
{
    (void)request;
    struct vq_run *run = ctx;
    struct vq_status_facts f = facts(run);
    response->content_type = "application/json";
    vq_recent_pools_json(run->control.recent, &f, response->body);
}

static void on_workers(void *ctx, const struct vq_httpd_request *request,
                       struct vq_httpd_response *response)
{
    (void)request;
    struct vq_run *run = ctx;
    struct vq_status_facts f = facts(run);
    response->content_type = "application/json";
    vq_recent_workers_json(run->control.recent, &f, response->body);
}

static void on_incidents(void *ctx, const struct vq_httpd_request *request,
                         struct vq_httpd_response *response)
{
    (void)request;
    const struct vq_run *run = ctx;
    response->content_type = "application/json";
    vq_troubles_json(run->control.troubles, response->body);
}

static void on_metrics(void *ctx, const struct vq_httpd_request *request,
                       struct vq_httpd_response *response)
{
    (void)request;
    struct vq_run *run = ctx;
    struct vq_status_facts f = facts(run);
    response->content_type = VQ_METRICS_CONTENT_TYPE;
    vq_metrics_serve(run, &f, response->body);
}

/* ?after=UNIX_MS: only later samples. */
static void on_history(void *ctx, const struct vq_httpd_request *request,
                       struct vq_httpd_response *response)
{
    struct vq_run *run = ctx;
    uint64_t after;
    if (!vq_history_after(vq_httpd_query(request, "after"), &after)) {
        response->status = 400;
        vq_buf_puts(response->body, VQ_HISTORY_AFTER_WRONG);
        return;
    }
    response->content_type = "application/json";
    vq_history_json(run->control.history.history, after, response->body);
}

static void on_ctl(void *ctx, const struct vq_httpd_request *request,
                   struct vq_httpd_response *response)
{
    response->content_type = "application/json";
    response->status = vq_ctl_serve(ctx, request->body, response->body);
}

/* The loop takes turns: any answer means "healthy". */
static void on_healthz(void *ctx, const struct vq_httpd_request *request,
                       struct vq_httpd_response *response)
{
    (void)ctx;
    (void)request;
    vq_buf_puts(response->body, "ok\n");
}

/* Whether the run can continue without help. A run that is paused by command, or that waits for a
 * limit, is ready. */
static void on_readyz(void *ctx, const struct vq_httpd_request *request,
                      struct vq_httpd_response *response)
{
    (void)request;
    struct vq_run *run = ctx;
    bool ready = !run->stop.stopped && run->fatal == VQ_OK && run->redis.phase == VQ_PHASE_UP &&
                 !run->watch.alarm.raised;
    response->status = ready ? 200 : 503;
    if (ready) {
        vq_buf_puts(response->body, "ok\n");
        return;
    }
    const char *why = note(run);
    vq_buf_printf(response->body, "%s: %s\n", state_name(run),
                  why[0] != '\0' ? why : "Redis is not up to date with the store yet");
}

static void on_file(void *ctx, const struct vq_httpd_request *request,
                    struct vq_httpd_response *response)
{
    (void)ctx;
    const struct vq_web_file *file = vq_web_file_find(request->path);
    if (file == NULL) {
        response->status = 404;
        vq_buf_puts(response->body, "there is nothing here\n");
        return;
    }
    response->content_type = file->type;
    response->compress = true;
    vq_buf_append(response->body, file->body.at, file->body.bytes);
}

static const struct vq_httpd_route routes[] = {
    {.method = VQ_HTTPD_GET, .path = "/", .access = VQ_HTTPD_ANYONE, .handle = on_file},
    {.method = VQ_HTTPD_GET, .path = "/pages/*", .access = VQ_HTTPD_ANYONE, .handle = on_file},
    {.method = VQ_HTTPD_GET, .path = "/healthz", .access = VQ_HTTPD_LOCAL, .handle = on_healthz},
    {.method = VQ_HTTPD_GET, .path = "/readyz", .access = VQ_HTTPD_LOCAL, .handle = on_readyz},
    {.method = VQ_HTTPD_GET, .path = "/api/v1/status", .handle = on_status},
    {.method = VQ_HTTPD_GET, .path = "/api/v1/history", .handle = on_history},
    {.method = VQ_HTTPD_GET, .path = "/api/v1/pools", .handle = on_pools},
    {.method = VQ_HTTPD_GET, .path = "/api/v1/workers", .handle = on_workers},
    {.method = VQ_HTTPD_GET, .path = "/api/v1/incidents", .handle = on_incidents},
    {.method = VQ_HTTPD_GET, .path = "/api/v1/sample", .handle = vq_looks_on_sample},
    {.method = VQ_HTTPD_GET, .path = "/api/v1/dead-letters", .handle = vq_looks_on_dead},
    {.method = VQ_HTTPD_POST, .path = "/api/v1/ctl", .handle = on_ctl},
    {.method = VQ_HTTPD_GET, .path = "/metrics", .access = VQ_HTTPD_LOCAL, .handle = on_metrics},
};

enum vq_status vq_control_open(struct vq_run *run, struct vq_error *err)
{
    const struct vq_run_http *http = &run->options->http;
    struct vq_endpoint endpoint;
    run->control.troubles = vq_troubles_create();
    run->control.recent = vq_recent_create(run->source.pools->uses.count);
    if (run->control.recent == NULL || run->control.troubles == NULL) {
        return vq_fail(err, VQ_NOMEM, "out of memory");
    }
    vq_incidents_load(run);
    VQ_TRY(vq_history_file_open(run->dir, &run->control.history, err));
    run->control.http.strangers_percent = STRANGERS_PERCENT;
    enum vq_status status = vq_http_server_open(run->loop, http, routes, VQ_COUNT(routes), run,
                                                &run->control.http, &endpoint, err);
    if (status == VQ_OK) {
        status = vq_run_dir_write_endpoint(run->dir, &endpoint, err);
    }
    if (status == VQ_OK && http->listen != NULL) {
        vq_run_message(run, "Page at %s (vibeq status %s --url prints it with its token)",
                       endpoint.address, vq_run_dir_name(run->dir));
    }
    vq_wipe(endpoint.token, sizeof(endpoint.token));
    return status;
}

void vq_control_close(struct vq_run *run)
{
    if (run->control.http.httpd != NULL) {
        vq_run_dir_remove_endpoint(run->dir);
    }
    vq_http_server_close(&run->control.http);
    vq_history_file_close(&run->control.history);
    vq_live_destroy(&run->control.live);
    vq_recent_destroy(&run->control.recent);
    vq_troubles_destroy(&run->control.troubles);
    vq_buf_free(&run->control.incidents);
    vq_ctl_once_free(&run->control.ctl_once);
}

static void sample(struct vq_run *run, const struct vq_status_facts *f)
{
    /* Half a turn of the timer early is early enough. */
    int64_t due_ns =
        run->control.sampled_ns + (VQ_HISTORY_EVERY_MS - VQ_RUN_STATUS_MS / 2) * VQ_NS_PER_MS;
    if (f->coord == NULL || run->control.history.history == NULL ||
        (run->control.sampled_ns != 0 && f->now_ns < due_ns && !run->stop.finished)) {
        return;
    }
    struct vq_history_sample taken;
    vq_history_sample_of(f, &taken);
    vq_history_file_add(&run->control.history, &taken);
    run->control.sampled_ns = f->now_ns;
}

void vq_control_write_status(struct vq_run *run)
{
    /* a script beside the run does not change the run's own status */
    if (run->work->write == NULL) {
        return;
    }
    struct vq_status_facts f = facts(run);
    struct vq_buf out;
    struct vq_error err = {0};
    sample(run, &f);
    /* otherwise the server is not open yet: a pause is applied again */
    if (run->control.recent != NULL) {
        vq_recent_add(run->control.recent, &f);
    }
    vq_buf_init(&out, STATUS_BYTES_MAX);
    vq_status_json(&f, &out);
    if (vq_run_dir_write_buf(run->dir, "status.json", &out, false, &err) != VQ_OK) {
        vq_log(VQ_LOG_WARN, "status.unwritten", "why=%s", err.text);
    }
    vq_incidents_write(run);
    vq_metrics_write(run, &f);
}
