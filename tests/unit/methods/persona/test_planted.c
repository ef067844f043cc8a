/* What is planted in ratings is found, and intervals hold it as often as they say: 16 cells (two
 * models, eight personas), 500 seeds. A dialogue that fades, one that does not, and a refusal that
 * slips. Ratings are whole numbers whose expectation is known exactly: 1 + a binomial of 4. */

#include "tests/unit/test.h"

#include "common/base/rng.h"
#include "tests/unit/methods/persona/world.h"

enum {
    MODELS = 2,
    PERSONAS = 8,
    CELLS = MODELS * PERSONAS,
    ROUNDS = 12,
    CHECKPOINTS = 4, /* turn 0; 1 to 4; 5 to 8; 9 to 11 */
    LAST = CHECKPOINTS - 1,
    PROMPTS = 50,
    SEEDS = 500
};

/* How often an interval holds the truth and excludes 0. */
struct tally {
    unsigned percentile, ci95, found, count;
};

static void look(struct tally *t, const struct vq_cells_mean *m, double truth)
{
    assert_int_equal(m->status, VQ_CELLS_OK);
    assert_int_equal(m->cells, CELLS);
    t->count++;
    t->percentile += m->percentile.lo <= truth && truth <= m->percentile.hi;
    t->ci95 += m->ci95.lo <= truth && truth <= m->ci95.hi;
    t->found += vq_cells_excludes_0(m);
}

/* ci95 is stated to hold in 95 %, the percentile interval of 16 cells in 92 %. */
static void check(const char *name, const struct tally *t, bool planted)
{
    print_message("%s: of %u, ci95 holds it in %u, percentile in %u; %u exclude 0\n", name,
                  t->count, t->ci95, t->percentile, t->found);
    assert_in_range(t->ci95, SEEDS * 93 / 100, SEEDS * 97 / 100 + 2);
    assert_in_range(t->percentile, SEEDS * 88 / 100, SEEDS * 955 / 1000);
    if (planted) {
        assert_true(t->found > SEEDS * 98 / 100);
    } else {
        assert_in_range(t->found, 0, SEEDS * 7 / 100);
    }
}

static const struct vq_persona_criterion criteria[] = {
    {"style", VQ_RATING_LIKERT, VQ_PERSONA_OF_TURNS, VQ_TRAIT_OPENNESS},
    {"safety", VQ_RATING_BINARY, VQ_PERSONA_OF_SAFETY, VQ_TRAIT_OPENNESS}};

static struct vq_persona_design design(void)
{
    return (struct vq_persona_design){.models = MODELS,
                                      .personas = PERSONAS,
                                      .baseline = true,
                                      .scripts_count = 2,
                                      .scripts = {{VQ_PERSONA_DIRECTED, ROUNDS, false, false},
                                                  {VQ_PERSONA_GOAL, ROUNDS, false, false}},
                                      .shuffled = true,
                                      .rounds = ROUNDS,
                                      .checkpoints = CHECKPOINTS,
                                      .criteria = 1};
}

static double likert(struct vq_rng *rng, double share)
{
    double rating = 1;
    for (int i = 0; i < 4; i++) {
        rating += vq_rng_unit(rng) < share;
    }
    return rating;
}

/* Shares of the way from 1 to 5 at turn 0, and how much is lost a turn. Cells differ in level by up
 * to 0.05 each way. */
struct planted {
    double level, directed_loss, goal_loss;
    double baseline;
};

static void hold_dialogues(struct world *w, uint64_t seed, const struct planted *p)
{
    struct vq_rng rng;
    vq_rng_seed(&rng, seed);
    w->count = 0;
    for (uint32_t cell = 0; cell < CELLS; cell++) {
        double own = 0.1 * (vq_rng_unit(&rng) - 0.5);
        for (uint32_t i = 0; i < 2 * 2 * ROUNDS; i++) {
            uint32_t turn = i % ROUNDS;
            struct vq_persona_rated r = {.model = cell / PERSONAS,
                                         .persona = cell % PERSONAS,
                                         .as = cell % PERSONAS,
                                         .script = i / ROUNDS / 2,
                                         .order = (enum vq_persona_order)(i / ROUNDS % 2),
                                         .point = turn,
                                         .item = VQ_PERSONA_NONE};
            double loss = r.script == 0 ? p->directed_loss : p->goal_loss;
            (void)world_rate(w, r, likert(&rng, p->level + own - loss * turn));
            r.persona = PERSONAS;
            (void)world_rate(w, r, likert(&rng, p->baseline + own));
        }
    }
    world_compute(w);
}

struct dialogue_tallies {
    struct tally change, gap, kinds;
    unsigned slopes_hold, slopes_found, costs_hold;
};

static void tally_dialogues(const struct world *w, const struct planted *p,
                            struct dialogue_tallies *t)
{
    double turns = 10; /* 9, 10 and 11 on average, as ratings: 4 times the share */
    look(&t->change, world_at(w, "style", VQ_CURVE_CHANGE, 1, LAST), -4 * p->goal_loss * turns);
    look(&t->gap, world_at(w, "style", VQ_CURVE_GAP, 1, LAST),
         4 * (p->level - p->goal_loss * turns - p->baseline));
    look(&t->kinds, world_at(w, "style", VQ_CURVE_KINDS, 0, LAST),
         4 * (p->goal_loss - p->directed_loss) * turns);
    const struct vq_persona_slopes *pooled = &world_measure(w, "style")->slopes[MODELS * 2 + 1];
    const struct vq_interval *ci = &pooled->length.ci95;
    double slope = -100 * p->goal_loss;
    t->slopes_hold += ci->lo <= slope && slope <= ci->hi;
    t->slopes_found += ci->lo > 0 || ci->hi < 0;
    assert_int_equal(pooled->length.rows, CELLS * ROUNDS);
    double cost = 100 * (p->level - p->goal_loss * (ROUNDS - 1) / 2.0 - p->baseline);
    ci = &pooled->cost.ci95;
    assert_int_equal(pooled->cost.groups, CELLS * ROUNDS);
    t->costs_hold += ci->lo <= cost && cost <= ci->hi;
}

static void run_dialogues(const struct planted *p, struct dialogue_tallies *ret)
{
    struct vq_persona_design d = design();
    struct world w;
    *ret = (struct dialogue_tallies){.slopes_hold = 0};
    world_open(&w, &d, criteria, 1, 1, (size_t)CELLS * 2 * 2 * ROUNDS * 2);
    w.study.draws = 200;
    w.study.bar_draws = 10;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        hold_dialogues(&w, seed, p);
        tally_dialogues(&w, p, ret);
    }
    world_close(&w);
}

TEST(a_fade_is_found)
{
    struct dialogue_tallies t;
    run_dialogues(&(struct planted){0.85, 0.01, 0.035, 0.3}, &t);
    check("fade, change", &t.change, true);
    check("fade, persona minus baseline", &t.gap, true);
    check("fade, directed minus goal", &t.kinds, true);
    print_message("fade, slope: %u hold it, %u exclude 0\n", t.slopes_hold, t.slopes_found);
    assert_in_range(t.slopes_hold, SEEDS * 93 / 100, SEEDS * 975 / 1000);
    assert_true(t.slopes_found == SEEDS);
}

TEST(a_constant_persona_does_not_fade)
{
    struct dialogue_tallies t;
    run_dialogues(&(struct planted){0.7, 0, 0, 0.7}, &t);
    check("constant, change", &t.change, false);
    check("constant, persona minus baseline", &t.gap, false);
    check("constant, directed minus goal", &t.kinds, false);
    print_message("constant, slope: %u hold 0, cost: %u\n", t.slopes_hold, t.costs_hold);
    assert_in_range(t.slopes_hold, SEEDS * 93 / 100, SEEDS * 975 / 1000);
    assert_in_range(t.costs_hold, SEEDS * 93 / 100, SEEDS * 975 / 1000);
}

/* From 0.85 of the unsafe prompts to 0.75 at the last checkpoint; the safe ones stay at 0.1. */
TEST(a_safety_slip_is_found)
{
    struct vq_persona_design d = design();
    struct world w;
    struct tally slip = {0}, safe = {0};
    world_open(&w, &d, criteria, 2, 1, (size_t)CELLS * 2 * PROMPTS * 2);
    w.study.draws = 200;
    w.study.bar_draws = 10;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct vq_rng rng;
        vq_rng_seed(&rng, seed);
        w.count = 0;
        for (uint32_t cell = 0; cell < CELLS; cell++) {
            double own = 0.05 * (vq_rng_unit(&rng) - 0.5);
            for (uint32_t i = 0; i < 2 * PROMPTS * 2; i++) {
                bool unsafe = i % 2 == 0, late = i >= 2 * PROMPTS;
                struct vq_persona_rated r = {.criterion = 1,
                                             .model = cell / PERSONAS,
                                             .persona = cell % PERSONAS,
                                             .as = cell % PERSONAS,
                                             .point = late ? LAST : 0,
                                             .item = i % (2 * PROMPTS),
                                             .label = unsafe ? VQ_PERSONA_UNSAFE : VQ_PERSONA_SAFE};
                double share = unsafe ? 0.85 + own - (late ? 0.1 : 0) : 0.1 + own;
                (void)world_rate(&w, r, vq_rng_unit(&rng) < share);
            }
        }
        world_compute(&w);
        look(&slip, world_at(&w, "safety: unsafe", VQ_CURVE_CHANGE, 0, LAST), -0.1);
        look(&safe, world_at(&w, "safety: safe", VQ_CURVE_CHANGE, 0, LAST), 0);
    }
    check("slip", &slip, true);
    check("no slip", &safe, false);
    world_close(&w);
}
