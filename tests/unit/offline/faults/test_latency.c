

#include "tests/unit/test.h"

#include "common/base/clock.h"
#include "common/base/rng.h"
#include "offline/faults/latency.h"

#include <stdlib.h>

#define DRAWS 20001

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t *draws(const char *text)
{
    static int64_t drawn[DRAWS];
    struct vq_latency latency;
    struct vq_error err = {0};
    if (vq_latency_parse(text, &latency, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    struct vq_rng rng;
    vq_rng_seed(&rng, 1);
    for (size_t i = 0; i < DRAWS; i++) {
        double u = vq_rng_unit(&rng);
        drawn[i] = vq_latency_draw_ns(&latency, u, vq_rng_unit(&rng));
    }
    qsort(drawn, DRAWS, sizeof(drawn[0]), by_size);
    return drawn;
}

TEST(draws_follow_the_distribution)
{
    int64_t *d = draws("20ms");
    assert_int_equal(d[0], 20 * VQ_NS_PER_MS);
    assert_int_equal(d[DRAWS - 1], 20 * VQ_NS_PER_MS);
    assert_int_equal(draws("1.5s")[0], 1500 * VQ_NS_PER_MS);
    assert_int_equal(draws("fixed:250us")[0], 250 * VQ_NS_PER_US);
    assert_int_equal(draws("0")[0], 0);
    d = draws("uniform:10ms:30ms");
    assert_true(d[0] >= 10 * VQ_NS_PER_MS && d[DRAWS - 1] < 30 * VQ_NS_PER_MS);
    assert_in_range(d[DRAWS / 2], 19 * VQ_NS_PER_MS, 21 * VQ_NS_PER_MS);
    d = draws("lognormal:100ms:0.5");
    assert_in_range(d[DRAWS / 2], 97 * VQ_NS_PER_MS, 103 * VQ_NS_PER_MS);
    /* One standard deviation of the logarithm above the median: exp(0.5). */
    assert_in_range(d[(size_t)(DRAWS * 0.8413)], 158 * VQ_NS_PER_MS, 172 * VQ_NS_PER_MS);
    d = draws("lognormal:3000s:5");
    assert_true(d[DRAWS - 1] <= VQ_LATENCY_NS_MAX);
}

TEST(bad_texts_are_refused)
{
    static const char *const bad[] = {"",
                                      "x",
                                      "-1ms",
                                      "20h",
                                      "uniform:5ms",
                                      "uniform:9ms:5ms",
                                      "lognormal:5ms",
                                      "lognormal:5ms:-1",
                                      "5ms:6ms",
                                      "99999s",
                                      "uniform:1ms:2ms:3ms",
                                      "nanms"};
    for (size_t i = 0; i < VQ_COUNT(bad); i++) {
        struct vq_latency latency;
        struct vq_error err = {0};
        assert_int_equal(vq_latency_parse(bad[i], &latency, &err), VQ_INVALID);
        assert_true(err.text[0] != '\0');
    }
}
