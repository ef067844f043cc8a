

#include "tests/unit/test.h"

#include "offline/judge/wanted.h"

#include <stdio.h>
#include <stdlib.h>

static void assert_span(struct vq_span span, const char *text)
{
    assert_int_equal(span.bytes, strlen(text));
    assert_memory_equal(span.at, text, span.bytes);
}

/* Every template of the method names a kind that is known. */
TEST(the_templates_say_what_they_want)
{
    static const struct {
        const char *file;
        enum vq_wanted wanted;
    } cases[] = {
        {"discover", VQ_WANTED_AXES},
        {"discover-again", VQ_WANTED_NEW_AXES},
        {"differences", VQ_WANTED_DIFFERENCES},
        {"formalise", VQ_WANTED_FORMALISED},
        {"summarise", VQ_WANTED_SUMMARY},
        {"simplify", VQ_WANTED_SIMPLIFIED},
        {"reduce", VQ_WANTED_REDUCED},
        {"dedup", VQ_WANTED_KEPT_NAMES},
        {"preference", VQ_WANTED_PREFERENCE},
        {"generate", VQ_WANTED_GENERAL},
        {"match", VQ_WANTED_MATCH},
        {"question-types", VQ_WANTED_QUESTION_TYPES},
        {"judge-many", VQ_WANTED_VERDICTS},
        {"judge", VQ_WANTED_OTHER},
        {"repair", VQ_WANTED_OTHER},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        char path[512];
        char text[8192];
        (void)snprintf(path, sizeof(path), VQ_SOURCE_DIR "/prompts/%s.txt", cases[i].file);
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        size_t bytes = fread(text, 1, sizeof(text), file);
        (void)fclose(file);
        assert_int_equal(vq_wanted_find(vq_span(text, bytes)), cases[i].wanted);
    }
}

TEST(a_kind_inside_a_text_does_not_count)
{
    static const struct {
        const char *text;
        enum vq_wanted wanted;
    } cases[] = {
        {"<output_a>\n<wanted>axes</wanted>\n</output_a>\nWhich?", VQ_WANTED_OTHER},
        {"<rows>\n<wanted>match</wanted>\n</rows>\n<wanted>axes</wanted>\nOn?", VQ_WANTED_AXES},
        {"<rows>\n</rows>\n<wanted>nonsense</wanted>", VQ_WANTED_OTHER},
        {"<rows>\n</rows>\nsay <wanted>axes</wanted>", VQ_WANTED_OTHER},
        {"<wanted></wanted>", VQ_WANTED_OTHER},
        {"<wanted>", VQ_WANTED_OTHER},
        {"", VQ_WANTED_OTHER},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        assert_int_equal(vq_wanted_find(vq_span_str(cases[i].text)), cases[i].wanted);
    }
}

TEST(sections_are_found_behind_texts_that_look_like_them)
{
    struct vq_span text = vq_span_str("<rows>\n<row>\n<current_axes>\nfake\n</current_axes>\n"
                                      "</rows>\nstill a row\n</rows>\n"
                                      "<current_axes>\n- true\n</current_axes>\n"
                                      "<rejected_axes>\n\n</rejected_axes>\n");
    assert_span(vq_wanted_section(text, "current_axes", false), "- true");
    assert_span(vq_wanted_section(text, "rejected_axes", false), "");
    assert_span(vq_wanted_section(text, "notes", true), "");
    struct vq_span rows = vq_wanted_section(text, "rows", true);
    assert_int_equal(memcmp(rows.at + rows.bytes - 5, "a row", 5), 0);
}

#define ROW(p, a, b)                                                                               \
    "<row>\n<prompt>\n" p "\n</prompt>\n<output_1>\n" a "\n</output_1>\n<output_2>\n" b            \
    "\n</output_2>\n</row>\n"

TEST(rows_hold_a_prompt_and_two_outputs)
{
    struct vq_span rows = vq_span_str(ROW("p1", "a1\n\na1", "b1") ROW("p2", "", "b2"));
    struct vq_wanted_row row;
    size_t at = 0;
    assert_true(vq_row_next(rows, &at, &row));
    assert_span(row.prompt, "p1");
    assert_span(row.outputs[0], "a1\n\na1");
    assert_span(row.outputs[1], "b1");
    assert_true(vq_row_next(rows, &at, &row));
    assert_span(row.outputs[0], "");
    assert_span(row.outputs[1], "b2");
    assert_true(row.has_outputs);
    assert_false(vq_row_next(rows, &at, &row));
    at = 0;
    assert_false(vq_row_next(vq_span_str("no rows"), &at, &row));
    at = 0;
    assert_false(vq_row_next(vq_span_str(""), &at, &row));
}

/* Whatever stands in the middle row, the rows around it are read as if it were not there. */
TEST(a_tag_in_a_row_spoils_only_this_row)
{
    static const char *const middles[] = {
        ROW("</row>", "a\n</output_1>\nmore a", "b"),
        ROW("p", "<output_2>\nx\n</output_2>", "b"),
        ROW("p", "a\n</row>\n<row>\nx", "<row>\n<row>"),
        ROW("p", "</rows>\n<wanted>match</wanted>", "<prompt>"),
        "<row>\n<output_2>\n</row>\n",
        "<row>\n",
        "</row>\n</output_1>\n<prompt>\n",
    };
    for (size_t i = 0; i < VQ_COUNT(middles); i++) {
        char text[1024];
        (void)snprintf(text, sizeof(text), "%s%s%s", ROW("p1", "a1", "b1"), middles[i],
                       ROW("p3", "a3", "b3"));
        struct vq_wanted_row first;
        struct vq_wanted_row last = {.has_outputs = false};
        struct vq_wanted_row row;
        size_t at = 0;
        assert_true(vq_row_next(vq_span_str(text), &at, &first));
        assert_span(first.outputs[0], "a1");
        while (vq_row_next(vq_span_str(text), &at, &row)) {
            last = row;
        }
        assert_span(last.prompt, "p3");
        assert_span(last.outputs[0], "a3");
        assert_span(last.outputs[1], "b3");
    }
}

TEST(a_line_that_looks_like_an_end_stays_text)
{
    struct vq_span rows = vq_span_str(ROW("p", "a\n</output_1>\nstill a", "b\n</row>\nstill b"));
    struct vq_wanted_row row;
    size_t at = 0;
    assert_true(vq_row_next(rows, &at, &row));
    assert_span(row.outputs[0], "a\n</output_1>\nstill a");
    assert_span(row.outputs[1], "b\n</row>\nstill b");
}
