/* The checks for `vibeq run --dry-run`: whether the run would be refused at its start. */
#pragma once

#include "cli/run_words.h"
#include "methods/files/job.h"

/* Checks the run's name and folder, open files, the address of --listen, Redis and API keys, in
 * this order. Leaves no files and sends nothing to a provider. Does not check whether
 * endpoints answer. Statuses and sentences are those of the run. */
enum vq_status vq_cli_dry_check(const struct vq_run_words *words, const struct vq_job *job,
                                struct vq_error *err) VQ_WARN_UNUSED;
