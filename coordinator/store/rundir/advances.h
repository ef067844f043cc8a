/* RUN/advances.json: the possible spending of workers on other machines beyond the ledger
 * (coordinator/pools/authority.h), so that it survives a crash of the coordinator. The text is
 * readable for people. It is written whole and durably before the money is granted. */
#pragma once

#include "coordinator/pools/authority.h"
#include "coordinator/store/rundir/run_dir.h"

#define VQ_ADVANCES_FILE "advances.json"

/* Without a file the list is empty. VQ_CORRUPT names file and place; VQ_IO, VQ_NOMEM. The caller
 * frees *ret_advances with vq_free. */
enum vq_status vq_advances_read(const struct vq_run_dir *run, struct vq_advance **ret_advances,
                                uint32_t *ret_count, struct vq_error *err) VQ_WARN_UNUSED;
/* VQ_FULL, VQ_IO: the earlier file stays. VQ_NOMEM. */
enum vq_status vq_advances_write(const struct vq_run_dir *run, const struct vq_advance *advances,
                                 uint32_t count, struct vq_error *err) VQ_WARN_UNUSED;
