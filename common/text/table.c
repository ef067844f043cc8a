/* Common to CSV and JSON lines: checks of the raw bytes, the arena, the cells, the names of
 * columns. Invariants: a finished table has at least one column and one row; cells_count = rows *
 * columns; every span points into the arena. Ownership: the table owns its arena, and so all spans.
 * Not its job: syntax (table_csv.c, table_jsonl.c), files. */
#include "common/text/table_build.h"

#include "common/base/alloc.h"
#include "common/text/cell.h"
#include "common/text/utf8.h"

#define ARENA_BLOCK_BYTES (1u << 20)

struct vq_arena_block {
    struct vq_arena_block *next;
    size_t used;
    size_t cap;
    char at[];
};

struct owned_table {
    struct vq_table table;
    struct vq_arena_block *blocks;
    struct vq_intern columns;
    struct vq_span *cells;
    uint64_t *lines;
    uint64_t *nested_lines;
    size_t nested_count;
};

enum vq_status vq_table_keep(struct vq_table_build *build, struct vq_span text,
                             struct vq_span *ret_kept)
{
    if (text.bytes == 0) {
        *ret_kept = vq_span("", 0);
        return VQ_OK;
    }
    struct vq_arena_block *block = build->blocks;
    if (block == NULL || block->cap - block->used < text.bytes) {
        size_t cap = text.bytes > ARENA_BLOCK_BYTES ? text.bytes : ARENA_BLOCK_BYTES;
        struct vq_arena_block *fresh = vq_realloc(NULL, 1, sizeof(*fresh) + cap);
        if (fresh == NULL) {
            return VQ_NOMEM;
        }
        fresh->next = block;
        fresh->used = 0;
        fresh->cap = cap;
        build->blocks = block = fresh;
    }
    memcpy(block->at + block->used, text.at, text.bytes);
    *ret_kept = vq_span(block->at + block->used, text.bytes);
    block->used += text.bytes;
    return VQ_OK;
}

enum vq_status vq_table_keep_cell(struct vq_table_build *build, struct vq_span text,
                                  struct vq_span *ret_kept)
{
    if (!build->options.unwrap_lists || !vq_cell_is_list_of_one(text, NULL)) {
        return vq_table_keep(build, text, ret_kept);
    }
    struct vq_buf inner;
    vq_buf_init(&inner, VQ_TABLE_FIELD_BYTES_MAX);
    (void)vq_cell_is_list_of_one(text, &inner);
    enum vq_status status = inner.status;
    if (status == VQ_OK) {
        status = vq_table_keep(build, vq_buf_span(&inner), ret_kept);
        build->mended.unwrapped++;
    }
    vq_buf_free(&inner);
    return status;
}

enum vq_status vq_table_add_cell(struct vq_table_build *build, struct vq_span kept)
{
    enum vq_status status =
        VQ_GROW(build->cells, &build->cells_cap, build->cells_count + 1, VQ_TABLE_CELLS_MAX);
    if (status == VQ_LIMIT) {
        return vq_fail(build->err, status, "%s has more than %llu fields", build->name,
                       (unsigned long long)VQ_TABLE_CELLS_MAX);
    }
    if (status == VQ_OK) {
        build->cells[build->cells_count++] = kept;
    }
    return status;
}

enum vq_status vq_table_add_row(struct vq_table_build *build, uint64_t line)
{
    enum vq_status status =
        VQ_GROW(build->lines, &build->lines_cap, (size_t)build->rows_count + 1, VQ_TABLE_ROWS_MAX);
    if (status == VQ_LIMIT) {
        return vq_fail(build->err, status,
                       "%s has more than %u records; split the file, or sample it before",
                       build->name, VQ_TABLE_ROWS_MAX);
    }
    if (status == VQ_OK) {
        build->lines[build->rows_count++] = line;
    }
    return status;
}

enum vq_status vq_table_add_column(struct vq_table_build *build, struct vq_span name, uint64_t line,
                                   uint32_t *ret_column)
{
    if (name.bytes > VQ_TABLE_NAME_BYTES_MAX) {
        return vq_fail(build->err, VQ_LIMIT,
                       "%s, line %llu: the name of column %u is longer than %u bytes", build->name,
                       (unsigned long long)line, build->columns.count + 1, VQ_TABLE_NAME_BYTES_MAX);
    }
    if (build->columns.count >= VQ_TABLE_COLUMNS_MAX) {
        return vq_fail(build->err, VQ_LIMIT, "%s, line %llu: more than %d columns", build->name,
                       (unsigned long long)line, VQ_TABLE_COLUMNS_MAX);
    }
    struct vq_span kept;
    VQ_TRY(vq_table_keep(build, name, &kept));
    return vq_intern_add(&build->columns, kept, ret_column);
}

/* Line and column (both from 1; the column in code points) of a byte. */
static void place_of(struct vq_span bytes, size_t at, uint64_t *ret_line, uint64_t *ret_column)
{
    uint64_t line = 1;
    size_t start = 0;
    for (const char *lf; (lf = memchr(bytes.at + start, '\n', at - start)) != NULL; line++) {
        start = (size_t)(lf - bytes.at) + 1;
    }
    *ret_line = line;
    *ret_column = vq_utf8_count(vq_span(bytes.at + start, at - start)) + 1;
}

/* Half a surrogate pair is invalid in UTF-8, but some programs write it as ED A0..BF xx. If `bytes`
 * has any, *ret_bytes is a copy in `work` with each replaced by U+FFFD, which has the same length;
 * else it is `bytes`. */
static enum vq_status mend_surrogates(struct vq_table_build *build, struct vq_span bytes,
                                      struct vq_buf *work, struct vq_span *ret_bytes)
{
    size_t at = vq_utf8_valid_bytes(bytes);
    for (; bytes.bytes - at >= 3 && bytes.at[at] == '\xed' &&
           (bytes.at[at + 1] & '\xe0') == '\xa0' && (bytes.at[at + 2] & '\xc0') == '\x80';
         at += vq_utf8_valid_bytes(vq_span(bytes.at + at, bytes.bytes - at))) {
        if (work->bytes == 0) {
            uint64_t column;
            place_of(bytes, at, &build->mended.surrogates_line, &column);
            vq_buf_append(work, bytes.at, bytes.bytes);
            if (work->status != VQ_OK) {
                return work->status;
            }
            bytes = vq_buf_span(work);
        }
        memcpy(work->at + at, "\xef\xbf\xbd", 3);
        build->mended.surrogates++;
    }
    *ret_bytes = bytes;
    return VQ_OK;
}

static enum vq_status check_bytes(struct vq_span bytes, const char *name, struct vq_error *err)
{
    if (bytes.bytes > VQ_TABLE_BYTES_MAX) {
        return vq_fail(err, VQ_LIMIT, "%s is larger than %llu bytes", name,
                       (unsigned long long)VQ_TABLE_BYTES_MAX);
    }
    if (bytes.bytes >= 2 &&
        (memcmp(bytes.at, "\xff\xfe", 2) == 0 || memcmp(bytes.at, "\xfe\xff", 2) == 0)) {
        return vq_fail(err, VQ_INVALID, "%s is UTF-16; save it as UTF-8", name);
    }
    uint64_t line, column;
    const char *nul = bytes.bytes == 0 ? NULL : memchr(bytes.at, '\0', bytes.bytes);
    if (nul != NULL) {
        place_of(bytes, (size_t)(nul - bytes.at), &line, &column);
        return vq_fail(
            err, VQ_INVALID,
            "%s, line %llu, column %llu: a NUL byte; this is not a text file, or it is damaged",
            name, (unsigned long long)line, (unsigned long long)column);
    }
    size_t valid = vq_utf8_valid_bytes(bytes);
    if (valid < bytes.bytes) {
        place_of(bytes, valid, &line, &column);
        return vq_fail(
            err, VQ_INVALID,
            "%s, line %llu, column %llu: byte 0x%02x (at offset %zu) is not valid UTF-8; save the "
            "file as UTF-8",
            name, (unsigned long long)line, (unsigned long long)column,
            (unsigned char)bytes.at[valid], valid);
    }
    return VQ_OK;
}

static void free_build(struct vq_table_build *build)
{
    while (build->blocks != NULL) {
        struct vq_arena_block *next = build->blocks->next;
        vq_free(build->blocks);
        build->blocks = next;
    }
    vq_intern_free(&build->columns);
    vq_free(build->cells);
    vq_free(build->lines);
    vq_free(build->nested_lines);
}

static enum vq_status finish(struct vq_table_build *build, struct vq_table **ret_table)
{
    if (build->columns.count == 0) {
        return vq_fail(build->err, VQ_INVALID, "%s is empty: it has no header and no records",
                       build->name);
    }
    if (build->rows_count == 0) {
        return vq_fail(build->err, VQ_INVALID, "%s has a header and no records", build->name);
    }
    VQ_ASSERT(build->cells_count == (size_t)build->rows_count * build->columns.count);
    struct owned_table *owned;
    VQ_TRY(VQ_ALLOC(owned, 1));
    *owned = (struct owned_table){
        .blocks = build->blocks,
        .columns = build->columns,
        .cells = build->cells,
        .lines = build->lines,
        .nested_lines = build->nested_lines,
        .nested_count = build->nested_cap,
        .table = {.columns_count = build->columns.count,
                  .rows_count = build->rows_count,
                  .columns = build->columns.keys,
                  .cells = build->cells,
                  .lines = build->lines,
                  .mended = build->mended},
    };
    *ret_table = &owned->table;
    return VQ_OK;
}

static enum vq_status parse(struct vq_table_build *build, struct vq_span bytes,
                            enum vq_table_format format)
{
    if (bytes.bytes >= 3 && memcmp(bytes.at, "\xef\xbb\xbf", 3) == 0) {
        bytes = vq_span(bytes.at + 3, bytes.bytes - 3);
    }
    return format == VQ_TABLE_CSV ? vq_table_read_csv(build, bytes)
                                  : vq_table_read_jsonl(build, bytes);
}

enum vq_status vq_table_parse(struct vq_span bytes, enum vq_table_format format, const char *name,
                              struct vq_table **ret_table, struct vq_error *err)
{
    return vq_table_parse_with(bytes, format, name, NULL, ret_table, err);
}

enum vq_status vq_table_parse_with(struct vq_span bytes, enum vq_table_format format,
                                   const char *name, const struct vq_table_options *options,
                                   struct vq_table **ret_table, struct vq_error *err)
{
    struct vq_table_build build = {.name = name, .err = err};
    build.options = options == NULL ? build.options : *options;
    struct vq_buf work;
    vq_buf_init(&work, VQ_TABLE_BYTES_MAX);
    enum vq_status status = mend_surrogates(&build, bytes, &work, &bytes);
    if (status == VQ_OK) {
        status = check_bytes(bytes, name, err);
    }
    if (status == VQ_OK) {
        status = parse(&build, bytes, format);
    }
    vq_buf_free(&work);
    if (status == VQ_OK) {
        status = finish(&build, ret_table);
    }
    if (status == VQ_NOMEM) {
        (void)vq_fail(err, status, "no memory for the table of %s", name);
    }
    if (status != VQ_OK) {
        free_build(&build);
    }
    return status;
}

void vq_table_destroy(struct vq_table **table)
{
    if (*table == NULL) {
        return;
    }
    struct owned_table *owned = (struct owned_table *)*table; /* the table is its first member */
    struct vq_table_build parts = {.blocks = owned->blocks,
                                   .columns = owned->columns,
                                   .cells = owned->cells,
                                   .lines = owned->lines,
                                   .nested_lines = owned->nested_lines};
    free_build(&parts);
    vq_free(owned);
    *table = NULL;
}

uint64_t vq_table_nested_line(const struct vq_table *table, uint32_t column)
{
    /* the table is its first member */
    const struct owned_table *owned = (const struct owned_table *)table;
    return column < owned->nested_count ? owned->nested_lines[column] : 0;
}

uint32_t vq_table_column(const struct vq_table *table, struct vq_span name)
{
    for (uint32_t i = 0; i < table->columns_count; i++) {
        if (vq_span_eq(table->columns[i], name)) {
            return i;
        }
    }
    return UINT32_MAX;
}

bool vq_name_ends_with(const char *name, const char *ending)
{
    size_t n = strlen(name), m = strlen(ending);
    return n >= m && strcasecmp(name + n - m, ending) == 0;
}

enum vq_status vq_table_format_of(const char *format, const char *path, struct vq_span bytes,
                                  enum vq_table_format *ret_format, struct vq_error *err)
{
    if (strcmp(format, "csv") == 0) {
        *ret_format = VQ_TABLE_CSV;
        return VQ_OK;
    }
    if (strcmp(format, "jsonl") == 0) {
        *ret_format = VQ_TABLE_JSONL;
        return VQ_OK;
    }
    if (strcmp(format, "auto") != 0) {
        return vq_fail(err, VQ_INVALID, "the data format is one of auto, csv, jsonl; not \"%.40s\"",
                       format);
    }
    size_t at = bytes.bytes >= 3 && memcmp(bytes.at, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (at < bytes.bytes && strchr(" \t\r\n", bytes.at[at]) != NULL && bytes.at[at] != '\0') {
        at++;
    }
    char first = at < bytes.bytes ? bytes.at[at] : '\0';
    bool is_json = vq_name_ends_with(path, ".jsonl") || vq_name_ends_with(path, ".ndjson") ||
                   vq_name_ends_with(path, ".json");
    if (is_json && first == '[') {
        return vq_fail(
            err, VQ_INVALID,
            "%s is one JSON array; write one object a line instead (jq -c '.[]' %s > data.jsonl)",
            path, path);
    }
    bool is_csv = vq_name_ends_with(path, ".csv");
    *ret_format = is_json || (!is_csv && first == '{') ? VQ_TABLE_JSONL : VQ_TABLE_CSV;
    return VQ_OK;
}
