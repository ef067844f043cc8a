/* What a worker that left said of a pool's limits leaves with it. */
#include "tests/unit/coordinator/pools/authority_desk.h"

static struct desk d;

static void open_two(void)
{
    open_desk(&d, &(struct vq_authority_pool){.name = "p", .limit.concurrency = 8}, 1,
              VQ_AMOUNT_ANY, 2);
    pass(&d, S);
}

static void leave(uint32_t w, enum vq_authority_end how)
{
    struct vq_id id = id_of(w);
    vq_authority_leave(d.a, &id, how, d.now_ns);
}

static void a_limit_by_headers_leaves(void **state)
{
    (void)state;
    open_two();
    d.said[1][0].said.requests = 5;
    pass(&d, S);
    assert_true(fabs(status_of(&d, 0).limit.rates.requests - 5) < 1e-9);
    leave(1, VQ_AUTHORITY_LEFT);
    pass(&d, 30 * S); /* one that is started again hears it anew meanwhile */
    assert_true(fabs(status_of(&d, 0).limit.rates.requests - 5) < 1e-9);
    pass(&d, 31 * S);
    assert_int_equal(status_of(&d, 0).rates_by[VQ_RATE_REQUESTS], VQ_LIMIT_BY_NOBODY);
    vq_authority_destroy(&d.a);
}

static void what_others_say_stays(void **state)
{
    (void)state;
    open_two();
    d.said[0][0].said.requests = 600;
    pass(&d, S);
    d.said[1][0].said.requests = 5;
    pass(&d, S);
    assert_true(fabs(status_of(&d, 0).limit.rates.requests - 5) < 1e-9);
    leave(1, VQ_AUTHORITY_SILENT);
    pass(&d, 61 * S);
    assert_true(fabs(status_of(&d, 0).limit.rates.requests - 600) < 1e-9);
    vq_authority_destroy(&d.a);
}

static void a_worker_that_is_started_again_keeps_its_limit(void **state)
{
    (void)state;
    open_two();
    d.said[0][0].said.requests = d.said[1][0].said.requests = 600;
    pass(&d, S);
    leave(1, VQ_AUTHORITY_ENDED);
    pass(&d, 100 * S);
    assert_true(fabs(status_of(&d, 0).limit.rates.requests - 600) < 1e-9);
    vq_authority_destroy(&d.a);
}

static void a_park_and_a_pause_leave(void **state)
{
    (void)state;
    open_two();
    d.said[1][0].park_unix_s = 1000000 + 30 * 86400;
    d.said[1][0].pause_ms = 3600 * 1000;
    d.said[1][0].refused = 1;
    pass(&d, S);
    assert_int_equal(status_of(&d, 0).state, VQ_AUTHORITY_PARKED);
    leave(1, VQ_AUTHORITY_LEFT);
    pass(&d, 62 * S);
    assert_int_equal(status_of(&d, 0).state, VQ_AUTHORITY_OPEN);
    assert_int_equal(d.has[0][0].concurrency, 8);
    vq_authority_destroy(&d.a);
}

static void a_cap_leaves(void **state)
{
    (void)state;
    open_two();
    d.said[1][0].cap = 1;
    pass(&d, S);
    assert_int_equal(status_of(&d, 0).limit.concurrency, 1);
    leave(1, VQ_AUTHORITY_LEFT);
    pass(&d, 62 * S);
    assert_int_equal(status_of(&d, 0).limit.concurrency, 8);
    vq_authority_destroy(&d.a);
}

static void a_worker_that_broke_a_rule_is_not_heard_on(void **state)
{
    (void)state;
    open_two();
    d.said[1][0].said.requests = 5;
    d.said[1][0].park_unix_s = 1000000 + 30 * 86400;
    pass(&d, S);
    struct vq_id id = id_of(1);
    d.workers = 1; /* nothing of it is taken any more */
    vq_authority_drop_report(d.a, &id, d.now_ns);
    pass(&d, S);
    assert_int_equal(status_of(&d, 0).state, VQ_AUTHORITY_OPEN);
    assert_int_equal(status_of(&d, 0).rates_by[VQ_RATE_REQUESTS], VQ_LIMIT_BY_NOBODY);
    vq_authority_destroy(&d.a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_limit_by_headers_leaves),
        cmocka_unit_test(what_others_say_stays),
        cmocka_unit_test(a_worker_that_is_started_again_keeps_its_limit),
        cmocka_unit_test(a_park_and_a_pause_leave),
        cmocka_unit_test(a_cap_leaves),
        cmocka_unit_test(a_worker_that_broke_a_rule_is_not_heard_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
