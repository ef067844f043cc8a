/* Words for a missing value, and lists of one string. */
#include "tests/unit/test.h"

#include "common/text/cell.h"

TEST(test_words_for_a_missing_value)
{
    static const char *const words[] = {"nan",  "NaN",     "null", "NULL",
                                        "None", " none\n", "N/A",  "<NA>"};
    static const char *const texts[] = {"", " ", "none of them", "nano", "No", "0", "[]", "-"};
    for (size_t i = 0; i < VQ_COUNT(words); i++) {
        assert_true(vq_cell_is_missing_word(vq_span_str(words[i])));
    }
    for (size_t i = 0; i < VQ_COUNT(texts); i++) {
        assert_false(vq_cell_is_missing_word(vq_span_str(texts[i])));
    }
}

TEST(test_lists_of_one)
{
    static const char *const cases[][2] = {
        {"[\"a\"]", "a"},
        {"['a']", "a"},
        {" [ 'it is \"so\"' ]\n", "it is \"so\""},
        {"[\"it's\"]", "it's"},
        {"['it\\'s\\n\\tx\\\\']", "it's\n\tx\\"},
        {"[\"\\u00e9\\ud83d\\ude00\\/\"]", "\xc3\xa9\xf0\x9f\x98\x80/"},
        {"['\\xe9\\U0001F600']", "\xc3\xa9\xf0\x9f\x98\x80"},
        {"['\\ud83d\\x00']", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"['\\ud83d\\u0041']", "\xef\xbf\xbd"
                               "A"},
        {"[\"]\"]", "]"},
        {"['']", ""},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        struct vq_buf out;
        vq_buf_init(&out, 100);
        assert_true(vq_cell_is_list_of_one(vq_span_str(cases[i][0]), NULL));
        assert_true(vq_cell_is_list_of_one(vq_span_str(cases[i][0]), &out));
        if (!vq_span_eq(vq_buf_span(&out), vq_span_str(cases[i][1]))) {
            fail_msg("%s gave %.*s", cases[i][0], (int)out.bytes, out.at == NULL ? "" : out.at);
        }
        vq_buf_free(&out);
    }
}

TEST(test_other_texts)
{
    static const char *const texts[] = {
        "",     "a",         "[]",       "[a]",       "[1]",         "['a', 'b']", "['a' 'b']",
        "['a",  "['a\"]",    "[\"a\"",   "('a',)",    "[['a']]",     "['a'] x",    "['\\q']",
        "['\\", "['\\u12']", "['\\x1']", "[\"a\\\"]", "['a'] ['b']", "[NaN]",      "[ ]",
    };
    for (size_t i = 0; i < VQ_COUNT(texts); i++) {
        if (vq_cell_is_list_of_one(vq_span_str(texts[i]), NULL)) {
            fail_msg("%s is taken for a list of one", texts[i]);
        }
    }
}
