/* Finds the vibes that are settled before all training rows are asked: by the separability and
 * preference gates (gates.c), exactly or with error at most alpha per vibe and gate decision
 * (methods/stats/intervals/betting.h). The asked rows must be a random draw, in the order of the
 * draw. The gate on agreement between judges settles nothing: a vibe that fails only this gate is
 * asked in full. Pure. */
#pragma once

#include "methods/stats/intervals/betting.h"
#include "methods/vibecheck/numbers/vibecheck.h"

#define VQ_LOOKS_MAX 12u

/* The numbers of training rows after which the method looks at vibes, ascending and less than
 * `train`; returns the number of looks. There are none without early stopping, or if a look could
 * save almost nothing. */
uint32_t vq_settle_looks(const struct vq_config *config, uint32_t train,
                         uint32_t ret_ends[VQ_LOOKS_MAX]);

enum vq_settled_as {
    VQ_SETTLED_NOT,
    VQ_SETTLED_DROPPED, /* fails a gate */
    VQ_SETTLED_PASSES,  /* passes all its own gates; gates that compare vibes are not considered */
};

struct vq_settled_vibe {
    enum vq_settled_as as;
    enum vq_decided how;
};

struct vq_settle_input {
    const struct vq_config *config;
    struct vq_grid grid; /* its samples are the rows asked so far, in the order of the draw */
    const uint8_t *outcomes;
    const struct vq_row *rows; /* one per sample */
    uint32_t total;            /* number of all training rows */
};

/* `ret` gets one entry per vibe. VQ_NOMEM. */
enum vq_status vq_settle(const struct vq_settle_input *in,
                         struct vq_settled_vibe *ret) VQ_WARN_UNUSED;
