/* Private to the drafts of configurations: functions that look at columns, and shared lines. */
#pragma once

#include "methods/init/init.h"

/* ---- init.c ---- */

/* The column of that name, in any case, that holds texts; or VQ_INIT_NONE. */
uint32_t vq_init_column(const struct vq_table *table, const char *name);
/* Among the columns without a role whose texts are mostly different: the one with the longest
 * texts, and the next one. VQ_INIT_NONE if there is none. */
void vq_init_longest(const struct vq_table *table, const struct vq_init_guess *guess,
                     uint32_t ret_column[2], double ret_bytes_mean[2]);
/* A column whose name is usual for preferences; or VQ_INIT_NONE. */
uint32_t vq_init_preferences(const struct vq_table *table);
bool vq_init_taken(const struct vq_init_guess *guess, uint32_t column);

/* Appends a YAML text in double quotes. */
void vq_init_put_text(struct vq_buf *out, struct vq_span text);
void vq_init_put_head(const struct vq_table *table, struct vq_buf *out);
/* Appends all lines up to the keys of `data` that every method has. */
void vq_init_put_data(const struct vq_table *table, const char *path,
                      const struct vq_init_guess *guess, struct vq_buf *out);
void vq_init_put_column(struct vq_buf *out, const struct vq_table *table, const char *key,
                        uint32_t column, const char *comment);
/* Appends an endpoint, as comments, for a model in the list `key`. */
void vq_init_put_model(struct vq_buf *out, const char *key);
void vq_init_put_end(struct vq_buf *out);
