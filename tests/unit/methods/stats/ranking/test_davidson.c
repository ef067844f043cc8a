/* Davidson's model: reference numbers from another implementation, how often intervals and sets of
 * ranks hold planted strengths, and the status where no estimate exists. */
#include "tests/unit/methods/stats/fixtures.h"

#include "common/base/rng.h"
#include "methods/stats/ranking/davidson.h"

enum {
    ITEMS_MAX = 16,
    ROWS_MAX = 20000
};

struct ranked {
    double strength[ITEMS_MAX], covariance[ITEMS_MAX * ITEMS_MAX];
    struct vq_davidson fit;
    struct vq_davidson_place places[ITEMS_MAX];
};

static void rank(const struct vq_davidson_row *rows, size_t n, uint32_t items, struct ranked *r)
{
    r->fit = (struct vq_davidson){.log_strength = r->strength, .covariance = r->covariance};
    assert_int_equal(vq_davidson_fit(rows, n, items, &r->fit, NULL), VQ_OK);
    assert_int_equal(vq_davidson_places(&r->fit, items, r->places), VQ_OK);
}

static void check_list(const double *got, const json_t *list, double relative)
{
    size_t n;
    double *want = numbers(list, &n);
    for (size_t i = 0; i < n; i++) {
        assert_near(got[i], want[i], relative, 1e-10);
    }
    vq_free(want);
}

TEST(test_fixtures)
{
    json_t *root = fixture_json("ranking/ranking.json");
    const json_t *cases = json_object_get(root, "davidson");
    assert_int_equal(json_array_size(cases), 4);
    for (size_t c = 0; c < json_array_size(cases); c++) {
        const json_t *want = json_array_get(cases, c);
        size_t n;
        double *cells = numbers(json_object_get(want, "rows"), &n);
        struct vq_davidson_row *rows = vq_alloc(n / 6, sizeof(*rows));
        for (size_t k = 0; k < n / 6; k++) {
            const double *at = cells + 6 * k;
            rows[k] = (struct vq_davidson_row){(uint32_t)at[0], (uint32_t)at[1], (uint32_t)at[2],
                                               at[3],           at[4],           at[5]};
        }
        struct ranked r;
        print_message("  %s\n", text(want, "name"));
        rank(rows, n / 6, (uint32_t)number(want, "items"), &r);
        assert_int_equal(r.fit.status, VQ_DAVIDSON_OK);
        check_list(r.strength, json_object_get(want, "log_strength"), 1e-9);
        check_list(r.covariance, json_object_get(want, "covariance"), 1e-8);
        assert_near(r.fit.log_tie, number(want, "log_tie"), 1e-9, 0.0);
        assert_near(r.fit.loglik, number(want, "loglik"), 1e-10, 0.0);
        vq_free(rows);
        vq_free(cells);
    }
    json_decref(root);
}

static double normal(struct vq_rng *rng)
{
    return sqrt(-2.0 * log(1.0 - vq_rng_unit(rng))) * cos(6.283185307179586 * vq_rng_unit(rng));
}

/* Each prompt shifts the models by its own `mood`: comparisons of one prompt are not
 * independent. */
static size_t world(struct vq_rng *rng, const double *strength, uint32_t items, uint32_t prompts,
                    double mood, double log_tie, struct vq_davidson_row *rows)
{
    size_t n = 0;
    for (uint32_t p = 0; p < prompts; p++) {
        double of[ITEMS_MAX];
        for (uint32_t i = 0; i < items; i++) {
            of[i] = strength[i] + mood * normal(rng);
        }
        for (uint32_t i = 0; i < items; i++) {
            for (uint32_t j = i + 1; j < items; j++) {
                double w = exp((of[i] - of[j]) / 2), l = 1 / w, t = exp(log_tie);
                double u = vq_rng_unit(rng) * (w + l + t);
                rows[n++] =
                    (struct vq_davidson_row){i, j, p, u < w, u >= w + l, u >= w && u < w + l};
            }
        }
    }
    return n;
}

/* What the estimate tends to under this mood: of very many prompts. */
static void limit(const double *strength, uint32_t items, double mood, double log_tie,
                  struct vq_davidson_row *rows, double *ret)
{
    struct vq_rng rng;
    vq_rng_seed(&rng, 99);
    double sum[ITEMS_MAX] = {0};
    for (int round = 0; round < 20; round++) {
        struct ranked r;
        size_t n = world(&rng, strength, items, 2000, mood, log_tie, rows);
        rank(rows, n, items, &r);
        for (uint32_t i = 0; i < items; i++) {
            sum[i] += r.strength[i] / 20;
        }
    }
    memcpy(ret, sum, items * sizeof(*ret));
}

TEST(test_coverage)
{
    const double strength[4] = {0.9, 0.2, -0.3, -0.8};
    const uint32_t prompts[] = {15, 40, 120};
    struct vq_davidson_row *rows = vq_alloc(ROWS_MAX, sizeof(*rows));
    double truth[ITEMS_MAX];
    const double mood = 1.0;
    limit(strength, 4, mood, -0.5, rows, truth);
    for (size_t c = 0; c < VQ_COUNT(prompts); c++) {
        size_t held = 0, all = 0, sets = 0, rounds = 0;
        uint64_t seed = 700 + prompts[c];
        struct vq_rng rng;
        vq_rng_seed(&rng, seed);
        for (int round = 0; round < 1000; round++) {
            struct ranked r;
            size_t n = world(&rng, strength, 4, prompts[c], mood, -0.5, rows);
            rank(rows, n, 4, &r);
            if (r.fit.status != VQ_DAVIDSON_OK) {
                continue;
            }
            bool set = true;
            rounds++;
            for (uint32_t i = 0; i < 4; i++) {
                all++;
                held += r.places[i].ci95.lo <= truth[i] && truth[i] <= r.places[i].ci95.hi;
                set = set && r.places[i].rank_from <= i + 1 && i + 1 <= r.places[i].rank_to;
            }
            sets += set;
        }
        double coverage = (double)held / (double)all, of_sets = (double)sets / (double)rounds;
        print_message("  %u prompts, seed %llu: intervals %.3f, sets of ranks %.3f of %zu\n",
                      prompts[c], (unsigned long long)seed, coverage, of_sets, rounds);
        assert_true(coverage >= 0.93 && coverage <= 0.985);
        assert_true(of_sets >= 0.94);
        assert_true(rounds >= 980);
    }
    vq_free(rows);
}

static struct vq_davidson_row said(uint32_t i, uint32_t j, uint32_t cluster, int score)
{
    return (struct vq_davidson_row){i, j, cluster, score > 0, score == 0, score < 0};
}

TEST(test_no_estimate)
{
    struct vq_davidson_row rows[64];
    struct ranked r;
    for (uint32_t k = 0; k < 60; k++) { /* 0 always wins */
        rows[k] = k % 3 == 2 ? said(1, 2, k, (int)(k % 2) - 1) : said(0, 1 + k % 3, k, 1);
    }
    rank(rows, 60, 3, &r);
    assert_int_equal(r.fit.status, VQ_DAVIDSON_SEPARATED);
    assert_true(r.strength[0] > r.strength[1] && isfinite(r.strength[0]));
    assert_true(isnan(r.places[0].ci95.lo) && isnan(r.fit.loglik));
    assert_int_equal(r.places[0].rank, 1);
    assert_int_equal(r.places[0].rank_to, 3);

    for (uint32_t k = 0; k < 20;
         k++) { /* of two, wins and ties alone: wins beside ties run away together */
        rows[k] = said(0, 1, k, k % 2);
    }
    rank(rows, 20, 2, &r);
    assert_int_equal(r.fit.status, VQ_DAVIDSON_SEPARATED);
    assert_true(r.strength[0] > 0 && isnan(r.places[0].ci95.lo));

    for (uint32_t k = 0; k < 20; k++) {
        rows[k] = said(0, 1, k, 0);
        rows[20 + k] = said(1, 2, k, 0);
    }
    rank(rows, 40, 3, &r);
    assert_int_equal(r.fit.status, VQ_DAVIDSON_NO_DECISION);
    assert_true(r.strength[2] == 0.0 && r.places[2].rank == 3 && r.places[2].rank_from == 1);

    for (uint32_t k = 0; k < 40; k++) {
        rows[k] = k < 20 ? said(0, 1, k, k % 2 ? 1 : -1) : said(2, 3, k, k % 2 ? 1 : -1);
    }
    rank(rows, 40, 4, &r);
    assert_int_equal(r.fit.status, VQ_DAVIDSON_UNCONNECTED);
    assert_true(isnan(r.strength[0]));

    for (uint32_t k = 0; k < 40; k++) {
        rows[k] = said(0, 1, k % 7, k % 3 ? 1 : -1);
    }
    rank(rows, 40, 2, &r);
    assert_int_equal(r.fit.status, VQ_DAVIDSON_FEW_CLUSTERS);
    assert_int_equal(r.fit.clusters, 7);
    assert_near(r.strength[0] - r.strength[1], log(26.0 / 14.0), 1e-9, 0.0);
    assert_true(isnan(r.fit.log_tie) && isnan(r.places[0].ci95.lo));
    rank(rows, 0, 2, &r);
    assert_int_equal(r.fit.status, VQ_DAVIDSON_UNCONNECTED);
}

TEST(test_rows_without_a_verdict_and_bad_ones)
{
    struct vq_davidson_row rows[30];
    struct ranked with, without;
    for (uint32_t k = 0; k < 24; k++) {
        rows[k] = said(0, 1, k, (int)(k % 3) - 1);
    }
    rank(rows, 24, 2, &without);
    rows[24] = (struct vq_davidson_row){0, 1, 77, 0, 0, 0};
    rank(rows, 25, 2, &with);
    assert_true(with.fit.clusters == 24 && with.covariance[0] == without.covariance[0]);
    rows[24].j = 0;
    assert_int_equal(vq_davidson_fit(rows, 25, 2, &with.fit, NULL), VQ_INVALID);
    rows[24] = (struct vq_davidson_row){0, 1, 3, -1, 0, 0};
    assert_int_equal(vq_davidson_fit(rows, 25, 2, &with.fit, NULL), VQ_INVALID);
    rows[24] = (struct vq_davidson_row){0, 2, 3, 1, 0, 0};
    assert_int_equal(vq_davidson_fit(rows, 25, 2, &with.fit, NULL), VQ_INVALID);
    assert_int_equal(vq_davidson_fit(rows, 24, 1, &with.fit, NULL), VQ_INVALID);
}

TEST_START(vq_stats_init)
