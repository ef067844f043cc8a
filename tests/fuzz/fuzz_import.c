/* Files of other programs: the first byte chooses the format, the rest is the file, read twice as
 * those of two models. Whatever is accepted gives a CSV that the table reader reads. */
#include "common/import/import.h"
#include "common/text/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct vq_buf *out, const struct vq_import_pairing *told)
{
    struct vq_table *table = NULL;
    struct vq_error err = {.text = ""};
    if (memchr(out->at, '\0', out->bytes) == NULL &&
        vq_table_parse(vq_buf_span(out), VQ_TABLE_CSV, "f", &table, &err) == VQ_OK) {
        VQ_ASSERT(table->rows_count <= told->rows); /* a row of empty cells alone is no record */
    }
    vq_table_destroy(&table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t formats = 0;
    while (vq_import_formats[formats].name != NULL) {
        formats++;
    }
    if (size == 0) {
        return 0;
    }
    const struct vq_import_format *format = &vq_import_formats[data[0] % formats];
    struct vq_span text = vq_span((const char *)data + 1, size - 1);
    static const char *const names[2] = {"a", "b"};
    struct vq_import_set set;
    struct vq_import_pairing told;
    struct vq_error err = {.text = ""};
    struct vq_buf out;
    vq_import_set_init(&set);
    vq_buf_init(&out, 64u << 20);
    enum vq_status status = vq_import_read(format, text, "a", &set, &err);
    if (status == VQ_OK) {
        status = vq_import_read(format, text, "b", &set, &err);
    }
    if (status == VQ_OK) {
        status = vq_import_pair(&set, names, &out, &told, &err);
    }
    if (status == VQ_OK) {
        check(&out, &told);
    } else {
        VQ_ASSERT(err.text[0] != '\0');
    }
    vq_buf_free(&out);
    vq_import_set_free(&set);
    return 0;
}
