/* RUN/advances.json: what workers on other machines may have spent that the ledger does not know
 * (coordinator/pools/authority.h), so that a crash of the coordinator does not forget it. Text that
 * people can read; written whole, durably, before the money goes out. */
#pragma once

#include "coordinator/pools/authority.h"
#include "coordinator/store/rundir/run_dir.h"

#define VQ_ADVANCES_FILE "advances.json"

/* No file: none. VQ_CORRUPT names file and place; VQ_IO, VQ_NOMEM. The caller frees *ret_advances
 * with vq_free. */
enum vq_status vq_advances_read(const struct vq_run_dir *run, struct vq_advance **ret_advances,
                                uint32_t *ret_count, struct vq_error *err) VQ_WARN_UNUSED;
/* VQ_FULL, VQ_IO: what was there stands. VQ_NOMEM. */
enum vq_status vq_advances_write(const struct vq_run_dir *run, const struct vq_advance *advances,
                                 uint32_t count, struct vq_error *err) VQ_WARN_UNUSED;
