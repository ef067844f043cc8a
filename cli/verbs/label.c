/* `vibeq label RUN`: writes a sheet for people, and reads their verdicts. The sheet is blind: it
 * names no model. Not its job: the numbers, which a new writing of the results computes. */
#include "cli/open_run.h"
#include "cli/results_reader.h"
#include "cli/verbs.h"
#include "common/base/alloc.h"
#include "common/base/arena.h"
#include "common/pack/data_file.h"
#include "common/text/fmt.h"
#include "methods/vibecheck/files/job.h"
#include "methods/vibecheck/files/people.h"

#include <stdio.h>

#define SHEET_BYTES_MAX ((size_t)1 << 30)
#define ROWS_DEFAULT    50u

struct label_words {
    struct vq_open_run_words kept;
    const char *read, *output;
    struct vq_opt_count rows;
    bool all, force;
};

#define AT(field) offsetof(struct label_words, field)

const struct vq_opt vq_label_opts[] = {
    {"rows", VQ_OPT_COUNT, AT(rows), "N",
     "the number of rows, drawn at random, each for every vibe; default 50"},
    {"all", VQ_OPT_FLAG, AT(all), NULL, "also the vibes that were dropped"},
    {"output", VQ_OPT_TEXT, AT(output), "FILE",
     "the file for the sheet, also as -o FILE; default: standard output"},
    {"force", VQ_OPT_FLAG, AT(force), NULL, "replaces the file of --output"},
    {"read", VQ_OPT_TEXT, AT(read), "FILE",
     "reads a sheet that was filled in, or a CSV with the columns record, vibe and label (A, B, "
     "equal), and writes the results again"},
    {"runs", VQ_OPT_TEXT, AT(kept.runs), "DIR", "runs folder; default VIBEQ_RUNS, then ./runs"},
    {0},
};

struct labelling {
    struct label_words words;
    struct vq_open_run kept;
    struct vq_results_reader found;
    struct vq_label_frame frame;
    struct vq_table *sheet;
    struct vq_buf bytes, out;
    struct vq_arena memory;
    struct vq_error err;
};

static enum vq_status open_run(struct labelling *l, const char *name)
{
    VQ_TRY(vq_open_run_look(&l->words.kept, name, &l->kept, &l->err));
    VQ_TRY(vq_job_needs_vibes(l->kept.job, "vibeq label", &l->err));
    VQ_TRY(vq_job_needs_two(l->kept.job->config, "vibeq label", &l->err));
    VQ_TRY(vq_results_reader_read(l->kept.runs_dir, name, &l->found, &l->err));
    l->frame = vq_vibecheck_label_frame(l->kept.job, l->found.list.axes, l->found.list.count);
    return VQ_OK;
}

/* ---- the sheet ---- */

/* Writes the sheet for the split that the results show first. */
static enum vq_status write_sheet(struct labelling *l)
{
    const struct vq_dataset *d = l->frame.dataset;
    uint32_t n = vq_dataset_count(d), kept = l->found.kept_count;
    uint32_t count = l->words.all || kept == 0 ? l->frame.axes_count : kept;
    bool *wanted;
    uint32_t *axes;
    VQ_TRY(VQ_ARENA_ALLOC(&l->memory, wanted, n));
    VQ_TRY(VQ_ARENA_ALLOC(&l->memory, axes, count));
    for (uint32_t i = 0; i < n; i++) {
        wanted[i] = d->test_count == 0 || d->samples[i].split == VQ_SPLIT_TEST;
    }
    for (uint32_t v = 0; v < count; v++) {
        axes[v] = v; /* kept ones come first */
    }
    uint64_t most = l->words.rows.given ? l->words.rows.value : ROWS_DEFAULT;
    uint32_t rows = most > n ? n : (uint32_t)most;
    vq_buf_init(&l->out, SHEET_BYTES_MAX);
    VQ_TRY(vq_label_sheet(&l->frame, wanted, rows, axes, count, &l->out));
    return vq_cli_write_file(l->words.output, l->words.force, vq_buf_span(&l->out), &l->err);
}

/* ---- reading a sheet ---- */

static enum vq_status read_sheet(struct labelling *l, int8_t *people,
                                 struct vq_label_counts_read *counts)
{
    const char *path = l->words.read;
    VQ_TRY(vq_data_read(path, VQ_PEOPLE_BYTES_MAX, &l->bytes, &l->err));
    VQ_TRY(vq_data_table(vq_buf_span(&l->bytes), path, "auto", NULL, &l->sheet, &l->err));
    VQ_TRY(vq_labels_read(&l->frame, l->sheet, path, people, counts, &l->err));
    return counts->labels > 0 ? VQ_OK
                              : vq_fail(&l->err, VQ_INVALID,
                                        "%s has no label yet: its column label is empty", path);
}

static enum vq_status keep_labels(struct labelling *l, struct vq_label_counts_read *counts)
{
    int8_t *people;
    uint32_t others;
    VQ_TRY(vq_people_load(l->kept.job, l->kept.run, &l->frame, &people, &others, &l->err));
    people = people == NULL ? vq_human_cells(&l->frame) : people;
    if (people == NULL) {
        return VQ_NOMEM;
    }
    vq_buf_init(&l->out, VQ_PEOPLE_BYTES_MAX);
    enum vq_status status = read_sheet(l, people, counts);
    if (status == VQ_OK) {
        vq_labels_write(&l->frame, people, &l->out);
        status = l->out.status;
    }
    vq_free(people);
    VQ_TRY(status);
    return vq_run_dir_write(l->kept.run, VQ_PEOPLE_FILE, vq_buf_span(&l->out), true, &l->err);
}

static void close_run(struct labelling *l)
{
    vq_table_destroy(&l->sheet);
    vq_buf_free(&l->bytes);
    vq_buf_free(&l->out);
    vq_arena_clear(&l->memory);
    vq_results_reader_free(&l->found);
    vq_open_run_close(&l->kept);
}

static int read_back(struct labelling *l, char *name)
{
    struct vq_label_counts_read counts = {0};
    enum vq_status status = keep_labels(l, &counts);
    close_run(l);
    if (status != VQ_OK) {
        return vq_cli_fail(status, &l->err);
    }
    (void)fprintf(stderr,
                  "%u label%s read, %u line%s none. %s/" VQ_PEOPLE_FILE
                  " holds all labels of the run.\n",
                  counts.labels, vq_fmt_form(counts.labels, " was", "s were"), counts.empty,
                  vq_fmt_form(counts.empty, " has", "s have"), name);
    char runs_word[] = "--runs";
    char *again[] = {name, runs_word, (char *)(uintptr_t)l->words.kept.runs};
    return vq_verb_report(l->words.kept.runs == NULL ? 1 : 3, again);
}

int vq_verb_label(int argc, char **argv)
{
    struct labelling l = {.words = {.read = NULL}};
    vq_opts_output(argc, argv);
    if (!vq_opts_parse_run("label", vq_label_opts, argc, argv, &l.words)) {
        return VQ_EXIT_USAGE;
    }
    enum vq_status status = open_run(&l, argv[0]);
    if (status == VQ_OK && l.words.read != NULL) {
        return read_back(&l, argv[0]);
    }
    if (status == VQ_OK) {
        status = write_sheet(&l);
    }
    close_run(&l);
    return status == VQ_OK ? VQ_EXIT_DONE : vq_cli_fail(status, &l.err);
}
