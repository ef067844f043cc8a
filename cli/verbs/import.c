/* `vibeq import FORMAT FILE...`: converts answers in the files of other programs into a CSV that
 * `vibeq run` reads, on standard output or in a new file. The number of omitted answers goes to
 * standard error. Not its job: the formats (common/import). */
#include "common/import/import.h"
#include "cli/verbs.h"
#include "common/pack/data_file.h"
#include "common/pack/unpack.h"
#include "common/text/file.h"
#include "common/text/fmt.h"

#include <stdio.h>

#define FILE_BYTES_MAX ((size_t)4 << 30)
#define JOIN           "join"

struct import_words {
    const char *output, *a, *b, *key, *prompt, *column;
    bool force;
};

#define AT(field) offsetof(struct import_words, field)

const struct vq_opt vq_import_opts[] = {
    {"output", VQ_OPT_TEXT, AT(output), "FILE",
     "the file for the CSV, also as -o FILE; default: standard output"},
    {"a", VQ_OPT_TEXT, AT(a), "NAME",
     "model A, if the files have more than two models; otherwise the name of its column"},
    {"b", VQ_OPT_TEXT, AT(b), "NAME", "model B, in the same way"},
    {"key", VQ_OPT_TEXT, AT(key), "COLUMN", "for join: the column that both files share"},
    {"prompt", VQ_OPT_TEXT, AT(prompt), "COLUMN",
     "for join: the column of the prompts; default question, prompt, instruction or input"},
    {"column", VQ_OPT_TEXT, AT(column), "COLUMN",
     "for join: the column of the outputs; default output, response, answer, completion, "
     "generation or text"},
    {"force", VQ_OPT_FLAG, AT(force), NULL, "replaces the file of --output"},
    {0},
};

/* ---- files ---- */

static const char *shown(const char *path)
{
    return strcmp(path, VQ_DATA_STDIN) == 0 ? "standard input" : path;
}

static enum vq_status read_packed(const struct vq_import_format *format, struct vq_span bytes,
                                  const char *name, struct vq_import_set *set, struct vq_error *err)
{
    if (strcmp(format->name, "inspect") == 0 && bytes.bytes > 2 && memcmp(bytes.at, "PK", 2) == 0) {
        return vq_fail(err, VQ_INVALID,
                       "%s is an Inspect log in the .eval form; convert it: inspect log convert "
                       "--to json --output-dir DIR %s",
                       name, name);
    }
    struct vq_buf work;
    struct vq_span text;
    vq_buf_init(&work, VQ_IMPORT_BYTES_MAX);
    enum vq_status status = vq_unpack(bytes, name, &work, &text, err);
    if (status == VQ_OK) {
        status = vq_import_read(format, text, name, set, err);
    }
    vq_buf_free(&work);
    return status;
}

static enum vq_status read_table(const struct import_words *w, struct vq_span bytes,
                                 const char *path, struct vq_import_set *set, struct vq_error *err)
{
    struct vq_import_columns columns = {.key = w->key, .prompt = w->prompt, .output = w->column};
    struct vq_table *table = NULL;
    VQ_TRY(vq_data_table(bytes, path, "auto", NULL, &table, err));
    enum vq_status status = vq_import_table(table, &columns, shown(path), set, err);
    vq_table_destroy(&table);
    return status;
}

static enum vq_status read_files(const struct import_words *w,
                                 const struct vq_import_format *format, char **files, int count,
                                 struct vq_import_set *set, struct vq_error *err)
{
    enum vq_status status = VQ_OK;
    for (int i = 0; i < count && status == VQ_OK; i++) {
        struct vq_buf bytes;
        VQ_TRY(vq_data_read(files[i], FILE_BYTES_MAX, &bytes, err));
        status = format == NULL
                     ? read_table(w, vq_buf_span(&bytes), files[i], set, err)
                     : read_packed(format, vq_buf_span(&bytes), shown(files[i]), set, err);
        vq_buf_free(&bytes);
    }
    return status;
}

/* ---- the result ---- */

static void say_count(uint64_t count, const char *noun, const char *text, const char *name)
{
    char n[VQ_FMT_BYTES];
    if (count > 0) {
        fprintf(stderr, "  %s%s%s%s%s\n", vq_fmt_count(count, n), noun,
                noun[0] == '\0' ? "" : vq_fmt_plural(count), text, name);
    }
}

static void say(const struct import_words *w, const struct vq_import_set *set,
                const struct vq_import_pairing *p)
{
    char n[VQ_FMT_BYTES];
    const char *to = w->output == NULL ? "-" : w->output;
    fprintf(stderr, "%s: %s row%s, %s (A) and %s (B)\n",
            strcmp(to, "-") == 0 ? "standard output" : to, vq_fmt_count(p->rows, n),
            vq_fmt_plural(p->rows), p->names[0], p->names[1]);
    for (int side = 0; side < 2; side++) {
        say_count(p->only[side], "", " left out: answered only by ", p->names[side]);
        say_count(p->repeated[side], "", " left out: the key came before, in the answers of ",
                  p->names[side]);
        say_count(p->empty[side], " output",
                  vq_fmt_form(p->empty[side], " is empty, of ", " are empty, of "), p->names[side]);
    }
    say_count(p->other_prompt, " row",
              vq_fmt_form(p->other_prompt, " has another prompt in B; that of A is taken",
                          " have another prompt in B; that of A is taken"),
              "");
    say_count(p->without_prompt, " row",
              vq_fmt_form(p->without_prompt, " has no prompt", " have no prompt"), "");
    say_count(set->more_turns, " answer",
              vq_fmt_form(set->more_turns, " has further turns; the first is taken",
                          " have further turns; the first is taken"),
              "");
    if (strcmp(to, "-") != 0) {
        fprintf(stderr, "Next: vibeq run %s --models '%s,%s' --judge MODEL\n", to, p->names[0],
                p->names[1]);
    }
}

static enum vq_status import_files(const struct import_words *w,
                                   const struct vq_import_format *format, char **files, int count,
                                   struct vq_error *err)
{
    struct vq_import_set set;
    struct vq_import_pairing pairing;
    struct vq_buf out;
    const char *const names[2] = {w->a, w->b};
    vq_import_set_init(&set);
    vq_buf_init(&out, VQ_IMPORT_BYTES_MAX);
    enum vq_status status = read_files(w, format, files, count, &set, err);
    if (status == VQ_OK) {
        status = vq_import_pair(&set, names, &out, &pairing, err);
    }
    if (status == VQ_OK) {
        status = vq_cli_write_file(w->output, w->force, vq_buf_span(&out), err);
    }
    if (status == VQ_OK) {
        say(w, &set, &pairing);
    }
    vq_buf_free(&out);
    vq_import_set_free(&set);
    return status;
}

/* ---- the verb ---- */

static int unknown_format(const char *word)
{
    const char *known[16];
    size_t n = 0;
    for (const struct vq_import_format *f = vq_import_formats; f->name != NULL; f++) {
        known[n++] = f->name;
    }
    known[n++] = JOIN;
    known[n] = NULL;
    return vq_cli_unknown_word("import", word, known);
}

int vq_verb_import(int argc, char **argv)
{
    struct import_words w = {.output = NULL};
    struct vq_error err = {0};
    int words;
    vq_opts_output(argc, argv);
    if (vq_opts_parse(vq_import_opts, argc, argv, &w, &words, &err) != VQ_OK) {
        return vq_cli_usage("import", "%s", err.text);
    }
    bool join = words > 0 && strcmp(argv[0], JOIN) == 0;
    const struct vq_import_format *format = words > 0 ? vq_import_format_find(argv[0]) : NULL;
    if (format == NULL && !join) {
        return unknown_format(words > 0 ? argv[0] : NULL);
    }
    if (words < 2) {
        return vq_cli_usage("import", "name the files after the format");
    }
    if (join && (words != 3 || w.key == NULL)) {
        return vq_cli_usage("import", "join takes two files and --key COLUMN");
    }
    if (!join && (w.key != NULL || w.prompt != NULL || w.column != NULL)) {
        return vq_cli_usage("import", "--key, --prompt and --column go with the format join");
    }
    enum vq_status status = import_files(&w, format, argv + 1, words - 1, &err);
    return status == VQ_OK ? VQ_EXIT_DONE : vq_cli_fail(status, &err);
}
