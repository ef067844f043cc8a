/* Files of strangers and every allocation on the way: a table, JSON in and out, whole files. */

#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "common/text/file.h"
#include "common/text/intern.h"
#include "common/text/json_load.h"
#include "common/text/table.h"
#include "tests/unit/heap.h"

#include <jansson.h>
#include <stdlib.h>
#include <unistd.h>

struct source {
    const char *text;
    enum vq_table_format format;
    enum vq_status status; /* with memory */
    uint32_t rows;
};

static enum vq_status parse_table(void *ctx)
{
    const struct source *source = ctx;
    struct vq_table *table = NULL;
    struct vq_error err = {.text = ""};
    enum vq_status status =
        vq_table_parse(vq_span_str(source->text), source->format, "d", &table, &err);
    assert_true((status == VQ_OK) == (table != NULL));
    if (status == VQ_OK) {
        assert_int_equal(table->rows_count, source->rows);
    }
    vq_table_destroy(&table);
    return status == source->status ? VQ_OK : status;
}

TEST(a_table)
{
    static const struct source sources[] = {
        {"a,b\r\n1,2\n\"x\ny\",\"\"\"q\"\"\"\n", VQ_TABLE_CSV, VQ_OK, 2},
        {"a,a\n1,2\n", VQ_TABLE_CSV, VQ_INVALID, 0},
        {"a,b\n1\n", VQ_TABLE_CSV, VQ_INVALID, 0},
        {"{\"a\":1,\"b\":[1,{\"c\":\"d\"}],\"e\":\"f\"}\n\n{\"z\":2.5,\"b\":{},\"a\":null}\n",
         VQ_TABLE_JSONL, VQ_OK, 2},
        {"{\"a\":1}\n{\"a\":\n", VQ_TABLE_JSONL, VQ_INVALID, 0},
        {"{\"a\":1,\"a\":2}\n", VQ_TABLE_JSONL, VQ_INVALID, 0},
    };
    for (size_t i = 0; i < VQ_COUNT(sources); i++) {
        struct source source = sources[i];
        bool csv = source.format == VQ_TABLE_CSV; /* libcsv tries again with less */
        assert_true(heap_torture(source.text, parse_table, &source, csv) > 3);
    }
}

static enum vq_status load_json(void *ctx)
{
    json_t *value = NULL;
    json_error_t error;
    enum vq_status status = vq_json_load(vq_span_str(ctx), JSON_REJECT_DUPLICATES, &value, &error);
    struct vq_buf out;
    vq_buf_init(&out, 4096);
    if (status == VQ_OK) {
        status = vq_json_dump(value, &out);
        assert_true(status != VQ_OK || strcmp(out.at, ctx) == 0);
        json_decref(value);
    } else {
        assert_null(value);
    }
    vq_buf_free(&out);
    return status;
}

static enum vq_status load_bad_json(void *ctx)
{
    enum vq_status status = load_json(ctx);
    return status == VQ_INVALID ? VQ_OK : status == VQ_OK ? VQ_BUG : status;
}

TEST(json)
{
    char good[] = "{\"a\":[1,-2.5,true,null,\"\\u0001 long text to make the lexer's buffer grow\"],"
                  "\"b\":{\"c\":{},\"d\":[],\"e\":{\"f\":0,\"g\":0,\"h\":0,\"i\":0,\"j\":0,\"k\":"
                  "0,\"l\":0,\"m\":0,\"n\":0,\"o\":0}}}";
    assert_true(heap_torture("good", load_json, good, false) > 30);
    char *const bad[] = {"", "{\"a\":1,\"a\":2}", "[1,2", "\"\\ud800\"", "{\"a\":[nope]}", "1e999"};
    for (size_t i = 0; i < VQ_COUNT(bad); i++) {
        (void)heap_torture(bad[i], load_bad_json, bad[i], false);
    }
}

/* Values in a room, until it is full; what does not fit is on the heap, where it may fail. */
static enum vq_status load_in_room(void *ctx)
{
    struct vq_json_room room;
    room.used = 0;
    enum vq_status status = VQ_OK;
    for (int i = 0; i < 100 && status == VQ_OK; i++) {
        json_t *value = NULL;
        status = vq_json_load_in(&room, vq_span_str(ctx), 0, &value, NULL);
        if (status == VQ_OK) {
            assert_int_equal(json_array_size(json_object_get(value, "a")), 2);
            assert_string_equal(json_string_value(json_object_get(value, "b")), "text");
            json_decref(value);
        }
        if (status == VQ_OK) {
            status = vq_json_load_in(&room, vq_span_str("[1"), 0, &value, NULL);
            assert_int_not_equal(status, VQ_OK);
            status = status == VQ_INVALID ? VQ_OK : status;
        }
    }
    return status;
}

TEST(values_in_a_room)
{
    static char text[] = "{\"a\":[1,{\"c\":2.5}],\"b\":\"text\"}";
    struct vq_json_room room;
    room.used = 0;
    json_t *value = NULL;
    uint64_t before = vq_alloc_count();
    assert_int_equal(vq_json_load_in(&room, vq_span_str(text), 0, &value, NULL), VQ_OK);
    assert_int_equal(vq_alloc_count(), before);
    assert_string_equal(json_string_value(json_object_get(value, "b")), "text");
    json_decref(value);
    assert_true(heap_torture("room", load_in_room, text, false) > 30);
}

TEST(a_dump_that_has_no_room)
{
    json_t *value = NULL;
    assert_int_equal(vq_json_load(vq_span_str("[1,2,3]"), 0, &value, NULL), VQ_OK);
    struct vq_buf out;
    vq_buf_init(&out, 4);
    assert_int_equal(vq_json_dump(value, &out), VQ_LIMIT);
    vq_buf_free(&out);
    json_decref(value);
}

static char path[] = "/tmp/vibeq-nomem-XXXXXX";

static enum vq_status write_and_read(void *ctx)
{
    const char *text = ctx;
    struct vq_error err = {.text = ""};
    enum vq_status status = vq_file_replace(path, vq_span_str(text), 0600, &err);
    struct vq_buf bytes = {.at = NULL};
    if (status == VQ_OK) {
        status = vq_file_read(path, 4096, &bytes, &err);
        assert_true(status == VQ_OK || bytes.at == NULL);
        assert_true(status != VQ_OK || vq_span_eq(vq_buf_span(&bytes), vq_span_str(text)));
        vq_buf_free(&bytes);
    }
    char *joined = NULL;
    if (status == VQ_OK) {
        status = vq_path_join("base", "x", &joined);
        assert_true((status == VQ_OK) == (joined != NULL));
        free(joined);
    }
    return status;
}

TEST(a_file)
{
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_true(heap_torture("file", write_and_read, "some text", true) >
                3); /* realpath may do without */
    unlink(path);
}

static enum vq_status intern(void *ctx)
{
    (void)ctx;
    static char names[200][8];
    struct vq_intern table = {.count = 0};
    enum vq_status status = VQ_OK;
    for (uint32_t i = 0; i < VQ_COUNT(names) && status == VQ_OK; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "n%u", i);
        uint32_t id = VQ_INTERN_NONE;
        status = vq_intern_add(&table, vq_span_str(names[i]), &id);
        assert_int_equal(id, status == VQ_OK ? i : VQ_INTERN_NONE);
    }
    for (uint32_t i = 0; i < table.count; i++) { /* what went in is still found */
        assert_int_equal(vq_intern_find(&table, vq_span_str(names[i])), i);
    }
    vq_intern_free(&table);
    return status;
}

TEST(names)
{
    assert_true(heap_torture("intern", intern, NULL, false) > 5);
}
