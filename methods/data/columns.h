/* The columns of a table that a configuration names. `file` is the table's name in sentences,
 * `role` what a column is for: "the prompts". */
#pragma once

#include "common/text/table.h"

#define VQ_COLUMN_NONE UINT32_MAX

/* VQ_INVALID: there is no such column; the sentence names the nearest one. */
enum vq_status vq_column_need(const struct vq_table *table, const char *file, const char *name,
                              const char *role, uint32_t *ret_column,
                              struct vq_error *err) VQ_WARN_UNUSED;
/* The prompts: the column of that name; `name` NULL: "question", or else "prompt". */
enum vq_status vq_column_prompt(const struct vq_table *table, const char *file, const char *name,
                                uint32_t *ret_column, struct vq_error *err) VQ_WARN_UNUSED;
/* VQ_INVALID: a value of the column is a JSON object or array, and no text. */
enum vq_status vq_column_flat(const struct vq_table *table, const char *file, uint32_t column,
                              const char *role, struct vq_error *err) VQ_WARN_UNUSED;
