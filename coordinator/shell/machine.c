/* A call in flight is an open file in the worker and, when the built-in server answers, one more there. Asked before anything
 * is made or sent: a worker that runs out of files half-way would fail calls that were paid for. */
#include "coordinator/shell/machine.h"

#include "common/net/loop.h"

static uint32_t concurrency(const struct vq_conf_judge *judge)
{
    return judge->concurrency > 0 ? judge->concurrency : VQ_MACHINE_CONCURRENCY;
}

uint32_t vq_machine_share(const struct vq_conf_judge *judge, uint32_t workers)
{
    uint32_t share = workers > 0 ? workers : 1;
    return (concurrency(judge) + share - 1) / share;
}

static enum vq_status refuse(const char *who, uint64_t calls, uint64_t files, const char *advice,
                             struct vq_error *err)
{
    return vq_fail(
        err, VQ_LIMIT,
        "%s would hold %llu calls in flight, but a process may open only %llu files here "
        "(ulimit -Hn): lower concurrency of the judges%s, or raise that limit",
        who, (unsigned long long)calls, (unsigned long long)files, advice);
}

enum vq_status vq_machine_check(const struct vq_job *job, uint32_t workers, struct vq_error *err)
{
    uint64_t files = vq_loop_raise_files();
    uint64_t in_worker = 0, in_server = 0;
    for (int role = 0; role < VQ_ROLE__COUNT; role++) { /* one role is asked at a time */
        const struct vq_cast *cast = &job->cast[role];
        uint64_t worker = 0, server = 0;
        for (uint32_t i = 0; i < cast->count; i++) {
            worker += vq_machine_share(&cast->conf[i], workers);
            server += vq_cast_is_offline(&cast->conf[i]) ? concurrency(&cast->conf[i]) : 0;
        }
        in_worker = worker > in_worker ? worker : in_worker;
        in_server = server > in_server ? server : in_server;
    }
    if (workers > 0 && in_worker + VQ_MACHINE_FILES_SPARE > files) {
        return refuse("each local worker", in_worker, files, ", start more --workers", err);
    }
    if (in_server > 0 && in_server + VQ_MACHINE_FILES_SPARE > files) {
        return refuse("the built-in server", in_server, files, "", err);
    }
    return VQ_OK;
}
