/* The first draft of a configuration, one for each kind of method, from a look at the data: which
 * columns (or files) hold what is guessed from names and contents, and every guess is marked as
 * one. Pure. */
#pragma once

#include "common/text/table.h"

#define VQ_INIT_ROWS_MAX  200u /* looked at */
#define VQ_INIT_BYTES_MAX (256u << 10)

/* The columns that were found; VQ_TABLE_COLUMNS_MAX and above mean "not found". */
struct vq_init_guess {
    uint32_t prompt;
    uint32_t model[2];
    uint32_t preference;
    uint32_t group;
    bool models_by_label; /* the preference column names them: not a guess */
    bool models_by_name;  /* a pair of usual names */
};

#define VQ_INIT_NONE UINT32_MAX

/* Looks at names and at most VQ_INIT_ROWS_MAX rows. Never fails: what it does not find is
 * VQ_INIT_NONE. */
void vq_init_guess(const struct vq_table *table, struct vq_init_guess *ret_guess);

/* The commented YAML, appended to `out` (its status says whether it fitted). `data_path` as it
 * shall stand in the file. With both models found it loads as it is; otherwise `models` holds two
 * placeholders that name no column. */
void vq_init_config(const struct vq_table *table, const char *data_path,
                    const struct vq_init_guess *guess, struct vq_buf *out);

/* ---- init_judge.c: method: judge ---- */

/* As vq_init_guess, of outputs that are rated: model[1] is VQ_INIT_NONE where there is one column
 * of them; `preference` is a column that can be read as people's choices between the two; `group`
 * one that data.group takes. VQ_OK, VQ_NOMEM. */
enum vq_status vq_init_guess_rated(const struct vq_table *table,
                                   struct vq_init_guess *ret_guess) VQ_WARN_UNUSED;
/* With an output found it loads as it is; otherwise `models` holds a placeholder that names no
 * column. */
void vq_init_judge_config(const struct vq_table *table, const char *data_path,
                          const struct vq_init_guess *guess, struct vq_buf *out);

/* ---- init_persona.c: method: persona ---- */

#define VQ_INIT_PROBES_MAX 32u

struct vq_init_queries {
    const char *path; /* borrowed; NULL: none */
    uint32_t count, remarks;
};

struct vq_init_probe {
    const char *path; /* borrowed */
    uint32_t items;
    bool traits, labels, references, personas; /* its items have them, all of the first three */
};

/* What files of a persona evaluation hold; zero-initialised: nothing yet. */
struct vq_init_persona {
    const char *personas; /* the file; borrowed */
    uint32_t personas_count;
    struct vq_init_queries directed, goal;
    struct vq_init_probe probes[VQ_INIT_PROBES_MAX];
    uint32_t probes_count;
};

/* Looks at a file and finds its place. `path` as it shall stand in the configuration. VQ_INVALID
 * with a sentence: it is nothing that a persona evaluation has, or its place is taken. VQ_NOMEM. */
enum vq_status vq_init_persona_add(struct vq_init_persona *persona, const char *path,
                                   struct vq_span text, struct vq_error *err) VQ_WARN_UNUSED;
/* VQ_INVALID with what is missing. */
enum vq_status vq_init_persona_check(const struct vq_init_persona *persona,
                                     struct vq_error *err) VQ_WARN_UNUSED;
/* Loads as it is, once that is checked. */
void vq_init_persona_config(const struct vq_init_persona *persona, struct vq_buf *out);
/* Rounds of a dialogue: the shorter list's, with its remarks. */
uint32_t vq_init_persona_rounds(const struct vq_init_persona *persona);
