/* Discovery with answers that are missing, odd, said in other forms or in scraps, with vectors that
 * are none, and without memory: what each changes, and what none may change. */
#include "tests/unit/methods/vibecheck/walker.h"

struct silence {
    const char *stage; /* begins so */
    const char *says;  /* NULL: nothing */
    bool first_only;   /* the first prompt of the stage */
};

static bool silent(struct walk *w, const struct vq_stage *stage, uint32_t prompt, struct vq_buf *to)
{
    const struct silence *s = w->world;
    if (strncmp(stage->name, s->stage, strlen(s->stage)) != 0 || (s->first_only && prompt > 0)) {
        return walk_one_more(w, stage, prompt, to);
    }
    if (s->says != NULL) { /* else .at stays NULL */
        vq_buf_puts(to, s->says);
    }
    return true;
}

/* Whatever text call is missing or unreadable, the run ends with vibes: those of the answers it
 * has. */
TEST(no_text_call_is_needed_but_some_proposal)
{
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
            struct walk *w = walk_discovery(120, 2);
            w->world = &s;
            w->text = silent;
            w->config.vibecheck.iterations = 2;
            w->config.vibecheck.discovery_calls = q;
            w->config.vibecheck.question_types = true;
            w->config.vibecheck.k = strcmp(s.stage, "reduce") == 0 ? 1 : 20;
            const struct vq_vibecheck_method_result *r = walk_run(w);
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

TEST(without_a_proposal_it_says_what_to_do)
{
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
            struct walk *w = walk_discovery(60, 1);
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
TEST(no_difference_is_a_result)
{
    for (uint32_t q = 1; q <= 2; q++) {
        struct walk *w = walk_discovery(60, 2);
        w->proposes[0] = NULL;
        w->config.vibecheck.discovery_calls = q;
        const struct vq_vibecheck_method_result *r = walk_run(w);
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

TEST(failed_judging_is_no_verdict_on_vibes)
{
    struct walk *w = walk_discovery(120, 2);
    w->config.vibecheck.iterations = 2;
    w->fails_judging = true;
    const struct vq_vibecheck_method_result *r = walk_run(w);
    assert_int_equal(r->iterations[0].misclassified, 60);
    assert_int_equal(r->iterations[0].added, 0);
    assert_null(walk_find(w, "test"));
    struct vq_vibecheck *numbers = walk_numbers(w);
    assert_int_equal(numbers->vibe[0].train.missing, 60);
    assert_int_equal(numbers->vibe[0].test.missing, 0); /* never asked */
    vq_vibecheck_destroy(&numbers);
    walk_destroy(w);
}

/* ---- embeddings ---- */

TEST(groups_need_an_embedder)
{
    struct walk *w = walk_discovery(120, 1);
    w->config.vibecheck.clusters = 2;
    w->config.vibecheck.cluster_threshold = 8;
    w->in.embedder = true;
    const struct vq_vibecheck_method_result *r = walk_run(w);
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
    assert_true(walk_noted(r, "without an embedder the 8 proposed axes are one group"));
    walk_destroy(w);
}

/* Vectors that are none, or of another length than before, are as good as no vectors. */
TEST(odd_vectors_are_no_vectors)
{
    for (int kind = 0; kind < 3; kind++) {
        struct walk *w = walk_discovery(120, 1);
        w->config.vibecheck.clustering = VQ_CLUSTERING_ALWAYS;
        w->config.vibecheck.clusters = 2;
        w->in.embedder = true;
        *(kind < 2 ? &w->nan_vectors : &w->short_vectors) =
            kind == 0 ? "embed proposals 1" : "embed 1";
        const struct vq_vibecheck_method_result *r = walk_run(w);
        assert_int_equal(walk_calls(w, "summarise"), kind == 0 ? 1 : 2);
        assert_true(walk_noted(r, "could not be embedded"));
        assert_true(walk_noted(r, "by the words that it shares"));
        assert_int_equal(r->axes_count, 2);
        assert_int_equal(r->provenance[0].support, 4);
        walk_destroy(w);
    }
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
        return walk_one_more(w, stage, prompt, to);
    }
    vq_buf_puts(to, forms[(*form + prompt) % VQ_COUNT(forms)]);
    return true;
}

TEST(forms_of_answers_change_nothing)
{
    struct vq_buf first;
    vq_buf_init(&first, (size_t)1 << 28);
    for (uint32_t form = 0; form < 5; form++) {
        struct walk *w = walk_discovery(120, 1);
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

/* Scraps of answers and any bytes in any order: the run ends, and says why where it cannot go
 * on. */
static bool scraps(struct walk *w, const struct vq_stage *stage, uint32_t prompt, struct vq_buf *to)
{
    static const char *const pieces[] = {"- Feature 1: Low: a; High: b\n",
                                         "* **Feature 2**\n  High: x\n",
                                         "  Low: y\n",
                                         "No differences found.",
                                         "none\n",
                                         "<think>",
                                         "</think>\n",
                                         "1. Axis 3: High: h Low: l\n",
                                         "Feature 1\n",
                                         "- Feature 4: High: h Low: l\n",
                                         "[\"Feature 5: High: h Low: l\"",
                                         "]\n",
                                         "\xff\xfe\x00\x80",
                                         "\xE2\x80\xA8",
                                         "Low: High: Low:\n",
                                         "- A long name that goes on and on: High: h Low: l\n"};
    struct vq_rng *rng = w->world;
    (void)stage;
    (void)prompt;
    uint64_t n = vq_rng_below(rng, 12);
    for (uint64_t i = 0; i < n; i++) {
        const char *piece = pieces[vq_rng_below(rng, VQ_COUNT(pieces))];
        vq_buf_append(to, piece, strlen(piece) + vq_rng_below(rng, 2) * (piece[0] == '\xff'));
    }
    return true; /* with n 0: no answer */
}

TEST(any_answers_come_to_an_end)
{
    uint32_t ends[2] = {0};
    for (uint64_t seed = 0; seed < 400; seed++) {
        struct walk *w = walk_discovery(30, 1);
        struct vq_rng rng;
        vq_rng_seed(&rng, seed);
        w->world = &rng;
        w->text = scraps;
        w->in.embedder = seed % 2 == 0;
        w->config.vibecheck.d = 8;
        w->config.vibecheck.iterations = 3;
        w->config.vibecheck.k = 1 + (uint32_t)(seed % 4);
        w->config.vibecheck.discovery_calls = 1 + (uint32_t)(seed % 2);
        w->config.vibecheck.question_types = true;
        w->config.vibecheck.clustering = VQ_CLUSTERING_ALWAYS;
        struct vq_error err = {0};
        enum vq_status status = walk_try(w, &err);
        assert_true(status == VQ_OK || status == VQ_INVALID);
        assert_int_equal(status == VQ_INVALID, strstr(err.text, "no axis could be read") != NULL);
        ends[status == VQ_OK]++;
        const struct vq_vibecheck_method_result *r = vq_vibecheck_method_result(w->m);
        for (uint32_t v = 0; status == VQ_OK && v < r->axes_count; v++) {
            for (uint32_t k = 0; k < v; k++) {
                assert_string_not_equal(r->axes[k].name, r->axes[v].name);
            }
        }
        walk_destroy(w);
    }
    assert_true(ends[0] > 0 && ends[1] > 200);
}

/* Short of memory anywhere: it says so, and nothing is lost or read that is not there. */
TEST(memory_may_run_out_anywhere)
{
    uint64_t step = 1;
    uint32_t oks = 0, tries = 0;
    bool ended = false;
    for (uint64_t at = 1; !ended; at += step) {
        struct walk *w = walk_discovery(16, 1);
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
