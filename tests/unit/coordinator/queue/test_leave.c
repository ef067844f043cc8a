/* Workers that a person drains: they get no lease; DRAIN is repeated, also by the next session and
 * stage; the last worker cannot be drained. And a
 * worker whose key was revoked: nothing more of it is heard. */
#include "tests/unit/coordinator/queue/rig.h"

static uint32_t drain(struct rig *r, const char *name, uint32_t *ret_stay)
{
    uint32_t told = UINT32_MAX;
    assert_int_equal(vq_coord_drain_worker(r->c, name, r->now_ns, &told, ret_stay), VQ_OK);
    rig_pull(r);
    return told;
}

static bool is_draining(const struct rig *r, uint64_t peer)
{
    struct vq_coord_worker_status w;
    for (uint32_t i = 0; vq_coord_worker_fill(r->c, i, &w); i++) {
        if (w.peer == peer) {
            return w.draining;
        }
    }
    return false;
}

/* Peers 1 and 2 are "one" and "two". */
static uint64_t two_join(struct rig *r)
{
    rig_start(r);
    r->name = "one";
    uint64_t session = rig_join(r, 1, 1, 2);
    r->name = "two";
    (void)rig_join(r, 2, 2, 2);
    rig_mark(r);
    return session;
}

TEST_WITH(it_gets_no_lease_and_is_told_again, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    uint32_t stay = 0;
    uint64_t session = two_join(r);
    assert_int_equal(drain(r, "one", &stay), 1);
    assert_int_equal(stay, 1);
    assert_true(is_draining(r, 1));
    assert_false(is_draining(r, 2));
    assert_int_equal(rig_count(r, 1, VQ_MSG_DRAIN), 1);
    assert_int_equal(rig_count(r, 2, VQ_MSG_DRAIN), 0);
    rig_credit(r, 1, session, 0, 16, VQ_POOL_OPEN);
    assert_int_equal(rig_count(r, 1, VQ_MSG_LEASE), 0);
    rig_beat(r, 1, session, NULL);
    assert_int_equal(rig_count(r, 1, VQ_MSG_DRAIN), 2);
}

/* It said HELLO again before it got the DRAIN. */
TEST_WITH(its_next_session_is_told, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    uint32_t stay = 0;
    (void)two_join(r);
    (void)drain(r, "one", &stay);
    rig_pass(r, RIG_HEARTBEAT);
    rig_mark(r);
    r->name = "one";
    uint64_t session = rig_join(r, 3, 1, 16);
    assert_int_equal(rig_count(r, 3, VQ_MSG_DRAIN), 1);
    assert_true(is_draining(r, 3));
    assert_int_equal(rig_count(r, 3, VQ_MSG_LEASE), 0);
    rig_beat(r, 3, session, NULL);
    assert_int_equal(rig_count(r, 3, VQ_MSG_DRAIN), 2);
}

TEST_WITH(the_last_one_stays, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    uint32_t stay = 0;
    (void)two_join(r);
    assert_int_equal(drain(r, "three", &stay), 0);
    assert_int_equal(drain(r, "one", &stay), 1);
    assert_int_equal(drain(r, "two", &stay), 1);
    assert_int_equal(stay, 0);
    assert_false(is_draining(r, 2));
    assert_int_equal(rig_count(r, 2, VQ_MSG_DRAIN), 0);
    assert_int_equal(drain(r, "one", &stay), 1); /* again: it does no harm */
}

/* More than the list has room for: the last ones are remembered. */
TEST_WITH(the_list_is_bounded, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    uint32_t stay = 0;
    (void)two_join(r);
    r->name = "one";
    for (uint64_t n = 0; n < VQ_COORD_LEAVING_MAX + 1; n++) {
        (void)rig_hello(r, 100 + n, 100 + n);
    }
    assert_int_equal(drain(r, "one", &stay), VQ_COORD_LEAVING_MAX + 2);
    rig_mark(r);
    (void)rig_hello(r, 1000, 100 + VQ_COORD_LEAVING_MAX);
    assert_int_equal(rig_count(r, 1000, VQ_MSG_DRAIN), 1);
}

/* ---- a revoked key ---- */

static uint32_t expel(struct rig *r, uint64_t peer)
{
    assert_int_equal(vq_coord_expel(r->c, peer, "its key was revoked", r->now_ns), VQ_OK);
    rig_pull(r);
    return rig_count(r, peer, VQ_MSG_BYE);
}

TEST_WITH(a_worker_whose_key_is_revoked_is_heard_no_more, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    uint64_t session = two_join(r);
    assert_int_equal(expel(r, 99), 0); /* there is no such session */
    assert_int_equal(expel(r, 1), 1);
    assert_int_equal(rig_last(r, 1, VQ_MSG_BYE)->code, VQ_BYE_PROTOCOL);
    assert_int_equal(expel(r, 1), 1); /* once is enough */
    assert_int_equal(rig_status(r).broken, 0);
    rig_credit(r, 1, session, 0, 16, VQ_POOL_OPEN);
    assert_int_equal(rig_count(r, 1, VQ_MSG_LEASE), 0);
    rig_beat(r, 1, session, NULL);
    assert_int_equal(rig_count(r, 1, VQ_MSG_HEARTBEAT), 0);
    assert_int_equal(rig_count(r, 2, VQ_MSG_BYE), 0);
    rig_pass(r, 2 * RIG_TERM);
    struct vq_coord_worker_status w;
    for (uint32_t i = 0; vq_coord_worker_fill(r->c, i, &w); i++) {
        assert_int_not_equal(w.peer, 1);
    }
}
