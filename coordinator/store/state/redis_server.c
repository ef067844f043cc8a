/* A run's private Redis server as a small state machine on a timer.
 *
 * Invariants: at most one server uses the run's folder and socket. The lock `redis/lock` ensures
 * this: this process takes it, the server inherits the descriptor, and this process closes its own.
 * So the lock lasts exactly as long as a server lives, also one that outlived a killed coordinator
 * for a moment. Only a process that has the lock file open is ever signalled. State changes happen
 * only in the timer, so `changed` is never called from inside another call. The server gets no
 * variable of our environment, which may contain keys, and gets SIGTERM when this process dies
 * (net/child.c). Not its job: the contents of Redis (run_state.c). */
#include "coordinator/store/state/redis_server.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/crash.h"
#include "common/net/child.h"
#include "common/net/redis.h"
#include "coordinator/store/state/redis_paths.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STEADY_MS 10000 /* after this time in READY, earlier failures do not count any more */

struct vq_redis_server {
    struct vq_loop *loop;
    struct vq_redis_server_options options; /* run_dir and uid are not used after create */
    struct vq_redis_paths paths;
    struct vq_redis_address address;
    struct vq_timer *timer;
    enum vq_redis_server_state state;
    int64_t since_ns;      /* of this state */
    int64_t start_at_ns;   /* waiting: the earliest time of the next start */
    int64_t lock_since_ns; /* since when another server holds the lock; 0: none seen */
    int signalled;         /* the signal that this other server got */
    unsigned fails;
    struct vq_child *child;
    bool ended; /* the child has ended; it is destroyed in the timer */
    struct vq_child_exit how;
    struct vq_redis *client; /* for PING, until it is ready */
    bool ping_sent;
    bool pong;
    struct vq_error text;
};

static void become(struct vq_redis_server *s, enum vq_redis_server_state state)
{
    uint64_t pause_ms =
        state == VQ_REDIS_SERVER_READY ? VQ_REDIS_SERVER_LOOK_MS : VQ_REDIS_SERVER_POLL_MS;
    s->state = state;
    s->since_ns = vq_clock_mono_ns();
    vq_timer_start(s->timer, pause_ms, pause_ms);
    if (s->options.changed != NULL) {
        s->options.changed(s->options.ctx, state, s->text.text);
    }
}

static int64_t for_ms(const struct vq_redis_server *s)
{
    return (vq_clock_mono_ns() - s->since_ns) / VQ_NS_PER_MS;
}

/* ---- PING ---- */

static void on_pong(void *ctx, enum vq_status status, const struct vq_redis_reply *reply)
{
    struct vq_redis_server *s = ctx;
    s->ping_sent = false;
    s->pong = status == VQ_OK && reply->type == VQ_REDIS_STATUS;
}

static void ping(struct vq_redis_server *s)
{
    if (s->client == NULL) {
        struct vq_redis_options options = {.address = &s->address};
        if (vq_redis_create(s->loop, &options, &s->client, NULL) != VQ_OK) {
            return; /* try again at the next tick */
        }
    }
    if (!s->ping_sent && vq_redis_is_up(s->client)) {
        s->ping_sent = vq_redis_words(s->client, on_pong, s, "PING", NULL) == VQ_OK;
    }
}

static void ping_end(struct vq_redis_server *s)
{
    vq_redis_destroy(&s->client);
    s->ping_sent = false;
    s->pong = false;
}

/* ---- starting ---- */

static void retry_later(struct vq_redis_server *s)
{
    ping_end(s);
    vq_child_destroy(&s->child);
    s->ended = false;
    s->fails++;
    if (s->fails >= VQ_REDIS_SERVER_FAILS_MAX) {
        vq_error_prefix(&s->text, "given up after %u starts", s->fails);
        become(s, VQ_REDIS_SERVER_FAILED);
        return;
    }
    int64_t pause_ms = VQ_REDIS_SERVER_RETRY_MS << (s->fails - 1);
    pause_ms = pause_ms < VQ_REDIS_SERVER_RETRY_MAX_MS ? pause_ms : VQ_REDIS_SERVER_RETRY_MAX_MS;
    s->start_at_ns = vq_clock_mono_ns() + pause_ms * VQ_NS_PER_MS;
    become(s, VQ_REDIS_SERVER_WAITING);
}

static void on_exited(void *ctx, struct vq_child_exit how)
{
    struct vq_redis_server *s = ctx;
    s->ended = true;
    s->how = how;
    vq_timer_start(s->timer, 0, VQ_REDIS_SERVER_POLL_MS);
}

static enum vq_status write_pid(struct vq_redis_server *s)
{
    FILE *file = fopen(s->paths.pid, "we");
    if (file == NULL) {
        return VQ_IO;
    }
    int n = fprintf(file, "%ld\n", (long)vq_child_pid(s->child));
    return fclose(file) == 0 && n > 0 ? VQ_OK : VQ_IO;
}

static void start(struct vq_redis_server *s, int lock_fd)
{
    if (vq_redis_paths_again(&s->paths, &s->text) != VQ_OK) {
        retry_later(s);
        return;
    }
    (void)snprintf(s->address.unix_path, sizeof(s->address.unix_path), "%s", s->paths.socket);
    int log_fd = open(s->paths.log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const char *const argv[] = {"redis-server", s->paths.conf, NULL};
    struct vq_child_options options = {.path = s->paths.binary,
                                       .argv = argv,
                                       .folder = s->paths.dir,
                                       .stdout_fd = log_fd > 0 ? log_fd : 0,
                                       .stderr_fd = log_fd > 0 ? log_fd : 0,
                                       .keep_fds = &lock_fd,
                                       .keep_fds_count = 1,
                                       .death_signal = SIGTERM,
                                       .exited = on_exited,
                                       .ctx = s};
    (void)unlink(s->paths.socket);
    s->ended = false;
    enum vq_status status = vq_child_spawn(s->loop, &options, &s->child, &s->text);
    if (log_fd >= 0) {
        (void)close(log_fd);
    }
    VQ_CRASH_POINT(redis_server_spawned);
    if (status == VQ_OK) {
        status = write_pid(s);
    }
    if (status != VQ_OK) {
        retry_later(s);
        return;
    }
    (void)vq_fail(&s->text, VQ_OK, "starting (%s)", s->paths.binary);
    become(s, VQ_REDIS_SERVER_STARTING);
}

/* Another server has the lock. The server of a killed coordinator should end soon by itself;
 * otherwise it is ended here. */
static void wait_for_lock(struct vq_redis_server *s)
{
    int64_t now = vq_clock_mono_ns();
    if (s->lock_since_ns == 0) {
        s->lock_since_ns = now;
        s->signalled = 0;
        (void)vq_fail(&s->text, VQ_OK, "waiting for the run's previous Redis server to end");
        become(s, VQ_REDIS_SERVER_WAITING);
        return;
    }
    int64_t waited_ms = (now - s->lock_since_ns) / VQ_NS_PER_MS;
    int wanted = waited_ms > 2 * VQ_REDIS_SERVER_LOCK_MS / 3 ? SIGKILL
                 : waited_ms > VQ_REDIS_SERVER_KILL_MS       ? SIGTERM
                                                             : 0;
    pid_t holder = vq_redis_paths_holder(&s->paths);
    if (wanted != s->signalled && holder != 0) {
        (void)kill(holder, wanted);
        s->signalled = wanted;
    }
    if (waited_ms > VQ_REDIS_SERVER_LOCK_MS) {
        (void)vq_fail(&s->text, VQ_LOCKED,
                      "another Redis server holds %s (its pid file names %ld); end it, then resume",
                      s->paths.lock, (long)holder);
        become(s, VQ_REDIS_SERVER_FAILED);
    }
}

static void try_start(struct vq_redis_server *s)
{
    if (vq_clock_mono_ns() < s->start_at_ns) {
        return;
    }
    int fd = open(s->paths.lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        (void)vq_fail(&s->text, VQ_IO, "%s: %s", s->paths.lock, strerror(errno));
        retry_later(s);
        return;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
        s->lock_since_ns = 0;
        start(s, fd);
    } else {
        wait_for_lock(s);
    }
    (void)close(fd);
}

/* ---- the timer ---- */

static void say_ended(struct vq_redis_server *s)
{
    if (s->how.signal != 0) {
        (void)vq_fail(&s->text, VQ_UNAVAILABLE, "the server was ended by signal %d", s->how.signal);
    } else {
        (void)vq_fail(&s->text, VQ_UNAVAILABLE, "the server exited with %d; see %s", s->how.code,
                      s->paths.log);
    }
}

static void on_starting(struct vq_redis_server *s)
{
    if (s->ended) {
        say_ended(s);
        retry_later(s);
    } else if (s->pong) {
        VQ_CRASH_POINT(redis_server_ready);
        ping_end(s);
        (void)vq_fail(&s->text, VQ_OK, "ready");
        become(s, VQ_REDIS_SERVER_READY);
    } else if (for_ms(s) > VQ_REDIS_SERVER_READY_MS) {
        (void)vq_fail(&s->text, VQ_TIMEOUT, "the server does not answer PING; see %s",
                      s->paths.log);
        retry_later(s);
    } else {
        ping(s);
    }
}

static void tick(void *ctx)
{
    struct vq_redis_server *s = ctx;
    switch (s->state) {
    case VQ_REDIS_SERVER_WAITING: try_start(s); break;
    case VQ_REDIS_SERVER_STARTING: on_starting(s); break;
    case VQ_REDIS_SERVER_READY:
        if (s->ended) {
            s->fails = for_ms(s) > STEADY_MS ? 0 : s->fails;
            say_ended(s);
            retry_later(s);
        } else if (vq_redis_paths_gone(&s->paths)) { /* no process can connect to it any more */
            (void)vq_child_kill(s->child, SIGTERM, false);
        }
        break;
    case VQ_REDIS_SERVER_FAILED: vq_timer_stop(s->timer); break;
    }
}

enum vq_status vq_redis_server_create(struct vq_loop *loop,
                                      const struct vq_redis_server_options *options,
                                      struct vq_redis_server **ret_server, struct vq_error *err)
{
    struct vq_redis_server *s;
    VQ_TRY(VQ_ALLOC(s, 1));
    s->loop = loop;
    s->options = *options;
    s->state = VQ_REDIS_SERVER_WAITING;
    enum vq_status status = vq_redis_paths_make(options->run_dir, options->uid, &s->paths, err);
    if (status == VQ_OK) {
        (void)snprintf(s->address.unix_path, sizeof(s->address.unix_path), "%s", s->paths.socket);
        status = vq_timer_create(loop, tick, s, &s->timer);
    }
    if (status != VQ_OK) {
        vq_free(s);
        return status;
    }
    vq_timer_start(s->timer, 0, VQ_REDIS_SERVER_POLL_MS);
    *ret_server = s;
    return VQ_OK;
}

/* Waits without reaping, which is the child's job. */
static void wait_for_end(pid_t pid, int64_t ms_max)
{
    int64_t until = vq_clock_mono_ns() + ms_max * VQ_NS_PER_MS;
    struct timespec moment = {.tv_nsec = 5 * VQ_NS_PER_MS};
    siginfo_t info = {0};
    while (vq_clock_mono_ns() < until &&
           waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0) {
        (void)nanosleep(&moment, NULL);
    }
}

void vq_redis_server_destroy(struct vq_redis_server **server)
{
    struct vq_redis_server *s = *server;
    if (s == NULL) {
        return;
    }
    *server = NULL;
    vq_timer_destroy(&s->timer);
    ping_end(s);
    if (s->child != NULL && !s->ended && vq_child_pid(s->child) != 0 &&
        vq_child_kill(s->child, SIGTERM, false) == VQ_OK) {
        wait_for_end(vq_child_pid(s->child), VQ_REDIS_SERVER_STOP_MS);
    }
    bool started = s->child != NULL;
    vq_child_destroy(&s->child);
    if (started) {
        (void)unlink(s->paths.socket);
        (void)unlink(s->paths.pid);
    }
    vq_free(s);
}

const char *vq_redis_server_socket(const struct vq_redis_server *server)
{
    return server->paths.socket;
}

pid_t vq_redis_server_pid(const struct vq_redis_server *server)
{
    return server->child == NULL || server->ended ? 0 : vq_child_pid(server->child);
}
