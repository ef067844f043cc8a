/* The first steps of a process. Not its job: signals, which each program handles itself. */
#include "common/base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

static void fill_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        /* open returns the lowest free number, which is fd */
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDWR) != fd) {
            abort();
        }
    }
}

void vq_process_begin(void)
{
    struct rlimit none = {0, 0};
    fill_descriptors();
    (void)setrlimit(RLIMIT_CORE, &none); /* best effort: a container may forbid it */
#ifndef VQ_SANITIZED                     /* the leak checker needs ptrace on its own process */
    (void)prctl(PR_SET_DUMPABLE, 0);
#endif
}
