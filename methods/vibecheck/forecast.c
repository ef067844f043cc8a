/* The stages that may follow, and their numbers of questions, before the questions are known: the
 * call-count model of docs/method/method.md, with the least and the highest numbers that the
 * settings allow. Invariant: stages have the names that the method gives them, so that a known
 * stage replaces its estimate. Not its job: tokens, stored answers. */
#include "methods/vibecheck/forecast.h"

#include "methods/vibecheck/method.h"
#include "methods/vibecheck/numbers/settle.h"

#include <math.h>
#include <stdio.h>

/* expected number of axes that a proposer names; a guess with little influence */
#define AXES_A_BATCH 6.0
#define AXES_MOST    20.0
#define GROUP_AXES   100.0
#define REDUCE_TRIES 3u

struct list {
    const struct vq_vibecheck_facts *facts;
    struct vq_forecast_stage *stages;
    uint32_t count;
    uint32_t repeat; /* number of the repeat, from 1; 0: the discovery itself */
};

static const struct vq_range nothing = {0};

static struct vq_forecast_stage *add(struct list *l, enum vq_stage_kind kind, enum vq_role role,
                                     enum vq_forecast_shape shape, struct vq_range calls)
{
    VQ_ASSERT(l->count < VQ_FORECAST_STAGES_MAX);
    struct vq_forecast_stage *s = &l->stages[l->count++];
    *s = (struct vq_forecast_stage){
        .kind = kind, .role = role, .shape = shape, .items = 1, .cells = calls};
    s->proposer = vq_vibecheck_method_proposer(l->facts->config, l->repeat);
    return s;
}

static void name(struct vq_forecast_stage *s, const char *text, const char *end)
{
    (void)snprintf(s->name, sizeof(s->name), "%s%s", text, end);
}

static void number(const struct list *l, struct vq_forecast_stage *s, const char *text,
                   uint32_t iteration)
{
    if (l->repeat > 0) {
        (void)snprintf(s->name, sizeof(s->name), "again %u: %s %u", l->repeat, text, iteration);
    } else {
        (void)snprintf(s->name, sizeof(s->name), "%s %u", text, iteration);
    }
}

/* ---- rankings ---- */

static double orders(const struct vq_vibecheck_facts *f)
{
    return f->config->judging.pair_rule == VQ_PAIR_FORWARD ? 1 : 2;
}

static struct vq_range groups_of(struct vq_range vibes, double a_call)
{
    return (struct vq_range){ceil(vibes.least / a_call), ceil(vibes.expected / a_call),
                             ceil(vibes.most / a_call)};
}

/* Adds the second judge's stage of a cascade, after the stage of the first one. Its least number of
 * cells is that of the audit, minus the spread of a random draw. */
static void add_second(struct list *l, struct vq_forecast_stage *first)
{
    const struct vq_config *config = l->facts->config;
    double audit = config->cascade->audit, less = 4 * sqrt(audit * (1 - audit));
    struct vq_range all = first->cells;
    double least = all.least * audit - less * sqrt(all.least);
    double share = audit + (1 - audit) * VQ_ASSUMED_ESCALATED_SHARE;
    struct vq_range cells = {floor(fmax(0, least)), round(all.expected * share), all.most};
    struct vq_forecast_stage *s = add(l, VQ_STAGE_RANK, VQ_ROLE_JUDGE, first->shape, cells);
    s->swaps = first->swaps.most > 0 ? cells : nothing;
    (void)snprintf(s->name, sizeof(s->name), VQ_SECOND_NAME, first->name);
    first->alone = 1 + vq_config_first_judge(config);
    s->alone = 3 - first->alone;
}

/* Adds the ranking of `vibes` on `rows` rows; `share` is the part of them that is asked at all. */
static void add_rank(struct list *l, const char *text, const char *end,
                     enum vq_forecast_shape shape, double rows, struct vq_range vibes,
                     struct vq_range share)
{
    const struct vq_conf_judging *judging = &l->facts->config->judging;
    struct vq_range cells = vq_range_scale(vq_range_mul(vibes, share), rows);
    bool swaps = orders(l->facts) > 1;
    if (cells.most <= 0) {
        return;
    }
    struct vq_forecast_stage *s;
    if (judging->vibes_per_call <= 1) {
        s = add(l, VQ_STAGE_RANK, VQ_ROLE_JUDGE, shape, cells);
        s->swaps = swaps ? cells : nothing;
        name(s, text, end);
        if (l->facts->config->cascade != NULL) {
            add_second(l, s);
        }
        return;
    }
    struct vq_range joint =
        vq_range_scale(vq_range_mul(groups_of(vibes, judging->vibes_per_call), share), rows);
    s = add(l, VQ_STAGE_TEXT, VQ_ROLE_JUDGE, shape, vq_range_scale(joint, orders(l->facts)));
    s->items = fmin(judging->vibes_per_call, vibes.most);
    name(s, text, end);
    if (judging->repair) {
        struct vq_range all = vq_range_scale(cells, orders(l->facts));
        struct vq_range unread = {0, all.expected * VQ_ASSUMED_REPAIR_SHARE,
                                  all.most * VQ_ASSUMED_REPAIR_SHARE_MOST};
        s = add(l, VQ_STAGE_RANK, VQ_ROLE_JUDGE, shape, nothing);
        s->unread = unread;
        name(s, s[-1].name, ", one by one");
    }
}

/* The number of final vibes, from the number of ranked ones. */
static struct vq_range final_of(const struct vq_vibecheck_facts *f, struct vq_range ranked)
{
    double cap = f->config->vibecheck.num_final_vibes;
    cap = cap > 0 ? cap : INFINITY;
    return (struct vq_range){0, fmin(cap, ranked.expected * VQ_ASSUMED_PASS_SHARE),
                             fmin(cap, ranked.most)};
}

/* Adds a ranking on the training rows and `test` further rows. With early stopping the model
 * assumes that failing vibes are settled evenly over the looks, and that passing vibes are asked on
 * the test rows. */
static void add_ranking(struct list *l, const char *text, double test, struct vq_range vibes,
                        struct vq_range share)
{
    const struct vq_vibecheck_facts *f = l->facts;
    uint32_t ends[VQ_LOOKS_MAX], looks = vq_settle_looks(f->config, f->train, ends), begin = 0;
    bool stops = f->config->judging.early_stop != VQ_EARLY_STOP_OFF && f->train > 0;
    if (!stops || (looks == 0 && test <= 0)) {
        add_rank(l, text, "", test > 0 ? VQ_SHAPE_ALL : VQ_SHAPE_TRAIN, f->train + test, vibes,
                 share);
        return;
    }
    for (uint32_t i = 0; i <= looks; i++) {
        uint32_t end = i < looks ? ends[i] : f->train;
        double settled = (1 - VQ_ASSUMED_PASS_SHARE) * i / (looks + 1);
        struct vq_range open = {i == 0 ? 1 : 0, 1 - settled, 1};
        char name[VQ_FORECAST_NAME_BYTES];
        (void)snprintf(name, sizeof(name), VQ_LOOK_NAME, text, i + 1);
        add_rank(l, i < looks || test > 0 ? name : text, "", VQ_SHAPE_TRAIN, end - begin, vibes,
                 vq_range_mul(share, open));
        begin = end;
    }
    add_rank(l, text, "", VQ_SHAPE_TEST, test, final_of(f, vibes), share);
}

/* ---- discovery ---- */

/* The expected number of times that an iteration happens, 0 to 1. */
static struct vq_range reach(const struct vq_vibecheck_facts *f, uint32_t iteration)
{
    if (iteration <= f->seen.iteration) {
        return vq_range_of(1);
    }
    return (struct vq_range){0, pow(VQ_ASSUMED_FURTHER_SHARE, iteration - f->seen.iteration), 1};
}

static struct vq_range vibes_of(const struct vq_vibecheck_facts *f, uint32_t iteration)
{
    const struct vq_conf_vibecheck *c = &f->config->vibecheck;
    if (iteration <= f->seen.evaluated_count) {
        return vq_range_of(f->seen.evaluated[iteration - 1]);
    }
    double most = c->num_eval_vibes == 0 ? c->k : fmin(c->num_eval_vibes, c->k);
    return (struct vq_range){0, iteration == 1 ? most : most / 2, most};
}

static double batches_of(const struct vq_vibecheck_facts *f)
{
    const struct vq_conf_vibecheck *c = &f->config->vibecheck;
    return ceil(fmin(c->d, f->train) / c->batch);
}

static void add_text(struct list *l, const char *text, uint32_t iteration, enum vq_role role,
                     enum vq_forecast_shape shape, double items, struct vq_range calls)
{
    struct vq_forecast_stage *s =
        add(l, VQ_STAGE_TEXT, role, shape, vq_range_mul(calls, reach(l->facts, iteration)));
    s->items = items;
    number(l, s, text, iteration);
}

static void add_embed(struct list *l, const char *text, uint32_t iteration, struct vq_range texts)
{
    struct vq_range calls = groups_of(texts, VQ_EMBED_BATCH_MAX);
    struct vq_forecast_stage *s = add(l, VQ_STAGE_EMBED, VQ_ROLE_EMBEDDER, VQ_SHAPE_LIST,
                                      vq_range_mul(calls, reach(l->facts, iteration)));
    s->items = fmin(texts.expected, VQ_EMBED_BATCH_MAX);
    number(l, s, text, iteration);
}

static void add_reduction(struct list *l, uint32_t iteration, struct vq_range proposed)
{
    const struct vq_conf_vibecheck *c = &l->facts->config->vibecheck;
    struct vq_range groups = vq_range_of(1);
    if (l->facts->embedder && c->clustering != VQ_CLUSTERING_NEVER) {
        bool always = c->clustering == VQ_CLUSTERING_ALWAYS;
        bool likely = always || proposed.expected >= c->cluster_threshold;
        bool may = always || proposed.most >= c->cluster_threshold;
        groups = (struct vq_range){1, likely ? c->clusters : 1, may ? c->clusters : 1};
        struct vq_range embedded = {0, likely ? proposed.expected : 0, may ? proposed.most : 0};
        if (may) {
            add_embed(l, "embed proposals", iteration, embedded);
        }
    }
    double axes = fmin(proposed.expected / groups.expected, GROUP_AXES);
    enum vq_role role = VQ_ROLE_REDUCER;
    add_text(l, "summarise", iteration, role, VQ_SHAPE_LIST, axes, groups);
    struct vq_range lists = groups;
    lists.least = 0;
    add_text(l, "formalise summaries", iteration, role, VQ_SHAPE_ANSWER, 1, lists);
    struct vq_range once = {0, 1, 1}, seldom = {0, 0, 1};
    add_text(l, "simplify", iteration, role, VQ_SHAPE_LIST, c->k, once);
    add_text(l, "simplify again", iteration, role, VQ_SHAPE_LIST, c->k, seldom);
    for (uint32_t i = 0; i < REDUCE_TRIES; i++) {
        add_text(l, "reduce", iteration, role, VQ_SHAPE_LIST, c->k, seldom);
    }
    if (l->facts->embedder) {
        struct vq_range kept = {0, c->k / 2.0, c->k};
        add_embed(l, "embed", iteration, vq_range_add(proposed, kept));
    }
    if (iteration > 1 && c->dedup) {
        add_text(l, "dedup", iteration, role, VQ_SHAPE_LIST, 2.0 * c->k, once);
    }
}

/* Adds the proposals and the reduction of an iteration. */
static void add_axes(struct list *l, uint32_t iteration)
{
    const struct vq_vibecheck_facts *f = l->facts;
    double batches = batches_of(f);
    struct vq_range calls = {1, batches, batches};
    if (iteration == 1 && f->config->vibecheck.discovery_calls == 2) {
        add_text(l, "differences", 1, VQ_ROLE_PROPOSER, VQ_SHAPE_BATCH, 1, calls);
        calls.least = 0;
        add_text(l, "formalise differences", 1, VQ_ROLE_PROPOSER, VQ_SHAPE_ANSWER, 1, calls);
    } else {
        add_text(l, "discover", iteration, VQ_ROLE_PROPOSER, VQ_SHAPE_BATCH, 1, calls);
    }
    struct vq_range proposed = {0, batches * AXES_A_BATCH, batches * AXES_MOST};
    add_reduction(l, iteration, proposed);
}

static struct vq_range add_iteration(struct list *l, uint32_t iteration)
{
    const struct vq_vibecheck_facts *f = l->facts;
    add_axes(l, iteration);
    char text[VQ_FORECAST_NAME_BYTES];
    (void)snprintf(text, sizeof(text), "rank %u", iteration);
    struct vq_range vibes = vibes_of(f, iteration), share = reach(f, iteration);
    add_ranking(l, text, 0, vibes, share);
    return vq_range_mul(vibes, share);
}

/* ---- the end ---- */

static void add_extras(struct list *l, struct vq_range final)
{
    const struct vq_vibecheck_facts *f = l->facts;
    const struct vq_conf_vibecheck *c = &f->config->vibecheck;
    if (c->compare_presets && f->config->method != VQ_METHOD_PRESET) {
        size_t n;
        (void)vq_preset_axes(&n);
        add_rank(l, "presets", "", VQ_SHAPE_ALL, f->train + f->test, vq_range_of((double)n),
                 vq_range_of(1));
    }
    if (c->question_types) {
        struct vq_forecast_stage *s =
            add(l, VQ_STAGE_TEXT, VQ_ROLE_PROPOSER, VQ_SHAPE_EXAMPLES, final);
        name(s, "question types", "");
    }
}

/* Adds the repeats of the first round, whose axes are embedded by their ends. */
static void add_repeats(struct list *l)
{
    const struct vq_conf_vibecheck *c = &l->facts->config->vibecheck;
    for (l->repeat = 1; l->repeat <= c->repeats; l->repeat++) {
        add_axes(l, 1);
    }
    l->repeat = 0;
    if (c->repeats > 0 && l->facts->embedder) {
        double most = 2.0 * c->k * (c->repeats + 1.0);
        struct vq_range calls = groups_of((struct vq_range){0, most / 2, most}, VQ_EMBED_BATCH_MAX);
        struct vq_forecast_stage *s =
            add(l, VQ_STAGE_EMBED, VQ_ROLE_EMBEDDER, VQ_SHAPE_LIST, calls);
        s->items = fmin(most / 2, VQ_EMBED_BATCH_MAX);
        name(s, "match repeats", "");
    }
}

/* Adds the retest of a random draw of the asked cells: the configured share, plus the spread of a
 * draw. */
static void add_retest(struct list *l, struct vq_range cells)
{
    double share = l->facts->config->judging.retest;
    if (share <= 0) {
        return;
    }
    double spread = 4 * sqrt(cells.most * share * (1 - share));
    struct vq_range calls = {0, cells.expected * share,
                             fmin(cells.most, cells.most * share + spread)};
    name(add(l, VQ_STAGE_RANK, VQ_ROLE_JUDGE, VQ_SHAPE_ALL, calls), "retest", "");
}

uint32_t vq_vibecheck_forecast(const struct vq_vibecheck_facts *facts,
                               struct vq_forecast_stage *ret_stages)
{
    struct list l = {facts, ret_stages, 0};
    double rows = (double)facts->train + facts->test;
    if (facts->labels) {
        struct vq_forecast_stage *s =
            add(&l, VQ_STAGE_PREFER, VQ_ROLE_PREFERENCE_JUDGE, VQ_SHAPE_ALL, vq_range_of(rows));
        s->swaps = s->cells;
        name(s, "prefer", "");
    }
    struct vq_range ranked = vq_range_of(facts->axes), cells;
    if (facts->config->method != VQ_METHOD_DISCOVER) {
        add_ranking(&l, "rank", facts->test, ranked, vq_range_of(1));
        cells = vq_range_scale(ranked, rows);
        add_extras(&l, final_of(facts, ranked));
    } else {
        ranked = nothing;
        for (uint32_t i = 1; i <= facts->config->vibecheck.iterations; i++) {
            ranked = vq_range_add(ranked, add_iteration(&l, i));
        }
        struct vq_range final = final_of(facts, ranked);
        add_rank(&l, "test", "", VQ_SHAPE_TEST, facts->test, final, vq_range_of(1));
        cells =
            vq_range_add(vq_range_scale(ranked, facts->train), vq_range_scale(final, facts->test));
        add_extras(&l, final);
        add_repeats(&l);
    }
    add_retest(&l, cells);
    for (uint32_t i = 0; i < l.count; i++) {
        l.stages[i].discovered = facts->config->method == VQ_METHOD_DISCOVER;
    }
    return l.count;
}
