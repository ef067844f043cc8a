/* An alarm makes one notice when it begins and one when it ends; queues are bounded. */
#include "tests/unit/test.h"

#include "coordinator/web/notice.h"

#include <jansson.h>
#include <string.h>

static struct vq_notices notices;
static struct vq_notice told;

static bool begin(const char *kind, const char *what, int64_t now)
{
    return vq_notices_begin(&notices, kind, what, "It began.", "Do it.", now, &told);
}

static bool end(const char *kind, const char *what, int64_t now)
{
    return vq_notices_end(&notices, kind, what, "It is over.", now, &told);
}

TEST(each_is_told_once)
{
    notices.count = 0;
    assert_false(end("pool", "a", 1));
    assert_true(begin("pool", "a", 2));
    assert_true(told.begins);
    assert_string_equal(told.action, "Do it.");
    assert_false(begin("pool", "a", 3));
    assert_true(begin("pool", "b", 4));
    assert_true(begin("idle", "", 5));
    assert_true(end("pool", "a", 6));
    assert_false(told.begins);
    assert_int_equal(told.since_unix_ms, 2);
    assert_int_equal(told.at_unix_ms, 6);
    assert_string_equal(told.text, "It is over.");
    assert_string_equal(told.action, "");
    assert_false(end("pool", "a", 7));
    assert_true(begin("pool", "a", 8));
    assert_true(end("pool", "b", 9));
    assert_true(end("idle", "", 9));
    assert_true(end("pool", "a", 9));
    assert_int_equal(notices.count, 0);
}

TEST(there_is_room_for_so_many)
{
    char name[2] = "a";
    notices.count = 0;
    for (uint32_t i = 0; i < VQ_NOTICES_ACTIVE; i++) {
        name[0] = (char)(' ' + i);
        assert_true(begin("pool", name, 1));
    }
    assert_false(begin("idle", "", 1));
    assert_false(end("idle", "", 1)); /* what was not told as begun is not told as over */
    assert_true(end("pool", name, 1));
    assert_true(begin("idle", "", 1));
}

TEST(a_receiver_gets_them_in_order_and_a_slow_one_loses_the_last)
{
    static struct vq_notice_queue queue;
    struct vq_notice notice = {.begins = true};
    assert_false(vq_notice_queue_take(&queue, &told));
    for (int64_t turn = 0; turn < 3; turn++) {
        for (uint32_t i = 0; i < VQ_NOTICES_WAITING + 2; i++) {
            notice.at_unix_ms = i;
            vq_notice_queue_put(&queue, &notice);
        }
        assert_int_equal(queue.dropped, 2 * (turn + 1));
        for (uint32_t i = 0; i < VQ_NOTICES_WAITING; i++) {
            assert_true(vq_notice_queue_take(&queue, &told));
            assert_int_equal(told.at_unix_ms, i);
        }
        assert_false(vq_notice_queue_take(&queue, &told));
    }
}

TEST(a_long_text_is_cut_and_the_json_is_valid)
{
    static char text[5000];
    struct vq_buf out;
    memset(text, 'x', sizeof(text) - 1);
    text[0] = '"';
    notices.count = 0;
    assert_true(
        vq_notices_begin(&notices, "a kind that is too long for it", text, text, text, 5, &told));
    assert_false(
        vq_notices_begin(&notices, "a kind that is too long for it", text, text, text, 5, &told));
    vq_buf_init(&out, 1u << 16);
    vq_notice_json(&told, "night", &out);
    assert_int_equal(out.status, VQ_OK);
    json_t *root = json_loadb(out.at, out.bytes, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    assert_string_equal(json_string_value(json_object_get(root, "run")), "night");
    assert_string_equal(json_string_value(json_object_get(root, "event")), "begin");
    assert_int_equal(json_string_length(json_object_get(root, "text")), VQ_NOTICE_TEXT_BYTES - 1);
    json_decref(root);
    vq_buf_free(&out);
}
