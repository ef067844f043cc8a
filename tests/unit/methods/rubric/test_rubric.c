/* What a rubric run asks: rows and labels out of a table, stages, masks, and the way from tasks to
 * questions and back. */
#include "tests/unit/methods/rubrics.h"

#define HEAD "data: d.csv\njudges: [offline-a, offline-b]\n"
#define TWO  HEAD "models: [x, y]\n"
#define L    "{name: L, kind: likert, rubric: r}"
#define P    "{name: P, kind: pairwise, rubric: r}"

TEST(test_rows_and_labels)
{
    struct rubrics t;
    rubrics_make(&t,
                 TWO "criteria:\n- {name: L, kind: likert, rubric: r, human: [hx, hy]}\n"
                     "- {name: Y, kind: binary, rubric: r}\n"
                     "- {name: P, kind: pairwise, rubric: r, human: won}\n",
                 "prompt,x,y,hx,hy,won\np1,a1,b1,1, 5 ,x\np2,a2,b2,,2.0,B\np1,a3,,3,,tie\n");
    assert_int_equal(t.data->rows_count, 3);
    assert_int_equal(t.data->questions_count, 2);
    assert_int_equal(t.data->rows[2].question, t.data->rows[0].question);
    assert_int_equal(t.data->rows[2].record, 3);
    assert_int_equal(t.data->blank[0], 0);
    assert_int_equal(t.data->blank[1], 1);
    assert_int_equal(t.data->labelled[0], 4);
    assert_int_equal(t.data->labelled[1], 0);
    assert_int_equal(t.data->labelled[2], 3);
    assert_true(vq_rubric_human(t.data, 0, 0, 0) == 1 && vq_rubric_human(t.data, 0, 1, 0) == 5);
    assert_true(isnan(vq_rubric_human(t.data, 0, 0, 1)) && vq_rubric_human(t.data, 0, 1, 1) == 2);
    assert_true(vq_rubric_human(t.data, 2, 0, 0) == 1 && vq_rubric_human(t.data, 2, 0, 1) == -1);
    assert_true(vq_rubric_human(t.data, 2, 0, 2) == 0);
    rubrics_free(&t);
}

TEST(test_groups_by_their_rows)
{
    struct rubrics t;
    rubrics_make(&t,
                 "data: {path: d.csv, group: g}\njudges: [offline-a]\nmodels: [x]\ncriteria: "
                 "[refusal]\n",
                 "prompt,x,g\np1,a,u\np2,a,v\np3,a,\np4,a,v\np5,a,w\n");
    static const char *const texts[] = {"v", "u", "", "w"};
    static const uint32_t of[] = {1, 0, 2, 0, 3};
    assert_int_equal(t.data->groups_count, VQ_COUNT(texts));
    for (uint32_t g = 0; g < VQ_COUNT(texts); g++) {
        assert_true(vq_span_eq(t.data->groups[g], vq_span_str(texts[g])));
    }
    for (uint32_t i = 0; i < VQ_COUNT(of); i++) {
        assert_int_equal(t.data->rows[i].group, of[i]);
    }
    rubrics_free(&t);
}

TEST(test_too_many_groups)
{
    struct rubrics t;
    struct vq_buf csv;
    struct vq_error err = {.text = ""};
    vq_buf_init(&csv, 1u << 20);
    vq_buf_puts(&csv, "prompt,x,id\n");
    for (uint32_t i = 0; i <= VQ_RUBRIC_GROUPS_MAX; i++) {
        vq_buf_printf(&csv, "p,a,%u\n", i);
    }
    vq_buf_putc(&csv, '\0');
    assert_int_equal(rubrics_try(&t,
                                 "data: {path: d.csv, group: id}\njudges: [offline-a]\nmodels: "
                                 "[x]\ncriteria: [refusal]\n",
                                 csv.at, &err),
                     VQ_INVALID);
    assert_non_null(strstr(err.text, "\"id\" of d.csv (data.group) has more than 1000 different"));
    rubrics_free(&t);
    vq_buf_free(&csv);
}

TEST(test_refused_tables)
{
    static const struct {
        const char *yaml, *csv, *what;
    } wrong[] = {
        {HEAD "models: [x]\ncriteria: [refusal]\n", "prompt,xx\np,a\n",
         "d.csv has no column \"x\" for the outputs (models[0]); did you mean \"xx\"?"},
        {HEAD "models: [x]\ncriteria: [refusal]\n", "input,x\np,a\n", "name it with data.prompt"},
        {"data: {path: d.csv, group: topc}\njudges: [offline-a]\nmodels: [x]\ncriteria: "
         "[refusal]\n",
         "prompt,x,topic\np,a,b\n",
         "no column \"topc\" for the groups (data.group); did you mean \"topic\"?"},
        {HEAD "models: [x]\ncriteria: [refusal]\n", "prompt,x\np,\n", "empty in every row"},
        {HEAD "models: [x]\ncriteria: [{name: refusal, human: h}]\n",
         "prompt,x,h\np,a,no\np,b,"
         "maybe\n",
         "d.csv, line 3: \"maybe\" in column \"h\" is not a label of criterion \"refusal\", which "
         "is "
         "binary; write yes or no"},
        {HEAD "models: [x]\ncriteria: [{name: L, kind: likert, rubric: r, human: h}]\n",
         "prompt,x,h\np,a,6\n", "a whole number from 1 to 5"},
        {TWO "criteria: [{name: P, kind: pairwise, rubric: r, human: h}]\n",
         "prompt,x,y,h\np,a,b,z\n", "x (or A), y (or B) or tie"},
        {HEAD "models: [x]\ncriteria: [{name: refusal, human: h}]\n", "prompt,x\np,a\n",
         "no column \"h\" for people's labels (human)"},
    };
    for (size_t i = 0; i < VQ_COUNT(wrong); i++) {
        struct rubrics t;
        struct vq_error err = {.text = ""};
        assert_int_equal(rubrics_try(&t, wrong[i].yaml, wrong[i].csv, &err), VQ_INVALID);
        assert_null(t.data);
        if (strstr(err.text, wrong[i].what) == NULL) {
            fail_msg("%s\nwithout: %s", err.text, wrong[i].what);
        }
        rubrics_free(&t);
    }
}

TEST(test_limit_is_a_seeded_sample)
{
    char csv[4096] = "prompt,x\n";
    for (int i = 0; i < 100; i++) {
        (void)snprintf(csv + strlen(csv), 32, "p%d,o%d\n", i, i);
    }
    uint32_t records[2][10];
    for (int k = 0; k < 2; k++) {
        struct rubrics t;
        rubrics_make(&t,
                     "judges: [offline-a]\nmodels: [x]\ncriteria: [refusal]\n"
                     "data: {path: d.csv, limit: 10}\n",
                     csv);
        assert_int_equal(t.data->records, 100);
        assert_int_equal(t.data->rows_count, 10);
        for (uint32_t i = 0; i < 10; i++) {
            records[k][i] = t.data->rows[i].record;
            assert_true(i == 0 || records[k][i] > records[k][i - 1]);
        }
        rubrics_free(&t);
    }
    assert_memory_equal(records[0], records[1], sizeof(records[0]));
    assert_true(records[0][9] > 20); /* a sample, not the first ten */
}

TEST(test_stages)
{
    struct rubrics t;
    rubrics_make(&t, TWO "criteria: [" L ", refusal, " P "]\nrating: {repeats: 2}\n",
                 "prompt,x,y\np1,a1,b1\np2,a2,\n");
    static const struct {
        const char *name;
        enum vq_stage_kind kind;
        uint32_t items, repeat;
    } stages[] = {{"likert", VQ_STAGE_LIKERT, 4, 0},     {"binary", VQ_STAGE_BINARY, 4, 0},
                  {"pairwise", VQ_STAGE_PAIRWISE, 2, 0}, {"likert 2", VQ_STAGE_LIKERT, 4, 1},
                  {"binary 2", VQ_STAGE_BINARY, 4, 1},   {"pairwise 2", VQ_STAGE_PAIRWISE, 2, 1}};
    assert_int_equal(vq_rubric_stages_count(t.rubric), VQ_COUNT(stages));
    for (uint32_t i = 0; i < VQ_COUNT(stages); i++) {
        const struct vq_stage *s = vq_rubric_stage(t.rubric, i);
        assert_string_equal(s->name, stages[i].name);
        assert_int_equal(s->no, i);
        assert_int_equal(s->kind, stages[i].kind);
        assert_int_equal(s->items_count, stages[i].items);
        assert_int_equal(s->repeat, stages[i].repeat);
        assert_int_equal(s->retries, 1);
        assert_int_equal(s->axes_count, 1);
    }
    const struct vq_stage *likert = vq_rubric_stage(t.rubric, 0);
    assert_string_equal(likert->axes[0].name, "L");
    assert_string_equal(likert->axes[0].low, "r");
    assert_true(vq_span_eq(likert->items[1].a, vq_span_str("b1")));
    assert_int_equal(likert->items[1].b.bytes, 0);
    /* the output that is not there is not asked about, nor is its pair */
    assert_int_equal(likert->cells[2 * 2], VQ_CELL_ASKED);
    assert_int_equal(likert->cells[3 * 2], VQ_CELL_UNASKED);
    const struct vq_stage *pairwise = vq_rubric_stage(t.rubric, 2);
    assert_true(vq_span_eq(pairwise->items[0].b, vq_span_str("b1")));
    assert_int_equal(pairwise->cells[0], VQ_CELL_ASKED);
    assert_int_equal(pairwise->cells[2], VQ_CELL_UNASKED);
    rubrics_free(&t);
}

TEST(test_alternate_and_paper)
{
    struct rubrics t;
    rubrics_make(&t, TWO "criteria: [" P "]\nrating: {positions: alternate, policy: paper}\n",
                 "prompt,x,y\np1,a,b\np2,a,b\np3,a,b\n");
    const struct vq_stage *s = vq_rubric_stage(t.rubric, 0);
    static const uint8_t cells[] = {VQ_CELL_ORDER_0, VQ_CELL_ORDER_0, VQ_CELL_ORDER_1,
                                    VQ_CELL_ORDER_1, VQ_CELL_ORDER_0, VQ_CELL_ORDER_0};
    assert_memory_equal(s->cells, cells, sizeof(cells));
    assert_int_equal(s->retries, 0);
    rubrics_free(&t);
}

TEST(test_every_task_is_one_question)
{
    struct rubrics t;
    rubrics_make(&t, TWO "criteria: [" P ", " L ", refusal, knowledge]\nrating: {repeats: 3}\n",
                 "prompt,x,y\np1,a1,b1\np2,a2,b2\np3,a3,b3\n");
    size_t slots = vq_rubric_slots(t.rubric), seen_count = 0;
    uint8_t *seen = vq_alloc(slots, 1);
    assert_non_null(seen);
    for (uint32_t i = 0; i < vq_rubric_stages_count(t.rubric); i++) {
        const struct vq_stage *s = vq_rubric_stage(t.rubric, i);
        uint64_t tasks = (uint64_t)s->items_count * 2 * s->axes_count * 2;
        for (uint64_t task = 0; task < tasks; task++) {
            struct vq_rubric_place place = vq_rubric_place(t.rubric, i, task);
            size_t slot = vq_rubric_slot(t.rubric, &place);
            assert_true(slot < slots && seen[slot] == 0);
            seen[slot] = 1;
            seen_count++;
            uint32_t stage;
            assert_int_equal(vq_rubric_task(t.rubric, &place, &stage), task);
            assert_int_equal(stage, i);
            assert_string_equal(t.criteria[place.criterion].name,
                                s->axes[task / 2 % s->axes_count].name);
        }
    }
    assert_int_equal(seen_count, slots);
    assert_ptr_equal(vq_rubric_stage_of(t.rubric, 0), vq_rubric_stage(t.rubric, 2));
    vq_free(seen);
    rubrics_free(&t);
}

TEST(test_answers_that_do_not_fit_are_our_bug)
{
    struct rubrics t;
    struct vq_error err = {.text = ""};
    uint8_t outcomes[8] = {0};
    rubrics_make(&t, HEAD "models: [x]\ncriteria: [refusal]\n", "prompt,x\np,a\n");
    struct vq_script script = vq_rubric_script(t.rubric);
    assert_int_equal(script.ops->take_outcomes(script.ctx, outcomes, 5, &err), VQ_BUG);
    assert_int_equal(script.ops->take_outcomes(script.ctx, outcomes, 4, &err), VQ_OK);
    assert_int_equal(script.ops->take_outcomes(script.ctx, outcomes, 4, &err), VQ_BUG);
    const char *const *notes;
    assert_int_equal(script.ops->notes(script.ctx, &notes), 0);
    rubrics_free(&t);
}

TEST(test_without_memory)
{
    struct rubrics t;
    rubrics_make(&t, TWO "criteria: [" P ", " L "]\nrating: {positions: alternate}\n",
                 "prompt,x,y\np1,a1,b1\np2,a2,\n");
    struct vq_rubric_settings settings = {t.config, t.criteria, "d.csv"};
    struct vq_rubric_input input = *vq_rubric_input(t.rubric);
    enum vq_status status = VQ_NOMEM;
    for (uint64_t n = 1; status != VQ_OK; n++) {
        struct vq_rubric_data *data = NULL;
        struct vq_rubric *rubric = NULL;
        vq_alloc_fail_at(n);
        status = vq_rubric_data_create(&settings, t.table, &data, NULL);
        if (status == VQ_OK) {
            status = vq_rubric_create(&input, &rubric, NULL);
        }
        vq_alloc_fail_at(0);
        assert_true(status == VQ_OK || status == VQ_NOMEM);
        vq_rubric_destroy(&rubric);
        vq_rubric_data_destroy(&data);
        assert_true(n < 100);
    }
    rubrics_free(&t);
}
