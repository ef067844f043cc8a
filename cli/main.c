/* `vibeq`: finds the verb and runs it. The table below lists all commands. */
#include "cli/manual.h"
#include "cli/verbs.h"
#include "common/base/process.h"
#include "methods/stats/stats.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int verb_help(int argc, char **argv);
static int verb_version(int argc, char **argv);

static const struct vq_opt no_opts[] = {{0}};

const struct vq_verb vq_verbs[] = {
    {"init", "Writes a first, commented configuration with its columns guessed from the data",
     "FILE... [options]", "FILE", vq_init_opts,
     "Give one data file; with --method persona, give all files of the evaluation: vibeq "
     "recognises "
     "each one by its columns. Without --force an existing file is not overwritten.",
     vq_verb_init},
    {"import", "Makes a data file from the answer files of other programs",
     "FORMAT FILE... [options]",
#define VQ_IMPORT_FORMAT(name, word, list, about) word " "
#include "common/import/formats.def"
#undef VQ_IMPORT_FORMAT
     "join", vq_import_opts,
     "Formats:\n"
#define VQ_IMPORT_FORMAT(name, word, list, about) "  " word ": " about "\n"
#include "common/import/formats.def"
#undef VQ_IMPORT_FORMAT
     "  join: two CSV or JSON lines files with a column in common (--key)\n"
     "vibeq pairs the answers of two models by their key, and prints the number of answers "
     "without\n"
     "a partner on standard error. docs/use/import.md lists the fields of each format.",
     vq_verb_import},
    {"check", "Sends one real call per judge, and shows prompt, answer and verdict",
     "[CONFIG.yaml] [options]", "FILE", vq_check_opts,
     "The answers are not stored: a run sends these calls again. Without --judge, vibeq calls "
     "every\n"
     "judge.\n"
     "Exit codes: 0 every judge gave a verdict, 2 usage or input error, 4 a judge gave no verdict.",
     vq_verb_check},
    {"plan", "Estimates the price and the duration of a run without sending a call",
     "CONFIG.yaml | DATA.csv --models A,B --judge MODEL[,MODEL] [options]", "FILE", vq_plan_opts,
     "Looks up the answers that the store has already, renders some prompts, and uses the limits\n"
     "and prices of the configuration. A number that depends on answers is given as a range.\n"
     "Exit codes: 0 the estimate is within budget and deadline, 2 usage or input error, 3 it is\n"
     "not, or a price is unknown.",
     vq_verb_plan},
    {"run", "Starts a run: sends the calls, computes scores and fits, and writes the results",
     "CONFIG.yaml | DATA.csv --models A,B --judge MODEL[,MODEL] [--discover] [options]", "FILE",
     vq_run_opts,
     "A model named offline-a or offline-b is served by vibeq itself and needs no endpoint.\n"
     "Exit codes: 0 done, 1 internal error, 2 usage or input error (nothing was sent), 3 done "
     "with\n"
     "missing answers, 4 stopped and resumable. With --or-resume, start the same command again\n"
     "after 1 and 4, and after a signal, but not after 0, 2 and 3.",
     vq_verb_run},
    {"resume", "Continues a run that was stopped or killed", "RUN [options]", "RUN", vq_resume_opts,
     "Data and templates must be the same as at the start of the run. Workers, limits, pools and\n"
     "keys can change (--set). For a finished run, resume collects late answers; with\n"
     "--retry-failed it retries the failed tasks.",
     vq_verb_resume},
    {"status", "Shows the state and the progress of a run", "[RUN] [options]", "RUN",
     vq_status_opts,
     "Without a name: the newest active run, or the newest run if none is active.\n"
     "Exit codes: 0, 2 usage or input error, 5 the run is active, but no answer arrived for\n"
     "alarm.idle_s, or the first calls of a judge all failed the same way.",
     vq_verb_status},
    {"ui", "Serves a page of the runs in a runs folder, active and finished ones", "[options]",
     NULL, vq_ui_opts,
     "The page lists the runs with their progress, money, problems and results; it leads to the\n"
     "live page of an active run and to the report of a finished one. vibeq ui runs until Ctrl-C.\n"
     "It writes nothing into the folders of runs.\n"
     "Exit codes: 0, 2 usage or input error.",
     vq_verb_ui},
    {"ctl", "Sends a command to an active run and prints its reply", "RUN COMMAND [options]", "RUN",
     vq_ctl_opts,
     "The run logs each command.\n"
     "Exit codes: 0 the run carried the command out, 2 the command is invalid or not possible\n"
     "now, 4 the run is not active.",
     vq_verb_ctl, vq_ctl_rows},
    {"log", "Prints the log of a run for people", "RUN [options]", "RUN", vq_log_opts,
     "Each line has the local time, the level, the event and its fields. The file runs/RUN/log "
     "has\n"
     "the same as JSON lines. With --follow, vibeq prints new lines until the run ends.",
     vq_verb_log},
    {"dead", "Lists the tasks of a run that failed for good, with reasons and counts",
     "RUN [options]", "RUN", vq_dead_opts,
     "Reads the call store, so it works for active and for ended runs. Refused, truncated and\n"
     "unparseable answers are answers, and are not listed.",
     vq_verb_dead},
    {"verify", "Checks that the records of a run agree with each other", "RUN [options]", "RUN",
     vq_verify_opts,
     "Compares store, spools, task states, results, accounting, and Redis while it runs. Sends no\n"
     "call and changes nothing. For an active run it checks the committed part.\n"
     "Exit codes: 0 they agree, 1 they differ (each difference is printed), 2 usage or input "
     "error.",
     vq_verb_verify},
    {"cert", "Makes, lists and revokes certificates for workers on other machines",
     "new DIR --advertise HOST:PORT [--workers NAME[,..]] | list | revoke NAME", "new list revoke",
     vq_cert_opts,
     "new makes a folder for vibeq run --cert DIR, with a certificate DIR/NAME.cert for each "
     "worker\n"
     "or group of workers; on a folder that exists it adds workers. revoke cuts off all workers\n"
     "with that certificate, also in an active run.",
     vq_verb_cert},
    {"list", "Lists the runs of a runs folder", "[options]", NULL, vq_list_opts, NULL,
     vq_verb_list},
    {"rm", "Removes runs; their paid answers stay in the store", "RUN... [options]", "RUN",
     vq_rm_opts, NULL, vq_verb_rm},
    {"report", "Writes the results and the report of a run again, from the stored answers",
     "RUN [options]", "RUN", vq_report_opts, "Sends no call.", vq_verb_report},
    {"replay", "Parses every stored answer of a run again and recomputes the results",
     "RUN [options]", "RUN", vq_replay_opts,
     "Results go to the folder replay/ of the run. With other settings, some scores may need\n"
     "answers that are not stored: replay lists these scores, and --buy sends the calls.\n"
     "Exit codes: 0 done, 1 --verify found a difference, 2 usage or input error, 3 some scores "
     "are\n"
     "missing or undecided.",
     vq_verb_replay},
    {"export", "Prints a run's calls, scores, vibes, rows, ratings or items for other programs",
     "RUN calls|scores|vibes|rows|ratings|items [options]", "RUN", vq_export_opts,
     "calls prints the ledger of the run: each call with its raw answer (except embeddings).\n"
     "With --format latex or md: a table for a paper or a web page; without a second word, the\n"
     "table of vibes (for criteria: items or ratings).",
     vq_verb_export},
    {"plot", "Draws a run's vibes: separability, PP coefficient and kappa, as SVG or PNG",
     "RUN [options]", "RUN", vq_plot_opts,
     "Shows the kept vibes with 95 % intervals; if no vibe was kept, all vibes.", vq_verb_plot},
    {"label", "Writes a sheet for people's labels of a run's vibes, and reads it back",
     "RUN [--rows N] [--output FILE] | RUN --read FILE", "RUN", vq_label_opts,
     "The sheet is a CSV in random order, without model names. For each line write 1, 2 or equal\n"
     "into the column label. --read stores the labels in labels.csv of the run and writes the\n"
     "results again: they then show how far the judges agree with people, and an estimate of\n"
     "people's verdicts on all rows.",
     vq_verb_label},
    {"compare", "Measures how much of a reference list of vibes a run has found",
     "RUN --gold FILE|hc3 [options]", "RUN", vq_compare_opts,
     "Matches every ranked vibe of the run with the list, kept vibes first. An axis whose low and\n"
     "high ends are exchanged matches too. Each call is paid once: its answer is in the run's\n"
     "store. The result is compare/compare.json of the run; the results of the run do not\n"
     "change. The built-in embedder compares letters and few words: name a real embedder with\n"
     "--set embedder.model, or use --by judge.\n"
     "Exit codes: 0 done, 2 usage or input error, 3 some answers are missing, 4 stopped.",
     vq_verb_compare},
    {"chat", "Leads a run's judges through dialogues", "RUN --chains FILE [options]", "RUN",
     vq_chat_opts,
     "Each query is sent after all earlier turns of its dialogue. The dialogues are written to\n"
     "chat/dialogues.jsonl of the run; the results of the run do not change. Each call is paid\n"
     "once: a stopped or killed chat continues from the stored answers.\n"
     "Exit codes: 0 done, 2 usage or input error, 3 a dialogue ended early, 4 stopped.",
     vq_verb_chat},
    {"store", "Counts, exports, checks and cleans the stored answers", "stat | gc | export | check",
     "stat gc export check", vq_store_opts,
     "stat prints sizes and counts, gc drops answers that no run uses, export writes one JSON "
     "object\n"
     "per line on standard output, check reads every value of the store.",
     vq_verb_store},
    {"vibes", "Prints lists of vibes for a configuration: generated, of a run, or the presets",
     "generate | show RUN | presets [options]", "generate show presets", vq_vibes_opts,
     "generate sends one call that asks a model for axes on which answers differ for any prompt;\n"
     "the answer is not stored. show prints the kept vibes of a run, to rank them on other data.\n"
     "All print YAML for a configuration, or for --gold of vibeq compare.\n"
     "Exit codes: 0 done, 2 usage or input error, 4 the model gave no list.",
     vq_verb_vibes},
    {"personas", "Lets a model write an interview for dialogues with personas", "queries [options]",
     "queries", vq_personas_opts,
     "queries sends one call that asks a model for interview questions for any persona, with an\n"
     "opening and a closing remark; the answer is not stored. The output is a file for\n"
     "dialogues.directed of a configuration.\n"
     "Exit codes: 0 done, 2 usage or input error, 4 the model gave no list.",
     vq_verb_personas},
    {"prompts", "Writes the templates to a folder, or shows a prompt in the form that a model gets",
     "export DIR | show judge|discover|criteria|CRITERION [options]", "export show",
     vq_prompts_opts,
     "show judge: a question to a judge. show discover: the first prompt to the proposer.\n"
     "show criteria: the built-in criteria of rubric judges. show CRITERION: the text of one.",
     vq_verb_prompts},
    {"help", "Prints the help of a verb", "[VERB]", "VERB", no_opts, NULL, verb_help},
    {"version", "Prints the version", "", NULL, no_opts, NULL, verb_version},
    {0},
};

static int unknown_verb(const char *name)
{
    const char *near = vq_verb_nearest(name);
    if (near != NULL) {
        return vq_cli_usage("", "there is no verb '%.60s'; did you mean %s?", name, near);
    }
    if (name[0] != '-' && strchr(name, '.') != NULL) {
        return vq_cli_usage("run", "there is no verb '%.200s'; did you mean vibeq run %.200s?",
                            name, name);
    }
    return vq_cli_usage("", "there is no verb '%.60s'", name);
}

static int verb_version(int argc, char **argv)
{
    if (argc > 0) {
        return vq_cli_usage("", "version takes no argument such as '%.60s'", argv[0]);
    }
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
    fprintf(
        out,
        "\nvibeq help VERB prints the help of a verb. Exit codes: 0 done, 1 internal error, 2 "
        "usage or input "
        "error,\n3 done with missing answers, 4 stopped and resumable, 5 (status) no progress.\n");
}

static int verb_help(int argc, char **argv)
{
    if (argc == 0) {
        overview(stdout);
        return VQ_EXIT_DONE;
    }
    if (argc > 1) {
        return vq_cli_usage("", "help takes one verb");
    }
    const struct vq_verb *verb = vq_verb_find(argv[0]);
    if (verb == NULL) {
        return unknown_verb(argv[0]);
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

static int carry_out(int argc, char **argv)
{
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
    if (strcmp(argv[1], VQ_MANUAL_VERB) == 0) {
        return vq_manual(argc - 2, argv + 2);
    }
    const struct vq_verb *verb = vq_verb_find(argv[1]);
    if (verb == NULL) {
        return unknown_verb(argv[1]);
    }
    if (asks_help(argc - 2, argv + 2)) {
        vq_verb_help(verb);
        return VQ_EXIT_DONE;
    }
    return verb->run(argc - 2, argv + 2);
}

int main(int argc, char **argv)
{
    vq_process_begin();
    vq_stats_init();
    (void)setlocale(LC_CTYPE, ""); /* only for names and labels; numbers keep their point */
    return vq_cli_end(carry_out(argc, argv));
}
