/* Answers of models in the files of other programs, as the rows of a CSV file that `vibeq run`
 * reads. Pure: bytes in, text out. One reader for each format (read_*.c), one table of them
 * (formats.def), one way to pair two models (pair.c). */
#pragma once

#include "common/import/shape.h"

#define VQ_IMPORT_FILES_MAX  32u
#define VQ_IMPORT_BYTES_MAX  ((size_t)4 << 30) /* of a file, unpacked; of all texts */
#define VQ_IMPORT_ROWS_MAX   20000000u
#define VQ_IMPORT_MODELS_MAX 256u /* different ones */
#define VQ_IMPORT_DEPTH_MAX  64u  /* of a JSON value */
#define VQ_IMPORT_NAME_BYTES 200u /* of a model */

/* An answer, as pieces of set->text. A question has a key and a prompt only. */
struct vq_import_row {
    size_t at[4], bytes[4]; /* by enum vq_import_part */
    uint32_t file;
    bool question;
};

enum vq_import_part {
    VQ_IMPORT_KEY, /* what makes answers those of the same prompt; empty: the prompt does */
    VQ_IMPORT_PROMPT,
    VQ_IMPORT_MODEL, /* empty: the file does not say */
    VQ_IMPORT_OUTPUT,
};

struct vq_import_set { /* all-zero but for `text`: vq_import_set_init */
    struct vq_buf text;
    struct vq_import_row *rows;
    size_t rows_count, rows_cap;
    const char *files[VQ_IMPORT_FILES_MAX]; /* borrowed names */
    uint32_t files_count;
    uint64_t more_turns; /* answers with further turns, which are left out */
};

void vq_import_set_init(struct vq_import_set *set);
void vq_import_set_free(struct vq_import_set *set);
struct vq_span vq_import_part(const struct vq_import_set *set, const struct vq_import_row *row,
                              enum vq_import_part part);

/* ---- the formats ---- */

struct vq_import_item; /* private to readers: reader.h */

struct vq_import_format {
    const char *name;  /* the word of the command line */
    const char *about; /* what files it is of */
    const char *list;  /* the list of a document by its path; NULL: lines, or one list */
    enum vq_status (*read)(struct vq_import_item *item);
};

extern const struct vq_import_format vq_import_formats[]; /* up to a NULL name */

/* NULL: there is none of this name. */
const struct vq_import_format *vq_import_format_find(const char *name);

/* Adds a file's answers. `name` must outlive the set. VQ_INVALID: another shape (what was expected,
 * what was found, where), broken JSON, no answers. VQ_LIMIT, VQ_NOMEM. After a failure the set is
 * good for nothing but vq_import_set_free. */
enum vq_status vq_import_read(const struct vq_import_format *format, struct vq_span text,
                              const char *name, struct vq_import_set *set,
                              struct vq_error *err) VQ_WARN_UNUSED;

/* Two tables (CSV or JSON lines) joined on a column: the third way to fill a set. `key`, `prompt`,
 * `output`: columns; prompt and output may be NULL for the usual names. VQ_INVALID names the
 * columns that are there. */
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

/* Two models side by side, as CSV behind what `out` holds: id (where answers have one), question,
 * and an output each. A and B are the two models or files that there are, in this order; `names`
 * (each may be NULL) name columns then, and choose where there are more models than two.
 * VQ_INVALID: not two models (those that there are are named), the same name twice, nothing in
 * common. */
enum vq_status vq_import_pair(const struct vq_import_set *set, const char *const names[2],
                              struct vq_buf *out, struct vq_import_pairing *ret_pairing,
                              struct vq_error *err) VQ_WARN_UNUSED;
