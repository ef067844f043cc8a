/* Reads the clocks. Nothing else in the tree calls clock_gettime. */
#include "common/base/clock.h"

#include <time.h>

static int64_t read_ns(clockid_t id)
{
    struct timespec ts;
    (void)clock_gettime(id, &ts); /* cannot fail for these clocks */
    return (int64_t)ts.tv_sec * VQ_NS_PER_S + ts.tv_nsec;
}

int64_t vq_clock_mono_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

int64_t vq_clock_unix_ms(void)
{
    return read_ns(CLOCK_REALTIME) / VQ_NS_PER_MS;
}

int64_t vq_clock_thread_ns(void)
{
    return read_ns(CLOCK_THREAD_CPUTIME_ID);
}
