/* Which run a coordinator has: for a certificate that names none. A spool belongs to one run, so
 * that the worker must know it before it opens its spool. */
#pragma once

#include "common/net/cert.h"
#include "proto/id.h"
#include "worker/shell/options.h"

/* Says HELLO, reads the run of the WELCOME, and leaves that session again. Tries until a
 * coordinator answers, or until `orphan_s` are over. *ret_run is set and -1 returned; else the exit
 * code of this process: the run is over, a signal came, or another version answered. */
int vq_probe_run(const struct vq_worker_options *options, const struct vq_cert *cert,
                 const char *name, const char *host, struct vq_id *ret_run);
