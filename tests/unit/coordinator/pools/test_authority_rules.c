/* The authority at its edges: parameters it refuses, quotas of tokens, limits and locks by hand,
 * keys without end, workers that are not there or are too many, and memory that runs out. */
#include "tests/unit/coordinator/pools/authority_desk.h"

#include "common/base/alloc.h"
#include "common/base/index.h"

static void bad_parameters_are_refused(void **state)
{
    (void)state;
    const struct vq_authority_pool good = {.name = "p", .limit.rates.requests = 60};
    struct vq_authority_pool bad[] = {good, good, good, good, good, good};
    bad[0].name = NULL;
    bad[1].share = -0.1;
    bad[2].share = 1.1;
    bad[3].limit.rates.tokens = NAN;
    bad[4].limit.rates.input_tokens = -1;
    bad[5].limit.rates.requests = INFINITY;
    const struct vq_authority_params fine = {
        .pools = &good, .pools_count = 1, .term_ns = S, .budget_nano = VQ_AMOUNT_ANY};
    struct vq_authority *a = NULL;
    struct vq_error err = {""};
    for (size_t i = 0; i < VQ_COUNT(bad); i++) {
        struct vq_authority_params params = fine;
        params.pools = &bad[i];
        assert_int_equal(vq_authority_create(&params, S, &a, &err), VQ_INVALID);
        assert_non_null(strstr(err.text, i == 0 ? "pool ?:" : "pool p:"));
    }
    struct vq_authority_params params[] = {fine, fine, fine};
    params[0].pools_count = VQ_AUTHORITY_POOLS_MAX + 1;
    params[1].term_ns = 0;
    params[2].jitter_ns = -1;
    for (size_t i = 0; i < VQ_COUNT(params); i++) {
        assert_int_equal(vq_authority_create(&params[i], S, &a, &err), VQ_INVALID);
    }
    assert_null(a);
    assert_int_equal(vq_authority_create(&fine, S, &a, &err), VQ_OK);
    vq_authority_destroy(&a);
    vq_authority_destroy(&a); /* nothing */
}

/* ---- a day's tokens ---- */

static const struct vq_authority_pool quotas = {.name = "p",
                                                .limit.concurrency = 4,
                                                .day_requests = 100,
                                                .day_tokens = 1000,
                                                .day_tokens_spent = 400,
                                                .day_ends_ns = 60 * S};

static void commit(struct desk *d, uint64_t tokens)
{
    struct vq_result result = {.pool = {"p", 1}, .tokens_in = tokens - 1, .tokens_out = 1};
    vq_authority_committed(d->a, &result, d->now_ns);
}

static void a_day_has_its_tokens_and_ends(void **state)
{
    (void)state;
    static struct desk d;
    open_desk(&d, &quotas, 1, VQ_AMOUNT_ANY, 1);
    d.said[0][0].day_tokens.unit = 50;
    pass(&d, S);
    assert_int_equal(d.has[0][0].day_tokens_most, 600);
    assert_int_equal(d.has[0][0].day_requests_most, 20); /* what it may soon want: 4 x 5 */
    d.said[0][0].day_tokens.used = 590;
    d.said[0][0].day_requests.used = 2;
    commit(&d, 300);
    commit(&d, 290);
    pass(&d, S);
    assert_int_equal(status_of(&d, 0).day_tokens_spent, 990);
    assert_int_equal(status_of(&d, 0).day_requests_spent, 2);
    assert_int_equal(status_of(&d, 0).state, VQ_AUTHORITY_PARKED); /* 10 are too few for a call */
    assert_string_equal(status_of(&d, 0).text, "the day's quota is used");
    assert_int_equal(status_of(&d, 0).until_ns, 60 * S);
    pass(&d, 60 * S);
    assert_int_equal(status_of(&d, 0).state, VQ_AUTHORITY_OPEN);
    assert_int_equal(status_of(&d, 0).day_tokens_spent, 0);
    assert_true(d.has[0][0].day_tokens_most > 600);
    vq_authority_destroy(&d.a);
}

/* Two workers share the day; what one of them holds and does not use comes to the other when it is
 * gone, as its end allows. */
static void a_days_tokens_come_back_from_who_is_gone(void **state)
{
    (void)state;
    static const struct {
        enum vq_authority_end how;
        bool settled; /* vq_authority_settle_left is needed */
    } ends[] = {
        {VQ_AUTHORITY_LEFT, false}, {VQ_AUTHORITY_ENDED, true}, {VQ_AUTHORITY_SILENT, true}};
    for (size_t i = 0; i < VQ_COUNT(ends); i++) {
        static struct desk d;
        struct vq_authority_pool pool = quotas;
        pool.day_ends_ns = 1000 * S;
        open_desk(&d, &pool, 1, VQ_AMOUNT_ANY, 2);
        d.said[0][0].day_tokens.unit = d.said[1][0].day_tokens.unit = 100;
        pass(&d, 2 * S);
        assert_int_equal(d.has[0][0].day_tokens_most, 300);
        assert_int_equal(d.has[1][0].day_tokens_most, 300);
        struct vq_id id = id_of(0);
        vq_authority_leave(d.a, &id, ends[i].how, d.now_ns);
        d.said[1][0].day_tokens.used = d.said[1][0].day_tokens.open = 200;
        pass(&d, 2 * S);
        assert_int_equal(d.has[1][0].day_tokens_most, ends[i].settled ? 300 : 600);
        vq_authority_settle_left(d.a);
        pass(&d, 2 * S);
        assert_int_equal(d.has[1][0].day_tokens_most, 600);
        assert_int_equal(d.has[1][0].day_requests_most, 20);
        vq_authority_destroy(&d.a);
    }
}

static void who_is_silent_wants_no_tokens_and_comes_back(void **state)
{
    (void)state;
    static struct desk d;
    struct vq_authority_pool pool = quotas;
    pool.day_ends_ns = 1000 * S;
    open_desk(&d, &pool, 1, VQ_AMOUNT_ANY, 2);
    d.said[0][0].day_tokens.unit = d.said[1][0].day_tokens.unit = 100;
    pass(&d, 2 * S);
    d.workers = 1; /* the other one falls silent */
    pass(&d, 12 * S);
    assert_int_equal(d.has[0][0].day_tokens_most, 300); /* what that one has stays in force */
    assert_int_equal(d.has[0][0].concurrency, 4);
    struct vq_id id = id_of(1);
    assert_false(vq_authority_due(d.a, &id)); /* nobody can tell it anything */
    assert_int_equal(vq_authority_join(d.a, &id, true, false, d.now_ns), VQ_OK); /* a new session */
    d.workers = 2;
    pass(&d, 2 * S);
    assert_int_equal(d.has[0][0].day_tokens_most + d.has[1][0].day_tokens_most, 600);
    assert_true(d.has[1][0].concurrency > 0);
    vq_authority_destroy(&d.a);
}

/* A day of tokens alone: no requests are counted out, and what one lets go reaches the other one
 * with the clock. */
static void a_day_of_tokens_alone(void **state)
{
    (void)state;
    static struct desk d;
    struct vq_authority_pool pool = quotas;
    pool.day_requests = 0;
    open_desk(&d, &pool, 1, VQ_AMOUNT_ANY, 2);
    d.said[0][0].day_tokens.unit = d.said[1][0].day_tokens.unit = 300;
    d.said[0][0].waiting = 0; /* one of them has no work */
    pass(&d, 2 * S);
    assert_int_equal(d.has[1][0].day_requests_most, VQ_AMOUNT_ANY);
    assert_int_equal(d.has[1][0].day_tokens_most, 600);
    d.said[0][0].waiting = 5;
    d.said[1][0].waiting = 0;
    pass(&d, 3 * S);
    assert_int_equal(d.has[0][0].day_tokens_most, 600);
    assert_int_equal(d.has[1][0].day_tokens_most, 0);
    struct vq_id id = id_of(0);
    vq_authority_leave(d.a, &id, VQ_AUTHORITY_LEFT, d.now_ns);
    d.said[1][0].waiting = 5;
    pass(&d, 60 * S); /* a new day */
    d.said[1][0].day_tokens.used = d.said[1][0].day_tokens.open = 400;
    pass(&d, 2 * S);
    assert_int_equal(d.has[1][0].day_tokens_most, 1000);
    vq_authority_destroy(&d.a);
}

/* ---- by hand ---- */

static void a_person_sets_rates(void **state)
{
    (void)state;
    static struct desk d;
    open_desk(
        &d,
        &(struct vq_authority_pool){.name = "p", .limit.rates = {.requests = 600, .tokens = 9000}},
        1, VQ_AMOUNT_ANY, 1);
    d.said[0][0].said.requests = 500; /* headers lower, whoever set it */
    pass(&d, S);
    vq_authority_set_rates(d.a, 0, &(struct vq_rates){.requests = 120, .input_tokens = INFINITY},
                           d.now_ns);
    pass(&d, S);
    struct vq_authority_pool_status s = status_of(&d, 0);
    assert_true(fabs(s.limit.rates.requests - 120) < 1e-9);
    assert_int_equal(s.rates_by[VQ_RATE_REQUESTS], VQ_LIMIT_BY_HAND);
    assert_true(fabs(s.limit.rates.tokens - 9000) < 1e-9); /* 0: as it was */
    assert_int_equal(s.rates_by[VQ_RATE_TOKENS], VQ_LIMIT_BY_CONFIG);
    assert_int_equal(s.rates_by[VQ_RATE_INPUT], VQ_LIMIT_BY_NOBODY); /* no number: as it was */
    assert_true(d.has[0][0].rates.requests <= 120 && d.has[0][0].rates.requests > 100);
    vq_authority_set_rates(d.a, 0, &(struct vq_rates){.requests = 900}, d.now_ns);
    pass(&d, S);
    assert_int_equal(status_of(&d, 0).rates_by[VQ_RATE_REQUESTS], VQ_LIMIT_BY_HEADERS);
    assert_true(fabs(status_of(&d, 0).limit.rates.requests - 500) < 1e-9);
    vq_authority_destroy(&d.a);
}

static void a_lock_that_is_being_asked_for_is_a_pause(void **state)
{
    (void)state;
    static struct desk d;
    open_desk(&d, &(struct vq_authority_pool){.name = "p", .limit.concurrency = 4, .locked = true},
              1, VQ_AMOUNT_ANY, 1);
    d.said[0][0].state = VQ_POOL_NO_KEY;
    pass(&d, S);
    assert_int_equal(status_of(&d, 0).state, VQ_AUTHORITY_NOBODY);
    assert_string_equal(status_of(&d, 0).text, "no worker has a key for it");
    d.said[0][0].state = VQ_POOL_OPEN;
    pass(&d, S);
    assert_int_equal(status_of(&d, 0).state, VQ_AUTHORITY_PAUSED);
    assert_string_equal(status_of(&d, 0).text, "its key is being locked");
    uint32_t holders;
    assert_int_equal(calls_of(&d, 0, &holders), 0);
    vq_alloc_fail_at(
        1); /* without memory nobody knows who has it; it is somebody else's all the same */
    vq_authority_lock(d.a, 0, false, "run other has it", d.now_ns);
    vq_alloc_fail_at(0);
    pass(&d, S);
    assert_int_equal(status_of(&d, 0).state, VQ_AUTHORITY_PAUSED);
    assert_int_equal(calls_of(&d, 0, &holders), 0);
    vq_authority_lock(d.a, 0, true, NULL, d.now_ns);
    pass(&d, S);
    assert_int_equal(calls_of(&d, 0, &holders), 4);
    vq_authority_destroy(&d.a);
}

/* ---- keys ---- */

static void accounts_are_told_apart_by_model_and_by_intent(void **state)
{
    (void)state;
    static struct desk d;
    static const int mine = 0, other = 0;
    const struct vq_authority_pool pools[] = {{.name = "a", .model = "m", .account = &mine},
                                              {.name = "b", .account = &mine},
                                              {.name = "c", .model = "m", .account = &other},
                                              {.name = "d", .model = "x"}};
    static const uint64_t keys[] = {11};
    open_desk(&d, pools, 4, VQ_AMOUNT_ANY, 1);
    for (uint32_t p = 0; p < 4; p++) {
        d.said[0][p].keys = keys;
        d.said[0][p].keys_count = 1;
    }
    pass(&d, S);
    uint32_t p, q, told[6] = {0}, count = 0;
    while (vq_authority_same_account(d.a, &p, &q)) {
        assert_true(p < q && q < 4 && count < VQ_COUNT(told));
        told[count++] = p * 10 + q;
    }
    /* not a and b, which are one account by intent; not d beside a and c, which have other models;
     * b may have any */
    assert_int_equal(count, 3);
    assert_true(told[0] == 2 && told[1] == 12 && told[2] == 13);
    vq_authority_destroy(&d.a);
}

static void keys_are_remembered_up_to_a_bound(void **state)
{
    (void)state;
    static struct desk d;
    static uint64_t keys[6][64];
    open_desk(&d, &(struct vq_authority_pool){.name = "p", .limit.concurrency = 6}, 1,
              VQ_AMOUNT_ANY, 6);
    for (uint32_t w = 0; w < 6; w++) {
        for (uint32_t k = 0; k < 64; k++) {
            keys[w][k] = 1000 * (uint64_t)w + k + 1;
        }
        d.said[w][0].keys = keys[w];
        d.said[w][0].keys_count = 64;
    }
    pass(&d, S);
    uint32_t p, count = 0;
    uint64_t key;
    while (vq_authority_new_key(d.a, &p, &key)) {
        count++;
    }
    assert_int_equal(count, 256); /* of 384: who is locked is bounded */
    d.said[0][0].keys_count = 63; /* one of the first 64 is refused, and one of those behind */
    d.said[1][0].keys_count = 63;
    d.said[0][0].text = vq_span_str("key 64 was refused");
    pass(&d, S);
    assert_int_equal(status_of(&d, 0).keys_refused, 1);
    assert_string_equal(status_of(&d, 0).key_text, "key 64 was refused");
    vq_authority_destroy(&d.a);
}

/* ---- who is not there, and who is too many ---- */

static void what_nobody_is_known_for_is_ignored(void **state)
{
    (void)state;
    static struct desk d;
    open_desk(&d, &(struct vq_authority_pool){.name = "p", .limit.concurrency = 4}, 1,
              VQ_AMOUNT_ANY, 2);
    struct vq_id stranger = id_of(77), late = id_of(1);
    struct vq_pool_report reports[] = {{.pool = 5, .waiting = 3}, {.pool = 0, .waiting = 3}};
    struct vq_msg_credit credit = {.reports = reports, .reports_count = 2};
    struct vq_msg_grant grant;
    assert_int_equal(vq_authority_report(d.a, &stranger, &credit, d.now_ns), VQ_OK);
    vq_authority_heard(d.a, &stranger, d.now_ns);
    vq_authority_leave(d.a, &stranger, VQ_AUTHORITY_ENDED, d.now_ns);
    assert_false(vq_authority_due(d.a, &stranger));
    vq_authority_grant(d.a, &stranger, d.now_ns, slices, &grant);
    assert_true(grant.n == 0 && grant.slices_count == 0 && grant.spend_most == 0);
    assert_int_equal(status_of(&d, 0).waiting, 0);
    assert_int_equal(vq_authority_report(d.a, &late, &credit, d.now_ns), VQ_OK);
    assert_int_equal(status_of(&d, 0).waiting, 3); /* the pool that there is */
    vq_authority_leave(d.a, &late, VQ_AUTHORITY_ENDED, d.now_ns);
    assert_int_equal(vq_authority_report(d.a, &late, &credit, d.now_ns), VQ_OK); /* it has ended */
    vq_authority_leave(d.a, &late, VQ_AUTHORITY_SILENT, d.now_ns);
    vq_authority_heard(d.a, &late, d.now_ns);
    assert_false(vq_authority_due(d.a, &late));
    vq_authority_grant(d.a, &late, d.now_ns, slices, &grant);
    assert_true(grant.n == 0 && grant.slices_count == 0);
    assert_int_equal(status_of(&d, 0).waiting, 0);
    struct vq_id mute = id_of(0); /* it joined and never said what it goes by */
    assert_false(vq_authority_due(d.a, &mute));
    vq_authority_destroy(&d.a);
}

static void an_authority_without_pools_has_its_money(void **state)
{
    (void)state;
    struct vq_authority_params params = {.term_ns = S, .budget_nano = 500};
    struct vq_authority *a = NULL;
    struct vq_msg_grant grant;
    assert_int_equal(vq_authority_create(&params, S, &a, NULL), VQ_OK);
    struct vq_id id = id_of(0);
    struct vq_pool_report report = {.pool = 0};
    struct vq_msg_credit credit = {.reports = &report, .reports_count = 1};
    assert_int_equal(vq_authority_join(a, &id, true, false, S), VQ_OK);
    assert_int_equal(vq_authority_report(a, &id, &credit, S), VQ_OK);
    vq_authority_grant(a, &id, S, slices, &grant);
    assert_true(grant.n == 1 && grant.slices_count == 0 && grant.spend_most <= 500);
    assert_int_equal(vq_authority_pools(a), 0);
    vq_authority_destroy(&a);
}

static void more_workers_than_there_is_room_for_is_a_limit(void **state)
{
    (void)state;
    static struct desk d;
    open_desk(&d, &(struct vq_authority_pool){.name = "p", .limit.concurrency = 4}, 1,
              VQ_AMOUNT_ANY, 0);
    struct vq_id id;
    for (uint32_t w = 0; w < VQ_AUTHORITY_WORKERS_MAX; w++) {
        id = id_of(w);
        assert_int_equal(vq_authority_join(d.a, &id, true, false, d.now_ns), VQ_OK);
    }
    struct vq_id more = id_of(VQ_AUTHORITY_WORKERS_MAX), first = id_of(0);
    assert_int_equal(vq_authority_join(d.a, &more, true, false, d.now_ns), VQ_LIMIT);
    assert_int_equal(vq_authority_join(d.a, &id, true, false, d.now_ns), VQ_OK); /* here already */
    vq_authority_leave(d.a, &first, VQ_AUTHORITY_LEFT, d.now_ns);
    assert_int_equal(vq_authority_join(d.a, &more, true, false, d.now_ns), VQ_OK);
    vq_authority_destroy(&d.a);
}

/* Ids that fall together in the table are two workers. */
static void ids_that_fall_together_are_two_workers(void **state)
{
    (void)state;
    static struct desk d;
    open_desk(&d, &(struct vq_authority_pool){.name = "p", .limit.concurrency = 4}, 1,
              VQ_AMOUNT_ANY, 0);
    uint64_t one[2] = {1, 2}, two[2] = {0, 3};
    two[0] = one[0] ^ vq_index_mix(one[1]) ^ vq_index_mix(two[1]);
    struct vq_id ids[2];
    memcpy(ids[0].b, one, sizeof(one));
    memcpy(ids[1].b, two, sizeof(two));
    struct vq_pool_report report = {.pool = 0, .waiting = 3};
    struct vq_msg_credit credit = {.reports = &report, .reports_count = 1};
    for (int w = 0; w < 2; w++) {
        assert_int_equal(vq_authority_join(d.a, &ids[w], true, false, d.now_ns), VQ_OK);
        assert_int_equal(vq_authority_report(d.a, &ids[w], &credit, d.now_ns), VQ_OK);
    }
    assert_int_equal(status_of(&d, 0).waiting, 6);
    vq_authority_leave(d.a, &ids[0], VQ_AUTHORITY_LEFT, d.now_ns);
    assert_int_equal(status_of(&d, 0).waiting, 3);
    vq_authority_leave(d.a, &ids[1], VQ_AUTHORITY_LEFT, d.now_ns);
    assert_int_equal(status_of(&d, 0).waiting, 0);
    vq_authority_destroy(&d.a);
}

static void what_workers_say_in_all_does_not_wrap(void **state)
{
    (void)state;
    static struct desk d;
    open_desk(&d, &(struct vq_authority_pool){.name = "p"}, 1, VQ_AMOUNT_ANY, 2);
    for (uint32_t w = 0; w < 2; w++) {
        d.said[w][0].waiting = d.said[w][0].in_flight = UINT32_MAX - w;
    }
    pass(&d, 2 * S);
    assert_int_equal(status_of(&d, 0).waiting, UINT32_MAX);
    assert_int_equal(status_of(&d, 0).in_flight, UINT32_MAX);
    uint32_t holders;
    assert_true(calls_of(&d, 0, &holders) <= status_of(&d, 0).limit.concurrency);
    vq_authority_destroy(&d.a);
}

/* ---- memory ---- */

static enum vq_status a_life(struct vq_authority **ret_a)
{
    static const uint64_t keys[] = {5, 6};
    const struct vq_authority_pool pools[] = {quotas,
                                              {.name = "q", .model = "m", .day_tokens = 50}};
    struct vq_authority_params params = {
        .pools = pools, .pools_count = 2, .term_ns = S, .budget_nano = 1000};
    VQ_TRY(vq_authority_create(&params, S, ret_a, NULL));
    for (uint32_t w = 0; w < 20; w++) { /* lists grow on the way */
        struct vq_id id = id_of(w);
        struct vq_pool_report reports[] = {{.pool = 0, .waiting = 2, .keys = keys, .keys_count = 2},
                                           {.pool = 1, .waiting = 2}};
        struct vq_msg_credit credit = {.reports = reports, .reports_count = 2};
        VQ_TRY(vq_authority_join(*ret_a, &id, true, false, S));
        VQ_TRY(vq_authority_report(*ret_a, &id, &credit, S));
        VQ_TRY(vq_authority_report(*ret_a, &id, &credit, S)); /* again: all is there */
    }
    return VQ_OK;
}

static void no_memory_is_said_and_what_was_said_again_counts_once(void **state)
{
    (void)state;
    uint64_t all = vq_alloc_count();
    struct vq_authority *a = NULL;
    assert_int_equal(a_life(&a), VQ_OK);
    vq_authority_destroy(&a);
    all = vq_alloc_count() - all;
    assert_true(all > 60);
    for (uint64_t at = 1; at <= all; at++) {
        vq_alloc_fail_at(at);
        assert_int_equal(a_life(&a), VQ_NOMEM);
        vq_alloc_fail_at(0);
        if (a != NULL) { /* whoever was refused says it again */
            struct vq_authority_pool_status s;
            static const uint64_t keys[] = {5, 6};
            for (uint32_t w = 0; w < 20; w++) {
                struct vq_id id = id_of(w);
                struct vq_pool_report reports[] = {
                    {.pool = 0, .waiting = 2, .keys = keys, .keys_count = 2},
                    {.pool = 1, .waiting = 2}};
                struct vq_msg_credit credit = {.reports = reports, .reports_count = 2};
                assert_int_equal(vq_authority_join(a, &id, true, false, S), VQ_OK);
                assert_int_equal(vq_authority_report(a, &id, &credit, S), VQ_OK);
            }
            vq_authority_status(a, 0, S, &s);
            assert_int_equal(s.waiting, 40);
            vq_authority_status(a, 1, S, &s);
            assert_int_equal(s.waiting, 40);
        }
        vq_authority_destroy(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_parameters_are_refused),
        cmocka_unit_test(a_day_has_its_tokens_and_ends),
        cmocka_unit_test(a_days_tokens_come_back_from_who_is_gone),
        cmocka_unit_test(who_is_silent_wants_no_tokens_and_comes_back),
        cmocka_unit_test(a_day_of_tokens_alone),
        cmocka_unit_test(a_person_sets_rates),
        cmocka_unit_test(a_lock_that_is_being_asked_for_is_a_pause),
        cmocka_unit_test(accounts_are_told_apart_by_model_and_by_intent),
        cmocka_unit_test(keys_are_remembered_up_to_a_bound),
        cmocka_unit_test(what_nobody_is_known_for_is_ignored),
        cmocka_unit_test(an_authority_without_pools_has_its_money),
        cmocka_unit_test(more_workers_than_there_is_room_for_is_a_limit),
        cmocka_unit_test(ids_that_fall_together_are_two_workers),
        cmocka_unit_test(what_workers_say_in_all_does_not_wrap),
        cmocka_unit_test(no_memory_is_said_and_what_was_said_again_counts_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
