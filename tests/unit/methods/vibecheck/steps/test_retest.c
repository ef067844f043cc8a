/* The retest: which cells are asked again, what counts as a changed answer, and that nothing else
 * changes. */
#include "tests/unit/methods/vibecheck/walker.h"

#define ROWS   200
#define JUDGES 2
#define SHARE  0.25

static struct vq_conf_axis vibes[2] = {{(char *)"Feature 0", (char *)"low", (char *)"high"},
                                       {(char *)"Feature 1", (char *)"low", (char *)"high"}};

struct retest_world {
    struct vq_sample_id ids[ROWS];
    struct vq_judge judges[JUDGES];
    uint32_t chosen[JUDGES], flips[JUDGES], missing[JUDGES]; /* as this test knows them */
};

static bool is_retest(const struct walk *w)
{
    return strcmp(w->stages[w->stages_count - 1].name, "retest") == 0;
}

/* The first time all say A but for a few failures; the second time by the record: the same, the
 * other, or nothing. */
static bool judge(struct walk *w, const char *axis, uint32_t row, uint32_t judge, uint8_t both[2])
{
    struct retest_world *world = w->world;
    uint32_t v = strcmp(axis, vibes[0].name) == 0 ? 0 : 1;
    bool failed = row % 20 == 7; /* in the first asking: nothing to compare with */
    if (!is_retest(w)) {
        both[0] = both[1] = failed ? VQ_OUTCOME_REFUSED : VQ_OUTCOME_FIRST;
        return true;
    }
    struct vq_axis a = {vibes[v].name, vibes[v].low, vibes[v].high};
    uint32_t first = w->first[row * JUDGES + judge];
    both[1 - first] = VQ_OUTCOME_SECOND; /* never asked, and of no weight */
    static const uint8_t says[5] = {VQ_OUTCOME_FIRST, VQ_OUTCOME_SECOND, VQ_OUTCOME_NA,
                                    VQ_OUTCOME_FIRST, VQ_OUTCOME_UNAVAILABLE};
    both[first] = says[(row + judge) % 5];
    if (!failed && vq_retested(&world->ids[row], &a, &world->judges[judge], SHARE)) {
        world->chosen[judge]++;
        world->flips[judge] += both[first] == VQ_OUTCOME_SECOND || both[first] == VQ_OUTCOME_NA;
        world->missing[judge] += both[first] == VQ_OUTCOME_UNAVAILABLE;
    }
    return true;
}

static struct walk *world_create(struct retest_world *world)
{
    struct walk *w = walk_create(ROWS, JUDGES, 7);
    *world = (struct retest_world){.chosen = {0}};
    for (uint32_t i = 0; i < ROWS; i++) {
        vq_sample_identify(&w->samples[i], &world->ids[i]);
        for (uint32_t j = 0; j < JUDGES; j++) {
            w->first[i * JUDGES + j] = (uint8_t)((i + j) % 2);
        }
    }
    for (uint32_t j = 0; j < JUDGES; j++) {
        world->judges[j] = (struct vq_judge){.name = "judge",
                                             .model = j == 0 ? "one" : "two",
                                             .dialect = "openai",
                                             .identity = "test",
                                             .max_tokens_field = "max_tokens"};
    }
    w->config.method = VQ_METHOD_VIBES;
    w->config.vibes = vibes;
    w->config.vibes_count = 2;
    w->in.sample_ids = world->ids;
    w->in.judges = world->judges;
    w->judge = judge;
    w->world = world;
    return w;
}

TEST(off_by_default)
{
    struct retest_world world;
    struct walk *w = world_create(&world);
    const struct vq_vibecheck_method_result *r = walk_run(w);
    assert_int_equal(w->stages_count, 1);
    assert_null(r->retest);
    walk_destroy(w);
}

TEST(counts_what_changed)
{
    struct retest_world world;
    struct walk *w = world_create(&world);
    const struct vq_vibecheck_method_result *r = walk_run(w);
    uint8_t *before = malloc((size_t)ROWS * JUDGES * 2 * 2);
    assert_non_null(before);
    memcpy(before, r->outcomes, (size_t)ROWS * JUDGES * 2 * 2);
    w->config.judging.retest = SHARE;
    r = walk_run(w);
    assert_int_equal(w->stages_count, 2);
    assert_non_null(r->retest);
    for (uint32_t j = 0; j < JUDGES; j++) {
        /* a quarter of 380 cells each; 6 standard deviations */
        assert_in_range(world.chosen[j], 95 - 51, 95 + 51);
        assert_int_equal(r->retest[j].cells + r->retest[j].missing, world.chosen[j]);
        assert_int_equal(r->retest[j].flips, world.flips[j]);
        assert_int_equal(r->retest[j].missing, world.missing[j]);
        assert_true(world.flips[j] > 0 && world.missing[j] > 0);
    }
    assert_memory_equal(before, r->outcomes, (size_t)ROWS * JUDGES * 2 * 2);
    free(before);
    walk_destroy(w);
}

/* Walks to the retest and looks at what it asks. */
TEST(asks_the_chosen_alone)
{
    struct retest_world world;
    struct walk *w = world_create(&world);
    struct vq_error err = {0};
    w->config.judging.retest = SHARE;
    assert_int_equal(vq_vibecheck_method_create(&w->in, &w->m, &err), VQ_OK);
    bool more;
    assert_int_equal(walk_step(w, &more, &err), VQ_OK);
    const struct vq_stage *s;
    assert_int_equal(vq_vibecheck_method_next(w->m, &s, &err), VQ_OK);
    assert_string_equal(s->name, "retest");
    assert_true(s->again && s->cells != NULL && s->kind == VQ_STAGE_RANK);
    uint32_t at = 0; /* rows without a chosen cell are left out, the others are all there */
    for (uint32_t i = 0; i < ROWS; i++) {
        bool any = false;
        bool here = at < s->rows_count && s->rows[at] == i;
        for (uint32_t j = 0; j < JUDGES; j++) {
            for (uint32_t v = 0; v < 2; v++) {
                bool chosen =
                    i % 20 != 7 && vq_retested(&world.ids[i], &s->axes[v], &world.judges[j], SHARE);
                any |= chosen;
                if (here) {
                    assert_int_equal(s->cells[(at * JUDGES + j) * 2 + v], chosen);
                }
            }
        }
        assert_int_equal(any, here);
        at += here;
    }
    assert_int_equal(at, s->rows_count);
    walk_destroy(w);
}

TEST(nothing_to_ask_is_said)
{
    struct retest_world world;
    struct walk *w = world_create(&world);
    w->judge = NULL;
    w->fails_judging = true;
    w->config.judging.retest = 1;
    const struct vq_vibecheck_method_result *r = walk_run(w);
    assert_int_equal(w->stages_count, 1);
    assert_non_null(r->retest);
    assert_int_equal(r->retest[0].cells + r->retest[1].cells + r->retest[1].missing, 0);
    walk_destroy(w);
}
