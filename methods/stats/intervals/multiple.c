/* Step-up and step-down adjustments over the ascending p-values. A call owns its index. */
#include "methods/stats/intervals/multiple.h"

#include "common/base/alloc.h"

#include <math.h>
#include <stdlib.h>

struct ranked_p {
    double p;
    size_t at;
};

static int compare_p(const void *left, const void *right)
{
    const struct ranked_p *a = left;
    const struct ranked_p *b = right;
    if (a->p != b->p) {
        return a->p > b->p ? 1 : -1;
    }
    return (a->at > b->at) - (a->at < b->at);
}

/* `ranks` is ascending; writes ranks[].p, made monotone from the end where the method begins. */
static void adjust_ranked(enum vq_multiple_method method, struct ranked_p *ranks, size_t m)
{
    bool holm = method == VQ_MULTIPLE_HOLM;
    for (size_t i = 0; i < m; i++) {
        double factor = holm ? (double)(m - i) : (double)m / (double)(i + 1);
        ranks[i].p = fmin(1.0, ranks[i].p * factor);
    }
    for (size_t i = 1; holm && i < m; i++) {
        ranks[i].p = fmax(ranks[i].p, ranks[i - 1].p);
    }
    for (size_t i = m; !holm && i-- > 1;) {
        ranks[i - 1].p = fmin(ranks[i - 1].p, ranks[i].p);
    }
}

enum vq_status vq_multiple_adjust(enum vq_multiple_method method, const double *p, size_t n,
                                  double *ret_adjusted)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i] < 0.0 || p[i] > 1.0) {
            return VQ_INVALID;
        }
    }
    struct ranked_p *ranks;
    VQ_TRY(VQ_ALLOC(ranks, n));
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        if (!isnan(p[i])) {
            ranks[m++] = (struct ranked_p){p[i], i};
        }
        ret_adjusted[i] = p[i];
    }
    if (m > 1) {
        qsort(ranks, m, sizeof(*ranks), compare_p);
    }
    adjust_ranked(method, ranks, m);
    for (size_t i = 0; i < m; i++) {
        ret_adjusted[ranks[i].at] = ranks[i].p;
    }
    vq_free(ranks);
    return VQ_OK;
}
