/* Every allocation of the numbers room, made to fail once: the call says so, leaks nothing (the
 * sanitizer run sees to that) and works when asked again. The fits have theirs in
 * test_logit_edges. */
#include "fixtures.h"

#include "methods/stats/agreement/agreement.h"
#include "methods/stats/cluster/cluster.h"
#include "methods/stats/cluster/cosine.h"
#include "methods/stats/intervals/bootstrap.h"
#include "methods/stats/intervals/multiple.h"
#include "methods/stats/logit/crossval.h"
#include "methods/stats/logit/lars.h"
#include "methods/stats/logit/legacy.h"
#include "methods/stats/ranking/bradley.h"

enum {
    ROWS = 12,
    COLS = 2
};

static const double X[ROWS * COLS] = {1, 0, 1,  1, -1, 0, 1, 1, 0, -1, 1, 1,
                                      1, 1, -1, 0, 1,  1, 0, 1, 1, 0,  1, -1};
static const double Y[ROWS] = {1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1};
static const uint32_t GROUPS[ROWS] = {1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6};
static const struct vq_matrix MATRIX = {X, ROWS, COLS};
static const struct vq_bootstrap_options DRAWS = {.draws = 4, .level = 0.9, .seed = 1};
static const struct vq_logit_data MIRRORED = {.x = {X, ROWS, COLS}, .y = Y, .mirrored = true};

static enum vq_status run_crossval(void)
{
    struct vq_crossval cv;
    struct vq_crossval_options options = {.mode = VQ_CROSSVAL_LOG_LOSS};
    return vq_crossval_choose_c(&MIRRORED, GROUPS, &options, &cv, NULL);
}

static enum vq_status run_published(void)
{
    struct vq_crossval cv;
    struct vq_crossval_options options = {.mode = VQ_CROSSVAL_PAPER};
    return vq_crossval_choose_c(&MIRRORED, NULL, &options, &cv, NULL);
}

static enum vq_status run_means(void)
{
    struct vq_bootstrap_mean means[COLS];
    return vq_bootstrap_means(MATRIX, NULL, GROUPS, &DRAWS, means, NULL);
}

static enum vq_status run_coefficients(void)
{
    struct vq_interval ci[COLS];
    return vq_bootstrap_coefficients(&MIRRORED, 1.0, 0.5, GROUPS, &DRAWS, ci, NULL, NULL, NULL);
}

static enum vq_status run_lars(void)
{
    size_t order[COLS];
    return vq_lars_order(MATRIX, Y, NULL, order, NULL, NULL);
}

static enum vq_status run_bradley(void)
{
    const double wins[9] = {0, 2, 1, 1, 0, 2, 2, 1, 0};
    double strength[3];
    struct vq_bradley fit = {.log_strength = strength};
    return vq_bradley_fit((struct vq_matrix){wins, 3, 3}, &fit, NULL);
}

static enum vq_status run_adjust(void)
{
    double adjusted[ROWS];
    return vq_multiple_adjust(VQ_MULTIPLE_BH, Y, ROWS, adjusted);
}

static enum vq_status run_cluster(void)
{
    struct vq_logit_fit fit;
    double se[COLS];
    struct vq_logit_data data = {.x = MATRIX, .y = Y};
    enum vq_status status = vq_logit_fit_mle(&data, &fit, NULL);
    if (status == VQ_OK) {
        status = vq_logit_cluster_se(&data, &fit, GROUPS, se, NULL);
        vq_logit_fit_free(&fit);
    }
    return status;
}

static enum vq_status run_tree(void)
{
    const float rows[8] = {0, 0, 0, 1, 2, 0, 2, 1};
    uint32_t labels[4];
    struct vq_cluster_tree tree;
    VQ_TRY(vq_cluster_build((struct vq_vectors){rows, 4, 2}, VQ_CLUSTER_WARD, &tree, NULL));
    enum vq_status status = vq_cluster_cut_count(&tree, 2, labels, NULL);
    vq_cluster_tree_free(&tree);
    return status;
}

static enum vq_status run_nearest(void)
{
    const float rows[4] = {0, 1, 1, 0};
    const struct vq_vectors vectors = {rows, 2, 2};
    uint32_t nearest[2];
    return vq_cosine_nearest(vectors, vectors, nearest, NULL, NULL);
}

static enum vq_status run_wald(void)
{
    const double coef[COLS] = {0.5, -0.5};
    double p[COLS];
    return vq_logit_wald(&MIRRORED, 0.0, coef, NULL, p, NULL);
}

static enum vq_status run_legacy(void)
{
    struct vq_legacy_coef coef[COLS];
    struct vq_legacy legacy = {.coef = coef};
    return vq_legacy_bootstrap(&MIRRORED, &DRAWS, &legacy, NULL);
}

TEST(test_every_allocation)
{
    enum vq_status (*const calls[])(void) = {
        run_crossval, run_published, run_means, run_coefficients, run_lars, run_bradley,
        run_adjust,   run_cluster,   run_tree,  run_nearest,      run_wald, run_legacy,
    };
    for (size_t i = 0; i < VQ_COUNT(calls); i++) {
        enum vq_status status = VQ_NOMEM;
        uint64_t at = 0;
        while (status != VQ_OK) {
            vq_alloc_fail_at(++at);
            status = calls[i]();
            vq_alloc_fail_at(0);
            if (status != VQ_OK && status != VQ_NOMEM) {
                fail_msg("call %zu, allocation %lu: %s", i, (unsigned long)at,
                         vq_status_name(status));
            }
            assert_true(at < 2000);
        }
        assert_true(at > 1); /* it does allocate, and failing was tried */
    }
}

TEST_START(vq_stats_init)
