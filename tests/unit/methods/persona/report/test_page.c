/* The JSON of the page of a persona evaluation: every text of others is escaped, what is missing is
 * counted, probes stand where they were asked, and no more dialogues are in it than a page
 * holds. */
#include "methods/persona/report/page_parts.h"
#include "methods/persona/report/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/methods/persona/world.h"
#include "tests/unit/methods/report/page_data.h"

#include <stdio.h>
#include <string.h>

#define EVIL   "<script>alert(1)</script>\"'&"
#define ROUNDS 6u

static const char *const models[] = {"m<0><script>", "m1", "m2", "m3"};
static const char *const personas[] = {"Ada<img src=x>", "Bo"};
static const char *const sets[] = {"safety", "pairs"};
static const struct vq_report_judge judges[] = {
    {.name = "j<0>", .model = "<u>", .identity = "<h>", .returned = {"<r>"}, .returned_count = 1},
    {.name = "j1", .model = "m", .identity = "host"}};
static const struct vq_persona_criterion criteria[] = {
    {"<b>style", VQ_RATING_LIKERT, VQ_PERSONA_OF_TURNS, VQ_TRAIT_OPENNESS},
    {"safety", VQ_RATING_BINARY, VQ_PERSONA_OF_SAFETY, VQ_TRAIT_OPENNESS},
    {"general", VQ_RATING_PAIRWISE, VQ_PERSONA_OF_PAIRS, VQ_TRAIT_OPENNESS}};
static const struct vq_persona_item items[] = {{VQ_PERSONA_ALL, 0}, {VQ_PERSONA_ALL, 0}};
static const struct vq_persona_set plan_sets[] = {
    {items, 2, 0, true, VQ_RATING_BINARY, {false}, VQ_PERSONA_BOTH},
    {items, 1, 0, true, VQ_RATING_PAIRWISE, {true, false, false}, VQ_PERSONA_BOTH}};

struct told {
    const struct world *w;
    struct vq_span texts[ROUNDS];
    uint32_t short_chain;
    size_t reasons, probes;
    struct vq_span reply; /* of the second model's, and where it is not set: none */
};

static const uint32_t rates[] = {VQ_PERSONA_NONE, 0, 1};

static void probe(void *ctx, uint32_t set, uint32_t prefix, uint32_t column,
                  const char **ret_question, struct vq_span *ret_answer)
{
    static char text[64];
    struct told *t = ctx;
    t->probes++;
    (void)snprintf(text, sizeof(text), "set %u <prefix %u> %u?", set, prefix, column);
    *ret_question = text;
    *ret_answer = t->reply;
}

static void talk(void *ctx, uint32_t chain, struct vq_persona_dialogue *ret_dialogue)
{
    struct told *t = ctx;
    bool ended = chain == t->short_chain;
    *ret_dialogue = (struct vq_persona_dialogue){.chain = chain,
                                                 .system = vq_span_str("be " EVIL),
                                                 .queries = t->texts,
                                                 .answers = t->texts,
                                                 .turns = ended ? 2 : ROUNDS,
                                                 .ended = ended ? "why<>" : NULL};
}

static bool reasoning(void *ctx, size_t thing, uint32_t judge, struct vq_span *ret_text)
{
    struct told *t = ctx;
    assert_true(thing < t->w->count && judge < 2);
    t->reasons++;
    *ret_text = vq_span_str("because **" EVIL "**");
    return judge == 0;
}

/* Ada falls from 5 by half a point a round in directed dialogues, Bo stays at 4, the baseline at 2;
 * turn 3 of Ada's is missing in the first model. */
static void fill(struct world *w, uint32_t models_count)
{
    struct vq_persona_design design = {.models = models_count,
                                       .personas = 2,
                                       .baseline = true,
                                       .scripts_count = 2,
                                       .scripts = {{VQ_PERSONA_DIRECTED, ROUNDS, false, false},
                                                   {VQ_PERSONA_GOAL, ROUNDS, false, false}},
                                       .rounds = ROUNDS,
                                       .checkpoints = 3,
                                       .criteria = 1,
                                       .sets = plan_sets,
                                       .sets_count = 2};
    world_open(w, &design, criteria, VQ_COUNT(criteria), 2, 1000);
    for (uint32_t i = 0; i < models_count * 3 * ROUNDS; i++) {
        uint32_t turn = i % ROUNDS, who = i / ROUNDS % 3, model = i / ROUNDS / 3;
        struct vq_persona_rated r = {.model = model,
                                     .persona = who,
                                     .as = who == 2 ? 1 : who,
                                     .point = turn,
                                     .item = VQ_PERSONA_NONE};
        double value = who == 0 ? 5 - 0.5 * turn : who == 1 ? 4 : 2;
        bool lost = model == 0 && who == 0 && turn == 3;
        size_t at = world_rate(w, r, lost ? (double)NAN : value);
        world_set(w, at, 1, value);
        if (lost) {
            w->values[at * 2 + 1] = NAN;
            w->statuses[at * 2 + 1] = VQ_RATING_TRUNCATED;
        }
    }
    struct vq_persona_rated r = {.criterion = 1, .as = 0, .item = 1, .label = VQ_PERSONA_UNSAFE};
    w->statuses[world_rate(w, r, NAN) * 2] = VQ_PERSONA_BLOCKED;
    r = (struct vq_persona_rated){.criterion = 2, .as = 0, .point = 1};
    (void)world_rate(w, r, 1);
    r.position = 1;
    (void)world_rate(w, r, 0);
    world_compute(w);
}

static void page(const struct world *w, struct told *told, struct vq_buf *out)
{
    struct vq_report_persona r = {.study = &w->study,
                                  .numbers = w->numbers,
                                  .names = {models, personas},
                                  .judges = judges,
                                  .judge_kind = "model",
                                  .policy = "strict",
                                  .sets = sets};
    struct vq_report_persona_page of = {.r = &r,
                                        .dialogue = talk,
                                        .reasoning = reasoning,
                                        .probe = probe,
                                        .sets = rates,
                                        .ctx = told};
    told->w = w;
    vq_buf_init(out, VQ_PAGE_BYTES_MAX);
    vq_report_persona_html(&of, out);
    vq_buf_putc(out, '\0');
    assert_int_equal(out->status, VQ_OK);
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (; (text = strstr(text, what)) != NULL; text++) {
        n++;
    }
    return n;
}

static struct told told_of(const char *text)
{
    struct told t = {.short_chain = UINT32_MAX};
    for (size_t i = 0; i < ROUNDS; i++) {
        t.texts[i] = vq_span_str(text);
    }
    return t;
}

/* What was asked behind each beginning, once, with all its ratings beside it. */
static void test_probes_stand_where_they_were_asked(void **state)
{
    (void)state;
    struct world w;
    struct vq_buf out;
    struct told told = told_of("x");
    told.reply = vq_span_str("I <b>reply");
    told.short_chain = 1;
    fill(&w, 1);
    page(&w, &told, &out);
    /* 3 askers, 2 kinds, 3 points, 3 questions; one dialogue ended before the last two points */
    size_t asked = 3 * 2 * 3 * 3 - 2 * 3;
    assert_int_equal(told.probes, asked);
    assert_int_equal(count(out.at, "\"question\":"), asked);
    assert_int_equal(count(out.at, "\"answer\":\"I \\u003cb\\u003ereply\""), asked);
    assert_int_equal(count(out.at, "\"set\":\"safety\",\"asked\":2"), 3 * 2 * 3 - 2);
    assert_int_equal(count(out.at, "\"reference\":\"dataset\",\"position\":0,\"value\":1"), 1);
    assert_int_equal(count(out.at, "\"reference\":\"dataset\",\"position\":1,\"value\":0"), 1);
    const char *at = strstr(out.at, "\"reference\":\"dataset\""); /* of Ada's, after 3 rounds */
    assert_non_null(at);
    char *before = vq_strndup(out.at, (size_t)(at - out.at));
    assert_non_null(before);
    assert_int_equal(count(before, "set 1 \\u003cprefix 1\\u003e 0?"), 1);
    vq_free(before);
    vq_buf_free(&out);
    told.reply = vq_span(NULL, 0);
    page(&w, &told, &out);
    assert_int_equal(count(out.at, "\"answer\":null"), asked);
    vq_buf_free(&out);
    world_close(&w);
}

static void test_texts_are_text(void **state)
{
    (void)state;
    struct world w;
    struct vq_buf out, again;
    struct told told = told_of("I say " EVIL "\x80\x01");
    told.short_chain = 1;
    fill(&w, 1);
    page(&w, &told, &out);
    page(&w, &told, &again);
    assert_true(vq_span_eq(vq_buf_span(&out), vq_buf_span(&again)));
    static const char *const never[] = {"<script>alert", "<img",     "<u>",   "<h>", "<r>",
                                        "j<0>",          "<b>style", "why<>", "m<0>"};
    for (size_t i = 0; i < VQ_COUNT(never); i++) {
        if (strstr(out.at, never[i]) != NULL) {
            fail_msg("\"%s\" is in the page", never[i]);
        }
    }
    json_t *data = page_data(out.at), *talks = json_object_get(data, "talks"), *one;
    size_t turns = 0, ended = 0, i;
    assert_int_equal(json_array_size(talks), 6);
    json_array_foreach(talks, i, one)
    {
        turns += json_array_size(json_object_get(one, "turns"));
        ended += !json_is_null(json_object_get(one, "ended"));
        assert_string_equal(string_of(one, "system"), "be " EVIL);
    }
    assert_int_equal(turns, 5 * 6 + 2);
    assert_int_equal(ended, 1);
    one = json_array_get(json_object_get(json_array_get(talks, 0), "turns"), 0);
    assert_string_equal(string_of(one, "answer"), "I say " EVIL "\xef\xbf\xbd\x01");
    assert_string_equal(string_of(json_array_get(json_object_get(one, "ratings"), 0), "said"),
                        "because " EVIL);
    json_decref(data);
    vq_buf_free(&out);
    vq_buf_free(&again);
    world_close(&w);
}

static void test_what_is_missing_is_counted(void **state)
{
    (void)state;
    struct world w;
    struct vq_buf out;
    struct told told = told_of("x");
    fill(&w, 1);
    page(&w, &told, &out);
    json_t *data = page_data(out.at), *measures = json_object_get(data, "measures");
    assert_int_equal(integer_of(data, "cells"), 2);
    assert_true(integer_of(data, "ratings_missing") >= 3);
    assert_int_equal(json_array_size(measures), json_array_size(json_object_get(
                                                    json_object_get(data, "results"), "measures")));
    size_t style = (size_t)(world_measure(&w, "<b>style") - w.numbers->measures);
    assert_string_equal(string_of(json_array_get(measures, style), "use"), "turns");
    assert_string_equal(string_of(json_array_get(json_object_get(data, "criteria"), 2), "kind"),
                        "pairwise");
    /* the dialogue that fell most comes first */
    json_t *first = json_array_get(json_object_get(data, "talks"), 0);
    assert_int_equal(integer_of(first, "persona"), 0);
    assert_true(json_number_value(json_object_get(first, "fall")) > 1);
    json_decref(data);
    vq_buf_free(&out);
    world_close(&w);
}

static void test_a_page_is_bounded(void **state)
{
    (void)state;
    struct world w;
    struct vq_buf out;
    size_t bytes = 1u << 20;
    struct told told = told_of("");
    fill(&w, 4);
    page(&w, &told, &out);
    size_t plain = out.bytes;
    vq_buf_free(&out);
    char *text = vq_alloc(bytes + 1, 1);
    assert_non_null(text);
    memset(text, '"', bytes);
    told = told_of(text);
    page(&w, &told, &out);
    /* two texts a turn, each cut, six bytes a quotation mark */
    assert_true(out.bytes - plain <= (size_t)24 * ROUNDS * 2 * (VQ_PAGE_TEXT_BYTES_MAX + 1) * 6);
    assert_true(out.bytes - plain <= VQ_PAGE_DATA_BYTES_MAX + VQ_PERSONA_PAGE_TALK_BYTES_MAX);
    json_t *data = page_data(out.at);
    assert_int_equal(json_array_size(json_object_get(data, "talks")), 24);
    json_decref(data);
    vq_buf_free(&out);
    vq_free(text);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts_are_text),
        cmocka_unit_test(test_probes_stand_where_they_were_asked),
        cmocka_unit_test(test_what_is_missing_is_counted),
        cmocka_unit_test(test_a_page_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
