/* Stamps of commands, and replies that are given again. */
#include "tests/unit/test.h"

#include "coordinator/run/ctl_once.h"

#include <stdio.h>

#define ID "0123456789abcdef0123456789abcdef"

TEST(a_stamp_is_read_as_it_was_written)
{
    struct vq_ctl_stamp stamp = {.id = ID, .deadline_unix_ms = 1700000000123}, got;
    struct vq_buf body;
    vq_buf_init(&body, 1024);
    vq_ctl_stamp_put(&stamp, &body);
    vq_buf_puts(&body, "pause\n");
    struct vq_span at = vq_buf_span(&body);
    assert_int_equal(vq_ctl_stamp_take(&at, &got, NULL), VQ_OK);
    assert_string_equal(got.id, ID);
    assert_int_equal(got.deadline_unix_ms, 1700000000123);
    assert_true(vq_span_eq(at, vq_span_str("pause\n")));
    assert_int_equal(vq_ctl_stamp_take(&at, &got, NULL), VQ_OK); /* words without a stamp */
    assert_string_equal(got.id, "");
    assert_true(vq_span_eq(at, vq_span_str("pause\n")));
    vq_buf_free(&body);
}

TEST(what_begins_like_a_stamp_and_is_none_is_refused)
{
    static const char *const bad[] = {"@",
                                      "@" ID,
                                      "@" ID "\npause\n",
                                      "@" ID " \npause\n",
                                      "@" ID " x\npause\n",
                                      "@" ID " -5\n",
                                      "@0123 5\n",
                                      "@" ID " 99999999999999999999\n",
                                      "@" ID "f 5\n",
                                      "@" ID " 5"};
    for (size_t i = 0; i < VQ_COUNT(bad); i++) {
        struct vq_span at = vq_span_str(bad[i]);
        struct vq_ctl_stamp got;
        struct vq_error err = {""};
        assert_int_equal(vq_ctl_stamp_take(&at, &got, &err), VQ_INVALID);
        assert_ptr_equal(at.at, bad[i]);
    }
}

TEST(replies_are_kept_and_the_oldest_makes_room)
{
    struct vq_ctl_once once = {.count = 0};
    assert_null(vq_ctl_once_find(&once, ID));
    assert_null(vq_ctl_once_find(&once, ""));
    vq_ctl_once_keep(&once, "", 200, "without an id");
    assert_null(vq_ctl_once_find(&once, ""));
    vq_ctl_once_keep(&once, ID, 409, "not now");
    assert_int_equal(vq_ctl_once_find(&once, ID)->http, 409);
    assert_string_equal(vq_ctl_once_find(&once, ID)->text, "not now");
    for (unsigned i = 0; i < VQ_CTL_REMEMBERED_MAX; i++) {
        char id[2 * VQ_CTL_ID_BYTES + 1];
        assert_non_null(vq_ctl_once_find(&once, ID));
        (void)snprintf(id, sizeof(id), "%032x", i);
        vq_ctl_once_keep(&once, id, 200, "done");
    }
    assert_null(vq_ctl_once_find(&once, ID));
    vq_ctl_once_free(&once);
}
