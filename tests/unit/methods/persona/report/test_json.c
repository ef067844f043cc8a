/* The result files of a small persona evaluation: their shape, that missing stays empty, that texts
 * come through whole. */
#include "tests/unit/test.h"

#include "methods/persona/report/report.h"

#include "tests/unit/methods/persona/world.h"

#include <jansson.h>
#include <string.h>

static const char *const models[] = {"sub\"ject"};
static const char *const personas[] = {"Ada, of the sea", "Bo"};
static const char *const sets[] = {"safety", "pairs"};
static const struct vq_report_judge judges[] = {
    {.name = "j1", .model = "m1", .identity = "host/v1", .returned = {"m1-x"}, .returned_count = 1},
    {.name = "j2", .model = "m2", .identity = "host/v1"}};
static const struct vq_persona_criterion criteria[] = {
    {"style", VQ_RATING_LIKERT, VQ_PERSONA_OF_TURNS, VQ_TRAIT_OPENNESS},
    {"safety", VQ_RATING_BINARY, VQ_PERSONA_OF_SAFETY, VQ_TRAIT_OPENNESS},
    {"general", VQ_RATING_PAIRWISE, VQ_PERSONA_OF_PAIRS, VQ_TRAIT_OPENNESS}};
static const struct vq_persona_item items[] = {{VQ_PERSONA_ALL, 0}, {VQ_PERSONA_ALL, 0}};
static const struct vq_persona_set plan_sets[] = {
    {items, 2, 0, true, VQ_RATING_BINARY, {false}, VQ_PERSONA_BOTH},
    {items, 1, 0, true, VQ_RATING_PAIRWISE, {true, true, false}, VQ_PERSONA_BOTH}};

static void fill(struct world *w)
{
    struct vq_persona_design design = {
        .models = 1,
        .personas = 2,
        .baseline = true,
        .scripts_count = 2,
        .scripts = {{VQ_PERSONA_DIRECTED, 4, false, false}, {VQ_PERSONA_GOAL, 4, false, false}},
        .shuffled = true,
        .rounds = 4,
        .checkpoints = 2,
        .criteria = 1,
        .sets = plan_sets,
        .sets_count = 2};
    world_open(w, &design, criteria, VQ_COUNT(criteria), 2, 100);
    for (uint32_t turn = 0; turn < 4; turn++) {
        struct vq_persona_rated r = {
            .as = 0, .point = turn, .item = VQ_PERSONA_NONE, .order = VQ_PERSONA_SHUFFLED};
        size_t at = world_rate(w, r, turn == 3 ? (double)NAN : 5.0 - turn);
        world_set(w, at, 1, 3);
    }
    struct vq_persona_rated r = {.criterion = 1, .as = 0, .item = 1, .label = VQ_PERSONA_UNSAFE};
    (void)world_rate(w, r, 1);
    r.persona = 2;
    r.as = VQ_PERSONA_NONE;
    w->statuses[world_rate(w, r, NAN) * 2] = VQ_PERSONA_BLOCKED;
    r = (struct vq_persona_rated){.criterion = 2, .as = 0, .point = 1};
    (void)world_rate(w, r, 1);
    r.position = 1;
    (void)world_rate(w, r, 0);
    world_compute(w);
}

static struct vq_report_persona report_of(const struct world *w)
{
    return (struct vq_report_persona){.study = &w->study,
                                      .numbers = w->numbers,
                                      .names = {models, personas},
                                      .judges = judges,
                                      .judge_kind = "offline-lexical",
                                      .policy = "strict",
                                      .sets = sets};
}

static json_t *get(json_t *at, const char *key)
{
    json_t *value = json_object_get(at, key);
    if (value == NULL) {
        fail_msg("no \"%s\"", key);
    }
    return value;
}

static json_t *measure(json_t *root, const char *name)
{
    size_t i;
    json_t *m;
    json_array_foreach(get(root, "measures"), i, m)
    {
        if (strcmp(json_string_value(get(m, "name")), name) == 0) {
            return m;
        }
    }
    fail_msg("no measure \"%s\"", name);
    return NULL;
}

TEST(results_json)
{
    struct world w;
    struct vq_buf out, again;
    fill(&w);
    struct vq_report_persona r = report_of(&w);
    vq_buf_init(&out, 1u << 24);
    vq_buf_init(&again, 1u << 24);
    vq_report_persona_json(&r, &out);
    vq_report_persona_json(&r, &again);
    assert_true(out.status == VQ_OK && vq_span_eq(vq_buf_span(&out), vq_buf_span(&again)));
    json_error_t error;
    json_t *root = json_loadb(out.at, out.bytes, 0, &error);
    if (root == NULL) {
        fail_msg("%s (line %d)", error.text, error.line);
    }
    assert_string_equal(json_string_value(get(root, "method")), "persona");
    assert_non_null(strstr(json_string_value(get(root, "judge_note")), "plumbing"));
    json_t *calls = get(root, "calls");
    assert_int_equal(json_integer_value(get(calls, "dialogues")), 12);
    assert_int_equal(json_integer_value(get(get(calls, "turns"), "planned")), 48);
    json_t *pairs = json_array_get(get(calls, "sets"), 1);
    assert_int_equal(json_integer_value(get(get(pairs, "zero"), "planned")), 2 * 2 * 2 * 2);
    assert_null(json_object_get(pairs, "previous"));
    json_t *style = measure(root, "style");
    json_t *point = json_array_get(get(get(get(style, "curves"), "directed"), "persona"), 0);
    assert_true(json_real_value(get(point, "mean")) == 4 ||
                json_integer_value(get(point, "mean")) == 4);
    assert_true(json_is_null(get(point, "ci95")));
    assert_string_equal(json_string_value(get(point, "why_no_interval")), "too few cells");
    point = json_array_get(get(get(get(style, "curves"), "goal"), "persona"), 0);
    assert_true(json_is_null(get(point, "mean")));
    assert_string_equal(json_string_value(get(point, "why_no_interval")), "no cells");
    assert_int_equal(json_array_size(get(get(get(style, "turns"), "goal"), "baseline")), 4);
    json_t *status = json_array_get(get(style, "statuses"), 0);
    assert_string_equal(json_string_value(get(status, "judge")), "j1");
    assert_int_equal(json_integer_value(get(status, "ok")), 3);
    assert_int_equal(json_integer_value(get(status, "missing")), 1);
    json_t *unsafe = measure(root, "safety: unsafe");
    assert_int_equal(json_integer_value(get(json_array_get(get(unsafe, "statuses"), 0), "blocked")),
                     1);
    json_t *wins = measure(root, "general: dataset");
    assert_int_equal(json_integer_value(get(get(get(wins, "chosen"), "answer_first"), "a")), 1);
    assert_int_equal(json_array_size(get(wins, "by_cell")), 4);
    assert_int_equal(json_array_size(get(wins, "slopes_percent")), 4);
    json_t *agreement = json_array_get(get(root, "agreement"), 0);
    assert_int_equal(json_integer_value(get(agreement, "rows")), 3);
    assert_false(json_boolean_value(get(agreement, "b_is_human")));
    json_decref(root);
    vq_buf_free(&out);
    vq_buf_free(&again);
    world_close(&w);
}

TEST(ratings_csv)
{
    struct world w;
    struct vq_buf out;
    fill(&w);
    struct vq_report_persona r = report_of(&w);
    vq_buf_init(&out, 1u << 20);
    vq_report_persona_ratings_csv(&r, 0, 3, &out);
    vq_report_persona_ratings_csv(&r, 3, 100, &out);
    assert_int_equal(out.status, VQ_OK);
    static const char *const lines[] = {
        "criterion,model,persona,as,kind,order,round,item,label,reference,position,judge,value,"
        "status\n",
        "style,\"sub\"\"ject\",\"Ada, of the sea\",\"Ada, of the "
        "sea\",directed,shuffled,0,,,,,j1,5,"
        "ok\n",
        ",directed,shuffled,3,,,,,j1,,missing\n",
        ",directed,original,0,2,unsafe,,,j1,yes,ok\n",
        "safety,\"sub\"\"ject\",,,directed,original,0,2,unsafe,,,j1,,blocked\n",
        ",directed,original,4,1,,dataset,1,j1,B,ok\n",
        ",directed,original,4,1,,dataset,2,j1,A,ok\n",
    };
    for (size_t i = 0; i < VQ_COUNT(lines); i++) {
        if (strstr(out.at, lines[i]) == NULL) {
            fail_msg("no line \"%s\" in\n%s", lines[i], out.at);
        }
    }
    size_t rows = 0;
    for (const char *at = out.at; (at = strchr(at, '\n')) != NULL; at++) {
        rows++;
    }
    assert_int_equal(rows, 1 + 2 * w.count);
    vq_buf_free(&out);
    world_close(&w);
}

TEST(dialogues_jsonl)
{
    struct world w;
    struct vq_buf out;
    fill(&w);
    struct vq_report_persona r = report_of(&w);
    const struct vq_span queries[] = {vq_span_str("\"Who\"?\n"), vq_span_str("Wo?")};
    const struct vq_span answers[] = {vq_span_str("Ich, 😀"), vq_span_str("")};
    struct vq_persona_dialogue d = {.chain = 3,
                                    .system = vq_span_str("You are."),
                                    .queries = queries,
                                    .answers = answers,
                                    .turns = 2,
                                    .ended = "refused"};
    vq_buf_init(&out, 1u << 20);
    vq_report_persona_dialogue(&r, &d, &out);
    assert_true(out.status == VQ_OK && strchr(out.at, '\n') == out.at + out.bytes - 1);
    json_t *line = json_loadb(out.at, out.bytes, 0, NULL);
    assert_string_equal(json_string_value(get(line, "persona")), personas[0]);
    assert_string_equal(json_string_value(get(line, "kind")), "goal");
    assert_string_equal(json_string_value(get(line, "order")), "shuffled");
    assert_string_equal(json_string_value(get(line, "ended")), "refused");
    assert_string_equal(json_string_value(get(line, "system")), "You are.");
    json_t *messages = get(line, "messages");
    assert_int_equal(json_array_size(messages), 4);
    assert_string_equal(json_string_value(get(json_array_get(messages, 0), "content")),
                        "\"Who\"?\n");
    assert_string_equal(json_string_value(get(json_array_get(messages, 1), "role")), "assistant");
    assert_string_equal(json_string_value(get(json_array_get(messages, 1), "content")), "Ich, 😀");
    json_decref(line);
    vq_buf_clear(&out);
    d = (struct vq_persona_dialogue){.chain = 8}; /* the baseline: no system message */
    vq_report_persona_dialogue(&r, &d, &out);
    line = json_loadb(out.at, out.bytes, 0, NULL);
    assert_true(json_is_null(get(line, "persona")) && json_is_null(get(line, "system")));
    assert_true(json_is_null(get(line, "ended")));
    assert_int_equal(json_array_size(get(line, "messages")), 0);
    json_decref(line);
    vq_buf_free(&out);
    world_close(&w);
}
