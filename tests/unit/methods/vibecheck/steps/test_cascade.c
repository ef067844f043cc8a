/* A cascade's stages: the first judge is asked everything, the second one exactly the escalated and
 * the audited cells; scores and reasons come from the right judge, in discovery too. */
#include "tests/unit/methods/vibecheck/walker.h"

#include "methods/vibecheck/numbers/cascade.h"

#define ROWS  300
#define AUDIT 0.2

static struct vq_conf_axis vibes[2] = {{(char *)"Feature 0", (char *)"low", (char *)"high"},
                                       {(char *)"Feature 1", (char *)"low", (char *)"high"}};
static struct vq_conf_judge judges_conf[2] = {{.name = (char *)"large"}, {.name = (char *)"small"}};

struct world {
    struct vq_sample_id ids[ROWS];
    struct vq_judge judges[2];
    struct vq_conf_cascade cascade;
};

/* The first judge is the one that is listed second. It contradicts itself on every fifth row, fails
 * on every seventh; the second judge always names B. */
static bool judge(struct walk *w, const char *axis, uint32_t row, uint32_t judge, uint8_t both[2])
{
    (void)w;
    (void)axis;
    walk_say(judge == 1 ? 1 : -1, both);
    if (judge == 1 && row % 5 == 0) {
        both[1] = both[0];
    }
    if (judge == 1 && row % 7 == 0) {
        both[0] = both[1] = VQ_OUTCOME_UNAVAILABLE;
    }
    return true;
}

/* Unsure on every eleventh row about the second vibe, in the other order. */
static float margin(struct walk *w, const char *axis, uint32_t row, uint32_t order)
{
    (void)w;
    return row % 11 == 0 && order == 1 && strcmp(axis, "Feature 1") == 0 ? 0.1F : 0.9F;
}

static struct walk *world_create(struct world *world, double margin_min)
{
    struct walk *w = walk_create(ROWS, 2, 5);
    *world = (struct world){.cascade = {.first = (char *)"small",
                                        .escalate = {.margin = margin_min, .disagree = true},
                                        .audit = AUDIT}};
    for (uint32_t i = 0; i < ROWS; i++) {
        vq_sample_identify(&w->samples[i], &world->ids[i]);
    }
    for (uint32_t j = 0; j < 2; j++) {
        world->judges[j] = (struct vq_judge){.name = judges_conf[j].name,
                                             .model = judges_conf[j].name,
                                             .dialect = "openai",
                                             .identity = "test",
                                             .max_tokens_field = "max_tokens"};
    }
    w->config.method = VQ_METHOD_VIBES;
    w->config.vibes = vibes;
    w->config.vibes_count = 2;
    w->config.judges = judges_conf;
    w->config.judges_count = 2;
    w->config.cascade = &world->cascade;
    w->in.sample_ids = world->ids;
    w->in.judges = world->judges;
    w->judge = judge;
    w->margin = margin;
    w->world = world;
    return w;
}

/* What this test expects of a cell. */
static uint8_t why(const struct world *world, uint32_t row, uint32_t vibe)
{
    struct vq_axis axis = {vibes[vibe].name, vibes[vibe].low, vibes[vibe].high};
    bool fails = row % 7 == 0;
    bool unsure = world->cascade.escalate.margin > 0 && row % 11 == 0 && vibe == 1 && !fails;
    bool audited = vq_cascade_audited(&world->ids[row], &axis, &world->judges[0], AUDIT);
    return (uint8_t)((fails          ? VQ_CASCADE_NO_SCORE
                      : row % 5 == 0 ? VQ_CASCADE_DISAGREE
                                     : 0) |
                     (unsure ? VQ_CASCADE_MARGIN : 0) | (audited ? VQ_CASCADE_AUDIT : 0));
}

static void check_cells(const struct world *world, const struct vq_vibecheck_method_result *r)
{
    uint32_t escalated = 0, audited = 0;
    for (uint32_t i = 0; i < ROWS; i++) {
        for (uint32_t v = 0; v < 2; v++) {
            uint8_t expected = why(world, i, v);
            assert_int_equal(r->cascade[i * 2 + v], expected);
            const uint8_t *large = r->outcomes + ((size_t)i * 4 + v) * 2;
            const uint8_t *small = large + 4;
            bool asked = large[0] != VQ_OUTCOME_NOT_NEEDED;
            assert_int_equal(asked, vq_cascade_asks(expected));
            assert_int_equal(large[1] != VQ_OUTCOME_NOT_NEEDED, asked);
            assert_true(small[0] != VQ_OUTCOME_NOT_NEEDED);
            escalated += vq_cascade_is_escalated(expected);
            audited += (expected & VQ_CASCADE_AUDIT) != 0;
        }
    }
    assert_true(escalated > 100 && escalated < 300);
    assert_in_range(audited, 80, 160); /* 120 expected; 4 standard deviations */
}

TEST(asks_what_is_needed)
{
    for (int with_margin = 0; with_margin < 2; with_margin++) {
        struct world world;
        struct walk *w = world_create(&world, with_margin ? 0.3 : 0);
        const struct vq_vibecheck_method_result *r = walk_run(w);
        assert_int_equal(w->stages_count, 2);
        assert_string_equal(w->stages[0].name, "rank");
        assert_int_equal(w->stages[0].rows, ROWS);
        assert_string_equal(w->stages[1].name, "rank, second judge");
        assert_true(w->stages[1].rows < ROWS); /* rows without such a cell are left out */
        assert_non_null(r->cascade);
        check_cells(&world, r);
        walk_destroy(w);
    }
}

/* The first judge names A and the second one B: the rest are estimated to be B. */
TEST(the_numbers_are_the_second_judges)
{
    struct world world;
    struct walk *w = world_create(&world, 0);
    const struct vq_vibecheck_method_result *r = walk_run(w);
    struct vq_axis axes[2];
    memcpy(axes, r->axes, sizeof(axes));
    w->config.gates.separability_min = 2; /* no fits */
    struct vq_vibecheck_input in = {.config = &w->config,
                                    .grid = {ROWS, 2, 2},
                                    .outcomes = r->outcomes,
                                    .cascade = r->cascade,
                                    .rows = r->rows,
                                    .axes = axes,
                                    .first_order = w->first};
    struct vq_vibecheck *n = NULL;
    struct vq_error err = {0};
    assert_int_equal(vq_vibecheck_compute(&in, &n, &err), VQ_OK);
    for (uint32_t v = 0; v < 2; v++) {
        assert_true(fabs(n->vibe[v].train.sep + 1) < 1e-12);
        assert_true(fabs(n->vibe[v].test.sep + 1) < 1e-12);
        assert_true(n->vibe[v].test.cascade.uncorrected > -0.5);
        assert_int_equal(n->vibe[v].train.missing + n->vibe[v].test.missing, 0);
    }
    for (uint32_t i = 0; i < ROWS; i++) {
        for (uint32_t v = 0; v < 2; v++) {
            double x = n->scores->x[i * 2 + v];
            assert_true(fabs(x - (vq_cascade_asks(r->cascade[i * 2 + v]) ? -1 : 1)) < 1e-12);
        }
    }
    const struct vq_cascade_counts *c = &n->cascade;
    assert_int_equal(c->cells, 2 * ROWS);
    assert_int_equal(c->first_calls, 4 * ROWS);
    assert_int_equal(c->second_calls, 2 * c->asked);
    assert_int_equal(c->audit_calls, 2 * c->audit);
    assert_int_equal(c->asked, c->disagree + c->no_score + c->audit_alone);
    assert_int_equal(c->differ, c->compared); /* of cells that have two scores, all */
    assert_int_equal(c->differ_rest, c->audit_alone);
    assert_true(fabs(vq_cascade_everywhere(c) - 4.0 * ROWS) < 1e-9);
    vq_vibecheck_destroy(&n);
    walk_destroy(w);
}

TEST(discovery_asks_both_in_each_ranking)
{
    struct world world;
    struct walk *w = walk_discovery(ROWS, 2);
    struct walk *given = world_create(&world, 0);
    w->config.judges = judges_conf;
    w->config.judges_count = 2;
    w->config.cascade = &world.cascade;
    w->in.sample_ids = world.ids;
    w->in.judges = world.judges;
    const struct vq_vibecheck_method_result *r = walk_run(w);
    assert_non_null(walk_find(w, "rank 1"));
    assert_non_null(walk_find(w, "rank 1, second judge"));
    assert_non_null(walk_find(w, "test, second judge"));
    assert_non_null(r->cascade);
    walk_destroy(given);
    walk_destroy(w);
}

/* A run that begins again from the same answers asks the same. */
TEST(asks_the_same_again)
{
    struct world world;
    struct walk *w = world_create(&world, 0.3);
    (void)walk_run(w);
    char *before = vq_strdup(w->transcript.at);
    assert_non_null(before);
    (void)walk_run(w);
    assert_string_equal(before, w->transcript.at);
    vq_free(before);
    walk_destroy(w);
}

TEST(margins_that_were_not_asked_for)
{
    struct world world;
    struct walk *w = world_create(&world, 0);
    struct vq_error err = {0};
    const struct vq_stage *s;
    float none[4] = {0};
    assert_int_equal(vq_vibecheck_method_create(&w->in, &w->m, &err), VQ_OK);
    assert_int_equal(vq_vibecheck_method_next(w->m, &s, &err), VQ_OK);
    assert_false(s->margins);
    assert_int_equal(vq_vibecheck_method_take_margins(w->m, none, 4, &err), VQ_BUG);
    walk_destroy(w);
}

/* Short of memory anywhere: it says so, and nothing is lost or read that is not there. */
TEST(memory_may_run_out_anywhere)
{
    uint32_t oks = 0, tries = 0;
    bool ended = false;
    for (uint64_t at = 1; !ended; at++) {
        struct world world;
        struct walk *w = world_create(&world, 0.3);
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
        tries++;
    }
    assert_true(tries > 20 && oks < tries / 2);
}
