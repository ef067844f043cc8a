/* Discovery walked by an oracle: the number of calls, every reason to stop, what is shown to whom,
 * what dedup keeps, and that one seed is one walk. */
#include "tests/unit/methods/vibecheck/walker.h"

/* ---- section 11 ---- */

TEST(calls_are_those_of_the_count_model)
{
    static const uint32_t ds[3] = {20, 7, 10};
    for (uint32_t q = 1; q <= 2; q++) {
        for (uint32_t rounds = 1; rounds <= 3; rounds++) {
            for (uint32_t c = 1; c <= 2; c++) {
                struct walk *w = walk_discovery(120, 2);
                uint32_t d = ds[rounds - 1], batches = (d + 4) / 5, vibes = rounds + 1;
                w->config.vibecheck.d = d;
                w->config.vibecheck.iterations = rounds;
                w->config.vibecheck.discovery_calls = q;
                w->config.vibecheck.clusters = c;
                w->config.vibecheck.clustering = c > 1 ? VQ_CLUSTERING_ALWAYS : VQ_CLUSTERING_NEVER;
                w->in.embedder = true;
                const struct vq_vibecheck_method_result *r = walk_run(w);
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

TEST(too_many_axes_go_by_support)
{
    struct walk *w = walk_discovery(60, 1);
    uint32_t tries = 0;
    w->world = &tries;
    w->text = never_fewer;
    w->config.vibecheck.k = 3;
    w->config.vibecheck.d = 30;
    const struct vq_vibecheck_method_result *r = walk_run(w);
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
    assert_true(walk_noted(r, "the reducer left 6 axes; vibeq keeps the 3 with the most support"));
    assert_true(walk_noted(r, "without an embedder the support of an axis"));
    walk_destroy(w);
}

TEST(fewer_axes_take_fewer_calls)
{
    struct walk *w = walk_discovery(60, 1);
    w->config.vibecheck.k = 1;
    const struct vq_vibecheck_method_result *r = walk_run(w);
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

TEST(every_stop_has_its_reason)
{
    struct walk *w = walk_discovery(120, 2);
    w->config.vibecheck.iterations = 3;
    const struct vq_vibecheck_method_result *r = walk_run(w);
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
TEST(later_rounds_show_what_is_still_wrong)
{
    struct walk *w = walk_discovery(200, 1);
    w->config.vibecheck.iterations = 2;
    w->config.vibecheck.d = 6;
    w->config.vibecheck.carried = VQ_CARRIED_ALL;
    const struct vq_vibecheck_method_result *r = walk_run(w);
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

TEST(dedup_keeps_what_is_named)
{
    struct walk *w = walk_discovery(120, 1);
    const char *said = "- **FEATURE 2**\n* Feature 9\n";
    w->world = &said;
    w->text = deduplicates;
    w->config.vibecheck.iterations = 2;
    const struct vq_vibecheck_method_result *r = walk_run(w);
    assert_int_equal(r->axes_count, 3);
    assert_string_equal(r->axes[2].name, "Feature 2");
    assert_int_equal(r->iterations[1].reduced, 4);
    assert_int_equal(r->iterations[1].deduplicated, 1);
    assert_true(walk_noted(r, "name of a vibe that was ranked before: 1"));
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

TEST(current_and_rejected_axes_are_told)
{
    struct walk *w = walk_discovery(300, 2);
    w->proposes[2] = WALK_COIN(1);
    w->config.vibecheck.iterations = 2;
    for (uint32_t carried = 0; carried < 2; carried++) {
        for (uint32_t listed = 0; listed < 2; listed++) {
            w->config.vibecheck.carried = carried == 0 ? VQ_CARRIED_SURVIVING : VQ_CARRIED_ALL;
            w->config.vibecheck.list_rejected = listed == 1;
            const struct vq_vibecheck_method_result *r = walk_run(w);
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

TEST(batches_keep_topics_apart)
{
    struct walk *w = walk_discovery(90, 1);
    uint32_t topics[90];
    for (uint32_t i = 0; i < 90; i++) {
        topics[i] = i % 3;
    }
    w->in.topics = topics;
    w->config.vibecheck.d = 100; /* more than there are: all */
    const struct vq_vibecheck_method_result *r = walk_run(w);
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

TEST(rows_stand_between_tags)
{
    struct walk *w = walk_discovery(20, 1);
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

TEST(long_texts_are_cut_between_characters)
{
    enum {
        BYTES = 9001
    };
    struct walk *w = walk_discovery(20, 1);
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

TEST(large_groups_are_summarised_from_a_draw)
{
    struct walk *w = walk_discovery(120, 1);
    w->text = many;
    const struct vq_vibecheck_method_result *r = walk_run(w);
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

TEST(the_same_seed_asks_the_same)
{
    struct vq_buf first;
    vq_buf_init(&first, (size_t)1 << 28);
    for (uint64_t i = 0; i < 3; i++) {
        struct walk *w = walk_discovery(200, 2);
        w->proposes[2] = WALK_COIN(1);
        w->config.vibecheck.iterations = 3;
        w->config.judging.early_stop = VQ_EARLY_STOP_EXACT;
        w->config.judging.early_stop_alpha = 0.1;
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

/* An empty side is a mistake of whoever made the data, and is said at once. */
TEST(without_train_rows_there_is_nothing_to_find)
{
    struct walk *w = walk_discovery(10, 1);
    for (uint32_t i = 0; i < 10; i++) {
        w->rows[i].test = true;
    }
    w->in.train_count = 0;
    struct vq_error err = {0};
    assert_int_equal(walk_try(w, &err), VQ_INVALID);
    assert_non_null(strstr(err.text, "training rows"));
    walk_destroy(w);
}
