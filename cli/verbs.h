/* The verbs, one file each. Each takes the words after its name and returns an exit code. */
#pragma once

#include "cli/opts.h"
#include "coordinator/run/run.h"
#include "coordinator/store/calls/calls.h"

int vq_verb_init(int argc, char **argv);
int vq_verb_import(int argc, char **argv);
int vq_verb_check(int argc, char **argv);
int vq_verb_run(int argc, char **argv);
int vq_verb_plan(int argc, char **argv);
int vq_verb_resume(int argc, char **argv);
int vq_verb_status(int argc, char **argv);
int vq_verb_ui(int argc, char **argv);
int vq_verb_ctl(int argc, char **argv);
int vq_verb_log(int argc, char **argv);
int vq_verb_cert(int argc, char **argv);
int vq_verb_dead(int argc, char **argv);
int vq_verb_verify(int argc, char **argv);
int vq_verb_list(int argc, char **argv);
int vq_verb_rm(int argc, char **argv);
int vq_verb_store(int argc, char **argv);
int vq_verb_prompts(int argc, char **argv);
int vq_verb_replay(int argc, char **argv);
int vq_verb_report(int argc, char **argv);
int vq_verb_export(int argc, char **argv);
int vq_verb_plot(int argc, char **argv);
int vq_verb_label(int argc, char **argv);
int vq_verb_compare(int argc, char **argv);
int vq_verb_chat(int argc, char **argv);
int vq_verb_vibes(int argc, char **argv);
int vq_verb_personas(int argc, char **argv);

extern const struct vq_opt vq_init_opts[];
extern const struct vq_opt vq_import_opts[];
extern const struct vq_opt vq_check_opts[];
extern const struct vq_opt vq_run_opts[];
extern const struct vq_opt vq_plan_opts[];
extern const struct vq_opt vq_resume_opts[];
extern const struct vq_opt vq_status_opts[];
extern const struct vq_opt vq_ui_opts[];
extern const struct vq_opt vq_ctl_opts[];
extern const struct vq_opt vq_log_opts[];
extern const struct vq_opt vq_cert_opts[];
extern const struct vq_opt vq_dead_opts[];
extern const struct vq_opt vq_verify_opts[];
extern const struct vq_opt vq_list_opts[];
extern const struct vq_opt vq_rm_opts[];
extern const struct vq_opt vq_store_opts[];
extern const struct vq_opt vq_prompts_opts[];
extern const struct vq_opt vq_replay_opts[];
extern const struct vq_opt vq_report_opts[];
extern const struct vq_opt vq_export_opts[];
extern const struct vq_opt vq_plot_opts[];
extern const struct vq_opt vq_label_opts[];
extern const struct vq_opt vq_compare_opts[];
extern const struct vq_opt vq_chat_opts[];
extern const struct vq_opt vq_vibes_opts[];
extern const struct vq_opt vq_personas_opts[];

void vq_ctl_rows(vq_verb_row_fn row, void *ctx);

int vq_cli_exit_of(enum vq_run_end end);
/* Whether a word of `vibeq run` names a configuration (.yaml, .yml) and not a data file. */
bool vq_is_config_name(const char *path);
/* The call store of the runs folder (`runs` as of --runs), for reading. NULL where there is no
 * folder or no store: as good as an empty one. */
enum vq_status vq_cli_open_store(const char *runs, struct vq_calls **ret_calls,
                                 struct vq_error *err) VQ_WARN_UNUSED;
/* Removes a run's folder and, unless another folder is a copy of it, its part of the store's
 * ledger; answers stay. Statuses of vq_run_remove and of the store. */
enum vq_status vq_cli_remove_run(const char *runs_dir, const char *name, bool force,
                                 struct vq_error *err) VQ_WARN_UNUSED;
