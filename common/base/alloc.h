/* Allocation that tests can make fail. Everything is released with vq_free. */
#pragma once

#include "common/base/status.h"

/* NULL when there is no memory (or the countdown hit); zeroed; overflow of n * size counts as no
 * memory. A size of 0 gives a unique pointer. The caller owns the result. */
void *vq_alloc(size_t n, size_t size) VQ_WARN_UNUSED;
/* Grows or shrinks; on NULL the old block is untouched. New bytes are not zeroed. */
void *vq_realloc(void *old, size_t n, size_t size) VQ_WARN_UNUSED;
char *vq_strndup(const char *text, size_t bytes) VQ_WARN_UNUSED; /* NUL-terminated copy */
char *vq_strdup(const char *text) VQ_WARN_UNUSED;
void vq_free(void *block); /* NULL is fine */

/* Makes room for `need` items in a growing array (doubling, at least 16). `*array` and `*cap`
 * change only on VQ_OK. VQ_LIMIT above `max` items, VQ_NOMEM. */
enum vq_status vq_grow(void **array, size_t *cap, size_t need, size_t item_bytes,
                       size_t max) VQ_WARN_UNUSED;

/* Tests: the n-th allocation from now fails (1 = the next); 0 switches off. Not for threads. */
void vq_alloc_fail_at(uint64_t n);
uint64_t vq_alloc_count(void);
