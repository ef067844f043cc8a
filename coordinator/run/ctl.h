/* The commands that a person may send to an active run, as a table: a command is one row. `vibeq
 * ctl`, its help, the manual page and the run's own HTTP door (POST /api/v1/ctl) all read it. On
 * the wire a command is a stamp (ctl_once.h) and its words, one a line. */
#pragma once

#include "common/base/buf.h"

/* Reasons to fail, as people name them. */
#define VQ_CTL_CLASSES "error, too_long, unavailable, bad_response or worker_lost"

#define VQ_CTL_ARGS_MAX        6
#define VQ_CTL_WORDS_MAX       16u
#define VQ_CTL_WORD_BYTES_MAX  256u
#define VQ_CTL_REPLY_BYTES_MAX (1u << 20) /* a list of batches is the longest */
#define VQ_CTL_BYTES_MAX       (VQ_CTL_WORDS_MAX * (VQ_CTL_WORD_BYTES_MAX + 1))

struct vq_run;

/* A word after the command's name that has to be there, or an option that may. */
struct vq_ctl_arg {
    const char *name;  /* a word: as the help calls it, NAME; an option: without its dashes */
    const char *value; /* an option: as the help calls its value; NULL: a word */
    const char *help;
};

struct vq_ctl_command {
    const char *name; /* NULL ends the table */
    struct vq_ctl_arg args[VQ_CTL_ARGS_MAX];
    const char *help; /* what it does */
    /* Whether the values, in the order of `args` (NULL: not given), make sense: before anything is
     * sent, and again where it is carried out. NULL: any do. VQ_INVALID with a sentence. */
    enum vq_status (*check)(const char *const *values, struct vq_error *err);
    /* Carries it out in the run's own loop, at once. `said`: what was done, a sentence. VQ_DENIED:
     * it cannot be done now; err says why. Other statuses end the run. */
    enum vq_status (*carry_out)(struct vq_run *run, const char *const *values, struct vq_buf *said,
                                struct vq_error *err);
    /* Carries it out on a run that is not active. NULL: it cannot be. */
    enum vq_status (*carry_out_stopped)(const char *runs_dir, const char *run,
                                        const char *const *values, struct vq_buf *said,
                                        struct vq_error *err);
    /* the words after "vibeq" that come nearest when the run does not run; RUN means its
     * name */
    const char *otherwise;
};

extern const struct vq_ctl_command vq_ctl_commands[];

struct vq_ctl_asked {
    const struct vq_ctl_command *command;
    const char *values[VQ_CTL_ARGS_MAX]; /* point into the words */
};

/* VQ_DENIED: the run is ending, and takes no commands any more. */
enum vq_status vq_ctl_going(const struct vq_run *run, struct vq_error *err) VQ_WARN_UNUSED;
/* The words after the run's name. VQ_INVALID with a sentence: no such command, or its arguments are
 * not right. */
enum vq_status vq_ctl_parse(const char *const *words, size_t count, struct vq_ctl_asked *ret_asked,
                            struct vq_error *err) VQ_WARN_UNUSED;
/* The bit (vq_outcome_failure_bit) of one of VQ_CTL_CLASSES; 0: it is none. */
uint32_t vq_ctl_failures(const char *name);
/* VQ_INVALID with a sentence: it is given (not NULL) and none of them. */
enum vq_status vq_ctl_failures_check(const char *name, struct vq_error *err) VQ_WARN_UNUSED;
/* "requeue [--class CLASS]" */
void vq_ctl_usage(const struct vq_ctl_command *command, struct vq_buf *out);

/* The body of a POST /api/v1/ctl: carries it out, notes it in the log, and answers {"ok": ...,
 * "text": ...}. Returns the HTTP status: 200, 400 (it makes no sense), 409 (not now, or too late).
 * An id that was asked before gets the same reply again. */
int vq_ctl_serve(struct vq_run *run, struct vq_span body, struct vq_buf *answer);
