/* Latency distributions: parsing and drawing. Not its job: waiting. */
#include "offline/faults/latency.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TWO_PI 6.283185307179586

/* A duration up to a colon or the end; false: it is not a duration. */
static bool duration(const char **at, int64_t *ret_ns)
{
    char *end = NULL;
    double value = strtod(*at, &end);
    if (end == *at || !(value >= 0)) {
        return false;
    }
    double unit = 1e6; /* a bare number is milliseconds */
    if (strncmp(end, "us", 2) == 0) {
        unit = 1e3;
        end += 2;
    } else if (strncmp(end, "ms", 2) == 0) {
        end += 2;
    } else if (*end == 's') {
        unit = 1e9;
        end += 1;
    }
    double ns = value * unit;
    if (ns > (double)VQ_LATENCY_NS_MAX || (*end != ':' && *end != '\0')) {
        return false;
    }
    *at = *end == ':' ? end + 1 : end;
    *ret_ns = (int64_t)ns;
    return true;
}

enum vq_status vq_latency_parse(const char *text, struct vq_latency *ret_latency,
                                struct vq_error *err)
{
    struct vq_latency latency = {0};
    const char *at = text;
    bool good = false;
    if (strncmp(at, "uniform:", 8) == 0) {
        latency.kind = VQ_LATENCY_UNIFORM;
        at += 8;
        good = duration(&at, &latency.a_ns) && duration(&at, &latency.b_ns) &&
               latency.b_ns >= latency.a_ns && *at == '\0';
    } else if (strncmp(at, "lognormal:", 10) == 0) {
        latency.kind = VQ_LATENCY_LOGNORMAL;
        at += 10;
        char *end = NULL;
        good = duration(&at, &latency.a_ns) && *at != '\0';
        latency.sigma = good ? strtod(at, &end) : 0;
        good = good && *end == '\0' && latency.sigma >= 0 && latency.sigma <= 5;
    } else {
        at += strncmp(at, "fixed:", 6) == 0 ? 6 : 0;
        good = duration(&at, &latency.a_ns) && *at == '\0';
    }
    if (!good) {
        return vq_fail(err, VQ_INVALID,
                       "\"%s\" is not a latency; write 20ms, uniform:5ms:50ms or "
                       "lognormal:200ms:0.5 (units us, ms, s; at most an hour)",
                       text);
    }
    *ret_latency = latency;
    return VQ_OK;
}

int64_t vq_latency_draw_ns(const struct vq_latency *latency, double u, double v)
{
    double ns = (double)latency->a_ns;
    if (latency->kind == VQ_LATENCY_UNIFORM) {
        ns += u * (double)(latency->b_ns - latency->a_ns);
    } else if (latency->kind == VQ_LATENCY_LOGNORMAL) {
        ns *= exp(latency->sigma * sqrt(-2 * log(1 - u)) * cos(TWO_PI * v));
    }
    return ns < (double)VQ_LATENCY_NS_MAX ? (int64_t)ns : VQ_LATENCY_NS_MAX;
}
