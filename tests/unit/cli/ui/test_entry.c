/* Rows of the list: from whole files of a status, from parts, and from nothing. */
#include "tests/unit/test.h"

#include "cli/ui/entry.h"

#include <jansson.h>

static json_t *status_of(const char *text)
{
    json_t *status = NULL;
    assert_int_equal(vq_ui_status_load(vq_span_str(text), &status), VQ_OK);
    return status;
}

/* The row as JSON, read again; drops the status. */
static json_t *row_of(struct vq_ui_facts *f)
{
    struct vq_buf out;
    struct vq_json j;
    vq_buf_init(&out, 64u << 10);
    vq_json_init(&j, &out, 0);
    f->name = "night";
    f->is_readable = true;
    vq_ui_entry(f, &j);
    assert_int_equal(out.status, VQ_OK);
    json_t *row = json_loads(out.at, 0, NULL);
    assert_non_null(row);
    vq_buf_free(&out);
    json_decref((json_t *)(uintptr_t)f->status);
    return row;
}

static const char *text_of(const json_t *row, const char *key)
{
    return json_string_value(json_object_get(row, key));
}

static const char *problem(const json_t *row, size_t i)
{
    return json_string_value(json_array_get(json_object_get(row, "problems"), i));
}

TEST(an_active_run)
{
    struct vq_ui_facts f = {
        .is_active = true,
        .changed_unix_ms = 1000,
        .now_unix_ms = 3000,
        .status = status_of(
            "{\"format\": 1, \"state\": \"held\", \"note\": \"paused\", \"started_unix_ms\": 5, "
            "\"stage\": \"rank\", \"tasks_total\": 10, \"tasks\": {\"answered\": 3, "
            "\"not_needed\": 1, \"failed\": 2, \"open\": 4}, \"calls_per_s\": 2.5, \"eta_s\": "
            "null, \"money\": {\"spent_usd\": 1, \"budget_usd\": 4}, \"alarm\": {\"kind\": "
            "\"idle\", \"idle_s\": 600}, \"pools\": [{\"name\": \"lab\", \"state\": \"parked\", "
            "\"text\": \"by hand\"}, {\"name\": \"b\", \"state\": \"open\"}]}")};
    json_t *row = row_of(&f);
    assert_string_equal(text_of(row, "state"), "held");
    assert_int_equal(json_integer_value(json_object_get(row, "tasks_settled")), 6);
    assert_true(json_real_value(json_object_get(row, "calls_per_s")) > 2.4);
    assert_true(json_is_null(json_object_get(row, "eta_s")));
    assert_string_equal(problem(row, 0), "paused");
    assert_string_equal(problem(row, 1), "no answer for 600 s");
    assert_string_equal(problem(row, 2), "2 tasks failed");
    assert_string_equal(problem(row, 3), "pool lab is parked: by hand");
    assert_null(problem(row, 4));
    json_decref(row);
}

TEST(a_run_that_is_over)
{
    static const struct {
        const char *written;
        bool results;
        const char *state;
    } cases[] = {{"finished", true, "finished"},
                 {"stopped", false, "stopped"},
                 {"running", true, "stopped"},
                 {"<script>", false, "stopped"}};
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        char status[128];
        (void)snprintf(status, sizeof(status),
                       "{\"format\": 1, \"state\": \"%s\", \"calls_per_s\": 9}", cases[i].written);
        struct vq_ui_facts f = {.has_results = cases[i].results, .status = status_of(status)};
        json_t *row = row_of(&f);
        assert_string_equal(text_of(row, "state"), cases[i].state);
        assert_true(json_is_null(json_object_get(row, "calls_per_s")));
        json_decref(row);
    }
    struct vq_ui_facts none = {.has_results = true};
    json_t *row = row_of(&none);
    assert_string_equal(text_of(row, "state"), "finished");
    assert_non_null(problem(row, 0));
    json_decref(row);
}

TEST(a_run_that_is_silent)
{
    struct vq_ui_facts f = {.is_active = true,
                            .changed_unix_ms = 1,
                            .now_unix_ms = 1 + VQ_UI_SILENT_MS + 5000,
                            .status = status_of("{\"format\": 1, \"state\": \"running\"}")};
    json_t *row = row_of(&f);
    assert_string_equal(problem(row, 0), "the run has not written its status for 35.0 s");
    json_decref(row);
}

TEST(values_of_a_wrong_kind_count_as_missing)
{
    struct vq_ui_facts f = {
        .is_active = true,
        .status = status_of("{\"format\": 1, \"state\": [], \"note\": 4, \"tasks\": \"many\", "
                            "\"tasks_total\": -3, \"stage\": {}, \"money\": [], \"alarm\": 1, "
                            "\"pools\": {\"a\": 1}, \"eta_s\": \"soon\"}")};
    json_t *row = row_of(&f);
    assert_string_equal(text_of(row, "state"), "starting");
    assert_int_equal(json_integer_value(json_object_get(row, "tasks_total")), 0);
    assert_true(json_is_null(json_object_get(row, "stage")));
    assert_true(json_is_null(json_object_get(row, "spent_usd")));
    assert_int_equal(json_array_size(json_object_get(row, "problems")), 0);
    json_decref(row);
}

TEST(problems_are_few_and_short)
{
    struct vq_buf text;
    vq_buf_init(&text, 64u << 10);
    vq_buf_puts(&text, "{\"format\": 1, \"state\": \"running\", \"note\": \"");
    for (int i = 0; i < 400; i++) {
        vq_buf_puts(&text, "\xc3\xa4");
    }
    vq_buf_puts(&text, "\", \"pools\": [");
    for (int i = 0; i < 20; i++) {
        vq_buf_printf(&text, "%s{\"name\": \"p%d\", \"state\": \"parked\"}", i == 0 ? "" : ",", i);
    }
    vq_buf_puts(&text, "]}");
    struct vq_ui_facts f = {.is_active = true, .status = status_of(text.at)};
    json_t *row = row_of(&f);
    assert_int_equal(json_array_size(json_object_get(row, "problems")), VQ_UI_PROBLEMS_MAX);
    assert_int_equal(strlen(problem(row, 0)), VQ_UI_PROBLEM_BYTES);
    assert_string_equal(problem(row, 1), "pool p0 is parked");
    json_decref(row);
    vq_buf_free(&text);
}

TEST(what_is_no_status)
{
    static const char *const wrong[] = {"", "[]", "{}", "{\"format\": 2}", "{\"format\": 1"};
    json_t *status = NULL;
    for (size_t i = 0; i < VQ_COUNT(wrong); i++) {
        assert_int_equal(vq_ui_status_load(vq_span_str(wrong[i]), &status), VQ_INVALID);
    }
    char deep[4 * VQ_UI_STATUS_DEPTH_MAX];
    memset(deep, '[', sizeof(deep));
    assert_int_equal(vq_ui_status_load(vq_span(deep, sizeof(deep)), &status), VQ_INVALID);
}

TEST(the_status_of_a_killed_run_says_so)
{
    json_t *status = status_of("{\"format\": 1, \"state\": \"running\", \"stage\": \"rank\"}");
    struct vq_ui_facts f = {.name = "night", .is_readable = true, .status = status};
    struct vq_buf out;
    vq_buf_init(&out, 4096);
    assert_int_equal(vq_ui_status_over(&f, &out), VQ_OK);
    assert_non_null(strstr(out.at, "\"state\":\"stopped\""));
    assert_non_null(strstr(out.at, "\"stage\":\"rank\""));
    assert_string_equal(text_of(status, "state"), "running");
    vq_buf_free(&out);
    json_decref(status);
}
