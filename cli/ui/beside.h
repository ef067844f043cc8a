/* The page of runs for `vibeq run`, `resume` and `status`: the address at which the runs folder is
 * served, and a server that runs beside a run (--ui). */
#pragma once

#include "common/base/status.h"

#define VQ_UI_BESIDE_WAIT_MS 5000 /* maximum time until it listens */

struct vq_ui_beside;
/* Starts `vibeq ui` as a child, which ends with this process. VQ_LOCKED: the folder is already
 * served, and nothing was started. Another status with a sentence: it did not start. */
enum vq_status vq_ui_beside_start(const char *runs_dir, struct vq_ui_beside **ret_beside,
                                  struct vq_error *err) VQ_WARN_UNUSED;
void vq_ui_beside_stop(struct vq_ui_beside **beside); /* *beside may be NULL */

/* Prints the address of the run's page on standard error if the folder is served; with the token
 * only on a terminal. */
void vq_ui_print_page(const char *runs_dir, const char *name);
