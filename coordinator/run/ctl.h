/* The commands that a person may send to an active run, as a table with one row per command. `vibeq
 * ctl`, its help, the manual page and the run's HTTP server (POST /api/v1/ctl) read it. On the wire
 * a command is a stamp (ctl_once.h) and its words, one per line. */
#pragma once

#include "common/base/buf.h"

/* Reasons of failed tasks, as people name them. */
#define VQ_CTL_CLASSES "error, too_long, unavailable, bad_response or worker_lost"

#define VQ_CTL_ARGS_MAX        6
#define VQ_CTL_WORDS_MAX       16u
#define VQ_CTL_WORD_BYTES_MAX  256u
#define VQ_CTL_REPLY_BYTES_MAX (1u << 20) /* a list of batches is the longest */
#define VQ_CTL_BYTES_MAX       (VQ_CTL_WORDS_MAX * (VQ_CTL_WORD_BYTES_MAX + 1))

struct vq_run;

/* A required word after the command's name, or an option. */
struct vq_ctl_arg {
    const char *name;  /* a word: its name in the help, NAME; an option: without its dashes */
    const char *value; /* an option: the name of its value in the help; NULL: a word */
    const char *help;
};

struct vq_ctl_command {
    const char *name; /* NULL ends the table */
    struct vq_ctl_arg args[VQ_CTL_ARGS_MAX];
    const char *help; /* its effect */
    /* Checks the values, in the order of `args` (NULL: not given), before they are sent, and again
     * before the command is carried out. NULL: any values are valid. VQ_INVALID with a sentence. */
    enum vq_status (*check)(const char *const *values, struct vq_error *err);
    /* Carries out the command in the run's loop, at once. `said`: a sentence about the result.
     * VQ_DENIED: not possible now; err has the reason. Other statuses end the run. */
    enum vq_status (*carry_out)(struct vq_run *run, const char *const *values, struct vq_buf *said,
                                struct vq_error *err);
    /* Carries it out on a run that is not active. NULL: not possible. */
    enum vq_status (*carry_out_stopped)(const char *runs_dir, const char *run,
                                        const char *const *values, struct vq_buf *said,
                                        struct vq_error *err);
    /* if the run is not active: the nearest command, as words after "vibeq"; RUN means its
     * name */
    const char *otherwise;
};

extern const struct vq_ctl_command vq_ctl_commands[];

struct vq_ctl_asked {
    const struct vq_ctl_command *command;
    const char *values[VQ_CTL_ARGS_MAX]; /* point into the words */
};

/* VQ_DENIED: the run is ending and takes no more commands. */
enum vq_status vq_ctl_going(const struct vq_run *run, struct vq_error *err) VQ_WARN_UNUSED;
/* Parses the words after the run's name. VQ_INVALID with a sentence: an unknown command, or wrong
 * arguments. */
enum vq_status vq_ctl_parse(const char *const *words, size_t count, struct vq_ctl_asked *ret_asked,
                            struct vq_error *err) VQ_WARN_UNUSED;
/* The bit (vq_outcome_failure_bit) of one of VQ_CTL_CLASSES; 0: an unknown name. */
uint32_t vq_ctl_failures(const char *name);
/* VQ_INVALID with a sentence: the name is given (not NULL) and unknown. */
enum vq_status vq_ctl_failures_check(const char *name, struct vq_error *err) VQ_WARN_UNUSED;
/* "requeue [--class CLASS]" */
void vq_ctl_usage(const struct vq_ctl_command *command, struct vq_buf *out);

/* Handles the body of a POST /api/v1/ctl: carries out the command, logs it, and answers {"ok": ...,
 * "text": ...}. Returns the HTTP status: 200, 400 (invalid), 409 (not possible now, or too late). A
 * repeated id gets the same reply again. */
int vq_ctl_serve(struct vq_run *run, struct vq_span body, struct vq_buf *answer);
