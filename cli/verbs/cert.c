/* `vibeq cert`: makes, lists and revokes the certificates with which workers on other machines
 * join. Not its job: the files (coordinator/run/cert_folder.c), admitting a worker (gate.c). */
#include "cli/opts.h"
#include "cli/verbs.h"
#include "common/base/alloc.h"
#include "coordinator/run/cert_folder.h"
#include "coordinator/run/listen.h"
#include "coordinator/store/rundir/run_dir.h"

#include <stdio.h>
#include <string.h>

struct cert_words {
    struct vq_opt_list workers;
    const char *advertise, *cert, *runs;
};

#define AT(field) offsetof(struct cert_words, field)

const struct vq_opt vq_cert_opts[] = {
    {"workers", VQ_OPT_SPLIT, AT(workers), "NAME[,..]",
     "new: a certificate for each of these workers or groups; default one, join"},
    {"advertise", VQ_OPT_TEXT, AT(advertise), "HOST:PORT",
     "new: the address that the certificates name"},
    {"cert", VQ_OPT_TEXT, AT(cert), "DIR", "list, revoke: the folder; default the runs folder"},
    {"runs", VQ_OPT_TEXT, AT(runs), "DIR", "runs folder; default VIBEQ_RUNS, then ./runs"},
    {0},
};

/* ---- new ---- */

static enum vq_status make(const struct cert_words *w, const char *folder, struct vq_error *err)
{
    static const struct vq_opt_list group = {.items = {VQ_JOIN_GROUP}, .count = 1};
    const struct vq_opt_list *names = w->workers.count > 0 ? &w->workers : &group;
    char endpoint[VQ_ZSOCK_ENDPOINT_BYTES_MAX];
    VQ_TRY(vq_listen_advertised(w->advertise, "", endpoint, err));
    VQ_TRY(vq_cert_folder_add(folder, names->items, names->count, endpoint, err));
    for (uint32_t i = 0; i < names->count; i++) {
        printf("%s/%s.cert\n", folder, names->items[i]);
    }
    return VQ_OK;
}

/* ---- list, revoke ---- */

static enum vq_status print_list(const char *folder, struct vq_error *err)
{
    struct vq_allowed_list list;
    VQ_TRY(vq_allowed_read(folder, &list, err));
    for (size_t i = 0; i < list.count; i++) {
        char path[VQ_CERT_PATH_BYTES_MAX];
        struct vq_cert cert = {0};
        bool here = vq_cert_path(folder, list.items[i].name, path, err) == VQ_OK &&
                    vq_cert_read(path, &cert, NULL) == VQ_OK;
        printf("%-20s %s  %s\n", list.items[i].name, list.items[i].key,
               !here                      ? "(its certificate is not in the folder)"
               : cert.endpoint[0] == '\0' ? "(no address yet)"
                                          : cert.endpoint);
        vq_cert_destroy(&cert);
    }
    vq_allowed_free(&list);
    return VQ_OK;
}

static enum vq_status in_folder(const struct cert_words *w, const char *name, struct vq_error *err)
{
    char *runs_dir = NULL;
    const char *folder = w->cert;
    if (folder == NULL) {
        VQ_TRY(vq_runs_dir_find(w->runs, &runs_dir, err));
        folder = runs_dir;
    }
    enum vq_status status =
        name == NULL ? print_list(folder, err) : vq_cert_folder_revoke(folder, name, err);
    if (status == VQ_OK && name != NULL) {
        fprintf(stderr, "%s is revoked: a run that uses %s cuts it off within seconds.\n", name,
                folder);
    }
    vq_free(runs_dir);
    return status;
}

int vq_verb_cert(int argc, char **argv)
{
    static const char *const known[] = {"new", "list", "revoke", NULL};
    struct cert_words w = {0};
    struct vq_error err = {0};
    int words;
    if (vq_opts_parse(vq_cert_opts, argc, argv, &w, &words, &err) != VQ_OK) {
        return vq_cli_usage("cert", "%s", err.text);
    }
    const char *verb = words == 0 ? NULL : argv[0];
    bool is_new = verb != NULL && strcmp(verb, "new") == 0;
    bool is_list = verb != NULL && strcmp(verb, "list") == 0;
    bool is_revoke = verb != NULL && strcmp(verb, "revoke") == 0;
    if (!is_new && !is_list && !is_revoke) {
        return vq_cli_unknown_word("cert", verb, known);
    }
    if (words != (is_list ? 1 : 2)) {
        return vq_cli_usage("cert", is_new      ? "name one folder: vibeq cert new DIR"
                                    : is_revoke ? "name one worker: vibeq cert revoke NAME"
                                                : "list takes no further word");
    }
    if (is_new && w.advertise == NULL) {
        return vq_cli_usage("cert", "name the address of the coordinator: --advertise HOST:PORT");
    }
    if (!is_new && (w.advertise != NULL || w.workers.count > 0)) {
        return vq_cli_usage("cert", "--workers and --advertise go with new");
    }
    enum vq_status status =
        is_new ? make(&w, argv[1], &err) : in_folder(&w, is_revoke ? argv[1] : NULL, &err);
    return status == VQ_OK ? VQ_EXIT_DONE : vq_cli_fail(status, &err);
}
