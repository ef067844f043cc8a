/* Command-line options as a table: parsing, help, man pages and shell completion all come from
 * it. */
#pragma once

#include "common/base/buf.h"
#include "common/base/status.h"

#define VQ_OPT_LIST_MAX 64

struct vq_opt_list {
    const char *items[VQ_OPT_LIST_MAX];
    uint32_t count;
};

enum vq_opt_kind {
    VQ_OPT_FLAG,  /* bool */
    VQ_OPT_TEXT,  /* const char * */
    VQ_OPT_COUNT, /* struct vq_opt_count */
    VQ_OPT_LIST,  /* struct vq_opt_list: repeatable */
    VQ_OPT_SPLIT, /* struct vq_opt_list: one value holds several, separated by commas */
};

struct vq_opt_count {
    bool given;
    uint32_t value;
};

struct vq_opt {
    const char *name; /* without the dashes; NULL ends a table */
    enum vq_opt_kind kind;
    size_t offset;   /* of the field in the verb's struct */
    const char *arg; /* the name of the value in the help; NULL: a flag */
    const char *help;
};

/* A row of a verb's help from another table: `word` for completion (NULL: none), usage, help. */
typedef void (*vq_verb_row_fn)(void *ctx, const char *word, const char *usage, const char *help);

struct vq_verb {
    const char *name;
    const char *summary;
    const char *usage; /* the arguments after the name */
    /* what completion offers for them: "FILE", "RUN", or words separated by blanks; NULL:
     * nothing */
    const char *words;
    const struct vq_opt *opts;
    const char *more; /* a paragraph for the help, or NULL */
    int (*run)(int argc, char **argv);
    void (*rows)(vq_verb_row_fn row,
                 void *ctx); /* lists the words allowed after the first one; or NULL */
};

/* Reads options (anywhere among the words) into *fields. The other words are moved to the front of
 * argv and counted in *ret_words. VQ_INVALID with a sentence. `--` ends the options. */
enum vq_status vq_opts_parse(const struct vq_opt *opts, int argc, char **argv, void *fields,
                             int *ret_words, struct vq_error *err) VQ_WARN_UNUSED;

/* The same for a verb that takes one word, the name of a run: it is argv[0] afterwards. False: a
 * usage error was reported. */
bool vq_opts_parse_run(const char *verb, const struct vq_opt *opts, int argc, char **argv,
                       void *fields);

/* For a verb with --output: call it before parsing; it replaces -o by --output. */
void vq_opts_output(int argc, char **argv);

/* Every verb, in the order of the help; the last has a NULL name. */
extern const struct vq_verb vq_verbs[];
const struct vq_verb *vq_verb_find(const char *name);
const char *vq_verb_nearest(const char *name); /* the verb nearest to a typo; NULL: none */
void vq_verb_help(const struct vq_verb *verb);

/* Exit codes, documented in vibeq(1). */
enum vq_exit {
    VQ_EXIT_DONE = 0,
    VQ_EXIT_INTERNAL = 1,
    VQ_EXIT_USAGE = 2,       /* usage or input error: nothing was sent */
    VQ_EXIT_MISSING = 3,     /* done, with missing answers */
    VQ_EXIT_NO = 3,          /* of a plan: it exceeds its budget or its deadline */
    VQ_EXIT_STOPPED = 4,     /* stopped, resumable */
    VQ_EXIT_NO_PROGRESS = 5, /* of `vibeq status`: the run is active, but no answer arrives */
};

/* Prints "vibeq: SENTENCE" on standard error; returns the exit code of the status. */
int vq_cli_fail(enum vq_status status, const struct vq_error *err);
/* Prints a usage error with a pointer to the verb's help; returns VQ_EXIT_USAGE. */
int vq_cli_usage(const char *verb, const char *fmt, ...) VQ_PRINTF(2, 3);
/* Prints a foreign text on standard output (vq_fmt_plain); without memory, prints nothing. */
void vq_cli_put_plain(struct vq_span text);
/* Writes the bytes to standard output; a part may remain in its buffer. VQ_FULL, VQ_IO with a
 * sentence. If the reader has closed the pipe, that is no failure. */
enum vq_status vq_cli_write(struct vq_span bytes, struct vq_error *err) VQ_WARN_UNUSED;
/* The same into a new file; with `force`, an existing file is replaced. NULL and "-" are standard
 * output. */
enum vq_status vq_cli_write_file(const char *path, bool force, struct vq_span text,
                                 struct vq_error *err) VQ_WARN_UNUSED;
/* The same for a text in a buffer, which it frees; returns the buffer's failure, if it has one. */
enum vq_status vq_cli_print(struct vq_buf *text, struct vq_error *err) VQ_WARN_UNUSED;
/* The last call of a verb. Returns `code`. If standard output failed and `code` reports no failure,
 * prints the failure and returns its code. */
int vq_cli_end(int code);
/* A usage error for a word of the verb that is missing (NULL) or not one of `known`
 * (NULL-terminated): it names all of them, and the nearest. */
int vq_cli_unknown_word(const char *verb, const char *word, const char *const *known);
