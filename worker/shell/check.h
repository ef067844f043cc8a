/* One real call a judge, outside any run: what `vibeq check` starts this program for, since keys
 * live here. */
#pragma once

#include "worker/shell/options.h"

#define VQ_CHECK_FILE_BYTES_MAX (64u << 20)

/* `options->check`: a file of frames as a coordinator would send them, each behind its length in
 * four bytes, the highest first: one SPEC, one SAMPLE, then a LEASE with one ask for each judge
 * that is to be asked. Every ask is sent once through the ordinary caller, without retries, spool
 * or store. Prints one line of JSON a LEASE on standard output, in the order in which they end,
 * with these keys (null where there is nothing to say):
 *
 *   judge (index in the SPEC), pool (its name: the judge's first one that is open here), end
 *   ("answer", "rate", ...; "no_key" and kin: not sent), http_status, refusal, answer,
 *   finish_reason, model, tokens_in, tokens_out, latency_ms, error
 *
 * Keys that are files may be named, as for local workers. VQ_OK when every line is printed,
 * whatever the calls came to. VQ_INVALID and kin, with a sentence: the file is none of ours. */
enum vq_status vq_worker_check(const struct vq_worker_options *options,
                               struct vq_error *err) VQ_WARN_UNUSED;
