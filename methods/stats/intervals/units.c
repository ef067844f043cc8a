/* One value, or one weight, for the rows of a unit (a prompt). Pure; a call owns its working
 * memory. */
#include "methods/stats/intervals/units.h"

#include "common/base/alloc.h"
#include "methods/stats/groups.h"

#include <math.h>

enum vq_status vq_unit_means(const double *at, size_t n, size_t stride, const uint32_t *groups,
                             double *ret_means, size_t *ret_units)
{
    uint32_t *unit = vq_alloc(n, sizeof(*unit));
    double *present = vq_alloc(n, sizeof(*present));
    enum vq_status status =
        unit == NULL || present == NULL ? VQ_NOMEM : vq_groups_index(groups, n, unit, ret_units);
    if (status == VQ_OK) {
        for (size_t u = 0; u < *ret_units; u++) {
            ret_means[u] = 0.0;
        }
        for (size_t row = 0; row < n; row++) {
            double value = at[row * stride];
            if (!isnan(value)) {
                ret_means[unit[row]] += value;
                present[unit[row]] += 1.0;
            }
        }
        for (size_t u = 0; u < *ret_units; u++) {
            ret_means[u] = present[u] > 0.0 ? ret_means[u] / present[u] : NAN;
        }
    }
    vq_free(unit);
    vq_free(present);
    return status;
}

enum vq_status vq_unit_weights(const uint32_t *groups, size_t n, double *ret_weights,
                               size_t *ret_units)
{
    uint32_t *unit = vq_alloc(n, sizeof(*unit));
    double *rows = vq_alloc(n, sizeof(*rows));
    enum vq_status status =
        unit == NULL || rows == NULL ? VQ_NOMEM : vq_groups_index(groups, n, unit, ret_units);
    if (status == VQ_OK) {
        for (size_t row = 0; row < n; row++) {
            rows[unit[row]] += 1.0;
        }
        for (size_t row = 0; row < n; row++) {
            ret_weights[row] = 1.0 / rows[unit[row]];
        }
    }
    vq_free(unit);
    vq_free(rows);
    return status;
}
