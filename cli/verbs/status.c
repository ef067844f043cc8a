/* `vibeq status`: gets the status from a running coordinator over its loopback address, else prints
 * its last status file. Reads neither Redis nor the store. */
#include "cli/endpoint.h"
#include "cli/status_screen.h"
#include "cli/status_watch.h"
#include "cli/ui/folder.h"
#include "cli/verbs.h"
#include "common/base/alloc.h"
#include "common/base/secret.h"
#include "common/text/fmt.h"
#include "common/text/json_load.h"
#include "coordinator/store/rundir/run_dir.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WATCH_MS      1000
#define URL_BYTES_MAX 2048

struct status_words {
    const char *runs;
    bool json, watch, url;
};

#define AT(field) offsetof(struct status_words, field)

const struct vq_opt vq_status_opts[] = {
    {"runs", VQ_OPT_TEXT, AT(runs), "DIR", "runs folder; default VIBEQ_RUNS, then ./runs"},
    {"json", VQ_OPT_FLAG, AT(json), NULL, "the whole status as JSON"},
    {"watch", VQ_OPT_FLAG, AT(watch), NULL, "show it again every second, until the run ends"},
    {"url", VQ_OPT_FLAG, AT(url), NULL, "print the address of the page, with the token"},
    {0},
};

/* ---- for people ---- */

/* Prints the names of /status in words for people. */
static void print_word(const char *key)
{
    static const char *const words[][2] = {
        {"open", "to do"}, {"leased", "out at workers"}, {"from_store", "of them from the store"}};
    for (size_t i = 0; i < VQ_COUNT(words); i++) {
        if (strcmp(key, words[i][0]) == 0) {
            key = words[i][1];
        }
    }
    for (; *key != '\0'; key++) {
        (void)putchar(*key == '_' ? ' ' : *key);
    }
}

/* Prints "12 answered, 3 not needed": all counts above 0; false: there are none. */
static bool print_counts(const char *before, const json_t *of, const char *const *left_out)
{
    const char *key;
    json_t *value;
    bool any = false;
    json_object_foreach((json_t *)of, key, value)
    {
        char n[VQ_FMT_BYTES];
        uint64_t count = (uint64_t)json_integer_value(value);
        bool shown = count > 0;
        for (size_t i = 0; left_out[i] != NULL; i++) {
            shown = shown && strcmp(key, left_out[i]) != 0;
        }
        if (shown) {
            printf("%s%s ", any ? ", " : before, vq_fmt_count(count, n));
            print_word(key);
            any = true;
        }
    }
    if (any) {
        printf("\n");
    }
    return any;
}

static void print_tasks(const json_t *of)
{
    static const char *const left_out[] = {NULL};
    if (!print_counts("", json_object_get(of, "tasks"), left_out)) {
        printf("none\n");
    }
}

static void print_failures(const json_t *of)
{
    static const char *const left_out[] = {"ended", "answer", "cancelled", NULL};
    const json_t *calls = json_object_get(of, "calls");
    uint64_t cancelled = vq_status_whole(calls, "cancelled");
    char n[VQ_FMT_BYTES];
    (void)print_counts("calls without an answer: ", calls, left_out);
    if (cancelled > 0) {
        printf("cancelled with their batches, without cost: %s call%s\n",
               vq_fmt_count(cancelled, n), vq_fmt_plural(cancelled));
    }
}

/* The name of a worker is a foreign text, and a terminal interprets some characters. */
static void print_padded(const char *text, size_t columns)
{
    vq_cli_put_plain(vq_span_str(text));
    for (size_t at = strlen(text); at < columns; at++) {
        (void)putchar(' ');
    }
}

static void print_workers(const json_t *status)
{
    const json_t *workers = json_object_get(status, "workers");
    size_t i;
    json_t *w;
    json_array_foreach(workers, i, w)
    {
        char tasks[VQ_FMT_BYTES];
        printf("  worker ");
        print_padded(vq_status_string(w, "name"), 12);
        printf(" on ");
        print_padded(vq_status_string(w, "host"), 16);
        printf(" holds %s task%s of %llu sample%s%s\n",
               vq_fmt_count(vq_status_whole(w, "tasks_held"), tasks),
               vq_fmt_plural(vq_status_whole(w, "tasks_held")),
               (unsigned long long)vq_status_whole(w, "leases"),
               vq_fmt_plural(vq_status_whole(w, "leases")),
               json_is_true(json_object_get(w, "draining")) ? ", draining" : "");
        if (vq_status_string(w, "keys")[0] != '\0') {
            printf("    ");
            vq_cli_put_plain(vq_span_str(vq_status_string(w, "keys")));
            printf("\n");
        }
    }
}

static void print_judges(const json_t *status)
{
    const json_t *judges = json_object_get(status, "judges");
    size_t i;
    json_t *j;
    json_array_foreach(judges, i, j)
    {
        printf("  judge %s: ", vq_status_string(j, "name"));
        print_tasks(j);
        if (vq_status_string(j, "closed")[0] != '\0') {
            printf("    closed: ");
            vq_cli_put_plain(vq_span_str(vq_status_string(j, "closed")));
            printf("\n");
        }
    }
}

static void print_when(double unix_ms, char ret_text[32])
{
    time_t when = (time_t)(unix_ms / 1000);
    struct tm tm;
    (void)localtime_r(&when, &tm);
    (void)strftime(ret_text, 32, "%Y-%m-%d %H:%M:%S", &tm);
}

/* Prints "552 of 600 requests a minute (by config)" for each limit. */
static void print_limits(const json_t *pool)
{
    static const struct {
        const char *key, *what;
    } limits[] = {{"requests_per_minute", "requests"},
                  {"input_tokens_per_minute", "input tokens"},
                  {"output_tokens_per_minute", "output tokens"},
                  {"tokens_per_minute", "tokens"}};
    bool first = true;
    for (size_t i = 0; i < VQ_COUNT(limits); i++) {
        const json_t *l = json_object_get(json_object_get(pool, "limits"), limits[i].key);
        if (!json_is_number(json_object_get(l, "limit"))) {
            continue;
        }
        char used[VQ_FMT_BYTES], most[VQ_FMT_BYTES];
        printf("%s%s of %s %s a minute (%s)", first ? "    " : ", ",
               vq_fmt_count((uint64_t)vq_status_number(l, "used"), used),
               vq_fmt_count((uint64_t)vq_status_number(l, "limit"), most), limits[i].what,
               vq_status_string(l, "by"));
        first = false;
    }
    if (!first) {
        printf("\n");
    }
}

static void print_money(const json_t *status, bool running)
{
    const json_t *money = json_object_get(status, "money");
    double spent = vq_status_number(money, "spent_usd"),
           budget = vq_status_number(money, "budget_usd");
    if (spent > 0 || budget > 0) {
        printf("  spent $%.4f", spent);
        if (budget > 0) {
            printf(" of $%.4f", budget);
        }
        if (budget > 0 && running) {
            printf(", $%.4f more may be under way", vq_status_number(money, "reserved_usd"));
        }
        printf("\n");
    }
}

static void print_pool_state(const json_t *p)
{
    char when[32];
    printf(" %s", vq_status_string(p, "state"));
    if (strcmp(vq_status_string(p, "state"), "open") != 0) {
        print_when(vq_status_number(p, "since_unix_ms"), when);
        printf(" since %s", when);
        if (vq_status_number(p, "until_unix_ms") > 0) {
            print_when(vq_status_number(p, "until_unix_ms"), when);
            printf(" until %s", when);
        }
    }
    printf(",");
}

static void print_limited(const json_t *pool)
{
    const char *text = vq_status_string(json_object_get(pool, "limited"), "text");
    char when[32];
    if (text[0] != '\0') {
        printf("    ");
        vq_cli_put_plain(vq_span_str(text));
        printf("\n");
    }
    if (vq_status_number(pool, "slow_since_unix_ms") > 0) {
        print_when(vq_status_number(pool, "slow_since_unix_ms"), when);
        printf("    slow since %s: under a quarter of the configured rate, and hardly a call is "
               "refused\n",
               when);
    }
}

/* Prints a pool. If the run is not active, "unserved" is not reported: no worker exists. */
static void print_pool(const json_t *p, bool running)
{
    char calls[VQ_FMT_BYTES], in[VQ_FMT_BYTES], out[VQ_FMT_BYTES];
    uint64_t tokens_in = vq_status_whole(p, "tokens_in"),
             cached = vq_status_whole(p, "tokens_cached");
    bool news = running || strcmp(vq_status_string(p, "state"), "unserved") != 0;
    printf("  pool %s:", vq_status_string(p, "name"));
    if (news) {
        print_pool_state(p);
    }
    printf(" %s call%s, %llu in flight, %llu waiting, %s token%s in",
           vq_fmt_count(vq_status_whole(p, "calls"), calls),
           vq_fmt_plural(vq_status_whole(p, "calls")),
           (unsigned long long)vq_status_whole(p, "in_flight"),
           (unsigned long long)vq_status_whole(p, "waiting"), vq_fmt_count(tokens_in, in),
           vq_fmt_plural(tokens_in));
    if (cached > 0) {
        printf(" (%.0f %% from a cache)", 100 * (double)cached / (double)tokens_in);
    }
    printf(", %s out\n", vq_fmt_count(vq_status_whole(p, "tokens_out"), out));
    if (news && vq_status_string(p, "text")[0] != '\0') {
        printf("    ");
        vq_cli_put_plain(vq_span_str(vq_status_string(p, "text")));
        printf("\n");
    }
    print_limits(p);
    bool open =
        strcmp(vq_status_string(p, "state"), "open") == 0; /* otherwise the state shows the limit */
    if (running && open) {
        print_limited(p);
    }
}

static void print_pools(const json_t *status, bool running)
{
    size_t i;
    json_t *p;
    json_array_foreach(json_object_get(status, "pools"), i, p)
    {
        print_pool(p, running);
    }
    print_money(status, running);
}

/* The leased tasks; after a restart also tasks of workers whose leases came from the last
 * coordinator. */
static uint64_t tasks_out(const json_t *status)
{
    uint64_t leased = vq_status_whole(json_object_get(status, "tasks"), "leased");
    uint64_t calls = vq_status_whole(status, "calls_out") - vq_status_whole(status, "in_batches");
    return leased > calls ? leased : calls;
}

/* Prints " (2 min to 4 min)"; nothing if the times are not known. */
static void print_eta_range(const json_t *status)
{
    const json_t *low = json_object_get(status, "eta_low_s");
    const json_t *high = json_object_get(status, "eta_high_s");
    char from[VQ_FMT_BYTES], to[VQ_FMT_BYTES];
    if (json_is_number(low) && vq_status_number(status, "eta_s") > 0) {
        vq_fmt_duration((int64_t)(json_number_value(low) * 1e9), from);
        if (json_is_number(high)) {
            vq_fmt_duration((int64_t)(json_number_value(high) * 1e9), to);
            printf(" (%s to %s)", from, to);
        } else {
            printf(" (at least %s)", from);
        }
    }
}

/* "deadline 2026-11-29 07:00:00: batches have until 2026-11-29 05:12:40". */
static void print_deadline(const json_t *status)
{
    const json_t *d = json_object_get(status, "deadline");
    const char *state = vq_status_string(d, "state");
    char at[32], ends[32] = "an unknown time";
    if (!json_is_object(d)) {
        return;
    }
    print_when(vq_status_number(d, "unix_ms"), at);
    if (json_is_number(json_object_get(d, "ends_unix_ms"))) {
        print_when(vq_status_number(d, "ends_unix_ms"), ends);
    }
    if (strcmp(state, "batches") == 0) {
        char until[32];
        print_when(vq_status_number(d, "batches_until_unix_ms"), until);
        printf("deadline %s: batches have until %s, the run is over by %s\n", at, until, ends);
    } else if (strcmp(state, "interactive") == 0) {
        printf("deadline %s: the run is over at about %s\n", at, ends);
    } else if (strcmp(state, "unknown") == 0) {
        printf("deadline %s: no rate is known yet\n", at);
    } else {
        printf("deadline %s %s: the run is over at about %s\n", at,
               strcmp(state, "late") == 0 ? "CANNOT BE MET" : "HAS PASSED", ends);
    }
}

static void print_status(const json_t *status, const char *run, bool running)
{
    char when[32];
    print_when(vq_status_number(status, "written_unix_ms"), when);
    const char *state = vq_status_string(status, "state");
    if (running) {
        printf("%s: %s\n", run, state);
    } else if (strcmp(state, "finished") == 0) {
        printf("%s: finished at %s\n", run, when);
    } else {
        printf("%s: not running since %s; vibeq resume %s\n", run, when, run);
    }
    if (vq_status_string(status, "note")[0] != '\0') {
        printf("%s\n", vq_status_string(status, "note"));
    }
    if (json_object_get(status, "tasks") == NULL) {
        return;
    }
    char total[VQ_FMT_BYTES], rate[VQ_FMT_BYTES], out[VQ_FMT_BYTES], eta[VQ_FMT_BYTES];
    printf("%s %s: %s task%s: ", running ? "stage" : "last stage",
           vq_status_string(status, "stage"),
           vq_fmt_count(vq_status_whole(status, "tasks_total"), total),
           vq_fmt_plural(vq_status_whole(status, "tasks_total")));
    print_tasks(status);
    if (running) {
        const json_t *left = json_object_get(status, "eta_s");
        printf("%s calls, %s task%s out at workers, %s left",
               vq_fmt_rate(vq_status_number(status, "calls_per_s"), rate),
               vq_fmt_count(tasks_out(status), out), vq_fmt_plural(tasks_out(status)),
               json_is_number(left) ? vq_fmt_duration((int64_t)(json_number_value(left) * 1e9), eta)
                                    : "unknown time");
        print_eta_range(status);
        uint64_t batched = vq_status_whole(status, "in_batches");
        if (batched > 0) {
            printf("; %s in batches (vibeq ctl %s batches)", vq_fmt_count(batched, out), run);
        }
        printf("; Redis %s\n", vq_status_string(status, "redis"));
        print_deadline(status);
    }
    print_failures(status);
    if (vq_status_whole(json_object_get(status, "tasks"), "failed") > 0) {
        printf("what failed, and why: vibeq dead %s\n", run);
    }
    print_judges(status);
    print_pools(status, running);
    if (running) {
        print_workers(status);
    }
}

/* ---- the verb ---- */

/* The newest run; an active run comes first. */
static enum vq_status newest(const char *runs_dir, char ret_name[VQ_RUN_NAME_BYTES_MAX + 1],
                             struct vq_error *err)
{
    struct vq_run_info *runs;
    size_t count;
    VQ_TRY(vq_runs_list(runs_dir, &runs, &count, err));
    const struct vq_run_info *best = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct vq_run_info *r = &runs[i];
        if (best == NULL || r->running > best->running ||
            (r->running == best->running && r->changed_unix_ms > best->changed_unix_ms)) {
            best = r;
        }
    }
    enum vq_status status = VQ_OK;
    if (best == NULL) {
        status = vq_fail(err, VQ_NOT_FOUND, "there is no run in %s", runs_dir);
    } else {
        memcpy(ret_name, best->name, sizeof(best->name));
    }
    vq_free(runs);
    return status;
}

static enum vq_status fetch(const char *runs_dir, const char *name, struct vq_buf *out,
                            bool *ret_running, struct vq_error *err)
{
    struct vq_run_info info;
    VQ_TRY(vq_run_info_read(runs_dir, name, &info, err));
    *ret_running = info.running;
    struct vq_endpoint endpoint;
    if (info.running && vq_run_endpoint_read(runs_dir, name, &endpoint, err) == VQ_OK) {
        int http = 0;
        bool sent;
        enum vq_status status =
            vq_endpoint_ask(&endpoint, "/api/v1/status", vq_span(NULL, 0), out, &http, &sent, err);
        vq_wipe(&endpoint, sizeof(endpoint));
        if (status == VQ_OK && http == 200) {
            return VQ_OK;
        }
        vq_buf_clear(out);
    }
    if (!info.has_status) {
        return vq_fail(err, VQ_NOT_FOUND,
                       info.running ? "%s is just starting"
                                    : "%s ended before it sent a call; vibeq resume %s starts it, "
                                      "or reports why it cannot",
                       name, name);
    }
    return vq_run_file_read(runs_dir, name, "status.json", out, err);
}

/* A coordinator that was killed wrote that it is active: replaces this state; the other values are
 * those of that time. */
static enum vq_status print_json(struct vq_span body, const char *state, bool running,
                                 struct vq_error *err)
{
    char was[64];
    bool gone = !running && strcmp(state, "finished") != 0 && strcmp(state, "stopped") != 0;
    (void)snprintf(was, sizeof(was), "\"state\": \"%s\"", state);
    const char *at = gone ? memmem(body.at, body.bytes, was, strlen(was)) : NULL;
    if (at == NULL) {
        return vq_cli_write(body, err);
    }
    size_t before = (size_t)(at - body.at), until = before + strlen(was);
    VQ_TRY(vq_cli_write(vq_span(body.at, before), err));
    VQ_TRY(vq_cli_write(vq_span_str("\"state\": \"stopped\""), err));
    return vq_cli_write(vq_span(body.at + until, body.bytes - until), err);
}

/* `body`: the text as it was received. */
static enum vq_status load(const char *runs_dir, const char *name, struct vq_buf *body,
                           json_t **ret_root, bool *ret_running, struct vq_error *err)
{
    json_error_t bad;
    VQ_TRY(fetch(runs_dir, name, body, ret_running, err));
    enum vq_status status = vq_json_load(vq_buf_span(body), 0, ret_root, &bad);
    return status == VQ_INVALID
               ? vq_fail(err, VQ_CORRUPT, "the status of %s cannot be read: %s", name, bad.text)
               : status;
}

struct watched {
    const char *runs_dir, *name;
};

static enum vq_status load_watched(void *ctx, json_t **ret_status, bool *ret_running,
                                   struct vq_error *err)
{
    const struct watched *watched = ctx;
    struct vq_buf body;
    vq_buf_init(&body, VQ_ENDPOINT_BYTES_MAX);
    enum vq_status status =
        load(watched->runs_dir, watched->name, &body, ret_status, ret_running, err);
    vq_buf_free(&body);
    return status;
}

static enum vq_status show(const struct status_words *w, const char *runs_dir, const char *name,
                           bool *ret_running, bool *ret_alarm, struct vq_error *err)
{
    struct vq_buf body;
    vq_buf_init(&body, VQ_ENDPOINT_BYTES_MAX);
    json_t *root = NULL;
    enum vq_status status = load(runs_dir, name, &body, &root, ret_running, err);
    if (status == VQ_OK && w->json) {
        status = print_json(vq_buf_span(&body), vq_status_string(root, "state"), *ret_running, err);
    } else if (status == VQ_OK) {
        print_status(root, name, *ret_running);
    }
    const json_t *alarm = json_object_get(root, "alarm");
    bool brake = strcmp(vq_status_string(alarm, "kind"), "brake") == 0;
    bool slow = strcmp(vq_status_string(alarm, "kind"), "slow") == 0; /* it makes progress */
    *ret_alarm = json_is_object(alarm) && !slow && (*ret_running || brake);
    json_decref(root);
    vq_buf_free(&body);
    return status;
}

/* Prints the address of the page of runs if the folder is served, else of the run's own page. */
static enum vq_status print_url(const char *runs_dir, const char *name, struct vq_error *err)
{
    struct vq_run_info info;
    struct vq_endpoint endpoint;
    struct vq_buf url;
    char page[VQ_RUN_NAME_BYTES_MAX + sizeof("/runs//")] = "/";
    VQ_TRY(vq_run_info_read(runs_dir, name, &info, err));
    if (vq_ui_folder_find(runs_dir, &endpoint) == VQ_OK) {
        (void)snprintf(page, sizeof(page), "/runs/%s/", name);
    } else if (!info.running) {
        return vq_fail(err, VQ_NOT_FOUND,
                       "%s is not active, so it has no page of its own; vibeq ui shows it", name);
    } else {
        VQ_TRY(vq_run_endpoint_read(runs_dir, name, &endpoint, err));
    }
    vq_buf_init(&url, URL_BYTES_MAX);
    vq_endpoint_url(&endpoint, page, &url);
    vq_buf_putc(&url, '\n');
    vq_wipe(&endpoint, sizeof(endpoint));
    enum vq_status status = url.status == VQ_OK ? vq_cli_write(vq_buf_span(&url), err) : url.status;
    vq_wipe(url.at, url.bytes);
    vq_buf_free(&url);
    return status;
}

int vq_verb_status(int argc, char **argv)
{
    struct status_words w = {0};
    struct vq_error err = {0};
    int words;
    if (vq_opts_parse(vq_status_opts, argc, argv, &w, &words, &err) != VQ_OK || words > 1) {
        return vq_cli_usage("status", "%s", words > 1 ? "one run at a time" : err.text);
    }
    char *runs_dir = NULL;
    char found[VQ_RUN_NAME_BYTES_MAX + 1];
    const char *name = words == 1 ? argv[0] : found;
    enum vq_status status = vq_runs_dir_find(w.runs, &runs_dir, &err);
    if (status == VQ_OK && words == 0) {
        status = newest(runs_dir, found, &err);
    }
    if (status == VQ_OK && w.url) {
        status = print_url(runs_dir, name, &err);
        vq_free(runs_dir);
        return status == VQ_OK ? VQ_EXIT_DONE : vq_cli_fail(status, &err);
    }
    bool running = true, alarm = false;
    bool tty = isatty(STDOUT_FILENO) != 0;
    if (status == VQ_OK && w.watch && tty && !w.json) {
        struct watched watched = {runs_dir, name};
        status = vq_status_watch(name, load_watched, &watched, &err);
    }
    while (status == VQ_OK) { /* after the screen, once: how the run ended */
        status = show(&w, runs_dir, name, &running, &alarm, &err);
        if (!w.watch || !running || status != VQ_OK) {
            break;
        }
        (void)fflush(stdout); /* vq_cli_end checks it */
        (void)usleep(WATCH_MS * 1000);
    }
    vq_free(runs_dir);
    if (status != VQ_OK) {
        return vq_cli_fail(status, &err);
    }
    return alarm ? VQ_EXIT_NO_PROGRESS : VQ_EXIT_DONE;
}
