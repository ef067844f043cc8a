/* What went wrong: begins and ends once, a moment that comes again is counted, the last ones are
 * kept. */
#include "tests/unit/test.h"

#include "coordinator/web/troubles.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static const struct vq_trouble parked = {VQ_TROUBLE_POOL, "lab", "lab is parked", "wait"};
static const struct vq_trouble ended = {VQ_TROUBLE_WORKER, "0", "worker 0 ended", "look"};

static json_t *json_of(const struct vq_troubles *t)
{
    struct vq_buf out;
    vq_buf_init(&out, 1u << 20);
    vq_troubles_json(t, &out);
    json_t *json = json_loadb(out.at, out.bytes, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(json);
    vq_buf_free(&out);
    return json;
}

static json_int_t of(json_t *json, size_t i, const char *key)
{
    return json_integer_value(
        json_object_get(json_array_get(json_object_get(json, "incidents"), i), key));
}

static size_t count(json_t *json)
{
    return json_array_size(json_object_get(json, "incidents"));
}

TEST(one_that_lasts_begins_and_ends_once)
{
    struct vq_troubles *t = vq_troubles_create();
    vq_troubles_end(t, VQ_TROUBLE_POOL, "lab", 5); /* it has not begun */
    vq_troubles_begin(t, &parked, 10);
    vq_troubles_begin(t, &parked, 20);
    json_t *json = json_of(t);
    assert_int_equal(count(json), 1);
    assert_int_equal(of(json, 0, "since_unix_ms"), 10);
    assert_true(json_is_null(
        json_object_get(json_array_get(json_object_get(json, "incidents"), 0), "over_unix_ms")));
    json_decref(json);
    vq_troubles_end(t, VQ_TROUBLE_POOL, "lab", 30);
    vq_troubles_end(t, VQ_TROUBLE_POOL, "lab", 40);
    vq_troubles_begin(t, &parked, 50); /* another one */
    json = json_of(t);
    assert_int_equal(count(json), 2);
    assert_int_equal(of(json, 0, "since_unix_ms"), 50);
    assert_int_equal(of(json, 1, "over_unix_ms"), 30);
    json_decref(json);
    vq_troubles_destroy(&t);
}

TEST(a_moment_that_comes_again_is_counted)
{
    struct vq_troubles *t = vq_troubles_create();
    for (int i = 0; i < 3; i++) {
        vq_troubles_moment(t, &ended, 1000 + i);
    }
    vq_troubles_moment(t, &ended, 1002 + VQ_TROUBLE_SAME_MS + 1);
    json_t *json = json_of(t);
    assert_int_equal(count(json), 2);
    assert_int_equal(of(json, 1, "count"), 3);
    assert_int_equal(of(json, 0, "count"), 1);
    json_decref(json);
    vq_troubles_destroy(&t);
}

TEST(the_last_ones_are_kept)
{
    struct vq_troubles *t = vq_troubles_create();
    for (int i = 0; i < (int)VQ_TROUBLES_MAX + 7; i++) {
        char subject[VQ_TROUBLE_SUBJECT_BYTES * 2];
        memset(subject, 'x', sizeof(subject));
        (void)snprintf(subject, sizeof(subject), "%d", i);
        struct vq_trouble one = {VQ_TROUBLE_QUEUE, subject, "<b>\xff</b>", ""};
        vq_troubles_moment(t, &one, i + 1);
    }
    json_t *json = json_of(t);
    assert_int_equal(count(json), VQ_TROUBLES_MAX);
    assert_int_equal(json_integer_value(json_object_get(json, "forgotten")), 7);
    assert_int_equal(of(json, 0, "since_unix_ms"), VQ_TROUBLES_MAX + 7);
    json_decref(json);
    vq_troubles_destroy(&t);
}

/* Those of an earlier process are kept, in their order, and do not go on. */
TEST(they_are_restored)
{
    struct vq_troubles *t = vq_troubles_create();
    enum vq_trouble_kind kind;
    vq_troubles_restore(t, &parked, 10, 20, 1);
    vq_troubles_restore(t, &ended, 30, 40, 7);
    vq_troubles_begin(t, &parked, 50);
    json_t *json = json_of(t);
    assert_int_equal(count(json), 3);
    assert_int_equal(of(json, 0, "since_unix_ms"), 50);
    assert_int_equal(of(json, 1, "count"), 7);
    assert_int_equal(of(json, 1, "over_unix_ms"), 40);
    assert_int_equal(of(json, 2, "since_unix_ms"), 10);
    assert_int_equal(of(json, 2, "over_unix_ms"), 20);
    json_decref(json);
    vq_troubles_destroy(&t);
    assert_true(vq_trouble_kind_of("worker", &kind));
    assert_int_equal(kind, VQ_TROUBLE_WORKER);
    assert_false(vq_trouble_kind_of("", &kind));
}
