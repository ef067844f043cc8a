/* Paths of our other programs, and the built-in server's start. Its first line on standard output
 * has its address; nothing else of it is read. Not its job: the effects of its end (the caller's
 * `exited`). */
#include "coordinator/run/programs.h"

#include "common/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const plain_env[] = {"PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ", NULL};

void vq_program_path(const char *name, char ret_path[VQ_PROGRAM_PATH_BYTES_MAX])
{
    char self[VQ_PROGRAM_PATH_BYTES_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (n > 0) {
        self[n] = '\0';
        char *slash = strrchr(self, '/');
        if (slash != NULL) {
            slash[1] = '\0';
            int used = snprintf(ret_path, VQ_PROGRAM_PATH_BYTES_MAX, "%s%s", self, name);
            if (used > 0 && used < VQ_PROGRAM_PATH_BYTES_MAX && access(ret_path, X_OK) == 0) {
                return;
            }
        }
    }
    (void)snprintf(ret_path, VQ_PROGRAM_PATH_BYTES_MAX, "%s", name);
}

/* "listening on URL" */
static enum vq_status read_url(int fd, const char *hint, char ret_url[VQ_PROGRAM_URL_BYTES_MAX],
                               struct vq_error *err)
{
    char line[256];
    size_t n = 0;
    int64_t until = vq_clock_mono_ns() + VQ_PROGRAM_OFFLINE_WAIT_MS * VQ_NS_PER_MS;
    while (n < sizeof(line) - 1 && memchr(line, '\n', n) == NULL) {
        int64_t left_ms = (until - vq_clock_mono_ns()) / VQ_NS_PER_MS;
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (left_ms <= 0 || poll(&p, 1, (int)left_ms) <= 0) {
            break;
        }
        ssize_t got = read(fd, line + n, sizeof(line) - 1 - n);
        if (got <= 0) {
            break;
        }
        n += (size_t)got;
    }
    line[n] = '\0';
    const char *at = strstr(line, "http://");
    if (at == NULL) {
        return vq_fail(err, VQ_UNAVAILABLE, "the built-in server did not start%s", hint);
    }
    size_t bytes = strcspn(at, " \r\n");
    (void)snprintf(ret_url, VQ_PROGRAM_URL_BYTES_MAX, "%.*s", (int)bytes, at);
    return VQ_OK;
}

enum vq_status vq_program_offline_start(struct vq_loop *loop,
                                        const struct vq_program_offline *options,
                                        struct vq_child **ret_child,
                                        char ret_url[VQ_PROGRAM_URL_BYTES_MAX],
                                        struct vq_error *err)
{
    const struct vq_conf_offline *conf = options->conf;
    char path[VQ_PROGRAM_PATH_BYTES_MAX], seed[32];
    vq_program_path("vibeq-offline", path);
    (void)snprintf(seed, sizeof(seed), "%llu", (unsigned long long)conf->seed);
    const char *argv[16] = {"vibeq-offline", "--port", "0", "--seed", seed, "--parent-death"};
    const char *const more[][2] = {{"--log", options->log},
                                   {"--oracle", conf->oracle},
                                   {"--faults", conf->faults},
                                   {"--subject", conf->subject}};
    size_t n = 6;
    for (size_t i = 0; i < VQ_COUNT(more); i++) {
        if (more[i][1] != NULL) {
            argv[n++] = more[i][0];
            argv[n++] = more[i][1];
        }
    }
    int out[2];
    if (pipe2(out, O_CLOEXEC) != 0) {
        return vq_fail(err, VQ_IO, "cannot make a pipe: %s", strerror(errno));
    }
    struct vq_child_options child = {.path = path,
                                     .argv = argv,
                                     .env_keep = plain_env,
                                     .stdout_fd = out[1],
                                     .stderr_fd = options->stderr_fd,
                                     .exited = options->exited,
                                     .ctx = options->ctx};
    enum vq_status status = vq_child_spawn(loop, &child, ret_child, err);
    (void)close(out[1]);
    if (status == VQ_OK) {
        status = read_url(out[0], options->hint, ret_url, err);
    }
    (void)close(out[0]);
    return status;
}
