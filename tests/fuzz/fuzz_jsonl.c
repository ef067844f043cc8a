/* The JSON lines reader: whatever it accepts is valid UTF-8 without NUL bytes, in a table without
 * holes. */
#include "common/text/table.h"
#include "common/text/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vq_table *table = NULL;
    struct vq_error err = {.text = ""};
    if (vq_table_parse(vq_span((const char *)data, size), VQ_TABLE_JSONL, "f", &table, &err) !=
        VQ_OK) {
        VQ_ASSERT(table == NULL && err.text[0] != '\0');
        return 0;
    }
    VQ_ASSERT(table->columns_count > 0 && table->rows_count > 0);
    for (uint32_t r = 0; r < table->rows_count; r++) {
        VQ_ASSERT(r == 0 || table->lines[r] > table->lines[r - 1]);
        for (uint32_t c = 0; c < table->columns_count; c++) {
            struct vq_span cell = vq_table_cell(table, r, c);
            VQ_ASSERT(cell.at != NULL && vq_utf8_valid_bytes(cell) == cell.bytes);
            VQ_ASSERT(cell.bytes == 0 || memchr(cell.at, '\0', cell.bytes) == NULL);
        }
    }
    for (uint32_t c = 0; c < table->columns_count; c++) {
        VQ_ASSERT(vq_table_column(table, table->columns[c]) == c); /* names are distinct */
    }
    vq_table_destroy(&table);
    return 0;
}
