/* A call in flight is an open file in the worker, and one more in the built-in server if that
 * answers. This is checked before anything is made or sent: a worker that runs out of files in the
 * middle would fail calls that are charged. */
#include "coordinator/run/machine.h"

#include "common/net/loop.h"

/* The maximum of calls in flight of a pool; if unknown, a usual number. */
static uint64_t concurrency(const struct vq_conf_use *use)
{
    return use->limits.limit.concurrency > 0 ? use->limits.limit.concurrency
                                             : VQ_MACHINE_CONCURRENCY;
}

static enum vq_status refuse(const char *who, uint64_t calls, uint64_t files, const char *advice,
                             struct vq_error *err)
{
    return vq_fail(
        err, VQ_LIMIT,
        "%s would hold %llu calls in flight, but a process may open only %llu files here "
        "(ulimit -Hn): lower concurrency of the models%s, or raise that limit",
        who, (unsigned long long)calls, (unsigned long long)files, advice);
}

enum vq_status vq_machine_check(const struct vq_run_pools *pools, const struct vq_config *config,
                                struct vq_error *err)
{
    uint64_t files = vq_loop_raise_files();
    uint64_t in_worker = 0, in_server = 0;
    for (uint32_t i = 0; i < pools->uses.count; i++) { /* one worker may get all of a pool */
        const struct vq_conf_use *use = &pools->uses.uses[i];
        in_worker += concurrency(use);
        in_server += use->base_url == NULL ? concurrency(use) : 0;
    }
    if (config->workers > 0 && in_worker + VQ_MACHINE_FILES_SPARE > files) {
        return refuse("a local worker", in_worker, files, "", err);
    }
    if (in_server > 0 && in_server + VQ_MACHINE_FILES_SPARE > files) {
        return refuse("the built-in server", in_server, files, "", err);
    }
    return VQ_OK;
}
