/* Log lines: both formats, every conversion, escaping, cuts, repeats. */
#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "common/text/log.h"

#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int ends[2];
static char got[65536];

static void open_log(enum vq_log_level level, enum vq_log_format format)
{
    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    vq_log_to(ends[1], level, format);
}

/* What was written since the log was opened. */
static const char *close_log(void)
{
    vq_log_to(-1, VQ_LOG_INFO, VQ_LOG_AUTO);
    assert_int_equal(close(ends[1]), 0);
    size_t n = 0;
    ssize_t r;
    while ((r = read(ends[0], got + n, sizeof(got) - 1 - n)) > 0) {
        n += (size_t)r;
    }
    got[n] = '\0';
    assert_int_equal(close(ends[0]), 0);
    return got;
}

static void say(void)
{
    const char *volatile none = NULL; /* so that the compiler does not see it */
    vq_log(
        VQ_LOG_WARN, "a.b",
        "i=%d u=%u l=%lld z=%zu x=%x s=%s q=%s sub=%.*s p=%.2f g=%g c=%c word=bare none=%s nan=%f",
        -3, 7u, -9000000000LL, (size_t)5, 255u, "plain", "two words\n\"q\" \x1b[31m\xff", 3,
        "abcdef", 1.5, 0.25, 'y', none, NAN);
}

TEST(test_logfmt)
{
    open_log(VQ_LOG_INFO, VQ_LOG_LOGFMT);
    say();
    vq_log(VQ_LOG_DEBUG, "not.shown", "a=%d", 1);
    const char *line = close_log();
    assert_non_null(strstr(
        line,
        "level=warn event=a.b i=-3 u=7 l=-9000000000 z=5 x=ff s=plain q=\"two words\\n\\\"q\\\" "
        "\\u001b[31m\xef\xbf\xbd\" sub=abc p=1.50 g=0.25 c=y word=bare none=- nan="));
    assert_non_null(strstr(line, "mono_ms="));
    assert_null(strstr(line, "not.shown"));
    assert_int_equal(line[strlen(line) - 1], '\n');
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
}

TEST(test_json_lines_are_json)
{
    open_log(VQ_LOG_DEBUG, VQ_LOG_AUTO); /* a pipe: JSON */
    say();
    char *longer = malloc(20000);
    assert_non_null(longer);
    memset(longer, 'z', 19999);
    longer[19999] = '\0';
    vq_log(VQ_LOG_DEBUG, "long", "a=%s b=%s c=%s d=%s e=%s", longer, longer, longer, longer,
           longer);
    free(longer);
    const char *text = close_log();
    size_t flags = JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK;
    json_error_t error;
    json_t *first = json_loads(text, flags, &error);
    assert_non_null(first);
    assert_int_equal(json_integer_value(json_object_get(first, "i")), -3);
    assert_string_equal(json_string_value(json_object_get(first, "x")), "ff");
    assert_string_equal(json_string_value(json_object_get(first, "q")),
                        "two words\n\"q\" \x1b[31m\xef\xbf\xbd");
    assert_true(json_is_null(json_object_get(first, "none")));
    assert_true(json_is_null(json_object_get(first, "nan")));
    assert_string_equal(json_string_value(json_object_get(first, "word")), "bare");
    json_decref(first);
    json_t *second = json_loads(strchr(text, '\n') + 1, flags, &error);
    assert_non_null(second); /* a cut line is whole JSON, and says that it was cut */
    assert_true(json_is_true(json_object_get(second, "cut")));
    assert_int_equal(json_string_length(json_object_get(second, "a")), VQ_LOG_VALUE_BYTES_MAX + 3);
    json_decref(second);
}

TEST(test_repeats_are_counted)
{
    open_log(VQ_LOG_INFO, VQ_LOG_LOGFMT);
    enum {
        LINES = 200
    };
    for (int i = 0; i < LINES; i++) {
        vq_log(VQ_LOG_INFO, "noisy", "i=%d", i);
    }
    vq_log(VQ_LOG_INFO, "other", "i=%d", 1);
    usleep(1100000); /* the next second lets the event through again */
    vq_log(VQ_LOG_INFO, "noisy", "i=%d", LINES);
    const char *text = close_log();
    int noisy = 0;
    unsigned long dropped = 0;
    for (const char *at = text; (at = strstr(at, "event=noisy")) != NULL; at++) {
        noisy++;
    }
    for (const char *at = text; (at = strstr(at, "dropped=")) != NULL; at++) {
        dropped += strtoul(at + 8, NULL, 10);
    }
    assert_non_null(strstr(text, "event=other"));
    assert_in_range(noisy, VQ_LOG_REPEATS_PER_SECOND + 1, 3 * VQ_LOG_REPEATS_PER_SECOND + 1);
    assert_int_equal((unsigned long)noisy + dropped, LINES + 1); /* none vanished without a count */
}

TEST(test_a_broken_stream_stops_nothing)
{
    vq_log_to(9999, VQ_LOG_INFO, VQ_LOG_JSON);
    vq_log(VQ_LOG_ERROR, "nowhere", "a=%d", 1);
    vq_log_to(-1, VQ_LOG_DEBUG, VQ_LOG_JSON);
    vq_log(VQ_LOG_ERROR, "nowhere", "a=%d", 1);
}
