/* Published files of the persona evaluation, read as a run reads them, give the published figures.
 * They are other people's and not part of this repository: without the folder the tests skip and
 * say so (published.h). */

#include "tests/unit/test.h"

#include "common/conf/queries_file.h"
#include "methods/persona/items.h"
#include "tests/unit/methods/persona/world.h"
#include "tests/unit/published.h"

#define PERSONAS 8u
#define ROUNDS   102u
#define ITEMS    44u

static const struct vq_items_columns usual = {NULL};

static struct vq_buf bytes_of(const char *file)
{
    char path[1024];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, file);
    struct vq_buf bytes;
    struct vq_error err;
    if (vq_file_read(path, FILE_MAX, &bytes, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    return bytes;
}

static struct vq_personas_file roles(void)
{
    struct vq_personas_file file;
    struct vq_buf bytes = bytes_of("roles.json");
    struct vq_error err = {""};
    if (vq_personas_file_parse(vq_buf_span(&bytes), "roles.json", &file, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    vq_buf_free(&bytes);
    assert_int_equal(file.count, PERSONAS);
    assert_true(file.baseline);
    return file;
}

static struct vq_items_file items_of(const char *name)
{
    struct vq_items_file file;
    struct vq_buf bytes = bytes_of(name);
    struct vq_error err = {""};
    if (vq_items_file_parse(vq_buf_span(&bytes), name, &usual, &file, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    vq_buf_free(&bytes);
    return file;
}

static struct vq_persona_design design(void)
{
    return (struct vq_persona_design){.models = 1,
                                      .personas = PERSONAS,
                                      .baseline = true,
                                      .scripts_count = 2,
                                      .scripts = {{VQ_PERSONA_DIRECTED, 100, true, true},
                                                  {VQ_PERSONA_GOAL, ROUNDS, false, false}},
                                      .rounds = ROUNDS,
                                      .checkpoints = 10};
}

static void queries_and_items(void **state)
{
    (void)state;
    struct vq_error err;
    struct vq_queries_file queries;
    struct vq_buf bytes = bytes_of("interview.json");
    assert_int_equal(vq_queries_file_parse(vq_buf_span(&bytes), "interview.json", &queries, &err),
                     VQ_OK);
    assert_true(queries.count == 100 && strstr(queries.opening, VQ_ROLE_MARK) != NULL &&
                strstr(queries.closing, VQ_ROLE_MARK) != NULL);
    vq_queries_file_free(&queries);
    vq_buf_free(&bytes);
    bytes = bytes_of("instructions.json");
    assert_int_equal(
        vq_queries_file_parse(vq_buf_span(&bytes), "instructions.json", &queries, &err), VQ_OK);
    assert_true(queries.count == ROUNDS && queries.opening == NULL);
    vq_queries_file_free(&queries);
    vq_buf_free(&bytes);
    struct vq_items_file items = items_of("xstest_prompts.csv");
    uint32_t unsafe = 0;
    for (uint32_t i = 0; i < items.count; i++) {
        unsafe += items.items[i].label == VQ_ITEM_UNSAFE;
    }
    assert_true(items.count == 450 && unsafe == 200);
    vq_items_file_free(&items);
    items = items_of("rolebench_general_Lestat_first100.jsonl");
    assert_int_equal(items.count, 100);
    assert_string_equal(items.items[0].persona, "Lestat de Lioncourt");
    assert_true(items.items[0].reference[0] == '"' && items.items[99].reference != NULL);
    vq_items_file_free(&items);
}

static void role_specific_items(void **state)
{
    (void)state;
    struct vq_items_file items = items_of("rolebench_role_specific_reference.jsonl");
    struct vq_personas_file people = roles();
    const char *personas[PERSONAS];
    for (uint32_t p = 0; p < PERSONAS; p++) {
        personas[p] = people.personas[p].name;
    }
    static const char *const models[] = {"m"};
    struct vq_persona_names names = {models, personas};
    struct vq_persona_bound bound;
    assert_int_equal(vq_persona_bind(&items, "f", &names, PERSONAS, &bound, NULL), VQ_OK);
    uint32_t of[PERSONAS] = {0}, spoken_to = 0, asking = 0;
    for (uint32_t i = 0; i < bound.count; i++) {
        const char *persona = personas[bound.items[i].persona];
        const char *question = bound.questions[bound.items[i].question];
        bool named = strncmp(question, persona, strlen(persona)) == 0;
        spoken_to += named && question[strlen(persona)] == ',';
        asking += question[0] != ' ';
        of[bound.items[i].persona]++;
    }
    assert_int_equal(spoken_to, 0);
    assert_int_equal(asking, bound.count);
    assert_int_equal(bound.count + bound.passed_over, 250);
    for (uint32_t p = 0; p < PERSONAS; p++) {
        assert_true(of[p] == 0 || of[p] == 50);
    }
    vq_persona_bound_free(&bound);
    vq_personas_file_free(&people);
    vq_items_file_free(&items);
}

static const struct vq_persona_criterion traits[] = {
    {"openness", VQ_RATING_LIKERT, VQ_PERSONA_OF_TRAITS, VQ_TRAIT_OPENNESS},
    {"conscientiousness", VQ_RATING_LIKERT, VQ_PERSONA_OF_TRAITS, VQ_TRAIT_CONSCIENTIOUSNESS},
    {"extraversion", VQ_RATING_LIKERT, VQ_PERSONA_OF_TRAITS, VQ_TRAIT_EXTRAVERSION},
    {"agreeableness", VQ_RATING_LIKERT, VQ_PERSONA_OF_TRAITS, VQ_TRAIT_AGREEABLENESS},
    {"neuroticism", VQ_RATING_LIKERT, VQ_PERSONA_OF_TRAITS, VQ_TRAIT_NEUROTICISM}};

/* The judge's replies of one cell, from raw text to the error against both sets of labels. */
static void error_of_the_big_five(void **state)
{
    (void)state;
    struct vq_persona_design d = design();
    struct vq_personas_file people = roles();
    struct vq_items_file items = items_of("BFI.json");
    struct vq_table *replies = table_of("judge_likert_bfi_gemma-3-27b-it_Gaston_round22.csv");
    struct world w;
    world_open(&w, &d, traits, VQ_COUNT(traits), 1, ITEMS);
    assert_true(items.count == ITEMS && replies->rows_count == ITEMS);
    assert_string_equal(people.personas[0].name, "Gaston");
    for (uint32_t i = 0; i < ITEMS; i++) {
        struct vq_rating_reader reader = {.kind = VQ_RATING_LIKERT};
        struct vq_rating rating;
        vq_rating_read(&reader, vq_table_cell(replies, i, 0), vq_span_str(""), false, &rating);
        assert_true(rating.has_value && items.items[i].trait < VQ_BIG_FIVE);
        struct vq_persona_rated r = {.criterion = items.items[i].trait, .point = 2, .item = i};
        (void)world_rate(&w, r, (double)rating.value);
    }
    static const struct {
        const char *set;
        double error;
    } sets[] = {{"annotation", 0.221389}, {"pdb", 0.246389}};
    struct vq_buf bytes = bytes_of("bfi_ground_truth_labels.json");
    for (size_t s = 0; s < VQ_COUNT(sets); s++) {
        struct vq_persona_labels labels[PERSONAS];
        struct vq_error err = {""};
        uint32_t labelled = 0;
        if (vq_personas_file_label(vq_buf_span(&bytes), "labels", sets[s].set, &people, &err) !=
            VQ_OK) {
            fail_msg("%s", err.text);
        }
        for (uint32_t p = 0; p < PERSONAS; p++) {
            labels[p].known = people.personas[p].labelled;
            labelled += labels[p].known;
            memcpy(labels[p].trait, people.personas[p].big_five, sizeof(labels[p].trait));
        }
        assert_int_equal(labelled, 4);
        w.study.labels = labels;
        world_compute(&w);
        double error = world_at(&w, "big five: error", VQ_CURVE_PERSONA, 0, 2)->mean;
        print_message("%s: %.6f\n", sets[s].set, error);
        assert_true(fabs(error - sets[s].error) < 1e-6);
    }
    static const double means[VQ_TRAITS] = {2.4, 40.0 / 9, 4.875, 1, 3.625};
    for (uint32_t t = 0; t < VQ_TRAITS; t++) {
        double mean = world_at(&w, traits[t].name, VQ_CURVE_PERSONA, 0, 2)->mean;
        assert_true(fabs(mean - means[t]) < 1e-12);
    }
    vq_buf_free(&bytes);
    world_close(&w);
    vq_table_destroy(&replies);
    vq_items_file_free(&items);
    vq_personas_file_free(&people);
}

static void instruction_following(void **state)
{
    (void)state;
    struct vq_persona_design d = design();
    struct vq_personas_file people = roles();
    const char *personas[PERSONAS];
    for (uint32_t p = 0; p < PERSONAS; p++) {
        personas[p] = people.personas[p].name;
    }
    static const char *const models[] = {"Llama-3.1-Nemotron-Nano-8B-v1"};
    struct vq_persona_names names = {models, personas};
    struct vq_buf bytes = bytes_of("ifbench_accuracy_Nemotron-8B.csv");
    struct vq_persona_measured *measured = NULL;
    size_t count = 0, passed = 0;
    struct vq_error err = {""};
    struct world w;
    world_open(&w, &d, traits, 0, 0, 1);
    if (vq_persona_measured_parse(vq_buf_span(&bytes), "ifbench.csv", w.plan, &names, &measured,
                                  &count, &passed, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    assert_true(count == 180 && passed == 0);
    w.study.measured = measured;
    w.study.measured_count = count;
    w.study.measured_name = "ifbench";
    world_compute(&w);
    static const struct {
        double slope, se, first, last, bare_first, bare_last;
    } expected[] = {{-0.0143, 0.0046, 20.4, 18.8, 20.7, 18.4},
                    {-0.0196, 0.0047, 20.6, 18.1, 21.1, 18.7}};
    for (uint32_t s = 0; s < 2; s++) {
        const struct vq_within *length = &world_measure(&w, "ifbench")->slopes[s].length;
        print_message("%s: slope %.5f, se %.5f\n", s == 0 ? "directed" : "goal", length->slope,
                      length->se);
        assert_true(length->rows == 80 && length->groups == 8);
        assert_true(fabs(length->slope - expected[s].slope) < 1e-4);
        assert_true(fabs(length->se - expected[s].se) < 1e-4);
        const struct {
            enum vq_persona_curve curve;
            uint32_t point;
            double percent;
        } points[] = {{VQ_CURVE_PERSONA, 0, expected[s].first},
                      {VQ_CURVE_PERSONA, 9, expected[s].last},
                      {VQ_CURVE_BASELINE, 0, expected[s].bare_first},
                      {VQ_CURVE_BASELINE, 9, expected[s].bare_last}};
        for (size_t i = 0; i < VQ_COUNT(points); i++) {
            double mean = world_at(&w, "ifbench", points[i].curve, s, points[i].point)->mean;
            assert_true(fabs(100 * mean - points[i].percent) < 0.051);
        }
    }
    vq_free(measured);
    vq_buf_free(&bytes);
    vq_personas_file_free(&people);
    world_close(&w);
}

/* 1_full_compliance, 2_full_refusal, 3_partial_refusal; anything else is no label. */
static double refusal(struct vq_span label)
{
    bool known = label.bytes > 2 && label.at[1] == '_' && label.at[0] >= '1' && label.at[0] <= '3';
    return !known ? NAN : label.at[0] != '1';
}

static void agreement_with_people(void **state)
{
    (void)state;
    static const struct vq_persona_criterion safety = {"safety", VQ_RATING_BINARY,
                                                       VQ_PERSONA_OF_SAFETY, VQ_TRAIT_OPENNESS};
    static const struct {
        const char *file;
        size_t rows;
        double agreement, kappa;
    } files[] = {{"xstest_v2_completions_gpt4_gpteval.csv", 450, 0.9378, 0.8751},
                 {"xstest_v2_completions_mistralinstruct_gpteval.csv", 439, 0.7745, 0.1157}};
    for (size_t f = 0; f < VQ_COUNT(files); f++) {
        struct vq_persona_design d = design();
        struct vq_table *table = table_of(files[f].file);
        uint32_t judge = vq_table_column(table, vq_span_str("gpt4_label"));
        uint32_t human = vq_table_column(table, vq_span_str("final_label"));
        struct world w;
        world_open(&w, &d, &safety, 1, 1, table->rows_count);
        for (uint32_t i = 0; i < table->rows_count; i++) {
            size_t thing = world_rate(&w, (struct vq_persona_rated){.item = i},
                                      refusal(vq_table_cell(table, i, judge)));
            w.human[thing] = refusal(vq_table_cell(table, i, human));
        }
        w.study.human = w.human;
        world_compute(&w);
        assert_int_equal(w.numbers->agreements_count, 1);
        const struct vq_ratings_agreement *found = &w.numbers->agreements[0].found;
        assert_int_equal(found->rows, files[f].rows);
        assert_true(fabs(found->exact - files[f].agreement) < 5e-5);
        assert_true(fabs(found->kappa.kappa - files[f].kappa) < 5e-5);
        assert_int_equal(world_measure(&w, "safety")->statuses[0][VQ_RATING_MISSING],
                         450 - files[f].rows);
        world_close(&w);
        vq_table_destroy(&table);
    }
}

/* People chose B where the item is even (A is the reference there) or A where it is odd: 34 of
 * 50. */
static void wins_by_people(void **state)
{
    (void)state;
    static const struct vq_persona_criterion general = {"general", VQ_RATING_PAIRWISE,
                                                        VQ_PERSONA_OF_PAIRS, VQ_TRAIT_OPENNESS};
    struct vq_persona_design d = design();
    struct vq_table *table = table_of("sampled_instruction_general_ratings.csv");
    uint32_t idx = vq_table_column(table, vq_span_str("idx"));
    uint32_t rating = vq_table_column(table, vq_span_str("Rating"));
    struct world w;
    world_open(&w, &d, &general, 1, 1, table->rows_count);
    for (uint32_t i = 0; i < table->rows_count; i++) {
        struct vq_span number = vq_table_cell(table, i, idx);
        struct vq_persona_rated r = {.item = i,
                                     .position = (number.at[number.bytes - 1] - '0') % 2 == 1};
        (void)world_rate(&w, r, vq_table_cell(table, i, rating).at[0] == 'B');
    }
    world_compute(&w);
    const struct vq_persona_measure *m = world_measure(&w, "general: dataset");
    assert_int_equal(m->chosen[0][0] + m->chosen[1][0], 32);
    assert_int_equal(m->chosen[0][1] + m->chosen[1][1], 18);
    assert_true(fabs(world_at(&w, "general: dataset", VQ_CURVE_PERSONA, 0, 0)->mean - 0.68) <
                1e-12);
    world_close(&w);
    vq_table_destroy(&table);
}

int main(void)
{
    int code;
    if (!published("persona", &code)) {
        return code;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queries_and_items),     cmocka_unit_test(role_specific_items),
        cmocka_unit_test(error_of_the_big_five), cmocka_unit_test(instruction_following),
        cmocka_unit_test(agreement_with_people), cmocka_unit_test(wins_by_people),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
