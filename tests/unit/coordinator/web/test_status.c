/* Status of a real core: valid JSON with the core's counts. */
#include "tests/unit/test.h"

#include "coordinator/web/status.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static struct vq_authority *authority;

static struct vq_coord *core(void)
{
    static const uint32_t own[2] = {0, 1};
    static const struct vq_coord_judge judges[2] = {
        {.name = "plain", .pools = &own[0], .pools_count = 1},
        {.name = "odd \"name\"\n", .pools = &own[1], .pools_count = 1}};
    static const struct vq_authority_pool pools[2] = {
        {.name = "main", .limit.rates = {.requests = 600}, .limit.concurrency = 4},
        {.name = "odd \"pool\"\n", .limit.concurrency = 4}};
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
    struct vq_coord *c = NULL;
    struct vq_error err = {0};
    assert_int_equal(vq_authority_create(&limits, 1, &authority, &err), VQ_OK);
    params.authority = authority;
    assert_int_equal(vq_coord_create(&params, 1, &c, &err), VQ_OK);
    return c;
}

static const struct vq_slow slow[2] = {{0}, {.since_ns = 1, .raised = true}};

static struct vq_status_facts facts(const struct vq_coord *c)
{
    return (struct vq_status_facts){.run = "r",
                                    .uid_hex = "00",
                                    .state = "running",
                                    .note = "a \"note\"",
                                    .now_ns = 2,
                                    .redis = "up",
                                    .coord = c,
                                    .authority = authority,
                                    .stage = "rank",
                                    .slow = slow,
                                    .judges = c == NULL ? 0 : 2};
}

TEST(json_says_what_the_core_says)
{
    struct vq_coord *c = core();
    struct vq_status_facts f = facts(c);
    f.seen = (struct vq_status_seen){.peers_refused = 7, .frames_dropped = 5};
    struct vq_buf out;
    vq_buf_init(&out, 1u << 20);
    vq_status_json(&f, &out);
    assert_int_equal(out.status, VQ_OK);
    json_error_t bad;
    json_t *root = json_loadb(out.at, out.bytes, JSON_REJECT_DUPLICATES, &bad);
    assert_non_null(root);
    assert_int_equal(json_integer_value(json_object_get(root, "tasks_total")), 3 * 2 * 2 * 2);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(root, "tasks"), "open")),
                     24);
    assert_int_equal(json_array_size(json_object_get(root, "judges")), 2);
    assert_string_equal(json_string_value(json_object_get(root, "note")), "a \"note\"");
    const json_t *pool = json_array_get(json_object_get(root, "pools"), 0);
    const json_t *limited = json_object_get(pool, "limited");
    assert_string_equal(json_string_value(json_object_get(limited, "by")), "state");
    assert_string_equal(json_string_value(json_object_get(limited, "text")),
                        "limited by its state");
    assert_true(json_is_null(json_object_get(pool, "slow_since_unix_ms")));
    const json_t *alarm = json_object_get(root, "alarm");
    assert_string_equal(json_string_value(json_object_get(alarm, "kind")), "slow");
    assert_string_equal(json_string_value(json_object_get(alarm, "pool")), "odd \"pool\"\n");
    assert_true(json_is_null(json_object_get(root, "eta_s"))); /* unknown is not 0 */
    assert_int_equal(json_integer_value(json_object_get(root, "peers_refused")), 7);
    assert_int_equal(json_integer_value(json_object_get(root, "frames_dropped")), 5);
    json_decref(root);
    vq_buf_free(&out);
    vq_coord_destroy(&c);
    vq_authority_destroy(&authority);
}

TEST(before_there_is_a_core)
{
    struct vq_status_facts f = facts(NULL);
    struct vq_buf out;
    vq_buf_init(&out, 1u << 20);
    vq_status_json(&f, &out);
    assert_int_equal(out.status, VQ_OK);
    vq_buf_free(&out);
}

TEST(time_left_is_unknown_or_a_number)
{
    struct vq_coord_status s = {0};
    assert_true(vq_status_eta_s(&s) == 0);
    s.all.state[VQ_TASK_OPEN] = 10;
    assert_true(vq_status_eta_s(&s) < 0);
    s.settled_per_s = 2;
    assert_true(vq_status_eta_s(&s) == 5);
}

TEST(time_left_has_an_interval)
{
    struct vq_coord_status s = {.tasks = 1000, .shards = 100, .known_shards = 100};
    s.all.state[VQ_TASK_OPEN] = 400;
    assert_true(vq_status_eta_range(&s).low_s < 0 && vq_status_eta_range(&s).high_s < 0);
    s.settled_per_s = 4;
    s.settled_lately = 4; /* too few to bound it above */
    struct vq_status_eta few = vq_status_eta_range(&s);
    assert_true(few.low_s > 0 && few.low_s < 100 && few.high_s < 0);
    s.settled_lately = 240;
    struct vq_status_eta many = vq_status_eta_range(&s);
    assert_true(many.low_s > 75 && many.low_s < 100 && many.high_s > 100 && many.high_s < 130);
    s.known_shards = 50; /* half is not looked up yet, and of the other half the store had 60 % */
    s.all.from_store = 300;
    struct vq_status_eta resumed = vq_status_eta_range(&s);
    assert_true(resumed.low_s < many.low_s / 2);
    assert_true(resumed.high_s == many.high_s);
    s.all.state[VQ_TASK_OPEN] = 0;
    assert_true(vq_status_eta_range(&s).high_s == 0);
}
