/* The first draft of a configuration, one for each kind of method, made from a look at the data.
 * The roles of columns (or files) are guessed from names and contents, and the draft marks every
 * guess as one. Pure. */
#pragma once

#include "common/text/table.h"

#define VQ_INIT_ROWS_MAX  200u /* number of rows that are looked at */
#define VQ_INIT_BYTES_MAX (256u << 10)

/* The columns that were found; VQ_TABLE_COLUMNS_MAX and above mean "not found". */
struct vq_init_guess {
    uint32_t prompt;
    uint32_t model[2];
    uint32_t preference;
    uint32_t group;
    bool models_by_label; /* the labels of the preference column are their names: not a guess */
    bool models_by_name;  /* a pair of usual names */
};

#define VQ_INIT_NONE UINT32_MAX

/* Looks at names and at most VQ_INIT_ROWS_MAX rows. Never fails: a column that it does not find is
 * VQ_INIT_NONE. */
void vq_init_guess(const struct vq_table *table, struct vq_init_guess *ret_guess);

/* Appends the commented YAML to `out`; out->status reports whether it fitted. `data_path` is
 * written to the file as it is. If both models were found, the draft loads without a change;
 * otherwise `models` holds two placeholders that name no column. */
void vq_init_config(const struct vq_table *table, const char *data_path,
                    const struct vq_init_guess *guess, struct vq_buf *out);

/* ---- judge.c: method: judge ---- */

/* As vq_init_guess, for outputs that are rated. model[1] is VQ_INIT_NONE if there is only one
 * column of outputs; `preference` is a column that can be read as people's choices between the two;
 * `group` is a column that data.group accepts. VQ_OK, VQ_NOMEM. */
enum vq_status vq_init_guess_rated(const struct vq_table *table,
                                   struct vq_init_guess *ret_guess) VQ_WARN_UNUSED;
/* If an output was found, the draft loads without a change; otherwise `models` holds a placeholder
 * that names no column. */
void vq_init_judge_config(const struct vq_table *table, const char *data_path,
                          const struct vq_init_guess *guess, struct vq_buf *out);

/* ---- persona.c: method: persona ---- */

#define VQ_INIT_PROBES_MAX 32u

struct vq_init_queries {
    const char *path; /* borrowed; NULL: none */
    uint32_t count, remarks;
};

struct vq_init_probe {
    const char *path; /* borrowed */
    uint32_t items;
    /* its items have them; traits: all of the first three */
    bool traits, labels, references, personas;
};

/* The contents of a persona evaluation's files; all-zero: no file yet. */
struct vq_init_persona {
    const char *personas; /* the file; borrowed */
    uint32_t personas_count;
    struct vq_init_queries directed, goal;
    struct vq_init_probe probes[VQ_INIT_PROBES_MAX];
    uint32_t probes_count;
};

/* Looks at a file and finds its role. `path` is written to the configuration as it is. VQ_INVALID
 * with a sentence: the file has no form of a persona evaluation, or another file already has its
 * role. VQ_NOMEM. */
enum vq_status vq_init_persona_add(struct vq_init_persona *persona, const char *path,
                                   struct vq_span text, struct vq_error *err) VQ_WARN_UNUSED;
/* VQ_INVALID with a sentence about what is missing. */
enum vq_status vq_init_persona_check(const struct vq_init_persona *persona,
                                     struct vq_error *err) VQ_WARN_UNUSED;
/* Appends the draft, which loads without a change if vq_init_persona_check returned VQ_OK. */
void vq_init_persona_config(const struct vq_init_persona *persona, struct vq_buf *out);
/* The rounds of a dialogue: the shorter list's, including its remarks. */
uint32_t vq_init_persona_rounds(const struct vq_init_persona *persona);
