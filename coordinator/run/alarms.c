/* Sends alarms to a command and to a webhook. Invariants: nothing here fails or delays the run,
 * except its end (VQ_ALARM_END_MS). Each receiver has at most one process or one request at a time,
 * with a deadline. A notice that a receiver does not take is logged and not sent again. The URL is
 * a secret: no log, message or status contains it. The command gets the texts in its environment,
 * so that no shell interprets them. It gets only the variables named below of the run's
 * environment, and no key. Not its job: deciding what is an alarm. */
#include "coordinator/run/parts.h"

#include "common/base/clock.h"
#include "common/text/log.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>

#define BODY_BYTES_MAX     65536u
#define RESPONSE_BYTES_MAX 65536u
#define CONNECT_MS         5000

static const char *const env_kept[] = {"PATH", "HOME",   "USER",    "LOGNAME",
                                       "LANG", "LC_ALL", "DISPLAY", "DBUS_SESSION_BUS_ADDRESS",
                                       "TZ",   NULL};

/* ---- the command ---- */

static void on_exit_of_command(void *ctx, struct vq_child_exit how)
{
    struct vq_run *run = ctx;
    if (how.code != 0) {
        vq_log(VQ_LOG_WARN, "alarm.untold", "by=%s code=%d signal=%d", "alarm.command", how.code,
               how.signal);
    }
    run->alarms.has_exited = true;
    vq_loop_again(run->loop);
}

static void on_command_late(void *ctx)
{
    struct vq_run *run = ctx;
    if (run->alarms.child != NULL) {
        (void)vq_child_kill(run->alarms.child, SIGKILL, true);
    }
}

static bool put_env(struct vq_buf *out, const char *name, const char *value)
{
    vq_buf_printf(out, "VIBEQ_%s=%s", name, value);
    vq_buf_putc(out, '\0');
    return out->status == VQ_OK;
}

static void start_command(struct vq_run *run, const struct vq_notice *n)
{
    struct vq_run_alarms *a = &run->alarms;
    const char *const fields[][2] = {{"RUN", vq_run_dir_name(run->dir)},
                                     {"ALARM_EVENT", n->begins ? "begin" : "end"},
                                     {"ALARM_KIND", n->kind},
                                     {"ALARM_WHAT", n->what},
                                     {"ALARM_TEXT", n->text},
                                     {"ALARM_ACTION", n->action}};
    const char *env[VQ_COUNT(fields) + 1] = {NULL};
    struct vq_buf texts[VQ_COUNT(fields)];
    struct vq_error err = {0};
    enum vq_status status = VQ_OK;
    for (size_t i = 0; i < VQ_COUNT(fields); i++) {
        vq_buf_init(&texts[i], 2 * VQ_NOTICE_TEXT_BYTES);
        if (!put_env(&texts[i], fields[i][0], fields[i][1])) {
            status = VQ_NOMEM;
        }
        env[i] = texts[i].at;
    }
    const char *const argv[] = {"/bin/sh", "-c", run->source.config->alarm.command, NULL};
    struct vq_child_options options = {.path = argv[0],
                                       .argv = argv,
                                       .env_keep = env_kept,
                                       .env_set = env,
                                       .exited = on_exit_of_command,
                                       .ctx = run};
    if (status == VQ_OK) {
        status = vq_child_spawn(run->loop, &options, &a->child, &err);
    }
    if (status == VQ_OK) {
        vq_timer_start(a->timer, VQ_ALARM_COMMAND_MS, 0);
    } else {
        vq_log(VQ_LOG_WARN, "alarm.untold", "by=%s why=%s", "alarm.command",
               err.text[0] != '\0' ? err.text : vq_status_text(status));
    }
    for (size_t i = 0; i < VQ_COUNT(fields); i++) {
        vq_buf_free(&texts[i]);
    }
}

/* ---- the webhook ---- */

static void on_posted(void *ctx, const struct vq_http_response *response)
{
    struct vq_run *run = ctx;
    run->alarms.posting = false;
    if (response->transport != VQ_TRANSPORT_OK || response->status < 200 ||
        response->status > 299) {
        bool late = response->transport == VQ_TRANSPORT_TIMEOUT_CONNECT ||
                    response->transport == VQ_TRANSPORT_TIMEOUT_FIRST_BYTE ||
                    response->transport == VQ_TRANSPORT_TIMEOUT_TOTAL;
        vq_log(VQ_LOG_WARN, "alarm.untold", "by=%s status=%d why=%s", "alarm.webhook",
               response->status,
               late                                            ? "no answer in time"
               : response->transport == VQ_TRANSPORT_CANCELLED ? "the run has ended"
               : response->transport == VQ_TRANSPORT_OK        ? "refused"
                                                               : "no connection");
    }
    vq_loop_again(run->loop);
}

static enum vq_status post(void *ctx, struct vq_span url)
{
    struct vq_run *run = ctx;
    struct vq_run_alarms *a = &run->alarms;
    static const struct vq_http_header headers[] = {
        {{"Content-Type", 12}, {"application/json", 16}}};
    char text[VQ_HTTP_URL_BYTES_MAX];
    if (url.bytes >= sizeof(text)) {
        return VQ_LIMIT;
    }
    memcpy(text, url.at, url.bytes);
    text[url.bytes] = '\0';
    struct vq_http_request request = {.method = VQ_HTTP_POST,
                                      .url = text,
                                      .headers = headers,
                                      .headers_count = VQ_COUNT(headers),
                                      .body = vq_buf_span(&a->body),
                                      .connect_ms = CONNECT_MS,
                                      .first_byte_ms = VQ_ALARM_WEBHOOK_MS,
                                      .total_ms = VQ_ALARM_WEBHOOK_MS,
                                      .body_bytes_max = RESPONSE_BYTES_MAX,
                                      .done = on_posted,
                                      .ctx = run};
    struct vq_error unsaid = {0}; /* not logged: it may contain the URL */
    enum vq_status status = vq_http_start(a->http, &request, NULL, &unsaid);
    vq_wipe(text, sizeof(text));
    vq_wipe(&unsaid, sizeof(unsaid));
    return status;
}

static void start_post(struct vq_run *run, const struct vq_notice *n)
{
    struct vq_run_alarms *a = &run->alarms;
    vq_buf_clear(&a->body);
    vq_notice_json(n, vq_run_dir_name(run->dir), &a->body);
    enum vq_status status =
        a->body.status != VQ_OK ? a->body.status : vq_secret_expose(a->url, post, run);
    a->posting = status == VQ_OK;
    if (status != VQ_OK) {
        vq_log(VQ_LOG_WARN, "alarm.untold", "by=%s why=%s", "alarm.webhook",
               vq_status_text(status));
    }
}

/* Whether the URL is allowed: https, or this machine. */
static enum vq_status check_url(void *ctx, struct vq_span url)
{
    char text[VQ_HTTP_URL_BYTES_MAX];
    (void)ctx;
    if (url.bytes >= sizeof(text) || memchr(url.at, '\0', url.bytes) != NULL) {
        return VQ_INVALID;
    }
    memcpy(text, url.at, url.bytes);
    text[url.bytes] = '\0';
    bool good = strncmp(text, "https://", 8) == 0 ||
                (strncmp(text, "http://", 7) == 0 && vq_http_url_is_local(text));
    vq_wipe(text, sizeof(text));
    return good ? VQ_OK : VQ_INVALID;
}

static enum vq_status open_webhook(struct vq_run *run, const char *from, struct vq_error *err)
{
    struct vq_run_alarms *a = &run->alarms;
    bool reference = strncmp(from, "env:", 4) == 0 || strncmp(from, "file:", 5) == 0;
    VQ_TRY(reference ? vq_secret_load(from, &a->url, err)
                     : vq_secret_from_bytes(vq_span_str(from), &a->url));
    if (vq_secret_expose(a->url, check_url, NULL) != VQ_OK) {
        return vq_fail(err, VQ_INVALID,
                       "alarm.webhook: give an https URL, an http URL of this machine, or env:NAME "
                       "or file:PATH with one");
    }
    vq_buf_init(&a->body, BODY_BYTES_MAX);
    return vq_http_create(run->loop, &(struct vq_http_options){.calls_max = 1}, &a->http, err);
}

/* ---- both ---- */

enum vq_status vq_alarms_open(struct vq_run *run, struct vq_error *err)
{
    const struct vq_conf_alarm *conf = &run->source.config->alarm;
    if (conf->command != NULL) {
        VQ_TRY(vq_timer_create(run->loop, on_command_late, run, &run->alarms.timer));
    }
    return conf->webhook == NULL ? VQ_OK : open_webhook(run, conf->webhook, err);
}

static void send(struct vq_run *run, const struct vq_notice *notice)
{
    struct vq_run_alarms *a = &run->alarms;
    if (a->timer != NULL) {
        vq_notice_queue_put(&a->commands, notice);
    }
    if (a->url != NULL) {
        vq_notice_queue_put(&a->posts, notice);
    }
    vq_alarms_turn(run);
}

/* Makes one line without control characters: parts of the text come from providers. */
static void compose(const char *fmt, va_list args, char ret_text[VQ_NOTICE_TEXT_BYTES])
{
    char raw[VQ_NOTICE_TEXT_BYTES];
    struct vq_buf plain;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* the callers' literals are checked */
    (void)vsnprintf(raw, sizeof(raw), fmt, args);
#pragma GCC diagnostic pop
    vq_buf_init(&plain, 4 * sizeof(raw));
    vq_fmt_plain(&plain, vq_span_str(raw));
    vq_buf_putc(&plain, '\0');
    (void)snprintf(ret_text, VQ_NOTICE_TEXT_BYTES, "%s", plain.status == VQ_OK ? plain.at : "");
    vq_buf_free(&plain);
}

void vq_alarms_begin(struct vq_run *run, const char *kind, const char *what, const char *action,
                     const char *fmt, ...)
{
    char text[VQ_NOTICE_TEXT_BYTES];
    struct vq_notice notice;
    va_list args;
    va_start(args, fmt);
    compose(fmt, args, text);
    va_end(args);
    if (vq_notices_begin(&run->alarms.notices, kind, what, text, action, vq_clock_unix_ms(),
                         &notice)) {
        send(run, &notice);
    }
}

void vq_alarms_over(struct vq_run *run, const char *kind, const char *what, const char *fmt, ...)
{
    char text[VQ_NOTICE_TEXT_BYTES];
    struct vq_notice notice;
    va_list args;
    va_start(args, fmt);
    compose(fmt, args, text);
    va_end(args);
    if (vq_notices_end(&run->alarms.notices, kind, what, text, vq_clock_unix_ms(), &notice)) {
        send(run, &notice);
    }
}

void vq_alarms_turn(struct vq_run *run)
{
    struct vq_run_alarms *a = &run->alarms;
    struct vq_notice notice;
    if (a->has_exited) {
        vq_timer_stop(a->timer);
        vq_child_destroy(&a->child);
        a->has_exited = false;
    }
    while (a->child == NULL && vq_notice_queue_take(&a->commands, &notice)) {
        start_command(run, &notice);
    }
    while (!a->posting && vq_notice_queue_take(&a->posts, &notice)) {
        start_post(run, &notice);
    }
}

static bool all_sent(void *ctx)
{
    struct vq_run *run = ctx;
    vq_alarms_turn(run);
    return run->alarms.child == NULL && !run->alarms.posting;
}

void vq_alarms_end(struct vq_run *run)
{
    struct vq_run_alarms *a = &run->alarms;
    const char *name = vq_run_dir_name(run->dir);
    bool asked = run->stop.kind == VQ_COORD_STOP_DRAINED || run->stop.kind == VQ_COORD_STOP_NOW;
    while (a->notices.count > 0) {
        struct vq_notice last = a->notices.active[a->notices.count - 1];
        vq_alarms_over(run, last.kind, last.what, "Run %s has ended.", name);
    }
    if (run->fatal != VQ_OK || (run->stop.stopped && !asked)) {
        char action[VQ_NOTICE_TEXT_BYTES];
        (void)snprintf(action, sizeof(action), "Remove the cause, then: vibeq resume %s", name);
        vq_alarms_begin(run, "stopped", "", action, "Run %s stopped: %s", name,
                        run->fatal != VQ_OK ? run->err.text : run->stop.text);
    }
    if (run->fatal != VQ_OK) {
        vq_loop_on_turn(run->loop, NULL, NULL);
    }
    if (!all_sent(run) && vq_loop_run_until(run->loop, all_sent, run, VQ_ALARM_END_MS) != VQ_OK) {
        vq_log(VQ_LOG_WARN, "alarm.untold", "why=%s", "the run has ended");
    }
    if (a->commands.dropped + a->posts.dropped > 0) {
        vq_log(VQ_LOG_WARN, "alarm.dropped", "commands=%llu posts=%llu",
               (unsigned long long)a->commands.dropped, (unsigned long long)a->posts.dropped);
    }
}

void vq_alarms_close(struct vq_run_alarms *alarms)
{
    vq_http_destroy(&alarms->http); /* calls on_posted */
    vq_timer_destroy(&alarms->timer);
    vq_child_destroy(&alarms->child);
    vq_secret_destroy(&alarms->url);
    vq_buf_free(&alarms->body);
}
