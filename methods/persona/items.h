/* Items of a data set, and results from elsewhere, as a run sees them: names become numbers.
 * Pure. */
#pragma once

#include "common/conf/items_file.h"
#include "methods/persona/numbers.h"

/* Who and what a run has, by number. */
struct vq_persona_names {
    const char *const *models; /* design.models of them */
    const char *const *personas;
};

/* Owned. */
struct vq_persona_bound {
    struct vq_persona_item *items; /* for vq_persona_set */
    uint32_t *source;              /* the item's number in the file */
    uint32_t count;
    /* What the baseline is asked for the items of personas: one text each, without the persona's
     * name in front ("Ada, how ..." becomes "How ..."); texts that are then equal are one
     * question */
    char **questions;
    uint32_t questions_count;
    uint32_t passed_over; /* items of personas that the run has not */
};

/* VQ_OK; VQ_NOT_FOUND: none is left, with a sentence; VQ_NOMEM. The caller frees *ret_bound. */
enum vq_status vq_persona_bind(const struct vq_items_file *file, const char *name,
                               const struct vq_persona_names *names, uint32_t personas_count,
                               struct vq_persona_bound *ret_bound,
                               struct vq_error *err) VQ_WARN_UNUSED;
void vq_persona_bound_free(struct vq_persona_bound *bound);

/* Appends a persona's question as the baseline is asked it; failures stick in out->status. */
void vq_persona_bare_question(const char *question, const char *persona, struct vq_buf *out);

/* Results that were computed elsewhere: CSV, or JSON lines where `name` ends so. Columns: `model`,
 * `persona` (or role; `baseline`, `empty` or nothing is the baseline), `kind` (or dialogue,
 * base_conversation: directed or interview, goal or instructions), `round`, `correct` (0 or 1, or a
 * count), and, if `correct` is a count, `total`. One line an item, or sums. Lines of models,
 * personas, kinds and rounds that the plan has not are passed over and counted. VQ_INVALID with
 * NAME, line and field; VQ_NOT_FOUND: no line is of this plan; VQ_LIMIT, VQ_NOMEM. The caller frees
 * *ret_measured (vq_free). */
enum vq_status vq_persona_measured_parse(struct vq_span text, const char *name,
                                         const struct vq_persona_plan *plan,
                                         const struct vq_persona_names *names,
                                         struct vq_persona_measured **ret_measured,
                                         size_t *ret_count, size_t *ret_passed_over,
                                         struct vq_error *err) VQ_WARN_UNUSED;
