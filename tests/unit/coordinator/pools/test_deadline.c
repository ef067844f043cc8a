/* A run with a deadline: single decisions, and 1,000 simulated nights on a table of durations of
 * batches, against the cheapest schedule that knows every duration. The decisions learn from the
 * even nights of the table, and the simulation draws from the odd ones. The table is generated, or
 * drawn from recorded durations. */
#include "tests/unit/test.h"

#include "coordinator/pools/deadline_round.h"

#include "common/base/rng.h"
#include "common/text/file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NIGHTS_MAX  60u
#define NIGHT       20u
#define BATCHES_MAX 64u
#define STAGES_MAX  3u
#define STEP_S      30
#define POLL_S      60
#define SEEDS       1000u
#define INTERACTIVE 1.0
#define BATCH       0.5

/* ---- the table ---- */

static double table[NIGHTS_MAX][NIGHT];
static double learned[NIGHTS_MAX * NIGHT];
static struct vq_durations durations;

static int ascending(const void *a, const void *b)
{
    double x, y;
    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return (x > y) - (x < y);
}

/* The i-th batch of a night; even nights are known to the decisions. */
static void put(uint32_t night, uint32_t i, double seconds)
{
    table[night][i] = seconds;
    if (night % 2 == 0 && seconds < 86400) {
        learned[durations.count++] = seconds;
    } else if (night % 2 == 0) {
        durations.expired++;
    }
}

static void sort_learned(void)
{
    durations.ended = learned;
    qsort(learned, durations.count, sizeof(learned[0]), ascending);
}

/* A line "night,seconds"; the first one has the names. */
static enum vq_status take_line(void *ctx, struct vq_span line, struct vq_error *err)
{
    uint32_t *rows = ctx;
    char text[64], *comma;
    (void)err;
    (void)snprintf(text, sizeof(text), "%.*s", (int)line.bytes, line.at);
    unsigned long night = strtoul(text, &comma, 10);
    if (comma == text) {
        return VQ_OK;
    }
    double seconds = strtod(comma + 1, NULL);
    if (night >= NIGHTS_MAX || *rows == NIGHTS_MAX * NIGHT) {
        return VQ_LIMIT;
    }
    put((uint32_t)night, (*rows)++ % NIGHT, seconds);
    return VQ_OK;
}

static int load(void **state)
{
    (void)state;
    uint32_t rows = 0;
    struct vq_error err = {.text = ""};
    durations = (struct vq_durations){0};
    enum vq_status status =
        vq_file_lines(VQ_TEST_DATA "/batches/durations.csv", 1u << 20, take_line, &rows, &err);
    sort_learned();
    return status == VQ_OK && rows == NIGHTS_MAX * NIGHT ? 0 : -1;
}

struct recorded {
    double seconds[NIGHT];
    uint32_t count;
};

/* A line "provider,requests,seconds"; the first one has the names. */
static enum vq_status take_recorded(void *ctx, struct vq_span line, struct vq_error *err)
{
    struct recorded *r = ctx;
    char text[64], *end;
    (void)err;
    (void)snprintf(text, sizeof(text), "%.*s", (int)line.bytes, line.at);
    double seconds = strtod(strrchr(text, ',') + 1, &end);
    if (*end == '\0') {
        assert_true(r->count < NIGHT);
        r->seconds[r->count++] = seconds;
    }
    return VQ_OK;
}

/* Fills the table with draws from the durations that were recorded at providers. */
static void load_recorded(void)
{
    struct recorded r = {.count = 0};
    struct vq_rng rng;
    struct vq_error err = {.text = ""};
    assert_int_equal(
        vq_file_lines(VQ_TEST_DATA "/batches/published.csv", 1u << 20, take_recorded, &r, &err),
        VQ_OK);
    assert_int_equal(r.count, NIGHT);
    vq_rng_seed(&rng, 1);
    durations = (struct vq_durations){0};
    for (uint32_t i = 0; i < NIGHTS_MAX * NIGHT; i++) {
        put(i / NIGHT, i % NIGHT, r.seconds[vq_rng_below(&rng, r.count)]);
    }
    sort_learned();
}

/* ---- the simulation ---- */

struct batch {
    double ends_s, cancelled_s; /* cancelled_s: when its calls are back; INFINITY: not cancelled */
    struct vq_deadline_batch seen;
};

struct world {
    struct vq_rng rng;
    double span_s, rate;
    uint32_t stages;
    uint64_t calls[STAGES_MAX];
    uint32_t night;
    /* of the stage */
    uint32_t stage, submitted;
    struct batch batches[BATCHES_MAX];
    uint32_t batches_count;
    double open, returned, buying, price;
    double at_s; /* the next decision, unless something ends before */
};

static double between(struct vq_rng *rng, double low, double high)
{
    return low + (high - low) * vq_rng_unit(rng);
}

/* The duration of the i-th batch of a stage. */
static double duration(const struct world *w, uint32_t stage, uint32_t i)
{
    return table[w->night][(stage * 7 + i) % NIGHT];
}

/* `low` to `high`: the part of the time in which the interactive pools could answer everything. */
static struct world world_of(uint64_t seed, uint32_t stages, double low, double high)
{
    struct world w = {.stages = stages};
    vq_rng_seed(&w.rng, seed);
    w.span_s = between(&w.rng, 2, 10) * 3600;
    uint64_t all = 0;
    for (uint32_t i = 0; i < stages; i++) {
        w.calls[i] = 1000 + vq_rng_below(&w.rng, 20000);
        all += w.calls[i];
    }
    w.rate = (double)all / (w.span_s * between(&w.rng, low, high));
    w.night = 2 * (uint32_t)vq_rng_below(&w.rng, NIGHTS_MAX / 2) + 1;
    return w;
}

static void take(struct world *w, const struct vq_deadline_action *a, double now)
{
    struct batch *b;
    uint64_t left = a->calls;
    switch (a->what) {
    case VQ_DEADLINE_SUBMIT:
        for (; left > 0; left -= b->seen.calls) {
            assert_true(w->batches_count < BATCHES_MAX);
            b = &w->batches[w->batches_count++];
            *b = (struct batch){
                .ends_s = now + duration(w, w->stage, w->submitted++),
                .cancelled_s = INFINITY,
                .seen = {.submitted_s = (int64_t)now, .calls = left < a->each ? left : a->each}};
        }
        w->open -= (double)a->calls;
        break;
    case VQ_DEADLINE_BUY:
        w->returned -= (double)a->calls;
        w->open += fmin(0, w->returned);
        w->returned = fmax(0, w->returned);
        w->buying += (double)a->calls;
        break;
    case VQ_DEADLINE_CANCEL:
        b = &w->batches[a->batch];
        assert_false(b->seen.cancelling);
        b->seen.cancelling = true;
        b->cancelled_s = now + between(&w->rng, 20, 180);
        break;
    case VQ_DEADLINE_WAIT: break;
    }
}

static struct vq_deadline_state state_of(const struct world *w, double now,
                                         struct vq_deadline_batch *seen)
{
    for (uint32_t i = 0; i < w->batches_count; i++) {
        seen[i] = w->batches[i].seen;
    }
    return (struct vq_deadline_state){.now_s = (int64_t)now,
                                      .deadline_s = (int64_t)w->span_s,
                                      .rate = w->rate,
                                      .interactive_usd = INTERACTIVE,
                                      .batch_usd = BATCH,
                                      .open = (uint64_t)w->open,
                                      .returned = (uint64_t)w->returned,
                                      .buying = (uint64_t)ceil(w->buying),
                                      .later = &w->calls[w->stage + 1],
                                      .later_count = w->stages - w->stage - 1,
                                      .batches = seen,
                                      .batches_count = w->batches_count,
                                      .durations = durations};
}

/* As a run does it: one lever for all calls that are open. */
static void decide_in_rounds(struct world *w, double now)
{
    struct vq_deadline_batch seen[BATCHES_MAX];
    struct vq_deadline_state s = state_of(w, now, seen);
    struct vq_deadline_round round;
    struct vq_deadline_action a = {.what = VQ_DEADLINE_BUY,
                                   .calls = (uint64_t)(w->open + w->returned)};
    uint32_t count = w->batches_count;
    vq_deadline_round(&s, seen, false, &round);
    if (!round.direct) {
        a = (struct vq_deadline_action){.what = VQ_DEADLINE_SUBMIT,
                                        .calls = a.calls > round.keep ? a.calls - round.keep : 0,
                                        .each = vq_deadline_each(w->calls[w->stage])};
    }
    take(w, &a, now);
    for (uint32_t i = 0; i < count; i++) {
        if (seen[i].cancelling && !w->batches[i].seen.cancelling) {
            take(w, &(struct vq_deadline_action){.what = VQ_DEADLINE_CANCEL, .batch = i}, now);
        }
    }
    w->at_s = (double)round.at_s;
}

static bool in_rounds;

static void decide(struct world *w, double now)
{
    struct vq_deadline_batch seen[BATCHES_MAX];
    struct vq_deadline_action action = {.what = VQ_DEADLINE_BUY};
    if (in_rounds) {
        decide_in_rounds(w, now);
        return;
    }
    for (int turn = 0; action.what != VQ_DEADLINE_WAIT; turn++) {
        assert_true(turn < 100);
        struct vq_deadline_state s = state_of(w, now, seen);
        vq_deadline_decide(&s, &action);
        take(w, &action, now);
    }
    assert_true(action.at_s > (int64_t)now);
    w->at_s = (double)action.at_s;
}

/* Calls are answered; batches end, are cancelled, or expire. Results are seen at the next look. */
static bool step(struct world *w, double now, double speed)
{
    bool any = false;
    double answered = fmin(w->buying, w->rate * speed * STEP_S);
    w->buying -= answered;
    w->price += answered * INTERACTIVE;
    for (uint32_t i = w->batches_count; i-- > 0;) {
        struct batch *b = &w->batches[i];
        double seen_s = ceil(b->ends_s / POLL_S) * POLL_S;
        bool ended = b->ends_s - (double)b->seen.submitted_s < 86400 && seen_s <= now;
        bool back = b->cancelled_s <= now || (double)b->seen.submitted_s + 86400 <= now;
        if (ended) {
            w->price += (double)b->seen.calls * BATCH;
        } else if (back) {
            w->returned += (double)b->seen.calls;
        }
        if (ended || back) {
            *b = w->batches[--w->batches_count];
            any = true;
        }
    }
    return any;
}

/* Seconds that the run is late, negative if it is in time. */
static double play(struct world *w)
{
    double now = 0, speed = 1;
    for (w->stage = 0; w->stage < w->stages; w->stage++) {
        w->open = (double)w->calls[w->stage];
        w->submitted = 0;
        w->at_s = now;
        for (int n = 0; w->open + w->returned + w->buying > 1e-6 || w->batches_count > 0;
             n++, now += STEP_S) {
            speed = n % 20 == 0 ? between(&w->rng, 0.9, 1.1) : speed;
            bool ended = step(w, now, speed);
            if (ended || now >= w->at_s) {
                decide(w, now);
            }
        }
    }
    return now - w->span_s;
}

/* ---- the schedule of someone who knows every duration ---- */

struct ending {
    double seconds, calls;
};

/* The batches of a stage as they are first submitted, by duration. */
static uint32_t endings_of(const struct world *w, uint32_t stage, struct ending *ret_endings)
{
    uint32_t count = 0;
    uint64_t each = (w->calls[stage] + VQ_DEADLINE_BATCHES - 1) / VQ_DEADLINE_BATCHES;
    for (uint64_t left = w->calls[stage], n; left > 0; left -= n) {
        n = left < each ? left : each;
        struct ending e = {duration(w, stage, count), (double)n};
        uint32_t at = count++;
        for (; at > 0 && ret_endings[at - 1].seconds > e.seconds; at--) {
            ret_endings[at] = ret_endings[at - 1];
        }
        ret_endings[at] = e;
    }
    return count;
}

/* The least price of the stages from `stage` on within `seconds`: the first k batches of a stage
 * are awaited, the others are bought meanwhile. */
static double least(const struct world *w, uint32_t stage, double seconds)
{
    if (stage == w->stages) {
        return 0;
    }
    struct ending endings[BATCHES_MAX];
    uint32_t count = endings_of(w, stage, endings);
    double best = INFINITY, cheap = 0;
    for (uint32_t k = 0; k <= count; k++) {
        cheap += k > 0 ? endings[k - 1].calls : 0;
        double dear = (double)w->calls[stage] - cheap;
        double time = fmax(k > 0 ? endings[k - 1].seconds : 0, dear / w->rate);
        if (time <= seconds && (k == 0 || endings[k - 1].seconds < 86400)) {
            best = fmin(best,
                        cheap * BATCH + dear * INTERACTIVE + least(w, stage + 1, seconds - time));
        }
    }
    return best;
}

static void nights(uint32_t stages, double low, double high)
{
    static double ratios[SEEDS];
    double price = 0, oracle = 0, dear = 0, latest = -INFINITY;
    uint32_t late = 0;
    for (uint32_t seed = 0; seed < SEEDS; seed++) {
        struct world w = world_of(seed, stages, low, high);
        double best = least(&w, 0, w.span_s);
        double lateness = play(&w);
        uint64_t all = 0;
        for (uint32_t i = 0; i < stages; i++) {
            all += w.calls[i];
        }
        late += lateness > 0 ? 1 : 0;
        latest = fmax(latest, lateness);
        price += w.price;
        oracle += best;
        dear += (double)all * INTERACTIVE;
        ratios[seed] = w.price / best;
        assert_true(w.price >= (double)all * BATCH - 1);
    }
    qsort(ratios, SEEDS, sizeof(ratios[0]), ascending);
    printf("%u stage(s), interactive in %.0f to %.0f %% of the time, %u records, %u nights: "
           "%.2f %% over the least price (median %.2f %%, 95 %% of nights within %.2f %%, worst "
           "%.1f %%; all interactive %.0f %%); %u late, the last one %.0f s before the deadline\n",
           stages, 100 * low, 100 * high, durations.count, SEEDS, 100 * (price / oracle - 1),
           100 * (ratios[SEEDS / 2] - 1), 100 * (ratios[SEEDS * 95 / 100] - 1),
           100 * (ratios[SEEDS - 1] - 1), 100 * (dear / oracle - 1), late, -latest);
    assert_int_equal(late, 0);
    assert_true(price <= 1.05 * oracle);
}

TEST_GROUP(load, NULL)

TEST(the_time_of_a_share_counts_those_that_took_longer)
{
    static const double ended[] = {60, 420, 500}, cancelled[] = {30, 450};
    struct vq_durations d = {.ended = ended, .count = 3};
    assert_true(vq_durations_within(&d, 0.5) == 420 && vq_durations_within(&d, 0.3) == 60);
    d.expired = 2;
    assert_true(vq_durations_within(&d, 0.5) == 500 && isinf(vq_durations_within(&d, 0.7)));
    d = (struct vq_durations){
        .ended = ended, .count = 2, .cancelled = cancelled, .cancelled_count = 2};
    assert_true(vq_durations_within(&d, 0.5) == 420); /* one of them took longer, too */
    d.count = 0;
    assert_true(isinf(vq_durations_within(&d, 0.5)));
}

TEST(one_stage_is_within_5_percent_of_the_least_price)
{
    nights(1, 0.05, 0.5);
}

TEST(three_stages_are_within_5_percent_of_the_least_price)
{
    nights(3, 0.05, 0.5);
}

/* The lead of a cancel is longer than all calls take, so all batches are cancelled at once. */
TEST(also_if_the_interactive_pools_are_fast)
{
    nights(1, 0.001, 0.05);
}

/* The interactive pools need most of the time. */
TEST(also_if_there_is_little_time)
{
    nights(1, 0.5, 0.85);
    nights(3, 0.5, 0.85);
}

/* As a run decides, with much time and with little. */
static void nights_in_rounds(void)
{
    in_rounds = true;
    nights(1, 0.05, 0.5);
    nights(3, 0.05, 0.5);
    nights(1, 0.5, 0.85);
    nights(3, 0.5, 0.85);
    in_rounds = false;
}

TEST(the_rounds_of_a_run_are_within_5_percent_too)
{
    nights_in_rounds();
}

TEST(also_before_any_batch_is_recorded)
{
    struct vq_durations was = durations;
    durations = (struct vq_durations){.count = 0};
    nights(1, 0.05, 0.85);
    durations = was;
}

TEST(recorded_durations_are_within_5_percent_too)
{
    load_recorded();
    nights_in_rounds();
    assert_int_equal(load(NULL), 0);
}

/* ---- single decisions ---- */

static struct vq_deadline_state hour(uint64_t open)
{
    return (struct vq_deadline_state){.now_s = 1000,
                                      .deadline_s = 1000 + 3600,
                                      .rate = 1,
                                      .interactive_usd = INTERACTIVE,
                                      .batch_usd = BATCH,
                                      .open = open,
                                      .durations = durations};
}

static struct vq_deadline_action decided(const struct vq_deadline_state *s)
{
    struct vq_deadline_action action;
    vq_deadline_decide(s, &action);
    return action;
}

TEST(batches_come_first_and_are_many)
{
    struct vq_deadline_state s = hour(1600);
    struct vq_deadline_action a = decided(&s);
    assert_true(a.what == VQ_DEADLINE_SUBMIT && a.calls == 1600 && a.each == 100);
    s = hour(120);
    a = decided(&s);
    assert_true(a.what == VQ_DEADLINE_SUBMIT && a.each == VQ_DEADLINE_CALLS_MIN);
    s.batch_usd = INTERACTIVE; /* nothing is saved */
    a = decided(&s);
    assert_true(a.what == VQ_DEADLINE_BUY && a.calls == 120);
}

TEST(slack_is_awaited_and_then_the_batch_with_the_least_chance_is_cancelled)
{
    struct vq_deadline_batch batches[] = {{.submitted_s = 990, .calls = 500},
                                          {.submitted_s = -80000, .calls = 500},
                                          {.submitted_s = 900, .calls = 500}};
    struct vq_deadline_state s = hour(0);
    s.batches = batches;
    s.batches_count = 3;
    double slack = 3600 - VQ_DEADLINE_MARGIN_S - 1500 / VQ_DEADLINE_RATE_SHARE;
    assert_true(fabs(vq_deadline_slack(&s) - slack) < 1e-6);
    struct vq_deadline_action a = decided(&s);
    assert_true(a.what == VQ_DEADLINE_WAIT && a.at_s == 1000 + (int64_t)slack);
    s.now_s = a.at_s + 1;
    a = decided(&s);
    assert_true(a.what == VQ_DEADLINE_CANCEL && a.batch == 1);
    batches[1].cancelling = true; /* its calls are enough for now */
    a = decided(&s);
    assert_true(a.what == VQ_DEADLINE_WAIT && a.at_s == s.now_s + 500 - VQ_DEADLINE_LEAD_S);
    batches[1].calls = 100; /* that gave slack back; later: */
    s.now_s += 500;
    a = decided(&s);
    assert_true(a.what == VQ_DEADLINE_CANCEL && a.batch != 1);
}

TEST(what_a_batch_gives_back_is_bought)
{
    struct vq_deadline_state s = hour(0);
    s.returned = 30;
    struct vq_deadline_action a = decided(&s);
    assert_true(a.what == VQ_DEADLINE_BUY && a.calls == 30);
    s.rate = 0; /* there is only the batch pool */
    a = decided(&s);
    assert_true(a.what == VQ_DEADLINE_SUBMIT && a.calls == 30);
}

TEST(without_slack_calls_that_would_wait_are_in_a_batch)
{
    struct vq_deadline_state s = hour(10000);
    struct vq_deadline_action a = decided(&s);
    assert_true(a.what == VQ_DEADLINE_BUY && a.calls == 2 * VQ_DEADLINE_LEAD_S);
    s.open -= a.calls;
    s.buying += a.calls;
    a = decided(&s);
    assert_true(a.what == VQ_DEADLINE_SUBMIT && a.calls == s.open);
    s.now_s = s.deadline_s + 60; /* it is over: nothing is left to wait for */
    a = decided(&s);
    assert_true(a.what == VQ_DEADLINE_BUY && a.calls == s.open);
}

TEST(batches_alone_are_never_cancelled)
{
    struct vq_deadline_batch batch = {.submitted_s = 0, .calls = 9};
    struct vq_deadline_state s = hour(0);
    s.rate = 0;
    s.batches = &batch;
    s.batches_count = 1;
    s.now_s = s.deadline_s + 7200;
    struct vq_deadline_action a = decided(&s);
    assert_true(a.what == VQ_DEADLINE_WAIT && a.at_s > s.now_s);
}

/* Whatever the state is: an action names calls and batches that there are, or a later time. */
TEST(every_action_can_be_carried_out)
{
    struct vq_rng rng;
    vq_rng_seed(&rng, 1);
    for (int i = 0; i < 20000; i++) {
        struct vq_deadline_batch batches[4];
        uint64_t later[2] = {vq_rng_below(&rng, 3000), vq_rng_below(&rng, 3)};
        struct vq_deadline_state s = {.now_s = (int64_t)vq_rng_below(&rng, 100000),
                                      .deadline_s = (int64_t)vq_rng_below(&rng, 100000),
                                      .rate = vq_rng_below(&rng, 4) == 0 ? 0 : between(&rng, 0, 9),
                                      .interactive_usd = between(&rng, 0, 2),
                                      .batch_usd = between(&rng, 0, 1),
                                      .open = vq_rng_below(&rng, 3) * vq_rng_below(&rng, 5000),
                                      .returned = vq_rng_below(&rng, 2) * vq_rng_below(&rng, 99),
                                      .buying = vq_rng_below(&rng, 1000),
                                      .later = later,
                                      .later_count = (uint32_t)vq_rng_below(&rng, 3),
                                      .batches = batches,
                                      .batches_count = (uint32_t)vq_rng_below(&rng, 5),
                                      .durations = durations};
        for (uint32_t k = 0; k < 4; k++) {
            batches[k] = (struct vq_deadline_batch){
                .submitted_s = s.now_s - (int64_t)vq_rng_below(&rng, 90000),
                .calls = vq_rng_below(&rng, 1000),
                .cancelling = vq_rng_below(&rng, 2) == 0};
        }
        struct vq_deadline_action a = decided(&s);
        switch (a.what) {
        case VQ_DEADLINE_WAIT:
            assert_true(a.at_s > s.now_s && s.returned == 0 && s.open == 0);
            break;
        case VQ_DEADLINE_SUBMIT:
            assert_true(a.calls > 0 && a.each > 0);
            assert_true(a.calls <= s.open + (s.rate > 0 ? 0 : s.returned));
            break;
        case VQ_DEADLINE_BUY:
            assert_true(s.rate > 0 && a.calls > 0 && a.calls <= s.open + s.returned);
            break;
        case VQ_DEADLINE_CANCEL:
            assert_true(a.batch < s.batches_count && !batches[a.batch].cancelling && s.rate > 0);
            break;
        }
    }
}

TEST(chances_come_from_the_records)
{
    static const double ended[] = {60, 120, 180, 240};
    struct vq_durations d = {ended, 4, 4};
    assert_true(vq_durations_chance(&d, 0, 0) == 0);
    double half = vq_durations_chance(&d, 0, 300), third = vq_durations_chance(&d, 130, 200);
    assert_true(half > 0.35 && half < 0.5);   /* 4 of 8, and the prior */
    assert_true(third > 0.2 && third < 0.33); /* 2 of the 6 that took longer */
    assert_true(vq_durations_chance(&d, 1000, 100) < 0.1);
    static const double cancelled[] = {100, 700};
    struct vq_durations more = {ended, 4, 4, cancelled, 2};
    assert_true(vq_durations_chance(&more, 0, 300) < half); /* 4 of 9 */
    assert_true(vq_durations_chance(&more, 0, 50) < vq_durations_chance(&d, 0, 50));
    more.cancelled_count = 1; /* what would have come after 100 seconds is not known */
    assert_true(vq_durations_chance(&more, 0, 300) >= half);
    struct vq_durations none = {.count = 0};
    assert_true(fabs(vq_durations_chance(&none, 9, 3600) - (1 - exp(-1))) < 1e-9);
}
