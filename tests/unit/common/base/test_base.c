/* Status, allocation with its countdown, buffers. */
#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "common/base/buf.h"
#include "common/base/clock.h"

#include <time.h>

#include <string.h>

TEST(test_every_status_has_name_text_and_class)
{
    for (int s = 0; s < VQ_STATUS__COUNT; s++) {
        assert_true(strlen(vq_status_name((enum vq_status)s)) > 0);
        assert_true(strlen(vq_status_text((enum vq_status)s)) > 0);
        assert_int_equal(vq_status_class((enum vq_status)s) == VQ_CLASS_OK, s == VQ_OK);
        for (int other = 0; other < s; other++) {
            assert_string_not_equal(vq_status_name((enum vq_status)s),
                                    vq_status_name((enum vq_status)other));
        }
    }
    assert_int_equal(vq_status_class(VQ_TIMEOUT), VQ_CLASS_RETRY);
    assert_int_equal(vq_status_class(VQ_LIMIT), VQ_CLASS_REFUSE);
    assert_int_equal(vq_status_class(VQ_NOMEM), VQ_CLASS_FATAL);
    enum vq_status beyond = VQ_STATUS__COUNT;
    assert_string_equal(vq_status_name(beyond), "UNKNOWN");
    assert_int_equal(vq_status_class(beyond), VQ_CLASS_BUG);
}

TEST(test_error_sentences)
{
    struct vq_error err = {.text = ""};
    assert_int_equal(vq_fail(&err, VQ_INVALID, "bad %d", 7), VQ_INVALID);
    assert_string_equal(err.text, "bad 7");
    vq_error_prefix(&err, "file %s", "x");
    assert_string_equal(err.text, "file x: bad 7");
    assert_int_equal(vq_fail(NULL, VQ_IO, "nobody reads this"), VQ_IO);
    vq_error_prefix(NULL, "nor this");
    char longer[2 * VQ_ERROR_BYTES_MAX];
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    (void)vq_fail(&err, VQ_IO, "%s", longer);
    assert_int_equal(strlen(err.text), VQ_ERROR_BYTES_MAX - 1);
    vq_error_prefix(&err, "p");
    assert_memory_equal(err.text, "p: xx", 5);
    assert_int_equal(strlen(err.text), VQ_ERROR_BYTES_MAX - 1);
}

TEST(test_allocation_counts_down)
{
    vq_alloc_fail_at(2);
    void *first = vq_alloc(1, 8);
    void *second = vq_alloc(1, 8);
    void *third = vq_alloc(1, 8);
    vq_alloc_fail_at(0);
    assert_non_null(first);
    assert_null(second);
    assert_non_null(third); /* one failure, not a broken allocator */
    vq_free(first);
    vq_free(third);
    uint64_t before = vq_alloc_count();
    char *copy = vq_strndup("abcdef", 3);
    assert_string_equal(copy, "abc");
    assert_int_equal(vq_alloc_count(), before + 1);
    vq_free(copy);
    vq_free(NULL);
}

TEST(test_sizes_cannot_wrap)
{
    volatile size_t huge = SIZE_MAX / 2 + 2;
    assert_null(vq_alloc(huge, 2));
    assert_null(vq_realloc(NULL, huge, 2));
    assert_null(vq_strndup("", SIZE_MAX));
    void *nothing = vq_alloc(0, 8);
    assert_non_null(nothing);
    vq_free(nothing);
    unsigned char *zeroed = vq_alloc(100, 1);
    assert_non_null(zeroed);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(zeroed[i], 0);
    }
    vq_free(zeroed);
}

TEST(test_grow_doubles_up_to_its_limit)
{
    void *array = NULL;
    size_t cap = 0;
    assert_int_equal(vq_grow(&array, &cap, 1, 4, 50), VQ_OK);
    assert_int_equal(cap, 16);
    assert_int_equal(vq_grow(&array, &cap, 17, 4, 50), VQ_OK);
    assert_int_equal(cap, 32);
    assert_int_equal(vq_grow(&array, &cap, 33, 4, 50), VQ_OK);
    assert_int_equal(cap, 50);
    void *was = array;
    assert_int_equal(vq_grow(&array, &cap, 51, 4, 50), VQ_LIMIT);
    vq_alloc_fail_at(1);
    assert_int_equal(vq_grow(&array, &cap, 60, 4, 100), VQ_NOMEM);
    vq_alloc_fail_at(0);
    assert_ptr_equal(array, was);
    assert_int_equal(cap, 50);
    vq_free(array);
}

TEST(test_buffer_sticks_to_its_first_failure)
{
    struct vq_buf buf;
    vq_buf_init(&buf, 10);
    vq_buf_puts(&buf, "12345");
    vq_buf_printf(&buf, "%d", 678);
    assert_string_equal(buf.at, "12345678");
    vq_buf_append(&buf, "abc", 3); /* does not fit: nothing of it is there */
    assert_int_equal(buf.status, VQ_LIMIT);
    vq_buf_putc(&buf, 'x'); /* would fit, but the failure sticks */
    vq_buf_printf(&buf, "y");
    assert_null(vq_buf_reserve(&buf, 1));
    assert_string_equal(buf.at, "12345678");
    vq_buf_clear(&buf);
    assert_int_equal(buf.status, VQ_OK);
    assert_string_equal(buf.at, "");
    vq_buf_append(&buf, "0123456789", 10);
    assert_int_equal(buf.status, VQ_OK);
    vq_buf_free(&buf);
    assert_null(buf.at);
    vq_alloc_fail_at(1);
    vq_buf_puts(&buf, "x");
    vq_alloc_fail_at(0);
    assert_int_equal(buf.status, VQ_NOMEM);
    vq_buf_free(&buf);
}

TEST(test_spans)
{
    assert_true(vq_span_eq(vq_span_str(NULL), vq_span("", 0)));
    assert_true(vq_span_eq(vq_span("a\0b", 3), vq_span("a\0b", 3)));
    assert_false(vq_span_eq(vq_span_str("a"), vq_span_str("ab")));
    assert_false(vq_span_eq(vq_span_str("a"), vq_span_str("b")));
    assert_true(vq_span_eq(vq_span_trim(vq_span_str(" \t\r\n\f\va b\n ")), vq_span_str("a b")));
    assert_true(vq_span_eq(vq_span_trim(vq_span("\0a\0", 3)), vq_span("\0a\0", 3)));
    assert_true(vq_span_eq(vq_span_trim(vq_span_str("\u00a0a")), vq_span_str("\u00a0a")));
    assert_int_equal(vq_span_trim(vq_span_str(" \n")).bytes, 0);
    assert_int_equal(vq_span_trim(vq_span(NULL, 0)).bytes, 0);
}

TEST(test_clocks)
{
    int64_t first = vq_clock_mono_ns();
    assert_true(vq_clock_mono_ns() >= first);
    struct timespec before, after; /* deadlines and terms do not move with the wall clock */
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &before), 0);
    int64_t now = vq_clock_mono_ns();
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &after), 0);
    assert_true(now >= before.tv_sec * VQ_NS_PER_S + before.tv_nsec);
    assert_true(now <= after.tv_sec * VQ_NS_PER_S + after.tv_nsec);
    assert_true(vq_clock_unix_ms() > INT64_C(1600000000000)); /* after 2020, in milliseconds */
}
