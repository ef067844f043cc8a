/* The table reader: RFC 4180 with its corners, JSON lines, and each refusal with its place. */
#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "common/text/table.h"

#include <stdlib.h>

static struct vq_table *must_parse(const char *text, enum vq_table_format format)
{
    struct vq_table *table = NULL;
    struct vq_error err;
    if (vq_table_parse(vq_span_str(text), format, "d", &table, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    return table;
}

static void assert_cell(const struct vq_table *table, uint32_t row, uint32_t column,
                        const char *text)
{
    struct vq_span cell = vq_table_cell(table, row, column);
    if (!vq_span_eq(cell, vq_span_str(text))) {
        fail_msg("row %u, column %u: \"%.*s\", not \"%s\"", row, column, (int)cell.bytes, cell.at,
                 text);
    }
}

TEST(test_csv_corners)
{
    struct vq_table *t = must_parse("\xef\xbb\xbfid,\"a \"\"name\"\"\",text\r\n"
                                    "1, keeps blanks ,\"line one\r\nline two\nline three\"\r\n"
                                    "\r\n"
                                    "2,,\"\"\n"
                                    "3,\"q\"\"q\",\"a,b\"",
                                    VQ_TABLE_CSV);
    assert_int_equal(t->columns_count, 3);
    assert_int_equal(t->rows_count, 3);
    assert_true(vq_span_eq(t->columns[0], vq_span_str("id")));
    assert_true(vq_span_eq(t->columns[1], vq_span_str("a \"name\"")));
    assert_int_equal(vq_table_column(t, vq_span_str("text")), 2);
    assert_int_equal(vq_table_column(t, vq_span_str("Text")), UINT32_MAX);
    assert_cell(t, 0, 1, " keeps blanks ");
    assert_cell(t, 0, 2, "line one\r\nline two\nline three");
    assert_cell(t, 1, 1, "");
    assert_cell(t, 1, 2, "");
    assert_cell(t, 2, 1, "q\"q");
    assert_cell(t, 2, 2, "a,b");
    assert_int_equal(t->lines[0], 2);
    assert_int_equal(t->lines[1], 6);
    assert_int_equal(t->lines[2], 7);
    vq_table_destroy(&t);
    assert_null(t);
    vq_table_destroy(&t);
}

TEST(test_csv_unnamed_index_column_and_one_column)
{
    struct vq_table *t = must_parse(",q\n0,x\n", VQ_TABLE_CSV);
    assert_int_equal(t->columns[0].bytes, 0);
    assert_cell(t, 0, 1, "x");
    vq_table_destroy(&t);
    t = must_parse("q\nx\n\"\"\ny", VQ_TABLE_CSV);
    assert_int_equal(t->rows_count, 3);
    assert_cell(t, 1, 0, "");
    vq_table_destroy(&t);
}

TEST(test_jsonl)
{
    struct vq_table *t =
        must_parse("{\"q\": \"h\\u00e9\\n\\ud83d\\ude00\", \"n\": 7, \"r\": 0.1}\r\n"
                   "\n"
                   "  {\"b\": true, \"q\": \"\", \"z\": null, \"n\": -12.50}\n"
                   "{\"o\": {\"k\": [1, \"a\"]}, \"r\": 1e300, \"b\": false}",
                   VQ_TABLE_JSONL);
    assert_int_equal(t->rows_count, 3);
    static const char *const columns[] = {"q", "n", "r", "b", "z", "o"};
    assert_int_equal(t->columns_count, VQ_COUNT(columns));
    for (uint32_t i = 0; i < VQ_COUNT(columns); i++) {
        assert_true(vq_span_eq(t->columns[i], vq_span_str(columns[i])));
    }
    assert_cell(t, 0, 0, "h\xc3\xa9\n\xf0\x9f\x98\x80");
    assert_cell(t, 0, 1, "7");
    assert_cell(t, 0, 2, "0.1");
    assert_cell(t, 0, 3, "");
    assert_cell(t, 1, 1, "-12.5");
    assert_cell(t, 1, 3, "true");
    assert_cell(t, 1, 4, "");
    assert_cell(t, 2, 2, "1e+300");
    assert_cell(t, 2, 3, "false");
    assert_cell(t, 2, 5, "{\"k\":[1,\"a\"]}");
    assert_int_equal(t->lines[1], 3);
    for (uint32_t i = 0; i < t->columns_count; i++) {
        assert_int_equal(vq_table_nested_line(t, i), i == 5 ? 4 : 0);
    }
    vq_table_destroy(&t);
}

TEST(test_what_programs_write_into_json_lines)
{
    struct vq_table *t = must_parse("{\"q\": \"a\", \"x\": 1}\n"
                                    "{\"q\": \"\\ud83d\", \"x\": NaN, \"y\": -Infinity}\n"
                                    "{\"q\": \"c\", \"x\": 123456789012345678901}\n",
                                    VQ_TABLE_JSONL);
    assert_cell(t, 1, 0, "\xef\xbf\xbd");
    assert_cell(t, 1, 1, "");
    assert_cell(t, 1, 2, "");
    assert_cell(t, 2, 1, "123456789012345678901");
    assert_int_equal(t->mended.not_numbers, 2);
    assert_int_equal(t->mended.not_numbers_line, 2);
    assert_int_equal(t->mended.surrogates, 1);
    assert_int_equal(t->mended.surrogates_line, 2);
    vq_table_destroy(&t);
}

TEST(test_half_surrogates_in_utf8)
{
    struct vq_table *t = must_parse("a,b\n1,x\xed\xa0\xbdy\n2,\xed\xbf\xbf\n", VQ_TABLE_CSV);
    assert_cell(t, 0, 1, "x\xef\xbf\xbdy");
    assert_cell(t, 1, 1, "\xef\xbf\xbd");
    assert_int_equal(t->mended.surrogates, 2);
    assert_int_equal(t->mended.surrogates_line, 2);
    vq_table_destroy(&t);
}

TEST(test_lists_of_one_are_unwrapped_where_asked)
{
    static const struct {
        const char *text;
        enum vq_table_format format;
    } cases[] = {{"q,a\n\"['it''s ']\",\"[\"\"x\"\"]\"\n[1],\"['x', 'y']\"\n", VQ_TABLE_CSV},
                 {"{\"q\": \"['it''s ']\", \"a\": [\"x\"]}\n{\"q\": [1], \"a\": [\"x\", \"y\"]}",
                  VQ_TABLE_JSONL}};
    static const struct vq_table_options options = {.unwrap_lists = true};
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        struct vq_table *t = NULL;
        struct vq_error err;
        assert_int_equal(vq_table_parse_with(vq_span_str(cases[i].text), cases[i].format, "d",
                                             &options, &t, &err),
                         VQ_OK);
        assert_cell(t, 0, 0, "['it''s ']"); /* two strings side by side are no list of one */
        assert_cell(t, 0, 1, "x");
        assert_cell(t, 1, 0, "[1]");
        assert_int_equal(t->mended.unwrapped, 1);
        assert_int_equal(vq_table_nested_line(t, 1), i == 0 ? 0 : 2);
        vq_table_destroy(&t);
    }
}

struct refusal {
    enum vq_table_format format;
    const char *text;
    size_t bytes; /* 0: to the NUL */
    enum vq_status status;
    const char *says[3];
};

static void assert_refused(const struct refusal *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct refusal *c = &cases[i];
        struct vq_table *table = NULL;
        struct vq_error err = {.text = ""};
        size_t bytes = c->bytes > 0 ? c->bytes : strlen(c->text);
        assert_int_equal(vq_table_parse(vq_span(c->text, bytes), c->format, "d", &table, &err),
                         c->status);
        assert_null(table);
        for (size_t k = 0; k < VQ_COUNT(c->says); k++) {
            if (strstr(err.text, c->says[k]) == NULL) {
                fail_msg("case %zu: \"%s\" does not say \"%s\"", i, err.text, c->says[k]);
            }
        }
    }
}

TEST(test_refusals)
{
    static const struct refusal cases[] = {
        {VQ_TABLE_CSV, "", 0, VQ_INVALID, {"d is empty", "", ""}},
        {VQ_TABLE_CSV, "\xef\xbb\xbf\r\n", 0, VQ_INVALID, {"d is empty", "", ""}},
        {VQ_TABLE_CSV, "a,b\n", 0, VQ_INVALID, {"header and no records", "", ""}},
        {VQ_TABLE_CSV, "a,b\n1,2\n3\n", 0, VQ_INVALID, {"line 3", "1 fields", "header has 2"}},
        {VQ_TABLE_CSV, "a,b\n1,\"x\ny\"\n3,4,5\n", 0, VQ_INVALID, {"line 4", "3 fields", ""}},
        {VQ_TABLE_CSV, "a,b,a\n1,2,3\n", 0, VQ_INVALID, {"line 1", "columns 1 and 3", "\"a\""}},
        {VQ_TABLE_CSV, "a,b\n1,\"2\n3,4\n", 0, VQ_INVALID, {"line 2", "never closed", ""}},
        {VQ_TABLE_CSV, "a,b\n1,x\"y\"\n", 0, VQ_INVALID, {"line 2, column 4", "quote", ""}},
        {VQ_TABLE_CSV, "a,b\n1,\"x\"y\n", 0, VQ_INVALID, {"line 2, column 6", "quote", ""}},
        {VQ_TABLE_CSV,
         "a,b\n1,\xc3\xa9\xff\n",
         0,
         VQ_INVALID,
         {"line 2, column 4", "0xff", "offset 8"}},
        {VQ_TABLE_CSV, "a,b\n1,\0\n", 8, VQ_INVALID, {"line 2, column 3", "NUL", ""}},
        {VQ_TABLE_CSV,
         "\xff\xfe"
         "a\0",
         4,
         VQ_INVALID,
         {"UTF-16", "", ""}},
        {VQ_TABLE_JSONL, "", 0, VQ_INVALID, {"empty", "", ""}},
        {VQ_TABLE_JSONL, "{\"a\":1}\n[1]\n", 0, VQ_INVALID, {"line 2", "not a JSON object", ""}},
        {VQ_TABLE_JSONL,
         "{\"a\":1}\n{\"a\":\n",
         0,
         VQ_INVALID,
         {"line 2, column 5", "ends in the middle", "one JSON object"}},
        {VQ_TABLE_JSONL,
         "{\"a\":1}\r\n{\"b\":\"h\u00e9h",
         0,
         VQ_INVALID,
         {"line 2, column 9", "ends in the middle", ""}},
        {VQ_TABLE_JSONL,
         "{\"b\":\"h\u00e9h\n{\"a\":1}\n",
         0,
         VQ_INVALID,
         {"line 1, column 9", "unexpected newline", ""}},
        {VQ_TABLE_JSONL, "{\"a\":1,\"a\":2}\n", 0, VQ_INVALID, {"line 1", "duplicate", ""}},
        {VQ_TABLE_JSONL, "{\"a\":\"\\u0000\"}\n", 0, VQ_INVALID, {"line 1", "", ""}},
        {VQ_TABLE_JSONL, "{\"a\":1} x\n", 0, VQ_INVALID, {"line 1, column 9:", "", ""}},
        {VQ_TABLE_JSONL, "{}\n", 0, VQ_INVALID, {"empty", "", ""}},
        {VQ_TABLE_JSONL,
         "{\"a\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}",
         0,
         VQ_LIMIT,
         {"line 1", "deep", ""}},
    };
    assert_refused(cases, VQ_COUNT(cases));
}

/* A column that has one in its quoted name is taken. */
TEST(test_other_separators_are_named)
{
    static const struct refusal cases[] = {
        {VQ_TABLE_CSV, "a;b\r\n1;\"x\"\n", 0, VQ_INVALID, {"line 1", "semicolons", "commas"}},
        {VQ_TABLE_CSV, "\xef\xbb\xbfq\tb;c\n1\t2\n", 0, VQ_INVALID, {"line 1", "tabs", ""}},
    };
    assert_refused(cases, VQ_COUNT(cases));
    struct vq_table *t = must_parse("\"q; in full\"\nx\n", VQ_TABLE_CSV);
    assert_int_equal(t->columns_count, 1);
    vq_table_destroy(&t);
}

TEST(test_named_limits)
{
    struct vq_buf text;
    vq_buf_init(&text, 64u << 20);
    struct vq_table *table = NULL;
    struct vq_error err;
    for (int i = 0; i <= VQ_TABLE_COLUMNS_MAX; i++) {
        vq_buf_printf(&text, "%sc%d", i == 0 ? "" : ",", i);
    }
    vq_buf_puts(&text, "\n");
    assert_int_equal(vq_table_parse(vq_buf_span(&text), VQ_TABLE_CSV, "d", &table, &err), VQ_LIMIT);
    assert_non_null(strstr(err.text, "2000 columns"));
    vq_buf_clear(&text);
    vq_buf_puts(&text, "a\n");
    char *to = vq_buf_reserve(&text, VQ_TABLE_FIELD_BYTES_MAX + 1);
    assert_non_null(to);
    memset(to, 'x', VQ_TABLE_FIELD_BYTES_MAX + 1);
    text.bytes += VQ_TABLE_FIELD_BYTES_MAX + 1;
    assert_int_equal(vq_table_parse(vq_buf_span(&text), VQ_TABLE_CSV, "d", &table, &err), VQ_LIMIT);
    assert_non_null(strstr(err.text, "line 2"));
    text.bytes -= 1;
    assert_int_equal(vq_table_parse(vq_buf_span(&text), VQ_TABLE_CSV, "d", &table, &err), VQ_OK);
    vq_table_destroy(&table);
    vq_buf_free(&text);
}

TEST(test_format_of)
{
    static const struct {
        const char *format, *path, *text;
        enum vq_status status;
        enum vq_table_format found;
    } cases[] = {
        {"auto", "x.csv", "{", VQ_OK, VQ_TABLE_CSV},
        {"auto", "x.CSV", "a", VQ_OK, VQ_TABLE_CSV},
        {"auto", "x.jsonl", "", VQ_OK, VQ_TABLE_JSONL},
        {"auto", "x.ndjson", "", VQ_OK, VQ_TABLE_JSONL},
        {"auto", "x.json", " {\"a\":1}", VQ_OK, VQ_TABLE_JSONL},
        {"auto", "x.json", " [", VQ_INVALID, VQ_TABLE_CSV},
        {"auto", "x.txt", "\n {", VQ_OK, VQ_TABLE_JSONL},
        {"auto", "x.txt", "a,b", VQ_OK, VQ_TABLE_CSV},
        {"csv", "x.jsonl", "", VQ_OK, VQ_TABLE_CSV},
        {"jsonl", "x.csv", "", VQ_OK, VQ_TABLE_JSONL},
        {"xlsx", "x", "", VQ_INVALID, VQ_TABLE_CSV},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        enum vq_table_format found = VQ_TABLE_CSV;
        struct vq_error err;
        assert_int_equal(vq_table_format_of(cases[i].format, cases[i].path,
                                            vq_span_str(cases[i].text), &found, &err),
                         cases[i].status);
        assert_int_equal(found, cases[i].found);
    }
}

/* libcsv asks again for less when its own buffer cannot grow, so that not every failure is
 * fatal. */
static void fail_each_allocation(const char *text, enum vq_table_format format)
{
    uint32_t failed = 0;
    uint64_t before = 0;
    for (uint64_t n = 1; vq_alloc_count() - before >= n - 1; n++) { /* the last one was reached */
        struct vq_table *table = NULL;
        struct vq_error err = {.text = ""};
        before = vq_alloc_count();
        vq_alloc_fail_at(n);
        enum vq_status status = vq_table_parse(vq_span_str(text), format, "d", &table, &err);
        vq_alloc_fail_at(0);
        if (status != VQ_OK) {
            assert_int_equal(status, VQ_NOMEM);
            assert_null(table);
            assert_non_null(strstr(err.text, "memory"));
            failed++;
        }
        vq_table_destroy(&table);
    }
    assert_true(failed >= 6);
}

TEST(test_every_allocation_may_fail)
{
    fail_each_allocation("a,b\n1,\"x\"\n2,y\n", VQ_TABLE_CSV);
    fail_each_allocation("a,b\n1,\xed\xa0\xbd\n", VQ_TABLE_CSV);
    fail_each_allocation("{\"a\":NaN,\"b\":[2]}\n{\"c\":\"x\"}\n", VQ_TABLE_JSONL);
    fail_each_allocation("{\"a\":1,\"b\":[2]}\n{\"c\":\"x\"}\n", VQ_TABLE_JSONL);
}
