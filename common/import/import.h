/* Converts files of other programs with answers of models to rows of a CSV file that `vibeq run`
 * reads. Pure: bytes in, text out. Each format has a reader (read_*.c); formats.def lists them;
 * pair.c pairs two models. */
#pragma once

#include "common/import/shape.h"

#define VQ_IMPORT_FILES_MAX  32u
#define VQ_IMPORT_BYTES_MAX  ((size_t)4 << 30) /* of a file, unpacked; of all texts */
#define VQ_IMPORT_ROWS_MAX   20000000u
#define VQ_IMPORT_MODELS_MAX 256u /* different ones */
#define VQ_IMPORT_DEPTH_MAX  64u  /* of a JSON value */
#define VQ_IMPORT_NAME_BYTES 200u /* of a model */

/* An answer; its parts are pieces of set->text. A question has only a key and a prompt. */
struct vq_import_row {
    size_t at[4], bytes[4]; /* by enum vq_import_part */
    uint32_t file;
    bool question;
};

enum vq_import_part {
    /* answers with the same key belong to one prompt; empty: the prompt is the key */
    VQ_IMPORT_KEY,
    VQ_IMPORT_PROMPT,
    VQ_IMPORT_MODEL, /* empty: not in the file */
    VQ_IMPORT_OUTPUT,
};

struct vq_import_set { /* all zero except `text`: see vq_import_set_init */
    struct vq_buf text;
    struct vq_import_row *rows;
    size_t rows_count, rows_cap;
    const char *files[VQ_IMPORT_FILES_MAX]; /* borrowed names */
    uint32_t files_count;
    uint64_t more_turns; /* answers with further turns, which are dropped */
};

void vq_import_set_init(struct vq_import_set *set);
void vq_import_set_free(struct vq_import_set *set);
struct vq_span vq_import_part(const struct vq_import_set *set, const struct vq_import_row *row,
                              enum vq_import_part part);

/* ---- the formats ---- */

struct vq_import_item; /* private to readers: reader.h */

struct vq_import_format {
    const char *name;  /* the word of the command line */
    const char *about; /* the files that have this format */
    const char *list;  /* the path of the list in a document; NULL: lines, or one list */
    enum vq_status (*read)(struct vq_import_item *item);
};

extern const struct vq_import_format vq_import_formats[]; /* the last entry has a NULL name */

/* NULL: no format has this name. */
const struct vq_import_format *vq_import_format_find(const char *name);

/* Adds a file's answers. `name` must outlive the set. VQ_INVALID: another shape (the error names
 * the expected value, the found value and the place), invalid JSON, no answers. VQ_LIMIT, VQ_NOMEM.
 * After a failure, call only vq_import_set_free. */
enum vq_status vq_import_read(const struct vq_import_format *format, struct vq_span text,
                              const char *name, struct vq_import_set *set,
                              struct vq_error *err) VQ_WARN_UNUSED;

/* Adds the answers of a table (CSV or JSON lines); two tables are joined on the column `key`.
 * `prompt` and `output` may be NULL: the default names. VQ_INVALID: a column is missing; the error
 * lists the columns of the file. */
struct vq_table;
struct vq_import_columns {
    const char *key, *prompt, *output;
};
enum vq_status vq_import_table(const struct vq_table *table,
                               const struct vq_import_columns *columns, const char *name,
                               struct vq_import_set *set, struct vq_error *err) VQ_WARN_UNUSED;

/* ---- pairing ---- */

struct vq_import_pairing {
    char names[2][VQ_IMPORT_NAME_BYTES + 1]; /* the columns of A and B */
    uint64_t rows, only[2], repeated[2], empty[2], other_prompt, without_prompt;
};

/* Appends CSV with two models side by side: id (if answers have one), question, and one output of
 * each model. If there are two models or files, they are A and B in this order, and `names` (each
 * may be NULL) rename their columns. If there are more models, `names` select two. VQ_INVALID: not
 * two models (the error lists the models), the same name twice, no common prompt. */
enum vq_status vq_import_pair(const struct vq_import_set *set, const char *const names[2],
                              struct vq_buf *out, struct vq_import_pairing *ret_pairing,
                              struct vq_error *err) VQ_WARN_UNUSED;
