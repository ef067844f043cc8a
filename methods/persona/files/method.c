/* The registration of the persona method: its job, script and results, and the lines that the
 * terminal shows before anything is sent. Not its job: reading its files (job.c), results
 * (results.c). */
#include "methods/files/method_type.h"

#include "common/base/alloc.h"
#include "common/text/fmt.h"
#include "methods/persona/files/job.h"
#include "methods/persona/script.h"

/* ---- the job ---- */

const struct vq_persona_job *vq_persona_job_of(const struct vq_job *job)
{
    return job->method == &vq_persona_method ? job->own : NULL;
}

static enum vq_status load(struct vq_job *job, const struct vq_run_dir *run, struct vq_error *err)
{
    struct vq_persona_job *own;
    VQ_TRY(VQ_ALLOC(own, 1));
    job->own = own;
    return vq_persona_job_load(own, job->config, run, err);
}

static enum vq_status keep(const struct vq_job *job, const struct vq_run_dir *run,
                           struct vq_error *err)
{
    return vq_persona_job_keep(vq_persona_job_of(job), run, err);
}

static void unload(struct vq_job *job)
{
    vq_persona_job_free(job->own);
}

/* ---- the script ---- */

static enum vq_status open_script(const struct vq_job *job, void **ret_state,
                                  struct vq_script *ret_script, struct vq_error *err)
{
    struct vq_persona *persona;
    VQ_TRY(vq_persona_job_make(vq_persona_job_of(job), job->config,
                               job->templates[VQ_TEMPLATE_PERSONA], job->cast[VQ_ROLE_JUDGE].count,
                               &persona, err));
    *ret_state = persona;
    *ret_script = vq_persona_script(persona);
    return VQ_OK;
}

static void close_script(void *state)
{
    struct vq_persona *persona = state;
    vq_persona_destroy(&persona);
}

static uint32_t stages(const struct vq_job *job, const void *state,
                       const struct vq_forecast_seen *seen, struct vq_forecast_stage *ret_stages)
{
    (void)job;
    (void)seen;
    return vq_persona_forecast(vq_persona_input(state), ret_stages);
}

/* ---- what the terminal shows ---- */

static void show_size(const struct vq_job *job, struct vq_buf *out)
{
    const struct vq_persona_plan *plan = vq_persona_job_of(job)->plan;
    vq_buf_printf(out, "%u dialogue%s of %u turn%s", plan->chains_count,
                  vq_fmt_plural(plan->chains_count), plan->design.rounds,
                  vq_fmt_plural(plan->design.rounds));
}

static void show_size_json(const struct vq_job *job, struct vq_json *json)
{
    vq_json_put_u64(json, "dialogues", vq_persona_job_of(job)->plan->chains_count);
}

static void show_data(const struct vq_job *job, struct vq_buf *out)
{
    const struct vq_persona_job *p = vq_persona_job_of(job);
    const struct vq_persona_design *d = &p->plan->design;
    vq_buf_printf(out, "%s: %u persona%s%s, %u dialogue%s of %u rounds\n",
                  job->config->dialogues->personas, d->personas, vq_fmt_plural(d->personas),
                  d->baseline ? " and the baseline" : "", p->plan->chains_count,
                  vq_fmt_plural(p->plan->chains_count), d->rounds);
    for (uint32_t i = 0; i < d->sets_count; i++) {
        vq_buf_printf(out, "  %-28s %6u items, asked at %u points of a dialogue\n", p->set_names[i],
                      d->sets[i].items_count, d->checkpoints);
        if (p->bound[i].passed_over > 0) {
            vq_buf_printf(out, "  warning: %u items of %s name no persona of this run\n",
                          p->bound[i].passed_over, p->set_names[i]);
        }
    }
    if (p->human_passed_over > 0) {
        vq_buf_printf(out, "  warning: %zu lines of %s have no label, or of nothing here\n",
                      p->human_passed_over, job->config->dialogues->human);
    }
    if (p->measured_passed_over > 0) {
        vq_buf_printf(out, "  warning: %zu lines of %s belong to nothing here\n",
                      p->measured_passed_over, job->config->dialogues->measured);
    }
}

/* Shows the planned calls: those to the subjects once, then those to each judge. */
static void show_calls(const struct vq_job *job, const struct vq_forecast *f, struct vq_buf *out)
{
    (void)f;
    struct vq_persona_counts n;
    char calls[VQ_FMT_BYTES], shared[VQ_FMT_BYTES];
    uint32_t judges = job->cast[VQ_ROLE_JUDGE].count;
    vq_persona_count(vq_persona_job_of(job)->plan, &n);
    uint64_t rated = n.rated.planned * judges, same = n.generated.shared + n.rated.shared * judges;
    vq_buf_printf(out,
                  "At most %s calls, %s of them the same as others and answered by the store:\n",
                  vq_fmt_count(n.generated.planned + rated, calls), vq_fmt_count(same, shared));
    vq_buf_printf(out, "  %-10s %9s calls: %u dialogues of %u turns\n", "dialogues",
                  vq_fmt_count(n.turns.planned, calls), n.chains, n.depth);
    vq_buf_printf(out, "  %-10s %9s calls: after the recorded first turns\n", "probes",
                  vq_fmt_count(n.generated.planned - n.turns.planned, calls));
    vq_buf_printf(out, "  %-10s %9s calls: %u judge%s\n", "rating", vq_fmt_count(rated, calls),
                  judges, vq_fmt_plural(judges));
}

static const char *const tables[] = {"ratings", NULL};

const struct vq_method_type vq_persona_method = {
    .load = load,
    .keep = keep,
    .unload = unload,
    .open = open_script,
    .close = close_script,
    .results = vq_persona_results_write,
    .tables = tables,
    .stages = stages,
    .show_size = show_size,
    .show_size_json = show_size_json,
    .show_data = show_data,
    .show_calls = show_calls,
    .no_rows =
        "method: persona, which makes its own data; its dialogues are in dialogues.jsonl, its "
        "ratings in ratings.csv, its numbers in results.json"};
