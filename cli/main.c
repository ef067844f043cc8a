/* `vibeq`: finds the verb and runs it. The table below is the list of everything a person can
 * type. */
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
     "One data file; with --method persona all files of the evaluation, each recognised by what it "
     "holds. An existing file is left alone without --force.",
     vq_verb_init},
    {"import", "Makes a data file out of answers in the files of other programs",
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
     "Two models are put side by side by the key of their answers; what is left out is counted on\n"
     "standard error. docs/use/import.md has each format's fields.",
     vq_verb_import},
    {"check", "Sends one real call a judge, and shows what was asked, answered and understood",
     "[CONFIG.yaml] [options]", "FILE", vq_check_opts,
     "Nothing of it is stored: a run asks again. Without --judge every judge is asked.\n"
     "Exit codes: 0 every judge gave a verdict, 2 usage or input error, 4 one did not.",
     vq_verb_check},
    {"plan", "Tells what a run would cost and how long it would take, and sends nothing",
     "CONFIG.yaml | DATA.csv --models A,B --judge MODEL[,MODEL] [options]", "FILE", vq_plan_opts,
     "Looks up what the store has already, renders some prompts, and reckons with the limits and\n"
     "prices of the configuration. What depends on answers is given with its least and its most.\n"
     "Exit codes: 0 budget and deadline hold as expected, 2 usage or input error, 3 one of them "
     "does\n"
     "not, or a price is not known.",
     vq_verb_plan},
    {"run", "Carries out a run: judges, scores, fits, and writes the results",
     "CONFIG.yaml | DATA.csv --models A,B --judge MODEL[,MODEL] [--discover] [options]", "FILE",
     vq_run_opts,
     "A model named offline-a or offline-b is served by vibeq itself and needs no endpoint.\n"
     "Exit codes: 0 done, 1 internal error, 2 usage or input error (nothing was sent), 3 done "
     "with\n"
     "missing answers, 4 stopped and resumable.",
     vq_verb_run},
    {"resume", "Goes on with a run that was stopped or killed", "RUN [options]", "RUN",
     vq_resume_opts,
     "Data and templates must be those the run began with; workers, limits, pools and keys may\n"
     "change (--set). Of a finished run it collects what came late, or with --retry-failed asks\n"
     "again what is missing.",
     vq_verb_resume},
    {"status", "Shows what a run is doing, or did last", "[RUN] [options]", "RUN", vq_status_opts,
     "Without a name: the newest run, a running one first.\n"
     "Exit codes: 0, 2 usage or input error, 5 it runs and nothing was answered for alarm.idle_s, "
     "or a judge's first calls all failed the same way.",
     vq_verb_status},
    {"ctl", "Tells a run that goes on something, and prints what it says to that",
     "RUN COMMAND [options]", "RUN", vq_ctl_opts,
     "Each command is noted in the run's log.\n"
     "Exit codes: 0 it was carried out, 2 it makes no sense or cannot be done now, 4 the run does "
     "not\n"
     "run.",
     vq_verb_ctl, vq_ctl_rows},
    {"dead", "Lists what failed for good in a run and why, counts first", "RUN [options]", "RUN",
     vq_dead_opts,
     "Out of the call store, so also of a run that goes on or is over. Refused, cut and "
     "unreadable\n"
     "answers are answers, and are not listed.",
     vq_verb_dead},
    {"verify", "Compares a run's own records with each other, all of them derived again",
     "RUN [options]", "RUN", vq_verify_opts,
     "Store, spools, states of tasks, results, accounting, Redis while it lives. Asks nothing and\n"
     "changes nothing. Of a run that goes on: what is committed.\n"
     "Exit codes: 0 they agree, 1 something is wrong and was named, 2 usage or input error.",
     vq_verb_verify},
    {"list", "Lists the runs of a runs folder", "[options]", NULL, vq_list_opts, NULL,
     vq_verb_list},
    {"rm", "Removes runs; their paid answers stay in the store", "RUN... [options]", "RUN",
     vq_rm_opts, NULL, vq_verb_rm},
    {"report", "Writes a run's results and report again, out of the stored answers",
     "RUN [options]", "RUN", vq_report_opts, "Asks nothing.", vq_verb_report},
    {"replay", "Parses every stored answer of a run anew and computes everything again",
     "RUN [options]", "RUN", vq_replay_opts,
     "Results go to the folder replay/ of the run. With other settings the stored answers may not\n"
     "decide every score: those are named, and --buy asks them.\n"
     "Exit codes: 0 done, 1 --verify found a difference, 2 usage or input error, 3 some scores "
     "are\n"
     "missing or not decided.",
     vq_verb_replay},
    {"export", "Prints a run's calls, scores, vibes, rows, ratings or items for other programs",
     "RUN calls|scores|vibes|rows|ratings|items [options]", "RUN", vq_export_opts,
     "calls are the ledger of the run, each with the raw answer that it bought (but embeddings).\n"
     "With --format latex or md: a table for a paper or a page; without a second word that of the\n"
     "vibes (of criteria: items or ratings).",
     vq_verb_export},
    {"plot", "Draws a run's vibes: separability, PP coefficient and kappa, as SVG or PNG",
     "RUN [options]", "RUN", vq_plot_opts,
     "The vibes that were kept, with 95 % intervals; where none was kept, all.", vq_verb_plot},
    {"label", "Writes a sheet on which people judge a run's vibes, and reads it back",
     "RUN [--rows N] [--output FILE] | RUN --read FILE", "RUN", vq_label_opts,
     "The sheet is a CSV in random order that names no model: for each line write 1, 2 or equal "
     "into\n"
     "the column label. --read keeps the labels in labels.csv of the run and writes its results\n"
     "anew: how far the judges agree with people, and what people would say of all rows.",
     vq_verb_label},
    {"compare", "Tells how much of a reference list of vibes a run has found",
     "RUN --gold FILE|hc3 [options]", "RUN", vq_compare_opts,
     "Matches every vibe that the run ranked, kept ones first, with the list; an axis with its "
     "ends\n"
     "exchanged matches too. Calls go through the run's store and are bought once; what comes of "
     "it\n"
     "is in compare/compare.json of the run, whose results stay as they are. The built-in "
     "embedder\n"
     "knows letters and few words: name a real one with --set embedder.model, or ask --by judge.\n"
     "Exit codes: 0 done, 2 usage or input error, 3 some answers are missing, 4 stopped.",
     vq_verb_compare},
    {"chat", "Leads a run's judges through dialogues", "RUN --chains FILE [options]", "RUN",
     vq_chat_opts,
     "Each query is asked behind all that was said before it; the dialogues are in\n"
     "chat/dialogues.jsonl of the run, whose results stay as they are. Calls go through the run's\n"
     "store and are bought once: what was killed or stopped goes on where it was.\n"
     "Exit codes: 0 done, 2 usage or input error, 3 a dialogue ended early, 4 stopped.",
     vq_verb_chat},
    {"store", "Looks after the paid answers", "stat | gc | export | check", "stat gc export check",
     vq_store_opts, "export writes one JSON object a line on standard output.", vq_verb_store},
    {"vibes", "Prints lists of vibes for a configuration: generated, of a run, or the presets",
     "generate | show RUN | presets [options]", "generate show presets", vq_vibes_opts,
     "generate asks a model, once, for axes on which answers differ whatever the prompt; nothing "
     "of it\n"
     "is stored. show prints what a run has kept, to be ranked on other data. All print YAML that "
     "can\n"
     "stand in a configuration, or be the --gold of vibeq compare.\n"
     "Exit codes: 0 done, 2 usage or input error, 4 the model gave no list.",
     vq_verb_vibes},
    {"personas", "Writes an interview for dialogues with personas, by a model", "queries [options]",
     "queries", vq_personas_opts,
     "queries asks a model, once, for questions that can be put to anybody, with an opening and a\n"
     "closing remark; nothing of it is stored. What it prints can be dialogues.directed of a\n"
     "configuration.\n"
     "Exit codes: 0 done, 2 usage or input error, 4 the model gave no list.",
     vq_verb_personas},
    {"prompts", "Writes the templates to a folder, or shows a prompt as a model gets it",
     "export DIR | show judge|discover|criteria|CRITERION [options]", "export show",
     vq_prompts_opts,
     "show judge: one question to a judge. show discover: the first prompt to the proposer.\n"
     "show criteria: the built-in criteria of rubric judges; by the name of one, its text.",
     vq_verb_prompts},
    {"help", "Explains a verb", "[VERB]", "VERB", no_opts, NULL, verb_help},
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
        return vq_cli_usage("", "'%.60s' says nothing to version", argv[0]);
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
        "\nvibeq help VERB tells more. Exit codes: 0 done, 1 internal error, 2 usage or input "
        "error,\n3 done with missing answers, 4 stopped and resumable, 5 (status) no progress.\n");
}

static int verb_help(int argc, char **argv)
{
    if (argc == 0) {
        overview(stdout);
        return VQ_EXIT_DONE;
    }
    if (argc > 1) {
        return vq_cli_usage("", "one verb at a time");
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
    (void)setlocale(LC_CTYPE, ""); /* names and labels only; numbers keep their point */
    return vq_cli_end(carry_out(argc, argv));
}
