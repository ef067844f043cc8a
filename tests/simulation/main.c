/* vibeq-sim: runs the simulated cluster over a range of seeds. The first seed that breaks an invariant is printed with what
 * broke, and replays exactly: vibeq-sim --seeds N..N --verbose.
 *
 *     vibeq-sim --seeds A..B [--verbose] [--first] [--twice] [--moves]
 *
 * --first stops at the first failure; --twice runs each seed a second time and compares the traces; --moves prints how often each pair of the task table came. */
#include "tests/simulation/sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct arguments {
    uint64_t from, to;
    bool verbose, twice, moves, first;
};

static bool parse_seeds(const char *text, struct arguments *args)
{
    char *end;
    args->from = args->to = strtoull(text, &end, 10);
    if (strncmp(end, "..", 2) == 0) {
        args->to = strtoull(end + 2, &end, 10);
    }
    return *end == '\0' && args->from <= args->to;
}

static bool parse(int argc, char **argv, struct arguments *args)
{
    *args = (struct arguments){.from = 1, .to = 100};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--verbose") == 0) {
            args->verbose = true;
        } else if (strcmp(argv[i], "--twice") == 0) {
            args->twice = true;
        } else if (strcmp(argv[i], "--first") == 0) {
            args->first = true;
        } else if (strcmp(argv[i], "--moves") == 0) {
            args->moves = true;
        } else if (strcmp(argv[i], "--seeds") != 0 || i + 1 == argc ||
                   !parse_seeds(argv[++i], args)) {
            return false;
        }
    }
    return true;
}

static void add(struct sim_report *sum, const struct sim_report *one)
{
    sum->steps += one->steps;
    sum->calls += one->calls;
    sum->tasks += one->tasks;
    sum->asked_twice += one->asked_twice;
    sum->unknown += one->unknown;
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
    sum->seconds += one->seconds;
    for (size_t s = 0; s < VQ_TASK_STATES; s++) {
        for (size_t e = 0; e < VQ_TASK_EVENTS; e++) {
            sum->moves[s][e] += one->moves[s][e];
        }
    }
}

static void print_moves(const struct sim_report *sum)
{
    for (int s = 0; s < VQ_TASK_STATES; s++) {
        for (int e = 0; e < VQ_TASK_EVENTS; e++) {
            enum vq_task_states next;
            const char *why;
            enum vq_task_rule rule =
                vq_task_next((enum vq_task_states)s, (enum vq_task_events)e, &next, &why);
            printf("%-10s  %-60s  %-8s  %" PRIu64 "\n", vq_task_state_name((enum vq_task_states)s),
                   vq_task_event_text((enum vq_task_events)e),
                   rule == VQ_TASK_MOVES   ? "moves"
                   : rule == VQ_TASK_STAYS ? "stays"
                                           : "refused",
                   sum->moves[s][e]);
        }
    }
}

int main(int argc, char **argv)
{
    struct arguments args;
    if (!parse(argc, argv, &args)) {
        fprintf(stderr,
                "usage: vibeq-sim --seeds A..B [--verbose] [--first] [--twice] [--moves]\n");
        return 2;
    }
    struct sim_report sum = {0};
    uint64_t failed = 0;
    for (uint64_t seed = args.from; seed <= args.to && !(args.first && failed > 0); seed++) {
        struct sim_options options = {.seed = seed, .verbose = args.verbose};
        struct sim_report report, again;
        sim_run(&options, &report);
        if (args.twice) {
            sim_run(&options, &again);
            if (again.trace != report.trace) {
                printf("seed %" PRIu64 " does not replay\n", seed);
                failed++;
            }
        }
        if (report.failed) {
            printf("seed %" PRIu64 " (trace %016" PRIx64 ") %s\n", seed, report.trace, report.why);
            failed++;
        }
        if (args.verbose) {
            printf("trace %016" PRIx64 "\n", report.trace);
        }
        add(&sum, &report);
    }
    if (args.moves) {
        print_moves(&sum);
    }
    printf("%" PRIu64 " seeds: %" PRIu64 " failed; %" PRIu64
           " steps, %.0f simulated seconds, %" PRIu64 " tasks, %" PRIu64 " calls, %" PRIu64
           " asked twice (%" PRIu64 " unknown); kills: %" PRIu64 " workers, %" PRIu64
           " coordinators, %" PRIu64 " Redis; %" PRIu64 " broken links, %" PRIu64
           " blocked, %" PRIu64 " stopped, %" PRIu64 " restarts (%" PRIu64
           " for want of money), %" PRIu64 " further stages, %" PRIu64 " opened again\n",
           args.to - args.from + 1, failed, sum.steps, sum.seconds, sum.tasks, sum.calls,
           sum.asked_twice, sum.unknown, sum.kills, sum.coord_kills, sum.redis_kills, sum.breaks,
           sum.partitions, sum.pauses, sum.restarts, sum.broke, sum.stages, sum.reopened);
    return failed == 0 ? 0 : 1;
}
