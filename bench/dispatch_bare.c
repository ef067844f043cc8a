/* bench-dispatch-bare [--tasks N] [--per-sample N] [--curve] [--dir DIR]: the minimum that could
 * distribute tasks and store answers. A ROUTER sends each task as a separate frame, two worker
 * processes with a DEALER answer at once, and each answer is one SETRANGE in a private Redis (AOF,
 * everysec) over one pipelined connection. A task is done when Redis has replied. There are no
 * leases, no store, no resends, no checks: this is the cost of ZeroMQ and Redis without any
 * guarantee. Uses no code of vibeq.
 *
 * --per-sample 1 (the default): every task's frame has its sample of 4,096 bytes. N > 1: only the
 * first of N neighbours has it, the others have eight bytes. Prints one line, "name=value ...". */
#include <errno.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

#define WORKERS          2
#define SAMPLE_BYTES     4096
#define ANSWER_BYTES     200
#define WINDOW           512 /* tasks at one worker */
#define FRAMES_PER_TURN  512
#define KEY_CHARS        40
#define REDIS_WAIT_TRIES 500
#define NO_TASK          UINT64_MAX
#define COLUMN           "bench:column"

struct options {
    uint64_t tasks;
    uint64_t per_sample;
    bool curve;
    const char *dir;
};

struct keys {
    char public_key[KEY_CHARS + 1];
    char secret_key[KEY_CHARS + 1];
};

struct peer {
    char id[16];
    size_t id_bytes;
    uint64_t out;
};

struct bare {
    const struct options *options;
    char dir[256];
    char redis_path[300];
    pid_t redis_pid;
    pid_t workers[WORKERS];
    struct keys server, client;
    void *context, *router;
    char endpoint[256];
    redisContext *redis;
    struct peer peers[WORKERS];
    size_t peers_count;
    uint64_t sent, answered, done;
    char frame[8 + SAMPLE_BYTES];
};

static __attribute__((noreturn, format(printf, 1, 2))) void die(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    (void)fputs("bench-dispatch-bare: ", stderr);
    (void)vfprintf(stderr, fmt, args);
    (void)fputc('\n', stderr);
    va_end(args);
    exit(1);
}

static void must(bool ok, const char *what)
{
    if (!ok) {
        die("%s: %s", what, zmq_strerror(errno));
    }
}

static double now_s(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double cpu_s(int who)
{
    struct rusage u;
    (void)getrusage(who, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* ---- Redis ---- */

/* Debian's redis-tools has the server inside redis-check-rdb: one binary, whose argv[0] selects the
 * program. */
static void redis_exec(const struct bare *b)
{
    char *argv[] = {"redis-server",
                    "--port",
                    "0",
                    "--unixsocket",
                    (char *)(uintptr_t)b->redis_path,
                    "--dir",
                    (char *)(uintptr_t)b->dir,
                    "--appendonly",
                    "yes",
                    "--appendfsync",
                    "everysec",
                    "--save",
                    "",
                    "--logfile",
                    "redis.log",
                    NULL};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)execvp("redis-server", argv);
    (void)execvp("redis-check-rdb", argv);
    _exit(127);
}

static void redis_open(struct bare *b)
{
    (void)snprintf(b->redis_path, sizeof(b->redis_path), "%s/redis.sock", b->dir);
    b->redis_pid = fork();
    must(b->redis_pid >= 0, "fork");
    if (b->redis_pid == 0) {
        redis_exec(b);
    }
    for (int i = 0; i < REDIS_WAIT_TRIES; i++) {
        b->redis = redisConnectUnix(b->redis_path);
        if (b->redis != NULL && b->redis->err == 0) {
            (void)fcntl(b->redis->fd, F_SETFL, fcntl(b->redis->fd, F_GETFL) | O_NONBLOCK);
            b->redis->flags &= ~REDIS_BLOCK;
            return;
        }
        redisFree(b->redis);
        (void)usleep(10000);
    }
    die("redis-server does not answer; is redis-tools installed?");
}

static void redis_put(struct bare *b, uint64_t task, char outcome)
{
    char at[24];
    int at_bytes = snprintf(at, sizeof(at), "%llu", (unsigned long long)task);
    const char *argv[] = {"SETRANGE", COLUMN, at, &outcome};
    const size_t bytes[] = {8, sizeof(COLUMN) - 1, (size_t)at_bytes, 1};
    if (redisAppendCommandArgv(b->redis, 4, argv, bytes) != REDIS_OK) {
        die("redis: %s", b->redis->errstr);
    }
}

static void redis_write(struct bare *b)
{
    int all = 0;
    if (redisBufferWrite(b->redis, &all) != REDIS_OK) {
        die("redis: %s", b->redis->errstr);
    }
}

static void redis_read(struct bare *b)
{
    if (redisBufferRead(b->redis) != REDIS_OK) {
        die("redis: %s", b->redis->errstr);
    }
    void *reply = NULL;
    while (redisGetReplyFromReader(b->redis, &reply) == REDIS_OK && reply != NULL) {
        if (((redisReply *)reply)->type != REDIS_REPLY_INTEGER) {
            die("redis refused a SETRANGE");
        }
        freeReplyObject(reply);
        b->done++;
    }
}

/* ---- a worker ---- */

static void worker(const struct bare *b)
{
    void *context = zmq_ctx_new();
    void *dealer = zmq_socket(context, ZMQ_DEALER);
    if (b->options->curve) {
        must(zmq_setsockopt(dealer, ZMQ_CURVE_SERVERKEY, b->server.public_key, KEY_CHARS + 1) ==
                     0 &&
                 zmq_setsockopt(dealer, ZMQ_CURVE_PUBLICKEY, b->client.public_key, KEY_CHARS + 1) ==
                     0 &&
                 zmq_setsockopt(dealer, ZMQ_CURVE_SECRETKEY, b->client.secret_key, KEY_CHARS + 1) ==
                     0,
             "CURVE");
    }
    must(zmq_connect(dealer, b->endpoint) == 0, "connect");
    char reply[8 + ANSWER_BYTES];
    char sample[SAMPLE_BYTES];
    memset(reply + 8, 'x', ANSWER_BYTES);
    uint64_t task = NO_TASK;
    memcpy(reply, &task, sizeof(task));
    must(zmq_send(dealer, reply, sizeof(reply), 0) >= 0, "send");
    for (;;) {
        zmq_msg_t msg;
        (void)zmq_msg_init(&msg);
        must(zmq_msg_recv(&msg, dealer, 0) >= 0, "receive");
        memcpy(&task, zmq_msg_data(&msg), sizeof(task));
        if (zmq_msg_size(&msg) > sizeof(task)) {
            memcpy(sample, (char *)zmq_msg_data(&msg) + sizeof(task), SAMPLE_BYTES);
        }
        (void)zmq_msg_close(&msg);
        if (task == NO_TASK) {
            break;
        }
        memcpy(reply, &task, sizeof(task));
        reply[8] = sample[task % SAMPLE_BYTES];
        must(zmq_send(dealer, reply, sizeof(reply), 0) >= 0, "send");
    }
    (void)zmq_close(dealer);
    (void)zmq_ctx_term(context);
    _exit(0);
}

/* ---- the ROUTER's side ---- */

static void router_open(struct bare *b)
{
    size_t bytes = sizeof(b->endpoint);
    b->context = zmq_ctx_new();
    b->router = zmq_socket(b->context, ZMQ_ROUTER);
    if (b->options->curve) {
        int on = 1;
        must(zmq_setsockopt(b->router, ZMQ_CURVE_SERVER, &on, sizeof(on)) == 0 &&
                 zmq_setsockopt(b->router, ZMQ_CURVE_SECRETKEY, b->server.secret_key,
                                KEY_CHARS + 1) == 0,
             "CURVE");
    }
    /* A full queue is an error, not a dropped task. The limit is above the window, because libzmq
     * may not have counted all sent frames yet. */
    int mandatory = 1, frames_max = 4 * WINDOW;
    must(zmq_setsockopt(b->router, ZMQ_ROUTER_MANDATORY, &mandatory, sizeof(int)) == 0 &&
             zmq_setsockopt(b->router, ZMQ_SNDHWM, &frames_max, sizeof(int)) == 0,
         "queue");
    must(zmq_bind(b->router, "tcp://127.0.0.1:*") == 0, "bind");
    must(zmq_getsockopt(b->router, ZMQ_LAST_ENDPOINT, b->endpoint, &bytes) == 0, "endpoint");
}

static void send_task(struct bare *b, struct peer *peer, uint64_t task, bool with_sample)
{
    memcpy(b->frame, &task, sizeof(task));
    must(zmq_send(b->router, peer->id, peer->id_bytes, ZMQ_SNDMORE) >= 0 &&
             zmq_send(b->router, b->frame, with_sample ? sizeof(b->frame) : sizeof(task), 0) >= 0,
         "send");
}

/* Neighbours with the same sample go to one worker. */
static void fill(struct bare *b)
{
    uint64_t group = b->options->per_sample;
    for (size_t i = 0; i < b->peers_count; i++) {
        struct peer *peer = &b->peers[i];
        while (b->sent < b->options->tasks && peer->out + group <= WINDOW) {
            for (uint64_t k = 0; k < group && b->sent < b->options->tasks; k++) {
                send_task(b, peer, b->sent++, k == 0);
                peer->out++;
            }
        }
    }
}

static struct peer *peer_of(struct bare *b, const void *id, size_t bytes)
{
    for (size_t i = 0; i < b->peers_count; i++) {
        if (b->peers[i].id_bytes == bytes && memcmp(b->peers[i].id, id, bytes) == 0) {
            return &b->peers[i];
        }
    }
    struct peer *peer = &b->peers[b->peers_count++];
    memcpy(peer->id, id, bytes);
    peer->id_bytes = bytes;
    return peer;
}

static bool receive(struct bare *b)
{
    zmq_msg_t id, msg;
    (void)zmq_msg_init(&id);
    (void)zmq_msg_init(&msg);
    bool got = zmq_msg_recv(&id, b->router, ZMQ_DONTWAIT) >= 0;
    if (got) {
        must(zmq_msg_recv(&msg, b->router, 0) >= 0, "receive");
        uint64_t task;
        const char *at = zmq_msg_data(&msg);
        memcpy(&task, at, sizeof(task));
        struct peer *peer = peer_of(b, zmq_msg_data(&id), zmq_msg_size(&id));
        if (task != NO_TASK) {
            peer->out--;
            b->answered++;
            redis_put(b, task, at[8]);
        }
    }
    (void)zmq_msg_close(&msg);
    (void)zmq_msg_close(&id);
    return got;
}

static void turn(struct bare *b)
{
    for (int i = 0; i < FRAMES_PER_TURN && receive(b); i++) {
    }
    if (b->peers_count == WORKERS) {
        fill(b);
    }
    if (b->answered > b->done) {
        redis_write(b);
    }
    int events = 0;
    size_t bytes = sizeof(events);
    must(zmq_getsockopt(b->router, ZMQ_EVENTS, &events, &bytes) == 0, "events");
    zmq_pollitem_t items[] = {{.socket = b->router, .events = ZMQ_POLLIN},
                              {.fd = b->redis->fd, .events = ZMQ_POLLIN}};
    must(zmq_poll(items, 2, (events & ZMQ_POLLIN) != 0 ? 0 : 100) >= 0, "poll");
    if ((items[1].revents & ZMQ_POLLIN) != 0) {
        redis_read(b);
    }
}

static void start(struct bare *b)
{
    (void)snprintf(b->dir, sizeof(b->dir), "%s/bench-bare.XXXXXX", b->options->dir);
    must(mkdtemp(b->dir) != NULL, b->dir);
    must(zmq_curve_keypair(b->server.public_key, b->server.secret_key) == 0 &&
             zmq_curve_keypair(b->client.public_key, b->client.secret_key) == 0,
         "key pair");
    redis_open(b);
    router_open(b);
    for (int i = 0; i < WORKERS; i++) {
        b->workers[i] = fork();
        must(b->workers[i] >= 0, "fork");
        if (b->workers[i] == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            worker(b);
        }
    }
    while (b->peers_count < WORKERS) {
        (void)receive(b);
        (void)usleep(1000);
    }
}

static void stop(struct bare *b)
{
    for (size_t i = 0; i < b->peers_count; i++) {
        send_task(b, &b->peers[i], NO_TASK, false);
    }
    for (int i = 0; i < WORKERS; i++) {
        (void)waitpid(b->workers[i], NULL, 0);
    }
    double workers_s = cpu_s(RUSAGE_CHILDREN);
    (void)kill(b->redis_pid, SIGKILL);
    (void)waitpid(b->redis_pid, NULL, 0);
    (void)printf(" workers_cpu_s=%.3f redis_cpu_s=%.3f\n", workers_s,
                 cpu_s(RUSAGE_CHILDREN) - workers_s);
    (void)zmq_close(b->router);
    (void)zmq_ctx_term(b->context);
    redisFree(b->redis);
    char command[400];
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", b->dir);
    if (system(command) != 0) {
        die("cannot remove %s", b->dir);
    }
}

static struct options options_of(int argc, char **argv)
{
    struct options o = {.tasks = 200000, .per_sample = 1, .dir = "/tmp"};
    for (int i = 1; i < argc; i++) {
        bool more = i + 1 < argc;
        if (strcmp(argv[i], "--curve") == 0) {
            o.curve = true;
        } else if (strcmp(argv[i], "--tasks") == 0 && more) {
            o.tasks = strtoull(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--per-sample") == 0 && more) {
            o.per_sample = strtoull(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--dir") == 0 && more) {
            o.dir = argv[++i];
        } else {
            die("usage: [--tasks N] [--per-sample N] [--curve] [--dir DIR]");
        }
    }
    if (o.per_sample == 0 || o.per_sample > WINDOW || o.tasks == 0) {
        die("--tasks is at least 1, --per-sample 1 to %d", WINDOW);
    }
    return o;
}

int main(int argc, char **argv)
{
    struct options options = options_of(argc, argv);
    static struct bare b;
    b.options = &options;
    start(&b);
    double cpu = cpu_s(RUSAGE_SELF);
    double begin = now_s();
    fill(&b);
    while (b.done < options.tasks) {
        turn(&b);
    }
    double seconds = now_s() - begin;
    (void)printf("tasks=%llu seconds=%.4f router_cpu_s=%.3f", (unsigned long long)b.done, seconds,
                 cpu_s(RUSAGE_SELF) - cpu);
    (void)fflush(stdout);
    stop(&b);
    return 0;
}
