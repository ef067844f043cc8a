/* The JSON of the page of a rubric run: every text of others is escaped, items that differ most
 * come first and no more of them than a page holds, and results.json is in it as it is. */
#include "methods/report/html/html.h"
#include "methods/rubric/report/report.h"
#include "tests/unit/methods/report/page_data.h"
#include "tests/unit/methods/rubrics.h"

#define EVIL "<script>alert(1)</script>\"'&"

static struct vq_report_calls calls;

static bool evil_reasoning(void *ctx, const struct vq_rubric_place *place, struct vq_span *ret_text)
{
    (void)ctx;
    (void)place;
    *ret_text = vq_span_str("because **" EVIL "**");
    return true;
}

static const char *differs_on_row_two(const struct vq_rubric_place *p)
{
    return p->row == 2 && p->judge == 1 ? "**Result:** 1" : "**Result:** 4";
}

static void page(struct rubrics *t, const char *yaml, const char *csv, rubrics_answer_fn answer,
                 struct vq_buf *out)
{
    static const struct vq_report_judge judges[] = {
        {.name = "j<0>", .model = "offline-a", .identity = "here"},
        {.name = "j1", .model = "offline-b", .identity = "here"}};
    static const struct vq_hash template;
    rubrics_make(t, yaml, csv);
    rubrics_rate(t, answer);
    struct vq_rubric_report r = {.config = t->config,
                                 .rubric = t->rubric,
                                 .data = t->data,
                                 .numbers = t->numbers,
                                 .readings = t->readings,
                                 .judges = judges,
                                 .judge_kind = "model",
                                 .templates = {&template},
                                 .data_hash = "abc",
                                 .reasoning = evil_reasoning,
                                 .calls = calls.sent > 0 ? &calls : NULL};
    vq_buf_init(out, VQ_PAGE_BYTES_MAX);
    vq_rubric_report_html(&r, out);
    vq_buf_putc(out, '\0');
    assert_int_equal(out->status, VQ_OK);
}

/* How many ratings of an item have this value; NAN: none. */
static size_t rated(const json_t *item, double value)
{
    size_t n = 0, i;
    json_t *rating;
    json_array_foreach(json_object_get(item, "ratings"), i, rating)
    {
        const json_t *of = json_object_get(rating, "value");
        n += isnan(value) ? json_is_null(of) : json_is_number(of) && json_number_value(of) == value;
    }
    return n;
}

static void test_texts_are_text(void **state)
{
    (void)state;
    struct rubrics t;
    struct vq_buf out;
    page(&t,
         "data: d.csv\njudges: [offline-a, offline-b]\nmodels: [\"<x>\"]\n"
         "criteria: [{name: \"<b>L</b>\", kind: likert, rubric: \"<i>r</i>\"}]\n",
         "prompt,<x>\n<script>p0</script>,<img src=x>\np1,a\np2,a\np3,a\np4,a\np5,a\n",
         differs_on_row_two, &out);
    static const char *const never[] = {"<script>p0", "<img", "<x>", "<i>r", "<b>L", "j<0>"};
    for (size_t i = 0; i < VQ_COUNT(never); i++) {
        assert_null(strstr(out.at, never[i]));
    }
    json_t *data = page_data(out.at);
    json_t *list = json_object_get(data, "items"), *first = json_array_get(list, 0);
    assert_int_equal(json_array_size(list), 6);
    assert_int_equal(integer_of(first, "n"), 3);
    assert_int_equal(json_array_size(json_object_get(first, "differ")), 1);
    assert_int_equal(json_array_size(json_object_get(json_array_get(list, 1), "differ")), 0);
    assert_true(rated(first, 4) == 1 && rated(first, 1) == 1);
    assert_non_null(strstr(string_of(json_array_get(json_object_get(first, "ratings"), 0), "said"),
                           "because <script>"));
    assert_string_equal(string_of(json_array_get(json_object_get(data, "criteria"), 0), "rubric"),
                        "<i>r</i>");
    assert_string_equal(string_of(json_object_get(data, "results"), "kind"), "judge");
    json_decref(data);
    vq_buf_free(&out);
    rubrics_free(&t);
}

static const char *pairs(const struct vq_rubric_place *p)
{
    return p->row == 0 ? "none of it" : "**Result:** A";
}

static void test_pairs_and_what_is_missing(void **state)
{
    (void)state;
    struct rubrics t;
    struct vq_buf out;
    page(&t,
         "data: d.csv\njudges: [offline-a, offline-b]\nmodels: [x, y]\n"
         "criteria: [{name: P, kind: pairwise, rubric: r}]\n",
         "prompt,x,y\np0,a,b\np1,a,b\np2,a,\n", pairs, &out);
    json_t *data = page_data(out.at), *results = json_object_get(data, "results");
    json_t *list = json_object_get(data, "items");
    assert_int_equal(integer_of(results, "answers_missing"), 4);
    assert_string_equal(string_of(results, "no_intervals_because"),
                        "3 different prompts; intervals need 6");
    size_t missing = 0, a = 0, b = 0, i;
    json_t *item;
    json_array_foreach(list, i, item)
    {
        missing += rated(item, NAN);
        a += rated(item, 1);
        b += rated(item, 0);
    }
    assert_true(missing == 4 && a == 2 && b == 2);
    json_decref(data);
    vq_buf_free(&out);
    rubrics_free(&t);
}

static const char *calm(const struct vq_rubric_place *p)
{
    (void)p;
    return "**Result:** 3";
}

static void test_groups(void **state)
{
    (void)state;
    struct rubrics t;
    struct vq_buf out, csv;
    vq_buf_init(&csv, 1u << 20);
    vq_buf_puts(&csv, "prompt,x,y,\"g<b>\"\np,a,b,\np,a,b,<i>many</i>\np,a,b,<i>many</i>\n");
    for (int i = 0; i < 30; i++) {
        vq_buf_printf(&csv, "p%d,a,b,g%d\n", i, i);
    }
    vq_buf_putc(&csv, '\0');
    page(&t,
         "data: {path: d.csv, group: g<b>}\njudges: [offline-a, offline-b]\nmodels: [x, y]\n"
         "criteria: [{name: L, kind: likert, rubric: r}]\n",
         csv.at, calm, &out);
    json_t *data = page_data(out.at);
    json_t *criterion =
        json_array_get(json_object_get(json_object_get(data, "results"), "criteria"), 0);
    json_t *groups = json_object_get(criterion, "groups");
    assert_int_equal(json_array_size(groups), 32);
    assert_string_equal(string_of(json_array_get(groups, 0), "group"), "<i>many</i>");
    assert_null(strstr(out.at, "g<b>"));
    assert_null(strstr(out.at, "<i>many"));
    json_decref(data);
    vq_buf_free(&csv);
    vq_buf_free(&out);
    rubrics_free(&t);
}

static void test_what_it_took(void **state)
{
    (void)state;
    struct rubrics t;
    struct vq_buf out;
    calls =
        (struct vq_report_calls){.planned = 24, .sent = 20, .from_store = 4, .tokens_in = 12345};
    page(&t,
         "data: d.csv\njudges: [offline-a, offline-b]\nmodels: [x]\n"
         "criteria: [{name: L, kind: likert, rubric: r}]\n",
         "prompt,x\np0,a\np1,a\n", pairs, &out);
    json_t *data = page_data(out.at), *of = json_object_get(data, "calls");
    assert_int_equal(integer_of(of, "sent"), 20);
    assert_int_equal(integer_of(of, "tokens_in"), 12345);
    assert_true(json_is_null(json_object_get(of, "cost_usd")));
    json_decref(data);
    vq_buf_free(&out);
    rubrics_free(&t);
    calls = (struct vq_report_calls){.sent = 0};
}

static void test_many_items(void **state)
{
    (void)state;
    struct rubrics t;
    struct vq_buf out, csv;
    vq_buf_init(&csv, 1u << 20);
    vq_buf_puts(&csv, "prompt,x\n");
    for (int i = 0; i < (int)VQ_PAGE_ROWS_MAX + 50; i++) {
        vq_buf_printf(&csv, "p%d,a\n", i);
    }
    page(&t,
         "data: d.csv\njudges: [offline-a, offline-b]\nmodels: [x]\n"
         "criteria: [{name: L, kind: likert, rubric: r}]\nregression: {bootstrap_draws: 0}\n",
         csv.at, calm, &out);
    json_t *data = page_data(out.at);
    json_t *list = json_object_get(data, "items");
    assert_int_equal(json_array_size(list), VQ_PAGE_ROWS_MAX);
    json_decref(data);
    vq_buf_free(&out);
    vq_buf_free(&csv);
    rubrics_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts_are_text), cmocka_unit_test(test_pairs_and_what_is_missing),
        cmocka_unit_test(test_groups),         cmocka_unit_test(test_what_it_took),
        cmocka_unit_test(test_many_items),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
