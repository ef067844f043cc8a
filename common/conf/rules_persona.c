/* The rules of `method: persona`: its subjects, its dialogues, the questions after them, and the
 * settings of other methods that have no meaning here. Not its job: whether files exist, and their
 * contents. */
#include "common/conf/rules_parts.h"
#include "common/judge/criteria.h"

#include <stdio.h>
#include <strings.h>

static enum vq_status check_only_here(const struct vq_rules *r)
{
    const struct vq_config *c = r->config;
    const struct {
        bool set;
        const char *path;
    } only[] = {{c->subjects_count > 0, "subjects"},
                {c->dialogues != NULL, "dialogues"},
                {c->probes_count > 0, "probes"}};
    for (size_t i = 0; i < VQ_COUNT(only); i++) {
        if (only[i].set) {
            return vq_rules_broken(
                r, only[i].path,
                "only method: persona has %s; set method: persona, or leave this out",
                only[i].path);
        }
    }
    return VQ_OK;
}

static enum vq_status check_silent(const struct vq_rules *r)
{
    const struct vq_config *c = r->config;
    const struct vq_conf_judging *j = &c->judging;
    const struct vq_refused_key silent[] = {
        {c->data.path != NULL, "data",
         "makes its own data; name personas and queries under dialogues"},
        {c->models_count > 0, "models", "has subjects, not columns of outputs"},
        {c->vibes_count > 0, "vibes", "rates by criteria, not by vibes"},
        {c->preference == VQ_PREFERENCE_JUDGE, "preference", "labels no rows"},
        {c->rating.repeats > 1, "rating.repeats", "puts each question once"},
        {j->structured, "judging.structured", "asks for `**Result:**`, which is no JSON"},
        {j->logprobs, "judging.logprobs", "keeps no log-probabilities"},
        {j->vibes_per_call > 1, "judging.vibes_per_call", "asks one criterion per call"},
        {j->early_stop != VQ_EARLY_STOP_OFF, "judging.early_stop", "stops no criterion early"},
        {j->truncate, "judging.truncate", "cuts no answer"},
        {j->retest > 0, "judging.retest", "has no retest"},
    };
    VQ_TRY(vq_rules_silent(r, "persona", silent, VQ_COUNT(silent)));
    for (uint32_t i = 0; i < c->criteria_count; i++) {
        if (c->criteria[i].human_count > 0) {
            char path[VQ_RULES_PATH_BYTES];
            (void)snprintf(path, sizeof(path), "criteria[%u].human", i);
            return vq_rules_broken(r, path,
                                   "method: persona has no columns; leave it out, and name a file "
                                   "of labels under dialogues.human");
        }
    }
    return VQ_OK;
}

static enum vq_status check_subjects(const struct vq_rules *r)
{
    const struct vq_config *c = r->config;
    if (c->subjects_count == 0) {
        return vq_rules_broken(r, "subjects",
                               "missing; name the models that play the personas, for example "
                               "subjects: [offline-subject]");
    }
    for (uint32_t i = 0; i < c->subjects_count; i++) {
        const struct vq_conf_subject *s = &c->subjects[i];
        const char *const texts[] = {s->called, s->family, s->line};
        static const char *const keys[] = {"called", "family", "line"};
        for (size_t k = 0; k < VQ_COUNT(texts); k++) {
            if (texts[k] != NULL && !vq_rules_is_name(texts[k])) {
                char path[VQ_RULES_PATH_BYTES];
                (void)snprintf(path, sizeof(path), "subjects[%u].%s", i, keys[k]);
                return vq_rules_broken(r, path, "must be one line, not empty, of at most %d bytes",
                                       VQ_NAME_BYTES_MAX);
            }
        }
        if (strcmp(s->role, "developer") == 0 && strcmp(s->judge.dialect, "openai") != 0 &&
            strcmp(s->judge.dialect, "azure") != 0) {
            char path[VQ_RULES_PATH_BYTES];
            (void)snprintf(path, sizeof(path), "subjects[%u].role", i);
            return vq_rules_broken(r, path,
                                   "the dialect %s has no developer message; leave this out",
                                   s->judge.dialect);
        }
    }
    return VQ_OK;
}

static enum vq_status check_dialogues(const struct vq_rules *r)
{
    const struct vq_conf_dialogues *d = r->config->dialogues;
    if (d == NULL) {
        return vq_rules_broken(r, "dialogues",
                               "missing; name the files, for example dialogues: {personas: "
                               "personas.yaml, directed: interview.txt, goal: tasks.txt}");
    }
    if (vq_rules_is_blank(d->personas)) {
        return vq_rules_broken(r, "dialogues.personas",
                               "missing; name the file of the personas, for example personas: "
                               "personas.yaml");
    }
    if (d->directed == NULL && d->goal == NULL) {
        return vq_rules_broken(r, "dialogues",
                               "a dialogue needs queries; name a file under directed (questions to "
                               "the persona), under goal (requests of any user), or under both");
    }
    const struct {
        const char *path, *text;
    } texts[] = {{"dialogues.directed", d->directed}, {"dialogues.goal", d->goal},
                 {"dialogues.labels", d->labels},     {"dialogues.label_set", d->label_set},
                 {"dialogues.measured", d->measured}, {"dialogues.opening", d->opening},
                 {"dialogues.closing", d->closing},   {"dialogues.human", d->human}};
    for (size_t i = 0; i < VQ_COUNT(texts); i++) {
        if (texts[i].text != NULL && vq_rules_is_blank(texts[i].text)) {
            return vq_rules_broken(r, texts[i].path, "empty; fill it in, or leave it out");
        }
    }
    if (d->directed == NULL && (d->opening != NULL || d->closing != NULL)) {
        return vq_rules_broken(r, d->opening != NULL ? "dialogues.opening" : "dialogues.closing",
                               "only the interview under directed has remarks; leave it out");
    }
    if (d->label_set != NULL && d->labels == NULL) {
        return vq_rules_broken(r, "dialogues.label_set",
                               "names a set of the file under labels; name that too");
    }
    return VQ_OK;
}

static bool is_criterion(const struct vq_config *c, const char *name)
{
    for (uint32_t i = 0; i < c->criteria_count; i++) {
        if (strcmp(c->criteria[i].name, name) == 0) {
            return true;
        }
    }
    return strcmp(name, VQ_PROBE_TRAIT) == 0 || vq_criterion_builtin(name) != NULL;
}

static enum vq_status check_references(const struct vq_rules *r, uint32_t i)
{
    const struct vq_conf_probe *p = &r->config->probes[i];
    for (uint32_t a = 0; a < p->references_count; a++) {
        for (uint32_t b = 0; b < a; b++) {
            if (strcmp(p->references[a], p->references[b]) == 0) {
                char path[VQ_RULES_PATH_BYTES];
                (void)snprintf(path, sizeof(path), "probes[%u].references[%u]", i, a);
                return vq_rules_broken(r, path, "\"%s\" is already in the list", p->references[a]);
            }
        }
    }
    return VQ_OK;
}

static enum vq_status check_probe(const struct vq_rules *r, uint32_t i)
{
    const struct vq_conf_probe *p = &r->config->probes[i];
    char path[VQ_RULES_PATH_BYTES];
    (void)snprintf(path, sizeof(path), "probes[%u]", i);
    if (vq_rules_is_blank(p->file)) {
        return vq_rules_broken(r, path, "needs a file with its items, for example file: items.csv");
    }
    if (!vq_rules_is_name(p->name)) {
        return vq_rules_broken(r, path, "needs a name of one line, at most %d bytes",
                               VQ_NAME_BYTES_MAX);
    }
    for (uint32_t k = 0; k < i; k++) {
        if (strcasecmp(r->config->probes[k].name, p->name) == 0) {
            return vq_rules_broken(r, path, "the name \"%.80s\" is already that of probes[%u]",
                                   p->name, k);
        }
    }
    if (p->criterion != NULL && !is_criterion(r->config, p->criterion)) {
        (void)snprintf(path, sizeof(path), "probes[%u].criterion", i);
        return vq_rules_broken(r, path,
                               "\"%.80s\" is neither `trait`, nor one of the criteria, nor built "
                               "in; vibeq prompts show criteria lists the built-in ones",
                               p->criterion);
    }
    return check_references(r, i);
}

enum vq_status vq_rules_persona(const struct vq_rules *r)
{
    if (r->config->method != VQ_METHOD_PERSONA) {
        return check_only_here(r);
    }
    VQ_TRY(check_silent(r));
    VQ_TRY(check_subjects(r));
    VQ_TRY(check_dialogues(r));
    for (uint32_t i = 0; i < r->config->probes_count; i++) {
        VQ_TRY(check_probe(r, i));
    }
    return VQ_OK;
}
