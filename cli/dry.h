/* What a run would be refused for at its start, looked at by `vibeq run --dry-run`. */
#ifndef VQ_CLI_DRY_H
#define VQ_CLI_DRY_H

#include "cli/run_words.h"
#include "coordinator/shell/job/job.h"

/* The run's name and folder, open files, API keys, the address of --listen and redis.url. Keys that cannot be read are warned of. Nothing is made, sent or connected to. Not looked
 * at: whether endpoints and Redis answer. Statuses as the run has them. */
enum vq_status vq_cli_dry_check(const struct vq_run_words *words, const struct vq_job *job,
                                struct vq_error *err) VQ_WARN_UNUSED;

#endif
