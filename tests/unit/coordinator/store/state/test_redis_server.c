/* The private server with a real Redis: one a run, whoever is killed when. */
#include "tests/unit/coordinator/store/calls/redis_fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>

static const struct vq_id uid = {.b = {0xab, 0xcd}};

static int setup(void **state)
{
    *state = rx_new();
    return 0;
}

static int teardown(void **state)
{
    rx_free(*state);
    return 0;
}

static void read_file(const char *path, char *ret_text, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    ssize_t n = read(fd, ret_text, room - 1);
    assert_true(n >= 0);
    ret_text[n] = '\0';
    for (ssize_t i = 0; i < n; i++) {
        ret_text[i] = ret_text[i] == '\0' ? ' ' : ret_text[i];
    }
    (void)close(fd);
}

static bool alive(pid_t pid)
{
    char path[64], text[512];
    (void)snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
    if (access(path, F_OK) != 0) {
        return false;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0) {
        (void)close(fd);
    }
    text[n > 0 ? n : 0] = '\0';
    const char *after = strrchr(text, ')');
    return after != NULL && after[2] != 'Z';
}

TEST_WITH(test_starts_private, setup, teardown)
{
    struct rx *rx = *state;
    char path[64], text[16384];
    struct stat st;
    assert_int_equal(setenv("VQ_TEST_CANARY", "sk-canary", 1), 0);
    rx_start(rx, &uid);
    rx_wait(rx, rx_is_ready, rx);
    assert_int_equal(rx->last, VQ_REDIS_SERVER_READY);
    rx_connect(rx);
    assert_string_equal(rx_command(rx, "CONFIG", "GET", "port"), "port 0");
    assert_string_equal(rx_command(rx, "CONFIG", "GET", "appendfsync"), "appendfsync everysec");
    assert_string_equal(rx_command(rx, "CONFIG", "GET", "save"), "save ");
    assert_string_equal(rx_command(rx, "CONFIG", "GET", "maxmemory-policy"),
                        "maxmemory-policy noeviction");
    const char *socket = vq_redis_server_socket(rx->server);
    assert_true(strlen(socket) < 108);
    assert_int_equal(stat(socket, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    /* Nothing of our environment, a process group of its own. */
    pid_t pid = vq_redis_server_pid(rx->server);
    (void)snprintf(path, sizeof(path), "/proc/%ld/environ", (long)pid);
    read_file(path, text, sizeof(text));
    assert_null(strstr(text, "canary"));
    assert_int_equal(getpgid(pid), pid);
    vq_redis_destroy(&rx->redis);
    vq_redis_server_destroy(&rx->server);
    assert_false(alive(pid));
    assert_int_equal(access(socket, F_OK), -1);
}

static bool ready_twice(void *ctx)
{
    return ((struct rx *)ctx)->ready == 2;
}

static bool came_back(void *ctx)
{
    const struct rx *rx = ctx;
    return rx->downs > 0 && rx->up;
}

TEST_WITH(test_killed_and_restarted, setup, teardown)
{
    struct rx *rx = *state;
    rx_start(rx, &uid);
    rx_wait(rx, rx_is_ready, rx);
    rx_connect(rx);
    assert_string_equal(rx_command(rx, "SET", "key", "value"), "OK");
    pid_t pid = vq_redis_server_pid(rx->server);
    assert_int_equal(kill(pid, SIGKILL), 0);
    rx_wait(rx, ready_twice, rx);
    assert_true(vq_redis_server_pid(rx->server) != pid);
    rx_wait(rx, came_back, rx);
    assert_string_equal(rx_command(rx, "PING", "again", NULL), "again");
}

TEST_WITH(test_keeps_its_data, setup, teardown)
{
    struct rx *rx = *state;
    rx_start(rx, &uid);
    rx_wait(rx, rx_is_ready, rx);
    rx_connect(rx);
    assert_string_equal(rx_command(rx, "SET", "key", "value"), "OK");
    vq_redis_destroy(&rx->redis);
    vq_redis_server_destroy(&rx->server);
    rx->up = false;
    rx_start(rx, &uid);
    rx_wait(rx, rx_is_ready, rx);
    rx_connect(rx);
    assert_string_equal(rx_command(rx, "GET", "key", NULL), "value");
}

/* A second server for one run folder waits until the first has ended. */
TEST_WITH(test_one_a_folder, setup, teardown)
{
    struct rx *rx = *state;
    struct rx *second = vq_alloc(1, sizeof(*second));
    rx_start(rx, &uid);
    rx_wait(rx, rx_is_ready, rx);
    pid_t pid = vq_redis_server_pid(rx->server);
    second->loop = rx->loop;
    memcpy(second->dir, rx->dir, sizeof(rx->dir));
    rx_start(second, &uid);
    assert_int_equal(vq_loop_run_until(rx->loop, rx_is_ready, second, 500), VQ_TIMEOUT);
    assert_int_equal(second->last, VQ_REDIS_SERVER_WAITING);
    assert_true(alive(pid));
    vq_redis_server_destroy(&rx->server);
    rx_wait(second, rx_is_ready, second);
    assert_int_equal(second->last, VQ_REDIS_SERVER_READY);
    vq_redis_server_destroy(&second->server);
    vq_free(second);
}

/* A coordinator in a process of its own; returns its pid, the server's in *ret_server. */
static pid_t other_coordinator(struct rx *rx, pid_t *ret_server)
{
    int said[2];
    assert_int_equal(pipe(said), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct rx other = {0};
        memcpy(other.dir, rx->dir, sizeof(other.dir));
        struct vq_redis_server_options options = {
            .run_dir = other.dir, .uid = &uid, .changed = rx_changed, .ctx = &other};
        if (vq_loop_create(&other.loop, NULL) != VQ_OK ||
            vq_redis_server_create(other.loop, &options, &other.server, NULL) != VQ_OK ||
            vq_loop_run_until(other.loop, rx_is_ready, &other, RX_WAIT_MS) != VQ_OK) {
            _exit(1);
        }
        pid_t server = vq_redis_server_pid(other.server);
        if (write(said[1], &server, sizeof(server)) != (ssize_t)sizeof(server)) {
            _exit(2);
        }
        for (;;) {
            (void)pause();
        }
    }
    (void)close(said[1]);
    assert_int_equal(read(said[0], ret_server, sizeof(*ret_server)), sizeof(*ret_server));
    (void)close(said[0]);
    return pid;
}

TEST_WITH(test_coordinator_killed, setup, teardown)
{
    struct rx *rx = *state;
    pid_t server;
    pid_t coordinator = other_coordinator(rx, &server);
    assert_true(alive(server));
    assert_int_equal(kill(coordinator, SIGKILL), 0);
    assert_int_equal(waitpid(coordinator, NULL, 0), coordinator);
    rx_start(rx, &uid);
    rx_wait(rx, rx_is_ready, rx);
    assert_int_equal(rx->last, VQ_REDIS_SERVER_READY);
    assert_false(alive(server));
}

/* The old server stands still and does not hear SIGTERM: it is ended by the pid file. Takes some
 * seconds. */
TEST_WITH(test_old_server_stands_still, setup, teardown)
{
    struct rx *rx = *state;
    pid_t server;
    pid_t coordinator = other_coordinator(rx, &server);
    assert_int_equal(kill(server, SIGSTOP), 0);
    assert_int_equal(kill(coordinator, SIGKILL), 0);
    assert_int_equal(waitpid(coordinator, NULL, 0), coordinator);
    rx_start(rx, &uid);
    rx_wait(rx, rx_is_ready, rx);
    assert_int_equal(rx->last, VQ_REDIS_SERVER_READY);
    assert_false(alive(server));
}

static bool has_failed(void *ctx)
{
    return ((struct rx *)ctx)->last == VQ_REDIS_SERVER_FAILED;
}

/* The lock is held by a process that is no server of ours: nobody is signalled, and the text
 * says what holds it. */
TEST_WITH(test_foreign_lock, setup, teardown)
{
    struct rx *rx = *state;
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/redis", rx->dir);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof(path), "%s/redis/pid", rx->dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    pid_t bystander = fork();
    assert_true(bystander >= 0);
    if (bystander == 0) {
        for (;;) {
            (void)pause();
        }
    }
    assert_true(fprintf(file, "%ld\n", (long)bystander) > 0);
    assert_int_equal(fclose(file), 0);
    (void)snprintf(path, sizeof(path), "%s/redis/lock", rx->dir);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    rx_start(rx, &uid);
    rx_wait(rx, has_failed, rx);
    assert_non_null(strstr(rx->text, path));
    assert_true(alive(bystander));
    assert_int_equal(kill(bystander, SIGKILL), 0);
    assert_int_equal(waitpid(bystander, NULL, 0), bystander);
    (void)close(fd);
}

TEST_WITH(test_no_binary, setup, teardown)
{
    struct rx *rx = *state;
    if (access("/usr/bin/redis-check-rdb", X_OK) == 0) {
        print_message(
            "skipped: /usr/bin/redis-check-rdb is there, so that a server is always found\n");
        skip();
    }
    struct vq_redis_server_options options = {.run_dir = rx->dir, .uid = &uid};
    assert_int_equal(setenv("PATH", "/nowhere", 1), 0);
    assert_int_equal(vq_redis_server_create(rx->loop, &options, &rx->server, &rx->err),
                     VQ_NOT_FOUND);
}

/* Socket paths: a runtime folder that is too deep gives way to the temporary one. */
TEST_WITH(test_socket_path, setup, teardown)
{
    struct rx *rx = *state;
    char deep[300];
    (void)snprintf(deep, sizeof(deep), "%s/%0120d", rx->dir, 0);
    assert_int_equal(mkdir(deep, 0700), 0);
    assert_int_equal(setenv("XDG_RUNTIME_DIR", deep, 1), 0);
    rx_start(rx, &uid);
    assert_true(strlen(vq_redis_server_socket(rx->server)) < 108);
    assert_int_not_equal(strncmp(vq_redis_server_socket(rx->server), deep, strlen(deep)), 0);
    vq_redis_server_destroy(&rx->server);
    assert_int_equal(setenv("XDG_RUNTIME_DIR", rx->dir, 1), 0);
    rx_start(rx, &uid);
    assert_int_equal(strncmp(vq_redis_server_socket(rx->server), rx->dir, strlen(rx->dir)), 0);
    assert_int_equal(unsetenv("XDG_RUNTIME_DIR"), 0);
}

/* A logout takes the folder of the socket away: the server is started again with a socket, there or
 * elsewhere. */
TEST_WITH(test_socket_folder_vanishes, setup, teardown)
{
    struct rx *rx = *state;
    char home[300], folder[320], was[108];
    (void)snprintf(home, sizeof(home), "%s/home", rx->dir);
    (void)snprintf(folder, sizeof(folder), "%s/vibeq", home);
    for (int parent_too = 0; parent_too < 2; parent_too++) {
        (void)mkdir(home, 0700);
        assert_int_equal(setenv("XDG_RUNTIME_DIR", home, 1), 0);
        rx_start(rx, &uid);
        rx_wait(rx, rx_is_ready, rx);
        (void)snprintf(was, sizeof(was), "%s", vq_redis_server_socket(rx->server));
        assert_int_equal(strncmp(was, home, strlen(home)), 0);
        assert_int_equal(unlink(was), 0);
        assert_int_equal(rmdir(folder), 0);
        assert_int_equal(parent_too ? rmdir(home) : 0, 0);
        rx->last = VQ_REDIS_SERVER_WAITING;
        rx_wait(rx, rx_is_ready, rx);
        bool same = strcmp(was, vq_redis_server_socket(rx->server)) == 0;
        assert_true(same == (parent_too == 0));
        rx->up = false;
        rx_connect(rx);
        assert_string_equal(rx_command(rx, "CONFIG", "GET", "port"), "port 0");
        vq_redis_destroy(&rx->redis);
        vq_redis_server_destroy(&rx->server);
    }
    assert_int_equal(unsetenv("XDG_RUNTIME_DIR"), 0);
}
