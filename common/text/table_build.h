/* A table that is being built; private to table*.c. */
#pragma once

#include "common/text/intern.h"
#include "common/text/table.h"

struct vq_arena_block;

struct vq_table_build {
    const char *name;     /* of the file, for errors */
    struct vq_error *err; /* nullable */
    struct vq_table_options options;
    struct vq_table_mended mended;
    struct vq_arena_block *blocks;
    struct vq_intern columns; /* the keys are in the arena */
    struct vq_span *cells;    /* by row */
    size_t cells_count;
    size_t cells_cap;
    uint64_t *lines;
    uint32_t rows_count;
    size_t lines_cap;
    uint64_t *nested_lines; /* by column; columns from nested_cap on have 0 */
    size_t nested_cap;
};

/* Copies text into the arena. */
enum vq_status vq_table_keep(struct vq_table_build *build, struct vq_span text,
                             struct vq_span *ret_kept) VQ_WARN_UNUSED;
/* The same for a cell, with the options applied. */
enum vq_status vq_table_keep_cell(struct vq_table_build *build, struct vq_span text,
                                  struct vq_span *ret_kept) VQ_WARN_UNUSED;
enum vq_status vq_table_add_cell(struct vq_table_build *build, struct vq_span kept) VQ_WARN_UNUSED;
enum vq_status vq_table_add_row(struct vq_table_build *build, uint64_t line) VQ_WARN_UNUSED;
/* Finds the column of this name, or adds it; a new column raises columns.count. */
enum vq_status vq_table_add_column(struct vq_table_build *build, struct vq_span name, uint64_t line,
                                   uint32_t *ret_column) VQ_WARN_UNUSED;

/* Both read checked UTF-8 without NUL bytes and without a byte order mark. */
enum vq_status vq_table_read_csv(struct vq_table_build *build, struct vq_span bytes) VQ_WARN_UNUSED;
enum vq_status vq_table_read_jsonl(struct vq_table_build *build,
                                   struct vq_span bytes) VQ_WARN_UNUSED;
