/* The page of a rubric run: every text of others is escaped, no script is let in, items that differ
 * most come first and no more of them than a page holds. */
#include "methods/report/html/html.h"
#include "methods/rubric/report/report.h"
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
    vq_buf_init(out, VQ_HTML_BYTES_MAX);
    vq_rubric_report_html(&r, out);
    vq_buf_putc(out, '\0');
    assert_int_equal(out->status, VQ_OK);
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (; (text = strstr(text, what)) != NULL; text++) {
        n++;
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
    assert_int_equal(count(out.at, "<script"), 1); /* ours */
    assert_null(strstr(out.at, "<script>p0"));
    assert_null(strstr(out.at, "<img"));
    assert_null(strstr(out.at, "<x>"));
    assert_null(strstr(out.at, "<i>r"));
    assert_null(strstr(out.at, "<b>L"));
    assert_null(strstr(out.at, "j<0>"));
    assert_non_null(strstr(out.at, "because &lt;script&gt;"));
    assert_non_null(strstr(out.at, "&lt;i&gt;r&lt;/i&gt;"));
    assert_non_null(strstr(out.at, "default-src 'none'; style-src 'sha256-"));
    assert_non_null(strstr(out.at, "; script-src 'sha256-"));
    const char *first = strstr(out.at, "<details class=\"row\"");
    assert_non_null(first);
    static const char third[] = "<details class=\"row\" data-differ=\"0\"><summary>Item 3:";
    assert_memory_equal(first, third, sizeof(third) - 1);
    assert_int_equal(count(out.at, "ratings differ</span>"), 1);
    assert_int_equal(count(out.at, "<details class=\"row\""), 6);
    assert_int_equal(count(out.at, "<details class=\"row\">"), 5);
    assert_non_null(
        strstr(out.at, "<option value=\"0\" data-kind=\"likert\">&lt;b&gt;L&lt;/b&gt;"));
    assert_non_null(strstr(out.at, "<div id=\"list\" data-rows=\"6\" data-outputs=\"1\">"));
    assert_int_equal(count(out.at, "data-c=\"0\" data-v=\"A4\""), 11);
    assert_int_equal(count(out.at, "data-c=\"0\" data-v=\"A1\""), 1);
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
    assert_non_null(strstr(out.at, "4 questions have no rating"));
    assert_non_null(strstr(out.at, "is empty in 1 row, which was not rated"));
    assert_non_null(strstr(out.at, "3 different prompts; intervals need 6"));
    assert_non_null(strstr(out.at, "<h2>Positions</h2>"));
    assert_non_null(strstr(out.at, "<b class=\"wrong\">missing</b>"));
    assert_non_null(strstr(out.at, "shown first: <span class=\"model b\">"));
    assert_null(strstr(out.at, "Difference,"));
    assert_int_equal(count(out.at, "<div class=\"answer\" data-c=\"0\"><h4>"), 4);
    assert_int_equal(count(out.at, "<div class=\"answer\" data-c=\"0\" data-v=\"AA\">"), 2);
    assert_int_equal(count(out.at, "<div class=\"answer\" data-c=\"0\" data-v=\"AB\">"), 2);
    vq_buf_free(&out);
    rubrics_free(&t);
}

static const char *calm(const struct vq_rubric_place *p)
{
    (void)p;
    return "**Result:** 3";
}

static void test_groups_are_folded(void **state)
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
    assert_non_null(strstr(out.at, "<summary>By <bdi>g&lt;b&gt;</bdi></summary>"));
    assert_non_null(strstr(out.at, "<tr><th scope=\"row\"><bdi>&lt;i&gt;many&lt;/i&gt;</bdi>"));
    assert_non_null(strstr(out.at, "(empty)"));
    assert_non_null(strstr(out.at, "The 24 values with the most rows of 32."));
    assert_null(strstr(out.at, "g<b>"));
    assert_null(strstr(out.at, "<i>many"));
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
    assert_non_null(strstr(out.at, "<h3>Ratings</h3><p class=\"big\">0</p><p>of 4 questions: "));
    assert_non_null(strstr(out.at, "<h3>Calls</h3><p class=\"big\">20</p><p>of 24 planned; 4 "
                                   "answered from the store</p>"));
    assert_non_null(strstr(out.at, "no prices set"));
    assert_non_null(strstr(out.at, "12,345 tokens in, 0 out"));
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
    for (int i = 0; i < 2500; i++) {
        vq_buf_printf(&csv, "p%d,a\n", i);
    }
    page(&t,
         "data: d.csv\njudges: [offline-a, offline-b]\nmodels: [x]\n"
         "criteria: [{name: L, kind: likert, rubric: r}]\nregression: {bootstrap_draws: 0}\n",
         csv.at, calm, &out);
    assert_int_equal(count(out.at, "<details class=\"row\">"), 2000);
    assert_non_null(strstr(out.at, "And 500 more"));
    assert_non_null(strstr(out.at, "no interval"));
    vq_buf_free(&out);
    vq_buf_free(&csv);
    rubrics_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts_are_text),    cmocka_unit_test(test_pairs_and_what_is_missing),
        cmocka_unit_test(test_groups_are_folded), cmocka_unit_test(test_what_it_took),
        cmocka_unit_test(test_many_items),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
