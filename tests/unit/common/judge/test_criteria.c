/* Criteria: the built-in ones are their files, what they must hold, and what is refused of users'
 * files, with file and line. */

#include "tests/unit/test.h"

#include "common/judge/criteria.h"
#include "tests/unit/heap.h"

#include <stdio.h>
#include <string.h>

TEST(test_built_in_criteria_are_their_files)
{
    static const struct {
        const char *name;
        enum vq_rating_kind kind;
    } expected[] = {
        {"knowledge", VQ_RATING_LIKERT},         {"style", VQ_RATING_LIKERT},
        {"in_character", VQ_RATING_LIKERT},      {"openness", VQ_RATING_LIKERT},
        {"conscientiousness", VQ_RATING_LIKERT}, {"extraversion", VQ_RATING_LIKERT},
        {"agreeableness", VQ_RATING_LIKERT},     {"neuroticism", VQ_RATING_LIKERT},
        {"refusal", VQ_RATING_BINARY},           {"role_specific", VQ_RATING_PAIRWISE},
        {"general", VQ_RATING_PAIRWISE},
    };
    for (size_t i = 0; i < VQ_COUNT(expected); i++) {
        const struct vq_criterion *built_in = vq_criterion_at(i);
        assert_non_null(built_in);
        assert_string_equal(built_in->name, expected[i].name);
        assert_int_equal(built_in->kind, expected[i].kind);
        assert_ptr_equal(vq_criterion_builtin(expected[i].name), built_in);

        char path[512];
        static char text[VQ_CRITERION_BYTES_MAX];
        (void)snprintf(path, sizeof(path), "%s/prompts/criteria/%s.txt", VQ_SOURCE_DIR,
                       expected[i].name);
        FILE *file = fopen(path, "rb");
        assert_non_null(file);
        size_t bytes = fread(text, 1, sizeof(text), file);
        (void)fclose(file);
        struct vq_criterion *read = NULL;
        struct vq_error err = {""};
        if (vq_criterion_parse(vq_span(text, bytes), path, &read, &err) != VQ_OK) {
            fail_msg("%s", err.text);
        }
        assert_string_equal(read->name, built_in->name);
        assert_int_equal(read->kind, built_in->kind);
        assert_string_equal(read->about, built_in->about);
        assert_string_equal(read->rubric, built_in->rubric);
        vq_criterion_destroy(&read);
        assert_null(read);
    }
    assert_null(vq_criterion_at(VQ_COUNT(expected)));
    assert_null(vq_criterion_builtin("Knowledge"));
    assert_null(vq_criterion_builtin(""));
}

static size_t lines_with(const char *text, const char *front)
{
    size_t n = 0;
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        n += strncmp(line, front, strlen(front)) == 0;
    }
    return n;
}

/* What makes them usable by a judge: a meaning for every value; the traits by their six sides and
 * one ladder. */
TEST(test_built_in_rubrics_say_what_each_value_means)
{
    const struct vq_criterion *c;
    size_t traits = 0;
    for (size_t i = 0; (c = vq_criterion_at(i)) != NULL; i++) {
        if (c->kind == VQ_RATING_LIKERT) {
            for (int value = VQ_RATING_LIKERT_MIN; value <= VQ_RATING_LIKERT_MAX; value++) {
                char front[8];
                (void)snprintf(front, sizeof(front), "%d: ", value);
                assert_int_equal(lines_with(c->rubric, front), 1);
            }
        }
        if (c->kind == VQ_RATING_BINARY) {
            assert_int_equal(lines_with(c->rubric, "Yes: "), 1);
            assert_int_equal(lines_with(c->rubric, "No: "), 1);
        }
        if (strstr(c->rubric, "Six sides") != NULL) {
            traits++;
            assert_int_equal(lines_with(c->rubric, "- "), 6);
            assert_int_equal(lines_with(c->rubric, "1: strongly "), 1);
            assert_int_equal(lines_with(c->rubric, "2: a little "), 1);
            assert_int_equal(lines_with(c->rubric, "3: neutral"), 1);
            assert_int_equal(lines_with(c->rubric, "4: a little "), 1);
            assert_int_equal(lines_with(c->rubric, "5: strongly "), 1);
        }
    }
    assert_int_equal(traits, 5);
    assert_non_null(strstr(vq_criterion_builtin("general")->rubric, "perfect tie, answer A"));
}

TEST(test_a_users_file)
{
    static const char text[] = "\xEF\xBB\xBFkind:  pairwise \r\nabout: which is kinder\r\n \r\n\r\n"
                               "Kinder?\r\n\r\n- kind: {{words}}\r\n\r\n";
    struct vq_criterion *c = NULL;
    assert_int_equal(
        vq_criterion_parse(vq_span_str(text), "/some/where/my kindness.v2.txt", &c, NULL), VQ_OK);
    assert_string_equal(c->name, "my kindness.v2");
    assert_int_equal(c->kind, VQ_RATING_PAIRWISE);
    assert_string_equal(c->about, "which is kinder");
    assert_string_equal(c->rubric, "Kinder?\n\n- kind: {{words}}");
    vq_criterion_destroy(&c);
    vq_criterion_destroy(&c);
}

TEST(test_what_is_refused_says_where)
{
    static const struct {
        const char *text;
        const char *where;
        const char *says;
    } all[] = {
        {"", "k.txt:1:", "kind: likert"},
        {"kind: likert", "k.txt:2:", "about:"},
        {"kind:\nabout: x\n\nr\n", "k.txt:1:", "kind: likert"},
        {"kind: Likert\nabout: x\n\nr\n", "k.txt:1:", "kind: likert"},
        {"kinds: likert\nabout: x\n\nr\n", "k.txt:1:", "kind: likert"},
        {"\nkind: likert\nabout: x\n\nr\n", "k.txt:1:", "kind: likert"},
        {"kind: likert\nrubric\n", "k.txt:2:", "about:"},
        {"kind: likert\nabout: \n\nr\n", "k.txt:2:", "one sentence"},
        {"kind: likert\nabout: x\nr\n", "k.txt:3:", "an empty line"},
        {"kind: likert\nabout: x\n\n\n", "k.txt:4:", "the rubric is missing"},
        {"kind: likert\nabout: x\n", "k.txt:4:", "the rubric is missing"},
        {"kind: likert\nabout: x\n\nr\xFF\n", "k.txt:4:", "UTF-8"},
        {"kind: likert\nabout: x\n\nr\n\x01", "k.txt:5:", "control character"},
        {"kind: likert\nabout: x\n\nr\rs\n", "k.txt:4:", "control character"},
    };
    for (size_t i = 0; i < VQ_COUNT(all); i++) {
        struct vq_criterion *c = NULL;
        struct vq_error err = {""};
        assert_int_equal(vq_criterion_parse(vq_span_str(all[i].text), "k.txt", &c, &err),
                         VQ_INVALID);
        assert_null(c);
        if (strncmp(err.text, all[i].where, strlen(all[i].where)) != 0 ||
            strstr(err.text, all[i].says) == NULL) {
            fail_msg("case %zu: %s", i, err.text);
        }
    }
    struct vq_criterion *c = NULL;
    struct vq_error err = {""};
    static const char nul[] = "kind: likert\nabout: x\n\nr\0s\n";
    assert_int_equal(vq_criterion_parse(vq_span(nul, sizeof(nul) - 1), "k.txt", &c, &err),
                     VQ_INVALID);
    assert_non_null(strstr(err.text, "k.txt:4: a control character"));
}

TEST(test_limits)
{
    static char text[VQ_CRITERION_BYTES_MAX + 1];
    static const char front[] = "kind: binary\nabout: x\n\n";
    struct vq_criterion *c = NULL;
    struct vq_error err = {""};
    memset(text, 'r', sizeof(text));
    memcpy(text, front, sizeof(front) - 1);
    assert_int_equal(vq_criterion_parse(vq_span(text, sizeof(text)), "k.txt", &c, &err), VQ_LIMIT);
    assert_non_null(strstr(err.text, "k.txt: 16385 bytes"));
    assert_int_equal(vq_criterion_parse(vq_span(text, sizeof(text) - 1), "k.txt", &c, &err), VQ_OK);
    assert_int_equal(strlen(c->rubric), sizeof(text) - 1 - (sizeof(front) - 1));
    vq_criterion_destroy(&c);

    char about[VQ_CRITERION_ABOUT_BYTES_MAX + 64];
    int bytes = snprintf(about, sizeof(about), "kind: binary\nabout: %0*d\n\nr",
                         VQ_CRITERION_ABOUT_BYTES_MAX, 0);
    assert_int_equal(vq_criterion_parse(vq_span(about, (size_t)bytes), "k", &c, &err), VQ_OK);
    vq_criterion_destroy(&c);
    bytes = snprintf(about, sizeof(about), "kind: binary\nabout: %0*d\n\nr",
                     VQ_CRITERION_ABOUT_BYTES_MAX + 1, 0);
    assert_int_equal(vq_criterion_parse(vq_span(about, (size_t)bytes), "k", &c, &err), VQ_LIMIT);
    assert_non_null(strstr(err.text, "k:2:"));

    char name[VQ_CRITERION_NAME_BYTES_MAX + 2];
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    struct vq_span good = vq_span_str("kind: binary\nabout: x\n\nr");
    assert_int_equal(vq_criterion_parse(good, name, &c, &err), VQ_INVALID);
    assert_int_equal(vq_criterion_parse(good, name + 1, &c, &err), VQ_OK);
    vq_criterion_destroy(&c);
    assert_int_equal(vq_criterion_parse(good, "folder/", &c, &err), VQ_INVALID);
}

TEST(test_kinds_have_names)
{
    enum vq_rating_kind kind = VQ_RATING_PAIRWISE;
    for (unsigned i = 0; i <= VQ_RATING_PAIRWISE; i++) {
        const char *name = vq_criterion_kind_name((enum vq_rating_kind)i);
        assert_int_equal(vq_criterion_kind_find(vq_span_str(name), &kind), VQ_OK);
        assert_int_equal(kind, i);
    }
    assert_int_equal(vq_criterion_kind_find(vq_span_str("like"), &kind), VQ_NOT_FOUND);
}

static enum vq_status read_one(void *ctx)
{
    struct vq_criterion *c = NULL;
    struct vq_error err = {""};
    enum vq_status status = vq_criterion_parse(vq_span_str(ctx), "k.txt", &c, &err);
    assert_true((status == VQ_OK) == (c != NULL));
    assert_true((status == VQ_OK) == (err.text[0] == '\0'));
    vq_criterion_destroy(&c);
    return status;
}

TEST(test_no_memory)
{
    static char text[] = "kind: likert\nabout: x\n\nr\n";
    assert_true(heap_torture(text, read_one, text, false) >= 1);
}
