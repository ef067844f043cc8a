/* Looks up the error table: the first match decides. All knowledge is in error_rules.def. */
#include "worker/provider/errors.h"

#include <strings.h>

static const struct vq_error_rule rules[] = {
#define VQ_ERROR_RULE(dialects, status_min, status_max, field, text, class, wait)                  \
    {dialects, status_min,       status_max,          VQ_ERROR_##field,                            \
     text,     VQ_REPLY_##class, VQ_ERROR_WAIT_##wait},
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
    case VQ_ERROR_IN_CODE: return strcasestr(code, rule->text) != NULL;
    case VQ_ERROR_TYPE: return strcasecmp(type, rule->text) == 0;
    case VQ_ERROR_MESSAGE: return strcasestr(message, rule->text) != NULL;
    case VQ_ERROR_ANY: return true;
    }
    return false;
}

bool vq_error_names(const char *dialects, const char *dialect)
{
    size_t bytes = strlen(dialect);
    for (const char *at = dialects; *at != '\0';) {
        size_t n = strcspn(at, " ");
        if ((n == 1 && *at == '*') || (n == bytes && memcmp(at, dialect, n) == 0)) {
            return true;
        }
        at += n + strspn(at + n, " ");
    }
    return false;
}

const struct vq_error_rule *vq_error_decide(const char *dialect, int status, const char *code,
                                            const char *type, const char *message)
{
    for (size_t i = 0; i < VQ_COUNT(rules); i++) {
        const struct vq_error_rule *rule = &rules[i];
        bool dialect_fits = vq_error_names(rule->dialects, dialect);
        bool status_fits = status >= rule->status_min && status <= rule->status_max;
        if (dialect_fits && status_fits && matches(rule, code, type, message)) {
            return rule;
        }
    }
    return &rules[VQ_COUNT(rules) - 1];
}
