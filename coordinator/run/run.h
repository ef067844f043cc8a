/* Carries out a run on this machine: the coordinator with its store, Redis, workers and built-in
 * server, from the first lock to the written results. */
#pragma once

#include "methods/grid/work.h"

/* How a run ended; the exit codes of `vibeq run` follow from it. */
enum vq_run_end {
    VQ_RUN_DONE,
    VQ_RUN_MISSING, /* done, some answers are missing */
    VQ_RUN_STOPPED, /* resumable; the reason was printed */
    VQ_RUN_FAILED,  /* an error of ours or of this machine; resumable too */
    VQ_RUN_AGAIN,   /* it must be resumed in this process, with a new script of its work */
};

/* The HTTP server for status and control (docs/use/http.md). {0}: a free port of the loopback, with
 * a random token. */
struct vq_run_http {
    const char *listen;       /* "ADDRESS:PORT", numbers */
    const char *token_file;   /* its bearer token */
    const char *const *hosts; /* names that a Host header may have in addition to localhost */
    uint32_t hosts_count;
};

#define VQ_RUN_END_FILE "ended" /* in the run's folder: `vibeq run --or-resume` does not start it */

/* Borrowed. */
struct vq_run_options {
    const char *runs_dir; /* absolute */
    /* name of the folder for accounting.json in the run's folder; NULL: the run's folder itself */
    const char *folder;
    const char *listen; /* "HOST[:PORT]" for workers on other machines; NULL: this machine only */
    /* "HOST[:PORT]" that certificates name; NULL: the address of `listen` */
    const char *advertise;
    /* a folder of certificates that `vibeq cert new` made; NULL: the runs folder */
    const char *cert;
    struct vq_run_http http;
    uint32_t workers; /* local processes */
    bool resumed;
    /* asks again tasks that failed or gave no verdict; with failures != 0 instead: */
    bool retry_failed;
    uint32_t failures; /* tasks that failed for one of these reasons (vq_outcome_failure_bit) */
    /* of a resume: its --set values, which override settings of vibeq ctl */
    const char *const *set;
    uint32_t set_count;
    bool quiet;
};

/* `run` is open and locked, and has copies of all inputs of `work`. VQ_OK: *ret_end has the kind of
 * end, and all messages were printed. Another status: it could not start; nothing was sent. */
enum vq_status vq_run_carry_out(const struct vq_run_options *options,
                                const struct vq_run_work *work, struct vq_run_dir *run,
                                enum vq_run_end *ret_end, struct vq_error *err) VQ_WARN_UNUSED;
