/* Memory allocation with failures that tests can inject. Every block is released with vq_free. */
#pragma once

#include "common/base/status.h"

/* Returns a zeroed block, or NULL: no memory, an overflow of n * size, or an injected failure. A
 * size of 0 gives a unique pointer. The caller owns the result. */
void *vq_alloc(size_t n, size_t size) VQ_WARN_UNUSED;
/* Grows or shrinks; on NULL the old block is untouched. New bytes are not zeroed. */
void *vq_realloc(void *old, size_t n, size_t size) VQ_WARN_UNUSED;
char *vq_strndup(const char *text, size_t bytes) VQ_WARN_UNUSED; /* NUL-terminated copy */
char *vq_strdup(const char *text) VQ_WARN_UNUSED;
void vq_free(void *block); /* NULL is fine */

/* The same with a status: VQ_OK, or VQ_NOMEM and a pointer that is NULL. VQ_ALLOC sets the given
 * pointer, of any type, to room for `n` of its items. */
#define VQ_ALLOC(pointer, n) vq_alloc_at((void *)&(pointer), (n), sizeof(*(pointer)))
enum vq_status vq_alloc_at(void *pointer, size_t n, size_t size) VQ_WARN_UNUSED;
enum vq_status vq_copy(const char *text, char **ret_copy) VQ_WARN_UNUSED;
enum vq_status vq_copy_bytes(const char *text, size_t bytes, char **ret_copy) VQ_WARN_UNUSED;

/* Makes room for `need` items in a growing array (doubling, at least 16). VQ_GROW takes the pointer
 * to the first item; this pointer and `*cap` change only on VQ_OK. VQ_LIMIT above `max` items,
 * VQ_NOMEM. */
#define VQ_GROW(array, cap, need, max)                                                             \
    vq_grow((void *)&(array), (cap), (need), sizeof(*(array)), (max))
enum vq_status vq_grow(void *array, size_t *cap, size_t need, size_t item_bytes,
                       size_t max) VQ_WARN_UNUSED;

/* For tests: the n-th allocation from now fails (1: the next); 0 switches this off. Not
 * thread-safe. */
void vq_alloc_fail_at(uint64_t n);
uint64_t vq_alloc_count(void);
