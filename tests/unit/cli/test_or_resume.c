/* Which configurations `vibeq run --or-resume` takes for the same run; and the file that a run's
 * end leaves. */
#include "tests/unit/cli/two_configs.h"

#include "cli/or_resume.h"

#include "common/text/when.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define YAML                                                                                       \
    "data: d.csv\nmodels: [a, b]\nname: night\nworkers: 2\n"                                       \
    "judges: [{model: m, base_url: 'https://a.test/v1'}, {model: offline-a}]\n"                    \
    "pools: [{name: p, base_url: 'https://b.test/v1', models: [{model: m, concurrency: 4}]}]\n"

static struct vq_or_resume_changes changes;

static enum vq_status check(const struct vq_config *was, const struct vq_config *now,
                            struct vq_error *err)
{
    return vq_or_resume_check(was, now, &changes, err);
}

static enum vq_status against(const char *override, struct vq_error *err)
{
    return two_configs(check, YAML, override, err);
}

TEST(the_same_is_the_same)
{
    struct vq_error err;
    assert_int_equal(against(NULL, &err), VQ_OK);
    assert_int_equal(changes.set.count, 0);
    assert_int_equal(against("workers=2", &err), VQ_OK);
    assert_int_equal(changes.set.count, 0);
    assert_int_equal(against("name=other", &err), VQ_OK); /* the folder was found by the name */
    assert_int_equal(changes.set.count, 0);
}

TEST(what_a_resume_may_change_is_taken)
{
    static const char *const fine[][2] = {
        {"workers=7", "workers="},
        {"judges[1].concurrency=9", "judges[1].concurrency="},
        {"pools[0].models[0].concurrency=9", "pools[0].models[0].concurrency="},
        {"term_ms=1000", "term_ms="},
        {"alarm.idle_s=5", "alarm.idle_s="},
    };
    struct vq_error err;
    for (size_t i = 0; i < VQ_COUNT(fine); i++) {
        assert_int_equal(against(fine[i][0], &err), VQ_OK);
        assert_int_equal(changes.set.count, 1);
        assert_string_equal(changes.set.items[0], fine[i][1]);
    }
}

/* `was`: at the first start, at 20:00 of a day; then started again with this deadline. */
static enum vq_status again(const char *was, const char *deadline, time_t now, time_t *ret_when)
{
    char set[64], before[64];
    struct vq_error err = {0};
    (void)snprintf(before, sizeof(before), "deadline=%s", was);
    (void)snprintf(set, sizeof(set), "deadline=%s", deadline);
    struct vq_config *first = one_config(YAML, was == NULL ? NULL : before),
                     *config = one_config(YAML, set);
    enum vq_status status = vq_or_resume_date(was == NULL ? NULL : first, now, config, &err);
    if (status == VQ_OK) {
        assert_int_equal(vq_when_parse(config->deadline, 0, ret_when, &err), VQ_OK);
    }
    vq_config_destroy(&first);
    vq_config_destroy(&config);
    return status;
}

TEST(the_first_start_gives_the_deadline_its_date)
{
    time_t evening, seven, late, eight, when;
    struct vq_error err;
    assert_int_equal(vq_when_parse("2026-11-28T20:00", 0, &evening, &err), VQ_OK);
    assert_int_equal(vq_when_parse("2026-11-29T07:00", 0, &seven, &err), VQ_OK);
    assert_int_equal(vq_when_parse("2026-11-29T08:00", 0, &late, &err), VQ_OK);
    assert_int_equal(vq_when_parse("2026-11-29T08:30", 0, &eight, &err), VQ_OK);
    assert_int_equal(again(NULL, "07:00", evening, &when), VQ_OK);
    assert_true(when == seven);
    const char *const same[] = {"07:00", "2026-11-29T07:00"};
    for (size_t i = 0; i < VQ_COUNT(same); i++) {
        assert_int_equal(again("2026-11-29T07:00", same[i], late, &when), VQ_OK);
        assert_true(when == seven); /* not the one of tomorrow */
    }
    assert_int_equal(again("2026-11-29T07:00", "08:30", late, &when), VQ_OK);
    assert_true(when == eight); /* another one */
    assert_int_equal(again("2026-11-29T07:00", "2026-11-29T07:30", late, &when), VQ_INVALID);
    assert_int_equal(again(NULL, "2026-11-29T07:00", late, &when), VQ_INVALID);
}

TEST(all_else_is_refused_by_name)
{
    static const char *const no[][2] = {
        {"seed=1", "seed differs"},
        {"data.path=other.csv", "data.path differs"},
        {"models=[b, a]", "models[0] differs"},
        {"judges[0].model=x", "judges[0].model differs"},
        {"judges[2]=offline-b", "judges[2] differs"},
        {"judges[0].temperature=1", "judges[0].temperature differs"},
        {"proposer=offline-b", "proposer differs"},
        {"judges[0].base_url=https://c.test/v1", "judges[0].base_url"},
        {"vibes=[{name: v, low: a, high: b}]", "differs"},
    };
    struct vq_error err;
    for (size_t i = 0; i < VQ_COUNT(no); i++) {
        assert_int_equal(against(no[i][0], &err), VQ_INVALID);
        if (strstr(err.text, no[i][1]) == NULL) {
            fail_msg("%s: %s", no[i][0], err.text);
        }
    }
}

TEST(an_end_is_kept_until_the_next_start)
{
    char dir[] = "/tmp/vq_or_resume_XXXXXX";
    char path[128];
    struct vq_error err = {0};
    struct vq_run_dir *run;
    enum vq_run_end end = VQ_RUN_FAILED;
    assert_non_null(mkdtemp(dir));
    assert_int_equal(vq_run_dir_create(dir, "r", &run, &err), VQ_OK);
    assert_false(vq_or_resume_has_ended(run, &end));
    static const enum vq_run_end kept[] = {VQ_RUN_DONE, VQ_RUN_MISSING};
    for (size_t i = 0; i < VQ_COUNT(kept); i++) {
        assert_int_equal(vq_or_resume_keep_end(run, kept[i], &err), VQ_OK);
        assert_true(vq_or_resume_has_ended(run, &end));
        assert_int_equal(end, kept[i]);
    }
    assert_int_equal(vq_or_resume_forget_end(run, &err), VQ_OK);
    assert_int_equal(vq_or_resume_forget_end(run, &err), VQ_OK);
    assert_false(vq_or_resume_has_ended(run, &end));
    static const enum vq_run_end open[] = {VQ_RUN_STOPPED, VQ_RUN_FAILED};
    for (size_t i = 0; i < VQ_COUNT(open); i++) {
        assert_int_equal(vq_or_resume_keep_end(run, open[i], &err), VQ_OK);
        assert_false(vq_or_resume_has_ended(run, &end));
    }
    assert_int_equal(vq_run_dir_write(run, "ended", vq_span_str("whenever\n"), true, &err), VQ_OK);
    assert_false(
        vq_or_resume_has_ended(run, &end)); /* damaged: it is resumed, which costs nothing */
    vq_run_dir_close(&run);
    static const char *const files[] = {"r/ended", "r/uid", "r/lock", "r", ""};
    for (size_t i = 0; i < VQ_COUNT(files); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
        assert_int_equal(remove(path), 0);
    }
}
