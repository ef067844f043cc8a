/* bench-dispatch [--samples N] [--rounds N] [--dir DIR]: tasks per second through the real
 * coordinator (loop, core, CURVE sockets, LMDB store, private Redis) and two workers that answer at
 * once, compared with bench-dispatch-bare, interleaved in one run. A task is one answer of 200
 * bytes to one of 40 questions about a sample of 4 KB. Four programs per round, in turn:
 *
 *   vibeq        unchanged
 *   bare         a ROUTER, two DEALERs and a pipelined Redis, one frame per task with its sample:
 *                the reference of the ratio
 *   no store     vibeq, but answers are not stored: shows the cost of the store
 *   bare, once   bare, with CURVE as vibeq always has it, and each sample sent once: the most
 *                similar to vibeq
 *
 * The last line is "ratio X", the median of vibeq over the median of bare. See README.md. */
#include "bench/dispatch.h"

#include "common/base/rng.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORKERS        2
#define PROMPT_BYTES   496
#define OUTPUT_BYTES   1800 /* with the prompt: 4,096 bytes per sample */
#define ROUNDS_MAX     64
#define LINE_BYTES_MAX 1024
#define START_TRIES    6000
#define START_PAUSE_US 5000
#define PATH_BYTES_MAX 4096

struct options {
    uint64_t samples;
    uint32_t rounds;
    const char *dir;
};

enum kind {
    KIND_VIBEQ,
    KIND_BARE,
    KIND_NO_STORE,
    KIND_BARE_CURVE,
    KIND_BARE_ONCE,
    KIND__COUNT
};

static const char *const kind_names[KIND__COUNT] = {"vibeq", "bare", "vibeq, no store",
                                                    "bare, CURVE", "bare, CURVE, sample once"};

struct measured {
    double rates[ROUNDS_MAX];
    char line[LINE_BYTES_MAX]; /* of the last round */
};

struct bench {
    struct options options;
    char self[PATH_BYTES_MAX];
    char bare[PATH_BYTES_MAX];
    char dir[256];
    struct measured measured[KIND__COUNT];
};

static void die(const char *what, const char *why)
{
    (void)fprintf(stderr, "bench-dispatch: %s: %s\n", what, why);
    exit(1);
}

/* ---- data ---- */

static void put_words(FILE *file, struct vq_rng *rng, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++) {
        bool space = i % 6 == 5;
        (void)fputc(space ? ' ' : 'a' + (int)vq_rng_below(rng, 26), file);
    }
}

static void make_data(const struct bench *b)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/data.csv", b->dir);
    FILE *file = fopen(path, "we");
    if (file == NULL) {
        die(path, strerror(errno));
    }
    struct vq_rng rng;
    vq_rng_seed(&rng, 1);
    (void)fputs("question,left,right\n", file);
    for (uint64_t i = 0; i < b->options.samples; i++) {
        put_words(file, &rng, PROMPT_BYTES);
        (void)fputc(',', file);
        put_words(file, &rng, OUTPUT_BYTES);
        (void)fputc(',', file);
        put_words(file, &rng, OUTPUT_BYTES);
        (void)fputc('\n', file);
    }
    if (fclose(file) != 0) {
        die(path, strerror(errno));
    }
}

/* ---- processes ---- */

/* Starts argv; its standard output goes to *ret_fd, unless that is NULL. */
static pid_t start(const char *const *argv, int *ret_fd)
{
    int ends[2] = {-1, -1};
    if (ret_fd != NULL && pipe2(ends, O_CLOEXEC) != 0) {
        die("pipe", strerror(errno));
    }
    pid_t pid = fork();
    if (pid < 0) {
        die("fork", strerror(errno));
    }
    if (pid == 0) {
        if (ret_fd != NULL) {
            (void)dup2(ends[1], STDOUT_FILENO);
        }
        (void)execv(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    if (ret_fd != NULL) {
        (void)close(ends[1]);
        *ret_fd = ends[0];
    }
    return pid;
}

static void read_line(int fd, char line[LINE_BYTES_MAX])
{
    size_t used = 0;
    for (;;) {
        ssize_t n = read(fd, line + used, LINE_BYTES_MAX - 1 - used);
        if (n <= 0) {
            break;
        }
        used += (size_t)n;
    }
    line[used] = '\0';
    line[strcspn(line, "\n")] = '\0';
    (void)close(fd);
}

/* Returns the CPU seconds of the process and of its children. */
static double reap(pid_t pid, const char *what)
{
    int status = 0;
    struct rusage used;
    if (wait4(pid, &status, 0, &used) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        die(what, "it failed");
    }
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static void remove_tree(const char *path)
{
    const char *argv[] = {"/bin/rm", "-rf", path, NULL};
    (void)reap(start(argv, NULL), "rm");
}

static void wait_for(const char *path, pid_t pid)
{
    for (int i = 0; access(path, F_OK) != 0; i++) {
        if (i == START_TRIES || waitpid(pid, NULL, WNOHANG) != 0) {
            die("the coordinator", "it did not start");
        }
        (void)usleep(START_PAUSE_US);
    }
}

static void run_vibeq(const struct bench *b, bool store, char line[LINE_BYTES_MAX])
{
    char runs[512], endpoint[1024], cert[1024];
    (void)snprintf(runs, sizeof(runs), "%s/runs", b->dir);
    (void)snprintf(endpoint, sizeof(endpoint), "%s/%s/endpoint.json", runs, BENCH_RUN);
    (void)snprintf(cert, sizeof(cert), "%s/%s/join.cert", runs, BENCH_RUN);
    if (mkdir(runs, 0700) != 0) {
        die(runs, strerror(errno));
    }
    const char *coordinator[] = {b->self, "--as", "coordinator", b->dir, store ? "1" : "0", NULL};
    const char *worker[] = {b->self, "--as", "worker", cert, NULL};
    int fd;
    pid_t pid = start(coordinator, &fd);
    wait_for(endpoint, pid);
    pid_t workers[WORKERS];
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = start(worker, NULL);
    }
    read_line(fd, line);
    (void)reap(pid, "the coordinator");
    double workers_s = 0;
    for (int i = 0; i < WORKERS; i++) {
        workers_s += reap(workers[i], "a worker");
    }
    size_t used = strlen(line);
    (void)snprintf(line + used, LINE_BYTES_MAX - used, " workers_cpu_s=%.3f", workers_s);
    remove_tree(runs);
}

static void run_bare(const struct bench *b, bool curve, bool once, char line[LINE_BYTES_MAX])
{
    char tasks[32], per_sample[32];
    (void)snprintf(tasks, sizeof(tasks), "%llu",
                   (unsigned long long)(b->options.samples * BENCH_SAMPLE_TASKS));
    (void)snprintf(per_sample, sizeof(per_sample), "%d", once ? BENCH_SAMPLE_TASKS : 1);
    const char *argv[] = {b->bare,    "--tasks", tasks,  "--per-sample",
                          per_sample, "--dir",   b->dir, curve ? "--curve" : NULL,
                          NULL};
    int fd;
    pid_t pid = start(argv, &fd);
    read_line(fd, line);
    (void)reap(pid, b->bare);
}

/* ---- numbers ---- */

static double value_of(const char *line, const char *name)
{
    size_t bytes = strlen(name);
    for (const char *at = line; *at != '\0';) {
        if (strncmp(at, name, bytes) == 0 && at[bytes] == '=') {
            return strtod(at + bytes + 1, NULL);
        }
        at += strcspn(at, " ");
        at += strspn(at, " ");
    }
    die(name, "the measured program does not say it");
    return 0;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const double *values, uint32_t count)
{
    double sorted[ROUNDS_MAX];
    memcpy(sorted, values, count * sizeof(*values));
    qsort(sorted, count, sizeof(*sorted), by_value);
    return count % 2 == 1 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

static void measure(struct bench *b, enum kind kind, uint32_t round)
{
    struct measured *m = &b->measured[kind];
    switch (kind) {
    case KIND_VIBEQ: run_vibeq(b, true, m->line); break;
    case KIND_NO_STORE: run_vibeq(b, false, m->line); break;
    case KIND_BARE: run_bare(b, false, false, m->line); break;
    case KIND_BARE_CURVE: run_bare(b, true, false, m->line); break;
    case KIND_BARE_ONCE: run_bare(b, true, true, m->line); break;
    case KIND__COUNT: break;
    }
    m->rates[round] = value_of(m->line, "tasks") / value_of(m->line, "seconds");
    (void)printf("  %-26s %9.0f tasks/s\n", kind_names[kind], m->rates[round]);
    (void)fflush(stdout);
}

static void print_costs(const char *line)
{
    double tasks = value_of(line, "tasks");
    double commits = value_of(line, "commits");
    static const struct {
        const char *name, *what;
    } cpu[] = {{"loop_cpu_s", "loop thread"},
               {"io_cpu_s", "ZeroMQ's thread (CURVE)"},
               {"commit_cpu_s", "commit job (LMDB)"},
               {"redis_cpu_s", "Redis, with its start and end"},
               {"workers_cpu_s", "the two workers"}};
    (void)printf("\nvibeq, last round: CPU a task\n");
    for (size_t i = 0; i < sizeof(cpu) / sizeof(*cpu); i++) {
        (void)printf("  %-30s %6.2f us\n", cpu[i].what, value_of(line, cpu[i].name) / tasks * 1e6);
    }
    (void)printf("and: %.3f frames and %.0f bytes out, %.3f frames and %.0f bytes in, %.2f context "
                 "switches;\n     %.0f commits of %.0f results, %.1f ms each\n",
                 value_of(line, "frames_out") / tasks, value_of(line, "bytes_out") / tasks,
                 value_of(line, "frames_in") / tasks, value_of(line, "bytes_in") / tasks,
                 value_of(line, "switches") / tasks, commits, value_of(line, "results") / commits,
                 value_of(line, "commit_s") / commits * 1e3);
}

static void print_end(const struct bench *b)
{
    double medians[KIND__COUNT];
    (void)printf("\nmedians of %u rounds, tasks/s\n", b->options.rounds);
    for (int kind = 0; kind < KIND__COUNT; kind++) {
        medians[kind] = median(b->measured[kind].rates, b->options.rounds);
        (void)printf("  %-26s %9.0f", kind_names[kind], medians[kind]);
        if (kind != KIND_VIBEQ) {
            (void)printf("   vibeq is %.2f of it", medians[KIND_VIBEQ] / medians[kind]);
        }
        (void)printf("\n");
    }
    print_costs(b->measured[KIND_VIBEQ].line);
    (void)printf("ratio %.2f\n", medians[KIND_VIBEQ] / medians[KIND_BARE]);
}

/* ---- words ---- */

static struct options options_of(int argc, char **argv)
{
    struct options o = {.samples = 5000, .rounds = 5, .dir = getenv("TMPDIR")};
    /* on a disk, because fsync is part of the measurement */
    o.dir = o.dir == NULL ? "/var/tmp" : o.dir;
    for (int i = 1; i < argc; i++) {
        bool more = i + 1 < argc;
        if (strcmp(argv[i], "--samples") == 0 && more) {
            o.samples = strtoull(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--rounds") == 0 && more) {
            o.rounds = (uint32_t)strtoul(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--dir") == 0 && more) {
            o.dir = argv[++i];
        } else {
            die("usage", "bench-dispatch [--samples N] [--rounds N] [--dir DIR]");
        }
    }
    if (o.samples < 2 || o.rounds == 0 || o.rounds > ROUNDS_MAX) {
        die("usage", "at least 2 samples, 1 to 64 rounds");
    }
    return o;
}

static void find_programs(struct bench *b)
{
    ssize_t n = readlink("/proc/self/exe", b->self, sizeof(b->self) - 1);
    if (n <= 0) {
        die("/proc/self/exe", strerror(errno));
    }
    b->self[n] = '\0';
    (void)snprintf(b->bare, sizeof(b->bare), "%.*s-bare", (int)sizeof(b->bare) - 8, b->self);
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "--as") == 0 && strcmp(argv[2], "coordinator") == 0) {
        return bench_coordinator(argv[3], atoi(argv[4]));
    }
    if (argc == 4 && strcmp(argv[1], "--as") == 0 && strcmp(argv[2], "worker") == 0) {
        return bench_worker(argv[3]);
    }
    static struct bench b;
    b.options = options_of(argc, argv);
    find_programs(&b);
    (void)snprintf(b.dir, sizeof(b.dir), "%s/bench-dispatch.XXXXXX", b.options.dir);
    if (mkdtemp(b.dir) == NULL) {
        die(b.dir, strerror(errno));
    }
    make_data(&b);
    (void)printf("%llu tasks over %llu samples of 4 KB, answers of %d bytes, %d workers, in %s\n",
                 (unsigned long long)(b.options.samples * BENCH_SAMPLE_TASKS),
                 (unsigned long long)b.options.samples, BENCH_ANSWER_BYTES, WORKERS, b.dir);
    for (uint32_t round = 0; round < b.options.rounds; round++) {
        (void)printf("round %u\n", round + 1);
        for (int kind = 0; kind < KIND__COUNT; kind++) {
            measure(&b, (enum kind)kind, round);
        }
    }
    remove_tree(b.dir);
    print_end(&b);
    return 0;
}
