/* Sheets for people: blind, and read back as they were meant; files of somebody's own; every
 * refusal with its line. */

#include "tests/unit/test.h"

#include "methods/vibecheck/labels.h"
#include "methods/vibecheck/numbers/vibecheck.h"

#include <stdio.h>
#include <stdlib.h>

#define ROWS 30

static const struct vq_axis axes[] = {{"warmth", "cold", "warm"}, {"=length", "short", "long"}};

struct fixture {
    struct vq_conf_data data;
    struct vq_table *table;
    struct vq_dataset *set;
    struct vq_label_frame frame;
    int8_t people[ROWS * VQ_COUNT(axes)];
    struct vq_label_counts_read counts;
    struct vq_error err;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct vq_buf csv;
    vq_buf_init(&csv, 1u << 16);
    vq_buf_puts(&csv, "prompt,ma,mb\n");
    for (int i = 1; i <= ROWS; i++) {
        vq_buf_printf(&csv, "p%d,from ma %d,from mb %d\n", i, i, i);
    }
    f->data = (struct vq_conf_data){.path = (char *)"data.csv", .test_share = 0.5};
    assert_int_equal(
        vq_table_parse(vq_buf_span(&csv), VQ_TABLE_CSV, "data.csv", &f->table, &f->err), VQ_OK);
    struct vq_dataset_settings settings = {.data = &f->data, .models = {"ma", "mb"}, .seed = 42};
    assert_int_equal(vq_dataset_build(&settings, f->table, NULL, &f->set, &f->err), VQ_OK);
    assert_int_equal(vq_dataset_count(f->set), ROWS);
    f->frame = (struct vq_label_frame){.dataset = f->set,
                                       .axes = axes,
                                       .axes_count = VQ_COUNT(axes),
                                       .models = {"ma", "mb"},
                                       .seed = 42};
    memset(f->people, VQ_LABEL_NONE, sizeof(f->people));
    vq_buf_free(&csv);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    vq_dataset_destroy(&f->set);
    vq_table_destroy(&f->table);
    free(f);
    return 0;
}

static enum vq_status read_text(struct fixture *f, const char *text)
{
    struct vq_table *table = NULL;
    assert_int_equal(vq_table_parse(vq_span_str(text), VQ_TABLE_CSV, "people.csv", &table, &f->err),
                     VQ_OK);
    f->err.text[0] = '\0';
    enum vq_status status =
        vq_labels_read(&f->frame, table, "people.csv", f->people, &f->counts, &f->err);
    vq_table_destroy(&table);
    return status;
}

/* A person that always prefers what ma wrote, whichever place it has. */
static void fill_in(struct vq_span sheet, struct vq_buf *out, uint32_t *ret_firsts)
{
    struct vq_table *t = NULL;
    struct vq_error err;
    assert_int_equal(vq_table_parse(sheet, VQ_TABLE_CSV, "sheet", &t, &err), VQ_OK);
    vq_buf_puts(out, "item,vibe,label\n");
    for (uint32_t i = 0; i < t->rows_count; i++) {
        struct vq_span item = vq_table_cell(t, i, 0), shown = vq_table_cell(t, i, 2),
                       vibe = vq_table_cell(t, i, 4);
        bool first = memmem(shown.at, shown.bytes, "from ma", 7) != NULL;
        *ret_firsts += first;
        vq_buf_printf(out, "%.*s,%.*s,%s\n", (int)item.bytes, item.at, (int)vibe.bytes, vibe.at,
                      first ? "1" : "2.0");
    }
    vq_table_destroy(&t);
}

TEST_WITH(test_a_sheet_and_back, setup, teardown)
{
    struct fixture *f = *state;
    static const uint32_t both[] = {0, 1};
    struct vq_buf sheet, again, filled, kept;
    vq_buf_init(&sheet, 1u << 20);
    vq_buf_init(&again, 1u << 20);
    vq_buf_init(&filled, 1u << 20);
    vq_buf_init(&kept, 1u << 20);
    assert_int_equal(vq_label_sheet(&f->frame, NULL, 20, both, 2, &sheet), VQ_OK);
    assert_int_equal(vq_label_sheet(&f->frame, NULL, 20, both, 2, &again), VQ_OK);
    assert_string_equal(sheet.at, again.at);
    assert_non_null(strstr(sheet.at, "'=length")); /* a spreadsheet takes it for no formula */
    uint32_t firsts = 0;
    fill_in(vq_buf_span(&sheet), &filled, &firsts);
    assert_true(firsts > 8 && firsts < 32); /* of 40 */
    assert_int_equal(read_text(f, filled.at), VQ_OK);
    assert_int_equal(f->counts.labels, 40);
    uint32_t a = 0;
    for (size_t i = 0; i < VQ_COUNT(f->people); i++) {
        assert_true(f->people[i] == 1 || f->people[i] == VQ_LABEL_NONE);
        a += f->people[i] == 1;
    }
    assert_int_equal(a, 40);
    vq_labels_write(&f->frame, f->people, &kept);
    int8_t was[sizeof(f->people)];
    memcpy(was, f->people, sizeof(was));
    memset(f->people, VQ_LABEL_NONE, sizeof(f->people));
    assert_int_equal(read_text(f, kept.at), VQ_OK);
    assert_memory_equal(f->people, was, sizeof(was));
    vq_buf_free(&sheet);
    vq_buf_free(&again);
    vq_buf_free(&filled);
    vq_buf_free(&kept);
}

static int8_t label_of(const struct fixture *f, uint32_t record, uint32_t axis)
{
    for (uint32_t i = 0; i < ROWS; i++) {
        if (f->set->samples[i].record == record) {
            return f->people[i * VQ_COUNT(axes) + axis];
        }
    }
    return 99;
}

TEST_WITH(test_a_file_of_ones_own, setup, teardown)
{
    struct fixture *f = *state;
    assert_int_equal(read_text(f, "record,vibe,label\n1,warmth,A\n2,warmth,b\n3,warmth,tie\n4,"
                                  "warmth,mb\n5,warmth,\n1,=length,equal\n"),
                     VQ_OK);
    assert_int_equal(f->counts.labels, 5);
    assert_int_equal(f->counts.empty, 1);
    assert_int_equal(label_of(f, 1, 0), 1);
    assert_int_equal(label_of(f, 2, 0), -1);
    assert_int_equal(label_of(f, 3, 0), 0);
    assert_int_equal(label_of(f, 4, 0), -1);
    assert_int_equal(label_of(f, 5, 0), VQ_LABEL_NONE);
    assert_int_equal(label_of(f, 1, 1), 0);
    assert_int_equal(read_text(f, "record,vibe,label\n1,warmth,B\n"), VQ_OK);
    assert_int_equal(label_of(f, 1, 0), -1);
}

TEST_WITH(test_refusals_name_the_line, setup, teardown)
{
    struct fixture *f = *state;
    static const struct {
        const char *text, *said;
    } rows[] = {
        {"record,label\n1,A\n", "people.csv needs the columns"},
        {"record,vibe,label\n1,warmth,A\n31,warmth,A\n", "line 3, column \"record\": \"31\""},
        {"record,vibe,label\n0,warmth,A\n", "column \"record\": \"0\" is no record"},
        {"record,vibe,label\n1x,warmth,A\n", "column \"record\": \"1x\""},
        {"record,vibe,label\n1,warm,A\n", "line 2, column \"vibe\": \"warm\" is no vibe"},
        {"record,vibe,label\n1,warmth,1\n", "column \"label\": \"1\" is not a label; write A, B"},
        {"record,file,vibe,label\n1,train,warmth,A\n", "column \"file\": \"train\""},
        {"record,file,vibe,label\n1,test,warmth,A\n", "is no record of the data"},
        {"record,vibe,label\n1,warmth,A\n2,warmth,A\n1,warmth,equal\n",
         "line 4, column \"label\": \"equal\" differs from an earlier line"},
        {"item,vibe,label\n0.1,warmth,A\n", "write 1 (the first output is higher)"},
        {"item,vibe,label\n7,warmth,1\n", "column \"item\": \"7\" is no item"},
        {"item,vibe,label\n0.99999999999,warmth,1\n", "is no record of the data"},
    };
    for (size_t i = 0; i < VQ_COUNT(rows); i++) {
        assert_int_equal(read_text(f, rows[i].text), VQ_INVALID);
        if (strstr(f->err.text, rows[i].said) == NULL) {
            fail_msg("row %zu: %s", i, f->err.text);
        }
    }
    f->frame.other_vibes = true;
    assert_int_equal(read_text(f, "record,vibe,label\n1,warm,A\n1,warmth,B\n1,warmth,mb\n"), VQ_OK);
    assert_int_equal(f->counts.others, 1);
    assert_int_equal(f->counts.labels, 2); /* one label, said twice */
    assert_int_equal(label_of(f, 1, 0), -1);
    assert_int_equal(read_text(f, "record,vibe,label\n1,warm,perhaps\n"), VQ_INVALID);
    assert_non_null(strstr(f->err.text, "\"perhaps\" is not a label"));
}
