/* Every heap allocation of a test program, our own and the libraries', counted and made to fail at
 * will: the program's malloc, calloc, realloc and free stand before those of the C library (or the
 * sanitizer). One source of a program includes this. */
#pragma once

#include "common/base/status.h"

#include <errno.h>
#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef VQ_SANITIZED
#define HEAP_REAL(name)  __interceptor_##name
#define HEAP_KNOWS_LEAKS 0 /* its own strdup does not come by here; it finds leaks itself */
#else
#define HEAP_REAL(name)  __libc_##name
#define HEAP_KNOWS_LEAKS 1
#endif

/* They are called before a sanitizer is up. */
#define HEAP_OURS __attribute__((visibility("default"), no_sanitize("address", "undefined")))

void *HEAP_REAL(malloc)(size_t bytes);
void *HEAP_REAL(calloc)(size_t n, size_t bytes);
void *HEAP_REAL(realloc)(void *old, size_t bytes);
void HEAP_REAL(free)(void *block);

static struct {
    uint64_t calls;   /* since heap_fail_at */
    uint64_t fail_at; /* 0: none */
    bool on;          /* and all after it */
    bool hit;
    int64_t live; /* blocks */
    bool paused;  /* a scenario looks at what came of it: neither counted nor refused */
    bool traced;  /* who meets the failure is printed, for addr2line */
} heap;

__attribute__((no_sanitize("address", "undefined"))) static bool heap_refuses(void)
{
    heap.calls += heap.paused ? 0 : 1;
    bool now = !heap.paused && heap.fail_at > 0 &&
               (heap.calls == heap.fail_at || (heap.on && heap.calls > heap.fail_at));
    heap.hit |= now;
    errno = now ? ENOMEM : errno;
    if (now && heap.traced) {
        void *frames[40];
        backtrace_symbols_fd(frames, backtrace(frames, 40), 2);
    }
    return now;
}

HEAP_OURS void *malloc(size_t bytes)
{
    void *block = heap_refuses() ? NULL : HEAP_REAL(malloc)(bytes);
    heap.live += block != NULL;
    return block;
}

HEAP_OURS void *calloc(size_t n, size_t bytes)
{
    void *block = heap_refuses() ? NULL : HEAP_REAL(calloc)(n, bytes);
    heap.live += block != NULL;
    return block;
}

HEAP_OURS void *realloc(void *old, size_t bytes)
{
    void *block = heap_refuses() ? NULL : HEAP_REAL(realloc)(old, bytes);
    heap.live += block != NULL && old == NULL;
    return block;
}

HEAP_OURS void free(void *block)
{
    heap.live -= block != NULL;
    HEAP_REAL(free)(block);
}

/* The n-th allocation from now fails (1 = the next); 0: none, and the count goes on from 0. */
static inline void heap_fail_at(uint64_t n)
{
    heap.calls = 0;
    heap.fail_at = n;
    heap.hit = false;
}

/* One attempt at something from its beginning to its end: all it made is released when it returns.
 * VQ_OK: it went well, and what came of it is right (the scenario looks). Any other status: outputs
 * are untouched (the scenario looks). */
typedef enum vq_status (*heap_scenario_fn)(void *ctx);

/* Once more, for a person. */
static inline void heap_trace(uint64_t at, heap_scenario_fn run, void *ctx)
{
    heap_fail_at(at);
    heap.traced = true;
    (void)run(ctx);
    heap.traced = false;
    heap_fail_at(0);
}

/* Runs the scenario with its 1st, 2nd, ... allocation failing until it has no further. Each failed
 * one must be answered with VQ_NOMEM, or, where `spared` (some libraries do without), with VQ_OK;
 * nothing may leak. Returns how many allocations there are. */
static inline uint64_t heap_torture(const char *name, heap_scenario_fn run, void *ctx, bool spared)
{
    heap_fail_at(0);
    enum vq_status first = run(ctx); /* what is made once a process is made now */
    if (first != VQ_OK) {
        fail_msg("%s: %s without a failed allocation", name, vq_status_name(first));
    }
    for (uint64_t at = 1;; at++) {
        int64_t live = heap.live;
        heap_fail_at(at);
        enum vq_status status = run(ctx);
        bool hit = heap.hit;
        heap_fail_at(0);
        if (HEAP_KNOWS_LEAKS && heap.live != live) {
            heap_trace(at, run, ctx);
            fail_msg("%s: allocation %llu failed and left %lld blocks", name,
                     (unsigned long long)at, (long long)(heap.live - live));
        }
        if (!hit) {
            assert_int_equal(status, VQ_OK);
            return at - 1;
        }
        if (status != VQ_NOMEM && !(spared && status == VQ_OK)) {
            heap_trace(at, run, ctx);
            fail_msg("%s: allocation %llu failed and %s came back", name, (unsigned long long)at,
                     vq_status_name(status));
        }
    }
}
