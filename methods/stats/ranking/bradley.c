/* Bradley-Terry by Newton on the log strengths, with item 0 at 0. An estimate exists exactly if
 * every item can be reached from every other item along wins (Ford 1957). This is checked first, so
 * that Newton gets only tables with a maximum.
 *
 * A call owns its working memory. */
#include "methods/stats/ranking/bradley.h"

#include "common/base/alloc.h"
#include "methods/stats/linalg.h"
#include "methods/stats/special.h"

#include <math.h>
#include <string.h>

#define STEPS_MAX    200
#define HALVINGS_MAX 40
#define STEP_TINY    1e-12

enum direction {
    WINS,
    LOSSES,
    EITHER
};

static double win(struct vq_matrix wins, size_t i, size_t j)
{
    return i == j ? 0.0 : wins.at[i * wins.cols + j];
}

/* Whether all items can be reached from item 0. `queue` has room for one value per item, `seen` for
 * one flag per item. */
static bool reaches_all(struct vq_matrix wins, enum direction direction, size_t *queue, bool *seen)
{
    size_t items = wins.rows;
    memset(seen, 0, items * sizeof(*seen));
    size_t found = 1;
    queue[0] = 0;
    seen[0] = true;
    for (size_t at = 0; at < found; at++) {
        size_t i = queue[at];
        for (size_t j = 0; j < items; j++) {
            bool forward = direction != LOSSES && win(wins, i, j) > 0.0;
            bool backward = direction != WINS && win(wins, j, i) > 0.0;
            if (!seen[j] && (forward || backward)) {
                seen[j] = true;
                queue[found++] = j;
            }
        }
    }
    return found == items;
}

/* Returns the log-likelihood; writes score and information (lower triangle) of items 1 .. if not
 * NULL. */
static double measure(struct vq_matrix wins, const double *strength, double *score,
                      double *information)
{
    size_t items = wins.rows;
    size_t free_items = items - 1;
    double loglik = 0.0;
    if (score != NULL) {
        memset(score, 0, free_items * sizeof(*score));
        memset(information, 0, free_items * free_items * sizeof(*information));
    }
    for (size_t i = 0; i < items; i++) {
        for (size_t j = 0; j < i; j++) {
            double gap = strength[i] - strength[j];
            double won = win(wins, i, j);
            double lost = win(wins, j, i);
            double p = vq_logistic(gap);
            loglik -= won * vq_log1pexp(-gap) + lost * vq_log1pexp(gap);
            if (score == NULL) {
                continue;
            }
            double slope = won - (won + lost) * p;
            double weight = (won + lost) * p * vq_logistic(-gap);
            score[i - 1] += slope;
            information[(i - 1) * free_items + i - 1] += weight;
            if (j > 0) {
                score[j - 1] -= slope;
                information[(j - 1) * free_items + j - 1] += weight;
                information[(i - 1) * free_items + j - 1] -= weight;
            }
        }
    }
    return loglik;
}

/* Newton from 0. False if it does not converge. */
static bool climb(struct vq_matrix wins, double *strength, double *trial, double *score,
                  double *information)
{
    size_t free_items = wins.rows - 1;
    for (int step = 0; step < STEPS_MAX; step++) {
        double here = measure(wins, strength, score, information);
        if (!vq_linalg_cholesky(information, free_items)) {
            return false;
        }
        vq_linalg_solve(information, free_items, score);
        double size = 0.0;
        for (size_t i = 0; i < free_items; i++) {
            size = fmax(size, fabs(score[i]));
        }
        double length = 1.0;
        for (int halving = 0; halving < HALVINGS_MAX; halving++, length *= 0.5) {
            trial[0] = 0.0;
            for (size_t i = 0; i < free_items; i++) {
                trial[i + 1] = strength[i + 1] + length * score[i];
            }
            if (measure(wins, trial, NULL, NULL) >= here - 1e-13 * (1.0 + fabs(here))) {
                break;
            }
        }
        memcpy(strength, trial, wins.rows * sizeof(*strength));
        if (size <= STEP_TINY) {
            return true;
        }
    }
    return false;
}

static enum vq_status check(struct vq_matrix wins, struct vq_error *err)
{
    VQ_TRY(vq_stats_check(wins, false, err));
    if (wins.rows != wins.cols || wins.rows == 0) {
        return vq_fail(err, VQ_INVALID,
                       "a table of wins has as many rows as columns, at least one");
    }
    for (size_t cell = 0; cell < wins.rows * wins.cols; cell++) {
        if (wins.at[cell] < 0.0) {
            return vq_fail(err, VQ_INVALID, "item %zu has a negative number of wins over item %zu",
                           cell / wins.cols, cell % wins.cols);
        }
    }
    return VQ_OK;
}

enum vq_status vq_bradley_fit(struct vq_matrix wins, struct vq_bradley *ret, struct vq_error *err)
{
    VQ_TRY(check(wins, err));
    size_t items = wins.rows;
    double *work = vq_alloc(3 * items + items * items, sizeof(*work));
    size_t *queue = vq_alloc(items, sizeof(*queue));
    bool *seen = vq_alloc(items, sizeof(*seen));
    enum vq_status status = VQ_NOMEM;
    if (work == NULL || queue == NULL || seen == NULL) {
        goto cleanup;
    }
    status = VQ_OK;
    if (!reaches_all(wins, EITHER, queue, seen)) {
        ret->status = VQ_BRADLEY_NOT_IDENTIFIED;
    } else if (!reaches_all(wins, WINS, queue, seen) || !reaches_all(wins, LOSSES, queue, seen)) {
        ret->status = VQ_BRADLEY_INFINITE;
    } else {
        double *strength = work;
        double *information = work + 3 * items;
        bool settled = climb(wins, strength, work + items, work + 2 * items, information);
        ret->status = settled ? VQ_BRADLEY_OK : VQ_BRADLEY_NOT_CONVERGED;
        if (settled) {
            memcpy(ret->log_strength, strength, items * sizeof(*strength));
        }
    }
cleanup:
    vq_free(work);
    vq_free(queue);
    vq_free(seen);
    return status;
}
