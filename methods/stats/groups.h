/* Private to this folder: groups of rows as dense numbers. */
#pragma once

#include "methods/stats/stats.h"

/* ret_index[row]: number of the row's group, 0 .. *ret_count - 1 in order of first appearance. NULL
 * groups: each row is its own group. VQ_OK or VQ_NOMEM. */
enum vq_status vq_groups_index(const uint32_t *groups, size_t rows, uint32_t *ret_index,
                               size_t *ret_count) VQ_WARN_UNUSED;
