/* Records of more than two models as rows: which texts, which preference, one prompt for all rows
 * of a record, balance on either side, and two models as they always were. */
#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "methods/data/dataset.h"

#include <string.h>

struct built {
    struct vq_buf csv;
    struct vq_table *table;
    struct vq_dataset *set;
};

static enum vq_status build(uint32_t records, const struct vq_conf_pairs *pairs, const char *label,
                            struct built *b, struct vq_error *err)
{
    struct vq_conf_data data = {.path = (char *)"d.csv", .test_share = 0.5};
    struct vq_dataset_settings settings = {
        .data = &data, .models = {"ma", "mb", "mc", "md"}, .seed = 42, .pairs = pairs};
    vq_buf_init(&b->csv, 1u << 20);
    vq_buf_puts(&b->csv, "question,md,mc,mb,ma,preference\n");
    for (uint32_t i = 0; i < records; i++) {
        vq_buf_printf(&b->csv, "q%u,d of %u,c of %u,b of %u,a of %u,%s\n", i, i, i, i, i, label);
    }
    assert_int_equal(vq_table_parse(vq_buf_span(&b->csv), VQ_TABLE_CSV, "d.csv", &b->table, err),
                     VQ_OK);
    b->set = NULL;
    return vq_dataset_build(&settings, b->table, NULL, &b->set, err);
}

static void must_build(uint32_t records, const struct vq_conf_pairs *pairs, const char *label,
                       struct built *b)
{
    struct vq_error err = {0};
    if (build(records, pairs, label, b, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
}

static void done(struct built *b)
{
    vq_dataset_destroy(&b->set);
    vq_table_destroy(&b->table);
    vq_buf_free(&b->csv);
}

TEST(rows_of_all_pairs)
{
    struct built b;
    must_build(20, NULL, "mc", &b);
    assert_int_equal(vq_dataset_count(b.set), 120);
    assert_int_equal(b.set->train_count, 60);
    assert_int_equal(b.set->questions_count, 20);
    assert_true(vq_dataset_ranks(b.set));
    for (uint32_t i = 0; i < 120; i++) {
        const struct vq_data_row *row = &b.set->samples[i];
        assert_true(row->model[0] < row->model[1] && row->model[1] < 4);
        assert_int_equal(row->a.at[0], 'a' + row->model[0]);
        assert_int_equal(row->b.at[0], 'a' + row->model[1]);
        assert_int_equal(row->question, row->record - 1); /* all rows of a record are one prompt */
        int8_t want = row->model[0] == 2   ? VQ_PREFER_A
                      : row->model[1] == 2 ? VQ_PREFER_B
                                           : VQ_PREFER_NONE;
        assert_int_equal(row->preference, want);
    }
    done(&b);
    must_build(4, NULL, "tie", &b);
    for (uint32_t i = 0; i < vq_dataset_count(b.set); i++) {
        assert_int_equal(b.set->samples[i].preference, VQ_PREFER_TIE);
    }
    done(&b);
}

TEST(either_side_is_balanced)
{
    struct vq_conf_pairs conf = {.design = VQ_PAIRS_INCOMPLETE, .per_prompt = 2};
    struct built b;
    must_build(42, &conf, "ma", &b);
    assert_int_equal(vq_dataset_count(b.set), 84);
    uint32_t n[2][16] = {{0}};
    for (uint32_t i = 0; i < 84; i++) {
        const struct vq_data_row *row = &b.set->samples[i];
        n[row->split][row->model[0] * 4 + row->model[1]]++;
    }
    for (int split = 0; split < 2; split++) {
        for (uint32_t p = 0; p < 16; p++) {
            assert_true(n[split][p] == 0 || n[split][p] == 7);
        }
    }
    done(&b);
}

TEST(equal_texts_of_other_pairs_stay)
{
    struct vq_conf_data data = {.path = (char *)"d.csv"};
    struct vq_dataset_settings settings = {.data = &data, .models = {"ma", "mb", "mc"}, .seed = 1};
    const char *csv = "question,ma,mb,mc\nq1,one,two,two\nq2,three,four,five\n";
    struct vq_table *table;
    struct vq_dataset *set;
    struct vq_error err = {0};
    assert_int_equal(vq_table_parse(vq_span_str(csv), VQ_TABLE_CSV, "d.csv", &table, &err), VQ_OK);
    assert_int_equal(vq_dataset_build(&settings, table, NULL, &set, &err), VQ_OK);
    assert_int_equal(set->excluded[VQ_EXCLUDED_REPEATED_PAIR], 0); /* ma-mb and ma-mc */
    assert_int_equal(set->excluded[VQ_EXCLUDED_IDENTICAL], 1);     /* mb-mc */
    assert_int_equal(vq_dataset_count(set), 5);
    vq_dataset_destroy(&set);
    vq_table_destroy(&table);
}

TEST(refusals)
{
    struct built b;
    struct vq_error err = {0};
    assert_int_equal(build(10, NULL, "me", &b, &err), VQ_INVALID);
    assert_non_null(strstr(err.text, "\"me\""));
    done(&b);
    struct vq_conf_pairs conf = {.design = VQ_PAIRS_INCOMPLETE, .per_prompt = 1};
    assert_int_equal(build(4, &conf, "ma", &b, &err), VQ_INVALID);
    assert_non_null(strstr(err.text, "4 comparisons are less than one for each of the 6 pairs"));
    done(&b);
}
