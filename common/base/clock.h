/* The only module that reads a clock. Pure cores never include it: their caller passes `now_ns`. */
#pragma once

#include <stdint.h>

#define VQ_NS_PER_S  INT64_C(1000000000)
#define VQ_NS_PER_MS INT64_C(1000000)
#define VQ_NS_PER_US INT64_C(1000)

int64_t vq_clock_mono_ns(void);   /* monotonic; for every deadline and duration */
int64_t vq_clock_unix_ms(void);   /* wall time; for records and display only */
int64_t vq_clock_thread_ns(void); /* CPU time of the calling thread */
