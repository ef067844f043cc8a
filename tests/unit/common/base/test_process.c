/* A process whose standard descriptors are closed has them again, whichever they were. */
#include "tests/unit/test.h"

#include "common/base/process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

/* In a child, which has closed those of `closed`: 0, or what is wrong. */
static int begin(unsigned closed)
{
    for (int fd = 0; fd < 3; fd++) {
        if ((closed & 1u << fd) != 0) {
            close(fd);
        }
    }
    vq_process_begin();
    int next = open("/dev/null", O_RDONLY);
    return next < 3                                 ? 1
           : write(1, "", 0) != 0                   ? 2
           : write(2, "", 0) != 0                   ? 3
           : (closed & 1) && read(0, &next, 1) != 0 ? 4
                                                    : 0;
}

TEST(test_closed_descriptors)
{
    for (unsigned closed = 0; closed < 8; closed++) {
        pid_t child = fork();
        if (child == 0) {
            _exit(begin(closed));
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}
