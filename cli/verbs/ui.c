/* `vibeq ui`: its options, and its message if another process serves the folder. */
#include "cli/endpoint.h"
#include "cli/ui/folder.h"
#include "cli/ui/server.h"
#include "cli/verbs.h"
#include "common/base/alloc.h"
#include "common/base/secret.h"

#include <stdio.h>

#define URL_BYTES_MAX 2048

struct ui_words {
    const char *runs, *http, *http_token_file;
    struct vq_opt_list http_hosts;
    bool open, quiet;
};

#define AT(field) offsetof(struct ui_words, field)

const struct vq_opt vq_ui_opts[] = {
    {"runs", VQ_OPT_TEXT, AT(runs), "DIR", "runs folder; default VIBEQ_RUNS, then ./runs"},
    {"http", VQ_OPT_TEXT, AT(http), "ADDR:PORT",
     "the address; default 127.0.0.1:7420, or the next free port"},
    {"http-token-file", VQ_OPT_TEXT, AT(http_token_file), "FILE",
     "the file with the token; default a random token"},
    {"http-host", VQ_OPT_LIST, AT(http_hosts), "NAME",
     "a host name that clients use for the address (repeatable)"},
    {"open", VQ_OPT_FLAG, AT(open), NULL, "open the page in a browser (xdg-open)"},
    {"quiet", VQ_OPT_FLAG, AT(quiet), NULL, "do not print the address"},
    {0},
};

/* Another server of the folder is enough, unless the options ask for a particular one. */
static enum vq_status say_other(const struct ui_words *w, const char *runs_dir,
                                struct vq_error *err)
{
    struct vq_endpoint endpoint;
    struct vq_buf url;
    bool own = w->http != NULL || w->http_token_file != NULL || w->http_hosts.count > 0;
    if (own || vq_ui_folder_find(runs_dir, &endpoint) != VQ_OK) {
        return vq_fail(err, VQ_LOCKED, "another vibeq ui serves %s; stop it first", runs_dir);
    }
    vq_buf_init(&url, URL_BYTES_MAX);
    vq_endpoint_url(&endpoint, "/", &url);
    if (!w->quiet && url.status == VQ_OK) {
        printf("another vibeq ui serves %s already, at %s\n", runs_dir, url.at);
    }
    vq_wipe(url.at, url.bytes);
    vq_buf_free(&url);
    vq_wipe(&endpoint, sizeof(endpoint));
    return VQ_OK;
}

int vq_verb_ui(int argc, char **argv)
{
    struct ui_words w = {0};
    struct vq_error err = {0};
    int words;
    if (vq_opts_parse(vq_ui_opts, argc, argv, &w, &words, &err) != VQ_OK || words > 0) {
        return vq_cli_usage("ui", "%s",
                            words > 0 ? "ui takes options alone; name the runs folder with --runs"
                                      : err.text);
    }
    char *runs_dir = NULL;
    enum vq_status status = vq_runs_dir_find(w.runs, &runs_dir, &err);
    if (status == VQ_OK) {
        struct vq_ui_options options = {.runs_dir = runs_dir,
                                        .http = {.listen = w.http,
                                                 .token_file = w.http_token_file,
                                                 .hosts = w.http_hosts.items,
                                                 .hosts_count = w.http_hosts.count},
                                        .open_browser = w.open,
                                        .quiet = w.quiet};
        status = vq_ui_serve(&options, &err);
    }
    if (status == VQ_LOCKED) {
        status = say_other(&w, runs_dir, &err);
    }
    vq_free(runs_dir);
    return status == VQ_OK ? VQ_EXIT_DONE : vq_cli_fail(status, &err);
}
