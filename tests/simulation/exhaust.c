/* vibeq-exhaust: every way in which a small world can go, from a moment on, for so many steps, with
 * so many faults. Two tasks, two workers, one pool; time goes on only when somebody's timer fires,
 * the earliest one; a frame, an answer, a look-up or a half of a commit may come as late as it
 * likes. Then the rest goes its usual way and must finish. What must hold is checked after every
 * step.
 *
 *     vibeq-exhaust [--depth D] [--faults F] [--every N] [--jobs N] [--limit PATHS]
 *         [--world W --from N --path a,b,c]
 *
 * A plain search in depth: the cores cannot be copied, so each path is replayed from the start by
 * its list of choices. Two ways that give every process the same history (what it was told, in this
 * order, at these times) lead to the same state: what was explored from there at least as deep is
 * not explored again. The moments: every N-th step of the run in its usual order. --path shows
 * one. */
#include "tests/simulation/sim.h"

#include "common/base/alloc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEPTH_MAX   64
#define CHOICES_MAX 96
#define TAIL_MAX    20000 /* steps in the usual order */
#define JOBS_MAX    64

static const struct {
    const char *name;
    struct sim_small small;
} worlds[] = {
    {"both orders of one sample, remote workers", {1, 0, 2, VQ_SWAP_BOTH, false}},
    {"lazy swap, local workers", {1, 2, 0, VQ_SWAP_LAZY, false}},
    {"a lazy swap that is not needed", {1, 1, 1, VQ_SWAP_LAZY, true}},
    {"two samples, a local and a remote worker", {2, 1, 1, VQ_SWAP_NONE, false}},
};

struct figures {
    uint64_t paths, states, steps, pruned, failures,
        cut; /* cut: paths that were not explored for want of time */
};

struct arguments {
    unsigned depth, faults, every, jobs;
    uint64_t limit; /* of paths, for each process */
    int world;      /* -1: all */
    unsigned from;
    unsigned path[DEPTH_MAX], path_count;
    bool shows;
};

/* ---- choices ---- */

enum fault {
    NO_FAULT,
    KILL_WORKER,
    KILL_COORD,
    CUT,
    DROP,
    TWICE,
    KILL_REDIS,
    STORE_FULL,
    FSYNC,
};

static const char *const fault_names[] = {"",
                                          "kill a worker",
                                          "kill the coordinator",
                                          "cut a link",
                                          "lose a frame",
                                          "a frame comes twice",
                                          "Redis is flushed",
                                          "the store is full",
                                          "fsync fails, the commit is there"};

struct choice {
    enum fault fault;
    size_t at; /* event: its place in the heap */
    uint32_t worker;
};

struct choices {
    struct choice of[CHOICES_MAX];
    unsigned count;
};

struct search {
    const struct arguments *args;
    unsigned world, from;
    struct sim_map seen; /* state -> steps that were left */
    struct figures figures;
    /* the path that is walked */
    unsigned path[DEPTH_MAX], widths[DEPTH_MAX], length;
    unsigned faults;
    uint64_t history[SIM_WORKERS_MAX + 1]; /* of the coordinator, and of each worker */
};

static bool is_timer(const struct sim_event *e)
{
    return e->kind == EV_TICK || e->kind == EV_WORKER_TICK;
}

/* It would do nothing: its process, or connection, is no more. */
static bool is_void(const struct sim *s, const struct sim_event *e)
{
    const struct sim_worker *w =
        &s->workers[e->a < SIM_WORKERS_MAX ? e->a : 0]; /* SPAWN of a remote one: none */
    switch ((int)e->kind) {
    case EV_TO_WORKER:
    case EV_CONNECTED:
        return w->work == NULL || e->life != w->life || e->b != w->connection || !w->up;
    case EV_REPLY: return w->work == NULL || e->life != w->life;
    case EV_WORKER_TICK: return w->work == NULL || e->life != w->life || e->at_ns != w->wake_ns;
    case EV_TICK: return e->life != s->coord.life || e->b != (uint64_t)s->coord.wake_ns;
    case EV_TO_COORD:
    case EV_LOOKED_UP:
    case EV_LMDB:
    case EV_REDIS:
    case EV_REAPED:
    case EV_IMPORT: return s->coord.core == NULL || e->life != s->coord.life;
    default: return false;
    }
}

static bool same_channel(const struct sim_event *a, const struct sim_event *b)
{
    if (a->kind == EV_CONNECTED || a->kind == EV_TO_WORKER) {
        return (b->kind == EV_CONNECTED || b->kind == EV_TO_WORKER) && a->a == b->a;
    }
    if (a->kind == EV_TO_COORD || a->kind == EV_SPAWN) {
        return a->kind == b->kind && a->a == b->a;
    }
    return a->kind == EV_LOOKED_UP && b->kind == EV_LOOKED_UP;
}

static bool comes_before(const struct sim_event *a, const struct sim_event *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->seq < b->seq;
}

/* The first of its channel, or the earliest timer of all. */
static bool is_next(const struct sim *s, size_t at)
{
    const struct sim_event *e = &s->heap[at];
    for (size_t i = 0; i < s->heap_count; i++) {
        const struct sim_event *other = &s->heap[i];
        bool rivals = is_timer(e) ? is_timer(other) : same_channel(e, other);
        if (i != at && rivals && !is_void(s, other) && comes_before(other, e)) {
            return false;
        }
    }
    return true;
}

static void offer(struct choices *c, enum fault fault, size_t at, uint32_t worker)
{
    VQ_ASSERT(c->count < CHOICES_MAX);
    c->of[c->count++] = (struct choice){fault, at, worker};
}

static void offer_faults(const struct sim *s, struct choices *c)
{
    for (uint32_t i = 0; i < s->workers_count; i++) {
        const struct sim_worker *w = &s->workers[i];
        if (w->work != NULL) {
            offer(c, KILL_WORKER, 0, i);
        }
        if (w->work != NULL && w->up && s->coord.core != NULL) {
            offer(c, CUT, 0, i);
        }
    }
    if (s->coord.core != NULL && !s->coord.finished) {
        offer(c, KILL_COORD, 0, 0);
        if (!s->coord.redis_away) {
            offer(c, KILL_REDIS, 0, 0);
        }
    }
    for (size_t i = 0; i < s->heap_count; i++) {
        const struct sim_event *e = &s->heap[i];
        if (is_void(s, e) || !is_next(s, i)) {
            continue;
        }
        if (e->kind == EV_TO_COORD || e->kind == EV_TO_WORKER) {
            offer(c, DROP, i, e->a);
            offer(c, TWICE, i, e->a);
        } else if (e->kind == EV_LMDB) {
            offer(c, STORE_FULL, i, 0);
            offer(c, FSYNC, i, 0);
        }
    }
}

/* In the order of time, so that the first choice is the usual one. */
static void choices_of(const struct sim *s, bool faults, struct choices *c)
{
    c->count = 0;
    for (size_t i = 0; i < s->heap_count; i++) {
        if (!is_void(s, &s->heap[i]) && is_next(s, i)) {
            offer(c, NO_FAULT, i, 0);
        }
    }
    for (unsigned i = 1; i < c->count; i++) {
        for (unsigned k = i; k > 0; k--) {
            const struct sim_event *a = &s->heap[c->of[k - 1].at];
            const struct sim_event *b = &s->heap[c->of[k].at];
            bool later = is_timer(a) != is_timer(b) && a->at_ns == b->at_ns ? is_timer(a)
                                                                            : comes_before(b, a);
            if (!later) {
                break;
            }
            struct choice one = c->of[k];
            c->of[k] = c->of[k - 1];
            c->of[k - 1] = one;
        }
    }
    if (faults) {
        offer_faults(s, c);
    }
}

/* ---- histories ---- */

static uint64_t mix(uint64_t h, uint64_t value)
{
    h = (h ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ (h >> 29);
}

static void remember(struct search *search, const struct sim *s, size_t who, uint64_t what,
                     uint64_t more)
{
    uint64_t *h = &search->history[who];
    *h = mix(mix(mix(*h, what), more), (uint64_t)s->now_ns);
}

static bool is_worker_event(const struct sim_event *e)
{
    return e->kind == EV_TO_WORKER || e->kind == EV_CONNECTED || e->kind == EV_REPLY ||
           e->kind == EV_WORKER_TICK;
}

static void remember_event(struct search *search, const struct sim *s, const struct sim_event *e)
{
    uint64_t bytes = 1;
    /* what it says follows from the coordinator's history */
    bool pointers = e->kind == EV_LOOKED_UP;
    for (size_t i = 0; i < e->count && !pointers; i++) {
        bytes = bytes * 31 + (unsigned char)e->bytes[i];
    }
    size_t who = is_worker_event(e) ? e->a + 1 : 0;
    uint64_t b = e->kind == EV_REPLY ? s->calls[e->b].task : e->b;
    int64_t at_ns = is_timer(e) ? e->at_ns : 0;
    remember(search, s, who, mix(e->kind, bytes), mix(mix(e->a, b), (uint64_t)at_ns));
}

static struct vq_hash state_of(const struct search *search, const struct sim *s)
{
    uint64_t h = mix(search->faults, (uint64_t)s->now_ns);
    for (size_t i = 0; i <= s->workers_count; i++) {
        h = mix(h, search->history[i]);
    }
    struct vq_hash key = {{0}};
    uint64_t second = mix(h, UINT64_C(0x51ed270b));
    memcpy(key.b, &h, sizeof(h));
    memcpy(key.b + sizeof(h), &second, sizeof(second));
    return key;
}

/* ---- steps ---- */

static void fault_on_event(struct sim *s, const struct choice *c)
{
    struct sim_event *e = &s->heap[c->at];
    switch ((int)c->fault) {
    case TWICE: sim_twice(s, c->at); break;
    case DROP: e->life = UINT64_MAX - 1; break;
    case STORE_FULL: s->trouble.p[SIM_STORE_FULL] = 2; break; /* comes for certain */
    case FSYNC: s->trouble.p[SIM_FSYNC] = 2; break;
    default: break;
    }
    if (c->fault == STORE_FULL || c->fault == FSYNC) {
        sim_take(s, c->at);
        s->trouble.p[SIM_STORE_FULL] = s->trouble.p[SIM_FSYNC] = 0;
    }
}

static void take(struct search *search, struct sim *s, const struct choice *c)
{
    const struct sim_event *e = &s->heap[c->at];
    if (c->fault == NO_FAULT) {
        remember_event(search, s, e);
        sim_take(s, c->at);
        return;
    }
    search->faults++;
    bool of_worker = c->fault == KILL_WORKER || c->fault == CUT;
    bool of_event = !of_worker && c->fault != KILL_COORD && c->fault != KILL_REDIS;
    remember(search, s, of_worker || (of_event && e->kind == EV_TO_WORKER) ? c->worker + 1 : 0,
             (uint64_t)c->fault + 1000, of_event ? e->a : c->worker);
    sim_say(s, "FAULT: %s", fault_names[c->fault]);
    switch ((int)c->fault) {
    case KILL_WORKER: sim_worker_kill(s, c->worker); break;
    case KILL_COORD: sim_coord_kill(s); break;
    case CUT: sim_cut(s, c->worker); break;
    case KILL_REDIS: sim_redis_kill(s); break;
    default: fault_on_event(s, c); break;
    }
    sim_check_step(s);
}

/* The usual order, to the end. */
static void finish(struct sim *s)
{
    s->healed = true;
    for (unsigned steps = 0; sim_goes_on(s); steps++) {
        sim_take(s, 0);
        if (steps > TAIL_MAX) {
            sim_fail(s, "not finished %d steps after the last fault", TAIL_MAX);
        }
    }
    if (!s->report->failed && !s->coord.finished) {
        sim_fail(s, "nothing happens any more and the run is not finished");
    }
    if (!s->report->failed) {
        sim_check_end(s);
    }
}

static bool was_seen(struct search *search, const struct sim *s, unsigned left)
{
    struct vq_hash state = state_of(search, s);
    const uint64_t *before = sim_map_get(&search->seen, &state);
    if (before != NULL && *before >= left) {
        return true;
    }
    search->figures.states += before == NULL;
    sim_map_put(&search->seen, &state, left);
    return false;
}

/* Walks search->path, then on by first choices. `fixed`: so much of it is given. false: the world
 * was over at its very beginning. */
static bool walk(struct search *search, struct sim *s, unsigned fixed)
{
    struct choices choices;
    memset(search->history, 0, sizeof(search->history));
    search->faults = 0;
    search->length = 0;
    for (unsigned i = 0; i < search->from && sim_goes_on(s); i++) {
        choices_of(s, false, &choices);
        if (choices.count > 0) {
            take(search, s, &choices.of[0]);
        }
    }
    if (!sim_goes_on(s) || s->coord.finished) {
        return false;
    }
    for (unsigned d = 0; sim_goes_on(s); d++) {
        if (d >= fixed && was_seen(search, s, search->args->depth - d)) {
            search->figures.pruned++;
            return true;
        }
        if (d == search->args->depth) {
            break;
        }
        choices_of(s, search->faults < search->args->faults, &choices);
        if (choices.count == 0) {
            break;
        }
        unsigned taken = d < fixed ? search->path[d] : 0;
        VQ_ASSERT(taken < choices.count);
        search->path[d] = taken;
        search->widths[d] = choices.count;
        search->length = d + 1;
        take(search, s, &choices.of[taken]);
    }
    finish(s);
    return true;
}

static void say_failure(const struct search *search, const struct sim_report *report)
{
    printf("world %u from %u by ", search->world, search->from);
    for (unsigned i = 0; i < search->length; i++) {
        printf("%s%u", i == 0 ? "" : ",", search->path[i]);
    }
    printf(": %s\n", report->why);
    (void)fflush(stdout);
}

/* One moment of one world. false: there is no such moment any more. */
static bool explore(struct search *search)
{
    unsigned fixed = 0;
    struct sim_report report;
    struct sim_options options = {
        .seed = 1, .verbose = search->args->shows, .small = &worlds[search->world].small};
    struct sim *s = vq_alloc(1, sizeof(*s));
    VQ_ASSERT(s != NULL);
    bool begun = true;
    if (search->args->shows) {
        memcpy(search->path, search->args->path, sizeof(search->path));
        fixed = search->args->path_count;
    }
    while (begun) {
        memset(s, 0, sizeof(*s));
        sim_make(s, &options, &report);
        begun = walk(search, s, fixed);
        search->figures.steps += report.steps;
        search->figures.paths += begun;
        if (report.failed) {
            say_failure(search, &report);
            search->figures.failures++;
        }
        sim_free(s);
        unsigned d = search->length;
        while (d > 0 && search->path[d - 1] + 1 >= search->widths[d - 1]) {
            d--;
        }
        if (d == 0 || search->args->shows || !begun) {
            break;
        }
        if (search->figures.paths >= search->args->limit) {
            search->figures.cut++;
            break;
        }
        search->path[d - 1]++;
        fixed = d;
    }
    vq_free(s);
    sim_map_free(&search->seen);
    search->length = 0;
    return begun;
}

static void run_part(const struct arguments *args, unsigned part, struct figures *sum)
{
    unsigned n = 0;
    for (unsigned world = 0; world < VQ_COUNT(worlds); world++) {
        if (args->world >= 0 && world != (unsigned)args->world) {
            continue;
        }
        bool goes_on = true;
        for (unsigned from = args->from; goes_on; from += args->every, n++) {
            struct search search = {.args = args, .world = world, .from = from};
            if (n % args->jobs != part) {
                search.figures.paths = args->limit - 1; /* only to see whether there is one */
            }
            goes_on = explore(&search) && !args->shows;
            if (n % args->jobs != part) {
                continue;
            }
            sum->paths += search.figures.paths;
            sum->states += search.figures.states;
            sum->steps += search.figures.steps;
            sum->pruned += search.figures.pruned;
            sum->failures += search.figures.failures;
            sum->cut += search.figures.cut;
        }
    }
}

static void run_parts(const struct arguments *args, struct figures *sum)
{
    int ends[JOBS_MAX][2];
    for (unsigned part = 0; part < args->jobs; part++) {
        pid_t pid = pipe(ends[part]) == 0 ? fork() : -1;
        if (pid < 0) {
            perror("vibeq-exhaust");
            exit(2);
        }
        if (pid == 0) {
            struct figures mine = {0};
            run_part(args, part, &mine);
            _exit(write(ends[part][1], &mine, sizeof(mine)) == (ssize_t)sizeof(mine) ? 0 : 2);
        }
        (void)close(ends[part][1]);
    }
    for (unsigned part = 0; part < args->jobs; part++) {
        struct figures one;
        if (read(ends[part][0], &one, sizeof(one)) != (ssize_t)sizeof(one)) {
            printf("process %u of %u died\n", part, args->jobs);
            one = (struct figures){.failures = 1};
        }
        sum->paths += one.paths;
        sum->states += one.states;
        sum->steps += one.steps;
        sum->pruned += one.pruned;
        sum->failures += one.failures;
        sum->cut += one.cut;
        (void)wait(NULL);
    }
}

static bool parse(int argc, char **argv, struct arguments *args)
{
    *args = (struct arguments){
        .depth = 6, .faults = 1, .every = 8, .jobs = 1, .limit = UINT64_MAX, .world = -1};
    for (int i = 1; i + 1 < argc; i += 2) {
        char *value = argv[i + 1];
        unsigned long long n = strtoull(value, NULL, 10);
        if (strcmp(argv[i], "--depth") == 0 && n <= DEPTH_MAX) {
            args->depth = (unsigned)n;
        } else if (strcmp(argv[i], "--faults") == 0) {
            args->faults = (unsigned)n;
        } else if (strcmp(argv[i], "--every") == 0 && n > 0) {
            args->every = (unsigned)n;
        } else if (strcmp(argv[i], "--jobs") == 0 && n > 0 && n <= JOBS_MAX) {
            args->jobs = (unsigned)n;
        } else if (strcmp(argv[i], "--limit") == 0 && n > 0) {
            args->limit = n;
        } else if (strcmp(argv[i], "--world") == 0 && n < VQ_COUNT(worlds)) {
            args->world = (int)n;
        } else if (strcmp(argv[i], "--from") == 0) {
            args->from = (unsigned)n;
        } else if (strcmp(argv[i], "--path") == 0) {
            args->shows = true;
            for (char *at = value; *at != '\0' && args->path_count < DEPTH_MAX;) {
                args->path[args->path_count++] = (unsigned)strtoul(at, &at, 10);
                at += *at == ',';
            }
        } else {
            return false;
        }
    }
    return argc % 2 == 1;
}

int main(int argc, char **argv)
{
    struct arguments args;
    if (!parse(argc, argv, &args)) {
        fprintf(stderr, "usage: vibeq-exhaust [--depth D] [--faults F] [--every N] [--jobs N] "
                        "[--limit PATHS] [--world W] [--from N] [--path a,b,c]\n");
        return 2;
    }
    struct figures sum = {0};
    if (args.jobs == 1) {
        run_part(&args, 0, &sum);
    } else {
        run_parts(&args, &sum);
    }
    printf("depth %u, up to %u faults, from every %u-th step: %" PRIu64 " paths, %" PRIu64
           " states, %" PRIu64 " steps, %" PRIu64 " ways to a state that was seen; %s; %" PRIu64
           " violations\n",
           args.depth, args.faults, args.every, sum.paths, sum.states, sum.steps, sum.pruned,
           sum.cut == 0 ? "complete" : "cut short", sum.failures);
    return sum.failures == 0 ? 0 : 1;
}
