/* Lines of a log for people: of the program's own making, half written, and of foreign bytes. */
#include "tests/unit/test.h"

#include "cli/log_line.h"
#include "cli/opts.h"

#include <stdlib.h>
#include <time.h>

const struct vq_verb vq_verbs[] = {{0}};

static const struct vq_terminal plain = {.columns = 80};

static int in_utc(void **state)
{
    (void)state;
    (void)setenv("TZ", "UTC", 1);
    tzset();
    return 0;
}

TEST_GROUP(in_utc, NULL)

static void expect_at(enum vq_log_level level, const char *line, size_t bytes, const char *shown)
{
    struct vq_buf out;
    vq_buf_init(&out, 65536);
    vq_log_line_put(vq_span(line, bytes), level, &plain, &out);
    vq_buf_putc(&out, '\0');
    assert_int_equal(out.status, VQ_OK);
    assert_string_equal(out.at, shown);
    vq_buf_free(&out);
}

static void expect(const char *line, const char *shown)
{
    expect_at(VQ_LOG_DEBUG, line, strlen(line), shown);
}

#define HEAD "{\"time\":\"2026-11-27T20:53:01.123Z\",\"mono_ms\":5,\"level\":\"warn\","

TEST(a_line_is_time_level_event_fields_and_sentence)
{
    expect(HEAD "\"event\":\"alarm.slow\",\"pool\":\"p\",\"text\":\"Too slow.\",\"slow_s\":300}",
           "2026-11-27 20:53:01.123  warn   alarm.slow         pool=p slow_s=300: Too slow.\n");
    expect(HEAD "\"event\":\"an.event.of.a.longer.name\",\"share\":0.25,\"cut\":true,\"x\":null}",
           "2026-11-27 20:53:01.123  warn   an.event.of.a.longer.name share=0.25 cut=yes x=-\n");
}

TEST(the_level_leaves_out_what_is_less_severe)
{
    const char *line = HEAD "\"event\":\"e\"}";
    expect_at(VQ_LOG_ERROR, line, strlen(line), "");
    expect_at(VQ_LOG_WARN, line, strlen(line),
              "2026-11-27 20:53:01.123  warn   e                 \n");
    enum vq_log_level level = VQ_LOG_DEBUG;
    assert_int_equal(vq_log_level_of("error", &level), VQ_OK);
    assert_int_equal(level, VQ_LOG_ERROR);
    assert_int_equal(vq_log_level_of("loud", &level), VQ_INVALID);
    assert_int_equal(vq_log_level_of(NULL, &level), VQ_INVALID);
    assert_int_equal(level, VQ_LOG_ERROR);
}

TEST(what_is_no_record_is_shown_as_it_is)
{
    expect("", "");
    expect("vibeq-worker: out of memory", "vibeq-worker: out of memory\n");
    expect(HEAD "\"event\":\"ha", HEAD "\"event\":\"ha\n");
    expect("{\"time\":5,\"level\":\"warn\",\"event\":\"e\"}",
           "{\"time\":5,\"level\":\"warn\",\"event\":\"e\"}\n");
    expect("{\"time\":\"now\",\"level\":\"loud\",\"event\":\"e\"}",
           "{\"time\":\"now\",\"level\":\"loud\",\"event\":\"e\"}\n");
    expect("[[[[[[[[]]]]]]]]", "[[[[[[[[]]]]]]]]\n");
    expect_at(VQ_LOG_ERROR, "torn", 4, "torn\n");
}

TEST(no_byte_that_a_terminal_acts_on_goes_out)
{
    expect("a\033[2Jb\r\xC2\x9B"
           "c\xFF",
           "a [2Jb  c\xEF\xBF\xBD\n");
    expect(HEAD "\"event\":\"e\\u001b]0;x\\u0007\",\"why\":\"\\u001b[31m\\u202e\"}",
           "2026-11-27 20:53:01.123  warn   e ]0;x            :  [31m<U+202E>\n");
    expect("{\"time\":\"\\u001b[1m\",\"level\":\"info\",\"event\":\"e\"}",
           " [1m  info   e                 \n");
    expect_at(VQ_LOG_DEBUG, "\0\0", 2, "  \n");
}
