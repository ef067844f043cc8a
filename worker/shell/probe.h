/* Finds out the run of a coordinator, for a certificate that names no run. A spool belongs to one
 * run, so the worker must know the run before it opens its spool. */
#pragma once

#include "common/net/cert.h"
#include "proto/id.h"
#include "worker/shell/options.h"

/* Sends HELLO, reads the run from the WELCOME, and leaves that session again. Retries until a
 * coordinator answers, or until `orphan_s` are over. Returns -1 and sets *ret_run; otherwise
 * returns the exit code of this process: the run is over, a signal came, or a coordinator of
 * another version answered. */
int vq_probe_run(const struct vq_worker_options *options, const struct vq_cert *cert,
                 const char *name, const char *host, struct vq_id *ret_run);
