/* Designs of pairs: who is compared with whom, how often, and what is refused. */
#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "methods/data/pairs.h"

#include <string.h>

static const char *const names[VQ_MODELS_MAX] = {"a", "b", "c", "d", "e", "f", "g", "h",
                                                 "i", "j", "k", "l", "m", "n", "o", "p"};

static struct vq_pairs planned(const struct vq_conf_pairs *conf, uint32_t models, uint64_t seed,
                               uint32_t records, uint64_t calls_each)
{
    struct vq_pairs p;
    struct vq_error err = {0};
    if (vq_pairs_plan(conf, names, models, seed, records, calls_each, &p, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    return p;
}

/* How often each pair is compared over n records, [a * 16 + b]. */
static void counted(const struct vq_pairs *p, uint32_t n, uint32_t ret[256])
{
    memset(ret, 0, 256 * sizeof(*ret));
    for (uint32_t record = 0; record < n; record++) {
        uint64_t from, until;
        vq_pairs_of(p, record, &from, &until);
        assert_true(until - from <= p->count);
        for (uint64_t k = from; k < until; k++) {
            struct vq_pair pair = p->pair[k % p->count];
            assert_true(pair.a < pair.b && pair.b < p->models);
            ret[pair.a * 16 + pair.b]++;
        }
    }
}

TEST(all_pairs_and_a_baseline)
{
    uint32_t n[256];
    for (uint32_t models = 3; models <= 16; models++) {
        struct vq_pairs p = planned(NULL, models, 1, 10, 0);
        assert_int_equal(p.count, models * (models - 1) / 2);
        counted(&p, 10, n);
        for (uint32_t a = 0; a < models; a++) {
            for (uint32_t b = a + 1; b < models; b++) {
                assert_int_equal(n[a * 16 + b], 10);
            }
        }
    }
    char base[] = "c";
    struct vq_conf_pairs conf = {.design = VQ_PAIRS_BASELINE, .baseline = base};
    struct vq_pairs p = planned(&conf, 5, 1, 7, 0);
    assert_int_equal(p.count, 4);
    counted(&p, 7, n);
    assert_true(n[0 * 16 + 2] == 7 && n[1 * 16 + 2] == 7 && n[2 * 16 + 3] == 7 &&
                n[2 * 16 + 4] == 7);
}

/* Over any number of records counts of pairs differ by 1 at most; within a record no model is far
 * ahead of another. */
TEST(the_incomplete_design_is_balanced)
{
    for (uint32_t models = 3; models <= 16; models++) {
        for (uint32_t each = 1; each <= 4 && each <= models * (models - 1) / 2; each++) {
            struct vq_conf_pairs conf = {.design = VQ_PAIRS_INCOMPLETE, .per_prompt = each};
            struct vq_pairs p = planned(&conf, models, 5, 331, 0);
            uint32_t n[256], least = UINT32_MAX, most = 0, all = 0;
            counted(&p, 331, n);
            for (uint32_t a = 0; a < models; a++) {
                for (uint32_t b = a + 1; b < models; b++) {
                    least = n[a * 16 + b] < least ? n[a * 16 + b] : least;
                    most = n[a * 16 + b] > most ? n[a * 16 + b] : most;
                    all += n[a * 16 + b];
                }
            }
            assert_int_equal(all, 331 * each);
            assert_true(most - least <= 1);
        }
    }
}

TEST(a_round_has_no_model_twice)
{
    struct vq_conf_pairs conf = {.design = VQ_PAIRS_INCOMPLETE, .per_prompt = 4};
    struct vq_pairs p = planned(&conf, 8, 9, 100, 0);
    for (uint32_t round = 0; round < 7; round++) {
        uint32_t seen = 0;
        for (uint32_t k = 0; k < 4; k++) {
            struct vq_pair pair = p.pair[4 * round + k];
            assert_int_equal(seen & (1u << pair.a | 1u << pair.b), 0);
            seen |= 1u << pair.a | 1u << pair.b;
        }
    }
}

TEST(the_seed_alone_changes_the_list)
{
    struct vq_conf_pairs conf = {.design = VQ_PAIRS_INCOMPLETE, .per_prompt = 2};
    struct vq_pairs one = planned(&conf, 6, 1, 100, 0), again = planned(&conf, 6, 1, 900, 0);
    struct vq_pairs other = planned(&conf, 6, 2, 100, 0);
    assert_memory_equal(one.pair, again.pair, 15 * sizeof(one.pair[0]));
    assert_memory_not_equal(one.pair, other.pair, 15 * sizeof(one.pair[0]));
}

TEST(calls_are_a_budget)
{
    struct vq_conf_pairs conf = {.design = VQ_PAIRS_INCOMPLETE, .calls = 1000};
    struct vq_pairs p = planned(&conf, 4, 1, 60, 20); /* 50 comparisons over 60 records */
    uint32_t n[256], all = 0;
    counted(&p, 60, n);
    for (uint32_t k = 0; k < 256; k++) {
        all += n[k];
    }
    assert_int_equal(all, 50);
    conf.calls = 1000000; /* more than there are pairs for */
    p = planned(&conf, 4, 1, 60, 20);
    counted(&p, 60, n);
    assert_int_equal(n[0 * 16 + 1], 60);
    struct vq_error err = {0};
    conf.calls = 119;
    assert_int_equal(vq_pairs_plan(&conf, names, 4, 1, 60, 20, &p, &err), VQ_INVALID);
    assert_non_null(strstr(err.text, "5 comparisons are less than one for each of the 6 pairs"));
    assert_non_null(strstr(err.text, "pairs.calls"));
    conf = (struct vq_conf_pairs){.design = VQ_PAIRS_INCOMPLETE, .per_prompt = 1};
    assert_int_equal(vq_pairs_plan(&conf, names, 16, 1, 100, 0, &p, &err), VQ_INVALID);
    assert_non_null(strstr(err.text, "pairs.per_prompt"));
}
