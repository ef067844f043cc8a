/* `vibeq plan`: the calls, price and duration of a run, and whether a budget and a deadline hold.
 * Sends nothing; opens an existing store for reading. Not its job: the figures
 * (methods/plan/forecast.c), and their form (plan_table.c, plan_json.c). */
#include "cli/plan_show.h"
#include "cli/run_words.h"
#include "common/base/alloc.h"
#include "common/text/when.h"
#include "coordinator/pools/deadline.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#define PLAN_BYTES_MAX ((size_t)64 << 20)

struct plan_words {
    struct vq_run_words run; /* first: its options are read into it */
    const char *deadline, *budget;
};

#define AT(field)  offsetof(struct plan_words, field)
#define RUN(field) offsetof(struct plan_words, run.field)

const struct vq_opt vq_plan_opts[] = {
    {"deadline", VQ_OPT_TEXT, AT(deadline), "TIME",
     "when the run must be finished: 07:00 (tomorrow if past), or 2026-11-29T07:00"},
    {"budget", VQ_OPT_TEXT, AT(budget), "USD", "the largest cost; default budget.usd"},
    {"set", VQ_OPT_LIST, RUN(set), "A.B=VALUE",
     "overrides a key of the configuration (repeatable)"},
    {"models", VQ_OPT_SPLIT, RUN(models), "A,B", "the two columns with the models' outputs"},
    {"model", VQ_OPT_LIST, RUN(models), "A",
     "one of the two, for names with commas (give it twice)"},
    {"judge", VQ_OPT_LIST, RUN(judges), "MODEL[,..]", "the judges, as for vibeq run"},
    {"prompt", VQ_OPT_TEXT, RUN(prompt), "COLUMN", "prompt column; default question, then prompt"},
    {"preference", VQ_OPT_TEXT, RUN(preference), "COLUMN",
     "the column that names the preferred model"},
    {"criteria", VQ_OPT_SPLIT, RUN(criteria), "NAME[,..]",
     "rate the outputs by built-in criteria (method: judge)"},
    {"discover", VQ_OPT_FLAG, RUN(discover), NULL, "find the vibes in the data (method: discover)"},
    {"proposer", VQ_OPT_TEXT, RUN(proposer), "MODEL", "the model that proposes vibes"},
    {"base-url", VQ_OPT_TEXT, RUN(base_url), "URL",
     "OpenAI-compatible endpoint; default OPENAI_BASE_URL"},
    {"key", VQ_OPT_TEXT, RUN(key), "env:NAME",
     "or file:PATH, as for vibeq run; vibeq plan does not read it"},
    {"limit", VQ_OPT_COUNT, RUN(limit), "N", "a seeded sample of N records"},
    {"runs", VQ_OPT_TEXT, RUN(runs), "DIR", "runs folder; default VIBEQ_RUNS, then ./runs"},
    {"json", VQ_OPT_FLAG, RUN(json), NULL, "JSON on standard output instead of the table"},
    {0},
};

/* ---- words ---- */

/* `from`: the option or key of the text. */
static enum vq_status read_deadline(const char *text, const char *from, struct vq_plan_shown *plan,
                                    struct vq_error *err)
{
    struct vq_error why = {.text = ""};
    plan->has_deadline = true;
    enum vq_status status = vq_when_parse_ahead(text, plan->now, &plan->deadline, &why);
    return status == VQ_OK ? VQ_OK : vq_fail(err, status, "%s: %s", from, why.text);
}

static enum vq_status read_budget(const char *text, struct vq_plan_shown *plan,
                                  struct vq_error *err)
{
    char *end;
    plan->budget_usd = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(plan->budget_usd) || plan->budget_usd < 0) {
        return vq_fail(err, VQ_INVALID, "--budget: '%.20s' is no number of dollars", text);
    }
    plan->has_budget = true;
    return VQ_OK;
}

/* ---- the plan ---- */

enum vq_status vq_cli_open_store(const char *runs, struct vq_calls **ret_calls,
                                 struct vq_error *err)
{
    char *runs_dir;
    struct vq_error none;
    enum vq_status status = vq_runs_dir_find(runs, &runs_dir, &none);
    if (status == VQ_OK) {
        struct vq_calls_options options = {.read_only = true};
        status = vq_calls_open(runs_dir, &options, ret_calls, &none);
        vq_free(runs_dir);
    }
    return status == VQ_OK || status == VQ_NOT_FOUND ? VQ_OK
                                                     : vq_fail(err, status, "%s", none.text);
}

/* Without a runs folder, no batch is recorded. */
static enum vq_status batch_times(const char *runs, const struct vq_job *job,
                                  struct vq_forecast *forecast)
{
    char *runs_dir;
    struct vq_error none;
    enum vq_status status = vq_runs_dir_find(runs, &runs_dir, &none);
    if (status == VQ_OK) {
        status = vq_forecast_batch_times(runs_dir, job, forecast);
        vq_free(runs_dir);
    }
    return status == VQ_NOMEM ? VQ_NOMEM : VQ_OK;
}

static int show(const struct vq_plan_shown *plan, bool json)
{
    struct vq_buf out;
    struct vq_terminal terminal;
    vq_buf_init(&out, PLAN_BYTES_MAX);
    vq_terminal_of(STDOUT_FILENO, &terminal);
    if (json) {
        vq_plan_json(plan, &out);
    } else {
        vq_plan_table(plan, &terminal, &out);
    }
    struct vq_error err = {0};
    enum vq_status status = vq_cli_print(&out, &err);
    if (status != VQ_OK) {
        return vq_cli_fail(status, &err);
    }
    bool money = !plan->has_budget || plan->budget.verdict <= VQ_HOLDS_LIKELY;
    bool time_holds = !plan->has_deadline || plan->by_deadline.verdict <= VQ_HOLDS_LIKELY;
    return money && time_holds ? VQ_EXIT_DONE : VQ_EXIT_NO;
}

time_t vq_plan_batches_until(const struct vq_plan_shown *plan)
{
    const struct vq_forecast_batches *b = &plan->batches;
    double need_s =
        VQ_DEADLINE_MARGIN_S + plan->forecast->seconds.expected / VQ_DEADLINE_RATE_SHARE;
    double slack_s = difftime(plan->deadline, plan->now) - need_s;
    bool any = plan->has_deadline && b->possible && b->configured && b->all.priced && slack_s > 0;
    return any ? plan->now + (time_t)slack_s : 0;
}

static int plan_job(const struct plan_words *w, const struct vq_job *job,
                    struct vq_plan_shown *plan)
{
    struct vq_error err = {0};
    struct vq_calls *calls = NULL;
    struct vq_forecast *forecast = NULL;
    enum vq_status status = vq_cli_open_store(w->run.runs, &calls, &err);
    if (status == VQ_OK) {
        status = vq_forecast_make(job, calls, &forecast, &err);
    }
    if (status == VQ_OK) {
        status = batch_times(w->run.runs, job, forecast);
    }
    if (status == VQ_OK) {
        status = vq_forecast_as_batches(forecast, &plan->batches);
    }
    plan->has_store = calls != NULL;
    vq_calls_close(&calls);
    if (status != VQ_OK) {
        vq_forecast_destroy(&forecast);
        return vq_cli_fail(status, &err);
    }
    if (!plan->has_budget && job->config->budget_usd > 0) {
        plan->has_budget = true;
        plan->budget_usd = job->config->budget_usd;
    }
    plan->job = job;
    plan->forecast = forecast;
    if (plan->has_budget) {
        plan->budget = vq_forecast_budget(forecast, plan->budget_usd);
    }
    if (plan->has_deadline) {
        plan->by_deadline = vq_forecast_deadline(forecast, difftime(plan->deadline, plan->now));
    }
    int code = show(plan, w->run.json);
    vq_forecast_destroy(&forecast);
    return code;
}

int vq_verb_plan(int argc, char **argv)
{
    struct plan_words w = {.deadline = NULL};
    struct vq_plan_shown plan = {.now = time(NULL)};
    struct vq_error err = {0};
    int words;
    int code = vq_run_words_parse("plan", vq_plan_opts, argc, argv, &w.run, &words);
    if (code != VQ_EXIT_DONE) {
        return code;
    }
    if (words != 1) {
        return vq_cli_usage("plan", words == 0 ? "name a configuration or a data file"
                                               : "one configuration or data file at a time");
    }
    if ((w.deadline != NULL && read_deadline(w.deadline, "--deadline", &plan, &err) != VQ_OK) ||
        (w.budget != NULL && read_budget(w.budget, &plan, &err) != VQ_OK)) {
        return vq_cli_usage("plan", "%s", err.text);
    }
    struct vq_config *config;
    struct vq_job *job;
    enum vq_status status = vq_run_words_config(&w.run, argv[0], &config, &err);
    if (status == VQ_OK && !plan.has_deadline && config->deadline != NULL) {
        status = read_deadline(config->deadline, "deadline", &plan, &err);
        if (status != VQ_OK) {
            vq_config_destroy(&config);
        }
    }
    if (status == VQ_OK) {
        status = vq_job_create(config, NULL, &job, &err);
    }
    if (status != VQ_OK) {
        return vq_cli_fail(status, &err);
    }
    code = plan_job(&w, job, &plan);
    vq_job_destroy(&job);
    return code;
}
