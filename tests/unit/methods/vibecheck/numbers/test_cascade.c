/* The numbers of a cascade against simulated judges: the estimate of what the second judge would
 * have said of all rows is unbiased and its intervals hold it, the mean row score is biased, and
 * the calls that were saved. There are 400 seeds; VQ_CASCADE_SEEDS=4000 in the environment sets
 * another number. */
#include "tests/unit/methods/vibecheck/planted.h"

#include "common/judge/request.h"
#include "methods/vibecheck/numbers/cascade.h"

#include <stdio.h>
#include <stdlib.h>

#define SEEDS 400u
/* What the fitted weight may add, times the audited rows; the bias of others is a hundred times
 * this. */
#define WEIGHT_BIAS 0.1
#define TINY        1e-9 /* an interval may have no width */

/* ---- when to ask ---- */

TEST(reasons)
{
    enum {
        A = VQ_OUTCOME_FIRST,
        B = VQ_OUTCOME_SECOND,
        EQ = VQ_OUTCOME_EQUAL,
        NA = VQ_OUTCOME_NA,
        NO = VQ_OUTCOME_NOT_NEEDED,
        BAD = VQ_OUTCOME_UNAVAILABLE,
        M = VQ_CASCADE_MARGIN,
        D = VQ_CASCADE_DISAGREE,
        X = VQ_CASCADE_NO_SCORE,
        U = VQ_CASCADE_UNKNOWN
    };
    static const struct {
        uint8_t both[2];
        double margins[2];
        double margin;
        bool disagree;
        int why;
    } rows[] = {
        {{A, B}, {0.9, 0.8}, 0.3, true, 0},   /* both orders name model A */
        {{A, A}, {0.9, 0.8}, 0.3, true, D},   /* both name the first position */
        {{A, EQ}, {0.9, 0.8}, 0.3, true, D},  /* one names none */
        {{EQ, NA}, {0.9, 0.8}, 0.3, true, 0}, /* neither names one */
        {{EQ, NO}, {0.9, NAN}, 0.3, true, 0}, /* lazy swap: one order suffices */
        {{A, A}, {0.9, 0.8}, 0.3, false, 0},  /* not asked for */
        {{A, B}, {0.9, 0.2}, 0.3, true, M},   /* one order is unsure */
        {{A, B}, {0.9, 0.3}, 0.3, true, 0},   /* the margin itself is enough */
        {{A, B}, {0.9, 0.2}, 0, true, 0},     /* off */
        {{A, B}, {0.9, NAN}, 0.3, true, U},   /* not known: not a reason */
        {{A, A}, {0.1, NAN}, 0.3, true, M | D | U},
        {{A, BAD}, {0.9, NAN}, 0.3, true, X}, /* a failed call */
        {{BAD, BAD}, {NAN, NAN}, 0.3, true, X},
        {{EQ, BAD}, {0.9, NAN}, 0.3, true, 0}, /* settled by the other order */
    };
    for (size_t i = 0; i < VQ_COUNT(rows); i++) {
        struct vq_conf_escalate conf = {.margin = rows[i].margin, .disagree = rows[i].disagree};
        int why = vq_cascade_escalates(&conf, VQ_PAIR_STRICT, rows[i].both, rows[i].margins);
        if (why != rows[i].why) {
            fail_msg("row %zu: %d, not %d", i, why, rows[i].why);
        }
    }
    assert_false(vq_cascade_asks(U) || vq_cascade_is_escalated(U));
    assert_true(vq_cascade_asks(VQ_CASCADE_AUDIT) && !vq_cascade_is_escalated(VQ_CASCADE_AUDIT));
    assert_true(vq_cascade_asks(X) && vq_cascade_is_escalated(X));
}

/* ---- worlds ---- */

struct world {
    const char *what;
    uint32_t rows, repeats; /* rows of one prompt */
    double up;              /* share of rows where the second judge names A; B in the others */
    double tie;             /* of rows where it names neither */
    double hard;            /* share of rows where the first judge is unsure, and says so ... */
    double wrong;           /* ... but for this share of all rows, where it is surely wrong */
    double bias;            /* of these, the share where it names A */
    double audit;
    bool margin; /* unsure rows show by the margin; else the orders contradict each other */
};

static const struct vq_judge second_judge = {
    .name = "large", .model = "large", .dialect = "openai", .identity = "test"};

static void first_says(const struct world *s, struct planted *w, uint32_t i, int truth,
                       const struct vq_conf_cascade *conf, uint8_t *ret_why)
{
    double margins[2] = {0.9, 0.9};
    if (planted_chance(&w->rng, s->hard)) {
        uint8_t *both = planted_cell(w, i, 0, 0);
        planted_say(w, i, 0, 0, planted_chance(&w->rng, 0.5) ? 1 : -1);
        both[1] = s->margin ? both[1] : both[0];
        margins[1] = 0.1;
    } else if (planted_chance(&w->rng, s->wrong)) {
        planted_say(w, i, 0, 0, planted_chance(&w->rng, s->bias) ? 1 : -1);
    } else {
        planted_say(w, i, 0, 0, truth);
    }
    *ret_why =
        vq_cascade_escalates(&conf->escalate, VQ_PAIR_STRICT, planted_cell(w, i, 0, 0), margins);
}

static void identify(uint64_t seed, uint32_t i, struct vq_sample_id *ret_id)
{
    char text[64];
    (void)snprintf(text, sizeof(text), "%llu %u", (unsigned long long)seed, i);
    struct vq_sample sample = {.prompt = vq_span_str(text), .a = vq_span("", 0)};
    vq_sample_identify(&sample, ret_id);
}

struct seen {                  /* over all seeds */
    double error, plain_error; /* of the estimate and of the mean row score, in these very rows */
    double error_sq;
    uint32_t held, rows_held, plain_held, without; /* an interval */
    double width, rows_width;
    double asked, everywhere; /* calls of the second judge */
};

/* One run; all rows are train rows. */
static void one(const struct world *s, uint64_t seed, struct seen *to)
{
    struct planted *w = planted_create(s->rows, 2, 1, seed);
    struct vq_conf_judge judges[2] = {{.name = (char *)"small"}, {.name = (char *)"large"}};
    struct vq_conf_cascade conf = {.first = (char *)"small",
                                   .escalate = {.margin = s->margin ? 0.3 : 0, .disagree = true},
                                   .audit = s->audit};
    uint8_t *why = vq_alloc(s->rows, 1);
    assert_non_null(why);
    w->config.judges = judges;
    w->config.cascade = &conf;
    w->config.regression.bootstrap_draws = 20;
    w->config.gates.separability_min = 2; /* no fits, which take most of the time */
    double all = 0;
    int truth = 0;
    for (uint32_t i = 0; i < s->rows; i++) {
        w->rows[i].test = false;
        w->rows[i].group = i / s->repeats;
        if (i % s->repeats == 0) {
            truth = planted_chance(&w->rng, s->tie) ? 0 : planted_chance(&w->rng, s->up) ? 1 : -1;
        }
        all += truth;
        first_says(s, w, i, truth, &conf, &why[i]);
        struct vq_sample_id id;
        identify(seed, i, &id);
        bool audited = vq_cascade_audited(&id, &w->axes[0], &second_judge, conf.audit);
        why[i] = (uint8_t)(why[i] | (audited ? VQ_CASCADE_AUDIT : 0));
        uint8_t *both = planted_cell(w, i, 0, 1);
        both[0] = both[1] = VQ_OUTCOME_NOT_NEEDED;
        if (vq_cascade_asks(why[i])) {
            planted_say(w, i, 0, 1, truth);
        }
    }
    w->in.cascade = why;
    struct vq_vibecheck *r = planted_compute(w);
    const struct vq_vibe_metrics *m = &r->vibe[0];
    const struct vq_cascade_split *c = &m->train.cascade;
    double mean = all / s->rows, theta = (1 - s->tie) * (2 * s->up - 1);
    if (isnan(m->train.sep_ci95.lo) || isnan(c->rows_ci95.lo)) {
        to->without++;
    } else {
        double error = m->train.sep - mean;
        to->error += error;
        to->error_sq += error * error;
        to->plain_error += c->uncorrected - mean;
        to->held += m->train.sep_ci95.lo <= theta && theta <= m->train.sep_ci95.hi;
        to->rows_held += c->rows_ci95.lo <= mean + TINY && mean - TINY <= c->rows_ci95.hi;
        to->plain_held += c->uncorrected_ci95.lo <= theta && theta <= c->uncorrected_ci95.hi;
        to->width += m->train.sep_ci95.hi - m->train.sep_ci95.lo;
        to->rows_width += c->rows_ci95.hi - c->rows_ci95.lo;
    }
    assert_int_equal(r->cascade.cells, s->rows);
    to->asked += (double)r->cascade.second_calls;
    to->everywhere += 2.0 * s->rows;
    vq_vibecheck_destroy(&r);
    planted_destroy(w);
    vq_free(why);
}

/* No less than nominal within 3.5 standard deviations of the number of seeds, and half a percent
 * for the approximation; more is allowed, as labels that never contradict count for something. */
static bool holds(uint32_t held, uint32_t seeds)
{
    double n = seeds;
    return held / n >= 0.945 - 3.5 * sqrt(0.95 * 0.05 / n);
}

static void check(const struct world *s, uint64_t stream, uint32_t seeds)
{
    struct seen got = {0};
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        one(s, seed * 64 + stream, &got);
    }
    uint32_t n = seeds - got.without;
    assert_true(n > 0 && got.without <= seeds / 20);
    double bias = got.error / n, plain = got.plain_error / n;
    double noise = sqrt(got.error_sq / n) / sqrt(n);
    print_message("%-34s %4u rows, audit %.2f: bias %+.4f (noise %.4f), uncorrected %+.4f; "
                  "coverage %.3f, of these rows %.3f, uncorrected %.3f; width %.3f and %.3f; "
                  "no interval %u; the second judge's calls saved %.1f %%\n",
                  s->what, s->rows, s->audit, bias, noise, plain, (double)got.held / n,
                  (double)got.rows_held / n, (double)got.plain_held / n, got.width / n,
                  got.rows_width / n, got.without, 100 - 100 * got.asked / got.everywhere);
    assert_true(fabs(bias) <= 4 * noise + WEIGHT_BIAS / (s->audit * s->rows));
    assert_true(holds(got.held, n));
    assert_true(holds(got.rows_held, n));
    if (s->audit < 1 && s->wrong * fabs(s->bias - s->up) >= 0.1) { /* it errs to one side */
        assert_true(fabs(plain) > 5 * fabs(bias) && fabs(plain) > 0.05);
    }
}

TEST(the_estimate_holds)
{
    const char *set = getenv("VQ_CASCADE_SEEDS");
    uint32_t seeds = set == NULL ? SEEDS : (uint32_t)strtoul(set, NULL, 10);
    assert_true(seeds > 0);
    static const struct world worlds[] = {
        {"errs to A", 400, 1, 0.6, 0, 0.2, 0.4, 1.0, 0.1, false},
        {"errs to B, by margin", 400, 1, 0.6, 0, 0.2, 0.4, 0.0, 0.2, true},
        {"many rows", 2000, 1, 0.55, 0, 0.3, 0.3, 0.9, 0.05, false},
        {"hardly errs", 1000, 1, 0.7, 0, 0.1, 0.03, 1.0, 0.1, false},
        {"never errs", 400, 1, 0.8, 0, 0.1, 0.0, 1.0, 0.1, false},
        {"is a coin", 600, 1, 0.7, 0, 0.1, 1.0, 0.5, 0.2, false},
        {"mostly escalated", 600, 1, 0.6, 0, 0.8, 0.4, 1.0, 0.2, true},
        {"three rows of a prompt", 900, 3, 0.6, 0, 0.2, 0.4, 1.0, 0.1, false},
        {"few audited rows", 200, 1, 0.6, 0, 0.2, 0.4, 1.0, 0.1, false},
        {"ties", 500, 1, 0.7, 0.4, 0.2, 0.4, 1.0, 0.15, false},
        {"almost all are A", 400, 1, 0.97, 0, 0.1, 0.1, 0.0, 0.1, false},
        {"everything is audited", 300, 1, 0.6, 0, 0.2, 0.4, 1.0, 1.0, false},
    };
    for (size_t i = 0; i < VQ_COUNT(worlds); i++) {
        check(&worlds[i], i, seeds);
    }
}

TEST(memory_may_run_out_anywhere)
{
    struct vq_conf_judge judges[2] = {{.name = (char *)"small"}, {.name = (char *)"large"}};
    struct vq_conf_cascade conf = {
        .first = (char *)"small", .escalate = {.disagree = true}, .audit = 0.5};
    uint8_t why[40];
    struct planted *w = planted_create(40, 2, 1, 3);
    w->config.judges = judges;
    w->config.cascade = &conf;
    w->in.cascade = why;
    w->in.no_intervals = true;
    for (uint32_t i = 0; i < 40; i++) {
        why[i] = (uint8_t)(i % 2 == 0 ? VQ_CASCADE_AUDIT : i % 3 == 0 ? VQ_CASCADE_DISAGREE : 0);
        planted_say(w, i, 0, 0, i % 4 == 0 ? -1 : 1);
    }
    bool ended = false;
    uint32_t failed = 0;
    for (uint64_t at = 1; !ended; at++) {
        struct vq_vibecheck *r = NULL;
        struct vq_error err = {0};
        uint64_t before = vq_alloc_count();
        vq_alloc_fail_at(at);
        enum vq_status status = vq_vibecheck_compute(&w->in, &r, &err);
        vq_alloc_fail_at(0);
        ended = vq_alloc_count() - before < at;
        assert_true(status == VQ_OK || (!ended && status == VQ_NOMEM));
        failed += status != VQ_OK;
        vq_vibecheck_destroy(&r);
    }
    assert_true(failed > 20);
    planted_destroy(w);
}
