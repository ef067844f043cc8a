/* The share of time for clients without the token. */
#include "net_test.h"

#include "common/base/clock.h"
#include "common/net/http_share.h"

#define MS VQ_NS_PER_MS

TEST(test_a_burst_then_a_share)
{
    struct vq_http_share share;
    vq_http_share_init(&share, 2, 0);
    assert_int_equal(vq_http_share_wait_ns(&share, 0), 0);
    vq_http_share_spend(&share, VQ_HTTP_SHARE_BURST_MS * MS, 0);
    assert_int_equal(vq_http_share_wait_ns(&share, 0), 0);
    vq_http_share_spend(&share, 10 * MS, 0);
    assert_int_equal(vq_http_share_wait_ns(&share, 0), 500 * MS);
    assert_int_equal(vq_http_share_wait_ns(&share, 400 * MS), 100 * MS);
    assert_int_equal(vq_http_share_wait_ns(&share, 500 * MS), 0);
}

/* However much each turn costs, and however often there is one. */
TEST(test_the_share_is_kept_for_ever)
{
    struct vq_http_share share;
    int64_t now = 0, spent = 0;
    vq_http_share_init(&share, 2, now);
    for (int i = 0; i < 100000; i++) {
        int64_t cost = (i % 20 + 1) * MS;
        now += vq_http_share_wait_ns(&share, now) + cost;
        vq_http_share_spend(&share, cost, now);
        spent += cost;
    }
    assert_true(spent <= now * 2 / 100 + VQ_HTTP_SHARE_BURST_MS * MS + 20 * MS);
    assert_true(spent >= now * 19 / 1000);
}

TEST(test_a_debt_has_an_end_and_a_rest_is_not_saved)
{
    struct vq_http_share share;
    vq_http_share_init(&share, 2, 0);
    vq_http_share_spend(&share, 3600 * VQ_NS_PER_S, 0);
    assert_int_equal(vq_http_share_wait_ns(&share, 0), VQ_HTTP_SHARE_BURST_MS * MS * 50);
    vq_http_share_spend(&share, 0, INT64_MAX / 2);
    vq_http_share_spend(&share, VQ_HTTP_SHARE_BURST_MS * MS + 1 * MS, INT64_MAX / 2);
    assert_int_equal(vq_http_share_wait_ns(&share, INT64_MAX / 2), 50 * MS);
}

TEST(test_no_limit)
{
    struct vq_http_share share;
    vq_http_share_init(&share, 0, 0);
    vq_http_share_spend(&share, 3600 * VQ_NS_PER_S, 0);
    assert_int_equal(vq_http_share_wait_ns(&share, 0), 0);
}
