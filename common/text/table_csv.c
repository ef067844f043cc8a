/* CSV through libcsv in its strict mode. It passes the parser one physical line at a time, so that
 * the line of every record and error is known. Invariant: after an error the callbacks do nothing.
 * libcsv's trimming of blanks is off, because in RFC 4180 they belong to the field. */
#include "common/text/table_build.h"

#include "common/base/alloc.h"
#include "common/text/utf8.h"

#include <csv.h>

#define PARSER_BLOCK_BYTES (64u << 10)

struct csv_reader {
    struct vq_table_build *build;
    enum vq_status status; /* of the callbacks */
    uint64_t line;         /* the current one, from 1 */
    uint64_t record_line;  /* where the record began */
    bool in_record;        /* the record has not ended */
    bool header_done;
    size_t row_fields;
};

static void *csv_realloc(void *old, size_t bytes)
{
    return vq_realloc(old, bytes, 1);
}

static int never_space(unsigned char c)
{
    (void)c;
    return 0;
}

static enum vq_status header_field(struct csv_reader *r, struct vq_span name)
{
    uint32_t known = vq_intern_find(&r->build->columns, name);
    if (known != VQ_INTERN_NONE) {
        struct vq_span cut = vq_utf8_cut(name, 80);
        return vq_fail(r->build->err, VQ_INVALID,
                       "%s, line %llu: columns %u and %zu have the same name \"%.*s\"; rename one",
                       r->build->name, (unsigned long long)r->record_line, known + 1,
                       r->row_fields + 1, (int)cut.bytes, cut.at);
    }
    uint32_t column;
    return vq_table_add_column(r->build, name, r->record_line, &column);
}

static enum vq_status body_field(struct csv_reader *r, struct vq_span text)
{
    if (text.bytes > VQ_TABLE_FIELD_BYTES_MAX) {
        return vq_fail(
            r->build->err, VQ_LIMIT,
            "%s, record from line %llu: field %zu has %zu bytes, more than the limit of %u",
            r->build->name, (unsigned long long)r->record_line, r->row_fields + 1, text.bytes,
            VQ_TABLE_FIELD_BYTES_MAX);
    }
    if (r->row_fields >= r->build->columns.count) {
        return VQ_OK; /* only counted; the end of the row reports that it is too long */
    }
    struct vq_span kept;
    VQ_TRY(vq_table_keep_cell(r->build, text, &kept));
    return vq_table_add_cell(r->build, kept);
}

static void on_field(void *bytes, size_t n, void *ctx)
{
    struct csv_reader *r = ctx;
    if (r->status != VQ_OK) {
        return;
    }
    struct vq_span text = vq_span(n == 0 ? "" : bytes, n);
    r->status = r->header_done ? body_field(r, text) : header_field(r, text);
    r->row_fields++;
}

static void on_row(int terminator, void *ctx)
{
    (void)terminator;
    struct csv_reader *r = ctx;
    if (r->status != VQ_OK) {
        return;
    }
    struct vq_table_build *build = r->build;
    if (r->header_done) {
        r->status =
            r->row_fields == build->columns.count
                ? vq_table_add_row(build, r->record_line)
                : vq_fail(
                      build->err, VQ_INVALID,
                      "%s, line %llu: this record has %zu fields and the header has %u; a comma or "
                      "line end inside a field must be in quotes",
                      build->name, (unsigned long long)r->record_line, r->row_fields,
                      build->columns.count);
    }
    r->header_done = true;
    r->in_record = false;
    r->row_fields = 0;
}

static enum vq_status feed(struct csv_reader *r, struct csv_parser *parser, struct vq_span line)
{
    bool blank = line.bytes == 0 || line.at[0] == '\n' || line.at[0] == '\r';
    if (!r->in_record && !blank) {
        r->record_line = r->line;
        r->in_record = true;
    }
    size_t done = csv_parse(parser, line.at, line.bytes, on_field, on_row, r);
    VQ_TRY(r->status);
    if (done == line.bytes) {
        return VQ_OK;
    }
    if (csv_error(parser) != CSV_EPARSE) {
        return VQ_NOMEM;
    }
    size_t column = vq_utf8_count(vq_span(line.at, done)) + 1;
    return vq_fail(r->build->err, VQ_INVALID,
                   "%s, line %llu, column %zu: a quote in the wrong place; put a field with quotes "
                   "in quotes, and double its own quotes (\"say \"\"hi\"\"\")",
                   r->build->name, (unsigned long long)r->line, column);
}

static enum vq_status read_lines(struct csv_reader *r, struct csv_parser *parser,
                                 struct vq_span bytes)
{
    while (bytes.bytes > 0) {
        const char *lf = memchr(bytes.at, '\n', bytes.bytes);
        size_t n = lf == NULL ? bytes.bytes : (size_t)(lf - bytes.at) + 1;
        r->line++;
        VQ_TRY(feed(r, parser, vq_span(bytes.at, n)));
        bytes = vq_span(bytes.at + n, bytes.bytes - n);
    }
    if (csv_fini(parser, on_field, on_row, r) != 0) {
        VQ_TRY(r->status);
        return vq_fail(r->build->err, VQ_INVALID,
                       "%s: a quote in the record that begins on line %llu is never closed",
                       r->build->name, (unsigned long long)r->record_line);
    }
    return r->status;
}

/* Refuses a table whose first line has no comma and no quote, but a character that other programs
 * use as separator. */
static enum vq_status check_separator(const struct vq_table_build *build, struct vq_span bytes)
{
    const char *end = bytes.bytes == 0 ? NULL : memchr(bytes.at, '\n', bytes.bytes);
    size_t n = end == NULL ? bytes.bytes : (size_t)(end - bytes.at);
    bool commas = n == 0 || memchr(bytes.at, ',', n) != NULL || memchr(bytes.at, '"', n) != NULL;
    bool tabs = !commas && memchr(bytes.at, '\t', n) != NULL;
    if (commas || (!tabs && memchr(bytes.at, ';', n) == NULL)) {
        return VQ_OK;
    }
    return vq_fail(
        build->err, VQ_INVALID,
        "%s, line 1: the columns are separated by %s; save the table with commas between "
        "them (put a single column whose name has one in quotes)",
        build->name, tabs ? "tabs" : "semicolons");
}

enum vq_status vq_table_read_csv(struct vq_table_build *build, struct vq_span bytes)
{
    struct csv_parser parser;
    VQ_TRY(check_separator(build, bytes));
    if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) != 0) {
        return VQ_NOMEM;
    }
    csv_set_realloc_func(&parser, csv_realloc);
    csv_set_free_func(&parser, vq_free);
    csv_set_space_func(&parser, never_space);
    csv_set_blk_size(&parser, PARSER_BLOCK_BYTES);
    struct csv_reader reader = {.build = build};
    enum vq_status status = read_lines(&reader, &parser, bytes);
    csv_free(&parser);
    return status;
}
