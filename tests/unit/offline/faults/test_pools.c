

#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "offline/faults/pools.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void add(struct vq_pools *pools, const char *text)
{
    struct vq_error err = {0};
    if (vq_pools_add(pools, text, &err) != VQ_OK) {
        fail_msg("%s: %s", text, err.text);
    }
}

#define KEY_1 "0123456789abcdef"
#define KEY_2 "1123456789abcdef"
#define KEY_3 "2123456789abcdef"

TEST(a_call_has_the_first_pool_that_it_fits_into)
{
    struct vq_pools pools = {.n = 0};
    add(&pools, "one:keys=" KEY_1 "+" KEY_2 ",models=a,rpm=60");
    add(&pools, "two:keys=" KEY_1 "+" KEY_3 ",rpm=60,per=model");
    add(&pools, "three:models=c+d,tpm=600");
    add(&pools, "rpm=5,per=both");
    static const struct {
        const char *key;
        const char *model;
        const char *label;
    } cases[] = {
        {KEY_1, "a", "one"},
        {KEY_2, "a", "one"},
        {KEY_1, "b", "two/b"},
        {KEY_3, "a", "two/a"},
        {KEY_2, "c", "three"},
        {"", "d", "three"},
        {"", "a", "default/a"},
        {KEY_2, "b", "default/" KEY_2 "/b"},
        {KEY_2, "", "default/" KEY_2 "/"},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        char label[VQ_POOL_LABEL_BYTES];
        const struct vq_pool *pool = vq_pools_find(&pools, cases[i].key, cases[i].model);
        vq_pool_label(pool, cases[i].key, cases[i].model, label);
        assert_string_equal(label, cases[i].label);
        assert_int_equal(vq_pool_is_named(pool), strncmp(label, "default", 7) != 0);
        assert_non_null(pool->limiter);
    }
    add(&pools, "rpm=7"); /* the last one counts */
    assert_int_equal(pools.fallback.limits.per_minute[VQ_LIMIT_REQUESTS], 7);
    assert_false(pools.fallback.limits.per_model);
    vq_pools_free(&pools);
}

TEST(without_limits_all_calls_have_one_name)
{
    struct vq_pools pools = {.n = 0};
    char label[VQ_POOL_LABEL_BYTES];
    const struct vq_pool *pool = vq_pools_find(&pools, KEY_1, "m");
    vq_pool_label(pool, KEY_1, "m", label);
    assert_string_equal(label, "default");
    assert_null(pool->limiter);
    vq_pools_free(&pools);
}

/* The same key by its variable, its file and its fingerprint. */
TEST(keys_are_named_as_everywhere)
{
    char path[] = "/tmp/vq-pools-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "sk-canary-77\n", 13), 13);
    (void)close(fd);
    assert_int_equal(setenv("VQ_TEST_POOL_KEY", "sk-canary-77", 1), 0);
    char by_env[VQ_FINGERPRINT_HEX];
    char by_file[VQ_FINGERPRINT_HEX];
    char reference[64];
    (void)snprintf(reference, sizeof(reference), "file:%s", path);
    assert_int_equal(vq_pool_key_of("env:VQ_TEST_POOL_KEY", by_env, NULL), VQ_OK);
    assert_int_equal(vq_pool_key_of(reference, by_file, NULL), VQ_OK);
    assert_string_equal(by_env, by_file);
    struct vq_pools pools = {.n = 0};
    char text[128];
    (void)snprintf(text, sizeof(text), "p:keys=env:VQ_TEST_POOL_KEY+%s,rpm=1", reference);
    add(&pools, text);
    assert_string_equal(pools.list[0]->keys[0], by_env);
    assert_string_equal(vq_pools_find(&pools, by_env, "m")->name, "p");
    vq_pools_free(&pools);
    (void)unsetenv("VQ_TEST_POOL_KEY");
    (void)unlink(path);
}

TEST(bad_pools_are_refused_and_no_key_is_repeated)
{
    static const char *const bad[] = {
        "p:keys=sk-canary-77,rpm=1",
        "p:keys=env:VQ_NO_SUCH_VARIABLE,rpm=1",
        "p:keys=file:/nowhere/sk-none,rpm=1",
        "there:rpm=1",
        ":rpm=1",
        "default:rpm=1",
        "a b:rpm=1",
        "a/b:rpm=1",
        "a-name-of-more-than-thirty-two-letters:rpm=1",
        "p:rpm=1,keys",
        "p:colour=red",
        "keys=sk-canary-77",
    };
    struct vq_pools pools = {.n = 0};
    add(&pools, "there:rpm=1");
    for (size_t i = 0; i < VQ_COUNT(bad); i++) {
        struct vq_error err = {0};
        assert_true(vq_pools_add(&pools, bad[i], &err) != VQ_OK);
        assert_true(err.text[0] != '\0');
        assert_null(strstr(err.text, "canary"));
        assert_int_equal(pools.n, 1);
    }
    for (int i = 0; i < VQ_POOLS_MAX - 1; i++) {
        char text[32];
        (void)snprintf(text, sizeof(text), "p%d:rpm=1", i);
        add(&pools, text);
    }
    assert_int_equal(vq_pools_add(&pools, "more:rpm=1", NULL), VQ_INVALID);
    vq_pools_free(&pools);
}

TEST(no_memory_leaves_it_as_it_was)
{
    struct vq_pools pools = {.n = 0};
    add(&pools, "rpm=5");
    for (uint64_t n = 1; n < 10; n++) {
        vq_alloc_fail_at(n);
        enum vq_status status = vq_pools_add(&pools, "p:models=m,rpm=1", NULL);
        vq_alloc_fail_at(0);
        if (status == VQ_OK) {
            assert_true(n > 2);
            break;
        }
        assert_int_equal(status, VQ_NOMEM);
        assert_int_equal(pools.n, 0);
    }
    assert_int_equal(pools.n, 1);
    vq_pools_free(&pools);
}
