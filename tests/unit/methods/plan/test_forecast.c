/* A forecast's arithmetic: the call-count model against worked numbers, prices, which limit binds,
 * how far money and time go. */
#include "tests/unit/test.h"

#include "methods/vibecheck/forecast.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct vq_forecast_stage stages[VQ_FORECAST_STAGES_MAX];

static void near(double is, double should)
{
    if (fabs(is - should) > 1e-9 * (1 + fabs(should))) {
        fail_msg("%.12g is not %.12g", is, should);
    }
}

static struct vq_config *config_of(const char *rest)
{
    char yaml[2048];
    (void)snprintf(yaml, sizeof(yaml),
                   "data: {path: d.csv}\nmodels: [a, b]\njudges: [offline-a]\n%s", rest);
    struct vq_config *config = NULL;
    struct vq_error err = {0};
    if (vq_config_parse(yaml, strlen(yaml), "t.yaml", ".", NULL, 0, &config, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    return config;
}

static const struct vq_forecast_stage *named(uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(stages[i].name, name) == 0) {
            return &stages[i];
        }
    }
    return NULL;
}

static uint32_t list(const struct vq_config *config, uint32_t train, uint32_t test,
                     uint32_t iteration)
{
    struct vq_vibecheck_facts facts = {.config = config,
                                       .train = train,
                                       .test = test,
                                       .axes = 10,
                                       .embedder = true,
                                       .seen.iteration = iteration};
    return vq_vibecheck_forecast(&facts, stages);
}

static double most_of(uint32_t count, enum vq_role role)
{
    double most = 0;
    for (uint32_t i = 0; i < count; i++) {
        most += stages[i].role == role ? stages[i].cells.most + stages[i].swaps.most : 0;
    }
    return most;
}

/* The paper's HC3: 250 train and 250 test rows, three iterations of ten vibes, ten final ones:
 * 20,000 calls of one judge at the most. */
TEST(the_most_is_the_formula)
{
    struct vq_config *c =
        config_of("method: discover\nvibecheck: {d: 40, batch: 5, iterations: 3}\n");
    uint32_t n = list(c, 250, 250, 1);
    near(most_of(n, VQ_ROLE_JUDGE), 20000);
    near(most_of(n, VQ_ROLE_PROPOSER), 8 + 8 + 8);
    near(named(n, "discover 1")->cells.expected, 8);
    near(named(n, "discover 2")->cells.least, 0);
    near(named(n, "discover 2")->cells.expected, 8 * VQ_ASSUMED_FURTHER_SHARE);
    near(named(n, "dedup 3")->cells.most, 1);
    assert_null(named(n, "dedup 1"));
    n = list(c, 250, 250, 3); /* all three are known to happen */
    near(named(n, "discover 3")->cells.least, 1);
    near(named(n, "discover 3")->cells.expected, 8);
    vq_config_destroy(&c);
}

TEST(what_was_ranked_is_no_guess)
{
    struct vq_config *c = config_of("method: discover\n");
    const uint32_t evaluated[] = {3};
    struct vq_vibecheck_facts facts = {.config = c,
                                       .train = 100,
                                       .test = 50,
                                       .axes = 10,
                                       .seen.iteration = 1,
                                       .seen.evaluated = evaluated,
                                       .seen.evaluated_count = 1};
    uint32_t n = vq_vibecheck_forecast(&facts, stages);
    assert_true(vq_range_is_exact(named(n, "rank 1")->cells));
    near(named(n, "rank 1")->cells.most, 300);
    near(named(n, "test")->cells.least, 0);
    assert_null(named(n, "embed 1")); /* nobody embeds */
    vq_config_destroy(&c);
}

TEST(given_vibes_are_exact)
{
    struct vq_config *c = config_of("judging: {retest: 0.1}\n");
    uint32_t n = list(c, 30, 20, 1);
    assert_int_equal(n, 2);
    near(stages[0].cells.least, 500);
    near(stages[0].cells.most, 500);
    near(stages[0].swaps.most, 500);
    near(stages[1].cells.expected, 50);
    assert_true(stages[1].cells.most > 50 && stages[1].cells.most < 100);
    vq_config_destroy(&c);
    c = config_of("judging: {pair_rule: forward}\n");
    n = list(c, 30, 20, 1);
    near(most_of(n, VQ_ROLE_JUDGE), 500);
    vq_config_destroy(&c);
    c = config_of("judging: {vibes_per_call: 4}\n");
    n = list(c, 30, 20, 1);
    near(named(n, "rank")->cells.most, 50 * 2 * 3);
    near(named(n, "rank, one by one")->cells.most, 0);
    assert_true(named(n, "rank, one by one")->unread.most > 0);
    vq_config_destroy(&c);
    c = config_of("judging: {early_stop: {alpha: 0.01}, early_stop_rows: 10}\n");
    n = list(c, 30, 20, 1);
    near(named(n, "rank, look 1")->cells.least, 100);
    near(named(n, "rank, look 2")->cells.least, 0);
    near(named(n, "rank, look 2")->cells.most, 50);
    assert_true(named(n, "rank, look 2")->cells.expected < 50);
    near(named(n, "rank")->cells.most, 200); /* kept vibes on the test rows */
    vq_config_destroy(&c);
}

/* ---- figures ---- */

static const uint32_t numbers[] = {0, 1, 2, 3};

static struct vq_forecast_line line_of(const char *stage, uint32_t no, uint32_t limits,
                                       double calls)
{
    struct vq_forecast_line l = {.stage_no = no,
                                 .pools = &numbers[limits],
                                 .pools_count = 1,
                                 .planned = vq_range_of(calls),
                                 .calls = vq_range_of(calls),
                                 .in_each = {900, 1000, 1100},
                                 .out_each = {50, 100, 600},
                                 .latency_s = vq_range_of(2)};
    (void)snprintf(l.stage, sizeof(l.stage), "%s", stage);
    return l;
}

TEST(dollars_are_tokens_times_prices)
{
    struct vq_forecast_line lines[] = {line_of("rank", 0, 0, 1000)};
    struct vq_forecast_limits limits[] = {{.name = "j",
                                           .concurrency = 4,
                                           .price_input_usd = 2,
                                           .price_cached_usd = -1,
                                           .price_output_usd = 10}};
    struct vq_forecast_pool pools[1];
    struct vq_forecast f = {
        .lines = lines, .lines_count = 1, .limits = limits, .pools = pools, .limits_count = 1};
    vq_forecast_figure(&f);
    near(f.all.usd.least, 0.9 * 2 + 0.05 * 10);
    near(f.all.usd.expected, 1.0 * 2 + 0.1 * 10);
    near(f.all.usd.most, 1.1 * 2 + 0.6 * 10);
    assert_true(f.all.priced);
    lines[0].cached_share = 0.5;
    limits[0].price_cached_usd = 0.5;
    vq_forecast_figure(&f);
    near(f.all.usd.expected, 0.5 * 2 + 0.5 * 0.5 + 0.1 * 10);
    limits[0].price_output_usd = -1;
    vq_forecast_figure(&f);
    assert_false(f.all.priced);
    near(f.all.usd.expected, 0);
    assert_int_equal(vq_forecast_budget(&f, 1).verdict, VQ_HOLDS_UNKNOWN);
}

TEST(the_slowest_limit_binds)
{
    struct vq_forecast_line lines[] = {line_of("rank", 0, 0, 1200)};
    struct vq_forecast_limits limits[] = {{.name = "j", .concurrency = 100}};
    struct vq_forecast_pool pools[1];
    struct vq_forecast f = {
        .lines = lines, .lines_count = 1, .limits = limits, .pools = pools, .limits_count = 1};
    vq_forecast_figure(&f);
    near(f.seconds.expected, 1200 * 2 / 100.0);
    assert_int_equal(pools[0].bound, VQ_BOUND_CONCURRENCY);
    limits[0].rates.requests = 600;
    vq_forecast_figure(&f);
    near(f.seconds.expected, 120);
    assert_int_equal(pools[0].bound, VQ_BOUND_REQUESTS);
    limits[0].rates.tokens = 220000; /* 1,200 x 1,100 tokens: six minutes */
    vq_forecast_figure(&f);
    near(f.seconds.expected, 360);
    assert_int_equal(pools[0].bound, VQ_BOUND_TOKENS);
    near(f.seconds.least, 1200 * 950 / 220000.0 * 60);
}

/* Six dialogues of 102 turns: no number of connections makes a dialogue's turns go side by side. */
TEST(a_dialogue_is_one_call_after_the_other)
{
    struct vq_forecast_line lines[] = {line_of("dialogues", 0, 0, 612), line_of("rank", 1, 0, 100)};
    struct vq_forecast_limits limits[] = {{.name = "j", .concurrency = 100}};
    struct vq_forecast_pool pools[1];
    struct vq_forecast f = {
        .lines = lines, .lines_count = 2, .limits = limits, .pools = pools, .limits_count = 1};
    lines[0].turns = 102;
    lines[0].latency_s = (struct vq_range){1, 2, 4};
    vq_forecast_figure(&f);
    near(f.seconds.least, 102 + 2);
    near(f.seconds.expected, 204 + 2);
    near(f.seconds.most, 408 + 2);
    near(lines[0].seconds.expected, 204);
    limits[0].concurrency = 2; /* then the connections bind */
    vq_forecast_figure(&f);
    near(lines[0].seconds.expected, 612);
}

/* A concurrency that is not set is raised until a named rate is reached; without one it is assumed,
 * and that is said. */
TEST(a_concurrency_that_is_not_set)
{
    struct vq_forecast_line lines[] = {line_of("rank", 0, 0, 600)};
    lines[0].latency_s = vq_range_of(16);
    struct vq_forecast_limits limits[] = {{.name = "j"}};
    struct vq_forecast_pool pools[1];
    struct vq_forecast f = {
        .lines = lines, .lines_count = 1, .limits = limits, .pools = pools, .limits_count = 1};
    vq_forecast_figure(&f);
    near(f.seconds.expected, 600); /* 16 at a time */
    assert_int_equal(pools[0].bound, VQ_BOUND_CONCURRENCY);
    assert_true(vq_forecast_bound_assumed(&limits[0], pools[0].bound));
    assert_int_equal(f.assumed, VQ_ASSUMED_FLIGHT);
    assert_non_null(strstr(vq_forecast_assumed_text(8), "16 calls"));
    f.assumed = 0;
    limits[0].rates.requests = 3600;
    vq_forecast_figure(&f);
    near(f.seconds.expected, 10);
    assert_int_equal(pools[0].bound, VQ_BOUND_REQUESTS);
    assert_int_equal(f.assumed, 0);
    limits[0].concurrency = 8;
    vq_forecast_figure(&f);
    near(f.seconds.expected, 1200);
    assert_false(vq_forecast_bound_assumed(&limits[0], pools[0].bound));
}

/* Judges of a stage work side by side, stages one after the other; what shares a limit adds up. */
TEST(stages_follow_and_judges_do_not)
{
    struct vq_forecast_line lines[] = {line_of("rank", 0, 0, 600), line_of("rank", 0, 1, 300),
                                       line_of("test", 1, 1, 600)};
    struct vq_forecast_limits limits[] = {{.name = "j", .rates.requests = 60, .concurrency = 1000},
                                          {.name = "k", .rates.requests = 60, .concurrency = 1000}};
    struct vq_forecast_pool pools[2];
    struct vq_forecast f = {
        .lines = lines, .lines_count = 3, .limits = limits, .pools = pools, .limits_count = 2};
    vq_forecast_figure(&f);
    near(f.seconds.expected, 600 + 600);
    near(pools[1].seconds.expected, 900);
    near(pools[1].calls.expected, 900);
    lines[1].pools = &numbers[0];
    vq_forecast_figure(&f);
    near(f.seconds.expected, 900 + 600);
}

/* Two pools of one model work side by side: 3 calls a second of one, 1 of the other; the price is
 * by who answers. */
TEST(pools_share_a_line)
{
    struct vq_forecast_line lines[] = {line_of("rank", 0, 0, 1200), line_of("rank", 0, 2, 60)};
    lines[0].pools_count = 2;
    struct vq_forecast_limits limits[] = {
        {.name = "fast",
         .rates.requests = 180,
         .concurrency = 1000,
         .price_input_usd = 1,
         .price_cached_usd = -1,
         .price_output_usd = 0},
        {.name = "slow",
         .rates.input_tokens = 60000,
         .concurrency = 1000,
         .price_input_usd = 3,
         .price_cached_usd = -1,
         .price_output_usd = 0},
        {.name = "own", .rates.requests = 60, .concurrency = 1000, .price_input_usd = -1}};
    struct vq_forecast_pool pools[3];
    struct vq_forecast f = {
        .lines = lines, .lines_count = 2, .limits = limits, .pools = pools, .limits_count = 3};
    vq_forecast_figure(&f);
    assert_true(fabs(f.seconds.expected - 300) < 0.01);
    assert_true(fabs(pools[0].calls.expected - 900) < 0.01);
    assert_true(fabs(pools[1].calls.expected - 300) < 0.01);
    near(pools[2].seconds.expected, 60);
    assert_int_equal(pools[0].bound, VQ_BOUND_REQUESTS);
    assert_int_equal(pools[1].bound, VQ_BOUND_INPUT);
    assert_true(fabs(lines[0].usd.expected - (0.9 * 1 + 0.3 * 3)) < 1e-4);
    near(lines[0].usd.least, 1.2 * 0.9);
    near(lines[0].usd.most, 1.2 * 1.1 * 3);
    assert_true(lines[0].priced);
    assert_false(f.all.priced);
    /* a second model that only the fast one serves pushes the first to the slow one */
    lines[1].calls = vq_range_of(600);
    lines[1].pools = &numbers[0];
    vq_forecast_figure(&f);
    assert_true(fabs(f.seconds.expected - 450) < 0.05);
    assert_true(fabs(pools[1].calls.expected - 450) < 0.05);
}

TEST(a_quota_of_a_day_takes_days)
{
    struct vq_forecast_line lines[] = {line_of("rank", 0, 0, 2500)};
    struct vq_forecast_limits limits[] = {
        {.name = "j", .rates.requests = 6000, .requests_per_day = 1000, .concurrency = 1000}};
    struct vq_forecast_pool pools[1];
    struct vq_forecast f = {
        .lines = lines, .lines_count = 1, .limits = limits, .pools = pools, .limits_count = 1};
    vq_forecast_figure(&f);
    near(f.seconds.expected, 2 * 86400.0);
    assert_int_equal(pools[0].bound, VQ_BOUND_DAY);
    limits[0].requests_per_day = 2500;
    vq_forecast_figure(&f);
    near(f.seconds.expected, 25);
}

TEST(half_of_it_goes_half_the_way)
{
    struct vq_forecast_line lines[] = {line_of("rank", 0, 0, 600), line_of("test", 1, 0, 400)};
    struct vq_forecast_limits limits[] = {{.name = "j",
                                           .rates.requests = 60,
                                           .concurrency = 1000,
                                           .price_input_usd = 1,
                                           .price_output_usd = 0}};
    struct vq_forecast_pool pools[1];
    struct vq_forecast f = {
        .lines = lines, .lines_count = 2, .limits = limits, .pools = pools, .limits_count = 1};
    vq_forecast_figure(&f);
    struct vq_forecast_bounded b = vq_forecast_deadline(&f, 500);
    assert_int_equal(b.verdict, VQ_HOLDS_NOT);
    near(b.reached, 0.5);
    near(b.factor, 2);
    assert_string_equal(b.stage, "rank");
    b = vq_forecast_deadline(&f, 800);
    near(b.reached, 0.8);
    assert_string_equal(b.stage, "test");
    assert_int_equal(vq_forecast_deadline(&f, 1000).verdict, VQ_HOLDS_SURELY);
    near(f.all.usd.expected, 1);
    near(vq_forecast_budget(&f, 0.25).reached, 0.25);
    assert_int_equal(vq_forecast_budget(&f, 1.05).verdict, VQ_HOLDS_LIKELY);
    assert_int_equal(vq_forecast_budget(&f, 1.11).verdict, VQ_HOLDS_SURELY);
    b = vq_forecast_budget(&f, 0);
    assert_int_equal(b.verdict, VQ_HOLDS_NOT);
    near(b.reached, 0);
    assert_true(isinf(b.factor));
}
