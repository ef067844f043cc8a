/* Similarity against a plain dynamic programme, on random texts across block borders, and on code
 * points. */
#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "methods/data/similarity.h"

#include <stdio.h>
#include <stdlib.h>

static uint32_t percent(const char *a, const char *b)
{
    struct vq_similarity work = {0};
    uint32_t found = UINT32_MAX;
    assert_int_equal(vq_similarity_percent(&work, vq_span_str(a), vq_span_str(b), &found), VQ_OK);
    uint32_t other_way = UINT32_MAX;
    assert_int_equal(vq_similarity_percent(&work, vq_span_str(b), vq_span_str(a), &other_way),
                     VQ_OK);
    assert_int_equal(found, other_way);
    vq_similarity_free(&work);
    return found;
}

TEST(test_known_values)
{
    assert_int_equal(percent("", ""), 100);
    assert_int_equal(percent("", "a"), 0);
    assert_int_equal(percent("same", "same"), 100);
    assert_int_equal(percent("abc", "xyz"), 0);
    assert_int_equal(percent("abcd", "abce"), 75);
    assert_int_equal(percent("ABCBDAB", "BDCABA"), 62); /* 2 * 4 / 13 = 61.5, halves up */
    assert_int_equal(percent("kitten", "sitting"), 62); /* 2 * 4 / 13 */
    assert_int_equal(percent("aaaaaaaaaaaaaaaaaaab", "aaaaaaaaaaaaaaaaaaac"), 95);
    assert_int_equal(percent("abcdefgh", "abcdefgh!?"), 89); /* 16 / 18 = 88.9 */
}

TEST(test_code_points_not_bytes)
{
    assert_int_equal(percent("\xc3\xa9", "\xc3\xa8"), 0); /* the two share a byte, not a letter */
    assert_int_equal(percent("\xe6\xa8\xa1\xe5\x9e\x8b", "\xe6\xa8\xa1"), 67);
    assert_int_equal(percent("\xf0\x9f\x98\x80x", "\xf0\x9f\x98\x81x"), 50);
}

static size_t slow_length(const uint32_t *a, size_t n, const uint32_t *b, size_t m)
{
    size_t *row = calloc(m + 1, sizeof(*row));
    assert_non_null(row);
    for (size_t i = 0; i < n; i++) {
        size_t diagonal = 0;
        for (size_t j = 0; j < m; j++) {
            size_t up = row[j + 1];
            size_t best = up > row[j] ? up : row[j];
            row[j + 1] = a[i] == b[j] ? diagonal + 1 : best;
            diagonal = up;
        }
    }
    size_t length = row[m];
    free(row);
    return length;
}

/* Random texts over a random alphabet, as bytes and as code points. */
struct text {
    char *at;
    uint32_t *points;
    size_t n;
};

static struct text random_text(struct vq_rng *rng, size_t most, uint64_t letters)
{
    struct text t = {.n = (size_t)vq_rng_below(rng, most + 1)};
    t.at = malloc(t.n + 1);
    t.points = malloc((t.n + 1) * sizeof(*t.points));
    assert_true(t.at != NULL && t.points != NULL);
    for (size_t i = 0; i < t.n; i++) {
        t.at[i] = (char)('!' + vq_rng_below(rng, letters));
        t.points[i] = (uint32_t)t.at[i];
    }
    return t;
}

TEST(test_agrees_with_the_plain_method)
{
    struct vq_rng rng;
    vq_rng_seed(&rng, 7);
    struct vq_similarity work = {0};
    for (int round = 0; round < 400; round++) {
        size_t most = round < 380 ? 300 : 9000; /* above 4,096 there is more than one block */
        uint64_t letters = 1 + vq_rng_below(&rng, 60);
        struct text a = random_text(&rng, most, letters);
        struct text b = random_text(&rng, most, letters);
        size_t total = a.n + b.n;
        size_t length = slow_length(a.points, a.n, b.points, b.n);
        uint32_t expected = total == 0 ? 100 : (uint32_t)((400 * length + total) / (2 * total));
        uint32_t found = UINT32_MAX;
        assert_int_equal(
            vq_similarity_percent(&work, vq_span(a.at, a.n), vq_span(b.at, b.n), &found), VQ_OK);
        assert_int_equal(found, expected);
        for (uint32_t at = expected; at <= expected + 1; at++) {
            bool yes = at != expected;
            assert_int_equal(
                vq_similarity_at_least(&work, vq_span(a.at, a.n), vq_span(b.at, b.n), at, &yes),
                VQ_OK);
            assert_int_equal(yes, at == expected);
        }
        free(a.at);
        free(a.points);
        free(b.at);
        free(b.points);
    }
    vq_similarity_free(&work);
}

TEST(test_limits_and_memory)
{
    struct vq_similarity work = {0};
    size_t n = VQ_SIMILARITY_POINTS_MAX + 1;
    char *longest = malloc(n);
    assert_non_null(longest);
    memset(longest, 'a', n);
    uint32_t found = 77;
    assert_int_equal(vq_similarity_percent(&work, vq_span(longest, n), vq_span_str("a"), &found),
                     VQ_LIMIT);
    assert_int_equal(found, 77);
    assert_int_equal(
        vq_similarity_percent(&work, vq_span(longest, n - 1), vq_span(longest, n - 1), &found),
        VQ_OK);
    assert_int_equal(found, 100);
    vq_similarity_free(&work);
    free(longest);
    for (uint64_t fail = 1;; fail++) {
        vq_alloc_fail_at(fail);
        enum vq_status status =
            vq_similarity_percent(&work, vq_span_str("abxcd"), vq_span_str("abycd"), &found);
        vq_alloc_fail_at(0);
        vq_similarity_free(&work);
        if (status == VQ_OK) {
            assert_int_equal(found, 80);
            break;
        }
        assert_int_equal(status, VQ_NOMEM);
    }
}
