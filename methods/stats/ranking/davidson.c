/* Davidson's model by Newton on counts per pair. Parameters are the strengths of items 1 .. (item 0
 * is at 0) and, if there are ties, the log tie parameter; the log-likelihood is concave. The climb
 * decides whether an estimate exists: if a strength passes FAR, where a count would be expected
 * once in e^FAR comparisons, strengths go to infinity. Invariant: counts are sums over rows in
 * their order, so the same rows give the same bits. A call owns its working memory. */
#include "methods/stats/ranking/davidson.h"

#include "common/base/alloc.h"
#include "methods/stats/groups.h"
#include "methods/stats/intervals/multiple.h"
#include "methods/stats/linalg.h"
#include "methods/stats/ranking/bradley.h"
#include "methods/stats/special.h"

#include <math.h>
#include <string.h>

#define STEPS_MAX    200
#define HALVINGS_MAX 40
#define STEP_TINY    1e-11
#define FAR          18.0

const char *vq_davidson_status_name(enum vq_davidson_status status)
{
    switch (status) {
    case VQ_DAVIDSON_OK: return "ok";
    case VQ_DAVIDSON_FEW_CLUSTERS: return "few_prompts";
    case VQ_DAVIDSON_SEPARATED: return "separated";
    case VQ_DAVIDSON_NO_DECISION: return "only_ties";
    case VQ_DAVIDSON_UNCONNECTED: return "not_connected";
    }
    return "?";
}

/* The table of counts and the working memory of a climb. `wins` and `ties` are items x items; a tie
 * is stored at (i, j) and (j, i). */
struct table {
    uint32_t items;
    size_t params;
    bool with_ties;
    double *wins, *ties;
    double *at;          /* params: strengths of items 1 .., then the log tie parameter */
    double *trial;       /* params */
    double *score;       /* params */
    double *information; /* params x params, lower triangle */
};

struct chances {
    double win, tie, loss;
};

static double strength(const double *at, uint32_t item)
{
    return item == 0 ? 0.0 : at[item - 1];
}

static struct chances chances_of(const struct table *t, const double *at, uint32_t i, uint32_t j)
{
    double half = (strength(at, i) - strength(at, j)) / 2.0;
    double tie = t->with_ties ? at[t->params - 1] : -INFINITY;
    double most = fmax(fabs(half), tie);
    double w = exp(half - most), l = exp(-half - most), e = exp(tie - most);
    double sum = w + l + e;
    return (struct chances){w / sum, e / sum, l / sum};
}

/* Adds the score and the information of comparisons of i and j with these counts, at `at`. Either
 * output may be NULL. */
static void add_pair(const struct table *t, const double *at, uint32_t i, uint32_t j,
                     struct chances counts, double *score, double *information)
{
    struct chances p = chances_of(t, at, i, j);
    double n = counts.win + counts.tie + counts.loss;
    double mean = p.win - p.loss;
    double slope = (counts.win - counts.loss - n * mean) / 2.0;
    double weight = n * (p.win + p.loss - mean * mean) / 4.0;
    double cross = -n * mean * p.tie / 2.0;
    size_t tie = t->params - 1;
    const uint32_t item[2] = {i, j};
    for (int a = 0; a < 2; a++) {
        double sign = a == 0 ? 1.0 : -1.0;
        if (item[a] == 0) {
            continue;
        }
        size_t row = item[a] - 1;
        if (score != NULL) {
            score[row] += sign * slope;
        }
        if (information != NULL) {
            information[row * t->params + row] += weight;
            information[tie * t->params + row] += t->with_ties ? sign * cross : 0.0;
        }
    }
    if (information != NULL && i > 0 && j > 0) {
        size_t high = i > j ? i - 1 : j - 1, low = i > j ? j - 1 : i - 1;
        information[high * t->params + low] -= weight;
    }
    if (t->with_ties && score != NULL) {
        score[tie] += counts.tie - n * p.tie;
    }
    if (t->with_ties && information != NULL) {
        information[tie * t->params + tie] += n * p.tie * (1.0 - p.tie);
    }
}

static struct chances counts_of(const struct table *t, uint32_t i, uint32_t j)
{
    size_t at = (size_t)i * t->items + j, back = (size_t)j * t->items + i;
    return (struct chances){t->wins[at], t->ties[at], t->wins[back]};
}

static double log_likelihood(const struct table *t, const double *at)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < t->items; i++) {
        for (uint32_t j = i + 1; j < t->items; j++) {
            struct chances n = counts_of(t, i, j), p = chances_of(t, at, i, j);
            sum += n.win > 0 ? n.win * log(p.win) : 0.0;
            sum += n.tie > 0 ? n.tie * log(p.tie) : 0.0;
            sum += n.loss > 0 ? n.loss * log(p.loss) : 0.0;
        }
    }
    return sum;
}

static void expand(const struct table *t)
{
    memset(t->score, 0, t->params * sizeof(double));
    memset(t->information, 0, t->params * t->params * sizeof(double));
    for (uint32_t i = 0; i < t->items; i++) {
        for (uint32_t j = i + 1; j < t->items; j++) {
            add_pair(t, t->at, i, j, counts_of(t, i, j), t->score, t->information);
        }
    }
}

static bool is_far(const struct table *t)
{
    double lowest = 0.0, highest = 0.0;
    for (uint32_t i = 1; i < t->items; i++) {
        lowest = fmin(lowest, t->at[i - 1]);
        highest = fmax(highest, t->at[i - 1]);
    }
    return highest - lowest > FAR || (t->with_ties && fabs(t->at[t->params - 1]) > FAR);
}

/* False if strengths go to infinity. Leaves the information at the end, not inverted. */
static bool climb(const struct table *t, double *ret_loglik)
{
    for (int step = 0; step < STEPS_MAX; step++) {
        double here = log_likelihood(t, t->at);
        expand(t);
        if (!vq_linalg_cholesky(t->information, t->params)) {
            return false;
        }
        vq_linalg_solve(t->information, t->params, t->score);
        double size = 0.0, length = 1.0;
        for (size_t k = 0; k < t->params; k++) {
            size = fmax(size, fabs(t->score[k]));
        }
        for (int halving = 0; halving < HALVINGS_MAX; halving++, length *= 0.5) {
            for (size_t k = 0; k < t->params; k++) {
                t->trial[k] = t->at[k] + length * t->score[k];
            }
            if (log_likelihood(t, t->trial) >= here - 1e-13 * (1.0 + fabs(here))) {
                break;
            }
        }
        memcpy(t->at, t->trial, t->params * sizeof(double));
        if (is_far(t)) {
            return false;
        }
        if (size <= STEP_TINY) {
            *ret_loglik = log_likelihood(t, t->at);
            expand(t);
            return true;
        }
    }
    return false;
}

/* ---- errors by cluster ---- */

static struct chances counts_of_row(const struct vq_davidson_row *row)
{
    return (struct chances){row->win, row->tie, row->loss};
}

/* Leaves out the rows of one cluster: writes the change of the estimate, to first order, to
 * `ret_step`. `inner` is working memory. */
static void leave_out(const struct table *t, const struct vq_davidson_row *rows,
                      const uint32_t *order, size_t n, double *inner, double *ret_step)
{
    size_t params = t->params;
    memset(inner, 0, params * params * sizeof(double));
    memset(ret_step, 0, params * sizeof(double));
    for (size_t k = 0; k < n; k++) {
        const struct vq_davidson_row *row = &rows[order[k]];
        add_pair(t, t->at, row->i, row->j, counts_of_row(row), ret_step, inner);
    }
    for (size_t k = 0; k < params * params; k++) {
        inner[k] = t->information[k] - inner[k];
    }
    if (!vq_linalg_cholesky(inner, params)) { /* only this cluster connects the items */
        memcpy(inner, t->information, params * params * sizeof(double));
        bool whole = vq_linalg_cholesky(inner, params);
        VQ_ASSERT(whole);
    }
    vq_linalg_solve(inner, params, ret_step);
}

/* The step for strengths that sum to 0. */
static void centre(const struct table *t, const double *step, double *ret_centred)
{
    double mean = 0.0;
    for (uint32_t i = 0; i < t->items; i++) {
        mean += strength(step, i) / t->items;
    }
    for (uint32_t i = 0; i < t->items; i++) {
        ret_centred[i] = strength(step, i) - mean;
    }
}

/* `cluster`: dense number of each row's cluster. */
static enum vq_status errors(const struct table *t, const struct vq_davidson_row *rows, size_t n,
                             const uint32_t *cluster, size_t clusters, double *ret_covariance)
{
    size_t items = t->items, params = t->params;
    uint32_t *start = vq_alloc(clusters + 2, sizeof(*start));
    uint32_t *order = vq_alloc(n, sizeof(*order));
    double *work = vq_alloc(params * params + params + items, sizeof(*work));
    enum vq_status status = start == NULL || order == NULL || work == NULL ? VQ_NOMEM : VQ_OK;
    if (status == VQ_OK) {
        for (size_t k = 0; k < n; k++) {
            start[cluster[k] + 2]++;
        }
        for (size_t c = 2; c < clusters + 2; c++) {
            start[c] += start[c - 1];
        }
        for (size_t k = 0; k < n; k++) {
            order[start[cluster[k] + 1]++] = (uint32_t)k;
        }
        memset(ret_covariance, 0, items * items * sizeof(double));
        double factor = (double)(clusters - 1) / (double)clusters;
        double *step = work + params * params, *centred = step + params;
        for (size_t c = 0; c < clusters; c++) {
            leave_out(t, rows, order + start[c], start[c + 1] - start[c], work, step);
            centre(t, step, centred);
            for (size_t i = 0; i < items; i++) {
                for (size_t j = 0; j < items; j++) {
                    ret_covariance[i * items + j] += factor * centred[i] * centred[j];
                }
            }
        }
    }
    vq_free(start);
    vq_free(order);
    vq_free(work);
    return status;
}

/* ---- the fit ---- */

static enum vq_status check(const struct vq_davidson_row *rows, size_t n, uint32_t items,
                            struct vq_error *err)
{
    if (items < 2 || items > VQ_DAVIDSON_ITEMS_MAX || n > VQ_STATS_ROWS_MAX) {
        return vq_fail(err, VQ_INVALID, "2 to %u items are ranked, not %u", VQ_DAVIDSON_ITEMS_MAX,
                       items);
    }
    for (size_t k = 0; k < n; k++) {
        const struct vq_davidson_row *r = &rows[k];
        bool good = r->i < items && r->j < items && r->i != r->j && r->win >= 0 && r->tie >= 0 &&
                    r->loss >= 0 && isfinite(r->win + r->tie + r->loss);
        if (!good) {
            return vq_fail(err, VQ_INVALID, "comparison %zu has bad items or shares", k);
        }
    }
    return VQ_OK;
}

static bool has_verdict(const struct vq_davidson_row *row)
{
    return row->win + row->tie + row->loss > 0;
}

/* Counts into the table; `used` gets the rows with a verdict, *ret_used their number. */
static void count(struct table *t, const struct vq_davidson_row *rows, size_t n,
                  struct vq_davidson_row *used, size_t *ret_used)
{
    size_t k = 0;
    for (size_t r = 0; r < n; r++) {
        const struct vq_davidson_row *row = &rows[r];
        if (!has_verdict(row)) {
            continue;
        }
        size_t at = (size_t)row->i * t->items + row->j, back = (size_t)row->j * t->items + row->i;
        t->wins[at] += row->win;
        t->wins[back] += row->loss;
        t->ties[at] += row->tie;
        t->ties[back] += row->tie;
        t->with_ties |= row->tie > 0;
        used[k++] = *row;
    }
    *ret_used = k;
    t->params = t->items - 1 + (t->with_ties ? 1 : 0);
}

/* Starts from the strengths of Bradley and Terry, with ties as half a win for each. This fit also
 * shows whether the items are connected. */
static enum vq_status begin(struct table *t, double *halves, bool *ret_connected, bool *ret_decided,
                            struct vq_error *err)
{
    double first[VQ_DAVIDSON_ITEMS_MAX], wins = 0.0, ties = 0.0;
    for (size_t k = 0; k < (size_t)t->items * t->items; k++) {
        halves[k] = t->wins[k] + t->ties[k] / 2.0;
        wins += t->wins[k];
        ties += t->ties[k] / 2.0;
    }
    struct vq_bradley fit = {.log_strength = first};
    VQ_TRY(vq_bradley_fit((struct vq_matrix){halves, t->items, t->items}, &fit, err));
    *ret_connected = fit.status != VQ_BRADLEY_NOT_IDENTIFIED;
    *ret_decided = wins > 0.0;
    for (uint32_t i = 1; i < t->items; i++) {
        t->at[i - 1] = fit.status == VQ_BRADLEY_OK ? first[i] : 0.0;
    }
    if (t->with_ties && wins > 0.0) {
        t->at[t->params - 1] = log(2.0 * ties / wins);
    }
    return VQ_OK;
}

/* Adds half a win for each side of each compared pair: then an estimate exists. */
static void shrink(struct table *t)
{
    for (uint32_t i = 0; i < t->items; i++) {
        for (uint32_t j = i + 1; j < t->items; j++) {
            struct chances n = counts_of(t, i, j);
            if (n.win + n.tie + n.loss > 0) {
                t->wins[(size_t)i * t->items + j] += 0.5;
                t->wins[(size_t)j * t->items + i] += 0.5;
            }
        }
    }
    memset(t->at, 0, t->params * sizeof(double));
}

static enum vq_status estimate(struct table *t, const struct vq_davidson_row *used, size_t n,
                               double *halves, struct vq_davidson *ret, struct vq_error *err)
{
    bool connected, decided;
    VQ_TRY(begin(t, halves, &connected, &decided, err));
    uint32_t *cluster = vq_alloc(n, sizeof(*cluster));
    uint32_t *named = vq_alloc(n, sizeof(*named));
    enum vq_status status = cluster == NULL || named == NULL ? VQ_NOMEM : VQ_OK;
    for (size_t k = 0; k < n && status == VQ_OK; k++) {
        named[k] = used[k].cluster;
    }
    status = status == VQ_OK ? vq_groups_index(named, n, cluster, &ret->clusters) : status;
    if (status != VQ_OK || !connected) {
        ret->status = VQ_DAVIDSON_UNCONNECTED;
    } else if (!decided) {
        ret->status = VQ_DAVIDSON_NO_DECISION;
        memset(ret->log_strength, 0, t->items * sizeof(double));
    } else if (!climb(t, &ret->loglik)) {
        double none;
        ret->status = VQ_DAVIDSON_SEPARATED;
        shrink(t);
        (void)climb(t, &none);
        centre(t, t->at, ret->log_strength);
    } else {
        ret->status = VQ_DAVIDSON_FEW_CLUSTERS;
        ret->log_tie = t->with_ties ? t->at[t->params - 1] : NAN;
        centre(t, t->at, ret->log_strength);
        if (ret->clusters >= VQ_DAVIDSON_CLUSTERS_MIN) {
            ret->status = VQ_DAVIDSON_OK;
            status = errors(t, used, n, cluster, ret->clusters, ret->covariance);
        }
    }
    vq_free(cluster);
    vq_free(named);
    return status;
}

enum vq_status vq_davidson_fit(const struct vq_davidson_row *rows, size_t rows_count,
                               uint32_t items, struct vq_davidson *ret, struct vq_error *err)
{
    VQ_TRY(check(rows, rows_count, items, err));
    size_t square = (size_t)items * items;
    double *work = vq_alloc(4 * square + 3 * (size_t)items, sizeof(*work));
    struct vq_davidson_row *used = vq_alloc(rows_count, sizeof(*used));
    enum vq_status status = work == NULL || used == NULL ? VQ_NOMEM : VQ_OK;
    if (status == VQ_OK) {
        struct table t = {.items = items,
                          .wins = work,
                          .ties = work + square,
                          .information = work + 3 * square,
                          .at = work + 4 * square,
                          .trial = work + 4 * square + items,
                          .score = work + 4 * square + 2 * (size_t)items};
        ret->log_tie = ret->loglik = NAN;
        ret->clusters = 0;
        for (size_t k = 0; k < square; k++) {
            ret->covariance[k] = NAN;
        }
        for (uint32_t i = 0; i < items; i++) {
            ret->log_strength[i] = NAN;
        }
        size_t n;
        count(&t, rows, rows_count, used, &n);
        status = estimate(&t, used, n, work + 2 * square, ret, err);
    }
    vq_free(work);
    vq_free(used);
    return status;
}

/* ---- places ---- */

static double student_975(double df)
{
    double x = vq_beta_quantile(df / 2.0, 0.5, 0.05);
    return sqrt(df * (1.0 - x) / x);
}

static double variance_of_difference(const struct vq_davidson *fit, uint32_t items, uint32_t i,
                                     uint32_t j)
{
    const double *c = fit->covariance;
    return c[i * items + i] + c[j * items + j] - 2.0 * c[i * items + j];
}

/* The p of each pair i < j, in order. */
static void pair_tests(const struct vq_davidson *fit, uint32_t items, double *ret_p)
{
    size_t at = 0;
    for (uint32_t i = 0; i < items; i++) {
        for (uint32_t j = i + 1; j < items; j++) {
            double se = sqrt(fmax(0.0, variance_of_difference(fit, items, i, j)));
            double gap = fit->log_strength[i] - fit->log_strength[j];
            ret_p[at++] = se > 0.0     ? vq_student_two_sided(gap / se, (double)fit->clusters - 1.0)
                          : gap == 0.0 ? 1.0
                                       : 0.0;
        }
    }
}

static void plain_places(const struct vq_davidson *fit, uint32_t items,
                         struct vq_davidson_place *ret)
{
    for (uint32_t i = 0; i < items; i++) {
        uint32_t above = 0;
        for (uint32_t j = 0; j < items; j++) {
            double gap = fit->log_strength[j] - fit->log_strength[i];
            above += gap > 0.0 || (j < i && !(gap < 0.0));
        }
        ret[i] = (struct vq_davidson_place){{NAN, NAN}, above + 1, 1, items};
    }
}

enum vq_status vq_davidson_places(const struct vq_davidson *fit, uint32_t items,
                                  struct vq_davidson_place *ret_places)
{
    plain_places(fit, items, ret_places);
    if (fit->status != VQ_DAVIDSON_OK) {
        return VQ_OK;
    }
    size_t pairs = (size_t)items * (items - 1) / 2;
    double *p;
    VQ_TRY(VQ_ALLOC(p, pairs));
    pair_tests(fit, items, p);
    enum vq_status status = vq_multiple_adjust(VQ_MULTIPLE_HOLM, p, pairs, p);
    double t = student_975((double)fit->clusters - 1.0);
    size_t at = 0;
    for (uint32_t i = 0; i < items && status == VQ_OK; i++) {
        double half = t * sqrt(fmax(0.0, fit->covariance[(size_t)i * items + i]));
        ret_places[i].ci95 =
            (struct vq_interval){fit->log_strength[i] - half, fit->log_strength[i] + half};
        for (uint32_t j = i + 1; j < items; j++, at++) {
            if (!(p[at] <= 0.05)) {
                continue;
            }
            bool first = fit->log_strength[i] > fit->log_strength[j];
            ret_places[first ? i : j].rank_to--;
            ret_places[first ? j : i].rank_from++;
        }
    }
    vq_free(p);
    return status;
}
