/* A run over time: a ring of samples, for charts. Pure: the shell (coordinator/run/history_file.c)
 * stores the ring in a file of the run's folder, so that it survives a restart. A record has its
 * number at both ends; a record that was written only in part is ignored. */
#pragma once

#include "coordinator/web/status.h"

#define VQ_HISTORY_EVERY_MS 10000
#define VQ_HISTORY_SAMPLES  4320u /* 12 hours */

/* The columns of a sample. Tasks, calls and tokens are those of the present stage. */
enum vq_history_column {
    VQ_HISTORY_UNIX_MS,
    VQ_HISTORY_STAGE_NO,
    VQ_HISTORY_STATES, /* tasks by state: VQ_TASK_STATES columns */
    VQ_HISTORY_ENDS = VQ_HISTORY_STATES + VQ_TASK_STATES, /* calls by end: VQ_CALL_ENDS columns */
    VQ_HISTORY_TOKENS_IN = VQ_HISTORY_ENDS + VQ_CALL_ENDS,
    VQ_HISTORY_TOKENS_OUT,
    VQ_HISTORY_CALLS_OUT,
    VQ_HISTORY_CALLS_PER_KS, /* calls in 1,000 s, at the rate of the last minute */
    VQ_HISTORY_WORKERS,
    VQ_HISTORY_SPENT_NANO, /* nano-dollars of the whole run */
    VQ_HISTORY__COUNT
};

struct vq_history_sample {
    uint64_t column[VQ_HISTORY__COUNT];
};

/* A record: its number, the columns, its number again; little-endian. The file is a head and
 * VQ_HISTORY_SAMPLES records; record n is at index (n - 1) % VQ_HISTORY_SAMPLES. */
#define VQ_HISTORY_HEAD_BYTES   16u
#define VQ_HISTORY_RECORD_BYTES ((VQ_HISTORY__COUNT + 2u) * 8u)

struct vq_history;                          /* about 1 MB */
struct vq_history *vq_history_create(void); /* NULL: no memory */
void vq_history_destroy(struct vq_history **history);

void vq_history_sample_of(const struct vq_status_facts *facts,
                          struct vq_history_sample *ret_sample);

/* Adds a sample. The shell writes the record at *ret_offset. */
void vq_history_add(struct vq_history *history, const struct vq_history_sample *sample,
                    uint8_t ret_record[VQ_HISTORY_RECORD_BYTES], uint64_t *ret_offset);

void vq_history_head(uint8_t ret_head[VQ_HISTORY_HEAD_BYTES]);
/* Loads the samples of a file with this format into an empty history. Returns false if the format
 * is another one: nothing was loaded, and the shell starts a new file. */
bool vq_history_load(struct vq_history *history, struct vq_span file);

/* The time of "?after=" (NULL: 0). Returns false if it is invalid: reply with
 * VQ_HISTORY_AFTER_WRONG. */
#define VQ_HISTORY_AFTER_WRONG "after: give a time in milliseconds since 1970\n"
bool vq_history_after(const char *text, uint64_t *ret_unix_ms);

/* {"format", "every_ms", "tasks": {"open": [...], ...}, "calls": {"answer": [...], ...}, "unix_ms":
 * [...], ...}: the samples later than `after_unix_ms`, oldest first. */
void vq_history_json(const struct vq_history *history, uint64_t after_unix_ms, struct vq_buf *out);
