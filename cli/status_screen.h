/* The status of a run as a screen of a terminal: bars, small charts over the last minute, tables.
 * Pure text: the caller has the status, the size and the terminal. */
#pragma once

#include "common/text/fmt.h"

#include <jansson.h>

/* A value of a status; 0 or "" if it is missing or of another type. */
double vq_status_number(const json_t *object, const char *key);
uint64_t vq_status_whole(const json_t *object, const char *key); /* negative: 0 */
const char *vq_status_string(const json_t *object, const char *key);

#define VQ_TRAIL_SAMPLES  60u
#define VQ_TRAIL_POOLS    16u
#define VQ_TRAIL_NAME_MAX 63u

struct vq_trail_line {
    char name[VQ_TRAIL_NAME_MAX + 1]; /* of a pool */
    double value[VQ_TRAIL_SAMPLES];
    uint32_t count; /* samples so far */
};

/* The samples so far. All zero: none. */
struct vq_status_trail {
    struct vq_trail_line calls, tokens;
    struct vq_trail_line pools[VQ_TRAIL_POOLS]; /* calls in flight */
    uint32_t pools_count;
    double tokens_before, unix_ms_before;
    double tokens_per_s;
};

/* Adds a status. */
void vq_status_trail_add(struct vq_status_trail *trail, const json_t *status);

/* Appends at most `rows` lines of at most `terminal->columns` columns. Each line ends with an
 * erasure of the rest of the line, and the last one with an erasure of the rest of the screen.
 * Foreign texts are made plain; wide characters count with their columns (wcwidth, of the
 * locale). */
void vq_status_screen(const json_t *status, const char *run, const struct vq_status_trail *trail,
                      const struct vq_terminal *terminal, uint32_t rows, struct vq_buf *out);
