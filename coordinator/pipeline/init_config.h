/* The first draft of a configuration from a look at the data: which columns hold what is guessed from names and contents, and
 * every guess is marked as one. Pure. */
#ifndef VQ_PIPELINE_INIT_CONFIG_H
#define VQ_PIPELINE_INIT_CONFIG_H

#include "common/text/table.h"

#define VQ_INIT_ROWS_MAX  200u /* looked at */
#define VQ_INIT_BYTES_MAX (256u << 10)

/* What was found; VQ_TABLE_COLUMNS_MAX and above stand for "not found". */
struct vq_init_guess {
    uint32_t prompt;
    uint32_t model[2];
    uint32_t preference;
    uint32_t group;
    bool models_by_label; /* the preference column names them: not a guess */
};

#define VQ_INIT_NONE UINT32_MAX

/* Looks at names and at most VQ_INIT_ROWS_MAX rows. Never fails: what it does not find is VQ_INIT_NONE. */
void vq_init_guess(const struct vq_table *table, struct vq_init_guess *ret_guess);

/* The commented YAML, appended to `out` (its status says whether it fitted). `data_path` as it shall stand in the file. With both
 * models found it loads as it is; otherwise `models` holds two placeholders that name no column. */
void vq_init_config(const struct vq_table *table, const char *data_path,
                    const struct vq_init_guess *guess, struct vq_buf *out);

#endif
