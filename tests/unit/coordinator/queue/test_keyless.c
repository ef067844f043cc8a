/* What a worker without keys is shown as: one sentence for each reason, with the pools that judges
 * of this stage ask. */
#include "tests/unit/coordinator/queue/rig.h"

static const uint32_t asked[] = {0, 1};

static const char *keyless(struct rig *r)
{
    struct vq_coord_worker_status worker;
    assert_true(vq_coord_worker_fill(r->c, 0, &worker));
    return worker.keyless;
}

static void no_key(struct rig *r, uint32_t pool, const char *why)
{
    r->report[pool].state = VQ_POOL_NO_KEY;
    r->report[pool].text = vq_span_str(why);
}

static void pools_without_a_key_are_named_with_the_reason(void **state)
{
    struct rig *r = *state;
    r->judges[0].pools = asked;
    r->judges[0].pools_count = 2;
    r->pool[0].name = "team";
    r->pool[1] = (struct vq_authority_pool){.name = "lab", .limit.concurrency = 1000};
    r->pool[2] = (struct vq_authority_pool){.name = "unused", .limit.concurrency = 1000};
    r->pools.pools_count = 3;
    rig_start(r);
    uint64_t session = rig_hello(r, 7, 1);
    rig_list(r, 7, session, VQ_MSG_HELD, NULL, 0, NULL, 0);
    assert_string_equal(keyless(r), "");
    no_key(r, 0, "TEAM_KEY is not set");
    no_key(r, 1, "TEAM_KEY is not set");
    no_key(r, 2, "OTHER_KEY is not set");
    rig_credit(r, 7, session, 0, 4, VQ_POOL_OPEN);
    assert_string_equal(keyless(r), "no key for team, lab: TEAM_KEY is not set");
    no_key(r, 1, "LAB_KEY is not set");
    rig_credit(r, 7, session, 0, 4, VQ_POOL_OPEN);
    assert_string_equal(keyless(r), "no key for team: TEAM_KEY is not set; "
                                    "no key for lab: LAB_KEY is not set");
    r->report[0].state = r->report[1].state = VQ_POOL_OPEN;
    rig_credit(r, 7, session, 0, 4, VQ_POOL_OPEN);
    assert_string_equal(keyless(r), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pools_without_a_key_are_named_with_the_reason, rig_setup,
                                        rig_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
