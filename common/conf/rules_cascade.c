/* Rules of `cascade`: the two judges, the conditions of escalation, and settings whose numbers the
 * estimate cannot correct. Not its job: ranges (config_keys.def). */
#include "common/conf/rules_parts.h"
#include "common/text/intern.h"

static enum vq_status unknown_judge(const struct vq_rules *r)
{
    const struct vq_config *c = r->config;
    struct vq_span names[2] = {vq_span_str(c->judges[0].name), vq_span_str(c->judges[1].name)};
    uint32_t near = vq_nearest_name(vq_span_str(c->cascade->first), names, 2);
    return near != VQ_INTERN_NONE
               ? vq_rules_broken(r, "cascade.first",
                                 "there is no judge \"%.80s\"; did you mean \"%.80s\"?",
                                 c->cascade->first, names[near].at)
               : vq_rules_broken(r, "cascade.first",
                                 "there is no judge \"%.80s\"; name \"%.80s\" or \"%.80s\"",
                                 c->cascade->first, names[0].at, names[1].at);
}

static enum vq_status check_judges(const struct vq_rules *r)
{
    const struct vq_config *c = r->config;
    if (vq_rules_is_blank(c->cascade->first)) {
        return vq_rules_broken(r, "cascade",
                               "needs `first`, the name of the judge that answers everything, for "
                               "example cascade: {first: small}");
    }
    if (c->judges_count != 2) {
        return vq_rules_broken(r, "cascade",
                               "needs two judges, the first and the other one, and there %s %u; "
                               "leave it out, or name two judges",
                               c->judges_count == 1 ? "is" : "are", c->judges_count);
    }
    bool found = strcmp(c->judges[0].name, c->cascade->first) == 0 ||
                 strcmp(c->judges[1].name, c->cascade->first) == 0;
    return found ? VQ_OK : unknown_judge(r);
}

static enum vq_status check_reasons(const struct vq_rules *r)
{
    const struct vq_config *c = r->config;
    const struct vq_conf_escalate *e = &c->cascade->escalate;
    if (e->disagree && c->judging.pair_rule == VQ_PAIR_FORWARD) {
        return vq_rules_broken(r, "cascade",
                               "pair_rule: forward asks one order, so no orders can disagree; set "
                               "escalate: {disagree: off}, or another pair_rule");
    }
    return VQ_OK;
}

/* Refuses settings that use uncorrected row scores, or that ask in another way. */
static enum vq_status check_settings(const struct vq_rules *r)
{
    const struct vq_config *c = r->config;
    const struct vq_refused_key rules[] = {
        {c->method == VQ_METHOD_JUDGE, "cascade", "`method: judge` rates by criteria"},
        {c->method == VQ_METHOD_PERSONA, "cascade", "`method: persona` rates dialogues"},
        {vq_config_ranks(c), "models", "it estimates the mean score of two models"},
        {c->judging.vibes_per_call > 1, "judging.vibes_per_call",
         "joint calls cannot ask some vibes of a row alone"},
        {c->judging.early_stop != VQ_EARLY_STOP_OFF, "judging.early_stop",
         "its tests take each score as it is"},
        {c->judging.invalid == VQ_INVALID_DROP_ROW, "judging.invalid",
         "a row that one of two judges did not answer would be dropped"},
        {c->report.by != NULL, "report.by", "the numbers of its parts are not corrected"},
        {c->vibecheck.compare_presets, "vibecheck.compare_presets",
         "the numbers of the presets are not corrected"},
    };
    const struct vq_refused_key *rule = vq_rules_first_set(rules, VQ_COUNT(rules));
    return rule == NULL
               ? VQ_OK
               : vq_rules_broken(r, rule->path, "not with cascade: %s. Leave out one of the two",
                                 rule->why);
}

enum vq_status vq_rules_cascade(const struct vq_rules *r)
{
    if (r->config->cascade == NULL) {
        return VQ_OK;
    }
    VQ_TRY(check_settings(r));
    VQ_TRY(check_judges(r));
    return check_reasons(r);
}
