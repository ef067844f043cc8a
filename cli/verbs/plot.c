/* `vibeq plot RUN`: the three bar panels of a run as SVG or PNG, from results/vibes.csv. Does not
 * change the run. Not its job: the drawing (methods/vibecheck/plot). */
#include "methods/vibecheck/plot/plot.h"
#include "cli/verbs.h"
#include "common/base/alloc.h"
#include "common/text/file.h"
#include "common/text/json_load.h"
#include "coordinator/store/rundir/run_dir.h"

#include <jansson.h>
#include <stdio.h>

#define FILE_BYTES_MAX ((size_t)1 << 30)

struct plot_words {
    const char *format, *output, *runs;
    bool force;
};

#define AT(field) offsetof(struct plot_words, field)

const struct vq_opt vq_plot_opts[] = {
    {"format", VQ_OPT_TEXT, AT(format), "svg|png",
     "svg or png; default: by the ending of --output, else svg"},
    {"output", VQ_OPT_TEXT, AT(output), "FILE",
     "the file for the picture, also as -o FILE; default: standard output"},
    {"runs", VQ_OPT_TEXT, AT(runs), "DIR", "runs folder; default VIBEQ_RUNS, then ./runs"},
    {"force", VQ_OPT_FLAG, AT(force), NULL, "replaces the file of --output"},
    {0},
};

static enum vq_status read_result(const struct vq_run_dir *run, const char *file,
                                  struct vq_buf *text, struct vq_error *err)
{
    vq_buf_init(text, FILE_BYTES_MAX);
    enum vq_status status = vq_run_dir_read(run, file, text, err);
    return status != VQ_NOT_FOUND
               ? status
               : vq_fail(err, status,
                         "%s has no %s: it is not over yet (vibeq resume %s), or its method has no "
                         "vibes",
                         vq_run_dir_name(run), file, vq_run_dir_name(run));
}

static const char *text_of(const json_t *value)
{
    const char *text = json_string_value(value);
    return text == NULL ? "?" : text;
}

static enum vq_status make(const struct vq_table *vibes, const json_t *results, bool png,
                           struct vq_buf *out, struct vq_error *err)
{
    const json_t *models = json_object_get(results, "models");
    if (json_array_size(models) > 2) {
        return vq_fail(err, VQ_INVALID,
                       "vibeq plot draws two models, and this run ranks %zu; its matrix of models "
                       "and vibes is in report.html",
                       json_array_size(models));
    }
    struct vq_plot_words words = {
        .a = text_of(json_array_get(models, 0)),
        .b = text_of(json_array_get(models, 1)),
        .offline = strcmp(text_of(json_object_get(results, "judge_kind")), "model") != 0};
    struct vq_plot plot;
    enum vq_status status = vq_plot_draw(vibes, &words, &plot);
    if (status == VQ_OK && png) {
        status = vq_plot_png(&plot, out);
    } else if (status == VQ_OK) {
        vq_plot_svg(&plot, out);
        status = out->status;
    }
    vq_plot_free(&plot);
    return status == VQ_OK ? status : vq_fail(err, status, "no memory for the picture");
}

struct picture {
    struct vq_buf json, csv, out;
    struct vq_table *vibes;
    json_t *results;
};

static enum vq_status draw_run(const struct vq_run_dir *run, bool png, struct picture *p,
                               struct vq_error *err)
{
    VQ_TRY(read_result(run, "results/results.json", &p->json, err));
    VQ_TRY(read_result(run, "results/vibes.csv", &p->csv, err));
    VQ_TRY(vq_table_parse(vq_buf_span(&p->csv), VQ_TABLE_CSV, "results/vibes.csv", &p->vibes, err));
    if (vq_json_load(vq_buf_span(&p->json), 0, &p->results, NULL) != VQ_OK) {
        return vq_fail(err, VQ_CORRUPT,
                       "results/results.json is damaged; vibeq report %s writes it again",
                       vq_run_dir_name(run));
    }
    return make(p->vibes, p->results, png, &p->out, err);
}

static enum vq_status plot_run(const struct plot_words *w, const char *name, bool png,
                               struct vq_error *err)
{
    char *runs_dir;
    struct vq_run_dir *run;
    struct picture p = {.vibes = NULL};
    VQ_TRY(vq_runs_dir_find(w->runs, &runs_dir, err));
    enum vq_status status = vq_run_dir_look(runs_dir, name, &run, err);
    vq_free(runs_dir);
    VQ_TRY(status);
    vq_buf_init(&p.out, VQ_PLOT_BYTES_MAX);
    status = draw_run(run, png, &p, err);
    if (status == VQ_OK) {
        status = vq_cli_write_file(w->output, w->force, vq_buf_span(&p.out), err);
    }
    json_decref(p.results);
    vq_table_destroy(&p.vibes);
    vq_buf_free(&p.json);
    vq_buf_free(&p.csv);
    vq_buf_free(&p.out);
    vq_run_dir_close(&run);
    return status;
}

int vq_verb_plot(int argc, char **argv)
{
    struct plot_words w = {.format = NULL};
    struct vq_error err = {0};
    vq_opts_output(argc, argv);
    if (!vq_opts_parse_run("plot", vq_plot_opts, argc, argv, &w)) {
        return VQ_EXIT_USAGE;
    }
    const char *format = w.format != NULL                                          ? w.format
                         : w.output != NULL && vq_name_ends_with(w.output, ".png") ? "png"
                                                                                   : "svg";
    bool png = strcmp(format, "png") == 0;
    if (!png && strcmp(format, "svg") != 0) {
        return vq_cli_usage("plot", "--format is svg or png, not '%.40s'", format);
    }
    enum vq_status status = plot_run(&w, argv[0], png, &err);
    return status == VQ_OK ? VQ_EXIT_DONE : vq_cli_fail(status, &err);
}
