/* bench-stats [ROWS_MAX [VECTORS_MAX]]: the time that the statistics of a run take. For n = 10^4,
 * 10^5, 10^6 rows and k = 10, 20, 50 vibes of planted scores in {-1, -1/2, 0, 1/2, 1}: the mirrored
 * L2 fit at one C, the maximum-likelihood fit with its proof of overlap, the order by lasso path,
 * and 1,000 bootstrap draws of all means. Then the case of a common run: the choice of C and 1,000
 * refits for the intervals of the coefficients. Last the clustering of 1,000, 5,000 and, if
 * VECTORS_MAX (5,000) allows, 20,000 vectors of 1,024 numbers around planted centres, with the
 * process's peak of resident memory (including the input). Prints one line per size; seconds of one
 * thread. */
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/rng.h"
#include "methods/stats/cluster/cluster.h"
#include "methods/stats/intervals/bootstrap.h"
#include "methods/stats/logit/crossval.h"
#include "methods/stats/logit/lars.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

struct problem {
    double *x;
    double *y;
    struct vq_logit_data data;
};

static void check(enum vq_status status, const char *what)
{
    if (status != VQ_OK) {
        (void)fprintf(stderr, "bench-stats: %s: %s\n", what, vq_status_text(status));
        exit(1);
    }
}

static double seconds_since(int64_t start_ns)
{
    return (double)(vq_clock_mono_ns() - start_ns) / (double)VQ_NS_PER_S;
}

/* Every third vibe leans to one model; the lean decreases. */
static struct problem plant(size_t rows, size_t cols)
{
    struct problem p = {0};
    p.x = vq_alloc(rows * cols, sizeof(double));
    p.y = vq_alloc(rows, sizeof(double));
    if (p.x == NULL || p.y == NULL) {
        check(VQ_NOMEM, "planting data");
    }
    struct vq_rng rng;
    vq_rng_seed(&rng, 2026);
    for (size_t row = 0; row < rows; row++) {
        p.y[row] = 1.0;
        for (size_t col = 0; col < cols; col++) {
            double score = (double)vq_rng_below(&rng, 5) / 2.0 - 1.0;
            bool leans = col % 3 == 0 && vq_rng_unit(&rng) < 0.3 / (double)(col + 1);
            p.x[row * cols + col] = leans ? 1.0 : score;
        }
    }
    p.data = (struct vq_logit_data){
        .x = {.at = p.x, .rows = rows, .cols = cols}, .y = p.y, .mirrored = true};
    return p;
}

static void unplant(struct problem *p)
{
    vq_free(p->x);
    vq_free(p->y);
}

static double time_l2(const struct problem *p, int *ret_steps)
{
    struct vq_logit_fit fit;
    int64_t start = vq_clock_mono_ns();
    check(vq_logit_fit_l2(&p->data, 1.0, &fit, NULL), "the L2 fit");
    double seconds = seconds_since(start);
    *ret_steps = fit.iterations;
    vq_logit_fit_free(&fit);
    return seconds;
}

static double time_mle(const struct problem *p, enum vq_logit_status *ret_status)
{
    struct vq_logit_fit fit;
    int64_t start = vq_clock_mono_ns();
    check(vq_logit_fit_mle(&p->data, &fit, NULL), "the maximum-likelihood fit");
    double seconds = seconds_since(start);
    *ret_status = fit.status;
    vq_logit_fit_free(&fit);
    return seconds;
}

static double time_lars(const struct problem *p)
{
    size_t order[VQ_STATS_COLS_MAX];
    int64_t start = vq_clock_mono_ns();
    check(vq_lars_order(p->data.x, p->y, NULL, order, NULL, NULL), "the lasso path");
    return seconds_since(start);
}

static double time_means(const struct problem *p)
{
    struct vq_bootstrap_options options = {.draws = VQ_BOOTSTRAP_DRAWS, .level = 0.95, .seed = 1};
    struct vq_bootstrap_mean ret[VQ_STATS_COLS_MAX];
    int64_t start = vq_clock_mono_ns();
    check(vq_bootstrap_means(p->data.x, NULL, NULL, &options, ret, NULL), "the bootstrap");
    return seconds_since(start);
}

static void line(size_t rows, size_t cols)
{
    struct problem p = plant(rows, cols);
    int steps;
    enum vq_logit_status status;
    double l2 = time_l2(&p, &steps);
    double mle = time_mle(&p, &status);
    double lars = time_lars(&p);
    double means = time_means(&p);
    printf("%9zu %4zu %9.3f %6d %9.3f %-10s %9.3f %9.3f\n", rows, cols, l2, steps, mle,
           vq_logit_status_name(status), lars, means);
    (void)fflush(stdout);
    unplant(&p);
}

static void common_run(size_t rows, size_t cols)
{
    struct problem p = plant(rows, cols);
    struct vq_crossval_options cv_options = {.mode = VQ_CROSSVAL_LOG_LOSS, .seed = 1};
    struct vq_bootstrap_options options = {.draws = VQ_BOOTSTRAP_DRAWS, .level = 0.95, .seed = 1};
    struct vq_crossval cv;
    struct vq_interval ret[VQ_STATS_COLS_MAX];
    int64_t start = vq_clock_mono_ns();
    check(vq_crossval_choose_c(&p.data, NULL, &cv_options, &cv, NULL), "the choice of C");
    double choice = seconds_since(start);
    start = vq_clock_mono_ns();
    check(vq_bootstrap_coefficients(&p.data, cv.c, 0.0, NULL, &options, ret, NULL, NULL, NULL),
          "the refits");
    printf("%9zu %4zu %9.3f %9.3f %9.3f\n", rows, cols, choice, seconds_since(start),
           time_means(&p));
    (void)fflush(stdout);
    unplant(&p);
}

#define VECTOR_COLS 1024
#define CENTRES     50

static void plant_vectors(float *at, size_t rows)
{
    static float centre[CENTRES * VECTOR_COLS];
    struct vq_rng rng;
    vq_rng_seed(&rng, 2027);
    for (size_t cell = 0; cell < VQ_COUNT(centre); cell++) {
        centre[cell] = (float)vq_rng_unit(&rng) - 0.5F;
    }
    for (size_t row = 0; row < rows; row++) {
        const float *from = centre + vq_rng_below(&rng, CENTRES) * VECTOR_COLS;
        for (size_t col = 0; col < VECTOR_COLS; col++) {
            at[row * VECTOR_COLS + col] = from[col] + (float)vq_rng_unit(&rng) - 0.5F;
        }
    }
}

static void cluster(size_t rows)
{
    float *at = vq_alloc(rows * VECTOR_COLS, sizeof(*at));
    uint32_t *labels = vq_alloc(rows, sizeof(*labels));
    if (at == NULL || labels == NULL) {
        check(VQ_NOMEM, "planting vectors");
    }
    plant_vectors(at, rows);
    const char *const names[] = {"ward", "average", "complete"};
    printf("%9zu %4d", rows, VECTOR_COLS);
    for (size_t kind = 0; kind < VQ_COUNT(names); kind++) {
        struct vq_cluster_tree tree;
        int64_t start = vq_clock_mono_ns();
        check(vq_cluster_build((struct vq_vectors){at, rows, VECTOR_COLS},
                               (enum vq_cluster_linkage)kind, &tree, NULL),
              names[kind]);
        check(vq_cluster_cut_count(&tree, 10, labels, NULL), "the cut");
        printf(" %10.3f", seconds_since(start));
        vq_cluster_tree_free(&tree);
    }
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    printf(" %9.1f\n", (double)usage.ru_maxrss / 1024.0);
    (void)fflush(stdout);
    vq_free(labels);
    vq_free(at);
}

int main(int argc, char **argv)
{
    size_t rows_max = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
    const size_t all_cols[] = {10, 20, 50};
    size_t vectors_max = argc > 2 ? strtoul(argv[2], NULL, 10) : 5000;
    const size_t all_vectors[] = {1000, 5000, 20000};
    vq_stats_init();
    printf("%9s %4s %9s %6s %9s %-10s %9s %9s\n", "rows", "k", "l2 s", "steps", "mle s", "status",
           "lars s", "means s");
    for (size_t rows = 10000; rows <= rows_max && rows <= 1000000; rows *= 10) {
        for (size_t i = 0; i < VQ_COUNT(all_cols); i++) {
            line(rows, all_cols[i]);
        }
    }
    printf("\n%9s %4s %9s %9s %9s\n", "rows", "k", "cv s", "refits s", "means s");
    common_run(250, 10);
    common_run(1000, 10);
    common_run(10000, 10);
    printf("\n%9s %4s %10s %10s %10s %9s\n", "vectors", "d", "ward s", "average s", "complete s",
           "peak MiB");
    for (size_t i = 0; i < VQ_COUNT(all_vectors) && all_vectors[i] <= vectors_max; i++) {
        cluster(all_vectors[i]);
    }
    return 0;
}
