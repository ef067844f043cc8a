/* Clustering: the fixtures (SciPy's tables), the definition carried out by brute force, and the
 * edges. The fixtures' cosine and single-linkage cases are not ours to offer. */
#include "tests/unit/methods/stats/fixtures.h"

#include "common/base/rng.h"
#include "methods/stats/cluster/cluster.h"
#include "methods/stats/cluster/cluster_distance.h"

#define REL_HEIGHT 1e-5
#define FLOAT_ULP  1.2e-7

static const char *const LINKAGES[] = {"ward", "average", "complete"};

static void build(const float *at, size_t n, size_t d, enum vq_cluster_linkage linkage,
                  struct vq_cluster_tree *ret_tree)
{
    struct vq_error err = {0};
    enum vq_status status =
        vq_cluster_build((struct vq_vectors){at, n, d}, linkage, ret_tree, &err);
    if (status != VQ_OK) {
        fail_msg("%s: %s", vq_status_name(status), err.text);
    }
}

static void check_labels(const uint32_t *labels, const json_t *want, size_t n)
{
    assert_int_equal(json_array_size(want), n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(labels[i], json_integer_value(json_array_get(want, i)));
    }
}

static void check_cuts(const struct vq_cluster_tree *tree, const json_t *cuts)
{
    uint32_t *labels = vq_alloc(tree->rows, sizeof(*labels));
    assert_non_null(labels);
    size_t index;
    json_t *cut;
    json_array_foreach(cuts, index, cut)
    {
        size_t k = (size_t)json_integer_value(json_object_get(cut, "k"));
        assert_int_equal(vq_cluster_cut_count(tree, k, labels, NULL), VQ_OK);
        check_labels(labels, json_object_get(cut, "labels"), tree->rows);
    }
    vq_free(labels);
}

static void check_case(const struct table *table, const float *at, const json_t *one, bool unique)
{
    for (size_t kind = 0; kind < VQ_COUNT(LINKAGES); kind++) {
        if (strcmp(text(one, "method"), LINKAGES[kind]) != 0) {
            continue;
        }
        struct vq_cluster_tree tree;
        build(at, table->rows, table->cols, (enum vq_cluster_linkage)kind, &tree);
        size_t numbers_count;
        double *z = numbers(json_object_get(one, "Z"), &numbers_count);
        assert_int_equal(numbers_count, 4 * (table->rows - 1));
        for (size_t m = 0; m + 1 < table->rows; m++) {
            assert_near(tree.merges[m].height, z[4 * m + 2], REL_HEIGHT, 0.0);
            if (unique) {
                assert_int_equal(tree.merges[m].a, (uint32_t)fmin(z[4 * m], z[4 * m + 1]));
                assert_int_equal(tree.merges[m].b, (uint32_t)fmax(z[4 * m], z[4 * m + 1]));
                assert_int_equal(tree.merges[m].size, (uint32_t)z[4 * m + 3]);
            }
        }
        vq_free(z);
        check_cuts(&tree, json_object_get(one, "cuts"));
        vq_cluster_tree_free(&tree);
    }
}

TEST(test_fixtures)
{
    const char *const names[] = {"c1_small", "c2_medium", "c3_unnormalised", "c4_duplicates",
                                 "c5_no_structure"};
    size_t checked = 0;
    for (size_t i = 0; i < VQ_COUNT(names); i++) {
        char path[128];
        (void)snprintf(path, sizeof(path), "clustering/%s.csv", names[i]);
        struct table table = fixture_table(path);
        float *at = vq_alloc(table.rows * table.cols, sizeof(*at));
        assert_non_null(at);
        for (size_t cell = 0; cell < table.rows * table.cols; cell++) {
            at[cell] = (float)table.at[cell];
        }
        (void)snprintf(path, sizeof(path), "clustering/%s.json", names[i]);
        json_t *root = fixture_json(path);
        bool unique = json_is_true(json_object_get(root, "merge_order_unique"));
        size_t index;
        json_t *one;
        json_array_foreach(json_object_get(root, "cases"), index, one)
        {
            if (strcmp(text(one, "metric"), "euclidean") == 0) {
                check_case(&table, at, one, unique);
                checked++;
            }
        }
        json_decref(root);
        vq_free(at);
        vq_free(table.at);
    }
    assert_int_equal(checked, 15);
}

/* The height at which two groups of rows would merge, from its definition and the rows. */
static double defined_height(const float *at, size_t n, size_t d, const uint32_t *group, uint32_t a,
                             uint32_t b, enum vq_cluster_linkage linkage)
{
    double sum = 0.0, most = 0.0, size_a = 0.0, size_b = 0.0, gap = 0.0;
    for (size_t i = 0; i < n; i++) {
        size_a += group[i] == a;
        size_b += group[i] == b;
        for (size_t j = 0; group[i] == a && j < n; j++) {
            if (group[j] == b) {
                double one = sqrt(vq_vectors_distance_squared(at + i * d, at + j * d, d));
                sum += one;
                most = fmax(most, one);
            }
        }
    }
    for (size_t col = 0; col < d; col++) {
        double mean_a = 0.0, mean_b = 0.0;
        for (size_t i = 0; i < n; i++) {
            mean_a += group[i] == a ? (double)at[i * d + col] / size_a : 0.0;
            mean_b += group[i] == b ? (double)at[i * d + col] / size_b : 0.0;
        }
        gap += (mean_a - mean_b) * (mean_a - mean_b);
    }
    switch (linkage) {
    case VQ_CLUSTER_WARD: return sqrt(2.0 * size_a * size_b / (size_a + size_b) * gap);
    case VQ_CLUSTER_AVERAGE: return sum / (size_a * size_b);
    case VQ_CLUSTER_COMPLETE: return most;
    }
    return NAN;
}

/* Groups are named by their lowest row; the nearest two merge until one is left; every partition is
 * compared. */
static void check_against_definition(const float *at, size_t n, size_t d,
                                     enum vq_cluster_linkage linkage)
{
    struct vq_cluster_tree tree;
    build(at, n, d, linkage, &tree);
    uint32_t group[40], labels[40];
    for (uint32_t i = 0; i < n; i++) {
        group[i] = i;
    }
    for (size_t m = 0; m + 1 < n; m++) {
        double best = INFINITY;
        uint32_t best_a = 0, best_b = 0;
        for (uint32_t a = 0; a < n; a++) {
            for (uint32_t b = a + 1; b < n; b++) {
                if (group[a] == a && group[b] == b) {
                    double height = defined_height(at, n, d, group, a, b, linkage);
                    if (height < best) {
                        best = height;
                        best_a = a;
                        best_b = b;
                    }
                }
            }
        }
        for (size_t i = 0; i < n; i++) {
            group[i] = group[i] == best_b ? best_a : group[i];
        }
        assert_near(tree.merges[m].height, best, REL_HEIGHT, 0.0);
        assert_int_equal(vq_cluster_cut_count(&tree, n - m - 1, labels, NULL), VQ_OK);
        uint32_t next = 0;
        for (size_t i = 0; i < n; i++) {
            next += group[i] == i;
            assert_int_equal(labels[i], group[i] == i ? next - 1 : labels[group[i]]);
        }
        assert_int_equal(next, n - m - 1);
    }
    vq_cluster_tree_free(&tree);
}

TEST(test_definition)
{
    struct vq_rng rng;
    vq_rng_seed(&rng, 7);
    float at[40 * 6];
    for (size_t round = 0; round < 60; round++) {
        size_t n = 2 + vq_rng_below(&rng, 24);
        size_t d = 1 + vq_rng_below(&rng, 6);
        float offset = round % 3 == 0 ? 100.0F : 0.0F; /* a common offset cancels in the products */
        for (size_t cell = 0; cell < n * d; cell++) {
            at[cell] = (float)(vq_rng_unit(&rng) + vq_rng_unit(&rng)) + offset;
        }
        for (size_t kind = 0; kind < VQ_COUNT(LINKAGES); kind++) {
            check_against_definition(at, n, d, (enum vq_cluster_linkage)kind);
        }
    }
}

/* Points of a small grid: most distances tie and many rows coincide. What must hold holds, twice
 * alike. */
TEST(test_ties)
{
    struct vq_rng rng;
    vq_rng_seed(&rng, 11);
    float at[150];
    uint32_t labels[50];
    for (size_t round = 0; round < 60; round++) {
        size_t n = 2 + vq_rng_below(&rng, 49);
        for (size_t cell = 0; cell < n * 3; cell++) {
            at[cell] = (float)vq_rng_below(&rng, 3);
        }
        enum vq_cluster_linkage kind = (enum vq_cluster_linkage)(round % 3);
        struct vq_cluster_tree tree, again;
        build(at, n, 3, kind, &tree);
        build(at, n, 3, kind, &again);
        bool used[100] = {0};
        for (size_t m = 0; m + 1 < n; m++) {
            const struct vq_cluster_merge *one = &tree.merges[m];
            assert_true(m == 0 || one->height >= tree.merges[m - 1].height);
            assert_true(one->a < one->b && one->b < n + m && !used[one->a] && !used[one->b]);
            used[one->a] = used[one->b] = true;
            assert_true(one->a == again.merges[m].a && one->b == again.merges[m].b);
            assert_memory_equal(&one->height, &again.merges[m].height, sizeof(one->height));
        }
        assert_int_equal(tree.merges[n - 2].size, n);
        for (size_t k = 1; k <= n; k++) {
            assert_int_equal(vq_cluster_cut_count(&tree, k, labels, NULL), VQ_OK);
            uint32_t next = 0;
            for (size_t i = 0; i < n; i++) {
                assert_true(labels[i] <= next);
                next += labels[i] == next;
            }
            assert_int_equal(next, k);
        }
        vq_cluster_tree_free(&tree);
        vq_cluster_tree_free(&again);
    }
}

TEST(test_tie_rule)
{
    const float square[8] = {0, 0, 0, 1, 1, 0, 1, 1}; /* rows 0, 1 and 2, 3 at once; 0, 2 as near */
    struct vq_cluster_tree tree;
    build(square, 4, 2, VQ_CLUSTER_COMPLETE, &tree);
    assert_int_equal(tree.merges[0].a, 0);
    assert_int_equal(tree.merges[0].b, 1);
    assert_int_equal(tree.merges[1].a, 2);
    assert_int_equal(tree.merges[1].b, 3);
    assert_near(tree.merges[2].height, sqrt(2.0), FLOAT_ULP, 0.0);
    uint32_t labels[4];
    assert_int_equal(vq_cluster_cut_count(&tree, 3, labels, NULL), VQ_OK); /* within the tie */
    assert_int_equal(labels[1], 0);
    assert_int_equal(labels[3], 2);
    vq_cluster_tree_free(&tree);
}

TEST(test_one_and_two)
{
    const float rows[4] = {3, 0, 0, 4};
    uint32_t labels[2] = {9, 9};
    struct vq_cluster_tree tree;
    build(rows, 1, 2, VQ_CLUSTER_WARD, &tree);
    assert_int_equal(vq_cluster_cut_count(&tree, 1, labels, NULL), VQ_OK);
    assert_int_equal(labels[0], 0);
    assert_int_equal(vq_cluster_cut_count(&tree, 2, labels, NULL), VQ_INVALID);
    assert_int_equal(vq_cluster_cut_count(&tree, 0, labels, NULL), VQ_INVALID);
    vq_cluster_tree_free(&tree);
    for (size_t kind = 0; kind < VQ_COUNT(LINKAGES); kind++) {
        build(rows, 2, 2, (enum vq_cluster_linkage)kind, &tree);
        assert_near(tree.merges[0].height, 5.0, 0.0, 0.0);
        assert_int_equal(tree.merges[0].size, 2);
        assert_int_equal(vq_cluster_cut_count(&tree, 2, labels, NULL), VQ_OK);
        assert_int_equal(labels[1], 1);
        vq_cluster_tree_free(&tree);
    }
}

TEST(test_refusals)
{
    const float bad[] = {NAN, INFINITY, -INFINITY, 2e15F};
    struct vq_cluster_tree tree = {.rows = 77};
    struct vq_error err;
    for (size_t i = 0; i < VQ_COUNT(bad); i++) {
        float at[6] = {0, 1, 2, 3, 4, 5};
        at[3] = bad[i];
        assert_int_equal(
            vq_cluster_build((struct vq_vectors){at, 3, 2}, VQ_CLUSTER_WARD, &tree, &err),
            VQ_INVALID);
        assert_non_null(strstr(err.text, "number 1 of vector 1"));
    }
    const float one[1] = {1};
    struct vq_vectors none = {one, 0, 1}, flat = {one, 1, 0};
    struct vq_vectors tall = {one, VQ_CLUSTER_ROWS_MAX + 1, 1};
    struct vq_vectors wide = {one, 1, VQ_VECTORS_COLS_MAX + 1};
    assert_int_equal(vq_cluster_build(none, VQ_CLUSTER_WARD, &tree, NULL), VQ_INVALID);
    assert_int_equal(vq_cluster_build(flat, VQ_CLUSTER_WARD, &tree, NULL), VQ_INVALID);
    assert_int_equal(vq_cluster_build(tall, VQ_CLUSTER_WARD, &tree, NULL), VQ_LIMIT);
    assert_int_equal(vq_cluster_build(wide, VQ_CLUSTER_WARD, &tree, NULL), VQ_LIMIT);
    assert_int_equal(tree.rows, 77);
}

/* Very large and very small values: the heights scale with them. */
TEST(test_scales)
{
    struct vq_rng rng;
    vq_rng_seed(&rng, 5);
    float plain[60], scaled[60];
    for (size_t cell = 0; cell < 60; cell++) {
        plain[cell] = (float)vq_rng_unit(&rng);
    }
    const int shifts[] = {49, -60, -100};
    for (size_t s = 0; s < VQ_COUNT(shifts); s++) {
        for (size_t cell = 0; cell < 60; cell++) {
            scaled[cell] = ldexpf(plain[cell], shifts[s]);
        }
        struct vq_cluster_tree tree, same;
        build(plain, 20, 3, VQ_CLUSTER_WARD, &tree);
        build(scaled, 20, 3, VQ_CLUSTER_WARD, &same);
        for (size_t m = 0; m < 19; m++) {
            assert_near(same.merges[m].height, ldexp(tree.merges[m].height, shifts[s]), 0.0, 0.0);
        }
        vq_cluster_tree_free(&tree);
        vq_cluster_tree_free(&same);
    }
}

/* Whatever the block: a float's last digit at most, and duplicates at 0 whichever blocks they fall
 * into. */
TEST(test_blocks)
{
    enum {
        N = 90,
        D = 70
    };
    static float at[N * D];
    static float distances[N * (N - 1) / 2];
    struct vq_rng rng;
    vq_rng_seed(&rng, 3);
    for (size_t cell = 0; cell < N * D; cell++) {
        at[cell] = 10.0F + (float)vq_rng_unit(&rng);
    }
    memcpy(at + 80 * D, at + 2 * D, D * sizeof(*at));
    memcpy(at + 41 * D, at + 40 * D, D * sizeof(*at));
    at[41 * D] = nextafterf(at[41 * D], 0.0F); /* as near as two rows can be */
    const size_t blocks[] = {1, 7, 64, N, VQ_CLUSTER_BLOCK};
    for (size_t b = 0; b < VQ_COUNT(blocks); b++) {
        struct vq_vectors x = {at, N, D};
        assert_int_equal(vq_cluster_distances(x, blocks[b], distances), VQ_OK);
        for (size_t i = 0, pair = 0; i < N; i++) {
            for (size_t j = i + 1; j < N; j++, pair++) {
                assert_int_equal(pair, vq_cluster_pair(N, i, j));
                double want = sqrt(vq_vectors_distance_squared(at + i * D, at + j * D, D));
                assert_near(distances[pair], want, FLOAT_ULP, 0.0);
            }
        }
        assert_true(distances[vq_cluster_pair(N, 2, 80)] <= 0.0F);
        assert_true(distances[vq_cluster_pair(N, 40, 41)] > 0.0F);
    }
    assert_int_equal(vq_cluster_pairs(0), 0);
    assert_int_equal(vq_cluster_pairs(N), N * (N - 1) / 2);
    assert_int_equal(vq_cluster_pairs(VQ_CLUSTER_ROWS_MAX), (size_t)32768 * 32767 / 2);
}

TEST_START(vq_stats_init)
