/* One real call per judge, outside any run. `vibeq check` starts this program for it, because only
 * workers have keys. */
#pragma once

#include "worker/shell/options.h"

#define VQ_CHECK_FILE_BYTES_MAX (64u << 20)

/* `options->check`: a file of frames as a coordinator would send them, each after its length in
 * four bytes, big-endian: one SPEC, one SAMPLE, then a LEASE with one ask for each judge to call.
 * Every ask is sent once through the ordinary caller, without retries, spool or store. Prints one
 * line of JSON per LEASE on standard output, in the order in which they end, with these keys (null:
 * no value):
 *
 *   judge (index in the SPEC), pool (its name: the judge's first one that is open here), end
 *   ("answer", "rate", ...; "no_key" and similar: not sent), http_status, refusal, answer,
 *   finish_reason, model, tokens_in, tokens_out, latency_ms, error
 *
 * References to key files are allowed, as for local workers. VQ_OK: every line was printed, even if
 * calls failed. VQ_INVALID and others, with a sentence: the file is not valid. */
enum vq_status vq_worker_check(const struct vq_worker_options *options,
                               struct vq_error *err) VQ_WARN_UNUSED;
