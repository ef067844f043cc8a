/* A data file as a table of text: CSV or JSON lines, read strictly from bytes into columns and rows
 * of spans. */
#pragma once

#include "common/base/buf.h"

#define VQ_TABLE_BYTES_MAX       (UINT64_C(8) << 30) /* of a file */
#define VQ_TABLE_COLUMNS_MAX     2000
#define VQ_TABLE_ROWS_MAX        20000000u
#define VQ_TABLE_CELLS_MAX       (UINT64_C(1) << 28)
#define VQ_TABLE_FIELD_BYTES_MAX (16u << 20)
#define VQ_TABLE_NAME_BYTES_MAX  1024u /* of a column */
#define VQ_TABLE_JSON_DEPTH_MAX  32

enum vq_table_format {
    /* RFC 4180 with a header; CR LF or LF, a byte order mark, line ends inside quotes */
    VQ_TABLE_CSV,
    /* one object per line; columns are the union of the keys in order of appearance */
    VQ_TABLE_JSONL,
};

struct vq_table_options { /* all zero: cells are read as written */
    bool unwrap_lists;    /* a cell that is a JSON or Python list of one string is that string */
};

/* Values that were replaced while reading: for each kind the count and the first line. */
struct vq_table_mended {
    uint64_t not_numbers, not_numbers_line; /* NaN or Infinity in JSON lines: read as null */
    uint64_t surrogates, surrogates_line;   /* half a surrogate pair: read as U+FFFD */
    uint64_t unwrapped;                     /* cells, by `unwrap_lists` */
};

/* Row r is record r + 1 after the header; empty lines are not records. All text is valid UTF-8
 * without NUL bytes and belongs to the table. */
struct vq_table {
    uint32_t columns_count;
    uint32_t rows_count;
    const struct vq_span *columns; /* names, distinct */
    /* rows_count x columns_count, by row; a missing JSON key and null give an empty cell */
    const struct vq_span *cells;
    const uint64_t *lines; /* by row: the physical line where the record begins, from 1 */
    struct vq_table_mended mended;
};

static inline struct vq_span vq_table_cell(const struct vq_table *table, uint32_t row,
                                           uint32_t column)
{
    return table->cells[(size_t)row * table->columns_count + column];
}

/* The first line whose value in the column is a JSON object or array (its cell is JSON text); 0: no
 * such line. */
uint64_t vq_table_nested_line(const struct vq_table *table, uint32_t column);

/* The index of the column with this name, or UINT32_MAX. */
uint32_t vq_table_column(const struct vq_table *table, struct vq_span name);

/* Parses `bytes`, which are copied. In JSON lines, a number becomes the shortest text that reads
 * back equal, a boolean "true" or "false", an object or array compact JSON. Errors name `name`, the
 * line, the column or field, and what to do. VQ_INVALID for bad input: no bytes, no header, no
 * record, NUL bytes, bad UTF-8, another encoding, a row whose length differs from the header's, a
 * column name that is too long or used twice, an unclosed quote, a quote inside an unquoted field,
 * invalid JSON, a line that is not an object. VQ_LIMIT above a limit of this header. On VQ_OK the
 * caller owns *ret_table. */
enum vq_status vq_table_parse(struct vq_span bytes, enum vq_table_format format, const char *name,
                              struct vq_table **ret_table, struct vq_error *err) VQ_WARN_UNUSED;
/* The same with options; NULL: the defaults. */
enum vq_status vq_table_parse_with(struct vq_span bytes, enum vq_table_format format,
                                   const char *name, const struct vq_table_options *options,
                                   struct vq_table **ret_table,
                                   struct vq_error *err) VQ_WARN_UNUSED;
void vq_table_destroy(struct vq_table **table);

/* Whether a file name ends with `ending`, such as ".csv", in any case. */
bool vq_name_ends_with(const char *name, const char *ending);

/* `format` is "csv", "jsonl" or "auto": by the path's ending (.jsonl, .ndjson, .json; .csv), else
 * by the first byte that is not white space ('{': JSON lines). VQ_INVALID: another word, or a
 * ".json" file that is one array. */
enum vq_status vq_table_format_of(const char *format, const char *path, struct vq_span bytes,
                                  enum vq_table_format *ret_format,
                                  struct vq_error *err) VQ_WARN_UNUSED;
