/* The lines before a run: the most calls by what they are for, then tokens and dollars as expected. `vibeq plan` tells more of the
 * same forecast. Not its job: the numbers (methods/plan/files/forecast.c). */
#include "cli/estimate.h"

#include "common/text/fmt.h"

#include <stdio.h>

static const char *orders(const struct vq_job *job)
{
    return job->given->plan.swap == VQ_SWAP_NONE ? "" : " x 2 orders";
}

static uint64_t calls_of(const struct vq_forecast *f, enum vq_role role)
{
    double calls = 0;
    for (uint32_t i = 0; i < f->lines_count; i++) {
        calls += f->lines[i].role == role ? f->lines[i].calls.most : 0;
    }
    return (uint64_t)calls;
}

/* "discovery      29 calls: 4 of the proposer, 21 of the reducer, 4 of the embedder" */
static void say_discovery(const struct vq_job *job, const struct vq_forecast *f)
{
    static const struct {
        enum vq_role role;
        const char *name;
    } roles[] = {{VQ_ROLE_PROPOSER, "proposer"},
                 {VQ_ROLE_REDUCER, "reducer"},
                 {VQ_ROLE_EMBEDDER, "embedder"}};
    uint64_t calls = 0;
    char n[VQ_FMT_BYTES];
    for (size_t i = 0; i < VQ_COUNT(roles); i++) {
        calls += calls_of(f, roles[i].role);
    }
    if (calls == 0) {
        return;
    }
    fprintf(stderr, "  %-10s %9s calls:", "discovery", vq_fmt_count(calls, n));
    const char *before = " ";
    for (size_t i = 0; i < VQ_COUNT(roles); i++) {
        if (calls_of(f, roles[i].role) > 0) {
            fprintf(stderr, "%s%s to the %s", before, vq_fmt_count(calls_of(f, roles[i].role), n),
                    roles[i].name);
            before = ", ";
        }
    }
    const struct vq_conf_vibecheck *v = &job->config->vibecheck;
    uint32_t train = job->dataset->train_count, rows = v->d < train ? v->d : train;
    fprintf(stderr, "; up to %u iteration%s of %u row%s\n", v->iterations,
            vq_fmt_plural(v->iterations), rows, vq_fmt_plural(rows));
}

static void say_preferences(const struct vq_job *job, const struct vq_forecast *f)
{
    char n[VQ_FMT_BYTES];
    if (calls_of(f, VQ_ROLE_PREFERENCE_JUDGE) > 0) {
        uint32_t judges = job->cast[VQ_ROLE_PREFERENCE_JUDGE].count;
        fprintf(stderr, "  %-10s %9s calls: %u row%s x %u judge%s x 2 orders\n", "labels",
                vq_fmt_count(calls_of(f, VQ_ROLE_PREFERENCE_JUDGE), n), job->samples_count,
                vq_fmt_plural(job->samples_count), judges, vq_fmt_plural(judges));
    }
}

static void say_ranking(const struct vq_job *job, const struct vq_forecast *f)
{
    const struct vq_conf_vibecheck *v = &job->config->vibecheck;
    const struct vq_grid *g = &job->given->plan.grid;
    char n[VQ_FMT_BYTES];
    fprintf(stderr, "  %-10s %9s calls: ", "ranking", vq_fmt_count(calls_of(f, VQ_ROLE_JUDGE), n));
    if (job->config->method != VQ_METHOD_DISCOVER) {
        fprintf(stderr, "%u row%s x %u vibe%s", g->samples, vq_fmt_plural(g->samples), g->vibes,
                vq_fmt_plural(g->vibes));
    } else {
        uint32_t train = job->dataset->train_count;
        uint32_t most = (v->num_eval_vibes == 0 ? v->k : v->num_eval_vibes) * v->iterations;
        uint32_t final =
            v->num_final_vibes == 0 || v->num_final_vibes > most ? most : v->num_final_vibes;
        fprintf(stderr, "%u train rows x %u vibes, %u test rows x %u%s", train, most,
                job->samples_count - train, final, v->compare_presets ? ", the presets" : "");
    }
    fprintf(stderr, "; %u judge%s%s", g->judges, vq_fmt_plural(g->judges), orders(job));
    uint32_t a_call = job->config->judging.vibes_per_call;
    if (a_call > 1) {
        fprintf(stderr, ", %u vibes a call", a_call);
    }
    fprintf(stderr, "\n");
}

static void say_rating(const struct vq_job *job, const struct vq_forecast *f)
{
    const struct vq_config *c = job->config;
    const struct vq_rubric_data *d = job->rubric.data;
    uint32_t of_kind[3] = {0}, judges = job->given->plan.grid.judges;
    char n[VQ_FMT_BYTES];
    for (uint32_t i = 0; i < c->criteria_count; i++) {
        of_kind[job->rubric.criteria[i].kind]++;
    }
    uint32_t single = of_kind[VQ_RATING_LIKERT] + of_kind[VQ_RATING_BINARY];
    uint32_t pairs = of_kind[VQ_RATING_PAIRWISE];
    fprintf(stderr, "  %-10s %9s calls: %u row%s", "rating",
            vq_fmt_count(calls_of(f, VQ_ROLE_JUDGE), n), d->rows_count,
            vq_fmt_plural(d->rows_count));
    if (single > 0) {
        fprintf(stderr, " x %u output%s x %u criteri%s", d->outputs_count,
                vq_fmt_plural(d->outputs_count), single, vq_fmt_form(single, "on", "a"));
    }
    if (pairs > 0) {
        fprintf(stderr, "%s x %u pairwise criteri%s%s", single > 0 ? ", rows" : "", pairs,
                vq_fmt_form(pairs, "on", "a"),
                c->rating.positions == VQ_POSITIONS_BOTH ? " x 2 orders" : "");
    }
    fprintf(stderr, "; %u judge%s", judges, vq_fmt_plural(judges));
    if (c->rating.repeats > 1) {
        fprintf(stderr, ", %u times each", c->rating.repeats);
    }
    fprintf(stderr, "\n");
}

/* Planned calls: what is asked of the subjects once, what of each judge. */
static void say_evaluation(const struct vq_job *job)
{
    struct vq_persona_counts n;
    char calls[VQ_FMT_BYTES], shared[VQ_FMT_BYTES];
    uint32_t judges = job->cast[VQ_ROLE_JUDGE].count;
    vq_persona_count(job->persona.plan, &n);
    uint64_t rated = n.rated.planned * judges, same = n.generated.shared + n.rated.shared * judges;
    fprintf(stderr, "At most %s calls, %s of them the same as others and answered by the store:\n",
            vq_fmt_count(n.generated.planned + rated, calls), vq_fmt_count(same, shared));
    fprintf(stderr, "  %-10s %9s calls: %u dialogues of %u turns\n", "dialogues",
            vq_fmt_count(n.turns.planned, calls), n.chains, n.depth);
    fprintf(stderr, "  %-10s %9s calls: behind their beginnings\n", "probes",
            vq_fmt_count(n.generated.planned - n.turns.planned, calls));
    fprintf(stderr, "  %-10s %9s calls: %u judge%s\n", "rating", vq_fmt_count(rated, calls), judges,
            vq_fmt_plural(judges));
}

void vq_cli_say_estimate(const struct vq_job *job, const struct vq_forecast *f)
{
    if (job->persona.plan != NULL) {
        say_evaluation(job);
        return;
    }
    char calls[VQ_FMT_BYTES], in[VQ_FMT_BYTES], out[VQ_FMT_BYTES], usd[VQ_FMT_BYTES];
    fprintf(stderr, "At most %s calls, about %s tokens in and %s out",
            vq_fmt_count((uint64_t)f->all.calls.most, calls),
            vq_fmt_count((uint64_t)f->all.tokens_in.expected, in),
            vq_fmt_count((uint64_t)f->all.tokens_out.expected, out));
    if (f->all.usd.expected > 0) {
        fprintf(stderr, ", about %s%s", vq_fmt_dollars(f->all.usd.expected, usd),
                f->all.priced ? "" : " for the models with a price");
    }
    fprintf(stderr, ":\n");
    if (job->dataset == NULL) {
        say_rating(job, f);
        return;
    }
    say_preferences(job, f);
    say_discovery(job, f);
    say_ranking(job, f);
    if (job->given->plan.swap == VQ_SWAP_LAZY) {
        fprintf(stderr, "Answers in the store and settled first orders make it fewer.\n");
    }
}
