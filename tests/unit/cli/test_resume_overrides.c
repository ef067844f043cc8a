/* What `vibeq resume --set` takes and what it refuses. */
#include "tests/unit/cli/two_configs.h"

#include "cli/resume_overrides.h"

#define DATA "data: d.csv\nmodels: [a, b]\n"

static enum vq_status keys(const char *one, const char *two, struct vq_error *err)
{
    struct vq_opt_list set = {.items = {one, two}, .count = two == NULL ? 1 : 2};
    *err = (struct vq_error){0};
    return vq_resume_overrides_keys_check(&set, err);
}

TEST(what_answers_do_not_depend_on_may_change)
{
    static const char *const fine[] = {
        "workers=3",
        "term_ms=1000",
        "redis=unix:///tmp/x",
        "redis.url=",
        "redis.ca_file=/tmp/ca.pem",
        "judging.tries_max=2",
        "judges[0].key=env:OTHER",
        "judges[12].base_url=http://localhost:1/v1?a=b[0]",
        "judges[3].concurrency=9",
        "judges[0].total_timeout_ms=5",
        "proposer.key=env:OTHER",
        "reducer.concurrency=2",
        "embedder.base_url=http://localhost:1/v1",
        "preference_judges[1].requests_per_minute=9",
        "subjects[1].key=env:OTHER",
        "subjects[0].base_url=http://localhost:1/v1",
    };
    struct vq_error err;
    for (size_t i = 0; i < VQ_COUNT(fine); i++) {
        assert_int_equal(keys(fine[i], NULL, &err), VQ_OK);
    }
}

TEST(all_else_is_refused_by_name)
{
    static const char *const no[] = {"seed=1",
                                     "data.limit=5",
                                     "data.path=x.csv",
                                     "models=[b, a]",
                                     "judges=[offline-a]",
                                     "judges[0]=offline-a",
                                     "judges[0].model=x",
                                     "proposer=x",
                                     "proposer.model=x",
                                     "preference_judges[0].model=x",
                                     "subjects=[x]",
                                     "subjects[0].model=x",
                                     "subjects[0].role=none",
                                     "subjects[0].line=x",
                                     "judging={tries_max: 2}",
                                     "gates.kappa_min=0.9",
                                     "worker=3",
                                     "no.such.key=1"};
    struct vq_error err;
    for (size_t i = 0; i < VQ_COUNT(no); i++) {
        assert_int_equal(keys("workers=1", no[i], &err), VQ_INVALID);
        char named[64] = "--set ";
        (void)strncat(named, no[i], strcspn(no[i], "="));
        assert_non_null(strstr(err.text, named));
        assert_null(strstr(err.text, no[i])); /* never the value: it may be a key */
        assert_int_equal(keys(no[i], "workers=1", &err), VQ_INVALID);
    }
}

static const char *otherwise(const char *one, const char *two)
{
    struct vq_opt_list set = {.items = {one, two}, .count = two == NULL ? 1 : 2};
    return vq_resume_overrides_before_answers(&set);
}

TEST(the_question_may_change_without_answers)
{
    static const char *const shapes[] = {
        "judges[0].identity=x",        "judges[0].temperature=1", "judges[0].max_tokens=9",
        "judges[0].dialect=azure",     "reducer.max_tokens=9",    "subjects[1].system_role=none",
        "preference_judges[0].seed=3", "embedder.api_version=x",  "judging.structured=on",
        "judging.repair=off"};
    struct vq_error err;
    for (size_t i = 0; i < VQ_COUNT(shapes); i++) {
        assert_int_equal(keys("workers=1", shapes[i], &err), VQ_OK);
        assert_ptr_equal(otherwise("workers=1", shapes[i]), shapes[i]);
        assert_true(vq_resume_overrides_changes_requests(shapes[i]));
    }
    assert_null(otherwise("workers=1", "judges[0].base_url=http://localhost:1/v1"));
    assert_null(otherwise("max_tokens=9", "judges[0]"));
    assert_true(vq_resume_overrides_changes_requests("judges[0].base_url=http://localhost:1/v1"));
    assert_false(vq_resume_overrides_changes_requests("judges[0].concurrency=2"));
    assert_false(vq_resume_overrides_changes_requests("budget.usd=3"));
}

static enum vq_status moved(const char *yaml, const char *override, struct vq_error *err)
{
    return two_configs(vq_resume_overrides_judges_check, yaml, override, err);
}

TEST(another_endpoint_needs_an_identity)
{
    static const char plain[] = DATA "judges:\n- {model: m, base_url: 'http://localhost:1/v1'}\n";
    static const char named[] =
        DATA "judges:\n- {model: m, base_url: 'http://localhost:1/v1', identity: mine}\n";
    static const char built_in[] = DATA "judges: [offline-a]\n";
    static const char other[] = "judges[0].base_url=http://localhost:2/v1";
    struct vq_error err;
    assert_int_equal(moved(plain, other, &err), VQ_INVALID);
    assert_non_null(strstr(err.text, "judges[0].base_url"));
    assert_non_null(strstr(err.text, "identity"));
    assert_int_equal(moved(built_in, other, &err), VQ_INVALID);
    assert_int_equal(moved(named, other, &err), VQ_OK);
    assert_int_equal(moved(plain, "judges[0].base_url=https://localhost:1/v1/", &err), VQ_OK);
    assert_int_equal(moved(built_in, "judges[0].concurrency=2", &err), VQ_OK);
}

TEST(so_does_that_of_a_subject)
{
    static const char plain[] = "subjects:\n- {model: m, base_url: 'http://localhost:1/v1'}\n"
                                "judges: [offline-a]\ndialogues: {personas: p.yaml, goal: q.txt}\n";
    static const char named[] =
        "subjects:\n- {model: m, base_url: 'http://localhost:1/v1', identity: mine}\n"
        "judges: [offline-a]\ndialogues: {personas: p.yaml, goal: q.txt}\n";
    static const char other[] = "subjects[0].base_url=http://localhost:2/v1";
    struct vq_error err;
    assert_int_equal(moved(plain, other, &err), VQ_INVALID);
    assert_non_null(strstr(err.text, "subjects[0].base_url"));
    assert_int_equal(moved(named, other, &err), VQ_OK);
    assert_int_equal(moved(plain, "subjects[0].key=env:OTHER", &err), VQ_OK);
}
