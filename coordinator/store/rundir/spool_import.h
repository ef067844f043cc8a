/* Imports the spools of local workers that have ended: reads the spools RUN_DIR/spool/K/ that no
 * process holds, gives their results to the core, and removes them after these are committed. A
 * SENT record without an answer becomes a result with VQ_END_UNKNOWN. */
#pragma once

#include "proto/messages.h"

#define VQ_SPOOLS_MAX 1024 /* local workers of one run */

struct vq_spool_import; /* one spool, held by its lock until it is finished */

/* Takes the next unlocked spool with an index >= *k that has any data, even only a torn tail, and
 * sets *k past it. VQ_NOT_FOUND: there is none. VQ_CORRUPT: damaged in the middle (err names it).
 * VQ_INVALID: of another run (err names it). A torn tail is no damage. */
enum vq_status vq_spool_import_next(const char *run_dir, const struct vq_id *run, uint32_t *k,
                                    struct vq_spool_import **ret_import,
                                    struct vq_error *err) VQ_WARN_UNUSED;
/* Takes only spool k. VQ_NOT_FOUND: it does not exist or is empty (a torn tail counts as data).
 * VQ_LOCKED: its worker is alive. */
enum vq_status vq_spool_import_one(const char *run_dir, const struct vq_id *run, uint32_t k,
                                   struct vq_spool_import **ret_import,
                                   struct vq_error *err) VQ_WARN_UNUSED;

uint32_t vq_spool_import_k(const struct vq_spool_import *import);
size_t vq_spool_import_results(const struct vq_spool_import *import);
size_t vq_spool_import_unknown(const struct vq_spool_import *import);
/* Bytes of a last record that was cut short and left out. */
uint64_t vq_spool_import_torn_bytes(const struct vq_spool_import *import);
/* Borrowed until the import ends. Pass them to the core like a RESULTS message. */
const struct vq_result *vq_spool_import_at(const struct vq_spool_import *import, size_t i);

/* Call it after the commit of all its results: empties the spool and gives up its lock. */
enum vq_status vq_spool_import_finish(struct vq_spool_import **import,
                                      struct vq_error *err) VQ_WARN_UNUSED;
/* Gives up the lock and leaves the spool unchanged. NULL is fine. */
void vq_spool_import_abandon(struct vq_spool_import **import);
