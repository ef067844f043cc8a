/* The command line of vibeq-worker. */
#pragma once

#include "common/base/status.h"

#define VQ_WORKER_KEYS_MAX       256
#define VQ_WORKER_NAME_BYTES_MAX 200
#define VQ_WORKER_ALLOWED_MAX    64
#define VQ_WORKER_JOINS_MAX      64
#define VQ_WORKER_CHILD_ARGS_MAX (2 * (VQ_WORKER_KEYS_MAX + VQ_WORKER_ALLOWED_MAX) + 32)

struct vq_worker_key_option {                /* --key NAME=REFERENCE */
    char name[VQ_WORKER_NAME_BYTES_MAX + 1]; /* of a pool; or of a judge, for all its pools */
    const char *reference;                   /* "env:NAME" or "file:PATH" */
};

struct vq_worker_options {
    const char *join;                       /* the join file; the first of `joins` */
    const char *joins[VQ_WORKER_JOINS_MAX]; /* --join: files, and folders of files */
    uint32_t joins_count;
    bool stay;         /* --stay: outlives runs (fleet.h) */
    uint32_t drain_s;  /* 0: a drain waits until its calls have ended */
    const char *check; /* NULL, or the file with one call per judge, instead of a run (check.h) */
    const char *spool; /* NULL: not named */
    /* no spool; otherwise a worker on another machine has one in its user's home */
    bool no_spool;
    int64_t local;        /* -1: not a local worker */
    const char *name;     /* NULL: from host and process */
    const char *log;      /* NULL: standard error */
    uint32_t concurrency; /* 0: the most that the system allows */
    uint32_t orphan_s;    /* 0: the value of the coordinator */
    bool parent_death;
    bool help, version;
    struct vq_worker_key_option keys[VQ_WORKER_KEYS_MAX];
    uint32_t keys_count;
    const char *allowed[VQ_WORKER_ALLOWED_MAX]; /* --allow-env: variables that the run may name */
    uint32_t allowed_count;
};

/* Reads the arguments; strings are borrowed from them. VQ_INVALID with a sentence. With --help or
 * --version, the other arguments are not checked. */
enum vq_status vq_worker_options_read(int argc, char **argv, struct vq_worker_options *ret_options,
                                      struct vq_error *err) VQ_WARN_UNUSED;
/* The arguments of the process that a fleet starts for the certificate `join`: the arguments of the
 * fleet without those that only the fleet uses. NULL-terminated; borrowed from argv. */
enum vq_status vq_worker_options_of_child(int argc, char **argv, const char *join,
                                          const char *ret_argv[VQ_WORKER_CHILD_ARGS_MAX],
                                          struct vq_error *err) VQ_WARN_UNUSED;
const char *vq_worker_options_help(void);
