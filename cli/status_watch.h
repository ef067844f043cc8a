/* `vibeq status --watch` on a terminal: a separate screen, drawn each second and when the terminal
 * changes its size. */
#pragma once

#include "common/base/status.h"

#include <jansson.h>
#include <stdbool.h>

/* The status now, owned by the caller. */
typedef enum vq_status (*vq_status_fetch)(void *ctx, json_t **ret_status, bool *ret_running,
                                          struct vq_error *err);

/* Draws until the run is no longer active: VQ_OK; or until a status cannot be read. Ctrl-C ends the
 * process; the terminal is restored. */
enum vq_status vq_status_watch(const char *run, vq_status_fetch fetch, void *ctx,
                               struct vq_error *err) VQ_WARN_UNUSED;
