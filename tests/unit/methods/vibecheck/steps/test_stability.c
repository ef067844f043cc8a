/* Discovery done again: other rows are shown, what is found again is counted, what cannot go on has
 * found nothing, and the vibes stay what they were. */
#include "methods/vibecheck/recall.h"
#include "tests/unit/methods/vibecheck/walker.h"

struct told {
    char first[2][4096];  /* the first prompt of the discovery, and of the first repeat */
    bool silent;          /* repeats get no answer */
    uint32_t proposer[4]; /* who was asked for axes, by repeat */
};

static bool fewer_each_time(struct walk *w, const struct vq_stage *stage, uint32_t prompt,
                            struct vq_buf *to)
{
    struct told *t = w->world;
    if (!walk_wants(stage, prompt, "axes")) {
        return false;
    }
    unsigned repeat = 0;
    (void)sscanf(stage->name, "again %u:", &repeat);
    t->proposer[repeat] = stage->proposer;
    if (prompt == 0 && repeat < 2) {
        struct vq_span user = stage->prompts[0].user;
        (void)snprintf(t->first[repeat], sizeof(t->first[repeat]), "%.*s", (int)user.bytes,
                       user.at);
    }
    if (repeat > 0 && t->silent) {
        return true;
    }
    static const char *const texts[] = {
        ("- Feature 0: Low: l0; High: h0\n- Feature 1: Low: l1; High: h1\n- Feature 2: Low: l2; "
         "High: h2\n"),
        "- Feature 1: Low: l1; High: h1\n- Feature 0: Low: l0; High: h0\n",
        "- Feature 0: Low: l0; High: h0\n- Feature 9: Low: l9; High: h9\n",
        "No differences found."};
    vq_buf_puts(to, texts[repeat]);
    return true;
}

static struct walk *world(struct told *t, uint32_t repeats)
{
    struct walk *w = walk_discovery(120, 2);
    w->world = t;
    w->text = fewer_each_time;
    w->in.embedder = true;
    w->config.method = VQ_METHOD_DISCOVER;
    w->config.vibecheck.repeats = repeats;
    for (int f = 0; f < 3; f++) {
        w->share[f] = 0.8;
    }
    return w;
}

TEST(what_is_found_again_is_counted)
{
    struct told t = {0};
    struct walk *w = world(&t, 3);
    const struct vq_vibecheck_method_result *r = walk_run(w);
    const struct vq_stability *s = r->stability;
    assert_non_null(s);
    assert_int_equal(r->axes_count, 3);
    assert_int_equal(s->vibes_count, 3);
    assert_int_equal(s->done, 3);
    assert_true(s->matched);
    const uint32_t axes[3] = {2, 2, 0}, found[3] = {2, 1, 0};
    for (uint32_t k = 0; k < 3; k++) {
        assert_int_equal(s->axes_count[k], axes[k]);
    }
    for (uint32_t v = 0; v < 3; v++) {
        unsigned feature;
        assert_int_equal(sscanf(r->axes[s->vibes[v]].name, "Feature %u", &feature), 1);
        assert_int_equal(s->found[v], found[feature]);
        assert_true(isnan(s->nearest[v * 3 + 2])); /* nothing was found there */
        assert_true(feature != 0 || s->nearest[v * 3] > 0.999);
    }
    assert_true(t.first[0][0] != '\0' && t.first[1][0] != '\0');
    assert_string_not_equal(t.first[0], t.first[1]); /* other rows */
    assert_int_equal(walk_calls(w, "again 1: discover"), 4);
    assert_int_equal(walk_calls(w, "match repeats"), 2 * (3 + 4));
    walk_destroy(w);
}

TEST(the_vibes_stay_what_they_were)
{
    struct told a = {0}, b = {0};
    struct walk *none = world(&a, 0), *some = world(&b, 2);
    const struct vq_vibecheck_method_result *without = walk_run(none), *with = walk_run(some);
    assert_null(without->stability);
    assert_int_equal(without->axes_count, with->axes_count);
    size_t cells = (size_t)120 * 2 * without->axes_count * 2;
    assert_memory_equal(without->outcomes, with->outcomes, cells);
    for (uint32_t i = 0; i < 120; i++) {
        assert_int_equal(without->rows[i].shown, with->rows[i].shown);
    }
    walk_destroy(none);
    walk_destroy(some);
}

/* With two proposers of the repeats the third repeat asks the first of them again; the discovery
 * itself asks its own. */
TEST(proposers_take_turns)
{
    for (uint32_t n = 0; n <= 2; n++) {
        struct told t = {0};
        struct walk *w = world(&t, 3);
        w->config.repeat_proposers_count = n; /* their names are the shell's */
        (void)walk_run(w);
        for (uint32_t repeat = 0; repeat <= 3; repeat++) {
            uint32_t want = repeat == 0 || n == 0 ? 0 : n == 1 ? 1 : 2 - repeat % 2;
            assert_int_equal(t.proposer[repeat], want);
        }
        walk_destroy(w);
    }
}

TEST(repeats_without_an_answer)
{
    struct told t = {.silent = true};
    struct walk *w = world(&t, 2);
    const struct vq_vibecheck_method_result *r = walk_run(w);
    assert_int_equal(r->axes_count, 3);
    assert_int_equal(r->stability->axes_count[0] + r->stability->axes_count[1], 0);
    assert_int_equal(r->stability->found[0], 0);
    bool told = false;
    for (uint32_t i = 0; i < r->notes_count; i++) {
        told |=
            strstr(r->notes[i], "repeat 2 of 2: nothing was found: no axis could be read") != NULL;
    }
    assert_true(told);
    walk_destroy(w);
}

TEST(nobody_embeds)
{
    struct told t = {0};
    struct walk *w = world(&t, 1);
    w->in.embedder = false;
    const struct vq_vibecheck_method_result *r = walk_run(w);
    assert_non_null(r->stability);
    assert_false(r->stability->matched);
    walk_destroy(w);
}
