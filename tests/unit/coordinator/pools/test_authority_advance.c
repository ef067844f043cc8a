/* What a crash of the coordinator must not forget: the dollars that are with workers on other
 * machines. */
#include "tests/unit/coordinator/pools/authority_desk.h"

#include "common/base/alloc.h"

#define UNIT   UINT64_C(10)
#define BUDGET UINT64_C(10000)

static struct vq_advance kept[64]; /* the durable list */
static uint32_t kept_count;

static uint64_t kept_of(struct vq_id id)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < kept_count; i++) {
        sum += vq_id_eq(&kept[i].worker, &id) ? kept[i].nano : 0;
    }
    return sum;
}

static void keep(struct vq_authority *a)
{
    kept_count = vq_authority_advances(a, kept, VQ_COUNT(kept));
    assert_int_equal(vq_authority_advances_due(a), VQ_ADVANCES_KEPT);
}

static struct vq_authority *authority(uint64_t budget_nano, uint64_t spent_nano)
{
    static const struct vq_authority_pool pool = {.name = "p", .limit.concurrency = 200};
    struct vq_authority_params params = {.pools = &pool,
                                         .pools_count = 1,
                                         .term_ns = 10 * S,
                                         .budget_nano = budget_nano,
                                         .spent_nano = spent_nano,
                                         .advances = kept,
                                         .advances_count = kept_count};
    struct vq_authority *a = NULL;
    assert_int_equal(vq_authority_create(&params, S, &a, NULL), VQ_OK);
    vq_authority_clock(a, 1000000, S);
    return a;
}

struct guest {
    uint32_t no;
    bool noted, remote;
    struct vq_amount spend;
    uint64_t n; /* of its last GRANT */
};

static void report(struct vq_authority *a, const struct guest *g, int64_t now_ns)
{
    struct vq_id id = id_of(g->no);
    struct vq_pool_report said = {.waiting = 5};
    struct vq_msg_credit credit = {
        .granted_n = g->n, .spend = g->spend, .reports = &said, .reports_count = 1};
    assert_int_equal(vq_authority_report(a, &id, &credit, now_ns), VQ_OK);
}

static void grant(struct vq_authority *a, struct guest *g, int64_t now_ns)
{
    struct vq_id id = id_of(g->no);
    struct vq_msg_grant grant;
    vq_authority_grant(a, &id, now_ns, slices, &grant);
    g->n = grant.n;
    g->spend.most = grant.spend_most;
}

/* They come, say what they want, and are granted what there is. */
static void come(struct vq_authority *a, struct guest *guests, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct vq_id id = id_of(guests[i].no);
        guests[i].spend.unit = UNIT;
        assert_int_equal(vq_authority_join(a, &id, guests[i].noted, guests[i].remote, S), VQ_OK);
    }
    for (int64_t now_ns = S; now_ns < 4 * S; now_ns += 100 * MS) {
        for (uint32_t i = 0; i < count; i++) {
            struct vq_id id = id_of(guests[i].no);
            report(a, &guests[i], now_ns);
            vq_authority_tick(a, now_ns);
            if (vq_authority_due(a, &id)) {
                grant(a, &guests[i], now_ns);
            }
        }
    }
}

static struct vq_authority_money money(const struct vq_authority *a)
{
    struct vq_authority_money m;
    vq_authority_money(a, &m);
    return m;
}

static void a_grant_to_another_machine_is_listed_first(void **state)
{
    (void)state;
    kept_count = 0;
    struct vq_authority *a = authority(BUDGET, 0);
    struct guest both[2] = {{.no = 0, .noted = true}, {.no = 1, .noted = true, .remote = true}};
    come(a, both, 2);
    assert_true(both[0].spend.most > 0 && both[1].spend.most > 0);
    assert_int_equal(vq_authority_advances_due(a), VQ_ADVANCES_MORE);
    keep(a);
    assert_int_equal(kept_count, 1); /* the spool of who is here can be read */
    assert_true(kept_of(id_of(1)) >= both[1].spend.most);
    both[1].spend.used = both[1].spend.open = UNIT; /* a little more is no new list */
    report(a, &both[1], 4 * S);
    grant(a, &both[1], 4 * S);
    assert_int_equal(vq_authority_advances_due(a), VQ_ADVANCES_KEPT);
    vq_authority_destroy(&a);
}

static void without_a_budget_nothing_is_listed(void **state)
{
    (void)state;
    kept_count = 0;
    struct vq_authority *a = authority(VQ_AMOUNT_ANY, 0);
    struct guest far = {.no = 1, .noted = true, .remote = true};
    come(a, &far, 1);
    assert_int_equal(far.spend.most, VQ_AMOUNT_ANY);
    assert_int_equal(vq_authority_advances_due(a), VQ_ADVANCES_KEPT);
    keep(a);
    assert_int_equal(kept_count, 0);
    vq_authority_destroy(&a);
}

/* The coordinator is killed: the next one counts what the last list says until the worker is back
 * and says itself what it spent. */
static void what_was_listed_counts_until_it_is_back(void **state)
{
    (void)state;
    kept_count = 0;
    struct vq_authority *a = authority(BUDGET, 0);
    struct guest far = {.no = 1, .noted = true, .remote = true};
    come(a, &far, 1);
    keep(a);
    uint64_t listed = kept_of(id_of(1));
    vq_authority_destroy(&a);
    a = authority(BUDGET, 100);
    uint32_t workers = 0;
    assert_int_equal(vq_authority_advances_missed(a, &workers), listed);
    assert_int_equal(workers, 1);
    assert_int_equal(money(a).spent_nano, 100);
    assert_int_equal(money(a).out_nano, listed);
    keep(a);
    assert_int_equal(kept_of(id_of(1)), listed); /* and a crash of this one forgets it neither */
    struct vq_id id = id_of(1);
    assert_int_equal(vq_authority_join(a, &id, true, true, S), VQ_OK);
    assert_int_equal(money(a).out_nano, listed); /* it has not said anything yet */
    far.n = 0;
    far.spend.used = far.spend.open = 3 * UNIT;
    report(a, &far, S);
    assert_int_equal(vq_authority_advances_missed(a, &workers), 0);
    assert_int_equal(money(a).out_nano, far.spend.most);
    assert_int_equal(vq_authority_advances_due(a), VQ_ADVANCES_LESS);
    vq_authority_destroy(&a);
}

static void all_that_is_listed_may_be_the_budget(void **state)
{
    (void)state;
    kept[0] = (struct vq_advance){.worker = id_of(1), .nano = BUDGET};
    kept_count = 1;
    struct vq_authority *a = authority(BUDGET, 0);
    struct guest far = {.no = 2, .noted = true, .remote = true};
    come(a, &far, 1);
    assert_int_equal(far.spend.most, 0);
    vq_authority_succeeded(a, &(struct vq_id){{0}}); /* who took over nothing says so */
    uint32_t workers = 0;
    assert_int_equal(vq_authority_advances_missed(a, &workers), BUDGET);
    struct vq_id id = id_of(1);
    vq_authority_succeeded(a, &id); /* the second has its spool, and said what is in it */
    assert_int_equal(vq_authority_advances_missed(a, &workers), 0);
    come(a, &far, 1);
    assert_true(far.spend.most > 0);
    vq_authority_destroy(&a);
}

static void who_left_in_order_is_not_listed_and_who_did_not_is(void **state)
{
    (void)state;
    kept_count = 0;
    struct vq_authority *a = authority(BUDGET, 0);
    struct guest far[3] = {{.no = 1, .noted = true, .remote = true},
                           {.no = 2, .noted = true, .remote = true},
                           {.no = 3, .remote = true}}; /* it has no spool */
    come(a, far, 3);
    keep(a);
    assert_int_equal(kept_count, 3);
    struct vq_id ids[3] = {id_of(1), id_of(2), id_of(3)};
    vq_authority_leave(a, &ids[0], VQ_AUTHORITY_LEFT, 4 * S);
    assert_int_equal(vq_authority_advances_due(a), VQ_ADVANCES_LESS);
    vq_authority_leave(a, &ids[1], VQ_AUTHORITY_SILENT, 4 * S);
    vq_authority_leave(a, &ids[2], VQ_AUTHORITY_SILENT, 4 * S);
    keep(a);
    assert_int_equal(kept_of(ids[0]), 0);
    assert_true(far[1].spend.most > 0 && kept_of(ids[1]) == far[1].spend.most);
    assert_true(far[2].spend.most > 0 && kept_of(ids[2]) == far[2].spend.most);
    vq_authority_settle_left(a); /* the second is accounted for; of the third nobody will hear */
    assert_int_equal(vq_authority_advances_due(a), VQ_ADVANCES_LESS);
    keep(a);
    assert_int_equal(kept_of(ids[1]), 0);
    assert_int_equal(kept_of(ids[2]), far[2].spend.most);
    vq_authority_destroy(&a);
}

static void too_many_to_tell_apart_are_one_of_nobodys(void **state)
{
    (void)state;
    uint32_t count = VQ_AUTHORITY_ADVANCES_MAX + 10;
    struct vq_advance *many = vq_alloc(count, sizeof(*many));
    assert_non_null(many);
    for (uint32_t i = 0; i < count; i++) {
        many[i] = (struct vq_advance){.worker = id_of(i), .nano = 3};
    }
    static const struct vq_authority_pool pool = {.name = "p", .limit.concurrency = 200};
    struct vq_authority_params params = {.pools = &pool,
                                         .pools_count = 1,
                                         .term_ns = 10 * S,
                                         .budget_nano = UINT64_C(1) << 40,
                                         .advances = many,
                                         .advances_count = count};
    struct vq_authority *a = NULL;
    assert_int_equal(vq_authority_create(&params, S, &a, NULL), VQ_OK);
    uint32_t workers = 0;
    assert_int_equal(vq_authority_advances_missed(a, &workers), 3 * count);
    assert_int_equal(workers, VQ_AUTHORITY_ADVANCES_MAX);
    struct vq_id last = id_of(count - 1), known = id_of(5);
    vq_authority_succeeded(a, &last);
    assert_int_equal(vq_authority_advances_missed(a, &workers), 3 * count);
    vq_authority_succeeded(a, &known);
    assert_int_equal(vq_authority_advances_missed(a, &workers), 3 * (count - 1));
    vq_authority_destroy(&a);
    vq_free(many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_grant_to_another_machine_is_listed_first),
        cmocka_unit_test(without_a_budget_nothing_is_listed),
        cmocka_unit_test(what_was_listed_counts_until_it_is_back),
        cmocka_unit_test(all_that_is_listed_may_be_the_budget),
        cmocka_unit_test(who_left_in_order_is_not_listed_and_who_did_not_is),
        cmocka_unit_test(too_many_to_tell_apart_are_one_of_nobodys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
