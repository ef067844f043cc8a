/* Rules of more than two models: the design of the pairs, and settings that need exactly two
 * models. Not its job: whether the columns exist, and whether the data hold enough prompts for the
 * design. */
#include "common/conf/rules_parts.h"

#include <stdio.h>
#include <string.h>

static bool is_model(const struct vq_config *c, const char *name)
{
    for (uint32_t i = 0; i < c->models_count; i++) {
        if (strcmp(c->models[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static enum vq_status check_different(const struct vq_rules *r)
{
    const struct vq_config *c = r->config;
    for (uint32_t i = 0; i < c->models_count; i++) {
        for (uint32_t j = 0; j < i; j++) {
            if (strcmp(c->models[i], c->models[j]) == 0) {
                char path[16];
                (void)snprintf(path, sizeof(path), "models[%u]", i);
                return vq_rules_broken(r, path,
                                       "\"%.80s\" is already models[%u]; name different columns",
                                       c->models[i], j);
            }
        }
    }
    return VQ_OK;
}

static enum vq_status check_baseline(const struct vq_rules *r, const struct vq_conf_pairs *p)
{
    if (p->design != VQ_PAIRS_BASELINE) {
        return p->baseline == NULL
                   ? VQ_OK
                   : vq_rules_broken(r, "pairs.baseline",
                                     "only with design: baseline; leave it out, or set the design");
    }
    if (p->baseline == NULL) {
        return vq_rules_broken(r, "pairs.baseline",
                               "missing; name the model that the others are compared with");
    }
    return is_model(r->config, p->baseline)
               ? VQ_OK
               : vq_rules_broken(r, "pairs.baseline", "\"%.80s\" is not one of the models",
                                 p->baseline);
}

static enum vq_status check_incomplete(const struct vq_rules *r, const struct vq_conf_pairs *p)
{
    uint32_t pairs = r->config->models_count * (r->config->models_count - 1) / 2;
    const char *given = p->per_prompt > 0 ? "pairs.per_prompt" : "pairs.calls";
    if (p->design != VQ_PAIRS_INCOMPLETE) {
        return p->per_prompt == 0 && p->calls == 0
                   ? VQ_OK
                   : vq_rules_broken(
                         r, given, "only with design: incomplete; leave it out, or set the design");
    }
    if ((p->per_prompt > 0) == (p->calls > 0)) {
        return vq_rules_broken(r, "pairs",
                               "design: incomplete needs either per_prompt (comparisons of each "
                               "prompt) or calls (judge calls of all of them)");
    }
    if (p->per_prompt > pairs) {
        return vq_rules_broken(r, given, "%u models have %u pairs; at most that many are compared",
                               r->config->models_count, pairs);
    }
    if (p->calls > 0 && r->config->method == VQ_METHOD_DISCOVER) {
        return vq_rules_broken(r, given,
                               "not with method: discover, where the number of vibes is not known "
                               "before; set pairs.per_prompt instead");
    }
    return VQ_OK;
}

/* Refuses settings that need exactly two models. */
static enum vq_status check_settings(const struct vq_rules *r)
{
    const struct vq_config *c = r->config;
    const struct vq_refused_key rules[] = {
        {c->method == VQ_METHOD_JUDGE, "models", "`method: judge` rates one or two columns"},
        {c->judging.early_stop != VQ_EARLY_STOP_OFF, "judging.early_stop",
         "it looks at the mean score of two models"},
        {c->report.by != NULL, "report.by", "its parts show the mean score of two models"},
        {c->vibecheck.compare_presets, "vibecheck.compare_presets",
         "it compares numbers of two models"},
        {c->regression.estimator != VQ_ESTIMATOR_L2_CV, "regression.estimator",
         "the multinomial fit has the L2 penalty"},
        {c->regression.cv != VQ_CV_LOG_LOSS, "regression.cv",
         "the multinomial fit chooses C by log_loss"},
        {c->regression.standardise, "regression.standardise",
         "the multinomial fit does not standardise scores"},
    };
    const struct vq_refused_key *rule = vq_rules_first_set(rules, VQ_COUNT(rules));
    return rule == NULL
               ? VQ_OK
               : vq_rules_broken(r, rule->path,
                                 "not with %u models: %s. Leave it out, or name two models",
                                 c->models_count, rule->why);
}

enum vq_status vq_rules_pairs(const struct vq_rules *r)
{
    const struct vq_conf_pairs *p = r->config->pairs;
    if (!vq_config_ranks(r->config)) {
        return p == NULL ? VQ_OK
                         : vq_rules_broken(r, "pairs",
                                           "only with three or more models; leave it out, or name "
                                           "more columns under models:");
    }
    VQ_TRY(check_different(r));
    VQ_TRY(check_settings(r));
    if (p == NULL) {
        return VQ_OK;
    }
    VQ_TRY(check_baseline(r, p));
    return check_incomplete(r, p);
}
