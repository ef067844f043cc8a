/* A run's numbers as Prometheus text; docs/use/metrics.md lists them. Pure: reading them changes
 * nothing, so there may be any number of scrapers. */
#pragma once

#include "coordinator/web/call_tally.h"
#include "coordinator/web/status.h"

#define VQ_METRICS_FILE         "metrics.prom" /* in a run's folder: the last values */
#define VQ_METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* Counters of events: metric, label, its value ("" and "": none), help. Rows of one metric are
 * together. */
#define VQ_COUNTERS(X)                                                                             \
    X(COMMITS, "commits_total", "", "", "Batches of results that were committed.")                 \
    X(LEASES_LOST, "leases_lost_total", "", "", "Leases that ended with their worker.")            \
    X(UNREADABLE, "messages_refused_total", "why", "unreadable",                                   \
      "Messages that were refused, by reason.")                                                    \
    X(BROKEN, "messages_refused_total", "why", "broken", "")                                       \
    X(OTHER_SESSION, "messages_refused_total", "why", "other_session", "")                         \
    X(NO_SESSION, "messages_refused_total", "why", "no_session", "")                               \
    X(PEERS_REFUSED, "peers_refused_total", "", "", "Connections refused for an unknown key.")     \
    X(FRAMES_DROPPED, "frames_dropped_total", "", "", "Frames that were dropped.")                 \
    X(REPEATED, "results_odd_total", "what", "repeated", "Unusual results, by what is unusual.")   \
    X(LATE, "results_odd_total", "what", "late", "")                                               \
    X(FOREIGN, "results_odd_total", "what", "foreign", "")                                         \
    X(NO_ROOM, "results_odd_total", "what", "no_room", "")                                         \
    X(REDIS_REBUILDS, "redis_rebuilds_total", "", "",                                              \
      "Times that Redis was filled again from the store.")                                         \
    X(SPOOLS, "spools_read_total", "", "", "Spools of dead workers that were read.")               \
    X(SPOOLS_TORN, "spools_torn_total", "", "", "Spools with an incomplete last record.")          \
    X(BATCHES_CANCELLED, "deadline_batches_cancelled_total", "", "",                               \
      "Batches that were cancelled for the deadline.")

enum vq_counter {
#define VQ_COUNTER_NAME(name, metric, label, value, help) VQ_COUNTER_##name,
    VQ_COUNTERS(VQ_COUNTER_NAME)
#undef VQ_COUNTER_NAME
    VQ_COUNTER__COUNT
};

struct vq_counters {
    uint64_t n[VQ_COUNTER__COUNT];
};
/* Its name in a file: "messages_refused_total.broken", "commits_total". */
const char *vq_counter_key(enum vq_counter counter);
/* Only of this process. */
void vq_counters_of(const struct vq_status_facts *facts, struct vq_counters *ret_counters);

struct vq_metrics_facts {
    const struct vq_status_facts *status;
    const struct vq_call_tally *calls;    /* of the run; its pools are the authority's */
    const struct vq_counters *counters;   /* of the run */
    int64_t turn_ns_max;                  /* the longest recent turn of the loop */
    uint64_t disk_bytes, disk_free_bytes; /* of the runs folder; 0 and 0: unknown */
    uint32_t carried; /* the maximum of calls in flight of one worker; 0: no call yet */
};

void vq_metrics_put(const struct vq_metrics_facts *facts, struct vq_buf *out);

/* The number of workers that the run can use now (wanted.h). */
uint32_t vq_metrics_workers_wanted(const struct vq_metrics_facts *facts);
