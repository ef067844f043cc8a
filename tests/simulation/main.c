/* vibeq-sim: runs the simulated cluster over a range of seeds. A seed that breaks an invariant is
 * printed with what broke, and replays exactly: vibeq-sim --seeds N --verbose.
 *
 *     vibeq-sim --seeds A..B | --list FILE  [--with FAULT]... [--jobs N] [--first] [--twice]
 *                                           [--moves] [--table] [--verbose]
 *
 * --list takes the seeds from a file: a number a line, behind it why it is there. --with FAULT, a
 * name of faults.def: it may come in every seed, not only in those that drew it. --jobs spreads the
 * seeds over processes. --first ends at the first failure (of each process). --twice runs each seed
 * a second time and compares the traces. --moves prints how often each pair of the task table came;
 * --table demands that each pair that it allows did. */
#include "tests/simulation/sim.h"

#include "common/base/alloc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define JOBS_MAX  64
#define LISTS_MAX 4096

struct arguments {
    uint64_t from, to;
    uint64_t *list; /* NULL: from..to */
    size_t count;
    unsigned jobs;
    bool verbose, twice, moves, table, first;
    bool with[SIM_FAULTS];
};

struct sum {
    struct sim_report all;
    uint64_t seeds, failed;
};

/* ---- arguments ---- */

static bool parse_seeds(const char *text, struct arguments *args)
{
    char *end;
    args->from = args->to = strtoull(text, &end, 10);
    if (strncmp(end, "..", 2) == 0) {
        args->to = strtoull(end + 2, &end, 10);
    }
    args->count = args->to - args->from + 1;
    return *end == '\0' && args->from <= args->to;
}

static bool read_list(const char *path, struct arguments *args)
{
    char line[256];
    FILE *file = fopen(path, "re");
    args->list = vq_alloc(LISTS_MAX, sizeof(*args->list));
    args->count = 0;
    while (file != NULL && args->list != NULL && args->count < LISTS_MAX &&
           fgets(line, sizeof(line), file) != NULL) {
        char *end;
        uint64_t seed = strtoull(line, &end, 10);
        if (end != line) {
            args->list[args->count++] = seed;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return args->count > 0;
}

static bool parse_flag(const char *text, struct arguments *args)
{
    const struct {
        const char *name;
        bool *set;
    } flags[] = {{"--verbose", &args->verbose},
                 {"--twice", &args->twice},
                 {"--first", &args->first},
                 {"--moves", &args->moves},
                 {"--table", &args->table}};
    for (size_t i = 0; i < VQ_COUNT(flags); i++) {
        if (strcmp(text, flags[i].name) == 0) {
            *flags[i].set = true;
            return true;
        }
    }
    return false;
}

static bool parse_fault(const char *name, struct arguments *args)
{
    static const char *const names[SIM_FAULTS] = {
#define SIM_FAULT(name, most, text) #name,
#include "tests/simulation/faults.def"
#undef SIM_FAULT
    };
    for (int f = 0; f < SIM_FAULTS; f++) {
        if (strcmp(name, names[f]) == 0) {
            args->with[f] = true;
            return true;
        }
    }
    return false;
}

static bool parse(int argc, char **argv, struct arguments *args)
{
    *args = (struct arguments){.from = 1, .to = 100, .count = 100, .jobs = 1};
    for (int i = 1; i < argc; i++) {
        bool valued = i + 1 < argc;
        if (parse_flag(argv[i], args)) {
            continue;
        }
        if (valued && strcmp(argv[i], "--jobs") == 0) {
            args->jobs = (unsigned)strtoul(argv[++i], NULL, 10);
            if (args->jobs == 0 || args->jobs > JOBS_MAX) {
                return false;
            }
        } else if (valued && strcmp(argv[i], "--with") == 0) {
            if (!parse_fault(argv[++i], args)) {
                return false;
            }
        } else if (valued && strcmp(argv[i], "--list") == 0) {
            if (!read_list(argv[++i], args)) {
                return false;
            }
        } else if (!valued || strcmp(argv[i], "--seeds") != 0 || !parse_seeds(argv[++i], args)) {
            return false;
        }
    }
    return true;
}

/* ---- runs ---- */

static void add(struct sim_report *sum, const struct sim_report *one)
{
    sum->steps += one->steps;
    sum->calls += one->calls;
    sum->tasks += one->tasks;
    sum->asked_twice += one->asked_twice;
    sum->unknown += one->unknown;
    sum->no_capacity += one->no_capacity;
    sum->kills += one->kills;
    sum->coord_kills += one->coord_kills;
    sum->redis_kills += one->redis_kills;
    sum->breaks += one->breaks;
    sum->pauses += one->pauses;
    sum->partitions += one->partitions;
    sum->restarts += one->restarts;
    sum->broke += one->broke;
    sum->stages += one->stages;
    sum->reopened += one->reopened;
    sum->cancelled += one->cancelled;
    sum->seconds += one->seconds;
    for (size_t f = 0; f < SIM_FAULTS; f++) {
        sum->faults[f] += one->faults[f];
    }
    for (size_t s = 0; s < VQ_TASK_STATES; s++) {
        for (size_t e = 0; e < VQ_TASK_EVENTS; e++) {
            sum->moves[s][e] += one->moves[s][e];
        }
    }
}

static void run_one(const struct arguments *args, uint64_t seed, struct sum *sum)
{
    struct sim_options options = {.seed = seed, .verbose = args->verbose};
    memcpy(options.with, args->with, sizeof(options.with));
    struct sim_report report, again;
    sim_run(&options, &report);
    if (args->twice) {
        sim_run(&options, &again);
        if (again.trace != report.trace) {
            printf("seed %" PRIu64 " does not replay\n", seed);
            sum->failed++;
        }
    }
    if (report.failed) {
        printf("seed %" PRIu64 " (trace %016" PRIx64 ") %s\n", seed, report.trace, report.why);
        sum->failed++;
    }
    if (args->verbose) {
        printf("trace %016" PRIx64 "\n", report.trace);
    }
    (void)fflush(stdout);
    sum->seeds++;
    add(&sum->all, &report);
}

static void run_part(const struct arguments *args, unsigned part, struct sum *sum)
{
    for (size_t i = part; i < args->count && !(args->first && sum->failed > 0); i += args->jobs) {
        run_one(args, args->list == NULL ? args->from + i : args->list[i], sum);
    }
}

/* A process for each part, which writes its sum into a pipe: less than the pipe holds. One that
 * died counts as a failure. */
static void run_parts(const struct arguments *args, struct sum *sum)
{
    int ends[JOBS_MAX][2];
    pid_t pids[JOBS_MAX];
    for (unsigned part = 0; part < args->jobs; part++) {
        if (pipe(ends[part]) != 0 || (pids[part] = fork()) < 0) {
            perror("vibeq-sim");
            exit(2);
        }
        if (pids[part] == 0) {
            struct sum mine = {0};
            run_part(args, part, &mine);
            bool told = write(ends[part][1], &mine, sizeof(mine)) == (ssize_t)sizeof(mine);
            _exit(told ? 0 : 2);
        }
        (void)close(ends[part][1]);
    }
    for (unsigned part = 0; part < args->jobs; part++) {
        struct sum one;
        int status;
        if (read(ends[part][0], &one, sizeof(one)) == (ssize_t)sizeof(one)) {
            sum->seeds += one.seeds;
            sum->failed += one.failed;
            add(&sum->all, &one.all);
        } else {
            printf("process %u of %u died\n", part, args->jobs);
            sum->failed++;
        }
        (void)waitpid(pids[part], &status, 0);
    }
}

/* ---- figures ---- */

static void print_moves(const struct sim_report *sum)
{
    static const char *const words[] = {
        [VQ_TASK_MOVES] = "moves", [VQ_TASK_STAYS] = "stays", [VQ_TASK_REFUSED] = "refused"};
    for (int s = 0; s < VQ_TASK_STATES; s++) {
        for (int e = 0; e < VQ_TASK_EVENTS; e++) {
            enum vq_task_states next;
            enum vq_task_rule rule =
                vq_task_next((enum vq_task_states)s, (enum vq_task_events)e, &next, NULL);
            printf("%-10s  %-60s  %-8s  %" PRIu64 "\n", vq_task_state_name((enum vq_task_states)s),
                   vq_task_event_text((enum vq_task_events)e), words[rule], sum->moves[s][e]);
        }
    }
}

/* The pairs that may come and did not. */
static uint64_t check_table(const struct sim_report *sum)
{
    uint64_t missing = 0;
    for (int s = 0; s < VQ_TASK_STATES; s++) {
        for (int e = 0; e < VQ_TASK_EVENTS; e++) {
            enum vq_task_states next;
            enum vq_task_rule rule =
                vq_task_next((enum vq_task_states)s, (enum vq_task_events)e, &next, NULL);
            if (rule != VQ_TASK_REFUSED && sum->moves[s][e] == 0) {
                printf("never came: a task that is %s, and %s\n",
                       vq_task_state_name((enum vq_task_states)s),
                       vq_task_event_text((enum vq_task_events)e));
                missing++;
            }
        }
    }
    return missing;
}

static void print_figures(const struct sum *sum)
{
    static const char *const texts[SIM_FAULTS] = {
#define SIM_FAULT(name, most, text) text,
#include "tests/simulation/faults.def"
#undef SIM_FAULT
    };
    const struct sim_report *r = &sum->all;
    printf("%" PRIu64 " seeds: %" PRIu64 " failed; %" PRIu64
           " steps, %.0f simulated seconds, %" PRIu64 " tasks, %" PRIu64 " calls, %" PRIu64
           " asked twice (%" PRIu64 " unknown); kills: %" PRIu64 " workers, %" PRIu64
           " coordinators, %" PRIu64 " Redis; %" PRIu64 " broken links, %" PRIu64
           " blocked, %" PRIu64 " stopped, %" PRIu64 " restarts (%" PRIu64
           " for want of money), %" PRIu64 " further stages, %" PRIu64 " opened again, %" PRIu64
           " batches cancelled",
           sum->seeds, sum->failed, r->steps, r->seconds, r->tasks, r->calls, r->asked_twice,
           r->unknown, r->kills, r->coord_kills, r->redis_kills, r->breaks, r->partitions,
           r->pauses, r->restarts, r->broke, r->stages, r->reopened, r->cancelled);
    for (int f = 0; f < SIM_FAULTS; f++) {
        printf("%s%" PRIu64 " %s", f == 0 ? "; " : ", ", r->faults[f], texts[f]);
    }
    printf(", %" PRIu64 " calls refused by a service tier\n", r->no_capacity);
}

int main(int argc, char **argv)
{
    struct arguments args;
    if (!parse(argc, argv, &args)) {
        fprintf(stderr, "usage: vibeq-sim --seeds A..B | --list FILE [--with FAULT]... [--jobs N] "
                        "[--first] [--twice] [--moves] [--table] [--verbose]\n");
        return 2;
    }
    struct sum sum = {0};
    if (args.jobs == 1) {
        run_part(&args, 0, &sum);
    } else {
        run_parts(&args, &sum);
    }
    if (args.moves) {
        print_moves(&sum.all);
    }
    uint64_t missing = args.table ? check_table(&sum.all) : 0;
    print_figures(&sum);
    vq_free(args.list);
    return sum.failed == 0 && missing == 0 ? 0 : 1;
}
