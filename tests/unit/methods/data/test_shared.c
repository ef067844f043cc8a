/* The four published data files load with the row counts that their description states. They are
 * other people's texts and not part of this repository: without the folder (VQ_SHARED, else
 * ../shared beside the checkout) the tests skip and say so, and with VQ_REQUIRE_SHARED=1 that is a
 * failure. */
#include "tests/unit/test.h"

#include "common/text/file.h"
#include "methods/data/dataset.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct published {
    const char *file;
    const char *models[2];
    uint32_t rows;
    uint32_t near_identical;
    uint32_t prefer_a;
    uint32_t prefer_b;
    uint32_t ties;
    uint32_t columns;
    uint64_t last_line_at_least;
};

static const struct published files[] = {
    {"friendly_and_cold_sample.csv", {"friendly", "cold"}, 50, 0, 44, 6, 0, 7, 1000},
    {"hc3_multisource_train.csv", {"human_answers", "chatgpt_answers"}, 250, 0, 0, 0, 0, 6, 251},
    {"arena_llama_vs_not_llama_soft_questions.csv",
     {"llama-3-70b-instruct", "not_llama"},
     555,
     6,
     320,
     235,
     0,
     5,
     25000},
    {"cnndm_test_with_pref.csv",
     {"command_xlarge_beta", "TNLGv2"},
     500,
     33,
     103,
     243,
     154,
     5,
     2900},
};

static char folder[512];

static void check(const struct published *p)
{
    char path[1024];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, p->file);
    struct vq_buf bytes;
    struct vq_error err;
    struct vq_table *table = NULL;
    struct vq_dataset *set = NULL;
    if (vq_file_read(path, 64u << 20, &bytes, &err) != VQ_OK ||
        vq_table_parse(vq_buf_span(&bytes), VQ_TABLE_CSV, p->file, &table, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(table->rows_count, p->rows);
    assert_int_equal(table->columns_count, p->columns);
    assert_true(table->lines[p->rows - 1] >= p->last_line_at_least);
    struct vq_conf_data data = {.path = path, .test_share = 0.5, .near_duplicate = 80};
    struct vq_dataset_settings settings = {
        .data = &data, .models = {p->models[0], p->models[1]}, .seed = 42};
    if (vq_dataset_build(&settings, table, NULL, &set, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    for (uint32_t i = 0; i < set->steps_count; i++) {
        print_message("%-44s %-16s %4u -> %4u  %s\n", p->file, set->steps[i].name,
                      set->steps[i].before, set->steps[i].after, set->steps[i].note);
    }
    assert_int_equal(set->records_read[0], p->rows);
    assert_int_equal(set->excluded[VQ_EXCLUDED_IDENTICAL], 0);
    assert_int_equal(set->excluded[VQ_EXCLUDED_NEAR_IDENTICAL], p->near_identical);
    assert_false(set->split_by_row);
    vq_dataset_destroy(&set);

    data.near_duplicate = 0; /* with nothing left out, the labels are those of the file */
    assert_int_equal(vq_dataset_build(&settings, table, NULL, &set, &err), VQ_OK);
    assert_int_equal(vq_dataset_count(set) + set->excluded[VQ_EXCLUDED_REPEATED_PAIR], p->rows);
    uint32_t a = 0, b = 0, ties = 0;
    for (int split = 0; split < 2; split++) {
        a += set->preferred[split][VQ_PREFER_A + 1];
        b += set->preferred[split][VQ_PREFER_B + 1];
        ties += set->preferred[split][VQ_PREFER_TIE + 1];
    }
    assert_int_equal(set->excluded[VQ_EXCLUDED_REPEATED_PAIR], 0);
    assert_true(a == p->prefer_a && b == p->prefer_b && ties == p->ties);
    vq_dataset_destroy(&set);
    vq_table_destroy(&table);
    vq_buf_free(&bytes);
}

static void test_published_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < VQ_COUNT(files); i++) {
        check(&files[i]);
    }
}

int main(void)
{
    const char *shared = getenv("VQ_SHARED");
    (void)snprintf(folder, sizeof(folder), "%s/data/vibecheck",
                   shared != NULL ? shared : VQ_SOURCE_DIR "/../shared");
    if (access(folder, R_OK) != 0) {
        const char *required = getenv("VQ_REQUIRE_SHARED");
        fprintf(stderr, "SKIP: no published data at %s; nothing was tested here\n", folder);
        return required != NULL && required[0] == '1';
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_published_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
