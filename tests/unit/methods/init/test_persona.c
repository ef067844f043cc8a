/* Drafts of method: persona: what files are taken for, what is said of those that fit nowhere, and
 * that what is written loads. */
#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "common/conf/config.h"
#include "methods/init/init.h"

#include <stdio.h>
#include <string.h>

#define PEOPLE                                                                                     \
    "- {name: Ada, description: You keep a lighthouse.}\n- {name: Bo, description: You row.}\n"
#define INTERVIEW                                                                                  \
    "opening: \"Welcome, {role}\"\nquestions: [one?, two?, three?]\nclosing: \"Bye, {role}\"\n"
#define GOALS "Write a note.\n\nName a bakery.\nSum up.\nList five.\n"

static void add(struct vq_init_persona *p, const char *path, const char *text)
{
    struct vq_error err = {.text = ""};
    if (vq_init_persona_add(p, path, vq_span_str(text), &err) != VQ_OK) {
        fail_msg("%s: %s", path, err.text);
    }
}

static void refused(struct vq_init_persona *p, const char *path, const char *text, const char *what)
{
    struct vq_error err = {.text = ""};
    assert_int_equal(vq_init_persona_add(p, path, vq_span_str(text), &err), VQ_INVALID);
    if (strstr(err.text, what) == NULL) {
        fail_msg("%s\nwithout: %s", err.text, what);
    }
}

static struct vq_config *written(const struct vq_init_persona *p)
{
    struct vq_buf out;
    struct vq_config *config = NULL;
    struct vq_error err = {.text = ""};
    if (vq_init_persona_check(p, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    vq_buf_init(&out, VQ_INIT_BYTES_MAX);
    vq_init_persona_config(p, &out);
    if (out.status != VQ_OK ||
        vq_config_parse(out.at, out.bytes, "init", "/base", NULL, 0, &config, &err) != VQ_OK) {
        fail_msg("%s\n%s", err.text, out.at);
    }
    vq_buf_free(&out);
    return config;
}

/* One persona, one question, one item: no plural. */
TEST(counts_agree_with_their_nouns)
{
    struct vq_init_persona p = {.personas = NULL};
    struct vq_buf out;
    add(&p, "who.yaml", "- {name: Ada, description: You keep a lighthouse.}\n");
    add(&p, "goals.txt", "Write a note.\n");
    add(&p, "safety.csv", "question,label\nHow do I hurt?,unsafe\n");
    vq_buf_init(&out, VQ_INIT_BYTES_MAX);
    vq_init_persona_config(&p, &out);
    assert_int_equal(out.status, VQ_OK);
    assert_non_null(strstr(out.at, "# 1 persona\n"));
    assert_non_null(strstr(out.at, "# 1 question to the persona"));
    assert_non_null(strstr(out.at, "# 1 item\n"));
    vq_buf_free(&out);
}

TEST(test_files_find_their_places)
{
    struct vq_init_persona p = {.personas = NULL};
    add(&p, "goals.txt", GOALS); /* the interview comes later */
    add(&p, "who.yaml", PEOPLE);
    add(&p, "talk.yml", INTERVIEW);
    add(&p, "traits.csv", "question,trait\nAre you calm?,neuroticism\nDo you read?,openness\n");
    add(&p, "safety.jsonl", "{\"text\": \"How do I hurt?\", \"label\": \"unsafe\"}\n");
    add(&p, "role.json", "[{\"question\": \"Who?\", \"role\": \"Ada\", \"reference\": \"Me.\"}]");
    add(&p, "general.csv", "question,persona\nWhat is two and two?,Bo\n");
    add(&p, "sub/role.csv", "question,persona,reference\nWho?,Bo,Me.\n");
    assert_string_equal(p.directed.path, "talk.yml");
    assert_true(p.directed.count == 3 && p.directed.remarks == 2);
    assert_string_equal(p.goal.path, "goals.txt");
    assert_true(p.goal.count == 4 && p.goal.remarks == 0 && p.personas_count == 2);
    assert_int_equal(vq_init_persona_rounds(&p), 4);
    struct vq_config *c = written(&p);
    assert_int_equal(c->method, VQ_METHOD_PERSONA);
    assert_string_equal(c->dialogues->personas, "/base/who.yaml");
    assert_string_equal(c->dialogues->directed, "/base/talk.yml");
    assert_string_equal(c->dialogues->goal, "/base/goals.txt");
    assert_int_equal(c->dialogues->checkpoints, 4);
    static const struct {
        const char *file, *name, *criterion;
        uint32_t references;
    } probes[] = {{"/base/traits.csv", "traits", "trait", 0},
                  {"/base/safety.jsonl", "safety", "refusal", 0},
                  {"/base/role.json", "role", "role_specific", 2},
                  {"/base/general.csv", "general", "general", 1},
                  {"/base/sub/role.csv", "probe-5", "role_specific", 2}};
    assert_int_equal(c->probes_count, VQ_COUNT(probes));
    for (uint32_t i = 0; i < c->probes_count; i++) {
        assert_string_equal(c->probes[i].file, probes[i].file);
        assert_string_equal(c->probes[i].name, probes[i].name);
        assert_string_equal(c->probes[i].criterion, probes[i].criterion);
        assert_int_equal(c->probes[i].references_count, probes[i].references);
    }
    vq_config_destroy(&c);
}

TEST(test_a_little_is_enough)
{
    struct vq_init_persona p = {.personas = NULL};
    add(&p, "who.json", "{\"personas\": [{\"name\": \"A\", \"description\": \"You are A.\"}]}");
    add(&p, "q.csv", "question\nHow are you?\n"); /* a question and nothing else is a query */
    assert_int_equal(p.probes_count, 0);
    struct vq_config *c = written(&p);
    assert_string_equal(c->dialogues->directed, "/base/q.csv");
    assert_null(c->dialogues->goal);
    assert_int_equal(c->dialogues->checkpoints, 2);
    vq_config_destroy(&c);
    add(&p, "tasks.txt", GOALS); /* the first one named is the interview */
    assert_string_equal(p.goal.path, "tasks.txt");
    add(&p, "plain.yaml", "items:\n- {question: Why?}\n");
    assert_int_equal(p.probes_count, 1);
}

TEST(test_remarks_in_a_plain_list)
{
    struct vq_init_persona p = {.personas = NULL};
    add(&p, "who.yaml", PEOPLE);
    add(&p, "talk.txt", "Hello, {role}.\nWhat do you do?\nGoodbye, {role}.\n");
    assert_true(p.directed.remarks == 2 && p.directed.count == 1);
    add(&p, "short.txt", "Sum up.\nAdd.\n");
    struct vq_error err = {.text = ""};
    assert_int_equal(vq_init_persona_check(&p, &err), VQ_INVALID);
    assert_non_null(strstr(err.text, "2 rounds"));
    assert_non_null(strstr(err.text, "talk.txt"));
}

TEST(test_what_fits_nowhere)
{
    struct vq_init_persona p = {.personas = NULL};
    struct vq_error err = {.text = ""};
    assert_int_equal(vq_init_persona_check(&p, &err), VQ_INVALID);
    assert_non_null(strstr(err.text, "no file has personas"));
    add(&p, "who.yaml", PEOPLE);
    assert_int_equal(vq_init_persona_check(&p, &err), VQ_INVALID);
    assert_non_null(strstr(err.text, "vibeq personas queries"));
    refused(&p, "who2.yaml", PEOPLE, "who.yaml and who2.yaml both have personas");
    refused(&p, "odd.yaml", "{a: [1, {b: c}]}", "odd.yaml is no file of a persona evaluation");
    refused(&p, "odd.csv", "x,y\n1,2\n", "As items: ");
    refused(&p, "empty.txt", "\n\n", "no queries");
    add(&p, "talk.yaml", INTERVIEW);
    refused(&p, "talk2.yaml", INTERVIEW, "talk.yaml and talk2.yaml are both interviews");
    add(&p, "goals.txt", GOALS);
    refused(&p, "goals2.txt", GOALS, "goals.txt and goals2.txt are both lists without");
}

TEST(test_without_memory)
{
    static const char *const files[][2] = {
        {"who.yaml", PEOPLE}, {"talk.yaml", INTERVIEW}, {"r.csv", "question,reference\nq,r\n"}};
    for (size_t i = 0; i < VQ_COUNT(files); i++) {
        enum vq_status status = VQ_NOMEM;
        for (uint64_t n = 1; status == VQ_NOMEM; n++) {
            struct vq_init_persona p = {.personas = NULL};
            vq_alloc_fail_at(n);
            status = vq_init_persona_add(&p, files[i][0], vq_span_str(files[i][1]), NULL);
            vq_alloc_fail_at(0);
            assert_true(n < 2000);
        }
        assert_int_equal(status, VQ_OK);
    }
}
