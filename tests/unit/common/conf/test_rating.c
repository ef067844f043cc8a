/* Configurations of method: judge: what may be left out, and every refusal with its place and what
 * to do. */
#include "common/base/alloc.h"
#include "tests/unit/common/conf/parsing.h"

#define HEAD "data: d.csv\njudges: [offline-a]\n"
#define OWN  "{name: Own, kind: likert, rubric: r}"

TEST(test_the_smallest_one)
{
    struct vq_config *c = must_parse(HEAD "models: answer\ncriteria: [refusal]\n");
    assert_int_equal(c->method, VQ_METHOD_JUDGE);
    assert_int_equal(c->models_count, 1);
    assert_string_equal(c->models[0], "answer");
    assert_null(c->models[1]);
    assert_int_equal(c->criteria_count, 1);
    assert_string_equal(c->criteria[0].name, "refusal");
    assert_null(c->criteria[0].rubric);
    assert_int_equal(c->rating.repeats, 1);
    assert_int_equal(c->rating.positions, VQ_POSITIONS_BOTH);
    assert_int_equal(c->rating.policy, VQ_RATING_STRICT);
    assert_int_equal(c->judges[0].max_tokens, 1024);
    vq_config_destroy(&c);
}

TEST(test_lists_of_one)
{
    struct vq_config *c =
        must_parse("data: d.csv\njudges: offline-a\nmodels: answer\ncriteria: refusal\n");
    assert_int_equal(c->method, VQ_METHOD_JUDGE);
    assert_int_equal(c->criteria_count, 1);
    assert_string_equal(c->criteria[0].name, "refusal");
    assert_int_equal(c->judges_count, 1);
    assert_string_equal(c->judges[0].model, "offline-a");
    vq_config_destroy(&c);
    struct vq_error err = {.text = ""};
    assert_int_equal(
        parse("data: d.csv\njudges: offline-a\nmodels: a\ncriteria: refusl\n", &c, &err),
        VQ_INVALID);
    assert_non_null(strstr(err.text, "line 4, column 1, criteria[0]"));
    assert_non_null(strstr(err.text, "did you mean \"refusal\"?"));
    assert_int_equal(parse("data: d.csv\njudges:\nmodels: a\ncriteria: refusal\n", &c, &err),
                     VQ_INVALID);
    assert_non_null(strstr(err.text, "judges: missing"));
}

TEST(test_a_full_one_reads_back)
{
    struct vq_config *c =
        must_parse(HEAD "method: judge\nmodels: [a, b]\ncriteria:\n- general\n- " OWN "\n"
                        "- {name: Filed, file: own/filed.txt, human: [ha, hb]}\n"
                        "- {name: Better, kind: pairwise, rubric: \"which: one\", human: said}\n"
                        "rating: {repeats: 3, positions: alternate, policy: paper}\n");
    char *yaml;
    size_t bytes;
    assert_int_equal(vq_config_write(c, &yaml, &bytes), VQ_OK);
    struct vq_config *again = NULL;
    struct vq_error err = {.text = ""};
    if (vq_config_parse(yaml, bytes, "again", "/elsewhere", NULL, 0, &again, &err) != VQ_OK) {
        fail_msg("%s\n%s", err.text, yaml);
    }
    vq_config_destroy(&c);
    assert_int_equal(again->models_count, 2);
    assert_int_equal(again->criteria_count, 4);
    assert_string_equal(again->criteria[1].kind, "likert");
    assert_string_equal(again->criteria[2].file, "/base/own/filed.txt");
    assert_int_equal(again->criteria[2].human_count, 2);
    assert_string_equal(again->criteria[2].human[1], "hb");
    assert_string_equal(again->criteria[3].rubric, "which: one");
    assert_int_equal(again->criteria[3].human_count, 1);
    assert_string_equal(again->criteria[3].human[0], "said");
    assert_int_equal(again->rating.repeats, 3);
    assert_int_equal(again->rating.positions, VQ_POSITIONS_ALTERNATE);
    assert_int_equal(again->rating.policy, VQ_RATING_PAPER);
    vq_config_destroy(&again);
    vq_free(yaml);
}

TEST(test_refusals_say_where_and_what_to_do)
{
    static const struct {
        const char *yaml, *where, *what;
    } wrong[] = {
        {"method: judge\nmodels: [a]\n", "run.yaml, criteria", "name the criteria of the ratings"},
        {"criteria: [refusal]\n", "models", "name the column that holds the outputs"},
        {"models: [a]\ncriteria:\n- refusl\n", "run.yaml, line 5, column 3, criteria[0]",
         "did you mean \"refusal\"?"},
        {"models: [a]\ncriteria: [zzz]\n", "criteria[0]", "built in are"},
        {"models: [a]\ncriteria: [general]\n", "criteria[0]", "name two columns"},
        {"models: [a]\ncriteria:\n- {name: X, rubric: r}\n", "line 5, column 3, criteria[0]",
         "needs a kind"},
        {"models: [a]\ncriteria: [{name: X, kind: liker, rubric: r}]\n", "criteria[0].kind",
         "did you mean likert?"},
        {"models: [a]\ncriteria: [{name: X, kind: likert, rubric: r, file: f}]\n", "criteria[0]",
         "leave out one of them"},
        {"models: [a]\ncriteria: [{name: X, kind: likert, rubric: \" \"}]\n", "criteria[0]",
         "describe the criterion for the judge"},
        {"models: [a]\ncriteria: [{name: refusal, kind: likert}]\n", "criteria[0]",
         "the built-in \"refusal\" is binary"},
        {"models: [a]\ncriteria: [" OWN ", {name: own, kind: binary, rubric: r}]\n", "criteria[1]",
         "already that of criteria[0]"},
        {"models: [a, b]\ncriteria: [{name: X, kind: likert, rubric: r, human: h}]\n",
         "criteria[0]", "name two human columns"},
        {"models: [a, b]\ncriteria: [{name: X, kind: pairwise, rubric: r, human: [h, i]}]\n",
         "criteria[0]", "name one human column"},
        {"models: [a]\nmethod: preset\ncriteria: [refusal]\n", "models", "two"},
        {"models: [a, b]\nmethod: preset\ncriteria: [refusal]\n", "criteria",
         "only method: judge and method: persona rate"},
        {"models: [a]\ncriteria: [refusal]\nvibes: [{name: X, low: l, high: h}]\n", "vibes",
         "leave it out"},
        {"models: [a]\ncriteria: [refusal]\njudging: {structured: on}\n", "judging.structured",
         "leave it out"},
        {"models: [a]\ncriteria: [refusal]\nrating: {repeats: 0}\n", "rating.repeats",
         "whole number from 1 to 100"},
        {"models: [a]\ncriteria: [refusal]\nrating: {policy: lenient}\n", "rating.policy",
         "one of strict|paper"},
        {"models: [a]\ncriteria: [refusal]\nrating: {position: both}\n", "rating",
         "did you mean \"positions\"?"},
    };
    for (size_t i = 0; i < VQ_COUNT(wrong); i++) {
        char yaml[1024] = HEAD;
        struct vq_config *config = NULL;
        struct vq_error err = {.text = ""};
        strcat(yaml, wrong[i].yaml);
        assert_int_equal(parse(yaml, &config, &err), VQ_INVALID);
        assert_null(config);
        if (strstr(err.text, wrong[i].where) == NULL || strstr(err.text, wrong[i].what) == NULL) {
            fail_msg("%s\ngives: %s\nwithout: %s ... %s", yaml, err.text, wrong[i].where,
                     wrong[i].what);
        }
    }
}
