/* What the tests of common/net share: a loop per test and a way to wait on it. */
#pragma once

#include "tests/unit/test.h"

#include "common/base/clock.h"
#include "common/net/http.h"
#include "common/net/loop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_MS 20000 /* a test that needs so long has failed */

#define assert_ok(call)                                                                            \
    do {                                                                                           \
        enum vq_status assert_ok_status_ = (call);                                                 \
        if (assert_ok_status_ != VQ_OK) {                                                          \
            fail_msg("%s: %s", #call, vq_status_name(assert_ok_status_));                          \
        }                                                                                          \
    } while (0)

#define assert_status(call, expected)                                                              \
    do {                                                                                           \
        enum vq_status assert_status_got_ = (call);                                                \
        if (assert_status_got_ != (expected)) {                                                    \
            fail_msg("%s: %s, expected %s", #call, vq_status_name(assert_status_got_),             \
                     vq_status_name(expected));                                                    \
        }                                                                                          \
    } while (0)

#define assert_contains(text, part)                                                                \
    do {                                                                                           \
        if (strstr(text, part) == NULL) {                                                          \
            fail_msg("\"%s\" does not contain \"%s\"", text, part);                                \
        }                                                                                          \
    } while (0)

static inline bool is_true(void *flag)
{
    return *(bool *)flag;
}

static inline bool never(void *ctx)
{
    (void)ctx;
    return false;
}

/* Turns until *flag. */
static inline void wait_flag(struct vq_loop *loop, bool *flag)
{
    assert_ok(vq_loop_run_until(loop, is_true, flag, WAIT_MS));
}

struct vq_wait_count {
    const int *now;
    int wanted;
};

static inline bool reached(void *ctx)
{
    const struct vq_wait_count *w = ctx;
    return *w->now >= w->wanted;
}

static inline void wait_count(struct vq_loop *loop, const int *now, int wanted)
{
    struct vq_wait_count w = {now, wanted};
    int64_t from_ns = vq_clock_mono_ns();
    assert_ok(vq_loop_run_until(loop, reached, &w, WAIT_MS));
    /* what came only because the time-out woke the loop came too late */
    assert_true(vq_clock_mono_ns() - from_ns < WAIT_MS * VQ_NS_PER_MS);
}

/* Turns for some time, for things that must not happen. */
static inline void run_for(struct vq_loop *loop, uint32_t ms)
{
    assert_status(vq_loop_run_until(loop, never, NULL, ms), VQ_TIMEOUT);
}

static inline int loop_setup(void **state)
{
    struct vq_loop *loop = NULL;
    if (vq_loop_create(&loop, NULL) != VQ_OK) {
        return -1;
    }
    *state = loop;
    return 0;
}

static inline int loop_teardown(void **state)
{
    struct vq_loop *loop = *state;
    vq_loop_destroy(&loop);
    return 0;
}

/* A fresh folder under the temporary directory, mode 0700. */
static inline char *test_folder(char path[64])
{
    (void)snprintf(path, 64, "/tmp/vibeq-test-XXXXXX");
    assert_non_null(mkdtemp(path));
    return path;
}

static inline void remove_folder(const char *path)
{
    char command[128];
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", path);
    assert_int_equal(system(command), 0);
}

static inline void copy_text(char *to, size_t cap, struct vq_span from)
{
    size_t n = from.bytes < cap - 1 ? from.bytes : cap - 1;
    if (n > 0) {
        memcpy(to, from.at, n);
    }
    to[n] = '\0';
}

static inline struct vq_span header_of(const struct vq_http_response *response, const char *name)
{
    for (uint32_t i = 0; i < response->headers_count; i++) {
        if (vq_span_eq(response->headers[i].name, vq_span_str(name))) {
            return response->headers[i].value;
        }
    }
    return vq_span("", 0);
}
