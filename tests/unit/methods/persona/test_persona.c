/* The script of a persona evaluation, walked with made-up answers: what is asked in which stage,
 * what is only asked once, what a turn that fails leaves open, and that every rating is where its
 * place says. */
#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "common/judge/chain.h"
#include "methods/persona/persona.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 4u
#define MODELS 2u
#define JUDGES 2u

static const struct vq_conf_persona personas[] = {{.name = "Ada", .description = "You sail."},
                                                  {.name = "Bo", .description = "You bake."}};
static char *interview[] = {"Who are you?", "What now?"};
static char *tasks[] = {"Count.", "Sort.", "Draw.", "Sum."};
static char hello[] = "Hello {role}", bye[] = "Bye {role}";
static char line[] = "think: off", called[] = "the model";

struct world {
    struct vq_items_file files[3];
    struct vq_persona_bound bound[3];
    struct vq_persona_set sets[3];
    struct vq_persona_plan *plan;
    struct vq_template *template;
    struct vq_conf_subject subjects[MODELS];
    struct vq_queries_file queries[2];
    struct vq_persona_rubric rubrics[9];
    struct vq_persona_probe probes[3];
    struct vq_persona_input in;
    struct vq_persona *persona;
    /* what was seen */
    char names[32][64];
    uint32_t stages;
    uint64_t asked[VQ_STAGE__COUNT]; /* cells x orders, by kind */
    uint64_t shared;                 /* of them in stages of twins */
    bool fails;                      /* the second turn of the first dialogue */
    uint32_t many;                   /* items of the first set; 0: two */
    uint32_t axes_most;              /* of a stage */
    bool lends; /* a reader of the answers, which the script then does not keep */
    size_t kept_count[32];
    struct vq_span *kept[32]; /* of the stages that talk: what they were answered */
    struct vq_hash items[32]; /* of all items of the stages that rate */
    uint32_t remade;
};

static void read_items(struct world *w, int i, const char *csv)
{
    static const struct vq_items_columns columns;
    static const char *const names[] = {"Ada", "Bo"};
    struct vq_persona_names of = {.personas = names};
    struct vq_error err = {.text = ""};
    if (vq_items_file_parse(vq_span_str(csv), "i.csv", &columns, &w->files[i], &err) != VQ_OK ||
        vq_persona_bind(&w->files[i], "i.csv", &of, 2, &w->bound[i], &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    w->sets[i].items = w->bound[i].items;
    w->sets[i].items_count = w->bound[i].count;
    w->sets[i].questions = w->bound[i].questions_count;
    w->probes[i] = (struct vq_persona_probe){.file = &w->files[i], .bound = &w->bound[i]};
}

static void add_rubric(struct world *w, const char *builtin, enum vq_persona_use use)
{
    const struct vq_criterion *text = vq_criterion_builtin(builtin);
    assert_non_null(text);
    struct vq_persona_rubric *r = &w->rubrics[w->in.rubrics_count++];
    *r = (struct vq_persona_rubric){.study = {text->name, text->kind, use}, .text = text};
    for (uint32_t t = 0; t < VQ_TRAITS; t++) {
        if (strcmp(vq_persona_trait_name((enum vq_persona_trait)t), builtin) == 0) {
            r->study.trait = (enum vq_persona_trait)t;
        }
    }
}

static void make_sets(struct world *w)
{
    struct vq_buf items;
    vq_buf_init(&items, 1u << 20);
    vq_buf_puts(&items, "question,trait\nq1,openness\nq2,neuroticism\n");
    for (uint32_t i = 2; i < w->many; i++) {
        vq_buf_printf(&items, "q%u,%s\n", i + 1, i % 2 == 0 ? "openness" : "agreeableness");
    }
    read_items(w, 0, items.at);
    vq_buf_free(&items);
    read_items(w, 1,
               "persona,question,reference\nAda,\"Ada, where?\",here\nAda,why?,so\n"
               "Bo,\"Bo, where?\",there\n");
    read_items(w, 2, "question\nplain\n");
    w->sets[0].rated = w->sets[1].rated = true;
    w->sets[0].rating = VQ_RATING_LIKERT;
    w->sets[1].rating = VQ_RATING_PAIRWISE;
    w->sets[1].positions = VQ_PERSONA_ALTERNATE;
    for (int r = 0; r < VQ_PERSONA_REFERENCES; r++) {
        w->sets[1].references[r] = true;
    }
    add_rubric(w, "knowledge", VQ_PERSONA_OF_TURNS);
    add_rubric(w, "refusal", VQ_PERSONA_OF_TURNS);
    w->in.turn_rubrics = 2;
    for (uint32_t t = 0; t < VQ_TRAITS; t++) {
        add_rubric(w, vq_persona_trait_name((enum vq_persona_trait)t), VQ_PERSONA_OF_TRAITS);
    }
    add_rubric(w, "role_specific", VQ_PERSONA_OF_PAIRS);
    w->probes[0].name = "five";
    w->probes[0].first_rubric = 2;
    w->probes[0].rubrics = VQ_TRAITS;
    w->probes[1].name = "roles";
    w->probes[1].first_rubric = 2 + VQ_TRAITS;
    w->probes[1].rubrics = 1;
    w->probes[2].name = "plain";
}

static void make_world_of(struct world *w, uint32_t many)
{
    *w = (struct world){.many = many};
    struct vq_error err = {.text = ""};
    make_sets(w);
    struct vq_persona_design design = {
        .models = MODELS,
        .personas = 2,
        .baseline = true,
        .scripts_count = 2,
        .scripts = {{VQ_PERSONA_DIRECTED, 2, true, true}, {VQ_PERSONA_GOAL, ROUNDS, false, false}},
        .shuffled = true,
        .rounds = ROUNDS,
        .checkpoints = 3,
        .criteria = 2,
        .sets_count = 3,
        .sets = w->sets,
        .seed = 5};
    if (vq_persona_plan_make(&design, &w->plan, &err) != VQ_OK ||
        vq_template_parse(VQ_TEMPLATE_PERSONA, vq_template_builtin(VQ_TEMPLATE_PERSONA), "p",
                          &w->template, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    w->subjects[0].judge.name = called;
    w->subjects[1].judge.name = called;
    w->subjects[1].line = line;
    w->queries[0] = (struct vq_queries_file){interview, 2, hello, bye};
    w->queries[1] = (struct vq_queries_file){tasks, ROUNDS, NULL, NULL};
    w->in.plan = w->plan;
    w->in.subjects = w->subjects;
    w->in.personas = personas;
    w->in.queries = w->queries;
    w->in.template = w->template;
    w->in.rubrics = w->rubrics;
    w->in.probes = w->probes;
    w->in.judges_count = JUDGES;
    assert_int_equal(vq_persona_create(&w->in, &w->persona, &err), VQ_OK);
}

static void make_world(struct world *w)
{
    make_world_of(w, 0);
}

static void free_world(struct world *w)
{
    vq_persona_destroy(&w->persona);
    for (size_t i = 0; i < VQ_COUNT(w->kept); i++) {
        for (size_t k = 0; k < w->kept_count[i]; k++) {
            vq_free((void *)(uintptr_t)w->kept[i][k].at);
        }
        vq_free(w->kept[i]);
    }
    vq_template_destroy(&w->template);
    vq_persona_plan_destroy(&w->plan);
    for (int i = 0; i < 3; i++) {
        vq_persona_bound_free(&w->bound[i]);
        vq_items_file_free(&w->files[i]);
    }
}

/* ---- the shell's part ---- */

static uint32_t judges_of(const struct vq_stage *s)
{
    return vq_stage_talks(s->kind) ? MODELS : JUDGES;
}

static uint32_t axes_of(const struct vq_stage *s)
{
    return s->kind == VQ_STAGE_CHAT ? s->turns : s->axes_count;
}

static uint8_t asks(const struct vq_stage *s, size_t cell)
{
    return s->cells == NULL ? VQ_CELL_ASKED : s->cells[cell];
}

static void count(struct world *w, const struct vq_stage *s)
{
    size_t cells = (size_t)s->items_count * judges_of(s) * axes_of(s);
    for (size_t i = 0; i < cells; i++) {
        uint64_t calls = asks(s, i) == VQ_CELL_UNASKED                                 ? 0
                         : asks(s, i) == VQ_CELL_ASKED && s->kind == VQ_STAGE_PAIRWISE ? 2
                                                                                       : 1;
        w->asked[s->kind] += calls;
        w->shared += strstr(s->name, "shared") != NULL ? calls : 0;
    }
    assert_true(w->stages < VQ_COUNT(w->names));
    (void)snprintf(w->names[w->stages++], 64, "%s", s->name);
    w->axes_most = axes_of(s) > w->axes_most ? axes_of(s) : w->axes_most;
}

/* A turn says which model it is, how far the dialogue is, and how it was addressed; with a thought
 * in front. */
static void answer_texts(struct world *w, const struct vq_script *script, const struct vq_stage *s)
{
    uint32_t each = axes_of(s);
    size_t cells = (size_t)s->items_count * MODELS * each;
    struct vq_span *texts = vq_alloc(cells, sizeof(*texts));
    char(*said)[96] = vq_alloc(cells, sizeof(*said));
    for (size_t i = 0; i < cells; i++) {
        const struct vq_sample *item = &s->items[i / each / MODELS];
        bool fails = w->fails && s->kind == VQ_STAGE_CHAT && i == 1;
        if (asks(s, i) == VQ_CELL_UNASKED || fails ||
            (w->fails && s->kind == VQ_STAGE_CHAT && i < each && i > 1)) {
            texts[i] = vq_span(NULL, fails ? VQ_OUTCOME_ERROR : VQ_OUTCOME_BLOCKED);
            continue;
        }
        (void)snprintf(said[i], sizeof(said[i]), "<think>no</think>m%u %s %zu %u_",
                       (unsigned)(i / each % MODELS),
                       s->kind == VQ_STAGE_CHAT ? "turn" : s->axes[i % each].low,
                       s->kind == VQ_STAGE_CHAT ? i % each : 0,
                       (unsigned)(item->a.bytes + item->prompt.bytes));
        texts[i] = vq_span_str(said[i]);
    }
    struct vq_error err = {.text = ""};
    if (s->kind == VQ_STAGE_CHAT) { /* a prompt of 100 more a turn, of the second model 200 */
        struct vq_turn_tokens *tokens = vq_alloc(cells, sizeof(*tokens));
        for (size_t i = 0; i < cells; i++) {
            size_t turn = i % each;
            tokens[i] = texts[i].at == NULL
                            ? (struct vq_turn_tokens){0, 0}
                            : (struct vq_turn_tokens){50 + 100 * (i / each % MODELS + 1) * turn, 7};
        }
        assert_int_equal(script->ops->take_tokens(script->ctx, tokens, cells, &err), VQ_OK);
        vq_free(tokens);
    }
    struct vq_span *kept = vq_alloc(cells, sizeof(*kept));
    for (size_t i = 0; i < cells; i++) {
        kept[i] =
            texts[i].at == NULL ? vq_span(NULL, 0) : vq_span(vq_strdup(said[i]), texts[i].bytes);
    }
    w->kept[s->no] = kept;
    w->kept_count[s->no] = cells;
    assert_int_equal(script->ops->take_texts(script->ctx, texts, cells, &err), VQ_OK);
    vq_free(said);
    vq_free(texts);
}

static enum vq_status read_kept(void *ctx, uint32_t stage, uint32_t cell, struct vq_span *ret_text,
                                struct vq_error *err)
{
    const struct world *w = ctx;
    (void)err;
    assert_true(cell < w->kept_count[stage] && w->kept[stage][cell].at != NULL);
    *ret_text = w->kept[stage][cell];
    return VQ_OK;
}

/* As a worker would have it. */
static void item_of(struct world *w, const struct vq_stage *s, uint32_t i,
                    struct vq_sample *ret_item)
{
    const struct vq_reader reader = {read_kept, w};
    struct vq_error err = {.text = ""};
    struct vq_sample_id id;
    if (s->remake == NULL) {
        *ret_item = s->items[i];
        return;
    }
    assert_true(w->lends && s->items == NULL);
    assert_int_equal(s->remake(s->remake_ctx, i, &reader, ret_item, &err), VQ_OK);
    vq_sample_identify(ret_item, &id);
    assert_memory_equal(&id.id, &s->item_ids[i].id, sizeof(id.id));
    w->remade++;
}

/* What is rated is the answer to the question that the judge sees: both name it by one word. */
static void check_pair(const struct vq_sample *item)
{
    const char *from = memchr(item->a.at, ' ', item->a.bytes);
    assert_non_null(from);
    const char *until = memchr(from + 1, ' ', (size_t)(item->a.at + item->a.bytes - from - 1));
    assert_non_null(until);
    const char *found =
        memmem(item->prompt.at, item->prompt.bytes, from + 1, (size_t)(until - from - 1));
    assert_non_null(found);
}

static void check_items(struct world *w, const struct vq_stage *s)
{
    struct vq_hasher h;
    vq_hasher_init(&h, "items");
    for (uint32_t i = 0; i < s->items_count; i++) {
        struct vq_sample item;
        item_of(w, s, i, &item);
        vq_hasher_field(&h, item.prompt);
        vq_hasher_field(&h, item.a);
        vq_hasher_field(&h, item.b);
        assert_null(memmem(item.a.at, item.a.bytes, "<think>", 7));
        assert_int_not_equal(item.a.at[item.a.bytes - 1], '_');
        if (strncmp(s->name, "five rated", 10) == 0) {
            check_pair(&item);
        }
    }
    vq_hasher_final(&h, &w->items[s->no]);
}

static void answer_ratings(const struct vq_script *script, const struct vq_stage *s)
{
    size_t tasks_count = (size_t)s->items_count * JUDGES * s->axes_count * 2;
    uint8_t *outcomes = vq_alloc(tasks_count, 1);
    for (size_t i = 0; i < tasks_count; i++) {
        outcomes[i] =
            asks(s, i / 2) == VQ_CELL_UNASKED ? VQ_OUTCOME_NOT_NEEDED : VQ_OUTCOME_RATED_3;
    }
    struct vq_error err = {.text = ""};
    assert_int_equal(script->ops->take_outcomes(script->ctx, outcomes, tasks_count, &err), VQ_OK);
    vq_free(outcomes);
}

static void walk(struct world *w)
{
    struct vq_script script = vq_persona_script(w->persona);
    struct vq_error err = {.text = ""};
    for (;;) {
        const struct vq_stage *s;
        const struct vq_reader reader = {read_kept, w};
        if (w->lends) {
            script.ops->read_by(script.ctx, &reader);
        }
        assert_int_equal(script.ops->next(script.ctx, &s, &err), VQ_OK);
        if (w->lends) {
            script.ops->read_by(script.ctx, NULL);
        }
        if (s == NULL) {
            return;
        }
        assert_int_equal(s->no, w->stages);
        count(w, s);
        if (vq_stage_talks(s->kind)) {
            answer_texts(w, &script, s);
        } else {
            check_items(w, s);
            answer_ratings(&script, s);
        }
    }
}

/* ---- tests ---- */

/* More questions than a stage may have: in pieces, as forecast. */
TEST(test_a_long_list_is_asked_in_pieces)
{
    struct world w;
    struct vq_persona_counts counts;
    make_world_of(&w, 2500);
    vq_persona_count(w.plan, &counts);
    struct vq_forecast_stage *stages = vq_alloc(VQ_FORECAST_STAGES_MAX, sizeof(*stages));
    uint32_t n = vq_persona_forecast(&w.in, stages);
    walk(&w);
    assert_int_equal(w.axes_most, 1024);
    assert_int_equal(w.asked[VQ_STAGE_PROBE], counts.generated.planned - counts.turns.planned);
    assert_int_equal(vq_persona_rated_count(w.persona), counts.rated.planned);
    static const char *const order[] = {"five",         "five, shared",
                                        "five, part 2", "five, part 2, shared",
                                        "five, part 3", "five, part 3, shared"};
    uint32_t first = 0;
    while (first < w.stages && strcmp(w.names[first], order[0]) != 0) {
        first++;
    }
    assert_true(first + VQ_COUNT(order) < w.stages);
    for (uint32_t i = 0; i < VQ_COUNT(order); i++) {
        assert_string_equal(w.names[first + i], order[i]);
    }
    double most = 0;
    uint32_t found = 0;
    for (uint32_t i = 0; i < n; i++) {
        most += strncmp(stages[i].name, "five", 4) == 0 && stages[i].kind == VQ_STAGE_PROBE
                    ? stages[i].cells.most
                    : 0;
        for (uint32_t k = 0; k < w.stages; k++) {
            found += strcmp(stages[i].name, w.names[k]) == 0;
        }
    }
    uint64_t once = counts.sets[0].asked.planned - counts.sets[0].asked.shared;
    assert_true(fabs(most * MODELS - (double)once) < 0.5);
    assert_int_equal(found, n);
    vq_free(stages);
    free_world(&w);
}

/* Answers of subjects that a prompt has: of what a turn is sent with, half of the dialogue; before
 * a judge, what is judged. */
TEST(test_what_prompts_hold)
{
    struct world w;
    make_world(&w);
    struct vq_forecast_stage stages[VQ_FORECAST_STAGES_MAX];
    uint32_t n = vq_persona_forecast(&w.in, stages), rounds = 0, asked = 0, seen = 0;
    for (uint32_t i = 0; i < w.plan->prefixes_count; i++) {
        if (w.plan->prefixes[i].twin == i) {
            rounds += w.plan->prefixes[i].rounds;
            asked++;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct vq_forecast_stage *s = &stages[i];
        bool own = strstr(s->name, "zero") != NULL || strstr(s->name, "previous") != NULL;
        double answers = s->kind == VQ_STAGE_CHAT    ? (ROUNDS - 1) / 2.0
                         : s->kind == VQ_STAGE_PROBE ? (double)rounds / asked
                                                     : (own ? 2 : 1);
        assert_true(fabs(s->answers - answers) < 1e-9);
        seen |= 1u << s->kind;
        if (s->kind == VQ_STAGE_CHAT) { /* as a chain's turns are: system, then a query more each */
            double bytes = 0;
            for (uint32_t c = 0; c < w.plan->chains_count; c++) {
                struct vq_persona_talk talk;
                vq_persona_talk(w.persona, c, &talk);
                for (uint32_t turn = 0; turn < ROUNDS; turn++) {
                    bytes += (double)talk.system.bytes;
                    for (uint32_t k = 0; k <= turn; k++) {
                        bytes += (double)talk.queries[k].bytes;
                    }
                }
            }
            assert_true(fabs(s->items / (bytes / w.plan->chains_count / ROUNDS) - 1) < 0.15);
        }
    }
    assert_int_equal(seen, 1u << VQ_STAGE_CHAT | 1u << VQ_STAGE_PROBE | 1u << VQ_STAGE_LIKERT |
                               1u << VQ_STAGE_BINARY | 1u << VQ_STAGE_PAIRWISE);
    free_world(&w);
}

/* With a store to read from the same is asked, and no text of an answer is kept. */
TEST(test_answers_are_read_when_they_are_needed)
{
    struct world plain, lends;
    make_world(&plain);
    make_world(&lends);
    lends.lends = true;
    walk(&plain);
    walk(&lends);
    assert_int_equal(plain.remade, 0);
    assert_true(lends.remade > 0);
    assert_int_equal(plain.stages, lends.stages);
    for (uint32_t i = 0; i < plain.stages; i++) {
        assert_string_equal(plain.names[i], lends.names[i]);
    }
    assert_memory_equal(plain.items, lends.items, sizeof(plain.items));
    assert_memory_equal(plain.asked, lends.asked, sizeof(plain.asked));
    size_t n = vq_persona_rated_count(plain.persona);
    assert_int_equal(n, vq_persona_rated_count(lends.persona));
    for (size_t i = 0; i < n; i++) {
        const struct vq_persona_place *a = &vq_persona_places(plain.persona)[i];
        const struct vq_persona_place *b = &vq_persona_places(lends.persona)[i];
        assert_true(a->part == b->part && a->item == b->item && a->blocked == b->blocked);
    }
    free_world(&plain);
    free_world(&lends);
}

TEST(test_all_that_the_plan_counts_is_asked_once)
{
    struct world w;
    struct vq_persona_counts counts;
    make_world(&w);
    vq_persona_count(w.plan, &counts);
    walk(&w);
    assert_string_equal(w.names[0], "dialogues");
    assert_string_equal(w.names[1], "turns rated");
    assert_int_equal(w.asked[VQ_STAGE_CHAT], counts.turns.planned);
    uint64_t probes = counts.generated.planned - counts.turns.planned;
    assert_int_equal(w.asked[VQ_STAGE_PROBE], probes);
    uint64_t rated =
        w.asked[VQ_STAGE_LIKERT] + w.asked[VQ_STAGE_BINARY] + w.asked[VQ_STAGE_PAIRWISE];
    assert_int_equal(rated, counts.rated.planned * JUDGES);
    assert_int_equal(vq_persona_rated_count(w.persona), counts.rated.planned);
    assert_true(w.shared > 0);
    /* every thing is where its place says, and no two are in one place */
    const struct vq_persona_place *places = vq_persona_places(w.persona);
    const struct vq_persona_rated *things = vq_persona_rated(w.persona);
    for (size_t i = 0; i < vq_persona_rated_count(w.persona); i++) {
        assert_false(places[i].blocked);
        const struct vq_stage *s = vq_persona_part(w.persona, places[i].part);
        assert_true(places[i].item < s->items_count && places[i].axis < s->axes_count);
        assert_non_null(s->item_ids);
        size_t cell = ((size_t)places[i].item * JUDGES + 1) * s->axes_count + places[i].axis;
        assert_int_not_equal(s->cells[cell], VQ_CELL_UNASKED);
        assert_int_equal(things[i].position, places[i].order);
        assert_string_equal(s->axes[places[i].axis].name,
                            w.rubrics[things[i].criterion].text->name);
        assert_int_equal(
            vq_persona_outcomes(w.persona, places[i].part)[((size_t)cell * 2) + places[i].order],
            VQ_OUTCOME_RATED_3);
    }
    /* the study takes them as they are */
    struct vq_persona_criterion study[9];
    for (uint32_t i = 0; i < w.in.rubrics_count; i++) {
        study[i] = w.rubrics[i].study;
    }
    size_t n = vq_persona_rated_count(w.persona);
    double *values = vq_alloc(n, sizeof(*values));
    uint8_t *statuses = vq_alloc(n, 1);
    for (size_t i = 0; i < n; i++) {
        values[i] = 1;
    }
    struct vq_persona_study s = {.plan = w.plan,
                                 .criteria = study,
                                 .criteria_count = w.in.rubrics_count,
                                 .judges = 1,
                                 .rated = things,
                                 .rated_count = n,
                                 .values = values,
                                 .statuses = statuses,
                                 .draws = 2,
                                 .bar_draws = 2};
    struct vq_persona_numbers *numbers;
    struct vq_error err = {.text = ""};
    if (vq_persona_numbers_compute(&s, &numbers, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    vq_persona_numbers_destroy(&numbers);
    vq_free(values);
    vq_free(statuses);
    free_world(&w);
}

TEST(test_a_turn_that_fails_leaves_a_hole)
{
    struct world w;
    make_world(&w);
    w.fails = true;
    walk(&w);
    struct vq_persona_talk talk;
    vq_persona_talk(w.persona, 0, &talk);
    assert_int_equal(talk.turns, 1);
    assert_int_equal(talk.why, VQ_OUTCOME_ERROR);
    double tokens[ROUNDS + 1];
    vq_persona_tokens(w.persona, 0, tokens); /* of turns that were not answered nothing is known */
    assert_true(tokens[0] >= 0 && tokens[0] <= 0 && isnan(tokens[1]) && isnan(tokens[ROUNDS]));
    for (uint32_t chain = 1; chain < w.plan->chains_count; chain++) {
        vq_persona_tokens(w.persona, chain, tokens);
        for (uint32_t r = 0; r <= ROUNDS; r++) { /* at the end, its last answer is in it */
            double turn = r < ROUNDS ? r : ROUNDS - 1;
            double length = 100 * (w.plan->chains[chain].model + 1) * turn + (r == ROUNDS ? 7 : 0);
            assert_true(fabs(tokens[r] - length) < 1e-9);
        }
    }
    vq_persona_talk(w.persona, 1, &talk);
    assert_int_equal(talk.turns, ROUNDS);
    assert_int_equal(talk.why, VQ_OUTCOME_NONE);
    const struct vq_persona_place *places = vq_persona_places(w.persona);
    const struct vq_persona_rated *things = vq_persona_rated(w.persona);
    size_t blocked = 0;
    for (size_t i = 0; i < vq_persona_rated_count(w.persona); i++) {
        bool turn = w.rubrics[things[i].criterion].study.use == VQ_PERSONA_OF_TURNS;
        bool own = things[i].model == 0 && things[i].persona == 0 && things[i].script == 0;
        bool gone = own && things[i].point > 0 && (!turn || things[i].order == VQ_PERSONA_ORIGINAL);
        assert_int_equal(places[i].blocked, gone);
        blocked += gone;
    }
    /* 3 turns x 2 criteria; 2 checkpoints x (2 traits + 2 items x 3 references) */
    assert_int_equal(blocked, 3 * 2 + 2 * (2 + 2 * 3));
    free_world(&w);
}

TEST(test_texts)
{
    struct world w;
    struct vq_buf out;
    vq_buf_init(&out, 1u << 16);
    make_world(&w);
    struct vq_persona_talk talk;
    uint32_t baseline = vq_persona_chain_of(w.plan, 0, 2, 0, VQ_PERSONA_ORIGINAL);
    vq_persona_talk(w.persona, baseline, &talk);
    assert_int_equal(talk.system.bytes, 0);
    assert_true(vq_span_eq(talk.queries[0], vq_span_str("Hello the model")));
    assert_true(vq_span_eq(talk.queries[3], vq_span_str("Bye the model")));
    vq_persona_talk(w.persona, vq_persona_chain_of(w.plan, 1, 2, 0, VQ_PERSONA_ORIGINAL), &talk);
    assert_true(vq_span_eq(talk.system, vq_span_str("think: off")));
    vq_persona_talk(w.persona, vq_persona_chain_of(w.plan, 1, 1, 0, VQ_PERSONA_SHUFFLED), &talk);
    assert_memory_equal(talk.system.at, "think: off\n\nYou take on the role of Bo. You bake.", 48);
    assert_true(vq_span_eq(talk.queries[0], vq_span_str("Hello Bo")));
    vq_persona_judged_question(&personas[0], vq_span_str("{{q}}"), &out);
    assert_string_equal(out.at, "<role>\nAda\n</role>\n<role_description>\nYou sail.\n"
                                "</role_description>\n<user_query>\n{{q}}\n</user_query>");
    vq_buf_clear(&out);
    vq_persona_judged_question(NULL, vq_span_str("q"), &out);
    assert_string_equal(out.at, "q");
    vq_buf_clear(&out);
    vq_persona_judged_answer(vq_span_str("<think>a</think>\n\n b_c __\n"), &out);
    assert_string_equal(out.at, "b_c");
    vq_buf_clear(&out);
    vq_persona_judged_answer(vq_span_str("<think>never ends"), &out);
    assert_int_equal(out.bytes, 0);
    vq_buf_free(&out);
    free_world(&w);
}
