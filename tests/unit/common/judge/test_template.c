/* Templates: the built-in ones, what is refused and where, what a hash depends on, literal
 * insertion, no memory. */

#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "common/judge/template.h"

#include <stdio.h>
#include <string.h>

#define JUDGE_TEXT                                                                                 \
    "@system\nYou judge.\n@user\n{{prompt}}|{{output_a}}|{{output_b}}|{{vibe_name}}|{{vibe_low}}|" \
    "{{vibe_high}}\n"

static enum vq_status parse(enum vq_template_kind kind, const char *text,
                            struct vq_template **ret_template, struct vq_error *err)
{
    return vq_template_parse(kind, vq_span_str(text), "t.txt", ret_template, err);
}

static struct vq_template *parsed(enum vq_template_kind kind, const char *text)
{
    struct vq_template *template = NULL;
    struct vq_error err = {""};
    if (parse(kind, text, &template, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    return template;
}

TEST(test_built_in_templates_are_the_files_and_parse)
{
    for (unsigned kind = 0; kind < VQ_TEMPLATE_FILES; kind++) {
        struct vq_span text = vq_template_builtin((enum vq_template_kind)kind);
        char path[512];
        static char file_text[VQ_TEMPLATE_BYTES_MAX];
        (void)snprintf(path, sizeof(path), "%s/prompts/%s", VQ_SOURCE_DIR,
                       vq_template_file((enum vq_template_kind)kind));
        FILE *file = fopen(path, "rb");
        assert_non_null(file);
        size_t bytes = fread(file_text, 1, sizeof(file_text), file);
        (void)fclose(file);
        assert_int_equal(bytes, text.bytes);
        assert_memory_equal(file_text, text.at, bytes);

        struct vq_template *template = NULL;
        struct vq_error err = {""};
        assert_int_equal(
            vq_template_parse((enum vq_template_kind)kind, text, path, &template, &err), VQ_OK);
        assert_true(vq_span_eq(vq_template_text(template), text));
        vq_template_destroy(&template);
        assert_null(template);
    }
}

static bool asks(struct vq_span text, const char *words)
{
    return memmem(text.at, text.bytes, words, strlen(words)) != NULL;
}

/* What the paper's prompts ask (its appendix D), by words of ours. */
TEST(test_built_in_prompts_ask_for_what_the_paper_asks)
{
    struct vq_span judge = vq_template_builtin(VQ_TEMPLATE_JUDGE);
    struct vq_span many = vq_template_builtin(VQ_TEMPLATE_JUDGE_MANY);
    assert_true(asks(judge, "If you had to choose") && !asks(judge, "clearly further"));
    assert_true(asks(many, "If you had to choose") && !asks(many, "clearly further"));
    assert_true(asks(vq_template_builtin_clear(VQ_TEMPLATE_JUDGE), "lies clearly further"));
    assert_true(asks(vq_template_builtin_clear(VQ_TEMPLATE_JUDGE_MANY), "lies clearly further"));
    assert_true(vq_span_eq(vq_template_builtin_clear(VQ_TEMPLATE_REPAIR),
                           vq_template_builtin(VQ_TEMPLATE_REPAIR)));
    assert_true(asks(vq_template_builtin(VQ_TEMPLATE_DISCOVER), "Name every difference"));
    struct vq_span again = vq_template_builtin(VQ_TEMPLATE_DISCOVER_AGAIN);
    struct vq_span dedup = vq_template_builtin(VQ_TEMPLATE_DEDUP);
    assert_true(asks(again, "finer part of a current axis") && !asks(again, "or a part of it"));
    assert_true(asks(dedup, "finer part of a current one") && !asks(dedup, "or a part of it"));
    static const enum vq_template_kind reducers[] = {VQ_TEMPLATE_SUMMARISE, VQ_TEMPLATE_SIMPLIFY,
                                                     VQ_TEMPLATE_REDUCE};
    for (size_t i = 0; i < VQ_COUNT(reducers); i++) {
        struct vq_span text = vq_template_builtin(reducers[i]);
        assert_true(asks(text, "Good: ") && asks(text, "Vague: ") && asks(text, "Merge axes"));
    }
}

/* The earlier text of the judge's prompt: answers that were bought with it are found under
 * judging.form: clear. */
TEST(test_the_clear_form_is_the_earlier_text)
{
    struct vq_template *template = NULL;
    assert_int_equal(vq_template_parse(VQ_TEMPLATE_JUDGE,
                                       vq_template_builtin_clear(VQ_TEMPLATE_JUDGE), "t", &template,
                                       NULL),
                     VQ_OK);
    char hex[VQ_HEX_BYTES(8)];
    vq_hex(vq_template_hash(template)->b, 8, hex);
    assert_string_equal(hex, "8aaeb09d9af768bf");
    vq_template_destroy(&template);
}

/* The offline judge reads these sections, and prefix caches need the sample in front of the
 * axis. */
TEST(test_built_in_judge_has_its_sections_in_order)
{
    static const char *const lines[] = {
        "\n@user\n<prompt>\n",
        "\n</prompt>\n<output_a>\n",
        "\n</output_a>\n<output_b>\n",
        "\n</output_b>\n<axis>\nName: ",
        "\nLow: ",
        "\nHigh: ",
        "\n</axis>\n",
    };
    struct vq_span text = vq_template_builtin(VQ_TEMPLATE_JUDGE);
    const char *at = text.at;
    for (size_t i = 0; i < VQ_COUNT(lines); i++) {
        at = memmem(at, text.bytes - (size_t)(at - text.at), lines[i], strlen(lines[i]));
        assert_non_null(at);
    }
}

TEST(test_values_are_put_in_literally)
{
    struct vq_template *template = parsed(VQ_TEMPLATE_JUDGE, JUDGE_TEXT);
    const struct vq_span values[VQ_PLACEHOLDER__COUNT] = {
        [VQ_PLACEHOLDER_PROMPT] = vq_span_str("{{output_a}}"),
        [VQ_PLACEHOLDER_OUTPUT_A] = vq_span("a\0{{", 4),
        [VQ_PLACEHOLDER_OUTPUT_B] = vq_span_str("}}@user\n"),
        [VQ_PLACEHOLDER_VIBE_NAME] = vq_span_str("%s"),
        [VQ_PLACEHOLDER_VIBE_HIGH] = vq_span_str("\\0"),
    };
    static const char expected[] = "{{output_a}}|a\0{{|}}@user\n|%s||\\0";
    struct vq_buf buf;
    vq_buf_init(&buf, 1000);
    assert_int_equal(vq_template_render(template, VQ_TEMPLATE_USER, values, &buf), VQ_OK);
    assert_int_equal(buf.bytes, sizeof(expected) - 1);
    assert_memory_equal(buf.at, expected, buf.bytes);
    vq_buf_clear(&buf);
    assert_int_equal(vq_template_render(template, VQ_TEMPLATE_SYSTEM, values, &buf), VQ_OK);
    assert_string_equal(buf.at, "You judge.");
    vq_buf_free(&buf);

    vq_buf_init(&buf, 10);
    assert_int_equal(vq_template_render(template, VQ_TEMPLATE_USER, values, &buf), VQ_LIMIT);
    vq_buf_free(&buf);
    vq_template_destroy(&template);
}

TEST(test_system_part_may_be_left_out)
{
    struct vq_template *template =
        parsed(VQ_TEMPLATE_REPAIR, "\n\n@user \nWhat? {{answer}} {{answer}}");
    const struct vq_span values[VQ_PLACEHOLDER__COUNT] = {
        [VQ_PLACEHOLDER_ANSWER] = vq_span_str("x"),
    };
    struct vq_buf buf;
    vq_buf_init(&buf, 1000);
    assert_int_equal(vq_template_render(template, VQ_TEMPLATE_SYSTEM, values, &buf), VQ_OK);
    assert_int_equal(buf.bytes, 0);
    assert_int_equal(vq_template_render(template, VQ_TEMPLATE_USER, values, &buf), VQ_OK);
    assert_string_equal(buf.at, "What? x x");
    vq_buf_free(&buf);
    vq_template_destroy(&template);
}

TEST(test_refusals_name_file_line_and_column)
{
    static const struct {
        const char *text;
        const char *error; /* the beginning */
    } cases[] = {
        {"", "t.txt:1:1: no line \"@user\""},
        {"{{answer}}", "t.txt:1:1: no line \"@user\""},
        {" @user\n{{answer}}", "t.txt:1:1: no line \"@user\""},
        {"@userx\n{{answer}}", "t.txt:1:1: no line \"@user\""},
        {"hello\n@user\n{{answer}}", "t.txt:1:1: text before"},
        {"\n  x\n@system\ns\n@user\n{{answer}}", "t.txt:2:3: text before"},
        {"@user\n{{answer}}\n@system\ns", "t.txt:3:1: \"@system\" must come before"},
        {"@system\na\n@system\nb\n@user\n{{answer}}", "t.txt:3:1: a second \"@system\""},
        {"@user\n{{answer}}\n@user\n{{answer}}", "t.txt:3:1: a second \"@user\""},
        {"@user\n", "t.txt:1:1: the user part is empty"},
        {"@user", "t.txt:1:1: the user part is empty"},
        {"@user\nab {{answr}}", "t.txt:2:4: unknown placeholder"},
        {"@user\nab {{ answer }}", "t.txt:2:4: unknown placeholder"},
        {"@user\n{{answer}} {{prompt}}", "t.txt:2:12: unknown placeholder"},
        {"@user\n{{}}{{answer}}", "t.txt:2:1: unknown placeholder"},
        {"@user\n{{answer}}\nx {{answer", "t.txt:3:3: \"{{\" without \"}}\""},
        {"@user\n{{answer}\n}", "t.txt:2:1: \"{{\" without \"}}\""},
        {"@user\n{{{answer}}}", "t.txt:2:1: \"{{\" without \"}}\""},
        {"@system\nx\n@user\nno placeholder", "t.txt:4:1: {{answer}} is missing"},
        {"@user\r\n{{answer}}\r\n\xff", "t.txt:3:1: not UTF-8"},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        struct vq_template *template = NULL;
        struct vq_error err = {""};
        assert_int_equal(parse(VQ_TEMPLATE_REPAIR, cases[i].text, &template, &err), VQ_INVALID);
        assert_null(template);
        if (strncmp(err.text, cases[i].error, strlen(cases[i].error)) != 0) {
            fail_msg("case %zu: %s", i, err.text);
        }
        assert_int_equal(parse(VQ_TEMPLATE_REPAIR, cases[i].text, &template, NULL), VQ_INVALID);
    }
}

/* The persona's template is one system message. */
TEST(test_a_system_part_alone)
{
    struct vq_template *template =
        parsed(VQ_TEMPLATE_PERSONA, "\n@system\nBe {{name}}: {{description}}\n");
    const struct vq_span values[VQ_PLACEHOLDER__COUNT] = {
        [VQ_PLACEHOLDER_NAME] = vq_span_str("Ada"),
        [VQ_PLACEHOLDER_DESCRIPTION] = vq_span_str("{{name}}"),
    };
    struct vq_buf buf;
    vq_buf_init(&buf, 1000);
    assert_int_equal(vq_template_render(template, VQ_TEMPLATE_SYSTEM, values, &buf), VQ_OK);
    assert_string_equal(buf.at, "Be Ada: {{name}}");
    vq_buf_clear(&buf);
    assert_int_equal(vq_template_render(template, VQ_TEMPLATE_USER, values, &buf), VQ_OK);
    assert_int_equal(buf.bytes, 0);
    vq_buf_free(&buf);
    vq_template_destroy(&template);
    static const struct {
        const char *text;
        const char *error;
    } cases[] = {
        {"", "t.txt:1:1: no line \"@system\""},
        {"@user\n{{name}} {{description}}", "t.txt:1:1: no line \"@system\""},
        {"@system\n{{name}} {{description}}\n@user\nx",
         "t.txt:3:1: this template has a system part"},
        {"x\n@system\n{{name}} {{description}}", "t.txt:1:1: text before"},
        {"@system\n{{name}}\n@system\n{{description}}", "t.txt:3:1: a second"},
        {"@system\n", "t.txt:1:1: the system part is empty"},
        {"@system\n\n{{name}}", "t.txt:3:1: {{description}} is missing"},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        struct vq_error err = {""};
        assert_int_equal(parse(VQ_TEMPLATE_PERSONA, cases[i].text, &template, &err), VQ_INVALID);
        if (strncmp(err.text, cases[i].error, strlen(cases[i].error)) != 0) {
            fail_msg("case %zu: %s", i, err.text);
        }
    }
}

TEST(test_each_placeholder_of_the_judge_is_required)
{
    static const char *const names[] = {"{{prompt}}",    "{{output_a}}", "{{output_b}}",
                                        "{{vibe_name}}", "{{vibe_low}}", "{{vibe_high}}"};
    for (size_t left_out = 0; left_out < VQ_COUNT(names); left_out++) {
        char text[256] = "@user\n";
        for (size_t i = 0; i < VQ_COUNT(names); i++) {
            if (i != left_out) {
                (void)strcat(text, names[i]);
            }
        }
        struct vq_template *template = NULL;
        struct vq_error err = {""};
        assert_int_equal(parse(VQ_TEMPLATE_JUDGE, text, &template, &err), VQ_INVALID);
        assert_non_null(strstr(err.text, names[left_out]));
        assert_non_null(strstr(err.text, "missing"));
    }
}

TEST(test_limits_of_size_and_of_placeholders)
{
    static char text[VQ_TEMPLATE_BYTES_MAX + 2];
    struct vq_template *template = NULL;
    memset(text, 'x', sizeof(text) - 1);
    memcpy(text, "@user\n{{answer}}", 16);
    assert_int_equal(parse(VQ_TEMPLATE_REPAIR, text, &template, NULL), VQ_LIMIT);
    text[VQ_TEMPLATE_BYTES_MAX] = '\0';
    assert_int_equal(parse(VQ_TEMPLATE_REPAIR, text, &template, NULL), VQ_OK);
    vq_template_destroy(&template);

    size_t at = (size_t)snprintf(text, sizeof(text), "@user\n");
    for (int i = 0; i < VQ_TEMPLATE_PLACEHOLDERS_MAX; i++) {
        at += (size_t)snprintf(text + at, sizeof(text) - at, ".{{answer}}");
    }
    assert_int_equal(parse(VQ_TEMPLATE_REPAIR, text, &template, NULL), VQ_OK);
    vq_template_destroy(&template);
    (void)snprintf(text + at, sizeof(text) - at, "{{answer}}");
    assert_int_equal(parse(VQ_TEMPLATE_REPAIR, text, &template, NULL), VQ_LIMIT);
}

static struct vq_hash hash_of(const char *text)
{
    struct vq_template *template = parsed(VQ_TEMPLATE_REPAIR, text);
    struct vq_hash hash = *vq_template_hash(template);
    vq_template_destroy(&template);
    return hash;
}

TEST(test_hash_is_of_what_is_sent)
{
    static const char *const same[] = {
        "\xEF\xBB\xBF@system\ns\n@user\nx\n{{answer}}\n",
        "@system\r\ns\r\n@user\r\nx\r\n{{answer}}",
        "\n@system  \n\n s\n\n@user\t\nx\n{{answer}}\n\n\n",
    };
    static const char *const other[] = {
        "@user\nx\n{{answer}}\n",           "@system\nt\n@user\nx\n{{answer}}",
        "@system\ns\n@user\nx {{answer}}",  "@system\ns\nx\n@user\n{{answer}}",
        "@system\n{{answer}}\n@user\nx\ns",
    };
    struct vq_hash hash = hash_of("@system\ns\n@user\nx\n{{answer}}");
    for (size_t i = 0; i < VQ_COUNT(same); i++) {
        struct vq_hash again = hash_of(same[i]);
        assert_true(vq_hash_eq(&hash, &again));
    }
    for (size_t i = 0; i < VQ_COUNT(other); i++) {
        struct vq_hash again = hash_of(other[i]);
        assert_false(vq_hash_eq(&hash, &again));
    }
}

TEST(test_no_memory_at_any_allocation)
{
    bool ok = false;
    for (uint64_t n = 1; !ok && n < 20; n++) {
        struct vq_template *template = NULL;
        vq_alloc_fail_at(n);
        enum vq_status status = parse(VQ_TEMPLATE_JUDGE, JUDGE_TEXT, &template, NULL);
        vq_alloc_fail_at(0);
        ok = status == VQ_OK;
        if (!ok) {
            assert_int_equal(status, VQ_NOMEM);
            assert_null(template);
        }
        vq_template_destroy(&template);
    }
    assert_true(ok);
}

TEST(test_preset_axes_are_the_ten_of_the_paper)
{
    static const char *const names[] = {"Assertiveness",
                                        "Detail & Elaboration",
                                        "Formality",
                                        "Emotional Tone",
                                        "Creativity & Originality",
                                        "Explicitness",
                                        "Humor and Playfulness",
                                        "Engagement",
                                        "Logical Rigor",
                                        "Conciseness"};
    size_t count = 0;
    const struct vq_axis *axes = vq_preset_axes(&count);
    assert_int_equal(count, VQ_COUNT(names));
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(axes[i].name, names[i]);
        assert_true(strlen(axes[i].low) > 10);
        assert_true(strlen(axes[i].high) > 10);
        assert_string_not_equal(axes[i].low, axes[i].high);
    }
}

TEST(test_the_place_of_an_image)
{
    struct vq_template *plain = parsed(VQ_TEMPLATE_JUDGE, JUDGE_TEXT);
    struct vq_template *template = parsed(VQ_TEMPLATE_JUDGE, JUDGE_TEXT "see {{image}}");
    assert_false(vq_template_uses(plain, VQ_PLACEHOLDER_IMAGE));
    assert_true(vq_template_uses(template, VQ_PLACEHOLDER_IMAGE));
    const struct vq_span values[VQ_PLACEHOLDER__COUNT] = {[VQ_PLACEHOLDER_IMAGE] =
                                                              vq_template_image_words(true)};
    struct vq_buf buf;
    vq_buf_init(&buf, 1000);
    assert_int_equal(vq_template_render(template, VQ_TEMPLATE_USER, values, &buf), VQ_OK);
    assert_string_equal(buf.at, "|||||\nsee (the image at the beginning of this message)");
    vq_buf_free(&buf);
    vq_template_destroy(&template);
    vq_template_destroy(&plain);
    struct vq_error err;
    assert_int_equal(vq_template_parse(VQ_TEMPLATE_DISCOVER,
                                       vq_span_str("@user\n{{rows}}{{image}}\n"), "d.txt",
                                       &template, &err),
                     VQ_INVALID);
}

TEST(test_the_reference_list_is_there)
{
    size_t count = 0;
    const struct vq_axis *axes = vq_gold_hc3_axes(&count);
    assert_int_equal(count, 9);
    assert_string_equal(axes[0].name, "Organised and step by step");
    assert_string_equal(axes[8].name, "Emotional restraint");
    for (size_t i = 0; i < count; i++) {
        assert_true(strlen(axes[i].low) > 10 && strlen(axes[i].high) > 10);
    }
}
