/* An incident is told when it begins and when it ends, and at no other time. */

#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "coordinator/pools/incidents.h"

#define S INT64_C(1000000000)

static struct vq_incidents *make(void)
{
    struct vq_incidents *x;
    assert_int_equal(vq_incidents_create(2, &x), VQ_OK);
    return x;
}

TEST(test_parked_and_open_again)
{
    struct vq_incidents *x = make();
    struct vq_authority_pool_status s = {.state = VQ_AUTHORITY_OPEN, .answered = 1};
    assert_null(vq_incidents_see(x, 0, &s, 1 * S));
    s.state = VQ_AUTHORITY_PARKED;
    s.text = "quota";
    s.until_ns = 99 * S;
    const struct vq_incident *i = vq_incidents_see(x, 0, &s, 2 * S);
    assert_non_null(i);
    assert_true(i->since_ns == 2 * S && i->until_ns == 99 * S && i->over_ns == 0);
    assert_string_equal(i->text, "quota");
    assert_string_equal(vq_incident_word(i), "parked");
    for (int k = 3; k < 20; k++) {
        assert_null(vq_incidents_see(x, 0, &s, k * S));
    }
    s.state = VQ_AUTHORITY_CLOSED; /* one ends, another begins */
    s.refused = 4;
    i = vq_incidents_see(x, 0, &s, 20 * S);
    assert_true(i->over_ns == 20 * S && i->refused == 4);
    i = vq_incidents_see(x, 0, &s, 20 * S);
    assert_int_equal(i->state, VQ_AUTHORITY_CLOSED);
    assert_null(vq_incidents_see(x, 0, &s, 20 * S));
    uint32_t count;
    uint64_t forgotten;
    assert_non_null(vq_incidents_all(x, &count, &forgotten));
    assert_true(count == 2 && forgotten == 0);
    vq_incidents_destroy(&x);
}

TEST(test_a_key_of_several)
{
    struct vq_incidents *x = make();
    struct vq_authority_pool_status s = {.state = VQ_AUTHORITY_OPEN, .answered = 1};
    assert_null(vq_incidents_see(x, 0, &s, 1 * S));
    s.keys_refused = 1;
    s.key_text = "key 2 of 3 was refused: no";
    const struct vq_incident *i = vq_incidents_see(x, 0, &s, 2 * S);
    assert_non_null(i);
    assert_true(i->key && i->since_ns == 2 * S && i->over_ns == 2 * S);
    assert_string_equal(vq_incident_word(i), "without a key");
    assert_string_equal(i->text, "key 2 of 3 was refused: no");
    assert_null(vq_incidents_see(x, 0, &s, 3 * S));
    s.keys_refused = 2; /* the last one but one, and then it is closed: two more */
    s.state = VQ_AUTHORITY_CLOSED;
    assert_true(vq_incidents_see(x, 0, &s, 4 * S)->key);
    i = vq_incidents_see(x, 0, &s, 4 * S);
    assert_true(!i->key && i->over_ns == 0);
    assert_string_equal(vq_incident_word(i), "closed");
    assert_null(vq_incidents_see(x, 0, &s, 5 * S));
    vq_incidents_destroy(&x);
}

TEST(test_a_storm)
{
    struct vq_incidents *x = make();
    struct vq_authority_pool_status s = {.state = VQ_AUTHORITY_OPEN, .answered = 10};
    assert_null(vq_incidents_see(x, 1, &s, 1 * S));
    s.failed = 100;
    assert_null(vq_incidents_see(x, 1, &s, 3 * S)); /* not for long enough */
    const struct vq_incident *i = vq_incidents_see(x, 1, &s, 7 * S);
    assert_non_null(i);
    assert_string_equal(vq_incident_word(i), "failing");
    assert_true(i->since_ns == 1 * S);
    s.failed = 300;
    s.state = VQ_AUTHORITY_PAUSED;
    assert_null(vq_incidents_see(x, 1, &s, 30 * S));
    s.answered = 11;
    s.state = VQ_AUTHORITY_OPEN;
    i = vq_incidents_see(x, 1, &s, 31 * S);
    assert_true(i->over_ns == 31 * S && i->failed == 300);
    assert_null(vq_incidents_see(x, 1, &s, 31 * S));
    s.failed = 303; /* a few among answers are none */
    s.answered = 12;
    assert_null(vq_incidents_see(x, 1, &s, 60 * S));
    vq_incidents_destroy(&x);
}

/* A pool that fails is parked, then another run has it: each ends before the next one begins. */
TEST(test_one_goes_on_at_a_time)
{
    struct vq_incidents *x = make();
    struct vq_authority_pool_status s = {.state = VQ_AUTHORITY_OPEN, .answered = 10};
    assert_null(vq_incidents_see(x, 0, &s, 1 * S));
    s.failed = 100;
    assert_string_equal(vq_incident_word(vq_incidents_see(x, 0, &s, 7 * S)), "failing");
    s.state = VQ_AUTHORITY_PARKED; /* it fails yet, and that has another reason now */
    s.failed = 130;
    const struct vq_incident *i = vq_incidents_see(x, 0, &s, 8 * S);
    assert_string_equal(vq_incident_word(i), "failing");
    assert_true(i->over_ns == 8 * S && i->failed == 130);
    assert_string_equal(vq_incident_word(vq_incidents_see(x, 0, &s, 8 * S)), "parked");
    s.state = VQ_AUTHORITY_LOCKED;
    s.text = "run other has it";
    i = vq_incidents_see(x, 0, &s, 9 * S);
    assert_true(i->over_ns == 9 * S && i->state == VQ_AUTHORITY_PARKED);
    i = vq_incidents_see(x, 0, &s, 9 * S);
    assert_string_equal(vq_incident_word(i), "locked");
    assert_string_equal(i->text, "run other has it");
    assert_int_equal(i->over_ns, 0);
    vq_incidents_destroy(&x);
    vq_incidents_destroy(&x); /* nothing */
}

TEST(test_no_worker_is_no_end)
{
    struct vq_incidents *x = make();
    struct vq_authority_pool_status s = {.state = VQ_AUTHORITY_NOBODY, .answered = 1};
    assert_null(vq_incidents_see(x, 0, &s, 1 * S)); /* nor a beginning */
    s.state = VQ_AUTHORITY_PARKED;
    assert_non_null(vq_incidents_see(x, 0, &s, 2 * S));
    s.state = VQ_AUTHORITY_NOBODY;
    assert_null(vq_incidents_see(x, 0, &s, 3 * S));
    s.state = VQ_AUTHORITY_PARKED;
    assert_null(vq_incidents_see(x, 0, &s, 4 * S)); /* the same one */
    s.state = VQ_AUTHORITY_NOBODY;
    assert_null(vq_incidents_see(x, 0, &s, 5 * S));
    s.state = VQ_AUTHORITY_OPEN;
    const struct vq_incident *i = vq_incidents_see(x, 0, &s, 6 * S);
    assert_non_null(i);
    assert_true(i->since_ns == 2 * S && i->over_ns == 6 * S);
    vq_incidents_destroy(&x);
}

TEST(test_words)
{
    static const char *const words[] = {"open",   "paused", "parked",  "held",
                                        "locked", "closed", "unserved"};
    for (size_t i = 0; i < VQ_COUNT(words); i++) {
        assert_string_equal(vq_authority_state_word((enum vq_authority_state)i), words[i]);
    }
    assert_string_equal(vq_authority_state_word((enum vq_authority_state)VQ_COUNT(words)), "?");
}

TEST(test_no_memory)
{
    struct vq_incidents *x = NULL;
    for (uint64_t at = 1; at <= 3; at++) {
        vq_alloc_fail_at(at);
        assert_int_equal(vq_incidents_create(2, &x), VQ_NOMEM);
        vq_alloc_fail_at(0);
        assert_null(x);
    }
}

TEST(test_no_more_than_there_is_room_for)
{
    struct vq_incidents *x = make();
    struct vq_authority_pool_status s = {.answered = 1};
    for (uint32_t k = 0; k < VQ_INCIDENTS_MAX + 5; k++) {
        s.state = VQ_AUTHORITY_HELD;
        (void)vq_incidents_see(x, 0, &s, k * S + 1);
        s.state = VQ_AUTHORITY_OPEN;
        (void)vq_incidents_see(x, 0, &s, k * S + 1);
    }
    uint32_t count;
    uint64_t forgotten;
    (void)vq_incidents_all(x, &count, &forgotten);
    assert_int_equal(count, VQ_INCIDENTS_MAX);
    assert_int_equal(forgotten, 5);
    s.keys_refused = 1;
    s.key_text = "refused";
    assert_null(vq_incidents_see(x, 0, &s, 9000 * S));
    assert_null(vq_incidents_see(x, 0, &s, 9001 * S)); /* counted once */
    (void)vq_incidents_all(x, &count, &forgotten);
    assert_int_equal(forgotten, 6);
    vq_incidents_destroy(&x);
}
