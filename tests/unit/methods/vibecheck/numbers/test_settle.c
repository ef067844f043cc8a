/* Settled vibes against the gates over all rows: exact decisions are never wrong whatever the
 * gates, decisions with an alpha in at most that share of the seeds, and the calls saved. There are
 * 200 seeds; VQ_SETTLE_SEEDS=1000 in the environment sets another number. */
#include "tests/unit/methods/vibecheck/planted.h"

#include "methods/vibecheck/numbers/settle.h"

#include <inttypes.h>
#include <stdlib.h>

#define SEEDS 200u

/* `plain` of the rows are ties; the others name A in a share that gives the mean. Draws the rows in
 * random order, all of them train. */
static struct planted *world(uint32_t rows, uint32_t judges, uint32_t vibes, uint64_t seed)
{
    struct planted *w = planted_create(rows, judges, vibes, seed);
    for (uint32_t i = 0; i < rows; i++) {
        w->rows[i].test = false;
        w->rows[i].preference = (int8_t)((int)vq_rng_below(&w->rng, 3) - 1);
        w->rows[i].shown = vq_rng_below(&w->rng, 4) == 0;
    }
    w->in.no_intervals = true;
    return w;
}

static void answer(struct planted *w, uint32_t row, uint32_t judge, uint32_t vibe, int score)
{
    uint8_t *both = w->outcomes + vq_grid_task(&w->in.grid, (struct vq_cell){row, judge, vibe, 0});
    both[0] = (uint8_t)(score > 0   ? VQ_OUTCOME_FIRST
                        : score < 0 ? VQ_OUTCOME_SECOND
                                    : VQ_OUTCOME_EQUAL);
    both[1] = (uint8_t)(score > 0   ? VQ_OUTCOME_SECOND
                        : score < 0 ? VQ_OUTCOME_FIRST
                                    : VQ_OUTCOME_EQUAL);
}

static void settle(const struct planted *w, uint32_t n, struct vq_settled_vibe *ret)
{
    struct vq_settle_input in = {.config = &w->config,
                                 .grid = {n, w->in.grid.judges, w->in.grid.vibes},
                                 .outcomes = w->outcomes,
                                 .rows = w->rows,
                                 .total = w->in.grid.samples};
    assert_int_equal(vq_settle(&in, ret), VQ_OK);
}

/* Answers of every kind, failures and N/A with them. */
static void fill_anything(struct planted *w, double plain)
{
    static const enum vq_outcome others[] = {VQ_OUTCOME_NA, VQ_OUTCOME_UNPARSEABLE,
                                             VQ_OUTCOME_ERROR, VQ_OUTCOME_UNSURE};
    const struct vq_grid *g = &w->in.grid;
    for (uint64_t cell = 0; cell < vq_grid_tasks(g) / 2; cell++) {
        uint32_t row = (uint32_t)(cell / g->vibes / g->judges);
        uint32_t judge = (uint32_t)(cell / g->vibes % g->judges),
                 vibe = (uint32_t)(cell % g->vibes);
        int score = vq_rng_unit(&w->rng) < plain ? 0 : vq_rng_below(&w->rng, 2) == 0 ? 1 : -1;
        answer(w, row, judge, vibe, vibe % 3 == 0 && score != 0 ? 1 : score);
        if (vq_rng_below(&w->rng, 20) == 0) {
            w->outcomes[cell * 2 + vq_rng_below(&w->rng, 2)] =
                (uint8_t)others[vq_rng_below(&w->rng, VQ_COUNT(others))];
        }
    }
}

TEST(exact_decisions_are_those_of_all_rows)
{
    uint64_t settled = 0, cells = 0;
    for (uint64_t seed = 1; seed <= 120; seed++) {
        struct planted *w = world(60, 1 + seed % 2, 6, seed);
        w->config.judging.early_stop = VQ_EARLY_STOP_FINAL;
        w->config.gates.preference = (enum vq_gate_preference)(seed % 3);
        w->config.gates.separability_min = seed % 5 < 2 ? 0.05 : 0.3;
        w->config.gates.separability = seed % 7 == 0 ? VQ_GATE_INTERVAL : VQ_GATE_POINT;
        fill_anything(w, (double)(seed % 4) / 4);
        struct vq_vibecheck *all = planted_compute(w);
        for (uint32_t n = 1; n <= 60; n++) {
            struct vq_settled_vibe s[6];
            settle(w, n, s);
            for (uint32_t v = 0; v < 6; v++) {
                const struct vq_vibe_metrics *m = &all->vibe[v];
                bool dropped = s[v].as == VQ_SETTLED_DROPPED;
                assert_int_not_equal(s[v].how, VQ_DECIDED_ALPHA);
                assert_false(dropped && (m->kept || isnan(m->train.p)));
                assert_false(s[v].as == VQ_SETTLED_PASSES && !m->kept);
                cells++;
                settled += s[v].as != VQ_SETTLED_NOT;
            }
        }
        vq_vibecheck_destroy(&all);
        planted_destroy(w);
    }
    print_message("settled exactly at %" PRIu64 " of %" PRIu64 " looks\n", settled, cells);
    assert_true(settled > cells / 20);
}

/* One vibe, `named` of whose rows name a model, in random order, with a mean of all rows of
 * `toward` / rows; looks as in a run. Returns the rows asked until it is settled. */
static uint32_t one(struct planted *w, uint32_t named, int toward, struct vq_settled_vibe *ret)
{
    uint32_t rows = w->in.grid.samples, ends[VQ_LOOKS_MAX];
    uint32_t *order = vq_alloc(rows, sizeof(*order));
    assert_non_null(order);
    for (uint32_t i = 0; i < rows; i++) {
        order[i] = i;
    }
    vq_rng_shuffle_u32(&w->rng, order, rows);
    for (uint32_t i = 0; i < rows; i++) {
        int score = i >= named ? 0 : i < (named + (uint32_t)toward) / 2 ? 1 : -1;
        answer(w, order[i], 0, 0, score);
    }
    vq_free(order);
    uint32_t looks = vq_settle_looks(&w->config, rows, ends);
    assert_true(looks > 0);
    for (uint32_t k = 0; k < looks; k++) {
        settle(w, ends[k], ret);
        if (ret->as != VQ_SETTLED_NOT) {
            return ends[k];
        }
    }
    return rows;
}

struct scene {
    uint32_t rows, named;
    int toward;
    bool keeps; /* |toward| / rows is over the gate */
};

/* Means at the gate, where decisions are hardest, and away from it. */
TEST(alpha_is_wrong_in_at_most_alpha)
{
    const char *set = getenv("VQ_SETTLE_SEEDS");
    uint32_t seeds = set == NULL ? SEEDS : (uint32_t)strtoul(set, NULL, 10);
    assert_true(seeds > 0);
    static const struct scene scenes[] = {
        {400, 100, 20, false}, {400, 100, 22, true},  {1000, 500, 50, false}, {1000, 500, 52, true},
        {1000, 500, 0, false}, {1000, 100, 0, false}, {1000, 500, 200, true}};
    static const double alphas[] = {0.05, 0.01};
    for (size_t a = 0; a < VQ_COUNT(alphas); a++) {
        for (size_t k = 0; k < VQ_COUNT(scenes); k++) {
            const struct scene *s = &scenes[k];
            uint32_t wrong = 0;
            uint64_t asked = 0;
            for (uint64_t seed = 1; seed <= seeds; seed++) {
                struct planted *w = world(s->rows, 1, 1, seed * 31 + k);
                w->config.judging.early_stop = VQ_EARLY_STOP_FINAL;
                w->config.judging.early_stop_alpha = alphas[a];
                w->config.judging.early_stop_rows = 50;
                struct vq_settled_vibe got;
                asked += one(w, s->named, s->toward, &got);
                wrong += got.as == (s->keeps ? VQ_SETTLED_DROPPED : VQ_SETTLED_PASSES);
                planted_destroy(w);
            }
            print_message("alpha %.2f, mean %+.3f of %u rows, %2.0f %% ties: wrong %u of %u, "
                          "saved %.1f %% of the calls\n",
                          alphas[a], (double)s->toward / s->rows, s->rows,
                          100.0 - 100.0 * s->named / s->rows, wrong, seeds,
                          100.0 - 100.0 * (double)asked / ((double)s->rows * seeds));
            assert_true(wrong <= alphas[a] * seeds);
        }
    }
}

TEST(looks_ascend_and_leave_something)
{
    for (uint32_t train = 1; train < 3000; train = train * 5 / 4 + 1) {
        for (uint32_t k = 0; k < 12; k++) {
            struct vq_config c = {
                .gates.separability_min = k % 3 == 0   ? 0.05
                                          : k % 3 == 1 ? 0.6
                                                       : 1,
                .judging = {.early_stop = k % 2 == 0 ? VQ_EARLY_STOP_EXACT : VQ_EARLY_STOP_FINAL,
                            .early_stop_alpha = k < 6 ? 0 : 0.01,
                            .early_stop_rows = k % 4 < 2 ? 50 : 1}};
            uint32_t ends[VQ_LOOKS_MAX], n = vq_settle_looks(&c, train, ends);
            assert_true(n <= VQ_LOOKS_MAX);
            for (uint32_t i = 0; i < n; i++) {
                assert_true(ends[i] > 0 && ends[i] < train && (i == 0 || ends[i] > ends[i - 1]));
            }
            c.judging.early_stop = VQ_EARLY_STOP_OFF;
            assert_int_equal(vq_settle_looks(&c, train, ends), 0);
        }
    }
}
