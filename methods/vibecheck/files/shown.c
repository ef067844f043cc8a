/* The lines about a VibeCheck job that the terminal shows before anything is sent: the size of the
 * data, the steps that left rows out, the calls by their purpose. Not its job: the numbers
 * (methods/plan). */
#include "common/text/fmt.h"
#include "methods/stats/intervals/powered.h"
#include "methods/vibecheck/files/files.h"

#include <math.h>

/* Some audited rows are also escalated, and these do not improve an estimate. */
#define AUDITED_MIN (2 * VQ_POWERED_LABELLED_MIN)

/* In a cascade: the number of rows of a split that the second judge is asked for the audit. */
static uint32_t audited(const struct vq_job *job, uint32_t rows)
{
    return (uint32_t)lround(job->config->cascade->audit * rows);
}

/* ", audited per vibe about 7 and 7 (few for intervals: set a larger cascade.audit)" */
static void show_audit(const struct vq_job *job, struct vq_buf *out)
{
    const struct vq_dataset *d = job->dataset;
    if (job->config->cascade == NULL) {
        return;
    }
    uint32_t train = audited(job, d->train_count), test = audited(job, d->test_count);
    vq_buf_printf(out, ", audited per vibe about %u and %u", train, test);
    if (train < AUDITED_MIN || (d->test_count > 0 && test < AUDITED_MIN)) {
        vq_buf_puts(out, " (few for intervals: set a larger cascade.audit)");
    }
}

void vq_vibecheck_show_size(const struct vq_job *job, struct vq_buf *out)
{
    const struct vq_dataset *d = job->dataset;
    vq_buf_printf(out, "%u train row%s, %u test row%s", d->train_count,
                  vq_fmt_plural(d->train_count), d->test_count, vq_fmt_plural(d->test_count));
    show_audit(job, out);
}

void vq_vibecheck_show_size_json(const struct vq_job *job, struct vq_json *json)
{
    vq_json_put_u64(json, "rows_train", job->dataset->train_count);
    vq_json_put_u64(json, "rows_test", job->dataset->test_count);
    if (job->config->cascade != NULL) {
        vq_json_put_u64(json, "audited_train", audited(job, job->dataset->train_count));
        vq_json_put_u64(json, "audited_test", audited(job, job->dataset->test_count));
    }
}

void vq_vibecheck_show_data(const struct vq_job *job, struct vq_buf *out)
{
    const struct vq_dataset *d = job->dataset;
    char n[VQ_FMT_BYTES];
    uint64_t records = (uint64_t)d->records_read[0] + d->records_read[1];
    vq_buf_printf(out, "%s: %s record%s\n", job->config->data.path, vq_fmt_count(records, n),
                  vq_fmt_plural(records));
    for (uint32_t i = 0; i < d->steps_count; i++) {
        const struct vq_dataset_step *s = &d->steps[i];
        vq_buf_printf(out, "  %-28s %6u -> %u%s%s\n", s->name, s->before, s->after,
                      s->note[0] == '\0' ? "" : "  ", s->note);
    }
    for (uint32_t i = 0; i < d->warnings_count; i++) {
        vq_buf_printf(out, "  warning: %s\n", d->warnings[i]);
    }
}

static const char *orders(const struct vq_job *job)
{
    return job->given->plan.swap == VQ_SWAP_NONE ? "" : " x 2 orders";
}

/* "discovery      29 calls: 4 of the proposer, 21 of the reducer, 4 of the embedder" */
static void show_discovery(const struct vq_job *job, const struct vq_forecast *f,
                           struct vq_buf *out)
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
        calls += vq_forecast_calls_of(f, roles[i].role);
    }
    if (calls == 0) {
        return;
    }
    vq_buf_printf(out, "  %-10s %9s calls:", "discovery", vq_fmt_count(calls, n));
    const char *before = " ";
    for (size_t i = 0; i < VQ_COUNT(roles); i++) {
        if (vq_forecast_calls_of(f, roles[i].role) > 0) {
            vq_buf_printf(out, "%s%s to the %s", before,
                          vq_fmt_count(vq_forecast_calls_of(f, roles[i].role), n), roles[i].name);
            before = ", ";
        }
    }
    const struct vq_conf_vibecheck *v = &job->config->vibecheck;
    uint32_t train = job->dataset->train_count, rows = v->d < train ? v->d : train;
    vq_buf_printf(out, "; up to %u iteration%s of %u row%s\n", v->iterations,
                  vq_fmt_plural(v->iterations), rows, vq_fmt_plural(rows));
}

static void show_preferences(const struct vq_job *job, const struct vq_forecast *f,
                             struct vq_buf *out)
{
    char n[VQ_FMT_BYTES];
    if (vq_forecast_calls_of(f, VQ_ROLE_PREFERENCE_JUDGE) > 0) {
        uint32_t judges = job->cast[VQ_ROLE_PREFERENCE_JUDGE].count;
        vq_buf_printf(out, "  %-10s %9s calls: %u row%s x %u judge%s x 2 orders\n", "labels",
                      vq_fmt_count(vq_forecast_calls_of(f, VQ_ROLE_PREFERENCE_JUDGE), n),
                      job->samples_count, vq_fmt_plural(job->samples_count), judges,
                      vq_fmt_plural(judges));
    }
}

static void show_ranking(const struct vq_job *job, const struct vq_forecast *f, struct vq_buf *out)
{
    const struct vq_conf_vibecheck *v = &job->config->vibecheck;
    const struct vq_grid *g = &job->given->plan.grid;
    char n[VQ_FMT_BYTES];
    vq_buf_printf(out, "  %-10s %9s calls: ", "ranking",
                  vq_fmt_count(vq_forecast_calls_of(f, VQ_ROLE_JUDGE), n));
    if (job->config->method != VQ_METHOD_DISCOVER) {
        vq_buf_printf(out, "%u row%s x %u vibe%s", g->samples, vq_fmt_plural(g->samples), g->vibes,
                      vq_fmt_plural(g->vibes));
    } else {
        uint32_t train = job->dataset->train_count;
        uint32_t most = (v->num_eval_vibes == 0 ? v->k : v->num_eval_vibes) * v->iterations;
        uint32_t final =
            v->num_final_vibes == 0 || v->num_final_vibes > most ? most : v->num_final_vibes;
        vq_buf_printf(out, "%u train rows x %u vibes, %u test rows x %u%s", train, most,
                      job->samples_count - train, final, v->compare_presets ? ", the presets" : "");
    }
    vq_buf_printf(out, "; %u judge%s%s", g->judges, vq_fmt_plural(g->judges), orders(job));
    uint32_t a_call = job->config->judging.vibes_per_call;
    if (a_call > 1) {
        vq_buf_printf(out, ", %u vibes per call", a_call);
    }
    if (job->config->cascade != NULL) {
        vq_buf_puts(out, ", the second judge where it is needed");
        show_audit(job, out);
    }
    vq_buf_putc(out, '\n');
}

void vq_vibecheck_show_calls(const struct vq_job *job, const struct vq_forecast *f,
                             struct vq_buf *out)
{
    vq_forecast_show_total(f, out);
    show_preferences(job, f, out);
    show_discovery(job, f, out);
    show_ranking(job, f, out);
    if (job->given->plan.swap == VQ_SWAP_LAZY) {
        vq_buf_puts(out, "Answers in the store and settled first orders make it fewer.\n");
    }
}
