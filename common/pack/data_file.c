/* Connects reading, unpacking and parsing of a data file. Ownership: the table copies its texts, so
 * the unpacked bytes are freed after parsing. Not its job: the meaning of columns. */
#include "common/pack/data_file.h"

#include "common/base/alloc.h"
#include "common/pack/unpack.h"
#include "common/text/file.h"

enum vq_status vq_data_read(const char *path, size_t bytes_max, struct vq_buf *ret_bytes,
                            struct vq_error *err)
{
    return strcmp(path, VQ_DATA_STDIN) == 0 ? vq_file_read_stdin(bytes_max, ret_bytes, err)
                                            : vq_file_read(path, bytes_max, ret_bytes, err);
}

/* "data.jsonl.gz" gives "data.jsonl". */
static char *unpacked_name(const char *path)
{
    static const char *const endings[] = {".gz", ".gzip", ".zst", ".zstd"};
    char *name = vq_strdup(path);
    for (size_t i = 0; name != NULL && i < VQ_COUNT(endings); i++) {
        if (vq_name_ends_with(name, endings[i])) {
            name[strlen(name) - strlen(endings[i])] = '\0';
            break;
        }
    }
    return name;
}

enum vq_status vq_data_table(struct vq_span bytes, const char *path, const char *format,
                             const struct vq_table_options *options, struct vq_table **ret_table,
                             struct vq_error *err)
{
    const char *name = strcmp(path, VQ_DATA_STDIN) == 0 ? "standard input" : path;
    enum vq_table_format is;
    struct vq_span text;
    struct vq_buf work;
    vq_buf_init(&work, VQ_DATA_UNPACKED_BYTES_MAX);
    char *ending = unpacked_name(name);
    enum vq_status status = ending == NULL ? vq_fail(err, VQ_NOMEM, "no memory to read %s", name)
                                           : vq_unpack(bytes, name, &work, &text, err);
    if (status == VQ_OK) {
        status = vq_table_format_of(format, ending, text, &is, err);
    }
    if (status == VQ_OK) {
        status = vq_table_parse_with(text, is, name, options, ret_table, err);
    }
    vq_free(ending);
    vq_buf_free(&work);
    return status;
}
