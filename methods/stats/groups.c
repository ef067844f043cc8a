/* Renumbers group labels by first appearance, by sorting (label, row) pairs. A call owns its
 * working memory. */
#include "methods/stats/groups.h"

#include "common/base/alloc.h"

#include <stdlib.h>

static int compare_u64(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

enum vq_status vq_groups_index(const uint32_t *groups, size_t rows, uint32_t *ret_index,
                               size_t *ret_count)
{
    VQ_ASSERT(rows <= VQ_STATS_ROWS_MAX);
    if (groups == NULL) {
        for (size_t row = 0; row < rows; row++) {
            ret_index[row] = (uint32_t)row;
        }
        *ret_count = rows;
        return VQ_OK;
    }
    uint64_t *pairs = vq_alloc(rows, sizeof(*pairs));
    uint32_t *leader = vq_alloc(rows, sizeof(*leader));
    if (pairs == NULL || leader == NULL) {
        vq_free(pairs);
        vq_free(leader);
        return VQ_NOMEM;
    }
    for (size_t row = 0; row < rows; row++) {
        pairs[row] = (uint64_t)groups[row] << 32 | row;
    }
    if (rows > 1) {
        qsort(pairs, rows, sizeof(*pairs), compare_u64);
    }
    for (size_t i = 0, start = 0; i < rows; i++) {
        if (pairs[i] >> 32 != pairs[start] >> 32) {
            start = i;
        }
        leader[(uint32_t)pairs[i]] = (uint32_t)pairs[start];
    }
    size_t count = 0;
    for (size_t row = 0; row < rows; row++) {
        /* A group's leader is its first row, so the group has its number before its other rows need
         * it. */
        ret_index[row] = leader[row] == row ? (uint32_t)count++ : ret_index[leader[row]];
    }
    vq_free(pairs);
    vq_free(leader);
    *ret_count = count;
    return VQ_OK;
}
