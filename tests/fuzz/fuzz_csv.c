/* The CSV reader: whatever it accepts is valid UTF-8 without NUL bytes, and reads back equal after
 * our own writer. */
#include "common/text/csv.h"
#include "common/text/table.h"
#include "common/text/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_row(struct vq_csv *csv, const struct vq_span *cells, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        vq_csv_span(csv, cells[i]);
    }
    vq_csv_end_row(csv);
}

/* In quotes, as the reader asks for where a single column's name has a semicolon or a tab. */
static void write_alone(struct vq_buf *out, struct vq_span name)
{
    vq_buf_putc(out, '"');
    for (size_t i = 0; i < name.bytes; i++) {
        vq_buf_puts(out, name.at[i] == '"' ? "\"" : "");
        vq_buf_putc(out, name.at[i]);
    }
    vq_buf_puts(out, "\"\n");
}

static void check_equal(const struct vq_table *a, const struct vq_table *b)
{
    VQ_ASSERT(a->columns_count == b->columns_count && a->rows_count == b->rows_count);
    for (uint32_t c = 0; c < a->columns_count; c++) {
        VQ_ASSERT(vq_span_eq(a->columns[c], b->columns[c]));
        for (uint32_t r = 0; r < a->rows_count; r++) {
            struct vq_span cell = vq_table_cell(a, r, c);
            VQ_ASSERT(vq_utf8_valid_bytes(cell) == cell.bytes);
            VQ_ASSERT(cell.bytes == 0 || memchr(cell.at, '\0', cell.bytes) == NULL);
            VQ_ASSERT(vq_span_eq(cell, vq_table_cell(b, r, c)));
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vq_table *table = NULL, *again = NULL;
    struct vq_error err = {.text = ""};
    if (vq_table_parse(vq_span((const char *)data, size), VQ_TABLE_CSV, "f", &table, &err) !=
        VQ_OK) {
        VQ_ASSERT(table == NULL && err.text[0] != '\0');
        return 0;
    }
    struct vq_buf out;
    struct vq_csv csv;
    vq_buf_init(&out, 64u << 20);
    vq_csv_init(&csv, &out);
    if (table->columns_count == 1) {
        write_alone(&out, table->columns[0]);
    } else {
        write_row(&csv, table->columns, table->columns_count);
    }
    for (uint32_t r = 0; r < table->rows_count; r++) {
        VQ_ASSERT(table->lines[r] > (r == 0 ? 1 : table->lines[r - 1]) || r == 0 ||
                  memchr(data, '\r', size) != NULL); /* a bare CR ends a record within a line */
        write_row(&csv, table->cells + (size_t)r * table->columns_count, table->columns_count);
    }
    VQ_ASSERT(out.status == VQ_OK);
    VQ_ASSERT(vq_table_parse(vq_buf_span(&out), VQ_TABLE_CSV, "f", &again, &err) == VQ_OK);
    check_equal(table, again);
    vq_table_destroy(&table);
    vq_table_destroy(&again);
    vq_buf_free(&out);
    return 0;
}
