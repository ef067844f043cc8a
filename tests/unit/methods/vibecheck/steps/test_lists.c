/* Texts of the proposer and the reducer that end at the token limit: asked again with more room,
 * and if they stay cut, the reducer's is no answer and the proposer's loses its last line. */
#include "tests/unit/methods/vibecheck/walker.h"

struct cutting {
    const char *stage;  /* begins so */
    uint32_t room;      /* with so much room it is whole */
    const char *scraps; /* what is said while it is cut */
};

static bool cuts(struct walk *w, const struct vq_stage *stage, uint32_t prompt)
{
    const struct cutting *c = w->world;
    (void)prompt;
    return strncmp(stage->name, c->stage, strlen(c->stage)) == 0 && stage->room < c->room;
}

static bool says(struct walk *w, const struct vq_stage *stage, uint32_t prompt, struct vq_buf *to)
{
    const struct cutting *c = w->world;
    if (cuts(w, stage, prompt)) {
        vq_buf_puts(to, c->scraps);
        return true;
    }
    return walk_one_more(w, stage, prompt, to);
}

static struct walk *cutting(struct cutting *c)
{
    struct walk *w = walk_discovery(120, 2);
    w->world = c;
    w->text = says;
    w->cut = cuts;
    return w;
}

#define ONE_AXIS "- Feature 0: Low: little of 0; High: much of 0\n"

TEST(a_cut_list_is_asked_again_with_twice_the_room)
{
    static const char *const stages[] = {"discover 1", "summarise 1", "formalise summaries 1",
                                         "simplify 1"};
    for (size_t i = 0; i < VQ_COUNT(stages); i++) {
        for (uint32_t room = 1; room <= 2; room++) {
            struct cutting c = {stages[i], room, ONE_AXIS "- Feature 1: Low: lit"};
            struct walk *w = cutting(&c);
            const struct vq_vibecheck_method_result *r = walk_run(w);
            assert_int_equal(r->axes_count, 2); /* not the one that the scraps name */
            uint32_t prompts = i == 0 ? 4 : 1;
            assert_int_equal(walk_calls(w, stages[i]), prompts * (1 + room));
            assert_int_equal(r->cut.asked_again, prompts * room);
            assert_int_equal(r->cut.refused + r->cut.shortened, 0);
            char name[64];
            (void)snprintf(name, sizeof(name), "%s, room x%u", stages[i], 1U << room);
            assert_non_null(walk_find(w, name));
            walk_destroy(w);
        }
    }
}

TEST(a_reducer_whose_list_stays_cut_changes_nothing)
{
    static const char *const stages[] = {"summarise 1", "formalise summaries 1", "simplify 1"};
    for (size_t i = 0; i < VQ_COUNT(stages); i++) {
        struct cutting c = {stages[i], 9, ONE_AXIS "- Feature 1: Low: lit"};
        struct walk *w = cutting(&c);
        const struct vq_vibecheck_method_result *r = walk_run(w);
        assert_int_equal(r->axes_count, 2);
        assert_int_equal(walk_calls(w, stages[i]), 3);
        assert_int_equal(r->cut.refused, 1);
        assert_int_equal(r->cut.shortened, 0);
        assert_true(walk_noted(r, "set a larger reducer.max_tokens"));
        walk_destroy(w);
    }
}

TEST(a_proposer_whose_list_stays_cut_loses_its_last_line)
{
    struct cutting c = {"discover 1", 9, ONE_AXIS "- Half: Low: little; High: mu"};
    struct walk *w = cutting(&c);
    const struct vq_vibecheck_method_result *r = walk_run(w);
    assert_int_equal(r->axes_count, 1);
    assert_string_equal(r->axes[0].name, "Feature 0");
    assert_int_equal(r->cut.shortened, 4); /* batches */
    assert_int_equal(r->cut.asked_again, 8);
    assert_true(walk_noted(r, "set a larger proposer.max_tokens"));
    walk_destroy(w);
}

static bool nothing_more(struct walk *w, const struct vq_stage *stage, uint32_t prompt,
                         struct vq_buf *to)
{
    return stage->room > 0 || says(w, stage, prompt, to); /* true, and nothing said */
}

/* A retry that fails takes nothing away from what was said before. */
TEST(a_failed_retry_keeps_the_first_answer)
{
    struct cutting c = {"discover 1", 1, ONE_AXIS "- Half: Low: little; High: mu"};
    struct walk *w = cutting(&c);
    w->text = nothing_more;
    const struct vq_vibecheck_method_result *r = walk_run(w);
    assert_int_equal(r->axes_count, 1);
    assert_int_equal(r->cut.shortened, 4);
    walk_destroy(w);
}
