/* The main result in a sentence, for each method, and for files that are damaged or foreign. */
#include "tests/unit/test.h"

#include "cli/ui/headline.h"

#include <stdio.h>

static void says(const char *results, const char *sentence)
{
    struct vq_buf out;
    vq_buf_init(&out, 4096);
    assert_int_equal(vq_ui_headline(vq_span_str(results), &out), VQ_OK);
    assert_string_equal(out.at == NULL ? "" : out.at, sentence);
    vq_buf_free(&out);
}

TEST(vibes)
{
    says(
        "{\"format\": 1, \"vibes\": [{\"name\": \"Warm\", \"kept\": true}, {\"name\": \"Long\", "
        "\"kept\": false}], \"mm\": {\"accuracy_test\": 0.915}, \"pp\": {\"accuracy_test\": null}}",
        "1 of 2 vibes kept: Warm; model matching 91.5 %");
    says("{\"format\": 1, \"vibes\": [{\"name\": \"A\", \"kept\": true}, {\"name\": \"B\", "
         "\"kept\": true}, {\"name\": \"C\", \"kept\": true}, {\"name\": \"D\", \"kept\": true}]}",
         "4 of 4 vibes kept: A, B, C and 1 more");
    says("{\"format\": 1, \"vibes\": []}", "0 of 0 vibes kept");
}

TEST(criteria)
{
    says("{\"format\": 1, \"kind\": \"judge\", \"criteria\": ["
         "{\"name\": \"general\", \"outputs\": [{\"model\": \"a\", \"win_rate\": 0.5417}]},"
         "{\"name\": \"refusal\", \"outputs\": [{\"model\": \"a\", \"rate\": 0.2}, {\"model\": "
         "\"b\", \"rate\": null}]},"
         "{\"name\": \"kind\", \"outputs\": [{\"model\": \"a\", \"mean\": 3.583}]}, {}]}",
         "general: a wins 54.2 %; refusal: a yes 20.0 %; kind: a mean 3.58 and 1 more");
}

TEST(measures)
{
    says("{\"format\": 1, \"personas\": [\"x\"], \"measures\": [{\"name\": \"style\", \"curves\": "
         "{\"goal\": {\"persona\": [{\"mean\": 5}, {\"mean\": 3.55}]}}}, {\"name\": \"fit\"}]}",
         "1 persona: style 5.00 at the start, 3.55 at the end; fit");
}

TEST(other_files_give_no_sentence)
{
    static const char *const files[] = {
        "",
        "x",
        "[]",
        "{}",
        "null",
        "{\"format\": 2, \"vibes\": []}",
        "{\"format\": 1}",
        "{\"format\": 1, \"vibes\": {}}",
        "{\"format\": 1, \"criteria\": 7}",
        "{\"format\": \"1\", \"vibes\": []}",
    };
    for (size_t i = 0; i < VQ_COUNT(files); i++) {
        says(files[i], "");
    }
    char deep[4 * VQ_UI_RESULTS_DEPTH_MAX];
    memset(deep, '[', sizeof(deep) - 1);
    deep[sizeof(deep) - 1] = '\0';
    says(deep, "");
}

TEST(names_of_others_are_cut_and_plain)
{
    char file[1024], name[VQ_UI_HEADLINE_NAME_BYTES + 1];
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    (void)snprintf(
        file, sizeof(file),
        "{\"format\": 1, \"vibes\": [{\"name\": \"a\\nb\\u202e\", \"kept\": true}, "
        "{\"name\": 5, \"kept\": true}, {\"name\": \"%.119s\xc3\xa4\xc3\xa4\", \"kept\": "
        "true}]}",
        name);
    struct vq_buf out;
    vq_buf_init(&out, 4096);
    assert_int_equal(vq_ui_headline(vq_span_str(file), &out), VQ_OK);
    assert_non_null(strstr(out.at, "kept: a b<U+202E>, ?, nnn"));
    assert_non_null(strstr(out.at, "n..."));
    assert_null(strchr(out.at, '\n'));
    vq_buf_free(&out);
}
