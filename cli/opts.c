/* Reads options by table. Invariant: an unknown or repeated single option is an error and never
 * ignored, and the message offers the nearest known name. Owns nothing: values point into argv. */
#include "cli/opts.h"

#include "common/text/file.h"
#include "common/text/fmt.h"
#include "common/text/intern.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const struct vq_opt *find(const struct vq_opt *opts, const char *name, size_t bytes)
{
    for (const struct vq_opt *o = opts; o->name != NULL; o++) {
        if (strlen(o->name) == bytes && memcmp(o->name, name, bytes) == 0) {
            return o;
        }
    }
    return NULL;
}

/* The nearest of the names that `name_of` returns, up to NULL; NULL: no name is near. */
static const char *nearest(const char *word, const char *(*name_of)(const void *at, size_t i),
                           const void *at)
{
    struct vq_span names[128];
    uint32_t n = 0;
    for (const char *name; n < VQ_COUNT(names) && (name = name_of(at, n)) != NULL; n++) {
        names[n] = vq_span_str(name);
    }
    uint32_t near = vq_nearest_name(vq_span_str(word), names, n);
    return near == VQ_INTERN_NONE ? NULL : names[near].at;
}

static const char *option_name(const void *at, size_t i)
{
    return ((const struct vq_opt *)at)[i].name;
}

static const char *verb_name(const void *at, size_t i)
{
    return ((const struct vq_verb *)at)[i].name;
}

static const char *list_name(const void *at, size_t i)
{
    return ((const char *const *)at)[i];
}

static enum vq_status unknown(const struct vq_opt *opts, const char *word, struct vq_error *err)
{
    const char *near = nearest(word, option_name, opts);
    return near == NULL
               ? vq_fail(err, VQ_INVALID, "unknown option --%.60s", word)
               : vq_fail(err, VQ_INVALID, "unknown option --%.60s; did you mean --%s?", word, near);
}

static enum vq_status add(struct vq_opt_list *list, const struct vq_opt *o, const char *item,
                          struct vq_error *err)
{
    if (item[0] == '\0') {
        return vq_fail(err, VQ_INVALID, "--%s holds an empty name", o->name);
    }
    if (list->count == VQ_OPT_LIST_MAX) {
        return vq_fail(err, VQ_INVALID, "--%s is given more than %d times", o->name,
                       VQ_OPT_LIST_MAX);
    }
    list->items[list->count++] = item;
    return VQ_OK;
}

static enum vq_status split(struct vq_opt_list *list, const struct vq_opt *o, char *value,
                            struct vq_error *err)
{
    for (char *at = value; at != NULL;) {
        char *comma = strchr(at, ',');
        if (comma != NULL) {
            *comma = '\0';
        }
        VQ_TRY(add(list, o, at, err));
        at = comma == NULL ? NULL : comma + 1;
    }
    return VQ_OK;
}

static enum vq_status count(struct vq_opt_count *field, const struct vq_opt *o, const char *value,
                            struct vq_error *err)
{
    char *end;
    errno = 0;
    unsigned long n = strtoul(value, &end, 10);
    if (value[0] < '0' || value[0] > '9' || *end != '\0' || errno != 0 || n > UINT32_MAX) {
        return vq_fail(err, VQ_INVALID, "--%s takes a whole number, not '%.40s'", o->name, value);
    }
    *field = (struct vq_opt_count){.given = true, .value = (uint32_t)n};
    return VQ_OK;
}

static enum vq_status store(const struct vq_opt *o, char *value, void *fields, struct vq_error *err)
{
    char *at = (char *)fields + o->offset;
    switch (o->kind) {
    case VQ_OPT_FLAG: *(bool *)(void *)at = true; return VQ_OK;
    case VQ_OPT_TEXT: {
        const char **field = (const char **)(void *)at;
        if (*field != NULL) {
            return vq_fail(err, VQ_INVALID, "--%s is given twice", o->name);
        }
        *field = value;
        return VQ_OK;
    }
    case VQ_OPT_COUNT: return count((struct vq_opt_count *)(void *)at, o, value, err);
    case VQ_OPT_LIST: return add((struct vq_opt_list *)(void *)at, o, value, err);
    case VQ_OPT_SPLIT: return split((struct vq_opt_list *)(void *)at, o, value, err);
    }
    return VQ_BUG;
}

/* One option at argv[*i]; consumes its value. */
static enum vq_status option(const struct vq_opt *opts, int argc, char **argv, int *i, void *fields,
                             struct vq_error *err)
{
    char *word = argv[*i] + 2;
    char *equals = strchr(word, '=');
    size_t bytes = equals == NULL ? strlen(word) : (size_t)(equals - word);
    const struct vq_opt *o = find(opts, word, bytes);
    if (o == NULL) {
        if (equals != NULL) {
            *equals = '\0';
        }
        return unknown(opts, word, err);
    }
    if (o->kind == VQ_OPT_FLAG) {
        return equals != NULL ? vq_fail(err, VQ_INVALID, "--%s takes no value", o->name)
                              : store(o, NULL, fields, err);
    }
    if (equals != NULL) {
        return store(o, equals + 1, fields, err);
    }
    if (*i + 1 >= argc) {
        return vq_fail(err, VQ_INVALID, "--%s needs a value: --%s %s", o->name, o->name, o->arg);
    }
    *i += 1;
    return store(o, argv[*i], fields, err);
}

enum vq_status vq_opts_parse(const struct vq_opt *opts, int argc, char **argv, void *fields,
                             int *ret_words, struct vq_error *err)
{
    int words = 0;
    bool options = true;
    for (int i = 0; i < argc; i++) {
        if (options && strcmp(argv[i], "--") == 0) {
            options = false;
        } else if (options && strncmp(argv[i], "--", 2) == 0) {
            VQ_TRY(option(opts, argc, argv, &i, fields, err));
        } else if (options && argv[i][0] == '-' && argv[i][1] != '\0') {
            return vq_fail(err, VQ_INVALID, "unknown option %.2s; options begin with two dashes",
                           argv[i]);
        } else {
            argv[words++] = argv[i];
        }
    }
    *ret_words = words;
    return VQ_OK;
}

bool vq_opts_parse_run(const char *verb, const struct vq_opt *opts, int argc, char **argv,
                       void *fields)
{
    struct vq_error err = {0};
    int words;
    bool parsed = vq_opts_parse(opts, argc, argv, fields, &words, &err) == VQ_OK;
    if (!parsed || words != 1) {
        (void)vq_cli_usage(verb, "%s", parsed ? "name one run; vibeq list shows them" : err.text);
        return false;
    }
    return true;
}

void vq_opts_output(int argc, char **argv)
{
    static char output[] = "--output";
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        argv[i] = strcmp(argv[i], "-o") == 0 ? output : argv[i];
    }
}

const struct vq_verb *vq_verb_find(const char *name)
{
    for (const struct vq_verb *v = vq_verbs; v->name != NULL; v++) {
        if (strcmp(v->name, name) == 0) {
            return v;
        }
    }
    return NULL;
}

const char *vq_verb_nearest(const char *name)
{
    return nearest(name, verb_name, vq_verbs);
}

int vq_cli_unknown_word(const char *verb, const char *word, const char *const *known)
{
    struct vq_buf list;
    vq_buf_init(&list, VQ_ERROR_BYTES_MAX);
    for (size_t i = 0; known[i] != NULL; i++) {
        vq_buf_printf(&list, "%s%s", i == 0 ? "" : ", ", known[i]);
    }
    const char *near = word == NULL ? NULL : nearest(word, list_name, known);
    int code = word == NULL   ? vq_cli_usage(verb, "say one of %s", list.at)
               : near != NULL ? vq_cli_usage(verb, "'%.60s' is none of %s; did you mean %s?", word,
                                             list.at, near)
                              : vq_cli_usage(verb, "'%.60s' is none of %s", word, list.at);
    vq_buf_free(&list);
    return code;
}

static void help_row(void *ctx, const char *word, const char *usage, const char *help)
{
    (void)ctx;
    (void)word;
    printf("  %-26s %s\n", usage, help);
}

void vq_verb_help(const struct vq_verb *verb)
{
    printf("Usage: vibeq %s %s\n\n%s.\n", verb->name, verb->usage, verb->summary);
    if (verb->rows != NULL) {
        printf("\nCommands:\n");
        verb->rows(help_row, NULL);
    }
    if (verb->opts->name != NULL) {
        printf("\nOptions:\n");
    }
    for (const struct vq_opt *o = verb->opts; o->name != NULL; o++) {
        char left[64];
        (void)snprintf(left, sizeof(left), "--%s%s%s", o->name, o->arg ? " " : "",
                       o->arg ? o->arg : "");
        printf("  %-26s %s\n", left, o->help);
    }
    if (verb->more != NULL) {
        printf("\n%s\n", verb->more);
    }
}

int vq_cli_fail(enum vq_status status, const struct vq_error *err)
{
    const char *text = err != NULL && err->text[0] != '\0' ? err->text : vq_status_text(status);
    fprintf(stderr, "vibeq: %s\n", text);
    if (status == VQ_FULL) {
        return VQ_EXIT_STOPPED; /* `vibeq resume` continues it once there is room */
    }
    switch (vq_status_class(status)) {
    case VQ_CLASS_OK: return VQ_EXIT_DONE;
    case VQ_CLASS_RETRY: return VQ_EXIT_STOPPED;
    case VQ_CLASS_REFUSE: return VQ_EXIT_USAGE;
    case VQ_CLASS_FATAL:
    case VQ_CLASS_BUG: break;
    }
    return VQ_EXIT_INTERNAL;
}

void vq_cli_put_plain(struct vq_span text)
{
    struct vq_buf line;
    vq_buf_init(&line, SIZE_MAX / 4);
    vq_fmt_plain(&line, text);
    if (line.status == VQ_OK && line.bytes > 0) {
        (void)fwrite(line.at, 1, line.bytes, stdout); /* vq_cli_end checks it */
    }
    vq_buf_free(&line);
}

static enum vq_status output_failed(struct vq_error *err)
{
    return vq_fail(err, errno == ENOSPC ? VQ_FULL : VQ_IO, "standard output: %s",
                   errno != 0 ? strerror(errno) : "not all could be written");
}

enum vq_status vq_cli_write(struct vq_span piece, struct vq_error *err)
{
    errno = 0;
    bool whole = piece.bytes == 0 || fwrite(piece.at, 1, piece.bytes, stdout) == piece.bytes;
    return whole || errno == EPIPE ? VQ_OK : output_failed(err);
}

enum vq_status vq_cli_write_file(const char *path, bool force, struct vq_span text,
                                 struct vq_error *err)
{
    if (path == NULL || strcmp(path, "-") == 0) {
        return vq_cli_write(text, err);
    }
    if (force) {
        return vq_file_replace(path, text, 0644, err);
    }
    enum vq_status status = vq_file_create(path, text, 0666, err);
    return status != VQ_EXISTS ? status
                               : vq_fail(err, status,
                                         "%s is there already and is left as it is; --force "
                                         "replaces it, --output FILE writes another",
                                         path);
}

enum vq_status vq_cli_print(struct vq_buf *text, struct vq_error *err)
{
    enum vq_status status = text->status;
    if (status == VQ_OK) {
        status = vq_cli_write(vq_buf_span(text), err);
    }
    vq_buf_free(text);
    return status;
}

int vq_cli_end(int code)
{
    bool failed = ferror(stdout) != 0;
    errno = 0;
    failed = fflush(stdout) != 0 || failed;
    bool is_said = code == VQ_EXIT_INTERNAL || code == VQ_EXIT_USAGE || code == VQ_EXIT_STOPPED;
    if (!failed || is_said || errno == EPIPE || vq_terminal_is_gone(STDOUT_FILENO)) {
        return code;
    }
    struct vq_error err;
    return vq_cli_fail(output_failed(&err), &err);
}

int vq_cli_usage(const char *verb, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fputs("vibeq: ", stderr);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fprintf(stderr, "\nTry: vibeq help%s%s\n", verb[0] == '\0' ? "" : " ", verb);
    return VQ_EXIT_USAGE;
}
