/* `vibeq store stat | gc | export | check`: maintains the paid answers of a runs folder. */
#include "cli/verbs.h"
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/text/fmt.h"
#include "coordinator/store/calls/tools.h"
#include "coordinator/store/rundir/run_dir.h"

#include <stdio.h>
#include <string.h>

#define MS_PER_DAY (INT64_C(24) * 3600 * 1000)

struct store_words {
    const char *runs;
    struct vq_opt_count older_than_days;
    bool dry_run;
    bool drop;
};

#define AT(field) offsetof(struct store_words, field)

const struct vq_opt vq_store_opts[] = {
    {"runs", VQ_OPT_TEXT, AT(runs), "DIR", "runs folder; default VIBEQ_RUNS, then ./runs"},
    {"older-than-days", VQ_OPT_COUNT, AT(older_than_days), "N",
     "gc: also drop answers older than this that no existing run uses"},
    {"dry-run", VQ_OPT_FLAG, AT(dry_run), NULL, "gc: only count"},
    {"drop", VQ_OPT_FLAG, AT(drop), NULL,
     "check: remove damaged values and print their names; their questions are asked again"},
    {0},
};

static enum vq_status stat_store(struct vq_calls *calls, struct vq_error *err)
{
    struct vq_store_stat s;
    VQ_TRY(vq_store_stat(calls, &s, err));
    char a[VQ_FMT_BYTES], c[VQ_FMT_BYTES], f[VQ_FMT_BYTES], u[VQ_FMT_BYTES], v[VQ_FMT_BYTES];
    printf("%s\n", vq_calls_path(calls));
    printf("answers   %s\ncalls     %s\nfailures  %s\nruns      %llu\n", vq_fmt_count(s.answers, a),
           vq_fmt_count(s.calls, c), vq_fmt_count(s.failures, f), (unsigned long long)s.runs);
    printf("file      %s, %s in use\n", vq_fmt_bytes(s.bytes_file, u),
           vq_fmt_bytes(s.bytes_used, v));
    return VQ_OK;
}

static void say_dropped(void *ctx, const char *table, struct vq_span key)
{
    char hex[VQ_HEX_BYTES(64)];
    (void)ctx;
    vq_hex(key.at, key.bytes < 64 ? key.bytes : 64, hex);
    printf("damaged, taken out: %s %s\n", table, hex);
}

static enum vq_status check_store(struct vq_calls *calls, bool drop, struct vq_error *err)
{
    uint64_t values = 0, dropped = 0;
    if (drop) {
        VQ_TRY(vq_store_drop_damaged(calls, say_dropped, NULL, &dropped, err));
    }
    VQ_TRY(vq_store_check(calls, &values, err));
    char n[VQ_FMT_BYTES];
    printf("%s values, all sound\n", vq_fmt_count(values, n));
    return VQ_OK;
}

static enum vq_status write_line(void *ctx, struct vq_span line)
{
    return vq_cli_write(line, ctx);
}

static enum vq_status kept_runs(void *ctx, struct vq_id **ret_runs, size_t *ret_count,
                                struct vq_error *err)
{
    return vq_runs_uids(ctx, ret_runs, ret_count, err);
}

static enum vq_status gc_store(struct vq_calls *calls, const char *runs_dir,
                               const struct store_words *w, struct vq_error *err)
{
    struct vq_gc gc = {
        .keep = kept_runs, .ctx = (void *)(uintptr_t)runs_dir, .dry_run = w->dry_run};
    if (w->older_than_days.given) {
        gc.answers_before_unix_ms =
            vq_clock_unix_ms() - (int64_t)w->older_than_days.value * MS_PER_DAY;
    }
    struct vq_gc_done done;
    enum vq_status status = vq_store_gc(calls, &gc, &done, err);
    if (status == VQ_OK) {
        printf("%s ledgers of %llu removed runs (%llu rows), %llu answers\n",
               w->dry_run ? "would drop" : "dropped", (unsigned long long)done.runs,
               (unsigned long long)done.rows, (unsigned long long)done.answers);
    }
    return status;
}

static enum vq_status with_store(const char *what, const char *runs_dir,
                                 const struct store_words *w, struct vq_error *err)
{
    struct vq_calls *calls;
    bool drop = w->drop && strcmp(what, "check") == 0;
    struct vq_calls_options options = {.must_exist = true, .any_value = drop};
    VQ_TRY(vq_calls_open(runs_dir, &options, &calls, err));
    enum vq_status status;
    if (strcmp(what, "stat") == 0) {
        status = stat_store(calls, err);
    } else if (strcmp(what, "check") == 0) {
        status = check_store(calls, w->drop, err);
    } else if (strcmp(what, "export") == 0) {
        status = vq_store_export(calls, write_line, err, err);
    } else {
        status = gc_store(calls, runs_dir, w, err);
    }
    vq_calls_close(&calls);
    return status;
}

int vq_verb_store(int argc, char **argv)
{
    struct store_words w = {0};
    struct vq_error err = {0};
    int words;
    if (vq_opts_parse(vq_store_opts, argc, argv, &w, &words, &err) != VQ_OK) {
        return vq_cli_usage("store", "%s", err.text);
    }
    static const char *const known[] = {"stat", "gc", "export", "check", NULL};
    bool found = false;
    for (size_t i = 0; words == 1 && known[i] != NULL; i++) {
        found |= strcmp(argv[0], known[i]) == 0;
    }
    if (!found && words > 1) {
        return vq_cli_usage("store", "one thing at a time");
    }
    if (!found) {
        return vq_cli_unknown_word("store", words == 1 ? argv[0] : NULL, known);
    }
    char *runs_dir = NULL;
    enum vq_status status = vq_runs_dir_find(w.runs, &runs_dir, &err);
    if (status == VQ_OK) {
        status = with_store(argv[0], runs_dir, &w, &err);
    }
    vq_free(runs_dir);
    return status == VQ_OK ? VQ_EXIT_DONE : vq_cli_fail(status, &err);
}
