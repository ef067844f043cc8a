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
    VQ_RUN_AGAIN,   /* it shall be resumed in this process, with a new script of its work */
};

/* The HTTP server for status and control (docs/use/http.md). {0}: a free port of the loopback, with
 * a random token. */
struct vq_run_http {
    const char *listen;       /* "ADDRESS:PORT", numbers */
    const char *token_file;   /* its bearer token */
    const char *const *hosts; /* names that a Host header may have besides localhost */
    uint32_t hosts_count;
};

#define VQ_RUN_END_FILE "ended" /* in the run's folder: `vibeq run --or-resume` does not start it */

/* Borrowed. */
struct vq_run_options {
    const char *runs_dir; /* absolute */
    const char *folder;   /* for accounting.json, in the run's; NULL: the run's own */
    const char *listen;   /* "HOST[:PORT]" for workers elsewhere; NULL: this machine only */
    /* "HOST[:PORT]" that certificates name; NULL: the address of `listen` */
    const char *advertise;
    /* a folder of certificates that `vibeq cert new` made; NULL: the runs folder */
    const char *cert;
    struct vq_run_http http;
    uint32_t workers; /* local processes */
    bool resumed;
    bool retry_failed; /* asks again what failed or gave no verdict; with failures != 0 instead: */
    uint32_t failures; /* what failed for one of these reasons (vq_outcome_failure_bit) */
    const char *const *set; /* of a resume: what --set says, which wins over what vibeq ctl said */
    uint32_t set_count;
    bool quiet;
};

/* `run` is open and locked, and holds copies of all that `work` is made of. VQ_OK: *ret_end says
 * how it ended, and all messages were printed. Another status: it could not start; nothing
 * was sent. */
enum vq_status vq_run_carry_out(const struct vq_run_options *options,
                                const struct vq_run_work *work, struct vq_run_dir *run,
                                enum vq_run_end *ret_end, struct vq_error *err) VQ_WARN_UNUSED;
