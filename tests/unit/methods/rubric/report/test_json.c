/* What a rubric run leaves: the JSON by its keys, the ratings line by line, the table; the same
 * bytes each time. */
#include "methods/rubric/report/report.h"
#include "tests/unit/methods/rubrics.h"

#include <jansson.h>

#define YAML                                                                                       \
    "judges: [offline-a, offline-b]\nmodels: [x, y]\nrating: {repeats: "                           \
    "2}\ncriteria:\n"                                                                              \
    "- {name: L, kind: likert, rubric: r, human: [hx, \"\"]}\n- refusal\n"                         \
    "- {name: P, kind: pairwise, rubric: r}\n"
#define CSV                                                                                        \
    "prompt,x,y,hx\np1,a,b,5\np2,\"a, \"\"2\"\"\",b,4\np3,a,b,5\np4,a,b,5\np5,a,b,\np6,a,,2\n"

static bool reasoning(void *ctx, const struct vq_rubric_place *place, struct vq_span *ret_text)
{
    (void)ctx;
    *ret_text = vq_span_str("it, \"plainly\"\nso");
    return place->row != 3;
}

/* x is rated 5 and never refuses, y 2; judge 1 has nothing on row 4. The first shown wins. */
static const char *answer(const struct vq_rubric_place *p)
{
    if (p->row == 4 && p->judge == 1) {
        return p->repeat == 0 ? NULL : "I'd rather not say.";
    }
    if (p->criterion == 2) {
        return "**Result:** A";
    }
    return p->criterion == 1 ? (p->output == 0 ? "**Result:** No" : "**Result:** Yes")
                             : (p->output == 0 ? "**Result:** 5" : "**Result:** 2");
}

struct reported {
    struct rubrics t;
    struct vq_report_judge judges[2];
    struct vq_hash template;
    struct vq_rubric_report r;
};

static void report_of(struct reported *x, const char *yaml, const char *csv)
{
    *x = (struct reported){
        .judges = {{.name = "offline-a", .model = "offline-a", .identity = "here"},
                   {.name = "offline-b", .model = "offline-b", .identity = "here"}}};
    rubrics_make(&x->t, yaml, csv);
    rubrics_rate(&x->t, answer);
    x->r = (struct vq_rubric_report){.config = x->t.config,
                                     .rubric = x->t.rubric,
                                     .data = x->t.data,
                                     .numbers = x->t.numbers,
                                     .readings = x->t.readings,
                                     .judges = x->judges,
                                     .judge_kind = "model",
                                     .templates = {&x->template, NULL, &x->template},
                                     .data_hash = "abc",
                                     .reasoning = reasoning};
}

static void report(struct reported *x)
{
    report_of(x, "data: d.csv\n" YAML, CSV);
}

static const json_t *at(const json_t *array, size_t i)
{
    assert_true(i < json_array_size(array));
    return json_array_get(array, i);
}

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value)) {
        fail_msg("%s is no number", key);
    }
    return json_number_value(value);
}

TEST(test_json)
{
    struct reported x;
    struct vq_buf out, again;
    report(&x);
    vq_buf_init(&out, 1u << 20);
    vq_buf_init(&again, 1u << 20);
    vq_rubric_report_json(&x.r, &out);
    vq_rubric_report_json(&x.r, &again);
    assert_int_equal(out.status, VQ_OK);
    assert_true(vq_span_eq(vq_buf_span(&out), vq_buf_span(&again)));
    json_t *root = json_loadb(out.at, out.bytes, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    assert_string_equal(json_string_value(json_object_get(root, "kind")), "judge");
    assert_null(json_object_get(root, "judge_note"));
    assert_true(json_is_null(json_object_get(root, "no_intervals_because")));
    const json_t *settings = json_object_get(root, "settings");
    assert_non_null(json_object_get(settings, "likert_template"));
    assert_null(json_object_get(settings, "binary_template"));
    const json_t *criteria = json_object_get(root, "criteria");
    assert_int_equal(json_array_size(criteria), 3);

    const json_t *likert = at(criteria, 0), *x_of = at(json_object_get(likert, "outputs"), 0);
    assert_true(number(x_of, "mean") == 5 && number(x_of, "items") == 6 &&
                number(x_of, "rated") == 6);
    assert_int_equal(json_array_size(json_object_get(x_of, "ci95")), 2);
    assert_int_equal(number(json_object_get(x_of, "counts"), "5"), 22);
    assert_int_equal(number(json_object_get(x_of, "statuses"), "failed"), 1);
    assert_int_equal(number(json_object_get(x_of, "statuses"), "missing"), 1);
    const json_t *by = at(json_object_get(x_of, "judges"), 1);
    assert_true(number(by, "rated") == 5);
    const json_t *y_of = at(json_object_get(likert, "outputs"), 1);
    assert_true(number(y_of, "items") == 5); /* the sixth row has no output */
    assert_int_equal(number(json_object_get(y_of, "statuses"), "not_asked"), 4);
    assert_true(number(json_object_get(likert, "difference"), "mean") == 3);
    const json_t *human = at(json_object_get(likert, "agreement"), 0);
    assert_string_equal(json_string_value(json_object_get(human, "with")), "human");
    assert_true(number(human, "rows") == 5 && number(human, "exact") == 0.6);

    assert_true(number(at(json_object_get(at(criteria, 1), "outputs"), 1), "rate") == 1);
    const json_t *pairwise = at(criteria, 2);
    const json_t *won = at(json_object_get(pairwise, "outputs"), 0);
    assert_string_equal(json_string_value(json_object_get(won, "against")), "y");
    assert_true(number(won, "win_rate") == 0.5);
    assert_null(json_object_get(pairwise, "difference"));
    assert_true(number(at(json_object_get(pairwise, "positions"), 0), "first_rate") == 1);
    assert_true(number(root, "answers_missing") == 12);
    json_decref(root);
    vq_buf_free(&out);
    vq_buf_free(&again);
    rubrics_free(&x.t);
}

TEST(test_groups)
{
    struct reported x;
    struct vq_terminal plain = {.columns = 80};
    struct vq_buf out;
    report_of(&x, "data: {path: d.csv, group: hx}\n" YAML, CSV);
    vq_buf_init(&out, 1u << 20);
    vq_rubric_report_json(&x.r, &out);
    json_t *root = json_loadb(out.at, out.bytes, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    assert_true(number(json_object_get(root, "data"), "groups") == 4);
    const json_t *groups = json_object_get(at(json_object_get(root, "criteria"), 0), "groups");
    assert_int_equal(json_array_size(groups), 4);
    assert_string_equal(json_string_value(json_object_get(at(groups, 0), "group")), "5");
    const json_t *outputs = json_object_get(at(groups, 0), "outputs");
    assert_true(number(at(outputs, 0), "items") == 3 && number(at(outputs, 1), "mean") == 2);
    assert_true(json_is_null(json_object_get(at(outputs, 0), "ci95")));
    assert_int_equal(number(json_object_get(at(outputs, 0), "statuses"), "ok"), 12);
    assert_true(number(json_object_get(at(groups, 0), "difference"), "mean") == 3);
    groups = json_object_get(at(json_object_get(root, "criteria"), 2), "groups");
    assert_null(json_object_get(at(groups, 0), "difference"));
    assert_int_equal(json_array_size(json_object_get(at(groups, 0), "outputs")), 1);
    json_decref(root);
    vq_buf_clear(&out);
    vq_rubric_report_table(&x.r, &plain, &out);
    vq_buf_putc(&out, '\0');
    assert_non_null(strstr(out.at, "\nL                    by hx\n  5     "));
    assert_non_null(strstr(out.at, "\n  (empty) "));
    vq_buf_free(&out);
    rubrics_free(&x.t);
}

TEST(test_csv)
{
    struct reported x;
    struct vq_buf whole, pieces;
    report(&x);
    vq_buf_init(&whole, 1u << 20);
    vq_buf_init(&pieces, 1u << 20);
    vq_rubric_report_csv(&x.r, 0, 6, &whole);
    for (uint32_t i = 0; i < 6; i++) {
        vq_rubric_report_csv(&x.r, i, i + 1, &pieces);
    }
    assert_true(vq_span_eq(vq_buf_span(&whole), vq_buf_span(&pieces)));
    struct vq_table *t;
    struct vq_error err = {.text = ""};
    if (vq_table_parse(vq_buf_span(&whole), VQ_TABLE_CSV, "ratings.csv", &t, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    /* five whole rows of (2 + 2 + 1 x 2 orders) x 2 judges x 2 repeats, and one of x alone */
    assert_int_equal(t->rows_count, 5 * 24 + 8);
    uint32_t value = vq_table_column(t, vq_span_str("value"));
    uint32_t status = vq_table_column(t, vq_span_str("status"));
    uint32_t why = vq_table_column(t, vq_span_str("reasoning"));
    uint32_t item = vq_table_column(t, vq_span_str("item"));
    uint32_t first = vq_table_column(t, vq_span_str("shown_first"));
    unsigned empty = 0;
    for (uint32_t i = 0; i < t->rows_count; i++) {
        bool ok = vq_span_eq(vq_table_cell(t, i, status), vq_span_str("ok"));
        assert_int_equal(vq_table_cell(t, i, value).bytes > 0, ok);
        bool fourth = vq_span_eq(vq_table_cell(t, i, item), vq_span_str("4"));
        assert_int_equal(vq_table_cell(t, i, why).bytes == 0, fourth);
        bool pair = vq_table_cell(t, i, first).bytes > 0;
        assert_true(!pair || !ok ||
                    vq_span_eq(vq_table_cell(t, i, value), vq_table_cell(t, i, first)));
        empty += !ok;
    }
    assert_int_equal(empty, 12);
    vq_table_destroy(&t);
    vq_buf_free(&whole);
    vq_buf_free(&pieces);
    rubrics_free(&x.t);
}

TEST(test_items)
{
    static const char *const wanted[] = {
        "item,group,output,criterion,kind,score,judges,human\n",
        "\n1,5,x,L,likert,5,2,5\n1,5,y,L,likert,2,2,\n1,5,x,refusal,binary,0,2,\n",
        "\n1,5,,P,pairwise,0.5,2,\n", "\n5,,x,L,likert,5,1,\n", /* one judge has nothing on it */
        "\n6,2,x,L,likert,5,2,2\n6,2,x,refusal,binary,0,2,\n"}; /* no output y */
    struct reported x;
    struct vq_buf whole, pieces;
    report_of(&x, "data: {path: d.csv, group: hx}\n" YAML, CSV);
    vq_buf_init(&whole, 1u << 20);
    vq_buf_init(&pieces, 1u << 20);
    vq_rubric_report_items_csv(&x.r, 0, 6, &whole);
    for (uint32_t i = 0; i < 6; i++) {
        vq_rubric_report_items_csv(&x.r, i, i + 1, &pieces);
    }
    assert_true(vq_span_eq(vq_buf_span(&whole), vq_buf_span(&pieces)));
    vq_buf_putc(&whole, '\0');
    for (size_t i = 0; i < VQ_COUNT(wanted); i++) {
        if (strstr(whole.at, wanted[i]) == NULL) {
            fail_msg("no \"%s\" in\n%s", wanted[i], whole.at);
        }
    }
    vq_buf_free(&whole);
    vq_buf_free(&pieces);
    rubrics_free(&x.t);
}

TEST(test_table)
{
    struct reported x;
    struct vq_terminal plain = {.columns = 80};
    struct vq_buf out;
    report(&x);
    vq_buf_init(&out, 1u << 20);
    vq_rubric_report_table(&x.r, &plain, &out);
    static const char *const has[] = {
        "95 % interval", "L ",   "difference", "+3.00",          "1 missing",
        "1 failed",      "wins", "0.50",       "(human labels)", "(itself, again)"};
    for (size_t i = 0; i < VQ_COUNT(has); i++) {
        if (strstr(out.at, has[i]) == NULL) {
            fail_msg("no \"%s\" in\n%s", has[i], out.at);
        }
    }
    assert_null(strstr(out.at, "offline judge"));
    assert_non_null(strstr(out.at, "Answers  116 ok, 6 missing, 6 failed\n"));
    assert_null(strstr(out.at, "Calls "));
    x.r.calls = &(struct vq_report_calls){.sent = 1234,
                                          .from_store = 5,
                                          .failed = 6,
                                          .tokens_in = 70000,
                                          .tokens_out = 8,
                                          .priced = true,
                                          .cost_usd = 1.5};
    vq_buf_clear(&out);
    vq_rubric_report_table(&x.r, &plain, &out);
    vq_buf_putc(&out, '\0');
    assert_non_null(strstr(out.at, "Calls    1,234 sent, 5 answered from the store, 6 failed calls "
                                   "(retries included); 70,000 tokens in, 8 out; $1.50\n"));
    x.r.judge_kind = "offline-lexical";
    vq_buf_clear(&out);
    vq_rubric_report_table(&x.r, &plain, &out);
    assert_non_null(strstr(out.at, "Made with the offline judge"));
    vq_buf_free(&out);
    rubrics_free(&x.t);
}

TEST(test_no_room)
{
    struct reported x;
    report(&x);
    for (size_t most = 0; most < 3000; most += 100) {
        struct vq_buf out;
        vq_buf_init(&out, most + 1);
        vq_rubric_report_json(&x.r, &out);
        assert_int_equal(out.status, VQ_LIMIT);
        vq_buf_free(&out);
    }
    rubrics_free(&x.t);
}
