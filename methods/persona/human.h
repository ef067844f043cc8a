/* People's labels for things that judges rated: lines in the form of ratings.csv, each with a
 * label. Pure. */
#pragma once

#include "methods/persona/items.h"

struct vq_persona_human {
    struct vq_persona_rated of; /* .criterion: the first criterion of its name */
    double value;               /* as in study.values */
    bool placed;                /* set by vq_persona_human_place */
};

/* Columns: `criterion`, `model`, `persona`, `kind`, `round`, `human` (or `value`), and, if ratings
 * need them to be distinct, `as`, `order`, `item`, `reference`, `position`: as in ratings.csv. An
 * empty or missing cell means the persona itself, the original order, the data set's reference,
 * position 1; a line without a label is ignored. Lines of models, personas, kinds, rounds and
 * criteria that the plan does not have are skipped and counted; equal labels of one thing count
 * once. VQ_INVALID with NAME, line and the mistake: the criterion does not allow the label, or two
 * labels of one thing differ. VQ_NOT_FOUND: no line belongs to this plan; VQ_LIMIT, VQ_NOMEM.
 * Sorted; the caller frees *ret_human (vq_free). */
enum vq_status vq_persona_human_parse(struct vq_span text, const char *name,
                                      const struct vq_persona_plan *plan,
                                      const struct vq_persona_names *names,
                                      const struct vq_persona_criterion *criteria,
                                      uint32_t criteria_count, struct vq_persona_human **ret_human,
                                      size_t *ret_count, size_t *ret_passed_over,
                                      struct vq_error *err) VQ_WARN_UNUSED;

/* Writes one value per rated thing, for study.human. Returns the number of labels for things that
 * were not rated. */
size_t vq_persona_human_place(struct vq_persona_human *human, size_t count,
                              const struct vq_persona_criterion *criteria,
                              const struct vq_persona_rated *rated, size_t rated_count,
                              double *ret_values);
