/* The files of a persona evaluation: personas and their labels, lists of queries, items. What is
 * read in which form, and what is refused where. */

#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "common/conf/items_file.h"
#include "common/conf/personas_file.h"
#include "common/conf/queries_file.h"

#include <string.h>

#define LABELS                                                                                     \
    "openness: 1\n    conscientiousness: 2\n    extraversion: 3\n    agreeableness: 4.5\n"

/* ---- personas ---- */

static struct vq_personas_file personas_of(const char *text)
{
    struct vq_personas_file file;
    struct vq_error err = {""};
    if (vq_personas_file_parse(vq_span_str(text), "p.yaml", &file, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    return file;
}

TEST(personas_in_every_form)
{
    static const char *const forms[] = {
        "Ada: You count.\nempty: ''\nBo: |\n  You sail.\n",
        "{\n\t\"Ada\": \"You count.\",\n\t\"Bo\": \"You sail.\\n\", \"empty\": \"\"}",
        "- name: Ada\n  description: You count.\n- {name: none, description: }\n"
        "- name: Bo\n  description: \"You sail.\\n\"\n",
        "personas:\n  Ada: {description: You count.}\n  empty: {description: ''}\n"
        "  Bo: \"You sail.\\n\"\n",
    };
    for (size_t i = 0; i < VQ_COUNT(forms); i++) {
        struct vq_personas_file file = personas_of(forms[i]);
        assert_int_equal(file.count, 2);
        assert_true(file.baseline);
        assert_string_equal(file.personas[0].name, "Ada");
        assert_string_equal(file.personas[0].description, "You count.");
        assert_string_equal(file.personas[1].name, "Bo");
        assert_string_equal(file.personas[1].description, "You sail.\n");
        assert_false(file.personas[0].labelled);
        vq_personas_file_free(&file);
    }
}

/* As other lists of one: no personas called "name" and "description". */
TEST(one_persona_as_its_map)
{
    static const char *const forms[] = {
        "name: Ada\ndescription: You count.\n",
        "personas: {description: You count., name: Ada}\n",
    };
    for (size_t i = 0; i < VQ_COUNT(forms); i++) {
        struct vq_personas_file file = personas_of(forms[i]);
        assert_int_equal(file.count, 1);
        assert_string_equal(file.personas[0].name, "Ada");
        assert_string_equal(file.personas[0].description, "You count.");
        vq_personas_file_free(&file);
    }
}

TEST(labels_of_personas)
{
    struct vq_personas_file file =
        personas_of("- name: Ada\n  description: You count.\n  big_five:\n"
                    "    " LABELS "    Neuroticism: 5\n"
                    "- {name: Bo, description: You sail.}\n");
    static const double ada[] = {1, 2, 3, 4.5, 5};
    assert_true(file.personas[0].labelled && !file.personas[1].labelled);
    assert_memory_equal(file.personas[0].big_five, ada, sizeof(ada));
    static const char sets[] =
        "{\"Bo\": {\"crowd\": {\"Openness\": 2, \"Conscientiousness\": 2, \"Extraversion\": 2, "
        "\"Agreeableness\": 2, \"Neuroticism\": 2}, \"experts\": {\"Openness\": 3, "
        "\"Conscientiousness\": 3, \"Extraversion\": 3, \"Agreeableness\": 3, \"Neuroticism\": 3}},"
        " \"Cy\": 1}";
    struct vq_error err;
    assert_int_equal(vq_personas_file_label(vq_span_str(sets), "l.json", NULL, &file, &err),
                     VQ_INVALID);
    assert_non_null(strstr(err.text, "l.json, line 1, column 2, Bo: there are several sets"));
    assert_int_equal(vq_personas_file_label(vq_span_str(sets), "l.json", "x", &file, &err),
                     VQ_INVALID);
    assert_false(file.personas[1].labelled);
    assert_int_equal(vq_personas_file_label(vq_span_str(sets), "l.json", "experts", &file, &err),
                     VQ_OK);
    assert_true(file.personas[1].labelled && file.personas[1].big_five[4] == 3);
    assert_memory_equal(file.personas[0].big_five, ada, sizeof(ada));
    assert_int_equal(vq_personas_file_label(vq_span_str("Cy: 1\n"), "l.yaml", NULL, &file, &err),
                     VQ_NOT_FOUND);
    static const char plain[] = "Bo: {openness: 1, conscientiousness: 1, extraversion: 1, "
                                "agreeableness: 1, neuroticism: 1}\n";
    assert_int_equal(vq_personas_file_label(vq_span_str(plain), "l.yaml", NULL, &file, &err),
                     VQ_OK);
    assert_true(file.personas[1].big_five[0] == 1);
    vq_personas_file_free(&file);
}

TEST(wrong_personas_are_named)
{
    static const struct {
        const char *text, *says;
    } wrong[] = {
        {"just a text", "expected a list of personas"},
        {"[]", "expected a list of personas"},
        {"- Ada\n", "p.yaml, line 1, column 3, personas[0]: a persona is a map"},
        {"- name: Ada\n", "line 1, column 3, personas[0]: a persona needs a description"},
        {"- description: x\n", "a persona needs a name"},
        {"Ada: x\nBo: [x]\n", "line 2, column 1, personas[1]: a persona needs a description"},
        {"- {name: Ada, description: x}\n- {name: Ada, description: y}\n",
         "line 2, column 4, personas[1]: a second persona named \"Ada\""},
        {"Ada: {description: x, age: 3}\n", "only, not \"age\""},
        {"Ada: {description: x, big_five: {openness: 6}}\n", "openness is a number from 1 to 5"},
        {"Ada: {description: x, big_five: {openness: x}}\n", "openness is a number from 1 to 5"},
        {"Ada: {description: x, big_five: {opennes: 1}}\n", "\"opennes\" is not one of the five"},
        {"Ada: {description: x, big_five: {openness: 1}}\n", "conscientiousness is missing"},
        {"Ada: {description: x, big_five: 3}\n", "expected a map of the five traits"},
        {"a: ''\nb: ''\n", "a second persona without a description"},
        {"a: ''\n", "no persona has a description"},
        {"a: x\na: y\n", "given twice"},
        {"\"a\\nb\": x\n", "a name of one line"},
    };
    for (size_t i = 0; i < VQ_COUNT(wrong); i++) {
        struct vq_personas_file file = {.count = 7};
        struct vq_error err = {""};
        assert_int_equal(vq_personas_file_parse(vq_span_str(wrong[i].text), "p.yaml", &file, &err),
                         VQ_INVALID);
        if (strstr(err.text, wrong[i].says) == NULL) {
            fail_msg("\"%s\" does not say \"%s\"", err.text, wrong[i].says);
        }
        assert_int_equal(file.count, 7);
    }
}

/* JSON's pairs of escapes; what looks like one and is none. */
TEST(json_escapes)
{
    struct vq_personas_file file =
        personas_of("{\"A\": \"\\ud83d\\ude00 \\uD83D\\uDE00\\u00e9 \\\\ud83d\\\\ude00 \\/\"}");
    assert_string_equal(file.personas[0].description, "😀 😀é \\ud83d\\ude00 /");
    vq_personas_file_free(&file);
    struct vq_error err = {""};
    assert_int_equal(
        vq_personas_file_parse(vq_span_str("{\"A\": \"\\ud83d x\"}"), "p.json", &file, &err),
        VQ_INVALID);
    assert_non_null(strstr(err.text, "p.json, line 1"));
}

/* ---- queries ---- */

static struct vq_queries_file queries_of(const char *name, const char *text)
{
    struct vq_queries_file file;
    struct vq_error err = {""};
    if (vq_queries_file_parse(vq_span_str(text), name, &file, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    return file;
}

TEST(queries_in_every_form)
{
    static const char *const forms[][2] = {
        {"q.txt", "\xef\xbb\xbfWho are you?\r\n\n  \nWhere, then?"},
        {"q.csv", "n,question\n1,Who are you?\n2,\"Where, then?\"\n"},
        {"q.CSV", "whatever\nWho are you?\n\"Where, then?\"\n"},
        {"q.jsonl", "{\"query\": \"Who are you?\"}\n{\"query\": \"Where, then?\"}\n"},
        {"q.json", "[\"Who are you?\", \"Where, then?\"]"},
        {"q.yaml", "questions:\n- Who are you?\n- Where, then?\n"},
    };
    for (size_t i = 0; i < VQ_COUNT(forms); i++) {
        struct vq_queries_file file = queries_of(forms[i][0], forms[i][1]);
        assert_int_equal(file.count, 2);
        assert_string_equal(file.questions[0], "Who are you?");
        assert_string_equal(file.questions[1], "Where, then?");
        assert_true(file.opening == NULL && file.closing == NULL);
        vq_queries_file_free(&file);
    }
}

TEST(remarks)
{
    struct vq_queries_file file = queries_of(
        "q.json", "{\"prompt\": \"p\", \"introductory_remark\": \"Hello {role}, {role}!\", "
                  "\"questions\": [\"What is {role}?\"], \"concluding_remark\": \"Bye {rol}.\"}");
    struct vq_buf out;
    vq_buf_init(&out, 1000);
    vq_remark_render(file.opening, vq_span_str("{role} Bo"), &out);
    assert_string_equal(out.at, "Hello {role} Bo, {role} Bo!");
    vq_buf_clear(&out);
    vq_remark_render(file.closing, vq_span_str("Bo"), &out);
    assert_string_equal(out.at, "Bye {rol}.");
    assert_string_equal(file.questions[0], "What is {role}?");
    vq_buf_free(&out);
    vq_queries_file_free(&file);
}

TEST(wrong_queries_are_named)
{
    static const struct {
        const char *name, *text, *says;
    } wrong[] = {
        {"q.txt", "", "q.txt has no queries"},
        {"q.txt", "a\xff", "not UTF-8"},
        {"q.csv", "a,b\n1,2\n", "q.csv has no column \"question\""},
        {"q.csv", "n,text\n1,x\n2, \n", "q.csv, line 3, text: a query without text"},
        {"q.json", "{\"opening\": \"x\"}", "q.json has no queries"},
        {"q.json", "[\"a\", 3, []]", "questions[2]: a query is a text"},
        {"q.yaml", "- a\n-\n", "line 2, column 2, questions[1]: a query is a text"},
        {"q.yaml", "questions: x\n", "expected a list of texts"},
        {"q.yaml", "questions: [x]\nask: y\n", "line 2, column 1: a list of queries has"},
        {"q.yaml", "questions: [x]\nopening: a\nintroductory_remark: b\n", "duplicate remark"},
        {"q.yaml", "questions: [x]\nqueries: [x]\n", "a second list"},
        {"q.yaml", "questions: [x]\nclosing: [y]\n", "a remark is a text"},
    };
    for (size_t i = 0; i < VQ_COUNT(wrong); i++) {
        struct vq_queries_file file = {.count = 7};
        struct vq_error err = {""};
        assert_int_equal(
            vq_queries_file_parse(vq_span_str(wrong[i].text), wrong[i].name, &file, &err),
            VQ_INVALID);
        if (strstr(err.text, wrong[i].says) == NULL) {
            fail_msg("\"%s\" does not say \"%s\"", err.text, wrong[i].says);
        }
        assert_int_equal(file.count, 7);
    }
}

TEST(too_many_queries)
{
    struct vq_buf text;
    vq_buf_init(&text, 1u << 20);
    for (uint32_t i = 0; i <= VQ_QUERIES_MAX; i++) {
        vq_buf_puts(&text, "q\n");
    }
    struct vq_queries_file file;
    struct vq_error err = {""};
    assert_int_equal(vq_queries_file_parse(vq_buf_span(&text), "q.txt", &file, &err), VQ_LIMIT);
    assert_non_null(strstr(err.text, "more than 1000"));
    vq_buf_free(&text);
}

/* ---- items ---- */

static struct vq_items_file items_of(const char *name, const char *text,
                                     const struct vq_items_columns *columns)
{
    static const struct vq_items_columns usual = {NULL};
    struct vq_items_file file;
    struct vq_error err = {""};
    if (vq_items_file_parse(vq_span_str(text), name, columns == NULL ? &usual : columns, &file,
                            &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    return file;
}

TEST(items_in_every_form)
{
    static const char *const forms[][2] = {
        {"i.csv", "id,prompt,label,persona,trait,reference\n1, Do it? ,unsafe,Ada,,\n"
                  "2,Say,,,Openness,\" r\"\n"},
        {"i.jsonl", "{\"id\": 1, \"question\": \" Do it?\\n\", \"label\": \"Unsafe\", \"role\": "
                    "\"Ada\", \"other\": [1]}\n{\"id\": 2, \"question\": \"Say\", \"generated\": "
                    "[\" r\", \"s\"], \"dimension\": \"openness\"}\n"},
        {"i.json",
         "[{\"id\": 1, \"text\": \"Do it?\", \"label\": \"unsafe\", \"persona\": \"Ada\"},"
         "\n{\"id\": 2, \"text\": \"Say\", \"trait\": \"OPENNESS\", \"reference\": "
         "[\" r\"]}]"},
        {"i.yaml",
         "name: x\nquestions:\n  1: {id: 1, rewritten_en: Do it?, label: unsafe, role: "
         "Ada}\n  2: {id: 2, rewritten_en: Say, dimension: Openness, reference: \" r\"}\n"},
    };
    for (size_t i = 0; i < VQ_COUNT(forms); i++) {
        struct vq_items_file file = items_of(forms[i][0], forms[i][1], NULL);
        assert_int_equal(file.count, 2);
        const struct vq_conf_item *a = &file.items[0], *b = &file.items[1];
        assert_string_equal(a->text, "Do it?");
        assert_string_equal(a->id, "1");
        assert_string_equal(a->persona, "Ada");
        assert_int_equal(a->label, VQ_ITEM_UNSAFE);
        assert_int_equal(a->trait, VQ_BIG_FIVE);
        assert_null(a->reference);
        assert_string_equal(b->text, "Say");
        assert_null(b->persona);
        assert_int_equal(b->label, VQ_ITEM_UNLABELLED);
        assert_int_equal(b->trait, 0);
        assert_string_equal(b->reference, " r");
        assert_true(b->line > a->line);
        vq_items_file_free(&file);
    }
}

TEST(columns_as_asked)
{
    static const struct vq_items_columns columns = {.text = "frage", .reference = "antwort"};
    struct vq_items_file file = items_of("i.csv", "text,frage,antwort\nx,y,[z]\n", &columns);
    assert_string_equal(file.items[0].text, "y");
    assert_string_equal(file.items[0].reference, "[z]"); /* CSV has no lists */
    vq_items_file_free(&file);
    file = items_of("i.json", "[{\"text\": \"x\", \"frage\": \"y\"}]", &columns);
    assert_string_equal(file.items[0].text, "y");
    vq_items_file_free(&file);
}

TEST(wrong_items_are_named)
{
    static const struct {
        const char *name, *text, *says;
    } wrong[] = {
        {"i.csv", "a,b\n1,2\n", "i.csv has no column for the text"},
        {"i.csv", "text,id\nx,1\n ,2\n", "i.csv, line 3, text: an item without text"},
        {"i.csv", "text,label\nx,safe\ny,dangerous\n", "i.csv, line 3, label: a label is safe"},
        {"i.csv", "text,trait\nx,kindness\n", "i.csv, line 2, trait: a trait is openness"},
        {"i.jsonl", "{\"text\": \"x\", \"reference\": []}\n", "line 1, reference: a reference is"},
        {"i.jsonl", "{\"text\": \"x\", \"reference\": [{}]}\n",
         "line 1, reference: a reference is"},
        {"i.json", "{\"a\": 1}", "expected a list of items"},
        {"i.json", "[3]", "an item is a map"},
        {"i.json", "[]", "i.json has no items"},
        {"i.json", "[{\"text\": [1]}]", "i.json, line 1, text: expected a text"},
        {"i.json", "[{\"id\": 1}]", "i.json, line 1, text: an item without text"},
    };
    static const struct vq_items_columns usual = {NULL};
    for (size_t i = 0; i < VQ_COUNT(wrong); i++) {
        struct vq_items_file file = {.count = 7};
        struct vq_error err = {""};
        assert_int_equal(
            vq_items_file_parse(vq_span_str(wrong[i].text), wrong[i].name, &usual, &file, &err),
            VQ_INVALID);
        if (strstr(err.text, wrong[i].says) == NULL) {
            fail_msg("\"%s\" does not say \"%s\"", err.text, wrong[i].says);
        }
        assert_int_equal(file.count, 7);
    }
}

/* ---- without memory ---- */

static enum vq_status all_of(void)
{
    static const char people[] =
        "{\"Ada\": {\"description\": \"\\ud83d\\ude00\"}, \"empty\": \"\"}";
    static const char labels[] = "Ada: {openness: 1, conscientiousness: 1, extraversion: 1, "
                                 "agreeableness: 1, neuroticism: 1}\n";
    static const struct vq_items_columns usual = {NULL};
    struct vq_personas_file personas;
    VQ_TRY(vq_personas_file_parse(vq_span_str(people), "p.json", &personas, NULL));
    enum vq_status status =
        vq_personas_file_label(vq_span_str(labels), "l.yaml", NULL, &personas, NULL);
    assert_int_equal(personas.personas[0].labelled, status == VQ_OK);
    vq_personas_file_free(&personas);
    VQ_TRY(status);
    struct vq_queries_file queries;
    VQ_TRY(vq_queries_file_parse(vq_span_str("{\"questions\": [\"a\"], \"opening\": \"b\"}"),
                                 "q.json", &queries, NULL));
    vq_queries_file_free(&queries);
    VQ_TRY(vq_queries_file_parse(vq_span_str("text\na\n"), "q.csv", &queries, NULL));
    vq_queries_file_free(&queries);
    struct vq_items_file items;
    VQ_TRY(vq_items_file_parse(
        vq_span_str("{\"text\": \"a\", \"role\": \"b\", \"generated\": [\"c\"]}"), "i.jsonl",
        &usual, &items, NULL));
    vq_items_file_free(&items);
    VQ_TRY(vq_items_file_parse(vq_span_str("[{\"text\": \"a\", \"id\": \"b\"}]"), "i.json", &usual,
                               &items, NULL));
    vq_items_file_free(&items);
    return VQ_OK;
}

TEST(without_memory)
{
    uint64_t failed = 0;
    enum vq_status status = VQ_NOMEM;
    while (status == VQ_NOMEM) {
        vq_alloc_fail_at(++failed);
        status = all_of();
        vq_alloc_fail_at(0);
    }
    assert_int_equal(status, VQ_OK);
    assert_true(failed > 50);
}
