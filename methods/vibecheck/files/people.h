/* People's labels of a run's vibes: the run's own file, which `vibeq label` writes and the results
 * read. */
#pragma once

#include "methods/files/job.h"
#include "methods/vibecheck/files/human.h"
#include "methods/vibecheck/labels.h"

#define VQ_PEOPLE_FILE      "labels.csv" /* in the run's folder */
#define VQ_PEOPLE_BYTES_MAX VQ_HUMAN_BYTES_MAX

/* *ret_people: as in struct vq_vibecheck_input, to be freed; NULL if the run has no labels. A label
 * of a vibe that is not in `axes` is left out; *ret_others is the number of such labels in the
 * configuration's file. VQ_INVALID with file and line. */
enum vq_status vq_people_load(const struct vq_job *job, const struct vq_run_dir *run,
                              const struct vq_label_frame *frame, int8_t **ret_people,
                              uint32_t *ret_others, struct vq_error *err) VQ_WARN_UNUSED;
