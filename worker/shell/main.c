/* vibeq-worker: options.c has its options, docs/use/worker.md describes it. */
#include "common/base/process.h"
#include "worker/core/work.h"
#include "worker/shell/agent.h"
#include "worker/shell/check.h"
#include "worker/shell/fleet.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

/* This process ends with its parent, even if the parent ended before prctl was called. */
static bool follow_parent(void)
{
    pid_t parent = getppid();
    return prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && getppid() == parent && parent != 1;
}

static int check(const struct vq_worker_options *options)
{
    struct vq_error err = {""};
    enum vq_status status = vq_worker_check(options, &err);
    if (status == VQ_OK) {
        return VQ_WORK_EXIT_DONE;
    }
    (void)fprintf(stderr, "vibeq-worker: %s\n",
                  err.text[0] != '\0' ? err.text : vq_status_text(status));
    return vq_status_class(status) == VQ_CLASS_REFUSE ? VQ_WORK_EXIT_USAGE : VQ_WORK_EXIT_FATAL;
}

int main(int argc, char **argv)
{
    struct vq_worker_options options;
    struct vq_error err = {""};
    vq_process_begin();
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* a spool that may not grow counts as a full disk */
    if (vq_worker_options_read(argc, argv, &options, &err) != VQ_OK) {
        (void)fprintf(stderr, "vibeq-worker: %s\n", err.text);
        return VQ_WORK_EXIT_USAGE;
    }
    if (options.help) {
        (void)fputs(vq_worker_options_help(), stdout);
        return VQ_WORK_EXIT_DONE;
    }
    if (options.version) {
        (void)printf("vibeq-worker %s\n", VIBEQ_VERSION);
        return VQ_WORK_EXIT_DONE;
    }
    if (options.parent_death && !follow_parent()) {
        (void)fprintf(stderr, "vibeq-worker: the process that started this one has ended\n");
        return VQ_WORK_EXIT_STOPPED;
    }
    if (options.stay) {
        return vq_fleet_run(&options, argc, argv);
    }
    return options.check != NULL ? check(&options) : vq_agent_run(&options);
}
