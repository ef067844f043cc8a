/* What a run would be refused for at its start, looked at by `vibeq run --dry-run`. */
#pragma once

#include "cli/run_words.h"
#include "methods/files/job.h"

/* The run's name and folder, open files, the address of --listen, Redis and API keys, in this
 * order. Nothing stays, and nothing is sent to a provider. Not looked at: whether endpoints answer.
 * Statuses and sentences are those of the run. */
enum vq_status vq_cli_dry_check(const struct vq_run_words *words, const struct vq_job *job,
                                struct vq_error *err) VQ_WARN_UNUSED;
