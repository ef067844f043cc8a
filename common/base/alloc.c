/* Checked allocation over the C library, with a countdown that lets tests fail each allocation in
 * turn. Invariant: the computation of a size never wraps. */
#include "common/base/alloc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static _Atomic uint64_t calls;
static _Atomic uint64_t fail_at;

void vq_alloc_fail_at(uint64_t n)
{
    atomic_store(&fail_at, n == 0 ? 0 : atomic_load(&calls) + n);
}

uint64_t vq_alloc_count(void)
{
    return atomic_load(&calls);
}

static bool refused(size_t n, size_t size, size_t *ret_bytes)
{
    uint64_t call = atomic_fetch_add(&calls, 1) + 1;
    if (call == atomic_load(&fail_at)) {
        return true;
    }
    if (__builtin_mul_overflow(n, size, ret_bytes)) {
        return true;
    }
    if (*ret_bytes == 0) {
        *ret_bytes = 1;
    }
    return false;
}

void *vq_alloc(size_t n, size_t size)
{
    size_t bytes;
    return refused(n, size, &bytes) ? NULL : calloc(1, bytes);
}

enum vq_status vq_alloc_at(void *pointer, size_t n, size_t size)
{
    void *block = vq_alloc(n, size);
    memcpy(pointer, &block, sizeof(block));
    return block == NULL ? VQ_NOMEM : VQ_OK;
}

void *vq_realloc(void *old, size_t n, size_t size)
{
    size_t bytes;
    return refused(n, size, &bytes) ? NULL : realloc(old, bytes);
}

char *vq_strndup(const char *text, size_t bytes)
{
    if (bytes == SIZE_MAX) {
        return NULL;
    }
    char *copy = vq_alloc(bytes + 1, 1);
    if (copy != NULL && bytes > 0) {
        memcpy(copy, text, bytes);
    }
    return copy;
}

char *vq_strdup(const char *text)
{
    return vq_strndup(text, strlen(text));
}

enum vq_status vq_copy_bytes(const char *text, size_t bytes, char **ret_copy)
{
    *ret_copy = vq_strndup(text, bytes);
    return *ret_copy == NULL ? VQ_NOMEM : VQ_OK;
}

enum vq_status vq_copy(const char *text, char **ret_copy)
{
    return vq_copy_bytes(text, strlen(text), ret_copy);
}

void vq_free(void *block)
{
    free(block);
}

enum vq_status vq_grow(void *array, size_t *cap, size_t need, size_t item_bytes, size_t max)
{
    if (need <= *cap) {
        return VQ_OK;
    }
    if (need > max) {
        return VQ_LIMIT;
    }
    size_t next = *cap < 16 ? 16 : (*cap > max / 2 ? max : *cap * 2);
    if (next < need) {
        next = need;
    }
    if (next > max) {
        next = max;
    }
    void *items = NULL;
    memcpy(&items, array, sizeof(items));
    items = vq_realloc(items, next, item_bytes);
    if (items == NULL) {
        return VQ_NOMEM;
    }
    memcpy(array, &items, sizeof(items));
    *cap = next;
    return VQ_OK;
}
