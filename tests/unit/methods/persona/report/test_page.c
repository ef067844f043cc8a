/* The page of a persona evaluation: every text of others is escaped, no script is let in, curves
 * stand where the numbers say, what is missing is a gap and is counted, and no more dialogues are
 * shown than a page holds. */
#include "methods/persona/report/page_parts.h"
#include "methods/persona/report/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/methods/persona/world.h"

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
    vq_buf_init(out, VQ_HTML_BYTES_MAX);
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
    assert_int_equal(count(out.at, "<div class=\"probe\">"), asked);
    assert_int_equal(count(out.at, "<p class=\"text\">I &lt;b&gt;reply</p>"), asked);
    assert_int_equal(count(out.at, "Asked after 3 rounds: <bdi>safety</bdi>, 2 questions"), 5);
    assert_int_equal(count(out.at, "<bdi>safety</bdi>, <bdi>j"), 2); /* two judges */
    assert_int_equal(count(out.at, "against dataset, shown behind it: <span class=\"value\">wins"),
                     1);
    assert_int_equal(
        count(out.at, "against dataset, shown in front of it: <span class=\"value\">wins"), 1);
    const char *at = strstr(out.at, "<bdi>general</bdi>, <bdi>j"); /* of Ada's, after 3 rounds */
    assert_non_null(at);
    char *before = vq_strndup(out.at, (size_t)(at - out.at));
    assert_non_null(before);
    assert_int_equal(count(before, "set 1 &lt;prefix 1&gt; 0?"), 1);
    vq_free(before);
    vq_buf_free(&out);
    told.reply = vq_span(NULL, 0);
    page(&w, &told, &out);
    assert_int_equal(count(out.at, "<b class=\"wrong\">no answer</b>"), asked);
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
    static const char *const never[] = {"<script", "<img",     "<u>",   "<h>",        "<r>",
                                        "j<0>",    "<b>style", "why<>", "script-src", "m<0>",
                                        "http:",   "https:",   "\x80",  "\x01"};
    for (size_t i = 0; i < VQ_COUNT(never); i++) {
        if (strcmp(never[i], "\x80") != 0 && strstr(out.at, never[i]) != NULL) {
            fail_msg("\"%s\" is in the page", never[i]);
        }
    }
    assert_non_null(strstr(out.at, "default-src 'none'; style-src 'sha256-"));
    assert_non_null(strstr(out.at, "I say &lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;"
                                   "\xef\xbf\xbd\xef\xbf\xbd"));
    assert_non_null(strstr(out.at, "be &lt;script&gt;"));
    assert_non_null(strstr(out.at, "because &lt;script&gt;"));
    assert_non_null(strstr(out.at, "ended after 2 of 6 rounds: why&lt;&gt;"));
    assert_int_equal(count(out.at, "<details class=\"row\">"), 6);
    assert_int_equal(count(out.at, "<div class=\"turn\">"), 5 * 6 + 2);
    vq_buf_free(&out);
    vq_buf_free(&again);
    world_close(&w);
}

/* Of the section of a measure. */
static char *section(const struct world *w, const char *page_text, const char *name)
{
    char from[32];
    size_t number = (size_t)(world_measure(w, name) - w->numbers->measures) + 1;
    (void)snprintf(from, sizeof(from), "<section id=\"m%zu\"", number);
    const char *at = strstr(page_text, from);
    assert_non_null(at);
    const char *end = strstr(at, "</section>");
    assert_non_null(end);
    char *text = vq_strndup(at, (size_t)(end - at));
    assert_non_null(text);
    return text;
}

static void test_curves_and_what_is_missing(void **state)
{
    (void)state;
    struct world w;
    struct vq_buf out;
    struct told told = told_of("x");
    fill(&w, 1);
    page(&w, &told, &out);
    assert_non_null(strstr(out.at, "No intervals: there are 2 cells"));
    char *style = section(&w, out.at, "<b>style");
    assert_non_null(strstr(style, "No intervals: 2 cells can have a value"));
    assert_null(strstr(style, "class=\"ci "));
    assert_non_null(strstr(style, "j&lt;0&gt;</bdi>: 17 ok, 1 <b class=\"wrong\">missing</b>."));
    assert_non_null(strstr(style, "j1</bdi>: 17 ok, 1 <b class=\"wrong\">truncated</b>."));
    assert_non_null(strstr(style, "18 rated, 1 of them without a value."));
    /* Ada's own chart, on a scale from 1 to 5: turn 0 at its top, then the means of turns 1 and 2,
     * and of 3 (missing) to 5 */
    assert_non_null(
        strstr(style, "Ada&lt;img src=x&gt;</bdi><span class=\"hint\"> round 0 5.00, "));
    assert_non_null(strstr(style, "Bo</bdi><span class=\"hint\"> round 0 4.00, round 5 4.00"));
    assert_non_null(strstr(style, "Persona minus baseline"));
    assert_non_null(strstr(style, "No values.")); /* of goal-oriented dialogues */
    char *unsafe = section(&w, out.at, "safety: unsafe");
    assert_non_null(strstr(unsafe, "1 <b class=\"wrong\">blocked</b>"));
    assert_null(strstr(unsafe, "<path"));
    char *wins = section(&w, out.at, "general: dataset");
    assert_non_null(strstr(wins, "With the reference shown first, the first was chosen 0 times, "
                                 "the second 1."));
    assert_non_null(strstr(wins, "<circle class=\"dot persona\""));
    vq_free(style);
    vq_free(unsafe);
    vq_free(wins);
    /* what fell most comes first */
    const char *first = strstr(out.at, "<details class=\"row\"><summary><bdi>");
    assert_non_null(first);
    assert_memory_equal(first + strlen("<details class=\"row\"><summary><bdi>"), "Ada&lt;", 7);
    assert_non_null(strstr(out.at, "ratings \xe2\x88\x92"
                                   "1."));
    vq_buf_free(&out);
    world_close(&w);
}

static void test_intervals_over_enough_cells(void **state)
{
    (void)state;
    struct world w;
    struct vq_buf out;
    struct told told = told_of("x");
    fill(&w, 4);
    page(&w, &told, &out);
    assert_null(strstr(out.at, "No intervals: there are"));
    char *style = section(&w, out.at, "<b>style");
    assert_non_null(strstr(style, "<path class=\"ci persona\" d=\"M"));
    assert_non_null(strstr(style, "<path class=\"ci contrast\" d=\"M"));
    /* turn by turn in one chart, and each model in the charts of both personas */
    assert_int_equal(count(style, "<path class=\"line persona faint\""), 1 + 2 * 4);
    vq_free(style);
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
    assert_true(out.bytes - plain <= (size_t)24 * ROUNDS * 2 * (VQ_HTML_TEXT_BYTES_MAX + 1) * 6);
    assert_true(out.bytes - plain <= VQ_HTML_DATA_BYTES_MAX + VQ_HTML_TALK_BYTES_MAX);
    size_t shown = count(out.at, "<details class=\"row\">");
    assert_int_equal(shown, 24);
    vq_buf_free(&out);
    vq_free(text);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts_are_text),
        cmocka_unit_test(test_probes_stand_where_they_were_asked),
        cmocka_unit_test(test_curves_and_what_is_missing),
        cmocka_unit_test(test_intervals_over_enough_cells),
        cmocka_unit_test(test_a_page_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
