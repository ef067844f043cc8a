/* `vibeq`: finds the verb and runs it. The table below is the list of everything a person can type. */
#include "cli/verbs.h"
#include "common/base/secret.h"
#include "coordinator/stats/stats.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int verb_help(int argc, char **argv);
static int verb_version(int argc, char **argv);

static const struct vq_opt no_opts[] = {{0}};

const struct vq_verb vq_verbs[] = {
    {"run", "Carries out a run: judges, scores, fits, and writes the results",
     "CONFIG.yaml | DATA.csv --models A,B --judge MODEL[,MODEL] [options]", vq_run_opts,
     "A model named offline-a or offline-b is served by vibeq itself and needs no endpoint.\n"
     "Exit codes: 0 done, 1 internal error, 2 usage or input error (nothing was sent), 3 done "
     "with\n"
     "missing answers, 4 stopped and resumable.",
     vq_verb_run},
    {"resume", "Goes on with a run that was stopped or killed", "RUN [options]", vq_resume_opts,
     "Data and templates must be those the run began with; workers, limits, pools and keys may\n"
     "change (--set).",
     vq_verb_resume},
    {"status", "Shows what a run is doing, or did last", "[RUN] [options]", vq_status_opts,
     "Without a name: the newest run, a running one first.", vq_verb_status},
    {"list", "Lists the runs of a runs folder", "[options]", vq_list_opts, NULL, vq_verb_list},
    {"rm", "Removes runs; their paid answers stay in the store", "RUN... [options]", vq_rm_opts,
     NULL, vq_verb_rm},
    {"store", "Looks after the paid answers", "stat | gc | export | check", vq_store_opts,
     "export writes one JSON object a line on standard output.", vq_verb_store},
    {"prompts", "Writes the templates to a folder, or shows a prompt as a judge gets it",
     "export DIR | show judge [options]", vq_prompts_opts, NULL, vq_verb_prompts},
    {"help", "Explains a verb", "[VERB]", no_opts, NULL, verb_help},
    {"version", "Prints the version", "", no_opts, NULL, verb_version},
    {0},
};

static int verb_version(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    printf("vibeq %s\n", VIBEQ_VERSION);
    return VQ_EXIT_DONE;
}

static void overview(FILE *out)
{
    fprintf(out, "vibeq finds out how the answers of two language models differ.\n\n"
                 "Usage: vibeq VERB [words and options]\n\n");
    for (const struct vq_verb *v = vq_verbs; v->name != NULL; v++) {
        fprintf(out, "  %-12s %s\n", v->name, v->summary);
    }
    fprintf(out,
            "\nvibeq help VERB tells more. Exit codes: 0 done, 1 internal error, 2 usage or input "
            "error,\n3 done with missing answers, 4 stopped and resumable.\n");
}

static int verb_help(int argc, char **argv)
{
    if (argc == 0) {
        overview(stdout);
        return VQ_EXIT_DONE;
    }
    const struct vq_verb *verb = vq_verb_find(argv[0]);
    if (verb == NULL) {
        return vq_cli_usage("", "there is no verb '%s'", argv[0]);
    }
    vq_verb_help(verb);
    return VQ_EXIT_DONE;
}

static bool asks_help(int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            return true;
        }
    }
    return false;
}

int main(int argc, char **argv)
{
    vq_process_harden();
    vq_stats_init();
    (void)setlocale(LC_CTYPE, ""); /* names and labels only; numbers keep their point */
    if (argc < 2) {
        overview(stderr);
        return VQ_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        overview(stdout);
        return VQ_EXIT_DONE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        return verb_version(0, NULL);
    }
    const struct vq_verb *verb = vq_verb_find(argv[1]);
    if (verb == NULL) {
        fprintf(stderr, "vibeq: there is no verb '%s'\nTry: vibeq help\n", argv[1]);
        return VQ_EXIT_USAGE;
    }
    if (asks_help(argc - 2, argv + 2)) {
        vq_verb_help(verb);
        return VQ_EXIT_DONE;
    }
    return verb->run(argc - 2, argv + 2);
}
