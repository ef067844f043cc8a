/* Configurations of method: persona: what may be left out, what is filled in, and every refusal
 * with its place and what to do. */
#include "common/base/alloc.h"
#include "common/conf/pools.h"
#include "tests/unit/common/conf/parsing.h"

#define JUDGES "judges: [offline-a]\n"
#define HEAD   JUDGES "subjects: [offline-subject]\n"
#define TALKS  "dialogues: {personas: p.yaml, goal: g.txt}\n"

TEST(test_the_smallest_one)
{
    struct vq_config *c = must_parse(HEAD TALKS "probes: [sets/five.csv]\n");
    assert_int_equal(c->method, VQ_METHOD_PERSONA);
    assert_int_equal(c->models_count, 0);
    assert_null(c->data.path_abs);
    assert_int_equal(c->subjects_count, 1);
    assert_string_equal(c->subjects[0].judge.name, "offline-subject");
    assert_string_equal(c->subjects[0].role, "system");
    assert_int_equal(c->subjects[0].judge.max_tokens, 2048);
    assert_int_equal(c->judges[0].max_tokens, 1024);
    assert_string_equal(c->dialogues->personas, "/base/p.yaml");
    assert_string_equal(c->dialogues->goal, "/base/g.txt");
    assert_null(c->dialogues->directed);
    assert_true(c->dialogues->baseline);
    assert_int_equal(c->dialogues->orders, VQ_CONF_ORDERS_BOTH);
    assert_int_equal(c->dialogues->checkpoints, 10);
    assert_string_equal(c->probes[0].name, "five");
    assert_string_equal(c->probes[0].file, "/base/sets/five.csv");
    assert_null(c->probes[0].criterion);
    assert_int_equal(c->rating.positions, VQ_POSITIONS_BOTH);
    struct vq_conf_uses uses;
    struct vq_error err = {.text = ""};
    assert_int_equal(vq_conf_uses_of(c, &uses, &err), VQ_OK);
    bool found = false;
    for (uint32_t i = 0; i < uses.count; i++) {
        found = found || strcmp(uses.uses[i].model, "offline-subject") == 0;
    }
    assert_true(found);
    vq_conf_uses_free(&uses);
    vq_config_destroy(&c);
}

TEST(test_the_paper_fills_in)
{
    struct vq_config *c = must_parse(HEAD "dialogues: {preset: paper, personas: p, directed: d}\n"
                                          "rating: {policy: strict}\n");
    assert_int_equal(c->dialogues->rounds, 102);
    assert_int_equal(c->rating.positions, VQ_POSITIONS_ALTERNATE);
    assert_int_equal(c->rating.policy, VQ_RATING_STRICT); /* was given */
    vq_config_destroy(&c);
}

TEST(test_a_full_one_reads_back)
{
    struct vq_config *c = must_parse(
        JUDGES "subjects:\n"
               "- {model: offline-subject, name: small, role: developer, line: \"think: off\", "
               "called: S, family: f, size: 1}\n"
               "criteria: [style, {name: Own, kind: likert, rubric: r}]\n"
               "dialogues:\n"
               "  personas: p.yaml\n  labels: l.json\n  label_set: pdb\n  baseline: off\n"
               "  directed: d.txt\n  opening: Hello {role}\n  closing: Bye\n  goal: g.txt\n"
               "  orders: original\n  rounds: 12\n  checkpoints: 3\n  measured: m.csv\n"
               "probes:\n"
               "- {file: b.csv, name: bfi, criterion: trait, trait: dim, text: q}\n"
               "- {file: r.csv, criterion: role_specific, references: [dataset, previous]}\n"
               "- {file: s.csv, criterion: Own, references: zero}\n");
    char *yaml;
    size_t bytes;
    assert_int_equal(vq_config_write(c, &yaml, &bytes), VQ_OK);
    struct vq_config *again = NULL;
    struct vq_error err = {.text = ""};
    if (vq_config_parse(yaml, bytes, "(again)", "/other", NULL, 0, &again, &err) != VQ_OK) {
        fail_msg("%s\n%s", err.text, yaml);
    }
    char *second;
    size_t second_bytes;
    assert_int_equal(vq_config_write(again, &second, &second_bytes), VQ_OK);
    assert_int_equal(bytes, second_bytes);
    assert_memory_equal(yaml, second, bytes);
    assert_int_equal(again->subjects[0].size, 1);
    assert_string_equal(again->subjects[0].line, "think: off");
    assert_string_equal(again->subjects[0].judge.model, "offline-subject");
    assert_string_equal(again->dialogues->labels, "/base/l.json");
    assert_false(again->dialogues->baseline);
    assert_int_equal(again->probes[1].references_count, 2);
    assert_string_equal(again->probes[1].references[1], "previous");
    assert_string_equal(again->probes[2].references[0], "zero");
    vq_free(yaml);
    vq_free(second);
    vq_config_destroy(&c);
    vq_config_destroy(&again);
}

TEST(test_refusals_say_where_and_what_to_do)
{
    static const struct {
        const char *yaml, *where, *what;
    } wrong[] = {
        {JUDGES "method: persona\n" TALKS, "subjects", "name the models that play"},
        {HEAD, "dialogues", "name the files"},
        {HEAD "dialogues: {goal: g.txt}\n", "dialogues.personas", "name the file"},
        {HEAD "dialogues: p.yaml\n", "dialogues", "needs queries"},
        {HEAD "dialogues: {personas: p, goals: g}\n", "dialogues", "did you mean \"goal\"?"},
        {HEAD "dialogues: {personas: p, goal: \"\"}\n", "dialogues.goal", "leave it out"},
        {HEAD "dialogues: {personas: p, goal: g, closing: c}\n", "dialogues.closing",
         "leave it out"},
        {HEAD "dialogues: {personas: p, goal: g, label_set: c}\n", "dialogues.label_set",
         "name that too"},
        {HEAD "dialogues: {personas: p, goal: g, checkpoints: 1}\n", "dialogues.checkpoints",
         "from 2 to 101"},
        {HEAD "dialogues: {personas: p, goal: g, orders: shuffled}\n", "dialogues.orders",
         "one of both|original"},
        {HEAD TALKS "data: d.csv\n", "line 4", "makes its own data"},
        {HEAD TALKS "models: [a, b]\n", "models", "leave it out"},
        {HEAD TALKS "vibes: [{name: X, low: l, high: h}]\n", "vibes", "leave it out"},
        {HEAD TALKS "rating: {repeats: 2}\n", "rating.repeats", "leave it out"},
        {HEAD TALKS "judging: {structured: on}\n", "judging.structured", "leave it out"},
        {HEAD TALKS "criteria: [{name: style, human: h}]\n", "criteria[0].human", "leave it out"},
        {HEAD TALKS "criteria: [stile]\n", "criteria[0]", "did you mean \"style\"?"},
        {HEAD TALKS "probes: [{name: x}]\n", "line 4, column 10, probes[0]", "needs a file"},
        {HEAD TALKS "probes: [a/x.csv, b/x.csv]\n", "probes[1]", "already that of probes[0]"},
        {HEAD TALKS "probes: [{file: x.csv, criterion: xx}]\n", "probes[0].criterion",
         "neither `trait`"},
        {HEAD TALKS "probes: [{file: x.csv, references: [first]}]\n", "probes[0].references[0]",
         "one of dataset|zero|previous"},
        {HEAD TALKS "probes: [{file: x.csv, references: [zero, zero]}]\n",
         "probes[0].references[1]", "already"},
        {JUDGES TALKS "subjects: [offline-subject, offline-subject]\n", "subjects[1]",
         "give each its own name"},
        {JUDGES TALKS "subjects: [{model: gpt}]\n", "subjects[0].base_url", "needs base_url"},
        {JUDGES TALKS "subjects: [{model: m, base_url: \"https://h/v1\", dialect: anthropic, role: "
                      "developer}]\n",
         "subjects[0].role", "no developer message"},
        {JUDGES TALKS "subjects: [m]\npools: [{name: p, base_url: 'https://h', models: [{model: m, "
                      "batch: true}]}]\n",
         "subjects[0].model", "all pools of \"m\" are batches, and each turn"},
        {JUDGES TALKS "subjects: [{model: offline-subject, role: user}]\n", "subjects[0].role",
         "one of system|developer|none"},
        {JUDGES "data: d.csv\nmodels: [a, b]\n" TALKS, "dialogues", "set method: persona"},
        {"subjects: [offline-subject]\n" TALKS, "judges", "missing"},
    };
    for (size_t i = 0; i < VQ_COUNT(wrong); i++) {
        struct vq_config *config = NULL;
        struct vq_error err = {.text = ""};
        assert_int_equal(parse(wrong[i].yaml, &config, &err), VQ_INVALID);
        assert_null(config);
        if (strstr(err.text, wrong[i].where) == NULL || strstr(err.text, wrong[i].what) == NULL) {
            fail_msg("%s\ngives: %s\nwithout: %s ... %s", wrong[i].yaml, err.text, wrong[i].where,
                     wrong[i].what);
        }
    }
}
