/* A ring of samples over all pools, and one mark per worker. Invariant: all pools have the same
 * number of samples. Not its job: limits in force (the authority). */
#include "coordinator/web/recent.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "coordinator/queue/limits.h"
#include "coordinator/web/status_parts.h"

#include <math.h>
#include <stdlib.h>

#define RATE_SHARE 0.5 /* weight of the newest interval in a worker's rate */

enum recent_column {
    RECENT_REQUESTS, /* per minute */
    RECENT_TOKENS,   /* per minute */
    RECENT_IN_FLIGHT,
    RECENT__COUNT
};

static const char *const column_names[RECENT__COUNT] = {
    [RECENT_REQUESTS] = "requests_per_minute",
    [RECENT_TOKENS] = "tokens_per_minute",
    [RECENT_IN_FLIGHT] = "in_flight",
};

struct mark { /* of a worker */
    struct vq_id worker;
    uint64_t results;
    double per_s; /* negative: unknown */
};

struct vq_recent {
    uint32_t pools;
    uint64_t taken;     /* samples so far */
    int64_t sampled_ns; /* when the last one was taken */
    float *values;      /* [sample][pool][column] */
    struct mark *marks; /* by worker id */
    size_t marks_count;
};

struct vq_recent *vq_recent_create(uint32_t pools)
{
    struct vq_recent *recent = vq_alloc(1, sizeof(*recent));
    if (recent == NULL) {
        return NULL;
    }
    recent->pools = pools;
    recent->values = vq_alloc((size_t)VQ_RECENT_SAMPLES * pools * RECENT__COUNT, sizeof(float));
    if (recent->values == NULL) {
        vq_recent_destroy(&recent);
    }
    return recent;
}

void vq_recent_destroy(struct vq_recent **recent)
{
    if (*recent != NULL) {
        vq_free((*recent)->values);
        vq_free((*recent)->marks);
    }
    vq_free(*recent);
    *recent = NULL;
}

static size_t place(const struct vq_recent *recent, uint64_t sample, uint32_t pool)
{
    return ((size_t)(sample % VQ_RECENT_SAMPLES) * recent->pools + pool) * RECENT__COUNT;
}

/* ---- workers ---- */

static int by_worker(const void *a, const void *b)
{
    return memcmp(((const struct mark *)a)->worker.b, ((const struct mark *)b)->worker.b,
                  VQ_ID_BYTES);
}

static const struct mark *find(const struct vq_recent *recent, const struct vq_id *worker)
{
    struct mark key = {.worker = *worker};
    return recent->marks_count == 0
               ? NULL
               : bsearch(&key, recent->marks, recent->marks_count, sizeof(key), by_worker);
}

/* The counter of a worker starts again in each of its sessions. */
static double rate_of(const struct mark *before, uint64_t results, double seconds)
{
    if (before == NULL || seconds <= 0) {
        return -1;
    }
    double now =
        (double)(results >= before->results ? results - before->results : results) / seconds;
    return before->per_s < 0 ? now : before->per_s + RATE_SHARE * (now - before->per_s);
}

static void mark_workers(struct vq_recent *recent, const struct vq_status_facts *f, double seconds)
{
    struct vq_coord_worker_status w;
    size_t count = 0;
    while (count < VQ_COORD_SESSIONS_MAX && vq_coord_worker_fill(f->coord, (uint32_t)count, &w)) {
        count++;
    }
    struct mark *marks = count == 0 ? NULL : vq_alloc(count, sizeof(*marks));
    if (marks == NULL) { /* without memory, rates start again */
        count = 0;
    }
    for (size_t i = 0; i < count && vq_coord_worker_fill(f->coord, (uint32_t)i, &w); i++) {
        marks[i] = (struct mark){.worker = w.worker,
                                 .results = w.results,
                                 .per_s = rate_of(find(recent, &w.worker), w.results, seconds)};
    }
    if (count > 0) {
        qsort(marks, count, sizeof(*marks), by_worker);
    }
    vq_free(recent->marks);
    recent->marks = marks;
    recent->marks_count = count;
}

/* ---- samples ---- */

void vq_recent_add(struct vq_recent *recent, const struct vq_status_facts *f)
{
    int64_t passed_ns = f->now_ns - recent->sampled_ns;
    /* half a turn of the timer early is early enough */
    if (f->coord == NULL ||
        (recent->sampled_ns != 0 && passed_ns < VQ_RECENT_EVERY_MS * VQ_NS_PER_MS / 2)) {
        return;
    }
    for (uint32_t p = 0; p < recent->pools && p < vq_authority_pools(f->authority); p++) {
        struct vq_authority_pool_status s;
        vq_authority_status(f->authority, p, f->now_ns, &s);
        float *to = &recent->values[place(recent, recent->taken, p)];
        to[RECENT_REQUESTS] = (float)s.lately.requests;
        to[RECENT_TOKENS] = (float)s.lately.tokens;
        to[RECENT_IN_FLIGHT] = (float)s.in_flight;
    }
    mark_workers(recent, f, recent->sampled_ns == 0 ? 0 : (double)passed_ns / (double)VQ_NS_PER_S);
    recent->taken++;
    recent->sampled_ns = f->now_ns;
}

/* ---- JSON ---- */

static void put_recent(struct vq_json *j, const struct vq_recent *recent, uint32_t pool)
{
    uint64_t first = recent->taken > VQ_RECENT_SAMPLES ? recent->taken - VQ_RECENT_SAMPLES : 0;
    vq_json_put_object(j, "recent");
    for (int column = 0; column < RECENT__COUNT; column++) {
        vq_json_put_array(j, column_names[column]);
        for (uint64_t n = first; n < recent->taken; n++) {
            vq_json_real(j, (double)recent->values[place(recent, n, pool) + (size_t)column], 4);
        }
        vq_json_array_end(j);
    }
    vq_json_object_end(j);
}

void vq_recent_pools_json(const struct vq_recent *recent, const struct vq_status_facts *f,
                          struct vq_buf *out)
{
    struct vq_json json;
    struct vq_json *j = &json;
    vq_json_open(j, out, 0);
    vq_json_put_u64(j, "format", 1);
    vq_json_put_u64(j, "every_ms", VQ_RECENT_EVERY_MS);
    vq_json_put_array(j, "pools");
    for (uint32_t p = 0; f->coord != NULL && p < vq_authority_pools(f->authority); p++) {
        if (f->idle == NULL || !f->idle[p]) {
            vq_json_object(j);
            vq_status_pool_fields(j, f, p);
            put_recent(j, recent, p);
            vq_json_object_end(j);
        }
    }
    vq_json_array_end(j);
    vq_json_close(j);
}

void vq_recent_workers_json(const struct vq_recent *recent, const struct vq_status_facts *f,
                            struct vq_buf *out)
{
    struct vq_json json;
    struct vq_json *j = &json;
    struct vq_coord_worker_status w;
    vq_json_open(j, out, 0);
    vq_json_put_u64(j, "format", 1);
    vq_json_put_array(j, "workers");
    for (uint32_t i = 0; f->coord != NULL && vq_coord_worker_fill(f->coord, i, &w); i++) {
        const struct mark *mark = find(recent, &w.worker);
        vq_json_object(j);
        vq_status_worker_fields(j, f, &w);
        vq_json_put_real(j, "results_per_s", mark == NULL || mark->per_s < 0 ? NAN : mark->per_s,
                         4);
        vq_json_object_end(j);
    }
    vq_json_array_end(j);
    vq_json_close(j);
}
