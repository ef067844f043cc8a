/* The time until an answer: a distribution, drawn by hash. Pure. */
#pragma once

#include "common/base/status.h"

enum vq_latency_kind {
    VQ_LATENCY_FIXED,
    VQ_LATENCY_UNIFORM,
    VQ_LATENCY_LOGNORMAL
};

struct vq_latency {
    enum vq_latency_kind kind;
    int64_t a_ns; /* the value; the minimum; the median */
    int64_t b_ns; /* uniform: the maximum */
    double sigma; /* lognormal: of the logarithm */
};

#define VQ_LATENCY_NS_MAX (INT64_C(3600) * 1000000000)

/* "0", "20ms", "uniform:5ms:50ms", "lognormal:200ms:0.5"; units us, ms, s. */
enum vq_status vq_latency_parse(const char *text, struct vq_latency *ret_latency,
                                struct vq_error *err) VQ_WARN_UNUSED;

/* u and v are uniform in [0, 1). At most VQ_LATENCY_NS_MAX. */
int64_t vq_latency_draw_ns(const struct vq_latency *latency, double u, double v);
