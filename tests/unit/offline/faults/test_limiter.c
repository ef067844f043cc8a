/* The limiter against plain recounts of everything that came, kept in lists that are looked through
 * whole each time. */

#include "tests/unit/test.h"

#include "common/base/clock.h"
#include "common/base/rng.h"
#include "offline/faults/day.h"
#include "offline/faults/limiter.h"
#include "offline/faults/pools.h"

#include <stdio.h>

static struct vq_limits parse(const char *text)
{
    struct vq_pools pools = {.n = 0};
    struct vq_error err = {0};
    if (vq_pools_add(&pools, text, &err) != VQ_OK) {
        fail_msg("%s: %s", text, err.text);
    }
    struct vq_limits limits = pools.fallback.limits;
    vq_pools_free(&pools);
    return limits;
}

static struct vq_limiter *create(const char *text)
{
    struct vq_limits limits = parse(text);
    struct vq_limiter *limiter = NULL;
    assert_int_equal(vq_limiter_create(&limits, &limiter), VQ_OK);
    return limiter;
}

static struct vq_admission ask_for(struct vq_limiter *limiter, struct vq_limit_call call)
{
    struct vq_admission admission;
    call.account = call.account == 0 ? 1 : call.account;
    assert_int_equal(vq_limiter_ask(limiter, &call, &admission), VQ_OK);
    return admission;
}

static struct vq_admission ask(struct vq_limiter *limiter, uint64_t input, int64_t now_ns)
{
    return ask_for(limiter, (struct vq_limit_call){.now_ns = now_ns, .input = input});
}

/* ---- the recount ---- */

#define ARRIVALS 4000

struct arrival {
    int64_t at_ns;
    int64_t unix_ms;
    int64_t ends_ns;
    uint64_t input;
    uint64_t output; /* as it is charged now */
    uint64_t actual;
    uint64_t nano_usd;
    bool is_refused; /* and counts as a request */
    bool is_over;
    struct vq_limit_hold hold;
};

struct recount {
    const struct vq_limits *limits;
    struct arrival list[ARRIVALS];
    size_t n;
};

struct sums {
    uint64_t requests, input, output;
};

/* What arrived in (from, to]. */
static struct sums sum(const struct recount *r, int64_t from_ns, int64_t to_ns)
{
    struct sums s = {0};
    for (size_t i = 0; i < r->n; i++) {
        if (r->list[i].at_ns > from_ns && r->list[i].at_ns <= to_ns) {
            s.requests++;
            s.input += r->list[i].input;
            s.output += r->list[i].output;
        }
    }
    return s;
}

static bool over(uint64_t limit, uint64_t used, uint64_t asked)
{
    return limit > 0 && used + asked > limit;
}

/* Every kind that would have to refuse, as bits. */
static unsigned who_refuses(const struct recount *r, const struct arrival *a)
{
    const struct vq_limits *l = r->limits;
    struct sums w = sum(r, a->at_ns - l->window_ns, a->at_ns);
    struct sums ramp = sum(r, a->at_ns - l->ramp_ns, a->at_ns);
    struct sums before = sum(r, a->at_ns - 2 * l->ramp_ns, a->at_ns - l->ramp_ns);
    uint64_t day_requests = 0;
    uint64_t day_tokens = 0;
    uint64_t running = 0;
    uint64_t nano_usd = 0;
    for (size_t i = 0; i < r->n; i++) {
        const struct arrival *b = &r->list[i];
        bool same_day = l->day_ms == 0 || b->unix_ms / l->day_ms == a->unix_ms / l->day_ms;
        day_requests += same_day;
        day_tokens += same_day ? b->input + b->output : 0;
        running += !b->is_refused && !b->is_over;
        nano_usd += b->nano_usd;
    }
    uint64_t ramp_most = before.requests * (100 + l->ramp_percent) / 100;
    ramp_most = ramp_most > l->ramp_free ? ramp_most : l->ramp_free;
    unsigned bits = 0;
    bits |= (unsigned)over(l->per_window[VQ_LIMIT_REQUESTS], w.requests, 1) << VQ_LIMIT_REQUESTS;
    bits |= (unsigned)over(l->per_window[VQ_LIMIT_INPUT], w.input, a->input) << VQ_LIMIT_INPUT;
    bits |= (unsigned)over(l->per_window[VQ_LIMIT_OUTPUT], w.output, a->output) << VQ_LIMIT_OUTPUT;
    bits |= (unsigned)over(l->per_window[VQ_LIMIT_TOKENS], w.input + w.output, a->input + a->output)
            << VQ_LIMIT_TOKENS;
    bits |= (unsigned)over(l->concurrency, running, 1) << VQ_LIMIT_CONCURRENCY;
    bits |= (unsigned)(l->ramp_percent > 0 && ramp.requests + 1 > ramp_most) << VQ_LIMIT_RAMP;
    bits |= (unsigned)over(l->day_requests, day_requests, 1) << VQ_LIMIT_DAY_REQUESTS;
    bits |= (unsigned)over(l->day_tokens, day_tokens, a->input + a->output) << VQ_LIMIT_DAY_TOKENS;
    bits |= (unsigned)over(l->nano_usd, nano_usd, a->nano_usd) << VQ_LIMIT_MONEY;
    return bits;
}

/* Ends the calls whose time has come: in the limiter, and in the recount. */
static void end_calls(struct vq_limiter *limiter, struct recount *r, int64_t now_ns)
{
    for (size_t i = 0; i < r->n; i++) {
        struct arrival *a = &r->list[i];
        if (!a->is_refused && !a->is_over && a->ends_ns <= now_ns) {
            a->is_over = true;
            vq_limiter_done(limiter, &a->hold);
            if (r->limits->count == VQ_LIMIT_COUNT_SETTLE && a->actual < a->output) {
                a->output = a->actual;
            }
        }
    }
}

/* One arrival at both; returns who refused it. */
static enum vq_limit_kind arrive(struct vq_limiter *limiter, struct recount *r, struct vq_rng *rng,
                                 int64_t now_ns)
{
    const struct vq_limits *l = r->limits;
    struct arrival a = {.at_ns = now_ns,
                        .unix_ms = 1000000 + now_ns / VQ_NS_PER_MS,
                        .ends_ns = now_ns + (int64_t)vq_rng_below(rng, 400 * VQ_NS_PER_MS),
                        .input = 1 + vq_rng_below(rng, 60),
                        .actual = vq_rng_below(rng, 30)};
    uint64_t most = vq_rng_below(rng, 60);
    uint64_t cached = vq_rng_below(rng, 2);
    a.output = l->count == VQ_LIMIT_COUNT_ACTUAL ? a.actual : most;
    a.nano_usd =
        a.input * l->nano_usd_in + cached * l->nano_usd_cached + a.actual * l->nano_usd_out;
    unsigned wants = who_refuses(r, &a);
    struct vq_admission admission = ask_for(limiter, (struct vq_limit_call){.now_ns = now_ns,
                                                                            .unix_ms = a.unix_ms,
                                                                            .input = a.input,
                                                                            .cached = cached,
                                                                            .output = a.actual,
                                                                            .output_max = most});
    if (wants == 0) {
        assert_int_equal(admission.refused_by, VQ_LIMIT_NONE);
    } else {
        assert_true((wants >> admission.refused_by & 1u) != 0);
        a.input = 0;
        a.output = 0;
        a.nano_usd = 0;
        a.is_refused = true;
    }
    if (wants == 0 || l->count_refused) {
        a.hold = admission.hold;
        r->list[r->n++] = a;
    }
    struct sums w = sum(r, now_ns - l->window_ns, now_ns);
    uint64_t requests = l->per_window[VQ_LIMIT_REQUESTS];
    uint64_t tokens = l->per_window[VQ_LIMIT_TOKENS];
    assert_int_equal(admission.left[VQ_LIMIT_REQUESTS],
                     requests > w.requests ? requests - w.requests : 0);
    assert_int_equal(admission.left[VQ_LIMIT_TOKENS],
                     tokens > w.input + w.output ? tokens - w.input - w.output : 0);
    return admission.refused_by;
}

/* Every refusal was needed, and every call that fitted was admitted, in each way of counting. */
TEST(the_recount_agrees)
{
    static struct recount r;
    static const struct {
        const char *text;
        unsigned kinds; /* that must have refused something */
    } cases[] = {
        {"rpm=1200,tpm=54000,window_ms=1000", 1u << VQ_LIMIT_REQUESTS | 1u << VQ_LIMIT_TOKENS},
        {"itpm=30000,otpm=16000,window_ms=1000", 1u << VQ_LIMIT_INPUT | 1u << VQ_LIMIT_OUTPUT},
        {"rpm=1200,otpm=34000,window_ms=1000,count=max",
         1u << VQ_LIMIT_REQUESTS | 1u << VQ_LIMIT_OUTPUT},
        {"otpm=16000,tpm=50000,window_ms=1000,count=settle",
         1u << VQ_LIMIT_OUTPUT | 1u << VQ_LIMIT_TOKENS},
        {"rpm=1200,tpm=60000,window_ms=500,count_refused=1", 1u << VQ_LIMIT_REQUESTS},
        {"concurrency=5,rpm=2400,window_ms=200", 1u << VQ_LIMIT_CONCURRENCY},
        {"ramp=20,ramp_floor=300,ramp_ms=1000", 1u << VQ_LIMIT_RAMP},
        {"ramp=20,ramp_floor=300,ramp_ms=300,rpm=1000,window_ms=3000,count_refused=on",
         1u << VQ_LIMIT_RAMP},
        {"rpd=70,day_ms=3000", 1u << VQ_LIMIT_DAY_REQUESTS},
        {"rpd=140,tpd=1500,day_ms=3000,count=settle", 1u << VQ_LIMIT_DAY_TOKENS},
        {"rpd=40,day_ms=3000,count_refused=1", 1u << VQ_LIMIT_DAY_REQUESTS},
        {"usd=0.05,usd_in=1,usd_out=2.5,usd_cached=0.25", 1u << VQ_LIMIT_MONEY},
        {"rpm=1500,tpm=60000,concurrency=8,rpd=90,day_ms=4000,window_ms=700,count=settle,ramp=50,"
         "ramp_floor=1200,usd=90,usd_in=1",
         1u << VQ_LIMIT_REQUESTS | 1u << VQ_LIMIT_TOKENS | 1u << VQ_LIMIT_CONCURRENCY |
             1u << VQ_LIMIT_RAMP},
    };
    for (size_t c = 0; c < VQ_COUNT(cases); c++) {
        struct vq_limits limits = parse(cases[c].text);
        struct vq_limiter *limiter = create(cases[c].text);
        struct vq_rng rng;
        vq_rng_seed(&rng, c);
        r = (struct recount){.limits = &limits};
        int64_t now_ns = 0;
        unsigned seen = 0;
        size_t admitted = 0;
        for (int i = 0; i < ARRIVALS; i++) {
            /* Bursts at one moment, and pauses of more than a window. */
            uint64_t pause_ms = vq_rng_below(&rng, 40) == 0 ? 2500 : 50;
            now_ns += (int64_t)vq_rng_below(&rng, pause_ms) * VQ_NS_PER_MS;
            end_calls(limiter, &r, now_ns);
            enum vq_limit_kind by = arrive(limiter, &r, &rng, now_ns);
            seen |= 1u << by;
            admitted += by == VQ_LIMIT_NONE;
        }
        if ((seen & cases[c].kinds) != cases[c].kinds || admitted < 100) {
            fail_msg("%s: refused by %x, admitted %zu", cases[c].text, seen, admitted);
        }
        vq_limiter_destroy(&limiter);
    }
}

/* ---- single matters ---- */

TEST(the_told_wait_is_the_shortest_that_helps)
{
    static const char *const texts[] = {"tpm=18000,window_ms=1000", "itpm=18000,window_ms=1000",
                                        "rpm=600,window_ms=1000",
                                        "ramp=1,ramp_floor=600,ramp_ms=1000"};
    struct vq_rng rng;
    vq_rng_seed(&rng, 4);
    for (int round = 0; round < 400; round++) {
        struct vq_limiter *limiter = create(texts[round % 4]);
        int64_t now_ns = 0;
        uint64_t tokens = 0;
        struct vq_admission admission;
        do {
            now_ns += 1 + (int64_t)vq_rng_below(&rng, 20 * VQ_NS_PER_MS);
            tokens = 1 + vq_rng_below(&rng, 100);
            admission = ask(limiter, tokens, now_ns);
        } while (admission.refused_by == VQ_LIMIT_NONE);
        enum vq_limit_kind by = admission.refused_by;
        assert_false(admission.never);
        assert_true(admission.wait_ns > 0);
        assert_int_equal(ask(limiter, tokens, now_ns + admission.wait_ns - 1).refused_by, by);
        assert_int_equal(ask(limiter, tokens, now_ns + admission.wait_ns).refused_by,
                         VQ_LIMIT_NONE);
        vq_limiter_destroy(&limiter);
    }
}

TEST(too_many_at_a_time_are_refused)
{
    struct vq_limiter *limiter = create("concurrency=2");
    struct vq_admission first = ask(limiter, 1, 0);
    assert_int_equal(first.refused_by, VQ_LIMIT_NONE);
    assert_int_equal(ask(limiter, 1, 0).refused_by, VQ_LIMIT_NONE);
    struct vq_admission third = ask(limiter, 1, 0);
    assert_int_equal(third.refused_by, VQ_LIMIT_CONCURRENCY);
    vq_limiter_done(limiter, &third.hold); /* it holds nothing */
    assert_int_equal(ask(limiter, 1, 0).refused_by, VQ_LIMIT_CONCURRENCY);
    vq_limiter_done(limiter, &first.hold);
    vq_limiter_done(limiter, &first.hold); /* nothing more */
    assert_int_equal(ask(limiter, 1, 0).refused_by, VQ_LIMIT_NONE);
    assert_int_equal(ask(limiter, 1, 0).refused_by, VQ_LIMIT_CONCURRENCY);
    assert_int_equal(ask_for(limiter, (struct vq_limit_call){.account = 2}).refused_by,
                     VQ_LIMIT_NONE);
    vq_limiter_destroy(&limiter);
}

TEST(a_request_greater_than_the_window_never_fits)
{
    static const char *const texts[] = {"tpm=100", "itpm=100", "tpm=600,window_ms=10000"};
    for (size_t i = 0; i < VQ_COUNT(texts); i++) {
        struct vq_limiter *limiter = create(texts[i]);
        struct vq_admission admission = ask(limiter, 101, 0);
        assert_true(admission.refused_by != VQ_LIMIT_NONE && admission.never);
        assert_int_equal(admission.asked, 101);
        assert_int_equal(ask(limiter, 100, 0).refused_by, VQ_LIMIT_NONE);
        vq_limiter_destroy(&limiter);
    }
}

TEST(refused_ones_count_where_asked)
{
    struct vq_limiter *limiter = create("rpm=600,window_ms=100,count_refused=1");
    assert_int_equal(ask(limiter, 1, 0).refused_by, VQ_LIMIT_NONE);
    assert_int_equal(ask(limiter, 1, 99 * VQ_NS_PER_MS).refused_by, VQ_LIMIT_REQUESTS);
    assert_int_equal(ask(limiter, 1, 101 * VQ_NS_PER_MS).refused_by, VQ_LIMIT_REQUESTS);
    assert_int_equal(ask(limiter, 1, 202 * VQ_NS_PER_MS).refused_by, VQ_LIMIT_NONE);
    vq_limiter_destroy(&limiter);
}

/* What was reserved and not used comes back at the end, but not into a window or day that is
 * gone. */
TEST(settling_gives_back_once)
{
    struct vq_limiter *limiter =
        create("tpm=6000,tpd=150,window_ms=1000,day_ms=10000,count=settle");
    struct vq_limit_call call = {.input = 10, .output = 5, .output_max = 80};
    struct vq_admission first = ask_for(limiter, call);
    assert_int_equal(first.asked_out, 80);
    assert_int_equal(first.left[VQ_LIMIT_TOKENS], 10);
    assert_int_equal(ask_for(limiter, call).refused_by, VQ_LIMIT_DAY_TOKENS);
    vq_limiter_done(limiter, &first.hold);
    struct vq_admission second = ask_for(limiter, call);
    assert_int_equal(second.refused_by, VQ_LIMIT_TOKENS); /* 15 + 90 */
    call.now_ns = 1500 * VQ_NS_PER_MS;
    call.unix_ms = 1500;
    second = ask_for(limiter, call);
    assert_int_equal(second.refused_by, VQ_LIMIT_NONE); /* of the day 105 are used */
    call.now_ns = 11000 * VQ_NS_PER_MS;
    call.unix_ms = 11000;
    struct vq_admission third = ask_for(limiter, call);
    assert_int_equal(third.refused_by, VQ_LIMIT_NONE);
    vq_limiter_done(limiter, &second.hold);
    assert_int_equal(ask_for(limiter, call).refused_by, VQ_LIMIT_DAY_TOKENS); /* 90 + 90 */
    vq_limiter_done(limiter, &third.hold);
    call.output_max = 75;
    assert_int_equal(ask_for(limiter, call).refused_by, VQ_LIMIT_NONE); /* 15 + 85 of 100 */
    vq_limiter_destroy(&limiter);
}

TEST(days_end_where_they_should)
{
    static const struct {
        int64_t unix_s, day_ms;
        bool pacific;
        int64_t end_s;
    } cases[] = {
        {1767225600, 0, false, 1767312000}, /* 2026-01-01 00:00 UTC */
        {1767311999, 0, false, 1767312000},
        {1767225600, 0, true, 1767254400}, /* 16:00 in winter: midnight is 08:00 UTC */
        {1767254399, 0, true, 1767254400},
        {1767254400, 0, true, 1767340800},
        {1782864000, 0, true, 1782889200}, /* 2026-07-01 00:00 UTC: midnight is 07:00 UTC */
        {1772960400, 0, true, 1773039600}, /* 2026-03-08 01:00 at -8: the day has 23 hours */
        {1793516400, 0, true, 1793606400}, /* 2026-11-01 00:00 at -7: it has 25 */
        {1000, 300000, true, 1200},        /* a setting goes before all that */
        {1200, 300000, false, 1500},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        int64_t end = vq_day_end_ms(cases[i].unix_s * 1000, cases[i].day_ms, cases[i].pacific);
        assert_int_equal(end, cases[i].end_s * 1000);
    }
}

TEST(the_text_of_limits_is_checked)
{
    struct vq_limits l = parse("rpm=60,per=both,hint=50");
    assert_true(l.per_key && l.per_model && l.hint_percent == 50 && l.headers);
    assert_int_equal(l.per_window[VQ_LIMIT_REQUESTS], 60);
    l = parse("rpm=60,per=all,hint=absent,headers=off");
    assert_true(!l.per_key && !l.per_model && l.hint_percent == -1 && !l.headers);
    l = parse("rpm=605,tpm=90001,window_ms=10000,ramp=50,ramp_floor=90,usd=1.5,usd_in=0.075");
    assert_int_equal(l.per_minute[VQ_LIMIT_REQUESTS], 605);
    assert_int_equal(l.per_window[VQ_LIMIT_REQUESTS], 100); /* rounded down */
    assert_int_equal(l.per_window[VQ_LIMIT_TOKENS], 15000);
    assert_int_equal(l.ramp_ns, 10 * VQ_NS_PER_S);
    assert_int_equal(l.ramp_free, 15);
    assert_int_equal(l.nano_usd, 1500000000);
    assert_int_equal(l.nano_usd_in, 75);
    static const char *const bad[] = {"rpm",          "rpm=x",      "rpm=-1",
                                      "foo=1",        "per=you",    "window_ms=0",
                                      "hint=99999",   "count=some", "headers=perhaps",
                                      "usd=-1",       "usd=much",   "rpm=5,window_ms=10000",
                                      "keys=env:KEY", "rpm=1,rpm=", "ramp_ms=0"};
    for (size_t i = 0; i < VQ_COUNT(bad); i++) {
        struct vq_pools pools = {.n = 0};
        struct vq_error err = {0};
        assert_int_equal(vq_pools_add(&pools, bad[i], &err), VQ_INVALID);
        assert_true(err.text[0] != '\0');
        assert_null(pools.fallback.limiter);
        vq_pools_free(&pools);
    }
}

/* Half a million calls in a window that is full, so that each new one is refused and one leaves. */
TEST(a_great_window_is_kept)
{
    struct vq_limiter *limiter = create("rpm=30000000,window_ms=1000"); /* 500,000 a window */
    for (int64_t i = 0; i < 1500000; i++) {
        /* A call a microsecond: the first half of each window's time is full of them. */
        bool fits = i % 1000000 < 500000;
        assert_int_equal(ask(limiter, 1, i * VQ_NS_PER_US).refused_by,
                         fits ? VQ_LIMIT_NONE : VQ_LIMIT_REQUESTS);
    }
    vq_limiter_destroy(&limiter);
}
