/* The authority's events one by one: who holds what, what people say, pauses, parks, days, money,
 * keys, and thousands of workers. */
#include "tests/unit/coordinator/pools/authority_desk.h"

#include <stdlib.h>

static void a_concurrency_is_split_in_whole_numbers(void **state)
{
    (void)state;
    static struct desk d;
    open_desk(&d, &(struct vq_authority_pool){.name = "p", .limit.concurrency = 3}, 1,
              VQ_AMOUNT_ANY, 16);
    pass(&d, 2 * S);
    uint32_t holders;
    assert_int_equal(calls_of(&d, 0, &holders), 3);
    assert_int_equal(holders, 3);
    vq_authority_set_concurrency(d.a, 0, 50, d.now_ns);
    pass(&d, S);
    assert_int_equal(calls_of(&d, 0, &holders), 50);
    assert_int_equal(holders, 16);
    assert_int_equal(status_of(&d, 0).concurrency_by, VQ_LIMIT_BY_HAND);
    vq_authority_destroy(&d.a);
}

static void each_worker_gets_few_pools_and_keeps_them(void **state)
{
    (void)state;
    static struct desk d;
    const struct vq_authority_pool pools[] = {{.name = "a", .limit.rates.requests = 60000},
                                              {.name = "b", .limit.rates.requests = 60000},
                                              {.name = "c", .limit.rates.requests = 60000},
                                              {.name = "d", .limit.rates.requests = 60000}};
    open_desk(&d, pools, 4, VQ_AMOUNT_ANY, 8);
    work(&d, 20 * S);
    for (uint32_t w = 0; w < 8; w++) {
        uint32_t has = 0;
        for (uint32_t p = 0; p < 4; p++) {
            has += d.has[w][p].concurrency != 0;
        }
        assert_int_equal(has, 1);
    }
    work(&d, 200 * S); /* what was in force together in the last windows counts yet */
    uint32_t before = d.grants;
    work(&d, 20 * S);
    assert_int_equal(d.grants, before);
    for (uint32_t p = 0; p < 4; p++) {
        double sum = 0;
        for (uint32_t w = 0; w < 8; w++) {
            sum += d.has[w][p].concurrency != 0 ? d.has[w][p].rates.requests : 0;
        }
        assert_true(sum > 59300 && sum <= 60000 - 3 - 600 + 1e-6);
    }
    vq_authority_destroy(&d.a);
}

static void slices_follow_demand_within_a_second(void **state)
{
    (void)state;
    static struct desk d;
    open_desk(&d,
              &(struct vq_authority_pool){
                  .name = "p", .limit.rates.requests = 60, .limit.concurrency = 8},
              1, VQ_AMOUNT_ANY, 2);
    d.said[1][0].waiting = 0;
    pass(&d, 2 * S);
    assert_true(d.has[0][0].concurrency == 8 && d.has[1][0].concurrency == 0);
    d.said[0][0].waiting = 0;
    d.said[1][0].waiting = 9;
    pass(&d, 1300 * MS);
    assert_true(d.has[0][0].concurrency == 0 && d.has[1][0].concurrency == 8);
    vq_authority_destroy(&d.a);
}

static void who_ends_gives_rates_at_once_and_calls_after_a_term(void **state)
{
    (void)state;
    static struct desk d;
    open_desk(&d,
              &(struct vq_authority_pool){
                  .name = "p", .limit.rates.requests = 60, .limit.concurrency = 1},
              1, VQ_AMOUNT_ANY, 2);
    pass(&d, 2 * S);
    uint32_t one = d.has[0][0].concurrency != 0 ? 0 : 1, other = 1 - one;
    struct vq_id id = id_of(one);
    vq_authority_leave(d.a, &id, VQ_AUTHORITY_ENDED, d.now_ns);
    pass(&d, 9 * S);
    assert_int_equal(d.has[other][0].concurrency, 0);
    pass(&d, 2 * S);
    assert_int_equal(d.has[other][0].concurrency, 1);
    vq_authority_destroy(&d.a);
}

static void people_hold_park_and_lock(void **state)
{
    (void)state;
    static struct desk d;
    uint32_t holders, pool = 0;
    int64_t when_ns;
    open_desk(&d, &(struct vq_authority_pool){.name = "p", .limit.concurrency = 4, .locked = true},
              1, VQ_AMOUNT_ANY, 1);
    vq_authority_lock(d.a, 0, false, "run other has it", d.now_ns);
    pass(&d, S);
    assert_int_equal(calls_of(&d, 0, &holders), 0);
    assert_int_equal(status_of(&d, 0).state, VQ_AUTHORITY_LOCKED);
    assert_string_equal(status_of(&d, 0).text, "run other has it");
    assert_true(vq_authority_when(d.a, &pool, 1, d.now_ns, &when_ns) && when_ns == INT64_MAX);
    vq_authority_lock(d.a, 0, true, NULL, d.now_ns);
    pass(&d, S);
    assert_int_equal(calls_of(&d, 0, &holders), 4);
    vq_authority_hold(d.a, true, d.now_ns);
    pass(&d, 200 * MS);
    assert_int_equal(calls_of(&d, 0, &holders), 0);
    assert_int_equal(status_of(&d, 0).state, VQ_AUTHORITY_HELD);
    vq_authority_hold(d.a, false, d.now_ns);
    vq_authority_unread(d.a, true, d.now_ns);
    pass(&d, S);
    assert_int_equal(calls_of(&d, 0, &holders), 0);
    assert_int_equal(status_of(&d, 0).state, VQ_AUTHORITY_PAUSED); /* nobody paused it by hand */
    vq_authority_unread(d.a, false, d.now_ns);
    vq_authority_park(d.a, 0, true, d.now_ns);
    pass(&d, S);
    assert_int_equal(calls_of(&d, 0, &holders), 0);
    vq_authority_park(d.a, 0, false, d.now_ns);
    pass(&d, S);
    assert_int_equal(calls_of(&d, 0, &holders), 4);
    d.said[0][0].park_unix_s = 1000000 + 60; /* a quota: for a minute from the start */
    pass(&d, S);
    assert_int_equal(calls_of(&d, 0, &holders), 0);
    assert_int_equal(status_of(&d, 0).until_ns, 61 * S);
    assert_true(vq_authority_when(d.a, &pool, 1, d.now_ns, &when_ns) && when_ns == 61 * S);
    pass(&d, 60 * S);
    assert_int_equal(calls_of(&d, 0, &holders), 4);
    d.said[0][0].state = VQ_POOL_BAD_KEY;
    pass(&d, S);
    assert_int_equal(status_of(&d, 0).state, VQ_AUTHORITY_CLOSED);
    assert_false(vq_authority_when(d.a, &pool, 1, d.now_ns, &when_ns));
    vq_authority_destroy(&d.a);
}

static void a_park_goes_by_the_wall_clock(void **state)
{
    (void)state;
    static struct desk d;
    open_desk(&d, &(struct vq_authority_pool){.name = "p", .limit.concurrency = 4}, 1,
              VQ_AMOUNT_ANY, 1);
    vq_authority_clock(d.a, 1000000 - 86400, d.now_ns); /* a day behind */
    pass(&d, S);
    d.said[0][0].park_unix_s = 1000000 + 60;
    pass(&d, S);
    assert_int_equal(status_of(&d, 0).until_ns, (86400 + 61) * S);
    vq_authority_clock(d.a, 1000000 + 2, d.now_ns); /* and set right */
    pass(&d, S);
    assert_int_equal(status_of(&d, 0).until_ns, 61 * S);
    vq_authority_clock(d.a, 1000000 + 2, d.now_ns); /* read late, not set */
    pass(&d, S);
    assert_int_equal(status_of(&d, 0).until_ns, 61 * S);
    pass(&d, 60 * S);
    uint32_t holders;
    assert_int_equal(calls_of(&d, 0, &holders), 4);
    vq_authority_destroy(&d.a);
}

static void a_pause_is_for_all_and_no_longer_than_asked(void **state)
{
    (void)state;
    static struct desk d;
    open_desk(&d, &(struct vq_authority_pool){.name = "p", .limit.concurrency = 4}, 1,
              VQ_AMOUNT_ANY, 2);
    pass(&d, S);
    d.said[0][0].refused = 1;
    d.said[0][0].pause_ms = 2000;
    pass(&d, 100 * MS);
    assert_int_equal(status_of(&d, 0).state, VQ_AUTHORITY_PAUSED);
    assert_true(d.has[1][0].pause_ms > 1800 && d.has[1][0].pause_ms <= 2000);
    int64_t until_ns = status_of(&d, 0).until_ns;
    for (int i = 0; i < 18; i++) { /* said again and again it does not grow */
        d.said[0][0].pause_ms = 2000 - 100 * (uint32_t)i;
        pass(&d, 100 * MS);
        assert_int_equal(status_of(&d, 0).until_ns, until_ns);
    }
    d.said[0][0].pause_ms = 0;
    pass(&d, 500 * MS);
    assert_int_equal(status_of(&d, 0).state, VQ_AUTHORITY_OPEN);
    vq_authority_destroy(&d.a);
}

static void slow_down_halves_and_grows_by_half_a_quarter_hour(void **state)
{
    (void)state;
    static struct desk d;
    open_desk(&d, &(struct vq_authority_pool){.name = "p", .limit.rates.requests = 6000}, 1,
              VQ_AMOUNT_ANY, 1);
    for (int i = 0; i < 600; i++) {
        pass(&d, 100 * MS);
        d.said[0][0].requests += 10;
        d.said[0][0].answered += 10;
    }
    d.said[0][0].refused += 3;
    d.said[0][0].slowed += 3;
    pass(&d, 200 * MS);
    double rate = status_of(&d, 0).limit.rates.requests;
    assert_true(rate > 2900 && rate < 3100);
    assert_int_equal(status_of(&d, 0).rates_by[VQ_RATE_REQUESTS], VQ_LIMIT_BY_LEARNING);
    pass(&d, 900 * S);
    double later = status_of(&d, 0).limit.rates.requests;
    assert_true(later > 1.45 * rate && later < 1.501 * rate);
    vq_authority_destroy(&d.a);
}

static void headers_lower_and_never_raise(void **state)
{
    (void)state;
    static struct desk d;
    open_desk(&d,
              &(struct vq_authority_pool){.name = "p", .limit.rates.requests = 600, .share = 0.5},
              1, VQ_AMOUNT_ANY, 1);
    d.said[0][0].said = (struct vq_rates){.requests = 3000, .tokens = 80000};
    pass(&d, S);
    assert_true(fabs(status_of(&d, 0).limit.rates.requests - 600) < 1e-9);
    assert_true(fabs(status_of(&d, 0).limit.rates.tokens - 40000) < 1e-9);
    d.said[0][0].said.requests = 1000;
    pass(&d, S);
    assert_true(fabs(status_of(&d, 0).limit.rates.requests - 500) < 1e-9);
    assert_int_equal(status_of(&d, 0).rates_by[VQ_RATE_REQUESTS], VQ_LIMIT_BY_HEADERS);
    d.said[0][0].unit.tokens = 50000;
    pass(&d, S);
    assert_string_equal(status_of(&d, 0).text, "a single request is larger than the limit");
    assert_true(d.has[0][0].rates.requests > 0 && d.has[0][0].rates.requests < 1);
    vq_authority_destroy(&d.a);
}

static void a_day_has_its_quota_and_ends(void **state)
{
    (void)state;
    static struct desk d;
    open_desk(&d,
              &(struct vq_authority_pool){.name = "p",
                                          .limit.concurrency = 4,
                                          .day_requests = 10,
                                          .day_requests_spent = 7,
                                          .day_ends_ns = 60 * S},
              1, VQ_AMOUNT_ANY, 1);
    pass(&d, S);
    assert_int_equal(d.has[0][0].day_requests_most, 3);
    d.said[0][0].day_requests = (struct vq_amount){.used = 3, .open = 0, .most = 3, .unit = 1};
    struct vq_result result = {.pool = {"p", 1}, .tokens_in = 5};
    for (int i = 0; i < 3; i++) {
        vq_authority_committed(d.a, &result, d.now_ns);
    }
    pass(&d, S);
    assert_int_equal(status_of(&d, 0).day_requests_spent, 10);
    assert_int_equal(status_of(&d, 0).state, VQ_AUTHORITY_PARKED);
    assert_int_equal(status_of(&d, 0).until_ns, 60 * S);
    pass(&d, 60 * S);
    assert_int_equal(status_of(&d, 0).state, VQ_AUTHORITY_OPEN);
    assert_true(d.has[0][0].day_requests_most > 3);
    vq_authority_destroy(&d.a);
}

static void money_ends_and_goes_on_with_more(void **state)
{
    (void)state;
    static struct desk d;
    struct vq_authority_money money;
    open_desk(&d, &(struct vq_authority_pool){.name = "p", .limit.concurrency = 4}, 1, 1000, 1);
    d.spend[0].unit = 400;
    pass(&d, 2 * S);
    assert_int_equal(d.grant[0].spend_most, 1000);
    d.spend[0].used = 700;
    struct vq_result result = {.pool = {"p", 1}, .cost_nano = 700};
    vq_authority_committed(d.a, &result, d.now_ns);
    pass(&d, 2 * S);
    vq_authority_money(d.a, &money);
    assert_true(money.empty && money.spent_nano == 700 && money.budget_nano == 1000);
    vq_authority_set_budget(d.a, 2000, d.now_ns);
    pass(&d, 2 * S);
    vq_authority_money(d.a, &money);
    assert_false(money.empty);
    assert_true(d.grant[0].spend_most >= 1100 && d.grant[0].spend_most <= 2000);
    vq_authority_destroy(&d.a);
}

/* Two workers, a pool each, and money for one call. */
static void money_goes_where_work_is(void **state)
{
    (void)state;
    static struct desk d;
    const struct vq_authority_pool pools[] = {{.name = "p", .limit.concurrency = 1},
                                              {.name = "q", .limit.concurrency = 1}};
    open_desk(&d, pools, 2, 500, 2);
    d.spend[0].unit = d.spend[1].unit = 400;
    work(&d, 4 * S);
    uint32_t rich = d.spend[0].most >= 400 ? 0 : 1, poor = 1 - rich;
    assert_true(d.spend[rich].most >= 400 && d.spend[poor].most < 400);
    uint32_t its = d.has[rich][0].concurrency != 0 ? 0 : 1;
    assert_int_equal(d.has[poor][1 - its].concurrency, 1);
    vq_authority_work(d.a, its, false); /* nothing is left to ask there */
    work(&d, 4 * S);
    assert_true(d.spend[poor].most >= 400 && d.spend[rich].most < 400);
    vq_authority_work(d.a, its, true);
    vq_authority_work(d.a, 1 - its, false);
    work(&d, 4 * S);
    assert_true(d.spend[rich].most >= 400 && d.spend[poor].most < 400);
    vq_authority_destroy(&d.a);
}

/* After a crash, who was heard and did not report may have calls at a provider. When another one
 * gets a slice, in milliseconds since the start. */
enum reported {
    NEVER,
    /* and whatever it starts by slices of the earlier process after that, it does not say */
    AT_ONCE,
    WITH_GRANT, /* and again when it goes by a GRANT: it has no such slices any more */
    LATE        /* and again when they have ended */
};

static int64_t slices_come_after(enum vq_authority_end how, bool ends, enum reported reports)
{
    static struct desk d;
    memset(&d, 0, sizeof(d));
    d.now_ns = S;
    d.pools = 1;
    d.workers = 1;
    struct vq_authority_params params = {
        .pools = &(struct vq_authority_pool){.name = "p", .limit.concurrency = 1},
        .pools_count = 1,
        .term_ns = 10 * S,
        .budget_nano = VQ_AMOUNT_ANY,
        .wait_until_ns = 11 * S};
    assert_int_equal(vq_authority_create(&params, d.now_ns, &d.a, NULL), VQ_OK);
    d.said[0][0] = d.said[1][0] = (struct vq_pool_report){.waiting = 5};
    struct vq_id id = id_of(0), gone = id_of(1);
    assert_int_equal(vq_authority_join(d.a, &id, true, false, d.now_ns), VQ_OK);
    pass(&d, 4 * S);
    assert_int_equal(vq_authority_join(d.a, &gone, true, false, d.now_ns), VQ_OK);
    if (reports != NEVER) {
        say(&d, 1);
    }
    if (reports == WITH_GRANT) {
        struct vq_msg_grant grant;
        vq_authority_grant(d.a, &gone, d.now_ns, slices, &grant);
        assert_int_equal(grant.slices_count, 0);
        d.n[1] = grant.n;
        say(&d, 1);
    }
    pass(&d, 2 * S);
    if (ends) {
        vq_authority_leave(d.a, &gone, how, d.now_ns);
    }
    while (d.has[0][0].concurrency == 0 && d.now_ns < 60 * S) {
        pass(&d, 100 * MS);
        if (reports == LATE && d.now_ns >= params.wait_until_ns + 200 * MS) {
            assert_true(vq_authority_due(d.a, &gone)); /* it is asked to */
            say(&d, 1);
            reports = NEVER;
        }
    }
    vq_authority_destroy(&d.a);
    return (d.now_ns - S) / MS;
}

static void after_a_crash_who_was_heard_reports_before_slices_are_dealt(void **state)
{
    (void)state;
    assert_in_range(slices_come_after(VQ_AUTHORITY_LEFT, false, NEVER), 14000, 14500);
    assert_in_range(slices_come_after(VQ_AUTHORITY_ENDED, true, NEVER), 16000, 16500);
    assert_in_range(slices_come_after(VQ_AUTHORITY_LEFT, true, NEVER), 10000, 10500);
}

static void after_a_crash_what_was_said_counts_when_old_slices_have_ended(void **state)
{
    (void)state;
    assert_in_range(slices_come_after(VQ_AUTHORITY_LEFT, false, AT_ONCE), 14000, 14500);
    assert_in_range(slices_come_after(VQ_AUTHORITY_ENDED, true, AT_ONCE), 16000, 16500);
    assert_in_range(slices_come_after(VQ_AUTHORITY_LEFT, true, AT_ONCE), 10000, 10500);
    assert_in_range(slices_come_after(VQ_AUTHORITY_LEFT, false, WITH_GRANT), 10000, 10500);
    assert_in_range(slices_come_after(VQ_AUTHORITY_LEFT, false, LATE), 10000, 10900);
}

/* After a crash 400 of 1000 are in the ledger; another worker used 300 since and may use 200 more.
 * What worker 0 may spend when the wait is over. */
static uint64_t money_after_a_crash(struct desk *d, bool reports)
{
    memset(d, 0, sizeof(*d));
    d->now_ns = S;
    d->pools = 1;
    d->workers = 1;
    struct vq_authority_params params = {
        .pools = &(struct vq_authority_pool){.name = "p", .limit.concurrency = 4},
        .pools_count = 1,
        .term_ns = 10 * S,
        .budget_nano = 1000,
        .spent_nano = 400,
        .wait_until_ns = 11 * S};
    assert_int_equal(vq_authority_create(&params, d->now_ns, &d->a, NULL), VQ_OK);
    d->said[0][0] = d->said[1][0] = (struct vq_pool_report){.waiting = 50};
    d->spend[0].unit = 10;
    d->spend[1] = (struct vq_amount){.used = 300, .open = 300, .most = 500, .unit = 10};
    struct vq_id id = id_of(0), other = id_of(1);
    assert_int_equal(vq_authority_join(d->a, &id, true, false, d->now_ns), VQ_OK);
    assert_int_equal(vq_authority_join(d->a, &other, true, false, d->now_ns), VQ_OK);
    if (reports) {
        say(d, 1);
    }
    pass(d, 9 * S);
    assert_int_equal(d->spend[0].most, 0);
    pass(d, 12 * S);
    return d->spend[0].most;
}

/* What nobody could say does not count; from its first report on it does, and nothing more is given
 * while that is over the budget. */
static void after_a_crash_money_counts_from_the_first_report(void **state)
{
    (void)state;
    static struct desk d;
    assert_int_equal(money_after_a_crash(&d, true), 100);
    vq_authority_destroy(&d.a);
    assert_int_equal(money_after_a_crash(&d, false), 600);
    d.spend[0].used = d.spend[0].open = 250;
    say(&d, 1);
    pass(&d, 2 * S);
    struct vq_authority_money money;
    vq_authority_money(d.a, &money);
    assert_in_range(d.spend[0].most, 250, 300); /* what is idle is called back */
    assert_int_equal(money.spent_nano + money.out_nano, 400 + 500 + d.spend[0].most);
    vq_authority_destroy(&d.a);
}

static void keys_in_common_are_told_once(void **state)
{
    (void)state;
    static struct desk d;
    static const int account = 0;
    const struct vq_authority_pool pools[] = {{.name = "a", .model = "m"},
                                              {.name = "b", .model = "m"},
                                              {.name = "c", .model = "m", .account = &account},
                                              {.name = "d", .model = "x", .account = &account}};
    static const uint64_t keys[] = {11, 12};
    open_desk(&d, pools, 4, VQ_AMOUNT_ANY, 1);
    d.said[0][0].keys = d.said[0][2].keys = d.said[0][3].keys = keys;
    d.said[0][0].keys_count = 2;
    d.said[0][2].keys_count = d.said[0][3].keys_count = 1;
    pass(&d, S);
    uint32_t p, q, count = 0;
    uint64_t key;
    assert_true(vq_authority_same_account(d.a, &p, &q));
    assert_true(p == 0 && q == 2); /* not c and d: one account; not b: no key */
    assert_false(vq_authority_same_account(d.a, &p, &q));
    while (vq_authority_new_key(d.a, &p, &key)) {
        count++;
    }
    assert_int_equal(count, 4);
    d.said[0][0].organisation = d.said[0][1].organisation = 99;
    pass(&d, S);
    assert_true(vq_authority_same_account(d.a, &p, &q) && p == 0 && q == 1);
    assert_false(vq_authority_same_account(d.a, &p, &q));
    assert_false(vq_authority_new_key(d.a, &p, &key));
    vq_authority_destroy(&d.a);
}

static void thousands_of_workers_and_hundreds_of_pools(void **state)
{
    (void)state;
    static struct vq_authority_pool pools[VQ_AUTHORITY_POOLS_MAX];
    static struct vq_pool_report reports[VQ_AUTHORITY_POOLS_MAX];
    const char *text = getenv("VQ_AUTHORITY_WORKERS");
    uint32_t workers = text == NULL ? 256 : (uint32_t)strtoul(text, NULL, 10);
    for (uint32_t p = 0; p < VQ_AUTHORITY_POOLS_MAX; p++) {
        pools[p] = (struct vq_authority_pool){.name = "p", .limit.rates.requests = 600000};
        reports[p] = (struct vq_pool_report){.pool = p, .waiting = 5};
    }
    struct vq_authority_params params = {.pools = pools,
                                         .pools_count = VQ_AUTHORITY_POOLS_MAX,
                                         .term_ns = 10 * S,
                                         .budget_nano = VQ_AMOUNT_ANY};
    struct vq_authority *a = NULL;
    assert_int_equal(vq_authority_create(&params, S, &a, NULL), VQ_OK);
    uint32_t granted = 0;
    for (int round = 0; round < 10; round++) { /* two seconds */
        int64_t now_ns = S + round * 200 * MS;
        for (uint32_t w = 0; w < workers; w++) {
            struct vq_id id = id_of(w);
            struct vq_msg_credit credit = {.reports = reports,
                                           .reports_count = VQ_AUTHORITY_POOLS_MAX};
            assert_int_equal(vq_authority_join(a, &id, true, false, now_ns), VQ_OK);
            assert_int_equal(vq_authority_report(a, &id, &credit, now_ns), VQ_OK);
        }
        vq_authority_tick(a, now_ns);
        for (uint32_t w = 0; w < workers; w++) {
            struct vq_id id = id_of(w);
            struct vq_msg_grant grant;
            if (vq_authority_due(a, &id)) {
                vq_authority_grant(a, &id, now_ns, slices, &grant);
                granted += grant.slices_count != 0;
            }
        }
    }
    assert_true(granted >= 1);
    vq_authority_destroy(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_concurrency_is_split_in_whole_numbers),
        cmocka_unit_test(each_worker_gets_few_pools_and_keeps_them),
        cmocka_unit_test(slices_follow_demand_within_a_second),
        cmocka_unit_test(who_ends_gives_rates_at_once_and_calls_after_a_term),
        cmocka_unit_test(people_hold_park_and_lock),
        cmocka_unit_test(a_park_goes_by_the_wall_clock),
        cmocka_unit_test(a_pause_is_for_all_and_no_longer_than_asked),
        cmocka_unit_test(slow_down_halves_and_grows_by_half_a_quarter_hour),
        cmocka_unit_test(headers_lower_and_never_raise),
        cmocka_unit_test(a_day_has_its_quota_and_ends),
        cmocka_unit_test(money_ends_and_goes_on_with_more),
        cmocka_unit_test(money_goes_where_work_is),
        cmocka_unit_test(after_a_crash_who_was_heard_reports_before_slices_are_dealt),
        cmocka_unit_test(after_a_crash_what_was_said_counts_when_old_slices_have_ended),
        cmocka_unit_test(after_a_crash_money_counts_from_the_first_report),
        cmocka_unit_test(keys_in_common_are_told_once),
        cmocka_unit_test(thousands_of_workers_and_hundreds_of_pools),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
