/* `vibeq init DATA.csv`: writes a first configuration with guessed columns, or with the paths of
 * several files. An existing file is replaced only with --force. Not its job: the guess and the
 * text (methods/init). */
#include "methods/init/init.h"
#include "cli/verbs.h"
#include "common/base/alloc.h"
#include "common/pack/data_file.h"
#include "common/text/file.h"
#include "common/text/fmt.h"
#include "common/text/utf8.h"
#include "methods/files/job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_OUTPUT   "vibeq.yaml"
#define NAME_SHOWN_BYTES 512

struct init_words {
    const char *method, *output;
    bool force;
};

#define AT(field) offsetof(struct init_words, field)

const struct vq_opt vq_init_opts[] = {
    {"method", VQ_OPT_TEXT, AT(method), "METHOD",
     "`vibes` (default): the differences between two models; `judge`: judges rate outputs by "
     "criteria; `persona`: personas in long dialogues, from a file of personas, one or two lists "
     "of queries, and optional files of items"},
    {"output", VQ_OPT_TEXT, AT(output), "FILE",
     "the file to write; default vibeq.yaml, - is standard output"},
    {"force", VQ_OPT_FLAG, AT(force), NULL, "replace an existing file"},
    {0},
};

static bool is_method(const struct init_words *w, const char *method)
{
    return w->method != NULL && strcmp(w->method, method) == 0;
}

/* The path of the data file from the configuration's folder: as given if that folder is the working
 * directory, else absolute. */
static enum vq_status path_from(const char *output, const char *data, char **ret_path,
                                struct vq_error *err)
{
    if (data[0] == '/' || strcmp(data, VQ_DATA_STDIN) == 0 || strchr(output, '/') == NULL) {
        return vq_copy(data, ret_path);
    }
    char *real = realpath(data, NULL);
    if (real == NULL) {
        return vq_fail(err, VQ_NOT_FOUND, "%s: %s", data, strerror(errno));
    }
    enum vq_status status = vq_copy(real, ret_path);
    free(real); /* allocated by realpath */
    return status;
}

static void say_column(const struct vq_table *table, const char *what, uint32_t column,
                       const char *none)
{
    if (column == VQ_INIT_NONE) {
        fprintf(stderr, "  %-11s %s\n", what, none);
        return;
    }
    struct vq_buf name;
    vq_buf_init(&name, NAME_SHOWN_BYTES);
    vq_fmt_plain(&name, vq_utf8_cut(table->columns[column], NAME_SHOWN_BYTES / 2));
    fprintf(stderr, "  %-11s %.*s\n", what, (int)name.bytes, name.at);
    vq_buf_free(&name);
}

static void say_guess(const struct vq_table *table, const struct vq_init_guess *g, bool rated)
{
    static const char unnamed[] = "not found: name it under models:";
    fprintf(stderr, "%u records. Guessed columns:\n", table->rows_count);
    say_column(table, "prompt", g->prompt, "not found: name it under data:");
    say_column(table, rated ? "output" : "model A", g->model[0], unnamed);
    if (!rated || g->model[1] != VQ_INIT_NONE) {
        say_column(table, rated ? "output" : "model B", g->model[1], unnamed);
        say_column(table, rated ? "human" : "preference", g->preference,
                   rated ? "none: the data has no column of preferences" : "none");
    }
    if (g->group != VQ_INIT_NONE) {
        say_column(table, "group", g->group, "");
    }
}

static void say_written(const char *output, bool whole)
{
    if (strcmp(output, "-") != 0) {
        fprintf(stderr, "Wrote %s. %s, then: vibeq run %s\n", output,
                whole ? "Look it over" : "Fill in what was not found", output);
    }
}

static const char *output_of(const struct init_words *w)
{
    return w->output == NULL ? DEFAULT_OUTPUT : w->output;
}

/* ---- from a table ---- */

static enum vq_status init_from(const struct init_words *w, const char *data,
                                const struct vq_table *table, struct vq_error *err)
{
    const char *output = output_of(w);
    bool rated = is_method(w, "judge");
    struct vq_init_guess guess;
    if (rated) {
        VQ_TRY(vq_init_guess_rated(table, &guess));
    } else {
        vq_init_guess(table, &guess);
    }
    char *path = NULL;
    VQ_TRY(path_from(output, data, &path, err));
    struct vq_buf text;
    vq_buf_init(&text, VQ_INIT_BYTES_MAX);
    (rated ? vq_init_judge_config : vq_init_config)(table, path, &guess, &text);
    enum vq_status status = text.status;
    if (status == VQ_OK) {
        status = vq_cli_write_file(output, w->force, vq_buf_span(&text), err);
    }
    if (status == VQ_OK) {
        say_guess(table, &guess, rated);
        say_written(output, guess.prompt != VQ_INIT_NONE && guess.model[0] != VQ_INIT_NONE);
    }
    vq_buf_free(&text);
    vq_free(path);
    return status;
}

static enum vq_status init_file(const struct init_words *w, const char *data, struct vq_error *err)
{
    struct vq_buf bytes;
    struct vq_table *table = NULL;
    VQ_TRY(vq_data_read(data, VQ_JOB_DATA_BYTES_MAX, &bytes, err));
    enum vq_status status = vq_data_table(vq_buf_span(&bytes), data, "auto", NULL, &table, err);
    if (status == VQ_OK) {
        status = init_from(w, data, table, err);
    }
    vq_table_destroy(&table);
    vq_buf_free(&bytes);
    return status;
}

/* ---- from the files of a persona evaluation ---- */

static enum vq_status add_file(struct vq_init_persona *persona, const char *file, const char *path,
                               struct vq_error *err)
{
    struct vq_buf bytes;
    VQ_TRY(vq_file_read(file, VQ_JOB_DATA_BYTES_MAX, &bytes, err));
    enum vq_status status = vq_init_persona_add(persona, path, vq_buf_span(&bytes), err);
    vq_buf_free(&bytes);
    return status;
}

static void say_persona(const struct vq_init_persona *p)
{
    static const char *const names[] = {"directed", "goal"};
    const struct vq_init_queries *const lists[] = {&p->directed, &p->goal};
    fprintf(stderr, "%u persona%s. Found:\n  %-11s %s\n", p->personas_count,
            vq_fmt_plural(p->personas_count), "personas", p->personas);
    for (size_t i = 0; i < VQ_COUNT(lists); i++) {
        if (lists[i]->path == NULL) {
            fprintf(stderr, "  %-11s none\n", names[i]);
        } else {
            fprintf(stderr, "  %-11s %s, %u %s%s\n", names[i], lists[i]->path, lists[i]->count,
                    vq_fmt_form(lists[i]->count, "query", "queries"),
                    lists[i]->remarks > 0 ? " and remarks" : "");
        }
    }
    for (uint32_t i = 0; i < p->probes_count; i++) {
        fprintf(stderr, "  %-11s %s, %u item%s\n", "probe", p->probes[i].path, p->probes[i].items,
                vq_fmt_plural(p->probes[i].items));
    }
}

static enum vq_status init_persona(const struct init_words *w, char **files, size_t count,
                                   struct vq_error *err)
{
    struct vq_init_persona persona = {.personas = NULL};
    struct vq_buf text;
    char **paths = vq_alloc(count, sizeof(*paths));
    enum vq_status status = paths == NULL ? VQ_NOMEM : VQ_OK;
    vq_buf_init(&text, VQ_INIT_BYTES_MAX);
    for (size_t i = 0; status == VQ_OK && i < count; i++) {
        status = path_from(output_of(w), files[i], &paths[i], err);
        if (status == VQ_OK) {
            status = add_file(&persona, files[i], paths[i], err);
        }
    }
    if (status == VQ_OK) {
        status = vq_init_persona_check(&persona, err);
    }
    if (status == VQ_OK) {
        vq_init_persona_config(&persona, &text);
        status = text.status;
    }
    if (status == VQ_OK) {
        status = vq_cli_write_file(output_of(w), w->force, vq_buf_span(&text), err);
    }
    if (status == VQ_OK) {
        say_persona(&persona);
        say_written(output_of(w), true);
    }
    vq_buf_free(&text);
    for (size_t i = 0; paths != NULL && i < count; i++) {
        vq_free(paths[i]);
    }
    vq_free(paths);
    return status;
}

/* ---- the verb ---- */

int vq_verb_init(int argc, char **argv)
{
    struct init_words w = {0};
    struct vq_error err = {0};
    int words;
    if (vq_opts_parse(vq_init_opts, argc, argv, &w, &words, &err) != VQ_OK) {
        return vq_cli_usage("init", "%s", err.text);
    }
    bool persona = is_method(&w, "persona");
    if (w.method != NULL && !persona && !is_method(&w, "judge") && !is_method(&w, "vibes")) {
        return vq_cli_usage("init", "--method is vibes, judge or persona, not \"%s\"", w.method);
    }
    if (words == 0) {
        return vq_cli_usage("init", persona ? "name a file of personas and one of queries"
                                            : "name a data file");
    }
    if (words > 1 && !persona) {
        return vq_cli_usage("init", "one data file at a time; several are for --method persona");
    }
    if (w.output != NULL && strcmp(w.output, "-") != 0 && !vq_is_config_name(w.output)) {
        return vq_cli_usage("init", "a configuration's name ends with .yaml");
    }
    enum vq_status status =
        persona ? init_persona(&w, argv, (size_t)words, &err) : init_file(&w, argv[0], &err);
    return status == VQ_OK ? VQ_EXIT_DONE : vq_cli_fail(status, &err);
}
