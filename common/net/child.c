/* Forks children itself, because libuv cannot set PR_SET_PDEATHSIG or a process group for them. All
 * allocations happen before the fork. Between fork and exec, with all signals blocked, it makes
 * only async-signal-safe calls.
 *
 * Invariants: a spawned child is reaped exactly once, by SIGCHLD's handler or by destroy; before
 * vq_child_spawn returns, it knows from a pipe that exec closes whether exec succeeded. The death
 * signal depends on the thread that forked, the loop's thread. Not its job: the output of a child,
 * and restarts. */
#include "common/net/child.h"

#include "common/base/alloc.h"
#include "common/net/loop_private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FALLBACK_FDS 65536
/* The number of the system call, since glibc has a function for it only from 2.34 on. Headers older
 * than Linux 5.11 lack these two; they are the same on every architecture. */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#define CLOSE_ON_EXEC (1U << 2)

struct vq_child {
    uv_signal_t sigchld;
    pid_t pid; /* 0: reaped */
    void (*exited)(void *ctx, struct vq_child_exit how);
    void *ctx;
};

/* The data for the forked child, prepared before the fork. */
struct plan {
    char path[PATH_MAX];
    char *const *argv;
    char **env;
    const char *folder;
    int in, out, err; /* copies above 2, close-on-exec */
    const int *keep_fds;
    uint32_t keep_fds_count;
    int death_signal; /* 0: none */
    pid_t parent;
    int report; /* write end of the pipe */
};

static enum vq_status find_program(const char *name, char ret_path[PATH_MAX], struct vq_error *err)
{
    if (strchr(name, '/') != NULL) {
        if (strlen(name) >= PATH_MAX) {
            return vq_fail(err, VQ_INVALID, "the path of a program is too long");
        }
        (void)snprintf(ret_path, PATH_MAX, "%s", name);
        return VQ_OK; /* exec reports whether it can run */
    }
    const char *path = getenv("PATH");
    path = path == NULL ? "/usr/bin:/bin" : path;
    while (*path != '\0') {
        size_t n = strcspn(path, ":");
        int wrote = snprintf(ret_path, PATH_MAX, "%.*s/%s", (int)n, path, name);
        if (n > 0 && wrote > 0 && wrote < PATH_MAX && access(ret_path, X_OK) == 0) {
            return VQ_OK;
        }
        path += n + (path[n] == ':');
    }
    return vq_fail(err, VQ_NOT_FOUND, "the program %s is not in PATH", name);
}

static bool same_name(const char *variable, const char *name)
{
    size_t n = strcspn(name, "=");
    return strncmp(variable, name, n) == 0 && variable[n] == '=';
}

static bool listed(const char *variable, const char *const *names)
{
    for (; names != NULL && *names != NULL; names++) {
        if (same_name(variable, *names)) {
            return true;
        }
    }
    return false;
}

static enum vq_status make_env(const struct vq_child_options *o, char ***ret_env)
{
    char **env;
    VQ_TRY(VQ_ALLOC(env, VQ_CHILD_ENV_MAX + 1));
    size_t n = 0;
    for (char **v = environ; v != NULL && *v != NULL && n < VQ_CHILD_ENV_MAX; v++) {
        if ((o->env_all || listed(*v, o->env_keep)) && !listed(*v, o->env_set)) {
            env[n++] = *v;
        }
    }
    for (const char *const *v = o->env_set; v != NULL && *v != NULL; v++) {
        if (n == VQ_CHILD_ENV_MAX) {
            vq_free(env);
            return VQ_LIMIT;
        }
        /* execve's type has no const, but it does not change them */
        env[n++] = (char *)(uintptr_t)*v;
    }
    *ret_env = env;
    return VQ_OK;
}

static int copy_fd(int fd)
{
    return fd == 0 ? open("/dev/null", O_RDWR | O_CLOEXEC) : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

/* ---- in the child ---- */

static void close_others(void)
{
    if (syscall(SYS_close_range, 3U, ~0U, CLOSE_ON_EXEC) == 0) {
        return;
    }
    for (int fd = 3; fd < FALLBACK_FDS; fd++) { /* kernels before 5.11 */
        int flags = fcntl(fd, F_GETFD);
        if (flags >= 0) {
            (void)fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
        }
    }
}

static void default_signals(void)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    for (int s = 1; s < NSIG; s++) {
        (void)sigaction(s, &action, NULL); /* fails for KILL and STOP, which is right */
    }
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

_Noreturn static void become(const struct plan *plan)
{
    int failed = 0;
    if (setpgid(0, 0) != 0 || dup2(plan->in, 0) < 0 || dup2(plan->out, 1) < 0 ||
        dup2(plan->err, 2) < 0) {
        failed = errno;
    }
    close_others();
    for (uint32_t i = 0; failed == 0 && i < plan->keep_fds_count; i++) {
        if (fcntl(plan->keep_fds[i], F_SETFD, 0) != 0) {
            failed = errno;
        }
    }
    if (failed == 0 && plan->folder != NULL && chdir(plan->folder) != 0) {
        failed = errno;
    }
    if (plan->death_signal != 0) {
        (void)prctl(PR_SET_PDEATHSIG, plan->death_signal);
        if (getppid() != plan->parent) {
            _exit(127); /* the parent died before the signal was set */
        }
    }
    if (failed == 0) {
        default_signals();
        (void)execve(plan->path, plan->argv, plan->env);
        failed = errno;
    }
    ssize_t wrote = write(plan->report, &failed, sizeof(failed));
    (void)wrote; /* the parent sees the pipe close */
    _exit(127);
}

/* ---- in the parent ---- */

static pid_t fork_quietly(const struct plan *plan)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    if (pid == 0) {
        become(plan);
    }
    int saved = errno;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = saved;
    return pid;
}

static pid_t wait_for(pid_t pid, int *ret_status, int flags)
{
    pid_t got;
    do {
        got = waitpid(pid, ret_status, flags);
    } while (got < 0 && errno == EINTR);
    return got;
}

/* Waits for exec. VQ_OK: exec has closed the pipe; else the reason of the failure. */
static enum vq_status await_exec(int pipe_fd, pid_t pid, const char *path, struct vq_error *err)
{
    int failed = 0;
    ssize_t got;
    do {
        got = read(pipe_fd, &failed, sizeof(failed));
    } while (got < 0 && errno == EINTR);
    if (got == 0) {
        return VQ_OK;
    }
    int status;
    (void)wait_for(pid, &status, 0);
    enum vq_status kind = failed == ENOENT ? VQ_NOT_FOUND : failed == EACCES ? VQ_DENIED : VQ_IO;
    return vq_fail(err, kind, "cannot run %s: %s", path, strerror(failed));
}

static void close_fd(int fd)
{
    if (fd >= 0) {
        (void)close(fd); /* only copies of descriptors: nothing to lose */
    }
}

static enum vq_status start(const struct vq_child_options *o, struct plan *plan, pid_t *ret_pid,
                            struct vq_error *err)
{
    int ends[2] = {-1, -1};
    enum vq_status status = VQ_OK;
    plan->in = copy_fd(0);
    plan->out = copy_fd(o->stdout_fd);
    plan->err = copy_fd(o->stderr_fd);
    if (plan->in < 0 || plan->out < 0 || plan->err < 0 || pipe2(ends, O_CLOEXEC) != 0) {
        status = vq_fail(err, VQ_IO, "cannot prepare %s: %s", plan->path, strerror(errno));
        goto out;
    }
    plan->report = ends[1];
    pid_t pid = fork_quietly(plan);
    if (pid < 0) {
        status = vq_fail(err, VQ_IO, "cannot fork for %s: %s", plan->path, strerror(errno));
        goto out;
    }
    close_fd(ends[1]);
    ends[1] = -1;
    status = await_exec(ends[0], pid, plan->path, err);
    if (status == VQ_OK) {
        *ret_pid = pid;
    }
out:
    close_fd(ends[0]);
    close_fd(ends[1]);
    close_fd(plan->in);
    close_fd(plan->out);
    close_fd(plan->err);
    return status;
}

static void on_sigchld(uv_signal_t *handle, int signum)
{
    (void)signum;
    struct vq_child *child = handle->data;
    int status;
    if (child->pid == 0 || wait_for(child->pid, &status, WNOHANG) != child->pid) {
        return;
    }
    child->pid = 0;
    (void)uv_signal_stop(handle);
    struct vq_child_exit how = {.code = -1};
    if (WIFEXITED(status)) {
        how.code = WEXITSTATUS(status);
    } else if (WIFSIGNALED(status)) {
        how.signal = WTERMSIG(status);
    }
    child->exited(child->ctx, how); /* may destroy the child */
}

static void free_child(uv_handle_t *handle)
{
    vq_free(handle->data);
}

enum vq_status vq_child_spawn(struct vq_loop *loop, const struct vq_child_options *options,
                              struct vq_child **ret_child, struct vq_error *err)
{
    VQ_ASSERT(options->keep_fds_count <= VQ_CHILD_FDS_MAX && options->exited != NULL);
    struct plan plan = {.argv = (char *const *)(uintptr_t)options->argv,
                        .folder = options->folder,
                        .keep_fds = options->keep_fds,
                        .keep_fds_count = options->keep_fds_count,
                        .parent = getpid()};
    if (!options->own_fate) {
        plan.death_signal = options->death_signal != 0 ? options->death_signal : SIGTERM;
    }
    VQ_TRY(find_program(options->path, plan.path, err));
    enum vq_status status = make_env(options, &plan.env);
    if (status != VQ_OK) {
        return vq_fail(err, status, "cannot make the environment of %s", plan.path);
    }
    struct vq_child *child = vq_alloc(1, sizeof(*child));
    if (child == NULL || uv_signal_init(vq_loop_uv(loop), &child->sigchld) != 0) {
        vq_free(child);
        vq_free(plan.env);
        return vq_fail(err, VQ_NOMEM, "no memory to start %s", plan.path);
    }
    child->sigchld.data = child;
    child->exited = options->exited;
    child->ctx = options->ctx;
    int code = uv_signal_start(&child->sigchld, on_sigchld, SIGCHLD); /* before the child can end */
    status = code == 0 ? start(options, &plan, &child->pid, err)
                       : vq_fail(err, VQ_IO, "cannot watch children: %s", uv_strerror(code));
    vq_free(plan.env);
    if (status != VQ_OK) {
        uv_close((uv_handle_t *)&child->sigchld, free_child);
        return status;
    }
    *ret_child = child;
    return VQ_OK;
}

pid_t vq_child_pid(const struct vq_child *child)
{
    return child->pid;
}

enum vq_status vq_child_kill(struct vq_child *child, int signum, bool group)
{
    if (child->pid == 0) {
        return VQ_NOT_FOUND;
    }
    return kill(group ? -child->pid : child->pid, signum) == 0 ? VQ_OK : VQ_NOT_FOUND;
}

void vq_child_leave(struct vq_child **child)
{
    if (*child != NULL) {
        (*child)->pid = 0; /* so that it is not killed and not waited for */
        vq_child_destroy(child);
    }
}

void vq_child_destroy(struct vq_child **child)
{
    struct vq_child *self = *child;
    if (self == NULL) {
        return;
    }
    if (self->pid != 0) {
        int status;
        (void)kill(-self->pid, SIGKILL);
        (void)wait_for(self->pid, &status, 0);
        self->pid = 0;
    }
    uv_close((uv_handle_t *)&self->sigchld, free_child);
    *child = NULL;
}
