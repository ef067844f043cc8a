/* Private to the drafts of configurations: looking at columns, and lines that they share. */
#pragma once

#include "methods/init/init.h"

/* ---- init_config.c ---- */

/* The column of that name, whatever its case, that holds texts; or VQ_INIT_NONE. */
uint32_t vq_init_column(const struct vq_table *table, const char *name);
/* Of the columns whose texts are mostly different, but for those that have a role, the one with the
 * longest texts and the next one; VQ_INIT_NONE where there is none. */
void vq_init_longest(const struct vq_table *table, const struct vq_init_guess *guess,
                     uint32_t ret_column[2], double ret_bytes_mean[2]);
/* A column that is called as preferences are; or VQ_INIT_NONE. */
uint32_t vq_init_preferences(const struct vq_table *table);
bool vq_init_taken(const struct vq_init_guess *guess, uint32_t column);

/* A YAML text in double quotes. */
void vq_init_put_text(struct vq_buf *out, struct vq_span text);
void vq_init_put_head(const struct vq_table *table, struct vq_buf *out);
/* Up to the keys of `data` that every method has. */
void vq_init_put_data(const struct vq_table *table, const char *path,
                      const struct vq_init_guess *guess, struct vq_buf *out);
void vq_init_put_column(struct vq_buf *out, const struct vq_table *table, const char *key,
                        uint32_t column, const char *comment);
/* An endpoint in comments, for a model in the list `key`. */
void vq_init_put_model(struct vq_buf *out, const char *key);
void vq_init_put_end(struct vq_buf *out);
