/* The vibes in the results of a finished run. */
#pragma once

#include "common/conf/axes_file.h"

/* In the order of results.json: the kept vibes, by |separability| on train, come first. */
struct vq_results_reader {
    struct vq_axes_file list; /* owned; never empty */
    uint32_t kept_count;
};

/* VQ_NOT_FOUND: the run has no results (yet), or no vibe was ever ranked. VQ_CORRUPT. The caller
 * frees *ret_found. */
enum vq_status vq_results_reader_read(const char *runs_dir, const char *run,
                                      struct vq_results_reader *ret_found,
                                      struct vq_error *err) VQ_WARN_UNUSED;
void vq_results_reader_free(struct vq_results_reader *found);
