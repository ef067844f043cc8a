/* The format of a packed file goes by its name without the packing's ending. */
#include "tests/unit/test.h"

#include "common/pack/data_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

static size_t gzip(const char *text, unsigned char *to, size_t room)
{
    z_stream z = {.zalloc = NULL};
    assert_int_equal(deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (Bytef *)(uintptr_t)text;
    z.avail_in = (uInt)strlen(text);
    z.next_out = to;
    z.avail_out = (uInt)room;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    size_t bytes = z.total_out;
    (void)deflateEnd(&z);
    return bytes;
}

TEST(test_names)
{
    static const char *const names[] = {"d.jsonl.gz", "d.JSONL.GZ", "d.ndjson.gzip", "d.gz", "-"};
    unsigned char packed[200];
    size_t n = gzip("{\"a\": 1}\n", packed, sizeof(packed));
    for (size_t i = 0; i < VQ_COUNT(names); i++) {
        struct vq_table *table = NULL;
        struct vq_error err = {.text = ""};
        assert_int_equal(
            vq_data_table(vq_span((char *)packed, n), names[i], "auto", NULL, &table, &err), VQ_OK);
        assert_true(vq_span_eq(table->columns[0], vq_span_str("a")));
        vq_table_destroy(&table);
    }
    struct vq_table *table = NULL;
    struct vq_error err = {.text = ""};
    assert_int_equal(vq_data_table(vq_span_str("[1]"), "d.json.gz", "auto", NULL, &table, &err),
                     VQ_INVALID);
    assert_non_null(strstr(err.text, "JSON array"));
    assert_int_equal(vq_data_table(vq_span_str("PAR1"), "-", "auto", NULL, &table, &err),
                     VQ_INVALID);
    assert_non_null(strstr(err.text, "standard input is a Parquet file"));
}

TEST(test_standard_input)
{
    int pipes[2];
    struct vq_error err = {.text = ""};
    struct vq_buf bytes;
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(write(pipes[1], "a,b\n", 4), 4);
    assert_int_equal(close(pipes[1]), 0);
    assert_int_equal(dup2(pipes[0], STDIN_FILENO), STDIN_FILENO);
    assert_int_equal(vq_data_read("-", 100, &bytes, &err), VQ_OK);
    assert_true(vq_span_eq(vq_buf_span(&bytes), vq_span_str("a,b\n")));
    vq_buf_free(&bytes);
    assert_int_equal(vq_data_read("/nowhere/at all", 100, &bytes, &err), VQ_NOT_FOUND);
    (void)close(pipes[0]);
}
