/* Discovery walked by an oracle: the number of calls, every reason to stop, what each answer changes, and what a missing answer does
 * not change. */
#include "walker.h"

#define F(n)    "Feature " #n ": Low: little of " #n "; High: much of " #n
#define COIN(n) "Coin " #n ": Low: tails " #n "; High: heads " #n

/* Iteration 1 finds two features, iteration t another one: "discover 2" the feature 2. */
static bool one_more(struct walk *w, const struct vq_stage *stage, uint32_t prompt,
                     struct vq_buf *to)
{
    (void)w;
    unsigned number;
    if (!walk_wants(stage, prompt, "new axes") ||
        sscanf(stage->name, "discover %u", &number) != 1) {
        return false;
    }
    vq_buf_printf(to, "New Axes:\n- Feature %u: Low: little of it; High: much of it\n", number);
    return true;
}

static struct walk *discovery(uint32_t rows, uint32_t judges)
{
    struct walk *w = walk_create(rows, judges, 11);
    w->config.method = VQ_METHOD_DISCOVER;
    w->config.vibecheck.min_misclassified = 1;
    w->proposes[0] = F(0);
    w->proposes[1] = F(1);
    for (unsigned f = 0; f < WALK_FEATURES; f++) {
        w->share[f] = f % 2 == 0 ? 0.4 : -0.4;
        w->plain[f] = 0.5;
    }
    w->text = one_more;
    return w;
}

/* ---- section 11 ---- */

static void calls_are_those_of_the_count_model(void **state)
{
    (void)state;
    static const uint32_t ds[3] = {20, 7, 10};
    for (uint32_t q = 1; q <= 2; q++) {
        for (uint32_t rounds = 1; rounds <= 3; rounds++) {
            for (uint32_t c = 1; c <= 2; c++) {
                struct walk *w = discovery(120, 2);
                uint32_t d = ds[rounds - 1], batches = (d + 4) / 5, vibes = rounds + 1;
                w->config.vibecheck.d = d;
                w->config.vibecheck.iterations = rounds;
                w->config.vibecheck.discovery_calls = q;
                w->config.vibecheck.clusters = c;
                w->config.vibecheck.clustering = c > 1 ? VQ_CLUSTERING_ALWAYS : VQ_CLUSTERING_NEVER;
                w->in.embedder = true;
                const struct vq_method_result *r = walk_run(w);
                assert_int_equal(r->stop, VQ_STOP_ITERATIONS);
                assert_int_equal(r->iterations_count, rounds);
                assert_int_equal(walk_calls(w, "discover") + walk_calls(w, "differences") +
                                     walk_calls(w, "formalise differences"),
                                 q * batches + (rounds - 1) * batches);
                assert_int_equal(walk_calls(w, "summarise") + walk_calls(w, "formalise summaries") +
                                     walk_calls(w, "simplify") + walk_calls(w, "reduce"),
                                 rounds * (2 * c + 1));
                assert_int_equal(walk_calls(w, "dedup"), rounds - 1);
                assert_int_equal(r->axes_count, vibes);
                assert_int_equal(walk_calls(w, "rank"), 2 * 2 * 60 * vibes);
                struct vq_vibecheck *numbers = walk_numbers(w);
                assert_int_equal(walk_calls(w, "test"), 2 * 2 * 60 * numbers->kept_count);
                assert_true(numbers->kept_count >= rounds);
                vq_vibecheck_destroy(&numbers);
                walk_destroy(w);
            }
        }
    }
}

/* The reducer is asked at most three times, each time anew, and then support decides. */
static bool never_fewer(struct walk *w, const struct vq_stage *stage, uint32_t prompt,
                        struct vq_buf *to)
{
    uint32_t *tries = w->world;
    if (walk_wants(stage, prompt, "axes")) { /* the later ones are said by more batches */
        for (unsigned f = 0; f < 6; f++) {
            if (prompt <= f) {
                vq_buf_printf(to, "- Feature %u: Low: low; High: high\n", f);
            }
        }
        return true;
    }
    if (walk_wants(stage, prompt, "reduced axes")) {
        assert_int_equal(stage->prompts[prompt].again, *tries);
        ++*tries;
        vq_buf_puts(to, *tries == 2 ? "I cannot." : "");
        if (*tries != 2) {
            walk_put(to, walk_section(stage->prompts[prompt].user, "axes"));
        }
        return true;
    }
    return false;
}

static void too_many_axes_go_by_support(void **state)
{
    (void)state;
    struct walk *w = discovery(60, 1);
    uint32_t tries = 0;
    w->world = &tries;
    w->text = never_fewer;
    w->config.vibecheck.k = 3;
    w->config.vibecheck.d = 30;
    const struct vq_method_result *r = walk_run(w);
    assert_int_equal(tries, 3);
    assert_int_equal(r->iterations[0].proposed, 21);
    assert_int_equal(r->iterations[0].reduced, 6);
    assert_int_equal(r->axes_count, 3);
    assert_string_equal(r->axes[0].name, "Feature 5"); /* six batches say it, five the next */
    assert_string_equal(r->axes[1].name, "Feature 4");
    assert_string_equal(r->axes[2].name, "Feature 3");
    assert_int_equal(r->provenance[0].support, 6);
    assert_int_equal(r->provenance[2].proposals_count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        const struct vq_proposal *p = &r->proposals[r->provenance[2].proposals[i]];
        assert_string_equal(p->axis.name, "Feature 3");
        assert_int_equal(p->batch, i);
        assert_int_equal(p->rows_count, 5);
        assert_false(r->rows[p->rows[0]].test);
    }
    assert_true(walk_noted(r, "the reducer left 6 axes; the 3 with the most support go on"));
    assert_true(walk_noted(r, "since nobody embeds"));
    walk_destroy(w);
}

static void fewer_axes_take_fewer_calls(void **state)
{
    (void)state;
    struct walk *w = discovery(60, 1);
    w->config.vibecheck.k = 1;
    const struct vq_method_result *r = walk_run(w);
    assert_int_equal(walk_calls(w, "reduce"), 1);
    assert_int_equal(r->axes_count, 1);
    w->config.vibecheck.k = 20;
    w->config.vibecheck.num_eval_vibes = 1;
    r = walk_run(w);
    assert_int_equal(walk_calls(w, "reduce"), 0);
    assert_int_equal(r->axes_count, 1);
    assert_string_equal(r->axes[0].name, "Feature 0"); /* equal support: the first in the list */
    assert_int_equal(r->iterations[0].deduplicated, 2);
    assert_int_equal(r->iterations[0].evaluated, 1);
    w->config.vibecheck.num_eval_vibes = 0;
    assert_int_equal(walk_run(w)->axes_count, 2);
    walk_destroy(w);
}

/* ---- reasons to stop ---- */

static void every_stop_has_its_reason(void **state)
{
    (void)state;
    struct walk *w = discovery(120, 2);
    w->config.vibecheck.iterations = 3;
    const struct vq_method_result *r = walk_run(w);
    assert_int_equal(r->stop, VQ_STOP_ITERATIONS);
    assert_true(walk_noted(r, "after iteration 3 of 3: as many iterations"));
    uint32_t wrong = r->iterations[0].misclassified;
    assert_true(wrong > 5 && wrong < 60);
    w->config.vibecheck.min_misclassified = wrong - 1;
    assert_int_equal(walk_run(w)->iterations_count > 1, true);
    w->config.vibecheck.min_misclassified = wrong;
    r = walk_run(w);
    assert_int_equal(r->stop, VQ_STOP_MISCLASSIFIED);
    assert_int_equal(r->iterations_count, 1);
    assert_true(walk_noted(r, "after iteration 1 of 3: too few rows were still misclassified"));
    w->config.vibecheck.min_misclassified = 0; /* d */
    w->config.vibecheck.d = wrong;
    r = walk_run(w);
    w->config.vibecheck.d = 20;
    assert_int_equal(r->stop, VQ_STOP_MISCLASSIFIED);
    w->config.vibecheck.min_misclassified = 1;
    w->config.vibecheck.mm_stop = r->iterations[0].mm_accuracy;
    r = walk_run(w);
    assert_int_equal(r->stop, VQ_STOP_MM);
    assert_int_equal(r->iterations_count, 1);
    assert_true(walk_noted(r, "reached mm_stop"));
    w->config.vibecheck.mm_stop = 0;
    w->text = NULL; /* from now on nothing new */
    r = walk_run(w);
    assert_int_equal(r->stop, VQ_STOP_NO_NEW);
    assert_int_equal(r->iterations_count, 2);
    assert_int_equal(r->iterations[1].proposed, 0);
    assert_int_equal(r->iterations[1].misclassified, r->iterations[0].misclassified);
    assert_memory_equal(&r->iterations[1].mm_accuracy, &r->iterations[0].mm_accuracy,
                        sizeof(double));
    assert_true(walk_noted(r, "after iteration 2 of 3: no new vibe was found"));
    assert_non_null(walk_find(w, "test"));
    walk_destroy(w);
}

/* Rows that are shown again are misclassified ones, and at most d of them. */
static void later_rounds_show_what_is_still_wrong(void **state)
{
    (void)state;
    struct walk *w = discovery(200, 1);
    w->config.vibecheck.iterations = 2;
    w->config.vibecheck.d = 6;
    w->config.vibecheck.carried = VQ_CARRIED_ALL;
    const struct vq_method_result *r = walk_run(w);
    assert_int_equal(r->iterations[1].rows_shown, 6);
    struct vq_vibecheck *numbers = walk_numbers(w);
    for (uint32_t i = 0; i < r->proposals_count; i++) {
        const struct vq_proposal *p = &r->proposals[i];
        for (uint32_t k = 0; k < p->rows_count && p->iteration == 1; k++) {
            /* neither of the first two vibes spoke for A with weight, or both against */
            double a = numbers->scores->x[(size_t)p->rows[k] * numbers->vibes];
            double b = numbers->scores->x[(size_t)p->rows[k] * numbers->vibes + 1];
            assert_true(!(a > 0 && b <= 0) && !(a == 0 && b < 0));
        }
    }
    vq_vibecheck_destroy(&numbers);
    walk_destroy(w);
}

/* ---- dedup ---- */

static bool deduplicates(struct walk *w, const struct vq_stage *stage, uint32_t prompt,
                         struct vq_buf *to)
{
    const char *const *said = w->world;
    if (walk_wants(stage, prompt, "new axes")) {
        vq_buf_puts(to, "- Feature 2: Low: a; High: b\n- feature-1: Low: c; High: d\n"
                        "- Feature 3: Low: e; High: f\n- Feature 3: Low: g; High: h\n");
        return true;
    }
    if (walk_wants(stage, prompt, "names to keep")) {
        struct vq_span now = walk_section(stage->prompts[prompt].user, "current_axes");
        assert_non_null(memmem(now.at, now.bytes, "Feature 0", 9));
        if (said[0] != NULL) { /* else .at stays NULL */
            vq_buf_puts(to, said[0]);
        }
        return true;
    }
    return false;
}

static void dedup_keeps_what_is_named(void **state)
{
    (void)state;
    struct walk *w = discovery(120, 1);
    const char *said = "- **FEATURE 2**\n* Feature 9\n";
    w->world = &said;
    w->text = deduplicates;
    w->config.vibecheck.iterations = 2;
    const struct vq_method_result *r = walk_run(w);
    assert_int_equal(r->axes_count, 3);
    assert_string_equal(r->axes[2].name, "Feature 2");
    assert_int_equal(r->iterations[1].reduced, 4);
    assert_int_equal(r->iterations[1].deduplicated, 1);
    assert_true(walk_noted(r, "1 new axes have the name of a vibe that was ranked"));
    said = "none";
    r = walk_run(w);
    assert_int_equal(r->stop, VQ_STOP_NO_NEW);
    assert_int_equal(r->axes_count, 2);
    said = NULL; /* no answer drops nothing; names stay apart */
    r = walk_run(w);
    assert_int_equal(r->axes_count, 5);
    (void)walk_vibe(r, "Feature 3 (2)");
    assert_true(walk_noted(r, "dedup has no answer"));
    said = "none";
    w->config.vibecheck.dedup = false;
    r = walk_run(w);
    assert_int_equal(r->axes_count, 5);
    assert_null(walk_find(w, "dedup 2"));
    walk_destroy(w);
}

/* ---- what is carried ---- */

static void current_and_rejected_axes_are_told(void **state)
{
    (void)state;
    struct walk *w = discovery(300, 2);
    w->proposes[2] = COIN(1);
    w->config.vibecheck.iterations = 2;
    for (uint32_t carried = 0; carried < 2; carried++) {
        for (uint32_t listed = 0; listed < 2; listed++) {
            w->config.vibecheck.carried = carried == 0 ? VQ_CARRIED_SURVIVING : VQ_CARRIED_ALL;
            w->config.vibecheck.list_rejected = listed == 1;
            const struct vq_method_result *r = walk_run(w);
            assert_string_equal(r->axes[2].name, "Coin 1");
            assert_int_equal(r->iterations[0].added, 2);
            struct vq_span text = {strstr(w->transcript.at, "discover 2"), 0};
            assert_non_null(text.at);
            struct vq_span now = walk_section(text, "current_axes");
            struct vq_span rejected = walk_section(text, "rejected_axes");
            assert_int_equal(memmem(now.at, now.bytes, "Coin", 4) != NULL, carried == 1);
            assert_int_equal(memmem(rejected.at, rejected.bytes, "Coin", 4) != NULL,
                             carried == 0 && listed == 1);
            assert_int_equal(memcmp(rejected.at, "(none)", 6) == 0, carried == 1 || listed == 0);
        }
    }
    walk_destroy(w);
}

/* ---- rows in prompts ---- */

static void batches_keep_topics_apart(void **state)
{
    (void)state;
    struct walk *w = discovery(90, 1);
    uint32_t topics[90];
    for (uint32_t i = 0; i < 90; i++) {
        topics[i] = i % 3;
    }
    w->in.topics = topics;
    w->config.vibecheck.d = 100; /* more than there are: all */
    const struct vq_method_result *r = walk_run(w);
    assert_int_equal(r->iterations[0].rows_shown, 45);
    bool seen[90] = {false};
    uint32_t rows = 0;
    for (uint32_t i = 0; i < r->proposals_count; i++) {
        const struct vq_proposal *p = &r->proposals[i];
        for (uint32_t k = 0; k < p->rows_count; k++) {
            assert_int_equal(topics[p->rows[k]], topics[p->rows[0]]);
            rows += !seen[p->rows[k]];
            seen[p->rows[k]] = true;
        }
    }
    assert_int_equal(rows, 45);
    walk_destroy(w);
}

static void rows_stand_between_tags(void **state)
{
    (void)state;
    struct walk *w = discovery(20, 1);
    w->config.vibecheck.shuffle_outputs = true;
    w->config.vibecheck.d = 6;
    w->config.vibecheck.batch = 3;
    (void)walk_run(w);
    uint32_t straight = 0, flipped = 0;
    for (const char *at = w->transcript.at; (at = strstr(at, "<row>\n<prompt>\nquestion ")) != NULL;
         at++) {
        char want[256];
        int i = (int)strtol(at + strlen("<row>\n<prompt>\nquestion "), NULL, 10);
        for (int k = 0; k < 2; k++) {
            (void)snprintf(want, sizeof(want),
                           "<row>\n<prompt>\nquestion %d\n</prompt>\n<output_1>\n%s answer "
                           "%d\n</output_1>\n<output_2>\n%s answer %d\n</output_2>\n</row>\n",
                           i, k == 0 ? "first" : "second", i, k == 0 ? "second" : "first", i);
            *(k == 0 ? &straight : &flipped) += strncmp(at, want, strlen(want)) == 0;
        }
    }
    assert_int_equal(straight, 3);
    assert_int_equal(flipped, 3);
    walk_destroy(w);
}

static void long_texts_are_cut_between_characters(void **state)
{
    (void)state;
    enum {
        BYTES = 9001
    };
    struct walk *w = discovery(20, 1);
    char *text = vq_alloc(BYTES, 1);
    text[0] = 'x';
    for (size_t i = 1; i + 1 < BYTES; i += 2) {
        memcpy(text + i, "\xC3\xA9", 2);
    }
    for (uint32_t i = 0; i < 20; i++) {
        struct vq_span kept = w->samples[i].a;
        vq_free((void *)(uintptr_t)kept.at);
        w->samples[i].a = vq_span(vq_strndup(text, BYTES), BYTES);
    }
    (void)walk_run(w);
    const char *at = strstr(w->transcript.at, "<output_1>\nx");
    assert_non_null(at);
    const char *end = strstr(at, "\n</output_1>");
    size_t shown = (size_t)(end - at) - strlen("<output_1>\n") - strlen(" [...]");
    assert_int_equal(shown, 5999);
    assert_memory_equal(end - 8, "\xC3\xA9 [...]", 8);
    vq_free(text);
    walk_destroy(w);
}

/* ---- missing and odd answers ---- */

struct silence {
    const char *stage; /* begins so */
    const char *says;  /* NULL: nothing */
    bool first_only;   /* the first prompt of the stage */
};

static bool silent(struct walk *w, const struct vq_stage *stage, uint32_t prompt, struct vq_buf *to)
{
    const struct silence *s = w->world;
    if (strncmp(stage->name, s->stage, strlen(s->stage)) != 0 || (s->first_only && prompt > 0)) {
        return one_more(w, stage, prompt, to);
    }
    if (s->says != NULL) { /* else .at stays NULL */
        vq_buf_puts(to, s->says);
    }
    return true;
}

/* Whatever text call is missing or unreadable, the run ends with vibes: those of the answers it has. */
static void no_text_call_is_needed_but_some_proposal(void **state)
{
    (void)state;
    static const struct silence gaps[] = {
        {"discover 1", NULL, true},     {"discover 1", "???", true},
        {"discover 2", NULL, false},    {"discover 2", "???", false},
        {"differences", NULL, true},    {"formalise diff", NULL, true},
        {"summarise", NULL, false},     {"summarise", "???", false},
        {"formalise sum", NULL, false}, {"formalise sum", "<think>", false},
        {"simplify", NULL, false},      {"simplify", "no", false},
        {"reduce", NULL, false},        {"reduce", "1. Nothing", false},
        {"dedup", NULL, false},         {"question types", NULL, false},
    };
    for (size_t i = 0; i < VQ_COUNT(gaps); i++) {
        for (uint32_t q = 1; q <= 2; q++) {
            struct silence s = gaps[i];
            struct walk *w = discovery(120, 2);
            w->world = &s;
            w->text = silent;
            w->config.vibecheck.iterations = 2;
            w->config.vibecheck.discovery_calls = q;
            w->config.vibecheck.question_types = true;
            w->config.vibecheck.k = strcmp(s.stage, "reduce") == 0 ? 1 : 20;
            const struct vq_method_result *r = walk_run(w);
            bool stops = strcmp(s.stage, "discover 2") == 0;
            assert_int_equal(r->axes_count, stops ? 2 : w->config.vibecheck.k == 1 ? 2 : 3);
            if (strcmp(s.stage, "simplify") == 0) {
                assert_int_equal(walk_calls(w, "simplify"), 4);
                assert_true(walk_noted(r, "no simplified list could be read"));
            }
            if (strcmp(s.stage, "question types") == 0) {
                assert_null(r->question_types[0]);
                assert_true(walk_noted(r, "have no answer"));
            }
            walk_destroy(w);
        }
    }
}

static void without_a_proposal_it_says_what_to_do(void **state)
{
    (void)state;
    static const struct {
        const char *says;
        const char *expect;
    } cases[] = {{NULL, "of 4 batches 4 have no answer, 0"},
                 {"they are alike, I think", "0 have no answer, 4 an answer without an axis"}};
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        for (uint32_t q = 1; q <= 2; q++) {
            struct silence s = {q == 1                  ? "discover"
                                : cases[i].says == NULL ? "differences"
                                                        : "form",
                                cases[i].says, false};
            struct walk *w = discovery(60, 1);
            w->world = &s;
            w->text = silent;
            w->config.vibecheck.discovery_calls = q;
            struct vq_error err = {0};
            assert_int_equal(walk_try(w, &err), VQ_INVALID);
            assert_non_null(strstr(err.text, cases[i].expect));
            walk_destroy(w);
        }
    }
}

/* A proposer that finds nothing is an answer: no vibe, and that is the result. */
static void no_difference_is_a_result(void **state)
{
    (void)state;
    for (uint32_t q = 1; q <= 2; q++) {
        struct walk *w = discovery(60, 2);
        w->proposes[0] = NULL;
        w->config.vibecheck.discovery_calls = q;
        const struct vq_method_result *r = walk_run(w);
        assert_int_equal(w->stages_count, 1); /* nothing to formalise */
        assert_int_equal(r->axes_count, 0);
        assert_int_equal(r->stop, VQ_STOP_NO_NEW);
        assert_int_equal(r->iterations[0].misclassified, 30);
        assert_true(isnan(r->iterations[0].mm_accuracy));
        struct vq_vibecheck *numbers = walk_numbers(w);
        assert_int_equal(numbers->mm.status, VQ_FIT_NO_VIBES);
        assert_int_equal(numbers->kept_count, 0);
        vq_vibecheck_destroy(&numbers);
        walk_destroy(w);
    }
}

static void failed_judging_is_no_verdict_on_vibes(void **state)
{
    (void)state;
    struct walk *w = discovery(120, 2);
    w->config.vibecheck.iterations = 2;
    w->fails_judging = true;
    const struct vq_method_result *r = walk_run(w);
    assert_int_equal(r->iterations[0].misclassified, 60);
    assert_int_equal(r->iterations[0].added, 0);
    assert_null(walk_find(w, "test"));
    struct vq_vibecheck *numbers = walk_numbers(w);
    assert_int_equal(numbers->vibe[0].missing_train, 60);
    assert_int_equal(numbers->vibe[0].missing_test, 0); /* never asked */
    vq_vibecheck_destroy(&numbers);
    walk_destroy(w);
}

/* ---- embeddings ---- */

static void groups_need_an_embedder(void **state)
{
    (void)state;
    struct walk *w = discovery(120, 1);
    w->config.vibecheck.clusters = 2;
    w->config.vibecheck.cluster_threshold = 8;
    w->in.embedder = true;
    const struct vq_method_result *r = walk_run(w);
    assert_int_equal(walk_calls(w, "summarise"), 2); /* 2 axes of 4 batches: 8 */
    assert_true(walk_noted(r, "the 8 proposed axes fall into 2 groups"));
    assert_int_equal(walk_find(w, "embed proposals 1")->calls, 8);
    assert_int_equal(walk_find(w, "embed 1")->calls, 2);
    assert_int_equal(r->provenance[0].support, 4);
    assert_int_equal(r->provenance[1].support, 4);
    w->config.vibecheck.cluster_threshold = 9;
    r = walk_run(w);
    assert_int_equal(walk_calls(w, "summarise"), 1);
    assert_int_equal(walk_find(w, "embed 1")->calls, 10);
    assert_int_equal(r->provenance[1].support, 4);
    w->config.vibecheck.clustering = VQ_CLUSTERING_ALWAYS;
    w->fails_embedding = true;
    r = walk_run(w);
    assert_int_equal(walk_calls(w, "summarise"), 1);
    assert_null(walk_find(w, "embed 1")); /* who failed once is not asked again in the round */
    assert_true(walk_noted(r, "could not be embedded, so that all of them are one group"));
    assert_int_equal(r->provenance[1].support, 4); /* by words */
    w->config.vibecheck.clustering = VQ_CLUSTERING_AUTO;
    r = walk_run(w);
    assert_true(walk_noted(r, "the axes could not be embedded"));
    assert_int_equal(r->provenance[0].support, 4);
    w->in.embedder = false;
    w->config.vibecheck.cluster_threshold = 2;
    r = walk_run(w);
    assert_true(walk_noted(r, "nobody embeds, so that the 8 proposed axes are one group"));
    walk_destroy(w);
}

/* Vectors that are none, or of another length than before, are as good as no vectors. */
static void odd_vectors_are_no_vectors(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        struct walk *w = discovery(120, 1);
        w->config.vibecheck.clustering = VQ_CLUSTERING_ALWAYS;
        w->config.vibecheck.clusters = 2;
        w->in.embedder = true;
        *(kind < 2 ? &w->nan_vectors : &w->short_vectors) =
            kind == 0 ? "embed proposals 1" : "embed 1";
        const struct vq_method_result *r = walk_run(w);
        assert_int_equal(walk_calls(w, "summarise"), kind == 0 ? 1 : 2);
        assert_true(walk_noted(r, "could not be embedded"));
        assert_true(walk_noted(r, "by the words it shares"));
        assert_int_equal(r->axes_count, 2);
        assert_int_equal(r->provenance[0].support, 4);
        walk_destroy(w);
    }
}

/* More than a hundred axes in a group: a hundred are drawn, in their order. */
static bool many(struct walk *w, const struct vq_stage *stage, uint32_t prompt, struct vq_buf *to)
{
    (void)w;
    if (!walk_wants(stage, prompt, "axes")) {
        return false;
    }
    for (uint32_t i = 0; i < 40; i++) {
        vq_buf_printf(to, "- Item %c%c%u: Low: l; High: h\n", 'a' + (int)(i / 26),
                      'a' + (int)(i % 26), prompt);
    }
    return true;
}

static void large_groups_are_summarised_from_a_draw(void **state)
{
    (void)state;
    struct walk *w = discovery(120, 1);
    w->text = many;
    const struct vq_method_result *r = walk_run(w);
    assert_int_equal(r->iterations[0].proposed, 160);
    assert_true(walk_noted(r, "a group of 160 axes is summarised from 100 of them"));
    struct vq_span text = {strstr(w->transcript.at, "summarise 1"), 0};
    struct vq_span shown = walk_section(text, "axes");
    uint32_t lines = 1;
    for (size_t i = 0; i < shown.bytes; i++) {
        lines += shown.at[i] == '\n';
    }
    assert_int_equal(lines, 100);
    assert_int_equal(r->iterations[0].reduced, 20);
    assert_int_equal(r->axes_count, 10);
    walk_destroy(w);
}

/* ---- one seed, one walk ---- */

static void the_same_seed_asks_the_same(void **state)
{
    (void)state;
    struct vq_buf first;
    vq_buf_init(&first, (size_t)1 << 28);
    for (uint64_t i = 0; i < 3; i++) {
        struct walk *w = discovery(200, 2);
        w->proposes[2] = COIN(1);
        w->config.vibecheck.iterations = 3;
        w->config.judging.early_stop = true;
        w->in.embedder = true;
        w->config.vibecheck.clustering = VQ_CLUSTERING_ALWAYS;
        w->config.seed += i == 2;
        (void)walk_run(w);
        if (i == 0) {
            walk_put(&first, vq_buf_span(&w->transcript));
        }
        assert_int_equal(vq_span_eq(vq_buf_span(&first), vq_buf_span(&w->transcript)), i < 2);
        walk_destroy(w);
    }
    vq_buf_free(&first);
}

/* The same axes, said in other forms. */
static bool other_forms(struct walk *w, const struct vq_stage *stage, uint32_t prompt,
                        struct vq_buf *to)
{
    static const char *const forms[] = {
        "- Feature 0: Low: little of 0; High: much of 0\n- Feature 1: Low: little of 1; High: much "
        "of 1\n",
        "Here is what I found:\n\n* **Feature 0**\n  High: much of 0\n  Low: little of 0\n* "
        "**Feature 1**\n  Low: little of 1\n  High: much of 1",
        "1. Feature 0:\n   - High: much of 0\n   - Low: little of 0\n2. Feature 1:\n   - High: "
        "much "
        "of 1\n   - Low: little of 1\n",
        "[\"Feature 0: High: much of 0 Low: little of 0\", \"Feature 1: High: much of 1 Low: "
        "little "
        "of 1\"]",
        "<think>Feature 9: High: x Low: y</think>\n- Feature 0: High: much of 0 Low: little of "
        "0\n- Broken: High: only\n- Feature 1: High: much of 1 Low: little of 1",
    };
    const uint32_t *form = w->world;
    if (!walk_wants(stage, prompt, "axes")) {
        return one_more(w, stage, prompt, to);
    }
    vq_buf_puts(to, forms[(*form + prompt) % VQ_COUNT(forms)]);
    return true;
}

static void forms_of_answers_change_nothing(void **state)
{
    (void)state;
    struct vq_buf first;
    vq_buf_init(&first, (size_t)1 << 28);
    for (uint32_t form = 0; form < 5; form++) {
        struct walk *w = discovery(120, 1);
        w->world = &form;
        w->text = other_forms;
        w->config.vibecheck.iterations = 2;
        (void)walk_run(w);
        if (form == 0) {
            walk_put(&first, vq_buf_span(&w->transcript));
        }
        assert_true(vq_span_eq(vq_buf_span(&first), vq_buf_span(&w->transcript)));
        walk_destroy(w);
    }
    vq_buf_free(&first);
}

/* Short of memory anywhere: it says so, and nothing is lost or read that is not there. */
static void memory_may_run_out_anywhere(void **state)
{
    (void)state;
    uint64_t step = 1;
    uint32_t oks = 0, tries = 0;
    bool ended = false;
    for (uint64_t at = 1; !ended; at += step) {
        struct walk *w = discovery(16, 1);
        w->config.vibecheck.iterations = 2;
        w->config.vibecheck.d = 5;
        w->config.vibecheck.question_types = true;
        w->config.vibecheck.clustering = VQ_CLUSTERING_ALWAYS;
        w->in.embedder = true;
        struct vq_error err = {0};
        assert_non_null(vq_buf_reserve(&w->transcript, (size_t)1 << 20));
        uint64_t before = vq_alloc_count();
        vq_alloc_fail_at(at);
        enum vq_status status = walk_try(w, &err);
        vq_alloc_fail_at(0);
        ended = vq_alloc_count() - before < at;
        assert_true(status == VQ_OK || (!ended && status == VQ_NOMEM));
        oks += status == VQ_OK;
        walk_destroy(w);
        step = at / 50 + 1;
        tries++;
    }
    assert_true(tries > 100 && oks < tries / 2);
}

/* An empty side is a mistake of whoever made the data, and is said at once. */
static void without_train_rows_there_is_nothing_to_find(void **state)
{
    (void)state;
    struct walk *w = discovery(10, 1);
    for (uint32_t i = 0; i < 10; i++) {
        w->rows[i].test = true;
    }
    w->in.train_count = 0;
    struct vq_error err = {0};
    assert_int_equal(walk_try(w, &err), VQ_INVALID);
    assert_non_null(strstr(err.text, "training rows"));
    walk_destroy(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_those_of_the_count_model),
        cmocka_unit_test(too_many_axes_go_by_support),
        cmocka_unit_test(fewer_axes_take_fewer_calls),
        cmocka_unit_test(every_stop_has_its_reason),
        cmocka_unit_test(later_rounds_show_what_is_still_wrong),
        cmocka_unit_test(dedup_keeps_what_is_named),
        cmocka_unit_test(current_and_rejected_axes_are_told),
        cmocka_unit_test(batches_keep_topics_apart),
        cmocka_unit_test(rows_stand_between_tags),
        cmocka_unit_test(long_texts_are_cut_between_characters),
        cmocka_unit_test(no_text_call_is_needed_but_some_proposal),
        cmocka_unit_test(without_a_proposal_it_says_what_to_do),
        cmocka_unit_test(no_difference_is_a_result),
        cmocka_unit_test(failed_judging_is_no_verdict_on_vibes),
        cmocka_unit_test(groups_need_an_embedder),
        cmocka_unit_test(odd_vectors_are_no_vectors),
        cmocka_unit_test(large_groups_are_summarised_from_a_draw),
        cmocka_unit_test(the_same_seed_asks_the_same),
        cmocka_unit_test(forms_of_answers_change_nothing),
        cmocka_unit_test(without_train_rows_there_is_nothing_to_find),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
