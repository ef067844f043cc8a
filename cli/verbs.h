/* The verbs, one file each. Each takes the words after its name and returns an exit code. */
#pragma once

#include "cli/opts.h"
#include "coordinator/run/run.h"
#include "coordinator/store/calls/calls.h"

#define VQ_VERB(name)                                                                              \
    int vq_verb_##name(int argc, char **argv);                                                     \
    extern const struct vq_opt vq_##name##_opts[]
VQ_VERB(init);
VQ_VERB(import);
VQ_VERB(check);
VQ_VERB(run);
VQ_VERB(plan);
VQ_VERB(resume);
VQ_VERB(status);
VQ_VERB(ui);
VQ_VERB(ctl);
VQ_VERB(log);
VQ_VERB(cert);
VQ_VERB(dead);
VQ_VERB(verify);
VQ_VERB(list);
VQ_VERB(rm);
VQ_VERB(store);
VQ_VERB(prompts);
VQ_VERB(replay);
VQ_VERB(report);
VQ_VERB(export);
VQ_VERB(plot);
VQ_VERB(label);
VQ_VERB(compare);
VQ_VERB(chat);
VQ_VERB(vibes);
VQ_VERB(personas);
#undef VQ_VERB

void vq_ctl_rows(vq_verb_row_fn row, void *ctx);

int vq_cli_exit_of(enum vq_run_end end);
/* Whether a word of `vibeq run` names a configuration (.yaml, .yml) and not a data file. */
bool vq_is_config_name(const char *path);
/* Opens the call store of the runs folder (`runs`: value of --runs) for reading. NULL: there is no
 * folder or no store; this counts as an empty one. */
enum vq_status vq_cli_open_store(const char *runs, struct vq_calls **ret_calls,
                                 struct vq_error *err) VQ_WARN_UNUSED;
/* Removes a run's folder. Also removes its part of the store's ledger, unless another folder is a
 * copy of the run; answers stay. Statuses of vq_run_remove and of the store. */
enum vq_status vq_cli_remove_run(const char *runs_dir, const char *name, bool force,
                                 struct vq_error *err) VQ_WARN_UNUSED;
