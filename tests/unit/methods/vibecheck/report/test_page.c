/* The JSON of the page: hostile text stays text, the same inputs give the same bytes, its size is
 * bounded, every part of the story may be missing, and results.json is in it as it is. */
#include "world.h"

#include "methods/vibecheck/report/warnings.h"

#include <stdio.h>

#define HOSTILE "</script><script>alert(1)</script><img src=x onerror=alert(2)>"

static size_t count_of(const char *page, const char *what)
{
    size_t n = 0;
    for (const char *at = strstr(page, what); at != NULL; at = strstr(at + 1, what)) {
        n++;
    }
    return n;
}

static bool hostile_answer(void *ctx, uint32_t sample, uint32_t vibe, uint32_t judge,
                           uint32_t order, struct vq_span *ret_text)
{
    (void)sample;
    (void)vibe;
    (*(uint32_t *)ctx)++;
    *ret_text = vq_span_str(HOSTILE " Model: A");
    return judge == 0 || order == 0;
}

static void hostile_text_stays_text(void **state)
{
    (void)state;
    static char hostile[] = HOSTILE;
    struct world *w = world_create(60, 2, 3, HOSTILE);
    w->config.models[0] = hostile;
    w->axes[0] = (struct vq_axis){hostile, hostile, hostile};
    w->judges[1].name = w->judges[1].model = w->judges[1].identity = hostile;
    w->judges[1].returned[0] = hostile;
    w->judges[1].returned_count = 1;
    (void)snprintf(w->dataset.warnings[0], sizeof(w->dataset.warnings[0]), "%s", hostile);
    w->dataset.warnings_count = 1;
    uint32_t asked = 0;
    struct vq_report_story story = {.answer = hostile_answer, .answer_ctx = &asked};
    char *page = world_page(w, &story);
    assert_true(asked > 0);
    assert_null(strstr(page, "<img"));
    assert_null(strstr(page, "<script>alert"));
    json_t *data = page_data(page);
    json_t *rows = json_object_get(data, "rows");
    assert_true(json_array_size(rows) > 0);
    assert_non_null(
        strstr(json_string_value(json_object_get(json_array_get(rows, 0), "p")), HOSTILE));
    const char *key;
    json_t *answers;
    json_object_foreach(json_object_get(data, "answers"), key, answers)
    {
        assert_int_equal(json_array_size(answers), 4);
        assert_non_null(strstr(json_string_value(json_array_get(answers, 0)), HOSTILE));
        assert_true(json_is_null(json_array_get(answers, 3)));
    }
    json_decref(data);
    vq_free(page);
    world_destroy(w);
}

static void the_same_inputs_give_the_same_bytes(void **state)
{
    (void)state;
    char *pages[2];
    for (int i = 0; i < 2; i++) {
        struct world *w = world_create(80, 2, 4, "text");
        uint32_t asked = 0;
        struct vq_report_story story = {.answer = hostile_answer, .answer_ctx = &asked};
        pages[i] = world_page(w, &story);
        world_destroy(w);
    }
    assert_string_equal(pages[0], pages[1]);
    vq_free(pages[0]);
    vq_free(pages[1]);
}

static void examples_are_the_strongest_and_as_many_as_asked(void **state)
{
    (void)state;
    struct world *w = world_create(200, 2, 3, "text");
    char *page = world_page(w, NULL);
    json_t *data = page_data(page);
    json_t *rows = json_object_get(data, "rows");
    json_t *examples = json_object_get(data, "examples");
    assert_int_equal(json_array_size(examples), 3);
    static const char *const kinds[] = {"a", "b", "d"};
    static const char *const scores[] = {"++", "--", NULL};
    for (size_t v = 0; v < 3; v++) {
        for (size_t k = 0; k < 3; k++) {
            json_t *list = json_object_get(json_array_get(examples, v), kinds[k]);
            assert_int_equal(json_array_size(list), 5);
            for (size_t i = 0; i < 5; i++) {
                json_t *row =
                    json_array_get(rows, (size_t)json_integer_value(json_array_get(list, i)));
                const char *s = json_string_value(json_object_get(row, "s")) + v * 2;
                assert_true(scores[k] == NULL ? s[0] != s[1] : strncmp(s, scores[k], 2) == 0);
            }
        }
    }
    assert_int_equal(json_array_size(rows), 200); /* and all rows of no special kind */
    json_decref(data);
    vq_free(page);
    world_destroy(w);
}

static void a_hundred_thousand_rows_give_a_page_that_opens(void **state)
{
    (void)state;
    static char text[20000];
    memset(text, '<', sizeof(text)); /* six bytes each in the data block */
    struct world *w = world_create(100000, 1, 3, "text");
    for (uint32_t i = 0; i < 100000; i++) {
        w->samples[i].a = vq_span(text, sizeof(text));
        w->result->mm_margin[i] = -1;
    }
    w->result->mm.status = VQ_FIT_OK; /* and every row is misclassified */
    w->config.report.examples = 1000;
    char *page = world_page(w, NULL);
    size_t bytes = strlen(page);
    assert_true(bytes < VQ_PAGE_DATA_BYTES_MAX + (1u << 20));
    assert_true(bytes > VQ_PAGE_DATA_BYTES_MAX / 2);
    json_t *data = page_data(page);
    json_t *rows = json_object_get(data, "rows");
    assert_true(json_array_size(rows) <= VQ_PAGE_ROWS_MAX);
    json_t *cut = json_object_get(json_array_get(rows, 0), "a"); /* cut, with its full length */
    assert_int_equal(json_string_length(json_array_get(cut, 0)), VQ_PAGE_TEXT_BYTES_MAX);
    assert_int_equal(json_integer_value(json_array_get(cut, 1)), 20000);
    for (size_t v = 0; v < 3;
         v++) { /* a small budget still shows something of each vibe and kind */
        json_t *of = json_array_get(json_object_get(data, "examples"), v);
        assert_true(json_array_size(json_object_get(of, "a")) > 10);
        assert_true(json_array_size(json_object_get(of, "b")) > 10);
    }
    json_decref(data);
    vq_free(page);
    world_destroy(w);
}

static void many_vibes_are_bounded(void **state)
{
    (void)state;
    struct world *w = world_create(12, 1, 300, "text");
    char *page = world_page(w, NULL);
    json_t *data = page_data(page);
    assert_int_equal(json_array_size(json_object_get(json_object_get(data, "results"), "vibes")),
                     300);
    assert_int_equal(json_array_size(json_object_get(data, "examples")), VQ_VIBES_PAGE_MAX);
    assert_int_equal(json_array_size(json_object_get(data, "overlap")), VQ_VIBES_OVERLAP_MAX);
    json_decref(data);
    vq_free(page);
    world_destroy(w);
}

/* "groups" of a page; the caller's. */
static json_t *groups_of(const struct world *w)
{
    char *page = world_page(w, NULL);
    json_t *data = page_data(page);
    json_t *groups = json_incref(json_object_get(data, "groups"));
    json_decref(data);
    vq_free(page);
    return groups;
}

static void values_of_a_column_are_shown_most_rows_first(void **state)
{
    (void)state;
    struct world *w = world_create(205, 1, 2, "text"); /* topics t0 .. t39 */
    assert_null(groups_of(w));
    static char topic[] = "topic";
    w->config.report.by = topic;
    json_t *groups = groups_of(w);
    json_t *parts = json_object_get(groups, "parts");
    assert_string_equal(string_of(groups, "column"), "topic");
    assert_int_equal(integer_of(groups, "values"), 40);
    assert_int_equal(json_array_size(parts), VQ_PAGE_GROUPS_MAX);
    assert_true(integer_of(json_array_get(parts, 0), "rows") >=
                integer_of(json_array_get(parts, 1), "rows"));
    assert_string_equal(string_of(json_array_get(parts, 0), "name"), "t1");
    json_decref(groups);
    static char nowhere[] = "no such";
    w->config.report.by = nowhere;
    groups = groups_of(w);
    assert_null(json_object_get(groups, "parts"));
    json_decref(groups);
    world_destroy(w);
}

/* The text without what a page writes for a few of its characters, and a terminal between its
 * lines. */
static char *plain(const char *text)
{
    static const char *const marks[][2] = {{"&#39;", "'"}, {"&quot;", "\""}, {"&lt;", "<"},
                                           {"&gt;", ">"},  {"&amp;", "&"},   {"\n  ", " "}};
    char *to = vq_alloc(strlen(text) + 1, 1);
    assert_non_null(to);
    for (size_t n = 0; *text != '\0'; n++) {
        size_t k = 0;
        while (k < VQ_COUNT(marks) && strncmp(text, marks[k][0], strlen(marks[k][0])) != 0) {
            k++;
        }
        to[n] = k < VQ_COUNT(marks) ? marks[k][1][0] : *text;
        text += k < VQ_COUNT(marks) ? strlen(marks[k][0]) : 1;
    }
    return to;
}

/* The n-th warning stands as the n-th one in results.json and on the terminal, and on the page in
 * both: its JSON and the table that needs no script. */
static void one_list_in_three_places(void **state)
{
    (void)state;
    struct world *w = world_create(40, 1, 3, "text");
    w->r.judge_kind = "offline-lexical";
    w->config.judging.truncate = true;
    w->result->cells_missing = 5;
    w->result->vibe[0].gate_could_flip = w->result->vibe[1].overlap_unjudged = true;
    w->result->pp.degenerate = VQ_FIT_SEPARATED;
    w->result->mm.coef_abs_max = 30;
    struct vq_warnings *list = NULL;
    assert_int_equal(vq_warnings_create(&w->r, &list), VQ_OK);
    assert_true(list->count >= 7);
    struct vq_buf json, table;
    vq_buf_init(&json, 1u << 24);
    vq_buf_init(&table, 1u << 20);
    vq_report_json(&w->r, &json);
    struct vq_terminal terminal = {0};
    vq_report_table(&w->r, &terminal, &table);
    char *page = world_page(w, NULL);
    char *in_page = plain(page), *in_table = plain(table.at);
    const char *at_json = strstr(json.at, "\n  \"warnings\": ["), *at_table = in_table;
    const char *at_page = in_page;
    json_t *data = page_data(page);
    json_t *in_data = json_object_get(json_object_get(data, "results"), "warnings");
    assert_int_equal(json_array_size(in_data), list->count);
    assert_non_null(at_json);
    char sought[VQ_WARNING_BYTES_MAX + 64];
    for (uint32_t i = 0; i < list->count; i++) {
        (void)snprintf(sought, sizeof(sought), "\"code\": \"%s\"", list->at[i].code);
        assert_non_null(at_json = strstr(at_json, sought));
        (void)snprintf(sought, sizeof(sought), "\"text\": \"%s\"", list->at[i].text);
        assert_non_null(at_json = strstr(at_json, sought));
        (void)snprintf(sought, sizeof(sought), "warning: %s", list->at[i].text);
        assert_non_null(at_table = strstr(at_table, sought));
        assert_non_null(at_page = strstr(at_page, sought));
        assert_string_equal(string_of(json_array_get(in_data, i), "text"), list->at[i].text);
    }
    assert_int_equal(count_of(json.at, "\"code\": "), list->count);
    assert_int_equal(count_of(table.at, "warning: "), list->count);
    json_decref(data);
    vq_warnings_destroy(&list);
    vq_buf_free(&json);
    vq_buf_free(&table);
    vq_free(page);
    vq_free(in_page);
    vq_free(in_table);
    world_destroy(w);
}

static void the_story_is_told(void **state)
{
    (void)state;
    struct world *w = world_create(60, 2, 2, "text");
    static const uint32_t from[] = {0, 2};
    const struct vq_provenance provenance[2] = {
        {.iteration = 1, .proposals_count = 2, .proposals = from}};
    const struct vq_proposal proposals[3] = {{.axis = {"Said <first>", "l", "h"}},
                                             {.axis = {"n", "l", "h"}},
                                             {.axis = {"n", "l", "h"}, .iteration = 1, .batch = 3}};
    const struct vq_iteration iterations[2] = {
        {.rows_shown = 20, .proposed = 17, .added = 3, .mm_accuracy = 0.75, .pp_accuracy = NAN},
        {.rows_shown = 11, .proposed = 9, .added = 1, .mm_accuracy = 0.8125, .pp_accuracy = NAN}};
    const char *notes[] = {"a <note>"};
    const char *types[2] = {"questions <about> cooking", NULL};
    const struct vq_vibecheck_method_result method = {.rows = w->rows,
                                                      .preference_source = "data",
                                                      .provenance = provenance,
                                                      .question_types = types,
                                                      .proposals = proposals,
                                                      .proposals_count = 3,
                                                      .iterations = iterations,
                                                      .iterations_count = 2,
                                                      .stop = VQ_STOP_MISCLASSIFIED,
                                                      .notes = notes,
                                                      .notes_count = 1,
                                                      .preset_axes = w->axes,
                                                      .preset_axes_count = 2};
    const struct vq_report_calls calls = {
        .planned = 4000, .sent = 2500, .from_store = 7, .priced = true, .cost_usd = 1.5};
    struct vq_report_story story = {.method = &method, .calls = &calls, .presets = w->result};
    char *page = world_page(w, &story);
    json_t *data = page_data(page);
    json_t *of = json_object_get(data, "story");
    json_t *proposal = json_array_get(json_object_get(of, "proposals"), 0);
    assert_string_equal(json_string_value(json_array_get(json_object_get(of, "notes"), 0)),
                        "a <note>");
    assert_int_equal(integer_of(of, "proposals_count"), 3);
    assert_string_equal(string_of(proposal, "name"), "Said <first>");
    assert_int_equal(integer_of(json_object_get(data, "calls"), "sent"), 2500);
    assert_int_equal(json_array_size(json_object_get(json_object_get(data, "presets"), "vibes")),
                     2);
    assert_string_equal(string_of(json_object_get(data, "question_types"), "1"),
                        "questions <about> cooking");
    json_decref(data);
    vq_free(page);
    page = world_page(w, NULL);
    data = page_data(page);
    assert_null(json_object_get(data, "story"));
    assert_null(json_object_get(data, "presets"));
    assert_true(json_is_null(json_object_get(data, "calls")));
    json_decref(data);
    vq_free(page);
    world_destroy(w);
}

static void nothing_kept_is_a_page_too(void **state)
{
    (void)state;
    struct world *w = world_create(20, 1, 2, "text");
    vq_vibecheck_destroy(&w->result);
    memset(w->outcomes, VQ_OUTCOME_EQUAL, vq_grid_tasks(&w->in.grid));
    struct vq_error err = {0};
    assert_int_equal(vq_vibecheck_compute(&w->in, &w->result, &err), VQ_OK);
    w->r.result = w->result;
    char *page = world_page(w, NULL);
    json_t *data = page_data(page);
    json_t *part = json_array_get(json_object_get(data, "by_judge"), 0);
    assert_int_equal(json_array_size(json_object_get(part, "separability")), 0);
    assert_int_equal(json_array_size(json_object_get(data, "rows")), 20);
    json_decref(data);
    vq_free(page);
    world_destroy(w);
}

static void running_out_of_memory_or_room_is_said(void **state)
{
    (void)state;
    struct world *w = world_create(20, 1, 2, "text");
    for (uint64_t n = 1;; n++) {
        struct vq_buf out;
        vq_buf_init(&out, VQ_PAGE_BYTES_MAX);
        vq_alloc_fail_at(n);
        vq_report_html(&w->r, NULL, &out);
        vq_alloc_fail_at(0);
        enum vq_status status = out.status;
        vq_buf_free(&out);
        if (status == VQ_OK) {
            assert_true(n > 20);
            break;
        }
        assert_int_equal(status, VQ_NOMEM);
    }
    struct vq_buf out;
    vq_buf_init(&out, 5000);
    vq_report_html(&w->r, NULL, &out);
    assert_int_equal(out.status, VQ_LIMIT);
    vq_buf_free(&out);
    world_destroy(w);
}

int main(void)
{
    vq_stats_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hostile_text_stays_text),
        cmocka_unit_test(the_same_inputs_give_the_same_bytes),
        cmocka_unit_test(examples_are_the_strongest_and_as_many_as_asked),
        cmocka_unit_test(a_hundred_thousand_rows_give_a_page_that_opens),
        cmocka_unit_test(many_vibes_are_bounded),
        cmocka_unit_test(values_of_a_column_are_shown_most_rows_first),
        cmocka_unit_test(one_list_in_three_places),
        cmocka_unit_test(the_story_is_told),
        cmocka_unit_test(nothing_kept_is_a_page_too),
        cmocka_unit_test(running_out_of_memory_or_room_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
