/* What programs write into JSON lines that JSON does not have. */
#include "tests/unit/test.h"

#include "common/text/json_mend.h"

struct mending {
    const char *text, *mended;
    unsigned not_numbers, surrogates;
};

static void check(const struct mending *c)
{
    struct vq_buf work;
    struct vq_span got;
    struct vq_json_mended counts = {0, 0};
    vq_buf_init(&work, 1000);
    assert_int_equal(vq_json_mend(vq_span_str(c->text), &work, &counts, &got), VQ_OK);
    if (!vq_span_eq(got, vq_span_str(c->mended))) {
        fail_msg("%s gave %.*s, not %s", c->text, (int)got.bytes, got.at, c->mended);
    }
    assert_int_equal(counts.not_numbers, c->not_numbers);
    assert_int_equal(counts.surrogates, c->surrogates);
    vq_buf_free(&work);
}

TEST(test_what_is_mended)
{
    static const struct mending cases[] = {
        {"{\"a\": NaN}", "{\"a\": null}", 1, 0},
        {"{\"a\":-Infinity,\"b\":Infinity}", "{\"a\":null,\"b\":null}", 2, 0},
        {"[nan,inf,-inf,+Infinity,-NaN]", "[null,null,null,null,null]", 5, 0},
        {"{\"a\": 12345678901234567890}", "{\"a\": \"12345678901234567890\"}", 0, 0},
        {"{\"a\": -1e999}", "{\"a\": \"-1e999\"}", 0, 0},
        {"{\"a\": \"\\ud83d\"}", "{\"a\": \"\\ufffd\"}", 0, 1},
        {"{\"a\": \"x\\uDE00y\\uD83D\"}", "{\"a\": \"x\\ufffdy\\ufffd\"}", 0, 2},
        {"{\"\\ud83d\\ud83d\\ude00\": 1}", "{\"\\ufffd\\ud83d\\ude00\": 1}", 0, 1},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        check(&cases[i]);
    }
}

TEST(test_everything_else_stays)
{
    static const char *const texts[] = {
        "",
        "{\"NaN\": \"Infinity, \\\" NaN\", \"b\": [1, -2.5e10, true, false, null]}",
        "{\"a\": \"\\ud83d\\ude00 \\\\ud83d \\u00e9\"}",
        "{\"a\": NaNs, \"b\": None, \"c\": 01, \"d\": 1.2.3, \"e\": --1}",
        "{\"a\": \"NaN",
        "{\"a\": \"\\",
        "{\"a\": \"\\ud8",
        "{\"a\": 123456789012345678}",
        "{\"a\": 00000000000000000001}",
    };
    for (size_t i = 0; i < VQ_COUNT(texts); i++) {
        check(&(struct mending){texts[i], texts[i], 0, 0});
    }
}

TEST(test_the_limit)
{
    struct vq_buf work;
    struct vq_span got;
    struct vq_json_mended counts = {0, 0};
    vq_buf_init(&work, 4);
    assert_int_equal(vq_json_mend(vq_span_str("[NaN]"), &work, &counts, &got), VQ_LIMIT);
    vq_buf_free(&work);
}
