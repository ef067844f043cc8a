/* Private to this folder: lines of a file that name a model, a persona, a dialogue and a round by
 * the names in the results. */
#pragma once

#include "common/text/table.h"
#include "methods/persona/items.h"

#define VQ_PERSONA_LINES_WORD_BYTES 512
#define VQ_PERSONA_LINES_WORDS_MAX  3

/* A column, which may have any of these names; messages use the first one. */
struct vq_persona_lines_column {
    const char *names[VQ_PERSONA_LINES_WORDS_MAX];
    bool optional;
};

struct vq_persona_lines {
    struct vq_table *table; /* owned */
    const char *name;       /* name of the file */
    const struct vq_persona_plan *plan;
    const struct vq_persona_names *names;
    /* the column numbers from vq_persona_lines_open; UINT32_MAX: the file has no such column */
    const uint32_t *columns;
    struct vq_error *err;
};

/* Reads CSV, or JSON lines if `name` has such an ending. `l` has plan, names and err; ret_columns
 * has room for `count`. VQ_INVALID with a sentence; VQ_LIMIT, VQ_NOMEM. On VQ_OK the caller
 * destroys l->table. */
enum vq_status vq_persona_lines_open(struct vq_persona_lines *l, struct vq_span text,
                                     const char *name,
                                     const struct vq_persona_lines_column *columns, uint32_t count,
                                     uint32_t *ret_columns) VQ_WARN_UNUSED;

/* A cell without the blanks around it, cut to a length that no name or number has; "" if the file
 * has no such column. */
const char *vq_persona_lines_word(const struct vq_persona_lines *l, uint32_t row, uint32_t column,
                                  char text[VQ_PERSONA_LINES_WORD_BYTES]);
/* Reads a number that is not negative. */
enum vq_status vq_persona_lines_number(const struct vq_persona_lines *l, uint32_t row,
                                       uint32_t column, const char *what,
                                       double *ret_value) VQ_WARN_UNUSED;

/* These return numbers of the plan, or VQ_PERSONA_NONE. */
uint32_t vq_persona_lines_find(const char *name, const char *const *names, uint32_t count);
uint32_t vq_persona_lines_model(const struct vq_persona_lines *l, uint32_t row, uint32_t column);
/* `baseline`, `empty` or an empty cell means the baseline. */
uint32_t vq_persona_lines_persona(const struct vq_persona_lines *l, uint32_t row, uint32_t column);
/* Accepts directed or interview, goal or instructions. */
uint32_t vq_persona_lines_script(const struct vq_persona_lines *l, uint32_t row, uint32_t column);
uint32_t vq_persona_lines_checkpoint(const struct vq_persona_lines *l, double round);
