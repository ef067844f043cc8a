/* Computes values from the stored answers of a persona evaluation, numbers from the values, and
 * writes the files. Ratings are read again by the run's policy, so that one store always gives the
 * same bytes. Reads the store, never writes it. */
#include "common/base/alloc.h"
#include "common/base/arena.h"
#include "coordinator/store/calls/lookup.h"
#include "methods/files/files.h"
#include "methods/persona/files/job.h"
#include "methods/persona/files/probes.h"
#include "methods/persona/report/report.h"
#include "methods/report/html/html.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

struct rates {
    struct vq_arena arena;
    const struct vq_results *of;
    const struct vq_persona_job *job;
    const struct vq_persona *persona;
    struct vq_stage_grid **askings; /* one per part */
    struct vq_view *view;
    struct vq_probes *probes;
    double *values; /* [thing * judges + judge] */
    double *tokens; /* [chain * (rounds + 1) + round] */
    double *human;  /* [thing]; NULL: there are no labels by people */
    size_t human_unplaced;
    uint8_t *statuses;
    struct vq_persona_criterion *criteria;
    struct vq_report_judge *judges;
    uint32_t judges_count;
    uint64_t missing;
    struct vq_error *err;
};

struct report {
    struct vq_report_persona r;
    const struct vq_persona *persona;
};

static void json(const void *of, struct vq_buf *out)
{
    vq_report_persona_json(&((const struct report *)of)->r, out);
}

static void ratings(const void *of, uint32_t from, uint32_t until, struct vq_buf *out)
{
    vq_report_persona_ratings_csv(&((const struct report *)of)->r, from, until, out);
}

static void dialogue_of(const struct vq_persona *persona, uint32_t chain,
                        struct vq_persona_dialogue *ret_dialogue)
{
    struct vq_persona_talk talk;
    vq_persona_talk(persona, chain, &talk);
    *ret_dialogue = (struct vq_persona_dialogue){
        .chain = chain,
        .system = talk.system.bytes == 0 ? vq_span(NULL, 0) : talk.system,
        .queries = talk.queries,
        .answers = talk.answers,
        .turns = talk.turns,
        .ended = talk.why == VQ_OUTCOME_NONE ? NULL : vq_outcome_name(talk.why)};
}

static void dialogues(const void *of, uint32_t from, uint32_t until, struct vq_buf *out)
{
    const struct report *report = of;
    for (uint32_t chain = from; chain < until; chain++) {
        struct vq_persona_dialogue d;
        dialogue_of(report->persona, chain, &d);
        vq_report_persona_dialogue(&report->r, &d, out);
    }
}

static const struct vq_result_file talk_files[] = {{"dialogues.jsonl", .rows = dialogues}};
static const struct vq_result_file files[] = {
    {"ratings.csv", .rows = ratings},
    {"results.json", .whole = json}, /* last: if it exists, all other files exist */
};

/* ---- reading ---- */

/* Reads the rating in the answer that is in force. */
static enum vq_status read_rating(struct rates *w, size_t thing, uint32_t judge,
                                  struct vq_answer *ret_answer, struct vq_rating *ret_rating,
                                  struct vq_error *err)
{
    const struct vq_persona_place *place = &vq_persona_places(w->persona)[thing];
    const struct vq_persona_criterion *c =
        &w->criteria[vq_persona_rated(w->persona)[thing].criterion];
    const struct vq_config *config = w->of->job->config;
    const struct vq_plan *plan = &w->askings[place->part]->plan;
    struct vq_cell cell = {place->item, judge, place->axis, place->order};
    bool repaired;
    VQ_TRY(vq_lookup_standing(w->view, plan, w->of->run, vq_grid_task(&plan->grid, cell),
                              ret_answer, &repaired, err));
    struct vq_rating_reader reader = {.kind = c->kind,
                                      .policy = config->rating.policy,
                                      .score_of = c->use == VQ_PERSONA_OF_TURNS,
                                      .seed = config->seed + thing * w->judges_count + judge};
    vq_rating_read(&reader, ret_answer->answer, ret_answer->finish_reason, ret_answer->refusal,
                   ret_rating);
    return VQ_OK;
}

static enum vq_status read_thing(struct rates *w, size_t thing, uint32_t judge)
{
    const struct vq_persona_place *place = &vq_persona_places(w->persona)[thing];
    size_t at = thing * w->judges_count + judge;
    w->values[at] = NAN;
    w->statuses[at] = VQ_PERSONA_BLOCKED;
    if (place->blocked) {
        return VQ_OK;
    }
    struct vq_cell cell = {place->item, judge, place->axis, place->order};
    uint64_t task = vq_grid_task(&w->askings[place->part]->plan.grid, cell);
    const uint8_t *outcomes = vq_persona_outcomes(w->persona, place->part);
    if (outcomes == NULL || !vq_outcome_is_answered((enum vq_outcome)outcomes[task])) {
        w->statuses[at] = VQ_PERSONA_FAILED;
        return VQ_OK;
    }
    struct vq_answer answer;
    struct vq_rating rating;
    VQ_TRY(read_rating(w, thing, judge, &answer, &rating, w->err));
    w->statuses[at] = (uint8_t)rating.status;
    w->values[at] = rating.has_value ? (double)rating.value : NAN;
    vq_result_returned(&w->judges[judge], answer.model, &w->arena);
    return VQ_OK;
}

/* w->tokens is NULL if no provider reported tokens. */
static enum vq_status read_tokens(struct rates *w)
{
    const struct vq_persona_plan *plan = w->job->plan;
    size_t points = (size_t)plan->design.rounds + 1;
    bool any = false;
    VQ_TRY(VQ_ARENA_ALLOC(&w->arena, w->tokens, plan->chains_count * points));
    for (uint32_t chain = 0; chain < plan->chains_count; chain++) {
        vq_persona_tokens(w->persona, chain, w->tokens + chain * points);
        any = any || !isnan(w->tokens[chain * points]);
    }
    w->tokens = any ? w->tokens : NULL;
    return VQ_OK;
}

static enum vq_status read_human(struct rates *w)
{
    size_t n = vq_persona_rated_count(w->persona);
    if (w->job->human_count == 0) {
        return VQ_OK;
    }
    VQ_TRY(VQ_ARENA_ALLOC(&w->arena, w->human, n));
    w->human_unplaced = vq_persona_human_place(w->job->human, w->job->human_count, w->criteria,
                                               vq_persona_rated(w->persona), n, w->human);
    return VQ_OK;
}

static enum vq_status read_all(struct rates *w)
{
    VQ_TRY(read_tokens(w));
    size_t n = vq_persona_rated_count(w->persona);
    uint32_t parts = vq_persona_parts_count(w->persona);
    w->askings = vq_arena_alloc(&w->arena, parts, sizeof(*w->askings));
    w->values = vq_arena_alloc(&w->arena, n * w->judges_count, sizeof(*w->values));
    w->statuses = vq_arena_alloc(&w->arena, n * w->judges_count, 1);
    w->criteria = vq_arena_alloc(&w->arena, w->job->rubrics_count, sizeof(*w->criteria));
    VQ_TRY(vq_arena_status(&w->arena));
    VQ_TRY(vq_result_judges(&w->of->job->cast[VQ_ROLE_JUDGE], &w->arena, &w->judges));
    for (uint32_t i = 0; i < w->job->rubrics_count; i++) {
        w->criteria[i] = w->job->rubrics[i].study;
    }
    VQ_TRY(read_human(w));
    for (uint32_t i = 0; i < parts; i++) {
        struct vq_grid_source source = vq_job_source(w->of->job);
        VQ_TRY(
            vq_stage_grid_create(&source, vq_persona_part(w->persona, i), &w->askings[i], w->err));
    }
    VQ_TRY(vq_view_begin(w->of->calls, &w->view, w->err));
    VQ_TRY(vq_probes_create(w->of->job, w->persona, w->view, w->of->run, &w->probes));
    for (size_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < w->judges_count; j++) {
            VQ_TRY(read_thing(w, i, j));
            w->missing += isnan(w->values[i * w->judges_count + j]) ? 1 : 0;
        }
    }
    return VQ_OK;
}

static void close_all(struct rates *w)
{
    vq_probes_destroy(&w->probes);
    vq_view_end(&w->view);
    for (uint32_t i = 0; w->askings != NULL && i < vq_persona_parts_count(w->persona); i++) {
        vq_stage_grid_destroy(&w->askings[i]);
    }
    vq_arena_clear(&w->arena);
}

/* ---- writing ---- */

static void page_dialogue(void *ctx, uint32_t chain, struct vq_persona_dialogue *ret_dialogue)
{
    dialogue_of(((struct rates *)ctx)->persona, chain, ret_dialogue);
}

static bool page_reasoning(void *ctx, size_t thing, uint32_t judge, struct vq_span *ret_text)
{
    struct rates *w = ctx;
    struct vq_error ignored = {0}; /* the page shows the rating without a reasoning */
    struct vq_answer answer;
    struct vq_rating rating;
    uint8_t status = w->statuses[thing * w->judges_count + judge];
    if (status >= VQ_RATING__COUNT ||
        read_rating(w, thing, judge, &answer, &rating, &ignored) != VQ_OK) {
        return false;
    }
    *ret_text = rating.reasoning;
    return true;
}

static void page_probe(void *ctx, uint32_t set, uint32_t prefix, uint32_t column,
                       const char **ret_question, struct vq_span *ret_answer)
{
    struct rates *w = ctx;
    struct vq_error ignored = {0}; /* the page shows the question without an answer */
    *ret_question = vq_persona_question(&w->job->probes[set], column);
    if (vq_probes_find(w->probes, set, prefix, column, ret_answer, &ignored) != VQ_OK) {
        *ret_answer = vq_span(NULL, 0);
    }
}

/* Finds the data set of each criterion. */
static enum vq_status find_sets(struct rates *w, uint32_t **ret_sets)
{
    uint32_t *sets;
    VQ_TRY(VQ_ALLOC(sets, w->job->rubrics_count));
    for (uint32_t i = 0; i < w->job->rubrics_count; i++) {
        sets[i] = VQ_PERSONA_NONE;
    }
    for (uint32_t k = 0; k < w->job->plan->design.sets_count; k++) {
        const struct vq_persona_probe *probe = &w->job->probes[k];
        for (uint32_t i = 0; i < probe->rubrics; i++) {
            sets[probe->first_rubric + i] = k;
        }
    }
    *ret_sets = sets;
    return VQ_OK;
}

static enum vq_status write_page(struct rates *w, const struct vq_report_persona *r)
{
    struct vq_report_persona_page page = {.r = r,
                                          .dialogue = page_dialogue,
                                          .reasoning = page_reasoning,
                                          .probe = page_probe,
                                          .ctx = w};
    struct vq_buf out;
    uint32_t *sets = NULL;
    VQ_TRY(find_sets(w, &sets));
    page.sets = sets;
    vq_buf_init(&out, VQ_PAGE_BYTES_MAX);
    vq_report_persona_html(&page, &out);
    enum vq_status status = vq_result_page(w->of, &out, w->err);
    vq_free(sets);
    return status;
}

static enum vq_status print_table(const struct vq_results *of, const struct vq_report_persona *r,
                                  struct vq_error *err)
{
    struct vq_terminal terminal;
    vq_terminal_of(STDOUT_FILENO, &terminal);
    struct vq_buf out;
    vq_buf_init(&out, 1u << 24);
    vq_report_persona_table(r, &terminal, &out);
    vq_buf_putc(&out, '\n');
    vq_buf_printf(&out, "%s/%s/%s\n", vq_run_dir_path(of->dir), of->folder, talk_files[0].name);
    enum vq_status status = vq_result_files_print(of, files, VQ_COUNT(files), &out, err);
    vq_buf_free(&out);
    return status;
}

static enum vq_status write_all(struct rates *w, const struct vq_persona_study *study,
                                const struct vq_persona_numbers *numbers)
{
    struct vq_report_calls calls;
    bool counted = vq_result_calls(w->of, &calls);
    struct report report = {
        .r = {.study = study,
              .numbers = numbers,
              .names = {w->job->model_names, w->job->persona_names},
              .judges = w->judges,
              .judge_kind = w->of->job->judge_kind,
              .policy = w->of->job->config->rating.policy == VQ_RATING_STRICT ? "strict" : "paper",
              .sets = w->job->set_names,
              .human_labels = w->job->human_count,
              .human_unplaced = w->human_unplaced,
              .calls = counted ? &calls : NULL},
        .persona = w->persona};
    struct vq_results quiet = *w->of;
    quiet.json = false;
    if (study->rated_count > UINT32_MAX) {
        return vq_fail(w->err, VQ_LIMIT, "too many ratings for one file");
    }
    if (w->of->differs == NULL) {
        VQ_TRY(write_page(w, &report.r));
    }
    VQ_TRY(vq_result_files(&quiet, talk_files, 1, &report, w->job->plan->chains_count, w->err));
    VQ_TRY(vq_result_files(w->of, files, VQ_COUNT(files), &report, (uint32_t)study->rated_count,
                           w->err));
    return w->of->json || w->of->silent ? VQ_OK : print_table(w->of, &report.r, w->err);
}

enum vq_status vq_persona_results_write(const struct vq_results *results, bool *ret_missing,
                                        struct vq_error *err)
{
    const struct vq_job *job = results->job;
    const struct vq_persona_job *own = vq_persona_job_of(job);
    struct rates w = {.of = results,
                      .job = own,
                      .persona = results->method->state,
                      .judges_count = job->cast[VQ_ROLE_JUDGE].count,
                      .err = err};
    struct vq_persona_numbers *numbers = NULL;
    const char *measured = job->config->dialogues->measured_name;
    enum vq_status status = read_all(&w);
    if (status == VQ_OK) {
        struct vq_persona_study study = {.plan = own->plan,
                                         .tokens = w.tokens,
                                         .human = w.human,
                                         .criteria = w.criteria,
                                         .criteria_count = own->rubrics_count,
                                         .judges = w.judges_count,
                                         .rated = vq_persona_rated(w.persona),
                                         .rated_count = vq_persona_rated_count(w.persona),
                                         .values = w.values,
                                         .statuses = w.statuses,
                                         .labels = own->labels,
                                         .subjects = own->subjects,
                                         .measured_name = measured == NULL ? "measured" : measured,
                                         .measured = own->measured,
                                         .measured_count = own->measured_count};
        status = vq_persona_numbers_compute(&study, &numbers, err);
        if (status == VQ_OK) {
            status = write_all(&w, &study, numbers);
        }
    }
    if (status == VQ_OK) {
        *ret_missing = w.missing > 0;
    }
    vq_persona_numbers_destroy(&numbers);
    close_all(&w);
    return status;
}
