/* Options by table: every kind, every mistake, words among options; verbs and words that are
 * mistyped. */

#include "tests/unit/test.h"

#include "cli/opts.h"

#include <string.h>

struct fields {
    bool flag;
    const char *text;
    struct vq_opt_count count;
    struct vq_opt_list list, split;
};

#define AT(field) offsetof(struct fields, field)

static const struct vq_opt opts[] = {
    {"flag", VQ_OPT_FLAG, AT(flag), NULL, "a flag"},
    {"text", VQ_OPT_TEXT, AT(text), "TEXT", "a text"},
    {"count", VQ_OPT_COUNT, AT(count), "N", "a count"},
    {"list", VQ_OPT_LIST, AT(list), "ITEM", "items"},
    {"split", VQ_OPT_SPLIT, AT(split), "A,B", "items in one"},
    {0},
};

static int nothing(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return 0;
}

const struct vq_verb vq_verbs[] = {
    {"carry", "Carries", "WORD", NULL, opts, NULL, nothing},
    {"list", "Lists", "", NULL, opts, NULL, nothing},
    {0},
};

#define WORDS_MAX 80

/* Parses a copy of the words (parsing cuts into them), which stays until the next call. */
static enum vq_status parse(const char *const *words, struct fields *ret_fields, char **ret_argv,
                            int *ret_words, struct vq_error *err)
{
    static char texts[WORDS_MAX][256];
    int argc = 0;
    for (; words[argc] != NULL; argc++) {
        assert_true(argc < WORDS_MAX);
        strncpy(texts[argc], words[argc], sizeof(texts[argc]) - 1);
        ret_argv[argc] = texts[argc];
    }
    *ret_fields = (struct fields){.flag = false};
    *err = (struct vq_error){0};
    return vq_opts_parse(opts, argc, ret_argv, ret_fields, ret_words, err);
}

#define PARSE(...) parse((const char *const[]){__VA_ARGS__, NULL}, &f, argv, &words, &err)

TEST(test_every_kind)
{
    struct fields f;
    struct vq_error err;
    char *argv[WORDS_MAX];
    int words;
    assert_int_equal(PARSE("one", "--flag", "--text", "a b", "--count=7", "two", "--list", "x,y",
                           "--list=z", "--split", "p,q", "--split=r", "-"),
                     VQ_OK);
    assert_true(f.flag);
    assert_string_equal(f.text, "a b");
    assert_true(f.count.given);
    assert_int_equal(f.count.value, 7);
    assert_int_equal(f.list.count, 2);
    assert_string_equal(f.list.items[0], "x,y");
    assert_string_equal(f.list.items[1], "z");
    assert_int_equal(f.split.count, 3);
    assert_string_equal(f.split.items[1], "q");
    assert_string_equal(f.split.items[2], "r");
    assert_int_equal(words, 3);
    assert_string_equal(argv[0], "one");
    assert_string_equal(argv[1], "two");
    assert_string_equal(argv[2], "-");
}

TEST(test_nothing_is_given)
{
    struct fields f;
    struct vq_error err;
    char *argv[WORDS_MAX];
    int words;
    assert_int_equal(PARSE("word"), VQ_OK);
    assert_false(f.flag);
    assert_null(f.text);
    assert_false(f.count.given);
    assert_int_equal(f.list.count, 0);
    assert_int_equal(words, 1);
}

TEST(test_two_dashes_end_the_options)
{
    struct fields f;
    struct vq_error err;
    char *argv[WORDS_MAX];
    int words;
    assert_int_equal(PARSE("--flag", "--", "--text", "-x"), VQ_OK);
    assert_true(f.flag);
    assert_null(f.text);
    assert_int_equal(words, 2);
    assert_string_equal(argv[0], "--text");
    assert_string_equal(argv[1], "-x");
}

TEST(test_a_value_may_look_like_anything)
{
    struct fields f;
    struct vq_error err;
    char *argv[WORDS_MAX];
    int words;
    assert_int_equal(PARSE("--text", "--flag", "--list=a=b=c", "--count", "0"), VQ_OK);
    assert_string_equal(f.text, "--flag");
    assert_false(f.flag);
    assert_string_equal(f.list.items[0], "a=b=c");
    assert_true(f.count.given);
    assert_int_equal(f.count.value, 0);
}

TEST(test_mistakes_are_named)
{
    static const struct {
        const char *words[3];
        const char *says;
    } cases[] = {
        {{"--falg"}, "did you mean --flag?"},
        {{"--cuont=3"}, "did you mean --count?"},
        {{"--zebra"}, "unknown option --zebra"},
        {{"--flag=yes"}, "--flag takes no value"},
        {{"--text"}, "--text needs a value: --text TEXT"},
        {{"--text=a", "--text=b"}, "--text is given twice"},
        {{"--count", "x"}, "--count takes a whole number, not 'x'"},
        {{"--count", "-1"}, "whole number"},
        {{"--count", "1.5"}, "whole number"},
        {{"--count", ""}, "whole number"},
        {{"--count", "4294967296"}, "whole number"},
        {{"--count", "99999999999999999999999"}, "whole number"},
        {{"--split", "a,,b"}, "--split holds an empty name"},
        {{"--list="}, "--list holds an empty name"},
        {{"-t"}, "options begin with two dashes"},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        struct fields f;
        struct vq_error err;
        char *argv[WORDS_MAX];
        int words = -7;
        assert_int_equal(parse(cases[i].words, &f, argv, &words, &err), VQ_INVALID);
        if (strstr(err.text, cases[i].says) == NULL) {
            fail_msg("%s: %s", cases[i].words[0], err.text);
        }
        assert_int_equal(words, -7);
    }
}

TEST(test_lists_are_bounded)
{
    const char *many[WORDS_MAX] = {NULL};
    for (int i = 0; i < VQ_OPT_LIST_MAX + 1; i++) {
        many[i] = "--list=x";
    }
    struct fields f;
    struct vq_error err;
    char *argv[WORDS_MAX];
    int words;
    assert_int_equal(parse(many, &f, argv, &words, &err), VQ_INVALID);
    assert_non_null(strstr(err.text, "more than 64 times"));
    many[VQ_OPT_LIST_MAX] = NULL;
    assert_int_equal(parse(many, &f, argv, &words, &err), VQ_OK);
    assert_int_equal(f.list.count, VQ_OPT_LIST_MAX);
}

TEST(test_verbs)
{
    assert_ptr_equal(vq_verb_find("list"), &vq_verbs[1]);
    assert_null(vq_verb_find("lists"));
    assert_string_equal(vq_verb_nearest("carrry"), "carry");
    assert_string_equal(vq_verb_nearest("lsit"), "list");
    assert_null(vq_verb_nearest("zebra"));
}

TEST(test_exit_codes_follow_the_class)
{
    const struct vq_error err = {"a sentence of the test"};
    assert_int_equal(vq_cli_fail(VQ_INVALID, &err), VQ_EXIT_USAGE);
    assert_int_equal(vq_cli_fail(VQ_NOT_FOUND, NULL), VQ_EXIT_USAGE);
    assert_int_equal(vq_cli_fail(VQ_UNAVAILABLE, &err), VQ_EXIT_STOPPED);
    assert_int_equal(vq_cli_fail(VQ_NOMEM, &err), VQ_EXIT_INTERNAL);
    assert_int_equal(vq_cli_fail(VQ_BUG, &err), VQ_EXIT_INTERNAL);
    assert_int_equal(vq_cli_usage("carry", "%s", "a sentence of the test"), VQ_EXIT_USAGE);
}
