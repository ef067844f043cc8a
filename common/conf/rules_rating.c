/* Rules of method judge: criteria, their columns, and settings of other methods that have no effect
 * here. Not its job: whether columns or files exist. */
#include "common/conf/rules_parts.h"
#include "common/judge/criteria.h"
#include "common/text/intern.h"

#include <stdio.h>
#include <strings.h>

/* ---- one criterion ---- */

struct place {
    char path[VQ_RULES_PATH_BYTES];
    const struct vq_conf_criterion *criterion;
};

static enum vq_status unknown_builtin(const struct vq_rules *r, const struct place *p)
{
    struct vq_span names[VQ_CRITERIA_MAX];
    uint32_t count = 0;
    struct vq_buf list;
    vq_buf_init(&list, VQ_ERROR_BYTES_MAX / 2);
    for (; count < VQ_CRITERIA_MAX && vq_criterion_at(count) != NULL; count++) {
        const char *name = vq_criterion_at(count)->name;
        names[count] = vq_span_str(name);
        vq_buf_printf(&list, "%s%s", count == 0 ? "" : ", ", name);
    }
    uint32_t near = vq_nearest_name(vq_span_str(p->criterion->name), names, count);
    enum vq_status status =
        near != VQ_INTERN_NONE
            ? vq_rules_broken(r, p->path,
                              "there is no built-in criterion \"%.80s\"; did you mean \"%s\"? Your "
                              "own criterion needs a rubric or a file",
                              p->criterion->name, names[near].at)
            : vq_rules_broken(r, p->path,
                              "there is no built-in criterion \"%.80s\"; built in are %s. Your own "
                              "criterion needs a rubric or a file",
                              p->criterion->name, list.at == NULL ? "none" : list.at);
    vq_buf_free(&list);
    return status;
}

static enum vq_status check_text(const struct vq_rules *r, const struct place *p)
{
    const struct vq_conf_criterion *c = p->criterion;
    if (c->rubric != NULL && c->file != NULL) {
        return vq_rules_broken(
            r, p->path, "\"%.80s\" has both a rubric and a file; leave out one of them", c->name);
    }
    if (c->file != NULL && vq_rules_is_blank(c->file)) {
        return vq_rules_broken(r, p->path, "\"%.80s\" has an empty file; name one, or leave it out",
                               c->name);
    }
    if (c->file != NULL) {
        return VQ_OK;
    }
    if (c->rubric == NULL) {
        const struct vq_criterion *builtin = vq_criterion_builtin(c->name);
        if (builtin == NULL) {
            return unknown_builtin(r, p);
        }
        if (c->kind != NULL && strcmp(c->kind, vq_criterion_kind_name(builtin->kind)) != 0) {
            return vq_rules_broken(r, p->path,
                                   "the built-in \"%.80s\" is %s; leave kind out, or give a rubric "
                                   "of your own",
                                   c->name, vq_criterion_kind_name(builtin->kind));
        }
        return VQ_OK;
    }
    if (vq_rules_is_blank(c->rubric) || strlen(c->rubric) > VQ_CRITERION_BYTES_MAX) {
        return vq_rules_broken(r, p->path, "the rubric of \"%.80s\" is %s", c->name,
                               vq_rules_is_blank(c->rubric)
                                   ? "empty; describe the criterion for the judge"
                                   : "too long; a rubric has at most 16384 bytes");
    }
    if (c->kind == NULL) {
        return vq_rules_broken(r, p->path,
                               "\"%.80s\" needs a kind beside its rubric: likert (1 to 5), binary "
                               "(yes or no) or pairwise (which output is better)",
                               c->name);
    }
    return VQ_OK;
}

/* Checks that the columns fit the kind of the criterion. */
static enum vq_status check_columns(const struct vq_rules *r, const struct place *p,
                                    enum vq_rating_kind kind)
{
    const struct vq_config *config = r->config;
    const struct vq_conf_criterion *c = p->criterion;
    bool pairwise = kind == VQ_RATING_PAIRWISE;
    if (config->method == VQ_METHOD_PERSONA) { /* it has no columns: see rules_persona.c */
        return VQ_OK;
    }
    if (pairwise && config->models_count < 2) {
        return vq_rules_broken(r, p->path,
                               "\"%.80s\" is pairwise and compares two outputs; name two columns, "
                               "for example models: [model_a, model_b]",
                               c->name);
    }
    uint32_t wants = pairwise ? 1 : config->models_count;
    if (c->human_count != 0 && c->human_count != wants) {
        return vq_rules_broken(
            r, p->path,
            wants == 1
                ? "\"%.80s\" has one label per record: name one human column"
                : "\"%.80s\" is rated for each of the two models: name two human columns, in "
                  "their order, for example human: [human_a, human_b], or human: [human_a, \"\"] "
                  "where "
                  "only the first has labels",
            c->name);
    }
    return VQ_OK;
}

static enum vq_status check_criterion(const struct vq_rules *r, uint32_t i)
{
    struct place p = {.criterion = &r->config->criteria[i]};
    const char *name = p.criterion->name;
    (void)snprintf(p.path, sizeof(p.path), "criteria[%u]", i);
    if (!vq_rules_is_name(name)) {
        return vq_rules_broken(r, p.path, "a criterion needs a name of one line, at most %d bytes",
                               VQ_NAME_BYTES_MAX);
    }
    for (uint32_t j = 0; j < i; j++) {
        if (strcasecmp(r->config->criteria[j].name, name) == 0) {
            return vq_rules_broken(r, p.path, "the name \"%.80s\" is already that of criteria[%u]",
                                   name, j);
        }
    }
    VQ_TRY(check_text(r, &p));
    bool labelled = p.criterion->human_count == 0;
    for (uint32_t k = 0; k < p.criterion->human_count; k++) {
        labelled |= !vq_rules_is_blank(p.criterion->human[k]);
    }
    if (!labelled) {
        return vq_rules_broken(r, p.path, "human: name the column with people's labels");
    }
    enum vq_rating_kind kind;
    if (p.criterion->file != NULL) { /* its kind is known after the file is read */
        return VQ_OK;
    }
    if (p.criterion->kind == NULL) {
        kind = vq_criterion_builtin(name)->kind;
    } else {
        VQ_TRY(vq_criterion_kind_find(vq_span_str(p.criterion->kind), &kind));
    }
    return check_columns(r, &p, kind);
}

/* ---- settings without effect ---- */

static enum vq_status check_silent(const struct vq_rules *r)
{
    const struct vq_config *c = r->config;
    const struct vq_conf_judging *j = &c->judging;
    const struct vq_refused_key silent[] = {
        {c->vibes_count > 0, "vibes", "rates by criteria, not by vibes"},
        {c->preference == VQ_PREFERENCE_JUDGE, "preference",
         "labels no rows; use a pairwise criterion"},
        {c->data.test_path != NULL, "data.test_path",
         "rates all rows of data.path and tests nothing"},
        {c->data.preference != NULL, "data.preference",
         "knows people's choices by criterion, as its `human` column"},
        {c->report.by != NULL, "report.by", "splits every criterion by data.group"},
        {j->structured, "judging.structured", "asks for `**Result:**`, which is no JSON"},
        {j->logprobs, "judging.logprobs", "keeps no log-probabilities"},
        {j->vibes_per_call > 1, "judging.vibes_per_call", "asks one criterion per call"},
        {j->early_stop != VQ_EARLY_STOP_OFF, "judging.early_stop", "stops no criterion early"},
        {j->retest > 0, "judging.retest", "has rating.repeats for that"},
    };
    return vq_rules_silent(r, "judge", silent, VQ_COUNT(silent));
}

enum vq_status vq_rules_rating(const struct vq_rules *r)
{
    const struct vq_config *c = r->config;
    bool persona = c->method == VQ_METHOD_PERSONA;
    if (c->method != VQ_METHOD_JUDGE && !persona) {
        return c->criteria_count == 0
                   ? VQ_OK
                   : vq_rules_broken(r, "criteria",
                                     "only method: judge and method: persona rate by criteria; set "
                                     "method: judge, or leave the list out");
    }
    if (c->criteria_count == 0 && !persona) {
        return vq_rules_broken(r, "criteria",
                               "missing; name the criteria of the ratings, for example criteria: "
                               "[refusal], or maps of name, kind and rubric");
    }
    VQ_TRY(persona ? VQ_OK : check_silent(r));
    for (uint32_t i = 0; i < c->criteria_count; i++) {
        VQ_TRY(check_criterion(r, i));
    }
    return VQ_OK;
}
