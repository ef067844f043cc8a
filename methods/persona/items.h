/* Gives numbers to the names in data sets and in measured results, by the names of a run. Pure. */
#pragma once

#include "common/conf/items_file.h"
#include "methods/persona/numbers.h"

/* The names of a run's models and personas, by number. */
struct vq_persona_names {
    const char *const *models; /* design.models entries */
    const char *const *personas;
};

/* Owned. */
struct vq_persona_bound {
    struct vq_persona_item *items; /* for vq_persona_set */
    uint32_t *source;              /* the item's number in the file */
    uint32_t count;
    /* The baseline's questions for the items of personas: one text each, without the persona's name
     * at the front ("Ada, how ..." becomes "How ..."). Equal texts are one question */
    const char **questions;
    uint32_t questions_count;
    uint32_t passed_over; /* number of items whose persona is not in the run */
    struct vq_arena memory;
};

/* VQ_OK; VQ_NOT_FOUND with a sentence: no item belongs to this run; VQ_NOMEM. The caller frees
 * *ret_bound. */
enum vq_status vq_persona_bind(const struct vq_items_file *file, const char *name,
                               const struct vq_persona_names *names, uint32_t personas_count,
                               struct vq_persona_bound *ret_bound,
                               struct vq_error *err) VQ_WARN_UNUSED;
void vq_persona_bound_free(struct vq_persona_bound *bound);

/* Appends a persona's question in the form that the baseline gets; failures stick in
 * out->status. */
void vq_persona_bare_question(const char *question, const char *persona, struct vq_buf *out);

/* Reads results that were computed outside of vibeq: CSV, or JSON lines if `name` has such an
 * ending. Columns: `model`, `persona` (or role; `baseline`, `empty` or an empty cell means the
 * baseline), `kind` (or dialogue, base_conversation: directed or interview, goal or instructions),
 * `round`, `correct` (0 or 1, or a count), and, if `correct` is a count, `total`. One line per
 * item, or sums. Lines of models, personas, kinds and rounds that the plan does not have are
 * skipped and counted. VQ_INVALID with NAME, line and field; VQ_NOT_FOUND: no line belongs to this
 * plan; VQ_LIMIT, VQ_NOMEM. The caller frees *ret_measured (vq_free). */
enum vq_status vq_persona_measured_parse(struct vq_span text, const char *name,
                                         const struct vq_persona_plan *plan,
                                         const struct vq_persona_names *names,
                                         struct vq_persona_measured **ret_measured,
                                         size_t *ret_count, size_t *ret_passed_over,
                                         struct vq_error *err) VQ_WARN_UNUSED;
