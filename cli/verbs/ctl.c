/* `vibeq ctl RUN COMMAND`: sends a command to an active run, over its loopback address, and prints
 * its reply. The table in coordinator/run/ctl.h has the commands. Not its job: a run that is not
 * active; the message names the command for that. */
#include "coordinator/run/ctl.h"
#include "cli/endpoint.h"
#include "cli/verbs.h"
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/hash.h"
#include "common/base/secret.h"
#include "common/text/json_load.h"
#include "coordinator/run/ctl_once.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

struct ctl_words {
    const char *runs;
};

const struct vq_opt vq_ctl_opts[] = {
    {"runs", VQ_OPT_TEXT, offsetof(struct ctl_words, runs), "DIR",
     "runs folder; default VIBEQ_RUNS, then ./runs"},
    {0},
};

void vq_ctl_rows(vq_verb_row_fn row, void *ctx)
{
    struct vq_buf usage;
    vq_buf_init(&usage, VQ_ERROR_BYTES_MAX);
    for (const struct vq_ctl_command *c = vq_ctl_commands; c->name != NULL; c++) {
        vq_buf_clear(&usage);
        vq_ctl_usage(c, &usage);
        row(ctx, c->name, usage.at, c->help);
        for (size_t i = 0; i < VQ_CTL_ARGS_MAX && c->args[i].name != NULL; i++) {
            vq_buf_clear(&usage);
            vq_buf_printf(&usage, c->args[i].value == NULL ? "  %s" : "  --%s %s", c->args[i].name,
                          c->args[i].value);
            row(ctx, NULL, usage.at, c->args[i].help);
        }
    }
    vq_buf_free(&usage);
}

/* Takes --runs out of the words; the other words begin with the run's name. It does not know the
 * options of the commands. */
static enum vq_status own_options(int argc, char **argv, struct ctl_words *w, int *ret_words,
                                  struct vq_error *err)
{
    int n = 0;
    for (int i = 0; i < argc; i++) {
        bool equals = strncmp(argv[i], "--runs=", strlen("--runs=")) == 0;
        if (!equals && strcmp(argv[i], "--runs") != 0) {
            argv[n++] = argv[i];
            continue;
        }
        if (!equals && i + 1 == argc) {
            return vq_fail(err, VQ_INVALID, "--runs needs a value: --runs DIR");
        }
        w->runs = equals ? argv[i] + strlen("--runs=") : argv[++i];
    }
    *ret_words = n;
    return VQ_OK;
}

static enum vq_status compose(char **words, int count, struct vq_buf *body, struct vq_error *err)
{
    uint8_t id[VQ_CTL_ID_BYTES];
    struct vq_ctl_stamp stamp = {.deadline_unix_ms = vq_clock_unix_ms() + VQ_CTL_DEADLINE_MS};
    vq_random_bytes(id, sizeof(id));
    vq_hex(id, sizeof(id), stamp.id);
    vq_ctl_stamp_put(&stamp, body);
    for (int i = 0; i < count; i++) {
        if (strlen(words[i]) > VQ_CTL_WORD_BYTES_MAX || strchr(words[i], '\n') != NULL) {
            return vq_fail(err, VQ_INVALID, "'%.40s' cannot be part of a command", words[i]);
        }
        vq_buf_printf(body, "%s\n", words[i]);
    }
    return body->status;
}

/* Prints what to do with a run that is not active. Returns the exit code. */
static int not_running(const struct vq_ctl_command *command, const char *run)
{
    fprintf(stderr, "vibeq: %s is not active, so it takes no command. Try: vibeq ", run);
    for (const char *at = command->otherwise; *at != '\0';) {
        if (strncmp(at, "RUN", 3) == 0) {
            fputs(run, stderr);
            at += 3;
        } else {
            fputc(*at++, stderr);
        }
    }
    fputc('\n', stderr);
    return VQ_EXIT_STOPPED;
}

/* Carries out a command that needs no coordinator. Returns the exit code. */
static int on_stopped(const char *runs_dir, const char *run, const struct vq_ctl_asked *asked)
{
    struct vq_error err = {0};
    struct vq_buf said;
    vq_buf_init(&said, VQ_ERROR_BYTES_MAX);
    enum vq_status status =
        asked->command->carry_out_stopped(runs_dir, run, asked->values, &said, &err);
    if (status == VQ_OK) {
        printf("%s: %s\n", run, said.status == VQ_OK ? said.at : "done");
    }
    vq_buf_free(&said);
    return status == VQ_OK ? VQ_EXIT_DONE : vq_cli_fail(status, &err);
}

/* The command was sent, but no reply shows its result. Returns the exit code. */
static int unknown(const char *run, const char *why)
{
    fprintf(stderr,
            "vibeq: %s: unknown: look at `vibeq status`; %s. The run drops the command if it reads "
            "it more than %u s after it was sent\n",
            run, why, VQ_CTL_DEADLINE_MS / 1000);
    return VQ_EXIT_INTERNAL;
}

/* Prints the run's reply. Returns the exit code. */
static int print_answer(const char *run, int http, const struct vq_buf *answer)
{
    json_t *root = NULL;
    if (vq_json_load(vq_buf_span(answer), 0, &root, NULL) != VQ_OK) {
        root = NULL; /* reported below */
    }
    const char *text = json_string_value(json_object_get(root, "text"));
    int code = VQ_EXIT_DONE;
    if (http == 200 && text != NULL) {
        printf("%s: %s\n", run, text);
    } else if (http == 401 || http == 403) {
        fprintf(stderr, "vibeq: %s refused the token of its endpoint.json\n", run);
        code = VQ_EXIT_USAGE;
    } else if ((http == 400 || http == 409) && text != NULL) {
        fprintf(stderr, "vibeq: %s: %s\n", run, text);
        code = VQ_EXIT_USAGE;
    } else {
        code = unknown(run, "its reply cannot be read");
    }
    json_decref(root);
    return code;
}

static int send_command(const char *runs_dir, const char *run, const struct vq_ctl_asked *asked,
                        struct vq_span body)
{
    struct vq_run_info info;
    struct vq_endpoint endpoint;
    struct vq_error err = {0};
    struct vq_buf answer;
    enum vq_status status = vq_run_info_read(runs_dir, run, &info, &err);
    if (status != VQ_OK) {
        return vq_cli_fail(status, &err);
    }
    if (!info.running && asked->command->carry_out_stopped != NULL) {
        return on_stopped(runs_dir, run, asked);
    }
    if (!info.running) {
        return not_running(asked->command, run);
    }
    status = vq_run_endpoint_read(runs_dir, run, &endpoint, &err);
    if (status == VQ_NOT_FOUND) {
        fprintf(stderr, "vibeq: %s is starting or ending; try again in a moment\n", run);
        return VQ_EXIT_STOPPED;
    }
    int http = 0;
    bool sent = false;
    vq_buf_init(&answer, VQ_ENDPOINT_BYTES_MAX);
    if (status == VQ_OK) {
        status = vq_endpoint_ask(&endpoint, "/api/v1/ctl", body, &answer, &http, &sent, &err);
    }
    vq_wipe(&endpoint, sizeof(endpoint));
    if (status != VQ_OK && !sent) {
        char why[VQ_ERROR_BYTES_MAX / 2];
        (void)snprintf(why, sizeof(why), "%s",
                       err.text[0] != '\0' ? err.text : "no connection; it may be ending");
        (void)vq_fail(&err, status, "%s: not carried out: %s", run, why);
    }
    int code = status == VQ_OK ? print_answer(run, http, &answer)
               : sent          ? unknown(run, "it did not reply; it may be ending or stopped")
                               : vq_cli_fail(status, &err);
    vq_buf_free(&answer);
    return code;
}

int vq_verb_ctl(int argc, char **argv)
{
    struct ctl_words w = {0};
    struct vq_error err = {0};
    struct vq_ctl_asked asked;
    int words = 0;
    if (own_options(argc, argv, &w, &words, &err) != VQ_OK) {
        return vq_cli_usage("ctl", "%s", err.text);
    }
    if (words == 0 || strncmp(argv[0], "--", 2) == 0) {
        return vq_cli_usage("ctl", "name the run first, then the command");
    }
    const char *const *command = (const char *const *)(argv + 1);
    if (vq_ctl_parse(command, (size_t)words - 1, &asked, &err) != VQ_OK) {
        return vq_cli_usage("ctl", "%s", err.text);
    }
    char *runs_dir = NULL;
    struct vq_buf body;
    vq_buf_init(&body, VQ_CTL_STAMP_BYTES + VQ_CTL_BYTES_MAX);
    enum vq_status status = compose(argv + 1, words - 1, &body, &err);
    if (status == VQ_OK) {
        status = vq_runs_dir_find(w.runs, &runs_dir, &err);
    }
    int code = status == VQ_OK ? send_command(runs_dir, argv[0], &asked, vq_buf_span(&body))
                               : vq_cli_fail(status, &err);
    vq_buf_free(&body);
    vq_free(runs_dir);
    return code;
}
