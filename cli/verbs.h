/* The verbs, one file each. Each takes the words after its name and returns an exit code. */
#ifndef VQ_CLI_VERBS_H
#define VQ_CLI_VERBS_H

#include "cli/opts.h"
#include "coordinator/shell/run.h"

int vq_verb_run(int argc, char **argv);
int vq_verb_resume(int argc, char **argv);

extern const struct vq_opt vq_run_opts[];
extern const struct vq_opt vq_resume_opts[];

#endif
