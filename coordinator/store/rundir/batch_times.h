/* Durations of batches: RUNS/batches.csv, one line for each batch whose end a run has seen, for all
 * runs of the folder. */
#pragma once

#include "common/conf/pools.h"
#include "coordinator/pools/deadline.h"

#define VQ_BATCH_TIMES_FILE      "batches.csv"
#define VQ_BATCH_TIMES_MAX       5000u      /* the last lines of the file; only these count */
#define VQ_BATCH_TIMES_BYTES_MAX (8u << 20) /* of the file; a longer one is not read */
#define VQ_BATCH_TIMES_DIALECT   16u
#define VQ_BATCH_TIMES_MODEL     128u

struct vq_batch_time {
    char dialect[VQ_BATCH_TIMES_DIALECT], model[VQ_BATCH_TIMES_MODEL];
    double seconds;
    char end; /* e: it ended; c: it was cancelled at this age; x: it expired */
};

struct vq_batch_times {
    struct vq_batch_time *list;
    size_t count, cap;
};

/* A missing or unreadable file is logged; the list is then empty. VQ_NOMEM. */
enum vq_status vq_batch_times_load(const char *runs_dir,
                                   struct vq_batch_times *ret_times) VQ_WARN_UNUSED;
void vq_batch_times_free(struct vq_batch_times *times);
/* Adds it to the list and, as a line, to the file. VQ_NOMEM, VQ_IO. */
enum vq_status vq_batch_times_add(struct vq_batch_times *times, const char *runs_dir,
                                  const struct vq_batch_time *time, uint32_t calls, int64_t unix_ms,
                                  struct vq_error *err) VQ_WARN_UNUSED;

/* Those of this dialect and model, each multiplied by `speed`. *ret_memory is freed with
 * vq_free. */
enum vq_status vq_batch_times_of(const struct vq_batch_times *times, const struct vq_conf_use *use,
                                 double speed, struct vq_durations *ret_durations,
                                 double **ret_memory) VQ_WARN_UNUSED;
