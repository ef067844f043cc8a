/* Metrics of a real core: the exposition format, one unit and one type a family, the label of the
 * run on every sample, counters of the run, and reading that changes nothing. */
#include "tests/unit/test.h"

#include "common/text/file.h"
#include "coordinator/web/metrics.h"

#include <stdio.h>
#include <string.h>

static struct vq_authority *authority;
static struct vq_coord *coord;
static struct vq_call_tally calls;
static struct vq_counters counters;
static const struct vq_slow slow[2] = {{0}, {.since_ns = 1, .raised = true}};

static int open_core(void **state)
{
    static const uint32_t own[2] = {0, 1};
    static const struct vq_coord_judge judges[2] = {
        {.name = "plain", .pools = &own[0], .pools_count = 1},
        {.name = "odd \"name\"\n", .pools = &own[1], .pools_count = 1}};
    static const struct vq_authority_pool pools[2] = {
        {.name = "main",
         .limit = {.rates = {.requests = 600, .input_tokens = 6000}, .concurrency = 4}},
        {.name = "odd \"pool\"\\\n", .limit.concurrency = 4}};
    struct vq_authority_params limits = {.pools = pools,
                                         .pools_count = 2,
                                         .term_ns = INT64_C(30000000000),
                                         .budget_nano = 5000000000};
    struct vq_coord_params params = {.run_name = "r",
                                     .epoch = 1,
                                     .grid = {3, 2, 2},
                                     .judges = judges,
                                     .term_ns = INT64_C(30000000000),
                                     .heartbeat_ns = INT64_C(5000000000),
                                     .orphan_s = 60,
                                     .orphan_remote_s = 60};
    struct vq_error err = {0};
    (void)state;
    assert_int_equal(vq_authority_create(&limits, 1, &authority, &err), VQ_OK);
    params.authority = authority;
    assert_int_equal(vq_coord_create(&params, 1, &coord, &err), VQ_OK);
    vq_call_tally_init(&calls, 2);
    counters = (struct vq_counters){{0}};
    return 0;
}

static int close_core(void **state)
{
    (void)state;
    vq_coord_destroy(&coord);
    vq_authority_destroy(&authority);
    return 0;
}

static struct vq_status_facts status_facts(void)
{
    return (struct vq_status_facts){.run = "r",
                                    .uid_hex = "00",
                                    .state = "running",
                                    .note = "",
                                    .now_ns = 2,
                                    .now_unix_ms = 5000,
                                    .redis = "up",
                                    .coord = coord,
                                    .authority = authority,
                                    .stage = "rank",
                                    .slow = slow,
                                    .judges = coord == NULL ? 0 : 2};
}

static struct vq_metrics_facts facts_of(const struct vq_status_facts *status)
{
    return (struct vq_metrics_facts){.status = status,
                                     .calls = &calls,
                                     .counters = &counters,
                                     .turn_ns_max = 1500000000,
                                     .disk_bytes = 1000,
                                     .disk_free_bytes = 400,
                                     .carried = 3};
}

static void text_of(const struct vq_status_facts *status, struct vq_buf *out)
{
    struct vq_metrics_facts facts = facts_of(status);
    vq_buf_init(out, 1u << 20);
    vq_metrics_put(&facts, out);
    vq_buf_putc(out, '\0');
    assert_int_equal(out->status, VQ_OK);
}

static void expect_of(const struct vq_status_facts *f, const char *line)
{
    struct vq_buf out;
    text_of(f, &out);
    if (strstr(out.at, line) == NULL) {
        fail_msg("no line %s in\n%s", line, out.at);
    }
    vq_buf_free(&out);
}

static void refuse_of(const struct vq_status_facts *f, const char *text)
{
    struct vq_buf out;
    text_of(f, &out);
    if (strstr(out.at, text) != NULL) {
        fail_msg("%s in\n%s", text, out.at);
    }
    vq_buf_free(&out);
}

static void expect(const char *line)
{
    struct vq_status_facts f = status_facts();
    expect_of(&f, line);
}

TEST_WITH(values_have_base_units, open_core, close_core)
{
    expect("\nvibeq_loop_turn_max_seconds{run=\"r\"} 1.5\n");
    expect("\nvibeq_disk_free_bytes{run=\"r\"} 400\n");
    expect("\nvibeq_budget_dollars{run=\"r\"} 5\n");
    expect("\nvibeq_pool_requests_per_second_limit{run=\"r\",pool=\"main\"} 10\n");
    expect("\nvibeq_pool_tokens_per_second_limit{run=\"r\",pool=\"main\",kind=\"input\"} 100\n");
    expect("\nvibeq_pool_calls_in_flight_limit{run=\"r\",pool=\"main\"} 4\n");
    expect("\nvibeq_pool_slow{run=\"r\",pool=\"odd \\\"pool\\\"\\\\\\n\"} 1\n");
    expect("\nvibeq_tasks{run=\"r\",stage=\"rank\",judge=\"odd \\\"name\\\"\\n\",state=\"open\"} "
           "12\n");
    expect("\nvibeq_state{run=\"r\",state=\"running\"} 1\n");
    expect("\nvibeq_build_info{run=\"r\",version=\"" VIBEQ_VERSION "\"} 1\n");
}

TEST_WITH(a_deadline_has_its_time_its_end_and_its_state, open_core, close_core)
{
    struct vq_status_deadline d = {.unix_s = 0};
    struct vq_status_facts f = status_facts();
    f.deadline = &d;
    expect_of(&f, "\n# TYPE vibeq_deadline_met gauge\n");
    refuse_of(&f, "\nvibeq_deadline_seconds{");
    refuse_of(&f, "\nvibeq_deadline_met{");
    d = (struct vq_status_deadline){.unix_s = 65, .state = VQ_DEADLINE_STATE_UNKNOWN};
    expect_of(&f, "\nvibeq_deadline_seconds{run=\"r\"} 60\n");
    refuse_of(&f, "\nvibeq_deadline_end_seconds{");
    refuse_of(&f, "\nvibeq_deadline_met{");
    d = (struct vq_status_deadline){
        .unix_s = 65, .ends_unix_s = 45, .state = VQ_DEADLINE_STATE_BATCHES};
    expect_of(&f, "\nvibeq_deadline_end_seconds{run=\"r\"} 40\n");
    expect_of(&f, "\nvibeq_deadline_met{run=\"r\"} 1\n");
    d.state = VQ_DEADLINE_STATE_INTERACTIVE;
    expect_of(&f, "\nvibeq_deadline_met{run=\"r\"} 1\n");
    d.state = VQ_DEADLINE_STATE_LATE;
    expect_of(&f, "\nvibeq_deadline_met{run=\"r\"} 0\n");
    d = (struct vq_status_deadline){.unix_s = 4, .state = VQ_DEADLINE_STATE_PASSED};
    expect_of(&f, "\nvibeq_deadline_seconds{run=\"r\"} -1\n");
    expect_of(&f, "\nvibeq_deadline_met{run=\"r\"} 0\n");
}

TEST_WITH(calls_are_counted_and_timed, open_core, close_core)
{
    struct vq_tally_call call = {.end = VQ_END_ANSWER,
                                 .latency_ms = 100,
                                 .tokens_in = 1000,
                                 .tokens_cached = 10,
                                 .tokens_out = 50,
                                 .cost_nano = 1500000000};
    vq_call_tally_add(&calls, &call);
    call.latency_ms = 700000;
    vq_call_tally_add(&calls, &call);
    expect("\nvibeq_calls_total{run=\"r\",pool=\"main\",end=\"answer\"} 2\n");
    expect("\nvibeq_call_duration_seconds_bucket{run=\"r\",pool=\"main\",le=\"0.05\"} 0\n");
    expect("\nvibeq_call_duration_seconds_bucket{run=\"r\",pool=\"main\",le=\"0.1\"} 1\n");
    expect("\nvibeq_call_duration_seconds_bucket{run=\"r\",pool=\"main\",le=\"600\"} 1\n");
    expect("\nvibeq_call_duration_seconds_bucket{run=\"r\",pool=\"main\",le=\"+Inf\"} 2\n");
    expect("\nvibeq_call_duration_seconds_sum{run=\"r\",pool=\"main\"} 700.1\n");
    expect("\nvibeq_call_duration_seconds_count{run=\"r\",pool=\"main\"} 2\n");
    expect("\nvibeq_input_tokens_total{run=\"r\",pool=\"main\"} 2000\n");
    expect("\nvibeq_cost_dollars_total{run=\"r\",pool=\"main\"} 3\n");
    call.pool = 9;
    vq_call_tally_add(&calls, &call);
    expect("\nvibeq_calls_total{run=\"r\",pool=\"(other)\",end=\"answer\"} 1\n");
}

TEST_WITH(counters_of_events_are_those_of_the_process_and_of_earlier_ones, open_core, close_core)
{
    struct vq_status_facts f = status_facts();
    struct vq_coord_status over = {.batches = 3, .leases_lost = 1, .broken = 2, .late = 4};
    vq_status_add(&f.before, &over);
    over.batches = 4;
    vq_status_add(&f.before, &over);
    f.seen = (struct vq_status_seen){.peers_refused = 7, .frames_dropped = 5, .foreign = 6};
    vq_counters_of(&f, &counters);
    expect("\nvibeq_commits_total{run=\"r\"} 7\n");
    expect("\nvibeq_leases_lost_total{run=\"r\"} 2\n");
    expect("\nvibeq_messages_refused_total{run=\"r\",why=\"broken\"} 4\n");
    expect("\nvibeq_peers_refused_total{run=\"r\"} 7\n");
    expect("\nvibeq_results_odd_total{run=\"r\",what=\"late\"} 8\n");
    expect("\nvibeq_results_odd_total{run=\"r\",what=\"foreign\"} 6\n");
    assert_string_equal(vq_counter_key(VQ_COUNTER_COMMITS), "commits_total");
    assert_string_equal(vq_counter_key(VQ_COUNTER_LATE), "results_odd_total.late");
}

TEST(before_there_is_a_core)
{
    struct vq_buf out;
    struct vq_status_facts f = status_facts();
    text_of(&f, &out);
    assert_non_null(strstr(out.at, "\nvibeq_redis_up{run=\"r\"} 1\n"));
    assert_null(strstr(out.at, "vibeq_workers"));
    vq_buf_free(&out);
}

/* Every line is a comment or a sample of the last family, each family comes once, and reading once
 * more gives the same. */
TEST_WITH(metrics_are_in_the_exposition_format, open_core, close_core)
{
    struct vq_buf out, again;
    struct vq_status_facts f = status_facts();
    text_of(&f, &out);
    text_of(&f, &again);
    assert_string_equal(out.at, again.at);
    char family[128] = "";
    for (char *line = strtok(out.at, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (strncmp(line, "# TYPE ", 7) == 0) {
            size_t n = strcspn(line + 7, " ");
            bool counter = strcmp(line + 7 + n, " counter") == 0;
            assert_true(n < sizeof(family));
            memcpy(family, line + 7, n);
            family[n] = '\0';
            assert_true(counter == (strcmp(family + n - 6, "_total") == 0));
            char first[160];
            (void)snprintf(first, sizeof(first), "# TYPE %s ", family);
            const char *at = strstr(again.at, first);
            assert_true(at != NULL && strstr(at + 1, first) == NULL);
        } else if (line[0] != '#') {
            assert_true(strncmp(line, family, strlen(family)) == 0);
            assert_non_null(strstr(line, "{run=\"r\""));
            assert_non_null(strrchr(line, ' '));
        }
    }
    vq_buf_free(&out);
    vq_buf_free(&again);
}

TEST_WITH(workers_are_wanted_while_work_may_be_asked, open_core, close_core)
{
    struct vq_status_facts f = status_facts();
    struct vq_metrics_facts facts = facts_of(&f);
    assert_int_equal(vq_metrics_workers_wanted(&facts), 3); /* two pools of 4 calls, 3 a worker */
    vq_authority_park(authority, 1, true, 2);
    assert_int_equal(vq_metrics_workers_wanted(&facts), 2);
    vq_authority_park(authority, 0, true, 2);
    assert_int_equal(vq_metrics_workers_wanted(&facts), 0);
}

/* docs/use/metrics.md names the states as they are printed. */
TEST_WITH(the_page_names_the_states, open_core, close_core)
{
    struct vq_buf out, page;
    struct vq_status_facts f = status_facts();
    text_of(&f, &out);
    assert_int_equal(vq_file_read(VQ_SOURCE_DIR "/docs/use/metrics.md", 1u << 20, &page, NULL),
                     VQ_OK);
    const char *row = strstr(page.at, "`vibeq_tasks`");
    assert_non_null(row);
    for (int i = 0; i < VQ_TASK_STATES; i++) {
        const char *name = vq_task_state_name((enum vq_task_states)i);
        char label[64];
        (void)snprintf(label, sizeof(label), "state=\"%s\"}", name);
        assert_non_null(strstr(out.at, label));
        const char *found = strstr(row, name);
        assert_true(found != NULL && found < strchr(row, '\n'));
    }
    vq_buf_free(&page);
    vq_buf_free(&out);
}
