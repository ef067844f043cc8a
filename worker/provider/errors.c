/* The error table and how it is looked up: first match wins. All knowledge is in
 * error_rules.def. */
#include "worker/provider/errors.h"

#include <strings.h>

static const struct vq_error_rule rules[] = {
#define VQ_ERROR_RULE(dialect, status_min, status_max, field, text, class)                         \
    {dialect, status_min, status_max, VQ_ERROR_##field, text, VQ_REPLY_##class},
#include "worker/provider/error_rules.def"
#undef VQ_ERROR_RULE
};

const struct vq_error_rule *vq_error_rules(size_t *ret_count)
{
    *ret_count = VQ_COUNT(rules);
    return rules;
}

static bool matches(const struct vq_error_rule *rule, const char *code, const char *type,
                    const char *message)
{
    switch (rule->field) {
    case VQ_ERROR_CODE: return strcasecmp(code, rule->text) == 0;
    case VQ_ERROR_TYPE: return strcasecmp(type, rule->text) == 0;
    case VQ_ERROR_MESSAGE: return strcasestr(message, rule->text) != NULL;
    case VQ_ERROR_ANY: return true;
    }
    return false;
}

const struct vq_error_rule *vq_error_decide(const char *dialect, int status, const char *code,
                                            const char *type, const char *message)
{
    for (size_t i = 0; i < VQ_COUNT(rules); i++) {
        const struct vq_error_rule *rule = &rules[i];
        bool dialect_fits = rule->dialect[0] == '*' || strcmp(rule->dialect, dialect) == 0;
        bool status_fits = status >= rule->status_min && status <= rule->status_max;
        if (dialect_fits && status_fits && matches(rule, code, type, message)) {
            return rule;
        }
    }
    return &rules[VQ_COUNT(rules) - 1];
}
