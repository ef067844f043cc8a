/* Reads the answers to the questions after beginnings of dialogues from the store, one at a time,
 * for the report. */
#pragma once

#include "coordinator/store/calls/calls.h"
#include "methods/files/job.h"
#include "methods/persona/persona.h"

struct vq_probes;
/* Borrows its arguments. VQ_NOMEM; the caller destroys *ret_probes. */
enum vq_status vq_probes_create(const struct vq_job *job, const struct vq_persona *persona,
                                struct vq_view *view, const struct vq_id *run,
                                struct vq_probes **ret_probes) VQ_WARN_UNUSED;
void vq_probes_destroy(struct vq_probes **probes);

/* The answer to a question of a data set (its column) after a beginning, in the view's memory; .at
 * NULL: there is no answer. VQ_OK, VQ_NOMEM, VQ_IO, VQ_CORRUPT. */
enum vq_status vq_probes_find(struct vq_probes *probes, uint32_t set, uint32_t prefix,
                              uint32_t column, struct vq_span *ret_answer,
                              struct vq_error *err) VQ_WARN_UNUSED;
