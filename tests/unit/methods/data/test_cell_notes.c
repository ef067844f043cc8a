/* Odd cells, counted and put into words; people's labels as programs write them. */
#include "tests/unit/test.h"

#include "methods/data/cell_notes.h"
#include "methods/data/columns.h"

#include "methods/data/human_label.h"

TEST(test_counts_and_sentences)
{
    struct vq_cell_notes notes = {.words = 0};
    char texts[VQ_CELL_NOTES_MAX][VQ_CELL_NOTE_BYTES_MAX];
    struct vq_table_mended mended = {.unwrapped = 0};
    vq_cell_notes_prompt(&notes, vq_span_str("nan"), 2); /* a prompt may be any word */
    vq_cell_notes_output(&notes, vq_span_str("fine"), 2);
    assert_int_equal(vq_cell_notes_list(&notes, &mended, "d", "judged", texts), 0);
    vq_cell_notes_output(&notes, vq_span_str(" NaN"), 3);
    vq_cell_notes_output(&notes, vq_span_str("null"), 4);
    vq_cell_notes_prompt(&notes, vq_span_str("['x']"), 5);
    mended = (struct vq_table_mended){.not_numbers = 1200,
                                      .not_numbers_line = 7,
                                      .surrogates = 1,
                                      .surrogates_line = 8,
                                      .unwrapped = 4};
    assert_int_equal(vq_cell_notes_list(&notes, &mended, "d", "judged", texts), 5);
    assert_string_equal(texts[0], "d: 2 outputs are a word for a missing value (\"NaN\" first, in "
                                  "line 3); they are judged as they are. Leave such records out "
                                  "of the file");
    assert_non_null(strstr(texts[1], "1 cell is a list of one text (the first in line 5)"));
    assert_non_null(strstr(texts[1], "data.unwrap_lists: true"));
    assert_non_null(strstr(texts[2], "4 cells"));
    assert_non_null(strstr(texts[3], "1,200 values are NaN or Infinity"));
    assert_non_null(strstr(texts[4], "U+FFFD"));
}

TEST(test_advice_for_nested_cells)
{
    struct vq_table *table = NULL;
    struct vq_error err;
    assert_int_equal(vq_table_parse(vq_span_str("{\"a\":1}\n{\"a\":[\"x\"],\"b\":{\"k\":1}}\n"),
                                    VQ_TABLE_JSONL, "d", &table, &err),
                     VQ_OK);
    assert_int_equal(vq_column_flat(table, "d", 0, "the prompts", &err), VQ_INVALID);
    assert_non_null(strstr(err.text, "data.unwrap_lists: true"));
    assert_int_equal(vq_column_flat(table, "d", 1, "the prompts", &err), VQ_INVALID);
    assert_null(strstr(err.text, "unwrap"));
    vq_table_destroy(&table);
}

TEST(test_binary_labels)
{
    static const char *const yes[] = {"yes", "Y",   "y",  "TRUE", "True",  "t",
                                      "1",   "1.0", "1.", "Pass", "PASSED"};
    static const char *const no[] = {"no", "N",   "n",    "false", "F",
                                     "0",  "0.0", "0.00", "FAIL",  "failed"};
    static const char *const none[] = {"2", "0.1", "1.5", "10", "yess", "-", "1,0", "nan", "0x"};
    double value;
    for (size_t i = 0; i < VQ_COUNT(yes); i++) {
        assert_true(vq_human_label_read(VQ_RATING_BINARY, NULL, vq_span_str(yes[i]), &value));
        assert_true(value > 0.5);
    }
    for (size_t i = 0; i < VQ_COUNT(no); i++) {
        assert_true(vq_human_label_read(VQ_RATING_BINARY, NULL, vq_span_str(no[i]), &value));
        assert_true(value < 0.5);
    }
    for (size_t i = 0; i < VQ_COUNT(none); i++) {
        assert_false(vq_human_label_read(VQ_RATING_BINARY, NULL, vq_span_str(none[i]), &value));
    }
    assert_true(vq_human_label_read(VQ_RATING_LIKERT, NULL, vq_span_str("4.00"), &value));
    assert_true(value > 3.5 && value < 4.5);
    assert_false(vq_human_label_read(VQ_RATING_LIKERT, NULL, vq_span_str("4.5"), &value));
    assert_false(vq_human_label_read(VQ_RATING_LIKERT, NULL, vq_span_str("6"), &value));
}
