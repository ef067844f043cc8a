/* Times of day and dates, in a zone with summer time. */
#include "tests/unit/test.h"

#include "common/text/when.h"

#include <stdlib.h>
#include <string.h>

/* 2026-11-28 08:00 in Berlin (UTC+1). */
#define NOW INT64_C(1795849200)

static int berlin(void **state)
{
    (void)state;
    int failed = setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    tzset();
    return failed;
}

TEST_GROUP(berlin, NULL)

static time_t at(const char *text, time_t now)
{
    time_t time = 0;
    struct vq_error err = {.text = ""};
    if (vq_when_parse(text, now, &time, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    return time;
}

TEST(a_time_of_day_is_the_next_one)
{
    assert_int_equal(at("08:30", NOW), NOW + 1800);
    assert_int_equal(at("08:00:01", NOW), NOW + 1);
    assert_int_equal(at("08:00", NOW), NOW + 86400);
    assert_int_equal(at("07:00", NOW), NOW + 23 * 3600);
    /* 2027-03-27 08:00: the night in which summer time begins has an hour less */
    time_t spring = NOW + 119 * 86400;
    assert_int_equal(at("07:00", spring), spring + 22 * 3600);
}

TEST(a_date_is_local_or_of_its_zone)
{
    assert_int_equal(at("2026-11-29T07:00", NOW), NOW + 23 * 3600);
    assert_int_equal(at("2026-11-29 07:00:05", NOW), NOW + 23 * 3600 + 5);
    assert_int_equal(at("2026-11-29T06:00Z", NOW), NOW + 23 * 3600);
    assert_int_equal(at("2026-11-29T08:00+02:00", NOW), NOW + 23 * 3600);
    assert_int_equal(at("2026-11-28T22:00-08:00", NOW), NOW + 23 * 3600);
    assert_int_equal(at("2027-07-01T02:00", NOW), at("2027-07-01T00:00Z", NOW));
}

TEST(other_words_are_refused)
{
    static const char *const words[] = {"",
                                        "7:00",
                                        "24:00",
                                        "07:60",
                                        "07:00 ",
                                        "07:00x",
                                        "7am",
                                        "2026-11-29",
                                        "2026-11-31T07:00",
                                        "2026-02-29T07:00",
                                        "2026-13-01T07:00",
                                        "2026-11-29T07:00+1",
                                        "2026-11-29T07:00Zulu",
                                        "2026-11-29T07:00+01:00Z",
                                        "1969-01-01T00:00",
                                        "-1:00",
                                        "07:0\xC3\xA9"};
    for (size_t i = 0; i < VQ_COUNT(words); i++) {
        time_t time = 7;
        struct vq_error err = {.text = ""};
        assert_int_equal(vq_when_parse(words[i], NOW, &time, &err), VQ_INVALID);
        assert_non_null(strstr(err.text, "is not a time such as 07:00"));
        assert_int_equal(time, 7);
    }
    time_t time;
    struct vq_error err = {.text = ""};
    assert_int_equal(vq_when_parse_ahead("2026-11-28T08:00", NOW, &time, &err), VQ_INVALID);
    assert_non_null(strstr(err.text, "2026-11-28T08:00 is in the past"));
}

TEST(what_is_written_is_read_as_the_same)
{
    char text[VQ_WHEN_BYTES];
    assert_string_equal(vq_when_write(NOW, text), "2026-11-28T07:00:00Z");
    assert_int_equal(at(text, NOW), NOW); /* it may be past */
    assert_int_equal(at(text, NOW + 99), NOW);
}
