/* The server of `vibeq ui`. Invariants: it writes nothing into the folder of a run; requests about
 * an active run go to the run's own server, and a finished run is read from its files; a thread
 * reads the folder, so a slow disk blocks no other request. Owns the list of runs, which only the
 * thread uses during a scan. Not its job: the contents of the pages (coordinator/web/pages/). */
#include "cli/ui/server.h"

#include "cli/endpoint.h"
#include "cli/ui/folder.h"
#include "cli/ui/path.h"
#include "cli/ui/relay.h"
#include "cli/ui/runs.h"
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/secret.h"
#include "common/net/child.h"
#include "common/net/signals.h"
#include "common/text/json.h"
#include "coordinator/run/http_server.h"
#include "coordinator/web/history.h"
#include "coordinator/web/metrics.h"
#include "coordinator/web/pages.h"
#include "coordinator/web/troubles.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define API          "/api/v1/runs/"
#define NO_FILE      "there is nothing here\n"
#define URL_MAX      2048
#define LISTEN_BYTES 32

/* A request that waits for the scan. */
struct waiting {
    struct waiting *next;
    struct vq_httpd_wait *wait;
    char name[VQ_RUN_NAME_BYTES_MAX + 1]; /* "": all runs */
};

struct ui {
    const char *runs_dir;
    struct vq_loop *loop;
    struct vq_http *client;
    struct vq_http_server http;
    struct vq_ui_folder folder;
    struct vq_ui_runs *runs; /* used only by the thread while `scanning` */
    bool scanning, closing;
    enum vq_status scanned; /* how the last scan ended */
    struct vq_error scan_err;
    int64_t scanned_ns; /* 0: never */
    struct waiting *waiting;
};

/* The report is a separate page, from a folder that may be foreign. It gets its own origin
 * (sandbox), so no script in it reaches our pages or the token. The file has its own policy, which
 * allows its script by hash; both policies count. */
static const char report_policy[] =
    "sandbox allow-scripts allow-downloads allow-modals allow-popups; default-src 'none'; "
    "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'";

static void refuse(struct vq_httpd_response *response, enum vq_status status,
                   const struct vq_error *err)
{
    response->status = status == VQ_NOT_FOUND ? 404 : status == VQ_DENIED ? 403 : 500;
    vq_buf_printf(response->body, "%s\n",
                  err->text[0] != '\0' ? err->text : vq_status_text(status));
}

/* ---- the list ---- */

static void give_runs(struct ui *ui, const char *name, struct vq_httpd_response *response)
{
    response->content_type = "application/json";
    if (ui->scanned != VQ_OK) {
        response->content_type = NULL;
        refuse(response, ui->scanned, &ui->scan_err);
        response->status = 500;
    } else if (name[0] == '\0') {
        vq_ui_runs_json(ui->runs, response->body);
    } else if (!vq_ui_runs_json_of(ui->runs, name, response->body)) {
        response->content_type = NULL;
        response->status = 404;
        vq_buf_printf(response->body, "there is no run %s\n", name);
    }
}

static void answer_all(struct ui *ui, bool closing)
{
    for (struct waiting *w = ui->waiting, *next; w != NULL; w = next) {
        next = w->next;
        struct vq_buf body;
        vq_buf_init(&body, VQ_HTTPD_RESPONSE_BYTES_MAX);
        struct vq_httpd_response response = {.status = 200, .body = &body};
        if (closing) {
            response.status = 503;
            vq_buf_puts(&body, "vibeq ui ends\n");
        } else {
            give_runs(ui, w->name, &response);
        }
        vq_httpd_answer(w->wait, &response);
        vq_buf_free(&body);
        vq_free(w);
    }
    ui->waiting = NULL;
}

/* Runs in a thread. */
static void scan(void *ctx)
{
    struct ui *ui = ctx;
    ui->scan_err.text[0] = '\0';
    ui->scanned = vq_ui_runs_scan(ui->runs, &ui->scan_err);
}

static void on_scanned(void *ctx)
{
    struct ui *ui = ctx;
    ui->scanning = false;
    ui->scanned_ns = vq_clock_mono_ns();
    if (!ui->closing) {
        answer_all(ui, false);
    }
}

static void give_scanned(struct ui *ui, const char *name, const struct vq_httpd_request *request,
                         struct vq_httpd_response *response)
{
    int64_t age_ns = vq_clock_mono_ns() - ui->scanned_ns;
    if (!ui->scanning && ui->scanned_ns != 0 && age_ns < VQ_UI_FRESH_MS * VQ_NS_PER_MS) {
        give_runs(ui, name, response);
        return;
    }
    struct waiting *w = vq_alloc(1, sizeof(*w));
    if (w == NULL || (!ui->scanning && vq_loop_work(ui->loop, scan, on_scanned, ui) != VQ_OK)) {
        vq_free(w);
        response->status = 500;
        vq_buf_puts(response->body, "out of memory\n");
        return;
    }
    ui->scanning = true;
    (void)snprintf(w->name, sizeof(w->name), "%s", name);
    w->wait = vq_httpd_wait(request);
    w->next = ui->waiting;
    ui->waiting = w;
}

static void on_runs(void *ctx, const struct vq_httpd_request *request,
                    struct vq_httpd_response *response)
{
    give_scanned(ctx, "", request, response);
}

/* ---- one run ---- */

static bool take_path(const char *prefix, const struct vq_httpd_request *request,
                      struct vq_ui_path *ret_path, struct vq_httpd_response *response)
{
    if (vq_ui_path_parse(prefix, request->path, ret_path)) {
        return true;
    }
    response->status = 404;
    vq_buf_puts(response->body, NO_FILE);
    return false;
}

/* A file of the run's folder that is sent unchanged. */
struct file {
    const char *path; /* after the run's name */
    struct vq_ui_file of;
    const char *type;
    const char *policy;
    bool of_active; /* also for an active run; false: the run's own server answers then */
};

static const struct file report_file = {"report",
                                        {"results", VQ_UI_REPORT_FILE, "results"},
                                        "text/html; charset=utf-8",
                                        report_policy,
                                        true};
static const struct file results_file = {
    "results", {"results", "results.json", "results"}, "application/json", NULL, true};
static const struct file metrics_file = {
    /* at most 5 s old */
    "metrics",
    {NULL, VQ_METRICS_FILE, "metrics"},
    VQ_METRICS_CONTENT_TYPE,
    NULL,
    true};
static const struct file incidents_file = {
    "incidents", {NULL, VQ_INCIDENTS_FILE, "incidents"}, "application/json", NULL, false};

static const struct file *file_of(const char *path)
{
    static const struct file *const files[] = {&report_file, &results_file, &metrics_file,
                                               &incidents_file};
    for (size_t i = 0; i < VQ_COUNT(files); i++) {
        if (strcmp(files[i]->path, path) == 0) {
            return files[i];
        }
    }
    return NULL;
}

static void give_file(const struct ui *ui, const char *name, const struct file *file,
                      struct vq_httpd_response *response)
{
    struct vq_error err = {0};
    struct vq_buf bytes;
    vq_buf_init(&bytes, VQ_UI_RESULTS_BYTES_MAX);
    enum vq_status status = vq_ui_run_file(ui->runs_dir, name, &file->of, &bytes, &err);
    if (status == VQ_OK) {
        response->content_type = file->type;
        response->policy = file->policy;
        response->compress = file->of.folder != NULL;
        vq_buf_append(response->body, bytes.at, bytes.bytes);
    } else {
        refuse(response, status, &err);
    }
    vq_buf_free(&bytes);
}

/* `status` shows whether the body was made. */
static void give_json(struct vq_httpd_response *response, enum vq_status status,
                      const struct vq_error *err)
{
    if (status == VQ_OK) {
        response->content_type = "application/json";
    } else {
        refuse(response, status, err);
    }
}

static void give_history(const struct ui *ui, const char *name,
                         const struct vq_httpd_request *request, struct vq_httpd_response *response)
{
    struct vq_error err = {0};
    uint64_t after;
    if (!vq_history_after(vq_httpd_query(request, "after"), &after)) {
        response->status = 400;
        vq_buf_puts(response->body, VQ_HISTORY_AFTER_WRONG);
        return;
    }
    give_json(response, vq_ui_run_history(ui->runs_dir, name, after, response->body, &err), &err);
}

static void give_status(const struct ui *ui, const char *name, struct vq_httpd_response *response)
{
    struct vq_error err = {0};
    give_json(response, vq_ui_run_status(ui->runs_dir, name, response->body, &err), &err);
}

static void on_run(void *ctx, const struct vq_httpd_request *request,
                   struct vq_httpd_response *response)
{
    struct ui *ui = ctx;
    struct vq_ui_path path;
    struct vq_error err = {0};
    bool active = false;
    if (!take_path(API, request, &path, response)) {
        return;
    }
    const struct file *file = file_of(path.rest);
    if (path.rest[0] == '\0') {
        give_scanned(ui, path.name, request, response);
    } else if (file != NULL && file->of_active) {
        give_file(ui, path.name, file, response);
    } else {
        enum vq_status status = vq_ui_run_is_active(ui->runs_dir, path.name, &active, &err);
        if (status != VQ_OK) {
            refuse(response, status, &err);
        } else if (active) {
            vq_ui_relay(ui->client, ui->runs_dir, path.name, path.rest, request, response);
        } else if (strcmp(path.rest, "status") == 0) {
            give_status(ui, path.name, response);
        } else if (strcmp(path.rest, "history") == 0) {
            give_history(ui, path.name, request, response);
        } else if (file != NULL) {
            give_file(ui, path.name, file, response);
        } else {
            response->status = 404;
            vq_buf_printf(response->body, "%s is not active, so it has no such path\n", path.name);
        }
    }
}

static void on_run_post(void *ctx, const struct vq_httpd_request *request,
                        struct vq_httpd_response *response)
{
    struct ui *ui = ctx;
    struct vq_ui_path path;
    struct vq_error err = {0};
    struct vq_json j;
    bool active = false;
    if (!take_path(API, request, &path, response)) {
        return;
    }
    enum vq_status status = vq_ui_run_is_active(ui->runs_dir, path.name, &active, &err);
    if (status != VQ_OK) {
        refuse(response, status, &err);
    } else if (active) {
        vq_ui_relay(ui->client, ui->runs_dir, path.name, path.rest, request, response);
    } else {
        char text[VQ_ERROR_BYTES_MAX];
        (void)snprintf(text, sizeof(text), "%s is not active; vibeq resume %s continues it",
                       path.name, path.name);
        response->status = 409;
        response->content_type = "application/json";
        vq_json_init(&j, response->body, 0);
        vq_json_object(&j);
        vq_json_put_bool(&j, "ok", false);
        vq_json_put_str(&j, "text", text);
        vq_json_object_end(&j);
    }
}

/* ---- pages ---- */

static void on_file(void *ctx, const struct vq_httpd_request *request,
                    struct vq_httpd_response *response)
{
    (void)ctx;
    struct vq_ui_path path;
    const char *name = request->path;
    if (strcmp(name, "/") == 0) {
        name = "/pages/runs.html";
    } else if (vq_ui_path_parse("/runs/", name, &path) && path.rest[0] == '\0') {
        name = "/"; /* the page of a run */
    }
    const struct vq_web_file *file = vq_web_file_find(name);
    if (file == NULL) {
        response->status = 404;
        vq_buf_puts(response->body, NO_FILE);
        return;
    }
    response->content_type = file->type;
    response->compress = true;
    vq_buf_append(response->body, file->body.at, file->body.bytes);
}

static void on_report(void *ctx, const struct vq_httpd_request *request,
                      struct vq_httpd_response *response)
{
    struct ui *ui = ctx;
    struct vq_ui_path path;
    if (!take_path("/reports/", request, &path, response)) {
        return;
    }
    if (!vq_ui_ticket_is_of(ui->runs, path.name, path.rest)) {
        response->status = 403;
        vq_buf_puts(response->body,
                    "this address is of a vibeq ui that has ended; open the report from the page "
                    "of runs\n");
        return;
    }
    give_file(ui, path.name, &report_file, response);
}

static void on_healthz(void *ctx, const struct vq_httpd_request *request,
                       struct vq_httpd_response *response)
{
    (void)ctx;
    (void)request;
    vq_buf_puts(response->body, "ok\n");
}

/* Whether the folder exists, so that the list can be made. */
static void on_readyz(void *ctx, const struct vq_httpd_request *request,
                      struct vq_httpd_response *response)
{
    (void)request;
    const struct ui *ui = ctx;
    int fd = open(ui->runs_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        response->status = 503;
        vq_buf_printf(response->body, "%s cannot be read: %s\n", ui->runs_dir, strerror(errno));
        return;
    }
    (void)close(fd);
    vq_buf_puts(response->body, "ok\n");
}

static const struct vq_httpd_route routes[] = {
    {.method = VQ_HTTPD_GET, .path = "/", .access = VQ_HTTPD_ANYONE, .handle = on_file},
    {.method = VQ_HTTPD_GET, .path = "/pages/*", .access = VQ_HTTPD_ANYONE, .handle = on_file},
    {.method = VQ_HTTPD_GET, .path = "/runs/*", .access = VQ_HTTPD_ANYONE, .handle = on_file},
    {.method = VQ_HTTPD_GET, .path = "/reports/*", .access = VQ_HTTPD_ANYONE, .handle = on_report},
    {.method = VQ_HTTPD_GET, .path = "/healthz", .access = VQ_HTTPD_LOCAL, .handle = on_healthz},
    {.method = VQ_HTTPD_GET, .path = "/readyz", .access = VQ_HTTPD_LOCAL, .handle = on_readyz},
    {.method = VQ_HTTPD_GET, .path = "/api/v1/runs", .handle = on_runs},
    {.method = VQ_HTTPD_GET, .path = API "*", .handle = on_run},
    {.method = VQ_HTTPD_POST, .path = API "*", .handle = on_run_post},
};

/* ---- start and end ---- */

static enum vq_status listen_at(struct ui *ui, const struct vq_run_http *http,
                                struct vq_endpoint *ret_endpoint, struct vq_error *err)
{
    enum vq_status status = vq_http_server_open(ui->loop, http, routes, VQ_COUNT(routes), ui,
                                                &ui->http, ret_endpoint, err);
    if (status != VQ_OK) {
        vq_http_server_close(&ui->http);
    }
    return status;
}

/* Listens at the address of --http; else at the first free one of the usual ports. */
static enum vq_status listen(struct ui *ui, const struct vq_ui_options *options,
                             struct vq_endpoint *ret_endpoint, struct vq_error *err)
{
    if (options->http.listen != NULL) {
        return listen_at(ui, &options->http, ret_endpoint, err);
    }
    for (unsigned port = VQ_UI_PORT; port < VQ_UI_PORT + VQ_UI_PORTS; port++) {
        char address[LISTEN_BYTES];
        struct vq_run_http http = options->http;
        (void)snprintf(address, sizeof(address), "127.0.0.1:%u", port);
        http.listen = address;
        enum vq_status status = listen_at(ui, &http, ret_endpoint, err);
        if (status == VQ_OK && port != VQ_UI_PORT && !options->quiet) {
            fprintf(stderr, "Port %d is taken, so vibeq ui listens on port %u\n", VQ_UI_PORT, port);
        }
        if (status != VQ_EXISTS) {
            return status;
        }
    }
    return vq_fail(err, VQ_EXISTS, "the ports %d to %d are taken; choose another one with --http",
                   VQ_UI_PORT, VQ_UI_PORT + VQ_UI_PORTS - 1);
}

static void on_stop(void *ctx, int signum)
{
    (void)signum;
    vq_loop_stop(((struct ui *)ctx)->loop);
}

static void on_browser_end(void *ctx, struct vq_child_exit how)
{
    (void)ctx;
    if (how.code != 0) {
        fprintf(stderr, "vibeq: xdg-open could not open a browser; open the address above\n");
    }
}

/* Opens a browser; its failure does not affect the server. */
static void open_browser(struct ui *ui, const char *url, struct vq_child **ret_child)
{
    char path[VQ_RUN_PATH_BYTES_MAX];
    struct vq_error err = {0};
    enum vq_status status = ui->folder.lock_fd < 0
                                ? vq_fail(&err, VQ_DENIED, "the runs folder cannot be written")
                                : vq_ui_folder_write_door(&ui->folder, url, path, &err);
    if (status == VQ_OK) {
        const char *argv[] = {"xdg-open", path, NULL};
        struct vq_child_options options = {.path = "xdg-open",
                                           .argv = argv,
                                           .env_all = true,
                                           .own_fate = true,
                                           .exited = on_browser_end,
                                           .ctx = ui};
        status = vq_child_spawn(ui->loop, &options, ret_child, &err);
    }
    if (status != VQ_OK) {
        fprintf(stderr, "vibeq: no browser was opened (%s); open the address above\n", err.text);
    }
}

/* Prints the address on standard output, for people. It contains the token only if the token is
 * random. */
static enum vq_status say(struct ui *ui, const struct vq_ui_options *options,
                          const struct vq_endpoint *endpoint, struct vq_child **ret_browser)
{
    struct vq_buf url;
    bool random = options->http.token_file == NULL;
    vq_buf_init(&url, URL_MAX);
    vq_endpoint_url(endpoint, "/", &url);
    VQ_TRY(url.status);
    if (!options->quiet) {
        printf("vibeq ui serves %s at %s%s\n", options->runs_dir,
               random ? url.at : endpoint->address,
               random ? "" : "/ (it asks for the token of --http-token-file)");
        (void)fflush(stdout);
    }
    if (options->open_browser) {
        open_browser(ui, url.at, ret_browser);
    }
    vq_wipe(url.at, url.bytes);
    vq_buf_free(&url);
    return VQ_OK;
}

static enum vq_status serve(struct ui *ui, const struct vq_ui_options *options,
                            struct vq_error *err)
{
    struct vq_endpoint endpoint = {0};
    struct vq_signal *signals[2] = {NULL, NULL};
    struct vq_child *browser = NULL;
    struct vq_error note = {0};
    VQ_TRY(vq_http_create(ui->loop, NULL, &ui->client, err));
    enum vq_status status = vq_ui_folder_take(options->runs_dir, &ui->folder, &note);
    if (status == VQ_LOCKED) {
        return vq_fail(err, status, "%s", note.text);
    }
    if (status != VQ_OK) {
        fprintf(stderr, "vibeq: %s; other commands do not learn the address\n", note.text);
    }
    VQ_TRY(listen(ui, options, &endpoint, err));
    status = ui->folder.lock_fd < 0 ? VQ_OK : vq_ui_folder_publish(&ui->folder, &endpoint, err);
    if (status == VQ_OK) {
        status = vq_signal_create(ui->loop, SIGINT, on_stop, ui, &signals[0]);
    }
    if (status == VQ_OK) {
        status = vq_signal_create(ui->loop, SIGTERM, on_stop, ui, &signals[1]);
    }
    if (status == VQ_OK) {
        status = say(ui, options, &endpoint, &browser);
    }
    vq_wipe(&endpoint, sizeof(endpoint));
    if (status == VQ_OK) {
        status = vq_loop_run(ui->loop);
    }
    vq_child_leave(&browser);
    vq_signal_destroy(&signals[0]);
    vq_signal_destroy(&signals[1]);
    return status;
}

enum vq_status vq_ui_serve(const struct vq_ui_options *options, struct vq_error *err)
{
    struct ui ui = {.runs_dir = options->runs_dir, .folder = {.lock_fd = -1}};
    VQ_TRY(vq_loop_create(&ui.loop, err));
    enum vq_status status = vq_ui_runs_create(options->runs_dir, &ui.runs);
    if (status == VQ_OK) {
        status = serve(&ui, options, err);
    }
    ui.closing = true;
    vq_ui_folder_release(&ui.folder);
    vq_http_destroy(&ui.client); /* answers requests that wait for a run */
    answer_all(&ui, true);
    vq_http_server_close(&ui.http);
    vq_loop_destroy(&ui.loop); /* waits for the thread */
    vq_ui_runs_destroy(&ui.runs);
    return status;
}
