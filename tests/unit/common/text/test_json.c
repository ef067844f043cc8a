/* The JSON and CSV writers, read back by jansson and by our own table reader. */
#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "common/text/csv.h"
#include "common/text/json.h"
#include "common/text/table.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>

TEST(test_strings_read_back)
{
    struct vq_buf out;
    vq_buf_init(&out, 1u << 20);
    char all[256];
    for (int i = 0; i < 256; i++) {
        all[i] = (char)i; /* bytes from 128 are invalid as UTF-8 */
    }
    vq_json_string(&out, vq_span(all, sizeof(all)));
    json_error_t error;
    json_t *value = json_loadb(out.at, out.bytes, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    assert_non_null(value);
    assert_int_equal(json_string_length(value), 128 + 128 * 3);
    assert_memory_equal(json_string_value(value), all, 128);
    assert_memory_equal(json_string_value(value) + 128, "\xef\xbf\xbd", 3);
    json_decref(value);
    vq_buf_clear(&out);
    vq_json_string(&out, vq_span_str("\xe6\xa8\xa1 </script>\xe2\x80\xa8 \"\\/"));
    assert_string_equal(out.at, "\"\xe6\xa8\xa1 </script>\\u2028 \\\"\\\\/\"");
    vq_buf_clear(&out); /* what YAML would take for the end of a line, or not at all */
    vq_json_string(&out,
                   vq_span_str("\xc2\x85\xc2\x80\xc2\xa0\xef\xbb\xbf\xef\xbf\xbe\xef\xbf\xbd"));
    assert_string_equal(out.at, "\"\\u0085\\u0080\xc2\xa0\\ufeff\\ufffe\xef\xbf\xbd\"");
    vq_buf_free(&out);
}

/* Long plain stretches are copied in blocks: every byte that is not plain, at every place of the
 * first two and after them. */
TEST(test_a_byte_that_is_not_plain_is_found_anywhere)
{
    struct vq_buf out;
    vq_buf_init(&out, 4096);
    for (unsigned c = 0; c < 0x80; c++) {
        for (size_t at = 0; at < 41; at++) {
            char text[41], want[64];
            memset(text, at % 2 == 0 ? '~' : ' ', sizeof(text));
            text[at] = (char)c;
            vq_buf_clear(&out);
            vq_json_string(&out, vq_span(text, sizeof(text)));
            json_t *value = json_loadb(out.at, out.bytes, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
            assert_non_null(value);
            assert_int_equal(json_string_length(value), sizeof(text));
            assert_memory_equal(json_string_value(value), text, sizeof(text));
            json_decref(value);
            bool plain = c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
            (void)snprintf(want, sizeof(want), "\"%.*s\"", (int)sizeof(text), text);
            assert_int_equal(strcmp(out.at, want) == 0, plain);
        }
    }
    vq_buf_free(&out);
}

static void write_sample(struct vq_json *json)
{
    vq_json_object(json);
    vq_json_key(json, "empty");
    vq_json_array(json);
    vq_json_array_end(json);
    vq_json_key(json, "list");
    vq_json_array(json);
    vq_json_i64(json, INT64_MIN);
    vq_json_u64(json, UINT64_MAX);
    vq_json_real(json, 0.1, 9);
    vq_json_real(json, -0.0, 9);
    vq_json_real(json, NAN, 9);
    vq_json_real(json, INFINITY, 9);
    vq_json_real(json, 1.0 / 3, 9);
    vq_json_bool(json, true);
    vq_json_str(json, NULL);
    vq_json_object(json);
    vq_json_object_end(json);
    vq_json_array_end(json);
    vq_json_key_span(json, vq_span_str("a\"b"));
    vq_json_raw(json, vq_span_str("[1]"));
    vq_json_object_end(json);
}

TEST(test_writer)
{
    struct vq_buf out;
    vq_buf_init(&out, 1u << 20);
    struct vq_json json;
    vq_json_init(&json, &out, 0);
    write_sample(&json);
    assert_string_equal(
        out.at, "{\"empty\":[],\"list\":[-9223372036854775808,18446744073709551615,0.1,0,null,null,"
                "0.333333333,true,null,{}],\"a\\\"b\":[1]}");
    vq_buf_clear(&out);
    vq_json_init(&json, &out, 2);
    write_sample(&json);
    assert_non_null(
        strstr(out.at, "{\n  \"empty\": [],\n  \"list\": [\n    -9223372036854775808,"));
    assert_non_null(strstr(out.at, "\n  \"a\\\"b\": [1]\n}"));
    vq_buf_free(&out);
}

TEST(test_out_of_room_sticks)
{
    struct vq_buf out;
    vq_buf_init(&out, 20);
    struct vq_json json;
    vq_json_init(&json, &out, 0);
    write_sample(&json);
    assert_int_equal(out.status, VQ_LIMIT);
    assert_true(out.bytes <= 20);
    vq_buf_free(&out);
}

/* A spreadsheet runs no text as a formula; what it was can be had back; numbers stay numbers. */
TEST(test_csv_for_spreadsheets)
{
    static const char *const texts[][2] = {{"=1+1", "'=1+1"},
                                           {"+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"},
                                           {"-2+3", "'-2+3"},
                                           {"@SUM(A1)", "'@SUM(A1)"},
                                           {"\t=1", "'\t=1"},
                                           {"\r=1", "\"'\r=1\""},
                                           {"'=1", "''=1"},
                                           {"=a,b", "\"'=a,b\""},
                                           {"'tis", "'tis"},
                                           {"-1.5", "-1.5"},
                                           {"+2e-05", "+2e-05"},
                                           {"-", "'-"},
                                           {"-e5", "'-e5"},
                                           {"a=b", "a=b"},
                                           {"a\x1b[31m\x7f", "a [31m "},
                                           {"", "\"\""}};
    for (size_t i = 0; i < VQ_COUNT(texts); i++) {
        struct vq_buf out;
        struct vq_csv csv;
        vq_buf_init(&out, 1000);
        vq_csv_init_safe(&csv, &out);
        vq_csv_str(&csv, texts[i][0]);
        vq_csv_end_row(&csv);
        assert_int_equal(out.bytes, strlen(texts[i][1]) + 1);
        assert_memory_equal(out.at, texts[i][1], strlen(texts[i][1]));
        if (strchr(texts[i][1], '"') == NULL && strchr(texts[i][0], '\x1b') == NULL) {
            struct vq_span back = vq_csv_unsafe(vq_span_str(texts[i][1]));
            assert_int_equal(back.bytes, strlen(texts[i][0]));
            assert_memory_equal(back.at, texts[i][0], back.bytes);
        }
        vq_buf_free(&out);
    }
}

TEST(test_csv_reads_back)
{
    static const char *const fields[] = {
        "plain", "with, comma",  "with \"quotes\"", "two\nlines", "cr\r\nlf", " blanks ", "\"",
        "",      "\xe6\xa8\xa1", "a\"\"b"};
    struct vq_buf out;
    vq_buf_init(&out, 1u << 20);
    struct vq_csv csv;
    vq_csv_init(&csv, &out);
    for (size_t i = 0; i < VQ_COUNT(fields); i++) {
        char name[8] = {'c', (char)('0' + i)};
        vq_csv_str(&csv, name);
    }
    vq_csv_end_row(&csv);
    for (size_t i = 0; i < VQ_COUNT(fields); i++) {
        vq_csv_str(&csv, fields[i]);
    }
    vq_csv_end_row(&csv);
    struct vq_table *table = NULL;
    struct vq_error err;
    assert_int_equal(vq_table_parse(vq_buf_span(&out), VQ_TABLE_CSV, "t", &table, &err), VQ_OK);
    assert_int_equal(table->columns_count, VQ_COUNT(fields));
    assert_int_equal(table->rows_count, 1);
    for (uint32_t i = 0; i < VQ_COUNT(fields); i++) {
        assert_true(vq_span_eq(vq_table_cell(table, 0, i), vq_span_str(fields[i])));
    }
    vq_table_destroy(&table);
    vq_buf_clear(&out);
    vq_csv_init(&csv, &out);
    vq_csv_i64(&csv, -3);
    vq_csv_real(&csv, 0.25, 9);
    vq_csv_real(&csv, NAN, 9);
    vq_csv_str(&csv, NULL);
    vq_csv_end_row(&csv);
    assert_string_equal(out.at, "-3,0.25,,\n");
    vq_buf_clear(&out);
    vq_csv_empty(&csv);
    vq_csv_end_row(&csv);
    vq_csv_empty(&csv);
    vq_csv_empty(&csv);
    vq_csv_end_row(&csv);
    assert_string_equal(out.at, "\"\"\n,\n"); /* a row of one empty field is not an empty line */
    vq_buf_free(&out);
}
