/* The settings of `vibeq ctl`: which replaces which, the file, and what --set overrides. */
#include "tests/unit/test.h"

#include "coordinator/run/ctl_settings.h"

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void give(struct vq_ctl_settings *settings, const char *const *words)
{
    struct vq_ctl_asked asked;
    size_t count = 0;
    while (words[count] != NULL) {
        count++;
    }
    assert_int_equal(vq_ctl_parse(words, count, &asked, NULL), VQ_OK);
    assert_int_equal(vq_ctl_settings_add(settings, &asked, 1000 + (int64_t)settings->count), VQ_OK);
}

static void check(const struct vq_ctl_settings *settings, const char *expected)
{
    struct vq_buf text;
    vq_buf_init(&text, 4096);
    for (size_t i = 0; i < settings->count; i++) {
        for (uint32_t k = 0; k < settings->list[i].words_count; k++) {
            vq_buf_printf(&text, "%s%s",
                          k > 0   ? " "
                          : i > 0 ? "; "
                                  : "",
                          settings->list[i].words[k]);
        }
    }
    assert_string_equal(text.at == NULL ? "" : text.at, expected);
    vq_buf_free(&text);
}

TEST(a_later_command_takes_the_place_of_an_earlier_one)
{
    struct vq_ctl_settings settings = {.count = 0};
    give(&settings, WORDS("pause"));
    give(&settings, WORDS("budget", "40"));
    give(&settings, WORDS("pool", "team", "--rpm", "600", "--tpm", "5000"));
    give(&settings, WORDS("park", "lab"));
    give(&settings, WORDS("requeue"));
    give(&settings, WORDS("pause"));
    check(&settings, "budget 40; pool team --rpm 600; pool team --tpm 5000; park lab; pause");
    give(&settings, WORDS("budget", "41"));
    give(&settings, WORDS("pool", "team", "--rpm", "60"));
    give(&settings, WORDS("resume"));
    give(&settings, WORDS("unpark", "lab"));
    give(&settings, WORDS("unpark", "team"));
    check(&settings, "pool team --tpm 5000; budget 41; pool team --rpm 60");
    give(&settings, WORDS("concurrency", "3", "--pool", "lab"));
    give(&settings, WORDS("concurrency", "9"));
    give(&settings, WORDS("concurrency", "4", "--pool", "team"));
    check(&settings, "pool team --tpm 5000; budget 41; pool team --rpm 60; concurrency 9; "
                     "pool team --concurrency 4");
    vq_ctl_settings_free(&settings);
}

TEST(it_is_read_as_it_was_written)
{
    struct vq_ctl_settings settings = {.count = 0}, got;
    struct vq_buf file;
    give(&settings, WORDS("pause"));
    give(&settings, WORDS("pool", "a \"pool\"", "--rpm", "600"));
    vq_buf_init(&file, VQ_CTL_SETTINGS_BYTES_MAX);
    vq_ctl_settings_write(&settings, &file);
    assert_int_equal(vq_ctl_settings_read(vq_buf_span(&file), &got, NULL), VQ_OK);
    check(&got, "pause; pool a \"pool\" --rpm 600");
    assert_int_equal(got.list[0].at_unix_ms, 1000);
    vq_ctl_settings_free(&got);
    vq_ctl_settings_free(&settings);
    vq_buf_free(&file);
    static const char *const bad[] = {
        "",
        "[]",
        "{}",
        "{\"told\": [1]}",
        "{\"told\": [{\"words\": [\"pause\"]}]}",
        "{\"told\": [{\"at_unix_ms\": 1, \"words\": [\"explode\"]}]}",
        "{\"told\": [{\"at_unix_ms\": 1, \"words\": [\"budget\", \"x\"]}]}",
        "{\"told\": [{\"at_unix_ms\": 1, \"words\": [\"budget\", 4]}]}",
        "{\"told\": [{\"at_unix_ms\": 1, \"words\": []}]}",
        "[[[[[[[[]]]]]]]]"};
    for (size_t i = 0; i < VQ_COUNT(bad); i++) {
        struct vq_error err = {""};
        assert_int_equal(vq_ctl_settings_read(vq_span_str(bad[i]), &got, &err), VQ_CORRUPT);
        assert_int_equal(got.count, 0);
        assert_true(err.text[0] != '\0');
    }
}

static bool overridden(const char *const *words, const char *set, bool own, uint32_t account)
{
    struct vq_ctl_settings settings = {.count = 0};
    give(&settings, words);
    bool is = vq_ctl_settings_is_overridden(&settings.list[0], set, own, account);
    vq_ctl_settings_free(&settings);
    return is;
}

TEST(set_wins_over_what_it_speaks_of)
{
    assert_true(overridden(WORDS("budget", "4"), "budget.usd=5", false, 0));
    assert_true(overridden(WORDS("budget", "4"), "budget={usd: 5}", false, 0));
    assert_false(overridden(WORDS("budget", "4"), "workers=5", false, 0));
    const char *const *rpm = WORDS("pool", "team", "--rpm", "60");
    assert_true(overridden(rpm, "pools[1].models[0].requests_per_minute=5", false, 1));
    assert_false(overridden(rpm, "pools[0].models[0].requests_per_minute=5", false, 1));
    assert_false(overridden(rpm, "pools[1].models[0].tokens_per_minute=5", false, 1));
    assert_true(overridden(rpm, "pools=[]", false, 1));
    assert_true(overridden(rpm, "judges[0].requests_per_minute=5", true, 0));
    assert_false(overridden(rpm, "judges[0].requests_per_minute=5", false, 0));
    assert_false(overridden(rpm, "judges[0].concurrency=5", true, 0));
    assert_true(overridden(WORDS("concurrency", "4"), "judges[0].concurrency=5", true, 0));
    assert_false(overridden(WORDS("pause"), "judges[0].concurrency=5", true, 0));
    assert_false(overridden(WORDS("park", "team"), "pools=[]", false, 0));
}
