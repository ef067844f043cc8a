/* `vibeq check CONFIG`: one real call per judge, shown as a whole: the prompt, the answer, the
 * verdict. Nothing of it is stored, so a run makes the call again. Not its job: the call (a worker
 * process, through ask_once.c). */
#include "cli/ask_once.h"
#include "cli/pick_prompt.h"
#include "cli/verbs.h"
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/judge/ending.h"
#include "common/judge/verdict.h"
#include "common/text/fmt.h"
#include "common/text/json.h"

#include <stdio.h>
#include <string.h>

#define JSON_BYTES_MAX ((size_t)128 << 20)

struct check_words {
    struct vq_pick_prompt_words pick; /* first: the offsets of the common options start here */
    bool json;
};

const struct vq_opt vq_check_opts[] = {
    VQ_PICK_PROMPT_OPTS,
    {"json", VQ_OPT_FLAG, offsetof(struct check_words, json), NULL, "as JSON"},
    {0},
};

/* VQ_OUTCOME_NONE: there is no answer to read. */
static enum vq_outcome verdict_of(const struct vq_job *job, const struct vq_once *o)
{
    if (o->end == NULL || strcmp(o->end, "answer") != 0) {
        return VQ_OUTCOME_NONE;
    }
    return vq_verdict_of(job->given->kind, vq_span_str(o->answer == NULL ? "" : o->answer),
                         vq_span_str(o->finish_reason == NULL ? "" : o->finish_reason), o->refusal);
}

/* Prints the reason why there is no text. */
static void put_why(const struct vq_once *o)
{
    bool has_error = o->error != NULL && o->error[0] != '\0';
    vq_cli_put_plain(vq_span_str(has_error ? o->error : "the answer is nothing but thinking"));
    printf("\n");
}

static void put_cut(const struct vq_once *o)
{
    struct vq_span word = vq_span_str(o->finish_reason == NULL ? "" : o->finish_reason);
    if (vq_ending_of(word, o->refusal) != VQ_ENDING_UNKNOWN) {
        printf("raise max_tokens of this judge\n");
        return;
    }
    printf("the server ended the answer with \"");
    vq_cli_put_plain(word);
    printf("\", which is no ordinary ending (docs/use/providers.md)\n");
}

/* Prints the meaning of the verdict for the two models. */
static void put_meaning(const struct vq_job *job, enum vq_outcome verdict, uint32_t sample,
                        unsigned order, const struct vq_once *o)
{
    const char *first = vq_job_model(job, job->given, sample, order);
    const char *second = vq_job_model(job, job->given, sample, 1 - order);
    bool rates = vq_stage_rates(job->given->kind);
    const char *is = rates ? "better" : "higher";
    bool again =
        rates ? job->config->rating.policy == VQ_RATING_STRICT : job->config->judging.repair;
    switch (verdict) {
    case VQ_OUTCOME_FIRST: printf(": %s, shown first, is %s\n", first, is); return;
    case VQ_OUTCOME_SECOND: printf(": %s, shown second, is %s\n", second, is); return;
    case VQ_OUTCOME_EQUAL:
    case VQ_OUTCOME_NA:
    case VQ_OUTCOME_UNSURE: printf(": neither is higher\n"); return;
    case VQ_OUTCOME_UNPARSEABLE:
        printf(": no %s%s\n", rates ? "rating" : "vote",
               !again  ? ""
               : rates ? "; a run would ask it once more"
                       : "; a run would ask it once more what it meant");
        return;
    case VQ_OUTCOME_EMPTY:
        printf(": no %s; ", rates ? "rating" : "vote");
        put_why(o);
        return;
    case VQ_OUTCOME_TRUNCATED:
        printf(": no %s; ", rates ? "rating" : "vote");
        put_cut(o);
        return;
    case VQ_OUTCOME_RATED_1:
    case VQ_OUTCOME_RATED_2:
    case VQ_OUTCOME_RATED_3:
    case VQ_OUTCOME_RATED_4:
    case VQ_OUTCOME_RATED_5:
    case VQ_OUTCOME_YES:
    case VQ_OUTCOME_NO: printf("\n"); return;
    case VQ_OUTCOME_NONE:
    case VQ_OUTCOME_TEXT:
    case VQ_OUTCOME_REFUSED:
    case VQ_OUTCOME_NOT_NEEDED:
    case VQ_OUTCOME_BLOCKED:
    case VQ_OUTCOME_ERROR:
    case VQ_OUTCOME_TOO_LONG:
    case VQ_OUTCOME_UNAVAILABLE:
    case VQ_OUTCOME_BAD_RESPONSE:
    case VQ_OUTCOME_WORKER_LOST: break;
    }
    printf(": no vote\n");
}

static void put_tokens(const struct vq_conf_judge *judge, const struct vq_once *o)
{
    char in[VQ_FMT_BYTES], out[VQ_FMT_BYTES], usd[VQ_FMT_BYTES];
    if (o->tokens_in < 0 && o->tokens_out < 0) {
        printf("tokens   not reported\n");
        return;
    }
    uint64_t n_in = o->tokens_in < 0 ? 0 : (uint64_t)o->tokens_in;
    uint64_t n_out = o->tokens_out < 0 ? 0 : (uint64_t)o->tokens_out;
    printf("tokens   %s in, %s out", vq_fmt_count(n_in, in), vq_fmt_count(n_out, out));
    if (judge->limits.price_input_usd >= 0) {
        double cost = ((double)n_in * judge->limits.price_input_usd +
                       (double)n_out * judge->limits.price_output_usd) /
                      1e6;
        printf(", %s", vq_fmt_dollars(cost, usd));
    }
    printf("\n");
}

static void put_answer(const char *answer)
{
    printf("answer   ");
    for (const char *line = answer;; line++) {
        size_t bytes = strcspn(line, "\n");
        vq_cli_put_plain(vq_span(line, bytes));
        line += bytes;
        if (*line == '\0') {
            break;
        }
        printf("\n         ");
    }
    printf("\n");
}

static void put_judge(const struct vq_job *job, const struct vq_picked_prompt *picked, uint32_t i,
                      const struct vq_once *o)
{
    const struct vq_conf_judge *judge = &job->config->judges[i];
    printf("\n=== judge %s\n", judge->name);
    printf("model    %s at %s", judge->model,
           judge->base_url == NULL ? "the built-in server" : judge->base_url);
    if (o->model != NULL && strcmp(o->model, judge->model) != 0) {
        printf(", which calls it %s", o->model);
    }
    printf("\n");
    enum vq_outcome verdict = verdict_of(job, o);
    if (verdict != VQ_OUTCOME_NONE) {
        put_answer(o->answer == NULL ? "" : o->answer);
        printf("verdict  %s", vq_outcome_name(verdict));
        put_meaning(job, verdict, picked->sample, picked->order, o);
        put_tokens(judge, o);
    } else {
        printf("failed   %s%s%s\n", o->end == NULL ? "no answer came from it" : o->end,
               o->error == NULL ? "" : ": ", o->error == NULL ? "" : o->error);
    }
    char took[VQ_FMT_BYTES];
    if (o->latency_ms > 0 || o->http_status > 0) {
        printf("latency  %s%s", o->latency_ms < 1 ? "below " : "",
               vq_fmt_duration((o->latency_ms < 1 ? 1 : o->latency_ms) * VQ_NS_PER_MS, took));
        if (o->http_status > 0) {
            printf(", HTTP status %lld", (long long)o->http_status);
        }
        printf("\n");
    }
}

static void put_json_judge(struct vq_json *j, const struct vq_job *job, uint32_t i,
                           const struct vq_once *o)
{
    enum vq_outcome verdict = verdict_of(job, o);
    vq_json_object(j);
    vq_json_put_str(j, "judge", job->given->cast->judges[i].name);
    vq_json_put_str(j, "end", o->end);
    vq_json_put_str(j, "verdict", verdict == VQ_OUTCOME_NONE ? NULL : vq_outcome_name(verdict));
    vq_json_put_str(j, "answer", o->answer);
    vq_json_put_str(j, "finish_reason", o->finish_reason);
    vq_json_put_str(j, "model", o->model);
    vq_json_put_known(j, "http_status", o->http_status >= 0, o->http_status);
    vq_json_put_known(j, "tokens_in", o->tokens_in >= 0, o->tokens_in);
    vq_json_put_known(j, "tokens_out", o->tokens_out >= 0, o->tokens_out);
    vq_json_put_known(j, "latency_ms", o->latency_ms >= 0, o->latency_ms);
    vq_json_put_str(j, "error", o->error);
    vq_json_object_end(j);
}

static enum vq_status put_json(const struct vq_job *job, const struct vq_picked_prompt *picked,
                               const struct vq_once *once, struct vq_error *err)
{
    struct vq_buf out, system, user;
    struct vq_json json, *j = &json;
    vq_buf_init(&out, JSON_BYTES_MAX);
    vq_buf_init(&system, VQ_RENDER_BYTES_MAX);
    vq_buf_init(&user, VQ_RENDER_BYTES_MAX);
    enum vq_status status =
        vq_request_render(&job->given->askers[picked->judge], &job->given->samples[picked->sample],
                          &job->given->axes[picked->vibe], picked->order, 0, &system, &user);
    vq_json_init(j, &out, 2);
    vq_json_object(j);
    int64_t record = vq_job_record(job, job->given, picked->sample);
    vq_json_put_known(j, "record", record >= 0, record);
    vq_json_put_str(j, vq_stage_rates(job->given->kind) ? "criterion" : "vibe",
                    job->given->axes[picked->vibe].name);
    const char *output = vq_job_output(job, job->given, picked->sample);
    vq_json_put_str(j, "shown_first",
                    output != NULL ? output
                                   : vq_job_model(job, job->given, picked->sample, picked->order));
    vq_json_put_span(j, "system", vq_buf_span(&system));
    vq_json_put_span(j, "user", vq_buf_span(&user));
    vq_json_put_array(j, "judges");
    for (uint32_t i = 0; i < job->given->plan.grid.judges; i++) {
        if (once[i].wanted) {
            put_json_judge(j, job, i, &once[i]);
        }
    }
    vq_json_array_end(j);
    vq_json_object_end(j);
    vq_buf_putc(&out, '\n');
    if (status == VQ_OK) {
        status = vq_cli_print(&out, err);
    }
    vq_buf_free(&out);
    vq_buf_free(&system);
    vq_buf_free(&user);
    return status;
}

static enum vq_status put_all(const struct vq_job *job, const struct vq_picked_prompt *picked,
                              const struct vq_once *once)
{
    const char *output = vq_job_output(job, job->given, picked->sample);
    printf("record %lld, %s %s, %s shown%s\n",
           (long long)vq_job_record(job, job->given, picked->sample),
           vq_stage_rates(job->given->kind) ? "criterion" : "vibe",
           job->given->axes[picked->vibe].name,
           output != NULL ? output : vq_job_model(job, job->given, picked->sample, picked->order),
           output != NULL ? "" : " first");
    VQ_TRY(vq_pick_prompt_show(job, picked));
    for (uint32_t i = 0; i < job->given->plan.grid.judges; i++) {
        if (once[i].wanted) {
            put_judge(job, picked, i, &once[i]);
        }
    }
    return VQ_OK;
}

static enum vq_status check_job(const struct check_words *w, const struct vq_job *job,
                                bool *ret_all_voted, struct vq_error *err)
{
    struct vq_picked_prompt picked;
    VQ_TRY(vq_pick_prompt(job, &w->pick, &picked, err));
    uint32_t n = job->given->plan.grid.judges;
    struct vq_once *once;
    VQ_TRY(VQ_ALLOC(once, n));
    for (uint32_t i = 0; i < n; i++) {
        once[i].wanted = w->pick.judge == NULL || i == picked.judge;
    }
    struct vq_once_task task = {job->given, picked.sample, picked.vibe, picked.order};
    enum vq_status status = vq_ask_once(&task, once, err);
    if (status == VQ_OK) {
        status = w->json ? put_json(job, &picked, once, err) : put_all(job, &picked, once);
    }
    bool all = true;
    for (uint32_t i = 0; i < n; i++) {
        all = all && (!once[i].wanted || vq_outcome_is_good(verdict_of(job, &once[i])));
    }
    vq_once_free(once, n);
    vq_free(once);
    if (status == VQ_OK) {
        *ret_all_voted = all;
    }
    return status;
}

int vq_verb_check(int argc, char **argv)
{
    struct check_words w = {.json = false};
    struct vq_error err = {0};
    int words;
    if (vq_opts_parse(vq_check_opts, argc, argv, &w, &words, &err) != VQ_OK) {
        return vq_cli_usage("check", "%s", err.text);
    }
    if (words > 1) {
        return vq_cli_usage("check", "one configuration at a time");
    }
    struct vq_job *job = NULL;
    bool all_voted = false;
    enum vq_status status = vq_pick_prompt_job(words == 1 ? argv[0] : NULL, &w.pick, &job, &err);
    if (status == VQ_OK) {
        status = check_job(&w, job, &all_voted, &err);
    }
    vq_job_destroy(&job);
    if (status != VQ_OK) {
        return vq_cli_fail(status, &err);
    }
    return all_voted ? VQ_EXIT_DONE : VQ_EXIT_STOPPED;
}
