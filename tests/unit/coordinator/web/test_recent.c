/* The last minutes of pools, and the rates of workers: samples at their times, a ring that is
 * bounded, and a worker whose counter begins again. */
#include "tests/unit/test.h"

#include "coordinator/web/recent.h"

#include "common/base/clock.h"

#include <jansson.h>
#include <string.h>

static struct vq_authority *authority;

static struct vq_coord *core(void)
{
    static const uint32_t own = 0;
    static const struct vq_coord_judge judge = {.name = "j", .pools = &own, .pools_count = 1};
    static const struct vq_authority_pool pools[2] = {{.name = "main", .limit.concurrency = 4},
                                                      {.name = "spare", .limit.concurrency = 4}};
    struct vq_authority_params limits = {.pools = pools,
                                         .pools_count = 2,
                                         .term_ns = 30 * VQ_NS_PER_S,
                                         .budget_nano = VQ_AMOUNT_ANY};
    struct vq_coord_params params = {.run_name = "r",
                                     .epoch = 1,
                                     .grid = {3, 1, 2},
                                     .judges = &judge,
                                     .term_ns = 30 * VQ_NS_PER_S,
                                     .heartbeat_ns = 5 * VQ_NS_PER_S,
                                     .orphan_s = 60,
                                     .orphan_remote_s = 60};
    struct vq_coord *c = NULL;
    struct vq_error err = {0};
    assert_int_equal(vq_authority_create(&limits, 1, &authority, &err), VQ_OK);
    params.authority = authority;
    assert_int_equal(vq_coord_create(&params, 1, &c, &err), VQ_OK);
    return c;
}

static void join(struct vq_coord *c, int64_t now_ns)
{
    struct vq_msg hello = {.type = VQ_MSG_HELLO,
                           .u.hello = {.worker = {{7}},
                                       .name = vq_span_str("<b>w</b>"),
                                       .host = vq_span_str("h"),
                                       .software = vq_span_str("s"),
                                       .local = -1}};
    assert_int_equal(vq_coord_message(c, 1, &hello, now_ns), VQ_OK);
}

static struct vq_status_facts facts(const struct vq_coord *c, int64_t now_ns)
{
    return (struct vq_status_facts){
        .state = "running", .now_ns = now_ns, .coord = c, .authority = authority};
}

static json_t *read_back(void (*write)(const struct vq_recent *, const struct vq_status_facts *,
                                       struct vq_buf *),
                         const struct vq_recent *recent, const struct vq_status_facts *f)
{
    struct vq_buf out;
    vq_buf_init(&out, 8u << 20);
    write(recent, f, &out);
    json_t *json = json_loadb(out.at, out.bytes, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(json);
    vq_buf_free(&out);
    return json;
}

static size_t samples_of(json_t *pools, size_t pool, const char *column)
{
    json_t *one = json_array_get(json_object_get(pools, "pools"), pool);
    return json_array_size(json_object_get(json_object_get(one, "recent"), column));
}

TEST(a_ring_of_samples)
{
    struct vq_coord *c = core();
    struct vq_recent *recent = vq_recent_create(2);
    int64_t now_ns = VQ_NS_PER_S;
    struct vq_status_facts f = facts(c, now_ns);
    vq_recent_add(recent, &f);
    vq_recent_add(recent, &f); /* too early */
    json_t *json = read_back(vq_recent_pools_json, recent, &f);
    assert_int_equal(json_array_size(json_object_get(json, "pools")), 2);
    assert_int_equal(samples_of(json, 0, "in_flight"), 1);
    json_decref(json);
    for (uint32_t i = 0; i < VQ_RECENT_SAMPLES + 5; i++) {
        f.now_ns += VQ_RECENT_EVERY_MS * VQ_NS_PER_MS;
        vq_recent_add(recent, &f);
    }
    bool idle[2] = {false, true}; /* a pool that no judge needs is left out */
    f.idle = idle;
    json = read_back(vq_recent_pools_json, recent, &f);
    assert_int_equal(json_array_size(json_object_get(json, "pools")), 1);
    for (size_t i = 0; i < 3; i++) {
        static const char *const columns[] = {"requests_per_minute", "tokens_per_minute",
                                              "in_flight"};
        assert_int_equal(samples_of(json, 0, columns[i]), VQ_RECENT_SAMPLES);
    }
    json_decref(json);
    vq_recent_destroy(&recent);
    vq_coord_destroy(&c);
    vq_authority_destroy(&authority);
}

static json_t *worker(const struct vq_recent *recent, const struct vq_status_facts *f)
{
    json_t *json = read_back(vq_recent_workers_json, recent, f);
    json_t *one = json_incref(json_array_get(json_object_get(json, "workers"), 0));
    assert_int_equal(json_array_size(json_object_get(json, "workers")), 1);
    json_decref(json);
    return one;
}

TEST(a_rate_is_unknown_before_there_are_two_samples)
{
    struct vq_coord *c = core();
    struct vq_recent *recent = vq_recent_create(2);
    join(c, VQ_NS_PER_S);
    struct vq_status_facts f = facts(c, 2 * VQ_NS_PER_S);
    for (int i = 0; i < 2; i++) {
        json_t *w = worker(recent, &f);
        assert_true(json_is_null(json_object_get(w, "results_per_s")));
        assert_string_equal(json_string_value(json_object_get(w, "name")), "<b>w</b>");
        json_decref(w);
        vq_recent_add(recent, &f);
    }
    f.now_ns += VQ_RECENT_EVERY_MS * VQ_NS_PER_MS;
    vq_recent_add(recent, &f);
    json_t *w = worker(recent, &f);
    assert_true(json_number_value(json_object_get(w, "results_per_s")) == 0);
    json_decref(w);
    vq_recent_destroy(&recent);
    vq_coord_destroy(&c);
    vq_authority_destroy(&authority);
}

TEST(nothing_is_there_yet)
{
    struct vq_recent *recent = vq_recent_create(2);
    struct vq_status_facts f = {.coord = NULL};
    vq_recent_add(recent, &f);
    json_t *json = read_back(vq_recent_pools_json, recent, &f);
    assert_int_equal(json_array_size(json_object_get(json, "pools")), 0);
    json_decref(json);
    json = read_back(vq_recent_workers_json, recent, &f);
    assert_int_equal(json_array_size(json_object_get(json, "workers")), 0);
    json_decref(json);
    vq_recent_destroy(&recent);
}
