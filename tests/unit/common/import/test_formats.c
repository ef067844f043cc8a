/* Every format's sample, read and paired; shapes that are another format's are named with what was
 * expected and what was found. */
#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "common/import/import.h"
#include "common/pack/data_file.h"
#include "common/text/file.h"

#include <stdio.h>

struct sample {
    const char *format;
    const char *files[4];
    const char *csv;
};

static const struct sample samples[] = {
    {"arena-hard",
     {"arena-hard-question.jsonl", "arena-hard-alpha.jsonl", "arena-hard-beta.jsonl"},
     "id,question,alpha,beta\n"
     "q-01,How do I keep slugs off lettuce?,\"Beer traps, friend!\",Copper tape.\n"
     "q-02,Why does bread go stale?,Starch crystallises again.,Water leaves the starch.\n"},
    {"alpaca-eval",
     {"alpaca-eval.json"},
     "question,alpha,beta\n"
     "Name a river.,The Elbe.,\"The Oder, of course!\"\n"
     "\"Translate.\n\nHaus\",house,\"\"\"House\"\", as in \"\"home\"\".\"\n"},
    {"lm-eval",
     {"lm-eval-alpha.jsonl", "lm-eval-beta.jsonl"},
     "id,question,lm-eval-alpha,lm-eval-beta\n"
     "0,\"Q: 2 + 3?\nA:\",Two and three is 5.,5\n"
     "1,\"Q: 7 - 4?\nA:\",That makes 3.,3\n"},
    {"lm-eval",
     {"lm-eval-beta.jsonl", "lm-eval-alpha.jsonl"},
     "id,question,lm-eval-beta,lm-eval-alpha\n"
     "0,\"[system]\nBe brief.\n\n[user]\n2 + 3?\",5,Two and three is 5.\n"
     "1,7 - 4?,3,That makes 3.\n"},
    {"helm",
     {"helm-alpha.json", "helm-beta.json"},
     "id,question,own/alpha,own/beta\n"
     "id1,Who waters the garden?,\"The rain, says alpha.\",\"The rain, says beta.\"\n"
     "id1/lowercase,who waters the garden?,\"rain, says alpha\",\"rain, says beta\"\n"},
    {"inspect",
     {"inspect-alpha.json", "inspect-beta.json"},
     "id,question,own/alpha,own/beta\n"
     "1,Is a tomato a fruit?,\"Yes, alpha thinks.\",\"Yes, beta thinks.\"\n"
     "2,\"[system]\nBe kind.\n\n[user]\nIs a berry?\",\"It is, alpha says.\",\"It is, beta "
     "says.\"\n"
     "3,Only an error.,,\n"},
    {"promptfoo",
     {"promptfoo.json"},
     "question,alpha,own:beta\n"
     "Greet Ada.,Hello Ada!,\"Good day, Ada.\"\n"
     "Greet Bo.,\"{\"\"hello\"\":\"\"Bo\"\"}\",\n"},
    {"openai-chat",
     {"openai-chat-alpha.jsonl", "openai-chat-beta.jsonl"},
     "question,alpha,openai-chat-beta\n"
     "Hi?,Hi!,Good morning.\n"
     "\"[system]\nRhyme.\n\n[user]\nA cat?\",A hat.,On a mat.\n"},
};

static void read_sample(const char *file, struct vq_buf *ret_bytes)
{
    char path[400];
    struct vq_error err;
    (void)snprintf(path, sizeof(path), "%s/import/%s", VQ_TEST_DATA, file);
    if (vq_file_read(path, 1u << 20, ret_bytes, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
}

static void read_all(const struct sample *s, struct vq_import_set *set)
{
    vq_import_set_init(set);
    for (size_t f = 0; f < 4 && s->files[f] != NULL; f++) {
        struct vq_buf bytes;
        struct vq_error err = {.text = ""};
        read_sample(s->files[f], &bytes);
        if (vq_import_read(vq_import_format_find(s->format), vq_buf_span(&bytes), s->files[f], set,
                           &err) != VQ_OK) {
            fail_msg("%s", err.text);
        }
        vq_buf_free(&bytes);
    }
}

TEST(test_every_sample)
{
    static const char *const none[2] = {NULL, NULL};
    for (size_t i = 0; i < VQ_COUNT(samples); i++) {
        struct vq_import_set set;
        struct vq_import_pairing told;
        struct vq_error err = {.text = ""};
        struct vq_buf out;
        vq_buf_init(&out, 1u << 20);
        read_all(&samples[i], &set);
        if (vq_import_pair(&set, none, &out, &told, &err) != VQ_OK) {
            fail_msg("%s: %s", samples[i].format, err.text);
        }
        assert_string_equal(out.at, samples[i].csv);
        vq_buf_free(&out);
        vq_import_set_free(&set);
    }
}

TEST(test_every_format_has_a_sample)
{
    for (const struct vq_import_format *f = vq_import_formats; f->name != NULL; f++) {
        bool found = false;
        for (size_t i = 0; i < VQ_COUNT(samples); i++) {
            found = found || strcmp(samples[i].format, f->name) == 0;
        }
        assert_true(found);
    }
    assert_null(vq_import_format_find("nothing"));
}

static void refused(const char *format, const char *text, const char *says)
{
    struct vq_import_set set;
    struct vq_error err = {.text = ""};
    vq_import_set_init(&set);
    enum vq_status status =
        vq_import_read(vq_import_format_find(format), vq_span_str(text), "f", &set, &err);
    if (status == VQ_OK || strstr(err.text, says) == NULL) {
        fail_msg("%s of %s: \"%s\" is not in: %s", format, text, says, err.text);
    }
    vq_import_set_free(&set);
}

TEST(test_other_shapes)
{
    static const char *const cases[][3] = {
        {"arena-hard", "{\"id\": 1}",
         "f, line 1, question_id: expected an id (or uid), found nothing; the keys there are id. "
         "docs/use/import.md shows the format arena-hard"},
        {"arena-hard", "\n{\"question_id\": \"a\", \"choices\": [{\"turns\": 3}]}",
         "f, line 2, choices.0.turns: expected a list of turns, found a number"},
        {"arena-hard", "{\"question_id\": \"a\", \"choices\": [{\"turns\": []}]}",
         "choices.0.turns.0: expected a text, or an object with content, found nothing, in a list"},
        {"alpaca-eval", "[{\"instruction\": \"x\", \"output_1\": \"y\"}]",
         "f, record[0], output: expected a text (a file of outputs, not of annotations)"},
        {"alpaca-eval", "[3]", "f, record[0]: expected an object, found a number"},
        {"alpaca-eval", "[]", "holds no records of the format alpaca-eval"},
        {"lm-eval",
         "{\"doc_id\": 1, \"arguments\": [[\"x\", \" y\"]], \"resps\": [[[-1.5, false]]]}",
         "log-likelihoods cannot be compared"},
        {"lm-eval", "{\"doc_id\": 1, \"arguments\": 1, \"resps\": []}",
         "f, line 1, arguments: expected [[prompt, ...]]"},
        {"helm", "{\"results\": 1}", "request_states: expected a list, found nothing"},
        {"helm", "{\"request_states\": [{\"instance\": {\"id\": \"a\"}, \"result\": null}]}",
         "f, request_states[0], result.completions.0.text: expected a text, found nothing"},
        {"inspect", "{\"samples\": [{\"id\": 1, \"input\": \"x\", \"output\": {}}]}",
         "f, samples[0], output.completion: expected a text"},
        {"promptfoo", "{\"results\": {\"results\": [{\"prompt\": \"x\"}]}}",
         "f, results.results[0], prompt.raw: expected a text"},
        {"promptfoo", "{\"results\": {\"table\": 1}}", "results.results: expected a list"},
        {"openai-chat", "{\"prompt\": \"x\"}", "f, line 1, messages: expected a list of messages"},
        {"openai-chat", "{\"messages\": [{\"role\": \"user\", \"content\": \"x\"}]}",
         "an answer of the assistant, found a list of 1"},
        {"openai-chat", "{\"messages\": ", "f, line 1, column"},
        {"openai-chat", "\xff", "not valid UTF-8"},
        {"openai-chat", "", "holds no records"},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        refused(cases[i][0], cases[i][1], cases[i][2]);
    }
    char deep[300];
    memset(deep, '[', 200);
    deep[200] = '\0';
    refused("helm", deep, "nested deeper than 64");
}

TEST(test_every_allocation_may_fail)
{
    struct vq_buf bytes;
    read_sample("inspect-alpha.json", &bytes);
    enum vq_status status = VQ_NOMEM;
    for (uint64_t i = 1; status == VQ_NOMEM; i++) {
        struct vq_import_set set;
        struct vq_error err = {.text = ""};
        vq_import_set_init(&set);
        vq_alloc_fail_at(i);
        status =
            vq_import_read(vq_import_format_find("inspect"), vq_buf_span(&bytes), "f", &set, &err);
        vq_alloc_fail_at(0);
        vq_import_set_free(&set);
    }
    assert_int_equal(status, VQ_OK);
    vq_buf_free(&bytes);
}
