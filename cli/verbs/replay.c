/* `vibeq replay` and `vibeq report`: compute a run's results again from the stored answers. Only
 * --buy makes calls. */
#include "methods/files/replay.h"
#include "cli/open_run.h"
#include "cli/verbs.h"
#include "common/text/csv.h"
#include "common/text/fmt.h"
#include "methods/files/results.h"

#include <stdio.h>
#include <string.h>

#define REPLAY_FOLDER       VQ_RESULT_REPLAY
#define UNDECIDED_SHOWN     20
#define RESULT_BYTES_MAX    ((size_t)1 << 32)
#define UNDECIDED_BYTES_MAX ((size_t)1 << 34)

struct replay_words {
    struct vq_open_run_words kept;
    const char *pair_rule;
    bool verify, buy, json, quiet;
};

#define AT(field) offsetof(struct replay_words, field)

const struct vq_opt vq_replay_opts[] = {
    {"pair-rule", VQ_OPT_TEXT, AT(pair_rule), "RULE", "strict, lenient or forward"},
    {"set", VQ_OPT_LIST, AT(kept.set), "A.B=VALUE",
     "overrides a key of the run's configuration, except files and criteria (repeatable)"},
    {"verify", VQ_OPT_FLAG, AT(verify), NULL,
     "only compares with the results of the run, byte for byte"},
    {"buy", VQ_OPT_FLAG, AT(buy), NULL, "sends the calls that the stored answers do not decide"},
    {"json", VQ_OPT_FLAG, AT(json), NULL, "results.json on standard output instead of the table"},
    {"quiet", VQ_OPT_FLAG, AT(quiet), NULL, "with --buy: no progress"},
    {"runs", VQ_OPT_TEXT, AT(kept.runs), "DIR", "runs folder; default VIBEQ_RUNS, then ./runs"},
    {0},
};

const struct vq_opt vq_report_opts[] = {
    {"json", VQ_OPT_FLAG, AT(json), NULL, "results.json on standard output instead of the table"},
    {"runs", VQ_OPT_TEXT, AT(kept.runs), "DIR", "runs folder; default VIBEQ_RUNS, then ./runs"},
    {0},
};

/* ---- cells without a stored decision ---- */

static enum vq_status write_undecided(const struct vq_open_run *kept,
                                      const struct vq_replay *replay, struct vq_error *err)
{
    struct vq_buf out;
    vq_buf_init(&out, UNDECIDED_BYTES_MAX);
    vq_buf_puts(&out, "record,vibe,judge\n");
    struct vq_csv csv;
    vq_csv_init_safe(&csv, &out);
    for (size_t i = 0; i < replay->undecided_count; i++) {
        const struct vq_undecided *u = &replay->undecided[i];
        vq_csv_i64(&csv, u->record);
        vq_csv_str(&csv, u->vibe);
        vq_csv_str(&csv, kept->job->config->judges[u->judge].name);
        vq_csv_end_row(&csv);
    }
    enum vq_status status = out.status;
    if (status == VQ_OK) {
        status = vq_run_dir_write(kept->run, REPLAY_FOLDER "/undecided.csv", vq_buf_span(&out),
                                  false, err);
    }
    vq_buf_free(&out);
    return status;
}

/* Reports the calls of --buy. Only the calls of the first stage with missing answers are certain;
 * the vibes in later stages depend on their answers. */
static void say_calls(const struct vq_replay *replay)
{
    char n[VQ_FMT_BYTES], m[VQ_FMT_BYTES];
    bool more = !replay->whole || replay->stages_count > replay->open_stage + 1;
    fprintf(stderr, "--buy would make %s calls", vq_fmt_count(replay->open_first, n));
    if (more) {
        fprintf(stderr, " in stage \"%s\", and those that follow from their answers",
                replay->stages[replay->open_stage]->name);
    }
    if (more && replay->open > replay->open_first) {
        fprintf(stderr, " (as it looks now, %s)",
                vq_fmt_count(replay->open - replay->open_first, m));
    }
    fputs(".\n", stderr);
}

static void say_undecided(const struct vq_open_run *kept, const struct vq_replay *replay)
{
    char n[VQ_FMT_BYTES];
    fprintf(stderr, "The stored answers do not decide %s scores; ",
            vq_fmt_count(replay->undecided_count, n));
    say_calls(replay);
    for (size_t i = 0; i < replay->undecided_count && i < UNDECIDED_SHOWN; i++) {
        const struct vq_undecided *u = &replay->undecided[i];
        fprintf(stderr, "  record %lld, %s, judge %s\n", (long long)u->record, u->vibe,
                kept->job->config->judges[u->judge].name);
    }
    if (replay->undecided_count > UNDECIDED_SHOWN) {
        fprintf(stderr, "  and %s more, all in %s/" REPLAY_FOLDER "/undecided.csv\n",
                vq_fmt_count(replay->undecided_count - UNDECIDED_SHOWN, n),
                vq_run_dir_path(kept->run));
    }
    if (!replay->whole) {
        fprintf(stderr, "Stage \"%s\" has no answer for these settings, so there are no results.\n",
                replay->stage);
    }
}

/* ---- results ---- */

static enum vq_status write_results(const struct vq_open_run *kept, const struct vq_replay *replay,
                                    const struct replay_words *w, const char *folder,
                                    bool *ret_missing, struct vq_error *err)
{
    struct vq_results results = {.job = kept->job,
                                 .method = &replay->method,
                                 .calls = kept->calls,
                                 .run = vq_run_dir_uid(kept->run),
                                 .dir = kept->run,
                                 .folder = folder,
                                 .json = w->json,
                                 .silent = w->verify};
    return vq_results_write(&results, ret_missing, err);
}

static enum vq_status read_results(const struct vq_open_run *kept, const char *folder,
                                   struct vq_buf *ret_text, struct vq_error *err)
{
    char path[VQ_RUN_PATH_BYTES_MAX];
    (void)snprintf(path, sizeof(path), "%s/results.json", folder);
    vq_buf_init(ret_text, RESULT_BYTES_MAX);
    return vq_run_dir_read(kept->run, path, ret_text, err);
}

static enum vq_status compare(const struct vq_open_run *kept, bool *ret_same, struct vq_error *err)
{
    struct vq_buf was, is;
    enum vq_status status = read_results(kept, "results", &was, err);
    if (status != VQ_OK) {
        vq_buf_free(&was);
        return status;
    }
    status = read_results(kept, REPLAY_FOLDER, &is, err);
    if (status == VQ_OK) {
        *ret_same = vq_span_eq(vq_buf_span(&was), vq_buf_span(&is));
    }
    vq_buf_free(&was);
    vq_buf_free(&is);
    return status;
}

static int say_same(const struct vq_open_run *kept, bool same)
{
    if (same) {
        printf("%s: the stored answers give the same results.json, byte for byte\n",
               vq_run_dir_name(kept->run));
        return VQ_EXIT_DONE;
    }
    fprintf(stderr,
            "vibeq: %s: the stored answers give other results; compare %s/results/results.json "
            "with " REPLAY_FOLDER "/results.json beside it\n",
            vq_run_dir_name(kept->run), vq_run_dir_path(kept->run));
    return VQ_EXIT_INTERNAL;
}

static int finish(const struct vq_open_run *kept, const struct vq_replay *replay,
                  const struct replay_words *w, const char *folder)
{
    struct vq_error err = {0};
    enum vq_status status = VQ_OK;
    bool missing = true, same = false;
    if (replay->open > 0) {
        status = write_undecided(kept, replay, &err);
        say_undecided(kept, replay);
    }
    if (status == VQ_OK && replay->whole) {
        status = write_results(kept, replay, w, folder, &missing, &err);
    }
    if (status == VQ_OK && w->verify && replay->whole) {
        status = compare(kept, &same, &err);
    }
    if (status != VQ_OK) {
        return vq_cli_fail(status, &err);
    }
    if (w->verify && replay->whole && replay->open == 0) {
        return say_same(kept, same);
    }
    return missing || replay->open > 0 ? VQ_EXIT_MISSING : VQ_EXIT_DONE;
}

static int replay_into(const struct vq_open_run *kept, const struct replay_words *w,
                       const char *folder)
{
    struct vq_error err = {0};
    struct vq_replay replay;
    enum vq_status status =
        vq_replay_walk(kept->job, kept->calls, vq_run_dir_uid(kept->run), NULL, &replay, &err);
    if (status != VQ_OK) {
        return vq_cli_fail(status, &err);
    }
    int code = finish(kept, &replay, w, folder);
    vq_replay_free(&replay);
    return code;
}

static int verb(const char *name, const struct vq_opt *opts, int argc, char **argv,
                struct replay_words *w, const char *folder)
{
    struct vq_error err = {0};
    if (!vq_opts_parse_run(name, opts, argc, argv, w)) {
        return VQ_EXIT_USAGE;
    }
    char rule[64];
    if (w->pair_rule != NULL) {
        (void)snprintf(rule, sizeof(rule), "judging.pair_rule=%s", w->pair_rule);
        if (w->kept.set.count + 2 > VQ_OPT_LIST_MAX) {
            return vq_cli_usage(name, "too many overrides");
        }
        w->kept.set.items[w->kept.set.count++] = rule;
        if (strcmp(w->pair_rule, "strict") != 0) {
            w->kept.set.items[w->kept.set.count++] = "judging.lazy_swap=off";
        }
    }
    struct vq_open_run kept;
    enum vq_status status = vq_open_run_begin(&w->kept, argv[0], &kept, &err);
    if (status != VQ_OK) {
        return vq_cli_fail(status, &err);
    }
    status = w->pair_rule == NULL ? VQ_OK : vq_job_needs_vibes(kept.job, "--pair-rule", &err);
    if (status != VQ_OK) {
        vq_open_run_close(&kept);
        return vq_cli_fail(status, &err);
    }
    int code;
    if (w->buy) {
        code = vq_open_run_buy(&kept, REPLAY_FOLDER, w->quiet, w->json);
    } else {
        code = replay_into(&kept, w, folder);
    }
    vq_open_run_close(&kept);
    return code;
}

int vq_verb_replay(int argc, char **argv)
{
    struct replay_words w = {.verify = false};
    return verb("replay", vq_replay_opts, argc, argv, &w, REPLAY_FOLDER);
}

int vq_verb_report(int argc, char **argv)
{
    struct replay_words w = {.verify = false};
    return verb("report", vq_report_opts, argc, argv, &w, "results");
}
