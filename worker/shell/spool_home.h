/* The default folder of a worker's spool: $XDG_STATE_HOME or ~/.local/state,
 * then vibeq/spool/RUNUID/K. */
#pragma once

#include "proto/spool.h"

#define VQ_SPOOL_HOME_MAX 1024u /* workers of one run and one user on one machine */

/* Opens the first spool of this run that no process holds, and returns its folder. Spools that are
 * not empty come first. The caller owns *ret_spool and *ret_held. VQ_NOT_FOUND: this user has no
 * home; VQ_IO: a folder cannot be made; VQ_LIMIT: all are taken; and the errors of
 * vq_spool_open. */
enum vq_status vq_spool_home_open(const struct vq_id *run, const struct vq_id *worker,
                                  char ret_dir[VQ_SPOOL_PATH_BYTES_MAX],
                                  struct vq_spool **ret_spool, struct vq_spool_held **ret_held,
                                  struct vq_error *err) VQ_WARN_UNUSED;

/* The run is over: removes the folders of a closed spool that holds nothing. A folder that is in
 * use or not empty stays. */
void vq_spool_home_remove(const char *dir);
