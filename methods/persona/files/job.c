/* Reads the files of a persona evaluation, from their paths or from a run's copies. The order is
 * that in which they depend on each other: personas, labels, queries, items; then the criteria that
 * these need, the plan, and measured results. Invariant: the copies give the same job as the files
 * at the start of the run. Not its job: the order of the questions (methods/persona/persona.c). */
#include "methods/persona/files/job.h"

#include "common/base/alloc.h"
#include "common/text/file.h"

#include <math.h>
#include <stdio.h>

#define SOURCE_BYTES_MAX ((size_t)1 << 30)

struct load {
    struct vq_persona_job *job;
    const struct vq_config *config;
    const struct vq_run_dir *run;
    uint32_t *texts; /* [rubric]: number of its criterion in the list */
    struct vq_error *err;
};

static enum vq_status read_source(struct load *l, const char *copy, const char *path,
                                  struct vq_span *ret_text)
{
    VQ_ASSERT(l->job->sources_count < VQ_PERSONA_INPUTS_MAX);
    struct vq_persona_source *s = &l->job->sources[l->job->sources_count++];
    (void)snprintf(s->copy, sizeof(s->copy), "%s", copy);
    s->path = path;
    vq_buf_init(&s->text, SOURCE_BYTES_MAX);
    enum vq_status status;
    if (l->run == NULL) {
        status = vq_file_read(path, SOURCE_BYTES_MAX, &s->text, l->err);
    } else {
        char kept[VQ_RUN_PATH_BYTES_MAX];
        (void)snprintf(kept, sizeof(kept), "inputs/%s", copy);
        status = vq_run_dir_read(l->run, kept, &s->text, l->err);
    }
    *ret_text = vq_buf_span(&s->text);
    return status;
}

/* ---- personas ---- */

static enum vq_status load_personas(struct load *l)
{
    const struct vq_conf_dialogues *d = l->config->dialogues;
    struct vq_persona_job *job = l->job;
    struct vq_span text;
    VQ_TRY(read_source(l, "personas", d->personas, &text));
    VQ_TRY(vq_personas_file_parse(text, d->personas, &job->personas, l->err));
    if (d->labels != NULL) {
        VQ_TRY(read_source(l, "labels", d->labels, &text));
        VQ_TRY(vq_personas_file_label(text, d->labels, d->label_set, &job->personas, l->err));
    }
    VQ_TRY(VQ_ARENA_ALLOC(&job->memory, job->persona_names, job->personas.count));
    VQ_TRY(VQ_ARENA_ALLOC(&job->memory, job->labels, job->personas.count));
    VQ_TRY(VQ_ARENA_ALLOC(&job->memory, job->model_names, l->config->subjects_count));
    VQ_TRY(VQ_ARENA_ALLOC(&job->memory, job->subjects, l->config->subjects_count));
    for (uint32_t i = 0; i < job->personas.count; i++) {
        job->persona_names[i] = job->personas.personas[i].name;
        job->labels[i].known = job->personas.personas[i].labelled;
        memcpy(job->labels[i].trait, job->personas.personas[i].big_five,
               sizeof(job->labels[i].trait));
    }
    for (uint32_t i = 0; i < l->config->subjects_count; i++) {
        const struct vq_conf_subject *s = &l->config->subjects[i];
        job->model_names[i] = s->judge.name;
        job->subjects[i] = (struct vq_persona_subject){.family = i, .size = s->size};
        for (uint32_t k = 0; s->family != NULL && k < i; k++) {
            const char *other = l->config->subjects[k].family;
            if (other != NULL && strcmp(other, s->family) == 0) {
                job->subjects[i].family = job->subjects[k].family;
            }
        }
    }
    return VQ_OK;
}

/* ---- queries ---- */

static enum vq_status set_remark(char **remark, const char *text)
{
    if (text == NULL) {
        return VQ_OK;
    }
    char *copy;
    VQ_TRY(vq_copy(text, &copy));
    vq_free(*remark);
    *remark = copy;
    return VQ_OK;
}

/* In a plain list, a first and a last line that mention the role are remarks. */
static void find_remarks(struct vq_queries_file *q)
{
    if (q->opening == NULL && q->count > 1 && strstr(q->questions[0], VQ_ROLE_MARK) != NULL) {
        q->opening = q->questions[0];
        q->count--;
        memmove((void *)q->questions, q->questions + 1, q->count * sizeof(*q->questions));
    }
    if (q->closing == NULL && q->count > 1 &&
        strstr(q->questions[q->count - 1], VQ_ROLE_MARK) != NULL) {
        q->closing = q->questions[--q->count];
    }
}

static enum vq_status load_queries(struct load *l, struct vq_persona_design *design)
{
    const struct vq_conf_dialogues *d = l->config->dialogues;
    const char *const files[] = {d->directed, d->goal};
    static const char *const copies[] = {"queries-directed", "queries-goal"};
    uint32_t rounds[VQ_PERSONA_KINDS], least = UINT32_MAX;
    for (int k = 0; k < VQ_PERSONA_KINDS; k++) {
        if (files[k] == NULL) {
            continue;
        }
        struct vq_queries_file *q = &l->job->queries[design->scripts_count];
        struct vq_span text;
        VQ_TRY(read_source(l, copies[k], files[k], &text));
        VQ_TRY(vq_queries_file_parse(text, files[k], q, l->err));
        bool directed = k == VQ_PERSONA_DIRECTED;
        if (directed) {
            find_remarks(q);
            VQ_TRY(set_remark(&q->opening, d->opening));
            VQ_TRY(set_remark(&q->closing, d->closing));
        }
        struct vq_persona_script *s = &design->scripts[design->scripts_count];
        *s = (struct vq_persona_script){.kind = (enum vq_persona_kind)k,
                                        .questions = q->count,
                                        .opening = directed && q->opening != NULL,
                                        .closing = directed && q->closing != NULL};
        rounds[design->scripts_count] = q->count + s->opening + s->closing;
        least = rounds[design->scripts_count] < least ? rounds[design->scripts_count] : least;
        design->scripts_count++;
    }
    design->rounds = d->rounds > 0 ? d->rounds : least;
    if (design->rounds > least) {
        return vq_fail(l->err, VQ_INVALID,
                       "dialogues.rounds is %u, and the shorter list of queries comes to %u with "
                       "its remarks; ask for fewer rounds, or write more queries",
                       design->rounds, least);
    }
    for (uint32_t i = 0; i < design->scripts_count; i++) {
        struct vq_persona_script *s = &design->scripts[i];
        uint32_t remarks = (uint32_t)s->opening + s->closing;
        if (design->rounds <= remarks) {
            return vq_fail(l->err, VQ_INVALID,
                           "a dialogue of %u rounds has no room for a question between the "
                           "remarks; ask for more rounds",
                           design->rounds);
        }
        s->questions = design->rounds - remarks;
    }
    return VQ_OK;
}

/* ---- items ---- */

static enum vq_status load_items(struct load *l, uint32_t i)
{
    const struct vq_conf_probe *c = &l->config->probes[i];
    struct vq_items_columns columns = {c->text,  c->id,    c->persona,
                                       c->trait, c->label, c->reference};
    struct vq_persona_names names = {.models = l->job->model_names,
                                     .personas = l->job->persona_names};
    struct vq_span text;
    char copy[32];
    (void)snprintf(copy, sizeof(copy), "probe-%u", i + 1);
    VQ_TRY(read_source(l, copy, c->file, &text));
    VQ_TRY(vq_items_file_parse(text, c->file, &columns, &l->job->items[i], l->err));
    VQ_TRY(vq_persona_bind(&l->job->items[i], c->file, &names, l->job->personas.count,
                           &l->job->bound[i], l->err));
    l->job->probes[i] = (struct vq_persona_probe){
        .name = c->name, .file = &l->job->items[i], .bound = &l->job->bound[i]};
    l->job->sets[i] = (struct vq_persona_set){.items = l->job->bound[i].items,
                                              .items_count = l->job->bound[i].count,
                                              .questions = l->job->bound[i].questions_count};
    l->job->set_names[i] = c->name;
    return VQ_OK;
}

static const struct vq_conf_item *item_of(const struct vq_persona_job *job, uint32_t probe,
                                          uint32_t item)
{
    return &job->items[probe].items[job->bound[probe].source[item]];
}

/* Fields that an item may have, and must have for some criteria. */
enum need {
    NEED_TRAIT,
    NEED_LABEL,
    NEED_REFERENCE
};

static bool has(const struct vq_conf_item *item, enum need need)
{
    switch (need) {
    case NEED_TRAIT: return item->trait != VQ_BIG_FIVE;
    case NEED_LABEL: return item->label != VQ_ITEM_UNLABELLED;
    case NEED_REFERENCE: break;
    }
    return item->reference != NULL;
}

static bool any_has(const struct vq_persona_job *job, uint32_t probe, enum need what)
{
    for (uint32_t k = 0; k < job->bound[probe].count; k++) {
        if (has(item_of(job, probe, k), what)) {
            return true;
        }
    }
    return false;
}

/* The criterion that rates a probe's answers; NULL: none. */
static const char *criterion_of(const struct load *l, uint32_t probe)
{
    const struct vq_conf_probe *c = &l->config->probes[probe];
    return c->criterion != NULL                 ? c->criterion
           : any_has(l->job, probe, NEED_TRAIT) ? VQ_PROBE_TRAIT
           : any_has(l->job, probe, NEED_LABEL) ? "refusal"
                                                : NULL;
}

static enum vq_status check_items(const struct load *l, uint32_t probe, enum need need)
{
    static const char *const words[] = {"trait", "label", "reference"};
    for (uint32_t k = 0; k < l->job->bound[probe].count; k++) {
        const struct vq_conf_item *item = item_of(l->job, probe, k);
        if (!has(item, need)) {
            return vq_fail(l->err, VQ_INVALID,
                           "%s, line %llu: the item has no %s, by which probes[%u] is rated; fill "
                           "it in, or name the column with `%s`",
                           l->config->probes[probe].file, (unsigned long long)item->line,
                           words[need], probe, words[need]);
        }
    }
    return VQ_OK;
}

/* ---- criteria ---- */

/* The number of the criterion with this name in the list of all; adds it if it is not in the
 * list. */
static enum vq_status use_criterion(struct load *l, const char *name, uint32_t *ret_index)
{
    struct vq_config *asked = &l->job->asked;
    uint32_t i = 0;
    while (i < asked->criteria_count && strcmp(asked->criteria[i].name, name) != 0) {
        i++;
    }
    if (i == asked->criteria_count) {
        char *copy = vq_arena_text(&l->job->memory, vq_span_str(name));
        VQ_TRY(vq_arena_status(&l->job->memory));
        asked->criteria[asked->criteria_count++] = (struct vq_conf_criterion){.name = copy};
    }
    *ret_index = i;
    return VQ_OK;
}

static enum vq_status add_rubric(struct load *l, const char *name,
                                 struct vq_persona_criterion study)
{
    uint32_t index;
    VQ_TRY(use_criterion(l, name, &index));
    l->texts[l->job->rubrics_count] = index;
    l->job->rubrics[l->job->rubrics_count++] = (struct vq_persona_rubric){.study = study};
    return VQ_OK;
}

static bool named_by_probe(const struct load *l, const char *name)
{
    for (uint32_t i = 0; i < l->config->probes_count; i++) {
        const char *by = criterion_of(l, i);
        if (by != NULL && strcmp(by, name) == 0) {
            return true;
        }
    }
    return false;
}

static enum vq_status add_turn_rubrics(struct load *l)
{
    static const char *const by_default[] = {"knowledge", "style", "in_character"};
    for (uint32_t i = 0; i < l->config->criteria_count; i++) {
        const char *name = l->config->criteria[i].name;
        if (!named_by_probe(l, name)) {
            VQ_TRY(add_rubric(
                l, name, (struct vq_persona_criterion){.name = name, .use = VQ_PERSONA_OF_TURNS}));
        }
    }
    for (size_t i = 0; i < VQ_COUNT(by_default) && l->config->criteria_count == 0; i++) {
        VQ_TRY(add_rubric(
            l, by_default[i],
            (struct vq_persona_criterion){.name = by_default[i], .use = VQ_PERSONA_OF_TURNS}));
    }
    l->job->turn_rubrics = l->job->rubrics_count;
    return VQ_OK;
}

static enum vq_status add_probe_rubrics(struct load *l, uint32_t probe)
{
    struct vq_persona_probe *p = &l->job->probes[probe];
    const char *by = criterion_of(l, probe);
    p->first_rubric = l->job->rubrics_count;
    if (by == NULL) {
        return VQ_OK;
    }
    l->job->sets[probe].rated = true;
    if (strcmp(by, VQ_PROBE_TRAIT) != 0) {
        p->rubrics = 1;
        return add_rubric(
            l, by, (struct vq_persona_criterion){.name = p->name, .use = VQ_PERSONA_OF_ANSWERS});
    }
    p->rubrics = VQ_TRAITS;
    for (int t = 0; t < VQ_TRAITS; t++) {
        const char *name = vq_persona_trait_name((enum vq_persona_trait)t);
        VQ_TRY(add_rubric(l, name,
                          (struct vq_persona_criterion){.name = name,
                                                        .use = VQ_PERSONA_OF_TRAITS,
                                                        .trait = (enum vq_persona_trait)t}));
    }
    return check_items(l, probe, NEED_TRAIT);
}

/* Completes a probe whose only criterion is now known. */
static enum vq_status settle_probe(struct load *l, uint32_t probe)
{
    const struct vq_conf_probe *c = &l->config->probes[probe];
    struct vq_persona_set *set = &l->job->sets[probe];
    struct vq_persona_rubric *r = &l->job->rubrics[l->job->probes[probe].first_rubric];
    if (!set->rated) {
        return VQ_OK;
    }
    set->rating = r->study.kind;
    if (set->rating != VQ_RATING_PAIRWISE) {
        if (c->references_count > 0) {
            return vq_fail(l->err, VQ_INVALID,
                           "probes[%u].references: \"%.80s\" is not pairwise, and compares with "
                           "nothing; leave the references out",
                           probe, r->text->name);
        }
        if (set->rating == VQ_RATING_BINARY && any_has(l->job, probe, NEED_LABEL)) {
            r->study.use = VQ_PERSONA_OF_SAFETY;
            return check_items(l, probe, NEED_LABEL);
        }
        return VQ_OK;
    }
    r->study.use = VQ_PERSONA_OF_PAIRS;
    set->positions =
        l->config->rating.positions == VQ_POSITIONS_BOTH ? VQ_PERSONA_BOTH : VQ_PERSONA_ALTERNATE;
    set->references[VQ_PERSONA_DATASET] = c->references_count == 0;
    for (uint32_t i = 0; i < c->references_count; i++) {
        for (int k = 0; k < VQ_PERSONA_REFERENCES; k++) {
            const char *name = vq_persona_reference_name((enum vq_persona_reference)k);
            set->references[k] |= strcmp(c->references[i], name) == 0;
        }
    }
    return set->references[VQ_PERSONA_DATASET] ? check_items(l, probe, NEED_REFERENCE) : VQ_OK;
}

static enum vq_status load_criteria(struct load *l)
{
    struct vq_persona_job *job = l->job;
    const struct vq_config *config = l->config;
    size_t most = (size_t)config->criteria_count + 3 + VQ_PROBES_MAX * VQ_TRAITS;
    job->asked = *config;
    job->asked.criteria_count = 0;
    VQ_TRY(VQ_ARENA_ALLOC(&job->memory, job->asked.criteria, most));
    VQ_TRY(VQ_ARENA_ALLOC(&job->memory, job->rubrics, most));
    VQ_TRY(VQ_ARENA_ALLOC(&job->memory, l->texts, most));
    if (config->criteria_count > 0) {
        memcpy(job->asked.criteria, config->criteria,
               config->criteria_count * sizeof(*config->criteria));
    }
    job->asked.criteria_count = job->given_criteria = config->criteria_count;
    VQ_TRY(add_turn_rubrics(l));
    for (uint32_t i = 0; i < config->probes_count; i++) {
        VQ_TRY(add_probe_rubrics(l, i));
    }
    return vq_rubric_job_load(&job->criteria, &job->asked, NULL, l->run, l->err);
}

/* The message names the owner of the measure. */
static enum vq_status name_is_taken(const struct load *l, uint32_t rubric)
{
    const struct vq_persona_criterion *study = &l->job->rubrics[rubric].study;
    bool trait = study->use == VQ_PERSONA_OF_TRAITS;
    char whose[32] = "criteria";
    for (uint32_t i = 0; rubric >= l->job->turn_rubrics && i < l->config->probes_count; i++) {
        if (rubric >= l->job->probes[i].first_rubric) {
            (void)snprintf(whose, sizeof(whose), "probes[%u]", i);
        }
    }
    return vq_fail(
        l->err, VQ_INVALID, "%s: results would have two measures called \"%.80s\"; %s", whose,
        study->name,
        trait ? "let no criterion and no other probe have a trait's name, and put all items "
                "with traits into one file"
              : "give it another name");
}

/* Names of criteria must be unique, because results, ratings.csv and people's labels know a
 * criterion by its name. */
static enum vq_status check_names(const struct load *l)
{
    const struct vq_conf_dialogues *d = l->config->dialogues;
    const char *measured = d->measured == NULL        ? ""
                           : d->measured_name == NULL ? "measured"
                                                      : d->measured_name;
    for (uint32_t i = 0; i < l->job->rubrics_count; i++) {
        const char *name = l->job->rubrics[i].study.name;
        bool taken = strcmp(name, "fidelity") == 0 || strcmp(name, measured) == 0;
        for (uint32_t k = 0; !taken && k < i; k++) {
            taken = strcmp(l->job->rubrics[k].study.name, name) == 0;
        }
        if (taken) {
            return name_is_taken(l, i);
        }
    }
    return VQ_OK;
}

/* The checks that need the criteria's texts. */
static enum vq_status settle_criteria(struct load *l)
{
    struct vq_persona_job *job = l->job;
    VQ_TRY(check_names(l));
    for (uint32_t i = 0; i < job->rubrics_count; i++) {
        struct vq_persona_rubric *r = &job->rubrics[i];
        r->text = &job->criteria.criteria[l->texts[i]];
        r->study.kind = r->text->kind;
        if (i < job->turn_rubrics && r->text->kind == VQ_RATING_PAIRWISE) {
            return vq_fail(l->err, VQ_INVALID,
                           "criteria: \"%.80s\" is pairwise, and turns are rated one by one; name "
                           "it as the criterion of a probe, or leave it out",
                           r->text->name);
        }
    }
    for (uint32_t i = 0; i < l->config->probes_count; i++) {
        VQ_TRY(settle_probe(l, i));
    }
    return VQ_OK;
}

/* ---- all of it ---- */

static enum vq_status load_measured(struct load *l)
{
    const struct vq_conf_dialogues *d = l->config->dialogues;
    struct vq_persona_names names = {.models = l->job->model_names,
                                     .personas = l->job->persona_names};
    struct vq_span text;
    if (d->measured == NULL) {
        return VQ_OK;
    }
    VQ_TRY(read_source(l, "measured", d->measured, &text));
    return vq_persona_measured_parse(text, d->measured, l->job->plan, &names, &l->job->measured,
                                     &l->job->measured_count, &l->job->measured_passed_over,
                                     l->err);
}

static enum vq_status load_human(struct load *l)
{
    const struct vq_conf_dialogues *d = l->config->dialogues;
    struct vq_persona_job *job = l->job;
    struct vq_persona_names names = {.models = job->model_names, .personas = job->persona_names};
    struct vq_span text;
    if (d->human == NULL) {
        return VQ_OK;
    }
    VQ_TRY(read_source(l, "human", d->human, &text));
    struct vq_persona_criterion *criteria;
    VQ_TRY(VQ_ARENA_ALLOC(&job->memory, criteria, job->rubrics_count));
    for (uint32_t i = 0; i < job->rubrics_count; i++) {
        criteria[i] = job->rubrics[i].study;
    }
    return vq_persona_human_parse(text, d->human, job->plan, &names, criteria, job->rubrics_count,
                                  &job->human, &job->human_count, &job->human_passed_over, l->err);
}

static enum vq_status load_all(struct load *l)
{
    const struct vq_config *c = l->config;
    struct vq_persona_job *job = l->job;
    bool points = c->probes_count > 0 || c->dialogues->measured != NULL;
    struct vq_persona_design design = {.models = c->subjects_count,
                                       .baseline = c->dialogues->baseline,
                                       .shuffled = c->dialogues->orders == VQ_CONF_ORDERS_BOTH,
                                       .checkpoints = points ? c->dialogues->checkpoints : 0,
                                       .sets_count = c->probes_count,
                                       .sets = job->sets,
                                       .seed = c->seed};
    VQ_TRY(VQ_ARENA_ALLOC(&job->memory, job->set_names, c->probes_count));
    VQ_TRY(load_personas(l));
    VQ_TRY(load_queries(l, &design));
    for (uint32_t i = 0; i < c->probes_count; i++) {
        VQ_TRY(load_items(l, i));
    }
    VQ_TRY(load_criteria(l));
    VQ_TRY(settle_criteria(l));
    design.personas = job->personas.count;
    design.criteria = job->turn_rubrics;
    VQ_TRY(vq_persona_plan_make(&design, &job->plan, l->err));
    VQ_TRY(load_measured(l));
    return load_human(l);
}

enum vq_status vq_persona_job_load(struct vq_persona_job *job, const struct vq_config *config,
                                   const struct vq_run_dir *run, struct vq_error *err)
{
    struct load l = {.job = job, .config = config, .run = run, .err = err};
    return load_all(&l);
}

enum vq_status vq_persona_job_keep(const struct vq_persona_job *job, const struct vq_run_dir *run,
                                   struct vq_error *err)
{
    for (uint32_t i = 0; i < job->sources_count; i++) {
        const struct vq_persona_source *s = &job->sources[i];
        VQ_TRY(vq_run_dir_keep(run, s->copy, vq_buf_span(&s->text), s->path, err));
    }
    return vq_rubric_job_keep(&job->criteria, &job->asked, run, err);
}

void vq_persona_job_free(struct vq_persona_job *job)
{
    vq_persona_plan_destroy(&job->plan);
    vq_rubric_job_free(&job->criteria, &job->asked);
    for (uint32_t i = 0; i < VQ_PROBES_MAX; i++) {
        vq_persona_bound_free(&job->bound[i]);
        vq_items_file_free(&job->items[i]);
    }
    for (int i = 0; i < VQ_PERSONA_KINDS; i++) {
        vq_queries_file_free(&job->queries[i]);
    }
    vq_personas_file_free(&job->personas);
    for (uint32_t i = 0; i < job->sources_count; i++) {
        vq_buf_free(&job->sources[i].text);
    }
    vq_arena_clear(&job->memory);
    vq_free(job->measured);
    vq_free(job->human);
    *job = (struct vq_persona_job){.plan = NULL};
}

enum vq_status vq_persona_job_make(const struct vq_persona_job *job, const struct vq_config *config,
                                   const struct vq_template *template, uint32_t judges,
                                   struct vq_persona **ret_persona, struct vq_error *err)
{
    struct vq_persona_input input = {.plan = job->plan,
                                     .subjects = config->subjects,
                                     .personas = job->personas.personas,
                                     .queries = job->queries,
                                     .template = template,
                                     .rubrics = job->rubrics,
                                     .rubrics_count = job->rubrics_count,
                                     .turn_rubrics = job->turn_rubrics,
                                     .probes = job->probes,
                                     .judges_count = judges,
                                     .retries = config->rating.policy == VQ_RATING_STRICT ? 1 : 0};
    return vq_persona_create(&input, ret_persona, err);
}
