/* What --batch says. */

#include "tests/unit/test.h"

#include "offline/batch/rules.h"

#include <string.h>

TEST(rules_of_a_model_go_before_those_of_all)
{
    struct vq_offline_batch_rules_set set = {.n = 0};
    assert_int_equal(vq_offline_batch_rules_find(&set, "m")->expires_ms, 24 * 3600 * 1000);
    assert_int_equal(vq_offline_batch_rules_add(&set, "errored=0.5,reorder=on,tokens=900", NULL),
                     VQ_OK);
    assert_int_equal(vq_offline_batch_rules_add(&set, "m:duration=2s,hide_ms=10", NULL), VQ_OK);
    assert_int_equal(vq_offline_batch_rules_add(&set, "m:never=1", NULL), VQ_OK); /* the same row */
    const struct vq_offline_batch_rules *m = vq_offline_batch_rules_find(&set, "m");
    assert_int_equal(m->duration.a_ns, INT64_C(2000000000));
    assert_int_equal(m->hide_ms, 10);
    assert_true(m->never >= 1 && m->errored <= 0 && !m->reorder);
    const struct vq_offline_batch_rules *all = vq_offline_batch_rules_find(&set, "other");
    assert_true(all->errored > 0.4 && all->reorder);
    assert_int_equal(all->tokens, 900);
}

TEST(bad_rules_are_named)
{
    static const char *const bad[] = {"errored",       "errored=2",   "errored=-1", "hide_ms=x",
                                      "duration=soon", "reorder=yes", "colour=red", "torn=nan"};
    for (size_t i = 0; i < VQ_COUNT(bad); i++) {
        struct vq_offline_batch_rules_set set = {.n = 0};
        struct vq_error err = {0};
        assert_int_equal(vq_offline_batch_rules_add(&set, bad[i], &err), VQ_INVALID);
        assert_non_null(strstr(err.text, bad[i]));
    }
    struct vq_offline_batch_rules_set set = {.n = 0};
    char text[] = "ma:never=1";
    for (size_t i = 0; i < VQ_BATCH_RULES_MAX; i++, text[1]++) {
        assert_int_equal(vq_offline_batch_rules_add(&set, text, NULL), VQ_OK);
    }
    assert_int_equal(vq_offline_batch_rules_add(&set, text, NULL), VQ_LIMIT);
}
