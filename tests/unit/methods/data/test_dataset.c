/* Data sets: columns, labels, each exclusion, the split's rules, order, and every refusal. */
#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "methods/data/dataset.h"

#include <stdio.h>
#include <stdlib.h>

struct fixture {
    struct vq_conf_data data;
    struct vq_dataset_settings settings;
    struct vq_table *table;
    struct vq_table *test;
    struct vq_dataset *set;
    struct vq_error err;
};

static void setup(struct fixture *f, const char *csv, const char *test_csv)
{
    *f = (struct fixture){.data = {.path = (char *)"data.csv",
                                   .test_path = test_csv == NULL ? NULL : (char *)"test.csv",
                                   .test_share = 0.5,
                                   .near_duplicate = 80}};
    f->settings = (struct vq_dataset_settings){.models = {"ma", "mb"}, .seed = 42};
    struct vq_error err;
    if (vq_table_parse(vq_span_str(csv), VQ_TABLE_CSV, "data.csv", &f->table, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    if (test_csv != NULL) {
        assert_int_equal(
            vq_table_parse(vq_span_str(test_csv), VQ_TABLE_CSV, "test.csv", &f->test, &err), VQ_OK);
    }
}

static enum vq_status build(struct fixture *f)
{
    vq_dataset_destroy(&f->set);
    f->settings.data = &f->data;
    f->err.text[0] = '\0';
    return vq_dataset_build(&f->settings, f->table, f->test, &f->set, &f->err);
}

static void must_build(struct fixture *f)
{
    if (build(f) != VQ_OK) {
        fail_msg("%s", f->err.text);
    }
    const struct vq_dataset *s = f->set;
    uint32_t excluded = 0;
    for (int why = 0; why < VQ_EXCLUSION__COUNT; why++) {
        excluded += s->excluded[why];
    }
    assert_int_equal(vq_dataset_count(s) + excluded, s->records_read[0] + s->records_read[1]);
    for (uint32_t i = 0; i < vq_dataset_count(s); i++) {
        assert_int_equal(s->samples[i].split, i < s->train_count ? VQ_SPLIT_TRAIN : VQ_SPLIT_TEST);
        assert_true(s->samples[i].question < s->questions_count);
    }
    for (uint32_t i = 1; i < s->steps_count; i++) {
        assert_int_equal(s->steps[i].before, s->steps[i - 1].after);
    }
    assert_int_equal(s->steps[s->steps_count - 1].after, vq_dataset_count(s));
}

static void teardown(struct fixture *f)
{
    vq_dataset_destroy(&f->set);
    vq_table_destroy(&f->table);
    vq_table_destroy(&f->test);
}

/* n rows with distinct, unlike outputs: question qI (I modulo `questions`), a label by `labels` in
 * turn. */
static char *many_rows(uint32_t n, uint32_t questions, const char *const *labels,
                       uint32_t labels_count)
{
    struct vq_buf csv;
    vq_buf_init(&csv, 64u << 20);
    vq_buf_puts(&csv, labels_count > 0 ? "question,ma,mb,preference\n" : "question,ma,mb\n");
    for (uint32_t i = 0; i < n; i++) {
        vq_buf_printf(&csv, "q%u,ooo%uooo,vvvvv%u", i % questions, i, i);
        if (labels_count > 0) {
            vq_buf_printf(&csv, ",%s", labels[i % labels_count]);
        }
        vq_buf_putc(&csv, '\n');
    }
    assert_int_equal(csv.status, VQ_OK);
    return csv.at;
}

TEST(test_columns_and_labels)
{
    struct fixture f;
    setup(&f,
          "topic,mb,question,preference,ma\n"
          "t1,b one,q1,ma,a uno\n"
          "t2,b two,q2, mb ,a dos\n"
          "t1,b three,q3,Tie,a tres\n"
          "t3,b four,q4,n/a,a cuatro\n"
          "t1,b five,q5,,a cinco\n"
          "t1,b six,q6,EQUAL,a seis\n",
          NULL);
    f.data.group = (char *)"topic";
    must_build(&f);
    assert_int_equal(vq_dataset_count(f.set), 6);
    assert_true(f.set->has_preference);
    assert_int_equal(f.set->questions_count, 6);
    assert_int_equal(f.set->groups_count, 3);
    static const int8_t expected[] = {VQ_PREFER_A,   VQ_PREFER_B,    VQ_PREFER_TIE,
                                      VQ_PREFER_TIE, VQ_PREFER_NONE, VQ_PREFER_TIE};
    static const char *const topics[] = {"t1", "t2", "t1", "t3", "t1", "t1"};
    for (uint32_t i = 0; i < 6; i++) {
        const struct vq_data_row *row = &f.set->samples[i];
        assert_int_equal(row->preference, expected[row->record - 1]);
        assert_int_equal(row->question, row->record - 1);
        assert_memory_equal(row->a.at, "a ", 2);
        assert_memory_equal(row->b.at, "b ", 2);
        assert_true(vq_span_eq(f.set->groups[row->group], vq_span_str(topics[row->record - 1])));
        assert_true(vq_span_eq(vq_table_cell(f.table, vq_sample_row(row), 0),
                               vq_span_str(topics[row->record - 1])));
    }
    uint32_t a = 0, b = 0, tie = 0, none = 0;
    for (int split = 0; split < 2; split++) {
        b += f.set->preferred[split][VQ_PREFER_B + 1];
        tie += f.set->preferred[split][VQ_PREFER_TIE + 1];
        a += f.set->preferred[split][VQ_PREFER_A + 1];
        none += f.set->preferred[split][VQ_PREFER_NONE + 1];
    }
    assert_true(a == 1 && b == 1 && tie == 3 && none == 1);
    teardown(&f);
}

TEST(test_prompt_column_default)
{
    struct fixture f;
    setup(&f, "prompt,ma,mb\np1,x,yy\np2,zzz,w\n", NULL);
    must_build(&f);
    assert_false(f.set->has_preference);
    assert_int_equal(f.set->samples[0].preference, VQ_PREFER_NONE);
    assert_int_equal(f.set->columns[0].prompt, 0);
    teardown(&f);
    setup(&f, "prompt,question,ma,mb\np1,q1,x,yy\np2,q2,zzz,w\n", NULL);
    must_build(&f);
    assert_int_equal(f.set->columns[0].prompt, 1);
    teardown(&f);
}

TEST(test_repeated_identical_and_near_identical_rows_leave)
{
    struct fixture f;
    setup(&f,
          "question,ma,mb\n"
          "q1,one text,another thing\n"
          "q2,one text,another thing\n" /* the same pair, under another prompt */
          "q3,another thing,one text\n" /* turned round: not the same pair */
          "q4,equal,equal\n"
          "q5,abcdefghij,abcdefghiX\n" /* 90 */
          "q6,abcde,abcXY\n"           /* 60 */
          "q7,zzz,www\n",
          NULL);
    must_build(&f);
    assert_int_equal(f.set->excluded[VQ_EXCLUDED_REPEATED_PAIR], 1);
    assert_int_equal(f.set->excluded[VQ_EXCLUDED_IDENTICAL], 1);
    assert_int_equal(f.set->excluded[VQ_EXCLUDED_NEAR_IDENTICAL], 1);
    assert_int_equal(vq_dataset_count(f.set), 4);
    f.data.near_duplicate = 60;
    must_build(&f);
    assert_int_equal(f.set->excluded[VQ_EXCLUDED_NEAR_IDENTICAL], 2);
    f.data.near_duplicate = 0;
    must_build(&f);
    assert_int_equal(f.set->excluded[VQ_EXCLUDED_NEAR_IDENTICAL], 0);
    assert_int_equal(f.set->excluded[VQ_EXCLUDED_IDENTICAL], 1);
    teardown(&f);
}

TEST(test_ties)
{
    static const char *const labels[] = {"ma", "tie", "mb", "", "N/A"};
    char *csv = many_rows(100, 100, labels, 5);
    struct fixture f;
    setup(&f, csv, NULL);
    must_build(&f);
    assert_int_equal(vq_dataset_count(f.set), 100);
    f.data.ties = VQ_TIES_DROP_ALL;
    must_build(&f);
    assert_int_equal(vq_dataset_count(f.set), 60); /* the unlabelled stay */
    assert_int_equal(f.set->excluded[VQ_EXCLUDED_TIE], 40);
    teardown(&f);
    free(csv);
}

TEST(test_split_keeps_questions_together)
{
    char *csv = many_rows(400, 130, NULL, 0);
    struct fixture f;
    setup(&f, csv, NULL);
    for (uint64_t seed = 0; seed < 20; seed++) {
        f.settings.seed = seed;
        must_build(&f);
        assert_false(f.set->split_by_row);
        assert_int_equal(f.set->questions_count, 130);
        assert_in_range(f.set->test_count, 196, 200);
        int8_t side[130];
        memset(side, -1, sizeof(side));
        for (uint32_t i = 0; i < 400; i++) {
            const struct vq_data_row *row = &f.set->samples[i];
            assert_true(side[row->question] == -1 || side[row->question] == row->split);
            side[row->question] = (int8_t)row->split;
        }
    }
    f.data.test_share = 0.25;
    must_build(&f);
    assert_in_range(f.set->test_count, 96, 100);
    f.data.test_share = 0;
    must_build(&f);
    assert_int_equal(f.set->test_count, 0);
    assert_int_equal(f.set->train_count, 400);
    teardown(&f);
    free(csv);
}

TEST(test_one_prompt_for_all_rows_splits_by_row)
{
    char *csv = many_rows(50, 1, NULL, 0);
    struct fixture f;
    setup(&f, csv, NULL);
    must_build(&f);
    assert_true(f.set->split_by_row);
    assert_int_equal(f.set->test_count, 25);
    assert_int_equal(f.set->questions_count, 1);
    assert_int_equal(f.set->warnings_count, 1);
    assert_non_null(strstr(f.set->warnings[0], "rows were split instead"));
    teardown(&f);
    free(csv);
}

TEST(test_order_is_seeded_and_record_numbers_stay)
{
    char *csv = many_rows(200, 200, NULL, 0);
    struct fixture f;
    setup(&f, csv, NULL);
    must_build(&f);
    uint32_t first[200];
    bool seen[201] = {false};
    uint32_t ascending = 0;
    for (uint32_t i = 0; i < 200; i++) {
        const struct vq_data_row *row = &f.set->samples[i];
        char a[32];
        (void)snprintf(a, sizeof(a), "ooo%uooo", row->record - 1);
        assert_true(vq_span_eq(row->a, vq_span_str(a)));
        assert_false(seen[row->record]);
        seen[row->record] = true;
        first[i] = row->record;
        ascending += i > 0 && first[i] > first[i - 1];
    }
    assert_in_range(ascending, 60, 140); /* neither sorted nor reversed */
    must_build(&f);
    uint32_t same = 0;
    for (uint32_t i = 0; i < 200; i++) {
        assert_int_equal(f.set->samples[i].record, first[i]);
    }
    f.settings.seed = 43;
    must_build(&f);
    for (uint32_t i = 0; i < 200; i++) {
        same += f.set->samples[i].record == first[i];
    }
    assert_true(same < 20);
    teardown(&f);
    free(csv);
}

TEST(test_swapped_models_are_the_same_rows_turned)
{
    static const char *const labels[] = {"ma", "mb", "tie"};
    char *csv = many_rows(120, 50, labels, 3);
    struct fixture f, g;
    setup(&f, csv, NULL);
    setup(&g, csv, NULL);
    g.settings.models[0] = "mb";
    g.settings.models[1] = "ma";
    must_build(&f);
    must_build(&g);
    assert_int_equal(vq_dataset_count(f.set), vq_dataset_count(g.set));
    for (uint32_t i = 0; i < vq_dataset_count(f.set); i++) {
        const struct vq_data_row *x = &f.set->samples[i], *y = &g.set->samples[i];
        assert_int_equal(x->record, y->record);
        assert_int_equal(x->split, y->split);
        assert_int_equal(x->question, y->question);
        assert_int_equal(x->preference, -y->preference);
        assert_true(vq_span_eq(x->a, y->b) && vq_span_eq(x->b, y->a));
    }
    teardown(&f);
    teardown(&g);
    free(csv);
}

TEST(test_limit_and_caps)
{
    char *csv = many_rows(300, 300, NULL, 0);
    struct fixture f;
    setup(&f, csv, NULL);
    f.data.limit = 60;
    must_build(&f);
    assert_int_equal(vq_dataset_count(f.set), 60);
    assert_int_equal(f.set->excluded[VQ_EXCLUDED_NOT_SAMPLED], 240);
    uint32_t beyond = 0;
    for (uint32_t i = 0; i < 60; i++) {
        beyond += f.set->samples[i].record > 60;
    }
    assert_true(beyond > 30); /* a sample, not the beginning */
    f.data.limit = 0;
    must_build(&f);
    uint32_t first_train = f.set->samples[0].record;
    f.data.num_train_max = 10;
    f.data.num_test_max = 5;
    must_build(&f);
    assert_int_equal(f.set->train_count, 10);
    assert_int_equal(f.set->test_count, 5);
    assert_int_equal(f.set->samples[0].record, first_train);
    assert_int_equal(f.set->excluded[VQ_EXCLUDED_OVER_TRAIN_CAP], 140);
    assert_int_equal(f.set->excluded[VQ_EXCLUDED_OVER_TEST_CAP], 145);
    teardown(&f);
    free(csv);
}

TEST(test_test_file)
{
    struct fixture f;
    setup(&f, "question,ma,mb\nq1,a1,bbb1\nq2,a22,b2222\nq3,x,yyy\nq4,1,2222\n",
          "mb,ma,question\nbx,ayyyy,q9\nby,azzzz,q2\n");
    must_build(&f);
    assert_int_equal(f.set->train_count, 3);
    assert_int_equal(f.set->test_count, 2);
    assert_int_equal(f.set->excluded[VQ_EXCLUDED_QUESTION_IN_TEST], 1);
    assert_int_equal(f.set->questions_count, 5);
    assert_int_equal(f.set->warnings_count, 1);
    assert_non_null(strstr(f.set->warnings[0], "1 of the 4 training rows"));
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(f.set->samples[i].file, i < 3 ? 0 : 1);
    }
    assert_memory_equal(f.set->samples[3].a.at, "a", 1); /* its columns stand in another order */
    teardown(&f);

    setup(&f, "question,ma,mb\nq,a1,bbb1\nq,a22,b2222\n", "question,ma,mb\nq,ax,by\n");
    must_build(&f);
    assert_int_equal(f.set->train_count, 2); /* all prompts are one: they stay, with a warning */
    assert_int_equal(f.set->warnings_count, 1);
    assert_non_null(strstr(f.set->warnings[0], "they stay"));
    teardown(&f);
}

struct refusal {
    const char *csv;
    const char *says[3];
};

TEST(test_refusals)
{
    static const struct refusal refusals[] = {
        {"question,maa,mb\nq,a,b\nq,c,d\n",
         {"no column \"ma\"", "models[0]", "did you mean \"maa\"?"}},
        {"question,ma,other\nq,a,b\nq,c,d\n", {"no column \"mb\"", "models[1]", "\"other\""}},
        {"text,ma,mb\nq,a,b\nq,c,d\n", {"\"question\"", "nor \"prompt\"", "data.prompt"}},
        {"question,ma,mb\nq,a,b\n", {"one record", "", ""}},
        {"question,ma,mb\nq,a,a\nr,b,b\n", {"no training rows", "2 identical_outputs", ""}},
        {"question,ma,mb,preference\nq,a,b,mx\nr,c,d,mx\ns,e,f,ma\nt,g,h,zebra\n",
         {"3 of the labels in column \"preference\"", "\"mx\" in 2 records from line 2",
          "\"zebra\" in 1 record from line 5"}},
    };
    for (size_t i = 0; i < VQ_COUNT(refusals); i++) {
        struct fixture f;
        setup(&f, refusals[i].csv, NULL);
        assert_int_equal(build(&f), VQ_INVALID);
        assert_null(f.set);
        for (size_t k = 0; k < VQ_COUNT(refusals[i].says); k++) {
            if (strstr(f.err.text, refusals[i].says[k]) == NULL) {
                fail_msg("\"%s\" does not say \"%s\"", f.err.text, refusals[i].says[k]);
            }
        }
        teardown(&f);
    }
}

TEST(test_nested_json_in_a_used_column_is_refused)
{
    static const struct {
        const char *second, *says[3]; /* the second record of the file; empty: it is fine */
    } cases[] = {
        {"{\"question\":[{\"role\":\"user\"}],\"ma\":\"c\",\"mb\":\"d\"}",
         {"line 3", "\"question\"", "the prompts"}},
        {"{\"question\":\"r\",\"ma\":{\"t\":1},\"mb\":\"d\"}",
         {"line 3", "\"ma\"", "name another column"}},
        {"{\"question\":\"r\",\"ma\":\"c\",\"mb\":[]}", {"line 3", "\"mb\"", "one text"}},
        {"{\"question\":\"r\",\"ma\":\"c\",\"mb\":\"d\",\"preference\":[\"ma\"]}",
         {"line 3", "\"preference\"", "the preference"}},
        {"{\"question\":\"r\",\"ma\":\"c\",\"mb\":\"d\",\"tags\":[\"x\"]}", {NULL}},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        struct fixture f;
        char text[512];
        (void)snprintf(text, sizeof(text), "{\"question\":\"q\",\"ma\":\"a\",\"mb\":\"b\"}\n\n%s\n",
                       cases[i].second);
        setup(&f, "question,ma,mb\nq,a,b\n", NULL);
        vq_table_destroy(&f.table);
        assert_int_equal(
            vq_table_parse(vq_span_str(text), VQ_TABLE_JSONL, "data.jsonl", &f.table, &f.err),
            VQ_OK);
        bool fine = cases[i].says[0] == NULL;
        assert_int_equal(build(&f), fine ? VQ_OK : VQ_INVALID);
        for (size_t k = 0; !fine && k < VQ_COUNT(cases[i].says); k++) {
            assert_non_null(strstr(f.err.text, cases[i].says[k]));
        }
        teardown(&f);
    }
}

TEST(test_column_with_two_roles_and_model_named_tie)
{
    struct fixture f;
    setup(&f, "question,ma,mb,tie\nq,a,b,c\nr,c,d,e\n", NULL);
    f.data.prompt = (char *)"mb";
    assert_int_equal(build(&f), VQ_INVALID);
    assert_non_null(strstr(f.err.text, "model B and as the prompts"));
    f.data.prompt = NULL;
    f.settings.models[1] = "ma";
    assert_int_equal(build(&f), VQ_INVALID);
    assert_non_null(strstr(f.err.text, "model A and as model B"));
    f.settings.models[1] = "tie";
    f.data.preference = (char *)"mb";
    assert_int_equal(build(&f), VQ_INVALID);
    assert_non_null(strstr(f.err.text, "means a tie"));
    f.data.preference = (char *)"prefrence";
    f.settings.models[1] = "mb";
    assert_int_equal(build(&f), VQ_INVALID);
    assert_non_null(strstr(f.err.text, "data.preference"));
    teardown(&f);
}

TEST(test_nearest_label)
{
    struct fixture f;
    setup(&f, "question,TNLGv2,cmd,preference\nq,a,b,TNLGv\nr,c,d,cmd\n", NULL);
    f.settings.models[0] = "TNLGv2";
    f.settings.models[1] = "cmd";
    assert_int_equal(build(&f), VQ_INVALID);
    assert_non_null(strstr(f.err.text, "did you mean \"TNLGv2\"?"));
    teardown(&f);
}

TEST(test_every_allocation_may_fail)
{
    static const char *const labels[] = {"ma", "mb"};
    char *csv = many_rows(20, 7, labels, 2);
    struct fixture f;
    setup(&f, csv, NULL);
    f.data.limit = 18;
    f.data.group = (char *)"question";
    f.data.prompt = (char *)"question";
    uint64_t n = 1;
    enum vq_status status;
    do {
        vq_alloc_fail_at(n++);
        status = build(&f);
        vq_alloc_fail_at(0);
        assert_true(status == VQ_OK ||
                    (status == VQ_NOMEM && f.set == NULL && f.err.text[0] != '\0'));
    } while (status != VQ_OK && n < 1000);
    assert_int_equal(status, VQ_OK);
    teardown(&f);
    free(csv);
}
