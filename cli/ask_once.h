/* One call per model, outside of any run. A worker process makes it, because only workers have
 * keys. */
#pragma once

#include "methods/grid/stage_grid.h"

/* A task of a prepared stage: its judges get the question about this sample, vibe and order.
 * Borrowed. */
struct vq_once_task {
    const struct vq_stage_grid *asking;
    uint32_t sample, vibe;
    unsigned order;
};

/* The result of one judge's call. Texts are owned; NULL: none. Counts are -1 if they are not
 * known. */
struct vq_once {
    bool wanted;  /* this judge is to be called */
    bool heard;   /* the worker reported the result */
    bool refusal; /* the provider marked the answer as refused or filtered */
    char *end;    /* "answer", "rate", "no_key", ... */
    char *answer;
    char *finish_reason;
    char *model; /* as the provider returned it */
    char *error;
    int64_t http_status, tokens_in, tokens_out, latency_ms;
};

/* Calls the judges marked `wanted` in `once` (one element per judge of `asking`), all at once;
 * starts the built-in server if it serves one of them. VQ_OK: the worker did its part, even if
 * calls failed. The caller frees with vq_once_free. */
enum vq_status vq_ask_once(const struct vq_once_task *task, struct vq_once *once,
                           struct vq_error *err) VQ_WARN_UNUSED;
void vq_once_free(struct vq_once *once, uint32_t count); /* the texts, not the array */
