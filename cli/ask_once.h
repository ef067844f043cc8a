/* One call a model, outside of any run, made by a worker process that is started for it, since keys
 * live with workers. */
#pragma once

#include "methods/grid/stage_grid.h"

/* Which task of a stage that was made ready: its judges are asked about this sample, vibe and
 * order. Borrowed. */
struct vq_once_task {
    const struct vq_stage_grid *asking;
    uint32_t sample, vibe;
    unsigned order;
};

/* What came of one judge's call. Texts are owned, NULL where there is nothing to say; counts are -1
 * then. */
struct vq_once {
    bool wanted;  /* it was to be asked */
    bool heard;   /* the worker said what came of it */
    bool refusal; /* the provider marked the answer as refused or filtered */
    char *end;    /* "answer", "rate", "no_key", ... */
    char *answer;
    char *finish_reason;
    char *model; /* as the provider returned it */
    char *error;
    int64_t http_status, tokens_in, tokens_out, latency_ms;
};

/* Asks the judges marked `wanted` in `once` (one a judge of the asking), all at once; starts the
 * built-in server when one of them is served by it. VQ_OK when the worker did its part, whatever
 * the judges said. The caller frees with vq_once_free. */
enum vq_status vq_ask_once(const struct vq_once_task *task, struct vq_once *once,
                           struct vq_error *err) VQ_WARN_UNUSED;
void vq_once_free(struct vq_once *once, uint32_t count); /* the texts, not the array */
