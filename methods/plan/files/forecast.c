/* Walks through the method as far as its questions are known, and makes each stage lines of a
 * forecast; then adds lines for the stages that may follow. A stage that waits for answers ends the
 * walk, unless the next stage does not depend on these answers. For example, a ranking does not
 * depend on preference labels, and the later parts of a ranking in joint calls do not depend on the
 * earlier ones.
 *
 * Reads the store, writes nothing. Not its job: arithmetic (methods/plan/forecast.c). */
#include "methods/plan/files/forecast.h"

#include "common/base/alloc.h"
#include "methods/files/method_script.h"
#include "methods/files/method_type.h"
#include "methods/grid/answers.h"
#include "methods/plan/files/parts.h"
#include "methods/stats/stats.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINES_MAX         ((size_t)1 << 20)
#define ITERATIONS_MAX    32u
#define REPAIR_TOKENS     20.0
#define AXIS_BYTES        150.0
#define LIST_PROMPT_BYTES 1200.0 /* the fixed text around a list */
#define BATCH_ROW_BYTES   6000.0 /* limit of a row's text, as the proposer sees it */
#define EXAMPLE_BYTES     1000.0
#define EXAMPLES          50.0
#define BYTES_A_TOKEN     VQ_ASSUMED_BYTES_A_TOKEN

static const struct vq_id no_run;

struct walk {
    const struct vq_job *job;
    struct vq_calls *calls;
    struct vq_forecast *f;
    size_t lines_cap;
    struct vq_learning *learning;
    struct vq_script script;
    struct vq_method_script method;
    struct vq_forecast_seen seen;
    uint32_t evaluated[ITERATIONS_MAX]; /* memory of `seen.evaluated` */
    struct vq_forecast_stage *stages;   /* the stages that may follow */
    uint32_t stages_count;
    uint32_t stages_at; /* stages[0 .. stages_at) are known or skipped */
    uint32_t stage_no;  /* number of the next stage */
    /* mean bytes of a prompt to the proposer; 0: no such prompt is known */
    double batch_bytes;
    char open[VQ_STAGE_NAME_BYTES]; /* the last known stage that waits for answers; "" none */
    enum vq_stage_kind open_kind;
    struct vq_error *err;
};

/* ---- lines ---- */

static enum vq_status new_line(struct walk *w, const char *stage, struct vq_learn_of of,
                               struct vq_forecast_line **ret_line)
{
    void *lines = w->f->lines;
    VQ_TRY(vq_grow(&lines, &w->lines_cap, w->f->lines_count + 1u, sizeof(*w->f->lines), LINES_MAX));
    w->f->lines = lines;
    struct vq_forecast_line *l = &w->f->lines[w->f->lines_count++];
    const struct vq_role_models *cast = &w->job->cast[of.role];
    uint32_t pools_count;
    *l = (struct vq_forecast_line){.stage_no = w->stage_no,
                                   .kind = of.kind,
                                   .role = of.role,
                                   .model = of.model,
                                   .judge = cast->judges[of.model].name,
                                   .called = cast->judges[of.model].model,
                                   .pools =
                                       vq_forecast_serving(w->job, of.role, of.model, &pools_count),
                                   .cached_share = vq_learn_cached(w->learning, of),
                                   .written_share = vq_learn_written(w->learning, of)};
    l->pools_count = pools_count;
    (void)snprintf(l->stage, sizeof(l->stage), "%s", stage);
    *ret_line = l;
    return VQ_OK;
}

/* Tokens and latency of a line's calls. `heard`: tokens per call of earlier answers that do not
 * exist yet; `items`: verdicts per answer. */
static void fill_tokens(struct walk *w, struct vq_forecast_line *l, struct vq_range bytes,
                        struct vq_range heard, double items)
{
    struct vq_learn_of of = {l->role, l->model, l->kind};
    if (l->calls.most + l->repairs.most <= 0) { /* no calls, so no assumption is needed */
        return;
    }
    struct vq_range ratio = vq_learn_tokens_a_byte(w->learning, of);
    l->in_each = vq_range_add(vq_range_mul(bytes, ratio), heard);
    l->out_each = vq_learn_output(w->learning, of, items);
    l->latency_s = vq_learn_latency_s(w->learning, of, l->out_each);
    double most = l->out_each.most; /* a repair asks only for the verdict */
    l->repair_out_each = (struct vq_range){fmin(5, most), fmin(REPAIR_TOKENS, most), most};
    const struct vq_template *repair = w->job->templates[VQ_TEMPLATE_REPAIR];
    if (repair != NULL) {
        double fixed = (double)vq_template_text(repair).bytes;
        struct vq_range shown =
            vq_range_add(vq_range_of(fixed), vq_range_scale(l->out_each, BYTES_A_TOKEN));
        l->repair_in_each = vq_range_mul(shown, ratio);
    }
}

/* The repairs of `calls` calls. Only a verdict is repaired, at most once per call. */
static struct vq_range repairs_of(struct walk *w, const struct vq_forecast_line *l,
                                  struct vq_range calls)
{
    bool verdict = l->kind == VQ_STAGE_RANK || l->kind == VQ_STAGE_PREFER;
    if (!verdict || w->job->templates[VQ_TEMPLATE_REPAIR] == NULL || calls.most <= 0) {
        return (struct vq_range){0};
    }
    return vq_range_mul(
        calls, vq_learn_repaired(w->learning, (struct vq_learn_of){l->role, l->model, l->kind}));
}

/* ---- known stages ---- */

static enum vq_status known_bytes(const struct vq_known_stage *known, uint32_t judge, double maybe,
                                  struct vq_range *ret_bytes)
{
    const struct vq_grid *g = &known->asking->plan.grid;
    float *weights;
    VQ_TRY(VQ_ALLOC(weights, g->samples));
    for (uint32_t i = 0; i < g->samples; i++) {
        size_t shard = (size_t)i * g->judges + judge;
        weights[i] = (float)(known->certain[shard] + maybe * known->maybe[shard]);
    }
    double bytes = 0, error = 0;
    enum vq_status status = vq_prompt_bytes(known->asking, judge, weights, &bytes, &error);
    vq_free(weights);
    *ret_bytes = (struct vq_range){fmax(0, bytes - 2 * error), bytes, bytes + 2 * error};
    return status;
}

/* Verdicts per call: several in a joint call, else 1. */
static double items_of(const struct walk *w, enum vq_stage_kind kind, enum vq_role role)
{
    uint32_t a_call = w->job->config->judging.vibes_per_call;
    uint32_t axes = w->job->given == NULL ? 0 : w->job->given->plan.grid.vibes;
    bool joint = kind == VQ_STAGE_TEXT && role == VQ_ROLE_JUDGE;
    return !joint ? 1 : axes < a_call ? axes : a_call;
}

/* The most turns that one dialogue still needs; they are sent one after the other. */
static uint32_t open_turns(const struct vq_known_stage *known, uint32_t judge)
{
    const struct vq_grid *g = &known->asking->plan.grid;
    uint32_t most = 0;
    for (uint32_t i = 0; vq_stage_chains(known->asking->kind) && i < g->samples; i++) {
        uint32_t open = known->certain[(size_t)i * g->judges + judge];
        most = open > most ? open : most;
    }
    return most;
}

static enum vq_status known_line(struct walk *w, const struct vq_stage *stage,
                                 const struct vq_known_stage *known, uint32_t judge)
{
    struct vq_learn_of of = {stage->role, known->asking->first_model + judge, stage->kind};
    const struct vq_known_judge *k = &known->judges[judge];
    struct vq_forecast_line *l;
    VQ_TRY(new_line(w, stage->name, of, &l));
    double settled = k->maybe == 0 ? 0 : vq_learn_settled(w->learning, of);
    l->settles_known = vq_learn_settled_by_run(w->learning, of);
    double certain = (double)k->certain, maybe = (double)k->maybe, saved = (double)k->saved;
    l->known = true;
    l->turns = open_turns(known, judge);
    l->planned = vq_range_of((double)k->planned);
    l->from_store = (double)k->from_store;
    l->calls = (struct vq_range){certain, certain + maybe * (1 - settled), certain + maybe};
    l->saved = (struct vq_range){saved, saved + maybe * settled, saved + maybe};
    double texts = (double)k->repairs_texts;
    struct vq_range unread = {texts, texts, (double)k->repairs};
    l->repairs = vq_range_add(unread, repairs_of(w, l, l->calls));
    struct vq_range bytes, heard = {0};
    if (!vq_stage_talks(stage->kind)) {
        VQ_TRY(known_bytes(known, judge, 1 - settled, &bytes));
    } else if (certain > 0) {
        bytes = vq_range_of(k->talk_bytes / certain);
        heard = vq_range_scale(vq_learn_output(w->learning, of, 1), k->unheard / certain);
    } else {
        bytes = vq_range_of(0);
    }
    fill_tokens(w, l, bytes, heard, items_of(w, stage->kind, stage->role));
    bool fewer = w->open[0] != '\0' && w->open_kind == VQ_STAGE_PREFER &&
                 w->job->config->data.ties == VQ_TIES_DROP_ALL;
    if (fewer) { /* rows that are judged ties will not be asked */
        l->planned.least = l->from_store;
        l->calls.least = l->saved.least = l->repairs.least = 0;
        w->learning->assumed |= VQ_ASSUMED_TIES;
    }
    return VQ_OK;
}

/* The number in a stage's name: its iteration. 0: none. */
static uint32_t iteration_of(const char *name)
{
    const char *at = name;
    while (*at != '\0' && !isdigit((unsigned char)*at)) {
        at++;
    }
    return (uint32_t)strtoul(at, NULL, 10);
}

/* Information of a known stage about the later ones. */
static void note_stage(struct walk *w, const struct vq_stage *stage)
{
    uint32_t iteration = iteration_of(stage->name);
    if (iteration > w->seen.iteration) {
        w->seen.iteration = iteration;
    }
    bool ranks = strncmp(stage->name, "rank ", 5) == 0 && stage->kind == VQ_STAGE_RANK &&
                 strstr(stage->name, "one by one") == NULL;
    if (ranks && iteration > 0 && iteration <= ITERATIONS_MAX &&
        iteration > w->seen.evaluated_count) {
        w->evaluated[iteration - 1] = stage->axes_count;
        w->seen.evaluated_count = iteration;
    }
    bool batches = stage->kind == VQ_STAGE_TEXT && stage->role == VQ_ROLE_PROPOSER &&
                   w->batch_bytes <= 0 && stage->prompts_count > 0;
    for (uint32_t i = 0; batches && i < stage->prompts_count; i++) {
        const struct vq_stage_prompt *p = &stage->prompts[i];
        w->batch_bytes += (double)(p->system.bytes + p->user.bytes) / stage->prompts_count;
    }
}

/* Hands the script missing answers, so that it names the next part of a joint ranking. */
static enum vq_status take_nothing(struct walk *w, const struct vq_stage_grid *asking)
{
    size_t n = (size_t)asking->plan.grid.samples * asking->plan.grid.judges;
    struct vq_span *texts;
    VQ_TRY(VQ_ALLOC(texts, n));
    enum vq_status status = w->script.ops->take_texts(w->script.ctx, texts, n, w->err);
    vq_free(texts);
    return status;
}

static enum vq_status known_lines(struct walk *w, const struct vq_stage *stage,
                                  const struct vq_stage_grid *asking, struct vq_known_stage *known)
{
    struct vq_view *view = NULL;
    if (w->calls != NULL) {
        VQ_TRY(vq_view_begin(w->calls, &view, w->err));
    }
    enum vq_status status =
        vq_known_stage_read(asking, stage->role, view, w->learning, known, w->err);
    if (view != NULL) {
        vq_view_end(&view);
    }
    for (uint32_t j = 0; status == VQ_OK && j < asking->plan.grid.judges; j++) {
        bool asked = stage->cells == NULL || known->judges[j].planned > 0;
        status = asked ? known_line(w, stage, known, j) : VQ_OK;
    }
    w->stage_no++;
    return status;
}

/* Whether the walk can continue after this stage without its missing answers. */
static bool leads_on(const struct walk *w, const struct vq_stage *stage)
{
    const struct vq_method_type *method = w->job->method;
    if (stage->kind == VQ_STAGE_PREFER || vq_stage_rates(stage->kind)) {
        return true;
    }
    if (stage->kind == VQ_STAGE_TEXT) {
        return stage->role == VQ_ROLE_JUDGE;
    }
    return method->is_next_known != NULL && method->is_next_known(w->job, stage);
}

static enum vq_status walk_stage(struct walk *w, const struct vq_stage *stage, bool *ret_on)
{
    struct vq_stage_grid *asking;
    struct vq_known_stage known = {.asking = NULL};
    struct vq_grid_source source = vq_job_source(w->job);
    VQ_TRY(vq_stage_grid_create(&source, stage, &asking, w->err));
    note_stage(w, stage);
    enum vq_status status = known_lines(w, stage, asking, &known);
    *ret_on = status == VQ_OK && (known.open == 0 || leads_on(w, stage));
    if (status == VQ_OK && known.open > 0) {
        (void)snprintf(w->open, sizeof(w->open), "%s", stage->name);
        w->open_kind = stage->kind;
    }
    bool verdicts = vq_stage_shows_outputs(stage->kind);
    if (*ret_on && w->calls == NULL && !verdicts) {
        status = take_nothing(w, asking);
    } else if (*ret_on) {
        status = vq_answers_take(&w->script, asking, known.outcomes, w->calls, &no_run, w->err);
    }
    vq_known_stage_free(&known);
    vq_stage_grid_destroy(&asking);
    return status;
}

/* Whether the missing answers of earlier stages cannot change this stage. */
static bool is_certain(const struct walk *w, const struct vq_stage *stage)
{
    if (w->open[0] == '\0' || w->open_kind == VQ_STAGE_PREFER || vq_stage_rates(w->open_kind)) {
        return true;
    }
    if (w->open_kind == VQ_STAGE_TEXT) {
        return strcmp(stage->name, w->open) == 0;
    }
    return strcmp(stage->name, "presets") == 0;
}

static void pass_over(struct walk *w, const char *name)
{
    for (uint32_t i = w->stages_at; i < w->stages_count; i++) {
        if (strcmp(w->stages[i].name, name) == 0) {
            w->stages_at = i + 1;
            return;
        }
    }
}

static enum vq_status walk_known(struct walk *w, bool *ret_ended)
{
    bool on = true;
    while (on) {
        const struct vq_stage *stage;
        VQ_TRY(w->script.ops->next(w->script.ctx, &stage, w->err));
        *ret_ended = stage == NULL && w->open[0] == '\0';
        if (stage == NULL || !is_certain(w, stage)) {
            return VQ_OK;
        }
        pass_over(w, stage->name);
        VQ_TRY(walk_stage(w, stage, &on));
    }
    return VQ_OK;
}

/* ---- stages that are not known yet ---- */

static enum vq_status row_bytes(const struct walk *w, const struct vq_forecast_stage *s,
                                uint32_t model, struct vq_range *ret_bytes)
{
    uint32_t n = w->job->samples_count, train = w->job->dataset->train_count;
    uint32_t from = s->shape == VQ_SHAPE_TEST ? train : 0;
    uint32_t until = s->shape == VQ_SHAPE_TRAIN ? train : n;
    float *weights;
    VQ_TRY(VQ_ALLOC(weights, n));
    double texts = 0;
    for (uint32_t i = from; i < until; i++) {
        const struct vq_sample *sample = &w->job->samples[i];
        weights[i] = 1;
        texts += (double)(sample->prompt.bytes + sample->a.bytes + sample->b.bytes +
                          vq_sample_image_bytes(sample));
    }
    double bytes = 0, error = 0;
    enum vq_status status = vq_prompt_bytes(w->job->given, model, weights, &bytes, &error);
    vq_free(weights);
    if (s->kind == VQ_STAGE_TEXT && until > from) { /* several axes in one prompt */
        bytes = texts / (until - from) + s->items * AXIS_BYTES +
                (double)vq_template_text(w->job->templates[VQ_TEMPLATE_JUDGE_MANY]).bytes;
    }
    /* discovered vibes have other lengths */
    *ret_bytes = (struct vq_range){bytes * 0.95, bytes, bytes * 1.05};
    return status;
}

/* Mean bytes of a row, with each of its texts cut to `cut` bytes. */
static double mean_row_bytes(const struct walk *w, double cut)
{
    double total = 0;
    for (uint32_t i = 0; i < w->job->samples_count; i++) {
        const struct vq_sample *s = &w->job->samples[i];
        total += fmin(cut, (double)s->prompt.bytes) + fmin(cut, (double)s->a.bytes) +
                 fmin(cut, (double)s->b.bytes);
    }
    return w->job->samples_count > 0 ? total / w->job->samples_count : 0;
}

/* Bytes of the template around a criterion and the rated texts. */
static double rating_bytes(const struct vq_job *job, enum vq_stage_kind kind)
{
    struct vq_grid_source source = vq_job_source(job);
    return vq_stage_rates(kind)
               ? (double)vq_template_text(vq_stage_grid_template(&source, kind)).bytes
               : 0;
}

static enum vq_status size_of(struct walk *w, const struct vq_forecast_stage *s,
                              struct vq_learn_of of, struct vq_range *ret_bytes)
{
    double bytes = LIST_PROMPT_BYTES;
    switch (s->shape) {
    case VQ_SHAPE_TRAIN:
    case VQ_SHAPE_TEST:
    case VQ_SHAPE_ALL: return row_bytes(w, s, of.model, ret_bytes);
    case VQ_SHAPE_BATCH:
        bytes = w->batch_bytes > 0 ? w->batch_bytes
                                   : LIST_PROMPT_BYTES + w->job->config->vibecheck.batch *
                                                             mean_row_bytes(w, BATCH_ROW_BYTES);
        break;
    case VQ_SHAPE_ANSWER:
        bytes += vq_learn_output(w->learning, of, 1).expected * BYTES_A_TOKEN;
        break;
    case VQ_SHAPE_LIST: bytes += s->items * AXIS_BYTES; break;
    case VQ_SHAPE_BYTES:
        bytes = s->items + rating_bytes(w->job, s->kind);
        /* the size is a mean of many texts, so the range is narrow */
        *ret_bytes = (struct vq_range){bytes * 0.9, bytes, bytes * 1.1};
        return VQ_OK;
    case VQ_SHAPE_EXAMPLES: bytes += EXAMPLES * mean_row_bytes(w, EXAMPLE_BYTES); break;
    }
    *ret_bytes = (struct vq_range){bytes / 2, bytes, bytes * 2};
    return VQ_OK;
}

/* A second order is saved if the first order settles the score, unless an audit asks it anyway. */
static void fill_swaps(struct walk *w, const struct vq_forecast_stage *s, struct vq_learn_of of,
                       struct vq_forecast_line *l)
{
    const struct vq_conf_judging *judging = &w->job->config->judging;
    l->planned = vq_range_add(s->cells, s->swaps);
    l->calls = l->planned;
    if (!judging->lazy_swap || s->swaps.most <= 0) {
        return;
    }
    double audit = s->kind == VQ_STAGE_RANK ? judging->audit_share : 0;
    double saved = vq_learn_settled(w->learning, of) * (1 - audit);
    l->settles_known = vq_learn_settled_by_run(w->learning, of);
    l->calls.least = s->cells.least + s->swaps.least * audit;
    l->calls.expected = s->cells.expected + s->swaps.expected * (1 - saved);
    l->saved = (struct vq_range){0, s->swaps.expected * saved, s->swaps.most * (1 - audit)};
}

/* Tokens of subjects' answers in a prompt: of the model's own answers if a subject is asked after a
 * dialogue, of all subjects' answers (on average) if a judge is asked. */
static struct vq_range heard_of(struct walk *w, const struct vq_forecast_stage *s, uint32_t model)
{
    struct vq_range sum = {0};
    bool own = s->role == VQ_ROLE_SUBJECT;
    uint32_t subjects = w->job->cast[VQ_ROLE_SUBJECT].count;
    for (uint32_t i = 0; s->answers > 0 && i < subjects; i++) {
        struct vq_learn_of of = {VQ_ROLE_SUBJECT, i, VQ_STAGE_CHAT};
        if (!own || i == model) {
            sum = vq_range_add(sum, vq_learn_output(w->learning, of, 1));
        }
    }
    return vq_range_scale(sum, s->answers / (own || subjects == 0 ? 1 : subjects));
}

static enum vq_status unknown_stage(struct walk *w, const struct vq_forecast_stage *s)
{
    /* of several models, a stage asks one */
    bool one = s->role == VQ_ROLE_PROPOSER || s->alone > 0;
    uint32_t model = s->alone > 0 ? s->alone - 1 : s->proposer;
    uint32_t end = one ? model + 1 : w->job->cast[s->role].count;
    for (uint32_t m = one ? model : 0; m < end; m++) {
        struct vq_learn_of of = {s->role, m, s->kind};
        struct vq_forecast_line *l;
        VQ_TRY(new_line(w, s->name, of, &l));
        fill_swaps(w, s, of, l);
        l->repairs = vq_range_add(s->unread, repairs_of(w, l, l->calls));
        struct vq_range bytes;
        VQ_TRY(size_of(w, s, of, &bytes));
        fill_tokens(w, l, bytes, heard_of(w, s, m), s->kind == VQ_STAGE_TEXT ? s->items : 1);
        if (s->unread.most > 0) { /* a repeat asks the whole question again */
            l->repair_in_each = l->in_each;
            l->repair_out_each = l->out_each;
        }
    }
    w->stage_no++;
    return VQ_OK;
}

static void find_stages(struct walk *w)
{
    const struct vq_method_type *type = w->method.type;
    w->stages_count =
        type->stages == NULL ? 0 : type->stages(w->job, w->method.state, &w->seen, w->stages);
}

static enum vq_status walk_unknown(struct walk *w)
{
    const struct vq_config *c = w->job->config;
    find_stages(w); /* the known stages added information */
    for (uint32_t i = w->stages_at; i < w->stages_count; i++) {
        const struct vq_forecast_stage *s = &w->stages[i];
        if (s->cells.most + s->unread.most <= 0 || w->job->cast[s->role].count == 0) {
            continue;
        }
        if (c->judging.early_stop != VQ_EARLY_STOP_OFF && strstr(s->name, ", look ") != NULL) {
            w->learning->assumed |= VQ_ASSUMED_EARLY_STOP;
        }
        if (s->alone > 0 && !vq_range_is_exact(s->cells)) {
            w->learning->assumed |= VQ_ASSUMED_ESCALATED;
        }
        if (s->discovered && !vq_range_is_exact(s->cells)) {
            w->learning->assumed |= VQ_ASSUMED_DISCOVERY;
        }
        VQ_TRY(unknown_stage(w, s));
    }
    return VQ_OK;
}

/* ---- entry points ---- */

static enum vq_status walk_all(struct walk *w)
{
    bool ended = false;
    vq_stats_init();
    VQ_TRY(vq_method_script_open(w->job, &w->method, w->err));
    w->script = w->method.script;
    w->seen = (struct vq_forecast_seen){.iteration = 1, .evaluated = w->evaluated};
    find_stages(w);
    enum vq_status status = VQ_OK;
    if (w->calls != NULL) {
        status = vq_learn_ledger(w->learning, w->calls, w->err);
    }
    if (status == VQ_OK) {
        status = walk_known(w, &ended);
    }
    if (status == VQ_OK && !ended) {
        status = walk_unknown(w);
    }
    vq_method_script_close(&w->method);
    return status;
}

enum vq_status vq_forecast_make(const struct vq_job *job, struct vq_calls *calls,
                                struct vq_forecast **ret_forecast, struct vq_error *err)
{
    struct vq_forecast *f = vq_alloc(1, sizeof(*f));
    struct vq_learning *learning = vq_alloc(1, sizeof(*learning));
    struct vq_forecast_stage *stages = vq_alloc(VQ_FORECAST_STAGES_MAX, sizeof(*stages));
    enum vq_status status = VQ_NOMEM;
    if (f == NULL || learning == NULL || stages == NULL) {
        goto done;
    }
    status = vq_forecast_fill_limits(job, f);
    if (status == VQ_OK && job->method->power != NULL) {
        status = job->method->power(job, &f->power);
    }
    if (status != VQ_OK) {
        goto done;
    }
    learning->job = job;
    struct walk w = {
        .job = job, .calls = calls, .f = f, .learning = learning, .stages = stages, .err = err};
    status = walk_all(&w);
    if (status == VQ_OK) {
        f->assumed = learning->assumed;
        vq_forecast_figure(f);
    }
done:
    vq_free(learning);
    vq_free(stages);
    if (status != VQ_OK) {
        vq_forecast_destroy(&f);
        return status;
    }
    *ret_forecast = f;
    return VQ_OK;
}

void vq_forecast_destroy(struct vq_forecast **forecast)
{
    struct vq_forecast *f = *forecast;
    if (f == NULL) {
        return;
    }
    vq_free(f->lines);
    vq_free(f->limits);
    vq_free(f->pools);
    vq_free(f);
    *forecast = NULL;
}
