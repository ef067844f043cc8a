/* What models and users wrote, read with every allocation failing in turn: verdicts, lists of axes,
 * templates, vectors. */

#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "common/judge/alike.h"
#include "common/judge/axes.h"
#include "common/judge/request.h"
#include "common/judge/template.h"
#include "common/judge/vectors.h"
#include "common/judge/verdict_many.h"
#include "tests/unit/heap.h"

struct said {
    const char *answer;
    enum vq_outcome outcome;
};

static enum vq_status one_verdict(void *ctx)
{
    const struct said *said = ctx;
    enum vq_outcome outcome =
        vq_verdict_of(VQ_STAGE_RANK, vq_span_str(said->answer), vq_span_str("stop"), false);
    if (outcome != VQ_OUTCOME_NONE) {
        assert_int_equal(outcome, said->outcome);
    }
    return outcome == VQ_OUTCOME_NONE ? VQ_NOMEM : VQ_OK;
}

/* Without memory nothing is said of an answer: above all not that it cannot be read, or what its
 * text would say otherwise. */
TEST(a_verdict)
{
    static const struct said all[] = {
        {"{\"analysis\": \"Model: B would be wrong\", \"model\": \"A\"}", VQ_OUTCOME_FIRST},
        {"```json\n{\"model\": \"B\", \"analysis\": \"one two three four five six seven\"}\n```",
         VQ_OUTCOME_SECOND},
        {"{\"model\": \"A\", \"analysis\": \"x\", \"more\": nothing}", VQ_OUTCOME_FIRST},
    };
    for (size_t i = 0; i < VQ_COUNT(all); i++) {
        struct said said = all[i];
        assert_true(heap_torture(said.answer, one_verdict, &said, false) > 3);
    }
}

static enum vq_status many_verdicts(void *ctx)
{
    const char *answer = ctx;
    enum vq_outcome verdicts[VQ_VERDICTS_MAX] = {VQ_OUTCOME_BLOCKED};
    uint32_t votes = 77;
    enum vq_status status =
        vq_verdicts_many(vq_span_str(answer), VQ_ENDING_ORDINARY, 3, verdicts, &votes);
    if (status == VQ_OK) {
        assert_int_equal(votes, 3);
        assert_int_equal(verdicts[0], VQ_OUTCOME_FIRST);
        assert_int_equal(verdicts[2], VQ_OUTCOME_EQUAL);
    } else {
        assert_int_equal(votes, 77);
        assert_int_equal(verdicts[0], VQ_OUTCOME_BLOCKED);
    }
    return status;
}

TEST(verdicts_on_several_axes)
{
    static char *const answers[] = {
        "{\"1\": \"A\", \"2\": {\"label\": \"B\"}, \"Property 3\": \"equal\"}",
        "Here they are:\n[\"A\", \"B\", \"equal\"]",
        "[{\"property\": 1, \"model\": \"A\"}, {\"property\": 2, \"model\": \"B\"}, "
        "{\"property\": 3, \"model\": \"equal\"}]",
        "Property 1: {\"model\": \"A\", \"why\": \"or B\"}\nProperty 2: {\"model\": \"B\"}\n"
        "Property 3: {\"model\": \"equal\", \"why\": \"A or B\"}\n",
    };
    for (size_t i = 0; i < VQ_COUNT(answers); i++) {
        assert_true(heap_torture(answers[i], many_verdicts, answers[i], false) > 3);
    }
}

static enum vq_status axes(void *ctx)
{
    struct vq_axes list = {.count = 0};
    enum vq_status status = vq_axes_parse(vq_span_str(ctx), &list);
    if (status == VQ_OK) {
        assert_true(list.count >= 2);
    } else {
        assert_true(list.items == NULL && list.count == 0 && list.rejected.count == 0);
    }
    vq_axes_free(&list);
    return status;
}

static enum vq_status names(void *ctx)
{
    struct vq_lines lines = {.count = 0};
    enum vq_status status = vq_axes_names_parse(vq_span_str(ctx), &lines);
    assert_true(status == VQ_OK ? lines.count >= 2 : lines.items == NULL);
    vq_lines_free(&lines);
    if (status == VQ_OK) {
        status = vq_lines_parse(vq_span_str(ctx), &lines);
        assert_true(status == VQ_OK ? lines.count >= 2 : lines.items == NULL);
        vq_lines_free(&lines);
    }
    return status;
}

TEST(lists_of_axes)
{
    static char *const lists[] = {
        "- Formality: High: very formal Low: casual\n- Length: High: long Low: short\n"
        "- Broken item without ends\n- Formality: High: very formal Low: casual\n",
        "1. **Tone**\n   High: warm and kind\n   Low: cold\n2. **Depth**\n   High: deep\n   Low: "
        "shallow\n",
        "[{\"name\": \"Tone\", \"high\": \"warm\", \"low\": \"cold\"}, {\"name\": \"De\\u0070th\", "
        "\"high\": \"deep\", \"low\": \"shallow\"}]",
        "```json\n[\"Tone: High: warm Low: cold\", \"Depth: High: deep Low: shallow\"]\n```",
        "[\"Tone: High: warm Low: cold\",\n'Depth: High: it\\'s deep Low: shallow']",
    };
    for (size_t i = 0; i < VQ_COUNT(lists); i++) {
        assert_true(heap_torture(lists[i], axes, lists[i], false) > 5);
    }
    static char *const lines[] = {"- Tone\n- \"Depth\": High: deep\n", "1) one\n2) two\n3) three",
                                  "one\ntwo"};
    for (size_t i = 0; i < VQ_COUNT(lines); i++) {
        assert_true(heap_torture(lines[i], names, lines[i], false) > 3);
    }
}

static enum vq_status adding(void *ctx)
{
    (void)ctx;
    struct vq_axes list = {.count = 0};
    enum vq_status status = VQ_OK;
    for (size_t i = 0; i < 40 && status == VQ_OK; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "Axis %zu", i);
        status = vq_axes_add(&list, vq_span_str(name), vq_span_str("low"), vq_span_str("high"));
        assert_int_equal(list.count, i + (status == VQ_OK));
    }
    vq_axes_free(&list);
    return status;
}

static enum vq_status folding(void *ctx)
{
    (void)ctx;
    struct vq_axis list[] = {{"Tone", "cold", "warm"}, {"Depth", "shallow", "deep"}};
    struct vq_buf out;
    vq_buf_init(&out, 1000);
    vq_axes_name_fold(vq_span_str("The  TONE!"), &out);
    vq_axes_format(list, 2, VQ_AXES_NUMBERED, &out);
    enum vq_status status = out.status;
    vq_buf_free(&out);
    return status;
}

TEST(axes_put_together)
{
    assert_true(heap_torture("add", adding, NULL, false) > 40);
    assert_true(heap_torture("fold", folding, NULL, false) > 0);
}

static enum vq_status template(void *ctx) {
    struct vq_template *t = NULL; struct vq_error err = {.text = ""};
        enum vq_status status =
            vq_template_parse(VQ_TEMPLATE_JUDGE, vq_span_str(ctx), "mine.txt", &t, &err);
        if (status != VQ_OK){assert_null(t); return status;
}
struct vq_judge judge = {.name = "j",
                         .model = "m",
                         .dialect = "openai",
                         .identity = "i",
                         .max_tokens_field = "max_tokens",
                         .truncate = true};
struct vq_asker asker;
vq_asker_init(&asker, &judge, t, NULL);
struct vq_sample sample = {vq_span_str("p"), vq_span_str("a long output"), vq_span_str("b")};
struct vq_axis axis = {"Tone", "cold", "warm"};
struct vq_buf system, user;
vq_buf_init(&system, 4096);
vq_buf_init(&user, 4096);
status = vq_request_render(&asker, &sample, &axis, 1, 5, &system, &user);
assert_true(status != VQ_OK || strcmp(user.at, "p b a lon Tone cold warm") == 0);
vq_buf_free(&system);
vq_buf_free(&user);
vq_template_destroy(&t);
return status;
}

TEST(a_template)
{
    char text[] = "@system\nBe brief.\n@user\n{{prompt}} {{output_a}} {{output_b}} {{vibe_name}} "
                  "{{vibe_low}} {{vibe_high}}\n";
    assert_true(heap_torture("template", template, text, false) > 3);
}

static enum vq_status vectors(void *ctx)
{
    (void)ctx;
    const float values[6] = {1, 2, 3, 4, 5, 6};
    struct vq_buf buf;
    vq_buf_init(&buf, 4096);
    enum vq_status status = vq_vectors_encode(values, 2, 3, &buf);
    float *read = NULL;
    uint32_t count = 0, dims = 0;
    if (status == VQ_OK) {
        status = vq_vectors_decode(vq_buf_span(&buf), &read, &count, &dims);
        assert_true(status == VQ_OK ? count == 2 && dims == 3 && read[5] == 6 : read == NULL);
    } else {
        assert_int_equal(buf.bytes, 0);
    }
    vq_free(read);
    vq_buf_free(&buf);
    return status;
}

TEST(packed_vectors)
{
    assert_int_equal(heap_torture("vectors", vectors, NULL, false), 2);
}

static enum vq_status two_alike(void *ctx)
{
    const struct vq_chain_asked *asked = ctx;
    struct vq_chain_alike alike[2];
    bool any = false;
    enum vq_status status = vq_chains_alike(asked, 2, alike, &any);
    assert_int_equal(any, status == VQ_OK);
    return status;
}

TEST(dialogues_that_begin_alike)
{
    const struct vq_span query = vq_span("\1\0\0\0q", 5);
    const struct vq_chain_asked asked[2] = {{.queries = query}, {.queries = query}};
    assert_true(heap_torture("alike", two_alike, (void *)(uintptr_t)asked, true) > 0);
}
